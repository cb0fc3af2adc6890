/* The text of kernels/: functions that emitted kernels call. */
#ifndef EMIT_LIBRARY_H
#define EMIT_LIBRARY_H

#include "base/text.h"

/* Appends includes of the functions for the USES_* given; f64: also functions with double
 * arguments. */
void library_write(text *t, unsigned uses, bool f64);

#endif
