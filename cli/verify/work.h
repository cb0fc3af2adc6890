/* The work of `ingot verify`, split into units per device: one op in one dtype, or some random graphs. Several
 * processes take units from a list in shared memory. A file can record the results of units, so that a later run
 * continues from there. */
#ifndef CLI_VERIFY_WORK_H
#define CLI_VERIFY_WORK_H

#include "verify/verify.h"

enum { JOBS_MOST = 256, UNIT_NAME = 80 };

typedef struct work work;

/* The result of a unit. first.text is on the heap. */
typedef struct unit_report {
    tally seen;
    failure first;
} unit_report;

/* Checks a unit on device number `device`, into r. False if it was stopped before the end. */
typedef bool (*work_check)(void *context, int device, int unit, unit_report *r);
/* Opens the devices in a worker process; false if one is missing. */
typedef bool (*work_open)(void *context);
/* Writes the name of a unit, two words; false if the unit is not to be checked. */
typedef bool (*work_name)(const void *context, int unit, char name[UNIT_NAME]);

typedef struct work_options {
    int n_unit, most_devices;
    int most_failed;    /* if not 0: no unit is started after this many have failed */
    const int *order;   /* order of a device's units; NULL: by number */
    int jobs;           /* 1: the calling process checks all units */
    const char *record; /* the file that records results, or NULL */
    work_name name;
    work_open open;
    work_check check;
    void *context;
} work_options;

/* Call it before a driver is opened, because drivers do not survive a fork. With several jobs, starts the processes,
 * which wait for work_run; *w is set in them, too. False if out of memory or if a process cannot be started. */
bool work_new(const work_options *o, work **w);
/* Shows progress: the fraction done, from 0 to 1, and a unit in progress, or -1. Returns true to stop. */
typedef bool (*work_show)(void *context, int device, double share, int unit);
/* Reads the record and checks all units that it does not have. key[d] names device d and the settings, without spaces.
 * Returns false if a unit is not finished. *wrong: the reason if the record cannot be used, else NULL. */
bool work_run(work *w, char *const *key, int n_device, work_show show, const char **wrong);
int work_units(const work *w); /* per device */
/* The result of a unit on device d; first.text belongs to w. False if the unit was not started. */
bool work_report(const work *w, int d, int unit, unit_report *r);
/* True if the unit has been checked or is excluded. */
bool work_complete(const work *w, int d, int unit);
/* Called while a unit is being checked: sets the current case, for the message if the process dies. */
void work_case(work *w, int d, int unit, const char *name);
/* Called while a unit is being checked: true if all processes were asked to stop. */
bool work_stopped(const work *w);
void work_free(work *w);

#endif
