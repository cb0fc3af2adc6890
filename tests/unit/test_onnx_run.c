/* The executor of ONNX models: results of plans and of plain runs, gradients through an applied model, replaced weights,
 * loops whose length depends on data, functions with attributes, and errors that name the node. */
#include "support/folder.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lib/onnx/run.h"
#include "lib/onnx/write.h"

enum { GRAPH_NODE = 1, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

static onnx_writer w;

/* ---- models, piece by piece ------------------------------------------------------------------ */

static size_t model_begin(int64_t version)
{
    w.used = 0;
    onnx_write_int(&w, 1, 8);
    const size_t at = onnx_write_begin(&w, 8);
    onnx_write_int(&w, 2, version);
    onnx_write_end(&w, at);
    return onnx_write_begin(&w, 7);
}

/* A tensor with axes of any length. */
static void put_info(int field, const char *name, int type, int ndim)
{
    const size_t at = onnx_write_begin(&w, field);
    onnx_write_text(&w, 1, name);
    const size_t kind = onnx_write_begin(&w, 2), tensor = onnx_write_begin(&w, 1);
    onnx_write_int(&w, 1, type);
    const size_t shape = onnx_write_begin(&w, 2);
    for (int i = 0; i < ndim; i++) {
        const size_t dim = onnx_write_begin(&w, 1);
        onnx_write_text(&w, 2, "n");
        onnx_write_end(&w, dim);
    }
    onnx_write_end(&w, shape);
    onnx_write_end(&w, tensor);
    onnx_write_end(&w, kind);
    onnx_write_end(&w, at);
}

/* Names in one text, separated by blanks; "-" is one that is not given. */
static void put_names(int field, const char *names)
{
    char copy[200];
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = strtok(copy, " "); name; name = strtok(NULL, " "))
        onnx_write_text(&w, field, strcmp(name, "-") == 0 ? "" : name);
}

static size_t node_begin(const char *op, const char *in, const char *out)
{
    char name[64];
    const size_t at = onnx_write_begin(&w, GRAPH_NODE);
    snprintf(name, sizeof name, "my %s", op);
    put_names(1, in);
    put_names(2, out);
    onnx_write_text(&w, 3, name);
    onnx_write_text(&w, 4, op);
    return at;
}

static void put_node(const char *op, const char *in, const char *out)
{
    onnx_write_end(&w, node_begin(op, in, out));
}

static void put_floats(const char *name, ig_ints shape, const float *data)
{
    int64_t n = 1;
    const size_t at = onnx_write_begin(&w, GRAPH_TENSOR);
    for (int i = 0; i < shape.n; i++) {
        onnx_write_int(&w, 1, shape.v[i]);
        n *= shape.v[i];
    }
    onnx_write_int(&w, 2, IG_ONNX_FLOAT);
    onnx_write_text(&w, 8, name);
    onnx_write_bytes(&w, 9, data, (size_t)n * sizeof *data);
    onnx_write_end(&w, at);
}

static ig_onnx *load(void)
{
    ig_onnx *m = ig_onnx_from_memory(w.at, w.used, NULL);
    if (!m)
        fail_msg("%s", ig_error(NULL));
    return m;
}

static const float weight[6] = {1, -2, 3, 0.5f, -0.25f, 2}, bias[3] = {0.1f, -0.2f, 0.3f};
static const float given[8] = {1, 2, -3, 4, 0.5f, -0.5f, 7, 8};

/* y = relu(x w + b) */
static ig_onnx *layer(void)
{
    const size_t graph = model_begin(17);
    put_info(GRAPH_INPUT, "x", IG_ONNX_FLOAT, 2);
    put_node("MatMul", "x w", "p");
    put_node("Add", "p b", "s");
    put_node("Relu", "s", "y");
    put_floats("w", IG_SHAPE(2, 3), weight);
    put_floats("b", IG_SHAPE(3), bias);
    put_info(GRAPH_OUTPUT, "y", IG_ONNX_FLOAT, 2);
    onnx_write_end(&w, graph);
    return load();
}

static ig_array *layer_by_hand(ig_array *x, ig_array *weights)
{
    return ig_relu(ig_add(ig_matmul(x, weights), ig_from_data(bias, IG_SHAPE(3), IG_F32)));
}

static ig_array *floats(int64_t rows) { return ig_from_data(given, IG_SHAPE(rows, 2), IG_F32); }

static ig_onnx_value *run_one(ig_onnx *m, ig_array *x)
{
    ig_onnx_value *in = ig_onnx_value_array(x), *out = NULL;
    if (ig_onnx_run(m, &in, &out) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    ig_onnx_value_release(in);
    return out;
}

static void assert_same(const ig_onnx_value *v, ig_array *want)
{
    assert_non_null(want);
    assert_array(ig_onnx_value_get(v), ig_dtype_of(want), ig_shape(want), ig_data(want));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_plans(void **state)
{
    (void)state;
    ig_onnx *m = layer();
    ig_array *weights = ig_from_data(weight, IG_SHAPE(2, 3), IG_F32);
    for (int i = 0; i < 24; i++) { /* more shapes than plans; each of them twice in a row */
        const int64_t rows = 1 + i / 2 % 4;
        ig_onnx_value *y = run_one(m, floats(rows));
        assert_same(y, layer_by_hand(floats(rows), weights));
        assert_int_equal(ig_onnx_value_type(y), IG_ONNX_FLOAT);
        ig_onnx_value_release(y);
    }
    ig_onnx_free(m);
}

/* The second run with inputs of the same shape builds no graph. */
static void test_no_graph_again(void **state)
{
    (void)state;
    enum { NODES = 200 };
    const size_t graph = model_begin(17);
    char in[16], out[16];
    put_info(GRAPH_INPUT, "v0", IG_ONNX_FLOAT, 2);
    for (int i = 0; i < NODES; i++) {
        snprintf(in, sizeof in, "v%d", i);
        snprintf(out, sizeof out, "v%d", i + 1);
        put_node(i % 2 ? "Neg" : "Sigmoid", in, out);
    }
    put_info(GRAPH_OUTPUT, out, IG_ONNX_FLOAT, 2);
    onnx_write_end(&w, graph);
    ig_onnx *m = load();
    ig_array *x = floats(3);
    ig_onnx_value *first = run_one(m, x);
    const int64_t before = memory_count();
    ig_onnx_value *second = run_one(m, x);
    assert_true(memory_count() - before < NODES / 4);
    assert_same(second, ig_onnx_value_get(first));
    ig_onnx_value_release(first);
    ig_onnx_value_release(second);
    ig_onnx_free(m);
}

static void test_gradient(void **state)
{
    (void)state;
    ig_onnx *m = layer();
    ig_array *x = floats(4), *weights = ig_from_data(weight, IG_SHAPE(2, 3), IG_F32);
    ig_array *grads[2], *want[2];
    assert_int_equal(ig_onnx_set_weight(m, 0, weights), IG_OK);
    ig_onnx_value *in = ig_onnx_value_array(x), *out = NULL;
    assert_int_equal(ig_onnx_apply(m, &in, &out), IG_OK);
    ig_array *params[] = {x, ig_onnx_weight(m, 0)};
    assert_int_equal(ig_grad(ig_sum_all(ig_onnx_value_get(out)), params, 2, grads), IG_OK);
    ig_array *hand[] = {x, weights};
    assert_int_equal(ig_grad(ig_sum_all(layer_by_hand(x, weights)), hand, 2, want), IG_OK);
    for (int i = 0; i < 2; i++)
        assert_array(grads[i], IG_F32, ig_shape(want[i]), ig_data(want[i]));
    ig_onnx_value_release(in);
    ig_onnx_value_release(out);
    ig_onnx_free(m);
}

/* A replaced weight holds for runs by plans that were made before. */
static void test_weights(void **state)
{
    (void)state;
    ig_onnx *m = layer();
    ig_onnx_value_release(run_one(m, floats(2)));
    ig_array *other = ig_from_data((const float[]){0, 1, 2, 3, 4, 5}, IG_SHAPE(2, 3), IG_F32);
    assert_int_equal(ig_onnx_set_weight(m, 0, other), IG_OK);
    ig_onnx_value *y = run_one(m, floats(2));
    assert_same(y, layer_by_hand(floats(2), other));
    ig_onnx_value_release(y);
    assert_int_equal(ig_onnx_set_weight(m, 0, floats(2)), IG_ERR_SHAPE);
    assert_error(IG_ERR_SHAPE, "'w' has another shape");
    ig_onnx_free(m);
}

static void test_errors(void **state)
{
    (void)state;
    ig_onnx *m = layer();
    ig_onnx_value *in = ig_onnx_value_array(ig_from_data(given, IG_SHAPE(2, 4), IG_F32));
    ig_onnx_value *out = in;
    assert_int_equal(ig_onnx_run(m, &in, &out), IG_ERR_SHAPE);
    assert_null(out);
    assert_error(IG_ERR_SHAPE, "node 0 'my MatMul' (MatMul)");
    ig_onnx_value_release(in);
    in = ig_onnx_value_array(ig_from_data(given, IG_SHAPE(8), IG_F32));
    assert_int_equal(ig_onnx_run(m, &in, &out), IG_ERR_SHAPE);
    assert_error(IG_ERR_SHAPE, "input 'x' has another shape");
    ig_onnx_value_release(in);
    in = NULL;
    assert_int_equal(ig_onnx_run(m, &in, &out), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "input 0 'x': it is not given");
    ig_onnx_free(m);

    const size_t graph = model_begin(17), node = node_begin("Relu", "x", "y");
    const size_t attribute = onnx_write_begin(&w, 5);
    onnx_write_text(&w, 1, "leak");
    onnx_write_int(&w, 3, 1);
    onnx_write_int(&w, 20, ONNX_INT);
    onnx_write_end(&w, attribute);
    onnx_write_end(&w, node);
    put_info(GRAPH_INPUT, "x", IG_ONNX_FLOAT, 2);
    put_info(GRAPH_OUTPUT, "y", IG_ONNX_FLOAT, 2);
    onnx_write_end(&w, graph);
    m = load();
    in = ig_onnx_value_array(floats(2));
    assert_int_equal(ig_onnx_run(m, &in, &out), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "node 0 'my Relu' (Relu): the attribute 'leak'");
    ig_onnx_value_release(in);
    ig_onnx_free(m);
}

/* Doubles x until its sum exceeds a limit, or n times; returns x and the sum of each iteration. */
static ig_onnx *doubling(void)
{
    const size_t graph = model_begin(13);
    put_info(GRAPH_INPUT, "n", IG_ONNX_INT64, 0);
    put_info(GRAPH_INPUT, "x", IG_ONNX_FLOAT, 2);
    put_info(GRAPH_INPUT, "limit", IG_ONNX_FLOAT, 0);
    put_info(GRAPH_INPUT, "go", IG_ONNX_BOOL, 0);
    const size_t node = node_begin("Loop", "n go x", "y sums"), attribute = onnx_write_begin(&w, 5);
    onnx_write_text(&w, 1, "body");
    const size_t body = onnx_write_begin(&w, 6);
    put_info(GRAPH_INPUT, "i", IG_ONNX_INT64, 0);
    put_info(GRAPH_INPUT, "go_in", IG_ONNX_BOOL, 0);
    put_info(GRAPH_INPUT, "v", IG_ONNX_FLOAT, 2);
    put_node("Add", "v v", "twice");
    const size_t sum = node_begin("ReduceSum", "twice", "sum"), keep = onnx_write_begin(&w, 5);
    onnx_write_text(&w, 1, "keepdims");
    onnx_write_int(&w, 3, 0);
    onnx_write_int(&w, 20, ONNX_INT);
    onnx_write_end(&w, keep);
    onnx_write_end(&w, sum);
    put_node("Less", "sum limit", "go_out"); /* limit is a value of the enclosing graph */
    put_info(GRAPH_OUTPUT, "go_out", IG_ONNX_BOOL, 0);
    put_info(GRAPH_OUTPUT, "twice", IG_ONNX_FLOAT, 2);
    put_info(GRAPH_OUTPUT, "sum", IG_ONNX_FLOAT, 0);
    onnx_write_end(&w, body);
    onnx_write_int(&w, 20, ONNX_GRAPH);
    onnx_write_end(&w, attribute);
    onnx_write_end(&w, node);
    put_info(GRAPH_OUTPUT, "y", IG_ONNX_FLOAT, 2);
    put_info(GRAPH_OUTPUT, "sums", IG_ONNX_FLOAT, 1);
    onnx_write_end(&w, graph);
    return load();
}

static void doubling_check(ig_onnx *m, int64_t n, float limit, int64_t iterations)
{
    const bool yes = true;
    ig_onnx_value *out[2],
        *in[] = {ig_onnx_value_array(ig_from_data(&n, IG_SCALAR, IG_I64)),
                 ig_onnx_value_array(ig_from_data((const float[]){1, 1}, IG_SHAPE(1, 2), IG_F32)),
                 ig_onnx_value_array(ig_from_data(&limit, IG_SCALAR, IG_F32)),
                 ig_onnx_value_array(ig_from_data(&yes, IG_SCALAR, IG_BOOL))};
    if (ig_onnx_run(m, in, out) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    const ig_ints shape = ig_onnx_value_shape(out[1]);
    assert_int_equal(shape.n, 1);
    assert_int_equal(shape.v[0], iterations);
    float each = 1;
    const float *sums = ig_data(ig_onnx_value_get(out[1]));
    for (int64_t i = 0; i < iterations; i++)
        assert_true(sums[i] == 2 * (each *= 2));
    assert_array(ig_onnx_value_get(out[0]), IG_F32, IG_SHAPE(1, 2), (const float[]){each, each});
    for (int i = 0; i < 4; i++)
        ig_onnx_value_release(in[i]);
    ig_onnx_value_release(out[0]);
    ig_onnx_value_release(out[1]);
}

/* The number of iterations depends on data, so each run builds the graph again. */
static void test_loop(void **state)
{
    (void)state;
    ig_onnx *m = doubling();
    for (int again = 0; again < 2; again++) {
        doubling_check(m, 100, 5, 2);
        doubling_check(m, 100, 1e9f, 29);
        doubling_check(m, 100, 1e12f, 39); /* more than one batch of iterations */
        doubling_check(m, 16, 1e12f, 16);
        doubling_check(m, 3, 1e12f, 3);
        doubling_check(m, 0, 5, 0);
    }
    ig_onnx_free(m);
}

/* A function whose attribute comes from its caller, or from its default. */
static void test_functions(void **state)
{
    (void)state;
    const size_t graph = model_begin(17);
    put_info(GRAPH_INPUT, "x", IG_ONNX_FLOAT, 2);
    size_t node = node_begin("Leak", "x", "y"), attribute = onnx_write_begin(&w, 5);
    onnx_write_text(&w, 1, "slope");
    onnx_write_float(&w, 2, 0.5f);
    onnx_write_int(&w, 20, ONNX_FLOAT);
    onnx_write_end(&w, attribute);
    onnx_write_text(&w, 7, "mine");
    onnx_write_end(&w, node);
    node = node_begin("Leak", "x", "z");
    onnx_write_text(&w, 7, "mine");
    onnx_write_end(&w, node);
    put_node("Add", "y z", "both");
    put_info(GRAPH_OUTPUT, "both", IG_ONNX_FLOAT, 2);
    onnx_write_end(&w, graph);
    const size_t import = onnx_write_begin(&w, 8);
    onnx_write_text(&w, 1, "mine");
    onnx_write_int(&w, 2, 1);
    onnx_write_end(&w, import);
    const size_t function = onnx_write_begin(&w, 25);
    onnx_write_text(&w, 1, "Leak");
    onnx_write_text(&w, 4, "in");
    onnx_write_text(&w, 5, "out");
    node = onnx_write_begin(&w, 7);
    put_names(1, "in");
    put_names(2, "out");
    onnx_write_text(&w, 4, "LeakyRelu");
    attribute = onnx_write_begin(&w, 5);
    onnx_write_text(&w, 1, "alpha");
    onnx_write_text(&w, 21, "slope");
    onnx_write_int(&w, 20, ONNX_FLOAT);
    onnx_write_end(&w, attribute);
    onnx_write_end(&w, node);
    const size_t opset = onnx_write_begin(&w, 9);
    onnx_write_int(&w, 2, 17);
    onnx_write_end(&w, opset);
    onnx_write_text(&w, 10, "mine");
    attribute = onnx_write_begin(&w, 11);
    onnx_write_text(&w, 1, "slope");
    onnx_write_float(&w, 2, 0.25f);
    onnx_write_int(&w, 20, ONNX_FLOAT);
    onnx_write_end(&w, attribute);
    onnx_write_end(&w, function);

    ig_onnx *m = load();
    ig_onnx_value *v = run_one(m, ig_from_data((const float[]){-4, 1}, IG_SHAPE(1, 2), IG_F32));
    assert_array(ig_onnx_value_get(v), IG_F32, IG_SHAPE(1, 2), (const float[]){-3, 2});
    ig_onnx_value_release(v);
    ig_onnx_free(m);
}

/* Each allocation of a run fails once: the run fails or has the right result. */
static void test_no_memory(void **state)
{
    (void)state;
    ig_onnx *m = layer();
    ig_array *x = ig_eval_one(floats(2));
    ig_onnx_value *in = ig_onnx_value_array(x), *out = NULL;
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        plans_drop(m);
        const int64_t before = memory_count();
        memory_fail_at(n);
        const ig_status status = ig_onnx_run(m, &in, &out);
        memory_fail_at(0);
        done = memory_count() - before < n;
        if (status != IG_OK) {
            assert_non_null(ig_error(NULL));
            assert_null(out);
        } else {
            assert_same(out, layer_by_hand(x, ig_onnx_weight(m, 0)));
            ig_onnx_value_release(out);
        }
    }
    ig_onnx_value_release(in);
    ig_onnx_free(m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plans),  TEST(test_no_graph_again), TEST(test_gradient),  TEST(test_weights),
        TEST(test_errors), TEST(test_loop),           TEST(test_functions), TEST(test_no_memory),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    onnx_writer_free(&w);
    ig_shutdown();
    return failed;
}
