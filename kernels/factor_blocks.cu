/* Factorizations and triangular systems of large matrices, by blocks of WIDE rows and columns (cholesky: BAND). A launch is a round; all
 * blocks of threads depend on earlier rounds only. tasks is the number of matrices, which have as many blocks of threads
 * each. Each element is the result of the operations of factor_steps.cuh in the same order, so neither these numbers nor the
 * grid change a bit. */
#include "factor_divide.cuh"
#include "factor_parts.cuh"

enum {
    THREADS = 256,
    LINE = 16, /* a block of threads is a square of LINE x LINE */
    SIDE = 64, /* rows and columns of a tile */
    EACH = SIDE / LINE,
    WIDE = 32,
    NARROW = 8, /* columns of a panel that are updated together */
    ROWS = 4,   /* rows that a thread of a panel has at a time */
    OWN = WIDE / LINE,
    SMALL = sizeof(T) * (1 + Z) == 4,
    DEEP = SMALL ? 32 : 16, /* columns of a tile's factors in shared memory */
    PITCH = SIDE + 1,
    BAND = SMALL ? 64 : 32,
    BAND_OWN = BAND / LINE,
    TALL = BAND + SIDE, /* rows of a task of cholesky: the diagonal block, and others */
    ROOM = 2 * DEEP * PITCH
};

/* x - a b */
#define LESS(xr, xi, ar, ai, br, bi) \
    do { \
        (xr) = less_of(xr, ar, br); \
        if (Z) { \
            (xr) = less_of(xr, -(ai), bi); \
            (xi) = less_of(less_of(xi, ar, bi), ai, br); \
        } \
    } while (0)

/* A part of a matrix with less than 2^31 elements: element (i, j) is at re[i * row + j * column]. */
struct matrix {
    PARTS(T *re, *im);
    int row, column;
};

static __device__ matrix matrix_at(PARTS(T *re, T *im), long long at, int row, int column)
{
    matrix x;
    x.re = re + at;
#if Z
    x.im = im + at;
#endif
    x.row = row;
    x.column = column;
    return x;
}

static __device__ matrix matrix_part(matrix x, long long i, int j)
{
    return matrix_at(PARTS(x.re, x.im), i * x.row + j * x.column, x.row, x.column);
}

#define AT(x, i, j) (x).re[(i) * (x).row + (j) * (x).column]
#define AT_IM(x, i, j) IM((x).im)[(i) * (x).row + (j) * (x).column]

/* x = c - a b, for a tile of at most SIDE x SIDE elements with `deep` products each. lower: only elements that are not above
 * the diagonal; adjoint: b is conjugated. */
static __device__ void tile_less(int rows, int columns, int deep, bool lower, bool adjoint, matrix c, matrix a, matrix b,
                                 matrix x, T *room, T *room_im)
{
    const int id = (int)threadIdx.x, ty = id / LINE, tx = id % LINE;
    T *left = room, *left_im = room_im, *right = room + DEEP * PITCH, *right_im = room_im + DEEP * PITCH;
    T sum[EACH * EACH], sum_im[EACH * EACH];
#pragma unroll
    for (int r = 0; r < EACH; r++)
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            const int i = ty + r * LINE, j = tx + s * LINE;
            const bool in = i < rows && j < columns;
            sum[r * EACH + s] = in ? AT(c, i, j) : 0;
            sum_im[r * EACH + s] = Z && in ? AT_IM(c, i, j) : 0;
        }
    for (int p0 = 0; p0 < deep; p0 += DEEP) {
        __syncthreads();
        for (int at = id; at < SIDE * DEEP; at += THREADS) {
            const bool wide_a = SIZE(a.column) != 1, wide_b = SIZE(b.column) != 1; /* neighbouring threads read neighbouring elements */
            const int ai = wide_a ? at % SIDE : at / DEEP, ap = wide_a ? at / SIDE : at % DEEP;
            const int bj = wide_b ? at / DEEP : at % SIDE, bp = wide_b ? at % DEEP : at / SIDE;
            left[ap * PITCH + ai] = ai < rows ? AT(a, ai, p0 + ap) : 0;
            right[bp * PITCH + bj] = bj < columns ? AT(b, p0 + bp, bj) : 0;
            if (Z) {
                const T y = bj < columns ? AT_IM(b, p0 + bp, bj) : 0;
                left_im[ap * PITCH + ai] = ai < rows ? AT_IM(a, ai, p0 + ap) : 0;
                right_im[bp * PITCH + bj] = adjoint ? -y : y;
            }
        }
        __syncthreads();
#pragma unroll 8
        for (int p = 0; p < DEEP; p++) {
            T x[EACH], x_im[EACH], y[EACH], y_im[EACH];
#pragma unroll
            for (int r = 0; r < EACH; r++) {
                x[r] = left[p * PITCH + ty + r * LINE];
                y[r] = right[p * PITCH + tx + r * LINE];
                x_im[r] = Z ? left_im[p * PITCH + ty + r * LINE] : 0;
                y_im[r] = Z ? right_im[p * PITCH + tx + r * LINE] : 0;
            }
#pragma unroll
            for (int r = 0; r < EACH; r++)
#pragma unroll
                for (int s = 0; s < EACH; s++)
                    LESS(sum[r * EACH + s], sum_im[r * EACH + s], x[r], x_im[r], y[s], y_im[s]);
        }
    }
#pragma unroll
    for (int r = 0; r < EACH; r++)
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            const int i = ty + r * LINE, j = tx + s * LINE;
            if (i < rows && j < columns && !(lower && j > i)) {
                AT(x, i, j) = sum[r * EACH + s];
                if (Z)
                    AT_IM(x, i, j) = sum_im[r * EACH + s];
            }
        }
}

static __device__ int least_of(int a, int b) { return a < b ? a : b; }

/* ---- cholesky ---- */

/* Puts a thread's elements of one column into shared memory. */
static __device__ void column_share(int s, const T *x, const T *x_im, T *to, T *to_im)
{
#pragma unroll
    for (int r = 0; r < TALL / LINE; r++) {
        to[(int)threadIdx.x / LINE + r * LINE] = x[r * BAND_OWN + s];
        if (Z)
            to_im[(int)threadIdx.x / LINE + r * LINE] = x_im[r * BAND_OWN + s];
    }
}

/* Block column k0 of l: each block of threads factors the diagonal block, and SIDE rows below it. The first one writes the
 * diagonal block: into `diagonal`, since others read it in this round, or into l if there are no others. */
static __device__ void cholesky_panel(int n, int k0, int tile, matrix l, matrix diagonal, T *room, T *room_im)
{
    const int id = (int)threadIdx.x, ty = id / LINE, tx = id % LINE, r0 = k0 + BAND + tile * SIDE;
    const bool alone = k0 + BAND >= n;
    const matrix top = matrix_part(l, k0, k0), below = matrix_part(l, r0, k0), before = matrix_part(l, k0 - 1, k0 - 1);
    T *raw = room, *raw_im = room_im, *scaled = room + TALL, *scaled_im = room_im + TALL;
    bool good = k0 == 0 || AT(before, 0, 0) > 0;
    T x[TALL / LINE * BAND_OWN], x_im[TALL / LINE * BAND_OWN];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < TALL / LINE; r++)
#pragma unroll
        for (int s = 0; s < BAND_OWN; s++) {
            const int i = ty + r * LINE, j = tx + s * LINE, e = r * BAND_OWN + s;
            const bool upper = i < BAND, in = j < n - k0 && (upper ? i < n - k0 : i - BAND < n - r0);
            const matrix from = upper ? top : below;
            x[e] = in ? AT(from, upper ? i : i - BAND, j) : i == j ? 1 : 0;
            x_im[e] = Z && in ? AT_IM(from, upper ? i : i - BAND, j) : 0;
        }
    if (tx == 0)
        column_share(0, x, x_im, raw, raw_im);
#pragma unroll
    for (int t = 0; t < BAND_OWN; t++)
        for (int q = 0; q < LINE; q++) {
            const int k = t * LINE + q;
            __syncthreads();
            const T pivot = raw[k], root = root_of(pivot);
            good = good && pivot > 0;
            if (id < TALL) {
                scaled[id] = !good ? 0 : id == k ? root : raw[id] / root;
                if (Z)
                    scaled_im[id] = !good || id == k ? 0 : raw_im[id] / root;
            }
            __syncthreads();
            T own[TALL / LINE], own_im[TALL / LINE];
#pragma unroll
            for (int r = 0; r < TALL / LINE; r++) {
                own[r] = scaled[ty + r * LINE];
                own_im[r] = Z ? scaled_im[ty + r * LINE] : 0;
            }
            /* The next column comes first, and is shared while the others follow. */
#pragma unroll
            for (int s = t; s < BAND_OWN; s++) {
                const T br = scaled[tx + s * LINE], bi = Z ? -scaled_im[tx + s * LINE] : 0;
#pragma unroll
                for (int r = 0; r < TALL / LINE; r++) {
                    if (s > t || tx > q)
                        LESS(x[r * BAND_OWN + s], x_im[r * BAND_OWN + s], own[r], own_im[r], br, bi);
                    else if (tx == q) {
                        x[r * BAND_OWN + s] = own[r];
                        x_im[r * BAND_OWN + s] = own_im[r];
                    }
                }
                if (s == t ? tx == q + 1 : s == t + 1 && q == LINE - 1 && tx == 0)
                    column_share(s, x, x_im, raw, raw_im);
            }
        }
#pragma unroll
    for (int r = 0; r < TALL / LINE; r++)
#pragma unroll
        for (int s = 0; s < BAND_OWN; s++) {
            const int i = ty + r * LINE, j = tx + s * LINE, e = r * BAND_OWN + s;
            const bool upper = i < BAND;
            if (upper ? tile > 0 || j > i || (alone && k0 + i >= n) : i - BAND >= n - r0)
                continue;
            const matrix to = !upper ? below : alone ? top : diagonal;
            AT(to, upper ? i : i - BAND, j) = x[e];
            if (Z)
                AT_IM(to, upper ? i : i - BAND, j) = x_im[e];
        }
}

/* The rest of l, less the products of the panel before k0; and the panel's diagonal block becomes a part of l. */
static __device__ void cholesky_rest(int n, int k0, int tile, matrix l, matrix diagonal, T *room, T *room_im)
{
    const matrix before = matrix_part(l, k0 - BAND, k0 - BAND);
    if (tile == 0)
        for (int at = (int)threadIdx.x; at < BAND * BAND; at += THREADS) {
            const int i = at / BAND, j = at % BAND;
            if (j > i)
                continue;
            AT(before, i, j) = AT(diagonal, i, j);
            if (Z)
                AT_IM(before, i, j) = AT_IM(diagonal, i, j);
        }
    int row = 0;
    while (tile > row)
        tile -= ++row;
    const int i0 = k0 + row * SIDE, j0 = k0 + tile * SIDE;
    if (i0 >= n)
        return;
    const matrix a = matrix_part(l, i0, k0 - BAND), x = matrix_part(l, i0, j0);
    matrix b = matrix_part(l, j0, k0 - BAND);
    b.row = l.column;
    b.column = l.row;
    tile_less(least_of(n - i0, SIDE), least_of(n - j0, SIDE), BAND, row == tile, true, x, a, b, x, room, room_im);
}

/* See cholesky of factor_steps.cuh. Rounds: a copy, then for each panel two, of which the last needs one. */
extern "C" __global__ void cholesky_blocks(int round, int tasks, int n, PARTS(const T *a, const T *a_im),
                                           PARTS(T *l, T *l_im), PARTS(T *diagonal, T *diagonal_im))
{
    __shared__ T room[ROOM * (1 + Z)];
    const int tiles = (int)gridDim.x / tasks, tile = (int)(blockIdx.x % tiles);
    const long long task = blockIdx.x / tiles, at = task * n * n, size = (long long)n * n;
    const matrix to = matrix_at(PARTS(l, l_im), at, n, 1),
                 kept = matrix_at(PARTS(diagonal, diagonal_im), task * BAND * BAND, BAND, 1);
    if (round == 0)
        for (long long e = (long long)tile * THREADS + threadIdx.x; e < size; e += (long long)tiles * THREADS) {
            const int i = (int)(e / n), j = (int)(e % n);
            l[at + e] = j > i ? 0 : a[at + e];
            if (Z)
                IM(l_im)[at + e] = j >= i ? 0 : IM(a_im)[at + e];
        }
    else if (round % 2 == 0)
        cholesky_rest(n, round / 2 * BAND, tile, to, kept, room, room + ROOM * Z);
    else if (tile == 0 || round / 2 * BAND + BAND + tile * SIDE < n)
        cholesky_panel(n, round / 2 * BAND, tile, to, kept, room, room + ROOM * Z);
}

/* ---- triangular systems ---- */

/* x = d^-1 x for WIDE rows of SIDE columns in registers: row ty + r LINE, column tx + s LINE. d is lower triangular, in
 * shared memory. */
static __device__ void block_solve(bool unit, const T *d, const T *d_im, T *x, T *x_im, T *line, T *line_im)
{
    const int id = (int)threadIdx.x, ty = id / LINE, tx = id % LINE;
#pragma unroll
    for (int t = 0; t < OWN; t++)
        for (int q = 0; q < LINE; q++) {
            const int k = t * LINE + q, here = q % 2 * SIDE;
            if (ty == q)
#pragma unroll
                for (int s = 0; s < EACH; s++) {
                    line[here + tx + s * LINE] = x[t * EACH + s];
                    if (Z)
                        line_im[here + tx + s * LINE] = x_im[t * EACH + s];
                }
            if (!unit) { /* one division for each thread */
                const T dr = d[k * WIDE + k], di = Z ? d_im[k * WIDE + k] : 0;
                DIVISOR(dr, di);
                __syncthreads();
                if (id < SIDE)
                    QUOTIENT(line[here + id], Z ? line_im[here + id] : 0, line[here + id], line_im[here + id]);
            }
            __syncthreads();
#pragma unroll
            for (int r = t; r < OWN; r++) {
                const int i = ty + r * LINE;
                const T ar = d[i * WIDE + k], ai = Z ? d_im[i * WIDE + k] : 0;
#pragma unroll
                for (int s = 0; s < EACH; s++) {
                    const T br = line[here + tx + s * LINE], bi = Z ? line_im[here + tx + s * LINE] : 0;
                    if (i > k)
                        LESS(x[r * EACH + s], x_im[r * EACH + s], ar, ai, br, bi);
                    else if (i == k) {
                        x[r * EACH + s] = br;
                        x_im[r * EACH + s] = bi;
                    }
                }
            }
        }
}

/* The first `rows` x `columns` elements of x as registers of block_solve; 0 elsewhere. */
static __device__ void block_load(int rows, int columns, matrix x, T *to, T *to_im)
{
    const int ty = (int)threadIdx.x / LINE, tx = (int)threadIdx.x % LINE;
#pragma unroll
    for (int r = 0; r < OWN; r++)
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            const int i = ty + r * LINE, j = tx + s * LINE;
            const bool in = i < rows && j < columns;
            to[r * EACH + s] = in ? AT(x, i, j) : 0;
            to_im[r * EACH + s] = Z && in ? AT_IM(x, i, j) : 0;
        }
}

static __device__ void block_store(int rows, int columns, const T *x, const T *x_im, matrix to)
{
    const int ty = (int)threadIdx.x / LINE, tx = (int)threadIdx.x % LINE;
#pragma unroll
    for (int r = 0; r < OWN; r++)
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            const int i = ty + r * LINE, j = tx + s * LINE;
            if (i < rows && j < columns) {
                AT(to, i, j) = x[r * EACH + s];
                if (Z)
                    AT_IM(to, i, j) = x_im[r * EACH + s];
            }
        }
}

/* The lower triangle of the first `rows` rows of x in shared memory, and a diagonal of ones after them. */
static __device__ void block_share(int rows, matrix x, T *to, T *to_im)
{
    __syncthreads();
    for (int at = (int)threadIdx.x; at < WIDE * WIDE; at += THREADS) {
        const int i = at / WIDE, j = at % WIDE;
        const bool in = i < rows && j <= i;
        to[at] = in ? AT(x, i, j) : i == j ? 1 : 0;
        if (Z)
            to_im[at] = in ? AT_IM(x, i, j) : 0;
    }
    __syncthreads();
}

/* x = a^-1 b: see substitute of factor.cu. Two rounds for WIDE rows: their solution, and its products with later rows. The
 * last rows need one. `upper` begins with the last row, so its rows and columns are counted from the end. */
extern "C" __global__ void substitute_blocks(int round, int tasks, int n, int columns, int upper, int unit,
                                             PARTS(const T *a, const T *a_im), PARTS(const T *b, const T *b_im),
                                             PARTS(T *x, T *x_im))
{
    __shared__ T room[ROOM * (1 + Z)];
    const int tiles = (int)gridDim.x / tasks, tile = (int)(blockIdx.x % tiles), chunks = (columns + SIDE - 1) / SIDE;
    const int k0 = round / 2 * WIDE, j0 = tile % chunks * SIDE, wide = least_of(columns - j0, SIDE);
    const int i0 = round % 2 == 0 ? k0 : k0 + WIDE + tile / chunks * SIDE;
    const long long task = blockIdx.x / tiles, last = upper ? n - 1 : 0;
    if (i0 >= n || (round % 2 == 0 && tile >= chunks))
        return;
    const matrix factors = matrix_at(PARTS((T *)a, (T *)a_im), (task * n + last) * n + last, upper ? -n : n,
                                     upper ? -1 : 1);
    const long long at = (task * n + last) * columns + j0;
    const matrix to = matrix_at(PARTS(x, x_im), at, upper ? -columns : columns, 1);
    const matrix from = k0 == 0 ? matrix_at(PARTS((T *)b, (T *)b_im), at, to.row, 1) : to;
    T *const room_im = room + ROOM * Z;
    if (round % 2 == 0) {
        T own[OWN * EACH], own_im[OWN * EACH];
        const int rows = least_of(n - k0, WIDE);
        block_share(rows, matrix_part(factors, k0, k0), room, room_im);
        block_load(rows, wide, matrix_part(from, k0, 0), own, own_im);
        block_solve(unit, room, room_im, own, own_im, room + WIDE * WIDE, room_im + WIDE * WIDE);
        block_store(rows, wide, own, own_im, matrix_part(to, k0, 0));
    } else {
        tile_less(least_of(n - i0, SIDE), wide, WIDE, false, false, matrix_part(from, i0, 0), matrix_part(factors, i0, k0),
                  matrix_part(to, k0, 0), matrix_part(to, i0, 0), room, room_im);
    }
}

/* ---- lu ---- */

/* The row that is row i before the exchanges of `wide` rows from k0 on, row k0 + t with row pivot[t]. */
static __device__ int row_before(int i, int k0, int wide, const int *pivot)
{
    for (int t = wide - 1; t >= 0; t--)
        i = i == k0 + t ? pivot[t] : i == pivot[t] ? k0 + t : i;
    return i;
}

/* Rows from `first` on of NARROW columns from c0 on, less the products of the c0 columns before. A thread has every
 * THREADS-th row. */
static __device__ void panel_less(int rows, int first, int c0, matrix panel, const T *upper, const T *upper_im)
{
    for (int i = first + (int)threadIdx.x; i < rows; i += THREADS) {
        T x[NARROW], x_im[NARROW];
#pragma unroll
        for (int s = 0; s < NARROW; s++) {
            x[s] = AT(panel, i, c0 + s);
            x_im[s] = Z ? AT_IM(panel, i, c0 + s) : 0;
        }
#pragma unroll 8
        for (int p = 0; p < c0; p++) {
            const T ar = AT(panel, i, p), ai = Z ? AT_IM(panel, i, p) : 0;
#pragma unroll
            for (int s = 0; s < NARROW; s++)
                LESS(x[s], x_im[s], ar, ai, upper[p * WIDE + c0 + s], Z ? upper_im[p * WIDE + c0 + s] : 0);
        }
#pragma unroll
        for (int s = 0; s < NARROW; s++) {
            AT(panel, i, c0 + s) = x[s];
            if (Z)
                AT_IM(panel, i, c0 + s) = x_im[s];
        }
    }
}

/* The element of most size, not NaN, of column k from row k on, less the products of columns c0 to k; its row, or k. A
 * thread has ROWS rows in turn, whose elements it reads together. */
static __device__ int panel_pivot(int rows, int c0, int k, matrix panel, const T *upper, const T *upper_im, T *most,
                                  int *where)
{
    const int id = (int)threadIdx.x;
    T own = -1;
    int at = NOWHERE;
    for (int i0 = k + id; i0 < rows; i0 += ROWS * THREADS) {
        T x[ROWS], x_im[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int i = i0 + r * THREADS;
            x[r] = i < rows ? AT(panel, i, k) : 0;
            x_im[r] = Z && i < rows ? AT_IM(panel, i, k) : 0;
        }
#pragma unroll
        for (int s = 0; s < NARROW - 1; s++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const int i = i0 + r * THREADS, p = c0 + s;
                const bool in = p < k && i < rows;
                const T ar = in ? AT(panel, i, p) : 0, ai = Z && in ? AT_IM(panel, i, p) : 0;
                if (p < k)
                    LESS(x[r], x_im[r], ar, ai, upper[p * WIDE + k], Z ? upper_im[p * WIDE + k] : 0);
            }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int i = i0 + r * THREADS;
            const T size = SIZE(x[r]) + (Z ? SIZE(x_im[r]) : 0);
            if (i >= rows)
                continue;
            AT(panel, i, k) = x[r];
            if (Z)
                AT_IM(panel, i, k) = x_im[r];
            if (size > own) {
                own = size;
                at = i;
            }
        }
    }
    most[id] = own;
    where[id] = at;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (id < half && (most[id + half] > most[id] || (most[id + half] == most[id] && where[id + half] < where[id]))) {
            most[id] = most[id + half];
            where[id] = where[id + half];
        }
    }
    __syncthreads();
    return where[0] == NOWHERE ? k : where[0];
}

/* The factors of `wide` columns, in place. panel is stored by columns; those after `wide` are read but not used. pivot[k]
 * counts rows from the panel's first. Row k of U is complete, in `upper` too, as soon as its pivot is known. */
static __device__ void lu_panel(int rows, int wide, matrix panel, int *pivot, T *room, T *room_im, int *where)
{
    const int id = (int)threadIdx.x;
    T *upper = room, *upper_im = room_im, *line = room + WIDE * WIDE, *line_im = room_im + WIDE * WIDE, *most = line + WIDE;
    for (int k = 0; k < wide; k++) {
        const int c0 = k / NARROW * NARROW, c1 = c0 + NARROW;
        if (k == c0 && k > 0)
            panel_less(rows, k, c0, panel, upper, upper_im);
        const int p = panel_pivot(rows, c0, k, panel, upper, upper_im, most, where);
        if (id < wide) {
            const T x = AT(panel, k, id), y = AT(panel, p, id), x_im = Z ? AT_IM(panel, k, id) : 0,
                    y_im = Z ? AT_IM(panel, p, id) : 0;
            AT(panel, p, id) = x;
            AT(panel, k, id) = line[id] = y;
            if (Z) {
                AT_IM(panel, p, id) = x_im;
                AT_IM(panel, k, id) = line_im[id] = y_im;
            }
        }
        if (id == 0)
            pivot[k] = p;
        __syncthreads();
        const T dr = line[k], di = Z ? line_im[k] : 0;
        if (dr != 0 || di != 0) {
            DIVISOR(dr, di);
            for (int i0 = k + 1 + id; i0 < rows; i0 += ROWS * THREADS) {
                T x[ROWS], x_im[ROWS];
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const int i = i0 + r * THREADS;
                    x[r] = i < rows ? AT(panel, i, k) : 0;
                    x_im[r] = Z && i < rows ? AT_IM(panel, i, k) : 0;
                }
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const int i = i0 + r * THREADS;
                    if (i < rows)
                        QUOTIENT(x[r], x_im[r], AT(panel, i, k), AT_IM(panel, i, k));
                }
            }
        }
        if (id > k && id < wide) {
            T xr = line[id], xi = Z ? line_im[id] : 0;
            for (int q = id < c1 ? c0 : 0; q < k; q++)
                LESS(xr, xi, line[q], Z ? line_im[q] : 0, upper[q * WIDE + id], Z ? upper_im[q * WIDE + id] : 0);
            AT(panel, k, id) = upper[k * WIDE + id] = xr;
            if (Z)
                AT_IM(panel, k, id) = upper_im[k * WIDE + id] = xi;
        }
        __syncthreads();
    }
}

/* Elements of a matrix of rows x columns, divided among `tiles` blocks of threads. */
static __device__ void copy_part(int tile, int tiles, int rows, int columns, matrix from, matrix to)
{
    for (long long e = (long long)tile * THREADS + threadIdx.x; e < (long long)rows * columns;
         e += (long long)tiles * THREADS) {
        const matrix x = matrix_part(from, e / columns, (int)(e % columns));
        const matrix y = matrix_part(to, e / columns, (int)(e % columns));
        AT(y, 0, 0) = AT(x, 0, 0);
        if (Z)
            AT_IM(y, 0, 0) = AT_IM(x, 0, 0);
    }
}

/* SIDE columns of f from j0 on: the exchanges of a panel, and the solution of its rows if the columns follow the panel. */
static __device__ void lu_rows(int columns, int k0, int wide, bool solves, matrix f, matrix panel, const int *pivot, T *room,
                               T *room_im, int *before)
{
    const int id = (int)threadIdx.x, ty = id / LINE, tx = id % LINE;
    if (id < 2 * wide)
        before[id] = row_before(id < wide ? k0 + id : pivot[id - wide], k0, wide, pivot);
    __syncthreads();
    T own[OWN * EACH], own_im[OWN * EACH], other[OWN * EACH], other_im[OWN * EACH];
#pragma unroll
    for (int r = 0; r < OWN; r++)
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            const int t = ty + r * LINE, j = tx + s * LINE, e = r * EACH + s;
            const bool in = t < wide && j < columns;
            const matrix x = matrix_part(f, in ? before[t] : 0, 0), y = matrix_part(f, in ? before[wide + t] : 0, 0);
            own[e] = in ? AT(x, 0, j) : 0;
            other[e] = in ? AT(y, 0, j) : 0;
            own_im[e] = Z && in ? AT_IM(x, 0, j) : 0;
            other_im[e] = Z && in ? AT_IM(y, 0, j) : 0;
        }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < OWN; r++)
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            const int t = ty + r * LINE, j = tx + s * LINE, e = r * EACH + s;
            if (t < wide && j < columns && pivot[t] >= k0 + wide) {
                const matrix x = matrix_part(f, pivot[t], 0);
                AT(x, 0, j) = other[e];
                if (Z)
                    AT_IM(x, 0, j) = other_im[e];
            }
        }
    if (solves) {
        block_share(wide, panel, room, room_im);
        block_solve(true, room, room_im, own, own_im, room + WIDE * WIDE, room_im + WIDE * WIDE);
    }
    block_store(wide, columns, own, own_im, matrix_part(f, k0, 0));
}

/* See lu of factor_steps.cuh. Rounds: a copy, then for each panel of columns three: it is factored; the other columns get its
 * exchanges, and its rows of U; the rest gets its products. Panels are factored in `panel`, by columns, where the round
 * before puts them: the places of two panels are used in turn. */
extern "C" __global__ void lu_blocks(int round, int tasks, int m, int n, PARTS(const T *a, const T *a_im),
                                     PARTS(T *f, T *f_im), int *pivot, int *order, PARTS(T *panel, T *panel_im))
{
    __shared__ T room[ROOM * (1 + Z)];
    __shared__ int numbers[THREADS];
    const int tiles = (int)gridDim.x / tasks, tile = (int)(blockIdx.x % tiles), least = least_of(m, n);
    const int step = (round - 1) / 3, k0 = step * WIDE, wide = least_of(WIDE, least - k0), after = k0 + wide;
    const long long task = blockIdx.x / tiles;
    const matrix to = matrix_at(PARTS(f, f_im), task * m * n, n, 1),
                 panels = matrix_at(PARTS(panel, panel_im), task * 2 * m * WIDE, 1, m),
                 kept = matrix_part(panels, 0, step % 2 == 0 ? 0 : WIDE), next = matrix_part(panels, 0, step % 2 == 0 ? WIDE : 0);
    T *const room_im = room + ROOM * Z;
    int *const own_pivot = pivot + task * least + k0, *own_order = order + task * m;
    if (round == 0) {
        const matrix from = matrix_at(PARTS((T *)a, (T *)a_im), task * m * n, n, 1);
        copy_part(tile, tiles, m, n, from, to);
        copy_part(tile, tiles, m, least_of(WIDE, least), from, panels);
        for (int i = tile * THREADS + (int)threadIdx.x; i < m; i += tiles * THREADS)
            order[task * m + i] = i;
    } else if (round % 3 == 1) {
        if (tile == 0)
            lu_panel(m - k0, wide, kept, own_pivot, room, room_im, numbers);
        if (tile == 0 && threadIdx.x == 0)
            for (int t = 0; t < wide; t++) {
                const int p = own_pivot[t] += k0, was = own_order[k0 + t];
                own_order[k0 + t] = own_order[p];
                own_order[p] = was;
            }
    } else if (round % 3 == 2) {
        const int left = (k0 + SIDE - 1) / SIDE, right = (n - after + SIDE - 1) / SIDE;
        const int j0 = tile < left ? tile * SIDE : after + (tile - left) * SIDE, end = tile < left ? k0 : n;
        if (tile >= left + right) {
            copy_part(tile - left - right, tiles - left - right, m - k0, wide, kept, matrix_part(to, k0, k0));
        } else {
            int *const pivots = numbers + 2 * WIDE;
            if ((int)threadIdx.x < wide)
                pivots[threadIdx.x] = own_pivot[threadIdx.x];
            __syncthreads();
            lu_rows(least_of(end - j0, SIDE), k0, wide, tile >= left, matrix_part(to, 0, j0), kept, pivots, room, room_im,
                    numbers);
        }
    } else if (n > after) {
        const int across = (n - after + SIDE - 1) / SIDE, i0 = after + tile / across * SIDE, j0 = after + tile % across * SIDE;
        const int rows = least_of(m - i0, SIDE);
        const matrix x = matrix_part(to, i0, j0);
        if (rows > 0)
            tile_less(rows, least_of(n - j0, SIDE), WIDE, false, false, x, matrix_part(kept, i0 - k0, 0),
                      matrix_part(to, k0, j0), x, room, room_im);
        __syncthreads();
        if (rows > 0 && j0 == after)
            copy_part(0, 1, rows, least_of(WIDE, least - after), x, matrix_part(next, i0 - after, 0));
    }
}
