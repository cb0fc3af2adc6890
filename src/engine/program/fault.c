/* The message for an index out of bounds; see fault.h. */
#include "engine/program/fault.h"

#include <stdio.h>
#include <string.h>

const char *fault_ops(const program *p, char out[static FAULT_OPS_BYTES])
{
    const char *label = p->label ? p->label + strspn(p->label, " ") : "a program";
    const size_t n = strnlen(label, FAULT_OPS_BYTES - 1);
    memcpy(out, label, n);
    out[n] = '\0';
    return out;
}

const char *fault_text(const index_fault *f, const char *ops, const char *device,
                       char out[static FAULT_TEXT_BYTES])
{
    const long long index = f->index, len = f->axis_len;
    char what[160];
    if (len < 0)
        snprintf(what, sizeof what, "an index is out of bounds");
    else if (f->index < -INDEX_REFUSED / 2)
        snprintf(what, sizeof what, "index %lld is negative; it must be in [0, %lld)",
                 (long long)(f->index + INDEX_REFUSED), len);
    else
        snprintf(what, sizeof what,
                 "index %lld is out of bounds for an axis of length %lld; it must be in [%lld, "
                 "%lld)",
                 index, len, -len, len);
    snprintf(out, FAULT_TEXT_BYTES, "%s (%s on %s, position %lld)", what, ops, device,
             (long long)f->at);
    return out;
}
