/* The unit of a source: its text as a constant in the program. The library compiles it for the device. */
#ifndef CLI_CUDA_UNIT_H
#define CLI_CUDA_UNIT_H

#include "cuda/rewrite.h"

/* Adds text as a C string literal. */
void unit_quote(str *out, const char *text, size_t bytes);
/* The text of a file in the forms that a unit may have; NULL if it lacks one. */
typedef struct unit_texts {
    const char *written, *device; /* as in struct rewritten: source and device */
    const char *lambdas;          /* the structs of its lambdas, which follow the text */
} unit_texts;

/* Adds the definition of the unit of the file at path. */
void unit_add(const rewrite_job *job, const char *path, const unit_texts *texts, str *out);

/* The same as an image that a program loads (lib/cudart/ig_cuda.h). */
void unit_image(const rewrite_job *job, const char *path, const unit_texts *texts, str *out);

#endif
