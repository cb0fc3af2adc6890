/* From f64 to f16 and bf16, rounded once: through f32, rounded to odd. */

__device__ float f64_to_odd(double x)
{
    const float near = (float)x;
    const unsigned int u = __float_as_uint(near);
    const double back = (double)near;
    const unsigned int outward = (back < x) != (u >> 31 != 0u) ? 1u : 0xffffffffu;
    const bool keep = back == x || x != x || (u & 1u) != 0u;
    return __uint_as_float(keep ? u : u + outward);
}
__device__ float round_f16(double x) { return round_f16(f64_to_odd(x)); }
__device__ float round_bf16(double x) { return round_bf16(f64_to_odd(x)); }
