/* Facts about the machine, and what disturbs measurements on it. */
#ifndef INGOT_MACHINE_H
#define INGOT_MACHINE_H

#include "ingot/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A condition of the machine that may disturb measurements. */
typedef struct ig_finding {
    ig_severity severity;
    const char *subject; /* "load" */
    const char *what;    /* "load 3.1 on 2 CPUs" */
    const char *remedy;  /* what would help, or NULL */
} ig_finding;

typedef struct ig_machine {
    const char *system;          /* "Linux 6.1.0" */
    const char *distribution;    /* "Debian GNU/Linux 12 (bookworm)"; NULL: unknown */
    const char *arch;            /* "aarch64" */
    const char *virtual_machine; /* "KVM"; NULL: none was found */
    const char *container;       /* "Docker"; NULL: none was found */
    const ig_finding *findings;  /* everything that was checked and could be determined */
    int n_findings;
    const ig_absent *absent;
    int n_absent;
} ig_machine;

/* Describes the machine in its present state; takes some milliseconds. Release the result with ig_free;
 * NULL on failure. */
IG_API ig_machine *ig_machine_get(void);

#ifdef __cplusplus
}
#endif

#endif
