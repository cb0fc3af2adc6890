/* The profiler. It models the memory of an NVIDIA GPU: shared memory has 32 banks of 4 bytes, each
 * of which delivers one word per cycle; global memory moves sectors of 32 bytes. Lane code loads a
 * float4 with four instructions, hardware with one, so only the first of the four is counted. */
#include "engine/backend/cpu/gang/profile.h"

#include "base/memory.h"

#include <string.h>

enum { SECTOR = 32, BANKS = 32, BANK_BYTES = 4, WIDEST = 16 };

/* ---- requests ---- */

/* Sorts the numbers and returns how many are distinct. */
static int distinct(uint64_t *v, int n)
{
    int kept = n > 0;
    for (int i = 1; i < n; i++) {
        const uint64_t x = v[i];
        int k = i;
        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
    for (int i = 1; i < n; i++)
        kept += v[i] != v[i - 1];
    return kept;
}

/* Counts the request of one warp, `bytes` at each place. Places are sorted. */
static void count_global(ig_profile_line *l, uint64_t *place, int n, int bytes)
{
    uint64_t sector[2 * WARP_LANES];
    int k = 0;
    for (int i = 0; i < n; i++) {
        sector[k++] = place[i] / SECTOR;
        if ((place[i] + (uint64_t)bytes - 1) / SECTOR != place[i] / SECTOR)
            sector[k++] = place[i] / SECTOR + 1;
    }
    l->global_requests++;
    l->global_sectors += (uint64_t)distinct(sector, k);
    l->global_bytes += (uint64_t)(n * bytes);
    l->global_ideal += (uint64_t)((distinct(place, n) * bytes + SECTOR - 1) / SECTOR);
}

static void count_shared(ig_profile_line *l, const uint64_t *place, int n, int bytes)
{
    uint64_t word[WARP_LANES * WIDEST / BANK_BYTES];
    int used[BANKS] = {0}, k = 0, most = 0;
    for (int i = 0; i < n; i++)
        for (int b = 0; b < bytes; b += BANK_BYTES)
            word[k++] = (place[i] + (uint64_t)b) / BANK_BYTES;
    const int words = distinct(word, k);
    for (int i = 0; i < k; i++)
        if (i == 0 || word[i] != word[i - 1]) {
            const int bank = (int)(word[i] % BANKS);
            most = ++used[bank] > most ? used[bank] : most;
        }
    l->shared_requests++;
    l->shared_cycles += (uint64_t)most;
    l->shared_ideal += (uint64_t)((words + BANKS - 1) / BANKS);
}

static void touch(gang_watch *w, gang *g, const gang_step *s, const gang_touch *t, uint32_t *mask)
{
    gang_profile *p = (gang_profile *)w;
    ig_profile_line *l = &p->counts[s - g->code->step];
    const int bytes = p->span[s - g->code->step];
    const uint64_t shared = (uintptr_t)g->shared, local = (uintptr_t)g->local;
    const uint64_t locals = g->code->code->local_bytes * (uint64_t)g->lanes;
    for (int warp = 0; warp * WARP_LANES < g->lanes && bytes; warp++) {
        uint64_t in_shared[WARP_LANES], in_global[WARP_LANES];
        int n_shared = 0, n_global = 0;
        for (uint32_t left = mask[warp]; left; left &= left - 1) {
            const uint64_t place = t->place[warp * WARP_LANES + __builtin_ctz(left)];
            if (place - shared < p->shared_bytes)
                in_shared[n_shared++] = place - shared;
            else if (place - local >= locals)
                in_global[n_global++] = place;
        }
        if (n_shared)
            count_shared(l, in_shared, n_shared, bytes);
        if (n_global)
            count_global(l, in_global, n_global, bytes);
        l->atomics += t->kind == TOUCH_ATOMIC && n_shared + n_global;
    }
}

/* ---- instructions ---- */

/* Marks of the end of a level are not hardware instructions. */
static bool is_mark(int op)
{
    return op == CODE_ELSE || op == CODE_END_IF || op == CODE_NEXT || op == CODE_AGAIN ||
           op == CODE_END_LOOP || op == CODE_CALL || op == CODE_END_CALL || op == CODE_LOOP;
}

/* A branch diverges if some lanes of a warp take it and others do not. */
static void count_branch(ig_profile_line *l, const gang *g, const gang_step *s, int warp)
{
    const uint32_t here = g->mask[warp];
    uint32_t yes = 0;
    for (uint32_t left = here; left; left &= left - 1) {
        const int lane = warp * WARP_LANES + __builtin_ctz(left);
        yes |= (uint32_t)(g->memory[s->a + (s->ones & GANG_ONE_A ? 0 : lane)] != 0)
               << lane % WARP_LANES;
    }
    l->branches++;
    l->divergent += yes && yes != here;
}

static bool step(gang_watch *w, gang *g, const gang_step *s)
{
    gang_profile *p = (gang_profile *)w;
    ig_profile_line *l = &p->counts[s - g->code->step];
    const ig_profile_line **before = &p->before[g->first / WARP_LANES];
    if (s->op == CODE_NEXT || g->pc == 1) /* a new iteration, a new block */
        *before = NULL;
    if (is_mark(s->op) || !g->any)
        return true;
    const bool comes = !*before || (*before)->line != l->line || (*before)->file != l->file;
    *before = l;
    for (int warp = 0; warp * WARP_LANES < g->lanes; warp++) {
        if (!g->mask[warp])
            continue;
        l->runs += comes;
        l->instructions++;
        l->lanes += (uint64_t)__builtin_popcount(g->mask[warp]);
        l->barriers += s->op == CODE_BARRIER;
        if (s->op == CODE_IF || s->op == CODE_WHILE)
            count_branch(l, g, s, warp);
    }
    return true;
}

/* ---- beginning and end ---- */

/* Consecutive loads or stores of the parts of a vector are one request of up to 16 bytes. */
static void find_spans(const lane_code *c, uint8_t *span)
{
    for (int k = 0; k < c->n_inst; k++) {
        const code_inst *i = &c->inst[k];
        if (i->op != CODE_LOAD && i->op != CODE_STORE && i->op != CODE_ATOMIC)
            continue;
        const int each = (int)ig_dtype_bytes((ig_dtype)i->to);
        const int most = i->align > WIDEST ? WIDEST : (int)i->align;
        int all = each;
        while (i->op != CODE_ATOMIC && all + each <= most && k + 1 < c->n_inst) {
            const code_inst *next = &c->inst[k + 1];
            if (next->op != i->op || next->to != i->to || next->a != i->a || next->b != i->b ||
                next->scale != i->scale || next->offset != i->offset + all)
                break;
            all += each;
            k++;
        }
        span[i - c->inst] = (uint8_t)all;
    }
}

gang_profile *gang_profile_new(const gang_code *c, const gang_launch *l, ig_profile_line *counts)
{
    gang_profile *p = memory_new(sizeof *p);
    uint8_t *span = memory_new((size_t)c->code->n_inst + 1);
    if (!p || !span) {
        memory_free(p);
        memory_free(span);
        return NULL;
    }
    find_spans(c->code, span);
    *p = (gang_profile){.watch = {.touch = touch, .step = step},
                        .code = c,
                        .shared_bytes = c->code->shared_bytes + l->dynamic_bytes,
                        .counts = counts,
                        .span = span};
    return p;
}

void gang_profile_free(gang_profile *p)
{
    if (p)
        memory_free(p->span);
    memory_free(p);
}
