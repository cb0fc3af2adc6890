/* How a stage is cut into tiles and parts of sums, such that a block fits in memory and the stage reads little. */
#include "engine/blocks/plan.h"

#include "base/error.h"
#include "base/integer.h"
#include "base/team.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD_BYTES \
    ((uint64_t)64 << 10) /* of a stage, for each rank of a team that gets a part of it */

/* ---- tiles ---- */

/* Lengths of tiles along an axis are multiples of this: the chunks of the sinks. */
static int64_t tile_unit(const block_plan *p, const stage *s, int axis)
{
    int64_t unit = 1;
    for (int i = 0; i < s->n_root && s->to == TO_SINK; i++) {
        const ig_ints chunk = p->sink[s->first_sink + i].chunk;
        const int64_t own = chunk.v ? chunk.v[axis] : 1;
        unit = unit % own == 0 ? unit : unit * own; /* a multiple of both */
    }
    return unit;
}

/* A shorter length of axis i: about half, at a multiple of the sink's chunk. 0: it cannot be cut. */
static int64_t shorter(const block_plan *p, const stage *s, int axis)
{
    const int64_t unit = tile_unit(p, s, axis);
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

/* An even part of an axis, 1/n of it, at a multiple of the sinks' chunks, and of a source's if that has at least `chunks` of
 * them. */
static int64_t even_length(const block_plan *p, const stage *s, int axis, int64_t n, int64_t chunks)
{
    const int64_t all = s->root[0]->view.shape[axis], unit = tile_unit(p, s, axis);
    int64_t even = round_up((all + n - 1) / n, unit), chunk = 1;
    for (int i = 0; i < s->work.n; i++) {
        const step *from = &s->work.step[i];
        for (int a = 0; from->source && a < from->root->view.ndim; a++) {
            const int64_t own = round_up(from->source->chunk[a], unit);
            if (from->source->chunk[a] > 1 && own > chunk && own <= even / chunks)
                chunk = own;
        }
    }
    even = round_up(even, chunk);
    return even < all ? even : all > 0 ? all : 1;
}

uint64_t stage_tile_bytes(const stage *s, bool summed)
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
    const int64_t parts = s->join == CUT_TREE ? stage_parts(s) : 1;
    /* Blocks are not equally long. More tiles of a product would read more. */
    const uint64_t wanted = ranks == 1 || s->join == CUT_ORDERED ? ranks : 4 * ranks;
    return (uint64_t)(stage_tiles(s) * parts) >= wanted ||
           s->load + stage_tile_bytes(s, false) < ranks * SPREAD_BYTES;
}

/* The bytes that are read in the time of a contraction's additions. */
static uint64_t contract_bytes(const ig_array *root)
{
    enum { FLOPS_PER_BYTE = 8 };
    int64_t rows = 1;
    for (int i = 0; i < root->attr.ndim[0] + root->attr.ndim[1]; i++)
        rows *= root->view.shape[i];
    const int64_t k = rows ? view_size(&root->in[0]->view) / rows : 0;
    return (uint64_t)(2.0 * (double)view_size(&root->view) * (double)k / FLOPS_PER_BYTE);
}

/* The same for all contractions of a stage. */
static uint64_t work_bytes(const stage *s)
{
    uint64_t sum = s->join == CUT_ORDERED ? contract_bytes(s->root[0]) : 0;
    for (int i = 0; i < s->work.n; i++)
        if (s->work.step[i].kind == STEP_CONTRACT && !s->work.step[i].cut)
            sum += contract_bytes(s->work.step[i].root);
    return sum;
}

uint64_t stage_team_cost(const block_plan *p, const stage *s)
{
    const uint64_t ranks = team_shares() ? (uint64_t)ig_team_size() : 1;
    uint64_t all = stage_cost(p, s);
    if (ranks == 1)
        return all;
    all += all < UINT64_MAX / 2 ? work_bytes(s) : 0;
    if (is_spread(s))
        return all;
    /* The one rank also reads its block again for each reduction inside it, so an equal cost is not as good. */
    return all < UINT64_MAX / (ranks + 1) ? all * ranks + all / 2 : all;
}

bool stage_is_dear(const stage *s)
{
    enum { READS = 64, BLOCK = 64, BLOCKS_FREE = 10000, BYTES_FREE = 1 << 28 };
    const double blocks = (double)stage_tiles(s) * (double)stage_parts(s);
    double once = (double)work_bytes(s);
    for (int i = 0; i < s->n_root; i++)
        once += (double)root_bytes(s->root[i]);
    for (int i = 0; i < s->work.n; i++)
        once += (double)root_bytes(s->work.step[i].root);
    return !getenv("IG_BLOCK_BYTES") &&
           ((double)s->read > BYTES_FREE + READS * once || blocks > BLOCKS_FREE + once / BLOCK);
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
    if (s->join == CUT_UPDATE && axis < ndim && !table_cuts(s->root[0]))
        return 0;
    if (s->join == CUT_APART && axis == ndim - 1 && has_rows(s))
        return 0;
    if (!stage_continues(s) || axis < ndim - (s->join == CUT_CARRY))
        return axis < ndim ? shorter(p, s, axis) : 0;
    int64_t unit = stage_unit(s);
    const ig_ints chunk = s->to == TO_SINK ? p->sink[s->first_sink].chunk : (ig_ints){NULL, 0};
    if (s->join == CUT_CARRY && chunk.v &&
        chunk.v[ndim - 1] > unit) /* a power of 2: see block_plan_make */
        unit = chunk.v[ndim - 1];
    return axis == ndim && s->part > unit ? s->part / 2 : 0;
}

/* The lengths of tiles and parts, the bytes of a block, and the stage's cost. */
typedef struct stage_size {
    int64_t tile[IG_MAX_NDIM], part;
    uint64_t bytes, cost;
} stage_size;

static stage_size size_of(const block_plan *p, const stage *s)
{
    stage_size z = {
        .part = s->part, .bytes = s->load + stage_tile_bytes(s, false), .cost = stage_cost(p, s)};
    memcpy(z.tile, s->tile, sizeof z.tile);
    return z;
}

static void size_set(stage *s, const stage_size *z)
{
    memcpy(s->tile, z->tile, sizeof s->tile);
    s->part = z->part;
}

/* True if blocks are smaller than others, and read as much more as that is worth. Tiles in the same chunks take as much memory
 * however short they are. */
static bool is_better(const stage_size *z, const stage_size *other)
{
    if (other->bytes == UINT64_MAX)
        return true;
    const double less = (double)z->bytes / (double)other->bytes;
    return less < 1 && (double)z->cost * less * less * less < 1.1 * (double)other->cost;
}

enum { LENGTHS_MOST = 4 };

/* Shorter lengths of an axis of tiles that may be good: the next one, and those that have whole matrices of stacks, which no
 * other block computes then. Returns their number. */
static int lengths_of(const block_plan *p, const stage *s, int axis, int64_t *out)
{
    int n = 0;
    const int64_t usual = next_length(p, s, axis);
    if (usual)
        out[n++] = usual;
    if (axis >= s->root[0]->view.ndim || s->to == TO_SINK)
        return n;
    for (int i = 0; usual && i < s->work.n; i++) {
        const ig_array *x = s->work.step[i].root;
        if (s->work.step[i].kind != STEP_STACK)
            continue;
        for (int a = x->attr.kernel->stacks; a < x->view.ndim && n < LENGTHS_MOST; a++) {
            const int64_t unit = x->view.shape[a], length = unit ? usual / unit * unit : 0;
            bool known = length == 0;
            for (int k = 0; k < n; k++)
                known = known || out[k] == length;
            if (!known)
                out[n++] = length;
        }
    }
    return n;
}

/* Cuts tiles, and with `parts` rows of a scan or a table, until a block takes at most `most` bytes. *fits: it does. */
static ig_status cut_tiles(const block_plan *p, stage *s, uint64_t most, bool parts, bool *fits)
{
    const int ndim = s->root[0]->view.ndim;
    stage_size useful = {.bytes = UINT64_MAX};
    TRY(stage_estimate(s));
    for (;;) {
        const uint64_t out = stage_tile_bytes(s, false);
        *fits = s->load + out <= most;
        const stage_size now = size_of(p, s);
        if (is_better(&now, &useful))
            useful = now;
        if (*fits && (stage_continues(s) || is_spread(s)))
            return IG_OK;
        int axis = -1;
        int64_t length = 0;
        uint64_t least = UINT64_MAX;
        const uint64_t load = s->load;
        for (int i = 0; i < ndim + parts; i++) {
            int64_t *cut = i < ndim ? &s->tile[i] : &s->part, lengths[LENGTHS_MOST];
            const int n = lengths_of(p, s, i, lengths);
            const bool grows = s->join == CUT_UPDATE && i == ndim; /* the table stays as large */
            for (int k = 0; k < n && !(grows && out > most / 2); k++) {
                const int64_t old = *cut;
                *cut = lengths[k];
                TRY(stage_estimate(s));
                const uint64_t cost =
                    s->load < load || out > most / 2 || *fits ? stage_cost(p, s) : UINT64_MAX;
                if (cost < least) {
                    least = cost;
                    axis = i;
                    length = lengths[k];
                }
                *cut = old;
            }
        }
        if (axis >= 0)
            *(axis < ndim ? &s->tile[axis] : &s->part) = length;
        TRY(stage_estimate(s));
        if (axis < 0)
            break;
    }
    if (!*fits) {
        size_set(s, &useful);
        TRY(stage_estimate(s));
    }
    return IG_OK;
}

/* The same for a table whose tiles and parts can both be cut. A tile reads all parts, so long parts make short tiles, and
 * short tiles read the parts more often. */
static ig_status cut_table(const block_plan *p, stage *s, uint64_t most, bool *fits)
{
    enum { SAME_MOST = 3 }; /* shorter parts in a row that take as much memory */
    stage_size best = {.bytes = UINT64_MAX};
    int same = 0;
    *fits = false;
    for (int64_t part = s->part; part > 0 && same < SAME_MOST; part /= 2) {
        bool can;
        stage_whole_tile(s);
        s->part = part;
        TRY(cut_tiles(p, s, most, false, &can));
        const stage_size now = size_of(p, s);
        if (can && *fits && now.cost > best.cost)
            break;
        const bool less = is_better(&now, &best);
        same = !can && !less ? same + 1 : 0;
        if (can ? !*fits || now.cost < best.cost : !*fits && less)
            best = now;
        *fits = *fits || can;
    }
    size_set(s, &best);
    return stage_estimate(s);
}

/* ---- tiles of several workers ---- */

uint64_t stage_in_flight(const block_plan *p, const stage *s)
{
    return (uint64_t)(p->n_dev == 0 ? 1 : s->ahead ? p->workers : p->n_dev);
}

bool stage_is_chained(const block_plan *p, const stage *s)
{
    return stage_carries(s) && p->n_dev == 1;
}

/* Bytes of sources that the blocks in flight, and the next one, hold. Neighbours on a device share what both need; at the end
 * of a row of tiles, nothing is shared. Each worker gets as much of the limit, so the device with the fewest needs most for
 * each. After estimate. */
uint64_t stage_window_bytes(const block_plan *p, const stage *s)
{
    const int64_t blocks = stage_tiles(s) * stage_parts(s);
    const uint64_t each = blocks > 1 && s->join != CUT_ORDERED && s->read > s->load
                              ? (s->read - s->load) / (uint64_t)(blocks - 1)
                              : s->load;
    const uint64_t n = stage_in_flight(p, s), shared = s->load > each ? s->load - each : 0;
    uint64_t own = n; /* blocks in flight on a device */
    for (int i = 0; i < p->n_dev && n > 1; i++) {
        const uint64_t here = s->ahead ? (uint64_t)device_workers(p->dev[i]) : 1;
        own = here < own ? here : own;
    }
    return (s->load + shared + own * each) * n / own;
}

/* The cost of a stage of several workers, in bytes: bytes read + the first load (not overlapped) + a constant per block. Products
 * in a fixed order add a tile for each block of their sums. */
static uint64_t workers_cost(const block_plan *p, const stage *s)
{
    enum { BLOCK_COST = 32 << 20 };
    const uint64_t read = stage_cost(p, s), blocks = (uint64_t)(stage_tiles(s) * stage_parts(s));
    if (read == UINT64_MAX)
        return read;
    const uint64_t all = read + s->load + blocks * BLOCK_COST;
    return s->join == CUT_ORDERED && ig_math_mode() == IG_MATH_SAME ? 2 * all : all;
}

/* The lengths of the two longest axes of tiles, and of parts. */
typedef struct tile_lengths {
    int axis[2]; /* -1: there is none */
    int64_t length[2], part;
} tile_lengths;

static void set_tile(stage *s, const tile_lengths *t)
{
    for (int i = 0; i < 2; i++)
        if (t->axis[i] >= 0)
            s->tile[t->axis[i]] = t->length[i];
    s->part = t->part;
}

static void longest_axes(const stage *s, tile_lengths *t)
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
static ig_status fits_workers(const block_plan *p, stage *s, uint64_t most, uint64_t block,
                              bool *fits)
{
    TRY(stage_estimate(s));
    const uint64_t out = stage_tile_bytes(s, true),
                   n = stage_is_chained(p, s) ? 1 : stage_in_flight(p, s);
    const int64_t ranks = team_shares() ? ig_team_size() : 1;
    const bool even = s->join != CUT_ORDERED || stage_tiles(s) % ranks == 0;
    const bool enough = p->n_dev == 1 || stage_tiles(s) * stage_parts(s) >= 2 * p->workers * ranks;
    *fits = enough && even && is_spread(s) && stage_window_bytes(p, s) + 3 * n * out <= most &&
            s->load + out <= block;
    return IG_OK;
}

/* The part of a tile for which the stage costs least, *cost; UINT64_MAX: no part fits. */
static ig_status best_part(const block_plan *p, stage *s, tile_lengths *t, uint64_t most,
                           uint64_t block, uint64_t *cost)
{
    const int64_t unit = s->join == CUT_APART ? t->part : stage_unit(s);
    int64_t best = t->part;
    *cost = UINT64_MAX;
    set_tile(s, t);
    for (; s->part >= unit; s->part /= 2) {
        bool can;
        TRY(fits_workers(p, s, most, block, &can));
        const uint64_t now = can ? workers_cost(p, s) : UINT64_MAX;
        if (now > *cost) /* and shorter parts cost more still */
            break;
        if (now < *cost) {
            *cost = now;
            best = s->part;
        }
        if (s->part == unit)
            break;
    }
    t->part = best;
    return IG_OK;
}

/* The next number of tiles along an axis that is tried. */
static int64_t next_count(int64_t n) { return n < 8 ? n + 1 : n + n / 4; }

/* Cuts tiles and parts such that several workers read least: all are even parts of the two longest axes. */
static ig_status cut_for_workers(const block_plan *p, stage *s, uint64_t most, uint64_t block,
                                 bool *fits)
{
    tile_lengths whole = {.part = s->part}, best;
    const int ahead = s->ahead;
    uint64_t least = UINT64_MAX;
    longest_axes(s, &whole);
    if (s->join != CUT_APART)
        for (whole.part = stage_unit(s); whole.part < stage_row(s);)
            whole.part *= 2;
    best = whole;
    s->ahead = 1;
    for (int64_t rows = 1; rows == 1 || rows <= whole.length[0]; rows = next_count(rows)) {
        uint64_t before = UINT64_MAX;
        for (int64_t columns = 1; columns == 1 || columns <= whole.length[1];
             columns = next_count(columns)) {
            tile_lengths t = whole;
            const int64_t count[2] = {rows, columns};
            uint64_t now;
            for (int i = 0; i < 2 && t.axis[i] >= 0; i++)
                t.length[i] = even_length(p, s, t.axis[i], count[i], 1);
            TRY(best_part(p, s, &t, most, block, &now));
            if (now < least) {
                least = now;
                best = t;
            }
            if (now > before) /* and more columns cost more still */
                break;
            before = now;
        }
    }
    *fits = least < UINT64_MAX;
    set_tile(s, *fits ? &best : &whole);
    s->ahead = ahead;
    return stage_estimate(s);
}

void stage_whole_tile(stage *s)
{
    const view *v = &s->root[0]->view;
    for (int i = 0; i < v->ndim; i++)
        s->tile[i] = v->shape[i] > 0 ? v->shape[i] : 1;
}

/* ---- tiles of a team's product ---- */

/* Cuts a whole tile into one for each rank: rows times columns, such that they read least. Halves would leave some ranks of
 * three, or of a thousand, with twice the work. Leaves the tile as it is if there is no such cut. */
static void cut_for_team(const block_plan *p, stage *s)
{
    enum { CHUNKS = 8 }; /* of a tile, at least, if it ends at one */
    const int64_t ranks = team_shares() ? ig_team_size() : 1;
    tile_lengths whole = {.part = s->part}, best;
    double least = INFINITY;
    longest_axes(s, &whole);
    best = whole;
    for (int64_t rows = 1; rows <= ranks && whole.axis[0] >= 0; rows++) {
        const int64_t columns = ranks / rows;
        if (ranks % rows || (columns > 1 && whole.axis[1] < 0))
            continue;
        tile_lengths t = whole;
        t.length[0] = even_length(p, s, t.axis[0], rows, CHUNKS);
        t.length[1] = t.axis[1] >= 0 ? even_length(p, s, t.axis[1], columns, CHUNKS) : 0;
        set_tile(s, &t);
        const double reads = (double)t.length[0] + (double)t.length[1];
        if (is_spread(s) && reads < least) {
            least = reads;
            best = t;
        }
        set_tile(s, &whole);
    }
    set_tile(s, &best);
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
    TRY(stage_estimate(s));
    const bool product = s->join == CUT_ORDERED;
    if (product && !is_spread(s))
        cut_for_team(p, s);
    for (;;) { /* the tile is held while its parts are read, and one rank adds all its parts */
        const bool large = stage_tile_bytes(s, false) > most / (product ? 4 : 3);
        if (!large && (s->join == CUT_TREE || is_spread(s)))
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
    TRY(stage_estimate(s));
    while (s->join == CUT_TREE && !is_spread(s) && s->part > unit) {
        s->part /= 2;
        TRY(stage_estimate(s));
    }
    /* A product reads less the larger its tiles are, however short the parts. */
    while (product && s->load > most / 16 && s->part > 4 * unit) {
        s->part /= 2;
        TRY(stage_estimate(s));
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
            TRY(stage_estimate(s));
            /* Parts that lie in the same chunks read as much, until they are shorter still. */
            const uint64_t now = s->load < load || i < 0 ? stage_cost(p, s) : UINT64_MAX;
            if (now < least) {
                least = now;
                best = at;
                length = half;
            }
            *at = old;
        }
        if (!best) {
            TRY(stage_estimate(s));
            break;
        }
        *best = length;
        TRY(stage_estimate(s));
        if (s->load < load)
            useful = s->part;
    }
    if (s->load > most / 2 && s->load <= p->limit / 4) { /* shorter parts read no less */
        s->part = useful;
        TRY(stage_estimate(s));
    }
    *fits = s->load <= most / 2;
    return IG_OK;
}

/* ---- all of them ---- */

ig_status stage_cut(const block_plan *p, stage *s, uint64_t most, bool *fits)
{
    if (p->n_dev && (s->join == CUT_APART || s->join == CUT_ORDERED)) {
        TRY(cut_for_workers(p, s, (uint64_t)(0.95 * s->share * (double)p->limit),
                            getenv("IG_BLOCK_BYTES") ? most : UINT64_MAX, fits));
        if (*fits)
            return IG_OK;
    }
    if (s->join == CUT_TREE || s->join == CUT_ORDERED)
        return cut_parts(p, s, most, fits);
    return s->join == CUT_UPDATE && table_cuts(s->root[0]) ? cut_table(p, s, most, fits)
                                                           : cut_tiles(p, s, most, true, fits);
}
