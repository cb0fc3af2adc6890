/* The elementwise rows in floating point lanes. */
#include "backend/cpu/lanes/lane_math.h"

#define TEMPLATE "backend/cpu/lanes/map.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "backend/cpu/lanes/far.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

void PART(lane_map_float)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b)
{
    (lane == IG_F64 ? map_f64 : map_f32)(op, n, d, a, b);
}
