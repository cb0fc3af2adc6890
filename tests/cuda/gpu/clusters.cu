// Clusters of blocks, by an attribute of the launch: blocks read each other's shared memory.
/* expect:
launch: no error, by pointer: no error
neighbours 1 0 3 2 5 4 7 6
too large: cluster is refused
*/
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__global__ void neighbours(int *out)
{
    __shared__ int mine;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        mine = blockIdx.x;
    cluster.sync();
    const int *other = cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
    if (threadIdx.x == 0)
        out[blockIdx.x] = *other;
    cluster.sync();
}

int main()
{
    int *d, h[8];
    cudaMalloc(&d, sizeof h);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 8;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaError_t e = cudaLaunchKernelEx(&config, neighbours, d);
    void *args[] = {&d};
    cudaError_t f = cudaLaunchKernelExC(&config, (const void *)neighbours, args);
    printf("launch: %s, by pointer: %s\n", cudaGetErrorString(e), cudaGetErrorString(f));
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("neighbours");
    for (int i = 0; i < 8; i++)
        printf(" %d", h[i]);
    attribute.val.clusterDim.x = 64;
    config.gridDim = 64;
    e = cudaLaunchKernelEx(&config, neighbours, d);
    printf("\ntoo large: %s\n", e ? "cluster is refused" : "cluster is launched");
}
