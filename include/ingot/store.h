/* Arrays in files that are read and written by boxes, so that they may be larger than memory: Zarr, .npy, tables, HDF5. */
#ifndef INGOT_STORE_H
#define INGOT_STORE_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open array. Any number of threads may read and write it at the same time. */
typedef struct ig_store ig_store;

/* Opens an array for reading, and a Zarr v3 array in a folder also for writing. path is
 *
 * - a Zarr v3 or v2 array: its folder, which may be inside a group ("data.zarr/group/x"). v2 is read-only.
 * - an .npy file, which is mapped: it must not change while it is open.
 * - a folder of .npy files: they follow each other along the first axis, in the order of their names ("2.npy" is before
 *   "10.npy").
 * - a table: a .csv, .tsv or .txt file as ig_load reads it. It is read once when it is opened, to find its rows, and must not
 *   change while it is open.
 * - a dataset of an HDF5 file ("file.h5/group/x"), if libhdf5 (1.10 or later) is installed. Its elements must be in this
 *   file. The name may be left out if the file has one dataset.
 * - an address of a Zarr array: "https://...", "http://..." or "s3://bucket/path", if libcurl is installed. S3 uses the
 *   variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL. Requests
 *   that fail are repeated a few times.
 *
 * Compressed chunks need the library of their codec: zstd libzstd, blosc libblosc, gzip zlib (or none, for reading). NULL
 * on failure. */
IG_API ig_store *ig_store_open(const char *path);

/* If there is an array at the path already: */
typedef enum ig_store_existing {
    IG_STORE_KEEP =
        0, /* it is opened with its chunks if its metadata and attributes are equal, else refused */
    IG_STORE_REPLACE, /* it is deleted, unless it is not an array */
    IG_STORE_REFUSE   /* it is an error */
} ig_store_existing;

typedef struct ig_store_options {
    size_t size; /* sizeof(ig_store_options); 0: the fields of version 0.1 */
    /* The shape of chunks, the unit of reading; not given: about 1 MiB. -1: the whole axis. */
    ig_ints chunk;
    /* The shape of shards, the unit of writing: a multiple of chunk; not given: none. -1: the whole axis. */
    ig_ints shard;
    const char *
        codecs; /* "none", "gzip", "zstd:5", "blosc:lz4:5", "zstd,crc32c"; NULL: zstd, if it is installed */
    const double *fill;     /* the value of elements that were not written; NULL: 0 */
    const char *attributes; /* a JSON object; NULL: {} */
    ig_store_existing existing;
    const char *
        dimensions; /* the names of the axes, for programs such as xarray: a JSON list of texts; NULL: none */
} ig_store_options;

/* Creates a Zarr v3 array; options may be NULL. Folders of its path are made. No chunk is written yet.
 *
 * codecs: one compressor, with its level after a colon, and "crc32c" for a checksum of each chunk, in the order in which
 * they are applied. "blosc" takes a compressor (lz4, lz4hc, zstd, zlib, blosclz) before the level, and
 * noshuffle, shuffle or bitshuffle after it. "big" in front stores big-endian elements. "transpose" in front stores chunks with the last axis first. NULL on failure. */
IG_API ig_store *ig_store_create(const char *path, ig_ints shape, ig_dtype dtype,
                                 const ig_store_options *options);
/* NULL is allowed. */
IG_API void ig_store_close(ig_store *s);

/* Lists are valid as long as the store is open. ig_store_chunk is the unit in which it should be read, ig_store_shard the
 * unit in which it should be written: the chunk, if there are no shards. */
IG_API ig_ints ig_store_shape(const ig_store *s);
IG_API ig_ints ig_store_chunk(const ig_store *s);
IG_API ig_ints ig_store_shard(const ig_store *s);
IG_API ig_dtype ig_store_dtype(const ig_store *s);
/* The attributes as a JSON object; valid until they are set again. */
IG_API const char *ig_store_attributes(const ig_store *s);
/* Replaces the attributes at once. Not at the same time as another call for this store. */
IG_API ig_status ig_store_set_attributes(ig_store *s, const char *attributes);
/* True if ig_store_write can succeed. */
IG_API bool ig_store_writable(const ig_store *s);
/* The bytes of array data that one ig_store_read or ig_store_write of whole chunks or shards holds at most while it
 * runs, for each thread that takes part in it. */
IG_API uint64_t ig_store_scratch_bytes(const ig_store *s);

/* Reads the box [start, start + size) in row-major order. Only the chunks that it meets are read and decoded, by several
 * threads if there are several. Chunks that were not written read as the fill value. */
IG_API ig_status ig_store_read(ig_store *s, ig_ints start, ig_ints size, void *data);
/* Writes a box. A chunk or shard is replaced as a whole or not at all, even if the process is killed or the disk is full.
 * Those that the box covers in part are read first. Several threads may write parts of one chunk. */
IG_API ig_status ig_store_write(ig_store *s, ig_ints start, ig_ints size, const void *data);
/* The elements of an .npy file in memory, if they are row-major and in this machine's byte order; else NULL. */
IG_API const void *ig_store_data(const ig_store *s);
/* Sets *has to whether the chunk that contains the element at start has been written. */
IG_API ig_status ig_store_has(ig_store *s, ig_ints start, bool *has);

/* ---- groups: folders of arrays and groups ---------------------------------------------------- */

typedef struct ig_group ig_group;

/* Opens a Zarr group, v3 or v2. Its members come from its consolidated metadata if it has any, else from the folder. NULL
 * on failure. */
IG_API ig_group *ig_group_open(const char *path);
IG_API void ig_group_close(ig_group *g); /* NULL is allowed. */
IG_API int ig_group_count(const ig_group *g);
/* The i-th member, in the order of names: its name, valid as long as the group, and whether it is an array. */
IG_API const char *ig_group_name(const ig_group *g, int i);
IG_API bool ig_group_is_array(const ig_group *g, int i);
IG_API const char *ig_group_attributes(const ig_group *g);
/* Opens an array in the group: "x", or "inner/x". Paths that leave the group are refused. */
IG_API ig_store *ig_group_array(const ig_group *g, const char *name);
/* Creates a v3 group. attributes may be NULL. An existing group is kept, with new attributes if they are given. */
IG_API ig_status ig_group_create(const char *path, const char *attributes);
/* Writes the metadata of all members into the metadata of a v3 group. */
IG_API ig_status ig_group_consolidate(const char *path);

/* ---- as arrays ---- */

/* An array over a store: its elements are read when they are needed, block by block if they do not fit in memory (see
 * ingot/blocks.h). The store stays open as long as an array needs it, and must not change. */
IG_API ig_array *ig_open(const char *path);
/* Evaluates x and writes it as a Zarr v3 array, block by block if it does not fit in memory. A path to an .h5 or .hdf5 file
 * makes a new HDF5 file instead, with one dataset: "x.h5/group/name", or "x.h5" for the name "data". Of the options it has only
 * the chunks and IG_STORE_REFUSE, and it is not continued. options may be NULL; an array at the path is replaced then. If resume is not NULL, it names the computation: an array that an interrupted call
 * with the same text left is continued, and its chunks are not computed again. */
IG_API ig_status ig_save_store(const char *path, ig_array *x, const ig_store_options *options,
                               const char *resume);
/* The plan of ig_save_store, as ig_explain_blocks gives it. For a Zarr array a line follows: its chunks, shards and codecs,
 * and the memory that encoding takes, which the peak includes. Nothing is written. Release the text with ig_free; NULL on
 * failure. */
IG_API char *ig_explain_store(const char *path, ig_array *x, const ig_store_options *options);

#ifdef __cplusplus
}
#endif

#endif
