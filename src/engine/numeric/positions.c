/* The positions at which a mask is true: nodes of kernels/compact.cu. */
#include "base/error.h"
#include "engine/custom/library.h"
#include "engine/numeric/counts.h"
#include "engine/ops/composite.h"

enum { TILE = 4096 }; /* of the kernel */

/* The nodes are evaluated at once, so that vmap never builds them again. */
static const library_kernel kernel = {.file = "compact.cu", .writes_all = true};

ig_array *positions_of(ig_array *mask)
{
    const int64_t size = mask ? ig_size(mask) : 0, tiles = (size + TILE - 1) / TILE, none = 0;
    if (!mask || size == 0)
        return mask ? build_fill(0, IG_I64, 1, &none) : NULL;
    if (tiles > INT32_MAX)
        FAIL_NULL(IG_ERR_UNSUPPORTED, "a mask has more than 2^43 elements");
    mask = ig_reshape(mask, IG_SHAPE(size));
    library_args counts = args_like(NULL, 0), puts = counts;
    args_arrays(&counts, &mask, 1);
    ARGS_INTS(&counts, tiles, size);
    ig_array *count =
        build_cast(args_call_one(&counts, &kernel, "compact_count", NULL, tiles, NULL), IG_I64);
    ig_array *end = ig_cumulative_sum(count, IG_AXES(0), IG_DTYPE_NONE, false);
    ig_array *begin = ig_subtract(end, count), *total = NULL;
    if (end)
        total = ig_slice(end, IG_AXES(tiles - 1), IG_AXES(tiles), IG_NONE);
    ig_array *all[3] = {mask, begin, total};
    if (!begin || !total || ig_eval(all, 3) != IG_OK)
        return NULL;
    const int64_t *n = ig_data(total);
    if (!n || *n == 0)
        return n ? build_fill(0, IG_I64, 1, &none) : NULL;
    args_arrays(&puts, all, 2);
    ARGS_INTS(&puts, *n, size);
    return args_call_one(&puts, &kernel, "compact_put", NULL, tiles, NULL);
}
