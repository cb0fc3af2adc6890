/* The elementwise rows in integer lanes. */
#include "engine/backend/cpu/lanes/lane_math.h"

#define UNROLLED
#define TEMPLATE "engine/backend/cpu/lanes/map.inc"
#include "engine/backend/cpu/lanes/each_int.inc"
#undef TEMPLATE

typedef map_loop loops_of_rows[LANE_ROWS][3];

map_loop PART(lane_loop_int)(int op, ig_dtype lane, int one)
{
#define INT_LANES(X) \
    X(I8, i8) X(I16, i16) X(I32, i32) X(I64, i64) X(U8, u8) X(U16, u16) X(U32, u32) X(U64, u64)
#define LANE_ROW(id, name) [IG_##id] = &row_loops_##name,
    static const loops_of_rows *const lanes[DTYPE_COUNT] = {INT_LANES(LANE_ROW)};
    return (*lanes[lane])[op][one];
}
