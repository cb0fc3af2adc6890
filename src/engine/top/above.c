/* The functions of higher folders that lower ones call: see array/above.h. */
#include "engine/array/above.h"

#include "engine/backend/backend.h"
#include "engine/blocks/keep.h"
#include "engine/eval/engine.h"
#include "engine/numeric/counts.h"

const struct above above = {
    .device_name = backend_canonical,
    .device_offers = backend_offers,
    .eval = evaluate_arrays,
    .data = evaluate_data,
    .reads_blocks = ig_reads_blocks,
    .positions = positions_of,
    .is_large = keep_is_large,
    .filed = keep_filed,
    .selected = keep_selected,
    .eval_by_blocks = blocks_eval,
};
