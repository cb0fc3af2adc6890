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

/* Tells an entry that two threads wrote at once. */
__device__ unsigned int entry_check(unsigned int bin, unsigned int value, long long index, long long length)
{
    unsigned long long sum = bin * 2654435761ull + value;
    sum = sum * 6364136223846793005ull + (unsigned long long)index;
    sum = sum * 6364136223846793005ull + (unsigned long long)length;
    return (unsigned int)(sum >> 32) ^ (unsigned int)sum;
}

/* Reports an index out of bounds; src/kernel/emit/emit.h describes the words. */
__device__ void report_index(long long index, long long length, long long position, int record, unsigned int *fault)
{
    const long long high = position >> 31;
    const int bin = record * FAULT_BINS + (high < FAULT_BINS - 1 ? (int)high : FAULT_BINS - 1);
    const unsigned int value = FAULT_ABOVE - (unsigned int)(position & 0x7fffffff);
    if (atomicMax(&fault[FAULT_HEAD + bin], value) >= value)
        return;
    unsigned int *entry = fault + FAULT_FIRST_ENTRY + 8 * (atomicAdd(fault, 1u) % FAULT_ENTRIES);
    entry[0] = (unsigned int)bin;
    entry[1] = value;
    entry[2] = (unsigned int)index;
    entry[3] = (unsigned int)((unsigned long long)index >> 32);
    entry[4] = (unsigned int)length;
    entry[5] = (unsigned int)((unsigned long long)length >> 32);
    entry[6] = entry_check((unsigned int)bin, value, index, length);
}

/* An index that may count from the end; out of bounds it is reported, and 0 is used. */
__device__ long long check_index(long long index, long long length, long long position, int record, unsigned int *fault)
{
    const long long at = index < 0 ? index + length : index;
    if (at >= 0 && at < length)
        return at;
    report_index(index, length, position, record, fault);
    return 0;
}
