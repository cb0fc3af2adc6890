/* ig_verify, and ingot verify on a device with planted faults: correct results pass, and each fault is found and
 * attributed to its op. */
#include "engine/backend/backend.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/verify/example.h"
#include "cli/verify/graph.h"
#include "cli/verify/graphs.h"
#include "cli/verify/verify.h"
#include "support/capture.h"
#include "support/faulty.h"
#include "support/folder.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static ig_array *normal(int seed, ig_ints shape, ig_dtype dtype)
{
    ig_array *x = ig_normal(ig_key((uint64_t)seed, NULL), shape, dtype, NULL, NULL);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return ig_from_data(ig_data(x), shape, dtype); /* a constant */
}

static ig_verify_report verify(ig_array *x)
{
    ig_verify_report r = {0};
    if (ig_verify(&x, 1, &r) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    return r;
}

static void expect_right(const char *what, ig_array *x)
{
    const ig_verify_report r = verify(x);
    if (r.failed || r.node != -1 || r.text[0])
        fail_msg("%s %s: %s", what, ig_dtype_name(ig_dtype_of(x)), r.text);
    assert_true(r.worst_bound <= 1);
    assert_int_equal(r.op[0], 0);
}

/* ---- correct results ---- */

/* All kinds of nodes. */
static void right_graphs_pass(void **state)
{
    (void)state;
    static const ig_dtype dtypes[] = {IG_F16, IG_BF16, IG_F32, IG_F64};
    for (int i = 0; i < 4; i++) {
        const ig_dtype d = dtypes[i];
        ig_array *x = normal(1, IG_SHAPE(40, 33), d), *w = normal(2, IG_SHAPE(33, 7), d), *g;
        ig_array *index = ig_from_data((const int64_t[]){3, 1, 3}, IG_SHAPE(3), IG_I64);
        ig_array *rows = ig_broadcast_to(ig_reshape(index, IG_SHAPE(3, 1)), IG_SHAPE(3, 33));
        expect_right("softmax", ig_softmax(ig_matmul(x, w), IG_AXES(-1)));
        expect_right("gelu", ig_gelu(ig_flip(x, IG_NONE), NULL));
        expect_right("sum", ig_sum(x, IG_AXES(0), IG_DTYPE_NONE, false));
        expect_right("prod", ig_prod(x, IG_AXES(1), IG_DTYPE_NONE, false));
        expect_right("max", ig_max(x, IG_NONE, false));
        expect_right("argmax", ig_argmax(x, IG_NONE, false));
        expect_right("running", ig_cumulative_sum(x, IG_AXES(1), IG_DTYPE_NONE, true));
        expect_right("sort", ig_sort(x, 0, true, true));
        expect_right("argsort", ig_argsort(x, 0, true, true));
        expect_right("take", ig_take(ig_exp(x), index, IG_AXES(0)));
        expect_right("add at", ig_scatter_add(ig_exp(x), rows, ig_take(x, index, IG_AXES(0)), 0));
        expect_right("joined", ig_concat((ig_array *[]){ig_sin(x), x}, 2, IG_AXES(1)));
        expect_right("nextafter", ig_nextafter(x, ig_exp(x)));
        expect_right("compared", ig_less(x, ig_sin(x)));
        expect_right("random", ig_normal(ig_key(5, NULL), IG_SHAPE(50), d, NULL, NULL));
        expect_right("converted", ig_astype(ig_multiply(x, ig_float(1000)), IG_I32));
        expect_right("far out", ig_exp(ig_multiply(x, ig_float(1e4))));
        assert_int_equal(ig_grad(ig_mean(ig_square(ig_matmul(x, w)), IG_NONE, false), &w, 1, &g),
                         IG_OK);
        expect_right("gradient", g);
    }
}

static void integers_pass(void **state)
{
    (void)state;
    ig_array *n = ig_arange(-50, 50, 1, IG_I64);
    expect_right("i64", ig_pow(n, ig_int(5)));
    expect_right("i64 as f32", ig_astype(ig_multiply(n, ig_int(123456789012345)), IG_F32));
    expect_right("u8", ig_matmul(ig_astype(n, IG_U8), ig_astype(n, IG_U8)));
}

static void infinities_pass(void **state)
{
    (void)state;
    const float v[] = {INFINITY, -INFINITY, NAN, 0, 3e38f, 3e38f, -1};
    ig_array *x = ig_from_data(v, IG_SHAPE(7), IG_F32);
    expect_right("sum", ig_cumulative_sum(x, IG_NONE, IG_DTYPE_NONE, false));
    expect_right("prod", ig_cumulative_prod(x, IG_NONE, IG_DTYPE_NONE, false));
    expect_right("outer", ig_outer(x, x));
    expect_right("log", ig_log(x));
}

/* Products below the normal range have few digits, and bf16 instructions flush them. */
static void subnormal_products_pass(void **state)
{
    (void)state;
    static const ig_dtype dtypes[] = {IG_F32, IG_BF16, IG_F16};
    for (int i = 0; i < 3; i++) {
        ig_array *zero = ig_zeros(IG_SHAPE(40), dtypes[i]), *one = ig_ones(IG_SHAPE(40), dtypes[i]);
        ig_array *tiny = ig_nextafter(zero, one);
        expect_right("tiny", ig_matmul(tiny, ig_multiply(one, ig_float(0.6))));
        expect_right("tiny", ig_vecdot(ig_multiply(tiny, ig_float(3)), one, -1));
    }
}

static void arrays_stay_as_they_are(void **state)
{
    (void)state;
    const char *device = ig_device();
    ig_array *x = normal(3, IG_SHAPE(100), IG_F32), *y = ig_exp(x);
    float before[100], after[100];
    assert_int_equal(ig_read(x, before, sizeof before), IG_OK);
    const ig_verify_report r = verify(ig_sum(y, IG_NONE, IG_DTYPE_NONE, false));
    assert_int_equal(r.nodes, 2);
    assert_int_equal(r.elements, 100 + 1 + 1); /* the sum twice: alone and fused */
    assert_false(ig_is_evaluated(y));
    assert_int_equal(ig_read(x, after, sizeof after), IG_OK);
    assert_memory_equal(before, after, sizeof before);
    assert_string_equal(ig_device(), device);
}

/* Evaluated arrays are recomputed, as long as they have their history. */
static void history_is_checked(void **state)
{
    (void)state;
    ig_array *x = normal(3, IG_SHAPE(100), IG_F32), *y = ig_exp(x);
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    assert_int_equal(verify(y).nodes, 1);
    assert_int_equal(verify(x).nodes, 0);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    ig_verify_report r = {0};
    ig_array *none = NULL, *x = ig_exp(ig_float(1));
    assert_int_equal(ig_verify(&none, 1, &r), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "array 0 of 1 is NULL");
    assert_int_equal(ig_verify(&x, 1, NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "report is NULL");
    assert_int_equal(ig_set_device("null"), IG_OK);
    assert_int_equal(ig_verify(&x, 1, &r), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "computes nothing");
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    ig_array *x = normal(3, IG_SHAPE(6, 5), IG_F16);
    bool done = false;
    for (int n = 1; !done; n++) {
        ig_verify_report r = {0};
        ig_scope_begin();
        ig_array *y = ig_softmax(x, IG_AXES(-1));
        memory_fail_at(n);
        done = ig_verify(&y, 1, &r) == IG_OK;
        memory_fail_at(0);
        if (!done)
            assert_error(IG_ERR_MEMORY, "memory");
        assert_string_equal(ig_device(), "cpu");
        ig_scope_end();
        assert_true(n < 100000);
    }
}

/* ---- wrong results ---- */

static int on_faulty(void **state)
{
    faulty_plant((fault){0});
    return begin(state) || ig_set_device("faulty") != IG_OK;
}

static int off_faulty(void **state)
{
    faulty_plant((fault){0});
    return ig_set_device("cpu") != IG_OK || end(state);
}

/* exp(x * w + w) / sum, on the device with this fault. */
static ig_verify_report with_fault(fault f)
{
    ig_array *x = normal(1, IG_SHAPE(20, 31), IG_F32), *w = normal(2, IG_SHAPE(31), IG_F32);
    ig_array *y = ig_exp(ig_add(ig_multiply(x, w), w));
    faulty_plant(f);
    return verify(ig_divide(y, ig_sum(y, IG_AXES(1), IG_DTYPE_NONE, true)));
}

static void expect_blame(const char *op, ig_verify_report r)
{
    if (!r.failed)
        fail_msg("the fault in %s was not found", op);
    assert_string_equal(r.op, op);
    assert_non_null(strstr(r.text, op));
    assert_true(r.node >= 0 && r.error > 1);
    assert_true(r.got != r.expected);
}

static void a_device_without_fault_passes(void **state)
{
    (void)state;
    assert_int_equal(with_fault((fault){0}).failed, 0);
}

static void steps_beyond_the_bound_are_found(void **state)
{
    (void)state;
    expect_blame("add", with_fault((fault){.op = "add", .steps = 1}));
    expect_blame("multiply", with_fault((fault){.op = "multiply", .steps = 1}));
    expect_blame("exp", with_fault((fault){.op = "exp", .steps = 5}));
    expect_blame("sum", with_fault((fault){.op = "sum", .steps = 60}));
}

static void steps_within_the_bound_pass(void **state)
{
    (void)state;
    faulty_plant((fault){.op = "exp", .steps = 2});
    const ig_verify_report r = verify(ig_exp(normal(1, IG_SHAPE(300), IG_F32)));
    assert_int_equal(r.failed, 0);
    assert_true(r.worst_ulp > 2 && r.worst_ulp < 4);
}

static void one_wrong_element_is_found(void **state)
{
    (void)state;
    static const char *const ops[] = {"multiply", "add", "exp", "sum", "divide"};
    for (int i = 0; i < 5; i++)
        expect_blame(ops[i], with_fault((fault){.op = ops[i], .kind = FAULT_ELEMENT}));
    faulty_plant((fault){.op = "contract", .kind = FAULT_ELEMENT});
    ig_array *x = normal(1, IG_SHAPE(20, 31), IG_F16);
    expect_blame("contract", verify(ig_relu(ig_matmul(x, ig_matrix_transpose(x)))));
}

/* A kernel that sums: an infinite result is right only if sums of its inputs overflow in some order. */
static void kernels_may_overflow_in_another_order(void **state)
{
    static const char source[] =
        "__global__ void total(const float *x, int n, float *y)"
        "{ float s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s; }";
    static const float large[] = {3e38f, -3e38f, 1}, small[] = {3, -3, 1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ig_array *x = ig_from_data(i ? small : large, IG_SHAPE(3), IG_F32), *y = NULL;
        const ig_arg args[] = {{.name = "x", .kind = IG_ARG_ARRAY, .u.array = x},
                               {.name = "n", .kind = IG_ARG_INT, .u.i = 3},
                               {.name = "y", .kind = IG_ARG_INTS, .u.ints = IG_SHAPE(1)}};
        const ig_kernel_call call = {.name = "total.cu",
                                     .source = source,
                                     .kernel = "total",
                                     .grid = {1, 1, 1},
                                     .block = {1, 1, 1},
                                     .args = args,
                                     .n_args = 3};
        faulty_plant((fault){.op = "kernel", .kind = FAULT_ELEMENT}); /* turns 1 into infinity */
        if (ig_kernel(&call, &y, 1) != 1)
            fail_msg("%s", ig_error(NULL));
        const ig_verify_report r = verify(y);
        assert_int_equal(r.failed, i);
        assert_true(i == 0 || isinf(r.got));
    }
}

static void a_stale_buffer_is_found(void **state)
{
    (void)state;
    static const char *const ops[] = {"multiply", "exp", "sum", "divide"};
    for (int i = 0; i < 4; i++) {
        with_fault((fault){0}); /* leaves the right results in memory */
        expect_blame(ops[i], with_fault((fault){.op = ops[i], .kind = FAULT_STALE}));
    }
}

static void a_fault_of_fusing_is_found(void **state)
{
    (void)state;
    ig_array *x = normal(1, IG_SHAPE(300), IG_F32);
    faulty_plant((fault){.op = "add", .kind = FAULT_ELEMENT, .fused = true});
    const ig_verify_report r = verify(ig_add(ig_multiply(x, x), x));
    expect_blame("add", r);
    assert_true(r.fused);
}

static void a_name_is_taken_once(void **state)
{
    (void)state;
    assert_int_equal(backend_register(&backend_cpu), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "'cpu' is there already");
}

/* ---- the verb ---- */

/* Runs the verb with the fault planted: it must fail, name the op and the device, and print a command that finds the
 * same case. */
static void expect_verb_finds(const char *line, const char *what, fault f)
{
    char *said, again[400];
    faulty_plant(f);
    const int code = capture_verb(verb_verify, line, &said);
    char *told = strstr(said, strstr(line, "--same") ? "\n  ingot verify --same cpu,faulty"
                                                     : "\n  ingot verify --device faulty");
    if (code != EXIT_FAILED || !strstr(said, what) || !told)
        fail_msg("%s: exit code %d: %s", line, code, said);
    told += strlen("\n  ingot ");
    snprintf(again, sizeof again, "%.*s", (int)strcspn(told, "\n"), told);
    free(said);
    assert_int_equal(capture_verb(verb_verify, again, &said), EXIT_FAILED);
    if (!strstr(said, "\n0 passed, 1 failed\n"))
        fail_msg("%s: %s", again, said);
    free(said);
}

static void the_verb_finds_faults(void **state)
{
    (void)state;
    expect_verb_finds("verify --quick --device faulty --op exp --dtype f32",
                      "FAILED exp f32 on faulty", (fault){.op = "exp", .steps = 5});
    expect_verb_finds("verify --quick --device faulty --op add --dtype f64 --seed 3",
                      "FAILED add f64 on faulty", (fault){.op = "add", .steps = 1});
    expect_verb_finds("verify --device faulty --op matmul --dtype bf16",
                      "FAILED matmul bf16 on faulty",
                      (fault){.op = "contract", .kind = FAULT_ELEMENT});
    expect_verb_finds("verify --device faulty --op maximum --dtype i8",
                      "FAILED maximum i8 on faulty", (fault){.op = "maximum", .kind = FAULT_STALE});
    /* compositions, and moves of elements */
    expect_verb_finds("verify --quick --device faulty --op softmax --dtype f32",
                      "FAILED softmax f32 on faulty", (fault){.op = "exp", .steps = 5});
    expect_verb_finds("verify --quick --device faulty --op tril --dtype u8",
                      "FAILED tril u8 on faulty", (fault){.op = "where", .kind = FAULT_ELEMENT});
    expect_verb_finds("verify --device faulty --op where --dtype f64", "FAILED where f64 on faulty",
                      (fault){.op = "where", .kind = FAULT_STALE});
}

/* An example whose call the op refuses is not a test that passed. */
static void a_refused_example_fails(void **state)
{
    (void)state;
    const verify_scope scope = {0};
    op_report report = {.op = ig_op_find("matmul")};
    run r = {.scope = &scope, .report = &report, .dtype = IG_F32};
    problem p = {0};
    problem_begin(&p, "matmul", NULL, IG_F32, MODE_PLAIN, 0);
    p.example = example_at("matmul", 0);
    p.by_nodes = true;
    for (int i = 0; i < 2; i++)
        problem_part(&p, IG_F32, IG_SHAPE(3, 4), (domain){-1, 1, false});
    run_problem(&r, &p);
    assert_true(report.by_dtype[IG_F32].cases > 0);
    assert_int_equal(report.by_dtype[IG_F32].failed, report.by_dtype[IG_F32].cases);
    assert_non_null(strstr(report.first.text, "matmul"));
    problem_end(&p);
    verify_free(&report);
}

/* Errors within the bound of an op are also differences. */
static void the_verb_compares_bits(void **state)
{
    (void)state;
    char *said;
    expect_verb_finds("verify --quick --same cpu,faulty --op exp --dtype f32",
                      "FAILED exp f32 on faulty", (fault){.op = "exp", .steps = 1});
    expect_verb_finds("verify --quick --same cpu,faulty --op matmul --dtype f32",
                      "FAILED matmul f32 on faulty",
                      (fault){.op = "contract", .kind = FAULT_ELEMENT});
    expect_verb_finds("verify --quick --same cpu,faulty --op tan --dtype f32",
                      "gradient 0, element", (fault){.op = "multiply", .steps = 1});
    expect_verb_finds("verify --same cpu,faulty --op logical_or --dtype bool",
                      "FAILED logical_or bool on faulty",
                      (fault){.op = "logical_or", .kind = FAULT_ELEMENT});
    faulty_plant((fault){0});
    assert_int_equal(capture_verb(verb_verify, "verify --same cpu,faulty --op exp", &said),
                     EXIT_FINE);
    assert_non_null(strstr(said, "faulty: "));
    assert_non_null(strstr(said, "the bits of cpu, math same"));
    free(said);
}

/* A device may flush subnormal numbers if it declares so, and verify counts them. */
static void flushed_numbers_are_told(void **state)
{
    (void)state;
    static const char *const lines[] = {"verify --device faulty --op multiply --dtype f32",
                                        "verify --same cpu,faulty --op multiply --dtype f32"};
    for (int i = 0; i < 2; i++) {
        char *said;
        expect_verb_finds(lines[i], "FAILED multiply f32 on faulty",
                          (fault){.op = "multiply", .kind = FAULT_FLUSH});
        faulty_plant((fault){.op = "multiply", .kind = FAULT_FLUSH, .told = true});
        assert_int_equal(capture_verb(verb_verify, lines[i], &said), EXIT_FINE);
        assert_non_null(strstr(said, "subnormal f32 numbers may become 0"));
        assert_non_null(strstr(said, " elements are 0 because the device flushes"));
        free(said);
    }
}

/* Subnormal products are 0: right only if the device may flush. */
static void flushed_nodes_pass(void **state)
{
    (void)state;
    ig_set_device("faulty");
    ig_array *x = ig_from_data((const float[]){1e-30F, 3, -1e-25F}, IG_SHAPE(3), IG_F32);
    ig_array *y = ig_multiply(x, ig_float(1e-12));
    ig_verify_report r = {.size = sizeof r};
    faulty_plant((fault){.op = "multiply", .kind = FAULT_FLUSH});
    assert_int_equal(ig_verify(&y, 1, &r), IG_OK);
    assert_int_equal(r.failed, 1);
    assert_string_equal(r.op, "multiply");
    faulty_plant((fault){.op = "multiply", .kind = FAULT_FLUSH, .told = true});
    assert_int_equal(ig_verify(&y, 1, &r), IG_OK);
    assert_int_equal(r.failed, 0);
    faulty_plant((fault){.op = "multiply", .kind = FAULT_ELEMENT, .told = true});
    assert_int_equal(ig_verify(&y, 1, &r), IG_OK);
    assert_true(r.failed > 0);
}

static void the_calculator_finds_faults(void **state)
{
    (void)state;
    char *said;
    faulty_plant((fault){.op = "exp", .kind = FAULT_ELEMENT});
    const int code =
        capture_verb(verb_eval, "eval --device faulty --verify sum(exp(arange(9.0)))", &said);
    if (code != EXIT_FAILED || strncmp(said, "FAILED operation ", 17) != 0 ||
        !strstr(said, ", exp: f32(9,) of f32(9,): element (4,) is "))
        fail_msg("exit code %d: %s", code, said);
    free(said);
}

/* Graphs with a fault that only fusing exposes: one is found and reduced, and its command fails in the same way. */
static void graphs_find_a_fault_of_fusing(void **state)
{
    (void)state;
    char *said, again[4000];
    int ops = 99;
    faulty_plant((fault){.op = "multiply", .kind = FAULT_ELEMENT, .fused = true});
    /* In the first graph of seed 0, an op that evaluates refuses the wrong elements. */
    const int code =
        capture_verb(verb_verify, "verify --device faulty --graphs 300 --seed 1", &said);
    char *told = strstr(said, "\n  ingot eval --verify --device faulty '");
    const char *enough = strstr(said, "; ");
    if (code != EXIT_FAILED || !strstr(said, "FAILED graph ") || !told || !enough ||
        !strstr(said, "when it is fused with others, expected") ||
        sscanf(enough, "; %d of", &ops) != 1 || ops > 3)
        fail_msg("exit code %d, %d ops: %s", code, ops, said);
    told += strlen("\n  ingot ");
    int n = 0;
    for (; *told && *told != '\n'; told++)
        if (*told != '\'')
            again[n++] = *told;
    again[n] = 0;
    free(said);
    assert_int_equal(capture_verb(verb_eval, again, &said), EXIT_FAILED);
    /* The fault may show in the program that the op is fused with. */
    if (!strstr(said, "is fused with others"))
        fail_msg("%s: %s", again, said);
    free(said);
    faulty_plant((fault){0});
    assert_int_equal(capture_verb(verb_eval, again, &said), EXIT_FINE);
    free(said);
}

/* The first node of graph `number` that is wrong on its own; NULL: none is. */
static const char *wrong_op(graph *g, graph_arrays *a, int64_t number, ig_verify_report *r)
{
    ig_array *out[GRAPH_OUTPUTS];
    graph_make(g, 0, number);
    ig_set_device("faulty");
    ig_scope_begin();
    const int n = graph_outputs(g, a, out);
    *r = (ig_verify_report){.size = sizeof *r};
    const bool done = ig_verify(out, n, r) == IG_OK; /* a wrong index is an error */
    ig_error(NULL);
    ig_scope_end();
    return done && r->failed && !r->fused ? r->op : NULL;
}

/* Of graphs with two wrong ops, the one that was found first stays when the graph is reduced. */
static void a_graph_keeps_its_failure(void **state)
{
    (void)state;
    enum { FAILED = 100 };
    graph *g = heap_get(sizeof *g);
    graph_arrays *a = heap_get(sizeof *a);
    ig_verify_report seen;
    int failed = 0;
    faulty_plant((fault){.op = "multiply", .also = "add", .kind = FAULT_ELEMENT});
    for (int64_t i = 0; i < 1000 && failed < FAILED; i++) {
        const char *op = wrong_op(g, a, i, &seen);
        const graphs_scope scope = {.device = "faulty"};
        unit_report r = {0};
        char expected[80];
        if (!op)
            continue;
        failed++;
        graphs_check(&scope, i, &r);
        assert_non_null(r.first.text);
        snprintf(expected, sizeof expected, ", %s: ", op);
        if (!strstr(r.first.text, expected))
            fail_msg("graph %d fails in %s, but is reduced to: %s", (int)i, op, r.first.text);
        free(r.first.text);
    }
    assert_int_equal(failed, FAILED);
    free(a);
    free(g);
}

/* Errors within the bound, the same whether fused or not, are found by comparing with another device. */
static void graphs_compare_devices(void **state)
{
    (void)state;
    char *said;
    faulty_plant((fault){.op = "prod", .steps = 1});
    assert_int_equal(capture_verb(verb_verify, "verify --same cpu,faulty --graphs 300", &said),
                     EXIT_FAILED);
    if (!strstr(said, "\n  for d in cpu faulty; do ingot eval ") || !strstr(said, "prod("))
        fail_msg("%s", said);
    free(said);
}

static void graphs_pass(void **state)
{
    (void)state;
    char *said;
    assert_int_equal(
        capture_verb(verb_verify, "verify --same cpu,faulty --graphs 60 --seed 5", &said),
        EXIT_FINE);
    assert_non_null(strstr(said, "\n60 passed, 0 failed\n"));
    free(said);
}

static void the_verb_passes_what_is_right(void **state)
{
    (void)state;
    char *said;
    assert_int_equal(
        capture_verb(verb_verify, "verify --quick --device faulty,cpu --op exp --dtype f32", &said),
        EXIT_FINE);
    assert_non_null(strstr(said, " passed, 0 failed\n"));
    free(said);
}

static void every_reference_has_an_op(void **state)
{
    (void)state;
    const char *stray = verify_stray();
    if (stray)
        fail_msg("%s has a reference, but is not in the op table", stray);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define FAULTY(name) cmocka_unit_test_setup_teardown(name, on_faulty, off_faulty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(right_graphs_pass),
        TEST(integers_pass),
        TEST(infinities_pass),
        TEST(subnormal_products_pass),
        TEST(arrays_stay_as_they_are),
        TEST(history_is_checked),
        TEST(mistakes_are_told),
        TEST(any_allocation_may_fail),
        TEST(a_refused_example_fails),
        FAULTY(a_device_without_fault_passes),
        FAULTY(steps_beyond_the_bound_are_found),
        FAULTY(steps_within_the_bound_pass),
        FAULTY(one_wrong_element_is_found),
        FAULTY(kernels_may_overflow_in_another_order),
        FAULTY(a_stale_buffer_is_found),
        FAULTY(a_fault_of_fusing_is_found),
        TEST(a_name_is_taken_once),
        FAULTY(the_verb_finds_faults),
        FAULTY(the_verb_compares_bits),
        FAULTY(flushed_numbers_are_told),
        FAULTY(flushed_nodes_pass),
        FAULTY(the_calculator_finds_faults),
        FAULTY(graphs_find_a_fault_of_fusing),
        FAULTY(a_graph_keeps_its_failure),
        FAULTY(graphs_compare_devices),
        FAULTY(graphs_pass),
        FAULTY(the_verb_passes_what_is_right),
        TEST(every_reference_has_an_op),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
