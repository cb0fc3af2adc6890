/* Numbers of fields in onnx.proto, for the code that writes models. */
#ifndef ONNX_FIELDS_H
#define ONNX_FIELDS_H

enum {
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_TENSOR = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE = 13,
    GRAPH_SPARSE = 15,
    INFO_NAME = 1,
    INFO_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_ELEMENT = 1,
    TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
    PAIR_KEY = 1,
    PAIR_VALUE = 2
};

#endif
