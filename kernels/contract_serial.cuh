/* Template: the tile of a contraction in one thread, as statements: SERIAL_ROWS x SERIAL_COLS sums; see contract_tile.cuh. Panels
 * of k are copied side by side, and a part of the tile that fits registers, PART_ROWS x PART_COLS, runs over a panel, in loops
 * that compilers turn into vectors. */
#define TILE_SUMS (C(SERIAL_ROWS) * C(SERIAL_COLS))
#define PART_ROWS 4
#define PART_COLS 16
    C(LANE) *M(shared) = (C(LANE) *)panels, *N(shared) = M(shared) + C(SERIAL_ROWS) * C(POINTS), a[TILE_SUMS], sum[TILE_SUMS];
    const idx M(end) = C(M_END), N(end) = C(N_END), k_end = C(K_END);
    for (int i = 0; i < TILE_SUMS; i++)
        sum[i] = 0;
    for (idx from = 0; from < k_end; from += C(BLOCK)) {
    const idx stop = k_end - from < C(BLOCK) ? k_end : from + C(BLOCK);
    for (int i = 0; i < TILE_SUMS; i++)
        a[i] = 0;
    for (idx k0 = from; k0 < stop; k0 += C(POINTS)) {
    const int points = stop - k0 < C(POINTS) ? (int)(stop - k0) : C(POINTS);
#if M(LOCAL)
#define M_AT (M(LOCAL_AT) + r * M(LOCAL_ROW) + k0 + kk)
#else
#define M_AT (M(b)(g, batch) + M(row)(g, M(first) + r) + M(k)(g, k0 + kk))
#endif
#if M(ALONG_K)
    for (int r = 0; r < C(SERIAL_ROWS); r++)
        for (int kk = 0; kk < points; kk++)
#else
    for (int kk = 0; kk < points; kk++)
        for (int r = 0; r < C(SERIAL_ROWS); r++)
#endif
            M(shared)[kk * C(SERIAL_ROWS) + r] = M(first) + r < M(end) ? M(LANE_OF)(M(LOAD_AT)(M_AT)) : 0;
#if N(ALONG_K)
    for (int r = 0; r < C(SERIAL_COLS); r++)
        for (int kk = 0; kk < points; kk++)
#else
    for (int kk = 0; kk < points; kk++)
        for (int r = 0; r < C(SERIAL_COLS); r++)
#endif
            N(shared)[kk * C(SERIAL_COLS) + r] =
                N(first) + r < N(end)
                    ? N(LANE_OF)(N(LOAD_AT)(N(b)(g, batch) + N(row)(g, N(first) + r) + N(k)(g, k0 + kk)))
                    : 0;
    for (int i0 = 0; i0 < C(SERIAL_ROWS); i0 += PART_ROWS)
    for (int j0 = 0; j0 < C(SERIAL_COLS); j0 += PART_COLS) {
        C(LANE) x[PART_ROWS * PART_COLS];
#pragma unroll
        for (int i = 0; i < PART_ROWS * PART_COLS; i++)
            x[i] = a[(i0 + i / PART_COLS) * C(SERIAL_COLS) + j0 + i % PART_COLS];
        for (int kk = 0; kk < points; kk++) {
#pragma unroll
            for (int i = 0; i < PART_ROWS * PART_COLS; i++)
                x[i] = C(MULTIPLY_ADD)(M(shared)[kk * C(SERIAL_ROWS) + i0 + i / PART_COLS],
                                       N(shared)[kk * C(SERIAL_COLS) + j0 + i % PART_COLS], x[i]);
        }
#pragma unroll
        for (int i = 0; i < PART_ROWS * PART_COLS; i++)
            a[(i0 + i / PART_COLS) * C(SERIAL_COLS) + j0 + i % PART_COLS] = x[i];
    }
    }
    for (int i = 0; i < TILE_SUMS; i++)
        sum[i] = from ? (C(LANE))(sum[i] + a[i]) : a[i];
    }
    for (int local_row = 0; local_row < C(SERIAL_ROWS) && M(first) + local_row < M(end); local_row++)
        for (int j = 0; j < C(SERIAL_COLS) && N(first) + j < N(end); j++)
            C(total)(ARGS, C(EXTRA_ARGS) batch * M(end) + M(first) + local_row, N(first) + j, sum[local_row * C(SERIAL_COLS) + j]);
#undef M_AT
#undef TILE_SUMS
#undef PART_ROWS
#undef PART_COLS
