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

/* The time as lane code after which a kernel's code is looked up in the disk cache, and compiled. */
enum { NATIVE_LOOK_NS = 10 * 1000 * 1000, NATIVE_COMPILE_NS = 100 * 1000 * 1000 };

/* A kernel for one block shape; NULL if there is not enough memory. Nothing is printed yet. */
native_build *native_build_new(const lane_code *c, const uint32_t block[3]);
void native_build_free(native_build *b);
bool native_build_is_for(const native_build *b, const uint32_t block[3]);
/* Looks in the disk cache. Like the next two, it may be called by any thread while c exists, and does nothing the second time. */
void native_build_look(native_build *b);
/* Looks, and compiles in the background or at once. */
void native_build_start(native_build *b);
void native_build_finish(native_build *b);
/* NULL: it is not ready. Any thread may call it. */
const native_image *native_build_ready(native_build *b);

/* ---- compiler.c ---- */

/* The identity of the compiler and its options, and the lanes of a vector; NULL if there is no compiler. */
const char *native_compiler(int *width);
/* Compiles a text to a shared library. The caller frees *data with memory_free. False: it failed. */
bool native_compile(const char *text, void **data, size_t *bytes);
/* Loads a shared library from memory; NULL if that fails. */
void *native_load(const void *data, size_t bytes);

#endif
