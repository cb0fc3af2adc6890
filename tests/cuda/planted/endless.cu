// A loop without an end is left, and the launch fails; what comes behind it runs.
/* finds: endless loop: thread (0, 0, 0) of block (0, 0, 0) of launch 1 is still in this loop
   expect:
the launch timed out and was terminated
5
*/
#include <stdio.h>

__global__ void wait(volatile int *flag)
{
    while (!*flag)
        ;
}
__global__ void set(int *flag) { *flag = 5; }

int main()
{
    int *flag, h;
    cudaMalloc(&flag, sizeof *flag);
    cudaMemset(flag, 0, sizeof *flag);
    wait<<<1, 1>>>(flag);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    set<<<1, 1>>>(flag);
    cudaMemcpy(&h, flag, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d\n", h);
    cudaFree(flag);
}
