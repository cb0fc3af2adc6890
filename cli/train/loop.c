/* The training loop. See loop.h. */
#include "loop.h"

#include "../progress.h"
#include "base/team.h"
#include "ranks.h"
#include "text_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the order of samples -------------------------------------------------------------------- */

/* The numbers of the samples in the order of an epoch; NULL on failure. The orders of two epochs in sequence are kept. */
static const int64_t *order_of(train_loop *l, int64_t epoch)
{
    const int i = epoch & 1;
    if (l->order[i].epoch == epoch)
        return l->order[i].list;
    if (!l->order[i].list)
        l->order[i].list = heap_get((size_t)l->samples * sizeof(int64_t));
    if (ig_scope_begin() != IG_OK)
        return NULL;
    ig_array *key = ig_fold_in(ig_key(l->seed, NULL), epoch);
    ig_array *mixed = ig_permutation(key, ig_arange(0, (double)l->samples, 1, IG_I64), 0);
    const bool fine =
        ig_read(mixed, l->order[i].list, sizeof(int64_t) * (size_t)l->samples) == IG_OK;
    ig_scope_end();
    l->order[i].epoch = fine ? epoch : -1;
    return fine ? l->order[i].list : NULL;
}

/* Batch k of a step. False on failure. */
static bool batch_of(train_loop *l, int64_t step, int64_t k, loop_batch *b)
{
    const int64_t epoch = step / l->epoch_steps;
    const int64_t first = (step % l->epoch_steps * l->accumulate + k) * l->batch;
    const int64_t *order = order_of(l, epoch);
    *b = (loop_batch){order ? order + first : NULL, l->batch, epoch, first};
    return order != NULL;
}

/* Tells the task which batch comes after batch k of a step; the ranks have batches [first, end) of each step. */
static bool expect(train_loop *l, int64_t step, int64_t k, int64_t first, int64_t end)
{
    loop_batch b;
    const bool later = k + 1 >= end;
    if (!l->task->expect || (later && step + 1 >= l->steps))
        return true;
    if (!batch_of(l, later ? step + 1 : step, later ? first : k + 1, &b))
        return false;
    l->task->expect(l->at, &b);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* One part of a step: a batch. `reads`: the loss is needed. */
static bool learn_part(train_loop *l, int64_t step, int64_t k, double *sum, bool reads)
{
    const bool last = k + 1 == l->accumulate;
    double value = 0, *const out = reads ? &value : NULL;
    loop_batch b;
    if (!batch_of(l, step, k, &b) || ig_scope_begin() != IG_OK)
        return false;
    ig_array *loss = l->task->loss(l->at, &b);
    bool fine = loss && expect(l, step, k, 0, l->accumulate);
    if (l->accumulate > 1)
        loss = ig_divide(loss, ig_float((double)l->accumulate));
    fine =
        fine && (last ? ig_step : ig_step_add)(l->optimizer, l->net, loss, out, NULL, 0) == IG_OK;
    ig_scope_end();
    *sum += value;
    return fine;
}

static bool learn(train_loop *l, int64_t step, double *loss, bool reads)
{
    bool fine = true;
    for (int64_t k = 0; k < l->accumulate && fine; k++)
        fine = learn_part(l, step, k, loss, reads);
    return fine;
}

/* Prints the schedule of a step, with the first samples. Device `null` can do this, too. */
static int explain(train_loop *l)
{
    int64_t *list = heap_get((size_t)l->batch * sizeof *list);
    for (int64_t i = 0; i < l->batch; i++)
        list[i] = i;
    bool fine = ig_scope_begin() == IG_OK;
    ig_array *loss = fine ? l->task->loss(l->at, &(loop_batch){.list = list, .n = l->batch}) : NULL;
    char *explained = loss ? ig_step_explain(l->optimizer, l->net, loss, NULL, 0) : NULL;
    if (fine)
        ig_scope_end();
    if (explained)
        text_print(stdout, explained);
    fine = explained != NULL;
    ig_free(explained);
    free(list);
    return fine ? EXIT_FINE : loop_failed(l);
}

/* The same under mpirun: the ranks divide the parts. */
static bool learn_shards(train_loop *l, int64_t step, double *loss)
{
    int first, end;
    const int count = (int)l->accumulate;
    bool fine = ig_shards_begin(l->optimizer, l->net, count, &first, &end) == IG_OK;
    for (int k = first; k < end && fine; k++) {
        loop_batch b;
        if (!batch_of(l, step, k, &b) || ig_scope_begin() != IG_OK)
            return false;
        ig_array *part = l->task->loss(l->at, &b);
        fine = part && expect(l, step, k, first, end) &&
               ig_shards_add(l->optimizer, l->net, part, 1.0 / count, NULL, 0) == IG_OK;
        ig_scope_end();
    }
    return fine && ig_shards_step(l->optimizer, l->net, loss, NULL, 0) == IG_OK;
}

static bool test(train_loop *l)
{
    ig_model_train(l->net, false);
    const bool fine = l->task->test(l->at, &l->score);
    ig_model_train(l->net, true);
    return fine && !ig_failed();
}

/* ---- files ----------------------------------------------------------------------------------- */

const char *loop_path(const train_loop *l, const char *name, char path[4096])
{
    snprintf(path, 4096, "%s/%s", l->save, name);
    return path;
}

/* The settings that decide the bits of the result. */
static void settings_write(const train_loop *l, str *s)
{
    l->task->settings(l->at, s);
    str_printf(s, "--dtype %s\n--batch %lld\n--accumulate %lld\n", l->dtype, (long long)l->batch,
               (long long)l->accumulate);
    str_printf(s, "--steps %lld\n--lr %a\n--last %a\n--warmup %lld\n", (long long)l->steps, l->lr,
               l->last, (long long)l->warmup);
    str_printf(s, "--decay %a\n--clip %a\n--seed %llu\n", l->decay, l->clip,
               (unsigned long long)l->seed);
    if (l->patience)
        str_printf(s, "--patience %lld\n--save-every %lld\n", (long long)l->patience,
                   (long long)l->save_every);
}

/* Writes the model folder if `model`, and then the checkpoint. All ranks call it. */
static bool save(train_loop *l, const char *settings, int64_t step, bool model)
{
    char path[4096];
    const text_progress at = {.epoch = step / l->epoch_steps,
                              .step = step % l->epoch_steps,
                              .sum = l->best,
                              .right = l->since};
    if (!l->save)
        return true;
    if (ig_team_rank() == 0 && model && l->task->save(l->at, l->save) != IG_OK)
        return false;
    return text_state_save(l->command, l->net, l->optimizer, settings, &at,
                           loop_path(l, "checkpoint.safetensors", path)) == IG_OK;
}

/* Creates the folder of the result, so that a bad name is reported before the training. */
static int save_begin(const train_loop *l)
{
    char path[4096];
    struct stat info;
    if (!l->save || ig_team_rank() > 0)
        return -1;
    if (mkdir(l->save, 0777) != 0 && errno != EEXIST) {
        say(l->command, "--save %s: it cannot be written: %s", l->save, strerror(errno));
        return EXIT_INPUT;
    }
    const bool exists = stat(loop_path(l, "checkpoint.safetensors", path), &info) == 0;
    if (exists == l->resume)
        return -1;
    say(l->command,
        exists ? "--save %s: it has a checkpoint; give --resume to continue, or another folder"
               : "--resume: %s has no checkpoint.safetensors",
        l->save);
    return EXIT_INPUT;
}

/* ---- the run --------------------------------------------------------------------------------- */

int loop_failed(const train_loop *l) { return ig_failed() ? fail_library(l->command) : EXIT_INPUT; }

static int diverged(const train_loop *l, int64_t step)
{
    say(l->command, "the loss is not finite in step %lld: it diverges; try a smaller --lr than %g",
        (long long)step, l->lr);
    return EXIT_FAILED;
}

/* After a step: lines, tests, samples and checkpoints that are due. */
static int report(train_loop *l, const char *settings, int64_t step)
{
    const bool last = step == l->steps || l->stopped, saves = last || step % l->save_every == 0;
    if (step % l->every == 0 || last) {
        if (!isfinite(l->loss))
            return diverged(l, step);
        loop_log_step(&l->lines, step, l->steps, l->loss, ig_optimizer_rate(l->optimizer));
    }
    if (!saves)
        return -1;
    /* With --patience all ranks test, so that all stop. A test of an interrupted run does not count, as the run that continues
     * does not make it. */
    bool keeps = !l->since; /* the model, but not in place of a better one */
    const bool tests = l->held && (l->patience || ig_team_rank() == 0);
    if (tests && !test(l))
        return loop_failed(l);
    if (tests && ig_team_rank() == 0)
        loop_log_test(&l->lines, step, &l->score);
    if (l->patience && (step == l->steps || step % l->save_every == 0)) {
        const bool better = !l->since || l->score.loss < l->best;
        l->best = better ? l->score.loss : l->best;
        l->since = better ? 1 : l->since + 1;
        keeps = better;
    }
    if (!save(l, settings, step, keeps))
        return loop_failed(l);
    if (l->task->sample && l->save && ig_team_rank() == 0 && !l->stopped)
        return l->task->sample(l->at);
    return -1;
}

/* True if the held-out loss has not fallen for --patience tests. */
static bool is_enough(const train_loop *l) { return l->patience && l->since > l->patience; }

static int learn_all(train_loop *l, const char *settings, int64_t step)
{
    int code = -1;
    l->begun = l->lines.begin_step = step;
    while (step < l->steps && code < 0 && !l->stopped && !is_enough(l)) {
        const bool reads = (step + 1) % l->every == 0 || step + 1 == l->steps;
        double loss = 0;
        if (!(team_is_started() ? learn_shards(l, step, &loss) : learn(l, step, &loss, reads)))
            return loop_failed(l);
        l->loss = reads || team_is_started() ? loss : l->loss;
        step++;
        l->stopped = step < l->steps && ranks_stop_asked();
        code = report(l, settings, step);
    }
    return code;
}

/* The number of steps, and the learning rates. */
static int steps_find(train_loop *l)
{
    l->epoch_steps = l->samples / (l->batch * l->accumulate);
    if (l->epoch_steps < 1) {
        say(l->command,
            "the data have %lld samples to learn from, fewer than a step has (%lld); give a "
            "smaller "
            "--batch or --accumulate",
            (long long)l->samples, (long long)(l->batch * l->accumulate));
        return EXIT_INPUT;
    }
    l->steps = l->steps ? l->steps : l->epochs * l->epoch_steps;
    l->warmup = l->warmup ? l->warmup : l->steps / 20 + 1;
    return -1;
}

static int prepare(train_loop *l)
{
    int code = engine_apply(l->command, &l->engine);
    if (code < 0)
        code = l->task->open(l->at);
    if (code < 0)
        code = steps_find(l);
    if (code < 0)
        code = save_begin(l);
    if (code >= 0)
        return code;
    const ig_dtype dtype = strcmp(l->dtype, "bf16") == 0 ? IG_BF16 : IG_F32;
    l->net = ig_model_new(l->seed);
    l->optimizer = l->task->optimizer(l->at);
    if (!l->net || !l->optimizer || ig_model_mixed(l->net, dtype) != IG_OK ||
        ig_schedule_warmup(l->optimizer, l->warmup) != IG_OK ||
        ig_schedule_cosine(l->optimizer, l->steps > 1 ? l->steps : 2, l->last) != IG_OK ||
        ig_optimizer_clip(l->optimizer, l->clip) != IG_OK ||
        ig_optimizer_decay_ndim(l->optimizer, 2) != IG_OK || l->task->build(l->at) != IG_OK)
        return fail_library(l->command);
    ig_model_train(l->net, true);
    const double each = (double)(l->batch * l->accumulate);
    l->lines.unit = l->task->unit;
    l->lines.units = each * l->units_each;
    l->lines.flops = each * l->flops;
    l->lines.quiet = l->quiet || l->explain;
    return loop_log_open(l->command, &l->lines, ig_team_rank() == 0 ? l->log : NULL, l->resume,
                         dtype);
}

static int run_with(train_loop *l, const char *settings)
{
    char path[4096];
    text_progress at = {0};
    int code = -1;
    if (l->resume)
        code = text_state_load(l->command, l->net, l->optimizer, settings, &at,
                               loop_path(l, "checkpoint.safetensors", path));
    l->best = at.sum;
    l->since = at.right;
    if (code < 0 && team_is_started())
        code =
            ranks_begin(l->command, l->accumulate, settings, false, l->quiet, l->optimizer, l->net);
    interrupt_watch();
    return code < 0 ? learn_all(l, settings, at.epoch * l->epoch_steps + at.step) : code;
}

static void result_print(const train_loop *l)
{
    str out = {0};
    const bool moved = l->lines.begin_step > l->begun; /* there was a step */
    if (!l->json)
        return;
    str_json(&out, "{schema: 1");
    str_json(&out, strcmp(l->task->unit, "images") == 0 ? "images: %lld" : "tokens: %lld",
             (long long)l->units);
    str_json(&out, "steps: %lld", (long long)ig_optimizer_steps(l->optimizer));
    if (moved)
        str_json(&out, "loss: %.9g", l->loss);
    if (l->held && moved)
        str_json(&out, "test_loss: %.9g", l->score.loss);
    if (l->held && moved && l->score.accuracy >= 0)
        str_json(&out, "test_accuracy: %.9g", l->score.accuracy);
    str_json(&out, "interrupted: %hhd}\n", l->stopped);
    text_print(stdout, out.s);
    str_free(&out);
}

int loop_run(train_loop *l)
{
    l->quiet |= ig_team_rank() > 0;
    ig_team_share(false); /* ranks evaluate different batches */
    int code = prepare(l);
    if (code >= 0 || l->explain)
        return code >= 0 ? code : explain(l);
    str settings = {0};
    settings_write(l, &settings);
    code = run_with(l, settings.s);
    str_free(&settings);
    if (code >= 0)
        return code;
    if (is_enough(l) && !l->quiet)
        say(l->command, "stopped: the last %lld losses on held-out %s are not below %.4f",
            (long long)l->patience, l->task->unit, l->best);
    if (ig_team_rank() == 0)
        result_print(l);
    if (l->stopped && !l->quiet)
        say(l->command, "interrupted%s%s",
            l->save ? "; continue with --resume --save " : "; nothing was saved (--save)",
            l->save ? l->save : "");
    return l->stopped ? EXIT_INTERRUPTED : EXIT_FINE;
}

void loop_free(train_loop *l)
{
    loop_log_close(&l->lines);
    ig_optimizer_free(l->optimizer);
    ig_model_free(l->net);
    for (int i = 0; i < 2; i++)
        free(l->order[i].list);
}

bool option_float_dtype(const char *s, void *place)
{
    *(const char **)place = s;
    return strcmp(s, "f32") == 0 || strcmp(s, "bf16") == 0;
}
