/* Recomputation: an evaluation that does not fit in the memory limit computes values again instead of keeping them. All limits
 * give the same bits, no run holds more than its limit, and a refusal names a limit that is enough. */
#include "base/memory.h"
#include "engine/graph/mincut.h"
#include "support/unit.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMITS = 10 };

/* A computation that is built and evaluated anew for each limit. It makes its inputs, calls limit_memory, and evaluates. Returns its
 * results one after the other in *bytes, which the caller frees, and their size; 0: it failed. */
typedef size_t computation(char **bytes);

static uint64_t limit_now; /* 0: none; 1: less than anything needs */

static void limit_memory(void)
{
    ig_set_memory_limit(limit_now == 1 ? ig_memory_used() + 1 : limit_now);
}

static size_t read_all(ig_array *const *x, int n, char **bytes)
{
    size_t used = 0;
    *bytes = NULL;
    for (int i = 0; i < n; i++) {
        const size_t size = (size_t)ig_size(x[i]) * ig_dtype_bytes(ig_dtype_of(x[i]));
        char *more = realloc(*bytes, used + size + 1);
        assert_non_null(more);
        *bytes = more;
        if (ig_read(x[i], more + used, size) != IG_OK)
            return 0;
        used += size;
    }
    return used;
}

static size_t computed(computation *c, uint64_t limit, char **bytes)
{
    limit_now = limit;
    assert_int_equal(ig_scope_begin(), IG_OK);
    const size_t n = c(bytes);
    ig_scope_end();
    ig_set_memory_limit(0);
    return n;
}

/* The limit that the refusal of a smaller one names. */
static uint64_t least_limit(computation *c)
{
    char *bytes = NULL;
    assert_int_equal(computed(c, 1, &bytes), 0);
    free(bytes);
    const char *said = ig_error(NULL);
    const char *at = said ? strstr(said, "to at least ") : NULL;
    if (!at)
        fail_msg("%s", said ? said : "it is not refused");
    return strtoull(at + strlen("to at least "), NULL, 10);
}

/* Ten limits (three if the test is short), from the least to one that is enough without recomputation. most_share: of what that needs, the least needs at most
 * this share. */
static void limits_give_equal_bits(computation *c, double most_share)
{
    const int limits = getenv("IG_TEST_QUICK") ? 3 : LIMITS;
    char *bytes[LIMITS + 1] = {NULL};
    size_t size[LIMITS + 1] = {0};
    const uint64_t least = least_limit(c);
    uint64_t limit = least;
    for (int i = 0; i < limits; i++, limit += limit / (limits == LIMITS ? 8 : 2)) {
        assert_true(ig_memory_peak() < limit); /* so that the next check means something */
        size[i] = computed(c, limit, &bytes[i]);
        if (!size[i])
            fail_msg("with %llu bytes: %s", (unsigned long long)limit, ig_error(NULL));
        if (ig_memory_peak() > limit)
            fail_msg("with a limit of %llu bytes, %llu were in use", (unsigned long long)limit,
                     (unsigned long long)ig_memory_peak());
    }
    size[LIMITS] = computed(c, 0, &bytes[LIMITS]);
    assert_true(size[LIMITS] > 0);
    for (int i = 0; i < limits; i++) {
        assert_int_equal(size[i], size[LIMITS]);
        assert_memory_equal(bytes[i], bytes[LIMITS], size[LIMITS]);
    }
    if ((double)least > most_share * (double)ig_memory_peak())
        fail_msg("it needs at least %llu bytes, and %llu without recomputation",
                 (unsigned long long)least, (unsigned long long)ig_memory_peak());
    for (int i = 0; i <= LIMITS; i++)
        free(bytes[i]);
}

static ig_array *drawn(int seed, ig_ints shape, double deviation)
{
    return ig_normal(ig_key((uint64_t)seed, NULL), shape, IG_F32, NULL, ig_float(deviation));
}

/* ---- a deep network ---- */

enum { LAYERS = 12, WIDTH = 32, ROWS = 256 };

/* norm, product, gelu, dropout and a residual sum in each layer; the loss, and the gradients of all weights. in receives the
 * weights and the rows. */
static void deep(ig_array **in, ig_array **out)
{
    ig_array **w = in, *x = in[LAYERS] = drawn(99, IG_SHAPE(ROWS, WIDTH), 1),
             *key = ig_key(7, NULL);
    for (int i = 0; i < LAYERS; i++)
        w[i] = drawn(i, IG_SHAPE(WIDTH, WIDTH), 0.2);
    assert_int_equal(ig_eval(in, LAYERS + 1), IG_OK);
    for (int i = 0; i < LAYERS; i++) {
        ig_array *y = ig_layer_norm(x, NULL, NULL, IG_AXES(-1), 1e-5);
        y = ig_gelu(ig_matmul(y, w[i]), "tanh");
        x = ig_add(x, ig_dropout(y, ig_fold_in(key, i), 0.2));
    }
    out[0] = ig_mean(ig_square(x), IG_NONE, false);
    assert_int_equal(ig_grad(out[0], w, LAYERS, out + 1), IG_OK);
}

static size_t deep_network(char **bytes)
{
    ig_array *in[LAYERS + 1], *out[LAYERS + 1];
    deep(in, out);
    limit_memory();
    return ig_eval(out, LAYERS + 1) == IG_OK ? read_all(out, LAYERS + 1, bytes) : 0;
}

static void a_deep_network(void **state)
{
    (void)state;
    only_on_cpu("a device with its own memory computes block by block what does not fit");
    limits_give_equal_bits(deep_network, 0.6);
}

/* ---- images ---- */

static size_t convolutions(char **bytes)
{
    enum { BLOCKS = 4, CHANNELS = 8, SIDE = 48 };
    ig_array *w[BLOCKS], *out[BLOCKS + 1], *x = drawn(5, IG_SHAPE(4, CHANNELS, SIDE, SIDE), 1);
    for (int i = 0; i < BLOCKS; i++)
        w[i] = drawn(20 + i, IG_SHAPE(CHANNELS, CHANNELS, 3, 3), 0.2);
    if (ig_eval(&x, 1) != IG_OK || ig_eval(w, BLOCKS) != IG_OK)
        return 0;
    for (int i = 0; i < BLOCKS; i++) {
        ig_array *y = ig_conv2d(x, w[i], NULL, IG_AXES(1, 1), IG_AXES(1, 1), IG_AXES(1, 1), 1);
        ig_array *mean = ig_mean(y, IG_AXES(0, 2, 3), true), *apart = ig_subtract(y, mean);
        ig_array *spread = ig_mean(ig_square(apart), IG_AXES(0, 2, 3), true);
        x = ig_relu(ig_multiply(apart, ig_rsqrt(ig_add(spread, ig_float(1e-5)))));
    }
    out[0] = ig_mean(ig_square(x), IG_NONE, false);
    limit_memory();
    return ig_grad(out[0], w, BLOCKS, out + 1) == IG_OK && ig_eval(out, BLOCKS + 1) == IG_OK
               ? read_all(out, BLOCKS + 1, bytes)
               : 0;
}

static void images(void **state)
{
    (void)state;
    only_on_cpu("a device with its own memory computes block by block what does not fit");
    limits_give_equal_bits(convolutions, 0.8);
}

/* ---- training steps ---- */

static ig_array *perceptron_loss(ig_model *m, ig_array *x, ig_array *y)
{
    for (int i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i);
        x = ig_nn_dropout(m, ig_tanh(ig_nn_linear(m, name, x, 24, true)), 0.1);
    }
    return ig_cross_entropy(ig_nn_linear(m, "last", x, 10, true), y, -1, NULL);
}

static size_t steps(char **bytes)
{
    enum { STEPS = 3 };
    double loss[STEPS] = {0};
    ig_model *m = ig_model_new(3);
    ig_optimizer *o = ig_adamw(1e-2, 0.9, 0.99, 1e-8, 0.01);
    ig_array *x = drawn(50, IG_SHAPE(200, 24), 1);
    ig_array *y = ig_randint(ig_key(4, NULL), IG_SHAPE(200), 0, 10, IG_I32);
    bool fine = ig_eval(&x, 1) == IG_OK && ig_eval(&y, 1) == IG_OK;
    for (int i = 0; i < STEPS && fine; i++) {
        assert_int_equal(ig_scope_begin(), IG_OK);
        ig_array *now = perceptron_loss(m, x, y);
        limit_memory();
        fine = ig_step(o, m, now, &loss[i], NULL, 0) == IG_OK;
        ig_scope_end();
    }
    ig_optimizer_free(o);
    ig_model_free(m);
    *bytes = malloc(sizeof loss);
    assert_non_null(*bytes);
    memcpy(*bytes, loss, sizeof loss);
    return fine ? sizeof loss : 0;
}

static void training(void **state)
{
    (void)state;
    only_on_cpu("a device with its own memory computes block by block what does not fit");
    limits_give_equal_bits(steps, 0.9);
}

/* ---- compiled computations ---- */

/* A computation that was compiled when there was enough memory is planned again when there is not. */
static void compiled(void **state)
{
    (void)state;
    only_on_cpu("the peak of other devices is not that of the process");
    uint64_t limit = 0;
    char *want = NULL, *have = NULL;
    ig_array *in[LAYERS + 1], *out[LAYERS + 1], *result[LAYERS + 1];
    deep(in, out);
    ig_compiled *c = ig_compile(in, LAYERS + 1, 0, out, LAYERS + 1);
    assert_non_null(c);
    assert_int_equal(ig_run(c, in, result), IG_OK);
    const size_t size = read_all(result, LAYERS + 1, &want);
    ig_set_memory_limit(ig_memory_used() + 1);
    assert_int_equal(ig_run(c, in, result), IG_ERR_MEMORY);
    const char *said = strstr(ig_error(NULL), "to at least ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "to at least %" SCNu64, &limit), 1);
    for (int i = 0; i < 2; i++) {
        ig_set_memory_limit(limit);
        assert_int_equal(ig_scope_begin(), IG_OK);
        assert_int_equal(ig_run(c, in, result), IG_OK);
        ig_set_memory_limit(0);
        assert_int_equal(read_all(result, LAYERS + 1, &have), size);
        assert_memory_equal(have, want, size);
        free(have);
        ig_scope_end();
    }
    ig_compiled_free(c);
    free(want);
}

/* ---- failures ---- */

static bool evaluate_within(uint64_t limit)
{
    enum { FEW = 3 };
    ig_array *w[FEW], *out[FEW + 1], *x = ig_full(IG_SHAPE(16, 16), ig_float(0.5), IG_F32);
    for (int i = 0; i < FEW; i++)
        w[i] = ig_full(IG_SHAPE(16, 16), ig_float(0.1 * (i + 1)), IG_F32);
    if (ig_eval(&x, 1) != IG_OK || ig_eval(w, FEW) != IG_OK)
        return false;
    for (int i = 0; i < FEW; i++)
        x = ig_tanh(ig_matmul(x, w[i]));
    out[0] = ig_sum(x, IG_NONE, IG_DTYPE_NONE, false);
    if (ig_grad(out[0], w, FEW, out + 1) != IG_OK)
        return false;
    ig_set_memory_limit(limit ? limit : ig_memory_used() + 1);
    const bool fine = ig_eval(out, FEW + 1) == IG_OK;
    ig_set_memory_limit(0);
    return fine;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    only_on_cpu("other devices allocate elsewhere, too");
    uint64_t limit = 0;
    assert_int_equal(ig_scope_begin(), IG_OK);
    assert_false(evaluate_within(0));
    const char *said = strstr(ig_error(NULL), "to at least ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "to at least %" SCNu64, &limit), 1);
    ig_scope_end();
    bool done = false;
    for (int n = 1; !done; n++) {
        assert_int_equal(ig_scope_begin(), IG_OK);
        memory_fail_at(n);
        done = evaluate_within(limit);
        memory_fail_at(0);
        if (!done)
            assert_error(IG_ERR_MEMORY, "memory");
        ig_set_memory_limit(0);
        ig_scope_end();
        assert_true(n < 100000);
    }
}

/* ---- what is told ---- */

static void it_is_explained(void **state)
{
    (void)state;
    only_on_cpu("a device with its own memory computes block by block what does not fit");
    const uint64_t least = least_limit(deep_network);
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *in[LAYERS + 1], *out[LAYERS + 1];
    deep(in, out);
    ig_set_memory_limit(least);
    char *limited = ig_explain(out, LAYERS + 1);
    ig_set_memory_limit(0);
    char *plain = ig_explain(out, LAYERS + 1);
    ig_scope_end();
    assert_non_null(limited);
    assert_non_null(plain);
    const char *line = strstr(limited, "computes again to fit in ");
    assert_non_null(line);
    assert_non_null(strstr(line, " tanh"));
    assert_non_null(strstr(line, "less memory"));
    assert_non_null(strstr(line, "more work"));
    assert_null(strstr(plain, "computes again"));
    ig_free(limited);
    ig_free(plain);
}

/* ---- smallest cuts ---- */

enum { NODES = 7, EDGES = 14 };

/* The least capacity of all 2^5 cuts between node 0 and the last. */
static int64_t least_cut(int (*edge)[3])
{
    int64_t least = INT64_MAX;
    for (unsigned side = 1; side < 1u << (NODES - 1); side += 2) { /* has node 0, not the last */
        int64_t cut = 0;
        for (int i = 0; i < EDGES; i++)
            if ((side >> edge[i][0] & 1) && !(side >> edge[i][1] & 1))
                cut += edge[i][2];
        least = cut < least ? cut : least;
    }
    return least;
}

static void cuts_are_smallest(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int k = 0; k < 300; k++) {
        int edge[EDGES][3];
        bool behind[NODES];
        mincut_network m;
        assert_int_equal(mincut_begin(&m, NODES), IG_OK);
        for (int i = 0; i < EDGES; i++) {
            for (int j = 0; j < 3; j++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                edge[i][j] = (int)((seed >> 40) % (j < 2 ? NODES : 20));
            }
            assert_int_equal(mincut_add(&m, edge[i][0], edge[i][1], edge[i][2]), IG_OK);
        }
        assert_int_equal(mincut_find(&m, 0, NODES - 1, behind), IG_OK);
        mincut_free(&m);
        int64_t cut = 0;
        for (int i = 0; i < EDGES; i++)
            if (!behind[edge[i][0]] && behind[edge[i][1]])
                cut += edge[i][2];
        assert_true(!behind[0] && behind[NODES - 1]);
        assert_int_equal(cut, least_cut(edge));
    }
}

int main(void)
{
    /* From less memory to more, because the peak of the process never falls. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cuts_are_smallest, begin, end),
        cmocka_unit_test_setup_teardown(training, begin, end),
        cmocka_unit_test_setup_teardown(a_deep_network, begin, end),
        cmocka_unit_test_setup_teardown(images, begin, end),
        cmocka_unit_test_setup_teardown(compiled, begin, end),
        cmocka_unit_test_setup_teardown(it_is_explained, begin, end),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
