/* What lanes.cuh has for floats, for doubles. */

__device__ signed char saturate_i8(double x)
{
    return x >= 128.0 ? 127 : x > -128.0 ? (signed char)(int)x : x <= -128.0 ? -128 : 0;
}
__device__ short saturate_i16(double x)
{
    return x >= 32768.0 ? 32767 : x > -32768.0 ? (short)(int)x : x <= -32768.0 ? -32768 : 0;
}
__device__ int saturate_i32(double x)
{
    return x >= 2147483648.0 ? 2147483647 : x > -2147483648.0 ? (int)x : x <= -2147483648.0 ? -2147483647 - 1 : 0;
}
__device__ long long saturate_i64(double x)
{
    return x >= 9223372036854775808.0 ? 9223372036854775807ll
         : x > -9223372036854775808.0 ? (long long)x
         : x <= -9223372036854775808.0 ? -9223372036854775807ll - 1 : 0;
}
__device__ unsigned char saturate_u8(double x)
{
    return x >= 256.0 ? 255 : x > 0.0 ? (unsigned char)(int)x : 0;
}
__device__ unsigned short saturate_u16(double x)
{
    return x >= 65536.0 ? 65535 : x > 0.0 ? (unsigned short)(int)x : 0;
}
__device__ unsigned int saturate_u32(double x)
{
    return x >= 4294967296.0 ? 4294967295u : x > 0.0 ? (unsigned int)x : 0;
}
__device__ unsigned long long saturate_u64(double x)
{
    return x >= 18446744073709551616.0 ? 18446744073709551615ull : x > 0.0 ? (unsigned long long)x : 0;
}
