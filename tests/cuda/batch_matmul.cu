// Many small products at once: blockIdx.z is the batch; strides, an epilogue by template, and a transposed operand.
/* expect:
plain: 0 wrong
transposed: 0 wrong
bias: 0 wrong
relu of transposed: 0 wrong
*/
#include <cstdio>
#include <vector>

enum class Epilogue { None, Relu, Bias };

template <int TILE, bool TRANSPOSED, Epilogue E>
__global__ void batched(const float *A, const float *B, const float *bias, float *C, int m, int n, int k)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE + 1];
    A += (size_t)blockIdx.z * m * k;
    B += (size_t)blockIdx.z * k * n;
    C += (size_t)blockIdx.z * m * n;
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.f;
    for (int t = 0; t < k; t += TILE) {
        As[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? A[row * k + t + threadIdx.x] : 0.f;
        if (TRANSPOSED) {
            const int bcol = blockIdx.x * TILE + threadIdx.y;
            Bs[threadIdx.x][threadIdx.y] = bcol < n && t + threadIdx.x < k ? B[bcol * k + t + threadIdx.x] : 0.f;
        } else {
            Bs[threadIdx.y][threadIdx.x] = col < n && t + threadIdx.y < k ? B[(t + threadIdx.y) * n + col] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            acc += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row >= m || col >= n)
        return;
    if constexpr (E == Epilogue::Bias)
        acc += bias[col];
    else if constexpr (E == Epilogue::Relu)
        acc = acc > 0 ? acc : 0;
    C[row * n + col] = acc;
}

template <bool TRANSPOSED, Epilogue E> int wrong(int batch, int m, int n, int k)
{
    std::vector<float> a(batch * m * k), b(batch * k * n), c(batch * m * n), bias(n);
    for (size_t i = 0; i < a.size(); i++)
        a[i] = (int)(i * 7 % 11) - 5;
    for (size_t i = 0; i < b.size(); i++)
        b[i] = (int)(i * 5 % 13) - 6;
    for (int i = 0; i < n; i++)
        bias[i] = i * 100;
    float *da, *db, *dc, *dbias;
    cudaMalloc(&da, a.size() * 4), cudaMalloc(&db, b.size() * 4), cudaMalloc(&dc, c.size() * 4), cudaMalloc(&dbias, n * 4);
    cudaMemcpy(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dbias, bias.data(), n * 4, cudaMemcpyHostToDevice);
    batched<8, TRANSPOSED, E><<<dim3((n + 7) / 8, (m + 7) / 8, batch), dim3(8, 8)>>>(da, db, dbias, dc, m, n, k);
    cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int z = 0; z < batch; z++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float s = 0;
                for (int t = 0; t < k; t++)
                    s += a[(z * m + i) * k + t] * (TRANSPOSED ? b[(z * n + j) * k + t] : b[(z * k + t) * n + j]);
                s = E == Epilogue::Bias ? s + bias[j] : E == Epilogue::Relu && s < 0 ? 0 : s;
                bad += c[(z * m + i) * n + j] != s;
            }
    cudaFree(da), cudaFree(db), cudaFree(dc), cudaFree(dbias);
    return bad;
}

int main()
{
    printf("plain: %d wrong\n", wrong<false, Epilogue::None>(5, 17, 23, 9));
    printf("transposed: %d wrong\n", wrong<true, Epilogue::None>(3, 16, 8, 33));
    printf("bias: %d wrong\n", wrong<false, Epilogue::Bias>(2, 7, 19, 12));
    printf("relu of transposed: %d wrong\n", wrong<true, Epilogue::Relu>(4, 9, 10, 11));
}
