/* Failures that are found after launches. A kernel that finds an index out of bounds continues, and reports it in words
 * of its device's memory. They are read at the next wait for the device; if there is a fault, the results of all
 * evaluations since the previous wait cannot be read. All functions are called with the engine's lock held. */
#ifndef ENGINE_FAULTS_H
#define ENGINE_FAULTS_H

#include "engine/backend/backend.h"
#include "engine/emit/emit.h"
#include "engine/program/fault.h"

typedef struct device_faults {
    const backend *dev;
    buffer *words; /* NULL before faults_reserve */
    /* The first evaluation since the last look that may have reported a fault; 0: none. */
    uint64_t suspect;
    struct {
        char ops[2 * FAULT_OPS_BYTES]; /* ops of the programs since then that use this record */
        bool several;                  /* there are different programs */
    } record[FAULT_RECORDS];
} device_faults;

/* Begins a new evaluation; returns its number, for buffer.written. */
uint64_t faults_begin(void);
/* An evaluation stopped after its first launch: the buffers that it should have written cannot be read. */
void faults_abandon(buffer *const *written, int n);
/* Fails if the buffer was written by an evaluation that failed later. */
ig_status faults_check(const buffer *b);

/* The record of a device's n-th program that may fail. All programs past the last record share it. */
static inline int faults_record(int n) { return n < FAULT_RECORDS ? n : FAULT_RECORDS - 1; }
/* Allocates the words if they do not exist. */
ig_status faults_reserve(device_faults *d);
/* Call it before launching a chain: its programs may report faults, in the records from `record` on. */
void faults_expect(device_faults *d, const program *p, int record);
/* Waits for the device, and reads its words. */
ig_status faults_finish(device_faults *d);
/* Call it after a failure, which remains the error: earlier launches may have reported faults. */
void faults_settle(device_faults *d);

#endif
