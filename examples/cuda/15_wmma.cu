/* A product of 16 x 16 matrices by a warp as a whole: half precision in, float out.
 *
 * Run:
 *   ingot run examples/cuda/15_wmma.cu --block 32 --arg 'a=ones:f16[16, 16]' \
 *       --arg 'b=arange:f16[16, 16]' --arg 'c=zeros:f32[16, 16]' | head -3
 * Prints:
 *   c =
 *   [[1920. 1936. 1952. 1968. 1984. 2000. 2016. 2032. 2048. 2064. 2080. 2096.
 *     2112. 2128. 2144. 2160.]
 */
#include <mma.h>

using namespace nvcuda;

__global__ void product(const half *a, const half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
