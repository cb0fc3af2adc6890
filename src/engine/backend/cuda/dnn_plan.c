/* Plans of cuDNN's graph API; see dnn_plan.h.
 *
 * A convolution is described by a graph of one operation. cuDNN's heuristics, which measure nothing, list engines for
 * it, the fastest first. The first engine is taken whose numerical notes are allowed, whose workspace fits the limit,
 * and which can be planned. So the choice depends only on the convolution, the GPU and the version of cuDNN.
 *
 * The first failure of a call is kept, and later calls do nothing. */
#include "engine/backend/cuda/dnn_plan.h"

#include <assert.h>
#include <stddef.h>

enum { CONFIGS_MOST = 64, NOTES_MOST = 32, MADE_MOST = 24, OPS_MOST = 4 };
static const int64_t workspace_most = (int64_t)1 << 30;
enum { ID_X = 1, ID_WEIGHT, ID_Y, ID_BIAS, ID_Z, ID_BETWEEN }; /* from ID_BETWEEN on: not stored */

typedef cudnnBackendDescriptor_t descriptor;

/* Descriptors that are needed until a plan is made. */
typedef struct maker {
    const dnn_api *api;
    cudnnHandle_t handle;
    cudnnStatus_t status;
    descriptor made[MADE_MOST];
    int n;
} maker;

static bool failed(const maker *m) { return m->status != CUDNN_STATUS_SUCCESS; }

static descriptor create(maker *m, cudnnBackendDescriptorType_t type)
{
    descriptor d = NULL;
    if (!failed(m))
        m->status = m->api->cudnnBackendCreateDescriptor(type, &d);
    return failed(m) ? NULL : d;
}

/* The same, but the maker releases it. */
static descriptor make(maker *m, cudnnBackendDescriptorType_t type)
{
    descriptor d = create(m, type);
    assert(m->n < MADE_MOST);
    if (d)
        m->made[m->n++] = d;
    return d;
}

static void set(maker *m, descriptor d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    if (!failed(m))
        m->status = m->api->cudnnBackendSetAttribute(d, name, type, count, values);
}

static void get(maker *m, descriptor d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t wanted, int64_t *count, void *values)
{
    *count = 0;
    if (!failed(m))
        m->status = m->api->cudnnBackendGetAttribute(d, name, type, wanted, count, values);
}

static void finalize(maker *m, descriptor d)
{
    if (!failed(m))
        m->status = m->api->cudnnBackendFinalize(d);
}

static void release(const dnn_api *api, descriptor *d)
{
    if (*d)
        api->cudnnBackendDestroyDescriptor(*d);
    *d = NULL;
}

/* ---- the graph ---- */

static cudnnDataType_t type_of(ig_dtype dtype)
{
    static const cudnnDataType_t types[] = {[IG_F16] = CUDNN_DATA_HALF,
                                            [IG_BF16] = CUDNN_DATA_BFLOAT16,
                                            [IG_F32] = CUDNN_DATA_FLOAT,
                                            [IG_F64] = CUDNN_DATA_DOUBLE};
    return types[dtype];
}

/* The descriptor of an array without gaps. last: the second axis is the last one in memory. */
static descriptor tensor(maker *m, int64_t id, ig_dtype dtype, bool last, const int64_t dims[4])
{
    static const int inward[2][4] = {{3, 2, 1, 0}, {1, 3, 2, 0}};
    const cudnnDataType_t type = type_of(dtype);
    const int64_t alignment = DNN_ALIGNMENT;
    const bool is_virtual = id >= ID_BETWEEN;
    int64_t stride[4], step = 1;
    for (int i = 0; i < 4; i++) {
        stride[inward[last][i]] = step;
        step *= dims[inward[last][i]];
    }
    descriptor d = make(m, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(m, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(m, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    set(m, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    set(m, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(m, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (is_virtual)
        set(m, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    finalize(m, d);
    return d;
}

static descriptor windows(maker *m, const dnn_problem *p)
{
    const dnn_numbers *c = &p->numbers;
    const cudnnDataType_t type = p->dtype == IG_F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t axes = 2;
    descriptor d = make(m, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(m, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(m, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(m, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &axes);
    set(m, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, axes, c->stride);
    set(m, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, axes, c->dilation);
    set(m, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, axes, c->padding);
    set(m, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, axes, c->padding);
    finalize(m, d);
    return d;
}

/* y = relu(x), or x + b if b is not NULL; in f32. relu gives NaN for NaN. */
static descriptor pointwise(maker *m, descriptor x, descriptor b, descriptor y)
{
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    const cudnnPointwiseMode_t mode = b ? CUDNN_POINTWISE_ADD : CUDNN_POINTWISE_RELU_FWD;
    const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    const descriptor how = make(m, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(m, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(m, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
    if (!b)
        set(m, how, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &nan);
    finalize(m, how);
    const descriptor d = make(m, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set(m, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how);
    set(m, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
    if (b)
        set(m, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b);
    set(m, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    finalize(m, d);
    return d;
}

/* The convolution. cuDNN infers the groups from the channels of x and of weight. */
static descriptor convolution(maker *m, const dnn_problem *p, descriptor y)
{
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t x, weight, y, windows, alpha, beta;
    } kinds[DNN_KINDS] = {
        [DNN_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        [DNN_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        [DNN_FILTER] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
    const dnn_numbers *c = &p->numbers;
    const bool wide = p->dtype == IG_F64;
    const double one64 = 1, none64 = 0;
    const float one32 = 1, none32 = 0;
    const cudnnBackendAttributeType_t scalar = wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
    const bool last = c->last;
    const descriptor x =
        tensor(m, ID_X, p->dtype, last, (const int64_t[4]){c->n, c->c, c->h, c->w});
    const descriptor weight = tensor(m, ID_WEIGHT, p->dtype, last,
                                     (const int64_t[4]){c->k, c->c / c->groups, c->r, c->s});
    const descriptor w = windows(m, p);
    descriptor d = make(m, kinds[p->kind].type);
    set(m, d, kinds[p->kind].x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
    set(m, d, kinds[p->kind].weight, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &weight);
    set(m, d, kinds[p->kind].y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    set(m, d, kinds[p->kind].windows, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &w);
    set(m, d, kinds[p->kind].alpha, scalar, 1, wide ? (const void *)&one64 : &one32);
    set(m, d, kinds[p->kind].beta, scalar, 1, wide ? (const void *)&none64 : &none32);
    finalize(m, d);
    return d;
}

/* The operations in order: the convolution, then its epilogue. cuDNN's fast engines expect the sum with z before the
 * sum with the bias. Returns how many there are. */
static int operations(maker *m, const dnn_problem *p, descriptor op[OPS_MOST])
{
    const dnn_numbers *c = &p->numbers;
    const int64_t like_y[4] = {c->n, c->k, c->p, c->q}, a_row[4] = {1, c->k, 1, 1};
    const bool last = c->last, has[OPS_MOST] = {true, c->z, c->bias, c->relu};
    const int end = has[3] ? 3 : has[2] ? 2 : has[1];
    descriptor before = NULL;
    int n = 0;
    for (int part = 0; part <= end; part++) {
        if (!has[part])
            continue;
        const descriptor y = part == end ? tensor(m, ID_Y, p->dtype, last, like_y)
                                         : tensor(m, ID_BETWEEN + part, IG_F32, last, like_y);
        op[n++] = part == 0   ? convolution(m, p, y)
                  : part == 1 ? pointwise(m, before, tensor(m, ID_Z, p->dtype, last, like_y), y)
                  : part == 2 ? pointwise(m, before, tensor(m, ID_BIAS, p->dtype, last, a_row), y)
                              : pointwise(m, before, NULL, y);
        before = y;
    }
    return n;
}

static descriptor graph(maker *m, const dnn_problem *p)
{
    descriptor op[OPS_MOST];
    const int n = operations(m, p, op);
    descriptor d = make(m, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(m, d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &m->handle);
    set(m, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, op);
    finalize(m, d);
    return d;
}

/* ---- the choice ---- */

/* Rejects engines that are not deterministic, that round inputs or sums to fewer bits than the dtype has, or that use
 * Fourier transforms, which are less accurate. For f32 the note about tensor cores means tf32. */
static bool is_allowed(const dnn_problem *p, const cudnnBackendNumericalNote_t *notes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const cudnnBackendNumericalNote_t note = notes[i];
        if (note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC ||
            note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
            note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
            note == CUDNN_NUMERICAL_NOTE_FFT ||
            (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && p->dtype == IG_F32 && !p->tf32))
            return false;
    }
    return true;
}

/* True if the engine compiles a kernel for each plan, which takes about a second. */
static bool compiles(const cudnnBackendBehaviorNote_t *notes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (notes[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
            return true;
    return false;
}

/* Reads the engine of a configuration. False if it is not allowed or cannot be read. */
static bool engine_read(maker m, const dnn_problem *p, descriptor config, int64_t *index)
{
    cudnnBackendNumericalNote_t notes[NOTES_MOST];
    cudnnBackendBehaviorNote_t behaviour[NOTES_MOST];
    int64_t n = 0, n_behaviour = 0, one;
    descriptor engine = create(&m, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    get(&m, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &one, &engine);
    get(&m, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &one, index);
    get(&m, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, NOTES_MOST, &n,
        notes);
    get(&m, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, NOTES_MOST,
        &n_behaviour, behaviour);
    release(m.api, &engine);
    return !failed(&m) && n <= NOTES_MOST && n_behaviour <= NOTES_MOST && is_allowed(p, notes, n) &&
           !(p->numbers.bias && compiles(behaviour, n_behaviour));
}

/* m is a copy, so a failure of one configuration does not affect the next. */
static bool plan_config(maker m, descriptor config, dnn_plan *out)
{
    int64_t bytes = 0, one;
    descriptor d = create(&m, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(&m, d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &m.handle);
    set(&m, d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
    finalize(&m, d);
    get(&m, d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &one, &bytes);
    if (failed(&m) || bytes > workspace_most) {
        release(m.api, &d);
        return false;
    }
    out->plan = d;
    out->workspace_bytes = bytes;
    return true;
}

static bool choose(maker *m, const dnn_problem *p, descriptor of, cudnnBackendHeurMode_t mode,
                   dnn_plan *out)
{
    descriptor config[CONFIGS_MOST] = {NULL};
    int64_t n = 0, most = 0;
    descriptor d = make(m, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set(m, d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &of);
    set(m, d, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    finalize(m, d);
    get(m, d, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &most, NULL);
    most = most < CONFIGS_MOST ? most : CONFIGS_MOST;
    for (int64_t i = 0; i < most; i++)
        config[i] = create(m, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    get(m, d, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &n, config);
    for (int64_t i = 0; i < n && i < most && !out->plan; i++)
        if (engine_read(*m, p, config[i], &out->engine) && plan_config(*m, config[i], out)) {
            out->config = config[i];
            config[i] = NULL;
        }
    for (int64_t i = 0; i < most; i++)
        release(m->api, &config[i]);
    return out->plan != NULL;
}

bool dnn_plan_make(const dnn_api *api, cudnnHandle_t handle, const dnn_problem *p, dnn_plan *out)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    maker m = {.api = api, .handle = handle};
    *out = (dnn_plan){.engine = -1};
    const descriptor of = graph(&m, p);
    const bool described = !failed(&m);
    for (int i = 0; i < 2 && described && !out->plan; i++) {
        m.status = CUDNN_STATUS_SUCCESS; /* one list may be missing */
        choose(&m, p, of, modes[i], out);
    }
    while (m.n > 0)
        release(api, &m.made[--m.n]);
    return out->plan != NULL;
}

void dnn_plan_release(const dnn_api *api, dnn_plan *plan)
{
    release(api, &plan->plan);
    release(api, &plan->config);
}

/* ---- running ---- */

cudnnStatus_t dnn_plan_run(const dnn_api *api, cudnnHandle_t handle, const dnn_plan *plan,
                           const dnn_arrays *arrays, void *workspace)
{
    maker m = {.api = api, .handle = handle};
    int64_t ids[5] = {ID_X, ID_WEIGHT, ID_Y}, n = 3;
    void *at[5] = {arrays->x, arrays->weight, arrays->y};
    if (arrays->bias)
        ids[n] = ID_BIAS, at[n++] = arrays->bias;
    if (arrays->z)
        ids[n] = ID_Z, at[n++] = arrays->z;
    descriptor pack = create(&m, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(&m, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, ids);
    set(&m, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, at);
    set(&m, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    finalize(&m, pack);
    if (!failed(&m))
        m.status = api->cudnnBackendExecute(handle, plan->plan, pack);
    release(api, &pack);
    return m.status;
}
