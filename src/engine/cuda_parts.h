/* What the files of the CUDA runtime share: cuda.c has kernels and variables, cuda_memory.c addresses,
 * cuda_watch.c what --check and --profile see. */
#ifndef ENGINE_CUDA_PARTS_H
#define ENGINE_CUDA_PARTS_H

#include "engine/cuda.h"
#include "engine/module.h"

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

/* Where the host's source makes a call; file is NULL if that is not known, and lives forever. */
typedef struct cuda_place_of_call {
    const char *file;
    int line;
} cuda_place_of_call;

/* Of the calling thread's call, until cuda_end. */
cuda_place_of_call cuda_here(void);

/* Puts a buffer's memory into the table of addresses; NULL if that fails. The table holds a reference, until
 * ig_cuda_reset. */
char *cuda_place(const backend *dev, buffer *b, int kind);
/* The buffer that an address is in, and the offset; false: in none. bytes is how many are behind it. */
bool cuda_find(const void *at, binding *where, size_t *bytes, int *kind);
/* Brings memory that host and device share up to date, on one side or the other, where there are two. */
ig_status cuda_mirror(const backend *dev, const void *at, bool to_device);
/* Releases all that cuda_place was given. */
void cuda_memory_reset(void);
void cuda_units_reset(void);
uint64_t cuda_memory_used(void);
/* All memory that kernels may use, and that was freed and is not used again, by address; memory_free. */
kernel_memory *cuda_memory_list(int *n);
/* Tells of memory that is not freed. */
void cuda_memory_leaks(void);

/* Reads what is asked for, once. */
void cuda_watch_begin(void);
bool cuda_watch_checks(void);
bool cuda_watch_asks(void); /* for a check or a profile */
/* A kernel that the program needs could not be built: the command's exit code tells. */
void cuda_watch_unbuilt(ig_status why);
/* Tells of a mistake of the host's, if there is a check; kind is a literal. */
void cuda_watch_tell(const char *kind, bool is_note, cuda_place_of_call at, const char *format, ...)
    IG_PRINTF(4, 5);
/* A launch failed, which the program can only know by asking; and it asked. */
void cuda_watch_refused(int error, cuda_place_of_call at);
void cuda_watch_looked(void);
/* module_launch, watched if that is asked for. Mistakes are told and do not make it fail, but for an
 * endless loop, which is left with IG_ERR_DEVICE. */
ig_status cuda_watch_launch(ig_module *m, const backend *dev, const char *kernel,
                            const module_kernel *k, kernel_launch *l, bool *endless);
/* Before modules are freed. */
void cuda_watch_modules_go(void);

#endif
