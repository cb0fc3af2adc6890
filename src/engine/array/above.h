/* All calls of the engine from a lower folder to a higher one. Each folder includes and calls only those below it, with these
 * exceptions: an array needs the name of its device, builders whose shapes depend on data evaluate what they need, and
 * evaluation leaves what does not fit in memory to the evaluation by blocks. engine/top/above.c fills in the functions.
 * tools/check-includes allows no other function that is declared below its definition. */
#ifndef ARRAY_ABOVE_H
#define ARRAY_ABOVE_H

#include "base/text.h"
#include "ingot.h"

struct node_native;

extern const struct above {
    /* ---- for array and ops: backend/registry.c ---- */

    /* The name that all arrays of a device carry, for any name of the device ("opencl" is "opencl:0"); NULL if
     * there is no such device. Lives as long as the process. */
    const char *(*device_name)(const char *name);
    /* True if the named device has native code for such a node. */
    bool (*device_offers)(const char *name, const struct node_native *n);

    /* ---- for ops: builders of results whose shape depends on data, such as nonzero, unique and x[mask] ---- */

    /* ig_eval and ig_data, whose errors say that later steps may need more memory, and ig_reads_blocks. */
    ig_status (*eval)(ig_array *const *arrays, int n);
    const void *(*data)(ig_array *x);
    bool (*reads_blocks)(ig_array *x);
    /* i64: the row-major positions at which mask, which is bool, is true; evaluates it (numeric/positions.c). */
    ig_array *(*positions)(ig_array *mask);
    /* Arrays larger than memory: see blocks/keep.h. */
    bool (*is_large)(ig_array *x);
    ig_array *(*filed)(ig_array *x);
    ig_array *(*selected)(ig_array *values, ig_array *mask);

    /* ---- for eval: blocks/eval.c ---- */

    /* Evaluates arrays that depend on sources, or do not fit in the memory of their device, block by block; or adds the plan to
     * explain, if it is not NULL. shared: by the devices of a list; does nothing if the arrays cannot be divided. Without the
     * engine's lock. */
    ig_status (*eval_by_blocks)(ig_array *const *arrays, int n, bool shared, text *explain);
} above;

#endif
