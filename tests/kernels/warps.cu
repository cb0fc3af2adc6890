// Warp functions: for devices whose threads go in step by 32. Written for tests/test_translate.py.
__device__ float warp_sum(float x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_down_sync(0xffffffffu, x, d);
    return x;
}

__global__ void lanes(const float *x, float *out, unsigned *votes)
{
    int i = threadIdx.x;
    float sum = warp_sum(x[i]);
    int up = __shfl_up_sync(0xffffffffu, i, 1), other = __shfl_xor_sync(0xffffffffu, i, 3, 8);
    votes[i] = __ballot_sync(0xffffffffu, x[i] > 0) ^ __activemask();
    if (__any_sync(0xffffffffu, up == other) && !__all_sync(0xffffffffu, up))
        out[i] = __shfl_sync(0xffffffffu, sum, 0);
    __syncwarp();
}
