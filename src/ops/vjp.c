/* Reverse mode: the graph behind the results is walked from its end, and at each node the gradient so
 * far is handed to the node's rule, which hands gradients on to the inputs.
 *
 * A place is where gradients come together: a root, or a view that has a name of its own here, being
 * an input that the caller asks about, a stop_gradient or a custom gradient. All other views only
 * say which elements of a place are meant. */
#include "base/error.h"
#include "base/memory.h"
#include "ops/grad.h"
#include "ops/rows.h"
#include <string.h>

typedef struct place {
    ig_array *at;
    ig_array *g;   /* the sum so far; NULL is zero */
    int next;      /* edge to look at, while the walk is on it */
    bool needed;   /* it is asked about, or something behind it is */
    bool finished; /* all behind it is known */
} place;

typedef struct tape {
    place *place;
    int n, room;
    int *slot; /* hash table of places by address; -1: free */
    size_t slots;
    int *order, *stack; /* places; inputs first */
    int n_order;
} tape;

/* ---- places ---- */

static size_t slot_of(const tape *t, const ig_array *x)
{
    size_t h = (size_t)((uintptr_t)x >> 4) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) & (t->slots - 1);
    while (t->slot[h] >= 0 && t->place[t->slot[h]].at != x)
        h = (h + 1) & (t->slots - 1);
    return h;
}

static int place_find(const tape *t, const ig_array *x) { return t->slot[slot_of(t, x)]; }

/* Twice the room for places; hashes them anew. */
static ig_status tape_grow(tape *t)
{
    const int room = t->room ? 2 * t->room : 64;
    place *p = memory_resize(t->place, (size_t)room * sizeof *p);
    t->place = p ? p : t->place;
    int *order = memory_resize(t->order, (size_t)room * sizeof *order);
    t->order = order ? order : t->order;
    int *stack = memory_resize(t->stack, (size_t)room * sizeof *stack);
    t->stack = stack ? stack : t->stack;
    int *slot = memory_resize(t->slot, 4 * (size_t)room * sizeof *slot);
    t->slot = slot ? slot : t->slot;
    if (!p || !order || !stack || !slot)
        return IG_ERR_MEMORY;
    t->room = room;
    t->slots = 4 * (size_t)room;
    memset(t->slot, -1, t->slots * sizeof *t->slot);
    for (int i = 0; i < t->n; i++)
        t->slot[slot_of(t, t->place[i].at)] = i;
    return IG_OK;
}

/* The place of x, new if there is none; -1: failed. */
static int place_of(tape *t, ig_array *x)
{
    if (t->n == t->room && tape_grow(t) != IG_OK)
        return -1;
    const size_t h = slot_of(t, x);
    if (t->slot[h] < 0) {
        t->place[t->n] = (place){.at = x};
        t->slot[h] = t->n++;
    }
    return t->slot[h];
}

static void tape_free(tape *t)
{
    memory_free(t->place);
    memory_free(t->order);
    memory_free(t->stack);
    memory_free(t->slot);
}

/* ---- edges: from a place to what it was made of ---- */

static bool is_boundary(const ig_array *x)
{
    return x->op == OP_stop_gradient || x->op == OP_custom;
}

/* The place whose elements x sees: x itself if it is one. */
static ig_array *place_behind(const tape *t, ig_array *x)
{
    while (x != x->root && !is_boundary(x) && place_find(t, x) < 0)
        x = x->in[0];
    return x;
}

/* A root depends on its inputs, a custom gradient on those that it names, which follow its
 * definition, and any other view on what it was made of. */
static int edge_first(const ig_array *x) { return x != x->root && x->op == OP_custom; }

static int edge_end(const ig_array *x)
{
    return x != x->root && x->op == OP_stop_gradient ? 0 : x->n_in;
}

/* The place at the i-th edge of x; NULL if it has no gradient. */
static ig_array *edge_to(const tape *t, const ig_array *x, int i)
{
    ig_array *y = x->in[i];
    return dtype_is_float((ig_dtype)y->dtype) ? place_behind(t, y) : NULL;
}

/* ---- forward: which places there are, and which lead to what is asked for ---- */

static ig_status visit(tape *t, ig_array *from)
{
    int depth = 0, at = place_of(t, from);
    if (at < 0)
        return IG_ERR_MEMORY;
    if (!t->place[at].finished)
        t->stack[depth++] = at;
    while (depth) {
        at = t->stack[depth - 1];
        const ig_array *x = t->place[at].at;
        const int i = edge_first(x) + t->place[at].next;
        if (i >= edge_end(x)) {
            t->place[at].finished = true;
            t->order[t->n_order++] = at;
            depth--;
            continue;
        }
        ig_array *to = edge_to(t, x, i);
        const int next = to ? place_of(t, to) : 0;
        if (next < 0)
            return IG_ERR_MEMORY;
        if (to && !t->place[next].finished) {
            t->stack[depth++] = next;
            continue;
        }
        t->place[at].needed = t->place[at].needed || (to && t->place[next].needed);
        t->place[at].next++;
    }
    return IG_OK;
}

/* ---- backward ---- */

/* Adds d, the gradient of what x sees through seen, to the place behind x. */
static ig_status deliver(tape *t, ig_array *to, const ig_array *x, const view *seen, ig_array *d)
{
    if (!d)
        return ig_failed() ? IG_ERR_ARGUMENT : IG_OK;
    if (!view_equal(seen, &to->view)) {
        if (!view_is_injective(&to->view))
            FAIL(IG_ERR_UNSUPPORTED,
                 "grad: an array to differentiate by repeats elements (a broadcast), and is used "
                 "through another view of it; differentiate by the array that it repeats");
        d = grad_unview(d, x, seen);
        if (d && to != to->root)
            d = grad_see(d, &to->view);
    }
    place *p = &t->place[place_find(t, to)];
    d = build_cast(d, (ig_dtype)to->dtype);
    p->g = p->g ? ig_add(p->g, d) : d;
    return p->g ? IG_OK : IG_ERR_ARGUMENT;
}

static bool edge_needed(const tape *t, const ig_array *to)
{
    return to && t->place[place_find(t, to)].needed;
}

static ig_status pull_root(tape *t, ig_array *node, ig_array *g)
{
    const grad_rule rule = grad_rule_of(node);
    for (int i = 0; i < node->n_in; i++) {
        ig_array *to = edge_to(t, node, i);
        if (!edge_needed(t, to))
            continue;
        if (!rule)
            FAIL(IG_ERR_UNSUPPORTED,
                 "grad: %s has no derivative; pass its input through stop_gradient if it is meant "
                 "as a constant",
                 op_rows[node->op].name);
        pull p = {node, g, node->in[i]->view};
        ig_array *d = rule(&p, i);
        TRY(deliver(t, to, node->in[i], &p.seen, d));
    }
    return IG_OK;
}

static ig_status pull_custom(tape *t, ig_array *x, ig_array *g)
{
    const int n = x->n_in - 1;
    ig_array **d = memory_new((size_t)n * sizeof *d);
    if (n && !d)
        return IG_ERR_MEMORY;
    ig_status status = x->custom->pull(x->custom->context, x->in + 1, n, x, g, d);
    if (status != IG_OK)
        ig_fail(status, "grad: a custom gradient failed without saying why");
    for (int i = 0; i < n && status == IG_OK; i++) {
        ig_array *y = x->in[1 + i], *to = edge_to(t, x, 1 + i);
        if (d[i] && !view_same_shape(&d[i]->view, &y->view)) {
            char have[400], want[400];
            status = ig_fail(IG_ERR_SHAPE,
                             "grad: a custom gradient gave shape %s for input %d of shape %s",
                             view_shape_text(d[i]->view.ndim, d[i]->view.shape, have), i,
                             view_shape_text(y->view.ndim, y->view.shape, want));
        } else if (edge_needed(t, to)) {
            status = deliver(t, to, y, &y->view, d[i]);
        }
    }
    memory_free(d);
    return status;
}

static ig_status backward(tape *t)
{
    for (int k = t->n_order - 1; k >= 0; k--) {
        const place p = t->place[t->order[k]];
        if (!p.g || !p.needed)
            continue;
        if (p.at == p.at->root) {
            TRY(pull_root(t, p.at, p.g));
        } else if (p.at->op == OP_custom) {
            TRY(pull_custom(t, p.at, p.g));
        } else {
            ig_array *to = edge_end(p.at) ? edge_to(t, p.at, 0) : NULL;
            if (edge_needed(t, to))
                TRY(deliver(t, to, p.at->in[0], &p.at->view, p.g));
        }
    }
    return IG_OK;
}

/* ---- from outside ---- */

typedef struct question {
    ig_array *const *y, *const *g, *const *x;
    int n_y, n_x;
} question;

static ig_status ask(tape *t, const question *q)
{
    for (int i = 0; i < q->n_x; i++) {
        const int at = place_of(t, q->x[i]);
        if (at < 0)
            return IG_ERR_MEMORY;
        t->place[at].needed = true;
    }
    for (int i = 0; i < q->n_y; i++)
        TRY(visit(t, place_behind(t, q->y[i])));
    for (int i = 0; i < q->n_y; i++) {
        ig_array *to = place_behind(t, q->y[i]);
        TRY(deliver(t, to, q->y[i], &q->y[i]->view, q->g[i]));
    }
    return backward(t);
}

/* Whatever is wrong with the arrays that are given. */
static ig_status check(const char *who, const char *what, ig_array *const *x, int n)
{
    for (int i = 0; i < n; i++) {
        if (!x[i]) {
            ig_fail(IG_ERR_ARGUMENT, "%s: %s %d is NULL", who, what, i);
            return IG_ERR_ARGUMENT;
        }
        if (!dtype_is_float((ig_dtype)x[i]->dtype))
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

/* The gradients into out; of an input that is not reached: NULL. */
static ig_status differentiate(const question *q, ig_array **out)
{
    tape t = {0};
    ig_status status = ask(&t, q);
    for (int i = 0; i < q->n_x; i++) {
        const int at = status == IG_OK ? place_find(&t, q->x[i]) : -1;
        const bool reached = at >= 0 && t.place[at].finished;
        out[i] = !reached ? NULL
                 : t.place[at].g
                     ? t.place[at].g
                     : ig_zeros(ig_shape(q->x[i]), (ig_dtype)q->x[i]->dtype);
        if (reached && !out[i])
            status = IG_ERR_MEMORY;
    }
    tape_free(&t);
    return status;
}

ig_status ig_vjp(ig_array *const *outputs, ig_array *const *cotangents, int n_out,
                 ig_array *const *inputs, int n_in, ig_array **grads)
{
    TRY(check("vjp", "output", outputs, n_out));
    TRY(check("vjp", "cotangent", cotangents, n_out));
    TRY(check("vjp", "input", inputs, n_in));
    TRY(check_seeds(outputs, cotangents, n_out));
    TRY(differentiate(&(question){outputs, cotangents, inputs, n_out, n_in}, grads));
    for (int i = 0; i < n_in; i++)
        if (!grads[i] && !(grads[i] = ig_zeros(ig_shape(inputs[i]), (ig_dtype)inputs[i]->dtype)))
            return IG_ERR_MEMORY;
    return IG_OK;
}

ig_status ig_grad(ig_array *loss, ig_array *const *params, int n, ig_array **grads)
{
    TRY(check("grad", "the loss, array", &loss, 1));
    TRY(check("grad", "parameter", params, n));
    if (loss->view.ndim != 0) {
        char have[400];
        FAIL(IG_ERR_SHAPE, "grad: the loss has shape %s, but must be a scalar; take its mean or sum",
             view_shape_text(loss->view.ndim, loss->view.shape, have));
    }
    ig_array *one = build_scalar(1, (ig_dtype)loss->dtype);
    if (!one)
        return IG_ERR_MEMORY;
    TRY(differentiate(&(question){&loss, &one, params, 1, n}, grads));
    for (int i = 0; i < n; i++)
        if (!grads[i])
            FAIL(IG_ERR_ARGUMENT,
                 "grad: parameter %d does not reach the loss%s; leave it out, or use ig_vjp, which "
                 "gives zeros",
                 i, params[i]->weak ? " (a number without a dtype is copied: use ig_scalar)"
                    : loss->op == ARRAY_DATA
                        ? " (which is a constant: gradients are taken before its scope ends)"
                        : "");
    return IG_OK;
}

ig_status ig_value_and_grad(ig_array *loss, ig_array *const *params, int n, double *value,
                            ig_array **grads)
{
    TRY(ig_grad(loss, params, n, grads));
    ig_array **all = memory_get((size_t)(n + 1) * sizeof *all);
    if (!all)
        return IG_ERR_MEMORY;
    memcpy(all, grads, (size_t)n * sizeof *all);
    all[n] = loss;
    ig_status status = ig_eval(all, n + 1);
    memory_free(all);
    if (status == IG_OK)
        *value = ig_item(loss);
    return status;
}

int op_stop_gradient(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    /* What sees it later must be able to tell its elements from each other: see deliver. */
    x = view_is_injective(&x->view) ? x : build_contiguous(x);
    return op_one(out, x ? array_view(op, x, &x->view) : NULL);
}

ig_array *ig_custom_grad(ig_array *out, ig_array *const *inputs, int n, ig_pullback rule,
                         void *context, void (*release)(void *context))
{
    ig_array *x = out && !view_is_injective(&out->view) ? build_contiguous(out) : out;
    return array_custom(OP_custom, x, inputs, n, (custom){rule, context, release});
}
