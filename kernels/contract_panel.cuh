/* Template: statements about a panel of the operand SIDE: POINTS points of k of the rows of a tile. Threads load it into
 * registers, LOADS loads each, then store it to shared memory as lanes, point by point: shared[buffer][point][PITCH].
 *
 *   PANEL_OFFSETS   at[]: the offsets of the rows that the thread loads
 *   PANEL_LOAD      next[]: the elements of the panel that begins at point PANEL_K. Nothing uses them until they are stored,
 *                   so that the loads need not be waited for. With PANEL_WHOLE, all points of the panel exist
 *   PANEL_STORE     next[] goes to the panel number `buffer`, neighbouring rows together
 *
 * PANEL_FIRST and PANEL_COUNT: the loads that are meant, if not all.
 *
 * Holes of a side: ELEMENT, its type; LOAD, the type of a load of VECTOR elements (1 or 4); LANES, the type of VECTOR lanes;
 * LANE_OF(x), an element as a lane; LOAD_AT(at), the load at an offset; ALONG_K: loads lie along k, not along rows; ACROSS, loads along that
 * axis; ROW_LOADS, the loads that have rows of their own: 1 if all have the same row; TABLE: points[] has the offsets of all
 * points of k; TOGETHER: VECTOR lanes are stored at once; LOCAL: rows lie in `local`, LOCAL_ROW apart from LOCAL_AT on. */
#ifndef PANEL_COUNT
#define PANEL_FIRST 0
#define PANEL_COUNT S(LOADS)
#endif
#ifndef PANEL_WHOLE
#define PANEL_WHOLE 0
#endif

#ifdef PANEL_OFFSETS
    idx S(at)[S(ROW_LOADS)];
#pragma unroll
    for (int u = 0; u < S(ROW_LOADS); u++) {
#else
#pragma unroll
    for (int v = 0; v < PANEL_COUNT; v++) {
        const int u = v + PANEL_FIRST;
#endif
        /* Where the u-th load goes in the panel, so that a compiler sees which of r and kk all loads share. */
#if C(THREADS) % S(ACROSS) == 0
        const int inner = t % S(ACROSS) * S(VECTOR), outer = t / S(ACROSS) + u * (C(THREADS) / S(ACROSS));
#else
        const int e = t + u * C(THREADS), inner = e % S(ACROSS) * S(VECTOR), outer = e / S(ACROSS);
#endif
#if S(ALONG_K)
        const int kk = inner, r = outer;
#else
        const int r = inner, kk = outer;
#endif

#ifdef PANEL_OFFSETS
#if S(LOCAL)
        S(at)[u] = S(LOCAL_AT) + r * S(LOCAL_ROW);
#else
        S(at)[u] = S(b)(g, batch) + (S(first) + r < S(end) ? S(row)(g, S(first) + r) : 0);
#endif
        (void)kk;
#endif

#ifdef PANEL_LOAD
#if S(TABLE)
#define PANEL_POINT S(points)[PANEL_K + kk]
#else
#define PANEL_POINT S(k)(g, PANEL_K + kk)
#endif
        /* Rows past the end load row 0 instead, and points past the end of a table are 0; nothing uses these values. Fragments
         * use the points past the end, so they need zeros there. */
#if C(MATRICES) ? PANEL_WHOLE : S(TABLE)
        (void)r;
        const idx at = S(at)[S(ROW_LOADS) > 1 ? u : 0] + PANEL_POINT;
        S(next)[v] = S(LOAD_AT)(at);
#else
#if C(MATRICES)
        (void)r;
        const bool in = PANEL_K + kk < k_end;
#else
        const bool in = S(first) + r < S(end) && PANEL_K + kk < k_end;
#endif
        const idx at = in ? S(at)[S(ROW_LOADS) > 1 ? u : 0] + PANEL_POINT : 0;
#if S(VECTOR) > 1
        S(next)[v].x = 0;
        S(next)[v].y = 0;
        S(next)[v].z = 0;
        S(next)[v].w = 0;
#else
        S(next)[v] = 0;
#endif
        if (in)
            S(next)[v] = S(LOAD_AT)(at);
#endif
#undef PANEL_POINT
#endif

#ifdef PANEL_STORE
        C(LANE) *to = S(shared) + (buffer * C(POINTS) + kk) * S(PITCH) + r;
#if S(TOGETHER)
        S(LANES) q;
        q.x = S(LANE_OF)(S(next)[v].x);
        q.y = S(LANE_OF)(S(next)[v].y);
        q.z = S(LANE_OF)(S(next)[v].z);
        q.w = S(LANE_OF)(S(next)[v].w);
        *(S(LANES) *)to = q;
#elif S(VECTOR) > 1
        const int step = S(ALONG_K) ? S(PITCH) : 1;
        to[0] = S(LANE_OF)(S(next)[v].x);
        to[step] = S(LANE_OF)(S(next)[v].y);
        to[2 * step] = S(LANE_OF)(S(next)[v].z);
        to[3 * step] = S(LANE_OF)(S(next)[v].w);
#else
        to[0] = S(LANE_OF)(S(next)[v]);
#endif
#endif
    }

#ifndef PANEL_KEEPS_SIDE
#undef SIDE
#endif
#undef PANEL_KEEPS_SIDE
#undef PANEL_OFFSETS
#undef PANEL_LOAD
#undef PANEL_STORE
#undef PANEL_FIRST
#undef PANEL_COUNT
#undef PANEL_K
#undef PANEL_WHOLE
