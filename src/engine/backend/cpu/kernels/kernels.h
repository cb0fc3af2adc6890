/* The CPU's own code for kernels of the library (kernels/), where it is much faster than the kernel as lane code. It gives
 * the same bits, and takes the kernel's parameters in the order of its signature. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "engine/backend/cpu/cpu.h"

/* A launch of a kernel, with all of its blocks; if the kernel runs in rounds, all of them. */
typedef struct cpu_kernel_call {
    const ig_kernel_param *param; /* of the signature */
    int n_params;
    void *const *at; /* of each parameter: its elements, or its number; NULL: it has no elements */
    bool complex;    /* elements are complex; their parts are separate planes or parameters */
} cpu_kernel_call;

/* The caller has the turn (cpu_turn_begin). Fails only if memory is short. */
typedef ig_status cpu_kernel_run(const cpu_kernel_call *c);

/* The code for a kernel with this name; NULL: the kernel runs on the CPU, too. */
cpu_kernel_run *cpu_kernel_find(const char *name);

#define CPU_KERNELS(ROW) \
    ROW(cholesky) \
    ROW(lu) \
    ROW(order) \
    ROW(qr) \
    ROW(substitute) \
    ROW(svd) \
    ROW(eigh) \
    ROW(eig) \
    ROW(tridiagonal) \
    ROW(divide) \
    ROW(bidiagonal) \
    ROW(divide_svd) \
    ROW(fft_lines) \
    ROW(fft_split) \
    ROW(fft_merge) \
    ROW(fft_chirp) \
    ROW(count_index) \
    ROW(count_even) \
    ROW(rank_count) \
    ROW(rank_pick) \
    ROW(rank_value) \
    ROW(contained) \
    ROW(compact_count) \
    ROW(compact_put) \
    ROW(roi_align)
#define CPU_KERNEL(name) cpu_kernel_run cpu_kernel_##name;
CPU_KERNELS(CPU_KERNEL)
#undef CPU_KERNEL

/* The dtype of the first array. */
static inline ig_dtype cpu_call_dtype(const cpu_kernel_call *c)
{
    int i = 0;
    while (!c->param[i].is_pointer)
        i++;
    return c->param[i].dtype;
}

/* A parameter by its name in the signature; -1 if there is none. */
int cpu_call_find(const cpu_kernel_call *c, const char *name);
/* The elements of a parameter, and a number. The signature must have them. */
void *cpu_call_array(const cpu_kernel_call *c, const char *name);
int64_t cpu_call_number(const cpu_kernel_call *c, const char *name);

/* The i-th parameter, a number. */
static inline int cpu_call_int(const cpu_kernel_call *c, int i)
{
    return *(const int32_t *)c->at[i];
}

#endif
