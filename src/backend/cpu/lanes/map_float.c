/* The elementwise rows in floating point lanes. */
#include "backend/cpu/lanes/lane_math.h"

#define TEMPLATE "backend/cpu/lanes/map.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
enum { PIECE = 1024 }; /* elements that are looked through before a choice is made for them */
#define TEMPLATE "backend/cpu/lanes/pass.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "backend/cpu/lanes/extreme.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "backend/cpu/lanes/far.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

map_loop PART(lane_loop_float)(int op, ig_dtype lane, int one)
{
    const map_loop special = (lane == IG_F64 ? special_f64 : special_f32)[op][one];
    return special ? special : (lane == IG_F64 ? row_loops_f64 : row_loops_f32)[op][one];
}
