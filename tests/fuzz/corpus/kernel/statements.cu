__global__ void loops(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = i;
    for (;;) {
        if (n-- < 0)
            break;
        else if (n == 5)
            continue;
        x[n] *= 2;
    }
    do
        n++;
    while (n < 3);
    #pragma unroll
    for (int i = 0, j = 1; i < 4; ++i, j *= 2)
        x[j] = 0;
    #pragma nounroll
    while (n) n >>= 1;
}
__global__ void choices(int *x, int n)
{
    switch (n) {
    case 1:
    case 2: x[0] = 1; break;
    case -3: {
        int n = 4;
        x[1] = n;
    }
    default: x[2] = 3;
    }
    if (int m = n / 2; m > 3)
        x[m] = 1;
    if (int m = x[3])
        x[m] = 2;
    else
        x[0] = m;
}
__global__ void returns(int *x, int n)
{
    if (n > 3)
        return;
    { int n = 1; x[n] = n; { int n = 2; x[n] = n; } }
    ;
}
