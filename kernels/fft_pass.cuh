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
        PAIR point;
        point.x = point.y = 0;
        if (reads)
            point = from[(long long)(t + k * SUMS) * in_point];
        r[b * RADIX + k] = backward ? point.y : point.x;
        i[b * RADIX + k] = backward ? point.x : point.y;
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
        const PAIR *factors =
            (const PAIR *)w + (HAS_ROOTS * RADIX + t / BESIDE * (RADIX - 1));
#pragma unroll
        for (int k = 1; k < RADIX; k++) {
            const PAIR factor = factors[k - 1];
            FFT_TIMES(r[b * RADIX + k], i[b * RADIX + k], factor.x, factor.y);
        }
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
                const PAIR f = fine[at % turns * lines];
                const PAIR g = fine[(turns + at / turns) * lines];
                const REAL c = g.x * f.x - g.y * f.y;
                const REAL s = g.x * f.y + g.y * f.x;
                FFT_TIMES(r[b * RADIX + k], i[b * RADIX + k], c, s);
            }
            PAIR result;
            result.x = (backward ? i[b * RADIX + k] : r[b * RADIX + k]) * scale;
            result.y = (backward ? r[b * RADIX + k] : i[b * RADIX + k]) * scale;
            to[at * out_point] = result;
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
