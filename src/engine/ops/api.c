/* The typed functions of ingot/ops.h. Each packs its arguments and calls its op. The functions of elementwise ops are
 * generated from the rows of ops.def, the functions of other ops with one result from the rows of api.def. */
#include "engine/ops/builders.h"
#include <math.h>

#define NOTHING ((ig_arg){.kind = IG_ARG_NONE})
#define ARRAY(x) ((ig_arg){.kind = IG_ARG_ARRAY, .u.array = (x)})
#define ARRAYS(x, count) ((ig_arg){.kind = IG_ARG_ARRAYS, .u.arrays = {(x), (count)}})
#define BOOL(x) ((ig_arg){.kind = IG_ARG_BOOL, .u.b = (x)})
#define INT(x) ((ig_arg){.kind = IG_ARG_INT, .u.i = (x)})
#define FLOAT(x) ((ig_arg){.kind = IG_ARG_FLOAT, .u.f = (x)})
/* These pass an absent value as NOTHING. */
#define INTS(x) ((x).v || (x).n ? (ig_arg){.kind = IG_ARG_INTS, .u.ints = (x)} : NOTHING)
#define AXIS(x) ((x).v && (x).n == 1 ? INT((x).v[0]) : INTS(x))
#define DTYPE(x) ((x) ? (ig_arg){.kind = IG_ARG_DTYPE, .u.dtype = (x)} : NOTHING)
#define STRING(x) ((x) ? (ig_arg){.kind = IG_ARG_STRING, .u.str = (x)} : NOTHING)
/* NULL means absent, unless it is the result of a failed builder. */
#define OPTIONAL(x) ((x) || ig_failed() ? ARRAY(x) : NOTHING)
/* A whole number is passed as an integer. */
#define NUMBER(x) ((x) == floor(x) && fabs(x) < 0x1p62 ? INT((int64_t)(x)) : FLOAT(x))

#define ARGS(...) (ig_arg[]){__VA_ARGS__}, (int)(sizeof((ig_arg[]){__VA_ARGS__}) / sizeof(ig_arg))
#define ONE(name, ...) one_result(OP_##name, ARGS(__VA_ARGS__))
#define MANY(name, out, room, ...) op_call(OP_##name, ARGS(__VA_ARGS__), out, room)

static ig_array *one_result(op_id op, const ig_arg *args, int n)
{
    ig_array *x;
    return op_call(op, args, n, &x, 1) ? x : NULL;
}

/* Elementwise calls are the most frequent: their arguments need no binding. */
static ig_array *elementwise(op_id op, ig_array *x1, ig_array *x2)
{
    ig_array *y;
    if (!x1 || !x2)
        return one_result(op, (ig_arg[]){ARRAY(x1), ARRAY(x2)}, op_rows[op].arity);
    const ig_arg args[2] = {ARRAY(x1), ARRAY(x2)};
    if (!op_elementwise(op, args, &y))
        return NULL;
    return y == x1 ? array_view(op, x1, &x1->view) : y; /* results are new handles */
}

#define UNARY(name, accepts, result, expr, ...) \
    ig_array *ig_##name(ig_array *x) { return elementwise(OP_##name, x, x); }
#define BINARY(name, accepts, result, expr, ...) \
    ig_array *ig_##name(ig_array *x1, ig_array *x2) { return elementwise(OP_##name, x1, x2); }
#include "engine/ops/ops.def"

#define API(name, parameters, ...) \
    ig_array *ig_##name parameters { return ONE(name, __VA_ARGS__); }
#include "engine/ops/api.def"

int ig_broadcast_arrays(ig_array *const *arrays, int n, ig_array **out)
{
    return MANY(broadcast_arrays, out, n, ARRAYS(arrays, n));
}

int ig_meshgrid(ig_array *const *arrays, int n, const char *indexing, ig_array **out)
{
    return MANY(meshgrid, out, n, ARRAYS(arrays, n), STRING(indexing));
}

int ig_split(ig_array *x, ig_ints indices_or_sections, int axis, ig_array **out, int max_out)
{
    return MANY(split, out, max_out, ARRAY(x), INTS(indices_or_sections), INT(axis));
}

int ig_unstack(ig_array *x, int axis, ig_array **out, int max_out)
{
    return MANY(unstack, out, max_out, ARRAY(x), INT(axis));
}

int ig_nonzero(ig_array *x, ig_array **out, int max_out)
{
    return MANY(nonzero, out, max_out, ARRAY(x));
}

int ig_topk(ig_array *x, int64_t k, int axis, ig_array *out[2])
{
    return MANY(topk, out, 2, ARRAY(x), INT(k), INT(axis));
}

int ig_unique_all(ig_array *x, ig_array *out[4]) { return MANY(unique_all, out, 4, ARRAY(x)); }

int ig_unique_counts(ig_array *x, ig_array *out[2])
{
    return MANY(unique_counts, out, 2, ARRAY(x));
}

int ig_unique_inverse(ig_array *x, ig_array *out[2])
{
    return MANY(unique_inverse, out, 2, ARRAY(x));
}
