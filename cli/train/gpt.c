/* ingot train gpt: see gpt.h. The samples are windows of tokens. */
#include "gpt.h"

#include "gpt_net.h"
#include "gpt_sample.h"
#include "loop.h"
#include "token_data.h"

#include "lib/decoder/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct gpt_training {
    train_loop loop;
    const char *config, *data, *tokenizer_path, *prompt;
    int64_t shown, vocabulary; /* shown: tokens of a text at each checkpoint */
    gpt_config net;
    token_data tokens;
    ig_tokenizer *tokenizer;
    int32_t *ids; /* of a batch */
} gpt_training;

/* ---- data and loss --------------------------------------------------------------------------- */

/* n windows of length + 1 tokens; NULL after a message, or on failure of the library. */
static ig_array *windows_read(gpt_training *t, const int64_t *list, int64_t n)
{
    const int64_t length = t->net.length;
    for (int64_t i = 0; i < n; i++)
        if (!token_data_read(t->loop.command, &t->tokens, list[i] * length, length + 1,
                             t->net.words, t->ids + i * (length + 1)))
            return NULL;
    return ig_from_data(t->ids, IG_SHAPE(n, length + 1), IG_I32);
}

static ig_array *gpt_batch_loss(void *at, const loop_batch *b)
{
    gpt_training *t = at;
    ig_array *ids = windows_read(t, b->list, b->n);
    return ids ? gpt_loss(t->loop.net, &t->net, ids) : NULL;
}

/* The mean loss of the held-out windows. */
static bool gpt_test(void *at, loop_score *score)
{
    gpt_training *t = at;
    double sum = 0;
    bool fine = true;
    for (int64_t i = 0; i < t->loop.held && fine; i++) {
        const int64_t window = t->loop.samples + i;
        if (ig_scope_begin() != IG_OK)
            return false;
        ig_array *ids = windows_read(t, &window, 1);
        fine = ids != NULL;
        sum += fine ? ig_item(gpt_loss(t->loop.net, &t->net, ids)) : 0;
        ig_scope_end();
    }
    *score = (loop_score){sum / (double)t->loop.held, -1};
    return fine;
}

static int gpt_open(void *at)
{
    gpt_training *t = at;
    train_loop *l = &t->loop;
    const command *c = l->command;
    str why = {0};
    if (!gpt_config_read(&t->net, t->config, &why)) {
        say(c, "--config %s: %s", t->config, why.s);
        str_free(&why);
        return EXIT_USAGE;
    }
    if (t->tokenizer_path && !(t->tokenizer = ig_tokenizer_load(t->tokenizer_path)))
        return fail_library(c);
    const int code = token_data_open(c, &t->tokens, t->data, t->tokenizer);
    if (code >= 0)
        return code;
    const int64_t words = t->tokens.words ? t->tokens.words
                          : t->tokenizer  ? ig_tokenizer_count(t->tokenizer)
                                          : 50304;
    t->net.words = t->vocabulary ? t->vocabulary : (words + 63) / 64 * 64;
    const int64_t all = t->tokens.n > 0 ? (t->tokens.n - 1) / t->net.length : 0;
    l->held = (int64_t)ceil(l->hold * (double)all);
    l->samples = all - l->held;
    l->units = t->tokens.n;
    l->units_each = (double)t->net.length;
    t->ids = heap_get((size_t)(l->batch * (t->net.length + 1)) * sizeof *t->ids);
    return -1;
}

/* ---- the model ------------------------------------------------------------------------------- */

static ig_optimizer *gpt_optimizer(void *at)
{
    const gpt_training *t = at;
    return ig_adamw(t->loop.lr, 0.9, 0.95, 1e-8, t->loop.decay);
}

/* Makes the parameters by a call without an evaluation. */
static ig_status gpt_build(void *at)
{
    gpt_training *t = at;
    train_loop *l = &t->loop;
    ig_status status = ig_scope_begin();
    if (status != IG_OK)
        return status;
    if (!gpt_logits(l->net, &t->net, ig_zeros(IG_SHAPE(1, t->net.length), IG_I32)))
        status = IG_ERR_ARGUMENT;
    ig_scope_end();
    if (status == IG_OK && l->model)
        status = gpt_load(l->net, l->model);
    l->flops = (double)t->net.length * gpt_flops(l->net, &t->net);
    return status;
}

static void gpt_settings(void *at, str *s)
{
    const gpt_training *t = at;
    const gpt_config *g = &t->net;
    str_printf(s, "layers %lld heads %lld width %lld length %lld\n", (long long)g->layers,
               (long long)g->heads, (long long)g->width, (long long)g->length);
    str_printf(s, "--vocabulary %lld\n--dropout %a\n", (long long)g->words, g->dropout);
    str_printf(s, "tokens %lld\n--hold %a\n", (long long)t->tokens.n, t->loop.hold);
}

/* Copies the tokenizer.json into the model folder. Tokenizers in other files are not copied. */
static ig_status tokenizer_save(const gpt_training *t)
{
    char path[4096], *from = NULL;
    size_t bytes = 0;
    str out = {0};
    if (t->tokens.is_bytes)
        token_data_bytes_json(&out);
    snprintf(path, sizeof path, "%s%s", t->tokenizer ? t->tokenizer_path : "",
             t->tokenizer && str_ends(t->tokenizer_path, ".json") ? "" : "/tokenizer.json");
    ig_status status = t->tokenizer ? file_read_whole(path, true, &from, &bytes) : IG_OK;
    if (from)
        str_add(&out, from, bytes);
    if (status == IG_OK && out.n)
        status = ig_write_file(loop_path(&t->loop, "tokenizer.json", path), out.s, out.n);
    str_free(&out);
    free(from);
    return status;
}

static ig_status gpt_write(void *at, const char *folder)
{
    const gpt_training *t = at;
    const ig_status status = tokenizer_save(t);
    return status == IG_OK ? gpt_save(t->loop.net, &t->net, folder) : status;
}

static int gpt_sample(void *at)
{
    const gpt_training *t = at;
    return t->shown
               ? gpt_sample_print(t->loop.command, t->loop.save, t->prompt, t->shown, t->loop.seed)
               : -1;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static const loop_task gpt_task = {.unit = "tokens",
                                   .open = gpt_open,
                                   .build = gpt_build,
                                   .optimizer = gpt_optimizer,
                                   .settings = gpt_settings,
                                   .loss = gpt_batch_loss,
                                   .test = gpt_test,
                                   .save = gpt_write,
                                   .sample = gpt_sample};

int train_gpt(int argc, char **argv)
{
    gpt_training t = {.config = "124M",
                      .prompt = "\n",
                      .tokens = {.file = -1},
                      .loop = {LOOP_DEFAULTS, .task = &gpt_task, .batch = 8, .epochs = 1,
                               .lr = 6e-4, .last = 0.1, .decay = 0.1, .clip = 1}};
    train_loop *l = &t.loop;
    const option options[] = {
        {"--config", 0, "SIZES", option_text, &t.config,
         "124M, 350M, 774M, 1558M, or layers=2,heads=2,width=64,length=64 (124M)"},
        {"--data", 0, "FILE", option_text, &t.data,
         "the tokens: .bin, .npy, a Zarr folder, or a text"},
        {"--tokenizer", 0, "DIR", option_text, &t.tokenizer_path,
         "the tokenizer of a text (its bytes are the tokens)"},
        {"--vocabulary", 0, "N", option_count, &t.vocabulary,
         "words of the model (the tokenizer's, rounded up; 50304)"},
        {"--model", 'm', "DIR", option_text, &l->model, "starts with the weights of this folder"},
        {"--batch", 0, "N", option_count, &l->batch, "windows in memory at once (8)"},
        {"--epochs", 0, "N", option_count, &l->epochs, "passes over the data, without --steps (1)"},
        {"--lr", 0, "RATE", option_rate, &l->lr, "the largest learning rate (0.0006)"},
        {"--last", 0, "SHARE", option_share, &l->last,
         "the share of it at the end of its cosine (0.1)"},
        {"--clip", 0, "NORM", option_rate, &l->clip, "the largest norm of the gradient (1)"},
        {"--decay", 0, "SHARE", option_share, &l->decay, "the weight decay of matrices (0.1)"},
        {"--dropout", 0, "P", option_share, &t.net.dropout, "the probability of dropout (0)"},
        {"--hold", 0, "SHARE", option_share, &l->hold,
         "holds back the end of the data, to test with at each checkpoint"},
        {"--samples", 0, "N", option_count, &t.shown,
         "prints a text of N tokens at each checkpoint"},
        {"--prompt", 0, "TEXT", option_text, &t.prompt, "the start of that text (a new line)"},
        LOOP_OPTIONS(t.loop),
        {0}};
    const command c = {
        "train gpt", "--data FILE [options]",
        "Trains a GPT-2 from the start, or goes on with one (--model), with AdamW, warm-up, a "
        "cosine\n"
        "and gradient clipping. The data are token files (llm.c's .bin, .npy, Zarr) or a text.\n"
        "With --dtype bf16, parameters and the optimizer's state stay f32. The folder of --save "
        "has\n"
        "config.json and model.safetensors with the names of the Python package transformers,\n"
        "'ingot generate' reads it, too, and a checkpoint, which --resume continues to the bit.\n"
        "Ctrl-C stops after the current step and saves.\n\n"
        "mpirun -n 4 ingot train gpt --accumulate 8 ... divides the 8 batches of a step among 4\n"
        "processes. Results have the same bits for every number of processes.\n\n"
        "  ingot train gpt --config 124M --data tokens.bin --dtype bf16 --batch 16 --save run",
        options};
    l->command = &c;
    l->at = &t;
    int code = options_read(&c, &argc, argv);
    if (code < 0 && (argc || !t.data || (l->resume && !l->save) || (l->patience && l->hold <= 0))) {
        say(&c, "%s; see 'ingot train gpt --help'",
            argc      ? "it takes options only"
            : !t.data ? "--data is needed"
            : l->resume && !l->save
                ? "--resume needs --save, whose checkpoint it continues"
                : "--patience needs --hold, the share of the data that tests read");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = loop_run(l);
    loop_free(l);
    ig_tokenizer_free(t.tokenizer);
    token_data_close(&t.tokens);
    free(t.ids);
    return code;
}
