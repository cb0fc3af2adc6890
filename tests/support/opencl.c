/* The shim, the folder, and small kernels. */
#include "engine/backend/search.h"
#include "support/opencl.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

opencl_shim shim;

/* PoCL keeps its compiled code until the process ends. The shim counts the objects that we should have released. */
const char *__lsan_default_suppressions(void);
/* On x86-64 the stack of an allocation may end in operator new. We have no C++, so such an allocation is not ours. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libpocl\nleak:libLLVM\nleak:libstdc++\n";
}

static void *shim_find(void *library, const char *name)
{
    void *at = library ? dlsym(library, name) : NULL;
    if (!at) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return at;
}

void opencl_prepare(const char *path_of_test)
{
    char path[PATH_MAX + 32], self[PATH_MAX];
    snprintf(self, sizeof self, "%s", path_of_test);
    snprintf(path, sizeof path, "%s/../opencl/failing.so", dirname(self));
    setenv("IG_OPENCL", path, 1);
    setenv("POCL_DEVICES", "pthread basic", 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"failing_at", &shim.at},
                     {"failing_launch", &shim.launch},
                     {"failing_memory", &shim.memory},
                     {"failing_calls", &shim.calls},
                     {"failing_objects", &shim.objects},
                     {"failing_compiled", &shim.compiled},
                     {"failing_binaries", &shim.binaries},
                     {"failing_options", &shim.options}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *at = shim_find(library, functions[i].name);
        memcpy(functions[i].to, &at, sizeof at);
    }
}

int opencl_begin(void **state)
{
    const int failed = folder_begin(state);
    setenv("XDG_CACHE_HOME", folder_path("cache"), 1);
    setenv("POCL_CACHE_DIR", folder_path("pocl"), 1);
    return failed;
}

int opencl_end(void **state)
{
    backend_release_all();
    return folder_end(state);
}

int opencl_test_begin(void **state)
{
    (void)state;
    ig_error(NULL);
    shim.at(0, false);
    shim.launch(0);
    shim.memory(0, 0);
    return 0;
}

int opencl_test_end(void **state)
{
    (void)state;
    backend_release_all();
    if (shim.objects() != 0)
        fprintf(stderr, "%ld objects of OpenCL were left behind\n", shim.objects());
    return shim.objects() != 0 || ig_failed();
}

const backend *opencl_device_or_skip(int i)
{
    ig_absent a;
    const backend *dev = search_at(backend_opencl.search, i);
    if (dev)
        return dev;
    print_message("no OpenCL device %d: %s\n", i,
                  backend_absent(0, &a) ? a.why : "there are fewer");
    skip();
    return NULL;
}

static const kernel_param number_params[] = {{.kind = KERNEL_BUFFER},
                                             {.kind = KERNEL_BYTES, .bytes = sizeof(int32_t)}};
const kernel_image opencl_number = {
    .source = "__kernel void number(__global char *y, ulong y_off, int scale)\n"
              "{\n"
              "    int i = get_global_id(0);\n"
              "    ((__global int *)(y + y_off))[i] = i * scale;\n"
              "}\n",
    .entry = "number",
    .params = number_params,
    .n_params = 2,
};

static const kernel_param add_params[OPENCL_ADD_PARAMS] = {
    {.kind = KERNEL_BUFFER},
    {.kind = KERNEL_BUFFER},
    {.kind = KERNEL_BUFFER},
    {.kind = KERNEL_BYTES, .bytes = sizeof(int32_t)}};
const kernel_image opencl_add = {
    .source = "__kernel void add(__global char *x, ulong x_off, __global char *y, ulong y_off,\n"
              "                  __global char *sum, ulong sum_off, int n)\n"
              "{\n"
              "    int i = get_global_id(0);\n"
              "    if (i < n)\n"
              "        ((__global int *)(sum + sum_off))[i] =\n"
              "            ((__global int *)(x + x_off))[i] + ((__global int *)(y + y_off))[i];\n"
              "}\n",
    .entry = "add",
    .params = add_params,
    .n_params = OPENCL_ADD_PARAMS,
};

ig_status opencl_run_number(kernel_code *k, binding y, int32_t scale, uint32_t n)
{
    const kernel_arg args[] = {{.at = y}, {.bytes = &scale}};
    const kernel_launch l = {.grid = {n / 8, 1, 1}, .block = {8, 1, 1}, .args = args};
    return k->dev->kernel_launch(k, &l);
}

ig_status opencl_run_add(kernel_code *k, binding x, binding y, binding sum, int32_t n)
{
    const kernel_arg args[] = {{.at = x}, {.at = y}, {.at = sum}, {.bytes = &n}};
    const kernel_launch l = {
        .grid = {((uint32_t)n + 7) / 8, 1, 1}, .block = {8, 1, 1}, .args = args};
    return k->dev->kernel_launch(k, &l);
}
