/* Kernels that share a struct and functions: as one file each of these stands once. block_sum has a barrier, so
 * it is another function where its caller's threads may have returned. */
struct point {
    float x, y;
};

__device__ float length(point p) { return sqrtf(p.x * p.x + p.y * p.y); }

__device__ float block_sum(float v)
{
    __shared__ float s[64];
    s[threadIdx.x] = v;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 64; i++)
        sum += s[i];
    return sum;
}

__global__ void lengths(const point *p, float *out) { out[threadIdx.x] = length(p[threadIdx.x]); }

__global__ void total(const point *p, float *out) { out[threadIdx.x] = block_sum(length(p[threadIdx.x])); }

__global__ void total_of(const point *p, float *out, int n)
{
    if (threadIdx.x >= n)
        return;
    out[threadIdx.x] = block_sum(length(p[threadIdx.x]));
}

__device__ point twice(point p)
{
    p.x *= 2;
    return p;
}

__device__ float block_length(point p) { return block_sum(length(p)); }

/* Threads that have returned take part in the call with an empty point. */
__global__ void total_twice(const point *p, float *out, int n)
{
    if (threadIdx.x >= n)
        return;
    out[threadIdx.x] = block_length(twice(p[threadIdx.x]));
}

template <int N, typename T = float>
__global__ void filled(T *x)
{
    x[threadIdx.x] = N;
}

int main()
{
    filled<3><<<1, 32>>>((float *)nullptr);
    filled<4, int><<<1, 32>>>((int *)nullptr);
}
