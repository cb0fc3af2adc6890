/* Failures that are found after launches. A kernel that meets an index out of bounds goes on, and reports it in words of
 * its device's memory. They are looked at when somebody waits for the device; results of the evaluations since the last
 * look cannot be read then. Everything here is called with the engine's lock held. */
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
        char ops[2 * FAULT_OPS_BYTES]; /* of the programs since then whose record it is */
        bool several;                  /* they differ */
    } record[FAULT_RECORDS];
} device_faults;

/* A new evaluation: its number, for buffer.written. */
uint64_t faults_begin(void);
/* An evaluation stopped after its first launch: these buffers, which it was to write, cannot be read. */
void faults_abandon(buffer *const *written, int n);
/* Fails if the buffer was written by an evaluation that turned out to have failed. */
ig_status faults_check(const buffer *b);

/* The record of a device's n-th program that may fail: the last one is shared by all that follow. */
static inline int faults_record(int n) { return n < FAULT_RECORDS ? n : FAULT_RECORDS - 1; }
/* The words exist afterwards. */
ig_status faults_reserve(device_faults *d);
/* Programs of a chain that is about to be launched may report faults, in the records from `record` on. */
void faults_expect(device_faults *d, const program *p, int record);
/* Waits for the device, and looks at its words. */
ig_status faults_finish(device_faults *d);
/* After a failure, which stays the error: what was launched before it may have reported faults. */
void faults_settle(device_faults *d);

#endif
