/* Failures of OpenCL: the n-th call, once or from then on, for every n in the whole life of a device; our n-th
 * allocation; a launch whose failure is reported by a later wait. Each time there is one clear error or the right
 * result: no crash, no leak, and no result of a failed command. */
#include "support/opencl.h"

#include "engine/backend/pool.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32, UNTOUCHED = -77 };

/* ---- a whole life ---- */

/* From the search for devices to the end. If it returns IG_OK, got has the result; otherwise got is unchanged. */
typedef ig_status lifetime(int32_t got[N]);

/* Everything that a life creates; NULL if not created. */
typedef struct life {
    const backend *dev;
    buffer *x, *y, *sum;
    kernel_code *number, *add;
    uint64_t ns;
} life;

static ig_status live_on(life *l, int32_t got[N])
{
    const backend *dev = l->dev;
    const int32_t scale = 3;
    const kernel_arg args[] = {{.at = {l->x, 4}}, {.bytes = &scale}};
    const kernel_launch timed = {
        .grid = {N / 8, 1, 1}, .block = {8, 1, 1}, .args = args, .device_ns = &l->ns};
    ig_status s = dev->fill(l->x, 0, 1, l->x->bytes);
    if (s == IG_OK)
        s = dev->write(l->y, 0, got, N * sizeof *got);
    if (s == IG_OK)
        s = dev->kernel_build(dev, &opencl_number, &l->number);
    if (s == IG_OK)
        s = dev->kernel_build(dev, &opencl_add, &l->add);
    if (s == IG_OK)
        s = dev->kernel_launch(l->number, &timed);
    if (s == IG_OK)
        s = opencl_run_add(l->add, (binding){l->x, 4}, (binding){l->y, 0}, (binding){l->sum, 0}, N);
    if (s == IG_OK)
        s = dev->copy(l->y, 0, l->sum, 0, N * sizeof *got);
    if (s == IG_OK)
        s = dev->finish(dev);
    return s;
}

/* The life of kernels and buffers. */
static ig_status live_as_buffers(int32_t got[N])
{
    life l = {.dev = backend_find("opencl")};
    ig_absent a;
    ig_status s = IG_ERR_MEMORY;
    if (!l.dev) {
        assert_true(backend_absent(0, &a));
        assert_true(a.why[0] && a.remedy && a.remedy[0]);
        backend_release_all();
        return IG_ERR_DEVICE;
    }
    int32_t first[N];
    for (int i = 0; i < N; i++)
        first[i] = i;
    l.x = l.dev->alloc(l.dev, 4 + sizeof first);
    l.y = l.x ? l.dev->alloc(l.dev, sizeof first) : NULL;
    l.sum = l.y ? l.dev->alloc(l.dev, sizeof first) : NULL;
    if (l.sum)
        s = live_on(&l, first);
    if (s == IG_OK)
        s = l.dev->read(l.y, 0, got, sizeof first);
    assert_int_equal(s == IG_OK, !ig_failed());
    l.dev->kernel_discard(l.number);
    l.dev->kernel_discard(l.add);
    buffer_release(l.x);
    buffer_release(l.y);
    buffer_release(l.sum);
    backend_release_all();
    return s;
}

static void hear(void *context, const char *text, size_t bytes)
{
    *(bool *)context = bytes == 8 && memcmp(text, "scale 3\n", 8) == 0;
}

/* The life of a module: variables, and a log. */
static ig_status launch_module(ig_module *m, int32_t got[N])
{
    ig_scope_begin();
    ig_array *x = ig_arange(0, N, 1, IG_I32), *y = NULL;
    const ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = x}};
    bool said = false;
    const ig_launch l = {.device = "opencl",
                         .grid = {N / 8},
                         .block = {8},
                         .args = args,
                         .n_args = 1,
                         .print = hear,
                         .context = &said};
    ig_status s = x && !ig_failed() ? ig_module_launch(m, "number", &l, &y) : IG_ERR_MEMORY;
    const void *data = s == IG_OK ? ig_data(y) : NULL;
    if (data)
        memcpy(got, data, N * sizeof *got);
    s = s == IG_OK && !data ? IG_ERR_MEMORY : s;
    assert_true(said || s != IG_OK);
    ig_scope_end();
    return s;
}

static ig_status live_as_module(int32_t got[N])
{
    static const char source[] = "__device__ int scale = 3;\n"
                                 "__global__ void number(int *x) {\n"
                                 "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                 "    x[i] += scale * i;\n"
                                 "    if (i == 0) printf(\"scale %d\\n\", scale);\n}\n";
    ig_module *m = ig_module_new("number.cu", source, NULL);
    const ig_status s = m ? launch_module(m, got) : IG_ERR_MEMORY;
    assert_int_equal(s == IG_OK, !ig_failed());
    ig_module_free(m);
    ig_shutdown(); /* also releases what was created for arrays */
    return s;
}

/* One life in which something fails; n is only for messages. */
static bool check_life(lifetime *live, const char *what, long n)
{
    int32_t got[N];
    for (int i = 0; i < N; i++)
        got[i] = UNTOUCHED;
    const long objects = shim.objects();
    const ig_status s = live(got);
    for (int i = 0; i < N; i++)
        if (got[i] != (s == IG_OK ? 4 * i : UNTOUCHED))
            fail_msg("%s %ld: element %d is %d after %s", what, n, i, got[i], ig_status_name(s));
    if (shim.objects() != objects)
        fail_msg("%s %ld: %ld objects of OpenCL left", what, n, shim.objects() - objects);
    const char *text = ig_error(NULL);
    if (text && (!*text || strchr(text, '\n')))
        fail_msg("%s %ld: not one line: '%s'", what, n, text);
    return s == IG_OK;
}

/* Every n; every third on slow machines. */
static long step(void) { return getenv("IG_TEST_QUICK") ? 3 : 1; }

/* For every n, until a life ends before the n-th call. Returns how many lives failed. */
static int lives_with_failures(lifetime *live, bool always)
{
    int failed = 0;
    for (long n = 1;; n += step()) {
        shim.at(n, always);
        failed += !check_life(live, always ? "all calls from" : "call", n);
        const long calls = shim.calls();
        shim.at(0, false);
        if (calls < n)
            return failed;
    }
}

static lifetime *const lives[] = {live_as_buffers, live_as_module};
enum { LIVES = sizeof lives / sizeof lives[0] };

/* A child process must find the same devices as this one. */
static void the_environment_stays(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    setenv("OCL_ICD_FILENAMES", "libone.so:libtwo.so", 1);
    backend_release_all(); /* so that there is a new search */
    assert_non_null(backend_find("opencl"));
    assert_string_equal(getenv("OCL_ICD_FILENAMES"), "libone.so:libtwo.so");
    unsetenv("OCL_ICD_FILENAMES");
}

static void every_call_fails_once(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    backend_release_all();
    setenv("IG_CACHE", "off", 1);
    for (int i = 0; i < LIVES; i++) {
        assert_true(check_life(lives[i], "no call", 0));
        assert_true(lives_with_failures(lives[i], false) > 20 / step());
    }
    unsetenv("IG_CACHE");
}

/* With binaries from the cache, which makes different calls. */
static void every_call_with_the_cache_fails_once(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    backend_release_all();
    for (int i = 0; i < LIVES; i++) {
        assert_true(check_life(lives[i], "no call", 0));
        assert_true(lives_with_failures(lives[i], false) > 20 / step());
    }
}

/* A lost device. */
static void all_calls_fail_from_then_on(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    backend_release_all();
    for (int i = 0; i < LIVES; i++) {
        assert_true(check_life(lives[i], "no call", 0));
        assert_true(lives_with_failures(lives[i], true) > 20 / step());
    }
}

static void allocations_of(lifetime *live)
{
    const int64_t live_before = memory_live();
    for (int64_t n = 1;; n += step()) {
        const int64_t before = memory_count();
        memory_fail_at(n);
        check_life(live, "allocation", (long)n);
        const int64_t made = memory_count() - before;
        memory_fail_at(0);
        if (memory_live() != live_before)
            fail_msg("allocation %ld: memory is left", (long)n);
        if (made < n)
            break;
    }
}

static void every_allocation_fails(void **unused)
{
    (void)unused;
    if (!opencl_device_or_skip(0))
        return;
    for (int i = 0; i < LIVES; i++) {
        backend_release_all();
        allocations_of(lives[i]);
    }
}

/* ---- launches that fail after they were accepted ---- */

typedef struct three {
    const backend *dev;
    kernel_code *number, *add;
    buffer *x, *y, *z;
    int32_t got[N];
} three;

static bool three_begin(three *t)
{
    *t = (three){.dev = opencl_device_or_skip(0)};
    if (!t->dev)
        return false;
    assert_int_equal(t->dev->kernel_build(t->dev, &opencl_number, &t->number), IG_OK);
    assert_int_equal(t->dev->kernel_build(t->dev, &opencl_add, &t->add), IG_OK);
    buffer **b[] = {&t->x, &t->y, &t->z};
    for (int i = 0; i < 3; i++) {
        assert_non_null(*b[i] = t->dev->alloc(t->dev, sizeof t->got));
        assert_int_equal(t->dev->fill(*b[i], 0, 0, sizeof t->got), IG_OK);
    }
    for (int i = 0; i < N; i++)
        t->got[i] = UNTOUCHED;
    return true;
}

static void three_end(three *t)
{
    t->dev->kernel_discard(t->number);
    t->dev->kernel_discard(t->add);
    buffer_release(t->x);
    buffer_release(t->y);
    buffer_release(t->z);
}

static void check_refused(three *t, buffer *b)
{
    assert_int_equal(t->dev->read(b, 0, t->got, sizeof t->got), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "kernel 'number' failed: CL_OUT_OF_RESOURCES");
    assert_int_equal(t->got[0], UNTOUCHED);
}

/* A failing launch writes x; y is computed from x; z does not depend on either. */
static void results_of_a_failed_launch_are_refused(void **unused)
{
    (void)unused;
    three t;
    int32_t fresh[N] = {0};
    if (!three_begin(&t))
        return;
    assert_int_equal(opencl_run_number(t.number, (binding){t.z, 0}, 2, N), IG_OK);
    shim.launch(1);
    assert_int_equal(opencl_run_number(t.number, (binding){t.x, 0}, 3, N), IG_OK);
    assert_int_equal(
        opencl_run_add(t.add, (binding){t.x, 0}, (binding){t.x, 0}, (binding){t.y, 0}, N), IG_OK);
    assert_int_equal(t.dev->finish(t.dev), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "kernel 'number' failed: CL_OUT_OF_RESOURCES");
    assert_int_equal(t.dev->finish(t.dev), IG_OK); /* it was already reported */
    check_refused(&t, t.x);
    check_refused(&t, t.y);
    assert_int_equal(
        opencl_run_add(t.add, (binding){t.y, 0}, (binding){t.y, 0}, (binding){t.z, 0}, N),
        IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "not valid");
    assert_int_equal(t.dev->copy(t.z, 0, t.x, 0, 8), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "not valid");
    assert_int_equal(t.dev->read(t.z, 0, t.got, sizeof t.got), IG_OK); /* it is unaffected */
    for (int i = 0; i < N; i++)
        assert_int_equal(t.got[i], 2 * i);
    t.got[0] = UNTOUCHED;
    assert_int_equal(t.dev->write(t.x, 0, fresh, sizeof fresh - 4), IG_OK); /* not all of it */
    check_refused(&t, t.x);
    assert_int_equal(t.dev->write(t.x, 0, fresh, sizeof fresh), IG_OK);
    assert_int_equal(t.dev->read(t.x, 0, t.got, sizeof t.got), IG_OK);
    assert_memory_equal(t.got, fresh, sizeof fresh);
    t.got[0] = UNTOUCHED;
    check_refused(&t, t.y);
    assert_int_equal(t.dev->fill(t.y, 0, 0, sizeof fresh), IG_OK);
    assert_int_equal(t.dev->read(t.y, 0, t.got, sizeof t.got), IG_OK);
    three_end(&t);
}

/* A read detects the failure, and so does a launch if many are in flight. */
static void failures_are_found_by_whoever_comes(void **unused)
{
    (void)unused;
    three t;
    ig_status s = IG_OK;
    int launched = 0;
    if (!three_begin(&t))
        return;
    shim.launch(1);
    assert_int_equal(opencl_run_number(t.number, (binding){t.x, 0}, 3, N), IG_OK);
    check_refused(&t, t.x);
    assert_int_equal(t.dev->fill(t.x, 0, 0, sizeof t.got), IG_OK);
    shim.launch(5);
    while (s == IG_OK && launched++ < 1000)
        s = opencl_run_number(t.number, (binding){t.x, 0}, launched, N);
    assert_in_range(launched, 6, 999);
    assert_error(IG_ERR_DEVICE, "kernel 'number' failed");
    check_refused(&t, t.x);
    three_end(&t);
}

/* All failures are remembered. */
static void many_failures_are_remembered(void **unused)
{
    (void)unused;
    three t;
    if (!three_begin(&t))
        return;
    shim.launch(1);
    assert_int_equal(opencl_run_number(t.number, (binding){t.y, 0}, 3, N), IG_OK);
    assert_int_equal(t.dev->finish(t.dev), IG_ERR_DEVICE);
    ig_error(NULL);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(t.dev->fill(t.x, 0, 0, sizeof t.got), IG_OK);
        shim.launch(1);
        assert_int_equal(opencl_run_number(t.number, (binding){t.x, 0}, 3, N), IG_OK);
        assert_int_equal(t.dev->finish(t.dev), IG_ERR_DEVICE);
        ig_error(NULL);
    }
    check_refused(&t, t.x);
    check_refused(&t, t.y);
    three_end(&t);
}

/* Launches on a GPU have no events: if the wait fails, all launches since the last wait may have failed, and are
 * named. */
static void gpus_name_all_launches(void **unused)
{
    (void)unused;
    three t;
    backend_release_all();
    setenv("IG_TEST_GPU", "1", 1);
    if (three_begin(&t)) {
        assert_false(t.dev->limits.cpu);
        assert_int_equal(opencl_run_number(t.number, (binding){t.z, 0}, 2, N), IG_OK);
        assert_int_equal(t.dev->finish(t.dev), IG_OK);
        const long objects = shim.objects();
        for (int i = 0; i < 200; i++)
            assert_int_equal(opencl_run_number(t.number, (binding){t.x, 0}, 3, N), IG_OK);
        assert_int_equal(
            opencl_run_add(t.add, (binding){t.x, 0}, (binding){t.x, 0}, (binding){t.y, 0}, N),
            IG_OK);
        assert_int_equal(shim.objects(), objects);
        shim.at(1, false);
        assert_int_equal(t.dev->finish(t.dev), IG_ERR_DEVICE);
        shim.at(0, false);
        const char *said = ig_error(NULL);
        assert_true(strstr(said, "kernel 'number'") && strstr(said, "kernel 'add'"));
        buffer *written[] = {t.x, t.y};
        for (int i = 0; i < 2; i++) {
            assert_int_equal(t.dev->read(written[i], 0, t.got, sizeof t.got), IG_ERR_DEVICE);
            assert_error(IG_ERR_DEVICE, "not valid");
        }
        assert_int_equal(t.dev->read(t.z, 0, t.got, sizeof t.got), IG_OK);
        assert_int_equal(t.got[5], 10);
        three_end(&t);
        backend_release_all();
        assert_true(lives_with_failures(live_as_buffers, false) > 20 / step());
    }
    unsetenv("IG_TEST_GPU");
    backend_release_all();
}

/* ---- unchanged arguments ---- */

/* Calls of OpenCL for one launch of add. */
static long calls_of_add(kernel_code *add, binding x, binding y, binding sum)
{
    shim.at(0, false);
    assert_int_equal(opencl_run_add(add, x, y, sum, N), IG_OK);
    return shim.calls();
}

/* A launch sets only arguments that differ from the last launch. After a buffer was released, it sets all. */
static void arguments_are_set_once(void **state)
{
    (void)state;
    life l = {.dev = backend_find("opencl")};
    int32_t ones[N + 1], got[N];
    for (int i = 0; i <= N; i++)
        ones[i] = i;
    l.x = l.dev->alloc(l.dev, sizeof ones);
    l.y = l.dev->alloc(l.dev, sizeof ones);
    l.sum = l.dev->alloc(l.dev, sizeof ones);
    assert_int_equal(l.dev->kernel_build(l.dev, &opencl_add, &l.add), IG_OK);
    assert_int_equal(l.dev->write(l.x, 0, ones, sizeof ones), IG_OK);
    assert_int_equal(l.dev->write(l.y, 0, ones, sizeof ones), IG_OK);
    const binding x = {l.x, 0}, y = {l.y, 0}, sum = {l.sum, 0};
    const long first = calls_of_add(l.add, x, y, sum), again = calls_of_add(l.add, x, y, sum);
    assert_true(first >= again + 6); /* three buffers are six arguments */
    const long moved = calls_of_add(l.add, (binding){l.x, 4}, y, sum);
    assert_int_equal(moved, again + 1);
    assert_int_equal(l.dev->read(l.sum, 0, got, sizeof got), IG_OK);
    assert_int_equal(got[5], 11);
    buffer_release(l.y);
    pool_trim(l.dev->pool);
    l.y = l.dev->alloc(l.dev, sizeof ones);
    assert_int_equal(l.dev->write(l.y, 0, ones, sizeof ones), IG_OK);
    assert_true(calls_of_add(l.add, x, (binding){l.y, 0}, sum) >= again + 6);
    assert_int_equal(l.dev->read(l.sum, 0, got, sizeof got), IG_OK);
    assert_int_equal(got[5], 10);
    l.dev->kernel_discard(l.add);
    buffer_release(l.x);
    buffer_release(l.y);
    buffer_release(l.sum);
    backend_release_all();
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    setenv("IG_TEST_PLATFORM", "a driver without a cache", 1); /* PoCL has its own */
    setenv("POCL_DEVICES", "basic", 1);                        /* no threads: each life is short */
#define TEST(f) cmocka_unit_test_setup_teardown(f, opencl_test_begin, opencl_test_end)
    const struct CMUnitTest tests[] = {
        TEST(the_environment_stays),
        TEST(every_call_fails_once),
        TEST(every_call_with_the_cache_fails_once),
        TEST(all_calls_fail_from_then_on),
        TEST(every_allocation_fails),
        TEST(results_of_a_failed_launch_are_refused),
        TEST(failures_are_found_by_whoever_comes),
        TEST(many_failures_are_remembered),
        TEST(gpus_name_all_launches),
        TEST(arguments_are_set_once),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
