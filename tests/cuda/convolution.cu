// A mask in constant memory, a halo in dynamic shared memory.
/* expect:
right: 1
*/
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MASK_LENGTH 7
__constant__ int mask[MASK_LENGTH];

__global__ void convolve(int *in, int *out, int n)
{
    extern __shared__ int s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int padded = blockDim.x + MASK_LENGTH - 1;
    s[threadIdx.x] = in[i];
    int offset = threadIdx.x + blockDim.x, global = blockDim.x * blockIdx.x + offset;
    if (offset < padded)
        s[offset] = in[global];
    __syncthreads();
    int sum = 0;
    for (int j = 0; j < MASK_LENGTH; j++)
        sum += s[threadIdx.x + j] * mask[j];
    out[i] = sum;
}

int main()
{
    const int n = 1024, padded = n + MASK_LENGTH - 1;
    std::vector<int> in(padded), out(n);
    int h_mask[MASK_LENGTH];
    for (int i = 0; i < padded; i++)
        in[i] = rand() % 100;
    for (int &m : h_mask)
        m = rand() % 10;
    int *d_in, *d_out;
    cudaMalloc(&d_in, padded * sizeof(int));
    cudaMalloc(&d_out, n * sizeof(int));
    cudaMemcpy(d_in, in.data(), padded * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(mask, h_mask, sizeof(h_mask));
    int threads = 256;
    size_t shared = (threads + MASK_LENGTH - 1) * sizeof(int);
    convolve<<<n / threads, threads, shared>>>(d_in, d_out, n);
    cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost);
    bool right = true;
    for (int i = 0; i < n; i++) {
        int want = 0;
        for (int j = 0; j < MASK_LENGTH; j++)
            want += in[i + j] * h_mask[j];
        right = right && want == out[i];
    }
    printf("right: %d\n", right);
}
