/* f16 and bf16 as integer arithmetic on bits, as the CPU does it: round to nearest, ties to even; a NaN
 * keeps its sign and what fits of its payload, and becomes quiet. CUDA C gets instructions of the device instead of
 * the functions ingot_*, with the same results (src/compiler/print/cuda.c). */

__device__ float ingot_f16_to_f32(unsigned short h)
{
    const unsigned int sign = (unsigned int)(h & 0x8000) << 16, magnitude = (unsigned int)(h & 0x7fff) << 13;
    const unsigned int rebias = 112u << 23;
    const unsigned int quiet = magnitude > 0x7c00u << 13 ? 1u << 22 : 0u;
    const unsigned int normal = magnitude + rebias, huge = (magnitude + 2 * rebias) | quiet;
    /* A subnormal gets an exponent by floating point: (2^-14 + x) - 2^-14. */
    const unsigned int small =
        __float_as_uint(__uint_as_float(magnitude + (113u << 23)) - __uint_as_float(113u << 23));
    const unsigned int finite = magnitude < 0x0400u << 13 ? small : normal;
    return __uint_as_float(sign | (magnitude < 0x7c00u << 13 ? finite : huge));
}

__device__ float f16_to_f32(unsigned short h) { return ingot_f16_to_f32(h); }

__device__ unsigned short ingot_f16_of_f32(float x)
{
    const unsigned int u = __float_as_uint(x) & 0x7fffffffu, sign = __float_as_uint(x) >> 16 & 0x8000u;
    const unsigned int normal = (u - (112u << 23) + 0xfffu + (u >> 13 & 1u)) >> 13;
    /* The sum's last bit is worth 2^-24, so it rounds as a subnormal f16 does. */
    const unsigned int small = __float_as_uint(__uint_as_float(u) + 0.5f) - __float_as_uint(0.5f);
    const unsigned int nan = 0x7e00u | (u >> 13 & 0x3ffu);
    const unsigned int finite = u < 113u << 23 ? small : normal;
    const unsigned int beyond = u > 0x7f800000u ? nan : 0x7c00u;
    return (unsigned short)(sign | (u < 143u << 23 ? finite : beyond));
}

__device__ unsigned short f16_of_f32(float x) { return ingot_f16_of_f32(x); }

__device__ float bf16_to_f32(unsigned short h) { return __uint_as_float((unsigned int)h << 16); }

__device__ unsigned short ingot_bf16_of_f32(float x)
{
    const unsigned int u = __float_as_uint(x);
    const unsigned int rounded = u + 0x7fffu + (u >> 16 & 1u);
    return (unsigned short)(((u & 0x7fffffffu) > 0x7f800000u ? u | 1u << 22 : rounded) >> 16);
}

__device__ unsigned short bf16_of_f32(float x) { return ingot_bf16_of_f32(x); }

__device__ float round_f16(float x) { return f16_to_f32(f16_of_f32(x)); }
__device__ float round_bf16(float x) { return bf16_to_f32(bf16_of_f32(x)); }

/* The same for values that are computed with, or were computed: the sign and the payload of a NaN are the machine's. */
__device__ float ingot_f16_to_f32_quick(unsigned short h) { return ingot_f16_to_f32(h); }
__device__ unsigned short ingot_f16_of_f32_quick(float x) { return ingot_f16_of_f32(x); }
__device__ unsigned short ingot_bf16_of_f32_quick(float x) { return ingot_bf16_of_f32(x); }

__device__ float f16_to_f32_quick(unsigned short h) { return ingot_f16_to_f32_quick(h); }
__device__ unsigned short f16_of_f32_quick(float x) { return ingot_f16_of_f32_quick(x); }
__device__ float bf16_to_f32_quick(unsigned short h) { return bf16_to_f32(h); }
__device__ unsigned short bf16_of_f32_quick(float x) { return ingot_bf16_of_f32_quick(x); }
__device__ float round_f16_quick(float x) { return f16_to_f32_quick(f16_of_f32_quick(x)); }
__device__ float round_bf16_quick(float x) { return bf16_to_f32(bf16_of_f32_quick(x)); }

/* An integer with its last bits folded into one, so that it converts to f32 exactly and one rounding
 * remains. */
template <typename T> __device__ float integer_to_odd(T x)
{
    const bool below = x < (T)0;
    unsigned long long m = below ? 0ull - (unsigned long long)x : (unsigned long long)x;
    float scale = 1.0f;
    while (m >> 24) {
        m = m >> 1 | (m & 1ull);
        scale *= 2.0f;
    }
    const float near = (float)(int)m * scale;
    return below ? -near : near;
}
template <typename T> __device__ float round_f16(T x) { return round_f16(integer_to_odd(x)); }
template <typename T> __device__ float round_bf16(T x) { return round_bf16(integer_to_odd(x)); }
