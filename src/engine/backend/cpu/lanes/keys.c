/* Elements as sort keys and back, and the level's table of loops over rows. */
#include "engine/backend/cpu/lanes/rows_parts.h"

#define KEYS_JOIN(name, e, c) name##_##e##_##c
#define KEYS_NAME(name, e, c) KEYS_JOIN(name, e, c)
#define KEYS(name) KEYS_NAME(name, E, C)
#define TOP (8 * sizeof(E) - 1)

enum { KEYS_BESIDE = 64 };

#define E uint8_t
#define C uint32_t
#include "engine/backend/cpu/lanes/keys.inc"
#undef C
#define C uint64_t
#include "engine/backend/cpu/lanes/keys.inc"
#undef C
#undef E

#define E uint16_t
#define C uint32_t
#include "engine/backend/cpu/lanes/keys.inc"
#undef C
#define C uint64_t
#include "engine/backend/cpu/lanes/keys.inc"
#undef C
#undef E

#define E uint32_t
#define C uint32_t
#include "engine/backend/cpu/lanes/keys.inc"
#undef C
#define C uint64_t
#include "engine/backend/cpu/lanes/keys.inc"
#undef C
#undef E

#define E uint64_t
#define C uint64_t
#include "engine/backend/cpu/lanes/keys.inc"
#undef C
#undef E

typedef void (*keys_fn)(const sort_order *o, int64_t n, void *to, const void *from);
typedef int64_t (*first_fn)(const sort_order *o, int64_t n, const void *elements, uint64_t last,
                            void *keys, int32_t *at);

/* By the logarithm of an element's bytes, and by whether numbers are wide. */
/* clang-format off */
#define KEYS_WAYS(name) \
    { \
        {name##_uint8_t_uint32_t, name##_uint8_t_uint64_t}, \
        {name##_uint16_t_uint32_t, name##_uint16_t_uint64_t}, \
        {name##_uint32_t_uint32_t, name##_uint32_t_uint64_t}, \
        {NULL, name##_uint64_t_uint64_t}, \
    }
/* clang-format on */
static const keys_fn to_codes[4][2] = KEYS_WAYS(codes), to_keys[4][2] = KEYS_WAYS(keys),
                     to_elements[4][2] = KEYS_WAYS(elements);
static const first_fn first_of[4][2] = KEYS_WAYS(first);

static int size_of(const sort_order *o) { return __builtin_ctz((unsigned)o->bytes); }

static void lane_codes(const sort_order *o, bool wide, int64_t n, void *codes, const void *elements)
{
    to_codes[size_of(o)][wide](o, n, codes, elements);
}

static void lane_keys(const sort_order *o, bool wide, int64_t n, void *keys, const void *elements)
{
    to_keys[size_of(o)][wide](o, n, keys, elements);
}

static void lane_elements(const sort_order *o, bool wide, int64_t n, void *elements,
                          const void *codes)
{
    to_elements[size_of(o)][wide](o, n, elements, codes);
}

static int64_t lane_first(const sort_order *o, bool wide, int64_t n, const void *elements,
                          uint64_t last, void *keys, int32_t *at)
{
    return first_of[size_of(o)][wide](o, n, elements, last, keys, at);
}

extern const rows_level PART(rows);
const rows_level PART(rows) = {
    .scan = PART(lane_scan),
    .total = PART(lane_total),
    .codes = lane_codes,
    .elements = lane_elements,
    .keys = lane_keys,
    .first = lane_first,
};
