/* The OpenCL backend on PoCL: devices and their properties, memory, kernels from text, launches, compiler messages, the
 * cache of binaries. Skipped, with the reason, if there is no driver. */
#include "engine/backend/search.h"
#include "support/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64 };

static kernel_code *built(const backend *dev, const kernel_image *t)
{
    kernel_code *k = NULL;
    if (dev->kernel_build(dev, t, &k) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    return k;
}

static buffer *made(const backend *dev, size_t bytes)
{
    buffer *b = dev->alloc(dev, bytes);
    if (!b)
        fail_msg("%s", ig_error(NULL));
    return b;
}

/* ---- devices ---- */

static void devices_say_what_they_are(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    int seen = 0;
    assert_ptr_equal(backend_find("opencl"), dev);
    assert_ptr_equal(backend_find("opencl:0"), dev);
    assert_null(backend_find("opencl:"));
    assert_null(backend_find("opencl:99"));
    assert_null(backend_find("openclx"));
    for (int i = 0; i < ig_device_count(); i++) {
        ig_device_info d = {0};
        assert_int_equal(ig_device_get(i, &d), IG_OK);
        if (strncmp(d.name, "opencl:", 7) != 0)
            continue;
        seen++;
        assert_true(d.runs_kernels && d.runs_arrays);
        assert_true(d.model[0] && d.driver[0] && d.cores > 0 && d.memory > 0);
        assert_non_null(strstr(d.level, "OpenCL"));
    }
    assert_int_equal(seen, search_count(backend_opencl.search));
    const backend_limits *l = &dev->limits;
    assert_true(l->version >= 102 && l->threads >= 1 && l->thread_at[0] >= 1);
    assert_true(l->shared_bytes >= 1024 && l->alloc_bytes >= 1 << 20 && l->buffers >= 8);
}

static void arrays_run_on_it(void **unused)
{
    (void)unused;
    (void)opencl_device_or_skip(0);
    float on_device[1000], on_cpu[1000];
    ig_scope_begin();
    assert_int_equal(ig_set_device("opencl"), IG_OK);
    ig_array *x = ig_normal(ig_key(0, NULL), IG_SHAPE(10, 1000), IG_F32, NULL, NULL);
    ig_array *y = ig_sum(ig_exp(x), IG_AXES(0), IG_DTYPE_NONE, false);
    assert_string_equal(ig_array_device(y), "opencl:0");
    assert_int_equal(ig_read(y, on_device, sizeof on_device), IG_OK);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    ig_array *there = ig_to_device(x, "cpu");
    ig_array *z = ig_sum(ig_exp(there), IG_AXES(0), IG_DTYPE_NONE, false);
    assert_string_equal(ig_array_device(z), "cpu");
    assert_int_equal(ig_read(z, on_cpu, sizeof on_cpu), IG_OK);
    assert_memory_equal(on_device, on_cpu, sizeof on_cpu);
    /* The gradient comes back to the device. */
    ig_array *g = NULL;
    assert_int_equal(ig_grad(ig_sum(z, IG_NONE, IG_DTYPE_NONE, false), &x, 1, &g), IG_OK);
    assert_string_equal(ig_array_device(g), "opencl:0");
    ig_scope_end();
    ig_shutdown();
}

static void absence_has_a_reason(void **unused)
{
    (void)unused;
    static const struct {
        const char *setting, *why;
    } rows[] = {{"off", "IG_OPENCL=off"}, {"/not/there.so", "/not/there.so"}};
    ig_absent a;
    char *before = strdup(getenv("IG_OPENCL"));
    for (int i = 0; i < 2; i++) {
        backend_release_all();
        setenv("IG_OPENCL", rows[i].setting, 1);
        assert_null(backend_find("opencl"));
        int at = 0;
        while (backend_absent(at, &a) && strcmp(a.name, "opencl") != 0)
            at++;
        assert_true(backend_absent(at, &a));
        assert_non_null(strstr(a.why, rows[i].why));
        assert_non_null(a.remedy);
        assert_int_equal(ig_set_device("opencl:0"), IG_ERR_DEVICE);
        assert_error(IG_ERR_DEVICE, rows[i].why);
        ig_machine *m = ig_machine_get(); /* the last row: backends follow the findings of base */
        assert_non_null(m);
        assert_string_equal(m->absent[m->n_absent - 1].name, "opencl");
        assert_non_null(strstr(m->absent[m->n_absent - 1].why, rows[i].why));
        ig_free(m);
    }
    setenv("IG_OPENCL", before, 1);
    free(before);
    backend_release_all();
}

/* Two devices work at the same time and do not use each other's buffers. */
static void devices_are_apart(void **unused)
{
    (void)unused;
    const backend *dev[2];
    kernel_code *k[2];
    buffer *b[2];
    int32_t got[N];
    for (int i = 0; i < 2; i++)
        if (!(dev[i] = opencl_device_or_skip(i)))
            return;
    for (int i = 0; i < 2; i++) {
        k[i] = built(dev[i], &opencl_number);
        b[i] = made(dev[i], sizeof got);
        assert_int_equal(opencl_run_number(k[i], (binding){b[i], 0}, i + 2, N), IG_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dev[i]->read(b[i], 0, got, sizeof got), IG_OK);
        for (int j = 0; j < N; j++)
            assert_int_equal(got[j], (i + 2) * j);
    }
    assert_int_equal(opencl_run_number(k[0], (binding){b[1], 0}, 1, N), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "another device's");
    assert_int_equal(dev[0]->copy(b[0], 0, b[1], 0, 4), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "another device's");
    for (int i = 0; i < 2; i++) {
        dev[i]->kernel_discard(k[i]);
        buffer_release(b[i]);
    }
}

/* ---- memory ---- */

static void memory_holds_what_is_written(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    uint8_t want[200], got[200];
    buffer *x = made(dev, sizeof want), *y = made(dev, sizeof want);
    for (size_t i = 0; i < sizeof want; i++)
        want[i] = (uint8_t)(i * 7 + 1);
    assert_int_equal(dev->write(x, 0, want, sizeof want), IG_OK);
    assert_int_equal(dev->fill(x, 16, 0xab, 32), IG_OK);
    assert_int_equal(dev->fill(x, 101, 0xcd, 7), IG_OK);
    assert_int_equal(dev->write(x, 150, "ingot", 5), IG_OK);
    assert_int_equal(dev->copy(y, 0, x, 0, sizeof want), IG_OK);
    assert_int_equal(dev->copy(y, 3, x, 150, 5), IG_OK);
    assert_int_equal(dev->copy(y, 190, y, 3, 5), IG_OK);
    memset(want + 16, 0xab, 32);
    memset(want + 101, 0xcd, 7);
    memcpy(want + 150, "ingot", 5);
    memcpy(want + 3, "ingot", 5);
    memcpy(want + 190, "ingot", 5);
    assert_int_equal(dev->read(y, 0, got, sizeof got), IG_OK);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(dev->read(y, 190, got, 5), IG_OK);
    assert_memory_equal(got, "ingot", 5);
    assert_int_equal(dev->finish(dev), IG_OK);
    buffer_release(x);
    buffer_release(y);
}

/* On a CPU, large buffers use memory that we pass to the driver: it is ours again when they are released. */
static void large_memory_holds_what_is_written(void **unused)
{
    (void)unused;
    enum { BYTES = (5 << 20) + 12 };
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    char *want = malloc(BYTES), *got = malloc(BYTES);
    for (int i = 0; i < BYTES; i++)
        want[i] = (char)(i * 7 % 251);
    shim.at(1, false); /* the open device creates a buffer with one call; it fails */
    buffer *none = dev->alloc(dev, BYTES);
    assert_null(none);
    assert_non_null(ig_error(NULL));
    shim.at(0, false);
    for (int round = 0; round < 2; round++) {
        buffer *x = made(dev, BYTES), *y = made(dev, BYTES);
        assert_int_equal(dev->write(x, 0, want, BYTES), IG_OK);
        assert_int_equal(dev->copy(y, 0, x, 0, BYTES), IG_OK);
        memset(got, 0, BYTES);
        assert_int_equal(dev->read(y, 0, got, BYTES), IG_OK);
        assert_memory_equal(got, want, BYTES);
        buffer_release(x);
        buffer_release(y);
        dev->release(dev);
    }
    free(want);
    free(got);
}

static void memory_has_its_bounds(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    char bytes[16] = {0};
    buffer *b = made(dev, 16), *none = made(dev, 0), *host = buffer_new(16);
    assert_int_equal(dev->write(b, 10, bytes, 7), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "7 bytes at 10");
    assert_int_equal(dev->read(b, SIZE_MAX, bytes, 2), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "which has 16");
    assert_int_equal(dev->fill(b, 1, 0, 16), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "fill");
    assert_int_equal(dev->copy(b, 0, b, 4, 5), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "overlap");
    assert_int_equal(dev->write(host, 0, bytes, 1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "in host memory");
    assert_int_equal(dev->write(NULL, 0, bytes, 1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "NULL");
    assert_int_equal(dev->write(none, 0, bytes, 0), IG_OK);
    assert_int_equal(dev->read(none, 0, bytes, 0), IG_OK);
    assert_null(dev->alloc(dev, SIZE_MAX));
    assert_error(IG_ERR_MEMORY, "the limit is");
    buffer_release(b);
    buffer_release(none);
    buffer_release(host);
}

/* ---- launches ---- */

/* Every thread of a grid in three axes writes its own element, once. */
static void grids_have_three_axes(void **unused)
{
    (void)unused;
    static const kernel_param params[] = {{.kind = KERNEL_BUFFER}};
    static const kernel_image text = {
        .source =
            "__kernel void places(__global char *p, ulong off) {\n"
            "    size_t w = get_global_size(0), h = get_global_size(1);\n"
            "    size_t i = get_global_id(0) + w * (get_global_id(1) + h * get_global_id(2));\n"
            "    ((__global uint *)(p + off))[i] += get_local_id(0) + 10 * get_local_id(1)\n"
            "        + 100 * get_local_id(2) + 1000 * get_group_id(0)\n"
            "        + 10000 * get_group_id(1) + 100000 * get_group_id(2);\n"
            "}\n",
        .entry = "places",
        .params = params,
        .n_params = 1,
    };
    static const uint32_t shapes[][2][3] = {
        {{5, 1, 1}, {3, 1, 1}}, {{2, 3, 1}, {4, 2, 1}}, {{2, 1, 3}, {2, 3, 2}}};
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    kernel_code *k = built(dev, &text);
    for (int s = 0; s < 3; s++) {
        const uint32_t *g = shapes[s][0], *b = shapes[s][1];
        const uint32_t w = g[0] * b[0], h = g[1] * b[1], d = g[2] * b[2];
        uint32_t got[100];
        buffer *y = made(dev, 4 + 4 * w * h * d);
        const kernel_arg arg = {.at = {y, 4}};
        kernel_launch l = {.args = &arg};
        memcpy(l.grid, g, sizeof l.grid);
        memcpy(l.block, b, sizeof l.block);
        assert_int_equal(dev->fill(y, 0, 0, y->bytes), IG_OK);
        assert_int_equal(dev->kernel_launch(k, &l), IG_OK);
        assert_int_equal(dev->read(y, 4, got, y->bytes - 4), IG_OK);
        for (uint32_t i = 0; i < w * h * d; i++) {
            const uint32_t x = i % w, yy = i / w % h, z = i / w / h;
            assert_int_equal(got[i], x % b[0] + 10 * (yy % b[1]) + 100 * (z % b[2]) +
                                         1000 * (x / b[0]) + 10000 * (yy / b[1]) +
                                         100000 * (z / b[2]));
        }
        buffer_release(y);
    }
    dev->kernel_discard(k);
}

/* Shared memory of both kinds, a barrier, a null pointer, values of odd sizes, the time it took. */
static void kernels_get_all_kinds_of_arguments(void **unused)
{
    (void)unused;
    static const kernel_param params[] = {{.kind = KERNEL_BUFFER},
                                          {.kind = KERNEL_BUFFER},
                                          {.kind = KERNEL_BYTES, .bytes = 12},
                                          {.kind = KERNEL_BYTES, .bytes = 1}};
    static const kernel_image text = {
        .source = "typedef struct { int a; float b; int c; } three;\n"
                  "__kernel void turn(__global char *y, ulong y_off, __global char *none,\n"
                  "                   ulong none_off, three t, uchar add, __local char *dynamic)\n"
                  "{\n"
                  "    __local int fixed[8];\n"
                  "    __local int *d = (__local int *)dynamic;\n"
                  "    int i = get_local_id(0), n = get_local_size(0);\n"
                  "    d[i] = get_global_id(0) * t.a + t.c;\n"
                  "    fixed[i] = (int)t.b + add + (none == 0 && none_off == 0 ? 1000 : 0);\n"
                  "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "    ((__global int *)(y + y_off))[get_global_id(0)] = d[n - 1 - i]\n"
                  "        + fixed[n - 1 - i];\n"
                  "}\n",
        .entry = "turn",
        .params = params,
        .n_params = 4,
        .dynamic_shared = true,
    };
    const struct {
        int32_t a;
        float b;
        int32_t c;
    } three = {3, 40.0f, 5};
    const uint8_t add = 200;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    int32_t got[16];
    uint64_t ns = 0;
    kernel_code *k = built(dev, &text);
    buffer *y = made(dev, 80);
    const kernel_arg args[] = {{.at = {y, 16}}, {{0}, NULL}, {.bytes = &three}, {.bytes = &add}};
    kernel_launch l = {
        .grid = {2, 1, 1}, .block = {8, 1, 1}, .shared_bytes = 32, .args = args, .device_ns = &ns};
    assert_int_equal(dev->kernel_launch(k, &l), IG_OK);
    assert_true(ns > 0 && ns < (uint64_t)60e9);
    assert_int_equal(dev->read(y, 16, got, sizeof got), IG_OK);
    for (int i = 0; i < 16; i++)
        assert_int_equal(got[i], (i / 8 * 8 + 7 - i % 8) * 3 + 5 + 40 + 200 + 1000);
    l.shared_bytes = dev->limits.shared_bytes; /* plus 32 bytes declared in the text */
    assert_int_equal(dev->kernel_launch(k, &l), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "shared memory");
    dev->kernel_discard(k);
    buffer_release(y);
}

/* Mistakes of the caller are rejected and change nothing. */
static void launches_have_their_bounds(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    int32_t got[N];
    const int32_t one = 1;
    kernel_code *k = built(dev, &opencl_number);
    buffer *y = made(dev, sizeof got);
    assert_int_equal(opencl_run_number(k, (binding){y, 0}, 3, N), IG_OK);
    kernel_arg args[] = {{.at = {y, 0}}, {.bytes = &one}};
    kernel_launch l = {.grid = {1, 1, 1}, .block = {8, 0, 1}, .args = args};
    assert_int_equal(dev->kernel_launch(k, &l), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "8 x 0 x 1");
    l.block[1] = 1;
    l.block[0] = (uint32_t)dev->limits.thread_at[0] + 1;
    assert_int_equal(dev->kernel_launch(k, &l), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "kernel 'number'");
    l.block[0] = (uint32_t)dev->limits.threads;
    l.block[1] = 2;
    assert_int_equal(dev->kernel_launch(k, &l), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "at most");
    l.block[0] = 8;
    l.block[1] = 1;
    args[0].at.offset = sizeof got + 1;
    assert_int_equal(dev->kernel_launch(k, &l), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "parameter 1");
    args[0].at = (binding){NULL, 4};
    assert_int_equal(dev->kernel_launch(k, &l), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "a buffer of 0");
    assert_int_equal(dev->read(y, 0, got, sizeof got), IG_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], 3 * i);
    dev->kernel_discard(k);
    buffer_release(y);
}

/* ---- the compiler ---- */

static void check_build(const backend *dev, const kernel_image *t, ig_status code, const char *part)
{
    kernel_code *k = NULL;
    ig_status found = IG_OK;
    assert_int_equal(dev->kernel_build(dev, t, &k), code);
    const char *text = ig_error(&found);
    assert_int_equal(found, code);
    assert_null(k);
    if (!text || !strstr(text, part))
        fail_msg("expected '%s' in: %s", part, text ? text : "nothing");
    assert_null(strchr(text, '\r'));
    if (strchr(text, '\n')) /* only the first line */
        assert_non_null(strstr(text, t->entry));
    assert_true(strlen(text) < 4000);
}

static void compilers_are_quoted(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    kernel_image t = opencl_number;
    t.source = "__kernel void number(__global char *y, ulong off, int scale)\n{\n  wrong(y;\n}\n";
    check_build(dev, &t, IG_ERR_DEVICE, "CL_BUILD_PROGRAM_FAILURE\n");
    check_build(dev, &t, IG_ERR_DEVICE, ":3:"); /* the line */
    t = opencl_number;
    t.entry = "another";
    check_build(dev, &t, IG_ERR_ARGUMENT, "no kernel 'another'");
    t = opencl_number;
    t.n_params = 1;
    check_build(dev, &t, IG_ERR_ARGUMENT, "has 3 parameters in its text, but 2 are described");
    t = opencl_number;
    t.dynamic_shared = true;
    check_build(dev, &t, IG_ERR_ARGUMENT, "but 4 are described");
    const kernel_param large[] = {{.kind = KERNEL_BUFFER},
                                  {.kind = KERNEL_BYTES, .bytes = 1 << 20}};
    t = opencl_number;
    t.params = large;
    check_build(dev, &t, IG_ERR_UNSUPPORTED, "bytes of parameters");
}

/* A log of any length is cut to the size of an error message. */
static void long_logs_are_cut(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    enum { LINES = 200 };
    char *source = malloc(LINES * 32 + 64), *at = source;
    at += sprintf(at, "__kernel void number(void) {\n");
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "  nobody_knows_%d++;\n", i);
    sprintf(at, "}\n");
    kernel_image t = opencl_number;
    t.source = source;
    check_build(dev, &t, IG_ERR_DEVICE, "nobody_knows_0");
    free(source);
}

/* ---- the cache ---- */

/* How often the driver compiled text while the kernel was built. */
static long texts_seen(const backend *dev, const kernel_image *t)
{
    const long before = shim.compiled();
    kernel_code *k = built(dev, t);
    int32_t got[N];
    buffer *y = made(dev, sizeof got);
    assert_int_equal(opencl_run_number(k, (binding){y, 0}, 5, N), IG_OK);
    assert_int_equal(dev->read(y, 0, got, sizeof got), IG_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], 5 * i);
    buffer_release(y);
    dev->kernel_discard(k);
    return shim.compiled() - before;
}

/* The only entry of the cache. */
static const char *entry_path(void)
{
    static char path[512];
    char command[512];
    snprintf(command, sizeof command, "ls -d %s/ingot/opencl/*", folder_path("one"));
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_non_null(fgets(path, sizeof path, list));
    path[strcspn(path, "\n")] = '\0';
    assert_null(fgets(command, sizeof command, list));
    pclose(list);
    return path;
}

static void binaries_are_kept(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    setenv("XDG_CACHE_HOME", folder_path("one"), 1);
    kernel_image t = opencl_number;
    setenv("IG_CACHE", "off", 1);
    assert_int_equal(texts_seen(dev, &t), 1);
    assert_int_equal(texts_seen(dev, &t), 1);
    assert_int_not_equal(access(folder_path("one"), F_OK), 0);
    unsetenv("IG_CACHE");
    assert_int_equal(texts_seen(dev, &t), 1);
    assert_int_equal(texts_seen(dev, &t), 0);
    const char *path = entry_path();
    const size_t bytes = folder_get(path);
    folder_content[bytes / 2] ^= 1; /* damaged: deleted and built again */
    folder_put(path, folder_content, bytes);
    assert_int_equal(texts_seen(dev, &t), 1);
    assert_int_equal(texts_seen(dev, &t), 0);
    t.options = "-DOTHER";
    assert_int_equal(texts_seen(dev, &t), 1);
    assert_int_equal(texts_seen(dev, &t), 0);
    const backend *other = search_at(backend_opencl.search, 1);
    if (other)
        assert_int_equal(texts_seen(other, &t), 1);
    setenv("XDG_CACHE_HOME", folder_path("cache"), 1);
}

/* An intact binary that the driver rejects: the shim provides it. */
static void refused_binaries_are_made_again(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    setenv("XDG_CACHE_HOME", folder_path("refused"), 1);
    assert_int_equal(texts_seen(dev, &opencl_number), 1);
    kernel_code *k = built(dev, &opencl_number); /* keeps the device open */
    const long before = shim.compiled();
    shim.at(1, false);
    kernel_code *again = built(dev, &opencl_number);
    assert_int_equal(shim.compiled() - before, 1);
    dev->kernel_discard(again);
    dev->kernel_discard(k);
    setenv("XDG_CACHE_HOME", folder_path("cache"), 1);
}

/* ---- processes ---- */

static void a_forked_child_is_told(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    buffer *b = made(dev, 16);
    const pid_t child = fork();
    if (child == 0) {
        const char *text = dev->alloc(dev, 16) ? NULL : ig_error(NULL);
        buffer_release(b);
        backend_release_all();
        _exit(text && strstr(text, "fork") ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    buffer_release(b);
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    setenv("IG_TEST_PLATFORM", "a driver without a cache", 1); /* PoCL has its own */
#define TEST(f) cmocka_unit_test_setup_teardown(f, opencl_test_begin, opencl_test_end)
    const struct CMUnitTest tests[] = {
        TEST(devices_say_what_they_are),
        TEST(arrays_run_on_it),
        TEST(absence_has_a_reason),
        TEST(devices_are_apart),
        TEST(memory_holds_what_is_written),
        TEST(large_memory_holds_what_is_written),
        TEST(memory_has_its_bounds),
        TEST(grids_have_three_axes),
        TEST(kernels_get_all_kinds_of_arguments),
        TEST(launches_have_their_bounds),
        TEST(compilers_are_quoted),
        TEST(long_logs_are_cut),
        TEST(binaries_are_kept),
        TEST(refused_binaries_are_made_again),
        TEST(a_forked_child_is_told),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
