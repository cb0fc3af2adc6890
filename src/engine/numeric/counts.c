/* Nodes of kernels/bins.cu: how many elements are in each bin. */
#include "engine/custom/library.h"
#include "engine/numeric/counts.h"
#include "engine/ops/composite.h"
#include <string.h>

enum { SHARED_BINS = 8192 /* COUNT_BINS of the kernel */, PARAMS_MOST = 8 };
enum { N_BINS };

static int build_index(const int64_t *number, ig_array *const *in, ig_array **out);
static int build_even(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel index_kernel = {.file = "bins.cu", .build = build_index, .sums = true};
static const library_kernel even_kernel = {.file = "bins.cu", .build = build_even, .sums = true};

static ig_arg array_arg(ig_array *x) { return (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x}; }
static ig_arg int_arg(int64_t i) { return (ig_arg){.kind = IG_ARG_INT, .u.i = i}; }

/* Blocks for each row: some thousand elements for a thread block, and no more blocks than a GPU runs at once. */
static int64_t blocks_of(int64_t size)
{
    enum { EACH = 8192, MOST = 1024 };
    const int64_t blocks = (size + EACH - 1) / EACH;
    return blocks > MOST ? MOST : blocks;
}

/* Counts of the last axis of x, as i64. args has the kernel's parameters before rows. */
static ig_array *count_node(const library_kernel *k, const char *kernel, const char *type,
                            ig_array *x, int64_t n, const ig_arg *arrays, int n_arrays)
{
    const int ndim = x->view.ndim;
    int64_t shape[IG_MAX_NDIM], rows = 1;
    memcpy(shape, x->view.shape, sizeof shape);
    const int64_t size = shape[ndim - 1], blocks = blocks_of(size);
    shape[ndim - 1] = n;
    for (int a = 0; a < ndim - 1; a++)
        rows *= shape[a];
    if (rows * size == 0 || n == 0)
        return build_fill(0, IG_I64, ndim, shape);
    ig_arg args[PARAMS_MOST];
    memcpy(args, arrays, (size_t)n_arrays * sizeof *args);
    args[n_arrays] = (ig_arg){.kind = IG_ARG_INTS, .u.ints = {shape, ndim}};
    args[n_arrays + 1] = int_arg(rows);
    args[n_arrays + 2] = int_arg(size);
    args[n_arrays + 3] = int_arg(n);
    args[n_arrays + 4] = int_arg(blocks);
    const char *const define[] = {type, n <= SHARED_BINS ? "SHARED=1" : "SHARED=0",
                                  n_arrays > 1 ? "FLOATS=1" : "FLOATS=0"};
    const ig_module_options options = {.size = sizeof options, .defines = define, .n_defines = 3};
    const ig_kernel_call call = {.kernel = kernel,
                                 .options = &options,
                                 .args = args,
                                 .n_args = n_arrays + 5,
                                 .grid = {(uint32_t)(rows * blocks), 1, 1},
                                 .block = {256, 1, 1}};
    const int64_t number[LIBRARY_NUMBERS] = {[N_BINS] = n};
    ig_array *y;
    return library_call(k, &call, number, &y, 1) ? ig_astype(y, IG_I64) : NULL;
}

ig_array *counts_of(ig_array *x, int64_t n)
{
    const bool narrow = x && (x->dtype == IG_I8 || x->dtype == IG_U8 || x->dtype == IG_I16 ||
                              x->dtype == IG_U16 || x->dtype == IG_I32);
    x = build_cast(x, narrow ? IG_I32 : IG_I64);
    return x ? count_node(&index_kernel, "count_index",
                          narrow ? "ELEMENT=int" : "ELEMENT=long long", x, n,
                          (ig_arg[]){array_arg(x)}, 1)
             : NULL;
}

ig_array *counts_even(ig_array *x, ig_array *edges, ig_array *scale, int64_t n)
{
    if (!x || !edges || !scale)
        return NULL;
    const bool f64 = x->dtype == IG_F64;
    return count_node(&even_kernel, "count_even", f64 ? "ELEMENT=double" : "ELEMENT=float", x, n,
                      (ig_arg[]){array_arg(x), array_arg(edges), array_arg(scale)}, 3);
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
