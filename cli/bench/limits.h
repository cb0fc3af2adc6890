/* The measured peaks of the machine, to which `ingot bench` and `make bench` relate their results. */
#ifndef CLI_BENCH_LIMITS_H
#define CLI_BENCH_LIMITS_H

#include <ingot.h>

/* GFLOP/s of multiply-adds in registers on all threads: fma for f32 and f64; for bf16 and f16 the
 * instruction that accumulates in f32, or f32 arithmetic if that is faster. 0 for other dtypes. */
double limit_fma(ig_dtype dtype, int threads);

/* GB/s of copying 128 MiB in memory on all threads, counting reads and writes; 0 if there is not enough
 * memory. */
double limit_copy(int threads);

/* The same for another device, through the library; 0 on failure. Makes it the device of the calling thread. */
double limit_device_copy(const char *device);
/* With IG_MPS=measure, makes an Apple GPU measure whether MPS or our kernels multiply matrices faster. */
void limit_device_products(const char *device);

/* The compiler must not assume anything about the memory at v after this, so it must load it. */
#define HIDE_MEMORY(v) __asm__("" : "+m"(v))

/* limits_arm.c: iterations of 16 bfmmla (16 products each) and of 16 fmlal (4 products each). Call them
 * only if the processor has the instruction. */
double limits_bfmmla(long count, double factor, double term);
double limits_fmlal(long count, double factor, double term);

#endif
