/* Finds the CPU's code for a kernel of the library: see kernels.h. */
#include "engine/backend/cpu/kernels/kernels.h"

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
