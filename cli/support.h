/* Which dtypes an op takes on a device. The library is asked; nothing is hard-coded. */
#ifndef CLI_SUPPORT_H
#define CLI_SUPPORT_H

#include "verify/verify.h"

typedef struct support {
    taking is[DTYPES];
    char *why[DTYPES];
} support;

/* Asks about the op in every dtype on the device of that name. Release the result with support_free. */
support support_ask(const ig_op *op, const char *device);
void support_free(support *s);

/* Adds the dtypes that are taken, or refused, in words: "integers, f32". "-": none. */
void support_dtypes(str *t, const support *s, taking which);
/* The first reason for a refusal; NULL if there is none. */
const char *support_reason(const support *s);

/* Adds all ops by class. support_table: for a terminal, one table per device that computes, or only for `only`. As
 * Markdown, docs/ops.md: only for the CPU, whose table is the same everywhere. */
void support_table(str *t, const char *only);
void support_markdown(str *t);
/* Adds {"cpu": {"bool": {"by": "refused", "why": ...}, "f32": {"by": "native"}, ...}, ...} */
void support_json(str *t, const ig_op *op, const char *only);

/* True for the devices in the table: all that compute arrays, or the named one. Devices for tests must be named. */
bool support_lists(const ig_device_info *d, const char *only);

/* True for the devices that verify, bench and ops use by default: those that compute arrays. Excludes devices for
 * tests, and OpenCL on the CPU, whose compiler takes seconds per kernel. */
bool device_by_default(const ig_device_info *d);

#endif
