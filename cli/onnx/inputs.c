/* Inputs of ONNX models from the command line. See onnx.h. */
#include "onnx/onnx.h"
#include "predict/predict.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

bool option_input(const char *s, void *place)
{
    input_texts *texts = place;
    if (texts->n == INPUTS_MOST)
        return false;
    texts->at[texts->n++] = s;
    return true;
}

int model_named(const command *c, int argc, char **argv, input_texts *texts)
{
    const int code = options_read(c, &argc, argv);
    bool fine = argc > 0;
    if (code >= 0)
        return code;
    for (int i = 1; i < argc && fine; i++)
        fine = option_input(argv[i], texts);
    if (fine)
        return -1;
    say(c, "expected one model, and up to %d inputs as NAME=FILE; see 'ingot %s --help'",
        INPUTS_MOST, c->name);
    return EXIT_USAGE;
}

values values_new(int n)
{
    return (values){heap_get((size_t)(n + 1) * sizeof(ig_onnx_value *)), n};
}

void values_free(values *v)
{
    for (int i = 0; i < v->n; i++)
        ig_onnx_value_release(v->at[i]);
    free(v->at);
    *v = (values){0};
}

/* ---- descriptions --------------------------------------------------------------------------- */

static void kind_text(str *t, ig_onnx_kind kind, ig_onnx_type type)
{
    static const char *const words[] = {"nothing", "", "", "sequence of ", "map of "};
    str_printf(t, "%s%s", words[kind], kind == IG_ONNX_NOTHING ? "" : ig_onnx_type_name(type));
}

void info_text(str *t, const ig_onnx_info *info)
{
    kind_text(t, info->kind, info->type);
    for (int i = 0; i < info->ndim; i++) {
        str_puts(t, i ? "x" : " ");
        if (info->dims[i] >= 0)
            str_printf(t, "%lld", (long long)info->dims[i]);
        else
            str_puts(t, info->names && info->names[i] ? info->names[i] : "?");
    }
    if (info->ndim == 0)
        str_puts(t, " scalar");
}

void value_text(str *t, const ig_onnx_value *v)
{
    const ig_ints shape = ig_onnx_value_shape(v);
    kind_text(t, ig_onnx_value_kind(v), ig_onnx_value_type(v));
    for (int i = 0; i < shape.n; i++)
        str_printf(t, "%s%lld", i ? "x" : " ", (long long)shape.v[i]);
    if (shape.n == 0 && ig_onnx_value_kind(v) < IG_ONNX_SEQUENCE)
        str_puts(t, " scalar");
}

/* ---- random numbers ------------------------------------------------------------------------- */

/* "1x3x224x224", or "scalar". False if the text is something else, such as a file's name. */
static bool dims_read(const char *s, int64_t dims[IG_MAX_NDIM], int *n)
{
    *n = 0;
    if (strcmp(s, "scalar") == 0)
        return true;
    for (;;) {
        char *end;
        if (!isdigit((unsigned char)*s) || *n == IG_MAX_NDIM)
            return false;
        dims[(*n)++] = strtoll(s, &end, 10);
        if (!*end)
            return true;
        if (*end != 'x')
            return false;
        s = end + 1;
    }
}

/* Standard normal floats; integers are 0 or 1, which are valid indices in most models. */
static ig_onnx_value *random_value(const ig_onnx_info *info, ig_ints shape, uint64_t seed,
                                   int number)
{
    const ig_dtype dtype = ig_onnx_type_dtype(info->type);
    if (info->kind != IG_ONNX_TENSOR || dtype == IG_DTYPE_NONE) {
        ig_fail(IG_ERR_ARGUMENT,
                "input '%.200s' needs a file: only tensors of numbers can be random", info->name);
        return NULL;
    }
    if (ig_scope_begin() != IG_OK)
        return NULL;
    ig_array *key = ig_fold_in(ig_key(seed, NULL), number);
    ig_array *x = ig_isdtype(dtype, "real floating")
                      ? ig_astype(ig_normal(key, shape, IG_F32, NULL, NULL), dtype)
                      : ig_astype(ig_randint(key, shape, 0, 2, IG_I32), dtype);
    ig_onnx_value *v = x && ig_eval(&x, 1) == IG_OK ? ig_onnx_value_array(x) : NULL;
    ig_scope_end();
    return v;
}

static ig_onnx_value *filled_value(const ig_onnx_info *info, uint64_t seed, int number)
{
    int64_t dims[IG_MAX_NDIM];
    if (info->ndim < 0 || info->ndim > IG_MAX_NDIM) {
        ig_fail(IG_ERR_ARGUMENT,
                "the model does not state the shape of input '%.200s'; use --input", info->name);
        return NULL;
    }
    for (int i = 0; i < info->ndim; i++)
        dims[i] = info->dims[i] < 0 ? 1 : info->dims[i];
    return random_value(info, (ig_ints){dims, info->ndim}, seed, number);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* An image as the batch of one sample that the input takes: its channels, size and scale as for ingot predict. */
static int image_read(const command *c, const ig_onnx_info *info, const input_texts *texts,
                      const char *path, ig_onnx_value **out)
{
    network n = {.command = c, .ndim = info->ndim - 1};
    const ig_dtype dtype = ig_onnx_type_dtype(info->type);
    if (info->kind != IG_ONNX_TENSOR || dtype == IG_DTYPE_NONE || n.ndim < 2 || n.ndim > 3 ||
        info->dims[0] > 1) {
        str t = {0};
        info_text(&t, info);
        say(c,
            "%s is an image, but input '%s' is %s, not a batch of one image (1 x channels x height "
            "x width, or channels last); give it as .npy",
            path, info->name, t.s);
        str_free(&t);
        return EXIT_INPUT;
    }
    memcpy(n.shape, info->dims + 1, (size_t)n.ndim * sizeof *n.shape);
    const int code = image_scale_find(&n, dtype, texts->mean, texts->std);
    if (code >= 0)
        return code;
    ig_array *x = image_sample(&n, path);
    x = x ? ig_astype(ig_expand_dims(x, IG_AXES(0)), dtype) : NULL;
    *out = x && ig_eval(&x, 1) == IG_OK ? ig_onnx_value_array(x) : NULL;
    return *out ? -1 : fail_library(c);
}

static int input_read(const command *c, const ig_onnx_info *info, const input_texts *texts,
                      const char *text, uint64_t seed, int number, ig_onnx_value **out)
{
    int64_t dims[IG_MAX_NDIM];
    int n;
    if (is_image(text))
        return image_read(c, info, texts, text, out);
    *out = dims_read(text, dims, &n) ? random_value(info, (ig_ints){dims, n}, seed, number)
                                     : ig_onnx_value_load(text, info);
    return *out ? -1 : fail_library(c);
}

/* The input that a text gives a value to, and the value's part of the text. Names may contain '='. A text without a name is
 * for the only input. Returns -1 if the model has no such input. */
static int input_find(const ig_onnx *m, const char *text, ig_onnx_info *info, const char **value)
{
    size_t longest = 0;
    int found = -1;
    for (int i = 0; i < ig_onnx_input_count(m); i++) {
        ig_onnx_info one = {.size = sizeof one};
        const size_t n = ig_onnx_input(m, i, &one) == IG_OK ? strlen(one.name) : 0;
        if (n > longest && strncmp(one.name, text, n) == 0 && text[n] == '=') {
            longest = n;
            found = i;
        }
    }
    *value = found < 0 ? text : text + longest + 1;
    if (found < 0 && ig_onnx_input_count(m) == 1 && !strchr(text, '='))
        found = 0;
    *info = (ig_onnx_info){.size = sizeof *info};
    return found >= 0 && ig_onnx_input(m, found, info) == IG_OK ? found : -1;
}

static int name_unknown(const command *c, const ig_onnx *m, const char *text)
{
    str t = {0};
    for (int i = 0; i < ig_onnx_input_count(m); i++) {
        ig_onnx_info info = {.size = sizeof info};
        if (ig_onnx_input(m, i, &info) == IG_OK)
            str_printf(&t, "%s%s", i ? ", " : "", info.name);
    }
    say(c, "--input %s: %s; the model's inputs are %s", text,
        strchr(text, '=') ? "there is no such input" : "expected NAME=FILE", t.n ? t.s : "none");
    str_free(&t);
    return EXIT_USAGE;
}

int inputs_read(const command *c, const ig_onnx *m, const input_texts *texts, uint64_t seed,
                bool fill, values *inputs)
{
    ig_onnx_info info;
    *inputs = values_new(ig_onnx_input_count(m));
    for (int k = 0; k < texts->n; k++) {
        const char *value;
        const int i = input_find(m, texts->at[k], &info, &value);
        if (i < 0)
            return name_unknown(c, m, texts->at[k]);
        ig_onnx_value_release(inputs->at[i]);
        inputs->at[i] = NULL;
        const int code = input_read(c, &info, texts, value, seed, i, &inputs->at[i]);
        if (code >= 0)
            return code;
    }
    for (int i = 0; i < inputs->n; i++) {
        info = (ig_onnx_info){.size = sizeof info};
        if (inputs->at[i] || ig_onnx_input(m, i, &info) != IG_OK || info.optional)
            continue;
        if (!fill) {
            str t = {0};
            info_text(&t, &info);
            say(c, "input '%s' (%s) is missing; give it with --input %s=FILE", info.name, t.s,
                info.name);
            str_free(&t);
            return EXIT_USAGE;
        }
        if (!(inputs->at[i] = filled_value(&info, seed, i)))
            return fail_library(c);
    }
    return -1;
}

int plan_print(const command *c, ig_onnx *m, const values *in, bool json)
{
    char *plan = ig_onnx_explain(m, in->at);
    str t = {0};
    if (!plan)
        return fail_library(c);
    if (json)
        str_json(&t, "{schema: 1, explain: %s}\n", plan);
    text_print(stdout, json ? t.s : plan);
    str_free(&t);
    ig_free(plan);
    return EXIT_FINE;
}
