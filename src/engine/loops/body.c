/* Bodies: their graphs, keys and plans. */
#include "engine/loops/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/eval/engine.h"
#include "engine/ops/grad.h"
#include "engine/ops/walk.h"
#include <string.h>

/* ---- templates ---- */

ig_status body_make(body *b, ig_array *const *in, int n_in, ig_array *const *from,
                    ig_array *const *stand, int n_from, ig_array *const *out, int n_out)
{
    ig_array **made = memory_new((size_t)(n_out + 1) * sizeof *made);
    *b = (body){.in = memory_new((size_t)(n_in + 1) * sizeof *b->in),
                .out = memory_new((size_t)(n_out + 1) * sizeof *b->out)};
    ig_status status = made && b->in && b->out ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = replay_with(out, n_out, from, stand, n_from, made);
    for (int i = 0; status == IG_OK && i < n_in; i++)
        b->in[b->n_in++] = ig_retain(in[i]);
    for (int i = 0; status == IG_OK && i < n_out; i++)
        b->out[b->n_out++] = ig_retain(made[i]);
    memory_free(made);
    return status;
}

void body_free(body *b)
{
    for (int i = 0; i < b->n_in; i++)
        ig_release(b->in[i]);
    for (int i = 0; i < b->n_out; i++)
        ig_release(b->out[i]);
    memory_free(b->in);
    memory_free(b->out);
    *b = (body){0};
}

ig_status body_depends(const body *b, const bool *in, bool *out)
{
    walk w = {.ends = true};
    ig_status status = IG_OK;
    for (int i = 0; i < b->n_in && status == IG_OK; i++) {
        place *p = walk_put(&w, b->in[i]);
        if (p) {
            p->given = true;
            p->needed = in[i];
        } else {
            status = IG_ERR_MEMORY;
        }
    }
    for (int i = 0; i < b->n_out && status == IG_OK; i++) {
        status = walk_from(&w, b->out[i]);
        if (status == IG_OK)
            out[i] = walk_find(&w, walk_behind(&w, b->out[i]))->needed;
    }
    walk_free(&w);
    return status;
}

/* ---- graphs that can be planned ---- */

/* A body on leaves without memory, one for each input. */
typedef struct staged {
    graph g;
    ig_array **standing, **result;
} staged;

/* x as a node of its own: equal only to copies with the same number. */
static ig_array *apart(ig_array *x, int number)
{
    return array_node(OP_astype, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x, 1,
                      &(node_attr){.copy = (uint16_t)(number + 1)});
}

static ig_status order(staged *s, int n_out, int n_donated)
{
    TRY(graph_order(&s->g, s->result, n_out));
    graph_donate(&s->g, s->standing, n_donated, DONATED);
    return graph_key(&s->g);
}

/* Each result becomes a node of its own, so that each has its own slot. */
static ig_status separate(staged *s, int n_out, int n_donated)
{
    bool again = false;
    for (int i = 0; i < n_out; i++) {
        ig_array *x = s->result[i];
        if (x->root->data || !view_equal(&x->view, &x->root->view)) {
            if (!(s->result[i] = apart(x, i)))
                return IG_ERR_MEMORY;
        }
    }
    TRY(order(s, n_out, n_donated));
    for (int i = 0; i < n_out; i++)
        for (int k = 0; k < i; k++)
            if (s->g.same[s->result[i]->root->index] == s->g.same[s->result[k]->root->index]) {
                if (!(s->result[i] = apart(s->result[i], i)))
                    return IG_ERR_MEMORY;
                again = true;
                break;
            }
    return again ? order(s, n_out, n_donated) : IG_OK;
}

/* In a scope of the caller. The lock is held. */
static ig_status stage(const body *b, int n_donated, ig_math math, staged *s)
{
    *s = (staged){.g = {.math = math},
                  .standing = memory_new((size_t)(b->n_in + 1) * sizeof *s->standing),
                  .result = memory_new((size_t)(b->n_out + 1) * sizeof *s->result)};
    if (!s->standing || !s->result)
        return IG_ERR_MEMORY;
    for (int i = 0; i < b->n_in; i++)
        if (!(s->standing[i] = array_standing(b->in[i])))
            return IG_ERR_MEMORY;
    TRY(replay_with(b->out, b->n_out, b->in, s->standing, b->n_in, s->result));
    return separate(s, b->n_out, n_donated);
}

static void stage_end(staged *s)
{
    graph_free(&s->g);
    memory_free(s->standing);
    memory_free(s->result);
}

static int input_of(const staged *s, int n_in, const ig_array *leaf)
{
    for (int i = 0; i < n_in; i++)
        if (s->standing[i] == leaf)
            return i;
    return -1;
}

/* ---- keys ---- */

bool word_list_add(word_list *w, const void *from, size_t bytes)
{
    const int n = (int)((bytes + sizeof *w->at - 1) / sizeof *w->at);
    while (w->n + n >= w->room)
        if (!memory_room(&w->at, w->room, &w->room, sizeof *w->at))
            return false;
    memset(w->at + w->n, 0, (size_t)n * sizeof *w->at);
    if (bytes)
        memcpy(w->at + w->n, from, bytes);
    w->n += n;
    return true;
}

static ig_status describe(const body *b, int n_donated, word_list *w)
{
    staged s;
    ig_status status = stage(b, n_donated, IG_MATH_STRICT, &s);
    const uint64_t counts[3] = {s.g.key.used, (uint64_t)b->n_in, (uint64_t)s.g.n_leaf};
    if (status == IG_OK &&
        !(word_list_add(w, counts, sizeof counts) &&
          word_list_add(w, s.g.key.at, s.g.n_node || s.g.n_leaf ? s.g.key.used : 0)))
        status = IG_ERR_MEMORY;
    for (int i = 0; status == IG_OK && i < s.g.n_leaf; i++) {
        const int input = input_of(&s, b->n_in, s.g.leaf[i]);
        const uint64_t word[2] = {(uint64_t)input, input < 0 ? s.g.leaf[i]->number : 0};
        if (!word_list_add(w, word, sizeof word))
            status = IG_ERR_MEMORY;
    }
    stage_end(&s);
    return status;
}

ig_status body_describe(const body *b, int n_donated, word_list *w)
{
    TRY(ig_scope_begin());
    engine_enter();
    const ig_status status = describe(b, n_donated, w);
    engine_leave();
    ig_scope_end();
    return status;
}

/* ---- plans ---- */

/* Fills over and spare. As many carries of a size are free after a step as results of that size were not written over
 * carries. */
static ig_status find_memory(const body *b, int n_carry, body_plan *p)
{
    bool *taken = memory_new((size_t)n_carry + 1);
    p->over = memory_new((size_t)(b->n_out + 1) * sizeof *p->over);
    p->spare = memory_new((size_t)(n_carry + 1) * sizeof *p->spare);
    const bool ok = taken && p->over && p->spare;
    for (int i = 0; i < b->n_out && ok; i++) {
        const int shares = p->s->slot[p->s->out_slot[i]].shares;
        p->over[i] = shares < 0 ? -1 : p->input[shares];
        if (i < n_carry && p->over[i] >= 0)
            taken[p->over[i]] = true;
    }
    for (int i = 0; i < n_carry && ok; i++)
        for (int k = 0; k < n_carry && p->over[i] < 0; k++)
            if (!taken[k] &&
                view_size(&b->in[k]->view) * (int64_t)ig_dtype_bytes(b->in[k]->dtype) ==
                    view_size(&b->in[i]->view) * (int64_t)ig_dtype_bytes(b->in[i]->dtype)) {
                taken[k] = true;
                p->spare[i] = k;
                break;
            }
    memory_free(taken);
    return ok ? IG_OK : IG_ERR_MEMORY;
}

static ig_status plan(const body *b, int n_donated, const staged *s, const backend *dev,
                      body_plan *out)
{
    const graph *g = &s->g;
    out->input = memory_new((size_t)(g->n_leaf + 1) * sizeof *out->input);
    out->number = memory_new((size_t)(g->n_leaf + 1) * sizeof *out->number);
    if (!out->input || !out->number)
        return IG_ERR_MEMORY;
    for (int i = 0; i < g->n_leaf; i++) {
        out->input[i] = input_of(s, b->n_in, g->leaf[i]);
        out->number[i] = out->input[i] < 0 ? ig_retain(g->leaf[i]) : NULL;
        out->n_leaf++;
    }
    if (g->n_node && !(out->s = engine_build(g, dev, false, NULL)))
        return error_waiting(IG_ERR_MEMORY);
    return out->s ? find_memory(b, n_donated, out) : IG_OK;
}

ig_status body_plan_make(const body *b, int n_donated, const backend *dev, ig_math math,
                         body_plan *out)
{
    staged s;
    *out = (body_plan){0};
    TRY(ig_scope_begin());
    ig_status status = stage(b, n_donated, math, &s);
    if (status == IG_OK)
        status = plan(b, n_donated, &s, dev, out);
    stage_end(&s);
    ig_scope_end();
    if (status != IG_OK)
        body_plan_free(out, dev);
    return status;
}

void body_plan_free(body_plan *p, const backend *dev)
{
    if (p->s)
        engine_discard(p->s, dev);
    run_free(&p->run);
    for (int i = 0; i < p->n_leaf; i++)
        ig_release(p->number[i]);
    memory_free(p->input);
    memory_free(p->number);
    memory_free(p->over);
    memory_free(p->spare);
    *p = (body_plan){0};
}
