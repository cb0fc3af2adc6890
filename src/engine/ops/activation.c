/* Builders of activations. Each is computed in f32 (f64 for f64) and rounded to the dtype of its input once. The
 * definitions are the same as in PyTorch and JAX. */
#include "base/error.h"
#include "engine/ops/composite.h"
#include "engine/ops/formula.h"
#include <math.h>
#include <string.h>

/* The constants of gelu by tanh: tanh(GELU_SCALE * (x + GELU_CUBE * x**3)). */
#define GELU_SCALE (M_SQRT1_2 * M_2_SQRTPI)
#define GELU_CUBE 0.044715

int op_relu(op_id op, const ig_arg *args, ig_array **out)
{
    if (args[0].u.array->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    ig_array *x = args[0].u.array;
    return op_one(out, ig_maximum(x, dtype_is_float(x->dtype) ? build_beside(x, 0) : ig_int(0)));
}

/* x where it is above 0, `below` elsewhere. */
static ig_array *positive_or(ig_array *x, ig_array *below)
{
    return ig_where(ig_greater(x, ig_float(0)), x, below);
}

/* x below 0, else 0. An exponential of it does not overflow: its gradient, times 0, must be 0. */
static ig_array *negative_part(ig_array *x) { return ig_minimum(ig_float(0), x); }

static ig_array *gelu(ig_array *x, const char *how)
{
    if (strcmp(how, "none") == 0)
        return ig_gelu_erf(x);
    if (strcmp(how, "tanh") != 0)
        FAIL_NULL(IG_ERR_ARGUMENT, "gelu: approximate is 'none' or 'tanh', not '%s'", how);
    ig_array *cube = ig_multiply(ig_multiply(ig_square(x), x), ig_float(GELU_CUBE));
    ig_array *y = ig_tanh(ig_multiply(ig_add(x, cube), ig_float(GELU_SCALE)));
    return ig_multiply(ig_multiply(x, ig_float(0.5)), ig_add(y, ig_float(1)));
}

static ig_array *celu(ig_array *x, double alpha)
{
    if (alpha == 0)
        FAIL_NULL(IG_ERR_ARGUMENT, "celu: alpha is 0; give another number");
    return positive_or(x, ig_times(ig_expm1(ig_times(negative_part(x), 1 / alpha)), alpha));
}

static ig_array *hard_tanh(ig_array *x, double low, double high)
{
    if (low > high)
        FAIL_NULL(IG_ERR_ARGUMENT, "hard_tanh: min_val is %g, which is above max_val, %g", low,
                  high);
    return ig_clip(x, ig_float(low), ig_float(high));
}

static ig_array *glu(ig_array *x, int64_t axis)
{
    ig_array *half[2];
    int at;
    if (infer_axis(OP_glu, axis, x->view.ndim, &at) != IG_OK)
        return NULL;
    if (x->view.shape[at] % 2)
        FAIL_NULL(IG_ERR_SHAPE, "glu: axis %d has length %lld, which is not even", at,
                  (long long)x->view.shape[at]);
    return ig_split(x, IG_AXES(2), at, half, 2) ? ig_multiply(half[0], ig_sigmoid(half[1])) : NULL;
}

static ig_array *activation(op_id op, ig_array *x, const ig_arg *more)
{
    switch (op) {
    case OP_leaky_relu: return positive_or(x, ig_multiply(x, ig_float(more->u.f)));
    case OP_elu: return positive_or(x, ig_times(ig_expm1(negative_part(x)), more->u.f));
    case OP_gelu: return gelu(x, more->u.str);
    case OP_silu: return ig_multiply(x, ig_sigmoid(x));
    case OP_log_sigmoid: return ig_negative(ig_softplus(ig_negative(x)));
    case OP_selu: /* the constants of Klambauer et al. */
        return ig_times(ig_elu(x, 1.6732632423543772848), 1.0507009873554804934);
    case OP_celu: return celu(x, more->u.f);
    case OP_mish: return ig_multiply(x, ig_tanh(ig_softplus(x)));
    case OP_hardswish:
        return ig_divide(ig_multiply(x, ig_clip(ig_plus(x, 3), ig_float(0), ig_float(6))),
                         ig_float(6));
    case OP_hard_tanh: return hard_tanh(x, more[0].u.f, more[1].u.f);
    case OP_softsign: return ig_divide(x, ig_plus(ig_abs(x), 1));
    case OP_glu: return glu(x, more->u.i);
    default: return ig_logaddexp(x, ig_float(0)); /* softplus */
    }
}

/* ---- gradients ---- */

static ig_status pull_activation(void *context, ig_array *const *in, int n, ig_array *out,
                                 ig_array *g, ig_array **grads)
{
    static const double constants[FORMULAS][FORMULA_INPUTS] = {
        [FORMULA_GELU_TANH_GRADIENT] = {GELU_SCALE, GELU_SCALE * GELU_CUBE,
                                        3 * GELU_SCALE * GELU_CUBE, 1, 0.5},
        [FORMULA_GELU_GRADIENT] = {M_SQRT1_2, 1, 0.5, -0.5, M_2_SQRTPI * M_SQRT1_2 / 2},
        [FORMULA_SILU_GRADIENT] = {1}};
    const formula f = (formula)(intptr_t)context;
    ig_array *operands[FORMULA_INPUTS] = {g, in[0]};
    (void)n;
    (void)out;
    for (int i = 2; i < formula_rows[f].n_in; i++)
        operands[i] = ig_scalar(constants[f][i - 2], in[0]->dtype == IG_F64 ? IG_F64 : IG_F32);
    grads[0] = build_formula(f, operands);
    return grads[0] ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* y, an activation of x, with a gradient that is computed again from x. Numbers keep the gradient of the ops: they may be weak. */
static ig_array *recomputed(op_id op, ig_array *y, ig_array *x, const ig_arg *more)
{
    if (!y || x->view.ndim == 0 || !dtype_is_float((ig_dtype)x->dtype) ||
        (op != OP_gelu && op != OP_silu))
        return y;
    const formula f = op == OP_silu                      ? FORMULA_SILU_GRADIENT
                      : strcmp(more->u.str, "tanh") == 0 ? FORMULA_GELU_TANH_GRADIENT
                                                         : FORMULA_GELU_GRADIENT;
    return ig_custom_grad(y, &x, 1, pull_activation, (void *)(intptr_t)f, NULL);
}

int op_activation(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK ||
        !composite_result(out, activation(op, x, &args[1]), dtype))
        return 0;
    return op_one(out, recomputed(op, *out, args[0].u.array, &args[1]));
}
