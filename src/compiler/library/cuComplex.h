/* Complex numbers as float2 and double2, for the host and for kernels. Included by CUDA programs only. */
#ifndef INGOT_CUCOMPLEX_H
#define INGOT_CUCOMPLEX_H

#include <cuda_runtime.h>

typedef float2 cuFloatComplex;
typedef cuFloatComplex cuComplex;
typedef double2 cuDoubleComplex;

#define IG_COMPLEX static inline __host__ __device__

IG_COMPLEX cuFloatComplex make_cuFloatComplex(float x, float y) { return make_float2(x, y); }
IG_COMPLEX cuComplex make_cuComplex(float x, float y) { return make_float2(x, y); }
IG_COMPLEX float cuCrealf(cuFloatComplex x) { return x.x; }
IG_COMPLEX float cuCimagf(cuFloatComplex x) { return x.y; }
IG_COMPLEX cuFloatComplex cuConjf(cuFloatComplex x) { return make_float2(x.x, -x.y); }
IG_COMPLEX cuFloatComplex cuCaddf(cuFloatComplex x, cuFloatComplex y)
{
    return make_float2(x.x + y.x, x.y + y.y);
}
IG_COMPLEX cuFloatComplex cuCsubf(cuFloatComplex x, cuFloatComplex y)
{
    return make_float2(x.x - y.x, x.y - y.y);
}
IG_COMPLEX cuFloatComplex cuCmulf(cuFloatComplex x, cuFloatComplex y)
{
    return make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
/* Scaled, so that a large divisor does not overflow. */
IG_COMPLEX cuFloatComplex cuCdivf(cuFloatComplex x, cuFloatComplex y)
{
    const float scale = 1.0f / (fabsf(y.x) + fabsf(y.y));
    const float a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale;
    const float by = 1.0f / (c * c + d * d);
    return make_float2((a * c + b * d) * by, (b * c - a * d) * by);
}
IG_COMPLEX float cuCabsf(cuFloatComplex x) { return hypotf(x.x, x.y); }
IG_COMPLEX cuFloatComplex cuCfmaf(cuFloatComplex x, cuFloatComplex y, cuFloatComplex d)
{
    return make_float2(-(x.y * y.y) + (x.x * y.x + d.x), x.y * y.x + (x.x * y.y + d.y));
}

IG_COMPLEX cuDoubleComplex make_cuDoubleComplex(double x, double y) { return make_double2(x, y); }
IG_COMPLEX double cuCreal(cuDoubleComplex x) { return x.x; }
IG_COMPLEX double cuCimag(cuDoubleComplex x) { return x.y; }
IG_COMPLEX cuDoubleComplex cuConj(cuDoubleComplex x) { return make_double2(x.x, -x.y); }
IG_COMPLEX cuDoubleComplex cuCadd(cuDoubleComplex x, cuDoubleComplex y)
{
    return make_double2(x.x + y.x, x.y + y.y);
}
IG_COMPLEX cuDoubleComplex cuCsub(cuDoubleComplex x, cuDoubleComplex y)
{
    return make_double2(x.x - y.x, x.y - y.y);
}
IG_COMPLEX cuDoubleComplex cuCmul(cuDoubleComplex x, cuDoubleComplex y)
{
    return make_double2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
IG_COMPLEX cuDoubleComplex cuCdiv(cuDoubleComplex x, cuDoubleComplex y)
{
    const double scale = 1.0 / (fabs(y.x) + fabs(y.y));
    const double a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale;
    const double by = 1.0 / (c * c + d * d);
    return make_double2((a * c + b * d) * by, (b * c - a * d) * by);
}
IG_COMPLEX double cuCabs(cuDoubleComplex x) { return hypot(x.x, x.y); }
IG_COMPLEX cuDoubleComplex cuCfma(cuDoubleComplex x, cuDoubleComplex y, cuDoubleComplex d)
{
    return make_double2(-(x.y * y.y) + (x.x * y.x + d.x), x.y * y.x + (x.x * y.y + d.y));
}

IG_COMPLEX cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x)
{
    return make_float2((float)x.x, (float)x.y);
}
IG_COMPLEX cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x)
{
    return make_double2(x.x, x.y);
}

#undef IG_COMPLEX
#endif
