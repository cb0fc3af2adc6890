/* Kernels in CUDA C: a module is a checked tree and, for each device and kernel that was asked for, what
 * the device made of it (module_device.c). Source -> tree (kernel/) -> lane code or text -> device. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/module.h"
#include "engine/module_device.h"
#include "engine/module_fields.h"
#include "engine/module_report.h"
#include "kernel/lower/lower.h"

#include <stdio.h>
#include <string.h>

/* ---- what is in it ---- */

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
    ig_status status = kernel_parse(name, source, options, &m->tree, said);
    if (status == IG_ERR_FORMAT && *said) {
        ig_error(NULL); /* its first line: said has all of them */
        ig_fail(IG_ERR_FORMAT, "%s", *said);
    }
    if (status == IG_OK)
        status = describe(m);
    if (status == IG_OK)
        return m;
    ig_module_free(m);
    return NULL;
}

ig_module *ig_module_new(const char *name, const char *source, const ig_module_options *o)
{
    kernel_parse_options options = {0};
    char *said;
    if (o) {
        options.preprocess.defines = o->defines;
        options.preprocess.n_defines = o->n_defines;
        options.preprocess.folders = o->folders;
        options.preprocess.n_folders = o->n_folders;
        options.instances = o->instances;
        options.n_instances = o->n_instances;
    }
    ig_module *m = module_new(name, source, &options, &said);
    memory_free(said);
    return m;
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
    memory_free(m);
}

int ig_module_count(const ig_module *m) { return m->n_kernels; }

const ig_kernel_info *ig_module_at(const ig_module *m, int i)
{
    return i >= 0 && i < m->n_kernels ? &m->kernels[i] : NULL;
}

const ig_kernel_info *ig_module_find(const ig_module *m, const char *kernel)
{
    const kernel_entry *e = kernel_tree_find(m->tree, kernel);
    const ig_kernel_info *k = m->kernels;
    for (const kernel_entry *at = m->tree->kernels; at; at = at->next, k++)
        if (at == e)
            return k;
    return NULL;
}

/* ---- launching ---- */

typedef struct argument {
    const ig_arg *given;
    buffer *buf; /* of a pointer: on the device, ours */
    uint64_t bits;
    const void *value; /* of what is no pointer */
} argument;

/* The names of all parameters, for people. */
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

static ig_status take_array(const backend *dev, const ig_kernel_info *k, const ig_kernel_param *p,
                            argument *a)
{
    ig_array *x = a->given->kind == IG_ARG_ARRAY ? a->given->u.array : NULL;
    if (!x)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give an array", k->name, p->name,
             p->type);
    if (p->dtype != IG_DTYPE_NONE && ig_dtype_of(x) != p->dtype)
        FAIL(IG_ERR_DTYPE, "kernel '%s': '%s' points to %s, but the array is %s", k->name, p->name,
             ig_dtype_name(p->dtype), ig_dtype_name(ig_dtype_of(x)));
    const void *data = ig_data(x);
    const size_t bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    if (!data && bytes)
        return IG_ERR_ARGUMENT;
    if (p->dtype == IG_DTYPE_NONE && p->holds->n_fields && bytes % p->holds->bytes)
        FAIL(IG_ERR_ARGUMENT,
             "kernel '%s': '%s' points to %s of %zu bytes, which %zu are no multiple of", k->name,
             p->name, p->holds->type, p->holds->bytes, bytes);
    a->buf = dev->alloc(dev, bytes ? bytes : 1);
    if (!a->buf)
        return IG_ERR_MEMORY;
    return bytes ? dev->write(a->buf, 0, data, bytes) : IG_OK;
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
    } else if (g->kind == IG_ARG_FLOAT || (g->kind == IG_ARG_ARRAY && ig_size(g->u.array) == 1)) {
        f = g->kind == IG_ARG_FLOAT ? g->u.f : ig_item(g->u.array);
        is_int = false;
    } else {
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give a number", k->name, p->name,
             p->type);
    }
    if (ig_failed())
        return IG_ERR_ARGUMENT;
    if (!is_int && !dtype_is_float(p->dtype) && f != (double)(int64_t)f)
        FAIL(IG_ERR_DTYPE, "kernel '%s': '%s' is a %s, which %g is not", k->name, p->name, p->type,
             f);
    if (is_int)
        dtype_store_int(p->dtype, bits, i);
    else
        dtype_store(p->dtype, bits, f);
    return IG_OK;
}

/* A number, or the bytes of whatever it is. */
static ig_status take_value(const ig_kernel_info *k, const ig_kernel_param *p, argument *a)
{
    const ig_arg *g = a->given;
    a->value = &a->bits;
    if (g->kind != IG_ARG_BYTES)
        return module_number(k, p, g, &a->bits);
    if (g->u.bytes.n != p->bytes)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s of %zu bytes, not %zu", k->name, p->name,
             p->type, p->bytes, g->u.bytes.n);
    a->value = g->u.bytes.v;
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

/* What the kernel left in the array's place. */
static ig_status give_back(const backend *dev, const argument *a, ig_array **out)
{
    ig_array *x = a->given->u.array;
    const size_t bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    void *data = memory_get(bytes ? bytes : 1);
    if (!data)
        return IG_ERR_MEMORY;
    const ig_status status = bytes ? dev->read(a->buf, 0, data, bytes) : IG_OK;
    *out = status == IG_OK ? ig_from_data(data, ig_shape(x), ig_dtype_of(x)) : NULL;
    memory_free(data);
    return *out ? IG_OK : status == IG_OK ? IG_ERR_MEMORY : status;
}

/* Launches it, watched if that was asked for. */
static ig_status launch_watched(const ig_module *m, module_built *b, const ig_launch *l,
                                kernel_launch *launch)
{
    const kernel_source *source = &m->tree->unit.source;
    kernel_check *check = l->check ? memory_new(sizeof *check) : NULL;
    launch->profile = l->profile ? module_counts(source, b->lanes) : NULL;
    launch->check = check;
    if (check)
        check->loops = l->check_loops ? l->check_loops : (uint64_t)1 << 24;
    ig_status status =
        (check || !l->check) && (launch->profile || !l->profile) ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = module_built_launch(b, launch);
    ig_kernel_findings *found =
        check && status != IG_ERR_MEMORY ? module_findings(source, check) : NULL;
    const ig_status verdict = !check  ? IG_OK
                              : found ? module_verdict(b->entry->name, found)
                                      : IG_ERR_MEMORY;
    status = verdict == IG_OK ? status : verdict;
    if (l->profile && status == IG_OK) {
        *l->profile = module_profile(b->entry->name, launch->profile, b->lanes->n_inst);
        status = *l->profile ? IG_OK : IG_ERR_MEMORY;
    }
    if (l->check && l->findings)
        *l->findings = found;
    else
        memory_free(found);
    memory_free(check);
    memory_free(launch->profile);
    return status;
}

static ig_status run(ig_module *m, module_built *b, const ig_kernel_info *k, const ig_launch *l,
                     argument *args, kernel_arg *passed, const ig_arg **given, ig_array **results)
{
    const backend *dev = b->dev;
    uint64_t ns = 0;
    binding all;
    const kernel_output output = {.write = l->print};
    kernel_launch launch = {.args = passed,
                            .shared_bytes = l->shared_bytes,
                            .device_ns = l->seconds ? &ns : NULL,
                            .print = &output,
                            .context = l->context};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    TRY(check_shape(dev, k, &launch));
    TRY(module_match(k, l->args, l->n_args, given));
    TRY(module_globals(m, dev, &all));
    launch.globals = all.buf ? &all : NULL;
    for (int p = 0; p < k->n_params; p++) {
        args[p].given = given[p];
        TRY(k->params[p].is_pointer ? take_array(dev, k, &k->params[p], &args[p])
                                    : take_value(k, &k->params[p], &args[p]));
        passed[p] = (kernel_arg){{args[p].buf, 0}, args[p].value};
    }
    TRY(launch_watched(m, b, l, &launch));
    TRY(dev->finish(dev));
    if (l->seconds)
        *l->seconds = (double)ns * 1e-9;
    int n = 0;
    for (int p = 0; p < k->n_params; p++)
        if (k->params[p].is_written)
            TRY(give_back(dev, &args[p], &results[n++]));
    return IG_OK;
}

/* The kernel on the device, or why it cannot run there. The engine's lock is held. */
static ig_status prepare_held(ig_module *m, const backend *dev, const char *kernel,
                              module_built **b)
{
    const kernel_entry *e = kernel_tree_find(m->tree, kernel);
    if (!e)
        FAIL(IG_ERR_ARGUMENT, "there is no kernel '%s' in %s", kernel,
             m->tree->unit.source.n_files ? m->tree->unit.source.files[0]->name : "the source");
    if (!dev->kernel_build)
        FAIL(IG_ERR_UNSUPPORTED, "device '%s' runs no kernels", dev->name);
    return module_built_for(m, dev, e, b);
}

static ig_status prepare(ig_module *m, const backend *dev, const char *kernel, module_built **b)
{
    engine_enter();
    const ig_status status = prepare_held(m, dev, kernel, b);
    engine_leave();
    return status;
}

const char *ig_module_warnings(const ig_module *m, const char *kernel, const char *device)
{
    const backend *dev = backend_find(device);
    const kernel_entry *e = kernel_tree_find(m->tree, kernel);
    for (const module_built *b = m->built; b; b = b->next)
        if (b->dev == dev && b->entry == e && b->printed)
            return b->printed->warnings;
    return NULL;
}

ig_status ig_module_launch(ig_module *m, const char *kernel, const ig_launch *l, ig_array **results)
{
    const char *device = l->device ? l->device : "cpu";
    const ig_kernel_info *k = ig_module_find(m, kernel);
    const backend *dev = backend_find(device);
    module_built *b;
    if (l->findings)
        *l->findings = NULL;
    if (l->profile)
        *l->profile = NULL;
    if (!dev)
        return engine_device_missing(device);
    if ((l->check || l->profile) && dev->language)
        FAIL(IG_ERR_UNSUPPORTED, "device '%s' cannot %s kernels; run it on 'cpu'", dev->name,
             l->check ? "check" : "profile");
    TRY(prepare(m, dev, kernel, &b));
    argument *args = memory_new((size_t)(k->n_params + 1) * sizeof *args);
    kernel_arg *passed = memory_new((size_t)(k->n_params + 1) * sizeof *passed);
    const ig_arg **given = memory_new((size_t)(k->n_params + 1) * sizeof *given);
    const ig_status status =
        args && passed && given ? run(m, b, k, l, args, passed, given, results) : IG_ERR_MEMORY;
    for (int p = 0; p < k->n_params && args; p++)
        buffer_release(args[p].buf);
    memory_free(args);
    memory_free(passed);
    memory_free(given);
    return status;
}

/* ---- for whole programs ---- */

ig_status module_prepare(ig_module *m, const backend *dev, const char *kernel, module_kernel *out)
{
    module_built *b;
    TRY(prepare(m, dev, kernel, &b));
    *out = (module_kernel){.info = ig_module_find(m, kernel),
                           .offsets = b->offsets,
                           .argument_bytes = (size_t)b->entry->argument_bytes,
                           .shared_bytes = (size_t)b->entry->shared_bytes,
                           .max_threads = b->entry->max_threads,
                           .warnings = b->printed ? b->printed->warnings : NULL,
                           .source = &m->tree->unit.source,
                           .lanes = b->lanes};
    return IG_OK;
}

static ig_status launch_built(ig_module *m, module_built *b, const char *kernel, kernel_launch *l)
{
    const backend *dev = b->dev;
    binding all;
    TRY(check_shape(dev, ig_module_find(m, kernel), l));
    TRY(module_globals(m, dev, &all));
    l->globals = all.buf ? &all : NULL;
    TRY(module_built_launch(b, l));
    return dev->finish(dev);
}

ig_status module_launch(ig_module *m, const backend *dev, const char *kernel, kernel_launch *l)
{
    module_built *b;
    TRY(prepare(m, dev, kernel, &b));
    return launch_built(m, b, kernel, l);
}

ig_status module_prepare_held(ig_module *m, const backend *dev, const char *kernel)
{
    module_built *b;
    return prepare_held(m, dev, kernel, &b);
}

ig_status module_launch_held(ig_module *m, const backend *dev, const char *kernel, kernel_launch *l)
{
    module_built *b;
    TRY(prepare_held(m, dev, kernel, &b));
    return launch_built(m, b, kernel, l);
}

ig_status module_variable(ig_module *m, const backend *dev, const char *name, binding *at,
                          size_t *bytes)
{
    TRY(module_globals(m, dev, at));
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
