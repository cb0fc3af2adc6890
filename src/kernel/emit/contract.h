/* The tile of a contraction, as text that other kernels can hold too: see contract.c and contract_chain.c. */
#ifndef EMIT_CONTRACT_H
#define EMIT_CONTRACT_H

#include "kernel/emit/rows.h"

/* How a side's panel is loaded. */
typedef struct contract_side {
    char name[8]; /* "m0" or "n0": of its functions and variables */
    int tile;     /* rows of a panel */
    int pitch;    /* lanes from one point of k to the next in a panel */
    bool along_k; /* neighbouring points of k lie closer together than neighbouring rows */
    int vector;   /* elements of a load */
} contract_side;

/* How a block computes a tile. */
typedef struct contract_shape {
    int rows, cols; /* of a thread */
    int vector;     /* lanes that are read together, at most */
    int warps_n, threads;
    bool matrices; /* the sums are fragments: see contract_matrix.c */
    bool large;    /* tiles are large: sums of blocks of k lie in shared memory, not in registers */
} contract_shape;

typedef struct contraction {
    const program *p;
    int number;  /* in its kernel: functions have it in their names */
    int program; /* number in the chain */
    contract_shape shape;
    contract_side side[2]; /* of rows m, of columns n */
    int vector;            /* results that are stored together */
    /* In a chain: the slots that exist by rows, of which in[0] may be one, and the number of rows. */
    const emit_locals *locals;
    const emit_local *from;
    int64_t chain_rows;
} contraction;

/* Fills side and vector; the other fields are set. Tiles are made narrower until the panels take at most `room` bytes. */
void contraction_plan(emit_writer *w, contraction *c, int64_t room);
int64_t contraction_panel_bytes(const emit_writer *w, const contraction *c);
/* Device functions that the tile needs. */
void contraction_functions(emit_writer *w, const contraction *c);
/* Statements that compute the tile of batch `batch` at row m<number>_first and column n<number>_first. All threads of
 * the block execute them; `panels` is shared memory. */
void contraction_tile(emit_writer *w, const contraction *c);
/* The parts of a tile whose sums are fragments. */
bool contraction_uses_matrices(const program *p, const emit_target *t);
void contraction_matrix_begin(emit_writer *w, const contraction *c);
void contraction_matrix_products(emit_writer *w, const contraction *c);
void contraction_matrix_end(emit_writer *w, const contraction *c);

/* The lanes of the sums. */
ig_dtype contraction_lane(const program *p);

/* Points of a block of k: k as a whole, or its even cut. */
int64_t contraction_block(const emit_writer *w, const program *p);

/* The tile on a CPU, where a block is one thread, and the bytes of its panels: contract_serial.c. */
enum { SERIAL_ROWS = 32, SERIAL_COLS = 64 };
#define SERIAL_SHAPE ((contract_shape){.rows = 1, .cols = 1, .vector = 1, .threads = 1})
void contraction_serial_tile(emit_writer *w, const contraction *c);
int64_t contraction_serial_bytes(const emit_writer *w, const program *p);

#endif
