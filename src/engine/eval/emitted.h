/* Programs as kernels: how the engine runs programs on a device that compiles kernels from source (executor_emitted).
 * Everything here is called with the engine's lock held. */
#ifndef ENGINE_EMITTED_H
#define ENGINE_EMITTED_H

#include "engine/backend/backend.h"
#include "engine/eval/after.h"

/* How many launches a chain is, if nothing else happens in it; otherwise 0. */
int emitted_launches(const program *p);
/* What a chain uses of the scratch memory. */
scratch_range emitted_scratch(const program *p);
/* Waits for a device of any kind, and tells if an index was out of bounds in one of the launches since the last time. */
ig_status emitted_finish(const backend *dev);

/* Releases all kernels. */
void emitted_release(void);

#endif
