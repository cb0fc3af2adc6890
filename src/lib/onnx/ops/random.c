/* Random numbers. With a seed they are the same in each run, and on each device. */
#include "lib/onnx/ops/common.h"

#include <stdatomic.h>
#include <string.h>

ig_array *onnx_random_key(onnx_call *c, bool has_seed)
{
    static atomic_uint_least64_t draws;
    if (!has_seed) {
        call_changes(c);
        return ig_fold_in(ig_key(0, "philox"), (int64_t)atomic_fetch_add(&draws, 1));
    }
    if (!strcmp(call_row(c)->name, "Dropout"))
        return ig_key((uint64_t)call_attribute_int(c, "seed", 0), "philox");
    float seed = (float)call_attribute_float(c, "seed", 0);
    uint32_t bits;
    memcpy(&bits, &seed, sizeof bits);
    return ig_key(bits, "philox");
}

static ig_array *key_of(onnx_call *c) { return onnx_random_key(c, call_has_attribute(c, "seed")); }

/* The dtype in which numbers of a type are drawn. */
static ig_dtype draw_dtype(onnx_call *c, ig_onnx_type type)
{
    ig_dtype dtype = ig_onnx_type_dtype(type);
    if (!is_float(dtype))
        call_fail(c, IG_ERR_DTYPE, "dtype", "%s is not a type of random numbers",
                  ig_onnx_type_name(type));
    return dtype;
}

static void draw_normal(onnx_call *c, ig_ints shape, ig_onnx_type type)
{
    double mean = call_attribute_float(c, "mean", 0), scale = call_attribute_float(c, "scale", 1);
    ig_dtype dtype = draw_dtype(c, type);
    ig_array *key = key_of(c);
    if (!ig_failed())
        call_return(c, 0, ig_normal(key, shape, dtype, ig_float(mean), ig_float(scale)));
}

static void draw_uniform(onnx_call *c, ig_ints shape, ig_onnx_type type)
{
    double low = call_attribute_float(c, "low", 0), high = call_attribute_float(c, "high", 1);
    ig_dtype dtype = draw_dtype(c, type);
    ig_array *key = key_of(c);
    if (!ig_failed())
        call_return(c, 0, ig_uniform(key, shape, dtype, ig_float(low), ig_float(high)));
}

static ig_ints shape_attribute(onnx_call *c)
{
    ig_ints shape = call_attribute_ints(c, "shape");
    if (!shape.v)
        call_fail(c, IG_ERR_ARGUMENT, "shape", "is missing");
    return shape;
}

/* The type of the attribute, or of the input if it is a float. */
static ig_onnx_type like_type(onnx_call *c)
{
    ig_onnx_type type = call_type(c, 0);
    bool has_floats = is_float(ig_onnx_type_dtype(type));
    return call_attribute_type(c, "dtype", has_floats ? type : IG_ONNX_FLOAT);
}

void build_random_normal(onnx_call *c)
{
    draw_normal(c, shape_attribute(c), call_attribute_type(c, "dtype", IG_ONNX_FLOAT));
}

void build_random_uniform(onnx_call *c)
{
    draw_uniform(c, shape_attribute(c), call_attribute_type(c, "dtype", IG_ONNX_FLOAT));
}

void build_random_normal_like(onnx_call *c) { draw_normal(c, call_shape(c, 0), like_type(c)); }
void build_random_uniform_like(onnx_call *c) { draw_uniform(c, call_shape(c, 0), like_type(c)); }

void build_bernoulli(onnx_call *c)
{
    ig_array *p = call_array(c, 0);
    ig_onnx_type type = call_attribute_type(c, "dtype", call_type(c, 0));
    ig_array *drawn = ig_bernoulli(op_beside(key_of(c), p), p, IG_NONE);
    call_return_typed(c, 0, onnx_cast(drawn, IG_ONNX_BOOL, type, true), type);
}

/* Classes (batch, samples) drawn from unnormalized log probabilities (batch, classes). */
void build_multinomial(onnx_call *c)
{
    ig_array *logits = call_array(c, 0);
    int64_t samples = call_attribute_int(c, "sample_size", 1);
    ig_onnx_type type = call_attribute_type(c, "dtype", IG_ONNX_INT32);
    if (ig_ndim(logits) != 2 || samples < 0) {
        call_fail(c, IG_ERR_SHAPE, NULL, "needs log probabilities (batch, classes)");
        return;
    }
    ig_array *drawn = ig_categorical(op_beside(key_of(c), logits), logits, 1,
                                     IG_SHAPE(samples, ig_dim(logits, 0)));
    call_return_typed(c, 0, onnx_cast(ig_matrix_transpose(drawn), IG_ONNX_INT64, type, true), type);
}
