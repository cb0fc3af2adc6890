/* The walk that applies the rules. See rewrite.h. */
#include "engine/graph/rewrite/rewrite.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/grad.h"
#include "engine/ops/native_node.h"
#include <stdlib.h>
#include <string.h>

typedef ig_array *(*rule)(const rewriting *r, ig_array *x);

#define RULE(name, function, text) function,
static const rule rules[] = {
#include "engine/graph/rewrite/rules.def"
};
#undef RULE
#define RULE(name, function, text) text,
static const char *const names[REWRITE_COUNTS] = {
#include "engine/graph/rewrite/rules.def"
    "joined products",
};
#undef RULE

bool rewrite_is_on(void)
{
    const char *asked = getenv("IG_REWRITE");
    return !asked || strcmp(asked, "off") != 0;
}

void rewrite_text(const rewrite_counts *counts, text *t)
{
    const char *before = "rewritten:";
    for (int i = 0; i < REWRITE_COUNTS; i++)
        if (counts->of[i]) {
            text_add(t, "%s %d x %s", before, counts->of[i], names[i]);
            before = ",";
        }
    if (*before == ',')
        text_add(t, "\n");
}

/* ---- facts ---- */

/* The position of a root in the graph: of the node, or of the node that it replaces. -1: neither. */
static int index_of(const rewriting *r, const ig_array *root)
{
    return root->mark == r->g->epoch && root->index >= 0 ? root->index : -1;
}

bool rewrite_is_constant(const rewriting *r, const ig_array *x)
{
    const ig_array *root = x->root;
    if (root->data) {
        for (int i = 0; i < r->n_in; i++)
            if (r->inputs[i]->root == root)
                return false;
        return true;
    }
    const int at = index_of(r, root);
    if (at >= 0)
        return !r->varies[at];
    for (int i = 0; i < root->n_in; i++)
        if (!rewrite_is_constant(r, root->in[i]))
            return false;
    return true;
}

/* A node that a rule made, and that replaces none, is read once: by the next node of its replacement. */
bool rewrite_is_read(const rewriting *r, const ig_array *root, int times)
{
    const int at = index_of(r, root);
    return !root->data && (at < 0 ? 1 : r->uses[at]) == times;
}

bool rewrite_is_sole(const rewriting *r, const ig_array *root)
{
    return rewrite_is_read(r, root, 1);
}

bool rewrite_number(const rewriting *r, const ig_array *x, double *value)
{
    const ig_array *root = x->root;
    if (!root->data || array_is_packed(x) || view_size(&root->view) != 1 ||
        !rewrite_is_constant(r, x) || !dtype_is_float((ig_dtype)x->dtype))
        return false;
    const buffer *b = root->data;
    const void *at = root->is_number ? (const void *)&root->number : b->device ? NULL : b->data;
    if (at)
        *value = dtype_fetch((ig_dtype)root->dtype, at);
    return at != NULL;
}

bool rewrite_is_whole(const ig_array *x)
{
    return view_is_contiguous(&x->view) && x->view.offset == 0 &&
           view_size(&x->view) == view_size(&x->root->view);
}

bool rewrite_is_convolution(const ig_array *x)
{
    const node_kernel *k = x->attr.kernel;
    return !x->data && x->op == OP_kernel && k->native && k->native->kind == NATIVE_CONVOLUTION;
}

/* ---- constants ---- */

ig_array *rewrite_spread(ig_array *x, const view *like)
{
    view v;
    if (!x || view_same_shape(&x->view, like))
        return x;
    return view_broadcast(&x->view, like->ndim, like->shape, &v)
               ? array_view(OP_broadcast_to, x, &v)
               : NULL;
}

ig_array *rewrite_combine(int op, ig_array *a, ig_array *b)
{
    if (!a || !b)
        return NULL;
    view v[2] = {a->view, b->view}, spread;
    for (int i = 0; i < v[0].ndim; i++)
        if (v[0].stride[i] == 0 && v[1].stride[i] == 0 && v[0].shape[i] > 0)
            v[0].shape[i] = v[1].shape[i] = 1;
    ig_array *const in[2] = {array_view(OP_slice, a, &v[0]), array_view(OP_slice, b, &v[1])};
    ig_array *y = array_node(op, (ig_dtype)a->dtype, v[0].ndim, v[0].shape, in, 2, NULL);
    if (!y || !view_broadcast(&y->view, a->view.ndim, a->view.shape, &spread))
        return NULL;
    return array_view(OP_broadcast_to, y, &spread);
}

/* ---- the walk ---- */

/* The axis of a contiguous view along which a stride is a step; -1: it is not one. */
static int axis_of(const view *root, int64_t stride)
{
    for (int a = 0; a < root->ndim; a++)
        if (root->shape[a] > 1 && stride >= root->stride[a] &&
            stride < root->stride[a] * root->shape[a])
            return stride % root->stride[a] == 0 ? a : -1;
    return -1;
}

/* x through made, a view of other memory with the axes of x's root. False if an axis of x is not a step along one axis of
 * the root: then strides cannot express it. */
static bool compose(const ig_array *x, const view *made, view *out)
{
    const view *root = &x->root->view;
    int64_t reach[IG_MAX_NDIM];
    if (!view_same_shape(root, made) || view_size(root) == 0)
        return false;
    view_copy(out, &x->view);
    out->offset = made->offset;
    for (int a = 0; a < root->ndim; a++) {
        reach[a] = root->shape[a] > 1 ? x->view.offset / root->stride[a] % root->shape[a] : 0;
        out->offset += reach[a] * made->stride[a];
    }
    for (int i = 0; i < out->ndim; i++) {
        const int64_t stride = x->view.shape[i] > 1 ? x->view.stride[i] : 0;
        const int a = stride > 0 ? axis_of(root, stride) : -1;
        if (a < 0 && stride != 0)
            return false;
        out->stride[i] = a < 0 ? 0 : stride / root->stride[a] * made->stride[a];
        if (a >= 0)
            reach[a] += (x->view.shape[i] - 1) * (stride / root->stride[a]);
    }
    for (int a = 0; a < root->ndim; a++)
        if (reach[a] >= root->shape[a])
            return false;
    return true;
}

/* x, whose root may have been replaced, in the new graph. */
static ig_array *renewed(const rewriting *r, ig_array *x)
{
    const int at = x->root->data ? -1 : x->root->index;
    ig_array *made = at >= 0 ? r->made[at] : NULL;
    if (!made)
        return x;
    view v;
    if (!view_is_contiguous(&made->view)) {
        if (rewrite_is_whole(x) && view_reshape(&made->view, x->view.ndim, x->view.shape, &v))
            return array_view(x->op, made, &v);
        if (view_size(&x->view) > 0 && compose(x, &made->view, &v))
            return array_view(x->op, made, &v);
        if (!(made = build_contiguous(made)))
            return NULL;
        r->made[at] = made;
    }
    view_copy(&v, &x->view);
    v.offset += made->view.offset;
    return made == made->root && view_equal(&v, &made->view) ? made : array_view(x->op, made, &v);
}

/* The node x with the replacements of its inputs; x itself if none was replaced. */
static ig_array *rebuilt(const rewriting *r, ig_array *x)
{
    bool changed = false;
    for (int i = 0; i < x->n_in && !changed; i++)
        changed = !x->in[i]->root->data && r->made[x->in[i]->root->index];
    if (!changed)
        return x;
    ig_array *few[INPUTS_FEW];
    ig_array **in = x->n_in <= INPUTS_FEW ? few : memory_get((size_t)x->n_in * sizeof *in);
    bool ok = in != NULL;
    for (int i = 0; i < x->n_in && ok; i++)
        ok = (in[i] = renewed(r, x->in[i])) != NULL;
    ig_array *y = ok ? replay_node(x, (ig_dtype)x->dtype, in) : NULL;
    if (in != few)
        memory_free(in);
    return y;
}

/* y, with y's elements in row-major order, is read instead of node i. */
static void replace(const rewriting *r, int i, ig_array *y)
{
    const int at = index_of(r, y->root);
    if (at >= 0)
        r->uses[at] += r->uses[i] - 1; /* it was there before: its reader is gone */
    else if (!y->root->data) {
        y->root->mark = r->g->epoch;
        y->root->index = i;
    }
    r->made[i] = y;
}

static ig_status rewrite_node(const rewriting *r, int i, rewrite_counts *counts)
{
    enum { MOST = 8 }; /* rules that are applied to one node after another */
    if (r->joins && r->leader[i] == i) {
        ig_array *factor = renewed(r, rewrite_joined(r, i));
        counts->of[REWRITE_JOIN]++;
        return factor ? rewrite_join(r, i, factor) : error_waiting(IG_ERR_MEMORY);
    }
    if (r->made[i]) /* of a group */
        return IG_OK;
    ig_array *x = r->g->node[i], *y = rebuilt(r, x);
    if (!y)
        return error_waiting(IG_ERR_MEMORY);
    if (y != x)
        replace(r, i, y);
    for (int n = 0, k = 0; n < MOST && k < REWRITE_COUNT && y == y->root && !y->data;) {
        ig_array *next = rules[k](r, y);
        if (!next) {
            if (ig_failed())
                return error_waiting(IG_ERR_MEMORY);
            k++;
            continue;
        }
        counts->of[k]++;
        replace(r, i, next);
        y = next;
        k = 0;
        n++;
    }
    return IG_OK;
}

static void count_uses(rewriting *r, ig_array *const *arrays, int n)
{
    const graph *g = r->g;
    for (int i = 0; i < g->n_node; i++)
        for (int j = 0; j < g->node[i]->n_in; j++) {
            const ig_array *from = g->node[i]->in[j];
            if (!from->root->data)
                r->uses[from->root->index]++;
            r->varies[i] = r->varies[i] || !rewrite_is_constant(r, from);
        }
    for (int i = 0; i < n; i++)
        if (!arrays[i]->root->data)
            r->uses[arrays[i]->root->index] += 2; /* a result is never part of a pattern */
}

static ig_status rewrite_all(rewriting *r, ig_array **arrays, int n, rewrite_counts *counts)
{
    count_uses(r, arrays, n);
    if (r->joins) {
        bool *skipped = memory_new((size_t)(r->g->n_node + 1) * sizeof *skipped);
        if (!skipped)
            return IG_ERR_MEMORY;
        rewrite_find_joins(r, skipped);
        memory_free(skipped);
    }
    for (int i = 0; i < r->g->n_node; i++)
        if (r->varies[i])
            TRY(rewrite_node(r, i, counts));
    for (int i = 0; i < n; i++)
        if (!(arrays[i] = renewed(r, arrays[i])))
            return error_waiting(IG_ERR_MEMORY);
    return IG_OK;
}

ig_status rewrite_graph(graph *g, ig_array **arrays, int n, ig_array *const *inputs, int n_in,
                        bool joins, rewrite_counts *counts)
{
    *counts = (rewrite_counts){0};
    if (!rewrite_is_on())
        return IG_OK;
    TRY(graph_order(g, arrays, n));
    const size_t room = (size_t)g->n_node + 1;
    rewriting r = {.g = g,
                   .inputs = inputs,
                   .n_in = n_in,
                   .joins = joins && ig_math_mode() != IG_MATH_SAME,
                   .rounds = ig_math_mode() != IG_MATH_SAME,
                   .made = memory_new(room * sizeof *r.made),
                   .uses = memory_new(room * sizeof *r.uses),
                   .varies = memory_new(room * sizeof *r.varies),
                   .leader = memory_new(room * sizeof *r.leader)};
    const ig_status status = r.made && r.uses && r.varies && r.leader
                                 ? rewrite_all(&r, arrays, n, counts)
                                 : IG_ERR_MEMORY;
    memory_free(r.made);
    memory_free(r.uses);
    memory_free(r.varies);
    memory_free(r.leader);
    return status;
}
