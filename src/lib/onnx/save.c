/* Writes a loaded model again: ig_onnx_save.
 *
 * The messages of the file are copied byte by byte, so that nothing is lost that the reader does not keep. Only tensors whose
 * elements come from elsewhere are written anew: weights that were replaced, and external data. */
#include "lib/onnx/fields.h"
#include "lib/onnx/session.h"
#include "lib/onnx/store.h"
#include "lib/onnx/types.h"
#include "lib/onnx/wire.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <string.h>

typedef struct saver {
    ig_onnx *m;
    onnx_store store;
    onnx_writer w;
    int tensors, outputs; /* of the graph, written so far */
    ig_status status;
} saver;

static void field_copy(onnx_writer *w, const wire_field *f)
{
    switch (f->type) {
    case WIRE_VARINT: onnx_write_int(w, (int)f->number, (int64_t)f->value); return;
    case WIRE_BYTES: onnx_write_bytes(w, (int)f->number, f->bytes.at, f->bytes.n); return;
    case WIRE_FIXED32: onnx_write_fixed(w, (int)f->number, f->bytes.at, 4); return;
    case WIRE_FIXED64: onnx_write_fixed(w, (int)f->number, f->bytes.at, 8); return;
    }
}

/* ---- tensors -------------------------------------------------------------------------------- */

static bool array_store(saver *s, const onnx_tensor *t, ig_array *x)
{
    const stored_tensor out = {.name = t->name,
                               .type = t->type,
                               .shape = ig_shape(x),
                               .at = ig_data(x),
                               .bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x)),
                               .swap = io_swap_bytes(ig_dtype_of(x))};
    if (!out.at)
        s->status = error_waiting(IG_ERR_MEMORY);
    else
        store_tensor(&s->store, &s->w, GRAPH_TENSOR, &out);
    return out.at != NULL;
}

/* Raw elements of the file, which are little-endian: they are copied as bytes. */
static bool raw_store(saver *s, const onnx_tensor *t)
{
    onnx_bytes raw = t->raw;
    onnx_file *file;
    if (t->external.location) {
        s->status = onnx_tensor_external(t, &s->m->files, &file);
        if (s->status != IG_OK)
            return false;
        raw.at = file->at + t->external.offset;
        raw.n = ((size_t)t->elements * (size_t)onnx_type_bits(t->type) + 7) / 8;
    }
    const stored_tensor out = {.name = t->name,
                               .type = t->type,
                               .shape = t->shape,
                               .at = raw.at,
                               .bytes = raw.n,
                               .swap = 1};
    store_tensor(&s->store, &s->w, GRAPH_TENSOR, &out);
    return true;
}

/* The next initializer of the graph. */
static bool tensor_save(saver *s, const wire_field *f)
{
    const int i = s->tensors++;
    const onnx_tensor *t = &s->m->model.graph.tensors[i];
    const bool outside = s->store.least >= 0 && t->raw.n && t->raw.n >= (uint64_t)s->store.least;
    if (s->m->replaced[i])
        return array_store(s, t, s->m->weights[i]->array);
    if (t->external.location || outside)
        return raw_store(s, t);
    field_copy(&s->w, f);
    return true;
}

/* ---- the graph ------------------------------------------------------------------------------ */

static void output_save(saver *s, const wire_field *f)
{
    const onnx_value_info *v = &s->m->model.graph.outputs[s->outputs++];
    const onnx_type *t = &v->type;
    if (!s->m->resized || t->kind != IG_ONNX_TENSOR || t->optional || t->shape.ndim < 0)
        field_copy(&s->w, f);
    else
        store_info(&s->w, GRAPH_OUTPUT, v->name, t->element,
                   (ig_ints){t->shape.dims, t->shape.ndim}, t->shape.names);
}

/* In old models, weights are also inputs, whose shapes the file states. */
static void input_save(saver *s, const wire_field *f)
{
    wire in = wire_open(f->bytes);
    wire_field part;
    onnx_bytes name = {0};
    while (wire_next(&in, &part))
        if (part.number == INFO_NAME)
            name = part.bytes;
    const onnx_graph *g = &s->m->model.graph;
    for (int i = 0; i < g->n_tensors && s->m->resized; i++) {
        const onnx_tensor *t = &g->tensors[i];
        if (s->m->replaced[i] && strlen(t->name) == name.n && !memcmp(t->name, name.at, name.n)) {
            store_info(&s->w, GRAPH_INPUT, t->name, t->type, t->shape, NULL);
            return;
        }
    }
    field_copy(&s->w, f);
}

static bool graph_save(saver *s, onnx_bytes graph)
{
    wire in = wire_open(graph);
    wire_field f;
    const size_t begin = onnx_write_begin(&s->w, MODEL_GRAPH);
    while (wire_next(&in, &f)) {
        if (f.number == GRAPH_TENSOR) {
            if (!tensor_save(s, &f))
                return false;
        } else if (f.number == GRAPH_OUTPUT) {
            output_save(s, &f);
        } else if (f.number == GRAPH_INPUT) {
            input_save(s, &f);
        } else if (f.number != GRAPH_VALUE || !s->m->resized) { /* value_info states shapes */
            field_copy(&s->w, &f);
        }
    }
    onnx_write_end(&s->w, begin);
    return true;
}

static ig_status model_save(saver *s)
{
    const onnx_file *file = s->m->files.first;
    while (file->path) /* the model itself is the one without a name */
        file = file->next;
    wire in = wire_open((onnx_bytes){file->at, file->bytes});
    wire_field f;
    while (wire_next(&in, &f))
        if (f.number != MODEL_GRAPH)
            field_copy(&s->w, &f);
        else if (!graph_save(s, f.bytes))
            return s->status;
    return IG_OK;
}

/* ---- what cannot be written ----------------------------------------------------------------- */

/* External data of tensors that are not weights stays where it is, and another folder has none of it. */
static ig_status attributes_check(const onnx_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i].n_attributes; k++) {
            const onnx_attribute *a = &g->nodes[i].attributes[k];
            if (a->kind == ONNX_TENSOR && !a->refers && a->u.tensors->external.location)
                FAIL(IG_ERR_UNSUPPORTED,
                     "ig_onnx_save: the attribute '%.100s' of node '%.100s' is external data, "
                     "which only weights may be",
                     a->name, g->nodes[i].name);
            if (a->kind == ONNX_GRAPH && !a->refers) {
                const onnx_graph *inner = a->u.graphs[0];
                for (int t = 0; t < inner->n_tensors; t++)
                    if (inner->tensors[t].external.location)
                        FAIL(IG_ERR_UNSUPPORTED,
                             "ig_onnx_save: tensor '%.100s' of a subgraph is external data, which "
                             "only weights of the model's graph may be",
                             inner->tensors[t].name);
                TRY(attributes_check(inner));
            }
        }
    return IG_OK;
}

static uint64_t all_bytes(ig_onnx *m)
{
    uint64_t bytes = 0;
    for (const onnx_file *f = m->files.first; f; f = f->next)
        bytes += f->bytes;
    for (int i = 0; i < ig_onnx_weight_count(m); i++)
        if (m->replaced[i])
            bytes += (uint64_t)ig_size(m->weights[i]->array) *
                     ig_dtype_bytes(ig_dtype_of(m->weights[i]->array));
    return bytes;
}

ig_status ig_onnx_save(ig_onnx *m, const char *path, int64_t external)
{
    TRY(require_pointer("ig_onnx_save", "m", m));
    TRY(require_pointer("ig_onnx_save", "path", path));
    const onnx_graph *g = &m->model.graph;
    for (int i = 0; i < ig_onnx_weight_count(m); i++)
        if (m->replaced[i] && (i >= g->n_tensors || g->tensors[i].type >= IG_ONNX_FLOAT8E4M3FN))
            FAIL(
                IG_ERR_UNSUPPORTED,
                "ig_onnx_save: '%.100s' was replaced; a sparse tensor and one of less than 16 bits "
                "cannot be written",
                ig_onnx_weight_name(m, i));
    TRY(attributes_check(g));
    saver s = {.m = m};
    ig_status status = store_open(&s.store, path, external < 0 ? -1 : external, all_bytes(m))
                           ? model_save(&s)
                           : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = store_write(&s.store, &s.w, path);
    store_close(&s.store);
    onnx_writer_free(&s.w);
    return status;
}
