/* The elementwise rows in integer lanes. */
#include "backend/cpu/lanes/lane_math.h"

#define TEMPLATE "backend/cpu/lanes/map.inc"
#include "backend/cpu/lanes/each_int.inc"
#undef TEMPLATE

typedef void (*unary_fn)(int op, int64_t n, void *d, const void *a);
typedef void (*binary_fn)(int op, int64_t n, void *d, const void *a, const void *b);

#define INT_LANES(X) \
    X(I8, i8) X(I16, i16) X(I32, i32) X(I64, i64) X(U8, u8) X(U16, u16) X(U32, u32) X(U64, u64)

void PART(lane_map_int)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b)
{
#define UNARY_ROW(id, name) [IG_##id] = unary_##name,
#define BINARY_ROW(id, name) [IG_##id] = binary_##name,
    static const unary_fn unary[DTYPE_COUNT] = {INT_LANES(UNARY_ROW)};
    static const binary_fn binary[DTYPE_COUNT] = {INT_LANES(BINARY_ROW)};
    if (b)
        binary[lane](op, n, d, a, b);
    else
        unary[lane](op, n, d, a);
}
