/* Prints one hash of the result bits for each vector math function and type, over a fixed set of
 * arguments: special values, all magnitudes, moderate values. Two builds agree if the output does.
 * A NaN counts as one value, because its sign and payload are the machine's. */
#include <stdio.h>

#include "vmath_loops.h"

enum { BLOCK = 1024, BLOCKS = 200 };

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double argument_f64(uint64_t i)
{
    static const double special[] = {
        0.0, 1, 0.5, 1.5, 2, 3, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp+1023};
    uint64_t u = mix(i), pick = u & 7;
    double unit = (double)(u >> 11) * 0x1p-53;
    if (pick == 0)
        return vm_from_bits_f64(mix(u));
    if (pick == 1) {
        double x = (u >> 3 & 15) < 9 ? special[u >> 3 & 15] : (u >> 3 & 15) < 11 ? vm_inf_f64 : 4;
        return u & 128 ? -x : x;
    }
    return (unit - 0.5) * (pick == 2 ? 2 : pick == 3 ? 30 : pick == 4 ? 300 : pick == 5 ? 2000 : 8);
}

static float argument_f32(uint64_t i)
{
    uint64_t u = mix(~i);
    return u & 3 ? (float)argument_f64(i) : vm_from_bits_f32((uint32_t)(u >> 32));
}

int main(void)
{
    static float a32[BLOCK], b32[BLOCK], d32[BLOCK];
    static double a64[BLOCK], b64[BLOCK], d64[BLOCK];
    for (int row = 0; row < VMATH_ROWS; row++) {
        uint64_t h32 = 0, h64 = 0, next = 0;
        for (int block = 0; block < BLOCKS; block++) {
            for (int i = 0; i < BLOCK; i++, next += 2) {
                a32[i] = argument_f32(next);
                b32[i] = argument_f32(next + 1);
                a64[i] = argument_f64(next);
                b64[i] = argument_f64(next + 1);
            }
            vmath_rows[row].f32(d32, a32, b32, BLOCK);
            vmath_rows[row].f64(d64, a64, b64, BLOCK);
            for (int i = 0; i < BLOCK; i++) {
                h32 = mix(h32 + (d32[i] != d32[i] ? 1 : vm_bits_f32(d32[i]))) + 1;
                h64 = mix(h64 + (d64[i] != d64[i] ? 1 : vm_bits_f64(d64[i]))) + 1;
            }
        }
        printf("%-14s %016llx %016llx\n", vmath_rows[row].name, (unsigned long long)h32,
               (unsigned long long)h64);
    }
    return 0;
}
