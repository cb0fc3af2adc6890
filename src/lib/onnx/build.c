/* Writes models: ig_onnx_builder. All of the graph but its tensors goes into one growing message, because fields may have any
 * order. Tensors follow when the model is saved. */
#include "lib/onnx/build.h"
#include "lib/onnx/fields.h"
#include "lib/onnx/read.h"
#include "lib/onnx/store.h"
#include "lib/onnx/types.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <string.h>

enum { IR_VERSION = 8, OPSET = 17 };

typedef struct builder_weight {
    char *name;
    ig_array *x; /* evaluated; owned */
} builder_weight;

struct ig_onnx_builder {
    onnx_writer w; /* the fields of the graph */
    builder_weight *weights;
    int n_weights, room;
    uint64_t weight_bytes;
    int64_t external; /* see ig_onnx_builder_external */
    int opset;
    bool failed;
};

ig_onnx_builder *ig_onnx_builder_new(const char *name)
{
    ig_onnx_builder *b = memory_new(sizeof *b);
    if (!b)
        return NULL;
    b->external = -1;
    b->opset = OPSET;
    onnx_write_text(&b->w, GRAPH_NAME, name ? name : "model");
    return b;
}

void onnx_builder_opset(ig_onnx_builder *b, int opset) { b->opset = opset; }

void ig_onnx_builder_free(ig_onnx_builder *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->n_weights; i++) {
        memory_free(b->weights[i].name);
        ig_release(b->weights[i].x);
    }
    memory_free(b->weights);
    onnx_writer_free(&b->w);
    memory_free(b);
}

/* Whether the builder accepts more. */
static bool builder_open(ig_onnx_builder *b, const void *argument)
{
    if (b && !argument) {
        ig_fail(IG_ERR_ARGUMENT, "ig_onnx_builder: an argument is NULL");
        b->failed = true;
    }
    return b && !b->failed;
}

static void info_write(ig_onnx_builder *b, int field, const char *name, ig_onnx_type type,
                       ig_ints dims, const char *const *names)
{
    if (require_list("ig_onnx_builder", "dims", dims.v, dims.n) != IG_OK)
        b->failed = true;
    else
        store_info(&b->w, field, name, type, dims, names);
}

void ig_onnx_builder_input(ig_onnx_builder *b, const char *name, ig_onnx_type type, ig_ints dims,
                           const char *const *names)
{
    if (builder_open(b, name))
        info_write(b, GRAPH_INPUT, name, type, dims, names);
}

void ig_onnx_builder_output(ig_onnx_builder *b, const char *name, ig_onnx_type type, ig_ints dims,
                            const char *const *names)
{
    if (builder_open(b, name))
        info_write(b, GRAPH_OUTPUT, name, type, dims, names);
}

void ig_onnx_builder_external(ig_onnx_builder *b, int64_t least_bytes)
{
    if (b)
        b->external = least_bytes < 0 ? -1 : least_bytes;
}

void ig_onnx_builder_weight(ig_onnx_builder *b, const char *name, ig_array *x)
{
    if (!builder_open(b, name) || !builder_open(b, x))
        return;
    char *copy = ig_eval(&x, 1) == IG_OK &&
                         memory_room(&b->weights, b->n_weights, &b->room, sizeof *b->weights)
                     ? memory_text(name)
                     : NULL;
    if (!copy) {
        b->failed = true;
        return;
    }
    b->weights[b->n_weights++] = (builder_weight){copy, ig_retain(x)};
    b->weight_bytes += (uint64_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
}

/* Writes a field for each of the names between blanks. */
static void names_write(onnx_writer *w, int field, const char *names)
{
    while (*names) {
        const size_t n = strcspn(names, " ");
        const bool absent = n == 1 && names[0] == '-';
        if (n)
            onnx_write_bytes(w, field, names, absent ? 0 : n);
        names += n + (names[n] == ' ');
    }
}

static bool attribute_valid(const ig_onnx_attribute *a)
{
    const bool text = a->kind != ONNX_STRING || a->text;
    if (a->name && text && a->kind >= ONNX_FLOAT && a->kind <= ONNX_INTS &&
        (a->kind != ONNX_INTS || (a->ints.n >= 0 && (a->ints.v || !a->ints.n))))
        return true;
    ig_fail(IG_ERR_ARGUMENT, "ig_onnx_builder_node: an attribute has no name or no value");
    return false;
}

static void attribute_write(onnx_writer *w, const ig_onnx_attribute *a)
{
    const size_t attribute = onnx_write_begin(w, NODE_ATTRIBUTE);
    onnx_write_text(w, ATTRIBUTE_NAME, a->name);
    onnx_write_int(w, ATTRIBUTE_TYPE, a->kind);
    switch (a->kind) {
    case ONNX_FLOAT: onnx_write_float(w, 2, (float)a->number); break;
    case ONNX_INT: onnx_write_int(w, 3, a->i); break;
    case ONNX_STRING: onnx_write_text(w, 4, a->text); break;
    default: onnx_write_ints(w, 8, a->ints.v, a->ints.n); break;
    }
    onnx_write_end(w, attribute);
}

void ig_onnx_builder_node(ig_onnx_builder *b, const char *op, const char *inputs,
                          const char *outputs, const ig_onnx_attribute *attributes, int n)
{
    if (!builder_open(b, op) || !builder_open(b, inputs) || !builder_open(b, outputs) ||
        (n > 0 && !builder_open(b, attributes)))
        return;
    for (int i = 0; i < n && !b->failed; i++)
        b->failed = !attribute_valid(&attributes[i]);
    if (b->failed)
        return;
    const size_t node = onnx_write_begin(&b->w, GRAPH_NODE);
    names_write(&b->w, NODE_INPUT, inputs);
    names_write(&b->w, NODE_OUTPUT, outputs);
    onnx_write_bytes(&b->w, NODE_NAME, outputs, strcspn(outputs, " "));
    onnx_write_text(&b->w, NODE_OP, op);
    for (int i = 0; i < n; i++)
        attribute_write(&b->w, &attributes[i]);
    onnx_write_end(&b->w, node);
}

static bool weights_write(const ig_onnx_builder *b, onnx_store *s, onnx_writer *w)
{
    for (int i = 0; i < b->n_weights; i++) {
        ig_array *x = b->weights[i].x;
        const ig_dtype dtype = ig_dtype_of(x);
        const stored_tensor t = {.name = b->weights[i].name,
                                 .type = onnx_type_of(dtype),
                                 .shape = ig_shape(x),
                                 .at = ig_data(x),
                                 .bytes = (size_t)ig_size(x) * ig_dtype_bytes(dtype),
                                 .swap = io_swap_bytes(dtype)};
        if (!t.at)
            return false;
        store_tensor(s, w, GRAPH_TENSOR, &t);
    }
    return !w->failed && !s->failed;
}

/* The whole model as a message. */
static bool model_write(const ig_onnx_builder *b, onnx_store *s, onnx_writer *w)
{
    onnx_write_int(w, MODEL_IR, IR_VERSION);
    onnx_write_text(w, MODEL_PRODUCER, "ingot");
    onnx_write_text(w, MODEL_PRODUCER_VERSION, ig_version());
    const size_t opset = onnx_write_begin(w, MODEL_OPSET);
    onnx_write_int(w, OPSET_VERSION, b->opset);
    onnx_write_end(w, opset);
    const size_t graph = onnx_write_begin(w, MODEL_GRAPH);
    onnx_write_raw(w, b->w.at, b->w.used);
    const bool fine = weights_write(b, s, w);
    onnx_write_end(w, graph);
    return fine && !w->failed;
}

/* The reader checks the names, so that no file is written that cannot be loaded. */
static bool model_check(const onnx_writer *w)
{
    onnx_arena arena = {0};
    onnx_model model = {0};
    const onnx_bytes in = {w->at, w->used};
    const bool fine = onnx_read_model(&arena, in, "the model that was built", &model) &&
                      onnx_check(&arena, "the model that was built", &model);
    onnx_arena_free(&arena);
    return fine;
}

ig_status ig_onnx_builder_save(ig_onnx_builder *b, const char *path)
{
    TRY(require_pointer("ig_onnx_builder_save", "b", b));
    TRY(require_pointer("ig_onnx_builder_save", "path", path));
    if (b->failed || b->w.failed)
        FAIL(IG_ERR_ARGUMENT,
             "ig_onnx_builder_save: a call before it failed, so there is no model");
    onnx_store s = {0};
    onnx_writer w = {0};
    ig_status status = IG_OK;
    if (!store_open(&s, path, b->external, b->w.used + b->weight_bytes) || !model_write(b, &s, &w))
        status = error_waiting(IG_ERR_MEMORY);
    else if (w.used <= INT32_MAX && !model_check(&w))
        status = error_waiting(IG_ERR_FORMAT);
    if (status == IG_OK)
        status = store_write(&s, &w, path);
    store_close(&s);
    onnx_writer_free(&w);
    return status;
}
