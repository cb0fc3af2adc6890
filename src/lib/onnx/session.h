/* A loaded model, as the reader makes it and the executor uses it. */
#ifndef ONNX_SESSION_H
#define ONNX_SESSION_H

#include "lib/onnx/arena.h"
#include "lib/onnx/files.h"
#include "lib/onnx/model.h"
#include "lib/onnx/value.h"

typedef struct onnx_uses onnx_uses;
void onnx_uses_free(onnx_uses *u);

struct ig_onnx {
    onnx_model model;
    onnx_arena arena;
    onnx_files files;
    /* One for each initializer of the model's graph, then for each sparse one; NULL: not made yet (onnx_weight). */
    ig_onnx_value **weights;
    bool *replaced; /* one for each of the weights: it is not the file's */
    bool resized;   /* weights have other shapes than in the file; see outputs_restate */
    int *layers;    /* tune.c: the layer of each weight; NULL: not found yet */
    int n_layers;
    onnx_uses *uses; /* describe.c; NULL: not counted yet */
    /* For the executor. ig_onnx_free calls plans_free(plans) if it is not NULL. */
    void *plans;
    void (*plans_free)(void *plans);
};

/* Replaces the value of an initializer, also by one of another shape. */
ig_status onnx_weight_put(ig_onnx *m, int i, ig_array *x);

/* The value of an initializer, made on first use; borrowed. NULL after an error. */
ig_onnx_value *onnx_weight(ig_onnx *m, int i);

#endif
