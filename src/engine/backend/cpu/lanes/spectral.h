/* Decompositions of one matrix on the CPU, with the bits of the kernels: svd.cu, eigh.cu and eig.cu of kernels/ say what the
 * arguments are. A level has a table for each of f32, f64, c64 and c128. */
#ifndef LANES_SPECTRAL_H
#define LANES_SPECTRAL_H

typedef struct spectral_level {
    void (*svd)(int m, int n, int k, int n_w, void *g, void *w, void *s, void *u, void *v,
                void *room);
    void (*eigh)(int n, int vectors, int sweeps, void *a, void *q, void *w, void *v, void *room);
    /* Only of complex matrices. */
    void (*eig)(int n, int vectors, void *h, void *z, void *x, void *w, void *v, void *room);
} spectral_level;

#endif
