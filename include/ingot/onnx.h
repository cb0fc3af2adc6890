/* ONNX models: loading, running, and their graphs as ordinary arrays. */
#ifndef INGOT_ONNX_H
#define INGOT_ONNX_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values -------------------------------------------------------------------------------- */

/* A value of an ONNX graph. ONNX has types that arrays have not: texts, sequences, optional values, maps, and numbers of
 * 2, 4 and 8 bits. A number of such a type is held in an array of a dtype that contains its values exactly. */
typedef struct ig_onnx_value ig_onnx_value;

typedef enum ig_onnx_kind {
    IG_ONNX_NOTHING, /* an optional value without content, or an input that is not given */
    IG_ONNX_TENSOR,
    IG_ONNX_TEXTS, /* a tensor of strings */
    IG_ONNX_SEQUENCE,
    IG_ONNX_MAP /* two items: a tensor of keys (i64 or texts), and a tensor, texts or a sequence of values */
} ig_onnx_kind;

/* Element types, numbered as in ONNX files. */
typedef enum ig_onnx_type {
    IG_ONNX_UNDEFINED = 0,
    IG_ONNX_FLOAT = 1,
    IG_ONNX_UINT8,
    IG_ONNX_INT8,
    IG_ONNX_UINT16,
    IG_ONNX_INT16,
    IG_ONNX_INT32,
    IG_ONNX_INT64,
    IG_ONNX_STRING,
    IG_ONNX_BOOL,
    IG_ONNX_FLOAT16,
    IG_ONNX_DOUBLE,
    IG_ONNX_UINT32,
    IG_ONNX_UINT64,
    IG_ONNX_COMPLEX64,
    IG_ONNX_COMPLEX128,
    IG_ONNX_BFLOAT16,
    IG_ONNX_FLOAT8E4M3FN, /* from here on: held as f32 */
    IG_ONNX_FLOAT8E4M3FNUZ,
    IG_ONNX_FLOAT8E5M2,
    IG_ONNX_FLOAT8E5M2FNUZ,
    IG_ONNX_UINT4, /* held as u8 */
    IG_ONNX_INT4,  /* held as i8 */
    IG_ONNX_FLOAT4E2M1,
    IG_ONNX_FLOAT8E8M0,
    IG_ONNX_UINT2, /* held as u8 */
    IG_ONNX_INT2,  /* held as i8 */
    IG_ONNX_TYPES
} ig_onnx_type;

/* "float", "int4" and so on; never NULL. */
IG_API const char *ig_onnx_type_name(ig_onnx_type type);
/* The dtype of the array that holds a type; IG_DTYPE_NONE for strings. */
IG_API ig_dtype ig_onnx_type_dtype(ig_onnx_type type);

/* A new value holds one reference; ig_onnx_value_release drops it. NULL on failure. Retaining and releasing NULL is
 * allowed. */
IG_API ig_onnx_value *ig_onnx_value_array(ig_array *x); /* a tensor; keeps a reference to x */
/* A tensor of strings in row-major order; they are copied. */
IG_API ig_onnx_value *ig_onnx_value_texts(const char *const *texts, ig_ints shape);
IG_API ig_onnx_value *ig_onnx_value_retain(ig_onnx_value *v);
IG_API void ig_onnx_value_release(ig_onnx_value *v);

/* A value in a file that holds one TensorProto, SequenceProto, OptionalProto or MapProto, as in the test folders of ONNX;
 * an .npy file is a tensor. `like` (may be NULL) is the input or output that it is for. */
struct ig_onnx_info;
IG_API ig_onnx_value *ig_onnx_value_load(const char *path, const struct ig_onnx_info *like);

IG_API ig_onnx_kind ig_onnx_value_kind(const ig_onnx_value *v); /* IG_ONNX_NOTHING for NULL */
IG_API ig_onnx_type ig_onnx_value_type(const ig_onnx_value *v); /* of a tensor's elements */
/* The array of a tensor, borrowed from the value; NULL for other kinds. */
IG_API ig_array *ig_onnx_value_get(const ig_onnx_value *v);
/* The shape of a tensor of numbers or texts. */
IG_API ig_ints ig_onnx_value_shape(const ig_onnx_value *v);
/* The i-th string, which may contain zero bytes, and its length (bytes may be NULL). */
IG_API const char *ig_onnx_value_text(const ig_onnx_value *v, int64_t i, size_t *bytes);
/* The number of items of a sequence, or 2 for a map, and the i-th, borrowed. */
IG_API int ig_onnx_value_count(const ig_onnx_value *v);
IG_API ig_onnx_value *ig_onnx_value_item(const ig_onnx_value *v, int i);

/* ---- models -------------------------------------------------------------------------------- */

/* One thread at a time may use a model, and the values that it shares with others. */
typedef struct ig_onnx ig_onnx;

/* Reads a model. The file is mapped and must not change as long as the model lives; so are files of external data, which
 * must be in the folder of the model or below. NULL on failure, with an error that names the node and the attribute. */
IG_API ig_onnx *ig_onnx_load(const char *path);
/* The same from memory, which is copied. folder: where external data is; NULL: nowhere. */
IG_API ig_onnx *ig_onnx_from_memory(const void *bytes, size_t n, const char *folder);
IG_API void ig_onnx_free(ig_onnx *m);

/* An input or output of a model. The texts live as long as the model. */
typedef struct ig_onnx_info {
    size_t size; /* sizeof(ig_onnx_info) */
    const char *name;
    ig_onnx_kind kind; /* the kind of value */
    bool optional;     /* may hold nothing */
    ig_onnx_type type; /* of elements; of a sequence: of the elements of its tensors */
    int ndim;          /* -1: not stated */
    /* Length of each axis; -1: not stated. names[i] is the symbol of an axis, such as "batch", or NULL. */
    const int64_t *dims;
    const char *const *names;
} ig_onnx_info;

IG_API int ig_onnx_input_count(const ig_onnx *m);
IG_API int ig_onnx_output_count(const ig_onnx *m);
IG_API ig_status ig_onnx_input(const ig_onnx *m, int i, ig_onnx_info *info);
IG_API ig_status ig_onnx_output(const ig_onnx *m, int i, ig_onnx_info *info);

/* The nodes of the model's graph in the order in which they run, without the nodes of subgraphs and functions: the op
 * of the i-th; NULL if there is none. */
IG_API int ig_onnx_node_count(const ig_onnx *m);
IG_API const char *ig_onnx_node_op(const ig_onnx *m, int i);

/* Runs the model on the current device. inputs: one for each input of the model, in order; NULL: not given. Writes one
 * value for each output of the model, evaluated; release each with ig_onnx_value_release. The second run with inputs of
 * the same shapes and dtypes builds no graph again, unless the shape of a result depends on the content of the inputs. */
IG_API ig_status ig_onnx_run(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs);

/* Describes the schedule that ig_onnx_run would run, as ig_explain does. Release the text with ig_free; NULL on failure. */
IG_API char *ig_onnx_explain(ig_onnx *m, ig_onnx_value *const *inputs);

/* As ig_onnx_run, as lazy arrays: the graph of the model is built on the given arrays and can be differentiated. */
IG_API ig_status ig_onnx_apply(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs);

/* The same node by node, for tools that look at intermediate values. visit is called after each node of the model's graph
 * with the node's number, name and op and its outputs, which are lazy (NULL: not wanted). They are evaluated after that, and
 * lose their history. If visit fails, the walk ends with its status. */
typedef ig_status (*ig_onnx_visit)(void *context, int node, const char *name, const char *op,
                                   ig_onnx_value *const *outputs, int n);
IG_API ig_status ig_onnx_walk(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs,
                              ig_onnx_visit visit, void *context);

/* The tensors of the model by name (initializers), in the order of the file. A replaced tensor must have the same
 * shape and type; this is how a model is fine-tuned. */
IG_API int ig_onnx_weight_count(const ig_onnx *m);
IG_API const char *ig_onnx_weight_name(const ig_onnx *m, int i);
IG_API ig_array *ig_onnx_weight(ig_onnx *m, int i); /* borrowed; NULL on failure, or for strings */
IG_API ig_status ig_onnx_set_weight(ig_onnx *m, int i, ig_array *x);

/* ---- fine-tuning ---------------------------------------------------------------------------- */

/* The layers of a model, in the order in which they run: a layer is a node with a matrix of floats among its weights (Gemm,
 * MatMul, Conv, ConvTranspose, recurrent ops, Gather), and the biases and norms after it. Only nodes on which the first output
 * of floats depends count. */
IG_API int ig_onnx_layer_count(ig_onnx *m);
/* The layer of weight i, from 0. -1: it is not a parameter, such as statistics of batch norms, shapes and constants. */
IG_API int ig_onnx_weight_layer(ig_onnx *m, int i);

/* The first output of floats of a classifier as a lazy array of logits (n, classes), for a loss: without a Softmax or
 * LogSoftmax at the end of the model. It belongs to the open scope. NULL on failure. inputs: as for ig_onnx_apply. */
IG_API ig_array *ig_onnx_logits(ig_onnx *m, ig_onnx_value *const *inputs);

/* The number of classes that the last layer gives. -1 on failure, also if it is not a Gemm, MatMul or Conv whose results
 * become the output. */
IG_API int64_t ig_onnx_classes(ig_onnx *m);
/* Replaces the last layer by one for other classes: weights are drawn from the uniform distribution in +-1 / sqrt(inputs),
 * and biases are 0. The next run sets the lengths that the model states for its outputs. */
IG_API ig_status ig_onnx_set_classes(ig_onnx *m, int64_t classes, uint64_t seed);

/* Writes the model with its present weights to a file, which it replaces as a whole. All else, and weights that were not
 * replaced, keep their bytes. external: as for ig_onnx_builder_external. */
IG_API ig_status ig_onnx_save(ig_onnx *m, const char *path, int64_t external);

/* ---- facts --------------------------------------------------------------------------------- */

typedef struct ig_onnx_facts {
    size_t size; /* sizeof(ig_onnx_facts) */
    const char *producer, *producer_version, *name;
    int64_t ir_version;
    int64_t nodes;         /* also of subgraphs and functions */
    uint64_t bytes;        /* of the file, and of files of external data */
    uint64_t elements;     /* of all weights */
    uint64_t weight_bytes; /* that they take in the file */
    int functions;         /* of the model itself */
} ig_onnx_facts;
IG_API ig_status ig_onnx_describe(ig_onnx *m, ig_onnx_facts *facts);

/* The opsets that the model imports. */
IG_API int ig_onnx_opset_count(const ig_onnx *m);
IG_API ig_status ig_onnx_opset(const ig_onnx *m, int i, const char **domain, int64_t *version);

/* An op that nodes of the model use. The texts live as long as the model; refused until the next ig_onnx_place. */
typedef struct ig_onnx_use {
    size_t size; /* sizeof(ig_onnx_use) */
    const char *domain, *op;
    int64_t version; /* of the imported opset */
    int64_t since;   /* the opset that gave the op this meaning; 0: Ingot does not have the op */
    int count;       /* nodes */
    const char
        *refused; /* why the device cannot run it; NULL: it can, or ig_onnx_place was not called */
    int refused_count; /* nodes that the device cannot run; nodes of a loop may count repeatedly */
} ig_onnx_use;
IG_API int ig_onnx_use_count(ig_onnx *m);
IG_API ig_status ig_onnx_use_get(ig_onnx *m, int i, ig_onnx_use *use);

/* Finds out which ops a device cannot run, without computing the model: ig_onnx_use_get then tells. inputs: as for ig_onnx_run;
 * their content counts only if it decides shapes. device: as for ig_could_eval; NULL: the current one. */
IG_API ig_status ig_onnx_place(ig_onnx *m, const char *device, ig_onnx_value *const *inputs);

/* ---- exporting graphs ---------------------------------------------------------------------- */

/* One construction of a graph: inputs, such as ig_placeholder, and outputs that are computed from them. */
typedef struct ig_onnx_trace {
    ig_array *const *inputs, *const *outputs;
} ig_onnx_trace;

typedef struct ig_onnx_export_call {
    size_t size; /* sizeof(ig_onnx_export_call) */
    int n_inputs, n_outputs, n_weights;
    const char *const *input_names, *const *output_names;
    /* Arrays that get these names as tensors of the model. Other arrays that the graph reads get names, too. */
    ig_array *const *weights;
    const char *const *weight_names;
    /* `symbol` names the axes that have any length in the model; two symbols have a blank between them. One trace: no such axes.
     * Three: they have a length above 1, one more, and 3 more. Six: traces 3 and 4 are the same for the second symbol, with the
     * first length of the other; in trace 5 both lengths are one more. */
    const ig_onnx_trace *traces;
    int n_traces;
    const char *symbol;
    int64_t external; /* as for ig_onnx_builder_external */
} ig_onnx_export_call;

/* Writes the graph as a model of opset 18. What does not depend on the inputs is evaluated. An op that ONNX cannot express, and
 * a shape that is neither fixed nor a sum or multiple of the symbolic length, is an error that names the node. */
IG_API ig_status ig_onnx_export(const ig_onnx_export_call *call, const char *path);

/* ---- writing models ------------------------------------------------------------------------ */

/* A model that is written node by node, in opset 17. Names are chosen by the caller; each is defined once, before it is used.
 * After the first failure the functions do nothing, and ig_onnx_builder_save reports it. */
typedef struct ig_onnx_builder ig_onnx_builder;
IG_API ig_onnx_builder *ig_onnx_builder_new(const char *name);
IG_API void ig_onnx_builder_free(ig_onnx_builder *b);

/* An input or output. dims[i] < 0: the axis has any length, and names[i] is its symbol; names may be NULL if there is no such
 * axis. */
IG_API void ig_onnx_builder_input(ig_onnx_builder *b, const char *name, ig_onnx_type type,
                                  ig_ints dims, const char *const *names);
IG_API void ig_onnx_builder_output(ig_onnx_builder *b, const char *name, ig_onnx_type type,
                                   ig_ints dims, const char *const *names);
/* A tensor. The builder keeps a reference to x, which must not be donated before the model is saved. */
IG_API void ig_onnx_builder_weight(ig_onnx_builder *b, const char *name, ig_array *x);

/* An attribute of a node, made by one of the macros. */
typedef struct ig_onnx_attribute {
    const char *name;
    int kind; /* 1: number, 2: i, 3: text, 7: ints */
    int64_t i;
    double number;
    const char *text;
    ig_ints ints;
} ig_onnx_attribute;
#define IG_ONNX_A_FLOAT(name, value) ((ig_onnx_attribute){name, 1, 0, value, NULL, IG_NONE})
#define IG_ONNX_A_INT(name, value) ((ig_onnx_attribute){name, 2, value, 0, NULL, IG_NONE})
#define IG_ONNX_A_TEXT(name, value) ((ig_onnx_attribute){name, 3, 0, 0, value, IG_NONE})
#define IG_ONNX_A_INTS(name, ...) ((ig_onnx_attribute){name, 7, 0, 0, NULL, IG_SHAPE(__VA_ARGS__)})

/* A node. inputs and outputs are names with blanks between them; "-" is an input that is not given. */
IG_API void ig_onnx_builder_node(ig_onnx_builder *b, const char *op, const char *inputs,
                                 const char *outputs, const ig_onnx_attribute *attributes, int n);

/* Tensors of at least this many bytes go into a file PATH.data next to the model. -1, the default: none, unless the model
 * has more than 2 GiB, the most that an ONNX file may have. */
IG_API void ig_onnx_builder_external(ig_onnx_builder *b, int64_t least_bytes);
/* Checks the model and writes it to a file, which it replaces as a whole. */
IG_API ig_status ig_onnx_builder_save(ig_onnx_builder *b, const char *path);

#ifdef __cplusplus
}
#endif

#endif
