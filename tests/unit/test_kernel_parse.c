/* The parser of CUDA C against tests/kernel/cases.txt: a case is a source, its tree and its diagnostics,
 *
 *     === name
 *     source
 *     --- tree
 *     the output of kernel_dump --- says diagnostics
 *
 * IG_UPDATE=1 rewrites the file from the parser's current output; review the difference before keeping it. After the
 * table: properties that no text shows. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "compiler/tree.h"
#include "support/kernel_dump.h"

static const char cases_path[] = "tests/kernel/cases.txt";

typedef struct outcome {
    ig_status status;
    kernel_tree *tree;
    char *dump, *says;
} outcome;

static outcome parse_with(const char *source, const kernel_parse_options *options)
{
    outcome o = {0};
    o.status = kernel_parse("case.cu", source, options, &o.tree, &o.says);
    if (o.tree) {
        text out = {0};
        kernel_dump(o.tree, &out);
        o.dump = text_take(&out);
    }
    ig_error(NULL);
    return o;
}

static outcome parse(const char *source)
{
    const kernel_parse_options options = {.preprocess = {.no_disk = true}};
    return parse_with(source, &options);
}

static void drop(outcome *o)
{
    kernel_tree_free(o->tree);
    memory_free(o->dump);
    memory_free(o->says);
}

/* ---- the table -------------------------------------------------------------------------------- */

static char *read_cases(void)
{
    FILE *f = fopen(cases_path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    const long bytes = ftell(f);
    rewind(f);
    char *all = malloc((size_t)bytes + 1);
    assert_int_equal(fread(all, 1, (size_t)bytes, f), (size_t)bytes);
    all[bytes] = 0;
    fclose(f);
    return all;
}

/* Cuts the text after a line that begins with `mark`; NULL if there is none. */
static char *cut(char *from, const char *mark)
{
    char *at = strncmp(from, mark, strlen(mark)) ? strstr(from, mark) : from;
    while (at && at != from && at[-1] != '\n')
        at = strstr(at + 1, mark);
    if (!at)
        return NULL;
    char *line = strchr(at, '\n');
    *at = 0;
    return line ? line + 1 : at + strlen(at);
}

static int first_difference(const char *a, const char *b)
{
    int line = 1;
    for (; *a && *a == *b; a++, b++)
        line += *a == '\n';
    return line;
}

static bool same(const char *name, const char *what, const char *got, const char *wanted)
{
    got = got ? got : "";
    wanted = wanted ? wanted : "";
    if (!strcmp(got, wanted))
        return true;
    print_error("case '%s': the %s differs at line %d; it is\n%s", name, what,
                first_difference(got, wanted), got);
    return false;
}

static void test_cases(void **state)
{
    (void)state;
    char *all = read_cases();
    if (!all)
        skip(); /* not run from the root of the sources */
    FILE *update = getenv("IG_UPDATE") ? fopen(cases_path, "wb") : NULL;
    int n = 0, bad = 0;
    for (char *name = strstr(all, "=== "); name; n++) {
        name += 4;
        char *source = strchr(name, '\n') + 1;
        source[-1] = 0;
        char *next = strncmp(source, "=== ", 4) ? strstr(source, "\n=== ") : source - 1;
        if (next)
            *++next = 0;
        char *tree = cut(source, "--- tree"), *says = cut(tree ? tree : source, "--- says");
        outcome o = parse(source);
        bad += !same(name, "tree", o.dump, tree) + !same(name, "text", o.says, says);
        if (update) {
            fprintf(update, "=== %s\n%s", name, source);
            if (o.dump)
                fprintf(update, "--- tree\n%s", o.dump);
            if (o.says)
                fprintf(update, "--- says\n%s", o.says);
        }
        drop(&o);
        name = next;
    }
    if (update)
        fclose(update);
    free(all);
    assert_true(n > 30);
    assert_int_equal(bad, 0);
}

/* ---- host programs ---------------------------------------------------------------------------- */

static const char program[] =
    "#include <vector>\n"
    "#include <iostream>\n"
    "#include \"cuda_runtime.h\"\n"
    "using std::vector;\n"
    "template <class... Ts> void log(Ts &&...ts) { (std::cout << ... << ts); }\n"
    "class Timer { std::string name; public: Timer(const char *n) : name(n) {} ~Timer() {} };\n"
    "static std::map<std::string, std::vector<int>> cache{{\"a\", {1, 2}}};\n"
    "const int N = 1 << 10;\n"
    "float *device_buffer = nullptr;\n"
    "auto add = [](int a, int b) { return a + b; };\n"
    "struct Params { int n; float s; std::string label; };\n"
    "struct Small { int n; float s; };\n"
    "#define CHECK(x) do { if (x) exit(1); } while (0)\n"
    "__global__ void scale(float *x, Small p)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < N) x[i] *= p.s;\n"
    "}\n"
    "template <typename T, int B> __global__ void fill(T *x) { x[threadIdx.x] = B; }\n"
    "void Timer_stop(Timer &t) { try { throw 1; } catch (...) { } }\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    std::vector<float> h(N, 1.0f);\n"
    "    for (auto &x : h) x = add(1, 2);\n"
    "    scale<<<N / 256, 256>>>(device_buffer, Small{1, 2.0f});\n"
    "    fill<float, 16><<<1, 32>>>(device_buffer);\n"
    "    CHECK(cudaDeviceSynchronize());\n"
    "    return [&] { return 0; }();\n"
    "}\n";

static void test_host_code_is_passed_over(void **state)
{
    (void)state;
    const char *wanted[] = {"fill<float, 16>", "fill< int , 3 >"};
    const kernel_parse_options options = {
        .preprocess = {.no_disk = true}, .skip_host = true, .instances = wanted, .n_instances = 2};
    outcome o = parse_with(program, &options);
    assert_int_equal(o.status, IG_OK);
    assert_null(o.says);
    const kernel_entry *scale = kernel_tree_find(o.tree, "scale");
    assert_non_null(scale);
    assert_false(scale->failed);
    assert_int_equal(scale->argument_bytes, 16);
    assert_non_null(kernel_tree_find(o.tree, "fill<float,16>"));
    assert_non_null(kernel_tree_find(o.tree, "fill<int,3>"));
    assert_string_equal(kernel_tree_find(o.tree, "fill<float,16>")->function->name,
                        "fill_float_16");
    assert_null(kernel_tree_find(o.tree, "fill<double,16>"));
    drop(&o);

    /* A kernel can also be found by the words that requested it. */
    const char *shorter[] = {"k<real>", "k<float, true>"};
    const kernel_parse_options more = {
        .preprocess = {.no_disk = true}, .instances = shorter, .n_instances = 2};
    o = parse_with("typedef float real;\n"
                   "template <typename T, bool B = false> __global__ void k(T *x) { x[0] = B; }\n",
                   &more);
    assert_int_equal(o.status, IG_OK);
    assert_string_equal(kernel_tree_find(o.tree, "k<real>")->name, "k<float, 0>");
    assert_string_equal(kernel_tree_find(o.tree, "k<float,true>")->name, "k<float, 1>");
    drop(&o);
}

static void test_request_that_cannot_be(void **state)
{
    (void)state;
    const char *wanted[] = {"fill<float>"};
    const kernel_parse_options options = {
        .preprocess = {.no_disk = true}, .skip_host = true, .instances = wanted, .n_instances = 1};
    outcome o = parse_with(program, &options);
    assert_int_equal(o.status, IG_OK); /* scale exists */
    assert_non_null(o.says);
    assert_non_null(strstr(o.says, "no kernel 'fill' takes these arguments"));
    drop(&o);
}

/* ---- limits ----------------------------------------------------------------------------------- */

static char *repeat(const char *before, const char *part, int n, const char *middle,
                    const char *end, const char *after)
{
    text t = {0};
    text_add(&t, "%s", before);
    for (int i = 0; i < n; i++)
        text_add(&t, "%s", part);
    text_add(&t, "%s", middle);
    for (int i = 0; i < n; i++)
        text_add(&t, "%s", end);
    text_add(&t, "%s", after);
    return text_take(&t);
}

/* Unlimited nesting is reported as too deep, and does not crash the process. */
static void test_depth(void **state)
{
    (void)state;
    static const struct {
        const char *before, *part, *middle, *end, *after;
    } deep[] = {
        {"__global__ void k(int x) { x = ", "(", "1", ")", "; }"},
        {"__global__ void k(int x) { x = ", "-", "1", "", "; }"},
        {"__global__ void k(int x) { x = ", "1 ? 1 : ", "1", "", "; }"},
        {"__global__ void k(int x) { x = 1", " + 1", "", "", "; }"},
        {"__global__ void k(int x) { x = ", "x = ", "1", "", "; }"},
        {"__global__ void k(int x) { ", "{", "", "}", "}"},
        {"__global__ void k(int x) { ", "if (x) ", "x = 1;", "", "}"},
        {"__global__ void k(int x) { if constexpr (false) ", "if (x) ", "x = 1;", "", "}"},
        {"__global__ void k(int x) { ", "if (x) x++; else ", "x = 1;", "", "}"},
        {"__global__ void k(int x) { int a", "[1]", "", "", "; }"},
        {"__global__ void k(int x) { int ", "*", "p", "", "; }"},
        {"__global__ void k(int x) { int a[1] = ", "{", "1", "}", "; }"},
        {"__global__ void k(int ", "(*f)(int ", "x", ")", ") { }"},
        {"", "namespace a { ", "", "}", "__global__ void k(int x) { x = 1; }"},
        {"__global__ void k(int *x) { x", "[0]", "", "", "; }"},
        {"template <int N> __device__ int f() { return f<N + 1>(); } __global__ void k(int *x) { ",
         "", "x[0] = f<0>();", "", "}"},
        {"constexpr int f(int n) { return n ? f(n - 1) : 0; } __global__ void k(int *x) { ", "",
         "int a[f(100000) + 1];", "", "}"},
    };
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        char *source =
            repeat(deep[i].before, deep[i].part, 20000, deep[i].middle, deep[i].end, deep[i].after);
        outcome o = parse(source);
        assert_true(o.status == IG_OK || o.status == IG_ERR_FORMAT);
        drop(&o);
        memory_free(source);
    }
}

static void test_memory_has_a_cap(void **state)
{
    (void)state;
    char *source =
        repeat("__global__ void k(int *x) {", " x[0] = x[1] + x[2];", 20000, "", "", "}");
    const kernel_parse_options options = {.preprocess = {.no_disk = true}, .cap_bytes = 4 << 20};
    outcome o = parse_with(source, &options);
    assert_int_equal(o.status, IG_ERR_MEMORY);
    assert_null(o.tree);
    drop(&o);
    memory_free(source);
}

/* The n-th allocation fails, for every n: no crash, no leak, one clear status. */
static void test_allocations_fail(void **state)
{
    (void)state;
    for (int64_t n = 1;; n++) {
        const int64_t live = memory_live();
        memory_fail_at(n);
        const kernel_parse_options options = {.preprocess = {.no_disk = true}, .skip_host = true};
        outcome o = parse_with(program, &options);
        memory_fail_at(0);
        const bool fine = o.status == IG_OK && o.dump;
        assert_true(o.status == IG_OK || o.status == IG_ERR_MEMORY);
        drop(&o);
        assert_int_equal(memory_live(), live);
        if (fine && n > 20)
            break;
    }
}

/* ---- files ------------------------------------------------------------------------------------ */

static void write_file(const char *path, const char *words)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(words, f);
    fclose(f);
}

/* A header with #pragma once is read once, however many paths lead to it. */
static void test_one_header_by_two_paths(void **state)
{
    (void)state;
    char folder[] = "/tmp/ingot_once_XXXXXX", path[64], link_[64], source[256];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/shape.h", folder);
    snprintf(link_, sizeof link_, "%s/link.h", folder);
    write_file(path, "#pragma once\nstruct shape { int n; };\n");
    assert_int_equal(symlink("shape.h", link_), 0);
    snprintf(source, sizeof source,
             "#include \"shape.h\"\n#include \"%s/../%s/shape.h\"\n#include <link.h>\n"
             "__global__ void k(shape *s) { s->n = 1; }\n",
             folder, strrchr(folder, '/') + 1);
    const char *folders[] = {folder};
    const kernel_parse_options options = {.preprocess = {.folders = folders, .n_folders = 1}};
    outcome o = parse_with(source, &options);
    remove(path);
    remove(link_);
    remove(folder);
    if (o.status != IG_OK || o.says)
        fail_msg("%s", o.says);
    drop(&o);
}

/* ---- properties that launches need ------------------------------------------------------------- */

static void test_entry(void **state)
{
    (void)state;
    outcome o =
        parse("__device__ float f(float *p) { __shared__ float t[3]; return p[0] + t[1]; }\n"
              "namespace n { __global__ void __launch_bounds__(128, 2) k(char c, double d, float3 "
              "v, float *p)\n"
              "{ extern __shared__ float all[]; __shared__ char b[5]; b[0] = 1; p[0] = f(p) + "
              "all[0] + d; } }\n");
    assert_int_equal(o.status, IG_OK);
    const kernel_entry *e = kernel_tree_find(o.tree, "k");
    assert_ptr_equal(e, kernel_tree_find(o.tree, "n::k"));
    assert_int_equal(e->max_threads, 128);
    assert_int_equal(e->min_blocks, 2);
    assert_int_equal(e->argument_bytes, 40);
    assert_int_equal(e->n_shared, 2);
    assert_int_equal(e->shared_bytes, 17);
    assert_int_equal(e->dynamic_offset, 32);
    assert_int_equal(e->function->n_callees, 1);
    assert_true(e->uses[FEATURE_F64].place != 0);
    assert_true(e->uses[FEATURE_SHARED_DYNAMIC].place != 0);
    assert_true(e->uses[FEATURE_BARRIER].place == 0);
    kernel_where at;
    assert_true(kernel_source_where(&o.tree->unit.source, e->uses[FEATURE_SHARED].place, &at));
    assert_int_equal(at.line, 3);
    drop(&o);
}

static void test_errors_belong_to_kernels(void **state)
{
    (void)state;
    outcome o = parse("__device__ int bad(int x) { return y; }\n"
                      "__global__ void a(int *x) { x[0] = bad(1); }\n"
                      "__global__ void b(int *x) { x[0] = 1; }\n"
                      "__global__ void c(int *x) { x[0] = z; }\n");
    assert_int_equal(o.status, IG_OK);
    const kernel_entry *a = kernel_tree_find(o.tree, "a"), *c = kernel_tree_find(o.tree, "c");
    assert_true(a->failed);
    assert_non_null(strstr(a->errors, "unknown name 'y'"));
    assert_null(strstr(a->errors, "unknown name 'z'"));
    assert_false(kernel_tree_find(o.tree, "b")->failed);
    assert_true(c->failed);
    assert_non_null(strstr(c->errors, "unknown name 'z'"));
    drop(&o);
}

/* A diagnostic is kept once, but every kernel that fails has a message. */
static void test_every_failed_kernel_has_a_message(void **state)
{
    (void)state;
    const char *const instances[] = {"t<1>", "t<2>", "u<int>", "u<float>"};
    const kernel_parse_options options = {
        .preprocess = {.no_disk = true}, .instances = instances, .n_instances = 4};
    outcome o = parse_with("template <int N> __global__ void t(int *x) { x[N] = nothing; }\n"
                           "template <class T> __device__ auto f(T x) { return nobody; }\n"
                           "template <class T> __global__ void u(T *x) { x[0] = f(1); }\n"
                           "__global__ void good(int *x) { x[0] = 1; }\n",
                           &options);
    assert_int_equal(o.status, IG_OK);
    for (int i = 0; i < 4; i++) {
        const kernel_entry *e = kernel_tree_find(o.tree, instances[i]);
        assert_non_null(e);
        assert_true(e->failed);
        assert_non_null(
            strstr(e->errors, i < 2 ? "unknown name 'nothing'" : "unknown name 'nobody'"));
    }
    assert_false(kernel_tree_find(o.tree, "good")->failed);
    drop(&o);
}

/* A megabyte a second, a millisecond for a small kernel; emulators and sanitizers are not timed. */
static void test_speed(void **state)
{
    (void)state;
    if (getenv("IG_TEST_QUICK") || getenv("IG_TEST_EMULATED"))
        skip();
    static const char body[] = "{\n"
                               "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "    float total = 0.0f;\n"
                               "    for (int k = 0; k < n; k++)\n"
                               "        total += fmaf(x[i * n + k], y[k], 1.0f) * 0.5f;\n"
                               "    if (i < n && total > 1.0f)\n"
                               "        y[i] = sqrtf(total) + (float)i;\n"
                               "}\n";
    text t = {0};
    for (int i = 0; i < 3000; i++)
        text_add(&t, "__global__ void kernel_%d(const float *x, float *y, int n)\n%s", i, body);
    const size_t bytes = t.used;
    char *source = text_take(&t);
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        const clock_t from = clock();
        outcome o = {0};
        o.status = kernel_parse("speed.cu", source, NULL, &o.tree, NULL);
        const double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
        best = seconds < best ? seconds : best;
        assert_int_equal(o.status, IG_OK);
        drop(&o);
    }
    memory_free(source);
    print_message("%.1f MB/s\n", 1e-6 * (double)bytes / best);
    assert_true((double)bytes / best > 1e6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cases),
        TEST(test_host_code_is_passed_over),
        TEST(test_request_that_cannot_be),
        TEST(test_depth),
        TEST(test_memory_has_a_cap),
        TEST(test_allocations_fail),
        TEST(test_entry),
        TEST(test_errors_belong_to_kernels),
        TEST(test_one_header_by_two_paths),
        TEST(test_every_failed_kernel_has_a_message),
        TEST(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
