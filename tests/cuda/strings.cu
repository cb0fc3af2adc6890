// Strings in kernels: as tables of characters, by pointer, chosen at run time; %s prints any of them.
/* opencl: IG-PRINTF
   expect:
0: even, zero, in say
1: odd, one, in say
2: even, two, in say
local abc and constant hello
ff 2a lengths 5 3
*/
#include <cstdio>

__constant__ char greeting[] = "hello";

__global__ void say()
{
    int i = threadIdx.x;
    const char *const names[] = {"zero", "one", "two"};
    const char *parity = i % 2 ? "odd" : "even";
    printf("%d: %s, %s, in %s\n", i, parity, names[i], __func__);
}

__global__ void memory()
{
    char local[] = "abc";
    printf("local %s and constant %s\n", local, greeting);
}

__device__ int length(const char *s)
{
    int n = 0;
    while (s[n])
        n++;
    return n;
}

__global__ void hexadecimal(const unsigned char *bytes, char *out, int *lengths)
{
    int i = threadIdx.x;
    out[3 * i] = "0123456789abcdef"[bytes[i] >> 4];
    out[3 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    out[3 * i + 2] = i ? 0 : ' ';
    lengths[i] = length(i ? "abc" : greeting);
}

int main()
{
    unsigned char *bytes;
    char *out;
    int *lengths;
    cudaMallocManaged(&bytes, 2);
    cudaMallocManaged(&out, 6);
    cudaMallocManaged(&lengths, 2 * sizeof *lengths);
    say<<<1, 3>>>();
    memory<<<1, 1>>>();
    bytes[0] = 255;
    bytes[1] = 42;
    hexadecimal<<<1, 2>>>(bytes, out, lengths);
    cudaDeviceSynchronize();
    printf("%s lengths %d %d\n", out, lengths[0], lengths[1]);
    cudaFree(bytes);
    cudaFree(out);
    cudaFree(lengths);
}
