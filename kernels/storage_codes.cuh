/* 32 neighbouring elements of a block as integers, for the formats of GGUF files: codes_<name>(b, part, w, f) loads those of the
 * part of 32 elements. w[0] to w[7]: the codes, a byte each. Element i is f[i / 16] * code - f[2 + i / 16]. Blocks begin at even
 * addresses, and memory is read in whole words. */

/* Words from an even address on. */
static __device__ void codes_words(const unsigned char *b, int n, unsigned int *to)
{
    const unsigned long long at = (unsigned long long)b;
    const unsigned int *p = (const unsigned int *)(b - (at & 2ull));
    const unsigned int shift = (unsigned int)(at & 2ull) * 8u;
    unsigned int low = p[0];
    for (int i = 0; i < n; i++) {
        const unsigned int high = i + 1 < n || shift ? p[i + 1] : 0u;
        to[i] = __funnelshift_r(low, high, shift);
        low = high;
    }
}

static __device__ float codes_half(unsigned int bits) { return f16_to_f32((unsigned short)(bits & 0xffffu)); }

/* The four bits as the fifth bits of four bytes. */
static __device__ unsigned int codes_fifth(unsigned int bits) { return ((bits & 15u) * 0x00204081u & 0x01010101u) << 4; }

static __device__ void codes_factors(float *f, float scale, float minimum)
{
    f[0] = f[1] = scale;
    f[2] = f[3] = minimum;
}

static __device__ void codes_nibbles(const unsigned int *z, int *w)
{
    for (int i = 0; i < 4; i++) {
        w[i] = (int)(z[i] & 0x0f0f0f0fu);
        w[4 + i] = (int)(z[i] >> 4 & 0x0f0f0f0fu);
    }
}

static __device__ void codes_q4_0(const unsigned char *b, int part, int *w, float *f)
{
    unsigned int z[4];
    const float scale = codes_half(*(const unsigned short *)b);
    (void)part;
    codes_words(b + 2, 4, z);
    codes_nibbles(z, w);
    codes_factors(f, scale, 8.0f * scale);
}

static __device__ void codes_q4_1(const unsigned char *b, int part, int *w, float *f)
{
    const unsigned int *p = (const unsigned int *)b, head = p[0];
    const unsigned int z[4] = {p[1], p[2], p[3], p[4]};
    (void)part;
    codes_nibbles(z, w);
    codes_factors(f, codes_half(head), -codes_half(head >> 16));
}

static __device__ void codes_q5_0(const unsigned char *b, int part, int *w, float *f)
{
    unsigned int z[5];
    const float scale = codes_half(*(const unsigned short *)b);
    (void)part;
    codes_words(b + 2, 5, z);
    codes_nibbles(z + 1, w);
    for (int i = 0; i < 8; i++)
        w[i] |= (int)codes_fifth(z[0] >> 4 * i);
    codes_factors(f, scale, 16.0f * scale);
}

static __device__ void codes_q5_1(const unsigned char *b, int part, int *w, float *f)
{
    const unsigned int *p = (const unsigned int *)b, head = p[0], high = p[1];
    const unsigned int z[4] = {p[2], p[3], p[4], p[5]};
    (void)part;
    codes_nibbles(z, w);
    for (int i = 0; i < 8; i++)
        w[i] |= (int)codes_fifth(high >> 4 * i);
    codes_factors(f, codes_half(head), -codes_half(head >> 16));
}

static __device__ void codes_q8_0(const unsigned char *b, int part, int *w, float *f)
{
    unsigned int z[8];
    (void)part;
    codes_words(b + 2, 8, z);
    for (int i = 0; i < 8; i++)
        w[i] = (int)z[i];
    codes_factors(f, codes_half(*(const unsigned short *)b), 0.0f);
}

/* The scale and the minimum of a part, from the first 16 bytes of a block: two halves, then 6 bits for each scale and minimum. */
static __device__ void codes_head(const unsigned char *b, int part, float *f)
{
    const uint4 head = *(const uint4 *)b;
    const int at = part % 4 * 8;
    const unsigned int upper_scale = head.y >> at >> 6 & 3u, upper_minimum = head.z >> at >> 6 & 3u;
    const unsigned int scale = part < 4 ? head.y >> at & 63u : (head.w >> at & 15u) | upper_scale << 4;
    const unsigned int minimum = part < 4 ? head.z >> at & 63u : (head.w >> at >> 4 & 15u) | upper_minimum << 4;
    codes_factors(f, codes_half(head.x) * (float)(int)scale, codes_half(head.x >> 16) * (float)(int)minimum);
}

static __device__ void codes_q4_k(const unsigned char *b, int part, int *w, float *f)
{
    const unsigned int *p = (const unsigned int *)(b + 16 + part / 2 * 32);
    codes_head(b, part, f);
    for (int i = 0; i < 8; i++)
        w[i] = (int)(p[i] >> part % 2 * 4 & 0x0f0f0f0fu);
}

static __device__ void codes_q5_k(const unsigned char *b, int part, int *w, float *f)
{
    const unsigned int *high = (const unsigned int *)(b + 16), *p = (const unsigned int *)(b + 48 + part / 2 * 32);
    codes_head(b, part, f);
    for (int i = 0; i < 8; i++)
        w[i] = (int)((p[i] >> part % 2 * 4 & 0x0f0f0f0fu) | (high[i] >> part & 0x01010101u) << 4);
}

static __device__ void codes_q6_k(const unsigned char *b, int part, int *w, float *f)
{
    unsigned int low[8], high[8];
    const int half = part / 4, quarter = part % 4;
    const float scale = codes_half(*(const unsigned short *)(b + 208));
    codes_words(b + 64 * half + 32 * (quarter % 2), 8, low);
    codes_words(b + 128 + 32 * half, 8, high);
    for (int i = 0; i < 8; i++)
        w[i] = (int)((low[i] >> quarter / 2 * 4 & 0x0f0f0f0fu) | (high[i] >> 2 * quarter & 0x03030303u) << 4);
    for (int i = 0; i < 2; i++) {
        f[i] = scale * (float)(signed char)b[192 + 2 * part + i];
        f[2 + i] = 32.0f * f[i];
    }
}
