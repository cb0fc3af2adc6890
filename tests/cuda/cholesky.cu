// Cholesky and LU of a small matrix in one block: column by column, barriers in loops, double precision.
/* opencl: IG-WARP
expect:
L L^T is the matrix: yes
L U is the matrix with its rows exchanged: yes
first pivots: 5 6 7
*/
#include <cmath>
#include <cstdio>
#include <vector>

#define N 24
#define A(i, j) a[(i) * N + (j)]

__global__ void cholesky(double *a)
{
    const int t = threadIdx.x;
    for (int k = 0; k < N; k++) {
        if (t == k)
            A(k, k) = sqrt(A(k, k));
        __syncthreads();
        if (t > k)
            A(t, k) /= A(k, k);
        __syncthreads();
        for (int j = k + 1; j <= t; j++)
            A(t, j) -= A(t, k) * A(j, k);
        __syncthreads();
    }
    for (int j = t + 1; j < N; j++)
        A(t, j) = 0;
}

// With row pivoting; pivots are found by all threads of a warp.
__global__ void lu(double *a, int *pivot)
{
    __shared__ double row[N];
    __shared__ int p;
    const int t = threadIdx.x;
    for (int k = 0; k < N; k++) {
        double mine = t >= k && t < N ? fabs(A(t, k)) : -1.0;
        int which = t;
        for (int offset = 16; offset > 0; offset >>= 1) {
            const double other = __shfl_down_sync(0xffffffff, mine, offset);
            const int from = __shfl_down_sync(0xffffffff, which, offset);
            if (other > mine) {
                mine = other;
                which = from;
            }
        }
        if (t == 0)
            pivot[k] = p = which;
        __syncthreads();
        if (t < N) {
            const double x = A(k, t);
            A(k, t) = A(p, t);
            A(p, t) = x;
            row[t] = A(k, t);
        }
        __syncthreads();
        if (t > k && t < N) {
            const double f = A(t, k) /= row[k];
            for (int j = k + 1; j < N; j++)
                A(t, j) -= f * row[j];
        }
        __syncthreads();
    }
}

int main()
{
    std::vector<double> m(N * N), s(N * N), f(N * N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            m[i * N + j] = (i * 17 + j * 29 + i * j) % 23 - 11 + (i == (j + 5) % N ? 30 : 0);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            s[i * N + j] = i == j;
            for (int k = 0; k < N; k++)
                s[i * N + j] += m[i * N + k] * m[j * N + k];
        }
    double *d;
    int *dp, p[N];
    cudaMalloc(&d, N * N * sizeof(double));
    cudaMalloc(&dp, N * sizeof(int));
    cudaMemcpy(d, s.data(), N * N * sizeof(double), cudaMemcpyHostToDevice);
    cholesky<<<1, N>>>(d);
    cudaMemcpy(f.data(), d, N * N * sizeof(double), cudaMemcpyDeviceToHost);
    double worst = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += f[i * N + k] * f[j * N + k];
            worst = fmax(worst, fabs(sum - s[i * N + j]));
        }
    printf("L L^T is the matrix: %s\n", worst < 1e-9 ? "yes" : "no");
    cudaMemcpy(d, m.data(), N * N * sizeof(double), cudaMemcpyHostToDevice);
    lu<<<1, 32>>>(d, dp);
    cudaMemcpy(f.data(), d, N * N * sizeof(double), cudaMemcpyDeviceToHost);
    cudaMemcpy(p, dp, sizeof p, cudaMemcpyDeviceToHost);
    for (int k = 0; k < N; k++) // the same swaps
        for (int j = 0; j < N; j++)
            std::swap(m[k * N + j], m[p[k] * N + j]);
    worst = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k <= i && k <= j; k++)
                sum += (k == i ? 1 : f[i * N + k]) * f[k * N + j];
            worst = fmax(worst, fabs(sum - m[i * N + j]));
        }
    printf("L U is the matrix with its rows exchanged: %s\n", worst < 1e-9 ? "yes" : "no");
    printf("first pivots: %d %d %d\n", p[0], p[1], p[2]);
}
