/* For tests of the OpenCL backend: the shim that can fail (tests/opencl/failing.c) before the real
 * library, a folder for all caches, and small kernels. */
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

/* Loads the shim, which lies beside the test's own folder, with two devices of PoCL behind it. */
void opencl_prepare(const char *path_of_test);
/* Setup and teardown of a group: the caches go into a folder of its own. */
int opencl_begin(void **state);
int opencl_end(void **state);
/* Setup and teardown of a test: no errors and no objects of OpenCL are left behind. */
int opencl_test_begin(void **state);
int opencl_test_end(void **state);

/* The i-th device; NULL, after skip(), where there is none. */
const backend *opencl_device_or_skip(int i);

/* y[i] = i * scale, of i32, and the sum of x and y. */
extern const kernel_image opencl_number, opencl_add;
enum { OPENCL_ADD_PARAMS = 4 };
/* Their launches: over n elements, which must be a multiple of 8. */
ig_status opencl_run_number(kernel_code *k, binding y, int32_t scale, uint32_t n);
ig_status opencl_run_add(kernel_code *k, binding x, binding y, binding sum, int32_t n);

#endif
