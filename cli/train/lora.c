/* ingot train text --lora N: trains low-rank adapters of a model that generates text, to predict the next token of a text. The
 * model's own weights stay as they are, quantized or not. A run is a function of its settings and its data. */
#include "lora.h"

#include "../progress.h"
#include "base/memory.h"
#include "base/team.h"
#include "text_state.h"

#include "lib/decoder/lora.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct lora_training {
    const command *command;
    const char *model, *data, *save, *from, *checkpoint, *resume;
    lora_settings how;
    int64_t epochs, batch, length, warmup;
    double lr, decay, clip, hold;
    uint64_t seed;
    bool json, quiet, stopped;
    engine_options engine;
    decoder *d;
    tokens_of *tokens;
    ig_model *trained;
    ig_optimizer *optimizer;
    int32_t *ids, *batch_ids; /* of the data, and of the windows of a step */
    int64_t *order;
    int64_t n_ids, windows, held; /* held: windows at the end, for tests */
    text_progress at;
    progress bar;
    double test_loss;
    str losses; /* of the epochs, as JSON */
} lora_training;

static int64_t steps_of(const lora_training *t) { return (t->windows + t->batch - 1) / t->batch; }

/* ---- steps ----------------------------------------------------------------------------------- */

/* The loss of windows; a scope is open. */
static ig_array *loss_of(lora_training *t, const int64_t *list, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(t->batch_ids + i * (t->length + 1), t->ids + list[i] * t->length,
               (size_t)(t->length + 1) * sizeof *t->ids);
    return lora_loss(t->d, t->batch_ids, n, t->length);
}

static bool learn(lora_training *t, const int64_t *list, int64_t n, double *loss)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *x = loss_of(t, list, n);
    const bool fine = x && ig_step(t->optimizer, t->trained, x, loss, NULL, 0) == IG_OK;
    ig_scope_end();
    return fine;
}

/* The order of the windows in an epoch. */
static bool shuffle(lora_training *t, int64_t epoch)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *key = ig_fold_in(ig_key(t->seed, NULL), epoch);
    ig_array *mixed = ig_permutation(key, ig_arange(0, (double)t->windows, 1, IG_I64), 0);
    const bool fine = ig_read(mixed, t->order, sizeof *t->order * (size_t)t->windows) == IG_OK;
    ig_scope_end();
    return fine;
}

/* The mean loss of the windows that are held back. */
static bool test(lora_training *t)
{
    double sum = 0;
    bool fine = true;
    ig_model_train(t->trained, false);
    for (int64_t i = 0; i < t->held && fine && !interrupt_asked(); i++) {
        const int64_t window = t->windows + i;
        if (ig_scope_begin() != IG_OK)
            return false;
        ig_array *x = loss_of(t, &window, 1);
        fine = x != NULL;
        sum += fine ? ig_item(x) : 0;
        ig_scope_end();
    }
    ig_model_train(t->trained, true);
    t->test_loss = sum / (double)t->held;
    return fine && !ig_failed();
}

static int epoch_steps(lora_training *t)
{
    const int64_t steps = steps_of(t);
    while (t->at.step < steps && !(t->stopped = interrupt_asked())) {
        const int64_t first = t->at.step * t->batch;
        const int64_t n = t->windows - first < t->batch ? t->windows - first : t->batch;
        double loss = 0;
        char label[48], note[48];
        if (!learn(t, t->order + first, n, &loss)) {
            progress_clear();
            return fail_library(t->command);
        }
        if (!isfinite(loss)) {
            progress_clear();
            say(t->command,
                "the loss is not finite in epoch %lld: it diverges; try a smaller --lr than %g",
                (long long)t->at.epoch + 1, t->lr);
            return EXIT_FAILED;
        }
        t->at.sum += loss * (double)n;
        t->at.step++;
        snprintf(note, sizeof note, "loss %.4f", loss);
        snprintf(label, sizeof label, "epoch %lld/%lld", (long long)t->at.epoch + 1,
                 (long long)t->epochs);
        progress_show(&t->bar, label,
                      (double)(t->at.epoch * steps + t->at.step) / (double)(t->epochs * steps),
                      note);
    }
    return -1;
}

static int epoch_end(lora_training *t)
{
    const double loss = t->at.sum / (double)t->windows;
    t->at = (text_progress){.epoch = t->at.epoch + 1};
    if (t->held && !test(t))
        return fail_library(t->command);
    progress_clear();
    if (!t->quiet) {
        fprintf(stderr, "epoch %lld/%lld  loss %.4f", (long long)t->at.epoch, (long long)t->epochs,
                loss);
        fprintf(stderr, t->held ? "  test loss %.4f\n" : "\n", t->test_loss);
    }
    str_printf(&t->losses, "%s%.9g", t->losses.n ? ", " : "", loss);
    return -1;
}

static int learn_all(lora_training *t, const char *settings)
{
    int code = -1;
    while (t->at.epoch < t->epochs && code < 0 && !t->stopped) {
        code = shuffle(t, t->at.epoch) ? epoch_steps(t) : fail_library(t->command);
        if (code < 0 && !t->stopped)
            code = epoch_end(t);
        if (code < 0 && t->checkpoint &&
            text_state_save(t->command, t->trained, t->optimizer, settings, &t->at,
                            t->checkpoint) != IG_OK)
            code = fail_library(t->command);
    }
    return code;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int data_read(lora_training *t)
{
    char *data = NULL;
    size_t bytes = 0;
    if (file_read_whole(t->data, false, &data, &bytes) == IG_OK)
        t->ids = tokens_encode(t->tokens, (ig_text){data, bytes}, &t->n_ids);
    free(data);
    if (!t->ids)
        return fail_library(t->command);
    if (t->length > t->d->config.context)
        t->length = t->d->config.context;
    const int64_t all = t->n_ids > 0 ? (t->n_ids - 1) / t->length : 0;
    t->held = (int64_t)ceil(t->hold * (double)all);
    t->windows = all - t->held;
    if (t->windows < 1) {
        say(t->command,
            "%s: its %lld tokens have no window of %lld to learn from; give a longer text, or a "
            "smaller --length",
            t->data, (long long)t->n_ids, (long long)t->length + 1);
        return EXIT_INPUT;
    }
    t->order = heap_get((size_t)t->windows * sizeof *t->order);
    t->batch_ids = heap_get((size_t)(t->batch * (t->length + 1)) * sizeof *t->batch_ids);
    return -1;
}

/* Creates the folder of the result, so that a bad name is reported before the training. */
static int save_begin(const lora_training *t)
{
    struct stat info;
    if (mkdir(t->save, 0777) == 0 ||
        (errno == EEXIST && stat(t->save, &info) == 0 && S_ISDIR(info.st_mode)))
        return t->checkpoint ? write_check(t->command, "--checkpoint", t->checkpoint) : -1;
    say(t->command, "--save %s: it cannot be written: %s", t->save, strerror(errno));
    return EXIT_INPUT;
}

static int prepare(lora_training *t)
{
    int code = engine_apply(t->command, &t->engine);
    if (code < 0)
        code = save_begin(t);
    if (code >= 0)
        return code;
    t->d = decoder_open(t->model);
    t->tokens = t->d ? tokens_open(t->d) : NULL;
    if (!t->tokens)
        return fail_library(t->command);
    if ((code = data_read(t)) >= 0)
        return code;
    const int64_t total = t->epochs * steps_of(t);
    t->how.alpha = t->how.alpha > 0 ? t->how.alpha : 2 * (double)t->how.rank;
    t->trained = ig_model_new(t->seed);
    t->optimizer = ig_adamw(t->lr, 0.9, 0.999, 1e-8, t->decay);
    if (!t->trained || !t->optimizer || ig_scope_begin() != IG_OK)
        return fail_library(t->command);
    const ig_status status = lora_begin(t->d, t->trained, &t->how, t->from);
    ig_scope_end();
    if (status != IG_OK ||
        (t->warmup > 0 && ig_schedule_warmup(t->optimizer, t->warmup) != IG_OK) ||
        ig_schedule_linear(t->optimizer, total > 1 ? total : 2, 0) != IG_OK ||
        ig_optimizer_clip(t->optimizer, t->clip) != IG_OK)
        return fail_library(t->command);
    return -1;
}

/* The settings that decide the bits of the result. */
static void settings_write(const lora_training *t, str *s)
{
    str_printf(s, "tokens %lld held %lld\n--lora %lld\n--alpha %a\n--dropout %a\n--targets %s\n",
               (long long)t->n_ids, (long long)t->held, (long long)t->how.rank, t->how.alpha,
               t->how.dropout, t->how.targets ? t->how.targets : "all");
    str_printf(s, "--epochs %lld\n--batch %lld\n--length %lld\n--lr %a\n--warmup %lld\n",
               (long long)t->epochs, (long long)t->batch, (long long)t->length, t->lr,
               (long long)t->warmup);
    str_printf(s, "--clip %a\n--decay %a\n--seed %llu\n", t->clip, t->decay,
               (unsigned long long)t->seed);
}

static void result_print(const lora_training *t)
{
    str out = {0};
    int64_t parameters = 0;
    for (int i = 0; i < ig_model_count(t->trained); i++)
        parameters += ig_size(ig_model_get(t->trained, ig_model_name(t->trained, i)));
    if (!t->json)
        return;
    str_json(&out, "{schema: 1, tokens: %lld, parameters: %lld, steps: %lld", (long long)t->n_ids,
             (long long)parameters, (long long)ig_optimizer_steps(t->optimizer));
    if (t->held && !t->stopped)
        str_json(&out, "test_loss: %.9g", t->test_loss);
    str_json(&out, "interrupted: %hhd, losses: [", t->stopped);
    str_puts(&out, t->losses.s ? t->losses.s : "");
    str_puts(&out, "]}\n");
    text_print(stdout, out.s);
    str_free(&out);
}

static int run(lora_training *t)
{
    str settings = {0};
    int code = prepare(t);
    if (code >= 0)
        return code;
    settings_write(t, &settings);
    if (t->resume)
        code = text_state_load(t->command, t->trained, t->optimizer, settings.s, &t->at, t->resume);
    interrupt_watch();
    progress_begin(&t->bar, t->quiet);
    if (code < 0)
        code = learn_all(t, settings.s);
    str_free(&settings);
    progress_clear();
    if (code >= 0)
        return code;
    if (lora_save(t->d, t->save) != IG_OK)
        return fail_library(t->command);
    result_print(t);
    if (t->stopped)
        say(t->command, "interrupted; %s has the adapters so far%s%s", t->save,
            t->checkpoint ? "; continue with --resume " : "", t->checkpoint ? t->checkpoint : "");
    return t->stopped ? EXIT_INTERRUPTED : EXIT_FINE;
}

int train_lora(int argc, char **argv)
{
    lora_training t = {.epochs = 3, .batch = 4, .length = 256, .lr = 2e-4, .clip = 1};
    const option options[] = {
        {"--lora", 0, "N", option_count, &t.how.rank, "the rank of the adapters"},
        {"--model", 'm', "FILE", option_text, &t.model,
         "the model to start from: a .gguf file or a folder"},
        {"--data", 0, "FILE", option_text, &t.data, "the text to learn from"},
        {"--save", 0, "DIR", option_text, &t.save, "the folder of adapters that is written"},
        {"--from", 0, "DIR", option_text, &t.from, "starts with these adapters"},
        {"--targets", 0, "LIST", option_text, &t.how.targets,
         "the layers with adapters: q_proj,v_proj (all linear layers)"},
        {"--alpha", 0, "X", option_rate, &t.how.alpha,
         "scales adapters by X / rank (twice the rank)"},
        {"--dropout", 0, "P", option_share, &t.how.dropout,
         "the probability of dropout before adapters (0)"},
        {"--checkpoint", 0, "FILE", option_text, &t.checkpoint,
         "writes a checkpoint after each epoch"},
        {"--resume", 0, "FILE", option_text, &t.resume, "continues from a checkpoint"},
        {"--epochs", 0, "N", option_count, &t.epochs, "passes over the data (3)"},
        {"--batch", 0, "N", option_count, &t.batch, "windows in a step (4)"},
        {"--length", 0, "N", option_count, &t.length, "tokens of a window (256)"},
        {"--hold", 0, "SHARE", option_share, &t.hold,
         "holds back the end of the text, to test with after each epoch"},
        {"--lr", 0, "RATE", option_rate, &t.lr, "the largest learning rate (0.0002)"},
        {"--warmup", 0, "N", option_count, &t.warmup, "steps until it (0)"},
        {"--clip", 0, "NORM", option_rate, &t.clip, "the largest norm of the gradient (1)"},
        {"--decay", 0, "SHARE", option_share, &t.decay, "the weight decay (0)"},
        {"--seed", 0, "N", option_seed, &t.seed, "the seed of all random numbers (0)"},
        FLAG("--json", &t.json, "prints JSON, schema 1"),
        FLAG("--quiet", &t.quiet, "prints nothing while it trains"),
        ENGINE_OPTIONS(t.engine),
        {0}};
    const command c = {
        "train text", "--lora N --model FILE --data TEXT --save DIR [options]",
        "Trains low-rank adapters of a model that generates text, to predict each token of a "
        "text,\n"
        "with AdamW and a rate that falls along a line. The weights of the model may be "
        "quantized;\n"
        "they do not change. The folder of --save has adapter_config.json and\n"
        "adapter_model.safetensors, as the Python package peft writes and reads them. 'ingot\n"
        "generate --lora DIR' uses them, 'ingot quantize --lora DIR' merges them into a file.\n"
        "Ctrl-C stops after the current step and saves.\n\n"
        "  ingot train text --lora 8 --model SmolLM2.gguf --data poems.txt --save poems",
        options};
    t.command = &c;
    int code = options_read(&c, &argc, argv);
    if (code < 0 && (argc || !t.model || !t.data || !t.save || !t.how.rank)) {
        say(&c, "%s; see 'ingot train text --lora 8 --help'",
            argc ? "it takes options only" : "--lora, --model, --data and --save are needed");
        code = EXIT_USAGE;
    }
    if (code < 0 && team_is_started()) {
        say(&c, "adapters are trained by one process; start it without mpirun");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = run(&t);
    decoder *d = t.d;
    tokens_close(t.tokens);
    decoder_close(d);
    ig_optimizer_free(t.optimizer);
    ig_model_free(t.trained);
    memory_free(t.ids);
    free(t.order);
    free(t.batch_ids);
    str_free(&t.losses);
    return code;
}
