/* Choosing what is recomputed. See recompute.h.
 *
 * The network of the cut has two nodes for each early node v, one that the peak or a program before it computes: in(v) and
 * out(v). `to` stands for later programs, `from` for what exists before the peak. If out(v) is on the side of `to`, v is needed
 * later. If in(v) is there, too, v is computed again, so its inputs are needed. The edges that are cut cost
 *
 *   from -> in(v)     computing v again
 *   in(v) -> out(v)   keeping v
 *
 * and the other edges are never cut: out(u) -> in(v) for an input u of v, and out(v) -> to if a late node reads v. */
#include "engine/graph/recompute.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/mincut.h"
#include "engine/graph/recompute_copy.h"

#include <math.h>
#include <string.h>

typedef struct chooser {
    const graph *g;
    const schedule *s;
    int *at;       /* of each node: the program that computes it */
    int *needed;   /* of each node: the first late program that needs it; n_program: none does */
    int *last;     /* of each node: the last early program that reads it */
    int *slot;     /* of each node: its slot, or -1 */
    bool *between; /* of each node: it is a value between two segments */
    bool *direct;  /* of each node: a late node reads it */
    int peak;      /* the program during which the temporaries take most memory */
} chooser;

/* ---- when values are computed and read ---- */

/* The program of each group: the first that writes one of its values. */
static void find_programs(const chooser *c, const fusion *f)
{
    int before = 0;
    for (const group *grp = f->group; grp < f->group + f->n_group; grp++) {
        int at = -1;
        for (int i = 0; i < grp->n_pre + grp->n_post + (grp->core >= 0); i++) {
            const int node = i < grp->n_pre                 ? grp->pre[i]
                             : i < grp->n_pre + grp->n_post ? grp->post[i - grp->n_pre]
                                                            : grp->core;
            const int k = c->slot[node];
            if (k >= 0 && (at < 0 || c->s->slot[k].first < at))
                at = c->s->slot[k].first;
        }
        at = at < 0 ? before : at;
        before = at;
        for (int i = 0; i < grp->n_pre; i++)
            c->at[grp->pre[i]] = at;
        for (int i = 0; i < grp->n_post; i++)
            c->at[grp->post[i]] = at;
        if (grp->core >= 0)
            c->at[grp->core] = at;
    }
}

/* The program during which most memory is in use, by live ranges. */
static ig_status find_peak(chooser *c)
{
    int64_t *change = memory_new((size_t)(c->s->n_program + 2) * sizeof *change);
    if (!change)
        return IG_ERR_MEMORY;
    for (int i = 0; i < c->s->n_slot; i++) {
        const slot *t = &c->s->slot[i];
        if (t->kind != SLOT_TEMP || t->first < 0 || t->shares >= 0)
            continue;
        change[t->from] += t->bytes;
        change[t->until + 1] -= t->bytes;
    }
    int64_t now = 0, most = -1;
    for (int p = 0; p < c->s->n_program; p++) {
        now += change[p];
        if (now > most) {
            most = now;
            c->peak = p;
        }
    }
    memory_free(change);
    return IG_OK;
}

static bool is_early(const chooser *c, int node) { return c->at[node] <= c->peak; }

/* The node that input j of x reads, or -1 for a leaf. */
static int source_of(const graph *g, const ig_array *x, int j)
{
    const ig_array *root = x->in[j]->root;
    return root->data ? -1 : g->same[root->index];
}

static void find_reads(const chooser *c)
{
    const graph *g = c->g;
    for (int i = 0; i < g->n_node; i++) {
        c->needed[i] = c->s->n_program;
        c->last[i] = c->at[i];
    }
    for (int i = 0; i < g->n_node; i++)
        for (int j = 0; j < g->node[i]->n_in && g->same[i] == i; j++) {
            const int s = source_of(g, g->node[i], j);
            if (s < 0 || !is_early(c, s))
                continue;
            c->direct[s] = c->direct[s] || !is_early(c, i);
            if (!is_early(c, i) && c->at[i] < c->needed[s])
                c->needed[s] = c->at[i];
            if (is_early(c, i) && c->at[i] > c->last[s])
                c->last[s] = c->at[i];
        }
    /* A value that only early nodes read may be needed when the first of these is. */
    for (int i = g->n_node - 1; i >= 0; i--)
        for (int j = 0; j < g->node[i]->n_in && g->same[i] == i; j++) {
            const int s = source_of(g, g->node[i], j);
            if (s >= 0 && is_early(c, i) && !c->direct[s] && c->needed[i] < c->needed[s])
                c->needed[s] = c->needed[i];
        }
}

/* ---- costs ---- */

/* The work of a node in bytes that could be moved in the same time. */
static double work_of(const ig_array *x)
{
    enum { FLOPS_PER_BYTE = 16, HALF_FLOPS_PER_BYTE = 128, LANE = 4, SORTS = 32, NATIVE = 24 };
    double in = 0;
    const double out = (double)view_size(&x->view) * LANE;
    for (int i = 0; i < x->n_in; i++)
        in += (double)view_size(&x->in[i]->view) * LANE;
    switch (node_program(x)) {
    case PROGRAM_MAP: return out;
    case PROGRAM_REDUCE:
    case PROGRAM_ARGREDUCE: return in;
    case PROGRAM_KERNEL: return NATIVE * (in + out);
    case PROGRAM_CONTRACT: {
        double flops = 2 * (double)view_size(&x->view);
        const view *v = &x->in[0]->view;
        for (int i = v->ndim - x->attr.ndim[3]; i < v->ndim; i++)
            flops *= (double)v->shape[i];
        const bool half = dtype_is_half((ig_dtype)x->in[0]->dtype);
        return in + out + flops / (half ? HALF_FLOPS_PER_BYTE : FLOPS_PER_BYTE);
    }
    default: return SORTS * (in + out);
    }
}

/* True if the node may be computed again: a kernel of the user or a loop may not. */
static bool is_pure(const ig_array *x)
{
    return x->op != OP_blocks && !x->attr.device && !x->attr.source &&
           (x->op != OP_kernel || x->attr.kernel->native);
}

static int64_t capacity(double cost)
{
    const double most = 1e15;
    return cost < 1 ? 1 : cost < most ? (int64_t)cost : (int64_t)most;
}

/* The cost of keeping a node until it is needed. The time tells equal layers apart: the one that is needed last is the first that is
 * not kept. Its fourth root lets bytes and work count for more; of the powers 0 to 1, it gave least work for GPT-2. */
static int64_t keeping(const chooser *c, const recompute_choice *choice, int node)
{
    const ig_array *x = c->g->node[node];
    const int k = c->slot[node];
    const double all = c->s->n_program - c->peak;
    if ((k >= 0 && c->s->slot[k].kind == SLOT_OUT) || c->between[node])
        return 0;
    const double bytes = (double)view_size(&x->view) * (double)ig_dtype_bytes((ig_dtype)x->dtype);
    return capacity(choice->weight * bytes * sqrt(sqrt((c->needed[node] - c->peak) / all)));
}

/* ---- segments ---- */

/* Finds the values between the segments: those that are read early, but after a boundary. The work is divided evenly, except
 * that a boundary moves to a place nearby where such values are small. */
static ig_status find_between(chooser *c, int segments)
{
    const graph *g = c->g;
    const size_t n = (size_t)c->peak + 3;
    double *work = memory_new(2 * n * sizeof *work);
    if (!work)
        return IG_ERR_MEMORY;
    double *const live = work + n;
    for (int i = 0; i < g->n_node; i++) {
        if (g->same[i] != i || !is_early(c, i))
            continue;
        const double bytes = (double)view_size(&g->node[i]->view) *
                             (double)ig_dtype_bytes((ig_dtype)g->node[i]->dtype);
        work[c->at[i] + 1] += work_of(g->node[i]);
        live[c->at[i]] += bytes;
        live[c->last[i]] -= bytes;
    }
    for (int p = 1; p <= c->peak + 1; p++) {
        work[p] += work[p - 1];
        live[p] += live[p - 1];
    }
    const double all = work[c->peak + 1];
    for (int k = 1; k < segments; k++) {
        int at = -1;
        for (int p = 0; p <= c->peak; p++) {
            const double share = work[p + 1] / all * segments;
            if (share > k - 0.5 && share < k + 0.5 && (at < 0 || live[p] < live[at]))
                at = p;
        }
        for (int i = 0; i < g->n_node && at >= 0; i++)
            c->between[i] = c->between[i] || (c->at[i] <= at && c->last[i] > at);
    }
    memory_free(work);
    return IG_OK;
}

/* ---- the cut ---- */

static ig_status fill(const chooser *c, const recompute_choice *choice, mincut_network *m)
{
    const graph *g = c->g;
    const int from = 2 * g->n_node, to = from + 1;
    ig_status status = IG_OK;
    for (int i = 0; i < g->n_node && status == IG_OK; i++) {
        const ig_array *x = g->node[i];
        if (g->same[i] != i)
            continue;
        if (is_early(c, i)) {
            status = mincut_add(m, from, 2 * i, is_pure(x) ? capacity(work_of(x)) : MINCUT_NEVER);
            if (status == IG_OK)
                status = mincut_add(m, 2 * i, 2 * i + 1, keeping(c, choice, i));
        }
        for (int j = 0; j < x->n_in && status == IG_OK; j++) {
            const int s = source_of(g, x, j);
            if (s >= 0 && is_early(c, s))
                status = mincut_add(m, 2 * s + 1, is_early(c, i) ? 2 * i : to, MINCUT_NEVER);
        }
    }
    return status;
}

/* again[v]: v is computed again. */
static ig_status choose(const chooser *c, const recompute_choice *choice, bool *again)
{
    const graph *g = c->g;
    mincut_network m;
    bool *behind = memory_new(2 * (size_t)g->n_node + 2);
    ig_status status = mincut_begin(&m, 2 * g->n_node + 2);
    if (status == IG_OK)
        status = behind ? fill(c, choice, &m) : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = mincut_find(&m, 2 * g->n_node, 2 * g->n_node + 1, behind);
    for (int i = 0; i < g->n_node && status == IG_OK; i++)
        again[i] = g->same[i] == i && is_early(c, i) && behind[2 * i] && is_pure(g->node[i]);
    mincut_free(&m);
    memory_free(behind);
    return status;
}

static ig_status prepare(chooser *c, const schedule_rules *rules, int segments)
{
    const graph *g = c->g;
    fusion f = {0};
    for (int i = 0; i < g->n_node; i++)
        c->slot[i] = -1;
    for (int i = g->n_leaf; i < c->s->n_slot; i++)
        if (c->s->slot[i].node >= 0)
            c->slot[c->s->slot[i].node] = i;
    ig_status status = schedule_fuse(g, rules, &f);
    if (status == IG_OK) {
        find_programs(c, &f);
        status = find_peak(c);
    }
    fusion_free(&f);
    if (status == IG_OK)
        find_reads(c);
    return status == IG_OK && segments ? find_between(c, segments) : status;
}

ig_status recompute_graph(const graph *g, const recomputed *from, const schedule *s,
                          const schedule_rules *rules, const recompute_choice *choice,
                          recomputed *out)
{
    const size_t n = (size_t)g->n_node + 1;
    *out = (recomputed){0};
    int *memory = memory_get(4 * n * sizeof *memory);
    bool *flags = memory_new(4 * n), *again = NULL, *late = NULL;
    chooser c = {.g = g, .s = s};
    ig_status status = memory && flags ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        c.at = memory;
        c.needed = memory + n;
        c.last = memory + 2 * n;
        c.slot = memory + 3 * n;
        c.between = flags;
        c.direct = flags + n;
        again = flags + 2 * n;
        late = flags + 3 * n;
        status = prepare(&c, rules, choice->segments);
    }
    if (status == IG_OK)
        status = choose(&c, choice, again);
    for (int i = 0; i < g->n_node && status == IG_OK; i++) {
        late[i] = !is_early(&c, i);
        if (!from && g->same[i] == i)
            out->work += work_of(g->node[i]);
        if (again[i])
            out->again += work_of(g->node[i]);
    }
    if (status == IG_OK && from) {
        out->work = from->work;
        out->again += from->again;
    }
    if (status == IG_OK)
        status = recompute_copy(g, from, again, late, choice->round, out);
    memory_free(memory);
    memory_free(flags);
    if (status != IG_OK)
        recompute_free(out);
    return status;
}
