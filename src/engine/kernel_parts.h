/* What the files of kernels in graphs share: kernel_node.c, kernel_grad.c. */
#ifndef ENGINE_KERNEL_PARTS_H
#define ENGINE_KERNEL_PARTS_H

#include "backend/backend.h"
#include "module/shared.h"
#include "ops/ops.h"

/* ---- kernel_node.c ---- */

/* What is the same for all arguments. */
typedef struct recipe {
    atomic_int refs;
    shared_module *module;
    const ig_kernel_info *info;
    uint64_t content[4]; /* of the source, and the kernel's name */
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    ig_arg *number; /* for each parameter: what a gradient kernel was given, or IG_ARG_NONE */
    struct recipe *gradient;
} recipe;

/* What a parameter is given. */
typedef enum bound_kind { BOUND_NUMBER, BOUND_ARRAY, BOUND_SCALAR, BOUND_RESULT } bound_kind;

typedef struct bound_param {
    bound_kind kind;
    int input;     /* the array; of a result the one that it begins as; or -1 */
    int result;    /* of BOUND_RESULT */
    ig_arg number; /* of BOUND_NUMBER */
    uint64_t bits; /* as the kernel has it */
} bound_param;

typedef struct bound_result {
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
} bound_result;

typedef struct bound {
    node_kernel base;
    recipe *recipe;
    uint32_t grid[3], block[3];
    bool empty; /* there is no element to launch a thread for */
    bound_param *param;
    bound_result *result;
    node_result *plain; /* the same for graphs */
    kernel_arg *passed; /* room for a launch, while the engine's lock is held */
    int n_in;
} bound;

/* Nodes of the recipe with an argument for each parameter; results has room for them. */
ig_status kernel_apply(recipe *r, const ig_arg *const *args, ig_array **results);

/* ---- kernel_grad.c ---- */

/* Fails unless the gradient kernel has a use for each of its parameters, and a gradient for each float. */
ig_status kernel_grad_check(const bound *b, ig_array *const *in);
/* x, result i of b, with its gradient. */
ig_array *kernel_grad_attach(bound *b, int i, ig_array *x, ig_array *const *in);

#endif
