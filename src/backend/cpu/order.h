/* The order of sort, argsort and searchsorted, as unsigned keys: the key of x is below that of y
 * exactly if x stands before y. NaN is last (also descending), and -0.0 equals 0.0. */
#ifndef CPU_ORDER_H
#define CPU_ORDER_H

#include "array/dtype.h"

#include <string.h>

/* What is needed to know of a dtype's bits. */
typedef struct order {
    int bytes;
    uint64_t all;      /* its bits */
    uint64_t sign;     /* its sign bit, or 0 */
    uint64_t infinity; /* of floats; else 0 */
} order;

order order_of(ig_dtype dtype);

/* The bits of the i-th of packed elements. */
static inline uint64_t order_bits(const order *o, const void *elements, int64_t i)
{
    switch (o->bytes) {
    case 1: return ((const uint8_t *)elements)[i];
    case 2: return ((const uint16_t *)elements)[i];
    case 4: return ((const uint32_t *)elements)[i];
    default: return ((const uint64_t *)elements)[i];
    }
}

static inline uint64_t order_key(const order *o, uint64_t bits, bool descending)
{
    const uint64_t magnitude = bits & ~o->sign;
    uint64_t key = bits ^ o->sign;
    if (o->infinity) {
        if (magnitude > o->infinity)
            return o->all;
        if (magnitude == 0)
            key = o->sign;
        else if (bits & o->sign)
            key = ~bits & o->all;
    }
    return descending ? ~key & o->all : key;
}

#endif
