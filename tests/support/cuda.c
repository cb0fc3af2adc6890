/* The fake driver, and the folder. */
#include "support/cuda.h"
#include "support/unit.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cuda_fake fake;
static char folder[PATH_MAX];

const char *cuda_library(const char *name)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void *find(void *library, const char *name)
{
    void *at = library ? dlsym(library, name) : NULL;
    if (!at) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return at;
}

void cuda_prepare(const char *path_of_test)
{
    char self[PATH_MAX - 32];
    snprintf(self, sizeof self, "%s", path_of_test);
    snprintf(folder, sizeof folder, "%s/../fakecuda", dirname(self));
    setenv("IG_CUDA", cuda_library("cuda.so"), 1);
    setenv("IG_NVRTC", cuda_library("cuda.so"), 1);
    setenv("IG_CUBLASLT", "off", 1);
    setenv("IG_CUDNN", "off", 1);
    setenv("IG_CUSOLVER", "off", 1);
    setenv("IG_CUFFT", "off", 1);
    void *library = dlopen(cuda_library("cuda.so"), RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"fake_fail", &fake.fail_at},
                     {"fake_lose", &fake.lose},
                     {"fake_memory", &fake.memory},
                     {"fake_count", &fake.count}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *at = find(library, functions[i].name);
        memcpy(functions[i].to, &at, sizeof at);
    }
}

void cuda_prepare_hopper(const char *path_of_test)
{
    cuda_prepare(path_of_test);
    setenv("IG_CUDA", cuda_library("attention.so"), 1);
    setenv("IG_NVRTC", cuda_library("attention.so"), 1);
}

int cuda_begin(void **state)
{
    const int failed = folder_begin(state);
    setenv("XDG_CACHE_HOME", folder_path("cache"), 1);
    return failed;
}

int cuda_end(void **state)
{
    ig_shutdown();
    return folder_end(state);
}

int cuda_test_begin(void **state)
{
    (void)state;
    ig_error(NULL);
    fake.fail_at(0, false);
    fake.lose(0);
    fake.memory((uint64_t)1 << 30);
    return ig_set_device("cuda:0") != IG_OK;
}

int cuda_test_end(void **state)
{
    (void)state;
    ig_set_device("cpu");
    ig_shutdown();
    const long left = fake.count(FAKE_OBJECTS);
    if (left != 0)
        fprintf(stderr, "%ld objects of CUDA were left behind\n", left);
    if (ig_failed())
        fprintf(stderr, "an error was left: %s\n", ig_error(NULL));
    return left != 0 || ig_failed();
}

int cuda_compute(const char *device, ig_array *(*build)(void), float *to, int most)
{
    assert_int_equal(ig_set_device(device), IG_OK);
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *x = build();
    const int n = x ? (int)ig_size(x) : 0;
    assert_in_range(n, 0, most);
    const bool fine = x && ig_read(x, to, (size_t)n * sizeof *to) == IG_OK;
    ig_scope_end();
    assert_int_equal(ig_set_device("cuda:0"), IG_OK);
    return fine ? n : 0;
}
