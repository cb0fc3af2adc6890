/* What a kernel's parameter holds, for those who fill it. */
#ifndef MODULE_FIELDS_H
#define MODULE_FIELDS_H

#include "compiler/type.h"

/* NULL with the error set on failure. Names and types belong to the tree. */
ig_kernel_field *module_field_new(kernel_types *types, const kernel_type *t, const char *name);
void module_field_free(const ig_kernel_field *f);

#endif
