/* The count of cancellations. A signal handler may raise it, so it is one lock-free atomic word. */
#include "base/cancel.h"

#include "ingot.h"

#include <stdatomic.h>

static _Atomic uint32_t count;

void ig_cancel(void) { atomic_fetch_add(&count, 1); }

uint32_t cancel_count(void) { return atomic_load_explicit(&count, memory_order_relaxed); }
