/* Launching programs as kernels; see emitted.h. */
#include "engine/eval/emitted_program.h"

#include "engine/eval/kernel_table.h"
#include "engine/eval/transfer.h"

#include "base/error.h"
#include "base/trace.h"
#include "engine/backend/lanes.h"

#include <string.h>

/* Bytes of a buffer. */
typedef struct byte_range {
    const buffer *buf;
    uint64_t begin, end;
} byte_range;

static binding bind(const emitted_program *c, const emit_param *p, const device_memory *m,
                    const binding *bindings)
{
    switch (p->kind) {
    case EMIT_SLOT:
        if (p->slot == c->core_slot)
            return (binding){m->scratch, (size_t)c->scratch_at};
        return (binding){bindings[p->slot].buf, bindings[p->slot].offset + (size_t)p->offset};
    case EMIT_SCRATCH: return (binding){m->scratch, (size_t)c->scratch_at + (size_t)p->offset};
    default: return (binding){m->faults.words, 0};
    }
}

/* A number that a kernel reads through a pointer needs memory on the device. */
static ig_status bring_number(const struct ready_step *r, int k, const backend *dev)
{
    binding *at = &r->args[k].at;
    if (r->brought[k]) {
        buffer_release(r->brought[k]);
        r->brought[k] = NULL;
    }
    if (at->buf->device == dev /* usually */ || transfer_is_on(at->buf, dev))
        return IG_OK;
    r->brought[k] = transfer_copy(at->buf, 0, at->buf->bytes, dev);
    if (!r->brought[k])
        return IG_ERR_MEMORY;
    at->buf = r->brought[k];
    return IG_OK;
}

/* ---- the check of pointers marked __restrict__ ---- */

/* The memory that a parameter may reach: the whole slot, or scratch memory from the parameter on. */
static byte_range range_of(const run *r, const emitted_program *c, const emit_param *p,
                           const device_memory *m)
{
    if (p->kind == EMIT_SLOT && p->slot != c->core_slot) {
        const binding *b = &r->binding[p->slot];
        return (byte_range){b->buf, b->offset, b->offset + (uint64_t)r->s->slot[p->slot].bytes};
    }
    const uint64_t from = c->scratch_at + (p->kind == EMIT_SCRATCH ? p->offset : 0);
    return (byte_range){m->scratch, from, m->scratch ? m->scratch->bytes : from};
}

/* A launch writes nothing into the memory of a pointer that its text marks with __restrict__: the compiler may load
 * such elements again after a store, and a GPU may keep them in a cache that stores do not reach. */
static ig_status check_restricted(const run *r, const program *p, const emitted_program *c,
                                  const emit_step *step)
{
    const device_memory *m = emitted_memory(r->dev);
    for (int i = 0; i < step->n_param; i++)
        for (int k = 0; k < step->n_param && step->param[i].alone; k++) {
            const emit_param *a = &step->param[i], *b = &step->param[k];
            if (!b->written || b->kind == EMIT_FAULT)
                continue;
            const byte_range x = range_of(r, c, a, m), y = range_of(r, c, b, m);
            char one[16], other[16];
            if (x.buf != y.buf || x.begin >= y.end || y.begin >= x.end)
                continue;
            FAIL(IG_ERR_INTERNAL,
                 "the schedule breaks the rule 'restrict': program %d (%s), slot %s: its kernel "
                 "'%s' writes the same memory through slot %s. Nothing was computed. This is a "
                 "defect of Ingot: please report it",
                 (int)(p - r->s->program) + 1, program_kinds[p->kind].name,
                 schedule_slot_name(r->s, a->slot, one), step->entry,
                 b->kind == EMIT_SLOT ? schedule_slot_name(r->s, b->slot, other) : "(scratch)");
        }
    return IG_OK;
}

static ig_status arrange(const run *r, const program *p)
{
    const backend *dev = r->dev;
    const binding *bindings = r->binding;
    const emitted_program *c = p->compiled;
    device_memory *m = emitted_memory(dev);
    for (int i = 0; i < c->e.n_step; i++) {
        const emit_step *step = &c->e.step[i];
        const struct ready_step *ready = &c->step[i];
        if (program_checks())
            TRY(check_restricted(r, p, c, step));
        for (int k = 0; k < step->n_param; k++) {
            ready->args[k].at = bind(c, &step->param[k], m, bindings);
            TRY(bring_number(ready, k, dev));
        }
        for (int k = 0; k < step->n_value; k++) {
            const emit_value *v = &step->value[k];
            const binding *b = &bindings[v->slot];
            const char *from = b->buf->device ? NULL : b->buf->data;
            if (from && v->bytes == sizeof(float)) /* the most common size */
                memcpy(step->sizes + v->at, from + b->offset + v->offset, sizeof(float));
            else
                TRY(transfer_read(b->buf, b->offset + v->offset, step->sizes + v->at, v->bytes));
        }
        for (int k = 0; k < step->n_record; k++) {
            const emit_record *at = &step->record[k];
            const int64_t wide = faults_record(&m->faults, r->s, p + at->program);
            const int32_t narrow = (int32_t)wide;
            memcpy(step->sizes + at->at, at->bytes == sizeof wide ? (const void *)&wide : &narrow,
                   at->bytes);
        }
        ready->args[step->n_param].bytes = step->sizes;
    }
    return IG_OK;
}

/* User kernels and programs that the CPU runs for the device are launched elsewhere. */
static bool is_emitted(const program *p) { return !program_is_custom(p) && !p->on_cpu; }

ig_status emitted_reserve_all(const schedule *s, const backend *dev)
{
    for (int i = 0; i < s->n_program; i += s->program[i].chain) {
        const program *p = &s->program[i];
        if (is_emitted(p))
            TRY(emitted_reserve(dev, p->compiled));
        else if (program_is_custom(p) && p->kernel->runner->reserve)
            TRY(p->kernel->runner->reserve(p, p->on_cpu ? &backend_cpu : dev));
    }
    return IG_OK;
}

ig_status emitted_rebind(const run *r)
{
    const schedule *s = r->s;
    for (int i = 0; i < s->n_program; i += s->program[i].chain)
        if (is_emitted(&s->program[i]))
            TRY(arrange(r, &s->program[i]));
    return IG_OK;
}

ig_status emitted_arrange(const run *r)
{
    TRY(emitted_reserve_all(r->s, r->dev));
    device_memory *m = emitted_memory(r->dev);
    if (m)
        TRY(faults_begin(&m->faults, r));
    return emitted_rebind(r);
}

/* Native code does not measure its time. The host's clock does, from an idle device to an idle device. */
static ig_status launch_native(const emitted_program *c, const backend *dev,
                               const binding *bindings, uint64_t *device_ns)
{
    const binding scratch = {emitted_memory(dev)->scratch, (size_t)c->scratch_at};
    if (!device_ns)
        return dev->native->launch(c->native, bindings, scratch);
    TRY(dev->finish(dev));
    const int64_t began = trace_clock();
    TRY(dev->native->launch(c->native, bindings, scratch));
    TRY(dev->finish(dev));
    *device_ns += (uint64_t)(trace_clock() - began);
    return IG_OK;
}

static ig_status launch_kernels(const emitted_program *c, const backend *dev, uint64_t *device_ns)
{
    uint64_t ns = 0;
    for (int i = 0; i < c->e.n_step; i++) {
        const emit_step *step = &c->e.step[i];
        const struct ready_step *r = &c->step[i];
        lane_launch l = {.base = {.shared_bytes = step->shared_bytes,
                                  .args = r->args,
                                  .label = c->label,
                                  .reach = dev->limits.reach_bytes,
                                  .device_ns = device_ns && r->code ? &ns : NULL}};
        memcpy(l.base.grid, step->grid, sizeof l.base.grid);
        memcpy(l.base.block, step->block, sizeof l.base.block);
        TRY(r->code ? dev->kernel_launch(r->code, &l.base)
                    : kernel_run(r->kernel, dev, step->entry, &l));
        if (device_ns)
            *device_ns += ns;
    }
    return IG_OK;
}

/* The shortest time of several launches of the native code or of the kernels, measured by the host's clock from an idle
 * device to an idle device. The first launch, which loads and compiles, does not count. */
static ig_status measure(const emitted_program *c, const backend *dev, const binding *bindings,
                         bool native, int64_t *best)
{
    enum { LAUNCHES = 4 };
    *best = INT64_MAX;
    for (int i = 0; i < LAUNCHES; i++) {
        TRY(dev->finish(dev));
        const int64_t began = trace_clock();
        TRY(native ? launch_native(c, dev, bindings, NULL) : launch_kernels(c, dev, NULL));
        TRY(dev->finish(dev));
        const int64_t took = trace_clock() - began;
        *best = i && took < *best ? took : *best;
    }
    return IG_OK;
}

/* The first launch of a program whose native code competes with the kernels. Both write the result; the kernels run
 * last, so their result stays. */
static ig_status contest(emitted_program *c, const backend *dev, const binding *bindings,
                         uint64_t *device_ns)
{
    int64_t native_ns, kernel_ns;
    TRY(measure(c, dev, bindings, true, &native_ns));
    TRY(measure(c, dev, bindings, false, &kernel_ns));
    if (device_ns)
        *device_ns += (uint64_t)kernel_ns;
    c->native->rival = false;
    c->kernels_idle = dev->native->decide(c->native, native_ns, kernel_ns);
    if (!c->kernels_idle) {
        dev->native->discard(c->native);
        c->native = NULL;
    }
    return IG_OK;
}

/* Programs of a loop's steps report faults in records that belong to the loop's. */
static ig_status launch_custom(const run *r, const program *p)
{
    device_memory *m = emitted_memory(r->dev);
    const int outer = m ? m->faults.in_loop : 0;
    if (m)
        m->faults.in_loop = faults_record(&m->faults, r->s, p) + 1;
    const ig_status status = p->kernel->runner->launch(p, r->dev, r->binding);
    if (m)
        m->faults.in_loop = outer;
    return status;
}

ig_status emitted_launch(const run *r, const program *p, uint64_t *device_ns)
{
    const backend *dev = r->dev;
    const binding *bindings = r->binding;
    if (program_is_custom(p))
        return launch_custom(r, p);
    emitted_program *c = p->compiled;
    if (c->native && c->native->rival)
        return contest(c, dev, bindings, device_ns);
    if (c->native)
        TRY(launch_native(c, dev, bindings, device_ns));
    return c->kernels_idle ? IG_OK : launch_kernels(c, dev, device_ns);
}

int emitted_launches(const program *p)
{
    const emitted_program *c = is_emitted(p) ? p->compiled : NULL;
    for (int i = 0; c && i < c->e.n_step; i++)
        if (!c->step[i].code)
            return 0;
    return c ? (c->kernels_idle ? 0 : c->e.n_step) + (c->native && !c->native->rival) : 0;
}

/* ---- failures ---- */

ig_status emitted_finish(const backend *dev)
{
    device_memory *m = emitted_memory(dev);
    return m ? faults_finish(&m->faults) : dev->finish(dev);
}

ig_status emitted_check(const backend *dev)
{
    device_memory *m = emitted_memory(dev);
    return m && faults_pending(&m->faults) ? faults_finish(&m->faults) : IG_OK;
}

/* Launches are queued, and readers wait for them. Lane code has already run, so its faults are reported now. */
ig_status emitted_end(const run *r, ig_status status, bool launched)
{
    device_memory *m = emitted_memory(r->dev);
    if (m)
        faults_end(&m->faults, r, status != IG_OK && launched);
    const ig_status finished = r->dev->lanes ? emitted_finish(r->dev) : IG_OK;
    return status == IG_OK ? finished : status;
}
