/* Shared by drivers: checks of the memory ranges of commands, and names of commands in flight, for messages. */
#ifndef BACKEND_COMMAND_H
#define BACKEND_COMMAND_H

#include "engine/array/array.h"

/* IG_ERR_ARGUMENT unless the range is within the buffer; `what` is the command. */
ig_status range_check(const buffer *b, size_t offset, size_t bytes, const char *what);
/* The same for both ranges of a copy. Within one buffer they must not overlap. */
ig_status range_check_copy(const buffer *to, size_t to_offset, const buffer *from,
                           size_t from_offset, size_t bytes);

enum { FLIGHT_NAMES = 6, FLIGHT_NAME_BYTES = 64, FLIGHT_TEXT_BYTES = 512 };

/* The names of the commands that may still fail, each once. */
typedef struct flight {
    int n;
    bool others;                    /* there are more names than fit */
    const char *from[FLIGHT_NAMES]; /* address of each name's text, for comparison only */
    char name[FLIGHT_NAMES][FLIGHT_NAME_BYTES];
} flight;

void flight_add(flight *f, const char *name);
void flight_clear(flight *f);
/* "sum", "one of sum, exp and others"; "" if there are no names. */
const char *flight_text(const flight *f, char out[static FLIGHT_TEXT_BYTES]);

#endif
