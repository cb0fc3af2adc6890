/* The loops of kernels/team.cuh for the CPU, with the same bits: one thread takes a matrix, and the lanes of a team are a
 * register. Included by spectral.inc only, after REAL and
 * COMPLEX. */
#ifndef LANES_TEAM_H
#define LANES_TEAM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8, PLANES = COMPLEX ? 2 : 1 };

#define FUNCTION static inline __attribute__((unused))
#define ROOT(x) (sizeof(REAL) == sizeof(float) ? (REAL)sqrtf((float)(x)) : (REAL)sqrt((double)(x)))
#define SYNC ((void)0)
#define IS_FIRST true
#define IS_FIRST_LANE true
#define RAISE(flag) (*(flag) = 1)
#define AT(x, offset) (COMPLEX ? (x) + (offset) : (x))
#define BLOCK(i, n) for (int i = 0; i < (n); i++)
#define TEAMS(p, count) for (int p = 0; p < (count); p++)
#define EACH_LANE(i, n) for (int i = 0; i < (n); i++)

#if F64
#define LARGEST 1.7976931348623157e308
#else
#define LARGEST 3.4028234663852886e38f
#endif

typedef REAL wide __attribute__((vector_size(8 * sizeof(REAL))));
typedef wide wide_memory __attribute__((aligned(sizeof(REAL)), may_alias));
#define WIDE(at) (*(wide_memory *)(at))
#define WIDE_OF(at) (*(const wide_memory *)(at))

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

FUNCTION void team_products(REAL *part, int n, const REAL *xr, const REAL *xi, const REAL *yr,
                            const REAL *yi, REAL *out)
{
    wide xx = {0}, yy = {0}, re = {0}, im = {0};
    REAL end[4][LANES];
    (void)part;
    for (int i = 0; i < n; i += LANES) {
        if (n - i < LANES) {
            fill_up(end[0], n, i, &xr, &xi);
            fill_up(end[2], n, i, &yr, &yi);
        }
        const wide x = WIDE_OF(xr + i), y = WIDE_OF(yr + i);
        xx += x * x;
        yy += y * y;
        re += x * y;
        if (COMPLEX) {
            const wide u = WIDE_OF(xi + i), v = WIDE_OF(yi + i);
            xx += u * u;
            yy += v * v;
            re += u * v;
            im += x * v;
            im -= u * y;
        }
    }
    out[0] = TOTAL(xx);
    out[1] = TOTAL(yy);
    out[2] = TOTAL(re);
    out[3] = COMPLEX ? TOTAL(im) : 0;
}

FUNCTION void team_dot(REAL *part, int n, bool plain, const REAL *xr, const REAL *xi,
                       const REAL *yr, const REAL *yi, REAL *out)
{
    wide re = {0}, im = {0};
    const REAL sign = plain ? -1 : 1;
    REAL end[4][LANES];
    (void)part;
    for (int i = 0; i < n; i += LANES) {
        if (n - i < LANES) {
            fill_up(end[0], n, i, &xr, &xi);
            fill_up(end[2], n, i, &yr, &yi);
        }
        const wide x = WIDE_OF(xr + i), y = WIDE_OF(yr + i);
        re += x * y;
        if (COMPLEX) {
            const wide u = sign * WIDE_OF(xi + i), v = WIDE_OF(yi + i);
            re += u * v;
            im += x * v;
            im -= u * y;
        }
    }
    out[0] = TOTAL(re);
    out[1] = COMPLEX ? TOTAL(im) : 0;
}

FUNCTION REAL block_largest(REAL *part, int n, const REAL *xr, const REAL *xi)
{
    REAL most = 0;
    bool bad = false;
    (void)part;
    for (int plane = 0; plane < PLANES; plane++) {
        const REAL *x = plane ? xi : xr;
        for (int i = 0; i < n; i++) {
            const REAL a = x[i] < 0 ? -x[i] : x[i];
            bad |= !(a <= LARGEST);
            most = a > most ? a : most;
        }
    }
    return bad ? -1 : most;
}

FUNCTION void team_turn(int n, const turn t, REAL *xr, REAL *xi, REAL *yr, REAL *yi)
{
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        const wide x = WIDE_OF(xr + i);
        wide y = WIDE_OF(yr + i) * t.re;
        if (COMPLEX) {
            const wide u = WIDE_OF(xi + i), v = WIDE_OF(yr + i) * t.im + WIDE_OF(yi + i) * t.re;
            y -= WIDE_OF(yi + i) * t.im;
            WIDE(xi + i) = t.a * u + t.b * v;
            WIDE(yi + i) = t.c * u + t.d * v;
        }
        WIDE(xr + i) = t.a * x + t.b * y;
        WIDE(yr + i) = t.c * x + t.d * y;
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
