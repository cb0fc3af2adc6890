/* Shared by the parts of verify: exact values on the host, problems, and plans.
 *
 * A *plan* describes how one op is checked. It makes *problems*: array arguments by value, other arguments,
 * and the expected results, each with its error bound. Each problem is run in every layout, so a plan knows
 * nothing of layouts.
 *
 * Every value of every dtype is exact in a `real`, which has at least 64 bits (80-bit or quad). */
#ifndef CLI_VERIFY_PLAN_H
#define CLI_VERIFY_PLAN_H

#include "str.h"

#include <ingot.h>

typedef long double real;

enum { MAX_AXES = 8, MAX_INPUTS = 6, MAX_ARGS = 10, MAX_OUTPUTS = 16, MAX_INTS = 64 };

/* ---- values (real.c) ---- */

#define BIT(dtype) (1u << (dtype))
enum {
    BOOLS = BIT(IG_BOOL),
    SIGNED = BIT(IG_I8) | BIT(IG_I16) | BIT(IG_I32) | BIT(IG_I64),
    UNSIGNED = BIT(IG_U8) | BIT(IG_U16) | BIT(IG_U32) | BIT(IG_U64),
    INTS = SIGNED | UNSIGNED,
    HALVES = BIT(IG_F16) | BIT(IG_BF16),
    FLOATS = HALVES | BIT(IG_F32) | BIT(IG_F64),
    NUMBERS = INTS | FLOATS,
    ANY = BOOLS | NUMBERS
};
static inline bool dtype_in(ig_dtype d, unsigned set) { return set >> d & 1; }

/* Scalars from and to storage; what is stored must be a value of the dtype. */
real real_load(ig_dtype d, const void *from);
void real_store(ig_dtype d, void *to, real v);
/* v rounded to the nearest value of a float dtype, ties to even; other dtypes: v itself. */
real real_round(ig_dtype d, real v);
/* The step between values of a float dtype around v. */
real real_ulp(ig_dtype d, real v);
real real_eps(ig_dtype d);
real real_max(ig_dtype d);
real real_normal(ig_dtype d); /* the smallest normal number of a float dtype */
real real_min(ig_dtype d);    /* of floats: -real_max */
int real_width(ig_dtype d);   /* in bits */
/* Integers as 64 bits, extended by their sign, and back: what does not fit the dtype wraps. What is not within 64 bits
 * has none: 0. */
uint64_t real_bits(real v);
real real_wrap(ig_dtype d, uint64_t bits);
/* The float in which composites compute for d, and the dtype of their results. */
ig_dtype real_compute(ig_dtype d);
ig_dtype real_float(ig_dtype d);
/* v converted as ig_astype does. */
real real_cast(ig_dtype from, ig_dtype to, real v);

/* ---- problems (problem.c) ---- */

typedef struct tensor {
    ig_dtype dtype;
    int ndim;
    int64_t shape[MAX_AXES], size;
    real *v;      /* row-major */
    real *tol;    /* of a result: what it may be off; 0: it is v rounded to dtype, to the bit */
    double ulps;  /* of a result: the steps that tol stands for, if they are to be reported */
    int same_as;  /* of an input: the earlier input of which it is a view, or -1 */
    bool is_part; /* not an argument itself, but one of a list */
} tensor;

/* Where inputs come from: uniform in [low, high]; wild ones are mixed with special values, limits and
 * any magnitude. */
typedef struct domain {
    double low, high;
    bool wild;
} domain;

/* How the inputs of a problem are related. */
typedef enum problem_mode {
    MODE_PLAIN,
    MODE_REPEAT,  /* constant along the last axis, so that they can have a stride of 0 */
    MODE_ALIAS,   /* inputs of the first's shape and dtype are the first */
    MODE_OVERLAP, /* inputs of the first's shape and dtype are the first, backwards */
    MODES
} problem_mode;

typedef struct problem {
    const char *op;
    const void *row; /* of the plan */
    ig_dtype dtype;  /* under test */
    problem_mode mode;
    int variant;
    bool related; /* the mode changed something */
    bool quick;
    bool flushes; /* inputs below the normal f32 numbers are 0: the device may make them 0 */
    uint64_t seed;
    bool signed_zeros; /* results: -0 is not 0 */
    uint64_t random;
    int n_in, n_args, n_out, n_ints;
    tensor in[MAX_INPUTS], out[MAX_OUTPUTS];
    ig_arg args[MAX_ARGS];
    int arg_first[MAX_ARGS]; /* of an array argument: the (first) input */
    int64_t ints[MAX_INTS];
} problem;

void problem_begin(problem *p, const char *op, const void *row, ig_dtype dtype, problem_mode mode,
                   int variant);
void problem_end(problem *p);
uint64_t problem_random(problem *p);
double problem_uniform(problem *p, double low, double high);

/* Arguments in order; name NULL: positional. */
tensor *problem_in(problem *p, const char *name, ig_dtype d, ig_ints shape, domain from);
/* An array that is only part of a list, and the list of the last n of these. */
tensor *problem_part(problem *p, ig_dtype d, ig_ints shape, domain from);
void problem_list(problem *p, const char *name, int n);
void problem_int(problem *p, const char *name, int64_t i);
void problem_ints(problem *p, const char *name, ig_ints v);
void problem_float(problem *p, const char *name, double f);
void problem_bool(problem *p, const char *name, bool b);
void problem_dtype(problem *p, const char *name, ig_dtype d);
void problem_str(problem *p, const char *name, const char *s);

/* A result to be filled in; tol is 0. */
tensor *problem_out(problem *p, ig_dtype d, ig_ints shape);

/* Indices. */
static inline ig_ints tensor_shape(const tensor *t) { return (ig_ints){t->shape, t->ndim}; }
int64_t shape_size(ig_ints shape);
int64_t shape_number(ig_ints shape, const int64_t *i); /* row-major */
bool shape_next(ig_ints shape, int64_t *i);            /* false after the last; i starts at 0 */
real tensor_at(const tensor *t, const int64_t *i);
/* The same with i broadcast: i has ndim numbers, of which the last t->ndim count. */
real tensor_cast_at(const tensor *t, const int64_t *i, int ndim);

/* ---- sums of products (reference_contract.c) ---- */

/* Integers wrap; floats may be off by (k + 2) * eps * sum |x * y|, and half a step. */
typedef struct dot {
    real sum, size;
    uint64_t bits;
    int64_t n;
} dot;
void dot_add(dot *s, real x, real y);
real dot_result(const dot *s, ig_dtype d, real *tol);

/* ---- plans ---- */

/* Makes the variant-th problem of the plan's op and p->dtype; false if there is none. */
typedef bool (*plan_make)(problem *p, int variant);

typedef struct plan {
    const char *op;
    unsigned takes; /* dtypes; the others must be refused */
    plan_make make;
    const void *row;
} plan;

/* Tables that end with a row without op. */
extern const plan plans_more[], plans_reduce[], plans_move[], plans_index[], plans_contract[],
    plans_window[], plans_source[], plans_random[], plans_composite[];
/* The row of reference_elementwise.c as a plan; false if there is none. */
bool plan_elementwise(const char *op, plan *out);

#endif
