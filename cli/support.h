/* What an op takes on a device: asked of the library, not known. */
#ifndef CLI_SUPPORT_H
#define CLI_SUPPORT_H

#include "verify/verify.h"

typedef struct support {
    taking is[DTYPES];
    char *why[DTYPES];
} support;

/* Asks for the op in every dtype on the device of that name. Release with support_free. */
support support_ask(const ig_op *op, const char *device);
void support_free(support *s);

/* Adds the dtypes that are taken, or refused, in words: "integers, f32"; "-" if there are none. */
void support_dtypes(str *t, const support *s, taking which);
/* The first reason for a refusal; NULL: there is none. */
const char *support_reason(const support *s);

/* Adds all ops by class: for a terminal, one table for each device that computes (only: for that one); or as
 * Markdown, docs/ops.md, for the CPU alone, which is the same everywhere. */
void support_table(str *t, const char *only);
void support_markdown(str *t);
/* Adds {"cpu": {"bool": {"by": "refused", "why": ...}, "f32": {"by": "native"}, ...}, ...} */
void support_json(str *t, const ig_op *op, const char *only);

/* True for the devices of the table: all that compute arrays (a device for tests only if it is named), or the one
 * that is named. */
bool support_lists(const ig_device_info *d, const char *only);

/* True for the devices that verify, bench and ops take if none is named: those that compute arrays, without
 * the devices for tests and OpenCL on the CPU, whose compiler takes seconds for each kernel. */
bool device_by_default(const ig_device_info *d);

#endif
