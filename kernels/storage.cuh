/* Elements of the storage formats (src/base/storage.def): storage_<name>(b, part, j) is element j of a part of the block at b.
 * The CPU's lanes include this file and storage_blocks.cuh as C, so that all devices load the same bits. */

__device__ float storage_half(const unsigned char *b) { return f16_to_f32((unsigned short)(b[0] | b[1] << 8)); }

/* ---- floats of 8 bits ---- */

/* The value of a code below 128, without special codes: `fraction` bits after the exponent. A subnormal is a multiple of
 * the smallest one, as some devices flush subnormal f32. */
__device__ float storage_magnitude(unsigned int code, int fraction, int bias)
{
    const unsigned int exponent = code >> fraction, rest = code & ((1u << fraction) - 1);
    const float least = __uint_as_float((unsigned int)(128 - bias - fraction) << 23);
    const float normal =
        __uint_as_float((exponent + (unsigned int)(127 - bias)) << 23 | rest << (23 - fraction));
    return exponent ? normal : (float)(int)rest * least;
}

__device__ float storage_signed(unsigned int code, float magnitude)
{
    return __uint_as_float(__float_as_uint(magnitude) | (code & 0x80u) << 24);
}

#define STORAGE_NAN __uint_as_float(0x7fc00000u)

__device__ float storage_f8_e4m3(const unsigned char *b, int part, int j)
{
    const unsigned int code = b[0], low = code & 0x7fu;
    (void)part;
    (void)j;
    return storage_signed(code, low == 0x7fu ? STORAGE_NAN : storage_magnitude(low, 3, 7));
}

__device__ float storage_f8_e4m3fnuz(const unsigned char *b, int part, int j)
{
    const unsigned int code = b[0];
    (void)part;
    (void)j;
    return code == 0x80u ? STORAGE_NAN : storage_signed(code, storage_magnitude(code & 0x7fu, 3, 8));
}

__device__ float storage_f8_e5m2(const unsigned char *b, int part, int j)
{
    const unsigned int code = b[0], low = code & 0x7fu;
    (void)part;
    (void)j;
    const float finite = storage_magnitude(low, 2, 15), infinite = __uint_as_float(0x7f800000u);
    return storage_signed(code, low > 0x7cu ? STORAGE_NAN : low == 0x7cu ? infinite : finite);
}

__device__ float storage_f8_e5m2fnuz(const unsigned char *b, int part, int j)
{
    const unsigned int code = b[0];
    (void)part;
    (void)j;
    return code == 0x80u ? STORAGE_NAN : storage_signed(code, storage_magnitude(code & 0x7fu, 2, 16));
}

/* ---- blocks ---- */

/* Eight scales and eight minima of 6 bits in 12 bytes. */
__device__ int storage_scale(const unsigned char *b, int part)
{
    return part < 4 ? b[part] & 63 : (b[part + 4] & 15) | (b[part - 4] >> 6) << 4;
}

__device__ int storage_minimum(const unsigned char *b, int part)
{
    return part < 4 ? b[part + 4] & 63 : b[part + 4] >> 4 | (b[part] >> 6) << 4;
}

/* Sixteen signed scales of 6 bits in 12 bytes. */
__device__ int storage_scale_q3(const unsigned char *b, int part)
{
    const int low = part < 8 ? b[part] & 15 : b[part - 8] >> 4;
    return (low | (b[8 + part % 4] >> part / 4 * 2 & 3) << 4) - 32;
}

/* Eight signed scales of 6 bits: the high bits in 2 bytes, then the low ones in 4 bytes. */
__device__ int storage_scale_iq4(const unsigned char *b, int part)
{
    const int low = b[2 + part / 2] >> part % 2 * 4 & 15, high = b[part / 4] >> part % 4 * 2 & 3;
    return (low | high << 4) - 32;
}

/* 2^(e - 128). */
__device__ float storage_power(int e)
{
    return __uint_as_float(e < 2 ? 0x200000u << e : (unsigned int)(e - 1) << 23);
}

/* The values of codes of 4 bits, as signed bytes. mxfp4: twice the values of the format. */
#define STORAGE_VALUES_IQ4 0xf6eaddcfbfad9881ull, 0x7159453526190d01ull
#define STORAGE_VALUES_MXFP4 0x0c08060403020100ull, 0xf4f8fafcfdfeff00ull

__device__ int storage_lookup(unsigned long long low, unsigned long long high, int code)
{
    return (int)(signed char)((code < 8 ? low : high) >> 8 * (code & 7) & 0xffull);
}

__device__ unsigned int storage_word(const unsigned char *b)
{
    return (unsigned int)b[0] | (unsigned int)b[1] << 8 | (unsigned int)b[2] << 16 | (unsigned int)b[3] << 24;
}

__device__ float storage_float(const unsigned char *b) { return __uint_as_float(storage_word(b)); }

/* One element at a time. */
#define BLOCK(name) storage_##name
#define INTS int
#define FLOATS float
#define UNSIGNED_BYTES(b) ((int)*(b))
#define SIGNED_BYTES(b) ((int)(signed char)*(b))
#define AS_FLOATS(x) ((float)(x))
#define NUMBERS 0
#define LOOKUP storage_lookup
#include "storage_blocks.cuh"
