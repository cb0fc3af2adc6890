/* Atomics of kernels on the CPU: sums by all threads, in global and in shared memory, and the values that atomics
 * return. */
#include "support/unit.h"

enum { THREADS = 256, BLOCKS = 64, N = THREADS * BLOCKS };

/* Runs kernel k of the source with one array of N zeros. */
static const void *run(const char *source, ig_dtype dtype)
{
    static const int64_t n = N;
    ig_array *result = NULL;
    ig_module *m = ig_module_new("test.cu", source, NULL);
    assert_non_null(m);
    const ig_arg y = {.kind = IG_ARG_ARRAY, .u.array = ig_zeros((ig_ints){&n, 1}, dtype)};
    const ig_launch l = {.grid = {BLOCKS}, .block = {THREADS}, .args = &y, .n_args = 1};
    if (ig_module_launch(m, "k", &l, &result) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    ig_module_free(m);
    return ig_data(result);
}

static void test_global(void **state)
{
    (void)state;
    const int32_t *y =
        run("__global__ void k(int *y) { atomicAdd(&y[threadIdx.x % 3], -2); }", IG_I32);
    assert_int_equal(y[0] + y[1] + y[2], -2 * N);
    assert_int_equal(y[1], -2 * BLOCKS * 85);
    const float *f =
        run("__global__ void k(float *y) { atomicAdd(&y[threadIdx.x % 2], 0.5f); }", IG_F32);
    assert_true(f[0] == N / 4 && f[1] == N / 4);
}

/* Each thread gets a different ticket. */
static void test_tickets(void **state)
{
    (void)state;
    const int32_t *y = run("__device__ unsigned next;\n"
                           "__global__ void k(int *y) { y[atomicAdd(&next, 1u)] += 1; }",
                           IG_I32);
    for (int i = 0; i < N; i++)
        assert_int_equal(y[i], 1);
}

static void test_shared(void **state)
{
    (void)state;
    const int32_t *y = run("__global__ void k(int *y) {\n"
                           "    __shared__ int n;\n"
                           "    if (threadIdx.x == 0) n = 100;\n"
                           "    __syncthreads();\n"
                           "    int was = atomicAdd(&n, 3);\n"
                           "    __syncthreads();\n"
                           "    y[blockIdx.x * blockDim.x + (was - 100) / 3] = n;\n"
                           "}",
                           IG_I32);
    for (int i = 0; i < N; i++)
        assert_int_equal(y[i], 100 + 3 * THREADS);
    const float *f = run("__global__ void k(float *y) {\n"
                         "    __shared__ float s, most;\n"
                         "    if (threadIdx.x == 0) s = 0, most = -1;\n"
                         "    __syncthreads();\n"
                         "    atomicAdd(&s, (float)threadIdx.x);\n"
                         "    atomicExch(&y[blockIdx.x], 0.0f);\n"
                         "    __syncthreads();\n"
                         "    if (threadIdx.x == 7) y[blockIdx.x] = s;\n"
                         "}",
                         IG_F32);
    for (int i = 0; i < BLOCKS; i++)
        assert_true(f[i] == THREADS * (THREADS - 1) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_global, begin, end),
        cmocka_unit_test_setup_teardown(test_tickets, begin, end),
        cmocka_unit_test_setup_teardown(test_shared, begin, end),
    };
    return cmocka_run_group_tests_name("kernel_atomic", tests, NULL, NULL);
}
