/* The order of sort, argsort and searchsorted, as unsigned numbers of an element's width.
 *
 * The key of x is below that of y exactly if x stands before y: NaN is last (also descending), and
 * -0.0 equals 0.0. The code of x says the same, but is another one for other bits, so that the element
 * can be had back from it: zeros have two neighbouring codes, and NaNs all those after `last`. */
#ifndef CPU_SORT_KEY_H
#define CPU_SORT_KEY_H

#include "array/dtype.h"

#include <string.h>

/* What is needed to know of a dtype's bits. */
typedef struct sort_order {
    int bytes;
    bool is_float;
    uint64_t all;      /* its bits */
    uint64_t sign;     /* its sign bit, or 0 */
    uint64_t negative; /* floats: all, what a negative one is turned with; else 0 */
    uint64_t turn;     /* descending: all; else 0 */
    uint64_t base;     /* floats: what the first that is no NaN would else have as its code */
    uint64_t zero;     /* floats: the lower code of a zero */
    uint64_t last;     /* the last code but for NaNs */
} sort_order;

sort_order sort_order_of(ig_dtype dtype, bool descending);

/* The bits of the i-th of packed elements. */
static inline uint64_t sort_bits(int bytes, const void *elements, int64_t i)
{
    switch (bytes) {
    case 1: return ((const uint8_t *)elements)[i];
    case 2: return ((const uint16_t *)elements)[i];
    case 4: return ((const uint32_t *)elements)[i];
    default: return ((const uint64_t *)elements)[i];
    }
}

static inline uint64_t sort_code(const sort_order *o, uint64_t bits)
{
    const uint64_t below = bits & o->sign ? o->negative : 0;
    return ((bits ^ (below | o->sign) ^ o->turn) - o->base) & o->all;
}

static inline uint64_t sort_key(const sort_order *o, uint64_t bits)
{
    const uint64_t code = sort_code(o, bits);
    const uint64_t key = code + (o->is_float & (code == o->zero));
    return code > o->last ? o->all : key;
}

#endif
