/* A program: the unit of work that a graph hands to a backend, and all that a backend sees.
 *
 * The elementwise part is a tape: instructions over registers, where a register holds one block of
 * lanes (TAPE_BLOCK consecutive points of the tape's space, in row-major order). A tape is in
 * single-assignment form: each instruction writes a different register. A backend with few registers
 * assigns its own when it compiles the program. The other part is the core. A reduction reads its values
 * from the pre tape. Every core passes its results to the post tape (the epilogue), block by block. Fusion
 * decides which instructions are on which tape, and never changes what an instruction computes.
 *
 *   MAP        pre                          out[i] = f(loads at i)
 *   REDUCE     pre -> fold rows -> post     space of pre is (outer, inner), of post (outer).
 *                                           If outer is 1, inner may be a range of the points of pre
 *   ARGREDUCE  the same; the value is the i64 index of the extreme
 *   CONTRACT   in[0], in[1] -> post         out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k]
 *   KERNEL     operands of pre -> of post   a user kernel, launched by the engine; the tapes have no
 *                                           instructions
 *   SCAN       in[0] -> out                 running fold along rows of length inner
 *   SORT, ARGSORT  in[0] -> out             each row sorted, stable, NaN last; ARGSORT writes only the
 *                                           first `kept` elements of each row
 *   SEARCH     in[0] sorted, in[1] -> out   position of each in[1] in in[0], i64
 *   WRITE      in[0] index, in[1] updates -> out   out, which holds the base already, is written at
 *                                           out.v + index * axis_stride, in row-major order
 */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "engine/array/array.h"

enum {
    TAPE_BLOCK = 1024,
    /* A contraction in math mode same, and one of floats on the CPU, cuts k evenly into the fewest blocks of at most
     * this many points. It sums the products of a block in order from 0, and adds the sums of the blocks in order. The
     * CPU's matrix instructions take longer blocks: see backend_product_k. */
    PRODUCT_K = 256
};

/* The memory that a program reads or writes: a buffer slot of the launch, seen through a view. On a tape the
 * view's shape is the tape's space. Exception: the key of TAPE_BITS is 1-d of length 2 or 4. */
typedef struct operand {
    int slot;
    ig_dtype dtype;
    storage stored; /* not plain: of TAPE_UNPACK and inputs of contractions; v counts elements */
    view v;
    int64_t axis_len, axis_stride; /* TAPE_READ and WRITE: the indexed axis */
    int64_t first_index;           /* TAPE_BITS: index of the tape's first point */
    /* TAPE_READ in a part of a program: only indices [part_first, part_first + part_len) are read; other parts read the
     * other points. v begins at part_first. 0: all are read. */
    int64_t part_first, part_len;
} operand;

typedef enum tape_code {
    TAPE_LOAD,  /* dst = operand at this block, converted to its lane */
    TAPE_STORE, /* operand at this block = a, converted from its lane */
    TAPE_MAP,   /* dst = row op of a, b, c, computed in lanes of dtype */
    TAPE_CAST,  /* dst = a, of dtype, converted to dtype `to` (storage dtypes: ig_astype's rules) */
    TAPE_ROUND, /* dst = a (f32 lanes) rounded to `to`, f16 or bf16 */
    TAPE_IOTA,  /* dst = index in the space, i64 */
    TAPE_BITS, /* dst = random bits of dtype `to` (u8 ... u64) for the key in operand, at the index */
    TAPE_READ, /* dst = operand at the index, moved by a (i64) * axis_stride; checked */
    TAPE_UNPACK, /* dst = operand at this block, as f32, from storage that is not plain; with a: like READ */
    TAPE_CORE /* dst = the core's value at the index (first instruction of a post tape) */
} tape_code;

typedef struct tape_inst {
    uint8_t code;         /* tape_code */
    uint8_t dtype;        /* MAP, CAST: dtype of the inputs; others: dtype of the value */
    uint8_t to;           /* dtype of the result, if it differs */
    uint16_t op;          /* MAP: row of ops.def */
    int16_t operand;      /* LOAD, STORE, BITS, READ */
    int16_t dst, a, b, c; /* -1: none */
} tape_inst;

typedef struct tape {
    int ndim; /* the space, collapsed */
    int64_t shape[IG_MAX_NDIM];
    int64_t size;
    int n_inst, n_operand, n_reg;
    tape_inst *inst;
    operand *operand;
    int result;     /* pre tape of a reduction: the register that is folded; else -1 */
    void *compiled; /* owned by the backend */
} tape;

/* A slot whose memory holds only the rows of a chain that are in progress. */
typedef struct row_slot {
    int slot;
    int shares; /* entry whose memory it uses: its own index, or an entry that it may overwrite */
    int64_t row_bytes;
} row_slot;

typedef enum program_kind {
    PROGRAM_MAP,
    PROGRAM_REDUCE,
    PROGRAM_ARGREDUCE,
    PROGRAM_CONTRACT,
    PROGRAM_KERNEL,
    PROGRAM_SCAN,
    PROGRAM_SORT,
    PROGRAM_ARGSORT,
    PROGRAM_SEARCH,
    PROGRAM_WRITE,
    PROGRAM_KINDS
} program_kind;

/* Properties that all programs of a kind share. The order of kinds has no meaning. */
typedef struct program_kind_row {
    const char *name;  /* for messages */
    int core_inputs;   /* number of operands in[] that the core reads */
    bool core_output;  /* the core writes `out` */
    bool has_epilogue; /* map nodes may be fused after the core, on the post tape */
    bool may_fail;     /* with an index out of bounds or a failed assertion */
} program_kind_row;
extern const program_kind_row program_kinds[PROGRAM_KINDS];

typedef struct program {
    program_kind kind;
    ig_dtype dtype;  /* the core's element dtype (storage); its lanes compute */
    ig_math math;    /* CONTRACT, KERNEL: the order and precision of sums */
    bool symmetric;  /* CONTRACT: see node_attr */
    uint16_t fold;   /* REDUCE, ARGREDUCE, SCAN: row of ops.def */
    bool descending; /* SORT, ARGSORT */
    bool right;      /* SEARCH: the position after equal elements */
    bool add;        /* WRITE: adds to the old value */
    bool may_fail;   /* its kind may fail, or a tape has a TAPE_READ */
    bool is_copy; /* it copies the slot of pre.operand[0] as a whole to the slot of pre.operand[1]:
                       * if both are the same memory, it need not run */
    int64_t outer, inner; /* REDUCE, SCAN, SORT: number of rows and their length */
    int64_t first;        /* REDUCE, ARGREDUCE of one row: the point of pre where it begins */
    int64_t kept;         /* SORT, ARGSORT: only the first `kept` elements of each row are needed */
    uint8_t ndim[4];      /* CONTRACT: axes of the groups b, m, n, k */
    int64_t extent[4];    /* CONTRACT: number of points of each group */
    tape pre, post;
    operand in[2], out;
    node_kernel *kernel; /* KERNEL: retained; with native, native code of the device runs it */
    /* Number of programs of the chain that starts here. All tapes of a chain are cut into the same number of
     * rows, and row r of each program reads only row r of the others. 1: not a chain; 0: a later program of a
     * chain. */
    int chain;
    /* Slots that only the chain uses may exist by rows: they have no memory of the launch, only memory of
     * the backend for the rows in progress. The chain must then run some rows at a time. */
    bool by_rows;        /* set in each program of such a chain */
    int64_t rows;        /* of the first program: number of rows */
    row_slot *local;     /* of the first program: slots that exist by rows; owned */
    int n_local, n_slot; /* of the first program: entries of local; all slots of the launch */
    /* For reports: the fused ops, and the cost. */
    char *label;
    int64_t flops, bytes_read, bytes_written;
    char *on_cpu; /* why the CPU runs it and not the device; NULL: the device runs it; owned */
    int64_t bytes_moved; /* with on_cpu: bytes copied between the device and the host in each run */
    void *compiled;      /* owned by the backend */
} program;

/* True for a user's kernel, which is launched by its kernel_runner on every device. */
static inline bool program_is_custom(const program *p)
{
    return p->kind == PROGRAM_KERNEL && p->kernel->runner;
}

/* True for a reduction that reads a range of the points of pre. */
static inline bool program_is_span(const program *p)
{
    return (p->kind == PROGRAM_REDUCE || p->kind == PROGRAM_ARGREDUCE) && p->outer == 1 &&
           p->inner != p->pre.size;
}

/* Frees tapes and label, and releases the kernel. The backend frees what it compiled. */
void program_free_parts(program *p);

/* The slots that the core reads and writes itself, not through a tape; returns their number. */
int program_core_slots(const program *p, int slots[static 3]);
/* True if the core, the tape, or either uses the slot. */
bool program_core_touches(const program *p, int slot);
bool tape_touches(const tape *t, int slot);
bool program_touches(const program *p, int slot);
bool program_reads(const program *p, int slot);
bool program_writes(const program *p, int slot);
/* True if after its k-th instruction the tape still needs the memory that the LOAD at `load` reads: the
 * LOAD comes later, or a later instruction uses its register, which may point into that memory. */
bool tape_needs_after(const tape *t, int load, int k);

/* True if schedules are checked: if IG_CHECK_SCHEDULE is 1; if it is not set, in builds with sanitizers or for
 * debugging. */
bool program_checks(void);

#endif
