/* Functions on the bytes and halves of a word, as CUDA documents them. Names begin with ig_, since macros of the source
 * apply here. ig_x and ig_y are the elements; the result of an element is cut to its bits. */
#define IG_WORD(ig_name, ig_type, ig_bits, ig_value) \
    __device__ unsigned ig_name(unsigned ig_a, unsigned ig_b) \
    { \
        const int ig_all = (1 << ig_bits) - 1, ig_top = ig_all >> 1; \
        unsigned ig_result = 0; \
        for (int ig_i = 0; ig_i < 32; ig_i += ig_bits) { \
            const int ig_x = (ig_type)(ig_a >> ig_i), ig_y = (ig_type)(ig_b >> ig_i); \
            ig_result |= ((unsigned)(ig_value) & (unsigned)ig_all) << ig_i; \
        } \
        return ig_result; \
    }
#define IG_SIGNED(ig_name, ig_value) \
    IG_WORD(ig_name##4, signed char, 8, ig_value) IG_WORD(ig_name##2, short, 16, ig_value)
#define IG_UNSIGNED(ig_name, ig_value) \
    IG_WORD(ig_name##4, unsigned char, 8, ig_value) IG_WORD(ig_name##2, unsigned short, 16, ig_value)
#define IG_ONE(ig_name, ig_other) \
    __device__ unsigned ig_name##4(unsigned ig_a) { return ig_other##4(ig_a, 0); } \
    __device__ unsigned ig_name##2(unsigned ig_a) { return ig_other##2(ig_a, 0); }

IG_SIGNED(__vadd, ig_x + ig_y)
IG_SIGNED(__vsub, ig_x - ig_y)
IG_SIGNED(__vaddss, min(max(ig_x + ig_y, -ig_top - 1), ig_top))
IG_SIGNED(__vsubss, min(max(ig_x - ig_y, -ig_top - 1), ig_top))
IG_UNSIGNED(__vaddus, min(ig_x + ig_y, ig_all))
IG_UNSIGNED(__vsubus, max(ig_x - ig_y, 0))
IG_SIGNED(__vmaxs, max(ig_x, ig_y))
IG_SIGNED(__vmins, min(ig_x, ig_y))
IG_UNSIGNED(__vmaxu, max(ig_x, ig_y))
IG_UNSIGNED(__vminu, min(ig_x, ig_y))
IG_SIGNED(__vabsdiffs, abs(ig_x - ig_y))
IG_UNSIGNED(__vabsdiffu, abs(ig_x - ig_y))
IG_SIGNED(__vavgs, ig_x + ig_y + (ig_x + ig_y >= 0) >> 1)
IG_UNSIGNED(__vavgu, ig_x + ig_y + 1 >> 1)
IG_UNSIGNED(__vhaddu, ig_x + ig_y >> 1)
IG_SIGNED(ig_vabs, abs(ig_x))
IG_SIGNED(ig_vabsss, min(abs(ig_x), ig_top))
IG_SIGNED(ig_vneg, -ig_x)
IG_SIGNED(ig_vnegss, min(-ig_x, ig_top))
IG_ONE(__vabs, ig_vabs)
IG_ONE(__vabsss, ig_vabsss)
IG_ONE(__vneg, ig_vneg)
IG_ONE(__vnegss, ig_vnegss)

#define IG_COMPARE(ig_kind, ig_name, ig_test) \
    ig_kind(__vcmp##ig_name, ig_test ? ig_all : 0) ig_kind(__vset##ig_name, ig_test)
IG_COMPARE(IG_UNSIGNED, eq, (ig_x == ig_y))
IG_COMPARE(IG_UNSIGNED, ne, (ig_x != ig_y))
IG_COMPARE(IG_SIGNED, ges, (ig_x >= ig_y))
IG_COMPARE(IG_SIGNED, gts, (ig_x > ig_y))
IG_COMPARE(IG_SIGNED, les, (ig_x <= ig_y))
IG_COMPARE(IG_SIGNED, lts, (ig_x < ig_y))
IG_COMPARE(IG_UNSIGNED, geu, (ig_x >= ig_y))
IG_COMPARE(IG_UNSIGNED, gtu, (ig_x > ig_y))
IG_COMPARE(IG_UNSIGNED, leu, (ig_x <= ig_y))
IG_COMPARE(IG_UNSIGNED, ltu, (ig_x < ig_y))

#define IG_TOTAL(ig_name, ig_type, ig_bits) \
    __device__ unsigned ig_name(unsigned ig_a, unsigned ig_b) \
    { \
        unsigned ig_result = 0; \
        for (int ig_i = 0; ig_i < 32; ig_i += ig_bits) \
            ig_result += abs((ig_type)(ig_a >> ig_i) - (ig_type)(ig_b >> ig_i)); \
        return ig_result; \
    }
IG_TOTAL(__vsads4, signed char, 8)
IG_TOTAL(__vsads2, short, 16)
IG_TOTAL(__vsadu4, unsigned char, 8)
IG_TOTAL(__vsadu2, unsigned short, 16)

#define IG_EXTREME(ig_kind, ig_pick, ig_word, ig_half, ig_s, ig_s2) \
    __device__ ig_word __vi##ig_kind##3_##ig_s(ig_word ig_a, ig_word ig_b, ig_word ig_c) \
    { \
        return ig_pick(ig_pick(ig_a, ig_b), ig_c); \
    } \
    __device__ ig_word __viadd##ig_kind##_##ig_s(ig_word ig_a, ig_word ig_b, ig_word ig_c) \
    { \
        return ig_pick((ig_word)((unsigned)ig_a + (unsigned)ig_b), ig_c); \
    } \
    IG_WORD(ig_##ig_kind##_##ig_s2, ig_half, 16, ig_pick(ig_x, ig_y)) \
    __device__ unsigned __vi##ig_kind##3_##ig_s2(unsigned ig_a, unsigned ig_b, unsigned ig_c) \
    { \
        return ig_##ig_kind##_##ig_s2(ig_##ig_kind##_##ig_s2(ig_a, ig_b), ig_c); \
    } \
    __device__ unsigned __viadd##ig_kind##_##ig_s2(unsigned ig_a, unsigned ig_b, unsigned ig_c) \
    { \
        return ig_##ig_kind##_##ig_s2(__vadd2(ig_a, ig_b), ig_c); \
    }
IG_EXTREME(max, max, int, short, s32, s16x2)
IG_EXTREME(min, min, int, short, s32, s16x2)
IG_EXTREME(max, max, unsigned, unsigned short, u32, u16x2)
IG_EXTREME(min, min, unsigned, unsigned short, u32, u16x2)

#define IG_RELU(ig_kind) \
    __device__ int __vi##ig_kind##_s32_relu(int ig_a, int ig_b) { return max(ig_kind(ig_a, ig_b), 0); } \
    __device__ unsigned __vi##ig_kind##_s16x2_relu(unsigned ig_a, unsigned ig_b) \
    { \
        return __vmaxs2(ig_##ig_kind##_s16x2(ig_a, ig_b), 0); \
    } \
    __device__ int __vi##ig_kind##3_s32_relu(int ig_a, int ig_b, int ig_c) \
    { \
        return max(__vi##ig_kind##3_s32(ig_a, ig_b, ig_c), 0); \
    } \
    __device__ unsigned __vi##ig_kind##3_s16x2_relu(unsigned ig_a, unsigned ig_b, unsigned ig_c) \
    { \
        return __vmaxs2(__vi##ig_kind##3_s16x2(ig_a, ig_b, ig_c), 0); \
    } \
    __device__ int __viadd##ig_kind##_s32_relu(int ig_a, int ig_b, int ig_c) \
    { \
        return max(__viadd##ig_kind##_s32(ig_a, ig_b, ig_c), 0); \
    } \
    __device__ unsigned __viadd##ig_kind##_s16x2_relu(unsigned ig_a, unsigned ig_b, unsigned ig_c) \
    { \
        return __vmaxs2(__viadd##ig_kind##_s16x2(ig_a, ig_b, ig_c), 0); \
    }
IG_RELU(max)
IG_RELU(min)
