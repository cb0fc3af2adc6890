/* The loops of lanes/ for kernels, in addition to the loops of tapes: C arithmetic, masks, and memory at
 * addresses that differ by lane. A mask has a bit for each lane, 32 to a word. */
#ifndef CPU_SIMT_H
#define CPU_SIMT_H

#include "engine/backend/cpu/cpu.h"

/* Memory at base + index[i] * scale for lane i. */
typedef struct simt_places {
    uint64_t base;
    int64_t scale;
    const void *index;
    ig_dtype index_dtype; /* IG_I32, IG_U32 or IG_I64 */
    int width;            /* bytes of an element: 1, 2, 4 or 8 */
} simt_places;

struct simt_level {
    /* The loop of a row of kernel/code.def; NULL if the lane type has none. No operand may be one
     * value. */
    map_loop (*row)(int row, ig_dtype lane);
    /* d[i] = a[i] where the mask has a bit; elements of `width` bytes. */
    void (*blend)(int width, int64_t n, void *d, const void *a, const uint32_t *mask);
    /* The mask of the lanes of a that are not 0; n is rounded up to 32, with zeros. */
    void (*truth)(int64_t n, uint32_t *mask, const uint8_t *a);
    /* d[i] = a[0]. */
    void (*spread)(int width, int64_t n, void *d, const void *a);
    /* Only lanes of the mask. If two lanes store to one address, the higher lane wins. */
    void (*load)(const simt_places *p, int64_t n, const uint32_t *mask, void *d);
    void (*store)(const simt_places *p, int64_t n, const uint32_t *mask, const void *v);
    /* d[i] = the address of each lane. */
    void (*places)(const simt_places *p, int64_t n, uint64_t *d);
};

#endif
