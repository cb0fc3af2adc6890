/* ONNX models written piece by piece, valid or not, for tests of the reader. */
#ifndef TESTS_ONNX_BYTES_H
#define TESTS_ONNX_BYTES_H

#include "support/folder.h"

#include <string.h>

#include "lib/onnx/session.h"
#include "lib/onnx/write.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Numbers of fields. */
enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_TENSOR = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15,
    NODE_IN = 1,
    NODE_OUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_PAIR = 13,
    TENSOR_LOCATION = 14
};

static onnx_writer w;

static inline void put_opset(const char *domain, int64_t version)
{
    const size_t at = onnx_write_begin(&w, MODEL_OPSET);
    onnx_write_text(&w, 1, domain);
    onnx_write_int(&w, 2, version);
    onnx_write_end(&w, at);
}

/* Begins a model; returns the place of its graph. */
static inline size_t model_begin(void)
{
    w.used = 0;
    onnx_write_int(&w, MODEL_IR, 8);
    put_opset("", 17);
    return onnx_write_begin(&w, MODEL_GRAPH);
}

static inline void put_info(int field, const char *name)
{
    const size_t at = onnx_write_begin(&w, field);
    onnx_write_text(&w, 1, name);
    const size_t type = onnx_write_begin(&w, 2), tensor = onnx_write_begin(&w, 1);
    onnx_write_int(&w, 1, IG_ONNX_FLOAT);
    const size_t shape = onnx_write_begin(&w, 2), dim = onnx_write_begin(&w, 1);
    onnx_write_int(&w, 1, 2);
    onnx_write_end(&w, dim);
    const size_t symbol = onnx_write_begin(&w, 1);
    onnx_write_text(&w, 2, "batch");
    onnx_write_end(&w, symbol);
    onnx_write_end(&w, shape);
    onnx_write_end(&w, tensor);
    onnx_write_end(&w, type);
    onnx_write_end(&w, at);
}

/* Begins a node; in and out may be NULL. */
static inline size_t node_begin(const char *op, const char *in, const char *out)
{
    const size_t at = onnx_write_begin(&w, GRAPH_NODE);
    if (in)
        onnx_write_text(&w, NODE_IN, in);
    if (out)
        onnx_write_text(&w, NODE_OUT, out);
    onnx_write_text(&w, NODE_NAME, "the node");
    onnx_write_text(&w, NODE_OP, op);
    return at;
}

static inline void put_node(const char *op, const char *in, const char *out)
{
    onnx_write_end(&w, node_begin(op, in, out));
}

static inline size_t tensor_begin(int field, const char *name, int type, const int64_t *dims, int n)
{
    const size_t at = onnx_write_begin(&w, field);
    onnx_write_text(&w, TENSOR_NAME, name);
    onnx_write_int(&w, TENSOR_TYPE, type);
    for (int i = 0; i < n; i++)
        onnx_write_int(&w, TENSOR_DIMS, dims[i]);
    return at;
}

static inline void put_tensor(const char *name, int type, int64_t length, const void *raw,
                              size_t bytes)
{
    const size_t at = tensor_begin(GRAPH_TENSOR, name, type, &length, 1);
    onnx_write_bytes(&w, TENSOR_RAW, raw, bytes);
    onnx_write_end(&w, at);
}

static inline ig_onnx *load(void) { return ig_onnx_from_memory(w.at, w.used, NULL); }

static inline ig_onnx *must(ig_onnx *m)
{
    if (!m)
        fail_msg("%s", ig_error(NULL));
    return m;
}

static inline void assert_not_loaded(ig_status code, const char *part)
{
    ig_onnx *m = load();
    assert_null(m);
    assert_error(code, part);
}

#endif
