/* Joins the singular values of two halves of an upper bidiagonal matrix, of h - 1 rows and h columns each, by the row between
 * them. In terms of the vectors of the halves, the matrix is diagonal but for that row, which is z. A half has h right
 * vectors, the last one without a value; its last left vector is a unit vector for the row that comes after it. The new
 * values are roots of the secular equation with the squares of the values as poles, and 0, whose z combines both last
 * right vectors.
 *
 * Rounds are the same as in divide.cu. The CPU includes this file, too (src/engine/backend/cpu/lanes/spectral.inc).
 *
 * Defined before it: REAL, F64, COMPLEX (0). */
#include "secular.cuh"

/* Of 2 h - 1 values, the last one in x belongs to pole 0. turn: the rotation of the last right vectors. */
typedef struct divide_svd_call {
    divide_call x;
    int h;
    REAL *turn;
} divide_svd_call;

FUNCTION divide_svd_call divide_svd_parts(int h, REAL *room, int *plan)
{
    divide_svd_call c;
    c.x = divide_parts(2 * h - 1, true, 1, room, plan);
    c.h = h;
    c.turn = room + DIVIDE_REALS * (2 * h - 1);
    return c;
}

/* Element i of the values of both halves goes to its place; w has h of each half, the last of which is not a value. z1 and
 * z2: the components of right vectors in the column before and after the middle. link: the elements of the row. */
FUNCTION void divide_svd_place(const divide_svd_call c, int i, const REAL *link, const REAL *w,
                               const REAL *z1, const REAL *z2)
{
    const int h = c.h, half = i >= h - 1, at = half ? i - (h - 1) : i;
    const REAL value = w[half ? h + at : at];
    const int place =
        at + (half ? count_below(h - 1, w, value, true) : count_below(h - 1, w + h, value, false));
    c.x.d[place] = value;
    c.x.z[place] = half ? link[1] * z2[at] : link[0] * z1[at];
    c.x.source[place] = half ? h + at : at;
}

/* Makes z 0 at the first of two neighbours whose values are almost equal. */
FUNCTION void divide_svd_turn(const divide_call x, int p, int n, int turns)
{
    const REAL length = length_of(x.z[n], x.z[p]);
    x.cosine[turns] = x.z[n] / length;
    x.sine[turns] = -x.z[p] / length;
    x.first[turns] = p;
    x.second[turns] = n;
    x.z[n] = length;
    x.z[p] = 0;
}

/* By one thread. */
FUNCTION void divide_svd_plan(const divide_svd_call c, const REAL *link, const REAL *z1,
                              const REAL *z2)
{
    const divide_call x = c.x;
    const int h = c.h, last = x.k - 1;
    const REAL a = link[0] * z1[h - 1], b = link[1] * z2[h - 1], length = length_of(a, b);
    const REAL most = last > 0 ? x.d[last - 1] : 0, one = absolute(link[0]),
               two = absolute(link[1]);
    REAL norm = most > one ? most : one;
    norm = norm > two ? norm : two;
    /* The whole matrix has an element of at least 1/2. */
    const REAL small = 4 * EPSILON * (norm > (REAL)0.5 ? norm : (REAL)0.5);
    const bool none = !(length > small);
    int poles = 1, turns = 0, before = -1;
    c.turn[0] = none ? 1 : a / length;
    c.turn[1] = none ? 0 : b / length;
    x.d[last] = 0;
    x.z[last] = none ? small : length;
    x.source[last] = h - 1;
    for (int i = 0; i < last; i++) {
        x.kept[i] = -1;
        x.from[i] = i;
        if (!(absolute(x.z[i]) > small))
            continue;
        x.d[i] = x.d[i] > small / 2 ? x.d[i] : small / 2;
        if (before >= 0) {
            if (x.d[i] - x.d[before] <= small)
                divide_svd_turn(x, before, i, turns++);
            else
                divide_keep(x, before, poles++);
        }
        before = i;
    }
    if (before >= 0)
        divide_keep(x, before, poles++);
    divide_keep(x, last, 0);
    x.from[last] = last;
    x.count[0] = poles;
    x.count[1] = turns;
}

/* Columns of a matrix (2 h, 2 h) from `from` on, up to `end`: new vectors in terms of the vectors of the halves. */
FUNCTION void divide_svd_vectors(const divide_svd_call all, bool left, int from, int end, REAL *s)
{
    const divide_call x = all.x;
    const int h = all.h, last = x.k - 1;
    const long long k = 2 * h;
    REAL square[DIVIDE_RUN], origin[DIVIDE_RUN], shift[DIVIDE_RUN];
    int root[DIVIDE_RUN];
    for (int c = from; c < end; c++) {
        const int j = c < x.k ? x.kept[x.from[c]] : -1;
        root[c - from] = j;
        square[c - from] = c == x.k;
        origin[c - from] = j >= 0 ? x.pole[x.origin[j]] : 0;
        shift[c - from] = j >= 0 ? x.shift[j] : 0;
    }
    for (int i = 0; i <= last; i++) {
        REAL *row = s + x.source[i] * k;
        const int pole = x.kept[i];
        if (pole < 0) {
            for (int c = from; c < end; c++) {
                row[c] = c < x.k && x.from[c < x.k ? c : 0] == i;
                square[c - from] += row[c];
            }
            continue;
        }
        const REAL d = x.pole[pole], weight = left ? x.fresh[pole] * d : x.fresh[pole];
        for (int c = from; c < end; c++) {
            const REAL value =
                left && pole == 0 ? -1 : weight / apart(true, d, origin[c - from], shift[c - from]);
            row[c] = root[c - from] < 0 ? 0 : value;
            square[c - from] += row[c] * row[c];
        }
    }
    REAL *end_row = s + (k - 1) * k, *middle = s + (h - 1) * k;
    for (int c = from; c < end; c++) {
        end_row[c] = c == x.k;
        square[c - from] = 1 / ROOT(square[c - from]);
    }
    for (int i = 0; i < k; i++) {
        REAL *row = s + i * k;
        for (int c = from; c < end; c++)
            row[c] *= square[c - from];
    }
    divide_turn_back(x, s, k, from, end);
    if (left)
        return;
    for (int c = from; c < end; c++) {
        const REAL a = middle[c], b = end_row[c];
        middle[c] = all.turn[0] * a - all.turn[1] * b;
        end_row[c] = all.turn[1] * a + all.turn[0] * b;
    }
}

#ifndef ON_CPU
extern "C" __global__ void divide_svd(int round, int count, int half, int left, const REAL *w,
                                      const REAL *z1, const REAL *z2, const REAL *link,
                                      REAL *values, REAL *s_right, REAL *s_left, REAL *room,
                                      int *plan)
{
    const int k = 2 * half, blocks = gridDim.x / count, block = blockIdx.x % blocks;
    const int i = block * blockDim.x + threadIdx.x;
    const long long b = blockIdx.x / blocks;
    const divide_svd_call c =
        divide_svd_parts(half, room + b * (DIVIDE_REALS * k + 2), plan + b * (DIVIDE_INTS * k + 2));
    w += b * k;
    z1 += b * half;
    z2 += b * half;
    link += b * 2;
    if (round == 0) {
        if (block > 0)
            return;
        for (int at = threadIdx.x; at < k - 1; at += blockDim.x)
            c.x.source[at] = at;
        __syncthreads();
        for (int at = threadIdx.x; at < k - 2; at += blockDim.x)
            divide_svd_place(c, at, link, w, z1, z2);
        __syncthreads();
        if (threadIdx.x == 0)
            divide_svd_plan(c, link, z1, z2);
    } else if (round == 1 && i < k - 1) {
        divide_root(c.x, i);
    } else if (round == 2 && i < k) {
        if (i < c.x.count[0])
            divide_weights(c.x, i, i + 1);
        if (i < k - 1)
            divide_order(c.x, i, values + b * k);
        else
            values[b * k + i] = 0;
    } else if (round == 3 && i < k) {
        divide_svd_vectors(c, false, i, i + 1, s_right + b * k * k);
        if (left)
            divide_svd_vectors(c, true, i, i + 1, s_left + b * k * k);
    }
}
#endif
