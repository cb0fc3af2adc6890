/* Loads elements of storage formats as f32 lanes: kernels/storage.cuh as C. */
#include "engine/backend/cpu/elements/elements.h"
#include "engine/backend/cpu/lanes/half.h"
#include "engine/backend/cpu/lanes/parts.h"

#define INLINE static inline __attribute__((always_inline))
#define __device__ INLINE
#define __uint_as_float half_float
#define __float_as_uint half_bits
#include "kernels/storage.cuh"

typedef float (*load_function)(const unsigned char *b, int part, int j);

/* The blocks of a format. */
typedef struct blocks {
    int elements, run, bytes;
} blocks;

/* Elements [from, from + n) of a part of a block. */
INLINE void load_run(load_function load, const unsigned char *b, int part, int from, int n,
                     float *restrict to)
{
    LANE_LOOP for (int j = 0; j < n; j++) to[j] = load(b, part, from + j);
}

/* Elements [first, first + n) of a buffer. */
INLINE void unpack(load_function load, blocks s, int64_t n, float *restrict to, const void *base,
                   int64_t first)
{
    const unsigned char *b = (const unsigned char *)base + first / s.elements * s.bytes;
    int i = (int)(first % s.elements);
    if (s.elements == 1) {
        LANE_LOOP for (int64_t j = 0; j < n; j++) to[j] = load(b + j, 0, 0);
        return;
    }
    while (n > 0) {
        if (i == 0 && n >= s.elements) { /* a whole block */
            for (int part = 0; part < s.elements / s.run; part++)
                load_run(load, b, part, 0, s.run, to + part * s.run);
            to += s.elements;
            n -= s.elements;
            b += s.bytes;
            continue;
        }
        const int left = s.run - i % s.run, now = n < left ? (int)n : left;
        load_run(load, b, i / s.run, i % s.run, now, to);
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

#define BLOCKS(elements_, run_, head, bits) \
    (elements_) ? (blocks){elements_, run_, (head) + (elements_) * (bits) / 8} : (blocks) \
    { \
        s.block, s.block *(bits) / 8, (head) + s.block *(bits) / 8 \
    }
#define STORAGE(name, elements, run, head, bits) \
    static void unpack_##name(storage s, int64_t n, float *to, const void *base, int64_t first) \
    { \
        unpack(storage_##name, BLOCKS(elements, run, head, bits), n, to, base, first); \
    } \
    static void unpack_at_##name(storage s, int64_t n, float *to, const void *base, \
                                 const int64_t *offset) \
    { \
        unpack_at(storage_##name, BLOCKS(elements, run, head, bits), n, to, base, offset); \
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
