/* Factorizations of stacks of matrices (factor_steps.cuh), a block for each matrix, and triangular systems, a thread for each
 * column. tasks is the number of blocks; the number of threads of a block is a power of 2, at most THREADS. */
#include "factor_parts.cuh"

enum { THREADS = 256, QR_WIDE = 32 };

#define FN static __device__
#define NAME(f) f##_of
#define EACH(i, a, b) for (int i = (a) + (int)threadIdx.x; i < (b); i += (int)blockDim.x)
#define GRID(i, a, b, j, c, d) \
    for (int i = (a), low_ = (c), wide_ = (d) - low_, at_ = (int)threadIdx.x; \
         at_ < ((b) - (a)) * wide_ && (i = (a) + at_ / wide_) >= 0; at_ += (int)blockDim.x) \
        for (int j = low_ + at_ % wide_, once_ = 1; once_ && j >= (c); once_ = 0)
#define COLUMNS(l, lanes, i, a, b, j, n) \
    for (int at_ = (int)threadIdx.x; at_ < (lanes) * (n) && lane_starts(w, w_im, at_); \
         at_ += (int)blockDim.x) \
        for (int l = at_ / (n), j = at_ % (n), i = (a) + l; i < (b); i += (lanes))
#define LARGEST(n, size) \
    most_starts(w, u); \
    for (int i_ = (int)threadIdx.x; i_ < (n); i_ += (int)blockDim.x) \
        most_takes(w, u, (size), i_); \
    most_joins(w, u); \
    const T most = w[0]; \
    const int most_at = u[0] == NOWHERE ? 0 : u[0]; \
    __syncthreads()
#define SYNC __syncthreads()
#define FIRST (threadIdx.x == 0)
#define ROOT(x) root_of(x)
#define LESS(x, a, b) less_of(x, a, b)

static __device__ bool lane_starts(T *w, T *w_im, int at)
{
    w[at] = 0;
    if (Z)
        w_im[at] = 0;
    return true;
}

static __device__ void most_starts(T *w, int *u)
{
    w[threadIdx.x] = -1;
    u[threadIdx.x] = NOWHERE;
}

static __device__ void most_takes(T *w, int *u, T size, int at)
{
    if (size > w[threadIdx.x]) {
        w[threadIdx.x] = size;
        u[threadIdx.x] = at;
    }
}

static __device__ void most_joins(T *w, int *u)
{
    __syncthreads();
    for (int half = (int)blockDim.x / 2; half > 0; half /= 2) {
        const int i = (int)threadIdx.x, other = i + half;
        if (i < half && (w[other] > w[i] || (w[other] == w[i] && u[other] < u[i]))) {
            w[i] = w[other];
            u[i] = u[other];
        }
        __syncthreads();
    }
}

#include "factor_steps.cuh"

extern "C" __global__ void cholesky(int tasks, int n, PARTS(const T *a, const T *a_im), PARTS(T *l, T *l_im))
{
    const long long at = (long long)blockIdx.x * n * n;
    cholesky_of(n, a + at, IM(a_im + at), l + at, IM(l_im + at));
}

extern "C" __global__ void lu(int tasks, int m, int n, PARTS(const T *a, const T *a_im), PARTS(T *f, T *f_im), int *pivot,
                              int *order)
{
    __shared__ T w[THREADS];
    __shared__ int u[THREADS];
    const long long at = (long long)blockIdx.x * m * n;
    EACH(i, 0, m * n)
    {
        f[at + i] = a[at + i];
        if (Z)
            IM(f_im)[at + i] = IM(a_im)[at + i];
    }
    lu_of(m, n, f + at, IM(f_im + at), pivot + (long long)blockIdx.x * (m < n ? m : n),
          order + (long long)blockIdx.x * m, w, u);
}

extern "C" __global__ void order(int tasks, int m, int k, const int *pivot, int *order)
{
    order_of(m, k, pivot + (long long)blockIdx.x * k, order + (long long)blockIdx.x * m);
}

extern "C" __global__ void qr(int tasks, int m, int n, PARTS(const T *a, const T *a_im), PARTS(T *v, T *v_im),
                              PARTS(T *r, T *r_im), PARTS(T *t, T *t_im))
{
    __shared__ T w[2 * QR_LANES * QR_WIDE];
    __shared__ int u[THREADS];
    const long long at = (long long)blockIdx.x * m * n, small = (long long)blockIdx.x * n * n;
    EACH(i, 0, m * n)
    {
        v[at + i] = a[at + i];
        if (Z)
            IM(v_im)[at + i] = IM(a_im)[at + i];
    }
    qr_of(m, n, v + at, IM(v_im + at), r + small, IM(r_im + small), t + small, IM(t_im + small), w, u);
}

/* x = b, then a x = b is solved for its columns. a (n x n) is triangular, with ones on its diagonal if unit. A block
 * takes blockDim.x columns of a matrix. */
extern "C" __global__ void substitute(int tasks, int n, int columns, int upper, int unit,
                                      PARTS(const T *a, const T *a_im), PARTS(const T *b, const T *b_im),
                                      PARTS(T *x, T *x_im))
{
    const int chunks = (columns + (int)blockDim.x - 1) / (int)blockDim.x;
    const long long matrix = blockIdx.x / chunks, small = matrix * n * n, at = matrix * n * columns;
    const int j = (int)(blockIdx.x % chunks) * (int)blockDim.x + (int)threadIdx.x;
    if (j >= columns)
        return;
    for (int step = 0; step < n; step++) {
        const int i = upper ? n - 1 - step : step;
        const long long row = small + (long long)i * n, here = at + (long long)i * columns + j;
        T xr = b[here], xi = Z ? IM(b_im)[here] : 0;
        for (int q = 0; q < step; q++) {
            const int p = upper ? n - 1 - q : q;
            const long long there = at + (long long)p * columns + j;
            const T lr = a[row + p], li = Z ? IM(a_im)[row + p] : 0;
            const T yr = x[there], yi = Z ? IM(x_im)[there] : 0;
            xr = LESS(xr, lr, yr);
            if (Z) {
                xr = LESS(xr, -li, yi);
                xi = LESS(LESS(xi, lr, yi), li, yr);
            }
        }
        if (!unit) {
            const T dr = a[row + i], di = Z ? IM(a_im)[row + i] : 0;
            DIVISOR(dr, di);
            QUOTIENT(xr, xi, xr, xi);
        }
        x[here] = xr;
        if (Z)
            IM(x_im)[here] = xi;
    }
}
