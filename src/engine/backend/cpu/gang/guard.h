/* Memory faults of kernels become errors of their launch. */
#ifndef CPU_GANG_GUARD_H
#define CPU_GANG_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Called before and after a launch, on any thread. Launches may overlap. */
void guard_begin(void);
void guard_end(void);

/* Between guard_begin and guard_end: runs fn(context) on this thread. Returns false with the
 * address if a memory fault ended it. While fn uses pointers of the kernel it must not hold a lock
 * or own memory. */
bool guard_run(void (*fn)(void *context), void *context, uint64_t *address);

#endif
