// Breadth-first search by frontiers: two queues and an atomic counter, against distances of the host.
/* expect:
levels 10, farthest 9, reached 2320 of 3000
distances are the host's: yes
*/
#include <cstdio>
#include <queue>
#include <vector>

__global__ void expand(const int *offsets, const int *edges, int *distance, const int *frontier, int size, int *next, int *next_size, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        int v = frontier[i];
        for (int e = offsets[v]; e < offsets[v + 1]; ++e) {
            int u = edges[e];
            if (atomicCAS(&distance[u], -1, level) == -1)
                next[atomicAdd(next_size, 1)] = u;
        }
    }
}

int main()
{
    const int n = 3000;
    std::vector<std::vector<int>> graph(n);
    for (int i = 0; i < n - 100; i++) { // the last hundred are out of reach
        graph[i].push_back((i * 2 + 1) % (n - 100));
        graph[i].push_back((i * 3 + 7) % (n - 100));
        if (i % 10 == 0)
            for (int k = 0; k < 8; k++)
                graph[i].push_back((i + k * k + 1) % (n - 100));
    }
    std::vector<int> offsets{0}, edges, got(n), want(n, -1);
    for (auto &out : graph) {
        edges.insert(edges.end(), out.begin(), out.end());
        offsets.push_back(edges.size());
    }
    int *d_offsets, *d_edges, *distance, *queue[2], *size;
    cudaMalloc(&d_offsets, offsets.size() * sizeof(int));
    cudaMalloc(&d_edges, edges.size() * sizeof(int));
    cudaMalloc(&distance, n * sizeof(int));
    cudaMalloc(&queue[0], n * sizeof(int));
    cudaMalloc(&queue[1], n * sizeof(int));
    cudaMallocManaged(&size, sizeof(int));
    cudaMemcpy(d_offsets, &offsets[0], offsets.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(d_edges, &edges[0], edges.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(distance, -1, n * sizeof(int));
    int source = 0, zero = 0, level = 0, frontier = 1;
    cudaMemcpy(queue[0], &source, sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(distance + source, &zero, sizeof(int), cudaMemcpyHostToDevice);
    for (; frontier > 0; level++) {
        *size = 0;
        expand<<<(frontier + 127) / 128, 128>>>(d_offsets, d_edges, distance, queue[level & 1], frontier, queue[~level & 1], size, level + 1);
        cudaDeviceSynchronize();
        frontier = *size;
    }
    cudaMemcpy(&got[0], distance, n * sizeof(int), cudaMemcpyDeviceToHost);
    std::queue<int> q;
    for (q.push(source), want[source] = 0; !q.empty(); q.pop())
        for (int u : graph[q.front()])
            if (want[u] < 0) {
                want[u] = want[q.front()] + 1;
                q.push(u);
            }
    int reached = 0, farthest = 0;
    for (int d : got) {
        reached += d >= 0;
        farthest = d > farthest ? d : farthest;
    }
    printf("levels %d, farthest %d, reached %d of %d\n", level, farthest, reached, n);
    printf("distances are the host's: %s\n", got == want ? "yes" : "no");
}
