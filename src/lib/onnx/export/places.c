/* Nodes that move elements: parts copied to regions, reads and writes at computed places. */
#include "lib/onnx/export/export.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static const value none;

/* ---- assemblies ---- */

static bool covers(const exporter *e, const stretch *s, extent length)
{
    return s->step == 1 && extent_is(e, s->start, 0) && extent_same(e, s->length, length);
}

/* The elements [from, to) of an axis. */
static value part_of(exporter *e, value v, int axis, extent from, extent to)
{
    stretch s[EXPORT_AXES];
    for (int a = 0; a < v.n; a++)
        s[a] = (stretch){fixed(0), v.shape[a], 1};
    s[axis].start = from;
    for (int t = 0; t < EXPORT_TRACES; t++)
        s[axis].length.in[t] = to.in[t] - from.in[t];
    return value_slice(e, v, s);
}

static bool is_empty(const exporter *e, extent from, extent to) { return extent_same(e, from, to); }

static extent end_of(const stretch *s)
{
    extent end = s->start;
    for (int t = 0; t < EXPORT_TRACES; t++)
        end.in[t] += s->length.in[t];
    return end;
}

/* base with part in a box of steps of 1. From the last axis that the box does not cover to the first, part is joined with the
 * elements of base before it and after it. */
static value insert(exporter *e, value base, value part, const stretch *box)
{
    int last = base.n - 1;
    while (last >= 0 && covers(e, &box[last], base.shape[last]))
        last--;
    for (int axis = last; axis >= 0 && part.name; axis--) {
        if (covers(e, &box[axis], base.shape[axis]))
            continue;
        value row = base; /* of the box before this axis, of all after it */
        for (int a = 0; a < axis && row.name; a++)
            row = part_of(e, row, a, box[a].start, end_of(&box[a]));
        const extent end = end_of(&box[axis]), length = base.shape[axis];
        const char *in[3];
        int n = 0;
        if (!is_empty(e, fixed(0), box[axis].start))
            in[n++] = part_of(e, row, axis, fixed(0), box[axis].start).name;
        in[n++] = part.name;
        if (!is_empty(e, end, length))
            in[n++] = part_of(e, row, axis, end, length).name;
        part.shape[axis] = length;
        part.name = node(e, "Concat", &IG_ONNX_A_INT("axis", axis), 1, n, in);
    }
    return part;
}

static const char moving_places[] =
    "writes to places that depend on the symbolic axis; export with a fixed shape";

/* The number of elements; -1 if an axis is symbolic. */
static int64_t fixed_size(const exporter *e, value v)
{
    int64_t size = 1;
    for (int a = 0; a < v.n; a++)
        size = extent_fixed(e, v.shape[a]) && size >= 0 ? size * v.shape[a].in[0] : -1;
    return size;
}

/* base with part written at fixed places of its elements in order. */
static value scatter_flat(exporter *e, const spot *s, value base, value part, const view *dst,
                          const char *reduction)
{
    const value shape = base;
    const int64_t n = view_size(dst), size = fixed_size(e, base);
    if (size < 0)
        return refuse(s, moving_places);
    int64_t *at = onnx_arena_new(&e->arena, (size_t)n, sizeof *at);
    for (int64_t i = 0; at && i < n; i++)
        at[i] = view_at(dst, i);
    const char *places = at ? constant(e, IG_I64, 1, n, at) : NULL;
    const extent flat = fixed(n), all = fixed(size);
    base = value_reshape(e, base, 1, &all);
    const ig_onnx_attribute a[] = {IG_ONNX_A_INT("axis", 0),
                                   IG_ONNX_A_TEXT("reduction", reduction)};
    base.name = NODE_OF(e, "ScatterElements", a, 2, base.name, places,
                        value_reshape(e, part, 1, &flat).name);
    return value_reshape(e, base, shape.n, shape.shape);
}

/* x inside of a constant border. */
static value pad_write(exporter *e, value shape, value part, const stretch *box, const char *border)
{
    extent pads[EXPORT_AXES * 2];
    for (int a = 0; a < shape.n; a++)
        for (int t = 0; t < EXPORT_TRACES; t++) {
            pads[a].in[t] = box[a].start.in[t];
            pads[shape.n + a].in[t] = shape.shape[a].in[t] - end_of(&box[a]).in[t];
        }
    return named(shape,
                 NODE_OF(e, "Pad", NULL, 0, part.name, integers(e, 2 * shape.n, pads), border));
}

/* The axis along which the boxes follow each other and are all of the result; -1: there is none. */
static int joined_axis(const exporter *e, const value *shape, stretch *const *box, int n)
{
    for (int axis = 0; axis < shape->n; axis++) {
        extent at = fixed(0);
        bool fits = true;
        for (int i = 0; i < n && fits; i++) {
            for (int a = 0; a < shape->n && fits; a++)
                fits = a == axis ? box[i][a].step == 1 && extent_same(e, box[i][a].start, at)
                                 : covers(e, &box[i][a], shape->shape[a]);
            at = end_of(&box[i][axis]);
        }
        if (fits && extent_same(e, at, shape->shape[axis]))
            return axis;
    }
    return -1;
}

value assemble_write(exporter *e, const spot *s)
{
    const ig_array *x = s->at[0];
    const int n = x->n_in;
    const value shape = shape_of(e, s);
    value *part = onnx_arena_new(&e->arena, (size_t)n + 1, sizeof *part), y = none;
    stretch **box = onnx_arena_new(&e->arena, (size_t)n + 1, sizeof *box);
    const char **names = onnx_arena_new(&e->arena, (size_t)n + 1, sizeof *names);
    if (!part || !box || !names)
        return none;
    bool boxes = true, steps = false;
    for (int i = 0; i < n; i++) {
        view dst[EXPORT_TRACES];
        for (int t = 0; t < EXPORT_TRACES; t++)
            dst[t] = s->at[t < e->traces ? t : 0]->attr.dst[i];
        box[i] = onnx_arena_new(&e->arena, EXPORT_AXES, sizeof *box[i]);
        if (!box[i])
            return none;
        const bool fits = view_size(&dst[0]) > 0 && box_of(e, shape.n, shape.shape, dst, box[i]);
        boxes = boxes && fits;
        for (int a = 0; a < shape.n && fits; a++)
            steps = steps || box[i][a].step != 1;
    }
    const ig_array *first = x->in[0];
    const bool filled = first->root->is_number && view_size(&first->view) == view_size(&x->view);
    if (boxes && !steps && n == 2 && filled) {
        extent to[EXPORT_AXES];
        const value v = value_cast(e, input(e, s, 1, true), shape.dtype);
        for (int a = 0; a < shape.n; a++)
            to[a] = box[1][a].length;
        ig_array *border[EXPORT_TRACES];
        for (int t = 0; t < EXPORT_TRACES; t++)
            border[t] = s->at[t < e->traces ? t : 0]->in[0]->root;
        return pad_write(e, shape, value_reshape(e, v, shape.n, to), box[1],
                         value_cast(e, see(e, border, false), shape.dtype).name);
    }
    for (int i = 0; i < n; i++) {
        extent to[EXPORT_AXES];
        part[i] = value_cast(e, input(e, s, i, true), shape.dtype);
        if (!part[i].name)
            return none;
        for (int a = 0; a < shape.n && boxes; a++)
            to[a] = box[i][a].length;
        if (boxes)
            part[i] = value_reshape(e, part[i], shape.n, to);
        names[i] = part[i].name;
    }
    const int axis = boxes && !steps ? joined_axis(e, &shape, box, n) : -1;
    if (axis >= 0)
        return n == 1 ? part[0]
                      : named(shape, node(e, "Concat", &IG_ONNX_A_INT("axis", axis), 1, n, names));
    int begin = 0;
    bool whole = boxes && !steps;
    for (int a = 0; a < shape.n && whole; a++)
        whole = covers(e, &box[0][a], shape.shape[a]);
    if (whole) {
        y = part[begin++];
    } else { /* the parts cover all together */
        const value zero = {.name = constant_number(e, shape.dtype, 0), .dtype = shape.dtype};
        y = value_expand(e, zero, shape.n, shape.shape);
    }
    for (int i = begin; i < n && y.name; i++)
        if (view_size(&x->attr.dst[i]) > 0)
            y = boxes && !steps ? insert(e, y, part[i], box[i])
                                : scatter_flat(e, s, y, part[i], &x->attr.dst[i], "none");
    return y;
}

/* ---- reads ---- */

static bool walks(const view *v, int a) { return v->stride[a] != 0 && v->shape[a] > 1; }

static void insert_axis(view *v, int at, int64_t length, int64_t stride)
{
    memmove(v->shape + at + 1, v->shape + at, (size_t)(v->ndim - at) * sizeof *v->shape);
    memmove(v->stride + at + 1, v->stride + at, (size_t)(v->ndim - at) * sizeof *v->stride);
    v->shape[at] = length;
    v->stride[at] = stride;
    v->ndim++;
}

/* Reads at indices that do not depend on other axes than the index array has: Gather. */
static value gather_write(exporter *e, const spot *s, spot *from, const view *seen, value index)
{
    const ig_array *x = s->at[0];
    const value shape = shape_of(e, s);
    view v[EXPORT_TRACES];
    int axes[IG_MAX_NDIM], own[EXPORT_AXES], perm[EXPORT_AXES], n = 0, slot = 0, k = 0;
    extent picked[EXPORT_AXES], full[EXPORT_AXES];
    /* The axes that the array walks, by stride, and the indexed axis among them. */
    const int all = view_axes_by_stride(seen, axes);
    for (int i = 0; i < all; i++)
        if (walks(seen, axes[i]))
            axes[n++] = axes[i];
    while (slot < n && llabs(seen->stride[axes[slot]]) > llabs(x->attr.axis_stride))
        slot++;
    for (int t = 0; t < EXPORT_TRACES; t++) {
        const int at = t < e->traces ? t : 0;
        v[t] = (view){.ndim = n, .offset = seen[at].offset};
        for (int i = 0; i < n; i++) {
            v[t].shape[i] = seen[at].shape[axes[i]];
            v[t].stride[i] = seen[at].stride[axes[i]];
        }
        insert_axis(&v[t], slot, s->at[at]->attr.axis_len, s->at[at]->attr.axis_stride);
    }
    value data = see_view(e, from, v, true);
    if (!data.name)
        return none;
    for (int i = 0; i < slot; i++)
        own[k++] = axes[i];
    int n_index = 0;
    for (int a = 0; a < shape.n; a++)
        if (!extent_is(e, index.shape[a], 1)) {
            picked[n_index++] = shape.shape[a];
            own[k++] = a;
        }
    for (int i = slot; i < n; i++)
        own[k++] = axes[i];
    index = value_reshape(e, index, n_index, picked);
    value y = data;
    y.name = NODE_OF(e, "Gather", &IG_ONNX_A_INT("axis", slot), 1, data.name, index.name);
    y.n = k;
    for (int i = 0; i < k; i++) {
        y.shape[i] = shape.shape[own[i]];
        int at = 0;
        for (int j = 0; j < k; j++)
            at += own[j] < own[i];
        perm[at] = i;
    }
    y = value_permute(e, y, perm);
    for (int a = 0; a < shape.n; a++)
        full[a] = fixed(1);
    for (int i = 0; i < k; i++)
        full[own[i]] = shape.shape[own[i]];
    y = value_reshape(e, y, shape.n, full);
    return value_expand(e, y, shape.n, shape.shape);
}

value read_write(exporter *e, const spot *s)
{
    const value shape = shape_of(e, s);
    ig_array *in[EXPORT_TRACES];
    view seen[EXPORT_TRACES], index_view[EXPORT_TRACES];
    inputs_of(e, s, 0, in);
    views_of(e, in, index_view);
    const value index = see(e, in, false);
    inputs_of(e, s, 1, in);
    views_of(e, in, seen);
    spot *from = spot_of(e, in[0]);
    if (!from || !index.name)
        return none;
    if (view_size(seen) == 0 || s->at[0]->attr.axis_stride == 0) /* the index is only checked */
        return see_view(e, from, seen, true);
    int both = 0, only = -1, n_only = 0;
    for (int a = 0; a < shape.n; a++) {
        both += walks(seen, a) && walks(index_view, a);
        if (!walks(seen, a) && walks(index_view, a)) {
            only = a;
            n_only++;
        }
    }
    if (!both && shape.n < IG_MAX_NDIM)
        return gather_write(e, s, from, seen, index);
    /* The indexed axis takes the place of the only axis of the index alone, or is added after the others. */
    const int axis = n_only == 1 ? only : shape.n;
    if (axis == IG_MAX_NDIM)
        return refuse(s, "has too many axes");
    value to = shape;
    for (int t = 0; t < EXPORT_TRACES; t++) {
        const node_attr *a = &s->at[t < e->traces ? t : 0]->attr;
        if (axis == shape.n)
            insert_axis(&seen[t], axis, 1, 0);
        seen[t].shape[axis] = a->axis_len;
        seen[t].stride[axis] = a->axis_stride;
    }
    if (axis == shape.n)
        to.shape[to.n++] = fixed(1);
    const value data = see_view(e, from, seen, true);
    const value at = value_reshape(e, value_expand(e, index, shape.n, shape.shape), to.n, to.shape);
    to.name = NODE_OF(e, "GatherElements", &IG_ONNX_A_INT("axis", axis), 1, data.name, at.name);
    return value_reshape(e, to, shape.n, shape.shape);
}

/* ---- writes ---- */

value update_write(exporter *e, const spot *s)
{
    const ig_array *x = s->at[0];
    const char *reduction = x->attr.add ? "add" : "none";
    const view *dst = x->attr.dst;
    const int64_t length = x->attr.axis_len, stride = x->attr.axis_stride;
    value base = input(e, s, 0, true), index = input(e, s, 1, true), part = input(e, s, 2, true);
    view whole;
    int axis = -1;
    if (!base.name || !index.name || !part.name || view_size(dst) == 0)
        return base;
    /* Along one axis: ScatterElements. */
    view_contiguous(&whole, x->view.ndim, x->view.shape);
    bool along = dst->ndim == whole.ndim && dst->offset == 0;
    for (int a = 0; a < whole.ndim && along; a++)
        if (dst->stride[a] == 0 && stride == whole.stride[a] && length == whole.shape[a] &&
            axis < 0)
            axis = a;
        else
            along = dst->shape[a] == 1 || dst->stride[a] == whole.stride[a];
    if (along && axis >= 0) {
        const ig_onnx_attribute a[] = {IG_ONNX_A_INT("axis", axis),
                                       IG_ONNX_A_TEXT("reduction", reduction)};
        base.name = NODE_OF(e, "ScatterElements", a, 2, base.name, index.name, part.name);
        return base;
    }
    /* Otherwise the place of each update among all elements is computed. */
    const int64_t n = view_size(dst), size = fixed_size(e, base);
    if (size < 0)
        return refuse(s, moving_places);
    int64_t *at = onnx_arena_new(&e->arena, (size_t)n, sizeof *at), zero = 0;
    for (int64_t i = 0; at && i < n; i++)
        at[i] = view_at(dst, i);
    const extent flat = fixed(n), all = fixed(size);
    index = value_reshape(e, index, 1, &flat);
    const char *wrapped = NODE_OF(
        e, "Where", NULL, 0,
        NODE_OF(e, "Less", NULL, 0, index.name, constant(e, IG_I64, 0, 1, &zero)),
        NODE_OF(e, "Add", NULL, 0, index.name, constant(e, IG_I64, 0, 1, &length)), index.name);
    const char *places =
        NODE_OF(e, "Add", NULL, 0, at ? constant(e, IG_I64, 1, n, at) : NULL,
                NODE_OF(e, "Mul", NULL, 0, wrapped, constant(e, IG_I64, 0, 1, &stride)));
    const value shape = base;
    const ig_onnx_attribute a[] = {IG_ONNX_A_INT("axis", 0),
                                   IG_ONNX_A_TEXT("reduction", reduction)};
    base = value_reshape(e, base, 1, &all);
    base.name = NODE_OF(e, "ScatterElements", a, 2, base.name, places,
                        value_reshape(e, part, 1, &flat).name);
    return value_reshape(e, base, shape.n, shape.shape);
}
