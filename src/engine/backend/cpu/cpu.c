/* The CPU backend: a table of cores, one for each kind of program. A launch returns when it is
 * done. */
#include "engine/backend/cpu/attention_grad.h"

#include "engine/backend/cpu/contract/blas.h"
#include "engine/backend/cpu/gang/kernel.h"
#include "engine/backend/cpu/lapack.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "engine/program/override.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct core {
    size_t (*scratch)(const program *p);
    ig_status (*launch)(const program *p, const binding *b);
    void *(*plan)(const program *p); /* makes p->compiled; NULL if it has none */
} core;

/* ---- nodes that native code computes ---- */

static bool is_lapack(const program *p) { return cpu_lapack_runs(p->kernel->native); }

static bool is_attention_grad(const program *p)
{
    return cpu_attention_grad_runs(p->kernel->native);
}

static size_t native_scratch(const program *p)
{
    return is_lapack(p)           ? 0
           : is_attention_grad(p) ? cpu_attention_grad_scratch(p)
                                  : cpu_attention_scratch(p);
}

static void *native_plan(const program *p)
{
    return is_lapack(p)           ? cpu_lapack_plan(p)
           : is_attention_grad(p) ? cpu_attention_grad_plan(p)
                                  : cpu_attention_plan(p);
}

static ig_status native_launch(const program *p, const binding *b)
{
    return is_lapack(p)           ? cpu_lapack(p, b)
           : is_attention_grad(p) ? cpu_attention_grad(p, b)
                                  : cpu_attention(p, b);
}

static const core cores[] = {
    [PROGRAM_MAP] = {cpu_map_scratch, cpu_map, NULL},
    [PROGRAM_REDUCE] = {cpu_reduce_scratch, cpu_reduce, cpu_reduce_plan},
    [PROGRAM_ARGREDUCE] = {cpu_reduce_scratch, cpu_reduce, cpu_reduce_plan},
    [PROGRAM_CONTRACT] = {cpu_contract_scratch, cpu_contract, cpu_contract_plan},
    [PROGRAM_SCAN] = {cpu_scan_scratch, cpu_scan, NULL},
    [PROGRAM_SORT] = {cpu_sort_scratch, cpu_sort, NULL},
    [PROGRAM_ARGSORT] = {cpu_sort_scratch, cpu_sort, NULL},
    [PROGRAM_SEARCH] = {cpu_search_scratch, cpu_search, NULL},
    [PROGRAM_WRITE] = {cpu_write_scratch, cpu_write, NULL},
    [PROGRAM_KERNEL] = {native_scratch, native_launch, native_plan},
};

static pthread_once_t note_once = PTHREAD_ONCE_INIT;
static char note[512];

static void write_note(void)
{
    const char *const notes[] = {machine_threads_note(), cpu_level_note(), blas_note(),
                                 lapack_note(), override_note()};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        const size_t used = strlen(note);
        if (notes[i])
            snprintf(note + used, sizeof note - used, "%s%s", used ? "; " : "", notes[i]);
    }
}

static ig_status describe(const backend *dev, ig_device_info *info)
{
    (void)dev;
    const machine_facts *m = machine_get();
    pthread_once(&note_once, write_note);
    *info = (ig_device_info){
        .name = "cpu",
        .kind = "cpu",
        .model = m->cpu,
        .level = cpu_level_now()->name,
        .levels = cpu_level_names(),
        .isa = m->isa,
        .note = note[0] ? note : NULL,
        .blas = blas_describe(),
        .limits = m->limits[0] ? m->limits : NULL,
        .cores = m->cores_logical,
        .threads = pool_threads(),
        .quota = m->cpu_quota,
        .memory = (uint64_t)m->memory_bytes,
        .memory_limit = ig_memory_limit(),
        .cache = {(uint64_t)m->cache_l1d_bytes, (uint64_t)m->cache_l2_bytes,
                  (uint64_t)m->cache_l3_bytes},
    };
    machine_cores(&info->performance_cores, &info->efficiency_cores);
    return IG_OK;
}

static buffer *alloc(const backend *dev, size_t bytes)
{
    (void)dev;
    return buffer_new(bytes);
}

static ig_status plan_tape(tape *t)
{
    if (t->n_inst == 0)
        return IG_OK;
    TRY(tape_assign_registers(t));
    void *memory = memory_get(tape_plan_bytes(t));
    if (!memory)
        return IG_ERR_MEMORY;
    tape_plan_in(t, memory);
    return IG_OK;
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int turns; /* that the calling thread has taken */

void cpu_turn_begin(void)
{
    if (turns++ == 0)
        pthread_mutex_lock(&turn);
}

void cpu_turn_end(void)
{
    if (--turns == 0)
        pthread_mutex_unlock(&turn);
}

static ig_status compile_in_turn(program *p)
{
    const core *c = &cores[p->kind];
    TRY(plan_tape(&p->pre));
    TRY(plan_tape(&p->post));
    p->compiled = c->plan ? c->plan(p) : NULL;
    if (c->plan && !p->compiled)
        return IG_ERR_MEMORY;
    return scratch_reserve(c->scratch(p));
}

static ig_status compile(const backend *dev, program *p)
{
    (void)dev;
    cpu_turn_begin();
    const ig_status status = compile_in_turn(p);
    cpu_turn_end();
    return status;
}

static void discard(program *p)
{
    void **const made[] = {&p->compiled, &p->pre.compiled, &p->post.compiled};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        memory_free(*made[i]);
        *made[i] = NULL;
    }
}

static const char *core_name(const program *p)
{
    return p->kind == PROGRAM_CONTRACT                         ? cpu_contract_how(p)
           : !(p->kind == PROGRAM_KERNEL && p->kernel->native) ? NULL
           : is_lapack(p)                                      ? cpu_lapack_name()
                                                               : cpu_attention_how(p);
}

static bool offers(const backend *dev, const node_native *n)
{
    (void)dev;
    return cpu_attention_offers(n) || cpu_attention_grad_offers(n) || cpu_lapack_offers(n);
}

/* The engine launches programs of such nodes like all others. */
static const backend_native native = {.offers = offers};

/* compile has reserved the scratch, unless the number of threads has grown or p is a chain. */
static ig_status launch_in_turn(const program *p, const binding *bindings)
{
    const core *c = &cores[p->kind];
    if (p->chain > 1) {
        TRY(scratch_reserve(cpu_chain_scratch(p)));
        return cpu_chain(p, bindings);
    }
    TRY(scratch_renew());
    return c->launch(p, bindings);
}

static ig_status launch(const program *p, const binding *bindings)
{
    cpu_turn_begin();
    const ig_status status = launch_in_turn(p, bindings);
    cpu_turn_end();
    return status;
}

static ig_status finish(const backend *dev)
{
    (void)dev;
    return IG_OK;
}

static void release(const backend *dev)
{
    (void)dev;
    cpu_turn_begin();
    scratch_free();
    cpu_turn_end();
}

const backend backend_cpu = {
    .name = "cpu",
    .computes = true,
    .describe = describe,
    .alloc = alloc,
    .compile = compile,
    .discard = discard,
    .core_name = core_name,
    .launch = launch,
    .product_k = cpu_contract_k,
    .native = &native,
    .finish = finish,
    .release = release,
    .limits = {GANG_LIMITS, .shared_bytes = 1 << 20, .in_place = true},
    .write = cpu_memory_write,
    .read = cpu_memory_read,
    .copy = cpu_memory_copy,
    .fill = cpu_memory_fill,
    .kernel_discard = cpu_kernel_discard,
    .lanes = &cpu_lanes,
};
