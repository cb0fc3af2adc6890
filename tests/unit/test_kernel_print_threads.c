/* Texts of kernels whose threads exchange values, in other languages: barriers, shared memory, shuffles and masks of
 * warps. */
#include "support/printed.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

#include "compiler/print/join.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Threads that exchange values with barriers in between, or that only use their own elements, are accepted; others are
 * rejected, unless the device has warps of 32. */
static void exchanges_need_barriers(void **unused)
{
    (void)unused;
    static const char *const bodies[] = {
        "for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }",
        "s[t] = 1; s[t + 64] = 2; x[t] = s[t] + s[t + 64];",
        "for (int i = t; i < n; i += 64) { s[i] = x[i]; x[i] = s[i] + 1; }",
        "for (int i = 1; i < 4; i++) s[4 * t + i] = s[4 * t + i - 1] + s[4 * t + i];",
        "if (t % 2 == 0) { s[t] = 1; x[t] = s[t + 1]; }",
        "if (t < 8) s[t] = 1; if (t < 8) x[t] = s[t + 8];",
        "if (t == 0) for (int i = 1; i < n; i++) s[i] = s[i - 1] + s[i];",
        "int a = s[t ^ 1]; __syncthreads(); s[t] = a; __syncthreads(); x[t] = s[t + 1];",
        "if (t & 1) return; s[t] = 1; x[t] = s[t + 1];",
        "if (t % 2) x[t] = s[t - 1]; else s[t + 1 - 1 + 64] = 2;",
        "s[t] = 1; x[t] = s[64 + t ^ 1];",
        "s[2 * t] = 1; x[t] = s[2 * t + 1];",
        "s[t] = 1; x[t] = s[blockDim.x + t];",
        "s[0] = 1; x[t] = s[0];",
        "if (t == 3) { s[0] = 5; x[0] = s[0]; }",
    };
    /* Some thread of a warp loads a value that another one stores. */
    static const char *const refused[] = {
        "s[t] = t; x[t] = s[31 - t];",
        "s[t] = t; x[t] = s[blockDim.x - 1 - t];",
        "s[t] = t; x[t] = s[t ^ 1];",
        "s[t] += s[t ^ 16];",
        "s[t & 31] = t; x[t] = s[(t + 1) % 32];",
        "if (t == 0) s[0] = n; x[t] = s[0];",
        "int v = s[t + 1]; s[t] = v;",
        "if (t % 2 == 0) s[t] = 1; else x[t] = s[t - 1];",
        "if (t >= 16) return; s[t] = t; x[t] = s[15 - t];",
        "int l = (blockIdx.x * blockDim.x + t) & 31; s[l] = l; x[l] = s[31 - l];",
        "s[t / 2] = 1; x[t] = s[t / 2 + 3];",
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        kernel_printed *out;
        char source[512];
        snprintf(source, sizeof source,
                 "__global__ void k(int *x, int n) { __shared__ int s[512]; int t = threadIdx.x; "
                 "s[t] = x[t]; __syncthreads();\n%s }",
                 bodies[i]);
        if (printed(source, kernel_target_find("opencl"), &out) != IG_OK)
            fail_msg("%s", ig_error(NULL));
        kernel_printed_free(out);
    }
    for (size_t i = 0; i < COUNT(refused); i++) {
        kernel_printed *out = NULL;
        char source[512];
        snprintf(source, sizeof source,
                 "__global__ void k(int *x, int n) { __shared__ int s[512]; int t = threadIdx.x; "
                 "s[t] = x[t]; __syncthreads();\n%s }",
                 refused[i]);
        if (printed(source, kernel_target_find("opencl"), &out) != IG_ERR_UNSUPPORTED ||
            !strstr(ig_error(NULL), "relies on warps in lock step"))
            fail_msg("%s\n%s", refused[i], out ? out->text : ig_error(NULL));
        kernel_target nvidia = *kernel_target_find("opencl");
        nvidia.subgroup = 32;
        assert_int_equal(printed(source, &nvidia, &out), IG_OK);
        kernel_printed_free(out);
    }
}

/* Every scalar and struct of a function with barriers has a value from its declaration on. */
/* If all lanes of a warp are known to shuffle, Metal's native function is used. */
static void whole_warps_shuffle_plainly(void **state)
{
#define SHUFFLE "y[threadIdx.x] = __shfl_down_sync(0xffffffffu, y[threadIdx.x], 1);"
    static const struct {
        const char *source;
        bool plain;
    } rows[] = {
        {"__global__ void k(int *y, int n) { " SHUFFLE " }", true},
        {"__global__ void k(int *y, int n) { for (int i = 0; i < n; i++) " SHUFFLE " }", true},
        {"__global__ void k(int *y, int n) { for (int i = threadIdx.x >> 5; i < n; i += 8) " SHUFFLE
         " }",
         true},
        {"__global__ void k(int *y, int n) { int w = threadIdx.x / 32; if (w < n) " SHUFFLE " }",
         true},
        {"__global__ void k(int *y, int n) { if (threadIdx.x < n) " SHUFFLE " }", false},
        {"__global__ void k(int *y, int n) { for (int i = threadIdx.x; i < n; i += 8) " SHUFFLE
         " }",
         false},
        {"__global__ void k(int *y, int n) { if (threadIdx.x >= n) return; " SHUFFLE " }", false},
        {"__global__ void k(int *y, int n) { for (int i = 0; i < n; i++) { if (y[threadIdx.x] > i)"
         " continue; " SHUFFLE " } }",
         false},
        {"__device__ void f(int *y) { " SHUFFLE " }\n"
         "__global__ void k(int *y, int n) { if (n > 3) f(y); }",
         true},
        {"__device__ void f(int *y) { " SHUFFLE " }\n"
         "__global__ void k(int *y, int n) { if (threadIdx.x > 3) f(y); }",
         false},
        {"__device__ void f(int *y) { " SHUFFLE " }\n"
         "__global__ void k(int *y, int n) { if (threadIdx.x > 3) return; f(y); }",
         false},
        {"__global__ void k(int *y, int n) { int i = (threadIdx.x > 3) && "
         "__shfl_xor_sync(0xffffffffu, n, 1); y[0] = i; }",
         false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int whole = 0; whole < 2; whole++) {
            kernel_target target = *kernel_target_find("metal");
            kernel_printed *out;
            target.whole_warps = whole;
            assert_int_equal(printed(rows[i].source, &target, &out), IG_OK);
            const bool plain = strstr(out->text, "T ig_shuffle(") == NULL;
            if (plain != (whole && rows[i].plain))
                fail_msg("row %zu: %s", i, out->text);
            kernel_printed_free(out);
        }
#undef SHUFFLE
}

static void variables_begin_with_values(void **unused)
{
    (void)unused;
    static const char source[] =
        "struct pair { int a; float b; };\n"
        "__global__ void k(int *x, int n) { int a, *p; float4 v; pair q; float list[4];\n"
        "for (int i = 0; i < n; i++) { a = x[i]; v.x = a; q.a = a; p = x; list[i] = 0; if (a == n) "
        "break;\n"
        "__syncthreads(); } x[0] = a + v.x + q.a + *p + list[1]; }";
    static const char *const wanted[] = {" a = 0;", "*p = 0;", "float4 v = 0;", "pair q = {0};",
                                         "float list[4];"};
    kernel_printed *out;
    assert_int_equal(printed(source, kernel_target_find("opencl"), &out), IG_OK);
    for (size_t i = 0; i < COUNT(wanted); i++)
        if (!strstr(out->text, wanted[i]))
            fail_msg("'%s' is missing:\n%s", wanted[i], out->text);
    kernel_printed_free(out);
}

/* A shuffle checks whether the lane that it reads is active. */
static void shuffles_ask_for_lanes(void **unused)
{
    (void)unused;
    static const char source[] =
        "__global__ void k(int *x, float *y) { x[0] = __shfl_down_sync(~0u, x[1], 1);\n"
        "y[0] = __shfl_sync(~0u, y[1], 2); }";
    kernel_target opencl = *kernel_target_find("opencl");
    opencl.subgroup = 32;
    opencl.shuffles = true;
    const struct {
        const kernel_target *target;
        const char *wanted[3];
    } rows[] = {{&opencl,
                 {"= ig_shuffle_int(x[1],", "= ig_shuffle_float(y[1],", "ig_ballot(true) >> lane"}},
                {kernel_target_find("metal"),
                 {"= ig_shuffle(x[1],", "= ig_shuffle(y[1],", "ig_ballot(true) >> lane"}}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        kernel_printed *out;
        assert_int_equal(printed(source, rows[i].target, &out), IG_OK);
        for (int k = 0; k < 3; k++)
            if (!strstr(out->text, rows[i].wanted[k]))
                fail_msg("'%s' is missing:\n%s", rows[i].wanted[k], out->text);
        kernel_printed_free(out);
    }
}

/* PoCL shares memory between blocks that only functions name, unless they are inlined at once. */
static void functions_with_shared_memory_are_inlined(void **unused)
{
    (void)unused;
    static const char source[] =
        "__device__ int own(int x) { return x * x + 1; }\n"
        "__device__ int get(int *s, int i) { return s[i] + own(i); }\n"
        "__global__ void k(int *x) { __shared__ int s[4]; s[0] = 1; x[0] = get(s, 1) + own(2); }";
    static const char attribute[] = "static __attribute__((always_inline)) int ";
    kernel_target gpu = *kernel_target_find("opencl");
    gpu.inlines = false;
    const struct {
        const kernel_target *target;
        int wanted;
    } rows[] = {{kernel_target_find("opencl"), 1}, {&gpu, 0}, {kernel_target_find("metal"), 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        kernel_printed *out;
        int found = 0;
        assert_int_equal(printed(source, rows[i].target, &out), IG_OK);
        for (const char *at = out->text; (at = strstr(at, attribute)); at++) {
            found++;
            assert_int_equal(strncmp(at + strlen(attribute), "get", 3), 0);
        }
        assert_int_equal(found, rows[i].wanted);
        kernel_printed_free(out);
    }
}

/* NVIDIA's OpenCL: warp functions pass the mask of the source to instructions, without an extension. */
static void warp_functions_have_masks(void **unused)
{
    (void)unused;
    static const struct {
        const char *expression, *wanted;
    } rows[] = {
        {"__shfl_sync(m, i, 3)", "= ig_warp_shuffle(m, i, ig_lane_at(ig_warp_lane(), 3, 32));"},
        {"__shfl_up_sync(m, i, 3, 8)",
         "= ig_warp_shuffle(m, i, ig_lane_up(ig_warp_lane(), 3u, 8));"},
        {"__shfl_down_sync(0xff, f, 1)",
         "ig_warp_shuffle(255u, f, ig_lane_down(ig_warp_lane(), 1u, 32))"},
        {"__shfl_xor_sync(m, f, 1)", "ig_warp_shuffle(m, f, ig_lane_xor(ig_warp_lane(), 1, 32))"},
        {"__ballot_sync(m, i)", "ig_warp_ballot(m, (i) != 0)"},
        {"__any_sync(m, i > 1)", "= (int)(ig_warp_ballot(m, ((int)(i > 1)) != 0) != 0);"},
        {"__all_sync(m, i > 1)", "= (int)(ig_warp_ballot(m, !((int)(i > 1))) == 0);"},
        {"(__syncwarp(m), __activemask())", "ig_warp_sync(m)"},
        {"__activemask()", "ig_warp_active()"},
    };
    kernel_target opencl = *kernel_target_find("opencl");
    opencl.subgroup = 32;
    opencl.shuffles = opencl.masked = true;
    for (size_t i = 0; i < COUNT(rows); i++) {
        kernel_printed *out;
        char source[200];
        snprintf(source, sizeof source,
                 "__global__ void k(int *x, unsigned m, int i, float f) { x[0] = %s; }",
                 rows[i].expression);
        assert_int_equal(printed(source, &opencl, &out), IG_OK);
        if (!strstr(out->text, rows[i].wanted) || strstr(out->text, "EXTENSION") ||
            strstr(out->text, "sub_group"))
            fail_msg("'%s' is not there:\n%s", rows[i].wanted, out->text);
        kernel_printed_free(out);
    }
}

/* Threads that have returned wait at barriers, so masks may not have their lanes. */
static void masks_after_a_return_are_refused(void **unused)
{
    (void)unused;
    static const char source[] =
        "__global__ void k(int *x, int n) { int t = threadIdx.x; if (t >= n) return;\n"
        "    __syncthreads(); x[t] = __shfl_down_sync(~0u, x[t], 1); }";
    kernel_printed *out;
    kernel_target opencl = *kernel_target_find("opencl");
    opencl.subgroup = 32;
    opencl.shuffles = opencl.masked = true;
    assert_int_equal(printed(source, &opencl, &out), IG_ERR_UNSUPPORTED);
    assert_non_null(strstr(ig_error(NULL), "returns before a barrier and uses warp functions"));
    opencl.masked = false;
    assert_int_equal(printed(source, &opencl, &out), IG_OK);
    kernel_printed_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_need_barriers),
        cmocka_unit_test(whole_warps_shuffle_plainly),
        cmocka_unit_test(variables_begin_with_values),
        cmocka_unit_test(shuffles_ask_for_lanes),
        cmocka_unit_test(functions_with_shared_memory_are_inlined),
        cmocka_unit_test(warp_functions_have_masks),
        cmocka_unit_test(masks_after_a_return_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
