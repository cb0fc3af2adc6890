// Arguments are evaluated once, and converted to the kernel's parameters.
/* expect:
2 3 255 1 -1
evaluated 1 times
*/
#include <cstdio>

__global__ void show(float f, double d, unsigned char c, bool b, long long l)
{
    printf("%g %g %d %d %lld\n", f, d, c, b, l);
}

static int calls;
static int once()
{
    calls++;
    return 2;
}

int main()
{
    show<<<1, 1>>>(once(), 3, -1, 17, -1);
    cudaDeviceSynchronize();
    printf("evaluated %d times\n", calls);
}
