/* Schedules against golden text, on the null device: what is fused, what is stored and where. And how tightly
 * temporaries are packed. */
#include "engine/graph/graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ig_array *input(int64_t rows, int64_t columns)
{
    static const float zeros[65536];
    return ig_from_data(zeros, IG_SHAPE(rows, columns), IG_F32);
}

static ig_array *vector(int64_t n) { return ig_reshape(input(1, n), IG_SHAPE(n)); }

/* ---- the graphs ---- */

static ig_array *chain(void)
{
    return ig_maximum(ig_add(ig_multiply(input(8, 16), input(8, 16)), input(8, 16)), ig_float(0));
}

static ig_array *dense_layer(void)
{
    return ig_relu(ig_add(ig_matmul(input(32, 64), input(64, 10)), vector(10)));
}

static ig_array *softmax(void) { return ig_softmax(input(100, 20), IG_AXES(-1)); }

/* The difference from the mean is computed twice, and never stored. */
static ig_array *layer_norm(void)
{
    return ig_layer_norm(input(100, 20), vector(20), vector(20), IG_AXES(-1), 1e-5);
}

static ig_array *outer_reduction(void)
{
    return ig_mean(ig_multiply(input(50, 8), input(50, 8)), IG_AXES(0), false);
}

/* t is computed twice from the same inputs in the source: one node computes both. */
static ig_array *common_subexpression(void)
{
    ig_array *x = input(4, 4);
    return ig_multiply(ig_exp(x), ig_exp(x));
}

static ig_array *transposed_use(void)
{
    ig_array *t = ig_exp(input(6, 6));
    return ig_add(t, ig_matrix_transpose(t));
}

static ig_array *joined(void)
{
    return ig_tanh(ig_concat((ig_array *[]){ig_exp(input(2, 3)), input(4, 3)}, 2, IG_AXES(0)));
}

static ig_array *random_mean(void)
{
    return ig_mean(ig_uniform(ig_key(1, NULL), IG_SHAPE(100, 100), IG_F32, NULL, NULL), IG_NONE,
                   false);
}

static ig_array *half(void)
{
    ig_array *x = ig_astype(input(4, 8), IG_F16);
    return ig_sum(ig_multiply(ig_add(x, x), x), IG_AXES(-1), IG_DTYPE_NONE, false);
}

static ig_array *lookup(void)
{
    ig_array *rows = ig_from_data((const int64_t[]){3, 1, 2}, IG_SHAPE(3), IG_I64);
    return ig_multiply(ig_take(input(5, 7), rows, IG_AXES(0)), ig_float(2));
}

static ig_array *convolution(void)
{
    ig_array *x = ig_reshape(input(4, 64), IG_SHAPE(1, 4, 8, 8));
    ig_array *w = ig_reshape(input(6, 36), IG_SHAPE(6, 4, 3, 3));
    return ig_relu(ig_conv2d(x, w, vector(6), IG_NONE, IG_NONE, IG_NONE, 1));
}

static const struct {
    const char *name;
    ig_array *(*build)(void);
    const char *want;
} cases[] = {
#include "test_graph_golden.inc"
};

static void schedules_are_golden(void **unused)
{
    (void)unused;
    assert_int_equal(ig_set_device("null"), IG_OK);
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ig_scope_begin();
        ig_array *y = cases[i].build();
        char *got = ig_explain(&y, 1);
        assert_non_null(got);
        if (strcmp(got, cases[i].want) != 0) {
            print_error("%s:\n--- wanted\n%s--- got\n%s", cases[i].name, cases[i].want, got);
            wrong++;
        }
        ig_free(got);
        assert_int_equal(ig_eval(&y, 1), IG_OK);
        assert_null(ig_data(y)); /* nothing was computed, and it says so */
        assert_non_null(ig_error(NULL));
        ig_scope_end();
    }
    ig_set_device("cpu");
    assert_int_equal(wrong, 0);
}

/* The same structure is scheduled once: the second evaluation finds the first one's plan. */
static void plans_are_reused(void **unused)
{
    (void)unused;
    ig_scope_begin();
    ig_array *a = chain(), *b = chain();
    char *one = ig_explain(&a, 1), *two = ig_explain(&b, 1);
    assert_string_equal(one, two);
    ig_free(one);
    ig_free(two);
    ig_scope_end();
}

/* ---- the arena ---- */

/* The most bytes of live temporaries at any time, each rounded up to 64. */
static int64_t most_at_once(const schedule *s)
{
    int64_t most = 0;
    for (int p = 0; p < s->n_program; p++) {
        int64_t bytes = 0;
        for (const slot *t = s->slot; t < s->slot + s->n_slot; t++)
            if (t->kind == SLOT_TEMP && t->shares < 0 && t->from <= p && t->until >= p)
                bytes += (t->bytes + 63) / 64 * 64;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Gradients of two convolutions and a pool: a border that is needed late is larger than any gap that smaller arrays,
 * placed in order, would leave for it. */
static void the_arena_has_no_gaps(void **unused)
{
    (void)unused;
    ig_scope_begin();
    ig_array *w[2] = {ig_reshape(input(8, 9), IG_SHAPE(8, 1, 3, 3)),
                      ig_reshape(input(16, 72), IG_SHAPE(16, 8, 3, 3))};
    ig_array *x = ig_reshape(input(4, 64), IG_SHAPE(4, 1, 8, 8)), *grads[2];
    for (int i = 0; i < 2; i++)
        x = ig_relu(ig_conv2d(x, w[i], NULL, IG_NONE, IG_SHAPE(1), IG_NONE, 1));
    x = ig_max_pool2d(x, IG_SHAPE(2), IG_NONE, IG_NONE, IG_NONE, false);
    ig_array *loss = ig_sum(ig_exp(x), IG_NONE, IG_DTYPE_NONE, false);
    assert_int_equal(ig_grad(loss, w, 2, grads), IG_OK);
    graph g = {0};
    assert_int_equal(graph_order(&g, grads, 2), IG_OK);
    assert_int_equal(graph_key(&g), IG_OK);
    schedule *s = schedule_build(&g, &(schedule_rules){0});
    assert_non_null(s);
    assert_true(s->arena_bytes > 0 && s->arena_bytes <= most_at_once(s));
    schedule_free(s);
    graph_free(&g);
    ig_scope_end();
}

/* The number of programs of y's longest chain. A graph marks the nodes that it has ordered, so all calls use one
 * graph. */
static int longest_chain(graph *g, ig_array *y, const schedule_rules *rules)
{
    assert_int_equal(graph_order(g, &y, 1), IG_OK);
    assert_int_equal(graph_key(g), IG_OK);
    schedule *s = schedule_build(g, rules);
    assert_non_null(s);
    int most = 0;
    for (int i = 0; i < s->n_program; i++)
        most = s->program[i].chain > most ? s->program[i].chain : most;
    schedule_free(s);
    return most;
}

/* A product is the first program of the softmax's chain, unless all rows share a matrix that is too large. The
 * matrices of batches are not shared. */
static void products_with_large_matrices_are_not_chained(void **unused)
{
    (void)unused;
    ig_scope_begin();
    graph g = {0};
    const schedule_rules any = {0};
    const schedule_rules small = {.chain_matrix_bytes = 64 * 32 * 4 - 1};
    ig_array *shared = ig_softmax(ig_matmul(input(8, 64), input(64, 32)), IG_AXES(-1));
    ig_array *own = ig_softmax(ig_matmul(ig_reshape(input(32, 64), IG_SHAPE(4, 8, 64)),
                                         ig_reshape(input(256, 32), IG_SHAPE(4, 64, 32))),
                               IG_AXES(-1));
    const int whole = longest_chain(&g, shared, &any);
    assert_int_equal(longest_chain(&g, shared, &small), whole - 1);
    assert_int_equal(longest_chain(&g, own, &small), longest_chain(&g, own, &any));
    graph_free(&g);
    ig_scope_end();
}

/* Attention of `keys` keys for 4 x 8 rows; if `scaled`, of scaled queries. */
static ig_array *attention_of(int64_t keys, bool scaled)
{
    ig_array *q = ig_reshape(input(32, 16), IG_SHAPE(4, 8, 16));
    ig_array *k = ig_reshape(input(4 * keys, 16), IG_SHAPE(4, keys, 16));
    if (scaled)
        q = ig_multiply(q, ig_float(0.25));
    return ig_matmul(ig_softmax(ig_matmul(q, ig_matrix_transpose(k)), IG_AXES(-1)), k);
}

/* A map that computes the rows of attention's first product joins its chain. It does not for a device, for long rows,
 * or without the second product. */
static void maps_join_the_chain_of_attention(void **unused)
{
    (void)unused;
    ig_scope_begin();
    graph g = {0};
    const schedule_rules any = {0}, device = {.chain_bytes = 1 << 20};
    const int plain = longest_chain(&g, attention_of(32, false), &any);
    assert_true(plain > 2);
    assert_int_equal(longest_chain(&g, attention_of(32, true), &any), plain + 1);
    assert_int_equal(longest_chain(&g, attention_of(32, true), &device),
                     longest_chain(&g, attention_of(32, false), &device));
    assert_int_equal(longest_chain(&g, attention_of(1024, true), &any), plain);
    ig_array *x = input(8, 64), *w = input(64, 32);
    assert_int_equal(
        longest_chain(&g, ig_softmax(ig_matmul(ig_multiply(x, x), w), IG_AXES(-1)), &any),
        longest_chain(&g, ig_softmax(ig_matmul(x, w), IG_AXES(-1)), &any));
    graph_free(&g);
    ig_scope_end();
}

/* Two sums that read the same matrix: along rows they are a chain, along columns they are not. A value for each row does not
 * change how columns are walked. */
static void sums_of_columns_are_not_chained(void **unused)
{
    (void)unused;
    ig_scope_begin();
    graph g = {0};
    const schedule_rules device = {.chain_bytes = 1 << 16, .warp_points = 1024, .warp_rows = 8};
    ig_array *const x = input(64, 32), *const y = input(64, 32), *const each = input(64, 1);
    ig_array *const scaled = ig_multiply(ig_subtract(x, each), y);
    for (int axis = 0; axis < 2; axis++) {
        ig_array *const sums[2] = {ig_sum(scaled, IG_AXES(axis), IG_DTYPE_NONE, false),
                                   ig_sum(y, IG_AXES(axis), IG_DTYPE_NONE, false)};
        ig_array *both = ig_concat(sums, 2, IG_AXES(0));
        assert_int_equal(longest_chain(&g, both, &device), 1 + axis);
    }
    graph_free(&g);
    ig_scope_end();
}

/* Nothing stores halves that were converted to f32: the readers convert them, also those at the places of labels. */
static void converted_halves_are_not_stored(void **unused)
{
    (void)unused;
    enum { ROWS = 8, WORDS = 64 };
    ig_scope_begin();
    graph g = {0};
    ig_array *const x = input(ROWS, WORDS), *const labels = ig_zeros(IG_SHAPE(ROWS), IG_I64);
    ig_array *const half = ig_multiply(ig_astype(x, IG_BF16), ig_float(2));
    ig_array *out[2] = {ig_cross_entropy(ig_astype(half, IG_F32), labels, -1, NULL)};
    assert_int_equal(ig_grad(out[0], &x, 1, &out[1]), IG_OK);
    out[1] = ig_astype(out[1], IG_BF16);
    assert_int_equal(graph_order(&g, out, 2), IG_OK);
    assert_int_equal(graph_key(&g), IG_OK);
    schedule *s = schedule_build(&g, &(schedule_rules){0});
    assert_non_null(s);
    for (int i = 0; i < s->n_slot; i++)
        assert_false(s->slot[i].kind != SLOT_LEAF &&
                     s->slot[i].bytes == ROWS * WORDS * (int64_t)sizeof(float));
    schedule_free(s);
    graph_free(&g);
    ig_scope_end();
}

/* Columns [first, end) of x, times a number. */
static ig_array *scaled_columns(ig_array *x, int64_t first, int64_t end, double by)
{
    ig_array *part = ig_slice(x, IG_SHAPE(0, first), IG_SHAPE(ig_dim(x, 0), end), IG_SHAPE(1, 1));
    return ig_sum(ig_multiply(part, ig_float(by)), IG_NONE, IG_DTYPE_NONE, false);
}

/* Gradients of slices that do not overlap are one assembly; overlapping ones are added. */
static void gradients_of_slices_are_joined(void **unused)
{
    (void)unused;
    enum { ROWS = 4, COLUMNS = 6 };
    const int64_t cut[2][4] = {{0, 2, 4, 6}, {0, 2, 3, 6}};
    for (int overlaps = 0; overlaps < 2; overlaps++)
        for (int leaves = 0; leaves < 2; leaves++) {
            float got[ROWS * COLUMNS];
            ig_scope_begin();
            ig_array *const x = input(ROWS, COLUMNS);
            const int64_t *c = cut[overlaps], more = overlaps ? 1 : 0, less = leaves ? 1 : 0;
            ig_array *loss = ig_add(
                ig_add(scaled_columns(x, c[0], c[1], 1), scaled_columns(x, c[1], c[2] + more, 2)),
                scaled_columns(x, c[2], c[3] - less, 3));
            ig_array *grad;
            assert_int_equal(ig_grad(loss, &x, 1, &grad), IG_OK);
            char *told = ig_explain(&grad, 1);
            assert_int_equal(strstr(told, " add") != NULL, overlaps);
            ig_free(told);
            assert_int_equal(ig_read(grad, got, sizeof got), IG_OK);
            for (int i = 0; i < ROWS * COLUMNS; i++) {
                const int64_t at = i % COLUMNS;
                const float want = (float)((at < c[1]) + 2 * (at >= c[1] && at < c[2] + more) +
                                           3 * (at >= c[2] && at < c[3] - less));
                assert_true(got[i] == want);
            }
            ig_scope_end();
        }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--print") == 0) { /* to review and update the golden text */
        ig_set_device("null");
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            ig_array *y = cases[i].build();
            char *told = ig_explain(&y, 1);
            printf("{\"%s\", %s,\n", cases[i].name, cases[i].name);
            for (char *line = strtok(told, "\n"); line; line = strtok(NULL, "\n"))
                printf(" \"%s\\n\"\n", line);
            printf("},\n");
            ig_free(told);
        }
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_golden),
        cmocka_unit_test(plans_are_reused),
        cmocka_unit_test(the_arena_has_no_gaps),
        cmocka_unit_test(products_with_large_matrices_are_not_chained),
        cmocka_unit_test(maps_join_the_chain_of_attention),
        cmocka_unit_test(sums_of_columns_are_not_chained),
        cmocka_unit_test(converted_halves_are_not_stored),
        cmocka_unit_test(gradients_of_slices_are_joined),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
