/* The CUDA backend on a fake driver (tests/fakecuda), whose results are real: arrays; the n-th call fails, for
 * every n; the device is lost; memory is short; a driver or a compiler that is old or missing. Each time there is one
 * clear error or the right result: no crash, no leak, and the device works afterwards if it can. */
#include "engine/backend/search.h"
#include "support/cuda.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, UNTOUCHED = -77 };

/* ---- arrays ---- */

/* Some work of each kind: a map, a reduction, a product, a sort, a gather. */
static ig_array *work(void)
{
    ig_array *x = ig_arange(0, N, 1, IG_F32);
    ig_array *square = ig_reshape(ig_multiply(x, ig_float(0.25)), IG_SHAPE(4, 6));
    ig_array *product = ig_matmul(square, ig_matrix_transpose(square));
    ig_array *sum = ig_sum(product, IG_SHAPE(1), IG_DTYPE_NONE, true);
    ig_array *sorted = ig_sort(ig_negative(x), 0, false, true);
    ig_array *taken = ig_take(sorted, ig_arange(0, 4, 1, IG_I32), IG_SHAPE(0));
    return ig_add(ig_relu(ig_subtract(sum, ig_float(10))), taken);
}

static bool prepares; /* kernels are compiled together in advance */

/* Evaluates it on the current device; got is written only on success. */
static ig_status compute(float got[4])
{
    float all[16];
    if (ig_scope_begin() != IG_OK)
        return IG_ERR_MEMORY;
    ig_array *y = work();
    ig_status status = y ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK && prepares)
        status = ig_prepare(&y, (int[]){1}, 1);
    if (status == IG_OK)
        status = ig_read(y, all, sizeof all);
    if (status == IG_OK)
        memcpy(got, all + 4, 4 * sizeof *got);
    ig_scope_end();
    return status;
}

static void expected(float want[4])
{
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    assert_int_equal(compute(want), IG_OK);
    assert_int_equal(ig_set_device("cuda:0"), IG_OK);
}

static void results_are_those_of_the_cpu(void **unused)
{
    (void)unused;
    float want[4], got[4];
    expected(want);
    const long launches = fake.count(FAKE_LAUNCHES);
    assert_int_equal(compute(got), IG_OK);
    assert_memory_equal(got, want, sizeof got);
    assert_true(fake.count(FAKE_LAUNCHES) > launches);
}

/* A kernel's variables have their initial values in each evaluation. */
static void variables_begin_anew(void **unused)
{
    (void)unused;
    const ig_kernel_call call = {.source = "__device__ int n = 5;\n"
                                           "__global__ void k(int *y) { y[0] = n++; }",
                                 .kernel = "k",
                                 .args =
                                     (const ig_arg[]){{.name = "y", .kind = IG_ARG_INT, .u.i = 1}},
                                 .n_args = 1,
                                 .block = {1}};
    for (int i = 0; i < 3; i++) {
        ig_array *y;
        int32_t got;
        assert_int_equal(ig_scope_begin(), IG_OK);
        assert_int_equal(ig_kernel(&call, &y, 1), 1);
        assert_int_equal(ig_read(y, &got, sizeof got), IG_OK);
        assert_int_equal(got, 5);
        ig_scope_end();
    }
}

static void kernels_come_from_the_cache(void **unused)
{
    (void)unused;
    float got[4];
    assert_int_equal(compute(got), IG_OK);
    ig_set_device("cpu");
    ig_shutdown();
    ig_set_device("cuda:0");
    const long compiled = fake.count(FAKE_COMPILED);
    assert_int_equal(compute(got), IG_OK);
    assert_int_equal(fake.count(FAKE_COMPILED), compiled);
}

/* The kernels of one evaluation are compiled at the same time, each as a separate text. */
static void threads_compile_a_new_schedule(void **unused)
{
    (void)unused;
    float result[2][N];
    setenv("FAKE_COMPILE_MS", "100", 1);
    ig_set_threads(4);
    for (int i = 0; i < 2; i++) {
        ig_scope_begin();
        ig_set_device(i ? "cuda:0" : "cpu");
        ig_array *x = ig_uniform(ig_key(2, NULL), IG_SHAPE(N), IG_F32, NULL, NULL);
        assert_int_equal(ig_eval(&x, 1), IG_OK);
        const long compiled = fake.count(FAKE_COMPILED);
        ig_array *y = ig_cumulative_sum(ig_sort(ig_tan(x), 0, false, true), IG_SHAPE(0),
                                        IG_DTYPE_NONE, false);
        y = ig_cumulative_prod(y, IG_SHAPE(0), IG_DTYPE_NONE, false);
        assert_int_equal(ig_read(y, result[i], sizeof result[i]), IG_OK);
        assert_true(fake.count(FAKE_COMPILED) - compiled >= 3 * i);
        ig_scope_end();
    }
    assert_true(fake.count(FAKE_TOGETHER) >= 3);
    assert_memory_equal(result[0], result[1], sizeof result[0]);
    ig_set_threads(0);
    unsetenv("FAKE_COMPILE_MS");
}

/* The kernels of several evaluations are compiled as one text. They give the same bits, and nothing is compiled
 * later. */
static void kernels_are_prepared_together(void **unused)
{
    (void)unused;
    float result[2][4][N];
    for (int i = 0; i < 2; i++) {
        ig_scope_begin();
        ig_set_device(i ? "cuda:0" : "cpu");
        ig_array *x = ig_uniform(ig_key(1, NULL), IG_SHAPE(N), IG_F32, NULL, NULL);
        assert_int_equal(ig_eval(&x, 1), IG_OK);
        ig_array *y[4] = {ig_exp(x), ig_sin(x), ig_flip(ig_multiply(x, x), IG_NONE),
                          ig_cumulative_sum(x, IG_SHAPE(0), IG_DTYPE_NONE, false)};
        const long compiled = fake.count(FAKE_COMPILED), launches = fake.count(FAKE_LAUNCHES);
        assert_int_equal(ig_prepare(y, (int[]){1, 2, 1}, 3), IG_OK);
        assert_int_equal(fake.count(FAKE_COMPILED) - compiled, i);
        assert_int_equal(fake.count(FAKE_LAUNCHES), launches);
        assert_int_equal(ig_eval(y, 1), IG_OK);
        assert_int_equal(ig_eval(y + 1, 2), IG_OK);
        assert_int_equal(ig_eval(y + 3, 1), IG_OK);
        assert_int_equal(fake.count(FAKE_COMPILED) - compiled, i);
        for (int k = 0; k < 4; k++)
            assert_int_equal(ig_read(y[k], result[i][k], sizeof result[i][k]), IG_OK);
        ig_scope_end();
    }
    assert_memory_equal(result[0], result[1], sizeof result[0]);
    assert_int_equal(ig_prepare(NULL, NULL, 0), IG_OK);
    assert_int_equal(ig_prepare((ig_array *[]){NULL}, (int[]){1}, 1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "NULL");
}

/* ---- the same launches again ---- */

enum { RUNS = 8, WORDS = 40 };

/* Five launches at least, of x and of a number; with a gather, whose index may be out of bounds. */
static ig_array *repeated(ig_array *x, double number, int64_t index)
{
    ig_array *y =
        ig_cumulative_sum(ig_multiply(x, ig_float(number)), IG_SHAPE(0), IG_DTYPE_NONE, false);
    y = ig_cumulative_sum(ig_sin(y), IG_SHAPE(0), IG_DTYPE_NONE, false);
    y = ig_sort(ig_subtract(y, ig_float(number)), 0, false, true);
    y = ig_cumulative_sum(y, IG_SHAPE(0), IG_DTYPE_NONE, false);
    ig_array *at = ig_add(ig_arange(0, 3, 1, IG_I64), ig_int(index));
    return ig_concat((ig_array *[]){y, ig_take(y, at, IG_SHAPE(0))}, 2, IG_SHAPE(0));
}

/* Runs it RUNS times, with a different array and a different number each time. */
static void repeat(float got[RUNS][WORDS + 3])
{
    ig_array *kept[RUNS];
    ig_scope_begin();
    for (int i = 0; i < RUNS; i++) {
        ig_array *x = ig_uniform(ig_key((uint64_t)i, NULL), IG_SHAPE(WORDS), IG_F32, NULL, NULL);
        assert_int_equal(ig_eval(&x, 1), IG_OK);
        kept[i] = repeated(x, 0.5 + i, i % 4);
        assert_int_equal(ig_eval(&kept[i], 1), IG_OK);
    }
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(ig_read(kept[i], got[i], sizeof got[i]), IG_OK);
    ig_scope_end();
}

static void a_repeated_schedule_is_one_launch(void **unused)
{
    (void)unused;
    static float want[RUNS][WORDS + 3], got[RUNS][WORDS + 3], plain[RUNS][WORDS + 3];
    ig_set_device("cpu");
    repeat(want);
    ig_set_device("cuda:0");
    const long graphs = fake.count(FAKE_GRAPHS);
    repeat(got);
    assert_memory_equal(got, want, sizeof got);
    assert_true(fake.count(FAKE_GRAPHS) - graphs >= RUNS - 3);
    assert_true(fake.count(FAKE_UPDATES) > 0);
    /* The same without graphs. */
    setenv("IG_CUDA_GRAPHS", "off", 1);
    ig_set_device("cpu");
    ig_shutdown();
    ig_set_device("cuda:0");
    const long none = fake.count(FAKE_GRAPHS);
    repeat(plain);
    unsetenv("IG_CUDA_GRAPHS");
    assert_memory_equal(plain, want, sizeof plain);
    assert_int_equal(fake.count(FAKE_GRAPHS), none);
}

/* A compiled step: its state is donated, so only the numbers change from run to run. */
static void train(float got[RUNS], bool count)
{
    ig_scope_begin();
    ig_array *w = ig_multiply(ig_arange(0, 12, 1, IG_F32), ig_float(0.01));
    ig_array *x = ig_uniform(ig_key(3, NULL), IG_SHAPE(5, 12), IG_F32, NULL, NULL),
             *rate = ig_scalar(0.1, IG_F32);
    ig_array *in[] = {w, rate, x};
    assert_int_equal(ig_eval(in, 3), IG_OK);
    ig_array *y = ig_matmul(x, ig_reshape(w, IG_SHAPE(12, 1)));
    ig_array *loss = ig_mean_all(ig_square(
        ig_subtract(ig_cumulative_sum(y, IG_SHAPE(0), IG_DTYPE_NONE, false), ig_float(1))));
    ig_array *g, *out[2];
    assert_int_equal(ig_grad(loss, &w, 1, &g), IG_OK);
    out[0] = ig_subtract(w, ig_multiply(g, rate));
    out[1] = loss;
    ig_compiled *step = ig_compile(in, 3, 1, out, 2);
    assert_non_null(step);
    for (int i = 0; i < RUNS; i++) {
        ig_array *next[] = {in[0], ig_scalar(0.1 / (1 + i), IG_F32), x}, *result[2];
        const long launches = fake.count(FAKE_LAUNCHES), graphs = fake.count(FAKE_GRAPHS);
        assert_int_equal(ig_run(step, next, result), IG_OK);
        if (count && i >= 3) { /* the whole step */
            assert_int_equal(fake.count(FAKE_LAUNCHES), launches);
            assert_int_equal(fake.count(FAKE_GRAPHS), graphs + 1);
        }
        in[0] = result[0];
        got[i] = (float)ig_item(result[1]);
    }
    ig_compiled_free(step);
    ig_scope_end();
}

static void a_compiled_step_is_one_launch(void **unused)
{
    (void)unused;
    float want[RUNS], got[RUNS];
    ig_set_math(IG_MATH_SAME);
    ig_set_device("cpu");
    train(want, false);
    ig_set_device("cuda:0");
    train(got, true);
    ig_set_math(IG_MATH_STRICT);
    assert_memory_equal(got, want, sizeof got);
    assert_true(got[RUNS - 1] < got[0]);
}

/* An index out of bounds in a graph is reported, and the graph still works. */
static void faults_of_graphs_are_reported(void **unused)
{
    (void)unused;
    float got[WORDS + 3];
    ig_scope_begin();
    ig_array *x = ig_arange(0, WORDS, 1, IG_F32);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    for (int i = 0; i < RUNS; i++) {
        const bool wrong = i == 5;
        ig_array *y = repeated(x, 2, wrong ? WORDS : 1);
        const ig_status status = ig_read(y, got, sizeof got);
        assert_int_equal(status, wrong ? IG_ERR_INDEX : IG_OK);
        if (wrong)
            assert_error(IG_ERR_INDEX, "index 40 is out of bounds");
    }
    ig_scope_end();
}

/* ---- calls that fail ---- */

static int lives_repeat = 1;
static char said[400]; /* the message of the last life */
static bool
    spared; /* an error may remain although everything succeeded: an optional name was left out */

/* One life in which something fails: from looking for devices to the end. */
static bool check_life(const float want[4], const char *what, long n)
{
    float got[4] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED};
    ig_status status = ig_set_device("cuda:0");
    for (int i = 0; i < lives_repeat && status == IG_OK; i++)
        status = compute(got);
    for (int i = 0; i < 4 && status != IG_OK; i++)
        got[i] = UNTOUCHED;
    if (status == IG_OK ? ig_failed() && !spared : !ig_failed())
        fail_msg("%s %ld: the status is %s, the error '%s'", what, n, ig_status_name(status),
                 ig_error(NULL));
    for (int i = 0; i < 4; i++)
        if (got[i] != (status == IG_OK ? want[i] : UNTOUCHED))
            fail_msg("%s %ld: element %d is %g after %s", what, n, i, (double)got[i],
                     ig_status_name(status));
    const char *text = ig_error(NULL);
    if (text && !*text)
        fail_msg("%s %ld: an empty message", what, n);
    snprintf(said, sizeof said, "%s", text ? text : "");
    return status == IG_OK;
}

/* Everything ends; nothing may leak. */
static void end_life(const char *what, long n)
{
    fake.fail_at(0, false);
    fake.lose(0);
    ig_set_device("cpu");
    ig_shutdown();
    if (fake.count(FAKE_OBJECTS) != 0)
        fail_msg("%s %ld: %ld objects of CUDA left", what, n, fake.count(FAKE_OBJECTS));
}

/* Every n; every ninth on slow machines. */
static long stride(void) { return getenv("IG_TEST_QUICK") ? 9 : 1; }

/* For every n, until a life ends before the n-th call. A life continues after a call that failed once. */
static int lives_with_failures(bool always)
{
    const char *const what = always ? "all calls from" : "call";
    float want[4];
    int failed = 0;
    expected(want);
    end_life(what, 0);
    for (long n = 1;; n += stride()) {
        const int64_t live = memory_live();
        fake.fail_at(n, always);
        failed += !check_life(want, what, n);
        const long calls = fake.count(FAKE_CALLS);
        if (!always) {
            fake.fail_at(0, false);
            if (search_count(backend_cuda.search) == 0) /* there will be a new search */
                ig_shutdown();
            if (!check_life(want, "again after call", n))
                fail_msg("call %ld: the device does not recover: %s", n, said);
        }
        end_life(what, n);
        if (memory_live() != live)
            fail_msg("%s %ld: memory is left", what, n);
        if (calls < n)
            return failed;
    }
}

static void every_call_fails_once(void **unused)
{
    (void)unused;
    setenv("IG_CACHE", "off", 1);
    assert_true(lives_with_failures(false) > 20 / stride());
    unsetenv("IG_CACHE");
}

static void every_call_with_the_cache_fails_once(void **unused)
{
    (void)unused;
    assert_true(lives_with_failures(false) > 20 / stride());
}

/* With a graph in it. */
static void every_call_of_a_repeated_life_fails_once(void **unused)
{
    (void)unused;
    lives_repeat = 5;
    const long graphs = fake.count(FAKE_GRAPHS);
    assert_true(lives_with_failures(false) > 20 / stride());
    assert_true(fake.count(FAKE_GRAPHS) - graphs > 20 / stride());
    lives_repeat = 1;
}

static void every_call_of_a_prepared_life_fails_once(void **unused)
{
    (void)unused;
    prepares = true;
    setenv("IG_CACHE", "off", 1);
    assert_true(lives_with_failures(false) > 20 / stride());
    unsetenv("IG_CACHE");
    prepares = false;
}

static void all_calls_fail_from_then_on(void **unused)
{
    (void)unused;
    assert_true(lives_with_failures(true) > 20 / stride());
}

static void fail_allocations(void)
{
    float want[4];
    expected(want);
    end_life("no allocation", 0);
    const int64_t live = memory_live();
    for (int64_t n = 1;; n += 3 * stride()) {
        const int64_t before = memory_count();
        spared = true;
        memory_fail_at(n);
        check_life(want, "allocation", (long)n);
        spared = false;
        const int64_t made = memory_count() - before;
        memory_fail_at(0);
        end_life("allocation", (long)n);
        if (memory_live() != live)
            fail_msg("allocation %ld: memory is left", (long)n);
        if (made < n)
            break;
    }
}

static void every_allocation_fails(void **unused)
{
    (void)unused;
    fail_allocations();
    prepares = true;
    fail_allocations();
    prepares = false;
}

/* ---- a device that is lost ---- */

static void a_lost_device_says_so(void **unused)
{
    (void)unused;
    float got[4];
    ig_scope_begin();
    ig_array *before = ig_add(ig_arange(0, 4, 1, IG_F32), ig_float(1));
    assert_int_equal(ig_eval(&before, 1), IG_OK);
    fake.lose(1);
    assert_int_equal(ig_synchronize("cuda:0"), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS");
    /* Later operations are not blamed, and nothing is read. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(i ? compute(got) : ig_read(before, got, sizeof got), IG_ERR_DEVICE);
        const char *text = ig_error(NULL);
        assert_non_null(text);
        assert_non_null(strstr(text, "restart the process"));
        assert_non_null(strstr(text, "waiting for the GPU: CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    ig_scope_end();
}

static void every_wait_may_find_the_device_lost(void **unused)
{
    (void)unused;
    float want[4];
    expected(want);
    end_life("no wait", 0);
    for (long n = 1;; n++) {
        fake.lose(n);
        const bool fine = check_life(want, "wait", n);
        if (!fine) {
            ig_synchronize("cuda:0");
            assert_error(IG_ERR_DEVICE, "restart the process");
        }
        end_life("wait", n);
        if (fine) {
            assert_true(n > 1);
            return;
        }
    }
}

/* ---- memory ---- */

enum { MIB = 1 << 20 };

static ig_array *floats(int64_t mib)
{
    ig_array *x = ig_add(ig_arange(0, mib * (MIB / 4), 1, IG_F32), ig_float(1));
    return x && ig_eval(&x, 1) == IG_OK ? x : NULL;
}

/* Cached memory is released when it is needed. */
static void memory_that_is_kept_makes_room(void **unused)
{
    (void)unused;
    fake.memory(16 * MIB);
    ig_set_device("cpu");
    ig_shutdown(); /* the device is looked at again */
    ig_set_device("cuda:0");
    for (int mib = 2; mib <= 7; mib++) {
        ig_scope_begin();
        assert_non_null(floats(mib));
        ig_scope_end();
    }
}

static void kept_memory_needs_no_driver(void **unused)
{
    (void)unused;
    const backend *dev = backend_find("cuda:0");
    buffer_release(dev->alloc(dev, 1000));
    fake.fail_at(0, false); /* counts from here on */
    buffer *b = dev->alloc(dev, 1000);
    assert_non_null(b);
    assert_int_equal(fake.count(FAKE_CALLS), 0);
    buffer_release(b);
}

static void a_large_result_comes_in_blocks(void **unused)
{
    (void)unused;
    fake.memory(16 * MIB);
    ig_set_device("cpu");
    ig_shutdown();
    ig_set_device("cuda:0");
    ig_scope_begin();
    ig_array *large = floats(32); /* in blocks, which come back to host memory */
    assert_non_null(large);
    assert_float_equal(ig_item(ig_max(large, IG_NONE, false)), 32 * (MIB / 4), 0);
    assert_int_equal(ig_set_memory_limit(ig_memory_used() + 16 * MIB), IG_OK);
    assert_null(floats(32));
    const char *text = ig_error(NULL);
    assert_non_null(text);
    assert_non_null(strstr(text, "the smallest limit that works is"));
    assert_int_equal(ig_set_memory_limit(0), IG_OK);
    assert_non_null(floats(4));
    ig_scope_end();
}

/* ---- several GPUs ---- */

static void begin_with_devices(const char *n)
{
    setenv("FAKE_CUDA_DEVICES", n, 1);
    ig_set_device("cpu");
    ig_shutdown();
    assert_int_equal(ig_set_device("cuda:0"), IG_OK);
}

static void arrays_move_between_gpus(void **unused)
{
    (void)unused;
    float want[4], got[4];
    expected(want);
    begin_with_devices("2");
    assert_int_equal(ig_set_device("cuda:1"), IG_OK);
    assert_int_equal(compute(got), IG_OK);
    assert_memory_equal(got, want, sizeof got);
    ig_set_device("cuda:0");
    ig_scope_begin();
    const long copies = fake.count(FAKE_PEER_COPIES);
    ig_array *x = ig_add(ig_arange(0, 4, 1, IG_F32), ig_float(1));
    ig_array *y = ig_multiply(ig_to_device(x, "cuda:1"), ig_float(2));
    ig_array *z = ig_add(ig_to_device(y, "cuda:0"), x);
    assert_int_equal(ig_read(z, got, sizeof got), IG_OK);
    assert_string_equal(ig_array_device(y), "cuda:1");
    assert_int_equal(fake.count(FAKE_PEER_COPIES), copies + 2);
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == (float)(3 * (i + 1)));
    assert_null(ig_add(x, y));
    assert_error(IG_ERR_DEVICE, "cuda:1");
    ig_scope_end();
    begin_with_devices("1");
}

static void copies_between_gpus_may_fail(void **unused)
{
    (void)unused;
    begin_with_devices("2");
    for (long n = 1;; n++) {
        float got[4] = {0};
        ig_scope_begin();
        ig_array *x = ig_add(ig_arange(0, 4, 1, IG_F32), ig_float(1));
        assert_int_equal(ig_eval(&x, 1), IG_OK);
        fake.fail_at(n, false);
        ig_array *y = ig_to_device(x, "cuda:1");
        const ig_status status = ig_read(y, got, sizeof got);
        const long calls = fake.count(FAKE_CALLS);
        fake.fail_at(0, false);
        if (status == IG_OK)
            assert_true(got[3] == 4);
        else
            assert_true(ig_failed());
        ig_error(NULL);
        ig_scope_end();
        if (calls < n)
            break;
    }
    begin_with_devices("1");
}

/* ---- drivers and compilers that are missing or old ---- */

static const char *absence(const char **remedy)
{
    ig_set_device("cpu");
    ig_shutdown();
    return search_absent(backend_cuda.search, remedy);
}

static void an_old_driver_is_named(void **unused)
{
    (void)unused;
    const char *remedy;
    setenv("IG_CUDA", cuda_library("old.so"), 1);
    const char *why = absence(&remedy);
    assert_non_null(why);
    assert_non_null(strstr(why, "the driver lacks cuDriverGetVersion: it is too old"));
    assert_non_null(strstr(remedy, "newer NVIDIA driver"));
    setenv("IG_CUDA", "/nowhere/libcuda.so", 1);
    assert_non_null(strstr(absence(&remedy), "does not load"));
    setenv("IG_CUDA", cuda_library("cuda.so"), 1);
    assert_null(absence(&remedy));
}

/* Without its optional functions the driver is slower, not wrong. */
static void a_driver_without_graphs_works(void **unused)
{
    (void)unused;
    float want[4], got[4];
    const char *remedy;
    expected(want);
    setenv("IG_CUDA", cuda_library("plain.so"), 1);
    assert_null(absence(&remedy));
    assert_int_equal(ig_set_device("cuda:0"), IG_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(compute(got), IG_OK);
        assert_memory_equal(got, want, sizeof got);
    }
    setenv("IG_CUDA", cuda_library("cuda.so"), 1);
    assert_null(absence(&remedy));
}

int main(int argc, char **argv)
{
    (void)argc;
    cuda_prepare(argv[0]);
#define TEST(f) cmocka_unit_test_setup_teardown(f, cuda_test_begin, cuda_test_end)
    const struct CMUnitTest tests[] = {
        TEST(results_are_those_of_the_cpu),
        TEST(variables_begin_anew),
        TEST(kernels_come_from_the_cache),
        TEST(threads_compile_a_new_schedule),
        TEST(kernels_are_prepared_together),
        TEST(a_repeated_schedule_is_one_launch),
        TEST(a_compiled_step_is_one_launch),
        TEST(faults_of_graphs_are_reported),
        TEST(every_call_fails_once),
        TEST(every_call_with_the_cache_fails_once),
        TEST(every_call_of_a_repeated_life_fails_once),
        TEST(every_call_of_a_prepared_life_fails_once),
        TEST(all_calls_fail_from_then_on),
        TEST(every_allocation_fails),
        TEST(a_lost_device_says_so),
        TEST(every_wait_may_find_the_device_lost),
        TEST(memory_that_is_kept_makes_room),
        TEST(kept_memory_needs_no_driver),
        TEST(a_large_result_comes_in_blocks),
        TEST(arrays_move_between_gpus),
        TEST(copies_between_gpus_may_fail),
        TEST(an_old_driver_is_named),
        TEST(a_driver_without_graphs_works),
    };
    return cmocka_run_group_tests(tests, cuda_begin, cuda_end);
}
