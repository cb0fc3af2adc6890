/* ai.onnx.ml: encoders of labels, and maps. Numbers are mapped to numbers by arrays; strings and maps are read on the host. */
#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/ml.h"
#include "lib/onnx/ops/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of keys or values ---- */

/* n elements: strings, or numbers as an array on the current device. */
typedef struct list {
    int64_t n;
    const onnx_bytes *texts;
    ig_array *numbers;
} list;

/* Room for n items of a size. */
static void *room(onnx_call *c, int64_t n, size_t bytes)
{
    const int64_t words = n * (int64_t)((bytes + 7) / 8) + 1;
    if (n < 0 || n > INT32_MAX || words > INT32_MAX) {
        call_fail(c, IG_ERR_UNSUPPORTED, NULL, "a number of elements is out of range");
        return NULL;
    }
    return call_room(c, (int)words);
}

static const onnx_bytes *copied(onnx_call *c, const onnx_bytes *texts, int64_t n)
{
    onnx_bytes *copy = room(c, n, sizeof *copy);
    for (int64_t i = 0; i < n && copy; i++) {
        char *bytes = room(c, (int64_t)texts[i].n / 8 + 1, 8);
        if (!bytes)
            return NULL;
        if (texts[i].n)
            memcpy(bytes, texts[i].at, texts[i].n);
        copy[i] = (onnx_bytes){bytes, texts[i].n};
    }
    return copy;
}

/* The list of a tensor attribute. */
static list tensor_list(onnx_call *c, const char *name)
{
    ig_onnx_value *v = call_attribute_value(c, name);
    list l = {0};
    if (ig_onnx_value_kind(v) == IG_ONNX_TEXTS) {
        l.n = value_elements(v);
        l.texts = copied(c, v->texts, l.n);
    } else if (ig_onnx_value_kind(v) == IG_ONNX_TENSOR) {
        l.n = ig_size(ig_onnx_value_get(v));
        l.numbers = ig_reshape(ig_to_device(ig_onnx_value_get(v), ig_device()), IG_SHAPE(-1));
    }
    ig_onnx_value_release(v);
    return l;
}

/* The attributes `kind`_strings, `kind`_int64s, `kind`_floats or `kind`_tensor. */
static list list_of(onnx_call *c, const char *kind)
{
    char name[40];
    int texts, floats;
    snprintf(name, sizeof name, "%.20s_strings", kind);
    const onnx_bytes *words = call_attribute_texts(c, name, &texts);
    snprintf(name, sizeof name, "%.20s_int64s", kind);
    const ig_ints ints = call_attribute_ints(c, name);
    snprintf(name, sizeof name, "%.20s_floats", kind);
    const float *numbers = call_attribute_floats(c, name, &floats);
    snprintf(name, sizeof name, "%.20s_tensor", kind);
    const list tensor = tensor_list(c, name);
    if (tensor.n)
        return tensor;
    if (texts)
        return (list){texts, words, NULL};
    if (ints.n)
        return (list){ints.n, NULL, part_ints(ints.v, ints.n)};
    return (list){floats, NULL, floats ? part_floats(numbers, floats) : NULL};
}

/* ---- strings ---- */

typedef struct word {
    onnx_bytes text;
    int64_t index;
} word;

static int compare_texts(onnx_bytes a, onnx_bytes b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int order = n ? memcmp(a.at, b.at, n) : 0;
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static int by_text(const void *a, const void *b)
{
    const word *x = a, *y = b;
    const int order = compare_texts(x->text, y->text);
    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static const word *sorted_words(onnx_call *c, const onnx_bytes *texts, int64_t n)
{
    word *words = room(c, n, sizeof *words);
    for (int64_t i = 0; i < n && words; i++)
        words[i] = (word){texts[i], i};
    if (words && n)
        qsort(words, (size_t)n, sizeof *words, by_text);
    return words;
}

/* The first index of a text; -1 if there is none. */
static int64_t find_word(const word *words, int64_t n, onnx_bytes text)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (compare_texts(words[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && compare_texts(words[low].text, text) == 0 ? words[low].index : -1;
}

/* The index of each string of input 0 among texts; -1 for others. */
static int64_t *find_texts(onnx_call *c, const onnx_bytes *texts, int64_t n, int64_t *count)
{
    ig_onnx_value *v = call_value(c, 0);
    if (ig_onnx_value_kind(v) != IG_ONNX_TEXTS) {
        call_fail(c, IG_ERR_DTYPE, "X", "is not a tensor of strings");
        return NULL;
    }
    *count = value_elements(v);
    const word *words = sorted_words(c, texts, n);
    int64_t *index = room(c, *count, sizeof *index);
    for (int64_t i = 0; i < *count && index && words; i++)
        index[i] = find_word(words, n, v->texts[i]);
    return words ? index : NULL;
}

/* ---- numbers ---- */

/* The index of each number of x in keys, i64, and whether it is there; nan: NaN may be a key. */
static ig_array *find_numbers(ig_array *x, ig_array *keys, bool nan, ig_array **found)
{
    const int64_t n = ig_size(keys);
    ig_array *order = ig_argsort(keys, 0, false, true);
    ig_array *sorted = ig_take(keys, order, IG_AXES(0));
    ig_array *at = ig_minimum(ig_searchsorted(sorted, x, "left", NULL), ig_int(n - 1));
    if (part_is_float(ig_dtype_of(x)))
        at = ig_where(ig_isnan(x), ig_int(n - 1), at); /* NaN is the last key */
    ig_array *there = ig_take(sorted, at, IG_AXES(0));
    *found = ig_equal(there, x);
    if (part_is_float(ig_dtype_of(x)) && nan)
        *found = ig_logical_or(*found, ig_logical_and(ig_isnan(there), ig_isnan(x)));
    return ig_take(order, at, IG_AXES(0));
}

/* The index of each element of input 0 in keys on the host; -1: not there. */
static const int64_t *find_on_host(onnx_call *c, const list *keys, int64_t *count)
{
    if (keys->texts)
        return find_texts(c, keys->texts, keys->n, count);
    ig_array *found, *x = ig_astype(call_array(c, 0), ig_dtype_of(keys->numbers));
    ig_array *at = find_numbers(x, keys->numbers, call_version(c) >= 4, &found);
    *count = ig_size(x);
    return call_read_array(c, ig_where(found, at, ig_int(-1)), IG_I64);
}

/* Output 0: the value of each element of input 0, by the list of keys. other: the value of elements that are not a key. */
static void encode(onnx_call *c, const list *keys, const list *values, const list *other)
{
    if (ig_failed())
        return;
    if (keys->n != values->n || keys->n < 1) {
        call_fail(c, IG_ERR_FORMAT, "keys", "there are %lld keys and %lld values",
                  (long long)keys->n, (long long)values->n);
        return;
    }
    if (keys->numbers && values->numbers) {
        ig_array *found, *x = ig_astype(call_array(c, 0), ig_dtype_of(keys->numbers));
        ig_array *at = find_numbers(x, keys->numbers, call_version(c) >= 4, &found);
        ig_array *one =
            ig_astype(ig_reshape(other->numbers, IG_SCALAR), ig_dtype_of(values->numbers));
        call_return(c, 0, ig_where(found, ig_take(values->numbers, at, IG_AXES(0)), one));
        return;
    }
    int64_t n = 0;
    const int64_t *at = find_on_host(c, keys, &n);
    const ig_ints shape = call_shape(c, 0);
    if (!at)
        return;
    if (values->texts) {
        onnx_bytes *texts = room(c, n, sizeof *texts);
        for (int64_t i = 0; i < n && texts; i++)
            texts[i] = at[i] < 0 ? other->texts[0] : values->texts[at[i]];
        if (texts)
            call_return_value(c, 0, value_texts(texts, shape));
        return;
    }
    ig_array *all[2] = {values->numbers, ig_astype(ig_reshape(other->numbers, IG_SHAPE(1)),
                                                   ig_dtype_of(values->numbers))};
    ig_array *index = n ? ig_from_data(at, shape, IG_I64) : ig_zeros(shape, IG_I64);
    call_return(c, 0,
                ig_take(ig_concat(all, 2, IG_AXES(0)), index, IG_AXES(0))); /* -1 is the last */
}

static list one_text(onnx_call *c, const char *text)
{
    onnx_bytes *one = room(c, 1, sizeof *one);
    if (one)
        *one = (onnx_bytes){text, strlen(text)};
    return (list){1, one, NULL};
}

void build_label_encoder(onnx_call *c)
{
    const list keys = list_of(c, "keys"), values = list_of(c, "values");
    const char *text = call_attribute_text(c, "default_string", "_Unused");
    const int64_t whole = call_attribute_int(c, "default_int64", -1);
    const double number = call_attribute_float(c, "default_float", -0.0);
    list other = tensor_list(c, "default_tensor");
    if (other.n && (!other.texts != !values.texts))
        call_fail(c, IG_ERR_DTYPE, "default_tensor", "differs from the type of the values");
    if (!other.n && values.texts)
        other = one_text(c, text);
    else if (!other.n)
        other.numbers = part_is_float(ig_dtype_of(values.numbers))
                            ? ig_scalar(number, IG_F32)
                            : ig_scalar((double)whole, IG_I64);
    encode(c, &keys, &values, &other);
}

/* Strings to integers, or integers to strings, as the input asks. */
static void encode_either(onnx_call *c, const list *texts, const list *ints)
{
    const list text = one_text(c, call_attribute_text(c, "default_string", "_Unused"));
    const list whole = {1, NULL,
                        ig_scalar((double)call_attribute_int(c, "default_int64", -1), IG_I64)};
    if (ig_onnx_value_kind(call_value(c, 0)) == IG_ONNX_TEXTS)
        encode(c, texts, ints, &whole);
    else
        encode(c, ints, texts, &text);
}

void build_label_encoder_1(onnx_call *c)
{
    int n;
    const onnx_bytes *texts = call_attribute_texts(c, "classes_strings", &n);
    encode_either(c, &(list){n, texts, NULL}, &(list){n, NULL, part_count(n)});
}

void build_category_mapper(onnx_call *c)
{
    const list both = list_of(c, "cats");
    const ig_ints ints = call_attribute_ints(c, "cats_int64s");
    encode_either(c, &both, &(list){ints.n, NULL, ints.n ? part_ints(ints.v, ints.n) : NULL});
}

void build_one_hot_encoder(onnx_call *c)
{
    const ml_labels cats = ml_labels_of(c, "cats_int64s", "cats_strings");
    const bool zeros = call_attribute_bool(c, "zeros", true);
    ig_array *hot;
    if (cats.texts) {
        int64_t n = 0;
        const int64_t *at = find_texts(c, cats.texts, cats.n, &n);
        const ig_ints shape = call_shape(c, 0);
        if (!at)
            return;
        hot = ig_one_hot(n ? ig_from_data(at, shape, IG_I64) : ig_zeros(shape, IG_I64), cats.n,
                         IG_F32);
    } else {
        if (!cats.n) {
            call_fail(c, IG_ERR_FORMAT, "cats_int64s", "there are no categories");
            return;
        }
        ig_array *x = ig_astype(call_array(c, 0), IG_I64);
        hot = ig_equal(ig_expand_dims(x, IG_AXES(-1)), part_ints(cats.ints, cats.n));
        hot = ig_astype(hot, IG_F32);
    }
    if (!zeros) {
        const bool *all =
            call_read_array(c, ig_all(ig_any(hot, IG_AXES(-1), false), IG_NONE, false), IG_BOOL);
        if (all && !*all)
            call_fail(c, IG_ERR_ARGUMENT, "X",
                      "has an element that is no category, and zeros is 0");
    }
    call_return(c, 0, ig_failed() ? NULL : hot);
}

void build_array_feature_extractor(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0), *at = ig_reshape(call_array(c, 1), IG_SHAPE(-1));
    ig_array *y = ig_take(x, ig_to_device(at, ig_array_device(x)), IG_AXES(-1));
    if (ig_ndim(x) == 1)
        y = ig_expand_dims(y, IG_AXES(0));
    op_return_tokens(c, 0, 0, y);
}

/* ---- maps ---- */

/* The columns of X (rows, n) as a sequence of maps from labels. */
void build_zip_map(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const ml_labels labels = ml_labels_of(c, "classlabels_int64s", "classlabels_strings");
    if (ig_ndim(x) == 1)
        x = ig_expand_dims(x, IG_AXES(0));
    if (!part_ndim(c, "X", x, 2))
        return;
    const int64_t rows = ig_dim(x, 0);
    if (ig_dim(x, 1) != labels.n || rows > INT32_MAX - 1) {
        call_fail(c, IG_ERR_SHAPE, "X", "has %lld columns for %d labels", (long long)ig_dim(x, 1),
                  labels.n);
        return;
    }
    ig_onnx_value *keys = labels.texts ? value_texts(labels.texts, IG_SHAPE(labels.n))
                                       : value_on_host(labels.ints, IG_SHAPE(labels.n), IG_I64);
    ig_onnx_value **maps = room(c, rows, sizeof *maps);
    int made = 0;
    for (; made < rows && maps && keys && !ig_failed(); made++) {
        ig_onnx_value *const items[2] = {ig_onnx_value_retain(keys),
                                         value_array(part_at(x, 0, made), IG_ONNX_FLOAT)};
        if (items[1])
            items[1]->varies = true;
        if (!(maps[made] = value_list(IG_ONNX_MAP, items, 2)))
            break;
    }
    ig_onnx_value_release(keys);
    if (maps)
        call_return_value(c, 0, value_list(IG_ONNX_SEQUENCE, maps, made));
}

/* Input 0 as n maps: one, or the items of a sequence. */
static ig_onnx_value *const *maps_of(onnx_call *c, int *n)
{
    ig_onnx_value *v = call_value(c, 0);
    const bool many = ig_onnx_value_kind(v) == IG_ONNX_SEQUENCE;
    ig_onnx_value **maps = room(c, many ? v->n : 1, sizeof *maps);
    *n = many ? v->n : 1;
    for (int i = 0; i < *n && maps; i++) {
        maps[i] = many ? v->items[i] : v;
        if (ig_onnx_value_kind(maps[i]) != IG_ONNX_MAP) {
            call_fail(c, IG_ERR_DTYPE, "X", "is not a map");
            return NULL;
        }
    }
    return maps;
}

static int64_t map_keys(const ig_onnx_value *keys)
{
    return keys->kind == IG_ONNX_TEXTS ? value_elements(keys) : ig_size(ig_onnx_value_get(keys));
}

/* A map as a row with one element for each entry of the vocabulary: the value of that key in the map, or 0. */
static ig_array *vector_of(onnx_call *c, ig_onnx_value *map, const ml_labels *vocabulary)
{
    ig_onnx_value *keys = map->items[0];
    ig_array *values = ig_onnx_value_get(map->items[1]);
    int64_t *at = room(c, vocabulary->n, sizeof *at);
    if (!values || (ig_onnx_value_kind(keys) == IG_ONNX_TEXTS) != (vocabulary->texts != NULL))
        call_fail(c, IG_ERR_DTYPE, "X",
                  "keys differ from the type of the vocabulary, or values are not numbers");
    const int64_t n = ig_size(values);
    if (!ig_failed() && map_keys(keys) != n)
        call_fail(c, IG_ERR_FORMAT, "X", "a map has %lld keys and %lld values",
                  (long long)map_keys(keys), (long long)n);
    if (ig_failed() || !at)
        return NULL;
    if (vocabulary->texts) {
        const word *words = sorted_words(c, keys->texts, n);
        for (int64_t i = 0; i < vocabulary->n && words; i++)
            at[i] = find_word(words, n, vocabulary->texts[i]);
    } else {
        const int64_t *numbers = call_read_array(c, ig_onnx_value_get(keys), IG_I64);
        for (int64_t i = 0; i < vocabulary->n && numbers; i++) {
            at[i] = -1;
            for (int64_t j = 0; j < n && at[i] < 0; j++)
                at[i] = numbers[j] == vocabulary->ints[i] ? j : -1;
        }
    }
    ig_array *all[2] = {ig_reshape(ig_to_device(values, ig_device()), IG_SHAPE(-1)),
                        ig_zeros(IG_SHAPE(1), ig_dtype_of(values))};
    return ig_take(ig_concat(all, 2, IG_AXES(0)), part_ints(at, vocabulary->n),
                   IG_AXES(0)); /* -1 is the 0 */
}

void build_dict_vectorizer(onnx_call *c)
{
    const ml_labels vocabulary = ml_labels_of(c, "int64_vocabulary", "string_vocabulary");
    int n = 0;
    ig_onnx_value *const *maps = maps_of(c, &n);
    ig_array **rows = room(c, n, sizeof *rows);
    if (vocabulary.n < 1)
        call_fail(c, IG_ERR_FORMAT, "string_vocabulary", "there is no vocabulary");
    for (int i = 0; i < n && maps && rows && !ig_failed(); i++)
        rows[i] = vector_of(c, maps[i], &vocabulary);
    if (!ig_failed() && rows)
        call_return(c, 0, ig_stack(rows, n, 0));
}

typedef struct entry {
    int64_t key, index;
} entry;

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* The number of a string, as the C library reads it. */
static float number_of(onnx_bytes text)
{
    char copy[64];
    const size_t n = text.n < sizeof copy - 1 ? text.n : sizeof copy - 1;
    memcpy(copy, text.at, n);
    copy[n] = 0;
    return strtof(copy, NULL);
}

/* The values of a map of integers in order of their keys, or at the place of their key (SPARSE): (1, n). */
void build_cast_map(onnx_call *c)
{
    const int to = call_attribute_choice(c, "cast_to", "TO_FLOAT|TO_STRING|TO_INT64");
    const bool sparse = call_attribute_choice(c, "map_form", "DENSE|SPARSE") == 1;
    const int64_t most = call_attribute_int(c, "max_map", 1);
    ig_onnx_value *map = call_value(c, 0);
    if (ig_onnx_value_kind(map) != IG_ONNX_MAP || !ig_onnx_value_get(map->items[0])) {
        call_fail(c, IG_ERR_DTYPE, "X", "is not a map of integers");
        return;
    }
    const int64_t *keys = call_read_array(c, ig_onnx_value_get(map->items[0]), IG_I64);
    const int64_t count = ig_size(ig_onnx_value_get(map->items[0])), n = sparse ? most : count;
    const bool words_given = ig_onnx_value_kind(map->items[1]) == IG_ONNX_TEXTS;
    if (map_keys(map->items[1]) != count) {
        call_fail(c, IG_ERR_FORMAT, "X", "keys and values differ in number");
        return;
    }
    const onnx_bytes *texts = words_given ? map->items[1]->texts : NULL;
    const float *numbers =
        texts ? NULL : call_read_array(c, ig_onnx_value_get(map->items[1]), IG_F32);
    entry *entries = room(c, count, sizeof *entries);
    float *out = room(c, n, sizeof *out);
    onnx_bytes *words = room(c, n, sizeof *words);
    if (!keys || !entries || !out || !words || (!texts && !numbers))
        return;
    for (int64_t i = 0; i < count; i++)
        entries[i] = (entry){keys[i], i};
    qsort(entries, (size_t)count, sizeof *entries, by_key);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        words[i] = (onnx_bytes){"0.f", sparse ? 3 : 0};
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = sparse ? entries[i].key : i, from = entries[i].index;
        if (at < 0 || at >= n)
            continue;
        if (!texts || to != 1)
            out[at] = texts ? number_of(texts[from]) : numbers[from];
        if (to == 1 && texts)
            words[at] = texts[from];
        else if (to == 1) {
            char *text = room(c, 8, 8);
            if (!text)
                return;
            words[at] = (onnx_bytes){text, (size_t)snprintf(text, 64, "%f", (double)numbers[from])};
        }
    }
    if (to == 1)
        call_return_value(c, 0, value_texts(words, IG_SHAPE(1, n)));
    else
        call_return(
            c, 0, ig_astype(ig_from_data(out, IG_SHAPE(1, n), IG_F32), to == 2 ? IG_I64 : IG_F32));
}
