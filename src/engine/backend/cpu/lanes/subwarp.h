/* The loops of kernels/subwarp.cuh for the CPU, with the same bits: one thread takes a matrix, and the lanes of a
 * subwarp are a register. Included by spectral.inc only, after REAL and COMPLEX. */
#ifndef LANES_SUBWARP_H
#define LANES_SUBWARP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8, PLANES = COMPLEX ? 2 : 1 };

#define UNIT_IS_TWO (F64 && SIMD_BYTES == 16)
#define UNIT_IS_FOUR (F64 ? SIMD_BYTES == 32 : SIMD_BYTES == 16)
#define FUNCTION static inline __attribute__((unused))
#define ROOT(x) (sizeof(REAL) == sizeof(float) ? (REAL)sqrtf((float)(x)) : (REAL)sqrt((double)(x)))
#define SYNC ((void)0)
#define IS_FIRST true
#define IS_FIRST_LANE true
#define RAISE(flag) (*(flag) = 1)
#define AT(x, offset) (COMPLEX ? (x) + (offset) : (x))
#define BLOCK(i, n) for (int i = 0; i < (n); i++)
#define SUBWARPS(p, count) for (int p = 0; p < (count); p++)
#define EACH_LANE(i, n) for (int i = 0; i < (n); i++)

#if F64
#define LARGEST 1.7976931348623157e308
#else
#define LARGEST 3.4028234663852886e38f
#endif

/* The lanes of a subwarp, and as many of them as a register has. */
typedef REAL wide __attribute__((vector_size(8 * sizeof(REAL))));
typedef wide wide_memory __attribute__((aligned(sizeof(REAL)), may_alias));
#define WIDE(at) (*(wide_memory *)(at))
#define WIDE_OF(at) (*(const wide_memory *)(at))

enum {
    UNIT_BYTES = (int)SIMD_BYTES < (int)(LANES * sizeof(REAL)) ? (int)SIMD_BYTES
                                                               : (int)(LANES * sizeof(REAL)),
    UNIT = UNIT_BYTES / (int)sizeof(REAL),
    UNITS = LANES / UNIT
};
typedef REAL unit __attribute__((vector_size(UNIT_BYTES)));
typedef unit unit_memory __attribute__((aligned(sizeof(REAL)), may_alias));
#define UNIT_AT(at) (*(unit_memory *)(at))
#define UNIT_OF(at) (*(const unit_memory *)(at))
#define EACH_UNIT(u) SIMD_UNROLL_4 for (int u = 0; u < UNITS; u++)

typedef struct turn {
    REAL a, b, c, d, re, im;
} turn;

/* The first n < LANES elements, then zeros. */
FUNCTION void few_of(REAL *to, int n, const REAL *from)
{
    for (int i = 0; i < LANES; i++)
        to[i] = i < n ? from[i] : 0;
}

#define TOTAL(p) (((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])))

#define LANE_SUM(sum) REAL sum[LANES] = {0}
#define LANE_ADD(sum, i, x) sum[(i) % LANES] += (x)
#define LANE_TOTAL(part, sum) ((void)(part), TOTAL(sum))

/* The total of a subwarp's sums, in the order of TOTAL. */
FUNCTION REAL unit_total(const unit *p)
{
    typedef REAL two __attribute__((vector_size(2 * sizeof(REAL))));
#if UNIT_IS_TWO
    const two t = (p[0] + p[2]) + (p[1] + p[3]);
#else
    typedef REAL four __attribute__((vector_size(4 * sizeof(REAL))));
#if UNIT_IS_FOUR
    const four f = p[0] + p[1];
#else
    const four f = __builtin_shufflevector(p[0], p[0], 0, 1, 2, 3) +
                   __builtin_shufflevector(p[0], p[0], 4, 5, 6, 7);
#endif
    const two t = __builtin_shufflevector(f, f, 0, 1) + __builtin_shufflevector(f, f, 2, 3);
#endif
    return t[0] + t[1];
}

/* The elements of x from i on, at the end of a row of n, in two registers' room of ends, followed by zeros. */
FUNCTION void fill_up(REAL *ends, int n, int i, const REAL **re, const REAL **im)
{
    few_of(ends, n - i, *re + i);
    *re = ends - i;
    if (COMPLEX) {
        few_of(ends + LANES, n - i, *im + i);
        *im = ends + LANES - i;
    }
}

FUNCTION __attribute__((always_inline)) void subwarp_products(REAL *part, int n, const REAL *xr,
                                                              const REAL *xi, const REAL *yr,
                                                              const REAL *yi, REAL *out)
{
    unit xx[UNITS] = {{0}}, yy[UNITS] = {{0}}, re[UNITS] = {{0}}, im[UNITS] = {{0}};
    REAL end[4][LANES];
    (void)part;
    for (int i = 0; i < n; i += LANES) {
        if (n - i < LANES) {
            fill_up(end[0], n, i, &xr, &xi);
            fill_up(end[2], n, i, &yr, &yi);
        }
        EACH_UNIT(u)
        {
            const unit x = UNIT_OF(xr + i + u * UNIT), y = UNIT_OF(yr + i + u * UNIT);
            xx[u] += x * x;
            yy[u] += y * y;
            re[u] += x * y;
            if (COMPLEX) {
                const unit v = UNIT_OF(xi + i + u * UNIT), w = UNIT_OF(yi + i + u * UNIT);
                xx[u] += v * v;
                yy[u] += w * w;
                re[u] += v * w;
                im[u] += x * w;
                im[u] -= v * y;
            }
        }
    }
    out[0] = unit_total(xx);
    out[1] = unit_total(yy);
    out[2] = unit_total(re);
    out[3] = COMPLEX ? unit_total(im) : 0;
}

FUNCTION void subwarp_dot(REAL *part, int n, bool plain, const REAL *xr, const REAL *xi,
                          const REAL *yr, const REAL *yi, REAL *out)
{
    unit re[UNITS] = {{0}}, im[UNITS] = {{0}};
    const REAL sign = plain ? -1 : 1;
    REAL end[4][LANES];
    (void)part;
    for (int i = 0; i < n; i += LANES) {
        if (n - i < LANES) {
            fill_up(end[0], n, i, &xr, &xi);
            fill_up(end[2], n, i, &yr, &yi);
        }
        EACH_UNIT(u)
        {
            const unit x = UNIT_OF(xr + i + u * UNIT), y = UNIT_OF(yr + i + u * UNIT);
            re[u] += x * y;
            if (COMPLEX) {
                const unit v = sign * UNIT_OF(xi + i + u * UNIT), w = UNIT_OF(yi + i + u * UNIT);
                re[u] += v * w;
                im[u] += x * w;
                im[u] -= v * y;
            }
        }
    }
    out[0] = unit_total(re);
    out[1] = COMPLEX ? unit_total(im) : 0;
}

/* The largest of *most and the magnitudes of n numbers. Returns false if one is not finite. */
FUNCTION bool largest_of(int n, const REAL *x, REAL *most)
{
    pack high = {0};
    pack_mask bad = {0};
    bool good = true;
    int i = 0;
    for (; i + STACK_EACH <= n; i += STACK_EACH) {
        const pack a = pack_absolute(PACK_OF(x + i));
        bad |= ~(a <= LARGEST);
        high = pack_choose(a > high, a, high);
    }
    for (int j = 0; j < STACK_EACH; j++) {
        good &= !bad[j];
        *most = high[j] > *most ? high[j] : *most;
    }
    for (; i < n; i++) {
        const REAL a = x[i] < 0 ? -x[i] : x[i];
        good &= a <= LARGEST;
        *most = a > *most ? a : *most;
    }
    return good;
}

/* The sign of the element of x that has the largest magnitude; 0 if elements of both signs have it. */
FUNCTION REAL largest_sign(int n, const REAL *x)
{
    REAL high = x[0], low = x[0];
    int i = 0;
    if (n >= STACK_EACH) {
        pack most = PACK_OF(x), least = most;
        for (i = STACK_EACH; i + STACK_EACH <= n; i += STACK_EACH) {
            const pack a = PACK_OF(x + i);
            most = pack_choose(a > most, a, most);
            least = pack_choose(a < least, a, least);
        }
        for (int j = 0; j < STACK_EACH; j++) {
            high = most[j] > high ? most[j] : high;
            low = least[j] < low ? least[j] : low;
        }
    }
    for (; i < n; i++) {
        high = x[i] > high ? x[i] : high;
        low = x[i] < low ? x[i] : low;
    }
    return high > -low ? 1 : high < -low ? -1 : 0;
}

FUNCTION REAL block_largest(REAL *part, int n, const REAL *xr, const REAL *xi)
{
    REAL most = 0;
    bool good = largest_of(n, xr, &most);
    (void)part;
    if (COMPLEX)
        good &= largest_of(n, xi, &most);
    return good ? most : -1;
}

FUNCTION void subwarp_turn(int n, const turn t, REAL *xr, REAL *xi, REAL *yr, REAL *yi)
{
    int i = 0;
    for (; i + UNIT <= n; i += UNIT) {
        const unit x = UNIT_OF(xr + i);
        unit y = UNIT_OF(yr + i) * t.re;
        if (COMPLEX) {
            const unit u = UNIT_OF(xi + i), v = UNIT_OF(yr + i) * t.im + UNIT_OF(yi + i) * t.re;
            y -= UNIT_OF(yi + i) * t.im;
            UNIT_AT(xi + i) = t.a * u + t.b * v;
            UNIT_AT(yi + i) = t.c * u + t.d * v;
        }
        UNIT_AT(xr + i) = t.a * x + t.b * y;
        UNIT_AT(yr + i) = t.c * x + t.d * y;
    }
    for (; i < n; i++) {
        const REAL x = xr[i], y = COMPLEX ? yr[i] * t.re - yi[i] * t.im : yr[i] * t.re;
        if (COMPLEX) {
            const REAL u = xi[i], v = yr[i] * t.im + yi[i] * t.re;
            xi[i] = t.a * u + t.b * v;
            yi[i] = t.c * u + t.d * v;
        }
        xr[i] = t.a * x + t.b * y;
        yr[i] = t.c * x + t.d * y;
    }
}

/* `count` neighbouring elements of the rows, in registers of LANES or as single elements. */
#define TURN_STRIP(type, load, store, count) \
    for (int sweep = 0; sweep < done; sweep++) { \
        const int from = (int)plan[2 * sweep], to = (int)plan[2 * sweep + 1]; \
        const int64_t way = from > to ? -n : n; \
        const REAL *t = turns + (int64_t)2 * sweep * n; \
        REAL *row = q + (int64_t)from * n; \
        type h[count]; \
        for (int j = 0; j < (count); j++) \
            h[j] = load(row, j); \
        for (int i = from > to ? from - to : to - from; i > 0; i--, t += 2, row += way) \
            for (int j = 0; j < (count); j++) { \
                const type x = load(row + way, j); \
                store(row, j) = t[1] * x + t[0] * h[j]; \
                h[j] = t[0] * x - t[1] * h[j]; \
            } \
        for (int j = 0; j < (count); j++) \
            store(row, j) = h[j]; \
    }
#define WIDE_LOAD(row, j) WIDE_OF((row) + (j)*LANES)
#define WIDE_STORE(row, j) WIDE((row) + (j)*LANES)
#define ONE_PLACE(row, j) ((row)[j])

FUNCTION void turn_plane(int n, int done, const REAL *plan, const REAL *turns, REAL *q)
{
    int at = 0;
    for (; at + 4 * LANES <= n; at += 4 * LANES, q += 4 * LANES)
        TURN_STRIP(wide, WIDE_LOAD, WIDE_STORE, 4)
    for (; at + LANES <= n; at += LANES, q += LANES)
        TURN_STRIP(wide, WIDE_LOAD, WIDE_STORE, 1)
    for (; at < n; at++, q++)
        TURN_STRIP(REAL, ONE_PLACE, ONE_PLACE, 1)
}

FUNCTION void block_turns(int n, int done, const REAL *plan, const REAL *turns, REAL *qr, REAL *qi)
{
    turn_plane(n, done, plan, turns, qr);
    if (COMPLEX)
        turn_plane(n, done, plan, turns, qi);
}

#endif
