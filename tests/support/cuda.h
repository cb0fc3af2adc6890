/* For tests of the CUDA backend: the fake driver (tests/fakecuda), and a folder for all caches. */
#ifndef SUPPORT_CUDA_H
#define SUPPORT_CUDA_H

#include "engine/backend/backend.h"
#include "fakecuda/fake.h"
#include "support/folder.h"

/* The fake driver's functions. */
typedef struct cuda_fake {
    fake_fail_fn *fail_at;
    fake_lose_fn *lose;
    fake_memory_fn *memory;
    fake_count_fn *count;
} cuda_fake;
extern cuda_fake fake;

/* Loads the fake driver, which lies beside the test's own folder. Called first in main. */
void cuda_prepare(const char *path_of_test);
/* The same with plain kernels in place of those for tensor cores (tests/fakecuda/attend.c). */
void cuda_prepare_hopper(const char *path_of_test);
/* The path of another library beside it. */
const char *cuda_library(const char *name);
/* Setup and teardown of a group: the caches go into a folder of its own. */
int cuda_begin(void **state);
int cuda_end(void **state);
/* Setup and teardown of a test: arrays are on cuda:0; no errors and no objects of CUDA are left behind. */
int cuda_test_begin(void **state);
int cuda_test_end(void **state);
/* Reads what `build` makes on a device, at most `most` elements; cuda:0 is the current device again. Returns how many; 0: failed. */
int cuda_compute(const char *device, ig_array *(*build)(void), float *to, int most);

#endif
