/* Template: step<K>: takes a row through program K of a chain. The row belongs to one thread (SERIAL), to a warp (BY_WARPS) or to a
 * block. A warp's threads that have no row (not `here`) call it too.
 *
 * With HELD, a warp's thread holds values of the row in registers, and its loop is unrolled: of its points, the first WHOLE exist,
 * and the others, up to EACH, may lie past the end of the row. So the loads of all but the last depend on nothing and are under
 * way together. */
#if P(REDUCES)
#define POINT a = P(join)(a, P(value)(ARGS, ROW_ARGS row, col P(HELD_ARGS)))
#else
#define POINT P(value)(ARGS, ROW_ARGS row, col P(HELD_ARGS))
#endif
#if SERIAL
static __device__ void P(step)(PARAMS, ROW_PARAMS idx row)
{
#if P(REDUCES)
    const int count = (int)((P(INNER) + (FOLD_CHUNK - 1)) / FOLD_CHUNK);
    P(result)(ARGS, ROW_ARGS row, P(fold)(ARGS, ROW_ARGS row, 0, count));
#else
    for (idx col = 0; col < P(INNER); col++)
        POINT;
#endif
}
#elif BY_WARPS
static __device__ void P(step)(PARAMS, ROW_PARAMS idx row, int lane, bool here P(HELD_PARAMS) P(FOLD_PARAMS))
{
#if P(REDUCES)
    P(TYPE) a = P(identity)();
#endif
    if (here) {
#if P(HELD)
#if P(WHOLE) > 0
#pragma unroll
        for (int u = 0; u < P(WHOLE); u++) {
            const idx col = u * 32 + lane;
            POINT;
        }
#endif
#if P(WHOLE) < P(EACH)
#pragma unroll
        for (int u = P(WHOLE); u < P(EACH); u++) {
            const idx col = u * 32 + lane;
            if (col < P(INNER))
                POINT;
        }
#endif
#else
        for (idx col = lane; col < P(INNER); col += 32)
            POINT;
#endif
    }
#if P(REDUCES)
    a = P(lanes)(a P(FOLD_ARGS));
    if (here && lane == 0)
        P(result)(ARGS, ROW_ARGS row, a);
#endif
}
#else
static __device__ void P(step)(PARAMS, ROW_PARAMS idx row P(FOLD_PARAMS))
{
#if P(REDUCES)
    const int count = (int)((P(INNER) + (FOLD_CHUNK - 1)) / FOLD_CHUNK);
    P(chunks)(ARGS, ROW_ARGS row, 0, count, chunk P(FOLD_ARGS));
    if (threadIdx.x == 0)
        P(result)(ARGS, ROW_ARGS row, chunk[0]);
#else
    for (idx col = threadIdx.x; col < P(INNER); col += 32 * ROWS_WARPS)
        POINT;
#endif
}
#endif
#undef POINT
