/* The text of a checkpoint: a line "key value" for each setting, always in the same order. Floats are
 * written in hexadecimal, so that a resumed run has exactly the same bits. */
#include "train/train.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char first_line[] = "ingot-train 2", old_line[] = "ingot-train 1";
enum { EPOCHS_MOST = 1000000 };

void training_grow(training *t, int64_t epochs)
{
    t->loss = heap_resize(t->loss, sizeof *t->loss * (size_t)(epochs + 1));
    t->accuracy = heap_resize(t->accuracy, sizeof *t->accuracy * (size_t)(epochs + 1));
}

void training_free(training *t)
{
    problem_free(&t->problem);
    free(t->onnx);
    free(t->loss);
    free(t->accuracy);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_floats(str *text, const char *key, const double *f, int64_t n)
{
    str_puts(text, key);
    for (int64_t i = 0; i < n; i++)
        str_printf(text, " %a", f[i]);
    str_puts(text, "\n");
}

static void write_problem(str *text, const problem *p)
{
    str_puts(text, "sample");
    for (int i = 0; i < p->ndim; i++)
        str_printf(text, " %lld", (long long)p->shape[i]);
    str_printf(text, "\noutputs %lld\nfeatures %lld\n", (long long)p->outputs,
               (long long)p->features);
    write_floats(text, "shift", p->shift, p->features);
    write_floats(text, "scale", p->scale, p->features);
    if (p->classes.n) {
        str_puts(text, "classes ");
        name_list_write(&p->classes, text);
        str_puts(text, "\n");
    }
    encoding_write(&p->encoding, text);
    if (p->y_shift) {
        write_floats(text, "target_shift", p->y_shift, p->outputs);
        write_floats(text, "target_deviation", p->y_deviation, p->outputs);
    }
}

void training_write(const training *t, str *text)
{
    str_printf(text, "%s\nmodel %s\noptimizer %s\n", first_line, t->net->name, t->rule->name);
    if (t->layers.n)
        str_printf(text, "layers %s\n", t->layers.text);
    if (t->onnx)
        str_printf(text, "onnx %s\nhash %s\ntuned %lld\n", t->onnx, t->onnx_hash,
                   (long long)t->tuned);
    if (t->regression)
        str_puts(text, "criterion mse\n");
    if (t->shards)
        str_printf(text, "shards %lld\n", (long long)t->shards);
    write_problem(text, &t->problem);
    write_floats(text, "lr", &t->lr, 1);
    str_printf(text, "batch %lld\nseed %llu\nepochs %lld\nepoch %lld\nstep %lld\n",
               (long long)t->batch, (unsigned long long)t->seed, (long long)t->epochs,
               (long long)t->epoch, (long long)t->step);
    write_floats(text, "sum", &t->sum, 1);
    str_printf(text, "right %lld\n", (long long)t->right);
    write_floats(text, "loss", t->loss, t->epoch);
    write_floats(text, "accuracy", t->accuracy, t->epoch);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The rest of the text. The first unexpected line sets `bad`. */
typedef struct reader {
    char *at;
    bool bad;
} reader;

/* Returns the value of the next line, which must have this key; never NULL. */
static char *read_line(reader *r, const char *key)
{
    size_t n = strlen(key);
    char *line = r->at, *end = strchr(line, '\n');
    if (r->bad || !end || strncmp(line, key, n) != 0 || (line[n] != ' ' && line + n != end)) {
        r->bad = true;
        return r->at + strlen(r->at);
    }
    *end = 0;
    r->at = end + 1;
    return line + n + (line[n] == ' ');
}

/* Whether the next line has this key. */
static bool is_next(const reader *r, const char *key)
{
    const size_t n = strlen(key);
    return !r->bad && strncmp(r->at, key, n) == 0 && r->at[n] == ' ';
}

/* The value of an optional line; NULL if it is missing. */
static char *read_optional(reader *r, const char *key)
{
    return is_next(r, key) ? read_line(r, key) : NULL;
}

static uint64_t read_whole(reader *r, const char *key, uint64_t most)
{
    char *end, *s = read_line(r, key);
    errno = 0;
    unsigned long long i = strtoull(s, &end, 10);
    r->bad |= errno || end == s || *end || *s < '0' || *s > '9' || i > most;
    return r->bad ? 0 : i;
}

static void read_floats(reader *r, const char *key, double *f, int64_t n)
{
    char *s = read_line(r, key), *end = s;
    for (int64_t i = 0; i < n && !r->bad; i++, s = end) {
        f[i] = strtod(s, &end);
        r->bad |= end == s || !isfinite(f[i]);
    }
    r->bad |= *end != 0;
}

/* A list of n floats in the heap. n was read, too: a number takes at least two bytes of the text. */
static double *read_list(reader *r, const char *key, int64_t n)
{
    r->bad |= n < 1 || (uint64_t)n > strlen(r->at) / 2;
    double *f = heap_get(sizeof *f * (size_t)(r->bad ? 1 : n));
    read_floats(r, key, f, r->bad ? 0 : n);
    return f;
}

static void read_problem(reader *r, problem *p, bool regression)
{
    char *s = read_line(r, "sample"), *end = s;
    for (; *s && !r->bad; s = end) {
        const long long dim = strtoll(s, &end, 10);
        r->bad |= end == s || dim < 1 || dim > INT32_MAX || p->ndim == IG_MAX_NDIM - 1;
        if (!r->bad)
            p->shape[p->ndim++] = dim;
    }
    p->outputs = (int64_t)read_whole(r, "outputs", INT32_MAX);
    p->features = (int64_t)read_whole(r, "features", INT32_MAX);
    p->shift = read_list(r, "shift", p->features);
    p->scale = read_list(r, "scale", p->features);
    const char *classes = read_optional(r, "classes"), *column;
    r->bad |= classes && (!name_list_read(&p->classes, classes) || p->classes.n != p->outputs);
    while ((column = read_optional(r, "column")) != NULL)
        r->bad |= !encoding_read(&p->encoding, column);
    if (regression) {
        p->y_shift = read_list(r, "target_shift", p->outputs);
        p->y_deviation = read_list(r, "target_deviation", p->outputs);
    }
    r->bad |= !p->ndim || !p->outputs || (p->features != 1 && p->features != p->shape[p->ndim - 1]);
}

static bool differs(str *why, const char *name, const char *file, const char *given)
{
    str_printf(why, "it was made with %s %s, not %s; leave out %s, or train from the start", name,
               file, given, name);
    return false;
}

static bool differs_whole(str *why, const char *name, uint64_t file, uint64_t given)
{
    char a[32], b[32];
    snprintf(a, sizeof a, "%llu", (unsigned long long)file);
    snprintf(b, sizeof b, "%llu", (unsigned long long)given);
    return differs(why, name, a, b);
}

/* Settings given on the command line must match the checkpoint. The others are taken from it. */
static bool adopt(training *t, training *file, str *why)
{
    if (t->layers.n && file->layers.n && strcmp(t->layers.text, file->layers.text) != 0)
        return differs(why, "--layers", file->layers.text, t->layers.text);
    if (t->tuned && file->tuned && t->tuned < INT32_MAX && t->tuned != file->tuned)
        return differs_whole(why, "--layers", (uint64_t)file->tuned, (uint64_t)t->tuned);
    if (t->net && t->net != file->net)
        return file->layers.n ? differs(why, "--layers", file->layers.text, "as --model")
               : t->layers.n  ? differs(why, "--model", file->net->name, "with --layers")
                              : differs(why, "--model", file->net->name, t->net->name);
    if (t->regression && !file->regression)
        return differs(why, "--loss", "cross-entropy", "mse");
    if (t->rule && t->rule != file->rule)
        return differs(why, "--optimizer", file->rule->name, t->rule->name);
    if (t->batch && t->batch != file->batch)
        return differs_whole(why, "--batch", (uint64_t)file->batch, (uint64_t)t->batch);
    if (t->seed != SEED_NONE && t->seed != file->seed)
        return differs_whole(why, "--seed", file->seed, t->seed);
    if (t->shards && file->shards && t->shards != file->shards)
        return differs_whole(why, "--shards", (uint64_t)file->shards, (uint64_t)t->shards);
    if (t->onnx) { /* the same model may have another name */
        free(file->onnx);
        file->onnx = t->onnx;
    }
    double lr = t->lr != 0 ? t->lr : file->lr;
    const int64_t epochs = t->epochs ? t->epochs : file->epochs,
                  shards = file->shards ? file->shards : t->shards;
    *t = *file;
    t->lr = lr;
    t->epochs = epochs;
    t->shards = shards;
    return true;
}

/* The lines of --model FILE.onnx, which are optional. */
static void read_onnx(reader *r, training *t)
{
    const char *path = read_optional(r, "onnx");
    if (!path)
        return;
    const char *hash = read_line(r, "hash");
    t->onnx = heap_string(path);
    r->bad |= strlen(hash) != ONNX_HASH_CHARS - 1;
    if (!r->bad)
        memcpy(t->onnx_hash, hash, ONNX_HASH_CHARS);
    t->tuned = (int64_t)read_whole(r, "tuned", INT32_MAX);
    r->bad |= !t->tuned;
}

/* The network is one of the table, or described by the lines that follow its name. */
static bool net_fits(const training *t)
{
    const char *name = t->net->name;
    return (strcmp(name, "layers") == 0) == (t->layers.n > 0) &&
           (strcmp(name, "onnx") == 0) == (t->onnx != NULL);
}

bool training_read(training *t, const char *text, str *why)
{
    char *copy = heap_string(text ? text : "");
    reader r = {copy, false};
    training file = {0};
    bool ours = text && *read_line(&r, first_line) == 0 && !r.bad;
    const char *model = ours ? read_line(&r, "model") : "";
    const char *optimizer = ours ? read_line(&r, "optimizer") : "";
    const char *layers = ours ? read_optional(&r, "layers") : NULL;
    if (ours)
        read_onnx(&r, &file);
    const char *criterion = ours ? read_optional(&r, "criterion") : NULL;
    str ignored = {0};
    r.bad |= layers && !layers_read(&file.layers, layers, &ignored);
    r.bad |= criterion && strcmp(criterion, "mse") != 0;
    file.regression = criterion != NULL;
    str_free(&ignored);
    file.shards = is_next(&r, "shards") ? (int64_t)read_whole(&r, "shards", INT32_MAX) : 0;
    read_problem(&r, &file.problem, file.regression);
    read_floats(&r, "lr", &file.lr, 1);
    file.batch = (int64_t)read_whole(&r, "batch", INT32_MAX);
    file.seed = read_whole(&r, "seed", SEED_NONE - 1);
    file.epochs = (int64_t)read_whole(&r, "epochs", EPOCHS_MOST);
    file.epoch = (int64_t)read_whole(&r, "epoch", EPOCHS_MOST);
    file.step = (int64_t)read_whole(&r, "step", INT32_MAX);
    read_floats(&r, "sum", &file.sum, 1);
    file.right = (int64_t)read_whole(&r, "right", INT32_MAX);
    training_grow(&file, file.epoch);
    read_floats(&r, "loss", file.loss, file.epoch);
    read_floats(&r, "accuracy", file.accuracy, file.epoch);
    bool fine = false;
    if (text && strncmp(text, old_line, strlen(old_line)) == 0)
        str_puts(why, "it was made by an older version of ingot; train again");
    else if (!ours || r.bad || !file.batch || !(file.lr > 0))
        str_puts(why, "it is not a checkpoint of ingot train");
    else if ((file.net = net_find(NULL, model)) && (file.rule = rule_find(NULL, optimizer)) &&
             net_fits(&file))
        fine = adopt(t, &file, why);
    else
        str_puts(why, "it was made by another version of ingot");
    if (!fine)
        training_free(&file);
    free(copy);
    return fine;
}
