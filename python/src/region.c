/* Regions: what a view sees of its root, as an offset, lengths and strides in the root's row-major order, which is what NumPy
 * knows of a view. NumPy's rules say which results are regions and which are copies.
 *
 * Arrays of the library do not change, so to write to a region means to build another array. A region is written as a slice
 * of the root in some shape (`slicing`): a transpose permutes the value, a reshape is a slice in another shape. Regions
 * that are not a slice in any shape, such as diagonals, are written by their positions. */
#include "common.h"
#include <string.h>

static int64_t size_of(const region *r)
{
    int64_t n = 1;
    for (int a = 0; a < r->ndim; a++)
        n *= r->shape[a];
    return n;
}

bool region_equal(const region *a, const region *b)
{
    const size_t bytes = (size_t)a->ndim * sizeof *a->shape;
    return a->ndim == b->ndim && a->part == b->part && a->offset == b->offset &&
           memcmp(a->shape, b->shape, bytes) == 0 && memcmp(a->stride, b->stride, bytes) == 0;
}

/* ---- regions of regions ---- */

/* Elements start, start + step, ... of axis a, n of them. */
static void cut(region *r, int a, int64_t start, int64_t step, int64_t n)
{
    r->offset += n ? start * r->stride[a] : 0;
    r->stride[a] *= step;
    r->shape[a] = n;
}

/* The items are known to fit. */
void region_index(region *r, const ig_index *items, int n)
{
    const region from = *r;
    int taken = 0, axis = 0, rests = 0;
    for (int i = 0; i < n; i++) {
        taken += items[i].kind == IG_INDEX_INT || items[i].kind == IG_INDEX_SLICE;
        rests += items[i].kind == IG_INDEX_REST;
    }
    r->ndim = 0;
    for (int i = 0; i < n + !rests; i++) {
        const ig_index rest = {.kind = IG_INDEX_REST}, *item = i < n ? &items[i] : &rest;
        const int64_t length = axis < from.ndim ? from.shape[axis] : 0, none = INT64_MIN;
        switch (item->kind) {
        case IG_INDEX_INT:
            r->offset += (item->start < 0 ? item->start + length : item->start) * from.stride[axis];
            axis++;
            break;
        case IG_INDEX_SLICE: {
            const Py_ssize_t step = item->step == none ? 1 : item->step;
            Py_ssize_t start = item->start != none ? item->start
                               : step < 0          ? PY_SSIZE_T_MAX
                                                   : 0,
                       stop = item->stop != none ? item->stop
                              : step < 0         ? PY_SSIZE_T_MIN
                                                 : PY_SSIZE_T_MAX;
            const Py_ssize_t count = PySlice_AdjustIndices(length, &start, &stop, step);
            r->shape[r->ndim] = length;
            r->stride[r->ndim] = from.stride[axis++];
            cut(r, r->ndim++, start, step, count);
            break;
        }
        case IG_INDEX_NEWAXIS:
            r->shape[r->ndim] = 1;
            r->stride[r->ndim++] = 0;
            break;
        default:
            for (int k = from.ndim - taken; k > 0; k--, axis++, r->ndim++) {
                r->shape[r->ndim] = from.shape[axis];
                r->stride[r->ndim] = from.stride[axis];
            }
        }
    }
}

void region_permute(region *r, const int *axes)
{
    const region from = *r;
    for (int a = 0; a < r->ndim; a++) {
        r->shape[a] = from.shape[axes[a]];
        r->stride[a] = from.stride[axes[a]];
    }
}

/* False if the strides cannot express the shape: then NumPy copies. Groups of axes that have equal sizes before and after
 * correspond, and the old axes of a group must follow each other in memory. */
bool region_reshape(region *r, ig_ints shape)
{
    region to = *r;
    int old = 0;
    for (int a = 0; a < r->ndim; a++) /* lengths of 1 have no meaning */
        if (r->shape[a] != 1) {
            to.shape[old] = r->shape[a];
            to.stride[old++] = r->stride[a];
        }
    int64_t stride[IG_MAX_NDIM], size = size_of(r), next = 1;
    for (int a = shape.n - 1; a >= 0; a--) {
        stride[a] = next;
        next *= shape.v[a] > 0 ? shape.v[a] : 1;
    }
    int last = old - 1;
    for (int a = shape.n - 1; size && a >= 0 && last >= 0; last--) {
        int64_t have = to.shape[last], want = shape.v[a];
        const int64_t step = to.stride[last];
        int first = a;
        for (; have != want;) {
            if (want < have) {
                want *= shape.v[--first];
            } else {
                if (to.stride[last - 1] != to.shape[last] * to.stride[last])
                    return false;
                have *= to.shape[--last];
            }
        }
        int64_t by = step;
        for (; a >= first; a--) {
            stride[a] = by;
            by *= shape.v[a];
        }
        while (a >= 0 && shape.v[a] == 1)
            stride[a--] = by;
    }
    r->ndim = shape.n;
    memcpy(r->shape, shape.v, (size_t)shape.n * sizeof *shape.v);
    memcpy(r->stride, stride, (size_t)shape.n * sizeof *stride);
    return true;
}

/* ---- regions that ops give ---- */

static int axis_of(int64_t axis, int ndim) { return (int)(axis < 0 ? axis + ndim : axis); }

static int64_t int_of(const ig_arg *a, int64_t usual)
{
    return !a || a->kind != IG_ARG_INT ? usual : a->u.i;
}

/* A list of integers, of which a single one may stand alone. */
static int ints_of(const ig_arg *a, const int64_t **v)
{
    if (!a || (a->kind != IG_ARG_INT && a->kind != IG_ARG_INTS))
        return 0;
    *v = a->kind == IG_ARG_INT ? &a->u.i : a->u.ints.v;
    return a->kind == IG_ARG_INT ? 1 : a->u.ints.n;
}

static void flip(region *r, int a)
{
    if (r->shape[a])
        cut(r, a, r->shape[a] - 1, -1, r->shape[a]);
}

static void swap(region *r, int a, int b)
{
    int axes[IG_MAX_NDIM] = {0};
    for (int i = 0; i < r->ndim; i++)
        axes[i] = i == a ? b : i == b ? a : i;
    region_permute(r, axes);
}

/* Axes `from` moved to `to`; the others keep their order. */
static void move(region *r, const int64_t *from, const int64_t *to, int n)
{
    int axes[IG_MAX_NDIM], next = 0;
    bool used[IG_MAX_NDIM] = {false};
    for (int i = 0; i < r->ndim; i++)
        axes[i] = -1;
    for (int i = 0; i < n; i++) {
        axes[axis_of(to[i], r->ndim)] = axis_of(from[i], r->ndim);
        used[axis_of(from[i], r->ndim)] = true;
    }
    for (int i = 0; i < r->ndim; i++) {
        if (axes[i] >= 0)
            continue;
        while (used[next])
            next++;
        axes[i] = next++;
    }
    region_permute(r, axes);
}

static bool by_reshape(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)args;
    return region_reshape(r, made);
}

/* reshape(x, shape, copy) */
static bool by_copying_reshape(const ig_arg *const *args, ig_ints made, region *r)
{
    return !(args[2] && args[2]->kind == IG_ARG_BOOL && args[2]->u.b) && region_reshape(r, made);
}

static bool by_permute_dims(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)made;
    const int64_t *v;
    int axes[IG_MAX_NDIM] = {0};
    const int n = ints_of(args[1], &v);
    for (int i = 0; i < n; i++)
        axes[i] = axis_of(v[i], r->ndim);
    region_permute(r, axes);
    return n == r->ndim;
}

static bool by_matrix_transpose(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)args, (void)made;
    swap(r, r->ndim - 2, r->ndim - 1);
    return true;
}

static bool by_swapaxes(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)made;
    swap(r, axis_of(int_of(args[1], 0), r->ndim), axis_of(int_of(args[2], 0), r->ndim));
    return true;
}

static bool by_moveaxis(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)made;
    const int64_t *from, *to;
    const int n = ints_of(args[1], &from);
    if (n == 0 || n != ints_of(args[2], &to))
        return n == 0;
    move(r, from, to, n);
    return true;
}

static bool by_flip(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)made;
    const int64_t *v;
    const int n = ints_of(args[1], &v);
    for (int a = 0; a < r->ndim; a++) {
        bool flipped = n == 0;
        for (int i = 0; i < n; i++)
            flipped = flipped || axis_of(v[i], r->ndim) == a;
        if (flipped)
            flip(r, a);
    }
    return true;
}

static bool by_rot90(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)made;
    const int64_t *v, usual[] = {0, 1};
    if (ints_of(args[2], &v) != 2)
        v = usual;
    const int a = axis_of(v[0], r->ndim), b = axis_of(v[1], r->ndim);
    const int turns = (int)((int_of(args[1], 1) % 4 + 4) % 4);
    if (turns == 1 || turns == 2)
        flip(r, b);
    if (turns == 2)
        flip(r, a);
    if (turns % 2)
        swap(r, a, b);
    if (turns == 3)
        flip(r, b);
    return true;
}

static bool by_diagonal(const ig_arg *const *args, ig_ints made, region *r)
{
    if (r->ndim < 2) /* diag of a vector makes a matrix */
        return false;
    const int a = r->ndim - 2, b = r->ndim - 1;
    const int64_t k = int_of(args[1], 0), n = made.v[made.n - 1];
    if (n)
        r->offset += k < 0 ? -k * r->stride[a] : k * r->stride[b];
    r->stride[a] += r->stride[b];
    r->shape[a] = n;
    r->ndim--;
    r->is_readonly = true;
    return true;
}

static bool by_broadcast_to(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)args;
    const region from = *r;
    const int before = made.n - from.ndim;
    for (int a = 0; a < made.n; a++) {
        const bool repeated = a < before || from.shape[a - before] != made.v[a];
        r->shape[a] = made.v[a];
        r->stride[a] = repeated ? 0 : from.stride[a - before];
    }
    r->ndim = made.n;
    r->is_readonly = true;
    return true;
}

/* Only a complex array has parts; a real one is its own real part. */
static bool by_real(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)made;
    if (ig_isdtype(ig_dtype_of(args[0]->u.array), "complex floating"))
        r->part = PART_REAL;
    return true;
}

static bool by_imag(const ig_arg *const *args, ig_ints made, region *r)
{
    (void)made;
    r->part = PART_IMAG;
    return ig_isdtype(ig_dtype_of(args[0]->u.array), "complex floating");
}

/* The ops whose results are views in NumPy. Those with an axis give lists: of parts, or of what the parts contain. */
static const struct {
    const char *op;
    bool (*region)(const ig_arg *const *args, ig_ints made, region *r);
    enum { NO_AXIS, AXIS_LAST_ARGUMENT, AXIS_OF_UNSTACK, AXIS_H, AXIS_V, AXIS_D } axis;
} view_ops[] = {
    {"reshape", by_copying_reshape, NO_AXIS},
    {"unflatten", by_reshape, NO_AXIS},
    {"squeeze", by_reshape, NO_AXIS},
    {"expand_dims", by_reshape, NO_AXIS},
    {"atleast_1d", by_reshape, NO_AXIS},
    {"atleast_2d", by_reshape, NO_AXIS},
    {"atleast_3d", by_reshape, NO_AXIS},
    {"permute_dims", by_permute_dims, NO_AXIS},
    {"matrix_transpose", by_matrix_transpose, NO_AXIS},
    {"swapaxes", by_swapaxes, NO_AXIS},
    {"moveaxis", by_moveaxis, NO_AXIS},
    {"flip", by_flip, NO_AXIS},
    {"rot90", by_rot90, NO_AXIS},
    {"diagonal", by_diagonal, NO_AXIS},
    {"diag", by_diagonal, NO_AXIS},
    {"broadcast_to", by_broadcast_to, NO_AXIS},
    {"real", by_real, NO_AXIS},
    {"imag", by_imag, NO_AXIS},
    {"split", NULL, AXIS_LAST_ARGUMENT},
    {"array_split", NULL, AXIS_LAST_ARGUMENT},
    {"hsplit", NULL, AXIS_H},
    {"vsplit", NULL, AXIS_V},
    {"dsplit", NULL, AXIS_D},
    {"unstack", NULL, AXIS_OF_UNSTACK},
};

int view_op_find(const char *op)
{
    for (int i = 0; i < (int)(sizeof view_ops / sizeof *view_ops); i++)
        if (strcmp(view_ops[i].op, op) == 0)
            return i;
    return -1;
}

bool view_of_op(int row, const ig_arg *const *args, ig_ints made, int64_t *start, region *r)
{
    if (view_ops[row].region)
        return view_ops[row].region(args, made, r);
    const bool pieces = view_ops[row].axis != AXIS_OF_UNSTACK;
    const int64_t given = view_ops[row].axis == AXIS_V   ? 0
                          : view_ops[row].axis == AXIS_H ? r->ndim > 1
                          : view_ops[row].axis == AXIS_D ? 2
                                                         : int_of(args[pieces ? 2 : 1], 0);
    const int axis = axis_of(given, r->ndim);
    const int64_t length = pieces ? made.v[axis] : 1;
    cut(r, axis, *start, 1, length);
    *start += length;
    for (int a = axis + 1; !pieces && a < r->ndim; a++) {
        r->shape[a - 1] = r->shape[a];
        r->stride[a - 1] = r->stride[a];
    }
    r->ndim -= !pieces;
    return true;
}

/* ---- reading and writing ---- */

/* A region as a slice of the root in a shape: at each axis of the shape start, step and count. */
typedef struct slicing {
    int ndim; /* of the shape */
    int64_t shape[IG_MAX_NDIM], start[IG_MAX_NDIM], step[IG_MAX_NDIM], count[IG_MAX_NDIM];
    int n;               /* axes of the region that are longer than 1 and not repeated */
    int at[IG_MAX_NDIM]; /* the axis of the shape of each */
    int64_t length[IG_MAX_NDIM], stride[IG_MAX_NDIM]; /* of each, positive */
    bool flipped[IG_MAX_NDIM];
    int64_t offset;
} slicing;

static void prepare(slicing *s, const region *r)
{
    s->n = 0;
    s->offset = r->offset;
    for (int a = 0; a < r->ndim; a++) {
        const int64_t stride = r->stride[a], length = r->shape[a];
        if (length == 1 || stride == 0)
            continue;
        s->flipped[s->n] = stride < 0;
        s->offset += stride < 0 ? stride * (length - 1) : 0;
        s->length[s->n] = length;
        s->stride[s->n++] = stride < 0 ? -stride : stride;
    }
}

/* Whether the region is a slice of the root in this shape. Then s describes it. */
static bool fits(slicing *s, int ndim, const int64_t *shape)
{
    int64_t strides[IG_MAX_NDIM], stride = 1;
    bool used[IG_MAX_NDIM] = {false};
    s->ndim = ndim;
    for (int a = ndim - 1; a >= 0; a--) {
        strides[a] = stride;
        s->shape[a] = shape[a];
        s->start[a] = s->offset / stride % shape[a];
        s->step[a] = s->count[a] = 1;
        stride *= shape[a];
    }
    for (int i = 0; i < s->n; i++) {
        int a = 0;
        while (a < ndim && (shape[a] == 1 || strides[a] > s->stride[i]))
            a++;
        if (a == ndim || used[a] || s->stride[i] % strides[a])
            return false;
        s->step[a] = s->stride[i] / strides[a];
        s->count[a] = s->length[i];
        if (s->start[a] + s->step[a] * (s->count[a] - 1) >= shape[a])
            return false;
        used[a] = true;
        s->at[i] = a;
    }
    return true;
}

/* A shape that has the strides of the region; false if there is none. */
static bool fits_own(slicing *s, int64_t size)
{
    int order[IG_MAX_NDIM];
    int64_t shape[IG_MAX_NDIM], above = size;
    if (s->n >= IG_MAX_NDIM)
        return false;
    for (int i = 0; i < s->n; i++) { /* by stride, the longest first */
        int k = i;
        for (; k > 0 && s->stride[order[k - 1]] < s->stride[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (int i = 0; i < s->n; i++) {
        const int64_t stride = s->stride[order[i]];
        if (above % stride)
            return false;
        shape[i] = above / stride;
        above = stride;
    }
    shape[s->n] = above;
    return fits(s, s->n + 1, shape);
}

static bool slice(slicing *s, const region *r, ig_ints root)
{
    int64_t size = 1;
    for (int a = 0; a < root.n; a++)
        size *= root.v[a];
    prepare(s, r);
    return fits(s, root.n, root.v) || fits(s, 1, &size) || fits_own(s, size);
}

/* The places of the region in the flattened root, on its device. */
static ig_array *positions(ig_array *x, const region *r)
{
    ig_array *at = ig_scalar((double)r->offset, IG_I64);
    for (int a = 0; a < r->ndim; a++) {
        int64_t shape[IG_MAX_NDIM];
        for (int i = 0; i < r->ndim; i++)
            shape[i] = i == a ? r->shape[a] : 1;
        ig_array *along =
            ig_reshape(ig_arange(0, (double)r->shape[a], 1, IG_I64), (ig_ints){shape, r->ndim});
        at = ig_add(at, ig_multiply(along, ig_int(r->stride[a])));
    }
    at = ig_broadcast_to(at, (ig_ints){r->shape, r->ndim});
    const char *device = ig_array_device(x);
    return device ? ig_to_device(at, device) : at;
}

static ig_array *shaped(ig_array *x, ig_ints shape)
{
    const ig_ints have = ig_shape(x);
    const bool same =
        have.n == shape.n && memcmp(have.v, shape.v, (size_t)have.n * sizeof *have.v) == 0;
    return same ? x : ig_reshape(x, shape);
}

static ig_array *flat(ig_array *x)
{
    const int64_t all = -1;
    return ig_size(x) ? ig_reshape(x, (ig_ints){&all, 1}) : x;
}

/* The axes of s that are flipped, in the order of the region or of the shape. */
static ig_array *unflipped(ig_array *x, const slicing *s, bool in_shape)
{
    int64_t axes[IG_MAX_NDIM];
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->flipped[i])
            axes[n++] = in_shape ? s->at[i] : i;
    return n ? ig_flip(x, (ig_ints){axes, n}) : x;
}

/* The rank of each axis of the region among the axes of the shape, or the inverse. */
static ig_array *permuted(ig_array *x, const slicing *s, bool to_shape)
{
    int64_t axes[IG_MAX_NDIM];
    bool ordered = true;
    for (int i = 0; i < s->n; i++) {
        int rank = 0;
        for (int k = 0; k < s->n; k++)
            rank += s->at[k] < s->at[i];
        axes[to_shape ? rank : i] = to_shape ? i : rank;
        ordered = ordered && rank == i;
    }
    return ordered ? x : ig_permute_dims(x, (ig_ints){axes, s->n});
}

static ig_array *read_slice(ig_array *x, const region *r, const slicing *s)
{
    ig_index items[IG_MAX_NDIM];
    int64_t shape[IG_MAX_NDIM];
    bool repeats = false;
    for (int a = 0; a < s->ndim; a++) {
        const int64_t stop = s->start[a] + s->step[a] * (s->count[a] - 1) + 1;
        items[a] = (ig_index){.kind = s->count[a] == 1 ? IG_INDEX_INT : IG_INDEX_SLICE,
                              .start = s->start[a],
                              .stop = stop,
                              .step = s->step[a]};
    }
    ig_array *y = ig_get(shaped(x, (ig_ints){s->shape, s->ndim}), items, s->ndim);
    y = unflipped(permuted(y, s, false), s, false);
    for (int a = 0; a < r->ndim; a++) {
        const bool repeated = r->stride[a] == 0 && r->shape[a] != 1;
        shape[a] = repeated ? 1 : r->shape[a];
        repeats = repeats || repeated;
    }
    y = shaped(y, (ig_ints){shape, r->ndim});
    return repeats ? ig_broadcast_to(y, (ig_ints){r->shape, r->ndim}) : y;
}

static ig_array *read_whole(ig_array *x, const region *r)
{
    slicing s;
    const ig_ints shape = {r->shape, r->ndim};
    if (size_of(r) == 0) {
        const ig_index none = {.kind = IG_INDEX_SLICE, .start = 0, .stop = 0, .step = 1};
        ig_array *y = ig_size(x) ? ig_get(flat(x), &none, 1) : x;
        return ig_reshape(y, shape);
    }
    return slice(&s, r, ig_shape(x))
               ? read_slice(x, r, &s)
               : ig_reshape(ig_take(flat(x), positions(x, r), IG_AXES(0)), shape);
}

ig_array *region_read(ig_array *x, const region *r)
{
    ig_array *y = read_whole(x, r);
    return r->part == PART_NONE ? y : r->part == PART_REAL ? ig_real(y) : ig_imag(y);
}

/* value with the other part of the elements that are there. */
static ig_array *with_part(ig_array *x, const region *r, ig_array *value)
{
    ig_array *old = read_whole(x, r);
    return r->part == PART_REAL ? ig_complex(value, ig_imag(old)) : ig_complex(ig_real(old), value);
}

ig_array *region_write(ig_array *x, const region *r, ig_array *value)
{
    slicing s;
    if (size_of(r) == 0)
        return ig_broadcast_to(x, ig_shape(x));
    if (r->part != PART_NONE)
        value = with_part(x, r, value);
    if (!slice(&s, r, ig_shape(x)))
        return scattered(x, positions(x, r), value, "set");
    int64_t lengths[IG_MAX_NDIM];
    memcpy(lengths, s.length, sizeof lengths);
    value = permuted(shaped(value, (ig_ints){lengths, s.n}), &s, true);
    value = unflipped(shaped(value, (ig_ints){s.count, s.ndim}), &s, true);
    ig_array *y = ig_slice_update(shaped(x, (ig_ints){s.shape, s.ndim}), value,
                                  (ig_ints){s.start, s.ndim}, (ig_ints){s.step, s.ndim});
    return shaped(y, ig_shape(x));
}
