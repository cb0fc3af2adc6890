/* Memory: every allocation of the library is made here. So tests can make the n-th one fail, and array data
 * is counted against the byte budget of the process. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "ingot/base.h"

/* Small memory, for structures. NULL with IG_ERR_MEMORY set on failure. memory_new is zeroed.
 * memory_resize leaves the old block unchanged when it fails. A size of 0 gives a valid block. */
void *memory_new(size_t bytes);
void *memory_get(size_t bytes);
void *memory_resize(void *block, size_t bytes);
void memory_free(void *block);
char *memory_text(const char *text); /* a copy */

/* Makes room for element n of a list of elements of `size` bytes, which grows to about twice its size. list: the address
 * of its pointer, NULL at first; *room: 0 at first. False on failure; then the list is unchanged. */
bool memory_room(void *list, int n, int *room, size_t size);

/* The same for short-lived blocks of up to 64 KiB, aligned to 64 bytes; not zeroed. memory_piece_free takes the size
 * that was asked for. */
void *memory_piece_get(size_t bytes);
void memory_piece_free(void *block, size_t bytes);

/* For blocks that a hostile file or text could make large: their bytes count against the budget, and the error names
 * `what`. `held` is the current size of the block; 0: block is NULL. */
void *memory_counted_resize(void *block, size_t held, size_t bytes, const char *what);
void memory_counted_free(void *block, size_t held);

/* Array data: aligned to 64 bytes, counted. memory_data_free takes the size that was asked for. */
void *memory_data_get(size_t bytes);
void memory_data_free(void *data, size_t bytes);
/* Large freed blocks are kept for the next array; this returns them to the system. */
void memory_trim(void);

/* Returns IG_OK if `bytes` more bytes of array data fit the budget; else IG_ERR_MEMORY, with an error that names
 * `what`. */
ig_status memory_admit(uint64_t bytes, const char *what);

/* For tests: the calling thread's n-th allocation from now on fails (1 is the next), once; 0 switches
 * this off. memory_count is the number of its allocations so far. memory_live is the number of blocks not
 * yet freed of this thread and of threads that have ended. */
void memory_fail_at(int64_t n);
int64_t memory_count(void);
int64_t memory_live(void);

#endif
