/* The order of sort, argsort and searchsorted as unsigned integers of an element's width.
 *
 * The key of x is below the key of y exactly if x is sorted before y: NaN is last (also
 * descending), and -0.0 equals 0.0. The code of x has the same order but differs for different
 * bits, so that the element can be recovered from it: zeros have two adjacent codes, and NaNs have
 * all codes after `last`. */
#ifndef CPU_SORT_KEY_H
#define CPU_SORT_KEY_H

#include "base/dtype.h"

#include <string.h>

/* The parameters of a dtype's order. */
typedef struct sort_order {
    int bytes;
    bool is_float;
    uint64_t all;      /* its bits */
    uint64_t sign;     /* its sign bit, or 0 */
    uint64_t negative; /* floats: all, the mask that inverts a negative number; else 0 */
    uint64_t turn;     /* descending: all; else 0 */
    uint64_t base;     /* floats: subtracted from codes, so that the first number has code 0 */
    uint64_t zero;     /* floats: the lower code of a zero */
    uint64_t last;     /* the last code before the codes of NaNs */
} sort_order;

sort_order sort_order_of(ig_dtype dtype, bool descending);

/* The bits of packed element i. */
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
