/* Works with text: a tokenizer, and a network of DistilBERT's shape with new parameters.
 *
 * Tokens are checked against a plain search for the longest ones. The network is checked against itself in f64 on the
 * CPU. Another work (transformer) checks one block of such a network against plain C. */
#include "bench/works.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 6, WIDTH = 768, HEADS = 12, WORDS = 30522, PLACES = 512, LINE_WORDS = 12 };

/* ---- a tokenizer: lines ------------------------------------------------------------------------- */

typedef struct tokenizing {
    ig_tokenizer *tokenizer;
    char *source;
    ig_text *lines;
    int n;
} tokenizing;

static void tokenizing_free(void *state)
{
    tokenizing *t = state;
    ig_tokenizer_free(t->tokenizer);
    free(t->source);
    free(t->lines);
    free(t);
}

static void tokenizer_cost(job *j)
{
    j->bytes = (double)j->dims[0] * LINE_WORDS * 6;
    j->memory_bytes = 64 << 20;
}

static void token_write(str *t, int *id, const char *mark, const char *letters)
{
    char token[8];
    snprintf(token, sizeof token, "%s%s", mark, letters);
    str_json(t, "%s: %d", token, (*id)++);
}

/* Letters and some syllables, as tokens at the start of a word and inside it. */
static void vocabulary_write(str *t)
{
    static const char *const consonants = "bcdfghjklmnpqrstvwxyz", *const vowels = "aeiou";
    int id = 1;
    str_json(t, "{added_tokens: [], normalizer: {type: BertNormalizer}");
    str_json(t, "pre_tokenizer: {type: BertPreTokenizer}");
    str_json(t, "model: {type: WordPiece, unk_token: %s, vocab: {%s: 0", "[UNK]", "[UNK]");
    for (int continues = 0; continues < 2; continues++) {
        const char *mark = continues ? "##" : "";
        for (char c = 'a'; c <= 'z'; c++)
            token_write(t, &id, mark, (char[]){c, 0});
        for (const char *c = consonants; *c; c++)
            for (const char *v = vowels; *v; v++) {
                token_write(t, &id, mark, (char[]){*c, *v, 0});
                for (const char *e = "nrst"; *e; e++)
                    token_write(t, &id, mark, (char[]){*c, *v, *e, 0});
            }
    }
    str_json(t, ".: %d}}}", id);
}

static ig_tokenizer *tokenizer_new(void)
{
    char path[] = "/tmp/ingot-bench-XXXXXX";
    str t = {0};
    const int fd = mkstemp(path);
    ig_tokenizer *tokenizer = NULL;
    vocabulary_write(&t);
    if (fd >= 0 && write(fd, t.s, t.n) == (ssize_t)t.n)
        tokenizer = ig_tokenizer_load(path);
    else
        ig_fail(IG_ERR_FILE, "the vocabulary cannot be written to %s", path);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    str_free(&t);
    return tokenizer;
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static bool tokenizer_make(job *j)
{
    tokenizing *t = heap_get(sizeof *t);
    uint64_t draws = job_key(j, 0);
    str all = {0};
    j->state = t;
    t->n = (int)j->dims[0];
    t->lines = heap_get((size_t)t->n * sizeof *t->lines);
    for (int i = 0; i < t->n; i++) {
        t->lines[i].bytes = all.n; /* the offset, until the text does not move any more */
        for (int w = 0; w < LINE_WORDS; w++) {
            const int letters = 2 + (int)(draw(&draws) % 8);
            for (int k = 0; k < letters; k++) {
                const char *from = k % 2 ? "aeiou" : "bcdfghklmnprstvw";
                str_add(&all, from + draw(&draws) % strlen(from), 1);
            }
            str_puts(&all, w + 1 < LINE_WORDS ? " " : ".");
        }
    }
    t->source = all.s;
    for (int i = 0; i < t->n; i++) {
        const size_t begin = t->lines[i].bytes, end = i + 1 < t->n ? t->lines[i + 1].bytes : all.n;
        t->lines[i] = (ig_text){all.s + begin, end - begin};
    }
    t->tokenizer = tokenizer_new();
    return t->tokenizer != NULL;
}

static outcome tokenizer_run(job *j, double *aside_s, str *why)
{
    tokenizing *t = j->state;
    (void)aside_s;
    (void)why;
    ig_free(ig_tokenizer_encode(t->tokenizer, t->lines, NULL, t->n, NULL));
    return OUTCOME_FINE;
}

/* Finds the longest token of a word from `at` on; returns its length, and its id in *id. */
static int longest_token(const ig_tokenizer *t, const char *word, int at, int n, int *id)
{
    char name[64];
    for (int length = n - at; length > 0; length--) {
        snprintf(name, sizeof name, "%s%.*s", at ? "##" : "", length, word + at);
        *id = ig_tokenizer_id(t, name);
        if (*id >= 0)
            return length;
    }
    return 0;
}

static bool line_check(const tokenizing *t, int line, const ig_encoding *e, str *why)
{
    const ig_text text = t->lines[line];
    int token = 0;
    for (size_t i = 0; i < text.bytes;) {
        int n = 0, id = -1;
        while (i + (size_t)n < text.bytes && text.at[i + (size_t)n] >= 'a')
            n++;
        const int word = n ? n : text.at[i] == '.';
        for (int at = 0; at < word; token++) {
            const int length = longest_token(t->tokenizer, text.at + i, at, word, &id);
            if (token >= e->n || e->ids[token] != id || e->starts[token] != (int32_t)i + at) {
                str_printf(why, "token %d of line %d is not %d", token, line, id);
                return false;
            }
            at += length ? length : word;
        }
        i += (size_t)(word ? word : 1);
    }
    return check_close(why, "the number of tokens of line", line, e->n, token, 0);
}

static bool tokenizer_check(job *j, ig_array *unused, str *why)
{
    const tokenizing *t = j->state;
    (void)unused;
    ig_encoding *all = ig_tokenizer_encode(t->tokenizer, t->lines, NULL, t->n, NULL);
    bool fine = all != NULL;
    for (int i = 0; i < t->n && fine; i++)
        fine = line_check(t, i, &all[i], why);
    if (fine)
        job_answer(j, all[0].ids, (size_t)all[0].n * sizeof *all[0].ids);
    ig_free(all);
    return fine;
}

/* ---- DistilBERT: batch x tokens ------------------------------------------------------------------ */

static void distilbert_cost(job *j)
{
    const double tokens = (double)j->dims[0] * (double)j->dims[1], width = WIDTH;
    const double element_bytes = j->dtype == IG_F32 ? 4 : 2;
    j->flops = LAYERS * (2 * tokens * width * width * 12 + 4 * tokens * (double)j->dims[1] * width);
    j->bytes = element_bytes * (LAYERS * 12 * width * width + 2 * tokens * width);
    j->memory_bytes = j->bytes + 4 * (WORDS * width + 16 * tokens * width);
    j->extent = tokens;
}

/* Query, key and value are one product, as in ig_text_model on devices other than the CPU. */
static ig_array *attention_joined(ig_model *m, const char *name, ig_array *x)
{
    char names[2][48];
    snprintf(names[0], sizeof names[0], "%s.projections", name);
    snprintf(names[1], sizeof names[1], "%s.out", name);
    const int64_t n = ig_dim(x, 0), t = ig_dim(x, 1);
    ig_array *all = ig_reshape(ig_nn_linear(m, names[0], x, (int64_t)3 * WIDTH, true),
                               IG_SHAPE(n, t, 3, HEADS, WIDTH / HEADS));
    ig_array *part[3];
    for (int i = 0; i < 3; i++) {
        const ig_index at[] = {{.kind = IG_INDEX_SLICE, .start = 0, .stop = n, .step = 1},
                               {.kind = IG_INDEX_SLICE, .start = 0, .stop = t, .step = 1},
                               {.kind = IG_INDEX_INT, .start = i}};
        part[i] = ig_permute_dims(ig_get(all, at, 3), IG_AXES(0, 2, 1, 3));
    }
    ig_array *y = ig_scaled_dot_product_attention(part[0], part[1], part[2], NULL, false, 0);
    y = ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), IG_SHAPE(n, t, WIDTH));
    return ig_nn_linear(m, names[1], y, WIDTH, true);
}

static ig_array *layer_build(ig_model *m, int layer, ig_array *x, bool joined)
{
    static const char *const parts[] = {"attention", "norm1", "up", "down", "norm2"};
    char names[5][32];
    for (int i = 0; i < 5; i++)
        snprintf(names[i], sizeof names[i], "%d.%s", layer, parts[i]);
    ig_array *y = joined ? attention_joined(m, names[0], x)
                         : ig_nn_attention(m, names[0], x, NULL, HEADS, NULL, false);
    x = ig_nn_layer_norm(m, names[1], ig_add(x, y), 1e-12);
    y = ig_gelu(ig_nn_linear(m, names[2], x, 4 * WIDTH, true), NULL);
    return ig_nn_layer_norm(m, names[4], ig_add(x, ig_nn_linear(m, names[3], y, WIDTH, true)),
                            1e-12);
}

/* words (30522, 768) and places (512, 768) are inputs of the job, so all dtypes start with the same values. */
static ig_array *network_build(ig_model *m, ig_array *ids, ig_array *words, ig_array *places,
                               bool joined)
{
    const ig_index rows = {.kind = IG_INDEX_SLICE, .start = 0, .stop = ig_dim(ids, 1), .step = 1};
    ig_array *x = ig_add(ig_embedding(ids, words), ig_get(places, &rows, 1));
    x = ig_nn_layer_norm(m, "norm", x, 1e-12);
    for (int i = 0; i < LAYERS; i++)
        x = layer_build(m, i, x, joined);
    return x;
}

/* The network is planned once, as in a program that answers many requests. */
typedef struct distilbert {
    ig_model *model;
    ig_compiled *network;
} distilbert;

static ig_array *distilbert_build(job *j)
{
    const distilbert *d = j->state;
    ig_array *y;
    return ig_run(d->network, j->in, &y) == IG_OK ? y : NULL;
}

static void distilbert_free(void *state)
{
    distilbert *d = state;
    ig_compiled_free(d->network);
    ig_model_free(d->model);
    free(d);
}

static bool distilbert_make(job *j)
{
    if (device_is_host(j->device) && j->dims[0] > 8) {
        ig_fail(IG_ERR_UNSUPPORTED, "batches of %lld are measured on GPUs", (long long)j->dims[0]);
        return false;
    }
    ig_array *ids =
        ig_randint(ig_key(job_key(j, 1), NULL), IG_SHAPE(j->dims[0], j->dims[1]), 0, WORDS, IG_I32);
    distilbert *d = heap_get(sizeof *d);
    *d = (distilbert){.model = ig_model_new(job_key(j, 2))};
    j->state = d;
    if (!d->model || !job_keep(j, 0, ids) ||
        !job_keep(j, 1, job_uniform(j, 3, IG_SHAPE(WORDS, WIDTH), -1, 1)) ||
        !job_keep(j, 2, job_uniform(j, 4, IG_SHAPE(PLACES, WIDTH), -1, 1)))
        return false;
    ig_array *y = network_build(d->model, j->in[0], j->in[1], j->in[2], !device_is_host(j->device));
    d->network = y ? ig_compile(j->in, 1, 0, &y, 1) : NULL;
    return d->network != NULL;
}

/* A model with the same parameters in f64, on the CPU. */
static ig_model *model_widen(const ig_model *m)
{
    ig_model *wide = ig_model_new(0);
    for (int i = 0; wide && i < ig_model_count(m); i++) {
        const char *name = ig_model_name(m, i);
        ig_array *x = ig_model_get(m, name);
        ig_array *y = ig_astype(ig_to_device(x, "cpu"), IG_F64);
        if (!y || !ig_model_param(wide, name, ig_shape(x), IG_F64, IG_INIT_ZEROS, 0) ||
            ig_model_set(wide, name, y) != IG_OK) {
            ig_model_free(wide);
            return NULL;
        }
    }
    return wide;
}

/* The first text of the batch. */
static ig_array *reference_build(const job *j, ig_model *wide)
{
    const ig_index first = {.kind = IG_INDEX_SLICE, .start = 0, .stop = 1, .step = 1};
    ig_array *in[3];
    for (int i = 0; i < 3; i++)
        in[i] = ig_to_device(j->in[i], "cpu");
    return network_build(wide, ig_get(in[0], &first, 1), ig_astype(in[1], IG_F64),
                         ig_astype(in[2], IG_F64), !device_is_host(j->device));
}

static bool distilbert_check(job *j, ig_array *y, str *why)
{
    const double bound = j->dtype == IG_F32 ? 1e-4 : j->dtype == IG_F16 ? 0.03 : 0.25;
    ig_model *wide = NULL;
    double *got = elements(y), *expected = NULL;
    char device[64];
    snprintf(device, sizeof device, "%s", ig_device());
    if (got && ig_set_device("cpu") == IG_OK) {
        wide = model_widen(((const distilbert *)j->state)->model);
        expected = wide ? elements(reference_build(j, wide)) : NULL;
    }
    bool fine = got && expected;
    for (int64_t i = 0; fine && i < j->dims[1] * WIDTH; i++)
        fine = check_close(why, "element", i, got[i], expected[i], bound);
    ig_set_device(device);
    ig_model_free(wide);
    free(got);
    free(expected);
    return fine;
}

#define DISTILBERT \
    "six blocks of 768, 12 heads, 3072 between, with embeddings, batch x tokens, new parameters", \
        distilbert_cost, distilbert_make, distilbert_build, NULL, distilbert_check, \
        distilbert_free, false

const work works_text[] = {
    {"tokenizer", "text", "*4096", "u8", "WordPiece: lines of 12 words, some of several tokens",
     tokenizer_cost, tokenizer_make, NULL, tokenizer_run, tokenizer_check, tokenizing_free, false},
    {"distilbert", "text", "*1x128 8x128 32x128", "f32", DISTILBERT},
    {"distilbert", "text", "1x128 32x128", "f16 bf16", DISTILBERT},
    {0}};
