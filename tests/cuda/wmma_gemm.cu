// Tensor cores: 16x16x16 fragments of half with float sums, a tile for each warp, checked by the host.
/* expect:
0 of 1536 wrong; corner -5
*/
#include <mma.h>
#include <cstdio>
#include <vector>
using namespace nvcuda;

const int WMMA_M = 16, WMMA_N = 16, WMMA_K = 16;

__global__ void wmma_example(const half *a, const half *b, float *c, int M, int N, int K, float alpha, float beta)
{
    int lda = M, ldb = K, ldc = M; // column major, as BLAS has it
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int warpN = (blockIdx.y * blockDim.y + threadIdx.y);
    wmma::fragment<wmma::matrix_a, WMMA_M, WMMA_N, WMMA_K, half, wmma::col_major> a_frag;
    wmma::fragment<wmma::matrix_b, WMMA_M, WMMA_N, WMMA_K, half, wmma::col_major> b_frag;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, float> acc_frag;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, float> c_frag;
    wmma::fill_fragment(acc_frag, 0.0f);
    for (int i = 0; i < K; i += WMMA_K) {
        int aRow = warpM * WMMA_M, bCol = warpN * WMMA_N;
        if (aRow < M && bCol < N) {
            wmma::load_matrix_sync(a_frag, a + aRow + i * lda, lda);
            wmma::load_matrix_sync(b_frag, b + i + bCol * ldb, ldb);
            wmma::mma_sync(acc_frag, a_frag, b_frag, acc_frag);
        }
    }
    int cRow = warpM * WMMA_M, cCol = warpN * WMMA_N;
    if (cRow < M && cCol < N) {
        wmma::load_matrix_sync(c_frag, c + cRow + cCol * ldc, ldc, wmma::mem_col_major);
        for (int i = 0; i < c_frag.num_elements; i++)
            c_frag.x[i] = alpha * acc_frag.x[i] + beta * c_frag.x[i];
        wmma::store_matrix_sync(c + cRow + cCol * ldc, c_frag, ldc, wmma::mem_col_major);
    }
}

int main()
{
    const int M = 48, N = 32, K = 64;
    std::vector<half> a(M * K), b(K * N);
    std::vector<float> c(M * N), want(M * N);
    for (int i = 0; i < M * K; i++)
        a[i] = __float2half((float)(i % 7 - 3));
    for (int i = 0; i < K * N; i++)
        b[i] = __float2half((float)(i % 5 - 2) * 0.5f);
    for (int i = 0; i < M * N; i++)
        c[i] = i % 11;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++)
                s += __half2float(a[i + k * M]) * __half2float(b[k + j * K]);
            want[i + j * M] = 2.0f * s + 0.5f * c[i + j * M];
        }
    half *da, *db;
    float *dc;
    cudaMalloc(&da, a.size() * sizeof(half));
    cudaMalloc(&db, b.size() * sizeof(half));
    cudaMalloc(&dc, c.size() * sizeof(float));
    cudaMemcpy(da, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(dc, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(64, 2), grid((M + 31) / 32, (N + 31) / 32);
    wmma_example<<<grid, block>>>(da, db, dc, M, N, K, 2.0f, 0.5f);
    cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < M * N; i++)
        wrong += c[i] != want[i];
    printf("%d of %d wrong; corner %g\n", wrong, M * N, c[M * N - 1]);
    return wrong != 0;
}
