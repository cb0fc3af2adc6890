/* The shadow memory of the checker: races, and reads of memory that was not written.
 *
 * Two accesses of the same bytes by different threads race if one of them writes, they are not both
 * atomic or volatile, and nothing orders them: neither a barrier of their block nor atomics of both
 * threads between them (a lock, a counter of finished blocks). A store that does not change memory
 * is not a race. Lanes of a warp are ordered by lock step; code that relies on it without
 * __syncwarp gets a note. The plain read before a loop around atomicCAS is only a guess, which the atomic verifies. If
 * a thread changes by an atomic a value that it read, that read instruction does not race with atomics. */
#include "engine/backend/cpu/gang/check.h"

#include "base/memory.h"

#include <string.h>

enum {
    SHADOW_MOST = 1 << 30 /* bytes for one object */,
    GUESSES = 1 << 15 /* a bit of reported */
};

ig_status check_shadow_begin(check_shadow *s, uint64_t bytes, int shift, bool is_shared)
{
    const size_t n = (size_t)((bytes >> shift) + 2);
    *s = (check_shadow){.shift = shift};
    if (n > SHADOW_MOST / sizeof *s->cells)
        return IG_OK;
    s->cells = memory_new(n * sizeof *s->cells);
    if (is_shared) {
        s->set = memory_new(n * sizeof *s->set);
        s->set_bytes = memory_new(n);
    }
    return s->cells && (!is_shared || (s->set && s->set_bytes)) ? IG_OK : IG_ERR_MEMORY;
}

void check_shadow_end(check_shadow *s)
{
    memory_free(s->cells);
    memory_free(s->set);
    memory_free(s->set_bytes);
}

static bool guesses(const gang_check *c, const check_access *a)
{
    return !a->strong && c->reported[a->pc] & GUESSES;
}

typedef enum order { ORDERED, LOCKSTEP, TOGETHER /* the same instruction of a warp */, RACE } order;

static order order_of(const gang_check *c, const check_lane *l, const check_access *was,
                      const check_access *is)
{
    const int old = was->thread / WARP_LANES, new = is->thread / WARP_LANES;
    if (!was->block || !(was->bytes & is->bytes) || (was->strong && is->strong))
        return ORDERED;
    if ((was->strong && guesses(c, is)) || (is->strong && guesses(c, was)))
        return ORDERED;
    if (was->block != is->block && l->object->shadow == &c->shared)
        return ORDERED; /* shared memory of another block is different memory */
    if (was->block != is->block) {
        const bool known = was->block < c->n_blocks;
        return known && c->block_released[was->block] > was->time && c->block_acquired ? ORDERED
                                                                                       : RACE;
    }
    if (was->thread == is->thread || was->time < c->barrier)
        return ORDERED;
    if (old == new)
        return was->time == is->time ? TOGETHER : LOCKSTEP;
    return c->released[old] > was->time && c->acquired[new] > was->time ? ORDERED : RACE;
}

static void tell_race(gang_check *c, const check_lane *l, const check_access *was, const char *did,
                      const char *other)
{
    char name[100];
    const uint32_t *dim = c->launch->block, *grid = c->launch->grid, b = was->block - 1,
                   t = was->thread;
    check_name(l, name, sizeof name);
    if (was->block == c->block)
        check_tell(c, l->g, l->s, l->lane, MISTAKE_RACE, (int)was->pc,
                   "%s %s, which thread (%u, %u, %u) %s with no barrier between", did, name,
                   t % dim[0], t / dim[0] % dim[1], t / (dim[0] * dim[1]), other);
    else
        check_tell(c, l->g, l->s, l->lane, MISTAKE_RACE, (int)was->pc,
                   "%s %s, which block (%u, %u, %u) %s; blocks run in any order", did, name,
                   b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1], other);
}

static void saw_read(gang_check *c, const check_lane *l, check_cell *cell, const check_access *me)
{
    const order o = order_of(c, l, &cell->wrote, me);
    const int warp = me->thread / WARP_LANES;
    if (o == RACE) {
        tell_race(c, l, &cell->wrote, "reads", "wrote");
    } else if (o == LOCKSTEP && !me->strong && !cell->wrote.strong &&
               c->synced[warp] < cell->wrote.time) {
        char name[100];
        check_name(l, name, sizeof name);
        check_tell(c, l->g, l->s, l->lane, MISTAKE_LOCKSTEP, (int)cell->wrote.pc,
                   "reads %s, which another lane of the warp wrote, with no __syncwarp() between",
                   name);
    }
    if (cell->read.block != me->block || cell->read.thread / WARP_LANES != warp)
        cell->read_before = cell->read;
    cell->read = *me;
}

/* True if the store does not change memory, or stores the same value as another lane in the same instruction. */
static bool changes_nothing(const check_lane *l, const check_access *was, const check_access *me)
{
    const size_t width = (size_t)l->t->width;
    const char *value = l->t->value + (size_t)l->lane * width;
    if (was->time != me->time)
        return !memcmp(value, (const void *)(uintptr_t)l->t->place[l->lane], width);
    const int lane = was->thread - l->g->first;
    return l->t->place[lane] == l->t->place[l->lane] &&
           !memcmp(value, l->t->value + (size_t)lane * width, width);
}

/* The read was a guess: removes its finding. */
static void take_back(gang_check *c, const gang *g, check_access *read)
{
    kernel_check *k = c->out;
    const uint32_t place = g->code->step[read->pc].place;
    int kept = 0;
    for (int i = 0; i < k->n; i++) {
        const kernel_finding *f = &k->found[i];
        if (f->mistake != MISTAKE_RACE || (f->place != place && f->other != place))
            k->found[kept++] = *f;
    }
    k->n = kept;
    c->reported[read->pc] |= GUESSES;
}

static void saw_write(gang_check *c, const check_lane *l, check_cell *cell, const check_access *me)
{
    const bool atomic = l->t->kind == TOUCH_ATOMIC;
    check_access *read = &cell->read;
    if (atomic && read->block == me->block && read->thread == me->thread && !read->strong &&
        !guesses(c, read))
        take_back(c, l->g, read);
    const order wrote = order_of(c, l, &cell->wrote, me);
    const check_access *reads[] = {&cell->read, &cell->read_before};
    if (wrote == TOGETHER && !atomic && !changes_nothing(l, &cell->wrote, me)) {
        char name[100];
        check_name(l, name, sizeof name);
        check_tell(
            c, l->g, l->s, l->lane, MISTAKE_RACE, (int)me->pc,
            "writes %s, to which another lane of its warp writes another value at the same time",
            name);
    } else if (wrote == RACE && (atomic || !changes_nothing(l, &cell->wrote, me))) {
        tell_race(c, l, &cell->wrote, atomic ? "changes" : "writes", "wrote");
    }
    for (int i = 0; i < 2; i++)
        if (order_of(c, l, reads[i], me) == RACE && (atomic || !changes_nothing(l, reads[i], me)))
            tell_race(c, l, reads[i], atomic ? "changes" : "writes", "read");
    cell->wrote = *me;
}

static void check_set(gang_check *c, const check_lane *l, uint64_t granule, uint8_t bytes)
{
    check_shadow *s = &c->shared;
    const uint8_t set = s->set[granule] == c->block ? s->set_bytes[granule] : 0;
    if (l->t->kind != TOUCH_STORE && bytes & ~set) {
        char name[100];
        check_name(l, name, sizeof name);
        check_tell(c, l->g, l->s, l->lane, MISTAKE_UNSET, -1,
                   "reads %s, which no thread of the block has written", name);
    }
    s->set[granule] = c->block;
    s->set_bytes[granule] = set | bytes;
}

/* An element counts as read before it was written only if none of its bytes was written: copies of structs include
 * their padding. */
void check_written(gang_check *c, const check_lane *l)
{
    uint8_t *written = l->object ? l->object->written : NULL;
    const uint64_t from = l->t->place[l->lane] - l->from, to = from + (uint64_t)l->t->width;
    bool any = false;
    uint8_t *touched = !l->object || l->t->kind == TOUCH_ATOMIC ? NULL
                       : l->t->kind == TOUCH_STORE              ? l->object->stores
                                                                : l->object->reads;
    for (uint64_t k = from; touched && k < to; k++)
        touched[k / 8] |= (uint8_t)(1u << k % 8);
    for (uint64_t k = from; written && k < to; k++) {
        any |= written[k / 8] >> k % 8 & 1;
        written[k / 8] |= (uint8_t)(1u << k % 8); /* or it was reported */
    }
    if (!written || any || l->t->kind == TOUCH_STORE)
        return;
    char name[100];
    check_name(l, name, sizeof name);
    check_tell(c, l->g, l->s, l->lane, MISTAKE_UNSET, -1,
               "reads %s, which neither the host nor a kernel has written", name);
}

void check_race(gang_check *c, const check_lane *l)
{
    check_shadow *s = l->object ? l->object->shadow : NULL;
    const bool is_shared = s == &c->shared;
    if (!s || !s->cells)
        return;
    const uint64_t begin_at = is_shared ? (uintptr_t)l->g->shared : l->from;
    const uint64_t from = l->t->place[l->lane] - begin_at, to = from + (uint64_t)l->t->width;
    check_access me = {c->block,
                       c->now,
                       (uint32_t)check_pc(l->g, l->s),
                       (uint16_t)(l->g->first + l->lane),
                       0,
                       l->t->kind == TOUCH_ATOMIC || l->s->flags & CODE_VOLATILE};
    for (uint64_t k = from >> s->shift; k << s->shift < to; k++) {
        const uint64_t begin = k << s->shift, end = begin + ((uint64_t)1 << s->shift);
        const uint64_t first = from > begin ? from - begin : 0,
                       last = (to < end ? to : end) - begin;
        me.bytes = (uint8_t)((1u << last) - (1u << first));
        if (is_shared)
            check_set(c, l, k, me.bytes);
        if (l->t->kind == TOUCH_LOAD)
            saw_read(c, l, &s->cells[k], &me);
        else
            saw_write(c, l, &s->cells[k], &me);
    }
}

void check_order(gang_check *c, const gang *g, const gang_step *s, const gang_touch *t,
                 const uint32_t *mask)
{
    const bool atomic = t->kind == TOUCH_ATOMIC, own = s->flags & CODE_OWN;
    if (!atomic && (own || !(s->flags & CODE_VOLATILE)))
        return;
    for (int w = 0; w * WARP_LANES < g->lanes; w++) {
        const int warp = g->first / WARP_LANES + w;
        if (mask[w] && t->kind != TOUCH_LOAD)
            c->released[warp] = c->now;
        if (mask[w] && t->kind != TOUCH_STORE)
            c->acquired[warp] = c->now;
    }
    if (!own && t->kind != TOUCH_LOAD && c->block < c->n_blocks)
        c->block_released[c->block] = c->now;
    if (!own && t->kind != TOUCH_STORE)
        c->block_acquired = c->now;
}
