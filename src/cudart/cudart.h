/* Shared by the files of the CUDA runtime: cudart.c has kernels and variables, memory.c has addresses, watch.c
 * has --check and --profile. */
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
/* Keeps the error for the thread and returns it, without a lock. */
int cudart_set_last_error(int error);

/* Prints the library's error on stderr. */
void cudart_print_error(void);

/* The source line of a call by the host; file is a literal, or NULL if it is not known. */
typedef struct cudart_call_site {
    const char *file;
    int line;
} cudart_call_site;

/* The call site of the calling thread's current call. */
cudart_call_site cudart_call_site_now(void);

/* Adds a buffer's memory to the table of addresses; NULL on failure. The table keeps a reference until
 * ig_cuda_reset. */
char *cudart_memory_add(const backend *dev, buffer *b, int kind);
/* Finds the buffer and offset of an address, and how many bytes follow it there; false if there is none. */
bool cudart_memory_find(const void *at, binding *where, size_t *bytes, int *kind);
/* Copies memory that host and device share to the other side, if the device has separate memory. */
ig_status cudart_memory_mirror(const backend *dev, const void *at, bool to_device);
/* Releases everything that was added with cudart_memory_add. */
void cudart_memory_reset(void);
void cudart_units_reset(void);
uint64_t cudart_memory_used(void);
/* All memory that kernels may use, and freed memory that was not reused, sorted by address. Release with
 * memory_free. */
kernel_memory *cudart_memory_list(int *n);
/* Reports memory that was not freed. */
void cudart_memory_leaks(void);

/* Reads the settings, once. */
void cudart_watch_begin(void);
bool cudart_watch_checks(void);
bool cudart_watch_is_on(void); /* there is a check or a profile */
/* Notes that a kernel could not be built, for the exit code of `ingot run`. */
void cudart_watch_unbuilt(ig_status why);
/* Reports a mistake of the host's if there is a check; kind is a literal. */
void cudart_watch_report(const char *kind, bool is_note, cudart_call_site at, const char *format,
                         ...) IG_PRINTF(4, 5);
/* Note that a launch failed, and that the program looked at the error. */
void cudart_watch_refused(int error, cudart_call_site at);
void cudart_watch_error_seen(void);
/* module_launch with the check or profile that the user asked for. Mistakes are reported and do not make it
 * fail, except for an endless loop, which is stopped with IG_ERR_DEVICE. */
ig_status cudart_watch_launch(ig_module *m, const backend *dev, const char *kernel,
                              const module_kernel *k, lane_launch *l, bool *endless);
/* Call this before modules are freed. */
void cudart_watch_detach_modules(void);

#endif
