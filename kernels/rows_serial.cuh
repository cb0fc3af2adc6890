/* Template: fold<K>: one thread folds the chunks [from, from + count) of a row, at most CHUNKS_MOST, in the order of rows.cu, in loops
 * that compilers turn into vectors of the 32 running values. With QUICK, four vectors are joined while a running value is in a
 * register: that is faster, and compiled more slowly. */
#if P(REDUCES)
static __device__ P(TYPE) P(fold)(PARAMS, ROW_PARAMS idx row, idx from, int count)
{
#if CHUNKS_MOST > 1
    P(TYPE) chunk[CHUNKS_MOST];
    for (int c = 0; c < count; c++) {
        idx col = (from + c) * FOLD_CHUNK;
#else
        idx col = from * FOLD_CHUNK;
#endif
        const idx end = P(INNER) - col < FOLD_CHUNK ? P(INNER) : col + FOLD_CHUNK;
        P(TYPE) a[32];
        for (int l = 0; l < 32; l++)
            a[l] = P(identity)();
#if QUICK
        for (; col + 4 * 32 <= end; col += 4 * 32)
            for (int l = 0; l < 32; l++) {
                P(TYPE) x = a[l];
                x = P(join)(x, P(value)(ARGS, ROW_ARGS row, col + l));
                x = P(join)(x, P(value)(ARGS, ROW_ARGS row, col + l + 32));
                x = P(join)(x, P(value)(ARGS, ROW_ARGS row, col + l + 64));
                x = P(join)(x, P(value)(ARGS, ROW_ARGS row, col + l + 96));
                a[l] = x;
            }
#endif
        for (; col + 32 <= end; col += 32)
            for (int l = 0; l < 32; l++)
                a[l] = P(join)(a[l], P(value)(ARGS, ROW_ARGS row, col + l));
        for (int l = 0; col + l < end; l++)
            a[l] = P(join)(a[l], P(value)(ARGS, ROW_ARGS row, col + l));
        for (int l = 0; l < 16; l++)
            a[l] = P(join)(a[l], a[l + 16]);
        for (int l = 0; l < 8; l++)
            a[l] = P(join)(a[l], a[l + 8]);
        for (int l = 0; l < 4; l++)
            a[l] = P(join)(a[l], a[l + 4]);
        for (int l = 0; l < 2; l++)
            a[l] = P(join)(a[l], a[l + 2]);
#if CHUNKS_MOST > 1
        chunk[c] = P(join)(a[0], a[1]);
    }
    for (int s = 1; s < count; s *= 2)
        for (int c = 0; c + s < count; c += 2 * s)
            chunk[c] = P(join)(chunk[c], chunk[c + s]);
    return chunk[0];
#else
    (void)count;
    return P(join)(a[0], a[1]);
#endif
}
#endif
