/* The profiler of kernels: counts that can be worked out by hand. */
#include "kernel_launch.h"
#include "support/unit.h"

static ig_profile *profiled(const char *source, int64_t n, uint32_t blocks, uint32_t threads)
{
    ig_profile *p = NULL;
    const ig_launch l = {.grid = {blocks}, .block = {threads}, .profile = &p};
    if (launch_first(source, n, &l) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    assert_non_null(p);
    return p;
}

/* The line that begins with the text. */
static const ig_profile_line *line_of(const ig_profile *p, const char *text)
{
    for (int i = 0; i < p->n_lines; i++)
        if (!strncmp(p->lines[i].text, text, strlen(text)))
            return &p->lines[i];
    fail_msg("no line '%s'", text);
    return NULL;
}

/* ---- shared memory: cycles of one request of 32 lanes ---- */

static void expect_cycles(const char *access, int cycles, int ideal)
{
    char source[512] = "__global__ void k(float *y) {\n"
                       "    __shared__ float s[2048];\n"
                       "    int t = threadIdx.x;\n"
                       "    s[t] = 1;\n"
                       "    __syncthreads();\n";
    strcat(source, access);
    strcat(source, "}\n");
    ig_profile *p = profiled(source, 2048, 1, 32);
    const ig_profile_line *l = line_of(p, "y[");
    assert_int_equal(l->shared_requests, 1);
    assert_int_equal(l->shared_cycles, cycles);
    assert_int_equal(l->shared_ideal, ideal);
    assert_int_equal(line_of(p, "__sync")->barriers, 1);
    ig_free(p);
}

static void test_banks(void **state)
{
    (void)state;
    expect_cycles("    y[t] = s[t];\n", 1, 1);
    expect_cycles("    y[t] = s[31 - t];\n", 1, 1);
    expect_cycles("    y[t] = s[7];\n", 1, 1); /* one word for all */
    expect_cycles("    y[t] = s[t * 2];\n", 2, 1);
    expect_cycles("    y[t] = s[t * 4];\n", 4, 1);
    expect_cycles("    y[t] = s[t * 32];\n", 32, 1); /* a column */
    expect_cycles("    y[t] = s[t * 33];\n", 1, 1);  /* padded */
    expect_cycles("    y[t] = ((double *)s)[t];\n", 2, 2);
    expect_cycles("    y[t] = ((float4 *)s)[t].w;\n", 4, 1);
    expect_cycles("    y[t] = t < 16 ? s[t * 2] : 0;\n", 1, 1);
    expect_cycles("    y[t] = ((unsigned char *)s)[t];\n", 1, 1); /* 8 words */
}

/* ---- global memory: sectors of one request ---- */

static void expect_sectors(const char *access, int sectors, int ideal, int bytes)
{
    char source[512] = "__global__ void k(float *y, const float *x) {\n"
                       "    int t = threadIdx.x;\n"
                       "    float v = 0;\n";
    strcat(source, access);
    strcat(source, "    if (v == 12345) y[0] = v;\n}\n");
    ig_profile *p = profiled(source, 2048, 1, 32);
    const ig_profile_line *l = line_of(p, "v =");
    assert_int_equal(l->global_requests, 1);
    assert_int_equal(l->global_sectors, sectors);
    assert_int_equal(l->global_ideal, ideal);
    assert_int_equal(l->global_bytes, bytes);
    ig_free(p);
}

static void test_sectors(void **state)
{
    (void)state;
    expect_sectors("    v = x[t];\n", 4, 4, 128);
    expect_sectors("    v = x[t + 1];\n", 5, 4, 128); /* not aligned */
    expect_sectors("    v = x[t * 2];\n", 8, 4, 128);
    expect_sectors("    v = x[t * 8];\n", 32, 4, 128);
    expect_sectors("    v = x[t * 64];\n", 32, 4, 128); /* a column */
    expect_sectors("    v = x[5];\n", 1, 1, 128);
    expect_sectors("    v = ((const unsigned char *)x)[t];\n", 1, 1, 32);
}

static void test_vectors(void **state)
{
    (void)state;
    ig_profile *p = profiled("__global__ void k(float4 *y, const float *x) {\n"
                             "    float4 v = ((const float4 *)x)[threadIdx.x];\n"
                             "    ((float4 *)x)[threadIdx.x] = v;\n"
                             "}\n",
                             128, 1, 32);
    for (int i = 0; i < 2; i++) {
        const ig_profile_line *l = line_of(p, i ? "((float4" : "float4");
        assert_int_equal(l->global_requests, 1);
        assert_int_equal(l->global_sectors, 16);
        assert_int_equal(l->global_ideal, 16);
        assert_int_equal(l->global_bytes, 512);
    }
    ig_free(p);
}

/* ---- control flow ---- */

static void test_lines(void **state)
{
    (void)state;
    const char *source = "__global__ void k(int *y) {\n"
                         "    int t = threadIdx.x;\n"
                         "    if (t % 2)\n"
                         "        y[t] = 1;\n"
                         "    if (t < 32)\n"
                         "        y[t] = 2;\n"
                         "    for (int i = 0; i < 10; i++)\n"
                         "        y[t] += i;\n"
                         "    atomicAdd(&y[t], 1);\n"
                         "}\n";
    ig_profile *p = profiled(source, 64, 3, 64);
    const ig_profile_line *odd = line_of(p, "if (t % 2"), *half = line_of(p, "if (t < 32");
    assert_int_equal(odd->runs, 6); /* two warps of three blocks */
    assert_int_equal(odd->branches, 6);
    assert_int_equal(odd->divergent, 6);
    assert_int_equal(half->branches, 6);
    assert_int_equal(half->divergent, 0);
    const ig_profile_line *one = line_of(p, "y[t] = 1"), *two = line_of(p, "y[t] = 2");
    assert_int_equal(one->runs, 6);
    assert_int_equal(one->lanes, 16 * one->instructions);
    assert_int_equal(two->runs, 3);
    assert_int_equal(two->lanes, 32 * two->instructions);
    assert_int_equal(line_of(p, "for")->runs, 6 * 11);
    assert_int_equal(line_of(p, "for")->branches, 6 * 11);
    const ig_profile_line *body = line_of(p, "y[t] +=");
    assert_int_equal(body->runs, 6 * 10);
    assert_int_equal(body->global_requests, 6 * 20);
    assert_int_equal(line_of(p, "atomicAdd")->atomics, 6);
    assert_int_equal(body->line, 8);
    assert_string_equal(body->file, "test.cu");
    assert_string_equal(p->kernel, "k");
    uint64_t sectors = 0;
    for (int i = 0; i < p->n_lines; i++)
        sectors += p->lines[i].global_sectors;
    assert_int_equal(p->total.global_sectors, sectors);
    char *table = ig_profile_text(p);
    assert_non_null(strstr(table, "y[t] += i;\n"));
    ig_free(table);
    ig_free(p);
}

/* Both at once: accesses out of bounds are not counted, because they are not made. */
static void test_with_check(void **state)
{
    (void)state;
    ig_profile *p = NULL;
    const ig_launch l = {.grid = {1}, .block = {32}, .profile = &p, .check = true};
    assert_int_equal(launch_first("__global__ void k(float *y) { y[threadIdx.x] = 1; }\n", 32, &l),
                     IG_OK);
    assert_int_equal(p->total.global_sectors, 4);
    ig_free(p);
    assert_int_equal(launch_first("__global__ void k(float *y) { y[threadIdx.x] = 1; }\n", 31, &l),
                     IG_ERR_DEVICE);
    assert_non_null(ig_error(NULL));
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_banks, begin, end),
        cmocka_unit_test_setup_teardown(test_sectors, begin, end),
        cmocka_unit_test_setup_teardown(test_vectors, begin, end),
        cmocka_unit_test_setup_teardown(test_lines, begin, end),
        cmocka_unit_test_setup_teardown(test_with_check, begin, end),
    };
    return cmocka_run_group_tests_name("kernel_profile", tests, NULL, NULL);
}
