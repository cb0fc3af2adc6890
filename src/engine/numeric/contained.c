/* The builder of isin, and nodes of kernels/contained.cu: which integers are among sorted ones. */
#include "engine/custom/library.h"
#include "engine/ops/composite.h"

enum { N_ROWS, N_N };

static int build_again(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel kernel = {
    .file = "contained.cu", .build = build_again, .writes_all = true};

/* x is (rows..., any axes), sorted (rows..., n). */
static ig_array *contained_rows(ig_array *x, ig_array *sorted, int64_t rows, int64_t n)
{
    const bool wide = x->dtype == IG_I64;
    const int64_t size = ig_size(x), blocks = (size + 1023) / 1024;
    if (size == 0)
        return build_fill(0, IG_U8, x->view.ndim, x->view.shape);
    library_args c = args_like(x, x->view.ndim);
    ARGS_ARRAYS(&c, x, sorted);
    args_result(&c, NULL, 0);
    ARGS_INTS(&c, rows, size / rows, n);
    const char *const defines[] = {wide ? "ELEMENT=long long" : "ELEMENT=int", NULL};
    const int64_t number[LIBRARY_NUMBERS] = {[N_ROWS] = rows, [N_N] = n};
    return args_call_one(&c, &kernel, "contained", defines, blocks > 65535 ? 65535 : blocks,
                         number);
}

/* bool: which of x, integers of 32 or 64 bits, are in sorted, which is 1-d, not empty, and has the same dtype. */
static ig_array *contained(ig_array *x, ig_array *sorted)
{
    return x && sorted ? build_cast(contained_rows(x, sorted, 1, ig_size(sorted)), IG_BOOL) : NULL;
}

/* For vmap: one more axis before both. */
static int build_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t rows = number[N_ROWS] * in[1]->view.shape[0];
    return op_one(out, contained_rows(in[0], in[1], rows, number[N_N]));
}

/* Integers that fit in i64 are looked for by a kernel, which needs all of them in memory. Else compares each element of x1
 * with the element of the sorted x2 at its insertion point. */
BUILDER(isin)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    bool invert = args[2].u.b;
    int64_t n = view_size(&x[1]->view);
    ig_dtype dtype;
    if (infer_dtype(op, x, 2, &dtype) != IG_OK)
        return 0;
    if (n == 0)
        return op_one(out, ig_full(ig_shape(x[0]), ig_bool(invert), IG_BOOL));
    ig_array *x1 = build_cast(x[0], dtype), *x2 = build_cast(x[1], dtype);
    const bool whole =
        dtype_is_int(dtype) && dtype != IG_U64 && !ig_reads_blocks(x[0]) && !ig_reads_blocks(x[1]);
    if (whole) {
        const ig_dtype wide = dtype == IG_I64 || dtype == IG_U32 ? IG_I64 : IG_I32;
        x1 = build_cast(x1, wide);
        x2 = build_cast(x2, wide);
    }
    ig_array *sorted = ig_sort(ig_reshape(x2, IG_SHAPE(n)), 0, false, true);
    if (whole) {
        ig_array *found = contained(x1, sorted);
        return op_one(out, invert ? ig_logical_not(found) : found);
    }
    ig_array *place = ig_minimum(ig_searchsorted(sorted, x1, "left", NULL), ig_int(n - 1));
    ig_array *nearest = ig_take(sorted, place, IG_AXES(0));
    return op_one(out, invert ? ig_not_equal(nearest, x1) : ig_equal(nearest, x1));
}
