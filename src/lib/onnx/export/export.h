/* From the graph of lazy arrays to an ONNX model.
 *
 * The graph may be given several times, built for several lengths of the symbolic axes. All are walked in lock step: they
 * must have the same nodes, and a number that differs between them is written as a sum of multiples of the lengths, of their
 * product and of 1. One graph has no symbolic axes. Only what depends on the inputs becomes nodes of the model; all else is evaluated
 * and becomes initializers. */
#ifndef ONNX_EXPORT_H
#define ONNX_EXPORT_H

#include "engine/ops/walk.h"
#include "lib/onnx/arena.h"

enum { EXPORT_SYMBOLS = 2, EXPORT_TRACES = 6, EXPORT_AXES = 2 * IG_MAX_NDIM };

/* A length, or another integer, in each trace. */
typedef struct extent {
    int64_t in[EXPORT_TRACES];
} extent;

/* A tensor of the model. name is NULL after a failure, and functions pass that on. */
typedef struct value {
    const char *name;
    ig_dtype dtype;
    int n;
    extent shape[EXPORT_AXES];
} value;

/* An array of the graph that the model computes: a root, or the result of a convolution. It has the same index as its place. */
typedef struct spot {
    ig_array *at[EXPORT_TRACES];
    /* Read instead of the node's inputs: the definition of a node of native code, or the input of a softmax; or NULL. */
    ig_array *stands[EXPORT_TRACES];
    int softmax;        /* the axis of a softmax, counted from 1; 0: the node is none */
    const char *weight; /* its name as an initializer, or NULL */
    value v;            /* all elements, contiguous */
    bool varies;        /* depends on an input, or its shape is symbolic */
    bool visited;
    int next; /* the next dependency to visit */
} spot;

typedef struct written_constant {
    ig_dtype dtype;
    int ndim; /* 0 or 1 */
    int64_t n;
    const void *bytes;
    const char *name;
} written_constant;

typedef struct written_extent {
    extent x;
    const char *name;
} written_extent;

typedef struct exporter {
    const struct ig_onnx_export_call *call;
    int traces;
    ig_onnx_builder *b;
    onnx_arena arena; /* names */
    int names;
    int n_symbols;
    const char *symbol_name[EXPORT_SYMBOLS];
    extent length[EXPORT_SYMBOLS];      /* of the symbolic axes */
    const char *symbol[EXPORT_SYMBOLS]; /* 1-d tensors of the lengths; NULL: not written yet */
    walk table;                         /* finds spots by address; its order is not used */
    spot *spots;
    int room;
    written_constant *constants;
    int n_constants, room_constants;
    written_extent *extents;
    int n_extents, room_extents;
} exporter;

/* ---- values (values.c) ---- */

static inline extent fixed(int64_t x) { return (extent){{x, x, x, x, x, x}}; }
/* True if x is the same in all traces; extent_is: and equal to n. */
bool extent_fixed(const exporter *e, extent x);
bool extent_is(const exporter *e, extent x, int64_t n);
bool extent_same(const exporter *e, extent x, extent y);
extent extent_product(extent x, extent y);

/* A new name for the result of an op. */
const char *new_name(exporter *e, const char *op);
/* Writes a node with one result and returns its name. Inputs that are NULL make it NULL. */
const char *node(exporter *e, const char *op, const ig_onnx_attribute *attributes, int n_attributes,
                 int n, const char *const *in);
#define NODE_OF(e, op, attributes, n_attributes, ...) \
    node(e, op, attributes, n_attributes, \
         (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), \
         (const char *const[]){__VA_ARGS__})

/* A tensor with these elements: 0-d, or 1-d with n elements. */
const char *constant(exporter *e, ig_dtype dtype, int ndim, int64_t n, const void *data);
const char *constant_number(exporter *e, ig_dtype dtype, double x);
/* A 1-d tensor of i64. */
const char *integers(exporter *e, int n, const extent *x);

/* Each writes at most one node; none if nothing changes. */
value value_reshape(exporter *e, value v, int n, const extent *shape);
value value_permute(exporter *e, value v, const int *axes);
value value_expand(exporter *e, value v, int n, const extent *shape);
value value_cast(exporter *e, value v, ig_dtype dtype);
/* start, start + step, ...: `length` elements of each axis. */
typedef struct stretch {
    extent start, length;
    int64_t step;
} stretch;
value value_slice(exporter *e, value v, const stretch *s);
/* The shape that two values broadcast to. */
value value_beside(value v, value w);

/* ---- views (views.c) ---- */

/* v, in each trace a view of all of s, as a value. Without expand, axes of stride 0 have the length 1. */
value see_view(exporter *e, spot *s, const view *v, bool expand);
/* The array x, whose place was visited. */
value see(exporter *e, ig_array *const *x, bool expand);
/* The windows of a view of s: `axes` axes of the view, from `first` on, slide over the last axes of `over`, which has the form
 * (N, C, spatial...); the last `axes` axes of the view are in the windows. False if the view is anything else. */
typedef struct sliding {
    value over;
    int axes;
    int64_t kernel[3], stride[3], dilation[3];
} sliding;
bool see_windows(exporter *e, spot *s, const view *v, int axes, sliding *w);
/* The box of elements of a contiguous array of this shape that v addresses, in the order of its axes; false if v addresses
 * others. */
bool box_of(const exporter *e, int n, const extent *shape, const view *v, stretch *box);

/* ---- nodes (nodes.c) ---- */

/* Writes the nodes of s, a root whose inputs were visited. */
value write_node(exporter *e, const spot *s);
/* If x is the last node of a softmax: its input, and the axis. NULL if it is anything else. */
ig_array *softmax_of(const ig_array *x, int *axis);
/* Writes a node of an elementwise op on tensors that broadcast. */
value write_map(exporter *e, op_id op, ig_dtype dtype, const value *in, int n);

/* Fails: "onnx export: add (f32 (2, 3)) ..." */
value refuse(const spot *s, const char *why);
value named(value v, const char *name);
/* The shape and dtype of s, whose value is not written yet. */
value shape_of(const exporter *e, const spot *s);
/* Input i of s, in each trace, and as a value. */
void inputs_of(const exporter *e, const spot *s, int i, ig_array **x);
value input(exporter *e, const spot *s, int i, bool expand);

/* ---- nodes that move elements (places.c) ---- */

value assemble_write(exporter *e, const spot *s);
value read_write(exporter *e, const spot *s);
value update_write(exporter *e, const spot *s);

/* ---- the graph (export.c) ---- */

/* The spot of x. NULL after a failure. */
spot *spot_of(exporter *e, const ig_array *x);
/* Its value; a constant is written now. */
value spot_value(exporter *e, spot *s);
/* Views of the arrays of each trace. */
void views_of(const exporter *e, ig_array *const *x, view *v);
/* "add (f32 (2, 3))", for messages. */
const char *spot_text(const spot *s);

#endif
