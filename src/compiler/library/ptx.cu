/* Instructions of inline PTX that are more than an expression; parse/ptx.def names them. Names begin with ig_, since
 * macros of the source apply here. */
__device__ __half2 ig_half2(unsigned ig_x)
{
    return __halves2half2(__ushort_as_half((unsigned short)ig_x), __ushort_as_half((unsigned short)(ig_x >> 16)));
}
__device__ __nv_bfloat162 ig_bfloat162(unsigned ig_x)
{
    return __halves2bfloat162(__ushort_as_bfloat16((unsigned short)ig_x),
                              __ushort_as_bfloat16((unsigned short)(ig_x >> 16)));
}
__device__ unsigned ig_bits(__half2 ig_x)
{
    return __half_as_ushort(ig_x.x) | ((unsigned)__half_as_ushort(ig_x.y) << 16);
}
__device__ unsigned ig_bits(__nv_bfloat162 ig_x)
{
    return __bfloat16_as_ushort(ig_x.x) | ((unsigned)__bfloat16_as_ushort(ig_x.y) << 16);
}
/* To nearest with 10 bits of fraction, ties away from zero. */
__device__ unsigned ig_tf32(float ig_x)
{
    const unsigned ig_u = __float_as_uint(ig_x);
    return (ig_u & 0x7f800000u) == 0x7f800000u ? ig_u : (ig_u + 0x1000u) & 0xffffe000u;
}

/* Sums with carry in x and the carry out in y. */
__device__ uint2 ig_add_carry(unsigned ig_a, unsigned ig_b, unsigned ig_c)
{
    const unsigned long long ig_sum = (unsigned long long)ig_a + ig_b + ig_c;
    return make_uint2((unsigned)ig_sum, (unsigned)(ig_sum >> 32));
}
__device__ ulonglong2 ig_add_carry(unsigned long long ig_a, unsigned long long ig_b, unsigned ig_c)
{
    const unsigned long long ig_part = ig_a + ig_b, ig_sum = ig_part + ig_c;
    return make_ulonglong2(ig_sum, (ig_part < ig_a ? 1ull : 0ull) | (ig_sum < ig_part ? 1ull : 0ull));
}
__device__ uint2 ig_sub_borrow(unsigned ig_a, unsigned ig_b, unsigned ig_c)
{
    const unsigned long long ig_rest = (unsigned long long)ig_a - ig_b - ig_c;
    return make_uint2((unsigned)ig_rest, (unsigned)(ig_rest >> 32) & 1u);
}
__device__ ulonglong2 ig_sub_borrow(unsigned long long ig_a, unsigned long long ig_b, unsigned ig_c)
{
    const unsigned long long ig_part = ig_a - ig_b;
    return make_ulonglong2(ig_part - ig_c, (ig_a < ig_b ? 1ull : 0ull) | (ig_part < ig_c ? 1ull : 0ull));
}
__device__ unsigned ig_high(unsigned ig_a, unsigned ig_b) { return __umulhi(ig_a, ig_b); }
__device__ int ig_high(int ig_a, int ig_b) { return __mulhi(ig_a, ig_b); }
__device__ unsigned long long ig_high(unsigned long long ig_a, unsigned long long ig_b)
{
    return __umul64hi(ig_a, ig_b);
}
__device__ long long ig_high(long long ig_a, long long ig_b) { return __mul64hi(ig_a, ig_b); }

/* Bit fields: positions and lengths are bytes; bits past the end are zeros, or copies of the sign. */
__device__ unsigned ig_extract(unsigned ig_a, unsigned ig_at, unsigned ig_n)
{
    ig_at &= 255u;
    ig_n &= 255u;
    const unsigned ig_rest = ig_at < 32u ? ig_a >> ig_at : 0u;
    return ig_n < 32u ? ig_rest & ((1u << ig_n) - 1u) : ig_rest;
}
__device__ unsigned long long ig_extract(unsigned long long ig_a, unsigned ig_at, unsigned ig_n)
{
    ig_at &= 255u;
    ig_n &= 255u;
    const unsigned long long ig_rest = ig_at < 64u ? ig_a >> ig_at : 0ull;
    return ig_n < 64u ? ig_rest & ((1ull << ig_n) - 1ull) : ig_rest;
}
__device__ int ig_extract(int ig_a, unsigned ig_at, unsigned ig_n)
{
    ig_at &= 255u;
    ig_n &= 255u;
    const int ig_rest = ig_a >> (ig_at < 32u ? ig_at : 31u);
    if (ig_n == 0u)
        return 0;
    const unsigned ig_shift = ig_n < 32u ? 32u - ig_n : 0u;
    return (int)((unsigned)ig_rest << ig_shift) >> ig_shift;
}
__device__ long long ig_extract(long long ig_a, unsigned ig_at, unsigned ig_n)
{
    ig_at &= 255u;
    ig_n &= 255u;
    const long long ig_rest = ig_a >> (ig_at < 64u ? ig_at : 63u);
    if (ig_n == 0u)
        return 0;
    const unsigned ig_shift = ig_n < 64u ? 64u - ig_n : 0u;
    return (long long)((unsigned long long)ig_rest << ig_shift) >> ig_shift;
}
__device__ unsigned ig_insert(unsigned ig_a, unsigned ig_b, unsigned ig_at, unsigned ig_n)
{
    ig_at &= 255u;
    ig_n &= 255u;
    if (ig_at >= 32u)
        return ig_b;
    const unsigned ig_mask = (ig_n < 32u ? (1u << ig_n) - 1u : 0xffffffffu) << ig_at;
    return (ig_b & ~ig_mask) | ((ig_a << ig_at) & ig_mask);
}
__device__ unsigned long long ig_insert(unsigned long long ig_a, unsigned long long ig_b, unsigned ig_at,
                                        unsigned ig_n)
{
    ig_at &= 255u;
    ig_n &= 255u;
    if (ig_at >= 64u)
        return ig_b;
    const unsigned long long ig_mask = (ig_n < 64u ? (1ull << ig_n) - 1ull : ~0ull) << ig_at;
    return (ig_b & ~ig_mask) | ((ig_a << ig_at) & ig_mask);
}
/* The position of the n-th set bit from `base` upwards, or downwards if n is negative; all ones if there is none. */
__device__ unsigned ig_find_set(unsigned ig_mask, unsigned ig_base, int ig_n)
{
    if (ig_n == 0)
        return ig_mask >> ig_base & 1u ? ig_base : 0xffffffffu;
    const int ig_step = ig_n > 0 ? 1 : -1;
    int ig_count = ig_n > 0 ? ig_n : -ig_n;
    for (int ig_at = (int)ig_base; ig_at >= 0 && ig_at < 32; ig_at += ig_step)
        if (ig_mask >> ig_at & 1u && --ig_count == 0)
            return (unsigned)ig_at;
    return 0xffffffffu;
}
/* As __byte_perm; the upper bit of a selector spreads the sign of its byte. */
__device__ unsigned ig_permute(unsigned ig_a, unsigned ig_b, unsigned ig_s)
{
    const unsigned ig_x = __byte_perm(ig_a, ig_b, ig_s & 0x7777u);
    const unsigned ig_signs = __byte_perm(0xff00u, 0u, (ig_x >> 7 & 1u) | (ig_x >> 11 & 0x10u) |
                                                           (ig_x >> 15 & 0x100u) | (ig_x >> 19 & 0x1000u));
    const unsigned ig_spread = __byte_perm(0xff00u, 0u, ig_s >> 3 & 0x1111u);
    return (ig_x & ~ig_spread) | (ig_signs & ig_spread);
}
__device__ unsigned ig_lop3(unsigned ig_a, unsigned ig_b, unsigned ig_c, unsigned ig_lut)
{
    return (ig_lut & 1u ? ~ig_a & ~ig_b & ~ig_c : 0u) | (ig_lut & 2u ? ~ig_a & ~ig_b & ig_c : 0u) |
           (ig_lut & 4u ? ~ig_a & ig_b & ~ig_c : 0u) | (ig_lut & 8u ? ~ig_a & ig_b & ig_c : 0u) |
           (ig_lut & 16u ? ig_a & ~ig_b & ~ig_c : 0u) | (ig_lut & 32u ? ig_a & ~ig_b & ig_c : 0u) |
           (ig_lut & 64u ? ig_a & ig_b & ~ig_c : 0u) | (ig_lut & 128u ? ig_a & ig_b & ig_c : 0u);
}
/* Four unsigned bytes times four signed ones. */
__device__ int ig_dp4a_us(unsigned ig_a, int ig_b, int ig_c)
{
    unsigned ig_sum = (unsigned)ig_c;
    for (int ig_i = 0; ig_i < 32; ig_i += 8)
        ig_sum += (unsigned)((int)(ig_a >> ig_i & 255u) * (int)(signed char)(ig_b >> ig_i));
    return (int)ig_sum;
}
__device__ unsigned ig_dp2a_u(unsigned ig_a, unsigned ig_b, unsigned ig_c)
{
    return ig_c + (ig_a & 65535u) * (ig_b & 255u) + (ig_a >> 16) * (ig_b >> 8 & 255u);
}
__device__ int ig_dp2a_s(int ig_a, int ig_b, int ig_c)
{
    return (int)((unsigned)ig_c + (unsigned)((short)ig_a * (signed char)ig_b) +
                 (unsigned)((ig_a >> 16) * (signed char)(ig_b >> 8)));
}

/* ---- warps ---- */

/* The value in x; in y, whether the source lane is in the lane's segment. `ig_limit` is the bound of the source lane, and
 * the mask of the segments in bits 8 to 12. */
__device__ uint2 ig_shuffled(unsigned ig_a, unsigned ig_from, bool ig_inside, unsigned ig_mask)
{
    const unsigned ig_value = __shfl_sync(ig_mask, ig_a, (int)(ig_inside ? ig_from : ig_lane_id()));
    return make_uint2(ig_value, ig_inside ? 1u : 0u);
}
__device__ unsigned ig_last_lane(unsigned ig_limit)
{
    const unsigned ig_segment = ig_limit >> 8 & 31u;
    return (ig_lane_id() & ig_segment) | (ig_limit & 31u & ~ig_segment);
}
__device__ uint2 ig_shuffle_up(unsigned ig_a, unsigned ig_by, unsigned ig_limit, unsigned ig_mask)
{
    const int ig_from = (int)ig_lane_id() - (int)(ig_by & 31u);
    return ig_shuffled(ig_a, (unsigned)ig_from, ig_from >= (int)ig_last_lane(ig_limit), ig_mask);
}
__device__ uint2 ig_shuffle_down(unsigned ig_a, unsigned ig_by, unsigned ig_limit, unsigned ig_mask)
{
    const unsigned ig_from = ig_lane_id() + (ig_by & 31u);
    return ig_shuffled(ig_a, ig_from, ig_from <= ig_last_lane(ig_limit), ig_mask);
}
__device__ uint2 ig_shuffle_xor(unsigned ig_a, unsigned ig_by, unsigned ig_limit, unsigned ig_mask)
{
    const unsigned ig_from = ig_lane_id() ^ (ig_by & 31u);
    return ig_shuffled(ig_a, ig_from, ig_from <= ig_last_lane(ig_limit), ig_mask);
}
__device__ uint2 ig_shuffle(unsigned ig_a, unsigned ig_lane, unsigned ig_limit, unsigned ig_mask)
{
    const unsigned ig_segment = ig_limit >> 8 & 31u;
    const unsigned ig_from = (ig_lane_id() & ig_segment) | (ig_lane & 31u & ~ig_segment);
    return ig_shuffled(ig_a, ig_from, ig_from <= ig_last_lane(ig_limit), ig_mask);
}
__device__ uint2 ig_match_all(unsigned ig_mask, unsigned ig_a)
{
    int ig_all;
    const unsigned ig_same = __match_all_sync(ig_mask, ig_a, &ig_all);
    return make_uint2(ig_same, (unsigned)ig_all);
}
__device__ uint2 ig_match_all(unsigned ig_mask, unsigned long long ig_a)
{
    int ig_all;
    const unsigned ig_same = __match_all_sync(ig_mask, ig_a, &ig_all);
    return make_uint2(ig_same, (unsigned)ig_all);
}

/* ---- copies to shared memory ---- */

/* Copies `ig_bytes` bytes and sets the rest of ig_size bytes to 0. */
__device__ void ig_copy_async(unsigned *ig_to, const unsigned *ig_from, int ig_size, int ig_bytes)
{
    for (int ig_i = 0; ig_i < ig_size / 4; ig_i++) {
        const int ig_left = ig_bytes - 4 * ig_i;
        unsigned ig_word = 0u;
        if (ig_left >= 4)
            ig_word = ig_from[ig_i];
        else
            for (int ig_k = 0; ig_k < ig_left; ig_k++)
                ig_word |= (unsigned)((const unsigned char *)(ig_from + ig_i))[ig_k] << (8 * ig_k);
        ig_to[ig_i] = ig_word;
    }
}

/* ---- matrices ---- */

/* Lane 8 m + r has the address of row r of matrix m. A row has eight halves; a lane gets two of row lane / 4. */
__device__ unsigned ig_ldmatrix(unsigned ig_address, unsigned ig_matrix)
{
    const unsigned ig_lane = ig_lane_id();
    const unsigned ig_row = __shfl_sync(0xffffffffu, ig_address, (int)(8u * ig_matrix + ig_lane / 4u));
    return *(const unsigned *)__cvta_shared_to_generic(ig_row + 4u * (ig_lane % 4u));
}
__device__ unsigned ig_ldmatrix_trans(unsigned ig_address, unsigned ig_matrix)
{
    const unsigned ig_lane = ig_lane_id(), ig_row = 8u * ig_matrix + 2u * (ig_lane % 4u), ig_at = 2u * (ig_lane / 4u);
    const unsigned ig_one = __shfl_sync(0xffffffffu, ig_address, (int)ig_row);
    const unsigned ig_two = __shfl_sync(0xffffffffu, ig_address, (int)ig_row + 1);
    const unsigned short ig_low = *(const unsigned short *)__cvta_shared_to_generic(ig_one + ig_at);
    const unsigned short ig_high = *(const unsigned short *)__cvta_shared_to_generic(ig_two + ig_at);
    return ig_low | (unsigned)ig_high << 16;
}
__device__ uint2 ig_ldmatrix_x2(unsigned ig_a) { return make_uint2(ig_ldmatrix(ig_a, 0u), ig_ldmatrix(ig_a, 1u)); }
__device__ uint4 ig_ldmatrix_x4(unsigned ig_a)
{
    return make_uint4(ig_ldmatrix(ig_a, 0u), ig_ldmatrix(ig_a, 1u), ig_ldmatrix(ig_a, 2u), ig_ldmatrix(ig_a, 3u));
}
__device__ uint2 ig_ldmatrix_x2_trans(unsigned ig_a)
{
    return make_uint2(ig_ldmatrix_trans(ig_a, 0u), ig_ldmatrix_trans(ig_a, 1u));
}
__device__ uint4 ig_ldmatrix_x4_trans(unsigned ig_a)
{
    return make_uint4(ig_ldmatrix_trans(ig_a, 0u), ig_ldmatrix_trans(ig_a, 1u), ig_ldmatrix_trans(ig_a, 2u),
                      ig_ldmatrix_trans(ig_a, 3u));
}
__device__ void ig_stmatrix(unsigned ig_address, unsigned ig_matrix, unsigned ig_x)
{
    const unsigned ig_lane = ig_lane_id();
    const unsigned ig_row = __shfl_sync(0xffffffffu, ig_address, (int)(8u * ig_matrix + ig_lane / 4u));
    *(unsigned *)__cvta_shared_to_generic(ig_row + 4u * (ig_lane % 4u)) = ig_x;
}
__device__ void ig_stmatrix_x2(unsigned ig_a, unsigned ig_x, unsigned ig_y)
{
    ig_stmatrix(ig_a, 0u, ig_x);
    ig_stmatrix(ig_a, 1u, ig_y);
}
__device__ void ig_stmatrix_x4(unsigned ig_a, unsigned ig_x, unsigned ig_y, unsigned ig_z, unsigned ig_w)
{
    ig_stmatrix_x2(ig_a, ig_x, ig_y);
    ig_stmatrix(ig_a, 2u, ig_z);
    ig_stmatrix(ig_a, 3u, ig_w);
}
__device__ unsigned ig_movmatrix(unsigned ig_x)
{
    const unsigned ig_lane = ig_lane_id(), ig_from = 8u * (ig_lane % 4u) + ig_lane / 8u, ig_shift = 16u * (ig_lane / 4u % 2u);
    const unsigned ig_low = __shfl_sync(0xffffffffu, ig_x, (int)ig_from) >> ig_shift;
    const unsigned ig_high = __shfl_sync(0xffffffffu, ig_x, (int)ig_from + 4) >> ig_shift;
    return (ig_low & 65535u) | ig_high << 16;
}

/* mma: D = A B + C. Lane 4 g + t has elements of rows g and g + 8 of A, and of column g of B, at k = t; of D the
 * elements at rows g and g + 8, columns 2 t and 2 t + 1. So a lane needs A from the four lanes of its g, and B from the
 * lanes of columns 2 t and 2 t + 1. Floats are added in the order of k, beginning with C; each addition is an fma, which
 * rounds once. Sums of halves are kept as floats and rounded at the end. */
__device__ unsigned ig_lane_a(unsigned ig_x, int ig_i)
{
    return __shfl_sync(0xffffffffu, ig_x, (int)(ig_lane_id() & ~3u) + ig_i);
}
__device__ unsigned ig_lane_b(unsigned ig_x, int ig_column, int ig_i)
{
    return __shfl_sync(0xffffffffu, ig_x, (int)(ig_lane_id() % 4u) * 8 + 4 * ig_column + ig_i);
}
__device__ float ig_low_f16(unsigned ig_x) { return (float)__ushort_as_half((unsigned short)ig_x); }
__device__ float ig_high_f16(unsigned ig_x) { return (float)__ushort_as_half((unsigned short)(ig_x >> 16)); }
__device__ float ig_low_bf16(unsigned ig_x) { return __uint_as_float(ig_x << 16); }
__device__ float ig_high_bf16(unsigned ig_x) { return __uint_as_float(ig_x & 0xffff0000u); }
#define IG_MMA_PAIRS(ig_kind) \
    __device__ float ig_dot_##ig_kind(unsigned ig_a, unsigned ig_b, float ig_c) \
    { \
        ig_c = __fmaf_rn(ig_low_##ig_kind(ig_a), ig_low_##ig_kind(ig_b), ig_c); \
        return __fmaf_rn(ig_high_##ig_kind(ig_a), ig_high_##ig_kind(ig_b), ig_c); \
    } \
    IG_MMA_STEP(float, float4, ig_dot_##ig_kind, ig_step_##ig_kind) \
    __device__ float4 ig_mma_k8_##ig_kind(unsigned ig_a, unsigned ig_b, unsigned ig_x, float ig_c0, float ig_c1, \
                                          float ig_c2, float ig_c3) \
    { \
        return ig_step_##ig_kind(ig_a, ig_b, ig_x, make_float4(ig_c0, ig_c1, ig_c2, ig_c3)); \
    } \
    __device__ float4 ig_mma_k16_##ig_kind(unsigned ig_a0, unsigned ig_a1, unsigned ig_a2, unsigned ig_a3, \
                                           unsigned ig_b0, unsigned ig_b1, float ig_c0, float ig_c1, \
                                           float ig_c2, float ig_c3) \
    { \
        return ig_step_##ig_kind(ig_a2, ig_a3, ig_b1, \
                                 ig_mma_k8_##ig_kind(ig_a0, ig_a1, ig_b0, ig_c0, ig_c1, ig_c2, ig_c3)); \
    }
/* One register of A in each half of the rows, one of B. */
#define IG_MMA_STEP(ig_type, ig_four, ig_dot, ig_name) \
    __device__ ig_four ig_name(unsigned ig_a, unsigned ig_b, unsigned ig_x, ig_four ig_c) \
    { \
        for (int ig_i = 0; ig_i < 4; ig_i++) { \
            const unsigned ig_top = ig_lane_a(ig_a, ig_i), ig_bottom = ig_lane_a(ig_b, ig_i); \
            const unsigned ig_left = ig_lane_b(ig_x, 0, ig_i), ig_right = ig_lane_b(ig_x, 1, ig_i); \
            ig_c.x = ig_dot(ig_top, ig_left, ig_c.x); \
            ig_c.y = ig_dot(ig_top, ig_right, ig_c.y); \
            ig_c.z = ig_dot(ig_bottom, ig_left, ig_c.z); \
            ig_c.w = ig_dot(ig_bottom, ig_right, ig_c.w); \
        } \
        return ig_c; \
    }
IG_MMA_PAIRS(f16)
IG_MMA_PAIRS(bf16)

__device__ uint2 ig_halves(float4 ig_c)
{
    return make_uint2(ig_bits(__floats2half2_rn(ig_c.x, ig_c.y)), ig_bits(__floats2half2_rn(ig_c.z, ig_c.w)));
}
__device__ uint2 ig_mma_k8_half(unsigned ig_a0, unsigned ig_a1, unsigned ig_b0, unsigned ig_c0, unsigned ig_c1)
{
    return ig_halves(ig_mma_k8_f16(ig_a0, ig_a1, ig_b0, ig_low_f16(ig_c0), ig_high_f16(ig_c0), ig_low_f16(ig_c1),
                                   ig_high_f16(ig_c1)));
}
__device__ uint2 ig_mma_k16_half(unsigned ig_a0, unsigned ig_a1, unsigned ig_a2, unsigned ig_a3, unsigned ig_b0,
                                 unsigned ig_b1, unsigned ig_c0, unsigned ig_c1)
{
    return ig_halves(ig_mma_k16_f16(ig_a0, ig_a1, ig_a2, ig_a3, ig_b0, ig_b1, ig_low_f16(ig_c0), ig_high_f16(ig_c0),
                                    ig_low_f16(ig_c1), ig_high_f16(ig_c1)));
}

/* tf32: the lower 13 bits of a float do not count. */
__device__ float ig_dot_tf32(unsigned ig_a, unsigned ig_b, float ig_c)
{
    return __fmaf_rn(__uint_as_float(ig_a & 0xffffe000u), __uint_as_float(ig_b & 0xffffe000u), ig_c);
}
IG_MMA_STEP(float, float4, ig_dot_tf32, ig_step_tf32)
__device__ float4 ig_mma_k4_tf32(unsigned ig_a0, unsigned ig_a1, unsigned ig_b0, float ig_c0, float ig_c1, float ig_c2,
                                 float ig_c3)
{
    return ig_step_tf32(ig_a0, ig_a1, ig_b0, make_float4(ig_c0, ig_c1, ig_c2, ig_c3));
}
__device__ float4 ig_mma_k8_tf32(unsigned ig_a0, unsigned ig_a1, unsigned ig_a2, unsigned ig_a3, unsigned ig_b0,
                                 unsigned ig_b1, float ig_c0, float ig_c1, float ig_c2, float ig_c3)
{
    return ig_step_tf32(ig_a2, ig_a3, ig_b1, ig_mma_k4_tf32(ig_a0, ig_a1, ig_b0, ig_c0, ig_c1, ig_c2, ig_c3));
}

/* Bytes: sums wrap. */
#define IG_MMA_BYTES(ig_kinds, ig_dot) \
    IG_MMA_STEP(int, int4, ig_dot, ig_step_##ig_kinds) \
    __device__ int2 ig_mma_n8_##ig_kinds(unsigned ig_a, unsigned ig_b, int ig_c0, int ig_c1) \
    { \
        const int4 ig_d = ig_step_##ig_kinds(ig_a, 0u, ig_b, make_int4(ig_c0, ig_c1, 0, 0)); \
        return make_int2(ig_d.x, ig_d.y); \
    } \
    __device__ int4 ig_mma_k16_##ig_kinds(unsigned ig_a0, unsigned ig_a1, unsigned ig_b0, int ig_c0, int ig_c1, \
                                          int ig_c2, int ig_c3) \
    { \
        return ig_step_##ig_kinds(ig_a0, ig_a1, ig_b0, make_int4(ig_c0, ig_c1, ig_c2, ig_c3)); \
    } \
    __device__ int4 ig_mma_k32_##ig_kinds(unsigned ig_a0, unsigned ig_a1, unsigned ig_a2, unsigned ig_a3, \
                                          unsigned ig_b0, unsigned ig_b1, int ig_c0, int ig_c1, int ig_c2, int ig_c3) \
    { \
        return ig_step_##ig_kinds(ig_a2, ig_a3, ig_b1, \
                                  ig_mma_k16_##ig_kinds(ig_a0, ig_a1, ig_b0, ig_c0, ig_c1, ig_c2, ig_c3)); \
    }
__device__ int ig_dot_ss(unsigned ig_a, unsigned ig_b, int ig_c) { return __dp4a((int)ig_a, (int)ig_b, ig_c); }
__device__ int ig_dot_uu(unsigned ig_a, unsigned ig_b, int ig_c) { return (int)__dp4a(ig_a, ig_b, (unsigned)ig_c); }
__device__ int ig_dot_us(unsigned ig_a, unsigned ig_b, int ig_c) { return ig_dp4a_us(ig_a, (int)ig_b, ig_c); }
__device__ int ig_dot_su(unsigned ig_a, unsigned ig_b, int ig_c) { return ig_dp4a_us(ig_b, (int)ig_a, ig_c); }
IG_MMA_BYTES(s8_s8, ig_dot_ss)
IG_MMA_BYTES(u8_u8, ig_dot_uu)
IG_MMA_BYTES(u8_s8, ig_dot_us)
IG_MMA_BYTES(s8_u8, ig_dot_su)

__device__ double2 ig_mma_f64(double ig_a, double ig_b, double ig_c0, double ig_c1)
{
    const int ig_row = (int)(ig_lane_id() & ~3u), ig_column = (int)(ig_lane_id() % 4u) * 8;
    for (int ig_i = 0; ig_i < 4; ig_i++) {
        const double ig_x = __shfl_sync(0xffffffffu, ig_a, ig_row + ig_i);
        ig_c0 = __fma_rn(ig_x, __shfl_sync(0xffffffffu, ig_b, ig_column + ig_i), ig_c0);
        ig_c1 = __fma_rn(ig_x, __shfl_sync(0xffffffffu, ig_b, ig_column + 4 + ig_i), ig_c1);
    }
    return make_double2(ig_c0, ig_c1);
}
