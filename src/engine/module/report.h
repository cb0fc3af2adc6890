/* What a watched launch of a kernel tells, for people. What is returned is one block: ig_free. NULL with
 * the error set on failure. */
#ifndef MODULE_REPORT_H
#define MODULE_REPORT_H

#include "ingot.h"
#include "compiler/code.h"
#include "compiler/pp/diag.h"
#include "compiler/watch.h"

ig_kernel_findings *module_findings(const kernel_source *s, const kernel_check *k);
/* IG_ERR_DEVICE with all mistakes in the error, if there are some beside notes. */
ig_status module_verdict(const char *kernel, const ig_kernel_findings *all);

/* Counts for each instruction, with file, line and text; memory_free. */
ig_profile_line *module_counts(const kernel_source *s, const lane_code *c);
/* The same by lines; counts are used up. */
ig_profile *module_profile(const char *kernel, ig_profile_line *counts, int n);

#endif
