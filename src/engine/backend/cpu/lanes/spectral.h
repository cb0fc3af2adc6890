/* Decompositions of one matrix on the CPU, with the bits of the kernels: svd.cu, eigh.cu and eig.cu of kernels/ describe
 * the arguments. A level has a table for each of f32, f64, c64 and c128. */
#ifndef LANES_SPECTRAL_H
#define LANES_SPECTRAL_H

enum { PANEL_CHUNK = 64, DIVIDE_PIECE = 32 };

/* Matrices of up to STACK_ROWS rows and columns are decomposed several at a time, from STACK_LEAST on, up to STACK_MOST. */
enum { STACK_ROWS = 32, STACK_LEAST = 8, STACK_MOST = 16 };

/* A call of kernels/tridiagonal.cu for one matrix. */
typedef struct panel_call {
    int m, columns;
    const void *a;
    void *vw, *d, *e, *room;
} panel_call;

/* A call of kernels/bidiagonal.cu for one matrix. */
typedef struct bidiagonal_call {
    int m, n, columns;
    const void *a, *at;
    void *ux, *yv, *d, *e, *room;
} bidiagonal_call;

/* A call of kernels/divide.cu for one pair of halves. */
typedef struct divide_of {
    int half;
    const void *w, *z1, *z2, *rho;
    void *values, *s, *room;
    int *plan;
} divide_of;

/* A call of kernels/divide_svd.cu for one pair of halves. */
typedef struct divide_svd_of {
    int half, left;
    const void *w, *z1, *z2, *link;
    void *values, *s_right, *s_left, *room;
    int *plan;
} divide_svd_of;

typedef struct spectral_level {
    /* svd and eigh take up to STACK_MOST neighbouring matrices. */
    void (*svd)(int count, int m, int n, int k, int n_w, void *g, void *w, void *s, void *u,
                void *v, void *room);
    void (*eigh)(int count, int n, int vectors, int sweeps, void *a, void *q, void *w, void *v,
                 void *room);
    /* Only of complex matrices. */
    void (*eig)(int n, int vectors, void *h, void *z, void *x, void *w, void *v, void *room);
    /* Only of real matrices: a round, for chunks of PANEL_CHUNK elements. The chunks of round 3 j + 1 cover 2 j elements
     * more than the matrix has rows. */
    void (*panel)(const panel_call *x, int round, int from_chunk, int to_chunk);
    /* The same; rounds 4 j + 1 and 4 j + 3 cover 2 j and 2 j + 1 elements more than there are columns and rows. */
    void (*bidiagonal)(const bidiagonal_call *x, int round, int from_chunk, int to_chunk);
    /* A round, for up to DIVIDE_PIECE roots, poles or vectors from `from` on; round 0 is not divided. */
    void (*divide)(const divide_of *x, int round, int from);
    void (*divide_svd)(const divide_svd_of *x, int round, int from);
} spectral_level;

#endif
