/* Kernels in CUDA C. A module is a checked tree and, for each requested device and kernel, the code that
 * was built for it (device.c). Source -> tree (kernel/) -> lane code or text -> device. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/text.h"
#include "compiler/lower/lower.h"
#include "engine/emit/emit.h"
#include "engine/module/device.h"
#include "engine/module/fields.h"
#include "engine/module/module.h"

#include <stdio.h>
#include <string.h>

/* ---- contents ---- */

static ig_dtype dtype_of(const kernel_type *t)
{
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    if (t->kind == TYPE_STRUCT && t->record->n_vector)
        t = t->record->element;
    return type_is_arithmetic(t) ? lower_stored(t) : IG_DTYPE_NONE;
}

static ig_status describe_param(ig_module *m, const kernel_var *v, ig_kernel_param *p)
{
    const bool pointer = v->type->kind == TYPE_POINTER;
    const kernel_type *holds = pointer ? v->type->of : v->type;
    *p = (ig_kernel_param){.name = v->source_name ? v->source_name->text : v->name,
                           .type = type_text(&m->tree->types, v->type),
                           .dtype = dtype_of(holds),
                           .is_pointer = pointer,
                           .is_written = pointer && !(v->type->of->quals & TYPE_CONST),
                           .bytes = (size_t)v->type->size};
    p->holds = module_field_new(&m->tree->types, holds, p->name);
    return p->holds ? IG_OK : IG_ERR_MEMORY;
}

static ig_status describe(ig_module *m)
{
    for (const kernel_entry *e = m->tree->kernels; e; e = e->next)
        m->n_kernels++;
    m->kernels = memory_new((size_t)(m->n_kernels + 1) * sizeof *m->kernels);
    if (!m->kernels)
        return IG_ERR_MEMORY;
    ig_kernel_info *k = m->kernels;
    for (const kernel_entry *e = m->tree->kernels; e; e = e->next, k++) {
        const kernel_function *f = e->function;
        ig_kernel_param *params = memory_new((f->n_params + 1) * sizeof *params);
        *k = (ig_kernel_info){e->name, params, (int)f->n_params, 0};
        if (!params)
            return IG_ERR_MEMORY;
        for (uint32_t i = 0; i < f->n_params; i++) {
            TRY(describe_param(m, f->params[i], &params[i]));
            k->n_written += params[i].is_written;
        }
    }
    return IG_OK;
}

ig_module *module_new(const char *name, const char *source, const kernel_parse_options *options,
                      char **said)
{
    *said = NULL;
    ig_module *m = memory_new(sizeof *m);
    if (!m)
        return NULL;
    pthread_mutex_init(&m->lock, NULL);
    const bool failed_before = ig_failed();
    ig_status status = kernel_parse(name, source, options, &m->tree, said);
    if (status == IG_ERR_FORMAT && *said) {
        ig_error(NULL); /* it has only the first line; said has all */
        ig_fail(IG_ERR_FORMAT, "%s", *said);
    }
    if (status == IG_OK)
        status = describe(m);
    if (status == IG_OK &&
        (failed_before || !ig_failed())) /* names for messages may run out of memory, too */
        return m;
    ig_module_free(m);
    return NULL;
}

void module_whole_warps(ig_module *m) { m->whole_warps = true; }

ig_module *module_open(const char *name, const char *source, const ig_module_options *o,
                       bool is_library)
{
    kernel_parse_options options = {0};
    ig_module_options own;
    char *said;
    if (require_pointer("module", "source", source) != IG_OK ||
        (o && sized_read(SIZED(ig_module_options, is_program), &own, o) != IG_OK))
        return NULL;
    o = o ? &own : NULL;
    if (o && (require_list("module", "defines", o->defines, o->n_defines) != IG_OK ||
              require_list("module", "folders", o->folders, o->n_folders) != IG_OK ||
              require_list("module", "instances", o->instances, o->n_instances) != IG_OK))
        return NULL;
    options.use_launches = !o || !o->n_instances;
    if (o) {
        options.preprocess.defines = o->defines;
        options.preprocess.n_defines = o->n_defines;
        options.preprocess.folders = o->folders;
        options.preprocess.n_folders = o->n_folders;
        options.instances = o->instances;
        options.n_instances = o->n_instances;
        options.skip_host = o->is_program;
    }
    if (is_library) {
        options.preprocess.no_disk = true;
        options.preprocess.find = library_find;
    }
    ig_module *m = module_new(name ? name : "kernel.cu", source, &options, &said);
    memory_free(said);
    if (m && !m->n_kernels && m->tree->templates) {
        ig_fail(IG_ERR_ARGUMENT,
                "%s has only templates of kernels: %s; give them their arguments, such as "
                "'tile<float, 16>'",
                name ? name : "the source", m->tree->templates);
        ig_module_free(m);
        return NULL;
    }
    return m;
}

ig_module *ig_module_new(const char *name, const char *source, const ig_module_options *o)
{
    return module_open(name, source, o, false);
}

void ig_module_free(ig_module *m)
{
    if (!m)
        return;
    module_off_devices(m);
    for (int i = 0; i < m->n_kernels && m->kernels; i++) {
        for (int p = 0; p < m->kernels[i].n_params && m->kernels[i].params; p++)
            module_field_free(m->kernels[i].params[p].holds);
        memory_free((void *)m->kernels[i].params);
    }
    memory_free(m->kernels);
    if (m->tree)
        kernel_tree_free(m->tree);
    pthread_mutex_destroy(&m->lock);
    memory_free(m);
}

int ig_module_count(const ig_module *m) { return m ? m->n_kernels : 0; }

const ig_kernel_info *ig_module_at(const ig_module *m, int i)
{
    return m && i >= 0 && i < m->n_kernels ? &m->kernels[i] : NULL;
}

const ig_kernel_info *ig_module_find(const ig_module *m, const char *kernel)
{
    if (!m || !kernel)
        return NULL;
    const kernel_entry *e = kernel_tree_find(m->tree, kernel);
    const ig_kernel_info *k = m->kernels;
    for (const kernel_entry *at = m->tree->kernels; at; at = at->next, k++)
        if (at == e)
            return k;
    return NULL;
}

/* ---- arguments and shapes ---- */

/* Fails with the names of all parameters. */
static ig_status fail_unknown(const ig_kernel_info *k, const char *name)
{
    text t = {0};
    for (int p = 0; p < k->n_params; p++)
        text_add(&t, "%s%s", p ? ", " : "; it has ", k->params[p].name);
    char *all = text_take(&t);
    ig_fail(IG_ERR_ARGUMENT, "kernel '%s' has no parameter '%s'%s", k->name, name, all ? all : "");
    memory_free(all);
    return IG_ERR_ARGUMENT;
}

ig_status module_match(const ig_kernel_info *k, const ig_arg *args, int n_args,
                       const ig_arg **of_param)
{
    int next = 0;
    for (int i = 0; i < n_args; i++) {
        const ig_arg *a = &args[i];
        int p = a->name ? 0 : next++;
        while (a->name && p < k->n_params && strcmp(k->params[p].name, a->name) != 0)
            p++;
        if (p >= k->n_params && a->name)
            return fail_unknown(k, a->name);
        if (p >= k->n_params)
            FAIL(IG_ERR_ARGUMENT, "kernel '%s' takes %d arguments, not %d", k->name, k->n_params,
                 n_args);
        if (of_param[p])
            FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is given twice", k->name, k->params[p].name);
        of_param[p] = a;
    }
    for (int p = 0; p < k->n_params; p++)
        if (!of_param[p])
            FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' (%s) is not given", k->name, k->params[p].name,
                 k->params[p].type);
    return IG_OK;
}

ig_status module_number(const ig_kernel_info *k, const ig_kernel_param *p, const ig_arg *g,
                        uint64_t *bits)
{
    double f = 0;
    int64_t i = 0;
    bool is_int = true;
    if (p->dtype == IG_DTYPE_NONE || p->holds->n_fields)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give its %zu bytes", k->name, p->name,
             p->type, p->bytes);
    if (g->kind == IG_ARG_INT) {
        i = g->u.i;
    } else if (g->kind == IG_ARG_BOOL) {
        i = g->u.b;
    } else if (g->kind == IG_ARG_FLOAT) {
        f = g->u.f;
        is_int = false;
    } else {
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give a number", k->name, p->name,
             p->type);
    }
    if (!is_int && !dtype_is_float(p->dtype) && f != (double)(int64_t)f)
        FAIL(IG_ERR_DTYPE, "kernel '%s': '%s' is a %s, which %g is not", k->name, p->name, p->type,
             f);
    if (is_int)
        dtype_store_int(p->dtype, bits, i);
    else
        dtype_store(p->dtype, bits, f);
    return IG_OK;
}

static ig_status check_shape(const backend *dev, const ig_kernel_info *k, kernel_launch *l)
{
    uint64_t threads = 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        l->grid[i] = l->grid[i] ? l->grid[i] : 1;
        l->block[i] = l->block[i] ? l->block[i] : 1;
        if (l->block[i] > dev->limits.thread_at[i])
            FAIL(IG_ERR_ARGUMENT,
                 "[IG-THREADS] kernel '%s': blocks of %u threads along %c; device '%s' "
                 "takes %llu",
                 k->name, l->block[i], "xyz"[i], dev -> name,
                 (unsigned long long)dev -> limits.thread_at[i]);
        threads *= l->block[i];
        blocks *= l->grid[i];
    }
    if (threads > dev->limits.threads)
        FAIL(IG_ERR_ARGUMENT,
             "[IG-THREADS] kernel '%s': blocks of %llu threads; device '%s' takes %llu", k->name,
             (unsigned long long)threads, dev->name, (unsigned long long)dev->limits.threads);
    if (blocks > INT32_MAX)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': a grid of %llu blocks is too large", k->name,
             (unsigned long long)blocks);
    return IG_OK;
}

ig_status module_no_kernel(const ig_module *m, const char *kernel)
{
    text t = {0};
    for (int i = 0; i < ig_module_count(m); i++)
        text_add(&t, "%s%s", i ? ", " : "; it has ", ig_module_at(m, i)->name);
    char *all = text_take(&t);
    ig_fail(IG_ERR_ARGUMENT, "there is no kernel '%s' in %s%s", kernel,
            m->tree->unit.source.n_files ? m->tree->unit.source.files[0]->name : "the source",
            all ? all : "");
    memory_free(all);
    return IG_ERR_ARGUMENT;
}

/* ---- on a device, with the module's lock ---- */

/* Prepares the kernel for the device, or fails with the reason why it cannot run there. */
static ig_status prepare(ig_module *m, const backend *dev, const char *kernel, module_batch *batch,
                         module_built **b)
{
    const kernel_entry *e = kernel_tree_find(m->tree, kernel);
    if (!e)
        return module_no_kernel(m, kernel);
    if (!backend_runs_kernels(dev))
        FAIL(IG_ERR_UNSUPPORTED, "device '%s' runs no kernels", dev->name);
    return module_built_for(m, dev, e, batch, b);
}

ig_status module_prepare(ig_module *m, const backend *dev, const char *kernel, module_kernel *out)
{
    module_built *b;
    module_enter(m);
    const bool failed_before = ig_failed();
    ig_status status = prepare(m, dev, kernel, NULL, &b);
    if (status == IG_OK && !failed_before && ig_failed())
        status = error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        *out = (module_kernel){.info = ig_module_find(m, kernel),
                               .offsets = b->offsets,
                               .argument_bytes = (size_t)b->entry->argument_bytes,
                               .shared_bytes = (size_t)b->entry->shared_bytes,
                               .max_threads = b->entry->max_threads,
                               .has_textures = b->entry->uses[FEATURE_TEXTURE].place != 0,
                               .warnings = b->printed ? b->printed->warnings : NULL,
                               .source = &m->tree->unit.source,
                               .lanes = b->lanes};
    module_leave(m);
    return status;
}

ig_status module_code(ig_module *m, const backend *dev, const char *kernel, const uint32_t block[3],
                      module_batch *batch, kernel_code **out)
{
    module_built *b;
    module_enter(m);
    ig_status status = prepare(m, dev, kernel, batch, &b);
    if (status == IG_OK)
        status = module_built_code(b, block, out);
    module_leave(m);
    return status;
}

static ig_status launch(ig_module *m, const backend *dev, const char *kernel, lane_launch *l)
{
    module_built *b;
    binding all;
    TRY(prepare(m, dev, kernel, NULL, &b));
    TRY(check_shape(dev, ig_module_find(m, kernel), &l->base));
    TRY(module_globals(m, dev, &all));
    l->globals = all.buf ? &all : NULL;
    TRY(module_built_launch(b, l));
    TRY(dev->finish(dev));
    return b->entry->uses[FEATURE_CDP].place ? module_children(m, dev, &all, l) : IG_OK;
}

ig_status module_launch(ig_module *m, const backend *dev, const char *kernel, lane_launch *l)
{
    module_enter(m);
    const ig_status status = launch(m, dev, kernel, l);
    module_leave(m);
    return status;
}

const char *ig_module_warnings(const ig_module *m, const char *kernel, const char *device)
{
    if (!m || !kernel || !device)
        return NULL;
    const backend *dev = backend_find(device);
    const kernel_entry *e = kernel_tree_find(m->tree, kernel);
    const char *warnings = NULL;
    module_enter((ig_module *)m);
    for (const module_built *b = m->built; b && !warnings; b = b->next)
        if (b->dev == dev && b->entry == e && b->printed)
            warnings = b->printed->warnings;
    module_leave((ig_module *)m);
    return warnings;
}

ig_status module_variable(ig_module *m, const backend *dev, const char *name, binding *at,
                          size_t *bytes)
{
    module_enter(m);
    const ig_status status = module_globals(m, dev, at);
    module_leave(m);
    TRY(status);
    const char *last = strrchr(name, ':');
    const kernel_var *v = m->tree->globals, *plain = NULL;
    for (; v && !(v->symbol && strcmp(v->symbol, name) == 0); v = v->next)
        if (v->symbol && strcmp(v->source_name->text, last ? last + 1 : name) == 0)
            plain = v; /* its file is included in a namespace */
    v = v ? v : plain;
    if (!v)
        FAIL(IG_ERR_ARGUMENT, "there is no variable '%s' on the device", name);
    at->offset = (size_t)kernel_global_at(m->tree, v);
    *bytes = (size_t)v->type->size;
    return IG_OK;
}
