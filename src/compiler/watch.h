/* Launches of lane code that are watched: what a checker can find, and where printf goes. */
#ifndef KERNEL_WATCH_H
#define KERNEL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a checked launch can find. */
typedef enum kernel_mistake {
    MISTAKE_BOUNDS,
    MISTAKE_ALIGNMENT,
    MISTAKE_NULL,
    MISTAKE_UNSET, /* memory that is read and was not written */
    MISTAKE_RACE,
    MISTAKE_LOCKSTEP, /* a race that lock step decides: a note */
    MISTAKE_BARRIER,  /* that not all threads come to */
    MISTAKE_LOOP,     /* without an end */
    MISTAKE_FREED,    /* memory that was the device's */
    MISTAKE_FOREIGN,  /* a pointer to no memory of the device */
    MISTAKE_SHUFFLE   /* of a lane that is not active: a note */
} kernel_mistake;

enum { KERNEL_FINDINGS = 20 };

typedef struct kernel_finding {
    kernel_mistake mistake;
    uint32_t place, other; /* in the source; other: of the earlier access of a race, or 0 */
    uint32_t block[3], thread[3];
    uint64_t count;
    char message[200];
} kernel_finding;

/* Memory that pointers among packed arguments, and those in memory, may point to. */
typedef struct kernel_memory {
    uint64_t base, bytes;
    bool freed;
    uint8_t *
        written; /* a bit for each byte that was written, which the launch adds to; NULL: all were */
} kernel_memory;

typedef struct kernel_check {
    uint64_t loops;              /* iterations of a warp in a block until a loop is endless */
    uint64_t launch;             /* its number in a whole program, from 1; 0: there is no other */
    const kernel_memory *memory; /* by address; NULL: what the arguments say is all there is */
    int n_memory;
    kernel_finding found[KERNEL_FINDINGS];
    int n, n_more; /* those in found, and others */
} kernel_check;

/* What printf of lane code asks of who launches it; both get the launch's context. */
typedef struct kernel_output {
    void (*write)(void *context, const char *text, size_t bytes); /* NULL: to standard output */
    /* How many bytes there are from an address to its array's end; 0: it is in none that is known. */
    size_t (*room)(void *context, uint64_t at);
} kernel_output;

#endif
