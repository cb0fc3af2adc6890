/* Template: the tile of a contraction, as statements: the sums over k of M(TILE) rows from M(first) on and N(TILE) columns from
 * N(first) on, of batch `batch`; then the epilogue of each sum, total(ARGS, row, col, sum...). All threads of the block
 * execute them. `panels` is shared memory.
 *
 * A thread has ROWS x COLS sums in registers; its warp has LANES_M * ROWS rows and LANES_N * COLS columns. Panels of POINTS
 * points of k go through shared memory as lanes: while one is used, the next is loaded, and there are two buffers.
 *
 * With SAME, k is cut into blocks of BLOCK points: the products of a block are added in order from zero, then the sums of the
 * blocks in order. A LARGE tile keeps those in shared memory (parked), so that a thread needs at most 128 registers. With
 * MATRICES, warps multiply fragments of 16 x 16. The panels have zeros past the last point of k, and fragments of f32 hold the
 * values of f16 and bf16 exactly. With CPU, a block is one thread: contract_serial.cuh.
 *
 * STORE sums go to one call of total. EXTRA_ARGS: arguments that a chain adds. */
#if C(CPU)
#include "contract_serial.cuh"
#else
    C(LANE) *M(shared) = (C(LANE) *)panels, *N(shared) = M(shared) + 2 * C(POINTS) * M(PITCH);
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const int ti = warp / C(WARPS_N) * (LANES_M * C(ROWS)) + lane / LANES_N * C(GROUP_M);
    const int tj = warp % C(WARPS_N) * (LANES_N * C(COLS)) + lane % LANES_N * C(GROUP_N);
    const idx M(end) = C(M_END), N(end) = C(N_END), k_end = C(K_END);
    int buffer = 0;

    /* The offsets of all points of k, where they take divisions. Past the last point they are 0, so that a load needs no
     * condition. */
#if M(TABLE)
    idx *M(points) = (idx *)(N(shared) + 2 * C(POINTS) * N(PITCH)) + M(TABLE_AT);
    for (int i = t; i < k_end + TILE_K; i += C(THREADS))
        M(points)[i] = i < k_end ? M(k)(g, i) : 0;
#endif
#if N(TABLE)
    idx *N(points) = (idx *)(N(shared) + 2 * C(POINTS) * N(PITCH)) + N(TABLE_AT);
    for (int i = t; i < k_end + TILE_K; i += C(THREADS))
        N(points)[i] = i < k_end ? N(k)(g, i) : 0;
#endif
#if M(TABLE) || N(TABLE)
    __syncthreads();
#endif
#define SIDE M
#define PANEL_OFFSETS
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_OFFSETS
#include "contract_panel.cuh"

    /* Sums. */
#if C(MATRICES)
    const int warp_m = warp / C(WARPS_N) * (LANES_M * C(ROWS)), warp_n = warp % C(WARPS_N) * (LANES_N * C(COLS));
#define DOWN (LANES_M * C(ROWS) / 16)
#define ACROSS_ (LANES_N * C(COLS) / 16)
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, float, nvcuda::wmma::col_major> x[DOWN];
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, float, nvcuda::wmma::row_major> y[ACROSS_];
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> a[DOWN * ACROSS_];
#pragma unroll
    for (int i = 0; i < DOWN * ACROSS_; i++)
        nvcuda::wmma::fill_fragment(a[i], 0.0f);
#else
    C(LANE) a[C(ROWS)][C(COLS)];
#pragma unroll
    for (int i = 0; i < C(ROWS); i++)
#pragma unroll
        for (int j = 0; j < C(COLS); j++)
            a[i][j] = 0;
#endif
#if C(SAME) && C(LARGE)
    C(LANE) *parked = (C(LANE) *)panels + C(PANEL_BYTES) / 4;
#define SUM(i, j) parked[((i) * C(COLS) + (j)) * C(THREADS) + t]
#elif C(SAME)
    C(LANE) sum[C(ROWS)][C(COLS)];
#define SUM(i, j) sum[i][j]
#else
#define SUM(i, j) a[i][j]
#endif

    /* The panels of the first step. */
#if C(LARGE)
    {
#endif
    M(LOAD) M(next)[M(LOADS)];
    N(LOAD) N(next)[N(LOADS)];
#define SIDE M
#define PANEL_LOAD
#define PANEL_K 0
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_LOAD
#define PANEL_K 0
#include "contract_panel.cuh"
#define SIDE M
#define PANEL_STORE
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_STORE
#include "contract_panel.cuh"
#if C(LARGE)
    }
#endif
    __syncthreads();
    for (idx from = 0; from < k_end; from += C(BLOCK)) {
    const idx stop = k_end - from < C(BLOCK) ? k_end : from + C(BLOCK);
    for (idx k0 = from; k0 < stop; k0 += C(POINTS)) {
    const idx next = k0 + C(POINTS) < stop ? k0 + C(POINTS) : stop;
#if C(LARGE)
#include "contract_large.cuh"
#else

    /* While a panel is used, the next one is loaded. Only the last step has points that do not exist. */
#if C(MATRICES)
    if (next + TILE_K <= k_end) {
#define SIDE M
#define PANEL_LOAD
#define PANEL_K next
#define PANEL_WHOLE 1
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_LOAD
#define PANEL_K next
#define PANEL_WHOLE 1
#include "contract_panel.cuh"
    } else
#endif
    if (next < k_end) {
#define SIDE M
#define PANEL_LOAD
#define PANEL_K next
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_LOAD
#define PANEL_K next
#include "contract_panel.cuh"
    }
    const C(LANE) *from_m = M(shared) + buffer * (C(POINTS) * M(PITCH)), *from_n = N(shared) + buffer * (C(POINTS) * N(PITCH));
#if C(MATRICES)
#pragma unroll
    for (int i = 0; i < DOWN; i++)
        nvcuda::wmma::load_matrix_sync(x[i], from_m + warp_m + 16 * i, M(PITCH));
#pragma unroll
    for (int j = 0; j < ACROSS_; j++)
        nvcuda::wmma::load_matrix_sync(y[j], from_n + warp_n + 16 * j, N(PITCH));
#pragma unroll
    for (int i = 0; i < DOWN; i++)
#pragma unroll
        for (int j = 0; j < ACROSS_; j++)
            nvcuda::wmma::mma_sync(a[i * ACROSS_ + j], x[i], y[j], a[i * ACROSS_ + j]);
#else
    if (k0 + C(POINTS) <= stop) {
#if C(FLOATS)
#pragma unroll
#else
#pragma unroll 4
#endif
    for (int kk = 0; kk < C(POINTS); kk++) {
#include "contract_products.cuh"
    }
    } else {
    for (int kk = 0; k0 + kk < stop; kk++) {
#include "contract_products.cuh"
    }
    }
#endif
    buffer = 1 - buffer;
    if (next < k_end) {
#define SIDE M
#define PANEL_STORE
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_STORE
#include "contract_panel.cuh"
    }
#endif
    __syncthreads();
    }
#if C(SAME)
    /* The end of a block of k. */
#pragma unroll
    for (int i = 0; i < C(ROWS); i++)
#pragma unroll
        for (int j = 0; j < C(COLS); j++) {
            SUM(i, j) = from ? (C(LANE))(SUM(i, j) + a[i][j]) : a[i][j];
            a[i][j] = 0;
        }
#endif
    }

    /* Epilogues. */
#if C(MATRICES)
    /* The panels are not needed any more: each warp has a part of their memory, for one fragment after another. */
    float *patch = M(shared) + warp * (16 * 16);
#pragma unroll
    for (int i = 0; i < DOWN; i++)
#pragma unroll
        for (int j = 0; j < ACROSS_; j++) {
            nvcuda::wmma::store_matrix_sync(patch, a[i * ACROSS_ + j], 16, nvcuda::wmma::mem_row_major);
            __syncwarp();
            for (int e = lane * C(STORE); e < 16 * 16; e += 32 * C(STORE)) {
                const int local_row = warp_m + 16 * i + e / 16;
                const idx row = M(first) + local_row;
                const idx col = N(first) + warp_n + 16 * j + e % 16;
#define VALUE(k) patch[e + k]
#else
#pragma unroll
    for (int i = 0; i < C(ROWS); i++)
#pragma unroll
        for (int j = 0; j < C(COLS); j += C(STORE)) {
            {
                const int local_row = ti + (i / GROUP * (LANES_M * GROUP) + i % GROUP);
                const idx row = M(first) + local_row;
                const idx col = N(first) + tj + (j / GROUP * (LANES_N * GROUP) + j % GROUP);
#if C(SAME)
#define VALUE(k) (k_end ? SUM(i, j + k) : 0)
#else
#define VALUE(k) SUM(i, j + k)
#endif
#endif
                (void)local_row;
                if (row < M(end) && col < N(end))
#if C(STORE) == 4
                    C(total)(ARGS, C(EXTRA_ARGS) batch * M(end) + row, col, VALUE(0), VALUE(1), VALUE(2), VALUE(3));
#elif C(STORE) == 2
                    C(total)(ARGS, C(EXTRA_ARGS) batch * M(end) + row, col, VALUE(0), VALUE(1));
#else
                    C(total)(ARGS, C(EXTRA_ARGS) batch * M(end) + row, col, VALUE(0));
#endif
            }
#if C(MATRICES)
            __syncwarp();
#endif
        }
#undef VALUE
#undef SUM
#undef DOWN
#undef ACROSS_
#endif
