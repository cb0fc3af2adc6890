/* An ONNX model as its file states it: the messages of the format as plain structures.
 *
 * All of it lives in the model's arena, except the elements of tensors, which stay in the mapped file. Names are
 * terminated; "" stands for an input or output that is not given. The reader (read.c) checks the wire format and each
 * message by itself; check.c makes the checks that need the whole graph. Code that runs after them can rely on it.
 */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include "ingot.h"

typedef struct onnx_bytes {
    const char *at;
    size_t n;
} onnx_bytes;

/* ---- types ---------------------------------------------------------------------------------- */

typedef struct onnx_shape {
    int ndim;           /* -1: not stated */
    int64_t *dims;      /* -1: not stated */
    const char **names; /* symbols of axes, or NULL */
} onnx_shape;

typedef struct onnx_type {
    ig_onnx_kind kind;      /* IG_ONNX_NOTHING: not stated */
    bool optional;          /* an optional value of this kind */
    ig_onnx_type element;   /* of a tensor; of a map: of its keys */
    onnx_shape shape;       /* of a tensor */
    struct onnx_type *item; /* of a sequence, and of the values of a map */
} onnx_type;

typedef struct onnx_value_info {
    const char *name;
    onnx_type type;
} onnx_value_info;

/* ---- tensors -------------------------------------------------------------------------------- */

typedef struct onnx_tensor {
    const char *name;
    ig_onnx_type type;
    ig_ints shape;
    int64_t elements;
    /* Exactly one of these holds the elements: */
    onnx_bytes raw;    /* little-endian, packed below 8 bits */
    onnx_bytes typed;  /* the payload of float_data, int32_data, ... : packed, or
                                   as the reader joined it */
    int typed_field;   /* the number of that field; 0: none */
    onnx_bytes *texts; /* string_data */
    struct {
        const char *location;   /* path below the model's folder; NULL: not external */
        uint64_t offset, bytes; /* bytes 0: to the end as the shape says */
    } external;
} onnx_tensor;

/* values and indices of a sparse tensor of the given shape. */
typedef struct onnx_sparse {
    onnx_tensor values, indices;
    ig_ints shape;
} onnx_sparse;

/* ---- nodes ---------------------------------------------------------------------------------- */

struct onnx_graph;

/* Numbered as in the format. */
typedef enum onnx_attribute_kind {
    ONNX_FLOAT = 1,
    ONNX_INT = 2,
    ONNX_STRING = 3,
    ONNX_TENSOR = 4,
    ONNX_GRAPH = 5,
    ONNX_FLOATS = 6,
    ONNX_INTS = 7,
    ONNX_STRINGS = 8,
    ONNX_TENSORS = 9,
    ONNX_GRAPHS = 10,
    ONNX_SPARSE = 11,
    ONNX_SPARSES = 12,
    ONNX_TYPE = 13,
    ONNX_TYPES = 14
} onnx_attribute_kind;

typedef struct onnx_attribute {
    const char *name;
    const char
        *refers; /* in a function: the attribute of the caller that gives the value; else NULL */
    onnx_attribute_kind kind;
    int n; /* of lists; else 1 */
    union {
        float f;
        int64_t i;
        onnx_bytes text;
        const float *floats;
        const int64_t *ints;
        const onnx_bytes *texts;
        const onnx_tensor *tensors;       /* one or n */
        const onnx_sparse *sparses;       /* one or n */
        struct onnx_graph *const *graphs; /* one or n */
        const onnx_type *types;           /* one or n */
    } u;
} onnx_attribute;

typedef struct onnx_node {
    const char *name;        /* may be "" */
    const char *op, *domain; /* domain "" is ai.onnx */
    const char *overload;
    const char **inputs, **outputs;
    int n_in, n_out;
    onnx_attribute *attributes;
    int n_attributes;
    int number; /* position in its graph */
    /* Filled by check.c: the slot of each input and output in its graph; -1: not given. */
    int *in_slots, *out_slots;
    struct onnx_function *function; /* the function of the model that it calls; NULL: an op */
} onnx_node;

typedef struct onnx_graph {
    const char *name;
    onnx_node *nodes; /* check.c: in an order in which each node follows its inputs */
    int n_nodes;
    onnx_value_info *inputs, *outputs, *others; /* others: value_info */
    int n_inputs, n_outputs, n_others;
    /* Inputs from here on have an initializer as default; check.c puts them last in the model's own graph. Callers
     * of ig_onnx_run do not see them. */
    int n_given;
    onnx_tensor *tensors; /* initializers */
    int n_tensors;
    onnx_sparse *sparses; /* sparse initializers; values.name is the name */
    int n_sparses;
    /* Filled by check.c. A slot is a named value of this graph: first all inputs, then initializers that are no
     * input, then outputs of nodes, then values of enclosing graphs that this graph reads. */
    struct onnx_graph *parent;
    int n_slots;
    const char **slot_names;
    int *tensor_slots; /* of the initializers, then of the sparse ones */
    int *output_slots;
    int n_outer,
        first_outer; /* slots [first_outer, first_outer + n_outer) come from the parent ... */
    int *outer;      /* ... from these slots of it */
} onnx_graph;

typedef struct onnx_opset {
    const char *domain;
    int64_t version;
} onnx_opset;

typedef struct onnx_function {
    const char *domain, *name, *overload;
    onnx_graph body;         /* inputs and outputs have names only */
    const char **attributes; /* that a caller must give */
    int n_attributes;
    onnx_attribute *defaults;
    int n_defaults;
    onnx_opset *opsets;
    int n_opsets;
} onnx_function;

typedef struct onnx_pair {
    const char *key, *value;
} onnx_pair;

typedef struct onnx_model {
    int64_t ir_version;
    const char *producer, *producer_version, *domain, *doc;
    onnx_opset *opsets;
    int n_opsets;
    onnx_graph graph;
    onnx_function *functions;
    int n_functions;
    onnx_pair *metadata;
    int n_metadata;
} onnx_model;

/* The version of a domain's opset; 0 if it is not imported. */
int64_t onnx_opset_version(const onnx_opset *opsets, int n, const char *domain);

/* Replaces control characters in a message, which may have names of a file. */
void onnx_one_line(char *message);

#endif
