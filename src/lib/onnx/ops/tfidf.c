/* TfIdfVectorizer: counts n-grams of a pool in rows of integers or strings. */
#include "lib/onnx/ops/common.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A list of integers or strings. */
typedef struct items {
    const int64_t *ints;
    const onnx_bytes *texts;
} items;

/* An n-gram of the pool at a position. */
typedef struct gram {
    const items *pool;
    int64_t n, at;
} gram;

typedef struct vectorizer {
    items pool;
    ig_ints counts;   /* where the 1-grams, 2-grams, ... begin in the pool */
    ig_ints indexes;  /* the output of each n-gram */
    int64_t pool_n;   /* items of the pool */
    int64_t min, max; /* lengths of n-grams */
    int64_t skips;
    int64_t width; /* of the output */
    gram **sorted; /* for each length, the n-grams of the pool in order */
    int64_t *n_sorted;
} vectorizer;

static int item_compare(const items *a, int64_t i, const items *b, int64_t j)
{
    if (a->ints)
        return (a->ints[i] > b->ints[j]) - (a->ints[i] < b->ints[j]);
    const onnx_bytes x = a->texts[i], y = b->texts[j];
    const int order = memcmp(x.at, y.at, x.n < y.n ? x.n : y.n);
    return order ? order : (x.n > y.n) - (x.n < y.n);
}

/* Compares the n-gram of a at i, with items `step` apart, with the n-gram of the pool at j. */
static int gram_compare(const items *a, int64_t i, int64_t step, const items *pool, int64_t j,
                        int64_t n)
{
    int order = 0;
    for (int64_t k = 0; k < n && !order; k++)
        order = item_compare(a, i + k * step, pool, j + k);
    return order;
}

static int by_gram(const void *a, const void *b)
{
    const gram *x = a, *y = b;
    return gram_compare(x->pool, x->at, 1, y->pool, y->at, x->n);
}

/* The range of the pool that holds n-grams. */
static bool grams_range(onnx_call *c, const vectorizer *v, int64_t n, int64_t *begin, int64_t *end)
{
    *begin = n <= v->counts.n ? v->counts.v[n - 1] : v->pool_n;
    *end = n < v->counts.n ? v->counts.v[n] : v->pool_n;
    if (*begin >= 0 && *end >= *begin && *end <= v->pool_n && (*end - *begin) % n == 0)
        return true;
    call_fail(c, IG_ERR_FORMAT, "attribute 'ngram_counts'", "the %lld-grams do not fit the pool",
              (long long)n);
    return false;
}

static bool grams_sort(onnx_call *c, vectorizer *v, int64_t n)
{
    int64_t begin = 0, end = 0;
    if (!grams_range(c, v, n, &begin, &end))
        return false;
    v->n_sorted[n] = (end - begin) / n;
    gram *list = memory_get((size_t)(v->n_sorted[n] + 1) * sizeof *list);
    v->sorted[n] = list;
    for (int64_t i = 0; i < v->n_sorted[n] && list; i++)
        list[i] = (gram){&v->pool, n, begin + i * n};
    if (list)
        qsort(list, (size_t)v->n_sorted[n], sizeof *list, by_gram);
    return list != NULL;
}

/* The number of an n-gram of the pool by its position. */
static int64_t gram_number(const vectorizer *v, int64_t n, int64_t position)
{
    int64_t before = 0;
    for (int64_t k = 1; k < n; k++) {
        const int64_t begin = k <= v->counts.n ? v->counts.v[k - 1] : v->pool_n;
        const int64_t end = k < v->counts.n ? v->counts.v[k] : v->pool_n;
        before += (end - begin) / k;
    }
    return before + (position - (n <= v->counts.n ? v->counts.v[n - 1] : v->pool_n)) / n;
}

/* The number of the n-gram of x at i; -1 if the pool has none. */
static int64_t gram_find(const vectorizer *v, const items *x, int64_t i, int64_t step, int64_t n)
{
    int64_t low = 0, high = v->n_sorted[n];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int64_t at = v->sorted[n][middle].at;
        const int sign = gram_compare(x, i, step, &v->pool, at, n);
        if (sign == 0)
            return gram_number(v, n, at);
        if (sign > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Counts the n-grams of items [first, first + length) of x. weights: by n-gram; NULL: all 1. */
static void row_count(const vectorizer *v, const items *x, int64_t first, int64_t length, int mode,
                      const float *weights, float *out)
{
    enum { TF, IDF };
    for (int64_t n = v->min; n <= v->max; n++)
        for (int64_t step = 1; step <= (n > 1 ? v->skips + 1 : 1); step++)
            for (int64_t i = 0; i + (n - 1) * step < length; i++) {
                const int64_t g = gram_find(v, x, first + i, step, n);
                if (g < 0 || g >= v->indexes.n)
                    continue;
                float *count = &out[v->indexes.v[g]];
                const float weight = weights ? weights[g] : 1;
                *count = mode == TF ? *count + 1 : mode == IDF ? weight : *count + weight;
            }
}

static bool vectorizer_read(onnx_call *c, vectorizer *v, bool texts)
{
    int n_texts = 0;
    const onnx_bytes *strings = call_attribute_texts(c, "pool_strings", &n_texts);
    const ig_ints ints = call_attribute_ints(c, "pool_int64s");
    v->pool = (items){texts ? NULL : ints.v, strings};
    v->pool_n = texts ? n_texts : ints.n;
    v->counts = call_attribute_ints(c, "ngram_counts");
    v->indexes = call_attribute_ints(c, "ngram_indexes");
    v->min = call_attribute_int(c, "min_gram_length", 1);
    v->max = call_attribute_int(c, "max_gram_length", 1);
    v->skips = call_attribute_int(c, "max_skip_count", 0);
    if (ig_failed())
        return false;
    if (v->min < 1 || v->max < v->min || v->max > 1000 || v->skips < 0 || !v->counts.n ||
        (texts ? !strings : !ints.v)) {
        call_fail(c, IG_ERR_FORMAT, NULL, "its attributes do not describe n-grams of its input");
        return false;
    }
    for (int i = 0; i < v->indexes.n; i++) {
        if (v->indexes.v[i] < 0 || v->indexes.v[i] > INT32_MAX) {
            call_fail(c, IG_ERR_FORMAT, "attribute 'ngram_indexes'", "index %d is out of range", i);
            return false;
        }
        v->width = v->indexes.v[i] >= v->width ? v->indexes.v[i] + 1 : v->width;
    }
    v->sorted = memory_new((size_t)(v->max + 1) * sizeof *v->sorted);
    v->n_sorted = memory_new((size_t)(v->max + 1) * sizeof *v->n_sorted);
    for (int64_t n = 1; n <= v->max; n++)
        if (!v->sorted || !v->n_sorted || !grams_sort(c, v, n))
            return false;
    return true;
}

static void rows_count(onnx_call *c, const vectorizer *v, const items *x, ig_ints shape, int mode,
                       const float *weights)
{
    const int64_t rows = shape.n == 2 ? shape.v[0] : 1, length = shape.n ? shape.v[shape.n - 1] : 1;
    float *out = memory_new((size_t)(rows * v->width + 1) * sizeof *out);
    for (int64_t i = 0; i < rows && out; i++)
        row_count(v, x, i * length, length, mode, weights, out + i * v->width);
    if (out)
        call_return_value(
            c, 0,
            value_on_host(out, shape.n == 2 ? IG_SHAPE(rows, v->width) : IG_SHAPE(v->width),
                          IG_F32));
    memory_free(out);
}

void onnx_tf_idf_vectorizer(onnx_call *c)
{
    vectorizer v = {0};
    const ig_onnx_value *value = call_value(c, 0);
    const bool texts = ig_onnx_value_kind(value) == IG_ONNX_TEXTS;
    const ig_ints shape = call_shape(c, 0);
    const int mode = call_attribute_choice(c, "mode", "TF|IDF|TFIDF");
    int n_weights = 0;
    const float *weights = call_attribute_floats(c, "weights", &n_weights);
    const bool fine = vectorizer_read(c, &v, texts);
    if (fine && shape.n > 2)
        call_fail(c, IG_ERR_SHAPE, "input 0", "it has more than two axes");
    else if (fine && weights && n_weights < v.indexes.n)
        call_fail(c, IG_ERR_FORMAT, "attribute 'weights'", "there are fewer than n-grams");
    else if (fine) {
        const items x = {texts ? NULL : call_read(c, 0, IG_I64), texts ? value->texts : NULL};
        if (texts || x.ints)
            rows_count(c, &v, &x, shape, mode, weights);
    }
    for (int64_t n = 1; n <= v.max && v.sorted; n++)
        memory_free(v.sorted[n]);
    memory_free(v.sorted);
    memory_free(v.n_sorted);
}
