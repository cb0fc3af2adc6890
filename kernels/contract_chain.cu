/* Template: a chain that begins and ends with a contraction, such as attention: scores[b, m, n] from the first one, programs that
 * work on rows of scores, out[b, m, c] = sum over n of values[b, m, n] * in1[b, c, n] from the last one.
 *
 * A block takes tiles of m0_TILE rows through all programs, in turn; TILES_M tiles have the rows of a batch, and there are JOBS
 * in all. Values that exist by rows lie in `local`: in shared memory, or with SCRATCH in SCRATCH_BYTES of scratch memory for
 * each block.
 *
 * Holes: the holes of both contractions, numbers 0 and 1, and BETWEEN, statements that call the programs between for the tile.
 * SHARED declares their shared memory. */
#ifndef EMITTED
/* alone: SCRATCH=0 | SCRATCH=1 | IS_SERIAL=1 | SCRATCH=1 IS_SAME=1 */
#define JOBS g.tiles
#define TILES_M g.tiles
#define SCRATCH_FROM ((unsigned char *)out)
#define SCRATCH_BYTES 1024
#define PANELS_BYTES c0_PANEL_BYTES
#define SHARED
#define BETWEEN
#define c1_LANE c0_LANE
#define c1_CPU c0_CPU
#define c1_SAME c0_SAME
#define c1_LARGE 0
#define c1_MATRICES 0
#define c1_THREADS c0_THREADS
#define c1_WARPS_N c0_WARPS_N
#define c1_ROWS c0_ROWS
#define c1_COLS c0_COLS
#define c1_GROUP_M 4
#define c1_GROUP_N 4
#define c1_X_VECTOR 4
#define c1_X_TYPE float4
#define c1_Y_VECTOR 4
#define c1_Y_TYPE float4
#define c1_POINTS 16
#define c1_FLOATS 1
#define c1_STORE 1
#define c1_SERIAL_ROWS 32
#define c1_SERIAL_COLS 64
#define c1_EXTRA_ARGS
#define c1_M_END g.m
#define c1_N_END g.n
#define c1_K_END g.k
#define c1_BLOCK g.block
#define c1_MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#define c1_total c0_total
#define m1_LOAD float
#define m1_LANE_OF(x) x
#define m1_LOAD_AT(at) ((const float *)local)[at]
#define m1_LOCAL 1
#define m1_LOCAL_AT 0
#define m1_LOCAL_ROW g.n
#define m1_PITCH 68
#define m1_VECTOR 1
#define m1_ALONG_K 1
#define m1_TABLE 0
#define m1_ACROSS 16
#define m1_LOADS 8
#define m1_ROW_LOADS 8
#define m1_TOGETHER 0
#define n1_LOAD n0_LOAD
#define n1_LANES float4
#define n1_LANE_OF(x) x
#define n1_LOAD_AT(at) (*(const n1_LOAD *)(in1 + (at)))
#define n1_LOCAL 0
#define n1_TILE 64
#define n1_PITCH n0_PITCH
#define n1_VECTOR n0_VECTOR
#define n1_ALONG_K 0
#define n1_TABLE 0
#define n1_ACROSS n0_ACROSS
#define n1_LOADS n0_LOADS
#define n1_ROW_LOADS n0_ROW_LOADS
#define n1_TOGETHER 1
#define n1_b n0_b
#define n1_row n0_row
#define n1_k n0_k
#define m1_k n0_k
#endif
#include "contract_names.cuh"

extern "C" __global__ void contract_chain(PARAMS)
{
    __shared__ uint4 panels[PANELS_BYTES / 16];
#if SCRATCH
    unsigned char *local = SCRATCH_FROM + (idx)blockIdx.x * SCRATCH_BYTES;
#else
    extern __shared__ uint4 shared[];
    unsigned char *local = (unsigned char *)shared;
#endif
    SHARED
    const idx rows_end = c0_M_END;
    for (idx job = blockIdx.x; job < JOBS; job += gridDim.x) {
        const idx batch = job / TILES_M, m0_first = job % TILES_M * m0_TILE, m1_first = m0_first;
        /* Fragments leave through the memory of the next panels. */
        for (idx n0_first = 0; n0_first < c0_N_END; n0_first += n0_TILE) {
#define NUMBER 0
#include "contract_tile.cuh"
#undef NUMBER
#if c0_MATRICES
            __syncthreads();
#endif
        }
#if !c0_MATRICES
        __syncthreads();
#endif
        BETWEEN
        for (idx n1_first = 0; n1_first < c1_N_END; n1_first += n1_TILE) {
#define NUMBER 1
#include "contract_tile.cuh"
#undef NUMBER
#if c1_MATRICES
            __syncthreads();
#endif
        }
#if !c1_MATRICES
        __syncthreads();
#endif
        (void)m1_first;
        (void)rows_end;
    }
}
