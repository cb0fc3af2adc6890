/* Loads models and single values, and answers questions about their inputs, outputs and weights. */
#include "lib/onnx/read.h"
#include "lib/onnx/session.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "lib/io/file.h"

#include <string.h>

/* ---- external data is looked at before anything runs ------------------------------------------ */

static bool graph_files(onnx_files *files, const onnx_graph *g);

static bool tensor_files(onnx_files *files, const onnx_tensor *t)
{
    onnx_file *file;
    return !t->external.location || onnx_tensor_external(t, files, &file) == IG_OK;
}

static bool sparse_files(onnx_files *files, const onnx_sparse *s)
{
    return tensor_files(files, &s->values) && tensor_files(files, &s->indices);
}

static bool attribute_files(onnx_files *files, const onnx_attribute *a)
{
    bool ok = true;
    for (int i = 0; ok && !a->refers && i < a->n; i++)
        if (a->kind == ONNX_TENSOR || a->kind == ONNX_TENSORS)
            ok = tensor_files(files, &a->u.tensors[i]);
        else if (a->kind == ONNX_SPARSE || a->kind == ONNX_SPARSES)
            ok = sparse_files(files, &a->u.sparses[i]);
        else if (a->kind == ONNX_GRAPH || a->kind == ONNX_GRAPHS)
            ok = graph_files(files, a->u.graphs[i]);
        else
            break;
    return ok;
}

static bool graph_files(onnx_files *files, const onnx_graph *g)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (!tensor_files(files, &g->tensors[i]))
            return false;
    for (int i = 0; i < g->n_sparses; i++)
        if (!sparse_files(files, &g->sparses[i]))
            return false;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i].n_attributes; k++)
            if (!attribute_files(files, &g->nodes[i].attributes[k]))
                return false;
    return true;
}

/* ---- models --------------------------------------------------------------------------------- */

static int weights_count(const onnx_model *m) { return m->graph.n_tensors + m->graph.n_sparses; }

/* Takes the file. */
static bool model_open(ig_onnx *m, onnx_file *file, const char *shown)
{
    if (!file)
        return false;
    m->files.first = file;
    const onnx_bytes in = {file->at, file->bytes};
    if (!onnx_read_model(&m->arena, in, shown, &m->model) ||
        !onnx_check(&m->arena, shown, &m->model))
        return false;
    m->weights = memory_new((size_t)weights_count(&m->model) * sizeof *m->weights);
    m->replaced = memory_new((size_t)weights_count(&m->model) * sizeof *m->replaced);
    if (!m->weights || !m->replaced || !graph_files(&m->files, &m->model.graph))
        return false;
    for (int i = 0; i < m->model.n_functions; i++)
        if (!graph_files(&m->files, &m->model.functions[i].body))
            return false;
    return true;
}

ig_onnx *ig_onnx_load(const char *path)
{
    char shown[IO_SHOWN_BYTES];
    if (require_pointer("ig_onnx_load", "path", path) != IG_OK)
        return NULL;
    io_show(path, shown);
    ig_onnx *m = memory_new(sizeof *m);
    if (m && onnx_files_folder(&m->files, path) == IG_OK &&
        model_open(m, onnx_file_map(path), shown))
        return m;
    ig_onnx_free(m);
    return NULL;
}

ig_onnx *ig_onnx_from_memory(const void *bytes, size_t n, const char *folder)
{
    if (n && require_pointer("ig_onnx_from_memory", "bytes", bytes) != IG_OK)
        return NULL;
    ig_onnx *m = memory_new(sizeof *m);
    if (m && folder)
        m->files.folder = memory_text(folder);
    if (m && (!folder || m->files.folder) && model_open(m, onnx_file_copy(bytes, n), "memory"))
        return m;
    ig_onnx_free(m);
    return NULL;
}

void ig_onnx_free(ig_onnx *m)
{
    if (!m)
        return;
    if (m->plans_free)
        m->plans_free(m->plans);
    for (int i = 0; m->weights && i < weights_count(&m->model); i++)
        ig_onnx_value_release(m->weights[i]);
    memory_free(m->weights);
    memory_free(m->replaced);
    memory_free(m->layers);
    onnx_uses_free(m->uses);
    onnx_files_close(&m->files);
    onnx_arena_free(&m->arena);
    memory_free(m);
}

/* ---- inputs and outputs --------------------------------------------------------------------- */

int ig_onnx_input_count(const ig_onnx *m) { return m ? m->model.graph.n_given : 0; }
int ig_onnx_output_count(const ig_onnx *m) { return m ? m->model.graph.n_outputs : 0; }

static ig_status info_write(const onnx_value_info *v, ig_onnx_info *info)
{
    const onnx_type *type = &v->type, *element = type;
    while (element->item)
        element = element->item;
    const ig_onnx_info here = {.size = sizeof here,
                               .name = v->name,
                               .kind = type->kind,
                               .optional = type->optional,
                               .type = element->element,
                               .ndim = type->shape.ndim,
                               .dims = type->shape.dims,
                               .names = type->shape.names};
    return sized_write(SIZED(ig_onnx_info, names), info, &here);
}

ig_status ig_onnx_input(const ig_onnx *m, int i, ig_onnx_info *info)
{
    TRY(require_pointer("ig_onnx_input", "m", m));
    TRY(require_pointer("ig_onnx_input", "info", info));
    if (i < 0 || i >= ig_onnx_input_count(m))
        FAIL(IG_ERR_INDEX, "ig_onnx_input: the model has %d inputs; there is no input %d",
             ig_onnx_input_count(m), i);
    return info_write(&m->model.graph.inputs[i], info);
}

ig_status ig_onnx_output(const ig_onnx *m, int i, ig_onnx_info *info)
{
    TRY(require_pointer("ig_onnx_output", "m", m));
    TRY(require_pointer("ig_onnx_output", "info", info));
    if (i < 0 || i >= ig_onnx_output_count(m))
        FAIL(IG_ERR_INDEX, "ig_onnx_output: the model has %d outputs; there is no output %d",
             ig_onnx_output_count(m), i);
    return info_write(&m->model.graph.outputs[i], info);
}

/* ---- weights -------------------------------------------------------------------------------- */

int ig_onnx_weight_count(const ig_onnx *m) { return m ? weights_count(&m->model) : 0; }

const char *ig_onnx_weight_name(const ig_onnx *m, int i)
{
    if (i < 0 || i >= ig_onnx_weight_count(m))
        return NULL;
    const onnx_graph *g = &m->model.graph;
    return i < g->n_tensors ? g->tensors[i].name : g->sparses[i - g->n_tensors].values.name;
}

ig_onnx_value *onnx_weight(ig_onnx *m, int i)
{
    onnx_graph *g = &m->model.graph;
    if (!m->weights[i])
        m->weights[i] = i < g->n_tensors
                            ? value_of_tensor(&g->tensors[i], &m->files)
                            : value_of_sparse(&g->sparses[i - g->n_tensors], &m->files);
    return m->weights[i];
}

static ig_status weight_check(const char *function, const ig_onnx *m, int i)
{
    TRY(require_pointer(function, "m", m));
    if (i < 0 || i >= ig_onnx_weight_count(m))
        FAIL(IG_ERR_INDEX, "%s: the model has %d weights; there is no weight %d", function,
             ig_onnx_weight_count(m), i);
    return IG_OK;
}

ig_array *ig_onnx_weight(ig_onnx *m, int i)
{
    if (weight_check("ig_onnx_weight", m, i) != IG_OK)
        return NULL;
    ig_onnx_value *v = onnx_weight(m, i);
    if (v && v->kind != IG_ONNX_TENSOR)
        FAIL_NULL(IG_ERR_DTYPE, "ig_onnx_weight: weight %d has strings", i);
    return v ? v->array : NULL;
}

ig_status onnx_weight_put(ig_onnx *m, int i, ig_array *x)
{
    ig_onnx_value *v = value_array(x, m->weights[i]->type);
    if (!v)
        return error_waiting(IG_ERR_MEMORY);
    ig_onnx_value_release(m->weights[i]);
    m->weights[i] = v;
    m->replaced[i] = true;
    if (m->plans_free) {
        m->plans_free(m->plans);
        m->plans = NULL;
    }
    return IG_OK;
}

ig_status ig_onnx_set_weight(ig_onnx *m, int i, ig_array *x)
{
    TRY(weight_check("ig_onnx_set_weight", m, i));
    ig_array *old = ig_onnx_weight(m, i);
    if (!old || !x)
        return old ? ig_fail(IG_ERR_ARGUMENT, "ig_onnx_set_weight: x is NULL")
                   : error_waiting(IG_ERR_ARGUMENT);
    const ig_ints was = ig_shape(old), is = ig_shape(x);
    if (ig_dtype_of(old) != ig_dtype_of(x) || was.n != is.n ||
        (is.n && memcmp(was.v, is.v, (size_t)is.n * sizeof *is.v) != 0))
        FAIL(IG_ERR_SHAPE, "ig_onnx_set_weight: '%.80s' has another shape or dtype",
             ig_onnx_weight_name(m, i));
    return onnx_weight_put(m, i, x);
}

/* ---- values in files ------------------------------------------------------------------------ */

static ig_onnx_value *saved_value(const onnx_saved *s);

/* A sequence of numbers of one type as one tensor, or of strings; NULL if it is not such a sequence. */
static ig_onnx_value *sequence_joined(const ig_onnx_value *v)
{
    const ig_onnx_value *first = v->n ? v->items[0] : NULL;
    bool alike = first && (first->kind == IG_ONNX_TENSOR || first->kind == IG_ONNX_TEXTS);
    for (int i = 0; i < v->n && alike; i++)
        alike = v->items[i]->kind == first->kind && v->items[i]->type == first->type &&
                (first->array ? ig_size(v->items[i]->array) : value_elements(v->items[i])) == 1;
    void **parts = alike ? memory_new((size_t)v->n * sizeof(onnx_bytes)) : NULL;
    ig_onnx_value *joined = NULL;
    if (!parts || ig_scope_begin() != IG_OK) {
        memory_free(parts);
        return NULL;
    }
    for (int i = 0; i < v->n; i++)
        if (first->array)
            parts[i] = ig_reshape(v->items[i]->array, IG_SCALAR);
        else
            ((onnx_bytes *)parts)[i] = v->items[i]->texts[0];
    if (first->array) {
        ig_array *all = ig_stack((ig_array **)parts, v->n, 0);
        joined = all && ig_eval(&all, 1) == IG_OK ? value_array(all, first->type) : NULL;
    } else {
        joined = value_texts((onnx_bytes *)parts, IG_SHAPE(v->n));
    }
    ig_scope_end();
    memory_free(parts);
    return joined;
}

static ig_onnx_value *saved_list(const onnx_saved *s)
{
    ig_onnx_value **items = memory_new((size_t)s->n * sizeof *items), *v = NULL;
    int n = 0;
    while (items && n < s->n && (items[n] = saved_value(&s->items[n])))
        n++;
    ig_onnx_value *values =
        s->kind == IG_ONNX_MAP && items && n == 2 ? sequence_joined(items[1]) : NULL;
    if (values) {
        ig_onnx_value_release(items[1]);
        items[1] = values;
    }
    if (items && n == s->n)
        v = value_list(s->kind, items, n);
    else
        while (n > 0)
            ig_onnx_value_release(items[--n]);
    memory_free(items);
    return v;
}

static ig_onnx_value *saved_value(const onnx_saved *s)
{
    switch (s->kind) {
    case IG_ONNX_TENSOR:
    case IG_ONNX_TEXTS:
        return s->sparse ? value_of_sparse(s->sparse, NULL) : value_of_tensor(s->tensor, NULL);
    case IG_ONNX_SEQUENCE:
    case IG_ONNX_MAP: return saved_list(s);
    case IG_ONNX_NOTHING: break;
    }
    return value_nothing(s->type);
}

static ig_onnx_value *npy_value(const char *path)
{
    ig_array *x = ig_scope_forget(ig_load(path));
    ig_onnx_value *v = x ? ig_onnx_value_array(x) : NULL;
    ig_release(x);
    return v;
}

ig_onnx_value *ig_onnx_value_load(const char *path, const ig_onnx_info *like)
{
    char shown[IO_SHOWN_BYTES];
    if (require_pointer("ig_onnx_value_load", "path", path) != IG_OK)
        return NULL;
    const size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".npy") == 0)
        return npy_value(path);
    io_show(path, shown);
    onnx_file *file = onnx_file_map(path);
    if (!file)
        return NULL;
    onnx_arena arena = {0};
    onnx_saved saved = {0};
    const onnx_bytes in = {file->at, file->bytes};
    ig_onnx_value *v = NULL;
    if (onnx_read_saved(&arena, in, shown, like ? like->kind : IG_ONNX_TENSOR,
                        like && like->optional, &saved))
        v = saved_value(&saved);
    onnx_arena_free(&arena);
    onnx_file_release(file);
    return v;
}
