/* Attention as a dozen nodes,
 *
 *   softmax(query @ key^T * scale + mask, axis=-1) @ value
 *
 * becomes one node, if the device has native code for it (ops/attention.c). scale may be absent or a divisor, and mask may be
 * absent, or where(mask, scores, -inf). How query, key and value were transposed does not matter: a contraction reads views. */
#include "engine/graph/rewrite/rewrite.h"

#include "engine/ops/attention.h"
#include <math.h>

/* x sees all elements of its root, in the root's shape. */
static bool is_itself(const ig_array *x) { return view_equal(&x->view, &x->root->view); }

/* x repeats the elements of its root, one for each row of `rows`, along the last axis. */
static bool is_of_rows(const ig_array *x, const view *rows)
{
    const int last = rows->ndim - 1;
    view v;
    if (!view_same_shape(&x->view, rows) || x->view.offset != 0 ||
        view_size(&x->root->view) * rows->shape[last] != view_size(rows))
        return false;
    view_contiguous(&v, last, rows->shape);
    for (int i = 0; i < last; i++)
        if (rows->shape[i] > 1 && x->view.stride[i] != v.stride[i])
            return false;
    return rows->shape[last] == 1 || x->view.stride[last] == 0;
}

/* The node that folds the last axis of from, a root, if x repeats its results; else NULL. */
static const ig_array *fold_of(const ig_array *x, int fold, const ig_array *from)
{
    const ig_array *y = x->root;
    const bool folds = !y->data && y->op == fold && y->attr.fold == fold && y->attr.ndim[0] == 1 &&
                       y->dtype == from->dtype;
    return folds && y->in[0]->root == from && is_itself(y->in[0]) && is_of_rows(x, &from->view)
               ? y
               : NULL;
}

static bool is_product(const ig_array *x)
{
    const uint8_t *n = x->attr.ndim;
    return !x->data && x->op == OP_contract && x->dtype == IG_F32 && x->in[0]->dtype == IG_F32 &&
           n[1] == 1 && n[2] == 1 && n[3] == 1;
}

/* ---- softmax ---- */

/* exp(scores - max) of the softmax whose result is x, by a product with the reciprocal of the sum, or a division; NULL if it
 * is not one. */
static const ig_array *exponentials_of(const rewriting *r, const ig_array *x)
{
    if (x->data || x->n_in != 2 || !rewrite_is_sole(r, x))
        return NULL;
    for (int i = 0; i < (x->op == OP_multiply ? 2 : x->op == OP_divide); i++) {
        const ig_array *e = x->in[i]->root, *by = x->in[1 - i];
        if (e->data || e->op != OP_exp || !is_itself(x->in[i]) || !rewrite_is_read(r, e, 2))
            continue;
        if (x->op == OP_divide) {
            const ig_array *sum = fold_of(by, OP_sum, e);
            return sum && rewrite_is_sole(r, sum) ? e : NULL;
        }
        const ig_array *over = by->root;
        if (over->data || over->op != OP_reciprocal || !rewrite_is_sole(r, over) ||
            !is_of_rows(by, &e->view))
            return NULL;
        /* The reciprocal's own input has the shape of the rows, with or without an axis of length 1. */
        const ig_array *sum = over->in[0]->root;
        const bool whole = rewrite_is_whole(over->in[0]) && !sum->data && sum->op == OP_sum &&
                           sum->attr.fold == OP_sum && sum->attr.ndim[0] == 1 &&
                           sum->in[0]->root == e && is_itself(sum->in[0]);
        return whole && rewrite_is_sole(r, sum) ? e : NULL;
    }
    return NULL;
}

/* The root of the scores of exp(scores - max(scores)), or NULL. */
static ig_array *scores_of(const rewriting *r, const ig_array *e)
{
    const ig_array *below = e->in[0]->root;
    if (below->data || below->op != OP_subtract || !is_itself(e->in[0]) ||
        !rewrite_is_sole(r, below))
        return NULL;
    ig_array *scores = below->in[0]->root;
    const ig_array *most = is_itself(below->in[0]) ? fold_of(below->in[1], OP_max, scores) : NULL;
    return most && rewrite_is_sole(r, most) && rewrite_is_read(r, scores, 2) ? scores : NULL;
}

/* ---- scores ---- */

typedef struct found {
    ig_array *product; /* query @ key^T */
    ig_array *bias;    /* in the shape of the scores, or NULL */
    double scale;
} found;

/* The mask as a number to add: 0 or -inf. Axes along which it repeats have length 1. */
static ig_array *bias_of(ig_array *mask)
{
    view v = mask->view;
    for (int i = 0; i < v.ndim - 1; i++)
        v.shape[i] = v.stride[i] == 0 && v.shape[i] > 1 ? 1 : v.shape[i];
    ig_array *seen = array_view(OP_slice, mask, &v);
    if (seen && seen->dtype == IG_BOOL)
        seen = ig_where(seen, build_scalar(0, IG_F32), build_scalar(-INFINITY, IG_F32));
    return seen;
}

/* The input of x that is scaled by a number: *scale changes. NULL if x is not such a node. */
static ig_array *unscaled(const rewriting *r, const ig_array *x, double *scale)
{
    double number;
    for (int i = 0; i < (x->op == OP_multiply ? 2 : x->op == OP_divide); i++)
        if (is_itself(x->in[i]) && rewrite_number(r, x->in[1 - i], &number)) {
            *scale = x->op == OP_multiply ? *scale * number : *scale / number;
            return x->in[i]->root;
        }
    return NULL;
}

/* The product that the scores are made of, below an optional mask and an optional scale. */
static bool find(const rewriting *r, ig_array *scores, found *f)
{
    double low;
    ig_array *x = scores, *mask = NULL;
    *f = (found){.scale = 1};
    if (x->data)
        return false;
    if (x->op == OP_add) {
        for (int i = 0; i < 2 && !f->product; i++) {
            ig_array *y = x->in[i]->root, *below;
            double scale = 1;
            if (y->data || !is_itself(x->in[i]) || !rewrite_is_sole(r, y) ||
                x->in[1 - i]->view.ndim == 0)
                continue;
            below = unscaled(r, y, &scale);
            if (below && (below->data || !rewrite_is_sole(r, below)))
                continue;
            if (is_product(below ? below : y))
                *f = (found){below ? below : y, x->in[1 - i], scale};
        }
        return f->product && f->bias->dtype == IG_F32;
    }
    if (x->op == OP_where) {
        if (!is_itself(x->in[1]) || x->in[0]->dtype != IG_BOOL || x->in[0]->view.ndim == 0 ||
            !rewrite_number(r, x->in[2], &low) || low != -INFINITY)
            return false;
        mask = x->in[0];
        x = x->in[1]->root;
        if (x->data || !rewrite_is_sole(r, x))
            return false;
    }
    ig_array *below = unscaled(r, x, &f->scale);
    if (below && !rewrite_is_sole(r, below))
        return false;
    f->product = below ? below : x;
    f->bias = mask;
    return is_product(f->product);
}

ig_array *rewrite_attention(const rewriting *r, ig_array *x)
{
    found f;
    if (!r->rounds || !is_product(x) || !is_itself(x->in[0]))
        return NULL;
    const ig_array *e = exponentials_of(r, x->in[0]->root);
    ig_array *scores = e ? scores_of(r, e) : NULL;
    if (!scores || !find(r, scores, &f) || f.product->attr.ndim[0] != x->attr.ndim[0] ||
        !(f.scale > 0) || !isfinite(f.scale))
        return NULL;
    view v;
    int order[IG_MAX_NDIM];
    const ig_array *value = x->in[1];
    for (int i = 0; i < value->view.ndim; i++)
        order[i] = i;
    order[value->view.ndim - 2] = value->view.ndim - 1;
    order[value->view.ndim - 1] = value->view.ndim - 2;
    view_permute(&value->view, order, &v);
    ig_array *const in[3] = {f.product->in[0], f.product->in[1],
                             array_view(OP_permute_dims, x->in[1], &v)};
    ig_array *bias = f.bias ? bias_of(f.bias) : NULL;
    return in[2] && (bias || !f.bias) ? attention_softmax(in, bias, f.scale) : NULL;
}
