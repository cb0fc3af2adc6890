/* Attention as one node with two results, and its gradient as another with three:
 *
 *   "attention"           query, key, value (, mask)         -> result, lse
 *   "attention gradient"  query, key, value, result, lse, g  -> gradients of query, key and value
 *                         query, key, value, g               -> the same, on a device that has no lse: "alone"
 *
 * The numbers of the nodes are: products, rows, keys, elements of a row, whether it is causal, whether the result
 * is stored by rows, the kind of the mask, whether a row that attends to nothing is NaN, and whether a gradient is alone. "By rows" is set if the query is a view (N, heads, rows, elements) of memory in the order (N, rows,
 * heads, elements), as the result of a projection is. The result then has this order too, and neither is copied.
 * With a mask of kind 2, it is added to the scores; see attention_softmax. With a mask of kind 1, (N, keys) of bool, rows attend only to keys where it is true, and the gradient is the definition's.
 * lse (products, rows padded to a multiple of LSE_ROWS) has the base 2 logarithm of the softmax sum of each row. It is
 * inf for a row that attends to nothing, and for padding. A device that does not offer the gradient has no lse.
 * Devices that offer the nodes never write the scores to memory. op_scaled_dot_product_attention has the definition. */
#include "engine/ops/attention.h"

#include "base/error.h"
#include "engine/ops/native.h"
#include <math.h>
#include <string.h>

enum {
    LSE_ROWS = 64,
    CAUSAL = 4,
    BY_ROWS = 5,
    MASKED = 6,
    MASK_ADDED = 2,
    UNDEFINED = 7,
    ALONE = 8
};

static int64_t padded(int64_t rows) { return (rows + LSE_ROWS - 1) / LSE_ROWS * LSE_ROWS; }

/* ---- definitions ---- */

static ig_dtype wide(const node_native *n) { return n->dtype == IG_F64 ? IG_F64 : IG_F32; }

/* query, key and value in f32, or f64. */
static void widened(const node_native *n, ig_array *const *in, ig_array *out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = ig_astype(in[i], wide(n));
}

/* The mask of a node in the form that the op takes, or NULL. */
static ig_array *mask_of(const node_native *n, ig_array *const *in)
{
    return n->number[MASKED] ? ig_reshape(in[3], IG_SHAPE(ig_dim(in[3], 0), 1, 1, ig_dim(in[3], 1)))
                             : NULL;
}

static ig_array *logarithms(const node_native *n, ig_array *const x[3], ig_array *mask)
{
    const int64_t jobs = n->number[0], rows = n->number[1], keys = n->number[2];
    ig_array *scores = ig_multiply(ig_matmul(x[0], ig_matrix_transpose(x[1])), ig_float(n->scale));
    if (mask)
        scores = ig_where(mask, scores, ig_float(-INFINITY));
    if (n->number[CAUSAL])
        scores = ig_where(ig_tril(ig_ones(IG_SHAPE(rows, keys), IG_BOOL), 0), scores,
                          ig_float(-INFINITY));
    ig_array *sum = ig_reshape(ig_logsumexp(scores, IG_AXES(-1), false), IG_SHAPE(jobs, rows));
    ig_array *none = ig_equal(sum, ig_float(-INFINITY));
    ig_array *lse =
        ig_where(none, ig_float(INFINITY), ig_multiply(sum, ig_float(1.4426950408889634)));
    const int64_t width[4] = {0, 0, 0, padded(rows) - rows};
    return ig_pad(lse, (ig_ints){width, 4}, "constant", ig_float(INFINITY));
}

/* Swaps the axes of heads and rows. */
static ig_array *exchanged(const node_native *n, ig_array *x)
{
    return n->number[BY_ROWS] ? ig_permute_dims(x, IG_AXES(0, 2, 1, 3)) : x;
}

static ig_array *define_forward(const node_native *n, ig_array *const *in, int i)
{
    ig_array *x[3];
    ig_array *mask = mask_of(n, in);
    widened(n, in, x);
    if (i)
        return logarithms(n, x, mask);
    return exchanged(n, ig_astype(attention_plain(x, mask, n->number[CAUSAL], n->scale), n->dtype));
}

static ig_array *define_softmax(const node_native *n, ig_array *const *in, int i)
{
    ig_array *scores =
        ig_multiply(ig_matmul(in[0], ig_matrix_transpose(in[1])), ig_float(n->scale));
    (void)i;
    if (n->number[MASKED])
        scores = ig_add(scores, in[3]);
    return exchanged(n, ig_matmul(ig_softmax(scores, IG_AXES(-1)), in[2]));
}

/* The gradient of the result, an input of the node of gradients. */
static ig_array *gradient_in(const node_native *n, ig_array *const *in)
{
    return in[n->number[ALONE] ? 3 : 5];
}

static ig_array *define_gradient(const node_native *n, ig_array *const *in, int i)
{
    ig_array *x[3], *grads[3], *g = ig_astype(gradient_in(n, in), wide(n));
    widened(n, in, x);
    ig_array *y = attention_plain(x, NULL, n->number[CAUSAL], n->scale);
    return ig_vjp(&y, &g, 1, x, 3, grads) == IG_OK ? ig_astype(grads[i], n->dtype) : NULL;
}

/* Weights and gradients of scores that are rounded to f16 lose digits below its smallest normal number. */
#define LIFTED 0x1p-14

/* Each row of a result is a mean of values with positive weights. */
static ig_array *size_of_result(const node_native *n, ig_array *const *in, int i)
{
    ig_array *v = ig_abs(in[2]), *all = ig_sum(v, IG_AXES(-2), IG_DTYPE_NONE, true);
    ig_array *const x[] = {in[0], in[1], v, n->number[MASKED] ? in[3] : NULL};
    return ig_add(n->define(n, x, i), exchanged(n, ig_multiply(all, ig_float(LIFTED))));
}

/* The gradient of a score is p * (g v^T - the mean of this along the row); all three results are sums over scores. */
static ig_array *size_of_gradient(const node_native *n, ig_array *const *in, int i)
{
    ig_array *q = in[0], *k = in[1], *g = ig_abs(gradient_in(n, in));
    ig_array *scores = ig_multiply(ig_matmul(q, ig_matrix_transpose(k)), ig_float(n->scale));
    if (n->number[CAUSAL])
        scores =
            ig_where(ig_tril(ig_ones(ig_shape(scores), IG_BOOL), 0), scores, ig_float(-INFINITY));
    ig_array *p = ig_maximum(ig_softmax(scores, IG_AXES(-1)), ig_float(LIFTED));
    if (i == 2)
        return ig_matmul(ig_matrix_transpose(p), g);
    ig_array *pulled = ig_matmul(g, ig_matrix_transpose(ig_abs(in[2])));
    ig_array *means = ig_sum(ig_multiply(p, pulled), IG_AXES(-1), IG_DTYPE_NONE, true);
    ig_array *size = ig_multiply(p, ig_add(pulled, means));
    size = ig_multiply(ig_maximum(size, ig_float(LIFTED)), ig_float(n->scale));
    return i ? ig_matmul(ig_matrix_transpose(size), ig_abs(q)) : ig_matmul(size, ig_abs(k));
}

/* ---- nodes ---- */

static ig_status pull(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                      ig_array **grads);
static ig_status pull_alone(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                            ig_array **grads);

/* result, lse */
static ig_status forward(const node_native *n, ig_array *const *x, ig_array *out[2])
{
    view q = x[0]->view;
    const int64_t lse[2] = {n->number[0], padded(n->number[1])};
    if (n->number[BY_ROWS]) {
        q.shape[1] = x[0]->view.shape[2];
        q.shape[2] = x[0]->view.shape[1];
    }
    const native_shape shapes[2] = {{n->dtype, q.ndim, q.shape, 0}, {IG_F32, 2, lse, 0}};
    node_native gradient = *n;
    gradient.kind = NATIVE_ATTENTION_GRADIENT;
    const bool masked = n->number[MASKED] != 0, pulls = native_is_offered(x[0], &gradient);
    gradient.number[ALONE] = 1;
    const ig_pullback rule = masked                               ? NULL
                             : pulls                              ? pull
                             : native_is_offered(x[0], &gradient) ? pull_alone
                                                                  : NULL;
    return native_apply(n, x, masked ? 4 : 3, shapes, pulls ? 2 : 1, rule, out);
}

/* The gradients of query, key and value, by a node with these inputs. */
static ig_status gradients(node_native *what, ig_array *const *in, int n, ig_array **grads)
{
    native_shape shapes[3];
    what->kind = NATIVE_ATTENTION_GRADIENT;
    what->define = define_gradient;
    what->size = size_of_gradient;
    what->number[BY_ROWS] = 0;
    for (int i = 0; i < 3; i++)
        shapes[i] = (native_shape){what->dtype, in[i]->view.ndim, in[i]->view.shape, 0};
    return native_apply(what, in, n, shapes, 3, NULL, grads);
}

static ig_status pull_alone(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                            ig_array **grads)
{
    node_native what = *native_of(context);
    (void)n;
    (void)out;
    ig_array *const all[4] = {in[0], in[1], in[2], build_cast(exchanged(&what, g), what.dtype)};
    what.number[ALONE] = 1;
    return all[3] ? gradients(&what, all, 4, grads) : error_waiting(IG_ERR_MEMORY);
}

/* Builds the forward node again, to get lse: an evaluation of both computes it once. */
static ig_status pull(void *context, ig_array *const *in, int n, ig_array *out, ig_array *g,
                      ig_array **grads)
{
    node_native what = *native_of(context);
    ig_array *made[2];
    (void)n;
    (void)out;
    TRY(forward(&what, in, made));
    ig_array *const all[6] = {in[0],   in[1],
                              in[2],   exchanged(&what, made[0]),
                              made[1], build_cast(exchanged(&what, g), what.dtype)};
    if (!all[3] || !all[5])
        return error_waiting(IG_ERR_MEMORY);
    what.strided = false;
    return gradients(&what, all, 6, grads);
}

/* True if the leading axes are equal, so that products pair one to one. */
static bool leads_alike(ig_array *const x[3])
{
    const view *q = &x[0]->view;
    for (int i = 1; i < 3; i++)
        if (x[i]->view.ndim != q->ndim ||
            memcmp(x[i]->view.shape, q->shape, (size_t)(q->ndim - 2) * sizeof *q->shape) != 0)
            return false;
    return true;
}

/* The mask as (N, keys) if it is the same for all heads and rows of a batch element; otherwise NULL. */
static ig_array *keys_of(ig_array *const x[3], ig_array *mask)
{
    const view *m = &mask->view, *q = &x[0]->view, *k = &x[1]->view;
    if (mask->dtype != IG_BOOL || q->ndim != 4 || m->ndim != 4 || k->ndim != 4 ||
        m->shape[0] != q->shape[0] || m->shape[1] != 1 || m->shape[2] != 1 ||
        m->shape[3] != k->shape[2])
        return NULL;
    return ig_reshape(mask, IG_SHAPE(m->shape[0], m->shape[3]));
}

/* The node for these operands; false if there cannot be one, or if the device does not offer it. */
static bool describe(ig_array *const x[3], int64_t mask, bool causal, double scale, bool softmax,
                     node_native *n)
{
    const view *q = &x[0]->view, *k = &x[1]->view, *v = &x[2]->view;
    const ig_dtype dtype = (ig_dtype)x[0]->dtype;
    if (!dtype_is_float(dtype) || x[1]->dtype != dtype || x[2]->dtype != dtype || !leads_alike(x))
        return false;
    const int last = q->ndim - 1;
    int64_t jobs = 1;
    for (int i = 0; i < last - 1; i++)
        jobs *= q->shape[i];
    const bool by_rows = q->ndim == 4 && q->shape[1] > 1 && q->shape[2] > 1 &&
                         q->stride[1] == q->shape[3] && q->stride[2] > q->stride[1];
    *n = (node_native){.kind = NATIVE_ATTENTION,
                       .dtype = dtype,
                       .number = {jobs, q->shape[last - 1], k->shape[last - 1], q->shape[last],
                                  causal, by_rows, mask, softmax},
                       .scale = scale,
                       .strided = true,
                       .define = softmax ? define_softmax : define_forward,
                       .size = size_of_result};
    return v->shape[last] == q->shape[last] && view_size(q) > 0 && view_size(k) > 0 &&
           native_is_offered(x[0], n);
}

ig_array *attention_native(ig_array *const x[3], ig_array *mask, bool causal, double scale)
{
    node_native n;
    ig_array *made[2], *in[4] = {x[0], x[1], x[2], NULL};
    if (!describe(x, mask != NULL, causal, scale, false, &n) ||
        (mask && !(in[3] = keys_of(x, mask))) || forward(&n, in, made) != IG_OK)
        return NULL;
    return exchanged(&n, made[0]);
}

ig_array *attention_softmax(ig_array *const x[3], ig_array *bias, double scale)
{
    node_native n;
    ig_array *made[2], *const in[4] = {x[0], x[1], x[2], bias};
    if (x[0]->dtype != IG_F32 || !describe(x, bias ? MASK_ADDED : 0, false, scale, true, &n) ||
        forward(&n, in, made) != IG_OK)
        return NULL;
    return exchanged(&n, made[0]);
}
