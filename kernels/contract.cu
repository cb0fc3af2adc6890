/* Template: a contraction: out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k], then the epilogue of each sum.
 *
 * A block computes a tile of M(TILE) x N(TILE) sums: see contract_tile.cuh. TILES_M tiles cover the rows, TILES_N the columns.
 * A large tile has its shared memory from the launch, and BLOCKS of its blocks run on a processor at once. */
#ifndef EMITTED
/* alone: IS_SAME=0 | IS_SAME=1 | IS_ALONG_K=1 | VECTOR_OF=1 | IS_ALONG_K=1 VECTOR_OF=1 | IS_SERIAL=1 */
/* alone: IS_LARGE=1 | IS_LARGE=1 IS_SAME=1 | IS_LARGE=1 IS_TABLE=1 */
#define TILES_M g.tiles
#define TILES_N g.tiles
#endif
#define NUMBER 0
#include "contract_names.cuh"

#if C(LARGE)
extern "C" __global__ void __launch_bounds__(C(THREADS), C(BLOCKS)) contract(PARAMS)
{
    extern __shared__ uint4 panels[];
#else
extern "C" __global__ void contract(PARAMS)
{
    __shared__ uint4 panels[C(PANEL_BYTES) / 16];
#endif
    const idx job = blockIdx.x, batch = job / TILES_N / TILES_M;
    const idx N(first) = job % TILES_N * N(TILE), M(first) = job / TILES_N % TILES_M * M(TILE);
#include "contract_tile.cuh"
}
