/* A device that is the CPU but for one op, whose results are damaged: to prove that verify, and whoever
 * else checks answers, notices. It is called "faulty". Included where internal headers are seen. */
#ifndef SUPPORT_FAULTY_H
#define SUPPORT_FAULTY_H

#include <stdbool.h>

typedef enum fault_kind {
    FAULT_STEPS,   /* every element is off by `steps` values of its dtype */
    FAULT_ELEMENT, /* one element is quite wrong */
    FAULT_STALE    /* the result is not written: its memory stays as it was */
} fault_kind;

typedef struct fault {
    const char
        *op; /* an elementwise op, a fold, "contract", or "kernel": the f32 that kernels change */
    fault_kind kind;
    int steps;
    bool fused; /* only where the op is computed together with others, and nothing else is stored */
} fault;

/* Plants the fault, in place of that before; adds the device at the first call. */
void faulty_plant(fault f);

#endif
