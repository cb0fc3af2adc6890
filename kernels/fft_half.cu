/* Steps before and after complex transforms of lines.
 *
 * Transforms of real numbers by complex ones of half the length h: real numbers x[2 j], x[2 j + 1] are one complex number.
 * w has the factors exp(-2 pi i k / (2 h)), k = 0 ... h. The CPU has the same loops in
 * src/engine/backend/cpu/lanes/fft.inc, with the same bits. */
#ifndef REAL
#define REAL float
#endif

/* Row by row: y[0 ... h] from the transform z[0 ... h - 1]. */
extern "C" __global__ void fft_split(const REAL *z, const REAL *w, REAL *y, long long rows,
                                     long long h, REAL scale)
{
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = at / (h + 1), k = at % (h + 1);
    if (row >= rows)
        return;
    const REAL *a = z + 2 * (row * h + (k == h ? 0 : k)),
               *b = z + 2 * (row * h + (k == 0 ? 0 : h - k));
    const REAL half = (REAL)0.5;
    const REAL even_r = (a[0] + b[0]) * half, even_i = (a[1] - b[1]) * half;
    const REAL odd_r = (a[1] + b[1]) * half, odd_i = (b[0] - a[0]) * half;
    const REAL c = w[2 * k], s = w[2 * k + 1];
    y[2 * at] = (even_r + (c * odd_r - s * odd_i)) * scale;
    y[2 * at + 1] = k == 0 || k == h ? (REAL)0 : (even_i + (c * odd_i + s * odd_r)) * scale;
}

/* Row by row: z[0 ... h - 1], whose backward transform has the real numbers, from y[0 ... h]. The imaginary parts of the
 * first and the last are not read. */
extern "C" __global__ void fft_merge(const REAL *y, const REAL *w, REAL *z, long long rows,
                                     long long h)
{
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = at / h, k = at % h;
    if (row >= rows)
        return;
    const REAL *a = y + 2 * (row * (h + 1) + k), *b = y + 2 * (row * (h + 1) + h - k);
    const REAL a_i = k == 0 ? (REAL)0 : a[1], b_i = k == 0 ? (REAL)0 : b[1];
    const REAL even_r = a[0] + b[0], even_i = a_i - b_i;
    const REAL odd_r = a[0] - b[0], odd_i = a_i + b_i;
    const REAL c = w[2 * k], s = w[2 * k + 1];
    const REAL turned_r = odd_r * c + odd_i * s, turned_i = odd_i * c - odd_r * s;
    z[2 * at] = even_r - turned_i;
    z[2 * at + 1] = even_i + turned_r;
}

/* Row by row: y[k] = x[k] * w[k] k < n_y; x has n_x points, and is 0 after them. in and out are 1, or -1 for conjugate
 * points and results. */
extern "C" __global__ void fft_chirp(const REAL *x, const REAL *w, REAL *y, long long rows, long long n_x, long long n_y,
                                     REAL in, REAL out, REAL scale)
{
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = at / n_y, k = at % n_y;
    if (row >= rows)
        return;
    REAL r = (REAL)0, i = (REAL)0;
    if (k < n_x) {
        const REAL *z = x + 2 * (row * n_x + k);
        const REAL c = w[2 * k], s = w[2 * k + 1], z_i = z[1] * in;
        r = (z[0] * c - z_i * s) * scale;
        i = (z[0] * s + z_i * c) * out * scale;
    }
    y[2 * at] = r;
    y[2 * at + 1] = i;
}
