// The heap of kernels: malloc, new, delete with destructors, blocks that other threads free, an exhausted heap.
/* opencl: IG-NEW
expect:
256 of 256 lists are right
ended 512
later launches read them: 256
too large: 1
again and again: 0 failed
*/
#include <cstdio>

__device__ int ended;

struct node {
    int value;
    node *next;
    __device__ node(int v, node *n) : value(v), next(n) {}
    __device__ ~node() { atomicAdd(&ended, 1); }
};

__global__ void build(node **heads)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    heads[i] = new node(i, new node(2 * i, nullptr));
}

__global__ void read(node *const *heads, int *right)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (heads[i]->value == i && heads[i]->next->value == 2 * i && !heads[i]->next->next)
        atomicAdd(right, 1);
}

__global__ void remove(node **heads)
{
    const int i = (blockIdx.x * blockDim.x + threadIdx.x + 100) % 256;
    node *first = heads[i], *second = first->next;
    delete first;
    delete second;
}

__global__ void arrays(int *right)
{
    int *p = (int *)malloc(10 * sizeof(int)), *q = new int[20]();
    for (int i = 0; i < 10; i++)
        p[i] = q[i] = i + threadIdx.x;
    if (p != q && p[9] + q[0] == 9 + 2 * (int)threadIdx.x && q[19] == 0)
        atomicAdd(right, 1);
    free(p);
    delete[] q;
}

__global__ void exhaust(int *failed)
{
    *failed = malloc(1 << 30) == nullptr;
}

__global__ void churn(int *failed)
{
    for (int i = 0; i < 40; i++) {
        char *p = new char[4000];
        if (!p)
            atomicAdd(failed, 1);
        delete[] p;
    }
}

int main()
{
    node **heads;
    int *counts, all = 0;
    cudaMalloc(&heads, 256 * sizeof *heads);
    cudaMallocManaged(&counts, 4 * sizeof *counts);
    build<<<4, 64>>>(heads);
    read<<<2, 128>>>(heads, &counts[0]);
    remove<<<4, 64>>>(heads);
    arrays<<<2, 128>>>(&counts[1]);
    exhaust<<<1, 1>>>(&counts[2]);
    churn<<<1, 64>>>(&counts[3]);
    cudaDeviceSynchronize();
    cudaMemcpyFromSymbol(&all, ended, sizeof all);
    printf("%d of 256 lists are right\nended %d\nlater launches read them: %d\n", counts[0], all, counts[1]);
    printf("too large: %d\nagain and again: %d failed\n", counts[2], counts[3]);
}
