/* Builders of random arrays. Random bits are a function of a key and an index (OP_bits), so every
 * array here is a formula over them, lazy and fused like any other.
 *
 * A key is a u32 array; its length selects the generator:
 *
 *   threefry  [2]  the two key words. Draws equal the draws of JAX with its defaults: keys, bits,
 *                  integers, orders and floats in [0, 1) bit for bit, values computed from them up to
 *                  rounding. Integers of large ranges differ (offsets), which JAX draws with unequal
 *                  probabilities. Key i of split_key is the block at counter i,
 *                  fold_in(key, data) the block at counter data.
 *   philox    [4]  words 0 and 1 are the key of Philox 4x32-10, words 2 and 3 the upper half of its
 *                  counter; the block number is the lower half. A seed fills words 0 and 1. New keys
 *                  are whole blocks, drawn with word 3 changed (the domain), so they share no block
 *                  with draws. */
#include "base/error.h"
#include "engine/ops/composite.h"
#include <math.h>
#include <string.h>

enum { PHILOX_WORDS = 4, THREEFRY_WORDS = 2 };
/* Domains. The two highest bits of data, which do not fit in a counter of words, are the low bits of DOMAIN_FOLD. */
enum { DOMAIN_SPLIT = 1, DOMAIN_FOLD = 4 };

/* ---- keys and bits ---- */

ig_array *random_key(op_id op, ig_array *key)
{
    char text[400];
    if (!key)
        return NULL;
    const view *v = &key->view;
    int64_t words = v->ndim ? v->shape[v->ndim - 1] : 0;
    if (key->dtype != IG_U32 || (words != PHILOX_WORDS && words != THREEFRY_WORDS))
        FAIL_NULL(
            IG_ERR_ARGUMENT,
            "%s: a random key is u32 of length 4 (philox) or 2 (threefry), not %s of shape %s; "
            "make one with key(seed)",
            op_rows[op].name, ig_dtype_name(key->dtype), view_shape_text(v->ndim, v->shape, text));
    if (v->ndim != 1)
        FAIL_NULL(IG_ERR_SHAPE,
                  "%s: one key is needed, but there are many, shape %s; pick one, keys[i]",
                  op_rows[op].name, view_shape_text(v->ndim, v->shape, text));
    return key;
}

/* Random bits of an unsigned dtype, starting at index first. */
static ig_array *bits_from(op_id op, ig_array *key, uint64_t first, ig_ints shape, ig_dtype dtype)
{
    int64_t size;
    if (!(key = random_key(op, key)) || infer_size(op, shape.n, shape.v, dtype, &size) != IG_OK)
        return NULL;
    node_attr attr = {.first_index = (int64_t)first};
    return array_node(OP_bits, dtype, shape.n, shape.v, &key, 1, &attr);
}

static ig_array *as_key(ig_array *x)
{
    if (x)
        x->is_key = true;
    return x;
}

int op_key(op_id op, const ig_arg *args, ig_array **out)
{
    (void)op;
    uint64_t seed = (uint64_t)args[0].u.i;
    const char *generator = args[1].u.str;
    uint32_t high = (uint32_t)(seed >> 32), low = (uint32_t)seed;
    if (strcmp(generator, "philox") == 0)
        return op_one(out, as_key(ig_from_data((uint32_t[]){low, high, 0, 0},
                                               IG_SHAPE(PHILOX_WORDS), IG_U32)));
    if (strcmp(generator, "threefry") == 0)
        return op_one(
            out, as_key(ig_from_data((uint32_t[]){high, low}, IG_SHAPE(THREEFRY_WORDS), IG_U32)));
    FAIL_NONE(IG_ERR_ARGUMENT, "key: generator is 'philox' or 'threefry', not '%s'", generator);
}

/* (n, words): new keys, one from each counter starting at first. */
static ig_array *new_keys(op_id op, ig_array *key, uint64_t first, int64_t n, uint32_t domain)
{
    if (!(key = random_key(op, key)))
        return NULL;
    if (key->view.shape[0] == THREEFRY_WORDS) {
        /* A block as one u64 has its first word in the upper half. */
        ig_array *shift = ig_from_data((uint64_t[]){32, 0}, IG_SHAPE(THREEFRY_WORDS), IG_U64);
        ig_array *block = bits_from(op, key, first, IG_SHAPE(n, 1), IG_U64);
        return as_key(ig_astype(ig_bitwise_right_shift(block, shift), IG_U32));
    }
    ig_array *mark = ig_from_data((uint32_t[]){0, 0, 0, domain}, IG_SHAPE(PHILOX_WORDS), IG_U32);
    return as_key(bits_from(op, ig_bitwise_xor(key, mark), PHILOX_WORDS * first,
                            IG_SHAPE(n, PHILOX_WORDS), IG_U32));
}

int op_split_key(op_id op, const ig_arg *args, ig_array **out)
{
    int64_t n = args[1].u.i;
    if (n < 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "split_key: num is %lld; give 1 or more", (long long)n);
    return op_one(out, new_keys(op, args[0].u.array, 0, n, DOMAIN_SPLIT));
}

int op_fold_in(op_id op, const ig_arg *args, ig_array **out)
{
    uint64_t data = (uint64_t)args[1].u.i;
    ig_array *keys = new_keys(op, args[0].u.array, data, 1, DOMAIN_FOLD | (uint32_t)(data >> 62));
    return op_one(out, ig_squeeze(keys, IG_AXES(0)));
}

int op_bits(op_id op, const ig_arg *args, ig_array **out)
{
    ig_dtype dtype = args[2].u.dtype;
    if (dtype_kind_of(dtype) != DTYPE_KIND_UNSIGNED)
        FAIL_NONE(IG_ERR_DTYPE, "bits: dtype is u8, u16, u32 or u64, not %s", ig_dtype_name(dtype));
    return op_one(out, bits_from(op, args[0].u.array, 0, args[1].u.ints, dtype));
}

/* ---- floats ---- */

/* Uniform in [0, 1): as many random bits as the mantissa has digits after the first. */
static ig_array *unit(op_id op, ig_array *key, ig_ints shape, ig_dtype dtype)
{
    static const struct {
        ig_dtype bits;
        int digits;
    } rows[DTYPE_COUNT] = {[IG_F16] = {IG_U16, 10},
                           [IG_BF16] = {IG_U8, 7},
                           [IG_F32] = {IG_U32, 23},
                           [IG_F64] = {IG_U64, 52}};
    ig_dtype from = rows[dtype].bits;
    int digits = rows[dtype].digits, width = (int)(8 * ig_dtype_bytes(from));
    if (!dtype_is_float(dtype))
        FAIL_NULL(IG_ERR_DTYPE, "%s: dtype is f16, bf16, f32 or f64, not %s", op_rows[op].name,
                  ig_dtype_name(dtype));
    ig_array *bits = bits_from(op, key, 0, shape, from);
    ig_array *high = ig_bitwise_right_shift(bits, ig_int(width - digits));
    return ig_multiply(build_cast(high, dtype), ig_float(ldexp(1, -digits)));
}

/* The value of a scalar constant; `otherwise` for any other array. */
static double value_of(const ig_array *x, double otherwise)
{
    const void *number = array_number_of(x);
    return number ? dtype_fetch(x->dtype, number) : otherwise;
}

/* Uniform in [low, high), which broadcast to shape. */
static ig_array *between(op_id op, ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *low,
                         ig_array *high)
{
    ig_array *u = unit(op, key, shape, dtype);
    low = build_cast(low, dtype);
    high = build_cast(high, dtype);
    if (!u || !build_broadcast(op, low, shape.n, shape.v) ||
        !build_broadcast(op, high, shape.n, shape.v))
        return NULL;
    if (value_of(low, NAN) > value_of(high, NAN))
        FAIL_NULL(IG_ERR_ARGUMENT, "%s: minval %g is above maxval %g; exchange them",
                  op_rows[op].name, value_of(low, NAN), value_of(high, NAN));
    if (value_of(low, 1) == 0 && value_of(high, 0) == 1)
        return u;
    /* If both bounds are numbers, so is the width, and all is one program. The bits are the same, because double
     * rounding does not change a difference. */
    double width = value_of(high, NAN) - value_of(low, NAN);
    ig_array *range = isnan(width) ? ig_subtract(high, low) : build_scalar(width, dtype);
    return ig_maximum(low, ig_add(ig_multiply(u, range), low));
}

int op_uniform(op_id op, const ig_arg *args, ig_array **out)
{
    return op_one(out, between(op, args[0].u.array, args[1].u.ints, args[2].u.dtype,
                               args[3].u.array, args[4].u.array));
}

int op_normal(op_id op, const ig_arg *args, ig_array **out)
{
    ig_finfo info;
    ig_dtype dtype = args[2].u.dtype;
    if (ig_finfo_of(dtype_is_float(dtype) ? dtype : IG_F32, &info) != IG_OK)
        return 0;
    /* Open at both ends, where erfinv is infinite: the lowest value is the float after -1. */
    ig_array *u = between(op, args[0].u.array, args[1].u.ints, dtype, ig_float(info.eps / 2 - 1),
                          ig_float(1));
    ig_array *z = ig_multiply(ig_erfinv(u), ig_float(sqrt(2)));
    ig_array *loc = build_cast(args[3].u.array, dtype), *scale = build_cast(args[4].u.array, dtype);
    if (!z || !build_broadcast(op, loc, z->view.ndim, z->view.shape) ||
        !build_broadcast(op, scale, z->view.ndim, z->view.shape))
        return 0;
    z = value_of(scale, 0) == 1 ? z : ig_multiply(z, scale);
    return op_one(out, value_of(loc, 1) == 0 ? z : ig_add(z, loc));
}

int op_bernoulli(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *p = args[1].u.array;
    ig_dtype dtype = ig_result_type(&p, 1);
    dtype = dtype_is_float(dtype) ? dtype : ig_default_dtype();
    ig_ints shape = args[2].kind == IG_ARG_INTS ? args[2].u.ints : ig_shape(p);
    ig_array *u = unit(op, args[0].u.array, shape, dtype);
    p = u ? build_broadcast(op, build_cast(p, dtype), shape.n, shape.v) : NULL;
    return op_one(out, ig_less(u, p));
}

/* ---- integers ---- */

/* The upper word of the product of x, which is u64, and a number. */
static ig_array *high_product(ig_array *x, uint64_t number)
{
    ig_array *mask = build_scalar_int(UINT32_MAX, IG_U64), *half = ig_int(32);
    ig_array *low = build_scalar_int((uint32_t)number, IG_U64);
    ig_array *high = build_scalar_int((int64_t)(number >> 32), IG_U64);
    ig_array *x_low = ig_bitwise_and(x, mask), *x_high = ig_bitwise_right_shift(x, half);
    ig_array *sum =
        ig_add(ig_multiply(x_high, low), ig_bitwise_right_shift(ig_multiply(x_low, low), half));
    ig_array *rest = ig_add(ig_multiply(x_low, high), ig_bitwise_and(sum, mask));
    ig_array *carry = ig_add(ig_bitwise_right_shift(sum, half), ig_bitwise_right_shift(rest, half));
    return ig_add(ig_multiply(x_high, high), carry);
}

/* Integers in [0, span) from a random word w of twice the width of bits, in two parts. The probabilities of two values
 * differ by less than a 2^-width part. A span of 0 stands for all values. Small spans take w mod span, as JAX does.
 * JAX's remainder of larger ones overflows, so that their lower values are drawn more often: here they take w mod span
 * in 64 bits, or, for 64 bits, the upper part of the product of w and span. */
static ig_array *offsets(op_id op, ig_array *key, ig_ints shape, ig_dtype bits, uint64_t span)
{
    const int width = (int)(8 * ig_dtype_bytes(bits));
    ig_array *draw[2] = {NULL, NULL}, *keys = new_keys(op, key, 0, 2, DOMAIN_SPLIT);
    for (int64_t i = 0; i < 2; i++) {
        ig_array *one = ig_squeeze(ig_slice(keys, IG_AXES(i), IG_AXES(i + 1), IG_NONE), IG_AXES(0));
        draw[i] = bits_from(op, one, 0, shape, bits);
    }
    if ((span & (span - 1)) == 0) /* a power of 2, or 0 */
        return ig_bitwise_and(draw[1], build_scalar_int((int64_t)(span - 1), bits));
    ig_array *divisor = build_scalar_int((int64_t)span, IG_U64);
    if (width == 32) {
        ig_array *high = ig_bitwise_left_shift(ig_astype(draw[0], IG_U64), ig_int(32));
        return ig_remainder(ig_bitwise_or(high, ig_astype(draw[1], IG_U64)), divisor);
    }
    if (span <= UINT32_MAX) {
        const uint64_t carry = (UINT64_MAX % span + 1) % span; /* 2^64 mod span */
        ig_array *high =
            ig_multiply(ig_remainder(draw[0], divisor), build_scalar_int((int64_t)carry, IG_U64));
        return ig_remainder(ig_add(high, ig_remainder(draw[1], divisor)), divisor);
    }
    ig_array *below = high_product(draw[1], span);
    ig_array *sum = ig_add(ig_multiply(draw[0], divisor), below);
    return ig_add(high_product(draw[0], span), ig_astype(ig_less(sum, below), IG_U64));
}

int op_randint(op_id op, const ig_arg *args, ig_array **out)
{
    int64_t low = args[2].u.i, high = args[3].u.i;
    ig_dtype dtype = args[4].u.dtype;
    ig_iinfo info;
    if (!dtype_is_int(dtype))
        FAIL_NONE(IG_ERR_DTYPE, "randint: dtype is an integer one, not %s", ig_dtype_name(dtype));
    ig_iinfo_of(dtype, &info);
    if (low >= high)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "randint: minval %lld is not below maxval %lld, which is never drawn",
                  (long long)low, (long long)high);
    if (low < info.min || (high > 0 && (uint64_t)high - 1 > info.max))
        FAIL_NONE(IG_ERR_ARGUMENT, "randint: %lld ... %lld do not fit %s", (long long)low,
                  (long long)high - 1, ig_dtype_name(dtype));
    /* Narrow integers are drawn as i32. */
    ig_dtype drawn = info.bits < 32 ? IG_I32 : dtype, bits = info.bits == 64 ? IG_U64 : IG_U32;
    uint64_t span = (uint64_t)high - (uint64_t)low;
    if (bits == IG_U32)
        span = (uint32_t)span;
    ig_array *from_low =
        build_cast(offsets(op, args[0].u.array, args[1].u.ints, bits, span), drawn);
    return op_one(out, build_cast(ig_add(from_low, build_scalar_int(low, drawn)), dtype));
}

/* ---- choices ---- */

/* The index of the largest of logits + Gumbel noise is distributed as softmax(logits). f16 and bf16
 * logits get f32 noise: noise in their own dtype would have too few values. */
int op_categorical(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *logits = args[1].u.array;
    ig_dtype dtype = logits->dtype == IG_F64 ? IG_F64 : IG_F32;
    int64_t full[IG_MAX_NDIM + 1], size;
    int ndim = logits->view.ndim, axis;
    if (infer_axis(op, args[2].u.i, ndim, &axis) != IG_OK)
        return 0;
    /* full is shape with the axis of the choices inserted. */
    ig_ints shape = arg_ints(&args[3]);
    int n = shape.v ? shape.n + 1 : ndim, lead = n - ndim, at = lead + axis;
    if (lead < 0)
        FAIL_NONE(IG_ERR_SHAPE, "categorical: shape has %d lengths, but logits leaves %d axes",
                  shape.n, ndim - 1);
    if (shape.v && infer_size(op, shape.n, shape.v, IG_I64, &size) != IG_OK)
        return 0;
    for (int a = 0; a < n; a++)
        full[a] = a == at || !shape.v ? logits->view.shape[a - lead] : shape.v[a < at ? a : a - 1];
    ig_finfo info;
    ig_finfo_of(dtype, &info);
    ig_array *u = between(op, args[0].u.array, (ig_ints){full, n}, dtype,
                          ig_float(info.smallest_normal), ig_float(1));
    ig_array *noise = ig_negative(ig_log(ig_negative(ig_log(u))));
    logits = noise ? build_broadcast(op, build_cast(logits, dtype), n, full) : NULL;
    return op_one(out, ig_argmax(ig_add(noise, logits), IG_AXES(at), false));
}

/* A random order of n elements. Threefry keys sort by words of 32 bits as often as JAX does, so that words that are
 * equal by chance have no effect. For Philox one sort by words of 64 bits is enough. */
static ig_array *random_order(op_id op, ig_array *key, int64_t n)
{
    const ig_ints shape = {&n, 1};
    if (!(key = random_key(op, key)))
        return NULL;
    if (key->view.shape[0] == PHILOX_WORDS)
        return ig_argsort(bits_from(op, key, 0, shape, IG_U64), 0, false, true);
    ig_array *order = ig_arange(0, (double)n, 1, IG_I64);
    const double rounds = ceil(3 * log((double)(n > 1 ? n : 1)) / log(UINT32_MAX));
    for (int i = 0; i < (int)rounds && order; i++) {
        ig_array *keys = new_keys(op, key, 0, 2, DOMAIN_SPLIT);
        ig_array *own = ig_slice(keys, IG_AXES(1), IG_AXES(2), IG_NONE);
        key = ig_squeeze(ig_slice(keys, IG_AXES(0), IG_AXES(1), IG_NONE), IG_AXES(0));
        ig_array *words = bits_from(op, ig_squeeze(own, IG_AXES(0)), 0, shape, IG_U32);
        order = ig_take(order, ig_argsort(words, 0, false, true), IG_AXES(0));
    }
    return order;
}

int op_permutation(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = arg_array(&args[1]);
    bool number = !x || (x->weak && dtype_is_int(x->dtype));
    int64_t n = !x ? args[1].u.i : number ? (int64_t)value_of(x, 0) : 0;
    int axis = 0;
    if (number && n < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "permutation: of %lld numbers; give 0 or more", (long long)n);
    if (!number) {
        if (infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
            return 0;
        n = x->view.shape[axis];
    }
    ig_array *order = random_order(op, args[0].u.array, n);
    return op_one(out, number ? order : ig_take(x, order, IG_AXES(axis)));
}
