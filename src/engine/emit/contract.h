/* The parts of a contraction's kernel, as text that other kernels can hold too: see contract.c and contract_chain.c.
 *
 *   contract_functions.c  device functions: where elements are, how they become lanes, the epilogue
 *   contract_panels.c     panels of the operands: from memory to registers to shared memory
 *   contract_tile.c       the tile: sums in registers over all panels
 *   contract_matrix.c     the same, where warps multiply matrices
 *   contract_serial.c     the same on a CPU, where a block is one thread */
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
    char name[8]; /* "m0" or "n0": of its functions and variables */
    int tile;     /* rows of a panel */
    int points;   /* of k of a panel */
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
    int points;    /* of k of a panel; 0: TILE_K */
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
    const held_values *held; /* what the epilogue leaves in registers; NULL: nothing */
} contraction;

/* Fills side and vector; the other fields are set. Tiles are made narrower until the panels take at most `room` bytes. */
void contraction_plan(emit_writer *w, contraction *c, int64_t room);
int64_t contraction_panel_bytes(const emit_writer *w, const contraction *c);
/* The groups of axes of in[side]. */
contract_groups contraction_groups(const program *p, int side);
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

/* Parameters and arguments of the epilogue that a chain adds. */
#define CONTRACT_LOCAL_PARAMS(c) ((c)->locals ? "unsigned char *local, int team, " : "")
#define CONTRACT_LOCAL_ARGS(c) ((c)->locals ? ROWS_LOCAL_ARGS : "")

/* ---- panels: contract_panels.c ---- */

/* Some of the loads that bring a panel: those of a side from `first` on. */
typedef struct panel_part {
    int side, first, count;
} panel_part;

/* All of them. */
panel_part panel_whole(const contraction *c, int side);
/* Declares next_m0[]. */
void panel_declare(emit_writer *w, const contraction *c, panel_part part);
/* The offsets of the points of k, for sides that have a table: m0_points[]. */
void panel_points(emit_writer *w, const contraction *c);
/* The offsets of the rows that the thread loads: m0_at[]. */
void panel_rows(emit_writer *w, const contraction *c, int side);
/* next_m0[]: the elements of the panel that begins at point `k`, in registers. Nothing uses them until they are
 * stored, so that the loads need not be waited for. With `whole`, all points of the panel are known to exist. */
void panel_load(emit_writer *w, const contraction *c, panel_part part, const char *k, bool whole);
/* Writes next_m0[] to shared memory, neighbouring rows together: to the panel number `buffer` of s_m0. */
void panel_store(emit_writer *w, const contraction *c, panel_part part);

/* The dtype of the sums' lanes: what the epilogue takes. */
ig_dtype contraction_lane(const program *p);

/* Points of a block of k: k as a whole, or its even cut. */
int64_t contraction_block(const emit_writer *w, const program *p);

/* The tile on a CPU, where a block is one thread, and the bytes of its panels: contract_serial.c. */
enum { SERIAL_ROWS = 32, SERIAL_COLS = 64 };
#define SERIAL_SHAPE ((contract_shape){.rows = 1, .cols = 1, .vector = 1, .threads = 1})
void contraction_serial_tile(emit_writer *w, const contraction *c);
int64_t contraction_serial_bytes(const emit_writer *w, const program *p);

#endif
