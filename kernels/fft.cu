/* Fourier transforms of lines of complex numbers: src/engine/program/fft_plan.h says how.
 *
 * A block takes LINES lines of POINTS points. A thread has up to EACH points of one line in registers. Between two passes the
 * threads of a line exchange points in shared memory, first the real and then the imaginary parts. R0, R1, ... are the
 * radices of the passes; PER_LINE is the number of threads of a line. IS_DYNAMIC: the launch provides the shared memory. A
 * complex number is read and written at once, as a PAIR. The CPU has the same in
 * src/engine/backend/cpu/lanes/fft.inc, with the same bits. */
#ifndef POINTS
#define REAL float
#define PAIR float2
#define POINTS 1000
#define R0 10
#define R1 10
#define R2 10
#define PASSES 3
#define PER_LINE 100
#define EACH 10
#define LINES 2
#define IS_DYNAMIC 0
#endif

#define FFT_FN static __device__ __forceinline__
#define FFT_S REAL
#define FFT_V REAL
#define FFT_NAME(name) name
#define FFT_UNROLL _Pragma("unroll")
#include "fft_radix.cuh"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
/* Every 16 points are followed by a gap, so that threads that write points a radix apart use different banks. */
#define PLACE(j) (((j) + ((j) >> 4)) * LINES + line)
#define ROOM ((POINTS + (POINTS >> 4) + 1) * LINES)

/* Distances count complex numbers; see fft_places. turn has two tables of factors, the first of `turns` rows; turns is 0
 * without. */
extern "C" __global__ void __launch_bounds__(PER_LINE *LINES) fft_lines(const REAL *x, const REAL *w, const REAL *turn, REAL *y,
                                     long long total, long long lines, long long in_part,
                                     long long in_line, long long in_point, long long out_part,
                                     long long out_line, long long out_point, long long turns,
                                     int backward, REAL scale, long long n)
{
#if IS_DYNAMIC
    extern __shared__ REAL shared[];
#else
    __shared__ REAL shared[ROOM];
#endif
    REAL r[EACH], i[EACH];
    const int line = threadIdx.x % LINES, thread = threadIdx.x / LINES;
    const long long number = (long long)blockIdx.x * LINES + line;
    const bool there = number < total;
    const long long part = there ? number / lines : 0, within = there ? number % lines : 0;
    const PAIR *from = (const PAIR *)x + (part * in_part + within * in_line);
    const PAIR *fine = (const PAIR *)turn + within;
    PAIR *to = (PAIR *)y + (part * out_part + within * out_line);
    (void)n;

#define RADIX R0
#define BESIDE 1
#define NEXT R1
#define IS_FIRST 1
#define IS_LAST (PASSES == 1)
#include "fft_pass.cuh"
#if PASSES > 1
#define RADIX R1
#define BESIDE R0
#define NEXT R2
#define IS_FIRST 0
#define IS_LAST (PASSES == 2)
#include "fft_pass.cuh"
#endif
#if PASSES > 2
#define RADIX R2
#define BESIDE (R0 * R1)
#define NEXT R3
#define IS_FIRST 0
#define IS_LAST (PASSES == 3)
#include "fft_pass.cuh"
#endif
#if PASSES > 3
#define RADIX R3
#define BESIDE (R0 * R1 * R2)
#define NEXT R4
#define IS_FIRST 0
#define IS_LAST (PASSES == 4)
#include "fft_pass.cuh"
#endif
#if PASSES > 4
#define RADIX R4
#define BESIDE (R0 * R1 * R2 * R3)
#define NEXT R5
#define IS_FIRST 0
#define IS_LAST (PASSES == 5)
#include "fft_pass.cuh"
#endif
#if PASSES > 5
#define RADIX R5
#define BESIDE (R0 * R1 * R2 * R3 * R4)
#define NEXT R6
#define IS_FIRST 0
#define IS_LAST (PASSES == 6)
#include "fft_pass.cuh"
#endif
#if PASSES > 6
#define RADIX R6
#define BESIDE (R0 * R1 * R2 * R3 * R4 * R5)
#define NEXT R7
#define IS_FIRST 0
#define IS_LAST (PASSES == 7)
#include "fft_pass.cuh"
#endif
#if PASSES > 7
#define RADIX R7
#define BESIDE (R0 * R1 * R2 * R3 * R4 * R5 * R6)
#define NEXT R8
#define IS_FIRST 0
#define IS_LAST (PASSES == 8)
#include "fft_pass.cuh"
#endif
}
