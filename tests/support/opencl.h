/* For tests of the OpenCL backend: the shim that can fail (tests/opencl/failing.c) in front of the
 * real library, a folder for all caches, and small kernels. */
#ifndef SUPPORT_OPENCL_H
#define SUPPORT_OPENCL_H

#include "engine/backend/backend.h"
#include "opencl/failing.h"
#include "support/folder.h"

/* The shim's functions. */
typedef struct opencl_shim {
    failing_at_fn *at;
    failing_launch_fn *launch;
    failing_memory_fn *memory;
    failing_count_fn *calls, *objects, *compiled, *binaries;
    failing_text_fn *options;
} opencl_shim;
extern opencl_shim shim;

/* Loads the shim, which is next to the test's folder, in front of two PoCL devices. */
void opencl_prepare(const char *path_of_test);
/* Setup and teardown of a group: the caches are in a separate folder. */
int opencl_begin(void **state);
int opencl_end(void **state);
/* Setup and teardown of a test: no errors and no OpenCL objects may remain. */
int opencl_test_begin(void **state);
int opencl_test_end(void **state);

/* The i-th device; if there is none, skips the test and returns NULL. */
const backend *opencl_device_or_skip(int i);

/* y[i] = i * scale, of i32, and the sum of x and y. */
extern const kernel_image opencl_number, opencl_add;
enum { OPENCL_ADD_PARAMS = 4 };
/* Their launches: over n elements, which must be a multiple of 8. */
ig_status opencl_run_number(kernel_code *k, binding y, int32_t scale, uint32_t n);
ig_status opencl_run_add(kernel_code *k, binding x, binding y, binding sum, int32_t n);

#endif
