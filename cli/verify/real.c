/* Values of every dtype, exact in a real: storage, rounding and ulp, computed from the parameters of each
 * format. Independent of the library's conversions. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

/* digits includes the hidden bit; 0 for integers. */
static const struct format {
    int bits, digits, lowest; /* lowest: exponent of the smallest normal number */
    bool is_signed;
} formats[] = {
    [IG_BOOL] = {8, 0, 0, false},
    [IG_I8] = {8, 0, 0, true},
    [IG_I16] = {16, 0, 0, true},
    [IG_I32] = {32, 0, 0, true},
    [IG_I64] = {64, 0, 0, true},
    [IG_U8] = {8, 0, 0, false},
    [IG_U16] = {16, 0, 0, false},
    [IG_U32] = {32, 0, 0, false},
    [IG_U64] = {64, 0, 0, false},
    [IG_F16] = {16, 11, -14, true},
    [IG_BF16] = {16, 8, -126, true},
    [IG_F32] = {32, 24, -126, true},
    [IG_F64] = {64, 53, -1022, true},
    /* the formats of their parts */
    [IG_C64] = {32, 24, -126, true},
    [IG_C128] = {64, 53, -1022, true},
};

int real_width(ig_dtype d) { return formats[d].bits; }

static bool is_float(ig_dtype d) { return formats[d].digits != 0; }

real real_eps(ig_dtype d) { return ldexpl(1, 1 - formats[d].digits); }

real real_max(ig_dtype d)
{
    const struct format *f = &formats[d];
    if (is_float(d))
        return ldexpl(2 - real_eps(d), 1 - f->lowest);
    if (d == IG_BOOL)
        return 1;
    return (real)(UINT64_MAX >> (64 - f->bits + f->is_signed));
}

real real_min(ig_dtype d)
{
    if (is_float(d))
        return -real_max(d);
    return formats[d].is_signed ? -real_max(d) - 1 : 0;
}

real real_normal(ig_dtype d) { return ldexpl(1, formats[d].lowest); }

real real_ulp(ig_dtype d, real v)
{
    const struct format *f = &formats[d];
    int e = v == 0 || !isfinite(v) ? f->lowest : ilogbl(v);
    return (real)ldexp(1, (e > f->lowest ? e : f->lowest) + 1 - f->digits); /* exact, and fast */
}

real real_round(ig_dtype d, real v)
{
    if (!is_float(d) || !isfinite(v) || v == 0)
        return v;
    const real step = real_ulp(d, v), y = rintl(v / step) * step;
    return fabsl(y) > real_max(d) ? copysignl((real)INFINITY, v) : copysignl(y, v);
}

/* ---- storage ---- */

static real load_half(ig_dtype d, uint16_t bits)
{
    const struct format *f = &formats[d];
    const int mantissa_bits = f->digits - 1;
    const int exponent = (bits & 0x7fff) >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    real v;
    if (exponent == (0x7fff >> mantissa_bits))
        v = mantissa ? (real)NAN : (real)INFINITY;
    else
        v = (real)ldexp((double)(mantissa + (exponent ? 1 << mantissa_bits : 0)),
                        f->lowest - mantissa_bits + (exponent ? exponent - 1 : 0));
    return bits & 0x8000 ? -v : v;
}

static uint16_t store_half(ig_dtype d, real v)
{
    const struct format *f = &formats[d];
    const int mantissa_bits = f->digits - 1, infinite = 0x7fff >> mantissa_bits << mantissa_bits;
    const int sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v))
        return (uint16_t)(sign | infinite | 1 << (mantissa_bits - 1));
    if (isinf(v))
        return (uint16_t)(sign | infinite);
    const int steps = (int)(fabsl(v) / real_ulp(d, v));
    const int above = v == 0 ? 0 : ilogbl(v) - f->lowest;
    return (uint16_t)(sign | (steps + ((above > 0 ? above : 0) << mantissa_bits)));
}

real real_load(ig_dtype d, const void *from)
{
    uint64_t bits = 0;
    float f;
    double g;
    memcpy(&bits, from, (size_t)formats[d].bits / 8);
    switch (d) {
    case IG_F32: memcpy(&f, from, sizeof f); return (real)f;
    case IG_F64: memcpy(&g, from, sizeof g); return (real)g;
    case IG_F16:
    case IG_BF16: return load_half(d, (uint16_t)bits);
    case IG_BOOL: return (real)bits;
    default: return real_wrap(d, bits);
    }
}

void real_store(ig_dtype d, void *to, real v)
{
    const float f = d == IG_F32 || d == IG_C64 ? (float)v : 0, i = f / 2;
    const double g = d == IG_F64 || d == IG_C128 ? (double)v : 0, j = g / 2;
    uint64_t bits = 0;
    switch (d) {
    case IG_F32: memcpy(to, &f, sizeof f); return;
    case IG_F64: memcpy(to, &g, sizeof g); return;
    case IG_C64: memcpy(to, (float[2]){f, i}, 2 * sizeof f); return;
    case IG_C128: memcpy(to, (double[2]){g, j}, 2 * sizeof g); return;
    case IG_F16:
    case IG_BF16: bits = store_half(d, v); break;
    default: bits = real_bits(v); break;
    }
    memcpy(to, &bits, (size_t)formats[d].bits / 8); /* all supported processors are little-endian */
}

uint64_t real_bits(real v)
{
    if (!(v >= -0x1p63L && v < 0x1p64L))
        return 0;
    return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

real real_wrap(ig_dtype d, uint64_t bits)
{
    const int unused = 64 - formats[d].bits;
    bits <<= unused;
    return formats[d].is_signed ? (real)((int64_t)bits >> unused) : (real)(bits >> unused);
}

/* ---- conversions ---- */

ig_dtype real_compute(ig_dtype d) { return d == IG_F64 ? IG_F64 : IG_F32; }

ig_dtype real_float(ig_dtype d) { return is_float(d) ? d : IG_F32; }

real real_cast(ig_dtype from, ig_dtype to, real v)
{
    if (to == IG_BOOL)
        return v != 0;
    if (is_float(to))
        return real_round(to, v);
    if (!is_float(from))
        return real_wrap(to, real_bits(v));
    return isnan(v) ? 0 : fminl(fmaxl(truncl(v), real_min(to)), real_max(to)) + 0;
}
