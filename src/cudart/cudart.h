/* What the files of the CUDA runtime share: cudart.c has kernels and variables, memory.c addresses,
 * watch.c what --check and --profile see. */
#ifndef CUDART_CUDART_H
#define CUDART_CUDART_H

#include "cudart/ig_cuda.h"
#include "module/module.h"

enum {
#define CUDA_ERROR(name, number, text) name = number,
#include "cudart/errors.def"
#undef CUDA_ERROR
};

/* One call at a time. cudart_begin takes the lock and gives the device, or NULL, with nothing locked, if
 * there is none or an earlier kernel's fault keeps everything from going on; *error says which.
 * cudart_end gives the lock back, keeps the error for the thread and returns it. */
const backend *cudart_begin(int *error);
int cudart_end(int error);
/* The same where nothing was locked. */
int cudart_set_last_error(int error);

/* Says what the library has to say about a failure, on standard error. */
void cudart_print_error(void);

/* Where the host's source makes a call; file is NULL if that is not known, and lives forever. */
typedef struct cudart_call_site {
    const char *file;
    int line;
} cudart_call_site;

/* Of the calling thread's call, until cudart_end. */
cudart_call_site cudart_call_site_now(void);

/* Puts a buffer's memory into the table of addresses; NULL if that fails. The table holds a reference, until
 * ig_cuda_reset. */
char *cudart_memory_add(const backend *dev, buffer *b, int kind);
/* The buffer that an address is in, and the offset; false: in none. bytes is how many are behind it. */
bool cudart_memory_find(const void *at, binding *where, size_t *bytes, int *kind);
/* Brings memory that host and device share up to date, on one side or the other, where there are two. */
ig_status cudart_memory_mirror(const backend *dev, const void *at, bool to_device);
/* Releases all that cudart_memory_add was given. */
void cudart_memory_reset(void);
void cudart_units_reset(void);
uint64_t cudart_memory_used(void);
/* All memory that kernels may use, and that was freed and is not used again, by address; memory_free. */
kernel_memory *cudart_memory_list(int *n);
/* Tells of memory that is not freed. */
void cudart_memory_leaks(void);

/* Reads what is asked for, once. */
void cudart_watch_begin(void);
bool cudart_watch_checks(void);
bool cudart_watch_is_on(void); /* for a check or a profile */
/* A kernel that the program needs could not be built: the command's exit code tells. */
void cudart_watch_unbuilt(ig_status why);
/* Tells of a mistake of the host's, if there is a check; kind is a literal. */
void cudart_watch_report(const char *kind, bool is_note, cudart_call_site at, const char *format,
                         ...) IG_PRINTF(4, 5);
/* A launch failed, which the program can only know by asking; and it asked. */
void cudart_watch_refused(int error, cudart_call_site at);
void cudart_watch_error_seen(void);
/* module_launch, watched if that is asked for. Mistakes are told and do not make it fail, but for an
 * endless loop, which is left with IG_ERR_DEVICE. */
ig_status cudart_watch_launch(ig_module *m, const backend *dev, const char *kernel,
                              const module_kernel *k, lane_launch *l, bool *endless);
/* Before modules are freed. */
void cudart_watch_detach_modules(void);

#endif
