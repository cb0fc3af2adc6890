/* Byte counts as text. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

enum { SIZE_ROOM = 32 };

/* Writes "1.5 GiB", "32 KiB" or "17 bytes"; returns out. */
const char *size_text(uint64_t bytes, char out[SIZE_ROOM]);
/* Reads "512MiB", "1.5 GB" or "4096": at least 1 byte and less than 2^63. False if the text is something else. */
bool size_read(const char *text, uint64_t *bytes);
/* The memory limit that IG_MEMORY_LIMIT asks for; 0: none. */
uint64_t size_limit_asked(void);

#endif
