/* The parts of ingot train: data and net, then state (a checkpoint's text) and result (JSON). */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli.h"
#include "progress.h"

#include <ingot.h>

enum {
    DIGIT_CLASSES = 10, /* of digits and of MNIST */
    HELD_BACK = 6       /* without samples to test with, one in so many is kept for that */
};

/* ---- data.c, file.c ---- */

/* Samples and their classes. */
typedef struct samples {
    ig_array *x;     /* (count, ...) */
    int64_t *labels; /* count numbers below dataset.classes */
    int64_t count;
} samples;

/* What is learnt from, and what is held back to test with. */
typedef struct dataset {
    samples train, test;
    int64_t classes;
    /* A network sees (x - shift) * scale, or x / white where they are NULL. */
    double white;
    ig_array *shift, *scale;
    int64_t epochs; /* unless another number is asked for */
} dataset;

/* Reads the data set of that name, from folder unless NULL, or the file of that name; returns -1, or the
 * exit code after the mistake was reported. Release with dataset_free also then. */
int dataset_open(const command *c, dataset *d, const char *name, const char *folder);
void dataset_free(dataset *d);

/* The same for a file of named arrays; a scope is open. */
int file_open(const command *c, dataset *d, const char *path);

/* The part of x and y that is learnt from, or held back: one sample in HELD_BACK. */
bool samples_split(ig_array *x, ig_array *y, bool held_back, ig_array **x_part, ig_array **y_part);

/* The n samples of these indices as f32 (n, ...), scaled, and their labels. */
ig_array *samples_pick(const dataset *d, const samples *p, const int64_t *indices, int64_t n);
ig_array *samples_labels(const samples *p, const int64_t *indices, int64_t n);

/* ---- net.c ---- */

/* From x (n, ...) to logits (n, classes). */
typedef ig_array *net_forward(ig_model *m, ig_array *x, int64_t classes);

typedef struct net {
    const char *name;
    net_forward *forward;
    bool (*takes)(const ig_array *x); /* whether samples of this shape fit */
    const char *wants;                /* in words */
} net;

/* How an optimizer changes parameters. */
typedef struct update_rule {
    const char *name;
    double lr; /* unless another one is asked for */
    ig_optimizer *(*make)(double lr);
} update_rule;

/* By name; NULL after it was reported to be unknown, unless c is NULL. */
const net *net_find(const command *c, const char *name);
const update_rule *rule_find(const command *c, const char *name);

/* ---- state.c ---- */

#define SEED_NONE UINT64_MAX /* not given */

/* The settings of a run and how far it has come: everything in a checkpoint except the arrays. */
typedef struct training {
    const net *net;
    const update_rule *rule;
    double lr;
    int64_t batch, epochs;
    uint64_t seed;
    int64_t epoch, step;     /* epochs done, and steps done of the current one */
    double sum;              /* of the current epoch's losses, by sample */
    int64_t right;           /* samples of the current epoch that were classified correctly */
    double *loss, *accuracy; /* of each epoch that is done */
} training;

/* Writes the text for ig_model_save. */
void training_write(const training *t, str *text);

/* Takes from text what was not given in t (NULL, 0, SEED_NONE), and how far the run came. False, with
 * the reason in why, if the text is not a checkpoint's or contradicts t. */
bool training_read(training *t, const char *text, str *why);

void training_grow(training *t, int64_t epochs); /* makes room for the figures of so many epochs */
void training_free(training *t);

/* ---- result.c ---- */

/* What the user asked for; NULL: not given. */
typedef struct train_settings {
    const char *dataset, *data, *model, *optimizer, *save, *resume;
    bool json, quiet;
    engine_options engine;
} train_settings;

typedef struct train_result {
    double seconds, test_accuracy;
    bool interrupted; /* then there was no test */
} train_result;

void train_result_json(const train_result *end, const train_settings *set, const training *run);

#endif
