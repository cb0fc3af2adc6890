/* How a tape is run: what is planned once for all runs and bound to memory when a run starts
 * (tape_plan.c), and what tape_run.c uses for each block. */
#ifndef CPU_TAPE_H
#define CPU_TAPE_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/elements/elements.h"

enum {
    NOT_DIRECT = -1,
    STEP_MOST = 16 /* MAPs that go through a block together */
};

/* How an operand is reached. */
typedef struct operand_plan {
    const element_moves *moves;
    int64_t bytes; /* of an element */
    bool half;     /* f16, bf16: stored otherwise than in lanes */
    bool packed;   /* all points lie one after another */
    bool loaded;   /* by a LOAD */
    bool constant; /* all points are one element ... */
    /* of a run: */
    char *base;
    uint64_t lane;       /* ... which is this lane, if it is loaded */
    int64_t at;          /* the point at which the walk stands; -1: nowhere */
    char *tile;          /* it lies along the tile axis: n points of TAPE_TILE_ROWS rows ... */
    int64_t tile_at;     /* ... from this offset on ... */
    int64_t tile_points; /* ... with this n; 0: none */
    view_walk walk;      /* comes last: no plan has it */
} operand_plan;

/* How an instruction is run. */
typedef struct inst_plan {
    int direct;    /* the operand into which it may write its result, or NOT_DIRECT */
    int one;       /* MAP: its inputs of one value (MAP_ONE_*) when it last ran; -1: not yet */
    map_loop loop; /* MAP: its loop then */
    size_t bytes;  /* MAP that can share steps with others: of a lane; else 0 */
    int after;     /* MAP, CAST: the one before it whose value is for this one alone; -1: none */
    int end;       /* BITS: the product that makes fractions of them, at once; -1: none */
} inst_plan;

/* Who takes what a register has. */
typedef struct reg_use {
    int n, user; /* how often, and the first instruction that does */
} reg_use;

/* Where row r of the space finds or leaves values: at + r * move; in a register's own block, where the
 * r-th row of the block does. Rows of a space of one axis are its points, of which a block is taken as a
 * whole. */
typedef struct row_place {
    char *at; /* of a run; NULL: the core's values */
    int64_t move;
    int16_t of;  /* what is there, by number: see tape_plan.c */
    bool one;    /* one value for all points of the row */
    bool own;    /* in such a block */
    bool packed; /* rows lie one after another */
} row_place;

/* What a step does as a run (see run_loop): one row, or those of MAPs that follow each other. */
typedef struct step_run {
    int rows, code; /* 0 rows: it is no arithmetic */
    bool turned;    /* of one row: x[1] is what the run begins with, and x[0] one value */
    run_loop loop;  /* of more than one row */
} step_run;

/* How many operands a step takes; where it is no run, those that a map_loop has. */
static inline int step_operands(const step_run *run) { return run->loop ? run->rows + 1 : 3; }

typedef struct row_step {
    map_loop loop;
    step_run run;
    int op;         /* row of ops.def, unless it is a run of more */
    ig_dtype dtype; /* of its lanes */
    row_place d, x[RUN_MOST + 1];
} row_step;

/* A tape over rows that all run alike, see plan_rows. */
typedef struct rows_plan {
    int64_t points;   /* of a row; 0: it is no such tape */
    int64_t most;     /* rows of a block that are better run so */
    bool flat;        /* the space has one axis: a block is a row, of TAPE_BLOCK points at most */
    row_place *shown; /* of each register: what it shows at the end */
    row_step *step;
    int n_step;
    size_t bytes; /* of a lane of the result, if there is one: the same in all steps */
    /* Where the result is to be folded: the loop that does so in place of the last steps, what it keeps
     * and what it takes; NULL: none. */
    fold_loop fold;
    int n_folded; /* those steps */
    row_place kept, taken[2];
} rows_plan;

/* Operands that must not lie in the same memory. */
typedef struct tape_apart {
    int16_t stored, loaded;
} tape_apart;

typedef struct tape_plan {
    operand_plan *operand;
    inst_plan *inst;
    rows_plan rows;
    size_t *block; /* of each register: bytes of its block ... */
    char **own;    /* ... and the block, of a run */
    reg_use *use;  /* of each register, while instructions are planned */
    tape_apart *apart;
    int n_apart;
    int tile_axis;
    /* of a run: */
    char *spare;  /* a block for what waits between two steps ... */
    char *narrow; /* ... and another, for elements of 16 bits too */
} tape_plan;

/* The operand that is all of register r's value when the k-th instruction takes it; -1: there is none. */
int tape_constant(const tape *t, int k, int r);

/* The k-th instruction, a MAP whose inputs of one value are `one` (MAP_ONE_*), as a run of one row. */
step_run tape_run_of(const tape_run *run, int k, int one);
/* Adds the k-th instruction to the run of the step before it, if it comes after that one alone and there is a
 * loop. *other is then the k-th's input that is the run's last operand. */
bool tape_run_on(const tape_run *run, int k, int one, step_run *before, int *other);

#endif
