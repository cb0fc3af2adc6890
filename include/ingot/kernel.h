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
    size_t size;                /* sizeof(ig_launch); 0: the fields of version 0.1 */
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
    size_t size;                      /* sizeof(ig_kernel_call); 0: the fields of version 0.1 */
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

#ifdef __cplusplus
}
#endif

#endif
