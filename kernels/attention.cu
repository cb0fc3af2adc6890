/* Attention on the tensor cores of Hopper (sm_90a), without the matrix of scores in memory:
 *
 *   out[b, i, :] = sum over j of p[b, i, j] * v[b, j, :],   p = softmax of scale * (q k^T) along j
 *
 * q is (b, n_q, DIM), k and v are (b, n_k, DIM), f16 or bf16, sums in f32. b is two axes, outer and batch, and all
 * operands have strides. A block has WGS warpgroups of 64
 * rows of q each, and one more whose first thread copies tiles of KEYS keys and values (TMA). The largest
 * score and the sum of a row are kept as the tiles go by; when the largest grows, what was summed is scaled.
 * While a warpgroup computes its exponentials, the tensor cores work on its last tile of values. If there are fewer
 * blocks than tiles of rows, a block takes tiles in turn, and copies of the next begin during the last steps.
 *
 * A row that attends to nothing gives zeros. For the backward pass, lse[b, i] is the base 2 logarithm of the
 * sum of exp2(score * log2(e) * scale); it is inf for such a row and past the last row.
 *
 * NVRTC gets this text after these definitions, arguments.h, hopper.cuh and
 * attention.cuh:
 *
 *   TYPE      "f16" or "bf16"; IS_F16: 1 or 0
 *   DIM       64 or 128: elements of a row; if there are fewer, the others are zeros
 *   WGS       2 or 3; 1 if SHORT
 *   CAUSAL    1: row i attends to keys 0 to i
 *   LOOP      1: there are fewer blocks than tiles
 *   MASKED    1: rows attend to key j only where mask[outer, j] is not 0
 *   SHORT     1: there are at most KEYS keys. A block is one warpgroup, which copies its operands itself, and several
 *             blocks run at a time
 */
enum {
    KEYS = 128,
    BLOCKS = DIM / 64, /* panels next to each other */
    ROWS = WGS * 64,
    STAGES = SHORT ? 1 : DIM == 64 ? 4 : 2,
    AHEAD = STAGES > 2, /* a step waits for the next step's tiles; two stages have no room for them yet */
    Q_BYTES = ROWS * DIM * 2,
    KV_BYTES = KEYS * DIM * 2 /* of keys, or of values */
};

/* A thread has 64 scores: of row `row` those with bit 1 of the index clear, of row + 8 the others. Score i
 * belongs to key i / 4 * 8 + lane % 4 * 2 + i % 2 of the tile. */
typedef struct softmax_state {
    float most[2], sum[2];
} softmax_state;

static __device__ __forceinline__ void hide_scores(float (&s)[64], int row, int key0, int n_k,
                                                   const unsigned char *mask)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 64; i++) {
        const int key = key0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
        const bool hidden = key >= n_k || (CAUSAL && key > row + (i / 2 % 2) * 8) ||
                            (MASKED && !mask[key]);
        s[i] = hidden ? -__int_as_float(0x7f800000) : s[i];
    }
}

/* Scores become exponentials; scale[r] is what the sums so far of each row are to be multiplied by. */
static __device__ __forceinline__ void take_exponentials(float (&s)[64], softmax_state *state,
                                                         float c, float (&scale)[2])
{
    const float low = -__int_as_float(0x7f800000);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float most = state->most[r];
#pragma unroll
        for (int i = 0; i < 64; i += 4)
            most = fmaxf(most, fmaxf(s[i + 2 * r], s[i + 2 * r + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        const float base = most == low ? 0.0f : most * c;
        scale[r] = exp2_fast(state->most[r] == low ? low : fmaf(state->most[r], c, -base));
        float sum = 0;
#pragma unroll
        for (int i = 0; i < 64; i += 4) {
            s[i + 2 * r] = exp2_fast(fmaf(s[i + 2 * r], c, -base));
            s[i + 2 * r + 1] = exp2_fast(fmaf(s[i + 2 * r + 1], c, -base));
            sum += s[i + 2 * r] + s[i + 2 * r + 1];
        }
        state->sum[r] = fmaf(state->sum[r], scale[r], sum);
        state->most[r] = most;
    }
}

static __device__ __forceinline__ void scale_rows(float (&out)[DIM / 2], const float (&scale)[2])
{
#pragma unroll
    for (int i = 0; i < DIM / 2; i++)
        out[i] *= scale[i / 2 % 2];
}

/* Completes the sum of row r of the two and writes its lse. Returns what the row is to be multiplied by. */
static __device__ __forceinline__ float finish_row(const softmax_state *state, int r, float *lse,
                                                   int at, const attention_sizes &g)
{
    float sum = state->sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (threadIdx.x % 4 == 0 && at < g.n_pad)
        lse[at] = sum == 0 || at >= g.n_q ? __int_as_float(0x7f800000)
                                          : fmaf(state->most[r], g.scale, log2_fast(sum));
    return sum > 0 ? 1 / sum : sum == 0 ? 1.0f : sum; /* NaN stays */
}

static __device__ __forceinline__ void write_out(const float (&out)[DIM / 2], softmax_state *state,
                                                 half_bits *to, float *lse, int row,
                                                 const attention_sizes &g)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int at = row + r * 8;
        const float inverse = finish_row(state, r, lse, at, g);
        if (at < g.n_q)
            write_row(out, r, inverse, to + at * g.out_row, g.dim);
    }
}

/* A tile of ROWS rows. */
struct rows_of {
    int row0, batch, outer, job;
    unsigned steps;
    __device__ __forceinline__ rows_of(unsigned work, const attention_sizes &g)
    {
        const int tile = (int)(work % (unsigned)g.tiles);
        job = (int)(work / (unsigned)g.tiles);
        row0 = (CAUSAL ? g.tiles - 1 - tile : tile) * ROWS; /* long rows of a causal product come first */
        batch = job % g.batch;
        outer = job / g.batch;
        const int end = CAUSAL && row0 + ROWS < g.n_k ? row0 + ROWS : g.n_k;
        steps = (unsigned)(end + KEYS - 1) / KEYS;
    }
};

#if SHORT
/* Writes rows of 64 elements through shared memory, so that whole rows are written. The room of a warp has 16 rows of
 * 128 bytes; the eight parts of a row are permuted, so that neighbours in a column lie in different banks. */
static __device__ __forceinline__ void write_rows(const float (&out)[DIM / 2], const float (&factor)[2],
                                                  unsigned char *room, half_bits *to, int row0,
                                                  const attention_sizes &g)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
        for (int j = 0; j < DIM / 8; j++) {
            const int row = lane / 4 + r * 8;
            *(unsigned *)(room + row * 128 + ((j ^ row % 8) * 16) + lane % 4 * 4) =
                pack_two(out[4 * j + 2 * r] * factor[r], out[4 * j + 2 * r + 1] * factor[r]);
        }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = i * 4 + lane / 8, part = lane % 8;
        if (row0 + row < g.n_q)
            *(uint4 *)(to + (row0 + row) * g.out_row + part * 8) =
                *(const uint4 *)(room + row * 128 + ((part ^ row % 8) * 16));
    }
}

extern "C" __global__ void __launch_bounds__(128, MASKED || CAUSAL ? 4 : 5)
    attend(const __grid_constant__ tensor_map map_q, const __grid_constant__ tensor_map map_k,
           const __grid_constant__ tensor_map map_v, half_bits *out, float *lse,
           const unsigned char *mask, const attention_sizes g)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ __align__(8) unsigned long long barriers[2];
    const unsigned q = (shared_at(shared) + 1023) & ~1023u, k = q + Q_BYTES, v = k + KV_BYTES;
    const unsigned first = shared_at(barriers), second = first + 8;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const rows_of t(blockIdx.x, g);

    if (threadIdx.x == 0) {
        barrier_init(first, 1);
        barrier_init(second, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(first, Q_BYTES + KV_BYTES);
        copy_box(q, &map_q, first, 0, t.row0, t.batch, t.outer);
        copy_box(k, &map_k, first, 0, 0, t.batch, t.outer);
        barrier_expect(second, KV_BYTES);
        copy_box(v, &map_v, second, 0, 0, t.batch, t.outer);
    }
    const float low = -__int_as_float(0x7f800000);
    const int row = t.row0 + warp * 16 + lane / 4;
    softmax_state state = {{low, low}, {0, 0}};
    float s[64], sums[DIM / 2], scale[2];
    unsigned p[KEYS / 4];
    barrier_wait(first, 0);
    start_products<ROWS, KEYS>(s, q, k);
#pragma unroll
    for (int i = 0; i < DIM / 2; i++)
        sums[i] = 0;
    multiply_wait<0>();
    if (CAUSAL || MASKED || KEYS > g.n_k)
        hide_scores(s, row, 0, g.n_k, mask + (MASKED ? (long long)t.outer * g.n_k : 0));
    take_exponentials(s, &state, g.scale, scale);
    pack_all<KEYS>(s, p);
    barrier_wait(second, 0);
    start_sums<KEYS>(sums, p, v);
    multiply_wait<0>();
    half_bits *to = out + t.outer * g.out_outer + t.batch * g.out_batch;
    float *own = lse + (long long)t.job * g.n_pad;
    if (g.dim != DIM) {
        write_out(sums, &state, to, own, row, g);
        return;
    }
    float factor[2];
#pragma unroll
    for (int r = 0; r < 2; r++)
        factor[r] = finish_row(&state, r, own, row + r * 8, g);
    __syncthreads(); /* the rows of q become room for the result */
    write_rows(sums, factor, shared + (q - shared_at(shared)) + warp * 2048, to,
               t.row0 + warp * 16, g);
}
#else
extern "C" __global__ void __launch_bounds__((WGS + 1) * 128, 1)
    attend(const __grid_constant__ tensor_map map_q, const __grid_constant__ tensor_map map_k,
           const __grid_constant__ tensor_map map_v, half_bits *out, float *lse,
           const unsigned char *mask, const attention_sizes g)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ __align__(8) unsigned long long barriers[2 * STAGES + 2];
    const unsigned q = (shared_at(shared) + 1023) & ~1023u, kv = q + Q_BYTES;
    const unsigned full = shared_at(barriers), empty = full + STAGES * 8,
                   ready = empty + STAGES * 8, free = ready + 8;
    const int warpgroup = threadIdx.x / 128;
    unsigned work = blockIdx.x, n = 0, turn = 0; /* the tile of rows; steps and tiles before it */

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + (unsigned)i * 8, 1);
            barrier_init(empty + (unsigned)i * 8, WGS);
        }
        barrier_init(ready, 1);
        barrier_init(free, WGS);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    if (warpgroup == 0) {
        fewer_registers();
        if (threadIdx.x == 0)
            do {
                const rows_of t(work, g);
                if (turn > 0)
                    barrier_wait(free, (turn - 1) & 1);
                barrier_expect(ready, Q_BYTES);
                for (int i = 0; i < BLOCKS; i++)
                    copy_box(q + (unsigned)(i * ROWS * 128), &map_q, ready, i * 64, t.row0, t.batch, t.outer);
                for (unsigned j = 0; j < t.steps; j++, n++) {
                    const unsigned stage = n % STAGES, barrier = full + stage * 8,
                                   at = kv + stage * 2 * KV_BYTES;
                    if (n >= STAGES)
                        barrier_wait(empty + stage * 8, (n / STAGES - 1) & 1);
                    barrier_expect(barrier, 2 * KV_BYTES);
                    for (int i = 0; i < BLOCKS; i++) {
                        copy_box(at + (unsigned)(i * KEYS * 128), &map_k, barrier, i * 64, (int)j * KEYS,
                                 t.batch, t.outer);
                        copy_box(at + (unsigned)(KV_BYTES + i * KEYS * 128), &map_v, barrier, i * 64,
                                 (int)j * KEYS, t.batch, t.outer);
                    }
                }
                turn++;
            } while (LOOP && (work += gridDim.x) < g.total);
    } else {
        more_registers();
        const int group = warpgroup - 1, lane = threadIdx.x % 32;
        const unsigned own = q + (unsigned)(group * 64 * 128);
        const float low = -__int_as_float(0x7f800000);
        const unsigned char *const masks = mask;
        do {
            const rows_of t(work, g);
            const int row = t.row0 + group * 64 + threadIdx.x % 128 / 32 * 16 + lane / 4;
            softmax_state state = {{low, low}, {0, 0}};
            float s[64], sums[DIM / 2], scale[2];
            unsigned p[KEYS / 4];
#pragma unroll
            for (int i = 0; i < DIM / 2; i++)
                sums[i] = 0;
            mask = masks + (MASKED ? (long long)t.outer * g.n_k : 0);
            barrier_wait(ready, turn & 1);
            barrier_wait(full + n % STAGES * 8, n / STAGES & 1);
            start_products<ROWS, KEYS>(s, own, kv + n % STAGES * 2 * KV_BYTES);
            multiply_wait<0>();
            if (LOOP && t.steps == 1 && threadIdx.x % 128 == 0)
                barrier_arrive(free);
            if (CAUSAL || MASKED || KEYS > g.n_k)
                hide_scores(s, row, 0, g.n_k, mask);
            take_exponentials(s, &state, g.scale, scale);
            pack_all<KEYS>(s, p);
            const unsigned last = n + t.steps - 1;
            for (unsigned j = 1; j < t.steps; j++) {
                const unsigned before = n % STAGES, stage = ++n % STAGES;
                const int keys = (int)(j + 1) * KEYS;
                if (!AHEAD || j == 1)
                    await_step<STAGES>(full, n, last + 1);
                start_products<ROWS, KEYS>(s, own, kv + stage * 2 * KV_BYTES);
                start_sums<KEYS>(sums, p, kv + before * 2 * KV_BYTES + KV_BYTES);
                multiply_wait<1>();
                if (LOOP && n == last && threadIdx.x % 128 == 0)
                    barrier_arrive(free);
                if (MASKED || keys > (CAUSAL ? t.row0 : g.n_k) || keys > g.n_k)
                    hide_scores(s, row, keys - KEYS, g.n_k, mask);
                take_exponentials(s, &state, g.scale, scale);
                await_step<STAGES>(full, n + AHEAD, last + 1);
                multiply_wait<0>();
                if (threadIdx.x % 128 == 0)
                    barrier_arrive(empty + before * 8);
                scale_rows(sums, scale);
                pack_all<KEYS>(s, p);
            }
            start_sums<KEYS>(sums, p, kv + n % STAGES * 2 * KV_BYTES + KV_BYTES);
            multiply_wait<0>();
            if (LOOP && threadIdx.x % 128 == 0)
                barrier_arrive(empty + n % STAGES * 8);
            n++;
            turn++;
            write_out(sums, &state, out + t.outer * g.out_outer + t.batch * g.out_batch,
                      lse + (long long)t.job * g.n_pad, row, g);
        } while (LOOP && (work += gridDim.x) < g.total);
    }
}
#endif
