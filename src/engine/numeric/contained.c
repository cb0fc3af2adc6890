/* Nodes of kernels/contained.cu: which integers are among sorted ones. On the CPU, if these are near each other, a bit for each
 * integer between the first and the last says so; else they are searched. */
#include "base/memory.h"
#include "base/threads.h"
#include "engine/custom/library.h"
#include "engine/ops/composite.h"
#include "engine/ops/kernels.h"
#include <string.h>

enum {
    PIECE = 1 << 15,
    BITS_MOST = 1 << 25 /* integers with a bit */
};
enum { X, SORTED, Y, ROWS, SIZE, N, PARAMS };
enum { N_ROWS, N_N };

/* ---- on the CPU ---- */

typedef struct search_job {
    const void *x, *sorted;
    uint8_t *y;
    const uint64_t *bit; /* of each integer from the first of sorted on, or NULL */
    int64_t size, n;
    uint64_t first, range;
} search_job;

#define SEARCH(name, TYPE) \
    static void name(void *context, int64_t task, int worker) \
    { \
        const search_job *j = context; \
        const TYPE *x = j->x, *sorted = j->sorted; \
        const int64_t from = task * PIECE, end = from + PIECE < j->size ? from + PIECE : j->size; \
        (void)worker; \
        for (int64_t i = from; i < end && j->bit; i++) { \
            const uint64_t at = (uint64_t)x[i] - j->first; \
            const uint64_t here = at <= j->range ? at : 0; \
            j->y[i] = (uint8_t)(j->bit[here / 64] >> here % 64 & (at <= j->range)); \
        } \
        for (int64_t i = from; i < end && !j->bit; i++) { \
            const TYPE *low = sorted; \
            for (int64_t length = j->n; length > 1; length -= length / 2) \
                low += low[length / 2] <= x[i] ? length / 2 : 0; \
            j->y[i] = *low == x[i]; \
        } \
    } \
    static void name##_row(search_job *j) \
    { \
        const TYPE *sorted = j->sorted; \
        j->first = (uint64_t)sorted[0]; \
        j->range = (uint64_t)sorted[j->n - 1] - j->first; \
        uint64_t *bit = j->range < BITS_MOST && (int64_t)j->range / 64 <= j->size \
                            ? memory_new((size_t)(j->range / 64 + 1) * sizeof *bit) \
                            : NULL; \
        for (int64_t k = 0; bit && k < j->n; k++) { \
            const uint64_t place = (uint64_t)sorted[k] - j->first; \
            bit[place / 64] |= (uint64_t)1 << place % 64; \
        } \
        j->bit = bit; \
        pool_run((j->size + PIECE - 1) / PIECE, name, j); \
        memory_free(bit); \
    } \
    static void name##_core(void *const *at) \
    { \
        const int64_t size = *(const int64_t *)at[SIZE], n = *(const int64_t *)at[N]; \
        for (int64_t row = 0; row < *(const int64_t *)at[ROWS]; row++) \
            name##_row(&(search_job){.x = (const TYPE *)at[X] + row * size, \
                                     .sorted = (const TYPE *)at[SORTED] + row * n, \
                                     .y = (uint8_t *)at[Y] + row * size, \
                                     .size = size, \
                                     .n = n}); \
    }
SEARCH(search_i32, int32_t)
SEARCH(search_i64, int64_t)

/* ---- nodes ---- */

static int build_again(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel kernels[2] = {
    {.file = "contained.cu", .core = search_i32_core, .build = build_again, .writes_all = true},
    {.file = "contained.cu", .core = search_i64_core, .build = build_again, .writes_all = true}};

/* x is (rows..., any axes), sorted (rows..., n). */
static ig_array *contained_rows(ig_array *x, ig_array *sorted, int64_t rows, int64_t n)
{
    const bool wide = x->dtype == IG_I64;
    const int64_t size = ig_size(x), blocks = (size + 1023) / 1024;
    if (size == 0)
        return build_fill(0, IG_U8, x->view.ndim, x->view.shape);
    const ig_arg args[PARAMS] = {
        {.kind = IG_ARG_ARRAY, .u.array = x},
        {.kind = IG_ARG_ARRAY, .u.array = sorted},
        {.kind = IG_ARG_INTS, .u.ints = {x->view.shape, x->view.ndim}},
        {.kind = IG_ARG_INT, .u.i = rows},
        {.kind = IG_ARG_INT, .u.i = size / rows},
        {.kind = IG_ARG_INT, .u.i = n},
    };
    const char *const define[] = {wide ? "ELEMENT=long long" : "ELEMENT=int"};
    const ig_module_options options = {.size = sizeof options, .defines = define, .n_defines = 1};
    const ig_kernel_call call = {.kernel = "contained",
                                 .options = &options,
                                 .args = args,
                                 .n_args = PARAMS,
                                 .grid = {(uint32_t)(blocks > 65535 ? 65535 : blocks), 1, 1},
                                 .block = {256, 1, 1}};
    const int64_t number[LIBRARY_NUMBERS] = {[N_ROWS] = rows, [N_N] = n};
    ig_array *y;
    return library_call(&kernels[wide], &call, number, &y, 1) ? y : NULL;
}

ig_array *kernel_contained(ig_array *x, ig_array *sorted)
{
    return x && sorted ? build_cast(contained_rows(x, sorted, 1, ig_size(sorted)), IG_BOOL) : NULL;
}

/* For vmap: one more axis before both. */
static int build_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int64_t rows = number[N_ROWS] * in[1]->view.shape[0];
    return op_one(out, contained_rows(in[0], in[1], rows, number[N_N]));
}
