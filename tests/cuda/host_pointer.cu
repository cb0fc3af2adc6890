// A pointer of the host's in a kernel is an illegal address, and is told.
/* stderr: 'x' is
   check: 1
   expect:
an illegal memory access was encountered
*/
#include <stdio.h>

__global__ void touch(int *x) { x[0] = 1; }

int main()
{
    int h[4];
    touch<<<1, 1>>>(h);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
