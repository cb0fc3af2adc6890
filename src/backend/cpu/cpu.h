/* The CPU device inside: levels (instruction sets), running a tape over a block, and the cores. */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include "backend/backend.h"

/* ---- levels: the loops of lanes/, built once for each instruction set ---- */

enum {
    FOLD_LANES = 32, /* running values of a fold; the order of a sum is fixed by this */
    FOLD_ROWS = 8    /* rows that join_rows takes at once */
};

/* d[i] = a row of a[i], b[i]; TRUTH rows write u8. OP_where: a is the condition (u8), b and c the
 * values. An operand may be one value for all i: then it is that which it points at. n > 0. */
typedef void (*map_loop)(int64_t n, void *d, const void *a, const void *b, const void *c);
enum { MAP_ONE_A = 1, MAP_ONE_B = 2, MAP_ONE_C = 4 };
/* A run of arithmetic: each row takes what the one before it leaves, the first x[0], and x[1 + its place]. Its
 * code has RUN_BITS for each row, that of the first lowest: the kind, and RUN_ONE where the row's other operand
 * is one value. FROM is SUBTRACT with its operands exchanged. */
typedef void (*run_loop)(int64_t n, void *d, const void *const *x);
enum {
    RUN_ADD,
    RUN_SUBTRACT,
    RUN_FROM,
    RUN_MULTIPLY,
    RUN_KIND = 3,
    RUN_ONE = 4,
    RUN_BITS = 3,
    RUN_MOST = 4
};
/* *total = the fold, in fold's order, of what a row makes of a[i] and b[i]; what the row is made of may be
 * kept in d[i]. */
typedef void (*fold_loop)(int64_t n, void *total, void *d, const void *a, const void *b);

/* Micro-kernels of the contraction (lanes/gemm.c). */
typedef struct gemm_level gemm_level;
/* Loops of scans, sorts and searches (rows.h). */
typedef struct rows_level rows_level;
/* Loops of kernels (simt.h). */
typedef struct simt_level simt_level;

/* All loops of one instruction set. Registers hold lanes: see dtype_lane; `lane` may be any dtype and
 * means its lane. n <= TAPE_BLOCK, but for convert, identity, join and join_rows any n. A result may lie on an
 * input of the same element size, but not partly over it. */
typedef struct cpu_level {
    const char *name;
    bool (*available)(void);
    /* The loop of a row in lanes of dtype. one: flags MAP_ONE_*, at most one of two operands and no
     * condition. NULL if the lanes have no such row. */
    map_loop (*loop)(int op, ig_dtype lane, int one);
    /* The loop of a run of 2 to RUN_MOST rows, with the bits of one after the other. NULL if there is none. */
    run_loop (*run)(int rows, int code, ig_dtype lane);
    /* Storage of one dtype to storage of another, by the rules of ig_astype (between f16, bf16 and
     * f32 too), strided by elements: d[i * ds] = a[i * as]. from == to copies. */
    void (*convert)(ig_dtype from, ig_dtype to, int64_t n, void *d, int64_t ds, const void *a,
                    int64_t as);
    /* f32 rounded to f16 or bf16, in f32 lanes. */
    void (*round)(ig_dtype to, int64_t n, float *d, const float *a);
    /* Random bits: d[i] for index start + i; key has words 2 (threefry) or 4 (philox). */
    void (*bits)(ig_dtype to, const uint32_t *key, int words, int64_t start, int64_t n, void *d);
    /* The random bits of an unsigned integer as wide as `to`, f32 or f64, shifted to the right by shift > 0,
     * converted, and multiplied with scale, which is exact in `to`. */
    void (*fractions)(ig_dtype to, const uint32_t *key, int words, int64_t start, int64_t n,
                      int shift, double scale, void *d);
    /* d[i] = what a FOLD row begins with. */
    void (*identity)(int op, ig_dtype lane, int64_t n, void *d);
    /* d[i] = FOLD row op of a[i] and b[i]. */
    void (*join)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b);
    /* d[i] = FOLD row op of d[i] and a[i], then of that and a[i + step], ...: FOLD_ROWS times. */
    void (*join_rows)(int op, ig_dtype lane, int64_t n, void *d, const void *a, int64_t step);
    /* d[r] = the fold of the r-th row of a: len values, 0 < len <= TAPE_BLOCK. See reduce.c for the
     * order. */
    void (*fold)(int op, ig_dtype lane, int64_t rows, int64_t len, void *d, const void *a);
    /* The loop that folds what rows leave: row second (square, or OP_COUNT for none) of row first (or
     * OP_COUNT for none) of a[i] and b[i], 0 < n <= TAPE_BLOCK. keeps: d[i] is what first leaves; one:
     * 0 or MAP_ONE_B. It has the bits of one after the other. NULL if there is none. */
    fold_loop (*fold_of)(int op, int first, int second, ig_dtype lane, bool keeps, int one);
    /* fold for two rows of TAPE_BLOCK values each. */
    void (*fold_two)(int op, ig_dtype lane, void *d, const void *a, void *d_2, const void *a_2);
    /* The place of a's first extreme (OP_max, OP_min; a NaN is the most extreme) if it is beyond
     * *best or first is set, and *best is then that value; else -1. n > 0. */
    int64_t (*extreme)(int op, ig_dtype lane, int64_t n, const void *a, void *best, bool first);
    const gemm_level *gemm;
    const rows_level *rows;
    const simt_level *simt;
} cpu_level;

/* The level in use: the best that the machine has, or IG_CPU_LEVEL. */
const cpu_level *cpu_level_now(void);
/* For describe: names of the levels that the machine can run, lowest first; why IG_CPU_LEVEL was
 * ignored, or NULL. */
const char *cpu_level_names(void);
const char *cpu_level_note(void);

/* ---- faults: an index outside of its axis ---- */

/* The first one of a launch: that at the lowest index of the space. */
typedef struct cpu_fault {
    _Atomic int64_t at; /* INT64_MAX: none */
    int64_t index, axis_len;
} cpu_fault;

void cpu_fault_clear(cpu_fault *fault);
/* Any thread may note one at any time. */
void cpu_fault_note(cpu_fault *fault, int64_t at, int64_t index, int64_t axis_len);
/* IG_OK, or IG_ERR_INDEX with its message. */
ig_status cpu_fault_status(const cpu_fault *fault);

/* ---- tapes ---- */

struct tape_plan;

/* One worker's view of a tape while it runs. */
typedef struct tape_run {
    const tape *t;
    const cpu_level *level;
    const binding *bindings;
    cpu_fault *fault;
    void **reg; /* what each register now points at: its own block, or data in place */
    bool *one;  /* of each register: it now points at one value, which all points have */
    bool tiled; /* set by who runs blocks in tiles: no operand changes in between */
    struct tape_plan *plan; /* how each operand and instruction is run; see tape_run.c */
} tape_run;

/* Plans how the tape is run, once for all runs, in memory of so many bytes, which is t->compiled from then
 * on and stays its owner's. */
size_t tape_plan_bytes(const tape *t);
void tape_plan_in(tape *t, void *memory);
/* Readies a worker's run of a planned tape in scratch, which holds at least tape_scratch_bytes(t). */
size_t tape_scratch_bytes(const tape *t);
void tape_start(tape_run *run, const tape *t, const binding *bindings, cpu_fault *fault,
                void *scratch);
/* How many points a block of the tape may have: TAPE_BLOCK or more. */
int64_t tape_most_points(const tape *t);
/* The axis along which rows (the last axis) should be run TAPE_TILE_ROWS together, TAPE_TILE points of
 * each, because an operand lies along it; -1: none. Rows of other blocks are right too, but slow. */
enum { TAPE_TILE_ROWS = 16, TAPE_TILE = 256 };
int tape_tile_axis(const tape *t);
/* Runs points [start, start + n) of the space, n <= tape_most_points(t); core holds the core's lanes for them
 * (NULL for a pre tape). Stores happen; registers stay readable until the next call. */
void tape_block(tape_run *run, int64_t start, int64_t n, const void *core);
/* The same for n whole rows of len points, of a tape without a core or a result, if they are better run one by
 * one; else false, and nothing is done. */
bool tape_rows(tape_run *run, int64_t start, int64_t n, int64_t len);
/* For a tape with a result that will be folded so, after tape_start: what tape_fold can do at once. */
void tape_fold_start(tape_run *run, int fold);
/* How many times len points tape_fold takes at once, where those are whole rows. */
int64_t tape_fold_most(const tape_run *run, int64_t len);
/* d[r] = the fold of what the tape leaves, in lanes of dtype, for the r-th len points from start on. */
void tape_fold(tape_run *run, int fold, ig_dtype dtype, int64_t start, int64_t n, int64_t len,
               void *d);
/* The n lanes of dtype's that register r has since that call, one after another. */
void *tape_lanes(tape_run *run, int r, ig_dtype dtype, int64_t n);

/* Element-operations that a task should have at least, to be worth handing to another core. */
enum { TASK_WORK = 1 << 16 };
/* What one point of the tape costs, in element-operations; at least 1. */
int64_t tape_cost(const tape *t);

/* ---- scratch ---- */

/* Scratch of a worker: at least bytes, aligned to 64, alive until the process ends or grows it.
 * Reserved by compile, so that nothing is allocated in a launch. Launches are one at a time (the
 * engine's lock), so workers do not share it. */
ig_status scratch_reserve(size_t bytes);
/* As much as was ever reserved, for the number of threads that there are now. */
ig_status scratch_renew(void);
void *scratch_of(int worker);
/* Gives all of it back; the next reserve begins anew. */
void scratch_free(void);

/* ---- the cores: each runs one kind of program over the pool ---- */
ig_status cpu_map(const program *p, const binding *b);
/* A MAP whose tape only reads whole rows at indices, which take suits. */
bool cpu_take_suits(const tape *t);
ig_status cpu_take(const program *p, const binding *b);
ig_status cpu_reduce(const program *p, const binding *b);
ig_status cpu_contract(const program *p, const binding *b);
ig_status cpu_scan(const program *p, const binding *b);
ig_status cpu_sort(const program *p, const binding *b);
ig_status cpu_search(const program *p, const binding *b);
ig_status cpu_write(const program *p, const binding *b);
/* Bytes of scratch that a worker needs for p. */
size_t cpu_map_scratch(const program *p);
size_t cpu_reduce_scratch(const program *p);
size_t cpu_contract_scratch(const program *p);
size_t cpu_scan_scratch(const program *p);
size_t cpu_sort_scratch(const program *p);
size_t cpu_search_scratch(const program *p);
size_t cpu_write_scratch(const program *p);
/* Who multiplies in this contraction, for people: a level's or a BLAS library's name. */
const char *cpu_contract_how(const program *p);
/* What p->compiled is for reductions and contractions; NULL with the error set on failure. */
void *cpu_reduce_plan(const program *p);
void *cpu_contract_plan(const program *p);

/* A chain of programs, some rows at a time: see program.h. */
ig_status cpu_chain(const program *p, const binding *b);
size_t cpu_chain_scratch(const program *p);
/* Cores by rows: started in scratch for a program of so many rows, then run for at most `tile` of them
 * at a time. A reduction can be run so unless its rows lie across memory. */
bool cpu_reduce_has_rows(const program *p);
size_t cpu_reduce_rows_scratch(const program *p, int64_t tile);
void cpu_reduce_rows_start(const program *p, const binding *b, cpu_fault *fault, int64_t rows,
                           int64_t tile, void *scratch);
void cpu_reduce_rows(void *scratch, int64_t first, int64_t n);
size_t cpu_contract_rows_scratch(const program *p, int64_t tile);
void cpu_contract_rows_start(const program *p, const binding *b, cpu_fault *fault, int64_t rows,
                             int64_t tile, void *scratch);
void cpu_contract_rows(void *scratch, int64_t first, int64_t n);
/* Packs in[1], which must be there, once for all tiles: *panels are given to each start by _use, and back by
 * _unshare. NULL if that is not worth it. */
ig_status cpu_contract_rows_share(const program *p, const binding *b, int64_t tile, void **panels);
void cpu_contract_rows_use(void *scratch, void *panels);
void cpu_contract_rows_unshare(const program *p, int64_t tile, void *panels);

/* Host address of an operand's element 0 (its offset applied). */
static inline char *operand_host(const operand *o, const binding *b)
{
    return (char *)b[o->slot].buf->data + b[o->slot].offset +
           o->v.offset * (int64_t)ig_dtype_bytes(o->dtype);
}

#endif
