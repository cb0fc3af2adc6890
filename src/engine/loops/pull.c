/* Gradients of loops, as loops.
 *
 * scan     A scan in the opposite direction. Its carries are the gradients of the carries, and of the constants so far. A step
 *          reads the carries before and after the step, which the node saves, and computes the rest again.
 * switch   A switch over the gradients of the branches.
 * while    Reverse mode would need all carries, but their number is not known. The gradient is a node that cannot be
 *          computed (LOOP_BACK), but is linear in the gradients of the results. So it can be differentiated by these: that is
 *          the derivative along a direction (jvp), a while loop over the carries and their derivatives. */
#include "engine/loops/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/grad.h"
#include "engine/ops/ops.h"
#include <string.h>

static bool is_float(const ig_array *x) { return dtype_is_float((ig_dtype)x->dtype); }

static ig_array *zeros_like(const ig_array *x)
{
    return ig_zeros((ig_ints){x->view.shape, x->view.ndim}, (ig_dtype)x->dtype);
}

/* ---- lists of arrays for a loop_spec ---- */

typedef struct pairs {
    ig_array **in, **operand; /* of one size */
    int n, room, room_operand;
    bool failed;
} pairs;

static void pairs_add(pairs *p, ig_array *in, ig_array *given)
{
    p->failed = p->failed || !in || !given || !memory_room(&p->in, p->n, &p->room, sizeof *p->in) ||
                !memory_room(&p->operand, p->n, &p->room_operand, sizeof *p->operand);
    if (p->failed)
        return;
    p->in[p->n] = in;
    p->operand[p->n++] = given;
}

static void pairs_free(pairs *p)
{
    memory_free(p->in);
    memory_free(p->operand);
}

/* ---- scan ---- */

/* The gradient of a scan while it is built. */
typedef struct scan_back {
    const loop *l;
    ig_array *node, *const *g;
    const bool *needed;
    int64_t before,
        after; /* the first rows of what is saved that are carries before, and after, the steps */
    pairs all; /* carries, then xs, then constants */
    int n_carry, n_x;
    ig_array **list;                           /* memory for the lists below */
    ig_array **out, **cotangent, **by, **grad; /* for ig_vjp */
    int n_out, n_by;
    ig_array **result; /* of a step; then of the loop */
    int n_result;
} scan_back;

static ig_array *saved(const scan_back *b, int carry, int64_t first)
{
    const loop *l = b->l;
    return loop_rows(loop_result_node(l, l->n_carry + l->n_out + carry, b->node->in, b->node->n_in,
                                      b->node->attr.copy),
                     first, l->length);
}

static int constant_of(const loop *l, int i) { return l->n_carry + l->n_x + i; }

static bool needs_constant(const scan_back *b, int i)
{
    const int at = constant_of(b->l, i);
    return b->needed[at] && is_float(b->l->body[0].in[at]);
}

static bool needs_row(const scan_back *b, int i)
{
    return b->needed[b->l->n_carry + i] && is_float(b->l->body[0].in[b->l->n_carry + i]);
}

/* Adds out, a result of a step, to the results to differentiate. */
static void ask(scan_back *b, ig_array *out, ig_array *cotangent)
{
    b->out[b->n_out] = out;
    b->cotangent[b->n_out++] = cotangent;
    b->all.failed = b->all.failed || !cotangent;
}

/* Carries of the loop: the gradient of each float carry, and of each constant so far. */
static void add_carries(scan_back *b)
{
    const loop *l = b->l;
    const body *step = &l->body[0];
    for (int i = 0; i < l->n_carry; i++)
        if (is_float(step->in[i]))
            pairs_add(&b->all, loop_placeholder(step->in[i]),
                      b->g[i] ? b->g[i] : zeros_like(step->in[i]));
    for (int i = 0; i < l->n_const; i++)
        if (needs_constant(b, i)) {
            const ig_array *k = step->in[constant_of(l, i)];
            pairs_add(&b->all, loop_placeholder(k), zeros_like(k));
        }
    b->n_carry = b->all.n;
}

/* Rows: gradients of ys and of what is saved; then the inputs and results of the step. */
static void add_rows(scan_back *b)
{
    const loop *l = b->l;
    const body *step = &l->body[0];
    for (int i = 0, carry = 0; i < l->n_carry; i++) {
        ig_array *g = b->g[l->n_carry + l->n_out + i];
        if (!is_float(step->in[i]) || b->all.failed)
            continue;
        ig_array *d = b->all.in[carry++];
        if (g) {
            ig_array *row = loop_placeholder(step->in[i]);
            pairs_add(&b->all, row, loop_rows(g, b->after, l->length));
            d = ig_add(d, row);
        }
        ask(b, step->out[i], d);
    }
    for (int i = l->n_carry; i < l->n_carry + l->n_out; i++)
        if (b->g[i] && is_float(step->out[i])) {
            ig_array *row = loop_placeholder(step->out[i]);
            pairs_add(&b->all, row, b->g[i]);
            ask(b, step->out[i], row);
        }
    for (int i = 0; i < l->n_carry; i++)
        pairs_add(&b->all, step->in[i], saved(b, i, b->before));
    for (int i = l->n_carry; i < l->n_carry + l->n_x; i++)
        pairs_add(&b->all, step->in[i], b->node->in[i]);
}

/* A result of the step that is known, so that it need not be computed again: a node, and none of the inputs. */
static bool is_known(const body *step, int i)
{
    bool known = step->out[i] == step->out[i]->root && step->out[i]->n_in;
    for (int k = 0; k < i && known; k++)
        known = step->out[k] != step->out[i];
    return known;
}

/* Reads the carries after the step, and its ys, instead of computing them. */
static ig_status use_results(scan_back *b)
{
    const loop *l = b->l;
    const body *step = &l->body[0];
    const int n = l->n_carry + l->n_out;
    ig_array **from = memory_get((size_t)(2 * n + 1) * sizeof *from), **to = from + n;
    int n_known = 0;
    if (!from)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        if (!is_known(step, i))
            continue;
        ig_array *row = loop_placeholder(step->out[i]);
        pairs_add(&b->all, row,
                  i < l->n_carry
                      ? saved(b, i, b->after)
                      : loop_result_node(l, i, b->node->in, b->node->n_in, b->node->attr.copy));
        from[n_known] = step->out[i];
        to[n_known++] = row;
    }
    ig_status status = b->all.failed ? error_waiting(IG_ERR_MEMORY) : IG_OK;
    if (status == IG_OK && n_known)
        status = replay_with(b->result, b->n_result, from, to, n_known, b->result);
    memory_free(from);
    b->n_x = b->all.n - b->n_carry;
    return status;
}

/* The results of a step: gradients of its carries, of constants so far, and of its rows. */
static ig_status differentiate(scan_back *b)
{
    const loop *l = b->l;
    const body *step = &l->body[0];
    for (int i = 0; i < step->n_in; i++) {
        const bool asked = i < l->n_carry            ? is_float(step->in[i])
                           : i < l->n_carry + l->n_x ? needs_row(b, i - l->n_carry)
                                                     : needs_constant(b, i - constant_of(l, 0));
        if (asked)
            b->by[b->n_by++] = step->in[i];
    }
    TRY(ig_vjp(b->out, b->cotangent, b->n_out, b->by, b->n_by, b->grad));
    int at = 0, rows = 0, carries = 0;
    ig_array **row = b->result + b->n_by; /* after the results */
    for (int i = 0; i < step->n_in; i++) {
        if (at == b->n_by || b->by[at] != step->in[i])
            continue;
        ig_array *d = b->grad[at++];
        if (i >= l->n_carry && i < l->n_carry + l->n_x) {
            row[rows++] = d;
            continue;
        }
        if (i >= l->n_carry)
            d = ig_add(b->all.in[carries], d);
        b->result[carries++] = d;
    }
    for (int i = 0; i < rows; i++)
        b->result[carries + i] = row[i];
    b->n_result = carries + rows;
    for (int i = 0; i < b->n_result; i++)
        if (!b->result[i])
            return error_waiting(IG_ERR_MEMORY);
    return IG_OK;
}

static ig_status take_scan(const scan_back *b, ig_array **grads)
{
    const loop *l = b->l;
    int at = 0;
    for (int i = 0; i < l->n_carry; i++)
        if (is_float(l->body[0].in[i])) {
            ig_array *g = b->g[l->n_carry + l->n_out + i];
            const int64_t first = l->reverse ? l->length : 0;
            grads[i] = b->result[at++];
            if (g)
                grads[i] = ig_add(grads[i],
                                  ig_reshape(loop_rows(g, first, 1), ig_shape(l->body[0].in[i])));
        }
    for (int i = 0; i < l->n_const; i++)
        if (needs_constant(b, i))
            grads[constant_of(l, i)] = b->result[at++];
    for (int i = 0; i < l->n_x; i++)
        if (needs_row(b, i))
            grads[l->n_carry + i] = b->result[at++];
    return IG_OK;
}

static ig_status pull_scan(const loop *l, ig_array *node, ig_array *const *g, const bool *needed,
                           ig_array **grads)
{
    const body *step = &l->body[0];
    const size_t n = (size_t)(step->n_in + step->n_out + 1);
    scan_back b = {
        .l = l, .node = node, .g = g, .needed = needed, .before = l->reverse, .after = !l->reverse};
    if (!(b.list = memory_new(6 * n * sizeof *b.list)))
        return IG_ERR_MEMORY;
    b.out = b.list;
    b.cotangent = b.out + n;
    b.by = b.cotangent + n;
    b.grad = b.by + n;
    b.result = b.grad + n; /* 2 n */
    add_carries(&b);
    add_rows(&b);
    ig_status status = b.all.failed ? error_waiting(IG_ERR_MEMORY) : differentiate(&b);
    if (status == IG_OK)
        status = use_results(&b);
    for (int i = 0; i < l->n_const; i++)
        pairs_add(&b.all, step->in[constant_of(l, i)], node->in[constant_of(l, i)]);
    if (status == IG_OK && b.all.failed)
        status = error_waiting(IG_ERR_MEMORY);
    const loop_spec spec = {.kind = LOOP_SCAN,
                            .length = l->length,
                            .reverse = !l->reverse,
                            .in = b.all.in,
                            .operand = b.all.operand,
                            .n_carry = b.n_carry,
                            .n_x = b.n_x,
                            .n_given = b.all.n - b.n_carry - b.n_x,
                            .out = b.result,
                            .n_body = 1,
                            .n_out = b.n_result};
    if (status == IG_OK && b.n_out)
        status = loop_build(&spec, b.result, NULL);
    if (status == IG_OK && b.n_out)
        status = take_scan(&b, grads);
    pairs_free(&b.all);
    memory_free(b.list);
    return status;
}

/* ---- switch ---- */

static ig_status pull_switch(const loop *l, ig_array *node, ig_array *const *g, const bool *needed,
                             ig_array **grads)
{
    const int n_in = l->n_const, n_out = l->n_out;
    pairs all = {0};
    ig_array **list =
        memory_new((size_t)(l->n_body * n_in + 3 * n_in + 3 * n_out + 1) * sizeof *list);
    ig_array **result = list, **by = list + (l->n_body + 1) * n_in, **out = by + n_in,
             **seed = out + n_out, **made = seed + n_out;
    if (!list)
        return IG_ERR_MEMORY;
    int n_by = 0, n_seed = 0;
    for (int i = 0; i < n_out; i++)
        if (g[i]) {
            seed[n_seed] = loop_placeholder(l->body[0].out[i]);
            pairs_add(&all, seed[n_seed++], g[i]);
        }
    for (int i = 0; i < n_in; i++)
        pairs_add(&all, l->body[0].in[i], node->in[1 + i]);
    ig_status status = all.failed ? error_waiting(IG_ERR_MEMORY) : IG_OK;
    for (int i = 0; i < n_in; i++)
        if (needed[1 + i] && is_float(l->body[0].in[i]))
            by[n_by++] = l->body[0].in[i];
    for (int k = 0; k < l->n_body && status == IG_OK && n_by; k++) {
        for (int i = 0, at = 0; i < n_out; i++)
            if (g[i])
                out[at++] = l->body[k].out[i];
        status = ig_vjp(out, seed, n_seed, by, n_by, result + k * n_by);
    }
    const loop_spec spec = {.kind = LOOP_SWITCH,
                            .head = node->in[0],
                            .in = all.in,
                            .operand = all.operand,
                            .n_given = all.n,
                            .out = result,
                            .n_body = l->n_body,
                            .n_out = n_by};
    if (status == IG_OK && n_by)
        status = loop_build(&spec, made, NULL);
    for (int i = 0, at = 0; i < n_in && status == IG_OK; i++)
        if (needed[1 + i] && is_float(l->body[0].in[i]))
            grads[1 + i] = made[at++];
    pairs_free(&all);
    memory_free(list);
    return status;
}

/* ---- while ---- */

/* The node LOOP_BACK. Its inputs are the inputs of the loop, then the gradients of its float carries. Its results are the
 * gradients of the float carries before the loop, then of the float constants. */
static ig_status pull_while(loop *l, ig_array *node, ig_array *const *g, ig_array **grads)
{
    const body *step = &l->body[0];
    const int n = l->n_carry + l->n_const;
    ig_array **in = memory_new((size_t)(node->n_in + l->n_carry + 1) * sizeof *in);
    loop *back = in ? loop_new(LOOP_BACK, 0, n) : NULL;
    if (!back) {
        memory_free(in);
        return IG_ERR_MEMORY;
    }
    int n_in = 0, n_result = 0;
    bool ok = true;
    for (; n_in < node->n_in; n_in++)
        in[n_in] = node->in[n_in];
    for (int i = 0; i < l->n_carry; i++)
        if (is_float(step->in[i]))
            ok = (in[n_in++] = g[i] ? g[i] : zeros_like(step->in[i])) && ok;
    for (int i = 0; i < n; i++)
        if (is_float(step->in[i]))
            back->result[n_result++] = loop_result_of(step->in[i], -1);
    back->base.n_result = n_result;
    node_kernel_retain(&l->base);
    back->forward = l;
    ig_status status = ok ? loop_finish(back) : error_waiting(IG_ERR_MEMORY);
    for (int i = 0, at = 0; i < n && status == IG_OK; i++)
        if (is_float(step->in[i])) {
            grads[l->n_head + i] = loop_result_node(back, at++, in, n_in, node->attr.copy);
            status = grads[l->n_head + i] ? IG_OK : IG_ERR_MEMORY;
        }
    node_kernel_release(&back->base);
    memory_free(in);
    return status;
}

/* The derivatives of the results of a step along the derivatives `along` of its float inputs; NULL: zero. */
static ig_status derive(const body *step, int n_carry, ig_array *const *along, ig_array **made)
{
    const size_t n = (size_t)(step->n_in + step->n_out + 1);
    ig_array **out = memory_new(5 * n * sizeof *out);
    if (!out)
        return IG_ERR_MEMORY;
    ig_array **seed = out + n, **by = seed + n, **by_along = by + n, **row = by_along + n;
    int n_out = 0, n_by = 0;
    bool ok = true;
    for (int i = 0; i < n_carry; i++)
        if (is_float(step->out[i])) {
            out[n_out] = step->out[i];
            ok = (seed[n_out++] = loop_placeholder(step->out[i])) && ok;
        }
    for (int i = 0; i < step->n_in; i++)
        if (along[i]) {
            by[n_by] = step->in[i];
            by_along[n_by++] = along[i];
        }
    ig_status status = ok ? ig_vjp(out, seed, n_out, by, n_by, row) : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = ig_vjp(row, by_along, n_by, seed, n_out, made);
    memory_free(out);
    return status;
}

/* The derivative along g: a while loop over the carries and their derivatives. */
static ig_status pull_back(const loop *back, ig_array *node, ig_array *const *g, const bool *needed,
                           ig_array **grads)
{
    const loop *l = back->forward;
    const body *step = &l->body[0];
    const int n = l->n_carry + l->n_const, n_in = l->n_head + n;
    for (int i = 0; i < n_in; i++)
        if (needed[i])
            FAIL(IG_ERR_UNSUPPORTED, "grad: the gradient of a while loop in reverse mode cannot be "
                                     "differentiated by the inputs of the "
                                     "loop: use scan, or fori_loop with a fixed number of steps");
    ig_array **along = memory_new((size_t)(3 * n + 2) * sizeof *along);
    ig_array **out = memory_new((size_t)(2 * step->n_out + 2 * n + 1) * sizeof *out);
    pairs all = {0};
    if (!along || !out) {
        memory_free(along);
        memory_free(out);
        return IG_ERR_MEMORY;
    }
    ig_array **given = along + n, **made = out + 2 * step->n_out;
    for (int i = 0, at = 0; i < n; i++)
        if (is_float(step->in[i]))
            given[i] = g[at++];
    for (int i = 0; i < l->n_carry; i++)
        pairs_add(&all, step->in[i], node->in[l->n_head + i]);
    for (int i = 0; i < l->n_carry; i++)
        if (is_float(step->in[i])) {
            along[i] = loop_placeholder(step->in[i]);
            pairs_add(&all, along[i], given[i] ? given[i] : zeros_like(step->in[i]));
        }
    const int n_carry = all.n;
    for (int i = l->n_carry; i < n; i++) {
        pairs_add(&all, step->in[i], node->in[l->n_head + i]);
        if (given[i]) {
            along[i] = loop_placeholder(step->in[i]);
            pairs_add(&all, along[i], given[i]);
        }
    }
    ig_status status = all.failed ? error_waiting(IG_ERR_MEMORY) : IG_OK;
    for (int i = 0; i < l->n_carry; i++)
        out[i] = step->out[i];
    if (status == IG_OK)
        status = derive(step, l->n_carry, along, out + l->n_carry);
    out[n_carry] = step->out[l->n_carry];
    const loop_spec spec = {.kind = LOOP_WHILE,
                            .head = node->in[0],
                            .in = all.in,
                            .operand = all.operand,
                            .n_carry = n_carry,
                            .n_given = all.n - n_carry,
                            .out = out,
                            .n_body = 1,
                            .n_out = n_carry + 1};
    if (status == IG_OK)
        status = loop_build(&spec, made, NULL);
    for (int i = l->n_carry, at = n_in; i < n_carry && status == IG_OK; i++)
        grads[at++] = made[i];
    pairs_free(&all);
    memory_free(along);
    memory_free(out);
    return status;
}

ig_status loop_pull(const node_kernel *k, ig_array *node, ig_array *const *g, const bool *needed,
                    ig_array **grads)
{
    loop *l = (loop *)(uintptr_t)k;
    switch (l->kind) {
    case LOOP_SCAN: return pull_scan(l, node, g, needed, grads);
    case LOOP_SWITCH: return pull_switch(l, node, g, needed, grads);
    case LOOP_WHILE: return pull_while(l, node, g, grads);
    default: return pull_back(l, node, g, needed, grads);
    }
}
