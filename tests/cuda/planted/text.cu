// Texts without a zero: %s leaves its array, wherever that is. It is printed as far as it goes.
/* finds: text.cu:18:5: error: out of bounds: thread (0, 0, 0) of block (0, 0, 0) of launch 1 reads element 8 of 'p', which has 8 elements of 1 byte (2 times)
   finds: text.cu:29:9: error: out of bounds: thread (0, 0, 0) of block (0, 0, 0) of launch 2 reads element 4 of 'b', which has 4 elements of 1 byte (2 times)
   finds: text.cu:30:9: error: out of bounds: thread (0, 0, 0) of block (0, 0, 0) of launch 2 reads element 4 of shared 's', which has 4 elements of 1 byte (2 times)
   expect:
ABCDEFGH ABC
BCDEFGH BCD
efgh
abcd
pqrs
pqrs
*/
#include <cstdio>

__global__ void show(const char *p)
{
    const char *mine = p + threadIdx.x;
    printf("%s %.3s\n", mine, mine);
}

__global__ void memories()
{
    char a[4] = {'a', 'b', 'c', 'd'}, b[4] = {'e', 'f', 'g', 'h'};
    __shared__ char s[4], t[4];
    s[threadIdx.x] = t[threadIdx.x] = 'p' + threadIdx.x;
    __syncthreads();
    if (threadIdx.x < 2) {
        const char *mine = threadIdx.x ? a : b;
        printf("%s\n", mine);
        printf("%s\n", s);
    }
}

int main()
{
    char *p;
    cudaMalloc(&p, 8);
    cudaMemcpy(p, "ABCDEFGHIJ", 8, cudaMemcpyHostToDevice);
    show<<<1, 2>>>(p);
    memories<<<1, 4>>>();
    cudaDeviceSynchronize();
    cudaFree(p);
}
