/* Handmade programs for the CPU device. */
#ifndef UNIT_CPU_PROGRAMS_H
#define UNIT_CPU_PROGRAMS_H

#include "engine/backend/cpu/cpu.h"

#include "base/threads.h"
#include "engine/ops/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 6, INSTS = 24 };

/* A program with room for its tapes, and memory for its slots. */
typedef struct bench {
    program p;
    tape_inst pre_inst[INSTS], post_inst[INSTS];
    operand pre_operand[SLOTS], post_operand[SLOTS];
    buffer buf[SLOTS];
    binding bind[SLOTS];
} bench;

static inline bench *bench_new(program_kind kind, ig_dtype dtype)
{
    bench *b = calloc(1, sizeof *b);
    b->p.kind = kind;
    b->p.dtype = dtype;
    b->p.pre.inst = b->pre_inst;
    b->p.pre.operand = b->pre_operand;
    b->p.post.inst = b->post_inst;
    b->p.post.operand = b->post_operand;
    for (int i = 0; i < SLOTS; i++)
        b->bind[i].buf = &b->buf[i];
    return b;
}

static inline void bind(bench *b, int slot, void *data) { b->buf[slot].data = data; }

static inline void space(tape *t, int ndim, const int64_t *shape)
{
    t->ndim = ndim;
    t->size = 1;
    for (int i = 0; i < ndim; i++) {
        t->shape[i] = shape[i];
        t->size *= shape[i];
    }
}

static inline view packed(int ndim, const int64_t *shape)
{
    view v;
    view_contiguous(&v, ndim, shape);
    return v;
}

/* The memory layout of rows. */
typedef enum layout { ALONG, ACROSS, BACKWARDS } layout;

/* Rows of `inner` elements. */
static inline view lay(layout how, int64_t outer, int64_t inner)
{
    const int64_t shape[2] = {outer, inner};
    view v = packed(2, shape);
    if (how == ACROSS) {
        v.stride[0] = 1;
        v.stride[1] = outer;
    }
    if (how == BACKWARDS) {
        v.stride[1] = -1;
        v.offset = inner - 1;
    }
    return v;
}

static inline view line(int64_t n) { return packed(1, &n); }

static inline int add_operand(tape *t, int slot, ig_dtype dtype, view v)
{
    t->operand[t->n_operand] = (operand){.slot = slot, .dtype = dtype, .v = v};
    return t->n_operand++;
}

/* Sets the inputs that an instruction does not have to -1. */
static inline tape_inst with_inputs(tape_inst in)
{
    const bool none = in.code == TAPE_LOAD || in.code == TAPE_IOTA || in.code == TAPE_BITS ||
                      in.code == TAPE_CORE;
    in.a = none ? -1 : in.a;
    in.b = in.code == TAPE_MAP ? in.b : -1;
    in.c = in.code == TAPE_MAP ? in.c : -1;
    return in;
}

static inline int add_inst(tape *t, tape_inst in)
{
    in = with_inputs(in);
    if (in.code != TAPE_STORE)
        in.dst = (int16_t)t->n_reg++;
    t->inst[t->n_inst++] = in;
    return in.dst;
}

static inline int load(tape *t, int slot, ig_dtype dtype, view v)
{
    const int o = add_operand(t, slot, dtype, v);
    return add_inst(t, (tape_inst){.code = TAPE_LOAD, .dtype = dtype, .operand = (int16_t)o});
}

static inline void store(tape *t, int reg, int slot, ig_dtype dtype, view v)
{
    const int o = add_operand(t, slot, dtype, v);
    add_inst(t, (tape_inst){
                    .code = TAPE_STORE, .dtype = dtype, .operand = (int16_t)o, .a = (int16_t)reg});
}

static inline int map(tape *t, int op, ig_dtype dtype, int a, int b, int c)
{
    return add_inst(t, (tape_inst){.code = TAPE_MAP,
                                   .op = (uint16_t)op,
                                   .dtype = dtype,
                                   .a = (int16_t)a,
                                   .b = (int16_t)b,
                                   .c = (int16_t)c});
}

static inline int core(tape *t, ig_dtype dtype)
{
    return add_inst(t, (tape_inst){.code = TAPE_CORE, .dtype = dtype});
}

static inline ig_status run(bench *b)
{
    assert_int_equal(backend_cpu.compile(&backend_cpu, &b->p), IG_OK);
    ig_status status = backend_cpu.launch(&b->p, b->bind);
    ig_status again = backend_cpu.finish(&backend_cpu);
    backend_cpu.discard(&b->p);
    return status ? status : again;
}

static uint64_t state = 7;
static inline uint64_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

static inline float next_float(void) { return ((float)next_random() - 0x1p30f) * 0x1p-29f; }

static inline float *floats(int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x + 1);
    for (int64_t i = 0; i < n; i++)
        x[i] = next_float();
    return x;
}

static const int thread_counts[] = {1, 2, 3, 8};
enum { THREAD_COUNTS = 4 };

#endif
