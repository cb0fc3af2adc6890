/* The kernels of bench/kernels. Loops stride over the grid, so that a single thread can do all the work. */
#define FOR_EACH(i, n) \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)

__global__ void vector_add(int n, const float *a, const float *b, float *c)
{
    FOR_EACH(i, n) c[i] = a[i] + b[i];
}

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    FOR_EACH(i, n) y[i] = a * x[i] + y[i];
}

__global__ void reduction(int n, const float *x, float *sums)
{
    __shared__ float part[256];
    float sum = 0;
    FOR_EACH(i, n) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}

__global__ void histogram(int n, const unsigned char *x, unsigned *bins)
{
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    FOR_EACH(i, n) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], own[i]);
}

__global__ void matmul_tiled(int n, const float *a, const float *b, float *c)
{
    __shared__ float as[16][16], bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

/* The same product by one thread, which needs no tiles. */
__global__ void matmul_plain(int n, const float *a, const float *b, float *c)
{
    FOR_EACH(at, n * n)
    {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += a[at / n * n + i] * b[i * n + at % n];
        c[at] = sum;
    }
}
