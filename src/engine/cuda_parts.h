/* What the files of the CUDA runtime share: cuda.c has kernels and variables, cuda_memory.c addresses. */
#ifndef ENGINE_CUDA_PARTS_H
#define ENGINE_CUDA_PARTS_H

#include "backend/backend.h"
#include "engine/cuda.h"

enum {
#define CUDA_ERROR(name, number, text) name = number,
#include "engine/cuda_errors.def"
#undef CUDA_ERROR
};

/* One call at a time. cuda_begin takes the lock and gives the device, or NULL, with nothing locked, if
 * there is none or an earlier kernel's fault keeps everything from going on; *error says which.
 * cuda_end gives the lock back, keeps the error for the thread and returns it. */
const backend *cuda_begin(int *error);
int cuda_end(int error);
/* The same where nothing was locked. */
int cuda_told(int error);

/* Says what the library has to say about a failure, on standard error. */
void cuda_complain(void);

/* Puts a buffer's memory into the table of addresses; NULL if that fails. The table holds a reference.
 * owned: it goes with ig_cuda_reset. */
char *cuda_place(const backend *dev, buffer *b, int kind);
/* The buffer that an address is in, and the offset; false: in none. bytes is how many are behind it. */
bool cuda_find(const void *at, binding *where, size_t *bytes, int *kind);
/* Brings memory that host and device share up to date, on one side or the other, where there are two. */
ig_status cuda_mirror(const backend *dev, const void *at, bool to_device);
/* Releases all that cuda_place was given. */
void cuda_memory_reset(void);
void cuda_units_reset(void);
uint64_t cuda_memory_used(void);

#endif
