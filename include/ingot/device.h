/* Devices: which devices exist, where arrays are placed, math modes, fallback to the CPU. */
#ifndef INGOT_DEVICE_H
#define INGOT_DEVICE_H

#include "ingot/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ig_device_info {
    size_t size;             /* sizeof(ig_device_info); 0: the fields of version 0.1 */
    const char *name;        /* "cpu", "opencl:0" */
    const char *kind;        /* "cpu", "gpu", "accelerator"; for tests "gang", "null" */
    const char *model;       /* name of the processor */
    const char *level;       /* instruction set in use */
    const char *levels;      /* instruction sets of this build that the machine can run */
    const char *isa;         /* features that the processor reports */
    const char *note;        /* why a setting was ignored, or NULL */
    const char *blas;        /* the BLAS that computes large products, or NULL */
    const char *driver;      /* version of the driver, or NULL */
    const char *limits;      /* why the process cannot use the whole machine, or NULL */
    int cores;               /* logical cores of the machine */
    int performance_cores;   /* the fast cores; all of them if there is only one kind */
    int efficiency_cores;    /* cores with at most two thirds of the speed of the fast ones */
    int threads;             /* threads in use */
    double quota;            /* cgroup CPU quota in cores; 0: none */
    uint64_t memory;         /* bytes of memory */
    uint64_t memory_limit;   /* bytes that Ingot may hold */
    uint64_t cache[3];       /* bytes of L1 data, L2, L3; 0: unknown */
    bool runs_arrays;        /* ig_set_device accepts it, and results can be read */
    bool runs_kernels;       /* it runs kernels in CUDA C */
    bool flushes_subnormals; /* f32 results below the normal numbers may be 0 */
} ig_device_info;

/* The number of devices, and a description of the i-th. The texts belong to the library. */
IG_API int ig_device_count(void);
IG_API ig_status ig_device_get(int i, ig_device_info *info);

/* A kind of device that cannot be used here. */
typedef struct ig_absent {
    const char *name;   /* "opencl" */
    const char *why;    /* in this build, and on this machine */
    const char *remedy; /* a command that would help, or NULL */
} ig_absent;

/* The i-th kind of device that this build has a driver for but cannot use here; NULL if there are no more. Valid until
 * the calling thread asks again. */
IG_API const ig_absent *ig_device_absent(int i);

/* A library of the device's vendor, which Ingot uses if it is installed. */
typedef struct ig_library {
    const char *name;   /* "cuFFT" */
    const char *path;   /* of its file; NULL: it was not found */
    const char *remedy; /* if it was not found: the consequence, and what would help */
} ig_library;

/* The i-th library of a device; NULL if there are no more. Loads it. */
IG_API const ig_library *ig_device_library(const char *device, int i);

/* The device of the calling thread's new arrays: "cpu" (the default; IG_DEVICE names another), "opencl:0", or "null",
 * which computes nothing and serves to test schedules. A result is on the device of its inputs. Numbers, and arrays
 * filled with one number (ig_zeros, ig_full), can be used on any device. An op of arrays on different devices fails.
 *
 * A list such as "cpu,cuda:0", or "all" (every GPU, and the CPU): new arrays are on the first device, and evaluations that are
 * done block by block (blocks.h) are shared by all of them, in math mode `same`: results have the bits of one device. */
IG_API ig_status ig_set_device(const char *name);
IG_API const char *ig_device(void);
/* The device of x. The text belongs to the library. NULL if x is NULL. */
IG_API const char *ig_array_device(const ig_array *x);
/* Waits until the device (NULL: the current one) has done all its work, and fails if a part of it failed.
 * Devices other than the CPU evaluate asynchronously: ig_eval returns when the work is queued, and
 * functions that read a result wait for it. A result of an evaluation that failed cannot be read. */
IG_API ig_status ig_synchronize(const char *device);

/* ---- memory and streams of a GPU, shared with other libraries of the process ---- */

/* These functions are for NVIDIA GPUs ("cuda:0"); for other devices they fail with IG_ERR_UNSUPPORTED. A stream is a
 * CUstream or cudaStream_t of the GPU's primary context, which CUDA's runtime uses. NULL is the legacy default
 * stream. Nothing here waits on the host, unless a comment says so. */

/* The number by which CUDA knows the device; -1, without an error, if other libraries cannot use its memory. */
IG_API int ig_device_number(const char *device);
/* The stream in which the device runs its work. It is valid until ig_shutdown. NULL on failure. */
IG_API void *ig_device_stream(const char *device);
/* Makes the stream wait for all work that the device has been given so far. */
IG_API ig_status ig_stream_wait(void *stream, const char *device);
/* Makes later work of the device wait for all work that the stream has been given so far. If the stream is
 * IG_ALL_STREAMS, the host waits for all streams. */
IG_API ig_status ig_device_wait(const char *device, void *stream);
#define IG_ALL_STREAMS ((void *)-1)

/* Evaluates x and returns the address of its elements on its device, in row-major order, valid as long as x; NULL on
 * failure. A strided view is copied into that order first. The elements may still be computed: see ig_stream_wait. The
 * memory must not be written. Before x is released, the device must wait for work that reads it: see ig_device_wait. */
IG_API void *ig_device_data(ig_array *x);

/* An array over memory of a device, without a copy. Element (i, j, ...) is at data[i * strides[0] + j * strides[1] ...];
 * strides.v is NULL for row-major order. The elements must stay valid and unchanged until Ingot calls release (may be
 * NULL) with context, as for ig_from_memory. Before it does, the host waits until the device has done its work. If the
 * elements are still being computed, call ig_device_wait first. Fails if data is not aligned to the size of an
 * element. */
IG_API ig_array *ig_from_device_memory(const char *device, void *data, ig_ints shape,
                                       ig_ints strides, ig_dtype dtype,
                                       void (*release)(void *context), void *context);

/* ---- arithmetic and fallbacks ---- */

/* How contractions (matmul, einsum, convolutions) add their products. All other results have the same bits in
 * every mode, on every device with IEEE arithmetic. */
typedef enum ig_math {
    IG_MATH_STRICT =
        0, /* IEEE f32, the same bits in every run; in the fastest order that the device has */
    IG_MATH_SAME, /* the CPU's order on every device, by Ingot's own kernels: identical bits */
    IG_MATH_TF32  /* factors of f32 products may be rounded to tf32 (10 bits) where the device has
                         * units for it; elsewhere as strict */
} ig_math;

/* The mode of the calling thread's evaluations. The default is IG_MATH in the environment (strict, same,
 * tf32), or strict. A compiled computation keeps the mode that it was compiled in. */
IG_API ig_status ig_set_math(ig_math mode);
IG_API ig_math ig_math_mode(void);
/* The policy for programs of an evaluation that a device cannot run: it has no f64, a kernel does not compile
 * for it, or an array is larger than its largest buffer. */
typedef enum ig_fallback {
    IG_FALLBACK_ERROR = 0, /* the evaluation fails; the error names op, device and reason */
    IG_FALLBACK_WARN, /* the CPU runs the program; a warning for each op and reason (ig_set_log) */
    IG_FALLBACK_AUTO  /* the CPU runs the program */
} ig_fallback;

/* The policy of the process. The default is IG_FALLBACK in the environment (error, warn, auto), or error.
 * Results are on the device of their inputs, even if the CPU ran the program. */
IG_API ig_status ig_set_fallback(ig_fallback policy);
IG_API ig_fallback ig_fallback_policy(void);

/* Programs that the CPU ran for other devices since the process started: one row per device, op and reason. */
typedef struct ig_fallback_row {
    size_t size;        /* sizeof(ig_fallback_row); 0: the fields of version 0.1 */
    const char *device; /* the device that could not run the program */
    const char *op;     /* the fused ops of the program */
    const char *why;
    uint64_t runs;
    uint64_t bytes; /* copied between the device and the host for these runs */
} ig_fallback_row;
IG_API int ig_fallback_count(void);
/* The i-th row. Its texts live until ig_shutdown. */
IG_API ig_status ig_fallback_get(int i, ig_fallback_row *row);

#ifdef __cplusplus
}
#endif

#endif
