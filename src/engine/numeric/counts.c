/* Nodes of kernels/bins.cu: how many elements are in each bin. */
#include "engine/custom/library.h"
#include "engine/numeric/counts.h"
#include "engine/ops/composite.h"
#include <string.h>

enum { SHARED_BINS = 8192 /* COUNT_BINS of the kernel */ };
enum { N_BINS };

static int build_index(const int64_t *number, ig_array *const *in, ig_array **out);
static int build_even(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel index_kernel = {.file = "bins.cu", .build = build_index, .sums = true};
static const library_kernel even_kernel = {.file = "bins.cu", .build = build_even, .sums = true};

/* Blocks for each row: some thousand elements for a thread block, and no more blocks than a GPU runs at once. */
static int64_t blocks_of(int64_t size)
{
    enum { EACH = 8192, MOST = 1024 };
    const int64_t blocks = (size + EACH - 1) / EACH;
    return blocks > MOST ? MOST : blocks;
}

/* Counts of the last axis of arrays[0], as i64. arrays: of the kernel. */
static ig_array *count_node(const library_kernel *k, const char *kernel, const char *type,
                            int64_t n, ig_array *const *arrays, int n_arrays)
{
    ig_array *x = arrays[0];
    library_args c = args_like(x, x->view.ndim - 1);
    const int64_t size = x->view.shape[c.lead], blocks = blocks_of(size);
    if (c.count * size == 0 || n == 0) {
        int64_t shape[IG_MAX_NDIM];
        memcpy(shape, x->view.shape, sizeof shape);
        shape[c.lead] = n;
        return build_fill(0, IG_I64, x->view.ndim, shape);
    }
    args_arrays(&c, arrays, (size_t)n_arrays);
    ARGS_RESULT(&c, n);
    ARGS_INTS(&c, c.count, size, n, blocks);
    const char *const defines[] = {type, n <= SHARED_BINS ? "SHARED=1" : "SHARED=0",
                                   n_arrays > 1 ? "FLOATS=1" : "FLOATS=0", NULL};
    const int64_t number[LIBRARY_NUMBERS] = {[N_BINS] = n};
    ig_array *y = args_call_one(&c, k, kernel, defines, c.count * blocks, number);
    return y ? ig_astype(y, IG_I64) : NULL;
}

ig_array *counts_of(ig_array *x, int64_t n)
{
    const bool narrow = x && (x->dtype == IG_I8 || x->dtype == IG_U8 || x->dtype == IG_I16 ||
                              x->dtype == IG_U16 || x->dtype == IG_I32);
    x = build_cast(x, narrow ? IG_I32 : IG_I64);
    return x ? count_node(&index_kernel, "count_index",
                          narrow ? "ELEMENT=int" : "ELEMENT=long long", n, &x, 1)
             : NULL;
}

ig_array *counts_even(ig_array *x, ig_array *edges, ig_array *scale, int64_t n)
{
    if (!x || !edges || !scale)
        return NULL;
    const bool f64 = x->dtype == IG_F64;
    return count_node(&even_kernel, "count_even", f64 ? "ELEMENT=double" : "ELEMENT=float", n,
                      (ig_array *[]){x, edges, scale}, 3);
}

static int build_index(const int64_t *number, ig_array *const *in, ig_array **out)
{
    return op_one(out, build_cast(counts_of(in[0], number[N_BINS]), IG_U32));
}

static int build_even(const int64_t *number, ig_array *const *in, ig_array **out)
{
    ig_array *y = counts_even(in[0], in[1], in[2], number[N_BINS]);
    return op_one(out, build_cast(y, IG_U32));
}
