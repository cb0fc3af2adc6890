/* Mistakes of ONNX models: each is refused with one line that says where it is. test_onnx_read.c tests what is valid. */
#include "onnx_bytes.h"

#include <stdio.h>
#include <stdlib.h>

static void mistake_missing(void) { put_node("Relu", "nowhere", "y"); }

static void mistake_twice(void)
{
    put_node("Relu", "x", "y");
    put_node("Abs", "x", "y");
}

static void mistake_input(void) { put_node("Relu", "x", "x"); }
static void mistake_inputs(void) { put_info(GRAPH_INPUT, "x"); }

static void mistake_cycle(void)
{
    put_node("Relu", "b", "a");
    put_node("Abs", "a", "b");
}

static void mistake_output(void) { put_info(GRAPH_OUTPUT, "nowhere"); }

static void mistake_domain(void)
{
    const size_t at = node_begin("Gelu", "x", "y");
    onnx_write_text(&w, NODE_DOMAIN, "com.microsoft");
    onnx_write_end(&w, at);
}

static void mistake_no_op(void) { put_node("", "x", "y"); }

static void mistake_tensors(void)
{
    put_tensor("t", IG_ONNX_UINT8, 1, "a", 1);
    put_tensor("t", IG_ONNX_UINT8, 1, "a", 1);
}

static void mistake_nameless(void) { put_tensor("", IG_ONNX_UINT8, 1, "a", 1); }
static void mistake_bytes(void) { put_tensor("t", IG_ONNX_FLOAT, 3, "abcd", 4); }
static void mistake_type(void) { put_tensor("t", 99, 1, "abcd", 4); }
static void mistake_length(void) { put_tensor("t", IG_ONNX_FLOAT, -1, "", 0); }
static void mistake_string(void) { put_tensor("t", IG_ONNX_STRING, 1, "a", 1); }

static void mistake_product(void)
{
    onnx_write_end(&w, tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_FLOAT,
                                    IG_SHAPE(INT64_MAX / 4, INT64_MAX / 4).v, 2));
}

static void mistake_axes(void)
{
    static const int64_t dims[40];
    onnx_write_end(&w, tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_FLOAT, dims, 40));
}

static void mistake_count(void)
{
    const size_t at = tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_INT64, IG_SHAPE(3).v, 1);
    onnx_write_ints(&w, 7, (const int64_t[]){1, 2}, 2);
    onnx_write_end(&w, at);
}

static void mistake_field(void)
{
    const size_t at = tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_INT64, IG_SHAPE(1).v, 1);
    onnx_write_ints(&w, 5, (const int64_t[]){1}, 1);
    onnx_write_end(&w, at);
}

static void mistake_both(void)
{
    const size_t at = tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_UINT8, IG_SHAPE(1).v, 1);
    onnx_write_ints(&w, 5, (const int64_t[]){1}, 1);
    onnx_write_bytes(&w, TENSOR_RAW, "a", 1);
    onnx_write_end(&w, at);
}

static size_t attribute_begin(size_t *node, int type)
{
    *node = node_begin("Conv", "x", "y");
    const size_t at = onnx_write_begin(&w, NODE_ATTRIBUTE);
    onnx_write_text(&w, ATTRIBUTE_NAME, "pads");
    onnx_write_int(&w, ATTRIBUTE_TYPE, type);
    return at;
}

static void mistake_attribute_type(void)
{
    size_t node, at = attribute_begin(&node, ONNX_INTS);
    onnx_write_float(&w, 2, 1);
    onnx_write_end(&w, at);
    onnx_write_end(&w, node);
}

static void mistake_attribute_wire(void)
{
    size_t node, at = attribute_begin(&node, ONNX_FLOATS);
    onnx_write_bytes(&w, 7, "abcde", 5);
    onnx_write_end(&w, at);
    onnx_write_end(&w, node);
}

static void mistake_attribute_kind(void)
{
    size_t node, at = attribute_begin(&node, 77);
    onnx_write_end(&w, at);
    onnx_write_end(&w, node);
}

static void mistake_attribute_empty(void)
{
    size_t node, at = attribute_begin(&node, ONNX_TENSOR);
    onnx_write_end(&w, at);
    onnx_write_end(&w, node);
}

static void mistake_attribute_twice(void)
{
    size_t node, at = attribute_begin(&node, ONNX_INT);
    onnx_write_end(&w, at);
    const size_t again = onnx_write_begin(&w, NODE_ATTRIBUTE);
    onnx_write_text(&w, ATTRIBUTE_NAME, "pads");
    onnx_write_int(&w, ATTRIBUTE_TYPE, ONNX_INT);
    onnx_write_end(&w, again);
    onnx_write_end(&w, node);
}

static void mistake_attribute_tensor(void)
{
    size_t node, at = attribute_begin(&node, ONNX_TENSOR);
    onnx_write_end(&w, tensor_begin(5, "v", IG_ONNX_FLOAT, IG_SHAPE(2).v, 1));
    onnx_write_end(&w, at);
    onnx_write_end(&w, node);
}

static void mistake_refers(void)
{
    size_t node, at = attribute_begin(&node, ONNX_INT);
    onnx_write_text(&w, 21, "alpha");
    onnx_write_end(&w, at);
    onnx_write_end(&w, node);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        void (*put)(void);
        ig_status code;
        const char *part;
    } rows[] = {
        {mistake_missing, IG_ERR_FORMAT,
         "node 0 'the node' (Relu): input 'nowhere' is not defined"},
        {mistake_twice, IG_ERR_FORMAT, "node 1 'the node' (Abs): output 'y' is defined twice"},
        {mistake_input, IG_ERR_FORMAT, "node 0 'the node' (Relu): output 'x' is defined twice"},
        {mistake_inputs, IG_ERR_FORMAT, "input 'x' is defined twice"},
        {mistake_cycle, IG_ERR_FORMAT, "node 0 'the node' (Relu): it needs its own result"},
        {mistake_output, IG_ERR_FORMAT, "output 'nowhere' of the graph is not defined"},
        {mistake_domain, IG_ERR_FORMAT,
         "(Gelu): the model imports no opset of the domain 'com.mic"},
        {mistake_no_op, IG_ERR_FORMAT, "node 0 'the node': it has no op"},
        {mistake_tensors, IG_ERR_FORMAT, "initializer 't' is defined twice"},
        {mistake_nameless, IG_ERR_FORMAT, "initializer 0 has no name"},
        {mistake_bytes, IG_ERR_FORMAT,
         "tensor 't': it has 4 bytes, but float and its shape need 12"},
        {mistake_type, IG_ERR_FORMAT, "tensor 't': its element type 99 is unknown"},
        {mistake_length, IG_ERR_FORMAT, "tensor 't': axis 0 has the length -1"},
        {mistake_string, IG_ERR_FORMAT, "tensor 't': strings cannot be raw data"},
        {mistake_product, IG_ERR_FORMAT, "tensor 't': its shape has too many elements"},
        {mistake_axes, IG_ERR_UNSUPPORTED, "tensor 't': 40 axes"},
        {mistake_count, IG_ERR_FORMAT, "tensor 't': it has 2 numbers, but its shape needs 3"},
        {mistake_field, IG_ERR_FORMAT,
         "tensor 't': int64 elements are in the field of another type"},
        {mistake_both, IG_ERR_FORMAT, "tensor 't': its elements are given twice"},
        {mistake_attribute_type, IG_ERR_FORMAT,
         "node 0 'the node' (Conv): attribute 'pads': its value does not match its type"},
        {mistake_attribute_wire, IG_ERR_FORMAT,
         "attribute 'pads': field floats has a part of a number"},
        {mistake_attribute_kind, IG_ERR_FORMAT, "attribute 'pads': its type 77 is unknown"},
        {mistake_attribute_empty, IG_ERR_FORMAT, "attribute 'pads': it has no value"},
        {mistake_attribute_twice, IG_ERR_FORMAT, "(Conv): attribute 'pads' is given twice"},
        {mistake_attribute_tensor, IG_ERR_FORMAT,
         "(Conv): attribute 'pads': tensor 'v': it has 0 numbers, but its shape needs 2"},
        {mistake_refers, IG_ERR_FORMAT,
         "(Conv): attribute 'pads' refers to an attribute of a function"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t graph = model_begin();
        put_info(GRAPH_INPUT, "x");
        rows[i].put();
        onnx_write_end(&w, graph);
        assert_not_loaded(rows[i].code, rows[i].part);
    }
}

static void test_versions(void **state)
{
    (void)state;
    onnx_write_end(&w, model_begin());
    put_opset("ai.onnx.ml", 99);
    assert_not_loaded(IG_ERR_UNSUPPORTED, "opset 99 of ai.onnx.ml is newer");
    onnx_write_end(&w, model_begin());
    put_opset("x", 0);
    assert_not_loaded(IG_ERR_FORMAT, "opset 'x': version 0 is not positive");
    onnx_write_end(&w, model_begin());
    onnx_write_int(&w, MODEL_IR, 1000);
    assert_not_loaded(IG_ERR_UNSUPPORTED, "its IR version is 1000");
}

/* Functions that call each other, and functions that each call the next one twice. */
static void put_function(const char *name, const char *calls, int times)
{
    const size_t at = onnx_write_begin(&w, MODEL_FUNCTION);
    onnx_write_text(&w, 1, name);
    onnx_write_text(&w, 10, "d");
    for (int i = 0; i < times; i++) {
        const size_t node = onnx_write_begin(&w, 7);
        onnx_write_text(&w, NODE_OP, calls);
        onnx_write_text(&w, NODE_DOMAIN, "d");
        onnx_write_end(&w, node);
    }
    onnx_write_end(&w, at);
}

static void test_functions(void **state)
{
    (void)state;
    onnx_write_end(&w, model_begin());
    put_function("f", "g", 1);
    put_function("g", "f", 1);
    assert_not_loaded(IG_ERR_FORMAT, "functions call themselves");
    onnx_write_end(&w, model_begin());
    put_function("f", "f", 0);
    put_function("f", "f", 0);
    assert_not_loaded(IG_ERR_FORMAT, "function 'f' is defined twice");
    onnx_write_end(&w, model_begin());
    for (int i = 0; i < 40; i++) {
        char name[32], next[32];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, "f%d", i + 1);
        put_function(name, next, i < 39 ? 2 : 0);
    }
    assert_not_loaded(IG_ERR_FORMAT, "expand to more than");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_functions),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    onnx_writer_free(&w);
    ig_shutdown();
    return failed;
}
