/* Sums of kernels that take some columns of a large matrix: tridiagonal.cu and bidiagonal.cu. All threads of a block
 * call them. The order of each sum is fixed by CHUNK, GROUPS and ROW_LANES. src/engine/backend/cpu/lanes/panel.inc has
 * the same for the CPU.
 *
 * Defined before it: REAL, F64. */
#ifndef PANEL_CUH
#define PANEL_CUH

enum {
    CHUNK = 64,
    GROUPS = 4,
    ROW_LANES = 32,
    THREADS = CHUNK * GROUPS,
    ROWS = THREADS / ROW_LANES
};

#if F64
#define TINY 0x1p-900
#else
#define TINY 0x1p-100f
#endif

/* The sum of `count` numbers, one for each place of part, by halves. */
static __device__ REAL tree_sum(REAL *part, int count, REAL own, int place)
{
    part[place] = own;
    for (int step = count / 2; step > 0; step /= 2) {
        __syncthreads();
        if (place % count < step)
            part[place] += part[place + step];
    }
    __syncthreads();
    const REAL total = part[place - place % count];
    __syncthreads();
    return total;
}

/* The sum of n numbers: place i of CHUNK sums i, i + CHUNK, and so on. Of interest to all threads. */
static __device__ REAL chunk_total(REAL *part, int n, const REAL *x)
{
    REAL own = 0;
    for (int i = threadIdx.x % CHUNK; i < n; i += CHUNK)
        own += x[i];
    return tree_sum(part, CHUNK, own, threadIdx.x);
}

#endif
