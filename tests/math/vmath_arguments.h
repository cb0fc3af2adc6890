/* The arguments of vmath_bits.c and vmath_bits.cu, and the hash of results: special values, all magnitudes,
 * moderate values. A NaN counts as one value, because its sign and payload depend on the machine. */
#ifndef TESTS_MATH_VMATH_ARGUMENTS_H
#define TESTS_MATH_VMATH_ARGUMENTS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 1024, BLOCKS = 100 };

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double real_of_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static float float_of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static double argument_f64(uint64_t i)
{
    static const double special[] = {
        0.0, 1, 0.5, 1.5, 2, 3, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp+1023};
    uint64_t u = mix(i), pick = u & 7;
    double unit = (double)(u >> 11) * 0x1p-53;
    if (pick == 0)
        return real_of_bits(mix(u));
    if (pick == 1) {
        double x = (u >> 3 & 15) < 9    ? special[u >> 3 & 15]
                   : (u >> 3 & 15) < 11 ? (double)INFINITY
                                        : 4;
        return u & 128 ? -x : x;
    }
    return (unit - 0.5) * (pick == 2 ? 2 : pick == 3 ? 30 : pick == 4 ? 300 : pick == 5 ? 2000 : 8);
}

static float argument_f32(uint64_t i)
{
    uint64_t u = mix(~i);
    return u & 3 ? (float)argument_f64(i) : float_of_bits((uint32_t)(u >> 32));
}

static uint64_t hash_f32(uint64_t hash, float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return mix(hash + (x != x ? 1 : u)) + 1;
}

static uint64_t hash_f64(uint64_t hash, double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return mix(hash + (x != x ? 1 : u)) + 1;
}

#endif
