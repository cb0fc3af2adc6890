// A launch that is refused, and nobody asks.
/* finds: tests/cuda/planted/unseen.cu:11: error: unseen error: this launch failed with cudaErrorInvalidConfiguration
*/
__global__ void set(int *x) { x[threadIdx.x] = 1; }

int main()
{
    int *x;
    const int block = 2048;
    cudaMalloc(&x, block * sizeof *x);
    set<<<1, block>>>(x);
    cudaDeviceSynchronize();
    cudaFree(x);
}
