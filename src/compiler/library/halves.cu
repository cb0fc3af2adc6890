/* Functions on half, bfloat16 and pairs of them that are not rows of builtin_names.def: saturating and rectified
 * arithmetic, comparisons of pairs, comparisons that a NaN satisfies. */
#define IG_HALF_EACH(ig_one, ig_two, ig_pair) \
    __device__ ig_one ig_saturated(ig_one ig_a) \
    { \
        const float ig_x = (float)ig_a; \
        return (ig_one)(ig_x > 0 ? ig_x < 1 ? ig_x : 1.0f : 0.0f); \
    } \
    __device__ ig_one ig_rectified(ig_one ig_a) { return (float)ig_a < 0 ? (ig_one)0.0f : ig_a; } \
    IG_HALF_UNARY2(ig_two, ig_pair, ig_saturated) \
    IG_HALF_UNARY2(ig_two, ig_pair, ig_rectified) \
    __device__ ig_one __hadd_sat(ig_one ig_a, ig_one ig_b) { return ig_saturated(__hadd(ig_a, ig_b)); } \
    __device__ ig_one __hsub_sat(ig_one ig_a, ig_one ig_b) { return ig_saturated(__hsub(ig_a, ig_b)); } \
    __device__ ig_one __hmul_sat(ig_one ig_a, ig_one ig_b) { return ig_saturated(__hmul(ig_a, ig_b)); } \
    __device__ ig_one __hsub_rn(ig_one ig_a, ig_one ig_b) { return __hsub(ig_a, ig_b); } \
    __device__ ig_two __hadd2_sat(ig_two ig_a, ig_two ig_b) { return ig_saturated(__hadd2(ig_a, ig_b)); } \
    __device__ ig_two __hsub2_sat(ig_two ig_a, ig_two ig_b) { return ig_saturated(__hsub2(ig_a, ig_b)); } \
    __device__ ig_two __hmul2_sat(ig_two ig_a, ig_two ig_b) { return ig_saturated(__hmul2(ig_a, ig_b)); } \
    __device__ ig_two __hsub2_rn(ig_two ig_a, ig_two ig_b) { return __hsub2(ig_a, ig_b); } \
    __device__ ig_one __hfma_sat(ig_one ig_a, ig_one ig_b, ig_one ig_c) \
    { \
        return ig_saturated(__hfma(ig_a, ig_b, ig_c)); \
    } \
    __device__ ig_one __hfma_relu(ig_one ig_a, ig_one ig_b, ig_one ig_c) \
    { \
        return ig_rectified(__hfma(ig_a, ig_b, ig_c)); \
    } \
    __device__ ig_two __hfma2_sat(ig_two ig_a, ig_two ig_b, ig_two ig_c) \
    { \
        return ig_saturated(__hfma2(ig_a, ig_b, ig_c)); \
    } \
    __device__ ig_two __hfma2_relu(ig_two ig_a, ig_two ig_b, ig_two ig_c) \
    { \
        return ig_rectified(__hfma2(ig_a, ig_b, ig_c)); \
    } \
    __device__ ig_two __hcmadd(ig_two ig_a, ig_two ig_b, ig_two ig_c) \
    { \
        const ig_one ig_x = __hfma(ig_a.x, ig_b.x, ig_c.x), ig_y = __hfma(ig_a.x, ig_b.y, ig_c.y); \
        return ig_pair(__hfma(-ig_a.y, ig_b.y, ig_x), __hfma(ig_a.y, ig_b.x, ig_y)); \
    } \
    __device__ ig_two __hisnan2(ig_two ig_a) \
    { \
        return ig_pair((ig_one)(__hisnan(ig_a.x) ? 1.0f : 0.0f), (ig_one)(__hisnan(ig_a.y) ? 1.0f : 0.0f)); \
    } \
    __device__ ig_two __hmax2_nan(ig_two ig_a, ig_two ig_b) \
    { \
        return ig_pair(__hmax_nan(ig_a.x, ig_b.x), __hmax_nan(ig_a.y, ig_b.y)); \
    } \
    __device__ ig_two __hmin2_nan(ig_two ig_a, ig_two ig_b) \
    { \
        return ig_pair(__hmin_nan(ig_a.x, ig_b.x), __hmin_nan(ig_a.y, ig_b.y)); \
    }
#define IG_HALF_UNARY2(ig_two, ig_pair, ig_name) \
    __device__ ig_two ig_name(ig_two ig_a) { return ig_pair(ig_name(ig_a.x), ig_name(ig_a.y)); }

#define IG_HALF_COMPARE(ig_one, ig_two, ig_pair, ig_name, ig_sign) \
    __device__ bool __h##ig_name##u(ig_one ig_a, ig_one ig_b) \
    { \
        return __hisnan(ig_a) || __hisnan(ig_b) || (float)ig_a ig_sign(float) ig_b; \
    } \
    __device__ ig_two __h##ig_name##u2(ig_two ig_a, ig_two ig_b) \
    { \
        return ig_pair((ig_one)(__h##ig_name##u(ig_a.x, ig_b.x) ? 1.0f : 0.0f), \
                       (ig_one)(__h##ig_name##u(ig_a.y, ig_b.y) ? 1.0f : 0.0f)); \
    } \
    __device__ bool __hb##ig_name##u2(ig_two ig_a, ig_two ig_b) \
    { \
        return __h##ig_name##u(ig_a.x, ig_b.x) && __h##ig_name##u(ig_a.y, ig_b.y); \
    } \
    __device__ bool __hb##ig_name##2(ig_two ig_a, ig_two ig_b) \
    { \
        return (float)ig_a.x ig_sign(float) ig_b.x && (float)ig_a.y ig_sign(float) ig_b.y; \
    } \
    __device__ unsigned __h##ig_name##2_mask(ig_two ig_a, ig_two ig_b) \
    { \
        return ((float)ig_a.x ig_sign(float) ig_b.x ? 0xffffu : 0) | \
               ((float)ig_a.y ig_sign(float) ig_b.y ? 0xffff0000u : 0); \
    } \
    __device__ unsigned __h##ig_name##u2_mask(ig_two ig_a, ig_two ig_b) \
    { \
        return (__h##ig_name##u(ig_a.x, ig_b.x) ? 0xffffu : 0) | \
               (__h##ig_name##u(ig_a.y, ig_b.y) ? 0xffff0000u : 0); \
    }
#define IG_HALF_ALL(ig_one, ig_two, ig_pair) \
    IG_HALF_EACH(ig_one, ig_two, ig_pair) \
    IG_HALF_COMPARE(ig_one, ig_two, ig_pair, eq, ==) \
    IG_HALF_COMPARE(ig_one, ig_two, ig_pair, ge, >=) \
    IG_HALF_COMPARE(ig_one, ig_two, ig_pair, gt, >) \
    IG_HALF_COMPARE(ig_one, ig_two, ig_pair, le, <=) \
    IG_HALF_COMPARE(ig_one, ig_two, ig_pair, lt, <)
IG_HALF_ALL(__half, __half2, __halves2half2)
IG_HALF_ALL(__nv_bfloat16, __nv_bfloat162, __halves2bfloat162)
/* A NaN is not equal, also in the comparison that is ordered otherwise. */
#define IG_HALF_NE(ig_one, ig_two, ig_pair) \
    __device__ bool __hneu(ig_one ig_a, ig_one ig_b) { return !((float)ig_a == (float)ig_b); } \
    __device__ bool ig_ne(ig_one ig_a, ig_one ig_b) \
    { \
        return !__hisnan(ig_a) && !__hisnan(ig_b) && (float)ig_a != (float)ig_b; \
    } \
    __device__ ig_two __hneu2(ig_two ig_a, ig_two ig_b) \
    { \
        return ig_pair((ig_one)(__hneu(ig_a.x, ig_b.x) ? 1.0f : 0.0f), \
                       (ig_one)(__hneu(ig_a.y, ig_b.y) ? 1.0f : 0.0f)); \
    } \
    __device__ bool __hbneu2(ig_two ig_a, ig_two ig_b) \
    { \
        return __hneu(ig_a.x, ig_b.x) && __hneu(ig_a.y, ig_b.y); \
    } \
    __device__ bool __hbne2(ig_two ig_a, ig_two ig_b) { return ig_ne(ig_a.x, ig_b.x) && ig_ne(ig_a.y, ig_b.y); } \
    __device__ unsigned __hne2_mask(ig_two ig_a, ig_two ig_b) \
    { \
        return (ig_ne(ig_a.x, ig_b.x) ? 0xffffu : 0) | (ig_ne(ig_a.y, ig_b.y) ? 0xffff0000u : 0); \
    } \
    __device__ unsigned __hneu2_mask(ig_two ig_a, ig_two ig_b) \
    { \
        return (__hneu(ig_a.x, ig_b.x) ? 0xffffu : 0) | (__hneu(ig_a.y, ig_b.y) ? 0xffff0000u : 0); \
    }
IG_HALF_NE(__half, __half2, __halves2half2)
IG_HALF_NE(__nv_bfloat16, __nv_bfloat162, __halves2bfloat162)

/* Two atomic additions, which CUDA does not promise to be one either. */
__device__ __half2 ig_atomic_pair(__half2 *ig_p, __half2 ig_a)
{
    return __halves2half2(atomicAdd(&ig_p->x, ig_a.x), atomicAdd(&ig_p->y, ig_a.y));
}
__device__ __nv_bfloat162 ig_atomic_pair(__nv_bfloat162 *ig_p, __nv_bfloat162 ig_a)
{
    return __halves2bfloat162(atomicAdd(&ig_p->x, ig_a.x), atomicAdd(&ig_p->y, ig_a.y));
}
