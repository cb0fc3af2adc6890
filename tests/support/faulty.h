/* A device named "faulty": the CPU, with damaged results of one op. It proves that verify and other checks notice
 * wrong results. */
#ifndef SUPPORT_FAULTY_H
#define SUPPORT_FAULTY_H

#include <stdbool.h>

typedef enum fault_kind {
    FAULT_STEPS,   /* every element is off by `steps` values of its dtype */
    FAULT_ELEMENT, /* one element is clearly wrong */
    FAULT_STALE,   /* the result is not written: its memory stays as it was */
    FAULT_FLUSH    /* f32 results below the normal numbers are 0 */
} fault_kind;

typedef struct fault {
    const char *op; /* an elementwise op, a fold, "contract", or "kernel": f32 elements that kernels
                     * change */
    const char *also; /* another elementwise op or fold, or NULL */
    fault_kind kind;
    int steps;
    bool told;  /* FAULT_FLUSH: the device declares that it flushes */
    bool fused; /* only if the op is fused with others, and no other result is stored */
} fault;

/* Plants the fault, which replaces the previous one; the first call adds the device. */
void faulty_plant(fault f);

#endif
