/* The front end's memory: block sizes double up to BLOCK_MOST; a larger piece gets its own block. */
#include "compiler/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include <string.h>

enum { ALIGN = 16, BLOCK_FIRST = 64 << 10, BLOCK_MOST = 4 << 20 };

typedef struct kernel_block {
    struct kernel_block *next;
    size_t bytes;
} kernel_block;

void kernel_arena_begin(kernel_arena *a, size_t cap_bytes)
{
    *a = (kernel_arena){.cap_bytes = cap_bytes};
}

void kernel_arena_end(kernel_arena *a)
{
    for (kernel_block *block = a->blocks; block;) {
        kernel_block *next = block->next;
        memory_free(block);
        block = next;
    }
    *a = (kernel_arena){0};
}

static _Noreturn void escape(kernel_arena *a) { longjmp(*a->escape, 1); }

void kernel_arena_fail(kernel_arena *a, const char *what)
{
    ig_fail(IG_ERR_MEMORY, "the CUDA C source is too large: %s", what);
    escape(a);
}

static char *block_new(kernel_arena *a, size_t bytes)
{
    if (bytes > a->cap_bytes || a->taken_bytes > a->cap_bytes - bytes) {
        ig_fail(IG_ERR_MEMORY,
                "the CUDA C source is too large: compiling it takes more than %zu MiB of memory",
                a->cap_bytes >> 20);
        escape(a);
    }
    kernel_block *block = memory_get(sizeof(kernel_block) + bytes);
    if (!block)
        escape(a);
    *block = (kernel_block){.next = a->blocks, .bytes = bytes};
    a->blocks = block;
    a->taken_bytes += bytes;
    return (char *)(block + 1);
}

void *kernel_arena_get(kernel_arena *a, size_t bytes)
{
    if (bytes > a->cap_bytes)
        return block_new(a, bytes);
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > (size_t)(a->end - a->at)) {
        size_t block = a->taken_bytes < BLOCK_FIRST  ? BLOCK_FIRST
                       : a->taken_bytes < BLOCK_MOST ? a->taken_bytes
                                                     : BLOCK_MOST;
        if (bytes > block / 4)
            return block_new(a, bytes);
        const size_t left = a->cap_bytes - a->taken_bytes;
        if (block > left && bytes <= left)
            block = left / ALIGN * ALIGN;
        a->at = block_new(a, block < bytes ? bytes : block);
        a->end = a->at + block;
    }
    void *piece = a->at;
    a->at += bytes;
    return piece;
}

void *kernel_arena_new(kernel_arena *a, size_t bytes)
{
    return memset(kernel_arena_get(a, bytes), 0, bytes);
}

void *kernel_arena_copy(kernel_arena *a, const void *from, size_t bytes)
{
    return memcpy(kernel_arena_get(a, bytes), from, bytes);
}

char *kernel_arena_text(kernel_arena *a, const char *text, size_t bytes)
{
    char *copy = kernel_arena_get(a, bytes + 1);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

void *kernel_arena_grow(kernel_arena *a, void *block, uint32_t *room, uint32_t need, size_t size)
{
    if (need <= *room)
        return block;
    const uint64_t twice = (uint64_t)*room * 2 + 16;
    const uint64_t next = need < twice ? twice : need;
    if (next > UINT32_MAX)
        kernel_arena_fail(a, "a list has more than 2**32 items");
    void *larger = kernel_arena_get(a, next * size);
    if (*room)
        memcpy(larger, block, *room * size);
    *room = (uint32_t)next;
    return larger;
}
