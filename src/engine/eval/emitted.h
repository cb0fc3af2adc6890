/* Programs as kernels: how the engine runs programs on a device that compiles kernels from source (executor_emitted).
 * Everything here is called with the engine's lock held. */
#ifndef ENGINE_EMITTED_H
#define ENGINE_EMITTED_H

#include "engine/backend/backend.h"
#include "engine/eval/after.h"

/* Number of launches of a chain, if it consists only of launches; otherwise 0. */
int emitted_launches(const program *p);
/* The scratch memory that a chain uses. */
scratch_range emitted_scratch(const program *p);
/* Waits for a device of any kind. Fails if a launch since the last wait found an index out of bounds. */
ig_status emitted_finish(const backend *dev);
/* The same, but waits only if a launch since the last wait may have found one. */
ig_status emitted_check(const backend *dev);

/* Waits for a device, and gives back the scratch memory of its launches. The next launch gets what it needs. */
void emitted_trim(const backend *dev);

/* Releases all kernels. */
void emitted_release(void);

#endif
