/* Ranges and names of commands; see command.h. */
#include "engine/backend/command.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

ig_status range_check(const buffer *b, size_t offset, size_t bytes, const char *what)
{
    if (offset > b->bytes || bytes > b->bytes - offset)
        FAIL(IG_ERR_ARGUMENT, "%s: %zu bytes at %zu are not all in the buffer, which has %zu", what,
             bytes, offset, b->bytes);
    return IG_OK;
}

ig_status range_check_copy(const buffer *to, size_t to_offset, const buffer *from,
                           size_t from_offset, size_t bytes)
{
    TRY(range_check(to, to_offset, bytes, "copy"));
    TRY(range_check(from, from_offset, bytes, "copy"));
    if (to == from && to_offset < from_offset + bytes && from_offset < to_offset + bytes)
        FAIL(IG_ERR_ARGUMENT, "copy: %zu bytes from %zu to %zu of one buffer overlap", bytes,
             from_offset, to_offset);
    return IG_OK;
}

/* ---- names ---- */

static bool is_named(const flight *f, int i, const char *name)
{
    return strncmp(f->name[i], name, FLIGHT_NAME_BYTES - 1) == 0;
}

void flight_add(flight *f, const char *name)
{
    if (f->others) /* the list is full already */
        return;
    name += strspn(name, " ");
    for (int i = 0; i < f->n; i++) /* usually the name is at the same address as before */
        if (f->from[i] == name && is_named(f, i, name))
            return;
    for (int i = 0; i < f->n; i++)
        if (is_named(f, i, name))
            return;
    if (f->n == FLIGHT_NAMES) {
        f->others = true;
        return;
    }
    const size_t n = strnlen(name, FLIGHT_NAME_BYTES - 1);
    f->from[f->n] = name;
    memcpy(f->name[f->n], name, n);
    f->name[f->n++][n] = '\0';
}

void flight_clear(flight *f)
{
    f->n = 0;
    f->others = false;
}

const char *flight_text(const flight *f, char out[static FLIGHT_TEXT_BYTES])
{
    size_t used = (size_t)snprintf(out, FLIGHT_TEXT_BYTES, "%s", f->n > 1 ? "one of " : "");
    for (int i = 0; i < f->n; i++)
        used += (size_t)snprintf(out + used, FLIGHT_TEXT_BYTES - used, "%s%s", i ? ", " : "",
                                 f->name[i]);
    snprintf(out + used, FLIGHT_TEXT_BYTES - used, "%s", f->others ? " and others" : "");
    return out;
}
