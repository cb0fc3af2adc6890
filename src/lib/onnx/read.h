/* ONNX files as structures. */
#ifndef ONNX_READ_H
#define ONNX_READ_H

#include "lib/onnx/arena.h"
#include "lib/onnx/model.h"

/* A value in a separate file: a TensorProto, SequenceProto, OptionalProto or MapProto. */
typedef struct onnx_saved {
    ig_onnx_kind kind; /* IG_ONNX_NOTHING: an empty optional value */
    const onnx_tensor *tensor;
    const onnx_sparse *sparse;
    struct onnx_saved *items; /* of a sequence; of a map: keys, values */
    int n;
    ig_onnx_type type; /* of nothing */
} onnx_saved;

/* Read a whole file whose bytes stay where they are. shown: its name in messages. False after an error. */
bool onnx_read_model(onnx_arena *a, onnx_bytes in, const char *shown, onnx_model *model);
bool onnx_read_saved(onnx_arena *a, onnx_bytes in, const char *shown, ig_onnx_kind kind,
                     bool optional, onnx_saved *saved);

/* Checks a model as a whole, and fills the fields of model.h that say so (check.c). */
bool onnx_check(onnx_arena *a, const char *shown, onnx_model *model);

#endif
