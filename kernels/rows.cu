/* Template: a chain of reductions and maps along ROWS rows, or one reduction: each row goes through all programs, one after another.
 *
 * With BY_WARPS, a block has WARPS warps, and each takes a row. Else a block of ROWS_WARPS warps takes a row; with SERIAL, one
 * thread. `local_row` is the row's place in the memory of the block. A reduction follows the order of the CPU: a row is cut into chunks of FOLD_CHUNK values, value i of a chunk goes to lane
 * i % 32, lanes are joined by halving, and chunks pairwise. So each warp folds chunks, and the chunks of a row are joined in
 * shared memory.
 *
 * Temporaries that only the chain sees lie in shared memory (LOCALS) or in registers (HELD_VALUES).
 *
 * Holes: SHARED and HELD_VALUES declare memory of the programs; PROGRAMS calls step<K> of each (rows_program.cuh), with SYNC between;
 * BOUNDS limits registers. */
#ifndef EMITTED
/* alone: BY_WARPS=1 SHUFFLES=0 | BY_WARPS=0 SHUFFLES=0 | SERIAL=1 | BY_WARPS=1 SHUFFLES=0 HELD0=1 */
/* alone with warps: BY_WARPS=1 SHUFFLES=1 | BY_WARPS=0 SHUFFLES=1 | BY_WARPS=0 SHUFFLES=1 FOURS=1 */
typedef int idx;
struct sizes {
    idx rows, inner;
};
#define PARAMS const float *in, float *out, sizes g
#define ARGS in, out, g
#define ROWS g.rows
#define WARPS 8
#define ROWS_WARPS 8
#define FOLD_CHUNK 1024
#define CHUNKS_MOST 64
#define LOCALS 0
#define BOUNDS
#define ROW_PARAMS
#define ROW_ARGS
#define SYNC __syncthreads()
#define REDUCES0 1
#define INNER0 g.inner
#define TYPE0 float
#define DOWN0(x, n) __shfl_down_sync(0xffffffffu, x, n)
#define WHOLE0 4
#define EACH0 8
#if HELD0
#define HELD_PARAMS0 , float *held0
#define HELD_ARGS0 , held0[u]
#define HELD_VALUES float held0[8];
#define HELD_VALUE , held0
#define HELD_PARAM , float &held
#else
#define HELD_PARAMS0
#define HELD_ARGS0
#define HELD_VALUES
#define HELD_VALUE
#define HELD_PARAM
#endif
#if SERIAL
#define SHARED
#define FOLD_PARAMS0
#define FOLD_ARGS0
#define PROGRAMS step0(ARGS, row);
#elif SHUFFLES
#define SHARED __shared__ float chunk0[64];
#define FOLD_PARAMS0 , float *chunk
#define FOLD_ARGS0
#else
#define SHARED __shared__ float chunk0[64]; __shared__ float s0[256];
#define FOLD_PARAMS0 , float *chunk, float *s
#define FOLD_ARGS0 , s
#endif
#if BY_WARPS && SHUFFLES
#define PROGRAMS step0(ARGS, row, lane, here HELD_VALUE, chunk0);
#elif BY_WARPS
#define PROGRAMS step0(ARGS, row, lane, here HELD_VALUE, chunk0, s0);
#elif SHUFFLES
#define PROGRAMS step0(ARGS, row, chunk0);
#elif !SERIAL
#define PROGRAMS step0(ARGS, row, chunk0, s0);
#endif
static __device__ float value0(PARAMS, idx row, idx col HELD_PARAM) { return in[row * g.inner + col]; }
static __device__ void values0(PARAMS, idx row, idx col, float *four) { four[0] = four[1] = four[2] = four[3] = in[row * g.inner + col]; }
static __device__ float join0(float x, float y) { return x + y; }
static __device__ float identity0() { return 0; }
static __device__ void result0(PARAMS, idx row, float core) { out[row] = core; }
#define K 0
#include "rows_lanes.cuh"
#if SERIAL
#include "rows_serial.cuh"
#elif !BY_WARPS
#include "rows_chunks.cuh"
#endif
#include "rows_program.cuh"
#endif

extern "C" __global__ void BOUNDS rows(PARAMS)
{
#if LOCALS
    extern __shared__ long long shared[];
    unsigned char *local = (unsigned char *)shared;
#endif
    SHARED
#if SERIAL
    const int local_row = 0;
    const idx row = blockIdx.x;
    PROGRAMS
#elif BY_WARPS
    const int lane = threadIdx.x & 31, local_row = threadIdx.x >> 5;
    for (idx first = (idx)blockIdx.x * WARPS; first < ROWS; first += (idx)gridDim.x * WARPS) {
        const idx row = first + local_row;
        const bool here = row < ROWS;
        HELD_VALUES
        PROGRAMS
        SYNC;
    }
#else
    const int local_row = 0;
    for (idx row = blockIdx.x; row < ROWS; row += gridDim.x) {
        PROGRAMS
        SYNC;
    }
#endif
    (void)local_row;
}
