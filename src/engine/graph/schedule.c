/* Schedules: built from a graph, printed, freed. */
#include "engine/graph/graph.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"
#include <stdio.h>
#include <string.h>

void schedule_free(schedule *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_program; i++)
        program_free_parts(&s->program[i]);
    memory_free(s->program);
    memory_free(s->slot);
    memory_free(s->out_slot);
    memory_free(s->key);
    memory_free(s->recomputes);
    memory_free(s);
}

/* Equal outputs share a slot. */
static ig_status find_outputs(const graph *g, schedule *s)
{
    int *slot_of = memory_get((size_t)(g->n_node + 1) * sizeof *slot_of);
    s->out_slot = memory_get((size_t)(g->n_out + 1) * sizeof *s->out_slot);
    if (slot_of && s->out_slot) {
        for (int k = g->n_leaf; k < s->n_slot; k++)
            if (s->slot[k].node >= 0)
                slot_of[s->slot[k].node] = k;
        for (int i = 0; i < g->n_out; i++)
            s->out_slot[i] = slot_of[g->same[g->out[i]->index]];
    }
    bool ok = slot_of && s->out_slot;
    memory_free(slot_of);
    return ok ? IG_OK : IG_ERR_MEMORY;
}

static ig_status build(const graph *g, const schedule_rules *rules, schedule *s, fusion *f)
{
    int64_t began = trace_begin();
    TRY(schedule_fuse(g, rules, f));
    trace_end(began, "fuse");
    began = trace_begin();
    TRY(schedule_emit(g, f, s));
    trace_end(began, "emit");
    began = trace_begin();
    schedule_live_ranges(s);
    TRY(schedule_chain(s, rules));
    TRY(schedule_plan(g, s));
    TRY(find_outputs(g, s));
    trace_end(began, "plan");
    if (!program_checks())
        return IG_OK;
    began = trace_begin();
    TRY(schedule_check(g, s));
    trace_end(began, "check");
    return IG_OK;
}

schedule *schedule_build(const graph *g, const schedule_rules *rules)
{
    fusion f = {0};
    schedule *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    s->n_node = g->n_node;
    s->key = memory_get(g->key.used);
    s->key_bytes = g->key.used;
    if (s->key)
        memcpy(s->key, g->key.at, g->key.used);
    const ig_status status = s->key ? build(g, rules, s, &f) : IG_ERR_MEMORY;
    fusion_free(&f);
    if (status == IG_OK)
        return s;
    schedule_free(s);
    return NULL;
}

/* ---- printing ---- */

const char *schedule_slot_name(const schedule *s, int i, char name[static 16])
{
    static const char letters[] = {[SLOT_LEAF] = 'x',
                                   [SLOT_OUT] = 'y',
                                   [SLOT_TEMP] = 't',
                                   [SLOT_ROWS] = 'r',
                                   [SLOT_HOST] = 'h'};
    int nth = 0;
    for (int k = 0; k < i; k++)
        nth += s->slot[k].kind == s->slot[i].kind;
    snprintf(name, 16, "%c%d", letters[s->slot[i].kind], nth);
    return name;
}

/* " x0 t1": the slots that p reads, or writes, each once. */
static void slots_text(const schedule *s, const program *p, bool written, text *t)
{
    char name[16];
    for (int i = 0; i < s->n_slot; i++)
        if (written ? program_writes(p, i) : program_reads(p, i))
            text_add(t, " %s", schedule_slot_name(s, i, name));
}

static void program_text(const schedule *s, int i, const char *by, text *t)
{
    const program *p = &s->program[i];
    char shape[400];
    text_add(t, "%3d%c%-9s", i + 1,
             p->chain == 1 ? ' '
             : p->chain    ? '/'
                           : '|',
             program_kinds[p->kind].name);
    if (p->kind == PROGRAM_CONTRACT)
        text_add(t, " %s b=%lld m=%lld n=%lld k=%lld", ig_dtype_name(p->dtype),
                 (long long)p->extent[0], (long long)p->extent[1], (long long)p->extent[2],
                 (long long)p->extent[3]);
    else if (p->kind == PROGRAM_MAP)
        text_add(t, " %s", view_shape_text(p->pre.ndim, p->pre.shape, shape));
    else if (p->kind != PROGRAM_WRITE && p->kind != PROGRAM_KERNEL)
        text_add(t, " %s %lld x %lld", ig_dtype_name(p->dtype), (long long)p->outer,
                 (long long)p->inner);
    if (by)
        text_add(t, " by %s", by);
    if (p->on_cpu)
        text_add(t, " on cpu (%s; moves %lld B)", p->on_cpu, (long long)p->bytes_moved);
    text_add(t, " |%s |", p->label);
    slots_text(s, p, false, t);
    text_add(t, " ->");
    slots_text(s, p, true, t);
    text_add(t, " | read %lld B, write %lld B, %lld FLOP\n", (long long)p->bytes_read,
             (long long)p->bytes_written, (long long)p->flops);
}

void schedule_text(const schedule *s, const graph *g, const char *device,
                   const char *(*core_name)(const program *p), text *t)
{
    char shape[400], name[16];
    int64_t flops = 0, leaf_bytes = 0;
    for (int i = 0; i < s->n_program; i++)
        flops += s->program[i].flops;
    text_add(t, "device %s: %d node%s in %d program%s\n", device, s->n_node,
             s->n_node == 1 ? "" : "s", s->n_program, s->n_program == 1 ? "" : "s");
    for (int i = 0; i < s->n_program; i++)
        program_text(s, i, core_name && !s->program[i].on_cpu ? core_name(&s->program[i]) : NULL,
                     t);
    text_add(t, "buffers\n");
    for (int i = 0; i < s->n_slot; i++) {
        const slot *b = &s->slot[i];
        const ig_array *x = b->kind == SLOT_LEAF ? g->leaf[b->index]
                            : b->node >= 0       ? g->node[b->node]
                                                 : NULL;
        text_add(t, "  %s", schedule_slot_name(s, i, name));
        if (x)
            text_add(t, " %s %s", ig_dtype_name((ig_dtype)x->dtype),
                     view_shape_text(x->view.ndim, x->view.shape, shape));
        text_add(t, " %lld B", (long long)b->bytes);
        if (b->kind != SLOT_LEAF && b->shares >= 0)
            text_add(t, " in %s", schedule_slot_name(s, b->shares, name));
        else if (b->kind == SLOT_TEMP)
            text_add(t, " at %lld", (long long)b->offset);
        else if (b->kind == SLOT_ROWS || b->kind == SLOT_HOST)
            text_add(t, b->kind == SLOT_ROWS ? " by rows" : " on the host");
        text_add(t, "\n");
        leaf_bytes += b->kind == SLOT_LEAF ? b->bytes : 0;
    }
    if (s->recomputes)
        text_add(t, "%s\n", s->recomputes);
    text_add(t, "total %lld FLOP, inputs %lld B, outputs %lld B, temporaries %lld B, peak %lld B\n",
             (long long)flops, (long long)leaf_bytes, (long long)s->out_bytes,
             (long long)s->arena_bytes, (long long)(leaf_bytes + s->out_bytes + s->arena_bytes));
}
