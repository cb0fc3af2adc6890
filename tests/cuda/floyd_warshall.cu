// All shortest paths, one launch for each node in between; unified memory, 2-D grid, and a path built of predecessors.
/* expect:
0 -> 63: 20 by 0 9 18 27 36 45 54 63
unreachable from 5 to 70: yes
same as the host: yes
*/
#include <cstdio>
#include <climits>
#include <vector>

enum { NODES = 72, FAR = INT_MAX / 2 };

__global__ void relax(int *dist, int *via, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= NODES or j >= NODES)
        return;
    int through = dist[i * NODES + k] + dist[k * NODES + j];
    if (through < dist[i * NODES + j]) {
        dist[i * NODES + j] = through;
        via[i * NODES + j] = via[k * NODES + j];
    }
}

int main()
{
    int *dist, *via;
    cudaMallocManaged(&dist, NODES * NODES * sizeof(int));
    cudaMallocManaged(&via, NODES * NODES * sizeof(int));
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) {
            int d = i == j ? 0 : FAR;
            if (i < 64 && j < 64 && i != j && (j - i) % 9 == 0 && j - i <= 9)
                d = 1 + (i * 5 + j) % 4; // steps of nine, forwards
            if (i < 64 && j == (i + 1) % 64)
                d = 50;
            dist[i * NODES + j] = d;
            via[i * NODES + j] = d < FAR ? i : -1;
        }
    std::vector<int> want(dist, dist + NODES * NODES);
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < NODES; i++)
            for (int j = 0; j < NODES; j++)
                if (want[i * NODES + k] + want[k * NODES + j] < want[i * NODES + j])
                    want[i * NODES + j] = want[i * NODES + k] + want[k * NODES + j];
    const dim3 block(32, 4), grid((NODES + block.x - 1) / block.x, (NODES + block.y - 1) / block.y);
    for (int k = 0; k < NODES; ++k)
        relax<<<grid, block>>>(dist, via, k);
    cudaDeviceSynchronize();
    std::vector<int> path;
    for (int at = 63; at != 0; at = via[at])
        path.insert(path.begin(), at);
    printf("0 -> 63: %d by 0", dist[63]);
    for (int at : path)
        printf(" %d", at);
    printf("\nunreachable from 5 to 70: %s\n", dist[5 * NODES + 70] >= FAR ? "yes" : "no");
    bool same = true;
    for (int i = 0; i < NODES * NODES; i++)
        same &= dist[i] == want[i];
    printf("same as the host: %s\n", same ? "yes" : "no");
    cudaFree(dist);
    cudaFree(via);
}
