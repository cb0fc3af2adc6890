/* Status, dtypes, lists of integers, errors, and settings of the library. */
#ifndef INGOT_BASE_H
#define INGOT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

#if defined(__GNUC__)
#define IG_API __attribute__((visibility("default")))
#define IG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define IG_API
#define IG_PRINTF(f, a)
#endif

#define IG_VERSION_MAJOR 0
#define IG_VERSION_MINOR 1
#define IG_VERSION_PATCH 0
#define IG_MAX_NDIM 16

typedef struct ig_array ig_array;

typedef enum ig_status {
    IG_OK = 0,
    IG_ERR_ARGUMENT,    /* a wrong value, name or combination of arguments */
    IG_ERR_SHAPE,       /* shapes or axes do not match */
    IG_ERR_DTYPE,       /* the op does not accept this dtype */
    IG_ERR_INDEX,       /* an index is out of bounds */
    IG_ERR_MEMORY,      /* out of memory, or above the memory limit */
    IG_ERR_FILE,        /* a file cannot be opened, read or written */
    IG_ERR_FORMAT,      /* the content of a file is not valid */
    IG_ERR_DEVICE,      /* a device is absent or has failed */
    IG_ERR_UNSUPPORTED, /* this build or device cannot do it */
    IG_ERR_INTERNAL,    /* a defect of Ingot: please report it */
    IG_ERR_CANCELLED    /* ig_cancel was called while it ran */
} ig_status;

/* IG_DTYPE_NONE means "not given": the op's default applies. */
typedef enum ig_dtype {
    IG_DTYPE_NONE = 0,
    IG_BOOL,
    IG_I8,
    IG_I16,
    IG_I32,
    IG_I64,
    IG_U8,
    IG_U16,
    IG_U32,
    IG_U64,
    IG_F16,
    IG_BF16,
    IG_F32,
    IG_F64,
    IG_C64, /* complex: pairs of f32, real part first */
    IG_C128 /* pairs of f64 */
} ig_dtype;

/* A borrowed list of integers: a shape, axes, strides. v == NULL means "not given" (None). */
typedef struct ig_ints {
    const int64_t *v;
    int n;
} ig_ints;

/* IG_SHAPE(2, 3), IG_AXES(0, -1): lists in place. IG_NONE: not given. IG_SCALAR: the 0-d shape. In C a
 * list lives until the end of its block. In C++ (11 or later) it lives until the end of its expression, so
 * use it only as an argument. */
#ifdef __cplusplus
extern "C++" {
inline ig_ints ig_list(std::initializer_list<int64_t> list)
{
    return ig_ints{list.begin(), static_cast<int>(list.size())};
}
inline ig_ints ig_no_axes()
{
    static const int64_t none = 0;
    return ig_ints{&none, 0};
}
}
#define IG_SHAPE(...) ig_list({__VA_ARGS__})
#define IG_NONE (ig_ints{NULL, 0})
#define IG_SCALAR ig_no_axes()
#else
#define IG_SHAPE(...) \
    ((ig_ints){(const int64_t[]){__VA_ARGS__}, \
               (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))})
#define IG_NONE ((ig_ints){NULL, 0})
#define IG_SCALAR ((ig_ints){(const int64_t[]){0}, 0})
#endif
#define IG_AXES(...) IG_SHAPE(__VA_ARGS__)

/* ---- errors -------------------------------------------------------------------------------- */

/* Reads and clears the first error of the calling thread. Returns its message, or NULL if there is none.
 * The message is one line that says what failed, where, why and what to do; the log of a compiler may
 * follow on further lines. code may be NULL. The text is valid until the thread reads its next error. */
IG_API const char *ig_error(ig_status *code);

/* True if an error waits to be read; does not clear it. */
IG_API bool ig_failed(void);

/* Sets the error of the calling thread if none waits. For code that is built on Ingot. Returns code. */
IG_API ig_status ig_fail(ig_status code, const char *format, ...) IG_PRINTF(2, 3);

/* "IG_ERR_SHAPE" and so on; never NULL. */
IG_API const char *ig_status_name(ig_status code);

/* ---- the library --------------------------------------------------------------------------- */

/* "0.1.0" */
IG_API const char *ig_version(void);

/* Sets the number of threads of the CPU device. 0 restores the default: IG_NUM_THREADS, or the number of
 * CPUs that affinity and cgroup quota allow. Results have the same bits for every number of threads. */
IG_API ig_status ig_set_threads(int n);
IG_API int ig_threads(void);

/* The limit on the bytes of array data that the process may hold. 0 restores the default: IG_MEMORY_LIMIT, or the memory
 * of the machine or of the cgroup. An evaluation that does not fit computes values again instead of keeping them. If that is
 * not enough, it is refused before it starts, with the smallest limit that is. */
IG_API ig_status ig_set_memory_limit(uint64_t bytes);
IG_API uint64_t ig_memory_limit(void);
/* Bytes of array data in use, and the largest value so far. */
IG_API uint64_t ig_memory_used(void);
IG_API uint64_t ig_memory_peak(void);

/* The same for the memory of one device. A device without its own memory (the CPU) shares the budget of the
 * process; these functions then read and set that budget. */
typedef struct ig_memory_info {
    size_t size;      /* sizeof(ig_memory_info); 0: the fields of version 0.1 */
    uint64_t limit;   /* bytes that arrays may hold on the device */
    uint64_t used;    /* bytes that they hold now */
    uint64_t peak;    /* the largest value of used so far */
    uint64_t cached;  /* bytes of freed blocks that are kept for the next arrays */
    uint64_t largest; /* bytes of the largest buffer that the device allows; 0: any */
} ig_memory_info;
/* device may be NULL: the current one. */
IG_API ig_status ig_device_memory(const char *device, ig_memory_info *info);
/* 0 restores the default: the memory of the device. */
IG_API ig_status ig_set_device_memory_limit(const char *device, uint64_t bytes);

/* Ends the timeline and frees the schedule cache, the scopes of the calling thread and the worker threads.
 * Optional: for leak checkers and for libraries that are unloaded. Retained arrays stay valid. */
IG_API void ig_shutdown(void);

/* Starts a timeline: graph work, programs by device and thread with the bytes and FLOPs of each, the share
 * of each worker, and the memory of arrays. ig_trace_end, ig_shutdown or the end of the process writes it
 * to path in Chrome's trace event format, which ui.perfetto.dev opens. Fails at once if path cannot be
 * written. IG_TRACE=path in the environment does the same for any program. */
IG_API ig_status ig_trace_begin(const char *path);
IG_API ig_status ig_trace_end(void);

typedef enum ig_severity { IG_FINE = 0, IG_NOTE, IG_WARNING } ig_severity;

/* Receives messages that belong to no call: for example, that the CPU runs an op for a device, or that a setting in the
 * environment was ignored. By default they go to standard error. Any thread may call the function, but only one at a
 * time. It must not call Ingot. log may be NULL, which restores standard error. */
typedef void (*ig_log_function)(void *context, ig_severity severity, const char *message);
IG_API void ig_set_log(ig_log_function log, void *context);

/* Releases results whose contract says so (ig_explain, ig_to_string, ig_machine_get). NULL is allowed. */
IG_API void ig_free(void *text);

/* ---- dtypes -------------------------------------------------------------------------------- */

IG_API const char *ig_dtype_name(ig_dtype dtype);     /* "f32" */
IG_API const char *ig_dtype_std_name(ig_dtype dtype); /* "float32" */
IG_API ig_dtype ig_dtype_parse(const char *name);     /* either name; IG_DTYPE_NONE if unknown */
IG_API size_t ig_dtype_bytes(ig_dtype dtype);         /* of an element; 0: not a dtype */
/* The common dtype of two dtypes, by the standard's table. In addition, an integer and a float give the
 * float (if ig_default_dtype is f64, NumPy's dtype: i64 and f32 give f64), bool and another dtype give the other, f16 and bf16 give f32, c64 and f64 give c128. IG_DTYPE_NONE if there
 * is none: u64 and a signed integer. */
IG_API ig_dtype ig_promote(ig_dtype a, ig_dtype b);
/* The common dtype of arrays; weak scalars adapt. IG_DTYPE_NONE if there is none. */
IG_API ig_dtype ig_result_type(ig_array *const *arrays, int n);
/* The dtype of floats that are made without a dtype (zeros, linspace, normal, mean of integers, quotients of integers), IG_F32
 * unless set. Only IG_F32 and IG_F64 can be set. It holds for the process, for arrays that are built from then on; set it
 * before the first array. */
IG_API ig_dtype ig_default_dtype(void);
IG_API ig_status ig_set_default_dtype(ig_dtype dtype);
/* True if promotion of from and to gives to. */
IG_API bool ig_can_cast(ig_dtype from, ig_dtype to);
/* True if dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real floating",
 * "complex floating", "numeric". */
IG_API bool ig_isdtype(ig_dtype dtype, const char *kind);
typedef struct ig_finfo {
    int bits;
    double eps, max, min, smallest_normal;
} ig_finfo;
typedef struct ig_iinfo {
    int bits;
    int64_t min;
    uint64_t max;
} ig_iinfo;
/* The limits of a floating-point or integer dtype; fails for others. Those of a complex dtype are the limits of its
 * parts. */
IG_API ig_status ig_finfo_of(ig_dtype dtype, ig_finfo *info);
IG_API ig_status ig_iinfo_of(ig_dtype dtype, ig_iinfo *info);

#ifdef __cplusplus
}
#endif

#endif
