/* Template: chunks<K>: all warps of a block fold the chunks [first, first + count) of a row into chunk[0]. Value i of a chunk goes
 * to lane i % 32, lanes are joined by halving, and chunks pairwise. With FOURS, values<K> gives the values of four points that
 * are 32 apart. */
static __device__ void P(chunks)(PARAMS, ROW_PARAMS idx row, idx first, int count P(FOLD_PARAMS))
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int c0 = 0; c0 < count; c0 += ROWS_WARPS) {
        const int c = c0 + warp;
        P(TYPE) a = P(identity)();
        if (c < count) {
            const idx begin = (first + c) * FOLD_CHUNK;
            const idx end = begin + FOLD_CHUNK < P(INNER) ? begin + FOLD_CHUNK : P(INNER);
            idx from = begin;
#if FOURS
            for (; from + 4 * 32 <= end; from += 4 * 32) {
                P(TYPE) x[4];
                P(values)(ARGS, row, from + lane, x);
#pragma unroll
                for (int u = 0; u < 4; u++)
                    a = P(join)(a, x[u]);
            }
#endif
            for (idx col = from + lane; col < end; col += 32)
                a = P(join)(a, P(value)(ARGS, ROW_ARGS row, col));
        }
        a = P(lanes)(a P(FOLD_ARGS));
        if (lane == 0 && c < count)
            chunk[c] = a;
    }
    __syncthreads();
    for (int s = 1; s < count; s *= 2) {
        const int c = threadIdx.x * 2 * s;
        if (c + s < count)
            chunk[c] = P(join)(chunk[c], chunk[c + s]);
        __syncthreads();
    }
}
