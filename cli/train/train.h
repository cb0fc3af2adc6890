/* The parts of ingot train: data and net, then state (a checkpoint's text) and result (JSON). ingot predict reads the
 * checkpoints. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli.h"
#include "progress.h"
#include "train/names.h"
#include "train/table.h"

#include <ingot.h>

enum {
    DIGIT_CLASSES = 10, /* of digits and of MNIST */
    HELD_BACK = 6       /* without test samples, one in HELD_BACK is held out for the test */
};

/* ---- data.c, file.c ---- */

/* Samples, and their classes or targets. */
typedef struct samples {
    ig_array *x;     /* (count, ...) */
    int64_t *labels; /* count numbers below dataset.outputs; NULL for regression */
    int64_t count;
    ig_array *y; /* regression: targets (count, outputs) in f32; else NULL */
} samples;

/* The training samples and the test samples. */
typedef struct dataset {
    samples train, test;
    int64_t outputs;         /* number of classes, or of targets per sample */
    bool regression;         /* samples have targets, not classes */
    ig_array *y_shift;       /* regression: the network learns (y - y_shift) / y_deviation */
    double *y_deviation;     /* of each target */
    ig_array *shift, *scale; /* the network's input is (x - shift) * scale */
    int64_t epochs;          /* the default number of epochs */
    name_list classes;       /* their names; none: they are numbers */
    encoding encoding;       /* of the rows of a table */
} dataset;

/* Reads the data set of that name (from folder, if not NULL), or the file of that name; with targets if d->regression
 * is set. `target`: the column of a table with the classes or targets; NULL: the last one. Returns -1, or the exit code after
 * reporting an error. Call dataset_free in both cases. */
int dataset_open(const command *c, dataset *d, const char *name, const char *folder,
                 const char *target);
void dataset_free(dataset *d);

/* Same, for a file of named arrays. A scope is open. */
int file_open(const command *c, dataset *d, const char *path, const char *target);

/* The default number of epochs for n samples. */
int64_t epochs_for(int64_t n);

/* Scales samples by 1 / white: the brightest pixel becomes 1. */
bool dataset_white(dataset *d, double white);

/* The part of x and y for training, or the held-out part: one sample in HELD_BACK. */
bool samples_split(ig_array *x, ig_array *y, bool held_back, ig_array **x_part, ig_array **y_part);

/* The samples at n indices as f32 (n, ...), scaled, and their labels. */
ig_array *samples_pick(const dataset *d, const samples *p, const int64_t *indices, int64_t n);
ig_array *samples_labels(const samples *p, const int64_t *indices, int64_t n);
/* The standardized targets of these samples: (n, outputs). */
ig_array *samples_targets(const dataset *d, const samples *p, const int64_t *indices, int64_t n);
/* Adds "classes 3 and 5" or "class red", the classes that no training sample has; nothing if there are none. */
void dataset_empty_classes(const dataset *d, str *t);

/* ---- folder.c ---- */

/* The samples that images become. */
typedef struct folder_samples {
    int64_t shape[IG_MAX_NDIM]; /* -1: any length */
    int ndim;
    ig_dtype dtype;
    const char *mean, *std; /* as on the command line; NULL: not given */
} folder_samples;

/* The number of rows whose largest logit is the label. */
ig_array *count_right(ig_array *logits, ig_array *labels);

/* Reads a data set of images, one folder for each class, in the order of their names. Returns as dataset_open. */
int folder_open(const command *c, const folder_samples *f, dataset *d, const char *path);

/* ---- problem.c ---- */

/* The problem that a network was trained for. With it a checkpoint can be applied to samples without the data set. */
typedef struct problem {
    int64_t shape[IG_MAX_NDIM]; /* of a sample */
    int ndim;
    int64_t outputs;
    int64_t features; /* the length of shift and scale: the size of a sample's last axis, or 1 */
    double *shift, *scale;
    double *y_shift, *y_deviation; /* regression: `outputs` numbers; else NULL */
    name_list classes;             /* as in dataset */
    encoding encoding;
} problem;

/* Fills p from the data, and takes its names and encoding. False after an error of the library. */
bool problem_of(problem *p, dataset *d);
void problem_free(problem *p);

/* (x - shift) * scale, as f32. */
ig_array *problem_input(const problem *p, ig_array *x);
/* From the network's output: probabilities of the classes, or values in the units of the targets. */
ig_array *problem_output(const problem *p, ig_array *y);

/* ---- layers.c ---- */

enum { LAYERS_MOST = 64 };

typedef struct train_layer {
    const struct layer_kind *kind;
    double number; /* linear layer: outputs; dropout: the probability */
} train_layer;

/* The layers of --layers; n is 0 without the option. */
typedef struct layer_list {
    train_layer at[LAYERS_MOST];
    int n;
    char text[512]; /* as written by the user */
} layer_list;

/* Parses "64,relu,dropout:0.1,10". On failure returns false, with the reason in why. */
bool layers_read(layer_list *l, const char *text, str *why);
ig_array *layers_run(const layer_list *l, ig_model *m, ig_array *x);
/* The kind of a layer as --layers names it; "" for a linear layer. */
const char *layer_kind_name(const train_layer *l);
/* The number of outputs of the last layer. */
int64_t layers_outputs(const layer_list *l);

/* ---- net.c ---- */

/* Maps x (n, ...) to logits or values (n, outputs). */
typedef ig_array *net_forward(ig_model *m, ig_array *x, int64_t outputs);

typedef struct net {
    const char *name;
    net_forward *forward;             /* NULL: the layers of --layers */
    bool (*takes)(const ig_array *x); /* true if samples of this shape fit */
    const char *wants;                /* the shape that it takes, in words */
} net;

/* An optimizer. */
typedef struct update_rule {
    const char *name;
    double lr; /* the default learning rate */
    ig_optimizer *(*make)(double lr);
} update_rule;

/* Whether images of three axes whose last one has this length have their channels there. */
bool net_channels_last(int64_t length);

/* The output of the network of a run. */
struct training;
struct tuning;
ig_array *net_run(const struct training *t, ig_model *m, ig_array *x);

/* Finds a network or optimizer by name. If the name is unknown, returns NULL and reports it unless c is NULL. */
const net *net_find(const command *c, const char *name);
const update_rule *rule_find(const command *c, const char *name);

/* ---- state.c ---- */

#define SEED_NONE UINT64_MAX /* no seed was given */
enum { ONNX_HASH_CHARS = 65 };

/* The settings of a run and its progress: everything in a checkpoint except the arrays. */
typedef struct training {
    const net *net;
    layer_list layers;
    /* --model FILE.onnx: its path (in the heap), the hash of its content, and the number of last layers that are trained. */
    char *onnx, onnx_hash[ONNX_HASH_CHARS];
    int64_t tuned;
    struct tuning *tuning; /* the model, while it runs; borrowed */
    bool regression;       /* the loss is the mean square error */
    problem problem;
    const update_rule *rule;
    double lr;
    int64_t batch, epochs;
    int64_t shards; /* parts of a step, see ig_shards_begin; 0: ig_step */
    uint64_t seed;
    int64_t epoch, step;     /* completed epochs, and completed steps of the current epoch */
    double sum;              /* sum of the current epoch's losses over its samples */
    int64_t right;           /* samples of the current epoch that were classified correctly */
    double *loss, *accuracy; /* per completed epoch; for a regression, accuracy is R^2 */
} training;

/* Writes the text for ig_model_save. */
void training_write(const training *t, str *text);

/* Takes from text the settings that t lacks (NULL, 0, SEED_NONE), the problem, and the progress of the run. False, with
 * the reason in why, if the text is not a checkpoint's or contradicts t. */
bool training_read(training *t, const char *text, str *why);

void training_grow(training *t,
                   int64_t epochs); /* makes room for the figures of that many epochs */
void training_free(training *t);

/* ---- result.c ---- */

/* The options of the user; NULL: not given. */
typedef struct train_settings {
    const char *dataset, *data, *target, *model, *layers, *loss, *optimizer, *save, *resume;
    int64_t side;                    /* pixels of an image's sides; 0: not given */
    const char *output, *mean, *std; /* of ONNX models */
    bool json, quiet, divide;
    engine_options engine;
} train_settings;

typedef struct train_result {
    double seconds;
    double test_accuracy, test_mse; /* for a regression, test_accuracy is R^2 */
    bool interrupted;               /* if so, there was no test */
} train_result;

void train_result_json(const train_result *end, const train_settings *set, const training *run);

#endif
