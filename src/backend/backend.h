/* The vtable of a device. A backend never sees an array or a graph: only buffers, programs and
 * launches. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "program/program.h"

/* What a program's slot is bound to for one launch: a place in a buffer. */
typedef struct binding {
    buffer *buf;
    size_t offset; /* bytes */
} binding;

typedef struct backend {
    const char *name;
    /* True if results can be read by the host after finish. */
    bool computes;
    ig_status (*describe)(ig_device_info *info);
    /* A buffer of this device; NULL on failure. */
    buffer *(*alloc)(size_t bytes);
    /* Makes p ready to launch any number of times; whatever it needs is allocated here. */
    ig_status (*compile)(program *p);
    void (*discard)(program *p);
    /* For people: what will run the program's core, or NULL. May be NULL. */
    const char *(*how)(const program *p);
    /* Runs the chain of p->chain programs that begins with p, one after another or rows at a time;
     * bindings are indexed by operand slots. An index outside of its axis is IG_ERR_INDEX. */
    ig_status (*launch)(const program *p, const binding *bindings);
    /* Waits until all launches are done and tells if one of them failed. */
    ig_status (*finish)(void);
    /* Gives back what it keeps between launches. */
    void (*release)(void);
} backend;

int backend_count(void);
const backend *backend_at(int i);
/* NULL if there is none of that name. */
const backend *backend_find(const char *name);

extern const backend backend_cpu, backend_null;

#endif
