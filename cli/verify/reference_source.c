/* Source ops, which are arrays made from numbers, and conversions. Results are exact. */
#include "verify/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const domain any = {-9, 9, true};

static const struct source_shape {
    int ndim;
    int64_t shape[3];
} shapes[] = {{2, {5, 17}}, {0, {0}}, {2, {3, 0}}, {1, {1025}}, {3, {2, 3, 65}}, {2, {64, 63}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool shape_at(const problem *p, int variant, ig_ints *shape)
{
    if (variant >= (p->quick ? 4 : SHAPES) || (p->mode != MODE_PLAIN && variant > 0))
        return false;
    *shape = (ig_ints){shapes[variant].shape, shapes[variant].ndim};
    return true;
}

/* ---- constants ---- */

static const real nothing = 0, one = 1;

static void fill(tensor *out, real v)
{
    for (int64_t i = 0; i < out->size; i++)
        out->v[i] = v;
}

static bool make_filled(problem *p, int variant)
{
    ig_ints shape;
    if (!shape_at(p, variant, &shape))
        return false;
    problem_ints(p, NULL, shape);
    problem_dtype(p, NULL, p->dtype);
    fill(problem_out(p, p->dtype, shape), *(const real *)p->row);
    return true;
}

static bool make_filled_like(problem *p, int variant)
{
    ig_ints shape;
    if (!shape_at(p, variant, &shape))
        return false;
    problem_in(p, NULL, variant % 2 ? IG_I16 : p->dtype, shape, any);
    if (variant % 2)
        problem_dtype(p, NULL, p->dtype);
    fill(problem_out(p, p->dtype, shape), *(const real *)p->row);
    return true;
}

/* ---- sequences ---- */

static bool make_arange(problem *p, int variant)
{
    static const int64_t ranges[][3] = {
        {0, 17, 1}, {2, 90, 3}, {60, 3, -7}, {5, 5, 1}, {0, 100, 1}};
    if (variant >= 5)
        return false;
    const int64_t *r = ranges[variant], step = r[2];
    const int64_t n = (r[1] - r[0] + step - (step > 0 ? 1 : -1)) / step;
    for (int i = 0; i < 3; i++)
        problem_int(p, NULL, r[i]);
    problem_dtype(p, NULL, p->dtype);
    tensor *out = problem_out(p, p->dtype, IG_SHAPE(n));
    for (int64_t i = 0; i < n; i++)
        out->v[i] = real_cast(IG_I64, p->dtype, (real)(r[0] + i * step));
    return true;
}

/* i * step + start in f64, then rounded to the dtype. */
static bool make_linspace(problem *p, int variant)
{
    static const int64_t counts[] = {5, 1, 0, 65, 1025};
    if (variant >= 5)
        return false;
    const int64_t n = counts[variant];
    const bool endpoint = variant % 2 == 0;
    const double start = 1, stop = 64.5, parts = (double)(endpoint ? n - 1 : n);
    const double step = parts > 0 ? (stop - start) / parts : 0;
    problem_float(p, NULL, start);
    problem_float(p, NULL, stop);
    problem_int(p, NULL, n);
    problem_dtype(p, NULL, p->dtype);
    problem_bool(p, "endpoint", endpoint);
    tensor *out = problem_out(p, p->dtype, IG_SHAPE(n));
    for (int64_t i = 0; i < n; i++) {
        const double v = endpoint && n > 1 && i == n - 1 ? stop : (double)i * step + start;
        out->v[i] = real_cast(IG_F64, p->dtype, (real)(dtype_in(p->dtype, INTS) ? floor(v) : v));
    }
    return true;
}

static bool make_eye(problem *p, int variant)
{
    static const int64_t sizes[][3] = {{5, 7, 1}, {7, 5, -2}, {65, 65, 0}, {3, 3, 9}, {0, 4, 0}};
    if (variant >= 5)
        return false;
    const int64_t *s = sizes[variant];
    problem_int(p, NULL, s[0]);
    problem_int(p, NULL, s[1]);
    problem_int(p, "k", s[2]);
    problem_dtype(p, "dtype", p->dtype);
    tensor *out = problem_out(p, p->dtype, (ig_ints){s, 2});
    for (int64_t i = 0; i < out->size; i++)
        out->v[i] = i / s[1] + s[2] == i % s[1];
    return true;
}

/* ---- conversions ---- */

/* Each variant converts to another dtype. */
static bool make_astype(problem *p, int variant)
{
    if (variant >= IG_F64)
        return false;
    const ig_dtype to = (ig_dtype)(IG_BOOL + variant);
    const int64_t size[] = {1025, 33, 3};
    const ig_ints shape = variant % 2 ? (ig_ints){size, 1} : (ig_ints){size + 1, 2};
    const tensor *x = problem_in(p, NULL, p->dtype, shape, (domain){-300, 300, true});
    problem_dtype(p, NULL, to);
    tensor *out = problem_out(p, to, shape);
    p->signed_zeros = dtype_in(p->dtype, FLOATS) && dtype_in(to, FLOATS);
    for (int64_t i = 0; i < out->size; i++)
        out->v[i] = real_cast(p->dtype, to, x->v[i]);
    return true;
}

const plan plans_source[] = {
    {"zeros", make_filled, &nothing},
    {"empty", make_filled, &nothing},
    {"ones", make_filled, &one},
    {"zeros_like", make_filled_like, &nothing},
    {"empty_like", make_filled_like, &nothing},
    {"ones_like", make_filled_like, &one},
    {"arange", make_arange, NULL},
    {"linspace", make_linspace, NULL},
    {"eye", make_eye, NULL},
    {"astype", make_astype, NULL},
    {NULL, NULL, NULL},
};
