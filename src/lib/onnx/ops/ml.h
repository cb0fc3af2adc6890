/* Helpers that the classifiers of ai.onnx.ml share. */
#ifndef ONNX_OPS_ML_H
#define ONNX_OPS_ML_H

#include "lib/onnx/op.h"

typedef enum ml_transform {
    ML_NONE,
    ML_SOFTMAX,
    ML_LOGISTIC,
    ML_SOFTMAX_ZERO,
    ML_PROBIT
} ml_transform;

/* The attribute post_transform. */
ml_transform ml_transform_of(onnx_call *c);
/* Scores (rows, n) after it. */
ig_array *ml_transformed(ig_array *scores, ml_transform t);

/* The labels of a classifier: integers or strings. */
typedef struct ml_labels {
    int n; /* 0: none are given; labels are indices */
    const int64_t *ints;
    const onnx_bytes *texts;
} ml_labels;

ml_labels ml_labels_of(onnx_call *c, const char *ints, const char *texts);
/* Output 0: the label of each index (rows) i64. */
void ml_return_labels(onnx_call *c, const ml_labels *labels, ig_array *index);

/* A list of floats of attribute `name`, or of the tensor attribute `name`_as_tensor, as f64. n gets its length. */
const double *ml_doubles(onnx_call *c, const char *name, int64_t *n);

/* The elements of a tensor attribute as f64; NULL and 0 if it is absent. */
const double *ml_tensor(onnx_call *c, const char *name, int64_t *n);

/* X (rows, features) as f32, or f64 if it is f64. One axis is one row. */
ig_array *ml_features(onnx_call *c);

#endif
