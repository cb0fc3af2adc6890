/* GGUF files, version 3, little-endian: metadata (keys with values) and tensors, as llama.cpp defines them.
 *
 *     "GGUF", version (u32), number of tensors (u64), number of keys (u64)
 *     keys: name, kind (u32), value                           a text is its length (u64) and its bytes
 *     tensors: name, number of axes (u32), lengths (u64 each, the fastest axis first), type (u32), offset (u64)
 *     padding up to a multiple of the alignment, data of the tensors, each at such a multiple
 *
 * The file is untrusted: every count, length, kind and offset is checked before it is used. The whole file is mapped;
 * values and tensors are read where they are. */
#ifndef IO_GGUF_H
#define IO_GGUF_H

#include "lib/io/file.h"

typedef enum gguf_kind {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_TEXT,
    GGUF_LIST,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_KINDS
} gguf_kind;

enum { GGUF_AXES = 4, GGUF_VERSION = 3, GGUF_ALIGN = 32 };

/* The ids of gguf.def: GGUF_TYPE_F32 and so on. */
enum {
#define GGUF_TYPE(id, name, elements, bytes, format) GGUF_TYPE_##name = id,
#include "lib/io/gguf.def"
    GGUF_TYPES
};

typedef struct gguf_type {
    const char *name; /* "Q4_0"; NULL: there is no type of this id */
    int elements, bytes;
    const char *format; /* see gguf.def */
} gguf_type;
/* NULL if there is no type of this id. */
const gguf_type *gguf_type_of(uint64_t id);
/* The id of a type by its name, in letters of any case; -1 if there is none. */
int gguf_type_find(const char *name);

/* A key and its value. */
typedef struct gguf_value {
    ig_text key;
    gguf_kind kind, item; /* item: the kind of a list's items */
    uint64_t n;           /* items of a list, bytes of a text; otherwise 1 */
    const unsigned char *at;
    size_t bytes;
} gguf_value;

typedef struct gguf_tensor {
    ig_text name; /* also terminated, by a copy */
    int type, ndim;
    int64_t shape[GGUF_AXES]; /* the slowest axis first, as elsewhere in Ingot */
    const unsigned char *data;
    size_t bytes;
    size_t readable; /* bytes from data to the end of the last page of the file */
} gguf_tensor;

typedef struct gguf gguf;

/* Opens a file, or bytes that stay valid, which messages call `shown`. NULL on failure. Several users may share it:
 * gguf_keep adds one, gguf_close takes one off and frees it after the last. */
gguf *gguf_open(const char *path);
gguf *gguf_open_file(const struct io_file *file); /* which its owner closes */
gguf *gguf_open_memory(const void *bytes, size_t n, const char *shown);
gguf *gguf_keep(gguf *g);
void gguf_close(gguf *g);

/* Sets the error "load 'path': text"; returns code. */
ig_status gguf_fail(const gguf *g, ig_status code, const char *format, ...) IG_PRINTF(3, 4);

/* All keys and tensors, in the order of the file. */
int gguf_values(const gguf *g, const gguf_value **list);
int gguf_tensors(const gguf *g, const gguf_tensor **list);

/* NULL, without an error, if there is none of this name. */
const gguf_value *gguf_find(const gguf *g, const char *key);
const gguf_tensor *gguf_tensor_find(const gguf *g, const char *name);

/* A value of a key; `otherwise` (for a text: at NULL), without an error, if the key is absent or has a value of another
 * kind. Integers of all kinds are integers and numbers. */
int64_t gguf_int(const gguf *g, const char *key, int64_t otherwise);
double gguf_number(const gguf *g, const char *key, double otherwise);
bool gguf_bool(const gguf *g, const char *key, bool otherwise);
ig_text gguf_text(const gguf *g, const char *key);
bool gguf_text_is(const gguf *g, const char *key, const char *plain);

/* An integer that must be there, from least to most. The error names the key. */
ig_status gguf_need_int(const gguf *g, const char *key, int64_t least, int64_t most, int64_t *out);

/* Items of a list of numbers; i is less than v->n. A single value has one item. Items of other kinds: 0. */
int64_t gguf_item_int(const gguf_value *v, uint64_t i);
double gguf_item_number(const gguf_value *v, uint64_t i);
/* The items of a list of texts, v->n of them; release with memory_free. NULL on failure, also if the key is absent or has
 * another kind. */
ig_text *gguf_texts(const gguf *g, const char *key, uint64_t *n);

/* An array over the data, which keeps the file mapped: floats or integers by their dtype, blocks by their storage format
 * with dtype f32. Types without a format are unpacked to f32. NULL on failure. */
ig_array *gguf_array(gguf *g, const gguf_tensor *t);

/* True if a file with these first bytes is a GGUF file. */
bool gguf_begins(const unsigned char *first, size_t n);
/* Adds all tensors of a file to a set. */
ig_status gguf_tensors_load(const struct io_file *file, ig_tensors *set);

/* ---- writing ---- */

typedef struct gguf_writer gguf_writer;

/* Adds all keys and declares all tensors first, then writes the data of each tensor in this order. A failure stays, and
 * gguf_write_end returns it. */
gguf_writer *gguf_write_new(void);
void gguf_write_int(gguf_writer *w, const char *key, gguf_kind kind, int64_t value);
void gguf_write_number(gguf_writer *w, const char *key, gguf_kind kind, double value);
void gguf_write_text(gguf_writer *w, const char *key, ig_text value);
void gguf_write_texts(gguf_writer *w, const char *key, const ig_text *items, uint64_t n);
/* A list of numbers of this kind, little-endian. */
void gguf_write_list(gguf_writer *w, const char *key, gguf_kind item, const void *items,
                     uint64_t n);
/* A copy of a value of another file. */
void gguf_write_value(gguf_writer *w, const gguf_value *v);
/* shape: the slowest axis first. */
void gguf_write_tensor(gguf_writer *w, const char *name, int type, const int64_t *shape, int ndim);

/* Writes everything but the data. Call gguf_write_end afterwards, also after a failure. */
ig_status gguf_write_begin(gguf_writer *w, const char *path);
/* The data of the next tensor, in one or several pieces. */
ig_status gguf_write_data(gguf_writer *w, const void *data, size_t bytes);
/* With IG_OK, checks that all data was written and puts the file in place; otherwise leaves the old file. Frees w. */
ig_status gguf_write_end(gguf_writer *w, ig_status status);

#endif
