/* The ops of ONNX: one row of a table for each op and each version that changed its meaning (ops.def).
 *
 * An op is a function of a call. It reads inputs and attributes of the node by the functions below, builds its results
 * with public functions of Ingot, and returns them. Nothing is computed there: arrays are lazy. Only values that shape the
 * graph, such as the shape of Reshape or the condition of If, are read on the host (call_ints and others).
 *
 * The functions below fail with an error that names the node and the input or attribute. After the first failure they
 * return NULL or zeros, and an op may go on: the executor looks at the pending error after the op, as elsewhere in Ingot.
 */
#ifndef ONNX_OP_H
#define ONNX_OP_H

#include "lib/onnx/model.h"
#include "lib/onnx/value.h"

typedef struct onnx_call onnx_call;

typedef struct onnx_op {
    const char *domain; /* "" is ai.onnx */
    const char *name;
    int since; /* the first version of the opset with this meaning */
    void (*build)(onnx_call *c);
    const char *ingot; /* for ops that are one op of Ingot: its name */
} onnx_op;

/* The row for an op in a version of its domain: the one with the largest `since` that is not above it. NULL if there is
 * none. */
const onnx_op *onnx_op_find(const char *domain, const char *name, int64_t version);
const onnx_op *onnx_op_at(int i);

/* ---- inputs --------------------------------------------------------------------------------- */

int call_inputs(const onnx_call *c); /* how many the node lists */
int call_outputs(const onnx_call *c);
bool call_has(const onnx_call *c, int i);   /* input i is given */
bool call_wants(const onnx_call *c, int i); /* output i has a name */
int64_t call_version(const onnx_call *c);   /* of the opset of the op's domain */
const onnx_op *call_row(const onnx_call *c);

/* Input i as an array on the device of the model. An error if it is absent or no tensor. */
ig_array *call_array(onnx_call *c, int i);
/* The same; NULL without an error if it is not given. */
ig_array *call_array_or_null(onnx_call *c, int i);
/* The element type of a tensor input, or IG_ONNX_UNDEFINED if it is not given. */
ig_onnx_type call_type(onnx_call *c, int i);
/* The shape of a tensor input of numbers or strings. Unlike call_array it does not look at the elements, so results of
 * an op that uses only shapes do not depend on the content of the model's inputs. */
ig_ints call_shape(onnx_call *c, int i);
/* Any kind of value, borrowed; NULL if it is not given. */
ig_onnx_value *call_value(onnx_call *c, int i);

/* The value of a name in the graph of the node, borrowed; NULL if there is none, or not yet. */
ig_onnx_value *call_named(onnx_call *c, const char *name);

/* Read on the host. Lists live as long as the call. call_ints: an integer tensor of at most one axis. */
ig_ints call_ints(onnx_call *c, int i);
int64_t call_int(onnx_call *c, int i, int64_t otherwise); /* one element; otherwise: if not given */
double call_float(onnx_call *c, int i, double otherwise);
bool call_bool(onnx_call *c, int i, bool otherwise);
/* All elements of a tensor of numbers in row-major order, converted to dtype; they live as long as the call. NULL after an
 * error. For ops whose result has a shape that depends on them. */
const void *call_read(onnx_call *c, int i, ig_dtype dtype);
/* The same of an array that the op built, or found in a value such as a map; the run cannot be replayed afterwards. */
const void *call_read_array(onnx_call *c, ig_array *x, ig_dtype dtype);

/* ---- attributes ----------------------------------------------------------------------------- */

/* An op must look at all attributes of its node, by any of these functions, or the node fails: an attribute that is not
 * implemented would change the result. call_ignore: one that does not change it. */
void call_ignore(onnx_call *c, const char *name);

bool call_has_attribute(const onnx_call *c, const char *name);
int64_t call_attribute_int(onnx_call *c, const char *name, int64_t otherwise);
double call_attribute_float(onnx_call *c, const char *name, double otherwise);
bool call_attribute_bool(onnx_call *c, const char *name, bool otherwise);
/* Terminated; `otherwise` may be NULL. */
const char *call_attribute_text(onnx_call *c, const char *name, const char *otherwise);
ig_ints call_attribute_ints(onnx_call *c, const char *name); /* IG_NONE if absent */
/* n gets the number; NULL and 0 if absent. */
const float *call_attribute_floats(onnx_call *c, const char *name, int *n);
const onnx_bytes *call_attribute_texts(onnx_call *c, const char *name, int *n);
const onnx_tensor *call_attribute_tensor(onnx_call *c, const char *name); /* NULL if absent */
ig_onnx_value *call_attribute_value(onnx_call *c, const char *name);      /* the same as a value */
const onnx_sparse *call_attribute_sparse(onnx_call *c, const char *name);
const onnx_type *call_attribute_typed(onnx_call *c, const char *name);
onnx_graph *call_attribute_graph(onnx_call *c, const char *name); /* an error if absent */
/* An attribute that is an element type (Cast's "to"). */
ig_onnx_type call_attribute_type(onnx_call *c, const char *name, ig_onnx_type otherwise);
/* Fails unless the attribute is absent or one of the texts, which "|" separates; returns its index. The first is the
 * default. */
int call_attribute_choice(onnx_call *c, const char *name, const char *choices);
/* A list of room for n ints that lives as long as the call. */
int64_t *call_room(onnx_call *c, int n);

/* ---- results -------------------------------------------------------------------------------- */

/* Sets output i; ignored if the node does not name it. NULL means that the op failed. The second one states an element type
 * that an array's dtype cannot show. */
void call_return(onnx_call *c, int i, ig_array *x);
void call_return_typed(onnx_call *c, int i, ig_array *x, ig_onnx_type type);
void call_return_value(onnx_call *c, int i, ig_onnx_value *v); /* takes the reference */
/* An error about the node; attribute or input name may be NULL. */
void call_fail(onnx_call *c, ig_status code, const char *where, const char *format, ...)
    IG_PRINTF(4, 5);

/* The op has other results in each run with the same inputs: random numbers without a seed. */
void call_changes(onnx_call *c);
/* True if a loop may evaluate the values that it carries: the caller does not want a lazy graph. */
bool call_eager(const onnx_call *c);

/* Runs a subgraph (body of If, Loop, Scan, SequenceMap) with n inputs; writes all its outputs, which the caller releases.
 * False after an error. */
bool call_run(onnx_call *c, onnx_graph *body, ig_onnx_value *const *inputs, int n,
              ig_onnx_value **outputs);

/* ---- numbers of 2, 4 and 8 bits -------------------------------------------------------------- */

/* x, whose elements have type `from`, with elements of type `to`, rounded as Cast does; saturate: as its attribute. */
ig_array *onnx_cast(ig_array *x, ig_onnx_type from, ig_onnx_type to, bool saturate);

/* The element type of an array's dtype. */
ig_onnx_type onnx_type_of(ig_dtype dtype);

#endif
