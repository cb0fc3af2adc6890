/* Prints the time of each vector math loop over 1024 elements, ns per element, best of many.
 * Arguments are spread over [0.1, 0.9], where every function has a value. */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "vmath_loops.h"

enum { N = 1024, REPEATS = 200 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(void)
{
    static float a32[N], b32[N], d32[N];
    static double a64[N], b64[N], d64[N];
    for (int i = 0; i < N; i++) {
        a64[i] = 0.1 + 0.8 * i / N;
        b64[i] = 0.9 - 0.7 * i / N;
        a32[i] = (float)a64[i];
        b32[i] = (float)b64[i];
    }
    printf("%-14s %8s %8s\n", "function", "f32", "f64");
    for (int row = 0; row < VMATH_ROWS; row++) {
        double best32 = 1e9, best64 = 1e9;
        for (int k = 0; k < REPEATS; k++) {
            double start = now_ns();
            vmath_rows[row].f32(d32, a32, b32, N);
            double middle = now_ns();
            vmath_rows[row].f64(d64, a64, b64, N);
            double end = now_ns();
            best32 = middle - start < best32 ? middle - start : best32;
            best64 = end - middle < best64 ? end - middle : best64;
        }
        printf("%-14s %8.2f %8.2f\n", vmath_rows[row].name, best32 / N, best64 / N);
    }
    return 0;
}
