__constant__ float weights[4] = {1, 2, 0.5f};
__constant__ int count;
__device__ int hits = 3;
__device__ float grid[2][2];
__managed__ double total;
__device__ half small = 1.5f;
__global__ void globals(float *x)
{
    x[0] = weights[threadIdx.x] + count + grid[1][0];
    hits += 1;
    grid[0][1] = total;
    float *p = &grid[0][0];
    p[1] = small;
}
__global__ void fixed(float *x)
{
    __shared__ float a[16][17], b[4];
    static __shared__ int n;
    __shared__ __align__(16) char bytes[3];
    a[threadIdx.y][threadIdx.x] = x[0];
    b[0] = 1; n = 2; bytes[1] = 3;
    __syncthreads();
    x[1] = a[threadIdx.x][threadIdx.y];
}
__device__ float *part(int n) { extern __shared__ float all[]; return all + n; }
__global__ void dynamic(float *x, int n)
{
    extern __shared__ __align__(128) double doubles[];
    float *mine = part(n);
    mine[0] = x[0];
    doubles[0] = x[1];
    volatile float *v = mine;
    x[2] = v[1] + v[2];
}
