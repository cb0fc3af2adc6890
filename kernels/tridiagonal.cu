/* Some columns of a large symmetric matrix on the way to a tridiagonal one, by reflections H = I - v v^T, where v^T v is 2.
 * The matrix itself is not changed: after column j it is A - V^T W - W^T V, with j + 1 rows of V and W. Products of matrices
 * apply that to the rest (src/engine/numeric/tridiagonal.c). src/engine/backend/cpu/lanes/tridiagonal.inc has the same sums
 * for the CPU.
 *
 * A launch is a round; a column takes three, and one more ends the last column. All blocks depend on the round before only,
 * and the order of each sum is fixed by CHUNK, GROUPS and ROW_LANES, so the grid changes no bit.
 *
 * Defined before it: REAL, F64. */
#include "panel.cuh"

/* One matrix: a is (m, m), vw is (3 columns, m): V, W and V again. room: c, p, the products y, and for each chunk
 * the squares of c and the products of p and v. */
struct panel {
    int m, columns, chunks, block, blocks;
    const REAL *a;
    REAL *vw, *d, *e, *c, *p, *y, *squares, *products;
};

static __device__ panel panel_of(int count, int m, int columns, const REAL *a, REAL *vw, REAL *d,
                                 REAL *e, REAL *room)
{
    const int blocks = gridDim.x / count;
    const long long b = blockIdx.x / blocks, chunks = (m + CHUNK - 1) / CHUNK;
    REAL *own = room + b * (3 * m + 2 * columns + 2 * chunks);
    panel x;
    x.m = m;
    x.columns = columns;
    x.chunks = (int)chunks;
    x.block = blockIdx.x % blocks;
    x.blocks = blocks;
    x.a = a + b * m * m;
    x.vw = vw + b * 3 * columns * m;
    x.d = d + b * columns;
    x.e = e + b * columns;
    x.c = own;
    x.p = own + m;
    x.y = own + 2 * m;
    x.squares = x.y + m + 2 * columns;
    x.products = x.squares + chunks;
    return x;
}

static __device__ REAL *row_v(const panel &x, int k) { return x.vw + (long long)k * x.m; }
static __device__ REAL *row_w(const panel &x, int k)
{
    return x.vw + (long long)(x.columns + k) * x.m;
}

/* The sum over k < n of f[k] w_k[i] + g[k] v_k[i], for GROUPS of k. f and g are in shared memory. */
static __device__ REAL sum_of_rows(const panel &x, REAL *part, int n, int i, const REAL *f,
                                   const REAL *g)
{
    REAL own = 0;
    if (i < x.m)
        for (int k = threadIdx.x / CHUNK; k < n; k += GROUPS)
            own += f[k] * row_w(x, k)[i] + g[k] * row_v(x, k)[i];
    part[threadIdx.x] = own;
    __syncthreads();
    const REAL *p = part + threadIdx.x % CHUNK;
    const REAL total = (p[0] + p[CHUNK]) + (p[2 * CHUNK] + p[3 * CHUNK]);
    __syncthreads();
    return total;
}

/* Ends row j - 1 of W, and begins column j. */
static __device__ void panel_column(const panel &x, REAL *part, REAL *f, REAL *g, int j)
{
    const int i = x.block * CHUNK + threadIdx.x % CHUNK;
    if (x.block >= x.chunks)
        return;
    const REAL product = chunk_total(part, x.chunks, x.products), half = j > 0 ? -product / 2 : 0;
    REAL own = 0;
    if (j > 0 && i < x.m) {
        own = x.p[i] + half * row_v(x, j - 1)[i];
        if (threadIdx.x < CHUNK)
            row_w(x, j - 1)[i] = own;
    }
    if (j >= x.columns)
        return;
    if ((int)threadIdx.x < j) {
        f[threadIdx.x] = row_v(x, threadIdx.x)[j];
        g[threadIdx.x] = (int)threadIdx.x < j - 1 ? row_w(x, threadIdx.x)[j]
                                                  : x.p[j] + half * row_v(x, j - 1)[j];
    }
    __syncthreads();
    const REAL sum = sum_of_rows(x, part, j, i, f, g);
    REAL c = 0;
    if (threadIdx.x < CHUNK && i < x.m) {
        c = x.a[(long long)j * x.m + i] - sum;
        if (i == j)
            x.d[j] = c;
        c = i > j ? c : 0;
        x.c[i] = c;
    }
    const REAL squares = tree_sum(part, CHUNK, c * c, threadIdx.x);
    if (threadIdx.x == 0)
        x.squares[x.block] = squares;
}

/* v is (c, with `first` added to its element j + 1) times scale. */
static __device__ void panel_reflector(const panel &x, REAL *part, int j, REAL *first, REAL *scale,
                                       REAL *off_diagonal)
{
    const REAL squares = chunk_total(part, x.chunks, x.squares);
    const REAL c = j + 1 < x.m ? x.c[j + 1] : 0, length = sqrt(squares), size = c < 0 ? -c : c;
    const bool none = j + 2 >= x.m || squares < TINY;
    *first = none ? 0 : c < 0 ? -length : length;
    *scale = none ? 0 : 1 / sqrt(length * (length + size));
    *off_diagonal = none ? (j + 2 >= x.m ? c : 0) : -*first;
}

/* Row j of V, and the products of v with the rows of A, V and W. */
static __device__ void panel_products(const panel &x, REAL *part, int j)
{
    REAL first, scale, off_diagonal;
    panel_reflector(x, part, j, &first, &scale, &off_diagonal);
    for (int i = x.block * THREADS + threadIdx.x; i < x.m; i += x.blocks * THREADS) {
        const REAL v = i <= j ? 0 : (i == j + 1 ? x.c[i] + first : x.c[i]) * scale;
        row_v(x, j)[i] = v;
        x.vw[(long long)(2 * x.columns + j) * x.m + i] = v;
        if (i == 0)
            x.e[j] = off_diagonal;
    }
    const int r = x.block * ROWS + threadIdx.x / ROW_LANES, lane = threadIdx.x % ROW_LANES;
    const REAL *row = r < x.m       ? x.a + (long long)r * x.m
                      : r < x.m + j ? row_v(x, r - x.m)
                                    : row_w(x, r - x.m - j);
    const bool wanted = r > j && r < x.m + 2 * j;
    REAL own = 0;
    if (wanted)
        for (int i = (j + 1) / ROW_LANES * ROW_LANES + lane; i < x.m; i += ROW_LANES)
            own += row[i] * x.c[i];
    own = tree_sum(part, ROW_LANES, own, threadIdx.x);
    if (wanted && lane == 0)
        x.y[r] = (j + 1 < x.m ? own + row[j + 1] * first : own) * scale;
}

/* p: the products with A as it is after the columns before. */
static __device__ void panel_vector(const panel &x, REAL *part, REAL *f, REAL *g, int j)
{
    const int i = x.block * CHUNK + threadIdx.x % CHUNK;
    if (x.block >= x.chunks)
        return;
    if ((int)threadIdx.x < j) {
        f[threadIdx.x] = x.y[x.m + threadIdx.x];
        g[threadIdx.x] = x.y[x.m + j + threadIdx.x];
    }
    __syncthreads();
    const REAL sum = sum_of_rows(x, part, j, i, f, g);
    REAL product = 0;
    if (threadIdx.x < CHUNK && i < x.m) {
        const REAL p = i > j ? x.y[i] - sum : 0;
        x.p[i] = p;
        product = p * row_v(x, j)[i];
    }
    product = tree_sum(part, CHUNK, product, threadIdx.x);
    if (threadIdx.x == 0)
        x.products[x.block] = product;
}

extern "C" __global__ void tridiagonal(int round, int count, int m, int columns, const REAL *a,
                                       REAL *vw, REAL *d, REAL *e, REAL *room)
{
    __shared__ REAL part[THREADS], f[CHUNK], g[CHUNK];
    const panel x = panel_of(count, m, columns, a, vw, d, e, room);
    if (round % 3 == 0)
        panel_column(x, part, f, g, round / 3);
    else if (round % 3 == 1)
        panel_products(x, part, round / 3);
    else
        panel_vector(x, part, f, g, round / 3);
}
