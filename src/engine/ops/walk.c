/* The walk. See walk.h. */
#include "engine/ops/walk.h"
#include "base/error.h"
#include "base/memory.h"
#include <string.h>

/* ---- places by address ---- */

static size_t slot_of(const walk *w, const ig_array *x)
{
    size_t h = (size_t)((uintptr_t)x >> 4) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) & (w->slots - 1);
    while (w->slot[h] >= 0 && w->place[w->slot[h]].at != x)
        h = (h + 1) & (w->slots - 1);
    return h;
}

/* Resizes *at to n elements; false on failure, and then *at is unchanged. */
static bool resize(void *pointer, size_t n, size_t element_bytes)
{
    void *at;
    memcpy(&at, pointer, sizeof at);
    at = memory_resize(at, n * element_bytes);
    if (at)
        memcpy(pointer, &at, sizeof at);
    return at != NULL;
}

/* Doubles the room for places and rebuilds the hash table. */
static bool grow(walk *w)
{
    const int room = w->room ? 2 * w->room : 64;
    const size_t n = (size_t)room;
    if (!resize(&w->place, n, sizeof *w->place) || !resize(&w->order, n, sizeof *w->order) ||
        !resize(&w->stack, n, sizeof *w->stack) || !resize(&w->slot, 4 * n, sizeof *w->slot))
        return false;
    w->room = room;
    w->slots = 4 * n;
    memset(w->slot, -1, w->slots * sizeof *w->slot);
    for (int i = 0; i < w->n; i++)
        w->slot[slot_of(w, w->place[i].at)] = i;
    return true;
}

place *walk_put(walk *w, ig_array *x)
{
    if (w->n == w->room && !grow(w))
        return NULL;
    const size_t h = slot_of(w, x);
    if (w->slot[h] < 0) {
        w->place[w->n] = (place){.at = x};
        w->slot[h] = w->n++;
    }
    return &w->place[w->slot[h]];
}

place *walk_find(const walk *w, const ig_array *x)
{
    const int i = w->n ? w->slot[slot_of(w, x)] : -1;
    return i < 0 ? NULL : &w->place[i];
}

void walk_free(walk *w)
{
    memory_free(w->place);
    memory_free(w->order);
    memory_free(w->stack);
    memory_free(w->slot);
}

/* ---- edges ---- */

static bool is_boundary(const ig_array *x)
{
    return x->op == OP_stop_gradient || x->op == OP_custom;
}

ig_array *walk_behind(const walk *w, ig_array *x)
{
    while (x != x->root && !is_boundary(x) && !walk_find(w, x))
        x = x->in[0];
    return x;
}

/* The inputs of a custom gradient follow its definition, in[0]. */
int edge_first(const walk *w, const ig_array *x) { return w->gradients && x->custom; }

int edge_end(const walk *w, const ig_array *x)
{
    return w->gradients && x != x->root && x->op == OP_stop_gradient ? 0 : x->n_in;
}

ig_array *edge_to(const walk *w, const ig_array *x, int i)
{
    ig_array *y = x->in[i];
    return w->gradients && !dtype_is_float((ig_dtype)y->dtype) ? NULL : walk_behind(w, y);
}

/* ---- the walk ---- */

ig_status walk_from(walk *w, ig_array *x)
{
    int depth = 0;
    place *p = walk_put(w, walk_behind(w, x));
    if (!p)
        return IG_ERR_MEMORY;
    if (!p->finished)
        w->stack[depth++] = (int)(p - w->place);
    while (depth) {
        const int at = w->stack[depth - 1];
        p = &w->place[at];
        const int i = edge_first(w, p->at) + p->next;
        if (i >= edge_end(w, p->at) || (w->ends && p->given)) {
            p->finished = true;
            w->order[w->n_order++] = at;
            depth--;
            continue;
        }
        ig_array *to = edge_to(w, p->at, i);
        place *next = to ? walk_put(w, to) : NULL;
        if (to && !next)
            return IG_ERR_MEMORY;
        if (to && !next->finished) {
            w->stack[depth++] = (int)(next - w->place);
            continue;
        }
        p = &w->place[at];
        p->needed = p->needed || (to && next->needed);
        p->next++;
    }
    return IG_OK;
}
