/* Kernels of the CPU as native code. A kernel is built for one block shape, in the background: launches run lane
 * code until the build is done. Where there is no compiler, or the printer does not support the kernel, all
 * launches run lane code. */
#ifndef CPU_NATIVE_H
#define CPU_NATIVE_H

#include "compiler/native/native.h"

typedef struct native_build native_build;

/* Code that is ready to run. */
typedef struct native_image {
    native_kernel run;
    const native_loop *loop;
    size_t frame_bytes;
} native_image;

/* How kernels are built, from IG_NATIVE. */
typedef enum native_policy {
    NATIVE_OFF,
    NATIVE_BACKGROUND, /* after they have run for a while */
    NATIVE_WAIT        /* before their first launch */
} native_policy;
native_policy native_policy_now(void);

enum {
    NATIVE_AFTER_NS = 20 * 1000 * 1000
}; /* the time as lane code after which a kernel is built */

/* A kernel for one block shape; NULL if there is not enough memory. Nothing is compiled yet, but code in the disk
 * cache is ready. */
native_build *native_build_new(const lane_code *c, const uint32_t block[3]);
void native_build_free(native_build *b);
bool native_build_is_for(const native_build *b, const uint32_t block[3]);
/* Compiles, in the background or at once; does nothing if that was begun before, or cannot be done. */
void native_build_start(native_build *b);
void native_build_finish(native_build *b);
/* NULL: it is not ready. Any thread may call it. */
const native_image *native_build_ready(native_build *b);
/* Why it will never be ready; NULL: it may be. */
const char *native_build_refusal(const native_build *b);

/* ---- compiler.c ---- */

/* What identifies the compiler and its options, and the lanes of a vector; NULL if there is no compiler. */
const char *native_compiler(int *width);
/* Compiles a text to a shared library. The caller frees *data with memory_free. Returns false with a short reason in
 * `why`. */
bool native_compile(const char *text, void **data, size_t *bytes, char *why, size_t why_size);
/* Loads a shared library from memory; NULL if that fails. */
void *native_load(const void *data, size_t bytes);

#endif
