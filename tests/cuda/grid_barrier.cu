// A barrier of the whole grid by a cooperative launch: a reduction in one launch, and blocks that hand values on.
/* opencl: IG-GRIDSYNC
check: 1
expect:
no error
sum 8128
after 5 rounds: 5 6 7 0 1 2 3 4
supported 1
*/
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__global__ void sum(const int *x, int *parts, int *total)
{
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 0;
        for (int i = 0; i < 16; i++)
            parts[blockIdx.x] += x[blockIdx.x * 16 + i];
    }
    grid.sync();
    if (grid.thread_rank() == 0)
        for (unsigned i = 0; i < gridDim.x; i++)
            *total += parts[i];
}

__global__ void turn(int *x, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        const int next = x[(blockIdx.x + 1) % gridDim.x];
        cg::sync(cg::this_grid());
        x[blockIdx.x] = next;
        cg::this_grid().sync();
    }
}

int main()
{
    int *x, *parts, *total, rounds = 5, can = 0;
    cudaMallocManaged(&x, 128 * sizeof *x);
    cudaMallocManaged(&parts, 9 * sizeof *parts);
    total = parts + 8;
    *total = 0;
    for (int i = 0; i < 128; i++)
        x[i] = i;
    void *args[] = {&x, &parts, &total}, *turned[] = {&x, &rounds};
    printf("%s\n", cudaGetErrorString(cudaLaunchCooperativeKernel((void *)sum, dim3(8), dim3(64), args, 0, 0)));
    cudaLaunchCooperativeKernel((void *)turn, dim3(8), dim3(1), turned, 0, 0);
    cudaDeviceSynchronize();
    printf("sum %d\nafter 5 rounds:", *total);
    for (int i = 0; i < 8; i++)
        printf(" %d", x[i]);
    cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0);
    printf("\nsupported %d\n", can);
}
