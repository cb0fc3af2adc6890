/* Compares the results of two devices, element by element. */
#include "run/run.h"

#include <math.h>
#include <string.h>

static uint64_t bits_at(const void *data, size_t width, int64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + (size_t)i * width, width); /* little-endian */
    return bits;
}

/* The index of a float in the order of all floats: neighbours differ by one, and both zeros have index 0. */
static double rank_of(uint64_t bits, size_t width)
{
    const uint64_t sign = (uint64_t)1 << (8 * width - 1);
    return bits & sign ? -(double)(bits & ~sign) : (double)bits;
}

static bool is_nan(uint64_t bits, ig_dtype d)
{
    static const uint64_t infinity[] = {[IG_F16] = 0x7c00,
                                        [IG_BF16] = 0x7f80,
                                        [IG_F32] = 0x7f800000,
                                        [IG_F64] = 0x7ff0000000000000};
    const uint64_t sign = (uint64_t)1 << (8 * ig_dtype_bytes(d) - 1);
    return (bits & ~sign) > infinity[d];
}

static double apart(uint64_t a, uint64_t b, ig_dtype d)
{
    const size_t width = ig_dtype_bytes(d);
    if (!ig_isdtype(d, "real floating")) {
        const int unused = 64 - 8 * (int)width;
        if (ig_isdtype(d, "signed integer"))
            return fabs((double)((int64_t)(a << unused) >> unused) -
                        (double)((int64_t)(b << unused) >> unused));
        return fabs((double)a - (double)b);
    }
    if (is_nan(a, d) || is_nan(b, d))
        return is_nan(a, d) && is_nan(b, d) ? 0 : (double)INFINITY;
    return fabs(rank_of(a, width) - rank_of(b, width));
}

difference run_compare(ig_array *a, ig_array *b)
{
    difference all = {0, -1, 0};
    const ig_dtype d = ig_dtype_of(a);
    const size_t width = ig_dtype_bytes(d);
    const void *x = ig_data(a), *y = ig_data(b);
    for (int64_t i = 0; x && y && i < ig_size(a); i++) {
        const uint64_t p = bits_at(x, width, i), q = bits_at(y, width, i);
        if (p == q)
            continue;
        all.first = all.count++ ? all.first : i;
        all.ulp = fmax(all.ulp, apart(p, q, d));
    }
    return all;
}
