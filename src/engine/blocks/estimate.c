/* Estimates the bytes that a stage reads, from some of its blocks, and the cost of the stage. */
#include "engine/blocks/plan.h"

#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES \
    ((uint64_t)128 << 20) /* of a block's sources and results, unless the limit is small */

uint64_t root_bytes(const ig_array *x)
{
    return (uint64_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
}

uint64_t step_bytes(const step *s)
{
    return (uint64_t)box_size(&s->want, s->root->view.ndim) *
           ig_dtype_bytes((ig_dtype)s->root->dtype);
}

uint64_t plan_block_bytes(uint64_t limit)
{
    const char *asked = getenv("IG_BLOCK_BYTES");
    const long long own = asked ? atoll(asked) : 0;
    const uint64_t most = own > 0 ? (uint64_t)own : BLOCK_BYTES;
    return limit / 3 < most ? limit / 3 : most;
}

/* A stage that reads no source is cut by the elements that it makes. */
uint64_t stage_load_bytes(const stage *s)
{
    uint64_t bytes = 0, made = 0; /* made: the largest step */
    bool reads = false;
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        reads = reads || at->kind == STEP_SOURCE;
        if (at->wanted && at->kind == STEP_SOURCE)
            bytes += step_bytes(at);
        else if (at->wanted && step_bytes(at) > made)
            made = step_bytes(at);
    }
    return reads ? bytes : made;
}

/* The number of blocks, if all were as long as the first. */
static double even_blocks(const stage *s)
{
    double n = s->part && s->part < stage_row(s) ? (double)stage_row(s) / (double)s->part : 1;
    for (int i = 0; i < s->root[0]->view.ndim; i++)
        if (s->tile[i] < s->root[0]->view.shape[i])
            n *= (double)s->root[0]->view.shape[i] / (double)s->tile[i];
    return n;
}

/* Sets the blocks that the steps want for a block of the stage, and marks the cuts. */
static void demand(stage *s, int64_t block, box *want)
{
    const int64_t parts = stage_parts(s);
    stage_want(s, block / parts, block % parts, want);
    steps_demand(&s->work, want, s->all_cut ? 0 : even_blocks(s));
}

/* Adds what `times` blocks like the current one read of each source, if the steps wanted `before` for the block before it, and
 * what they need of it. */
static void add_reads(const stage *s, const box *before, double times, double *reads)
{
    for (int i = 0; i < s->work.n; i++) {
        const step *from = &s->work.step[i];
        if (!from->wanted || from->kind != STEP_SOURCE)
            continue;
        const int ndim = from->root->view.ndim;
        box both, rest = from->want;
        if (before && (s->ahead || box_same(&before[i], &from->want, ndim)))
            box_reuse(&before[i], &from->want, ndim, &both, &rest);
        const double bytes = times * (double)ig_dtype_bytes((ig_dtype)from->root->dtype);
        reads[2 * i] += (double)box_size(&rest, ndim) * bytes;
        /* The same block is not read again. Parts of the same chunks are, if the source has none. */
        if (box_size(&rest, ndim) || from->asked < box_size(&from->want, ndim))
            reads[2 * i + 1] += (double)from->asked * bytes;
    }
}

/* The k-th of some blocks after the first. They are spread over all blocks, at no regular distance: every n-th block may be
 * the last one of a row. */
static int64_t sample(int64_t k, int64_t blocks)
{
    const double turn = (double)k * 0.6180339887498949;
    return 1 + (int64_t)((double)(blocks - 1) * (turn - (double)(int64_t)turn));
}

enum { SAMPLES = 12 }; /* blocks in addition to the first */

static int64_t nth_sample(int64_t k, int64_t blocks)
{
    return blocks - 1 < SAMPLES ? k : sample(k, blocks);
}

/* Marks the steps that are cut: a step that one of the blocks should not compute is cut for all. Later blocks may cut what
 * follows a step, which then is not needed. */
static void mark_cuts(stage *s, int64_t blocks, box *want, bool *needed)
{
    const int64_t n = blocks - 1 < SAMPLES ? blocks - 1 : SAMPLES;
    int cuts = -1, before;
    for (int i = 0; i < s->work.n; i++)
        s->work.step[i].cut = false;
    do {
        memset(needed, 0, (size_t)s->work.n);
        for (int64_t k = 0; k <= n; k++) {
            demand(s, k ? nth_sample(k, blocks) : 0, want);
            for (int i = 0; i < s->work.n; i++)
                needed[i] = needed[i] || s->work.step[i].wanted;
        }
        before = cuts;
        cuts = 0;
        for (int i = 0; i < s->work.n; i++)
            cuts += s->work.step[i].cut;
    } while (cuts > before && n > 0);
    for (int i = 0; i < s->work.n; i++)
        s->work.step[i].cut = s->work.step[i].cut && needed[i];
}

/* The number of tiles along each axis, then the number of parts of a tile. Later ones change first in the order of blocks.
 * Returns how many numbers there are. */
static int block_counts(const stage *s, int64_t *count)
{
    const view *v = &s->root[0]->view;
    for (int i = 0; i < v->ndim; i++)
        count[i] = (v->shape[i] + s->tile[i] - 1) / s->tile[i];
    count[v->ndim] = stage_parts(s);
    return v->ndim + 1;
}

/* Adds what blocks read that follow a step along one axis, while `inner` blocks lie on the axes after it. A block shares much
 * with the one before it along one axis, and little along another, so each is looked at alone. all: steps along this axis and
 * those before it; every n-th is along another one. */
static void add_steps_along(stage *s, int64_t all, int64_t n, int64_t inner, box *want, box *before,
                            double *reads)
{
    enum { SAMPLES_MOST = 6 };
    const int64_t moves = all / n * (n - 1), looked = moves < SAMPLES_MOST ? moves : SAMPLES_MOST;
    for (int64_t k = 0, at = 0; k < looked; k++) {
        at = looked == moves ? at + 1 : sample(k + 1, all);
        at += at % n == 0;
        demand(s, at * inner - 1, want);
        for (int i = 0; i < s->work.n; i++)
            before[i] = s->work.step[i].want;
        demand(s, at * inner, want);
        add_reads(s, before, (double)moves / (double)looked, reads);
        const uint64_t load = stage_load_bytes(s);
        s->load = load > s->load ? load : s->load;
    }
}

ig_status stage_estimate(stage *s)
{
    const int64_t blocks = stage_tiles(s) * stage_parts(s);
    box *want = memory_get((size_t)(s->work.n_end + 1) * sizeof *want);
    box *before = memory_get((size_t)(s->work.n + 1) * sizeof *before);
    double *reads = memory_new((size_t)(2 * s->work.n + 1) * sizeof *reads);
    bool *needed = memory_get((size_t)s->work.n + 1);
    const bool room = want && before && reads && needed;
    if (room) {
        mark_cuts(s, blocks, want, needed);
        demand(s, 0, want);
        add_reads(s, NULL, 1, reads);
        s->load = stage_load_bytes(s);
    }
    int64_t count[IG_MAX_NDIM + 1], all = 1;
    const int axes = block_counts(s, count);
    for (int i = 0; room && i < axes && blocks > 1; i++) {
        all *= count[i];
        if (count[i] > 1)
            add_steps_along(s, all, count[i], blocks / all, want, before, reads);
    }
    s->read = 0;
    for (int i = 0; room && i < s->work.n; i++) {
        uint64_t *to[] = {&s->work.step[i].read, &s->work.step[i].exact};
        for (int k = 0; k < 2; k++)
            *to[k] = reads[2 * i + k] < 0x1p60 ? (uint64_t)reads[2 * i + k] : (uint64_t)1 << 60;
        s->read += s->work.step[i].read;
    }
    memory_free(want);
    memory_free(before);
    memory_free(reads);
    memory_free(needed);
    return room ? IG_OK : IG_ERR_MEMORY;
}

/* Bytes of sources that the cut steps need, each once: a lower bound of what their stages read. */
static uint64_t cut_bytes(const stage *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        if (!at->cut)
            continue;
        /* Steps are in order, inputs first, so one pass from the cut step down finds its sources. */
        unsigned char *mark = memory_new((size_t)s->work.n);
        if (!mark)
            return UINT64_MAX;
        mark[i] = 1;
        for (int k = i; k >= 0; k--) {
            if (!mark[k])
                continue;
            const step *t = &s->work.step[k];
            if (t->kind == STEP_SOURCE)
                sum += root_bytes(t->root);
            for (int j = 0; j < t->n_in; j++)
                if (t->in[j].from >= 0)
                    mark[t->in[j].from] = 1;
        }
        memory_free(mark);
        sum += root_bytes(at->root);
    }
    return sum;
}

copy_to stage_copies(const block_plan *p, const stage *s, const step *from)
{
    enum { BLOCKS_MOST = 4 };
    const uint64_t bytes = root_bytes(from->root), block = plan_block_bytes(p->limit / BLOCKS_MOST);
    if (from->kind != STEP_SOURCE || from->source != from->root->attr.source ||
        s->root[0] == from->root)
        return COPY_NOT;
    if (bytes <= block * BLOCKS_MOST && bytes <= p->limit / (2 * p->part))
        return from->read / 2 > bytes ? COPY_TO_MEMORY : COPY_NOT;
    /* Parts of a mapped file are in one piece already. */
    return !from->source->data && from->read / 2 > bytes + from->exact / 2 ? COPY_TO_FILE
                                                                           : COPY_NOT;
}

/* True if blocks of a source that is in memory or a mapped file must be copied. */
static bool is_gathered(const step *from)
{
    return from->kind == STEP_SOURCE && from->source->data &&
           !box_is_run(&from->want, from->source->ndim, from->source->shape);
}

uint64_t stage_cost(const block_plan *p, const stage *s)
{
    /* GATHER_SHARE: copying costs this part of reading, so it decides between plans that read about as much. */
    enum { BLOCK_SHARE = 512, GATHER_SHARE = 4 };
    uint64_t sum = cut_bytes(s);
    if (sum == UINT64_MAX)
        return sum;
    sum += (uint64_t)(stage_tiles(s) * stage_parts(s)) * (plan_block_bytes(p->limit) / BLOCK_SHARE);
    for (int i = 0; i < s->work.n; i++) {
        const step *from = &s->work.step[i];
        const copy_to copy = stage_copies(p, s, from);
        sum += copy == COPY_NOT ? from->read + (is_gathered(from) ? from->read / GATHER_SHARE : 0)
               : copy == COPY_TO_MEMORY ? root_bytes(from->root)
                                        : 2 * root_bytes(from->root) + from->exact;
    }
    return sum;
}

bool stage_continues(const stage *s) { return s->join == CUT_CARRY || s->join == CUT_UPDATE; }
