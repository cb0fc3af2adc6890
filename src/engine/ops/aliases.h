/* Other names of ops: see aliases.def. */
#ifndef ENGINE_OPS_ALIASES_H
#define ENGINE_OPS_ALIASES_H

#include "engine/ops/op_id.h"

/* The names of an op's results, joined by spaces; NULL if they have none. */
const char *alias_results(op_id op);

#endif
