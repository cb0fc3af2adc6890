/* Zarr arrays. An array is stored as objects, one for each cell of a regular grid: a chunk, or a shard of several
 * chunks with an index of their positions.
 */
#ifndef STORE_ZARR_H
#define STORE_ZARR_H

#include "base/text.h"
#include "lib/store/codec.h"
#include "lib/store/fields.h"
#include "lib/store/place.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ZARR_ELEMENT_BYTES = 16, ZARR_LOCKS = 64 };

typedef struct zarr {
    ig_store base; /* base.chunk is the inner chunk, base.shard the stored object */
    place *place;
    int version;                                             /* 3 or 2 */
    bool prefixed;                                           /* keys begin with "c" */
    char separator;                                          /* in keys: '/' or '.' */
    _Alignas(double) unsigned char fill[ZARR_ELEMENT_BYTES]; /* in this machine's byte order */
    codec_chain chain;                                       /* of an inner chunk */
    char *dimensions; /* the names of the axes, a JSON list; NULL: none */
    bool sharded;
    bool index_first;                  /* a shard begins with its index; else it ends with it */
    codec_chain index;                 /* of a shard's index */
    int64_t inner_count;               /* chunks in a shard; 1 without shards */
    atomic_bool cleaned;               /* temporary files of killed writers are removed */
    pthread_mutex_t locks[ZARR_LOCKS]; /* an object is written under the lock of its number */
} zarr;

/* Metadata of v3 ("zarr.json") and v2 (".zarray") as text, into z, whose members are all zero. */
ig_status zarr_read_v3(zarr *z, const struct io_file *file, const char *source, size_t bytes);
ig_status zarr_read_v2(zarr *z, const struct io_file *file, const char *source, size_t bytes);
/* The fill value of a dtype. v2 writes null for none. */
ig_status zarr_read_fill(json_where where, json_part value, ig_dtype dtype, unsigned char *out);
/* Completes z from its shape, chunk, shard, dtype and codecs, and checks that they fit each other. */
ig_status zarr_complete(zarr *z, const struct io_file *file);

/* The metadata of z as text (release with memory_free). */
char *zarr_write_v3(const zarr *z);
/* Reads "zstd:5,crc32c" into the chain of z. */
ig_status zarr_read_codecs(zarr *z, const struct io_file *file, const char *codecs);

/* A new struct for the array at a place, which it then owns; NULL, with the place closed, on failure. */
zarr *zarr_new(place *p);
/* Opens the array at a place, which the store then owns. NULL, with the place closed, on failure. *absent is
 * set, without an error, if there is no array. */
ig_store *zarr_open(place *p, bool *absent);

/* The store that ig_store_create would make, of which only the sizes can be asked: nothing is written. NULL if it would
 * fail because of its options. */
ig_store *zarr_sketch(const char *path, ig_ints shape, ig_dtype dtype, const ig_store_options *o);
void zarr_sketch_free(ig_store *s); /* NULL is allowed. */
/* Adds a line: its chunks, shards and codecs, and the memory that all threads hold to encode them. */
void zarr_sketch_text(const ig_store *s, uint64_t scratch, text *t);

/* IG_OK if a text is a JSON object. */
ig_status zarr_check_attributes(const struct io_file *file, const char *attributes);
/* Replaces the attributes in the metadata at a place. All else in it stays as it is. */
ig_status zarr_metadata_edit(place *p, const char *attributes);
/* The attributes of a v2 array or group (".zattrs"); NULL if it has none. Release them with memory_free. */
ig_status zarr_v2_attributes(place *p, char **attributes);
/* Deletes the chunks of an array whose keys have no prefix. */
ig_status zarr_remove_cells(place *p);

/* Removes the temporary files of killed writers, once. */
void zarr_clean(zarr *z);
/* Replaces the attributes of z, also in its metadata. */
ig_status zarr_put_attributes(zarr *z, const char *attributes);

/* Reads and writes boxes. */
extern const store_kind zarr_kind;

#endif
