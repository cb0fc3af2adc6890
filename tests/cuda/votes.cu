// Votes, ballots and shuffles of width 8, in the order of lanes.
/* opencl: IG-WARP
expect:
ballot fffffffe any 1 all 0
shfl      :  2  2  2  2  2  2  2  2 10 10 10 10 10 10 10 10
up        :  0  0  1  2  3  4  5  6  8  8  9 10 11 12 13 14
down      :  1  2  3  4  5  6  7  7  9 10 11 12 13 14 15 15
xor       :  1  0  3  2  5  4  7  6  9  8 11 10 13 12 15 14
*/
#include <stdio.h>
const unsigned FULL = 0xffffffff;

__global__ void votes()
{
    int lane = threadIdx.x;
    unsigned ballot = __ballot_sync(FULL, lane > 0);
    int any = __any_sync(FULL, lane == 5), all = __all_sync(FULL, lane < 31);
    if (lane == 0)
        printf("ballot %x any %d all %d\n", ballot, any != 0, all);
}

__global__ void shuffles(int *out)
{
    int t = threadIdx.x;
    const int width = 8;
    out[t] = __shfl_sync(FULL, t, 2, width);
    out[16 + t] = __shfl_up_sync(FULL, t, 1, width);
    out[32 + t] = __shfl_down_sync(FULL, t, 1, width);
    out[48 + t] = __shfl_xor_sync(FULL, t, 1, width);
}

int main()
{
    int *d, h[64];
    const char *names[] = {"shfl", "up", "down", "xor"};
    cudaMalloc(&d, sizeof h);
    votes<<<1, 32>>>();
    shuffles<<<1, 16>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    for (int row = 0; row < 4; row++) {
        printf("%-10s:", names[row]);
        for (int i = 0; i < 16; i++)
            printf(" %2d", h[row * 16 + i]);
        printf("\n");
    }
}
