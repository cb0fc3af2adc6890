/* The element types of ONNX. See types.def. */
#ifndef ONNX_TYPES_H
#define ONNX_TYPES_H

#include "ingot.h"

/* Bits of an element in raw data; 0 for strings. */
int onnx_type_bits(ig_onnx_type type);
/* The field of a TensorProto that holds elements which are not raw. */
int onnx_type_field(ig_onnx_type type);
/* The element type of an array's dtype. */
ig_onnx_type onnx_type_of(ig_dtype dtype);

#endif
