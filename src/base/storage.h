/* Storage formats: how the bytes of a buffer hold elements. Most buffers are plain, which means that an element is a value of its
 * dtype. The other formats, in storage.def, have blocks of elements, such as quantized weights. */
#ifndef BASE_STORAGE_H
#define BASE_STORAGE_H

#include "base/dtype.h"

enum {
    STORAGE_PLAIN,
#define STORAGE(name, elements, run, head, bits) STORAGE_##name,
#include "base/storage.def"
    STORAGE_FORMATS
};

/* The storage of a buffer. All zero: plain. */
typedef struct storage {
    uint16_t format;
    uint16_t block; /* elements of a block */
} storage;

/* See storage.def. */
typedef struct storage_row {
    const char *name;
    int elements, run, head, bits;
} storage_row;
extern const storage_row storage_rows[STORAGE_FORMATS];

enum { STORAGE_BLOCK_MOST = 1 << 15, STORAGE_BLOCK_USUAL = 32 };

static inline bool storage_is_plain(storage s) { return s.format == STORAGE_PLAIN; }

/* The format of this name. block: its elements, for formats that let an array choose; 0: 32. Fails, naming `what`, if there is
 * no such format or block. */
ig_status storage_find(const char *what, const char *name, int64_t block, storage *s);

/* Neighbours whose codes are in consecutive bytes: see storage.def. */
int storage_run(storage s);
/* Bytes of a block. */
int64_t storage_block_bytes(storage s);
/* Bytes of n elements, whole blocks. */
int64_t storage_bytes(storage s, ig_dtype dtype, int64_t n);
/* How many elements these bytes hold. */
int64_t storage_elements(storage s, ig_dtype dtype, int64_t bytes);

/* Packs n elements, whole blocks: each code is the nearest to the element, with a scale for the block's range. */
void storage_pack(storage s, int64_t n, const float *from, void *to);

/* Packs a block of codes (0 to 2^bits - 1), for the formats i, u and z. zero is not used by i. */
void storage_pack_codes(storage s, const unsigned char *codes, float scale, float zero, void *to);

#endif
