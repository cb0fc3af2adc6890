/* What a compiled kernel gets for each block. This file begins the printed text too, so it includes nothing. */
#ifndef NATIVE_BLOCK_H
#define NATIVE_BLOCK_H

typedef void (*native_loop)(long long n, void *d, const void *a, const void *b, const void *c);

typedef struct native_block {
    unsigned block[3], grid[3];
    const char *arguments;
    char *globals, *shared;
    char *local; /* of the block's first lane */
    char *frame; /* registers that live across barriers: native_text.frame_bytes, aligned to 64 */
    const native_loop *loop; /* of the rows in native_text.call */
    void (*convert)(int from, int to, long long n, void *d, const void *a);
    void (*round)(int to, long long n, float *d, const float *a);
    unsigned long long (*clock)(void);
    int (*is_over)(void *context); /* true: the launch has ended */
    void *context;
    int instruction, thread; /* of a fault: set by the kernel */
} native_block;

enum { NATIVE_DONE, NATIVE_STOPPED, NATIVE_FAULT };

/* Runs a block. Any thread may call it. */
typedef int (*native_kernel)(native_block *b);

#endif
