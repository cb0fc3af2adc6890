/* Template: statements that add the products of point kk of both panels to a[ROWS][COLS]. A thread's rows are in groups of
 * GROUP neighbours, so that the lanes of a warp read shared memory in whole vectors: X_VECTOR rows and Y_VECTOR columns at a
 * time. */
        C(LANE) x[C(ROWS)], y[C(COLS)];
#pragma unroll
        for (int i = 0; i < C(ROWS); i += C(X_VECTOR)) {
            const C(X_TYPE) q = *(const C(X_TYPE) *)(from_m + kk * M(PITCH) + ti + (i / GROUP * (LANES_M * GROUP) + i % GROUP));
#if C(X_VECTOR) == 1
            x[i] = q;
#else
            x[i] = q.x;
            x[i + 1] = q.y;
#endif
#if C(X_VECTOR) == 4
            x[i + 2] = q.z;
            x[i + 3] = q.w;
#endif
        }
#pragma unroll
        for (int j = 0; j < C(COLS); j += C(Y_VECTOR)) {
            const C(Y_TYPE) q = *(const C(Y_TYPE) *)(from_n + kk * N(PITCH) + tj + (j / GROUP * (LANES_N * GROUP) + j % GROUP));
#if C(Y_VECTOR) == 1
            y[j] = q;
#else
            y[j] = q.x;
            y[j + 1] = q.y;
#endif
#if C(Y_VECTOR) == 4
            y[j + 2] = q.z;
            y[j + 3] = q.w;
#endif
        }
#pragma unroll
        for (int i = 0; i < C(ROWS); i++)
#pragma unroll
            for (int j = 0; j < C(COLS); j++)
                a[i][j] = C(MULTIPLY_ADD)(x[i], y[j], a[i][j]);
