/* Reports of a checked or profiled launch. Returned pointers are one block, which ig_free releases; NULL with the
 * error set on failure. */
#ifndef MODULE_REPORT_H
#define MODULE_REPORT_H

#include "compiler/code.h"
#include "compiler/pp/diag.h"
#include "compiler/watch.h"
#include "ingot.h"

ig_kernel_findings *module_findings(const kernel_source *s, const kernel_check *k);
/* Fails with IG_ERR_DEVICE and all mistakes in the error, if there are findings other than notes. */
ig_status module_verdict(const char *kernel, const ig_kernel_findings *all);

/* Counts for each instruction, with file, line and text. The caller frees them with memory_free. */
ig_profile_line *module_counts(const kernel_source *s, const lane_code *c);
/* Sums the counts by line; overwrites counts. */
ig_profile *module_profile(const char *kernel, ig_profile_line *counts, int n);

#endif
