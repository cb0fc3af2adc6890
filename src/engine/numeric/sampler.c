/* Builders of random arrays that kernels/sampler.cu draws by rejection. They have no gradient with respect to the
 * parameters of a rejection; a scale is multiplied afterwards. */
#include "base/error.h"
#include "engine/custom/library.h"
#include "engine/ops/composite.h"

enum { PARAMS_MOST = 3 };

static const library_kernel sampler = {.file = "sampler.cu"};

/* A node of a kernel that draws an element for each element of the parameters, which have one shape. */
static ig_array *sample(const char *kernel, ig_array *key, ig_array *const *param, int n, bool f64)
{
    const int64_t size = ig_size(param[0]);
    library_args c = args_like(param[0], param[0]->view.ndim);
    args_arrays(&c, &key, 1);
    args_arrays(&c, param, (size_t)n);
    args_result(&c, NULL, 0);
    ARGS_INTS(&c, size);
    const char *const defines[] = {f64 ? "REAL=double" : "REAL=float", f64 ? "F64=1" : "F64=0",
                                   key->view.shape[0] == 4 ? "WORDS=4" : "WORDS=2", NULL};
    return args_call_one(&c, &sampler, kernel, defines, (size + 255) / 256, NULL);
}

/* The parameters args[1] ... args[n] in one shape: `shape` or, if it is None, theirs. They are integers (whole), or f32 or
 * f64; *dtype is their float dtype. */
static bool params_get(op_id op, const ig_arg *args, int n, bool whole, ig_array **param,
                       ig_dtype *dtype)
{
    int64_t own[IG_MAX_NDIM];
    int ndim;
    for (int i = 0; i < n; i++)
        param[i] = args[1 + i].u.array;
    if (!random_key(op, args[0].u.array) || infer_broadcast(op, param, n, &ndim, own) != IG_OK ||
        infer_dtype(op, param, n, dtype) != IG_OK)
        return false;
    if (!dtype_is_float(*dtype))
        *dtype = ig_default_dtype();
    const ig_ints shape =
        args[1 + n].kind == IG_ARG_INTS ? args[1 + n].u.ints : (ig_ints){own, ndim};
    for (int i = 0; i < n; i++) {
        param[i] = build_cast(param[i], whole ? IG_I64 : *dtype == IG_F64 ? IG_F64 : IG_F32);
        if (!param[i] || !(param[i] = build_broadcast(op, param[i], shape.n, shape.v)))
            return false;
    }
    return true;
}

/* ---- floats ---- */

static int drawn_floats(op_id op, const ig_arg *args, const char *kernel, ig_array **y,
                        ig_dtype *dtype)
{
    ig_array *a;
    ig_arg own[4] = {args[0], args[1], args[2], args[3]};
    if (own[3].kind == IG_ARG_DTYPE) {
        if (!dtype_is_float(own[3].u.dtype))
            FAIL_NONE(IG_ERR_DTYPE, "%s: dtype is f16, bf16, f32 or f64, not %s", op_rows[op].name,
                      ig_dtype_name(own[3].u.dtype));
        own[1].u.array = build_cast(own[1].u.array, own[3].u.dtype == IG_F64 ? IG_F64 : IG_F32);
    }
    if (!own[1].u.array || !params_get(op, own, 1, false, &a, dtype))
        return 0;
    *dtype = arg_dtype(&own[3], *dtype);
    *y = sample(kernel, own[0].u.array, &a, 1, a->dtype == IG_F64);
    return *y != NULL;
}

BUILDER(gamma_number)
{
    ig_array *y, *scale = op == OP_random_gamma ? arg_array(&args[4]) : NULL;
    ig_dtype dtype;
    if (!drawn_floats(op, args, "sample_loggamma", &y, &dtype))
        return 0;
    if (op == OP_random_gamma)
        y = ig_exp(y);
    if (scale)
        y = ig_multiply(y, build_cast(scale, ig_dtype_of(y)));
    return composite_result(out, y, dtype);
}

/* The angle is brought back to [-pi, pi]. */
BUILDER(vonmises)
{
    const double pi = 3.14159265358979323846;
    ig_array *y, *mu = arg_array(&args[4]);
    ig_dtype dtype;
    if (!drawn_floats(op, args, "sample_vonmises", &y, &dtype))
        return 0;
    if (mu) {
        y = ig_add(y, build_cast(mu, ig_dtype_of(y)));
        ig_array *turns = ig_floor(ig_plus(ig_times(y, 0.5 / pi), 0.5));
        y = ig_subtract(y, ig_times(turns, 2 * pi));
    }
    return composite_result(out, y, dtype);
}

/* ---- counts ---- */

BUILDER(count_number)
{
    const int n = op == OP_hypergeometric ? 3 : op == OP_binomial ? 2 : 1;
    const bool whole = op == OP_hypergeometric;
    const char *const kernel = op == OP_hypergeometric ? "sample_hypergeometric"
                               : op == OP_binomial     ? "sample_binomial"
                               : op == OP_poisson      ? "sample_poisson"
                               : op == OP_zipf         ? "sample_zipf"
                                                       : "sample_logseries";
    const ig_dtype to = args[2 + n].u.dtype;
    ig_array *param[PARAMS_MOST], *y;
    ig_dtype dtype;
    if (!dtype_is_int(to))
        FAIL_NONE(IG_ERR_DTYPE, "%s: dtype is an integer one, not %s", op_rows[op].name,
                  ig_dtype_name(to));
    if (!params_get(op, args, n, whole, param, &dtype))
        return 0;
    y = sample(kernel, args[0].u.array, param, n, !whole && dtype == IG_F64);
    ig_iinfo info;
    ig_iinfo_of(to, &info);
    if (y && info.bits < 64) /* counts that do not fit are the largest number */
        y = ig_minimum(y, ig_int((int64_t)info.max));
    return op_one(out, build_cast(y, to));
}
