/* The checker: finds the object of an access, checks bounds and alignment, barriers and endless
 * loops, and keeps the list of findings. */
#include "engine/backend/cpu/gang/check.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    NULL_PAGE = 1 << 16,
    BLOCKS_KNOWN = 1 << 24,
    FAR_AWAY = 1 << 20, /* an address farther from an array is not treated as an index into it */
    NEAR = 1 << 12      /* the same limit for local variables and for memory without a name */
};

/* ---- findings ---- */

static kernel_finding *find_finding(kernel_check *k, kernel_mistake mistake, uint32_t place,
                                    uint32_t other)
{
    for (int i = 0; i < k->n; i++) {
        kernel_finding *f = &k->found[i];
        const bool turned = other && f->place == other && f->other == place;
        if (f->mistake == mistake && (f->place == place || turned))
            return f;
    }
    return NULL;
}

void check_tell(gang_check *c, const gang *g, const gang_step *s, int lane, kernel_mistake mistake,
                int other_pc, const char *format, ...)
{
    const uint32_t thread = (uint32_t)(g->first + lane), *dim = c->launch->block;
    const uint32_t other = other_pc < 0 ? 0 : g->code->step[other_pc].place;
    uint16_t *reported = &c->reported[check_pc(g, s)];
    kernel_finding *f = find_finding(c->out, mistake, s->place, other);
    if (f) {
        f->count++;
        return;
    }
    if (c->out->n == KERNEL_FINDINGS) {
        c->out->n_more += !(*reported >> mistake & 1);
        *reported |= (uint16_t)(1u << mistake);
        return;
    }
    f = &c->out->found[c->out->n++];
    *f = (kernel_finding){
        .mistake = mistake,
        .place = s->place,
        .other = other == s->place ? 0 : other,
        .thread = {thread % dim[0], thread / dim[0] % dim[1], thread / (dim[0] * dim[1])},
        .count = 1};
    memcpy(f->block, g->block, sizeof f->block);
    va_list args;
    va_start(args, format);
    vsnprintf(f->message, sizeof f->message, format, args);
    va_end(args);
}

void check_name(const check_lane *l, char *out, size_t room)
{
    const code_object *o = l->object->is;
    const int64_t at = (int64_t)(l->t->place[l->lane] - l->base);
    if (!o) {
        snprintf(out, room, "byte %lld of memory of %llu bytes", (long long)at,
                 (unsigned long long)l->object->bytes);
        return;
    }
    const int64_t each = (int64_t)o->element;
    const char *space = o->origin == ORIGIN_SHARED ? "shared " : "";
    if (l->object->bytes == o->element)
        snprintf(out, room, "%s'%s'", space, o->name);
    else
        snprintf(out, room, "element %lld of %s'%s'",
                 (long long)(at >= 0 ? at / each : -((each - 1 - at) / each)), space, o->name);
}

/* ---- finding the object ---- */

static uint64_t base_of(const gang *g, const check_object *o, int lane)
{
    if (o->is && o->is->origin == ORIGIN_SHARED)
        return (uintptr_t)g->shared + o->base;
    if (o->is && o->is->origin == ORIGIN_LOCAL)
        return (uintptr_t)g->local + (uint64_t)lane * g->code->code->local_bytes + o->base;
    return o->base;
}

static uint64_t from_of(const gang *g, const check_object *o, int lane)
{
    const bool moves = o->is && (o->is->origin == ORIGIN_SHARED || o->is->origin == ORIGIN_LOCAL);
    return moves ? base_of(g, o, lane) : o->from;
}

static bool inside(uint64_t place, int width, uint64_t base, uint64_t bytes)
{
    return place >= base && place - base + (uint64_t)width <= bytes;
}

static ig_status shadow_new(check_object *o, int shift)
{
    o->shadow = memory_new(sizeof *o->shadow);
    o->owner = o->shadow;
    return o->shadow ? check_shadow_begin(o->shadow, o->bytes, shift, false) : IG_ERR_MEMORY;
}

/* The last piece of memory that begins at the address or before it, or -1. */
static int memory_before(const kernel_check *k, uint64_t place)
{
    int low = 0, high = k->n_memory;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (k->memory[middle].base <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* The piece of memory that contains the address or ends at it, or -1. */
static int memory_at(const kernel_check *k, uint64_t place)
{
    const int m = memory_before(k, place);
    return m >= 0 && place - k->memory[m].base <= k->memory[m].bytes ? m : -1;
}

/* The piece of memory that contains the address, or ends shortly before it; -1 if there is none.
 * distance: to the nearest array with a name. */
static int memory_meant(const gang_check *c, uint64_t place, uint64_t distance)
{
    const int m = memory_before(c->out, place);
    if (!distance || m < 0)
        return -1;
    const uint64_t bytes = c->memory[m].bytes, at = place - c->memory[m].from;
    const bool past = at < 2 * bytes && at - bytes < NEAR && at - bytes + 1 < distance;
    return at < bytes || past ? m : -1;
}

/* Finds the object or the piece of memory that contains the address. If there is none, takes the nearest object, unless
 * it is too far away. */
static void search(const gang_check *c, check_lane *l, uint64_t place)
{
    uint64_t distance = UINT64_MAX;
    l->object = NULL;
    for (int i = 0; i < c->code->code->n_object; i++) {
        const check_object *o = &c->objects[i];
        const uint64_t from = from_of(l->g, o, l->lane), end = from + o->bytes;
        if (!from || !o->bytes)
            continue;
        const uint64_t far = inside(place, l->t->width, from, o->bytes) ? 0
                             : place < from                             ? from - place
                             : place < end                              ? 1
                                                                        : place - end + 1;
        const bool local = o->is && o->is->origin == ORIGIN_LOCAL;
        if (far < distance && far <= (local ? NEAR : FAR_AWAY)) {
            distance = far;
            l->object = o;
        }
    }
    const int m = memory_meant(c, place, distance);
    if (m < 0)
        return;
    l->object = c->out->memory[m].freed ? NULL : &c->memory[m];
    if (l->object && !l->object->shadow)
        shadow_new(&c->memory[m], 0);
}

static bool in_locals(const gang_check *c, const gang *g, uint64_t place, int width, int lane)
{
    const uint64_t each = g->code->code->local_bytes, all = (uintptr_t)g->local;
    return c->far_locals ? inside(place, width, all, each * (uint64_t)g->lanes)
                         : inside(place, width, all + each * (uint64_t)lane, each);
}

/* ---- bounds ---- */

static const char *const does[] = {
    [TOUCH_LOAD] = "reads", [TOUCH_STORE] = "writes", [TOUCH_ATOMIC] = "changes"};

static void tell_bounds(gang_check *c, const check_lane *l)
{
    const uint64_t place = l->t->place[l->lane];
    char name[100];
    const char *did = does[l->t->kind];
    const check_object *o = l->object;
    const bool points = o && o->is && o->is->origin == ORIGIN_PARAMETER;
    const int m = memory_at(c->out, points ? l->base : place);
    if (place < NULL_PAGE || (o && !l->base)) {
        check_tell(c, l->g, l->s, l->lane, MISTAKE_NULL, -1, "%s %d bytes at a null pointer%s%s%s",
                   did, l->t->width, o && !l->base ? ": '" : "", o && !l->base ? o->is->name : "",
                   o && !l->base ? "' is not given" : "");
        return;
    }
    if (o)
        check_name(l, name, sizeof name);
    else
        snprintf(name, sizeof name, "%d bytes", l->t->width);
    if (m >= 0 && c->out->memory[m].freed && (points || !o)) {
        check_tell(c, l->g, l->s, l->lane, MISTAKE_FREED, -1, "%s %s%s was freed", did, name,
                   o ? ", whose memory" : " of memory that");
    } else if (c->out->memory && (o ? points && m < 0 : m < 0)) {
        check_tell(c, l->g, l->s, l->lane, MISTAKE_FOREIGN, -1,
                   "%s %s at %#llx, which is not memory of the device; allocate it with cudaMalloc",
                   did, name, (unsigned long long)place);
    } else if (!o || !o->is) {
        check_tell(c, l->g, l->s, l->lane, MISTAKE_BOUNDS, -1, "%s %s%s", did, name,
                   o ? ", beyond its end" : " where there is no array");
    } else {
        const uint64_t n = (o->bytes - (l->base - l->from)) / o->is->element;
        check_tell(c, l->g, l->s, l->lane, MISTAKE_BOUNDS, -1,
                   "%s %s, which has %llu element%s of %u byte%s", did, name, (unsigned long long)n,
                   n == 1 ? "" : "s", o->is->element, o->is->element == 1 ? "" : "s");
    }
}

/* Finds the object of an access. Returns true if it is local memory without a name. */
static bool find_object(const gang_check *c, const code_inst *inst, check_lane *l)
{
    const uint64_t place = l->t->begin ? l->t->begin : l->t->place[l->lane];
    const bool local = !inst->object && in_locals(c, l->g, place, l->t->width, l->lane);
    l->object = inst->object ? &c->objects[inst->object - 1] : NULL;
    if (!inst->object && (!local || l->t->begin))
        search(c, l, place);
    if (!local || !l->object)
        return local;
    /* A string in local memory: checked against the array that it begins in, if the array has a name. */
    if (!inside(place, l->t->width, from_of(l->g, l->object, l->lane), l->object->bytes))
        l->object = NULL;
    return !l->object;
}

/* Checks one lane's access. Returns false if the access must not be made. */
static bool check_place(gang_check *c, check_lane *l)
{
    const code_inst *inst = &c->code->code->inst[check_pc(l->g, l->s)];
    const uint64_t place = l->t->place[l->lane];
    const int width = l->t->width;
    const bool local = find_object(c, inst, l);
    l->base = l->object ? base_of(l->g, l->object, l->lane) : 0;
    l->from = l->object ? from_of(l->g, l->object, l->lane) : 0;
    if (local ? !in_locals(c, l->g, place, width, l->lane)
              : !(l->base && inside(place, width, l->from, l->object->bytes))) {
        tell_bounds(c, l);
        return false;
    }
    const uint64_t align = inst->align > (uint32_t)width ? inst->align : (uint64_t)width;
    if (place % align) {
        char name[100] = "local memory";
        if (l->object)
            check_name(l, name, sizeof name);
        check_tell(c, l->g, l->s, l->lane, MISTAKE_ALIGNMENT, -1,
                   "%s %llu bytes in %s at an address that is not a multiple of %llu",
                   does[l->t->kind], (unsigned long long)align, name, (unsigned long long)align);
    }
    return place % align == 0;
}

/* ---- watching ---- */

static void block_begins(gang_check *c, const gang *g)
{
    const uint32_t *grid = c->launch->grid;
    const uint32_t block = 1 + g->block[0] + grid[0] * (g->block[1] + grid[1] * g->block[2]);
    if (block == c->block)
        return;
    c->block = block;
    c->barrier = ++c->now;
    c->block_acquired = 0;
    memset(c->released, 0, sizeof c->released);
    memset(c->acquired, 0, sizeof c->acquired);
    memset(c->synced, 0, sizeof c->synced);
    memset(c->loops, 0, sizeof c->loops);
    memset(c->fell, 0, sizeof c->fell);
    check_unset_block(c);
}

static void touch(gang_watch *w, gang *g, const gang_step *s, const gang_touch *t, uint32_t *mask)
{
    gang_check *c = (gang_check *)w;
    check_lane l = {.g = g, .s = s, .t = t};
    c->now++;
    for (l.lane = 0; l.lane < g->lanes; l.lane++) {
        uint32_t *bits = &mask[l.lane / WARP_LANES];
        if (!(*bits >> l.lane % WARP_LANES & 1))
            continue;
        if (check_place(c, &l)) {
            check_written(c, &l);
            check_race(c, &l);
        } else {
            *bits &= ~(1u << l.lane % WARP_LANES);
        }
    }
    check_order(c, g, s, t, mask);
}

static int first_lane(const uint32_t *mask)
{
    int w = 0;
    while (w < GANG_WARPS - 1 && !mask[w])
        w++;
    return w * WARP_LANES + (mask[w] ? __builtin_ctz(mask[w]) : 0);
}

/* Reports threads of this gang that have neither returned nor reached the barrier. */
static void check_barrier(gang_check *c, const gang *g, const gang_step *s)
{
    gang_mask live;
    uint32_t some = 0;
    gang_live(g, live);
    for (int w = 0; w < GANG_WARPS; w++)
        some |= live[w] &= ~g->mask[w];
    if (some && g->any)
        check_tell(c, g, s, first_lane(live), MISTAKE_BARRIER, -1,
                   "does not come to this barrier, where threads of its block wait");
}

/* Reports shuffles that read a lane which does not execute them. GPUs return 0, so it is a note, unless the mask names a
 * lane that has returned. */
static void check_shuffle(gang_check *c, gang *g, const gang_step *s)
{
    gang_mask returned;
    const uint32_t *named = gang_lanes(g, s->c, s->ones & GANG_ONE_C, 4, 3);
    gang_live(g, returned);
    for (int i = 0; i < g->lanes; i++) /* of the lanes that exist */
        returned[i / WARP_LANES] ^= 1u << i % WARP_LANES;
    for (int first = 0; first < g->lanes; first += WARP_LANES) {
        const uint32_t here = g->mask[first / WARP_LANES];
        int from[WARP_LANES];
        if (here == 0 || here == UINT32_MAX)
            continue;
        gang_shuffle_sources(g, s, first, from);
        for (int i = 0; i < WARP_LANES; i++)
            if (here >> i & 1 && !(here >> from[i] & 1)) {
                const bool gone = returned[first / WARP_LANES] & named[first + i] & 1u << from[i];
                check_tell(c, g, s, first + i, gone ? MISTAKE_RETURNED : MISTAKE_SHUFFLE, -1,
                           gone ? "shuffles from lane %d, which the mask names and which has "
                                  "returned: the value is undefined"
                                : "shuffles from lane %d, which is not active: CUDA leaves the "
                                  "value undefined, GPUs give 0",
                           from[i]);
            }
    }
}

static bool step(gang_watch *w, gang *g, const gang_step *s)
{
    gang_check *c = (gang_check *)w;
    const int first = g->first / WARP_LANES;
    block_begins(c, g);
    check_unset(c, g, s);
    if (s->op == CODE_WARP && s->row <= WARP_SHUFFLE_XOR)
        check_shuffle(c, g, s);
    if (s->op == CODE_BARRIER) {
        check_barrier(c, g, s);
    } else if (s->op == CODE_SYNC || s->op == CODE_WARP) {
        c->now++;
        for (int i = 0; i * WARP_LANES < g->lanes; i++)
            if (g->mask[i])
                c->synced[first + i] = c->now;
    } else if (s->op == CODE_END_CALL && s->level == 0) {
        c->fell[first] = g->any;
    } else if (s->op == CODE_AGAIN && g->any && ++c->loops[first] >= c->out->loops) {
        check_tell(c, g, &g->code->step[s->jump - 1], first_lane(g->mask), MISTAKE_LOOP, -1,
                   "is still in this loop after its warp ran %llu iterations",
                   (unsigned long long)c->loops[first]);
        return false;
    }
    return true;
}

/* Reports gangs that wait at different barriers, or that have ended without reaching the barrier. */
static void barrier(gang_watch *w, gang *gangs, int n)
{
    gang_check *c = (gang_check *)w;
    int waits = 0;
    while (gangs[waits].state != GANG_WAITS)
        waits++;
    const gang_step *s = &gangs[waits].code->step[gangs[waits].pc - 1];
    for (int i = 0; i < n; i++) {
        const gang *g = &gangs[i];
        const bool elsewhere = g->state == GANG_WAITS && g->pc != gangs[waits].pc;
        if (elsewhere || (g->state == GANG_ENDED && c->fell[g->first / WARP_LANES])) {
            check_tell(c, g, s, 0, MISTAKE_BARRIER, -1,
                       elsewhere ? "waits at another barrier, while threads of its block wait at "
                                   "this one"
                                 : "does not come to this barrier, where threads of its block "
                                   "wait");
            break;
        }
    }
    c->barrier = ++c->now;
}

/* ---- beginning and end ---- */

static int granule_shift(const lane_code *code)
{
    for (int i = 0; i < code->n_object; i++)
        if (code->object[i].origin == ORIGIN_SHARED && code->object[i].element < 4)
            return 0;
    return 2;
}

/* A pointer into known memory may access all of it. A pointer to unknown memory may access nothing. */
static ig_status object_in_memory(gang_check *c, check_object *o)
{
    const int m = memory_at(c->out, o->base);
    o->bytes = 0;
    if (m < 0 || c->out->memory[m].freed)
        return IG_OK;
    check_object *all = &c->memory[m];
    if (!all->shadow)
        TRY(shadow_new(all, o->is->element < 4 ? 0 : 2));
    o->from = all->from;
    o->bytes = all->bytes;
    o->shadow = all->shadow;
    o->written = all->written;
    o->reads = all->reads;
    o->stores = all->stores;
    return IG_OK;
}

/* Creates the shadow of global memory. Objects at one address share a shadow. */
static ig_status object_begin(gang_check *c, int i, uint64_t bytes)
{
    check_object *o = &c->objects[i];
    const code_object *is = o->is = &c->code->code->object[i];
    o->bytes = is->bytes ? is->bytes : bytes;
    o->base = is->offset;
    if (is->origin == ORIGIN_SHARED) {
        o->bytes = is->bytes ? is->bytes : c->launch->dynamic_bytes;
        o->shadow = &c->shared;
        return IG_OK;
    }
    if (is->origin == ORIGIN_LOCAL)
        return IG_OK;
    if (is->origin == ORIGIN_PARAMETER)
        memcpy(&o->base, (const char *)c->launch->arguments + is->offset, 8);
    else
        o->base += (uintptr_t)c->launch->globals;
    o->from = o->base;
    if (is->origin == ORIGIN_PARAMETER && c->out->memory && o->base)
        return object_in_memory(c, o);
    for (int k = 0; k < i; k++)
        if (c->objects[k].owner && c->objects[k].base == o->base)
            o->shadow = c->objects[k].shadow;
    return o->shadow || !o->base ? IG_OK : shadow_new(o, is->element < 4 ? 0 : 2);
}

static ig_status check_begin(gang_check *c, const uint64_t *bytes)
{
    const lane_code *code = c->code->code;
    c->objects = memory_new(((size_t)code->n_object + 1) * sizeof *c->objects);
    c->reported = memory_new(((size_t)code->n_inst + 1) * sizeof *c->reported);
    const uint64_t blocks =
        1 + (uint64_t)c->launch->grid[0] * c->launch->grid[1] * c->launch->grid[2];
    c->n_blocks = (uint32_t)(blocks < BLOCKS_KNOWN ? blocks : BLOCKS_KNOWN);
    c->block_released = memory_new(c->n_blocks * sizeof *c->block_released);
    c->memory = memory_new(((size_t)c->out->n_memory + 1) * sizeof *c->memory);
    if (!c->objects || !c->reported || !c->block_released || !c->memory)
        return IG_ERR_MEMORY;
    for (int i = 0; i < c->out->n_memory; i++)
        c->memory[i] = (check_object){.base = c->out->memory[i].base,
                                      .from = c->out->memory[i].base,
                                      .bytes = c->out->memory[i].bytes,
                                      .written = c->out->memory[i].written,
                                      .reads = c->out->memory[i].reads,
                                      .stores = c->out->memory[i].stores};
    TRY(check_shadow_begin(&c->shared, code->shared_bytes + c->launch->dynamic_bytes,
                           granule_shift(code), true));
    for (int i = 0; i < code->n_object; i++)
        TRY(object_begin(c, i, bytes[i]));
    TRY(check_unset_begin(c));
    for (int i = 0; i < code->n_inst; i++)
        c->far_locals |= (code->inst[i].flags & CODE_LOCALS) != 0;
    return IG_OK;
}

gang_check *gang_check_new(const gang_code *code, const gang_launch *l, const uint64_t *bytes,
                           kernel_check *out)
{
    gang_check *c = memory_new(sizeof *c);
    if (!c)
        return NULL;
    *c = (gang_check){.watch = {.touch = touch, .step = step, .barrier = barrier},
                      .code = code,
                      .launch = l,
                      .out = out};
    if (check_begin(c, bytes) == IG_OK)
        return c;
    gang_check_free(c);
    return NULL;
}

static void objects_free(check_object *objects, int n)
{
    for (int i = 0; objects && i < n; i++)
        if (objects[i].owner) {
            check_shadow_end(objects[i].shadow);
            memory_free(objects[i].shadow);
        }
    memory_free(objects);
}

void gang_check_free(gang_check *c)
{
    if (!c)
        return;
    objects_free(c->objects, c->code->code->n_object);
    objects_free(c->memory, c->out->n_memory);
    check_shadow_end(&c->shared);
    memory_free(c->reported);
    memory_free(c->block_released);
    memory_free(c->unset);
    memory_free(c);
}
