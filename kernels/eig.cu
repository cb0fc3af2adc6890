/* Eigenvalues and eigenvectors of a complex matrix: powers of 2 balance rows and columns, reflections make the matrix a
 * Hessenberg matrix, QR steps with Wilkinson's shift make it triangular, and back substitution gives the vectors. All
 * matrices are (n, n) in two planes. A column of z, x and v is stored as a row, except while reflections are collected in
 * z. The CPU includes this file, too (src/engine/backend/cpu/lanes/spectral.inc).
 *
 * Defined before it: REAL, F64, COMPLEX, which is 1. */
#ifndef ON_CPU
#include "subwarp.cuh"
#endif
#include "spectral.cuh"

enum { EIG_STEPS = 90, EIG_BALANCES = 16 };

#if F64
#define EIG_TINY 0x1p-900
#define EIG_BIG 0x1p200
#define BALANCE_MOST 0x1p300
#else
#define EIG_TINY 0x1p-100f
#define EIG_BIG 0x1p30f
#define BALANCE_MOST 0x1p40f
#endif

typedef struct number {
    REAL re, im;
} number;

FUNCTION number times(number a, number b)
{
    number r;
    r.re = a.re * b.re - a.im * b.im;
    r.im = a.re * b.im + a.im * b.re;
    return r;
}

FUNCTION REAL modulus(number a) { return length_of(a.re, a.im); }

/* a / b without overflow in between. */
FUNCTION number quotient(number a, number b)
{
    number r;
    if (absolute(b.re) >= absolute(b.im)) {
        const REAL t = b.im / b.re, d = b.re + b.im * t;
        r.re = (a.re + a.im * t) / d;
        r.im = (a.im - a.re * t) / d;
    } else {
        const REAL t = b.re / b.im, d = b.re * t + b.im;
        r.re = (a.re * t + a.im) / d;
        r.im = (a.im * t - a.re) / d;
    }
    return r;
}

FUNCTION number root_of(number a)
{
    const REAL size = modulus(a);
    number r;
    r.re = r.im = 0;
    if (size == 0)
        return r;
    const REAL half = ROOT((size + absolute(a.re)) / 2), other = absolute(a.im) / (2 * half);
    r.re = a.re >= 0 ? half : other;
    r.im = a.re >= 0 ? other : half;
    r.im = a.im < 0 ? -r.im : r.im;
    return r;
}

/* ---- balance ---- */

/* Makes the sums of row i and column i alike by a power of 2; true if it changes them. */
FUNCTION bool eig_balance_one(REAL *part, int n, int i, REAL *hr, REAL *hi, REAL *balance)
{
    LANE_SUM(row);
    LANE_SUM(column);
    EACH_LANE(j, n) {
        if (j != i) {
            LANE_ADD(row, j, absolute(hr[i * n + j]) + absolute(hi[i * n + j]));
            LANE_ADD(column, j, absolute(hr[j * n + i]) + absolute(hi[j * n + i]));
        }
    }
    const REAL r = LANE_TOTAL(part, row), c = LANE_TOTAL(part, column), before = balance[i];
    REAL f = 1;
    if (c == 0 || r == 0)
        return false;
    while (c * f * f * 2 < r && before * f < BALANCE_MOST)
        f *= 2;
    while (c * f * f >= r * 2 && before * f > 1 / BALANCE_MOST)
        f /= 2;
    if (c * f + r / f >= (c + r) * 19 / 20)
        return false;
    SYNC;
    BLOCK(j, n) {
        if (j != i) {
            hr[i * n + j] /= f;
            hi[i * n + j] /= f;
            hr[j * n + i] *= f;
            hi[j * n + i] *= f;
        }
    }
    if (IS_FIRST)
        balance[i] = before * f;
    SYNC;
    return true;
}

FUNCTION void eig_balance(REAL *part, int n, REAL *hr, REAL *hi, REAL *balance)
{
    BLOCK(i, n)
        balance[i] = 1;
    SYNC;
    bool goes_on = true;
    for (int sweep = 0; goes_on && sweep < EIG_BALANCES; sweep++) {
        goes_on = false;
        for (int i = 0; i < n; i++)
            goes_on = eig_balance_one(part, n, i, hr, hi, balance) || goes_on;
    }
}

/* ---- to a Hessenberg matrix ---- */

/* x (1 - tau v v^H) for the rows of x from column `from` on. */
FUNCTION void eig_right(REAL *part, int n, int from, REAL tau, const REAL *vr, const REAL *vi, REAL *xr, REAL *xi)
{
    const int length = n - from;
    SUBWARPS(p, n) {
        const int row = p < n ? p * n + from : 0;
        REAL product[2];
        subwarp_dot(part, p < n ? length : 0, true, xr + row, xi + row, vr, vi, product);
        const REAL re = -tau * product[0], im = -tau * product[1];
        if (p < n) {
            EACH_LANE(j, length) {
                xr[row + j] += re * vr[j] + im * vi[j];
                xi[row + j] += im * vr[j] - re * vi[j];
            }
        }
    }
    SYNC;
}

/* (1 - tau v v^H) h for the rows from `from` and the columns from k on. y has room for n complex numbers. */
FUNCTION void eig_left(int n, int from, int k, REAL tau, const REAL *vr, const REAL *vi, REAL *hr, REAL *hi, REAL *y)
{
    REAL *yr = y, *yi = y + n;
    BLOCK(j, n)
        yr[j] = yi[j] = 0;
    for (int i = from; i < n; i++) {
        const REAL re = vr[i - from], im = vi[i - from];
        BLOCK(j, n) {
            yr[j] += re * hr[i * n + j] + im * hi[i * n + j];
            yi[j] += re * hi[i * n + j] - im * hr[i * n + j];
        }
    }
    for (int i = from; i < n; i++) {
        const REAL re = -tau * vr[i - from], im = -tau * vi[i - from];
        BLOCK(j, n) {
            if (j >= k) {
                hr[i * n + j] += re * yr[j] - im * yi[j];
                hi[i * n + j] += re * yi[j] + im * yr[j];
            }
        }
    }
    SYNC;
}

/* room has 4 n numbers. */
FUNCTION void eig_hessenberg(REAL *part, int n, int vectors, REAL *hr, REAL *hi, REAL *zr, REAL *zi, REAL *room)
{
    REAL *vr = room, *vi = room + n, product[4];
    BLOCK(i, vectors ? n * n : 0) {
        zr[i] = i / n == i % n;
        zi[i] = 0;
    }
    SYNC;
    for (int k = 0; k < n - 2; k++) {
        const int from = k + 1, length = n - from;
        BLOCK(i, length) {
            vr[i] = hr[(from + i) * n + k];
            vi[i] = hi[(from + i) * n + k];
        }
        SYNC;
        subwarp_products(part, length, vr, vi, vr, vi, product);
        number first;
        first.re = vr[0];
        first.im = vi[0];
        const REAL whole = ROOT(product[0]), size = modulus(first);
        const REAL x = size > 0 ? first.re / size : 1, y = size > 0 ? first.im / size : 0;
        SYNC;
        BLOCK(i, length) {
            hr[(from + i) * n + k] = i > 0 ? 0 : product[0] < EIG_TINY ? first.re : -x * whole;
            hi[(from + i) * n + k] = i > 0 ? 0 : product[0] < EIG_TINY ? first.im : -y * whole;
        }
        if (IS_FIRST) {
            vr[0] = first.re + x * whole;
            vi[0] = first.im + y * whole;
        }
        SYNC;
        if (product[0] < EIG_TINY)
            continue;
        const REAL tau = 1 / (product[0] + size * whole);
        eig_left(n, from, k + 1, tau, vr, vi, hr, hi, room + 2 * n);
        eig_right(part, n, from, tau, vr, vi, hr, hi);
        if (vectors)
            eig_right(part, n, from, tau, vr, vi, zr, zi);
    }
}

/* ---- QR steps ---- */

/* The first row of the block that ends at m. */
FUNCTION int eig_block(int n, int m, const REAL *hr, const REAL *hi)
{
    int l = m;
    for (; l > 0; l--) {
        const int at = l * n + l, up = at - n - 1;
        const REAL size = absolute(hr[at - 1]) + absolute(hi[at - 1]);
        const REAL around = absolute(hr[at]) + absolute(hi[at]) + absolute(hr[up]) + absolute(hi[up]);
        if (size <= EPSILON * around || size < EIG_TINY)
            break;
    }
    return l;
}

/* The eigenvalue of the last 2 x 2 block that is nearer to the last element; now and then another number. */
FUNCTION number eig_shift(int n, int m, int tries, const REAL *hr, const REAL *hi)
{
    const int at = m * n + m, up = at - n;
    number a, b, c, d, s;
    a.re = hr[up - 1], a.im = hi[up - 1];
    b.re = hr[up], b.im = hi[up];
    c.re = hr[at - 1], c.im = hi[at - 1];
    d.re = hr[at], d.im = hi[at];
    if (tries % 10 == 0) {
        d.re += absolute(c.re) + absolute(c.im);
        return d;
    }
    s.re = (a.re - d.re) / 2;
    s.im = (a.im - d.im) / 2;
    const number bc = times(b, c), ss = times(s, s);
    number root;
    root.re = ss.re + bc.re;
    root.im = ss.im + bc.im;
    root = root_of(root);
    if (s.re * root.re + s.im * root.im < 0) {
        root.re = -root.re;
        root.im = -root.im;
    }
    s.re += root.re;
    s.im += root.im;
    if (modulus(s) > 0) {
        const number t = quotient(bc, s);
        d.re -= t.re;
        d.im -= t.im;
    }
    return d;
}

/* Rotation k of a step: rows k and k + 1 of h. */
FUNCTION void eig_row_turn(int n, int k, REAL *hr, REAL *hi, REAL *turns)
{
    const int x = k * n, y = x + n;
    number a, b, s;
    a.re = hr[x + k], a.im = hi[x + k];
    b.re = hr[y + k], b.im = hi[y + k];
    SYNC;
    const REAL size_a = modulus(a), size = length_of(size_a, modulus(b));
    const REAL c = size > 0 ? size_a / size : 1;
    s.re = s.im = 0;
    if (size > 0) {
        a.re = size_a > 0 ? a.re / size_a : 1;
        a.im = size_a > 0 ? a.im / size_a : 0;
        b.re = b.re / size;
        b.im = -b.im / size;
        s = times(a, b);
    }
    if (IS_FIRST) {
        turns[3 * k] = c;
        turns[3 * k + 1] = s.re;
        turns[3 * k + 2] = s.im;
    }
    BLOCK(i, n - k) {
        const int j = k + i;
        const REAL pr = hr[x + j], pi = hi[x + j], qr = hr[y + j], qi = hi[y + j];
        hr[x + j] = c * pr + (s.re * qr - s.im * qi);
        hi[x + j] = c * pi + (s.re * qi + s.im * qr);
        hr[y + j] = c * qr - (s.re * pr + s.im * pi);
        hi[y + j] = c * qi - (s.re * pi - s.im * pr);
    }
    SYNC;
}

/* (p, q) times the adjoint of a rotation. */
FUNCTION void eig_turn_back(const REAL *t, REAL *pr, REAL *pi, REAL *qr, REAL *qi)
{
    const REAL c = t[0], re = t[1], im = t[2], xr = *pr, xi = *pi, yr = *qr, yi = *qi;
    *pr = c * xr + (re * yr + im * yi);
    *pi = c * xi + (re * yi - im * yr);
    *qr = c * yr - (re * xr - im * xi);
    *qi = c * yi - (re * xi + im * xr);
}

/* One QR step on the block l to m. */
FUNCTION void eig_step(int n, int l, int m, int tries, int vectors, REAL *hr, REAL *hi, REAL *zr, REAL *zi, REAL *turns)
{
    const number shift = eig_shift(n, m, tries, hr, hi);
    SYNC;
    BLOCK(i, m - l + 1) {
        hr[(l + i) * (n + 1)] -= shift.re;
        hi[(l + i) * (n + 1)] -= shift.im;
    }
    SYNC;
    for (int k = l; k < m; k++)
        eig_row_turn(n, k, hr, hi, turns);
    BLOCK(i, m + 1) {
        REAL *pr = hr + i * n, *pi = hi + i * n;
        for (int k = i - 1 > l ? i - 1 : l; k < m; k++)
            eig_turn_back(turns + 3 * k, pr + k, pi + k, pr + k + 1, pi + k + 1);
    }
    if (vectors) {
        for (int k = l; k < m; k++) {
            REAL *pr = zr + k * n, *pi = zi + k * n;
            BLOCK(i, n)
                eig_turn_back(turns + 3 * k, pr + i, pi + i, pr + n + i, pi + n + i);
        }
    }
    SYNC;
    BLOCK(i, m - l + 1) {
        hr[(l + i) * (n + 1)] += shift.re;
        hi[(l + i) * (n + 1)] += shift.im;
    }
    SYNC;
}

/* Makes h triangular; false if that fails. */
FUNCTION bool eig_triangular(int n, int vectors, REAL *hr, REAL *hi, REAL *zr, REAL *zi, REAL *turns)
{
    int m = n - 1, tries = 0;
    while (m > 0) {
        const int l = eig_block(n, m, hr, hi);
        SYNC;
        if (IS_FIRST && l > 0) {
            hr[l * n + l - 1] = 0;
            hi[l * n + l - 1] = 0;
        }
        SYNC;
        if (l == m) {
            m--;
            tries = 0;
            continue;
        }
        if (++tries > EIG_STEPS)
            return false;
        eig_step(n, l, m, tries, vectors, hr, hi, zr, zi, turns);
    }
    return true;
}

/* ---- vectors ---- */

/* The vectors of the triangular matrix: row k of x for eigenvalue k. */
FUNCTION void eig_substitute(REAL *part, int n, const REAL *hr, const REAL *hi, REAL *xr, REAL *xi)
{
    SUBWARPS(k, n) {
        const bool on = k < n;
        const int row = on ? k * n : 0, own = on ? k * (n + 1) : 0;
        EACH_LANE(j, on ? n : 0) {
            xr[row + j] = j == k;
            xi[row + j] = 0;
        }
        SYNC;
        for (int i = n - 2; i >= 0; i--) {
            const bool here = on && i < k;
            const int after = i + 1, from = here ? i * n + after : 0, to = here ? row + after : 0;
            REAL product[2];
            subwarp_dot(part, here ? k - i : 0, true, hr + from, hi + from, xr + to, xi + to, product);
            number d, x;
            d.re = hr[own] - hr[i * (n + 1)];
            d.im = hi[own] - hi[i * (n + 1)];
            const REAL size = absolute(hr[own]) + absolute(hi[own]), small = EPSILON * (size > EPSILON ? size : EPSILON);
            if (!(absolute(d.re) + absolute(d.im) > small)) {
                d.re = small;
                d.im = 0;
            }
            x.re = product[0];
            x.im = product[1];
            x = quotient(x, d);
            const REAL most = absolute(x.re) > absolute(x.im) ? absolute(x.re) : absolute(x.im);
            const REAL scale = here && most > EIG_BIG ? scale_to(most, 1) : 1;
            if (here && IS_FIRST_LANE) {
                xr[row + i] = x.re;
                xi[row + i] = x.im;
            }
            SYNC;
            if (scale != 1) {
                EACH_LANE(j, k - i + 1) {
                    xr[row + i + j] *= scale;
                    xi[row + i + j] *= scale;
                }
            }
            SYNC;
        }
    }
}

/* Row k of v: z times row k of x, balanced back, with the length 1 and a real largest component. */
FUNCTION void eig_vectors(REAL *part, int n, const REAL *zr, const REAL *zi, const REAL *xr, const REAL *xi, const REAL *balance,
                          REAL *vr, REAL *vi)
{
    SUBWARPS(k, n) {
        const bool on = k < n;
        const int row = on ? k * n : 0;
        REAL *yr = vr + row, *yi = vi + row, most = 0, product[4], re, im;
        EACH_LANE(i, on ? n : 0)
            yr[i] = yi[i] = 0;
        for (int j = 0; on && j <= k; j++)
            subwarp_add(n, xr[row + j], xi[row + j], zr + j * n, zi + j * n, yr, yi);
        EACH_LANE(i, on ? n : 0) {
            yr[i] *= balance[i];
            yi[i] *= balance[i];
        }
        SYNC;
        for (int i = 0; i < (on ? n : 0); i++) {
            most = absolute(yr[i]) > most ? absolute(yr[i]) : most;
            most = absolute(yi[i]) > most ? absolute(yi[i]) : most;
        }
        const REAL scale = scale_to(most, 1);
        SYNC;
        subwarp_times(on ? n : 0, scale, 0, yr, yi, yr, yi);
        SYNC;
        subwarp_products(part, on ? n : 0, yr, yi, yr, yi, product);
        const REAL length = ROOT(product[0]);
        direction_of(on ? n : 0, yr, yi, &re, &im);
        SYNC;
        subwarp_times(on ? n : 0, re / length, im / length, yr, yi, yr, yi);
    }
}

/* One matrix; room has 5 n numbers. If A has an element that is not finite, or if the steps do not converge, all results
 * are NaN. */
FUNCTION void eig_matrix(REAL *part, int n, int vectors, REAL *hr, REAL *hi, REAL *zr, REAL *zi, REAL *xr, REAL *xi,
                         REAL *wr, REAL *wi, REAL *vr, REAL *vi, REAL *room)
{
    REAL *balance = room + 4 * n;
    const REAL most = block_largest(part, n * n, hr, hi), scale = scale_to(most, 1);
    BLOCK(i, n * n) {
        hr[i] *= scale;
        hi[i] *= scale;
    }
    SYNC;
    bool good = most >= 0;
    if (good) {
        eig_balance(part, n, hr, hi, balance);
        eig_hessenberg(part, n, vectors, hr, hi, zr, zi, room);
        BLOCK(i, vectors ? n * n : 0) {
            const int mirror = i % n * n + i / n;
            if (i < mirror) {
                const REAL re = zr[i], im = zi[i];
                zr[i] = zr[mirror];
                zi[i] = zi[mirror];
                zr[mirror] = re;
                zi[mirror] = im;
            }
        }
        SYNC;
        good = eig_triangular(n, vectors, hr, hi, zr, zi, room);
    }
    BLOCK(i, n) {
        wr[i] = good ? hr[i * (n + 1)] / scale : not_a_number();
        wi[i] = good ? hi[i * (n + 1)] / scale : not_a_number();
    }
    if (vectors && good) {
        eig_substitute(part, n, hr, hi, xr, xi);
        eig_vectors(part, n, zr, zi, xr, xi, balance, vr, vi);
    }
    BLOCK(i, vectors && !good ? n * n : 0)
        vr[i] = vi[i] = not_a_number();
}

#ifndef ON_CPU
extern "C" __global__ void eig(int count, int n, int vectors, REAL *h, REAL *z, REAL *x, REAL *w, REAL *v, REAL *room)
{
    __shared__ REAL part[BLOCK_THREADS];
    const long long b = blockIdx.x, size = (long long)n * n;
    h += b * 2 * size;
    w += b * 2 * n;
    if (vectors) {
        z += b * 2 * size;
        x += b * 2 * size;
        v += b * 2 * size;
    }
    eig_matrix(part, n, vectors, h, h + size, z, z + size, x, x + size, w, w + n, v, v + size, room + b * 5 * n);
}
#endif
