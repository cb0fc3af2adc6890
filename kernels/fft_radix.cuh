/* Fourier transforms of few points, in place: point k becomes the sum over j of point j times exp(-2 pi i j k / R). One
 * source for kernels and for the CPU, where FFT_V is a register of lanes. The order of operations is part of the result.
 * Defined by the includer: FFT_FN, the attributes of functions; FFT_S, the type of numbers; FFT_V, the type of points;
 * FFT_NAME(name), a function's name; FFT_UNROLL, before loops. */

/* (r, i) times (c, s) */
#define FFT_TIMES(r, i, c, s) \
    do { \
        const FFT_V times_r = (r) * (c) - (i) * (s); \
        (i) = (r) * (s) + (i) * (c); \
        (r) = times_r; \
    } while (0)

FFT_FN void FFT_NAME(fft_2)(FFT_V *r, FFT_V *i)
{
    const FFT_V ar = r[0] - r[1], ai = i[0] - i[1];
    r[0] = r[0] + r[1];
    i[0] = i[0] + i[1];
    r[1] = ar;
    i[1] = ai;
}

FFT_FN void FFT_NAME(fft_3)(FFT_V *r, FFT_V *i)
{
    const FFT_S half = (FFT_S)0.5, sine = (FFT_S)0.866025403784438646763723170752936183;
    const FFT_V tr = r[1] + r[2], ti = i[1] + i[2];
    const FFT_V ur = (r[1] - r[2]) * sine, ui = (i[1] - i[2]) * sine;
    const FFT_V cr = r[0] - tr * half, ci = i[0] - ti * half;
    r[0] = r[0] + tr;
    i[0] = i[0] + ti;
    r[1] = cr + ui;
    i[1] = ci - ur;
    r[2] = cr - ui;
    i[2] = ci + ur;
}

FFT_FN void FFT_NAME(fft_4)(FFT_V *r, FFT_V *i)
{
    const FFT_V ar = r[0] + r[2], ai = i[0] + i[2], br = r[0] - r[2], bi = i[0] - i[2];
    const FFT_V cr = r[1] + r[3], ci = i[1] + i[3], dr = r[1] - r[3], di = i[1] - i[3];
    r[0] = ar + cr;
    i[0] = ai + ci;
    r[1] = br + di;
    i[1] = bi - dr;
    r[2] = ar - cr;
    i[2] = ai - ci;
    r[3] = br - di;
    i[3] = bi + dr;
}

FFT_FN void FFT_NAME(fft_5)(FFT_V *r, FFT_V *i)
{
    const FFT_S c1 = (FFT_S)0.309016994374947424102293417182819059;
    const FFT_S c2 = (FFT_S)-0.809016994374947424102293417182819059;
    const FFT_S s1 = (FFT_S)0.951056516295153572116439333379382143;
    const FFT_S s2 = (FFT_S)0.587785252292473129168705954639072769;
    const FFT_V ar = r[1] + r[4], ai = i[1] + i[4], br = r[1] - r[4], bi = i[1] - i[4];
    const FFT_V cr = r[2] + r[3], ci = i[2] + i[3], dr = r[2] - r[3], di = i[2] - i[3];
    const FFT_V er = r[0] + ar * c1 + cr * c2, ei = i[0] + ai * c1 + ci * c2;
    const FFT_V fr = r[0] + ar * c2 + cr * c1, fi = i[0] + ai * c2 + ci * c1;
    const FFT_V gr = br * s1 + dr * s2, gi = bi * s1 + di * s2;
    const FFT_V hr = br * s2 - dr * s1, hi = bi * s2 - di * s1;
    r[0] = r[0] + ar + cr;
    i[0] = i[0] + ai + ci;
    r[1] = er + gi;
    i[1] = ei - gr;
    r[2] = fr + hi;
    i[2] = fi - hr;
    r[3] = fr - hi;
    i[3] = fi + hr;
    r[4] = er - gi;
    i[4] = ei + gr;
}

/* 2 x 3 without factors between: points 3 a + 2 b, results 3 a + 4 b, modulo 6. */
FFT_FN void FFT_NAME(fft_6)(FFT_V *r, FFT_V *i)
{
    FFT_V ar[3] = {r[0], r[2], r[4]}, ai[3] = {i[0], i[2], i[4]};
    FFT_V br[3] = {r[3], r[5], r[1]}, bi[3] = {i[3], i[5], i[1]};
    FFT_NAME(fft_3)(ar, ai);
    FFT_NAME(fft_3)(br, bi);
    r[0] = ar[0] + br[0];
    i[0] = ai[0] + bi[0];
    r[3] = ar[0] - br[0];
    i[3] = ai[0] - bi[0];
    r[4] = ar[1] + br[1];
    i[4] = ai[1] + bi[1];
    r[1] = ar[1] - br[1];
    i[1] = ai[1] - bi[1];
    r[2] = ar[2] + br[2];
    i[2] = ai[2] + bi[2];
    r[5] = ar[2] - br[2];
    i[5] = ai[2] - bi[2];
}

/* Four points, every second, and the others, which are turned before the halves are joined. */
FFT_FN void FFT_NAME(fft_8)(FFT_V *r, FFT_V *i)
{
    const FFT_S h = (FFT_S)0.707106781186547524400844362104849039;
    FFT_V ar[4] = {r[0], r[2], r[4], r[6]}, ai[4] = {i[0], i[2], i[4], i[6]};
    FFT_V br[4] = {r[1], r[3], r[5], r[7]}, bi[4] = {i[1], i[3], i[5], i[7]};
    FFT_NAME(fft_4)(ar, ai);
    FFT_NAME(fft_4)(br, bi);
    const FFT_V cr = (br[1] + bi[1]) * h, ci = (bi[1] - br[1]) * h;
    const FFT_V dr = (bi[3] - br[3]) * h, di = (br[3] + bi[3]) * h;
    r[0] = ar[0] + br[0];
    i[0] = ai[0] + bi[0];
    r[4] = ar[0] - br[0];
    i[4] = ai[0] - bi[0];
    r[1] = ar[1] + cr;
    i[1] = ai[1] + ci;
    r[5] = ar[1] - cr;
    i[5] = ai[1] - ci;
    r[2] = ar[2] + bi[2];
    i[2] = ai[2] - br[2];
    r[6] = ar[2] - bi[2];
    i[6] = ai[2] + br[2];
    r[3] = ar[3] + dr;
    i[3] = ai[3] - di;
    r[7] = ar[3] - dr;
    i[7] = ai[3] + di;
}

/* Points k, R + k, 2 R + k of three times R points. */
#define FFT_THREE(r, i, k, R) \
    do { \
        FFT_V three_r[3] = {r[k], r[(k) + (R)], r[(k) + 2 * (R)]}; \
        FFT_V three_i[3] = {i[k], i[(k) + (R)], i[(k) + 2 * (R)]}; \
        FFT_NAME(fft_3)(three_r, three_i); \
        r[k] = three_r[0]; \
        i[k] = three_i[0]; \
        r[(k) + (R)] = three_r[1]; \
        i[(k) + (R)] = three_i[1]; \
        r[(k) + 2 * (R)] = three_r[2]; \
        i[(k) + 2 * (R)] = three_i[2]; \
    } while (0)
#define FFT_SWAP(r, i, a, b) \
    do { \
        const FFT_V swap_r = r[a], swap_i = i[a]; \
        r[a] = r[b]; \
        i[a] = i[b]; \
        r[b] = swap_r; \
        i[b] = swap_i; \
    } while (0)

FFT_FN void FFT_NAME(fft_9)(FFT_V *r, FFT_V *i)
{
    const FFT_S c1 = (FFT_S)0.766044443118978035202392650555416674;
    const FFT_S s1 = (FFT_S)-0.642787609686539326322643409907263433;
    const FFT_S c2 = (FFT_S)0.173648177666930348851716626769314796;
    const FFT_S s2 = (FFT_S)-0.984807753012208059366743024589523014;
    const FFT_S c4 = (FFT_S)-0.939692620785908384054109277324731470;
    const FFT_S s4 = (FFT_S)-0.342020143325668733044099614682259581;
    FFT_THREE(r, i, 0, 3);
    FFT_THREE(r, i, 1, 3);
    FFT_THREE(r, i, 2, 3);
    FFT_TIMES(r[4], i[4], c1, s1);
    FFT_TIMES(r[5], i[5], c2, s2);
    FFT_TIMES(r[7], i[7], c2, s2);
    FFT_TIMES(r[8], i[8], c4, s4);
    FFT_NAME(fft_3)(r, i);
    FFT_NAME(fft_3)(r + 3, i + 3);
    FFT_NAME(fft_3)(r + 6, i + 6);
    FFT_SWAP(r, i, 1, 3);
    FFT_SWAP(r, i, 2, 6);
    FFT_SWAP(r, i, 5, 7);
}

/* 2 x 5 without factors between: points 5 a + 2 b, results 5 a + 6 b, modulo 10. */
FFT_FN void FFT_NAME(fft_10)(FFT_V *r, FFT_V *i)
{
    FFT_V ar[5] = {r[0], r[2], r[4], r[6], r[8]}, ai[5] = {i[0], i[2], i[4], i[6], i[8]};
    FFT_V br[5] = {r[5], r[7], r[9], r[1], r[3]}, bi[5] = {i[5], i[7], i[9], i[1], i[3]};
    FFT_NAME(fft_5)(ar, ai);
    FFT_NAME(fft_5)(br, bi);
    r[0] = ar[0] + br[0];
    i[0] = ai[0] + bi[0];
    r[5] = ar[0] - br[0];
    i[5] = ai[0] - bi[0];
    r[6] = ar[1] + br[1];
    i[6] = ai[1] + bi[1];
    r[1] = ar[1] - br[1];
    i[1] = ai[1] - bi[1];
    r[2] = ar[2] + br[2];
    i[2] = ai[2] + bi[2];
    r[7] = ar[2] - br[2];
    i[7] = ai[2] - bi[2];
    r[8] = ar[3] + br[3];
    i[8] = ai[3] + bi[3];
    r[3] = ar[3] - br[3];
    i[3] = ai[3] - bi[3];
    r[4] = ar[4] + br[4];
    i[4] = ai[4] + bi[4];
    r[9] = ar[4] - br[4];
    i[9] = ai[4] - bi[4];
}

/* Four points of a row of 4 x 4, at k, k + 4, k + 8 and k + 12. */
#define FFT_FOUR(r, i, k) \
    do { \
        FFT_V four_r[4] = {r[k], r[(k) + 4], r[(k) + 8], r[(k) + 12]}; \
        FFT_V four_i[4] = {i[k], i[(k) + 4], i[(k) + 8], i[(k) + 12]}; \
        FFT_NAME(fft_4)(four_r, four_i); \
        r[k] = four_r[0]; \
        i[k] = four_i[0]; \
        r[(k) + 4] = four_r[1]; \
        i[(k) + 4] = four_i[1]; \
        r[(k) + 8] = four_r[2]; \
        i[(k) + 8] = four_i[2]; \
        r[(k) + 12] = four_r[3]; \
        i[(k) + 12] = four_i[3]; \
    } while (0)

FFT_FN void FFT_NAME(fft_16)(FFT_V *r, FFT_V *i)
{
    const FFT_S c = (FFT_S)0.923879532511286756128183189396788287;
    const FFT_S s = (FFT_S)0.382683432365089771728459984030398866;
    const FFT_S h = (FFT_S)0.707106781186547524400844362104849039;
    FFT_FOUR(r, i, 0);
    FFT_FOUR(r, i, 1);
    FFT_FOUR(r, i, 2);
    FFT_FOUR(r, i, 3);
    FFT_TIMES(r[5], i[5], c, -s);
    FFT_TIMES(r[6], i[6], h, -h);
    FFT_TIMES(r[7], i[7], s, -c);
    FFT_TIMES(r[9], i[9], h, -h);
    {
        const FFT_V t = r[10];
        r[10] = i[10];
        i[10] = -t;
    }
    FFT_TIMES(r[11], i[11], -h, -h);
    FFT_TIMES(r[13], i[13], s, -c);
    FFT_TIMES(r[14], i[14], -h, -h);
    FFT_TIMES(r[15], i[15], -c, s);
    FFT_NAME(fft_4)(r, i);
    FFT_NAME(fft_4)(r + 4, i + 4);
    FFT_NAME(fft_4)(r + 8, i + 8);
    FFT_NAME(fft_4)(r + 12, i + 12);
    FFT_SWAP(r, i, 1, 4);
    FFT_SWAP(r, i, 2, 8);
    FFT_SWAP(r, i, 3, 12);
    FFT_SWAP(r, i, 6, 9);
    FFT_SWAP(r, i, 7, 13);
    FFT_SWAP(r, i, 11, 14);
}

/* An odd prime of points, n at most 31; w has the n roots, pairs of exp(-2 pi i k / n). */
FFT_FN void FFT_NAME(fft_odd)(const int n, const FFT_S *w, FFT_V *r, FFT_V *i)
{
    FFT_V zr = r[0], zi = i[0];
    FFT_UNROLL
    for (int j = 1; j <= n / 2; j++) {
        const FFT_V ur = r[j] - r[n - j], ui = i[j] - i[n - j];
        r[j] = r[j] + r[n - j];
        i[j] = i[j] + i[n - j];
        r[n - j] = ur;
        i[n - j] = ui;
        zr = zr + r[j];
        zi = zi + i[j];
    }
    FFT_V yr[31], yi[31];
    FFT_UNROLL
    for (int k = 1; k <= n / 2; k++) {
        FFT_V cr = r[0] + r[1] * w[2 * k], ci = i[0] + i[1] * w[2 * k];
        FFT_V sr = r[n - 1] * w[2 * k + 1], si = i[n - 1] * w[2 * k + 1];
        FFT_UNROLL
        for (int j = 2; j <= n / 2; j++) {
            const int e = j * k % n;
            cr = cr + r[j] * w[2 * e];
            ci = ci + i[j] * w[2 * e];
            sr = sr + r[n - j] * w[2 * e + 1];
            si = si + i[n - j] * w[2 * e + 1];
        }
        yr[k] = cr - si;
        yi[k] = ci + sr;
        yr[n - k] = cr + si;
        yi[n - k] = ci - sr;
    }
    r[0] = zr;
    i[0] = zi;
    FFT_UNROLL
    for (int k = 1; k < n; k++) {
        r[k] = yr[k];
        i[k] = yi[k];
    }
}
