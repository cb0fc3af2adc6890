__global__ void arithmetic(int *a, unsigned *b, float *c, long long *d)
{
    a[0] = a[1] + b[1] * 2;
    c[0] = a[0] / 3 + c[1] == 0;
}
__global__ void integers(int *a, unsigned *b, long long *d, short s, unsigned char u)
{
    a[0] = -s + ~u << 3;
    b[0] = a[1] >> 2 | b[1] >> 2 ^ 7u & 12;
    d[0] = a[2] * d[1] % 5 - (a[3] > b[3]);
    a[4] = !a[5] && b[5] || d[2];
    a[6] = a[7] ? s : u;
    a[8] = (a[9] = 3, a[10]);
    s++, --u;
    a[s]--;
}
__global__ void floats(float *x, double *y)
{
    x[0] = x[1] * 2 + 0.5f;
    y[0] = x[1] * 0.5 + y[1];
    x[2] = -x[3] / (x[4] - 1);
    x[5] += 0.25;
    x[6] = x[7] > 0.5 ? 1 : x[8];
}
__global__ void pointers(float *x, const float *y, int n)
{
    const float *end = y + n;
    long count = end - y;
    while (y != end)
        *x++ = *y++;
    x[-1] = 2[y];
    x = x && count ? x - n : nullptr;
    bool null = x == 0;
    x[0] = null;
}
