/* The device side of a CUDA source, for a compiler that has no host code: NVRTC.
 *
 * Kernels, device functions and variables, types, constants and macros are kept as written. Functions and
 * variables of the host are blanked, so that lines and columns do not change. Host functions of a class become
 * declarations. Types and constants that need the host's library are blanked too. System headers are left
 * out: ingot_nvrtc.h has the parts of them that kernels use. */
#ifndef CLI_CUDA_DEVICE_H
#define CLI_CUDA_DEVICE_H

#include "cuda/declare.h"

/* An #include: the token of the file's name, and the number of the program's file, or -1. */
typedef struct device_include {
    int token, last; /* its first and last token */
    int file;
} device_include;

/* Adds the text to out. Names of blanked declarations are recorded in the job. */
void device_text(rewrite_job *job, const scan *s, const char *text, size_t bytes,
                 const device_include *includes, int n_includes, str *out);

/* ---- names that only the host has (device_names.c) ---- */

/* True if one of the tokens needs the host's library, or a type that was blanked. */
bool device_needs_host(const rewrite_job *job, const scan *s, int from, int to);
/* True if a value needs a function or a variable that the device does not have. */
bool device_calls_host(const rewrite_job *job, const scan *s, int from, int to);
/* True for a CUDA header that kernels use. */
bool device_has_header(const char *name, size_t bytes);
/* True if `using namespace`, whose last word is at `last`, names a namespace that the device has. */
bool device_has_namespace(const rewrite_job *job, const scan *s, int first, int last);

#endif
