/* The memory of one model: pieces that are freed together. Its bytes count against the memory limit. */
#ifndef ONNX_ARENA_H
#define ONNX_ARENA_H

#include <stddef.h>

struct arena_block;

typedef struct onnx_arena {
    struct arena_block *blocks; /* the newest first */
    size_t used, room;          /* of the newest */
    size_t held;                /* bytes of all blocks */
} onnx_arena;

/* A zeroed piece of n items; NULL after an error. A piece of 0 bytes is valid. */
void *onnx_arena_new(onnx_arena *a, size_t n, size_t item_bytes);
/* A terminated copy; NULL after an error. */
char *onnx_arena_text(onnx_arena *a, const char *text, size_t bytes);
void onnx_arena_free(onnx_arena *a);

#endif
