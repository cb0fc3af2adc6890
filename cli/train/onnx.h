/* ingot train --model FILE.onnx: an ONNX classifier as the network of a run. */
#ifndef CLI_TRAIN_ONNX_H
#define CLI_TRAIN_ONNX_H

#include "train/train.h"

typedef struct tuning {
    const command *command;
    const char *path;
    ig_onnx *model;
    ig_dtype dtype;             /* of its input */
    int64_t shape[IG_MAX_NDIM]; /* of a sample; -1: any length */
    int ndim;
    int64_t batch; /* samples that the model takes; 0: any number */
    int *weights;  /* numbers of those that are trained */
    int n;
} tuning;

/* Loads the model and checks its input and its content: the hash of `made`, unless it is empty, must be its own; else it is
 * written there. Returns -1, or the exit code after reporting an error. Call tuning_close in both cases. */
int tuning_open(tuning *u, const char *path, char made[ONNX_HASH_CHARS]);
void tuning_close(tuning *u);

/* Gives samples the shape that the model takes. Returns -1, or the exit code after reporting an error. */
int tuning_fit(const tuning *u, const char *shown, dataset *d);
/* Selects the weights of the last `layers` layers, at most all, and writes their number; gives the model the classes of the
 * data; creates the parameters in m. Returns -1, or the exit code after reporting an error. */
int tuning_begin(tuning *u, ig_model *m, const dataset *d, int64_t *layers, uint64_t seed,
                 bool quiet);
/* `n` samples from `start` on. Past the end, the last sample is repeated. */
ig_array *samples_at(ig_array *x, int64_t start, int64_t n);
/* Logits (n, classes) of samples. */
ig_array *tuning_run(tuning *u, ig_model *m, ig_array *x);
/* Writes the model with the parameters of m. Returns -1, or the exit code. */
int tuning_write(tuning *u, ig_model *m, const char *path);

#endif
