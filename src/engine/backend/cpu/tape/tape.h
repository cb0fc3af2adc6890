/* How a tape runs: the plan, made once and bound to memory when a run starts (tape_plan.c), and
 * executed for each block (tape_run.c). */
#ifndef CPU_TAPE_H
#define CPU_TAPE_H

#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/elements/elements.h"

enum {
    NOT_DIRECT = -1,
    STEP_MOST = 16 /* steps of a rows plan */
};

/* How an operand is accessed. */
typedef struct operand_plan {
    const element_moves *moves;
    int64_t bytes;  /* of an element */
    bool half;      /* f16, bf16: the stored type is not the lane type */
    bool packed;    /* all points are contiguous */
    bool loaded;    /* by a LOAD */
    bool constant;  /* all points are one element ... */
    int64_t period; /* flat plan of rows: points after which the elements repeat; 0: never */
    /* of a run: */
    char *base;
    int file; /* READ: see elements_file */
    int64_t file_at;
    uint64_t lane; /* ... which has this lane value, if it is loaded */
    int64_t at;    /* the point of the walk; -1: none */
    char *held;    /* lanes of more than a block, if it has a period */
    char *tile; /* contiguous along the tile axis: a transposed copy of TAPE_TILE_ROWS rows ... */
    int64_t tile_at;     /* ... from this offset on ... */
    int64_t tile_points; /* ... with this many points each; 0: no tile */
    view_walk walk;      /* last, because only a run has it */
} operand_plan;

/* How an instruction runs. */
typedef struct inst_plan {
    int direct; /* the operand into which it may write its result directly, or NOT_DIRECT */
    int one; /* MAP: which inputs were one value (MAP_ONE_*) when it last ran; -1: it has not run */
    map_loop loop; /* MAP: the loop that ran then */
    int after; /* MAP, CAST: the instruction before it whose result only this one uses; -1: none */
} inst_plan;

/* The uses of a register's value. */
typedef struct reg_use {
    int n, user; /* how many, and the first instruction */
} reg_use;

/* The address of row r of the space: at + r * move; in a register's own block, r counts rows of the block. In a
 * flat plan, a whole block counts as one row, and r counts points. A part of a row begins `step` bytes later for each
 * point before it. */
typedef struct row_place {
    char *at; /* for a run; NULL: the values of the core */
    int64_t move, step;
    int64_t period; /* r is taken modulo this; 0: it is not */
    int16_t of;     /* the kind of place: a number, see tape_plan.c */
    bool one;       /* one value for all points of the row */
    bool own;       /* in a register's own block */
    bool packed;    /* rows are contiguous */
    bool half;      /* elements of an operand of f16 or bf16, which no step has widened yet */
} row_place;

/* A step as a run of arithmetic (see run_loop): one row, or the rows of consecutive MAP
 * instructions. */
typedef struct step_run {
    int rows, code; /* 0 rows: not arithmetic */
    bool turned;    /* for one row: the run begins with x[1], and x[0] is one value */
    run_loop loop;  /* for more than one row */
} step_run;

/* The number of operands of a step; a step that is not a run has the operands of a map_loop. */
static inline int step_operands(const step_run *run) { return run->loop ? run->rows + 1 : 3; }

typedef struct row_step {
    map_loop loop;
    step_run run;
    int op;         /* row of ops.def, unless it is a run of several */
    ig_dtype dtype; /* of its lanes; for HALF_*: of the stored elements */
    int half;       /* HALF_*; -1: it is another loop */
    row_place d, x[RUN_MOST + 1];
} row_step;

/* An op of a series, and where its operands are; see rows_series.c. Its shift is the sum of `shifts` values of a row:
 * bytes, or i32 which are subtracted if `less`. */
typedef struct row_series {
    series_op op;
    row_place x, y, shift[2];
    int shifts;
    bool less[2];
    ig_dtype shifted; /* the dtype of these values */
} row_series;

/* A tape whose rows all take the same steps; see plan_rows. */
typedef struct rows_plan {
    int64_t points;   /* points of a row; 0: the tape has no such plan */
    int64_t most;     /* the most rows of a block for which this is faster */
    bool flat;        /* rows do not matter: a block is a row of at most TAPE_BLOCK points */
    row_place *shown; /* for each register: where its value is at the end */
    row_step *step;
    int n_step;
    row_series *series; /* if it has ops, the whole tape is this series, and there are no steps */
    int n_series;
    size_t bytes; /* bytes of a lane of the result, if there is one: the same in all steps */
    /* If the result is summed: the loop that replaces the last steps and the sum, where it stores and reads; NULL if
     * there is none. */
    sum_loop sum;
    int n_summed; /* the number of those steps */
    row_place kept, taken[2];
} rows_plan;

/* Two operands that must not overlap in memory. */
typedef struct tape_apart {
    int16_t stored, loaded;
} tape_apart;

typedef struct tape_plan {
    operand_plan *operand;
    inst_plan *inst;
    rows_plan rows;
    size_t *block; /* for each register: bytes of its block ... */
    char **own;    /* ... and, in a run, the block */
    reg_use *use;  /* for each register, while instructions are planned */
    tape_apart *apart;
    int n_apart;
    int tile_axis;
    /* of a run: */
    char *spare;  /* a block for values between two steps ... */
    char *narrow; /* ... and another one, also for 16-bit elements */
} tape_plan;

/* ---- rows plans (tape_plan.c), their 16-bit floats (rows_half.c) and series (rows_series.c) ---- */

/* Kinds of row_place.of: the core's values, the spare block, a register's block, an operand's
 * memory, the lane of a constant, the lanes held of an operand with a period. */
enum { PLACE_NONE = -1, PLACE_CORE, PLACE_SPARE, PLACE_BLOCKS };

/* The rows of operand i; the rows in the block of register r; the place where instruction k writes its rows of
 * lanes. */
row_place rows_place_of_operand(const tape_run *run, int i);
row_place rows_place_of_block(const tape_run *run, int r, size_t bytes);
row_place rows_place_of_result(const tape_run *run, int k, size_t bytes);
/* The rows of the core's values. */
row_place rows_place_of_core(const tape_run *run, size_t bytes);
/* True if the rows of operand i are contiguous, and equally far apart. */
bool rows_are_contiguous(const tape_run *run, int i);
/* True if the rows of an instruction that writes into a STORE's operand are contiguous there. */
bool rows_has_place(const tape_run *run, int k);

/* Plans a LOAD of rows that are contiguous, or of one value for each row. Returns false if they are neither. */
bool rows_load(const tape_run *run, const tape_inst *in);

/* Plans the whole tape as a series. Returns false if it cannot be one. */
bool rows_series(const tape_run *run);

/* Widens the value of register r if it consists of 16-bit elements. These functions return false if there is no such
 * plan. */
bool rows_widen(const tape_run *run, int r);
/* Plans instruction k: the sum of lanes and 16-bit elements; a rounding, or a cast from or to f16 or bf16; a STORE of
 * such elements. */
bool rows_half_sum(const tape_run *run, int k);
bool rows_half_cast(const tape_run *run, int k);
bool rows_half_store(const tape_run *run, int k);

#endif
