/* ingot train, in parts: data -> net -> run -> checkpoint. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli.h"
#include "progress.h"

#include <ingot.h>

enum { CLASSES = 10 };

/* ---- data.c ---- */

/* Pictures and what they show. */
typedef struct pictures {
    ig_array *images; /* u8 (count, height, width) */
    int64_t *labels;  /* count numbers below CLASSES */
    int64_t count, height, width;
} pictures;

/* What is learnt from, and what is held back to test with. */
typedef struct dataset {
    pictures train, test;
    double white;   /* the largest value of a pixel */
    int64_t epochs; /* unless another number is asked for */
} dataset;

/* Reads the data set of that name, from folder unless NULL; returns -1, or the exit code after the
 * mistake was reported. Release with dataset_free also then. */
int dataset_open(const command *c, dataset *d, const char *name, const char *folder);
void dataset_free(dataset *d);

/* The n pictures of these indices as f32 (n, height, width) between 0 and 1, and their labels. */
ig_array *pictures_pick(const dataset *d, const pictures *p, const int64_t *indices, int64_t n);
ig_array *pictures_labels(const pictures *p, const int64_t *indices, int64_t n);

/* ---- net.c ---- */

/* From x (n, height, width) to logits (n, CLASSES). */
typedef ig_array *net_forward(ig_model *m, ig_array *x);

typedef struct net {
    const char *name;
    net_forward *forward;
    int64_t least; /* height and width of a picture */
} net;

typedef struct teacher {
    const char *name;
    double lr; /* unless another one is asked for */
    ig_optimizer *(*make)(double lr);
} teacher;

/* By name; NULL after it was reported to be unknown, unless c is NULL. */
const net *net_find(const command *c, const char *name);
const teacher *teacher_find(const command *c, const char *name);

/* ---- state.c ---- */

#define SEED_NONE UINT64_MAX /* not given */

/* What a run is, how far it has come, and what it has seen: all that a checkpoint says beside the
 * arrays. */
typedef struct training {
    const net *net;
    const teacher *teacher;
    double lr;
    int64_t batch, epochs;
    uint64_t seed;
    int64_t epoch, step;     /* epochs done, and steps of the one under way */
    double sum;              /* its losses so far, by picture */
    int64_t right;           /* its pictures that were told right */
    double *loss, *accuracy; /* of each epoch that is done */
} training;

/* A text for ig_model_save. */
void training_write(const training *t, str *text);

/* Takes from text what was not given in t (NULL, 0, SEED_NONE), and how far the run came. False, with
 * why set to what is wrong, where the text is none of ours or says otherwise than t. */
bool training_read(training *t, const char *text, str *why);

void training_grow(training *t, int64_t epochs); /* room for so many */
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
