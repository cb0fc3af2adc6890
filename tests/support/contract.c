#include "support/contract.h"

#include "base/memory.h"
#include "base/threads.h"
#include "engine/ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const ig_dtype contract_dtypes[CONTRACT_DTYPES] = {IG_I8,  IG_I16, IG_I32, IG_I64,  IG_U8,  IG_U16,
                                                   IG_U32, IG_U64, IG_F16, IG_BF16, IG_F32, IG_F64};
bool wide_sums;

/* ---- random numbers ---- */

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

/* ---- one case ---- */

void layout_axes(view *v, layout how)
{
    int order[IG_MAX_NDIM];
    for (int i = 0; i < v->ndim; i++)
        order[i] = how == REVERSED ? i : v->ndim - 1 - i;
    for (int i = v->ndim - 1; how == ANY && i > 0; i--) {
        const int j = (int)random_below(i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    int64_t step = how == GAPPED || (how == ANY && random_below(3) == 0) ? 2 : 1;
    for (int i = 0; i < v->ndim; i++) {
        const int axis = order[i];
        v->stride[axis] = step;
        step *= v->shape[axis] > 0 ? v->shape[axis] : 1;
        const int64_t dice = how == ANY ? random_below(10) : -1;
        if (how == FLIPPED || dice == 0 || dice == 1)
            v->stride[axis] = -v->stride[axis];
        if ((how == STILL && axis % 2 == 0) || dice == 2)
            v->stride[axis] = 0;
        if (dice == 3)
            v->stride[axis] = 1 + random_below(4);
    }
}

/* Sets the offset so that the lowest element of the view is element 0; returns the number of elements that it spans. */
static int64_t view_settle(view *v)
{
    int64_t low = 0, high = 0;
    v->offset = 0;
    if (view_size(v) > 0)
        view_bounds(v, &low, &high);
    v->offset = -low;
    return high - low + 1;
}

/* Small magnitudes for floats; any bits for integers. */
static void fill(ig_dtype dtype, void *data, int64_t n)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = random_bits();
        if (dtype_is_float(dtype))
            dtype_store(dtype, (char *)data + i * bytes, (double)(int64_t)bits * 0x1p-63);
        else
            memcpy((char *)data + i * bytes, &bits, (size_t)bytes);
    }
}

void work_buffer(work *w, int slot, ig_dtype dtype, int64_t elements)
{
    const size_t bytes = (size_t)elements * ig_dtype_bytes(dtype);
    w->buf[slot].data = malloc(bytes + 1);
    assert_non_null(w->buf[slot].data);
    w->buf[slot].bytes = bytes;
    w->bindings[slot] = (binding){&w->buf[slot], 0};
    fill(dtype, w->buf[slot].data, elements);
}

static int16_t work_inst(work *w, tape_inst inst)
{
    if (inst.code == TAPE_CORE || inst.code == TAPE_LOAD)
        inst.a = -1;
    if (inst.code != TAPE_MAP)
        inst.b = -1;
    inst.c = -1;
    w->inst[w->p.post.n_inst++] = inst;
    return inst.dst;
}

/* The post tape: the core's value, rounded if the dtype requires it, plus the bias (if fused). */
static void work_tape(work *w, bool fused)
{
    tape *t = &w->p.post;
    const ig_dtype dtype = w->result;
    const uint8_t d = (uint8_t)dtype;
    t->inst = w->inst;
    t->operand = w->operand;
    t->n_inst = 0;
    int16_t value = work_inst(w, (tape_inst){.code = TAPE_CORE, .dtype = d, .dst = 0});
    if (dtype_is_half(dtype))
        value = work_inst(w, (tape_inst){.code = TAPE_ROUND, .dtype = d, .to = d, .dst = 1});
    if (fused) {
        work_inst(w, (tape_inst){.code = TAPE_LOAD, .dtype = d, .operand = 1, .dst = 2});
        value = work_inst(
            w,
            (tape_inst){.code = TAPE_MAP, .dtype = d, .op = OP_add, .dst = 3, .a = value, .b = 2});
        if (dtype_is_half(dtype))
            value = work_inst(
                w, (tape_inst){.code = TAPE_ROUND, .dtype = d, .to = d, .dst = 4, .a = value});
    }
    work_inst(w, (tape_inst){.code = TAPE_STORE, .dtype = d, .operand = 0, .a = value});
    t->n_operand = fused ? 2 : 1;
    t->n_reg = 5;
}

void work_shape(work *w, ig_dtype dtype, const int ndim[4], const int64_t *shape)
{
    memset(w, 0, sizeof *w);
    program *p = &w->p;
    w->result = !wide_sums             ? dtype
                : dtype == IG_I8       ? IG_I32
                : dtype_is_half(dtype) ? IG_F32
                                       : dtype;
    p->kind = PROGRAM_CONTRACT;
    p->dtype = dtype;
    const int64_t *from = shape;
    view *a = &p->in[0].v, *b = &p->in[1].v, *out = &w->operand[0].v;
    for (int g = 0; g < 4; g++) {
        p->ndim[g] = (uint8_t)ndim[g];
        p->extent[g] = 1;
        for (int i = 0; i < ndim[g]; i++, from++) {
            p->extent[g] *= *from;
            if (g != 2)
                a->shape[a->ndim++] = *from;
            if (g != 1)
                b->shape[b->ndim++] = *from;
        }
    }
    view_contiguous(out, 3, p->extent);
    p->in[0].slot = IN0;
    p->in[1].slot = IN1;
    p->in[0].dtype = p->in[1].dtype = dtype;
    w->operand[0].slot = OUT;
    w->operand[1].slot = BIAS;
    w->operand[0].dtype = w->operand[1].dtype = w->result;
    p->post.ndim = 3;
    memcpy(p->post.shape, out->shape, sizeof p->post.shape);
    p->post.size = view_size(out);
}

void work_fill(work *w)
{
    program *p = &w->p;
    work_buffer(w, IN0, p->dtype, view_settle(&p->in[0].v));
    work_buffer(w, IN1, p->dtype, view_settle(&p->in[1].v));
    work_buffer(w, OUT, w->result, p->post.size);
    work_buffer(w, BIAS, w->result, p->extent[2]);
    w->operand[1].v = w->operand[0].v;
    w->operand[1].v.stride[0] = w->operand[1].v.stride[1] = 0;
}

void work_free(work *w)
{
    for (int i = 0; i < SLOTS; i++)
        free(w->buf[i].data);
}

void work_make(work *w, ig_dtype dtype, const int ndim[4], const int64_t *shape, layout how0,
               layout how1)
{
    work_shape(w, dtype, ndim, shape);
    layout_axes(&w->p.in[0].v, how0);
    layout_axes(&w->p.in[1].v, how1);
    work_fill(w);
}

void work_run(work *w, int threads, bool fused)
{
    work_tape(w, fused);
    pool_set_threads(threads);
    assert_int_equal(backend_cpu.compile(&backend_cpu, &w->p), IG_OK);
    assert_int_equal(backend_cpu.launch(&w->p, w->bindings), IG_OK);
    backend_cpu.discard(&w->p);
    pool_set_threads(0);
}

/* ---- the reference ---- */

typedef struct sum {
    double high, low, magnitude; /* floats: high + low is the sum; sum of |a| |b| */
    uint64_t bits;               /* integers */
} sum;

const void *work_at(const work *w, int side, int64_t i)
{
    const operand *o = &w->p.in[side];
    return (const char *)w->buf[side].data + view_at(&o->v, i) * (int64_t)ig_dtype_bytes(o->dtype);
}

void work_copy_inputs(work *to, const work *from)
{
    const int64_t *small = to->p.extent, *large = from->p.extent, k = small[3];
    const size_t bytes = ig_dtype_bytes(to->p.dtype);
    for (int side = 0; side < 2; side++) {
        const int64_t rows = small[1 + side], stride = large[1 + side];
        for (int64_t i = 0; i < small[0] * rows * k; i++) {
            const int64_t row = i / k % rows, batch = i / k / rows;
            memcpy((void *)work_at(to, side, i),
                   work_at(from, side, (batch * stride + row) * k + i % k), bytes);
        }
    }
}

static sum reference(const work *w, int64_t b, int64_t m, int64_t n)
{
    const int64_t *extent = w->p.extent, k = extent[3];
    const size_t bytes = ig_dtype_bytes(w->p.dtype);
    sum s = {0};
    for (int64_t i = 0; i < k; i++) {
        const void *x = work_at(w, IN0, (b * extent[1] + m) * k + i);
        const void *y = work_at(w, IN1, (b * extent[2] + n) * k + i);
        if (!dtype_is_float(w->p.dtype)) {
            uint64_t xi = 0, yi = 0;
            memcpy(&xi, x, bytes);
            memcpy(&yi, y, bytes);
            if (w->result != w->p.dtype) {
                xi = (uint64_t)(int8_t)xi;
                yi = (uint64_t)(int8_t)yi;
            }
            s.bits += xi * yi;
            continue;
        }
        const double xf = dtype_fetch(w->p.dtype, x), yf = dtype_fetch(w->p.dtype, y);
        const double product = xf * yf, rest = fma(xf, yf, -product);
        const double next = s.high + product, part = next - s.high;
        s.low += ((s.high - (next - part)) + (product - part)) + rest;
        s.high = next;
        s.magnitude += fabs(product);
    }
    return s;
}

/* Half an ulp of 1. */
static double unit_of(ig_dtype dtype)
{
    return dtype == IG_F64   ? 0x1p-53
           : dtype == IG_F32 ? 0x1p-24
           : dtype == IG_F16 ? 0x1p-11
                             : 0x1p-8;
}

static bool element_is_right(const work *w, int64_t b, int64_t m, int64_t n)
{
    const ig_dtype dtype = w->result;
    const int64_t *extent = w->p.extent;
    const size_t bytes = ig_dtype_bytes(dtype);
    const char *got =
        (const char *)w->buf[OUT].data + ((b * extent[1] + m) * extent[2] + n) * (int64_t)bytes;
    const sum s = reference(w, b, m, n);
    if (!dtype_is_float(dtype))
        return memcmp(got, &s.bits, bytes) == 0; /* little endian */
    const double value = dtype_fetch(dtype, got), right = s.high + s.low;
    if (isnan(right) || isnan(s.high))
        return isnan(value) || (isinf(s.high) && value == s.high);
    double bound = (double)(extent[3] + 2) * unit_of(dtype_lane(dtype)) * s.magnitude;
    if (w->p.dtype == IG_BF16) /* matrix instructions treat denormals as 0 */
        bound += (double)(extent[3] + 2) * 0x1p-126;
    if (dtype_is_half(dtype))
        bound += unit_of(dtype) * (fabs(right) + bound) + 0x1p-25;
    return fabs(value - s.high - s.low) <= bound;
}

void check_values(const work *w, int64_t most)
{
    const int64_t *extent = w->p.extent, size = w->p.post.size;
    const int64_t step = size > most ? size / most | 1 : 1;
    for (int64_t i = 0; i < size; i += step) {
        const int64_t n = i % extent[2], m = i / extent[2] % extent[1],
                      b = i / extent[2] / extent[1];
        if (!element_is_right(w, b, m, n))
            fail_msg("%s: b %lld m %lld n %lld k %lld is wrong at (%lld, %lld, %lld)",
                     ig_dtype_name(w->p.dtype), (long long)extent[0], (long long)extent[1],
                     (long long)extent[2], (long long)extent[3], (long long)b, (long long)m,
                     (long long)n);
    }
}

int step(int n) { return getenv("IG_TEST_QUICK") ? n : 1; }

/* ---- levels ---- */

int run_on_levels(int (*run_all)(void))
{
    static const char *const levels[] = {
#define LEVEL(name) #name,
#define LEVEL_ON(name, base, needs) #name,
#include "levels.h"
    };
    if (getenv("IG_CPU_LEVEL"))
        return run_all();
    int failed = 0;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            setenv("IG_CPU_LEVEL", levels[i], 1);
            if (strcmp(cpu_level_now()->name, levels[i]) != 0)
                exit(0);
            fprintf(stderr, "level %s\n", levels[i]);
            exit(run_all() ? 1 : 0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            failed++;
    }
    return failed;
}
