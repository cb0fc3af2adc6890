/* Compiled computations, for libraries that keep state in inputs. */
#ifndef EVAL_COMPILED_H
#define EVAL_COMPILED_H

#include "ingot.h"

/* As ig_compile, with one difference: a run that fails may leave its first n_expended inputs with any elements. So a scatter
 * into such an input overwrites it in place, also if a later program may fail, such as a read at computed indices. */
ig_compiled *compile_expending(ig_array *const *inputs, int n_in, int n_expended,
                               ig_array *const *outputs, int n_out);

#endif
