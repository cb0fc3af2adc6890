/* Problems: arguments and expected results, with random inputs. The same op, dtype, variant and seed always give
 * the same numbers. */
#include "verify/example.h"
#include "verify/plan.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---- */

uint64_t problem_random(problem *p)
{
    uint64_t z = p->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double problem_uniform(problem *p, double low, double high)
{
    return low + (high - low) * ldexp((double)(problem_random(p) >> 11), -53);
}

static real draw_float(problem *p, ig_dtype d, domain from)
{
    static const double special[] = {0.0, -0.0, 1, -1, 0.5, -0.5,     2,         -2,
                                     1.5, -2.5, 3, 10, 100, INFINITY, -INFINITY, NAN};
    const unsigned kind = from.wild ? (unsigned)(problem_random(p) % 8) : 7;
    const real top = real_max(d), low = real_ulp(d, 0);
    if (kind == 0)
        return (real)special[problem_random(p) % (sizeof special / sizeof *special)];
    if (kind == 1) { /* any magnitude; sometimes a limit */
        const double e = problem_uniform(p, (double)log2l(low), (double)log2l(top));
        const real any = exp2l((real)e), limits[] = {any, any, any, any, top, low, 3 * low, any};
        const real v = real_round(d, limits[problem_random(p) % 8]);
        return problem_random(p) & 1 ? -v : v;
    }
    return real_round(d, (real)problem_uniform(p, from.low, from.high));
}

static real draw_int(problem *p, ig_dtype d, domain from)
{
    const real low = real_min(d), high = real_max(d);
    const unsigned kind = from.wild ? (unsigned)(problem_random(p) % 4) : 3;
    if (kind == 0) {
        const real special[] = {0, 1, low, high, low + 1, high - 1, real_wrap(d, UINT64_MAX), 2};
        return special[problem_random(p) % 8];
    }
    if (kind == 1)
        return real_wrap(d, problem_random(p));
    const real v = floorl((real)problem_uniform(p, from.low, from.high + 1));
    return fminl(fmaxl(v, low), high);
}

static real draw(problem *p, ig_dtype d, domain from)
{
    if (d == IG_BOOL)
        return from.low > 0 ? 1 : (real)(problem_random(p) >> 7 & 1);
    return dtype_in(d, FLOATS) ? draw_float(p, d, from) : draw_int(p, d, from);
}

/* ---- shapes ---- */

int64_t shape_size(ig_ints shape)
{
    int64_t n = 1;
    for (int a = 0; a < shape.n; a++)
        n *= shape.v[a];
    return n;
}

int64_t shape_number(ig_ints shape, const int64_t *i)
{
    int64_t n = 0;
    for (int a = 0; a < shape.n; a++)
        n = n * shape.v[a] + i[a];
    return n;
}

bool shape_next(ig_ints shape, int64_t *i)
{
    for (int a = shape.n - 1; a >= 0; a--) {
        if (++i[a] < shape.v[a])
            return true;
        i[a] = 0;
    }
    return false;
}

real tensor_at(const tensor *t, const int64_t *i) { return t->v[shape_number(tensor_shape(t), i)]; }

real tensor_cast_at(const tensor *t, const int64_t *i, int ndim)
{
    int64_t own[MAX_AXES];
    for (int a = 0; a < t->ndim; a++)
        own[a] = t->shape[a] == 1 ? 0 : i[ndim - t->ndim + a];
    return tensor_at(t, own);
}

/* ---- beginning and end ---- */

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

void problem_begin(problem *p, const char *op, const void *row, ig_dtype dtype, problem_mode mode,
                   int variant)
{
    const bool quick = p->quick, flushes = p->flushes;
    const uint64_t seed = p->seed;
    *p = (problem){.op = op,
                   .row = row,
                   .dtype = dtype,
                   .mode = mode,
                   .variant = variant,
                   .quick = quick,
                   .flushes = flushes,
                   .seed = seed};
    p->random = hash(op) + (uint64_t)dtype * 1000 + (uint64_t)variant + seed * 0x2545f4914f6cdd1du;
}

void problem_end(problem *p)
{
    for (int i = 0; i < p->n_in; i++)
        free(p->in[i].v);
    for (int i = 0; i < p->n_out; i++) {
        free(p->out[i].v);
        free(p->out[i].tol);
    }
    p->n_in = p->n_out = 0;
}

/* ---- arguments ---- */

static void tensor_new(tensor *t, ig_dtype d, ig_ints shape)
{
    assert(shape.n <= MAX_AXES);
    *t = (tensor){.dtype = d, .ndim = shape.n, .size = shape_size(shape), .same_as = -1};
    if (shape.n)
        memcpy(t->shape, shape.v, (size_t)shape.n * sizeof *t->shape);
    t->v = heap_get(((size_t)t->size + 1) * sizeof *t->v);
}

/* Changes t as the mode requires. */
static void relate(problem *p, tensor *t)
{
    const tensor *first = &p->in[0];
    const int64_t last = t->ndim ? t->shape[t->ndim - 1] : 1;
    bool alike = t != first && t->dtype == first->dtype && t->ndim == first->ndim &&
                 memcmp(t->shape, first->shape, (size_t)t->ndim * sizeof *t->shape) == 0;
    if (p->mode == MODE_REPEAT && last > 1) {
        for (int64_t i = 0; i < t->size; i++)
            t->v[i] = t->v[i - i % last];
        p->related = true;
    }
    if ((p->mode == MODE_ALIAS || p->mode == MODE_OVERLAP) && alike) {
        for (int64_t i = 0; i < t->size; i++)
            t->v[i] = first->v[p->mode == MODE_ALIAS ? i : t->size - 1 - i];
        t->same_as = 0;
        p->related = true;
    }
}

tensor *problem_part(problem *p, ig_dtype d, ig_ints shape, domain from)
{
    assert(p->n_in < MAX_INPUTS);
    tensor *t = &p->in[p->n_in++];
    tensor_new(t, d, shape);
    const bool flushes = p->flushes && dtype_in(d, BIT(IG_F32) | BIT(IG_BF16));
    for (int64_t i = 0; i < t->size; i++) {
        const real v = draw(p, d, from);
        t->v[i] = flushes && fabsl(v) < real_normal(d) ? copysignl(0, v) : v;
    }
    t->is_part = true;
    relate(p, t);
    return t;
}

static ig_arg *new_arg(problem *p, const char *name, ig_kind kind)
{
    assert(p->n_args < MAX_ARGS);
    ig_arg *a = &p->args[p->n_args++];
    *a = (ig_arg){.name = name, .kind = kind};
    return a;
}

tensor *problem_in(problem *p, const char *name, ig_dtype d, ig_ints shape, domain from)
{
    p->arg_first[p->n_args] = p->n_in;
    new_arg(p, name, IG_ARG_ARRAY);
    tensor *t = problem_part(p, d, shape, from);
    t->is_part = false;
    return t;
}

void problem_list(problem *p, const char *name, int n)
{
    p->arg_first[p->n_args] = p->n_in - n;
    new_arg(p, name, IG_ARG_ARRAYS)->u.arrays.n = n;
}

void problem_int(problem *p, const char *name, int64_t i) { new_arg(p, name, IG_ARG_INT)->u.i = i; }

void problem_ints(problem *p, const char *name, ig_ints v)
{
    assert(p->n_ints + v.n < MAX_INTS);
    int64_t *own = p->ints + p->n_ints;
    if (v.n)
        memcpy(own, v.v, (size_t)v.n * sizeof *own);
    p->n_ints += v.n;
    new_arg(p, name, IG_ARG_INTS)->u.ints = (ig_ints){own, v.n};
}

void problem_float(problem *p, const char *name, double f)
{
    new_arg(p, name, IG_ARG_FLOAT)->u.f = f;
}

void problem_bool(problem *p, const char *name, bool b) { new_arg(p, name, IG_ARG_BOOL)->u.b = b; }

void problem_dtype(problem *p, const char *name, ig_dtype d)
{
    new_arg(p, name, IG_ARG_DTYPE)->u.dtype = d;
}

void problem_str(problem *p, const char *name, const char *s)
{
    new_arg(p, name, IG_ARG_STRING)->u.str = s;
}

tensor *problem_out(problem *p, ig_dtype d, ig_ints shape)
{
    assert(p->n_out < MAX_OUTPUTS);
    tensor *t = &p->out[p->n_out++];
    tensor_new(t, d, shape);
    t->tol = heap_get(((size_t)t->size + 1) * sizeof *t->tol);
    return t;
}

int problem_call(const problem *p, ig_array **x, ig_array **y, int room)
{
    ig_arg args[MAX_ARGS];
    if (p->example)
        return example_build(p->example, p->dtype, x, y, room);
    memcpy(args, p->args, sizeof args);
    for (int i = 0; i < p->n_args; i++) {
        if (args[i].kind == IG_ARG_ARRAY)
            args[i].u.array = x[p->arg_first[i]];
        if (args[i].kind == IG_ARG_ARRAYS)
            args[i].u.arrays.v = x + p->arg_first[i];
    }
    return example_parts(y, ig_call(p->op, args, p->n_args, y, room), room);
}
