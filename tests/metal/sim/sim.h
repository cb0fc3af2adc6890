/* The Metal simulator: what its files share.
 *
 * It exports what a C program takes from libobjc and Metal, so that the program runs on Linux. Its rules come from
 * Apple's documentation of the Objective-C runtime, of Metal and of the shading language. Anything that Metal's
 * validation layer would report is a failed assertion here: a text on stderr and abort().
 *
 *   objc.c      selectors, messages, reference counts, autorelease pools, NSString, NSError
 *   device.c    the device, buffers, libraries, functions, pipelines
 *   command.c   command queues, command buffers, encoders
 *   mps.c       matrix products of Metal Performance Shaders
 *   compile.c   shading language to machine code, kept in a folder by content
 *   group.c     the threads of a threadgroup as fibers, in a chosen order
 *   twice.c     a launch in two orders, which must not make a difference
 *   race.c      threads of a threadgroup that use the same memory without a barrier
 *   guard.c     memory that the host must not touch yet, or a kernel never
 *   count.c     loads, stores and arithmetic of kernels
 *   accelerate.c  the products of Accelerate
 *   fault.c     messages and command buffers that fail on request
 *
 * Settings are environment variables that start with METALSIM_; sim_setting lists them. */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    SIM_PAGE = 16384, /* of Apple silicon */
    SIM_BUFFERS = 31,
    SIM_LANES = 32,
    SIM_THREADS_MOST = 1024,
    SIM_SHARED_MOST = 32768
};

/* Settings: a row is a variable METALSIM_<name> and its default. */
typedef enum sim_setting_name {
    SIM_ORDER,       /* of threads: 0 ascending, 1 descending, else the seed of a random order */
    SIM_TWICE,       /* 1: a dispatch runs in order 0 and in order 1, and both must write the same bits */
    SIM_FAMILY,      /* the newest Apple GPU family: 1007 is Apple7 */
    SIM_MEMORY_MIB,  /* recommendedMaxWorkingSetSize */
    SIM_BUFFER_MIB,  /* maxBufferLength */
    SIM_THREADS,     /* maxTotalThreadsPerThreadgroup of pipelines that need few registers */
    SIM_NO_DEVICE,   /* 1: MTLCreateSystemDefaultDevice returns nil */
    SIM_FAIL_AT,     /* the number of the message that fails, from 1; 0: none */
    SIM_FAIL_BUFFER, /* the number of the command buffer that fails, from 1; 0: none */
    SIM_LEAKS,       /* 1: report objects that are alive when the process ends, and exit with 86 */
    SIM_COUNT,       /* 1: at the end write how many messages can fail */
    SIM_RECORD,      /* 1: keep the sources of libraries and compute nothing; see compile.c */
    SIM_PRODUCT_MS,  /* milliseconds that a product of MPS takes at least */
    SIM_FLUSH,       /* 1: subnormal f32 operands and results are 0 */
    SIM_RACES,       /* 1: a race inside a threadgroup is an error; see race.c */
    SIM_FLAGS,       /* the mem_flags that barriers obey, as a mask: 0 is a GPU on which all are mem_none */
    SIM_SETTINGS
} sim_setting_name;
int64_t sim_setting(sim_setting_name name);

/* Reports misuse and aborts. */
__attribute__((format(printf, 1, 2), noreturn)) void sim_die(const char *format, ...);
#define REQUIRE(condition, ...) \
    do { \
        if (!(condition)) \
            sim_die(__VA_ARGS__); \
    } while (0)

/* ---- objects (objc.c) ---- */

typedef const char *SEL; /* one pointer for each name */
typedef struct sim_class sim_class;
typedef struct sim_object {
    sim_class *isa;
    uint32_t magic;
    int refs;
} sim_object, *id;

/* How a message fails on request. */
typedef enum sim_failure {
    NEVER,
    AS_NIL,  /* it returns nil */
    AS_NO_INIT, /* the same, and releases the object that was to be initialized */
    AS_ERROR /* it returns nil and sets the NSError that its last argument points to */
} sim_failure;

typedef struct sim_method {
    const char *name;
    void (*code)(void);
    sim_failure fails;
    SEL selector;
} sim_method;

struct sim_class {
    sim_object head;
    const char *name;
    size_t bytes;
    void (*destroy)(id);
    sim_method *methods; /* of its instances; ends with a NULL name */
    sim_method *statics; /* of the class */
    sim_class *super;
    bool hidden; /* objc_getClass does not find it */
    int alive;
    sim_class *next;
};

#define METHOD(text, function, failure) \
    { \
        text, (void (*)(void))(function), failure, NULL \
    }
#define METHODS_END \
    { \
        NULL, NULL, NEVER, NULL \
    }

void sim_class_add(sim_class *c);
id sim_new(sim_class *c);
id sim_retain(id o);
void sim_release(id o);
id sim_autorelease(id o);
/* The object, which must be an instance of the class. */
void *sim_as(id o, const sim_class *c, const char *what);

id sim_string(const char *s); /* autoreleased */
const char *sim_string_text(id o, const char *what);
id sim_error(long code, const char *text); /* autoreleased */

/* ---- failures on request (fault.c) ---- */

/* What to call instead of the method, if this message is the one that fails. */
void (*sim_fault(const sim_method *m))(void);
/* True if this command buffer is to fail. */
bool sim_fault_buffer(void);

/* ---- libraries (compile.c) ---- */

/* How a kernel takes its arguments. Made by msl.py for each kernel. */
typedef struct sim_arguments {
    void *buffer[SIM_BUFFERS], *shared[SIM_BUFFERS];
    _Alignas(16) uint32_t in[12][4]; /* positions and sizes; the order is in msl.py */
} sim_arguments;

typedef struct sim_parameter {
    char kind; /* 'd' device, 'w' device that may be written, 'c' constant, 't' threadgroup */
    int index;
    size_t bytes; /* of what it points to; a reference needs all of it */
} sim_parameter;

typedef struct sim_kernel {
    const char *name;
    void (*enter)(const sim_arguments *a);
    int n_parameter;
    const sim_parameter *parameter;
    uint64_t shared_bytes;  /* of its threadgroup variables */
    uint64_t private_bytes; /* of arrays and matrices that each thread has */
} sim_kernel;

/* The kernels of a source, ended by a row without a name; NULL: the text in log says why. */
const sim_kernel *sim_compile(const char *source, char *log, size_t room);

/* ---- threadgroups (group.c) ---- */

typedef struct sim_launch {
    const sim_kernel *kernel;
    void *buffer[SIM_BUFFERS];
    size_t bytes[SIM_BUFFERS], shared[SIM_BUFFERS]; /* that are bound */
    bool is_buffer[SIM_BUFFERS];                    /* not setBytes */
    uint32_t groups[3], group[3];
    uint64_t threads[3];
} sim_launch;

/* Runs all threadgroups; the order is a value of METALSIM_ORDER. False: the text in error says what a kernel did wrong. */
bool sim_run(const sim_launch *l, int64_t order, char *error, size_t room);
/* The same in two orders, one after the other from the same memory: false also if they write different bits. */
bool sim_run_twice(const sim_launch *l, char *error, size_t room);
/* Around a launch: counts what its kernel does; shared is the threadgroup memory. See count.c. */
void sim_count_begin(const sim_launch *l, const char *shared);
void sim_count_end(size_t shared_bytes);
void sim_count_access(const void *at, uint32_t bytes, uint32_t is_store);
void sim_count_matrix(uint32_t flops, uint32_t instructions);
/* Around a launch, at the start of a threadgroup, and after barriers. See race.c. */
void sim_race_begin(const sim_launch *l, const char *shared);
void sim_race_end(void);
void sim_race_group(void);
void sim_race_barrier(uint32_t flags);
void sim_race_simd_barrier(uint32_t simd, uint32_t flags);
/* False: the thread `me` of the group races with another; the text in error, which must be empty before, says how. */
bool sim_race_access(const char *at, uint32_t bytes, bool is_store, uint32_t me, char *error, size_t room);
void sim_switch(void **save, void *load);
void sim_fiber_start(void);

extern sim_class sim_device_class, sim_buffer_class, sim_pipeline_class, sim_queue_class;

/* ---- what command.c needs of device.c ---- */

typedef struct sim_buffer {
    sim_object head;
    char *data, *map;
    size_t bytes, mapped;
    bool owned;
    int reads, writes; /* by commands that were committed and have not run */
    struct sim_buffer *next;
} sim_buffer;

/* ---- guard.c ---- */

void sim_guard_add(sim_buffer *b);
void sim_guard_remove(sim_buffer *b);
/* The host may use the memory as far as commands that have not run allow it; with `all`, in every way. */
void sim_guard_set(const sim_buffer *b, bool all);

typedef struct sim_pipeline {
    sim_object head;
    id function;
    const sim_kernel *kernel;
    uint64_t threads;
} sim_pipeline;

/* ---- matrix products (mps.c) ---- */

/* A matrix of an MPSMatrix, or several, in bytes. */
typedef struct sim_matrix {
    uint64_t rows, columns, matrices, row_bytes, matrix_bytes, offset;
    uint32_t type;
} sim_matrix;

/* result = op(left) @ op(right), of the sizes that it was made with. */
typedef struct sim_product {
    sim_matrix matrix[3];
    bool transposed[2];
    uint64_t rows, columns, inner;
} sim_product;

void sim_product_run(const sim_product *p, const char *left, const char *right, char *result);
/* command.c: adds a product to a command buffer, which must have no open encoder. */
void sim_product_encode(id commands, SEL s, const sim_product *p, sim_buffer *const buffers[3]);

#endif
