/* Memory access of lane code: loads, stores and atomics. A uniform address is accessed once. */
#include "engine/backend/cpu/gang/gang.h"

#include <string.h>

static int64_t index_value(const gang_step *s, const void *from)
{
    if (s->dtype == IG_I64)
        return *(const int64_t *)from;
    return s->dtype == IG_U32 ? (int64_t) * (const uint32_t *)from : *(const int32_t *)from;
}

/* The addresses of the lanes' elements. Returns false if the address is uniform; it is then *one. */
static bool places_of(gang *g, const gang_step *s, int width, simt_places *p, uint64_t *one)
{
    const char *m = g->memory;
    uint64_t a;
    memcpy(&a, m + s->a, sizeof a);
    const bool index = s->b != CODE_NONE;
    if (s->ones & GANG_ONE_A) {
        const int64_t at = index && s->ones & GANG_ONE_B ? index_value(s, m + s->b) : 0;
        *one = a + (uint64_t)s->offset + (uint64_t)(at * s->scale);
        *p = (simt_places){a + (uint64_t)(int64_t)s->offset, s->scale, m + s->b, (ig_dtype)s->dtype,
                           width};
        return index && !(s->ones & GANG_ONE_B);
    }
    /* Addresses that differ by lane are the index. */
    const void *lanes = m + s->a;
    if (index) {
        uint64_t *sum = gang_spare(g, 4);
        const int w = s->dtype == IG_I64 ? 8 : 4;
        const simt_places own = {0, s->scale, gang_lanes(g, s->b, s->ones & GANG_ONE_B, w, 3),
                                 (ig_dtype)s->dtype, width};
        g->code->level->simt->places(&own, g->lanes, sum);
        for (int i = 0; i < g->lanes; i++)
            sum[i] += ((const uint64_t *)lanes)[i];
        lanes = sum;
    }
    *p = (simt_places){(uint64_t)(int64_t)s->offset, 1, lanes, IG_I64, width};
    return true;
}

void gang_address(gang *g, const gang_step *s)
{
    simt_places p;
    uint64_t one;
    const bool by_lanes = places_of(g, s, 8, &p, &one);
    if (s->ones & GANG_ONE_D) {
        memcpy(g->memory + s->d, &one, sizeof one);
        return;
    }
    void *d = gang_target(g, s);
    if (by_lanes)
        g->code->level->simt->places(&p, g->lanes, d);
    else
        g->code->level->simt->spread(8, g->lanes, d, &one);
    gang_keep(g, s, d);
}

/* Shows an access to the observers. mask receives the lanes that may continue; returns false if there are none. */
static bool shown(gang *g, const gang_step *s, gang_touch_kind kind, bool by_lanes,
                  const simt_places *p, uint64_t one, const void *value, uint32_t *mask)
{
    uint64_t place[GANG_LANES];
    uint32_t any = 0;
    memcpy(mask, g->mask, sizeof(gang_mask));
    if (!g->launch->watch)
        return true;
    if (by_lanes)
        g->code->level->simt->places(p, g->lanes, place);
    else
        g->code->level->simt->spread(8, g->lanes, place, &one);
    const gang_touch touch = {kind, p->width, place, value, 0};
    for (gang_watch *w = g->launch->watch; w; w = w->next)
        w->touch(w, g, s, &touch, mask);
    for (int w = 0; w < GANG_WARPS; w++)
        any |= mask[w];
    return any != 0;
}

/* Sets lanes that an observer removed to 0. */
static void clear_others(const gang *g, int width, char *d, const uint32_t *mask)
{
    const bool all = !memcmp(mask, g->mask, sizeof(gang_mask));
    for (int lane = 0; lane < g->lanes && !all; lane++)
        if ((g->mask[lane / WARP_LANES] & ~mask[lane / WARP_LANES]) >> lane % WARP_LANES & 1)
            memset(d + (size_t)lane * (size_t)width, 0, (size_t)width);
}

bool gang_load(gang *g, const gang_step *s)
{
    const cpu_level *level = g->code->level;
    const ig_dtype from = (ig_dtype)s->to,
                   to = s->width == 4 && dtype_is_half(from) ? IG_F32 : from;
    const int width = (int)ig_dtype_bytes(from);
    simt_places p;
    uint64_t one, value = 0;
    gang_mask mask;
    if (!g->any)
        return true;
    const bool by_lanes = places_of(g, s, width, &p, &one);
    const bool some = shown(g, s, TOUCH_LOAD, by_lanes, &p, one, NULL, mask);
    if (!by_lanes) {
        if (some)
            memcpy(&value, (const void *)(uintptr_t)one, (size_t)width);
        if (to != from)
            level->convert(from, to, 1, &value, 1, &(uint64_t){value}, 1);
        if (s->ones & GANG_ONE_D) {
            memcpy(g->memory + s->d, &value, s->width);
            return true;
        }
    }
    void *d = gang_target(g, s);
    if (!by_lanes) {
        level->simt->spread(s->width, g->lanes, d, &value);
    } else if (to != from) {
        level->simt->load(&p, g->lanes, mask, gang_spare(g, 1));
        clear_others(g, width, gang_spare(g, 1), mask);
        level->convert(from, to, g->lanes, d, 1, gang_spare(g, 1), 1);
    } else {
        level->simt->load(&p, g->lanes, mask, d);
        clear_others(g, width, d, mask);
    }
    gang_keep(g, s, d);
    return true;
}

/* The stored values, in the dtype of the memory. */
static const void *stored_lanes(gang *g, const gang_step *s, ig_dtype to, int width)
{
    const bool half = dtype_is_half(to);
    const void *v = gang_lanes(g, s->c, s->ones & GANG_ONE_C, half ? 4 : width, 1);
    if (!half)
        return v;
    g->code->level->convert(IG_F32, to, g->lanes, gang_spare(g, 2), 1, v, 1);
    return gang_spare(g, 2);
}

bool gang_store(gang *g, const gang_step *s)
{
    const ig_dtype to = (ig_dtype)s->to;
    const int width = (int)ig_dtype_bytes(to);
    simt_places p;
    uint64_t one;
    gang_mask mask;
    if (!g->any)
        return true;
    const bool by_lanes = places_of(g, s, width, &p, &one);
    const char *v = stored_lanes(g, s, to, width);
    if (!shown(g, s, TOUCH_STORE, by_lanes, &p, one, v, mask))
        return true;
    if (by_lanes) {
        g->code->level->simt->store(&p, g->lanes, mask, v);
        return true;
    }
    /* All lanes store to one address: the last lane wins. */
    for (int lane = g->lanes - 1; lane >= 0; lane--)
        if (mask[lane / WARP_LANES] >> lane % WARP_LANES & 1) {
            memcpy((void *)(uintptr_t)one, v + (size_t)lane * (size_t)width, (size_t)width);
            break;
        }
    return true;
}

/* ---- atomics ---- */

typedef union number {
    uint64_t u;
    int64_t i;
    double f64;
    float f32;
} number;

/* The new value of an atomic. Integers are sign-extended to 64 bits. */
static number next_of(code_atomic how, ig_dtype dtype, number was, number x, number expected,
                      int width)
{
    const bool is_signed = dtype_kind_of(dtype) == DTYPE_KIND_SIGNED;
    const uint64_t all = width == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * width)) - 1;
    const bool less = is_signed ? x.i < was.i : x.u < was.u;
    switch (how) {
    case ATOMIC_ADD: return (number){.u = was.u + x.u};
    case ATOMIC_SUB: return (number){.u = was.u - x.u};
    case ATOMIC_MIN: return less ? x : was;
    case ATOMIC_MAX: return less ? was : x;
    case ATOMIC_AND: return (number){.u = was.u & x.u};
    case ATOMIC_OR: return (number){.u = was.u | x.u};
    case ATOMIC_XOR: return (number){.u = was.u ^ x.u};
    case ATOMIC_EXCHANGE: return x;
    case ATOMIC_COMPARE: return (was.u & all) == (expected.u & all) ? x : was;
    case ATOMIC_INCREMENT: return (number){.u = was.u >= x.u ? 0 : was.u + 1};
    case ATOMIC_DECREMENT: return (number){.u = was.u == 0 || was.u > x.u ? x.u : was.u - 1};
    }
    return was;
}

static number next_float(code_atomic how, double was, double x)
{
    const double all[] = {[ATOMIC_ADD] = was + x,
                          [ATOMIC_SUB] = was - x,
                          [ATOMIC_MIN] = x < was || was != was ? x : was,
                          [ATOMIC_MAX] = x > was || was != was ? x : was};
    return (number){.f64 = all[how]};
}

static number read_number(const void *from, ig_dtype d, int width)
{
    number n = {0};
    memcpy(&n, from, (size_t)width);
    if (dtype_kind_of(d) == DTYPE_KIND_SIGNED && width < 8)
        n.i = (int64_t)(n.u << (64 - 8 * width)) >> (64 - 8 * width);
    return n;
}

/* The bits that replace `was`. Floats that are only moved keep their bits. */
static number replaced(const gang_step *s, ig_dtype d, number was, number x, number expected,
                       int width)
{
    const code_atomic how = (code_atomic)s->row;
    if (!dtype_is_float(d) || how == ATOMIC_EXCHANGE || how == ATOMIC_COMPARE)
        return next_of(how, d, was, x, expected, width);
    if (d == IG_F64)
        return next_float(how, was.f64, x.f64);
    number n = {0};
    if (d == IG_F32) {
        /* The sum of two floats in double, rounded to float, is correctly rounded. */
        n.f32 = (float)next_float(how, was.f32, x.f32).f64;
    } else {
        dtype_store(d, &n, next_float(how, dtype_fetch(d, &was), dtype_fetch(d, &x)).f64);
    }
    return n;
}

#define EXCHANGE_IF(type) \
    do { \
        type expect = (type)was.u; \
        done = __atomic_compare_exchange_n((type *)(uintptr_t)place, &expect, (type)next.u, false, \
                                           __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); \
        was = read_number(&expect, d, width); \
    } while (0)

static number exchange(const gang_step *s, uint64_t place, ig_dtype d, number x, number expected,
                       int width)
{
    number was = read_number((const void *)(uintptr_t)place, d, width);
    if (s->flags & CODE_OWN) {
        const number next = replaced(s, d, was, x, expected, width);
        memcpy((void *)(uintptr_t)place, &next, (size_t)width);
        return was;
    }
    for (bool done = false; !done;) {
        const number next = replaced(s, d, was, x, expected, width);
        const number before = was;
        if (width == 8)
            EXCHANGE_IF(uint64_t);
        else if (width == 4)
            EXCHANGE_IF(uint32_t);
        else
            EXCHANGE_IF(uint16_t);
        if (done)
            was = before;
    }
    return was;
}

/* The most frequent atomics: sums of words, and of floats that no other core accesses. */
static void add_lane(const gang_step *s, uint64_t place, const void *v, void *old)
{
    const bool own = s->flags & CODE_OWN;
    if (s->to == IG_F32) {
        float *at = (float *)(uintptr_t)place;
        *(float *)old = *at;
        *at += *(const float *)v;
    } else {
        uint32_t *at = (uint32_t *)(uintptr_t)place, x = *(const uint32_t *)v;
        *(uint32_t *)old = own ? *at : __atomic_fetch_add(at, x, __ATOMIC_SEQ_CST);
        if (own)
            *at += x;
    }
}

bool gang_atomic(gang *g, const gang_step *s)
{
    const ig_dtype d = (ig_dtype)s->to;
    const int width = (int)ig_dtype_bytes(d);
    simt_places p;
    uint64_t one, place[GANG_LANES];
    gang_mask mask;
    if (!g->any)
        return true;
    const bool by_lanes = places_of(g, s, width, &p, &one);
    shown(g, s, TOUCH_ATOMIC, by_lanes, &p, one, NULL, mask);
    if (by_lanes)
        g->code->level->simt->places(&p, g->lanes, place);
    else
        g->code->level->simt->spread(8, g->lanes, place, &one);
    const char *v = stored_lanes(g, s, d, width);
    const char *e = s->e == CODE_NONE ? v : gang_lanes(g, s->e, s->ones & GANG_ONE_E, width, 3);
    uint64_t was_there[GANG_LANES] = {0};
    char *old = (char *)was_there;
    const bool adds = s->row == ATOMIC_ADD &&
                      (d == IG_I32 || d == IG_U32 || (d == IG_F32 && s->flags & CODE_OWN));
    for (int lane = 0; lane < g->lanes; lane++) {
        if (!(mask[lane / WARP_LANES] >> lane % WARP_LANES & 1))
            continue;
        const size_t at = (size_t)lane * (size_t)width;
        if (adds) {
            add_lane(s, place[lane], v + at, old + at);
            continue;
        }
        const number was = exchange(s, place[lane], d, read_number(v + at, d, width),
                                    read_number(e + at, d, width), width);
        memcpy(old + at, &was, (size_t)width);
    }
    if (s->d == CODE_NONE)
        return true;
    void *to = gang_target(g, s);
    g->code->level->convert(d, dtype_is_half(d) ? IG_F32 : d, g->lanes, to, 1, old, 1);
    gang_keep(g, s, to);
    return true;
}
