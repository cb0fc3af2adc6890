/* Multiply-adds of ARM's bf16 and f16 extensions. They have their own file because it is built with
 * instructions that not every processor has. */
#include "limits.h"

#if defined(__aarch64__)
#include <arm_neon.h>

enum { SUMS = 16 };

double limits_bfmmla(long count, double factor, double term)
{
    float32x4_t sum[SUMS];
#pragma GCC unroll 32
    for (int k = 0; k < SUMS; k++)
        sum[k] = vdupq_n_f32((float)(term * k));
    const bfloat16x4_t half = vcvt_bf16_f32(vdupq_n_f32((float)factor));
    bfloat16x8_t operand[2] = {vcombine_bf16(vcvt_bf16_f32(sum[1]), vcvt_bf16_f32(sum[2])),
                               vcombine_bf16(half, half)};
    HIDE_MEMORY(operand);
    const bfloat16x8_t x = operand[0], y = operand[1];
    for (long i = 0; i < count; i++) {
#pragma GCC unroll 32
        for (int k = 0; k < SUMS; k++)
            sum[k] = vbfmmlaq_f32(sum[k], x, y);
    }
    float32x4_t all = sum[0];
#pragma GCC unroll 32
    for (int k = 1; k < SUMS; k++)
        all = vaddq_f32(all, sum[k]);
    return (double)vgetq_lane_f32(all, 0);
}

double limits_fmlal(long count, double factor, double term)
{
    float32x4_t sum[SUMS];
#pragma GCC unroll 32
    for (int k = 0; k < SUMS; k++)
        sum[k] = vdupq_n_f32((float)(term * k));
    float16x8_t operand[2] = {vdupq_n_f16((float16_t)factor), vdupq_n_f16((float16_t)term)};
    HIDE_MEMORY(operand);
    const float16x8_t x = operand[0], y = operand[1];
    for (long i = 0; i < count; i++) {
#pragma GCC unroll 32
        for (int k = 0; k < SUMS; k++)
            sum[k] = vfmlalq_low_f16(sum[k], x, y);
    }
    float32x4_t all = sum[0];
#pragma GCC unroll 32
    for (int k = 1; k < SUMS; k++)
        all = vaddq_f32(all, sum[k]);
    return (double)vgetq_lane_f32(all, 0);
}
#endif
