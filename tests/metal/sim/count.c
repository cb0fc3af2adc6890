/* Counts what kernels do: bytes of buffers and of threadgroup memory that they load and store, FLOPs, and arithmetic
 * instructions. With METALSIM_COUNTS the code of kernels calls these functions (counted.py), and each dispatch appends a line
 * to that file: kernel, threadgroups, threads of each, bytes of threadgroup memory, bytes loaded, bytes stored, the same of
 * threadgroup memory, FLOPs, instructions. */
#include "sim.h"

#include <stdlib.h>

EXPORT void sim_count_access(const void *at, uint32_t bytes, uint32_t is_store);
EXPORT void sim_count_work(uint32_t flops, uint32_t instructions);

static struct {
    const sim_launch *launch;
    const char *shared;
    uint64_t device[2], local[2], flops, instructions;
} n;

void sim_count_access(const void *at, uint32_t bytes, uint32_t is_store)
{
    const char *p = at;
    if (p >= n.shared && p < n.shared + SIM_SHARED_MOST) {
        n.local[is_store] += bytes;
        return;
    }
    /* Arguments that setBytes passed are not memory traffic: the GPU keeps them in registers. */
    for (int i = 0; i < SIM_BUFFERS; i++) {
        const char *b = n.launch->buffer[i];
        if (b && n.launch->is_buffer[i] && p >= b && p < b + n.launch->bytes[i]) {
            n.device[is_store] += bytes;
            return;
        }
    }
}

void sim_count_work(uint32_t flops, uint32_t instructions)
{
    n.flops += flops;
    n.instructions += instructions;
}

void sim_count_begin(const sim_launch *l, const char *shared)
{
    n.device[0] = n.device[1] = n.local[0] = n.local[1] = n.flops = n.instructions = 0;
    n.launch = l;
    n.shared = shared;
}

void sim_count_end(size_t shared_bytes)
{
    const char *path = getenv("METALSIM_COUNTS");
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    const sim_launch *l = n.launch;
    fprintf(f, "%s %llu %u %zu %llu %llu %llu %llu %llu %llu\n", l->kernel->name,
            (unsigned long long)l->groups[0] * l->groups[1] * l->groups[2], l->group[0] * l->group[1] * l->group[2],
            shared_bytes, (unsigned long long)n.device[0], (unsigned long long)n.device[1],
            (unsigned long long)n.local[0], (unsigned long long)n.local[1], (unsigned long long)n.flops,
            (unsigned long long)n.instructions);
    fclose(f);
}
