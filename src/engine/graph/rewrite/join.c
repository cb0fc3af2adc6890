/* Products of one array with several constant matrices, such as the projections to query, key and value:
 *
 *   x @ w[0] + b[0], x @ w[1] + b[1], ...   ->   y = x @ concat(w) + concat(b); parts of y
 *
 * They become one product if the device has its own memory: one launch with more columns keeps more of it busy, and weights
 * are copied there in any case. Elsewhere the weights would be in memory twice. All members have a bias, or none has. */
#include "engine/array/above.h"
#include "engine/graph/rewrite/rewrite.h"

#include "base/error.h"
#include "engine/ops/contract.h"
#include <string.h>

enum { MEMBERS_MOST = 8 };

/* A member: the node whose value is needed, its product, and its bias or NULL. */
typedef struct member {
    ig_array *node, *product, *bias;
} member;

/* The view of c's root that sees only the axes from `first` to `end`; false if other axes do not repeat. */
static bool only_axes(const ig_array *c, int first, int end, view *out)
{
    out->ndim = 0;
    out->offset = c->view.offset;
    for (int i = 0; i < c->view.ndim; i++) {
        const bool is_seen = i >= first && i < end;
        if (!is_seen && c->view.stride[i] != 0 && c->view.shape[i] != 1)
            return false;
        if (is_seen) {
            out->shape[out->ndim] = c->view.shape[i];
            out->stride[out->ndim++] = c->view.stride[i];
        }
    }
    return true;
}

static bool is_joinable(const rewriting *r, const ig_array *x)
{
    const uint8_t *n = x->attr.ndim;
    view v;
    return !x->data && x->op == OP_contract && n[1] > 0 && n[2] == 1 && n[3] > 0 &&
           dtype_is_float((ig_dtype)x->dtype) && x->in[1]->dtype == x->in[0]->dtype &&
           !rewrite_is_constant(r, x->in[0]) && rewrite_is_constant(r, x->in[1]) &&
           !array_is_packed(x->in[1]) && only_axes(x->in[1], n[0], x->in[1]->view.ndim, &v);
}

/* Node i as a member; its product is NULL if it is not one. */
static member member_of(const rewriting *r, ig_array *x)
{
    view v;
    if (!x->data && x->op == OP_add && x->n_in == 2)
        for (int i = 0; i < 2; i++) {
            ig_array *product = x->in[i]->root, *bias = x->in[1 - i];
            if (is_joinable(r, product) && rewrite_is_sole(r, product) &&
                view_equal(&x->in[i]->view, &product->view) && bias->view.ndim > 0 &&
                x->dtype == product->dtype && bias->dtype == x->dtype &&
                rewrite_is_constant(r, bias) && only_axes(bias, x->view.ndim - 1, x->view.ndim, &v))
                return (member){x, product, bias};
        }
    return is_joinable(r, x) ? (member){x, x, NULL} : (member){0};
}

/* True if both products have the same other factor, and differ only in their columns. */
static bool goes_with(const member *a, const member *b)
{
    const ig_array *x = a->product, *y = b->product;
    const int last = x->in[1]->view.ndim, at = x->attr.ndim[0];
    if (!y || !a->bias != !b->bias || x->dtype != y->dtype || x->in[0]->root != y->in[0]->root ||
        x->in[0]->dtype != y->in[0]->dtype || !view_equal(&x->in[0]->view, &y->in[0]->view) ||
        memcmp(x->attr.ndim, y->attr.ndim, sizeof x->attr.ndim) != 0)
        return false;
    for (int i = 0; i < last; i++)
        if (i != at && x->in[1]->view.shape[i] != y->in[1]->view.shape[i])
            return false;
    return true;
}

/* Constants one after another. They are joined on the host if they are still there, so that the device gets only the
 * joined one. */
static ig_array *joined(ig_array *const *parts, const view *views, int n)
{
    ig_array *list[MEMBERS_MOST];
    const char *cpu = above.device_name("cpu"), *device = parts[0]->root->device;
    bool here = device && cpu && device != cpu;
    for (int i = 0; i < n; i++)
        here = here && parts[i]->root->data && !parts[i]->root->data->device &&
               parts[i]->root->device == device;
    for (int i = 0; i < n; i++) {
        ig_array *from = parts[i];
        if (here) {
            const view *whole = &from->root->view;
            from = array_leaf((ig_dtype)from->dtype, whole->ndim, whole->shape,
                              buffer_retain(from->root->data));
            if (from)
                from->device = cpu;
        }
        list[i] = from ? array_view(OP_slice, from, &views[i]) : NULL;
        if (!list[i])
            return NULL;
    }
    ig_array *all = ig_concat(list, n, IG_AXES(0));
    return here ? ig_to_device(all, device) : all;
}

/* x, of the last axes of `like`, repeated along the first ones. */
static ig_array *repeated(ig_array *x, const view *like, int64_t columns, int at)
{
    view v = *like, spread;
    v.shape[at] = columns;
    return x && view_broadcast(&x->view, v.ndim, v.shape, &spread)
               ? array_view(OP_broadcast_to, x, &spread)
               : NULL;
}

/* The product of all members, with their bias. */
static ig_array *product_of(const member *list, int n, ig_array *x)
{
    const ig_array *first = list[0].product;
    const int at = first->attr.ndim[0], last = first->view.ndim - 1;
    ig_array *w[MEMBERS_MOST], *b[MEMBERS_MOST];
    view of_w[MEMBERS_MOST], of_b[MEMBERS_MOST], whole = first->view;
    int64_t columns = 0;
    for (int i = 0; i < n; i++) {
        w[i] = list[i].product->in[1];
        b[i] = list[i].bias;
        columns += w[i]->view.shape[at];
        only_axes(w[i], at, w[i]->view.ndim, &of_w[i]);
        if (b[i])
            only_axes(b[i], last, last + 1, &of_b[i]);
    }
    const uint8_t *axes = first->attr.ndim;
    ig_array *const in[2] = {x, repeated(joined(w, of_w, n), &w[0]->view, columns, at)};
    ig_array *y = contract_node(OP_matmul, in, (contract_axes){axes[0], axes[1], axes[2], axes[3]},
                                (ig_dtype)first->dtype);
    whole.shape[last] = columns;
    ig_array *bias = b[0] && y ? repeated(joined(b, of_b, n), &whole, columns, last) : NULL;
    ig_array *const sum[2] = {y, bias};
    if (!b[0])
        return y;
    return bias ? array_node(OP_add, (ig_dtype)y->dtype, y->view.ndim, y->view.shape, sum, 2, NULL)
                : NULL;
}

/* ---- groups ---- */

/* Marks nodes that should keep their own program: maps read them, which are fused with it, or they are the product of a sum
 * that is a member itself. */
static void mark_others(const rewriting *r, bool *skipped)
{
    for (int i = 0; i < r->g->n_node; i++) {
        ig_array *x = r->g->node[i];
        const member m = member_of(r, x);
        if (m.bias)
            skipped[m.product->index] = true;
        const bool fuses =
            node_program(x) == PROGRAM_MAP && x->op != OP_astype && x->op != OP_assemble;
        for (int k = 0; k < x->n_in && fuses; k++) {
            const ig_array *from = x->in[k]->root;
            if (!from->data && !(m.bias && from == m.product))
                skipped[from->index] = true;
        }
    }
}

void rewrite_find_joins(const rewriting *r, bool *skipped)
{
    const graph *g = r->g;
    mark_others(r, skipped);
    for (int i = 0; i < g->n_node; i++)
        r->leader[i] = -1;
    for (int i = 0; i < g->n_node; i++) {
        const member first = member_of(r, g->node[i]);
        int n = 1;
        if (!first.product || skipped[i] || r->leader[i] >= 0)
            continue;
        for (int k = i + 1; k < g->n_node && n < MEMBERS_MOST; k++) {
            if (skipped[k] || r->leader[k] >= 0 || !r->varies[k])
                continue;
            const member other = member_of(r, g->node[k]);
            if (goes_with(&first, &other)) {
                r->leader[k] = i;
                n++;
            }
        }
        r->leader[i] = n > 1 ? i : -1;
    }
}

ig_status rewrite_join(const rewriting *r, int i, ig_array *x)
{
    member list[MEMBERS_MOST];
    int n = 0;
    for (int k = i; k < r->g->n_node; k++)
        if (r->leader[k] == i)
            list[n++] = member_of(r, r->g->node[k]);
    ig_array *all = product_of(list, n, x);
    if (!all)
        return IG_ERR_MEMORY;
    all->mark = r->g->epoch;
    all->index = i;
    r->uses[i] = n + 1; /* never part of a pattern */
    view v = all->view;
    const int last = v.ndim - 1;
    for (int m = 0; m < n; m++) {
        v.shape[last] = list[m].node->view.shape[last];
        if (!(r->made[list[m].node->index] = array_view(OP_slice, all, &v)))
            return IG_ERR_MEMORY;
        v.offset += v.shape[last];
    }
    return IG_OK;
}

ig_array *rewrite_joined(const rewriting *r, int i)
{
    return member_of(r, r->g->node[i]).product->in[0];
}
