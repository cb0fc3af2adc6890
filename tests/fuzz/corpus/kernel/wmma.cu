#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
__global__ void product(const half *a, const half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b + 8, 32);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
__global__ void scaled(float *c)
{
    wmma::fragment<wmma::accumulator, 32, 8, 16, half> f[2];
    for (int i = 0; i < f[0].num_elements; i++)
        f[1].x[i] = f[0].x[i] * __float2half(2);
}
__global__ void loaded(const float *c)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
    wmma::load_matrix_sync(f, c, 16, wmma::mem_col_major);
}
