/* The typed functions of ingot/op_functions.h. Each packs its arguments and calls its op. The functions of elementwise
 * ops are made here from the rows of ops.def, all others by tools/op-functions from their signatures. */
#include "engine/ops/builders.h"
#include "engine/ops/complex.h"
#include <math.h>

#define NOTHING ((ig_arg){.kind = IG_ARG_NONE})
#define ARRAY(x) ((ig_arg){.kind = IG_ARG_ARRAY, .u.array = (x)})
#define ARRAYS(x, count) ((ig_arg){.kind = IG_ARG_ARRAYS, .u.arrays = {(x), (count)}})
#define BOOL(x) ((ig_arg){.kind = IG_ARG_BOOL, .u.b = (x)})
#define INT(x) ((ig_arg){.kind = IG_ARG_INT, .u.i = (x)})
#define FLOAT(x) ((ig_arg){.kind = IG_ARG_FLOAT, .u.f = (x)})
/* These pass an absent value as NOTHING. */
#define INTS(x) ((x).v || (x).n ? (ig_arg){.kind = IG_ARG_INTS, .u.ints = (x)} : NOTHING)
#define INT_OR_INTS(x) ((x).v && (x).n == 1 ? INT((x).v[0]) : INTS(x))
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
    if (y == x1 && array_is_complex(y))
        return complex_again(y);
    return y == x1 ? array_view(op, x1, &x1->view) : y; /* results are new handles */
}

#define UNARY(name, accepts, result, expr, ...) \
    ig_array *ig_##name(ig_array *x) { return elementwise(OP_##name, x, x); }
#define BINARY(name, accepts, result, expr, ...) \
    ig_array *ig_##name(ig_array *x1, ig_array *x2) { return elementwise(OP_##name, x1, x2); }
#include "engine/ops/ops.def"

#include "op_functions.inc"
