/* Reductions of objects, or by operations of the program, and copies of groups. A tile is `ig_n` lanes of a warp; a
 * coalesced group has the lanes of a mask. */

/* Pairs at distances n / 2, n / 4, ..., 1; the first lane's result goes to all. */
template <typename ig_t, typename ig_f>
__device__ ig_t ig_reduce_tile(unsigned ig_mask, ig_t ig_x, ig_f ig_op, int ig_n)
{
    for (int ig_by = ig_n / 2; ig_by > 0; ig_by /= 2) {
        const ig_t ig_y = ig_struct_shuffle_down(ig_mask, ig_x, ig_by, ig_n);
        ig_x = ig_op(ig_x, ig_y);
    }
    return ig_struct_shuffle(ig_mask, ig_x, 0, ig_n);
}
/* In the order of the lanes. */
template <typename ig_t, typename ig_f>
__device__ ig_t ig_reduce_lanes(unsigned ig_mask, ig_t ig_x, ig_f ig_op)
{
    ig_t ig_sum = ig_struct_shuffle_rank(ig_mask, ig_x, 0, 32);
    for (int ig_i = 1; ig_i < __popc(ig_mask); ig_i++)
        ig_sum = ig_op(ig_sum, ig_struct_shuffle_rank(ig_mask, ig_x, ig_i, 32));
    return ig_sum;
}
template <typename ig_t> __device__ inline ig_t ig_move_lanes(unsigned ig_mask, ig_t ig_value, int ig_by);
/* Up to each lane, or, if ig_before, up to the lane before it; the first lane then has a zero. */
template <typename ig_t, typename ig_f>
__device__ ig_t ig_scan_lanes(unsigned ig_mask, ig_t ig_x, ig_f ig_op, int ig_before)
{
    const unsigned ig_lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u;
    const int ig_rank = __popc(ig_mask & ((1u << ig_lane) - 1));
    for (int ig_by = 1; ig_by < __popc(ig_mask); ig_by *= 2) {
        const ig_t ig_y = ig_move_lanes(ig_mask, ig_x, -ig_by);
        if (ig_rank >= ig_by)
            ig_x = ig_op(ig_x, ig_y);
    }
    if (!ig_before)
        return ig_x;
    const ig_t ig_y = ig_move_lanes(ig_mask, ig_x, -1);
    return ig_rank ? ig_y : ig_t();
}
#define IG_OPERATION(ig_name, ig_value) \
    struct ig_name { \
        template <typename ig_t> __device__ ig_t operator()(const ig_t &ig_a, const ig_t &ig_b) const \
        { \
            return ig_value; \
        } \
    }; \
    template <typename ig_t> __device__ ig_t ig_name##_tile(unsigned ig_mask, ig_t ig_x, int ig_n) \
    { \
        return ig_reduce_tile(ig_mask, ig_x, ig_name(), ig_n); \
    } \
    template <typename ig_t> __device__ ig_t ig_name##_lanes(unsigned ig_mask, ig_t ig_x) \
    { \
        return ig_reduce_lanes(ig_mask, ig_x, ig_name()); \
    } \
    template <typename ig_t> __device__ ig_t ig_name##_scan(unsigned ig_mask, ig_t ig_x, int ig_before) \
    { \
        return ig_scan_lanes(ig_mask, ig_x, ig_name(), ig_before); \
    }
IG_OPERATION(ig_plus, ig_a + ig_b)
IG_OPERATION(ig_less, ig_b < ig_a ? ig_b : ig_a)
IG_OPERATION(ig_greater, ig_a < ig_b ? ig_b : ig_a)
IG_OPERATION(ig_bit_and, ig_a & ig_b)
IG_OPERATION(ig_bit_or, ig_a | ig_b)
IG_OPERATION(ig_bit_xor, ig_a ^ ig_b)

/* The threads of a group copy in turn: words if the addresses allow it. */
__device__ void ig_copy_group(void *ig_to, const void *ig_from, unsigned long long ig_bytes, unsigned ig_rank,
                              unsigned ig_threads)
{
    const bool ig_words = (((unsigned long long)ig_to | (unsigned long long)ig_from | ig_bytes) & 3ull) == 0;
    if (ig_words)
        for (unsigned long long ig_i = ig_rank; ig_i < ig_bytes / 4; ig_i += ig_threads)
            ((unsigned *)ig_to)[ig_i] = ((const unsigned *)ig_from)[ig_i];
    else
        for (unsigned long long ig_i = ig_rank; ig_i < ig_bytes; ig_i += ig_threads)
            ((unsigned char *)ig_to)[ig_i] = ((const unsigned char *)ig_from)[ig_i];
}

/* Members of coalesced groups: lanes are counted by their ranks in the mask. */
__device__ inline unsigned ig_pack_lanes(unsigned ig_mask, unsigned ig_bits)
{
    unsigned ig_packed = 0;
    for (int ig_rank = 0; ig_mask; ig_mask &= ig_mask - 1, ig_rank++)
        ig_packed |= (ig_bits >> (__ffs(ig_mask) - 1) & 1u) << ig_rank;
    return ig_packed;
}
__device__ inline unsigned ig_ballot_lanes(unsigned ig_mask, int ig_predicate)
{
    return ig_pack_lanes(ig_mask, __ballot_sync(ig_mask, ig_predicate));
}
template <typename ig_t> __device__ inline unsigned ig_match_any_lanes(unsigned ig_mask, ig_t ig_value)
{
    return ig_pack_lanes(ig_mask, __match_any_sync(ig_mask, ig_value));
}
template <typename ig_t> __device__ inline unsigned ig_match_all_lanes(unsigned ig_mask, ig_t ig_value, int &ig_all)
{
    return ig_pack_lanes(ig_mask, __match_all_sync(ig_mask, ig_value, &ig_all));
}
/* From the lane whose rank is ig_by smaller or larger; the own value if there is none. */
template <typename ig_t> __device__ inline ig_t ig_move_lanes(unsigned ig_mask, ig_t ig_value, int ig_by)
{
    const unsigned ig_lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u;
    const int ig_rank = __popc(ig_mask & ((1u << ig_lane) - 1)), ig_from = ig_rank + ig_by;
    return ig_struct_shuffle_rank(ig_mask, ig_value, ig_from >= 0 && ig_from < __popc(ig_mask) ? ig_from : ig_rank, 32);
}
template <typename ig_t> __device__ inline ig_t ig_shuffle_up_lanes(unsigned ig_mask, ig_t ig_value, unsigned ig_by)
{
    return ig_move_lanes(ig_mask, ig_value, ig_by < 32 ? -(int)ig_by : -32);
}
template <typename ig_t> __device__ inline ig_t ig_shuffle_down_lanes(unsigned ig_mask, ig_t ig_value, unsigned ig_by)
{
    return ig_move_lanes(ig_mask, ig_value, ig_by < 32 ? (int)ig_by : 32);
}
