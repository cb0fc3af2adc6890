/* The memory of one run of the front end: allocated piece by piece, freed all at once.
 *
 * The front end does not check allocations: one that fails, or that would exceed the cap, records
 * IG_ERR_MEMORY and jumps to the current escape. Functions that are called from outside set it:
 *
 *     jmp_buf escape, *outer = arena->escape;
 *     arena->escape = &escape;
 *     status = setjmp(escape) ? IG_ERR_MEMORY : work(...);
 *     arena->escape = outer;
 *
 * Between the two, no resource outside the arena may be held. */
#ifndef KERNEL_ARENA_H
#define KERNEL_ARENA_H

#include <setjmp.h>

#include "ingot/base.h"

typedef struct kernel_arena {
    struct kernel_block *blocks;
    char *at, *end;
    size_t taken_bytes, cap_bytes; /* of whole blocks */
    jmp_buf *escape;
} kernel_arena;

void kernel_arena_begin(kernel_arena *a, size_t cap_bytes);
void kernel_arena_end(kernel_arena *a);

/* Aligned to 16 bytes, not zeroed, never NULL. kernel_arena_new is zeroed. */
void *kernel_arena_get(kernel_arena *a, size_t bytes);
void *kernel_arena_new(kernel_arena *a, size_t bytes);

/* A copy with a zero byte after it. */
char *kernel_arena_text(kernel_arena *a, const char *text, size_t bytes);

/* Makes room for `need` items of `size` bytes. Returns block itself if *room is enough. Otherwise returns a
 * new block, at least twice as large, with the first *room items copied, and updates *room. The old block is
 * not reused, so a growing list costs at most twice its size. */
void *kernel_arena_grow(kernel_arena *a, void *block, uint32_t *room, uint32_t need, size_t size);

/* Adds an item to a list of n items in the arena that has this much room. */
#define ARENA_ADD(arena, list, n, room, ...) \
    ((list) = kernel_arena_grow(arena, list, &(room), (uint32_t)(n) + 1, sizeof *(list)), \
     (list)[(n)++] = __VA_ARGS__)
/* A copy of an object. */
void *kernel_arena_copy(kernel_arena *a, const void *from, size_t bytes);
/* Adds an item to a linked list; end is where the last item points to the next one. */
#define LIST_ADD(end, item, link) (*(end) = (item), (end) = &(*(end))->link)

/* Records "out of memory" and jumps to the escape: for limits that are not in bytes. */
_Noreturn void kernel_arena_fail(kernel_arena *a, const char *what);

#endif
