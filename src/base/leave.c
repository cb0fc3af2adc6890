#include "base/leave.h"

#include <stdatomic.h>
#include <stddef.h>

static void (*_Atomic wanted)(void);

void leave_with(void (*function)(void)) { atomic_store(&wanted, function); }

__attribute__((destructor)) void leave(void)
{
    void (*function)(void) = atomic_exchange(&wanted, NULL);
    if (function)
        function();
}
