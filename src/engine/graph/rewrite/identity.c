/* Nodes whose result has the bits of an input: a copy of elements that lie in order already, x * 1, x / 1, x - 0,
 * -(-x), and a concatenation of one array. Not x + 0, which turns -0 into 0. Also x ** 1 and x ** 2, which are exact as x
 * and as a product, while a power is rounded. */
#include "engine/graph/rewrite/rewrite.h"

#include <math.h>

/* True if x, as node y, has y's shape and dtype. */
static bool fits(const ig_array *x, const ig_array *y)
{
    return x->dtype == y->dtype && view_same_shape(&x->view, &y->view);
}

static bool is_number(const rewriting *r, const ig_array *x, double value)
{
    double number;
    return rewrite_number(r, x, &number) && number == value && !signbit(number);
}

ig_array *rewrite_identity(const rewriting *r, ig_array *x)
{
    if (x->n_in == 0 || !fits(x->in[0], x))
        return x->op == OP_multiply && fits(x->in[1], x) && is_number(r, x->in[0], 1) ? x->in[1]
                                                                                      : NULL;
    ig_array *y = x->in[0];
    switch (x->op) {
    case OP_assemble: return x->n_in == 1 && view_equal(&x->attr.dst[0], &x->view) ? y : NULL;
    case OP_astype: return view_is_contiguous(&y->view) ? y : NULL;
    case OP_negative:
        return y->root->op == OP_negative && !y->root->data && rewrite_is_whole(y) &&
                       fits(y->root->in[0], x)
                   ? y->root->in[0]
                   : NULL;
    case OP_multiply:
        if (fits(x->in[1], x) && is_number(r, y, 1))
            return x->in[1];
        return is_number(r, x->in[1], 1) ? y : NULL;
    case OP_divide: return is_number(r, x->in[1], 1) ? y : NULL;
    case OP_subtract: return is_number(r, x->in[1], 0) ? y : NULL;
    default: return NULL;
    }
}

ig_array *rewrite_power(const rewriting *r, ig_array *x)
{
    if (!r->rounds || x->op != OP_pow || !fits(x->in[0], x))
        return NULL;
    if (is_number(r, x->in[1], 1))
        return x->in[0];
    if (!is_number(r, x->in[1], 2))
        return NULL;
    return array_node(OP_square, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x->in[0], 1,
                      NULL);
}
