/* Source ops: arrays made from numbers. Results are exact. */
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

static bool make_full(problem *p, int variant)
{
    ig_ints shape;
    if (!shape_at(p, variant, &shape))
        return false;
    if (p->row)
        problem_in(p, NULL, p->dtype, shape, any);
    else
        problem_ints(p, NULL, shape);
    const real v = problem_in(p, NULL, p->dtype, IG_SCALAR, any)->v[0];
    fill(problem_out(p, p->dtype, shape), v);
    return true;
}

/* ---- sequences and triangles ---- */

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

static bool make_triangle(problem *p, int variant)
{
    static const int64_t sizes[][4] = {{2, 5, 17, 1}, {1, 17, 5, -2}, {1, 65, 65, 0}, {2, 0, 3, 0}};
    if (variant >= 4 || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    const bool upper = p->row != NULL;
    const int64_t *s = sizes[variant];
    const tensor *x = problem_in(p, NULL, p->dtype, (ig_ints){s, 3}, any);
    problem_int(p, "k", s[3]);
    tensor *out = problem_out(p, p->dtype, (ig_ints){s, 3});
    for (int64_t i = 0; i < out->size; i++) {
        const int64_t row = i / s[2] % s[1], col = i % s[2], edge = row + s[3];
        out->v[i] = (upper ? col >= edge : col <= edge) ? x->v[i] : 0;
    }
    return true;
}

const plan plans_source[] = {
    {"zeros", ANY, make_filled, &nothing},
    {"empty", ANY, make_filled, &nothing},
    {"ones", ANY, make_filled, &one},
    {"zeros_like", ANY, make_filled_like, &nothing},
    {"empty_like", ANY, make_filled_like, &nothing},
    {"ones_like", ANY, make_filled_like, &one},
    {"full", ANY, make_full, NULL},
    {"full_like", ANY, make_full, ""},
    {"arange", ANY, make_arange, NULL},
    {"linspace", ANY, make_linspace, NULL},
    {"eye", ANY, make_eye, NULL},
    {"tril", ANY, make_triangle, NULL},
    {"triu", ANY, make_triangle, ""},
    {NULL, 0, NULL, NULL},
};
