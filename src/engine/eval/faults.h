/* Failures that are found after launches. A kernel that finds an index out of bounds continues, and reports it in words of
 * its device's memory, which are read at the next wait. Each launch of such a program since the last wait has its own record
 * there. `written` of a buffer is the number of a set: the records of the launches that its content depends on. So a
 * fault makes exactly these buffers invalid. All functions are called with the engine's lock held. */
#ifndef ENGINE_FAULTS_H
#define ENGINE_FAULTS_H

#include "engine/emit/emit.h"
#include "engine/eval/run.h"
#include "engine/program/fault.h"

enum { FAULT_SETS = 256, FAULT_SET_WORDS = FAULT_RECORDS / 64 };

typedef struct fault_set {
    uint64_t number; /* buffer.written */
    uint64_t has[FAULT_SET_WORDS];
} fault_set;

typedef struct fault_record {
    const program *of; /* only compared */
    int loop;          /* the record of the loop whose step it is, or -1 */
    bool several;      /* there was no record for each launch */
    char ops[2 * FAULT_OPS_BYTES];
} fault_record;

typedef struct device_faults {
    const backend *dev;
    buffer *words; /* NULL before faults_reserve */
    fault_record *record;
    fault_set *set;
    int n_record, n_set; /* since the last wait */
    bool runs;           /* an evaluation launches: its records and sets are still needed */
    int in_loop;         /* the record of the loop that runs, plus 1; 0: none */
    ig_status found;     /* a fault that the next wait reports, or IG_OK */
    char why[FAULT_TEXT_BYTES];
} device_faults;

/* Fails if the buffer depends on a launch that failed later, or if the evaluation that should write it stopped. */
ig_status faults_check(const buffer *b);
/* True if a launch since the last wait may have reported a fault. */
static inline bool faults_pending(const device_faults *d) { return d->n_record || d->found; }

/* Allocates the words if they do not exist. */
ig_status faults_reserve(device_faults *d);
/* Before the launches of a run: its programs get records, and the buffers of its outputs sets. */
ig_status faults_begin(device_faults *d, const run *r);
/* After them. failed: they stopped, so the buffers that they should have written cannot be read. */
void faults_end(device_faults *d, const run *r, bool failed);
/* The record for the next launch of a program of the schedule. */
int faults_record(device_faults *d, const schedule *s, const program *p);

/* Waits for the device, and reads its words. */
ig_status faults_finish(device_faults *d);
void faults_release(device_faults *d);

#endif
