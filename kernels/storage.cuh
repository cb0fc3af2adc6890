/* Elements of the storage formats (src/base/storage.def): storage_<name>(b, part, j) is element j of a part of the block at b.
 * The CPU's lanes include this file as C, so that all devices load the same bits. */

__device__ float storage_half(const unsigned char *b) { return f16_to_f32((unsigned short)(b[0] | b[1] << 8)); }

__device__ float storage_float(const unsigned char *b)
{
    return __uint_as_float((unsigned int)b[0] | (unsigned int)b[1] << 8 | (unsigned int)b[2] << 16 |
                           (unsigned int)b[3] << 24);
}

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

/* A power of two. The smallest one is a subnormal f32. */
__device__ float storage_f8_e8m0(const unsigned char *b, int part, int j)
{
    const unsigned int code = b[0];
    (void)part;
    (void)j;
    return code == 255u ? STORAGE_NAN : __uint_as_float(code ? code << 23 : 1u << 22);
}

/* ---- blocks of GGUF files ---- */

__device__ int storage_nibble(const unsigned char *b, int part, int j) { return b[j] >> 4 * part & 15; }

/* The same with a fifth bit of each element in the four bytes at `high`. */
__device__ int storage_five(const unsigned char *high, const unsigned char *b, int part, int j)
{
    const unsigned int word = (unsigned int)high[0] | (unsigned int)high[1] << 8 |
                              (unsigned int)high[2] << 16 | (unsigned int)high[3] << 24;
    return storage_nibble(b, part, j) | (int)(word >> (16 * part + j) & 1u) << 4;
}

__device__ float storage_q4_0(const unsigned char *b, int part, int j)
{
    return storage_half(b) * (float)(storage_nibble(b + 2, part, j) - 8);
}

__device__ float storage_q4_1(const unsigned char *b, int part, int j)
{
    return storage_half(b) * (float)storage_nibble(b + 4, part, j) + storage_half(b + 2);
}

__device__ float storage_q5_0(const unsigned char *b, int part, int j)
{
    return storage_half(b) * (float)(storage_five(b + 2, b + 6, part, j) - 16);
}

__device__ float storage_q5_1(const unsigned char *b, int part, int j)
{
    return storage_half(b) * (float)storage_five(b + 4, b + 8, part, j) + storage_half(b + 2);
}

__device__ float storage_q8_0(const unsigned char *b, int part, int j)
{
    (void)part;
    return storage_half(b) * (float)(signed char)b[2 + j];
}

/* Eight scales and eight minima of 6 bits in 12 bytes. */
__device__ int storage_scale(const unsigned char *b, int part)
{
    return part < 4 ? b[part] & 63 : (b[part + 4] & 15) | (b[part - 4] >> 6) << 4;
}

__device__ int storage_minimum(const unsigned char *b, int part)
{
    return part < 4 ? b[part + 4] & 63 : b[part + 4] >> 4 | (b[part] >> 6) << 4;
}

__device__ float storage_q4_k(const unsigned char *b, int part, int j)
{
    const float scale = storage_half(b) * (float)storage_scale(b + 4, part);
    const float minimum = storage_half(b + 2) * (float)storage_minimum(b + 4, part);
    return scale * (float)storage_nibble(b + 16 + part / 2 * 32, part % 2, j) - minimum;
}

__device__ float storage_q5_k(const unsigned char *b, int part, int j)
{
    const float scale = storage_half(b) * (float)storage_scale(b + 4, part);
    const float minimum = storage_half(b + 2) * (float)storage_minimum(b + 4, part);
    const int low = storage_nibble(b + 48 + part / 2 * 32, part % 2, j);
    return scale * (float)(low | (b[16 + j] >> part & 1) << 4) - minimum;
}

__device__ float storage_q6_k(const unsigned char *b, int part, int j)
{
    const int half = part / 8, quarter = part / 2 % 4, at = part % 2 * 16;
    const float scale = storage_half(b + 208) * (float)(signed char)b[192 + part];
    const int low = storage_nibble(b + 64 * half + 32 * (quarter % 2) + at, quarter / 2, j);
    return scale * (float)((low | (b[128 + 32 * half + at + j] >> 2 * quarter & 3) << 4) - 32);
}

/* ---- codes with a scale and a zero ---- */

__device__ int storage_code(const unsigned char *b, int bits, int part, int j)
{
    return b[j] >> bits * part & ((1 << bits) - 1);
}

#define STORAGE_CODES(bits) \
    __device__ float storage_i##bits(const unsigned char *b, int part, int j) \
    { \
        return (float)(storage_code(b + 4, bits, part, j) - (1 << (bits - 1))) * storage_float(b); \
    } \
    __device__ float storage_u##bits(const unsigned char *b, int part, int j) \
    { \
        return (float)(storage_code(b + 5, bits, part, j) - b[4]) * storage_float(b); \
    } \
    __device__ float storage_z##bits(const unsigned char *b, int part, int j) \
    { \
        return ((float)storage_code(b + 8, bits, part, j) - storage_float(b + 4)) * storage_float(b); \
    }
STORAGE_CODES(2)
STORAGE_CODES(4)
STORAGE_CODES(8)
#undef STORAGE_CODES
