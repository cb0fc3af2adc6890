/* What the layers of layers.c and blocks.c share. */
#ifndef NN_LAYERS_H
#define NN_LAYERS_H

#include "lib/nn/model.h"

/* True if there is a model, a name and an x of at least ndim axes; else an error that states the shape. */
bool layer_usable(const char *layer, const ig_model *m, const char *name, const ig_array *x,
                  int ndim, const char *shape);

/* Checks that a size from the caller is above 0. */
bool layer_positive(const char *layer, const char *name, const char *what, int64_t value);

/* The dtype of new parameters. */
ig_dtype layer_dtype(const ig_array *x);

/* Applies the linear layer name.part to x (..., in); part may be NULL. */
ig_array *layer_linear(ig_model *m, const char *name, const char *part, ig_array *x, int64_t out,
                       bool bias);

#endif
