/* The device's side of a CUDA source, for a compiler that has no host code: NVRTC.
 *
 * What belongs to the device is kept as written: kernels, device functions and variables, types, constants,
 * macros. Functions and variables of the host are blanked, so that lines and columns stay. Of a class,
 * functions of the host become declarations. Types and constants that need the host's library are blanked
 * too. Headers of the system are left out: ingot_nvrtc.h has what kernels use of them. */
#ifndef CLI_CUDA_DEVICE_H
#define CLI_CUDA_DEVICE_H

#include "cuda/declare.h"

/* An #include: the token of the file's name, and the number of the program's file, or -1. */
typedef struct device_include {
    int token, last; /* its first and last token */
    int file;
} device_include;

/* Adds the text to out. Names of what was left out are kept in the job. */
void device_text(rewrite_job *job, const scan *s, const char *text, size_t bytes,
                 const device_include *includes, int n_includes, str *out);

/* ---- what only the host has (device_names.c) ---- */

/* True if one of the tokens needs the host's library, or a type that was left out. */
bool device_needs_host(const rewrite_job *job, const scan *s, int from, int to);
/* True if a value needs a function or a variable that the device does not have. */
bool device_calls_host(const rewrite_job *job, const scan *s, int from, int to);
/* True for a header of CUDA's that kernels use. */
bool device_has_header(const char *name, size_t bytes);
/* True if `using namespace`, whose last word is at `last`, names a namespace of the device's. */
bool device_has_namespace(const rewrite_job *job, const scan *s, int first, int last);

#endif
