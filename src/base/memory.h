/* Memory: every allocation of the library goes through here, so that tests can make the n-th one
 * fail, and so that array data is counted against the one byte budget of the process. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "ingot.h"

/* Small memory, for structures. NULL with IG_ERR_MEMORY set on failure. memory_new is zeroed.
 * memory_resize leaves the old block alone when it fails. A size of 0 is a valid block. */
void *memory_new(size_t bytes);
void *memory_get(size_t bytes);
void *memory_resize(void *block, size_t bytes);
void memory_free(void *block);
char *memory_text(const char *text); /* a copy */

/* The same for blocks of up to 64 KiB that come and go all the time, aligned to 64 bytes; not zeroed.
 * memory_piece_free is told the size it was asked with. */
void *memory_piece_get(size_t bytes);
void memory_piece_free(void *block, size_t bytes);

/* Array data: aligned to 64 bytes, counted. memory_data_free is told the size it was asked with. */
void *memory_data_get(size_t bytes);
void memory_data_free(void *data, size_t bytes);
/* Freed blocks of some size are kept for the next array; this gives them back to the system. */
void memory_trim(void);

/* IG_OK if bytes more of array data fit the budget; else IG_ERR_MEMORY that names what asked. */
ig_status memory_admit(uint64_t bytes, const char *what);

/* For tests: the calling thread's n-th allocation from now on fails (1 is the next), once; 0 switches
 * it off. memory_count is the number of its allocations so far, memory_live those of it and of threads
 * that ended which are not yet freed. */
void memory_fail_at(int64_t n);
int64_t memory_count(void);
int64_t memory_live(void);

#endif
