/* Convolutions by cuDNN, which is loaded for the first convolution. x is (N, C, H, W), weight is
 * (K, C / groups, R, S), y is (N, K, P, Q), all without gaps; or the second axis of each is the last one in memory.
 *
 * The device keeps the plans of convolutions and gradients; programs share them. f32 uses tf32 only in
 * math mode tf32. */
#include "engine/backend/cuda/dnn_plan.h"
#include "engine/backend/cuda/native.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct convolution {
    cuda_native base;
    dnn_kind kind;
    const dnn_plan *plan;
    operand in[4], out; /* the third input is the bias, and the fourth is z, if there are any */
    int n_in;
    char name[40];
} convolution;

/* The plan of a convolution or of one of its gradients, if cuDNN has one. */
struct dnn_answer {
    struct dnn_answer *next;
    dnn_problem problem;
    bool yes;
    dnn_plan plan;
};

static struct {
    pthread_once_t once;
    bool loaded;
    dnn_api api;
} dnn = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    const int64_t began = trace_begin();
    dnn.loaded = dnn_api_load(&dnn.api);
    trace_end(began, "load cuDNN");
}

static bool failed(cudnnStatus_t status) { return status != CUDNN_STATUS_SUCCESS; }

/* False if the node is not a convolution of floats, or if its sizes are too large. */
static bool problem_of(const node_native *n, dnn_problem *p)
{
    static const native_kind kinds[DNN_KINDS] = {
        [DNN_FORWARD] = NATIVE_CONVOLUTION,
        [DNN_DATA] = NATIVE_CONVOLUTION_GRADIENT_X,
        [DNN_FILTER] = NATIVE_CONVOLUTION_GRADIENT_WEIGHT,
    };
    int kind = 0;
    while (kind < DNN_KINDS && n->kind != kinds[kind])
        kind++;
    if (kind == DNN_KINDS || !dtype_is_float(n->dtype))
        return false;
    for (int i = 0; i < NATIVE_NUMBERS; i++)
        if (n->number[i] > INT32_MAX)
            return false;
    memset(p, 0, sizeof *p); /* it is compared as bytes */
    p->kind = (dnn_kind)kind;
    p->dtype = n->dtype;
    p->tf32 = n->math == IG_MATH_TF32;
    _Static_assert(sizeof p->numbers == sizeof n->number, "the same numbers");
    memcpy(&p->numbers, n->number, sizeof p->numbers);
    const dnn_numbers *c = &p->numbers;
    return (double)c->n * (double)c->c * (double)c->h * (double)c->w <= INT32_MAX &&
           (double)c->n * (double)c->k * (double)c->p * (double)c->q <= INT32_MAX;
}

void dnn_release(cuda_device *d)
{
    while (d->offers) {
        struct dnn_answer *next = d->offers->next;
        if (!d->base.is_lost)
            dnn_plan_release(&dnn.api, &d->offers->plan);
        memory_free(d->offers);
        d->offers = next;
    }
    if (d->dnn && !d->base.is_lost)
        dnn.api.cudnnDestroy(d->dnn);
    d->dnn = NULL;
}

/* ---- plans ---- */

/* Called with the lock and the context. */
static bool make_plan(cuda_device *d, struct dnn_answer *a)
{
    const int64_t began = trace_begin();
    if (!d->dnn && failed(dnn.api.cudnnCreate(&d->dnn)))
        d->dnn = NULL;
    const bool fine = d->dnn && !failed(dnn.api.cudnnSetStream(d->dnn, d->stream)) &&
                      dnn_plan_make(&dnn.api, d->dnn, &a->problem, &a->plan);
    trace_end(began, "plan a convolution");
    return fine;
}

/* cuDNN's answer for the problem; NULL if memory is lacking. Called with the lock and the context. */
static const struct dnn_answer *ask(cuda_device *d, const dnn_problem *p)
{
    struct dnn_answer *a = d->offers;
    while (a && memcmp(&a->problem, p, sizeof *p) != 0)
        a = a->next;
    if (a)
        return a;
    a = memory_new(sizeof *a);
    if (!a)
        return NULL;
    a->problem = *p;
    a->yes = make_plan(d, a);
    a->next = d->offers;
    d->offers = a;
    return a;
}

/* ---- launching ---- */

static CUdeviceptr place(const convolution *v, const operand *o, const binding *bindings)
{
    return cuda_address(v->base.dev, bindings[o->slot], o->v.offset, o->dtype);
}

static void *pointer(CUdeviceptr at) { return (void *)(uintptr_t)at; }

/* Depending on the kind, one of x, weight and y is the output and the others are the inputs. */
static cudnnStatus_t run(const convolution *v, const CUdeviceptr in[4], CUdeviceptr out,
                         CUdeviceptr workspace)
{
    const CUdeviceptr at[DNN_KINDS][3] = {[DNN_FORWARD] = {in[0], in[1], out},
                                          [DNN_DATA] = {out, in[1], in[0]},
                                          [DNN_FILTER] = {in[0], out, in[1]}};
    const CUdeviceptr *a = at[v->kind];
    const dnn_arrays arrays = {pointer(a[0]), pointer(a[1]), pointer(a[2]), pointer(in[2]),
                               pointer(in[3])};
    return dnn_plan_run(&dnn.api, v->base.dev->dnn, v->plan, &arrays, pointer(workspace));
}

static ig_status launch(cuda_native *code, const binding *bindings, binding scratch)
{
    convolution *v = (convolution *)code;
    cuda_device *d = v->base.dev;
    const CUdeviceptr out = place(v, &v->out, bindings), spare = cuda_address(d, scratch, 0, IG_U8);
    CUdeviceptr in[4] = {0};
    bool fine = out != 0;
    for (int i = 0; i < v->n_in; i++)
        fine = (in[i] = place(v, &v->in[i], bindings)) && fine;
    if (!fine)
        FAIL(IG_ERR_ARGUMENT, "%s: a convolution reads a buffer of another device", d->base.name);
    TRY(cuda_enter(d));
    const struct {
        const void *code;
        CUdeviceptr at[6];
    } key = {v, {in[0], in[1], in[2], in[3], out, spare}};
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (!cuda_replay_call(d, &key, sizeof key))
        status = run(v, in, out, spare);
    cuda_leave(d);
    if (failed(status))
        FAIL(IG_ERR_DEVICE, "%s: cuDNN failed with status %d; IG_CUDNN=off avoids it", d->base.name,
             status);
    return IG_OK;
}

static void discard(cuda_native *code) { memory_free(code); }

ig_status dnn_prepare(cuda_device *d, const program *p, cuda_native **out)
{
    const node_native *n = p->kernel->native;
    dnn_problem of;
    if (!problem_of(n, &of))
        return IG_ERR_UNSUPPORTED;
    TRY(cuda_enter(d));
    const struct dnn_answer *a = ask(d, &of);
    cuda_leave(d);
    convolution *v = a ? memory_new(sizeof *v) : NULL;
    if (!v)
        return IG_ERR_MEMORY;
    if (!a->yes) {
        memory_free(v);
        FAIL(IG_ERR_DEVICE, "%s: cuDNN has no algorithm for a %s; IG_CUDNN=off avoids it",
             d->base.name, p->kernel->name);
    }
    v->kind = of.kind;
    v->plan = &a->plan;
    snprintf(v->name, sizeof v->name, "cuDNN engine %lld", (long long)v->plan->engine);
    v->base = (cuda_native){{.name = v->name}, d, launch, discard};
    v->base.base.scratch_bytes = (uint64_t)v->plan->workspace_bytes;
    v->out = p->post.operand[0];
    v->n_in = 2 + (of.numbers.bias != 0) + (of.numbers.z != 0);
    for (int i = 0; i < v->n_in; i++) {
        v->in[i] = p->pre.operand[i];
        assert(v->in[i].v.offset * (int64_t)ig_dtype_bytes(n->dtype) % DNN_ALIGNMENT == 0);
    }
    *out = &v->base;
    return IG_OK;
}

bool dnn_offers(cuda_device *d, const node_native *n)
{
    dnn_problem p;
    if (!problem_of(n, &p))
        return false;
    pthread_once(&dnn.once, load);
    if (!dnn.loaded)
        return false;
    if (!cuda_enter_to_ask(d))
        return false;
    const struct dnn_answer *a = ask(d, &p);
    cuda_leave(d);
    return a && a->yes;
}
