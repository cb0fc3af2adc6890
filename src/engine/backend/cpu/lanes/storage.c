/* Loads elements of storage formats as f32 lanes: kernels/storage.cuh as C. */
#include "engine/backend/cpu/elements/elements.h"
#include "engine/backend/cpu/lanes/half.h"
#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd_gemm.h"
#include "engine/backend/cpu/lanes/simd_storage.h"

#define INLINE static inline __attribute__((always_inline))
#define __device__ INLINE
#define __uint_as_float half_float
#define __float_as_uint half_bits
#include "kernels/storage.cuh"

/* SIMD_SOME elements at a time. */
#define BLOCK(name) some_##name
#define INTS simd_ints
#define FLOATS simd_floats
#define UNSIGNED_BYTES simd_unsigned_bytes
#define SIGNED_BYTES simd_signed_bytes
#define AS_FLOATS(x) __builtin_convertvector(x, simd_floats)
#define NUMBERS ((simd_ints){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#define LOOKUP(values, x) simd_lookup(values, (const simd_ints[]){x})
#include "kernels/storage_blocks.cuh"

typedef float (*load_function)(const unsigned char *b, int part, int j);
typedef simd_floats (*some_function)(const unsigned char *b, int part, int j);

/* Elements of one byte have loops of their own. */
#define some_f8_e4m3 NULL
#define some_f8_e4m3fnuz NULL
#define some_f8_e5m2 NULL
#define some_f8_e5m2fnuz NULL

/* The blocks of a format. */
typedef struct blocks {
    int elements, run, bytes;
} blocks;

/* Elements [from, from + n) of a part of a block. */
INLINE void load_run(load_function load, some_function some, const unsigned char *b, int part,
                     int from, int n, float *restrict to)
{
    int i = 0;
    for (; i + SIMD_SOME <= n; i += SIMD_SOME) {
        const simd_floats x = some(b, part, from + i);
        memcpy(to + i, &x, sizeof x);
    }
    for (; i < n; i++)
        to[i] = load(b, part, from + i);
}

/* A whole block. The elements of a group are computed before any is stored, so the compiler converts a scale that they share
 * once: it cannot know that stores leave the block as it is. */
INLINE void load_block(load_function load, some_function some, const unsigned char *b, blocks s,
                       float *restrict to)
{
    enum { GROUP = 4 };
    const int group = s.elements % (GROUP * SIMD_SOME) ? 2 : GROUP;
    if (s.run % SIMD_SOME || s.elements % (group * SIMD_SOME)) {
        for (int part = 0; part < s.elements / s.run; part++)
            load_run(load, some, b, part, 0, s.run, to + part * s.run);
        return;
    }
    for (int i = 0; i < s.elements; i += group * SIMD_SOME) {
        simd_floats x[GROUP];
        SIMD_UNROLL_ALL
        for (int j = 0; j < GROUP; j++)
            if (j < group)
                x[j] = some(b, (i + j * SIMD_SOME) / s.run, (i + j * SIMD_SOME) % s.run);
        SIMD_UNROLL_ALL
        for (int j = 0; j < GROUP; j++)
            if (j < group)
                memcpy(to + i + j * SIMD_SOME, &x[j], sizeof x[j]);
    }
}

/* Elements [first, first + n) of a buffer. */
INLINE void unpack(load_function load, some_function some, blocks s, int64_t n, float *restrict to,
                   const void *base, int64_t first)
{
    const unsigned char *b = (const unsigned char *)base + first / s.elements * s.bytes;
    int i = (int)(first % s.elements);
    if (s.elements == 1) {
        LANE_LOOP for (int64_t j = 0; j < n; j++) to[j] = load(b + j, 0, 0);
        return;
    }
    while (n > 0) {
        if (i == 0 && n >= s.elements) { /* a whole block */
            load_block(load, some, b, s, to);
            to += s.elements;
            n -= s.elements;
            b += s.bytes;
            continue;
        }
        const int left = s.run - i % s.run, now = n < left ? (int)n : left;
        load_run(load, some, b, i / s.run, i % s.run, now, to);
        to += now;
        n -= now;
        i += now;
        b += i == s.elements ? s.bytes : 0;
        i = i == s.elements ? 0 : i;
    }
}

INLINE void unpack_at(load_function load, blocks s, int64_t n, float *restrict to, const void *base,
                      const int64_t *offset)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = offset[k] >= NO_ELEMENT ? 0 : offset[k];
        const int i = (int)(at % s.elements);
        const unsigned char *b = (const unsigned char *)base + at / s.elements * s.bytes;
        to[k] = offset[k] >= NO_ELEMENT ? 0 : load(b, i / s.run, i % s.run);
    }
}

/* The blocks of a row of the table; elements: of the row, or of the array. */
#define BLOCKS(elements, run, head, bits) \
    ((blocks){elements, (run) ? (run) : (elements) * (bits) / 8, (head) + (elements) * (bits) / 8})
/* The usual block is known to the compiler, like those that a row states. */
#define STORAGE(name, elements, run, head, bits) \
    static void unpack_##name(storage s, int64_t n, float *to, const void *base, int64_t first) \
    { \
        if ((elements) || s.block == STORAGE_BLOCK_USUAL) \
            unpack(storage_##name, some_##name, \
                   BLOCKS((elements) ? (elements) : STORAGE_BLOCK_USUAL, run, head, bits), n, to, \
                   base, first); \
        else \
            unpack(storage_##name, some_##name, BLOCKS(s.block, run, head, bits), n, to, base, \
                   first); \
    } \
    static void unpack_at_##name(storage s, int64_t n, float *to, const void *base, \
                                 const int64_t *offset) \
    { \
        unpack_at(storage_##name, BLOCKS((elements) ? (elements) : s.block, run, head, bits), n, \
                  to, base, offset); \
    }
#include "base/storage.def"

void PART(lane_unpack)(storage s, int64_t n, float *to, const void *base, int64_t first)
{
    static void (*const by[])(storage s, int64_t n, float *to, const void *base, int64_t first) = {
#define STORAGE(name, elements, run, head, bits) [STORAGE_##name] = unpack_##name,
#include "base/storage.def"
    };
    by[s.format](s, n, to, base, first);
}

void PART(lane_unpack_at)(storage s, int64_t n, float *to, const void *base, const int64_t *offset)
{
    static void (*const by[])(storage s, int64_t n, float *to, const void *base,
                              const int64_t *offset) = {
#define STORAGE(name, elements, run, head, bits) [STORAGE_##name] = unpack_at_##name,
#include "base/storage.def"
    };
    by[s.format](s, n, to, base, offset);
}
