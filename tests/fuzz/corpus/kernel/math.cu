__global__ void single(float *x, int n)
{
    x[0] = sqrtf(x[1]) + expf(x[2]) + powf(x[3], 2) + fmaf(x[4], x[5], x[6]) + fabsf(x[7]);
    x[1] = sqrt(x[1]) + exp(x[2]) + pow(x[3], 2.0f) + fmax(x[4], x[5]) + abs(x[6]) + floor(x[7]);
    x[2] = erff(x[0]) + log1pf(x[1]) + cbrtf(x[2]) + hypotf(x[3], x[4]) + tgammaf(x[5]) + rsqrtf(x[6]);
    x[3] = __expf(x[0]) + __fdividef(x[1], x[2]) + __sinf(x[3]) + __fmul_rn(x[4], x[5]) + __fadd_rz(x[6], 1) + __saturatef(x[7]);
    float s, c, whole; int e;
    sincosf(x[4], &s, &c);
    x[4] = s + c + frexpf(x[5], &e) + e + modff(x[6], &whole) + whole + ldexpf(x[7], n);
    x[5] = isnan(x[0]) || isinf(x[1]) || signbit(x[2]);
}
__global__ void twofold(double *x, float *f, int n)
{
    x[0] = sqrt(x[1]) + sin(f[0]) + exp(0.5) + sqrt(n) + pow(f[1], 2) + fmin(x[2], f[2]);
    f[0] = std::max(f[1], f[2]) + std::min(n, 3) + max(n, 3u) + std::abs(f[3]) + std::sqrt(f[4]);
    f[1] = std::numeric_limits<float>::max() + std::numeric_limits<int>::lowest();
    std::swap(f[2], f[3]);
}
__global__ void bits(int *x, unsigned *u, float *f, long long *l)
{
    x[0] = __popc(u[0]) + __clz(x[1]) + __ffs(x[2]) + __popcll(l[0]) + __mulhi(x[3], x[4]);
    u[1] = __brev(u[2]) + __byte_perm(u[3], u[4], 0x3210) + __funnelshift_l(u[5], u[6], 3) + __umulhi(u[7], u[8]);
    x[1] = __float2int_rn(f[0]) + __float2int_rz(f[1]) + __float_as_int(f[2]) + (int)f[3] + lrintf(f[4]) + lroundf(f[5]);
    f[0] = __int_as_float(x[2]) + __int2float_rn(x[3]) + __uint2float_ru(u[9]) + __ldg(&f[4]) + __ldcs(f + 5);
    __stcs(&f[6], 2.0f);
}
