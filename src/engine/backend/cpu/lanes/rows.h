/* The loops of lanes/ that scans, sorts and searches need. */
#ifndef LANES_ROWS_H
#define LANES_ROWS_H

#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/sort/sort_key.h"

enum { SCAN_BLOCK = 16 }; /* elements of a block of a scan; see reduce/scan.c */

struct rows_level {
    /* d[i] = carry joined with the chunk's own running fold up to i (reduce/scan.c states the
     * order); *total = the fold of the whole chunk. 0 < n <= TAPE_BLOCK; d may be a. carry and
     * total are lanes. */
    void (*scan)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *carry,
                 void *total);
    /* Computes *total only. */
    void (*total)(int op, ig_dtype lane, int64_t n, const void *a, void *total);
    /* Codes of packed elements (sort_key.h), to u32 or u64 (wide); elements of 8 bytes need u64. */
    void (*codes)(const sort_order *o, bool wide, int64_t n, void *codes, const void *elements);
    /* The inverse. elements may be codes, if they are as wide. */
    void (*elements)(const sort_order *o, bool wide, int64_t n, void *elements, const void *codes);
    /* Keys of packed elements (sort_key.h), with the types of codes. */
    void (*keys)(const sort_order *o, bool wide, int64_t n, void *keys, const void *elements);
    /* The keys of the elements whose key is at most `last`, and their indices i; returns how many
     * there are. keys and at have room for n <= TAPE_BLOCK. */
    int64_t (*first)(const sort_order *o, bool wide, int64_t n, const void *elements, uint64_t last,
                     void *keys, int32_t *at);
};

#endif
