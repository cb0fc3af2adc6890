/* Programs as kernels: how the engine runs programs on a device that compiles kernels from source.
 * Everything here is called with the engine's lock held. */
#ifndef ENGINE_EMITTED_H
#define ENGINE_EMITTED_H

#include "engine/backend/backend.h"
#include "engine/eval/after.h"
#include "engine/graph/graph.h"

/* IG_ERR_UNSUPPORTED, with the reason as the error, if the device cannot run a program of s. Compiles nothing. */
ig_status emitted_support(schedule *s, const backend *dev);
/* Makes the i-th program of the schedule ready for the device; of a chain, its first program stands for
 * all. The kernels are emitted, and those whose text is new are compiled. If one has too many parameters, s->is_crowded is
 * set: programs of fewer nodes may have few enough. */
ig_status emitted_compile(schedule *s, int i, const backend *dev);
/* Takes the kernels that were built later (module_batch_begin); builds those that were not. */
ig_status emitted_complete(const program *p, const backend *dev);
/* Makes all programs of the schedule ready for launches with these bindings: memory, and numbers by value. */
ig_status emitted_arrange(const schedule *s, const backend *dev, const binding *bindings);
/* After emitted_arrange. Launches are queued; with device_ns each is waited for, and its time is added. */
ig_status emitted_launch(const program *p, const backend *dev, const binding *bindings,
                         uint64_t *device_ns);
/* How many launches a chain is, if nothing else happens in it; otherwise 0. */
int emitted_launches(const program *p);
/* What a chain uses of the scratch memory. */
scratch_range emitted_scratch(const program *p);
void emitted_discard(program *p);
/* The name of the device's own code that runs the program, or NULL: see backend.core_name. */
const char *emitted_core_name(const program *p);
/* Waits for the device, and tells if an index was out of bounds in one of the launches since the last time. */
ig_status emitted_finish(const backend *dev);

/* An evaluation stopped after its first launch: these buffers, which it was to write, cannot be read. */
void emitted_abandon(const backend *dev, buffer *const *written, int n);

/* Releases all kernels. */
void emitted_release(void);

#endif
