/* Arguments for random calls. Most depend only on the kind of the parameter. The table of rules at the end lists the
 * parameters that need more: axes, shapes, slices, indices, keys, and string options. */
#include "verify/graph_maker.h"

#include <string.h>

static ig_ints shape_of(const attempt *t) { return t->x ? ig_shape(t->x) : (ig_ints){NULL, 0}; }

static void set_int(graph_arg *a, int64_t i)
{
    a->kind = IG_ARG_INT;
    a->i = i;
}

static void set_ref(graph_arg *a, graph_ref r)
{
    a->kind = IG_ARG_ARRAY;
    a->n_ref = 1;
    a->ref[0] = r;
}

static void set_ints(graph_arg *a, const int64_t *v, int n)
{
    a->kind = IG_ARG_INTS;
    a->n_ints = n;
    for (int i = 0; i < n; i++)
        a->ints[i] = v[i];
}

static bool takes(const graph_arg *a, ig_kind kind) { return a->param->kinds >> kind & 1; }

/* One int; n ints if the parameter takes only a list, or by chance. */
static bool fill_between(attempt *t, graph_arg *a, int n, int64_t low, int64_t high)
{
    int64_t v[GRAPH_INTS];
    if (takes(a, IG_ARG_INT) && (!takes(a, IG_ARG_INTS) || maker_once(t->m, 2))) {
        set_int(a, maker_int(t->m, low, high));
        return true;
    }
    for (int i = 0; i < n && i < GRAPH_INTS; i++)
        v[i] = maker_int(t->m, low, high);
    set_ints(a, v, n);
    return takes(a, IG_ARG_INTS) && n <= GRAPH_INTS;
}

/* ---- axes and shapes ---- */

static bool fill_axis(attempt *t, graph_arg *a)
{
    const int n = shape_of(t).n;
    int64_t axes[MAX_AXES], many = 0;
    if (takes(a, IG_ARG_INT) && (!takes(a, IG_ARG_INTS) || maker_once(t->m, 2))) {
        const bool outer = t->m->first.step >= 0 && maker_once(t->m, 2);
        set_int(a, outer ? 0 : maker_int(t->m, -n - (n == 0), n - (n > 0)));
        return true;
    }
    for (int i = 0; i < n; i++)
        if (maker_once(t->m, 2))
            axes[many++] = maker_once(t->m, 3) ? i - n : i;
    set_ints(a, axes, (int)many);
    return many > 0;
}

/* All axes, permuted. */
static bool fill_order(attempt *t, graph_arg *a)
{
    const int n = shape_of(t).n;
    int64_t axes[MAX_AXES];
    for (int i = 0; i < n; i++)
        axes[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)maker_int(t->m, 0, i);
        const int64_t other = axes[i];
        axes[i] = axes[k];
        axes[k] = other;
    }
    set_ints(a, axes, n);
    return true;
}

/* Another shape for the elements of x: axes are joined, split, or inserted with length 1. */
static bool fill_reshape(attempt *t, graph_arg *a)
{
    const ig_ints from = shape_of(t);
    int64_t to[2 * MAX_AXES];
    int n = 0;
    for (int i = 0; i < from.n; i++) {
        const int64_t len = from.v[i], part = maker_int(t->m, 2, 5);
        if (n && maker_once(t->m, 3)) {
            to[n - 1] *= len;
        } else if (len % part == 0 && len && maker_once(t->m, 2)) {
            to[n++] = part;
            to[n++] = len / part;
        } else {
            to[n++] = len;
        }
        if (maker_once(t->m, 5))
            to[n++] = 1;
    }
    if (n && maker_once(t->m, 4) && shape_size((ig_ints){to, n}))
        to[maker_int(t->m, 0, n - 1)] = -1;
    set_ints(a, to, n);
    return true;
}

/* A shape that x can be broadcast to. */
static bool fill_broadcast(attempt *t, graph_arg *a)
{
    const ig_ints from = shape_of(t);
    int64_t to[MAX_AXES + 2];
    int n = 0;
    for (int64_t more = maker_int(t->m, 0, 1); more > 0; more--)
        to[n++] = t->m->dim[maker_int(t->m, 0, MAKER_DIMS - 1)];
    for (int i = 0; i < from.n; i++)
        to[n++] = from.v[i] == 1 ? t->m->dim[maker_int(t->m, 0, MAKER_DIMS - 1)] : from.v[i];
    set_ints(a, to, n);
    return true;
}

/* A shape for an op that makes an array; sometimes the shape of x. */
static bool fill_shape(attempt *t, graph_arg *a)
{
    int64_t to[3];
    const int n = (int)maker_int(t->m, 1, 3);
    for (int i = 0; i < n; i++)
        to[i] = t->m->dim[maker_int(t->m, 0, MAKER_DIMS - 1)];
    set_ints(a, to, n);
    return true;
}

/* ---- parts of x ---- */

/* Chooses a slice of each axis, with steps of either sign. */
static bool fill_start(attempt *t, graph_arg *a)
{
    static const int64_t steps[] = {1, 1, 1, 2, 3, -1, -1, -2};
    const ig_ints x = shape_of(t);
    for (int i = 0; i < x.n; i++) {
        const int64_t n = x.v[i], low = maker_int(t->m, 0, n / 2),
                      high = maker_int(t->m, low + (n > low), n);
        t->step[i] = steps[maker_int(t->m, 0, 7)];
        t->start[i] = t->step[i] > 0 ? low : high - 1;
        t->stop[i] = t->step[i] > 0 ? high : low ? low - 1 : -n - 1;
    }
    set_ints(a, t->start, x.n);
    return true;
}

static bool fill_stop(attempt *t, graph_arg *a)
{
    set_ints(a, t->stop, shape_of(t).n);
    return true;
}

static bool fill_step(attempt *t, graph_arg *a)
{
    set_ints(a, t->step, shape_of(t).n);
    return true;
}

/* The array that slice_update writes into x, at every step-th element from start on. */
static bool fill_update(attempt *t, graph_arg *a)
{
    const ig_ints x = shape_of(t);
    const bool inner = maker_once(t->m, 2); /* a part of the last axis only */
    graph_ref r;
    for (int i = 0; i < x.n; i++) {
        const int64_t n = x.v[i];
        const bool whole = inner && i < x.n - 1;
        t->step[i] = !whole && maker_once(t->m, 4) ? 2 : 1;
        const int64_t most = n ? (n - 1) / t->step[i] + 1 : 0;
        t->length[i] = whole || maker_once(t->m, 2) ? most : maker_int(t->m, n > 0, most);
        const int64_t last = n - 1 - (t->length[i] - 1) * t->step[i];
        t->start[i] = n && last > 0 && maker_once(t->m, 2) ? maker_int(t->m, 0, last) : 0;
    }
    for (int i = 0; i < 8; i++) {
        ig_array *y = maker_pick(t->m, &r) ? maker_at(t->m, r) : NULL;
        if (y && ig_ndim(y) == x.n &&
            (x.n == 0 || memcmp(ig_shape(y).v, t->length, (size_t)x.n * sizeof *t->length) == 0)) {
            set_ref(a, r);
            return true;
        }
    }
    if (!maker_leaf(t->m, ig_dtype_of(t->x), (ig_ints){t->length, x.n}, -3, 3, &r))
        return false;
    set_ref(a, r);
    return true;
}

static bool fill_update_start(attempt *t, graph_arg *a)
{
    set_ints(a, t->start, shape_of(t).n);
    return true;
}

static bool fill_pad(attempt *t, graph_arg *a)
{
    int64_t v[2 * MAX_AXES];
    const int n = shape_of(t).n;
    const int64_t how = maker_int(t->m, 0, 3);
    for (int i = 0; i < 2 * n; i++)
        v[i] = how > 0 || maker_once(t->m, 2) ? 0 : maker_int(t->m, 0, 2);
    if (n && how == 1)
        v[maker_int(t->m, 0, 2 * n - 1)] = maker_int(t->m, 1, 3);
    else if (n && how > 1) /* the end of the last axis: all other elements stay in their rows */
        v[2 * n - 1] = maker_int(t->m, 1, 2);
    set_ints(a, v, 2 * n);
    return 2 * n <= GRAPH_INTS;
}

/* ---- numbers ---- */

static bool fill_one_to_three(attempt *t, graph_arg *a)
{
    const int n = shape_of(t).n;
    return fill_between(t, a, n > 2 ? n - 2 : 1, 1, 3);
}

static bool fill_none_or_one(attempt *t, graph_arg *a)
{
    const int n = shape_of(t).n;
    return fill_between(t, a, n > 2 ? n - 2 : 1, 0, 1);
}

static bool fill_repetitions(attempt *t, graph_arg *a)
{
    return fill_between(t, a, shape_of(t).n, maker_once(t->m, 8) ? 0 : 1, 3);
}

static bool fill_repeats(attempt *t, graph_arg *a)
{
    set_int(a, maker_int(t->m, maker_once(t->m, 8) ? 0 : 1, 3));
    return true;
}

static bool fill_seed(attempt *t, graph_arg *a)
{
    set_int(a, maker_int(t->m, 0, 999));
    return true;
}

/* A number that divides the length of axis 1. */
static bool fill_groups(attempt *t, graph_arg *a)
{
    const ig_ints x = shape_of(t);
    const int64_t n = x.n > 1 ? x.v[1] : 1, part = maker_int(t->m, 1, 3);
    set_int(a, n && n % part == 0 ? part : 1);
    return true;
}

static bool fill_count(attempt *t, graph_arg *a)
{
    set_int(a, maker_int(t->m, 1, 6));
    return true;
}

static bool fill_sections(attempt *t, graph_arg *a)
{
    int64_t v[2];
    if (maker_once(t->m, 2)) {
        set_int(a, maker_int(t->m, 1, 4));
        return true;
    }
    v[0] = maker_int(t->m, 0, 3);
    v[1] = maker_int(t->m, v[0], 6);
    set_ints(a, v, (int)maker_int(t->m, 1, 2));
    return true;
}

/* ---- arrays ---- */

/* A shape that fits x in some op; returns the number of axes. */
static int related_shape(attempt *t, int64_t *to)
{
    maker *m = t->m;
    const ig_ints x = shape_of(t);
    const int64_t any = m->dim[maker_int(m, 0, MAKER_DIMS - 1)];
    int n = x.n;
    memcpy(to, x.v, (size_t)n * sizeof *to);
    switch (n ? maker_int(m, 0, 9) : 0) {
    case 0:
    case 1: return n; /* same as x */
    case 2:           /* broadcasts to x */
        for (int i = 0; i < n; i++)
            to[i] = maker_once(m, 2) ? 1 : to[i];
        return n;
    case 3: to[0] = x.v[n - 1]; return 1; /* a weight for the last axis */
    case 4: to[0] = x.v[n > 1]; return 1; /* a weight for the channels */
    case 5:                               /* the second factor of a matrix product */
        to[n < 2 ? 0 : n - 2] = x.v[n - 1];
        to[n < 2 ? 1 : n - 1] = any;
        return n < 2 ? 2 : n;
    case 6: to[maker_int(m, 0, n - 1)] = any; return n; /* for concatenation along an axis */
    case 7: /* the kernel of a convolution: (out, in, k, ...) */
        to[0] = maker_int(m, 1, 4);
        for (int i = 2; i < n; i++)
            to[i] = maker_int(m, 1, 3);
        return n;
    case 8: /* drops leading axes */
        n = (int)maker_int(m, 0, n);
        memcpy(to, x.v + x.n - n, (size_t)n * sizeof *to);
        return n;
    default: to[0] = any; return 1;
    }
}

static bool new_operand(attempt *t, graph_ref *out)
{
    int64_t shape[MAX_AXES];
    const int n = related_shape(t, shape);
    const ig_dtype d = maker_once(t->m, 5) ? maker_dtype(t->m) : ig_dtype_of(t->x);
    return n <= MAX_AXES && shape_size((ig_ints){shape, n}) <= t->m->size_most &&
           maker_leaf(t->m, d, (ig_ints){shape, n}, -3, 3, out);
}

static bool new_number(attempt *t, graph_ref *out)
{
    const ig_dtype d = t->x && dtype_in(ig_dtype_of(t->x), INTS) ? IG_I64 : IG_F64;
    if (!maker_leaf(t->m, d, (ig_ints){NULL, 0}, -3, 3, out))
        return false;
    t->m->g->step[out->step].leaf.is_number = true;
    return graph_build_step(t->m->g, out->step, &t->m->a);
}

/* x for an op that needs a minimum rank, such as one on images: an existing result with axes of length 1 prepended. */
static bool first_of_rank(attempt *t, int rank, graph_ref *out)
{
    int64_t shape[MAX_AXES];
    if (!maker_pick(t->m, out))
        return false;
    const ig_ints x = ig_shape(maker_at(t->m, *out));
    if (x.n >= rank)
        return true;
    for (int i = 0; i < rank; i++)
        shape[i] = i < rank - x.n ? 1 : x.v[i - (rank - x.n)];
    return maker_reshape(t->m, *out, (ig_ints){shape, rank}, out);
}

static bool fill_array(attempt *t, graph_arg *a)
{
    maker *m = t->m;
    graph_ref r;
    const char *dims = strpbrk(t->op->name, "123");
    const bool spatial = dims && dims[1] == 'd' && !dims[2];
    bool fine = true;
    if (!t->x && m->first.step >= 0)
        r = m->first;
    else if (!t->x && !spatial && m->g->n_step &&
             !maker_once(m, 3)) { /* a chain of ops on one array */
        r = (graph_ref){m->g->n_step - 1, 0};
        if (ig_size(maker_at(m, r)) <= SIZE_TINY)
            fine = maker_pick(m, &r);
        else
            fine = !m->g->step[r.step].leaf.is_number;
    } else if (!t->x)
        fine = spatial ? first_of_rank(t, *dims - '0' + 2, &r) : maker_pick(m, &r);
    else if (maker_once(m, 12))
        fine = new_number(t, &r);
    else
        fine = maker_once(m, 2) ? maker_pick(m, &r) : new_operand(t, &r);
    if (!fine)
        return false;
    set_ref(a, r);
    if (!t->x)
        t->x = maker_at(m, r);
    return true;
}

static bool fill_arrays(attempt *t, graph_arg *a)
{
    const int n = (int)maker_int(t->m, 1, 3);
    graph_arg one = *a;
    for (int i = 0; i < n; i++) {
        if (!fill_array(t, &one))
            return false;
        a->ref[i] = one.ref[0];
    }
    a->kind = IG_ARG_ARRAYS;
    a->n_ref = n;
    return true;
}

/* Indices below the shortest axis of x: a leaf, or computed. */
static bool fill_indices(attempt *t, graph_arg *a)
{
    maker *m = t->m;
    int64_t shape[MAX_AXES], least = INT64_MAX;
    graph_ref r;
    const ig_ints x = shape_of(t);
    int n = t->x && maker_once(m, 2) ? x.n : (int)maker_int(m, 0, 2);
    for (int i = 0; i < x.n; i++)
        least = x.v[i] < least ? x.v[i] : least;
    if (least == INT64_MAX)
        least = 1; /* without x: the indexed array comes later and must be long enough */
    for (int i = 0; i < n; i++)
        shape[i] = t->x && x.n == n ? x.v[i] : maker_int(m, 1, 4);
    if (n && maker_once(m, 2))
        shape[maker_int(m, 0, n - 1)] = maker_int(m, 1, 5);
    if (maker_once(m, 3) && least > 0)
        for (int i = 0; i < 8; i++) {
            ig_array *y = maker_pick(m, &r) ? maker_at(m, r) : NULL;
            if (y && dtype_in(ig_dtype_of(y), BIT(IG_I32) | BIT(IG_I64)) &&
                maker_call(m, "remainder", r, least, &r)) {
                set_ref(a, r);
                return true;
            }
        }
    const int64_t top = least > 0 ? least - 1 : 0;
    if (!maker_leaf(m, maker_once(m, 2) ? IG_I32 : IG_I64, (ig_ints){shape, n}, 0, (double)top, &r))
        return false;
    set_ref(a, r);
    return true;
}

/* A random key, as a separate step. In attention, whose "key" is something else: an array. */
static bool fill_key(attempt *t, graph_arg *a)
{
    maker *m = t->m;
    const ig_op *key = ig_op_find("key");
    const int k = m->g->n_step;
    if (!key || k == GRAPH_STEPS)
        return false;
    if (t->x && maker_once(m, 2))
        return fill_array(t, a);
    graph_step *s = &m->g->step[k];
    *s = (graph_step){.kind = STEP_CALL, .op = key, .n_arg = 1};
    s->arg[0] = (graph_arg){.param = &key->params[0], .kind = IG_ARG_INT, .i = maker_int(m, 0, 99)};
    m->g->n_step++;
    set_ref(a, (graph_ref){k, 0});
    return graph_build_step(m->g, k, &m->a);
}

static bool fill_mask(attempt *t, graph_arg *a)
{
    graph_ref r;
    int64_t shape[MAX_AXES];
    const int n = t->x ? related_shape(t, shape) : 0;
    if (!maker_leaf(t->m, maker_once(t->m, 3) ? maker_dtype(t->m) : IG_BOOL, (ig_ints){shape, n}, 0,
                    1, &r))
        return false;
    set_ref(a, r);
    return true;
}

/* An array that must be sorted. */
static bool fill_sorted(attempt *t, graph_arg *a)
{
    graph_ref r;
    if (!maker_pick(t->m, &r) || !maker_sort(t->m, r, &r))
        return false;
    set_ref(a, r);
    t->x = maker_at(t->m, r);
    return true;
}

static bool fill_nothing(attempt *t, graph_arg *a)
{
    (void)t, (void)a;
    return false;
}

/* ---- words ---- */

static const struct {
    const char *param, *word[4];
} words[] = {
    {"reduction", {"mean", "sum", "none"}},
    {"indexing", {"xy", "ij"}},
    {"mode", {"constant", "edge", "reflect"}},
    {"side", {"left", "right"}},
    {"approximate", {"none", "tanh"}},
    {"generator", {"philox", "threefry"}},
    {"subscripts", {"ij,jk->ik", "ij->ji", "bij,bjk->bik", "ij,ij->i"}},
};

static bool fill_word(attempt *t, graph_arg *a)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].param, a->param->name) == 0) {
            int n = 0;
            while (n < 4 && words[i].word[n])
                n++;
            a->kind = IG_ARG_STRING;
            a->str = words[i].word[maker_int(t->m, 0, n - 1)];
            return true;
        }
    return false;
}

/* ---- the rules ---- */

/* op NULL: any op. The first matching row is used. */
static const struct {
    const char *op, *param;
    bool (*fill)(attempt *t, graph_arg *a);
} rules[] = {
    {"permute_dims", "axes", fill_order},
    {"reshape", "shape", fill_reshape},
    {"broadcast_to", "shape", fill_broadcast},
    {"slice_update", "update", fill_update},
    {"slice_update", "start", fill_update_start},
    {"slice", "start", fill_start},
    {"slice", "stop", fill_stop},
    {"searchsorted", "x1", fill_sorted},
    {"searchsorted", "sorter", fill_nothing},
    {"digitize", "bins", fill_sorted},
    {"histogram", "bins", fill_sorted},
    {"interp", "xp", fill_sorted},
    {NULL, "axis", fill_axis},
    {NULL, "source", fill_axis},
    {NULL, "destination", fill_axis},
    {NULL, "shape", fill_shape},
    {"slice", "step", fill_step},
    {"slice_update", "step", fill_step},
    {NULL, "pad_width", fill_pad},
    {NULL, "kernel_size", fill_one_to_three},
    {NULL, "stride", fill_one_to_three},
    {NULL, "dilation", fill_one_to_three},
    {NULL, "output_size", fill_one_to_three},
    {NULL, "padding", fill_none_or_one},
    {NULL, "output_padding", fill_none_or_one},
    {NULL, "repetitions", fill_repetitions},
    {NULL, "repeats", fill_repeats},
    {NULL, "seed", fill_seed},
    {NULL, "data", fill_seed},
    {NULL, "groups", fill_groups},
    {NULL, "num_groups", fill_groups},
    {NULL, "num", fill_count},
    {NULL, "num_classes", fill_count},
    {NULL, "indices_or_sections", fill_sections},
    {NULL, "indices", fill_indices},
    {NULL, "labels", fill_indices},
    {NULL, "key", fill_key},
    {NULL, "mask", fill_mask},
};

static bool fill_by_kind(attempt *t, graph_arg *a)
{
    static const double floats[] = {0.5, 1, 0.25, 0, 1e-3, 2};
    const unsigned kinds = a->param->kinds;
    maker *m = t->m;
    ig_kind kind = IG_ARG_NONE;
    for (int seen = 0, k = IG_ARG_ARRAY; k <= IG_ARG_STRING; k++)
        if (kinds >> k & 1 && maker_once(m, ++seen))
            kind = (ig_kind)k;
    a->kind = kind;
    switch (kind) {
    case IG_ARG_ARRAY: return fill_array(t, a);
    case IG_ARG_ARRAYS: return fill_arrays(t, a);
    case IG_ARG_INT: set_int(a, maker_int(m, -2, 5)); return true;
    case IG_ARG_FLOAT: a->f = floats[maker_int(m, 0, 5)]; return true;
    case IG_ARG_BOOL: a->b = maker_once(m, 2); return true;
    case IG_ARG_INTS: return fill_between(t, a, shape_of(t).n, 0, 3);
    case IG_ARG_DTYPE: a->dtype = maker_dtype(m); return true;
    case IG_ARG_STRING: return fill_word(t, a);
    default: return false;
    }
}

bool fill_param(attempt *t, const ig_param *p)
{
    graph_arg a = {.param = p};
    size_t i = 0;
    const size_t n = sizeof rules / sizeof *rules;
    while (i < n && (strcmp(rules[i].param, p->name) != 0 ||
                     (rules[i].op && strcmp(rules[i].op, t->op->name) != 0)))
        i++;
    const bool fine = i < n ? rules[i].fill(t, &a) : fill_by_kind(t, &a);
    if (fine)
        t->call.arg[t->call.n_arg++] = a;
    return fine;
}
