/* What the machine can do at best, measured: the yardstick of `ingot bench`, and of
 * limit_ratio in `make bench`. */
#ifndef CLI_BENCH_LIMITS_H
#define CLI_BENCH_LIMITS_H

#include <ingot.h>

/* GFLOP/s of multiply-adds that never leave the registers, on all threads: f32 and f64 by fma, bf16
 * and f16 by the instruction that multiplies them into f32 sums, or as f32 where that is faster.
 * 0 for other dtypes. */
double limit_fma(ig_dtype dtype, int threads);

/* GB/s, read and written counted, of copying 128 MiB from memory to memory on all threads; 0 when
 * there is no memory for it. */
double limit_copy(int threads);

/* The same of another device, by what the library does there; 0 when it cannot. It becomes the thread's
 * device. */
double limit_device_copy(const char *device);

/* Seconds of a clock that is never set. */
double limit_clock_s(void);

/* The compiler may assume nothing about what is in memory at v after this, so it must load it. */
#define HIDE_MEMORY(v) __asm__("" : "+m"(v))

/* limits_arm.c: turns of 16 bfmmla (16 products each) and of 16 fmlal (4 products each). Call them
 * only where the processor has the instruction. */
double limits_bfmmla(long count, double factor, double term);
double limits_fmlal(long count, double factor, double term);

#endif
