// Every conversion between floats and integers in every direction, against a search through all halves and
// arithmetic of the host. What is out of range saturates or wraps, as NVIDIA's instructions do it.
/*
expect:
rz of 2049.9 is 2048, of 300 as unsigned char 44, of -1 0, of half 300 255
to half from float 0, int 0, uint 0, short 0, ushort 0, ll 0, ull 0, double 0
to bfloat16 from float 0, int 0, uint 0, short 0, ushort 0, ll 0, ull 0, double 0
from half to int 0, uint 0, short 0, ushort 0, ll 0, ull 0, char 0, uchar 0
from bfloat16 to int 0, uint 0, short 0, ushort 0, ll 0, ull 0, char 0, uchar 0
from float to int 0, uint 0, ll 0, ull 0, from double to int 0, uint 0, ll 0, ull 0
to float from int 0, uint 0, ll 0, ull 0, double 0
casts of float to char 0, uchar 0, short 0, ushort 0, of double 0 0 0 0
updates of uchar 0
*/
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef long long ll;
typedef unsigned long long ull;
enum { RN, RZ, RU, RD, MODES };
const int N = 64;

struct inputs { float f[N]; double d[N]; int i[N]; uint u[N]; short s[N]; ushort us[N]; ll l[N]; ull ul[N]; ushort h[N], b[N]; };

// One row of results for each source: N values in each mode.
#define EACH(out, name, x) \
    { out[0][t] = name##_rn(x); out[1][t] = name##_rz(x); out[2][t] = name##_ru(x); out[3][t] = name##_rd(x); }
#define BITS(out, as, name, x) \
    { out[0][t] = as(name##_rn(x)); out[1][t] = as(name##_rz(x)); out[2][t] = as(name##_ru(x)); out[3][t] = as(name##_rd(x)); }

struct narrow { ushort f[4][N], i[4][N], u[4][N], s[4][N], us[4][N], l[4][N], ul[4][N], d[N]; };
struct whole { int i[4][N]; uint u[4][N]; short s[4][N]; ushort us[4][N]; ll l[4][N]; ull ul[4][N]; signed char c[N]; uchar uc[N]; };
struct wide { int i[4][N]; uint u[4][N]; ll l[4][N]; ull ul[4][N]; };
struct singles { float i[4][N], u[4][N], l[4][N], ul[4][N], d[4][N]; };
struct casts { signed char c[2][N]; uchar uc[2][N]; short s[2][N]; ushort us[2][N]; uchar sum[N]; };

__global__ void to_half(const inputs *x, narrow *r)
{
    int t = threadIdx.x;
    BITS(r->f, __half_as_ushort, __float2half, x->f[t])
    BITS(r->i, __half_as_ushort, __int2half, x->i[t])
    BITS(r->u, __half_as_ushort, __uint2half, x->u[t])
    BITS(r->s, __half_as_ushort, __short2half, x->s[t])
    BITS(r->us, __half_as_ushort, __ushort2half, x->us[t])
    BITS(r->l, __half_as_ushort, __ll2half, x->l[t])
    BITS(r->ul, __half_as_ushort, __ull2half, x->ul[t])
    r->d[t] = __half_as_ushort(__double2half(x->d[t]));
}

__global__ void to_bfloat16(const inputs *x, narrow *r)
{
    int t = threadIdx.x;
    BITS(r->f, __bfloat16_as_ushort, __float2bfloat16, x->f[t])
    BITS(r->i, __bfloat16_as_ushort, __int2bfloat16, x->i[t])
    BITS(r->u, __bfloat16_as_ushort, __uint2bfloat16, x->u[t])
    BITS(r->s, __bfloat16_as_ushort, __short2bfloat16, x->s[t])
    BITS(r->us, __bfloat16_as_ushort, __ushort2bfloat16, x->us[t])
    BITS(r->l, __bfloat16_as_ushort, __ll2bfloat16, x->l[t])
    BITS(r->ul, __bfloat16_as_ushort, __ull2bfloat16, x->ul[t])
    r->d[t] = __bfloat16_as_ushort(__double2bfloat16(x->d[t]));
}

__global__ void from_half(const inputs *x, whole *r)
{
    int t = threadIdx.x;
    __half h = __ushort_as_half(x->h[t]);
    EACH(r->i, __half2int, h)
    EACH(r->u, __half2uint, h)
    EACH(r->s, __half2short, h)
    EACH(r->us, __half2ushort, h)
    EACH(r->l, __half2ll, h)
    EACH(r->ul, __half2ull, h)
    r->c[t] = __half2char_rz(h);
    r->uc[t] = __half2uchar_rz(h);
}

__global__ void from_bfloat16(const inputs *x, whole *r)
{
    int t = threadIdx.x;
    __nv_bfloat16 h = __ushort_as_bfloat16(x->b[t]);
    EACH(r->i, __bfloat162int, h)
    EACH(r->u, __bfloat162uint, h)
    EACH(r->s, __bfloat162short, h)
    EACH(r->us, __bfloat162ushort, h)
    EACH(r->l, __bfloat162ll, h)
    EACH(r->ul, __bfloat162ull, h)
    r->c[t] = __bfloat162char_rz(h);
    r->uc[t] = __bfloat162uchar_rz(h);
}

__global__ void from_float(const inputs *x, wide *r)
{
    int t = threadIdx.x;
    EACH(r->i, __float2int, x->f[t])
    EACH(r->u, __float2uint, x->f[t])
    EACH(r->l, __float2ll, x->f[t])
    EACH(r->ul, __float2ull, x->f[t])
}

__global__ void from_double(const inputs *x, wide *r)
{
    int t = threadIdx.x;
    EACH(r->i, __double2int, x->d[t])
    EACH(r->u, __double2uint, x->d[t])
    EACH(r->l, __double2ll, x->d[t])
    EACH(r->ul, __double2ull, x->d[t])
}

__global__ void to_float(const inputs *x, singles *r)
{
    int t = threadIdx.x;
    EACH(r->i, __int2float, x->i[t])
    EACH(r->u, __uint2float, x->u[t])
    EACH(r->l, __ll2float, x->l[t])
    EACH(r->ul, __ull2float, x->ul[t])
    EACH(r->d, __double2float, x->d[t])
}

__global__ void cast(const inputs *x, casts *r)
{
    int t = threadIdx.x;
    r->c[0][t] = (signed char)x->f[t];
    r->uc[0][t] = (uchar)x->f[t];
    r->s[0][t] = x->f[t];
    r->us[0][t] = static_cast<ushort>(x->f[t]);
    r->c[1][t] = (signed char)x->d[t];
    r->uc[1][t] = (uchar)x->d[t];
    r->s[1][t] = x->d[t];
    r->us[1][t] = static_cast<ushort>(x->d[t]);
    uchar sum = 200;
    sum += x->f[t];
    r->sum[t] = sum;
}

// ---- what is right ----

static long double value_of(uint bits, bool bf16)
{
    const int digits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15;
    const int power = (bits & 0x7fff) >> digits, rest = bits & ((1 << digits) - 1);
    const long double size =
        power ? ldexpl((1 << digits) + rest, power - bias - digits) : ldexpl(rest, 1 - bias - digits);
    return bits & 0x8000 ? -size : size;
}

// The bits of |x| in the direction (of |x|): by search; all numbers up to infinity are in the order of their bits.
static uint search(long double x, int mode, bool bf16)
{
    const uint infinity = bf16 ? 0x7f80 : 0x7c00;
    uint low = 0, high = infinity; // low is at most x
    if (std::isinf(x))
        return infinity;
    while (high - low > 1) {
        const uint middle = (low + high) / 2;
        if (value_of(middle, bf16) <= x)
            low = middle;
        else
            high = middle;
    }
    const long double below = value_of(low, bf16), above = value_of(low + 1, bf16); // of infinity: the next power of 2
    if (below == x || mode == RZ)
        return low;
    if (mode == RU)
        return low + 1;
    const long double down = x - below, up = above - x;
    return down < up || (down == up && low % 2 == 0) ? low : low + 1;
}

static uint right(long double x, int mode, bool bf16)
{
    const bool negative = std::signbit(x);
    const int size_mode = mode == RN ? RN : mode == RZ || (mode == RU) == negative ? RZ : RU;
    return search(fabsl(x), size_mode, bf16) | (negative ? 0x8000 : 0);
}

template <typename T> static int count(const ushort (*got)[N], const T *x, bool bf16, int modes)
{
    int wrong = 0;
    for (int m = 0; m < modes; m++)
        for (int t = 0; t < N; t++)
            if (x[t] != x[t])
                wrong += (got[m][t] & 0x7fff) <= (bf16 ? 0x7f80 : 0x7c00);
            else
                wrong += got[m][t] != right(x[t], m, bf16);
    return wrong;
}

static long double rounded(long double x, int mode)
{
    return mode == RN ? rintl(x) : mode == RZ ? truncl(x) : mode == RU ? ceill(x) : floorl(x);
}

// Saturated to the range of T; NaN as given.
template <typename T> static T clamp(long double x, ull nan)
{
    const int bits = 8 * sizeof(T) - (T(-1) < T(0));
    const long double top = ldexpl(1, bits), bottom = T(-1) < T(0) ? -top : 0;
    if (x != x)
        return (T)nan;
    if (x >= top)
        return (T)(T(-1) < T(0) ? (ull)-1 >> (64 - bits) : (ull)-1);
    if (x <= bottom)
        return (T)(T(-1) < T(0) ? (ull)1 << bits : 0);
    return x < 0 ? (T)(ll)x : (T)(ull)x;
}

template <typename T, typename X> static int count_whole(const T (*got)[N], const X *x, int modes, bool is_double)
{
    int wrong = 0;
    for (int m = 0; m < modes; m++)
        for (int t = 0; t < N; t++) {
            const int mode = modes == 1 ? (int)RZ : m;
            const ull nan = sizeof(T) == 8 ? 1ull << 63 : sizeof(T) == 4 && is_double ? 1ull << 31 : 0;
            wrong += got[m][t] != clamp<T>(rounded((long double)x[t], mode), nan);
        }
    return wrong;
}

template <typename T, typename W, typename X> static int count_cast(const T *got, const X *x)
{
    int wrong = 0;
    for (int t = 0; t < N; t++)
        wrong += got[t] != (T)clamp<W>(truncl((long double)x[t]), 0);
    return wrong;
}

template <typename X> static int count_float(const float (*got)[N], const X *x)
{
    int wrong = 0;
    for (int m = 0; m < MODES; m++)
        for (int t = 0; t < N; t++) {
            const long double v = x[t];
            float near = (float)x[t]; // the nearest one, so the right one is it or a neighbour
            if (x[t] != x[t]) {
                wrong += got[m][t] == got[m][t];
                continue;
            }
            if (m != RN) {
                const bool up = m == RU || (m == RZ && v < 0);
                if (up && near < v)
                    near = nextafterf(near, INFINITY);
                if (!up && near > v)
                    near = nextafterf(near, -INFINITY);
            }
            wrong += got[m][t] != near;
        }
    return wrong;
}

static void fill(inputs *x)
{
    static const double starts[] = {2049.9, 300, -1, -300.7, 0, -0.0, 65504, 65519.9, 65520, -65535, 1e9, -3e9, 3e9,
                                    1e20, -1e20, 1e38, 6e-8, -2.9e-8, 1e-40, 0.5, 1.5, 2.5, -2.5, 255.5, 32767.5, 1.00390625};
    const int n = sizeof starts / sizeof *starts;
    ull state = 1;
    memset(x, 0, sizeof *x);
    for (int t = 0; t < N; t++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const int shift = (state >> 59) * 2;
        x->d[t] = t < n ? starts[t] : ldexp((double)(ll)(state | 1), t % 20 * 6 - 120);
        x->f[t] = (float)x->d[t];
        x->l[t] = (ll)state >> shift;
        x->ul[t] = state >> shift;
        x->i[t] = (int)(state >> 32) >> shift % 32;
        x->u[t] = (uint)(state >> 32) >> shift % 32;
        x->s[t] = (short)(state >> 48);
        x->us[t] = (ushort)(state >> 48);
        x->h[t] = (ushort)(state >> 40);
        x->b[t] = (ushort)((state >> 50 & 0x803f) | (0x3f00 + t * 23));
    }
    x->f[N - 1] = x->d[N - 1] = NAN;
    x->f[N - 2] = x->d[N - 2] = INFINITY;
    x->f[N - 3] = x->d[N - 3] = -INFINITY;
    x->h[0] = 0x5cb0; // 300
    x->h[1] = 0x7e00;
    x->b[1] = 0x7fc0;
    x->i[0] = 0x1010001; // half between two of bfloat16, and a little
    x->u[0] = 0x1010001;
    x->l[0] = (1ll << 62) + (1ll << 54) + 1;
    x->ul[0] = (1ull << 63) + (1ull << 55) + 1;
    x->l[1] = -x->l[0];
    x->d[N - 4] = 1.00390625 + 1e-12;
}

template <typename R> static R *run(void (*kernel)(const inputs *, R *), const inputs *x)
{
    static R r;
    R *d;
    cudaMalloc(&d, sizeof r);
    cudaMemset(d, 0x55, sizeof r);
    kernel<<<1, N>>>(x, d);
    if (cudaMemcpy(&r, d, sizeof r, cudaMemcpyDeviceToHost) != cudaSuccess)
        printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(d);
    return &r;
}

static void print_narrow(const char *name, const narrow *r, const inputs *x, bool bf16)
{
    printf("to %s from float %d, int %d, uint %d, short %d, ushort %d, ll %d, ull %d, double %d\n", name,
           count(r->f, x->f, bf16, MODES), count(r->i, x->i, bf16, MODES), count(r->u, x->u, bf16, MODES),
           count(r->s, x->s, bf16, MODES), count(r->us, x->us, bf16, MODES), count(r->l, x->l, bf16, MODES),
           count(r->ul, x->ul, bf16, MODES), count(&r->d, x->d, bf16, 1));
}

static void print_whole(const char *name, const whole *r, const ushort *bits, bool bf16)
{
    double v[N];
    for (int t = 0; t < N; t++) {
        v[t] = (double)value_of(bits[t], bf16);
        if ((bits[t] & 0x7fff) >= (bf16 ? 0x7f80 : 0x7c00))
            v[t] = (bits[t] & (bf16 ? 0x7f : 0x3ff)) ? NAN : bits[t] & 0x8000 ? -INFINITY : INFINITY;
    }
    printf("from %s to int %d, uint %d, short %d, ushort %d, ll %d, ull %d, char %d, uchar %d\n", name,
           count_whole(r->i, v, MODES, false), count_whole(r->u, v, MODES, false), count_whole(r->s, v, MODES, false),
           count_whole(r->us, v, MODES, false), count_whole(r->l, v, MODES, false), count_whole(r->ul, v, MODES, false),
           count_whole(&r->c, v, 1, false), count_whole(&r->uc, v, 1, false));
}

int main()
{
    static inputs x;
    inputs *d;
    fill(&x);
    cudaMalloc(&d, sizeof x);
    cudaMemcpy(d, &x, sizeof x, cudaMemcpyHostToDevice);
    const narrow *half = run(to_half, d);
    const casts *c = run(cast, d);
    const whole *w = run(from_half, d);
    printf("rz of 2049.9 is %d, of 300 as unsigned char %d, of -1 %d, of half 300 %d\n",
           (int)value_of(half->f[RZ][0], false), c->uc[0][1], c->uc[0][2], w->uc[0]);
    print_narrow("half", half, &x, false);
    print_narrow("bfloat16", run(to_bfloat16, d), &x, true);
    print_whole("half", w, x.h, false);
    print_whole("bfloat16", run(from_bfloat16, d), x.b, true);
    const wide *a = run(from_float, d);
    printf("from float to int %d, uint %d, ll %d, ull %d, ", count_whole(a->i, x.f, MODES, false),
           count_whole(a->u, x.f, MODES, false), count_whole(a->l, x.f, MODES, false),
           count_whole(a->ul, x.f, MODES, false));
    const wide *b = run(from_double, d);
    printf("from double to int %d, uint %d, ll %d, ull %d\n", count_whole(b->i, x.d, MODES, true),
           count_whole(b->u, x.d, MODES, true), count_whole(b->l, x.d, MODES, true),
           count_whole(b->ul, x.d, MODES, true));
    const singles *f = run(to_float, d);
    printf("to float from int %d, uint %d, ll %d, ull %d, double %d\n", count_float(f->i, x.i),
           count_float(f->u, x.u), count_float(f->l, x.l), count_float(f->ul, x.ul), count_float(f->d, x.d));
    printf("casts of float to char %d, uchar %d, short %d, ushort %d, of double %d %d %d %d\n",
           count_cast<signed char, int>(c->c[0], x.f), count_cast<uchar, uint>(c->uc[0], x.f),
           count_cast<short, int>(c->s[0], x.f), count_cast<ushort, uint>(c->us[0], x.f),
           count_cast<signed char, int>(c->c[1], x.d), count_cast<uchar, uint>(c->uc[1], x.d),
           count_cast<short, int>(c->s[1], x.d), count_cast<ushort, uint>(c->us[1], x.d));
    float sums[N];
    for (int t = 0; t < N; t++)
        sums[t] = 200 + x.f[t];
    printf("updates of uchar %d\n", count_cast<uchar, uint>(c->sum, sums));
    return 0;
}
