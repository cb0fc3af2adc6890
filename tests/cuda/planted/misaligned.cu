// A float4 at an address that is none.
/* finds: misaligned: thread (0, 0, 0) of block (0, 0, 0) of launch 1 reads 16 bytes in element 1 of 'x'
*/
__global__ void four(float4 *y, const float *x)
{
    y[threadIdx.x] = *(const float4 *)(x + 1 + 4 * threadIdx.x);
}

int main()
{
    float *x;
    float4 *y;
    cudaMallocManaged(&x, 64 * sizeof *x);
    cudaMallocManaged(&y, 8 * sizeof *y);
    four<<<1, 8>>>(y, x);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
}
