/* Building loops: finds what a body reads from outside, leaves out what no step needs, and makes the nodes. */
#include "engine/loops/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/array/shutdown.h"
#include "engine/eval/engine.h"
#include "engine/ops/walk.h"
#include <stdlib.h>
#include <string.h>

/* ---- the struct ---- */

/* Plans of loops that no longer exist. Discarding them needs the engine's lock, which the caller of a release may hold. */
static struct {
    pthread_mutex_t lock;
    loop_plan *first;
} dead = {.lock = PTHREAD_MUTEX_INITIALIZER};

static loop_plan *take_dead(void)
{
    pthread_mutex_lock(&dead.lock);
    loop_plan *first = dead.first;
    dead.first = NULL;
    pthread_mutex_unlock(&dead.lock);
    return first;
}

void loop_sweep(void)
{
    for (loop_plan *p = take_dead(), *next; p; p = next ? next : take_dead()) {
        next = p->next;
        for (int i = 0; i < p->n_body; i++)
            body_plan_free(&p->body[i], p->dev);
        memory_free(p->body);
        memory_free(p);
    }
}

static void sweep_at_end(void)
{
    engine_enter();
    loop_sweep();
    engine_leave();
}

static void destroy(node_kernel *k)
{
    loop *l = (loop *)k;
    loop_plan *last = l->plans;
    while (last && last->next)
        last = last->next;
    if (last) {
        pthread_mutex_lock(&dead.lock);
        last->next = dead.first;
        dead.first = l->plans;
        pthread_mutex_unlock(&dead.lock);
    }
    for (int i = 0; l->body && i < l->n_body; i++)
        body_free(&l->body[i]);
    if (l->forward)
        node_kernel_release(&l->forward->base);
    memory_free(l->body);
    memory_free(l->result);
    memory_free(l->plain);
    memory_free((void *)(uintptr_t)k->key);
    memory_free((void *)(uintptr_t)k->label);
    memory_free(l);
}

loop *loop_new(loop_kind kind, int n_body, int n_result)
{
    static const char *const names[] = {"scan", "while", "switch", "while"};
    loop *l = memory_new(sizeof *l);
    if (!l)
        return NULL;
    *l = (loop){.kind = kind,
                .n_body = n_body,
                .body = memory_new((size_t)(n_body + 1) * sizeof *l->body),
                .result = memory_new((size_t)(n_result + 1) * sizeof *l->result),
                .plain = memory_new((size_t)(n_result + 1) * sizeof *l->plain)};
    l->base = (node_kernel){.destroy = destroy,
                            .name = names[kind],
                            .n_result = n_result,
                            .result = l->plain,
                            .skips = true,
                            .batched = kind == LOOP_BACK ? NULL : loop_batched,
                            .pull = loop_pull,
                            .runner = &loop_runner};
    atomic_init(&l->base.refs, 1);
    shutdown_add(sweep_at_end);
    if (l->body && l->result && l->plain)
        return l;
    node_kernel_release(&l->base);
    return NULL;
}

loop_result loop_result_of(const ig_array *x, int64_t rows)
{
    loop_result r = {.dtype = (ig_dtype)x->dtype};
    if (rows >= 0)
        r.shape[r.ndim++] = rows;
    for (int i = 0; i < x->view.ndim && r.ndim < IG_MAX_NDIM; i++)
        r.shape[r.ndim++] = x->view.shape[i];
    return r;
}

/* Inputs of a body that its plan may overwrite. */
static int n_donated(const loop *l) { return l->n_carry; }

ig_status loop_finish(loop *l)
{
    word_list w = {0};
    text label = {0};
    const int64_t head[10] = {l->kind, l->length,  l->reverse, l->n_head, l->n_carry,
                              l->n_x,  l->n_const, l->n_out,   l->n_body, l->base.n_result};
    ig_status status = word_list_add(&w, head, sizeof head) ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < l->base.n_result; i++) {
        view v;
        view_contiguous(&v, l->result[i].ndim, l->result[i].shape);
        l->plain[i] =
            (node_result){view_size(&v) * (int64_t)ig_dtype_bytes(l->result[i].dtype), -1};
    }
    for (int i = 0; i < l->n_body && status == IG_OK; i++)
        status = body_describe(&l->body[i], n_donated(l), &w);
    if (l->forward && !word_list_add(&w, l->forward->base.key,
                                     (size_t)l->forward->base.n_key * sizeof *l->forward->base.key))
        status = IG_ERR_MEMORY;
    l->base.key = w.at;
    l->base.n_key = w.n;
    if (l->kind == LOOP_SCAN)
        text_add(&label, "scan of %lld steps", (long long)l->length);
    else if (l->kind == LOOP_SWITCH)
        text_add(&label, "switch of %d branches", l->n_body);
    else
        text_add(&label, "while");
    l->base.label = text_take(&label);
    return l->base.label ? status : IG_ERR_MEMORY;
}

ig_array *loop_result_node(const loop *l, int i, ig_array *const *in, int n_in, uint16_t copy)
{
    const loop_result *r = &l->result[i];
    const node_attr attr = {
        .result = i, .copy = copy, .kernel = (node_kernel *)(uintptr_t)&l->base};
    return array_node(OP_kernel, r->dtype, r->ndim, r->shape, in, n_in, &attr);
}

ig_array *loop_rows(ig_array *x, int64_t first, int64_t n)
{
    if (!x)
        return NULL;
    view v = x->view;
    v.offset += first * v.stride[0];
    v.shape[0] = n;
    return array_view(OP_slice, x, &v);
}

/* ---- building ---- */

/* Arrays of the example, what replaces them in the body, and the inputs of the node. */
typedef struct builder {
    const loop_spec *s;
    walk w;
    ig_array **place, **stand; /* replaced arrays, and what replaces them */
    int n_place, room_place, room_stand;
    ig_array **in,
        **operand; /* inputs of the body, among stand; inputs of the node after the head */
    int n_in, room_in, room_operand;
    int *carry; /* for each carry of the example: the carry of the node; -1: no step changes it */
    int n_carry, n_x;
} builder;

static bool replaces(builder *b, ig_array *from, ig_array *stand)
{
    if (!stand || !memory_room(&b->place, b->n_place, &b->room_place, sizeof *b->place) ||
        !memory_room(&b->stand, b->n_place, &b->room_stand, sizeof *b->stand))
        return false;
    b->place[b->n_place] = from;
    b->stand[b->n_place++] = stand;
    return true;
}

ig_array *loop_placeholder(const ig_array *x)
{
    const char *before = array_device_follow(x);
    ig_array *p = ig_placeholder((ig_ints){x->view.shape, x->view.ndim}, (ig_dtype)x->dtype);
    array_device_set(before);
    return p;
}

/* Adds an input of the body: p, and of the node: given. */
static bool takes(builder *b, ig_array *p, ig_array *given)
{
    if (!p || !given || !memory_room(&b->in, b->n_in, &b->room_in, sizeof *b->in) ||
        !memory_room(&b->operand, b->n_in, &b->room_operand, sizeof *b->operand))
        return false;
    b->in[b->n_in] = p;
    b->operand[b->n_in++] = given;
    return true;
}

static bool add_input(builder *b, int i)
{
    ig_array *p = loop_placeholder(b->s->in[i]);
    return replaces(b, b->s->in[i], p) && takes(b, p, b->s->operand[i]);
}

/* A number that can be part of the body: it has no gradient. */
static bool is_plain_number(const ig_array *x)
{
    return x == x->root && x->is_number && x->data &&
           (x->is_fixed || x->weak || !dtype_is_float((ig_dtype)x->dtype));
}

static ig_array *number_again(const ig_array *x)
{
    ig_array *n = array_number((ig_dtype)x->dtype, &x->number);
    if (n)
        n->is_fixed = true;
    return n;
}

/* True if both see the same elements of the same array, so gradients of both go the same way. */
static bool is_same_view(const ig_array *x, const ig_array *y)
{
    return x == y ||
           (x != x->root && y != y->root && x->n_in == 1 && y->n_in == 1 && !x->custom &&
            !y->custom && x->op == y->op && x->in[0] == y->in[0] && view_equal(&x->view, &y->view));
}

/* The axes of x in the order of memory, without those along which it repeats: then x is usually contiguous. order: for each
 * axis of the result, the axis of x. */
static ig_array *in_memory_order(ig_array *x, int *order)
{
    view v = x->view;
    v.ndim = 0;
    for (int i = 0; i < x->view.ndim; i++) {
        if (x->view.stride[i] == 0 && x->view.shape[i] != 1)
            continue;
        int at = v.ndim++;
        for (; at > 0 && llabs(x->view.stride[order[at - 1]]) < llabs(x->view.stride[i]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < v.ndim; i++) {
        v.shape[i] = x->view.shape[order[i]];
        v.stride[i] = x->view.stride[order[i]];
    }
    return view_equal(&v, &x->view) ? x : array_view(OP_permute_dims, x, &v);
}

/* The inverse, in the body: p, which stands for in_memory_order(x), seen as x. */
static ig_array *in_axis_order(ig_array *p, const ig_array *x, const int *order)
{
    view v = x->view;
    if (!p)
        return NULL;
    v.offset = 0;
    for (int i = 0; i < v.ndim; i++)
        v.stride[i] = 0;
    for (int i = 0; i < p->view.ndim; i++)
        v.stride[order[i]] = p->view.stride[i];
    return view_equal(&v, &p->view) ? p : array_view(OP_permute_dims, p, &v);
}

/* The body reads x from outside. */
static ig_status capture(builder *b, ig_array *x)
{
    int order[IG_MAX_NDIM];
    for (int i = 0; i < b->n_place; i++) {
        if (b->place[i] == x)
            return IG_OK;
        if (is_same_view(b->place[i], x))
            return replaces(b, x, b->stand[i]) ? IG_OK : IG_ERR_MEMORY;
    }
    if (is_plain_number(x))
        return replaces(b, x, number_again(x)) ? IG_OK : error_waiting(IG_ERR_MEMORY);
    ig_array *given = in_memory_order(x, order), *p = given ? loop_placeholder(given) : NULL;
    return takes(b, p, given) && replaces(b, x, in_axis_order(p, x, order))
               ? IG_OK
               : error_waiting(IG_ERR_MEMORY);
}

/* Captures the inputs of node x that do not depend on the inputs of the body. A read by index reaches elements outside of
 * the view of its table, and its step is one of the table's root, so the body gets the root. */
static ig_status capture_inputs(builder *b, ig_array *x)
{
    if (x->op == OP_to_device || x->attr.source)
        FAIL(IG_ERR_UNSUPPORTED, "%s: the body cannot %s; do it before the loop",
             b->s->kind == LOOP_SWITCH ? "switch" : "loop",
             x->attr.source ? "read arrays block by block" : "move an array to another device");
    for (int i = edge_first(&b->w, x); i < edge_end(&b->w, x); i++)
        if (!walk_find(&b->w, edge_to(&b->w, x, i))->needed)
            TRY(capture(b, x->op == OP_read && i == 1 ? x->in[i]->root : x->in[i]));
    return IG_OK;
}

/* True if a step returns the carry, or another handle of it. */
static bool is_unchanged(const loop_spec *s, int carry)
{
    const ig_array *in = s->in[carry], *out = s->out[carry];
    const bool again = out->root == in && out->in[0] == in && out->op != OP_stop_gradient &&
                       !out->custom && view_equal(&out->view, &in->view);
    return s->kind != LOOP_SWITCH && (out == in || again);
}

/* Inputs are carries, rows of xs, and constants. Those that nothing reads are left out, except carries. */
static ig_status find_inputs(builder *b)
{
    const loop_spec *s = b->s;
    const int n = s->n_carry + s->n_x + s->n_given;
    b->carry = memory_new((size_t)(s->n_carry + 1) * sizeof *b->carry);
    if (!b->carry)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        place *p = walk_put(&b->w, s->in[i]);
        if (!p)
            return IG_ERR_MEMORY;
        p->given = p->needed = true;
    }
    for (int i = 0; i < s->n_body * s->n_out; i++)
        TRY(walk_from(&b->w, s->out[i]));
    bool ok = true;
    for (int i = 0; i < s->n_carry && ok; i++) {
        b->carry[i] = is_unchanged(s, i) ? -1 : b->n_carry++;
        ok = b->carry[i] < 0 || add_input(b, i);
    }
    for (int pass = 0; pass < 2; pass++) /* xs, then constants */
        for (int i = 0; i < n && ok; i++) {
            const bool row = i >= s->n_carry && i < s->n_carry + s->n_x;
            const bool constant = i >= s->n_carry + s->n_x || (i < s->n_carry && b->carry[i] < 0);
            if ((pass ? constant : row) && walk_find(&b->w, s->in[i])->finished) {
                b->n_x += row;
                ok = add_input(b, i);
            }
        }
    for (int k = 0; k < b->w.n_order && ok; k++) {
        const place p = b->w.place[b->w.order[k]];
        if (p.needed && !p.given)
            TRY(capture_inputs(b, p.at));
    }
    for (int i = 0; i < s->n_body * s->n_out && ok; i++)
        if (!walk_find(&b->w, walk_behind(&b->w, s->out[i]))->needed)
            TRY(capture(b, s->out[i]));
    return ok ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* The results of the nth body: first the carries that change, then the others. */
static int body_outputs(const builder *b, int nth, ig_array **out)
{
    const loop_spec *s = b->s;
    int n = 0;
    for (int i = 0; i < s->n_out; i++)
        if (s->kind == LOOP_SWITCH || i >= s->n_carry || b->carry[i] >= 0)
            out[n++] = s->out[nth * s->n_out + i];
    return n;
}

static ig_status fill(builder *b, loop *l, ig_array **out)
{
    const loop_spec *s = b->s;
    const bool scans = s->kind == LOOP_SCAN;
    l->length = s->length;
    l->reverse = s->reverse;
    l->n_head = s->head != NULL;
    l->n_carry = b->n_carry;
    l->n_x = b->n_x;
    l->n_const = b->n_in - b->n_carry - b->n_x;
    l->n_out = s->kind == LOOP_WHILE ? 0 : s->n_out - (scans ? s->n_carry : 0);
    for (int i = 0; i < s->n_body; i++) {
        const int n = body_outputs(b, i, out);
        TRY(body_make(&l->body[i], b->in, b->n_in, b->place, b->stand, b->n_place, out, n));
    }
    for (int i = 0; i < l->n_carry; i++) {
        l->result[i] = loop_result_of(b->in[i], -1);
        if (scans)
            l->result[l->n_carry + l->n_out + i] = loop_result_of(b->in[i], s->length + 1);
    }
    for (int i = 0; i < l->n_out; i++)
        l->result[l->n_carry + i] =
            loop_result_of(l->body[0].out[l->n_carry + i], scans ? s->length : -1);
    return loop_finish(l);
}

/* The results of the node, and of carries that no step changes. */
static ig_status take_results(const builder *b, const loop *l, ig_array **results, ig_array **saved)
{
    const loop_spec *s = b->s;
    const int n_in = l->n_head + b->n_in;
    ig_array **in = memory_get((size_t)(n_in + 1) * sizeof *in);
    if (!in)
        return IG_ERR_MEMORY;
    in[0] = s->head;
    for (int i = 0; i < b->n_in; i++)
        in[l->n_head + i] = b->operand[i];
    bool ok = true;
    for (int i = 0; i < s->n_carry && ok; i++) {
        const int carry = b->carry[i], kept = l->n_carry + l->n_out + carry;
        results[i] = carry < 0 ? s->operand[i] : loop_result_node(l, carry, in, n_in, 0);
        if (saved) {
            const loop_result all = loop_result_of(s->operand[i], s->length + 1);
            saved[i] = carry < 0 ? ig_broadcast_to(s->operand[i], (ig_ints){all.shape, all.ndim})
                                 : loop_result_node(l, kept, in, n_in, 0);
        }
        ok = results[i] && (!saved || saved[i]);
    }
    for (int i = 0; i < l->n_out && ok; i++) {
        results[s->n_carry + i] = loop_result_node(l, l->n_carry + i, in, n_in, 0);
        ok = results[s->n_carry + i] != NULL;
    }
    memory_free(in);
    return ok ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status build(const loop_spec *s, ig_array **results, ig_array **saved)
{
    builder b = {.s = s, .w = {.ends = true}};
    ig_array **out = memory_get((size_t)(s->n_out + 1) * sizeof *out);
    loop *l = NULL;
    ig_status status = out ? find_inputs(&b) : IG_ERR_MEMORY;
    if (status == IG_OK) {
        const int others =
            s->kind == LOOP_WHILE ? 0 : s->n_out - (s->kind == LOOP_SCAN ? s->n_carry : 0);
        const int kept = s->kind == LOOP_SCAN ? b.n_carry : 0;
        l = loop_new(s->kind, s->n_body, b.n_carry + others + kept);
        status = l ? fill(&b, l, out) : IG_ERR_MEMORY;
    }
    if (status == IG_OK)
        status = take_results(&b, l, results, saved);
    if (l)
        node_kernel_release(&l->base);
    walk_free(&b.w);
    memory_free(b.place);
    memory_free(b.stand);
    memory_free(b.in);
    memory_free(b.operand);
    memory_free(b.carry);
    memory_free(out);
    return status;
}

ig_status loop_build(const loop_spec *s, ig_array **results, ig_array **saved)
{
    loop_spec whole = *s;
    ig_array **lists;
    ig_status status = loop_hoist(&whole, &lists);
    if (status == IG_OK)
        status = build(&whole, results, saved);
    memory_free(lists);
    return status;
}
