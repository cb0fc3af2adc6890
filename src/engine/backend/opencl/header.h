/* Declarations of the functions of OpenCL C that a text calls; see header.c. */
#ifndef OPENCL_HEADER_H
#define OPENCL_HEADER_H

#include "base/text.h"

/* The build option that skips the header with all functions: the macro that guards it. */
#define OPENCL_NO_HEADER "-D_OPENCL_H_"

/* Appends the declarations. Returns false, with nothing appended, if the text may call other functions of the
 * header, so that it needs the header. f64: the device supports double. */
bool opencl_declare(text *t, const char *source, bool f64);

#endif
