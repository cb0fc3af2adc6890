/* The bytes of a model: its file and files of external data, mapped once each.
 *
 * An array over a part of a file keeps a reference to the file, so arrays may outlive their model. */
#ifndef ONNX_FILES_H
#define ONNX_FILES_H

#include "ingot.h"

#include <stdatomic.h>

typedef struct onnx_file {
    atomic_int references;
    char *path;   /* as external data names it; NULL: the model itself */
    char *at;     /* its content */
    size_t bytes; /* its size */
    size_t room;  /* readable bytes from `at` on */
    bool mapped;  /* else: a copy in memory */
    struct onnx_file *next;
} onnx_file;

typedef struct onnx_files {
    onnx_file *first;
    char *folder; /* of external data; NULL: there is none */
    char *linked; /* the resolved folder of the model, if its path is a link; may be NULL */
} onnx_files;

/* Opens and maps a file, or copies bytes. The result holds one reference; NULL after an error. */
onnx_file *onnx_file_map(const char *path);
onnx_file *onnx_file_copy(const void *bytes, size_t n);
void onnx_file_release(void *file);

/* The file that contains a piece of memory; NULL if there is none. */
onnx_file *onnx_files_holding(const onnx_files *f, const void *at, size_t bytes);
/* The file of external data of a tensor, which must be in the folder or below it. Borrowed; NULL after an error. */
onnx_file *onnx_files_external(onnx_files *f, const char *location, const char *tensor);
/* Sets the folder to the folder of the model at path. */
ig_status onnx_files_folder(onnx_files *f, const char *path);
struct onnx_tensor;
/* The file of an external tensor, after its part of the file was checked (tensor.c). */
ig_status onnx_tensor_external(const struct onnx_tensor *t, onnx_files *f, onnx_file **file);
void onnx_files_close(onnx_files *f);

#endif
