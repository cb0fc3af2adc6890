/* A node as its op sees it: inputs, attributes and results. See op.h. */
#include "lib/onnx/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors and memory ---------------------------------------------------------------------- */

void call_fail(onnx_call *c, ig_status code, const char *where, const char *format, ...)
{
    char why[600];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (ig_failed() && c->failed)
        return;
    c->failed = true;
    ig_fail(code, "onnx: node %d '%.100s' (%.80s)%s%.100s: %s", c->node->number, c->node->name,
            c->node->op, where ? ", " : "", where ? where : "", why);
}

typedef struct room {
    struct room *next;
    int64_t at[];
} room;

static void *room_get(onnx_call *c, size_t bytes)
{
    room *r = memory_new(sizeof *r + bytes + sizeof(int64_t));
    if (!r)
        return NULL;
    r->next = c->rooms;
    c->rooms = r;
    return r->at;
}

int64_t *call_room(onnx_call *c, int n) { return room_get(c, (size_t)n * sizeof(int64_t)); }

void call_free(onnx_call *c)
{
    while (c->rooms) {
        room *next = c->rooms->next;
        memory_free(c->rooms);
        c->rooms = next;
    }
}

/* ---- inputs --------------------------------------------------------------------------------- */

int call_inputs(const onnx_call *c) { return c->node->n_in; }

int call_outputs(const onnx_call *c) { return c->node->n_out; }

int64_t call_version(const onnx_call *c) { return c->version; }

const onnx_op *call_row(const onnx_call *c) { return c->op; }

/* The value in the slot of input i, which may be an empty optional value. */
static ig_onnx_value *input_value(const onnx_call *c, int i)
{
    const int slot = i >= 0 && i < c->node->n_in ? c->node->in_slots[i] : -1;
    return slot < 0 ? NULL : c->frame->slots[slot];
}

bool call_has(const onnx_call *c, int i)
{
    return ig_onnx_value_kind(input_value(c, i)) != IG_ONNX_NOTHING;
}

bool call_wants(const onnx_call *c, int i)
{
    return i >= 0 && i < c->node->n_out && c->node->out_slots[i] >= 0;
}

ig_onnx_value *call_value(onnx_call *c, int i)
{
    ig_onnx_value *v = input_value(c, i);
    if (v)
        c->varies |= v->varies;
    return v;
}

ig_onnx_value *call_named(onnx_call *c, const char *name)
{
    const onnx_graph *g = c->frame->graph;
    for (int i = 0; i < g->n_slots; i++)
        if (strcmp(g->slot_names[i], name) == 0) {
            ig_onnx_value *v = c->frame->slots[i];
            c->varies |= v && v->varies;
            return v;
        }
    return NULL;
}

/* "input 1 'shape'" */
static const char *input_text(const onnx_call *c, int i, char text[160])
{
    snprintf(text, 160, "input %d '%.100s'", i, i < c->node->n_in ? c->node->inputs[i] : "");
    return text;
}

static ig_onnx_value *input_tensor(onnx_call *c, int i)
{
    static const char *const kinds[] = {"not given", "a tensor", "a tensor of strings",
                                        "a sequence", "a map"};
    char where[160];
    ig_onnx_value *v = input_value(c, i);
    const ig_onnx_kind kind = ig_onnx_value_kind(v);
    if (kind == IG_ONNX_TENSOR)
        return v;
    call_fail(c, kind == IG_ONNX_NOTHING ? IG_ERR_ARGUMENT : IG_ERR_DTYPE, input_text(c, i, where),
              kind == IG_ONNX_NOTHING ? "it is %s" : "it is %s, not a tensor of numbers",
              kinds[kind]);
    return NULL;
}

ig_array *call_array(onnx_call *c, int i)
{
    ig_onnx_value *v = input_tensor(c, i);
    if (!v)
        return NULL;
    c->varies |= v->varies;
    return value_on(v, c->device, !c->frame->run->lazy);
}

ig_array *call_array_or_null(onnx_call *c, int i)
{
    return call_has(c, i) ? call_array(c, i) : NULL;
}

ig_ints call_shape(onnx_call *c, int i)
{
    ig_onnx_value *v = input_value(c, i);
    if (ig_onnx_value_kind(v) == IG_ONNX_TEXTS)
        return ig_onnx_value_shape(v);
    v = input_tensor(c, i);
    return v ? ig_shape(v->array) : IG_SCALAR;
}

ig_onnx_type call_type(onnx_call *c, int i) { return ig_onnx_value_type(input_value(c, i)); }

/* The elements of x as another dtype. The CPU converts them, because devices may lack f64. */
static const void *read_as(ig_array *x, ig_dtype dtype)
{
    char device[RUN_DEVICE];
    snprintf(device, sizeof device, "%s", ig_device());
    if (ig_set_device("cpu") != IG_OK)
        return NULL;
    const void *data = ig_data(ig_astype(ig_to_device(x, "cpu"), dtype));
    ig_set_device(device);
    return data;
}

const void *call_read_array(onnx_call *c, ig_array *x, ig_dtype dtype)
{
    const void *data = ig_dtype_of(x) == dtype ? ig_data(x) : read_as(x, dtype);
    if (!data && !ig_failed())
        call_fail(c, IG_ERR_MEMORY, NULL, "a value cannot be read");
    return data;
}

const void *call_read(onnx_call *c, int i, ig_dtype dtype)
{
    ig_onnx_value *v = input_tensor(c, i);
    return v ? call_read_array(c, v->array, dtype) : NULL;
}

/* The same for integers, which must be integers. */
static const int64_t *read_ints(onnx_call *c, int i)
{
    char where[160];
    ig_onnx_value *v = input_tensor(c, i);
    if (v && !ig_isdtype(ig_dtype_of(v->array), "integral"))
        call_fail(c, IG_ERR_DTYPE, input_text(c, i, where), "it is %s, not an integer",
                  ig_onnx_type_name(v->type));
    return ig_failed() ? NULL : call_read(c, i, IG_I64);
}

ig_ints call_ints(onnx_call *c, int i)
{
    char where[160];
    const int64_t *data = read_ints(c, i);
    const int64_t n = data ? ig_size(input_value(c, i)->array) : 0;
    int64_t *list = data && n < INT32_MAX / 8 ? call_room(c, (int)n) : NULL;
    if (!list)
        return IG_SCALAR;
    if (ig_ndim(input_value(c, i)->array) > 1) {
        call_fail(c, IG_ERR_SHAPE, input_text(c, i, where), "it must have at most one axis");
        return IG_SCALAR;
    }
    memcpy(list, data, (size_t)n * sizeof *list);
    return (ig_ints){list, (int)n};
}

/* The single element of input i; NULL after an error. */
static const void *input_one(onnx_call *c, int i, ig_dtype dtype)
{
    char where[160];
    const void *data = dtype == IG_I64 ? read_ints(c, i) : call_read(c, i, dtype);
    const int64_t n = data ? ig_size(input_value(c, i)->array) : 0;
    if (data && n != 1) {
        call_fail(c, IG_ERR_SHAPE, input_text(c, i, where), "it has %lld elements, not 1",
                  (long long)n);
        return NULL;
    }
    return data;
}

int64_t call_int(onnx_call *c, int i, int64_t otherwise)
{
    const int64_t *x = call_has(c, i) ? input_one(c, i, IG_I64) : &otherwise;
    return x ? *x : 0;
}

double call_float(onnx_call *c, int i, double otherwise)
{
    const double *x = call_has(c, i) ? input_one(c, i, IG_F64) : &otherwise;
    return x ? *x : 0;
}

bool call_bool(onnx_call *c, int i, bool otherwise)
{
    const bool *x = call_has(c, i) ? input_one(c, i, IG_BOOL) : &otherwise;
    return x ? *x : false;
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* The attribute of this name, which counts as looked at; NULL if it is absent. */
static const onnx_attribute *attribute_get(onnx_call *c, const char *name)
{
    for (int i = 0; i < c->node->n_attributes; i++)
        if (strcmp(c->node->attributes[i].name, name) == 0)
            c->asked |= UINT64_C(1) << (i < 63 ? i : 63);
    return frame_attribute(c->frame, c->node, name);
}

/* The same, of a kind. */
static const onnx_attribute *attribute_of(onnx_call *c, const char *name, onnx_attribute_kind kind)
{
    static const char *const kinds[] = {
        [ONNX_FLOAT] = "a float",   [ONNX_INT] = "an integer",  [ONNX_STRING] = "a string",
        [ONNX_TENSOR] = "a tensor", [ONNX_GRAPH] = "a graph",   [ONNX_FLOATS] = "floats",
        [ONNX_INTS] = "integers",   [ONNX_STRINGS] = "strings", [ONNX_TENSORS] = "tensors",
        [ONNX_GRAPHS] = "graphs",   [ONNX_SPARSE] = "sparse",   [ONNX_SPARSES] = "a list of sparse",
        [ONNX_TYPE] = "a type",     [ONNX_TYPES] = "types"};
    const onnx_attribute *a = attribute_get(c, name);
    if (!a || a->kind == kind)
        return a;
    char where[160];
    snprintf(where, sizeof where, "attribute '%.100s'", name);
    call_fail(c, IG_ERR_FORMAT, where, "it must be %s", kinds[kind]);
    return NULL;
}

bool call_has_attribute(const onnx_call *c, const char *name)
{
    return attribute_get((onnx_call *)c, name) != NULL;
}

void call_ignore(onnx_call *c, const char *name) { attribute_get(c, name); }

int64_t call_attribute_int(onnx_call *c, const char *name, int64_t otherwise)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_INT);
    return a ? a->u.i : otherwise;
}

double call_attribute_float(onnx_call *c, const char *name, double otherwise)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_FLOAT);
    return a ? (double)a->u.f : otherwise;
}

bool call_attribute_bool(onnx_call *c, const char *name, bool otherwise)
{
    return call_attribute_int(c, name, otherwise) != 0;
}

const char *call_attribute_text(onnx_call *c, const char *name, const char *otherwise)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_STRING);
    if (!a)
        return otherwise;
    char *text = room_get(c, a->u.text.n + 1);
    if (text && a->u.text.n)
        memcpy(text, a->u.text.at, a->u.text.n);
    return text;
}

ig_ints call_attribute_ints(onnx_call *c, const char *name)
{
    static const int64_t none = 0;
    const onnx_attribute *a = attribute_of(c, name, ONNX_INTS);
    return a ? (ig_ints){a->n ? a->u.ints : &none, a->n} : IG_NONE;
}

const float *call_attribute_floats(onnx_call *c, const char *name, int *n)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_FLOATS);
    *n = a ? a->n : 0;
    return a ? a->u.floats : NULL;
}

const onnx_bytes *call_attribute_texts(onnx_call *c, const char *name, int *n)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_STRINGS);
    *n = a ? a->n : 0;
    return a ? a->u.texts : NULL;
}

const onnx_tensor *call_attribute_tensor(onnx_call *c, const char *name)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_TENSOR);
    return a ? a->u.tensors : NULL;
}

ig_onnx_value *call_attribute_value(onnx_call *c, const char *name)
{
    const onnx_tensor *t = call_attribute_tensor(c, name);
    return t ? run_tensor(c->frame->run, t) : NULL;
}

const onnx_sparse *call_attribute_sparse(onnx_call *c, const char *name)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_SPARSE);
    return a ? a->u.sparses : NULL;
}

const onnx_type *call_attribute_typed(onnx_call *c, const char *name)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_TYPE);
    return a ? a->u.types : NULL;
}

onnx_graph *call_attribute_graph(onnx_call *c, const char *name)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_GRAPH);
    if (!a)
        call_fail(c, IG_ERR_FORMAT, NULL, "the attribute '%.100s' is absent", name);
    return a ? a->u.graphs[0] : NULL;
}

ig_onnx_type call_attribute_type(onnx_call *c, const char *name, ig_onnx_type otherwise)
{
    const int64_t type = call_attribute_int(c, name, otherwise);
    if (type >= 0 && type < IG_ONNX_TYPES)
        return (ig_onnx_type)type;
    call_fail(c, IG_ERR_FORMAT, NULL, "the attribute '%.100s' is %lld, which is not a type", name,
              (long long)type);
    return IG_ONNX_UNDEFINED;
}

int call_attribute_choice(onnx_call *c, const char *name, const char *choices)
{
    const onnx_attribute *a = attribute_of(c, name, ONNX_STRING);
    if (!a)
        return 0;
    int i = 0;
    for (const char *at = choices; *at; i++) {
        const size_t n = strcspn(at, "|");
        if (n == a->u.text.n && (n == 0 || memcmp(at, a->u.text.at, n) == 0))
            return i;
        at += n + (at[n] == '|');
    }
    call_fail(c, IG_ERR_UNSUPPORTED, NULL, "the attribute '%.100s' is '%.*s', not one of %s", name,
              (int)(a->u.text.n < 100 ? a->u.text.n : 100), a->u.text.at, choices);
    return 0;
}

/* ---- results -------------------------------------------------------------------------------- */

void call_return_value(onnx_call *c, int i, ig_onnx_value *v)
{
    if (!v || !call_wants(c, i)) {
        ig_onnx_value_release(v);
        return;
    }
    ig_onnx_value_release(c->results[i]);
    c->results[i] = v;
}

void call_return_typed(onnx_call *c, int i, ig_array *x, ig_onnx_type type)
{
    if (call_wants(c, i))
        call_return_value(c, i, value_array(x, type));
}

void call_return(onnx_call *c, int i, ig_array *x)
{
    call_return_typed(c, i, x, onnx_type_of(ig_dtype_of(x)));
}

void call_changes(onnx_call *c) { c->frame->run->changes = true; }

bool call_eager(const onnx_call *c) { return c->frame->run->eager; }

bool call_run(onnx_call *c, onnx_graph *body, ig_onnx_value *const *inputs, int n,
              ig_onnx_value **outputs)
{
    onnx_frame *outer = c->frame;
    if (!body)
        return false;
    while (outer && outer->graph != body->parent)
        outer = outer->outer;
    if (!outer) {
        call_fail(c, IG_ERR_INTERNAL, NULL, "no frame runs the graph around '%.100s'", body->name);
        return false;
    }
    onnx_frame inner = {.run = outer->run,
                        .graph = body,
                        .outer = outer,
                        .home = outer->home,
                        .function = outer->function,
                        .caller = outer->caller,
                        .opsets = outer->opsets,
                        .n_opsets = outer->n_opsets};
    if (n != body->n_given) {
        call_fail(c, IG_ERR_FORMAT, NULL, "the graph '%.100s' has %d inputs, not %d", body->name,
                  body->n_given, n);
        return false;
    }
    c->varies = true; /* its body may read values of enclosing graphs */
    const bool fine = frame_run(&inner, inputs, n, outputs);
    c->failed |= !fine;
    return fine;
}
