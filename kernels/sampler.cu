/* Samplers that draw until a candidate is accepted: one thread for each element, with its own random bits. Draw j of element
 * i of n is value j * n + i of the key. Defined before it: REAL and F64; WORDS, the length of the key. */
#include "math.cuh"
#include "random.cuh"

/* The draws of one element. */
struct stream {
    const unsigned int *key;
    unsigned long long next, step;
};

__device__ unsigned long long draw_bits(stream *s)
{
    const unsigned long long i = s->next;
    s->next += s->step;
#if WORDS == 4
    return philox_u64(s->key, 1, i);
#else
    return threefry_u64(s->key, 1, i);
#endif
}

/* The numbers for element i of n. */
__device__ void begin(stream *s, const unsigned int *key, long long i, long long n)
{
    s->key = key;
    s->next = (unsigned long long)i;
    s->step = (unsigned long long)n;
}

/* Uniform in (0, 1), open at both ends: the middles of equal intervals. */
__device__ REAL draw_unit(stream *s)
{
#if F64
    return ((REAL)(draw_bits(s) >> 12) + (REAL)0.5) * (REAL)0x1p-52;
#else
    return ((REAL)(draw_bits(s) >> 41) + (REAL)0.5) * (REAL)0x1p-23;
#endif
}

/* The most candidates of one element, so that a kernel ends for every parameter. */
enum { TRIES = 100000 };

__device__ REAL draw_normal(stream *s)
{
    return m_erfinv((REAL)2 * draw_unit(s) - (REAL)1) * (REAL)1.41421356237309504880;
}

/* ---- gamma ---- */

/* The logarithm of a gamma number with parameter a, by Marsaglia and Tsang; for a < 1 by the one of a + 1. */
__device__ REAL draw_loggamma(stream *s, REAL a)
{
    const bool small = a < (REAL)1;
    const REAL d = (small ? a + (REAL)1 : a) - (REAL)(1.0 / 3), c = (REAL)1 / m_sqrt((REAL)9 * d);
    REAL log_v = (REAL)0;
    bool found = false;
    for (int tries = 0; !found && tries < TRIES; tries++) {
        const REAL x = draw_normal(s), root = (REAL)1 + c * x, u = draw_unit(s);
        if (root > (REAL)0) {
            const REAL v = root * root * root;
            log_v = (REAL)3 * m_log(root);
            found = m_log(u) < (REAL)0.5 * x * x + d * (((REAL)1 - v) + log_v);
        }
    }
    const REAL y = m_log(d) + log_v;
    return small ? y + m_log(draw_unit(s)) / a : y;
}

__global__ void sample_loggamma(const unsigned int *key, const REAL *a, REAL *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    stream s;
    begin(&s, key, i, n);
    const REAL p = a[i];
    const REAL nan = m_log((REAL)-1);
    y[i] = p > (REAL)0 && p <= (REAL)0x1p100 ? draw_loggamma(&s, p) : p == (REAL)0 ? m_log((REAL)0) : nan;
}

/* ---- probabilities ---- */

/* log(k!) minus Stirling's formula for it. */
__device__ REAL stirling_rest(REAL k)
{
    REAL more = (REAL)0;
    /* Stirling's formula at k differs from that at k + 1, ... by logarithms; 15 is large enough for the series. */
    REAL x = k;
    while (x < (REAL)15) {
        more += (x + (REAL)0.5) * m_log1p((REAL)1 / x) - (REAL)1;
        x += (REAL)1;
    }
    const REAL r = (REAL)1 / x, q = r * r;
    return more + r * ((REAL)(1.0 / 12) - q * ((REAL)(1.0 / 360) - q * ((REAL)(1.0 / 1260) - q * (REAL)(1.0 / 1680))));
}

/* k log(k / m) + m - k, without cancellation where k is near m. */
__device__ REAL deviance(REAL k, REAL m)
{
    const REAL v = (k - m) / (k + m), q = v * v;
    if (q >= (REAL)0.01)
        return k * m_log(k / m) + m - k;
    REAL sum = (REAL)0, power = v * q;
    for (int j = 3; j < 25; j += 2) {
        sum += power / (REAL)j;
        power *= q;
    }
    return (k - m) * v + (REAL)2 * k * sum;
}

__device__ REAL log_two_pi(REAL x) { return m_log((REAL)6.28318530717958647693 * x); }

/* The logarithm of the probability of k with mean m (Loader, 2000). */
__device__ REAL log_poisson(REAL k, REAL m)
{
    if (k == (REAL)0)
        return -m;
    return -stirling_rest(k) - deviance(k, m) - (REAL)0.5 * log_two_pi(k);
}

__device__ REAL log_binomial(REAL k, REAL n, REAL p, REAL q)
{
    if (k == (REAL)0)
        return n * m_log1p(-p);
    if (k == n)
        return n * m_log(p);
    const REAL rest = n - k;
    const REAL y = stirling_rest(n) - stirling_rest(k) - stirling_rest(rest) - deviance(k, n * p) - deviance(rest, n * q);
    return y - (REAL)0.5 * log_two_pi(k * (rest / n));
}

/* ---- counts ---- */

/* Multiplies uniform numbers while the product is above exp(-rate). */
__device__ REAL poisson_few(stream *s, REAL rate)
{
    const REAL least = m_exp(-rate);
    REAL k = (REAL)0;
    for (REAL product = draw_unit(s); product > least; k += (REAL)1)
        product *= draw_unit(s);
    return k;
}

/* Transformed rejection (Hoermann, 1993: PTRS). */
__device__ REAL poisson_many(stream *s, REAL rate)
{
    const REAL b = (REAL)0.931 + (REAL)2.53 * m_sqrt(rate), a = (REAL)-0.059 + (REAL)0.02483 * b;
    const REAL scale = (REAL)1.1239 + (REAL)1.1328 / (b - (REAL)3.4), squeeze = (REAL)0.9277 - (REAL)3.6224 / (b - (REAL)2);
    REAL k = (REAL)0;
    bool found = false;
    for (int tries = 0; !found && tries < TRIES; tries++) {
        const REAL u = draw_unit(s) - (REAL)0.5, v = draw_unit(s), us = (REAL)0.5 - m_abs(u);
        k = m_floor(((REAL)2 * a / us + b) * u + rate + (REAL)0.43);
        if (us >= (REAL)0.07 && v <= squeeze)
            found = true;
        else if (k >= (REAL)0 && (us >= (REAL)0.013 || v <= us))
            found = m_log(v * scale / (a / (us * us) + b)) <= log_poisson(k, rate);
    }
    return k;
}

__global__ void sample_poisson(const unsigned int *key, const REAL *a, long long *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    stream s;
    begin(&s, key, i, n);
    const REAL rate = a[i];
    REAL k = (REAL)-1;
    if (rate >= (REAL)0 && rate <= (REAL)0x1p40)
        k = rate < (REAL)10 ? poisson_few(&s, rate) : poisson_many(&s, rate);
    y[i] = (long long)k;
}

/* Skips failures, as many at once as a geometric number says. */
__device__ REAL binomial_few(stream *s, REAL n, REAL p)
{
    const REAL base = m_log1p(-p);
    REAL k = (REAL)-1;
    for (REAL at = (REAL)0; at <= n; k += (REAL)1)
        at += m_floor(m_log(draw_unit(s)) / base) + (REAL)1;
    return k;
}

/* Transformed rejection (Hoermann, 1993: BTRS). */
__device__ REAL binomial_many(stream *s, REAL n, REAL p)
{
    const REAL q = (REAL)1 - p, spread = m_sqrt(n * p * q), b = (REAL)1.15 + (REAL)2.53 * spread;
    const REAL a = (REAL)-0.0873 + (REAL)0.0248 * b + (REAL)0.01 * p, c = n * p + (REAL)0.5;
    const REAL squeeze = (REAL)0.92 - (REAL)4.2 / b, alpha = ((REAL)2.83 + (REAL)5.1 / b) * spread;
    const REAL most = log_binomial(m_floor((n + (REAL)1) * p), n, p, q);
    REAL k = (REAL)0;
    bool found = false;
    for (int tries = 0; !found && tries < TRIES; tries++) {
        const REAL v = draw_unit(s), u = draw_unit(s) - (REAL)0.5, us = (REAL)0.5 - m_abs(u);
        k = m_floor(((REAL)2 * a / us + b) * u + c);
        if (us >= (REAL)0.07 && v <= squeeze)
            found = true;
        else if (k >= (REAL)0 && k <= n)
            found = m_log(v * alpha / (a / (us * us) + b)) <= log_binomial(k, n, p, q) - most;
    }
    return k;
}

__global__ void sample_binomial(const unsigned int *key, const REAL *a, const REAL *b, long long *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    stream s;
    begin(&s, key, i, n);
    const REAL count = a[i], p = b[i], least = p > (REAL)0.5 ? (REAL)1 - p : p;
    REAL k = (REAL)-1;
    if (count >= (REAL)0 && count <= (REAL)0x1p40 && p >= (REAL)0 && p <= (REAL)1) {
        k = (REAL)0;
        if (least > (REAL)0)
            k = count * least < (REAL)10 ? binomial_few(&s, count, least) : binomial_many(&s, count, least);
        k = p > (REAL)0.5 ? count - k : k;
    }
    y[i] = (long long)k;
}

/* ---- others ---- */

/* Rejection by Devroye. */
__global__ void sample_zipf(const unsigned int *key, const REAL *a, long long *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    stream s;
    begin(&s, key, i, n);
    const REAL less = a[i] - (REAL)1, log_b = less * (REAL)0.693147180559945309417;
    /* Numbers above 2^62 are left out. */
    const REAL least = m_exp((REAL)-62 * log_b), rest = -m_expm1((REAL)-62 * log_b);
    REAL k = (REAL)-1;
    bool found = !(less > (REAL)0 && less <= (REAL)1000);
    for (int tries = 0; !found && tries < TRIES; tries++) {
        const REAL u = least + rest * draw_unit(&s), v = draw_unit(&s);
        k = m_floor(m_exp(-m_log(u) / less));
        if (k >= (REAL)1 && k <= (REAL)0x1p62) {
            const REAL log_t = less * m_log1p((REAL)1 / k);
            found = v * k * (m_expm1(log_t) / m_expm1(log_b)) <= m_exp(log_t - log_b);
        }
    }
    y[i] = (long long)k;
}

/* Kemp's method. */
__global__ void sample_logseries(const unsigned int *key, const REAL *a, long long *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    stream s;
    begin(&s, key, i, n);
    const REAL p = a[i], r = m_log1p(-p);
    REAL k = (REAL)-1;
    bool found = !(p >= (REAL)0 && p < (REAL)1);
    for (int tries = 0; !found && tries < TRIES; tries++) {
        const REAL v = draw_unit(&s), u = draw_unit(&s), q = -m_expm1(r * u);
        k = v < p && v < q ? (REAL)2 : (REAL)1;
        if (v < p && v <= q * q)
            k = m_floor((REAL)1 + m_log(v) / m_log(q));
        found = k >= (REAL)1;
    }
    y[i] = (long long)k;
}

/* The angle from the mean, by Best and Fisher; large concentrations by the wrapped normal distribution. */
__global__ void sample_vonmises(const unsigned int *key, const REAL *a, REAL *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    stream s;
    begin(&s, key, i, n);
    const REAL k = a[i], pi = (REAL)3.14159265358979323846;
    const REAL large = F64 ? (REAL)1e6 : (REAL)1e4;
    REAL angle = m_log((REAL)-1);
    if (k >= (REAL)0 && k < (REAL)1e-5)
        angle = pi * ((REAL)2 * draw_unit(&s) - (REAL)1);
    else if (k >= large)
        angle = draw_normal(&s) / m_sqrt(k);
    else if (k > (REAL)0) {
        /* (r - sqrt(2 r)) / (2 k), without cancellation for a small k. */
        const REAL r = (REAL)1 + m_sqrt((REAL)1 + (REAL)4 * k * k), root = m_sqrt(r);
        const REAL rho = (REAL)2 * k / r * (root / (root + (REAL)1.41421356237309504880));
        const REAL c = ((REAL)1 + rho * rho) / ((REAL)2 * rho);
        bool found = false;
        for (int tries = 0; !found && tries < TRIES; tries++) {
            const REAL z = m_cos(pi * draw_unit(&s)), w = ((REAL)1 + c * z) / (c + z), t = k * (c - w);
            const REAL v = draw_unit(&s);
            found = t * ((REAL)2 - t) >= v || m_log(t / v) + (REAL)1 >= t;
            angle = m_acos(w > (REAL)1 ? (REAL)1 : w < (REAL)-1 ? (REAL)-1 : w);
        }
        angle = draw_unit(&s) < (REAL)0.5 ? -angle : angle;
    }
    y[i] = angle;
}

/* Draws balls one by one, or those that stay. */
__global__ void sample_hypergeometric(const unsigned int *key, const long long *a, const long long *b, const long long *c,
                                      long long *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    stream s;
    begin(&s, key, i, n);
    const long long good = a[i], bad = b[i], drawn = c[i], total = good + bad;
    long long left = good, all = total, k = -1;
    if (good >= 0 && bad >= 0 && drawn >= 0 && drawn <= total) {
        const bool few = drawn <= total - drawn;
        for (long long j = few ? drawn : total - drawn; j > 0; j--) {
            if ((long long)((draw_bits(&s) >> 1) % (unsigned long long)all) < left)
                left -= 1;
            all -= 1;
        }
        k = few ? good - left : left;
    }
    y[i] = k;
}
