/* Plans of cuDNN's graph API, for one convolution or one of its gradients. */
#ifndef CUDA_DNN_PLAN_H
#define CUDA_DNN_PLAN_H

#include "engine/backend/cuda/api.h"
#include "ingot.h"

enum { DNN_ALIGNMENT = 16 }; /* bytes, of each array and of the workspace */

typedef enum dnn_kind { DNN_FORWARD, DNN_DATA, DNN_FILTER, DNN_KINDS } dnn_kind;

/* The numbers of a node, as in ops/conv.c: x is (n, c, h, w), weight is (k, c / groups, r, s), y is
 * (n, k, p, q). */
typedef struct dnn_numbers {
    int64_t n, c, h, w, k, r, s, p, q, stride[2], padding[2], dilation[2], groups;
    int64_t last; /* not 0: the second axis, the channels, is the last one in memory */
    /* Not 0, forward only: (k) is added to y; then z, which is like y; then relu is applied; y is rounded at the end. */
    int64_t bias, z, relu;
} dnn_numbers;

typedef struct dnn_problem {
    dnn_kind kind;
    dnn_numbers numbers;
    ig_dtype dtype; /* a floating-point one */
    bool tf32;      /* f32 may be rounded to tf32 */
} dnn_problem;

typedef struct dnn_plan {
    cudnnBackendDescriptor_t config, plan; /* NULL: none */
    int64_t engine;
    int64_t workspace_bytes;
} dnn_plan;

/* The first plan of cuDNN's heuristics that is allowed. False if there is none. */
bool dnn_plan_make(const dnn_api *api, cudnnHandle_t handle, const dnn_problem *p, dnn_plan *out);
void dnn_plan_release(const dnn_api *api, dnn_plan *plan);

/* Launches on the handle's stream. x, weight and y are the arrays of the forward convolution, or their gradients; bias and z
 * are NULL if the problem has none. */
typedef struct dnn_arrays {
    void *x, *weight, *y, *bias, *z;
} dnn_arrays;
cudnnStatus_t dnn_plan_run(const dnn_api *api, cudnnHandle_t handle, const dnn_plan *plan,
                           const dnn_arrays *at, void *workspace);

#endif
