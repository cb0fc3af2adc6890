// Inline PTX, which only NVRTC understands: special registers, three-input logic, a vector load with a cache hint.
/* expect:
lanes 0 1 2 3 .. 31
majority 11101000
sum 496
*/
#include <cstdio>

__device__ unsigned lane()
{
    unsigned id;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}

__device__ unsigned majority(unsigned a, unsigned b, unsigned c)
{
    unsigned r;
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}

__global__ void lanes(unsigned *out) { out[threadIdx.x] = lane(); }
__global__ void logic(unsigned *out) { *out = majority(0xf0, 0xcc, 0xaa); }
__global__ void sum(const float4 *x, float *out)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                 : "l"(x + threadIdx.x));
    atomicAdd(out, a + b + c + d);
}

int main()
{
    unsigned *d, h[32];
    float *x, *s, values[32], total = 0;
    cudaMalloc(&d, sizeof h);
    cudaMalloc(&x, sizeof values);
    cudaMalloc(&s, sizeof total);
    lanes<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("lanes %u %u %u %u .. %u\n", h[0], h[1], h[2], h[3], h[31]);
    logic<<<1, 1>>>(d);
    cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost);
    printf("majority ");
    for (int bit = 7; bit >= 0; bit--)
        printf("%u", h[0] >> bit & 1);
    for (int i = 0; i < 32; i++)
        values[i] = (float)i;
    cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice);
    cudaMemset(s, 0, sizeof total);
    sum<<<1, 8>>>((const float4 *)x, s);
    cudaMemcpy(&total, s, sizeof total, cudaMemcpyDeviceToHost);
    printf("\nsum %g\n", total);
}
