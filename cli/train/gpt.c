/* ingot train gpt: see gpt.h. A run is a function of its settings and its data: windows of tokens in an order drawn from
 * the seed, so that a run which continues has the bits of one that was never stopped. */
#include "gpt.h"

#include "../progress.h"
#include "base/team.h"
#include "gpt_log.h"
#include "gpt_net.h"
#include "gpt_sample.h"
#include "ranks.h"
#include "text_state.h"
#include "token_data.h"

#include "lib/decoder/decoder.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct gpt_training {
    const command *command;
    const char *config, *data, *tokenizer_path, *model, *save, *log, *dtype, *prompt;
    int64_t batch, accumulate, steps, epochs, warmup, every, save_every, samples, vocabulary;
    int64_t patience; /* tests in sequence that may be worse than the best; 0: any number */
    double lr, last, decay, clip, hold;
    uint64_t seed;
    bool resume, quiet, json;
    bool stopped;
    engine_options engine;
    gpt_config net;
    token_data tokens;
    ig_tokenizer *tokenizer;
    ig_model *trained;
    ig_optimizer *optimizer;
    gpt_log lines;
    int64_t windows, held; /* of the file; held: at its end, for tests */
    int64_t epoch_steps;   /* steps of a pass over the windows */
    int64_t epoch;         /* of `order`; -1: none */
    int64_t *order;
    int32_t *ids;  /* of a batch */
    int64_t begun; /* the step that this run began with */
    double loss, test_loss;
    double best;   /* the least loss of a test, if there was one */
    int64_t since; /* tests since the best, and that one; 0: there was none */
} gpt_training;

/* ---- data ------------------------------------------------------------------------------------ */

/* The order of the windows in an epoch. */
static bool shuffle(gpt_training *t, int64_t epoch)
{
    if (t->epoch == epoch)
        return true;
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *key = ig_fold_in(ig_key(t->seed, NULL), epoch);
    ig_array *mixed = ig_permutation(key, ig_arange(0, (double)t->windows, 1, IG_I64), 0);
    const bool fine = ig_read(mixed, t->order, sizeof *t->order * (size_t)t->windows) == IG_OK;
    ig_scope_end();
    t->epoch = fine ? epoch : -1;
    return fine;
}

/* n windows of length + 1 tokens; NULL after a message, or on failure of the library. */
static ig_array *windows_read(gpt_training *t, const int64_t *list, int64_t n)
{
    const int64_t length = t->net.length;
    for (int64_t i = 0; i < n; i++)
        if (!token_data_read(t->command, &t->tokens, list[i] * length, length + 1, t->net.words,
                             t->ids + i * (length + 1)))
            return NULL;
    return ig_from_data(t->ids, IG_SHAPE(n, length + 1), IG_I32);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* One part of a step: a batch. `reads`: the loss is needed. */
static bool learn_part(gpt_training *t, const int64_t *list, bool last, double *sum, bool reads)
{
    double value = 0, *const out = reads ? &value : NULL;
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *ids = windows_read(t, list, t->batch);
    ig_array *loss = ids ? gpt_loss(t->trained, &t->net, ids) : NULL;
    if (t->accumulate > 1)
        loss = ig_divide(loss, ig_float((double)t->accumulate));
    const bool fine = loss && (last ? ig_step : ig_step_add)(t->optimizer, t->trained, loss, out,
                                                             NULL, 0) == IG_OK;
    ig_scope_end();
    *sum += value;
    return fine;
}

static bool learn(gpt_training *t, const int64_t *list, double *loss, bool reads)
{
    bool fine = true;
    for (int64_t k = 0; k < t->accumulate && fine; k++)
        fine = learn_part(t, list + k * t->batch, k + 1 == t->accumulate, loss, reads);
    return fine;
}

/* The same under mpirun: the ranks divide the parts. */
static bool learn_shards(gpt_training *t, const int64_t *list, double *loss)
{
    int first, end;
    const int count = (int)t->accumulate;
    bool fine = ig_shards_begin(t->optimizer, t->trained, count, &first, &end) == IG_OK;
    for (int k = first; k < end && fine; k++) {
        if (ig_scope_begin() != IG_OK)
            return false;
        ig_array *ids = windows_read(t, list + k * t->batch, t->batch);
        fine = ids && ig_shards_add(t->optimizer, t->trained, gpt_loss(t->trained, &t->net, ids),
                                    1.0 / count, NULL, 0) == IG_OK;
        ig_scope_end();
    }
    return fine && ig_shards_step(t->optimizer, t->trained, loss, NULL, 0) == IG_OK;
}

/* The mean loss of the held-out windows. */
static bool test(gpt_training *t)
{
    double sum = 0;
    bool fine = true;
    ig_model_train(t->trained, false);
    for (int64_t i = 0; i < t->held && fine; i++) {
        const int64_t window = t->windows + i;
        if (ig_scope_begin() != IG_OK)
            return false;
        ig_array *ids = windows_read(t, &window, 1);
        fine = ids != NULL;
        sum += fine ? ig_item(gpt_loss(t->trained, &t->net, ids)) : 0;
        ig_scope_end();
    }
    ig_model_train(t->trained, true);
    t->test_loss = sum / (double)t->held;
    return fine && !ig_failed();
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *path_in(const gpt_training *t, const char *name, char path[4096])
{
    snprintf(path, 4096, "%s/%s", t->save, name);
    return path;
}

/* The settings that decide the bits of the result. */
static void settings_write(const gpt_training *t, str *s)
{
    const gpt_config *g = &t->net;
    str_printf(s, "layers %lld heads %lld width %lld length %lld\n", (long long)g->layers,
               (long long)g->heads, (long long)g->width, (long long)g->length);
    str_printf(s, "--vocabulary %lld\n--dropout %a\n", (long long)g->words, g->dropout);
    str_printf(s, "tokens %lld\n--hold %a\n", (long long)t->tokens.n, t->hold);
    str_printf(s, "--dtype %s\n--batch %lld\n--accumulate %lld\n", t->dtype, (long long)t->batch,
               (long long)t->accumulate);
    str_printf(s, "--steps %lld\n--lr %a\n--last %a\n--warmup %lld\n", (long long)t->steps, t->lr,
               t->last, (long long)t->warmup);
    str_printf(s, "--decay %a\n--clip %a\n--seed %llu\n", t->decay, t->clip,
               (unsigned long long)t->seed);
    if (t->patience)
        str_printf(s, "--patience %lld\n--save-every %lld\n", (long long)t->patience,
                   (long long)t->save_every);
}

/* Writes the model folder if `model`, and then the checkpoint. All ranks call it. */
static bool save(gpt_training *t, const char *settings, int64_t step, bool model)
{
    char path[4096];
    const text_progress at = {.epoch = step / t->epoch_steps,
                              .step = step % t->epoch_steps,
                              .sum = t->best,
                              .right = t->since};
    if (!t->save)
        return true;
    if (ig_team_rank() == 0 && model && gpt_save(t->trained, &t->net, t->save) != IG_OK)
        return false;
    return text_state_save(t->command, t->trained, t->optimizer, settings, &at,
                           path_in(t, "checkpoint.safetensors", path)) == IG_OK;
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
        status = ig_write_file(path_in(t, "tokenizer.json", path), out.s, out.n);
    str_free(&out);
    free(from);
    return status;
}

/* Creates the folder of the result, so that a bad name is reported before the training. */
static int save_begin(const gpt_training *t)
{
    char path[4096];
    struct stat info;
    if (!t->save || ig_team_rank() > 0)
        return -1;
    if (mkdir(t->save, 0777) != 0 && errno != EEXIST) {
        say(t->command, "--save %s: it cannot be written: %s", t->save, strerror(errno));
        return EXIT_INPUT;
    }
    const bool exists = stat(path_in(t, "checkpoint.safetensors", path), &info) == 0;
    if (exists != t->resume) {
        say(t->command,
            exists ? "--save %s: it has a checkpoint; give --resume to continue, or another folder"
                   : "--resume: %s has no checkpoint.safetensors",
            t->save);
        return EXIT_INPUT;
    }
    return tokenizer_save(t) == IG_OK ? -1 : fail_library(t->command);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The library's error, or that of a message which was shown. */
static int failed(const gpt_training *t)
{
    return ig_failed() ? fail_library(t->command) : EXIT_INPUT;
}

static int diverged(const gpt_training *t, int64_t step)
{
    say(t->command, "the loss is not finite in step %lld: it diverges; try a smaller --lr than %g",
        (long long)step, t->lr);
    return EXIT_FAILED;
}

/* After a step: lines, tests, samples and checkpoints that are due. */
static int report(gpt_training *t, const char *settings, int64_t step)
{
    const bool last = step == t->steps || t->stopped, saves = last || step % t->save_every == 0;
    if (step % t->every == 0 || last) {
        if (!isfinite(t->loss))
            return diverged(t, step);
        gpt_log_step(&t->lines, step, t->steps, t->loss, ig_optimizer_rate(t->optimizer));
    }
    if (!saves)
        return -1;
    /* With --patience all ranks test, so that all stop. A test of an interrupted run does not count, as the run that continues
     * does not make it. */
    bool keeps = !t->since; /* the model, but not in place of a better one */
    const bool tests = t->held && (t->patience || ig_team_rank() == 0);
    if (tests && !test(t))
        return failed(t);
    if (tests && ig_team_rank() == 0)
        gpt_log_test(&t->lines, step, t->test_loss);
    if (t->patience && (step == t->steps || step % t->save_every == 0)) {
        const bool better = !t->since || t->test_loss < t->best;
        t->best = better ? t->test_loss : t->best;
        t->since = better ? 1 : t->since + 1;
        keeps = better;
    }
    if (!save(t, settings, step, keeps))
        return failed(t);
    if (t->samples && t->save && ig_team_rank() == 0 && !t->stopped)
        return gpt_sample_print(t->command, t->save, t->prompt, t->samples, t->seed);
    return -1;
}

/* True if the held-out loss has not fallen for --patience tests. */
static bool is_enough(const gpt_training *t) { return t->patience && t->since > t->patience; }

static int learn_all(gpt_training *t, const char *settings, int64_t step)
{
    const int64_t each = t->batch * t->accumulate;
    int code = -1;
    t->begun = t->lines.begin_step = step;
    while (step < t->steps && code < 0 && !t->stopped && !is_enough(t)) {
        const int64_t *list = t->order + step % t->epoch_steps * each;
        if (!shuffle(t, step / t->epoch_steps))
            return failed(t);
        const bool reads = (step + 1) % t->every == 0 || step + 1 == t->steps;
        double loss = 0;
        if (!(team_is_started() ? learn_shards(t, list, &loss) : learn(t, list, &loss, reads)))
            return failed(t);
        t->loss = reads || team_is_started() ? loss : t->loss;
        step++;
        t->stopped = step < t->steps && ranks_stop_asked();
        code = report(t, settings, step);
    }
    return code;
}

static int data_open(gpt_training *t)
{
    const command *c = t->command;
    if (t->tokenizer_path && !(t->tokenizer = ig_tokenizer_load(t->tokenizer_path)))
        return fail_library(c);
    int code = token_data_open(c, &t->tokens, t->data, t->tokenizer);
    if (code >= 0)
        return code;
    const int64_t words = t->tokens.words ? t->tokens.words
                          : t->tokenizer  ? ig_tokenizer_count(t->tokenizer)
                                          : 50304;
    t->net.words = t->vocabulary ? t->vocabulary : (words + 63) / 64 * 64;
    const int64_t all = t->tokens.n > 0 ? (t->tokens.n - 1) / t->net.length : 0;
    t->held = (int64_t)ceil(t->hold * (double)all);
    t->windows = all - t->held;
    t->epoch_steps = t->windows / (t->batch * t->accumulate);
    if (t->epoch_steps < 1) {
        say(c,
            "%s: its %lld tokens are %lld windows of %lld, fewer than a step has (%lld); give a "
            "smaller --batch, "
            "--accumulate or length",
            t->data, (long long)t->tokens.n, (long long)t->windows, (long long)t->net.length,
            (long long)(t->batch * t->accumulate));
        return EXIT_INPUT;
    }
    t->steps = t->steps ? t->steps : t->epochs * t->epoch_steps;
    t->warmup = t->warmup ? t->warmup : t->steps / 20 + 1;
    t->order = heap_get((size_t)t->windows * sizeof *t->order);
    t->ids = heap_get((size_t)(t->batch * (t->net.length + 1)) * sizeof *t->ids);
    return -1;
}

/* Makes the parameters by a call without an evaluation. */
static bool parameters_make(gpt_training *t)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    const bool fine =
        gpt_logits(t->trained, &t->net, ig_zeros(IG_SHAPE(1, t->net.length), IG_I32)) != NULL;
    ig_scope_end();
    ig_model_train(t->trained, true);
    return fine;
}

static int prepare(gpt_training *t)
{
    str why = {0};
    if (!gpt_config_read(&t->net, t->config, &why)) {
        say(t->command, "--config %s: %s", t->config, why.s);
        str_free(&why);
        return EXIT_USAGE;
    }
    int code = engine_apply(t->command, &t->engine);
    if (code < 0)
        code = data_open(t);
    if (code < 0)
        code = save_begin(t);
    if (code >= 0)
        return code;
    t->trained = ig_model_new(t->seed);
    t->optimizer = ig_adamw(t->lr, 0.9, 0.95, 1e-8, t->decay);
    const ig_dtype dtype = strcmp(t->dtype, "bf16") == 0 ? IG_BF16 : IG_F32;
    if (!t->trained || !t->optimizer || ig_model_mixed(t->trained, dtype) != IG_OK ||
        ig_schedule_warmup(t->optimizer, t->warmup) != IG_OK ||
        ig_schedule_cosine(t->optimizer, t->steps > 1 ? t->steps : 2, t->last) != IG_OK ||
        ig_optimizer_clip(t->optimizer, t->clip) != IG_OK ||
        ig_optimizer_decay_ndim(t->optimizer, 2) != IG_OK || !parameters_make(t) ||
        (t->model && gpt_load(t->trained, t->model) != IG_OK))
        return fail_library(t->command);
    t->lines.tokens = (double)(t->batch * t->accumulate * t->net.length);
    t->lines.flops = t->lines.tokens * gpt_flops(t->trained, &t->net);
    t->lines.quiet = t->quiet;
    return gpt_log_open(t->command, &t->lines, ig_team_rank() == 0 ? t->log : NULL, t->resume,
                        dtype);
}

static int run_with(gpt_training *t, const char *settings)
{
    char path[4096];
    text_progress at = {0};
    int code = -1;
    if (t->resume)
        code = text_state_load(t->command, t->trained, t->optimizer, settings, &at,
                               path_in(t, "checkpoint.safetensors", path));
    t->best = at.sum;
    t->since = at.right;
    if (code < 0 && team_is_started())
        code = ranks_begin(t->command, t->accumulate, settings, false, t->quiet, t->optimizer,
                           t->trained);
    interrupt_watch();
    return code < 0 ? learn_all(t, settings, at.epoch * t->epoch_steps + at.step) : code;
}

static void result_print(const gpt_training *t)
{
    str out = {0};
    if (!t->json)
        return;
    str_json(&out, "{schema: 1, tokens: %lld, steps: %lld", (long long)t->tokens.n,
             (long long)ig_optimizer_steps(t->optimizer));
    if (t->lines.begin_step > t->begun) /* there was a step */
        str_json(&out, "loss: %.9g", t->loss);
    if (t->held && t->lines.begin_step > t->begun)
        str_json(&out, "test_loss: %.9g", t->test_loss);
    str_json(&out, "interrupted: %hhd}\n", t->stopped);
    text_print(stdout, out.s);
    str_free(&out);
}

static int run(gpt_training *t)
{
    int code = prepare(t);
    if (code >= 0)
        return code;
    str settings = {0};
    settings_write(t, &settings);
    code = run_with(t, settings.s);
    str_free(&settings);
    if (code >= 0)
        return code;
    if (is_enough(t) && !t->quiet)
        say(t->command, "stopped: the last %lld losses on held-out tokens are not below %.4f",
            (long long)t->patience, t->best);
    if (ig_team_rank() == 0)
        result_print(t);
    if (t->stopped && !t->quiet)
        say(t->command, "interrupted%s%s",
            t->save ? "; continue with --resume --save " : "; nothing was saved (--save)",
            t->save ? t->save : "");
    return t->stopped ? EXIT_INTERRUPTED : EXIT_FINE;
}

static bool option_float_dtype(const char *s, void *place)
{
    *(const char **)place = s;
    return strcmp(s, "f32") == 0 || strcmp(s, "bf16") == 0;
}

int train_gpt(int argc, char **argv)
{
    gpt_training t = {.config = "124M",
                      .dtype = "f32",
                      .prompt = "\n",
                      .batch = 8,
                      .accumulate = 1,
                      .epochs = 1,
                      .every = 10,
                      .save_every = 1000,
                      .lr = 6e-4,
                      .last = 0.1,
                      .decay = 0.1,
                      .clip = 1,
                      .epoch = -1,
                      .tokens = {.file = -1}};
    const option options[] = {
        {"--config", 0, "SIZES", option_text, &t.config,
         "124M, 350M, 774M, 1558M, or layers=2,heads=2,width=64,length=64 (124M)"},
        {"--data", 0, "FILE", option_text, &t.data,
         "the tokens: .bin, .npy, a Zarr folder, or a text"},
        {"--tokenizer", 0, "DIR", option_text, &t.tokenizer_path,
         "the tokenizer of a text (its bytes are the tokens)"},
        {"--vocabulary", 0, "N", option_count, &t.vocabulary,
         "words of the model (the tokenizer's, rounded up; 50304)"},
        {"--save", 0, "DIR", option_text, &t.save,
         "the folder that gets the model and a checkpoint"},
        {"--save-every", 0, "N", option_count, &t.save_every, "steps between checkpoints (1000)"},
        FLAG("--resume", &t.resume, "continues from the checkpoint in --save"),
        {"--model", 'm', "DIR", option_text, &t.model, "starts with the weights of this folder"},
        {"--dtype", 0, "f32|bf16", option_float_dtype, &t.dtype,
         "the dtype of the computation; parameters are f32 (f32)"},
        {"--batch", 0, "N", option_count, &t.batch, "windows in memory at once (8)"},
        {"--accumulate", 0, "N", option_count, &t.accumulate,
         "batches of a step, which mpirun divides among its ranks (1)"},
        {"--steps", 0, "N", option_count, &t.steps, "steps of the run (one epoch)"},
        {"--epochs", 0, "N", option_count, &t.epochs, "passes over the data, without --steps (1)"},
        {"--lr", 0, "RATE", option_rate, &t.lr, "the largest learning rate (0.0006)"},
        {"--last", 0, "SHARE", option_share, &t.last,
         "the share of it at the end of its cosine (0.1)"},
        {"--warmup", 0, "N", option_count, &t.warmup, "steps until it (a twentieth of all)"},
        {"--clip", 0, "NORM", option_rate, &t.clip, "the largest norm of the gradient (1)"},
        {"--decay", 0, "SHARE", option_share, &t.decay, "the weight decay of matrices (0.1)"},
        {"--dropout", 0, "P", option_share, &t.net.dropout, "the probability of dropout (0)"},
        {"--hold", 0, "SHARE", option_share, &t.hold,
         "holds back the end of the data, to test with at each checkpoint"},
        {"--patience", 0, "N", option_count, &t.patience,
         "stops after N such tests in sequence without a better loss, and saves the best model"},
        {"--seed", 0, "N", option_seed, &t.seed, "the seed of all random numbers (0)"},
        {"--log", 0, "FILE", option_text, &t.log, "adds a JSON object in a line for each report"},
        {"--log-every", 0, "N", option_count, &t.every, "steps between reports (10)"},
        {"--samples", 0, "N", option_count, &t.samples,
         "prints a text of N tokens at each checkpoint"},
        {"--prompt", 0, "TEXT", option_text, &t.prompt, "the start of that text (a new line)"},
        FLAG("--json", &t.json, "prints JSON, schema 1"),
        FLAG("--quiet", &t.quiet, "prints nothing while it trains"),
        ENGINE_OPTIONS(t.engine),
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
    t.command = &c;
    int code = options_read(&c, &argc, argv);
    if (code < 0 && (argc || !t.data || (t.resume && !t.save) || (t.patience && t.hold <= 0))) {
        say(&c, "%s; see 'ingot train gpt --help'",
            argc      ? "it takes options only"
            : !t.data ? "--data is needed"
            : t.resume && !t.save
                ? "--resume needs --save, whose checkpoint it continues"
                : "--patience needs --hold, the share of the data that tests read");
        code = EXIT_USAGE;
    }
    t.quiet |= ig_team_rank() > 0;
    ig_team_share(false); /* ranks evaluate different batches */
    if (code < 0)
        code = run(&t);
    gpt_log_close(&t.lines);
    ig_optimizer_free(t.optimizer);
    ig_model_free(t.trained);
    ig_tokenizer_free(t.tokenizer);
    token_data_close(&t.tokens);
    free(t.order);
    free(t.ids);
    return code;
}
