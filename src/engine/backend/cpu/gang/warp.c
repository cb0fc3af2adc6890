/* Instructions across the lanes of a warp: shuffles, votes, matches, reductions. A lane takes part
 * if it is active and in the mask that the instruction names. */
#include "engine/backend/cpu/gang/gang.h"

#include <string.h>

/* One warp of a gang at one instruction. Values are bits; inactive lanes have values too. */
typedef struct warp {
    const gang_step *s;
    int width; /* bytes of a value */
    uint32_t here;
    const char *value;      /* a, by lanes */
    const uint32_t *choice; /* b: a lane, a distance */
    const uint32_t *named;  /* c: masks */
    const int32_t *group;   /* e: lanes of a shuffle group */
    uint64_t out[WARP_LANES];
} warp;

static uint64_t value_of(const warp *w, int lane)
{
    uint64_t v = 0;
    memcpy(&v, w->value + (size_t)lane * (size_t)w->width, (size_t)w->width);
    return v;
}

/* The source lane of a shuffle; a source outside of the lane's group is the lane itself. */
static int shuffled_from(const warp *w, int lane)
{
    const int size = w->group ? w->group[lane] : WARP_LANES;
    const int first = size > 0 && size < WARP_LANES ? lane / size * size : 0;
    const int last = first + (size > 0 && size < WARP_LANES ? size : WARP_LANES) - 1;
    const uint32_t by = w->choice[lane];
    int64_t from = lane;
    switch (w->s->row) {
    case WARP_SHUFFLE: from = first + (int64_t)(by & (uint32_t)(last - first)); break;
    case WARP_SHUFFLE_UP: from = (int64_t)lane - by; break;
    case WARP_SHUFFLE_DOWN: from = (int64_t)lane + by; break;
    case WARP_SHUFFLE_XOR: from = lane ^ (int64_t)(by & (WARP_LANES - 1)); break;
    }
    /* XOR may read an earlier group, but not a later one. */
    const bool inside = from <= last && (from >= first || w->s->row == WARP_SHUFFLE_XOR);
    return inside && from >= 0 ? (int)from : lane;
}

/* If all lanes have the same distance and group size, all warps have the same sources: from is then filled
 * once. A lane that reads an inactive lane gets 0, as GPUs do; CUDA leaves it undefined. */
static void shuffle_warp(warp *w, int *from, bool filled)
{
    for (int i = 0; i < WARP_LANES && !filled; i++)
        from[i] = shuffled_from(w, i);
    if (w->here != UINT32_MAX)
        for (int i = 0; i < WARP_LANES; i++)
            w->out[i] = w->here >> from[i] & 1 ? value_of(w, from[i]) : 0;
    else if (w->width == 4)
        for (int i = 0; i < WARP_LANES; i++)
            w->out[i] = ((const uint32_t *)(const void *)w->value)[from[i]];
    else
        for (int i = 0; i < WARP_LANES; i++)
            w->out[i] = value_of(w, from[i]);
}

void gang_shuffle_sources(gang *g, const gang_step *s, int first, int *from)
{
    const uint32_t *b = gang_lanes(g, s->b, s->ones & GANG_ONE_B, 4, 2);
    const int32_t *e = gang_lanes(g, s->e, s->ones & GANG_ONE_E, 4, 4);
    const warp w = {.s = s, .choice = b + first, .group = e ? e + first : NULL};
    for (int i = 0; i < WARP_LANES; i++)
        from[i] = shuffled_from(&w, i);
}

/* The active lanes whose value is not 0. */
static uint32_t ballot(const warp *w)
{
    uint32_t yes = 0;
    for (int i = 0; i < WARP_LANES; i++)
        yes |= (uint32_t)(value_of(w, i) != 0) << i;
    return yes & w->here;
}

static void vote(warp *w)
{
    const uint32_t yes = ballot(w);
    for (int i = 0; i < WARP_LANES; i++) {
        const uint32_t part = w->here & w->named[i], votes = yes & part;
        w->out[i] = w->s->row == WARP_BALLOT ? votes
                    : w->s->row == WARP_ANY  ? votes != 0
                    : w->s->row == WARP_ALL  ? votes == part
                                             : votes == part || votes == 0;
    }
}

static void match(warp *w)
{
    for (int i = 0; i < WARP_LANES; i++) {
        const uint32_t part = w->here & w->named[i];
        uint32_t alike = 0;
        for (uint32_t left = part; left; left &= left - 1) {
            const int k = __builtin_ctz(left);
            alike |= (uint32_t)(value_of(w, k) == value_of(w, i)) << k;
        }
        w->out[i] = w->s->row == WARP_MATCH_ANY || alike == part ? alike : 0;
    }
}

/* Folds the participating lanes in lane order, with loops over one lane. */
static uint64_t folded(const warp *w, uint32_t part)
{
    uint64_t sum = 0;
    bool first = true;
    for (uint32_t left = part; left; left &= left - 1) {
        const uint64_t v = value_of(w, __builtin_ctz(left));
        if (first)
            sum = v;
        else
            w->s->loop(1, &sum, &sum, &v, NULL);
        first = false;
    }
    return sum;
}

static void fold(warp *w)
{
    for (int i = 0; i < WARP_LANES; i++) {
        const uint32_t part = w->here & w->named[i];
        const bool again = i > 0 && part == (w->here & w->named[i - 1]);
        w->out[i] = again ? w->out[i - 1] : folded(w, part);
    }
}

static void rank_shuffle(warp *w)
{
    for (int i = 0; i < WARP_LANES; i++) {
        uint32_t left = w->here & w->named[i];
        for (uint32_t k = w->choice[i]; k && left; k--)
            left &= left - 1;
        w->out[i] = value_of(w, left ? __builtin_ctz(left) : i);
    }
}

static void one_warp(warp *w)
{
    switch (w->s->row) {
    case WARP_SHUFFLE_RANK: rank_shuffle(w); break;
    case WARP_BALLOT:
    case WARP_ANY:
    case WARP_ALL:
    case WARP_SAME: vote(w); break;
    case WARP_MATCH_ANY:
    case WARP_MATCH_ALL: match(w); break;
    default: fold(w);
    }
}

void gang_warp(gang *g, const gang_step *s)
{
    const bool active = s->op == CODE_ACTIVE;
    const int width = active ? 4 : (int)ig_dtype_bytes(dtype_lane((ig_dtype)s->dtype));
    const char *a = gang_lanes(g, s->a, s->ones & GANG_ONE_A, width, 1);
    const uint32_t *b = gang_lanes(g, s->b, s->ones & GANG_ONE_B, 4, 2);
    const uint32_t *c = gang_lanes(g, s->c, s->ones & GANG_ONE_C, 4, 3);
    const int32_t *e = gang_lanes(g, s->e, s->ones & GANG_ONE_E, 4, 4);
    char *d = gang_target(g, s);
    const bool shuffles = !active && s->row <= WARP_SHUFFLE_XOR;
    const bool alike = s->ones & GANG_ONE_B && s->ones & GANG_ONE_E;
    int from[WARP_LANES];
    for (int first = 0; first < g->lanes; first += WARP_LANES) {
        warp w = {s, width, g->mask[first / WARP_LANES], NULL, NULL, NULL, NULL, {0}};
        const int n = g->lanes - first < WARP_LANES ? g->lanes - first : WARP_LANES;
        if (active) {
            for (int i = 0; i < n; i++)
                w.out[i] = w.here;
        } else {
            w.value = a + (size_t)first * (size_t)width;
            w.choice = b ? b + first : NULL;
            w.named = c + first;
            w.group = e ? e + first : NULL;
            if (shuffles)
                shuffle_warp(&w, from, alike && first > 0);
            else
                one_warp(&w);
        }
        if (s->width == 4)
            for (int i = 0; i < n; i++)
                ((uint32_t *)(void *)d)[first + i] = (uint32_t)w.out[i];
        else
            for (int i = 0; i < n; i++)
                memcpy(d + (size_t)(first + i) * s->width, &w.out[i], s->width);
    }
    gang_keep(g, s, d);
}
