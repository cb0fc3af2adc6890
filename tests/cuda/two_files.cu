// A program of two sources; the other one has the kernel.
/* expect:
sum 45
*/
#include <stdio.h>

__global__ void numbers(int *x);
int sum(const int *d, int n);

int main()
{
    int *d;
    cudaMalloc(&d, 10 * sizeof(int));
    numbers<<<1, 10>>>(d);
    printf("sum %d\n", sum(d, 10));
}
