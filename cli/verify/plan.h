/* Shared by the parts of verify: exact values on the host, problems, and plans.
 *
 * A *plan* describes how one op is checked. It makes *problems*: the values of array arguments, other arguments, and
 * the expected results, each with its error bound. Each problem is run in every layout, so plans do not deal with
 * layouts.
 *
 * Every value of every dtype is exact in a `real`, which has at least 64 bits (80-bit or quad). */
#ifndef CLI_VERIFY_PLAN_H
#define CLI_VERIFY_PLAN_H

#include "str.h"

#include <ingot.h>

typedef long double real;

enum { MAX_AXES = 8, MAX_INPUTS = 6, MAX_ARGS = 10, MAX_OUTPUTS = 16, MAX_INTS = 64 };

/* Adds "[2,3]". */
void print_ints(str *t, const int64_t *v, int n);

/* ---- values (real.c) ---- */

#define BIT(dtype) (1u << (dtype))
enum {
    BOOLS = BIT(IG_BOOL),
    SIGNED = BIT(IG_I8) | BIT(IG_I16) | BIT(IG_I32) | BIT(IG_I64),
    UNSIGNED = BIT(IG_U8) | BIT(IG_U16) | BIT(IG_U32) | BIT(IG_U64),
    INTS = SIGNED | UNSIGNED,
    WHOLES = BOOLS | INTS,
    HALVES = BIT(IG_F16) | BIT(IG_BF16),
    FLOATS = HALVES | BIT(IG_F32) | BIT(IG_F64),
    NUMBERS = INTS | FLOATS,
    ANY = BOOLS | NUMBERS,
    WITH_I64 = ANY & ~BIT(IG_U64) /* have a common dtype with i64 */
};
static inline bool dtype_in(ig_dtype d, unsigned set) { return set >> d & 1; }

/* Loads and stores a scalar. A stored value must be exact in the dtype. */
real real_load(ig_dtype d, const void *from);
void real_store(ig_dtype d, void *to, real v);
/* v rounded to the nearest value of a float dtype, ties to even; other dtypes: v itself. */
real real_round(ig_dtype d, real v);
/* The distance between adjacent values of a float dtype around v. */
real real_ulp(ig_dtype d, real v);
real real_eps(ig_dtype d);
real real_max(ig_dtype d);
real real_normal(ig_dtype d); /* the smallest normal number of a float dtype */
real real_min(ig_dtype d);    /* of floats: -real_max */
int real_width(ig_dtype d);   /* in bits */
/* Integers as 64 sign-extended bits, and back. Values that do not fit the dtype wrap. real_bits is 0 for values outside
 * 64 bits. */
uint64_t real_bits(real v);
real real_wrap(ig_dtype d, uint64_t bits);
/* The float dtype in which composites compute for d, and the dtype of their results. */
ig_dtype real_compute(ig_dtype d);
ig_dtype real_float(ig_dtype d);
/* v converted as ig_astype does. */
real real_cast(ig_dtype from, ig_dtype to, real v);

/* ---- problems (problem.c) ---- */

typedef struct tensor {
    ig_dtype dtype;
    int ndim;
    int64_t shape[MAX_AXES], size;
    real *v;       /* row-major */
    real *tol;     /* results: the error bound; 0: must equal v rounded to dtype, bit for bit */
    double ulps;   /* results: tol in ulp, if the error is reported in ulp; otherwise 0 */
    int same_as;   /* inputs: the earlier input that it is a view of, or -1 */
    bool is_part;  /* not an argument, but an item of a list argument */
    bool is_fixed; /* inputs of examples: of the same dtype in all tests, such as indices */
} tensor;

/* The distribution of inputs: uniform in [low, high]. Wild inputs also have special values, limits and values of any
 * magnitude. */
typedef struct domain {
    double low, high;
    bool wild;
} domain;

/* How the inputs of a problem are related. */
typedef enum problem_mode {
    MODE_PLAIN,
    MODE_REPEAT,  /* constant along the last axis, so that its stride can be 0 */
    MODE_ALIAS,   /* inputs with the shape and dtype of the first one are the first one */
    MODE_OVERLAP, /* inputs with the shape and dtype of the first one are the first one, reversed */
    MODES
} problem_mode;

typedef struct problem {
    const char *op;
    const void *row;               /* the plan's row */
    const struct example *example; /* the call, instead of args; or NULL */
    ig_dtype dtype;                /* under test */
    problem_mode mode;
    int variant;
    bool related; /* the mode had an effect */
    bool quick;
    bool flushes; /* subnormal f32 inputs are replaced by 0, because the device may flush them */
    uint64_t seed;
    bool signed_zeros; /* results: -0 and 0 differ */
    bool by_nodes;     /* results have no values here: ig_verify compares the op's nodes */
    uint64_t random;
    int n_in, n_args, n_out, n_ints;
    tensor in[MAX_INPUTS], out[MAX_OUTPUTS];
    ig_arg args[MAX_ARGS];
    int arg_first[MAX_ARGS]; /* for array arguments: the first input */
    int64_t ints[MAX_INTS];
} problem;

void problem_begin(problem *p, const char *op, const void *row, ig_dtype dtype, problem_mode mode,
                   int variant);
void problem_end(problem *p);
uint64_t problem_random(problem *p);
double problem_uniform(problem *p, double low, double high);

/* Adds arguments, in order. name NULL: positional. */
tensor *problem_in(problem *p, const char *name, ig_dtype d, ig_ints shape, domain from);
/* Adds an array that is only an item of a list, and the list of the last n such arrays. */
tensor *problem_part(problem *p, ig_dtype d, ig_ints shape, domain from);
void problem_list(problem *p, const char *name, int n);
void problem_int(problem *p, const char *name, int64_t i);
void problem_ints(problem *p, const char *name, ig_ints v);
void problem_float(problem *p, const char *name, double f);
void problem_bool(problem *p, const char *name, bool b);
void problem_dtype(problem *p, const char *name, ig_dtype d);
void problem_str(problem *p, const char *name, const char *s);

/* Adds a result, to be filled in by the caller; tol is 0. */
tensor *problem_out(problem *p, ig_dtype d, ig_ints shape);

/* Calls the op with x as its arrays; returns the number of results, 0 on failure. */
int problem_call(const problem *p, ig_array **x, ig_array **y, int room);

/* Indices. */
static inline ig_ints tensor_shape(const tensor *t) { return (ig_ints){t->shape, t->ndim}; }
int64_t shape_size(ig_ints shape);
int64_t shape_number(ig_ints shape, const int64_t *i); /* row-major index */
bool shape_next(ig_ints shape, int64_t *i);            /* false after the last; i starts at 0 */
real tensor_at(const tensor *t, const int64_t *i);
/* Same with broadcasting. i has ndim indices; only the last t->ndim are used. */
real tensor_cast_at(const tensor *t, const int64_t *i, int ndim);

/* ---- sums of products (reference_contract.c) ---- */

/* Integers wrap. The error bound of floats is (k + 2) * eps * sum |x * y| plus half an ulp. */
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
    plan_make make;
    const void *row;
} plan;

/* Tables of the ops whose kernels have an independent reference in C. The last row has no op. */
extern const plan plans_reduce[], plans_index[], plans_contract[], plans_window[], plans_source[],
    plans_random[];
/* Makes a plan from an elementwise row, or from the examples of a row; false if there is none. *takes: the dtypes that the row
 * accepts; others must be refused. */
bool plan_elementwise(const char *op, plan *out, unsigned *takes);
bool plan_example(const char *op, plan *out, unsigned *takes);

#endif
