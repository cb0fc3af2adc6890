/* The kernels that bench/kernels compares with OpenCL: known exercises of CUDA courses, written for GPUs. */

/* ---- c = a b, matrices of n x n: ten steps from the definition to tiles of warps ---- */

/* 1: the threads of a warp are in one column. */
__global__ void sgemm_1(int n, const float *a, const float *b, float *c)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

/* 2: they are in one row. */
__global__ void sgemm_2(int n, const float *a, const float *b, float *c)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

/* 3: tiles in shared memory; threads in one dimension. */
template <int T> __device__ void tiled(int n, const float *a, const float *b, float *c)
{
    __shared__ float as[T * T], bs[T * T];
    const int x = threadIdx.x % T, y = threadIdx.x / T;
    a += blockIdx.y * T * n;
    b += blockIdx.x * T;
    c += blockIdx.y * T * n + blockIdx.x * T;
    float sum = 0;
    for (int from = 0; from < n; from += T) {
        as[y * T + x] = a[y * n + x];
        bs[y * T + x] = b[y * n + x];
        __syncthreads();
        a += T;
        b += T * n;
        for (int k = 0; k < T; k++)
            sum += as[y * T + k] * bs[k * T + x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
__global__ void sgemm_3(int n, const float *a, const float *b, float *c) { tiled<32>(n, a, b, c); }

/* 4: a thread has eight elements of a column. */
__global__ void sgemm_4(int n, const float *a, const float *b, float *c)
{
    const int BM = 64, BN = 64, BK = 8, TM = 8;
    __shared__ float as[BM * BK], bs[BK * BN];
    const int x = threadIdx.x % BN, y = threadIdx.x / BN;
    const int ax = threadIdx.x % BK, ay = threadIdx.x / BK;
    float sums[TM] = {0};
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    for (int from = 0; from < n; from += BK) {
        as[ay * BK + ax] = a[ay * n + ax];
        bs[y * BN + x] = b[y * n + x];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int k = 0; k < BK; k++) {
            const float value = bs[k * BN + x];
            for (int i = 0; i < TM; i++)
                sums[i] += as[(y * TM + i) * BK + k] * value;
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        c[(y * TM + i) * n + x] = sums[i];
}

/* 5: a thread has 8 x 8 elements. */
template <int BM, int BN, int BK, int TM, int TN>
__device__ void squares(int n, const float *a, const float *b, float *c)
{
    __shared__ float as[BM * BK], bs[BK * BN];
    const int threads = BM * BN / (TM * TN);
    const int x = threadIdx.x % (BN / TN), y = threadIdx.x / (BN / TN);
    float sums[TM * TN] = {0}, left[TM], right[TN];
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    for (int from = 0; from < n; from += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += threads)
            as[i] = a[i / BK * n + i % BK];
        for (int i = threadIdx.x; i < BK * BN; i += threads)
            bs[i] = b[i / BN * n + i % BN];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int k = 0; k < BK; k++) {
            for (int i = 0; i < TM; i++)
                left[i] = as[(y * TM + i) * BK + k];
            for (int i = 0; i < TN; i++)
                right[i] = bs[k * BN + x * TN + i];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    sums[i * TN + j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            c[(y * TM + i) * n + x * TN + j] = sums[i * TN + j];
}
__global__ void sgemm_5(int n, const float *a, const float *b, float *c)
{
    squares<64, 64, 8, 8, 8>(n, a, b, c);
}

/* 6: loads of four elements; a is transposed in shared memory. 7 and 8: columns of b apart, padded rows. */
template <int BM, int BN, int BK, int TM, int TN, int PAD, bool APART>
__device__ void fours(int n, const float *a, const float *b, float *c)
{
    __shared__ float as[BK * BM], bs[BK * (BN + PAD)];
    const int threads = BM * BN / (TM * TN);
    const int x = threadIdx.x % (BN / TN), y = threadIdx.x / (BN / TN);
    float sums[TM * TN] = {0}, left[TM], right[TN];
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    for (int from = 0; from < n; from += BK) {
        for (int i = threadIdx.x; i < BM * BK / 4; i += threads) {
            const int row = i / (BK / 4), column = i % (BK / 4) * 4;
            const float4 v = *(const float4 *)&a[row * n + column];
            as[column * BM + row] = v.x;
            as[(column + 1) * BM + row] = v.y;
            as[(column + 2) * BM + row] = v.z;
            as[(column + 3) * BM + row] = v.w;
        }
        for (int i = threadIdx.x; i < BK * BN / 4; i += threads) {
            const int row = i / (BN / 4), column = i % (BN / 4) * 4;
            const float4 v = *(const float4 *)&b[row * n + column];
            if (APART) {
                const float of[4] = {v.x, v.y, v.z, v.w};
                for (int m = 0; m < 4; m++)
                    bs[row * BN + (column + m) % TN * (BN / TN) + (column + m) / TN] = of[m];
            } else {
                *(float4 *)&bs[row * (BN + PAD) + column] = v;
            }
        }
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int k = 0; k < BK; k++) {
            for (int i = 0; i < TM; i++)
                left[i] = as[k * BM + y * TM + i];
            for (int i = 0; i < TN; i++)
                right[i] = APART ? bs[k * BN + i * (BN / TN) + x] : bs[k * (BN + PAD) + x * TN + i];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    sums[i * TN + j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j += 4) {
            const float4 v = {sums[i * TN + j], sums[i * TN + j + 1], sums[i * TN + j + 2],
                              sums[i * TN + j + 3]};
            *(float4 *)&c[(y * TM + i) * n + x * TN + j] = v;
        }
}
__global__ void sgemm_6(int n, const float *a, const float *b, float *c)
{
    fours<64, 64, 8, 8, 8, 0, false>(n, a, b, c);
}
__global__ void sgemm_7(int n, const float *a, const float *b, float *c)
{
    fours<64, 64, 8, 8, 8, 0, true>(n, a, b, c);
}
__global__ void sgemm_8(int n, const float *a, const float *b, float *c)
{
    fours<64, 64, 8, 8, 8, 4, false>(n, a, b, c);
}

/* 9: other sizes of tiles. */
__global__ void sgemm_9(int n, const float *a, const float *b, float *c)
{
    fours<128, 128, 16, 8, 8, 0, false>(n, a, b, c);
}

/* 10: tiles of blocks, of warps and of threads. */
__global__ void sgemm_10(int n, const float *a, const float *b, float *c)
{
    const int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, TM = 4, TN = 4, HALF = 16;
    __shared__ float as[BK * BM], bs[BK * BN];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wx = warp % (BN / WN) * WN, wy = warp / (BN / WN) * WM;
    const int x = lane % 4 * TN, y = lane / 4 * TM; /* of halves of 32 x 16 */
    float sums[2][TM * TN] = {{0}}, left[TM], right[2][TN];
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += (blockIdx.y * BM + wy) * n + blockIdx.x * BN + wx;
    for (int from = 0; from < n; from += BK) {
        for (int i = threadIdx.x; i < BM * BK / 4; i += 128) {
            const int row = i / (BK / 4), column = i % (BK / 4) * 4;
            const float4 v = *(const float4 *)&a[row * n + column];
            as[column * BM + row] = v.x;
            as[(column + 1) * BM + row] = v.y;
            as[(column + 2) * BM + row] = v.z;
            as[(column + 3) * BM + row] = v.w;
        }
        for (int i = threadIdx.x; i < BK * BN / 4; i += 128)
            *(float4 *)&bs[i * 4] = *(const float4 *)&b[i / (BN / 4) * n + i % (BN / 4) * 4];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int k = 0; k < BK; k++) {
            for (int i = 0; i < TM; i++)
                left[i] = as[k * BM + wy + y + i];
            for (int h = 0; h < 2; h++)
                for (int j = 0; j < TN; j++)
                    right[h][j] = bs[k * BN + wx + h * HALF + x + j];
            for (int h = 0; h < 2; h++)
                for (int i = 0; i < TM; i++)
                    for (int j = 0; j < TN; j++)
                        sums[h][i * TN + j] += left[i] * right[h][j];
        }
        __syncthreads();
    }
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < TM; i++)
            for (int j = 0; j < TN; j++)
                c[(y + i) * n + h * HALF + x + j] = sums[h][i * TN + j];
}

/* ---- memory ---- */

__global__ void add(int n, const float *x, const float *y, float *z)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}

/* Tiles of 32 x 32 by 32 x 8 threads. */
__global__ void transpose(int n, const float *x, float *y)
{
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * n + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        y[(row + i) * n + column] = tile[threadIdx.x][threadIdx.y + i];
}

/* One element for each thread. */
__global__ void reduce(int n, const float *x, float *sums)
{
    __shared__ float part[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}

/* Sums of the elements of a block up to each. */
__global__ void scan(int n, const float *x, float *y)
{
    __shared__ float part[2][256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int in = 0;
    part[0][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int by = 1; by < blockDim.x; by *= 2) {
        part[1 - in][t] = t >= by ? part[in][t] + part[in][t - by] : part[in][t];
        in = 1 - in;
        __syncthreads();
    }
    if (i < n)
        y[i] = part[in][t];
}

__global__ void histogram(int n, const unsigned char *x, unsigned *bins)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

/* Five points of a square. */
__global__ void stencil(int n, const float *x, float *y)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < 1 || column < 1 || row >= n - 1 || column >= n - 1)
        return;
    const int i = row * n + column;
    y[i] = 0.5f * x[i] + 0.125f * (x[i - 1] + x[i + 1] + x[i - n] + x[i + n]);
}

/* ---- arithmetic ---- */

__global__ void nbody(int n, const float4 *at, float4 *force)
{
    __shared__ float4 part[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 own = at[i];
    float x = 0, y = 0, z = 0;
    for (int from = 0; from < n; from += blockDim.x) {
        part[threadIdx.x] = at[from + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < blockDim.x; k++) {
            const float4 other = part[k];
            const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            const float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = other.w * r * r * r;
            x += dx * f;
            y += dy * f;
            z += dz * f;
        }
        __syncthreads();
    }
    force[i] = make_float4(x, y, z, 0);
}

__device__ float normal(float x) { return 0.5f * (1 + erff(x * 0.70710678f)); }

__global__ void black_scholes(int n, const float *price, const float *strike, const float *years,
                              float *call, float *put)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float rate = 0.02f, volatility = 0.3f;
    const float s = price[i] * 25 + 5, k = strike[i] * 99 + 1, t = years[i] * 9.75f + 0.25f;
    const float root = volatility * sqrtf(t);
    const float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / root, d2 = d1 - root;
    const float paid = k * expf(-rate * t);
    call[i] = s * normal(d1) - paid * normal(d2);
    put[i] = paid * normal(-d2) - s * normal(-d1);
}

__global__ void mandelbrot(int n, int most, int *steps)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    const float cx = -2 + 3.0f * column / n, cy = -1.5f + 3.0f * row / n;
    float x = 0, y = 0;
    int k = 0;
    while (k < most && x * x + y * y < 4) {
        const float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        k++;
    }
    steps[row * n + column] = k;
}

/* ---- others ---- */

/* Sorts the 1024 values of a block by four bits: one pass of a radix sort, bit by bit, with a scan of each. */
__global__ void radix_sort(int n, const unsigned *in, unsigned *out)
{
    __shared__ unsigned value[256], sum[256];
    const int t = threadIdx.x;
    value[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int bit = 0; bit < 32; bit++) {
        const unsigned v = value[t], zero = ~v >> bit & 1;
        sum[t] = zero;
        __syncthreads();
        for (int by = 1; by < 256; by *= 2) {
            const unsigned before = t >= by ? sum[t - by] : 0;
            __syncthreads();
            sum[t] += before;
            __syncthreads();
        }
        const unsigned zeros = sum[255], to = zero ? sum[t] - 1 : zeros + t - sum[t];
        value[to] = v;
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = value[t];
}

/* A block has a row. */
__global__ void softmax(int n, const float *x, float *y)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    x += blockIdx.x * n;
    y += blockIdx.x * n;
    float most = -INFINITY, sum = 0;
    for (int i = t; i < n; i += blockDim.x)
        most = fmaxf(most, x[i]);
    part[t] = most;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x)
        sum += expf(x[i] - most);
    part[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    sum = part[0];
    for (int i = t; i < n; i += blockDim.x)
        y[i] = expf(x[i] - most) / sum;
}

/* Rows of a sparse matrix; a thread has one. Row i has `each` elements at columns that `column` lists. */
__global__ void spmv(int n, const int *begin, const int *column, const float *value, const float *x,
                     float *y)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0;
    for (int i = begin[row]; i < begin[row + 1]; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

/* One level of a search through a graph: vertices at `level` give their neighbours the next one. */
__global__ void bfs(int n, int level, const int *begin, const int *neighbour, int *distance)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || distance[v] != level)
        return;
    for (int i = begin[v]; i < begin[v + 1]; i++)
        if (distance[neighbour[i]] < 0)
            distance[neighbour[i]] = level + 1;
}
