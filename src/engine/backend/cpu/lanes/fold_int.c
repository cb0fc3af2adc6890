/* The folds of integer lanes. */
#include "engine/backend/cpu/lanes/lane_math.h"

#define TEMPLATE "engine/backend/cpu/lanes/fold.inc"
#include "engine/backend/cpu/lanes/each_int.inc"
#undef TEMPLATE

const lane_folds *PART(lane_folds_int)(ig_dtype lane)
{
    static const lane_folds folds[DTYPE_COUNT] = {
        [IG_I8] = LANE_FOLDS(i8),   [IG_I16] = LANE_FOLDS(i16), [IG_I32] = LANE_FOLDS(i32),
        [IG_I64] = LANE_FOLDS(i64), [IG_U8] = LANE_FOLDS(u8),   [IG_U16] = LANE_FOLDS(u16),
        [IG_U32] = LANE_FOLDS(u32), [IG_U64] = LANE_FOLDS(u64),
    };
    return &folds[dtype_lane(lane)];
}
