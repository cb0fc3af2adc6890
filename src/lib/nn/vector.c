/* Vectors with all entries of a model, and their division among the ranks, see shards.h. */
#include "base/hash.h"
#include "base/parts.h"
#include "lib/nn/shards.h"
#include <stdlib.h>
#include <string.h>

static uint64_t aligned(uint64_t bytes) { return (bytes + 7) & ~UINT64_C(7); }

static void fill_places(shards *s, ig_array *const *list)
{
    place next = {0};
    for (int i = 0; i < s->n; i++) {
        next.size = ig_size(list[i]);
        next.own_dtype = ig_dtype_of(list[i]);
        next.fine_dtype = next.own_dtype == IG_F64 ? IG_F64 : IG_F32;
        s->at[i] = next;
        next.piece += (next.size + PIECE - 1) / PIECE;
        next.fine += aligned((uint64_t)next.size * ig_dtype_bytes(next.fine_dtype));
        next.own += aligned((uint64_t)next.size * ig_dtype_bytes(next.own_dtype));
    }
    s->at[s->n] = next;
}

int64_t vector_piece(const shards *s, int rank)
{
    return part_first(s->at[s->n].piece, s->ranks, rank);
}

static void fill_cuts(shards *s)
{
    for (int r = 0, i = 0; r <= s->ranks; r++) {
        const int64_t piece = vector_piece(s, r);
        while (i < s->n && s->at[i + 1].piece <= piece)
            i++;
        const uint64_t elements = (uint64_t)(piece - s->at[i].piece) * PIECE;
        const place *p = &s->at[i];
        s->fine_cut[r] = p->fine + (i < s->n ? elements * ig_dtype_bytes(p->fine_dtype) : 0);
        s->own_cut[r] = p->own + (i < s->n ? elements * ig_dtype_bytes(p->own_dtype) : 0);
    }
}

void vector_free(shards *s)
{
    free(s->at);
    free(s->fine_cut);
    free(s->own_cut);
    s->at = NULL;
    s->fine_cut = s->own_cut = NULL;
    s->n = s->n_param = 0;
}

ig_status vector_fill(shards *s, ig_array *const *list, int n, int n_param)
{
    vector_free(s);
    const size_t cuts = (size_t)s->ranks + 1;
    s->n_param = n_param;
    s->n = n;
    s->at = calloc((size_t)s->n + 1, sizeof *s->at);
    s->fine_cut = calloc(cuts, sizeof *s->fine_cut);
    s->own_cut = calloc(cuts, sizeof *s->own_cut);
    if (!s->at || !s->fine_cut || !s->own_cut) {
        vector_free(s);
        return ig_fail(IG_ERR_MEMORY, "shards: no memory for a list of %d arrays", n);
    }
    fill_places(s, list);
    fill_cuts(s);
    s->is_agreed = s->ranks == 1;
    return IG_OK;
}

ig_status vector_agree(shards *s, const ig_model *m)
{
    if (s->is_agreed)
        return IG_OK;
    uint8_t digest[HASH_BYTES];
    hash h;
    hash_begin(&h);
    hash_add(&h, &s->count, sizeof s->count);
    hash_add(&h, s->at, (size_t)s->n * sizeof *s->at);
    if (m) {
        hash_add(&h, &m->seed, sizeof m->seed);
        hash_add(&h, &m->steps, sizeof m->steps);
    }
    for (int i = 0; m && i < s->n; i++) {
        const entry *e = i < s->n_param ? &m->param.at[i] : &m->state.at[i - s->n_param];
        hash_add(&h, e->name, strlen(e->name) + 1);
    }
    hash_end(&h, digest);
    const ig_status status =
        team_agree(TEAM_MAIN, digest, sizeof digest,
                   m ? "models or shards (names, sizes, seed, steps, number of shards)"
                     : "sizes of arrays or numbers of shards");
    s->is_agreed = status == IG_OK;
    return status;
}

static int64_t clamped(int64_t x, int64_t most) { return x < 0 ? 0 : x > most ? most : x; }

void vector_span(const shards *s, int i, int rank, int64_t *lo, int64_t *hi)
{
    const place *p = &s->at[i];
    *lo = clamped((vector_piece(s, rank) - p->piece) * PIECE, p->size);
    *hi = clamped((vector_piece(s, rank + 1) - p->piece) * PIECE, p->size);
}

void vector_add_entry(const place *p, char *into, const char *from, int64_t n)
{
    if (p->fine_dtype == IG_F64) {
        double *x = (double *)into;
        const double *y = (const double *)from;
        for (int64_t i = 0; i < n; i++)
            x[i] += y[i];
    } else {
        float *x = (float *)into;
        const float *y = (const float *)from;
        for (int64_t i = 0; i < n; i++)
            x[i] += y[i];
    }
}

void vector_add(const shards *s, int rank, char *into, const char *from)
{
    const uint64_t base = rank < 0 ? 0 : s->fine_cut[rank];
    for (int i = 0; i < s->n; i++) {
        const place *p = &s->at[i];
        int64_t lo = 0, hi = p->size;
        if (rank >= 0)
            vector_span(s, i, rank, &lo, &hi);
        const uint64_t at = p->fine + (uint64_t)lo * ig_dtype_bytes(p->fine_dtype) - base;
        if (lo < hi)
            vector_add_entry(p, into + at, from + at, hi - lo);
    }
}
