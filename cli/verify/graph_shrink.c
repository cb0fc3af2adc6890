/* Shrinks a failing graph: fewer outputs, ops replaced by data or by one of their inputs, fewer arguments, shorter
 * axes, simpler numbers. A change is kept if the graph can still be built and still fails. Changes are tried until none
 * helps. */
#include "verify/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MOST = 1500 };

typedef struct shrinker {
    graph *now, *next; /* the smallest graph so far, and a changed copy */
    graph_fails fails;
    bool (*stop)(void);
    void *context;
    int tries;
} shrinker;

static bool is_over(const shrinker *s) { return s->tries >= TRIES_MOST || (s->stop && s->stop()); }

/* Keeps the change if the graph still fails. */
static bool keep(shrinker *s)
{
    if (is_over(s))
        return false;
    s->tries++;
    graph_prune(s->next);
    if (s->next->n_output == 0 || !s->fails(s->context, s->next))
        return false;
    *s->now = *s->next;
    return true;
}

static graph *change(shrinker *s)
{
    *s->next = *s->now;
    return s->next;
}

/* ---- outputs ---- */

static bool fewer_outputs(shrinker *s)
{
    for (int i = 0; i < s->now->n_output && s->now->n_output > 1; i++) {
        graph *g = change(s);
        g->output[0] = g->output[i];
        g->n_output = 1;
        if (keep(s))
            return true;
    }
    for (int i = 0; i < s->now->n_output && s->now->n_output > 1; i++) {
        graph *g = change(s);
        g->output[i] = g->output[--g->n_output];
        if (keep(s))
            return true;
    }
    return false;
}

/* Makes the output the result of an earlier step, and drops the steps after it. */
static bool earlier_output(shrinker *s)
{
    const graph_step *last = &s->now->step[s->now->output[0].step];
    for (int i = 0; i < last->n_arg && s->now->n_output == 1; i++)
        for (int r = 0; r < last->arg[i].n_ref; r++) {
            const graph_ref in = last->arg[i].ref[r];
            if (s->now->step[in.step].kind == STEP_LEAF)
                continue;
            change(s)->output[0] = in;
            if (keep(s))
                return true;
        }
    return false;
}

/* ---- steps ---- */

static void redirect(graph *g, graph_ref from, graph_ref to)
{
    for (int k = 0; k < g->n_step; k++)
        for (int i = 0; i < g->step[k].n_arg; i++)
            for (int r = 0; r < g->step[k].arg[i].n_ref; r++) {
                graph_ref *at = &g->step[k].arg[i].ref[r];
                if (at->step == from.step && at->result == from.result)
                    *at = to;
            }
}

/* Data of that dtype and shape with simple numbers. */
static graph_leaf plain_leaf(ig_dtype d, ig_ints shape)
{
    graph_leaf l = {.dtype = d, .ndim = shape.n, .n_table = 5, .factor = 1};
    const double halves = dtype_in(d, FLOATS) ? 0.5 : 1;
    for (int i = 0; i < shape.n; i++)
        l.shape[i] = shape.v[i];
    for (int i = 0; i < l.n_table; i++)
        l.table[i] = d == IG_BOOL ? i % 2 : (1 + i) * halves;
    return l;
}

/* Replaces step k by data, if it has exactly one result. */
static bool step_to_data(shrinker *s, int k)
{
    graph *g = change(s);
    ig_dtype dtype = IG_DTYPE_NONE;
    int64_t shape[IG_MAX_NDIM];
    int n = 0;
    if (g->step[k].kind == STEP_LEAF || g->step[k].n_result != 1)
        return false;
    graph_arrays *a = heap_get(sizeof *a);
    ig_scope_begin();
    if (graph_build(g, a)) {
        ig_array *x = a->at[k][0];
        dtype = ig_dtype_of(x);
        n = ig_ndim(x);
        for (int i = 0; i < n; i++)
            shape[i] = ig_dim(x, i);
    }
    ig_error(NULL);
    ig_scope_end();
    free(a);
    if (dtype == IG_DTYPE_NONE || n > MAX_AXES)
        return false;
    g->step[k] = (graph_step){
        .kind = STEP_LEAF, .leaf = plain_leaf(dtype, (ig_ints){shape, n}), .n_result = 1};
    return keep(s);
}

/* Replaces a step by data or by one of its inputs. */
static bool fewer_steps(shrinker *s)
{
    for (int k = 0; k < s->now->n_step; k++)
        if (step_to_data(s, k))
            return true;
    for (int k = s->now->n_step - 1; k >= 0; k--) {
        const graph_step *at = &s->now->step[k];
        for (int i = 0; i < at->n_arg; i++)
            for (int r = 0; r < at->arg[i].n_ref; r++) {
                const graph_ref in = at->arg[i].ref[r];
                graph *g = change(s);
                for (int o = 0; o < at->n_result; o++)
                    redirect(g, (graph_ref){k, o}, in);
                for (int o = 0; o < g->n_output; o++)
                    if (g->output[o].step == k)
                        g->output[o] = in;
                if (keep(s))
                    return true;
            }
    }
    return false;
}

/* ---- arguments ---- */

static bool plainer_argument(shrinker *s, int k, int i)
{
    const graph_arg *a = &s->now->step[k].arg[i];
    if (!a->param->required && !a->param->variadic) { /* omit the argument */
        graph_step *at = &change(s)->step[k];
        memmove(&at->arg[i], &at->arg[i + 1], (size_t)(--at->n_arg - i) * sizeof *at->arg);
        if (keep(s))
            return true;
    }
    for (int r = 0; r < a->n_ref && a->n_ref > 1; r++) {
        graph_arg *to = &change(s)->step[k].arg[i];
        to->ref[r] = to->ref[--to->n_ref];
        if (keep(s))
            return true;
    }
    const int n = a->kind == IG_ARG_INTS ? a->n_ints : a->kind == IG_ARG_INT;
    for (int e = 0; e < n; e++) {
        const int64_t v = a->kind == IG_ARG_INT ? a->i : a->ints[e];
        for (int64_t to = v < 0 ? v + 1 : v - 1; v && to * to < v * v; to = to / 2) {
            graph_arg *b = &change(s)->step[k].arg[i];
            *(b->kind == IG_ARG_INT ? &b->i : &b->ints[e]) = to;
            if (keep(s))
                return true;
            if (to == 0)
                break;
        }
    }
    return false;
}

static bool plainer_arguments(shrinker *s)
{
    for (int k = 0; k < s->now->n_step; k++)
        for (int i = 0; i < s->now->step[k].n_arg && s->now->step[k].kind != STEP_LEAF; i++)
            if (s->now->step[k].kind == STEP_CALL ? plainer_argument(s, k, i) : false)
                return true;
    return false;
}

/* ---- leaves ---- */

/* Replaces the axis length `from` by `to` in all leaves, and in all lists of ints if `lists`. */
static void replace_length(graph *g, int64_t from, int64_t to, bool lists)
{
    for (int k = 0; k < g->n_step; k++) {
        graph_step *s = &g->step[k];
        for (int i = 0; i < s->leaf.ndim && s->kind == STEP_LEAF; i++)
            if (s->leaf.shape[i] == from)
                s->leaf.shape[i] = to;
        for (int i = 0; i < s->n_arg && lists; i++)
            for (int e = 0; e < s->arg[i].n_ints; e++)
                if (s->arg[i].ints[e] == from)
                    s->arg[i].ints[e] = to;
    }
}

static bool shorter_axes(shrinker *s)
{
    for (int k = 0; k < s->now->n_step; k++)
        for (int i = 0; i < s->now->step[k].leaf.ndim; i++) {
            const int64_t from = s->now->step[k].leaf.shape[i];
            const int64_t to[] = {1, 2, from / 2, from - 1};
            for (int t = 0; t < 4; t++)
                for (int how = 0; how < 3; how++) {
                    if (to[t] >= from || to[t] < 1)
                        continue;
                    graph *g = change(s);
                    if (how < 2)
                        replace_length(g, from, to[t], how == 0);
                    else
                        g->step[k].leaf.shape[i] = to[t];
                    if (keep(s))
                        return true;
                }
        }
    return false;
}

/* Removes an axis of length 1. */
static bool fewer_axes(shrinker *s)
{
    for (int k = 0; k < s->now->n_step; k++)
        for (int i = 0; i < s->now->step[k].leaf.ndim; i++) {
            graph_leaf *l = &change(s)->step[k].leaf;
            if (l->shape[i] != 1)
                continue;
            memmove(&l->shape[i], &l->shape[i + 1], (size_t)(--l->ndim - i) * sizeof *l->shape);
            if (keep(s))
                return true;
        }
    return false;
}

static bool plainer_leaves(shrinker *s)
{
    for (int k = 0; k < s->now->n_step; k++) {
        const graph_leaf *l = &s->now->step[k].leaf;
        if (s->now->step[k].kind != STEP_LEAF || l->is_number || l->n_table <= 1)
            continue;
        const int64_t size = shape_size((ig_ints){l->shape, l->ndim});
        graph_leaf to = plain_leaf(l->dtype, (ig_ints){l->shape, l->ndim});
        to.n_table = size < to.n_table ? (int)size + (size == 0) : to.n_table;
        if (memcmp(&to.table, &l->table, sizeof to.table) != 0 && l->n_table > to.n_table) {
            change(s)->step[k].leaf = to;
            if (keep(s))
                return true;
        }
        graph_leaf *same = &change(s)->step[k].leaf;
        same->n_table = 1;
        same->table[0] = 1;
        if (keep(s))
            return true;
    }
    return false;
}

void graph_shrink(graph *g, graph_fails fails, bool (*stop)(void), void *context)
{
    shrinker s = {.now = g, .fails = fails, .stop = stop, .context = context};
    s.next = heap_get(sizeof *s.next);
    while (!is_over(&s) &&
           (fewer_outputs(&s) || earlier_output(&s) || fewer_steps(&s) || shorter_axes(&s) ||
            plainer_arguments(&s) || fewer_axes(&s) || plainer_leaves(&s)))
        ;
    free(s.next);
}
