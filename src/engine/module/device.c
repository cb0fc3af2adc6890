/* A module on a device: each kernel as lane code or as text, the memory of its variables, and the output of
 * printf and assert. Text has hidden parameters: the memory of all variables, and a log. */
#include "engine/module/device.h"

#include "base/error.h"
#include "base/memory.h"
#include "compiler/lower/lower.h"

#include <stdio.h>
#include <string.h>

enum {
    LOG_WORDS = 1 << 18, /* log of a launch: as many bytes as CUDA keeps for printf */
    PLAIN_THREADS =
        256 /* every OpenCL driver runs blocks of this size without a shape known at build time */
};

/* ---- building ---- */

static kernel_target target_of(const backend *dev, const module_built *b)
{
    const backend_limits *l = &dev->limits;
    kernel_target t = *kernel_target_find(dev->language);
    t.device = dev->name;
    t.version = l->version;
    t.subgroup = l->subgroup;
    t.threads = l->threads;
    t.shared_bytes = l->shared_bytes;
    t.buffers = l->buffers;
    t.f16 = l->f16;
    t.f64 = l->f64;
    t.atomics_i64 = l->atomics_i64;
    t.masked = l->masked_shuffles;
    t.shuffles = l->shuffles || t.masked;
    t.whole_warps = t.casts_fit = b->whole_warps;
    t.inlines = l->cpu;
#ifdef __aarch64__
    t.negates_bits = l->cpu;
#endif
    t.hides_globals = t.texels = true;
    memcpy(t.block, b->block, sizeof t.block);
    return t;
}

/* Lowers the kernel to lane code or prints it as text, with the parameters that the device sees. */
static ig_status translate(const kernel_tree *tree, module_built *b, kernel_image *out,
                           kernel_param **params)
{
    const kernel_function *f = b->entry->function;
    *params = memory_new((f->n_params + 2) * sizeof **params); /* room for the hidden ones */
    if (!*params)
        return IG_ERR_MEMORY;
    *out = (kernel_image){.entry = f->name, .params = *params, .n_params = (int)f->n_params};
    for (uint32_t i = 0; i < f->n_params; i++) {
        const kernel_type *t = f->params[i]->type;
        const bool pointer = t->kind == TYPE_POINTER;
        (*params)[i] = (kernel_param){.kind = pointer ? KERNEL_BUFFER : KERNEL_BYTES,
                                      .bytes = (size_t)t->size,
                                      .offset = b->offsets[i],
                                      .is_read = pointer && t->of->quals & TYPE_CONST};
    }
    if (!b->dev->language) {
        TRY(kernel_lower(tree, b->entry, &b->lanes));
        return IG_OK;
    }
    const kernel_target target = target_of(b->dev, b);
    TRY(kernel_print(tree, b->entry, &target, &b->printed));
    for (int i = out->n_params; i < b->printed->n_params; i++)
        (*params)[i] = (kernel_param){.kind = KERNEL_BUFFER};
    out->source = b->printed->text;
    out->entry = b->printed->entry;
    out->n_params = b->printed->n_params;
    out->dynamic_shared = b->printed->dynamic_shared;
    out->avoid_optimizer = b->printed->avoid_optimizer;
    out->is_emitted = b->whole_warps;
    return IG_OK;
}

static ig_status build(module_built *b, module_batch *batch)
{
    const kernel_function *f = b->entry->function;
    kernel_param *params = NULL;
    kernel_image image;
    b->offsets = memory_new((f->n_params + 1) * sizeof *b->offsets);
    if (!b->offsets)
        return IG_ERR_MEMORY;
    for (uint32_t i = 0; i < f->n_params; i++)
        b->offsets[i] = (size_t)kernel_argument_at(f, i);
    ig_status status = translate(b->tree, b, &image, &params);
    if (status == IG_OK && b->printed && batch_takes(batch, b, &image, params))
        return IG_OK;
    if (status == IG_OK)
        status = b->lanes ? b->dev->lanes->build(b->dev, b->lanes, image.params, image.n_params,
                                                 &b->code)
                          : b->dev->kernel_build(b->dev, &image, &b->code);
    memory_free(params);
    return status;
}

static void built_free(module_built *b)
{
    while (b->shapes) {
        module_built *next = b->shapes->next;
        built_free(b->shapes);
        b->shapes = next;
    }
    if (b->code)
        b->dev->kernel_discard(b->code);
    batch_forget(b);
    buffer_release(b->log);
    code_free(b->lanes);
    kernel_printed_free(b->printed);
    memory_free(b->offsets);
    memory_free(b);
}

/* Builds the kernel and adds it to a list; frees it on failure. */
static ig_status built_add(module_built *b, module_batch *batch, module_built **list,
                           module_built **out)
{
    const ig_status status = build(b, batch);
    if (status != IG_OK) {
        built_free(b);
        return status;
    }
    b->next = *list;
    *list = b;
    *out = b;
    return IG_OK;
}

ig_status module_built_for(ig_module *m, const backend *dev, const kernel_entry *e,
                           module_batch *batch, module_built **out)
{
    for (module_built **at = &m->built, *b; (b = *at); at = &b->next)
        if (b->dev == dev && b->entry == e) {
            if (b->code || b->lanes || b->batch)
                return *out = b, IG_OK;
            *at = b->next; /* it failed in a group */
            built_free(b);
            break;
        }
    module_built *b = memory_new(sizeof *b);
    if (!b)
        return IG_ERR_MEMORY;
    b->dev = dev;
    b->tree = m->tree;
    b->entry = e;
    b->whole_warps = m->whole_warps;
    return built_add(b, batch, &m->built, out);
}

/* The kernel for blocks of one shape. Drivers that do not know the shape when they build a kernel may allow
 * fewer threads than the device has (NVIDIA's OpenCL: 256), so a large block needs a separate build. */
static ig_status built_for_shape(module_built *b, const uint32_t block[3], module_built **out)
{
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    *out = b;
    if (!b->printed || threads <= PLAIN_THREADS || threads > b->dev->limits.threads)
        return IG_OK;
    for (module_built *s = b->shapes; s; s = s->next)
        if (memcmp(s->block, block, sizeof s->block) == 0)
            return *out = s, IG_OK;
    module_built *s = memory_new(sizeof *s);
    if (!s)
        return IG_ERR_MEMORY;
    s->dev = b->dev;
    s->tree = b->tree;
    s->entry = b->entry;
    s->whole_warps = b->whole_warps;
    memcpy(s->block, block, sizeof s->block);
    return built_add(s, NULL, &b->shapes, out);
}

ig_status module_built_code(module_built *b, const uint32_t block[3], kernel_code **out)
{
    *out = NULL;
    if (!b->printed || b->printed->n_params != (int)b->entry->function->n_params)
        return IG_OK;
    TRY(built_for_shape(b, block, &b));
    *out = b->code;
    return IG_OK;
}

/* ---- printf and assert ---- */

static void write_output(const lane_launch *l, const char *said, size_t bytes)
{
    if (l->print && l->print->write)
        l->print->write(l->context, said, bytes);
    else
        fwrite(said, 1, bytes, stdout);
}

/* A launch of lane code, and its number of arguments. */
typedef struct print_context {
    const lane_launch *launch;
    int n;
} print_context;

static void lane_print(void *context, const char *said, size_t bytes)
{
    write_output(((const print_context *)context)->launch, said, bytes);
}

/* Bytes from an address to the end of its array, which is one of the arguments. */
static size_t lane_print_room(void *context, uint64_t at)
{
    const print_context *h = context;
    for (int i = 0; i < h->n; i++) {
        const buffer *b = h->launch->base.args[i].at.buf;
        const uint64_t from = b ? (uintptr_t)b->data : 0;
        if (b && at >= from && at - from < b->bytes)
            return (size_t)(b->bytes - (at - from));
    }
    return 0;
}

static ig_status log_begin(module_built *b)
{
    static const uint32_t head[LOG_HEAD] = {[LOG_ROOM] = LOG_WORDS - LOG_HEAD};
    if (!b->log)
        b->log = b->dev->alloc(b->dev, LOG_WORDS * sizeof(uint32_t));
    return b->log ? b->dev->write(b->log, 0, head, sizeof head) : IG_ERR_MEMORY;
}

static ig_status log_end(const module_built *b, const lane_launch *l)
{
    uint32_t head[LOG_HEAD];
    TRY(b->dev->read(b->log, 0, head, sizeof head));
    const size_t used = head[LOG_USED] < head[LOG_ROOM] ? head[LOG_USED] : head[LOG_ROOM];
    const size_t n = LOG_HEAD + used;
    uint32_t *words = memory_get(n * sizeof *words);
    if (!words)
        return IG_ERR_MEMORY;
    char *said = NULL;
    ig_status status = b->dev->read(b->log, 0, words, n * sizeof *words);
    if (status == IG_OK) {
        status = kernel_print_drain(b->printed, words, n, &said);
        if (l->asserted)
            *l->asserted = status == IG_ERR_DEVICE;
    }
    if (said)
        write_output(l, said, strlen(said));
    memory_free(said);
    memory_free(words);
    return status;
}

/* ---- launching ---- */

static ig_status launch_text(module_built *b, const lane_launch *l, kernel_arg *args)
{
    const kernel_printed *p = b->printed;
    const int given = (int)b->entry->function->n_params;
    bool has_log = false;
    kernel_launch own = l->base;
    own.args = args;
    if (given)
        memcpy(args, l->base.args, (size_t)given * sizeof *args);
    for (int i = given; i < p->n_params; i++) {
        if (p->params[i].kind == PRINTED_GLOBALS) {
            args[i].at = *l->globals;
            continue;
        }
        has_log = true;
        TRY(log_begin(b));
        args[i].at = (binding){b->log, 0};
    }
    TRY(b->dev->kernel_launch(b->code, &own));
    return has_log ? log_end(b, l) : IG_OK;
}

ig_status module_built_launch(module_built *b, const lane_launch *l)
{
    if (!b->printed && l->packed) /* the caller knows all memory and handles output */
        return b->dev->lanes->launch(b->code, l);
    if (!b->printed) {
        static const kernel_output output = {lane_print, lane_print_room};
        lane_launch own = *l;
        own.print = &output;
        own.context = &(print_context){l, (int)b->entry->function->n_params};
        return b->dev->lanes->launch(b->code, &own);
    }
    TRY(built_for_shape(b, l->base.block, &b));
    kernel_arg *args = memory_new((size_t)(b->printed->n_params + 1) * sizeof *args);
    const ig_status status = args ? launch_text(b, l, args) : IG_ERR_MEMORY;
    memory_free(args);
    return status;
}

/* ---- variables ---- */

/* The address of the memory of all variables; 0 on devices whose kernels cannot follow pointers in memory. */
static uint64_t address_of(const backend *dev, const buffer *b)
{
    return (uint64_t)(uintptr_t)(dev->share ? dev->share->address(b) : b->device ? NULL : b->data);
}

ig_status module_reset(const ig_module *m, const backend *dev, buffer *all, const kernel_var *v)
{
    const size_t at = (size_t)kernel_global_at(m->tree, v);
    const uint64_t base = v->addresses ? address_of(dev, all) : 0;
    TRY(v->init ? dev->write(all, at, v->init, (size_t)v->type->size)
                : dev->fill(all, at, 0, (size_t)v->type->size));
    for (const kernel_address *a = v->addresses; a && base; a = a->next) {
        const uint64_t to = base + kernel_global_at(m->tree, a->of) + (uint64_t)a->offset;
        TRY(dev->write(all, at + (size_t)a->at, &to, sizeof to));
    }
    return IG_OK;
}

size_t module_texel_room(const backend *dev)
{
    const uint64_t most = (uint64_t)256 << 20, quarter = dev->limits.alloc_bytes / 4;
    return (size_t)(quarter < most ? quarter : most);
}

/* Bytes after the variables for the texels that kernels reach from the variable ig_texels. */
static size_t texel_bytes(const ig_module *m, const backend *dev)
{
    for (const kernel_var *v = m->tree->globals; v && dev->language; v = v->next)
        if (strcmp(v->source_name->text, "ig_texels") == 0)
            return MODULE_TEXELS_AT + module_texel_room(dev);
    return 0;
}

static ig_status fill(const ig_module *m, module_variables *v, uint64_t bytes)
{
    v->buf = v->dev->alloc(v->dev, (size_t)bytes + texel_bytes(m, v->dev));
    if (!v->buf)
        return IG_ERR_MEMORY;
    TRY(v->dev->fill(v->buf, 0, 0, (size_t)bytes));
    for (const kernel_var *g = m->tree->globals; g; g = g->next)
        if (g->init)
            TRY(module_reset(m, v->dev, v->buf, g));
    return IG_OK;
}

ig_status module_globals(ig_module *m, const backend *dev, binding *out)
{
    const uint64_t bytes = kernel_global_at(m->tree, NULL);
    *out = (binding){NULL, 0};
    if (!bytes)
        return IG_OK;
    module_variables *v = m->variables;
    while (v && v->dev != dev)
        v = v->next;
    if (!v) {
        v = memory_new(sizeof *v);
        if (!v)
            return IG_ERR_MEMORY;
        v->dev = dev;
        const ig_status status = fill(m, v, bytes);
        if (status != IG_OK) {
            buffer_release(v->buf);
            memory_free(v);
            return status;
        }
        v->next = m->variables;
        m->variables = v;
    }
    out->buf = v->buf;
    return IG_OK;
}

void module_off_devices(ig_module *m)
{
    for (module_built *b = m->built, *next; b; b = next) {
        next = b->next;
        built_free(b);
    }
    for (module_variables *v = m->variables, *next; v; v = next) {
        next = v->next;
        buffer_release(v->buf);
        memory_free(v);
    }
    m->built = NULL;
    m->variables = NULL;
}
