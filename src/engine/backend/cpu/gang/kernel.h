/* Kernels and memory of the CPU as entries of its vtable; backend.h has the contracts. */
#ifndef CPU_KERNEL_H
#define CPU_KERNEL_H

#include "engine/backend/lanes.h"

ig_status cpu_memory_write(buffer *to, size_t offset, const void *from, size_t bytes);
ig_status cpu_memory_read(buffer *from, size_t offset, void *to, size_t bytes);
ig_status cpu_memory_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset,
                          size_t bytes);
ig_status cpu_memory_fill(buffer *to, size_t offset, uint8_t value, size_t bytes);

/* The abilities of gangs, without shared memory: members of backend_limits. */
/* clang-format off */
#define GANG_LIMITS \
    .subgroup = 32, .threads = 1024, .thread_at = {1024, 1024, 64}, .alloc_bytes = INT64_MAX, \
    .param_bytes = 4096, .buffers = 512, .f16 = true, .f64 = true, .atomics_i64 = true, \
    .subnormals = true, .exact_division = true, .unified = true
/* clang-format on */

extern const lane_runner cpu_lanes;
void cpu_kernel_discard(kernel_code *code);

#endif
