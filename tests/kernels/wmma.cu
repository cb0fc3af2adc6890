// Products by fragments: all shapes, layouts and types of sums. Written for tests/test_translate.py, which
// also runs them.
#include <mma.h>
#include <cuda_fp16.h>

using namespace nvcuda;

// c (32 x 32) = a (32 x 48, by rows) * b (48 x 32, by columns): a warp for each 16 x 16 of c.
__global__ void tiles(const half *a, const half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < 48; k += 16) {
        wmma::load_matrix_sync(left, a + row * 48 + k, 48);
        wmma::load_matrix_sync(right, b + column * 48 + k, 48);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * 32 + column, sum, 32, wmma::mem_row_major);
}

// c = alpha * a * b + beta * c, in place, with the matrices in shared memory and a by columns.
__global__ void scaled(const half *a, const half *b, float *c, float alpha, float beta)
{
    __shared__ half left_tile[16 * 24], right_tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) {
        left_tile[i / 16 * 24 + i % 16] = a[i];
        right_tile[i] = b[i];
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum, old;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(left, left_tile, 24);
    wmma::load_matrix_sync(right, right_tile, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::load_matrix_sync(old, c, 16, wmma::mem_col_major);
    for (int i = 0; i < sum.num_elements; i++)
        old.x[i] = alpha * sum.x[i] + beta * old.x[i];
    wmma::store_matrix_sync(c, old, 16, wmma::mem_col_major);
}

template <typename A, typename B, typename C> __device__ void add_product(C &sum, A &a, B &b)
{
    wmma::mma_sync(sum, a, b, sum);
}

// Sums in half, of the tall and of the wide shape; two fragments in an array.
__global__ void oblong(const half *a, const half *b, half *tall, half *wide)
{
    wmma::fragment<wmma::matrix_a, 32, 8, 16, half, wmma::row_major> high;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, half, wmma::row_major> low;
    wmma::fragment<wmma::accumulator, 32, 8, 16, half> sums[2];
    wmma::fill_fragment(sums[0], __float2half(1.0f));
    wmma::load_matrix_sync(high, a, 16);
    wmma::load_matrix_sync(low, b, 8);
    add_product(sums[0], high, low);
    sums[1] = sums[0];
    for (int i = 0; i < sums[1].num_elements; i++)
        sums[1].x[i] = sums[1].x[i] + sums[0].x[i];
    wmma::store_matrix_sync(tall, sums[1], 8, wmma::mem_row_major);
    wmma::fragment<wmma::matrix_a, 8, 32, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 8, 32, 16, half> sum;
    wmma::fill_fragment(sum, __float2half(0.0f));
    wmma::load_matrix_sync(left, b, 16);
    wmma::load_matrix_sync(right, a, 32);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(wide, sum, 8, wmma::mem_col_major);
}
