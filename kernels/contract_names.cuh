/* Template: names of a contraction's parts. A kernel may have two contractions, so names have a number: NUMBER is the one that
 * is meant.
 *
 *   C(name)   c0_name: of the contraction        holes LANE, ROWS, ...; functions total, ...
 *   M(name)   m0_name: of its first operand      holes TILE, VECTOR, ...; functions b, row, k; variables first, end, next, ...
 *   N(name)   n0_name: of its second operand
 *   S(name)   of the operand that SIDE names: SIDE is M or N
 *
 * out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k]: rows m are rows of M, and columns n are rows of N. */
#define CONTRACT_NAME_(letter, number, name) letter##number##_##name
#define CONTRACT_NAME(letter, number, name) CONTRACT_NAME_(letter, number, name)
#define C(name) CONTRACT_NAME(c, NUMBER, name)
#define M(name) CONTRACT_NAME(m, NUMBER, name)
#define N(name) CONTRACT_NAME(n, NUMBER, name)
#define S(name) SIDE(name)

#ifndef EMITTED
/* Holes of templates with contractions that are compiled by themselves: sizes of the sums f32 = f32 * f32. */
typedef int idx;
struct sizes {
    idx m, n, k, block, tiles;
};
#ifndef IS_LARGE
#define IS_LARGE 0
#endif
#ifndef IS_SAME
#define IS_SAME 0
#endif
#ifndef IS_MATRICES
#define IS_MATRICES 0
#endif
#ifndef IS_SERIAL
#define IS_SERIAL 0
#endif
#ifndef IS_ALONG_K
#define IS_ALONG_K 0
#endif
#ifndef VECTOR_OF
#define VECTOR_OF (IS_SERIAL ? 1 : 4)
#endif
#ifndef IS_TABLE
#define IS_TABLE 0
#endif
#define TILE_K 16
#define GROUP 4
#define LANES_N 8
#define LANES_M 4
#define FOLD_CHUNK 1024

#define c0_LANE float
#define c0_CPU IS_SERIAL
#define c0_SAME IS_SAME
#define c0_LARGE IS_LARGE
#define c0_MATRICES IS_MATRICES
#define c0_THREADS 128
#define c0_BLOCKS 2
#define c0_WARPS_N 2
#define c0_ROWS 8
#define c0_COLS 4
#define c0_GROUP_M 4
#define c0_GROUP_N 4
#define c0_X_VECTOR 4
#define c0_X_TYPE float4
#define c0_Y_VECTOR 4
#define c0_Y_TYPE float4
#define c0_POINTS 16
#define c0_FLOATS 1
#define c0_STORE 1
#define c0_SERIAL_ROWS 32
#define c0_SERIAL_COLS 64
#define c0_PANEL_BYTES 17408
#define c0_EXTRA_ARGS
#define c0_M_END g.m
#define c0_N_END g.n
#define c0_K_END g.k
#define c0_BLOCK g.block
#define c0_MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#define m0_ELEMENT float
#if VECTOR_OF > 1
#define m0_LOAD float4
#define n0_LOAD float4
#else
#define m0_LOAD float
#define n0_LOAD float
#endif
#define m0_LANES float4
#define m0_LANE_OF(x) x
#define m0_LOAD_AT(at) (*(const m0_LOAD *)(in0 + (at)))
#define m0_LOCAL 0
#define m0_TILE 64
#define m0_PITCH 68
#define m0_VECTOR VECTOR_OF
#define m0_ALONG_K IS_ALONG_K
#define m0_TABLE IS_TABLE
#define m0_TABLE_AT 0
#define m0_ACROSS ((IS_ALONG_K ? 16 : 64) / VECTOR_OF)
#define m0_LOADS (8 / VECTOR_OF)
#define m0_ROW_LOADS (8 / VECTOR_OF)
#define m0_TOGETHER (!IS_ALONG_K && VECTOR_OF > 1)
#define n0_ELEMENT m0_ELEMENT
#define n0_LANES m0_LANES
#define n0_LANE_OF(x) x
#define n0_LOAD_AT(at) (*(const n0_LOAD *)(in1 + (at)))
#define n0_LOCAL 0
#define n0_TILE m0_TILE
#define n0_PITCH m0_PITCH
#define n0_VECTOR VECTOR_OF
#define n0_ALONG_K IS_ALONG_K
#define n0_TABLE IS_TABLE
#define n0_TABLE_AT 64
#define n0_ACROSS m0_ACROSS
#define n0_LOADS m0_LOADS
#define n0_ROW_LOADS m0_ROW_LOADS
#define n0_TOGETHER m0_TOGETHER
#define PARAMS const float *in0, const float *in1, float *out, sizes g
#define ARGS in0, in1, out, g
static __device__ idx m0_b(sizes g, idx at) { return at * g.m * g.k; }
static __device__ idx m0_row(sizes g, idx at) { return at * g.k; }
static __device__ idx m0_k(sizes g, idx at) { return at; }
static __device__ idx n0_b(sizes g, idx at) { return at * g.n * g.k; }
static __device__ idx n0_row(sizes g, idx at) { return at * g.k; }
static __device__ idx n0_k(sizes g, idx at) { return at; }
static __device__ void c0_total(PARAMS, idx row, idx col, float core) { out[row * g.n + col] = core; }
#endif
