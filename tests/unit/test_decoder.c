/* Decoders: the cache, sampling, and generation with stop texts, on tests/support/tiny_llama.gguf, which has random weights of
 * several types. tests/test_decoder.py compares logits with another implementation. */
#include "support/folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lib/decoder/decoder.h"

static const char *const fixture = "tests/support/tiny_llama.gguf";
enum { LONG = 150 };

static decoder *opened(const char *path)
{
    decoder *d = decoder_open(path);
    if (!d)
        fail_msg("%s", ig_error(NULL));
    return d;
}

static double nmse(const float *x, const float *y, int64_t n)
{
    double error = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        error += pow((double)x[i] - (double)y[i], 2);
        sum += pow((double)y[i], 2);
    }
    return error / sum;
}

static void ids_fill(int32_t *ids, int n)
{
    for (int i = 0; i < n; i++)
        ids[i] = (i * 37 + i / 5) % 250 + 3;
}

/* Tokens in parts of any size, also after a cut, give the same logits. */
static void test_parts(void **state)
{
    (void)state;
    decoder *d = opened(fixture);
    const int64_t v = d->config.vocabulary;
    int32_t ids[LONG];
    ids_fill(ids, LONG);
    session *whole = session_new(d, LONG), *parts = session_new(d, LONG);
    const float *a = session_add(whole, ids, LONG);
    assert_non_null(a);
    assert_non_null(session_add(parts, ids + 60, 20)); /* removed again */
    session_cut(parts, 0);
    static const int sizes[] = {1, 3, 17, 64, 40, 1, 24};
    const float *b = NULL;
    for (int i = 0, at = 0; at < LONG; at += sizes[i++]) {
        b = session_add(parts, ids + at, sizes[i]);
        assert_non_null(b);
        assert_int_equal(session_length(parts), at + sizes[i]);
    }
    assert_true(nmse(b, a, v) < 1e-10);
    assert_null(session_add(parts, ids, 1));
    assert_error(IG_ERR_ARGUMENT, "1 tokens do not fit: the text has 150");
    session_cut(parts, 149);
    ids[0] = 100000;
    assert_null(session_add(parts, ids, 1));
    assert_error(IG_ERR_ARGUMENT, "token 100000 is not in the vocabulary");
    session_free(whole);
    session_free(parts);
    assert_null(session_new(d, 257));
    assert_error(IG_ERR_ARGUMENT, "reads from 1 to 256");
    decoder_close(d);
}

/* A copy of the file with all tensors as f32; extra: the name of one more tensor, or NULL. */
static void copy_unpacked(const char *to, const char *extra)
{
    gguf *g = gguf_open(fixture);
    gguf_writer *w = gguf_write_new();
    const gguf_value *values;
    const gguf_tensor *tensors;
    const int n_values = gguf_values(g, &values), n = gguf_tensors(g, &tensors);
    for (int i = 0; i < n_values; i++)
        gguf_write_value(w, &values[i]);
    for (int i = 0; i < n; i++)
        gguf_write_tensor(w, tensors[i].name.at, GGUF_TYPE_F32, tensors[i].shape, tensors[i].ndim);
    if (extra)
        gguf_write_tensor(w, extra, GGUF_TYPE_F32, NULL, 0);
    assert_int_equal(gguf_write_begin(w, to), IG_OK);
    for (int i = 0; i < n; i++) {
        ig_array *x = ig_add(gguf_array(g, &tensors[i]), ig_float(0));
        gguf_write_data(w, ig_data(x), (size_t)ig_size(x) * sizeof(float));
    }
    if (extra)
        gguf_write_data(w, &(float){1}, sizeof(float));
    assert_int_equal(gguf_write_end(w, IG_OK), IG_OK);
    gguf_close(g);
}

/* Packed weights give the logits of the same weights as f32. */
static void test_packed(void **state)
{
    (void)state;
    const char *path = folder_path("f32.gguf");
    copy_unpacked(path, NULL);
    int32_t ids[20];
    ids_fill(ids, 20);
    decoder *d = opened(fixture), *e = opened(path);
    session *s = session_new(d, 20), *t = session_new(e, 20);
    for (int i = 0; i < 4; i++) { /* products round, unless in mode same */
        ig_set_math(i < 2 ? IG_MATH_SAME : IG_MATH_STRICT);
        const float *a = session_add(s, ids + 5 * i, i % 2 ? 1 : 4);
        const float *b = session_add(t, ids + 5 * i, i % 2 ? 1 : 4);
        const double error = a && b ? nmse(a, b, d->config.vocabulary) : 1;
        if (!(error < (i < 2 ? 1e-8 : 5e-3)))
            fail_msg("NMSE %g", error);
    }
    session_free(s);
    session_free(t);
    decoder_close(d);
    decoder_close(e);
}

/* Forms of the cache: logits stay within their precision, also of several texts; sizes and limits. */
static void test_cache(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        double nmse;
        int64_t bytes; /* of a token, for each element of keys and values, times 8 */
    } rows[] = {{"f32", 1e-10, 32}, {"f16", 1e-5, 16}, {"q8", 2e-3, 10}};
    int32_t ids[20];
    ids_fill(ids, 20);
    ig_set_math(IG_MATH_SAME);
    decoder *d = opened(fixture);
    const int64_t v = d->config.vocabulary;
    const int64_t each = 2 * d->config.layers * d->config.kv_heads * d->config.head_width;
    session *exact = session_new(d, 20);
    const float *a = session_add(exact, ids, 20);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(cache_choose(d, rows[i].form, 0), IG_OK);
        assert_string_equal(cache_name(d), rows[i].form);
        assert_int_equal(cache_bytes(d, 8), each * rows[i].bytes);
        session *one = session_new(d, 20), *two = session_new_texts(d, 2, 20);
        assert_true(one && two);
        assert_non_null(session_add(one, ids, 12));
        const double error = nmse(session_add(one, ids + 12, 8), a, v);
        session_choose(two, 1);
        assert_non_null(session_add(two, ids, 19));
        session_choose(two, 0);
        assert_int_equal(session_copy(two, 1, 19), IG_OK);
        const float *rows_two = session_step(two, (int32_t[]){ids[19], ids[19]}, 2);
        assert_non_null(rows_two);
        const double first = nmse(rows_two, a, v), second = nmse(rows_two + v, a, v);
        if (!(error < rows[i].nmse && first < rows[i].nmse && second < rows[i].nmse))
            fail_msg("%s: NMSE %g, %g, %g", rows[i].form, error, first, second);
        assert_true(i == 0 || error > 0);
        session_free(one);
        session_free(two);
    }
    assert_int_equal(cache_choose(d, "f8", 0), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "no form 'f8'; choose f32, f16 or q8");
    assert_int_equal(cache_choose(d, "f16", 1000), IG_OK);
    assert_null(session_new(d, 20));
    assert_error(IG_ERR_MEMORY, "and its limit is 1000; choose fewer tokens");
    ig_set_math(IG_MATH_STRICT);
    session_free(exact);
    decoder_close(d);
}

/* Each type keeps the logits within its precision, and the file opens again. */
static void test_quantize(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double nmse;
        const char *query; /* the type of a matrix with rows of 32 */
    } rows[] = {{"f32", 1e-10, "F32"},   {"f16", 1e-5, "F16"},      {"bf16", 1e-3, "BF16"},
                {"q8_0", 1e-3, "Q8_0"},  {"q5_1", 0.05, "Q5_1"},    {"q4_k", 0.1, "Q5_0"},
                {"q4_0", 0.3, "Q4_0"},   {"q6_k", 1e-3, "Q8_0"},    {"q2_k", 0.5, "IQ4_NL"},
                {"q3_k", 0.5, "IQ4_NL"}, {"iq4_nl", 0.3, "IQ4_NL"}, {"iq4_xs", 0.3, "IQ4_NL"},
                {"mxfp4", 1e-3, "Q8_0"}};
    int32_t ids[10];
    ids_fill(ids, 10);
    ig_set_math(IG_MATH_SAME); /* weights are rounded, but not activations */
    decoder *d = opened(fixture);
    session *s = session_new(d, 10);
    const float *a = session_add(s, ids, 10);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *path = folder_path("q.gguf");
        assert_int_equal(decoder_quantize(fixture, NULL, rows[i].type, path), IG_OK);
        decoder *e = opened(path);
        session *t = session_new(e, 10);
        const float *exact = session_add(t, ids, 10);
        const double error = nmse(exact, a, d->config.vocabulary);
        if (!(error < rows[i].nmse))
            fail_msg("%s: NMSE %g", rows[i].type, error);
        ig_set_math(IG_MATH_STRICT);
        session *u = session_new(e, 10);
        const double rounded = nmse(session_add(u, ids, 10), exact, d->config.vocabulary);
        if (!(rounded < 5e-3))
            fail_msg("%s with rounded activations: NMSE %g", rows[i].type, rounded);
        ig_set_math(IG_MATH_SAME);
        session_free(u);
        const gguf_tensor *query = gguf_tensor_find(e->file, "blk.0.attn_q.weight");
        assert_string_equal(gguf_type_of((uint64_t)query->type)->name, rows[i].query);
        assert_int_equal(gguf_tensor_find(e->file, "output_norm.weight")->type, GGUF_TYPE_F32);
        assert_int_equal(gguf_int(e->file, "general.quantization_version", 0), 2);
        session_free(t);
        decoder_close(e);
    }
    assert_int_equal(decoder_quantize(fixture, NULL, "q8_k", folder_path("q.gguf")),
                     IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the type 'q8_k' cannot be written");
    ig_set_math(IG_MATH_STRICT);
    session_free(s);
    decoder_close(d);
}

/* ---- sampling ---- */

enum { WORDS = 8, DRAWS = 4000 };
static const float logits[WORDS] = {1, 3, 2.5f, -1, 3.5f, 0, -2, 2};

/* How often each token is drawn; n counts the tokens of the text, and so gives the position of the draw. */
static void draw(sampling how, int *count)
{
    sampler *s = sampler_new(&how, WORDS);
    int32_t words[DRAWS + 4] = {1, 4, 4, 7};
    memset(count, 0, WORDS * sizeof *count);
    for (int i = 0; i < DRAWS; i++) {
        double logprob = 1;
        const int32_t id = sampler_next(s, logits, words, 4 + i, &logprob);
        assert_true(id >= 0 && id < WORDS && logprob < 0);
        count[id]++;
    }
    sampler_free(s);
}

static const sampling plain = {
    .temperature = 1, .top_p = 1, .typical = 1, .repetition = 1, .last = -1};

static void test_sampling(void **state)
{
    (void)state;
    int count[WORDS], again[WORDS];
    double p[WORDS], sum = 0;
    draw(plain, count);
    for (int i = 0; i < WORDS; i++)
        sum += p[i] = exp((double)logits[i]);
    for (int i = 0; i < WORDS; i++) /* within 5 standard deviations */
        assert_true(fabs(count[i] - DRAWS * p[i] / sum) < 5 * sqrt(DRAWS * p[i] / sum) + 1);
    draw(plain, again);
    assert_memory_equal(count, again, sizeof count);
    sampling how = plain;
    how.seed = 1;
    draw(how, again);
    assert_memory_not_equal(count, again, sizeof count);

    how = plain;
    how.temperature = 0;
    draw(how, count);
    assert_int_equal(count[4], DRAWS);
    how = plain;
    how.top_k = 2;
    draw(how, count);
    assert_int_equal(count[4] + count[1], DRAWS);
    how = plain;
    how.top_p = 0.6; /* 0.42 and 0.25 */
    draw(how, count);
    assert_int_equal(count[4] + count[1], DRAWS);
    how = plain;
    how.min_p = 0.3;
    draw(how, count);
    assert_int_equal(count[4] + count[1] + count[2], DRAWS);
    how = plain;
    how.typical = 0.2; /* the token whose surprise is nearest to the entropy */
    draw(how, count);
    assert_int_equal(count[1], DRAWS);
}

static void test_penalties(void **state)
{
    (void)state;
    const int32_t words[] = {4, 4, 1};
    static const struct {
        sampling how;
        int32_t best;
    } rows[] = {{{.repetition = 1, .last = -1}, 4},
                {{.repetition = 2, .last = -1}, 2},
                {{.repetition = 1, .presence = 0.7, .last = -1}, 4},
                {{.repetition = 1, .frequency = 0.7, .last = -1}, 2},
                {{.repetition = 2, .last = 1}, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double logprob;
        sampler *s = sampler_new(&rows[i].how, WORDS);
        assert_int_equal(sampler_next(s, logits, words, 3, &logprob), rows[i].best);
        assert_int_equal(sampler_next(s, logits, words, 3, &logprob), rows[i].best);
        sampler_free(s);
    }
    double logprob;
    sampler *s = sampler_new(&plain, 1);
    assert_int_equal(sampler_next(s, (float[]){NAN}, words, 0, &logprob), -1);
    sampler_free(s);
}

/* ---- tokens and generation ---- */

static void test_tokens(void **state)
{
    (void)state;
    decoder *d = opened(fixture);
    tokens_of *k = tokens_open(d);
    assert_non_null(k);
    const char *source = "the cat<|im_end|>\n\xc3\xa9\xe6\x97\xa5 7";
    char back[64], piece[TOKEN_BYTES];
    int64_t n = 0;
    size_t used = 0;
    int32_t *ids = tokens_encode(k, (ig_text){source, strlen(source)}, &n);
    for (int64_t i = 0; i < n; i++) {
        assert_false(tokens_is_end(k, ids[i])); /* text never becomes a control token */
        const size_t m = tokens_decode(k, ids[i], piece);
        memcpy(back + used, piece, m);
        used += m;
    }
    assert_int_equal(used, strlen(source));
    assert_memory_equal(back, source, used);
    assert_true(n < (int64_t)strlen(source)); /* some pairs are merged */
    assert_true(tokens_is_end(k, 2) && tokens_decode(k, 2, piece) == 0);
    memory_free(ids);
    tokens_close(k);
    decoder_close(d);
}

typedef struct collected {
    char text[4096];
    size_t used;
    int n;
} collected;

static ig_status collect(void *context, const generated *g)
{
    collected *c = context;
    for (size_t i = 0; i < g->text.bytes; i++)
        c->text[c->used++] = g->text.at[i];
    c->n += g->id >= 0;
    return IG_OK;
}

static generation_result run(const decoder *d, session *s, const tokens_of *k, generation g,
                             collected *c)
{
    int64_t n = 0;
    generation_result r;
    (void)d;
    *c = (collected){0};
    g.visit = collect;
    g.context = c;
    int32_t *ids = tokens_encode(k, (ig_text){"the cat", 7}, &n);
    session_cut(s, 0);
    assert_int_equal(generate(s, k, ids, n, &g, &r), IG_OK);
    assert_int_equal(r.tokens, c->n);
    memory_free(ids);
    return r;
}

static void test_generate(void **state)
{
    (void)state;
    decoder *d = opened(fixture);
    tokens_of *k = tokens_open(d);
    session *s = session_new(d, 100);
    collected whole, part;
    generation g = {.tokens = 40, .sampling = plain, .ignores_end = true};
    generation_result r = run(d, s, k, g, &whole);
    assert_true(r.tokens == 40 && r.end == GENERATED_LENGTH && whole.used > 20);
    r = run(d, s, k, g, &part);
    assert_true(part.used == whole.used && memcmp(part.text, whole.text, part.used) == 0);

    /* A stop text ends the result, also if several tokens make it. */
    char stop[4] = "";
    memcpy(stop, whole.text + 10, 3);
    size_t first = 0;
    while (memcmp(whole.text + first, stop, 3) != 0)
        first++;
    g.stops = (const char *const[]){"never in it", stop};
    g.n_stops = 2;
    r = run(d, s, k, g, &part);
    assert_true(r.end == GENERATED_STOP && part.used == first);
    assert_memory_equal(part.text, whole.text, first);
    session_free(s);
    tokens_close(k);
    decoder_close(d);
}

/* Texts that share a cache have the bits of texts alone, whatever the others do. */
static void test_texts(void **state)
{
    (void)state;
    enum { TEXTS = 5, STEPS = 8 };
    decoder *d = opened(fixture);
    const size_t row = (size_t)d->config.vocabulary;
    int32_t ids[200];
    ids_fill(ids, 200);
    session *many = session_new_texts(d, TEXTS, 200), *alone[TEXTS];
    for (int i = 0; i < TEXTS; i++) { /* texts of different lengths; the last one is a copy */
        const int n = i < TEXTS - 1 ? 3 + 43 * i : 100;
        alone[i] = session_new(d, 200);
        session_choose(many, i);
        if (i == TEXTS - 1)
            assert_int_equal(session_copy(many, 3, 90), IG_OK);
        const int64_t known = session_length(many);
        const float *a = session_add(many, ids + known, n - known);
        assert_non_null(a);
        assert_memory_equal(a, session_add(alone[i], ids, n), row * sizeof *a);
    }
    for (int step = 0; step < STEPS; step++) {
        int32_t next[TEXTS];
        const int n = step < STEPS / 2 ? TEXTS : 2;
        for (int i = 0; i < n; i++)
            next[i] = (step + i) % 3 ? 20 + 7 * i + step : -1;
        const float *a = session_step(many, next, n);
        assert_non_null(a);
        for (int i = 0; i < n; i++)
            if (next[i] >= 0)
                assert_memory_equal(a + (size_t)i * row, session_add(alone[i], next + i, 1),
                                    row * sizeof *a);
    }
    for (int i = 0; i < TEXTS; i++)
        session_free(alone[i]);
    session_free(many);
    decoder_close(d);
}

/* Guesses change no token, whether they are right or wrong, and also if tokens are drawn. */
static void test_guesses(void **state)
{
    (void)state;
    decoder *d = opened(fixture);
    tokens_of *k = tokens_open(d);
    session *s = session_new(d, 100), *same = session_new(d, 100);
    assert_true(tokens_same(d, k));
    for (int i = 0; i < 6; i++) {
        collected plainly, looked, drafted;
        generation g = {.tokens = 30 + i, .sampling = plain, .ignores_end = true};
        g.sampling.temperature = i % 2 ? 1.2 : 0;
        g.sampling.seed = (uint64_t)i;
        run(d, s, k, g, &plainly);
        g.lookup = true;
        generation_result r = run(d, s, k, g, &looked);
        assert_true(looked.used == plainly.used && r.tokens == g.tokens);
        assert_memory_equal(looked.text, plainly.text, plainly.used);
        assert_true(r.guessed >= r.accepted);
        g.lookup = false;
        g.draft = same;
        r = run(d, s, k, g, &drafted);
        assert_true(drafted.used == plainly.used && r.tokens == g.tokens);
        assert_memory_equal(drafted.text, plainly.text, plainly.used);
        if (i % 2 == 0) /* the same model guesses right */
            assert_true(r.accepted == r.guessed && r.accepted > 20);
    }
    session_free(same);
    session_free(s);
    tokens_close(k);
    decoder_close(d);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_null(decoder_open("tests/support/gguf_types.gguf"));
    assert_error(IG_ERR_UNSUPPORTED,
                 "its architecture 'test' is not supported; supported are: llama");
    static const char *const extras[] = {"blk.0.strange.weight", "blk.2.attn_q.weight"};
    for (int i = 0; i < 2; i++) {
        copy_unpacked(folder_path("x.gguf"), extras[i]);
        assert_null(decoder_open(folder_path("x.gguf")));
        assert_error(IG_ERR_UNSUPPORTED, extras[i]);
    }
    assert_null(decoder_open(folder_itself()));
    assert_error(IG_ERR_FILE, "config.json");
    folder_put(folder_path("config.json"), "{\"model_type\": \"x\"}", 19);
    assert_null(decoder_open(folder_itself()));
    assert_error(IG_ERR_UNSUPPORTED, "model_type 'x' is not supported");
    const char *small =
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"hidden_size\": 8, "
        "\"num_attention_heads\": 3, \"num_key_value_heads\": 2, \"vocab_size\": 9}";
    folder_put(folder_path("config.json"), small, strlen(small));
    assert_null(decoder_open(folder_itself()));
    assert_error(IG_ERR_FORMAT, "not a multiple");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, folder_begin, folder_end)
        TEST(parts),    TEST(texts),     TEST(guesses), TEST(packed),   TEST(quantize), TEST(cache),
        TEST(sampling), TEST(penalties), TEST(tokens),  TEST(generate), TEST(mistakes),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
