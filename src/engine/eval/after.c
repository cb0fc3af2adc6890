/* The order that launches of a schedule must keep: see after.h.
 *
 * Two chains conflict if one writes memory that the other uses. Memory is identified by slots: an output that may use
 * the buffer of a donated leaf counts as that leaf, and a temporary that uses an output's buffer counts as that output.
 * Temporaries in the arena are ranges of it. Parts of the scratch memory are ranges, too. */
#include "engine/eval/after.h"

#include "base/memory.h"

#include <string.h>

enum { CHAINS_MOST = 512, SLOTS_MOST = 64 };

/* The slots of a chain; those that it writes come first. */
typedef struct usage {
    int slot[SLOTS_MOST];
    int n, n_written;
    bool everything; /* too many slots to list */
    scratch_range scratch;
} usage;

/* Adds slot k. p is the first program of the chain; slots that exist by rows have no memory and are left out. */
static void usage_add(const program *p, usage *u, int k)
{
    for (int i = 0; i < p->n_local; i++)
        if (p->local[i].slot == k)
            return;
    for (int i = 0; i < u->n; i++)
        if (u->slot[i] == k)
            return;
    if (u->n == SLOTS_MOST)
        u->everything = true;
    else
        u->slot[u->n++] = k;
}

static void tape_written(const program *p, const tape *t, usage *u)
{
    for (int i = 0; i < t->n_inst; i++)
        if (t->inst[i].code == TAPE_STORE)
            usage_add(p, u, t->operand[t->inst[i].operand].slot);
}

static void usage_of(const program *p, usage *u)
{
    int core[3];
    for (int k = 0; k < p->chain; k++) {
        tape_written(p, &p[k].pre, u);
        tape_written(p, &p[k].post, u);
        if (program_kinds[p[k].kind].core_output)
            usage_add(p, u, p[k].out.slot);
        for (int j = 0; p[k].kind == PROGRAM_KERNEL && j < p[k].post.n_operand; j++)
            usage_add(p, u, p[k].post.operand[j].slot); /* the kernel's results */
    }
    u->n_written = u->n;
    for (int k = 0; k < p->chain; k++) {
        const tape *tapes[2] = {&p[k].pre, &p[k].post};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < tapes[i]->n_operand; j++)
                usage_add(p, u, tapes[i]->operand[j].slot);
        for (int j = program_core_slots(&p[k], core) - 1; j >= 0; j--)
            usage_add(p, u, core[j]);
    }
}

/* The slot that owns the buffer of slot k. */
static int owner_of(const schedule *s, int k)
{
    while (s->slot[k].kind != SLOT_LEAF && s->slot[k].shares >= 0)
        k = s->slot[k].shares;
    return k;
}

static bool overlap(const schedule *s, int a, int b)
{
    a = owner_of(s, a);
    b = owner_of(s, b);
    const slot *x = &s->slot[a], *y = &s->slot[b];
    if (a == b)
        return true;
    return x->kind == SLOT_TEMP && y->kind == SLOT_TEMP && x->offset < y->offset + y->bytes &&
           y->offset < x->offset + x->bytes;
}

/* True if a writes memory that b uses. */
static bool writes_into(const schedule *s, const usage *a, const usage *b)
{
    for (int i = 0; i < a->n_written; i++)
        for (int k = 0; k < b->n; k++)
            if (overlap(s, a->slot[i], b->slot[k]))
                return true;
    return false;
}

static bool conflict(const schedule *s, const usage *a, const usage *b)
{
    const scratch_range *x = &a->scratch, *y = &b->scratch;
    return a->everything || b->everything || (x->from < y->until && y->from < x->until) ||
           writes_into(s, a, b) || writes_into(s, b, a);
}

/* The chains that chain i follows directly. reach[k][j]: chain k follows chain j. */
static int direct(const schedule *s, const usage *all, bool *reach, int n, int i, int *out)
{
    int n_out = 0;
    bool *mine = reach + (size_t)i * (size_t)n;
    for (int j = i - 1; j >= 0; j--) {
        if (mine[j] || !conflict(s, &all[i], &all[j]))
            continue;
        out[n_out++] = j;
        mine[j] = true;
        for (int k = 0; k < j; k++)
            mine[k] = mine[k] || reach[(size_t)j * (size_t)n + (size_t)k];
    }
    return n_out;
}

ig_status after_find(const schedule *s, const scratch_range *scratch, after_list *out)
{
    int n = 0;
    *out = (after_list){0};
    for (int i = 0; i < s->n_program; i += s->program[i].chain)
        n++;
    if (n > CHAINS_MOST)
        return IG_OK;
    usage *all = memory_new((size_t)(n + 1) * sizeof *all);
    bool *reach = memory_new((size_t)n * (size_t)n + 1);
    out->first = memory_new((size_t)(n + 1) * sizeof *out->first);
    out->chain = memory_new(((size_t)n * (size_t)n + 1) * sizeof *out->chain);
    const bool ready = all && reach && out->first && out->chain;
    for (int i = 0, at = 0; ready && at < s->n_program; at += s->program[at].chain, i++) {
        all[i].scratch = scratch[i];
        usage_of(&s->program[at], &all[i]);
        out->first[i + 1] = out->first[i] + direct(s, all, reach, n, i, out->chain + out->first[i]);
    }
    out->n = ready ? n : 0;
    memory_free(all);
    memory_free(reach);
    if (ready)
        return IG_OK;
    after_free(out);
    return IG_ERR_MEMORY;
}

void after_free(after_list *a)
{
    memory_free(a->first);
    memory_free(a->chain);
    *a = (after_list){0};
}
