/* Builders of convolutions: a view of the windows of x is contracted with the weight. A transposed
 * convolution inserts zeros between the elements of x and convolves with the flipped kernel. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/contract.h"
#include "engine/ops/conv.h"
#include "engine/ops/grad.h"
#include "engine/ops/index.h"
#include "engine/ops/native.h"
#include "engine/ops/layout.h"
#include "engine/ops/window.h"
#include <string.h>

/* The operands in one dtype, and the parameters of a convolution. */
typedef struct conv {
    op_id op;
    ig_array *x, *weight, *bias; /* bias may be NULL */
    int64_t groups;
    int64_t in, out; /* channels of each group */
    windows w;
} conv;

/* x, or a copy if its view repeats elements, since gradients need distinct elements. */
static ig_array *apart(ig_array *x)
{
    return !x || view_is_injective(&x->view) ? x : build_contiguous(x);
}

/* Operands and channels. weight is (groups * out, in, kernel...), transposed (groups * in, out,
 * kernel...). */
static ig_status conv_read(conv *c, op_id op, const ig_arg *args, int64_t groups, bool transposed)
{
    ig_array *x[3] = {args[0].u.array, args[1].u.array, arg_array(&args[2])};
    const char *name = op_rows[op].name;
    *c = (conv){.op = op, .groups = groups, .w.n = window_axes(op)};
    TRY(window_check(op, "x", x[0]));
    TRY(window_check(op, "weight", x[1]));
    const int64_t *shape = x[1]->view.shape, channels = x[0]->view.shape[1];
    if (groups < 1 || channels % groups != 0 || shape[0] % groups != 0)
        FAIL(IG_ERR_ARGUMENT,
             "%s: groups is %lld, which does not divide %lld channels of x and %lld "
             "rows of weight",
             name, (long long)groups, (long long)channels, (long long)shape[0]);
    c->in = channels / groups;
    c->out = transposed ? shape[1] : shape[0] / groups;
    if ((transposed ? shape[0] / groups : shape[1]) != c->in)
        FAIL(IG_ERR_SHAPE,
             "%s: axis %d of weight has length %lld, but x has %lld channels in %lld "
             "group%s, so it must be %lld",
             name, !transposed, (long long)shape[!transposed], (long long)channels,
             (long long)groups, groups == 1 ? "" : "s", (long long)(transposed ? channels : c->in));
    for (int a = 0; a < c->w.n; a++)
        if ((c->w.kernel[a] = shape[2 + a]) == 0)
            FAIL(IG_ERR_SHAPE, "%s: axis %d of weight has length 0", name, 2 + a);
    if (x[2] && (x[2]->view.ndim != 1 || x[2]->view.shape[0] != groups * c->out)) {
        char text[400];
        FAIL(IG_ERR_SHAPE, "%s: bias has shape %s, but there are %lld channels in the result", name,
             view_shape_text(x[2]->view.ndim, x[2]->view.shape, text),
             (long long)(groups * c->out));
    }
    TRY(contract_cast(op, x, x[2] ? 3 : 2));
    for (int i = 0; i < 3; i++) /* the rule below differentiates by them, through views */
        if (x[i] && !view_is_injective(&x[i]->view) && !(x[i] = build_contiguous(x[i])))
            return IG_ERR_MEMORY;
    c->x = x[0];
    c->weight = apart(x[1]);
    c->bias = apart(x[2]);
    if (c->weight == c->x) /* another array, so that the rule distinguishes the two */
        c->weight = array_view(OP_reshape, c->x, &c->x->view);
    return c->weight && (c->bias || !x[2]) ? IG_OK : IG_ERR_MEMORY;
}

/* Splits an axis of n * length elements into two. */
static void axis_split(view *v, int axis, int64_t n, int64_t length)
{
    const int64_t step = v->stride[axis];
    v->shape[axis] = n;
    v->stride[axis] = step * length;
    axis_insert(v, axis + 1, length, step);
}

/* c->weight as (N, groups, out, in, kernel...), repeated for each of the N. */
static ig_array *conv_weight(const conv *c, bool transposed)
{
    view v = c->weight->view;
    axis_split(&v, 0, c->groups, transposed ? c->in : c->out);
    if (transposed) {
        view from = v;
        view_permute(&from, (const int[]){0, 2, 1, 3, 4, 5}, &v);
        for (int a = 3; a < v.ndim; a++)
            span_apply(&v, a, span_clip(INT64_MAX, INT64_MIN, -1, v.shape[a]));
    }
    axis_insert(&v, 0, c->x->view.shape[0], 0);
    return array_view(c->op, c->weight, &v);
}

/* The windows of x, which is padded, as (N, groups, out..., in, kernel...). */
static ig_array *conv_windows(const conv *c, ig_array *x)
{
    const int n = c->w.n;
    view from, v;
    int order[3 + 2 * WINDOW_AXES_MOST] = {0, 1};
    if (!x)
        return NULL;
    window_view(&x->view, &c->w, &from);
    axis_split(&from, 1, c->groups, c->in);
    for (int a = 0; a < n; a++) {
        order[2 + a] = 3 + a;
        order[3 + n + a] = 3 + n + a;
    }
    order[2 + n] = 2;
    view_permute(&from, order, &v);
    return array_view(c->op, x, &v);
}

/* y with the bias added along its second axis, the channels; y itself if there is no bias. */
static ig_array *with_bias(const conv *c, ig_array *y)
{
    if (!y || !c->bias)
        return y;
    const int64_t column[1 + WINDOW_AXES_MOST] = {c->groups * c->out, 1, 1, 1};
    ig_array *bias = build_cast(c->bias, (ig_dtype)y->dtype);
    return ig_add(y, build_reshape(c->op, bias, 1 + c->w.n, column));
}

/* The result: x is padded, weight is conv_weight's. f16 and bf16 round once, after the bias. */
static ig_array *conv_result(const conv *c, ig_array *x, ig_array *weight)
{
    const int n = c->w.n;
    const ig_dtype dtype = (ig_dtype)c->x->dtype;
    const ig_dtype wide = c->bias && dtype_is_half(dtype) ? IG_F32 : dtype;
    ig_array *in[2] = {weight, conv_windows(c, x)};
    ig_array *y = contract_node(c->op, in, (contract_axes){2, 1, n, 1 + n}, wide);
    int64_t shape[2 + WINDOW_AXES_MOST] = {c->x->view.shape[0], c->groups * c->out};
    memcpy(shape + 2, c->w.out, sizeof c->w.out);
    return build_cast(with_bias(c, build_reshape(c->op, y, 2 + n, shape)), dtype);
}

/* ---- gradients: each kind of convolution is the gradient of the other with respect to x ---- */

/* g convolved back over x: output_padding covers the elements that the last window did not reach. */
static ig_array *pull_back(const conv_numbers *c, const view *x, ig_array *weight, ig_array *g)
{
    static ig_array *(*const back[])(ig_array *, ig_array *, ig_array *, ig_ints, ig_ints, ig_ints,
                                     int, ig_ints) = {ig_conv_transpose1d, ig_conv_transpose2d,
                                                      ig_conv_transpose3d};
    int64_t left[WINDOW_AXES_MOST];
    for (int a = 0; a < c->n; a++)
        left[a] = x->shape[2 + a] + 2 * c->padding[a] - 1 -
                  (weight->view.shape[2 + a] - 1) * c->dilation[a] -
                  (g->view.shape[2 + a] - 1) * c->stride[a];
    return back[c->n - 1](g, weight, NULL, (ig_ints){c->stride, c->n}, (ig_ints){c->padding, c->n},
                          (ig_ints){left, c->n}, c->groups, (ig_ints){c->dilation, c->n});
}

/* The same for a transposed convolution, without the windows that exist only because of output_padding. */
static ig_array *pull_forth(const conv_numbers *c, const view *x, ig_array *weight, ig_array *g)
{
    static ig_array *(*const forth[])(ig_array *, ig_array *, ig_array *, ig_ints, ig_ints, ig_ints,
                                      int) = {ig_conv1d, ig_conv2d, ig_conv3d};
    ig_array *y =
        forth[c->n - 1](g, weight, NULL, (ig_ints){c->stride, c->n}, (ig_ints){c->padding, c->n},
                        (ig_ints){c->dilation, c->n}, c->groups);
    if (!y || view_same_shape(&y->view, x))
        return y;
    view v = y->view;
    memcpy(v.shape, x->shape, sizeof v.shape);
    return array_view(OP_slice, y, &v);
}

/* The gradient of x is a convolution, which does not materialize windows; the other gradients follow from the
 * definition. */
static ig_status pull_conv(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                           ig_array **grads)
{
    const conv_numbers *c = context;
    const view *x = &in[0]->view;
    TRY(grad_of_definition(out->in[0], g, in, n, grads));
    grads[0] = c->transposed ? pull_forth(c, x, in[1], g) : pull_back(c, x, in[1], g);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

/* y, computed from c->x, weight and bias, with its gradient. numbers are the arguments of the call. */
static ig_array *with_gradient(const conv *c, conv_numbers numbers, ig_array *y)
{
    conv_numbers *kept = y ? memory_get(sizeof *kept) : NULL;
    if (!kept)
        return NULL;
    *kept = numbers;
    ig_array *in[3] = {c->x, c->weight, c->bias};
    return ig_custom_grad(y, in, c->bias ? 3 : 2, pull_conv, kept, memory_free);
}

const conv_numbers *conv_of(const ig_array *x)
{
    return x->custom && x->custom->pull == pull_conv ? x->custom->context : NULL;
}

static conv_numbers numbers_of(const conv *c, bool transposed)
{
    conv_numbers r = {.transposed = transposed, .n = c->w.n, .groups = (int)c->groups};
    memcpy(r.stride, c->w.stride, sizeof r.stride);
    memcpy(r.padding, c->w.padding, sizeof r.padding);
    memcpy(r.dilation, c->w.dilation, sizeof r.dilation);
    return r;
}

/* ---- as one node, for devices with native code for it ---- */

/* The numbers of the nodes "convolution" (x, weight), "convolution gradient of x" (g, weight) and "convolution
 * gradient of weight" (x, g), all in two dimensions. With LAST, channels are the last axis of all arrays: (N, H, W, C),
 * (K, R, S, C / groups) and (N, P, Q, K). With BIAS, a convolution has a third input (K,), with Z a fourth,
 * like its result; both are added, and with RELU the result is relu of that, before it is rounded. */
enum {
    NUMBER_N,
    NUMBER_C,
    NUMBER_H,
    NUMBER_W,
    NUMBER_K,
    NUMBER_R,
    NUMBER_S,
    NUMBER_P,
    NUMBER_Q,
    NUMBER_STRIDE,
    NUMBER_PADDING = 11,
    NUMBER_DILATION = 13,
    NUMBER_GROUPS = 15,
    NUMBER_LAST = 16,
    NUMBER_BIAS,
    NUMBER_Z,
    NUMBER_RELU
};

int native_channels(const node_native *n) { return n->number[NUMBER_LAST] ? 3 : 1; }

static const int channels_second[4] = {0, 3, 1, 2}, channels_last[4] = {0, 2, 3, 1};

static ig_array *second_from_last(ig_array *x)
{
    return build_permute(OP_permute_dims, x, channels_second);
}

/* With channels as the last axis, contiguous. A copy of a weight is computed once, if the weight is a constant. */
static ig_array *last_from_second(ig_array *x)
{
    return build_contiguous(build_permute(OP_permute_dims, x, channels_last));
}

static ig_array *define_forward(const node_native *n, ig_array *const *in, int i)
{
    const int64_t *v = n->number;
    const bool last = v[NUMBER_LAST];
    conv c = {.op = OP_conv2d,
              .x = last ? second_from_last(in[0]) : in[0],
              .weight = last ? second_from_last(in[1]) : in[1],
              .bias = v[NUMBER_BIAS] ? in[2] : NULL,
              .groups = v[NUMBER_GROUPS],
              .in = v[NUMBER_C] / v[NUMBER_GROUPS],
              .out = v[NUMBER_K] / v[NUMBER_GROUPS],
              .w = {.n = 2,
                    .kernel = {v[NUMBER_R], v[NUMBER_S]},
                    .stride = {v[NUMBER_STRIDE], v[NUMBER_STRIDE + 1]},
                    .padding = {v[NUMBER_PADDING], v[NUMBER_PADDING + 1]},
                    .dilation = {v[NUMBER_DILATION], v[NUMBER_DILATION + 1]},
                    .out = {v[NUMBER_P], v[NUMBER_Q]}}};
    (void)i;
    if (!c.x || !c.weight)
        return NULL;
    ig_array *y = conv_result(&c, window_pad(c.x, &c.w, BORDER_ZERO), conv_weight(&c, false));
    y = last ? last_from_second(y) : y;
    y = v[NUMBER_Z] ? ig_add(y, in[3]) : y;
    return v[NUMBER_RELU] ? ig_relu(y) : y;
}

/* Zeros in the layout of the node; shape: with channels as the second axis. */
static ig_array *zeros_for(const node_native *n, const int64_t shape[4])
{
    const int *axes = channels_last;
    const bool last = n->number[NUMBER_LAST];
    return ig_zeros(last ? IG_SHAPE(shape[axes[0]], shape[axes[1]], shape[axes[2]], shape[axes[3]])
                         : (ig_ints){shape, 4},
                    n->dtype);
}

static ig_array *define_gradient(const node_native *n, ig_array *const x[2], ig_array *g, int i)
{
    ig_array *y = define_forward(n, x, 0), *grad;
    return y && ig_vjp(&y, &g, 1, &x[i], 1, &grad) == IG_OK ? grad : NULL;
}

static ig_array *define_gradient_x(const node_native *n, ig_array *const *in, int i)
{
    const int64_t *v = n->number;
    (void)i;
    ig_array *x =
        zeros_for(n, (const int64_t[4]){v[NUMBER_N], v[NUMBER_C], v[NUMBER_H], v[NUMBER_W]});
    return x ? define_gradient(n, (ig_array *const[2]){x, in[1]}, in[0], 0) : NULL;
}

static ig_array *define_gradient_weight(const node_native *n, ig_array *const *in, int i)
{
    const int64_t *v = n->number;
    (void)i;
    ig_array *w = zeros_for(n, (const int64_t[4]){v[NUMBER_K], v[NUMBER_C] / v[NUMBER_GROUPS],
                                                  v[NUMBER_R], v[NUMBER_S]});
    return w ? define_gradient(n, (ig_array *const[2]){in[0], w}, in[1], 1) : NULL;
}

/* A gradient by native code of x's device, if it offers it, otherwise by its definition. */
static ig_status gradient_of(const ig_array *x, const node_native *what, ig_array *const in[2],
                             const native_shape *of, ig_array **out)
{
    if (native_is_offered(x, what))
        return native_apply(what, in, 2, of, 1, NULL, out);
    *out = what->define(what, in, 0);
    return *out ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* The gradient of a bias: g summed over all axes except the channels. */
static ig_array *bias_gradient(const node_native *n, ig_array *g)
{
    const bool last = n->number[NUMBER_LAST];
    return ig_sum(g, last ? IG_AXES(0, 1, 2) : IG_AXES(0, 2, 3), n->dtype, false);
}

static ig_status pull_native(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                             ig_array **grads)
{
    node_native what = *native_of(context);
    const native_shape x = {what.dtype, 4, in[0]->view.shape, 0},
                       w = {what.dtype, 4, in[1]->view.shape, 0};
    (void)out;
    g = build_cast(g, what.dtype);
    if (n == 3 && !(grads[2] = bias_gradient(&what, g)))
        return error_waiting(IG_ERR_MEMORY);
    what.number[NUMBER_BIAS] = 0;
    what.kind = NATIVE_CONVOLUTION_GRADIENT_X;
    what.define = define_gradient_x;
    TRY(gradient_of(in[0], &what, (ig_array *const[2]){g, in[1]}, &x, &grads[0]));
    what.kind = NATIVE_CONVOLUTION_GRADIENT_WEIGHT;
    what.define = define_gradient_weight;
    return gradient_of(in[0], &what, (ig_array *const[2]){in[0], g}, &w, &grads[1]);
}

/* The node's result, with the bias, in the usual order of axes. */
static ig_array *native_node(const conv *c, const node_native *n)
{
    const int64_t *v = n->number;
    const bool last = v[NUMBER_LAST];
    const int64_t shape[2][4] = {{v[NUMBER_N], v[NUMBER_K], v[NUMBER_P], v[NUMBER_Q]},
                                 {v[NUMBER_N], v[NUMBER_P], v[NUMBER_Q], v[NUMBER_K]}};
    ig_array *const in[3] = {last ? last_from_second(c->x) : c->x,
                             last ? last_from_second(c->weight) : c->weight, c->bias};
    ig_array *y;
    if (!in[0] || !in[1] ||
        native_apply(n, in, v[NUMBER_BIAS] ? 3 : 2, &(native_shape){n->dtype, 4, shape[last], 0}, 1,
                     pull_native, &y) != IG_OK)
        return NULL;
    y = last ? layout_back(y, channels_last) : y;
    return v[NUMBER_BIAS] ? y : with_bias(c, y);
}

/* The result by native code; NULL, without an error, if the device has none for it. Tensor cores read channels as the last
 * axis. f16 and bf16 with a bias are rounded once, after the bias is added. */
static ig_array *conv_native(const conv *c)
{
    const windows *w = &c->w;
    const int64_t *x = c->x->view.shape;
    const ig_dtype dtype = (ig_dtype)c->x->dtype;
    if (w->n != 2 || !dtype_is_float(dtype) || view_size(&c->x->view) == 0 || w->out[0] < 1 ||
        w->out[1] < 1 || c->out < 1)
        return NULL;
    node_native n = {.kind = NATIVE_CONVOLUTION,
                     .dtype = dtype,
                     .math = ig_math_mode(),
                     .number = {x[0], x[1], x[2], x[3], c->groups * c->out, w->kernel[0],
                                w->kernel[1], w->out[0], w->out[1], w->stride[0], w->stride[1],
                                w->padding[0], w->padding[1], w->dilation[0], w->dilation[1],
                                c->groups},
                     .define = define_forward};
    const bool tensor_cores = dtype_is_half(dtype) || (dtype == IG_F32 && n.math == IG_MATH_TF32);
    n.number[NUMBER_BIAS] = c->bias && dtype_is_half(dtype);
    for (int last = tensor_cores; last >= 0; last--) {
        n.number[NUMBER_LAST] = last;
        if (native_is_offered(c->x, &n))
            return native_node(c, &n);
    }
    return NULL;
}

ig_array *native_convolution_relu(const ig_array *from, ig_array *bias, ig_array *z)
{
    node_native n = *from->attr.kernel->native;
    ig_array *const in[4] = {from->in[0], from->in[1], n.number[NUMBER_BIAS] ? from->in[2] : bias,
                             z};
    ig_array *y;
    if (!in[2] || n.number[NUMBER_RELU])
        return NULL;
    n.number[NUMBER_BIAS] = n.number[NUMBER_RELU] = 1;
    n.number[NUMBER_Z] = z != NULL;
    return native_is_offered(from, &n) &&
                   native_apply(&n, in, z ? 4 : 3, &(native_shape){n.dtype, 4, from->view.shape, 0},
                                1, NULL, &y) == IG_OK
               ? y
               : NULL;
}

bool native_has_bias(const node_native *n) { return n->number[NUMBER_BIAS]; }

int op_conv(op_id op, const ig_arg *args, ig_array **out)
{
    conv c;
    if (conv_read(&c, op, args, args[6].u.i, false) != IG_OK)
        return 0;
    windows *w = &c.w;
    if (window_numbers(op, "stride", args[3].u.ints, w->n, 1, w->stride) != IG_OK ||
        window_numbers(op, "padding", args[4].u.ints, w->n, 0, w->padding) != IG_OK ||
        window_numbers(op, "dilation", args[5].u.ints, w->n, 1, w->dilation) != IG_OK ||
        window_count(op, w, c.x->view.shape + 2, false) != IG_OK)
        return 0;
    ig_array *native = conv_native(&c);
    if (native)
        return op_one(out, native);
    ig_array *y = conv_result(&c, contract_pad(op, c.x, w), conv_weight(&c, false));
    return op_one(out, with_gradient(&c, numbers_of(&c, false), y));
}

/* ---- transposed ---- */

/* The positions of x along one axis of the array over which the flipped kernel slides: element i is at
 * first + i * step. Elements outside are cut off. */
typedef struct spread {
    int64_t length, first, step;
} spread;

/* Elements [from, to) of the n are those that s places inside the array. */
static void spread_inside(const spread *s, int64_t n, int64_t *from, int64_t *to)
{
    *from = s->first < 0 ? (-s->first + s->step - 1) / s->step : 0;
    *to = s->first < s->length ? (s->length - 1 - s->first) / s->step + 1 : 0;
    *to = *to < n ? *to : n;
    *from = *from < *to ? *from : *to;
}

/* x with zeros inserted: (N, C, lengths of s...). */
static ig_array *spread_out(ig_array *x, const spread *s, int n)
{
    enum { MOST = 2 + WINDOW_AXES_MOST };
    int64_t shape[MOST], from[MOST] = {0}, to[MOST], start[MOST] = {0}, step[MOST] = {1, 1};
    memcpy(shape, x->view.shape, 2 * sizeof *shape);
    memcpy(to, shape, 2 * sizeof *to);
    for (int a = 0; a < n; a++) {
        spread_inside(&s[a], x->view.shape[2 + a], &from[2 + a], &to[2 + a]);
        shape[2 + a] = s[a].length;
        start[2 + a] = s[a].first + from[2 + a] * s[a].step;
        step[2 + a] = s[a].step;
    }
    const int ndim = 2 + n;
    ig_array *part = ig_slice(x, (ig_ints){from, ndim}, (ig_ints){to, ndim}, IG_NONE);
    return ig_slice_update(build_fill(0, (ig_dtype)x->dtype, ndim, shape), part,
                           (ig_ints){start, ndim}, (ig_ints){step, ndim});
}

/* The length of the result along each axis, and the positions of x. output_padding is extra[]. */
static ig_status transposed_count(conv *c, spread *s)
{
    windows *w = &c->w;
    for (int a = 0; a < w->n; a++) {
        const int64_t length = c->x->view.shape[2 + a], reach = window_reach(w, a);
        int64_t end;
        if (length == 0)
            FAIL(IG_ERR_SHAPE, "%s: spatial axis %d of x has length 0", op_rows[c->op].name, a);
        if (w->extra[a] >= w->stride[a] && w->extra[a] >= w->dilation[a])
            FAIL(IG_ERR_ARGUMENT,
                 "%s: output_padding is %lld; it must be smaller than stride (%lld) "
                 "or dilation (%lld)",
                 op_rows[c->op].name, (long long)w->extra[a], (long long)w->stride[a],
                 (long long)w->dilation[a]);
        if (reach < 0 || __builtin_mul_overflow(length - 1, w->stride[a], &end) ||
            __builtin_add_overflow(end, reach, &end) || end > INT64_MAX / 4)
            FAIL(IG_ERR_SHAPE, "%s: spatial axis %d of the result is longer than can be addressed",
                 op_rows[c->op].name, a);
        w->out[a] = end - 2 * w->padding[a] + w->extra[a];
        if (w->out[a] <= 0)
            FAIL(IG_ERR_SHAPE,
                 "%s: spatial axis %d of the result would have length %lld (x %lld, "
                 "kernel %lld, stride %lld, dilation %lld, padding %lld); pad less",
                 op_rows[c->op].name, a, (long long)w->out[a], (long long)length,
                 (long long)w->kernel[a], (long long)w->stride[a], (long long)w->dilation[a],
                 (long long)w->padding[a]);
        s[a] = (spread){w->out[a] + reach - 1, reach - 1 - w->padding[a], w->stride[a]};
        w->stride[a] = 1; /* of the windows over the spread array */
    }
    return IG_OK;
}

int op_conv_transpose(op_id op, const ig_arg *args, ig_array **out)
{
    conv c;
    spread s[WINDOW_AXES_MOST];
    if (conv_read(&c, op, args, args[6].u.i, true) != IG_OK)
        return 0;
    windows *w = &c.w;
    if (window_numbers(op, "stride", args[3].u.ints, w->n, 1, w->stride) != IG_OK ||
        window_numbers(op, "padding", args[4].u.ints, w->n, 0, w->padding) != IG_OK ||
        window_numbers(op, "output_padding", args[5].u.ints, w->n, 0, w->extra) != IG_OK ||
        window_numbers(op, "dilation", args[7].u.ints, w->n, 1, w->dilation) != IG_OK)
        return 0;
    const conv_numbers numbers =
        numbers_of(&c, true); /* before transposed_count overwrites the stride */
    if (transposed_count(&c, s) != IG_OK)
        return 0;
    ig_array *y = conv_result(&c, spread_out(c.x, s, w->n), conv_weight(&c, true));
    return op_one(out, with_gradient(&c, numbers, y));
}
