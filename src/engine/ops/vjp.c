/* Reverse mode: walks the graph from the results to the inputs. At each place, the rule of the node turns
 * its accumulated gradient into gradients of its inputs. A place is defined in walk.h. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/array/above.h"
#include "engine/ops/complex.h"
#include "engine/ops/grad.h"
#include "engine/ops/builders.h"
#include "engine/ops/walk.h"
#include <string.h>

/* ---- backward ---- */

/* Adds d, the gradient of x seen through seen, to the place that x sees. */
static ig_status deliver(walk *w, ig_array *to, const ig_array *x, const view *seen, ig_array *d)
{
    if (!d)
        return ig_failed() ? IG_ERR_ARGUMENT : IG_OK;
    if (!view_equal(seen, &to->view)) {
        if (!view_is_injective(&to->view))
            FAIL(IG_ERR_UNSUPPORTED,
                 "grad: an array to differentiate by repeats elements (a broadcast), and is used "
                 "through another view of it; differentiate by the array that it repeats");
        d = grad_through_view(d, x, seen);
        if (d && to != to->root)
            d = grad_see(d, &to->view);
    }
    place *p = walk_find(w, to);
    d = build_cast(d, (ig_dtype)to->dtype);
    p->made = p->made ? grad_sum(p->made, d) : d;
    return p->made ? IG_OK : IG_ERR_ARGUMENT;
}

static bool edge_needed(const walk *w, const ig_array *to)
{
    return to && walk_find(w, to)->needed;
}

static ig_status pull_root(walk *w, ig_array *node, ig_array *g)
{
    const grad_rule rule = grad_rule_of(node);
    for (int i = 0; i < node->n_in; i++) {
        ig_array *to = edge_to(w, node, i);
        if (!edge_needed(w, to))
            continue;
        if (!rule && node->attr.kernel)
            FAIL(IG_ERR_UNSUPPORTED,
                 "grad: kernel '%s' was made without a gradient kernel; name one where it is made, "
                 "or pass its inputs through stop_gradient if they are meant as constants",
                 node->attr.kernel->name);
        if (!rule)
            FAIL(IG_ERR_UNSUPPORTED,
                 "grad: %s has no derivative; pass its input through stop_gradient if it is meant "
                 "as a constant",
                 op_rows[node->op].name);
        pull p;
        p.node = node;
        p.g = g;
        view_copy(&p.seen, &node->in[i]->view);
        ig_array *d = rule(&p, i), *in = node->in[i];
        if (d && p.seen.ndim == 0 && d->view.ndim > 0) { /* one number for all elements */
            in = build_broadcast(node->op, in, d->view.ndim, d->view.shape);
            if (!in)
                return IG_ERR_MEMORY;
            p.seen = in->view;
        }
        TRY(deliver(w, to, in, &p.seen, d));
    }
    return IG_OK;
}

static ig_status pull_custom(walk *w, ig_array *x, ig_array *g)
{
    const int n = x->n_in - 1;
    ig_array **d = memory_new((size_t)n * sizeof *d);
    if (n && !d)
        return IG_ERR_MEMORY;
    g->is_fixed = false; /* now the caller can hold it */
    ig_status status = x->custom->pull(x->custom->context, x->in + 1, n, x, g, d);
    if (status != IG_OK)
        ig_fail(status, "grad: a custom gradient failed without saying why");
    for (int i = 0; i < n && status == IG_OK; i++) {
        ig_array *y = x->in[1 + i], *to = edge_to(w, x, 1 + i);
        if (d[i] && !view_same_shape(&d[i]->view, &y->view)) {
            char have[400], want[400];
            status = ig_fail(IG_ERR_SHAPE,
                             "grad: a custom gradient gave shape %s for input %d of shape %s",
                             view_shape_text(d[i]->view.ndim, d[i]->view.shape, have), i,
                             view_shape_text(y->view.ndim, y->view.shape, want));
        } else if (edge_needed(w, to)) {
            status = deliver(w, to, y, &y->view, d[i]);
        }
    }
    memory_free(d);
    return status;
}

/* A view that is a place passes its gradient on to the place that it sees. */
static ig_status pull_view(walk *w, ig_array *x, ig_array *g)
{
    ig_array *to = edge_end(w, x) ? edge_to(w, x, 0) : NULL;
    return edge_needed(w, to) ? deliver(w, to, x, &x->view, g) : IG_OK;
}

/* ---- results that are differentiated together ---- */

static bool is_joint(const ig_array *x)
{
    return x == x->root && x->attr.kernel && x->attr.kernel->pull;
}

/* True if x and y are results of one call. */
static bool is_same_call(const walk *w, const ig_array *x, const ig_array *y)
{
    bool same = is_joint(y) && x->attr.kernel == y->attr.kernel && x->attr.copy == y->attr.copy &&
                x->n_in == y->n_in;
    for (int i = 0; same && i < x->n_in; i++)
        same = x->in[i]->root == y->in[i]->root && view_equal(&x->in[i]->view, &y->in[i]->view) &&
               edge_to(w, x, i) == edge_to(w, y, i);
    return same;
}

static ig_status pull_results(walk *w, ig_array *x, ig_array *const *g, bool *needed,
                              ig_array **grads)
{
    for (int i = 0; i < x->n_in; i++)
        needed[i] = edge_needed(w, edge_to(w, x, i));
    TRY(x->attr.kernel->pull(x->attr.kernel, x, g, needed, grads));
    for (int i = 0; i < x->n_in; i++)
        if (needed[i] && grads[i])
            TRY(deliver(w, edge_to(w, x, i), x->in[i], &x->in[i]->view, grads[i]));
    return IG_OK;
}

/* The results of the call of place k, once the gradients of all of them are known: at the one that comes first in order. */
static ig_status pull_joint(walk *w, int k)
{
    ig_array *x = w->place[w->order[k]].at;
    const int n = x->attr.kernel->n_result;
    for (int j = 0; j < k; j++)
        if (is_same_call(w, x, w->place[w->order[j]].at))
            return IG_OK;
    ig_array **g = memory_new((size_t)(n + x->n_in) * sizeof *g);
    bool *needed = memory_new((size_t)x->n_in + 1);
    ig_status status = g && needed ? IG_OK : IG_ERR_MEMORY;
    bool any = false;
    for (int j = k; j < w->n_order && status == IG_OK; j++) {
        const place *p = &w->place[w->order[j]];
        if (!p->made || !p->needed || (w->ends && p->given) || !is_same_call(w, x, p->at))
            continue;
        ig_array **sum = &g[p->at->attr.result]; /* several nodes may be one result */
        *sum = *sum ? ig_add(*sum, p->made) : p->made;
        status = *sum ? IG_OK : error_waiting(IG_ERR_MEMORY);
        any = true;
    }
    if (any && status == IG_OK)
        status = pull_results(w, x, g, needed, g + n);
    memory_free(g);
    memory_free(needed);
    return status;
}

static ig_status backward(walk *w)
{
    for (int k = w->n_order - 1; k >= 0; k--) {
        const place p = w->place[w->order[k]];
        if (is_joint(p.at)) {
            const char *before = array_device_follow(p.at);
            const ig_status status = pull_joint(w, k);
            array_device_set(before);
            TRY(status);
            continue;
        }
        if (!p.made || !p.needed || (w->ends && p.given))
            continue;
        const char *before = array_device_follow(p.at);
        const ig_status status = p.at == p.at->root ? pull_root(w, p.at, p.made)
                                 : p.at->custom     ? pull_custom(w, p.at, p.made)
                                                    : pull_view(w, p.at, p.made);
        array_device_set(before);
        TRY(status);
    }
    return IG_OK;
}

/* ---- public functions ---- */

typedef struct question {
    ig_array *const *y, *const *g, *const *x;
    int n_y, n_x;
    bool ends; /* x are independent, even if one is computed from another */
} question;

static ig_status ask(walk *w, const question *q)
{
    for (int i = 0; i < q->n_x; i++) {
        place *p = walk_put(w, q->x[i]);
        if (!p)
            return IG_ERR_MEMORY;
        p->needed = p->given = true;
    }
    for (int i = 0; i < q->n_y; i++)
        TRY(walk_from(w, q->y[i]));
    for (int i = 0; i < q->n_y; i++) {
        ig_array *to = walk_behind(w, q->y[i]);
        const char *before = array_device_follow(q->y[i]);
        const ig_status status = deliver(w, to, q->y[i], &q->y[i]->view, q->g[i]);
        array_device_set(before);
        TRY(status);
    }
    return backward(w);
}

/* Checks arrays of the caller: not NULL, and floats. */
static ig_status check(const char *who, const char *what, ig_array *const *x, int n)
{
    TRY(require_list(who, what, x, n));
    for (int i = 0; i < n; i++) {
        if (!x[i])
            FAIL(IG_ERR_ARGUMENT, "%s: %s %d is NULL", who, what, i);
        if (!dtype_is_float((ig_dtype)x[i]->dtype) && !array_is_complex(x[i]))
            FAIL(IG_ERR_DTYPE, "%s: %s %d is %s; only floats have gradients: convert with astype",
                 who, what, i, ig_dtype_name((ig_dtype)x[i]->dtype));
    }
    return ig_failed() ? IG_ERR_ARGUMENT : IG_OK;
}

static ig_status check_seeds(ig_array *const *y, ig_array *const *g, int n)
{
    for (int i = 0; i < n; i++)
        if (!view_same_shape(&y[i]->view, &g[i]->view)) {
            char have[400], want[400];
            FAIL(IG_ERR_SHAPE, "vjp: cotangent %d has shape %s, but output %d has %s", i,
                 view_shape_text(g[i]->view.ndim, g[i]->view.shape, have), i,
                 view_shape_text(y[i]->view.ndim, y[i]->view.shape, want));
        }
    return IG_OK;
}

/* Writes the gradients of real arrays to out; NULL for an input that is not reached. */
static ig_status differentiate_real(const question *q, ig_array **out)
{
    walk w = {.gradients = true, .ends = q->ends};
    ig_status status = ask(&w, q);
    for (int i = 0; i < q->n_x; i++) {
        const place *p = status == IG_OK ? walk_find(&w, q->x[i]) : NULL;
        const bool reached = p && p->finished;
        out[i] = reached ? p->made : NULL;
        if (reached && !out[i])
            out[i] = ig_zeros_like(q->x[i], (ig_dtype)q->x[i]->dtype);
        if (reached && !out[i])
            status = IG_ERR_MEMORY;
        if (reached && out[i])
            out[i]->is_fixed = false; /* now the caller holds it */
    }
    walk_free(&w);
    return status;
}

/* The gradient of a complex z = x + iy is dx - i dy, where dx and dy are the gradients of its parts. */
static ig_status differentiate(const question *q, ig_array **out)
{
    if (!complex_any(q->y, q->n_y) && !complex_any(q->x, q->n_x))
        return differentiate_real(q, out);
    const size_t n_y = 2 * (size_t)q->n_y, n_x = 2 * (size_t)q->n_x;
    ig_array **list = memory_get((2 * n_y + 2 * n_x + 1) * sizeof *list);
    if (!list)
        return IG_ERR_MEMORY;
    ig_array **g = list + n_y, **x = g + n_y, **grads = x + n_x;
    question flat = {.y = list, .g = g, .x = x, .ends = q->ends};
    flat.n_y = complex_flatten(q->y, q->n_y, false, list);
    complex_flatten(q->g, q->n_y, true, g);
    flat.n_x = complex_flatten(q->x, q->n_x, false, x);
    const ig_status status = differentiate_real(&flat, grads);
    for (int i = 0, at = 0; i < q->n_x && status == IG_OK;
         i++) /* a part alone may not be reached */
        if (array_is_complex(q->x[i])) {
            for (int k = 0; k < 2; k++)
                if (!grads[at + k] && grads[at + 1 - k])
                    grads[at + k] = ig_zeros_like(grads[at + 1 - k], IG_DTYPE_NONE);
            at += 2;
        } else {
            at++;
        }
    if (status == IG_OK)
        complex_join(q->x, q->n_x, true, grads, out);
    memory_free(list);
    return status;
}

ig_status ig_vjp(ig_array *const *outputs, ig_array *const *cotangents, int n_out,
                 ig_array *const *inputs, int n_in, ig_array **grads)
{
    TRY(require_list("vjp", "grads", grads, n_in));
    TRY(check("vjp", "output", outputs, n_out));
    TRY(check("vjp", "cotangent", cotangents, n_out));
    TRY(check("vjp", "input", inputs, n_in));
    TRY(check_seeds(outputs, cotangents, n_out));
    TRY(differentiate(&(question){outputs, cotangents, inputs, n_out, n_in, false}, grads));
    for (int i = 0; i < n_in; i++)
        if (!grads[i] && !(grads[i] = ig_zeros_like(inputs[i], (ig_dtype)inputs[i]->dtype)))
            return IG_ERR_MEMORY;
    return IG_OK;
}

ig_status grad_of_definition(ig_array *y, ig_array *g, ig_array *const *in, int n, ig_array **grads)
{
    TRY(differentiate(&(question){&y, &g, in, 1, n, true}, grads));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (in[k] == in[i])
                grads[i] = NULL;
    return IG_OK;
}

ig_status ig_grad(ig_array *loss, ig_array *const *params, int n, ig_array **grads)
{
    TRY(check("grad", "the loss, array", &loss, 1));
    TRY(check("grad", "parameter", params, n));
    TRY(require_list("grad", "grads", grads, n));
    if (loss->view.ndim != 0) {
        char have[400];
        FAIL(IG_ERR_SHAPE,
             "grad: the loss has shape %s, but must be a scalar; take its mean or sum",
             view_shape_text(loss->view.ndim, loss->view.shape, have));
    }
    if (array_is_complex(loss))
        FAIL(IG_ERR_DTYPE, "grad: the loss is complex, but must be real; take its abs or real "
                           "part, or use ig_vjp");
    ig_array *one = build_scalar(1, (ig_dtype)loss->dtype);
    if (!one)
        return IG_ERR_MEMORY;
    one->is_fixed = true;
    TRY(differentiate(&(question){&loss, &one, params, 1, n, false}, grads));
    for (int i = 0; i < n; i++)
        if (!grads[i])
            FAIL(IG_ERR_ARGUMENT,
                 "grad: parameter %d does not reach the loss%s; leave it out, or use ig_vjp, which "
                 "gives zeros",
                 i,
                 params[i]->weak ? " (a number without a dtype is copied: use ig_scalar)"
                 : loss->op == ARRAY_DATA
                     ? " (which is a constant: gradients are taken before its scope ends)"
                     : "");
    return IG_OK;
}

/* Sets used[i] if x, which is real, is computed from the real inputs[i]. */
static ig_status depends_on(ig_array *x, ig_array *const *inputs, int n, bool *used)
{
    walk w = {0};
    ig_status status = IG_OK;
    for (int i = 0; i < n && status == IG_OK; i++)
        if (!walk_put(&w, inputs[i]))
            status = IG_ERR_MEMORY;
    if (status == IG_OK)
        status = walk_from(&w, x);
    for (int i = 0; i < n && status == IG_OK; i++)
        used[i] = walk_find(&w, inputs[i])->finished;
    walk_free(&w);
    return status;
}

ig_status ig_depends(ig_array *x, ig_array *const *inputs, int n, bool *used)
{
    TRY(require_pointer("depends", "x", x));
    TRY(require_list("depends", "inputs", inputs, n));
    TRY(require_list("depends", "used", used, n));
    for (int i = 0; i < n; i++) {
        TRY(require_pointer("depends", "an input", inputs[i]));
        ig_array *from[2], *to[2];
        bool found[2] = {false, false};
        const int n_from = complex_flatten(&inputs[i], 1, false, from);
        const int n_to = complex_flatten(&x, 1, false, to);
        used[i] = false;
        for (int k = 0; k < n_to; k++) {
            TRY(depends_on(to[k], from, n_from, found));
            used[i] = used[i] || found[0] || found[1];
        }
    }
    return IG_OK;
}

int op_to_device(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    const char *to = above.device_name(args[1].u.str);
    if (!x)
        return 0;
    if (!to) {
        ig_fail(IG_ERR_DEVICE, "to_device: there is no device '%s' here; see 'ingot devices'",
                args[1].u.str);
        return 0;
    }
    if (x->root->device ? strcmp(x->root->device, to) == 0 : x->root->is_number)
        return op_one(out, array_view(op, x, &x->view));
    const node_attr attr = {.device = to};
    return op_one(out,
                  array_node(op, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x, 1, &attr));
}

/* x, or a copy if it repeats elements: a later view of it must be able to distinguish them, see deliver. */
static ig_array *apart(ig_array *x)
{
    return view_is_injective(&x->view) ? x : build_contiguous(x);
}

ig_array *ig_handle(ig_array *x)
{
    if (require_pointer("handle", "x", x) != IG_OK)
        return NULL;
    if (array_is_complex(x)) {
        const pair p = complex_parts(x);
        return complex_make((pair){ig_handle(p.re), ig_handle(p.im)});
    }
    return ig_broadcast_to(apart(x), ig_shape(x));
}

int op_stop_gradient(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = apart(args[0].u.array);
    return op_one(out, x ? array_view(op, x, &x->view) : NULL);
}

ig_array *ig_custom_grad(ig_array *out, ig_array *const *inputs, int n, ig_pullback rule,
                         void *context, void (*release)(void *context))
{
    const char *const who = "custom_grad";
    bool valid = require_pointer(who, "out", out) == IG_OK &&
                 require_pointer(who, "rule", (const void *)(uintptr_t)rule) == IG_OK &&
                 require_list(who, "inputs", inputs, n) == IG_OK;
    for (int i = 0; valid && i < n; i++)
        valid = require_pointer(who, "an input", inputs[i]) == IG_OK;
    if (!valid) {
        if (release)
            release(context);
        return NULL;
    }
    ig_array *x = apart(out);
    return array_custom(OP_custom, x, inputs, n, (custom){rule, context, release});
}
