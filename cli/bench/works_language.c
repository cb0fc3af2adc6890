/* Works with language models: a prompt at once, and a text whose tokens are generated one by one.
 *
 * The built-in model has the shape of SmolLM2-135M and random weights, in two types of GGUF files. The logits of its first token
 * are checked against plain C in double: at the first place of a text, attention returns the value of the token itself.
 * For every model, the logits of a few tokens one by one must be those of the same tokens at once. */
#include "bench/works.h"

#include "lib/decoder/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 30, WIDTH = 576, HEADS = 9, KEYS = 3, INNER = 1536, WORDS = 49152, CONTEXT = 2048 };
enum { HEAD = WIDTH / HEADS, VALUES = KEYS * HEAD, BLOCK = 32, CHECKED = 8, PATH_BYTES = 40 };
/* Rounding activations to 8 bits changes the logits by a hundredth of their size. */
static const double tolerance = 0.05;

typedef struct language {
    decoder *d;
    session *s;
    gguf *weights; /* of the built-in model */
    int32_t *ids;
} language;

/* The matrices of a layer, and their shapes. */
static const struct matrix {
    const char *name;
    int64_t rows, columns;
} matrices[] = {{"attn_q", WIDTH, WIDTH},   {"attn_k", VALUES, WIDTH},
                {"attn_v", VALUES, WIDTH},  {"attn_output", WIDTH, WIDTH},
                {"ffn_gate", INNER, WIDTH}, {"ffn_up", INNER, WIDTH},
                {"ffn_down", WIDTH, INNER}};
enum { MATRICES = sizeof matrices / sizeof *matrices };

/* ---- the built-in model ------------------------------------------------------------------------- */

/* A block is a scale in f16, then signed bytes (Q8_0), or halves of bytes less 8 (Q4_0). The scales lie in [base, 2 base). */
typedef struct block_form {
    int type, bytes;
    uint16_t base_bits;
    double base;
} block_form;

static const block_form forms[] = {{GGUF_TYPE_Q8_0, 2 + BLOCK, 0x0c00, 0x1p-12},
                                   {GGUF_TYPE_Q4_0, 2 + BLOCK / 2, 0x1c00, 0x1p-8}};

static const block_form *form_of(const job *j)
{
    return &forms[strstr(j->work->name, "q4") != NULL];
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Writes a matrix of random blocks. */
static ig_status matrix_write(gguf_writer *w, const block_form *f, int64_t elements,
                              uint64_t *state)
{
    enum { AT_ONCE = 512 };
    unsigned char blocks[AT_ONCE * (2 + BLOCK)];
    ig_status status = IG_OK;
    for (int64_t left = elements / BLOCK; left > 0 && status == IG_OK; left -= AT_ONCE) {
        const size_t n = left < AT_ONCE ? (size_t)left : AT_ONCE;
        for (size_t i = 0; i < n; i++) {
            unsigned char *at = blocks + i * (size_t)f->bytes;
            const uint16_t scale = f->base_bits | (uint16_t)(draw(state) >> 54);
            for (int k = 2; k < f->bytes; k += 8) {
                const uint64_t bits = draw(state);
                memcpy(at + k, &bits, sizeof bits);
            }
            memcpy(at, &scale, sizeof scale);
        }
        status = gguf_write_data(w, blocks, n * (size_t)f->bytes);
    }
    return status;
}

static void keys_write(gguf_writer *w)
{
    static const struct {
        const char *key;
        int64_t value;
    } rows[] = {{"block_count", LAYERS},         {"context_length", CONTEXT},
                {"embedding_length", WIDTH},     {"feed_forward_length", INNER},
                {"attention.head_count", HEADS}, {"attention.head_count_kv", KEYS}};
    char key[64];
    gguf_write_text(w, "general.architecture", (ig_text){"llama", 5});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(key, sizeof key, "llama.%s", rows[i].key);
        gguf_write_int(w, key, GGUF_U32, rows[i].value);
    }
}

/* Declares all tensors of the model, or writes the data of all: first vectors and matrices of each layer. */
static ig_status tensors_write(gguf_writer *w, const block_form *f, bool data, uint64_t *state)
{
    static float ones[WIDTH];
    const int64_t width = WIDTH;
    char name[64];
    ig_status status = IG_OK;
    for (int i = 0; i < WIDTH; i++)
        ones[i] = 1;
    for (int layer = 0; layer < LAYERS && status == IG_OK; layer++) {
        static const char *const norms[] = {"attn_norm", "ffn_norm"};
        for (int i = 0; i < 2 && status == IG_OK; i++) {
            snprintf(name, sizeof name, "blk.%d.%s.weight", layer, norms[i]);
            if (data)
                status = gguf_write_data(w, ones, sizeof ones);
            else
                gguf_write_tensor(w, name, GGUF_TYPE_F32, &width, 1);
        }
        for (int i = 0; i < MATRICES && status == IG_OK; i++) {
            const struct matrix *m = &matrices[i];
            snprintf(name, sizeof name, "blk.%d.%s.weight", layer, m->name);
            if (data)
                status = matrix_write(w, f, m->rows * m->columns, state);
            else
                gguf_write_tensor(w, name, f->type, (int64_t[]){m->rows, m->columns}, 2);
        }
    }
    if (!data) {
        gguf_write_tensor(w, "output_norm.weight", GGUF_TYPE_F32, &width, 1);
        gguf_write_tensor(w, "token_embd.weight", f->type, (int64_t[]){WORDS, WIDTH}, 2);
        return IG_OK;
    }
    if (status == IG_OK)
        status = gguf_write_data(w, ones, sizeof ones);
    return status == IG_OK ? matrix_write(w, f, (int64_t)WORDS * WIDTH, state) : status;
}

static ig_status model_write(const job *j, const char *path)
{
    uint64_t state = job_key(j, 1) * 2 + 1;
    gguf_writer *w = gguf_write_new();
    if (!w)
        return IG_ERR_MEMORY;
    keys_write(w);
    ig_status status = tensors_write(w, form_of(j), false, NULL);
    if (status == IG_OK)
        status = gguf_write_begin(w, path);
    if (status == IG_OK)
        status = tensors_write(w, form_of(j), true, &state);
    return gguf_write_end(w, status);
}

/* Opens the built-in model by a temporary file, which has no name once it is open. */
static bool model_make(const job *j, language *l)
{
    char path[PATH_BYTES] = "/tmp/ingot-bench-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) {
        ig_fail(IG_ERR_FILE, "a temporary file cannot be made in /tmp");
        return false;
    }
    close(fd);
    if (model_write(j, path) == IG_OK) {
        l->d = decoder_open(path);
        l->weights = l->d ? gguf_open(path) : NULL;
    }
    unlink(path);
    return l->weights != NULL;
}

/* ---- the first token in plain C ------------------------------------------------------------------ */

static double block_value(const block_form *f, const unsigned char *block, int i)
{
    uint16_t scale;
    memcpy(&scale, block, sizeof scale);
    const double d = f->base * (1 + (scale & 0x3ff) / 1024.0);
    if (f->type == GGUF_TYPE_Q8_0)
        return d * (signed char)block[2 + i];
    return d * ((block[2 + i % 16] >> (i < 16 ? 0 : 4) & 15) - 8);
}

/* y = W x, for rows of blocks. */
static void product(const block_form *f, const unsigned char *rows, int64_t n, int64_t columns,
                    const double *x, double *y)
{
    for (int64_t r = 0; r < n; r++) {
        y[r] = 0;
        for (int64_t b = 0; b < columns / BLOCK; b++, rows += f->bytes)
            for (int i = 0; i < BLOCK; i++)
                y[r] += block_value(f, rows, i) * x[b * BLOCK + i];
    }
}

static const unsigned char *matrix_data(const language *l, int layer, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "blk.%d.%s.weight", layer, name);
    return gguf_tensor_find(l->weights, full)->data;
}

static void norm(const double *x, double *y)
{
    double squares = 0;
    for (int i = 0; i < WIDTH; i++)
        squares += x[i] * x[i];
    for (int i = 0; i < WIDTH; i++)
        y[i] = x[i] / sqrt(squares / WIDTH + 1e-5);
}

static void add(double *x, const double *y)
{
    for (int i = 0; i < WIDTH; i++)
        x[i] += y[i];
}

/* Adds the results of a layer to x. */
static void layer_add(const language *l, const block_form *f, int layer, double *x)
{
    double in[WIDTH], values[VALUES], heads[WIDTH], out[WIDTH], gate[INNER], up[INNER];
    norm(x, in);
    product(f, matrix_data(l, layer, "attn_v"), VALUES, WIDTH, in, values);
    for (int i = 0; i < WIDTH; i++)
        heads[i] = values[i / HEAD / (HEADS / KEYS) * HEAD + i % HEAD];
    product(f, matrix_data(l, layer, "attn_output"), WIDTH, WIDTH, heads, out);
    add(x, out);
    norm(x, in);
    product(f, matrix_data(l, layer, "ffn_gate"), INNER, WIDTH, in, gate);
    product(f, matrix_data(l, layer, "ffn_up"), INNER, WIDTH, in, up);
    for (int i = 0; i < INNER; i++)
        up[i] *= gate[i] / (1 + exp(-gate[i]));
    product(f, matrix_data(l, layer, "ffn_down"), WIDTH, INNER, up, out);
    add(x, out);
}

/* The logits of the first token of a text; release with free. */
static double *logits_expected(const language *l, const block_form *f, int32_t id)
{
    double x[WIDTH], *logits = heap_get(WORDS * sizeof *logits);
    const unsigned char *table = gguf_tensor_find(l->weights, "token_embd.weight")->data;
    const unsigned char *row = table + (int64_t)id * (WIDTH / BLOCK) * f->bytes;
    for (int i = 0; i < WIDTH; i++)
        x[i] = block_value(f, row + i / BLOCK * f->bytes, i % BLOCK);
    for (int layer = 0; layer < LAYERS; layer++)
        layer_add(l, f, layer, x);
    norm(x, x);
    product(f, table, WORDS, WIDTH, x, logits);
    return logits;
}

/* ---- works --------------------------------------------------------------------------------------- */

/* Weights that a token is multiplied with, and all weights. */
static double weights_of(const decoder_config *c, bool all)
{
    const double experts = (double)(all ? c->experts : c->experts_used), width = (double)c->width;
    const double inner = c->experts ? experts * (double)c->expert_inner : (double)c->inner;
    const double attention = (double)((2 * c->heads + 2 * c->kv_heads) * c->head_width);
    return (double)c->layers * width * (attention + (c->arch->gated ? 3 : 2) * inner) +
           width * (double)c->vocabulary;
}

/* n tokens one by one: each reads the weights and computes a product with them. */
static void costs(job *j, double weights, double bytes)
{
    j->tokens = j->extent = (double)j->dims[0];
    j->memory_bytes = 2 * bytes + 4 * (double)(LAYERS * 2 * VALUES) * j->tokens;
    if (strncmp(j->work->name, "generate", 8) != 0)
        return; /* products of integers have other peaks */
    j->flops = 2 * weights * j->tokens;
    j->bytes = bytes * j->tokens;
}

static void built_in_cost(job *j)
{
    double weights = (double)WORDS * WIDTH;
    for (int i = 0; i < MATRICES; i++)
        weights += (double)LAYERS * (double)matrices[i].rows * (double)matrices[i].columns;
    costs(j, weights, weights / BLOCK * form_of(j)->bytes);
}

bool model_opens(const char *path)
{
    decoder *d = decoder_open(path);
    decoder_close(d);
    return d != NULL;
}

static void model_cost(job *j)
{
    decoder *d = decoder_open(j->model);
    if (d && j->dims[0] > d->config.context)
        j->dims[0] = d->config.context;
    if (d)
        costs(j, weights_of(&d->config, false),
              (double)decoder_bytes(d) * weights_of(&d->config, false) /
                  weights_of(&d->config, true));
    decoder_close(d);
}

static bool language_make(job *j)
{
    language *l = heap_get(sizeof *l);
    j->state = l;
    *l = (language){0};
    if (j->model)
        l->d = decoder_open(j->model);
    else if (!model_make(j, l))
        return false;
    const int64_t n = j->dims[0];
    l->s = l->d ? session_new(l->d, n < CHECKED ? CHECKED : n) : NULL;
    if (!l->s)
        return false;
    l->ids = heap_get((size_t)(n < CHECKED ? CHECKED : n) * sizeof *l->ids);
    uint64_t state = job_key(j, 0) * 2 + 1;
    for (int64_t i = 0; i < n || i < CHECKED; i++)
        l->ids[i] = (int32_t)(draw(&state) % (uint64_t)l->d->config.vocabulary);
    return true;
}

static void language_free(void *state)
{
    language *l = state;
    session_free(l->s);
    decoder_close(l->d);
    gguf_close(l->weights);
    free(l->ids);
    free(l);
}

/* Logits after n tokens, `part` at a time; NULL on failure. */
static const float *logits_after(const language *l, int64_t n, int64_t part)
{
    const float *logits = NULL;
    session_cut(l->s, 0);
    for (int64_t i = 0; i < n; i += part)
        if (!(logits = session_add(l->s, l->ids + i, part)))
            return NULL;
    return logits;
}

static outcome prompt_run(job *j, double *aside_s, str *why)
{
    (void)aside_s, (void)why;
    return logits_after(j->state, j->dims[0], j->dims[0]) ? OUTCOME_FINE : OUTCOME_FAILED;
}

static outcome generate_run(job *j, double *aside_s, str *why)
{
    (void)aside_s, (void)why;
    return logits_after(j->state, j->dims[0], 1) ? OUTCOME_FINE : OUTCOME_FAILED;
}

/* True if the distance of the logits is small, compared with their size. */
static bool logits_near(str *why, const char *what, const float *got, const double *expected,
                        int64_t n)
{
    double differences = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        differences += (got[i] - expected[i]) * (got[i] - expected[i]);
        squares += expected[i] * expected[i];
    }
    const double distance = sqrt(differences / squares);
    if (distance <= tolerance)
        return true;
    str_printf(why, "%s: their distance from the expected ones is %.3g of their size", what,
               distance);
    return false;
}

static bool language_check(job *j, ig_array *unused, str *why)
{
    const language *l = j->state;
    const int64_t n = l->d->config.vocabulary;
    (void)unused;
    const float *at_once = logits_after(l, CHECKED, CHECKED);
    double *expected = heap_get((size_t)n * sizeof *expected);
    for (int64_t i = 0; i < n && at_once; i++)
        expected[i] = at_once[i];
    const float *one_by_one = at_once ? logits_after(l, CHECKED, 1) : NULL;
    bool fine =
        one_by_one && logits_near(why, "logits of tokens one by one", one_by_one, expected, n);
    free(expected);
    if (!fine || j->model)
        return fine;
    const float *first = logits_after(l, 1, 1);
    expected = logits_expected(l, form_of(j), l->ids[0]);
    fine = first && logits_near(why, "logits of the first token", first, expected, n);
    free(expected);
    return fine;
}

#define LANGUAGE(name, sizes, input, cost, run) \
    { \
        name, "text", sizes, "f32", input, cost, language_make, NULL, run, language_check, \
            language_free, false \
    }

const work works_language[] = {
    LANGUAGE("prompt_q8", "*128 512",
             "logits after a prompt; a model of SmolLM2-135M's shape with Q8_0 weights",
             built_in_cost, prompt_run),
    LANGUAGE("generate_q8", "*16 128",
             "tokens one by one; a model of SmolLM2-135M's shape with Q8_0 weights", built_in_cost,
             generate_run),
    LANGUAGE("prompt_q4", "*128 512",
             "logits after a prompt; a model of SmolLM2-135M's shape with Q4_0 weights",
             built_in_cost, prompt_run),
    LANGUAGE("generate_q4", "*16 128",
             "tokens one by one; a model of SmolLM2-135M's shape with Q4_0 weights", built_in_cost,
             generate_run),
    {0}};

const work works_model[] = {LANGUAGE("prompt", "*512",
                                     "logits after a prompt; the model of --model", model_cost,
                                     prompt_run),
                            LANGUAGE("generate", "*128", "tokens one by one; the model of --model",
                                     model_cost, generate_run),
                            {0}};
