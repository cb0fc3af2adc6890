/* Convolutions by cuDNN, which is loaded when the first one asks for it. x is (N, C, H, W), weight is
 * (K, C / groups, R, S), y is (N, K, P, Q), all contiguous.
 *
 * cuDNN's heuristics choose the algorithm once for each program, without measuring; algorithms that are not
 * deterministic and those by Fourier transforms, which are less exact, are passed over. f32 uses tf32 only in
 * math mode tf32. */
#include "backend/cuda/native.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { CHOICES = 16, WORKSPACE_MOST = 1 << 30 };

typedef enum dnn_kind { DNN_FORWARD, DNN_DATA, DNN_FILTER } dnn_kind;

typedef struct convolution {
    cuda_native base;
    dnn_kind kind;
    operand in[2], out;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t desc;
    dnn_choice chosen;
    bool wide; /* f64 */
} convolution;

static struct {
    pthread_once_t once;
    bool loaded;
    dnn_api api;
    const char *path;
} dnn = {.once = PTHREAD_ONCE_INIT};

static void load(void) { dnn.loaded = dnn_api_load(&dnn.api, &dnn.path); }

static bool failed(cudnnStatus_t status) { return status != CUDNN_STATUS_SUCCESS; }

/* The numbers of a node, as ops/conv.c gives them. */
typedef struct conv_numbers {
    int64_t n, c, h, w, k, r, s, p, q, stride[2], padding[2], dilation[2], groups;
} conv_numbers;

static const conv_numbers *numbers_of(const node_native *n)
{
    _Static_assert(sizeof(conv_numbers) == sizeof n->number, "the same numbers");
    return (const conv_numbers *)n->number;
}

static bool kind_of(const node_native *n, dnn_kind *kind)
{
    static const char *const names[] = {[DNN_FORWARD] = "convolution",
                                        [DNN_DATA] = "convolution gradient of x",
                                        [DNN_FILTER] = "convolution gradient of weight"};
    for (int i = 0; i < 3; i++)
        if (strcmp(n->what, names[i]) == 0) {
            *kind = (dnn_kind)i;
            return true;
        }
    return false;
}

/* Whether cuDNN has algorithms for a convolution and its gradients. */
struct dnn_answer {
    struct dnn_answer *next;
    node_native n;
    bool yes;
};

void dnn_release(cuda_device *d)
{
    if (d->dnn && !d->dead[0])
        dnn.api.cudnnDestroy(d->dnn);
    d->dnn = NULL;
    while (d->offers) {
        struct dnn_answer *next = d->offers->next;
        memory_free(d->offers);
        d->offers = next;
    }
}

static void discard(cuda_native *code)
{
    convolution *c = (convolution *)code;
    if (c->x)
        dnn.api.cudnnDestroyTensorDescriptor(c->x);
    if (c->y)
        dnn.api.cudnnDestroyTensorDescriptor(c->y);
    if (c->w)
        dnn.api.cudnnDestroyFilterDescriptor(c->w);
    if (c->desc)
        dnn.api.cudnnDestroyConvolutionDescriptor(c->desc);
    memory_free(c);
}

/* ---- preparing ---- */

static cudnnStatus_t tensor_set(cudnnTensorDescriptor_t *out, cudnnDataType_t type,
                                const int64_t dims[4])
{
    int size[4], stride[4], step = 1;
    for (int i = 3; i >= 0; i--) {
        size[i] = (int)dims[i];
        stride[i] = step;
        step *= size[i];
    }
    const cudnnStatus_t status = dnn.api.cudnnCreateTensorDescriptor(out);
    return failed(status) ? status
                          : dnn.api.cudnnSetTensorNdDescriptor(*out, type, 4, size, stride);
}

static cudnnStatus_t filter_set(cudnnFilterDescriptor_t *out, cudnnDataType_t type,
                                const conv_numbers *c)
{
    const int size[4] = {(int)c->k, (int)(c->c / c->groups), (int)c->r, (int)c->s};
    const cudnnStatus_t status = dnn.api.cudnnCreateFilterDescriptor(out);
    return failed(status)
               ? status
               : dnn.api.cudnnSetFilterNdDescriptor(*out, type, CUDNN_TENSOR_NCHW, 4, size);
}

static cudnnStatus_t desc_set(convolution *v, const node_native *n)
{
    const conv_numbers *c = numbers_of(n);
    int padding[2], stride[2], dilation[2];
    for (int i = 0; i < 2; i++) {
        padding[i] = (int)c->padding[i];
        stride[i] = (int)c->stride[i];
        dilation[i] = (int)c->dilation[i];
    }
    const cudnnMathType_t math = dtype_is_half(n->dtype)   ? CUDNN_TENSOR_OP_MATH
                                 : n->math == IG_MATH_TF32 ? CUDNN_DEFAULT_MATH
                                                           : CUDNN_FMA_MATH;
    cudnnStatus_t status = dnn.api.cudnnCreateConvolutionDescriptor(&v->desc);
    if (!failed(status))
        status = dnn.api.cudnnSetConvolutionNdDescriptor(
            v->desc, 2, padding, stride, dilation, CUDNN_CROSS_CORRELATION,
            n->dtype == IG_F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    if (!failed(status))
        status = dnn.api.cudnnSetConvolutionMathType(v->desc, math);
    if (!failed(status))
        status = dnn.api.cudnnSetConvolutionGroupCount(v->desc, (int)c->groups);
    return status;
}

static bool is_fourier(dnn_kind kind, int algo)
{
    static const int both[3][2] = {
        [DNN_FORWARD] = {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING},
        [DNN_DATA] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
                      CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING},
        [DNN_FILTER] = {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
                        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING}};
    return algo == both[kind][0] || algo == both[kind][1];
}

/* The first algorithm that will do; its kind of arithmetic is not faster than was asked for. */
static bool choose(convolution *v, bool strict)
{
    dnn_choice all[CHOICES];
    const cudnnHandle_t h = v->base.dev->dnn;
    int n = 0;
    const cudnnStatus_t status =
        v->kind == DNN_FORWARD ? dnn.api.cudnnGetConvolutionForwardAlgorithm_v7(
                                     h, v->x, v->w, v->desc, v->y, CHOICES, &n, all)
        : v->kind == DNN_DATA
            ? dnn.api.cudnnGetConvolutionBackwardDataAlgorithm_v7(h, v->w, v->y, v->desc, v->x,
                                                                  CHOICES, &n, all)
            : dnn.api.cudnnGetConvolutionBackwardFilterAlgorithm_v7(h, v->x, v->y, v->desc, v->w,
                                                                    CHOICES, &n, all);
    for (int i = 0; i < n && !failed(status); i++) {
        const bool exact = !strict || all[i].mathType == CUDNN_FMA_MATH;
        if (failed(all[i].status) || all[i].determinism != CUDNN_DETERMINISTIC || !exact ||
            all[i].memory > WORKSPACE_MOST || is_fourier(v->kind, all[i].algo))
            continue;
        v->chosen = all[i];
        return !failed(dnn.api.cudnnSetConvolutionMathType(v->desc, all[i].mathType));
    }
    return false;
}

static bool set_up(convolution *v, const node_native *n)
{
    static const cudnnDataType_t types[] = {[IG_F16] = CUDNN_DATA_HALF,
                                            [IG_BF16] = CUDNN_DATA_BFLOAT16,
                                            [IG_F32] = CUDNN_DATA_FLOAT,
                                            [IG_F64] = CUDNN_DATA_DOUBLE};
    cuda_device *d = v->base.dev;
    const conv_numbers *c = numbers_of(n);
    const cudnnDataType_t type = types[n->dtype];
    if (!d->dnn && failed(dnn.api.cudnnCreate(&d->dnn))) {
        d->dnn = NULL;
        return false;
    }
    return !failed(dnn.api.cudnnSetStream(d->dnn, d->stream)) &&
           !failed(tensor_set(&v->x, type, (const int64_t[4]){c->n, c->c, c->h, c->w})) &&
           !failed(tensor_set(&v->y, type, (const int64_t[4]){c->n, c->k, c->p, c->q})) &&
           !failed(filter_set(&v->w, type, c)) && !failed(desc_set(v, n)) &&
           choose(v, n->dtype == IG_F32 && n->math != IG_MATH_TF32);
}

/* ---- launching ---- */

static void *place(const convolution *v, const operand *o, const binding *bindings)
{
    return (void *)(uintptr_t)cuda_address(v->base.dev, bindings[o->slot], o->v.offset, o->dtype);
}

static ig_status launch(cuda_native *code, const binding *bindings, binding scratch)
{
    convolution *v = (convolution *)code;
    cuda_device *d = v->base.dev;
    const double one64 = 1, none64 = 0;
    const float one32 = 1, none32 = 0;
    const void *one = v->wide ? (const void *)&one64 : &one32,
               *none = v->wide ? (const void *)&none64 : &none32;
    void *in[2] = {place(v, &v->in[0], bindings), place(v, &v->in[1], bindings)};
    void *out = place(v, &v->out, bindings);
    void *spare = (void *)(uintptr_t)cuda_address(d, scratch, 0, IG_U8);
    if (!in[0] || !in[1] || !out)
        FAIL(IG_ERR_ARGUMENT, "%s: a convolution reads a buffer of another device", d->name);
    TRY(cuda_enter(d));
    const struct {
        const void *code, *at[4];
    } key = {v, {in[0], in[1], out, spare}};
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (!cuda_replay_call(d, &key, sizeof key)) {
        const size_t bytes = v->chosen.memory;
        const int algo = v->chosen.algo;
        status =
            v->kind == DNN_FORWARD
                ? dnn.api.cudnnConvolutionForward(d->dnn, one, v->x, in[0], v->w, in[1], v->desc,
                                                  algo, spare, bytes, none, v->y, out)
            : v->kind == DNN_DATA
                ? dnn.api.cudnnConvolutionBackwardData(d->dnn, one, v->w, in[1], v->y, in[0],
                                                       v->desc, algo, spare, bytes, none, v->x, out)
                : dnn.api.cudnnConvolutionBackwardFilter(d->dnn, one, v->x, in[0], v->y, in[1],
                                                         v->desc, algo, spare, bytes, none, v->w,
                                                         out);
    }
    cuda_leave(d);
    if (failed(status))
        FAIL(IG_ERR_DEVICE, "%s: cuDNN failed with status %d; IG_CUDNN=off avoids it", d->name,
             status);
    return IG_OK;
}

ig_status dnn_prepare(cuda_device *d, const program *p, cuda_native **out)
{
    const node_native *n = p->kernel->native;
    convolution *v = memory_new(sizeof *v);
    if (!v)
        return IG_ERR_MEMORY;
    v->base = (cuda_native){{.name = "cuDNN"}, d, launch, discard};
    v->wide = n->dtype == IG_F64;
    for (int i = 0; i < 2; i++)
        v->in[i] = p->pre.operand[i];
    v->out = p->post.operand[0];
    ig_status status = kind_of(n, &v->kind) ? cuda_enter(d) : IG_ERR_UNSUPPORTED;
    const bool ready = status == IG_OK && set_up(v, n);
    if (status == IG_OK)
        cuda_leave(d);
    if (status == IG_OK && !ready)
        status =
            ig_fail(IG_ERR_DEVICE, "%s: cuDNN has no algorithm for a %s; IG_CUDNN=off avoids it",
                    d->name, n->what);
    if (status != IG_OK) {
        discard(&v->base);
        return status;
    }
    v->base.base.scratch_bytes = v->chosen.memory;
    *out = &v->base;
    return IG_OK;
}

/* ---- what is offered ---- */

static bool is_countable(const node_native *n)
{
    const conv_numbers *c = numbers_of(n);
    for (int i = 0; i < NATIVE_NUMBERS; i++)
        if (n->number[i] > INT32_MAX)
            return false;
    return (double)c->n * (double)c->c * (double)c->h * (double)c->w <= INT32_MAX &&
           (double)c->n * (double)c->k * (double)c->p * (double)c->q <= INT32_MAX;
}

/* With the lock and the context. A convolution is of use only with its gradients. */
static bool has_algorithms(cuda_device *d, const node_native *n)
{
    bool yes = true;
    for (int kind = DNN_FORWARD; kind <= DNN_FILTER && yes; kind++) {
        convolution *v = memory_new(sizeof *v);
        if (!v)
            return false;
        v->base.dev = d;
        v->kind = (dnn_kind)kind;
        yes = set_up(v, n);
        discard(&v->base);
    }
    return yes;
}

static bool ask(cuda_device *d, const node_native *n)
{
    struct dnn_answer *a = d->offers;
    while (a && (a->n.dtype != n->dtype || a->n.math != n->math ||
                 memcmp(a->n.number, n->number, sizeof n->number) != 0))
        a = a->next;
    if (a)
        return a->yes;
    a = memory_new(sizeof *a);
    if (!a)
        return false;
    *a = (struct dnn_answer){d->offers, *n, has_algorithms(d, n)};
    d->offers = a;
    return a->yes;
}

bool dnn_offers(cuda_device *d, const node_native *n)
{
    dnn_kind kind;
    if (!kind_of(n, &kind) || !dtype_is_float(n->dtype) || !is_countable(n))
        return false;
    pthread_once(&dnn.once, load);
    if (!dnn.loaded)
        return false;
    const bool waits = ig_failed();
    if (cuda_enter(d) != IG_OK) {
        if (!waits)
            ig_error(NULL);
        return false;
    }
    const bool yes = ask(d, n);
    cuda_leave(d);
    return yes;
}
