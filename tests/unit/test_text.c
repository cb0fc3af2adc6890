/* Tokenizers and text models without another implementation: what they return, mistakes, failing allocations, training.
 * tests/test_tokenizers.py and tests/test_text_models.py compare them with other packages. */
#include "support/capture.h"
#include "support/faulty.h"
#include "support/folder.h"
#include "support/text_folder.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/progress.h"

static ig_text text_of(const char *s) { return (ig_text){s, strlen(s)}; }

/* False, after skipping the test, if utf8proc is not installed. */
static bool can_load(ig_tokenizer *t)
{
    ig_status code = IG_OK;
    if (t)
        return true;
    const char *message = ig_error(&code);
    if (code != IG_ERR_UNSUPPORTED || !message || !strstr(message, "utf8proc"))
        fail_msg("%s", message ? message : "no tokenizer");
    return false;
}

static ig_tokenizer *tokenizer_make(void)
{
    const char *path = folder_path("tokenizer.json");
    folder_put(path, text_folder_tokenizer, strlen(text_folder_tokenizer));
    return ig_tokenizer_load(path);
}

static bool available(void)
{
    ig_tokenizer *t = tokenizer_make();
    const bool fine = can_load(t);
    ig_tokenizer_free(t);
    return fine;
}

static void assert_ids(const ig_encoding *e, int n, const int *ids)
{
    assert_int_equal(e->n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(e->ids[i], ids[i]);
}

/* ---- tokenizers ------------------------------------------------------------------------------ */

static void test_encode(void **state)
{
    (void)state;
    ig_tokenizer *t = tokenizer_make();
    if (!can_load(t))
        skip();
    assert_int_equal(ig_tokenizer_count(t), 9);
    assert_string_equal(ig_tokenizer_token(t, 6), "##s");
    assert_null(ig_tokenizer_token(t, 9));
    assert_null(ig_tokenizer_token(t, -1));
    assert_int_equal(ig_tokenizer_id(t, "cat"), 5);
    assert_int_equal(ig_tokenizer_id(t, "dog"), -1);
    const ig_text texts[] = {text_of("C\xc3\xa1ts!"), text_of("dog [MASK]"), text_of("")};
    ig_encoding *e = ig_tokenizer_encode(t, texts, NULL, 3, NULL);
    assert_non_null(e);
    assert_ids(&e[0], 5, (int[]){2, 5, 6, 8, 3});
    assert_int_equal(e[0].starts[1], 0);
    assert_int_equal(e[0].ends[1], 4); /* bytes: the accented letter has two */
    assert_int_equal(e[0].starts[2], 4);
    assert_int_equal(e[0].ends[2], 5);
    assert_int_equal(e[0].special[0], 1);
    assert_int_equal(e[0].sequences[0], -1);
    assert_int_equal(e[0].words[1], e[0].words[2]);
    assert_ids(&e[1], 4, (int[]){2, 1, 4, 3});
    assert_ids(&e[2], 2, (int[]){2, 3});
    ig_free(e);
    const ig_encode_options options = {.max_length = 5, .pad = 7};
    e = ig_tokenizer_encode(t, texts, texts, 1, &options);
    assert_non_null(e);
    assert_ids(e, 7, (int[]){2, 5, 3, 5, 3, 0, 0}); /* two tokens are left for the texts */
    assert_int_equal(e->types[3], 1);
    assert_int_equal(e->mask[4], 1);
    assert_int_equal(e->mask[5], 0);
    ig_free(e);
    ig_tokenizer_free(t);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *source, *says;
    } rows[] = {
        {"{", "not valid JSON"},
        {"{}", "no 'model'"},
        {"{\"model\": {\"type\": \"Magic\", \"vocab\": {\"a\": 0}}}", "Magic"},
        {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {}}}", "empty"},
        {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 99999999999}}}", "99999999999"},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}}",
         "merge 0"},
        {"{\"model\": {\"type\": \"Unigram\", \"unk_id\": 3, \"vocab\": [[\"a\", 0.5]]}}",
         "unk_id"},
        {"{\"normalizer\": {\"type\": \"Wild\"}, \"model\": {\"vocab\": {\"a\": 0}}}", "Wild"},
        {"{\"pre_tokenizer\": {\"type\": \"Wild\"}, \"model\": {\"vocab\": {\"a\": 0}}}", "Wild"},
        {"{\"post_processor\": {\"type\": \"Wild\"}, \"model\": {\"vocab\": {\"a\": 0}}}", "Wild"},
        {"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?<n>a)\"}},"
         "\"model\": {\"vocab\": {\"a\": 0}}}",
         "(?<n>a)"},
        {"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"[z-a]\"}},"
         "\"model\": {\"vocab\": {\"a\": 0}}}",
         "ends before it begins"},
        {"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"\\\\x{110000}\"}},"
         "\"model\": {\"vocab\": {\"a\": 0}}}",
         "Unicode does not have"},
        {"{\"padding\": {\"strategy\": {\"Fixed\": 2000000000}}, \"model\": {\"vocab\": {\"a\": "
         "0}}}",
         "out of range"}};
    (void)state;
    if (!available())
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *path = folder_path("tokenizer.json");
        folder_put(path, rows[i].source, strlen(rows[i].source));
        assert_null(ig_tokenizer_load(path));
        const char *message = ig_error(NULL);
        assert_non_null(message);
        if (!strstr(message, rows[i].says) || !strstr(message, "tokenizer.json"))
            fail_msg("'%s' says '%s', not '%s'", rows[i].source, message, rows[i].says);
    }
}

/* Writes a tokenizer with n parts of one kind, encodes a text, and returns the message. */
static const char *growth_message(const char *list, const char *part, int n, const char *text)
{
    enum { ROOM = 1 << 20 };
    char *source = malloc(ROOM);
    int used = snprintf(source, ROOM, "{\"%s\": {\"type\": \"Sequence\", \"%ss\": [%s", list,
                        strcmp(list, "normalizer") == 0 ? list : "pretokenizer", part);
    for (int i = 1; i < n; i++)
        used += snprintf(source + used, (size_t)(ROOM - used), ", %s", part);
    used += snprintf(
        source + used, (size_t)(ROOM - used),
        "]}, \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", \"vocab\": {\"a\": 0}}}");
    const char *path = folder_path("tokenizer.json");
    folder_put(path, source, (size_t)used);
    free(source);
    ig_tokenizer *t = ig_tokenizer_load(path);
    const ig_text one = text_of(text);
    ig_encoding *e = t ? ig_tokenizer_encode(t, &one, NULL, 1, NULL) : NULL;
    assert_null(e);
    ig_tokenizer_free(t);
    return ig_error(NULL);
}

/* A file cannot make a short text long, by one part or by many. */
static void test_growth(void **state)
{
    static const char replace[] =
        "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aaaaaa\"}";
    static const char prepend[] = "{\"type\": \"Prepend\", \"prepend\": \"aaaaaaaaaa\"}";
    static const char bytes[] =
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}";
    (void)state;
    if (!available())
        skip();
    const uint64_t used = ig_memory_used();
    assert_non_null(
        strstr(growth_message("normalizer", replace, 12, "aaa"),
               "normalizer 6 of the tokenizer (Replace) makes more than 65584 characters"));
    assert_non_null(strstr(growth_message("normalizer", prepend, 3000, "aaa"), "128 normalizers"));
    assert_non_null(
        strstr(growth_message("normalizer", bytes, 30, "\xc3\xa9"), "(ByteLevel) makes"));
    assert_non_null(
        strstr(growth_message("pre_tokenizer", bytes, 30, "\xc3\xa9"), "pre-tokenizers"));
    assert_non_null(strstr(growth_message("pre_tokenizer", bytes, 300, "a"), "128 pre-tokenizers"));
    assert_int_equal(ig_memory_used(), used);
}

/* Tokens count against the memory limit. */
static void test_memory_limit(void **state)
{
    enum { BYTES = 4 << 20 };
    (void)state;
    if (!available())
        skip();
    char *text = malloc(BYTES);
    memset(text, '!', BYTES);
    const ig_text one = {text, BYTES};
    ig_tokenizer *t = ig_tokenizer_load(folder_path("tokenizer.json"));
    assert_non_null(t);
    const uint64_t used = ig_memory_used();
    ig_set_memory_limit(used + (16 << 20));
    assert_null(ig_tokenizer_encode(t, &one, NULL, 1, NULL));
    assert_non_null(strstr(ig_error(NULL), "the memory limit is"));
    assert_int_equal(ig_memory_used(), used);
    ig_set_memory_limit(0);
    ig_tokenizer_free(t);
    free(text);
}

/* Each allocation fails once: no crash, no leak, one message. */
static void test_failing(void **state)
{
    (void)state;
    if (!available())
        skip();
    ig_set_threads(1);
    const int64_t live = memory_live();
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        assert_true(n < 2000);
        const ig_text texts[] = {text_of("cats e\xcc\x81 un"), text_of("\xe4\xb8\x80!")};
        memory_fail_at(n);
        ig_tokenizer *t = ig_tokenizer_load(folder_path("tokenizer.json"));
        ig_encoding *e = t ? ig_tokenizer_encode(t, texts, texts, 2, NULL) : NULL;
        memory_fail_at(0);
        done = e != NULL;
        ig_free(e);
        ig_tokenizer_free(t);
        if (!done)
            assert_non_null(ig_error(NULL));
    }
    assert_int_equal(memory_live(), live);
    ig_set_threads(0);
}

/* ---- models ---------------------------------------------------------------------------------- */

static ig_text_model *model_make(void)
{
    if (!text_folder_make(folder_itself()))
        fail_msg("%s", ig_error(NULL));
    return ig_text_model_load(folder_itself(), IG_F32);
}

/* A text has the same vector in any batch and alone. */
static void test_model(void **state)
{
    (void)state;
    if (!available())
        skip();
    ig_text_model *m = model_make();
    if (!m)
        fail_msg("%s", ig_error(NULL));
    ig_text_info info = {0};
    assert_int_equal(ig_text_model_info(m, &info), IG_OK);
    assert_string_equal(info.architecture, "bert");
    assert_string_equal(info.head, "classify");
    assert_string_equal(info.labels[1], "yes");
    assert_int_equal(info.mask_id, 4);
    const ig_text texts[] = {text_of("cats!"), text_of("un cat cats cats ! ! un cat"), text_of(""),
                             text_of("un")};
    ig_array *all = ig_text_model_run(m, "classify", texts, NULL, 4);
    assert_non_null(all);
    for (int i = 0; i < 4; i++) {
        ig_array *one = ig_text_model_run(m, "classify", texts + i, NULL, 1);
        const float *a = (const float *)ig_data(all) + 2 * i, *b = ig_data(one);
        for (int j = 0; j < 2; j++)
            assert_true(isfinite(a[j]) && fabsf(a[j] - b[j]) < 1e-5f);
    }
    assert_null(ig_text_model_run(m, "fill", texts, NULL, 1));
    assert_non_null(strstr(ig_error(NULL), "fill"));
    ig_text_model_free(m);
}

/* Trains the whole model; the saved folder computes the same. */
static void test_train(void **state)
{
    (void)state;
    if (!available())
        skip();
    ig_text_model *m = model_make();
    ig_model *trained = ig_model_new(1);
    ig_optimizer *o = ig_adamw(0.01, 0.9, 0.999, 1e-8, 0);
    const ig_text texts[] = {text_of("cats"), text_of("un")};
    ig_encoding *e = ig_tokenizer_encode(ig_text_model_tokenizer(m), texts, NULL, 2, NULL);
    double first = 0, last = 0;
    assert_int_equal(ig_text_model_train(m, trained, "classify", 2, true), IG_OK);
    assert_int_equal(ig_text_model_override(m, trained), IG_OK);
    for (int i = 0; i < 30; i++) {
        ig_scope_begin();
        ig_array *logits =
            ig_text_model_head(m, "classify", ig_text_model_hidden(m, e, 2), NULL, 0);
        ig_array *labels = ig_from_data((int64_t[]){0, 1}, IG_SHAPE(2), IG_I64);
        if (ig_step(o, trained, ig_cross_entropy(logits, labels, -1, NULL), &last, NULL, 0) !=
            IG_OK)
            fail_msg("%s", ig_error(NULL));
        first = i ? first : last;
        ig_scope_end();
    }
    assert_true(last < 0.5 * first);
    const char *out = folder_path("out");
    const char *const labels[] = {"minus", "plus"};
    if (ig_text_model_save(m, "classify", labels, 2, out) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    ig_array *before = ig_text_model_run(m, "classify", texts, NULL, 2);
    ig_text_model *again = ig_text_model_load(out, IG_F32);
    if (!again)
        fail_msg("%s", ig_error(NULL));
    ig_text_info info = {0};
    ig_text_model_info(again, &info);
    assert_string_equal(info.labels[1], "plus");
    ig_array *after = ig_text_model_run(again, "classify", texts, NULL, 2);
    assert_memory_equal(ig_data(before), ig_data(after), 4 * sizeof(float));
    static const char *const files[] = {"config.json", "tokenizer.json", "model.safetensors"};
    char path[600];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", out, files[i]);
        remove(path);
    }
    remove(out);
    ig_free(e);
    ig_text_model_free(again);
    ig_text_model_free(m);
    ig_optimizer_free(o);
    ig_model_free(trained);
}

/* A head that is trained for other labels than the folder has: rows have the new labels, and it is saved with as
 * many. */
static void test_other_labels(void **state)
{
    (void)state;
    if (!available())
        skip();
    ig_text_model *m = model_make();
    const ig_text texts[] = {text_of("cats"), text_of("un"), text_of("cat cat cat !")};
    const char *const labels[] = {"a", "b", "c"};
    for (int n = 1; n <= 5; n += 4) {
        ig_model *trained = ig_model_new(1);
        assert_int_equal(ig_text_model_train(m, trained, "classify", n, false), IG_OK);
        assert_int_equal(ig_text_model_override(m, trained), IG_OK);
        ig_array *all = ig_text_model_run(m, "classify", texts, NULL, 3);
        assert_non_null(all);
        assert_int_equal(ig_dim(all, 1), n);
        for (int i = 0; i < 3; i++) {
            ig_array *one = ig_text_model_run(m, "classify", texts + i, NULL, 1);
            const float *a = (const float *)ig_data(all) + n * i, *b = ig_data(one);
            for (int j = 0; j < n; j++)
                assert_true(fabsf(a[j] - b[j]) < 1e-5f);
        }
        assert_int_equal(ig_text_model_save(m, "classify", labels, 3, folder_path("out")),
                         IG_ERR_SHAPE);
        assert_non_null(strstr(ig_error(NULL), "'classifier.weight' has shape"));
        ig_text_model_override(m, NULL);
        ig_model_free(trained);
    }
    ig_encoding *e = ig_tokenizer_encode(ig_text_model_tokenizer(m), texts, NULL, 3, NULL);
    ig_array *hidden = ig_text_model_hidden(m, e, 3);
    assert_non_null(ig_text_model_head(m, "embed", hidden, e, 3));
    assert_null(ig_text_model_head(m, "embed", hidden, NULL, 0)); /* the padding is unknown */
    assert_non_null(strstr(ig_error(NULL), "no encodings"));
    remove(folder_path("out"));
    ig_free(e);
    ig_text_model_free(m);
}

/* ingot verify --model finds a fault, and names the first layer that has it. */
static void test_verify(void **state)
{
    static const struct {
        fault planted;
        int code;
        const char *says;
    } rows[] = {{{0}, EXIT_FINE, "3 states within their bounds"},
                {{.op = "add", .kind = FAULT_ELEMENT}, EXIT_FAILED, "embedding layer is wrong"},
                {{.op = "gelu_erf", .kind = FAULT_ELEMENT}, EXIT_FAILED, "layer 0 is wrong"},
                {{.op = "tanh", .kind = FAULT_ELEMENT}, EXIT_FAILED, "head is wrong"}};
    (void)state;
    if (!available())
        skip();
    int wrong = 0;
    assert_true(text_folder_make(folder_itself()));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[600], *said = NULL;
        faulty_plant(rows[i].planted);
        snprintf(line, sizeof line, "verify --model %s --device faulty", folder_itself());
        const int code = capture_verb(verb_verify, line, &said);
        if (code != rows[i].code || !strstr(said, rows[i].says))
            print_error("row %zu: exit code %d: %s", i, code, said), wrong++;
        free(said);
    }
    faulty_plant((fault){0});
    ig_set_device("cpu");
    assert_int_equal(wrong, 0);
}

static void *cancel_until(void *stop)
{
    while (!atomic_load((atomic_bool *)stop))
        ig_cancel();
    return NULL;
}

/* ig_cancel stops a run of many texts; Ctrl-C stops each run of a text-model verb, also those that start after it. This test is
 * last, because Ctrl-C is remembered. */
static void test_cancel(void **state)
{
    enum { TEXTS = 200 };
    (void)state;
    if (!available())
        skip();
    assert_true(text_folder_make(folder_itself()));
    ig_text_model *m = ig_text_model_load(folder_itself(), IG_F32);
    ig_text texts[TEXTS];
    for (int i = 0; i < TEXTS; i++)
        texts[i] = text_of("a cat");
    atomic_bool stop = false;
    pthread_t thread;
    ig_status code = IG_OK;
    assert_int_equal(ig_scope_begin(), IG_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_until, &stop), 0);
    while (
        ig_text_model_run(m, "embed", texts, NULL, TEXTS)) { /* until the thread runs during one */
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_non_null(ig_error(&code));
    assert_int_equal(code, IG_ERR_CANCELLED);
    assert_non_null(ig_text_model_run(m, "embed", texts, NULL, TEXTS));

    const uint32_t before = cancel_count();
    interrupt_cancel();
    raise(SIGINT);
    assert_true(interrupt_asked());
    assert_int_equal(cancel_count(), before + 1);
    assert_null(ig_text_model_run(m, "embed", texts, NULL, TEXTS));
    assert_non_null(ig_error(&code));
    assert_int_equal(code, IG_ERR_CANCELLED);
    ig_scope_end();
    ig_text_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_encode, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_mistakes, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_growth, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_memory_limit, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_failing, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_model, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_train, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_other_labels, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_verify, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(test_cancel, folder_begin, folder_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
