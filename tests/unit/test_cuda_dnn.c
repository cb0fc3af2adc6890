/* Plans of cuDNN's graph API, on its stand-in (tests/fakecuda/dnn.c), which checks every attribute: which engine is
 * chosen; calls that fail, each in turn; inputs that are not aligned; graphs of launches. */
#include "support/cuda.h"
#include "support/unit.h"

#include "engine/backend/cuda/dnn_plan.h"
#include "fakecuda/libraries.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Engines of the stand-in. The engine after STRICT_ENGINE is allowed too. */
enum { STRICT_ENGINE = 7, TF32_ENGINE = 3, FALLBACK_ENGINE = 9, MOST = 512 };

static fake_dnn_fail_fn *fail_at;
static fake_dnn_objects_fn *objects;
static dnn_api api;

static dnn_problem problem(dnn_kind kind, ig_dtype dtype, bool tf32)
{
    return (dnn_problem){.kind = kind,
                         .numbers = {.n = 2,
                                     .c = 4,
                                     .h = 9,
                                     .w = 8,
                                     .k = 6,
                                     .r = 3,
                                     .s = 3,
                                     .p = 5,
                                     .q = 10,
                                     .stride = {2, 1},
                                     .padding = {1, 2},
                                     .dilation = {1, 1},
                                     .groups = 2},
                         .dtype = dtype,
                         .tf32 = tf32};
}

/* The engine that is chosen; -1: none. */
static int64_t engine_of(dnn_problem p)
{
    cudnnHandle_t handle;
    dnn_plan plan;
    fail_at(0, false);
    assert_int_equal(api.cudnnCreate(&handle), 0);
    const bool made = dnn_plan_make(&api, handle, &p, &plan);
    const int64_t engine = made ? plan.engine : -1;
    dnn_plan_release(&api, &plan);
    api.cudnnDestroy(handle);
    assert_int_equal(objects(), 0);
    return engine;
}

static void the_first_allowed_engine_is_chosen(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < DNN_KINDS; kind++) {
        assert_int_equal(engine_of(problem((dnn_kind)kind, IG_F32, false)), STRICT_ENGINE);
        assert_int_equal(engine_of(problem((dnn_kind)kind, IG_F32, true)), TF32_ENGINE);
    }
    assert_int_equal(engine_of(problem(DNN_FORWARD, IG_F16, false)), -1);
    dnn_problem last = problem(DNN_FILTER, IG_F32, true);
    last.numbers.last = 1;
    assert_int_equal(engine_of(last), TF32_ENGINE);
    dnn_problem biased = problem(DNN_FORWARD, IG_F32, false);
    biased.numbers.bias = 1; /* an engine that compiles is passed over */
    assert_int_equal(engine_of(biased), STRICT_ENGINE + 1);
    setenv("FAKE_DNN_LIST", "fallback", 1);
    assert_int_equal(engine_of(problem(DNN_FORWARD, IG_F32, false)), FALLBACK_ENGINE);
    unsetenv("FAKE_DNN_LIST");
    setenv("FAKE_LIBRARY_REFUSE", "1", 1);
    assert_int_equal(engine_of(problem(DNN_FORWARD, IG_F32, false)), -1);
    unsetenv("FAKE_LIBRARY_REFUSE");
}

/* The stand-in must reject a wrong shape, or it would hide mistakes. */
static void wrong_numbers_are_refused(void **unused)
{
    dnn_problem p = problem(DNN_DATA, IG_F32, false);
    (void)unused;
    p.numbers.q++;
    assert_int_equal(engine_of(p), -1);
}

/* Whatever fails, there is a plan by an allowed engine, or none; nothing leaks. */
static void calls_that_fail(void **unused)
{
    const dnn_problem p = problem(DNN_FILTER, IG_F32, false);
    cudnnHandle_t handle;
    dnn_plan plan;
    long plans = 0;
    (void)unused;
    assert_int_equal(api.cudnnCreate(&handle), 0);
    fail_at(0, false);
    assert_true(dnn_plan_make(&api, handle, &p, &plan));
    dnn_plan_release(&api, &plan);
    const long calls = fail_at(0, false);
    assert_true(calls > 0);
    for (long n = 1; n <= calls; n++)
        for (int always = 0; always < 2; always++) {
            fail_at(n, always);
            const bool made = dnn_plan_make(&api, handle, &p, &plan);
            assert_int_equal(made, plan.plan != NULL);
            if (made && plan.engine != STRICT_ENGINE && plan.engine != STRICT_ENGINE + 1 &&
                plan.engine != FALLBACK_ENGINE)
                fail_msg("call %ld fails: engine %lld", n, (long long)plan.engine);
            plans += made;
            dnn_plan_release(&api, &plan);
            assert_int_equal(objects(), 1);
        }
    fail_at(0, false);
    api.cudnnDestroy(handle);
    assert_true(plans > 0);
}

/* ---- on the device ---- */

static ig_array *noise(int seed, ig_ints shape)
{
    return ig_normal(ig_key((uint64_t)seed, "philox"), shape, IG_F32, NULL, NULL);
}

static ig_array *convolution(void)
{
    return ig_conv2d(noise(0, IG_SHAPE(2, 2, 5, 5)), noise(1, IG_SHAPE(3, 2, 3, 3)), NULL, IG_NONE,
                     IG_AXES(1), IG_NONE, 1);
}

/* Parts of stored arrays, from an odd element on. */
static ig_array *shifted(void)
{
    ig_array *x = noise(0, IG_SHAPE(3, 1, 5, 5)), *w = noise(1, IG_SHAPE(4, 1, 3, 3));
    if (ig_eval((ig_array *[]){x, w}, 2) != IG_OK)
        return NULL;
    return ig_conv2d(ig_slice(x, IG_AXES(1, 0, 0, 0), IG_AXES(3, 1, 5, 5), IG_NONE),
                     ig_slice(w, IG_AXES(1, 0, 0, 0), IG_AXES(4, 1, 3, 3), IG_NONE), NULL, IG_NONE,
                     IG_NONE, IG_NONE, 1);
}

/* The gradient of the sum is a number, which is in no memory of the device. */
static ig_array *numbers(void)
{
    ig_array *x = ig_reshape(noise(0, IG_SHAPE(1)), IG_SHAPE(1, 1, 1, 1)), *grad;
    ig_array *y = ig_conv2d(x, x, NULL, IG_NONE, IG_NONE, IG_NONE, 1);
    return ig_grad(ig_sum(y, IG_NONE, IG_DTYPE_NONE, false), &x, 1, &grad) == IG_OK ? grad : NULL;
}

static void assert_close(const float *got, const float *want, int n)
{
    for (int k = 0; k < n; k++)
        if (!(fabsf(got[k] - want[k]) <= 1e-4f * (1 + fabsf(want[k]))))
            fail_msg("element %d is %g, not %g", k, (double)got[k], (double)want[k]);
}

static void inputs_that_are_not_aligned(void **unused)
{
    float want[MOST], got[MOST];
    (void)unused;
    fail_at(0, false);
    const int n = cuda_compute("cpu", shifted, want, MOST);
    assert_true(n > 0);
    assert_int_equal(cuda_compute("cuda:0", shifted, got, MOST), n);
    assert_close(got, want, n);
    assert_true(fail_at(0, false) > 0); /* cuDNN ran */
}

static void inputs_that_are_numbers(void **unused)
{
    float want[1], got[1];
    (void)unused;
    fail_at(0, false);
    assert_int_equal(cuda_compute("cpu", numbers, want, 1), 1);
    assert_int_equal(cuda_compute("cuda:0", numbers, got, 1), 1);
    assert_close(got, want, 1);
}

/* A small network: paddings, groups, a residual connection, a channel shuffle, pools of both kinds; and its gradient with
 * respect to the first weight. In math mode tf32, channels are the last axis in memory on the device. */
static ig_array *network(void)
{
    ig_array *x = noise(0, IG_SHAPE(2, 3, 8, 7)), *w = noise(1, IG_SHAPE(4, 3, 3, 3));
    ig_array *scale = ig_reshape(noise(2, IG_SHAPE(4)), IG_SHAPE(4, 1, 1));
    ig_array *y = ig_conv2d(x, w, NULL, IG_NONE, IG_AXES(1), IG_NONE, 1);
    y = ig_relu(ig_add(ig_multiply(y, scale), ig_float(0.5)));
    ig_array *z = ig_conv2d(y, noise(3, IG_SHAPE(4, 2, 3, 3)), noise(4, IG_SHAPE(4)), IG_NONE,
                            IG_AXES(1), IG_NONE, 2);
    y = ig_max_pool2d(ig_tanh(ig_add(z, y)), IG_AXES(3), IG_AXES(2), IG_AXES(1), IG_NONE, false);
    z = ig_permute_dims(ig_reshape(y, IG_SHAPE(2, 2, 2, 4, 4)), IG_AXES(0, 2, 1, 3, 4));
    z = ig_conv2d(ig_reshape(z, IG_SHAPE(2, 4, 4, 4)), noise(5, IG_SHAPE(6, 4, 1, 1)), NULL,
                  IG_NONE, IG_NONE, IG_NONE, 1);
    z = ig_concat((ig_array *[]){z, y}, 2, IG_AXES(1));
    z = ig_avg_pool2d(ig_exp(ig_multiply(z, ig_float(0.1))), IG_AXES(2), IG_NONE, IG_AXES(1), false,
                      false);
    ig_array *all = ig_sum(z, IG_NONE, IG_DTYPE_NONE, false), *grad;
    if (ig_grad(all, &w, 1, &grad) != IG_OK)
        return NULL;
    return ig_concat((ig_array *[]){ig_flatten(z, 0, -1), ig_flatten(grad, 0, -1)}, 2, IG_AXES(0));
}

static void channels_are_last_in_tf32(void **unused)
{
    float want[MOST], got[MOST];
    (void)unused;
    fail_at(0, false);
    const int n = cuda_compute("cpu", network, want, MOST);
    assert_true(n > 0);
    for (int tf32 = 0; tf32 < 2; tf32++) {
        ig_set_math(tf32 ? IG_MATH_TF32 : IG_MATH_STRICT);
        fail_at(0, false);
        assert_int_equal(cuda_compute("cuda:0", network, got, MOST), n);
        assert_true(fail_at(0, false) > 0); /* cuDNN ran */
        assert_close(got, want, n);
    }
    ig_set_math(IG_MATH_STRICT);
}

/* Compiled, with a constant factor along each axis of the result, all of which have one length: only a factor of the
 * channels may go into the weights. */
static int scaled_axis;
static ig_array *scaled(void)
{
    int64_t shape[4] = {1, 1, 1, 1};
    shape[scaled_axis] = 4;
    ig_array *x = noise(0, IG_SHAPE(4, 2, 4, 4)), *w = noise(1, IG_SHAPE(4, 2, 3, 3)), *out = NULL;
    ig_array *by = ig_reshape(noise(2, IG_SHAPE(4)), (ig_ints){shape, 4});
    if (ig_eval((ig_array *[]){x, w, by}, 3) != IG_OK)
        return NULL;
    ig_array *y = ig_multiply(ig_conv2d(x, w, NULL, IG_NONE, IG_AXES(1), IG_NONE, 1), by);
    ig_compiled *c = ig_compile(&x, 1, 0, &y, 1);
    const bool fine = c && ig_run(c, &x, &out) == IG_OK;
    ig_compiled_free(c);
    return fine ? out : NULL;
}

static void factors_of_the_channels_go_into_weights(void **unused)
{
    float want[MOST], got[MOST];
    (void)unused;
    fail_at(0, false);
    for (scaled_axis = 0; scaled_axis < 4; scaled_axis++)
        for (int tf32 = 0; tf32 < 2; tf32++) {
            const int n = cuda_compute("cpu", scaled, want, MOST);
            assert_true(n > 0);
            ig_set_math(tf32 ? IG_MATH_TF32 : IG_MATH_STRICT);
            assert_int_equal(cuda_compute("cuda:0", scaled, got, MOST), n);
            ig_set_math(IG_MATH_STRICT);
            assert_close(got, want, n);
        }
}

/* Compiled residual blocks: all forms of sums before relu, which become one convolution each, and near misses, which do not.
 * NaN stays NaN. */
enum { FORMS = 11 };
static int residual_form;
static bool residual_merged; /* one node computes all */
static ig_array *residual(void)
{
    ig_array *x = noise(0, IG_SHAPE(2, 3, 5, 5)), *w = noise(1, IG_SHAPE(3, 3, 3, 3)), *out = NULL;
    ig_array *b = ig_reshape(noise(2, IG_SHAPE(3)), IG_SHAPE(3, 1, 1));
    ig_array *along = ig_reshape(noise(3, IG_SHAPE(5)), IG_SHAPE(5, 1));
    ig_array *nan = ig_where(ig_less(x, ig_float(-1.5)), ig_float(NAN), x);
    if (ig_eval((ig_array *[]){x, w, b, along, nan}, 5) != IG_OK)
        return NULL;
    ig_array *in = residual_form == 6 ? nan : x;
    ig_array *y = ig_conv2d(in, w, NULL, IG_NONE, IG_AXES(1), IG_NONE, 1), *z = ig_add(y, b);
    switch (residual_form) {
    case 0: z = ig_relu(z); break;
    case 1: z = ig_relu(ig_add(z, x)); break;
    case 2: z = ig_relu(ig_add(x, z)); break;
    case 3: z = ig_relu(ig_add(y, along)); break;     /* not a bias */
    case 4: z = ig_multiply(ig_relu(z), y); break;    /* y is read twice */
    case 5: z = ig_maximum(z, ig_float(0.25)); break; /* not relu */
    case 6: z = ig_relu(ig_add(z, in)); break;        /* NaN */
    case 7:                                           /* z has the order of y on the device */
        x = ig_conv2d(x, ig_tanh(w), NULL, IG_NONE, IG_AXES(1), IG_NONE, 1);
        z = ig_relu(ig_add(z, ig_tanh(x)));
        break;
    case 8: z = ig_relu(ig_add(ig_subtract(y, b), x)); break;
    case 9: z = ig_relu(ig_subtract(b, y)); break;
    default: z = ig_add(ig_relu(z), ig_relu(ig_add(z, x))); /* the sum is read twice */
    }
    char *plan = ig_compile_explain(&in, 1, 0, &z, 1);
    residual_merged = plan && strstr(plan, "1 x relu in convolutions");
    ig_free(plan);
    ig_compiled *c = ig_compile(&in, 1, 0, &z, 1);
    const bool fine = c && ig_run(c, &in, &out) == IG_OK;
    ig_compiled_free(c);
    return fine ? out : NULL;
}

static void sums_and_relu_are_part_of_convolutions(void **unused)
{
    float want[MOST], got[MOST];
    (void)unused;
    fail_at(0, false);
    for (residual_form = 0; residual_form < FORMS; residual_form++)
        for (int tf32 = 0; tf32 < 2; tf32++) {
            const int n = cuda_compute("cpu", residual, want, MOST);
            assert_true(n > 0);
            ig_set_math(tf32 ? IG_MATH_TF32 : IG_MATH_STRICT);
            assert_int_equal(cuda_compute("cuda:0", residual, got, MOST), n);
            ig_set_math(IG_MATH_STRICT);
            /* In tf32, x has another order than y. */
            static const bool merged[2][FORMS] = {{1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0},
                                                  {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}};
            assert_int_equal(residual_merged, merged[tf32][residual_form]);
            for (int i = 0; i < n; i++) {
                assert_int_equal(isnan(got[i]) != 0, isnan(want[i]) != 0);
                got[i] = isnan(got[i]) ? 0 : got[i];
                want[i] = isnan(want[i]) ? 0 : want[i];
            }
            assert_close(got, want, n);
        }
}

/* Inputs in one of several buffers, in turn: one graph for each is enough. If buffers never repeat, no more graphs are
 * made after some attempts. */
static void check_graphs(int n_inputs, int runs, int graphs_least, int graphs_most)
{
    enum { INPUTS = 40 };
    static float want[INPUTS][MOST];
    float got[MOST];
    ig_array *x[INPUTS], *w;
    int n = 0;
    assert_true(n_inputs <= INPUTS);
    assert_int_equal(ig_scope_begin(), IG_OK);
    w = noise(100, IG_SHAPE(3, 2, 3, 3));
    for (int i = 0; i < n_inputs; i++)
        x[i] = noise(i, IG_SHAPE(1, 2, 5, 5));
    assert_int_equal(ig_eval(x, n_inputs), IG_OK);
    assert_int_equal(ig_eval(&w, 1), IG_OK);
    const long graphs = fake.count(FAKE_GRAPHS);
    for (int run = 0; run < runs; run++) {
        const int i = run % n_inputs;
        assert_int_equal(ig_scope_begin(), IG_OK);
        ig_array *y = ig_conv2d(x[i], w, NULL, IG_NONE, IG_AXES(1), IG_NONE, 1);
        for (int k = 0; k < 3; k++) /* enough launches for a graph */
            y = ig_cumulative_sum(y, IG_AXES(k), IG_DTYPE_NONE, false);
        n = (int)ig_size(y);
        assert_int_equal(ig_read(y, got, (size_t)n * sizeof *got), IG_OK);
        if (run < n_inputs)
            memcpy(want[i], got, sizeof got);
        assert_memory_equal(got, want[i], (size_t)n * sizeof *got);
        ig_scope_end();
    }
    assert_in_range(fake.count(FAKE_GRAPHS) - graphs, graphs_least, graphs_most);
    ig_scope_end();
}

static void buffers_that_alternate_have_graphs(void **unused)
{
    (void)unused;
    fail_at(0, false);
    check_graphs(1, 10, 8, 8);
    check_graphs(2, 20, 18, 20);
    check_graphs(5, 40, 36, 40);
    check_graphs(40, 120, 0, 20);
}

/* If a call fails before a launch, our kernels take over; if one fails in a launch, it is an error. */
static void calls_that_fail_on_the_device(void **unused)
{
    float want[MOST], got[MOST];
    int errors = 0, results = 0;
    (void)unused;
    fail_at(0, false);
    const int n = cuda_compute("cpu", convolution, want, MOST);
    assert_int_equal(cuda_compute("cuda:0", convolution, got, MOST), n);
    const long calls = fail_at(0, false);
    assert_true(calls > 0);
    for (long at = calls - 8; at <= calls; at++) {
        ig_shutdown();
        fail_at(at, false);
        if (cuda_compute("cuda:0", convolution, got, MOST) == n) {
            assert_close(got, want, n);
            results++;
        } else {
            assert_error(IG_ERR_DEVICE, "cuDNN failed with status 4000; IG_CUDNN=off avoids it");
            errors++;
        }
    }
    assert_true(errors > 0 && results > 0);
    fail_at(0, false);
    ig_shutdown();
    assert_int_equal(objects(), 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    cuda_prepare(argv[0]);
    setenv("IG_CUDNN", cuda_library("libraries.so"), 1);
    void *library = dlopen(cuda_library("libraries.so"), RTLD_NOW | RTLD_LOCAL);
    void *at[2] = {dlsym(library, "fake_dnn_fail"), dlsym(library, "fake_dnn_objects")};
    memcpy(&fail_at, &at[0], sizeof at[0]);
    memcpy(&objects, &at[1], sizeof at[1]);
    if (!fail_at || !objects || !dnn_api_load(&api))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_allowed_engine_is_chosen),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(calls_that_fail),
        cmocka_unit_test_setup_teardown(inputs_that_are_not_aligned, cuda_test_begin,
                                        cuda_test_end),
        cmocka_unit_test_setup_teardown(inputs_that_are_numbers, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(channels_are_last_in_tf32, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(factors_of_the_channels_go_into_weights, cuda_test_begin,
                                        cuda_test_end),
        cmocka_unit_test_setup_teardown(sums_and_relu_are_part_of_convolutions, cuda_test_begin,
                                        cuda_test_end),
        cmocka_unit_test_setup_teardown(buffers_that_alternate_have_graphs, cuda_test_begin,
                                        cuda_test_end),
        cmocka_unit_test_setup_teardown(calls_that_fail_on_the_device, cuda_test_begin,
                                        cuda_test_end),
    };
    return cmocka_run_group_tests(tests, cuda_begin, cuda_end);
}
