/* Registers whose lanes are independent numbers: matrices of a stack, or pairs of columns. Included by spectral.inc only,
 * after REAL and F64. */
#ifndef LANES_PACK_H
#define LANES_PACK_H

#include "engine/backend/cpu/lanes/simd.h"

enum {
    STACK_WIDE = 64 / sizeof(REAL), /* matrices */
    STACK_EACH = SIMD_BYTES / sizeof(REAL)
};
_Static_assert(STACK_WIDE % STACK_EACH == 0, "registers hold whole matrices");

#if F64
typedef int64_t stack_int;
#define PACK_ROOT simd_root_f64
typedef simd_f64 pack;
typedef simd_memory_f64 pack_memory;
#else
typedef int32_t stack_int;
#define PACK_ROOT simd_root_f32
typedef simd_f32 pack;
typedef simd_memory_f32 pack_memory;
#endif
typedef stack_int pack_mask __attribute__((vector_size(SIMD_BYTES)));
#define PACK(at) (*(pack_memory *)(at))
#define PACK_OF(at) (*(const pack_memory *)(at))
typedef pack_mask mask_memory __attribute__((aligned(sizeof(REAL)), may_alias));
#define MASK(at) (*(mask_memory *)(at))
#define PACKS(s) for (int s = 0; s < STACK_WIDE; s += STACK_EACH)

/* a where the mask is set, else b. */
static inline pack pack_choose(pack_mask mask, pack a, pack b)
{
    return (pack)(((pack_mask)a & mask) | ((pack_mask)b & ~mask));
}

static inline pack zero_of(void) { return (pack){0}; }
static inline pack pack_absolute(pack x) { return pack_choose(x < 0, -x, x); }

/* See length_of. */
static inline pack pack_length(pack a, pack b)
{
    const pack x = pack_absolute(a), y = pack_absolute(b);
    const pack_mask more = x > y;
    const pack high = pack_choose(more, x, y), ratio = pack_choose(more, y, x) / high;
    return pack_choose(high > 0, high * PACK_ROOT(1 + ratio * ratio), high);
}

#endif
