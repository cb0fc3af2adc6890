// printf in kernels: all kinds of arguments and formats, from one thread at a time.
/* expect:
42|   42|42   |00042|+42| 42|-42
3000000000|b2d05e00|B2D05E00|0xb2d05e00|26264057000|b2d05e00
-5000000000|244837814094590|deadbeefcafe|123456789|-7|-5000000000
3.141590|3.14|     3.142|3.1       |-1.234560e-04|-1.235e-04|-0.000123456|-0.000123456
x|    x|text|   right|left    |sho|%
    42|42  |
point (1.5, -2.25), block 0 of 1, done
no arguments
1 2 3 4 5 6 7 8 9 10 11 12
Hello from thread (0, 0) of block (0, 0)
Hello from thread (7, 0) of block (0, 0)
Hello from thread (6, 1) of block (0, 0)
Hello from thread (5, 2) of block (0, 0)
no error
*/
#include <stdio.h>

struct Point {
    float x, y;
};

__global__ void formats(int i, unsigned u, long long l, unsigned long long ul, float f, double d, char c, short s, size_t z, Point p)
{
    printf("%d|%5d|%-5d|%05d|%+d|% d|%i\n", i, i, i, i, i, i, -i);
    printf("%u|%x|%X|%#x|%o|%08x\n", u, u, u, u, u, u);
    printf("%lld|%llu|%llx|%zu|%hd|%ld\n", l, ul, ul, z, s, (long)l);
    printf("%f|%.2f|%10.3f|%-10.1f|%e|%.3e|%g|%G\n", f, f, f, f, d, d, d, d);
    printf("%c|%5c|%s|%8s|%-8s|%.3s|%%\n", c, c, "text", "right", "left", "shortened");
    printf("%*d|%-*d|\n", 6, i, 4, i);
    printf("point (%g, %g), block %u of %u, %s\n", p.x, p.y, blockIdx.x, gridDim.x, "done");
    printf("no arguments\n");
    printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
}

__global__ void who(void)
{
    if ((threadIdx.x + blockDim.x * threadIdx.y) % 7 == 0)
        printf("Hello from thread (%d, %d) of block (%d, %d)\n", threadIdx.x, threadIdx.y, blockIdx.x, blockIdx.y);
}

int main()
{
    formats<<<1, 1>>>(42, 3000000000u, -5000000000LL, 0xdeadbeefcafeULL, 3.14159f, -0.000123456, 'x', -7, 123456789, {1.5f, -2.25f});
    cudaDeviceSynchronize();
    who<<<1, dim3(8, 3)>>>();
    cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
}
