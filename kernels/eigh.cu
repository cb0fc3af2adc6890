/* Eigenvalues and eigenvectors of a Hermitian matrix: reflections make it tridiagonal, implicit QL and QR steps
 * make it diagonal. A row of q and v is a column of Q and V; a, q and v are (n, n), complex ones in two planes. The CPU includes
 * this file, too (src/engine/backend/cpu/lanes/spectral.inc).
 *
 * Defined before it: REAL, F64, COMPLEX. */
#ifndef ON_CPU
#include "subwarp.cuh"
#endif
#include "spectral.cuh"

enum { EIGH_STEPS = 60 }; /* steps for all eigenvalues: at most n times as many */

#if F64
#define TINY 0x1p-900
#else
#define TINY 0x1p-100f
#endif

/* State of the steps: the first row of the block, the steps so far, the last row and the direction of the block when it was
 * found, the steps of this round, and what comes next. */
enum { EIGH_AT, EIGH_TRIES, EIGH_END, EIGH_UP, EIGH_DONE, EIGH_STATUS, EIGH_STATES };
enum { EIGH_GOES_ON, EIGH_ENDS, EIGH_FAILS };

/* Parts of the scratch memory, of n numbers each; then state, plan and the rotations of `sweeps` steps. */
typedef struct eigh_room {
    REAL *d, *e, *tau, *pr, *pi, *er, *ei, *state, *plan, *turns;
} eigh_room;

FUNCTION eigh_room eigh_parts(REAL *room, int n, int sweeps)
{
    eigh_room r;
    r.d = room;
    r.e = r.d + n;
    r.tau = r.e + n;
    r.pr = r.tau + n;
    r.pi = r.pr + n;
    r.er = r.pi + n;
    r.ei = r.er + n;
    r.state = r.ei + n;
    r.plan = r.state + EIGH_STATES;
    r.turns = r.plan + 2 * sweeps;
    return r;
}

/* ---- to a tridiagonal matrix ---- */

/* Replaces row k of a, right of the diagonal, by the vector v of a reflection that clears column k below the first
 * element. */
FUNCTION void eigh_reflector(REAL *part, int n, int k, REAL *ar, REAL *ai, const eigh_room r)
{
    const int from = k * n + k + 1, length = n - k - 1;
    const REAL re = ar[from], im = COMPLEX ? -ai[from] : 0;
    REAL product[4];
    subwarp_products(part, length, ar + from, AT(ai, from), ar + from, AT(ai, from), product);
    const REAL whole = ROOT(product[0]), first = COMPLEX ? length_of(re, im) : absolute(re);
    const bool none = length < 2 || product[0] < TINY;
    const REAL x = first > 0 ? re / first : 1, y = first > 0 ? im / first : 0;
    BLOCK(i, length) {
        if (COMPLEX)
            ai[from + i] = -ai[from + i];
    }
    SYNC;
    if (IS_FIRST) {
        const bool cleared = length > 1 && none;
        r.d[k] = ar[k * n + k];
        r.tau[k] = none ? 0 : 1 / (product[0] + first * whole);
        r.er[k] = cleared ? 0 : none ? re : -x * whole;
        r.ei[k] = cleared ? 0 : none ? im : -y * whole;
        if (!none) {
            ar[from] = re + x * whole;
            if (COMPLEX)
                ai[from] = im + y * whole;
        }
    }
    SYNC;
}

/* Row i of A - v w^H - w v^H. */
FUNCTION void eigh_update(int length, REAL vr, REAL vi, REAL wr, REAL wi, const REAL *xr, const REAL *xi, const REAL *yr,
                          const REAL *yi, REAL *ar, REAL *ai)
{
    EACH_LANE(j, length) {
        if (COMPLEX) {
            ar[j] -= (vr * yr[j] + vi * yi[j]) + (wr * xr[j] + wi * xi[j]);
            ai[j] -= (vi * yr[j] - vr * yi[j]) + (wi * xr[j] - wr * xi[j]);
        } else {
            ar[j] -= vr * yr[j] + wr * xr[j];
        }
    }
}

FUNCTION void eigh_tridiagonal(REAL *part, int n, REAL *ar, REAL *ai, const eigh_room r)
{
    REAL product[2];
    for (int k = 0; k < n - 1; k++) {
        eigh_reflector(part, n, k, ar, ai, r);
        const REAL tau = r.tau[k];
        const int next = k + 1, length = n - next, v = k * n + next;
        if (tau == 0)
            continue;
        SUBWARPS(p, length) {
            const int row = p < length ? (next + p) * n + next : 0;
            subwarp_dot(part, p < length ? length : 0, true, ar + row, AT(ai, row), ar + v, AT(ai, v), product);
            if (p < length && IS_FIRST_LANE) {
                r.pr[p] = tau * product[0];
                r.pi[p] = tau * product[1];
            }
        }
        SYNC;
        subwarp_dot(part, length, false, ar + v, AT(ai, v), r.pr, r.pi, product);
        const REAL half = tau * product[0] / 2;
        BLOCK(i, length) {
            r.pr[i] -= half * ar[v + i];
            if (COMPLEX)
                r.pi[i] -= half * ai[v + i];
        }
        SYNC;
        SUBWARPS(p, length) {
            if (p < length) {
                const int row = (next + p) * n + next;
                eigh_update(length, ar[v + p], COMPLEX ? ai[v + p] : 0, r.pr[p], COMPLEX ? r.pi[p] : 0, ar + v, AT(ai, v),
                            r.pr, r.pi, ar + row, AT(ai, row));
            }
        }
        SYNC;
    }
    if (IS_FIRST)
        r.d[n - 1] = ar[n * n - 1];
    SYNC;
}

/* The reflections as one matrix, and the phases that make the tridiagonal matrix real: er and ei become the phases of the
 * columns. */
FUNCTION void eigh_real(int n, const eigh_room r)
{
    REAL x = 1, y = 0;
    if (IS_FIRST) {
        for (int k = 0; k < n; k++) {
            const REAL re = r.er[k], im = r.ei[k];
            const REAL size = COMPLEX ? length_of(re, im) : absolute(re);
            r.er[k] = x;
            r.ei[k] = y;
            if (k == n - 1)
                break;
            r.e[k] = size;
            if (size > 0) {
                const REAL fr = re / size, fi = im / size, x_before = x;
                x = x_before * fr - y * fi;
                y = x_before * fi + y * fr;
            }
        }
        r.e[n - 1] = 0;
    }
    SYNC;
}

FUNCTION void eigh_reflections(REAL *part, int n, const REAL *ar, const REAL *ai, REAL *qr, REAL *qi, const eigh_room r)
{
    REAL product[2];
    BLOCK(i, n * n) {
        qr[i] = i / n == i % n;
        if (COMPLEX)
            qi[i] = 0;
    }
    SYNC;
    for (int k = n - 3; k >= 0; k--) {
        const REAL tau = r.tau[k];
        const int next = k + 1, length = n - next, v = k * n + next;
        if (tau == 0)
            continue;
        SUBWARPS(p, length) {
            const int row = p < length ? (next + p) * n + next : 0;
            subwarp_dot(part, p < length ? length : 0, false, ar + v, AT(ai, v), qr + row, AT(qi, row), product);
            const REAL re = -tau * product[0], im = -tau * product[1];
            if (p < length)
                subwarp_add(length, re, im, ar + v, AT(ai, v), qr + row, AT(qi, row));
        }
        SYNC;
    }
    SUBWARPS(p, n) {
        if (p < n)
            subwarp_times(n, r.er[p], r.ei[p], qr + p * n, AT(qi, p * n), qr + p * n, AT(qi, p * n));
    }
    SYNC;
}

/* ---- QL and QR steps ---- */

/* The end of the block of the tridiagonal matrix that begins at l. */
FUNCTION int eigh_block(int n, int l, const REAL *d, const REAL *e)
{
    int m = l;
    for (; m < n - 1; m++) {
        const REAL size = absolute(e[m]);
        if (size <= EPSILON * (absolute(d[m]) + absolute(d[m + 1])) || size <= EPSILON * EPSILON)
            break;
    }
    return m;
}

/* One implicit step on a block: QL from its last row up to the first, or QR, the same on the reversed block. Stores the
 * rotations, each of a row with the row before it, and returns the row where they end. */
FUNCTION int eigh_step(int from, int to, REAL *d, REAL *e, REAL *turns)
{
    const int way = from > to ? -1 : 1;
    REAL *link = way < 0 ? e : e - 1; /* element i is between row i and the row before it */
    REAL g = (d[to - way] - d[to]) / (2 * link[to]), size = length_of(g, 1), s = 1, c = 1, p = 0;
    g = d[from] - d[to] + link[to] / (g < 0 ? g - size : g + size);
    for (int before = from; before != to; before += way) {
        const int i = before + way;
        const REAL f = s * link[i], b = c * link[i];
        size = length_of(f, g);
        if (before != from)
            link[before] = size;
        if (size == 0) {
            d[before] -= p;
            return before;
        }
        s = f / size;
        c = g / size;
        g = d[before] - p;
        const REAL h = (d[i] - g) * s + 2 * c * b;
        p = s * h;
        d[before] = g + p;
        g = c * h - b;
        turns[0] = c;
        turns[1] = s;
        turns += 2;
    }
    d[to] -= p;
    link[to] = g;
    return to;
}

/* Some steps, up to `sweeps`. By one thread. They go towards the end of a block that has the smaller diagonal: small
 * eigenvalues of a graded matrix converge first, and in few steps. */
FUNCTION void eigh_steps(int n, int sweeps, const eigh_room r)
{
    int l = (int)r.state[EIGH_AT], tries = (int)r.state[EIGH_TRIES], done = 0;
    int end = (int)r.state[EIGH_END], up = (int)r.state[EIGH_UP], status = EIGH_GOES_ON;
    while (done < sweeps && status == EIGH_GOES_ON) {
        const int m = eigh_block(n, l, r.d, r.e);
        r.e[m] = 0;
        if (m == l) {
            status = ++l >= n ? EIGH_ENDS : EIGH_GOES_ON;
            continue;
        }
        if (++tries > EIGH_STEPS * n) {
            status = EIGH_FAILS;
            continue;
        }
        if (l > end) {
            end = m;
            up = absolute(r.d[l]) <= absolute(r.d[m]);
        }
        r.plan[2 * done] = (REAL)(up ? m : l);
        r.plan[2 * done + 1] = (REAL)eigh_step(up ? m : l, up ? l : m, r.d, r.e, r.turns + 2 * done * n);
        done++;
    }
    r.state[EIGH_AT] = (REAL)l;
    r.state[EIGH_TRIES] = (REAL)tries;
    r.state[EIGH_END] = (REAL)end;
    r.state[EIGH_UP] = (REAL)up;
    r.state[EIGH_DONE] = (REAL)done;
    r.state[EIGH_STATUS] = (REAL)status;
}

/* Makes the tridiagonal matrix diagonal; false if that fails. */
FUNCTION bool eigh_diagonal(int n, int vectors, int sweeps, REAL *qr, REAL *qi, const eigh_room r)
{
    if (IS_FIRST) {
        r.state[EIGH_AT] = r.state[EIGH_TRIES] = r.state[EIGH_UP] = 0;
        r.state[EIGH_END] = -1;
    }
    for (;;) {
        SYNC;
        if (IS_FIRST)
            eigh_steps(n, sweeps, r);
        SYNC;
        const int done = (int)r.state[EIGH_DONE], status = (int)r.state[EIGH_STATUS];
        if (vectors)
            block_turns(n, done, r.plan, r.turns, qr, qi);
        if (status != EIGH_GOES_ON)
            return status == EIGH_ENDS;
    }
}

FUNCTION int eigh_place(int n, const REAL *d, int j)
{
    int place = 0;
    for (int i = 0; i < n; i++)
        place += d[i] < d[j] || (d[i] == d[j] && i < j);
    return place;
}

/* One matrix. If A has an element that is not finite, or if the steps do not converge, all results are NaN. */
FUNCTION void eigh_matrix(REAL *part, int n, int vectors, int sweeps, REAL *ar, REAL *ai, REAL *qr, REAL *qi, REAL *w,
                          REAL *vr, REAL *vi, REAL *room)
{
    const eigh_room r = eigh_parts(room, n, sweeps);
    const REAL most = block_largest(part, n * n, ar, ai), scale = scale_to(most, 1);
    BLOCK(i, n * n) {
        ar[i] *= scale;
        if (COMPLEX)
            ai[i] *= scale;
    }
    SYNC;
    bool good = most >= 0;
    if (good) {
        eigh_tridiagonal(part, n, ar, ai, r);
        eigh_real(n, r);
        if (vectors)
            eigh_reflections(part, n, ar, ai, qr, qi, r);
        good = eigh_diagonal(n, vectors, sweeps, qr, qi, r);
        SYNC;
    }
    SUBWARPS(j, n) {
        if (j < n) {
            const int place = good ? eigh_place(n, r.d, j) : j;
            REAL re = not_a_number(), im = re;
            if (IS_FIRST_LANE)
                w[place] = good ? r.d[j] / scale : re;
            if (vectors && good)
                direction_of(n, qr + j * n, AT(qi, j * n), &re, &im);
            if (vectors)
                subwarp_times(n, re, im, qr + j * n, AT(qi, j * n), vr + place * n, AT(vi, place * n));
        }
    }
}

#ifndef ON_CPU
extern "C" __global__ void eigh(int count, int n, int vectors, int sweeps, REAL *a, REAL *q, REAL *w, REAL *v, REAL *room)
{
    __shared__ REAL part[BLOCK_THREADS];
    const long long b = blockIdx.x, size = (long long)n * n;
    a += b * PLANES * size;
    if (vectors) {
        q += b * PLANES * size;
        v += b * PLANES * size;
    }
    eigh_matrix(part, n, vectors, sweeps, a, a + size, q, q + size, w + b * n, v, v + size,
                room + b * (7 * n + EIGH_STATES + 2 * sweeps + 2 * sweeps * n));
}
#endif
