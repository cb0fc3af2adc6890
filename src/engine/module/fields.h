/* Describes the fields of a kernel's parameter, for callers that fill it. */
#ifndef MODULE_FIELDS_H
#define MODULE_FIELDS_H

#include "compiler/type.h"
#include "ingot.h"

/* Returns NULL and sets the error on failure. Names and types belong to the tree. */
ig_kernel_field *module_field_new(kernel_types *types, const kernel_type *t, const char *name);
void module_field_free(const ig_kernel_field *f);

#endif
