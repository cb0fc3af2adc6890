/* See faulty.h. The results of a launch are found on its tapes: stores of values that the op computed. */
#include "support/faulty.h"
#include "engine/backend/lanes.h"
#include "engine/ops/ops.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static fault planted;
static backend faulty;

static bool is_named(int op)
{
    return strcmp(op_rows[op].name, planted.op) == 0 ||
           (planted.also && strcmp(op_rows[op].name, planted.also) == 0);
}

/* True if instruction i stores a result of the op. */
static bool stores_op(const program *p, const tape *t, int i)
{
    if (t->inst[i].code != TAPE_STORE)
        return false;
    int16_t value = t->inst[i].a;
    for (int k = i - 1; k >= 0; k--) {
        const tape_inst *in = &t->inst[k];
        if (in->dst != value)
            continue;
        if (in->code == TAPE_ROUND)
            value = in->a; /* f16 and bf16: the value before rounding */
        else if (in->code == TAPE_CORE)
            return is_named(p->kind == PROGRAM_CONTRACT ? OP_contract : p->fold);
        else
            return in->code == TAPE_MAP && is_named(in->op);
    }
    return false;
}

static int count(const tape *t, tape_code code)
{
    int n = 0;
    for (int i = 0; i < t->n_inst; i++)
        n += t->inst[i].code == code;
    return n;
}

static bool is_kept(const program *first, int slot)
{
    for (int i = 0; i < first->n_local; i++)
        if (first->local[i].slot == slot)
            return false;
    return true;
}

/* Changes the element's bits. */
static void damage(char *at, size_t width)
{
    uint64_t bits = 0;
    memcpy(&bits, at, width);
    if (planted.kind == FAULT_STEPS)
        bits += (uint64_t)planted.steps;
    else
        bits ^= width == 1 ? 1 : (uint64_t)1 << (8 * width - 2);
    memcpy(at, &bits, width);
}

static void flush(char *at, size_t width)
{
    uint32_t bits;
    if (width != sizeof bits)
        return;
    memcpy(&bits, at, sizeof bits);
    bits = bits & 0x7f800000u ? bits : bits & 0x80000000u;
    memcpy(at, &bits, sizeof bits);
}

/* The target of a store. */
typedef struct stored {
    const operand *o;
    char *data;   /* element 0 of the buffer */
    char *before; /* a copy of its previous elements, one after another */
    int64_t n;
    size_t width;
} stored;

static char *element(const stored *s, int64_t i)
{
    return s->data + view_at(&s->o->v, i) * (int64_t)s->width;
}

enum { STORES_MOST = 64 };

static int find_stores(const program *p, const binding *bindings, stored *out)
{
    int n = 0;
    for (int k = 0; k < p->chain; k++)
        for (int part = 0; part < 2; part++) {
            const tape *t = part ? &p[k].post : &p[k].pre;
            const bool alone = count(t, TAPE_MAP) < 2 || count(t, TAPE_STORE) > 1;
            for (int i = 0; i < t->n_inst && !(planted.fused && alone); i++) {
                if (!stores_op(&p[k], t, i) || !is_kept(p, t->operand[t->inst[i].operand].slot))
                    continue;
                const operand *o = &t->operand[t->inst[i].operand];
                const binding *b = &bindings[o->slot];
                assert(n < STORES_MOST);
                out[n++] = (stored){.o = o,
                                    .data = (char *)b->buf->data + b->offset,
                                    .n = view_size(&o->v),
                                    .width = ig_dtype_bytes(o->dtype)};
            }
        }
    return n;
}

static void remember(stored *s)
{
    s->before = malloc((size_t)s->n * s->width + 1);
    assert(s->before);
    for (int64_t i = 0; i < s->n; i++)
        memcpy(s->before + (size_t)i * s->width, element(s, i), s->width);
}

static void spoil(const stored *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        if (planted.kind == FAULT_STALE)
            memcpy(element(s, i), s->before + (size_t)i * s->width, s->width);
        else if (planted.kind == FAULT_FLUSH)
            flush(element(s, i), s->width);
        else if (planted.kind == FAULT_STEPS || i == s->n / 2)
            damage(element(s, i), s->width);
    }
}

static ig_status launch(const program *p, const binding *bindings)
{
    stored found[STORES_MOST];
    const int n = planted.op ? find_stores(p, bindings, found) : 0;
    for (int i = 0; i < n; i++)
        remember(&found[i]);
    ig_status status = backend_cpu.launch(p, bindings);
    for (int i = 0; i < n; i++) {
        spoil(&found[i]);
        free(found[i].before);
    }
    return status;
}

/* ---- kernels: it is unknown which buffers they write, so changed elements count as written ---- */

enum { KERNELS_MOST = 64, BUFFERS_MOST = 16 };
static struct {
    const kernel_code *code;
    int n_params;
} built[KERNELS_MOST];
static int n_built;

static ig_status build_kernel(const backend *dev, const lane_code *code, const kernel_param *params,
                              int n_params, kernel_code **out)
{
    const ig_status status = backend_cpu.lanes->build(dev, code, params, n_params, out);
    assert(n_built < KERNELS_MOST && n_params <= BUFFERS_MOST);
    built[n_built].code = status == IG_OK ? *out : NULL;
    built[n_built++].n_params = n_params;
    return status;
}

/* The number of parameters of the latest kernel built from the code. */
static int params_of(const kernel_code *code)
{
    int i = n_built - 1;
    while (i >= 0 && built[i].code != code)
        i--;
    return i < 0 ? 0 : built[i].n_params;
}

static ig_status launch_kernel(kernel_code *code, const lane_launch *l)
{
    char *before[BUFFERS_MOST] = {0};
    const int n = planted.op && is_named(OP_kernel) ? params_of(code) : 0;
    for (int i = 0; i < n; i++) {
        const buffer *b = l->base.args[i].at.buf;
        bool seen = !b; /* two arrays may be in one buffer */
        for (int k = 0; k < i; k++)
            seen = seen || l->base.args[k].at.buf == b;
        if (seen)
            continue;
        before[i] = malloc(b->bytes + 1);
        assert(before[i]);
        memcpy(before[i], b->data, b->bytes);
    }
    const ig_status status = backend_cpu.lanes->launch(code, l);
    for (int i = 0; i < n; i++) {
        const buffer *b = l->base.args[i].at.buf;
        bool done = false;
        for (size_t at = 0; before[i] && at + 4 <= b->bytes && !done; at += 4) {
            char *now = (char *)b->data + at;
            if (memcmp(now, before[i] + at, 4) == 0)
                continue;
            if (planted.kind == FAULT_STALE)
                memcpy(now, before[i] + at, 4);
            else
                damage(now, 4);
            done = planted.kind == FAULT_ELEMENT;
        }
        free(before[i]);
    }
    return status;
}

static ig_status describe(const backend *dev, ig_device_info *info)
{
    ig_status status = backend_cpu.describe(&backend_cpu, info);
    (void)dev;
    info->name = "faulty";
    info->kind = "test";
    return status;
}

void faulty_plant(fault f)
{
    planted = f;
    if (faulty.name) {
        faulty.limits.subnormals = !f.told;
        return;
    }
    faulty = backend_cpu;
    faulty.limits.subnormals = !f.told;
    faulty.name = "faulty";
    faulty.describe = describe;
    faulty.launch = launch;
    static const lane_runner lanes = {.build = build_kernel, .launch = launch_kernel};
    faulty.lanes = &lanes;
    const ig_status status = backend_register(&faulty);
    assert(status == IG_OK);
    (void)status;
}
