/* The ids of the rows and nodes of core.def. This is the only header of the engine that the compiler includes: an
 * instruction of lane code is a row of the op table. */
#ifndef OPS_OP_ID_H
#define OPS_OP_ID_H

typedef int op_id;

enum {
#define OP(name, class, signature, doc, ...) OP_##name,
#define NODE(name) OP_##name,
#include "engine/ops/core.def"
    OP_CORE_COUNT
#undef OP
#undef SHARED
#undef NODE
};

#endif
