/* Elementwise ops that are not UNARY or BINARY rows: where, clip, astype. */
#include "verify/plan.h"
#include <math.h>

static const struct more_shapes {
    int ndim;
    int64_t shape[3];
} shapes[] = {{2, {7, 43}}, {1, {1025}}, {0, {0}},    {2, {3, 0}},   {1, {1}},
              {1, {17}},    {1, {64}},   {1, {1500}}, {3, {3, 5, 7}}};
enum { SHAPES = sizeof shapes / sizeof *shapes, QUICK_SHAPES = 4 };

static const domain wild = {-99, 99, true};

static bool shape_of(const problem *p, int variant, ig_ints *shape)
{
    if (variant >= (p->quick ? QUICK_SHAPES : SHAPES) || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    *shape = (ig_ints){shapes[variant].shape, shapes[variant].ndim};
    return true;
}

static bool make_where(problem *p, int variant)
{
    ig_ints shape;
    if (!shape_of(p, variant, &shape))
        return false;
    /* The first input decides what is aliased: all three inputs if they are bool. */
    const tensor *c = problem_in(p, NULL, IG_BOOL, shape, wild);
    const tensor *x = problem_in(p, NULL, p->dtype, shape, wild);
    const tensor *y = problem_in(p, NULL, p->dtype, shape, wild);
    tensor *out = problem_out(p, p->dtype, shape);
    p->signed_zeros = true;
    for (int64_t i = 0; i < out->size; i++)
        out->v[i] = c->v[i] != 0 ? x->v[i] : y->v[i];
    return true;
}

/* NaN in x stays NaN. A NaN bound gives NaN, as in maximum and minimum. */
static bool make_clip(problem *p, int variant)
{
    ig_ints shape;
    if (!shape_of(p, variant, &shape))
        return false;
    const tensor *x = problem_in(p, NULL, p->dtype, shape, wild);
    const tensor *low = problem_in(p, "min", p->dtype, shape, (domain){-50, 10, false});
    const tensor *high =
        variant % 2 ? NULL : problem_in(p, "max", p->dtype, shape, (domain){-10, 50, false});
    tensor *out = problem_out(p, p->dtype, shape);
    for (int64_t i = 0; i < out->size; i++) {
        real v = x->v[i];
        if (!isnan(v) && !(v > low->v[i]))
            v = low->v[i];
        if (isnan(low->v[i]))
            v = low->v[i];
        if (high && !isnan(v) && !(v < high->v[i]))
            v = high->v[i];
        out->v[i] = v;
    }
    return true;
}

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

const plan plans_more[] = {
    {"where", ANY, make_where, NULL},
    {"clip", NUMBERS, make_clip, NULL},
    {"astype", ANY, make_astype, NULL},
    {NULL, 0, NULL, NULL},
};
