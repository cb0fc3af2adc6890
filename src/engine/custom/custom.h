/* User kernels in graphs: declarations shared by node.c, grad.c and launch.c. */
#ifndef CUSTOM_CUSTOM_H
#define CUSTOM_CUSTOM_H

#include "engine/backend/cpu/kernels/kernels.h"
#include "engine/custom/library.h"
#include "engine/module/shared.h"
#include "engine/ops/ops.h"
#include "ingot.h"

/* ---- node.c ---- */

/* A kernel and its launch, independent of arguments. */
typedef struct kernel_spec {
    atomic_int refs;
    shared_module *module;
    const ig_kernel_info *info;
    uint64_t content[4]; /* identifies the source and the kernel's name */
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    const library_kernel *library; /* it is a kernel of the library; or NULL */
    cpu_kernel_run *cpu;           /* the CPU's own code for it, or NULL */
    ig_arg *number; /* for each parameter: the number that a gradient kernel gets, or IG_ARG_NONE */
    struct kernel_spec *gradient;
} kernel_spec;

/* The source of a parameter's value. */
typedef enum param_source { FROM_NUMBER, FROM_ARRAY, FROM_SCALAR, FROM_RESULT } param_source;

typedef struct call_param {
    param_source kind;
    int input;     /* the array, or the array that a result is initialized from; -1: none */
    int result;    /* of FROM_RESULT */
    ig_arg number; /* of FROM_NUMBER */
    uint64_t bits; /* in the kernel's format */
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
    bool empty; /* there are no elements to compute, so nothing is launched */
    call_param *param;
    call_result *result;
    node_result *plain;             /* the results in the form that graphs use */
    int64_t given[LIBRARY_NUMBERS]; /* of a kernel of the library: the numbers of its builder */
    int n_in;
} kernel_call;

/* Builds the nodes of a call with an argument for each parameter; results must have room for all results. given: the
 * numbers of a kernel of the library, or NULL. */
ig_status kernel_apply(kernel_spec *r, const ig_arg *const *args, const int64_t *given,
                       ig_array **results);

/* ---- grad.c ---- */

/* Fails unless each parameter of the gradient kernel has a meaning, and each float argument a gradient. */
ig_status kernel_grad_check(const kernel_call *b, ig_array *const *in);
/* Attaches the gradient to x, result i of b. */
ig_array *kernel_grad_attach(kernel_call *b, int i, ig_array *x, ig_array *const *in);

/* ---- launch.c ---- */

/* True if the device is the CPU and has its own code for the kernel. */
bool kernel_is_own(const kernel_spec *r, const backend *dev);

/* Runs a kernel_call. The engine's lock is held. */
extern const kernel_runner kernel_call_runner;

#endif
