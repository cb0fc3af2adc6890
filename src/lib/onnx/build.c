/* Writes models: ig_onnx_builder. All of the graph goes into one growing message, because fields may have any order. */
#include "lib/onnx/read.h"
#include "lib/onnx/types.h"
#include "lib/onnx/write.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <string.h>

enum { IR_VERSION = 8, OPSET = 17 };

/* Numbers of fields in onnx.proto. */
enum {
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_TENSOR = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    INFO_NAME = 1,
    INFO_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_ELEMENT = 1,
    TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9
};

struct ig_onnx_builder {
    onnx_writer w;
    size_t graph; /* where it begins; 0: it has ended */
    int nodes;
    bool failed;
};

ig_onnx_builder *ig_onnx_builder_new(const char *name)
{
    ig_onnx_builder *b = memory_new(sizeof *b);
    if (!b)
        return NULL;
    onnx_write_int(&b->w, MODEL_IR, IR_VERSION);
    onnx_write_text(&b->w, MODEL_PRODUCER, "ingot");
    onnx_write_text(&b->w, MODEL_PRODUCER_VERSION, ig_version());
    const size_t opset = onnx_write_begin(&b->w, MODEL_OPSET);
    onnx_write_int(&b->w, OPSET_VERSION, OPSET);
    onnx_write_end(&b->w, opset);
    b->graph = onnx_write_begin(&b->w, MODEL_GRAPH);
    onnx_write_text(&b->w, GRAPH_NAME, name ? name : "model");
    return b;
}

void ig_onnx_builder_free(ig_onnx_builder *b)
{
    if (!b)
        return;
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
    return b && !b->failed && b->graph;
}

static void info_write(ig_onnx_builder *b, int field, const char *name, ig_onnx_type type,
                       ig_ints dims, const char *const *names)
{
    onnx_writer *w = &b->w;
    if (require_list("ig_onnx_builder", "dims", dims.v, dims.n) != IG_OK) {
        b->failed = true;
        return;
    }
    const size_t info = onnx_write_begin(w, field);
    onnx_write_text(w, INFO_NAME, name);
    const size_t types = onnx_write_begin(w, INFO_TYPE), tensor = onnx_write_begin(w, TYPE_TENSOR);
    onnx_write_int(w, TYPE_ELEMENT, type);
    const size_t shape = onnx_write_begin(w, TYPE_SHAPE);
    for (int i = 0; i < dims.n; i++) {
        const size_t dim = onnx_write_begin(w, SHAPE_DIM);
        if (dims.v[i] >= 0)
            onnx_write_int(w, DIM_VALUE, dims.v[i]);
        else if (names && names[i])
            onnx_write_text(w, DIM_PARAM, names[i]);
        onnx_write_end(w, dim);
    }
    onnx_write_end(w, shape);
    onnx_write_end(w, tensor);
    onnx_write_end(w, types);
    onnx_write_end(w, info);
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

/* Elements are little-endian in the file. */
static void elements_write(ig_onnx_builder *b, const void *data, size_t bytes, ig_dtype dtype)
{
    onnx_write_bytes(&b->w, TENSOR_RAW, data, bytes);
    if (IO_BIG_ENDIAN && !b->w.failed)
        io_swap(b->w.at + b->w.used - bytes, bytes, io_swap_bytes(dtype));
}

void ig_onnx_builder_weight(ig_onnx_builder *b, const char *name, ig_array *x)
{
    if (!builder_open(b, name) || !builder_open(b, x))
        return;
    const void *data = ig_data(x);
    if (!data) {
        b->failed = true;
        return;
    }
    const ig_dtype dtype = ig_dtype_of(x);
    const size_t tensor = onnx_write_begin(&b->w, GRAPH_TENSOR);
    onnx_write_ints(&b->w, TENSOR_DIMS, ig_shape(x).v, ig_ndim(x));
    onnx_write_int(&b->w, TENSOR_TYPE, onnx_type_of(dtype));
    onnx_write_text(&b->w, TENSOR_NAME, name);
    elements_write(b, data, (size_t)ig_size(x) * ig_dtype_bytes(dtype), dtype);
    onnx_write_end(&b->w, tensor);
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

/* The reader checks the names, so that no file is written that cannot be loaded. */
static bool builder_check(const ig_onnx_builder *b)
{
    onnx_arena arena = {0};
    onnx_model model = {0};
    const onnx_bytes in = {b->w.at, b->w.used};
    const bool fine = onnx_read_model(&arena, in, "the model that was built", &model) &&
                      onnx_check(&arena, "the model that was built", &model);
    onnx_arena_free(&arena);
    return fine;
}

ig_status ig_onnx_builder_save(ig_onnx_builder *b, const char *path)
{
    struct io_file file;
    TRY(require_pointer("ig_onnx_builder_save", "b", b));
    TRY(require_pointer("ig_onnx_builder_save", "path", path));
    if (b->graph && !b->failed)
        onnx_write_end(&b->w, b->graph);
    b->graph = 0;
    if (b->failed || b->w.failed)
        FAIL(IG_ERR_ARGUMENT,
             "ig_onnx_builder_save: a call before it failed, so there is no model");
    if (b->w.used > INT32_MAX)
        FAIL(IG_ERR_UNSUPPORTED, "save: the model has %zu bytes; an ONNX file has at most 2 GiB",
             b->w.used);
    if (!builder_check(b))
        return error_waiting(IG_ERR_FORMAT);
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = io_write(&file, b->w.at, b->w.used);
    return io_finish(&file, status);
}
