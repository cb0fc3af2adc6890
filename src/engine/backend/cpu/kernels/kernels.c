/* Finds the CPU's code for a kernel of the library: see kernels.h. */
#include "engine/backend/cpu/kernels/kernels.h"

#include <assert.h>
#include <string.h>

cpu_kernel_run *cpu_kernel_find(const char *name)
{
    static const struct {
        const char *name;
        cpu_kernel_run *run;
    } rows[] = {
#define CPU_KERNEL(kernel) {#kernel, cpu_kernel_##kernel},
        CPU_KERNELS(CPU_KERNEL)
#undef CPU_KERNEL
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].run;
    return NULL;
}

int cpu_call_find(const cpu_kernel_call *c, const char *name)
{
    for (int i = 0; i < c->n_params; i++)
        if (strcmp(c->param[i].name, name) == 0)
            return i;
    return -1;
}

void *cpu_call_array(const cpu_kernel_call *c, const char *name)
{
    const int i = cpu_call_find(c, name);
    assert(i >= 0 && c->param[i].is_pointer);
    return c->at[i];
}

int64_t cpu_call_number(const cpu_kernel_call *c, const char *name)
{
    const int i = cpu_call_find(c, name);
    assert(i >= 0 && !c->param[i].is_pointer);
    return c->param[i].bytes == sizeof(int32_t) ? *(const int32_t *)c->at[i]
                                                : *(const int64_t *)c->at[i];
}
