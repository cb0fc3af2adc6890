/* Files that are mapped into memory for reading. */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H

#include <stddef.h>

/* Notes that [at, at + bytes) is a file, mapped privately and never written; and that it is not any more. */
void mapping_note(const void *at, size_t bytes);
void mapping_forget(const void *at);
/* Gives the whole pages of a part of such a file back to the system, which reads them again when they are
 * needed. Does nothing with other memory. */
void mapping_give_back(const void *at, size_t bytes);

#endif
