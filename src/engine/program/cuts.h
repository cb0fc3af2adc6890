/* How the work of a node, or of its program, is cut into parts. Chains, tiles of emitted kernels, blocks, devices and ranks
 * read this description; none has its own list of ops.
 *
 * A part is a box of the result's axes, or a range of the rows from which a box is computed. cut_rules says for each kind of
 * program what of its inputs a box needs, and how the results of parts of rows are joined. The bits are the ones of the whole:
 * an element depends on its row only, and rows are cut where the order of their fold has a subtree, or a step. A contraction
 * is cut at blocks of k (product.h). */
#ifndef PROGRAM_CUTS_H
#define PROGRAM_CUTS_H

#include "base/box.h"
#include "engine/program/product.h"

enum {
    /* All folds have one order. Chunks of a row are folded by themselves; of running folds, so are ranges of chunks. */
    CUT_CHUNK = TAPE_BLOCK,
    CUT_RANGE_CHUNKS = 64,
    CUT_RANGE = CUT_RANGE_CHUNKS * CUT_CHUNK
};

/* How the results of parts of a row become the result of the row. A row has the elements from which one element of the result is
 * computed, or which are computed together. */
typedef enum cut_join {
    CUT_APART, /* rows are not cut: only boxes of the result are computed by themselves */
    CUT_TREE,  /* parts are folded, and their values joined where the fold's order has a subtree */
    CUT_ORDERED, /* the sums of parts are added in order */
    CUT_CARRY,   /* a part continues the running folds of the parts before it */
    CUT_UPDATE,  /* a part of the inputs changes the result of the parts before it */
    CUT_MERGE    /* sorted parts are merged */
} cut_join;

/* The part of an input that a box of the result needs. */
typedef enum cut_sees {
    SEES_ALL,
    SEES_SAME,  /* the same box */
    SEES_ROWS,  /* rows: the axes after the result's axes */
    SEES_LINES, /* rows along the last axis, which the result has, too */
    SEES_ROW,   /* the only row */
    SEES_LEFT,  /* (b, m, k) of a contraction: rows of b and m */
    SEES_RIGHT  /* (b, n, k): rows of b and n */
} cut_sees;

typedef struct cut_rule {
    cut_join join;
    cut_sees in[2]; /* of the first input, and of the others */
} cut_rule;
extern const cut_rule cut_rules[PROGRAM_KINDS];

/* The part of an input that a box of a node's result needs. */
typedef struct cut_input {
    int shared; /* axes [0, shared) walk along axes of the result; of the others, all is needed */
    int from, skip; /* from axis `from` on, they are `skip` axes later in the result */
    int row;        /* axes from here on are the rows that may be cut into parts */
} cut_input;

typedef struct node_cut {
    cut_join join; /* of parts of rows; CUT_APART: rows are not cut */
    int free; /* axes [0, free) of the result can be cut anywhere; of the others, a box has all */
    cut_input in[2]; /* in[1] stands for all inputs from the second on */
} node_cut;

/* The kind of program that computes x. Map nodes are PROGRAM_MAP. So is an assembly, which copies each of its inputs. */
program_kind node_program(const ig_array *x);
/* How a node is cut. Of assemblies and writes, they do not say what a box needs. */
node_cut node_cut_of(const ig_array *x);
/* The same for a node that is computed as a whole. */
node_cut node_cut_whole(void);
/* The part of input i, which has this view, that a box of the result needs. */
box node_cut_box(const node_cut *c, int i, const box *part, const view *v);

/* ---- of programs ---- */

/* The number of a program's rows: of a map the first axis, else the rows that its core reads. 0: it has none. */
int64_t program_rows(const program *p);
/* The axis of core operand i (0, 1: in[i]; 2: out) that walks along these rows; -1: a part of them needs all of the operand. */
int program_row_axis(const program *p, int i);
enum { CORE_OPERANDS = 3 };
/* The core operand i; NULL if the kind has none. */
const operand *program_operand(const program *p, int i);
/* Makes p a program of n of its rows; its views and tapes must be cut, too. */
void program_set_rows(program *p, int64_t n);

#endif
