/* Vectors of texts: pooling of hidden states (N, T, width), and the steps after it. They are computed in f32 or f64,
 * whatever the dtype of the encoder. See model.h. */
#include "lib/model/model.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>

/* ---- loading -------------------------------------------------------------------------------- */

static const char *const step_tensors[] = {[STEP_DENSE] = "linear", [STEP_NORM] = "norm"};

/* The tensor of a step: part is "weight" or "bias". */
static ig_array *step_tensor(vector_step *s, const char *part, ig_ints shape)
{
    char name[32];
    snprintf(name, sizeof name, "%s.%s", step_tensors[s->kind], part);
    return weights_get(&s->weights, name, shape);
}

static ig_array *step_weight(vector_step *s)
{
    return step_tensor(s, "weight",
                       s->kind == STEP_DENSE ? IG_SHAPE(s->out, s->in) : IG_SHAPE(s->in));
}

ig_status vector_step_tensors(const vector_step *s, tensor_visit visit, void *context)
{
    char name[32];
    if (s->kind == STEP_NORMALIZE)
        return IG_OK;
    snprintf(name, sizeof name, "%s.weight", step_tensors[s->kind]);
    TRY(visit(context, name, s->kind == STEP_DENSE ? IG_SHAPE(s->out, s->in) : IG_SHAPE(s->in)));
    snprintf(name, sizeof name, "%s.bias", step_tensors[s->kind]);
    return s->kind == STEP_NORM || s->bias ? visit(context, name, IG_SHAPE(s->out)) : IG_OK;
}

static ig_status step_check(void *context, const char *name, ig_ints shape)
{
    return weights_get(context, name, shape) ? IG_OK : error_waiting(IG_ERR_FORMAT);
}

ig_status vectors_open(model_config *c, const char *folder, ig_dtype dtype)
{
    int64_t width = c->n_pools * c->width;
    for (int i = 0; i < c->n_steps; i++) {
        vector_step *s = &c->steps[i];
        char path[MODEL_PATH];
        if (s->kind == STEP_NORMALIZE)
            continue;
        snprintf(path, sizeof path, "%.2000s/%.2000s", folder, s->path);
        if (s->in != width)
            FAIL(IG_ERR_FORMAT,
                 "load '%.300s/config.json': the module takes vectors of %lld elements, and gets "
                 "%lld",
                 path, (long long)s->in, (long long)width);
        TRY(weights_open(&s->weights, path, dtype == IG_F64 ? IG_F64 : IG_F32));
        TRY(vector_step_tensors(s, step_check, &s->weights));
        width = s->out;
    }
    c->dimensions = width;
    return IG_OK;
}

/* ---- pooling -------------------------------------------------------------------------------- */

ig_array *first_token(ig_array *hidden)
{
    const ig_index items[] = {
        {.kind = IG_INDEX_SLICE, .start = INT64_MIN, .stop = INT64_MIN, .step = INT64_MIN},
        {.kind = IG_INDEX_INT, .start = 0}};
    return ig_get(hidden, items, 2);
}

static ig_array *sum_tokens(ig_array *x) { return ig_sum(x, IG_AXES(1), IG_DTYPE_NONE, false); }

/* x: (N, T, width), mask: (N, T, 1) or NULL. The result is (N, width). */
static ig_array *pool_run(pool_kind kind, ig_array *x, ig_array *mask)
{
    ig_array *const zero = ig_float(0);
    const int64_t t = ig_dim(x, 1);
    if (kind == POOL_CLS)
        return first_token(x);
    if (kind == POOL_MAX)
        return ig_max(mask ? ig_where(mask, x, ig_float(-INFINITY)) : x, IG_AXES(1), false);
    ig_array *count = mask ? sum_tokens(ig_astype(mask, ig_dtype_of(x))) : ig_float((double)t);
    ig_array *number = /* the number of each token, from 1 */
        ig_reshape(ig_arange(1, (double)t + 1, 1, ig_dtype_of(x)), IG_SHAPE(1, t, 1));
    if (kind == POOL_LAST) {
        ig_array *last = mask ? ig_reshape(count, IG_SHAPE(ig_dim(mask, 0), 1, 1)) : count;
        return sum_tokens(ig_where(ig_equal(number, last), x, zero));
    }
    if (kind == POOL_WEIGHTED) {
        ig_array *weight = mask ? ig_where(mask, number, zero) : number;
        ig_array *kept = mask ? ig_where(mask, x, zero) : x;
        return ig_divide(sum_tokens(ig_multiply(kept, weight)), sum_tokens(weight));
    }
    ig_array *sum = sum_tokens(mask ? ig_where(mask, x, zero) : x);
    return ig_divide(sum, kind == POOL_MEAN_SQRT ? ig_sqrt(count) : count);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static ig_array *step_run(vector_step *s, ig_array *x)
{
    if (s->kind == STEP_NORMALIZE) {
        ig_array *norm = ig_sqrt(ig_sum(ig_square(x), IG_AXES(-1), IG_DTYPE_NONE, true));
        return ig_divide(x, ig_maximum(norm, ig_float(1e-12)));
    }
    ig_array *weight = step_weight(s);
    ig_array *bias =
        s->kind == STEP_NORM || s->bias ? step_tensor(s, "bias", IG_SHAPE(s->out)) : NULL;
    if (ig_failed())
        return NULL;
    if (s->kind == STEP_NORM)
        return ig_layer_norm(x, weight, bias, IG_AXES(-1), VECTOR_NORM_EPS);
    x = ig_tensordot(x, weight, IG_AXES(-1, 1));
    return s->activation(bias ? ig_add(x, bias) : x);
}

ig_array *vectors_run(ig_text_model *m, ig_array *hidden, ig_array *mask)
{
    model_config *c = &m->config;
    ig_array *x = ig_astype(hidden, ig_dtype_of(hidden) == IG_F64 ? IG_F64 : IG_F32);
    ig_array *wide = mask ? ig_reshape(mask, IG_SHAPE(ig_dim(mask, 0), ig_dim(mask, 1), 1)) : NULL;
    ig_array *parts[POOLS];
    for (int i = 0; i < c->n_pools; i++)
        parts[i] = pool_run(c->pools[i], x, wide);
    ig_array *y = c->n_pools == 1 ? parts[0] : ig_concat(parts, c->n_pools, IG_AXES(-1));
    for (int i = 0; i < c->n_steps && y; i++)
        y = step_run(&c->steps[i], y);
    return y;
}
