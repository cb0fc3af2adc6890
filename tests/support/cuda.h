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

/* Loads the fake driver, which is next to the test's folder. Must be the first call in main. */
void cuda_prepare(const char *path_of_test);
/* The same with plain kernels in place of those for tensor cores (tests/fakecuda/attend.c). */
void cuda_prepare_hopper(const char *path_of_test);
/* The path of another library in the same folder. */
const char *cuda_library(const char *name);
/* Setup and teardown of a group: the caches are in a separate folder. */
int cuda_begin(void **state);
int cuda_end(void **state);
/* Setup and teardown of a test: arrays are on cuda:0; no errors and no CUDA objects may remain. */
int cuda_test_begin(void **state);
int cuda_test_end(void **state);
/* Reads the array that `build` makes on a device, at most `most` elements. cuda:0 is the current device afterwards.
 * Returns the number of elements; 0 on failure. */
int cuda_compute(const char *device, ig_array *(*build)(void), float *to, int most);

#endif
