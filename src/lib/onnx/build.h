/* For writers inside the library. */
#ifndef ONNX_BUILD_H
#define ONNX_BUILD_H

#include "ingot.h"

/* The opset of the model; 17 unless it is set. */
void onnx_builder_opset(ig_onnx_builder *b, int opset);

#endif
