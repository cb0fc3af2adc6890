/* Kernels in CUDA C: modules, launches, kernels as ops, translation. */
#ifndef INGOT_KERNEL_H
#define INGOT_KERNEL_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Source in CUDA C, read and checked: kernels that can be launched on any device that runs kernels.
 *
 * Any thread may use any module. Launches of one module run one after another, in no fixed order between
 * threads; launches of different modules may overlap. Free a module when no thread uses it any more. The
 * print function of a launch must not use the launched module. */
typedef struct ig_module ig_module;

typedef struct ig_module_options {
    size_t size;                /* sizeof(ig_module_options); 0: the fields of version 0.1 */
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    int n_defines;
    const char *const *folders; /* where includes are looked for */
    int n_folders;
    const char *const *instances; /* of kernel templates: "tile<float, 16>" */
    int n_instances;
    bool is_program; /* the source is a whole program: host code in it is skipped */
} ig_module_options;

/* name is the file name of the source: messages show it, and its folder is searched for includes. options may be NULL.
 * NULL on failure; the error then contains all messages of the compiler. A kernel with a mistake fails only when
 * it is launched; the other kernels still run. */
IG_API ig_module *ig_module_new(const char *name, const char *source,
                                const ig_module_options *options);
IG_API void ig_module_free(ig_module *m);

/* The value that a parameter holds or points to, with its fields. */
typedef struct ig_kernel_field {
    const char *name; /* empty: its own fields are seen through it */
    const char *type; /* as C writes it: "float [4]" */
    ig_dtype dtype;   /* IG_DTYPE_NONE: a struct, a vector or a pointer */
    size_t offset;    /* in the enclosing struct or vector */
    size_t bytes;
    int64_t count; /* elements of an array, over all its dimensions; 0: not an array */
    bool is_union; /* its fields share their memory */
    const struct ig_kernel_field *fields; /* of a struct or a vector, in order; of each element */
    int n_fields;
} ig_kernel_field;

/* A parameter of a kernel. */
typedef struct ig_kernel_param {
    const char *name;
    const char *type; /* as C writes it: "const float *" */
    ig_dtype dtype;   /* of the value, or of the elements it points to; IG_DTYPE_NONE: a struct */
    bool is_pointer;
    bool is_written;              /* a pointer to memory that is not const */
    size_t bytes;                 /* of the value */
    const ig_kernel_field *holds; /* the value, or what it points to */
} ig_kernel_param;

typedef struct ig_kernel_info {
    const char *name;
    const ig_kernel_param *params;
    int n_params;
    int n_written; /* parameters that are written */
} ig_kernel_info;

/* The kernels of a module, in the order of the source. ig_module_find returns NULL if there is none of that name. */
IG_API int ig_module_count(const ig_module *m);
IG_API const ig_kernel_info *ig_module_at(const ig_module *m, int i);
IG_API const ig_kernel_info *ig_module_find(const ig_module *m, const char *kernel);

/* A mistake that a checked launch found: the first of its kind at its place in the source. */
typedef struct ig_kernel_finding {
    const char *kind;    /* "out of bounds", "misaligned", "null pointer", "uninitialised", "race",
                            "divergent barrier", "endless loop", "inactive lane", "returned lane" */
    const char *message; /* one line: what happened to what */
    const char *text;    /* the same with place, source line and caret: several lines */
    const char *file;
    int64_t line;
    uint32_t column;
    uint32_t block[3], thread[3]; /* the block and thread that did it */
    uint64_t count;               /* how often it happened */
    bool is_note;                 /* correct on hardware with warps in lock step, but fragile */
} ig_kernel_finding;

typedef struct ig_kernel_findings {
    const ig_kernel_finding *findings; /* in the order in which they happened */
    int n_findings;                    /* at most 20 */
    int n_more;                        /* findings that are not listed */
} ig_kernel_findings;

/* The activity of warps at a line of the source. A request is a load, store or atomic by one warp. */
typedef struct ig_profile_line {
    const char *file;
    int64_t line;
    const char *text;             /* the line itself, without the blanks before it */
    uint64_t runs;                /* times that a warp reached it */
    uint64_t instructions;        /* of lane code that warps ran for it */
    uint64_t lanes;               /* active lanes, over all instructions: at best 32 each */
    uint64_t branches, divergent; /* ifs and loop tests; those at which a warp diverged */
    uint64_t barriers;            /* times that a warp reached a barrier */
    uint64_t atomics;             /* requests */
    uint64_t shared_requests;     /* to shared memory */
    uint64_t shared_cycles;       /* that its 32 banks need; shared_ideal without bank conflicts */
    uint64_t shared_ideal;
    uint64_t global_requests; /* to global memory */
    uint64_t global_sectors;  /* of 32 bytes that are moved; global_ideal if coalesced */
    uint64_t global_ideal;
    uint64_t global_bytes; /* that lanes requested */
} ig_profile_line;

typedef struct ig_profile {
    const char *kernel;
    const ig_profile_line *lines; /* lines that ran, in the order of the source */
    int n_lines;
    ig_profile_line total; /* file and text are NULL */
    uint64_t launches;     /* launches that the numbers sum up */
} ig_profile;

/* A table for people, with the source next to the numbers. Release the text with ig_free. */
IG_API char *ig_profile_text(const ig_profile *p);
/* The same as a JSON object. */
IG_API char *ig_profile_json(const ig_profile *p);

typedef struct ig_launch {
    size_t size;                /* sizeof(ig_launch); 0: the fields of version 0.1 */
    const char *device;         /* "cpu" if NULL */
    uint32_t grid[3], block[3]; /* blocks, and threads per block; 0 counts as 1 */
    size_t shared_bytes;        /* dynamic shared memory */
    /* By name or in order. A pointer takes an array; a pointer to structs takes an array of any dtype, as
     * bytes. Structs and vectors take IG_ARG_BYTES, other parameters a number. */
    const ig_arg *args;
    int n_args;
    double *seconds; /* receives the time on the device; may be NULL */
    /* Looks for mistakes while the kernel runs: accesses out of bounds, races, and so on. A wrong access is
     * not made, and the launch fails with IG_ERR_DEVICE and a report. On "cpu" only, and slow. */
    bool check;
    uint64_t check_loops; /* iterations of a warp after which a loop counts as endless; 0: 2^24 */
    ig_kernel_findings *
        *findings; /* receives the findings, also if there are none; release with ig_free.
                             * May be NULL */
    /* Receives the profile by source line; release it with ig_free. NULL: not profiled. On "cpu"
     * only. */
    ig_profile **profile;
    /* Receives the output of printf, from one thread at a time; NULL: standard output. */
    void (*print)(void *context, const char *text, size_t bytes);
    void *context;
} ig_launch;

/* Runs a kernel. Its argument arrays do not change: results receives a new array for each parameter that
 * is written, in order, with the content after the launch. */
IG_API ig_status ig_module_launch(ig_module *m, const char *kernel, const ig_launch *l,
                                  ig_array **results);

/* Warnings about results that may differ from the source's semantics on this device, as text. NULL if there are none,
 * or if the kernel was not launched on the device. Valid as long as the module. */
IG_API const char *ig_module_warnings(const ig_module *m, const char *kernel, const char *device);

/* A kernel as an operation of graphs. */
typedef struct ig_kernel_call {
    size_t size;                      /* sizeof(ig_kernel_call); 0: the fields of version 0.1 */
    const char *name;                 /* of the source, in messages; NULL: "kernel.cu" */
    const char *source;               /* in CUDA C */
    const ig_module_options *options; /* may be NULL */
    const char *kernel;               /* "saxpy", "tile<float, 16>" */
    /* By name or in order. A pointer to const takes an array. A pointer that is written takes the shape of
     * the result (IG_ARG_INTS, or IG_ARG_INT for one axis), which begins as zeros, or an array: the result
     * then begins as a copy of it. A value takes a number, or an array of one element. */
    const ig_arg *args;
    int n_args;
    /* Blocks, and threads per block. A grid of zeros launches one thread for each element of the first
     * result: along x its last axis, along y the one before. The last dimension of the block that is not 1
     * takes all remaining axes. A block of zeros has 256 threads. */
    uint32_t grid[3], block[3];
    size_t shared_bytes; /* dynamic shared memory */
    /* The kernel for gradients; NULL: it has none. See ig_kernel. */
    const struct ig_kernel_call *gradient;
} ig_kernel_call;

/* Writes an array for each parameter that is written, in order, to out, which has room for max_out, and
 * returns how many there are; 0 on failure. The arrays are lazy, and are scheduled, compiled, explained and
 * verified like the results of any op. Mistakes in the source are reported here, mistakes of a run when it is evaluated.
 * A call is identified by its content: equal sources, kernels, launches and inputs are computed once.
 * So a kernel must be a function of its arguments. At each launch, __device__ variables begin with the
 * values that the source gives them.
 *
 * The parameters of a gradient kernel are bound by name. `x` is a parameter of this kernel, with its value
 * after the launch if it is written. `grad_y`, a pointer to const, is the gradient of the result y. `grad_x` is
 * the gradient of the float argument x; the kernel writes it, and it begins as zeros. If y began as an array,
 * `grad_y` is written instead: it begins as the gradient of the result and ends as the gradient of the array.
 * args of the gradient call may contain only numbers. Without its own source, the kernel is in this source. It may
 * have a gradient kernel itself. Every float array needs a gradient, except those passed through
 * ig_stop_gradient. */
IG_API int ig_kernel(const ig_kernel_call *call, ig_array **out, int max_out);

typedef struct ig_translate_options {
    size_t size;        /* sizeof(ig_translate_options); 0: the fields of version 0.1 */
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
    char *entry;  /* its name in the text; NULL if it was refused */
    char *text;   /* NULL if the language, or its least capable device, lacks a needed feature */
    char *said;   /* warnings, or why it was refused: place, reason, remedy; or NULL */
} ig_translation;

typedef struct ig_translations {
    ig_translation *at;
    int n;
    char *text; /* all kernels as one file, which has shared definitions only once; or NULL */
    char *said; /* about the source as a whole, or NULL */
} ig_translations;

/* Translates the kernels of a source. name is its file name, for messages and for the folder of its includes.
 * Host code is skipped. A template is translated for the instance that options name, or for all instances that the
 * source names by launches, specializations and default arguments. The translation computes what the source
 * says, except where a warning says that it does not. Release it with ig_translations_free. NULL if the
 * source has errors; the error contains them. */
IG_API ig_translations *ig_translate(const char *name, const char *source,
                                     const ig_translate_options *options);
IG_API void ig_translations_free(ig_translations *t);

#ifdef __cplusplus
}
#endif

#endif
