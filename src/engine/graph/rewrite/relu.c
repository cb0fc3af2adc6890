/* Ops after a convolution by native code, which can apply them to its sums before they are stored:
 *
 *   relu(convolution(x, w) + b)        ->  one node
 *   relu(convolution(x, w) + b + z)    ->  one node
 *
 * where b has one value for each channel, and may be subtracted, and z is another array, such as the input of a residual
 * block. b may be part of the convolution already. The result is rounded once, not after each step. */
#include "engine/graph/rewrite/rewrite.h"

#include "engine/ops/native.h"

/* A convolution, and the bias (K,) that is added to it. */
typedef struct biased {
    const ig_array *node; /* NULL: not a convolution with a bias */
    ig_array *bias;       /* NULL: part of the node */
} biased;

/* The convolution that x shows all elements of, if nothing else reads it. */
static const ig_array *convolution_of(const rewriting *r, const ig_array *x)
{
    const ig_array *root = x->root;
    return rewrite_is_convolution(root) && rewrite_is_whole(x) &&
                   view_same_shape(&x->view, &root->view) && rewrite_is_sole(r, root)
               ? root
               : NULL;
}

/* b, or -b, as (K,), if it is a constant with one value for each channel of the node, in the node's shape. */
static ig_array *row_of(const rewriting *r, ig_array *b, bool negative, const ig_array *node)
{
    const int channels = native_channels(node->attr.kernel->native);
    const view *v = &b->view;
    if (!rewrite_is_constant(r, b) || b->dtype != node->dtype || !view_same_shape(v, &node->view))
        return NULL;
    for (int i = 0; i < v->ndim; i++)
        if (i != channels && v->stride[i] != 0 && v->shape[i] > 1)
            return NULL;
    view row = {.ndim = 1, .offset = v->offset};
    row.shape[0] = v->shape[channels];
    row.stride[0] = v->stride[channels];
    ig_array *y = array_view(OP_slice, b, &row);
    return y && negative ? ig_negative(y) : build_contiguous(y);
}

static biased biased_of(const rewriting *r, const ig_array *x)
{
    const ig_array *node = convolution_of(r, x), *sum = x->root;
    if (node)
        return native_has_bias(node->attr.kernel->native) ? (biased){node, NULL} : (biased){0};
    const bool less = sum->op == OP_subtract;
    if (sum->data || !(less || sum->op == OP_add) || sum->n_in != 2 || !rewrite_is_whole(x) ||
        !view_same_shape(&x->view, &sum->view) || !rewrite_is_sole(r, sum))
        return (biased){0};
    for (int i = 0; i < (less ? 1 : 2); i++)
        if ((node = convolution_of(r, sum->in[i])) && !native_has_bias(node->attr.kernel->native)) {
            ig_array *bias = row_of(r, sum->in[1 - i], less, node);
            return bias ? (biased){node, bias} : (biased){0};
        }
    return (biased){0};
}

/* True if the array is the number 0. */
static bool is_zero(const ig_array *x)
{
    const void *number = array_number_of(x);
    return number && dtype_is_float((ig_dtype)x->dtype) &&
           dtype_fetch((ig_dtype)x->dtype, number) == 0;
}

ig_array *rewrite_relu(const rewriting *r, ig_array *x)
{
    if (!r->rounds || x->op != OP_maximum || x->data)
        return NULL;
    const int zero = is_zero(x->in[1]);
    ig_array *y = x->in[!zero];
    if (!is_zero(x->in[zero]) || y->dtype != x->dtype)
        return NULL;
    const biased only = biased_of(r, y);
    if (only.node)
        return native_convolution_relu(only.node, only.bias, NULL);
    const ig_array *sum = y->root;
    if (sum->data || sum->op != OP_add || sum->n_in != 2 || !rewrite_is_whole(y) ||
        !view_same_shape(&y->view, &sum->view) || !rewrite_is_sole(r, sum))
        return NULL;
    for (int i = 0; i < 2; i++) {
        const biased b = biased_of(r, sum->in[i]);
        ig_array *z = sum->in[1 - i];
        ig_array *made = b.node && z->dtype == x->dtype && rewrite_is_whole(z) &&
                                 view_same_shape(&z->view, &x->view)
                             ? native_convolution_relu(b.node, b.bias, z)
                             : NULL;
        if (made)
            return made;
    }
    return NULL;
}
