/* Every public function with NULL, negative counts and extreme values: it must neither crash nor hang, and must report
 * a failure exactly if it failed. The calls are generated from include/ingot.h by tests/support/boundary_calls.py.
 * */
#include "support/text_folder.h"
#include "support/unit.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { SECONDS = 600, LISTED = 8, ROOM = 4096, EVALUATED = 1 << 16 };

/* ---- values ------------------------------------------------------------------------------------ */

static ig_array *matrix, *vector, *number, *empty, *indices, *mask, *key, *lazy;
static ig_array *lists[LISTED], *holes[LISTED], *spare[LISTED], *room[ROOM];
static ig_model *model;
static ig_optimizer *optimizer;
static ig_tensors *tensors;
static ig_module *module;
static ig_compiled *compiled;
static ig_tokenizer *tokenizer;
static ig_text_model *text_model;
static ig_generator *generator;
static ig_answer *answer;
static ig_onnx *onnx;
static ig_onnx_builder *onnx_builder;
static ig_store *store;
static ig_group *group;
static char stores[] = "/tmp/ingot-boundary-XXXXXX"; /* their folder, as long as they are open */
static bool truth;
static ig_status sink_write(void *context, const int64_t *start, const int64_t *size,
                            const void *data)
{
    (void)context, (void)start, (void)size, (void)data;
    return IG_OK;
}
static const ig_block_sink sink = {.size = sizeof sink, .write = sink_write}, no_sink;
static const ig_block_sink *sinks[LISTED], *no_sinks[LISTED];
static ig_onnx_value *onnx_value, *onnx_texts, *onnx_in[LISTED], *onnx_out[LISTED];
static const ig_text texts[] = {{"cats un", 7}, {"!", 1}}, holey_texts[] = {{NULL, 5}, {NULL, 0}};
static const int32_t list[] = {2, 5, 3};
static const uint8_t ones[] = {1, 1, 1};
static const int8_t sequences[] = {-1, 0, -1};
static const ig_encoding encodings[] = {{3, list, list, list, list, list, sequences, ones, ones},
                                        {2, list, list, list, list, list, sequences, ones, ones}};
static const ig_encoding empty_encodings[2];
static const char *const names[] = {"no", "yes"};
static const int64_t numbers[64] = {1, 2, 3};
static const ig_ints two = {numbers, 2};
static const int axes[64] = {0};
static _Alignas(64) char space[1 << 16];
static char long_text[20000];
static ig_index items[LISTED];
static ig_arg args[LISTED];
static double real;
static ig_array *variable; /* of ig_replace */
static ig_status code;
static const char *text_out;
static int64_t whole;
static uint64_t bytes;
static int count_out;
static size_t length;

static void folder_remove(const char *folder)
{
    static const char *const files[] = {"config.json", "tokenizer.json", "model.safetensors"};
    char path[64];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        remove(path);
    }
    remove(folder);
}

/* A model with one input, one weight and one output. */
static void onnx_make(void)
{
    char path[] = "/tmp/ingot-boundary-XXXXXX";
    const int file = mkstemp(path);
    onnx_builder = ig_onnx_builder_new("boundary");
    ig_onnx_builder_input(onnx_builder, "x", IG_ONNX_FLOAT, IG_SHAPE(2, 3), NULL);
    ig_onnx_builder_weight(onnx_builder, "w", vector);
    ig_onnx_builder_node(onnx_builder, "Add", "x w", "y", NULL, 0);
    ig_onnx_builder_output(onnx_builder, "y", IG_ONNX_FLOAT, IG_SHAPE(2, 3), NULL);
    assert_int_equal(ig_onnx_builder_save(onnx_builder, path), IG_OK);
    onnx = ig_onnx_load(path);
    close(file);
    remove(path);
    onnx_value = ig_onnx_value_array(matrix);
    onnx_texts = ig_onnx_value_texts(names, IG_SHAPE(2));
    onnx_in[0] = onnx_value;
    assert_true(onnx && onnx_value && onnx_texts);
}

static void values_make(void)
{
    static const float data[] = {1, -2, 3, 0.5f, 0, 9};
    static const int64_t ints[] = {0, 1, 1};
    static const bool bools[] = {true, false, true};
    matrix = ig_from_data(data, IG_SHAPE(2, 3), IG_F32);
    vector = ig_from_data(data, IG_SHAPE(3), IG_F32);
    number = ig_float(2);
    empty = ig_zeros(IG_SHAPE(0, 3), IG_F32);
    indices = ig_from_data(ints, IG_SHAPE(3), IG_I64);
    mask = ig_from_data(bools, IG_SHAPE(3), IG_BOOL);
    key = ig_key(1, NULL);
    lazy = ig_add(matrix, vector);
    for (int i = 0; i < LISTED; i++) {
        lists[i] = matrix;
        holes[i] = i % 2 ? NULL : matrix;
        sinks[i] = &sink;
        no_sinks[i] = i % 2 ? NULL : &no_sink;
        items[i] = (ig_index){.kind = i ? IG_INDEX_NEWAXIS : IG_INDEX_INT};
        args[i] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = matrix};
    }
    memset(long_text, 'a', sizeof long_text - 1);
    model = ig_model_new(1);
    ig_array *x = ig_nn_linear(model, "layer", matrix, 2, true);
    optimizer = ig_sgd(0.1, 0, false, 0);
    tensors = ig_tensors_new();
    ig_tensors_put(tensors, "x", matrix);
    module = ig_module_new("k.cu", "__global__ void k(float *x, int n) { x[0] = n; }", NULL);
    compiled = ig_compile(&matrix, 1, 0, &lazy, 1);
    char folder[] = "/tmp/ingot-boundary-XXXXXX";
    if (mkdtemp(folder) && text_folder_make(folder)) {
        tokenizer = ig_tokenizer_load(folder);
        text_model = ig_text_model_load(folder, IG_F32);
        generator = ig_generator_load("tests/support/tiny_llama.gguf", NULL);
        answer = generator ? ig_generate(generator, (ig_text){"cats", 4}, NULL) : NULL;
        ig_error(NULL); /* without utf8proc they do not exist */
    }
    folder_remove(folder);
    onnx_make();
    char path[64];
    snprintf(path, sizeof path, "%s/x", mkdtemp(stores));
    assert_int_equal(ig_group_create(stores, NULL), IG_OK);
    store = ig_store_create(path, IG_SHAPE(2, 3), IG_F32, NULL);
    group = ig_group_open(stores);
    assert_non_null(store);
    assert_non_null(group);
    assert_non_null(x);
    assert_non_null(module);
    assert_non_null(compiled);
    assert_false(ig_failed());
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *at)
{
    (void)facts, (void)kind, (void)at;
    return remove(path);
}

static void values_free(void)
{
    ig_model_free(model);
    ig_optimizer_free(optimizer);
    ig_tensors_free(tensors);
    ig_module_free(module);
    ig_compiled_free(compiled);
    ig_tokenizer_free(tokenizer);
    ig_text_model_free(text_model);
    ig_answer_free(answer);
    ig_generator_free(generator);
    ig_onnx_free(onnx);
    ig_onnx_builder_free(onnx_builder);
    ig_onnx_value_release(onnx_value);
    ig_onnx_value_release(onnx_texts);
    ig_release(variable);
    ig_store_close(store);
    ig_group_close(group);
    nftw(stores, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- the checks around each call ------------------------------------------------------------------ */

static const char *now = "";
static int problems, calls, failures;

static void hang(int signal)
{
    (void)signal;
    static const char text[] = "\nstill busy, or dead, in: ";
    if (write(2, text, sizeof text - 1) < 0 || write(2, now, strlen(now)) < 0 ||
        write(2, "\n", 1) < 0)
        _exit(3);
    _exit(3);
}

static void call_begin(const char *call)
{
    now = call;
    calls++;
    ig_scope_begin();
    for (int i = 0; i < LISTED; i++)
        spare[i] = ig_from_data(numbers, IG_SHAPE(3), IG_I64);
    alarm(SECONDS);
}

static void problem(const char *what, const char *text)
{
    problems++;
    fprintf(stderr, "%s: %s%s\n", now, what, text);
}

/* Restores the settings, and checks that an error is understandable to a user. */
static void call_end(void)
{
    ig_status failure = IG_OK;
    const char *text = ig_error(&failure);
    failures += text != NULL;
    if (text && !*text)
        problem("the error has no text", "");
    if (failure == IG_ERR_INTERNAL)
        problem("an internal error: ", text);
    ig_set_device("cpu");
    ig_set_threads(2);
    ig_set_math(IG_MATH_STRICT);
    ig_set_fallback(IG_FALLBACK_ERROR);
    ig_set_memory_limit((uint64_t)1 << 28);
    ig_keep_history(false);
    ig_model_train(model, true);
    for (int i = 0; i < LISTED; i++) {
        ig_onnx_value_release(onnx_out[i]);
        onnx_out[i] = NULL;
    }
    if (ig_failed())
        problem("settings cannot be restored: ", ig_error(NULL));
    ig_scope_end();
}

static void check(bool failed)
{
    if (failed && !ig_failed())
        problem("failed without an error", "");
    if (!failed && ig_failed())
        problem("left an error, but did not fail: ", ig_error(NULL));
    call_end();
}

static void check_status(ig_status status) { check(status != IG_OK); }

/* An array that was built must also survive its evaluation, which may fail. */
static void check_pointer(ig_array *x)
{
    if (x && ig_failed())
        problem("left an error, but did not fail: ", ig_error(NULL));
    if (x && ig_size(x) < EVALUATED)
        ig_eval(&x, 1);
    check(!x || ig_failed());
}

static void check_count(int n)
{
    for (int i = 0; i < n && i < LISTED; i++)
        if (ig_size(room[i]) < EVALUATED)
            ig_eval(&room[i], 1);
    check(n == 0 || ig_failed());
}

static void *check_owned(void *x)
{
    check(!x);
    return x;
}

/* ---- the calls ------------------------------------------------------------------------------------ */

#include "boundary_calls.inc"

static void test_calls(void **state)
{
    (void)state;
    values_make();
    signal(SIGALRM, hang);
    for (size_t i = 0; i < sizeof boundaries / sizeof *boundaries; i++) {
        boundaries[i].calls();
    }
    alarm(0);
    values_free();
    print_message("%d calls, %d of which failed as they should\n", calls, failures);
    assert_int_equal(problems, 0);
    assert_true(failures > calls / 10 && failures < calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
