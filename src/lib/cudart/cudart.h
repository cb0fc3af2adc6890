/* Shared by the files of the CUDA runtime.
 *
 * runtime.c has the exported functions. It registers the kernels and variables of the program, keeps errors,
 * and passes the work to a target. There are two targets: `cudart_modules` (modules.c, memory.c, streams.c,
 * watch.c) runs kernels that the library compiles, on any device; `cudart_gpu` (gpu/) runs the program's own
 * text on an NVIDIA GPU, through NVRTC and the driver. */
#ifndef CUDART_CUDART_H
#define CUDART_CUDART_H

#include "lib/cudart/ig_cuda.h"
#include "engine/module/module.h"

enum {
#define CUDA_ERROR(name, number, text) name = number,
#include "lib/cudart/errors.def"
#include "ingot.h"
#undef CUDA_ERROR
};

/* The source line of a call by the host; file is a literal, or NULL if unknown. */
typedef struct cudart_call_site {
    const char *file;
    int line;
} cudart_call_site;

struct ig_cuda_kernel {
    ig_cuda_kernel *next;
    ig_cuda_unit *unit;
    const void *stub;
    size_t shared_allowed;
    bool warned;
    int refused;         /* the error of launches if it cannot be built, which was reported */
    void *function;      /* of the GPU target */
    const size_t *sizes; /* of its parameters */
    int n_sizes;
    const char *request; /* "(type)name": several kernels may have one name */
    char *linked_name;   /* the same with the place of its unit among the linked ones, or NULL */
    char name[];
};

typedef struct cudart_variable {
    struct cudart_variable *next;
    ig_cuda_unit *unit;
    char *shadow;
    size_t bytes;
    bool managed;
    char
        *known; /* of the GPU target: a managed variable's bytes when host and device last agreed */
    char name[];
} cudart_variable;

typedef struct cudart_shape {
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    void *stream;
    void **extra;           /* of cuLaunchKernel: the arguments at their offsets */
    const void *attributes; /* cudaLaunchAttributes */
    unsigned n_attributes;
    bool cooperative;
    bool is_call; /* of cudaLaunchKernel: errors are returned to the program */
    bool there;
    cudart_call_site at;
} cudart_shape;

/* A module that the program loaded. Its strings are in `image`. */
struct ig_cuda_module {
    ig_cuda_unit unit; /* of an image of ours; without a name if the image is the driver's */
    const char *const *expressions;
    const void *given; /* the image of the caller, while it is loaded */
    char *image;
    void *lists;
    void *handle; /* of the GPU target */
};

/* A program of NVRTC's. The target fills the log, the image and the symbols. */
struct ig_cuda_program {
    char *name, *text;
    char **headers; /* names and texts in turn; the list ends with NULL */
    char **expressions, **symbols;
    int n_expressions;
    const char *const *options; /* while it is compiled */
    int n_options;
    char *log, *image; /* memory_free */
    size_t image_bytes;
    bool compiled;
};
/* Results of programs. */
enum {
    PROGRAM_FINE = 0,
    PROGRAM_MEMORY = 1,
    PROGRAM_INPUT = 3,
    PROGRAM_OPTION = 5,
    PROGRAM_COMPILATION = 6,
    PROGRAM_COMPILED_ALREADY = 8,
    PROGRAM_NOT_COMPILED = 9,
    PROGRAM_NO_EXPRESSION = 10,
    PROGRAM_INTERNAL = 11
};

typedef struct cudart_copy {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, height;
    int kind;
    void *stream;
    bool is_async;
} cudart_copy;

typedef struct cudart_fill {
    char *at;
    size_t pitch, width, height;
    int value;
    void *stream;
    bool is_async;
} cudart_fill;

enum { COPY_TO_DEVICE = 1, COPY_TO_HOST = 2, COPY_ON_DEVICE = 3, COPY_DEFAULT = 4 };

/* A target that runs the program. Results are CUDA's errors; ig_cuda.h documents the functions. Widths and
 * heights of copies and fills are not 0. */
typedef struct cudart_target {
    /* Called before each other function, in the same thread. May be NULL. */
    int (*enter)(void);
#define ROW(name, parameters) int(*name) parameters;
#include "lib/cudart/target.def"
#undef ROW
} cudart_target;

extern const cudart_target cudart_modules, cudart_gpu;

/* ---- of runtime.c ---- */

/* The device that the user chose. */
const backend *cudart_device(void);
/* The kernels and variables that the program registered. */
ig_cuda_kernel *cudart_kernels(void);
cudart_variable *cudart_variables(void);
/* The units whose device code is linked, as a list. */
ig_cuda_unit *cudart_linked(void);
/* The target that runs the program, once the thread has entered it; NULL: the error is in *error. */
const cudart_target *cudart_enter(int *error);
/* Adds a kernel to those of the program, or removes it. */
void cudart_kernel_add(ig_cuda_kernel *k);
void cudart_kernel_remove(const ig_cuda_kernel *k);
/* The shape that was set for the next launch of the thread, which it ends. */
cudart_shape cudart_shape_take(void);
/* Keeps the error for the thread and returns it. */
int cudart_set_last_error(int error);
/* Prints the library's error on stderr. */
void cudart_print_error(void);
/* The call site of the calling thread's current call. */
cudart_call_site cudart_call_site_now(void);
void cudart_call_site_end(void);
/* The number of strings in a list that ends with NULL. */
int cudart_count(const char *const *list);
/* If the kernel has a lambda as its template argument, reports that it cannot be launched and returns
 * true. */
bool cudart_refuses_lambda(ig_cuda_kernel *k);
/* True if a template argument is a lambda's type, as gcc or clang spell it. The unit has no name for such a
 * type. */
bool cudart_is_of_lambda(const char *name);

/* The bytes and components of a texel; 0 bytes if there is no such texel: one, two or four components of 8, 16 or 32 bits. */
size_t cudart_texel_bytes(ig_cuda_texels t, int *channels);

/* ---- of the modules' target ---- */

/* Calls run one at a time. cudart_begin takes the lock and returns the device. If an earlier kernel's fault
 * prevents all further work, it returns NULL without the lock, with the fault in *error. cudart_end releases
 * the lock, keeps the error for the thread and returns it. */
const backend *cudart_begin(int *error);
int cudart_end(int error);
/* Records that the program asked for its last error. */
void cudart_modules_error_seen(void);
/* Reports a copy past the end of a variable, if checking is on. */
void cudart_modules_beyond(cudart_call_site at, size_t offset, size_t bytes, size_t room);

/* Adds a buffer's memory to the table of addresses; NULL on failure. The table keeps a reference until
 * ig_cuda_reset. */
char *cudart_memory_add(const backend *dev, buffer *b, int kind);
/* Finds the buffer and offset of an address, and the number of bytes from there to the end; false if none
 * contains it. */
bool cudart_memory_find(const void *at, binding *where, size_t *bytes, int *kind);
/* Copies memory that host and device share to the other side, if the device has separate memory. */
ig_status cudart_memory_mirror(const backend *dev, const void *at, bool to_device);
/* Releases everything that was added with cudart_memory_add. */
void cudart_memory_reset(void);
uint64_t cudart_memory_used(void);
/* All memory that kernels may use, and freed memory that was not reused, sorted by address. Release with
 * memory_free. */
kernel_memory *cudart_memory_list(int *n);
/* The pages of the managed memory that an address lies in, and a description; false: it is other memory. */
bool cudart_memory_managed(const void *at, char **begin, size_t *bytes, char *what, size_t room);

/* Texels of devices that run text (texels.c). add: reserves a place for memory of the device, or for bytes that are copied, and
 * returns it, 0 if there is no room; the same memory has one place. at: the bytes of a place; NULL if it is none of bytes. in, out:
 * before and after a launch of a kernel with textures. */
uint64_t cudart_texels_add(char *source, const void *bytes_of, size_t bytes, bool is_written);
const void *cudart_texels_at(uint64_t place);
void cudart_texels_remove(uint64_t place);
/* The memory at an address, or all memory if it is NULL, may have other bytes. */
void cudart_texels_changed(const void *at);
ig_status cudart_texels_in(const backend *dev, ig_module *m);
ig_status cudart_texels_out(const backend *dev, ig_module *m);

/* Guards of managed memory under a check: see early.c. add: a kernel writes the memory at `at`; on: until the next call;
 * off: reports what was touched; forget: the work is complete. */
void cudart_early_add(const void *at, const char *kernel, cudart_call_site launch);
void cudart_early_on(void);
void cudart_early_off(void);
void cudart_early_forget(void);
/* Races between streams under a check: see order.c. stream: a new one; apart: it does not wait for the default stream. command:
 * a copy or fill; waits: the host waits for it. all: the host waits for all. event: is recorded; after: a stream waits for it;
 * wait: the host does. A launch is begin, watch with the memory of the check, and end. */
void cudart_order_stream(void *stream, bool apart);
void cudart_order_command(void *stream, bool waits);
void cudart_order_all(void);
void cudart_order_event(const void *event, void *stream);
void cudart_order_after(void *stream, const void *event);
void cudart_order_wait(const void *event);
void cudart_order_begin(void *stream, cudart_call_site at);
void cudart_order_watch(kernel_memory *memory, int n);
void cudart_order_end(const char *kernel);
/* Finishes all work; the order of launches of the program does not change. */
int cudart_finish(void);

/* Reports memory that was not freed. */
void cudart_memory_leaks(void);
/* Units that the program loads: parses one without keeping it, with the kernels whose instances are named; compiles one,
 * if needed; forgets it; finds a variable. */
ig_module *modules_unit_parse(const ig_cuda_unit *unit, const char *const *instances,
                              int n_instances, char **said);
int modules_unit_module(ig_cuda_unit *unit, ig_module **module);
void modules_unit_drop(ig_cuda_unit *unit);
int modules_unit_variable(ig_cuda_unit *unit, const char *name, char **at, size_t *bytes);
/* The functions of the target that runs kernels by modules. */
#define ROW(name, parameters) int modules_##name parameters;
#include "lib/cudart/target.def"
#undef ROW

/* Reads the settings, once. */
void cudart_watch_begin(void);
bool cudart_watch_checks(void);
/* Records that a kernel could not be built, for the exit code of `ingot run`. */
void cudart_watch_unbuilt(ig_status why);
/* Reports that host and device disagree about a kernel, which is then not launched. The exit code of `ingot run` shows
 * it. */
int cudart_mismatch(void);
/* Reports a mistake of the host code if checking is on; kind is a literal. */
void cudart_watch_report(const char *kind, bool is_note, cudart_call_site at, const char *format,
                         ...) IG_PRINTF(4, 5);
/* Record a launch's error and whether a call returned it; and that the program checked for errors. */
void cudart_watch_launched(int error, bool returned, cudart_call_site at);
void cudart_watch_error_seen(void);
/* module_launch with the requested check or profile. Mistakes are reported and do not make it fail. The
 * exception is an endless loop, which is stopped with IG_ERR_DEVICE. */
ig_status cudart_watch_launch(ig_module *m, const backend *dev, const char *kernel,
                              const module_kernel *k, lane_launch *l, bool *endless);
/* Call this before modules are freed. */
void cudart_watch_detach_modules(void);

#endif
