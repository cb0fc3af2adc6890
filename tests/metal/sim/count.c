/* Counts what kernels do: bytes of buffers and of threadgroup memory that they load and store, FLOPs, and arithmetic
 * instructions. With METALSIM_COUNTS the code of kernels calls these functions (counted.py), and each dispatch appends a line
 * to that file: kernel, threadgroups, threads of each, bytes of threadgroup memory, bytes loaded, bytes stored, different
 * bytes loaded, different bytes stored, bytes of threadgroup memory loaded and stored, FLOPs, instructions, and those of
 * them that simdgroup matrices do. */
#include "sim.h"

#include <stdlib.h>

EXPORT void sim_count_work(uint32_t flops, uint32_t instructions);

static struct {
    const sim_launch *launch;
    const char *shared;
    uint64_t device[2], different[2], local[2], flops, instructions, matrix;
    unsigned char *seen[2][SIM_BUFFERS]; /* a bit for each word of a buffer */
} n;

enum { WORD = 4 };

static void see(int index, size_t at, uint32_t bytes, uint32_t is_store)
{
    unsigned char **seen = &n.seen[is_store][index];
    if (!*seen)
        *seen = calloc(n.launch->bytes[index] / WORD / 8 + 2, 1);
    REQUIRE(*seen, "the simulator has no memory");
    for (size_t i = at / WORD; i <= (at + bytes - 1) / WORD; i++) {
        n.different[is_store] += (*seen)[i / 8] >> i % 8 & 1 ? 0 : WORD;
        (*seen)[i / 8] |= (unsigned char)(1 << i % 8);
    }
}

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
            see(i, (size_t)(p - b), bytes, is_store);
            return;
        }
    }
}

void sim_count_work(uint32_t flops, uint32_t instructions)
{
    n.flops += flops;
    n.instructions += instructions;
}

void sim_count_matrix(uint32_t flops, uint32_t instructions)
{
    sim_count_work(flops, instructions);
    n.matrix += instructions;
}

void sim_count_begin(const sim_launch *l, const char *shared)
{
    n.different[0] = n.different[1] = n.device[0] = n.device[1] = n.local[0] = n.local[1] = n.flops = n.instructions = n.matrix = 0;
    n.launch = l;
    n.shared = shared;
}

void sim_count_end(size_t shared_bytes)
{
    const char *path = getenv("METALSIM_COUNTS");
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    for (int i = 0; i < 2 * SIM_BUFFERS; i++) {
        free(n.seen[i / SIM_BUFFERS][i % SIM_BUFFERS]);
        n.seen[i / SIM_BUFFERS][i % SIM_BUFFERS] = NULL;
    }
    if (!f)
        return;
    const sim_launch *l = n.launch;
    fprintf(f, "%s %llu %u %zu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", l->kernel->name,
            (unsigned long long)l->groups[0] * l->groups[1] * l->groups[2], l->group[0] * l->group[1] * l->group[2],
            shared_bytes, (unsigned long long)n.device[0], (unsigned long long)n.device[1],
            (unsigned long long)n.different[0], (unsigned long long)n.different[1], (unsigned long long)n.local[0], (unsigned long long)n.local[1], (unsigned long long)n.flops,
            (unsigned long long)n.instructions, (unsigned long long)n.matrix);
    fclose(f);
}
