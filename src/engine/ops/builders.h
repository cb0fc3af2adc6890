/* The ids of the rows of composite.def, which follow the ids of core.def, and the builders, in the files of their classes:
 * op_<name> of OP rows, op_<builder> of SHARED rows.
 * All elementwise rows share one builder, and so do all folds. */
#ifndef OPS_BUILDERS_H
#define OPS_BUILDERS_H

#include "engine/ops/ops.h"

enum {
    OP_CORE_LAST = OP_CORE_COUNT - 1,
#define OP(name, class, signature, doc, ...) OP_##name,
#include "engine/ops/composite.def"
    OP_COUNT
#undef OP
#undef SHARED
};

#define UNARY(name, accepts, result, expr, ...)
#define BINARY(name, accepts, result, expr, ...)
#define FOLD(name, accepts, identity, expr, ...)
#define OP(name, class, signature, doc, ...) \
    int op_##name(op_id op, const ig_arg *args, ig_array **out);
#define SHARED(name, builder, class, signature, doc, ...) OP(builder, class, signature, doc)
#include "engine/ops/ops.def"

/* The builders of all UNARY and BINARY rows, and of all FOLD rows. */
int op_elementwise(op_id op, const ig_arg *args, ig_array **out);
int op_fold(op_id op, const ig_arg *args, ig_array **out);

#endif
