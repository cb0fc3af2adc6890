/* From programs to CUDA C: the kernels that run a program, or a chain of programs, on a device that
 * compiles kernels from source.
 *
 * The text of a kernel depends only on the structure of its program: which instructions, which dtypes, which strides
 * are 0 or 1. Sizes, other strides and one-element inputs are arguments. So a kernel is compiled once for all shapes of
 * one structure, and equal texts are equal kernels.
 *
 * A program may need several launches (a long reduction folds ranges first), which share scratch memory.
 * Reductions, scans and sorts follow the order that docs/ARCHITECTURE.md defines, so their results have the same bits
 * as on the CPU. */
#ifndef KERNEL_EMIT_H
#define KERNEL_EMIT_H

#include "engine/program/program.h"

/* Where the bytes of a slot are: slots of one space may share bytes. */
typedef struct emit_memory {
    int space;
    int64_t begin, end;
} emit_memory;

/* The device that kernels are emitted for. */
typedef struct emit_target {
    int subgroup;          /* threads in lock step that can shuffle; 0: no shuffles */
    uint64_t threads;      /* the most threads of a block */
    uint64_t shared_bytes; /* of a block */
    int processors;        /* that run blocks; 0: unknown */
    uint64_t block_limit;  /* blocks that keep the device busy: the size of a persistent grid */
    bool f64;
    bool cpu;      /* one core runs the threads of a block one after another */
    bool same;     /* contractions add in the CPU's order */
    bool extremes; /* it has instructions for the minimum and maximum of two floats: see math.cuh */
    bool matrices; /* a subgroup multiplies f32 matrices: used for contractions unless same */
    bool halves;   /* the tape's result is rounded to a half, so functions may be less accurate */
    const bool *by_value; /* of each slot: a one-element input that the launch passes as a value */
    const emit_memory *memory; /* of each slot */
    /* If reach_bytes is not 0, a slot may be larger than a buffer (buffer_bytes). Then a kernel reaches only
     * reach_bytes of it from where its argument points. */
    uint64_t buffer_bytes, reach_bytes;
} emit_target;

static inline int64_t emit_slot_bytes(const emit_target *t, int of)
{
    return t->memory[of].end - t->memory[of].begin;
}

typedef enum emit_param_kind {
    EMIT_SLOT,    /* the buffer of a slot, at an offset */
    EMIT_SCRATCH, /* the launch's scratch memory, at an offset */
    EMIT_FAULT    /* where a kernel reports an index out of bounds: see FAULT_RECORDS */
} emit_param_kind;

typedef struct emit_param {
    emit_param_kind kind;
    int slot;
    uint64_t offset; /* bytes */
    bool written;
    bool alone; /* marked __restrict__: the launch writes nothing into the slot's memory */
} emit_param;

/* A one-element input: bytes of slot's buffer at `offset` go to `at` of the sizes. */
typedef struct emit_value {
    int slot;
    uint32_t at, bytes;
    uint64_t offset;
} emit_value;

/* The number of the record in which a program of the chain reports faults: `bytes` bytes at `at` of the sizes, which the
 * launch sets. */
typedef struct emit_record {
    int program;
    uint32_t at, bytes;
} emit_record;

/* One launch. The kernel's parameters are the params, each a pointer, then the sizes, a struct. */
typedef struct emit_step {
    char *source;
    const char *entry;
    emit_param *param;
    int n_param;
    unsigned char *sizes;
    size_t sizes_bytes;
    emit_value *value;
    int n_value;
    emit_record *record;
    int n_record;
    uint32_t grid[3], block[3];
    size_t shared_bytes; /* dynamic shared memory */
} emit_step;

typedef struct emitted {
    emit_step *step;
    int n_step;
    uint64_t scratch_bytes;
    bool may_fault;
} emitted;

/* The words that kernels write on an index out of bounds, all 0 before: the number of claimed entries; the records, one
 * for each launch of a program since the last look; the entries.
 *
 * A position is split into a bin (the bits from 31 up; the last bin has the rest) and its 31 low bits. A record has a
 * word for each bin: FAULT_ABOVE minus the lowest low bits seen, by atomicMax. The thread that lowers the position
 * claims the next entry and writes it; after the last entry, the first is used again. So the lowest position is exact
 * in any order of threads, without 64-bit atomics. Its entry is lost only if FAULT_ENTRIES other threads claim entries
 * while it is being written. */
enum {
    FAULT_RECORDS = 256,
    FAULT_BINS = 16,
    FAULT_ENTRIES = 1024,
    FAULT_HEAD = 4, /* words before the records */
    FAULT_FIRST_ENTRY = FAULT_HEAD + FAULT_RECORDS * FAULT_BINS,
    FAULT_WORDS = FAULT_FIRST_ENTRY + 8 * FAULT_ENTRIES
};
#define FAULT_ABOVE 0x80000000u
/* The words of an entry: the bin, counted from the first record on; the bin's word; the index and the length, low word
 * first; a checksum (entry_check in kernels/lanes.cuh). */
enum { ENTRY_BIN, ENTRY_VALUE, ENTRY_INDEX, ENTRY_LENGTH = 4, ENTRY_CHECK = 6 };

/* The text of a file of kernels/ that emitted text includes: the preprocessor's kernel_find. */
const char *library_find(void *context, const char *name, bool quoted, size_t *bytes);

/* Emits the launches of the chain of p->chain programs that begins with p. Fails with IG_ERR_UNSUPPORTED and the reason
 * if the target cannot run it. */
ig_status emit_program(const program *p, const emit_target *target, emitted *out);
void emitted_free(emitted *e);

/* Instructions of a tape that compute one f32 value from another, without arrays. */
typedef struct emit_part {
    int first, end;
    int value, result; /* registers of the input and of the output */
    ig_dtype dtype;    /* of the input */
} emit_part;

/* Text with the function `float epilogue(float, sizes)` that computes the part, and a kernel `epilogue_kernel` that
 * applies it to one value. The kernel is the only step; its sizes and values fill `sizes`. */
ig_status emit_function(const tape *t, const emit_part *part, const emit_target *target,
                        emitted *out);

#endif
