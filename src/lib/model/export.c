/* Text models as ONNX models: ig_text_model_export. The nodes compute what encoder.c, heads.c and vectors.c compute; inputs and
 * outputs are named as other tools name them. */
#include "lib/model/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Values are numbers: node 7 makes v7. */
typedef struct exporter {
    ig_text_model *m;
    ig_onnx_builder *b;
    int n;       /* values so far */
    int mask;    /* (N, T) of bool */
    int weights; /* (N, T, 1): the mask as numbers */
} exporter;

#define MASKED -1e30 /* added to scores of padding: their probability becomes exactly 0 */

/* ---- nodes ---------------------------------------------------------------------------------- */

static int emit(exporter *e, const char *op, const ig_onnx_attribute *attributes, int n,
                const char *format, ...) IG_PRINTF(5, 6);

/* A node with these inputs; returns its value. */
static int emit(exporter *e, const char *op, const ig_onnx_attribute *attributes, int n,
                const char *format, ...)
{
    char inputs[4 * MODEL_NAME], output[16];
    va_list args;
    va_start(args, format);
    vsnprintf(inputs, sizeof inputs, format, args);
    va_end(args);
    snprintf(output, sizeof output, "v%d", ++e->n);
    ig_onnx_builder_node(e->b, op, inputs, output, attributes, n);
    return e->n;
}

/* Numbers in the model. */
static int number(exporter *e, double value)
{
    char name[16];
    const float f = (float)value;
    snprintf(name, sizeof name, "v%d", ++e->n);
    ig_onnx_builder_weight(e->b, name, ig_from_data(&f, IG_SCALAR, IG_F32));
    return e->n;
}

static int integers(exporter *e, ig_ints list, bool scalar)
{
    char name[16];
    snprintf(name, sizeof name, "v%d", ++e->n);
    ig_onnx_builder_weight(e->b, name,
                           ig_from_data(list.v, scalar ? IG_SCALAR : IG_SHAPE(list.n), IG_I64));
    return e->n;
}

static int binary(exporter *e, const char *op, int x, int y)
{
    return emit(e, op, NULL, 0, "v%d v%d", x, y);
}

static int unary(exporter *e, const char *op, int x) { return emit(e, op, NULL, 0, "v%d", x); }

static int cast(exporter *e, int x, ig_onnx_type type)
{
    return emit(e, "Cast", &IG_ONNX_A_INT("to", type), 1, "v%d", x);
}

static int sum_tokens(exporter *e, int x)
{
    return emit(e, "ReduceSum", &IG_ONNX_A_INT("keepdims", 0), 1, "v%d v%d", x,
                integers(e, IG_SHAPE(1), false));
}

/* ---- weights -------------------------------------------------------------------------------- */

static void weight_write(exporter *e, weights *w, const char *name, const char *as, ig_ints shape,
                         bool transposed)
{
    ig_array *x = weights_get(w, name, shape);
    if (x)
        ig_onnx_builder_weight(e->b, as, transposed ? ig_permute_dims(x, IG_AXES(1, 0)) : x);
}

/* x @ weight.T + bias. prefix: of the names in the model, for modules that use the same names. */
static int linear_in(exporter *e, weights *w, const char *prefix, const char *name, int x,
                     int64_t in, int64_t out, bool bias)
{
    char full[MODEL_NAME + 16], as[2 * MODEL_NAME + 32];
    snprintf(full, sizeof full, "%.*s.weight", MODEL_NAME, name);
    snprintf(as, sizeof as, "%.255s%s.transposed", prefix, full);
    weight_write(e, w, full, as, IG_SHAPE(out, in), true);
    int y = emit(e, "MatMul", NULL, 0, "v%d %s", x, as);
    if (!bias)
        return y;
    snprintf(full, sizeof full, "%.*s.bias", MODEL_NAME, name);
    snprintf(as, sizeof as, "%.255s%s", prefix, full);
    weight_write(e, w, full, as, IG_SHAPE(out), false);
    return emit(e, "Add", NULL, 0, "v%d %s", y, as);
}

static int linear(exporter *e, const char *name, int x, int64_t in, int64_t out)
{
    return linear_in(e, &e->m->weights, "", name, x, in, out, true);
}

static int norm_in(exporter *e, weights *w, const char *prefix, const char *name, int x,
                   int64_t width, double eps)
{
    static const char *const parts[] = {"weight", "bias"};
    char full[MODEL_NAME + 16], as[2][2 * MODEL_NAME + 32];
    for (int i = 0; i < 2; i++) {
        snprintf(full, sizeof full, "%.*s.%s", MODEL_NAME, name, parts[i]);
        snprintf(as[i], sizeof as[i], "%.255s%s", prefix, full);
        weight_write(e, w, full, as[i], IG_SHAPE(width), false);
    }
    const ig_onnx_attribute attributes[] = {IG_ONNX_A_INT("axis", -1),
                                            IG_ONNX_A_FLOAT("epsilon", eps)};
    return emit(e, "LayerNormalization", attributes, 2, "v%d %s %s", x, as[0], as[1]);
}

static int norm(exporter *e, const char *name, int x, int64_t width)
{
    return norm_in(e, &e->m->weights, "", name, x, width, e->m->config.eps);
}

/* ---- activations ---------------------------------------------------------------------------- */

/* x / 2 * (1 + f(...)) */
static int gelu_end(exporter *e, int x, int f)
{
    const int y = binary(e, "Mul", x, binary(e, "Add", f, number(e, 1)));
    return binary(e, "Mul", y, number(e, 0.5));
}

static int gelu(exporter *e, int x)
{
    return gelu_end(e, x, unary(e, "Erf", binary(e, "Mul", x, number(e, sqrt(0.5)))));
}

static int gelu_tanh(exporter *e, int x)
{
    const int cube = binary(e, "Mul", binary(e, "Mul", x, x), x);
    const int sum = binary(e, "Add", x, binary(e, "Mul", cube, number(e, 0.044715)));
    return gelu_end(e, x, unary(e, "Tanh", binary(e, "Mul", sum, number(e, sqrt(2 / M_PI)))));
}

static int silu(exporter *e, int x) { return binary(e, "Mul", x, unary(e, "Sigmoid", x)); }
static int relu(exporter *e, int x) { return unary(e, "Relu", x); }
static int hyperbolic(exporter *e, int x) { return unary(e, "Tanh", x); }
static int sigmoid(exporter *e, int x) { return unary(e, "Sigmoid", x); }
static int same(exporter *e, int x) { return unary(e, "Identity", x); }

static int activate(exporter *e, activation run, int x)
{
    static const struct {
        const char *name;
        int (*write)(exporter *e, int x);
    } rows[] = {{"gelu", gelu},       {"gelu_new", gelu_tanh}, {"relu", relu},  {"silu", silu},
                {"tanh", hyperbolic}, {"sigmoid", sigmoid},    {"linear", same}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (activation_find(rows[i].name) == run)
            return rows[i].write(e, x);
    ig_fail(IG_ERR_UNSUPPORTED, "export: the activation of the model is not known");
    return x;
}

/* ---- embeddings ----------------------------------------------------------------------------- */

/* (T,): first, first + 1, ... */
static int range(exporter *e, int64_t first)
{
    const int shape = emit(e, "Shape", NULL, 0, "input_ids");
    const int t = emit(e, "Gather", NULL, 0, "v%d v%d", shape, integers(e, IG_SHAPE(1), true));
    const int begin = integers(e, IG_SHAPE(first), true);
    const int end = binary(e, "Add", t, begin);
    return emit(e, "Range", NULL, 0, "v%d v%d v%d", begin, end, integers(e, IG_SHAPE(1), true));
}

/* Positions that count tokens other than padding, from its number on. */
static int positions(exporter *e)
{
    const model_config *c = &e->m->config;
    if (c->padding < 0)
        return range(e, c->first_position);
    const int padding = integers(e, IG_SHAPE(c->padding), true);
    const int counted = cast(
        e, unary(e, "Not", emit(e, "Equal", NULL, 0, "input_ids v%d", padding)), IG_ONNX_INT64);
    const int places = binary(e, "CumSum", counted, integers(e, IG_SHAPE(1), true));
    return binary(e, "Add", binary(e, "Mul", places, counted), padding);
}

static const char *encoder_part(const exporter *e, const char *name, char out[MODEL_NAME])
{
    snprintf(out, MODEL_NAME, "%s%s", e->m->weights.prefix, name);
    return out;
}

static int embeddings(exporter *e)
{
    const model_config *c = &e->m->config;
    weights *w = &e->m->weights;
    char name[MODEL_NAME];
    encoder_part(e, "embeddings.word_embeddings.weight", name);
    weight_write(e, w, name, name, IG_SHAPE(c->vocabulary, c->embedding), false);
    int x = emit(e, "Gather", NULL, 0, "%s input_ids", name);
    if (c->types) {
        encoder_part(e, "embeddings.token_type_embeddings.weight", name);
        weight_write(e, w, name, name, IG_SHAPE(c->types, c->embedding), false);
        const int types =
            c->no_types ? emit(e, "Gather", NULL, 0, "%s v%d", name, integers(e, IG_SHAPE(0), true))
                        : emit(e, "Gather", NULL, 0, "%s token_type_ids", name);
        x = binary(e, "Add", x, types);
    }
    encoder_part(e, "embeddings.position_embeddings.weight", name);
    weight_write(e, w, name, name, IG_SHAPE(c->positions, c->embedding), false);
    x = binary(e, "Add", x, emit(e, "Gather", NULL, 0, "%s v%d", name, positions(e)));
    x = norm(e, encoder_part(e, "embeddings.LayerNorm", name), x, c->embedding);
    return c->embedding == c->width
               ? x
               : linear(e, encoder_part(e, "embeddings_project", name), x, c->embedding, c->width);
}

/* ---- attention ------------------------------------------------------------------------------ */

/* (heads, T, T): the bias of each pair of tokens by their distance, which is an index of a list of buckets. */
static int distances(exporter *e)
{
    const model_config *c = &e->m->config;
    const int64_t most = c->positions - 1, n = 2 * most + 1;
    char name[MODEL_NAME], list[16];
    int64_t *buckets = memory_get((size_t)n * sizeof *buckets);
    if (!buckets)
        return 0;
    for (int64_t i = 0; i < n; i++)
        buckets[i] = distance_bucket(i - most);
    snprintf(list, sizeof list, "v%d", ++e->n);
    ig_onnx_builder_weight(e->b, list, ig_from_data(buckets, IG_SHAPE(n), IG_I64));
    memory_free(buckets);
    const int to = range(e, most), from = range(e, 0);
    const int column =
        emit(e, "Unsqueeze", NULL, 0, "v%d v%d", from, integers(e, IG_SHAPE(1), false));
    const int bucket = emit(e, "Gather", NULL, 0, "%s v%d", list, binary(e, "Sub", to, column));
    encoder_part(e, "encoder.relative_attention_bias.weight", name);
    weight_write(e, &e->m->weights, name, name, IG_SHAPE(c->buckets, c->heads), false);
    const int bias = emit(e, "Gather", NULL, 0, "%s v%d", name, bucket);
    return emit(e, "Transpose", &IG_ONNX_A_INTS("perm", 2, 0, 1), 1, "v%d", bias);
}

/* The bias that is added to the scores: (N, 1, 1, T) or (N, heads, T, T). */
static int scores_bias(exporter *e)
{
    const int wide =
        emit(e, "Unsqueeze", NULL, 0, "v%d v%d", e->mask, integers(e, IG_SHAPE(1, 2), false));
    const int bias =
        emit(e, "Where", NULL, 0, "v%d v%d v%d", wide, number(e, 0), number(e, MASKED));
    return e->m->config.arch->relative ? binary(e, "Add", distances(e), bias) : bias;
}

static int heads_split(exporter *e, int x, bool key)
{
    const int64_t heads = e->m->config.heads, width = e->m->config.width / heads;
    x = emit(e, "Reshape", NULL, 0, "v%d v%d", x, integers(e, IG_SHAPE(0, 0, heads, width), false));
    return key ? emit(e, "Transpose", &IG_ONNX_A_INTS("perm", 0, 2, 3, 1), 1, "v%d", x)
               : emit(e, "Transpose", &IG_ONNX_A_INTS("perm", 0, 2, 1, 3), 1, "v%d", x);
}

static const char *layer_part(const exporter *e, int layer, const char *part, char out[MODEL_NAME])
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, e->m->config.arch->layer->prefix, layer);
    snprintf(out, MODEL_NAME, "%s%s%s", e->m->weights.prefix, prefix, part);
    return out;
}

static int attention(exporter *e, int layer, int x, int bias)
{
    const model_config *c = &e->m->config;
    const layer_names *names = c->arch->layer;
    const char *const parts[] = {names->query, names->key, names->value};
    char name[MODEL_NAME];
    int split[3];
    for (int i = 0; i < 3; i++)
        split[i] = heads_split(
            e, linear(e, layer_part(e, layer, parts[i], name), x, c->width, c->width), i == 1);
    const double scale = 1 / sqrt((double)(c->width / c->heads));
    int y = binary(e, "MatMul", binary(e, "Mul", split[0], number(e, scale)), split[1]);
    y = emit(e, "Softmax", &IG_ONNX_A_INT("axis", -1), 1, "v%d", binary(e, "Add", y, bias));
    y = binary(e, "MatMul", y, split[2]);
    y = emit(e, "Transpose", &IG_ONNX_A_INTS("perm", 0, 2, 1, 3), 1, "v%d", y);
    y = emit(e, "Reshape", NULL, 0, "v%d v%d", y, integers(e, IG_SHAPE(0, 0, c->width), false));
    return linear(e, layer_part(e, layer, names->out, name), y, c->width, c->width);
}

static int layers(exporter *e)
{
    const model_config *c = &e->m->config;
    const layer_names *names = c->arch->layer;
    char name[MODEL_NAME];
    int x = embeddings(e);
    const int bias = scores_bias(e);
    for (int i = 0; i < c->layers && !ig_failed(); i++) {
        int y = attention(e, i, x, bias);
        x = norm(e, layer_part(e, i, names->norm1, name), binary(e, "Add", x, y), c->width);
        y = linear(e, layer_part(e, i, names->up, name), x, c->width, c->inner);
        y = activate(e, c->activation, y);
        y = linear(e, layer_part(e, i, names->down, name), y, c->inner, c->width);
        x = norm(e, layer_part(e, i, names->norm2, name), binary(e, "Add", x, y), c->width);
    }
    return x;
}

/* ---- vectors -------------------------------------------------------------------------------- */

static int first(exporter *e, int x)
{
    return emit(e, "Gather", &IG_ONNX_A_INT("axis", 1), 1, "v%d v%d", x,
                integers(e, IG_SHAPE(0), true));
}

static int pool(exporter *e, pool_kind kind, int x)
{
    if (kind == POOL_CLS)
        return first(e, x);
    if (kind == POOL_MAX) {
        const int wide =
            emit(e, "Unsqueeze", NULL, 0, "v%d v%d", e->mask, integers(e, IG_SHAPE(2), false));
        const int kept = emit(e, "Where", NULL, 0, "v%d v%d v%d", wide, x, number(e, -INFINITY));
        const ig_onnx_attribute attributes[] = {IG_ONNX_A_INTS("axes", 1),
                                                IG_ONNX_A_INT("keepdims", 0)};
        return emit(e, "ReduceMax", attributes, 2, "v%d", kept);
    }
    const int count = sum_tokens(e, e->weights);
    if (kind == POOL_LAST || kind == POOL_WEIGHTED) {
        int numbers = cast(e, range(e, 1), IG_ONNX_FLOAT);
        numbers =
            emit(e, "Unsqueeze", NULL, 0, "v%d v%d", numbers, integers(e, IG_SHAPE(1), false));
        if (kind == POOL_WEIGHTED) {
            const int weight = binary(e, "Mul", e->weights, numbers);
            return binary(e, "Div", sum_tokens(e, binary(e, "Mul", x, weight)),
                          sum_tokens(e, weight));
        }
        const int last =
            emit(e, "Unsqueeze", NULL, 0, "v%d v%d", count, integers(e, IG_SHAPE(1), false));
        const int is = cast(e, binary(e, "Equal", numbers, last), IG_ONNX_FLOAT);
        return sum_tokens(e, binary(e, "Mul", x, is));
    }
    const int sum = sum_tokens(e, binary(e, "Mul", x, e->weights));
    return binary(e, "Div", sum, kind == POOL_MEAN_SQRT ? unary(e, "Sqrt", count) : count);
}

static int vector_write(exporter *e, vector_step *s, int x)
{
    char prefix[MODEL_NAME];
    if (s->kind == STEP_NORMALIZE) {
        const ig_onnx_attribute attributes[] = {IG_ONNX_A_INTS("axes", -1),
                                                IG_ONNX_A_INT("keepdims", 1)};
        const int length = emit(e, "ReduceL2", attributes, 2, "v%d", x);
        return binary(e, "Div", x, binary(e, "Max", length, number(e, 1e-12)));
    }
    snprintf(prefix, sizeof prefix, "%.200s/", s->path);
    for (char *at = prefix; *at; at++)
        *at = *at == ' ' ? '_' : *at;
    if (s->kind == STEP_NORM)
        return norm_in(e, &s->weights, prefix, "norm", x, s->in, VECTOR_NORM_EPS);
    return activate(e, s->activation,
                    linear_in(e, &s->weights, prefix, "linear", x, s->in, s->out, s->bias));
}

static int vectors(exporter *e, int x)
{
    model_config *c = &e->m->config;
    int y = pool(e, c->pools[0], x);
    for (int i = 1; i < c->n_pools; i++)
        y = emit(e, "Concat", &IG_ONNX_A_INT("axis", -1), 1, "v%d v%d", y, pool(e, c->pools[i], x));
    for (int i = 0; i < c->n_steps; i++)
        y = vector_write(e, &c->steps[i], y);
    return y;
}

/* ---- heads ---------------------------------------------------------------------------------- */

static int classify(exporter *e, int x)
{
    const classify_names *n = &e->m->config.arch->classify;
    const int64_t width = e->m->config.width;
    char name[MODEL_NAME];
    x = linear(e, classify_pre(e->m, name), first(e, x), width, width);
    x = activate(e, activation_find(n->activation), x);
    return linear(e, n->post, x, width, head_columns(e->m, HEAD_CLASSIFY));
}

static int fill(exporter *e, int x)
{
    const model_config *c = &e->m->config;
    const fill_names *n = &c->arch->fill;
    char table[MODEL_NAME], name[MODEL_NAME];
    x = linear(e, n->dense, x, c->width, c->embedding);
    x = activate(e, n->activation ? activation_find(n->activation) : c->activation, x);
    x = norm(e, n->norm, x, c->embedding);
    if (fill_table(e->m, table))
        weight_write(e, &e->m->weights, table, table, IG_SHAPE(c->vocabulary, c->embedding), false);
    const int words = emit(e, "Transpose", &IG_ONNX_A_INTS("perm", 1, 0), 1, "%s", table);
    snprintf(name, sizeof name, "%s", fill_bias(e->m, table));
    weight_write(e, &e->m->weights, name, name, IG_SHAPE(c->vocabulary), false);
    return emit(e, "Add", NULL, 0, "v%d %s", binary(e, "MatMul", x, words), name);
}

static void output(exporter *e, const char *name, int x, ig_ints dims)
{
    static const char *const axes[] = {"batch", "tokens", NULL};
    char value[16];
    snprintf(value, sizeof value, "v%d", x);
    ig_onnx_builder_node(e->b, "Identity", value, name, NULL, 0);
    ig_onnx_builder_output(e->b, name, IG_ONNX_FLOAT, dims, axes);
}

static void head_write(exporter *e, head_kind head, int x)
{
    const model_config *c = &e->m->config;
    switch (head) {
    case HEAD_EMBED:
        output(e, "last_hidden_state", x, IG_SHAPE(-1, -1, c->width));
        output(e, "sentence_embedding", vectors(e, x), IG_SHAPE(-1, c->dimensions));
        break;
    case HEAD_CLASSIFY:
        output(e, "logits", classify(e, x), IG_SHAPE(-1, head_columns(e->m, HEAD_CLASSIFY)));
        break;
    case HEAD_TAG:
        output(e, "logits", linear(e, "classifier", x, c->width, c->n_labels),
               IG_SHAPE(-1, -1, c->n_labels));
        break;
    case HEAD_FILL: output(e, "logits", fill(e, x), IG_SHAPE(-1, -1, c->vocabulary)); break;
    default:
        x = linear(e, "qa_outputs", x, c->width, 2);
        for (int i = 0; i < 2; i++)
            output(e, i ? "end_logits" : "start_logits",
                   emit(e, "Gather", &IG_ONNX_A_INT("axis", 2), 1, "v%d v%d", x,
                        integers(e, IG_SHAPE(i), true)),
                   IG_SHAPE(-1, -1));
    }
}

/* ---- the model ------------------------------------------------------------------------------ */

static void inputs_write(exporter *e)
{
    static const char *const axes[] = {"batch", "tokens"};
    const model_config *c = &e->m->config;
    ig_onnx_builder_input(e->b, "input_ids", IG_ONNX_INT64, IG_SHAPE(-1, -1), axes);
    ig_onnx_builder_input(e->b, "attention_mask", IG_ONNX_INT64, IG_SHAPE(-1, -1), axes);
    if (c->types && !c->no_types)
        ig_onnx_builder_input(e->b, "token_type_ids", IG_ONNX_INT64, IG_SHAPE(-1, -1), axes);
    e->mask = emit(e, "Cast", &IG_ONNX_A_INT("to", IG_ONNX_BOOL), 1, "attention_mask");
    const int numbers = cast(e, e->mask, IG_ONNX_FLOAT);
    e->weights = emit(e, "Unsqueeze", NULL, 0, "v%d v%d", numbers, integers(e, IG_SHAPE(2), false));
}

ig_status ig_text_model_export(ig_text_model *m, const char *head, const char *path)
{
    TRY(require_pointer("ig_text_model_export", "m", m));
    TRY(require_pointer("ig_text_model_export", "path", path));
    const head_kind kind = head                     ? head_find("ig_text_model_export", head)
                           : m->config.head < HEADS ? m->config.head
                                                    : HEAD_EMBED;
    if (kind == HEADS)
        return error_waiting(IG_ERR_ARGUMENT);
    if (m->weights.dtype != IG_F32)
        FAIL(IG_ERR_DTYPE, "ig_text_model_export: the model must be loaded in f32");
    TRY(ig_scope_begin());
    exporter e = {.m = m, .b = ig_onnx_builder_new(m->config.type->name)};
    if (e.b) {
        inputs_write(&e);
        head_write(&e, kind, layers(&e));
    }
    const ig_status status =
        !e.b || ig_failed() ? error_waiting(IG_ERR_MEMORY) : ig_onnx_builder_save(e.b, path);
    ig_onnx_builder_free(e.b);
    ig_scope_end();
    return status;
}
