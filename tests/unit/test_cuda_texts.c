/* The texts of kernels/ that are passed to NVRTC verbatim: they compile for Hopper in each form that
 * src/engine/backend/cuda uses. No GPU is needed. Without NVRTC the test says so and is skipped. */
#include "support/unit.h"

#include "engine/backend/cuda/native.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

extern const char kernels_tensor_product[], kernels_mma_product[], kernels_pack[], kernels_result[],
    kernels_attention_parts[], kernels_attention[], kernels_attention_grad[];

static nvrtc_api nvrtc;
static const char hopper[] = "--gpu-architecture=sm_90a", ampere[] = "--gpu-architecture=sm_80";

static int find(void **unused)
{
    static const char *path; /* it stays loaded, and so does its name */
    const char *remedy;
    (void)unused;
    const char *why = nvrtc_api_load(&nvrtc, &remedy, &path);
    if (why)
        print_message("%s: the kernels are not compiled\n", why);
    return 0;
}

static char *log_of(nvrtcProgram p)
{
    size_t bytes = 0;
    assert_int_equal(nvrtc.nvrtcGetProgramLogSize(p, &bytes), 0);
    char *log = memory_new(bytes + 1);
    assert_non_null(log);
    assert_int_equal(nvrtc.nvrtcGetProgramLog(p, log), 0);
    return log;
}

/* The compiler's log tells whether products on the tensor cores are serialized for lack of registers. */
static void compile(const char *definitions, const char *const texts[4], const char *architecture)
{
    const char *const options[] = {architecture, "--fmad=false", "--std=c++17", "-default-device"};
    text all = {0};
    nvrtcProgram p = NULL;
    if (!nvrtc.nvrtcCreateProgram)
        skip();
    text_add(&all, "%s", definitions);
    for (int i = 0; i < 4 && texts[i]; i++)
        text_add(&all, "%s", texts[i]);
    char *source = text_take(&all);
    assert_non_null(source);
    assert_int_equal(nvrtc.nvrtcCreateProgram(&p, source, "kernel.cu", 0, NULL, NULL), 0);
    const int status = nvrtc.nvrtcCompileProgram(p, 4, options);
    char *log = log_of(p);
    if (status != 0 || strstr(log, "are serialized")) {
        print_message("%s%s\n", definitions, log);
        fail();
    }
    memory_free(log);
    nvrtc.nvrtcDestroyProgram(&p);
    memory_free(source);
}

static void products(void **unused)
{
    const char *const texts[4] = {kernels_arguments, kernels_hopper, kernels_result,
                                  kernels_tensor_product};
    static const struct {
        const char *type;
        int bytes, a_k, b_k, columns, out, boxes;
        const char *epilogue;
    } forms[] = {{"f16", 2, 1, 0, 256, 1, 0, ""},
                 {"bf16", 2, 0, 1, 128, 2, 1, ""},
                 {"tf32", 4, 1, 1, 256, 0, 1, ""},
                 {"f16", 2, 1, 0, 192, 1, 1, ""},
                 {"tf32", 4, 1, 1, 192, 0, 0, ""},
                 {"bf16", 2, 1, 1, 256, 2, 1,
                  "struct sizes { float x0; };\n#define EPILOGUE\n"
                  "static __device__ float epilogue(float x, sizes g) { return x * g.x0; }\n"}};
    (void)unused;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char definitions[400];
        snprintf(definitions, sizeof definitions,
                 "%s#define TYPE \"%s\"\n#define BYTES %d\n#define A_K %d\n#define B_K %d\n"
                 "#define TN %d\n#define OUT %d\n#define BOXES %d\n",
                 forms[i].epilogue, forms[i].type, forms[i].bytes, forms[i].a_k, forms[i].b_k,
                 forms[i].columns, forms[i].out, forms[i].boxes);
        compile(definitions, texts, hopper);
    }
}

static void products_since_ampere(void **unused)
{
    const char *const texts[4] = {kernels_arguments, kernels_result, kernels_mma_product};
    const char *const packing[4] = {kernels_arguments, kernels_pack};
    (void)unused;
    compile("#define TYPE \"bf16\"\n#define OUT 2\n", texts, ampere);
    compile("#define TYPE \"f16\"\n#define OUT 0\n", texts, ampere);
    compile("#define BYTES 2\n", packing, ampere);
    compile("#define BYTES 4\n", packing, ampere);
}

static void attention(void **unused)
{
    const char *const forward[4] = {kernels_arguments, kernels_hopper, kernels_attention_parts,
                                    kernels_attention};
    const char *const backward[4] = {kernels_arguments, kernels_hopper, kernels_attention_parts,
                                     kernels_attention_grad};
    static const char form[] =
        "#define TYPE \"%s\"\n#define IS_F16 %d\n#define DIM %d\n"
        "#define WGS %d\n#define CAUSAL %d\n#define PART %d\n#define MASKED %d\n"
        "#define LOOP %d\n#define SHORT %d\n";
    char definitions[200];
    (void)unused;
    snprintf(definitions, sizeof definitions, form, "f16", 1, 64, 3, 0, 0, 1, 1, 0);
    compile(definitions, forward, hopper);
    snprintf(definitions, sizeof definitions, form, "f16", 1, 64, 1, 0, 0, 0, 0, 1);
    compile(definitions, forward, hopper);
    snprintf(definitions, sizeof definitions, form, "bf16", 0, 64, 1, 1, 0, 1, 0, 1);
    compile(definitions, forward, hopper);
    snprintf(definitions, sizeof definitions, form, "bf16", 0, 128, 2, 1, 0, 0, 0, 0);
    compile(definitions, forward, hopper);
    compile(definitions, backward, hopper);
    snprintf(definitions, sizeof definitions, form, "f16", 1, 64, 3, 1, 1, 0, 0, 0);
    compile(definitions, backward, hopper);
    snprintf(definitions, sizeof definitions, form, "f16", 1, 64, 2, 0, 2, 0, 0, 0);
    compile(definitions, backward, hopper);
    snprintf(definitions, sizeof definitions, form, "bf16", 0, 128, 2, 1, 2, 0, 0, 0);
    compile(definitions, backward, hopper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products),
                                       cmocka_unit_test(products_since_ampere),
                                       cmocka_unit_test(attention)};
    return cmocka_run_group_tests(tests, find, NULL);
}
