/* NVRTC, for kernels of arrays and for whole programs. It is loaded once, when something is compiled for the first time. */
#ifndef CUDA_NVRTC_H
#define CUDA_NVRTC_H

#include "engine/backend/cuda/api.h"
#include "ingot.h"

typedef struct nvrtc_library {
    nvrtc_api api;
    const char *why, *remedy; /* why: the reason that it is not there, or NULL */
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
    const char *const *expressions; /* names whose symbols are wanted; a NULL is left out */
    int n_expressions;
} nvrtc_source;

typedef struct nvrtc_image {
    void *data; /* memory_free; NULL: NVRTC refuses the text, and log says why */
    size_t bytes;
    char **symbols; /* of the expressions; the caller's array of NULLs, which get memory_free */
    char *log;      /* memory_free; may be NULL */
} nvrtc_image;

/* Compiles the text; NVRTC must be there. A refusal is no error: see nvrtc_image. */
ig_status nvrtc_compile(const nvrtc_source *s, nvrtc_image *out);

#endif
