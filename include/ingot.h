/* Ingot: lazy arrays with gradients, and kernels in CUDA C.
 *
 * This is the only public header. Four rules hold for every function:
 *
 * - Builders (the functions that return an ig_array *) are lazy and cheap: they check their arguments,
 *   infer shape and dtype, and record a node. Work is done by ig_eval and by the functions that read data
 *   (ig_data, ig_read, ig_item, ig_print).
 * - An array that several evaluations use should be evaluated first. Otherwise each of them may compute it
 *   again; ig_eval says when it does not.
 * - A builder that fails returns NULL. A builder that is given NULL returns NULL, so expressions nest. The
 *   first error of a thread stays until ig_error reads it. Where NULL means an absent argument ("may be
 *   NULL"), it does so only while no error waits. Counts must not be negative.
 * - Arguments are borrowed. A result belongs to the innermost open scope of the calling thread. Call
 *   ig_retain for what must live longer.
 *
 * Names, arguments, defaults and special cases follow the Python array API standard 2025.12 where
 * it has the function. A negative axis counts from the end.
 */
#ifndef INGOT_H
#define INGOT_H

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
    IG_F64
} ig_dtype;

/* A borrowed list of integers: a shape, axes, strides. v == NULL means "not given" (None). */
typedef struct ig_ints {
    const int64_t *v;
    int n;
} ig_ints;

/* IG_SHAPE(2, 3), IG_AXES(0, -1): lists in place. IG_NONE: not given. IG_SCALAR: the 0-d shape. In C a
 * list lives until the end of its block, in C++ (11 or later) until the end of its expression: there, use
 * it as an argument only. */
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

/* ---- errors ------------------------------------------------------------------------------- */

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

/* ---- the library ---------------------------------------------------------------------------- */

/* "0.1.0" */
IG_API const char *ig_version(void);

/* Sets the number of threads of the CPU device. 0 restores the default: IG_NUM_THREADS, or the number of
 * CPUs that affinity and cgroup quota allow. Results have the same bits for every number of threads. */
IG_API ig_status ig_set_threads(int n);
IG_API int ig_threads(void);

/* The limit on the bytes of array data of the process. 0 restores the default: the memory of the machine
 * or of the cgroup. An evaluation whose plan does not fit is refused before it starts. */
IG_API ig_status ig_set_memory_limit(uint64_t bytes);
IG_API uint64_t ig_memory_limit(void);
/* Bytes of array data in use, and the largest value that this has had. */
IG_API uint64_t ig_memory_used(void);
IG_API uint64_t ig_memory_peak(void);

/* The same for the memory of one device. Devices without memory of their own (the CPU) share the budget of
 * the process, and that is what these functions then read and set. */
typedef struct ig_memory_info {
    uint64_t limit;   /* bytes that arrays may hold on the device */
    uint64_t used;    /* bytes that they hold now */
    uint64_t peak;    /* the largest value that used has had */
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

/* Releases results whose contract says so (ig_explain, ig_to_string, ig_machine_get). NULL is allowed. */
IG_API void ig_free(void *text);

/* ---- devices ---------------------------------------------------------------------------------- */

typedef struct ig_device_info {
    const char *name;        /* "cpu", "opencl:0" */
    const char *kind;        /* "cpu", "gpu", "accelerator"; for tests "gang", "null" */
    const char *model;       /* name of the processor */
    const char *level;       /* instruction set in use */
    const char *levels;      /* instruction sets of this build that the machine can run */
    const char *isa;         /* features that the processor reports */
    const char *note;        /* why a setting was ignored, or NULL */
    const char *blas;        /* the BLAS that computes large products, or NULL */
    const char *driver;      /* version of the driver, or NULL */
    const char *limits;      /* what keeps it from using the whole machine, or NULL */
    int cores;               /* logical cores of the machine */
    int performance_cores;   /* the fast ones of these; all of them if they are of one kind */
    int efficiency_cores;    /* those with at most two thirds of their speed */
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

/* The device on which the calling thread's new arrays are: "cpu" (the default; IG_DEVICE names another),
 * "opencl:0", or "null", which computes nothing and serves to test schedules. A result is where its inputs are. Numbers, and
 * arrays filled with one (ig_zeros, ig_full), are on any device. An op of arrays on different devices fails. */
IG_API ig_status ig_set_device(const char *name);
IG_API const char *ig_device(void);
/* Where x is. Belongs to the library. NULL if x is NULL. */
IG_API const char *ig_array_device(const ig_array *x);
/* Waits until the device (NULL: the current one) has done all that it was given, and fails if a part of it
 * failed. Devices other than the CPU evaluate asynchronously: ig_eval returns when the work is queued, and
 * functions that read a result wait for it. A result of an evaluation that failed cannot be read. */
IG_API ig_status ig_synchronize(const char *device);

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
/* What happens when a device cannot run a program of an evaluation: it has no f64, a kernel does not compile
 * there, or an array is larger than its largest buffer. */
typedef enum ig_fallback {
    IG_FALLBACK_ERROR = 0, /* the evaluation fails; the error names op, device and reason */
    IG_FALLBACK_WARN, /* the CPU runs the program; a warning on stderr for each op and reason */
    IG_FALLBACK_AUTO  /* the CPU runs the program */
} ig_fallback;

/* The policy of the process. The default is IG_FALLBACK in the environment (error, warn, auto), or error.
 * Results have the device of their arrays whatever ran the program. */
IG_API ig_status ig_set_fallback(ig_fallback policy);
IG_API ig_fallback ig_fallback_policy(void);

/* What the CPU ran for devices since the process started, one row for each device, op and reason. */
typedef struct ig_fallback_row {
    const char *device; /* that could not run it */
    const char *op;     /* the fused ops of the program */
    const char *why;
    uint64_t runs;
    uint64_t bytes; /* copied between the device and the host for these runs */
} ig_fallback_row;
IG_API int ig_fallback_count(void);
/* The i-th row. Its texts live until ig_shutdown. */
IG_API ig_status ig_fallback_get(int i, ig_fallback_row *row);

/* ---- the machine ---------------------------------------------------------------------------- */

typedef enum ig_severity { IG_FINE = 0, IG_NOTE, IG_WARNING } ig_severity;

/* A condition of the machine that may disturb measurements. */
typedef struct ig_finding {
    ig_severity severity;
    const char *subject; /* "load" */
    const char *what;    /* "load 3.1 on 2 CPUs" */
    const char *remedy;  /* what would help, or NULL */
} ig_finding;

/* A kind of device that cannot be used here. */
typedef struct ig_absent {
    const char *name;   /* "opencl" */
    const char *why;    /* in this build, and on this machine */
    const char *remedy; /* a command that would help, or NULL */
} ig_absent;

typedef struct ig_machine {
    const char *system;          /* "Linux 6.1.0" */
    const char *distribution;    /* "Debian GNU/Linux 12 (bookworm)"; NULL: unknown */
    const char *arch;            /* "aarch64" */
    const char *virtual_machine; /* "KVM"; NULL: none was found */
    const char *container;       /* "Docker"; NULL: none was found */
    const ig_finding *findings;  /* everything that was checked and could be determined */
    int n_findings;
    const ig_absent *absent;
    int n_absent;
} ig_machine;

/* Describes the machine in its present state; takes some milliseconds. Release the result with ig_free;
 * NULL on failure. */
IG_API ig_machine *ig_machine_get(void);

/* ---- scopes and ownership ------------------------------------------------------------------- */

/* Opens a scope for the calling thread. ig_scope_end closes the innermost one and releases the arrays that
 * were made in it. Scopes nest. Arrays made without an open scope live until ig_shutdown, or until
 * ig_scope_forget and ig_release. */
IG_API ig_status ig_scope_begin(void);
IG_API void ig_scope_end(void);

/* Adds and drops one reference. NULL is allowed. ig_retain returns its argument. */
IG_API ig_array *ig_retain(ig_array *x);
IG_API void ig_release(ig_array *x);

/* Makes *slot, a reference that the caller owns or NULL, a reference to value: retains value and releases
 * what was in *slot. For variables that live longer than a scope: ig_replace(&w, ig_subtract(w, step)).
 * Fails if value is NULL, and leaves *slot as it was. */
IG_API ig_status ig_replace(ig_array **slot, ig_array *value);

/* Takes x out of its scope: the caller now owns the reference of the scope and must ig_release it. Use it
 * to return one array from a function that opens a scope. Returns x. */
IG_API ig_array *ig_scope_forget(ig_array *x);

/* An evaluated array keeps its history, the nodes that it was computed from, for gradients. It drops it
 * when its scope ends or when it is taken out of the scope; from then on it is a constant. After
 * ig_keep_history(true), arrays that the calling thread evaluates or takes out of scopes keep it as long
 * as they live. Returns the previous setting. */
IG_API bool ig_keep_history(bool keep);

/* ---- arrays: making, asking, reading ------------------------------------------------------------ */

/* An array with a copy of row-major data. */
IG_API ig_array *ig_from_data(const void *data, ig_ints shape, ig_dtype dtype);

/* An array over memory of the caller, without a copy. data is a block of `bytes` bytes that begins with
 * the elements in row-major order. It must stay valid and unchanged until Ingot calls release (may be
 * NULL) with context, from any thread, when nothing uses the array any more; on failure that is at once.
 * Ingot reads up to 64 bytes past the last element, whose values it ignores, and writes only if the array
 * is donated. So the block should be 64 bytes longer than the elements and aligned to their size. If it is
 * not aligned, or if reading past its end could fail, the elements are copied and release is called at
 * once. The memory does not count against the memory limit. */
IG_API ig_array *ig_from_memory(void *data, size_t bytes, ig_ints shape, ig_dtype dtype,
                                void (*release)(void *context), void *context);

/* 0-d constants. ig_int, ig_float and ig_bool are weak, like Python's numbers: they adopt the dtype of the
 * array that they are combined with, so ig_multiply(x, ig_float(0.5)) has the dtype of x. ig_scalar is not
 * weak. */
IG_API ig_array *ig_int(int64_t value);
IG_API ig_array *ig_float(double value);
IG_API ig_array *ig_bool(bool value);
IG_API ig_array *ig_scalar(double value, ig_dtype dtype);
/* The 0-d float array x as a weak scalar. Gradients reach x, since it is not copied where it is used. */
IG_API ig_array *ig_weak(ig_array *x);

/* Properties of an array. Those of NULL are 0, an empty list, IG_DTYPE_NONE and false. */
IG_API int ig_ndim(const ig_array *x);              /* number of axes */
IG_API int64_t ig_dim(const ig_array *x, int axis); /* length of an axis; -1 if there is none */
IG_API ig_ints ig_shape(const ig_array *x);         /* valid as long as x */
IG_API int64_t ig_size(const ig_array *x);          /* number of elements */
IG_API ig_dtype ig_dtype_of(const ig_array *x);
IG_API bool ig_is_evaluated(const ig_array *x); /* its elements have been computed */

/* Computes the arrays, and all that they need, in one planned run. On failure nothing changes: each array
 * is as it was.
 *
 * Intermediate results are fused and not stored, so another evaluation that needs them computes them
 * again. Two kinds are stored, because the caller holds them for longer:
 *   - an array of an outer scope that arrays of the innermost open scope read, such as data that was built
 *     before a training loop with a scope for each step;
 *   - an array in no scope (ig_scope_forget, ig_retain) that the caller, or another lazy array, still holds.
 * Any other array that several evaluations use, such as one of the same scope, should be evaluated first:
 * ig_eval(&x, 1). */
IG_API ig_status ig_eval(ig_array *const *arrays, int n);

/* Tells whether the devices of the arrays can compute them: IG_OK, or IG_ERR_UNSUPPORTED with the reason as the
 * error. Plans, but compiles and computes nothing; an array that moves between devices is computed first. */
IG_API ig_status ig_can_eval(ig_array *const *arrays, int n);

/* Compiles the kernels for n evaluations: ig_eval(arrays, counts[0]), ig_eval(arrays + counts[0], counts[1]) and so on. Nothing
 * is computed. A device compiles many kernels together in less time than one by one. They must all be on one device. A device that
 * compiles kernels one by one, or none, does nothing. A kernel that cannot be compiled is reported by its evaluation. */
IG_API ig_status ig_prepare(ig_array *const *arrays, const int *counts, int n);

/* Asks the evaluations that run now, in any thread, to stop. They fail with IG_ERR_CANCELLED; their arrays
 * stay unevaluated and can be evaluated again, unless they need an array that was donated: that is lost.
 * Evaluations that start later are not affected. The request is noticed between the programs of an
 * evaluation, and between the parts of a long program on the CPU. Safe to call from a signal handler. */
IG_API void ig_cancel(void);

/* As ig_eval, and donates arrays: the evaluation may overwrite their memory, so that a training step needs no
 * second copy of what it replaces. Donated arrays, and views of them, have no elements afterwards:
 * evaluating what needs them is an error. */
IG_API ig_status ig_eval_donating(ig_array *const *arrays, int n, ig_array *const *donated,
                                  int n_donated);

/* Describes the schedule that ig_eval would run: programs, fused ops, bytes, FLOPs, buffers, peak memory.
 * Release the text with ig_free; NULL on failure. */
IG_API char *ig_explain(ig_array *const *arrays, int n);
IG_API char *ig_explain_donating(ig_array *const *arrays, int n, ig_array *const *donated,
                                 int n_donated);

/* A computation that is planned once and run many times. outputs are its results for inputs, which only
 * stand for arrays of their shapes and dtypes; everything else that outputs need is a constant. Each run
 * donates its first n_donated inputs, as ig_eval_donating does. NULL on failure. */
typedef struct ig_compiled ig_compiled;
IG_API ig_compiled *ig_compile(ig_array *const *inputs, int n_in, int n_donated,
                               ig_array *const *outputs, int n_out);
/* Evaluates the inputs if needed, runs the computation, and writes evaluated outputs. */
IG_API ig_status ig_run(const ig_compiled *c, ig_array *const *inputs, ig_array **outputs);
IG_API void ig_compiled_free(ig_compiled *c);

/* Evaluates x and returns its elements in row-major order, valid as long as x; NULL on failure. A strided
 * view is copied into that order first. */
IG_API const void *ig_data(ig_array *x);

/* Evaluates x and copies its elements to dst in row-major order; bytes must be the exact size. */
IG_API ig_status ig_read(ig_array *x, void *dst, size_t bytes);

/* Evaluates x, which has one element, and returns it; NaN on failure. ig_item_int returns integers of 64
 * bits exactly. It fails, and returns 0, for a float that is not whole and for a u64 above INT64_MAX. */
IG_API double ig_item(ig_array *x);
IG_API int64_t ig_item_int(ig_array *x);

/* Evaluates x and returns its elements as NumPy prints them: "[[1. 2.]\n [3. 4.]]". Of more than 1000
 * elements only some at the ends of each axis are shown, unless full. Release the text with ig_free; NULL
 * on failure. ig_print writes the same and a newline to standard output. */
IG_API char *ig_to_string(ig_array *x, bool full);
IG_API ig_status ig_print(ig_array *x);

/* ---- is it right? ------------------------------------------------------------------------------ */

/* The result of ig_verify. A node is an operation as ig_explain names it: most ops are one node, softmax is
 * several, matmul and convolution are "contract". */
typedef struct ig_verify_report {
    int nodes;             /* nodes that were checked */
    int failed;            /* nodes whose error is above their bound */
    int64_t elements;      /* of all results */
    double worst_ulp;      /* largest error of elementwise nodes, in ulp */
    double worst_relative; /* largest relative error; of sums, relative to the largest result */
    double worst_bound;    /* largest error, in units of its bound; above 1 is wrong */
    /* The first failed node in the order of the graph, and its worst element. */
    int node;     /* its number, from 0 on; -1: none failed */
    bool fused;   /* correct by itself, but not when it is computed together with others */
    char op[32];  /* "exp" */
    double error; /* in units of its bound */
    double expected, got;
    char text[600]; /* all of that in one line, with dtypes and shapes; "" if none failed */
} ig_verify_report;

/* Compares what the device of the calling thread computes for the arrays with the CPU in f64, node by node.
 * Each node is checked with the inputs that the device has computed, so an error is reported at the node
 * that causes it. f32 and f64 results may be off by the ulp of the op, sums and contractions by a multiple
 * of eps of the sum of magnitudes; everything else must be exact. The whole graph is computed again with
 * all intermediate results kept; the arrays do not change. IG_OK means that the comparison was made;
 * report->failed says whether the results are correct. */
IG_API ig_status ig_verify(ig_array *const *arrays, int n, ig_verify_report *report);

/* ---- dtypes ------------------------------------------------------------------------------------ */

IG_API const char *ig_dtype_name(ig_dtype dtype);     /* "f32" */
IG_API const char *ig_dtype_std_name(ig_dtype dtype); /* "float32" */
IG_API ig_dtype ig_dtype_parse(const char *name);     /* either name; IG_DTYPE_NONE if unknown */
IG_API size_t ig_dtype_bytes(ig_dtype dtype);         /* of an element; 0: not a dtype */
/* The common dtype of two dtypes, by the standard's table. Beyond it, an integer and a float give the
 * float, bool and another dtype give the other, f16 and bf16 give f32. IG_DTYPE_NONE if there is none: u64
 * and a signed integer. */
IG_API ig_dtype ig_promote(ig_dtype a, ig_dtype b);
/* The common dtype of arrays; weak scalars adapt. IG_DTYPE_NONE if there is none. */
IG_API ig_dtype ig_result_type(ig_array *const *arrays, int n);
/* True if promotion of from and to gives to. */
IG_API bool ig_can_cast(ig_dtype from, ig_dtype to);
/* True if dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric". */
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
/* The limits of a floating-point or integer dtype; fails for others. */
IG_API ig_status ig_finfo_of(ig_dtype dtype, ig_finfo *info);
IG_API ig_status ig_iinfo_of(ig_dtype dtype, ig_iinfo *info);

/* ---- every op by its name ------------------------------------------------------------------------ */

typedef enum ig_kind {
    IG_ARG_NONE = 0, /* not given */
    IG_ARG_ARRAY,
    IG_ARG_ARRAYS, /* a list of arrays */
    IG_ARG_INT,
    IG_ARG_FLOAT,
    IG_ARG_BOOL,
    IG_ARG_INTS,
    IG_ARG_DTYPE,
    IG_ARG_STRING,
    IG_ARG_BYTES /* of a struct or vector; for kernels only */
} ig_kind;

/* One argument: positional when name is NULL, else by keyword. */
typedef struct ig_arg {
    const char *name;
    ig_kind kind;
    union {
        ig_array *array;
        struct {
            ig_array *const *v;
            int n;
        } arrays;
        int64_t i;
        double f;
        bool b;
        ig_ints ints;
        ig_dtype dtype;
        const char *str;
        struct {
            const void *v;
            size_t n;
        } bytes;
    } u;
} ig_arg;

/* Calls an op by name, after checking args against its signature. Writes the results to out, which has
 * room for max_out, and returns how many there are; 0 on failure. Most ops give one. */
IG_API int ig_call(const char *op, const ig_arg *args, int nargs, ig_array **out, int max_out);

/* A parameter of an op. kinds is a bit set of 1 << ig_kind. def is its default, unless it is required. */
typedef struct ig_param {
    const char *name;
    unsigned kinds;
    bool required;
    bool variadic; /* takes all further positional arguments */
    ig_arg def;
} ig_param;

typedef struct ig_op {
    const char *name;
    const char *cls;       /* "elementwise", "reduce", "move", "index", "contract", ... */
    const char *signature; /* "x: array, axis: int|ints = None, keepdims: bool = False" */
    const char *doc;       /* one line */
    const ig_param *params;
    int n_params;
    bool gives_list; /* its result is a list of arrays, even if there is only one */
    bool
        evaluates; /* the shape of its result depends on data, so calling it evaluates its inputs */
    double ulp;    /* elementwise: error bound of f32 and f64 results; 0: correctly rounded */
} ig_op;

/* The op table. ig_op_at returns NULL outside of it, ig_op_find for an unknown name. ig_op_nearest returns
 * the op with the most similar name, never NULL. */
IG_API int ig_op_count(void);
IG_API const ig_op *ig_op_at(int i);
IG_API const ig_op *ig_op_find(const char *name);
IG_API const ig_op *ig_op_nearest(const char *name);

/* ---- kernels in CUDA C ------------------------------------------------------------------------ */

/* Source in CUDA C, read and checked: kernels that can be launched on any device that runs kernels.
 *
 * Any thread may use any module. Launches of one module run one after another, in no fixed order between
 * threads; launches of different modules may overlap. Free a module when no thread uses it any more. The
 * print function of a launch must not use the launched module. */
typedef struct ig_module ig_module;

typedef struct ig_module_options {
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    int n_defines;
    const char *const *folders; /* where includes are looked for */
    int n_folders;
    const char *const *instances; /* of kernel templates: "tile<float, 16>" */
    int n_instances;
    bool is_program; /* the source is a whole program: host code in it is skipped */
} ig_module_options;

/* name is what messages call the source, and where its own includes are looked for; options may be NULL.
 * NULL on failure, with all that the compiler has to say in the error. A kernel with a mistake fails when
 * it is launched, and does not keep the others from running. */
IG_API ig_module *ig_module_new(const char *name, const char *source,
                                const ig_module_options *options);
IG_API void ig_module_free(ig_module *m);

/* What a parameter holds or points to, and what is in that. */
typedef struct ig_kernel_field {
    const char *name; /* empty: its own fields are seen through it */
    const char *type; /* as C writes it: "float [4]" */
    ig_dtype dtype;   /* IG_DTYPE_NONE: a struct, a vector or a pointer */
    size_t offset;    /* in what it is in */
    size_t bytes;
    int64_t count; /* elements of an array, over all its dimensions; 0: not an array */
    bool is_union; /* its fields share their place */
    const struct ig_kernel_field *fields; /* of a struct or a vector, in order; of each element */
    int n_fields;
} ig_kernel_field;

/* A parameter of a kernel. */
typedef struct ig_kernel_param {
    const char *name;
    const char *type; /* as C writes it: "const float *" */
    ig_dtype dtype;   /* of the value, or of what it points to; IG_DTYPE_NONE: a struct */
    bool is_pointer;
    bool is_written;              /* a pointer to what is not const */
    size_t bytes;                 /* of the value */
    const ig_kernel_field *holds; /* the value, or what it points to */
} ig_kernel_param;

typedef struct ig_kernel_info {
    const char *name;
    const ig_kernel_param *params;
    int n_params;
    int n_written; /* parameters that are written */
} ig_kernel_info;

/* The kernels of a module, in the order of the source; by name, NULL if there is none. */
IG_API int ig_module_count(const ig_module *m);
IG_API const ig_kernel_info *ig_module_at(const ig_module *m, int i);
IG_API const ig_kernel_info *ig_module_find(const ig_module *m, const char *kernel);

/* A mistake that a checked launch found; of those of one kind at one place in the source, the first. */
typedef struct ig_kernel_finding {
    const char *kind;    /* "out of bounds", "misaligned", "null pointer", "uninitialised", "race",
                            "divergent barrier", "endless loop", "inactive lane" */
    const char *message; /* one line: what happened to what */
    const char *text;    /* the same with place, source line and caret: several lines */
    const char *file;
    int64_t line;
    uint32_t column;
    uint32_t block[3], thread[3]; /* who did it */
    uint64_t count;               /* how often it happened */
    bool is_note;                 /* right on hardware that keeps warps in step, but fragile */
} ig_kernel_finding;

typedef struct ig_kernel_findings {
    const ig_kernel_finding *findings; /* in the order in which they happened */
    int n_findings;                    /* 20 at most */
    int n_more;                        /* that are not listed */
} ig_kernel_findings;

/* What warps did at a line of the source. A request is a load, store or atomic by one warp. */
typedef struct ig_profile_line {
    const char *file;
    int64_t line;
    const char *text;             /* the line itself, without the blanks before it */
    uint64_t runs;                /* times that a warp came to it */
    uint64_t instructions;        /* of lane code that warps ran for it */
    uint64_t lanes;               /* that were active, over all instructions: 32 each at best */
    uint64_t branches, divergent; /* ifs and loop tests; those at which lanes of a warp part */
    uint64_t barriers;            /* that warps came to */
    uint64_t atomics;             /* requests */
    uint64_t shared_requests;     /* to shared memory */
    uint64_t shared_cycles;       /* that its 32 banks need; without conflicts shared_ideal */
    uint64_t shared_ideal;
    uint64_t global_requests; /* to global memory */
    uint64_t global_sectors;  /* of 32 bytes that are moved; coalesced global_ideal */
    uint64_t global_ideal;
    uint64_t global_bytes; /* that lanes asked for */
} ig_profile_line;

typedef struct ig_profile {
    const char *kernel;
    const ig_profile_line *lines; /* those where something was done, in the order of the source */
    int n_lines;
    ig_profile_line total; /* file and text are NULL */
    uint64_t launches;     /* that are summed up */
} ig_profile;

/* A table for people, with the source beside the numbers. Release the text with ig_free. */
IG_API char *ig_profile_text(const ig_profile *p);
/* The same as an object of JSON. */
IG_API char *ig_profile_json(const ig_profile *p);

typedef struct ig_launch {
    const char *device;         /* "cpu" if NULL */
    uint32_t grid[3], block[3]; /* blocks, and threads of each; 0 counts as 1 */
    size_t shared_bytes;        /* dynamic shared memory */
    /* Arrays for pointers (to structs: of any dtype, by their bytes), IG_ARG_BYTES for structs and
     * vectors, numbers for the others; by name or in order. */
    const ig_arg *args;
    int n_args;
    double *seconds; /* receives what the device took; may be NULL */
    /* Looks for mistakes while the kernel runs: accesses out of bounds, races, and so on. A wrong access is
     * not made, and the launch fails with IG_ERR_DEVICE and a report. On "cpu" only, and slow. */
    bool check;
    uint64_t check_loops; /* iterations of one block's warp until a loop is endless; 0: 2^24 */
    ig_kernel_findings *
        *findings; /* receives what was found, also if it is nothing; release it with ig_free.
                             * May be NULL */
    /* Receives what each line of the source did; release it with ig_free. NULL: not asked for. On "cpu"
     * only. */
    ig_profile **profile;
    /* Where printf goes, by one thread at a time; NULL: standard output. */
    void (*print)(void *context, const char *text, size_t bytes);
    void *context;
} ig_launch;

/* Runs a kernel. Arrays that it is given do not change: results receives a new array for each parameter
 * that is written, in order, with what is there after the launch. */
IG_API ig_status ig_module_launch(ig_module *m, const char *kernel, const ig_launch *l,
                                  ig_array **results);

/* How what a device computed for the kernel may differ from what the source says, as text; NULL if it does not, or if the
 * kernel was not launched there. Valid as long as the module. */
IG_API const char *ig_module_warnings(const ig_module *m, const char *kernel, const char *device);

/* A kernel as an operation of graphs. */
typedef struct ig_kernel_call {
    const char *name;                 /* what messages call the source; NULL: "kernel.cu" */
    const char *source;               /* in CUDA C */
    const ig_module_options *options; /* may be NULL */
    const char *kernel;               /* "saxpy", "tile<float, 16>" */
    /* By name or in order. For a pointer to const an array; for a pointer that is written the shape of
     * the result (IG_ARG_INTS; IG_ARG_INT: so many elements), which begins as zeros, or an array, of
     * which it begins as a copy; for a value a number, or an array of one element. */
    const ig_arg *args;
    int n_args;
    /* Blocks, and threads of each. A grid of zeros: a thread for each element of the first result, whose
     * last axis lies along x, the one before along y; the last axis of the block takes all that are left.
     * A block of zeros has 256 threads. */
    uint32_t grid[3], block[3];
    size_t shared_bytes; /* dynamic shared memory */
    /* The kernel for gradients; NULL: it has none. See ig_kernel. */
    const struct ig_kernel_call *gradient;
} ig_kernel_call;

/* Writes an array for each parameter that is written, in order, to out, which holds max_out, and returns
 * how many there are; 0 on failure. They are lazy, scheduled, compiled, explained and verified as those of
 * any op. Mistakes in the source are reported here, those of a run when it is evaluated.
 * A call is identified by its content: equal sources, kernels, launches and inputs are computed once.
 * So a kernel must be a function of its arguments; at each launch, __device__ variables begin with the
 * values that the source gives them.
 *
 * A gradient kernel names what it needs: `x`, a parameter of this kernel or what it left there; `grad_y`,
 * a pointer to const, the gradient of a result; `grad_x`, which it writes and which begins as zeros, the
 * gradient of a float argument. Where y began as an array, `grad_y` is written: it begins as the gradient
 * of the result and ends as that of the array. Of its own args only numbers are taken, and where it has no
 * source it is in this one. It may have a gradient kernel itself. All float arrays must have their
 * gradient, but for those that were passed through ig_stop_gradient. */
IG_API int ig_kernel(const ig_kernel_call *call, ig_array **out, int max_out);

typedef struct ig_translate_options {
    const char *to;     /* "opencl", "metal" or "cuda" */
    const char *kernel; /* as the host calls it: "saxpy", "tile<float, 16>"; NULL: all of them */
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    int n_defines;
    const char *const *folders; /* where #include looks */
    int n_folders;
    bool colour; /* in messages */
} ig_translate_options;

/* A kernel in the other language. */
typedef struct ig_translation {
    char *kernel; /* its name in the source */
    char *entry;  /* and in the text; NULL if it was refused */
    char *text;   /* NULL if the language, or the least capable device of it, lacks what it needs */
    char *said;   /* warnings, or why it was refused: place, reason, remedy; or NULL */
} ig_translation;

typedef struct ig_translations {
    ig_translation *at;
    int n;
    char
        *text; /* all of them as one file, in which what several of them use stands once; or NULL */
    char *said; /* about the source as a whole, or NULL */
} ig_translations;

/* Translates the kernels of a source. name is for messages and for the folder of its includes; host code is
 * skipped. Of templates, the instance that is asked for, or those that the source names by launches,
 * specializations and default arguments. The translation computes what the source says, except where a
 * warning says that it does not. Release it with ig_translations_free. NULL if the source has errors, which
 * are the text of the error. */
IG_API ig_translations *ig_translate(const char *name, const char *source,
                                     const ig_translate_options *options);
IG_API void ig_translations_free(ig_translations *t);

/* ---- elementwise, one input -------------------------------------------------------------------- */

/* Any shape; integers are promoted to f32 where the op needs a float. */

IG_API ig_array *ig_abs(ig_array *x);            /* Absolute value. */
IG_API ig_array *ig_acos(ig_array *x);           /* Inverse cosine. */
IG_API ig_array *ig_acosh(ig_array *x);          /* Inverse hyperbolic cosine. */
IG_API ig_array *ig_asin(ig_array *x);           /* Inverse sine. */
IG_API ig_array *ig_asinh(ig_array *x);          /* Inverse hyperbolic sine. */
IG_API ig_array *ig_atan(ig_array *x);           /* Inverse tangent. */
IG_API ig_array *ig_atanh(ig_array *x);          /* Inverse hyperbolic tangent. */
IG_API ig_array *ig_bitwise_invert(ig_array *x); /* Bitwise not; of bool, logical not. */
IG_API ig_array *ig_ceil(ig_array *x);           /* Rounded up; integers unchanged. */
IG_API ig_array *ig_cos(ig_array *x);            /* Cosine. */
IG_API ig_array *ig_cosh(ig_array *x);           /* Hyperbolic cosine. */
IG_API ig_array *ig_erf(ig_array *x);            /* Error function. */
IG_API ig_array *ig_erfinv(ig_array *x);         /* Inverse error function. */
IG_API ig_array *ig_exp(ig_array *x);            /* e to the power x. */
IG_API ig_array *ig_exp2(ig_array *x);           /* 2 to the power x. */
IG_API ig_array *ig_expm1(ig_array *x);          /* exp(x) - 1, exact near 0. */
IG_API ig_array *ig_floor(ig_array *x);          /* Rounded down; integers unchanged. */
IG_API ig_array *ig_gelu_erf(ig_array *x);       /* x * Phi(x); see ig_gelu. */
IG_API ig_array *ig_isfinite(ig_array *x);       /* bool: neither infinite nor NaN. */
IG_API ig_array *ig_isinf(ig_array *x);          /* bool: infinite. */
IG_API ig_array *ig_isnan(ig_array *x);          /* bool: not a number. */
IG_API ig_array *ig_log(ig_array *x);            /* Natural logarithm. */
IG_API ig_array *ig_log10(ig_array *x);          /* Logarithm to base 10. */
IG_API ig_array *ig_log1p(ig_array *x);          /* log(1 + x), exact near 0. */
IG_API ig_array *ig_log2(ig_array *x);           /* Logarithm to base 2. */
IG_API ig_array *ig_logical_not(ig_array *x);    /* bool: x is zero or false. */
IG_API ig_array *ig_negative(ig_array *x);       /* -x; integers wrap. */
IG_API ig_array *ig_positive(ig_array *x);       /* +x. */
IG_API ig_array *ig_reciprocal(ig_array *x);     /* 1 / x. */
IG_API ig_array *ig_round(
    ig_array *x); /* Rounded to the nearest integer, halves to even; integers unchanged. */
IG_API ig_array *ig_rsqrt(ig_array *x);   /* 1 / sqrt(x). */
IG_API ig_array *ig_sigmoid(ig_array *x); /* 1 / (1 + exp(-x)). */
IG_API ig_array *ig_sign(ig_array *x);    /* -1, 0 or 1; NaN for NaN. */
IG_API ig_array *ig_signbit(ig_array *x); /* bool: the sign bit is set (also of -0.0). */
IG_API ig_array *ig_sin(ig_array *x);     /* Sine, accurate for any argument. */
IG_API ig_array *ig_sinh(ig_array *x);    /* Hyperbolic sine. */
IG_API ig_array *ig_sqrt(ig_array *x);    /* Square root, correctly rounded. */
IG_API ig_array *ig_square(ig_array *x);  /* x * x. */
IG_API ig_array *ig_tan(ig_array *x);     /* Tangent. */
IG_API ig_array *ig_tanh(ig_array *x);    /* Hyperbolic tangent. */
IG_API ig_array *ig_trunc(ig_array *x);   /* Rounded towards 0; integers unchanged. */

/* ---- elementwise, two inputs ------------------------------------------------------------------- */

/* Shapes broadcast, dtypes promote (ig_promote). */

IG_API ig_array *ig_add(ig_array *x1, ig_array *x2); /* x1 + x2. */
/* The angle of the point (x2, x1), in [-pi, pi]. */
IG_API ig_array *ig_atan2(ig_array *x1, ig_array *x2);
IG_API ig_array *ig_bitwise_and(ig_array *x1, ig_array *x2); /* Bitwise and. */
/* x1 << x2; 0 when x2 is negative or not below the width. */
IG_API ig_array *ig_bitwise_left_shift(ig_array *x1, ig_array *x2);
IG_API ig_array *ig_bitwise_or(ig_array *x1, ig_array *x2); /* Bitwise or. */
/* x1 >> x2, sign kept; 0 or -1 when x2 is not below the width. */
IG_API ig_array *ig_bitwise_right_shift(ig_array *x1, ig_array *x2);
IG_API ig_array *ig_bitwise_xor(ig_array *x1, ig_array *x2); /* Bitwise exclusive or. */
IG_API ig_array *ig_copysign(ig_array *x1, ig_array *x2);    /* x1 with the sign of x2. */
IG_API ig_array *ig_divide(ig_array *x1, ig_array *x2); /* x1 / x2, always in floating point. */
IG_API ig_array *ig_equal(ig_array *x1, ig_array *x2);  /* bool: x1 == x2. */
/* floor(x1 / x2); an integer by 0 gives 0. */
IG_API ig_array *ig_floor_divide(ig_array *x1, ig_array *x2);
IG_API ig_array *ig_greater(ig_array *x1, ig_array *x2);       /* bool: x1 > x2. */
IG_API ig_array *ig_greater_equal(ig_array *x1, ig_array *x2); /* bool: x1 >= x2. */
IG_API ig_array *ig_hypot(ig_array *x1, ig_array *x2); /* sqrt(x1**2 + x2**2) without overflow. */
IG_API ig_array *ig_less(ig_array *x1, ig_array *x2);  /* bool: x1 < x2. */
IG_API ig_array *ig_less_equal(ig_array *x1, ig_array *x2); /* bool: x1 <= x2. */
/* log(exp(x1) + exp(x2)) without overflow. */
IG_API ig_array *ig_logaddexp(ig_array *x1, ig_array *x2);
IG_API ig_array *ig_logical_and(ig_array *x1, ig_array *x2); /* bool: both. */
IG_API ig_array *ig_logical_or(ig_array *x1, ig_array *x2);  /* bool: either. */
IG_API ig_array *ig_logical_xor(ig_array *x1, ig_array *x2); /* bool: one of them only. */
IG_API ig_array *ig_maximum(ig_array *x1, ig_array *x2);     /* The larger; NaN if either is NaN. */
IG_API ig_array *ig_minimum(ig_array *x1, ig_array *x2);   /* The smaller; NaN if either is NaN. */
IG_API ig_array *ig_multiply(ig_array *x1, ig_array *x2);  /* x1 * x2; integers wrap. */
IG_API ig_array *ig_nextafter(ig_array *x1, ig_array *x2); /* The next float after x1 towards x2. */
IG_API ig_array *ig_not_equal(ig_array *x1, ig_array *x2); /* bool: x1 != x2. */
/* x1 to the power x2; integers wrap, and a negative integer power rounds towards 0. */
IG_API ig_array *ig_pow(ig_array *x1, ig_array *x2);
/* x1 - x2 * floor(x1 / x2), with the sign of x2; an integer by 0 gives 0. */
IG_API ig_array *ig_remainder(ig_array *x1, ig_array *x2);
IG_API ig_array *ig_subtract(ig_array *x1, ig_array *x2); /* x1 - x2. */

/* ---- elementwise, more ------------------------------------------------------------------------- */

/* x1 where condition holds, else x2; all three broadcast. */
IG_API ig_array *ig_where(ig_array *condition, ig_array *x1, ig_array *x2);
/* x kept within [min, max]; either bound may be NULL. */
IG_API ig_array *ig_clip(ig_array *x, ig_array *min, ig_array *max);
/* x converted. Float to integer rounds towards 0 and saturates, NaN gives 0; integer to narrower
 * integer wraps; anything to bool is x != 0. */
IG_API ig_array *ig_astype(ig_array *x, ig_dtype dtype);

/* ---- reduce ------------------------------------------------------------------------------------ */

/* Axis IG_NONE means all axes. Reduced axes are removed, or kept with length 1 if keepdims. */

/* The sum. Integers and bool are summed in i64 (unsigned in u64) unless dtype is given. */
IG_API ig_array *ig_sum(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims);
/* The product; dtype as for ig_sum. */
IG_API ig_array *ig_prod(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims);
/* The largest element; NaN if there is one. Fails over an axis of length 0. */
IG_API ig_array *ig_max(ig_array *x, ig_ints axis, bool keepdims);
/* The smallest element; NaN if there is one. Fails over an axis of length 0. */
IG_API ig_array *ig_min(ig_array *x, ig_ints axis, bool keepdims);
/* bool: all elements are true (not zero); true if there are none. */
IG_API ig_array *ig_all(ig_array *x, ig_ints axis, bool keepdims);
/* bool: any element is true (not zero); false if there are none. */
IG_API ig_array *ig_any(ig_array *x, ig_ints axis, bool keepdims);
/* i64 index of the first largest element or first NaN; axis is one axis, or IG_NONE: of the
 * flattened x. */
IG_API ig_array *ig_argmax(ig_array *x, ig_ints axis, bool keepdims);
/* i64 index of the first smallest element or first NaN. */
IG_API ig_array *ig_argmin(ig_array *x, ig_ints axis, bool keepdims);
/* i64: the number of elements that are not zero. */
IG_API ig_array *ig_count_nonzero(ig_array *x, ig_ints axis, bool keepdims);
/* log(sum(exp(x))) without overflow. */
IG_API ig_array *ig_logsumexp(ig_array *x, ig_ints axis, bool keepdims);
/* The mean; f16 and bf16 are summed in f32. */
IG_API ig_array *ig_mean(ig_array *x, ig_ints axis, bool keepdims);
/* The standard deviation; the divisor is n - correction. */
IG_API ig_array *ig_std(ig_array *x, ig_ints axis, double correction, bool keepdims);
/* The variance, in two passes; the divisor is n - correction. */
IG_API ig_array *ig_var(ig_array *x, ig_ints axis, double correction, bool keepdims);
/* Running sums along one axis; IG_NONE only for 1-d x. include_initial prepends a 0. */
IG_API ig_array *ig_cumulative_sum(ig_array *x, ig_ints axis, ig_dtype dtype, bool include_initial);
/* Running products; include_initial prepends a 1. */
IG_API ig_array *ig_cumulative_prod(ig_array *x, ig_ints axis, ig_dtype dtype,
                                    bool include_initial);
/* Running maximum; NaN from the first NaN on. */
IG_API ig_array *ig_cumulative_max(ig_array *x, ig_ints axis);
/* Running minimum; NaN from the first NaN on. */
IG_API ig_array *ig_cumulative_min(ig_array *x, ig_ints axis);
/* Differences of neighbours along axis, n times; prepend and append (may be NULL) are joined to x
 * first. */
IG_API ig_array *ig_diff(ig_array *x, int axis, int n, ig_array *prepend, ig_array *append);

/* ---- move -------------------------------------------------------------------------------------- */

/* The result is a view where strides can express it; a view does not copy. */

/* A view of x repeated to shape. */
IG_API ig_array *ig_broadcast_to(ig_array *x, ig_ints shape);
/* Views of n arrays broadcast against each other; returns n, 0 on failure. */
IG_API int ig_broadcast_arrays(ig_array *const *arrays, int n, ig_array **out);
/* Joined along one axis; IG_NONE flattens first. */
IG_API ig_array *ig_concat(ig_array *const *arrays, int n, ig_ints axis);
/* A view of the diagonal of the last two axes. */
IG_API ig_array *ig_diagonal(ig_array *x, int64_t offset);
/* A view with new axes of length 1 at the given positions of the result. */
IG_API ig_array *ig_expand_dims(ig_array *x, ig_ints axis);
/* A view with the elements reversed along axis. */
IG_API ig_array *ig_flip(ig_array *x, ig_ints axis);
/* A view with the last two axes swapped. */
IG_API ig_array *ig_matrix_transpose(ig_array *x);
/* Coordinate grids of 1-d arrays, indexing "xy" or "ij"; returns n, 0 on failure. */
IG_API int ig_meshgrid(ig_array *const *arrays, int n, const char *indexing, ig_array **out);
/* A view with axes moved. */
IG_API ig_array *ig_moveaxis(ig_array *x, ig_ints source, ig_ints destination);
/* x with a border. pad_width: before and after for each axis, or one pair, or one number, for
 * all. mode "constant" (value; NULL: 0), "edge" or "reflect". */
IG_API ig_array *ig_pad(ig_array *x, ig_ints pad_width, const char *mode, ig_array *value);
/* A view with the axes in the given order. */
IG_API ig_array *ig_permute_dims(ig_array *x, ig_ints axes);
/* Each element repeated; repeats is one integer or one for each element of axis (which evaluates
 * it). IG_NONE flattens. */
IG_API ig_array *ig_repeat(ig_array *x, ig_array *repeats, ig_ints axis);
/* The same elements in row-major order in another shape, one of which may be -1. A view where
 * strides allow it. */
IG_API ig_array *ig_reshape(ig_array *x, ig_ints shape);
/* Elements shifted along axis, circularly. IG_NONE shifts the flattened x. */
IG_API ig_array *ig_roll(ig_array *x, ig_ints shift, ig_ints axis);
/* The view x[start:stop:step] of the leading axes, with Python's rules: negative counts from the
 * end, bounds are clipped, INT64_MAX or INT64_MIN is "to the very end". step IG_NONE is 1. */
IG_API ig_array *ig_slice(ig_array *x, ig_ints start, ig_ints stop, ig_ints step);
/* A copy of x with update written to x[start::step] of the leading axes. */
IG_API ig_array *ig_slice_update(ig_array *x, ig_array *update, ig_ints start, ig_ints step);
/* Views of x split into equal parts (one number) or before each index; returns how many, 0 on
 * failure. */
IG_API int ig_split(ig_array *x, ig_ints indices_or_sections, int axis, ig_array **out,
                    int max_out);
/* A view without the given axes, which have length 1. */
IG_API ig_array *ig_squeeze(ig_array *x, ig_ints axis);
/* Arrays of one shape joined along a new axis. */
IG_API ig_array *ig_stack(ig_array *const *arrays, int n, int axis);
/* x repeated as a whole along each axis. */
IG_API ig_array *ig_tile(ig_array *x, ig_ints repetitions);
/* Views of x without axis, one for each of its elements; returns how many, 0 on failure. */
IG_API int ig_unstack(ig_array *x, int axis, ig_array **out, int max_out);

/* ---- index ------------------------------------------------------------------------------------- */

/* Negative indices count from the end. An index that is out of bounds is an error of the evaluation. */

/* out[i, j] = x[indices[i, j], j] for axis 0. indices has as many axes as x, none longer (but
 * axis). */
IG_API ig_array *ig_gather(ig_array *x, ig_array *indices, int axis);
/* bool: which elements of x1 are in x2. */
IG_API ig_array *ig_isin(ig_array *x1, ig_array *x2, bool invert);
/* x[mask]: the elements (or slices) where the bool mask, which matches x's leading axes, is
 * true. Evaluates mask. */
IG_API ig_array *ig_mask_select(ig_array *x, ig_array *mask);
/* One i64 array for each axis of x with the indices of elements that are not zero. Evaluates x. */
IG_API int ig_nonzero(ig_array *x, ig_array **out, int max_out);
/* 1 at index x along a new last axis, else 0; an index outside gives zeros. The default dtype is
 * f32. */
IG_API ig_array *ig_one_hot(ig_array *x, int64_t num_classes, ig_dtype dtype);
/* i64 indices that sort x along axis; always stable, NaN last. */
IG_API ig_array *ig_argsort(ig_array *x, int axis, bool descending, bool stable);
/* x with out[indices[i, j], j] = updates[i, j] for axis 0; if an element is written several times, the last write wins. */
IG_API ig_array *ig_scatter(ig_array *x, ig_array *indices, ig_array *updates, int axis);
/* x with out[indices[i, j], j] += updates[i, j] for axis 0, in row-major order of updates. */
IG_API ig_array *ig_scatter_add(ig_array *x, ig_array *indices, ig_array *updates, int axis);
/* i64 positions in the sorted 1-d x1 before (side "left") or after ("right") elements equal to
 * x2. sorter (may be NULL) sorts x1 first. */
IG_API ig_array *ig_searchsorted(ig_array *x1, ig_array *x2, const char *side, ig_array *sorter);
/* x sorted along axis; always stable, NaN last. */
IG_API ig_array *ig_sort(ig_array *x, int axis, bool descending, bool stable);
/* x at indices along one axis, which the axes of indices replace; IG_NONE only for 1-d x. */
IG_API ig_array *ig_take(ig_array *x, ig_array *indices, ig_ints axis);
/* x at matching indices along axis; the other axes broadcast. */
IG_API ig_array *ig_take_along_axis(ig_array *x, ig_array *indices, int axis);
/* The k largest along axis, largest first, and their i64 indices; returns 2, 0 on failure. */
IG_API int ig_topk(ig_array *x, int64_t k, int axis, ig_array *out[2]);
/* Sorted values, i64 first indices, inverse indices in the shape of x, counts; each NaN is
 * distinct. Evaluates x. Returns 4, 0 on failure. */
IG_API int ig_unique_all(ig_array *x, ig_array *out[4]);
/* Values and counts. Evaluates x. */
IG_API int ig_unique_counts(ig_array *x, ig_array *out[2]);
/* Values and inverse indices. Evaluates x. */
IG_API int ig_unique_inverse(ig_array *x, ig_array *out[2]);
/* Sorted distinct values. Evaluates x. */
IG_API ig_array *ig_unique_values(ig_array *x);

/* ---- contract ---------------------------------------------------------------------------------- */

/* f16 and bf16 are summed in f32 and rounded once; integers wrap. */

/* Matrix product over the last two axes, leading axes broadcast; 1-d operands as the standard
 * says. Transposed and strided inputs are not copied. */
IG_API ig_array *ig_matmul(ig_array *x1, ig_array *x2);
/* One number n: the last n axes of x1 with the first n of x2. Otherwise x1's axes, then as many
 * of x2's. */
IG_API ig_array *ig_tensordot(ig_array *x1, ig_array *x2, ig_ints axes);
/* Dot products along axis, the rest broadcast. */
IG_API ig_array *ig_vecdot(ig_array *x1, ig_array *x2, int axis);
/* "ij,jk->ik" and the like: any number of operands, repeated letters, "..." , implicit output. */
IG_API ig_array *ig_einsum(const char *subscripts, ig_array *const *arrays, int n);
/* All products of two 1-d arrays. */
IG_API ig_array *ig_outer(ig_array *x1, ig_array *x2);
/* Cross-correlation of x (N, C, L) with weight (O, C/groups, ...). bias (O) may be NULL;
 * stride, padding, dilation: one number, one for each axis, or IG_NONE (1, 0, 1). */
IG_API ig_array *ig_conv1d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                           ig_ints padding, ig_ints dilation, int groups);
/* Cross-correlation of x (N, C, H, W) with weight (O, C/groups, ...). bias (O) may be NULL;
 * stride, padding, dilation: one number, one for each axis, or IG_NONE (1, 0, 1). */
IG_API ig_array *ig_conv2d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                           ig_ints padding, ig_ints dilation, int groups);
/* Cross-correlation of x (N, C, D, H, W) with weight (O, C/groups, ...). bias (O) may be NULL
 * here; stride, padding, dilation: one number, one for each axis, or IG_NONE (1, 0, 1). */
IG_API ig_array *ig_conv3d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                           ig_ints padding, ig_ints dilation, int groups);
/* The gradient of ig_conv1d with respect to its x: weight is (C, O/groups, ...). */
IG_API ig_array *ig_conv_transpose1d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                                     ig_ints padding, ig_ints output_padding, int groups,
                                     ig_ints dilation);
/* The gradient of ig_conv2d with respect to its x: weight is (C, O/groups, ...). */
IG_API ig_array *ig_conv_transpose2d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                                     ig_ints padding, ig_ints output_padding, int groups,
                                     ig_ints dilation);
/* The gradient of ig_conv3d with respect to its x: weight is (C, O/groups, ...). */
IG_API ig_array *ig_conv_transpose3d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                                     ig_ints padding, ig_ints output_padding, int groups,
                                     ig_ints dilation);
/* The largest element of each window of x (N, C, ...). stride IG_NONE is kernel_size. */
IG_API ig_array *ig_max_pool1d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               ig_ints dilation, bool ceil_mode);
/* The largest element of each window of x (N, C, ...). stride IG_NONE is kernel_size. */
IG_API ig_array *ig_max_pool2d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               ig_ints dilation, bool ceil_mode);
/* The largest element of each window of x (N, C, ...). stride IG_NONE is kernel_size. */
IG_API ig_array *ig_max_pool3d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               ig_ints dilation, bool ceil_mode);
/* The mean of each window of x (N, C, ...). */
IG_API ig_array *ig_avg_pool1d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               bool ceil_mode, bool count_include_pad);
/* The mean of each window of x (N, C, ...). */
IG_API ig_array *ig_avg_pool2d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               bool ceil_mode, bool count_include_pad);
/* The mean of each window of x (N, C, ...). */
IG_API ig_array *ig_avg_pool3d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               bool ceil_mode, bool count_include_pad);
/* The means of output_size windows that cover x (N, C, ...). */
IG_API ig_array *ig_adaptive_avg_pool1d(ig_array *x, ig_ints output_size);
/* The means of output_size windows that cover x (N, C, ...). */
IG_API ig_array *ig_adaptive_avg_pool2d(ig_array *x, ig_ints output_size);
/* The means of output_size windows that cover x (N, C, ...). */
IG_API ig_array *ig_adaptive_avg_pool3d(ig_array *x, ig_ints output_size);

/* ---- source ------------------------------------------------------------------------------------ */

/* IG_DTYPE_NONE means f32, or i64 if all numbers are integers. */

/* start, start + step, ... before stop. */
IG_API ig_array *ig_arange(double start, double stop, double step, ig_dtype dtype);
/* Zeros: no element is left undefined. */
IG_API ig_array *ig_empty(ig_ints shape, ig_dtype dtype);
/* Zeros in the shape and dtype of x. */
IG_API ig_array *ig_empty_like(ig_array *x, ig_dtype dtype);
/* Ones on the k-th diagonal; n_cols -1 is n_rows. */
IG_API ig_array *ig_eye(int64_t n_rows, int64_t n_cols, int64_t k, ig_dtype dtype);
/* Every element is the 0-d fill_value. */
IG_API ig_array *ig_full(ig_ints shape, ig_array *fill_value, ig_dtype dtype);
/* The same in the shape and dtype of x. */
IG_API ig_array *ig_full_like(ig_array *x, ig_array *fill_value, ig_dtype dtype);
/* num evenly spaced values from start to stop. */
IG_API ig_array *ig_linspace(double start, double stop, int64_t num, ig_dtype dtype, bool endpoint);
/* Ones. */
IG_API ig_array *ig_ones(ig_ints shape, ig_dtype dtype);
/* Ones in the shape and dtype of x. */
IG_API ig_array *ig_ones_like(ig_array *x, ig_dtype dtype);
/* x with zeros above the k-th diagonal of the last two axes. */
IG_API ig_array *ig_tril(ig_array *x, int64_t k);
/* x with zeros below the k-th diagonal of the last two axes. */
IG_API ig_array *ig_triu(ig_array *x, int64_t k);
/* Zeros. */
IG_API ig_array *ig_zeros(ig_ints shape, ig_dtype dtype);
/* Zeros in the shape and dtype of x. */
IG_API ig_array *ig_zeros_like(ig_array *x, ig_dtype dtype);

/* ---- random ------------------------------------------------------------------------------------ */

/* The same key gives the same bits on every device and for any number of threads. */

/* A key: u32[4] for "philox" (Philox 4x32-10; NULL is this), u32[2] for "threefry"
 * (threefry2x32, with the bits of JAX). The length of a key selects the generator of the functions
 * below. */
IG_API ig_array *ig_key(uint64_t seed, const char *generator);
/* num independent keys, as (num, 4) or (num, 2). */
IG_API ig_array *ig_split_key(ig_array *key, int64_t num);
/* An independent key from a key and a number. */
IG_API ig_array *ig_fold_in(ig_array *key, int64_t data);
/* Random bits of an unsigned dtype. */
IG_API ig_array *ig_bits(ig_array *key, ig_ints shape, ig_dtype dtype);
/* Uniform floats in [minval, maxval); the bounds may be NULL: 0 and 1. */
IG_API ig_array *ig_uniform(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *minval,
                            ig_array *maxval);
/* Normal floats, mean 0, deviation 1. */
IG_API ig_array *ig_normal(ig_array *key, ig_ints shape, ig_dtype dtype);
/* Uniform integers in [minval, maxval); the default dtype is i32. */
IG_API ig_array *ig_randint(ig_array *key, ig_ints shape, int64_t minval, int64_t maxval,
                            ig_dtype dtype);
/* bool: true with probability p; shape IG_NONE is p's. */
IG_API ig_array *ig_bernoulli(ig_array *key, ig_array *p, ig_ints shape);
/* i64 indices along axis drawn with probabilities softmax(logits); shape IG_NONE is one draw for
 * each distribution. */
IG_API ig_array *ig_categorical(ig_array *key, ig_array *logits, int axis, ig_ints shape);
/* x shuffled along axis. */
IG_API ig_array *ig_permutation(ig_array *key, ig_array *x, int axis);

/* ---- composite --------------------------------------------------------------------------------- */

/* Built from the ops above. */

/* max(x, 0). */
IG_API ig_array *ig_relu(ig_array *x);
/* x, or negative_slope * x below 0. */
IG_API ig_array *ig_leaky_relu(ig_array *x, double negative_slope);
/* x, or alpha * (exp(x) - 1) below 0. */
IG_API ig_array *ig_elu(ig_array *x, double alpha);
/* x * Phi(x): "none" (or NULL) by erf, "tanh" by tanh. */
IG_API ig_array *ig_gelu(ig_array *x, const char *approximate);
/* x * sigmoid(x). */
IG_API ig_array *ig_silu(ig_array *x);
/* log(1 + exp(x)) without overflow. */
IG_API ig_array *ig_softplus(ig_array *x);
/* exp(x) / sum(exp(x)) along axis, without overflow. */
IG_API ig_array *ig_softmax(ig_array *x, ig_ints axis);
/* log(softmax(x)) along axis. */
IG_API ig_array *ig_log_softmax(ig_array *x, ig_ints axis);
/* (x - mean) / sqrt(var + eps) along axis, then * weight + bias (each may be NULL). */
IG_API ig_array *ig_layer_norm(ig_array *x, ig_array *weight, ig_array *bias, ig_ints axis,
                               double eps);
/* x / sqrt(mean(x**2) + eps) along axis, then * weight (may be NULL). */
IG_API ig_array *ig_rms_norm(ig_array *x, ig_array *weight, ig_ints axis, double eps);
/* x (N, C, ...) normalized by channel, with the batch's own statistics where mean and var are
 * NULL. */
IG_API ig_array *ig_batch_norm(ig_array *x, ig_array *mean, ig_array *var, ig_array *weight,
                               ig_array *bias, double eps);
/* x (N, C, ...) normalized by groups of channels. */
IG_API ig_array *ig_group_norm(ig_array *x, int64_t num_groups, ig_array *weight, ig_array *bias,
                               double eps);
/* A view of x as a constant: it has no gradient. */
IG_API ig_array *ig_stop_gradient(ig_array *x);
/* x on another device: x itself if it is there already, or on none, as a number is. Lazy and
 * differentiable, like every op. */
IG_API ig_array *ig_to_device(ig_array *x, const char *device);
/* Each element is 0 with probability p, else x / (1 - p). */
IG_API ig_array *ig_dropout(ig_array *x, ig_array *key, double p);
/* softmax(query @ key.T * scale + mask) @ value over the last two axes. mask (may be NULL) is
 * bool (true: attend) or added; scale 0 is 1 / sqrt(width). */
IG_API ig_array *ig_scaled_dot_product_attention(ig_array *query, ig_array *key, ig_array *value,
                                                 ig_array *mask, bool is_causal, double scale);
/* Rows of weight (V, D): indices.shape + (D,). */
IG_API ig_array *ig_embedding(ig_array *indices, ig_array *weight);
/* -log_softmax(logits) at integer labels; reduction "mean" (or NULL), "sum" or "none", as for
 * all losses. */
IG_API ig_array *ig_cross_entropy(ig_array *logits, ig_array *labels, int axis,
                                  const char *reduction);
/* (x1 - x2)**2. */
IG_API ig_array *ig_mse(ig_array *x1, ig_array *x2, const char *reduction);
/* abs(x1 - x2). */
IG_API ig_array *ig_l1(ig_array *x1, ig_array *x2, const char *reduction);
/* Quadratic within delta, linear beyond. */
IG_API ig_array *ig_huber(ig_array *x1, ig_array *x2, double delta, const char *reduction);
/* Binary cross entropy of sigmoid(x1) with target x2. */
IG_API ig_array *ig_bce_with_logits(ig_array *x1, ig_array *x2, const char *reduction);
/* x2 * (log(x2) - x1): x1 holds log probabilities, x2 the target. */
IG_API ig_array *ig_kl_div(ig_array *x1, ig_array *x2, const char *reduction);

/* ---- indexing as NumPy writes it ---------------------------------------------------------- */

typedef enum ig_index_kind {
    IG_INDEX_INT,     /* x[3]: start; removes the axis */
    IG_INDEX_SLICE,   /* x[start:stop:step]; INT64_MIN means "not given" */
    IG_INDEX_NEWAXIS, /* x[None] */
    IG_INDEX_REST,    /* x[...] */
    IG_INDEX_ARRAY    /* x[array]: integers, or a bool mask (evaluates the mask) */
} ig_index_kind;

typedef struct ig_index {
    ig_index_kind kind;
    int64_t start, stop, step;
    ig_array *array;
} ig_index;

/* x[items...] with NumPy's rules, several index arrays included. Integers, slices and new axes give
 * a view. */
IG_API ig_array *ig_get(ig_array *x, const ig_index *items, int n);

/* ---- gradients ---------------------------------------------------------------------------- */

/* Gradients are lazy arrays, and can be differentiated again. They are derived from the recorded nodes, so
 * nothing has to be declared beforehand; see ig_keep_history for how long nodes are kept. */

/* Writes d loss / d params[i] to grads[i], in the shape of params[i]. loss is a float scalar; a
 * parameter that it does not depend on is an error. */
IG_API ig_status ig_grad(ig_array *loss, ig_array *const *params, int n, ig_array **grads);

/* The same, then evaluates loss and gradients in one run and writes the loss's value. */
IG_API ig_status ig_value_and_grad(ig_array *loss, ig_array *const *params, int n, double *value,
                                   ig_array **grads);

/* Vector-Jacobian products: grads[i] is the sum over all outputs of cotangent * d output / d inputs[i].
 * It is zeros if no output depends on inputs[i]. */
IG_API ig_status ig_vjp(ig_array *const *outputs, ig_array *const *cotangents, int n_out,
                        ig_array *const *inputs, int n_in, ig_array **grads);

/* Computes the gradients of the n inputs from g, the gradient of out, and writes them to grads; NULL means
 * zero. */
typedef ig_status (*ig_pullback)(void *context, ig_array *const *inputs, int n, ig_array *out,
                                 ig_array *g, ig_array **grads);

/* out, with the gradient that rule computes with respect to inputs instead of that of its definition.
 * release (may be NULL) is called with context when rule is no longer needed, also on failure. */
IG_API ig_array *ig_custom_grad(ig_array *out, ig_array *const *inputs, int n, ig_pullback rule,
                                void *context, void (*release)(void *context));

/* out, a function of inputs. Its gradient recomputes the intermediate results instead of keeping them,
 * which saves memory and costs time. */
IG_API ig_array *ig_checkpoint(ig_array *out, ig_array *const *inputs, int n);

/* Maps a function over an axis. The function is given by one example: outputs, computed from inputs.
 * results are its outputs for all slices of batched[i] along axes[i], stacked along a new first axis. If
 * axes[i] is negative, batched[i] has the shape of inputs[i] and is the same for all slices. */
IG_API ig_status ig_vmap(ig_array *const *outputs, int n_out, ig_array *const *inputs,
                         ig_array *const *batched, const int *axes, int n_in, ig_array **results);

/* ---- networks ----------------------------------------------------------------------------- */

/* A model holds the named parameters of a network and the state of training. Layers are functions: the
 * first call with a name creates the parameters of the layer ("fc.weight", "fc.bias") from the key of the
 * model; later calls use them. So the forward function is the whole description:
 *
 *     ig_array *net(ig_model *m, ig_array *x)
 *     {
 *         x = ig_relu(ig_nn_linear(m, "hidden", x, 128, true));
 *         return ig_nn_linear(m, "out", x, 10, true);
 *     }
 *
 * A new parameter has the dtype of x, or f32 if x is not a float. A call whose shapes do not match the
 * existing parameters fails. A model must be used by one thread at a time. */
typedef struct ig_model ig_model;

IG_API ig_model *ig_model_new(uint64_t seed);
IG_API void ig_model_free(ig_model *m);

/* Selects training (the default) or inference: dropout and batch_norm differ. Also discards what layers
 * have recorded for the next step: new statistics of batch_norm, and the count of dropout's calls. */
IG_API void ig_model_train(ig_model *m, bool training);

/* How the elements of a new parameter are drawn. */
typedef enum ig_init {
    IG_INIT_ZEROS,
    IG_INIT_ONES,
    IG_INIT_UNIFORM, /* in [-scale, scale) */
    IG_INIT_NORMAL   /* mean 0, deviation scale */
} ig_init;

/* The parameter of that name, created by the first call from a key of its own. For layers that are not in
 * this header. The array belongs to the model and is valid until the next step or load. */
IG_API ig_array *ig_model_param(ig_model *m, const char *name, ig_ints shape, ig_dtype dtype,
                                ig_init init, double scale);

/* The parameters in the order of their creation, then the state that is not trained (running statistics of
 * batch_norm). ig_model_get returns NULL without an error if there is no such name. */
IG_API int ig_model_count(const ig_model *m);
IG_API const char *ig_model_name(const ig_model *m, int i);
IG_API ig_array *ig_model_get(const ig_model *m, const char *name);
/* Copies value, which has the same shape and dtype, into the model. */
IG_API ig_status ig_model_set(ig_model *m, const char *name, ig_array *value);
IG_API bool ig_model_is_trained(const ig_model *m, int i);

/* x (..., in) @ weight.T + bias; weight is (out, in). Drawn as PyTorch does: uniform in
 * +-1 / sqrt(in). */
IG_API ig_array *ig_nn_linear(ig_model *m, const char *name, ig_array *x, int64_t out, bool bias);
/* Convolution of x (N, C, L), (N, C, H, W) or (N, C, D, H, W); kernel, stride, padding: one number or
 * one for each axis. */
IG_API ig_array *ig_nn_conv(ig_model *m, const char *name, ig_array *x, int64_t out, ig_ints kernel,
                            ig_ints stride, ig_ints padding, bool bias);
/* Rows of a (count, width) table; drawn from the normal distribution. */
IG_API ig_array *ig_nn_embedding(ig_model *m, const char *name, ig_array *indices, int64_t count,
                                 int64_t width);
/* Norms over the last axis, with weight (and bias). */
IG_API ig_array *ig_nn_layer_norm(ig_model *m, const char *name, ig_array *x, double eps);
IG_API ig_array *ig_nn_rms_norm(ig_model *m, const char *name, ig_array *x, double eps);
/* Normalizes by channel (axis 1): with the statistics of the batch in training, with running statistics in
 * inference. Each step moves these ("running_mean", "running_var") by a share of momentum, say 0.1, towards
 * those of the batch. group_norm normalizes groups of channels and has no running statistics. */
IG_API ig_array *ig_nn_batch_norm(ig_model *m, const char *name, ig_array *x, double momentum,
                                  double eps);
IG_API ig_array *ig_nn_group_norm(ig_model *m, const char *name, ig_array *x, int64_t groups,
                                  double eps);
/* ig_dropout in training, with another key for each call and step; x itself in inference. */
IG_API ig_array *ig_nn_dropout(ig_model *m, ig_array *x, double p);
/* Multi-head attention of x (N, T, width) to context (N, S, width; NULL: x itself). mask as for
 * ig_scaled_dot_product_attention, broadcast to (N, heads, T, S); may be NULL. Its parts are the linear
 * layers "query", "key", "value" and "out". */
IG_API ig_array *ig_nn_attention(ig_model *m, const char *name, ig_array *x, ig_array *context,
                                 int64_t heads, ig_array *mask, bool is_causal);

/* Optimizers. An optimizer keeps its state for each parameter, in f32 (f64 for f64 parameters), and serves
 * one model. The formulas are those of PyTorch: sgd adds weight_decay to the gradients, adamw and lion
 * subtract it from the parameters. NULL on failure. */
typedef struct ig_optimizer ig_optimizer;

IG_API ig_optimizer *ig_sgd(double lr, double momentum, bool nesterov, double weight_decay);
IG_API ig_optimizer *ig_adam(double lr, double beta1, double beta2, double eps);
IG_API ig_optimizer *ig_adamw(double lr, double beta1, double beta2, double eps,
                              double weight_decay);
IG_API ig_optimizer *ig_rmsprop(double lr, double alpha, double eps, double momentum);
IG_API ig_optimizer *ig_lion(double lr, double beta1, double beta2, double weight_decay);
IG_API void ig_optimizer_free(ig_optimizer *o);

/* Learning rate schedules. The rate grows linearly over the first `warmup` steps. After that it is
 * constant, or falls to the share `last` of its value along a cosine or a line until step `total`, or is
 * multiplied by `factor` every `every` steps. Warmup can be combined with one of the others; the last of
 * these that was set counts. */
IG_API ig_status ig_schedule_warmup(ig_optimizer *o, int64_t warmup);
IG_API ig_status ig_schedule_cosine(ig_optimizer *o, int64_t total, double last);
IG_API ig_status ig_schedule_linear(ig_optimizer *o, int64_t total, double last);
IG_API ig_status ig_schedule_step(ig_optimizer *o, int64_t every, double factor);
/* Scales gradients down to max_norm if their norm over all parameters is larger; 0: never. */
IG_API ig_status ig_optimizer_clip(ig_optimizer *o, double max_norm);
/* Weight decay changes only parameters with at least ndim axes: 0, the default, all of them; 2, not biases and norms. */
IG_API ig_status ig_optimizer_decay_ndim(ig_optimizer *o, int ndim);
/* The learning rate of the next step, and the number of steps made so far. */
IG_API double ig_optimizer_rate(const ig_optimizer *o);
IG_API int64_t ig_optimizer_steps(const ig_optimizer *o);

/* One training step: computes the gradients of loss with respect to all parameters of the model, each of
 * which must influence the loss, and updates the parameters, in one evaluation. Writes the loss to value
 * (may be NULL). The n arrays of also (the accuracy, say) are evaluated in the same run. The old arrays of
 * the parameters may be overwritten, so what is built on them must be evaluated in this call, not later.
 * On failure model and optimizer do not change. */
IG_API ig_status ig_step(ig_optimizer *o, ig_model *m, ig_array *loss, double *value,
                         ig_array *const *also, int n);

/* Saves the model, the optimizer (may be NULL) and a text (may be NULL) to a safetensors file, and loads
 * them. Loading checks every name, shape and dtype first and changes nothing if one is wrong. A model
 * without parameters takes all that are in the file. */
IG_API ig_status ig_model_save(const ig_model *m, const ig_optimizer *o, const char *text,
                               const char *path);
IG_API ig_status ig_model_load(ig_model *m, ig_optimizer *o, const char *path);
/* The text in the file that the model was loaded from, valid until the next load; NULL if there is none. */
IG_API const char *ig_model_text(const ig_model *m);

/* ---- files -------------------------------------------------------------------------------- */

/* Read and write .npy files. Fortran order and big-endian files can be read; bf16 is stored as "V2". A file
 * is written under a temporary name in the same folder and then renamed, so a failure leaves the old file
 * unchanged. */
IG_API ig_array *ig_load(const char *path);
IG_API ig_status ig_save(const char *path, ig_array *x);

/* Reads an idx file, the format of MNIST's images and labels; it must not be compressed. The second
 * function reads the same from memory, and copies it. */
IG_API ig_array *ig_load_idx(const char *path);
IG_API ig_array *ig_idx_from_memory(const void *bytes, size_t n);

/* A set of named arrays, in order, and of texts by key: parameters and checkpoints, as .safetensors or .npz
 * files. Names and texts are UTF-8. A set must be used by one thread at a time. */
typedef struct ig_tensors ig_tensors;

/* An empty set; NULL on failure. Freeing NULL is allowed. */
IG_API ig_tensors *ig_tensors_new(void);
IG_API void ig_tensors_free(ig_tensors *t);

/* Adds x, or replaces the array of that name. The set keeps a reference to x. */
IG_API ig_status ig_tensors_put(ig_tensors *t, const char *name, ig_array *x);
IG_API int ig_tensors_count(const ig_tensors *t); /* The number of arrays. */
/* The name of the i-th array, valid as long as the set; NULL if there is none. */
IG_API const char *ig_tensors_name(const ig_tensors *t, int i);
/* The array of that name, borrowed from the set; NULL, without an error, if there is none. */
IG_API ig_array *ig_tensors_get(const ig_tensors *t, const char *name);

/* Sets and gets a text (the __metadata__ of safetensors). The text is copied. The result is valid until the
 * text is replaced or the set is freed; NULL if there is none. */
IG_API ig_status ig_tensors_put_text(ig_tensors *t, const char *key, const char *value);
IG_API const char *ig_tensors_text(const ig_tensors *t, const char *key);

/* Reads a .safetensors file or an .npz archive (stored or deflated); its first bytes tell which. The
 * arrays belong to the set and to no scope. A file that breaks any rule of its format is refused, and so
 * is an archive with a member that is not an array. NULL on failure. */
IG_API ig_tensors *ig_tensors_load(const char *path);
/* The same for a .safetensors file, without a copy: the arrays use the mapped file, which must not change as long as
 * they live. An array that is not aligned, or that ends with the last page, is copied. */
IG_API ig_tensors *ig_tensors_map(const char *path);
/* Evaluates the arrays in one run and writes a .safetensors file, as ig_save does. The file at path is
 * complete at every moment, even if the process is killed or the power fails. */
IG_API ig_status ig_tensors_save(const ig_tensors *t, const char *path);
/* The same as an .npz archive, which numpy.load reads. Its members are not compressed. A set with texts
 * is refused, because the format has no place for them. */
IG_API ig_status ig_tensors_save_npz(const ig_tensors *t, const char *path);

/* ---- text ---------------------------------------------------------------------------------- */

/* A borrowed text: bytes of UTF-8 without a terminator. Bytes that are not UTF-8 count as U+FFFD. */
typedef struct ig_text {
    const char *at;
    size_t bytes;
} ig_text;

/* A tokenizer turns texts into the token ids of a model: WordPiece, BPE, Unigram or WordLevel. Any number of threads
 * may use one at a time. */
typedef struct ig_tokenizer ig_tokenizer;

/* Reads a tokenizer.json, a vocab.txt, or the tokenizer of a model folder: tokenizer.json, vocab.txt, or vocab.json and
 * merges.txt, with tokenizer_config.json and special_tokens_map.json. Needs the library utf8proc at run time. NULL on
 * failure: the message names the file and what is not known in it. */
IG_API ig_tokenizer *ig_tokenizer_load(const char *path);
IG_API void ig_tokenizer_free(ig_tokenizer *t);

/* The number of token ids: the largest and 1 more. The text of an id, and the id of a text; NULL and -1, without an
 * error, if there is none. */
IG_API int ig_tokenizer_count(const ig_tokenizer *t);
IG_API const char *ig_tokenizer_token(const ig_tokenizer *t, int id);
IG_API int ig_tokenizer_id(const ig_tokenizer *t, const char *token);
/* The id of the special token "mask" or "pad"; -1, without an error, if there is none. */
IG_API int ig_tokenizer_special(const ig_tokenizer *t, const char *name);

/* The tokens of a text or of a pair of texts. All lists have n elements. */
typedef struct ig_encoding {
    int n;
    const int32_t *ids;
    const int32_t *types;    /* 0, or 1 for the second text of a pair, as the tokenizer says */
    const int32_t *starts;   /* the bytes of the text that a token stands for: from here ... */
    const int32_t *ends;     /* ... up to here; both 0 for tokens that are not in the text */
    const int32_t *words;    /* the number of the word; -1: none */
    const int8_t *sequences; /* 0 or 1: in the first or second text; -1: in neither */
    const uint8_t *mask;     /* 1; 0: padding */
    const uint8_t *special;  /* 1: a special token that was added, or padding */
} ig_encoding;

typedef struct ig_encode_options {
    bool plain;     /* adds no special tokens */
    int max_length; /* the most tokens; 0: as the tokenizer says; -1: no limit */
    int pad;        /* pads to at least so many; 0: as the tokenizer says; -1: does not pad */
} ig_encode_options;

/* Encodes n texts, or n pairs if pairs is not NULL, on all threads. options may be NULL. Returns n encodings in one
 * block: release it with ig_free. NULL on failure. */
IG_API ig_encoding *ig_tokenizer_encode(const ig_tokenizer *t, const ig_text *texts,
                                        const ig_text *pairs, int n,
                                        const ig_encode_options *options);

/* ---- text models ---------------------------------------------------------------------------- */

/* An encoder from a model folder as hubs publish it: config.json, model.safetensors (or shards with an index), the
 * tokenizer, and modules.json of sentence-transformers. Architectures: BERT, DistilBERT, RoBERTa, MPNet, ELECTRA. Nothing
 * in the folder is executed. A model must be used by one thread at a time. */
typedef struct ig_text_model ig_text_model;

typedef struct ig_text_info {
    const char *architecture; /* "distilbert", "bert", "roberta", "mpnet", "electra" */
    const char
        *head; /* what the folder is trained for: "embed", "classify", "tag", "fill", "answer" */
    int layers, heads;
    int width;      /* of hidden states */
    int dimensions; /* of vectors */
    int max_length; /* tokens of a text, special ones included */
    int n_labels;
    const char *const *labels;
    bool
        many_labels; /* labels are independent: probabilities by sigmoid, not softmax; also if there is one label */
    bool regression; /* logits are numbers to use as they are, not probabilities */
    uint64_t parameters;
    int mask_id; /* the token [MASK]; -1: none */
} ig_text_info;

/* Loads a folder onto the device of the calling thread. dtype is that of the computation: IG_F32 (or IG_DTYPE_NONE),
 * IG_F16, IG_BF16 or IG_F64. Weights of that dtype are mapped, others are converted once. NULL on failure: the message
 * names the file, the tensor, and what was expected. */
IG_API ig_text_model *ig_text_model_load(const char *folder, ig_dtype dtype);
IG_API void ig_text_model_free(ig_text_model *m);
/* The texts belong to the model. */
IG_API ig_status ig_text_model_info(const ig_text_model *m, ig_text_info *info);
IG_API const ig_tokenizer *ig_text_model_tokenizer(const ig_text_model *m);

/* Hidden states of n encodings: (N, T, width). N and T are rounded up to few sizes, so that many batches share a
 * schedule; what is behind the encodings has no meaning. */
IG_API ig_array *ig_text_model_hidden(ig_text_model *m, const ig_encoding *encodings, int n);
/* The hidden states behind the embeddings and behind each layer, to out, which has room for max_out. Returns how many:
 * layers + 1; 0 on failure. */
IG_API int ig_text_model_states(ig_text_model *m, const ig_encoding *encodings, int n,
                                ig_array **out, int max_out);
/* A head on hidden states of the same encodings: "embed" (N, dimensions), "classify" (N, labels), "tag" (N, T, labels),
 * "answer" (N, T, 2: start and end), "fill" (N, T, vocabulary). Only "embed" needs the encodings, which tell what is padding;
 * else they may be NULL, with n 0. "tag", "answer" and "fill" also take other hidden states (..., width). */
IG_API ig_array *ig_text_model_head(ig_text_model *m, const char *head, ig_array *hidden,
                                    const ig_encoding *encodings, int n);
/* Vectors ("embed"; a default prompt is put before texts) or logits ("classify") of n texts, or pairs unless pairs is NULL,
 * cut to max_length tokens: (n, dimensions) or (n, labels), in f32, in batches of similar length. ig_cancel stops it. */
IG_API ig_array *ig_text_model_run(ig_text_model *m, const char *head, const ig_text *texts,
                                   const ig_text *pairs, int n);

/* Trainable weights: parameters of trained replace the weights of the same names; NULL: none. The model keeps a
 * reference to trained only until the next call. */
IG_API ig_status ig_text_model_override(ig_text_model *m, const ig_model *trained);
/* Adds the weights of the encoder (all) and of the head to trained as parameters: for "classify" with n labels, a head
 * that the folder does not have is drawn from the key of trained. */
IG_API ig_status ig_text_model_train(ig_text_model *m, ig_model *trained, const char *head,
                                     int labels, bool all);
/* Dropout as in training, with keys of trained (see ig_nn_dropout). All probabilities are p, or those of config.json if p is
 * negative. trained NULL: no dropout, which is the default. The model keeps a reference to trained only until the next
 * call. */
IG_API ig_status ig_text_model_dropout(ig_text_model *m, ig_model *trained, double p);
/* Writes a model folder with the replaced weights and these labels (n may be 0: as they are), which ig_text_model_load
 * and the Python package transformers can load. The folder is created. */
IG_API ig_status ig_text_model_save(ig_text_model *m, const char *head, const char *const *labels,
                                    int n, const char *folder);

/* ---- short forms --------------------------------------------------------------------------- */

/* Reductions over all axes, to a 0-d array. */
static inline ig_array *ig_sum_all(ig_array *x) { return ig_sum(x, IG_NONE, IG_DTYPE_NONE, false); }
static inline ig_array *ig_mean_all(ig_array *x) { return ig_mean(x, IG_NONE, false); }
static inline ig_array *ig_max_all(ig_array *x) { return ig_max(x, IG_NONE, false); }
static inline ig_array *ig_min_all(ig_array *x) { return ig_min(x, IG_NONE, false); }

/* x + number and x * number, in the dtype of x. */
static inline ig_array *ig_plus(ig_array *x, double number) { return ig_add(x, ig_float(number)); }
static inline ig_array *ig_times(ig_array *x, double number)
{
    return ig_multiply(x, ig_float(number));
}

/* Evaluates x and returns it; NULL on failure. */
static inline ig_array *ig_eval_one(ig_array *x) { return ig_eval(&x, 1) == IG_OK ? x : NULL; }

#ifdef __cplusplus
}
#endif

#endif
