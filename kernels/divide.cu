/* Joins the eigenvalues of the two halves of a symmetric tridiagonal matrix: of D + rho z z^T, where D are the values of
 * the halves and z are components of their vectors. Values of D with a small z, and all but one of equal ones, are
 * eigenvalues already. The others are poles of the secular equation, whose roots are the new values. Vectors belong to
 * the z that has these roots exactly, so they are orthogonal.
 *
 * A launch is a round: 0 plans, 1 finds roots, 2 finds weights and the order, 3 writes vectors. A thread takes a root, a
 * pole or a vector, so sums have one order. The CPU includes this file, too (src/engine/backend/cpu/lanes/spectral.inc).
 *
 * Defined before it: REAL, F64, COMPLEX (0). */
#include "secular.cuh"

/* ---- round 0 ---- */

/* Element i of both halves goes to its place. w: values of the halves. z1 and z2: the components that the link between
 * the halves joins, of length 1 each. */
FUNCTION void divide_place(const divide_call x, int i, REAL rho, const REAL *w, const REAL *z1,
                           const REAL *z2)
{
    const int h = x.k / 2;
    const REAL root = ROOT((REAL)0.5);
    const int half = i >= h, at = half ? i - h : i;
    const int place =
        at + (half ? count_below(h, w, w[i], true) : count_below(h, w + h, w[i], false));
    x.d[place] = w[i];
    x.z[place] = half ? (rho < 0 ? -root : root) * z2[at] : root * z1[at];
    x.source[place] = i;
}

/* Rotates two neighbours so that z is 0 at the first, if that changes the matrix little enough. */
FUNCTION bool divide_turn(const divide_call x, int p, int n, REAL small, int turns)
{
    const REAL length = length_of(x.z[n], x.z[p]), c = x.z[n] / length, s = -x.z[p] / length;
    if (absolute((x.d[n] - x.d[p]) * c * s) > small)
        return false;
    const REAL low = x.d[p], high = x.d[n];
    x.z[n] = length;
    x.z[p] = 0;
    x.d[p] = low * c * c + high * s * s;
    x.d[n] = low * s * s + high * c * c;
    x.first[turns] = p;
    x.second[turns] = n;
    x.cosine[turns] = c;
    x.sine[turns] = s;
    return true;
}

/* By one thread. */
FUNCTION void divide_plan(const divide_call x)
{
    const REAL low = absolute(x.d[0]), high = absolute(x.d[x.k - 1]);
    REAL most = low > high ? low : high;
    most = most > x.rho ? most : x.rho;
    const REAL small = 4 * EPSILON * most;
    int poles = 0, turns = 0, before = -1;
    for (int i = 0; i < x.k; i++) {
        x.kept[i] = -1;
        x.from[i] = i;
        if (!(x.rho * absolute(x.z[i]) > small))
            continue;
        if (before >= 0) {
            if (divide_turn(x, before, i, small, turns))
                turns++;
            else
                divide_keep(x, before, poles++);
        }
        before = i;
    }
    if (before >= 0)
        divide_keep(x, before, poles++);
    x.count[0] = poles;
    x.count[1] = turns;
}

/* ---- round 3 ---- */

/* Columns of s from `from` on, up to `end`: the new vectors in terms of the vectors of the halves. */
FUNCTION void divide_vectors(const divide_call x, int from, int end, REAL *s)
{
    const long long k = x.k;
    REAL square[DIVIDE_RUN], origin[DIVIDE_RUN], shift[DIVIDE_RUN];
    int root[DIVIDE_RUN];
    for (int c = from; c < end; c++) {
        const int j = x.kept[x.from[c]];
        root[c - from] = j;
        square[c - from] = 0;
        origin[c - from] = j >= 0 ? x.pole[x.origin[j]] : 0;
        shift[c - from] = j >= 0 ? x.shift[j] : 0;
    }
    for (int i = 0; i < x.k; i++) {
        REAL *row = s + x.source[i] * k;
        const int pole = x.kept[i];
        if (pole < 0) {
            for (int c = from; c < end; c++) {
                row[c] = x.from[c] == i;
                square[c - from] += row[c];
            }
            continue;
        }
        const REAL weight = x.fresh[pole], d = x.pole[pole];
        for (int c = from; c < end; c++) {
            const REAL value = weight / apart(x.squares, d, origin[c - from], shift[c - from]);
            row[c] = root[c - from] < 0 ? 0 : value;
            square[c - from] += row[c] * row[c];
        }
    }
    for (int c = from; c < end; c++)
        square[c - from] = 1 / ROOT(square[c - from]);
    for (int i = 0; i < x.k; i++) {
        REAL *row = s + i * k;
        for (int c = from; c < end; c++)
            row[c] *= square[c - from];
    }
    divide_turn_back(x, s, k, from, end);
}

#ifndef ON_CPU
extern "C" __global__ void divide(int round, int count, int half, const REAL *w, const REAL *z1,
                                  const REAL *z2, const REAL *rho, REAL *values, REAL *s,
                                  REAL *room, int *plan)
{
    const int k = 2 * half, blocks = gridDim.x / count, block = blockIdx.x % blocks;
    const int i = block * blockDim.x + threadIdx.x;
    const long long b = blockIdx.x / blocks;
    const divide_call x = divide_parts(k, false, 2 * absolute(rho[b]), room + b * DIVIDE_REALS * k,
                                       plan + b * (DIVIDE_INTS * k + 2));
    if (round == 0) {
        if (block > 0)
            return;
        for (int at = threadIdx.x; at < k; at += blockDim.x)
            x.source[at] = at;
        __syncthreads();
        for (int at = threadIdx.x; at < k; at += blockDim.x)
            divide_place(x, at, rho[b], w + b * k, z1 + b * half, z2 + b * half);
        __syncthreads();
        if (threadIdx.x == 0)
            divide_plan(x);
    } else if (round == 1 && i < k) {
        divide_root(x, i);
    } else if (round == 2 && i < k) {
        if (i < x.count[0])
            divide_weights(x, i, i + 1);
        divide_order(x, i, values + b * k);
    } else if (round == 3 && i < k) {
        divide_vectors(x, i, i + 1, s + b * k * k);
    }
}
#endif
