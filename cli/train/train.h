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

/* Samples, and their classes or targets. */
typedef struct samples {
    ig_array *x;     /* (count, ...) */
    int64_t *labels; /* count numbers below dataset.outputs; NULL for regression */
    int64_t count;
    ig_array *y; /* regression: targets (count, outputs) in f32; else NULL */
} samples;

/* What is learnt from, and what is held back to test with. */
typedef struct dataset {
    samples train, test;
    int64_t outputs;     /* classes, or targets of a sample */
    bool regression;     /* samples have targets, not classes */
    ig_array *y_shift;   /* regression: a network learns (y - y_shift) / y_deviation */
    double *y_deviation; /* of each target */
    /* A network sees (x - shift) * scale, or x / white where they are NULL. */
    double white;
    ig_array *shift, *scale;
    int64_t epochs; /* unless another number is asked for */
} dataset;

/* Reads the data set of that name, from folder unless NULL, or the file of that name; with targets if d->regression is
 * set. Returns -1, or the exit code after the mistake was reported. Release with dataset_free also then. */
int dataset_open(const command *c, dataset *d, const char *name, const char *folder);
void dataset_free(dataset *d);

/* The same for a file of named arrays; a scope is open. */
int file_open(const command *c, dataset *d, const char *path);

/* The part of x and y that is learnt from, or held back: one sample in HELD_BACK. */
bool samples_split(ig_array *x, ig_array *y, bool held_back, ig_array **x_part, ig_array **y_part);

/* The n samples of these indices as f32 (n, ...), scaled, and their labels. */
ig_array *samples_pick(const dataset *d, const samples *p, const int64_t *indices, int64_t n);
ig_array *samples_labels(const samples *p, const int64_t *indices, int64_t n);
/* Their targets, standardized: (n, outputs). */
ig_array *samples_targets(const dataset *d, const samples *p, const int64_t *indices, int64_t n);
/* Adds "classes 3 and 5" of the classes that no sample to learn from has; nothing if there are none. */
void dataset_empty_classes(const dataset *d, str *t);

/* ---- layers.c ---- */

enum { LAYERS_MOST = 64 };

typedef struct train_layer {
    const struct layer_kind *kind;
    double number; /* outputs of a linear layer, the probability of dropout */
} train_layer;

/* The layers of --layers; none: n is 0. */
typedef struct layer_list {
    train_layer at[LAYERS_MOST];
    int n;
    char text[512]; /* as they were written */
} layer_list;

/* Reads "64,relu,dropout:0.1,10"; false, with the reason in why, if it is something else. */
bool layers_read(layer_list *l, const char *text, str *why);
ig_array *layers_run(const layer_list *l, ig_model *m, ig_array *x);
/* The outputs of the last layer. */
int64_t layers_outputs(const layer_list *l);

/* ---- net.c ---- */

/* From x (n, ...) to logits or values (n, outputs). */
typedef ig_array *net_forward(ig_model *m, ig_array *x, int64_t outputs);

typedef struct net {
    const char *name;
    net_forward *forward;             /* NULL: the layers of --layers */
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
    layer_list layers;
    bool regression; /* the loss is the mean square error */
    const update_rule *rule;
    double lr;
    int64_t batch, epochs;
    uint64_t seed;
    int64_t epoch, step;     /* epochs done, and steps done of the current one */
    double sum;              /* of the current epoch's losses, by sample */
    int64_t right;           /* samples of the current epoch that were classified correctly */
    double *loss, *accuracy; /* of each epoch that is done; of a regression, R^2 is the accuracy */
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
    const char *dataset, *data, *model, *layers, *loss, *optimizer, *save, *resume;
    bool json, quiet;
    engine_options engine;
} train_settings;

typedef struct train_result {
    double seconds;
    double test_accuracy, test_mse; /* test_mse: of a regression, whose R^2 is test_accuracy */
    bool interrupted;               /* then there was no test */
} train_result;

void train_result_json(const train_result *end, const train_settings *set, const training *run);

#endif
