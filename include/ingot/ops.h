/* Every op: by its name, and as a function (ingot/op_functions.h). docs/ops.md lists them. */
#ifndef INGOT_OPS_H
#define INGOT_OPS_H

#include "ingot/array.h"
#include "ingot/op_functions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- every op by its name ------------------------------------------------------------------ */

typedef enum ig_kind {
    IG_ARG_NONE = 0, /* not given */
    IG_ARG_ARRAY,
    IG_ARG_ARRAYS, /* a list of arrays */
    IG_ARG_INT,
    IG_ARG_FLOAT,
    IG_ARG_BOOL,
    IG_ARG_INTS,
    IG_ARG_DTYPE,
    IG_ARG_STRING,
    IG_ARG_BYTES /* of a struct or vector; for kernels only */
} ig_kind;

/* One argument: positional when name is NULL, else by keyword. */
typedef struct ig_arg {
    const char *name;
    ig_kind kind;
    union {
        ig_array *array;
        struct {
            ig_array *const *v;
            int n;
        } arrays;
        int64_t i;
        double f;
        bool b;
        ig_ints ints;
        ig_dtype dtype;
        const char *str;
        struct {
            const void *v;
            size_t n;
        } bytes;
    } u;
} ig_arg;

/* Calls an op by name, after checking args against its signature. Writes the results to out, which has
 * room for max_out, and returns how many there are; 0 on failure. Most ops have one result. */
IG_API int ig_call(const char *op, const ig_arg *args, int nargs, ig_array **out, int max_out);

typedef struct ig_op ig_op;
/* The same for an op of the table below, without looking for its name. */
IG_API int ig_call_op(const ig_op *op, const ig_arg *args, int nargs, ig_array **out, int max_out);

/* A parameter of an op. kinds is a bit set of 1 << ig_kind. def is its default, unless it is required. */
typedef struct ig_param {
    const char *name;
    unsigned kinds;
    bool required;
    bool variadic; /* takes all further positional arguments */
    ig_arg def;
} ig_param;

struct ig_op {
    const char *name;
    const char *cls;       /* "elementwise", "reduce", "move", "index", "contract", ... */
    const char *signature; /* "x: array, axis: int|ints = None, keepdims: bool = False" */
    const char *doc;       /* a short sentence; more sentences may follow */
    const ig_param *params;
    int n_params;
    bool gives_list; /* its result is a list of arrays, even if there is only one */
    bool
        evaluates; /* the shape of its result depends on data, so calling it evaluates its inputs */
    double ulp;    /* elementwise: error bound of f32 and f64 results; 0: correctly rounded */
    const char *results; /* names of its results, joined by spaces, as in "U S Vh"; NULL: none */
};

/* The op table. ig_op_at returns NULL if i is out of range. ig_op_find also takes other names of an op, such as cumsum;
 * it returns NULL if the name is unknown. ig_op_nearest returns the op with the most similar name, never NULL. */
IG_API int ig_op_count(void);
IG_API const ig_op *ig_op_at(int i);
IG_API const ig_op *ig_op_find(const char *name);
IG_API const ig_op *ig_op_nearest(const char *name);

/* The result of an op of ig_constant for elements of one dtype in storage format, without arrays. x2 is NULL if the op takes one
 * array. Writes it to out, which has room for 8 bytes, and returns its dtype. IG_DTYPE_NONE, without an error: only an evaluation
 * gives the result. */
IG_API ig_dtype ig_op_constant(const ig_op *op, ig_dtype dtype, const void *x1, const void *x2,
                               void *out);

/* The parameter of this name. Also takes the names that other libraries use: dim for axis, keepdim for keepdims, input
 * for the first array. NULL if there is none. */
IG_API const ig_param *ig_op_param(const ig_op *op, const char *name);

/* A name that NumPy, PyTorch, JAX or MLX use. It means one of two things:
 *   op          an op of this table
 *   expression  with params: a function in Python's syntax, made of ops: ("x, y", "sum(x * y)")
 * The others are NULL. A dot in a name follows a module, as in "linalg.norm". A function whose name is an op's, too,
 * is meant where the arguments of a call do not fit the op: round(x, 2). */
typedef struct ig_alias {
    const char *name;
    const char *op;
    const char *params, *expression;
} ig_alias;

/* All aliases, in order of their names within each kind. ig_alias_at returns NULL if i is out of range, ig_alias_find if the name
 * is unknown. */
IG_API int ig_alias_count(void);
IG_API const ig_alias *ig_alias_at(int i);
IG_API const ig_alias *ig_alias_find(const char *name);

/* Names of NumPy, PyTorch, JAX or MLX, with spaces between them, that have no meaning here, and what to use instead, or why there is
 * none. A "*" at the beginning or end of a name stands for any text. The module is the one that the names follow: "" is any module or
 * none, "method" an array. ig_advice_find takes a name such as "compile", "nn.LazyLinear" or "method.backward"; rows of its module are
 * before rows of any module. NULL if there is none. */
typedef struct ig_advice {
    const char *module, *names, *text;
} ig_advice;
IG_API int ig_advice_count(void);
IG_API const ig_advice *ig_advice_at(int i);
IG_API const ig_advice *ig_advice_find(const char *name);

/* ---- short forms --------------------------------------------------------------------------- */

/* Reductions over all axes, to a 0-d array. */
static inline ig_array *ig_sum_all(ig_array *x) { return ig_sum(x, IG_NONE, IG_DTYPE_NONE, false); }
static inline ig_array *ig_mean_all(ig_array *x) { return ig_mean(x, IG_NONE, false); }
static inline ig_array *ig_max_all(ig_array *x) { return ig_max(x, IG_NONE, false); }
static inline ig_array *ig_min_all(ig_array *x) { return ig_min(x, IG_NONE, false); }

/* x + number and x * number, in the dtype of x. */
static inline ig_array *ig_plus(ig_array *x, double number) { return ig_add(x, ig_float(number)); }
static inline ig_array *ig_times(ig_array *x, double number)
{
    return ig_multiply(x, ig_float(number));
}

/* Evaluates x and returns it; NULL on failure. */
static inline ig_array *ig_eval_one(ig_array *x) { return ig_eval(&x, 1) == IG_OK ? x : NULL; }

#ifdef __cplusplus
}
#endif

#endif
