/* Template: program K of a chain between two contractions, as the function between<K>: for the rows of a tile in shared memory,
 * which warps take in turn. K is the number of the program in the chain; P(name) is a name of it.
 *
 * REDUCES: the program folds a row of INNER values in the order of rows.cu, chunk by chunk, in chunk[WARPS * CHUNKS]; otherwise
 * it computes each value. Functions before it: value<K>, join<K>, identity<K>, lanes<K> and result<K> of rows_functions.c.
 * FOLD_PARAMS and FOLD_ARGS pass shared memory: see rows_lanes.cuh. */
static __device__ void P(between)(PARAMS, TILE_PARAMS idx batch, idx m0_first, idx rows_end P(FOLD_PARAMS))
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int first = 0; first < m0_TILE; first += WARPS) {
        const int local_row = first + warp;
        const bool here = m0_first + local_row < rows_end;
        const idx row = batch * rows_end + m0_first + local_row;
#if P(REDUCES)
        const int count = (int)((P(INNER) + (FOLD_CHUNK - 1)) / FOLD_CHUNK);
        for (int c = 0; c < count; c++) {
            const idx begin = (idx)c * FOLD_CHUNK;
            const idx end = begin + FOLD_CHUNK < P(INNER) ? begin + FOLD_CHUNK : P(INNER);
            P(TYPE) a = P(identity)();
            if (here)
                for (idx col = begin + lane; col < end; col += 32)
                    a = P(join)(a, P(value)(ARGS, ROW_ARGS row, col));
            a = P(lanes)(a P(FOLD_ARGS));
            if (lane == 0)
                chunk[warp * CHUNKS + c] = a;
        }
        if (lane == 0 && here) {
            P(TYPE) *own = chunk + warp * CHUNKS;
            for (int s = 1; s < count; s *= 2)
                for (int c = 0; c + s < count; c += 2 * s)
                    own[c] = P(join)(own[c], own[c + s]);
            P(result)(ARGS, ROW_ARGS row, own[0]);
        }
#else
        if (here)
            for (idx col = lane; col < P(INNER); col += 32)
                P(value)(ARGS, ROW_ARGS row, col);
#endif
    }
    __syncthreads();
}
