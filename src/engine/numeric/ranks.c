/* Elements by their ranks: nodes of kernels/ranks.cu, which finds their keys digit by digit. */
#include "base/error.h"
#include "engine/custom/library.h"
#include "engine/numeric/counts.h"
#include "engine/ops/composite.h"
#include <stdio.h>
#include <string.h>

enum {
    DIGIT = 11,
    DIGITS = 1 << DIGIT,
    MOST = 8,        /* targets */
    SHARED_MOST = 4, /* targets whose counts fit into shared memory */
    LEAST = 16384    /* shorter rows are sorted */
};

enum { N_TARGETS, N_SHIFT, N_WIDTH, N_DTYPE };

bool ranks_fit(int64_t n, int64_t ranks)
{
    return n >= LEAST && n <= UINT32_MAX && ranks >= 1 && ranks <= MOST;
}

/* ---- nodes ---- */

static int count_again(const int64_t *number, ig_array *const *in, ig_array **out);
static int pick_again(const int64_t *number, ig_array *const *in, ig_array **out);
static int value_again(const int64_t *number, ig_array *const *in, ig_array **out);

static const library_kernel count_kernel = {.file = "ranks.cu", .build = count_again, .sums = true};
static const library_kernel pick_kernel = {
    .file = "ranks.cu", .build = pick_again, .writes_all = true};
static const library_kernel value_kernel = {
    .file = "ranks.cu", .build = value_again, .writes_all = true};

/* A dtype, and the definitions of its kernels. */
typedef struct rank_type {
    ig_dtype dtype;
    int bits;
    const char *define[6];
} rank_type;

#define KEYS_32 "KEY=unsigned int", "KEY_INFINITY=0x7f800000u"
#define KEYS_64 "KEY=unsigned long long", "KEY_INFINITY=0x7ff0000000000000ull"
static const rank_type types[] = {
    {IG_F32, 32, {KEYS_32, "ELEMENT=float", "FLOATS=1", "KEY_SIGN=0x80000000u"}},
    {IG_I32, 32, {KEYS_32, "ELEMENT=int", "FLOATS=0", "KEY_SIGN=0x80000000u"}},
    {IG_U32, 32, {KEYS_32, "ELEMENT=unsigned int", "FLOATS=0", "KEY_SIGN=0u"}},
    {IG_F64, 64, {KEYS_64, "ELEMENT=double", "FLOATS=1", "KEY_SIGN=0x8000000000000000ull"}},
    {IG_I64, 64, {KEYS_64, "ELEMENT=long long", "FLOATS=0", "KEY_SIGN=0x8000000000000000ull"}},
    {IG_U64, 64, {KEYS_64, "ELEMENT=unsigned long long", "FLOATS=0", "KEY_SIGN=0ull"}},
};

static const rank_type *type_of(ig_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            return &types[i];
    return NULL;
}

/* A digit of the keys of T targets. */
typedef struct digit_of {
    const rank_type *type;
    int shift, width;
    int64_t targets;
} digit_of;

static int call(const digit_of *d, const library_kernel *k, const char *kernel, library_args *args,
                int64_t blocks, ig_array **out)
{
    char targets[32];
    snprintf(targets, sizeof targets, "TARGETS=%lld", (long long)d->targets);
    const char *define[11] = {NULL};
    int n = 0;
    for (; n < 6 && d->type->define[n]; n++)
        define[n] = d->type->define[n];
    const bool f64 = d->type->dtype == IG_F64, f32 = d->type->dtype == IG_F32;
    define[n++] = targets;
    define[n++] = d->targets <= SHARED_MOST ? "SHARED=1" : "SHARED=0";
    define[n++] = f32   ? "BITS_OF=__float_as_uint"
                  : f64 ? "BITS_OF=__double_as_longlong"
                        : "BITS_OF=";
    define[n++] = f32   ? "ELEMENT_OF=__uint_as_float"
                  : f64 ? "ELEMENT_OF=__longlong_as_double"
                        : "ELEMENT_OF=";
    ARGS_INTS(args, d->shift, d->width, d->targets);
    const int64_t number[LIBRARY_NUMBERS] = {[N_TARGETS] = d->targets,
                                             [N_SHIFT] = d->shift,
                                             [N_WIDTH] = d->width,
                                             [N_DTYPE] = d->type->dtype};
    return args_call(args, k, kernel, define, blocks, LIBRARY_THREADS, number, out);
}

/* x is (rows, n), prefix (rows, targets); the result (rows, targets, DIGITS). */
static ig_array *count_node(const digit_of *d, ig_array *x, ig_array *prefix)
{
    enum { EACH = 8192, BLOCKS_MOST = 1024 };
    ig_array *out[LIBRARY_RESULTS];
    if (!x || !prefix)
        return NULL;
    const int64_t rows = x->view.shape[0], size = x->view.shape[1];
    int64_t blocks = (size + EACH - 1) / EACH;
    blocks = blocks > BLOCKS_MOST ? BLOCKS_MOST : blocks;
    library_args args = args_like(NULL, 0);
    ARGS_ARRAYS(&args, x, prefix);
    ARGS_RESULT(&args, rows, d->targets, DIGITS);
    ARGS_INTS(&args, rows, size, blocks);
    return call(d, &count_kernel, "rank_count", &args, rows * blocks, out) ? out[0] : NULL;
}

/* A node of n results with the shape of prefix, from the counts of count_node. */
static int pick_results(const digit_of *d, const library_kernel *k, const char *kernel, int n,
                        ig_array *const in[3], ig_array **out)
{
    if (!in[0] || !in[1] || !in[2])
        return 0;
    library_args args = args_like(in[1], 2);
    args_arrays(&args, in, 3);
    for (int i = 0; i < n; i++)
        args_result(&args, NULL, 0);
    const int64_t blocks = in[1]->view.shape[0] * d->targets;
    ARGS_INTS(&args, blocks);
    return call(d, k, kernel, &args, blocks, out);
}

/* prefix and rank with one more digit. */
static bool pick_node(const digit_of *d, ig_array *count, ig_array *prefix, ig_array *rank,
                      ig_array **out)
{
    ig_array *made[LIBRARY_RESULTS];
    if (pick_results(d, &pick_kernel, "rank_pick", 2, (ig_array *[]){count, prefix, rank}, made) !=
        2)
        return false;
    out[0] = made[0];
    out[1] = made[1];
    return true;
}

static ig_array *value_node(const digit_of *d, ig_array *count, ig_array *prefix, ig_array *rank)
{
    ig_array *out[LIBRARY_RESULTS], *const in[3] = {count, prefix, rank};
    return pick_results(d, &value_kernel, "rank_value", 1, in, out) ? out[0] : NULL;
}

/* ---- for vmap: one more axis before the rows ---- */

static digit_of digit_again(const int64_t *number)
{
    return (digit_of){type_of((ig_dtype)number[N_DTYPE]), (int)number[N_SHIFT],
                      (int)number[N_WIDTH], number[N_TARGETS]};
}

/* The first two axes of x as one. */
static ig_array *joined(ig_array *x)
{
    const int64_t *s = x->view.shape;
    const int64_t shape[3] = {s[0] * s[1], s[2], x->view.ndim > 3 ? s[3] : 1};
    return ig_reshape(x, (ig_ints){shape, x->view.ndim - 1});
}

/* The inverse: the first axis of y as the first two axes of x. */
static ig_array *parted(ig_array *y, const ig_array *x)
{
    if (!y)
        return NULL;
    const int64_t *s = y->view.shape;
    const int64_t shape[4] = {x->view.shape[0], x->view.shape[1], s[1],
                              y->view.ndim > 2 ? s[2] : 1};
    return ig_reshape(y, (ig_ints){shape, y->view.ndim + 1});
}

static int count_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const digit_of d = digit_again(number);
    return op_one(out, parted(count_node(&d, joined(in[0]), joined(in[1])), in[0]));
}

static int pick_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const digit_of d = digit_again(number);
    ig_array *y[2];
    if (!pick_node(&d, joined(in[0]), joined(in[1]), joined(in[2]), y))
        return 0;
    out[0] = parted(y[0], in[1]);
    out[1] = parted(y[1], in[1]);
    return out[0] && out[1] ? 2 : 0;
}

static int value_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const digit_of d = digit_again(number);
    return op_one(out, parted(value_node(&d, joined(in[0]), joined(in[1]), joined(in[2])), in[1]));
}

/* ---- ranks ---- */

static ig_array *ranked(const rank_type *type, ig_array *x, ig_array *rank)
{
    const int64_t shape[2] = {x->view.shape[0], rank->view.shape[1]};
    ig_array *pair[2] = {build_fill(0, type->bits == 32 ? IG_U32 : IG_U64, 2, shape), rank};
    for (int top = type->bits;; top -= DIGIT) {
        const int shift = top > DIGIT ? top - DIGIT : 0;
        const digit_of d = {type, shift, top - shift, shape[1]};
        ig_array *count = count_node(&d, x, pair[0]);
        if (shift == 0)
            return value_node(&d, count, pair[0], pair[1]);
        if (!pick_node(&d, count, pair[0], pair[1], pair))
            return NULL;
    }
}

/* The gradient goes to the element that a stable sort has at the rank. */
static ig_status pull(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                      ig_array **grads)
{
    (void)context, (void)n, (void)out;
    ig_array *x = inputs[0], *places = ig_argsort(x, -1, false, true);
    ig_array *at = ig_take_along_axis(places, inputs[1], -1);
    ig_array *zero = build_fill(0, (ig_dtype)x->dtype, x->view.ndim, x->view.shape);
    grads[0] = ig_scatter_add(zero, at, g, -1);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

ig_array *ranks_take(ig_array *rows, ig_array *ranks)
{
    if (!rows || !ranks)
        return NULL;
    const ig_dtype dtype = (ig_dtype)rows->dtype;
    const rank_type *type = type_of(dtype);
    if (!type) /* of fewer bits */
        type = type_of(dtype_is_float(dtype) ? IG_F32 : IG_I32);
    const int last = rows->view.ndim - 1;
    int64_t shape[IG_MAX_NDIM], n = 1;
    memcpy(shape, ranks->view.shape, sizeof shape);
    for (int a = 0; a < last; a++)
        n *= shape[a];
    ig_array *x = ig_reshape(build_cast(rows, type->dtype), IG_SHAPE(n, rows->view.shape[last]));
    ig_array *rank = ig_reshape(ranks, IG_SHAPE(n, shape[last]));
    ig_array *y = x && rank ? ranked(type, x, rank) : NULL;
    y = build_cast(ig_reshape(y, (ig_ints){shape, last + 1}), dtype);
    if (!y || !dtype_is_float(dtype))
        return y;
    return ig_custom_grad(y, (ig_array *const[]){rows, ranks}, 2, pull, NULL, NULL);
}
