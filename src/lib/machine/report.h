/* The current state of the machine: where this process runs, what disturbs measurements, and why a kind of device
 * cannot be used. One block of fixed size, which ig_machine_get returns.
 *
 * Invariant: a row is a fact. A fact that cannot be determined has no row, and is never reported as fine. */
#ifndef LIB_MACHINE_REPORT_H
#define LIB_MACHINE_REPORT_H

#include "ingot.h"

enum { REPORT_FINDINGS = 16, REPORT_ABSENT = 8, REPORT_WORDS = 4096 };

typedef struct machine_report {
    ig_machine facts; /* first, so that ig_free of its address releases the block */
    ig_finding findings[REPORT_FINDINGS];
    ig_absent absent[REPORT_ABSENT];
    char words[REPORT_WORDS]; /* the texts of the rows */
    size_t used;
} machine_report;

/* Fills a report that is all zero. root precedes the path of every file that is read (sysfile.h).
 * has_backend says whether this build has a kind of device, by name. */
void machine_report_read(machine_report *r, const char *root, bool (*has_backend)(const char *));

/* ---- its parts ---- */

/* Adds text; NULL if there is no room. */
const char *report_words(machine_report *r, const char *format, ...) IG_PRINTF(2, 3);
/* Adds a row; none if what is NULL. remedy may be NULL. The texts are kept, not copied. */
void report_finding(machine_report *r, ig_severity severity, const char *subject, const char *what,
                    const char *remedy);

/* Adds conditions that disturb measurements. */
void report_disturbances(machine_report *r, const char *root);
/* Adds kinds of device that this build does not have. */
void report_absent(machine_report *r, const char *root, bool (*has_backend)(const char *));
/* Adds a kind that the build has, but for which there is no device. The texts are copied, the name is not. */
void report_add_absent(machine_report *r, const ig_absent *a);

#endif
