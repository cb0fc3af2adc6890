/* Texts of kernels in other languages: small ones in full, rejections with their codes and places, and the host's
 * decoding of a log. tests/test_translate.py checks that compilers accept the texts, and test_kernel_print_threads.c
 * barriers and warps. */
#include "support/printed.h"
#include "support/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "compiler/print/join.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- texts ---- */

static const struct {
    const char *name, *to, *source, *want;
} texts[] = {
    {"an index", "opencl",
     "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < "
     "n) x[i] *= 2; }",
     "#pragma OPENCL FP_CONTRACT OFF\n\n"
     "__kernel void k(__global char *x_base, ulong x_offset, int n)\n"
     "{\n"
     "    __global float *x = (__global float *)(x_base + x_offset);\n"
     "    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);\n"
     "    if (i < n)\n"
     "        x[i] *= 2.0f;\n"
     "}\n"},
    {"pointers to functions", "cuda",
     "typedef float (*fn)(float, const int *); struct s { fn f; fn all[3]; };\n"
     "__global__ void k(s *x, fn g) { fn own; x[0] = x[1]; }",
     "struct s {\n"
     "    unsigned long long f;\n"
     "    unsigned long long all[3];\n"
     "};\n\n\n"
     "extern \"C\" __global__ void k(s *x, unsigned long long g)\n"
     "{\n"
     "    unsigned long long own;\n"
     "    x[0] = x[1];\n"
     "}\n"},
    {"an index", "metal",
     "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < "
     "n) x[i] *= 2; }",
     "#include <metal_stdlib>\n#pragma METAL fp contract(off)\n#pragma clang fp contract(off)\n"
     "using namespace metal;\n\n"
     "kernel void k(device float *x [[buffer(0)]], constant int &n [[buffer(1)]],\n"
     "              uint3 threadIdx [[thread_position_in_threadgroup]],\n"
     "              uint3 blockIdx [[threadgroup_position_in_grid]],\n"
     "              uint3 blockDim [[threads_per_threadgroup]])\n"
     "{\n"
     "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "    if (i < n)\n"
     "        x[i] *= 2.0f;\n"
     "}\n"},
    {"an index", "cuda",
     "__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < "
     "n) x[i] *= 2; }",
     "extern \"C\" __global__ void k(float *x, int n)\n"
     "{\n"
     "    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);\n"
     "    if (i < n)\n"
     "        x[i] *= 2.0f;\n"
     "}\n"},
    {"a variable of a struct", "cuda",
     "struct pair { float a; int b[2]; }; __device__ pair all = {0.5f, {7, 8}};\n"
     "__global__ void k(int *y) { y[0] = all.b[1]; }",
     "struct pair {\n"
     "    float a;\n"
     "    int b[2];\n"
     "};\n\n"
     "__device__ pair all = {0.5f, {7, 8}};\n\n"
     "extern \"C\" __global__ void k(int *y)\n"
     "{\n"
     "    y[0] = all.b[1];\n"
     "}\n"},
    {"names of the language", "opencl",
     "struct local { int global; }; __device__ int half(int kernel) { return kernel / 2; }\n"
     "__global__ void k(local *constant) { constant->global = half(constant->global); }",
     "#pragma OPENCL FP_CONTRACT OFF\n\n"
     "typedef struct local_ {\n"
     "    int global_;\n"
     "} local_;\n\n"
     "static int half_(int kernel_)\n"
     "{\n"
     "    return kernel_ / 2;\n"
     "}\n\n"
     "__kernel void k(__global char *constant__base, ulong constant__offset)\n"
     "{\n"
     "    __global local_ *constant_ = (__global local_ *)(constant__base + constant__offset);\n"
     "    constant_->global_ = half_(constant_->global_);\n"
     "}\n"},
    {"a return before a barrier", "opencl",
     "__global__ void k(int *x, int n) {\n"
     "    __shared__ int s[8];\n"
     "    if (threadIdx.x >= n) return;\n"
     "    s[threadIdx.x] = x[0];\n"
     "    __syncthreads();\n"
     "    x[threadIdx.x] = s[0];\n}",
     "#pragma OPENCL FP_CONTRACT OFF\n\n"
     "__kernel void k(__global char *x_base, ulong x_offset, int n)\n"
     "{\n"
     "    __global int *x = (__global int *)(x_base + x_offset);\n"
     "    __local int s[8];\n"
     "    bool active = true;\n"
     "    if ((uint)get_local_id(0) >= n)\n"
     "        active = false;\n"
     "    if (active) {\n"
     "        s[get_local_id(0)] = x[0];\n"
     "    }\n"
     "    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"
     "    if (active) {\n"
     "        x[get_local_id(0)] = s[0];\n"
     "    }\n"
     "}\n"},
    {"shared and global variables of functions", "metal",
     "__device__ int total;\n"
     "__device__ void add(int x) { __shared__ int sum; sum = x; atomicAdd(&total, sum); }\n"
     "__global__ void k() { add(3); }",
     "#include <metal_stdlib>\n#pragma METAL fp contract(off)\n#pragma clang fp contract(off)\n"
     "using namespace metal;\n\n"
     "static void add(int x, threadgroup int *sum, device int *total)\n"
     "{\n"
     "    *sum = x;\n"
     "    atomic_fetch_add_explicit((device atomic_int *)total, *sum, memory_order_relaxed);\n"
     "}\n\n"
     "kernel void k(device char *globals [[buffer(0)]])\n"
     "{\n"
     "    threadgroup int sum;\n"
     "    device int *total = (device int *)(globals + 0);\n"
     "    add(3, &sum, total);\n"
     "}\n"},
};

static void texts_are_readable(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(texts); i++) {
        kernel_printed *out;
        if (printed(texts[i].source, kernel_target_find(texts[i].to), &out) != IG_OK)
            fail_msg("%s: %s", texts[i].name, ig_error(NULL));
        if (strcmp(out->text, texts[i].want) != 0)
            fail_msg("%s as %s:\n%s", texts[i].name, texts[i].to, out->text);
        kernel_printed_free(out);
    }
}

/* All kernels of a module share them, and each kernel is a module of CUDA. */
static void variables_are_handed_to_functions(void **unused)
{
    (void)unused;
    kernel_printed *out;
    kernel_target target = *kernel_target_find("cuda");
    target.hides_globals = true;
    assert_int_equal(printed("__device__ int n = 5; __device__ float t[3];\n"
                             "__device__ int next() { return n++; }\n"
                             "__global__ void k(float *y) { y[0] = t[1] + next(); }",
                             &target, &out),
                     IG_OK);
    assert_int_equal(out->n_params, 2);
    assert_int_equal(out->params[1].kind, PRINTED_GLOBALS);
    assert_string_equal(out->text, "__device__ int next(char *ig_globals)\n"
                                   "{\n"
                                   "    int (&n) = *(int (*))(ig_globals + 0);\n"
                                   "    return n++;\n"
                                   "}\n\n"
                                   "extern \"C\" __global__ void k(float *y, char *ig_globals)\n"
                                   "{\n"
                                   "    float (&t)[3] = *(float (*)[3])(ig_globals + 16);\n"
                                   "    int (&n) = *(int (*))(ig_globals + 0);\n"
                                   "    y[0] = t[1] + (float)next(ig_globals);\n"
                                   "}\n");
    kernel_printed_free(out);
}

static void params_are_told(void **unused)
{
    (void)unused;
    kernel_printed *out;
    assert_int_equal(
        printed("__constant__ int c; struct s { char a; double b; };\n"
                "__global__ void k(char n, float *x, s v, bool f) { extern __shared__ int d[]; "
                "d[0] = c; printf(\"\"); }",
                &(kernel_target){.language = LANGUAGE_OPENCL, .device = "x", .f64 = true}, &out),
        IG_OK);
    static const kernel_printed_param want[] = {{PRINTED_BYTES, 0, 1},   {PRINTED_BUFFER, 8, 8},
                                                {PRINTED_BYTES, 16, 16}, {PRINTED_BYTES, 32, 1},
                                                {PRINTED_GLOBALS, 0, 0}, {PRINTED_LOG, 0, 0}};
    assert_int_equal(out->n_params, COUNT(want));
    for (int i = 0; i < out->n_params; i++)
        assert_true(out->params[i].kind == want[i].kind &&
                    out->params[i].offset == want[i].offset &&
                    out->params[i].bytes == want[i].bytes);
    assert_true(out->dynamic_shared);
    kernel_printed_free(out);
}

/* ---- refusals ---- */

/* The beginning of sources with fragments. */
#define FRAGMENTS \
    "#include <mma.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda::wmma;\n" \
    "#define FRAGMENT(use, type, layout) fragment<use, 16, 16, 16, type, layout>\n" \
    "#define SUM(type) fragment<accumulator, 16, 16, 16, type>\n"

static const struct {
    const char *to, *source, *want; /* the first line */
} refusals[] = {
    {"metal", "__global__ void k(double *x) { x[0] = 1; }",
     "k.cu:1:27: error: 'k' uses double for 'x', which an Apple GPU does not have [IG-F64]"},
    {"metal", "__global__ void k(float *x) { double d = x[0]; x[0] = d * d; }",
     "k.cu:1:38: error: 'k' uses double for 'd', which an Apple GPU does not have [IG-F64]"},
    {"opencl", "__global__ void k(unsigned long long *x) { atomicAdd(x, 1ull); }",
     "k.cu:1:44: error: 'k' uses 64-bit atomics, which plain OpenCL does not have [IG-A64]"},
    {"opencl", "__global__ void k(int *x) { x[0] = __shfl_sync(~0u, x[1], 0); }",
     "k.cu:1:36: error: 'k' uses warp functions, which plain OpenCL does not have [IG-WARP]"},
    {"opencl",
     "__global__ void k(int *x) { __shared__ volatile int s[2]; s[0] = x[0]; x[1] = s[1]; }",
     "k.cu:1:60: error: 'k' relies on warps in lock step, which plain OpenCL does not have "
     "[IG-WARP]"},
    {"opencl",
     "__global__ void k(int *x) { volatile int *v = x + blockIdx.x * blockDim.x; int t = "
     "threadIdx.x;\n"
     "if (t < 32) { v[t] += v[t + 16]; v[t] += v[t + 8]; } }",
     "k.cu:2:24: error: 'k' relies on warps in lock step, which plain OpenCL does not have "
     "[IG-WARP]"},
    {"opencl",
     "__device__ void sum(int *s, int t) { s[t] += s[t + 16]; s[t] += s[t + 8]; }\n"
     "__global__ void k(int *x) { __shared__ int s[64]; s[threadIdx.x] = x[threadIdx.x];\n"
     "__syncthreads(); if (threadIdx.x < 32) sum(s, threadIdx.x); x[threadIdx.x] = s[0]; }",
     "k.cu:1:47: error: 'k' relies on warps in lock step, which plain OpenCL does not have "
     "[IG-WARP]"},
    {"opencl",
     "__global__ void k(int *x) { __shared__ int s[64]; int t = threadIdx.x; s[t] = x[t];\n"
     "__syncthreads(); for (int d = 16; d; d /= 2) if (t < d) s[t] += s[t + d]; x[t] = s[0]; }",
     "k.cu:2:66: error: 'k' relies on warps in lock step, which plain OpenCL does not have "
     "[IG-WARP]"},
#define LOCK_STEP(at) \
    "k.cu:" at \
    ": error: 'k' relies on warps in lock step, which plain OpenCL does not have [IG-WARP]"
    {"opencl",
     "__global__ void k(int *x) { __shared__ int s[64]; int *p = s + threadIdx.x;\n"
     "*p = x[threadIdx.x]; p++; x[threadIdx.x] = *p; }",
     LOCK_STEP("2:44")},
    {"opencl",
     "__device__ void put(int *p, int v) { p += threadIdx.x; *p = v; }\n"
     "__global__ void k(int *x) { __shared__ int s[64]; put(s, x[threadIdx.x]);\n"
     "x[threadIdx.x] = *(s + 31 - threadIdx.x); }",
     LOCK_STEP("3:18")},
    {"opencl",
     "__global__ void k(int *x, int c) { __shared__ int s[32], u[32]; int *w = c ? s : u;\n"
     "w[threadIdx.x] = x[threadIdx.x]; x[threadIdx.x] = w[threadIdx.x ^ 1]; }",
     LOCK_STEP("2:52")},
    {"opencl",
     "__global__ void k(int *x) { __shared__ int t[32][33]; int i = threadIdx.x, a = 0;\n"
     "for (int k = 0; k < 32; k++) t[i][k] = x[i * 32 + k];\n"
     "for (int k = 0; k < 32; k++) a += t[k][i]; x[i] = a; }",
     LOCK_STEP("3:39")},
    {"opencl",
     "__global__ void k(int *x, int n) { __shared__ int t[32][33]; int i = threadIdx.x, a = 0;\n"
     "for (int k = 0; k < n; k++) t[i][k] = x[i * n + k];\n"
     "for (int k = 0; k < n; k++) a += t[k][i]; x[i] = a; }",
     LOCK_STEP("3:38")},
    {"opencl",
     "struct v { int a, b; }; __global__ void k(int *x) { __shared__ v s[32];\n"
     "s[threadIdx.x].b = x[threadIdx.x]; x[threadIdx.x] = s[31 - threadIdx.x].b; }",
     LOCK_STEP("2:73")},
    {"opencl",
     "__device__ int n; __global__ void k(int *x) { atomicAdd(&n, 1);\n"
     "while (atomicAdd(&n, 0) < gridDim.x) ; x[0] = 1; }",
     "k.cu:2:8: error: 'k' waits in a loop for another block, which plain OpenCL may not run at "
     "the "
     "same time [IG-WAIT]"},
    {"opencl",
     "__global__ void k(int *x) { __shared__ int s; if (threadIdx.x == 0) s = x[0];\n"
     "x[threadIdx.x] = s; }",
     LOCK_STEP("2:18")},
    {"opencl",
     "__global__ void k(int *x) { __shared__ int s[32]; int t = threadIdx.x; s[t] = x[t];\n"
     "x[t] = s[t < 16 ? t + 16 : t - 16]; }",
     LOCK_STEP("2:9")},
    {"opencl",
     "__global__ void k(int *x) { __shared__ int s[32]; int t = threadIdx.x; s[t] = x[t];\n"
     "x[t] = s[max(t - 1, 0)] + s[min(t + 1, 31)]; }",
     LOCK_STEP("2:9")},
    {"opencl",
     "__device__ volatile int n; __global__ void k(int *x) { int v;\n"
     "do { v = n; } while (v == 0); x[0] = v; }",
     "k.cu:2:10: error: 'k' waits in a loop for another block, which plain OpenCL may not run at "
     "the same time [IG-WAIT]"},
    {"opencl",
     "__device__ int n; __global__ void k(int *x) { for (;;) { int v = atomicAdd(&n, 0);\n"
     "if (v > 3) break; } x[0] = 1; }",
     "k.cu:1:66: error: 'k' waits in a loop for another block, which plain OpenCL may not run at "
     "the same time [IG-WAIT]"},
    {"opencl",
     "__global__ void k(int *x) { int t = threadIdx.x; if (t < 9) { __syncthreads(); x[0] = 1;\n"
     "__syncthreads(); } else __syncthreads(); }",
     "k.cu:1:50: error: a branch with a barrier that only some threads take [IG-BARRIER]"},
    {"metal", "struct s { float *p; }; __global__ void k(s v) { v.p[0] = 1; }",
     "k.cu:1:45: error: 'k' keeps pointers in memory (in 'v'), which an Apple GPU cannot "
     "follow [IG-PTRMEM]"},
    {"opencl",
     "__device__ int f(int n) { return n ? n * f(n - 1) : 1; } __global__ void k(int *x) { x[0] = "
     "f(3); }",
     "k.cu:1:16: error: 'k' uses recursion, which plain OpenCL does not have [IG-REC]"},
    {"metal",
     "__global__ void k(float *x) { __shared__ float s[9000]; s[threadIdx.x] = x[0]; x[1] = s[1]; "
     "}",
     "k.cu:1:17: error: 'k' needs 36000 bytes of shared memory, but an Apple GPU has 32768 "
     "[IG-SMEM]"},
    {"metal", "__global__ void k(float *x) { x[0] = __fadd_rz(x[1], x[2]); }",
     "k.cu:1:38: error: Metal has no equivalent of 'ADD_RZ' [IG-ROUND]"},
    {"opencl", "__global__ void k(float *x) { x[0] = j0f(x[1]); }",
     "k.cu:1:38: error: OpenCL C has no equivalent of 'J0' [IG-MATH]"},
    {"metal",
     FRAGMENTS "__global__ void k(const __nv_bfloat16 *x) { FRAGMENT(matrix_a, __nv_bfloat16, "
               "row_major) a; load_matrix_sync(a, x, 16); }",
     "k.cu:6:93: error: 'k' has fragments of bfloat16, which cannot be done on an Apple GPU "
     "[IG-WMMA]"},
    {"metal",
     FRAGMENTS "__global__ void k(half *x) { FRAGMENT(matrix_a, half, row_major) a; FRAGMENT("
               "matrix_b, half, row_major) b; SUM(half) c; SUM(float) d; mma_sync(d, a, b, c); }",
     "k.cu:6:135: error: 'k' adds a product to a fragment of another type, which cannot be done on "
     "an Apple GPU [IG-WMMA]"},
    {"metal",
     FRAGMENTS "__global__ void k(float *x) { SUM(float) c; float *p = c.x; x[0] = p[1]; }",
     "k.cu:6:58: error: 'k' takes the address of a fragment's elements, which cannot be done on an "
     "Apple GPU [IG-WMMA]"},
    {"opencl",
     FRAGMENTS
     "__global__ void k(half *x) { FRAGMENT(matrix_a, half, row_major) a; x[0] = a.x[0]; }",
     "k.cu:6:78: error: 'k' uses elements of a fragment that is not an accumulator, which cannot "
     "be "
     "done on plain OpenCL [IG-WMMA]"},
    {"opencl",
     FRAGMENTS "__global__ void k(half *x) { FRAGMENT(matrix_a, half, row_major) a; SUM(half) c; "
               "load_matrix_sync(a, x, 16); store_matrix_sync(x + 256, c, 16, mem_row_major); }",
     "k.cu:6:110: error: 'k' stores a fragment where fragments are loaded from, which cannot be "
     "done on plain OpenCL [IG-WMMA]"},
    {"opencl",
     FRAGMENTS "__global__ void k(float *x) { SUM(float) c; load_matrix_sync(c, x, 16, "
               "mem_row_major); store_matrix_sync(x, c, 16, mem_col_major); }",
     "k.cu:6:88: error: 'k' stores a fragment where fragments are loaded from, which cannot be "
     "done on plain OpenCL [IG-WMMA]"},
    {"cuda", FRAGMENTS "__global__ void k() { SUM(float) c; fill_fragment(c, 0); }",
     "k.cu:6:34: error: 'k' has wmma fragments [IG-CUDA]"},
    {"metal", "__global__ void k(int *x) { int y = printf(\"a\"); x[0] = y; }",
     "k.cu:1:37: error: 'printf' inside an expression [IG-PRINTF]"},
};

static void refusals_have_reasons(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        kernel_printed *out = NULL;
        const ig_status status =
            printed(refusals[i].source, kernel_target_find(refusals[i].to), &out);
        if (status != IG_ERR_UNSUPPORTED)
            fail_msg("%s: status %d\n%s", refusals[i].want, status,
                     out ? out->text : ig_error(NULL));
        const char *said = ig_error(NULL), *end = strchr(said, '\n');
        if ((size_t)(end - said) != strlen(refusals[i].want) ||
            strncmp(said, refusals[i].want, (size_t)(end - said)) != 0)
            fail_msg("expected: %s\ngot:      %s", refusals[i].want, said);
        assert_null(out);
    }
}

/* Kernels with the same name in one file: each gets a unique name, and so do the functions that it calls; functions
 * with the same text appear once. */
static void kernels_of_one_name_are_joined(void **unused)
{
    (void)unused;
    static const char *const sources[] = {
        "__device__ int f(int x) { return x + 1; } __device__ int g(int x) { return f(x); }\n"
        "__global__ void k(int *x) { x[0] = g(x[1]); }",
        "__device__ int f(int x) { return x + 2; } __device__ int g(int x) { return f(x); }\n"
        "__global__ void k(int *x) { x[0] = g(x[1]); }",
        "__device__ int f(int x) { return x + 1; } __device__ int g(int x) { return f(x) * 3; }\n"
        "__global__ void k(int *x) { x[0] = g(x[1]); }"};
    static const char *const wanted[][4] = {
        {"int f(int x)", "int g(int x)", " k(int *x)", "x[0] = g(x[1])"},
        {"int f_v2(int x)", "return f_v2(x)", " k_v2(int *x)", "x[0] = g_v2(x[1])"},
        {"int g_v3(int x)", "return f(x) * 3", " k_v3(int *x)", "x[0] = g_v3(x[1])"}};
    print_joined all = {0};
    for (int i = 0; i < 3; i++) {
        kernel_printed *out;
        char *entry = NULL, expected[8];
        assert_int_equal(printed(sources[i], kernel_target_find("cuda"), &out), IG_OK);
        assert_int_equal(print_join(&all, out, NULL, &entry), IG_OK);
        snprintf(expected, sizeof expected, i ? "k_v%d" : "k", i + 1);
        assert_string_equal(entry, expected);
        memory_free(entry);
        kernel_printed_free(out);
    }
    char *file = print_joined_take(&all);
    for (int i = 0; i < 12; i++) {
        const char *at = strstr(file, wanted[i / 4][i % 4]);
        if (!at || strstr(at + 1, wanted[i / 4][i % 4]))
            fail_msg("'%s' is not there once:\n%s", wanted[i / 4][i % 4], file);
    }
    memory_free(file);
}

/* Messages for a source that has nothing to translate, or nothing that was requested. */
static void sources_without_kernels(void **unused)
{
    (void)unused;
    static const struct {
        const char *source, *kernel, *said;
    } rows[] = {
        {"template <typename T, int N> __global__ void tile(T *x) { x[0] = N; }", NULL,
         "k.cu has only templates of kernels: tile<T, N>; give them their arguments"},
        {"template <int N> __global__ void a() { } __global__ void b() { }", "c",
         "k.cu has no kernel 'c'; its templates are a<N>"},
        {"int main() { return 0; }", NULL, "k.cu has no kernel: no function is marked __global__"},
        {"__kernel void add(__global float *x) { x[get_global_id(0)] = 1; }", NULL,
         "this is OpenCL C, not CUDA C [IG-LANGUAGE]"},
        {"#include <metal_stdlib>\nkernel void add() { }", NULL, "this is Metal, not CUDA C"},
        {"from numba import cuda\n@cuda.jit\ndef add(x):\n    x[0] = 1\n", NULL,
         "this is Python for Numba, not CUDA C"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const ig_translate_options o = {.to = "cuda", .kernel = rows[i].kernel};
        assert_null(ig_translate("k.cu", rows[i].source, &o));
        const char *said = ig_error(NULL);
        if (!strstr(said, rows[i].said))
            fail_msg("expected: %s\ngot:      %s", rows[i].said, said);
    }
}

/* A template without its arguments is the instance that the source names. */
static void instances_that_the_source_names(void **unused)
{
    (void)unused;
    static const char source[] =
        "template <typename T, int N = 4> __global__ void one(T *x) { x[0] = N; }\n"
        "template <int N = 7> __global__ void two(int *x) { x[0] = N; }\n"
        "template <typename T> __global__ void three(T *x) { x[0] = 1; }\n"
        "template <> __global__ void three(float *x) { x[0] = 3; }\n"
        "template <typename T> void start(T *x) { one<T, 5><<<1, 1>>>(x); }\n"
        "int main() { one<short><<<1, 1>>>(0); }\n";
    static const struct {
        const char *asked, *entry;
    } rows[] = {{"one", "one_short_4"}, {"two", "two_7"}, {"three", "three_float"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const ig_translate_options o = {.to = "cuda", .kernel = rows[i].asked};
        ig_translations *t = ig_translate("k.cu", source, &o);
        if (!t)
            fail_msg("%s", ig_error(NULL));
        assert_int_equal(t->n, 1);
        assert_string_equal(t->at[0].entry, rows[i].entry);
        ig_translations_free(t);
    }
}

/* OpenCL C declares the shape of blocks if it is known. */
static void shapes_are_declared(void **unused)
{
    (void)unused;
    kernel_target opencl = *kernel_target_find("opencl"), metal = *kernel_target_find("metal");
    const uint32_t block[3] = {32, 16, 1};
    memcpy(opencl.block, block, sizeof block);
    memcpy(metal.block, block, sizeof block);
    kernel_printed *out;
    assert_int_equal(printed("__global__ void k(int *x) { x[0] = 1; }", &opencl, &out), IG_OK);
    assert_non_null(strstr(
        out->text, "\n__attribute__((reqd_work_group_size(32, 16, 1)))\n__kernel void k(__global"));
    kernel_printed_free(out);
    assert_int_equal(printed("__global__ void k(int *x) { x[0] = 1; }", &metal, &out), IG_OK);
    assert_null(strstr(out->text, "reqd_work_group_size"));
    kernel_printed_free(out);
}

/* A restrict of the author is kept if the language has it and its compiler uses it. */
static void restrict_is_kept(void **unused)
{
    (void)unused;
    const char *source = "__global__ void k(const int *__restrict__ x, int *y) { y[0] = x[0]; }";
    kernel_printed *out;
    assert_int_equal(printed(source, kernel_target_find("cuda"), &out), IG_OK);
    assert_non_null(strstr(out->text, "k(const int *__restrict__ x, int *y)"));
    kernel_printed_free(out);
    assert_int_equal(printed(source, kernel_target_find("opencl"), &out), IG_OK);
    assert_null(strstr(out->text, "restrict"));
    kernel_printed_free(out);
}

/* On devices without double, literals do not turn float arithmetic into double; a warning says so once. */
static void literals_are_float(void **unused)
{
    (void)unused;
    kernel_printed *out;
    assert_int_equal(printed("__global__ void k(float *x) { x[0] = x[1] * 0.1 + exp(0.5 * x[2]); }",
                             kernel_target_find("metal"), &out),
                     IG_OK);
    assert_non_null(strstr(out->text, "    x[0] = x[1] * 0.1f + exp(0.5f * x[2]);\n"));
    const char *first = strstr(out->warnings, "warning: ");
    assert_non_null(first);
    assert_non_null(strstr(first, "[IG-F64]"));
    assert_null(strstr(first + 1, "warning: "));
    kernel_printed_free(out);
}

/* ---- the stack ---- */

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { STACK_BYTES = 32 << 20 };
#elif defined __has_feature
enum { STACK_BYTES = __has_feature(address_sanitizer) ? 32 << 20 : 2 << 20 };
#else
enum { STACK_BYTES = 2 << 20 };
#endif

static void *print_definitions(void *source)
{
    kernel_printed *out = NULL;
    if (printed(source, kernel_target_find("opencl"), &out) != IG_OK)
        return NULL;
    kernel_printed_free(out);
    return source;
}

/* Each of many variables is defined by the one before, as the values of a fused program are. */
static void long_definitions_need_little_stack(void **unused)
{
    enum { VARIABLES = 3000 };
    text source = {0};
    pthread_attr_t attr;
    pthread_t thread;
    void *done = NULL;
    (void)unused;
    text_add(&source, "__global__ void k(int *p) { __shared__ int s[64]; const int v0 = p[0];\n");
    for (int i = 1; i < VARIABLES; i++)
        text_add(&source, "const int v%d = v%d + 1;\n", i, i - 1);
    text_add(&source, "s[v%d & 63] = 1; p[1] = s[v%d & 63]; }\n", VARIABLES - 1, VARIABLES - 2);
    char *all = text_take(&source);
    assert_non_null(all);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, print_definitions, all), 0);
    assert_int_equal(pthread_join(thread, &done), 0);
    pthread_attr_destroy(&attr);
    assert_ptr_equal(done, all);
    memory_free(all);
}

/* ---- logs ---- */

/* In text for our own launches on CUDA, an assert writes a record and ends its thread: CUDA's own would end the context of the
 * process. */
static void asserts_of_cuda_write_records(void **unused)
{
    static const char source[] =
        "__device__ int at(int i, int n) { assert(i < n); return i; }\n"
        "__global__ void k(int *p, int n) { p[at(threadIdx.x, n)] = 1; if (n < 0) __trap(); }";
    kernel_target target = *kernel_target_find("cuda");
    kernel_printed *out;
    char *said = NULL;
    (void)unused;
    assert_int_equal(printed(source, &target, &out), IG_OK);
    assert_non_null(strstr(out->text, "assert("));
    assert_int_equal(out->n_params, 2);
    kernel_printed_free(out);
    target.hides_globals = true;
    assert_int_equal(printed(source, &target, &out), IG_OK);
    assert_null(strstr(out->text, "assert("));
    assert_null(strstr(out->text, "__trap("));
    assert_non_null(
        strstr(out->text, "        ig_record(ig_records, 0u);\n        IG_EXIT (int)0;\n"));
    assert_non_null(strstr(out->text, "at((int)threadIdx.x, n, ig_records)"));
    assert_int_equal(out->n_params, 3);
    assert_int_equal(out->params[2].kind, PRINTED_LOG);
    const uint32_t log[LOG_HEAD + 5] = {5, 100, 0, 0, 0, 3, 0, 0, 7};
    assert_int_equal(kernel_print_drain(out, log, COUNT(log), &said), IG_ERR_DEVICE);
    assert_non_null(strstr(ig_error(NULL), "block (3, 0, 0), thread (7, 0, 0): assertion 'i < n'"));
    kernel_printed_free(out);
}

static void logs_become_text(void **unused)
{
    (void)unused;
    kernel_printed *out;
    char *said;
    assert_int_equal(printed("__global__ void k(int i, float x) { printf(\"%3d|%-5.1f|%s|%%\\n\", "
                             "i, x, \"yes\"); printf(\"%lld %x\\n\", (long long)i, i);\n"
                             "assert(i > 0); }",
                             kernel_target_find("opencl"), &out),
                     IG_OK);
    uint32_t words[32] = {25,
                          28,
                          0,
                          0,
                          /* */ 0,
                          1,
                          0,
                          0,
                          2,
                          7,
                          0x40200000,
                          /* */ 1,
                          1,
                          0,
                          0,
                          2,
                          0xfffffffe,
                          0xffffffff,
                          255,
                          /* */ 2,
                          4,
                          5,
                          6,
                          1 | 2 << 11 | 3 << 22,
                          /* cut off */ 0,
                          0,
                          0};
    assert_int_equal(kernel_print_drain(out, words, 32, &said), IG_ERR_DEVICE);
    assert_string_equal(ig_error(NULL),
                        "k.cu:2: block (4, 5, 6), thread (1, 2, 3): assertion 'i > 0' failed");
    assert_string_equal(said, "  7|2.5  |yes|%\n-2 ff\n");
    memory_free(said);
    words[LOG_USED] = 7;
    words[LOG_LOST] = 3;
    assert_int_equal(kernel_print_drain(out, words, 32, &said), IG_OK);
    assert_string_equal(said, "  7|2.5  |yes|%\n[printf: the buffer was full; 3 more were lost]\n");
    memory_free(said);
    words[LOG_USED] = words[LOG_LOST] = 0;
    assert_int_equal(kernel_print_drain(out, words, 32, &said), IG_OK);
    assert_null(said);
    words[LOG_USED] = 7;
    words[4] = 99; /* no format of that number */
    assert_int_equal(kernel_print_drain(out, words, 32, &said), IG_OK);
    assert_null(said);
    kernel_printed_free(out);
}

/* ---- memory ---- */

static void allocations_may_fail(void **unused)
{
    (void)unused;
    kernel_tree *tree = parsed("__device__ float f(float x) { return x + 1; }\n"
                               "__global__ void k(float *x) { __shared__ float s[4]; s[0] = "
                               "f(x[0]); printf(\"%f\", s[0]); }",
                               "k");
    const kernel_entry *entry = kernel_tree_find(tree, "k");
    const int64_t live = memory_live();
    ig_status status = IG_ERR_MEMORY;
    for (int64_t n = 1; status != IG_OK && n < 1000; n++) {
        kernel_printed *out = NULL;
        memory_fail_at(n);
        status = kernel_print(tree, entry, kernel_target_find("metal"), &out);
        memory_fail_at(0);
        if (status != IG_OK) {
            assert_int_equal(status, IG_ERR_MEMORY);
            assert_null(out);
            ig_error(NULL);
        }
        kernel_printed_free(out);
        assert_int_equal(memory_live(), live);
    }
    assert_int_equal(status, IG_OK);
    kernel_tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_readable),
        cmocka_unit_test(variables_are_handed_to_functions),
        cmocka_unit_test(params_are_told),
        cmocka_unit_test(refusals_have_reasons),
        cmocka_unit_test(shapes_are_declared),
        cmocka_unit_test(restrict_is_kept),
        cmocka_unit_test(sources_without_kernels),
        cmocka_unit_test(instances_that_the_source_names),
        cmocka_unit_test(kernels_of_one_name_are_joined),
        cmocka_unit_test(literals_are_float),
        cmocka_unit_test(long_definitions_need_little_stack),
        cmocka_unit_test(asserts_of_cuda_write_records),
        cmocka_unit_test(logs_become_text),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
