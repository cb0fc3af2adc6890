/* Watched launches of lane code: the mistakes that a checker can find, and the output of printf. */
#ifndef KERNEL_WATCH_H
#define KERNEL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mistakes that a checked launch can find. */
typedef enum kernel_mistake {
    MISTAKE_BOUNDS,
    MISTAKE_ALIGNMENT,
    MISTAKE_NULL,
    MISTAKE_UNSET, /* memory that is read before it is written */
    MISTAKE_RACE,
    MISTAKE_LOCKSTEP, /* a race that lock step resolves: a note */
    MISTAKE_BARRIER,  /* not all threads reach a barrier */
    MISTAKE_LOOP,     /* an endless loop */
    MISTAKE_FREED,    /* memory that was freed */
    MISTAKE_FOREIGN,  /* a pointer that is not to memory of the device */
    MISTAKE_SHUFFLE,  /* from an inactive lane: a note */
    MISTAKE_RETURNED  /* a shuffle from a lane that has returned and that its mask names */
} kernel_mistake;

enum { KERNEL_FINDINGS = 20 };

typedef struct kernel_finding {
    kernel_mistake mistake;
    uint32_t place, other; /* in the source; other: the earlier access of a race, or 0 */
    uint32_t block[3], thread[3];
    uint64_t count;
    char message[200];
} kernel_finding;

/* Memory that pointers may point to: both pointers among packed arguments and pointers in memory. */
typedef struct kernel_memory {
    uint64_t base, bytes;
    bool freed;
    uint8_t *
        written; /* a bit for each written byte, which the launch updates; NULL: all were written */
    uint8_t *reads,
        *stores; /* bits for the bytes that the launch reads and stores, without atomics; or NULL */
} kernel_memory;

typedef struct kernel_check {
    uint64_t loops;              /* iterations of a warp in a block that make a loop endless */
    uint64_t launch;             /* its number in a whole program, from 1; 0: the only one */
    const kernel_memory *memory; /* by address; NULL: only the memory that the arguments name */
    int n_memory;
    kernel_finding found[KERNEL_FINDINGS];
    int n, n_more; /* mistakes in found, and further ones */
} kernel_check;

/* Callbacks for printf in lane code; both get the launch's context. */
typedef struct kernel_output {
    void (*write)(void *context, const char *text, size_t bytes); /* NULL: to standard output */
    /* Bytes from an address to the end of its array; 0 if no known array contains it. */
    size_t (*room)(void *context, uint64_t at);
} kernel_output;

#endif
