/* Reads messages by tables: a rule for each message lists its fields and where they go in a structure. */
#ifndef ONNX_MESSAGE_H
#define ONNX_MESSAGE_H

#include "lib/onnx/arena.h"
#include "lib/onnx/wire.h"

/* The content of a field, and its C type. A list is a pointer to such items and an int. */
typedef enum field_kind {
    FIELD_TEXT,    /* const char *, terminated, in the arena */
    FIELD_BYTES,   /* onnx_bytes in the file */
    FIELD_INT,     /* int64_t */
    FIELD_FLOAT,   /* float */
    FIELD_MESSAGE, /* the structure of its rule */
    FIELD_POINTER, /* a pointer to it; lists: of pointers */
    /* A list of numbers as one onnx_bytes with their encoding: packed varints, or fixed bytes. */
    FIELD_VARINTS,
    FIELD_FIXED32,
    FIELD_FIXED64
} field_kind;

struct message_rule;

typedef struct field_rule {
    uint32_t number; /* below 64 */
    field_kind kind;
    bool list;
    size_t at, n_at; /* offsets of the field, and of the length of a list */
    const char *name;
    const struct message_rule *message;
} field_rule;

typedef struct message_place message_place;

typedef struct reader {
    onnx_arena *arena;
    const char *shown; /* the file, for messages */
    int depth;
    const message_place *place; /* the message that is being read */
} reader;

typedef struct message_rule {
    const char *shown; /* how errors call the message; NULL: they leave it out */
    size_t bytes;      /* of the structure */
    const field_rule *fields;
    int n_fields;
    size_t least;     /* bytes of a valid message, at least */
    int name, detail; /* numbers of fields that name it in errors; 0: none */
    /* If not 0, the fields belong to a scratch structure of this many bytes, which finish turns into the result.
     * Otherwise scratch is the result. seen: a bit for each number of a field that is present. */
    size_t scratch;
    bool (*finish)(reader *r, uint64_t seen, void *scratch, void *result);
} message_rule;

enum { MESSAGE_SCRATCH = 512, MESSAGE_DEPTH = 100 };

/* Defined in read_value.c. */
extern const message_rule onnx_tensor_rule, onnx_sparse_rule;

/* Reads a message into a zeroed structure. False after an error. */
bool message_read(reader *r, const message_rule *rule, onnx_bytes in, void *result);

/* An error that names the file and the place in it; returns false. */
bool reader_fail(const reader *r, ig_status code, const char *format, ...) IG_PRINTF(3, 4);

#endif
