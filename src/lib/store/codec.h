/* Chains of codecs: how the elements of a chunk become bytes and back.
 *
 * A chain is an order of axes, an order of bytes, and up to CODEC_STEPS_MAX steps from bytes to bytes: compressors and
 * checksums. Sizes are known in advance: the decoded size of a chunk is exact, and every step has a largest encoded size.
 * So no stored byte makes a decoder allocate more than that.
 */
#ifndef STORE_CODEC_H
#define STORE_CODEC_H

#include "lib/store/store.h"

enum { CODEC_STEPS_MAX = 8, CODEC_NAME_BYTES = 16 };

typedef struct codec_step codec_step;

/* One kind of step. Functions fail with a message about `file`. */
typedef struct codec_kind {
    const char *name;    /* in the metadata of v3, and in lists of codecs */
    const char *library; /* that must be installed; NULL: none */
    int level;           /* the default */
    int level_min, level_max;
    bool (*find)(void);           /* true if the library is there; NULL: always */
    size_t (*most)(size_t bytes); /* the largest encoded size */
    /* Decodes into exactly n_out bytes, or, if got is not NULL, into at most n_out bytes. */
    ig_status (*decode)(const codec_step *step, const struct io_file *file, const void *in,
                        size_t n_in, void *out, size_t n_out, size_t *got);
    /* Encodes into out, which has room for most(n_in). */
    ig_status (*encode)(const codec_step *step, const struct io_file *file, const void *in,
                        size_t n_in, void *out, size_t room, size_t *got);
} codec_kind;

struct codec_step {
    const codec_kind *kind;
    int level;
    bool checksum;                /* zstd: with its own checksum */
    char inner[CODEC_NAME_BYTES]; /* blosc: its compressor, and the fields below */
    int shuffle;                  /* 0: none, 1: bytes, 2: bits */
    int typesize;
    uint32_t blocksize;
};

typedef struct codec_chain {
    size_t bytes;                 /* of the decoded chunk */
    int64_t strides[IG_MAX_NDIM]; /* in bytes, of the logical axes in the stored order */
    bool transposed;              /* the stored order is not row-major */
    int order[IG_MAX_NDIM];       /* the logical axes in the stored order */
    bool big;                     /* elements are big-endian */
    bool swap;                    /* elements have another byte order than this machine */
    size_t swap_bytes;            /* of the parts whose bytes are swapped */
    bool truth;                   /* elements are bools: every nonzero byte is true */
    int n_steps;
    codec_step steps[CODEC_STEPS_MAX];
} codec_chain;

/* Memory of one thread for decoding and encoding. */
typedef struct codec_room {
    spare index;    /* of a shard */
    spare stored;   /* an object, as it is stored */
    spare chunk;    /* a decoded chunk */
    spare steps[2]; /* between steps */
} codec_room;
void codec_room_release(codec_room *r);

/* The kind of that name; NULL if there is none. `v2` finds names of the compressors of Zarr v2. */
const codec_kind *codec_find(const char *name, bool v2);
/* IG_OK if the library of each step is installed; else an error that names it. */
ig_status codec_chain_ready(const codec_chain *c, const struct io_file *file);
/* The largest size of an encoded chunk. */
size_t codec_chain_most(const codec_chain *c);

/* Decodes `n` bytes into out, which gets c->bytes bytes in the stored order of axes and this machine's order of bytes. */
ig_status codec_decode(const codec_chain *c, const struct io_file *file, const void *in, size_t n,
                       void *out, codec_room *room);
/* Encodes c->bytes bytes, which are in the stored order of axes. They may be overwritten. *out is valid until the next
 * use of room. */
ig_status codec_encode(const codec_chain *c, const struct io_file *file, void *in, codec_room *room,
                       const void **out, size_t *n);

/* Sets *got to the size of a chunk after decoding, for the functions of a kind. Fails if it has more than n_out bytes, or, if got is
 * NULL, another number. */
ig_status codec_sized(const struct io_file *file, size_t n, size_t n_out, size_t *got);

/* The kinds, in the files of their libraries. */
extern const codec_kind codec_crc32c, codec_gzip, codec_zlib, codec_zstd, codec_blosc;

/* The CRC-32C (Castagnoli) of the crc32c codec. crc32c_plain does not use the processor's instruction: for tests. */
uint32_t crc32c(const void *data, size_t bytes);
uint32_t crc32c_plain(const void *data, size_t bytes);

#endif
