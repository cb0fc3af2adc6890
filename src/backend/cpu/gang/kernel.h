/* Kernels and memory of the CPU as entries of its vtable; backend.h has the contracts. */
#ifndef CPU_KERNEL_H
#define CPU_KERNEL_H

#include "backend/lanes.h"

ig_status cpu_memory_write(buffer *to, size_t offset, const void *from, size_t bytes);
ig_status cpu_memory_read(buffer *from, size_t offset, void *to, size_t bytes);
ig_status cpu_memory_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset,
                          size_t bytes);
ig_status cpu_memory_fill(buffer *to, size_t offset, uint8_t value, size_t bytes);

extern const lane_runner cpu_lanes;
void cpu_kernel_discard(kernel_code *code);

#endif
