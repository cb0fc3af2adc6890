/* Results that grow from part to part of their inputs: counts, writes at computed places, reads at computed places, and
 * places among sorted elements.
 *
 *   counts  a kernel of the library whose result is a sum of integers over the last axis of its first input: parts add up
 *   writes  the updates of one element are applied in row-major order: a part updates the result of the parts before it.
 *           A tile of the result takes the updates whose index lies in it; the others go to an extra element past its end
 *   reads   a part of the axis that is read fills the elements whose index lies in it
 *   places  the place of an element is the number of sorted elements before it: parts of the sorted ones add up */
#include "engine/blocks/blocks.h"

#include "base/memory.h"
#include "engine/ops/index.h"
#include <string.h>

enum { BASE, INDEX, UPDATES }; /* inputs of a write */

/* The axis of a write's result that the index walks along, if the other axes are axes of the updates; else -1. */
static int axis_of(const ig_array *root)
{
    const view *dst = root->attr.dst;
    int axis = -1;
    if (dst->ndim != root->view.ndim || dst->offset != 0)
        return -1;
    for (int a = 0; a < dst->ndim; a++) {
        const bool indexed = dst->stride[a] == 0 &&
                             root->attr.axis_stride == root->view.stride[a] &&
                             root->attr.axis_len == root->view.shape[a];
        if (axis < 0 && indexed)
            axis = a;
        else if (dst->stride[a] != root->view.stride[a] || dst->shape[a] > root->view.shape[a])
            return -1; /* axes in another order have equal strides where lengths are 1 */
    }
    return axis;
}

/* The axis of a write's updates that is cut into parts. */
static int part_axis(const ig_array *root) { return axis_of(root) > 0 ? axis_of(root) : 0; }

bool table_fits(const ig_array *root)
{
    switch (root->op) {
    case OP_kernel: return root->attr.kernel->sums && root->in[0]->view.ndim > 0;
    case OP_write: return root->attr.dst->ndim > 0 && view_size(root->attr.dst) > 0;
    case OP_read: return root->view.ndim < IG_MAX_NDIM && root->attr.axis_len > 0;
    case OP_searchsorted: return true;
    default: return false;
    }
}

int64_t table_row(const ig_array *root)
{
    const view *x = &root->in[0]->view;
    return root->op == OP_read    ? root->attr.axis_len
           : root->op == OP_write ? root->attr.dst->shape[part_axis(root)]
                                  : x->shape[x->ndim - 1];
}

bool table_cuts(const ig_array *root)
{
    return root->op == OP_read || root->op == OP_searchsorted ||
           (root->op == OP_write && axis_of(root) >= 0);
}

ig_array *table_seen(const ig_array *root)
{
    view v = root->in[1]->view;
    for (int a = 0; a < v.ndim; a++)
        if (v.stride[a] == 0)
            v.shape[a] = 1;
    v.shape[v.ndim] = root->attr.axis_len;
    v.stride[v.ndim++] = root->attr.axis_stride;
    return array_view(OP_take, root->in[1], &v);
}

int table_ends(const ig_array *root, ig_array **ends)
{
    for (int i = 0; i < root->n_in; i++)
        if (!(ends[i] = root->op == OP_read && i == 1 ? table_seen(root) : root->in[i]))
            return 0;
    return root->n_in;
}

/* True if no update belongs to a tile: the updates are shorter than the result along another axis. */
static bool is_beside(const ig_array *root, const box *tile)
{
    const view *dst = root->attr.dst;
    const int axis = axis_of(root);
    for (int a = 0; a < dst->ndim && axis >= 0; a++)
        if (a != axis && tile->lo[a] >= dst->shape[a])
            return true;
    return false;
}

/* The part of the updates' space whose updates may belong to a tile; any part if none does. */
static box updates_box(const ig_array *root, const box *tile, int64_t from, int64_t to)
{
    const view *dst = root->attr.dst;
    const int axis = axis_of(root), along = part_axis(root);
    box b = box_whole(dst->ndim, dst->shape);
    for (int a = 0; a < dst->ndim && axis >= 0; a++) {
        if (a == axis)
            continue;
        b.lo[a] = tile->lo[a] < dst->shape[a] ? tile->lo[a] : dst->shape[a] - 1;
        b.hi[a] = tile->hi[a] < dst->shape[a] ? tile->hi[a] : dst->shape[a];
    }
    b.lo[along] = from;
    b.hi[along] = to;
    return b;
}

void table_want(const stage *s, const box *tile, int64_t from, int64_t to, box *want)
{
    want[BASE] = *tile;
    want[INDEX] = want[UPDATES] = updates_box(s->root[0], tile, from, to);
}

/* ---- counts ---- */

/* The kernel is built as for vmap, with a leading axis of length 1. */
static ig_array *count(const ig_array *root, ig_array *const *ends, ig_array *sum)
{
    ig_array *in[INPUTS_FEW];
    for (int i = 0; i < root->n_in; i++)
        if (!(in[i] = ig_expand_dims(ends[i], IG_AXES(0))))
            return NULL;
    ig_array *y = root->attr.kernel->batched(root->attr.kernel, (int)root->attr.result, in);
    y = y ? build_reshape(OP_reshape, build_cast(y, (ig_dtype)root->dtype), root->view.ndim,
                          root->view.shape)
          : NULL;
    return sum && y ? ig_add(sum, y) : y;
}

/* ---- places ---- */

/* index, counted from the start of an axis. An index that is out of bounds fails when it is evaluated. */
static ig_array *checked(ig_array *index, int64_t length)
{
    ig_array *zero = index_take("take", build_fill(0, IG_I64, 1, &length), index, 0);
    ig_array *back = ig_where(ig_less(index, ig_int(0)), ig_int(length), ig_int(0));
    return ig_add(ig_add(index, back), zero);
}

static ig_array *within(ig_array *at, int64_t from, int64_t to)
{
    return ig_logical_and(ig_greater_equal(at, ig_int(from)), ig_less(at, ig_int(to)));
}

static ig_array *write(const ig_array *root, const box *tile, ig_array *const *ends, int64_t from,
                       ig_array *sum)
{
    const int axis = axis_of(root);
    const bool cut = axis >= 0 && tile->hi[axis] - tile->lo[axis] < root->attr.axis_len;
    ig_array *base = sum ? sum : ends[BASE], *index = ends[INDEX];
    if (is_beside(root, tile))
        return base;
    if (cut) {
        const int64_t n = tile->hi[axis] - tile->lo[axis];
        ig_array *at = checked(index, root->attr.axis_len);
        index = ig_where(within(at, tile->lo[axis], tile->hi[axis]),
                         ig_subtract(at, ig_int(tile->lo[axis])), ig_int(n));
        view one = base->view;
        one.shape[axis] = 1;
        if (!sum) /* an element for the updates that belong to other tiles */
            base =
                ig_concat((ig_array *[]){base, array_view(OP_slice, base, &one)}, 2, IG_AXES(axis));
    }
    view *dst = base && index ? memory_get(sizeof *dst) : NULL;
    if (!dst)
        return NULL;
    node_attr attr = root->attr;
    view whole;
    view_contiguous(&whole, base->view.ndim, base->view.shape);
    *dst = *root->attr.dst;
    attr.dst = dst;
    if (axis >= 0) {
        memcpy(dst->stride, whole.stride, sizeof dst->stride);
        dst->stride[axis] = 0;
        attr.axis_len = base->view.shape[axis];
        attr.axis_stride = whole.stride[axis];
    } else { /* the tile is the whole result */
        dst->offset += from * dst->stride[0];
    }
    memcpy(dst->shape, ends[UPDATES]->view.shape, sizeof dst->shape);
    ig_array *in[3] = {base, index, ends[UPDATES]};
    return array_node(OP_write, (ig_dtype)root->dtype, base->view.ndim, base->view.shape, in, 3,
                      &attr);
}

ig_array *table_pick(ig_array *index, ig_array *seen)
{
    if (!index || !seen)
        return NULL;
    view v = seen->view;
    const int last = --v.ndim;
    for (int a = 0; a < last; a++) {
        if (v.shape[a] == 1)
            v.stride[a] = 0;
        v.shape[a] = index->view.shape[a];
    }
    ig_array *in[2] = {index, array_view(OP_take, seen, &v)};
    const node_attr attr = {.axis_len = v.shape[last], .axis_stride = v.stride[last]};
    return array_node(OP_read, (ig_dtype)seen->dtype, v.ndim, v.shape, in, 2, &attr);
}

static ig_array *read(const ig_array *root, ig_array *const *ends, int64_t from, ig_array *sum)
{
    const int64_t n = ends[1]->view.shape[ends[1]->view.ndim - 1];
    if (n == root->attr.axis_len)
        return table_pick(ends[0], ends[1]);
    ig_array *at = checked(ends[0], root->attr.axis_len);
    ig_array *near = ig_clip(ig_subtract(at, ig_int(from)), ig_int(0), ig_int(n - 1));
    ig_array *y = table_pick(near, ends[1]);
    return sum && y ? ig_where(within(at, from, from + n), y, sum) : y;
}

static ig_array *search(const ig_array *root, ig_array *const *ends, ig_array *sum)
{
    ig_array *y = array_node(OP_searchsorted, IG_I64, ends[1]->view.ndim, ends[1]->view.shape,
                             (ig_array *[]){ends[0], ends[1]}, 2, &root->attr);
    return sum && y ? ig_add(sum, y) : y;
}

ig_array *table_build(const stage *s, int64_t tile, int64_t part, ig_array *const *ends,
                      ig_array *sum)
{
    const ig_array *root = s->root[0];
    const box b = stage_tile(s, tile);
    const int64_t from = part * s->part;
    for (int i = 0; i < root->n_in; i++)
        if (!ends[i])
            return NULL;
    switch (root->op) {
    case OP_kernel: return count(root, ends, sum);
    case OP_write: return write(root, &b, ends, from, sum);
    case OP_searchsorted: return search(root, ends, sum);
    default: return read(root, ends, from, sum);
    }
}

ig_array *table_finish(const stage *s, int64_t tile, ig_array *made)
{
    const box b = stage_tile(s, tile);
    view v = made->view;
    for (int a = 0; a < v.ndim; a++)
        v.shape[a] = b.hi[a] - b.lo[a];
    return view_same_shape(&v, &made->view) ? made : array_view(OP_slice, made, &v);
}
