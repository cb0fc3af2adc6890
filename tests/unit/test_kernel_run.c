/* Kernels in CUDA C on the CPU, feature by feature: each result is compared with plain C. kernel_same.def has functions
 * that are both C and CUDA C, kernel_rows.def features that only CUDA C has. */
#include "support/unit.h"

#include "compiler/lower/lower.h"

#include <math.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 50, BLOCKS = 3, N = THREADS * BLOCKS, N_MOST = 1000 };

/* ---- launching ---- */

typedef struct printed {
    char text[4096];
    size_t n;
} printed;

static void keep_text(void *context, const char *from, size_t n)
{
    printed *p = context;
    assert_true(p->n + n < sizeof p->text);
    memcpy(p->text + p->n, from, n);
    p->n += n;
    p->text[p->n] = 0;
}

/* Runs the kernel k of the source with one array, n zeros. NULL after a failure, which is printed. */
static ig_array *launch(const char *source, uint32_t grid, uint32_t block, int n, ig_dtype dtype,
                        printed *said)
{
    ig_module *m = ig_module_new("test.cu", source, NULL);
    ig_array *out = NULL;
    const ig_arg arg = {.kind = IG_ARG_ARRAY, .u.array = ig_zeros(IG_SHAPE(n), dtype)};
    const ig_launch l = {.grid = {grid},
                         .block = {block},
                         .shared_bytes = 4096,
                         .args = &arg,
                         .n_args = 1,
                         .print = said ? keep_text : NULL,
                         .context = said};
    if (m && ig_module_launch(m, "k", &l, &out) != IG_OK)
        out = NULL;
    ig_module_free(m);
    return out;
}

/* ---- functions that C has too ---- */

/* The rows are intentional; C compilers would warn about them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wconversion"
#define WHOLE(name, ...) static long long whole_##name(int i) __VA_ARGS__
#define REAL(name, ...) static double real_##name(int i) __VA_ARGS__
#include "unit/kernel_same.def"
#pragma GCC diagnostic pop

static const struct {
    const char *name, *body;
    long long (*whole)(int i);
    double (*real)(int i);
} same_rows[] = {
#define WHOLE(name, ...) {#name, #__VA_ARGS__, whole_##name, NULL},
#define REAL(name, ...) {#name, #__VA_ARGS__, NULL, real_##name},
#include "unit/kernel_same.def"
};

static bool same_row_holds(size_t row)
{
    const bool whole = same_rows[row].whole != NULL;
    const char *type = whole ? "long long" : "double";
    char source[4096];
    snprintf(source, sizeof source,
             "__device__ %s f(int i) %s\n__global__ void k(%s *out) {"
             "int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = f(i); }",
             type, same_rows[row].body, type);
    ig_array *out = launch(source, BLOCKS, THREADS, N, whole ? IG_I64 : IG_F64, NULL);
    const void *data = out ? ig_data(out) : NULL;
    if (!data) {
        fprintf(stderr, "%s: %s\n", same_rows[row].name, ig_error(NULL));
        return false;
    }
    for (int i = 0; i < N; i++) {
        const long long w = whole ? same_rows[row].whole(i) : 0;
        const double r = whole ? 0 : same_rows[row].real(i);
        if (whole ? ((const int64_t *)data)[i] == w
                  : memcmp((const double *)data + i, &r, sizeof r) == 0)
            continue;
        if (whole)
            fprintf(stderr, "%s: %lld for i = %d, not %lld\n", same_rows[row].name,
                    (long long)((const int64_t *)data)[i], i, w);
        else
            fprintf(stderr, "%s: %a for i = %d, not %a\n", same_rows[row].name,
                    ((const double *)data)[i], i, r);
        return false;
    }
    return true;
}

static void test_same(void **state)
{
    (void)state;
    int failed = 0;
    for (size_t row = 0; row < sizeof same_rows / sizeof *same_rows; row++)
        failed += !same_row_holds(row);
    assert_int_equal(failed, 0);
}

/* ---- features that only CUDA C has ---- */

typedef long double exact; /* holds all 64-bit integers */

#define ROW(name, dtype, grid, block, n, expected, source) \
    static exact expect_##name(int i) { return (void)i, (exact)(expected); }
#include "unit/kernel_rows.def"

static const struct {
    const char *name, *source;
    ig_dtype dtype;
    uint32_t grid, block;
    int n;
    exact (*expect)(int i);
} cuda_rows[] = {
#define ROW(name, dtype, grid, block, n, expected, source) \
    {#name, source, IG_##dtype, grid, block, n, expect_##name},
#include "unit/kernel_rows.def"
};

/* Element i, whatever the dtype. */
static exact element(ig_array *x, int i)
{
    const ig_dtype d = ig_dtype_of(x);
    const void *data = ig_data(x);
    if (d == IG_I64)
        return (exact)((const int64_t *)data)[i];
    if (d == IG_U64)
        return (exact)((const uint64_t *)data)[i];
    ig_array *wide = ig_astype(x, IG_F64);
    return (exact)((const double *)ig_data(wide))[i];
}

static bool cuda_row_holds(size_t row)
{
    ig_array *out = launch(cuda_rows[row].source, cuda_rows[row].grid, cuda_rows[row].block,
                           cuda_rows[row].n, cuda_rows[row].dtype, NULL);
    if (!out) {
        fprintf(stderr, "%s: %s\n", cuda_rows[row].name, ig_error(NULL));
        return false;
    }
    ig_array *wide = ig_dtype_bytes(cuda_rows[row].dtype) == 8 ? out : ig_astype(out, IG_F64);
    for (int i = 0; i < cuda_rows[row].n; i++) {
        const exact got = element(wide, i), wanted = cuda_rows[row].expect(i);
        if (got == wanted)
            continue;
        fprintf(stderr, "%s: %Lg for i = %d, not %Lg\n", cuda_rows[row].name, got, i, wanted);
        return false;
    }
    return true;
}

static void test_cuda(void **state)
{
    (void)state;
    int failed = 0;
    for (size_t row = 0; row < sizeof cuda_rows / sizeof *cuda_rows; row++)
        failed += !cuda_row_holds(row);
    assert_int_equal(failed, 0);
}

/* ---- functions of the library ---- */

static double inverse_root(double x) { return 1 / sqrt(x); }
static double tenth_power(double x) { return pow(10, x); }
static double squared_angle(double x) { return hypot(x, 2); }
static double raised(double x) { return pow(x, 2.5); }
static double angle(double x) { return atan2(x, -2); }
static double rest(double x) { return fmod(x, 0.75); }

/* ulp: for float; double may be off by twice as much. */
static const struct {
    const char *call; /* of x; f is added to the name for floats */
    double (*reference)(double x);
    double low, high, ulp;
} functions[] = {
    {"exp%s(x)", exp, -80, 80, 2},
    {"exp2%s(x)", exp2, -100, 100, 2},
    {"exp10%s(x)", tenth_power, -30, 30, 2},
    {"expm1%s(x)", expm1, -10, 10, 2},
    {"log%s(x)", log, 1e-6, 1e6, 2},
    {"log2%s(x)", log2, 1e-6, 1e6, 2},
    {"log10%s(x)", log10, 1e-6, 1e6, 2},
    {"log1p%s(x)", log1p, -0.9, 100, 2},
    {"sin%s(x)", sin, -100, 100, 2},
    {"cos%s(x)", cos, -100, 100, 2},
    {"tan%s(x)", tan, -50, 50, 4},
    {"asin%s(x)", asin, -1, 1, 4},
    {"acos%s(x)", acos, -1, 1, 4},
    {"atan%s(x)", atan, -50, 50, 3},
    {"sinh%s(x)", sinh, -20, 20, 3},
    {"cosh%s(x)", cosh, -20, 20, 3},
    {"tanh%s(x)", tanh, -5, 5, 3},
    {"asinh%s(x)", asinh, -50, 50, 3},
    {"acosh%s(x)", acosh, 1, 50, 4},
    {"atanh%s(x)", atanh, -0.99, 0.99, 3},
    {"erf%s(x)", erf, -4, 4, 3},
    {"erfc%s(x)", erfc, -3, 8, 4},
    {"cbrt%s(x)", cbrt, -50, 50, 2},
    {"rsqrt%s(x)", inverse_root, 0.01, 100, 2},
    {"tgamma%s(x)", tgamma, 0.5, 20, 8},
    {"lgamma%s(x)", lgamma, 3, 50, 4},
    {"hypot%s(x, 2)", squared_angle, -50, 50, 2},
    {"pow%s(x, 2.5)", raised, 0.01, 100, 2},
    {"atan2%s(x, -2)", angle, -50, 50, 3},
    {"fmod%s(x, 0.75)", rest, -50, 50, 0},
};

static double worst_of(size_t row, bool wide)
{
    char source[1024], call[64];
    const double low = functions[row].low, step = (functions[row].high - low) / (N - 1);
    snprintf(call, sizeof call, functions[row].call, wide ? "" : "f");
    snprintf(source, sizeof source,
             "__global__ void k(double *out) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
             "%s x = %.17g + %.17g * i; out[i] = %s; }",
             wide ? "double" : "float", low, step, call);
    ig_array *out = launch(source, BLOCKS, THREADS, N, IG_F64, NULL);
    const double *data = out ? ig_data(out) : NULL;
    if (!data) {
        fprintf(stderr, "%s: %s\n", call, ig_error(NULL));
        return (double)INFINITY;
    }
    double worst = 0;
    for (int i = 0; i < N; i++) {
        const double x = low + step * i;
        const double wanted = functions[row].reference(wide ? x : (double)(float)x);
        const double unit =
            wide ? nextafter(fabs(wanted), (double)INFINITY) - fabs(wanted)
                 : (double)(nextafterf((float)fabs(wanted), INFINITY) - (float)fabs(wanted));
        worst = fmax(worst, fabs(data[i] - wanted) / unit);
    }
    return worst;
}

static void test_functions(void **state)
{
    (void)state;
    int failed = 0;
    for (size_t row = 0; row < sizeof functions / sizeof *functions; row++)
        for (int wide = 0; wide < 2; wide++) {
            const double worst = worst_of(row, wide);
            const double bound = functions[row].ulp * (wide ? 2 : 1) + (wide ? 0 : 0.01);
            if (!(worst <= bound)) {
                fprintf(stderr, "%s of %s: %g ulp, not %g\n", functions[row].call,
                        wide ? "double" : "float", worst, bound);
                failed++;
            }
        }
    assert_int_equal(failed, 0);
}

/* ---- printf, assert, and refusals ---- */

static void test_printf(void **state)
{
    (void)state;
    printed said = {.n = 0};
    assert_non_null(
        launch("__global__ void k(int *out) { int i = threadIdx.x; if (i % 2) "
               "printf(\"%d:%5.2f %s %c %x %%|\", i, i * 0.5, \"odd\", 'a' + i, i + 250);"
               "else printf(\"%lld \", 10000000000LL * blockIdx.x); }",
               2, 4, 1, IG_I32, &said));
    assert_string_equal(said.text,
                        "1: 0.50 odd b fb %|3: 1.50 odd d fd %|0 0 "
                        "1: 0.50 odd b fb %|3: 1.50 odd d fd %|10000000000 10000000000 ");
}

/* A text without a terminating zero ends with its array: in memory of the launch, the block, the thread, a variable. */
static void test_printf_end(void **state)
{
    (void)state;
    printed said = {.n = 0};
    assert_non_null(launch(
        "__device__ char kept[2] = {'x', 'y'}, behind[2] = {'z', 'z'};"
        "__global__ void k(char *out) {"
        "    __shared__ char s[4], t[4]; char a[3] = {'o', 'n', 'e'}, b[3] = {'t', 'w', 'o'};"
        "    s[threadIdx.x] = t[threadIdx.x] = 'p' + threadIdx.x;"
        "    out[threadIdx.x] = 'A' + threadIdx.x; __syncthreads();"
        "    if (threadIdx.x < 2) {"
        "        const char *p = threadIdx.x ? a : b, *q = threadIdx.x ? kept : behind;"
        "        printf(\"%s %s %s %s %.2s %4.1s|\", out + threadIdx.x, s, p, q, out, \"long\");"
        "    }"
        "}",
        1, 4, 4, IG_I8, &said));
    assert_string_equal(said.text, "ABCD pqrs two zz AB    l|BCD pqrs one xy AB    l|");
}

static void fails_with(const char *source, ig_status status, const char *part)
{
    ig_status got = IG_OK;
    assert_null(launch(source, 2, 40, 80, IG_I32, NULL));
    const char *message = ig_error(&got);
    assert_non_null(message);
    if (got != status || !strstr(message, part)) {
        fprintf(stderr, "%d: %s\n", (int)got, message);
        fail();
    }
}

static void test_failures(void **state)
{
    (void)state;
    fails_with("__global__ void k(int *out) { assert(threadIdx.x < 33 || blockIdx.x == 0); }",
               IG_ERR_DEVICE,
               "threadIdx.x < 33 || blockIdx.x == 0, by thread (33, 0, 0) of block (1");
    fails_with("__global__ void k(int *out) { if (threadIdx.x == 7) __trap(); }", IG_ERR_DEVICE,
               "by thread (7, 0, 0)");
    fails_with("__global__ void k(int *out) { out[0] = missing; }", IG_ERR_FORMAT, "'missing'");
    fails_with("__global__ void other(int *out) { }", IG_ERR_ARGUMENT,
               "no kernel 'k' in test.cu; it has other");
    fails_with("template <class T, int N> __global__ void k(T *out) { }", IG_ERR_ARGUMENT,
               "has only templates of kernels: k<T, N>; give them their arguments");
    fails_with("__global__ void k(float *out) { }", IG_ERR_DTYPE, "points to f32");
    fails_with("__global__ void k(int *out, int n) { }", IG_ERR_ARGUMENT, "'n' (int) is not given");
}

/* ---- bad pointers ---- */

static void own_handler(int number) { (void)number; }

/* A launch that uses a bad pointer fails, on whichever thread of the pool it happens; the program's signal handlers are
 * restored, and the next launch works. */
/* Blocks that wait for each other run at the same time; a value that nobody writes is an error. */
static void test_waiting_blocks(void **state)
{
    (void)state;
    const ig_array *out =
        launch("__device__ int arrived;\n"
               "__global__ void k(int *out) {\n"
               "if (threadIdx.x == 0) { atomicAdd(&arrived, 1);\n"
               "while (atomicAdd(&arrived, 0) < gridDim.x) ; }\n"
               "__syncthreads(); out[blockIdx.x * blockDim.x + threadIdx.x] = arrived; }",
               64, 32, 64 * 32, IG_I32, NULL);
    for (int i = 0; i < 64 * 32; i++)
        assert_int_equal(((const int32_t *)ig_data((ig_array *)out))[i], 64);
    out = launch("__device__ volatile int flag;\n"
                 "__global__ void k(int *out) { if (blockIdx.x == 0) { int spins = 0;\n"
                 "while (flag == 0) spins++; out[threadIdx.x] = spins > 0; }\n"
                 "else if (blockIdx.x == gridDim.x - 1) flag = 1; }",
                 50, 32, 32, IG_I32, NULL);
    assert_int_equal(((const int32_t *)ig_data((ig_array *)out))[31], 1);
    fails_with("__device__ volatile int flag; __global__ void k(int *out) { while (!flag) ; }",
               IG_ERR_DEVICE, "kernel 'k' does not end: block (");
    fails_with("__device__ int lock; __global__ void k(int *out) {\n"
               "while (atomicCAS(&lock, 0, 1)) ; out[0]++; atomicExch(&lock, 0); }",
               IG_ERR_DEVICE, "threads of one warp cannot wait for each other");
}

static void test_bad_pointer(void **state)
{
    struct sigaction own = {.sa_handler = own_handler}, now;
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* the sanitizer itself dereferences the pointer */
#endif
#ifndef __x86_64__
    if (getenv("IG_TEST_EMULATED"))
        skip(); /* on an x86-64 host, qemu faults forever at addresses that are not canonical there */
#endif
    fails_with("__global__ void k(int *out) { out[0] = *(int *)0x10; }", IG_ERR_DEVICE, "0x10");
    assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    for (int i = 0; i < 20; i++) {
        fails_with("__global__ void k(int *out) { out[threadIdx.x] = *(int *)0x10; }",
                   IG_ERR_DEVICE, "kernel 'k' used a bad pointer: address 0x10 in block (");
        fails_with("__global__ void k(int *out) { if (blockIdx.x) out[1ll << 45] = 1; }",
                   IG_ERR_DEVICE, "--check");
        fails_with("__global__ void k(int *out) { atomicAdd((int *)0x20, threadIdx.x); }",
                   IG_ERR_DEVICE, "address 0x20");
        ig_array *out = launch("__global__ void k(int *out) { out[threadIdx.x] = 7; }", 64, 32, 32,
                               IG_I32, NULL);
        assert_int_equal(((const int32_t *)ig_data(out))[31], 7);
    }
    assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, own_handler);
    own.sa_handler = SIG_DFL;
    assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    /* Outside of a launch the default action is taken. */
    fails_with("__global__ void k(int *out) { out[0] = *(int *)0x10; }", IG_ERR_DEVICE, "0x10");
    if (getenv("IG_TEST_EMULATED")) /* qemu-user cannot start threads in a child of fork */
        return;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        fails_with("__global__ void k(int *out) { out[0] = *(int *)0x10; }", IG_ERR_DEVICE, "0x10");
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        *(volatile int *)(uintptr_t)16 = 1;
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* Structs and vectors are described field by field, and passed by their bytes. */
static void test_structs(void **state)
{
    static const char source[] = "struct in { float3 at; short n[2][2]; };\n"
                                 "union bits { float f; unsigned u; };\n"
                                 "struct item { char c; in i; bits b; int *p; };\n"
                                 "__global__ void k(item s, const item *all, float *out) {\n"
                                 "    out[0] = s.c + s.i.at.z + s.i.n[1][0] + s.b.f;\n"
                                 "    out[1] = all[1].i.at.y;\n"
                                 "}\n";
    struct {
        char c;
        float at[3];
        int16_t n[2][2];
        float b;
        int *p;
    } item = {.c = 1, .at = {2, 3, 4}, .n = {{5, 6}, {7, 8}}, .b = 0.5f}, all[2] = {item, item};
    (void)state;
    ig_module *m = ig_module_new("test.cu", source, NULL);
    assert_non_null(m);
    const ig_kernel_param *p = ig_module_at(m, 0)->params;
    const ig_kernel_field *f = p[0].holds->fields;
    assert_int_equal(p[0].bytes, sizeof item);
    assert_int_equal(p[0].holds->n_fields, 4);
    assert_string_equal(f[1].fields[0].name, "at");
    assert_int_equal(f[1].fields[0].fields[2].dtype, IG_F32);
    assert_int_equal(f[1].fields[0].fields[2].offset, 8);
    assert_int_equal(f[1].fields[1].count, 4);
    assert_int_equal(f[1].fields[1].dtype, IG_I16);
    assert_true(f[2].is_union && f[2].n_fields == 2);
    assert_int_equal(p[1].holds->bytes, sizeof item);
    ig_array *given = ig_from_data(all, IG_SHAPE(sizeof all), IG_U8), *out = NULL;
    ig_arg args[] = {{.kind = IG_ARG_BYTES, .u.bytes = {&item, sizeof item}},
                     {.kind = IG_ARG_ARRAY, .u.array = given},
                     {.kind = IG_ARG_ARRAY, .u.array = ig_zeros(IG_SHAPE(2), IG_F32)}};
    ig_launch l = {.args = args, .n_args = 3};
    assert_int_equal(ig_module_launch(m, "k", &l, &out), IG_OK);
    assert_float_equal(((const float *)ig_data(out))[0], 12.5, 0);
    assert_float_equal(((const float *)ig_data(out))[1], 3, 0);
    args[0].u.bytes.n--;
    assert_int_equal(ig_module_launch(m, "k", &l, &out), IG_ERR_ARGUMENT);
    assert_non_null(strstr(ig_error(NULL), "of 40 bytes, not 39"));
    args[0] = (ig_arg){.kind = IG_ARG_INT};
    assert_int_equal(ig_module_launch(m, "k", &l, &out), IG_ERR_ARGUMENT);
    assert_non_null(strstr(ig_error(NULL), "'s' is a item: give its 40 bytes"));
    args[0] = (ig_arg){.kind = IG_ARG_BYTES, .u.bytes = {&item, sizeof item}};
    args[1].u.array = ig_zeros(IG_SHAPE(41), IG_U8);
    assert_int_equal(ig_module_launch(m, "k", &l, &out), IG_ERR_ARGUMENT);
    assert_non_null(strstr(ig_error(NULL), "not a multiple"));
    ig_module_free(m);
}

/* ---- calls that are made again ---- */

/* The same text as C and as CUDA C: calls with equal arguments, where variables change between them and where
 * only some lanes make the first one. */
#define BOTH(...) \
    __VA_ARGS__ static const char both[] = "#define FUNCTION __device__\n" #__VA_ARGS__;
#define FUNCTION static
BOTH(
    FUNCTION int g(int x) { return x * 3 + 1; } FUNCTION int same(int x) {
        return x;
    } FUNCTION int two(int x, int y) { return x * 7 + y; } FUNCTION int changed(int x) {
        x = g(x) + g(x);
        x += g(x);
        return x;
    } FUNCTION int early(int x) {
        if (x > 10)
            return g(x);
        return g(x) - g(x - 1);
    } FUNCTION int looped(int x) {
        int s = 0;
        for (int k = 0; k < 3; k++)
            s += g(k) * g(x);
        return s;
    } FUNCTION int repeated(int i) {
        int x = i, a = g(x), s = a + g(x);
        x += 1;
        s = s * 2 + g(x) + same(x);
        a = same(x);
        x = 4;
        s += a * same(x);
        x = g(x);
        x = g(x) + g(g(x));
        for (int j = 0; j < 6; j++, s += g(7)) {
            if ((i + j) % 3 == 0)
                continue;
            s += g(x) ^ g(7);
            x += g(j);
            s += g(x) - g(x + 1) + early(x % 20) * early(x % 20) + looped(j) + looped(j);
            if (g(x) % 5 == 0)
                break;
        }
        if (i > 1000) /* no lane */
            s += g(60);
        else
            s -= g(60);
        for (int j = 0; j < 4; j++, s += g(8)) {
            if (j < 2)
                continue;
            s += g(8) * g(x);
            x++;
        }
        a = g(x);
        for (int j = 0; j < 3; j++, x++)
            s += a + g(x);
        s += two(g(x), a = g(x));
        s += a * 5;
        if (i & 1)
            s += g(70);
        else
            s -= changed(x % 100) + changed(x % 100);
        s += g(70) + (i % 3 == 0 && g(9) > i ? g(9) : g(i)) - g(9);
        switch (i % 4) {
        case 0: s += g(11); break;
        case 1: s -= g(11); break;
        default: s ^= g(11) * 2;
        }
        a = same(s);
        s = 3;
        return a + same(s) + g(11);
    })
#undef FUNCTION

static void test_calls_again(void **state)
{
    (void)state;
    char source[sizeof both + 200];
    snprintf(source, sizeof source,
             "%s\n__global__ void k(int *out) { int i = threadIdx.x; out[i] = repeated(i); }\n",
             both);
    ig_array *out = launch(source, 1, 150, 150, IG_I32, NULL);
    assert_non_null(out);
    for (int i = 0; i < 150; i++)
        assert_int_equal(((const int32_t *)ig_data(out))[i], repeated(i));
}

/* The lane code of functions that call each other several times grows with their number only. */
static void test_calls_again_size(void **state)
{
    static const char *const sources[] = {
        "template <int N> __device__ int f() { return f<N - 1>() + f<N - 2>() + f<N - 3>(); }\n"
        "template <> __device__ int f<0>() { return 1; }\n"
        "template <> __device__ int f<1>() { return 2; }\n"
        "template <> __device__ int f<2>() { return 3; }\n"
        "__global__ void k(int *out) { out[threadIdx.x] = f<26>(); }\n",
        "template <int N> __device__ auto f(int x) { if constexpr (N < 3) return N + x;\n"
        "    else { int s = f<N - 1>(x); s += f<N - 2>(x); return s + f<N - 3>(x); } }\n"
        "__global__ void k(int *out) { int x = 3; x -= 2; out[threadIdx.x] = f<26>(x); }\n"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        kernel_tree *tree = NULL;
        lane_code *code = NULL;
        assert_int_equal(kernel_parse("test.cu", sources[i], NULL, &tree, NULL), IG_OK);
        assert_int_equal(kernel_lower(tree, tree->kernels, &code), IG_OK);
        assert_true(code->n_inst < 26 * 6);
        code_free(code);
        kernel_tree_free(tree);
        ig_array *out = launch(sources[i], 1, 2, 2, IG_I32, NULL);
        assert_non_null(out);
        assert_int_equal(((const int32_t *)ig_data(out))[1], 7256527);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls_again, begin, end),
        cmocka_unit_test_setup_teardown(test_calls_again_size, begin, end),
        cmocka_unit_test_setup_teardown(test_structs, begin, end),
        cmocka_unit_test_setup_teardown(test_same, begin, end),
        cmocka_unit_test_setup_teardown(test_cuda, begin, end),
        cmocka_unit_test_setup_teardown(test_functions, begin, end),
        cmocka_unit_test_setup_teardown(test_printf, begin, end),
        cmocka_unit_test_setup_teardown(test_printf_end, begin, end),
        cmocka_unit_test_setup_teardown(test_failures, begin, end),
        cmocka_unit_test_setup_teardown(test_waiting_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_bad_pointer, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
