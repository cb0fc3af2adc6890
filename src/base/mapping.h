/* Files that are mapped into memory for reading. */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes that [at, at + bytes) is the file `file` from its begin on, mapped privately and never written; and that it is not
 * any more. `file` may be closed then. */
void mapping_note(const void *at, size_t bytes, int file);
void mapping_forget(const void *at);
/* Gives the whole pages of a part of such a file back to the system, which reads them again when they are
 * needed. Does nothing with other memory. */
void mapping_give_back(const void *at, size_t bytes);
/* The descriptor of the file that [at, at + bytes) is a part of, and the offset of at in it; -1 if it is in none. It is
 * valid as long as the file is mapped. */
int mapping_file(const void *at, size_t bytes, int64_t *offset);
/* Reads a part of such a file without mapping its pages. False if that fails. */
bool mapping_read(int file, int64_t offset, void *to, size_t bytes);

#endif
