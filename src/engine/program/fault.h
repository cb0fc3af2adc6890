/* An index out of bounds or a failed check that a program found. All devices report it with the same text. */
#ifndef PROGRAM_FAULT_H
#define PROGRAM_FAULT_H

#include "engine/ops/checks.h"
#include "engine/program/program.h"

enum { FAULT_OPS_BYTES = 96, FAULT_TEXT_BYTES = 400 };

typedef struct index_fault {
    int64_t at;       /* the point of the program's space, in row-major order */
    int64_t index;    /* the original index, minus INDEX_REFUSED if a negative one is not allowed */
    int64_t axis_len; /* -1: index and length are not known */
} index_fault;

/* IG_ERR_ARGUMENT for a check, else IG_ERR_INDEX. */
ig_status fault_status(const index_fault *f);
/* The ops of a program for messages: its label, cut to FAULT_OPS_BYTES. */
const char *fault_ops(const program *p, char out[static FAULT_OPS_BYTES]);
/* The message: what is wrong, in which ops, and where. */
const char *fault_text(const index_fault *f, const char *ops, const char *device,
                       char out[static FAULT_TEXT_BYTES]);

#endif
