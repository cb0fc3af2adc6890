// A guard that lets one thread too many in; the pointer is into the middle of its memory.
/* finds: tests/cuda/planted/out_of_bounds.cu:8:10: error: out of bounds: thread (20, 0, 0) of block (0, 0, 0) of launch 2 writes element 20 of 'x', which has 20 elements of 4 bytes
*/
__global__ void one(float *x, int n)
{
    int i = threadIdx.x;
    if (i <= n)
        x[i] = x[i - 2] + 1;
}

int main()
{
    float *x;
    cudaMalloc(&x, 100 * sizeof *x);
    cudaMemset(x, 0, 100 * sizeof *x);
    one<<<1, 32>>>(x + 10, 10);
    one<<<1, 32>>>(x + 80, 20);
    cudaDeviceSynchronize();
    cudaFree(x);
}
