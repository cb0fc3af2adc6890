/* Elements of blocks, one or several neighbours j, j + 1, ... at a time:
 *
 *   BLOCK(name)          the name of a function
 *   INTS, FLOATS         an int and a float for each element; NUMBERS: 0, 1, ...
 *   UNSIGNED_BYTES(b), SIGNED_BYTES(b)   the bytes from b on, as INTS
 *   AS_FLOATS(x)         INTS as FLOATS
 *   LOOKUP(low, high, x) elements x of a table of 16 signed bytes, as INTS */

__device__ INTS BLOCK(nibble)(const unsigned char *b, int part, int j) { return UNSIGNED_BYTES(b + j) >> 4 * part & 15; }

/* The same with a fifth bit of each element in the four bytes at `high`. */
__device__ INTS BLOCK(five)(const unsigned char *high, const unsigned char *b, int part, int j)
{
    const int bits = (int)(storage_word(high) >> 16 * part & 0xffffu);
    return BLOCK(nibble)(b, part, j) | (bits >> (NUMBERS + j) & 1) << 4;
}

/* ---- GGUF files ---- */

__device__ FLOATS BLOCK(q4_0)(const unsigned char *b, int part, int j)
{
    return storage_half(b) * AS_FLOATS(BLOCK(nibble)(b + 2, part, j) - 8);
}

__device__ FLOATS BLOCK(q4_1)(const unsigned char *b, int part, int j)
{
    return storage_half(b) * AS_FLOATS(BLOCK(nibble)(b + 4, part, j)) + storage_half(b + 2);
}

__device__ FLOATS BLOCK(q5_0)(const unsigned char *b, int part, int j)
{
    return storage_half(b) * AS_FLOATS(BLOCK(five)(b + 2, b + 6, part, j) - 16);
}

__device__ FLOATS BLOCK(q5_1)(const unsigned char *b, int part, int j)
{
    return storage_half(b) * AS_FLOATS(BLOCK(five)(b + 4, b + 8, part, j)) + storage_half(b + 2);
}

__device__ FLOATS BLOCK(q8_0)(const unsigned char *b, int part, int j)
{
    (void)part;
    return storage_half(b) * AS_FLOATS(SIGNED_BYTES(b + 2 + j));
}

__device__ FLOATS BLOCK(q2_k)(const unsigned char *b, int part, int j)
{
    const float scale = storage_half(b + 80) * (float)(b[part] & 15);
    const float minimum = storage_half(b + 82) * (float)(b[part] >> 4);
    const INTS codes = UNSIGNED_BYTES(b + 16 + part / 8 * 32 + part % 2 * 16 + j);
    return scale * AS_FLOATS(codes >> part / 2 % 4 * 2 & 3) - minimum;
}

__device__ FLOATS BLOCK(q3_k)(const unsigned char *b, int part, int j)
{
    const int at = part % 2 * 16 + j;
    const float scale = storage_half(b + 108) * (float)storage_scale_q3(b + 96, part);
    const INTS low = UNSIGNED_BYTES(b + 32 + part / 8 * 32 + at) >> part / 2 % 4 * 2 & 3;
    return scale * AS_FLOATS((low | (UNSIGNED_BYTES(b + at) >> part / 2 & 1) << 2) - 4);
}

__device__ FLOATS BLOCK(q4_k)(const unsigned char *b, int part, int j)
{
    const float scale = storage_half(b) * (float)storage_scale(b + 4, part);
    const float minimum = storage_half(b + 2) * (float)storage_minimum(b + 4, part);
    return scale * AS_FLOATS(BLOCK(nibble)(b + 16 + part / 2 * 32, part % 2, j)) - minimum;
}

__device__ FLOATS BLOCK(q5_k)(const unsigned char *b, int part, int j)
{
    const float scale = storage_half(b) * (float)storage_scale(b + 4, part);
    const float minimum = storage_half(b + 2) * (float)storage_minimum(b + 4, part);
    const INTS low = BLOCK(nibble)(b + 48 + part / 2 * 32, part % 2, j);
    return scale * AS_FLOATS(low | (UNSIGNED_BYTES(b + 16 + j) >> part & 1) << 4) - minimum;
}

__device__ FLOATS BLOCK(q6_k)(const unsigned char *b, int part, int j)
{
    const int half = part / 8, quarter = part / 2 % 4, at = part % 2 * 16 + j;
    const float scale = storage_half(b + 208) * (float)(signed char)b[192 + part];
    const INTS low = BLOCK(nibble)(b + 64 * half + 32 * (quarter % 2), quarter / 2, at);
    return scale * AS_FLOATS((low | (UNSIGNED_BYTES(b + 128 + 32 * half + at) >> 2 * quarter & 3) << 4) - 32);
}

__device__ FLOATS BLOCK(iq4_nl)(const unsigned char *b, int part, int j)
{
    return storage_half(b) * AS_FLOATS(LOOKUP(STORAGE_VALUES_IQ4, BLOCK(nibble)(b + 2, part, j)));
}

__device__ FLOATS BLOCK(iq4_xs)(const unsigned char *b, int part, int j)
{
    const float scale = storage_half(b) * (float)storage_scale_iq4(b + 2, part / 2);
    const INTS codes = BLOCK(nibble)(b + 8 + part / 2 * 16, part % 2, j);
    return scale * AS_FLOATS(LOOKUP(STORAGE_VALUES_IQ4, codes));
}

__device__ FLOATS BLOCK(mxfp4)(const unsigned char *b, int part, int j)
{
    return storage_power(b[0]) * AS_FLOATS(LOOKUP(STORAGE_VALUES_MXFP4, BLOCK(nibble)(b + 1, part, j)));
}

/* ---- codes with a scale and a zero ---- */

__device__ INTS BLOCK(code)(const unsigned char *b, int bits, int part, int j)
{
    return UNSIGNED_BYTES(b + j) >> bits * part & ((1 << bits) - 1);
}

#define CODES(bits, i, u, z) \
    __device__ FLOATS BLOCK(i)(const unsigned char *b, int part, int j) \
    { \
        return AS_FLOATS(BLOCK(code)(b + 4, bits, part, j) - (1 << (bits - 1))) * storage_float(b); \
    } \
    __device__ FLOATS BLOCK(u)(const unsigned char *b, int part, int j) \
    { \
        return AS_FLOATS(BLOCK(code)(b + 5, bits, part, j) - (int)b[4]) * storage_float(b); \
    } \
    __device__ FLOATS BLOCK(z)(const unsigned char *b, int part, int j) \
    { \
        return (AS_FLOATS(BLOCK(code)(b + 8, bits, part, j)) - storage_float(b + 4)) * storage_float(b); \
    }
CODES(2, i2, u2, z2)
CODES(4, i4, u4, z4)
CODES(8, i8, u8, z8)
#undef CODES
#undef BLOCK
#undef INTS
#undef FLOATS
#undef UNSIGNED_BYTES
#undef SIGNED_BYTES
#undef AS_FLOATS
#undef NUMBERS
#undef LOOKUP
