// Variables of the device: read and written by symbol, in a namespace too; managed ones by the host.
/* check: 1
   expect:
d_x = 1, d_y[0] = 11, d_y[1] = 21.
after: 100 11
address: 1, 8 bytes
managed 7 then 14
beyond: invalid argument
*/
#include <cstdio>

__device__ int d_x = 1;
__device__ int d_y[2];
namespace settings
{
__device__ float scale = 0.5f, shift;
}
__managed__ int shared_with_host = 3;

__global__ void show()
{
    d_y[0] += d_x;
    d_y[1] += d_x;
    printf("d_x = %d, d_y[0] = %d, d_y[1] = %d.\n", d_x, d_y[0], d_y[1]);
    d_x = (int)(settings::scale * 200 + settings::shift);
}
__global__ void twice() { shared_with_host *= 2; }

int main()
{
    int h_y[2] = {10, 20}, h_x;
    cudaMemcpyToSymbol(d_y, h_y, sizeof(int) * 2);
    show<<<1, 1>>>();
    cudaDeviceSynchronize();
    cudaMemcpyFromSymbol(h_y, d_y, sizeof(int) * 2);
    cudaMemcpyFromSymbol(&h_x, d_x, sizeof h_x, 0, cudaMemcpyDeviceToHost);
    printf("after: %d %d\n", h_x, h_y[0]);
    void *at;
    size_t bytes;
    cudaGetSymbolAddress(&at, d_y);
    cudaGetSymbolSize(&bytes, d_y);
    int one;
    cudaMemcpy(&one, (int *)at + 1, sizeof one, cudaMemcpyDeviceToHost);
    printf("address: %d, %zu bytes\n", one == 21, bytes);
    shared_with_host += 4;
    printf("managed %d", shared_with_host);
    twice<<<1, 1>>>();
    cudaDeviceSynchronize();
    printf(" then %d\n", shared_with_host);
    printf("beyond: %s\n", cudaGetErrorString(cudaMemcpyToSymbol(d_y, h_y, 100)));
    return 0;
}
