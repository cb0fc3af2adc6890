/* REAL to integers, as ig_astype does it: towards 0, saturated, NaN gives 0. Bounds are powers of 2, which floats and
 * doubles have exactly. */

__device__ signed char saturate_i8(REAL x)
{
    return x >= 128.0f ? 127 : x > -128.0f ? (signed char)(int)x : x <= -128.0f ? -128 : 0;
}
__device__ short saturate_i16(REAL x)
{
    return x >= 32768.0f ? 32767 : x > -32768.0f ? (short)(int)x : x <= -32768.0f ? -32768 : 0;
}
__device__ int saturate_i32(REAL x)
{
    return x >= 2147483648.0f ? 2147483647 : x > -2147483648.0f ? (int)x : x <= -2147483648.0f ? -2147483647 - 1 : 0;
}
__device__ long long saturate_i64(REAL x)
{
    return x >= 9223372036854775808.0f ? 9223372036854775807ll
         : x > -9223372036854775808.0f ? (long long)x
         : x <= -9223372036854775808.0f ? -9223372036854775807ll - 1 : 0;
}
__device__ unsigned char saturate_u8(REAL x)
{
    return x >= 256.0f ? 255 : x > 0.0f ? (unsigned char)(int)x : 0;
}
__device__ unsigned short saturate_u16(REAL x)
{
    return x >= 65536.0f ? 65535 : x > 0.0f ? (unsigned short)(int)x : 0;
}
__device__ unsigned int saturate_u32(REAL x)
{
    return x >= 4294967296.0f ? 4294967295u : x > 0.0f ? (unsigned int)x : 0;
}
__device__ unsigned long long saturate_u64(REAL x)
{
    return x >= 18446744073709551616.0f ? 18446744073709551615ull : x > 0.0f ? (unsigned long long)x : 0;
}
