/* The parts of a contraction's kernel that other kernels can contain too: see contract.c and contract_chain.c. The
 * statements are in kernels/contract_tile.cuh and the files that it includes.
 *
 *   contract_plan.c       the panels of the operands: how they are loaded
 *   contract_functions.c  holes of these files; device functions: offsets of elements, the epilogue */
#ifndef EMIT_CONTRACT_H
#define EMIT_CONTRACT_H

#include "engine/emit/held.h"
#include "engine/emit/rows.h"

/* Points of k of a usual panel; neighbours that a thread reads together; threads of a warp across and down the tile. */
enum { TILE_K = 16, GROUP = 4, LANES_N = 8, LANES_M = 4 };

/* A group of axes of an operand: b, m (or n), or k. */
typedef struct contract_axes {
    int first, n;
} contract_axes;

typedef struct contract_groups {
    contract_axes batch, rows, k;
} contract_groups;

/* How a side's panel is loaded. */
typedef struct contract_side {
    int tile;     /* rows of a panel */
    int pitch;    /* lanes from one point of k to the next in a panel */
    bool along_k; /* neighbouring points of k lie closer together than neighbouring rows */
    int vector;   /* elements of a load */
    bool table;   /* shared memory has the offsets of all points of k: they take divisions */
} contract_side;

/* How a block computes a tile. */
typedef struct contract_shape {
    int rows, cols; /* of a thread */
    int vector;     /* lanes that are read together, at most */
    int warps_n, threads;
    int points;    /* points of k of a panel */
    bool matrices; /* the sums are fragments of matrices, which warps multiply */
    bool large;    /* tiles are large: sums of blocks of k lie in shared memory, not in registers */
} contract_shape;

typedef struct contraction {
    const program *p;
    int number;  /* within its kernel: part of its functions' names */
    int program; /* number in the chain */
    contract_shape shape;
    contract_side side[2]; /* of rows m, of columns n */
    int vector;            /* results that are stored together */
    /* In a chain: the slots that exist by rows (in[0] may be one) and the number of rows. */
    const emit_locals *locals;
    const emit_local *from;
    int64_t chain_rows;
    const held_values *held; /* values that the epilogue leaves in registers; NULL: none */
    bool in_registers;       /* in[0] has no memory: see contract_attend.c */
} contraction;

/* Fills side and vector; the caller sets the other fields. Tiles are made narrower until the panels take at most `room`
 * bytes. */
void contraction_plan(emit_writer *w, contraction *c, int64_t room);
int64_t contraction_panel_bytes(const emit_writer *w, const contraction *c);
/* The groups of axes of in[side]. */
contract_groups contraction_groups(const program *p, int side);
/* Holes and device functions that the tile needs. */
void contraction_fill(emit_writer *w, const contraction *c);
/* Attention by large tiles. Sets *done to true if it emitted the chain of n programs; otherwise contract_chain.c
 * must. */
ig_status emit_contract_attend(const program *p, int n, const emit_target *t, emitted *out,
                               bool *done);
/* A product of few rows: see contract_vector.c. True if the program has its form, and if a device can run it so. */
enum { VECTOR_ROWS = 8 };
bool contraction_is_vector(const program *p);
bool contraction_runs_as_vector(const program *p, const emit_target *t);
ig_status emit_contract_vector(const program *p, const emit_target *t, emitted *out);
/* True if warps multiply matrices. */
bool contraction_uses_matrices(const program *p, const emit_target *t);

/* Parameters and arguments of the epilogue that a chain adds. */
#define CONTRACT_LOCAL_PARAMS(c) ((c)->locals ? "unsigned char *local, int local_row, " : "")
#define CONTRACT_LOCAL_ARGS(c) ((c)->locals ? ROWS_LOCAL_ARGS : "")

/* The dtype of the sums' lanes, which is the epilogue's input. */
ig_dtype contraction_lane(const program *p);

/* Points of a block of k: all of k, or an even part of it. */
int64_t contraction_block(const emit_writer *w, const program *p);

/* The tile on a CPU, where a block is one thread. */
enum { SERIAL_ROWS = 32, SERIAL_COLS = 64 };
#define SERIAL_SHAPE ((contract_shape){.rows = 1, .cols = 1, .vector = 1, .threads = 1})

/* Bytes of the offsets of all points of k, and of some zeros after them. */
int64_t contraction_table_bytes(const emit_writer *w, const program *p);

#endif
