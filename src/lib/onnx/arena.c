#include "lib/onnx/arena.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { ALIGNED = 8, FIRST_BYTES = 4096, MOST_BYTES = 1 << 20 };

typedef struct arena_block {
    struct arena_block *next;
    size_t bytes;
} arena_block;

/* Blocks double up to MOST_BYTES, so that little is wasted for small and for large models. */
static void *block_new(onnx_arena *a, size_t bytes)
{
    const size_t head = (sizeof(arena_block) + ALIGNED - 1) / ALIGNED * ALIGNED;
    size_t room = a->held < FIRST_BYTES ? FIRST_BYTES : a->held < MOST_BYTES ? a->held : MOST_BYTES;
    if (room < bytes)
        room = bytes;
    arena_block *b = memory_counted_resize(NULL, 0, head + room, "the structure of the model");
    if (!b)
        return NULL;
    *b = (arena_block){a->blocks, head + room};
    a->blocks = b;
    a->used = bytes;
    a->room = room;
    a->held += room;
    return (char *)b + head;
}

void *onnx_arena_new(onnx_arena *a, size_t n, size_t item_bytes)
{
    if (item_bytes && n > (SIZE_MAX / 4) / item_bytes)
        FAIL_NULL(IG_ERR_MEMORY, "the structure of the model is too large");
    const size_t bytes = (n * item_bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    const size_t head = (sizeof(arena_block) + ALIGNED - 1) / ALIGNED * ALIGNED;
    char *at;
    if (a->blocks && bytes <= a->room - a->used) {
        at = (char *)a->blocks + head + a->used;
        a->used += bytes;
    } else {
        at = block_new(a, bytes);
    }
    return at ? memset(at, 0, bytes) : NULL;
}

char *onnx_arena_text(onnx_arena *a, const char *text, size_t bytes)
{
    if (bytes == 0)
        return (char *)"";
    char *copy = onnx_arena_new(a, bytes + 1, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void onnx_arena_free(onnx_arena *a)
{
    while (a->blocks) {
        arena_block *b = a->blocks;
        a->blocks = b->next;
        memory_counted_free(b, b->bytes);
    }
    *a = (onnx_arena){0};
}
