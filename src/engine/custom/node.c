/* User kernels as nodes of graphs.
 *
 *   ig_kernel_call -> kernel_spec (independent of arguments) -> kernel_call (with arguments) -> nodes
 *
 * Each result is a node, and all results share one kernel_call. Its key describes its content, so graphs
 * find equal calls. */
#include "base/error.h"
#include "base/hash.h"
#include "base/integer.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/text.h"
#include "engine/custom/custom.h"
#include "engine/emit/emit.h"
#include "engine/eval/engine.h"
#include "engine/eval/fallback.h"
#include "engine/module/device.h"
#include "engine/module/module.h"
#include <string.h>

/* ---- specs ---- */

static kernel_spec *kernel_spec_retain(kernel_spec *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

static void kernel_spec_release(kernel_spec *r)
{
    while (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
        kernel_spec *gradient = r->gradient;
        shared_module_release(r->module);
        memory_free(r->number);
        memory_free(r);
        r = gradient;
    }
}

/* The device on which the kernel will run: the device of its arrays. */
static const backend *device_of_call(const ig_kernel_call *call)
{
    for (int i = 0; i < call->n_args; i++) {
        const ig_array *x = call->args[i].kind == IG_ARG_ARRAY ? call->args[i].u.array : NULL;
        if (x && x->root->device)
            return engine_device_of(x);
    }
    return engine_device();
}

/* Finds the kernel in the module and builds it for the device. If the device cannot run it but the CPU may, evaluation
 * decides. */
static ig_status find_kernel(kernel_spec *r, const ig_kernel_call *call, const backend *dev)
{
    ig_module *m = r->module->module;
    const kernel_entry *e = kernel_tree_find(m->tree, call->kernel);
    r->info = e ? ig_module_find(m, call->kernel) : NULL;
    if (!e)
        return module_no_kernel(m, call->kernel);
    if (e->failed)
        FAIL(IG_ERR_FORMAT, "%s", e->errors ? e->errors : "the kernel has mistakes");
    if (!r->info->n_written)
        FAIL(IG_ERR_ARGUMENT,
             "kernel '%s' has no result: all its pointers are const, so it writes nothing",
             r->info->name);
    /* The library's own kernels have no mistakes to report. They are built when they are first run. */
    r->cpu = r->library ? cpu_kernel_find(call->kernel) : NULL;
    if (r->library || !backend_runs_kernels(dev))
        return IG_OK;
    /* Locks of shared modules are only taken while the engine's lock is held, so they are free in a child of fork. */
    module_kernel ready;
    const bool waiting = ig_failed();
    engine_enter();
    const ig_status status = module_prepare(m, dev, call->kernel, &ready);
    engine_leave();
    if (!fallback_may_help(dev, status))
        return status;
    if (!waiting)
        ig_error(NULL);
    return IG_OK;
}

static void know_content(kernel_spec *r)
{
    hash h;
    hash_begin(&h);
    hash_add(&h, r->module->content, sizeof r->module->content);
    hash_add(&h, r->info->name, strlen(r->info->name));
    hash_end(&h, (uint8_t *)r->content);
}

/* Stores the numbers that a gradient kernel takes in addition to its named arrays. */
static ig_status keep_numbers(kernel_spec *r, const ig_kernel_call *call)
{
    const ig_kernel_info *k = r->info;
    r->number = memory_new((size_t)(k->n_params + 1) * sizeof *r->number);
    if (!r->number)
        return IG_ERR_MEMORY;
    for (int i = 0; i < call->n_args; i++) {
        const ig_arg *a = &call->args[i];
        int p = 0;
        while (p < k->n_params && !(a->name && strcmp(a->name, k->params[p].name) == 0))
            p++;
        if (p == k->n_params ||
            !(a->kind == IG_ARG_INT || a->kind == IG_ARG_FLOAT || a->kind == IG_ARG_BOOL))
            FAIL(IG_ERR_ARGUMENT,
                 "kernel '%s', a gradient, finds its arrays by their names; other arguments must "
                 "be numbers with the names of parameters",
                 k->name);
        r->number[p] = *a;
        r->number[p].name = NULL;
    }
    return IG_OK;
}

static kernel_spec *kernel_spec_new(const ig_kernel_call *call, const ig_kernel_call *around,
                                    const library_kernel *library);

static ig_status kernel_spec_fill(kernel_spec *r, const ig_kernel_call *call,
                                  const ig_kernel_call *around)
{
    const bool own = call->source || !around;
    const ig_kernel_call *from = own ? call : around;
    const char *name = from->name ? from->name : "kernel.cu";
    if (!call->kernel || !from->source)
        FAIL(IG_ERR_ARGUMENT, "kernel: %s is missing", call->kernel ? "the source" : "its name");
    r->module = shared_module_get(name, from->source, from->options, call->kernel, r->library);
    if (!r->module)
        return IG_ERR_FORMAT;
    TRY(find_kernel(r, call, device_of_call(around ? around : call)));
    know_content(r);
    if (around)
        TRY(keep_numbers(r, call));
    memcpy(r->grid, call->grid, sizeof r->grid);
    memcpy(r->block, call->block, sizeof r->block);
    r->shared_bytes = call->shared_bytes;
    if (!call->gradient)
        return IG_OK;
    /* A gradient kernel without a source is in the source of its kernel. */
    ig_kernel_call inner = *call;
    inner.name = from->name;
    inner.source = from->source;
    inner.options = from->options;
    ig_kernel_call gradient;
    TRY(sized_read(SIZED(ig_kernel_call, gradient), &gradient, call->gradient));
    r->gradient = kernel_spec_new(&gradient, &inner, NULL);
    return r->gradient ? IG_OK : IG_ERR_ARGUMENT;
}

static kernel_spec *kernel_spec_new(const ig_kernel_call *call, const ig_kernel_call *around,
                                    const library_kernel *library)
{
    kernel_spec *r = memory_new(sizeof *r);
    if (!r)
        return NULL;
    atomic_init(&r->refs, 1);
    r->library = library;
    if (kernel_spec_fill(r, call, around) == IG_OK)
        return r;
    kernel_spec_release(r);
    return NULL;
}

/* ---- arguments ---- */

static void kernel_call_destroy(node_kernel *k)
{
    kernel_call *b = (kernel_call *)k;
    kernel_spec_release(b->spec);
    memory_free(b->param);
    memory_free(b->result);
    memory_free(b->plain);
    memory_free((void *)b->base.key);
    memory_free((void *)b->base.label);
    memory_free(b);
}

static ig_array *build_batched(const node_kernel *k, int result, ig_array *const *in)
{
    const kernel_call *b = (const kernel_call *)k;
    ig_array *out[LIBRARY_RESULTS];
    return b->spec->library->build(b->given, in, out) ? out[result] : NULL;
}

static kernel_call *kernel_call_new(kernel_spec *r)
{
    const size_t n = (size_t)r->info->n_params + 1, n_result = (size_t)r->info->n_written + 1;
    kernel_call *b = memory_new(sizeof *b);
    if (!b)
        return NULL;
    atomic_init(&b->base.refs, 1);
    b->base.destroy = kernel_call_destroy;
    b->base.name = r->info->name;
    b->base.runner = &kernel_call_runner;
    if (r->library && r->library->build)
        b->base.batched = build_batched;
    b->base.sums = r->library && r->library->sums;
    b->spec = kernel_spec_retain(r);
    b->param = memory_new(n * sizeof *b->param);
    b->result = memory_new(n_result * sizeof *b->result);
    b->base.result = b->plain = memory_new(n_result * sizeof *b->plain);
    if (b->param && b->result && b->plain)
        return b;
    kernel_call_destroy(&b->base);
    return NULL;
}

/* Adds x as the input for parameter p; returns its number, -1 on failure. */
static int add_input(kernel_call *b, const ig_kernel_param *p, ig_array *x, ig_array **in)
{
    const char *kernel = b->spec->info->name;
    if (!x) {
        if (!ig_failed())
            ig_fail(IG_ERR_ARGUMENT, "kernel '%s': the array for '%s' is NULL", kernel, p->name);
        return -1;
    }
    const bool fits = dtype_is_float(p->dtype) || !dtype_is_float((ig_dtype)x->dtype);
    if (x->weak && fits && p->dtype != IG_DTYPE_NONE && !(x = build_cast(x, p->dtype)))
        return -1;
    if (p->dtype != IG_DTYPE_NONE && x->dtype != p->dtype) {
        ig_fail(IG_ERR_DTYPE, "kernel '%s': '%s' is a %s, but the array is %s; convert with astype",
                kernel, p->name, p->type, ig_dtype_name((ig_dtype)x->dtype));
        return -1;
    }
    in[b->n_in] = x;
    return b->n_in++;
}

static ig_status bind_result(kernel_call *b, const ig_kernel_param *p, const ig_arg *a,
                             call_param *out, ig_array **in)
{
    const char *kernel = b->spec->info->name;
    call_result *r = &b->result[b->base.n_result];
    ig_ints shape;
    int64_t size;
    *out = (call_param){.kind = FROM_RESULT, .input = -1, .result = b->base.n_result};
    if (a->kind == IG_ARG_ARRAY) {
        if ((out->input = add_input(b, p, a->u.array, in)) < 0)
            return IG_ERR_ARGUMENT;
        r->dtype = (ig_dtype)in[out->input]->dtype;
        shape = ig_shape(in[out->input]);
    } else if ((a->kind == IG_ARG_INTS || a->kind == IG_ARG_INT) && p->dtype != IG_DTYPE_NONE) {
        r->dtype = p->dtype;
        shape = a->kind == IG_ARG_INTS ? a->u.ints : (ig_ints){&a->u.i, 1};
    } else {
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give %s", kernel, p->name, p->type,
             p->dtype == IG_DTYPE_NONE ? "an array that it begins as, which has a dtype"
                                       : "its shape, or an array that it begins as");
    }
    TRY(infer_size(OP_kernel, shape.n, shape.v, r->dtype, &size));
    r->ndim = shape.n;
    if (shape.n)
        memcpy(r->shape, shape.v, (size_t)shape.n * sizeof *r->shape);
    b->plain[b->base.n_result++] =
        (node_result){size * (int64_t)ig_dtype_bytes(r->dtype), out->input};
    return IG_OK;
}

/* A number in an array of one element is data, not part of the graph's structure. */
static ig_status bind_scalar(kernel_call *b, const ig_kernel_param *p, ig_array *x, call_param *out,
                             ig_array **in)
{
    const char *kernel = b->spec->info->name;
    if (x && view_size(&x->view) != 1)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s, but the array has %lld elements", kernel,
             p->name, p->type, (long long)view_size(&x->view));
    if (x && p->dtype != IG_DTYPE_NONE && dtype_is_float(p->dtype) &&
        dtype_is_float((ig_dtype)x->dtype))
        x = build_cast(x, p->dtype);
    *out = (call_param){.kind = FROM_SCALAR, .input = add_input(b, p, x, in)};
    return out->input < 0 ? IG_ERR_ARGUMENT : IG_OK;
}

static ig_status bind_param(kernel_call *b, int i, const ig_arg *a, ig_array **in)
{
    const ig_kernel_info *k = b->spec->info;
    const ig_kernel_param *p = &k->params[i];
    call_param *out = &b->param[i];
    if (p->is_written)
        return bind_result(b, p, a, out, in);
    if (!p->is_pointer && (p->dtype == IG_DTYPE_NONE || p->holds->n_fields))
        FAIL(IG_ERR_UNSUPPORTED,
             "kernel '%s': '%s' is a %s; in graphs kernels take arrays and numbers: pass its parts",
             k->name, p->name, p->type);
    if (a->kind == IG_ARG_ARRAY && !p->is_pointer)
        return bind_scalar(b, p, a->u.array, out, in);
    if (!p->is_pointer) {
        *out = (call_param){.kind = FROM_NUMBER, .input = -1, .number = *a};
        return module_number(k, p, a, &out->bits);
    }
    if (a->kind != IG_ARG_ARRAY)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give an array", k->name, p->name,
             p->type);
    *out = (call_param){.kind = FROM_ARRAY, .input = add_input(b, p, a->u.array, in)};
    return out->input < 0 ? IG_ERR_ARGUMENT : IG_OK;
}

/* ---- the launch's shape ---- */

/* Makes one thread for each element of the first result: see ig_kernel_call. */
static ig_status spread(kernel_call *b)
{
    const call_result *r = &b->result[0];
    int axes = 3, axis = r->ndim - 1;
    while (axes > 1 && b->block[axes - 1] == 1)
        axes--;
    for (int i = 0; i < 3; i++) {
        int64_t n = 1;
        if (i == axes - 1)
            for (; axis >= 0; axis--)
                n *= r->shape[axis];
        else if (i < axes && axis >= 0)
            n = r->shape[axis--];
        const int64_t blocks = ceil_div(n, b->block[i]);
        if (blocks > INT32_MAX)
            FAIL(IG_ERR_ARGUMENT,
                 "kernel '%s': a thread for each element would be %lld blocks; give a grid, and a "
                 "loop over the elements in the kernel",
                 b->base.name, (long long)blocks);
        b->empty |= blocks == 0;
        b->grid[i] = (uint32_t)blocks;
    }
    return IG_OK;
}

static ig_status shape_launch(kernel_call *b)
{
    static const uint32_t threads[3] = {256, 1, 1};
    const kernel_spec *r = b->spec;
    const bool given = r->block[0] || r->block[1] || r->block[2];
    for (int i = 0; i < 3; i++) {
        b->block[i] = given ? (r->block[i] ? r->block[i] : 1) : threads[i];
        b->grid[i] = r->grid[i] ? r->grid[i] : 1;
    }
    return r->grid[0] || r->grid[1] || r->grid[2] ? IG_OK : spread(b);
}

/* "4", "4x2", "4x2x3". */
static void shape_text(text *t, const uint32_t v[3])
{
    text_add(t, "%u", v[0]);
    if (v[1] > 1 || v[2] > 1)
        text_add(t, "x%u", v[1]);
    if (v[2] > 1)
        text_add(t, "x%u", v[2]);
}

static ig_status make_label(kernel_call *b)
{
    text t = {0};
    text_add(&t, "%s<<<", b->base.name);
    shape_text(&t, b->grid);
    text_add(&t, ", ");
    shape_text(&t, b->block);
    text_add(&t, ">>>");
    b->base.label = text_take(&t);
    return b->base.label ? IG_OK : IG_ERR_MEMORY;
}

/* The key: source, launch shape, the source of each parameter, and the initial content of each result. */
static ig_status make_key(kernel_call *b)
{
    const kernel_spec *r = b->spec;
    const int n_params = r->info->n_params;
    uint64_t *key = memory_get((size_t)(4 + 6 + 1 + 2 * n_params + 2 * b->base.n_result) * 8);
    int n = 0;
    if (!key)
        return IG_ERR_MEMORY;
    for (int i = 0; i < 4; i++)
        key[n++] = r->content[i];
    for (int i = 0; i < 3; i++) {
        key[n++] = b->grid[i];
        key[n++] = b->block[i];
    }
    key[n++] = r->shared_bytes;
    for (int i = 0; i < n_params; i++) {
        const call_param *p = &b->param[i];
        key[n++] = (uint64_t)p->kind;
        key[n++] = p->kind == FROM_NUMBER ? p->bits : (uint64_t)p->input;
    }
    for (int i = 0; i < b->base.n_result; i++) {
        key[n++] = (uint64_t)b->plain[i].bytes;
        key[n++] = (uint64_t)b->plain[i].from;
    }
    b->base.key = key;
    b->base.n_key = n;
    return IG_OK;
}

/* ---- nodes ---- */

static ig_array *result_node(kernel_call *b, int i, ig_array *const *in)
{
    const call_result *r = &b->result[i];
    ig_array *x = array_node(OP_kernel, r->dtype, r->ndim, r->shape, in, b->n_in,
                             &(node_attr){.result = i, .kernel = &b->base});
    return x && b->spec->gradient && b->n_in && dtype_is_float(r->dtype)
               ? kernel_grad_attach(b, i, x, in)
               : x;
}

static ig_status bind_all(kernel_call *b, const ig_arg *const *args, ig_array **in)
{
    for (int i = 0; i < b->spec->info->n_params; i++)
        TRY(bind_param(b, i, args[i], in));
    TRY(shape_launch(b));
    TRY(make_label(b));
    TRY(make_key(b));
    return b->spec->gradient ? kernel_grad_check(b, in) : IG_OK;
}

ig_status kernel_apply(kernel_spec *r, const ig_arg *const *args, const int64_t *given,
                       ig_array **results)
{
    ig_array **in = memory_new((size_t)(r->info->n_params + 1) * sizeof *in);
    kernel_call *b = in ? kernel_call_new(r) : NULL;
    ig_status status = b ? bind_all(b, args, in) : IG_ERR_MEMORY;
    if (b && given)
        memcpy(b->given, given, sizeof b->given);
    if (status == IG_OK && r->library && r->library->own_axes)
        b->base.stacks = in[0]->view.ndim - r->library->own_axes;
    for (int i = 0; status == IG_OK && i < b->base.n_result; i++)
        if (!(results[i] = result_node(b, i, in)))
            status = IG_ERR_MEMORY;
    if (b)
        node_kernel_release(&b->base);
    memory_free(in);
    return status;
}

static int build_call(const ig_kernel_call *call, const library_kernel *library,
                      const int64_t *number, ig_array **out, int max_out)
{
    ig_kernel_call own;
    if (require_pointer("kernel", "call", call) != IG_OK ||
        sized_read(SIZED(ig_kernel_call, gradient), &own, call) != IG_OK)
        return 0;
    call = &own;
    if (require_list("kernel", "args", call->args, call->n_args) != IG_OK ||
        require_list("kernel", "out", out, max_out) != IG_OK)
        return 0;
    kernel_spec *r = kernel_spec_new(call, NULL, library);
    if (!r)
        return 0;
    const int n = r->info->n_written;
    const ig_arg **args = memory_new((size_t)(r->info->n_params + 1) * sizeof *args);
    ig_status status = args ? module_match(r->info, call->args, call->n_args, args) : IG_ERR_MEMORY;
    if (status == IG_OK && n > max_out)
        status = ig_fail(IG_ERR_ARGUMENT, "kernel '%s' has %d results, but there is room for %d",
                         r->info->name, n, max_out);
    if (status == IG_OK)
        status = kernel_apply(r, args, number, out);
    memory_free(args);
    kernel_spec_release(r);
    return status == IG_OK ? n : 0;
}

int ig_kernel(const ig_kernel_call *call, ig_array **out, int max_out)
{
    return build_call(call, NULL, NULL, out, max_out);
}

int library_call(const library_kernel *k, const ig_kernel_call *call, const int64_t *number,
                 ig_array **out, int max_out)
{
    size_t bytes;
    ig_kernel_call own = *call;
    own.size = sizeof own;
    own.name = k->file;
    own.source = library_find(NULL, k->file, true, &bytes);
    return build_call(&own, k, number, out, max_out);
}
