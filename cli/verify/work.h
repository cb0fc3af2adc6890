/* The work of `ingot verify` as units: one op in one dtype on one device. Several processes take units from one list in
 * shared memory. A file may keep what was seen of each unit, so that a later run goes on from there. */
#ifndef CLI_VERIFY_WORK_H
#define CLI_VERIFY_WORK_H

#include "verify/verify.h"

enum { JOBS_MOST = 256 };

typedef struct work work;

/* Checks unit `op` x `dtype` on the device of that number, into r; false if it was stopped before its end. */
typedef bool (*work_check)(void *context, int device, const ig_op *op, ig_dtype dtype,
                           op_report *r);
/* Opens the devices in a process of its own; false if one is missing. */
typedef bool (*work_open)(void *context);

typedef struct work_options {
    const ig_op **op;
    int n_op, most_devices;
    unsigned dtypes;    /* a bit for each; 0: all */
    int jobs;           /* 1: the calling process checks all units */
    const char *record; /* the file that keeps results, or NULL */
    work_open open;
    work_check check;
    void *context;
} work_options;

/* To be called before a driver is opened: drivers do not survive a fork. With several jobs, starts the processes, which
 * wait for work_run. NULL: there is no memory, or a process cannot be started. */
work *work_new(const work_options *o);
/* Gets the share that is done, from 0 to 1, and a unit at hand; returns true to stop. */
typedef bool (*work_show)(void *context, int device, double share, const char *op);
/* Reads the record, and checks all units that it does not have. key[d] names device d and the settings, without spaces.
 * Returns false if a unit is left; *wrong is the reason if the record cannot be used, else NULL. */
bool work_run(work *w, char *const *key, int n_device, work_show show, const char **wrong);
/* What was seen of op k on device d: r->first.text is on the heap. False if no unit of it was begun. */
bool work_report(const work *w, int d, int k, op_report *r);
/* True if all of that op has been checked. */
bool work_complete(const work *w, int d, int k);
/* In a unit that is being checked: somebody asked all processes to stop. */
bool work_stopped(const work *w);
void work_free(work *w);

#endif
