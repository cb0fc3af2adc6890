/* The count of cancellations. A signal handler may raise it, so its words are lock-free atomics. */
#include "base/cancel.h"

#include "ingot.h"

#include <stdatomic.h>

static _Atomic uint32_t count;
static atomic_bool all;

void ig_cancel(void) { atomic_fetch_add(&count, 1); }

void ig_cancel_all(void)
{
    atomic_store(&all, true);
    ig_cancel();
}

uint32_t cancel_count(void)
{
    if (atomic_load_explicit(&all, memory_order_relaxed))
        return atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return atomic_load_explicit(&count, memory_order_relaxed);
}
