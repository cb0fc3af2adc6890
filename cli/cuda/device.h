/* The device side of a CUDA source, for a compiler that has no host code: NVRTC.
 *
 * Kernels, device functions and variables, types, constants and macros are kept as written. Functions and
 * variables of the host are blanked, so that lines and columns do not change. Host functions of a class become
 * declarations. Types and constants that need the host's library are blanked too. System headers are left
 * out: ingot_nvrtc.h has the parts of them that kernels use. */
#ifndef CLI_CUDA_DEVICE_H
#define CLI_CUDA_DEVICE_H

#include "cuda/rewrite.h"

/* Marks the names that the device or only the host has. */
void device_names(rewrite_job *job);
/* Blanks a declaration outside of functions and classes in the device side, if it is the host's. Marks its name. */
void device_declaration(const rewriter *r, const declaration *d);
/* Adds the device side to out. `files` has the number of the program's file for each directive, or -1. */
void device_text(const rewriter *r, const cuda_tokens *s, const int *files, str *out);
/* True for a CUDA header that kernels use. */
bool device_has_header(const char *name, size_t bytes);

#endif
