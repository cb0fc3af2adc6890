/* Division by a number that divides many: DIVISOR(dr, di), then QUOTIENT for each. T, Z and SIZE: see factor_steps.cuh. */
#ifndef DIVISOR

/* x / d, for complex numbers by Smith's method. Half of both is taken, so that no sum of two parts overflows. */
#define HALF(x) ((T)0.5 * (x))
#define DIVISOR(dr, di) \
    const int swap = Z && SIZE(di) > SIZE(dr); \
    const T ratio = !Z ? 0 : swap ? (dr) / (di) : (di) / (dr); \
    const T below = !Z ? (dr) : swap ? HALF(dr) * ratio + HALF(di) : HALF(dr) + HALF(di) * ratio
#define QUOTIENT(xr, xi, qr, qi) \
    do { \
        const T pr = (xr), pi = (xi); \
        if (!Z) { \
            (qr) = pr / below; \
        } else if (swap) { \
            (qr) = (HALF(pr) * ratio + HALF(pi)) / below; \
            (qi) = (HALF(pi) * ratio - HALF(pr)) / below; \
        } else { \
            (qr) = (HALF(pr) + HALF(pi) * ratio) / below; \
            (qi) = (HALF(pi) - HALF(pr) * ratio) / below; \
        } \
    } while (0)

#endif
