/* Memory faults of kernels become errors of their launch. */
#ifndef CPU_GANG_GUARD_H
#define CPU_GANG_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Around a launch, from any thread; launches may overlap. */
void guard_begin(void);
void guard_end(void);

/* Between the two: fn(context) on this thread. False if it was ended by a memory fault, with the address.
 * fn must not hold a lock or own memory while it uses pointers of the kernel. */
bool guard_run(void (*fn)(void *context), void *context, uint64_t *address);

#endif
