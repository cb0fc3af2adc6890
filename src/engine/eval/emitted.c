/* Programs as kernels; see emitted.h. */
#include "engine/eval/emitted_program.h"

#include "engine/eval/kernel_table.h"
#include "engine/eval/transfer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"
#include "engine/backend/lanes.h"
#include "engine/backend/pool.h"
#include "engine/emit/emit.h"
#include "engine/program/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MOST = 32 };

static device_memory devices[DEVICES_MOST];

device_memory *emitted_memory(const backend *dev)
{
    for (int i = 0; i < DEVICES_MOST; i++) {
        if (!devices[i].dev)
            devices[i].dev = devices[i].faults.dev = dev;
        if (devices[i].dev == dev)
            return &devices[i];
    }
    return NULL;
}

void emitted_release(void)
{
    kernels_release();
    for (int i = 0; i < DEVICES_MOST; i++) {
        buffer_release(devices[i].scratch);
        faults_release(&devices[i].faults);
        devices[i] = (device_memory){0};
    }
}

/* ---- compiling ---- */

static void program_free(emitted_program *c)
{
    if (!c)
        return;
    if (c->native)
        c->dev->native->discard(c->native);
    for (int i = 0; c->step && i < c->e.n_step; i++)
        if (c->step[i].kernel)
            kernel_give(c->step[i].kernel);
    memory_free(c->step);
    emitted_free(&c->e);
    memory_free(c->args);
    for (int i = 0; c->brought && i < c->n_args; i++)
        buffer_release(c->brought[i]);
    memory_free(c->brought);
    memory_free(c);
}

static void discard(program *p, const backend *dev)
{
    (void)dev;
    program_free(p->compiled);
    p->compiled = NULL;
}

static const char *core_name(const program *p)
{
    const emitted_program *c = program_is_custom(p) ? NULL : p->compiled;
    return c && c->native && !c->native->rival ? c->native->name : NULL;
}

/* Where the plan puts slot k. Temporaries that replace each other in place are in the same part of the arena. */
static emit_memory memory_of(const schedule *s, int k)
{
    enum { ARENA = -1 };
    const int64_t bytes = s->slot[k].bytes;
    while (s->slot[k].kind != SLOT_LEAF && s->slot[k].shares >= 0)
        k = s->slot[k].shares;
    const bool placed = s->slot[k].kind == SLOT_TEMP;
    const int64_t begin = placed ? s->slot[k].offset : 0;
    return (emit_memory){placed ? ARENA : k, begin, begin + bytes};
}

static ig_status emit(const schedule *s, const program *p, const backend *dev, emitted *out)
{
    const backend_limits *l = &dev->limits;
    bool *by_value = memory_new((size_t)s->n_slot + 1);
    emit_memory *memory = memory_new((size_t)(s->n_slot + 1) * sizeof *memory);
    ig_status status = by_value && memory ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        memory[s->n_slot].space = s->n_slot; /* the slot of the core's values */
    for (int k = 0; k < s->n_slot && status == IG_OK; k++) {
        memory[k] = memory_of(s, k);
        by_value[k] = s->slot[k].is_number;
    }
    bool same = false;
    for (int k = 0; k < p->chain && status == IG_OK; k++)
        same =
            same || (p[k].math == IG_MATH_SAME && dtype_is_float(p[k].dtype)); /* integers wrap */
    const bool warps = l->shuffles || l->masked_shuffles || dev->lanes;
    const emit_target target = {.subgroup = warps ? l->subgroup : 0,
                                .threads = l->threads,
                                .shared_bytes = l->shared_bytes,
                                .processors = l->processors,
                                .f64 = l->f64,
                                .cpu = l->cpu,
                                .same = same,
                                .extremes = l->extremes,
                                .matrices = l->matrices,
                                .by_value = by_value,
                                .memory = memory,
                                .buffer_bytes = l->alloc_bytes,
                                .reach_bytes = l->reach_bytes};
    if (status == IG_OK)
        status = emit_program(p, &target, out);
    memory_free(by_value);
    memory_free(memory);
    return status;
}

static ig_status support(schedule *s, const backend *dev)
{
    for (int i = 0; i < s->n_program; i += s->program[i].chain) {
        emitted e = {0};
        if (s->program[i].kind == PROGRAM_KERNEL)
            continue;
        TRY(emit(s, &s->program[i], dev, &e));
        emitted_free(&e);
    }
    return IG_OK;
}

/* Programs share the scratch memory. If launches are replayed as a whole, neighbouring programs use different parts of
 * it, unless these are large, so that they can run concurrently. */
static uint64_t scratch_place(const backend *dev, uint64_t bytes, int i)
{
    enum { PARTS = 4, LARGE = 16 << 20, SHARE = 64, ALIGN = 256 };
    uint64_t part = ALIGN, most = dev->pool ? pool_limit(dev->pool) / SHARE : LARGE;
    while (part < bytes)
        part *= 2;
    most = most < LARGE ? most : LARGE;
    return dev->replay && bytes <= most ? (uint64_t)(i % PARTS) * part : 0;
}

/* A map needs none. */
static uint64_t scratch(const schedule *s, const backend *dev)
{
    const bool waits = ig_failed();
    uint64_t most = 0;
    for (int i = 0; i < s->n_program; i += s->program[i].chain) {
        const program *p = &s->program[i];
        emitted e = {0};
        if (p->kind == PROGRAM_KERNEL || (p->kind == PROGRAM_MAP && p->chain == 1))
            continue;
        if (emit(s, p, dev, &e) != IG_OK) {
            if (!waits)
                ig_error(NULL); /* another device runs it, or the evaluation fails */
            continue;
        }
        const uint64_t own = e.scratch_bytes, all = own ? scratch_place(dev, own, i) + own : 0;
        most = all > most ? all : most;
        emitted_free(&e);
    }
    return most;
}

/* Checks the size of the parameters. The last parameter holds the sizes and the numbers passed by value. */
static ig_status check_params(schedule *s, const emit_step *step, const backend *dev)
{
    enum { BUFFER_BYTES = 16 };
    const backend_limits *l = &dev->limits;
    const uint64_t bytes = (uint64_t)step->n_param * BUFFER_BYTES + step->sizes_bytes;
    s->is_crowded = (l->buffers && step->n_param + 1 > l->buffers) ||
                    (l->param_bytes && bytes > l->param_bytes);
    if (s->is_crowded)
        FAIL(IG_ERR_UNSUPPORTED,
             "a kernel has %d parameters with %llu bytes, but %s allows %d with %llu; evaluate its "
             "inputs in several steps",
             step->n_param + 1, (unsigned long long)bytes, dev->name, l->buffers,
             (unsigned long long)l->param_bytes);
    return IG_OK;
}

static ig_status prepare_kernels(schedule *s, emitted_program *c, const backend *dev,
                                 module_batch *batch)
{
    for (int i = 0; i < c->e.n_step; i++) {
        TRY(check_params(s, &c->e.step[i], dev));
        c->n_args += c->e.step[i].n_param + 1;
    }
    c->step = memory_new((size_t)(c->e.n_step + 1) * sizeof *c->step);
    c->args = memory_new((size_t)(c->n_args + 1) * sizeof *c->args);
    c->brought = memory_new((size_t)(c->n_args + 1) * sizeof *c->brought);
    if (!c->step || !c->args || !c->brought)
        return IG_ERR_MEMORY;
    for (int i = 0, at = 0; i < c->e.n_step; at += c->e.step[i++].n_param + 1) {
        const emit_step *step = &c->e.step[i];
        struct ready_step *r = &c->step[i];
        r->args = c->args + at;
        r->brought = c->brought + at;
        r->kernel = kernel_take(step->source);
        if (!r->kernel)
            return error_waiting(IG_ERR_MEMORY);
        TRY(kernel_code_of(r->kernel, dev, step->entry, step->block, batch, &r->code));
    }
    return IG_OK;
}

/* ---- programs with native code ---- */

/* True if the core reads a number. Native code cannot, because a number has no memory on the device. */
static bool core_reads_number(const schedule *s, const program *p)
{
    for (int k = 0; k < p->chain; k++) {
        int slots[3];
        for (int n = program_core_slots(&p[k], slots), i = 0; i < n; i++)
            if (s->slot[slots[i]].is_number)
                return true;
    }
    return false;
}

/* True if a core of the chain reads blocks, which native code does not know. */
static bool core_reads_blocks(const program *p)
{
    bool reads = false;
    for (int k = 0; k < p->chain && !reads; k++)
        for (int i = 0; i < program_kinds[p[k].kind].core_inputs; i++)
            reads = reads || !storage_is_plain(p[k].in[i].stored);
    return reads;
}

/* Emits the epilogue of p alone: a map program that loads the core's values from a slot after the others. */
static ig_status emit_epilogue(const schedule *s, const program *p, const backend *dev,
                               emitted *out)
{
    const tape *post = &p->post;
    program map = {
        .kind = PROGRAM_MAP, .dtype = p->dtype, .math = p->math, .chain = 1, .pre = *post};
    tape *t = &map.pre;
    map.post.result = -1;
    t->inst = memory_get((size_t)post->n_inst * sizeof *t->inst);
    t->operand = memory_get((size_t)(post->n_operand + 1) * sizeof *t->operand);
    ig_status status = t->inst && t->operand ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        memcpy(t->inst, post->inst, (size_t)post->n_inst * sizeof *t->inst);
        if (post->n_operand)
            memcpy(t->operand, post->operand, (size_t)post->n_operand * sizeof *t->operand);
        operand *core = &t->operand[t->n_operand];
        *core = (operand){.slot = s->n_slot, .dtype = (ig_dtype)post->inst[0].dtype};
        view_contiguous(&core->v, post->ndim, post->shape);
        for (int k = 0; k < t->n_inst; k++)
            if (t->inst[k].code == TAPE_CORE) {
                t->inst[k].code = TAPE_LOAD;
                t->inst[k].operand = (int16_t)t->n_operand;
            }
        t->n_operand++;
        status = emit(s, &map, dev, out);
    }
    memory_free(t->inst);
    memory_free(t->operand);
    return status;
}

static ig_status prepare_native(const schedule *s, const program *p, const backend *dev,
                                native_code **out)
{
    bool *by_value = memory_new((size_t)s->n_slot + 1);
    if (!by_value)
        return IG_ERR_MEMORY;
    for (int k = 0; k < s->n_slot; k++)
        by_value[k] = s->slot[k].is_number;
    const ig_status status = dev->native->prepare(dev, p, by_value, out);
    memory_free(by_value);
    return status;
}

static ig_status make(const schedule *s, int i, const backend *dev, emitted_program *c)
{
    const program *p = &s->program[i];
    c->dev = dev;
    c->core_slot = s->n_slot;
    for (int k = 0, used = 0; k < p->chain && used < (int)sizeof c->label; k++) {
        char ops[FAULT_OPS_BYTES];
        used += snprintf(c->label + used, sizeof c->label - (size_t)used, "%s%s", k ? " / " : "",
                         fault_ops(&p[k], ops));
    }
    if (dev->native && !core_reads_number(s, p) && !core_reads_blocks(p))
        TRY(prepare_native(s, p, dev, &c->native));
    if (c->native)
        c->native->label = c->label;
    if (!c->native && p->kind == PROGRAM_KERNEL)
        FAIL(IG_ERR_UNSUPPORTED, "device '%s' cannot run '%s'", dev->name, p->kernel->name);
    if (!c->native || c->native->rival)
        return emit(s, p, dev, &c->e);
    return c->native->core_only ? emit_epilogue(s, p, dev, &c->e) : IG_OK;
}

static uint64_t scratch_bytes(const emitted_program *c)
{
    const uint64_t own = c->native ? c->native->scratch_bytes : 0;
    return own > c->e.scratch_bytes ? own : c->e.scratch_bytes;
}

/* Scratch memory grows to the largest size that a program needs. */
ig_status emitted_reserve(const backend *dev, const emitted_program *c)
{
    const emitted *e = &c->e;
    const uint64_t own = scratch_bytes(c), bytes = own ? c->scratch_at + own : 0;
    device_memory *m = emitted_memory(dev);
    if (!m)
        FAIL(IG_ERR_DEVICE, "more than %d devices are in use", DEVICES_MOST);
    if (dev->limits.reach_bytes && bytes > dev->limits.alloc_bytes)
        FAIL(IG_ERR_UNSUPPORTED,
             "a launch needs %llu bytes of memory; a buffer there has at most %llu",
             (unsigned long long)bytes, (unsigned long long)dev->limits.alloc_bytes);
    if (bytes && (!m->scratch || m->scratch->bytes < bytes)) {
        buffer_release(m->scratch);
        m->scratch = dev->alloc(dev, (size_t)bytes);
        if (!m->scratch)
            return IG_ERR_MEMORY;
    }
    return e->may_fault ? faults_reserve(&m->faults) : IG_OK;
}

void emitted_trim(const backend *dev)
{
    device_memory *m = emitted_memory(dev);
    if (!m || !m->scratch)
        return;
    dev->finish(dev); /* a failure is reported by the buffers that it spoiled */
    buffer_release(m->scratch);
    m->scratch = NULL;
}

/* Takes the kernels whose build was deferred, and builds those that were not built. */
static ig_status complete(program *p, const backend *dev)
{
    const emitted_program *c = p->compiled;
    ig_status status = IG_OK;
    for (int i = 0; i < c->e.n_step && status == IG_OK; i++) {
        const emit_step *step = &c->e.step[i];
        if (!c->step[i].code)
            status = kernel_code_of(c->step[i].kernel, dev, step->entry, step->block, NULL,
                                    &c->step[i].code);
    }
    if (status != IG_OK)
        discard(p, dev);
    return status;
}

static ig_status prepare(schedule *s, int i, const backend *dev, module_batch *batch)
{
    program *p = &s->program[i];
    if (p->chain == 0)
        return IG_OK;
    if (p->compiled)
        return complete(p, dev);
    emitted_program *c = memory_new(sizeof *c);
    if (!c)
        return IG_ERR_MEMORY;
    ig_status status = make(s, i, dev, c);
    if (status == IG_OK)
        status = prepare_kernels(s, c, dev, batch);
    c->scratch_at = scratch_place(dev, scratch_bytes(c), i);
    if (status == IG_OK)
        status = emitted_reserve(dev, c);
    if (status == IG_OK)
        p->compiled = c;
    else
        program_free(c);
    return status;
}

scratch_range emitted_scratch(const program *p)
{
    const emitted_program *c = p->compiled;
    return (scratch_range){c->scratch_at, c->scratch_at + scratch_bytes(c)};
}

/* A chain of emitted kernels keeps its temporaries in shared memory; the folds use a part of it, too. */
static schedule_rules rules(const backend *dev)
{
    enum { FOLD_BYTES = 8192, NARROW = 512 };
    const int64_t shared = (int64_t)dev->limits.shared_bytes;
    return (schedule_rules){.contract_ends = true,
                            .contract_width = dev->limits.cpu ? 0 : NARROW,
                            .plain_product = dev->native ? dev->native->plain_product : 0,
                            .half_epilogues = dev->native && dev->native->half_epilogues,
                            .chain_bytes =
                                shared > 2 * FOLD_BYTES ? shared - FOLD_BYTES : FOLD_BYTES,
                            .warp_points = 1024,
                            .warp_rows = 8};
}

const executor executor_emitted = {.rules = rules,
                                   .support = support,
                                   .scratch = scratch,
                                   .prepare = prepare,
                                   .discard = discard,
                                   .arrange = emitted_arrange,
                                   .reserve = emitted_reserve_all,
                                   .rebind = emitted_rebind,
                                   .launch = emitted_launch,
                                   .finish = emitted_end,
                                   .core_name = core_name};
