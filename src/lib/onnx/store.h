/* The file of a model that is written, and the data file next to it for large tensors (external data).
 *
 * An ONNX file has at most 2 GiB. A tensor in the data file, PATH.data, is a name, a place and a length in the model. */
#ifndef ONNX_STORE_H
#define ONNX_STORE_H

#include "lib/onnx/model.h"
#include "lib/onnx/write.h"

typedef struct onnx_store {
    int64_t least;  /* tensors of at least that many bytes go to the data file; -1: none */
    char *location; /* the name of the data file, without its folder */
    struct store_piece *pieces;
    int n, room;
    uint64_t bytes; /* of the data file */
    bool failed;
} onnx_store;

/* A tensor of a model, as raw elements in the order of this machine. They must stay until store_write. */
typedef struct stored_tensor {
    const char *name;
    ig_onnx_type type;
    ig_ints shape;
    const void *at;
    size_t bytes;
    size_t swap; /* the bytes of an element that the order concerns; 1: none */
} stored_tensor;

/* Begins the files of the model at path. least: as the caller of the library gave it; all_bytes: the size of the model with
 * all tensors, which decides if least is -1. False after an error; store_close in both cases. */
bool store_open(onnx_store *s, const char *path, int64_t least, uint64_t all_bytes);
/* Adds a tensor to the message, as a field with this number. */
void store_tensor(onnx_store *s, onnx_writer *w, int field, const stored_tensor *t);
/* Writes both files; each replaces an old one as a whole. */
ig_status store_write(const onnx_store *s, const onnx_writer *w, const char *path);
void store_close(onnx_store *s);

/* Writes an input or output of a model; names[i], if names and it are not NULL, is the symbol of an axis without a length. */
void store_info(onnx_writer *w, int field, const char *name, ig_onnx_type type, ig_ints dims,
                const char *const *names);

#endif
