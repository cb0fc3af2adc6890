/* User kernels in graphs: what node.c, grad.c and launch.c share. */
#ifndef CUSTOM_CUSTOM_H
#define CUSTOM_CUSTOM_H

#include "engine/backend/backend.h"
#include "engine/module/shared.h"
#include "engine/ops/ops.h"

/* ---- node.c ---- */

/* A kernel and its launch, independent of arguments. */
typedef struct kernel_spec {
    atomic_int refs;
    shared_module *module;
    const ig_kernel_info *info;
    uint64_t content[4]; /* of the source, and the kernel's name */
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    ig_arg *number; /* for each parameter: what a gradient kernel was given, or IG_ARG_NONE */
    struct kernel_spec *gradient;
} kernel_spec;

/* Where the value of a parameter comes from. */
typedef enum param_source { FROM_NUMBER, FROM_ARRAY, FROM_SCALAR, FROM_RESULT } param_source;

typedef struct call_param {
    param_source kind;
    int input;     /* the array; of a result the one that it begins as; or -1 */
    int result;    /* of FROM_RESULT */
    ig_arg number; /* of FROM_NUMBER */
    uint64_t bits; /* as the kernel has it */
} call_param;

typedef struct call_result {
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
} call_result;

typedef struct kernel_call {
    node_kernel base;
    kernel_spec *spec;
    uint32_t grid[3], block[3];
    bool empty; /* the result has no elements, so nothing is launched */
    call_param *param;
    call_result *result;
    node_result *plain; /* the same for graphs */
    kernel_arg *passed; /* room for a launch, while the engine's lock is held */
    int n_in;
} kernel_call;

/* Nodes of the spec with an argument for each parameter; results has room for them. */
ig_status kernel_apply(kernel_spec *r, const ig_arg *const *args, ig_array **results);

/* ---- grad.c ---- */

/* Fails unless the gradient kernel has a use for each of its parameters, and a gradient for each float. */
ig_status kernel_grad_check(const kernel_call *b, ig_array *const *in);
/* x, result i of b, with its gradient. */
ig_array *kernel_grad_attach(kernel_call *b, int i, ig_array *x, ig_array *const *in);

/* ---- launch.c ---- */

/* Runs a kernel_call. The engine's lock is held. */
extern const kernel_runner kernel_call_runner;

#endif
