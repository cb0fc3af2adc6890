/* The gradient of attention (ops/attention.c) from query, key, value and the gradient of the result: a task takes one
 * product, since all rows of the query add to the gradients of its keys and values. f32 only. */
#include "engine/backend/cpu/attention_grad.h"

#include "engine/backend/cpu/lanes/attend.h"
#include "base/memory.h"
#include "base/threads.h"

#include <string.h>

enum {
    CAUSAL = 4, /* the node's number parameters: see ops/attention.c */
    MASKED = 6,
    ALONE = 8,
    ROWS_LEAST = 8,      /* fewer rows leave too many lanes idle */
    HELD_MOST = 1 << 18, /* elements of the keys of a product, in a worker's scratch */
    INPUTS = 4,
    RESULTS = 3
};

typedef struct attention_grad {
    int64_t jobs, rows, keys, width;
    bool causal;
    float scale;
    operand in[INPUTS], out[RESULTS];
    void (*run)(const attend_grad *a);
    const binding *bindings;
} attention_grad;

bool cpu_attention_grad_runs(const node_native *n) { return n->kind == NATIVE_ATTENTION_GRADIENT; }

bool cpu_attention_grad_offers(const node_native *n)
{
    const attend_level *level = cpu_level_now()->attend;
    const int64_t rows = n->number[1], keys = n->number[2], width = n->number[3];
    return cpu_attention_grad_runs(n) && n->number[ALONE] && !n->number[MASKED] &&
           n->dtype == IG_F32 && level->is_faster && level->grad_f32 && rows >= ROWS_LEAST &&
           keys <= level->keys_most && keys * width <= HELD_MOST && n->scale > 0;
}

void *cpu_attention_grad_plan(const program *p)
{
    const node_native *n = p->kernel->native;
    attention_grad *a = memory_new(sizeof *a);
    if (!a)
        return NULL;
    a->jobs = n->number[0];
    a->rows = n->number[1];
    a->keys = n->number[2];
    a->width = n->number[3];
    a->causal = n->number[CAUSAL] != 0;
    a->scale = (float)n->scale;
    a->run = cpu_level_now()->attend->grad_f32;
    memcpy(a->in, p->pre.operand, sizeof a->in);
    memcpy(a->out, p->post.operand, sizeof a->out);
    return a;
}

size_t cpu_attention_grad_scratch(const program *p)
{
    const node_native *n = p->kernel->native;
    return (size_t)attend_grad_scratch(n->number[2], n->number[3]) * sizeof(float);
}

/* The first row of a product of an operand; *row: the distance between its rows. */
static float *rows_at(const attention_grad *a, const operand *o, int64_t job, int64_t *row)
{
    int64_t offset = 0;
    for (int axis = o->v.ndim - 3; axis >= 0; axis--) {
        offset += job % o->v.shape[axis] * o->v.stride[axis];
        job /= o->v.shape[axis];
    }
    *row = o->v.stride[o->v.ndim - 2];
    return (float *)operand_host(o, a->bindings) + offset;
}

static void task_run(void *context, int64_t job, int worker)
{
    const attention_grad *a = context;
    attend_grad g = {.rows = a->rows,
                     .keys = a->keys,
                     .width = a->width,
                     .scale = a->scale,
                     .causal = a->causal,
                     .scratch = scratch_of(worker)};
    int64_t row;
    g.q = rows_at(a, &a->in[0], job, &g.q_row);
    g.k = rows_at(a, &a->in[1], job, &g.k_row);
    g.v = rows_at(a, &a->in[2], job, &g.v_row);
    g.g = rows_at(a, &a->in[3], job, &g.g_row);
    g.dq = rows_at(a, &a->out[0], job, &row);
    g.dk = rows_at(a, &a->out[1], job, &row);
    g.dv = rows_at(a, &a->out[2], job, &row);
    a->run(&g);
}

/* Launches run one at a time (the engine's lock), so the plan also holds the state of this launch. */
ig_status cpu_attention_grad(const program *p, const binding *b)
{
    attention_grad *a = p->compiled;
    a->bindings = b;
    pool_run_cancellable(a->jobs, task_run, a);
    return IG_OK;
}
