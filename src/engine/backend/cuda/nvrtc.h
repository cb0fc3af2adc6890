/* NVRTC, for kernels of arrays and for whole programs. It is loaded when something is compiled for the first time. */
#ifndef CUDA_NVRTC_H
#define CUDA_NVRTC_H

#include "engine/backend/cuda/api.h"
#include "ingot.h"

typedef struct nvrtc_library {
    nvrtc_api api;
    const char *why, *remedy; /* why: the reason why it is missing, or NULL */
    const char *path;
    int major, minor;
} nvrtc_library;

const nvrtc_library *nvrtc_get(void);

/* A text to compile. */
typedef struct nvrtc_source {
    const char *text, *name;
    const char *const *header_names, *const *header_texts;
    int n_headers;
    const char *const *options;
    int n_options;
    const char *const *expressions; /* names whose symbols are requested; NULL is skipped */
    int n_expressions;
} nvrtc_source;

typedef struct nvrtc_image {
    void *data; /* free with memory_free; NULL: NVRTC rejected the text, and log says why */
    size_t bytes;
    char **symbols; /* of the expressions: the caller's array; free each with memory_free */
    char *log;      /* free with memory_free; may be NULL */
} nvrtc_image;

/* Compiles the text; NVRTC must be loaded. A rejected text is not an error: see nvrtc_image. */
ig_status nvrtc_compile(const nvrtc_source *s, nvrtc_image *out);

#endif
