/* ig_module_launch: one launch of a kernel with arrays and numbers. Arrays are evaluated first, then copied
 * to the device. The arrays that the kernel may write are returned as new arrays. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "engine/eval/fallback.h"
#include "engine/module/module.h"
#include "engine/module/report.h"
#include <string.h>

typedef struct argument {
    const ig_arg *given;
    buffer *buf; /* for a pointer: the array on the device, owned */
    uint64_t bits;
    const void *value; /* for other parameters */
} argument;

static ig_status take_array(const backend *dev, const ig_kernel_info *k, const ig_kernel_param *p,
                            argument *a)
{
    ig_array *x = a->given->kind == IG_ARG_ARRAY ? a->given->u.array : NULL;
    if (!x)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s: give an array", k->name, p->name,
             p->type);
    if (p->dtype != IG_DTYPE_NONE && ig_dtype_of(x) != p->dtype)
        FAIL(IG_ERR_DTYPE,
             "kernel '%s': '%s' points to %s, but the array is %s; convert it with astype", k->name,
             p->name, ig_dtype_name(p->dtype), ig_dtype_name(ig_dtype_of(x)));
    const void *data = ig_data(x);
    const size_t bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    if (!data && bytes)
        return IG_ERR_ARGUMENT;
    if (p->dtype == IG_DTYPE_NONE && p->holds->n_fields && bytes % p->holds->bytes)
        FAIL(IG_ERR_ARGUMENT,
             "kernel '%s': '%s' points to %s of %zu bytes, but the array has %zu bytes, which is "
             "not a "
             "multiple",
             k->name, p->name, p->holds->type, p->holds->bytes, bytes);
    a->buf = dev->alloc(dev, bytes ? bytes : 1);
    if (!a->buf)
        return IG_ERR_MEMORY;
    return bytes ? dev->write(a->buf, 0, data, bytes) : IG_OK;
}

/* Takes the value of a parameter that is not a pointer: a number, or its bytes. */
static ig_status take_value(const ig_kernel_info *k, const ig_kernel_param *p, argument *a)
{
    const ig_arg *g = a->given;
    ig_arg number = *g;
    a->value = &a->bits;
    if (g->kind == IG_ARG_ARRAY && ig_size(g->u.array) == 1) {
        number = (ig_arg){.kind = IG_ARG_FLOAT, .u.f = ig_item(g->u.array)};
        if (ig_failed())
            return IG_ERR_ARGUMENT;
    }
    if (g->kind != IG_ARG_BYTES)
        return module_number(k, p, &number, &a->bits);
    if (g->u.bytes.n != p->bytes)
        FAIL(IG_ERR_ARGUMENT, "kernel '%s': '%s' is a %s of %zu bytes, not %zu", k->name, p->name,
             p->type, p->bytes, g->u.bytes.n);
    a->value = g->u.bytes.v;
    return IG_OK;
}

/* Copies an array that the kernel may have written back from the device. */
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

/* Launches the kernel, checked or profiled if the caller asks for it. */
static ig_status launch_watched(ig_module *m, const backend *dev, const module_kernel *ready,
                                const ig_launch *l, lane_launch *launch)
{
    const char *name = ready->info->name;
    kernel_check *check = l->check ? memory_new(sizeof *check) : NULL;
    launch->profile = l->profile ? module_counts(ready->source, ready->lanes) : NULL;
    launch->check = check;
    if (check)
        check->loops = l->check_loops ? l->check_loops : (uint64_t)1 << 24;
    ig_status status =
        (check || !l->check) && (launch->profile || !l->profile) ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = module_launch(m, dev, name, launch);
    ig_kernel_findings *found =
        check && status != IG_ERR_MEMORY ? module_findings(ready->source, check) : NULL;
    const ig_status verdict = !check ? IG_OK : found ? module_verdict(name, found) : IG_ERR_MEMORY;
    status = verdict == IG_OK ? status : verdict;
    if (l->profile && status == IG_OK) {
        *l->profile = module_profile(name, launch->profile, ready->lanes->n_inst);
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

static ig_status launch_with(ig_module *m, const backend *dev, const module_kernel *ready,
                             const ig_launch *l, argument *args, kernel_arg *passed,
                             const ig_arg **given, ig_array **results)
{
    const ig_kernel_info *k = ready->info;
    uint64_t ns = 0;
    const kernel_output output = {.write = l->print};
    lane_launch launch = {.base = {.args = passed,
                                   .shared_bytes = l->shared_bytes,
                                   .device_ns = l->seconds ? &ns : NULL},
                          .print = &output,
                          .context = l->context};
    memcpy(launch.base.grid, l->grid, sizeof launch.base.grid);
    memcpy(launch.base.block, l->block, sizeof launch.base.block);
    TRY(module_match(k, l->args, l->n_args, given));
    for (int p = 0; p < k->n_params; p++) {
        args[p].given = given[p];
        TRY(k->params[p].is_pointer ? take_array(dev, k, &k->params[p], &args[p])
                                    : take_value(k, &k->params[p], &args[p]));
        passed[p] = (kernel_arg){{args[p].buf, 0}, args[p].value};
    }
    TRY(launch_watched(m, dev, ready, l, &launch));
    if (l->seconds)
        *l->seconds = (double)ns * 1e-9;
    int n = 0;
    for (int p = 0; p < k->n_params; p++)
        if (k->params[p].is_written)
            TRY(give_back(dev, &args[p], &results[n++]));
    return IG_OK;
}

ig_status ig_module_launch(ig_module *m, const char *kernel, const ig_launch *l, ig_array **results)
{
    TRY(require_pointer("launch", "the module", m));
    TRY(require_pointer("launch", "the kernel's name", kernel));
    TRY(require_pointer("launch", "l", l));
    ig_launch own;
    TRY(sized_read(SIZED(ig_launch, context), &own, l));
    l = &own;
    TRY(require_list("launch", "args", l->args, l->n_args));
    const char *device = l->device ? l->device : "cpu";
    const backend *dev = backend_find(device);
    module_kernel ready;
    if (l->findings)
        *l->findings = NULL;
    if (l->profile)
        *l->profile = NULL;
    if (!dev)
        return backend_missing(device);
    if ((l->check || l->profile) && dev->language)
        FAIL(IG_ERR_UNSUPPORTED, "device '%s' cannot %s kernels; run it on 'cpu'", dev->name,
             l->check ? "check" : "profile");
    ig_status status = module_prepare(m, dev, kernel, &ready);
    if (status != IG_OK && fallback_instead(dev, kernel, status)) {
        dev = &backend_cpu;
        status = module_prepare(m, dev, kernel, &ready);
    }
    TRY(status);
    const size_t room = (size_t)ready.info->n_params + 1;
    argument *args = memory_new(room * sizeof *args);
    kernel_arg *passed = memory_new(room * sizeof *passed);
    const ig_arg **given = memory_new(room * sizeof *given);
    status = args && passed && given ? launch_with(m, dev, &ready, l, args, passed, given, results)
                                     : IG_ERR_MEMORY;
    for (int p = 0; p < ready.info->n_params && args; p++)
        buffer_release(args[p].buf);
    memory_free(args);
    memory_free(passed);
    memory_free(given);
    return status;
}
