/* Failures of a driver while arrays are computed, on OpenCL (PoCL behind tests/opencl/failing.c) and on CUDA
 * (tests/fakecuda): whole training steps whose parameters are donated, with a failure at every call and at every
 * launch; which ops a message names if several programs were in flight; and arrays that a failed launch only read. */
#include "support/cuda.h"
#include "support/metal.h"
#include "support/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a training step ---- */

enum { BATCH = 6, INPUTS = 5, HIDDEN = 8, CLASSES = 3, PARAMS = 4, STATE = 2 * PARAMS };
enum { FLOATS = INPUTS * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES };

static const int64_t shapes[PARAMS][2] = {
    {INPUTS, HIDDEN}, {1, HIDDEN}, {HIDDEN, CLASSES}, {1, CLASSES}};
static int64_t size_of(int i) { return shapes[i % PARAMS][0] * shapes[i % PARAMS][1]; }

/* Parameters and their momentum, as numbers of the host. */
typedef struct values {
    float at[2 * FLOATS];
} values;

static const char *device;
static values before, after; /* a step without failures */

static void values_begin(values *v)
{
    for (int i = 0; i < 2 * FLOATS; i++)
        v->at[i] = i < FLOATS ? (float)(i * 37 % 19 - 9) / 16 : 0;
}

static void arrays_begin(const values *v, ig_array *state[STATE])
{
    const float *at = v->at;
    for (int i = 0; i < STATE; i++) {
        state[i] = ig_from_data(at, (ig_ints){shapes[i % PARAMS], 2}, IG_F32);
        at += size_of(i);
    }
    assert_int_equal(ig_eval(state, STATE), IG_OK);
    ig_array *there[STATE];
    for (int i = 0; i < STATE; i++) /* in buffers of the device that no other array uses */
        there[i] = ig_multiply(state[i], ig_float(1));
    assert_int_equal(ig_eval(there, STATE), IG_OK);
    assert_int_equal(ig_synchronize(device), IG_OK);
    memcpy(state, there, sizeof there);
}

/* Forward, backward and update by momentum; the state is donated. */
static ig_status step(ig_array *state[STATE], ig_array *next[STATE])
{
    ig_array *x = ig_reshape(ig_arange(0, BATCH * INPUTS, 1, IG_F32), IG_SHAPE(BATCH, INPUTS));
    x = ig_sin(x);
    ig_array *hidden = ig_tanh(ig_add(ig_matmul(x, state[0]), state[1]));
    ig_array *logits = ig_add(ig_matmul(hidden, state[2]), state[3]);
    ig_array *labels = ig_remainder(ig_arange(0, BATCH, 1, IG_I64), ig_int(CLASSES));
    ig_array *loss = ig_cross_entropy(logits, labels, 1, NULL), *grad[PARAMS] = {0};
    if (!loss || ig_grad(loss, state, PARAMS, grad) != IG_OK)
        return IG_ERR_MEMORY;
    for (int i = 0; i < PARAMS; i++) {
        next[PARAMS + i] = ig_add(ig_multiply(state[PARAMS + i], ig_float(0.5)), grad[i]);
        next[i] = ig_subtract(state[i], ig_multiply(next[PARAMS + i], ig_float(0.25)));
    }
    for (int i = 0; i < STATE; i++)
        if (!next[i])
            return IG_ERR_MEMORY;
    return ig_eval_donating(next, STATE, state, STATE);
}

/* Reads the arrays: each one either equals its part of `want` or returns an error. Returns how many could be read. */
static int check_arrays(ig_array *const *a, const values *want, const char *what, long n)
{
    int readable = 0;
    const float *at = want->at;
    for (int i = 0; i < STATE; at += size_of(i++)) {
        float got[FLOATS];
        const size_t bytes = (size_t)size_of(i) * sizeof *got;
        memset(got, 0x5a, sizeof got);
        if (ig_read(a[i], got, bytes) != IG_OK) {
            if (!ig_error(NULL))
                fail_msg("%s %ld: array %d refuses without a message", what, n, i);
            continue;
        }
        readable++;
        if (memcmp(got, at, bytes) != 0)
            fail_msg("%s %ld: array %d has values of neither step: %g, not %g", what, n, i,
                     (double)got[0], (double)at[0]);
    }
    return readable;
}

/* ---- failures, as both drivers have them ---- */

typedef struct driver {
    const char *device;
    void (*fail_at)(long n); /* the n-th call from now on fails; 0: none does */
    long (*calls)(void);     /* since then */
} driver;

static void opencl_call(long n) { shim.at(n, false); }
static long opencl_calls(void) { return shim.calls(); }
static void opencl_launch(long n) { shim.launch(n); }
static long opencl_launches(void) { return 0; }
static void cuda_call(long n) { fake.fail_at(n, false); }
static long cuda_calls(void) { return fake.count(FAKE_CALLS); }

/* One step in which something fails, then one that must work. Returns whether a failure was seen; *calls: the number of
 * calls. */
static bool check_step(const driver *d, long n, long *calls)
{
    ig_array *state[STATE], *next[STATE] = {0};
    ig_scope_begin();
    arrays_begin(&before, state);
    d->fail_at(n);
    bool failed = step(state, next) != IG_OK;
    if (failed) {
        if (!ig_failed())
            fail_msg("%s %ld: a step fails without a message", d->device, n);
        d->fail_at(0);
        ig_error(NULL);
        check_arrays(state, &before, d->device, n); /* some may be poisoned */
    } else {                                        /* the failure may be reported late */
        failed = check_arrays(next, &after, d->device, n) < STATE;
        *calls = d->calls();
        d->fail_at(0);
        check_arrays(next, &after, d->device, n);
    }
    ig_scope_end();
    ig_scope_begin();
    arrays_begin(&before, state);
    if (step(state, next) != IG_OK || check_arrays(next, &after, "the step after", n) < STATE)
        fail_msg("%s %ld: the next step fails: %s", d->device, n, ig_error(NULL));
    ig_scope_end();
    return failed;
}

static void know_step(void)
{
    ig_array *state[STATE], *next[STATE];
    ig_scope_begin();
    values_begin(&before);
    arrays_begin(&before, state);
    if (step(state, next) != IG_OK)
        fail_msg("%s: %s", device, ig_error(NULL));
    float *at = after.at;
    for (int i = 0; i < STATE; at += size_of(i++))
        assert_int_equal(ig_read(next[i], at, (size_t)size_of(i) * sizeof *at), IG_OK);
    assert_true(memcmp(&before, &after, sizeof after) != 0);
    ig_scope_end();
}

/* For every n, until a step ends before the n-th call. */
static void every_call_fails(const driver *d, long by)
{
    int failed = 0;
    long calls = 1 << 20;
    for (long n = 1; n <= calls; n += by)
        failed += check_step(d, n, &calls);
    print_message("%s: %d of %ld failures were seen\n", d->device, failed, calls);
    assert_true(failed * by > 30);
}

/* Every n; every fifth on slow machines. */
static long stride(void) { return getenv("IG_TEST_QUICK") ? 5 : 1; }

static bool device_begin(const char *name)
{
    device = name;
    if (ig_set_device(name) != IG_OK) {
        ig_error(NULL);
        return false;
    }
    know_step();
    return true;
}

static void device_end(void)
{
    ig_set_device("cpu");
    ig_shutdown();
    ig_error(NULL);
}

static void steps_survive_failures_of_opencl(void **unused)
{
    (void)unused;
    const driver calls = {"opencl:0", opencl_call, opencl_calls},
                 launches = {"opencl:0", opencl_launch, opencl_launches};
    int late = 0;
    long unused_calls;
    if (!opencl_device_or_skip(0) || !device_begin("opencl:0"))
        return;
    every_call_fails(&calls, stride());
    for (long n = 1; n <= 12; n++)
        late += check_step(&launches, n, &unused_calls);
    assert_true(late >= 3);
    device_end();
}

static void steps_survive_failures_of_cuda(void **unused)
{
    (void)unused;
    const driver d = {"cuda:0", cuda_call, cuda_calls};
    for (int graphs = 0; graphs < 2; graphs++) {
        setenv("IG_CUDA_GRAPHS", graphs ? "on" : "off", 1);
        assert_true(device_begin(d.device));
        for (int i = 0; i < 4; i++) /* from now on a step is a graph */
            know_step();
        const long launched = fake.count(FAKE_GRAPHS);
        every_call_fails(&d, stride());
        assert_int_equal(fake.count(FAKE_GRAPHS) > launched, graphs);
        device_end();
    }
    unsetenv("IG_CUDA_GRAPHS");
}

/* A lost device: nothing can be read until it is opened again. */
static void steps_survive_a_lost_gpu(void **unused)
{
    (void)unused;
    for (long n = 1; n <= 3; n++) {
        ig_array *state[STATE], *next[STATE] = {0};
        float got[FLOATS];
        assert_true(device_begin("cuda:0"));
        ig_scope_begin();
        arrays_begin(&before, state);
        fake.lose(n);
        if (step(state, next) == IG_OK)
            check_arrays(next, &after, "wait", n);
        ig_synchronize("cuda:0");
        ig_error(NULL);
        for (int i = 0; i < STATE; i++) {
            ig_array *x = next[i] ? next[i] : state[i];
            if (ig_read(x, got, (size_t)size_of(i) * sizeof *got) != IG_OK)
                assert_error(IG_ERR_DEVICE, "restart the process");
        }
        ig_scope_end();
        fake.lose(0);
        device_end();
    }
    assert_true(device_begin("cuda:0")); /* as in a new process */
    device_end();
}

/* ---- names in messages ---- */

static ig_array *numbers(void)
{
    ig_array *x = ig_multiply(ig_arange(0, 40, 1, IG_F32), ig_float(0.5));
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

/* Three evaluations in flight. */
static void three(ig_array *x, ig_array *y[3])
{
    y[0] = ig_sin(x);
    y[1] = ig_cumulative_sum(x, IG_AXES(0), IG_DTYPE_NONE, false);
    y[2] = ig_sqrt(x);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ig_eval(&y[i], 1), IG_OK);
}

static void check_says(const char *const *parts)
{
    ig_status code;
    const char *said = ig_error(&code);
    assert_non_null(said);
    assert_int_equal(code, IG_ERR_DEVICE);
    for (; *parts; parts++)
        if (!strstr(said, *parts))
            fail_msg("'%s' is not in: %s", *parts, said);
}

/* OpenCL reports which command failed. Earlier launches are valid, and so are arrays that the failed one only read. */
static void opencl_names_the_op_that_failed(void **unused)
{
    (void)unused;
    float got[40];
    ig_array *y[3];
    if (!opencl_device_or_skip(0))
        return;
    ig_set_device("opencl:0");
    ig_scope_begin();
    ig_array *x = numbers();
    three(x, y); /* the kernels are compiled */
    assert_int_equal(ig_synchronize("opencl:0"), IG_OK);
    shim.launch(2);
    three(x, y);
    assert_int_equal(ig_synchronize("opencl:0"), IG_ERR_DEVICE);
    check_says((const char *[]){"opencl:0: cumulative_sum (kernel '", "CL_OUT_OF_RESOURCES", NULL});
    assert_int_equal(ig_read(y[0], got, sizeof got), IG_OK);
    assert_int_equal(ig_read(x, got, sizeof got), IG_OK);
    assert_true(got[3] == 1.5f);
    for (int i = 1; i < 3; i++) { /* later results are not valid either */
        assert_int_not_equal(ig_read(y[i], got, sizeof got), IG_OK);
        check_says((const char *[]){"cumulative_sum", "not valid", NULL});
    }
    /* A failed wait does not tell which command failed. */
    shim.launch(0);
    three(x, y);
    shim.at(1, true);
    assert_int_equal(ig_synchronize("opencl:0"), IG_ERR_DEVICE);
    shim.at(0, false);
    check_says((const char *[]){"opencl:0: one of sin (", "cumulative_sum (", "sqrt (", NULL});
    assert_int_equal(ig_read(x, got, sizeof got), IG_OK);
    ig_scope_end();
    device_end();
}

/* A launch that the driver rejects: its inputs stay valid. */
static void a_refused_launch_keeps_what_it_reads(void **unused)
{
    (void)unused;
    float got[40];
    if (!opencl_device_or_skip(0))
        return;
    ig_set_device("opencl:0");
    int refused = 0;
    for (long n = 1; n < 12; n++) {
        ig_scope_begin();
        ig_array *x = numbers(), *y = ig_sqrt(x);
        shim.at(n, false);
        const ig_status status = ig_eval(&y, 1);
        shim.at(0, false);
        refused += status != IG_OK;
        ig_error(NULL);
        assert_int_equal(ig_read(x, got, sizeof got), IG_OK);
        assert_true(got[8] == 4);
        assert_int_equal(ig_read(ig_sqrt(x), got, sizeof got), IG_OK);
        assert_true(got[8] == 2);
        ig_scope_end();
    }
    assert_true(refused > 0);
    device_end();
}

/* CUDA only reports that something failed since the last wait. */
static void cuda_names_all_ops_in_flight(void **unused)
{
    (void)unused;
    ig_array *y[3];
    float got[40];
    ig_set_device("cuda:0");
    ig_scope_begin();
    ig_array *x = numbers();
    three(x, y);
    assert_int_equal(ig_synchronize("cuda:0"), IG_OK); /* these are known to be valid */
    ig_array *z = ig_exp(x), *last = ig_tanh(x);
    assert_int_equal(ig_eval(&z, 1), IG_OK);
    assert_int_equal(ig_eval(&last, 1), IG_OK);
    fake.lose(1);
    assert_int_equal(ig_read(x, got, sizeof got), IG_ERR_DEVICE);
    check_says((const char *[]){"cuda:0", "CUDA_ERROR_ILLEGAL_ADDRESS", "by one of exp, tanh)",
                                "restart the process", NULL});
    ig_scope_end();
    fake.lose(0);
    device_end();
    ig_set_device("cuda:0");
    ig_scope_begin();
    x = numbers();
    assert_int_equal(ig_synchronize("cuda:0"), IG_OK);
    z = ig_exp(x);
    assert_int_equal(ig_eval(&z, 1), IG_OK);
    fake.lose(1);
    assert_int_equal(ig_synchronize("cuda:0"), IG_ERR_DEVICE);
    check_says((const char *[]){"by exp)", NULL});
    ig_scope_end();
    fake.lose(0);
    device_end();
}

/* ---- memory ---- */

enum { MIB = 1 << 20 };

/* Allocates uninitialized device memory; one block for it stays cached afterwards. */
static bool has_room(const backend *dev, uint64_t mib)
{
    buffer *b = dev->alloc(dev, (size_t)mib * MIB);
    buffer_release(b);
    return b != NULL;
}

static void check_memory_says(const char *device_name, const char *needs, const char *has)
{
    ig_status code;
    const char *said = ig_error(&code);
    assert_non_null(said);
    assert_int_equal(code, IG_ERR_MEMORY);
    if (strncmp(said, device_name, strlen(device_name)) != 0 || !strstr(said, needs) ||
        !strstr(said, has))
        fail_msg("%s: %s", device_name, said);
}

/* The driver has `mib` MiB; the limit is larger. */
static void check_memory(const char *name, uint64_t mib)
{
    ig_memory_info info = {0};
    char needs[120];
    const backend *dev = backend_find(name);
    assert_non_null(dev);
    assert_int_equal(ig_set_device_memory_limit(name, (uint64_t)1 << 30), IG_OK);
    assert_true(has_room(dev, mib / 8));
    assert_int_equal(ig_device_memory(name, &info), IG_OK);
    if (info.cached < mib / 8 * MIB)
        fail_msg("%s keeps %llu bytes", name, (unsigned long long)info.cached);
    buffer *held = dev->alloc(dev, (size_t)(mib / 2 * MIB));
    assert_non_null(held);
    assert_true(has_room(dev, mib / 8));
    if (!has_room(dev, mib / 2)) /* only if cached blocks are released */
        fail_msg("%s: %s", name, ig_error(NULL));
    assert_false(ig_failed());
    if (has_room(dev, mib / 2 + mib / 16))
        fail_msg("%s has more memory than it has", name);
    snprintf(
        needs, sizeof needs, "a buffer needs %llu bytes (%llu MiB), but the driver refuses it: ",
        (unsigned long long)((mib / 2 + mib / 16) * MIB), (unsigned long long)(mib / 2 + mib / 16));
    check_memory_says(name, needs,
                      " are free and the limit is 1 GiB; release arrays, or close other programs");
    assert_int_equal(ig_device_memory(name, &info), IG_OK);
    assert_int_equal(info.cached, 0); /* everything was released */
    buffer_release(held);
    assert_true(has_room(dev, mib / 2 + mib / 16));
    assert_int_equal(ig_set_device_memory_limit(name, 0), IG_OK);
}

/* Cached blocks are released first. The message then tells the needed bytes, the free bytes and the limit. */
static void drivers_without_memory_are_asked_twice(void **unused)
{
    (void)unused;
    ig_shutdown();
    shim.memory(0, 16 * MIB);
    if (backend_find("opencl:0"))
        check_memory("opencl:0", 16);
    ig_shutdown();
    shim.memory(0, 0);
    fake.memory(16 * MIB);
    check_memory("cuda:0", 16);
    ig_shutdown();
    fake.memory((uint64_t)1 << 30);
    setenv("METALSIM_MEMORY_MIB", "64", 1);
    if (backend_find("metal:0"))
        check_memory("metal:0", 64);
    ig_shutdown();
    unsetenv("METALSIM_MEMORY_MIB");
    ig_error(NULL);
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    cuda_prepare(argv[0]);
    metal_prepare(argv[0]);
    setenv("POCL_DEVICES", "basic", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_survive_failures_of_opencl),
        cmocka_unit_test(steps_survive_failures_of_cuda),
        cmocka_unit_test(steps_survive_a_lost_gpu),
        cmocka_unit_test(opencl_names_the_op_that_failed),
        cmocka_unit_test(a_refused_launch_keeps_what_it_reads),
        cmocka_unit_test(cuda_names_all_ops_in_flight),
        cmocka_unit_test(drivers_without_memory_are_asked_twice),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
