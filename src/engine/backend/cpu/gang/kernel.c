/* Kernels on the CPU: lane code, prepared once for each block size and run by gangs. */
#include "engine/backend/cpu/gang/kernel.h"

#include "engine/backend/cpu/gang/check.h"
#include "engine/backend/cpu/gang/profile.h"
#include "engine/backend/cpu/native/native.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

/* ---- memory ---- */

ig_status cpu_memory_write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    memcpy((char *)to->data + offset, from, bytes);
    return IG_OK;
}

ig_status cpu_memory_read(buffer *from, size_t offset, void *to, size_t bytes)
{
    memcpy(to, (const char *)from->data + offset, bytes);
    return IG_OK;
}

ig_status cpu_memory_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset,
                          size_t bytes)
{
    memcpy((char *)to->data + to_offset, (const char *)from->data + from_offset, bytes);
    return IG_OK;
}

ig_status cpu_memory_fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    memset((char *)to->data + offset, value, bytes);
    return IG_OK;
}

/* ---- kernels ---- */

enum { NATIVE_SHAPES = 4 /* block shapes of a kernel that have native code */ };

typedef struct cpu_kernel {
    kernel_code base;
    const lane_code *lanes;
    gang_code *ready;                    /* for the last block size, or NULL */
    native_build *native[NATIVE_SHAPES]; /* in the order of their first launches */
    int64_t native_ns[NATIVE_SHAPES];    /* that they ran as lane code */
    int n_params;
    kernel_param params[];
} cpu_kernel;

static ig_status build(const backend *dev, const lane_code *code, const kernel_param *params,
                       int n_params, kernel_code **out)
{
    cpu_kernel *k = memory_new(sizeof *k + (size_t)n_params * sizeof *k->params);
    if (!k)
        return IG_ERR_MEMORY;
    k->base.dev = dev;
    k->lanes = code;
    k->n_params = n_params;
    if (n_params)
        memcpy(k->params, params, (size_t)n_params * sizeof *k->params);
    *out = &k->base;
    return IG_OK;
}

void cpu_kernel_discard(kernel_code *code)
{
    cpu_kernel *k = (cpu_kernel *)code;
    gang_code_free(k->ready);
    for (int n = 0; n < NATIVE_SHAPES; n++)
        native_build_free(k->native[n]);
    memory_free(k);
}

static void pack(const cpu_kernel *k, const lane_launch *l, char *arguments)
{
    if (l->packed) {
        memcpy(arguments, l->packed, k->lanes->argument_bytes);
        return;
    }
    for (int i = 0; i < k->n_params; i++) {
        const kernel_arg *a = &l->base.args[i];
        const kernel_param *p = &k->params[i];
        const char *at = a->at.buf ? (const char *)a->at.buf->data + a->at.offset : NULL;
        if (p->kind == KERNEL_BUFFER)
            memcpy(arguments + p->offset, &(uint64_t){(uintptr_t)at}, 8);
        else
            memcpy(arguments + p->offset, a->bytes, p->bytes);
    }
}

static ig_status fault_status(const cpu_kernel *k, const gang_fault *f)
{
    if (f->kind == FAULT_NONE)
        return IG_OK;
    if (f->kind == FAULT_STOPPED)
        FAIL(IG_ERR_DEVICE, "kernel '%s' was stopped", k->lanes->name);
    if (f->kind == FAULT_MEMORY)
        FAIL(IG_ERR_DEVICE,
             "kernel '%s' used a bad pointer: address 0x%" PRIx64
             " in block (%u, %u, %u) is not memory of this process; run the kernel with --check to "
             "find the line",
             k->lanes->name, f->address, f->block[0], f->block[1], f->block[2]);
    if (f->kind == FAULT_STUCK)
        FAIL(IG_ERR_DEVICE,
             "kernel '%s' does not end: block (%u, %u, %u) waits in a loop for a value in memory "
             "that no "
             "thread writes%s; run the kernel with --check to find the line",
             k->lanes->name, f->block[0], f->block[1], f->block[2],
             f->waiting
                 ? ", and there is no memory for further blocks to run at the same time: launch "
                   "fewer blocks, or split the kernel where they wait"
                 : ": threads of one warp cannot wait for each other, and a barrier of the grid "
                   "needs another launch");
    const code_message *m = &k->lanes->message[f->row];
    FAIL(IG_ERR_DEVICE,
         "kernel '%s': %s%s, by thread (%u, %u, %u) of block (%u, %u, %u), at %s:%" PRId64,
         k->lanes->name, f->kind == FAULT_ASSERT ? "assertion failed: " : "", m->text, f->thread[0],
         f->thread[1], f->thread[2], f->block[0], f->block[1], f->block[2], m->file, m->line);
}

/* The size of the memory that a pointer parameter points to; 0: only check->memory knows it. */
static uint64_t bytes_behind(const cpu_kernel *k, const lane_launch *l, const code_object *o)
{
    for (int i = 0; i < k->n_params && !l->packed && o->origin == ORIGIN_PARAMETER; i++) {
        const binding *at = &l->base.args[i].at;
        if (k->params[i].kind == KERNEL_BUFFER && k->params[i].offset == o->offset && at->buf)
            return at->buf->bytes - at->offset;
    }
    return 0;
}

static ig_status check_new(const cpu_kernel *k, const lane_launch *l, const gang_launch *g,
                           gang_check **out)
{
    uint64_t *bytes = memory_new(((size_t)k->lanes->n_object + 1) * sizeof *bytes);
    for (int i = 0; bytes && i < k->lanes->n_object; i++)
        bytes[i] = bytes_behind(k, l, &k->lanes->object[i]);
    *out = bytes ? gang_check_new(k->ready, g, bytes, l->check) : NULL;
    memory_free(bytes);
    return *out ? IG_OK : IG_ERR_MEMORY;
}

/* Runs the grid, with the checker and the profiler if the launch asks for them. */
static ig_status run_watched(const cpu_kernel *k, const lane_launch *l, gang_launch *g,
                             gang_fault *fault)
{
    gang_check *check = NULL;
    gang_profile *profile = NULL;
    ig_status status = l->check ? check_new(k, l, g, &check) : IG_OK;
    if (status == IG_OK && l->profile) {
        profile = gang_profile_new(k->ready, g, l->profile);
        status = profile ? IG_OK : IG_ERR_MEMORY;
    }
    if (profile)
        g->watch = &profile->watch;
    if (check) { /* first: the profiler counts only accesses that are made */
        check->watch.next = g->watch;
        g->watch = &check->watch;
    }
    if (status == IG_OK)
        status = gang_run_grid(k->ready, g, fault);
    gang_check_free(check);
    gang_profile_free(profile);
    return status;
}

/* The number of the build for the launch's block shape; -1: it runs as lane code. */
static int native_of(cpu_kernel *k, const lane_launch *l)
{
    const native_policy policy = native_policy_now();
    int n = 0;
    if (policy == NATIVE_OFF || l->check || l->profile)
        return -1;
    while (n < NATIVE_SHAPES && k->native[n] && !native_build_is_for(k->native[n], l->base.block))
        n++;
    if (n == NATIVE_SHAPES)
        return -1;
    if (!k->native[n])
        k->native[n] = native_build_new(k->lanes, l->base.block);
    if (k->native[n] && policy == NATIVE_WAIT)
        native_build_finish(k->native[n]);
    return k->native[n] ? n : -1;
}

static ig_status launch(kernel_code *code, const lane_launch *l)
{
    cpu_kernel *k = (cpu_kernel *)code;
    const uint64_t threads = (uint64_t)l->base.block[0] * l->base.block[1] * l->base.block[2];
    gang_fault fault = {0};
    if (!k->ready || k->ready->threads != (int)threads) {
        gang_code_free(k->ready);
        k->ready = gang_compile(k->lanes, (int)threads);
    }
    char *arguments = memory_new(k->lanes->argument_bytes + 8);
    ig_status status = k->ready && arguments ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        pack(k, l, arguments);
        gang_launch g = {.dynamic_bytes = l->base.shared_bytes,
                         .arguments = arguments,
                         .globals =
                             l->globals ? (char *)l->globals->buf->data + l->globals->offset : NULL,
                         .print = l->print,
                         .context = l->context};
        memcpy(g.grid, l->base.grid, sizeof g.grid);
        memcpy(g.block, l->base.block, sizeof g.block);
        const int native = native_of(k, l);
        g.native = native < 0 ? NULL : k->native[native];
        g.native_ns = native < 0 ? 0 : k->native_ns[native];
        const int64_t begin = clock_ns();
        status = run_watched(k, l, &g, &fault);
        const int64_t ns = clock_ns() - begin;
        if (l->base.device_ns)
            *l->base.device_ns = (uint64_t)ns;
        if (native >= 0)
            k->native_ns[native] += ns;
    }
    if (l->asserted)
        *l->asserted = fault.kind == FAULT_ASSERT;
    memory_free(arguments);
    return status == IG_OK ? fault_status(k, &fault) : status;
}

const lane_runner cpu_lanes = {.build = build, .launch = launch};
