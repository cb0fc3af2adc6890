/* The plan: which stages an evaluation has, and how each is cut into blocks.
 *
 * A stage computes as much as possible in one pass over its sources. It begins as one tile. While a tile takes more
 * memory than it should, the axis is cut that makes the stage read least. A costly step that the blocks of a stage would
 * compute again and again becomes a stage of its own, whose result is kept in memory, or in a file if it is large. A
 * reduction or a product may instead be cut into parts of its sums. */
#include "engine/blocks/blocks.h"
#include "engine/blocks/crew.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/team.h"
#include "engine/backend/cpu/cpu.h"
#include "engine/backend/pool.h"
#include "engine/ops/complex.h"
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES \
    ((uint64_t)128 << 20) /* of a block's sources and results, unless the limit is small */
#define SPREAD_BYTES \
    ((uint64_t)64 << 10) /* of a stage, for each rank of a team that gets a part of it */
#define BLOCKS_SEEN 4096 /* blocks that are looked at to find the largest */

static uint64_t bytes_of(const ig_array *x)
{
    return (uint64_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
}

static uint64_t box_bytes(const step *s)
{
    return (uint64_t)box_size(&s->want, s->root->view.ndim) *
           ig_dtype_bytes((ig_dtype)s->root->dtype);
}

/* The bytes that a block's sources and results should take at most: IG_BLOCK_BYTES, or a part of the limit. */
static uint64_t block_bytes(uint64_t limit)
{
    const char *asked = getenv("IG_BLOCK_BYTES");
    const long long own = asked ? atoll(asked) : 0;
    const uint64_t most = own > 0 ? (uint64_t)own : BLOCK_BYTES;
    return limit / 3 < most ? limit / 3 : most;
}

/* ---- estimates ---- */

/* Of the sources' elements that the current block needs. */
static uint64_t load_bytes(const stage *s)
{
    uint64_t bytes = 0;
    for (int i = 0; i < s->work.n; i++)
        if (s->work.step[i].wanted && s->work.step[i].kind == STEP_SOURCE)
            bytes += box_bytes(&s->work.step[i]);
    return bytes;
}

/* Sets what the steps want for a block, and marks the cuts. */
static void demand(stage *s, int64_t block, box *want)
{
    const int64_t parts = stage_parts(s);
    stage_want(s, block / parts, block % parts, want);
    steps_demand(&s->work, want, s->all_cut ? 0 : (double)(stage_tiles(s) * parts));
}

/* Adds what the current block reads of each source, if the steps wanted `before` for the block before it, and what it
 * needs of it. */
static void add_reads(const stage *s, const box *before, double *reads)
{
    for (int i = 0; i < s->work.n; i++) {
        const step *from = &s->work.step[i];
        if (!from->wanted || from->kind != STEP_SOURCE)
            continue;
        const int ndim = from->root->view.ndim;
        box both, rest = from->want;
        if (before && s->ahead)
            box_reuse(&before[i], &from->want, ndim, &both, &rest);
        const double bytes = (double)ig_dtype_bytes((ig_dtype)from->root->dtype);
        reads[2 * i] += (double)box_size(&rest, ndim) * bytes;
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

/* Estimates load and read of a stage from some of its blocks, and marks its cuts. */
static ig_status estimate(stage *s)
{
    enum { SAMPLES = 12 };
    const int64_t blocks = stage_tiles(s) * stage_parts(s);
    const int64_t n = blocks - 1 < SAMPLES ? blocks - 1 : SAMPLES; /* beside the first */
    box *want = memory_get((size_t)(s->work.n_end + 1) * sizeof *want);
    box *before = memory_get((size_t)(s->work.n + 1) * sizeof *before);
    double *first = memory_new((size_t)(2 * s->work.n + 1) * sizeof *first);
    double *reads = memory_new((size_t)(2 * s->work.n + 1) * sizeof *reads);
    const bool room = want && before && first && reads;
    if (room) {
        demand(s, 0, want);
        add_reads(s, NULL, first);
        s->load = load_bytes(s);
    }
    for (int64_t k = 1; room && k <= n; k++) {
        const int64_t block = n < SAMPLES ? k : sample(k, blocks);
        demand(s, block - 1, want);
        for (int i = 0; i < s->work.n; i++)
            before[i] = s->work.step[i].want;
        demand(s, block, want);
        add_reads(s, before, reads);
        const uint64_t load = load_bytes(s);
        s->load = load > s->load ? load : s->load;
    }
    s->read = 0;
    for (int i = 0; room && i < s->work.n; i++) {
        uint64_t *to[] = {&s->work.step[i].read, &s->work.step[i].exact};
        for (int k = 0; k < 2; k++) {
            const double others = n > 0 ? reads[2 * i + k] / (double)n * (double)(blocks - 1) : 0;
            const double all = first[2 * i + k] + others;
            *to[k] = all < 0x1p60 ? (uint64_t)all : (uint64_t)1 << 60;
        }
        s->read += s->work.step[i].read;
    }
    memory_free(want);
    memory_free(before);
    memory_free(first);
    memory_free(reads);
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
                sum += bytes_of(t->root);
            for (int j = 0; j < t->n_in; j++)
                if (t->in[j].from >= 0)
                    mark[t->in[j].from] = 1;
        }
        memory_free(mark);
        sum += bytes_of(at->root);
    }
    return sum;
}

/* Where a source is copied to, because blocks would read its chunks again and again: to memory if it is small, else to a
 * file, from which any block is read in one piece. */
typedef enum copy_to { COPY_NOT, COPY_TO_MEMORY, COPY_TO_FILE } copy_to;

static copy_to copies(const block_plan *p, const stage *s, const step *from)
{
    enum { FEW = 4 }; /* blocks */
    const uint64_t bytes = bytes_of(from->root), block = block_bytes(p->limit / FEW);
    if (from->kind != STEP_SOURCE || from->source != from->root->attr.source ||
        s->root[0] == from->root)
        return COPY_NOT;
    if (bytes <= block * FEW && bytes <= p->limit / 8)
        return from->read / 2 > bytes ? COPY_TO_MEMORY : COPY_NOT;
    return from->read / 2 > bytes + from->exact / 2 ? COPY_TO_FILE : COPY_NOT;
}

/* Bytes that the stage reads, or will if sources are copied, and those of its cut steps. A block costs as much as some
 * more bytes. */
static uint64_t cost(const block_plan *p, const stage *s)
{
    enum { BLOCK_SHARE = 512 };
    uint64_t sum = cut_bytes(s);
    if (sum == UINT64_MAX)
        return sum;
    sum += (uint64_t)(stage_tiles(s) * stage_parts(s)) * (block_bytes(p->limit) / BLOCK_SHARE);
    for (int i = 0; i < s->work.n; i++) {
        const step *from = &s->work.step[i];
        const copy_to copy = copies(p, s, from);
        sum += copy == COPY_NOT         ? from->read
               : copy == COPY_TO_MEMORY ? bytes_of(from->root)
                                        : 2 * bytes_of(from->root) + from->exact;
    }
    return sum;
}

/* True if the graph of a part reads what the parts before it have left. */
static bool continues(const stage *s) { return s->kind == STAGE_SCAN || s->kind == STAGE_TABLE; }

/* ---- tiles ---- */

static int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/* A shorter length of axis i: about half, at a multiple of the sink's chunk. 0: it cannot be cut. */
static int64_t shorter(const block_plan *p, const stage *s, int axis)
{
    int64_t unit = 1;
    for (int i = 0; i < s->n_root && s->to == TO_SINK; i++) {
        const ig_ints chunk = p->sink[s->first_sink + i].chunk;
        const int64_t own = chunk.v && chunk.n == s->root[i]->view.ndim ? chunk.v[axis] : 1;
        unit = unit % own == 0 ? unit : unit * own; /* a multiple of both */
    }
    /* Where the tiles are multiples of a source's chunks, no chunk is read twice. */
    int64_t best = 0;
    for (int i = 0; i < s->work.n; i++) {
        const step *from = &s->work.step[i];
        for (int a = 0; from->source && a < from->root->view.ndim; a++) {
            const int64_t chunk = round_up(from->source->chunk[a], unit);
            const int64_t half = (s->tile[axis] + 1) / 2 / chunk * chunk;
            if (from->source->chunk[a] > 1 && half > best && half < s->tile[axis])
                best = half;
        }
    }
    if (best)
        return best;
    const int64_t half = (s->tile[axis] + 1) / 2, even = half >= unit ? half / unit * unit : unit;
    return even < s->tile[axis] ? even : 0;
}

/* Bytes of a tile of all roots. Halves count as the floats in which they are summed, if they are `summed`. */
static uint64_t tile_bytes(const stage *s, bool summed)
{
    const box b = stage_block(s, 0, 0);
    const int64_t n = box_size(&b, s->root[0]->view.ndim);
    uint64_t bytes = 0;
    for (int i = 0; i < s->n_root; i++) {
        const ig_dtype dtype = (ig_dtype)s->root[i]->dtype;
        bytes += (uint64_t)n * ig_dtype_bytes(summed && dtype_is_half(dtype) ? IG_F32 : dtype);
    }
    return bytes;
}

/* True if the ranks of a team get about as many blocks, or if the stage is so small that this would not be worth it. */
static bool is_spread(const stage *s)
{
    const uint64_t ranks = team_shares() ? (uint64_t)ig_team_size() : 1;
    const int64_t parts = s->kind == STAGE_FOLD ? stage_parts(s) : 1;
    /* Blocks are not equally long. Of a product, more tiles would read more. */
    const uint64_t wanted = ranks == 1 || s->kind == STAGE_PRODUCT ? ranks : 4 * ranks;
    return (uint64_t)(stage_tiles(s) * parts) >= wanted ||
           s->load + tile_bytes(s, false) < ranks * SPREAD_BYTES;
}

/* The cost, for which other ranks wait if one of them does all. */
static uint64_t team_cost(const block_plan *p, const stage *s)
{
    const uint64_t all = cost(p, s), ranks = team_shares() ? (uint64_t)ig_team_size() : 1;
    if (ranks == 1 || is_spread(s))
        return all;
    return all < UINT64_MAX / ranks ? all * ranks : all;
}

/* True if a root is computed row by row. */
static bool has_rows(const stage *s)
{
    for (int i = 0; i < s->n_root; i++)
        for (int k = 0; k < s->work.n; k++)
            if (s->work.step[k].root == s->root[i] && s->work.step[k].kind == STEP_ROWS)
                return true;
    return false;
}

/* The next shorter length of an axis of tiles; of axis `ndim`, of the parts of a scan. 0: there is none. */
static int64_t next_length(const block_plan *p, const stage *s, int axis)
{
    const int ndim = s->root[0]->view.ndim;
    if (s->kind == STAGE_TABLE && axis < ndim && !table_cuts(s->root[0]))
        return 0;
    if (s->kind == STAGE_TILES && axis == ndim - 1 && has_rows(s))
        return 0;
    if (!continues(s) || axis < ndim - (s->kind == STAGE_SCAN))
        return axis < ndim ? shorter(p, s, axis) : 0;
    int64_t unit = stage_unit(s);
    const ig_ints chunk = s->to == TO_SINK ? p->sink[s->first_sink].chunk : (ig_ints){NULL, 0};
    if (s->kind == STAGE_SCAN && chunk.v &&
        chunk.v[ndim - 1] > unit) /* a power of 2: see block_plan_make */
        unit = chunk.v[ndim - 1];
    return axis == ndim && s->part > unit ? s->part / 2 : 0;
}

/* Cuts tiles, and rows of a scan, until a block takes at most `most` bytes. *fits: it does. */
static ig_status cut_tiles(const block_plan *p, stage *s, uint64_t most, bool *fits)
{
    const int ndim = s->root[0]->view.ndim;
    TRY(estimate(s));
    for (;;) {
        const uint64_t out = tile_bytes(s, false);
        *fits = s->load + out <= most;
        if (*fits && (continues(s) || is_spread(s)))
            return IG_OK;
        int axis = -1;
        int64_t length = 0;
        uint64_t least = UINT64_MAX;
        for (int i = 0; i <= ndim; i++) {
            int64_t *cut = i < ndim ? &s->tile[i] : &s->part;
            const int64_t old = *cut, half = next_length(p, s, i);
            const bool grows = s->kind == STAGE_TABLE && i == ndim; /* the table stays as large */
            if (!half || (grows && out > most / 2))
                continue;
            const uint64_t load = s->load;
            *cut = half;
            TRY(estimate(s));
            const uint64_t now =
                s->load < load || out > most / 2 || *fits ? cost(p, s) : UINT64_MAX;
            if (now < least) {
                least = now;
                axis = i;
                length = half;
            }
            *cut = old;
            TRY(estimate(s));
        }
        if (axis < 0)
            return IG_OK;
        *(axis < ndim ? &s->tile[axis] : &s->part) = length;
        TRY(estimate(s));
    }
}

/* ---- tiles of a crew ---- */

/* Blocks of the stage that are computed at the same time. */
static uint64_t in_flight(const block_plan *p, const stage *s)
{
    if (p->n_dev == 0 ||
        (s->kind != STAGE_TILES && s->kind != STAGE_FOLD && s->kind != STAGE_PRODUCT))
        return 1;
    return (uint64_t)(s->ahead ? p->workers : p->n_dev);
}

/* True if parts of one product follow each other on one device, and only their sources are read ahead. */
static bool is_chained(const block_plan *p, const stage *s)
{
    return s->kind == STAGE_PRODUCT && p->n_dev == 1;
}

/* Bytes of sources that the blocks in flight, and the next one, hold. Neighbours share what both need; at the end of a row
 * of tiles, nothing is shared. After estimate. */
static uint64_t window_bytes(const block_plan *p, const stage *s)
{
    const int64_t blocks = stage_tiles(s) * stage_parts(s);
    const uint64_t each = blocks > 1 && s->kind != STAGE_PRODUCT && s->read > s->load
                              ? (s->read - s->load) / (uint64_t)(blocks - 1)
                              : s->load;
    const uint64_t n = in_flight(p, s), shared = s->load > each ? s->load - each : 0;
    return s->load + shared + n * each;
}

/* What a crew's stage costs, in bytes: those that are read, those of the first block, which nothing overlaps, and some for
 * each block. Products in a fixed order add a tile for each block of their sums. */
static uint64_t crew_cost(const block_plan *p, const stage *s)
{
    enum { BLOCK_COST = 8 << 20 };
    const uint64_t read = cost(p, s), blocks = (uint64_t)(stage_tiles(s) * stage_parts(s));
    if (read == UINT64_MAX)
        return read;
    const uint64_t all = read + s->load + blocks * BLOCK_COST;
    return s->kind == STAGE_PRODUCT && ig_math_mode() == IG_MATH_SAME ? 2 * all : all;
}

/* The lengths of the two longest axes of a crew's tiles, and of its parts. */
typedef struct crew_tile {
    int axis[2]; /* -1: there is none */
    int64_t length[2], part;
} crew_tile;

static void set_tile(stage *s, const crew_tile *t)
{
    for (int i = 0; i < 2; i++)
        if (t->axis[i] >= 0)
            s->tile[t->axis[i]] = t->length[i];
    s->part = t->part;
}

static void longest_axes(const stage *s, crew_tile *t)
{
    t->axis[0] = t->axis[1] = -1;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < s->root[0]->view.ndim; i++)
            if (i != t->axis[0] && (t->axis[k] < 0 || s->tile[i] > s->tile[t->axis[k]]))
                t->axis[k] = i;
    for (int k = 0; k < 2; k++)
        t->length[k] = t->axis[k] >= 0 ? s->tile[t->axis[k]] : 0;
}

/* Whether the blocks in flight take at most `most` bytes, and each at most `block`. */
static ig_status fits_crew(const block_plan *p, stage *s, uint64_t most, uint64_t block, bool *fits)
{
    TRY(estimate(s));
    const uint64_t out = tile_bytes(s, true), n = is_chained(p, s) ? 1 : in_flight(p, s);
    const bool enough =
        p->n_dev == 1 || stage_tiles(s) * stage_parts(s) >= (int64_t)(2 * p->workers);
    *fits = enough && window_bytes(p, s) + 3 * n * out <= most && s->load + out <= block;
    return IG_OK;
}

/* Cuts tiles and parts such that a crew reads least. */
static ig_status cut_for_crew(const block_plan *p, stage *s, uint64_t most, uint64_t block,
                              bool *fits)
{
    crew_tile first = {.part = s->part}, best;
    const int64_t unit = s->kind == STAGE_TILES ? 0 : stage_unit(s);
    const int ahead = s->ahead;
    uint64_t least = UINT64_MAX;
    longest_axes(s, &first);
    for (first.part = unit; unit && first.part < stage_row(s);)
        first.part *= 2;
    best = first;
    s->ahead = 1;
    for (crew_tile t = first;;) {
        bool can;
        set_tile(s, &t);
        TRY(fits_crew(p, s, most, block, &can));
        const uint64_t now = can ? crew_cost(p, s) : UINT64_MAX;
        if (now < least) {
            least = now;
            best = t;
        }
        /* The next combination: shorter parts, else shorter along the second axis, else along the first. */
        if (t.part > unit) {
            t.part /= 2;
            continue;
        }
        t.part = first.part;
        int i = 1;
        while (i >= 0 && (t.axis[i] < 0 || !(t.length[i] = shorter(p, s, t.axis[i]))))
            t.length[i] = first.length[i], i--;
        if (i < 0)
            break;
        set_tile(s, &t);
    }
    *fits = least < UINT64_MAX;
    set_tile(s, *fits ? &best : &first);
    s->ahead = ahead;
    return estimate(s);
}

static void whole_tile(stage *s)
{
    const view *v = &s->root[0]->view;
    for (int i = 0; i < v->ndim; i++)
        s->tile[i] = v->shape[i] > 0 ? v->shape[i] : 1;
}

/* ---- parts ---- */

/* Cuts the sums of a reduction or a product into parts, such that a block takes at most `most` bytes. */
static ig_status cut_parts(const block_plan *p, stage *s, uint64_t most, bool *fits)
{
    const int ndim = s->root[0]->view.ndim;
    const int64_t row = stage_row(s), unit = stage_unit(s);
    s->part = unit;
    while (s->part < row)
        s->part *= 2;
    *fits = false;
    TRY(estimate(s));
    const bool product = s->kind == STAGE_PRODUCT;
    for (;;) { /* the tile is held while its parts are read, and one rank adds all its parts */
        const bool large = tile_bytes(s, false) > most / (product ? 4 : 3);
        if (!large && (s->kind == STAGE_FOLD || is_spread(s)))
            break;
        int axis = 0;
        for (int i = 1; i < ndim; i++)
            axis = s->tile[i] > s->tile[axis] ? i : axis;
        const int64_t half = ndim ? shorter(p, s, axis) : 0;
        if (!half && large)
            return IG_OK;
        if (!half)
            break;
        s->tile[axis] = half;
    }
    TRY(estimate(s));
    while (s->kind == STAGE_FOLD && !is_spread(s) && s->part > unit) {
        s->part /= 2;
        TRY(estimate(s));
    }
    /* A product reads less the larger its tiles are, however short the parts. */
    while (product && s->load > most / 16 && s->part > 4 * unit) {
        s->part /= 2;
        TRY(estimate(s));
    }
    int64_t useful = s->part;
    while (s->load > most / 2) { /* shorter parts, or smaller tiles, whichever reads less */
        const uint64_t load = s->load;
        int64_t *best = NULL, length = 0;
        uint64_t least = UINT64_MAX;
        for (int i = -1; i < ndim; i++) {
            int64_t *at = i < 0 ? &s->part : &s->tile[i];
            const int64_t old = *at;
            const int64_t half = i >= 0 ? shorter(p, s, i) : s->part > unit ? s->part / 2 : 0;
            if (!half)
                continue;
            *at = half;
            TRY(estimate(s));
            /* Parts that lie in the same chunks read as much, until they are shorter still. */
            const uint64_t now = s->load < load || i < 0 ? cost(p, s) : UINT64_MAX;
            if (now < least) {
                least = now;
                best = at;
                length = half;
            }
            *at = old;
        }
        if (!best) {
            TRY(estimate(s));
            break;
        }
        *best = length;
        TRY(estimate(s));
        if (s->load < load)
            useful = s->part;
    }
    if (s->load > most / 2 && s->load <= p->limit / 4) { /* shorter parts read no less */
        s->part = useful;
        TRY(estimate(s));
    }
    *fits = s->load <= most / 2;
    return IG_OK;
}

/* ---- memory ---- */

/* A leaf that stands for a block, without memory. */
static ig_array *stand_in(ig_dtype dtype, int ndim, const int64_t *shape)
{
    view v;
    view_contiguous(&v, ndim, shape);
    buffer *b = buffer_new_opaque((size_t)view_size(&v) * ig_dtype_bytes(dtype));
    return b ? array_leaf(dtype, ndim, shape, b) : NULL;
}

/* Bytes that programs allocate while they run. */
static uint64_t launch_bytes(const backend *dev, const schedule *s)
{
    uint64_t most = 0;
    for (int i = 0; dev == &backend_cpu && i < s->n_program; i++) {
        const program *p = &s->program[i];
        const bool sorts = p->kind == PROGRAM_SORT || p->kind == PROGRAM_ARGSORT;
        const uint64_t bytes = sorts ? cpu_sort_bytes(p) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Bytes of the outputs and temporaries of the graph of a block. */
static ig_status graph_bytes(ig_array *const *made, int n, uint64_t *bytes)
{
    engine *e = engine_enter();
    const backend *dev = engine_device_of(made[0]);
    ig_status status = graph_order(&e->g, made, n);
    e->g.math = ig_math_mode();
    if (status == IG_OK && e->g.n_node > 0)
        status = graph_key(&e->g);
    *bytes = 0;
    if (status == IG_OK && e->g.n_node > 0) {
        const schedule_rules rules = executor_of(dev)->rules(dev);
        schedule *s = schedule_build(&e->g, &rules);
        if (s)
            *bytes = (uint64_t)(s->arena_bytes + s->out_bytes) + launch_bytes(dev, s);
        else
            status = error_waiting(IG_ERR_MEMORY);
        schedule_free(s);
    }
    engine_leave();
    return status;
}

/* What the parts before a part have left. ends: the blocks of some part. */
static ig_array *stand_in_sum(const stage *s, int64_t tile, ig_array *const *ends)
{
    ig_array *out[2];
    if (!stage_build(s, tile, 0, 0, ends, NULL, out))
        return NULL;
    const ig_array *sum = out[s->kind == STAGE_SCAN];
    return stand_in((ig_dtype)sum->dtype, sum->view.ndim, sum->view.shape);
}

static int call_inputs(const stage *s)
{
    int n = 0;
    for (int i = 0; i < s->work.n; i++)
        n += s->work.step[i].kind == STEP_CALL ? s->work.step[i].n_in : 0;
    return n;
}

/* Adds the inputs of functions of blocks, which are evaluated first, to the n results of a block; *bytes: what the
 * functions hold and return. */
static ig_status add_calls(const stage *s, ig_array **out, int *n, uint64_t *bytes)
{
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        if (at->kind != STEP_CALL || !at->wanted)
            continue;
        if (!steps_inputs(&s->work, i, out + *n))
            return error_waiting(IG_ERR_MEMORY);
        *n += at->n_in;
        *bytes += box_bytes(at) + at->source->scratch;
    }
    return IG_OK;
}

/* Bytes of the graph of a block, which is built without its data. */
static ig_status block_graph_bytes(stage *s, int64_t block, uint64_t *bytes)
{
    const int64_t parts = stage_parts(s);
    box *want = memory_get((size_t)(s->work.n_end + 1) * sizeof *want);
    ig_array **loaded = memory_new((size_t)(s->work.n + 1) * sizeof *loaded);
    ig_array **ends = memory_new((size_t)(s->work.n_end + 3) * sizeof *ends);
    ig_array **out = memory_new((size_t)(s->n_root + 3 + call_inputs(s)) * sizeof *out);
    ig_status status = want && loaded && ends && out ? ig_scope_begin() : IG_ERR_MEMORY;
    if (status == IG_OK) {
        const int64_t skip = stage_want(s, block / parts, block % parts, want);
        steps_demand(&s->work, want, -1);
        for (int i = 0; i < s->work.n && status == IG_OK; i++) {
            const step *at = &s->work.step[i];
            if (!at->wanted || (!at->source && at->kind != STEP_READY))
                continue;
            int64_t shape[IG_MAX_NDIM];
            for (int a = 0; a < at->root->view.ndim; a++)
                shape[a] = at->want.hi[a] - at->want.lo[a];
            loaded[i] = stand_in((ig_dtype)at->root->dtype, at->root->view.ndim, shape);
            status = loaded[i] ? IG_OK : error_waiting(IG_ERR_MEMORY);
        }
        if (status == IG_OK)
            status = steps_build(&s->work, want, loaded, ends);
        ig_array *sum = NULL;
        if (continues(s) && block % parts && status == IG_OK &&
            !(sum = stand_in_sum(s, block / parts, ends)))
            status = error_waiting(IG_ERR_MEMORY);
        int n = status == IG_OK ? stage_build(s, block / parts, block % parts, skip, ends, sum, out)
                                : 0;
        if (status == IG_OK && n == 0)
            status = error_waiting(IG_ERR_MEMORY);
        uint64_t called = 0;
        if (status == IG_OK)
            status = add_calls(s, out, &n, &called);
        if (status == IG_OK)
            status = graph_bytes(out, n, bytes);
        *bytes += called;
        ig_scope_end();
    }
    memory_free(want);
    memory_free(loaded);
    memory_free(ends);
    memory_free(out);
    return status;
}

/* Sets load to the most that a block needs, and *largest to that block. Looks at no more than BLOCKS_SEEN blocks, which
 * are enough to see how blocks lie on chunks. */
static ig_status find_largest(stage *s, int64_t *largest)
{
    const int64_t parts = stage_parts(s), blocks = stage_tiles(s) * parts;
    const int64_t by = blocks / BLOCKS_SEEN + 1;
    box *want = memory_get((size_t)(s->work.n_end + 1) * sizeof *want);
    if (!want)
        return IG_ERR_MEMORY;
    s->load = 0;
    for (int64_t block = 0; block < blocks; block += by) {
        stage_want(s, block / parts, block % parts, want);
        steps_demand(&s->work, want, -1);
        const uint64_t load = load_bytes(s);
        if (load > s->load) {
            s->load = load;
            *largest = block;
        }
    }
    memory_free(want);
    return IG_OK;
}

/* Sets peak: the graph of a block, its sources and those of the next, and results that are written or joined. */
static ig_status measure(const block_plan *p, stage *s)
{
    int64_t largest = 0;
    uint64_t first, other = 0;
    TRY(find_largest(s, &largest));
    TRY(block_graph_bytes(s, 0, &first));
    if (continues(s) && stage_parts(s) > 1 && largest % stage_parts(s) == 0)
        largest++; /* the first part of a row is a smaller graph */
    if (largest)
        TRY(block_graph_bytes(s, largest, &other));
    /* A fold has values of at most log2(parts) parts at a time, each of them two arrays. */
    uint64_t values = s->kind == STAGE_TABLE ? 4 : 2; /* tables may have one more element */
    for (int64_t n = s->kind == STAGE_FOLD ? stage_parts(s) : 0; n > 0; n /= 2)
        values += 4;
    uint64_t scratch = 0;
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        if (at->kind == STEP_SOURCE && at->source->scratch > scratch)
            scratch = at->source->scratch;
    }
    for (int i = 0; i < s->n_root && s->to == TO_SINK; i++)
        scratch += p->sink[s->first_sink + i].scratch;
    /* The memory of the first part's graph may be held while that of a larger one is allocated. */
    const uint64_t graphs = continues(s) ? first + other : first > other ? first : other;
    const uint64_t n = is_chained(p, s) ? 1 : in_flight(p, s);
    s->peak = graphs * n + tile_bytes(s, true) * (values + 2 * (n - 1)) + scratch +
              (n > 1 || p->n_dev ? window_bytes(p, s) : s->load * (uint64_t)(1 + s->ahead));
    return IG_OK;
}

/* ---- stages ---- */

static ig_status add_stage(block_plan *p, ig_array *const *roots, int n, stage_to to,
                           int first_sink);

static ig_status start_stage(const block_plan *p, stage *s, stage_kind kind)
{
    steps_free(&s->work);
    s->kind = kind;
    whole_tile(s);
    s->part = continues(s) ? stage_unit(s) : 0;
    while (continues(s) && s->part < stage_row(s))
        s->part *= 2;
    if (kind == STAGE_TILES)
        return steps_make(&s->work, s->root, s->n_root, p->done, p->n_done);
    if (kind == STAGE_SORT)
        return steps_make(&s->work, s->merged, s->merged[1] ? 2 : 1, p->done, p->n_done);
    ig_array *few[INPUTS_FEW], **ends = s->root[0]->in;
    if (kind == STAGE_TABLE && !table_ends(s->root[0], ends = few))
        return error_waiting(IG_ERR_MEMORY);
    return steps_make(&s->work, ends, s->root[0]->n_in, p->done, p->n_done);
}

static ig_status cut(const block_plan *p, stage *s, uint64_t most, bool *fits)
{
    if (p->n_dev && (s->kind == STAGE_TILES || s->kind == STAGE_PRODUCT)) {
        const uint64_t usual = block_bytes(p->limit);
        const double part = most < usual ? (double)most / (double)usual : 1;
        TRY(cut_for_crew(p, s, (uint64_t)(0.95 * part * (double)p->limit),
                         getenv("IG_BLOCK_BYTES") ? most : UINT64_MAX, fits));
        if (*fits)
            return IG_OK;
    }
    return s->kind == STAGE_FOLD || s->kind == STAGE_PRODUCT ? cut_parts(p, s, most, fits)
                                                             : cut_tiles(p, s, most, fits);
}

/* Plans the stage in one way. *fits: a block takes at most `most` bytes. */
static ig_status try_way(const block_plan *p, stage *s, stage_kind kind, bool all_cut,
                         uint64_t most, bool *fits)
{
    TRY(start_stage(p, s, kind));
    s->all_cut = all_cut;
    return cut(p, s, most, fits);
}

/* Plans the stage in the way that reads least: by tiles or by parts of sums, with or without costly steps as stages of
 * their own, or always with these if `apart`, and with larger blocks if they read much less; *most becomes their bytes. If
 * none fits, the way that needs least memory. */
static ig_status choose(const block_plan *p, stage *s, uint64_t *most, bool apart)
{
    enum { APART = 1, PARTS = 2, LARGE = 4, WAYS = 8, LARGE_SHARE = 4 };
    const uint64_t usual = *most;
    const program_kind kind = node_program(s->root[0]);
    const bool folds = kind == PROGRAM_REDUCE || kind == PROGRAM_ARGREDUCE;
    const bool may_part =
        s->n_root == 1 &&
        (folds || kind == PROGRAM_CONTRACT || kind == PROGRAM_SCAN || table_fits(s->root[0])) &&
        view_size(&s->root[0]->view) > 0 && view_size(&s->root[0]->in[0]->view) > 0;
    const stage_kind parts = folds                      ? STAGE_FOLD
                             : kind == PROGRAM_SCAN     ? STAGE_SCAN
                             : kind == PROGRAM_CONTRACT ? STAGE_PRODUCT
                                                        : STAGE_TABLE;
    /* Matrix instructions for bf16 add several products at a time, so parts of a sum may round differently. */
    const bool exact = kind != PROGRAM_CONTRACT || s->root[0]->in[0]->dtype != IG_BF16 ||
                       ig_math_mode() == IG_MATH_SAME;
    /* A product reads less the larger its tiles are. */
    const uint64_t larger = kind == PROGRAM_CONTRACT ? p->limit : p->limit / LARGE_SHARE;
    const int ways = larger > usual && !getenv("IG_BLOCK_BYTES") ? WAYS : LARGE;
    int best = may_part ? APART | PARTS : APART;
    uint64_t least = UINT64_MAX;
    bool fits;
    for (int way = 0; way < ways; way++) {
        if ((way & PARTS) && (!may_part || (!exact && least != UINT64_MAX)))
            continue;
        if (apart && !(way & APART))
            continue;
        TRY(try_way(p, s, way & PARTS ? parts : STAGE_TILES, way & APART,
                    way & LARGE ? larger : usual, &fits));
        const uint64_t now = fits ? team_cost(p, s) : UINT64_MAX;
        if (now < (way & LARGE ? least / 4 * 3 : least)) {
            least = now;
            best = way;
        }
    }
    *most = best & LARGE ? larger : usual;
    return try_way(p, s, best & PARTS ? parts : STAGE_TILES, best & APART, *most, &fits);
}

/* Adds stages for the steps that are cut and for copies of sources. */
static ig_status add_cuts(block_plan *p, stage *s, bool *any)
{
    TRY(estimate(s));
    *any = false;
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        ig_array *root = at->root;
        const copy_to copy = at->cut ? COPY_NOT : copies(p, s, at);
        const bool large = at->cut ? bytes_of(root) > p->limit / 4 : copy == COPY_TO_FILE;
        if (!at->cut && copy == COPY_NOT)
            continue;
        *any = true;
        TRY(add_stage(p, &root, 1, large ? TO_FILE : TO_MEMORY, 0));
    }
    return IG_OK;
}

static ig_status put_ready(block_plan *p, const stage *s)
{
    for (int i = 0; i < s->n_root; i++) {
        if (!graph_room(&p->done, p->n_done, &p->room_done, sizeof *p->done))
            return IG_ERR_MEMORY;
        ready *r = &p->done[p->n_done];
        *r = (ready){.root = s->root[i]};
        if (s->to == TO_FILE && !(r->source = spill_make(s->root[i])))
            return error_waiting(IG_ERR_MEMORY);
        p->n_done++;
    }
    return IG_OK;
}

static uint64_t held_bytes(const block_plan *p)
{
    uint64_t held = 0;
    for (int i = 0; i < p->n; i++)
        held += p->stage[i].held;
    return held;
}

/* Makes blocks smaller until they fit in the limit. p->refused: they do not. */
static ig_status settle(block_plan *p, stage *s, uint64_t most)
{
    s->all_cut = false;
    s->held = 0;
    for (int i = 0; i < s->n_root; i++)
        s->held += s->to == TO_MEMORY ? bytes_of(s->root[i]) : 0;
    const uint64_t held = held_bytes(p) + s->held;
    const uint64_t usual = block_bytes(p->limit);
    s->ahead = stage_tiles(s) * stage_parts(s) > 1;
    for (;;) {
        TRY(estimate(s));
        TRY(measure(p, s));
        if (held + s->peak <= p->limit)
            break;
        if (s->ahead && most <= usual) {
            s->ahead = 0;
            continue;
        }
        /* Smaller blocks, if there are any. */
        const uint64_t load = s->load, peak = s->peak;
        bool fits;
        most = most > usual ? most / 4 * 3 : (most < load + 1 ? most : load) / 2;
        TRY(start_stage(p, s, s->kind));
        TRY(cut(p, s, most, &fits));
        TRY(measure(p, s));
        if ((s->peak >= peak && most <= usual) || most == 0) {
            p->refused = true;
            return IG_ERR_MEMORY;
        }
    }
    p->peak = held + s->peak > p->peak ? held + s->peak : p->peak;
    return IG_OK;
}

/* How many times the bytes of a piece of a row are read to get it: its chunks have elements of other rows, too. */
static ig_status read_factor(const block_plan *p, ig_array *x, int64_t length, int64_t *factor)
{
    stage one = {.n_root = 0};
    box b = box_whole(x->view.ndim, x->view.shape);
    TRY(steps_make(&one.work, &x, 1, p->done, p->n_done));
    for (int a = 0; a < x->view.ndim - 1; a++)
        b.hi[a] = 1;
    b.hi[x->view.ndim - 1] = length;
    steps_demand(&one.work, &b, -1);
    const uint64_t bytes = (uint64_t)length * ig_dtype_bytes((ig_dtype)x->dtype);
    *factor = (int64_t)((load_bytes(&one) + bytes / 2) / bytes);
    *factor = *factor > 1 ? *factor : 1;
    steps_free(&one.work);
    return IG_OK;
}

/* Plans stages that write sorted runs to files, and the stage as one that merges them. */
static ig_status merge_runs(block_plan *p, stage *s, uint64_t most)
{
    enum { SHARE = 4, LEAST = 256, PIECE = 8 };
    ig_array *root = s->root[0], *x = root->in[0], *made[2][2];
    const int64_t n = x->view.shape[x->view.ndim - 1];
    const uint64_t each = ig_dtype_bytes((ig_dtype)x->dtype) + (root->op == OP_argsort ? 8 : 0);
    const uint64_t held = held_bytes(p), room = p->limit > held ? p->limit - held : 0;
    int64_t length = (int64_t)((room < SHARE * most ? room : SHARE * most) / SHARE / each), factor;
    length = length < n ? length : n;
    p->refused = true;
    if (length < LEAST)
        return IG_ERR_MEMORY;
    TRY(read_factor(p, x, length, &factor));
    length = length / factor > LEAST ? length / factor : LEAST;
    for (; p->refused && length >= LEAST; length /= 2) {
        ig_status status = IG_OK;
        const int pieces = sort_runs(root, length, made);
        p->refused = false;
        for (int i = 0; i < pieces && status == IG_OK; i++) {
            p->piece = made[i][0];
            status = add_stage(p, made[i], made[i][1] ? 2 : 1, TO_FILE, 0);
        }
        if (pieces == 0 || (status != IG_OK && !p->refused))
            return error_waiting(IG_ERR_MEMORY);
        if (p->refused)
            continue;
        s->merged[1] = NULL;
        s->runs = (n + length - 1) / length;
        if (!sort_merged(root, length, made, pieces, p->done, p->n_done, s->merged))
            return error_waiting(IG_ERR_MEMORY);
        bool fits;
        TRY(try_way(p, s, STAGE_SORT, false, most, &fits));
        TRY(settle(p, s, most));
        const int last = root->view.ndim - 1;
        if (s->tile[last] >= root->view.shape[last] || s->tile[last] >= PIECE * s->runs)
            return IG_OK;
        p->refused = true; /* a tile would have few elements of each run */
        return IG_ERR_MEMORY;
    }
    return IG_ERR_MEMORY;
}

/* True if a step sorts rows: as a stage of its own it may merge runs. */
static bool sorts(const stage *s)
{
    for (int i = 0; i < s->work.n; i++)
        if (s->work.step[i].kind == STEP_ROWS && sort_fits(s->work.step[i].root))
            return true;
    return false;
}

/* Plans a stage for roots that are not evaluated yet, and before it the stages that it depends on. */
static ig_status plan_stage(block_plan *p, stage *s)
{
    const uint64_t usual = block_bytes(p->limit);
    uint64_t most = usual;
    ig_status status = IG_ERR_MEMORY;
    for (int apart = 0; apart < 2 && status != IG_OK && (!apart || sorts(s)); apart++) {
        bool any;
        p->refused = false;
        do { /* each round makes some costly steps ready, and another way may then be better */
            most = usual;
            TRY(choose(p, s, &most, apart));
            TRY(add_cuts(p, s, &any));
        } while (any);
        status = settle(p, s, most);
        if (status != IG_OK && !p->refused)
            return status;
        if (status != IG_OK && s->n_root == 1 && sort_fits(s->root[0]) && s->root[0] != p->piece)
            TRY(status = merge_runs(p, s, most));
    }
    if (status != IG_OK)
        return status;
    for (int i = 0; i < s->n_root; i++)
        s->write += s->to == TO_MEMORY ? 0 : bytes_of(s->root[i]);
    return put_ready(p, s);
}

static void stage_free(stage *s)
{
    steps_free(&s->work);
    memory_free(s->root);
}

static ig_status add_stage(block_plan *p, ig_array *const *roots, int n, stage_to to,
                           int first_sink)
{
    stage s = {.to = to, .n_root = n, .first_sink = first_sink, .ahead = 1};
    if (!(s.root = memory_get((size_t)n * sizeof(ig_array *))))
        return IG_ERR_MEMORY;
    memcpy(s.root, roots, (size_t)n * sizeof(ig_array *));
    ig_status status = plan_stage(p, &s);
    if (status == IG_OK && !graph_room(&p->stage, p->n, &p->room, sizeof *p->stage))
        status = IG_ERR_MEMORY;
    if (status != IG_OK) {
        stage_free(&s);
        return status;
    }
    p->stage[p->n++] = s;
    return IG_OK;
}

/* Drops the stages. */
static void block_plan_clear(block_plan *p)
{
    for (int i = 0; i < p->n; i++)
        stage_free(&p->stage[i]);
    for (int i = 0; i < p->n_done; i++)
        block_source_release(p->done[i].source);
    p->n = p->n_done = 0;
    p->peak = 0;
    p->refused = false;
}

static bool is_planned(const block_plan *p, const ig_array *root)
{
    for (int i = 0; i < p->n_done; i++)
        if (p->done[i].root == root)
            return true;
    return false;
}

/* True if parts of rows of x, whose lengths are powers of 2, would not be whole chunks of the sink. */
static bool is_apart(const ig_array *x, const ig_block_sink *sink)
{
    const int last = x->view.ndim - 1;
    const int64_t chunk = sink->chunk.v && last >= 0 ? sink->chunk.v[last] : 1;
    return node_program(x) == PROGRAM_SCAN && (chunk & (chunk - 1)) && chunk < x->view.shape[last];
}

/* x, or a copy of it, such that its root has x's elements in order, is not evaluated, and can be written to the sink.
 * Beside other results it is always a copy: a stage for one of them may need the same root, and compute it first. */
static ig_array *as_root(ig_array *x, const ig_block_sink *sink, bool alone)
{
    if (alone && !x->root->data && view_equal(&x->view, &x->root->view) && !is_apart(x->root, sink))
        return x;
    view *dst = memory_get(sizeof *dst);
    if (!dst)
        return NULL;
    view_contiguous(dst, x->view.ndim, x->view.shape);
    return build_assemble(OP_assemble, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x, dst, 1);
}

/* Plans all stages within the limit. p->refused: it does not fit. */
static ig_status plan_all(block_plan *p, uint64_t limit)
{
    block_plan_clear(p);
    p->limit = limit;
    for (int i = 0, k; i < p->n_root; i = k) { /* neighbours of one shape are computed together */
        k = i + 1;
        while (k < p->n_root && view_same_shape(&p->root[i]->view, &p->root[k]->view) &&
               !p->root[k]->data && !is_planned(p, p->root[k]) && p->root[k] != p->root[i])
            k++;
        if (p->root[i]->data || is_planned(p, p->root[i]))
            continue;
        const stage_to to = p->sink ? TO_SINK : TO_MEMORY;
        const ig_status status = add_stage(p, p->root + i, k - i, to, i);
        if (status == IG_OK)
            continue;
        if (!p->refused || k - i == 1)
            return status;
        for (int each = i; each < k; each++) /* one by one they may fit */
            if (!is_planned(p, p->root[each]))
                TRY(add_stage(p, p->root + each, 1, to, each));
    }
    return IG_OK;
}

/* Fails with the smallest limit for which there is a plan. */
static ig_status refuse(block_plan *p, uint64_t limit, uint64_t used)
{
    enum { STEPS = 10, MOST = 40 };
    uint64_t low = limit, high = limit < 4096 ? 4096 : limit;
    char now[SIZE_ROOM], least[SIZE_ROOM];
    for (int i = 0; i < MOST && plan_all(p, high) != IG_OK; i++) {
        if (!p->refused)
            return error_waiting(IG_ERR_MEMORY);
        low = high;
        high *= 2;
    }
    for (int i = 0; i < STEPS; i++) {
        const uint64_t middle = low + (high - low) / 2;
        const ig_status status = plan_all(p, middle);
        if (status != IG_OK && !p->refused)
            return status;
        *(status == IG_OK ? &high : &low) = middle;
    }
    return ig_fail(
        IG_ERR_MEMORY,
        "the evaluation does not fit in the memory limit of %s, not even block by block; "
        "the smallest limit that works is %llu bytes (%s)",
        size_text(limit + used, now), (unsigned long long)(high + used),
        size_text(high + used, least));
}

static uint64_t left_of(const memory_pool *pool, uint64_t *used)
{
    const uint64_t most = pool ? pool_limit(pool) : ig_memory_limit();
    *used = pool ? atomic_load(&pool->used) : ig_memory_used();
    return most > *used ? most - *used : 0;
}

/* The bytes that are free on the host and on the devices, whichever are fewer. A block is on both at the same time. A device
 * of a crew has only the blocks of its workers. */
static uint64_t free_bytes(const block_plan *p, uint64_t *used)
{
    uint64_t free = left_of(NULL, used);
    const backend *one = p->n_root ? engine_device_of(p->root[0]) : NULL;
    for (int i = 0; i < (p->n_dev ? p->n_dev : one ? 1 : 0); i++) {
        const backend *dev = p->n_dev ? p->dev[i] : one;
        uint64_t taken, here = dev->pool ? left_of(dev->pool, &taken) : UINT64_MAX;
        if (dev->pool && p->n_dev)
            here = here / (uint64_t)crew_workers(dev) * (uint64_t)p->workers;
        if (here < free) {
            free = here;
            *used = taken;
        }
    }
    return free;
}

static ig_status check_setting(void)
{
    const char *asked = getenv("IG_BLOCK_BYTES");
    const size_t digits = asked ? strspn(asked, "0123456789") : 0;
    if (asked && *asked && (asked[digits] || digits > 18))
        FAIL(IG_ERR_ARGUMENT,
             "IG_BLOCK_BYTES is '%.40s', which is not a number of bytes; set it to "
             "one, such as 100000000, or unset it",
             asked);
    return IG_OK;
}

ig_status block_plan_make(block_plan *p, ig_array *const *arrays, const ig_block_sink *sinks, int n)
{
    uint64_t free, used;
    *p = (block_plan){.sink = sinks};
    TRY(check_setting());
    if (!(p->root = memory_new((size_t)(n + 1) * sizeof *p->root)))
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        ig_array *x = complex_pairs(arrays[i]);
        if (sinks && x)
            x = as_root(x, &sinks[i], n == 1);
        if (!x)
            return error_waiting(IG_ERR_MEMORY);
        p->root[p->n_root++] = x->root;
    }
    if (p->n_root)
        crew_devices(p, engine_device_of(p->root[0]));
    free = free_bytes(p, &used);
    if (team_shares()) /* all ranks make the same plan */
        TRY(team_least(TEAM_MAIN, &free));
    ig_status status = plan_all(p, free);
    if (status != IG_OK && p->refused && p->n_dev) { /* one block at a time, on one device */
        p->n_dev = p->workers = 0;
        free = free_bytes(p, &used);
        status = plan_all(p, free);
    }
    return status != IG_OK && p->refused ? refuse(p, free, used) : status;
}

void block_plan_free(block_plan *p)
{
    block_plan_clear(p);
    memory_free(p->stage);
    memory_free(p->done);
    memory_free(p->root);
    *p = (block_plan){0};
}

/* ---- for people ---- */

static void shape_text(const stage *s, text *t)
{
    char all[400], one[400];
    const view *v = &s->root[0]->view;
    text_add(t, "%s in %lld tiles of %s", view_shape_text(v->ndim, v->shape, all),
             (long long)stage_tiles(s), view_shape_text(v->ndim, s->tile, one));
    if (s->kind == STAGE_SORT)
        text_add(t, ", merges %lld runs", (long long)s->runs);
    else if (s->kind != STAGE_TILES)
        text_add(t, ", %s of %lld in parts of %lld", continues(s) ? "rows" : "sums",
                 (long long)stage_row(s), (long long)s->part);
}

void block_plan_text(const block_plan *p, text *t)
{
    static const char *const to[] = {"memory", "file", "output"};
    uint64_t read = 0, write = 0, spill = 0;
    char one[SIZE_ROOM], two[SIZE_ROOM], three[SIZE_ROOM], four[SIZE_ROOM];
    text_add(t, "block by block: %d stages", p->n);
    for (int i = 0; i < p->n_dev; i++)
        text_add(t, "%s%s", i ? ", " : " on ", p->dev[i]->name);
    text_add(t, "\n");
    for (int i = 0; i < p->n; i++) {
        const stage *s = &p->stage[i];
        text_add(t, "  %d %s ", i + 1, op_rows[s->root[0]->op].name);
        shape_text(s, t);
        text_add(t, " -> %s | read %s, write %s, peak %s\n", to[s->to], size_text(s->read, one),
                 size_text(s->write, two), size_text(s->peak + s->held, three));
        read += s->read;
        write += s->to == TO_SINK ? s->write : 0;
        spill += s->to == TO_FILE ? s->write : 0;
    }
    text_add(t, "total read %s, write %s, spill %s, peak %s\n", size_text(read, one),
             size_text(write, two), size_text(spill, three), size_text(p->peak, four));
}
