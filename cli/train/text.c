/* ingot train text: see text.h. */
#include "text.h"
#include "../progress.h"
#include "base/team.h"
#include "lora.h"
#include "ranks.h"
#include "text_data.h"
#include "text_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ingot.h>

typedef struct text_training {
    const command *command;
    const char *model, *data, *test, *save, *checkpoint, *resume;
    int64_t epochs, batch, max_length, warmup;
    int64_t shards;                  /* parts of a step, see ig_shards_begin; 0: ig_step */
    double lr, decay, clip, dropout; /* dropout -1: from config.json */
    double hold;                     /* fraction of the samples held out for the test */
    uint64_t seed;
    bool all, json, quiet, divide;
    bool stopped; /* by a signal, to this rank or another */
    bool made;    /* this run created the folder of the result */
    engine_options engine;
    ig_text_model *text;
    ig_model *trained;
    ig_optimizer *optimizer;
    const ig_tokenizer *tokenizer;
    text_samples train, held_out;
    label_list labels;
    text_progress at;
    progress bar;
    double last_loss, last_accuracy, test_accuracy;
} text_training;

/* ---- learning --------------------------------------------------------------------------------- */

static ig_encoding *encode(const text_training *t, const text_samples *s, const int64_t *order,
                           int64_t n)
{
    const ig_encode_options options = {.max_length = (int)t->max_length, .pad = -1};
    ig_text *texts = heap_get((size_t)n * 2 * sizeof *texts);
    for (int64_t i = 0; i < n; i++) {
        texts[i] = s->at[order[i]].first;
        texts[n + i] = s->at[order[i]].second;
    }
    ig_encoding *all =
        ig_tokenizer_encode(t->tokenizer, texts, s->paired ? texts + n : NULL, (int)n, &options);
    free(texts);
    return all;
}

/* Logits of n samples: (n, labels). Batches are rounded up, so the extra rows are cut off. */
static ig_array *logits_of(const text_training *t, const ig_encoding *all, int64_t n)
{
    ig_array *hidden = ig_text_model_hidden(t->text, all, (int)n);
    ig_array *x = hidden ? ig_text_model_head(t->text, "classify", hidden, NULL, 0) : NULL;
    const ig_index rows = {.kind = IG_INDEX_SLICE, .start = 0, .stop = n, .step = 1};
    return x ? ig_get(x, &rows, 1) : NULL;
}

static ig_array *labels_of(const text_samples *s, const int64_t *order, int64_t n)
{
    int64_t *labels = heap_get((size_t)n * sizeof *labels);
    for (int64_t i = 0; i < n; i++)
        labels[i] = s->at[order[i]].label;
    ig_array *x = ig_from_data(labels, IG_SHAPE(n), IG_I64);
    free(labels);
    return x;
}

/* The samples of a step, or of a shard of it. */
typedef struct batch {
    ig_encoding *encoding;
    ig_array *loss, *right; /* NULL on failure */
} batch;

/* Builds the loss of n samples in a new scope, which batch_end closes. False on failure. */
static bool batch_begin(batch *b, const text_training *t, const int64_t *order, int64_t n)
{
    *b = (batch){.encoding = encode(t, &t->train, order, n)};
    if (!b->encoding || ig_scope_begin() != IG_OK) {
        ig_free(b->encoding);
        return false;
    }
    ig_array *labels = labels_of(&t->train, order, n), *logits = logits_of(t, b->encoding, n);
    b->right = logits ? count_right(logits, labels) : NULL;
    b->loss = logits ? ig_cross_entropy(logits, labels, -1, NULL) : NULL;
    return true;
}

static void batch_end(batch *b)
{
    ig_scope_end();
    ig_free(b->encoding);
}

/* Runs one training step; false on failure. */
static bool learn(const text_training *t, const int64_t *order, int64_t n, double *loss,
                  int64_t *right)
{
    batch b;
    if (!batch_begin(&b, t, order, n))
        return false;
    const bool fine =
        b.loss && b.right && ig_step(t->optimizer, t->trained, b.loss, loss, &b.right, 1) == IG_OK;
    if (fine)
        *right += ig_item_int(b.right);
    batch_end(&b);
    return fine;
}

/* The same in shards; this rank computes some of them. */
static bool learn_shards(const text_training *t, const int64_t *order, int64_t n, double *loss,
                         int64_t *right)
{
    const int64_t count = t->shards < n ? t->shards : n;
    int first, end;
    double sum = 0;
    bool fine = ig_shards_begin(t->optimizer, t->trained, (int)count, &first, &end) == IG_OK;
    for (int k = first; fine && k < end; k++) {
        const int64_t from = n * k / count, size = n * (k + 1) / count - from;
        batch b;
        if (!batch_begin(&b, t, order + from, size))
            return false;
        fine = b.loss && b.right &&
               ig_shards_add(t->optimizer, t->trained, b.loss, (double)size / (double)n, &b.right,
                             1) == IG_OK;
        batch_end(&b);
    }
    fine = fine && ig_shards_step(t->optimizer, t->trained, loss, &sum, 1) == IG_OK;
    *right += (int64_t)sum;
    return fine;
}

/* The order of the samples in an epoch. The order of epoch -1 selects the samples that are held out. */
static bool shuffle(const text_training *t, int64_t epoch, int64_t *order)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *key = ig_fold_in(ig_key(t->seed, NULL), epoch);
    ig_array *mixed = ig_permutation(key, ig_arange(0, (double)t->train.n, 1, IG_I64), 0);
    const bool fine = ig_read(mixed, order, sizeof *order * (size_t)t->train.n) == IG_OK;
    ig_scope_end();
    return fine;
}

/* Computes the accuracy on the held-out samples. */
static bool test(text_training *t)
{
    if (ig_text_model_dropout(t->text, NULL, 0) != IG_OK)
        return false;
    int64_t right = 0, order[64];
    for (int64_t first = 0; first < t->held_out.n && !ig_failed(); first += 32) {
        const int64_t n = t->held_out.n - first < 32 ? t->held_out.n - first : 32;
        for (int64_t i = 0; i < n; i++)
            order[i] = first + i;
        ig_encoding *all = encode(t, &t->held_out, order, n);
        if (!all || ig_scope_begin() != IG_OK) {
            ig_free(all);
            return false;
        }
        ig_array *logits = logits_of(t, all, n);
        if (logits)
            right += ig_item_int(count_right(logits, labels_of(&t->held_out, order, n)));
        ig_scope_end();
        ig_free(all);
    }
    t->test_accuracy = t->held_out.n ? (double)right / (double)t->held_out.n : 0;
    return !ig_failed() && ig_text_model_dropout(t->text, t->trained, t->dropout) == IG_OK;
}

/* Reports a loss that is not finite. The cause is in the folder's weights or in the training steps. */
static int fail_loss(text_training *t, int64_t epoch)
{
    if (ig_text_model_override(t->text, NULL) != IG_OK ||
        ig_text_model_check(t->text, ig_float(NAN)) == IG_ERR_FORMAT)
        return fail_library(t->command);
    ig_error(NULL); /* all weights in the folder are finite */
    say(t->command, "the loss is not finite in epoch %lld: it diverges; try a smaller --lr than %g",
        (long long)epoch + 1, t->lr);
    return EXIT_FAILED;
}

static void show_step(text_training *t, int64_t steps, double loss)
{
    char note[48], label[48];
    snprintf(note, sizeof note, "loss %.4f", loss);
    snprintf(label, sizeof label, "epoch %lld/%lld", (long long)t->at.epoch + 1,
             (long long)t->epochs);
    progress_show(&t->bar, label,
                  (double)(t->at.epoch * steps + t->at.step) / (double)(t->epochs * steps), note);
}

/* Runs the remaining steps of the epoch; returns -1, or the exit code. */
static int learn_steps(text_training *t, const int64_t *order)
{
    const int64_t n = t->train.n, steps = (n + t->batch - 1) / t->batch;
    while (t->at.step < steps && !(t->stopped = ranks_stop_asked())) {
        const int64_t first = t->at.step * t->batch,
                      count = n - first < t->batch ? n - first : t->batch;
        double loss = 0;
        if (!(t->shards ? learn_shards : learn)(t, order + first, count, &loss, &t->at.right)) {
            progress_clear();
            return fail_library(t->command);
        }
        if (!isfinite(loss)) {
            progress_clear();
            return fail_loss(t, t->at.epoch);
        }
        t->at.sum += loss * (double)count;
        t->at.step++;
        show_step(t, steps, loss);
    }
    return ig_failed() ? fail_library(t->command) : -1;
}

static int checkpoint(text_training *t, const char *settings)
{
    if (!t->checkpoint || text_state_save(t->command, t->trained, t->optimizer, settings, &t->at,
                                          t->checkpoint) == IG_OK)
        return -1;
    progress_clear();
    return fail_library(t->command);
}

/* Rank 0 tests and prints. */
static int end_epoch(text_training *t)
{
    const double n = (double)t->train.n;
    t->last_loss = t->at.sum / n;
    t->last_accuracy = (double)t->at.right / n;
    t->at = (text_progress){.epoch = t->at.epoch + 1};
    const bool last = t->at.epoch == t->epochs;
    if (t->held_out.n && ig_team_rank() == 0 && (!t->quiet || last) && !test(t))
        return fail_library(t->command);
    progress_clear();
    if (!t->quiet) {
        fprintf(stderr, "epoch %lld/%lld  loss %.4f  accuracy %.2f %%", (long long)t->at.epoch,
                (long long)t->epochs, t->last_loss, 100 * t->last_accuracy);
        fprintf(stderr, t->held_out.n ? "  test accuracy %.2f %%\n" : "\n", 100 * t->test_accuracy);
    }
    return -1;
}

static int learn_all(text_training *t, const char *settings)
{
    int64_t *order = heap_get((size_t)t->train.n * sizeof *order);
    int code = -1;
    while (t->at.epoch < t->epochs && code < 0 && !t->stopped) {
        code = shuffle(t, t->at.epoch, order) ? learn_steps(t, order) : fail_library(t->command);
        if (code < 0 && !t->stopped)
            code = end_epoch(t);
        if (code < 0)
            code = checkpoint(t, settings);
    }
    free(order);
    return code;
}

/* ---- the run ---------------------------------------------------------------------------------- */

/* Holds out a fraction of the samples, chosen with the seed. */
static int hold(text_training *t)
{
    const int64_t all = t->train.n, n = (int64_t)(t->hold * (double)all + 0.5);
    if (n < 1 || n >= all) {
        say(t->command,
            "--hold %g of %lld samples is %lld; at least 1 must be held back, and 1 stay", t->hold,
            (long long)all, (long long)n);
        return EXIT_INPUT;
    }
    int64_t *order = heap_get((size_t)all * sizeof *order);
    const bool fine = shuffle(t, -1, order);
    if (fine)
        text_samples_hold(&t->train, order, n, &t->held_out);
    free(order);
    return fine ? -1 : fail_library(t->command);
}

/* Creates the folder of the result, so that a bad name is reported before the training. */
static int save_check(text_training *t)
{
    struct stat info;
    t->made = mkdir(t->save, 0777) == 0;
    int fault = t->made ? 0 : errno;
    if (fault == EEXIST && stat(t->save, &info) == 0)
        fault = !S_ISDIR(info.st_mode) ? ENOTDIR : access(t->save, W_OK | X_OK) != 0 ? errno : 0;
    if (fault)
        say(t->command, "--save %s: it cannot be written: %s", t->save, strerror(fault));
    return fault ? EXIT_INPUT : -1;
}

/* Reports labels that no training sample has. */
static void empty_labels_say(const text_training *t)
{
    int64_t *counts = heap_get((size_t)t->labels.n * sizeof *counts);
    str names = {0};
    for (int64_t i = 0; i < t->train.n; i++)
        counts[t->train.at[i].label]++;
    for (int i = 0; i < t->labels.n; i++)
        if (counts[i] == 0)
            str_printf(&names, "%s'%.40s'", names.n ? ", " : "", t->labels.at[i]);
    if (names.n && !t->quiet)
        say(t->command, "%s: no sample to learn from has the label %s", t->data, names.s);
    str_free(&names);
    free(counts);
}

static int prepare(text_training *t)
{
    ig_text_info info = {0};
    int code = engine_apply(t->command, &t->engine);
    if (code < 0)
        code = text_samples_read(t->command, t->data, &t->labels, true, &t->train);
    if (code < 0 && ig_team_rank() == 0)
        code = save_check(t);
    if (code < 0 && t->checkpoint && ig_team_rank() == 0)
        code = write_check(t->command, "--checkpoint", t->checkpoint);
    if (code >= 0)
        return code;
    t->text = ig_text_model_load(t->model, IG_F32);
    if (!t->text || ig_text_model_info(t->text, &info) != IG_OK)
        return fail_library(t->command);
    labels_order(&t->labels, &info, &t->train);
    if (t->labels.n < 2) {
        say(t->command, "%s: there is only one label", t->data);
        return EXIT_INPUT;
    }
    if (t->test &&
        (code = text_samples_read(t->command, t->test, &t->labels, false, &t->held_out)) >= 0)
        return code;
    if (t->test && t->held_out.paired != t->train.paired) {
        say(t->command, "%s has %s in each line, and %s does not", t->test,
            t->held_out.paired ? "two texts" : "one text", t->data);
        return EXIT_INPUT;
    }
    if (t->hold > 0 && (code = hold(t)) >= 0)
        return code;
    empty_labels_say(t);
    t->tokenizer = ig_text_model_tokenizer(t->text);
    t->max_length =
        t->max_length && t->max_length < info.max_length ? t->max_length : info.max_length;
    t->lr = t->lr != 0 ? t->lr : t->all ? 2e-5 : 1e-3;
    const int64_t total = t->epochs * ((t->train.n + t->batch - 1) / t->batch);
    t->warmup = t->warmup ? t->warmup : total / 10;
    t->trained = ig_model_new(t->seed);
    t->optimizer = ig_adamw(t->lr, 0.9, 0.999, 1e-8, t->decay);
    if (!t->trained || !t->optimizer ||
        ig_text_model_train(t->text, t->trained, "classify", t->labels.n, t->all) != IG_OK ||
        ig_text_model_override(t->text, t->trained) != IG_OK ||
        (t->warmup > 0 && ig_schedule_warmup(t->optimizer, t->warmup) != IG_OK) ||
        ig_schedule_linear(t->optimizer, total > 1 ? total : 2, 0) != IG_OK ||
        ig_optimizer_clip(t->optimizer, t->clip) != IG_OK ||
        ig_optimizer_decay_ndim(t->optimizer, 2) != IG_OK ||
        ig_text_model_dropout(t->text, t->trained, t->dropout) != IG_OK)
        return fail_library(t->command);
    return -1;
}

static void result_print(const text_training *t)
{
    str out = {0};
    if (t->json) {
        str_json(&out, "{schema: 1, samples: %lld, labels: %d, loss: %.9g, accuracy: %.9g",
                 (long long)t->train.n, t->labels.n, t->last_loss, t->last_accuracy);
        if (t->held_out.n && !t->stopped)
            str_json(&out, "test_accuracy: %.9g", t->test_accuracy);
        if (t->shards)
            str_json(&out, "shards: %lld, ranks: %d", (long long)t->shards, ig_team_size());
        str_json(&out, "interrupted: %hhd}\n", t->stopped);
    } else if (t->held_out.n && !t->stopped) {
        str_printf(&out, "test accuracy %.2f %%\n", 100 * t->test_accuracy);
    }
    text_print(stdout, out.s ? out.s : "");
    str_free(&out);
}

/* The settings that decide the bits of the result. The optimizer's schedule depends on the number of epochs. */
static void settings_write(const text_training *t, str *s)
{
    str_printf(s, "samples %lld held %lld labels %d\n", (long long)t->train.n,
               (long long)t->held_out.n, t->labels.n);
    str_printf(s, "--epochs %lld\n--batch %lld\n--shards %lld\n--max-length %lld\n",
               (long long)t->epochs, (long long)t->batch, (long long)t->shards,
               (long long)t->max_length);
    str_printf(s, "--lr %a\n--warmup %lld\n--clip %a\n--decay %a\n--dropout %a\n", t->lr,
               (long long)t->warmup, t->clip, t->decay, t->dropout);
    str_printf(s, "--seed %llu\n%s\n", (unsigned long long)t->seed,
               t->all ? "--all" : "the head only");
}

/* Continues from a checkpoint, and lets the ranks divide the work. */
static int begin(text_training *t, const char *settings)
{
    int code = -1;
    if (t->resume)
        code = text_state_load(t->command, t->trained, t->optimizer, settings, &t->at, t->resume);
    return code >= 0 || !t->shards ? code
                                   : ranks_begin(t->command, t->shards, settings, t->divide,
                                                 t->quiet, t->optimizer, t->trained);
}

static int run(text_training *t)
{
    int code = prepare(t);
    if (code >= 0)
        return code;
    str settings = {0};
    settings_write(t, &settings);
    code = begin(t, settings.s);
    interrupt_watch();
    progress_begin(&t->bar, t->quiet);
    if (code < 0)
        code = learn_all(t, settings.s);
    str_free(&settings);
    progress_clear();
    if (code >= 0)
        return code;
    ig_text_model_dropout(t->text, NULL, 0);
    if (ig_team_rank() == 0 &&
        ig_text_model_save(t->text, "classify", t->labels.at, t->labels.n, t->save) != IG_OK)
        return fail_library(t->command);
    result_print(t);
    if (t->stopped)
        say(t->command, "interrupted; %s has the weights so far%s%s", t->save,
            t->checkpoint ? "; continue with --resume " : "", t->checkpoint ? t->checkpoint : "");
    return t->stopped ? EXIT_INTERRUPTED : EXIT_FINE;
}

int train_text(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--lora", 6) == 0)
            return train_lora(argc, argv);
    text_training t = {.epochs = 3, .batch = 16, .decay = 0.01, .clip = 1, .dropout = -1};
    const option options[] = {
        {"--model", 'm', "DIR", option_text, &t.model, "the model folder to start from"},
        {"--data", 0, "FILE", option_text, &t.data, "the samples: TSV, or .csv, or .jsonl"},
        {"--test", 0, "FILE", option_text, &t.test, "samples to test the result with"},
        {"--hold", 0, "SHARE", option_share, &t.hold,
         "holds back this share of the samples to test with"},
        {"--save", 0, "DIR", option_text, &t.save, "the model folder that is written"},
        {"--checkpoint", 0, "FILE", option_text, &t.checkpoint,
         "writes a checkpoint after each epoch"},
        {"--resume", 0, "FILE", option_text, &t.resume, "continues from a checkpoint"},
        FLAG("--all", &t.all, "trains the whole model, not only the head"),
        {"--epochs", 0, "N", option_count, &t.epochs, "passes over the data (3)"},
        {"--batch", 0, "N", option_count, &t.batch, "samples in a step (16)"},
        {"--lr", 0, "RATE", option_rate, &t.lr, "the learning rate (0.001; with --all 0.00002)"},
        {"--warmup", 0, "N", option_count, &t.warmup, "steps until the full rate (a tenth of all)"},
        {"--clip", 0, "NORM", option_rate, &t.clip, "the largest norm of the gradient (1)"},
        {"--decay", 0, "SHARE", option_share, &t.decay,
         "the weight decay of matrices, not of biases and norms (0.01)"},
        {"--dropout", 0, "P", option_share, &t.dropout,
         "the probability of all dropout, 0 for none (as config.json says)"},
        {"--max-length", 0, "N", option_count, &t.max_length, "the most tokens of a text"},
        {"--seed", 0, "N", option_seed, &t.seed, "the seed of all random numbers (0)"},
        {"--shards", 0, "N", option_count, &t.shards,
         "divides each step into N parts, for the ranks of mpirun (mpirun: 8)"},
        FLAG("--divide", &t.divide, "each rank of mpirun keeps only its part of the parameters"),
        FLAG("--json", &t.json, "prints JSON, schema 1"),
        FLAG("--quiet", &t.quiet, "prints nothing while it trains"),
        ENGINE_OPTIONS(t.engine),
        {0}};
    const command c = {
        "train text", "--model DIR --data FILE --save DIR [options]",
        "Trains a classification head on an encoder, or the whole model with --all, with AdamW,\n"
        "warm-up and gradient clipping. Lines of the data are TEXT<tab>LABEL, or for pairs\n"
        "TEXT<tab>TEXT<tab>LABEL. A file .csv has commas and quotes, and .jsonl an object in each\n"
        "line. A header, or the keys, may name the columns: 'label', and one or two others. The\n"
        "result is a model folder for 'ingot classify' and for the Python package transformers.\n"
        "Ctrl-C stops after the current step and saves.\n\n"
        "mpirun -n 4 ingot train text ... divides the parts of each step (--shards) among 4\n"
        "processes. Results and checkpoints have the same bits for every number of processes.\n\n"
        "With --lora N it trains adapters of a model that generates text instead; see\n"
        "'ingot train text --lora 8 --help'.\n\n"
        "  ingot train text --model DIR --data train.tsv --save OUT --all",
        options};
    t.command = &c;
    int code = options_read(&c, &argc, argv);
    if (code < 0 && (argc || !t.model || !t.data || !t.save)) {
        say(&c, "%s; see 'ingot train text --help'",
            argc ? "it takes options only" : "--model, --data and --save are needed");
        code = EXIT_USAGE;
    }
    if (code < 0 && t.test && t.hold > 0) {
        say(&c, "give --test or --hold, not both; see 'ingot train text --help'");
        code = EXIT_USAGE;
    }
    t.quiet |= ig_team_rank() > 0;
    if (!t.shards && team_is_started())
        t.shards = RANKS_SHARDS;
    ig_team_share(false); /* ranks evaluate different samples */
    if (code < 0)
        code = run(&t);
    if (t.made && code != EXIT_FINE)
        rmdir(t.save); /* removes it only if it is empty */
    ig_optimizer_free(t.optimizer);
    ig_model_free(t.trained);
    ig_text_model_free(t.text);
    text_samples_free(&t.train);
    text_samples_free(&t.held_out);
    free(t.labels.at);
    return code;
}
