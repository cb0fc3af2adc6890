#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
__global__ void shape() { wmma::fragment<wmma::accumulator, 16, 16, 8, float> f; }
__global__ void type() { wmma::fragment<wmma::matrix_a, 16, 16, 16, int, wmma::row_major> f; }
__global__ void pointer(const float *c) { wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f; wmma::load_matrix_sync(f, c, 16); }
