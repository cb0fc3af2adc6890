/* A pass of fft.cu, of radix RADIX, after passes whose radices have the product BESIDE. Sum t = p * BESIDE + q of the
 * POINTS / RADIX sums has the points t + k * SUMS, and its results go to q + BESIDE * (RADIX * p + k). NEXT is the radix of
 * the next pass. The names that the includer defines are undefined at the end. */
#define SUMS (POINTS / RADIX)
#define MORE (POINTS / (RADIX * BESIDE))
#define ROUNDS ((SUMS + PER_LINE - 1) / PER_LINE)
#define HAS_ROOTS (RADIX == 7 || RADIX == 11 || RADIX == 13 || RADIX > 16)
#define PASS_AT (t * RADIX - t % BESIDE * (RADIX - 1) + k * BESIDE)

#if IS_FIRST
#pragma unroll
for (int b = 0; b < ROUNDS; b++) {
    const int t = thread + b * PER_LINE;
    const bool reads = there && t < SUMS;
#pragma unroll
    for (int k = 0; k < RADIX; k++) {
        const REAL *at = from + (reads ? 2 * ((long long)(t + k * SUMS) * in_point) : 0);
        const REAL first = reads ? at[0] : (REAL)0, second = reads ? at[1] : (REAL)0;
        r[b * RADIX + k] = backward ? second : first;
        i[b * RADIX + k] = backward ? first : second;
    }
}
#endif

#pragma unroll
for (int b = 0; b < ROUNDS; b++) {
    const int t = thread + b * PER_LINE;
    if (t < SUMS) {
#if HAS_ROOTS
        fft_odd(RADIX, w, r + b * RADIX, i + b * RADIX);
#else
        JOIN(fft_, RADIX)(r + b * RADIX, i + b * RADIX);
#endif
#if MORE > 1
        const REAL *factors = w + 2 * (HAS_ROOTS * RADIX + t / BESIDE * (RADIX - 1));
#pragma unroll
        for (int k = 1; k < RADIX; k++)
            FFT_TIMES(r[b * RADIX + k], i[b * RADIX + k], factors[2 * k - 2], factors[2 * k - 1]);
#endif
    }
}

#if IS_LAST
#pragma unroll
for (int b = 0; b < ROUNDS; b++) {
    const int t = thread + b * PER_LINE;
#pragma unroll
    for (int k = 0; k < RADIX; k++)
        if (there && t < SUMS) {
            const int at = t + k * BESIDE;
            if (turns) {
                const REAL *fine = turn + 2 * (at % turns * lines + within);
                const REAL *coarse = turn + 2 * ((turns + at / turns) * lines + within);
                const REAL c = coarse[0] * fine[0] - coarse[1] * fine[1];
                const REAL s = coarse[0] * fine[1] + coarse[1] * fine[0];
                FFT_TIMES(r[b * RADIX + k], i[b * RADIX + k], c, s);
            }
            REAL *place = to + 2 * (at * out_point);
            place[0] = (backward ? i[b * RADIX + k] : r[b * RADIX + k]) * scale;
            place[1] = (backward ? r[b * RADIX + k] : i[b * RADIX + k]) * scale;
        }
}
#else
/* The results become the points of the next pass. */
w += 2 * (HAS_ROOTS * RADIX + MORE * (RADIX - 1));
#define EXCHANGE(parts) \
    __syncthreads(); \
    _Pragma("unroll") for (int b = 0; b < ROUNDS; b++) \
    { \
        const int t = thread + b * PER_LINE; \
        _Pragma("unroll") for (int k = 0; k < RADIX; k++) if (t < SUMS) \
            shared[PLACE(PASS_AT)] = parts[b * RADIX + k]; \
    } \
    __syncthreads(); \
    _Pragma("unroll") for (int b = 0; b < (POINTS / NEXT + PER_LINE - 1) / PER_LINE; b++) \
    { \
        const int t = thread + b * PER_LINE; \
        _Pragma("unroll") for (int k = 0; k < NEXT; k++) if (t < POINTS / NEXT) \
            parts[b * NEXT + k] = shared[PLACE(t + k * (POINTS / NEXT))]; \
    }
EXCHANGE(r)
EXCHANGE(i)
#undef EXCHANGE
#endif

#undef SUMS
#undef MORE
#undef ROUNDS
#undef HAS_ROOTS
#undef PASS_AT
#undef RADIX
#undef BESIDE
#undef NEXT
#undef IS_FIRST
#undef IS_LAST
