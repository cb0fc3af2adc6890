/* Constant factors and summands after a contraction or convolution with constant weights, as a batch norm has them:
 *
 *   contract(w, x) * c         ->  contract(w * c, x)
 *   (contract(w, x) + d) * c   ->  contract(w * c, x) + d * c
 *   (contract(w, x) + d) + e   ->  contract(w, x) + (d + e)
 *
 * where c has one value for each row of w; also with divisions and subtractions. The new weights are constants, so they are
 * computed once. This changes only the rounding: the error stays within the bound of a sum of products. This does not
 * hold for other nodes, such as (x + d) * c. */
#include "engine/graph/rewrite/rewrite.h"

#include "engine/ops/grad.h"
#include "engine/ops/native.h"

/* True if x is an elementwise node of that op whose inputs have its dtype. */
static bool is_op(const ig_array *x, int op)
{
    return !x->data && x->op == op && x->n_in == 2 && x->in[0]->dtype == x->dtype &&
           x->in[1]->dtype == x->dtype;
}

/* A product whose root is x's, and of which x sees all elements in order; NULL if there is none. */
static ig_array *product_of(const ig_array *x)
{
    ig_array *root = x->root;
    const bool fits = !root->data && root->dtype == x->dtype && rewrite_is_whole(x) &&
                      (root->op == OP_contract || rewrite_is_convolution(root));
    return fits && (root->dtype == IG_F32 || root->dtype == IG_F64) ? root : NULL;
}

/* A constant summand of a product: x sees all elements of product + by, or of product - by. */
typedef struct summed {
    ig_array *product; /* NULL: it is not one */
    ig_array *seen;    /* the product in the shape of the sum */
    ig_array *by;
    int op;
} summed;

static summed summed_of(const rewriting *r, const ig_array *x)
{
    const ig_array *sum = x->root;
    summed s = {.op = sum->op};
    if (!(is_op(sum, OP_add) || is_op(sum, OP_subtract)))
        return s;
    for (int i = 0; i < (s.op == OP_add ? 2 : 1); i++)
        if (rewrite_is_constant(r, sum->in[1 - i]) && product_of(sum->in[i])) {
            s.by = sum->in[1 - i];
            s.seen = sum->in[i];
            s.product = product_of(s.seen);
            return s;
        }
    return s;
}

/* ---- factors ---- */

/* Axes [from, to) of the shape of a product. */
typedef struct axes {
    int from, to;
} axes;

static bool repeats(const view *v, axes a)
{
    for (int i = a.from; i < a.to; i++)
        if (v->stride[i] != 0 && v->shape[i] != 1)
            return false;
    return true;
}

/* c, seen as `factor` in the shape of the product, in the shape of operand w. The operand's axes are the shared axes and its
 * own axes of the product, in this order, and then axes that are summed. NULL if c differs along other axes. */
static ig_array *factor_of(ig_array *c, const view *factor, const ig_array *w, axes shared,
                           axes own)
{
    view v = w->view;
    int n = 0;
    v.offset = factor->offset;
    for (int i = 0; i < factor->ndim; i++) {
        const bool is_own = (i >= shared.from && i < shared.to) || (i >= own.from && i < own.to);
        if (!is_own && !repeats(factor, (axes){i, i + 1}))
            return NULL;
        if (is_own)
            v.stride[n++] = factor->shape[i] == 1 ? 0 : factor->stride[i];
    }
    for (; n < v.ndim; n++)
        v.stride[n] = 0;
    return array_view(OP_slice, c, &v);
}

/* True if w * c needs no more memory than the array that w is a view of. */
static bool stays_small(const ig_array *w, const ig_array *c)
{
    int64_t size = 1;
    for (int i = 0; i < w->view.ndim; i++)
        size *= w->view.stride[i] || c->view.stride[i] ? w->view.shape[i] : 1;
    return size <= view_size(&w->root->view);
}

/* The product with its i-th input multiplied with (or divided by) c; NULL if that is not the same. */
static ig_array *with_factor(const rewriting *r, ig_array *product, int i, int op, ig_array *c,
                             const view *factor)
{
    ig_array *w = product->in[i];
    if (w->dtype != product->dtype || !rewrite_is_constant(r, w))
        return NULL;
    const uint8_t *n = product->attr.ndim;
    axes shared = {0, 0}, own;
    if (product->op == OP_kernel) { /* a convolution: the weight's first axis is the channels' */
        own.from = native_channels(product->attr.kernel->native);
        own.to = own.from + 1;
    } else {
        shared = (axes){0, n[0]};
        own = i == 0 ? (axes){n[0], n[0] + n[1]} : (axes){n[0] + n[1], n[0] + n[1] + n[2]};
    }
    ig_array *by = factor_of(c, factor, w, shared, own);
    if (!by || !stays_small(w, by))
        return NULL;
    ig_array *in[2] = {product->in[0], product->in[1]};
    in[i] = rewrite_combine(op, w, by);
    return in[i] ? replay_node(product, (ig_dtype)product->dtype, in) : NULL;
}

static ig_array *scaled(const rewriting *r, ig_array *product, int op, ig_array *c)
{
    view factor;
    ig_array *y = NULL;
    if (!rewrite_is_sole(r, product) ||
        !view_reshape(&c->view, product->view.ndim, product->view.shape, &factor))
        return NULL;
    for (int i = rewrite_is_convolution(product); i < 2 && !y; i++)
        y = with_factor(r, product, i, op, c, &factor);
    return y;
}

/* x sees y's elements in order: y in the shape of x. */
static ig_array *in_shape(ig_array *y, const ig_array *x)
{
    view v;
    view_contiguous(&v, x->view.ndim, x->view.shape);
    return y && !view_same_shape(&y->view, &v) ? array_view(OP_reshape, y, &v) : y;
}

static ig_array *scale_by(const rewriting *r, const ig_array *x, ig_array *y, ig_array *c)
{
    ig_array *product = product_of(y);
    const summed s = product ? (summed){0} : summed_of(r, y);
    if (product)
        return in_shape(scaled(r, product, x->op, c), x);
    if (!s.product || !rewrite_is_sole(r, y->root) || !view_same_shape(&y->view, &y->root->view))
        return NULL;
    ig_array *by = scaled(r, s.product, x->op, c);
    ig_array *shift = by ? rewrite_combine(x->op, rewrite_spread(s.by, &x->view), c) : NULL;
    ig_array *const in[2] = {in_shape(by, x), shift};
    return shift ? array_node(s.op, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, in, 2, NULL)
                 : NULL;
}

ig_array *rewrite_scale(const rewriting *r, ig_array *x)
{
    if (!r->rounds || !(is_op(x, OP_multiply) || is_op(x, OP_divide)))
        return NULL;
    for (int i = 0; i < (x->op == OP_multiply ? 2 : 1); i++) {
        ig_array *y = x->in[i], *c = x->in[1 - i];
        if (c->view.ndim == 0 || !rewrite_is_constant(r, c) || rewrite_is_constant(r, y))
            continue; /* a number is multiplied at no cost where the product is stored */
        ig_array *z = scale_by(r, x, y, c);
        if (z)
            return z;
    }
    return NULL;
}

/* ---- summands ---- */

ig_array *rewrite_shift(const rewriting *r, ig_array *x)
{
    if (!r->rounds || !(is_op(x, OP_add) || is_op(x, OP_subtract)))
        return NULL;
    for (int i = 0; i < (x->op == OP_add ? 2 : 1); i++) {
        ig_array *y = x->in[i], *c = x->in[1 - i];
        const summed s = summed_of(r, y);
        if (!s.product || !rewrite_is_constant(r, c) || !rewrite_is_sole(r, y->root) ||
            !view_same_shape(&y->view, &y->root->view))
            continue;
        ig_array *d = rewrite_spread(s.by, &x->view), *e = rewrite_spread(c, &x->view);
        const bool less =
            s.op == OP_subtract; /* p - d + e is p - (d - e); p - d - e is p - (d + e) */
        ig_array *both = rewrite_combine((x->op == OP_add) == less ? OP_subtract : OP_add, d, e);
        ig_array *const in[2] = {s.seen, both};
        return both ? array_node(s.op, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, in, 2, NULL)
                    : NULL;
    }
    return NULL;
}
