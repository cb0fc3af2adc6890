// Matrix products with asynchronous copies, tensor cores by wmma and by PTX, and attention with them, as tutorials of LLM
// kernels write them.
/* opencl: IG-SHADDR
   expect:
sgemm, cp.async ok
hgemm, wmma ok
hgemm, mma.sync ok
attention, mma.sync ok
*/
#include <cmath>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;

#define WARP_SIZE 32
#define DEVICE_INLINE __device__ inline
#define HOST_DEVICE_INLINE __device__ __host__ inline
#define FLOAT4(value) (reinterpret_cast<float4 *>(&(value))[0])
#define FLOAT2(value) (reinterpret_cast<float2 *>(&(value))[0])
#define HALF2(value) (reinterpret_cast<half2 *>(&(value))[0])
#define LDST32BITS(value) (reinterpret_cast<half2 *>(&(value))[0])
#define LDST64BITS(value) (reinterpret_cast<float2 *>(&(value))[0])
#define LDST128BITS(value) (reinterpret_cast<float4 *>(&(value))[0])
#define CP_ASYNC_COMMIT_GROUP() asm volatile("cp.async.commit_group;\n" ::)
#define CP_ASYNC_WAIT_ALL() asm volatile("cp.async.wait_all;\n" ::)
#define CP_ASYNC_WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
#define CP_ASYNC_CA(dst, src, bytes) \
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(dst), "l"(src), "n"(bytes))
#define CP_ASYNC_CG(dst, src, bytes) \
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(dst), "l"(src), "n"(bytes))
#define LDMATRIX_X2(R0, R1, addr) \
    asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];\n" : "=r"(R0), "=r"(R1) : "r"(addr))
#define LDMATRIX_X4(R0, R1, R2, R3, addr) \
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n" \
                 : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3) \
                 : "r"(addr))
#define LDMATRIX_X2_T(R0, R1, addr) \
    asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];\n" : "=r"(R0), "=r"(R1) : "r"(addr))
#define HMMA16816(RD0, RD1, RA0, RA1, RA2, RA3, RB0, RB1, RC0, RC1) \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};\n" \
                 : "=r"(RD0), "=r"(RD1) \
                 : "r"(RA0), "r"(RA1), "r"(RA2), "r"(RA3), "r"(RB0), "r"(RB1), "r"(RC0), "r"(RC1))
#define HMMA16816F32(RD0, RD1, RD2, RD3, RA0, RA1, RA2, RA3, RB0, RB1, RC0, RC1, RC2, RC3) \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,  %1,  %2,  %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%10, %11, %12, %13};\n" \
                 : "=r"(RD0), "=r"(RD1), "=r"(RD2), "=r"(RD3) \
                 : "r"(RA0), "r"(RA1), "r"(RA2), "r"(RA3), "r"(RB0), "r"(RB1), "r"(RC0), "r"(RC1), "r"(RC2), "r"(RC3))
HOST_DEVICE_INLINE int div_ceil(int a, int b) { return (a % b != 0) ? (a / b + 1) : (a / b); }

// 8 x 8 elements of C for each thread; two buffers that cp.async fills while the other is used.
template <const int BM = 64, const int BN = 64, const int BK = 16, const int TM = 8, const int TN = 8, const int OFFSET = 0>
__global__ void sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async_kernel(float *a, float *b, float *c, const int M, const int N, const int K)
{
    __shared__ float s_a[2][BK][BM + OFFSET];
    __shared__ float s_b[2][BK][BN + OFFSET];
    const int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    const int tid = ty * blockDim.x + tx;
    float r_load_a[16];
    float r_comp_a[TM];
    float r_comp_b[TN];
    float r_c[TM][TN] = {0.0};
    const int load_a_smem_m = tid, load_a_smem_k = 0;
    const int load_b_smem_k = tid / 4, load_b_smem_n = (tid % 4) * 16;
    const int load_a_gmem_m = by * BM + load_a_smem_m;
    const int load_b_gmem_n = bx * BN + load_b_smem_n;
    if (load_a_gmem_m >= M || load_b_gmem_n >= N)
        return;
    {
        int load_a_gmem_addr = load_a_gmem_m * K + load_a_smem_k;
        int load_b_gmem_addr = load_b_smem_k * N + load_b_gmem_n;
        uint32_t load_b_smem_ptr = __cvta_generic_to_shared(&s_b[0][load_b_smem_k][load_b_smem_n]);
#pragma unroll
        for (int i = 0; i < 16; i += 4)
            CP_ASYNC_CA(load_b_smem_ptr + i * 4, &b[load_b_gmem_addr + i], 16);
        CP_ASYNC_COMMIT_GROUP();
#pragma unroll
        for (int i = 0; i < 16; i += 4)
            FLOAT4(r_load_a[i]) = FLOAT4(a[load_a_gmem_addr + i]);
#pragma unroll
        for (int i = 0; i < 16; ++i)
            s_a[0][load_a_smem_k + i][load_a_smem_m] = r_load_a[i];
        CP_ASYNC_WAIT_GROUP(0);
    }
    __syncthreads();
    for (int bk = 1; bk < (K + BK - 1) / BK; bk++) {
        int smem_sel = (bk - 1) & 1;
        int smem_sel_next = bk & 1;
        int load_a_gmem_k = bk * BK + load_a_smem_k;
        int load_a_gmem_addr = load_a_gmem_m * K + load_a_gmem_k;
        int load_b_gmem_addr = (bk * BK + load_b_smem_k) * N + load_b_gmem_n;
        uint32_t load_b_smem_ptr = __cvta_generic_to_shared(&s_b[smem_sel_next][load_b_smem_k][load_b_smem_n]);
#pragma unroll
        for (int i = 0; i < 16; i += 4)
            CP_ASYNC_CA(load_b_smem_ptr + i * 4, &b[load_b_gmem_addr + i], 16);
        CP_ASYNC_COMMIT_GROUP();
#pragma unroll
        for (int i = 0; i < 16; i += 4)
            FLOAT4(r_load_a[i]) = FLOAT4(a[load_a_gmem_addr + i]);
#pragma unroll
        for (int tk = 0; tk < BK; tk++) {
            FLOAT4(r_comp_a[0]) = FLOAT4(s_a[smem_sel][tk][ty * TM / 2]);
            FLOAT4(r_comp_a[4]) = FLOAT4(s_a[smem_sel][tk][ty * TM / 2 + BM / 2]);
            FLOAT4(r_comp_b[0]) = FLOAT4(s_b[smem_sel][tk][tx * TN / 2]);
            FLOAT4(r_comp_b[4]) = FLOAT4(s_b[smem_sel][tk][tx * TN / 2 + BN / 2]);
#pragma unroll
            for (int tm = 0; tm < TM; tm++)
#pragma unroll
                for (int tn = 0; tn < TN; tn++)
                    r_c[tm][tn] = __fmaf_rn(r_comp_a[tm], r_comp_b[tn], r_c[tm][tn]);
        }
#pragma unroll
        for (int i = 0; i < 16; ++i)
            s_a[smem_sel_next][load_a_smem_k + i][load_a_smem_m] = r_load_a[i];
        CP_ASYNC_WAIT_GROUP(0);
        __syncthreads();
    }
#pragma unroll
    for (int tk = 0; tk < BK; tk++) {
        const int last = ((K + BK - 1) / BK - 1) & 1;
        FLOAT4(r_comp_a[0]) = FLOAT4(s_a[last][tk][ty * TM / 2]);
        FLOAT4(r_comp_a[4]) = FLOAT4(s_a[last][tk][ty * TM / 2 + BM / 2]);
        FLOAT4(r_comp_b[0]) = FLOAT4(s_b[last][tk][tx * TN / 2]);
        FLOAT4(r_comp_b[4]) = FLOAT4(s_b[last][tk][tx * TN / 2 + BN / 2]);
#pragma unroll
        for (int tm = 0; tm < TM; tm++)
#pragma unroll
            for (int tn = 0; tn < TN; tn++)
                r_c[tm][tn] = __fmaf_rn(r_comp_a[tm], r_comp_b[tn], r_c[tm][tn]);
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
        int store_c_gmem_m = by * BM + ty * TM / 2 + i % 4 + i / 4 * (BM / 2);
        int store_c_gmem_addr = store_c_gmem_m * N + bx * BN + tx * TN / 2;
        FLOAT4(c[store_c_gmem_addr]) = FLOAT4(r_c[i][0]);
        FLOAT4(c[store_c_gmem_addr + BN / 2]) = FLOAT4(r_c[i][4]);
    }
}

// Tensor cores by wmma: a warp has 32 x 32 of C, a block of 4 warps 64 x 64.
template <const int WMMA_M = 16, const int WMMA_N = 16, const int WMMA_K = 16, const int WARP_TILE_M = 2, const int WARP_TILE_N = 2>
__global__ void hgemm_wmma_m16n16k16_mma2x2_warp2x2_kernel(half *A, half *B, half *C, int M, int N, int K)
{
    const int bx = blockIdx.x, by = blockIdx.y;
    constexpr int BM = WMMA_M * 2 * WARP_TILE_M, BN = WMMA_N * 2 * WARP_TILE_N, BK = WMMA_K;
    __shared__ half s_a[BM][BK], s_b[BK][BN];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    const int warp_id = tid / WARP_SIZE;
    const int warp_m = warp_id / 2, warp_n = warp_id % 2;
    const int load_smem_a_m = tid / 2, load_smem_a_k = (tid % 2 == 0) ? 0 : 8;
    const int load_smem_b_k = tid / 8, load_smem_b_n = (tid % 8) * 8;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, half> C_frag[WARP_TILE_M][WARP_TILE_N];
#pragma unroll
    for (int i = 0; i < WARP_TILE_M; ++i)
#pragma unroll
        for (int j = 0; j < WARP_TILE_N; ++j)
            wmma::fill_fragment(C_frag[i][j], 0.0);
#pragma unroll
    for (int k = 0; k < div_ceil(K, WMMA_K); ++k) {
        LDST128BITS(s_b[load_smem_b_k][load_smem_b_n]) = LDST128BITS(B[(k * WMMA_K + load_smem_b_k) * N + bx * BN + load_smem_b_n]);
        LDST128BITS(s_a[load_smem_a_m][load_smem_a_k]) = LDST128BITS(A[(by * BM + load_smem_a_m) * K + k * WMMA_K + load_smem_a_k]);
        __syncthreads();
        wmma::fragment<wmma::matrix_a, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> A_frag[WARP_TILE_M];
        wmma::fragment<wmma::matrix_b, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> B_frag[WARP_TILE_N];
#pragma unroll
        for (int i = 0; i < WARP_TILE_M; ++i)
            wmma::load_matrix_sync(A_frag[i], &s_a[warp_m * (WMMA_M * WARP_TILE_M) + i * WMMA_M][0], BK);
#pragma unroll
        for (int j = 0; j < WARP_TILE_N; ++j)
            wmma::load_matrix_sync(B_frag[j], &s_b[0][warp_n * (WMMA_N * WARP_TILE_N) + j * WMMA_N], BN);
#pragma unroll
        for (int i = 0; i < WARP_TILE_M; ++i)
#pragma unroll
            for (int j = 0; j < WARP_TILE_N; ++j)
                wmma::mma_sync(C_frag[i][j], A_frag[i], B_frag[j], C_frag[i][j]);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < WARP_TILE_M; ++i)
#pragma unroll
        for (int j = 0; j < WARP_TILE_N; ++j)
            wmma::store_matrix_sync(C + (by * BM + warp_m * (WMMA_M * WARP_TILE_M) + i * WMMA_M) * N + bx * BN +
                                        warp_n * (WMMA_N * WARP_TILE_N) + j * WMMA_N, C_frag[i][j], N, wmma::mem_row_major);
}

template <const int kColStride = 16, const int kStep = 8>
static __device__ __forceinline__ int swizzle_permuted_j(int i, int j)
{
    static_assert(kColStride <= 16, "kColStride must <= 16");
    static_assert(kStep == 4 || kStep == 8, "kStep must be 8 or 4.");
    static_assert(kColStride % kStep == 0, "kColStride must be multiple of kStep.");
    if constexpr (kStep == 8)
        return (((j >> 3) ^ (i >> 2)) % (kColStride >> 3)) << 3;
    else
        return (((j >> 2) ^ (i >> 2)) % (kColStride >> 2)) << 2;
}

// Tensor cores by PTX: 128 x 128 of C for each block of 8 warps, K_STAGE buffers in dynamic shared memory.
template <const int MMA_M = 16, const int MMA_N = 8, const int MMA_K = 16, const int MMA_TILE_M = 2, const int MMA_TILE_N = 4,
          const int WARP_TILE_M = 4, const int WARP_TILE_N = 4, const int A_PAD = 0, const int B_PAD = 0, const int K_STAGE = 2,
          const bool BLOCK_SWIZZLE = false>
__global__ void __launch_bounds__(256) hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_kernel(half *A, half *B, half *C, int M, int N, int K)
{
    const int bx = ((int)BLOCK_SWIZZLE) * blockIdx.z * gridDim.x + blockIdx.x;
    const int by = blockIdx.y;
    const int NUM_K_TILES = div_ceil(K, MMA_K);
    constexpr int BM = MMA_M * MMA_TILE_M * WARP_TILE_M;
    constexpr int BN = MMA_N * MMA_TILE_N * WARP_TILE_N;
    constexpr int BK = MMA_K;
    extern __shared__ half smem[];
    half *s_a = smem;
    half *s_b = smem + K_STAGE * BM * (BK + A_PAD);
    constexpr int s_a_stage_offset = BM * (BK + A_PAD);
    constexpr int s_b_stage_offset = BK * (BN + B_PAD);
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    const int warp_id = tid / WARP_SIZE;
    const int lane_id = tid % WARP_SIZE;
    const int warp_m = warp_id % 2;
    const int warp_n = warp_id / 2;
    int load_smem_a_m = tid / 2;
    int load_smem_a_k = (tid % 2 == 0) ? 0 : 8;
    int load_smem_b_k = tid / 16;
    int load_smem_b_n = (tid % 16) * 8;
    int load_gmem_a_m = by * BM + load_smem_a_m;
    int load_gmem_b_n = bx * BN + load_smem_b_n;
    if (load_gmem_a_m >= M || load_gmem_b_n >= N)
        return;
    uint32_t RC[WARP_TILE_M][WARP_TILE_N][2];
#pragma unroll
    for (int i = 0; i < WARP_TILE_M; ++i) {
#pragma unroll
        for (int j = 0; j < WARP_TILE_N; ++j) {
            RC[i][j][0] = 0;
            RC[i][j][1] = 0;
        }
    }
    uint32_t smem_a_base_ptr = __cvta_generic_to_shared(s_a);
    uint32_t smem_b_base_ptr = __cvta_generic_to_shared(s_b);
#pragma unroll
    for (int k = 0; k < (K_STAGE - 1); ++k) {
        int load_gmem_a_k = k * BK + load_smem_a_k;
        int load_gmem_a_addr = load_gmem_a_m * K + load_gmem_a_k;
        int load_gmem_b_addr = (k * BK + load_smem_b_k) * N + load_gmem_b_n;
        uint32_t load_smem_a_ptr = (smem_a_base_ptr + (k * s_a_stage_offset + load_smem_a_m * (BK + A_PAD) +
                                                       swizzle_permuted_j<MMA_K>(load_smem_a_m, load_smem_a_k)) * sizeof(half));
        CP_ASYNC_CG(load_smem_a_ptr, &A[load_gmem_a_addr], 16);
        uint32_t load_smem_b_ptr = (smem_b_base_ptr + (k * s_b_stage_offset + load_smem_b_k * (BN + B_PAD) + load_smem_b_n) * sizeof(half));
        CP_ASYNC_CG(load_smem_b_ptr, &B[load_gmem_b_addr], 16);
        CP_ASYNC_COMMIT_GROUP();
    }
    CP_ASYNC_WAIT_GROUP(K_STAGE - 2);
    __syncthreads();
    for (int k = (K_STAGE - 1); k < NUM_K_TILES + K_STAGE - 1; k++) {
        int smem_sel = (k + 1) % K_STAGE;
        int smem_sel_next = k % K_STAGE;
        if (k < NUM_K_TILES) {
            int load_gmem_a_addr = load_gmem_a_m * K + k * BK + load_smem_a_k;
            int load_gmem_b_addr = (k * BK + load_smem_b_k) * N + load_gmem_b_n;
            uint32_t load_smem_a_ptr = (smem_a_base_ptr + (smem_sel_next * s_a_stage_offset + load_smem_a_m * (BK + A_PAD) +
                                                           swizzle_permuted_j<MMA_K>(load_smem_a_m, load_smem_a_k)) * sizeof(half));
            CP_ASYNC_CG(load_smem_a_ptr, &A[load_gmem_a_addr], 16);
            uint32_t load_smem_b_ptr =
                (smem_b_base_ptr + (smem_sel_next * s_b_stage_offset + load_smem_b_k * (BN + B_PAD) + load_smem_b_n) * sizeof(half));
            CP_ASYNC_CG(load_smem_b_ptr, &B[load_gmem_b_addr], 16);
            CP_ASYNC_COMMIT_GROUP();
        }
        smem_sel = (k - (K_STAGE - 1)) % K_STAGE;
        uint32_t RA[WARP_TILE_M][4];
        uint32_t RB[WARP_TILE_N][2];
#pragma unroll
        for (int i = 0; i < WARP_TILE_M; ++i) {
            int warp_smem_a_m = warp_m * (MMA_M * WARP_TILE_M) + i * MMA_M;
            int lane_smem_a_m = warp_smem_a_m + lane_id % 16;
            int lane_smem_a_k = (lane_id / 16) * 8;
            uint32_t lane_smem_a_ptr = (smem_a_base_ptr + (smem_sel * s_a_stage_offset + lane_smem_a_m * (BK + A_PAD) +
                                                           swizzle_permuted_j<MMA_K>(lane_smem_a_m, lane_smem_a_k)) * sizeof(half));
            LDMATRIX_X4(RA[i][0], RA[i][1], RA[i][2], RA[i][3], lane_smem_a_ptr);
        }
#pragma unroll
        for (int j = 0; j < WARP_TILE_N; ++j) {
            int lane_smem_b_k = lane_id % 16;
            int lane_smem_b_n = warp_n * (MMA_N * WARP_TILE_N) + j * MMA_N;
            uint32_t lane_smem_b_ptr =
                (smem_b_base_ptr + (smem_sel * s_b_stage_offset + lane_smem_b_k * (BN + B_PAD) + lane_smem_b_n) * sizeof(half));
            LDMATRIX_X2_T(RB[j][0], RB[j][1], lane_smem_b_ptr);
        }
#pragma unroll
        for (int i = 0; i < WARP_TILE_M; ++i) {
#pragma unroll
            for (int j = 0; j < WARP_TILE_N; ++j) {
                int j_s = (i % 2) ? (WARP_TILE_N - j - 1) : j;
                HMMA16816(RC[i][j_s][0], RC[i][j_s][1], RA[i][0], RA[i][1], RA[i][2], RA[i][3], RB[j_s][0], RB[j_s][1], RC[i][j_s][0], RC[i][j_s][1]);
            }
        }
        CP_ASYNC_WAIT_GROUP(0);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < WARP_TILE_M; ++i) {
        uint32_t RC0[WARP_TILE_N][4];
        uint32_t RC1[WARP_TILE_N][4];
#pragma unroll
        for (int j = 0; j < WARP_TILE_N; ++j) {
            RC0[j][0] = RC[i][j][0];
            RC1[j][0] = RC[i][j][1];
#pragma unroll
            for (int l = 1; l < 4; l++) {
                RC0[j][l] = __shfl_sync((0xffffffff), RC[i][j][0], lane_id + l);
                RC1[j][l] = __shfl_sync((0xffffffff), RC[i][j][1], lane_id + l);
            }
        }
        if (lane_id % 4 == 0) {
            int store_lane_gmem_c_m = by * BM + warp_m * (MMA_M * WARP_TILE_M) + i * MMA_M + lane_id / 4;
#pragma unroll
            for (int j = 0; j < WARP_TILE_N; ++j) {
                int store_lane_gmem_c_n = bx * BN + warp_n * (MMA_N * WARP_TILE_N) + j * MMA_N;
                LDST128BITS(C[store_lane_gmem_c_m * N + store_lane_gmem_c_n]) = LDST128BITS(RC0[j][0]);
                LDST128BITS(C[(store_lane_gmem_c_m + 8) * N + store_lane_gmem_c_n]) = LDST128BITS(RC1[j][0]);
            }
        }
    }
}

template <typename T, const int M, const int N, const int K = 2>
__device__ inline void fill_3D_regs(T (&R)[M][N][K], T val)
{
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int k = 0; k < K; ++k)
                R[i][j][k] = val;
}
template <typename T, const int M, const int N = 2>
__device__ inline void fill_2D_regs(T (&R)[M][N], T val)
{
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j)
            R[i][j] = val;
}
template <typename T, const int kWarpSize = WARP_SIZE>
DEVICE_INLINE T warp_reduce_sum(T val)
{
#pragma unroll
    for (int mask = kWarpSize >> 1; mask >= 1; mask >>= 1)
        val += __shfl_xor_sync(0xffffffff, val, mask, kWarpSize);
    return val;
}
template <typename T, const int kWarpSize = WARP_SIZE>
DEVICE_INLINE T warp_reduce_max(T val)
{
#pragma unroll
    for (int mask = kWarpSize >> 1; mask >= 1; mask >>= 1) {
        T val_compare = __shfl_xor_sync(0xffffffff, val, mask, kWarpSize);
        val = val > val_compare ? val : val_compare;
    }
    return val;
}

// Attention: a block has 64 queries of a head, each of its 4 warps 16; keys and values come in tiles of 64.
template <const int kHeadDim, const int kWarpTileSeqLenK = 8, const int kPad = 8>
__global__ void __launch_bounds__(WARP_SIZE * 4) flash_attn_mma_stages_split_q_kernel(half *Q, half *K, half *V, half *O, int seqlen)
{
    constexpr int Br = 64, Bc = 8 * kWarpTileSeqLenK;
    constexpr int kStride = kHeadDim + kPad;
    const float scale = 1.0f / sqrtf((float)kHeadDim);
    const int head = blockIdx.y, tile_q = blockIdx.x;
    const int tid = threadIdx.x, warp_id = tid / WARP_SIZE, lane_id = tid % WARP_SIZE;
    const size_t base = (size_t)head * seqlen * kHeadDim;
    extern __shared__ half smem[];
    half *Q_tile_smem = smem, *K_tile_smem = Q_tile_smem + Br * kStride, *V_tile_smem = K_tile_smem + Bc * kStride;
    const uint32_t smem_Q = __cvta_generic_to_shared(Q_tile_smem);
    const uint32_t smem_K = __cvta_generic_to_shared(K_tile_smem);
    const uint32_t smem_V = __cvta_generic_to_shared(V_tile_smem);
    for (int i = tid * 8; i < Br * kHeadDim; i += 128 * 8)
        CP_ASYNC_CG(smem_Q + (i / kHeadDim * kStride + i % kHeadDim) * (int)sizeof(half), &Q[base + (size_t)tile_q * Br * kHeadDim + i], 16);
    CP_ASYNC_COMMIT_GROUP();

    float lane_block_row_max_old[2], lane_block_row_sum_old[2];
    float R_O[1][kHeadDim / 8][4];
    fill_3D_regs<float, 1, kHeadDim / 8, 4>(R_O, 0.f);
    for (int r = 0; r < 2; r++) {
        lane_block_row_max_old[r] = -INFINITY;
        lane_block_row_sum_old[r] = 0.f;
    }
#pragma unroll 1
    for (int tile = 0; tile < div_ceil(seqlen, Bc); ++tile) {
        for (int i = tid * 8; i < Bc * kHeadDim; i += 128 * 8) {
            const uint32_t at = (i / kHeadDim * kStride + i % kHeadDim) * sizeof(half);
            CP_ASYNC_CG(smem_K + at, &K[base + (size_t)tile * Bc * kHeadDim + i], 16);
            CP_ASYNC_CG(smem_V + at, &V[base + (size_t)tile * Bc * kHeadDim + i], 16);
        }
        CP_ASYNC_COMMIT_GROUP();
        CP_ASYNC_WAIT_GROUP(0);
        __syncthreads();

        uint32_t R_S[kWarpTileSeqLenK][4];
        fill_2D_regs<uint32_t, kWarpTileSeqLenK, 4>(R_S, 0);
#pragma unroll
        for (int d = 0; d < kHeadDim / 16; ++d) {
            uint32_t R_Q[4];
            const int q_row = warp_id * 16 + lane_id % 16, q_col = d * 16 + lane_id / 16 * 8;
            LDMATRIX_X4(R_Q[0], R_Q[1], R_Q[2], R_Q[3], smem_Q + (q_row * kStride + q_col) * (uint32_t)sizeof(half));
#pragma unroll
            for (int j = 0; j < kWarpTileSeqLenK; ++j) {
                uint32_t R_K[2];
                const int k_row = j * 8 + lane_id % 8, k_col = d * 16 + (lane_id / 8) % 2 * 8;
                LDMATRIX_X2(R_K[0], R_K[1], smem_K + (k_row * kStride + k_col) * (uint32_t)sizeof(half));
                HMMA16816F32(R_S[j][0], R_S[j][1], R_S[j][2], R_S[j][3], R_Q[0], R_Q[1], R_Q[2], R_Q[3], R_K[0], R_K[1],
                             R_S[j][0], R_S[j][1], R_S[j][2], R_S[j][3]);
            }
        }
        float lane_row_max_new[2] = {-INFINITY, -INFINITY}, lane_row_sum_new[2] = {0.f, 0.f};
#pragma unroll
        for (int j = 0; j < kWarpTileSeqLenK; ++j) {
            float *t_fptr_S = reinterpret_cast<float *>(&(R_S[j][0]));
            lane_row_max_new[0] = max(lane_row_max_new[0], max(t_fptr_S[0], t_fptr_S[1]) * scale);
            lane_row_max_new[1] = max(lane_row_max_new[1], max(t_fptr_S[2], t_fptr_S[3]) * scale);
        }
        float rescale[2];
        for (int r = 0; r < 2; r++) {
            lane_row_max_new[r] = warp_reduce_max<float, 4>(lane_row_max_new[r]);
            lane_row_max_new[r] = max(lane_row_max_new[r], lane_block_row_max_old[r]);
            rescale[r] = __expf(lane_block_row_max_old[r] - lane_row_max_new[r]);
        }
#pragma unroll
        for (int j = 0; j < kWarpTileSeqLenK; ++j) {
            float *t_fptr_S = reinterpret_cast<float *>(&(R_S[j][0]));
            half *t_hptr_S = reinterpret_cast<half *>(&(R_S[j][0]));
            float4 p;
            p.x = __expf(__fmaf_rn(t_fptr_S[0], scale, -lane_row_max_new[0]));
            p.y = __expf(__fmaf_rn(t_fptr_S[1], scale, -lane_row_max_new[0]));
            p.z = __expf(__fmaf_rn(t_fptr_S[2], scale, -lane_row_max_new[1]));
            p.w = __expf(__fmaf_rn(t_fptr_S[3], scale, -lane_row_max_new[1]));
            lane_row_sum_new[0] += p.x + p.y;
            lane_row_sum_new[1] += p.z + p.w;
            t_hptr_S[0] = __float2half_rn(p.x);
            t_hptr_S[1] = __float2half_rn(p.y);
            t_hptr_S[2] = __float2half_rn(p.z);
            t_hptr_S[3] = __float2half_rn(p.w);
        }
        for (int r = 0; r < 2; r++) {
            lane_row_sum_new[r] = warp_reduce_sum<float, 4>(lane_row_sum_new[r]);
            lane_block_row_sum_old[r] = __fmaf_rn(rescale[r], lane_block_row_sum_old[r], lane_row_sum_new[r]);
            lane_block_row_max_old[r] = lane_row_max_new[r];
        }
#pragma unroll
        for (int v = 0; v < kHeadDim / 8; ++v) {
            R_O[0][v][0] *= rescale[0];
            R_O[0][v][1] *= rescale[0];
            R_O[0][v][2] *= rescale[1];
            R_O[0][v][3] *= rescale[1];
#pragma unroll
            for (int tile_V = 0; tile_V < Bc / 16; ++tile_V) {
                uint32_t R_V[2];
                LDMATRIX_X2_T(R_V[0], R_V[1], smem_V + ((tile_V * 16 + lane_id % 16) * kStride + v * 8) * (uint32_t)sizeof(half));
                const int w = tile_V * 2;
                float *D = R_O[0][v];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                             : "+f"(D[0]), "+f"(D[1]), "+f"(D[2]), "+f"(D[3])
                             : "r"(R_S[w][0]), "r"(R_S[w][1]), "r"(R_S[w + 1][0]), "r"(R_S[w + 1][1]), "r"(R_V[0]), "r"(R_V[1]));
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int v = 0; v < kHeadDim / 8; ++v) {
        half2 out[2];
        out[0] = __floats2half2_rn(__fdividef(R_O[0][v][0], lane_block_row_sum_old[0]), __fdividef(R_O[0][v][1], lane_block_row_sum_old[0]));
        out[1] = __floats2half2_rn(R_O[0][v][2] / lane_block_row_sum_old[1], R_O[0][v][3] / lane_block_row_sum_old[1]);
        const int row = tile_q * Br + warp_id * 16 + lane_id / 4, col = v * 8 + lane_id % 4 * 2;
        LDST32BITS(O[base + row * kHeadDim + col]) = out[0];
        LDST32BITS(O[base + (row + 8) * kHeadDim + col]) = out[1];
    }
}

template <typename T> static T *managed(int n)
{
    T *p;
    cudaMallocManaged(&p, n * sizeof(T));
    return p;
}
static void verdict(const char *name, double worst, double most)
{
    cudaError_t e = cudaDeviceSynchronize();
    if (e || !(worst <= most))
        printf("%s: %g, %s\n", name, worst, cudaGetErrorString(e));
    else
        printf("%s ok\n", name);
}
template <typename T> static double off(const T *c, const float *a, const float *b, int M, int N, int K)
{
    double worst = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double s = 0;
            for (int k = 0; k < K; k++)
                s += (double)a[m * K + k] * b[k * N + n];
            worst = fmax(worst, fabs((float)c[m * N + n] - s));
        }
    return worst;
}

int main()
{
    const int M = 128, N = 128, K = 64;
    float *a = managed<float>(M * K), *b = managed<float>(K * N), *c = managed<float>(M * N);
    half *ha = managed<half>(M * K), *hb = managed<half>(K * N), *hc = managed<half>(M * N);
    for (int i = 0; i < M * K; i++) {
        a[i] = (i * 37 % 17 - 8) / 16.0f;
        ha[i] = __float2half(a[i]);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = (i * 53 % 23 - 11) / 16.0f;
        hb[i] = __float2half(b[i]);
    }
    sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async_kernel<64, 64, 16, 8, 8, 4><<<dim3(N / 64, M / 64), dim3(8, 8)>>>(a, b, c, M, N, K);
    cudaDeviceSynchronize();
    verdict("sgemm, cp.async", off(c, a, b, M, N, K), 1e-5);
    hgemm_wmma_m16n16k16_mma2x2_warp2x2_kernel<><<<dim3(N / 64, M / 64), 128>>>(ha, hb, hc, M, N, K);
    cudaDeviceSynchronize();
    verdict("hgemm, wmma", off(hc, a, b, M, N, K), 0.05);
    memset(hc, 0, M * N * 2);
    constexpr int STAGES = 3;
    const int bytes = STAGES * (128 * 16 + 16 * (128 + 8)) * sizeof(half);
    auto kernel = hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_kernel<16, 8, 16, 2, 4, 4, 4, 0, 8, STAGES, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304);
    kernel<<<dim3(1, 1), 256, bytes>>>(ha, hb, hc, M, N, K);
    cudaDeviceSynchronize();
    verdict("hgemm, mma.sync", off(hc, a, b, M, N, K), 0.05);

    const int T = 128, D = 64, H = 2;
    half *q = managed<half>(H * T * D), *k = managed<half>(H * T * D), *v = managed<half>(H * T * D), *o = managed<half>(H * T * D);
    for (int i = 0; i < H * T * D; i++) {
        q[i] = __float2half((i * 37 % 29 - 14) / 8.0f);
        k[i] = __float2half((i * 53 % 31 - 15) / 8.0f);
        v[i] = __float2half((i * 71 % 37 - 18) / 8.0f);
    }
    const int room = 3 * 64 * (D + 8) * sizeof(half);
    cudaFuncSetAttribute(flash_attn_mma_stages_split_q_kernel<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, room);
    flash_attn_mma_stages_split_q_kernel<D><<<dim3(T / 64, H), 128, room>>>(q, k, v, o, T);
    cudaDeviceSynchronize();
    double worst = 0;
    for (int h = 0; h < H; h++)
        for (int i = 0; i < T; i++) {
            double p[T], sum = 0, most = -1e30;
            for (int j = 0; j < T; j++) {
                p[j] = 0;
                for (int d = 0; d < D; d++)
                    p[j] += (double)(float)q[(h * T + i) * D + d] * (float)k[(h * T + j) * D + d] / 8;
                most = fmax(most, p[j]);
            }
            for (int j = 0; j < T; j++)
                sum += p[j] = exp(p[j] - most);
            for (int d = 0; d < D; d++) {
                double s = 0;
                for (int j = 0; j < T; j++)
                    s += p[j] / sum * (float)v[(h * T + j) * D + d];
                worst = fmax(worst, fabs((float)o[(h * T + i) * D + d] - s));
            }
        }
    verdict("attention, mma.sync", worst, 5e-3);
}
