/* Files that are mapped into memory for reading. */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mapping_note records that [at, at + bytes) maps `file` from its beginning, privately, and is never written. `file`
 * may be closed afterwards. mapping_forget removes the record. */
void mapping_note(const void *at, size_t bytes, int file);
void mapping_forget(const void *at);
/* Returns the whole pages of a part of such a file to the system, which reads them again when they are
 * needed. Does nothing for other memory. */
void mapping_give_back(const void *at, size_t bytes);
/* The descriptor of the file that [at, at + bytes) is a part of, and the offset of at in it; -1 if there is none. Valid
 * as long as the file is mapped. */
int mapping_file(const void *at, size_t bytes, int64_t *offset);
/* Reads a part of such a file without mapping its pages. False if that fails. */
bool mapping_read(int file, int64_t offset, void *to, size_t bytes);

#endif
