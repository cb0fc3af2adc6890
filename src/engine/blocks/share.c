/* Blocks of a stage on many machines: see share.h. */
#include "engine/blocks/share.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/team.h"
#include <string.h>

#define BATCH_BYTES ((uint64_t)32 << 20) /* of tiles that are exchanged at a time */

bool share_is_on(void) { return team_shares(); }

/* ---- plans ---- */

ig_status share_check(const block_plan *p)
{
    text t = {0};
    if (!share_is_on())
        return IG_OK;
    for (int i = 0; i < p->n; i++) {
        const stage *s = &p->stage[i];
        text_add(&t, "%d %d %d %d %lld:", (int)s->kind, (int)s->to, s->n_root, s->work.n,
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

void share_range(const stage *s, int rank, int64_t *first, int64_t *end)
{
    const int64_t parts = stage_parts(s), tiles = stage_tiles(s);
    const int64_t unit = s->kind == STAGE_FOLD ? 1 : parts; /* blocks that stay together */
    const int64_t units = tiles * parts / unit;
    const int size = share_is_on() ? ig_team_size() : 1;
    const int at = share_is_on() ? rank : 0;
    *first = units / size * at + units % size * at / size;
    *end = units / size * (at + 1) + units % size * (at + 1) / size;
    *first *= unit;
    *end *= unit;
}

/* The rank that computes a block. */
static int rank_of(const stage *s, int64_t block)
{
    int low = 0, high = ig_team_size() - 1;
    while (low < high) {
        int64_t first, end;
        const int middle = low + (high - low) / 2;
        share_range(s, middle, &first, &end);
        if (block < end)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- values of parts ---- */

/* What is before the elements of an array in a packed entry. */
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

ig_status share_pack(const entry *entries, int n, char **data, uint64_t *bytes)
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

ig_status share_unpack(const char *data, uint64_t bytes, ig_status (*take)(void *, const entry *),
                       void *context)
{
    const char *end = data + bytes;
    while (data < end) {
        packed_entry head;
        memcpy(&head, data, sizeof head);
        data += sizeof head;
        entry e = {.n = (int)head.n, .at = head.at, .count = head.count};
        for (int k = 0; k < e.n; k++)
            if (!(e.made[k] = unpack_array(&data)))
                return error_waiting(IG_ERR_MEMORY);
        TRY(take(context, &e));
    }
    return IG_OK;
}

/* The rank that joins the entries which `rank` has of a tile that it has not begun; -1: there are none. */
static int joins_for(const stage *s, int rank)
{
    int64_t first, end;
    const int64_t parts = stage_parts(s);
    share_range(s, rank, &first, &end);
    return first < end && first % parts ? rank_of(s, first / parts * parts) : -1;
}

ig_status share_meet(const stage *s, const char *data, uint64_t bytes, char **got,
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

ig_status share_tiles(const stage *s, int i, char *to)
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
