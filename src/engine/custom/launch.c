/* Programs of user kernels: compiles them for a device, and launches them with the buffers of a run. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/custom/custom.h"
#include "engine/eval/transfer.h"
#include "engine/module/device.h"
#include "engine/module/module.h"
#include <assert.h>
#include <string.h>

bool kernel_is_own(const kernel_spec *r, const backend *dev)
{
    return r->cpu && dev->compile && dev->lanes;
}

static ig_status run_own(const kernel_call *b, const kernel_arg *args)
{
    const ig_kernel_info *k = b->spec->info;
    void *at[LIBRARY_PARAMS];
    const cpu_kernel_call call = {k->params, k->n_params, at, b->given[LIBRARY_COMPLEX] != 0};
    assert(k->n_params <= LIBRARY_PARAMS);
    for (int i = 0; i < k->n_params; i++) {
        const kernel_arg *a = &args[i];
        at[i] = !k->params[i].is_pointer ? (void *)a->bytes
                : a->at.buf              ? (char *)a->at.buf->data + a->at.offset
                                         : NULL;
    }
    if (b->empty)
        return IG_OK;
    cpu_turn_begin();
    const ig_status status = b->spec->cpu(&call);
    cpu_turn_end();
    return status;
}

static ig_status prepare(const program *p, const backend *dev)
{
    const kernel_spec *r = ((const kernel_call *)p->kernel)->spec;
    module_kernel ready;
    return dev->computes && !kernel_is_own(r, dev)
               ? module_prepare(r->module->module, dev, r->info->name, &ready)
               : IG_OK;
}

/* Resets the variables of the source to their initial values: an op has no state. */
static ig_status reset_variables(ig_module *m, const backend *dev)
{
    binding all;
    module_enter(m);
    const ig_status status = module_globals(m, dev, &all);
    module_leave(m);
    TRY(status);
    for (const kernel_var *v = m->tree->globals; v; v = v->next)
        if (v->storage == STORE_GLOBAL)
            TRY(module_reset(m, dev, all.buf, v));
    return IG_OK;
}

/* The buffer and offset of an operand in this run. */
static binding place_of(const operand *o, const binding *bindings)
{
    binding b = bindings[o->slot];
    b.offset += (size_t)o->v.offset * ig_dtype_bytes(o->dtype);
    return b;
}

/* Numbers are in host memory. If the kernel reads one through a pointer, it is copied to the device; the caller
 * releases *copy. */
static ig_status bring_number(binding *at, size_t bytes, const backend *dev, buffer **copy)
{
    if (transfer_is_on(at->buf, dev))
        return IG_OK;
    *copy = transfer_copy(at->buf, at->offset, bytes, dev);
    *at = (binding){*copy, 0};
    return *copy ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* The values of a launch that a parameter gets in addition to its argument. */
typedef struct passed {
    buffer *copy;  /* of a number on the device, or NULL */
    uint64_t bits; /* of a number */
} passed;

static ig_status pass(const kernel_call *b, const program *p, const backend *dev,
                      const binding *bindings, kernel_arg *args, passed *to)
{
    for (int i = 0; i < b->spec->info->n_params; i++) {
        const call_param *param = &b->param[i];
        const operand *o = param->kind == FROM_RESULT ? &p->post.operand[param->result]
                           : param->input >= 0        ? &p->pre.operand[param->input]
                                                      : NULL;
        binding at = o ? place_of(o, bindings) : (binding){0};
        if (param->kind == FROM_ARRAY)
            TRY(bring_number(&at, ig_dtype_bytes(o->dtype), dev, &to[i].copy));
        if (param->kind == FROM_SCALAR)
            TRY(transfer_read(at.buf, at.offset, &to[i].bits, ig_dtype_bytes(o->dtype)));
        else
            to[i].bits = param->bits;
        if (param->kind == FROM_RESULT && param->input < 0 && b->plain[param->result].bytes &&
            !(b->spec->library && b->spec->library->writes_all))
            TRY(dev->fill(at.buf, at.offset, 0, (size_t)b->plain[param->result].bytes));
        args[i] = (kernel_arg){at, &to[i].bits};
    }
    return IG_OK;
}

static ig_status launch_with(const kernel_call *b, const backend *dev, kernel_arg *args)
{
    const kernel_spec *r = b->spec;
    if (kernel_is_own(r, dev))
        return run_own(b, args);
    lane_launch l = {.base = {.args = args, .shared_bytes = r->shared_bytes}};
    memcpy(l.base.grid, b->grid, sizeof l.base.grid);
    memcpy(l.base.block, b->block, sizeof l.base.block);
    TRY(reset_variables(r->module->module, dev));
    if (b->empty)
        return IG_OK;
    if (!r->library || !r->library->rounds)
        return module_launch(r->module->module, dev, r->info->name, &l);
    const int rounds = (int)b->param[0].bits;
    for (int i = 0; i < rounds; i++) {
        args[0].bytes = &i;
        TRY(module_launch(r->module->module, dev, r->info->name, &l));
    }
    return IG_OK;
}

static ig_status launch(const program *p, const backend *dev, const binding *bindings)
{
    const kernel_call *b = (const kernel_call *)p->kernel;
    const int n = b->spec->info->n_params;
    if (!dev->computes)
        return IG_OK;
    kernel_arg *args = memory_new((size_t)(n + 1) * sizeof *args);
    passed *to = memory_new((size_t)(n + 1) * sizeof *to);
    ig_status status = args && to ? pass(b, p, dev, bindings, args, to) : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = launch_with(b, dev, args);
    for (int i = 0; i < n && to; i++)
        buffer_release(to[i].copy);
    memory_free(args);
    memory_free(to);
    return status;
}

const kernel_runner kernel_call_runner = {.prepare = prepare, .launch = launch};
