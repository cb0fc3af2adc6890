/* The op table in C: the properties of each row of ops.def. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "engine/array/array.h"
#include "engine/ops/op_id.h"
#include "ingot.h"

typedef enum op_class {
    CLASS_ELEMENTWISE,
    CLASS_REDUCE,
    CLASS_MOVE,
    CLASS_INDEX,
    CLASS_EVALUATE, /* index ops whose result's shape depends on data */
    CLASS_CONTRACT,
    CLASS_SOURCE,
    CLASS_COMPOSITE,
    CLASS_COMPLEX, /* compositions that take complex arrays, too */
    CLASS_NODE
} op_class;

/* The dtypes that an elementwise or fold row accepts, and its result; see ops.def. */
typedef enum op_accepts {
    ACCEPTS_NONE,
    ACCEPTS_FLOAT,
    ACCEPTS_ROUND,
    ACCEPTS_NUM,
    ACCEPTS_ORDER,
    ACCEPTS_INT,
    ACCEPTS_BITS,
    ACCEPTS_BOOL,
    ACCEPTS_ANY
} op_accepts;

typedef enum op_result { RESULT_NONE, RESULT_SAME, RESULT_TRUTH } op_result;

/* args are bound: one for each parameter, in order, of a kind that the parameter takes. An absent
 * optional argument is IG_ARG_NONE; "int|ints" arrives as ints. Writes the results and returns their number;
 * 0 is failure. */
typedef int (*op_build)(op_id op, const ig_arg *args, ig_array **out);

typedef struct op_row {
    const char *name, *signature, *doc;
    op_class cls;
    op_accepts accepts;
    op_result result;
    int arity; /* of an UNARY or BINARY row; else 0 */
    op_build build;
} op_row;

extern const op_row op_rows[];

/* The error bound of an elementwise row's f32 and f64 results, in ulp; 0: correctly rounded. */
extern const double op_ulps[];

/* The parameters of a row, parsed once; NULL on failure. */
const ig_op *op_info(op_id op);

/* Binds args to the signature and builds. Returns the number of results, 0 on failure. */
int op_call(op_id op, const ig_arg *args, int nargs, ig_array **out, int max_out);

/* ---- building blocks of builders (infer.c, build.c) ---- */

/* The most parameters of an op, and the most results (split, unstack). */
enum { OP_MAX_PARAMS = 12, OP_MAX_RESULTS = 4096 };

/* The common dtype of the arrays; weak scalars adapt. Fails if there is none; the error names op. */
ig_status infer_dtype(op_id op, ig_array *const *x, int n, ig_dtype *dtype);
/* The shape that the arrays broadcast to. */
ig_status infer_broadcast(op_id op, ig_array *const *x, int n, int *ndim, int64_t *shape);
/* axis within [0, ndim); a negative axis counts from the end. Fails with IG_ERR_SHAPE if it is outside. */
ig_status infer_axis(op_id op, int64_t axis, int ndim, int *out);
/* The listed axes, or all if axes.v is NULL; duplicates are refused. Returns their number, -1: failed. */
int infer_axes(op_id op, ig_ints axes, int ndim, int out[static IG_MAX_NDIM]);
/* Number of elements, or IG_ERR_SHAPE for a negative length or more than 2^62 bytes. */
ig_status infer_size(op_id op, int ndim, const int64_t *shape, ig_dtype dtype, int64_t *size);

/* Nodes. Each returns NULL on failure and passes NULL on. */
ig_array *build_map(op_id op, ig_dtype dtype, ig_array *const *x, int n); /* x broadcast together */
ig_array *build_cast(ig_array *x, ig_dtype dtype); /* x itself if it has that dtype */
ig_array *build_broadcast(op_id op, ig_array *x, int ndim, const int64_t *shape);
ig_array *build_reshape(op_id op, ig_array *x, int ndim, const int64_t *shape);
/* max(x, axis, keepdims) without a gradient. */
ig_array *build_constant_max(ig_array *x, ig_ints axis);
ig_array *build_permute(op_id op, ig_array *x, const int *axes);
/* Moves axis to the end, and back. */
ig_array *build_axis_last(op_id op, ig_array *x, int axis);
ig_array *build_axis_back(op_id op, ig_array *x, int axis);
/* A 0-d constant of exactly this dtype. */
ig_array *build_scalar(double value, ig_dtype dtype);
ig_array *build_scalar_int(int64_t value, ig_dtype dtype);
/* A number that only the builder holds, for an op with x: it has the dtype that a weak number would get. */
ig_array *build_beside(const ig_array *x, double value);
/* An array filled with one number, as a view: it takes no memory. */
ig_array *build_fill(double value, ig_dtype dtype, int ndim, const int64_t *shape);
/* 0 ... n-1 as i64, in shape. */
ig_array *build_iota(int ndim, const int64_t *shape);
/* Each part i copied into dst[i], a view of the output. Takes over dst. */
ig_array *build_assemble(op_id op, ig_dtype dtype, int ndim, const int64_t *shape,
                         ig_array *const *parts, view *dst, int n);
/* A contiguous copy of x (x itself if it is contiguous already). */
/* The elements of x as a node of their own. */
ig_array *build_copy(ig_array *x);
ig_array *build_contiguous(ig_array *x);

/* Reading bound arguments. */
static inline ig_array *arg_array(const ig_arg *a)
{
    return a->kind == IG_ARG_ARRAY ? a->u.array : NULL;
}
static inline ig_ints arg_ints(const ig_arg *a)
{
    return a->kind == IG_ARG_INTS ? a->u.ints : (ig_ints){NULL, 0};
}
static inline ig_dtype arg_dtype(const ig_arg *a, ig_dtype otherwise)
{
    return a->kind == IG_ARG_DTYPE ? a->u.dtype : otherwise;
}
/* Stores one result; returns 1, or 0 if x is NULL. */
static inline int op_one(ig_array **out, ig_array *x)
{
    out[0] = x;
    return x != NULL;
}

#endif
