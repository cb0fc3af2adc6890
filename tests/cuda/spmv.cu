// Sparse matrix times vector: rows by threads and rows by warps (CSR), ELL, and COO with atomics.
/* opencl: IG-WARP
expect:
rows 300, nonzeros 1794
CSR scalar ok
CSR vector ok
ELL ok
COO ok
*/
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cmath>

struct Csr {
    int rows;
    const int *ptr, *col;
    const float *val;
};

__global__ void csr_scalar(int rows, const int *ptr, const int *col, const float *val, const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row >= rows)
        return;
    float dot = 0;
    for (int j = ptr[row], end = ptr[row + 1]; j < end; j++)
        dot += val[j] * x[col[j]];
    y[row] = dot;
}

__global__ void csr_vector(Csr m, const float *__restrict__ x, float *y)
{
    const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    float sum = 0.f;
    if (row < m.rows)
        for (int j = m.ptr[row] + lane; j < m.ptr[row + 1]; j += 32)
            sum += m.val[j] * __ldg(&x[m.col[j]]);
    for (int offset = 16; offset; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0 && row < m.rows)
        y[row] = sum;
}

template <int WIDTH> __global__ void ell(int rows, const int *col, const float *val, const float *x, float *y)
{
    const int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < rows) {
        float dot{};
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) {
            const int c = col[k * rows + row];
            if (c < 0)
                break;
            dot = fmaf(val[k * rows + row], x[c], dot);
        }
        y[row] = dot;
    }
}

__global__ void coo(int n, const int2 *at, const float *val, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int2 p = at[i];
        atomicAdd(&y[p.x], val[i] * x[p.y]);
    }
}

template <typename T> T *upload(const std::vector<T> &v)
{
    T *d = nullptr;
    cudaMalloc(&d, v.size() * sizeof(T));
    cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return d;
}

static std::vector<float> want;

static void check(const char *name, float *d_y)
{
    std::vector<float> y(want.size());
    cudaMemcpy(y.data(), d_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemset(d_y, 0, y.size() * sizeof(float));
    bool ok = true;
    for (size_t i = 0; i < y.size(); i++)
        ok &= std::fabs(y[i] - want[i]) < 1e-4f * (1 + std::fabs(want[i]));
    printf("%s %s\n", name, ok ? "ok" : "FAILED");
}

int main()
{
    constexpr int rows = 300, width = 12;
    std::vector<int> ptr{0}, col, ecol(rows * width, -1);
    std::vector<float> val, eval(rows * width), x(rows), y(rows, 0.f);
    std::vector<int2> at;
    for (int r = 0; r < rows; r++) {
        x[r] = 0.5f + (r * 37 % 101) / 50.f;
        for (int k = 0; k < r % 13 && k < width; k++) {
            const int c = (r * 7 + k * k * 5) % rows;
            const float v = (r + 3 * k) % 9 - 4;
            ecol[k * rows + r] = c, eval[k * rows + r] = v;
            col.push_back(c), val.push_back(v), at.push_back(make_int2(r, c));
        }
        ptr.push_back((int)col.size());
    }
    for (int r = 0; r < rows; r++) {
        double s = 0;
        for (int j = ptr[r]; j < ptr[r + 1]; j++)
            s += (double)val[j] * x[col[j]];
        want.push_back((float)s);
    }
    printf("rows %d, nonzeros %zu\n", rows, val.size());
    float *d_x = upload(x), *d_y = upload(y), *d_val = upload(val), *d_eval = upload(eval);
    int *d_ptr = upload(ptr), *d_col = upload(col), *d_ecol = upload(ecol);
    int2 *d_at = upload(at);
    csr_scalar<<<(rows + 63) / 64, 64>>>(rows, d_ptr, d_col, d_val, d_x, d_y);
    check("CSR scalar", d_y);
    csr_vector<<<(rows * 32 + 127) / 128, 128>>>(Csr{rows, d_ptr, d_col, d_val}, d_x, d_y);
    check("CSR vector", d_y);
    ell<width><<<(rows + 63) / 64, 64>>>(rows, d_ecol, d_eval, d_x, d_y);
    check("ELL", d_y);
    coo<<<3, 100>>>((int)val.size(), d_at, d_val, d_x, d_y);
    check("COO", d_y);
}
