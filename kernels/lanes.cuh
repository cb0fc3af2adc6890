/* Functions of one lane that emitted kernels call beside math.cuh: conversions and indices.
 *
 * Conversions follow ig_astype: floats go to integers towards 0 and saturate, NaN gives 0. */

/* ---- floats to integers ---- */

__device__ signed char saturate_i8(float x)
{
    return x >= 128.0f ? 127 : x > -128.0f ? (signed char)(int)x : x <= -128.0f ? -128 : 0;
}
__device__ short saturate_i16(float x)
{
    return x >= 32768.0f ? 32767 : x > -32768.0f ? (short)(int)x : x <= -32768.0f ? -32768 : 0;
}
__device__ int saturate_i32(float x)
{
    return x >= 2147483648.0f ? 2147483647 : x > -2147483648.0f ? (int)x : x <= -2147483648.0f ? -2147483647 - 1 : 0;
}
__device__ long long saturate_i64(float x)
{
    return x >= 9223372036854775808.0f ? 9223372036854775807ll
         : x > -9223372036854775808.0f ? (long long)x
         : x <= -9223372036854775808.0f ? -9223372036854775807ll - 1 : 0;
}
__device__ unsigned char saturate_u8(float x)
{
    return x >= 256.0f ? 255 : x > 0.0f ? (unsigned char)(int)x : 0;
}
__device__ unsigned short saturate_u16(float x)
{
    return x >= 65536.0f ? 65535 : x > 0.0f ? (unsigned short)(int)x : 0;
}
__device__ unsigned int saturate_u32(float x)
{
    return x >= 4294967296.0f ? 4294967295u : x > 0.0f ? (unsigned int)x : 0;
}
__device__ unsigned long long saturate_u64(float x)
{
    return x >= 18446744073709551616.0f ? 18446744073709551615ull : x > 0.0f ? (unsigned long long)x : 0;
}

/* ---- indices ---- */

/* An index that may count from the end; out of bounds it is reported, and 0 is used. */
__device__ long long check_index(long long index, long long length, unsigned int *fault)
{
    const long long at = index < 0 ? index + length : index;
    if (at >= 0 && at < length)
        return at;
    if (atomicCAS(fault, 0u, 1u) == 0u) {
        fault[1] = (unsigned int)index;
        fault[2] = (unsigned int)((unsigned long long)index >> 32);
        fault[3] = (unsigned int)length;
        fault[4] = (unsigned int)((unsigned long long)length >> 32);
    }
    return 0;
}
