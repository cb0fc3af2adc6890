/* The m_ functions of the expressions of ops.def, generic over the ten lane types: vmath.h has them
 * for floats, int_math.inc for integers. */
#ifndef LANES_LANE_MATH_H
#define LANES_LANE_MATH_H

#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd.h"
#include "engine/backend/cpu/vmath/vmath.h"

#define TEMPLATE "engine/backend/cpu/lanes/int_math.inc"
#include "engine/backend/cpu/lanes/each_int.inc"
#undef TEMPLATE

/* clang-format off */
#define LANE_PICK_INT(name) \
    int8_t: lane_##name##_i8, int16_t: lane_##name##_i16, \
    int32_t: lane_##name##_i32, int64_t: lane_##name##_i64, \
    uint8_t: lane_##name##_u8, uint16_t: lane_##name##_u16, \
    uint32_t: lane_##name##_u32, uint64_t: lane_##name##_u64
#define LANE_PICK(name, x) \
    _Generic((x), float : vm_##name##_f32, double : vm_##name##_f64, LANE_PICK_INT(name))
/* clang-format on */

#undef m_abs
#undef m_sign
#undef m_maximum
#undef m_minimum
#undef m_floor_divide
#undef m_remainder
#undef m_pow
#define m_abs(x) LANE_PICK(abs, x)(x)
#define m_sign(x) LANE_PICK(sign, x)(x)
#define m_maximum(x, y) LANE_PICK(maximum, x)(x, y)
#define m_minimum(x, y) LANE_PICK(minimum, x)(x, y)
#define m_floor_divide(x, y) LANE_PICK(floor_divide, x)(x, y)
#define m_remainder(x, y) LANE_PICK(remainder, x)(x, y)
#define m_pow(x, y) LANE_PICK(pow, x)(x, y)
#define m_zero(x) LANE_PICK(zero, x)(x)
#define m_lowest(x) LANE_PICK(lowest, x)(x)
#define m_highest(x) LANE_PICK(highest, x)(x)
#define m_shl(x, y) _Generic((x), LANE_PICK_INT(shl))(x, y)
#define m_shr(x, y) _Generic((x), LANE_PICK_INT(shr))(x, y)

#endif
