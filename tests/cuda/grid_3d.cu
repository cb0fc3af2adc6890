// Three-dimensional blocks and grids: every cell is written once, by the thread that its coordinates say.
/* opencl: IG-PTRMEM
expect:
wrong 0; cells with 3, 4, 5, 6 neighbours: 8 60 142 105
grid 324 block 532 threads 720
*/
#include <cstdio>

struct Volume {
    int *cells;
    int3 size;
    __host__ __device__ int index(int x, int y, int z) const { return (z * size.y + y) * size.x + x; }
    __host__ __device__ int &operator()(int x, int y, int z) { return cells[index(x, y, z)]; }
    __host__ __device__ bool inside(int3 p) const { return p.x >= 0 && p.y >= 0 && p.z >= 0 && p.x < size.x && p.y < size.y && p.z < size.z; }
};

__global__ void mark(Volume v)
{
    const int3 p = make_int3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z * blockDim.z + threadIdx.z);
    if (v.inside(p))
        atomicAdd(&v(p.x, p.y, p.z), p.x + 100 * p.y + 10000 * p.z + 1);
}

__global__ void neighbours(Volume from, Volume to)
{
    const int3 step[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    for (int z = blockIdx.z * blockDim.z + threadIdx.z; z < from.size.z; z += gridDim.z * blockDim.z)
        for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < from.size.y; y += gridDim.y * blockDim.y)
            for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < from.size.x; x += gridDim.x * blockDim.x) {
                int n = 0;
                for (const int3 &s : step)
                    n += from.inside(make_int3(x + s.x, y + s.y, z + s.z));
                to(x, y, z) = n;
            }
}

__global__ void shape(unsigned *out)
{
    if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) {
        out[0] = gridDim.x * 100 + gridDim.y * 10 + gridDim.z;
        out[1] = blockDim.x * 100 + blockDim.y * 10 + blockDim.z;
    }
    atomicAdd(&out[2], 1);
}

int main()
{
    Volume v{nullptr, make_int3(9, 7, 5)}, n = v;
    const int cells = 9 * 7 * 5;
    unsigned *out;
    cudaMallocManaged(&v.cells, cells * sizeof(int));
    cudaMallocManaged(&n.cells, cells * sizeof(int));
    cudaMallocManaged(&out, 3 * sizeof(unsigned));
    cudaMemset(v.cells, 0, cells * sizeof(int));
    cudaMemset(out, 0, 3 * sizeof(unsigned));
    dim3 block(4, 4, 2);
    dim3 grid((v.size.x + block.x - 1) / block.x, (v.size.y + block.y - 1) / block.y, (v.size.z + block.z - 1) / block.z);
    mark<<<grid, block>>>(v);
    neighbours<<<dim3(1, 2, 1), dim3(4, 2, 3)>>>(v, n);
    shape<<<dim3(3, 2, 4), dim3(5, 3, 2)>>>(out);
    cudaDeviceSynchronize();
    int wrong = 0, counts[7] = {0};
    for (int z = 0; z < 5; z++)
        for (int y = 0; y < 7; y++)
            for (int x = 0; x < 9; x++) {
                wrong += v(x, y, z) != x + 100 * y + 10000 * z + 1;
                counts[n(x, y, z)]++;
            }
    printf("wrong %d; cells with 3, 4, 5, 6 neighbours: %d %d %d %d\n", wrong, counts[3], counts[4], counts[5], counts[6]);
    printf("grid %u block %u threads %u\n", out[0], out[1], out[2]);
}
