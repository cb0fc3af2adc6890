/* ingot train: trains a network to classify samples, or to predict numbers.
 *
 * All random numbers are derived from the seed. The order of epoch e depends only on the seed and e. So a run gives
 * bitwise the same losses every time and for any number of threads. A resumed run gives the same losses as an
 * uninterrupted one. */
#include "train/gpt.h"
#include "train/images.h"
#include "train/onnx.h"
#include "train/ranks.h"
#include "train/text.h"
#include "train/vision.h"

#include "base/team.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEST_BATCH = 256,
    SHUFFLE = -2,   /* the model folds other numbers into its key */
    IMAGE_SIDE = 64 /* pixels of images in a folder */
};

/* One run of the verb. */
typedef struct session {
    const command *command;
    const train_settings *set;
    dataset data;
    training run;
    tuning tuning; /* --model FILE.onnx */
    ig_model *model;
    ig_optimizer *optimizer;
    int64_t *order;                  /* order of the samples in this epoch */
    int64_t steps;                   /* steps per epoch */
    int64_t first_epoch, first_step; /* where this run began */
    progress bar;
    double begin_s;
    train_result end;
} session;

/* ---- the model and its file ------------------------------------------------------------------ */

/* Creates the model and calls the network once, which creates its parameters. */
static int make_model(session *s)
{
    const int64_t first[2] = {0, 0}; /* two samples: batch_norm needs a variance */
    s->model = ig_model_new(s->run.seed);
    s->optimizer = s->run.rule->make(s->run.lr);
    if (!s->model || !s->optimizer)
        return fail_library(s->command);
    if (s->run.onnx)
        return tuning_begin(&s->tuning, s->model, &s->data, &s->run.tuned, s->run.seed,
                            s->set->quiet);
    if (ig_scope_begin() != IG_OK)
        return fail_library(s->command);
    ig_array *x = samples_pick(&s->data, &s->data.train, first, 2);
    ig_array *y = net_run(&s->run, s->model, x);
    ig_scope_end();
    return y ? -1 : fail_library(s->command);
}

/* Reads the settings of a checkpoint. There is no model to load it into yet. */
static int read_settings(session *s, const char *path)
{
    str why = {0};
    ig_model *any = ig_model_new(0);
    int code = -1;
    if (!any || ig_model_load(any, NULL, path) != IG_OK) {
        fail_library(s->command);
        code = EXIT_INPUT;
    } else if (!training_read(&s->run, ig_model_text(any), &why)) {
        say(s->command, "%s: %s", path, why.s);
        code = EXIT_INPUT;
    } else if (s->set->loss && (strcmp(s->set->loss, "mse") == 0) != s->run.regression) {
        say(s->command,
            "%s: it was made with --loss mse; leave out --loss, or train from the start", path);
        code = EXIT_INPUT;
    }
    ig_model_free(any);
    str_free(&why);
    return code;
}

static int load_model(session *s, const char *path)
{
    if (ig_model_load(s->model, s->optimizer, path) != IG_OK) {
        fail_library(s->command);
        return EXIT_INPUT;
    }
    if (s->run.step < s->steps)
        return -1;
    say(s->command, "%s: it was made with more samples than there are here", path);
    return EXIT_INPUT;
}

static int save_model(session *s)
{
    str text = {0};
    training_write(&s->run, &text);
    ig_status status = ig_model_save(s->model, s->optimizer, text.s, s->set->save);
    str_free(&text);
    if (status == IG_OK)
        return -1;
    progress_clear();
    return fail_library(s->command);
}

/* ---- learning -------------------------------------------------------------------------------- */

static bool shuffle(session *s)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    int64_t n = s->data.train.count;
    ig_array *key = ig_fold_in(ig_fold_in(ig_key(s->run.seed, NULL), SHUFFLE), s->run.epoch);
    ig_array *order = ig_permutation(key, ig_arange(0, (double)n, 1, IG_I64), 0);
    bool fine = ig_read(order, s->order, sizeof *s->order * (size_t)n) == IG_OK;
    ig_scope_end();
    return fine;
}

ig_array *count_right(ig_array *logits, ig_array *labels)
{
    ig_array *right = ig_equal(ig_argmax(logits, IG_AXES(-1), false), labels);
    return ig_sum(ig_astype(right, IG_I64), IG_NONE, IG_I64, false);
}

/* The loss of n samples. *right: how many are classified correctly; NULL for a regression. */
static ig_array *loss_of(session *s, const int64_t *indices, int64_t n, ig_array **right)
{
    const samples *p = &s->data.train;
    const bool classes = !s->run.regression;
    ig_array *y =
        classes ? samples_labels(p, indices, n) : samples_targets(&s->data, p, indices, n);
    ig_array *out = net_run(&s->run, s->model, samples_pick(&s->data, p, indices, n));
    *right = classes ? count_right(out, y) : NULL;
    return classes ? ig_cross_entropy(out, y, -1, NULL) : ig_mse(out, y, NULL);
}

/* Runs one training step with n samples. */
static bool learn(session *s, const int64_t *indices, int64_t n, double *loss)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    const bool classes = !s->run.regression;
    ig_array *right, *error = loss_of(s, indices, n, &right);
    bool fine = ig_step(s->optimizer, s->model, error, loss, &right, classes) == IG_OK;
    if (fine) {
        s->run.sum += *loss * (double)n;
        s->run.right += classes ? (int64_t)ig_item(right) : 0;
    }
    ig_scope_end();
    return fine;
}

/* The same, in shards of at least two samples: batch_norm needs a variance. */
static bool learn_shards(session *s, const int64_t *indices, int64_t n, double *loss)
{
    const bool classes = !s->run.regression;
    const int64_t most = n / 2 > 1 ? n / 2 : 1, count = s->run.shards < most ? s->run.shards : most;
    int first, end;
    double right = 0;
    bool fine = ig_shards_begin(s->optimizer, s->model, (int)count, &first, &end) == IG_OK;
    for (int k = first; fine && k < end; k++) {
        if (ig_scope_begin() != IG_OK)
            return false;
        const int64_t from = n * k / count, size = n * (k + 1) / count - from;
        ig_array *own, *error = loss_of(s, indices + from, size, &own);
        fine = ig_shards_add(s->optimizer, s->model, error, (double)size / (double)n, &own,
                             classes) == IG_OK;
        ig_scope_end();
    }
    fine = fine && ig_shards_step(s->optimizer, s->model, loss, &right, classes) == IG_OK;
    if (fine) {
        s->run.sum += *loss * (double)n;
        s->run.right += (int64_t)right;
    }
    return fine;
}

static void show_progress(session *s, const char *label, double loss)
{
    const training *t = &s->run;
    int64_t done = (t->epoch - s->first_epoch) * s->steps + t->step - s->first_step;
    int64_t total = (t->epochs - s->first_epoch) * s->steps - s->first_step;
    char note[32];
    snprintf(note, sizeof note, "loss %.4f", loss);
    progress_show(&s->bar, label, (double)done / (double)total, note);
}

/* Runs the remaining steps of the epoch; returns -1, or the exit code. */
static int learn_epoch(session *s)
{
    training *t = &s->run;
    int64_t count = s->data.train.count;
    char label[64];
    snprintf(label, sizeof label, "epoch %lld/%lld", (long long)t->epoch + 1, (long long)t->epochs);
    if (!shuffle(s))
        return fail_library(s->command);
    while (t->step < s->steps && !ranks_stop_asked()) {
        const int64_t start = t->step * t->batch, left = count - start,
                      n = left < t->batch ? left : t->batch;
        double loss = 0;
        if (!(t->shards ? learn_shards : learn)(s, s->order + start, n, &loss)) {
            progress_clear();
            return fail_library(s->command);
        }
        if (!isfinite(loss)) {
            progress_clear();
            say(s->command, "the loss is %g in epoch %lld: it diverges; try a smaller --lr than %g",
                loss, (long long)t->epoch + 1, t->lr);
            return EXIT_FAILED;
        }
        t->step++;
        show_progress(s, label, loss);
    }
    return ig_failed() ? fail_library(s->command) : -1;
}

static void end_epoch(session *s)
{
    training *t = &s->run;
    double count = (double)s->data.train.count;
    t->loss[t->epoch] = t->sum / count;
    /* Targets have variance 1, so R^2 is 1 - loss. */
    t->accuracy[t->epoch] = t->regression ? 1 - t->sum / count : (double)t->right / count;
    t->epoch++;
    progress_clear();
    if (!s->set->quiet) {
        const double score = t->accuracy[t->epoch - 1];
        fprintf(stderr,
                t->regression ? "epoch %lld/%lld  loss %.4f  R^2 %.4f  %.1f s\n"
                              : "epoch %lld/%lld  loss %.4f  accuracy %.2f %%  %.1f s\n",
                (long long)t->epoch, (long long)t->epochs, t->loss[t->epoch - 1],
                t->regression ? score : 100 * score, clock_s() - s->begin_s);
    }
    t->step = 0;
    t->sum = 0;
    t->right = 0;
}

static int stop(session *s)
{
    const char *file = s->set->save;
    s->end.interrupted = true;
    progress_clear();
    int code = file ? save_model(s) : -1;
    if (code >= 0)
        return code;
    say(s->command, "interrupted in epoch %lld; %s%s%s", (long long)s->run.epoch + 1,
        file ? "saved; continue with --resume " : "nothing is saved without --save FILE",
        file ? file : "", "");
    return EXIT_INTERRUPTED;
}

static int learn_all(session *s)
{
    training *t = &s->run;
    s->first_epoch = t->epoch;
    s->first_step = t->step;
    progress_begin(&s->bar, s->set->quiet);
    while (t->epoch < t->epochs) {
        int code = learn_epoch(s);
        if (code >= 0)
            return code;
        if (t->step < s->steps)
            return stop(s);
        end_epoch(s);
        if (s->set->save && (code = save_model(s)) >= 0)
            return code;
    }
    return -1;
}

/* ---- testing --------------------------------------------------------------------------------- */

/* Sums over the test samples, for one target. */
typedef struct target_sums {
    double error, y, y2; /* squared errors, targets, squared targets */
} target_sums;

static void targets_sum(const session *s, ig_array *out, ig_array *y, target_sums *sums)
{
    const int64_t k = s->data.outputs, n = ig_size(y);
    ig_array *both[] = {ig_astype(out, IG_F32), y};
    if (!out || !y || ig_eval(both, 2) != IG_OK)
        return;
    const float *a = ig_data(both[0]), *b = ig_data(both[1]);
    for (int64_t i = 0; i < n && a && b; i++) {
        target_sums *t = &sums[i % k];
        t->error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        t->y += b[i];
        t->y2 += (double)b[i] * b[i];
    }
}

/* Computes the mean squared error in the units of the targets, and R^2 averaged over all targets. */
static void targets_score(session *s, const target_sums *sums)
{
    const double n = (double)s->data.test.count, k = (double)s->data.outputs;
    for (int64_t i = 0; i < s->data.outputs; i++) {
        const double deviation = s->data.y_deviation[i];
        const double total = sums[i].y2 - sums[i].y * sums[i].y / n;
        s->end.test_mse += sums[i].error / n * deviation * deviation / k;
        s->end.test_accuracy += (total > 0 ? 1 - sums[i].error / total : sums[i].error == 0) / k;
    }
}

static bool test(session *s)
{
    const samples *p = &s->data.test;
    const bool classes = !s->run.regression;
    int64_t right = 0, indices[TEST_BATCH];
    target_sums *sums = heap_get((size_t)s->data.outputs * sizeof *sums);
    ig_model_train(s->model, false);
    for (int64_t start = 0; start < p->count && !ig_failed(); start += TEST_BATCH) {
        int64_t n = p->count - start < TEST_BATCH ? p->count - start : TEST_BATCH;
        for (int64_t i = 0; i < n; i++)
            indices[i] = start + i;
        if (ig_scope_begin() != IG_OK)
            break;
        ig_array *out = net_run(&s->run, s->model, samples_pick(&s->data, p, indices, n));
        if (classes)
            right += (int64_t)ig_item(count_right(out, samples_labels(p, indices, n)));
        else
            targets_sum(s, out, samples_targets(&s->data, p, indices, n), sums);
        ig_scope_end();
    }
    if (classes)
        s->end.test_accuracy = (double)right / (double)p->count;
    else
        targets_score(s, sums);
    free(sums);
    return !ig_failed();
}

/* ---- the result ------------------------------------------------------------------ */

static int finish(session *s, int code)
{
    bool whole = code < 0;
    if (ig_team_rank() > 0) /* rank 0 tests and writes */
        return whole ? EXIT_FINE : code;
    if (whole && !test(s))
        return fail_library(s->command);
    if (whole && s->set->output && (code = tuning_write(&s->tuning, s->model, s->set->output)) >= 0)
        return code;
    s->end.seconds = clock_s() - s->begin_s;
    if (!s->set->json && !s->set->quiet) {
        str t = {0};
        fallback_text(&t, false);
        text_print(stderr, t.n ? t.s : "");
        str_free(&t);
    }
    if (s->set->json && (whole || s->end.interrupted))
        train_result_json(&s->end, s->set, &s->run);
    else if (whole && s->run.regression)
        printf("test mse %.6g, R^2 %.4f\n", s->end.test_mse, s->end.test_accuracy);
    else if (whole)
        printf("test accuracy %.2f %%\n", 100 * s->end.test_accuracy);
    return whole ? EXIT_FINE : code;
}

/* ---- the verb --------------------------------------------------------------------------------- */

/* Sets defaults for settings that neither the command line nor a checkpoint has. */
static void fill_in(session *s)
{
    training *t = &s->run;
    t->net = t->net ? t->net : net_find(NULL, "mlp");
    t->rule = t->rule ? t->rule : rule_find(NULL, "adam");
    t->lr = t->lr != 0 ? t->lr : t->rule->lr;
    t->batch = t->batch ? t->batch : s->tuning.batch ? s->tuning.batch : 64;
    t->epochs = t->epochs ? t->epochs : s->data.epochs;
    t->seed = t->seed != SEED_NONE ? t->seed : 0;
    if (!t->shards && !s->set->resume && team_is_started())
        t->shards = RANKS_SHARDS;
}

/* Reports that the samples do not fit the network. */
static int fail_samples(const session *s)
{
    ig_ints shape = ig_shape(s->data.train.x);
    str t = {0};
    for (int i = 0; i < shape.n; i++)
        str_printf(&t, "%s%lld", i ? ", " : "", (long long)shape.v[i]);
    say(s->command, "%s: the samples have shape (%s), but %s takes %s", s->set->dataset, t.s,
        s->run.net->name, s->run.net->wants);
    str_free(&t);
    return EXIT_INPUT;
}

static int read_rule(session *s)
{
    const char *name = s->set->optimizer;
    return name && !(s->run.rule = rule_find(s->command, name)) ? EXIT_USAGE : -1;
}

/* The same for --model FILE.onnx, where --layers is a number of last layers. */
static int read_onnx_choices(session *s)
{
    const train_settings *set = s->set;
    training *t = &s->run;
    if (set->loss && strcmp(set->loss, "cross-entropy") != 0) {
        say(s->command, "--model %s: only classifiers can be fine-tuned, by cross-entropy",
            set->model);
        return EXIT_USAGE;
    }
    if (set->layers && strcmp(set->layers, "all") == 0) {
        t->tuned = INT32_MAX;
    } else if (set->layers) {
        char *end;
        const long n = strtol(set->layers, &end, 10);
        if (end == set->layers || *end || n < 1 || n >= INT32_MAX) {
            say(s->command,
                "--layers %.100s: with --model FILE.onnx it is the number of last layers to train, "
                "or 'all'",
                set->layers);
            return EXIT_USAGE;
        }
        t->tuned = n;
    }
    t->net = net_find(NULL, "onnx");
    t->onnx = heap_string(set->model);
    return read_rule(s);
}

/* Parses the options that select what is trained. */
static int read_choices(session *s)
{
    const train_settings *set = s->set;
    training *t = &s->run;
    if (set->model && str_ends(set->model, ".onnx"))
        return read_onnx_choices(s);
    if (set->model && set->layers) {
        say(s->command, "--layers describes the whole network; leave out --model");
        return EXIT_USAGE;
    }
    if ((set->model && !(t->net = net_find(s->command, set->model))) || read_rule(s) >= 0)
        return EXIT_USAGE;
    if (set->loss && strcmp(set->loss, "mse") != 0 && strcmp(set->loss, "cross-entropy") != 0) {
        say(s->command, "--loss is cross-entropy or mse, not '%.60s'", set->loss);
        return EXIT_USAGE;
    }
    t->regression = set->loss && strcmp(set->loss, "mse") == 0;
    str why = {0};
    const bool fine = !set->layers || layers_read(&t->layers, set->layers, &why);
    if (!fine)
        say(s->command, "--layers %.100s: %s", set->layers, why.s);
    str_free(&why);
    if (set->layers)
        t->net = net_find(NULL, "layers");
    return fine ? -1 : EXIT_USAGE;
}

/* Prints notes and reports errors that depend on both the data and the network. */
static int check_data(const session *s)
{
    const training *t = &s->run;
    const int64_t outputs = s->data.outputs,
                  last = t->layers.n ? layers_outputs(&t->layers) : outputs;
    if (last != outputs) {
        say(s->command, "--layers %s ends with %lld, and %s has %lld %s; end it with %lld",
            t->layers.text, (long long)last, s->set->dataset, (long long)outputs,
            t->regression ? "targets" : "classes", (long long)outputs);
        return EXIT_INPUT;
    }
    str empty = {0};
    dataset_empty_classes(&s->data, &empty);
    if (empty.n && !s->set->quiet)
        say(s->command,
            "%s: no sample to learn from has %s; labels should be 0 to %lld without gaps",
            s->set->dataset, empty.s, (long long)outputs - 1);
    str_free(&empty);
    return t->net->takes(s->data.train.x) ? -1 : fail_samples(s);
}

static int open_onnx(session *s)
{
    training *t = &s->run;
    t->tuned = t->tuned ? t->tuned : 1;
    s->tuning.command = s->command;
    t->tuning = &s->tuning;
    return tuning_open(&s->tuning, t->onnx, t->onnx_hash);
}

static int check_onnx_options(const session *s)
{
    const train_settings *set = s->set;
    if (!set->output && !set->mean && !set->std)
        return -1;
    say(s->command,
        "%s: for --model FILE.onnx; other networks are saved by --save, and written by 'ingot onnx "
        "export'",
        set->output ? "-o"
        : set->mean ? "--mean"
                    : "--std");
    return EXIT_USAGE;
}

/* Reads images as an ONNX model takes them, or as squares of RGB bytes. */
static int open_folder(session *s)
{
    const train_settings *set = s->set;
    const training *t = &s->run;
    const int64_t *made = t->problem.shape, side = set->side ? set->side
                                                   : made[0] ? made[0]
                                                             : IMAGE_SIDE;
    folder_samples f = {{side, side, 3}, 3, IG_U8, set->mean, set->std};
    if (t->regression) {
        say(s->command, "--loss mse is for the targets of a file; the folders of %s are classes",
            set->dataset);
        return EXIT_USAGE;
    }
    if (t->onnx) {
        f.ndim = s->tuning.ndim;
        f.dtype = s->tuning.dtype;
        memcpy(f.shape, s->tuning.shape, sizeof f.shape);
    }
    return folder_open(s->command, &f, &s->data, set->dataset);
}

static int open_data(session *s)
{
    const train_settings *set = s->set;
    const bool folder = folder_is(set->dataset);
    if (set->side && (!folder || s->run.onnx)) {
        say(s->command, "--side is the size of the images of a folder%s",
            folder ? ", and an ONNX model states its own" : "");
        return EXIT_USAGE;
    }
    if (!folder)
        return dataset_open(s->command, &s->data, set->dataset, set->data, set->target);
    s->run.net = s->run.net ? s->run.net : net_find(NULL, "cnn");
    return open_folder(s);
}

/* Does everything that can fail before the first step. */
static int prepare(session *s)
{
    const train_settings *set = s->set;
    training *t = &s->run;
    int code = read_choices(s);
    if (code >= 0)
        return code;
    if (set->save && ig_team_rank() == 0)
        code = write_check(s->command, "--save", set->save);
    if (code < 0 && set->output && ig_team_rank() == 0)
        code = write_check(s->command, "-o", set->output);
    if (code < 0 && set->resume)
        code = read_settings(s, set->resume);
    s->data.regression = t->regression;
    if (code < 0)
        code = t->onnx ? open_onnx(s) : check_onnx_options(s);
    if (code < 0)
        code = open_data(s);
    if (code < 0 && t->onnx)
        code = tuning_fit(&s->tuning, set->dataset, &s->data);
    if (code >= 0)
        return code;
    fill_in(s);
    const samples *p = &s->data.train;
    code = check_data(s);
    if (code >= 0)
        return code;
    s->steps = (p->count + t->batch - 1) / t->batch;
    s->order = heap_get(sizeof *s->order * (size_t)p->count);
    training_grow(t, t->epoch > t->epochs ? t->epoch : t->epochs);
    if (!problem_of(&t->problem, &s->data))
        return fail_library(s->command);
    code = make_model(s);
    if (code < 0 && set->resume)
        code = load_model(s, set->resume);
    return code < 0 ? ranks_prepare(s->command, set, t, &s->data, s->optimizer, s->model) : code;
}

static int run_session(session *s)
{
    int code = prepare(s);
    if (code < 0) {
        interrupt_watch();
        s->begin_s = clock_s();
        code = finish(s, learn_all(s));
    }
    ig_optimizer_free(s->optimizer);
    ig_model_free(s->model);
    dataset_free(&s->data);
    tuning_close(&s->tuning);
    training_free(&s->run);
    free(s->order);
    return code;
}

int verb_train(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "text") == 0)
        return train_text(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "gpt") == 0)
        return train_gpt(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "vision") == 0)
        return train_vision(argc - 1, argv + 1);
    train_settings set = {0};
    session s = {.set = &set, .run = {.seed = SEED_NONE}};
    const option options[] = {
        {"--model", 0, "mlp|cnn|FILE.onnx", option_text, &set.model,
         "the network (mlp; images: cnn), or an ONNX classifier to fine-tune"},
        {"--layers", 0, "LIST|N|all", option_text, &set.layers,
         "the network as a list: 64,relu,dropout:0.1,10; ONNX: the last layers to train (1)"},
        {"--loss", 0, "cross-entropy|mse", option_text, &set.loss,
         "mse: y are numbers to predict (cross-entropy)"},
        {"--epochs", 0, "N", option_count, &s.run.epochs,
         "passes over the data (40; mnist and files of 10000 samples: 5)"},
        {"--batch", 0, "N", option_count, &s.run.batch, "samples in a step (64)"},
        {"--optimizer", 0, "adam|adamw|sgd|rmsprop|lion", option_text, &set.optimizer,
         "the update rule (adam)"},
        {"--lr", 0, "RATE", option_rate, &s.run.lr, "the learning rate (adam 0.001)"},
        {"--seed", 0, "N", option_seed, &s.run.seed, "the seed of all random numbers (0)"},
        {"--data", 0, "DIR", option_text, &set.data, "MNIST's four files, unpacked"},
        {"--target", 0, "COLUMN", option_text, &set.target,
         "the column of a table with the classes or targets (the last one)"},
        {"--side", 0, "N", option_count, &set.side, "images of a folder become N x N pixels (64)"},
        {"--save", 0, "FILE", option_text, &set.save, "writes a checkpoint after each epoch"},
        {"--resume", 0, "FILE", option_text, &set.resume, "continues from a checkpoint"},
        {"--shards", 0, "N", option_count, &s.run.shards,
         "divides each step into N parts, for the ranks of mpirun (mpirun: 8)"},
        FLAG("--divide", &set.divide, "each rank of mpirun keeps only its part of the parameters"),
        {"--output", 'o', "FILE.onnx", option_text, &set.output,
         "ONNX: writes the fine-tuned model at the end"},
        {"--mean", 0, "LIST", option_text, &set.mean, "ONNX: the scale of images, as for predict"},
        {"--std", 0, "LIST", option_text, &set.std, "ONNX: the scale of images, as for predict"},
        FLAG("--json", &set.json, "prints JSON, schema 1"),
        FLAG("--quiet", &set.quiet, "prints nothing while it trains"),
        ENGINE_OPTIONS(set.engine),
        {0}};
    const command c = {
        "train", "[options] digits | mnist --data DIR | FILE.npz | FILE.csv | FOLDER | text ...",
        "Trains a network to classify samples, or with --loss mse to predict numbers, and tests\n"
        "it on samples that it has not seen.\n"
        "'digits' is a set of 1797 handwritten digits in the command itself.\n\n"
        "FILE.npz (or .safetensors) holds your own data: x, the samples (n, ...), and y, their\n"
        "classes as whole numbers from 0. x may also be named X, x_train, data or images, and y\n"
        "Y, y_train, labels or target. x_test and y_test are used for the test; without them\n"
        "every sixth sample is. mlp takes samples of any shape. cnn takes images: (n, height,\n"
        "width), or with an axis of 1 to 4 channels. Bytes are divided by 255; other numbers\n"
        "are standardized to mean 0 and deviation 1. With --loss mse, y is (n,) or (n, k)\n"
        "numbers; they are standardized while it learns.\n\n"
        "FILE.csv or FILE.tsv is a table, with or without a header. Its last column, or --target,\n"
        "is y: class names or numbers. A column of texts becomes one input for each text.\n\n"
        "FOLDER has a folder of images for each class, which has the folder's name. With --save,\n"
        "names and columns are part of the checkpoint, so that 'ingot predict' knows them.\n\n"
        "--layers takes numbers of outputs (linear layers), relu, gelu, silu, elu, leaky_relu,\n"
        "tanh, sigmoid, softplus, dropout:P, layer_norm and batch_norm, with commas between\n"
        "them. The last one is the number of classes, or of numbers to predict.\n\n"
        "  ingot train digits --model cnn\n"
        "  ingot train flowers.npz --epochs 100 --save flowers.safetensors\n"
        "  ingot train iris.csv --target species --save iris.safetensors\n"
        "  ingot train houses.csv --loss mse --layers 64,relu,1\n"
        "  ingot train photos/ --model cnn --side 48\n\n"
        "--model FILE.onnx fine-tunes an ONNX classifier: its last layer, the last N (--layers "
        "N),\n"
        "or all (--layers all). Samples are not scaled. If the data has another number of "
        "classes,\n"
        "the last layer is replaced. Batch norms keep their statistics. -o writes the tuned "
        "model,\n"
        "which 'ingot predict' takes.\n\n"
        "  ingot train photos/ --model resnet18.onnx --epochs 5 -o mine.onnx\n\n"
        "'ingot train text' fine-tunes a text model, 'ingot train gpt' and 'ingot train vision' "
        "train\n"
        "language models and deep networks for images; each has its own --help.\n\n"
        "mpirun -n 4 ingot train ... divides the parts of each step (--shards) among 4 processes.\n"
        "Results have the same bits for every number of processes. Checkpoints fit all of them.\n\n"
        "The same seed gives the same losses, to the last bit. Ctrl-C stops after the current\n"
        "step and, with --save, saves first.",
        options};
    s.command = &c;
    int code = options_read(&c, &argc, argv);
    if (code < 0 && argc != 1) {
        say(&c, "%s; see 'ingot train --help'",
            argc ? "one data set at a time" : "a data set is missing: ingot train digits");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = engine_apply(&c, &set.engine);
    if (code >= 0)
        return code;
    set.dataset = argv[0];
    set.quiet |= ig_team_rank() > 0;
    ig_team_share(false); /* ranks evaluate different samples */
    return run_session(&s);
}
