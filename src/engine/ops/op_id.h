/* The rows of ops.def as numbers. This is the only header of the engine that the compiler includes: an instruction of
 * lane code is a row of the op table. */
#ifndef OPS_OP_ID_H
#define OPS_OP_ID_H

typedef enum op_id {
#define OP(name, class, signature, doc, ...) OP_##name,
#define NODE(name) OP_##name,
#include "engine/ops/ops.def"
    OP_COUNT
} op_id;

/* Rows that can be called by name come first. */
enum { OP_PUBLIC_COUNT = OP_iota };

#endif
