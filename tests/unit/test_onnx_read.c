/* The reader of ONNX models on hand-made bytes: what is valid is read as it was written, and bytes that are no model are
 * refused. test_onnx_mistakes.c has models with mistakes. */
#include "onnx_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

/* ---- what is valid --------------------------------------------------------------------------- */

static void test_structure(void **state)
{
    (void)state;
    const size_t graph = model_begin();
    put_info(GRAPH_INPUT, "w"); /* has a default: callers do not see it */
    put_info(GRAPH_INPUT, "x");
    put_node("Relu", "y", "z"); /* before the node that makes y */
    const size_t node = node_begin("Conv", "x", "y");
    onnx_write_text(&w, NODE_IN, "w");
    onnx_write_text(&w, NODE_IN, "");
    const size_t attribute = onnx_write_begin(&w, NODE_ATTRIBUTE);
    onnx_write_text(&w, ATTRIBUTE_NAME, "strides");
    onnx_write_int(&w, 8, 3);                                    /* not packed, */
    onnx_write_ints(&w, 8, (const int64_t[]){-4, INT64_MIN}, 2); /* and packed */
    onnx_write_int(&w, ATTRIBUTE_TYPE, ONNX_INTS);
    onnx_write_end(&w, attribute);
    onnx_write_end(&w, node);
    put_tensor("w", IG_ONNX_FLOAT, 1, "\0\0\200\77", 4);
    put_info(GRAPH_OUTPUT, "z");
    onnx_write_end(&w, graph);

    ig_onnx *m = must(load());
    assert_int_equal(ig_onnx_input_count(m), 1);
    ig_onnx_info info = {.size = sizeof info};
    assert_int_equal(ig_onnx_input(m, 0, &info), IG_OK);
    assert_string_equal(info.name, "x");
    assert_int_equal(info.ndim, 2);
    assert_int_equal(info.dims[0], 2);
    assert_int_equal(info.dims[1], -1);
    assert_null(info.names[0]);
    assert_string_equal(info.names[1], "batch");
    const onnx_graph *g = &m->model.graph;
    assert_string_equal(g->nodes[0].op, "Conv");
    assert_string_equal(g->nodes[1].op, "Relu");
    const onnx_attribute *a = &g->nodes[0].attributes[0];
    assert_int_equal(a->n, 3);
    assert_int_equal(a->u.ints[0], 3);
    assert_int_equal(a->u.ints[1], -4);
    assert_true(a->u.ints[2] == INT64_MIN);
    assert_int_equal(g->nodes[0].in_slots[2], -1);
    assert_string_equal(g->slot_names[g->nodes[1].in_slots[0]], "y");
    assert_string_equal(ig_onnx_weight_name(m, 0), "w");
    assert_array(ig_onnx_weight(m, 0), IG_F32, IG_SHAPE(1), (const float[]){1});
    assert_int_equal(ig_onnx_input(m, 1, &info), IG_ERR_INDEX);
    assert_error(IG_ERR_INDEX, "there is no input 1");
    ig_onnx_free(m);
}

/* One tensor of each type: the bytes of the file, and what the array holds. */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        ig_onnx_type type;
        int64_t length;
        unsigned char raw[8];
        size_t bytes;
        double values[4];
    } rows[] = {
        {IG_ONNX_UINT8, 2, {255, 1}, 2, {255, 1}},
        {IG_ONNX_INT16, 1, {254, 255}, 2, {-2}},
        {IG_ONNX_BOOL, 3, {0, 1, 2}, 3, {0, 1, 1}},
        {IG_ONNX_FLOAT16, 1, {0, 0xc0}, 2, {-2}},
        {IG_ONNX_BFLOAT16, 1, {0x80, 0x3f}, 2, {1}},
        {IG_ONNX_FLOAT8E4M3FN, 4, {0x38, 0x7e, 0x01, 0xb8}, 4, {1, 448, 0.001953125, -1}},
        {IG_ONNX_FLOAT8E4M3FNUZ, 3, {0x40, 0x7f, 0x01}, 3, {1, 240, 0.0009765625}},
        {IG_ONNX_FLOAT8E5M2, 3, {0x3c, 0x7b, 0x01}, 3, {1, 57344, 1.52587890625e-05}},
        {IG_ONNX_FLOAT8E5M2FNUZ, 2, {0x40, 0x7f}, 2, {1, 57344}},
        {IG_ONNX_FLOAT8E8M0, 2, {127, 130}, 2, {1, 8}},
        {IG_ONNX_FLOAT4E2M1, 3, {0x72, 0x09}, 2, {1, 6, -0.5}},
        {IG_ONNX_UINT4, 3, {0xf1, 0x02}, 2, {1, 15, 2}},
        {IG_ONNX_INT4, 3, {0xf1, 0x08}, 2, {1, -1, -8}},
        {IG_ONNX_UINT2, 4, {0xe4}, 1, {0, 1, 2, 3}},
        {IG_ONNX_INT2, 4, {0xe4}, 1, {0, 1, -2, -1}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t graph = model_begin();
        put_tensor("t", (int)rows[i].type, rows[i].length, rows[i].raw, rows[i].bytes);
        onnx_write_end(&w, graph);
        ig_onnx *m = must(load());
        ig_array *x = ig_onnx_weight(m, 0);
        assert_non_null(x);
        assert_int_equal(ig_onnx_value_type(m->weights[0]), rows[i].type);
        for (int64_t k = 0; k < rows[i].length; k++) {
            const double got = ig_item(ig_astype(ig_take(x, ig_int(k), IG_AXES(0)), IG_F64));
            if (got != rows[i].values[k])
                fail_msg("%s %d: %g", ig_onnx_type_name(rows[i].type), (int)k, got);
        }
        ig_onnx_free(m);
    }
}

/* int32_data with negative numbers, and indices of a sparse tensor. */
static void test_typed_and_sparse(void **state)
{
    (void)state;
    const size_t graph = model_begin();
    size_t at = tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_INT8, IG_SHAPE(2).v, 1);
    onnx_write_ints(&w, 5, (const int64_t[]){-128, 127}, 2);
    onnx_write_end(&w, at);
    at = onnx_write_begin(&w, GRAPH_SPARSE);
    size_t part = tensor_begin(1, "s", IG_ONNX_INT32, IG_SHAPE(2).v, 1);
    onnx_write_ints(&w, 5, (const int64_t[]){7, -8}, 2);
    onnx_write_end(&w, part);
    part = tensor_begin(2, "", IG_ONNX_INT64, IG_SHAPE(2, 2).v, 2);
    onnx_write_ints(&w, 7, (const int64_t[]){0, 1, 1, 0}, 4);
    onnx_write_end(&w, part);
    onnx_write_ints(&w, 3, (const int64_t[]){2, 2}, 2);
    onnx_write_end(&w, at);
    onnx_write_end(&w, graph);
    ig_onnx *m = must(load());
    assert_array(ig_onnx_weight(m, 0), IG_I8, IG_SHAPE(2), (const int8_t[]){-128, 127});
    assert_array(ig_onnx_weight(m, 1), IG_I32, IG_SHAPE(2, 2), (const int32_t[]){0, 7, -8, 0});
    assert_string_equal(ig_onnx_weight_name(m, 1), "s");
    ig_onnx_free(m);
}

/* A graph in a node reads a value of the graph around it, which a later node of the file makes. */
static void test_outer_scope(void **state)
{
    (void)state;
    const size_t graph = model_begin();
    put_info(GRAPH_INPUT, "x");
    const size_t node = node_begin("If", "x", "z"),
                 attribute = onnx_write_begin(&w, NODE_ATTRIBUTE);
    onnx_write_text(&w, ATTRIBUTE_NAME, "then_branch");
    onnx_write_int(&w, ATTRIBUTE_TYPE, ONNX_GRAPH);
    const size_t inner = onnx_write_begin(&w, 6);
    put_node("Neg", "y", "t");
    put_info(GRAPH_OUTPUT, "t");
    onnx_write_end(&w, inner);
    onnx_write_end(&w, attribute);
    onnx_write_end(&w, node);
    put_node("Abs", "x", "y");
    put_info(GRAPH_OUTPUT, "z");
    onnx_write_end(&w, graph);
    ig_onnx *m = must(load());
    const onnx_graph *g = &m->model.graph;
    assert_string_equal(g->nodes[0].op, "Abs");
    const onnx_graph *body = g->nodes[1].attributes[0].u.graphs[0];
    assert_ptr_equal(body->parent, g);
    assert_int_equal(body->n_outer, 1);
    assert_string_equal(g->slot_names[body->outer[0]], "y");
    assert_string_equal(body->slot_names[body->first_outer], "y");
    ig_onnx_free(m);
}

/* ---- bytes that are no message --------------------------------------------------------------- */

static void test_damaged_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *part;
    } rows[] = {
        {"", 0, "it has no graph"},
        {"\x08", 1, "a number is cut short"},
        {"\x08\x80", 2, "a number is cut short"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, "more than 64 bits"},
        {"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "longer than its message"}, /* -1 */
        {"\x3a\xff\xff\xff\xff\x7f", 6, "longer than its message"},
        {"\x3a\x05\x0a\x01", 4, "longer than its message"},
        {"\x3a", 1, "a number is cut short"},
        {"\x38\x01", 2, "field graph has the wrong wire type"},
        {"\x0d\x01\x01\x01\x01", 5, "field ir_version has the wrong wire type"},
        {"\x0d\x01", 2, "longer than its message"},
        {"\x0b", 1, "unknown wire type"}, /* a group */
        {"\x0f\x01", 2, "unknown wire type"},
        {"\x00\x01", 2, "an invalid number"},
        {"\x3a\x00\x3a\x00", 4, "field graph occurs twice"},
        {"\x12\x01\x00", 3, "a text with a zero byte"},
        {"\x3a\x02\x0a\x00", 4, "field nodes has an item that is too short"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_null(ig_onnx_from_memory(rows[i].bytes, rows[i].n, NULL));
        assert_error(IG_ERR_FORMAT, rows[i].part);
    }
}

/* A valid model, cut at each length and with each byte changed, loads or is refused. */
static void test_every_byte_damaged(void **state)
{
    test_outer_scope(state);
    const size_t n = w.used;
    char *bytes = malloc(n);
    assert_non_null(bytes);
    memcpy(bytes, w.at, n);
    for (size_t i = 0; i < n; i++) {
        ig_onnx *m = ig_onnx_from_memory(bytes, i, NULL);
        assert_null(m);
        assert_non_null(ig_error(NULL));
        for (int k = 0; k < 256; k += 5) {
            memcpy(w.at, bytes, n);
            w.at[i] = (char)(w.at[i] ^ k);
            ig_onnx_free(m = load());
            assert_true(m || ig_error(NULL));
        }
    }
    free(bytes);
}

static void test_depth(void **state)
{
    (void)state;
    size_t places[1024];
    int n = 0;
    places[n++] = model_begin();
    for (int i = 0; i < 200; i++) {
        places[n++] = node_begin("If", NULL, NULL);
        places[n++] = onnx_write_begin(&w, NODE_ATTRIBUTE);
        onnx_write_text(&w, ATTRIBUTE_NAME, "g");
        onnx_write_int(&w, ATTRIBUTE_TYPE, ONNX_GRAPH);
        places[n++] = onnx_write_begin(&w, 6);
    }
    while (n > 0)
        onnx_write_end(&w, places[--n]);
    assert_not_loaded(IG_ERR_FORMAT, "more than 100 messages are nested");
}

/* Memory is a small multiple of the file. */
static void test_memory(void **state)
{
    (void)state;
    enum { NODES = 20000, MOST = 64 };
    const size_t graph = model_begin();
    for (int i = 0; i < NODES; i++) {
        const size_t node = onnx_write_begin(&w, GRAPH_NODE);
        onnx_write_text(&w, NODE_IN, "");
        onnx_write_text(&w, NODE_OP, "A");
        onnx_write_end(&w, node);
    }
    onnx_write_end(&w, graph);
    const uint64_t before = ig_memory_used();
    ig_onnx *m = must(load());
    assert_true(ig_memory_used() - before < MOST * w.used);
    ig_onnx_free(m);
    assert_int_equal(ig_memory_used(), before);
    /* A list that says that it is long, in a small file. */
    model_begin();
    tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_FLOAT, IG_SHAPE(INT64_MAX / 1024).v, 1);
    ig_set_memory_limit(before + (1 << 20));
    assert_null(load());
    assert_non_null(ig_error(NULL));
    /* A model that does not fit the limit. */
    const size_t large = model_begin();
    for (int i = 0; i < NODES; i++)
        put_node("Neg", NULL, NULL);
    onnx_write_end(&w, large);
    assert_not_loaded(IG_ERR_MEMORY, "memory limit");
    ig_set_memory_limit(0);
}

/* Each allocation fails once; nothing is left behind. */
static void test_no_memory(void **state)
{
    test_outer_scope(state);
    const int64_t live = memory_live();
    bool loaded = false;
    for (int64_t n = 1; !loaded; n++) {
        memory_fail_at(n);
        ig_onnx *m = load();
        memory_fail_at(0);
        loaded = m != NULL;
        assert_true(loaded || ig_error(NULL));
        ig_onnx_free(m);
        assert_int_equal(memory_live(), live);
    }
}

/* ---- external data --------------------------------------------------------------------------- */

static void put_pair(const char *key, const char *value)
{
    const size_t at = onnx_write_begin(&w, TENSOR_PAIR);
    onnx_write_text(&w, 1, key);
    onnx_write_text(&w, 2, value);
    onnx_write_end(&w, at);
}

/* Saves a model with a tensor of 4 bytes in another file; loads it. */
static ig_onnx *load_external(const char *location, const char *offset, const char *length)
{
    const size_t graph = model_begin();
    const size_t at = tensor_begin(GRAPH_TENSOR, "t", IG_ONNX_UINT8, IG_SHAPE(4).v, 1);
    onnx_write_int(&w, TENSOR_LOCATION, 1);
    if (location)
        put_pair("location", location);
    if (offset)
        put_pair("offset", offset);
    if (length)
        put_pair("length", length);
    onnx_write_end(&w, at);
    onnx_write_end(&w, graph);
    const char *path = folder_path("model.onnx");
    folder_put(path, w.at, w.used);
    return ig_onnx_load(path);
}

static void test_external(void **state)
{
    (void)state;
    folder_put(folder_path("data"), "0123456789", 10);
    ig_onnx *m = must(load_external("data", "2", "4"));
    assert_array(ig_onnx_weight(m, 0), IG_U8, IG_SHAPE(4), "2345");
    ig_onnx_free(m);
    m = must(load_external("./data", NULL, NULL));
    assert_array(ig_onnx_weight(m, 0), IG_U8, IG_SHAPE(4), "0123");
    ig_onnx_free(m);
    static const struct {
        const char *location, *offset, *length;
        ig_status code;
        const char *part;
    } rows[] = {
        {"../data", NULL, NULL, IG_ERR_FORMAT, "inside the model's folder"},
        {"a/../../data", NULL, NULL, IG_ERR_FORMAT, "inside the model's folder"},
        {"..", NULL, NULL, IG_ERR_FORMAT, "inside the model's folder"},
        {"/etc/passwd", NULL, NULL, IG_ERR_FORMAT, "inside the model's folder"},
        {"", NULL, NULL, IG_ERR_FORMAT, "inside the model's folder"},
        {NULL, NULL, NULL, IG_ERR_FORMAT, "tensor 't': external data has no location"},
        {"absent", NULL, NULL, IG_ERR_FILE, "external data 'absent': it cannot be opened"},
        {".", NULL, NULL, IG_ERR_FILE, ""},
        {"data", "7", NULL, IG_ERR_FORMAT, "has 10 bytes, but the tensor is at 7 and has 4 bytes"},
        {"data", "18446744073709551615", NULL, IG_ERR_FORMAT, "offset"},
        {"data", "9223372036854775807", NULL, IG_ERR_FORMAT, "has 10 bytes"},
        {"data", "-1", NULL, IG_ERR_FORMAT, "offset"},
        {"data", "1x", NULL, IG_ERR_FORMAT, "offset"},
        {"data", "0", "5", IG_ERR_FORMAT, "the length '5'"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_null(load_external(rows[i].location, rows[i].offset, rows[i].length));
        assert_error(rows[i].code, rows[i].part);
    }
    unlink(folder_path("data"));
    unlink(folder_path("model.onnx"));
}

static void test_external_links(void **state)
{
    (void)state;
    folder_put(folder_path("data"), "0123456789", 10);
    assert_int_equal(symlink("/etc/passwd", folder_path("out")), 0);
    assert_int_equal(symlink("data", folder_path("in")), 0);
    assert_null(load_external("out", NULL, NULL));
    assert_error(IG_ERR_FILE,
                 "tensor 't': external data 'out': a link leads out of the model's folder");
    ig_onnx *m = must(load_external("in", NULL, NULL));
    assert_array(ig_onnx_weight(m, 0), IG_U8, IG_SHAPE(4), "0123");
    ig_onnx_free(m);
    /* From memory, a model has no folder unless one is named. */
    assert_not_loaded(IG_ERR_FILE, "the model has no folder");
    m = must(ig_onnx_from_memory(w.at, w.used, folder_itself()));
    ig_onnx_free(m);
    static const char *const names[] = {"data", "out", "in", "model.onnx"};
    for (size_t i = 0; i < COUNT(names); i++)
        unlink(folder_path(names[i]));
}

/* A large tensor stays in the mapped file, and lives longer than its model. */
static void test_mapped(void **state)
{
    (void)state;
    enum { BYTES = 100000 };
    char *data = malloc(BYTES);
    for (int i = 0; i < BYTES; i++)
        data[i] = (char)(i % 251);
    const size_t graph = model_begin();
    put_tensor("t", IG_ONNX_UINT8, BYTES, data, BYTES);
    onnx_write_end(&w, graph);
    folder_put(folder_path("m.onnx"), w.at, w.used);
    ig_onnx *m = must(ig_onnx_load(folder_path("m.onnx")));
    const uint64_t before = ig_memory_used();
    ig_array *x = ig_retain(ig_onnx_weight(m, 0));
    assert_true(ig_memory_used() - before < BYTES);
    ig_onnx_free(m);
    unlink(folder_path("m.onnx"));
    assert_array(x, IG_U8, IG_SHAPE(BYTES), data);
    ig_release(x);
    free(data);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_values(void **state)
{
    (void)state;
    const char *path = folder_path("v.pb");
    w.used = 0;
    const size_t at = tensor_begin(3, "", IG_ONNX_STRING, IG_SHAPE(2).v, 1);
    onnx_write_text(&w, 6, "one");
    onnx_write_bytes(&w, 6, "t\0o", 3);
    onnx_write_end(&w, at);
    folder_put(path, w.at, w.used);
    const ig_onnx_info like = {.size = sizeof like, .kind = IG_ONNX_SEQUENCE};
    ig_onnx_value *v = ig_onnx_value_load(path, &like);
    assert_non_null(v);
    assert_int_equal(ig_onnx_value_count(v), 1);
    size_t bytes;
    assert_memory_equal(ig_onnx_value_text(ig_onnx_value_item(v, 0), 1, &bytes), "t\0o", 3);
    assert_int_equal(bytes, 3);
    ig_onnx_value_release(v);
    const ig_onnx_info optional = {.size = sizeof like, .kind = IG_ONNX_TEXTS, .optional = true};
    v = ig_onnx_value_load(path, &optional);
    assert_int_equal(ig_onnx_value_kind(v), IG_ONNX_TEXTS);
    ig_onnx_value_release(v);
    folder_put(path, "", 0);
    v = ig_onnx_value_load(path, &optional);
    assert_non_null(v);
    assert_int_equal(ig_onnx_value_kind(v), IG_ONNX_NOTHING);
    ig_onnx_value_release(v);
    assert_null(ig_onnx_value_load(path, NULL));
    assert_error(IG_ERR_FORMAT, "element type 0 is unknown");
    unlink(path);
    assert_null(ig_onnx_value_load(path, NULL));
    assert_error(IG_ERR_FILE, "cannot be opened");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_structure),   TEST(test_types),          TEST(test_typed_and_sparse),
        TEST(test_outer_scope), TEST(test_damaged_bytes),  TEST(test_every_byte_damaged),
        TEST(test_depth),       TEST(test_memory),         TEST(test_no_memory),
        TEST(test_external),    TEST(test_external_links), TEST(test_mapped),
        TEST(test_values),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    onnx_writer_free(&w);
    ig_shutdown();
    return failed;
}
