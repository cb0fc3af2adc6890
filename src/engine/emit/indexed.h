/* Declarations shared by the files of scans, sorts, searches and writes: programs that read views, one row after
 * another, and write one output. */
#ifndef EMIT_INDEXED_H
#define EMIT_INDEXED_H

#include "engine/emit/writer.h"

enum { INDEXED_THREADS = 256 };

static inline uint64_t align_up(uint64_t n) { return (n + 255) & ~(uint64_t)255; }

uint32_t indexed_grid(int64_t blocks, const emit_target *t);

/* name(row, col): the offset of an element of a view whose rows have `inner` points. */
void write_place(emit_writer *w, const char *name, const view *from, int64_t inner);
/* The element of an operand at an offset, as a lane. */
void lane_at(emit_writer *w, const operand *o, int pointer, const char *offset, char *out,
             size_t room);

/* ---- keys ---- */

/* The unsigned integer type that holds an element's bits. */
const char *bits_type(ig_dtype dtype);
/* bits_of(element): its bits. key_of(bits): its place in the order, an unsigned integer of key_type. See
 * kernels/keys.cuh. */
void write_keys(emit_writer *w, ig_dtype dtype, bool descending);
const char *key_type(ig_dtype dtype);

/* ---- radix sort ---- */

/* Items that are sorted within rows, stable: bits, and the number of each item in its row. Scratch memory holds two
 * copies, unless the first pass reads an operand or the last one writes the result. */
typedef struct radix {
    int64_t rows, inner;
    int bits;           /* of keys */
    int item_bytes;     /* 1, 2, 4 or 8 */
    const char *type;   /* of an item's bits */
    bool numbers;       /* items have numbers */
    const operand *in;  /* input of the first pass, with numbers 0, 1, ...; NULL: scratch */
    const program *out; /* the program whose result the last pass writes; NULL: scratch */
    bool wide;          /* idx has 64 bits */
    int each;           /* items of a thread, such that a tile fits in shared memory */
    uint64_t item[2], number[2], count, total; /* offsets in scratch */
} radix;

/* Fills `each` and the offsets, and returns the bytes of scratch; the caller sets the other fields. */
uint64_t radix_layout(radix *r, const emit_target *t);
/* Emits the launches. Results that stay in scratch are in item[*last] and number[*last]. */
ig_status radix_sort(const radix *r, const emit_target *t, emitted *out, int *last);

#endif
