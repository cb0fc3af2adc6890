/* Training steps as works of bench/ours.c; see train.c. */
#ifndef BENCH_TRAIN_H
#define BENCH_TRAIN_H

#include "ingot.h"

#include <string.h>

struct training;

/* name: "train_mlp", "train_mlp_compiled" or "train_cnn"; in are the inputs, which outlive it. NULL on
 * failure. */
struct training *training_new(const char *name, ig_array *const *in, int n);
void training_free(struct training *t);

/* One step; the loss, evaluated, in the innermost scope. */
ig_array *training_step(struct training *t);
/* The losses of the next few steps. */
ig_array *training_answer(struct training *t);

#endif
