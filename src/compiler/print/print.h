/* Kernels as text: from the checked tree to OpenCL C, to the Metal Shading Language (version 2.4) and back to
 * CUDA C. Names are kept, and the text is formatted for readers.
 *
 * The text has the semantics of the CUDA source. A kernel that the target cannot run with these semantics is
 * refused, with a code, the place, the reason and a remedy. Deviations are reported as warnings. */
#ifndef KERNEL_PRINT_H
#define KERNEL_PRINT_H

#include "compiler/tree.h"

typedef enum kernel_language {
    LANGUAGE_OPENCL,
    LANGUAGE_METAL,
    LANGUAGE_CUDA,
    LANGUAGES
} kernel_language;

/* The target of a text. A limit that is 0 is unknown and not checked. */
typedef struct kernel_target {
    kernel_language language;
    const char *device;    /* for messages: "Apple M2" */
    int version;           /* of the language: OpenCL C 1.2 is 102, MSL 2.4 is 204 */
    int subgroup;          /* threads that run in lock step; warps need 32 */
    uint64_t threads;      /* of a block */
    uint64_t shared_bytes; /* of a block */
    int buffers;           /* the maximum number of kernel parameters */
    bool f16, f64;         /* the device supports the type */
    bool atomics_i64;
    bool shuffles; /* it has subgroup functions */
    /* OpenCL C: warp functions are the instructions of NVIDIA's GPUs (kernels/opencl.cl) and take CUDA's masks */
    bool masked;
    bool whole_warps; /* all blocks will have one axis and whole warps */
    /* OpenCL C: functions with pointers to shared memory are inlined by the compiler's front end. PoCL 3 needs it. */
    bool inlines;
    /* OpenCL C: negation sets the sign bit. LLVM 15 for aarch64 makes -fma(a, b, c) one instruction, whose zeros have the other
     * sign. */
    bool negates_bits;
    /* CUDA C: a hidden parameter points to the memory of globals, which all kernels of a module share.
     * Otherwise the text declares the globals, which is easier to read. The other languages have no such
     * variables. With it, asserts write records as in the other languages. */
    bool hides_globals;
    bool texels; /* the memory of globals continues with that of textures: see module_texel_room */
    bool casts_fit; /* all floats that are cast to integers are in range */
    /* The shape of all blocks that the text will be launched with, or zeros. OpenCL C declares it, which lets
     * some drivers allow larger blocks. */
    uint32_t block[3];
} kernel_target;

/* A target with the features that every device of the language has ("opencl", "metal", "cuda"); NULL if the
 * language is unknown. */
const kernel_target *kernel_target_find(const char *name);

typedef enum kernel_printed_kind {
    PRINTED_BUFFER,  /* a pointer of the kernel */
    PRINTED_BYTES,   /* a value */
    PRINTED_GLOBALS, /* hidden: the memory of all globals, laid out by kernel_global_at */
    PRINTED_LOG      /* hidden: the records of printf and assert */
} kernel_printed_kind;

/* A parameter of the text. In OpenCL C a buffer is followed by its offset, a ulong. */
typedef struct kernel_printed_param {
    uint8_t kind;
    uint64_t offset, bytes; /* in the arguments as CUDA packs them; 0, 0 if hidden */
} kernel_printed_param;

/* A part of a text that several kernels may share: a struct, a function, a pragma. It ends where the next
 * part begins. */
typedef struct kernel_printed_part {
    size_t begin;
    const char *name; /* of a struct or function, else NULL */
} kernel_printed_part;

typedef struct kernel_printed {
    char *text;
    kernel_printed_part *parts;
    uint32_t n_parts;
    const char *entry; /* the kernel's name in the text */
    kernel_printed_param *params;
    int n_params;
    bool dynamic_shared;  /* one more parameter at the end: the block's dynamic shared memory */
    bool avoid_optimizer; /* threads return between barriers: see kernel_image */
    char *warnings;       /* rendered, or NULL */
    /* For printf and assert: */
    struct kernel_log_format *formats;
    uint32_t n_formats;
    kernel_arena arena;
} kernel_printed;

/* The text of one kernel. IG_ERR_UNSUPPORTED if the target lacks a feature, IG_ERR_FORMAT if the kernel has
 * an error; the thread's error is then the rendered diagnostics. The tree is not needed afterwards. */
ig_status kernel_print(const kernel_tree *tree, const kernel_entry *entry,
                       const kernel_target *target, kernel_printed **out);
void kernel_printed_free(kernel_printed *printed);

/* A log is a buffer of n words. Before a launch, LOG_USED and LOG_LOST are 0 and LOG_ROOM is n - LOG_HEAD.
 * kernel_print_drain formats its records in the order in which they were written. *out is the text, released by
 * memory_free, or NULL without records. A failed assert is IG_ERR_DEVICE with its place; *out is set in that case, too. */
enum { LOG_USED, LOG_ROOM, LOG_LOST, LOG_HEAD = 4 };
ig_status kernel_print_drain(const kernel_printed *printed, const uint32_t *words, size_t n,
                             char **out);

#endif
