/* What drivers share about commands: the ranges that they name are checked, and those in flight have names for messages. */
#ifndef BACKEND_COMMAND_H
#define BACKEND_COMMAND_H

#include "engine/array/array.h"

/* IG_ERR_ARGUMENT unless the buffer has all these bytes; `what` is the command. */
ig_status range_check(const buffer *b, size_t offset, size_t bytes, const char *what);
/* The same for both ranges of a copy. Within one buffer they must not overlap. */
ig_status range_check_copy(const buffer *to, size_t to_offset, const buffer *from,
                           size_t from_offset, size_t bytes);

enum { FLIGHT_NAMES = 6, FLIGHT_NAME_BYTES = 64, FLIGHT_TEXT_BYTES = 512 };

/* The names of commands of which it is not known yet whether they failed, each once. */
typedef struct flight {
    int n;
    bool others;                    /* there are more than fit */
    const char *from[FLIGHT_NAMES]; /* whose text a name is, to find it again; it may be gone */
    char name[FLIGHT_NAMES][FLIGHT_NAME_BYTES];
} flight;

void flight_add(flight *f, const char *name);
void flight_clear(flight *f);
/* "sum", "one of sum, exp and others"; "" if there is none. */
const char *flight_text(const flight *f, char out[static FLIGHT_TEXT_BYTES]);

#endif
