/* Blocks of a stage on many machines: see ranks.h. */
#include "engine/blocks/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/parts.h"
#include "base/team.h"
#include <string.h>

#define BATCH_BYTES ((uint64_t)32 << 20) /* of tiles that are exchanged at a time */

/* ---- plans ---- */

ig_status ranks_check(const block_plan *p)
{
    text t = {0};
    if (!team_shares())
        return IG_OK;
    for (int i = 0; i < p->n; i++) {
        const stage *s = &p->stage[i];
        text_add(&t, "%d %d %d %d %lld:", (int)s->join, (int)s->to, s->n_root, s->work.n,
                 (long long)s->part);
        for (int k = 0; k < s->root[0]->view.ndim; k++)
            text_add(&t, " %lld/%lld", (long long)s->tile[k], (long long)s->root[0]->view.shape[k]);
        text_add(&t, "\n");
    }
    char *all = text_take(&t);
    const ig_status status =
        all ? team_agree(TEAM_MAIN, all, strlen(all), "plans") : error_waiting(IG_ERR_MEMORY);
    memory_free(all);
    return status;
}

void ranks_range(const stage *s, int rank, int64_t *first, int64_t *end)
{
    const int64_t parts = stage_parts(s), tiles = stage_tiles(s);
    const int64_t unit = s->join == CUT_TREE ? 1 : parts; /* blocks that stay together */
    const int64_t units = tiles * parts / unit;
    const int size = team_shares() ? ig_team_size() : 1;
    const int at = team_shares() ? rank : 0;
    *first = part_first(units, size, at) * unit;
    *end = part_first(units, size, at + 1) * unit;
}

/* The rank that computes a block. */
static int rank_of(const stage *s, int64_t block)
{
    int low = 0, high = ig_team_size() - 1;
    while (low < high) {
        int64_t first, end;
        const int middle = low + (high - low) / 2;
        ranks_range(s, middle, &first, &end);
        if (block < end)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- values of parts ---- */

/* The header of an array in a packed entry; its elements follow. */
typedef struct packed_array {
    int32_t dtype, ndim;
    int64_t shape[IG_MAX_NDIM];
} packed_array;

typedef struct packed_entry {
    int64_t at, count, n;
} packed_entry;

static size_t array_bytes(const ig_array *x)
{
    return (size_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
}

ig_status ranks_pack(const entry *entries, int n, char **data, uint64_t *bytes)
{
    *bytes = 0;
    for (int i = 0; i < n; i++) {
        *bytes += sizeof(packed_entry);
        for (int k = 0; k < entries[i].n; k++)
            *bytes += sizeof(packed_array) + array_bytes(entries[i].made[k]);
    }
    char *to = *data = memory_get((size_t)*bytes + 1);
    if (!to)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const entry *e = &entries[i];
        const packed_entry head = {e->at, e->count, e->n};
        memcpy(to, &head, sizeof head);
        to += sizeof head;
        for (int k = 0; k < e->n; k++) {
            const view *v = &e->made[k]->view;
            packed_array a = {.dtype = (int32_t)e->made[k]->dtype, .ndim = v->ndim};
            const void *elements = ig_data(e->made[k]);
            if (!elements)
                return error_waiting(IG_ERR_MEMORY);
            memcpy(a.shape, v->shape, (size_t)v->ndim * sizeof *a.shape);
            memcpy(to, &a, sizeof a);
            memcpy(to + sizeof a, elements, array_bytes(e->made[k]));
            to += sizeof a + array_bytes(e->made[k]);
        }
    }
    return IG_OK;
}

/* An array of packed elements, which belongs to the scope. */
static ig_array *unpack_array(const char **from)
{
    packed_array a;
    view v;
    memcpy(&a, *from, sizeof a);
    view_contiguous(&v, a.ndim, a.shape);
    const size_t bytes = (size_t)view_size(&v) * ig_dtype_bytes((ig_dtype)a.dtype);
    buffer *b = buffer_new(bytes);
    if (!b)
        return NULL;
    memcpy(b->data, *from + sizeof a, bytes);
    *from += sizeof a + bytes;
    return array_leaf((ig_dtype)a.dtype, a.ndim, a.shape, b);
}

ig_status ranks_unpack(const char **data, entry *out)
{
    packed_entry head;
    memcpy(&head, *data, sizeof head);
    *data += sizeof head;
    *out = (entry){.n = (int)head.n, .at = head.at, .count = head.count};
    for (int k = 0; k < out->n; k++)
        if (!(out->made[k] = unpack_array(data)))
            return error_waiting(IG_ERR_MEMORY);
    return IG_OK;
}

/* The rank that joins the entries which `rank` has of a tile that it has not begun; -1: there are none. */
static int joins_for(const stage *s, int rank)
{
    int64_t first, end;
    const int64_t parts = stage_parts(s);
    ranks_range(s, rank, &first, &end);
    return first < end && first % parts ? rank_of(s, first / parts * parts) : -1;
}

ig_status ranks_meet(const stage *s, const char *data, uint64_t bytes, char **got,
                     uint64_t *got_bytes)
{
    const int size = ig_team_size(), me = ig_team_rank();
    uint64_t *sizes = memory_new((size_t)size * sizeof *sizes);
    uint64_t *at = memory_get((size_t)(size + 1) * sizeof *at);
    team_move *moves = memory_get((size_t)(size + 1) * sizeof *moves);
    ig_status status = sizes && at && moves ? IG_OK : IG_ERR_MEMORY;
    int n = 0;
    for (int i = 0; i <= size && status == IG_OK; i++)
        at[i] = (uint64_t)i * sizeof *sizes;
    *got_bytes = 0;
    if (status == IG_OK) {
        sizes[me] = bytes;
        status = team_gather(TEAM_MAIN, sizes, at);
    }
    for (int r = me + 1; r < size && status == IG_OK; r++)
        *got_bytes += joins_for(s, r) == me ? sizes[r] : 0;
    if (status == IG_OK && !(*got = memory_get((size_t)*got_bytes + 1)))
        status = IG_ERR_MEMORY;
    if (status == IG_OK) {
        char *to = *got;
        for (int r = me + 1; r < size; r++)
            if (joins_for(s, r) == me) {
                moves[n++] = (team_move){r, false, to, (size_t)sizes[r]};
                to += sizes[r];
            }
        if (bytes)
            moves[n++] =
                (team_move){joins_for(s, me), true, (char *)(uintptr_t)data, (size_t)bytes};
        status = team_exchange(TEAM_MAIN, moves, n);
    }
    memory_free(sizes);
    memory_free(at);
    memory_free(moves);
    return status;
}

/* ---- results in memory ---- */

static uint64_t tile_size(const stage *s, int i, int64_t tile)
{
    const box b = stage_tile(s, tile);
    return (uint64_t)box_size(&b, s->root[i]->view.ndim) *
           ig_dtype_bytes((ig_dtype)s->root[i]->dtype);
}

/* Copies the tiles [from, to) of one rank, or of all others, between the result and a batch. */
static void copy_tiles(const stage *s, int i, int64_t from, int64_t to, char *result, char *batch,
                       bool packs)
{
    const ig_array *root = s->root[i];
    const int ndim = root->view.ndim;
    const size_t bytes = ig_dtype_bytes((ig_dtype)root->dtype);
    const box whole = box_whole(ndim, root->view.shape);
    for (int64_t t = from; t < to; t++) {
        const box b = stage_tile(s, t);
        const bool own = rank_of(s, t * stage_parts(s)) == ig_team_rank();
        if (packs && own)
            box_move(&b, ndim, bytes, &whole, result, &b, batch);
        else if (!packs && !own)
            box_move(&b, ndim, bytes, &b, batch, &whole, result);
        batch += tile_size(s, i, t);
    }
}

ig_status ranks_tiles(const stage *s, int i, char *to)
{
    const int size = ig_team_size();
    const int64_t tiles = stage_tiles(s), parts = stage_parts(s);
    uint64_t *at = memory_get((size_t)(size + 1) * sizeof *at);
    ig_status status = at ? IG_OK : IG_ERR_MEMORY;
    for (int64_t from = 0, end; from < tiles && status == IG_OK; from = end) {
        uint64_t bytes = 0;
        for (end = from;
             end < tiles && (end == from || bytes + tile_size(s, i, end) <= BATCH_BYTES); end++)
            bytes += tile_size(s, i, end);
        /* The tiles are in the order of their ranks. */
        int rank = 0;
        at[0] = bytes = 0;
        for (int64_t t = from; t < end; t++) {
            for (const int owner = rank_of(s, t * parts); rank < owner;)
                at[++rank] = bytes;
            bytes += tile_size(s, i, t);
        }
        while (rank < size)
            at[++rank] = bytes;
        char *batch = memory_get((size_t)bytes + 1);
        if (!batch) {
            status = IG_ERR_MEMORY;
            break;
        }
        copy_tiles(s, i, from, end, to, batch, true);
        status = team_gather(TEAM_MAIN, batch, at);
        if (status == IG_OK)
            copy_tiles(s, i, from, end, to, batch, false);
        memory_free(batch);
    }
    memory_free(at);
    return status;
}

/* ---- panels of products ---- */

enum { SLABS = 8 }; /* of a source, for each rank */

void panels_free(panels *p)
{
    memory_free(p->own);
    memory_free(p->move);
    *p = (panels){0};
}

/* want: the boxes of the sources that a block needs. fresh: a box is needed, and the block before did not have it. */
static void want_of(stage *s, int64_t block, bool follows, box *ends, box *want, bool *fresh)
{
    const int64_t parts = stage_parts(s);
    const int n = s->work.n;
    for (int i = 0; i < n; i++)
        fresh[i] = false;
    for (int64_t b = follows ? block - 1 : block; b <= block; b++) {
        stage_want(s, b / parts, b % parts, ends);
        steps_demand(&s->work, ends, -1);
        for (int i = 0; i < n; i++) {
            const step *at = &s->work.step[i];
            const bool wanted = at->wanted && at->kind == STEP_SOURCE;
            const bool same = fresh[i] && box_same(&want[i], &at->want, at->root->view.ndim);
            fresh[i] = wanted && !(b == block && follows && same);
            want[i] = at->want;
        }
    }
}

static box slab_of(const box *want, int64_t nth, int64_t unit)
{
    box b = *want;
    b.lo[0] = b.lo[0] > nth * unit ? b.lo[0] : nth * unit;
    b.hi[0] = b.hi[0] < (nth + 1) * unit ? b.hi[0] : (nth + 1) * unit;
    return b;
}

/* Adds the slab `nth` of what this rank wants of a source. wants, fresh: of this step, for each rank, n apart. */
static ig_status add_slab(const step *at, int i, int n, int64_t nth, int64_t unit, const box *wants,
                          const bool *fresh, char *to, panels *out)
{
    const int ndim = at->root->view.ndim, size = ig_team_size(), me = ig_team_rank();
    const box *own = &wants[(size_t)me * (size_t)n], slab = slab_of(own, nth, unit);
    const int64_t rows = own->hi[0] - own->lo[0], row = rows ? box_size(own, ndim) / rows : 0;
    const size_t bytes = ig_dtype_bytes((ig_dtype)at->root->dtype);
    int wanters = 0, reader = -1;
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0, k = 0; r < size; r++) {
            const box *other = &wants[(size_t)r * (size_t)n];
            const box b = slab_of(other, nth, unit);
            if (!fresh[(size_t)r * (size_t)n] || !box_same(&b, &slab, ndim))
                continue;
            if (pass == 0)
                wanters++;
            else if (k++ == (int)(nth % wanters))
                reader = r;
        }
    char *place = to + (slab.lo[0] - own->lo[0]) * row * (int64_t)bytes;
    const size_t length = (size_t)box_size(&slab, ndim) * bytes;
    if (reader == me) {
        if (!memory_room(&out->own, out->n_own, &out->room_own, sizeof *out->own))
            return IG_ERR_MEMORY;
        out->own[out->n_own++] = (panel){i, slab, place};
    }
    for (int r = 0; r < size; r++) {
        const box *other = &wants[(size_t)r * (size_t)n];
        const box b = slab_of(other, nth, unit);
        const bool passes =
            reader == me ? r != me && fresh[(size_t)r * (size_t)n] && box_same(&b, &slab, ndim)
                         : r == reader;
        if (!passes)
            continue;
        if (!memory_room(&out->move, out->n_move, &out->room_move, sizeof *out->move))
            return IG_ERR_MEMORY;
        out->move[out->n_move++] = (team_move){r, reader == me, place, length};
    }
    return IG_OK;
}

ig_status ranks_panels(stage *s, int64_t block, const box *want, char *const *to, panels *out)
{
    const int size = ig_team_size(), n = s->work.n;
    int64_t first, end, own;
    box *wants = memory_get((size_t)size * (size_t)n * sizeof *wants);
    box *ends = memory_get((size_t)(s->work.n_end + 1) * sizeof *ends);
    bool *fresh = memory_new((size_t)size * (size_t)n * sizeof *fresh);
    ig_status status = wants && ends && fresh ? IG_OK : IG_ERR_MEMORY;
    ranks_range(s, ig_team_rank(), &own, &end);
    for (int r = 0; r < size && status == IG_OK; r++) {
        ranks_range(s, r, &first, &end);
        const int64_t theirs = first + block - own;
        if (theirs < end)
            want_of(s, theirs, s->ahead && theirs > first, ends, wants + (size_t)r * (size_t)n,
                    fresh + (size_t)r * (size_t)n);
    }
    out->n_own = out->n_move = 0;
    for (int i = 0; i < n && status == IG_OK; i++) {
        const step *at = &s->work.step[i];
        if (!to[i] || at->root->view.ndim == 0)
            continue;
        const int64_t chunk = at->source->chunk[0] > 0 ? at->source->chunk[0] : 1;
        const int64_t even = at->root->view.shape[0] / (SLABS * (int64_t)size) + 1;
        const int64_t unit = (even + chunk - 1) / chunk * chunk;
        for (int64_t k = want[i].lo[0] / unit; k * unit < want[i].hi[0] && status == IG_OK; k++)
            status = add_slab(at, i, n, k, unit, wants + i, fresh + i, to[i], out);
    }
    memory_free(wants);
    memory_free(ends);
    memory_free(fresh);
    return status;
}
