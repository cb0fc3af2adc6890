// Several arrays in one piece of dynamic shared memory, of different types, and a larger piece by attribute.
/* opencl: IG-AS
expect:
wrong 0, out[9] = 2157
without asking: invalid argument
asked: no error, sum right
*/
#include <cstdio>

template <typename T> struct Slice {
    T *data;
    int n;
    __device__ T &operator[](int i) { return data[i]; }
};

__global__ void mixed(const float *x, const int *keys, double *out, int nf, int ni, int nc)
{
    extern __shared__ __align__(16) unsigned char raw[];
    double *doubles = reinterpret_cast<double *>(raw);
    float *floats = (float *)&doubles[blockDim.x];
    int *ints = (int *)&floats[nf];
    char *chars = (char *)(ints + ni);
    const int t = threadIdx.x;
    if (t < nf)
        floats[t] = x[t] * 2;
    if (t < ni)
        ints[t] = keys[t] + 1;
    if (t < nc)
        chars[t] = (char)('a' + t);
    doubles[t] = t * 0.5;
    __syncthreads();
    Slice<float> f{floats, nf};
    out[t] = doubles[blockDim.x - 1 - t] + f[t % nf] * 10 + ints[t % ni] * 1000 + chars[t % nc];
}

__global__ void large(int *out, int n)
{
    extern __shared__ int big[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        big[i] = i;
    __syncthreads();
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += big[n - 1 - i] % 7;
    atomicAdd(out, sum);
}

int main()
{
    float *x;
    int *keys, *sum;
    double *out;
    cudaMallocManaged(&x, 16 * sizeof(float));
    cudaMallocManaged(&keys, 8 * sizeof(int));
    cudaMallocManaged(&out, 32 * sizeof(double));
    cudaMallocManaged(&sum, sizeof(int));
    for (int i = 0; i < 16; i++)
        x[i] = i * 0.25f;
    for (int i = 0; i < 8; i++)
        keys[i] = i * i;
    *sum = 0;
    const size_t bytes = 32 * sizeof(double) + 16 * sizeof(float) + 8 * sizeof(int) + 5;
    mixed<<<1, 32, bytes>>>(x, keys, out, 16, 8, 5);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int t = 0; t < 32; t++)
        wrong += out[t] != (31 - t) * 0.5 + t % 16 * 0.5 * 10 + ((t % 8) * (t % 8) + 1) * 1000 + 'a' + t % 5;
    printf("wrong %d, out[9] = %g\n", wrong, out[9]);
    const int n = 15000; // 60000 bytes: more than a launch may have without asking
    large<<<1, 128, n * sizeof(int)>>>(sum, n);
    printf("without asking: %s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, n * sizeof(int));
    large<<<1, 128, n * sizeof(int)>>>(sum, n);
    cudaDeviceSynchronize();
    int want = 0;
    for (int i = 0; i < n; i++)
        want += i % 7;
    printf("asked: %s, sum %s\n", cudaGetErrorString(cudaGetLastError()), *sum == want ? "right" : "WRONG");
}
