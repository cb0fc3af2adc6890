/* Optimizers: inputs R (the learning rate), T (the count of updates), then n tensors X, n gradients G, and n of each state. */
#include "lib/onnx/ops/ops.h"
#include "lib/onnx/ops/parts.h"

#include <string.h>

/* The update of one tensor. in: X, G and states; out: the new X and states. */
typedef void update_function(onnx_call *c, ig_array *rate, ig_array *count, ig_array *const *in,
                             ig_array **out);

/* The gradient of the loss with 0.5 * norm_coefficient * |X|**2. */
static ig_array *regularized(onnx_call *c, ig_array *const *in)
{
    const double norm = call_attribute_float(c, "norm_coefficient", 0);
    return ig_add(ig_multiply(in[0], ig_float(norm)), in[1]);
}

static ig_array *times(double a, ig_array *x) { return ig_multiply(ig_float(a), x); }

static void adagrad(onnx_call *c, ig_array *rate, ig_array *count, ig_array *const *in,
                    ig_array **out)
{
    const double epsilon = call_attribute_float(c, "epsilon", 1e-6);
    const double decay = call_attribute_float(c, "decay_factor", 0);
    ig_array *g = regularized(c, in);
    ig_array *r = ig_divide(rate, ig_add(times(decay, count), ig_float(1)));
    out[1] = ig_add(in[2], ig_square(g));
    ig_array *root = ig_add(ig_sqrt(out[1]), ig_float(epsilon));
    out[0] = ig_subtract(in[0], ig_divide(ig_multiply(r, g), root));
}

static void adam(onnx_call *c, ig_array *rate, ig_array *count, ig_array *const *in, ig_array **out)
{
    const double alpha = call_attribute_float(c, "alpha", 0.9f);
    const double beta = call_attribute_float(c, "beta", 0.999f);
    const double epsilon = call_attribute_float(c, "epsilon", 1e-6f);
    const double after = call_attribute_float(c, "norm_coefficient_post", 0);
    ig_array *g = regularized(c, in), *one = ig_float(1);
    out[1] = ig_add(times(alpha, in[2]), times(1 - alpha, g));
    out[2] = ig_add(times(beta, in[3]), times(1 - beta, ig_square(g)));
    ig_array *root = ig_add(ig_sqrt(out[2]), ig_float(epsilon));
    ig_array *started = ig_greater(count, ig_float(0)), *power = ig_where(started, count, one);
    ig_array *r = ig_divide(ig_sqrt(ig_subtract(one, ig_pow(ig_float(beta), power))),
                            ig_subtract(one, ig_pow(ig_float(alpha), power)));
    r = ig_multiply(rate, ig_where(started, r, one));
    out[0] = times(1 - after, ig_subtract(in[0], ig_multiply(r, ig_divide(out[1], root))));
}

static void momentum(onnx_call *c, ig_array *rate, ig_array *count, ig_array *const *in,
                     ig_array **out)
{
    const double alpha = call_attribute_float(c, "alpha", 0),
                 beta = call_attribute_float(c, "beta", 0);
    const bool nesterov = call_attribute_choice(c, "mode", "standard|nesterov") == 1;
    ig_array *g = regularized(c, in);
    ig_array *share = ig_where(ig_greater(count, ig_float(0)), ig_float(beta), ig_float(1));
    out[1] = ig_add(times(alpha, in[2]), ig_multiply(ig_astype(share, ig_dtype_of(g)), g));
    ig_array *step = nesterov ? ig_add(g, times(alpha, out[1])) : out[1];
    out[0] = ig_subtract(in[0], ig_multiply(rate, step));
}

/* states: of each tensor. */
static void update_all(onnx_call *c, update_function *update, int states)
{
    const int n = (call_inputs(c) - 2) / (2 + states);
    if (call_inputs(c) != 2 + n * (2 + states)) {
        call_fail(c, IG_ERR_ARGUMENT, NULL, "%d inputs are not 2 and %d for each tensor",
                  call_inputs(c), 2 + states);
        return;
    }
    for (int i = 0; i < n; i++) {
        ig_array *in[4], *out[3] = {NULL, NULL, NULL};
        for (int j = 0; j < 2 + states; j++)
            in[j] = call_array(c, 2 + j * n + i);
        const ig_dtype dtype = ig_dtype_of(in[0]);
        ig_array *rate = ig_astype(ig_reshape(call_array(c, 0), IG_SCALAR), dtype);
        ig_array *count = ig_astype(ig_reshape(call_array(c, 1), IG_SCALAR), dtype);
        if (ig_failed())
            return;
        update(c, rate, count, in, out);
        for (int j = 0; j < 1 + states; j++)
            call_return(c, j * n + i, ig_astype(out[j], dtype));
    }
}

void build_adagrad(onnx_call *c) { update_all(c, adagrad, 1); }

void build_adam(onnx_call *c) { update_all(c, adam, 2); }

void build_momentum(onnx_call *c) { update_all(c, momentum, 1); }

/* The tensor of a name; an error if there is none. */
static ig_array *named_array(onnx_call *c, const char *where, const char *name)
{
    ig_array *x = ig_onnx_value_get(call_named(c, name));
    if (!x)
        call_fail(c, IG_ERR_ARGUMENT, where, "there is no tensor '%.100s' before this node", name);
    return x;
}

/* The gradients of the sum of y by the tensors xs. They are taken where the graph computed y: inputs must be the
 * tensors that the attributes name. */
void build_gradient(onnx_call *c)
{
    int n = 0, fixed = 0;
    const onnx_bytes *xs = call_attribute_texts(c, "xs", &n);
    call_attribute_texts(c, "zs", &fixed);
    const char *name = call_attribute_text(c, "y", "");
    ig_array **x = (ig_array **)call_room(c, n + 1), **grads = (ig_array **)call_room(c, n + 1);
    ig_array *y = x && grads ? named_array(c, "y", name) : NULL;
    for (int i = 0; i < n && y && !ig_failed(); i++) {
        char text[256];
        if (xs[i].n >= sizeof text) {
            call_fail(c, IG_ERR_UNSUPPORTED, "xs", "a name is too long");
            return;
        }
        memcpy(text, xs[i].at, xs[i].n);
        text[xs[i].n] = 0;
        x[i] = named_array(c, "xs", text);
        if (x[i] && (!call_has(c, i) || ig_onnx_value_get(call_value(c, i)) != x[i]))
            call_fail(c, IG_ERR_UNSUPPORTED, "xs", "input %d is not the tensor '%s'", i, text);
    }
    if (!y || ig_failed())
        return;
    ig_array *ones = ig_ones_like(y, IG_DTYPE_NONE);
    if (ig_vjp(&y, &ones, 1, x, n, grads) != IG_OK)
        return;
    for (int i = 0; i < n; i++)
        call_return(c, i, grads[i]);
}
