/* Prints one hash of the result bits for each vector math function and type, over a fixed set of arguments
 * (vmath_arguments.h). Two builds agree if the output does. */
#include <stdio.h>

#include "vmath_arguments.h"
#include "vmath_loops.h"

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
                h32 = hash_f32(h32, d32[i]);
                h64 = hash_f64(h64, d64[i]);
            }
        }
        printf("%-14s %016llx %016llx\n", vmath_rows[row].name, (unsigned long long)h32,
               (unsigned long long)h64);
    }
    return 0;
}
