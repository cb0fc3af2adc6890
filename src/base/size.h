/* Byte counts as text. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdint.h>

enum { SIZE_ROOM = 32 };

/* Writes "1.5 GiB", "32 KiB" or "17 bytes"; returns out. */
const char *size_text(uint64_t bytes, char out[SIZE_ROOM]);

#endif
