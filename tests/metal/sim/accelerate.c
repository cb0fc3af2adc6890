/* The products of Accelerate, as far as Ingot calls them: plain loops. */
#include "sim.h"

enum { ROW_MAJOR = 101, TRANSPOSED = 112 };

EXPORT int BLASSetThreading(int model);
EXPORT void cblas_sgemm(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);
EXPORT void cblas_dgemm(int order, int turn_a, int turn_b, int m, int n, int k, double alpha, const double *a, int lda,
                        const double *b, int ldb, double beta, double *c, int ldc);

int BLASSetThreading(int model)
{
    REQUIRE(model == 0 || model == 1, "BLASSetThreading: %d is not a threading model", model);
    return 0;
}

#define GEMM(name, T) \
    void name(int order, int turn_a, int turn_b, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, \
              T beta, T *c, int ldc) \
    { \
        REQUIRE(order == ROW_MAJOR, #name ": order %d; only rows are simulated", order); \
        REQUIRE(lda >= (turn_a == TRANSPOSED ? m : k) && ldb >= (turn_b == TRANSPOSED ? k : n) && ldc >= n, \
                #name ": a leading dimension is too small"); \
        for (int i = 0; i < m; i++) \
            for (int j = 0; j < n; j++) { \
                T sum = 0; \
                for (int p = 0; p < k; p++) \
                    sum += a[turn_a == TRANSPOSED ? (size_t)p * lda + i : (size_t)i * lda + p] * \
                           b[turn_b == TRANSPOSED ? (size_t)j * ldb + p : (size_t)p * ldb + j]; \
                T *to = c + (size_t)i * ldc + j; \
                *to = alpha * sum + (beta == 0 ? 0 : beta * *to); \
            } \
    }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
