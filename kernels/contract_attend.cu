/* Template: attention by large tiles, a chain of four programs whose scores and exponentials exist in registers and in shared
 * memory only, KEYS keys at a time.
 *
 *   scores[r, key] = epilogue of (sum over k of in0[r, k] * in1[key, k])          contraction 0
 *   most[r]        = the largest value along keys, then its epilogue              join1, result1
 *   e[r, key]      = value2 of scores and most; their fold along keys             join2, result2
 *   out[r, col]    = epilogue of (sum over keys of e[r, key] * value[key, col])   contraction 1
 *
 * A block takes QUERIES rows. With TWO_PASSES it makes two passes over the keys. The first, from the last key to the first, finds
 * `most`; the second computes the scores again and uses them. That is half as much work again, but no score is written to
 * memory, and each sum has the order that its program has alone: points of k and keys in order; with SAME, keys in the CPU's
 * blocks of BLOCK; the fold in the order of rows.cu. One pass is enough if e = exp(score - most): when `most` grows, the sums
 * so far are scaled. BASE_AT is where the largest values lie among the floats of `local`.
 *
 * A thread has 4 x 8 sums of a tile; a warp has whole rows. Of a row's eight threads, neighbours are two lanes apart, and the
 * lane between has another row: so threads n and n ^ 1, or n and n ^ 2, read the same 16 bytes of shared memory, which an NVIDIA
 * GPU does in half the time. A panel of keys or values goes from memory to registers while products of the panels before are
 * computed, then to shared memory. The exponentials go through shared memory, key by key; groups of four rows are permuted
 * there (PLACE), so that stores have no bank conflicts.
 *
 * STEPS: panels of 16 points of k, at least as many as a tile's keys have, so that each step of one product loads a panel of
 * the other. BLOCKS blocks run on a processor at once. LEVELS of pairs of chunks are enough for the longest row. */
#ifndef EMITTED
/* alone with warps: TWO_PASSES=0 IS_SAME=0 | TWO_PASSES=1 IS_SAME=0 | TWO_PASSES=1 IS_SAME=1 */
#define STEPS_OF 4
#define TILES_M g.tiles
#define COLUMNS g.n
#define BASE_AT 0
#define FOLD_CHUNK 1024
#define ATTEND_THREADS 128
#define ATTEND_BLOCKS 3
#define QUERIES 64
#define KEYS 64
#define LEVELS 6
#define c1_SAME c0_SAME
#define c1_MATRICES 0
#define c1_LANE float
#define c1_THREADS 128
#define c1_POINTS 16
#define c1_BLOCK g.block
#define c1_MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#define n1_LOAD float4
#define n1_LANES float4
#define n1_LANE_OF(x) x
#define n1_LOAD_AT(at) (*(const n1_LOAD *)(in1 + (at)))
#define n1_LOCAL 0
#define n1_PITCH 68
#define n1_VECTOR 4
#define n1_ALONG_K 0
#define n1_TABLE 0
#define n1_ACROSS 16
#define n1_LOADS 2
#define n1_ROW_LOADS 1
#define n1_TOGETHER 1
#define n1_b n0_b
#define n1_row n0_row
#define n1_k n0_k
#define VECTOR_OF 4
#define c0_total attend_total
#include "contract_names.cuh"
#undef c0_total
static __device__ void c0_total(PARAMS, unsigned char *local, int local_row, idx row, idx col, float core, float &held0, float &held1) { held0 = core; }
static __device__ void c1_total(PARAMS, unsigned char *local, int local_row, idx row, idx col, float core) { out[row * g.n + col] = core; }
static __device__ float join1(float x, float y) { return x > y ? x : y; }
static __device__ float join2(float x, float y) { return x + y; }
static __device__ float identity1() { return -1e30f; }
static __device__ float identity2() { return 0; }
static __device__ float value1(PARAMS, unsigned char *local, int local_row, idx row, idx col, float &held0, float &held1) { return held0; }
static __device__ float value2(PARAMS, unsigned char *local, int local_row, idx row, idx col, float &held0, float &held1) { return held0; }
static __device__ void result1(PARAMS, unsigned char *local, int local_row, idx row, float core) { ((float *)local)[local_row] = core; }
static __device__ void result2(PARAMS, unsigned char *local, int local_row, idx row, float core) { ((float *)local)[local_row] = core; }
#else
#include "contract_names.cuh"
#endif

/* The place of the exponentials of four rows in the memory of a key. */
#define PLACE(group, key4) (((group) ^ ((key4) & 3) * 2) * 4)

/* A column of the thread's j-th sum of a row, from the first of a tile on. */
static __device__ int column(int tj, int j)
{
    return tj + j / 4 * 32 + j % 4;
}

extern "C" __global__ void __launch_bounds__(ATTEND_THREADS, ATTEND_BLOCKS) contract_attend(PARAMS)
{
    extern __shared__ uint4 shared[];
    const int STEPS = (int)STEPS_OF;
    float *m0_shared = (float *)shared, *s_keys = m0_shared + STEPS * 16 * (QUERIES + 4);
    float *s_e = s_keys + STEPS * 16 * (KEYS + 4), *n1_shared = s_e + KEYS * QUERIES;
    float *pairs = n1_shared + STEPS * 16 * (KEYS + 4);
    unsigned char *local = (unsigned char *)(pairs + LEVELS * QUERIES);
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const int ti = warp * 16 + lane / 16 * 8 + lane % 2 * 4, tj = lane / 2 % 8 * 4;
    const bool leads = tj == 0; /* of the threads that have a row, the first */
    const idx rows_end = c0_M_END, m0_end = rows_end, keys = c0_N_END, points = c0_K_END, cols = COLUMNS;
    const int tiles = (int)((keys + KEYS - 1) / KEYS);
    const idx batch = blockIdx.x / TILES_M, m0_first = blockIdx.x % TILES_M * QUERIES;
    const int rows_here = rows_end - m0_first < QUERIES ? (int)(rows_end - m0_first) : QUERIES;
    float a[4][8], most[4], rest;
#pragma unroll
    for (int i = 0; i < 4; i++)
        most[i] = identity1();

    /* The rows of the queries, once. */
#define NUMBER 0
    {
        const idx k_end = points;
#define SIDE M
#define PANEL_OFFSETS
#include "contract_panel.cuh"
        for (int buffer = 0; buffer < STEPS; buffer++) {
            const int k0 = buffer * 16;
            m0_LOAD m0_next[m0_LOADS];
#define SIDE M
#define PANEL_LOAD
#define PANEL_K k0
#include "contract_panel.cuh"
#define SIDE M
#define PANEL_STORE
#include "contract_panel.cuh"
        }
    }
    /* The panel of the first tile of keys; with two passes, of the last tile. */
    {
#if TWO_PASSES
        float *n0_shared = tiles & 1 ? s_keys : s_e;
        const idx n0_first = (idx)(tiles - 1) * KEYS, n0_end = keys, k_end = points;
#else
        float *n0_shared = s_keys;
        const idx n0_first = 0, n0_end = keys, k_end = points;
#endif
#define SIDE N
#define PANEL_OFFSETS
#include "contract_panel.cuh"
        for (int buffer = 0; buffer < STEPS; buffer++) {
            const int k0 = buffer * 16;
            n0_LOAD n0_next[n0_LOADS];
#define SIDE N
#define PANEL_LOAD
#define PANEL_K k0
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_STORE
#include "contract_panel.cuh"
        }
    }
    __syncthreads();

#if TWO_PASSES
    /* From the last tile to the second; the tiles take turns in two places, of which the second holds exponentials and values
     * later. During each step a panel of the keys of the tile before is loaded. */
    for (int tile = tiles - 1; tile > 0; tile--) {
        const idx first = (idx)tile * KEYS;
        const float *from_keys = tile & 1 ? s_e : s_keys;
        float *n0_shared = tile & 1 ? s_keys : s_e;
        {
            const idx n0_first = first - KEYS, n0_end = keys, k_end = points;
#include "contract_attend_scores.cuh"
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int at = ti + i, local_row = at < rows_here ? at : rows_here - 1;
            const idx row = batch * rows_end + m0_first + local_row;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const idx place = first + column(tj, j), col = place < keys ? place : keys - 1;
                c0_total(ARGS, local, local_row, row, col, a[i][j], a[i][j], rest);
            }
        }
#include "contract_attend_most.cuh"
        __syncthreads();
    }
#endif
#undef NUMBER

    float o[4][8], lanes[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++)
            o[i][j] = 0;
#pragma unroll
        for (int j = 0; j < 4; j++)
            lanes[i][j] = identity2();
    }
#if c1_SAME
    idx cut = c1_BLOCK < keys ? c1_BLOCK : keys;
    float sum[4][8];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            sum[i][j] = 0;
#endif
    for (int tile = 0; tile < tiles; tile++) {
        const idx first = (idx)tile * KEYS;
        const int count = keys - first < KEYS ? (int)(keys - first) : KEYS;
        const float *from_keys = s_keys;

        /* Scores. During each step a panel of the tile's values is loaded. */
#define NUMBER 1
        {
            const idx n1_first = 0, n1_end = cols, k_end = keys;
#include "contract_attend_scores.cuh"
        }
#undef NUMBER
        /* Rows and columns past the end are the last ones: nothing uses the values that are computed there. */
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int at = ti + i, local_row = at < rows_here ? at : rows_here - 1;
            const idx row = batch * rows_end + m0_first + local_row;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const idx place = first + column(tj, j), col = place < keys ? place : keys - 1;
                c0_total(ARGS, local, local_row, row, col, a[i][j], a[i][j], rest);
            }
        }
#if TWO_PASSES
        if (tile == 0) {
#include "contract_attend_most.cuh"
            /* The eight threads of a row have its largest values. */
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int local_row = ti + i;
                for (int half = 8; half > 1; half /= 2)
                    most[i] = join1(most[i], __shfl_xor_sync(0xffffffffu, most[i], half));
                if (leads && local_row < rows_here)
                    result1(ARGS, local, local_row, batch * rows_end + m0_first + local_row, most[i]);
            }
            __syncthreads();
        }
#else
        /* If a row has a new largest score, its sums so far are scaled. Warps without rows leave it out: the values that they
         * would read belong to others. */
        if (warp * 16 < rows_here) {
        float before[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            before[i] = most[i];
#include "contract_attend_most.cuh"
        bool grows = tile == 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            for (int half = 8; half > 1; half /= 2)
                most[i] = join1(most[i], __shfl_xor_sync(0xffffffffu, most[i], half));
            grows = grows || most[i] != before[i];
        }
        if (__any_sync(0xffffffffu, grows)) {
            float scale[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int at = ti + i, local_row = at < rows_here ? at : rows_here - 1;
                scale[i] = tile ? ((const float *)local)[BASE_AT + local_row] : 0;
            }
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int local_row = ti + i;
                if (leads && local_row < rows_here)
                    result1(ARGS, local, local_row, batch * rows_end + m0_first + local_row, most[i]);
            }
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int at = ti + i, local_row = at < rows_here ? at : rows_here - 1;
                const float x =
                    value2(ARGS, local, local_row, batch * rows_end + m0_first + local_row, first, scale[i], rest);
                scale[i] = before[i] == identity1() ? 0 : x; /* the sums are zeros */
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int j = 0; j < 8; j++)
                    o[i][j] *= scale[i];
#pragma unroll
                for (int j = 0; j < 4; j++)
                    lanes[i][j] *= scale[i];
            }
        }
#endif
        /* Exponentials. */
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int at = ti + i, local_row = at < rows_here ? at : rows_here - 1;
            const idx row = batch * rows_end + m0_first + local_row;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const idx place = first + column(tj, j), col = place < keys ? place : keys - 1;
                a[i][j] = value2(ARGS, local, local_row, row, col, a[i][j], rest);
            }
        }
#if !TWO_PASSES
        }
#endif
        /* Their fold: of each row a thread has the running values of lanes tj to tj + 3 of a warp in rows.cu. */
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                if (column(tj, j) < count)
                    lanes[i][j % 4] = join2(lanes[i][j % 4], a[i][j]);
#if TWO_PASSES
        /* Lanes are joined at the end of a chunk, and chunks pairwise. */
        if (tile % (FOLD_CHUNK / KEYS) == FOLD_CHUNK / KEYS - 1 || tile == tiles - 1) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
#include "contract_attend_lanes.cuh"
                int level = 0;
                for (; tile / (FOLD_CHUNK / KEYS) >> level & 1; level++)
                    x = join2(pairs[level * QUERIES + at], x);
                if (leads)
                    pairs[level * QUERIES + at] = x;
#pragma unroll
                for (int j = 0; j < 4; j++)
                    lanes[i][j] = identity2();
            }
        }
#endif
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const int key = column(tj, j);
            float4 q;
            q.x = a[0][j];
            q.y = a[1][j];
            q.z = a[2][j];
            q.w = a[3][j];
            *(float4 *)(s_e + key * QUERIES + PLACE(ti / 4, key / 4)) = q;
        }
        __syncthreads();

        /* Sums. During each step a panel of the next keys is loaded. */
        float *n0_shared = s_keys;
#define NUMBER 0
        {
            const idx n0_first = first + KEYS, n0_end = keys, k_end = points;
#define SIDE N
#define PANEL_OFFSETS
#include "contract_panel.cuh"
            for (int buffer = 0; buffer < STEPS; buffer++) {
                const int k0 = buffer * 16;
                n0_LOAD n0_next[n0_LOADS];
#define SIDE N
#define PANEL_LOAD
#define PANEL_K k0
#include "contract_panel.cuh"
                const int here = count - k0 < 16 ? count - k0 : 16;
#define PRODUCT_SUMS o
#define PRODUCT_X (s_e + (k0 + kk) * QUERIES + PLACE(ti / 4, kk / 4))
#define PRODUCT_Y (n1_shared + (k0 + kk) * (KEYS + 4) + tj + j * 8)
#if c1_SAME
                for (int at = 0; at < here;) {
                const int run = cut - (first + k0 + at) < here - at ? (int)(cut - (first + k0 + at)) : here - at;
                if (run == 16) {
#pragma unroll
                    for (int kk = 0; kk < 16; kk++) {
#include "contract_attend_product.cuh"
                    }
                } else {
                    for (int kk = at; kk < at + run; kk++) {
#include "contract_attend_product.cuh"
                    }
                }
                at += run;
                /* The end of a block of keys: its sums are added to the sums of the blocks before. */
                if (first + k0 + at == cut) {
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int j = 0; j < 8; j++) {
                            sum[i][j] = cut > c1_BLOCK ? sum[i][j] + o[i][j] : o[i][j];
                            o[i][j] = 0;
                        }
                    cut = keys - cut < c1_BLOCK ? keys : cut + c1_BLOCK;
                }
                }
#else
                if (here == 16) {
#pragma unroll
                    for (int kk = 0; kk < 16; kk++) {
#include "contract_attend_product.cuh"
                    }
                } else {
                    for (int kk = 0; kk < here; kk++) {
#include "contract_attend_product.cuh"
                    }
                }
#endif
#undef PRODUCT_SUMS
#undef PRODUCT_X
#undef PRODUCT_Y
#define SIDE N
#define PANEL_STORE
#include "contract_panel.cuh"
            }
        }
#undef NUMBER
        __syncthreads();
    }

    /* The end of the fold, with its epilogue. */
#if TWO_PASSES
    /* A thread takes a row: it joins the chunks that have no partner yet, from the last on. */
    if (t < rows_here) {
        const int chunks = (tiles * KEYS + (FOLD_CHUNK - 1)) / FOLD_CHUNK;
        int level = 0;
        while (!(chunks >> level & 1))
            level++;
        float x = pairs[level * QUERIES + t];
        for (level++; chunks >> level; level++)
            if (chunks >> level & 1)
                x = join2(pairs[level * QUERIES + t], x);
        result2(ARGS, local, t, batch * rows_end + m0_first + t, x);
    }
#else
#pragma unroll
    for (int i = 0; i < 4; i++) {
#include "contract_attend_lanes.cuh"
        if (leads && at < rows_here)
            result2(ARGS, local, at, batch * rows_end + m0_first + at, x);
    }
#endif
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int local_row = ti + i;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const idx col = column(tj, j);
            if (local_row < rows_here && col < cols)
#if c1_SAME
                c1_total(ARGS, local, local_row, batch * rows_end + m0_first + local_row, col, sum[i][j]);
#else
                c1_total(ARGS, local, local_row, batch * rows_end + m0_first + local_row, col, o[i][j]);
#endif
        }
    }
}
