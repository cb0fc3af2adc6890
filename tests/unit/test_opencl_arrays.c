/* Arrays on an OpenCL device whose driver fails: every n-th call of a whole evaluation, once and from then on. Each
 * time there is one error or the right result: no crash, no leak, and right results afterwards. Also many threads on
 * one device, two devices in one process, a child of fork, and how many kernels are compiled. */
#include "engine/backend/search.h"
#include "support/opencl.h"

#include "engine/array/array.h"
#include "base/memory.h"
#include "engine/eval/kernel_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 4, COLUMNS = 6, SIZE = ROWS * COLUMNS, RESULTS = 6, THREADS = 64 };

/* ---- one evaluation of each kind of program ---- */

static ig_array *numbers(int rows, int columns)
{
    float v[1024];
    for (int i = 0; i < rows * columns; i++)
        v[i] = (float)((i * 7) % 11) * 0.25f;
    return ig_from_data(v, IG_SHAPE(rows, columns), IG_F32);
}

/* A map, a reduction, a chain, a contraction, a sort, and rows at indices; NULL if building failed. */
static void build(int rows, int columns, ig_array *out[RESULTS])
{
    ig_array *x = numbers(rows, columns);
    ig_array *at = ig_from_data((const int64_t[]){2, -1}, IG_SHAPE(2), IG_I64);
    out[0] = ig_add(ig_multiply(x, x), ig_float(0.5));
    out[1] = ig_sum(x, IG_AXES(1), IG_DTYPE_NONE, false);
    out[2] = ig_softmax(x, IG_AXES(1));
    out[3] = ig_matmul(x, ig_matrix_transpose(x));
    out[4] = ig_sort(x, 1, false, true);
    out[5] = ig_take(x, at, IG_AXES(0));
}

/* The results, one after another, in got. */
static ig_status compute(const char *device, float got[static RESULTS * SIZE])
{
    ig_array *out[RESULTS];
    float *to = got;
    ig_status status = ig_set_device(device);
    if (status != IG_OK)
        return status;
    build(ROWS, COLUMNS, out);
    status = ig_failed() ? IG_ERR_DEVICE : ig_eval(out, RESULTS);
    for (int i = 0; i < RESULTS && status == IG_OK; i++) {
        ig_array *here = ig_to_device(out[i], "cpu");
        const size_t bytes = (size_t)ig_size(out[i]) * sizeof *to;
        status = here ? ig_read(here, to, bytes) : IG_ERR_MEMORY;
        to += ig_size(out[i]);
    }
    return status;
}

/* From the search for the device to its closing. */
static ig_status live(float got[static RESULTS * SIZE])
{
    ig_status status = ig_scope_begin();
    if (status == IG_OK)
        status = compute("opencl:0", got);
    if (status == IG_OK && ig_failed())
        status = IG_ERR_DEVICE;
    ig_shutdown();
    return status;
}

static float want[RESULTS * SIZE];

static void know_results(void)
{
    ig_scope_begin();
    assert_int_equal(compute("cpu", want), IG_OK);
    ig_scope_end();
}

static long calls; /* of the last life */

static bool check_life(const char *what, long n)
{
    static float got[RESULTS * SIZE];
    memset(got, 0, sizeof got);
    const long objects = shim.objects();
    const ig_status status = live(got);
    const char *said = ig_error(NULL);
    calls = shim.calls();
    shim.at(0, false);
    ig_set_device("cpu");
    if (status == IG_OK && memcmp(got, want, sizeof want) != 0)
        fail_msg("%s %ld: wrong results without an error", what, n);
    if ((status == IG_OK) != (said == NULL))
        fail_msg("%s %ld: %s, but the error is '%s'", what, n, ig_status_name(status),
                 said ? said : "none");
    if (shim.objects() != objects)
        fail_msg("%s %ld: %ld objects of OpenCL left", what, n, shim.objects() - objects);
    return status == IG_OK;
}

static void lives_with_failures(bool always, long step)
{
    if (!opencl_device_or_skip(0))
        return;
    know_results();
    ig_shutdown();
    assert_true(check_life("no call", 0)); /* kernels are in the cache from now on */
    int failed = 0;
    for (long n = 1;; n += step) {
        shim.at(n, always);
        const bool fine = check_life(always ? "all calls from" : "call", n);
        failed += !fine;
        if (fine && calls < n)
            break;
        if (n > 5000)
            fail_msg("a life has more than 5000 calls");
    }
    assert_true(failed > 5);
    assert_true(check_life("no call afterwards", 0));
}

/* Every call, or every twenty-third. */
static long steps(void) { return getenv("IG_TEST_QUICK") ? 23 : 1; }

static void every_call_fails_once(void **unused)
{
    (void)unused;
    lives_with_failures(false, steps());
}

static void all_calls_fail_from_then_on(void **unused)
{
    (void)unused;
    lives_with_failures(true, steps());
}

/* ---- results that failed late ---- */

static void results_of_failed_launches_cannot_be_read(void **unused)
{
    (void)unused;
    float got[SIZE];
    if (!opencl_device_or_skip(0))
        return;
    ig_scope_begin();
    assert_int_equal(ig_set_device("opencl:0"), IG_OK);
    ig_array *x = numbers(ROWS, COLUMNS), *y = ig_multiply(x, ig_float(2));
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    shim.launch(1);
    const ig_status evaluated = ig_eval(&y, 1);
    if (evaluated == IG_OK) {
        assert_int_not_equal(ig_read(y, got, sizeof got), IG_OK);
        ig_status code;
        const char *said = ig_error(&code);
        assert_int_equal(code, IG_ERR_DEVICE);
        assert_non_null(strstr(said, "opencl:0"));
        ig_array *z = ig_add(y, ig_float(1)); /* nothing can be computed from it */
        assert_true(ig_eval(&z, 1) != IG_OK || ig_read(z, got, sizeof got) != IG_OK);
    }
    ig_error(NULL);
    ig_array *fine = ig_add(numbers(ROWS, COLUMNS), ig_float(1));
    assert_int_equal(ig_read(fine, got, sizeof got), IG_OK);
    assert_float_equal(got[1], 7 * 0.25 + 1, 0);
    ig_scope_end();
    ig_set_device("cpu");
    ig_shutdown();
}

/* The error names the op and the device, and results computed since then cannot be read. */
static void a_bad_index_names_op_and_device(void **unused)
{
    (void)unused;
    static const char *const names[] = {"gang", "opencl:0"};
    float got[SIZE];
    if (!opencl_device_or_skip(0))
        return;
    for (int d = 0; d < 2; d++) {
        ig_scope_begin();
        ig_set_device(names[d]);
        ig_array *at = ig_from_data((const int64_t[]){1, 9}, IG_SHAPE(2), IG_I64);
        ig_array *y = ig_exp(ig_take(numbers(ROWS, COLUMNS), at, IG_AXES(0)));
        ig_status status = ig_eval(&y, 1);
        ig_array *z = status == IG_OK ? ig_add(y, ig_float(1)) : NULL;
        if (status == IG_OK)
            status = ig_read(y, got, 2 * COLUMNS * sizeof *got);
        assert_int_equal(status, IG_ERR_INDEX);
        ig_status code;
        const char *said = ig_error(&code);
        assert_int_equal(code, IG_ERR_INDEX);
        assert_non_null(strstr(said, "index 9 is out of bounds for an axis of length 4"));
        assert_non_null(strstr(said, "exp"));
        assert_non_null(strstr(said, names[d]));
        if (z) {
            assert_int_not_equal(ig_read(z, got, 2 * COLUMNS * sizeof *got), IG_OK);
            assert_error(IG_ERR_DEVICE, "not valid");
        }
        ig_array *fine = ig_add(numbers(ROWS, COLUMNS), ig_float(1));
        assert_int_equal(ig_read(fine, got, sizeof got), IG_OK);
        ig_scope_end();
    }
    ig_set_device("cpu");
    ig_shutdown();
}

/* ---- threads, devices, processes ---- */

static void *thread_main(void *failures)
{
    static _Thread_local float got[RESULTS * SIZE];
    for (int i = 0; i < 2; i++) {
        ig_scope_begin();
        const bool fine = compute("opencl:0", got) == IG_OK && memcmp(got, want, sizeof want) == 0;
        ig_scope_end();
        if (!fine)
            __atomic_add_fetch((int *)failures, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void many_threads_use_one_device(void **unused)
{
    (void)unused;
    pthread_t threads[THREADS];
    int failures = 0;
    if (!opencl_device_or_skip(0))
        return;
    know_results();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_main, &failures), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    ig_set_device("cpu");
    ig_shutdown();
}

static void two_devices_work_in_one_process(void **unused)
{
    (void)unused;
    static float got[RESULTS * SIZE];
    if (!opencl_device_or_skip(0))
        return;
    know_results();
    ig_scope_begin();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(compute("gang", got), IG_OK);
        assert_memory_equal(got, want, sizeof want);
        assert_int_equal(compute("opencl:0", got), IG_OK);
        assert_memory_equal(got, want, sizeof want);
    }
    ig_set_device("gang");
    ig_array *a = numbers(2, 2);
    ig_set_device("opencl:0");
    ig_array *b = numbers(2, 2);
    assert_refused(ig_add(a, b), IG_ERR_DEVICE, "to_device");
    ig_array *sum = ig_add(ig_to_device(a, "opencl:0"), b);
    assert_float_equal(ig_item(ig_max(sum, IG_NONE, false)), 2 * 2.5, 0);
    ig_scope_end();
    ig_set_device("cpu");
    ig_shutdown();
}

static void a_forked_child_is_told(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    ig_scope_begin();
    ig_set_device("opencl:0");
    ig_array *x = ig_add(numbers(2, 2), ig_float(1));
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        ig_array *y = ig_multiply(x, x);
        float got[4];
        const bool told =
            ig_read(y, got, sizeof got) == IG_ERR_DEVICE && strstr(ig_error(NULL), "fork") != NULL;
        _exit(told ? 7 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_float_equal(ig_item(ig_min(x, IG_NONE, false)), 1, 0);
    ig_scope_end();
    ig_set_device("cpu");
    ig_shutdown();
}

/* A user kernel runs on the device of its arrays, between other programs, whatever the current device is. */
static void kernels_run_where_their_arrays_are(void **unused)
{
    (void)unused;
    static const char *const names[] = {"cpu", "gang", "opencl:0"};
    static const char source[] = "extern \"C\" __global__ void scale(const float *x, float a, "
                                 "float *y, const float *one) {\n"
                                 "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                 "    if (i < 24) y[i] += a * x[i] * *one;\n}\n";
    float first[SIZE], got[SIZE];
    if (!opencl_device_or_skip(0))
        return;
    for (int d = 0; d < 3; d++)
        for (int lazy = 0; lazy < 2; lazy++) {
            ig_scope_begin();
            ig_set_device(names[d]);
            ig_array *x = ig_exp(numbers(ROWS, COLUMNS)), *y = NULL;
            ig_array *a = lazy ? ig_max(x, IG_NONE, false) : ig_scalar(0.5, IG_F32);
            ig_set_device("cpu");
            const ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = x},
                                   {.kind = IG_ARG_ARRAY, .u.array = a},
                                   {.kind = IG_ARG_ARRAY, .u.array = ig_negative(x)},
                                   {.kind = IG_ARG_ARRAY, .u.array = ig_scalar(1, IG_F32)}};
            const ig_kernel_call call = {
                .source = source, .kernel = "scale", .args = args, .n_args = 4};
            if (ig_kernel(&call, &y, 1) != 1)
                fail_msg("%s: %s", names[d], ig_error(NULL));
            assert_string_equal(ig_array_device(y), names[d]);
            ig_array *z = ig_add(y, ig_multiply(x, ig_float(2)));
            assert_string_equal(ig_array_device(z), names[d]);
            if (ig_read(z, got, sizeof got) != IG_OK)
                fail_msg("%s: %s", names[d], ig_error(NULL));
            if (lazy == 0 && d == 0)
                memcpy(first, got, sizeof first);
            for (int i = 0; i < SIZE && !lazy; i++)
                assert_float_equal(got[i], first[i], 1e-5 * (1 + first[i]));
            ig_scope_end();
        }
    ig_shutdown();
}

/* Indices of more than 31 bits, in memory with only some pages present. */
static void far_elements_are_reached(void **unused)
{
    (void)unused;
    const int64_t step = 3 << 28, n = 4 * step + 1; /* 3 GiB and one byte */
    uint8_t got[5];
    uint8_t *data = mmap(NULL, (size_t)n + 4096, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(data != MAP_FAILED);
    for (int i = 0; i < 5; i++)
        data[i * step] = (uint8_t)(10 + i);
    ig_scope_begin();
    ig_set_device("gang");
    ig_array *x = ig_from_memory(data, (size_t)n + 4096, IG_SHAPE(n), IG_U8, NULL, NULL);
    const int64_t zero = 0;
    ig_array *few = ig_slice(x, (ig_ints){&zero, 1}, (ig_ints){&n, 1}, (ig_ints){&step, 1});
    ig_array *y = ig_add(few, ig_int(1));
    if (ig_read(y, got, sizeof got) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < 5; i++)
        assert_int_equal(got[i], 11 + i);
    const int64_t at[] = {n - 1, -1 - step, step, 3 * step, 0};
    ig_array *taken = ig_take(x, ig_from_data(at, IG_SHAPE(5), IG_I64), IG_AXES(0));
    assert_int_equal(ig_read(taken, got, sizeof got), IG_OK);
    assert_memory_equal(got, ((const uint8_t[]){14, 13, 11, 13, 10}), 5);
    ig_array *bad = ig_take(x, ig_from_data(&n, IG_SHAPE(1), IG_I64), IG_AXES(0));
    assert_int_equal(ig_read(bad, got, 1), IG_ERR_INDEX);
    assert_error(IG_ERR_INDEX, "index 3221225473 is out of bounds");
    ig_scope_end();
    ig_set_device("cpu");
    ig_shutdown();
    munmap(data, (size_t)n + 4096);
}

/* Other shapes of the same graph compile nothing. */
static void shapes_share_kernels(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    ig_set_device("opencl:0");
    int compiled = 0;
    for (int i = 0; i < 3; i++) {
        ig_array *out[RESULTS];
        ig_scope_begin();
        build(5 + 2 * i, 9 + 2 * i, out);
        assert_int_equal(ig_eval(out, RESULTS), IG_OK);
        ig_scope_end();
        if (i == 0)
            compiled = kernels_count();
        assert_int_equal(kernels_count(), compiled);
    }
    ig_set_device("cpu");
    ig_shutdown();
}

/* Short rows of any length share a kernel, and so do columns, whatever their step is. */
static void lengths_share_kernels(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    ig_set_device("opencl:0");
    int compiled = 0;
    for (int i = 0; i < 4; i++) {
        ig_scope_begin();
        ig_array *x = numbers(5 + i, 17 + i);
        const int64_t zero[2] = {0}, end[2] = {5 + i, 17 + i}, step[2] = {i < 2 ? 1 : 2, 1};
        ig_array *y = ig_slice(x, (ig_ints){zero, 2}, (ig_ints){end, 2}, (ig_ints){step, 2});
        ig_array *sums[] = {ig_sum(x, IG_AXES(1), IG_DTYPE_NONE, false),
                            ig_exp(ig_matrix_transpose(y))};
        for (int k = 0; k < 2; k++)
            assert_int_equal(ig_eval(&sums[k], 1), IG_OK);
        ig_scope_end();
        if (i == 0)
            compiled = kernels_count();
        assert_int_equal(kernels_count(), compiled);
    }
    ig_set_device("cpu");
    ig_shutdown();
}

/* Softmax, layer norm and cross entropy are one kernel each; attention is one kernel after the one that scales the
 * query. With `same` all have the CPU's bits. 37 and 75 are not multiples of a tile. */
static void rows_are_one_kernel(void **unused)
{
    (void)unused;
    enum { HEADS = 2, TOKENS = 37, KEYS = 75, WIDTH = 5 };
    static float result[2][4][HEADS * TOKENS * KEYS];
    static const int kernels[4] = {1, 1, 1, 2};
    if (!opencl_device_or_skip(0))
        return;
    ig_set_math(IG_MATH_SAME);
    for (int i = 0; i < 2; i++) {
        ig_scope_begin();
        ig_set_device(i ? "opencl:0" : "cpu");
        ig_array *q =
            ig_normal(ig_key(1, NULL), IG_SHAPE(HEADS, TOKENS, WIDTH), IG_F32, NULL, NULL);
        ig_array *k = ig_normal(ig_key(2, NULL), IG_SHAPE(HEADS, KEYS, WIDTH), IG_F32, NULL, NULL);
        ig_array *v = ig_normal(ig_key(3, NULL), IG_SHAPE(HEADS, KEYS, WIDTH), IG_F32, NULL, NULL);
        ig_array *x = ig_normal(ig_key(4, NULL), IG_SHAPE(TOKENS, KEYS), IG_F32, NULL, NULL);
        ig_array *label = ig_randint(ig_key(5, NULL), IG_SHAPE(TOKENS), 0, KEYS, IG_I64);
        assert_int_equal(ig_eval((ig_array *[]){q, k, v, x, label}, 5), IG_OK);
        ig_array *y[4] = {ig_softmax(x, IG_AXES(-1)),
                          ig_layer_norm(x, NULL, NULL, IG_AXES(-1), 1e-5),
                          ig_cross_entropy(x, label, -1, "none"),
                          ig_scaled_dot_product_attention(q, k, v, NULL, false, 0)};
        for (int j = 0; j < 4; j++) {
            const int before = kernels_count();
            if (ig_read(y[j], result[i][j], (size_t)ig_size(y[j]) * sizeof(float)) != IG_OK)
                fail_msg("%s", ig_error(NULL));
            assert_int_equal(kernels_count() - before, i ? kernels[j] : 0);
            assert_memory_equal(result[0][j], result[i][j], sizeof result[0][j]);
        }
        ig_scope_end();
    }
    ig_set_math(IG_MATH_STRICT);
    ig_set_device("cpu");
    ig_shutdown();
}

/* The view of a flipped array begins at its last row, also where rows have no elements. */
static void operands_may_be_empty(void **unused)
{
    (void)unused;
    float got[6];
    if (!opencl_device_or_skip(0))
        return;
    ig_set_device("opencl:0");
    ig_scope_begin();
    ig_array *x = ig_flip(ig_from_data(got, IG_SHAPE(3, 0), IG_F32), IG_NONE);
    ig_array *y = ig_matmul(x, ig_from_data(got, IG_SHAPE(0, 2), IG_F32));
    if (ig_read(y, got, sizeof got) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < 6; i++)
        assert_true(got[i] == 0);
    ig_scope_end();
    ig_set_device("cpu");
    ig_shutdown();
}

/* ---- texts for PoCL's compiler ---- */

static const char *const no_header = "-D_OPENCL_H_";

/* A kernel that writes a value, built and run; returns the options of the last build. */
static const char *build_value(const backend *dev, const char *value, float expected)
{
    char source[512];
    float got = 0;
    snprintf(source, sizeof source,
             "__kernel void number(__global char *p, ulong at)\n{\n"
             "    *(__global float *)(p + at) = %s;\n}\n",
             value);
    const kernel_image t = {.entry = "number",
                            .source = source,
                            .params = (const kernel_param[]){{.kind = KERNEL_BUFFER}},
                            .n_params = 1};
    kernel_code *k = NULL;
    if (dev->kernel_build(dev, &t, &k) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    buffer *y = dev->alloc(dev, sizeof got);
    const kernel_arg args[] = {{.at = {y, 0}}};
    const kernel_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args};
    assert_int_equal(dev->kernel_launch(k, &l), IG_OK);
    assert_int_equal(dev->read(y, 0, &got, sizeof got), IG_OK);
    assert_true(got == expected);
    buffer_release(y);
    dev->kernel_discard(k);
    return shim.options();
}

/* PoCL reads its header of all functions only for texts that need it. It is not asked for binaries, because it would
 * compile again. */
static void headers_are_read_if_needed(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    const long before = shim.compiled(), asked = shim.binaries();
    assert_non_null(strstr(build_value(dev, "floor(2.5f) + fmax(1.0f, 4.0f)", 6), no_header));
    assert_non_null(strstr(build_value(dev, "(float)mul_hi(1u << 31, 8u)", 4), no_header));
    assert_int_equal(shim.compiled() - before, 2);
    assert_null(
        strstr(build_value(dev, "round(2.5f)", 3), no_header)); /* not a function we declare */
    assert_int_equal(shim.compiled() - before, 3);
    /* We declare the function, but not for vectors. */
    assert_null(strstr(build_value(dev, "floor((float2)(1.5f, 2.5f)).y", 2), no_header));
    assert_int_equal(shim.compiled() - before, 5);
    assert_non_null(strstr(build_value(dev, "floor(3.5f)", 3), no_header));
    assert_int_equal(shim.compiled() - before, 6);
    assert_int_equal(shim.binaries(), asked);
}

/* On NVIDIA's OpenCL, a warp shuffles if all its threads take part, and extremes of floats are instructions. */
static void nvidia_has_instructions(void **unused)
{
    (void)unused;
    backend_release_all();
    setenv("IG_TEST_PLATFORM", "NVIDIA CUDA", 1);
    setenv("IG_TEST_GPU", "1", 1);
    const backend *dev = search_at(backend_opencl.search, 0);
    if (dev) {
        assert_true(dev->limits.extremes && dev->limits.masked_shuffles);
        assert_int_equal(dev->limits.subgroup, 32);
        ig_scope_begin();
        assert_int_equal(ig_set_device("opencl:0"), IG_OK);
        ig_array *x = ig_from_data((const float[]){1, 2}, IG_SHAPE(2), IG_F32);
        x = ig_maximum(x, ig_multiply(x, x));
        assert_int_equal(ig_eval(&x, 1), IG_ERR_DEVICE); /* PoCL does not accept the instructions */
        assert_non_null(strstr(ig_error(NULL), "'asm'"));
        ig_scope_end();
        ig_set_device("cpu");
        ig_shutdown();
    }
    unsetenv("IG_TEST_GPU");
    unsetenv("IG_TEST_PLATFORM");
    backend_release_all();
    dev = search_at(backend_opencl.search, 0);
    assert_true(!dev || !dev->limits.extremes);
}

/* Kernels of several evaluations are one text for the driver's compiler. */
static void kernels_are_prepared_together(void **unused)
{
    (void)unused;
    float result[2][3][24];
    if (!opencl_device_or_skip(0))
        return;
    for (int i = 0; i < 2; i++) {
        ig_scope_begin();
        ig_set_device(i ? "opencl:0" : "cpu");
        ig_array *x = ig_uniform(ig_key(1, NULL), IG_SHAPE(24), IG_F32, NULL, NULL);
        assert_int_equal(ig_eval(&x, 1), IG_OK);
        ig_array *y[3] = {ig_exp(x), ig_sin(x), ig_multiply(x, ig_flip(x, IG_NONE))};
        const long compiled = shim.compiled();
        assert_int_equal(ig_prepare(y, (int[]){1, 1, 1}, 3), IG_OK);
        assert_int_equal(shim.compiled() - compiled, i);
        for (int k = 0; k < 3; k++)
            assert_int_equal(ig_read(y[k], result[i][k], sizeof result[i][k]), IG_OK);
        assert_int_equal(shim.compiled() - compiled, i);
        ig_scope_end();
    }
    assert_memory_equal(result[0], result[1], sizeof result[0]);
    ig_set_device("cpu");
    ig_shutdown();
}

/* The sum of 100 arrays fuses into one program, but a PoCL kernel can have at most 1024 bytes of parameters. The same
 * holds for the assembly of 100 arrays. */
static void more_inputs_than_a_kernel_has(void **unused)
{
    (void)unused;
    enum { INPUTS = 100 };
    if (!opencl_device_or_skip(0))
        return;
    ig_scope_begin();
    assert_int_equal(ig_set_device("opencl:0"), IG_OK);
    ig_array *x[INPUTS], *sum = NULL;
    for (int i = 0; i < INPUTS; i++) {
        x[i] = ig_from_data((const float[]){(float)i, 1}, IG_SHAPE(2), IG_F32);
        sum = sum ? ig_add(sum, x[i]) : x[i];
    }
    ig_array *all = ig_concat(x, INPUTS, IG_AXES(0)), *out[] = {sum, all};
    if (ig_eval(out, 2) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    float got[2], every[2 * INPUTS];
    assert_int_equal(ig_read(sum, got, sizeof got), IG_OK);
    assert_true(got[0] == INPUTS * (INPUTS - 1) / 2 && got[1] == INPUTS);
    assert_int_equal(ig_read(all, every, sizeof every), IG_OK);
    for (int i = 0; i < INPUTS; i++)
        assert_true(every[2 * i] == (float)i && every[2 * i + 1] == 1);
    ig_scope_end();
    ig_set_device("cpu");
    ig_shutdown();
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    setenv("POCL_DEVICES", "basic", 1); /* no threads: each life is short */
#define TEST(f) cmocka_unit_test_setup_teardown(f, opencl_test_begin, opencl_test_end)
    const struct CMUnitTest tests[] = {
        TEST(every_call_fails_once),
        TEST(all_calls_fail_from_then_on),
        TEST(results_of_failed_launches_cannot_be_read),
        TEST(a_bad_index_names_op_and_device),
        TEST(many_threads_use_one_device),
        TEST(two_devices_work_in_one_process),
        TEST(a_forked_child_is_told),
        TEST(kernels_run_where_their_arrays_are),
        TEST(far_elements_are_reached),
        TEST(shapes_share_kernels),
        TEST(lengths_share_kernels),
        TEST(operands_may_be_empty),
        TEST(nvidia_has_instructions),
        TEST(headers_are_read_if_needed),
        TEST(rows_are_one_kernel),
        TEST(more_inputs_than_a_kernel_has),
        TEST(kernels_are_prepared_together),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
