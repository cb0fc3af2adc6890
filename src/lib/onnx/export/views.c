/* Views as ops of ONNX.
 *
 * The elements of a root are one after another, so its shape may be replaced by factors: lengths whose product is its size. A
 * view is written as a Reshape to factors of which each axis of the view walks one, a Slice or Gather of the factors, a
 * Transpose, a Reshape and an Expand; most views need one of these. The factors are the lengths of the root's shape, divided where
 * the strides of the view divide them, and joined where an axis of the view walks several. */
#include "lib/onnx/export/export.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct factor {
    int64_t size, weight; /* weight: elements of the root from one position to the next */
    int64_t start;        /* the lowest position that the view sees */
    int n;                /* axes of the view that walk it, in the view's order */
    int axis[IG_MAX_NDIM];
} factor;

typedef struct factors {
    int n;
    factor f[EXPORT_AXES];
} factors;

static bool is_active(const view *v, int a) { return v->shape[a] > 1 && v->stride[a] != 0; }

/* The factor in which a stride lies. */
static int factor_at(const factors *l, int64_t stride)
{
    int f = l->n - 1;
    while (f > 0 && stride >= l->f[f].weight * l->f[f].size)
        f--;
    return f;
}

/* Divides factors that several axes walk, where the stride of one allows it. */
static void divide(factors *l, const view *v)
{
    int order[IG_MAX_NDIM];
    const int n = view_axes_by_stride(v, order);
    for (int i = n - 2; i >= 0; i--) { /* from the second shortest stride on */
        const int64_t stride = llabs(v->stride[order[i]]), below = llabs(v->stride[order[i + 1]]);
        const int at = factor_at(l, stride);
        factor *f = &l->f[at];
        if (below == 0 || stride == 0 || factor_at(l, below) != at || stride == f->weight ||
            stride % f->weight || f->size % (stride / f->weight) || l->n == EXPORT_AXES)
            continue;
        memmove(f + 1, f, (size_t)(l->n - at) * sizeof *f);
        l->n++;
        f[1].size = stride / f->weight;
        f[0].size /= f[1].size;
        f[0].weight = stride;
        if (f[0].size == 1) {
            memmove(f, f + 1, (size_t)(l->n - at - 1) * sizeof *f);
            l->n--;
        }
    }
}

/* Gives each factor its start and axes. Returns -1 if every axis walks one factor, otherwise a factor that must be joined with
 * the next one. */
static int assign(factors *l, const view *v)
{
    int64_t low = v->offset;
    for (int a = 0; a < v->ndim; a++)
        low += v->stride[a] < 0 ? v->stride[a] * (v->shape[a] - 1) : 0;
    for (int f = 0; f < l->n; f++) {
        l->f[f].n = 0;
        l->f[f].start = low / l->f[f].weight;
        low %= l->f[f].weight;
    }
    for (int a = 0; a < v->ndim; a++) {
        if (!is_active(v, a))
            continue;
        const int64_t stride = llabs(v->stride[a]);
        const int at = factor_at(l, stride);
        if (stride % l->f[at].weight)
            return at;
        l->f[at].axis[l->f[at].n++] = a;
    }
    for (int f = 0; f < l->n; f++) {
        int64_t last = l->f[f].start;
        for (int i = 0; i < l->f[f].n; i++) {
            const int a = l->f[f].axis[i];
            last += llabs(v->stride[a]) / l->f[f].weight * (v->shape[a] - 1);
        }
        if (last >= l->f[f].size)
            return f - 1;
    }
    return -1;
}

static void factorize(const value *root, int trace, const view *v, bool divided, factors *l)
{
    int64_t weight = 1;
    l->n = 0;
    for (int a = root->n - 1; a >= 0; a--) {
        const int64_t size = root->shape[a].in[trace];
        if (size == 1)
            continue;
        memmove(l->f + 1, l->f, (size_t)l->n++ * sizeof *l->f);
        l->f[0] = (factor){.size = size, .weight = weight};
        weight *= size;
    }
    if (divided)
        divide(l, v);
    for (int at; (at = assign(l, v)) >= 0;) {
        l->f[at].size *= l->f[at + 1].size;
        l->f[at].weight = l->f[at + 1].weight;
        l->n--;
        memmove(&l->f[at + 1], &l->f[at + 2], (size_t)(l->n - at - 1) * sizeof *l->f);
    }
}

/* The same factors and axes in all traces. */
static bool alike(const factors *x, const factors *y)
{
    bool same = x->n == y->n;
    for (int f = 0; same && f < x->n; f++)
        same = x->f[f].n == y->f[f].n &&
               memcmp(x->f[f].axis, y->f[f].axis, (size_t)x->f[f].n * sizeof *x->f[f].axis) == 0;
    return same;
}

/* The factors of a view in all traces; false after a failure. Without divided, axes of windows that do not overlap walk one
 * factor, too. */
static bool factorize_all(const exporter *e, const spot *s, const view *v, bool divided, factors *l)
{
    for (int t = 0; t < e->traces; t++) {
        factorize(&s->v, t, &v[t], divided, &l[t]);
        if (!alike(&l[0], &l[t]))
            FAIL_NONE(IG_ERR_UNSUPPORTED,
                      "onnx export: a view of %s has another form if the symbolic axis has another "
                      "length; export with a fixed shape",
                      spot_text(s));
    }
    return true;
}

/* ---- written ---- */

static extent axis_length(const view *v, int a)
{
    extent x;
    for (int t = 0; t < EXPORT_TRACES; t++)
        x.in[t] = v[t].shape[a];
    return x;
}

/* The elements of a factor that its only axis walks, or its only element. */
static stretch stretch_of(const exporter *e, const factors *l, const view *v, int f)
{
    stretch s = {fixed(l[0].f[f].start), fixed(1), 1};
    for (int t = 0; t < e->traces; t++)
        s.start.in[t] = l[t].f[f].start;
    if (l[0].f[f].n == 0)
        return s;
    const int a = l[0].f[f].axis[0];
    s.length = axis_length(v, a);
    s.step = v[0].stride[a] / l[0].f[f].weight;
    for (int t = 0; s.step < 0 && t < e->traces; t++)
        s.start.in[t] -= s.step * (s.length.in[t] - 1);
    return s;
}

/* The positions of a factor that several axes walk together; NULL after a failure. */
static const char *positions(exporter *e, const factors *l, const view *v, int f)
{
    const factor *at = &l[0].f[f];
    int64_t n = 1, shape[IG_MAX_NDIM];
    for (int i = 0; i < at->n; i++) {
        const extent length = axis_length(v, at->axis[i]);
        bool same = extent_fixed(e, length);
        for (int t = 1; t < e->traces; t++)
            same = same && l[t].f[f].start == at->start;
        if (!same)
            FAIL_NULL(IG_ERR_UNSUPPORTED,
                      "onnx export: a window slides along the symbolic axis; export with a fixed "
                      "shape");
        n *= shape[i] = length.in[0];
    }
    int64_t *index = onnx_arena_new(&e->arena, (size_t)n, sizeof *index);
    for (int64_t k = 0; index && k < n; k++) {
        int64_t rest = k;
        index[k] = at->start;
        for (int i = at->n - 1; i >= 0; rest /= shape[i--]) {
            const int64_t stride = v->stride[at->axis[i]], step = rest % shape[i];
            index[k] += llabs(stride) / at->weight * (stride > 0 ? step : shape[i] - 1 - step);
        }
    }
    const char *flat = index ? constant(e, IG_I64, 1, n, index) : NULL;
    extent to[IG_MAX_NDIM];
    for (int i = 0; i < at->n; i++)
        to[i] = fixed(shape[i]);
    return value_reshape(e, (value){flat, IG_I64, 1, {fixed(n)}}, at->n, to).name;
}

/* An empty view: there is nothing to select. */
static value see_nothing(exporter *e, const spot *s, const view *v)
{
    extent shape[IG_MAX_NDIM];
    const value zero = {.name = constant_number(e, s->v.dtype, 0), .dtype = s->v.dtype};
    for (int a = 0; a < v->ndim; a++)
        shape[a] = axis_length(v, a);
    return value_expand(e, zero, v->ndim, shape);
}

value see_view(exporter *e, spot *s, const view *v, bool expand)
{
    factors l[EXPORT_TRACES];
    const value none = {0};
    value y = spot_value(e, s);
    if (y.name && view_size(v) == 0)
        return see_nothing(e, s, v);
    if (!y.name || !factorize_all(e, s, v, true, l))
        return none;
    extent sizes[EXPORT_AXES], seen[EXPORT_AXES], whole[EXPORT_AXES];
    stretch part[EXPORT_AXES];
    const int n = l[0].n;
    bool plain = true; /* all of the root in its order */
    int axes[EXPORT_AXES], n_axes = 0;
    for (int f = 0; f < n; f++) {
        for (int t = 0; t < EXPORT_TRACES; t++)
            sizes[f].in[t] = l[t < e->traces ? t : 0].f[f].size;
        part[f] = l[0].f[f].n > 1 ? (stretch){fixed(0), sizes[f], 1} : stretch_of(e, l, v, f);
        plain = plain && l[0].f[f].n == 1 && part[f].step == 1 &&
                extent_same(e, part[f].length, sizes[f]);
    }
    for (int f = 0; f < n; f++)
        for (int i = 0; i < l[0].f[f].n; i++) {
            plain = plain && (!n_axes || axes[n_axes - 1] < l[0].f[f].axis[i]);
            axes[n_axes++] = l[0].f[f].axis[i];
        }
    if (!plain) {
        y = value_slice(e, value_reshape(e, y, n, sizes), part);
        for (int f = n - 1; f >= 0 && y.name; f--) {
            const factor *at = &l[0].f[f];
            if (at->n < 2)
                continue;
            y.name =
                NODE_OF(e, "Gather", &IG_ONNX_A_INT("axis", f), 1, y.name, positions(e, l, v, f));
            memmove(&y.shape[f + at->n], &y.shape[f + 1], (size_t)(y.n - f - 1) * sizeof *y.shape);
            y.n += at->n - 1;
            for (int i = 0; i < at->n; i++)
                y.shape[f + i] = axis_length(v, at->axis[i]);
        }
        /* The axes in the view's order; axes of one element, which no axis of the view walks, last. */
        int perm[EXPORT_AXES], own[EXPORT_AXES], k = 0, ones = 0;
        bool ordered = true;
        for (int f = 0; f < n; f++)
            for (int i = 0; i < (l[0].f[f].n ? l[0].f[f].n : 1); i++)
                own[k++] = l[0].f[f].n ? l[0].f[f].axis[i] : IG_MAX_NDIM + ones++;
        for (int i = 1; i < n_axes; i++)
            ordered = ordered && axes[i - 1] < axes[i];
        for (int i = 0; i < k; i++) {
            int at = 0;
            for (int j = 0; j < k; j++)
                at += own[j] < own[i];
            perm[at] = i;
        }
        if (!ordered)
            y = value_permute(e, y, perm);
    }
    for (int a = 0; a < v->ndim; a++) {
        whole[a] = axis_length(v, a);
        seen[a] = is_active(v, a) ? whole[a] : fixed(1);
    }
    y = value_reshape(e, y, v->ndim, seen);
    return expand ? value_expand(e, y, v->ndim, whole) : y;
}

bool see_windows(exporter *e, spot *s, const view *v, int axes, sliding *w)
{
    factors l[EXPORT_TRACES];
    value y = spot_value(e, s);
    const int outer = v->ndim - axes; /* axes of the result */
    if (!y.name || view_size(v) == 0 || !factorize_all(e, s, v, false, l))
        return false;
    const int n = l[0].n, lead = n - axes;
    if (axes < 1 || axes > 3 || lead < 0 || lead > 2)
        return false;
    extent shape[EXPORT_AXES] = {fixed(1), fixed(1)};
    stretch part[EXPORT_AXES];
    const int skip = 2 - lead; /* axes of length 1 before the factors */
    int next = 0;              /* the axes of the view that are not in windows, in order */
    for (int f = 0; f < n; f++) {
        const factor *at = &l[0].f[f];
        const bool slides = f >= lead;
        for (int t = 0; t < EXPORT_TRACES; t++)
            shape[skip + f].in[t] = l[t < e->traces ? t : 0].f[f].size;
        while (next < outer && !is_active(v, next) && v->shape[next] == 1)
            next++;
        if (at->n != 1 + slides || at->axis[0] != next++ || v->stride[at->axis[0]] < 0 ||
            (slides && (at->axis[1] != outer + f - lead || v->stride[at->axis[1]] < 0)))
            return false;
        const extent out = axis_length(v, at->axis[0]);
        part[skip + f] = (stretch){fixed(at->start), out, v->stride[at->axis[0]] / at->weight};
        if (!slides) {
            if (at->start != 0 || part[skip + f].step != 1 || !extent_same(e, out, shape[skip + f]))
                return false;
            continue;
        }
        const int i = f - lead;
        w->stride[i] = part[skip + f].step;
        w->kernel[i] = v->shape[outer + i];
        w->dilation[i] = v->stride[outer + i] / at->weight;
        for (int t = 0; t < e->traces; t++)
            part[skip + f].length.in[t] =
                (out.in[t] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
        part[skip + f].step = 1;
    }
    for (int i = 0; i < skip; i++)
        part[i] = (stretch){fixed(0), fixed(1), 1};
    w->axes = axes;
    w->over = value_slice(e, value_reshape(e, y, 2 + axes, shape), part);
    return next == outer && w->over.name;
}

bool box_of(const exporter *e, int n, const extent *shape, const view *v, stretch *box)
{
    for (int t = 0; t < e->traces; t++) {
        int64_t weight = 1, rest = v[t].offset, weights[EXPORT_AXES];
        int next = 0;
        for (int a = n - 1; a >= 0; a--) {
            weights[a] = weight;
            weight *= shape[a].in[t];
        }
        for (int a = 0; a < n; a++) {
            stretch s = {fixed(0), fixed(1), 1};
            const int64_t start = rest / weights[a];
            rest %= weights[a];
            while (next < v->ndim && v[t].shape[next] == 1)
                next++;
            const int64_t stride = next < v->ndim ? llabs(v[t].stride[next]) : 0;
            const bool walks =
                stride >= weights[a] && shape[a].in[t] > 1 && stride < weights[a] * shape[a].in[t];
            if (walks && stride % weights[a])
                return false;
            if (t == 0)
                box[a] = s;
            box[a].start.in[t] = start;
            if (walks) {
                box[a].length.in[t] = v[t].shape[next];
                box[a].step = v[t].stride[next++] / weights[a];
            } else {
                box[a].length.in[t] = 1;
            }
            const int64_t last = start + box[a].step * (box[a].length.in[t] - 1);
            if (last < 0 || last >= shape[a].in[t])
                return false;
        }
        while (next < v->ndim && v[t].shape[next] == 1)
            next++;
        if (next < v->ndim)
            return false;
    }
    return true;
}
