/* Factorizations of matrices in planes of elements: blocks of larger matrices, and stacks of small ones. The kernels of
 * factor.cu and the loops of the CPU (lanes/factor.c) are made of these functions. Each element is the result of the
 * same operations in the same order, however elements are divided among threads or lanes, so all devices give the same
 * bits.
 *
 * Matrices are contiguous, by rows. The includer defines:
 *   T, Z             the type of a part of an element; 1 for complex elements, which have a part im, else 0
 *   FN, NAME(f)      before a function; its name
 *   EACH(i, a, b)    a loop over a <= i < b, in any order
 *   GRID(i, a, b, j, c, d)   a loop over a <= i < b and c <= j < d; c may be i
 *   SYNC, FIRST      between loops that depend on each other; true in one thread
 *   COLUMNS(l, lanes, i, a, b, j, n)   sets w and w_im to 0, then loops over j < n and i from a + l in steps of lanes, upward
 *   LARGEST(n, size) defines most, the largest size for i_ < n, which is not NaN, or -1, and most_at, its lowest i_. It
 *                    uses w and u, of which it needs an element for each thread.
 *   LESS(x, a, b)    x - a b, rounded once (by the CPU level sse2, which has no fma, twice)
 *   ROOT(x), SIZE(x) square root, absolute value */

#include "factor_divide.cuh"

#ifndef QR_LANES
#define QR_LANES 16 /* partial sums of a sum over rows */
#endif

/* The lower factor L of a = L L^H, whose lower triangle is read. At a pivot that is not positive it stops, and this
 * diagonal element and all after it are 0. The factorization runs on rows of L^H, which are contiguous. */
FN void NAME(cholesky)(int n, const T *a, const T *a_im, T *l, T *l_im)
{
    int k = 0;
    GRID(i, 0, n, j, i, n)
    {
        l[i * n + j] = a[j * n + i];
        if (Z)
            l_im[i * n + j] = i == j ? 0 : -a_im[j * n + i];
    }
    SYNC;
    for (; k < n; k++) {
        const T pivot = l[k * n + k], root = ROOT(pivot);
        if (!(pivot > 0))
            break;
        SYNC;
        EACH(j, k, n)
        {
            l[k * n + j] = j == k ? root : l[k * n + j] / root;
            if (Z)
                l_im[k * n + j] = j == k ? 0 : l_im[k * n + j] / root;
        }
        SYNC;
        GRID(i, k + 1, n, j, i, n)
        {
            const T ur = l[k * n + i], ui = Z ? l_im[k * n + i] : 0;
            T x = LESS(l[i * n + j], ur, l[k * n + j]);
            if (Z) {
                x = LESS(x, ui, l_im[k * n + j]);
                l_im[i * n + j] = LESS(LESS(l_im[i * n + j], -ui, l[k * n + j]), ur, l_im[k * n + j]);
            }
            l[i * n + j] = x;
        }
        SYNC;
    }
    const int good = k;
    SYNC;
    GRID(i, 0, n, j, i, n)
    {
        const T x = i < good ? l[i * n + j] : 0, y = Z && i < good ? l_im[i * n + j] : 0;
        l[i * n + j] = 0;
        l[j * n + i] = x;
        if (Z) {
            l_im[i * n + j] = 0;
            l_im[j * n + i] = i == j ? 0 : -y;
        }
    }
}

/* The factors of the rows of f (m x n) with exchanges: below the diagonal L, whose diagonal is 1, above it U. Row k was
 * exchanged with row pivot[k]; then row i was row order[i]. A column of zeros is left as it is. */
FN void NAME(lu)(int m, int n, T *f, T *f_im, int *pivot, int *order, T *w, int *u)
{
    const int least = m < n ? m : n;
    EACH(i, 0, m) { order[i] = i; }
    for (int k = 0; k < least; k++) {
        SYNC;
        LARGEST(m - k, SIZE(f[(k + i_) * n + k]) + (Z ? SIZE(f_im[(k + i_) * n + k]) : 0));
        const int p = k + most_at;
        const T dr = f[p * n + k], di = Z ? f_im[p * n + k] : 0;
        SYNC;
        if (p != k)
            EACH(j, 0, n)
            {
                const T x = f[k * n + j], y = Z ? f_im[k * n + j] : 0;
                f[k * n + j] = f[p * n + j];
                f[p * n + j] = x;
                if (Z) {
                    f_im[k * n + j] = f_im[p * n + j];
                    f_im[p * n + j] = y;
                }
            }
        if (FIRST) {
            const int was = order[k];
            order[k] = order[p];
            order[p] = was;
            pivot[k] = p;
        }
        SYNC;
        if (dr != 0 || di != 0) {
            DIVISOR(dr, di);
            EACH(i, k + 1, m)
            {
                QUOTIENT(f[i * n + k], Z ? f_im[i * n + k] : 0, f[i * n + k], f_im[i * n + k]);
            }
            SYNC;
        }
        GRID(i, k + 1, m, j, k + 1, n)
        {
            const T lr = f[i * n + k], li = Z ? f_im[i * n + k] : 0;
            T x = LESS(f[i * n + j], lr, f[k * n + j]);
            if (Z) {
                x = LESS(x, -li, f_im[k * n + j]);
                f_im[i * n + j] = LESS(LESS(f_im[i * n + j], lr, f_im[k * n + j]), li, f[k * n + j]);
            }
            f[i * n + j] = x;
        }
    }
}

/* order, as lu gives it, from pivots of k rows. */
FN void NAME(order)(int m, int k, const int *pivot, int *order)
{
    EACH(i, 0, m) { order[i] = i; }
    SYNC;
    if (FIRST)
        for (int i = 0; i < k; i++) {
            const int was = order[i], p = pivot[i] < i ? i : pivot[i] >= m ? m - 1 : pivot[i];
            order[i] = order[p];
            order[p] = was;
        }
}

/* Householder's reflections of column k of v: its part from row k on becomes the vector, with 1 in row k, and its part
 * above, with the new diagonal element, column k of r. Returns tau in t[k, k]. w has QR_LANES elements or more. */
FN void NAME(reflect)(int m, int n, int k, T *v, T *v_im, T *r, T *r_im, T *t, T *t_im, T *w,
                     int *u)
{
    LARGEST(m - k, SIZE(v[(k + i_) * n + k]) > (Z ? SIZE(v_im[(k + i_) * n + k]) : 0)
                       ? SIZE(v[(k + i_) * n + k])
                       : (Z ? SIZE(v_im[(k + i_) * n + k]) : SIZE(v[(k + i_) * n + k])));
    const T unit = most > 0 ? most : 1;
    EACH(l, 0, QR_LANES)
    {
        T sum = 0;
        for (int i = k + 1 + l; i < m; i += QR_LANES) {
            const T x = v[i * n + k] / unit, y = Z ? v_im[i * n + k] / unit : 0;
            sum = sum + x * x;
            if (Z)
                sum = sum + y * y;
        }
        w[l] = sum;
    }
    SYNC;
    T rest = 0;
    for (int l = 0; l < QR_LANES; l++)
        rest = rest + w[l];
    const T ar = v[k * n + k] / unit, ai = Z ? v_im[k * n + k] / unit : 0;
    const int flat = rest == 0 && ai == 0;
    const T norm = ROOT(ar * ar + ai * ai + rest), beta = flat ? ar : ar >= 0 ? -norm : norm;
    const T dr = flat ? 1 : ar - beta, di = ai;
    SYNC;
    DIVISOR(dr, di);
    EACH(i, k + 1, m)
    {
        QUOTIENT(v[i * n + k] / unit, Z ? v_im[i * n + k] / unit : 0, v[i * n + k], v_im[i * n + k]);
    }
    EACH(i, 0, k + 1)
    {
        r[i * n + k] = i == k ? beta * unit : v[i * n + k];
        v[i * n + k] = i == k ? 1 : 0;
        if (Z) {
            r_im[i * n + k] = i == k ? 0 : v_im[i * n + k];
            v_im[i * n + k] = 0;
        }
    }
    if (FIRST) {
        t[k * n + k] = flat ? 0 : (beta - ar) / beta;
        if (Z)
            t_im[k * n + k] = flat ? 0 : -ai / beta;
    }
    SYNC;
}

/* The factors of m x n, m >= n: v holds the matrix and becomes the vectors of the reflections, zeros above the diagonal.
 * r is upper triangular. The product of the reflections is I - v t v^H, with t upper triangular. r and t begin as zeros;
 * w has 2 QR_LANES n elements or more. */
FN void NAME(qr)(int m, int n, T *v, T *v_im, T *r, T *r_im, T *t, T *t_im, T *w,
                     int *u)
{
    T *w_im = w + QR_LANES * n;
    for (int k = 0; k < n; k++) {
        SYNC;
        NAME(reflect)(m, n, k, v, v_im, r, r_im, t, t_im, w, u);
        const T tr = t[k * n + k], ti = Z ? t_im[k * n + k] : 0;
        /* w = v_k^H v, by lanes of rows */
        COLUMNS(l, QR_LANES, i, k, m, j, n)
        {
            const T xr = v[i * n + k], xi = Z ? v_im[i * n + k] : 0;
            T sum = w[l * n + j] + xr * v[i * n + j];
            if (Z) {
                sum = sum + xi * v_im[i * n + j];
                w_im[l * n + j] = w_im[l * n + j] + xr * v_im[i * n + j] - xi * v[i * n + j];
            }
            w[l * n + j] = sum;
        }
        SYNC;
        EACH(j, 0, n)
        {
            T sr = 0, si = 0;
            for (int l = 0; l < QR_LANES; l++) {
                sr = sr + w[l * n + j];
                if (Z)
                    si = si + w_im[l * n + j];
            }
            /* column k of v^H v before k; else conj(tau) v_k^H v */
            w[j] = j < k ? sr : Z ? tr * sr + ti * si : tr * sr;
            if (Z)
                w_im[j] = j < k ? -si : tr * si - ti * sr;
        }
        SYNC;
        GRID(i, k, m, j, k + 1, n)
        {
            const T xr = v[i * n + k], xi = Z ? v_im[i * n + k] : 0;
            T x = v[i * n + j] - xr * w[j];
            if (Z) {
                x = x + xi * w_im[j];
                v_im[i * n + j] = v_im[i * n + j] - xr * w_im[j] - xi * w[j];
            }
            v[i * n + j] = x;
        }
        EACH(i, 0, k)
        {
            T sr = 0, si = 0;
            for (int p = i; p < k; p++) {
                sr = sr + t[i * n + p] * w[p];
                if (Z) {
                    sr = sr - t_im[i * n + p] * w_im[p];
                    si = si + t[i * n + p] * w_im[p] + t_im[i * n + p] * w[p];
                }
            }
            t[i * n + k] = Z ? -(tr * sr - ti * si) : -(tr * sr);
            if (Z)
                t_im[i * n + k] = -(tr * si + ti * sr);
        }
    }
}
