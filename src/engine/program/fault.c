/* The message for an index out of bounds or a failed check; see fault.h. */
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

static bool is_check(const index_fault *f) { return f->axis_len >= CHECK_LENGTH; }

ig_status fault_status(const index_fault *f)
{
    return is_check(f) ? IG_ERR_ARGUMENT : IG_ERR_INDEX;
}

static const char *check_text(const index_fault *f, const char *device, char *out)
{
    static const struct {
        const char *op, *what;
    } rows[] = {
#define CHECK_ROW(name, op, what) {#op, what},
        CHECKS(CHECK_ROW) ELEMENT_CHECKS(CHECK_ROW)
#undef CHECK_ROW
    };
    const int64_t row = f->axis_len - CHECK_LENGTH, at = f->index - f->axis_len;
    const long long matrix = at >> CHECK_PLACE_BITS, place = at & INT32_MAX;
    char what[160];
    if (row >= CHECK_floor_divide) {
        snprintf(out, FAULT_TEXT_BYTES, "%s: %s (on %s, position %lld)", rows[row].op,
                 rows[row].what, device, (long long)f->at);
        return out;
    }
    snprintf(what, sizeof what, rows[row].what, place);
    snprintf(out, FAULT_TEXT_BYTES, "%s: matrix %lld %s (on %s)", rows[row].op, matrix, what,
             device);
    return out;
}

const char *fault_text(const index_fault *f, const char *ops, const char *device,
                       char out[static FAULT_TEXT_BYTES])
{
    const long long index = f->index, len = f->axis_len;
    char what[160];
    if (is_check(f))
        return check_text(f, device, out);
    if (len < 0)
        snprintf(what, sizeof what, "an index is out of bounds");
    else if (f->index == INT64_MAX) /* also of larger ones */
        snprintf(what, sizeof what,
                 "index %lld, or more, is out of bounds for an axis of length %lld", index, len);
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
