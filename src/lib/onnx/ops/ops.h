/* The functions of the table, ops.def. */
#ifndef ONNX_OPS_OPS_H
#define ONNX_OPS_OPS_H

#include "lib/onnx/op.h"

#define ROW(domain, name, since, build, ingot) void build(onnx_call *c);
#include "lib/onnx/ops.def"
#undef ROW

#endif
