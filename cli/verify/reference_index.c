/* Index ops: reads and writes at computed indices, sorting, searching, distinct values. Results are exact.
 * The reference sorts by insertion, which is stable. */
#include "verify/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const domain any = {-9, 9, true}, few = {0, 6, false};

static const int64_t lengths[][2] = {{7, 43}, {65, 3}, {1, 1}, {17, 64}};
static bool beyond(const problem *p, int variant)
{
    return variant >= (p->quick ? 2 : 4) || (p->mode != MODE_PLAIN && variant > 1);
}

static real *reals(int64_t n) { return heap_get(((size_t)n + 1) * sizeof(real)); }

/* ---- reads and writes: indices along axis 0 of x (n, m) ---- */

/* Indices into an axis of n elements; some count from the end. */
static const tensor *indices(problem *p, ig_ints shape, int64_t n)
{
    return problem_in(p, NULL, IG_I64, shape, (domain){(double)-n, (double)n - 1, false});
}

static int64_t place(real index, int64_t n) { return (int64_t)index + (index < 0 ? n : 0); }

static bool make_take(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    const tensor *x = problem_in(p, NULL, p->dtype, IG_SHAPE(2, l[0], l[1]), any);
    const tensor *at = indices(p, IG_SHAPE(5, 3), l[0]);
    problem_int(p, "axis", 1);
    tensor *out = problem_out(p, p->dtype, IG_SHAPE(2, 5, 3, l[1]));
    int64_t i[4] = {0};
    for (int64_t n = 0; n < out->size; n++, shape_next(tensor_shape(out), i))
        out->v[n] = tensor_at(x, (int64_t[]){i[0], place(tensor_at(at, i + 1), l[0]), i[3]});
    return true;
}

/* gather and take_along_axis. The latter's indices may broadcast. */
static bool make_along(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const bool broadcasts = p->row && variant % 2;
    const int64_t *l = lengths[variant], cols = broadcasts ? 1 : l[1];
    const tensor *x = problem_in(p, NULL, p->dtype, IG_SHAPE(l[0], l[1]), any);
    const tensor *at = indices(p, IG_SHAPE(9, cols), l[0]);
    problem_int(p, "axis", 0);
    tensor *out = problem_out(p, p->dtype, IG_SHAPE(9, l[1]));
    int64_t i[2] = {0};
    for (int64_t n = 0; n < out->size; n++, shape_next(tensor_shape(out), i))
        out->v[n] = tensor_at(x, (int64_t[]){place(tensor_cast_at(at, i, 2), l[0]), i[1]});
    return true;
}

/* Additions are done one by one, each rounded to the dtype. */
static bool make_scatter(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const bool add = p->row != NULL;
    const int64_t *l = lengths[variant];
    const tensor *x = problem_in(p, NULL, p->dtype, IG_SHAPE(l[0], l[1]), add ? few : any);
    const tensor *at = indices(p, IG_SHAPE(9, l[1]), l[0]);
    const tensor *u = problem_in(p, NULL, p->dtype, IG_SHAPE(9, l[1]), add ? few : any);
    tensor *out = problem_out(p, p->dtype, IG_SHAPE(l[0], l[1]));
    memcpy(out->v, x->v, (size_t)x->size * sizeof *x->v);
    int64_t i[2] = {0};
    for (int64_t n = 0; n < u->size; n++, shape_next(tensor_shape(u), i)) {
        real *to = &out->v[place(at->v[n], l[0]) * l[1] + i[1]];
        if (!add)
            *to = u->v[n];
        else
            *to = dtype_in(p->dtype, FLOATS)
                      ? real_round(p->dtype, *to + u->v[n])
                      : real_wrap(p->dtype, real_bits(*to) + real_bits(u->v[n]));
    }
    return true;
}

/* ---- order ---- */

/* True if x sorts before y. NaN comes last in both directions. */
static bool before(real x, real y, bool descending)
{
    if (isnan(x) || isnan(y))
        return !isnan(x) && isnan(y);
    return descending ? x > y : x < y;
}

/* order[i] is the index of the i-th smallest of v[0], v[step], ...; the i-th largest if descending. */
static void sort_row(const real *v, int64_t n, int64_t step, bool descending, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && before(v[i * step], v[order[at - 1] * step], descending); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* sort; with a row argsort. */
static bool make_sort(problem *p, int variant)
{
    const bool indices = p->row != NULL;
    static const int64_t shapes[][2] = {{7, 43}, {65, 3}, {5, 2}, {1, 1025},
                                        {3, 1},  {0, 4},  {3, 0}, {2, 64}};
    if (variant >= (p->quick ? 3 : 8) || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    const int axis = variant == 1 ? 0 : 1;
    const int64_t *l = shapes[variant], n = l[axis];
    const bool descending = variant % 2 == 0;
    const domain from =
        variant ? any : few; /* many equal values, to check that the sort is stable */
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){l, 2}, from);
    problem_int(p, "axis", axis);
    problem_bool(p, "descending", descending);
    tensor *out = problem_out(p, indices ? IG_I64 : p->dtype, (ig_ints){l, 2});
    const int64_t step = axis ? 1 : l[1], rows = l[1 - axis], stride = axis ? l[1] : 1;
    int64_t *order = heap_get(((size_t)n + 1) * sizeof *order);
    for (int64_t r = 0; r < rows; r++) {
        const real *row = x->v + r * stride;
        sort_row(row, n, step, descending, order);
        for (int64_t i = 0; i < n; i++)
            out->v[r * stride + i * step] = indices ? (real)order[i] : row[order[i] * step];
    }
    free(order);
    return true;
}

static bool make_searchsorted(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant], n = l[0] * l[1];
    const bool right = variant % 2;
    int64_t *order = heap_get(((size_t)n + 1) * sizeof *order);
    real *sorted = reals(n);
    tensor *x = problem_in(p, NULL, p->dtype, IG_SHAPE(n), variant ? any : few);
    sort_row(x->v, n, 1, false, order);
    for (int64_t i = 0; i < n; i++)
        sorted[i] = x->v[order[i]];
    memcpy(x->v, sorted, (size_t)n * sizeof *sorted);
    free(sorted);
    free(order);
    const tensor *y = problem_in(p, NULL, p->dtype, variant ? IG_SHAPE(5, 9) : IG_SHAPE(n), any);
    if (right)
        problem_str(p, "side", "right");
    tensor *out = problem_out(p, IG_I64, tensor_shape(y));
    for (int64_t i = 0; i < y->size; i++)
        for (int64_t k = 0; k < n; k++)
            out->v[i] += right ? !before(y->v[i], x->v[k], false) : before(x->v[k], y->v[i], false);
    return true;
}

/* ---- shapes that depend on data ---- */

static bool make_mask_select(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    const bool rows = variant % 2;
    int64_t count = 0;
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){l, 2}, any);
    const tensor *mask = problem_in(p, NULL, IG_BOOL, (ig_ints){l, rows ? 1 : 2}, any);
    for (int64_t i = 0; i < mask->size; i++)
        count += mask->v[i] != 0;
    const int64_t each = rows ? l[1] : 1;
    tensor *out = problem_out(p, p->dtype, rows ? IG_SHAPE(count, each) : IG_SHAPE(count));
    for (int64_t i = 0, n = 0; i < mask->size; i++)
        for (int64_t k = 0; mask->v[i] != 0 && k < each; k++)
            out->v[n++] = x->v[i * each + k];
    return true;
}

static bool make_nonzero(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    int64_t count = 0;
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){l, 2}, (domain){-1, 1, true});
    for (int64_t i = 0; i < x->size; i++)
        count += x->v[i] != 0;
    tensor *row = problem_out(p, IG_I64, IG_SHAPE(count)),
           *col = problem_out(p, IG_I64, IG_SHAPE(count));
    for (int64_t i = 0, n = 0; i < x->size; i++)
        if (x->v[i] != 0) {
            row->v[n] = (real)(i / l[1]);
            col->v[n++] = (real)(i % l[1]);
        }
    return true;
}

static const struct unique_row {
    bool first, inverse, counts;
} unique_all = {true, true, true}, unique_counts = {false, false, true},
  unique_inverse = {false, true, false}, unique_values = {false, false, false};

static bool make_unique(problem *p, int variant)
{
    const struct unique_row *r = p->row;
    if (beyond(p, variant))
        return false;
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){lengths[variant], 2}, any);
    int64_t *order = heap_get(((size_t)x->size + 1) * sizeof *order), groups = 0;
    sort_row(x->v, x->size, 1, false, order);
    for (int64_t i = 0; i < x->size; i++)
        groups += i == 0 || x->v[order[i]] != x->v[order[i - 1]];
    tensor *values = problem_out(p, p->dtype, IG_SHAPE(groups)), *first = NULL, *inverse = NULL,
           *counts = NULL;
    if (r->first)
        first = problem_out(p, IG_I64, IG_SHAPE(groups));
    if (r->inverse)
        inverse = problem_out(p, IG_I64, tensor_shape(x));
    if (r->counts)
        counts = problem_out(p, IG_I64, IG_SHAPE(groups));
    for (int64_t i = 0, g = -1; i < x->size; i++) {
        if (i == 0 || x->v[order[i]] != x->v[order[i - 1]]) {
            values->v[++g] = x->v[order[i]];
            if (first)
                first->v[g] = (real)order[i];
        }
        if (inverse)
            inverse->v[order[i]] = (real)g;
        if (counts)
            counts->v[g]++;
    }
    free(order);
    return true;
}

const plan plans_index[] = {
    {"take", make_take, NULL},
    {"gather", make_along, NULL},
    {"take_along_axis", make_along, ""},
    {"scatter", make_scatter, NULL},
    {"scatter_add", make_scatter, ""},
    {"sort", make_sort, NULL},
    {"argsort", make_sort, ""},
    {"searchsorted", make_searchsorted, NULL},
    {"mask_select", make_mask_select, NULL},
    {"nonzero", make_nonzero, NULL},
    {"unique_all", make_unique, &unique_all},
    {"unique_counts", make_unique, &unique_counts},
    {"unique_inverse", make_unique, &unique_inverse},
    {"unique_values", make_unique, &unique_values},
    {NULL, NULL, NULL},
};
