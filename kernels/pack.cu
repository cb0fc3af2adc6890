/* Matrices of any strides become rows of k, one after another, each at a multiple of 16 bytes: for kernels
 * that cannot read them otherwise. NVRTC gets this text after arguments.h and BYTES, of an element: 2, or 4 for
 * tf32, which is rounded to nearest. */
#if BYTES == 2
typedef unsigned short element;
static __device__ __forceinline__ element rounded(element x) { return x; }
#else
typedef float element;
static __device__ __forceinline__ element rounded(element x)
{
    unsigned t;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(t) : "f"(x));
    return __uint_as_float(t);
}
#endif

/* A block of 32 x 8 threads moves 32 x 32 elements. */
extern "C" __global__ void pack(const element *from, element *to, const pack_sizes g)
{
    __shared__ element tile[32][33];
    const int k0 = blockIdx.x * 32, row0 = blockIdx.y * 32, job = blockIdx.z;
    const bool k_inner = g.point == 1;
    from += job / g.n_batch * g.outer + job % g.n_batch * g.batch;
    to += (long long)job * g.rows * g.ld;
    for (int i = threadIdx.y; i < 32; i += 8) {
        const int row = row0 + (k_inner ? i : threadIdx.x), k = k0 + (k_inner ? threadIdx.x : i);
        if (row < g.rows && k < g.k)
            tile[row - row0][k - k0] = rounded(from[row * g.row + k * g.point]);
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        const int row = row0 + i, k = k0 + threadIdx.x;
        if (row < g.rows && k < g.k)
            to[row * g.ld + k] = tile[i][threadIdx.x];
    }
}
