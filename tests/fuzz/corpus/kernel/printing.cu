#include <assert.h>
#include <stdio.h>
__global__ void prints(int i, float f, char c, size_t n, int *p)
{
    printf("hello\n");
    printf("%d %5.2f %c %zu %p %% %s\n", i, f, c, n, p, "text");
    printf("%*d|%-8x", i, 3, 4u);
}
__global__ void asserts(int *x) { assert(x[0] > 0 && "positive"); assert(x); }
__global__ void times(long long *t) { t[0] = clock64() - clock(); t[1] = __globaltimer(); __nanosleep(100); }
