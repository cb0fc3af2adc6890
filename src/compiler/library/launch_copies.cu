/* Copies and fills by kernels: launches of the kernels below. */
__global__ void ig_copy_bytes(char *ig_to, const char *ig_from, unsigned long ig_n)
{
    for (unsigned long ig_i = blockIdx.x * 256ul + threadIdx.x; ig_i < ig_n; ig_i += gridDim.x * 256ul)
        ig_to[ig_i] = ig_from[ig_i];
}
__global__ void ig_fill_bytes(char *ig_to, char ig_value, unsigned long ig_n)
{
    for (unsigned long ig_i = blockIdx.x * 256ul + threadIdx.x; ig_i < ig_n; ig_i += gridDim.x * 256ul)
        ig_to[ig_i] = ig_value;
}

__device__ inline cudaError_t cudaMemcpyAsync(void *ig_to, const void *ig_from, unsigned long ig_n,
                                              cudaMemcpyKind ig_kind = cudaMemcpyDeviceToDevice, cudaStream_t ig_stream = nullptr)
{
    ig_copy_bytes<<<(unsigned)(ig_n / 4096 > 1024 ? 1024 : ig_n / 4096 + 1), 256, 0, ig_stream>>>((char *)ig_to, (const char *)ig_from, ig_n);
    return cudaPeekAtLastError();
}
__device__ inline cudaError_t cudaMemsetAsync(void *ig_to, int ig_value, unsigned long ig_n, cudaStream_t ig_stream = nullptr)
{
    ig_fill_bytes<<<(unsigned)(ig_n / 4096 > 1024 ? 1024 : ig_n / 4096 + 1), 256, 0, ig_stream>>>((char *)ig_to, (char)ig_value, ig_n);
    return cudaPeekAtLastError();
}
