/* The messages of ONNX files as rules, and the checks that need only one message. read_value.c has the rules of tensors and
 * types, this file has the rules of nodes, graphs and models.
 *
 * The numbers of fields are from onnx.proto. Fields that are not listed (documentation, sharding, training) are
 * skipped. */
#include "lib/onnx/read.h"

#include "lib/onnx/rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const message_rule graph_rule;

/* ---- opsets --------------------------------------------------------------------------------- */

/* "ai.onnx" is the long name of the domain "". */
static const char *domain_short(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static bool opset_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)seen, (void)scratch;
    onnx_opset *o = result;
    o->domain = domain_short(o->domain);
    return o->version >= 1 ||
           reader_fail(r, IG_ERR_FORMAT, "version %" PRId64 " is not positive", o->version);
}

static const field_rule opset_fields[] = {ONE(1, FIELD_TEXT, onnx_opset, domain),
                                          ONE(2, FIELD_INT, onnx_opset, version)};
static const message_rule opset_rule = {OF(onnx_opset, opset_fields), .shown = "opset", .least = 2,
                                        .name = 1, .finish = opset_finish};

int64_t onnx_opset_version(const onnx_opset *opsets, int n, const char *domain)
{
    for (int i = 0; i < n; i++)
        if (strcmp(opsets[i].domain, domain) == 0)
            return opsets[i].version;
    return 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* An AttributeProto. */
struct attribute_parts {
    const char *name, *refers;
    int64_t type;
    float f;
    int64_t i;
    onnx_bytes s;
    onnx_tensor *t;
    onnx_graph *g;
    onnx_sparse *sparse_tensor;
    onnx_type *tp;
    float *floats;
    int64_t *ints;
    onnx_bytes *strings;
    onnx_tensor *tensors;
    onnx_graph **graphs;
    onnx_sparse *sparse_tensors;
    onnx_type *type_protos;
    int n_floats, n_ints, n_strings, n_tensors, n_graphs, n_sparse_tensors, n_type_protos;
};

#define POINTER(number, field, rule) \
    { \
        number, FIELD_POINTER, false, offsetof(struct attribute_parts, field), 0, #field, rule \
    }
static const field_rule attribute_fields[] = {
    ONE(1, FIELD_TEXT, struct attribute_parts, name),
    ONE(2, FIELD_FLOAT, struct attribute_parts, f),
    ONE(3, FIELD_INT, struct attribute_parts, i),
    ONE(4, FIELD_BYTES, struct attribute_parts, s),
    POINTER(5, t, &onnx_tensor_rule),
    POINTER(6, g, &graph_rule),
    LIST(7, FIELD_FLOAT, struct attribute_parts, floats, n_floats),
    LIST(8, FIELD_INT, struct attribute_parts, ints, n_ints),
    LIST(9, FIELD_BYTES, struct attribute_parts, strings, n_strings),
    SUBS(10, struct attribute_parts, tensors, n_tensors, &onnx_tensor_rule),
    {11, FIELD_POINTER, true, offsetof(struct attribute_parts, graphs),
     offsetof(struct attribute_parts, n_graphs), "graphs", &graph_rule},
    POINTER(14, tp, &onnx_type_rule),
    SUBS(15, struct attribute_parts, type_protos, n_type_protos, &onnx_type_rule),
    ONE(20, FIELD_INT, struct attribute_parts, type),
    ONE(21, FIELD_TEXT, struct attribute_parts, refers),
    POINTER(22, sparse_tensor, &onnx_sparse_rule),
    SUBS(23, struct attribute_parts, sparse_tensors, n_sparse_tensors, &onnx_sparse_rule)};

/* The field of each kind of attribute, by the kind's number. */
static const int kind_fields[] = {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 22, 23, 14, 15};

/* The kind that the type states. Old files do not state it; then the only field that is present decides. */
static int attribute_kind(reader *r, uint64_t seen, const struct attribute_parts *p)
{
    int kind = (int)p->type, fields = 0, only = 0;
    if (p->type < 0 || p->type >= COUNT(kind_fields))
        return reader_fail(r, IG_ERR_FORMAT, "its type %" PRId64 " is unknown", p->type);
    for (int i = 1; i < COUNT(kind_fields); i++)
        if (SEEN(seen, kind_fields[i])) {
            fields++;
            only = i;
        }
    if (kind == 0)
        kind = only;
    if (kind == 0)
        return reader_fail(r, IG_ERR_FORMAT, "it has no type");
    if (fields > 1 || (fields == 1 && only != kind))
        return reader_fail(r, IG_ERR_FORMAT, "its value does not match its type");
    return kind;
}

static void attribute_value(const struct attribute_parts *p, onnx_attribute *a)
{
    a->n = 1;
    switch (a->kind) {
    case ONNX_FLOAT: a->u.f = p->f; break;
    case ONNX_INT: a->u.i = p->i; break;
    case ONNX_STRING: a->u.text = p->s.at ? p->s : (onnx_bytes){"", 0}; break;
    case ONNX_TENSOR: a->u.tensors = p->t; break;
    case ONNX_GRAPH: a->u.graphs = p->graphs; break;
    case ONNX_SPARSE: a->u.sparses = p->sparse_tensor; break;
    case ONNX_TYPE: a->u.types = p->tp; break;
    case ONNX_FLOATS: a->u.floats = p->floats, a->n = p->n_floats; break;
    case ONNX_INTS: a->u.ints = p->ints, a->n = p->n_ints; break;
    case ONNX_STRINGS: a->u.texts = p->strings, a->n = p->n_strings; break;
    case ONNX_TENSORS: a->u.tensors = p->tensors, a->n = p->n_tensors; break;
    case ONNX_GRAPHS: a->u.graphs = p->graphs, a->n = p->n_graphs; break;
    case ONNX_SPARSES: a->u.sparses = p->sparse_tensors, a->n = p->n_sparse_tensors; break;
    case ONNX_TYPES: a->u.types = p->type_protos, a->n = p->n_type_protos; break;
    }
}

static bool attribute_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    struct attribute_parts *p = scratch;
    onnx_attribute *a = result;
    a->name = p->name;
    a->refers = p->refers[0] ? p->refers : NULL;
    if (!p->name[0])
        return reader_fail(r, IG_ERR_FORMAT, "it has no name");
    if (a->refers) {
        a->kind = (onnx_attribute_kind)p->type;
        return (p->type > 0 && p->type < COUNT(kind_fields)) ||
               reader_fail(r, IG_ERR_FORMAT, "its type %" PRId64 " is unknown", p->type);
    }
    const int kind = attribute_kind(r, seen, p);
    if (!kind)
        return false;
    a->kind = (onnx_attribute_kind)kind;
    const bool message =
        kind == ONNX_TENSOR || kind == ONNX_GRAPH || kind == ONNX_SPARSE || kind == ONNX_TYPE;
    if (message && !SEEN(seen, kind_fields[kind]))
        return reader_fail(r, IG_ERR_FORMAT, "it has no value");
    if (kind == ONNX_GRAPH) {
        if (!(p->graphs = onnx_arena_new(r->arena, 1, sizeof *p->graphs)))
            return false;
        p->graphs[0] = p->g;
    }
    attribute_value(p, a);
    return true;
}

static const message_rule attribute_rule = {
    OF(onnx_attribute, attribute_fields),      .shown = "attribute",      .least = 3, .name = 1,
    .scratch = sizeof(struct attribute_parts), .finish = attribute_finish};

static bool node_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)seen, (void)scratch;
    onnx_node *node = result;
    node->domain = domain_short(node->domain);
    if (!node->op[0])
        return reader_fail(r, IG_ERR_FORMAT, "it has no op");
    for (int i = 0; i < node->n_attributes; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(node->attributes[i].name, node->attributes[k].name) == 0)
                return reader_fail(r, IG_ERR_FORMAT, "attribute '%.80s' is given twice",
                                   node->attributes[i].name);
    return true;
}

static const field_rule node_fields[] = {
    LIST(1, FIELD_TEXT, onnx_node, inputs, n_in),
    LIST(2, FIELD_TEXT, onnx_node, outputs, n_out),
    ONE(3, FIELD_TEXT, onnx_node, name),
    ONE(4, FIELD_TEXT, onnx_node, op),
    SUBS(5, onnx_node, attributes, n_attributes, &attribute_rule),
    ONE(7, FIELD_TEXT, onnx_node, domain),
    ONE(8, FIELD_TEXT, onnx_node, overload)};
static const message_rule node_rule = {
    OF(onnx_node, node_fields), .shown = "node", .least = 3, .name = 3, .detail = 4,
    .finish = node_finish};

/* ---- graphs, functions, models -------------------------------------------------------------- */

static bool graph_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)r, (void)seen, (void)scratch;
    onnx_graph *g = result;
    for (int i = 0; i < g->n_nodes; i++)
        g->nodes[i].number = i;
    return true;
}

static const field_rule graph_fields[] = {
    SUBS(1, onnx_graph, nodes, n_nodes, &node_rule),
    ONE(2, FIELD_TEXT, onnx_graph, name),
    SUBS(5, onnx_graph, tensors, n_tensors, &onnx_tensor_rule),
    SUBS(11, onnx_graph, inputs, n_inputs, &onnx_info_rule),
    SUBS(12, onnx_graph, outputs, n_outputs, &onnx_info_rule),
    SUBS(13, onnx_graph, others, n_others, &onnx_info_rule),
    SUBS(15, onnx_graph, sparses, n_sparses, &onnx_sparse_rule)};
static const message_rule graph_rule = {OF(onnx_graph, graph_fields), .finish = graph_finish};

/* A FunctionProto. */
struct function_parts {
    onnx_function function;
    const char **inputs, **outputs;
    int n_inputs, n_outputs;
};

/* Values that have only names. */
static bool names_infos(reader *r, const char **names, int n, onnx_value_info **infos, int *n_infos)
{
    *n_infos = n;
    *infos = onnx_arena_new(r->arena, (size_t)n, sizeof **infos);
    for (int i = 0; *infos && i < n; i++)
        (*infos)[i] = (onnx_value_info){names[i], {.shape = {.ndim = -1}}};
    return *infos != NULL;
}

static bool function_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    const struct function_parts *p = scratch;
    onnx_function *f = result;
    *f = p->function;
    f->domain = domain_short(f->domain);
    f->body.name = f->name;
    if (!f->name[0])
        return reader_fail(r, IG_ERR_FORMAT, "it has no name");
    return names_infos(r, p->inputs, p->n_inputs, &f->body.inputs, &f->body.n_inputs) &&
           names_infos(r, p->outputs, p->n_outputs, &f->body.outputs, &f->body.n_outputs) &&
           graph_finish(r, seen, NULL, &f->body);
}

static const field_rule function_fields[] = {
    ONE(1, FIELD_TEXT, struct function_parts, function.name),
    LIST(4, FIELD_TEXT, struct function_parts, inputs, n_inputs),
    LIST(5, FIELD_TEXT, struct function_parts, outputs, n_outputs),
    LIST(6, FIELD_TEXT, struct function_parts, function.attributes, function.n_attributes),
    SUBS(7, struct function_parts, function.body.nodes, function.body.n_nodes, &node_rule),
    SUBS(9, struct function_parts, function.opsets, function.n_opsets, &opset_rule),
    ONE(10, FIELD_TEXT, struct function_parts, function.domain),
    SUBS(11, struct function_parts, function.defaults, function.n_defaults, &attribute_rule),
    SUBS(12, struct function_parts, function.body.others, function.body.n_others, &onnx_info_rule),
    ONE(13, FIELD_TEXT, struct function_parts, function.overload)};
static const message_rule function_rule = {
    OF(onnx_function, function_fields),       .shown = "function",      .least = 3, .name = 1,
    .scratch = sizeof(struct function_parts), .finish = function_finish};

static bool model_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)scratch, (void)result;
    if (!SEEN(seen, 7))
        return reader_fail(r, IG_ERR_FORMAT, "it has no graph: it is not an ONNX model");
    return true;
}

static const field_rule model_fields[] = {
    ONE(1, FIELD_INT, onnx_model, ir_version),
    ONE(2, FIELD_TEXT, onnx_model, producer),
    ONE(3, FIELD_TEXT, onnx_model, producer_version),
    ONE(4, FIELD_TEXT, onnx_model, domain),
    ONE(6, FIELD_TEXT, onnx_model, doc),
    SUB(7, onnx_model, graph, &graph_rule),
    SUBS(8, onnx_model, opsets, n_opsets, &opset_rule),
    SUBS(14, onnx_model, metadata, n_metadata, &onnx_pair_rule),
    SUBS(25, onnx_model, functions, n_functions, &function_rule)};
static const message_rule model_rule = {OF(onnx_model, model_fields), .finish = model_finish};

_Static_assert(sizeof(struct attribute_parts) <= MESSAGE_SCRATCH, "scratch");
_Static_assert(sizeof(struct function_parts) <= MESSAGE_SCRATCH, "scratch");

bool onnx_read_model(onnx_arena *a, onnx_bytes in, const char *shown, onnx_model *model)
{
    reader r = {.arena = a, .shown = shown};
    return message_read(&r, &model_rule, in, model);
}
