// A lambda of the host that leaves the memory that it captured.
/* finds: lambda.cu:15:10: error: out of bounds: thread (4, 0, 0) of block (0, 0, 0) of launch 1 writes byte 16 of memory of 16 bytes, beyond its end
*/
template <typename F> __global__ void each(int n, F f)
{
    if (threadIdx.x < n)
        f(threadIdx.x);
}

int main()
{
    float *x;
    cudaMalloc(&x, 4 * sizeof *x);
    each<<<1, 32>>>(5, [=] __device__ (int i) {
        x[i] = 1;
    });
    cudaDeviceSynchronize();
    cudaFree(x);
}
