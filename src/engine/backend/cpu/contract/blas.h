/* An optional BLAS of the system, loaded if the user asks for it. */
#ifndef CPU_BLAS_H
#define CPU_BLAS_H

#include <stdbool.h>

/* The numbers of CBLAS. */
enum { BLAS_ROW_MAJOR = 101, BLAS_PLAIN = 111, BLAS_TURNED = 112 };

/* A matrix product on the calling thread alone. */
typedef void blas_sgemm(int order, int turn_a, int turn_b, int m, int n, int k, float alpha,
                        const float *a, int lda, const float *b, int ldb, float beta, float *c,
                        int ldc);
typedef void blas_dgemm(int order, int turn_a, int turn_b, int m, int n, int k, double alpha,
                        const double *a, int lda, const double *b, int ldb, double beta, double *c,
                        int ldc);

typedef struct blas {
    const char *name; /* "openblas" */
    bool measured;    /* IG_BLAS=auto: use it only if it was measured to be faster */
    blas_sgemm *sgemm;
    blas_dgemm *dgemm;
} blas;

/* The library that IG_BLAS asks for, loaded by the first call; NULL if none is asked for or found. */
const blas *blas_get(void);
/* Why the value of IG_BLAS is ignored, or NULL; loads nothing. */
const char *blas_note(void);
/* The library in use and its file, as text; NULL if IG_BLAS is off. Loads the library. */
const char *blas_describe(void);

#endif
