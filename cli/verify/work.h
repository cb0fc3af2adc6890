/* The work of `ingot verify` as units on devices: one op in one dtype, or some random graphs. Several processes take units
 * from one list in shared memory. A file may keep what was seen of each unit, so that a later run goes on from there. */
#ifndef CLI_VERIFY_WORK_H
#define CLI_VERIFY_WORK_H

#include "verify/verify.h"

enum { JOBS_MOST = 256, UNIT_NAME = 80 };

typedef struct work work;

/* What was seen of a unit. first.text is on the heap. */
typedef struct unit_report {
    tally seen;
    failure first;
} unit_report;

/* Checks a unit on the device of that number, into r; false if it was stopped before its end. */
typedef bool (*work_check)(void *context, int device, int unit, unit_report *r);
/* Opens the devices in a process of its own; false if one is missing. */
typedef bool (*work_open)(void *context);
/* Writes the name of a unit, two words; false if it is not to be checked. */
typedef bool (*work_name)(const void *context, int unit, char name[UNIT_NAME]);

typedef struct work_options {
    int n_unit, most_devices;
    int most_failed;    /* not 0: no unit is begun after so many have failed */
    const int *order;   /* of the units of a device; NULL: by number */
    int jobs;           /* 1: the calling process checks all units */
    const char *record; /* the file that keeps results, or NULL */
    work_name name;
    work_open open;
    work_check check;
    void *context;
} work_options;

/* To be called before a driver is opened: drivers do not survive a fork. With several jobs, starts the processes, which
 * wait for work_run; *w is set in them, too. False: there is no memory, or a process cannot be started. */
bool work_new(const work_options *o, work **w);
/* Gets the share that is done, from 0 to 1, and a unit at hand, or -1; returns true to stop. */
typedef bool (*work_show)(void *context, int device, double share, int unit);
/* Reads the record, and checks all units that it does not have. key[d] names device d and the settings, without spaces.
 * Returns false if a unit is left; *wrong is the reason if the record cannot be used, else NULL. */
bool work_run(work *w, char *const *key, int n_device, work_show show, const char **wrong);
int work_units(const work *w); /* of a device */
/* What was seen of the unit on device d; first.text belongs to w. False if it was not begun. */
bool work_report(const work *w, int d, int unit, unit_report *r);
/* True if the unit has been checked, or is not to be. */
bool work_complete(const work *w, int d, int unit);
/* In a unit that is being checked: the case at hand, for the message if the process dies. */
void work_case(work *w, int d, int unit, const char *name);
/* In a unit that is being checked: somebody asked all processes to stop. */
bool work_stopped(const work *w);
void work_free(work *w);

#endif
