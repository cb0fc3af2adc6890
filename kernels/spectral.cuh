/* Constants and steps of decompositions, for the kernels that include it and for the CPU
 * (src/engine/backend/cpu/lanes/spectral.inc). REAL is float or double (F64), COMPLEX is 0 or 1. */
#ifndef SPECTRAL_CUH
#define SPECTRAL_CUH

#if F64
#define EPSILON 2.220446049250313e-16 /* 2^-52 */
#define TARGET_LOW 0x1p300
#define STEP_BITS 64
#define CUT 0x1p-450 /* columns that are shorter are 0 after scaling */
#define FAR 0x1p500
#define SCALE_MOST 0x1p1000
#else
#define EPSILON 1.1920928955078125e-7f /* 2^-23 */
#define TARGET_LOW 0x1p40f
#define STEP_BITS 16
#define CUT 0x1p-50f
#define FAR 0x1p60f
#define SCALE_MOST 0x1p120f
#endif

FUNCTION REAL absolute(REAL x) { return x < 0 ? -x : x; }

FUNCTION REAL not_a_number(void)
{
    REAL zero = 0;
    return zero / zero;
}

/* The square root of a^2 + b^2, without overflow. */
FUNCTION REAL length_of(REAL a, REAL b)
{
    const REAL x = absolute(a), y = absolute(b), high = x > y ? x : y, low = x > y ? y : x;
    if (!(high > 0))
        return high;
    const REAL ratio = low / high;
    return high * ROOT(1 + ratio * ratio);
}

/* A power of 2 that brings `most` to at least target and less than 2 target, or near if that would need a factor beyond
 * SCALE_MOST; 1 for 0. */
FUNCTION REAL scale_to(REAL most, REAL target)
{
    REAL scale = 1;
    if (!(most > 0))
        return scale;
    for (int step = STEP_BITS; step > 0; step /= 4) {
        REAL factor = (REAL)(1 << (step > 16 ? 16 : step)); /* 2^step, for 64 by squares */
        if (step > 16)
            factor = factor * factor * (factor * factor);
        while (most * scale * factor <= target && scale * factor <= SCALE_MOST)
            scale *= factor;
        while (most * scale >= target * 2 && scale >= factor / SCALE_MOST)
            scale /= factor;
    }
    return scale;
}

/* The conjugate of the direction of the component of x that has the largest modulus. */
FUNCTION void direction_of(int n, const REAL *xr, const REAL *xi, REAL *re, REAL *im)
{
    REAL most = -1;
    int at = 0;
#if defined(ON_CPU) && !COMPLEX
    *im = 0;
    *re = n > 0 ? largest_sign(n, xr) : 1;
    if (*re != 0)
        return;
#endif
    for (int i = 0; i < n; i++) {
        const REAL size = COMPLEX ? xr[i] * xr[i] + xi[i] * xi[i] : absolute(xr[i]);
        at = size > most ? i : at;
        most = size > most ? size : most;
    }
    *re = n > 0 && xr[at] < 0 ? -1 : 1;
    *im = 0;
    if (COMPLEX && n > 0) {
        const REAL size = length_of(xr[at], xi[at]);
        *re = size > 0 ? xr[at] / size : 1;
        *im = size > 0 ? -xi[at] / size : 0;
    }
}

/* to = x times a complex number. */
FUNCTION void subwarp_times(int n, REAL re, REAL im, const REAL *xr, const REAL *xi, REAL *tr, REAL *ti)
{
    EACH_LANE(i, n) {
        const REAL x = xr[i];
        if (COMPLEX) {
            tr[i] = x * re - xi[i] * im;
            ti[i] = x * im + xi[i] * re;
        } else {
            tr[i] = x * re;
        }
    }
}

/* y += a complex number times x. */
FUNCTION void subwarp_add(int n, REAL re, REAL im, const REAL *xr, const REAL *xi, REAL *yr, REAL *yi)
{
    EACH_LANE(i, n) {
        if (COMPLEX) {
            yr[i] += re * xr[i] - im * xi[i];
            yi[i] += re * xi[i] + im * xr[i];
        } else {
            yr[i] += re * xr[i];
        }
    }
}

#endif
