/* Values that exist by rows: temporaries of a chain that lie in shared memory. */
#ifndef EMIT_ROWS_H
#define EMIT_ROWS_H

#include "kernel/emit/writer.h"

/* Offsets count elements of the slot's dtype. */
typedef struct emit_local {
    int slot;
    int64_t own;    /* elements of a row */
    int64_t offset; /* bytes from the start of the dynamic shared memory */
} emit_local;

typedef struct emit_locals {
    emit_local *at;
    int n;
} emit_locals;

/* A LOAD or STORE of a slot that exists by rows; false if the operand's slot is not one. */
bool rows_local_load(emit_writer *w, const emit_space *s, int k);
bool rows_local_store(emit_writer *w, const emit_space *s, int k, const int *def);

#endif
