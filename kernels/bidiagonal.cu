/* Some columns of a large matrix A (m, n), m >= n, on the way to an upper bidiagonal one, by reflections H = I - u u^T from
 * the left and I - v v^T from the right, where u^T u = v^T v = 2. The matrix itself is not changed: after column j it is
 * A - U^T Y - X^T V, with j + 1 rows of each. src/engine/numeric/bidiagonal.c applies that to the rest.
 * src/engine/backend/cpu/lanes/bidiagonal.inc has the same sums for the CPU.
 *
 * A launch is a round; a column takes four, and one more ends the last row of X. See tridiagonal.cu.
 *
 * Defined before it: REAL, F64. */
#include "panel.cuh"

/* One side of the matrix in a round: rows of `length` elements. Left: U and X, of m elements; right: V and Y, of n. */
struct side {
    int length, chunks, block, blocks;
    REAL *reflections, *products;
};

/* One matrix: rows of a, and of its transpose at. ux is (2 columns, m): U, X. yv is (2 columns, n): Y, V. room: c, the
 * products p, and the squares of each chunk of c. */
struct panel {
    int m, n, columns;
    const REAL *a, *at;
    REAL *d, *e, *c, *p, *squares;
    side left, right;
};

static __device__ side side_of(int length, int block, int blocks, REAL *reflections, REAL *products)
{
    side s;
    s.length = length;
    s.chunks = (length + CHUNK - 1) / CHUNK;
    s.block = block;
    s.blocks = blocks;
    s.reflections = reflections;
    s.products = products;
    return s;
}

static __device__ panel panel_of(int count, int m, int n, int columns, const REAL *a,
                                 const REAL *at, REAL *ux, REAL *yv, REAL *d, REAL *e, REAL *room)
{
    const int blocks = gridDim.x / count, block = blockIdx.x % blocks;
    const long long b = blockIdx.x / blocks, chunks = (m + CHUNK - 1) / CHUNK;
    REAL *own = room + b * (2 * m + 2 * columns + chunks);
    panel x;
    x.m = m;
    x.n = n;
    x.columns = columns;
    x.a = a + b * m * n;
    x.at = at + b * m * n;
    ux += b * 2 * columns * m;
    yv += b * 2 * columns * n;
    x.d = d + b * columns;
    x.e = e + b * columns;
    x.c = own;
    x.p = own + m;
    x.squares = x.p + m + 2 * columns;
    x.left = side_of(m, block, blocks, ux, ux + (long long)columns * m);
    x.right = side_of(n, block, blocks, yv + (long long)columns * n, yv);
    return x;
}

static __device__ REAL *reflection_row(const side &s, int k)
{
    return s.reflections + (long long)k * s.length;
}
static __device__ REAL *product_row(const side &s, int k)
{
    return s.products + (long long)k * s.length;
}

/* The sums over k < n of f[k] r_k[i] + g[k] p_k[i], where r are reflections and p products. */
static __device__ REAL sum_of_rows(const side &s, REAL *part, int n, int i, const REAL *f,
                                   const REAL *g)
{
    REAL own = 0;
    if (i < s.length)
        for (int k = threadIdx.x / CHUNK; k < n; k += GROUPS)
            own += f[k] * reflection_row(s, k)[i] + g[k] * product_row(s, k)[i];
    part[threadIdx.x] = own;
    __syncthreads();
    const REAL *p = part + threadIdx.x % CHUNK;
    const REAL total = (p[0] + p[CHUNK]) + (p[2 * CHUNK] + p[3 * CHUNK]);
    __syncthreads();
    return total;
}

/* Ends row k of the products of a side, and begins the vector of the next reflection: `row` less the changes so far, from
 * element `first` on. more: reflection k exists and counts, too. Without `ends` there is no row to end; without `begins`
 * no vector to begin. Of each earlier column: factors of its reflection and products in the row (f, g) and in the vector
 * (e, h). */
static __device__ void panel_vector(const panel &x, const side &s, REAL *part, const REAL *f,
                                    const REAL *g, const REAL *e, const REAL *h, int k, bool ends,
                                    bool more, bool begins, const REAL *row, int first)
{
    const int i = s.block * CHUNK + threadIdx.x % CHUNK;
    if (s.block >= s.chunks)
        return;
    const REAL old = sum_of_rows(s, part, ends ? k : 0, i, f, g);
    const REAL sum = sum_of_rows(s, part, ends ? k : 0, i, e, h);
    const bool mine = threadIdx.x < CHUNK && i < s.length;
    REAL change = sum;
    if (mine && ends) {
        const REAL other = more ? reflection_row(s, k)[i] : 0;
        const REAL fresh = i >= first ? x.p[i] - (old + (more ? f[k] * other : 0)) : 0;
        product_row(s, k)[i] = fresh;
        change += more ? e[k] * other + h[k] * fresh : h[k] * fresh;
    }
    const REAL c = mine && begins && i >= first ? row[i] - change : 0;
    if (mine && begins)
        x.c[i] = c;
    const REAL squares = tree_sum(part, CHUNK, c * c, threadIdx.x);
    if (threadIdx.x == 0)
        x.squares[s.block] = squares;
}

/* The reflection j of a side from c, whose first element is `first`, and the products with rows of a matrix from `from` on,
 * of which there are `rows`, with n_r reflections and n_p products. off_diagonal: the element that the reflection leaves. */
static __device__ void panel_products(const panel &x, const side &s, REAL *part, int j, int first,
                                      const REAL *matrix, int from, int rows, int n_p, int n_r,
                                      REAL *off_diagonal)
{
    const REAL squares = chunk_total(part, s.chunks, x.squares);
    const REAL c = first < s.length ? x.c[first] : 0, length = sqrt(squares), size = c < 0 ? -c : c;
    const bool none = first + 1 >= s.length || squares < TINY;
    const REAL change = none ? 0 : c < 0 ? -length : length;
    const REAL scale = none ? 0 : 1 / sqrt(length * (length + size));
    for (int i = s.block * THREADS + threadIdx.x; i < s.length; i += s.blocks * THREADS) {
        reflection_row(s, j)[i] = i < first ? 0 : (i == first ? x.c[i] + change : x.c[i]) * scale;
        if (i == 0)
            *off_diagonal = !none ? -change : first + 1 == s.length ? c : 0;
    }
    const int r = s.block * ROWS + threadIdx.x / ROW_LANES, lane = threadIdx.x % ROW_LANES;
    const REAL *row = r < rows         ? matrix + (long long)r * s.length
                      : r < rows + n_p ? product_row(s, r - rows)
                                       : reflection_row(s, r - rows - n_p);
    const bool wanted = r >= from && r < rows + n_p + n_r;
    REAL own = 0;
    if (wanted)
        for (int i = first / ROW_LANES * ROW_LANES + lane; i < s.length; i += ROW_LANES)
            own += row[i] * x.c[i];
    own = tree_sum(part, ROW_LANES, own, threadIdx.x);
    if (wanted && lane == 0)
        x.p[r] = (first < s.length ? own + row[first] * change : own) * scale;
}

extern "C" __global__ void bidiagonal(int round, int count, int m, int n, int columns,
                                      const REAL *a, const REAL *at, REAL *ux, REAL *yv, REAL *d,
                                      REAL *e, REAL *room)
{
    __shared__ REAL part[THREADS], f[CHUNK], g[CHUNK], s[CHUNK], t[CHUNK];
    const panel x = panel_of(count, m, n, columns, a, at, ux, yv, d, e, room);
    const bool left = round % 4 < 2;
    const side own = left ? x.left : x.right, other = left ? x.right : x.left;
    const int j = round / 4, k = threadIdx.x, first = left ? j : j + 1, done = left ? j - 1 : j;
    if (round % 2 == 0 && k <= done) {
        /* Of the products p, the first belong to the matrix, and the next j to rows of products. */
        const REAL *p = x.p + (left ? m : n);
        f[k] = k < j ? p[k] : 0;
        g[k] = k < done ? p[j + k] : 0;
        s[k] = k < j && j < other.length ? product_row(other, k)[j] : 0;
        t[k] = j < other.length ? reflection_row(other, k)[j] : 0;
    }
    __syncthreads();
    if (round % 2 == 0)
        panel_vector(x, own, part, f, g, s, t, done, done >= 0, left, !left || j < columns,
                     left ? x.at + (long long)j * m : x.a + (long long)j * n, first);
    else
        panel_products(x, own, part, j, first, left ? x.at : x.a, j + 1, left ? n : m,
                       left ? j : j + 1, j, left ? x.d + j : x.e + j);
}
