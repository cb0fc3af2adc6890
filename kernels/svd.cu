/* Singular values and vectors by one-sided Jacobi rotations: they make the columns of G = A V orthogonal, pair by pair.
 * The lengths of the columns are the singular values, and their directions the left vectors. Small singular values and
 * their vectors are as accurate as A determines them.
 *
 * Pairs are taken in the order of a tournament: in each round all pairs are disjoint, so a subwarp takes a pair, and the
 * result does not depend on how many subwarps there are. A column is stored as a row: g is (n, m), w and v are (n, n), u is
 * (k, m), with n <= m. Complex matrices are two planes. The CPU includes this file, too (src/engine/backend/cpu/lanes/spectral.inc).
 *
 * Defined before it: REAL, F64, COMPLEX. */
#ifndef ON_CPU
#include "subwarp.cuh"
#endif
#include "spectral.cuh"

enum { SVD_SWEEPS = 60 };

/* The rotation that makes two columns orthogonal; p has their squares and product (subwarp_products). False if they are so
 * already. The longer column comes first. */
FUNCTION bool svd_turn(const REAL *p, REAL small, turn *t)
{
    const REAL length_x = ROOT(p[0]), length_y = ROOT(p[1]);
    const REAL product = COMPLEX ? length_of(p[2], p[3]) : absolute(p[2]);
    if (length_x < CUT || length_y < CUT || !(product > small * length_x * length_y))
        return false;
    const REAL zeta = (p[1] - p[0]) / (2 * product), far = absolute(zeta);
    REAL tangent = far > FAR ? 1 / (2 * far) : 1 / (far + ROOT(1 + far * far));
    tangent = zeta < 0 ? -tangent : tangent;
    const REAL cosine = 1 / ROOT(1 + tangent * tangent), sine = cosine * tangent;
    const bool swap = p[0] - tangent * product < p[1] + tangent * product;
    t->a = swap ? sine : cosine;
    t->b = swap ? cosine : -sine;
    t->c = swap ? cosine : sine;
    t->d = swap ? -sine : cosine;
    t->re = p[2] / product;
    t->im = COMPLEX ? -p[3] / product : 0;
    return true;
}

#ifndef ON_CPU
/* One sweep over all pairs; *moved is set if one was rotated. */
FUNCTION void svd_sweep(REAL *part, int *moved, int m, int n, int n_w, REAL small, REAL *gr, REAL *gi, REAL *wr, REAL *wi)
{
    const int players = n + n % 2, others = players - 1;
    for (int round = 0; round < others; round++) {
        SUBWARPS(p, players / 2) {
            const int one = p == 0 ? others : (round + p) % others;
            const int two = (round - p + others) % others;
            const int i = one < two ? one : two, j = one < two ? two : one;
            const bool plays = p < players / 2 && j < n;
            const int x = plays ? i * m : 0, y = plays ? j * m : 0;
            REAL product[4];
            turn t;
            subwarp_products(part, plays ? m : 0, gr + x, AT(gi, x), gr + y, AT(gi, y), product);
            if (plays && svd_turn(product, small, &t)) {
                subwarp_turn(m, t, gr + x, AT(gi, x), gr + y, AT(gi, y));
                subwarp_turn(n_w, t, wr + i * n_w, AT(wi, i * n_w), wr + j * n_w, AT(wi, j * n_w));
                if (IS_FIRST_LANE)
                    RAISE(moved);
            }
        }
        SYNC;
    }
}

/* Makes the columns orthogonal; false if they are not after many sweeps. */
FUNCTION bool svd_converge(REAL *part, int *moved, int m, int n, int n_w, REAL *gr, REAL *gi, REAL *wr, REAL *wi)
{
    const REAL small = EPSILON * ROOT((REAL)m);
    for (int sweep = 0; sweep < SVD_SWEEPS; sweep++) {
        if (IS_FIRST)
            *moved = 0;
        SYNC;
        svd_sweep(part, moved, m, n, n_w, small, gr, gi, wr, wi);
        const bool again = *moved != 0;
        SYNC;
        if (!again)
            return true;
    }
    return false;
}
#endif

/* Row r of u: a unit vector that is orthogonal to the rows before it. weight has, for each component, the sum of the
 * squares in these rows. */
FUNCTION void svd_complete(REAL *part, int m, int r, REAL *ur, REAL *ui, REAL *weight, REAL *factor)
{
    REAL *xr = ur + r * m, *xi = AT(ui, r * m), product[4];
    int at = 0;
    for (int i = 1; i < m; i++)
        at = weight[i] < weight[at] ? i : at;
    BLOCK(i, m) {
        xr[i] = i == at;
        if (COMPLEX)
            xi[i] = 0;
    }
    SYNC;
    for (int pass = 0; pass < 2; pass++) {
        SUBWARPS(c, r) {
            const int row = c < r ? c * m : 0;
            subwarp_products(part, c < r ? m : 0, ur + row, AT(ui, row), xr, xi, product);
            if (c < r && IS_FIRST_LANE) {
                factor[2 * c] = product[2];
                factor[2 * c + 1] = product[3];
            }
        }
        SYNC;
        BLOCK(i, m) {
            for (int c = 0; c < r; c++) {
                const REAL re = factor[2 * c], im = factor[2 * c + 1], u = ur[c * m + i];
                xr[i] -= COMPLEX ? u * re - ui[c * m + i] * im : u * re;
                if (COMPLEX)
                    xi[i] -= u * im + ui[c * m + i] * re;
            }
        }
        SYNC;
    }
    subwarp_products(part, m, xr, xi, xr, xi, product);
    const REAL length = ROOT(product[0]);
    BLOCK(i, m) {
        xr[i] /= length;
        weight[i] += xr[i] * xr[i];
        if (COMPLEX) {
            xi[i] /= length;
            weight[i] += xi[i] * xi[i];
        }
    }
    SYNC;
}

FUNCTION void svd_fill(int n, REAL value, REAL *xr, REAL *xi)
{
    BLOCK(i, n) {
        xr[i] = value;
        if (COMPLEX)
            xi[i] = value;
    }
}

/* The place of column j in descending order of lengths. */
FUNCTION int svd_place(int n, const REAL *length, int j)
{
    int place = 0;
    for (int i = 0; i < n; i++)
        place += length[i] > length[j] || (length[i] == length[j] && i < j);
    return place;
}

/* Writes the results in order. Returns the number of columns that are not 0. */
FUNCTION int svd_store(int m, int n, int n_w, int k, REAL scale, const REAL *gr, const REAL *gi, const REAL *wr, const REAL *wi,
                       REAL *s, REAL *ur, REAL *ui, REAL *vr, REAL *vi, const REAL *length)
{
    int full = 0;
    for (int j = 0; j < n; j++)
        full += length[j] >= CUT;
    SUBWARPS(j, n) {
        if (j < n) {
            const int r = svd_place(n, length, j);
            const bool zero = length[j] < CUT;
            REAL re, im;
            direction_of(n_w, wr + j * n_w, AT(wi, j * n_w), &re, &im);
            if (IS_FIRST_LANE)
                s[r] = zero ? 0 : length[j] / scale;
            if (k > 0 && !zero)
                subwarp_times(m, re / length[j], im / length[j], gr + j * m, AT(gi, j * m), ur + r * m, AT(ui, r * m));
            subwarp_times(n_w, re, im, wr + j * n_w, AT(wi, j * n_w), vr + r * n_w, AT(vi, r * n_w));
        }
    }
    SYNC;
    return full;
}

/* Scales the columns of G. Returns the scale, or 0 if A has an element that is not finite. */
FUNCTION REAL svd_scale(REAL *part, int size, REAL *gr, REAL *gi)
{
    const REAL most = block_largest(part, size, gr, gi), scale = scale_to(most, TARGET_LOW);
    BLOCK(i, size) {
        gr[i] *= scale;
        if (COMPLEX)
            gi[i] *= scale;
    }
    SYNC;
    return most >= 0 ? scale : 0;
}

/* The results of one matrix, whose columns are orthogonal if good. k: the rows of u, 0, n or m; n_w: the length of the rows
 * of w and v, 0 or n. room has n + m + 2 k numbers. If A has an element that is not finite, or if the sweeps did not
 * converge, all results are NaN. */
FUNCTION void svd_results(REAL *part, bool good, REAL scale, int m, int n, int k, int n_w, REAL *gr, REAL *gi, REAL *wr,
                          REAL *wi, REAL *s, REAL *ur, REAL *ui, REAL *vr, REAL *vi, REAL *room)
{
    REAL *length = room, *weight = room + n, *factor = weight + m, product[4];
    if (!good) {
        BLOCK(i, n)
            s[i] = not_a_number();
        svd_fill(k * m, not_a_number(), ur, ui);
        svd_fill(n * n_w, not_a_number(), vr, vi);
        return;
    }
    SUBWARPS(j, n) {
        const int x = j < n ? j * m : 0;
        subwarp_products(part, j < n ? m : 0, gr + x, AT(gi, x), gr + x, AT(gi, x), product);
        if (j < n && IS_FIRST_LANE)
            length[j] = ROOT(product[0]);
    }
    SYNC;
    const int full = svd_store(m, n, n_w, k, scale, gr, gi, wr, wi, s, ur, ui, vr, vi, length);
    if (full >= k)
        return;
    BLOCK(i, m) {
        weight[i] = 0;
        for (int c = 0; c < full; c++)
            weight[i] += COMPLEX ? ur[c * m + i] * ur[c * m + i] + ui[c * m + i] * ui[c * m + i]
                                 : ur[c * m + i] * ur[c * m + i];
    }
    SYNC;
    for (int r = full; r < k; r++)
        svd_complete(part, m, r, ur, ui, weight, factor);
}

#ifndef ON_CPU
extern "C" __global__ void svd(int count, int m, int n, int k, int n_w, REAL *g, REAL *w, REAL *s, REAL *u, REAL *v, REAL *room)
{
    __shared__ REAL part[BLOCK_THREADS];
    __shared__ int moved;
    const long long b = blockIdx.x;
    g += b * PLANES * m * n;
    w += b * PLANES * n * n_w;
    u += b * PLANES * k * m;
    v += b * PLANES * n * n_w;
    const REAL scale = svd_scale(part, m * n, g, g + m * n);
    bool good = scale > 0;
    if (good)
        good = svd_converge(part, &moved, m, n, n_w, g, g + m * n, w, w + n * n_w);
    svd_results(part, good, scale, m, n, k, n_w, g, g + m * n, w, w + n * n_w, s + b * n, u, u + k * m, v, v + n * n_w,
                room + b * (n + m + 2 * k));
}
#endif
