/* Internal interface of the CPU backend: levels (instruction sets), tapes, scratch memory, and the
 * cores. */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include "engine/backend/backend.h"

/* ---- levels: the loops of lanes/, built once for each instruction set ---- */

enum {
    FOLD_LANES = 32, /* partial results of a fold; they fix the order of a sum */
    FOLD_ROWS = 8    /* rows that join_rows joins in one call */
};

enum { NO_ROW = -1 }; /* not a row of the op table */

/* d[i] = a row of ops.def, applied to a[i] and b[i]; TRUTH rows write u8. For OP_where, a is the
 * condition (u8), b and c are the values. An operand that is one value for all i is not indexed. n
 * > 0. */
typedef void (*map_loop)(int64_t n, void *d, const void *a, const void *b, const void *c);
enum { MAP_ONE_A = 1, MAP_ONE_B = 2, MAP_ONE_C = 4 };
/* A run of arithmetic rows in one loop. The first row takes x[0] and x[1]; row r takes the result
 * of the row before it and x[1 + r]. The code of a run has RUN_BITS for each row, the first row in
 * the lowest bits: the kind of row, and RUN_ONE if its other operand is one value. FROM is SUBTRACT
 * with exchanged operands. */
typedef void (*run_loop)(int64_t n, void *d, const void *const *x);
enum {
    RUN_ADD,
    RUN_SUBTRACT,
    RUN_FROM,
    RUN_MULTIPLY,
    RUN_MAXIMUM,
    RUN_MINIMUM,
    RUN_KIND = 7,
    RUN_ONE = 8,
    RUN_BITS = 4,
    RUN_MOST = 4
};
/* An op of a series, which computes one value v for each lane in registers: 4 bytes, i32 or f32; bytes are i32. x is the
 * other operand: lanes of the same kind, or one value if the code has SERIES_ONE. GET reads v from x, PUT stores it. All
 * other ops change v as the rows and conversions of their names do. An operand of lanes has elements of `bytes` bytes; if
 * it is 0, x has room for 16 lanes more. */
enum {
    SERIES_GET,
    SERIES_GET_U8,
    SERIES_GET_I8,
    SERIES_PUT,
    SERIES_PUT_BYTES, /* the low bytes, XORed with shift's low byte */
    SERIES_INT_ADD,
    SERIES_INT_SUBTRACT,
    SERIES_INT_FROM, /* SUBTRACT with exchanged operands */
    SERIES_INT_MULTIPLY,
    SERIES_ADD,
    SERIES_SUBTRACT,
    SERIES_FROM,
    SERIES_MULTIPLY,
    SERIES_DIVIDE,
    SERIES_MAXIMUM,
    SERIES_MINIMUM,
    SERIES_FLOAT, /* from i32 */
    SERIES_ROUND,
    SERIES_U8, /* from f32, saturating */
    SERIES_I8,
    SERIES_WRAP_U8, /* from i32 */
    SERIES_WRAP_I8,
    SERIES_XOR, /* v ^ shift */
    /* Ops that are one for speed. x is one value. */
    SERIES_SHIFT,       /* v + shift; x is not used */
    SERIES_SCALE,       /* SHIFT, FLOAT, MULTIPLY */
    SERIES_GET_SCALE,   /* GET of y, SCALE */
    SERIES_QUANTIZE_U8, /* ROUND, ADD of *y (if it is not NULL), U8; x is not used */
    SERIES_QUANTIZE_I8,
    SERIES_ONE = 32,
    SERIES_MOST = 40 /* ops */
};
typedef struct series_op {
    int code, bytes;
    void *x;
    const void *y;
    int32_t shift;
} series_op;
/* Loops of 16-bit floats: h is a stored element, x and y are f32 lanes. round(x) is x rounded to the dtype of h, a
 * lane. */
enum {
    HALF_WIDEN,  /* y = h */
    HALF_ROUND,  /* y = round(x) */
    HALF_NARROW, /* h = x */
    HALF_ADD,    /* y = x + h; with more: */
    HALF_COUNT = HALF_ADD + 6,
    HALF_FIRST = 1,   /* round(x) + h */
    HALF_ROUNDED = 2, /* y = the sum, rounded */
    HALF_STORED = 4   /* an element = the sum */
};
/* *s = the sum of a row applied to a[i] and b[i], whose result may be stored in d[i]. */
typedef void (*sum_loop)(int64_t n, void *s, void *d, const void *a, const void *b);

/* Micro-kernels of the contraction (lanes/gemm.c). */
typedef struct gemm_level gemm_level;
/* Loops of scans, sorts and searches (lanes/rows.h). */
typedef struct rows_level rows_level;
/* Loops of kernels (lanes/simt.h). */
typedef struct simt_level simt_level;
/* Loops of attention (lanes/attend.h). */
typedef struct attend_level attend_level;
/* Decompositions of matrices (lanes/spectral.h). */
typedef struct spectral_level spectral_level;
/* Fourier transforms (lanes/fft.h). */
typedef struct fft_level fft_level;
/* Loops of factorizations (lanes/factor.h). */
typedef struct factor_level factor_level;

/* All loops of one instruction set. Registers hold lanes (see dtype_lane); an argument `lane` may
 * be any dtype and means its lane. n <= TAPE_BLOCK, except for convert, identity, join and
 * join_rows. The result may be the same memory as an input of equal element size, but must not
 * overlap it partly. */
typedef struct cpu_level {
    const char *name;
    bool (*available)(void);
    /* The loop of a row in lanes of dtype. `one`: flags MAP_ONE_*, for at most one of two operands
     * and not for a condition. NULL if the row has no loop in these lanes. */
    map_loop (*loop)(int op, ig_dtype lane, int one);
    /* The loop of a run of 2 to RUN_MOST rows. Its results have the bits of the separate loops.
     * NULL if there is none. */
    run_loop (*run)(int rows, int code, ig_dtype lane);
    /* The loop that applies row `first`, with flags `one`, then unary row `second` to its result. NULL if there is
     * none. */
    map_loop (*pair)(int first, int second, ig_dtype lane, int one);
    /* Runs a series of at most SERIES_MOST ops. */
    void (*series)(int64_t n, int n_op, const series_op *op);
    /* Converts stored elements by the rules of ig_astype, also between f16, bf16 and f32: d[i * ds]
     * = a[i * as]. from == to copies. */
    void (*convert)(ig_dtype from, ig_dtype to, int64_t n, void *d, int64_t ds, const void *a,
                    int64_t as);
    /* Elements of a buffer as f32, from storage that is not plain: from number `first` on, or at these offsets
     * (NO_ELEMENT: 0). */
    void (*unpack)(storage s, int64_t n, float *to, const void *base, int64_t first);
    void (*unpack_at)(storage s, int64_t n, float *to, const void *base, const int64_t *offset);
    /* Copies past the caches, whole cache lines without reading them first. Other threads see the copies after a call
     * without bytes. NULL if the level has no such stores. */
    void (*stream)(void *to, const void *from, size_t bytes);
    /* Rounds f32 lanes to values of f16 or bf16; they stay f32 lanes. */
    void (*round)(ig_dtype to, int64_t n, float *d, const float *a);
    /* A loop of f32 lanes and stored elements of dtype, f16 or bf16 (HALF_*). NULL if there is none. */
    map_loop (*half)(int code, ig_dtype dtype);
    /* Random bits: d[i] belongs to index start + i. key has 2 words (threefry) or 4 (philox). */
    void (*bits)(ig_dtype to, const uint32_t *key, int words, int64_t start, int64_t n, void *d);
    /* d[i] = the identity of a FOLD row. */
    void (*identity)(int op, ig_dtype lane, int64_t n, void *d);
    /* d[i] = a[i] and b[i], joined by FOLD row op. */
    void (*join)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b);
    /* d[i] = d[i] joined with a[i], then with a[i + step], and so on: FOLD_ROWS values. */
    void (*join_rows)(int op, ig_dtype lane, int64_t n, void *d, const void *a, int64_t step);
    /* d[r] = the fold of the r-th row of a, which has len values, 0 < len <= TAPE_BLOCK.
     * reduce/reduce.c states the order. */
    void (*fold)(int op, ig_dtype lane, int64_t rows, int64_t len, void *d, const void *a);
    /* d[i] = the fold of a[i], a[i + step], and so on: len values, 0 < len <= TAPE_BLOCK. Returns false, and does
     * nothing, if there is no such loop or n is small. */
    bool (*fold_columns)(int op, ig_dtype lane, int64_t n, int64_t len, void *d, const void *a,
                         int64_t step);
    /* The loop that computes rows and sums their result, with the bits of the separate loops: row
     * `second` (square, or NO_ROW) of row `first` (or NO_ROW) of a[i] and
     * b[i]. keeps: the result of `first` is stored in d[i]; one: 0 or MAP_ONE_B. 0 < n <=
     * TAPE_BLOCK. NULL if there is none. */
    sum_loop (*sum_of)(int first, int second, ig_dtype lane, bool keeps, int one);
    /* The folds of two rows of TAPE_BLOCK values each. */
    void (*fold_two)(int op, ig_dtype lane, void *d, const void *a, void *d_2, const void *a_2);
    /* The index of the first extreme of a (OP_max, OP_min; NaN is the most extreme), if it exceeds
     * *best or `first` is set; *best becomes that value. Otherwise -1. n > 0. */
    int64_t (*extreme)(int op, ig_dtype lane, int64_t n, const void *a, void *best, bool first);
    const gemm_level *gemm;
    const rows_level *rows;
    const simt_level *simt;
    const attend_level *attend;
    const spectral_level *spectral[4]; /* f32, f64, c64, c128 */
    const fft_level *fft;
    const factor_level *factor;
} cpu_level;

/* The level in use: the best one that the machine supports, or IG_CPU_LEVEL. */
const cpu_level *cpu_level_now(void);
struct gemm_kernel;
/* The level of a kernel of cpu_level_now(), as in --explain: "level avx512". */
const char *cpu_gemm_label(const struct gemm_kernel *k);
/* For describe: the names of the levels that the machine supports, lowest first; and the reason why IG_CPU_LEVEL was
 * ignored, or NULL. */
const char *cpu_level_names(void);
const char *cpu_level_note(void);

/* ---- faults: an index outside of its axis ---- */

/* The fault of a launch at the lowest index of the space. */
typedef struct cpu_fault {
    _Atomic int64_t at; /* INT64_MAX: none */
    int64_t index, axis_len;
} cpu_fault;

void cpu_fault_clear(cpu_fault *fault);
/* Any thread may record a fault at any time. */
void cpu_fault_note(cpu_fault *fault, int64_t at, int64_t index, int64_t axis_len);
/* IG_OK, or IG_ERR_INDEX with a message about the fault of p. */
ig_status cpu_fault_status(const cpu_fault *fault, const program *p);

/* ---- tapes ---- */

struct tape_plan;

/* One worker's view of a tape while it runs. */
typedef struct tape_run {
    const tape *t;
    const cpu_level *level;
    const binding *bindings;
    cpu_fault *fault;
    void **reg;   /* where each register's value is now: in its own block, or in place */
    bool *one;    /* whether a register's value is one element for all points */
    bool streams; /* set by a caller that runs short blocks: a STORE writes past the caches */
    bool tiled; /* set by a caller that runs blocks in tiles: operands do not change between them */
    struct tape_plan *plan; /* how each operand and instruction runs; see tape/tape.h */
} tape_run;

/* Renumbers the registers of a tape so that few are needed, and removes roundings that a store would repeat. */
ig_status tape_assign_registers(tape *t);
/* Plans a tape once for all runs, in memory of tape_plan_bytes(t) bytes. The memory becomes
 * t->compiled; the caller owns it. */
size_t tape_plan_bytes(const tape *t);
void tape_plan_in(tape *t, void *memory);
/* Prepares a worker's run of a planned tape in scratch of at least tape_scratch_bytes(t) bytes. */
size_t tape_scratch_bytes(const tape *t);
void tape_start(tape_run *run, const tape *t, const binding *bindings, cpu_fault *fault,
                void *scratch);
/* The axis along which TAPE_TILE_ROWS rows should run together, TAPE_TILE points of each, because
 * an operand is contiguous along that axis; -1 if there is none. Other blocks give the same
 * results, but slower. */
enum { TAPE_TILE_ROWS = 16, TAPE_TILE = 256 };
int tape_tile_axis(const tape *t);
/* The most points of one call of tape_block, and of a row if rows are not flat: more than TAPE_BLOCK if the tape is one
 * loop over operands in place. */
int64_t tape_most(const tape_run *run);
/* Runs points [start, start + n) of the space, n <= tape_most. core has the lanes of the
 * core for them (NULL for a pre tape). Stores are done; registers stay readable until the next
 * call. */
void tape_block(tape_run *run, int64_t start, int64_t n, const void *core);
/* The same for n whole rows of len points, of a tape without core and result. Returns false, and
 * does nothing, if running them as blocks is better. */
bool tape_rows(tape_run *run, int64_t start, int64_t n, int64_t len);
/* After tape_start, for a tape whose result will be summed: selects the instructions that tape_fold can run in
 * one loop. */
void tape_sum_start(tape_run *run);
/* How many rows of len points one call of tape_fold may take. */
int64_t tape_fold_most(const tape_run *run, int64_t len);
/* d[r] = the fold of the tape's result, in lanes of dtype, for the r-th row of len points from
 * start on. */
void tape_fold(tape_run *run, int fold, ig_dtype dtype, int64_t start, int64_t n, int64_t len,
               void *d);
/* The n lanes of register r after that call, contiguous. */
void *tape_lanes(tape_run *run, int r, ig_dtype dtype, int64_t n);

/* The least number of element operations of a task that is worth another core. */
enum { TASK_WORK = 1 << 16 };
/* The cost of one point of the tape in element operations; at least 1. */
int64_t tape_cost(const tape *t);

/* ---- scratch ---- */

/* Scratch memory of a worker: at least `bytes`, aligned to 64 bytes, valid until it grows or is
 * freed. compile reserves it, so that a launch allocates nothing. Launches run one at a time (the
 * engine's lock), so no two of them share it. */
ig_status scratch_reserve(size_t bytes);
/* Reserves the largest size so far for the current number of threads. */
ig_status scratch_renew(void);
void *scratch_of(int worker);
/* Frees all of it; the next reserve allocates again. */
void scratch_free(void);

/* ---- the cores: each runs one kind of program over the pool ---- */
ig_status cpu_map(const program *p, const binding *b);
/* True for a MAP whose tape only copies whole rows at indices; cpu_take runs it. */
bool cpu_take_suits(const tape *t);
ig_status cpu_take(const program *p, const binding *b);
ig_status cpu_reduce(const program *p, const binding *b);
ig_status cpu_contract(const program *p, const binding *b);
ig_status cpu_scan(const program *p, const binding *b);
ig_status cpu_sort(const program *p, const binding *b);
ig_status cpu_search(const program *p, const binding *b);
ig_status cpu_attention(const program *p, const binding *b);
ig_status cpu_lapack(const program *p, const binding *b);
ig_status cpu_write(const program *p, const binding *b);
/* Bytes of scratch that a worker needs for p. */
size_t cpu_map_scratch(const program *p);
size_t cpu_reduce_scratch(const program *p);
size_t cpu_contract_scratch(const program *p);
size_t cpu_scan_scratch(const program *p);
size_t cpu_sort_scratch(const program *p);
/* Bytes of array data that a launch of cpu_sort allocates at most. */
size_t cpu_sort_bytes(const program *p);
size_t cpu_search_scratch(const program *p);
size_t cpu_attention_scratch(const program *p);
size_t cpu_write_scratch(const program *p);
/* The name of the level or BLAS library that computes this contraction, for messages. */
const char *cpu_contract_how(const program *p);
int64_t cpu_contract_k(ig_dtype dtype, ig_math math); /* backend.product_k */
/* True if cpu_attention runs programs of this node. */
bool cpu_attention_offers(const node_native *n);
/* The same of cpu_lapack; is: whether the node is of a kind that it has. */
bool cpu_lapack_offers(const node_native *n);
bool cpu_lapack_runs(const node_native *n);
/* The library that computes such nodes, for reports. */
const char *cpu_lapack_name(void);
/* The plan of a reduction, a contraction, attention or a library's node, for p->compiled; NULL with the error set on failure. */
void *cpu_reduce_plan(const program *p);
void *cpu_attention_plan(const program *p);
/* The level of its products, as in --explain. */
const char *cpu_attention_how(const program *p);
void *cpu_lapack_plan(const program *p);
void *cpu_contract_plan(const program *p);

/* Runs a chain of programs, some rows at a time; see program.h. */
ig_status cpu_chain(const program *p, const binding *b);
size_t cpu_chain_scratch(const program *p);
/* Cores that run row by row: started in scratch for a program of `rows` rows, then run for at most
 * `tile` rows at a time. Reductions over rows that are not contiguous cannot run this way. */
bool cpu_reduce_has_rows(const program *p);
size_t cpu_reduce_rows_scratch(const program *p, int64_t tile);
void cpu_reduce_rows_start(const program *p, const binding *b, cpu_fault *fault, int64_t rows,
                           int64_t tile, void *scratch);
void cpu_reduce_rows(void *scratch, int64_t first, int64_t n);
size_t cpu_contract_rows_scratch(const program *p, int64_t tile);
void cpu_contract_rows_start(const program *p, const binding *b, cpu_fault *fault, int64_t rows,
                             int64_t tile, void *scratch);
void cpu_contract_rows(void *scratch, int64_t first, int64_t n);
/* Packs in[1] of n contractions, at most CONTRACT_SHARED, once for all tiles; it must be computed already. _use passes
 * panels[i] to each started run of p[i]. _unshare frees them, even after an error. They are NULL if packing once does
 * not pay. */
enum { CONTRACT_SHARED = 8 };
ig_status cpu_contract_rows_share(const program *const *p, int n, const binding *b, int64_t tile,
                                  void **panels);
void cpu_contract_rows_use(void *scratch, void *panels);
void cpu_contract_rows_unshare(const program *p, int64_t tile, void *panels);

/* Host address of element 0 of an operand's view; of blocks: of element 0 of the buffer. */
static inline char *operand_host(const operand *o, const binding *b)
{
    const int64_t first = storage_is_plain(o->stored) ? o->v.offset : 0;
    return (char *)b[o->slot].buf->data + b[o->slot].offset +
           first * (int64_t)ig_dtype_bytes(o->dtype);
}

#endif
