/* Running loops. The carries are in memory of the loop. A step reads them and writes the next ones: in place where the plan
 * of the body allows it, otherwise to spare memory, which then changes roles with them. Rows of xs and ys are parts of the
 * whole arrays. So a step allocates nothing, and on the CPU it only launches the programs of the body. The engine's lock is
 * held. */
#include "engine/loops/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/backend/pool.h"
#include "engine/eval/engine.h"
#include "engine/eval/fallback.h"
#include "engine/eval/transfer.h"
#include <string.h>

/* ---- plans ---- */

static loop_plan *plan_of(const loop *l, const backend *dev, ig_math math)
{
    loop_plan *p = l->plans;
    while (p && (p->dev != dev || p->math != math))
        p = p->next;
    return p;
}

static ig_status prepare(const program *p, const backend *dev)
{
    loop *l = (loop *)p->kernel;
    loop_sweep();
    if (l->kind == LOOP_BACK)
        FAIL(IG_ERR_ARGUMENT,
             "grad: a while loop has no gradient in reverse mode, because the number of its steps "
             "is "
             "not known: use scan, or fori_loop with a fixed number of steps; or jvp for the "
             "derivative along a direction");
    if (!dev->computes || plan_of(l, dev, p->math))
        return IG_OK;
    loop_plan *plan = memory_new(sizeof *plan);
    if (!plan)
        return IG_ERR_MEMORY;
    *plan = (loop_plan){.dev = dev, .math = p->math, .next = l->plans};
    plan->body = memory_new((size_t)(l->n_body + 1) * sizeof *plan->body);
    ig_status status = plan->body ? IG_OK : IG_ERR_MEMORY;
    while (status == IG_OK && plan->n_body < l->n_body) {
        const body *b = &l->body[plan->n_body];
        status = body_plan_make(b, l->n_carry, dev, p->math, &plan->body[plan->n_body]);
        plan->n_body += status == IG_OK;
    }
    if (status == IG_OK) {
        l->plans = plan;
        return IG_OK;
    }
    for (int i = 0; i < plan->n_body; i++)
        body_plan_free(&plan->body[i], dev);
    memory_free(plan->body);
    memory_free(plan);
    return status;
}

/* Scratch memory must not grow while the launches that surround the loop hold it. */
static ig_status reserve(const program *p, const backend *dev)
{
    const loop_plan *plan = plan_of((const loop *)p->kernel, dev, p->math);
    for (int i = 0; plan && i < plan->n_body; i++)
        if (plan->body[i].s)
            TRY(run_reserve(plan->body[i].s, dev));
    return IG_OK;
}

/* ---- memory ---- */

/* A loop in progress. */
typedef struct progress {
    const loop *l;
    const program *p;
    const backend *dev;
    const binding *outer;
    binding *in;     /* of each input of the body: carries, xs as a whole, constants */
    binding *result; /* of each result of the node; buf is NULL if nothing reads it */
    binding *next;   /* of each result of the body that is not written over a carry */
    binding *row;    /* of each of xs: the row of this step */
    binding *before; /* of each carry: where it was before this step */
    bool *direct;    /* for each of xs, then of ys: rows are used where they are */
    bool *kept;      /* for each constant: see keep_panels; part of direct */
    buffer **own;
    int n_own;
} progress;

static int64_t bytes_of(const ig_array *x)
{
    return view_size(&x->view) * (int64_t)ig_dtype_bytes((ig_dtype)x->dtype);
}

static ig_status allocate(progress *g, int64_t bytes, binding *out)
{
    buffer *b = transfer_alloc(g->dev, (size_t)bytes);
    if (!b)
        return error_waiting(IG_ERR_MEMORY);
    g->own[g->n_own++] = b;
    *out = (binding){b, 0};
    return IG_OK;
}

static ig_status copy(const backend *dev, binding to, binding from, int64_t bytes)
{
    const size_t n = (size_t)bytes;
    if (n == 0 || (to.buf == from.buf && to.offset == from.offset))
        return IG_OK;
    if (to.buf->device && to.buf->device == from.buf->device)
        return dev->copy(to.buf, to.offset, from.buf, from.offset, n);
    if (!from.buf->device)
        return transfer_write(to.buf, to.offset, (char *)from.buf->data + from.offset, n);
    void *between = memory_get(n);
    ig_status status = between ? transfer_read(from.buf, from.offset, between, n) : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = transfer_write(to.buf, to.offset, between, n);
    memory_free(between);
    return status;
}

static binding moved(binding b, int64_t bytes)
{
    b.offset += (size_t)bytes;
    return b;
}

static binding place_of(const operand *o, const binding *outer)
{
    return moved(outer[o->slot], o->v.offset * (int64_t)ig_dtype_bytes(o->dtype));
}

/* Input i of the node. Numbers, which are in host memory, are copied to the device. */
static ig_status bind_input(progress *g, int i, binding *out)
{
    const operand *o = &g->p->pre.operand[i];
    *out = place_of(o, g->outer);
    if (transfer_stays(out->buf, g->dev))
        return IG_OK;
    const size_t bytes = (size_t)view_size(&o->v) * ig_dtype_bytes(o->dtype);
    buffer *b = transfer_copy(out->buf, out->offset, bytes, g->dev);
    if (!b)
        return error_waiting(IG_ERR_MEMORY);
    g->own[g->n_own++] = b;
    *out = (binding){b, 0};
    return IG_OK;
}

static ig_status begin(progress *g)
{
    const loop *l = g->l;
    const size_t n_in = (size_t)(l->n_carry + l->n_x + l->n_const);
    const size_t n_result = (size_t)l->base.n_result, n_out = (size_t)(l->n_carry + l->n_out + 1);
    const size_t n = n_in + n_result + n_out + (size_t)(l->n_x + l->n_carry);
    g->in = memory_new((n + 1) * sizeof *g->in);
    g->own = memory_new((n + n_out + 1) * sizeof *g->own);
    g->direct = memory_new((size_t)(l->n_x + l->n_out + l->n_const + 1) * sizeof *g->direct);
    if (!g->in || !g->own || !g->direct)
        return IG_ERR_MEMORY;
    g->kept = g->direct + l->n_x + l->n_out;
    g->result = g->in + n_in;
    g->next = g->result + n_result;
    g->row = g->next + n_out;
    g->before = g->row + l->n_x;
    for (size_t i = 0; i < n_in; i++)
        TRY(bind_input(g, l->n_head + (int)i, &g->in[i]));
    for (size_t i = 0; i < n_result; i++) {
        const operand *o = &g->p->post.operand[i];
        if (o->dtype != IG_DTYPE_NONE)
            g->result[i] = place_of(o, g->outer);
    }
    return IG_OK;
}

/* The CPU packs the panels of a matrix once if several evaluations read its buffer, and steps count as evaluations. The panels
 * of constants are dropped after the loop, unless they outlive it. A buffer that the loop also writes is left out. */
static void keep_panels(progress *g)
{
    enum { OFTEN = 2 };
    const loop *l = g->l;
    const int first = l->n_carry + l->n_x;
    for (int i = 0; i < l->n_const; i++) {
        buffer *b = g->in[first + i].buf;
        g->kept[i] = !b->fetched && b->reads < OFTEN;
        for (int k = 0; k < l->base.n_result; k++)
            g->kept[i] = g->kept[i] && g->result[k].buf != b;
        if (g->kept[i])
            b->reads = OFTEN;
    }
}

static void drop_panels(const progress *g)
{
    const int first = g->l->n_carry + g->l->n_x;
    for (int i = 0; g->kept && i < g->l->n_const; i++)
        if (g->kept[i])
            buffer_forget(g->in[first + i].buf);
}

static void end(progress *g)
{
    drop_panels(g);
    for (int i = 0; i < g->n_own; i++)
        buffer_release(g->own[i]);
    memory_free(g->own);
    memory_free(g->in);
    memory_free(g->direct);
}

/* Fails if there is no room for what begin_carries and begin_body allocate. */
static ig_status admit(const progress *g, const body_plan *b)
{
    const body *step = &g->l->body[0];
    int64_t bytes = b->s->arena_bytes;
    for (int i = 0; i < step->n_out; i++)
        bytes += (1 + (i < g->l->n_carry)) * bytes_of(step->out[i]);
    return g->dev->pool ? pool_admit(g->dev->pool, (uint64_t)bytes, "this loop")
                        : memory_admit((uint64_t)bytes, "this loop");
}

/* ---- steps ---- */

/* Copies the carries to memory of the loop: the memory of the result, if each step overwrites the carry by its next value. */
static ig_status begin_carries(progress *g, const body_plan *b)
{
    const loop *l = g->l;
    for (int i = 0; i < l->n_carry; i++) {
        const int64_t bytes = bytes_of(l->body[0].in[i]);
        const binding init = g->in[i];
        if (g->result[i].buf && b->over[i] == i)
            g->in[i] = g->result[i];
        else
            TRY(allocate(g, bytes, &g->in[i]));
        TRY(copy(g->dev, g->in[i], init, bytes));
    }
    return IG_OK;
}

/* True if a step may use rows of this size where they are. Kernels load vectors, which are aligned; and no program writes
 * past the end of memory of whole lines. */
static bool is_row(const progress *g, int64_t bytes, bool written)
{
    enum { LINE = 64 };
    return bytes % LINE == 0 || (g->dev->launch && !written);
}

/* Binds numbers and temporaries, and gives each result of the body memory that is not written over a carry. */
static ig_status begin_body(progress *g, body_plan *b)
{
    const loop *l = g->l;
    const body *step = &l->body[0];
    TRY(run_begin(&b->run, b->s, g->dev));
    for (int i = 0; i < b->n_leaf; i++)
        if (b->input[i] < 0)
            TRY(run_bind_leaf(&b->run, i, b->number[i]));
    for (int i = 0; i < l->n_x; i++) {
        const int64_t bytes = bytes_of(step->in[l->n_carry + i]);
        g->direct[i] = is_row(g, bytes, false);
        if (!g->direct[i])
            TRY(allocate(g, bytes, &g->row[i]));
    }
    for (int i = 0; i < step->n_out; i++) {
        const int64_t bytes = bytes_of(step->out[i]);
        const int y = l->kind == LOOP_SCAN ? i - l->n_carry : -1;
        const bool direct = y >= 0 && g->result[i].buf && is_row(g, bytes, true);
        if (y >= 0)
            g->direct[l->n_x + y] = direct && b->over[i] < 0;
        if (b->over[i] < 0 && !(y >= 0 && g->direct[l->n_x + y]))
            TRY(allocate(g, bytes, &g->next[i]));
    }
    return run_bind_temporaries(&b->run);
}

static void bind_step(const progress *g, body_plan *b)
{
    run *r = &b->run;
    const schedule *s = b->s;
    const loop *l = g->l;
    for (int i = 0; i < b->n_leaf; i++) {
        const int in = b->input[i], x = in - l->n_carry;
        if (in >= 0)
            r->binding[i] = x >= 0 && x < l->n_x ? g->row[x] : g->in[in];
    }
    for (int i = 0; i < l->body[0].n_out; i++)
        r->binding[s->out_slot[i]] = b->over[i] >= 0 ? g->in[b->over[i]] : g->next[i];
    for (int i = 0; i < s->n_slot; i++)
        if (s->slot[i].kind == SLOT_TEMP && s->slot[i].shares >= 0)
            r->binding[i] = r->binding[s->slot[i].shares];
}

/* The carries are now where the step wrote them. The next step writes to memory that this frees. */
static void swap_carries(progress *g, const body_plan *b)
{
    const int n = g->l->n_carry;
    if (n)
        memcpy(g->before, g->in, (size_t)n * sizeof *g->before);
    for (int i = 0; i < n; i++)
        g->in[i] = b->over[i] >= 0 ? g->before[b->over[i]] : g->next[i];
    for (int i = 0; i < n; i++)
        if (b->over[i] < 0)
            g->next[i] = g->before[b->spare[i]];
}

/* Copies the carries to row `at` of what is saved of them. */
static ig_status save_carries(const progress *g, int64_t at)
{
    const loop *l = g->l;
    for (int i = 0; i < l->n_carry; i++) {
        const int64_t bytes = bytes_of(l->body[0].in[i]);
        const binding to = g->result[l->n_carry + l->n_out + i];
        if (to.buf)
            TRY(copy(g->dev, moved(to, at * bytes), g->in[i], bytes));
    }
    return IG_OK;
}

static ig_status end_carries(const progress *g)
{
    for (int i = 0; i < g->l->n_carry; i++)
        if (g->result[i].buf)
            TRY(copy(g->dev, g->result[i], g->in[i], bytes_of(g->l->body[0].in[i])));
    return IG_OK;
}

static ig_status scan_step(progress *g, body_plan *b, int64_t at)
{
    const loop *l = g->l;
    const body *step = &l->body[0];
    for (int i = 0; i < l->n_x; i++) {
        const int64_t bytes = bytes_of(step->in[l->n_carry + i]);
        const binding row = moved(g->in[l->n_carry + i], at * bytes);
        if (g->direct[i])
            g->row[i] = row;
        else
            TRY(copy(g->dev, g->row[i], row, bytes));
    }
    for (int i = 0; i < l->n_out; i++)
        if (g->direct[l->n_x + i])
            g->next[l->n_carry + i] =
                moved(g->result[l->n_carry + i], at * bytes_of(step->out[l->n_carry + i]));
    bind_step(g, b);
    TRY(run_again(&b->run));
    for (int i = l->n_carry; i < l->n_carry + l->n_out; i++) {
        const int64_t bytes = bytes_of(step->out[i]);
        if (g->result[i].buf && !g->direct[l->n_x + i - l->n_carry])
            TRY(copy(g->dev, moved(g->result[i], at * bytes), b->run.binding[b->s->out_slot[i]],
                     bytes));
    }
    swap_carries(g, b);
    return IG_OK;
}

static ig_status run_scan(progress *g, body_plan *b)
{
    const loop *l = g->l;
    TRY(save_carries(g, l->reverse ? l->length : 0));
    for (int64_t t = 0; t < l->length; t++) {
        const int64_t at = l->reverse ? l->length - 1 - t : t;
        TRY(scan_step(g, b, at));
        TRY(save_carries(g, l->reverse ? at : at + 1));
    }
    return IG_OK;
}

static ig_status run_while(progress *g, body_plan *b)
{
    const int more = g->l->n_carry;
    binding head;
    bool goes_on = false;
    TRY(bind_input(g, 0, &head));
    TRY(transfer_read(head.buf, head.offset, &goes_on, sizeof goes_on));
    while (goes_on) {
        bind_step(g, b);
        TRY(run_again(&b->run));
        const binding at = b->run.binding[b->s->out_slot[more]];
        TRY(transfer_read(at.buf, at.offset, &goes_on, sizeof goes_on));
        swap_carries(g, b);
    }
    return IG_OK;
}

static ig_status run_loop(progress *g, body_plan *b)
{
    TRY(begin_carries(g, b));
    if (b->s) {
        keep_panels(g);
        TRY(admit(g, b));
        TRY(begin_body(g, b));
        TRY(g->l->kind == LOOP_WHILE ? run_while(g, b) : run_scan(g, b));
    }
    return end_carries(g);
}

/* ---- branches ---- */

static ig_status run_branch(progress *g, loop_plan *plan)
{
    const loop *l = g->l;
    binding head;
    int64_t index = 0;
    TRY(bind_input(g, 0, &head));
    TRY(transfer_read(head.buf, head.offset, &index, sizeof index));
    index = index < 0 ? 0 : index < l->n_body ? index : l->n_body - 1;
    body_plan *b = &plan->body[index];
    if (!b->s)
        return IG_OK;
    run *r = &b->run;
    TRY(run_begin(r, b->s, g->dev));
    for (int i = 0; i < b->n_leaf; i++)
        if (b->input[i] < 0)
            TRY(run_bind_leaf(r, i, b->number[i]));
        else
            r->binding[i] = g->in[b->input[i]];
    for (int i = 0; i < l->n_out; i++) {
        binding *at = &r->binding[b->s->out_slot[i]];
        *at = g->result[i];
        if (!at->buf)
            TRY(allocate(g, bytes_of(l->body[index].out[i]), at));
    }
    TRY(run_bind_temporaries(r));
    return run_again(r);
}

static ig_status launch(const program *p, const backend *dev, const binding *outer)
{
    const loop *l = (const loop *)p->kernel;
    loop_plan *plan = plan_of(l, dev, p->math);
    progress g = {.l = l, .p = p, .dev = dev, .outer = outer};
    if (!dev->computes)
        return IG_OK;
    ig_status status = begin(&g);
    if (status == IG_OK)
        status = l->kind == LOOP_SWITCH ? run_branch(&g, plan) : run_loop(&g, &plan->body[0]);
    for (int i = 0; i < plan->n_body; i++)
        run_end(&plan->body[i].run);
    end(&g);
    return status;
}

const kernel_runner loop_runner = {prepare, launch, reserve};
