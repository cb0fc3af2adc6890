/* Kernel modules used by several threads at once. */
#include "ingot.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 4, N = 96 };

static const char source[] = "__device__ int calls;\n"
                             "__global__ void scale(float *y, const float *x, float by) {\n"
                             "  __shared__ float s[128];\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  s[threadIdx.x] = x[i];\n"
                             "  __syncthreads();\n"
                             "  y[i] = s[threadIdx.x] * by;\n"
                             "  if (i == 0) calls = calls + 1;\n"
                             "}\n"
                             "__global__ void count(int *n) { n[0] = calls; }\n";

typedef struct worker {
    ig_module *module;
    int number, rounds;
    const char *why; /* the reason for a failure */
} worker;

/* Launches with a different block size each time, so that code is prepared again each time. */
static void *work(void *context)
{
    worker *w = context;
    static const uint32_t blocks[] = {96, 32, 48, 8};
    float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + w->number);
    for (int r = 0; r < w->rounds && !w->why; r++) {
        const uint32_t block = blocks[(r + w->number) % 4];
        ig_scope_begin();
        ig_array *in = ig_from_data(x, IG_SHAPE(N), IG_F32), *out = NULL;
        const ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = in},
                               {.kind = IG_ARG_ARRAY, .u.array = in},
                               {.kind = IG_ARG_FLOAT, .u.f = 3}};
        const ig_launch l = {.grid = {N / block}, .block = {block}, .args = args, .n_args = 3};
        if (ig_module_launch(w->module, "scale", &l, &out) != IG_OK ||
            ig_read(out, y, sizeof y) != IG_OK)
            w->why = ig_error(NULL);
        for (int i = 0; i < N && !w->why; i++)
            if (y[i] != 3 * x[i])
                w->why = "an element is wrong";
        ig_scope_end();
    }
    return NULL;
}

static void threads_share_a_module(void **unused)
{
    (void)unused;
    const int rounds = getenv("IG_TEST_QUICK") ? 30 : 300;
    ig_module *m = ig_module_new("threads.cu", source, NULL);
    if (!m)
        fail_msg("%s", ig_error(NULL));
    pthread_t thread[THREADS];
    worker w[THREADS];
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){m, i, rounds, NULL};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        if (w[i].why)
            fail_msg("thread %d failed", i);
    /* Launches of one module never overlap, so no increment of its variable is lost. */
    ig_scope_begin();
    const int32_t zero = 0;
    ig_array *n = ig_from_data(&zero, IG_SHAPE(1), IG_I32), *out = NULL;
    const ig_arg arg = {.kind = IG_ARG_ARRAY, .u.array = n};
    const ig_launch l = {.args = &arg, .n_args = 1};
    assert_int_equal(ig_module_launch(m, "count", &l, &out), IG_OK);
    assert_int_equal((int)ig_item(out), THREADS * rounds);
    ig_scope_end();
    ig_module_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
