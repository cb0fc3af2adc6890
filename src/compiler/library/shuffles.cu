/* Shuffles of structs and vectors, word by word. */
#define IG_SHUFFLE(ig_name, ig_function) \
    template <typename ig_t> __device__ inline ig_t ig_name(unsigned ig_mask, ig_t ig_v, int ig_lane, int ig_n) \
    { \
        ig_t ig_r; \
        if constexpr (sizeof(ig_t) % 4 == 0) { \
            for (int ig_i = 0; ig_i < (int)sizeof(ig_t) / 4; ig_i++) \
                ((unsigned *)&ig_r)[ig_i] = ig_function(ig_mask, ((unsigned *)&ig_v)[ig_i], ig_lane, ig_n); \
        } else { \
            for (int ig_i = 0; ig_i < (int)sizeof(ig_t); ig_i++) \
                ((unsigned char *)&ig_r)[ig_i] = (unsigned char)ig_function(ig_mask, (unsigned)((unsigned char *)&ig_v)[ig_i], ig_lane, ig_n); \
        } \
        return ig_r; \
    }
IG_SHUFFLE(ig_struct_shuffle, __shfl_sync)
IG_SHUFFLE(ig_struct_shuffle_up, __shfl_up_sync)
IG_SHUFFLE(ig_struct_shuffle_down, __shfl_down_sync)
IG_SHUFFLE(ig_struct_shuffle_xor, __shfl_xor_sync)
/* From the ig_lane-th lane of the mask. */
#define IG_RANK(ig_mask, ig_v, ig_lane, ig_n) ig_shuffle_rank(ig_mask, ig_v, ig_lane)
IG_SHUFFLE(ig_struct_shuffle_rank, IG_RANK)
