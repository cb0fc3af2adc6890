__global__ void shuffles(float *x, int *n, double *d, half2 *h)
{
    x[0] = __shfl_sync(0xffffffff, x[1], 3) + __shfl_down_sync(~0u, x[2], 16, 16);
    n[0] = __shfl_xor_sync(0xffffffff, n[1], 1) + __shfl_up_sync(0xff, n[2], 2, 8);
    d[0] = __shfl_sync(-1, d[1], 0);
    h[0] = __shfl_xor_sync(-1, h[1], 2);
    x[3] = __shfl_down(x[4], 1);
}
__global__ void votes(unsigned *u, int p)
{
    u[0] = __ballot_sync(0xffffffff, p > 0) + __any_sync(~0u, p) + __all_sync(~0u, p);
    u[1] = __activemask() + __match_any_sync(~0u, p);
    int same;
    u[2] = __match_all_sync(~0u, u[3], &same) + same;
}
__global__ void reductions(unsigned *u, int *n)
{
    u[0] = __reduce_add_sync(~0u, u[1]) + __reduce_or_sync(~0u, u[2]);
    n[0] = __reduce_min_sync(~0u, n[1]);
}
