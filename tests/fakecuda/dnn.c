/* The stand-in for cuDNN; see libraries.h. Like the library, it rejects an attribute that a descriptor does not have or
 * that has the wrong type or count, a descriptor that lacks an attribute, and one that is changed after it was
 * finalized. It also rejects mistakes of the caller: choosing an engine that its notes forbid, a pointer that is not
 * aligned as promised, and a missing workspace.
 *
 * FAKE_DNN_LIST=fallback: heuristics return only the second list. */
#include "libraries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAD_PARAM = 2000,
    NOT_FINALIZED = 2004,
    NOT_SUPPORTED = 3000,
    INTERNAL = 4000,
    ATTRIBUTES_MOST = 8,
    VALUES_MOST = 5,
    ALIGNMENT_LEAST = 16
};

#define DNN_FUNCTION(name, parameters) EXPORT cudnnStatus_t name parameters;
#include "engine/backend/cuda/dnn.def"
EXPORT fake_dnn_fail_fn fake_dnn_fail;
EXPORT fake_dnn_objects_fn fake_dnn_objects;

/* ---- attributes of descriptors ---- */

typedef struct attribute {
    cudnnBackendDescriptorType_t of;
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int count;                              /* at least */
    cudnnBackendDescriptorType_t points_to; /* if it is a descriptor */
    int more; /* values that may follow; -1: the attribute may be left out */
} attribute;

#define OF_TENSOR(name, type, count) \
    { \
        CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_##name, CUDNN_TYPE_##type, count, 0, 0 \
    }
#define OF_WINDOWS(name, type, count) \
    { \
        CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_##name, CUDNN_TYPE_##type, \
            count, 0, 0 \
    }
#define OF_POINTWISE(name, points_to, more) \
    { \
        CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_##name, \
            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, points_to, more \
    }
#define OF_OPERATION(kind, prefix, name, type, points_to) \
    { \
        CUDNN_BACKEND_OPERATION_CONVOLUTION_##kind##_DESCRIPTOR, \
            CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##name, CUDNN_TYPE_##type, 1, points_to, 0 \
    }
#define OPERATION(kind, prefix, x, w, y) \
    OF_OPERATION(kind, prefix, x, BACKEND_DESCRIPTOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR), \
        OF_OPERATION(kind, prefix, w, BACKEND_DESCRIPTOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR), \
        OF_OPERATION(kind, prefix, y, BACKEND_DESCRIPTOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR), \
        OF_OPERATION(kind, prefix, CONV_DESC, BACKEND_DESCRIPTOR, \
                     CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR), \
        OF_OPERATION(kind, prefix, ALPHA, FLOAT, 0), OF_OPERATION(kind, prefix, BETA, FLOAT, 0)

/* Attributes that are set; all of them are required. The first four of an operation are x, weight, y and windows. */
static const attribute attributes[] = {
    OF_TENSOR(DATA_TYPE, DATA_TYPE, 1),
    OF_TENSOR(DIMENSIONS, INT64, 4),
    OF_TENSOR(STRIDES, INT64, 4),
    OF_TENSOR(UNIQUE_ID, INT64, 1),
    OF_TENSOR(BYTE_ALIGNMENT, INT64, 1),
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 0, -1},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 0,
     0},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 0,
     0},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
     CUDNN_TYPE_NAN_PROPOGATION, 1, 0, -1},
    OF_POINTWISE(PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0),
    OF_POINTWISE(XDESC, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 0),
    OF_POINTWISE(BDESC, CUDNN_BACKEND_TENSOR_DESCRIPTOR, -1),
    OF_POINTWISE(YDESC, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 0),
    OF_WINDOWS(COMP_TYPE, DATA_TYPE, 1),
    OF_WINDOWS(CONV_MODE, CONVOLUTION_MODE, 1),
    OF_WINDOWS(SPATIAL_DIMS, INT64, 1),
    OF_WINDOWS(FILTER_STRIDES, INT64, 2),
    OF_WINDOWS(DILATIONS, INT64, 2),
    OF_WINDOWS(PRE_PADDINGS, INT64, 2),
    OF_WINDOWS(POST_PADDINGS, INT64, 2),
    OPERATION(FORWARD, FORWARD, X, W, Y),
    OPERATION(BACKWARD_DATA, BWD_DATA, DX, W, DY),
    OPERATION(BACKWARD_FILTER, BWD_FILTER, X, DW, DY),
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
     1, 0, 0},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, -1, 3},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 0},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 0,
     0},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
     1, 0, 0},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 0},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3,
     0, 2},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
     CUDNN_TYPE_VOID_PTR, 3, 0, 2},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
     1, 0, 0},
};
enum { ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

typedef union value {
    int64_t i;
    int32_t e;
    float f;
    void *p;
} value;

/* The description of an operation and its three tensors; copied, since they may be destroyed before the plan. */
typedef struct problem {
    cudnnBackendDescriptorType_t type;
    int64_t dims[3][4], steps[3][4], ids[3], alignment[3];
    int64_t bias, z; /* ids; 0: none. y is the result of the last operation */
    bool relu;
    int64_t stride[2], dilation[2], padding[2];
} problem;

typedef struct engine {
    int64_t index;
    int notes[2], n_notes;
    int64_t workspace;
    bool refuses; /* planning it fails */
    bool right;   /* choosing it is not a mistake */
    bool compiles;
} engine;

typedef struct descriptor {
    cudnnBackendDescriptorType_t type;
    bool final, known[ATTRIBUTES_MOST]; /* in the order of attributes[] */
    value values[ATTRIBUTES_MOST][VALUES_MOST];
    problem problem; /* of an operation and everything derived from it */
    const engine *engine;
} descriptor;

typedef struct context {
    CUstream stream;
} context;

/* ---- calls that fail ---- */

static long calls, fail_at, objects;
static bool fail_always;

long fake_dnn_fail(long n, bool always)
{
    const long were = calls;
    calls = 0;
    fail_at = n;
    fail_always = always;
    return were;
}

long fake_dnn_objects(void) { return objects; }

static bool fails(void)
{
    calls++;
    return fail_at > 0 && (fail_always ? calls % fail_at == 0 : calls == fail_at);
}

/* ---- the engines ---- */

static const engine by_heuristics[] = {
    {0, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 1, 0, false, false, false},
    {1, {CUDNN_NUMERICAL_NOTE_FFT}, 1, 0, false, false, false},
    {2,
     {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
     2,
     0,
     false,
     false,
     false},
    {3, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 1, 512, false, true, false},
    {4, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, 1, 0, false, false, false},
    {5, {0}, 0, 0, true, false, false},
    {6, {0}, 0, (int64_t)2 << 30, false, false, false},
    {7, {0}, 0, 256, false, true, true},
    {8, {0}, 0, 0, false, true, false},
};
static const engine by_fallback[] = {{9, {0}, 0, 0, false, true, false}};

static const engine *list_of(const descriptor *heuristics, int64_t *n)
{
    const bool fallback = heuristics->values[1][0].e == CUDNN_HEUR_MODE_FALLBACK;
    *n = fallback ? 1 : (int64_t)(sizeof by_heuristics / sizeof by_heuristics[0]);
    return fallback ? by_fallback : by_heuristics;
}

/* ---- descriptors ---- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (fails())
        return INTERNAL;
    *handle = calloc(1, sizeof(context));
    objects += *handle != NULL;
    return *handle ? 0 : INTERNAL;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    objects -= handle != NULL;
    free(handle);
    return 0;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (fails())
        return INTERNAL;
    ((context *)handle)->stream = stream;
    return 0;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *desc)
{
    descriptor *d = fails() ? NULL : calloc(1, sizeof *d);
    if (!d)
        return INTERNAL;
    d->type = type;
    objects++;
    *desc = d;
    return 0;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t desc)
{
    objects -= desc != NULL;
    free(desc);
    return 0;
}

static size_t bytes_of(cudnnBackendAttributeType_t type)
{
    return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_HANDLE ||
                   type == CUDNN_TYPE_BACKEND_DESCRIPTOR
               ? 8
           : type == CUDNN_TYPE_BOOLEAN ? 1
                                        : 4;
}

/* A descriptor as the value of an attribute: checks its type. */
static bool is_fine(const descriptor *d, cudnnBackendDescriptorType_t type)
{
    return d && d->final &&
           (type < 0 ? d->type >= CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
                           d->type <= CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR
                     : d->type == type);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t desc,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
    descriptor *d = desc;
    int at = 0;
    if (fails())
        return INTERNAL;
    for (int i = 0; i < ATTRIBUTES; i++) {
        const attribute *a = &attributes[i];
        if (a->of != d->type)
            continue;
        if (a->name != name) {
            at++;
            continue;
        }
        if (d->final || a->type != type || count < a->count ||
            count > a->count + (a->more > 0 ? a->more : 0))
            return BAD_PARAM;
        for (int64_t k = 0; k < count; k++)
            memcpy(&d->values[at][k], (const char *)values + (size_t)k * bytes_of(type),
                   bytes_of(type));
        for (int64_t k = 0; k < count && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; k++)
            if (!is_fine(d->values[at][k].p, a->points_to))
                return NOT_FINALIZED;
        d->known[at] = true;
        return 0;
    }
    return BAD_PARAM;
}

/* True if the strides are those of an array without gaps whose axes are in this order, the innermost first. */
static bool is_packed(const descriptor *d, const int order[4])
{
    int64_t step = 1;
    for (int i = 0; i < 4; i++) {
        if (d->values[1][order[i]].i < 1 || d->values[2][order[i]].i != step)
            return false;
        step *= d->values[1][order[i]].i;
    }
    return true;
}

/* An array of f32, whose channels are the second axis or the last one in memory. */
static cudnnStatus_t tensor_finalize(const descriptor *d)
{
    static const int second[4] = {3, 2, 1, 0}, last[4] = {1, 3, 2, 0};
    if (d->values[0][0].e != CUDNN_DATA_FLOAT)
        return NOT_SUPPORTED;
    if (!is_packed(d, second) && !is_packed(d, last))
        return BAD_PARAM;
    return d->values[4][0].i >= ALIGNMENT_LEAST ? 0 : BAD_PARAM;
}

static cudnnStatus_t windows_finalize(const descriptor *d)
{
    return d->values[0][0].e == CUDNN_DATA_FLOAT && d->values[1][0].e == CUDNN_CROSS_CORRELATION &&
                   d->values[2][0].i == 2
               ? 0
               : BAD_PARAM;
}

static cudnnStatus_t operation_finalize(descriptor *d)
{
    problem *p = &d->problem;
    const descriptor *w = d->values[3][0].p;
    p->type = d->type;
    for (int i = 0; i < 3; i++) {
        const descriptor *t = d->values[i][0].p;
        for (int k = 0; k < 4; k++)
            p->dims[i][k] = t->values[1][k].i, p->steps[i][k] = t->values[2][k].i;
        p->ids[i] = t->values[3][0].i;
        p->alignment[i] = t->values[4][0].i;
    }
    for (int k = 0; k < 2; k++) {
        p->stride[k] = w->values[3][k].i;
        p->dilation[k] = w->values[4][k].i;
        p->padding[k] = w->values[5][k].i;
        const int64_t reach = p->dilation[k] * (p->dims[1][2 + k] - 1) + 1;
        const int64_t length = p->dims[0][2 + k] + 2 * p->padding[k] - reach;
        if (w->values[6][k].i != p->padding[k] || p->dims[2][2 + k] != length / p->stride[k] + 1)
            return BAD_PARAM;
    }
    const bool fits = p->dims[0][0] == p->dims[2][0] && p->dims[1][0] == p->dims[2][1] &&
                      p->dims[0][1] % p->dims[1][1] == 0;
    return fits && d->values[4][0].f == 1 && d->values[5][0].f == 0 && p->ids[0] != p->ids[1] &&
                   p->ids[1] != p->ids[2] && p->ids[0] != p->ids[2]
               ? 0
               : BAD_PARAM;
}

/* relu that keeps NaN, or the sum with a bias (1, channels, 1, 1) or with an array like y. x is not stored. */
static cudnnStatus_t pointwise_finalize(descriptor *d)
{
    const descriptor *how = d->values[0][0].p, *x = d->values[1][0].p, *b = d->values[2][0].p,
                     *y = d->values[3][0].p;
    const bool relu = how->values[0][0].e == CUDNN_POINTWISE_RELU_FWD;
    bool fits = how->values[1][0].e == CUDNN_DATA_FLOAT && x->known[5] && relu == !b &&
                (relu ? how->values[2][0].e == CUDNN_PROPAGATE_NAN
                      : how->values[0][0].e == CUDNN_POINTWISE_ADD && !b->known[5]);
    bool row = b != NULL, like = b != NULL;
    for (int k = 0; k < 4; k++) {
        const int64_t length = y->values[1][k].i, of_b = b ? b->values[1][k].i : 0;
        fits = fits && x->values[1][k].i == length;
        row = row && of_b == (k == 1 ? length : 1);
        like = like && of_b == length;
    }
    d->problem = (problem){.type = d->type,
                           .ids = {x->values[3][0].i, 0, y->values[3][0].i},
                           .bias = row ? b->values[3][0].i : 0,
                           .z = like && !row ? b->values[3][0].i : 0,
                           .relu = relu};
    return fits && (relu || row || like) ? 0 : BAD_PARAM;
}

/* A convolution, and operations that read each other's results: z, bias, relu, in this order. */
static cudnnStatus_t graph_finalize(descriptor *d)
{
    const descriptor *first = d->values[1][0].p;
    problem *all = &d->problem;
    *all = first->problem;
    if (first->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        return BAD_PARAM;
    for (int i = 1; i < 4 && d->values[1][i].p; i++) {
        const descriptor *next = d->values[1][i].p;
        const problem *p = &next->problem;
        if (next->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
            p->ids[0] != all->ids[2] || all->relu || (p->z && all->bias))
            return BAD_PARAM;
        all->ids[2] = p->ids[2];
        all->bias = p->bias ? p->bias : all->bias;
        all->z = p->z ? p->z : all->z;
        all->relu = p->relu;
    }
    return 0;
}

static cudnnStatus_t heuristics_finalize(descriptor *d)
{
    const char *list = getenv("FAKE_DNN_LIST");
    const descriptor *graph = d->values[0][0].p;
    const bool fallback = d->values[1][0].e == CUDNN_HEUR_MODE_FALLBACK;
    if (!fallback && d->values[1][0].e != CUDNN_HEUR_MODE_A)
        return BAD_PARAM;
    d->problem = graph->problem;
    return is_set("FAKE_LIBRARY_REFUSE") || (list && strcmp(list, "fallback") == 0 && !fallback)
               ? NOT_SUPPORTED
               : 0;
}

static cudnnStatus_t plan_finalize(descriptor *d)
{
    const descriptor *config = d->values[1][0].p;
    d->problem = config->problem;
    d->engine = config->engine;
    return d->engine->refuses ? NOT_SUPPORTED : 0;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t desc)
{
    descriptor *d = desc;
    int at = 0;
    if (fails())
        return INTERNAL;
    for (int i = 0; i < ATTRIBUTES; i++)
        if (attributes[i].of == d->type && !d->known[at++] && attributes[i].more >= 0)
            return BAD_PARAM;
    cudnnStatus_t status = d->final || at == 0 ? BAD_PARAM : 0;
    if (status == 0 && d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        status = tensor_finalize(d);
    else if (status == 0 && d->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        status = windows_finalize(d);
    else if (status == 0 && d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        status = graph_finalize(d);
    else if (status == 0 && d->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        status = pointwise_finalize(d);
    else if (status == 0 && d->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
        status = heuristics_finalize(d);
    else if (status == 0 && d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        status = plan_finalize(d);
    else if (status == 0 && d->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
             d->type != CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
        status = operation_finalize(d);
    d->final = status == 0;
    return status;
}

/* ---- attributes that are read ---- */

static cudnnStatus_t results_get(const descriptor *d, int64_t wanted, int64_t *count, void *values)
{
    const engine *list = list_of(d, count);
    descriptor *const *to = values;
    for (int64_t i = 0; i < *count && i < wanted; i++) {
        if (to[i]->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
            return BAD_PARAM;
        to[i]->problem = d->problem;
        to[i]->engine = &list[i];
        to[i]->final = true;
    }
    *count = wanted && wanted < *count ? wanted : *count;
    return 0;
}

static cudnnStatus_t engine_get(const descriptor *d, int64_t *count, descriptor *to)
{
    if (to->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR)
        return BAD_PARAM;
    to->engine = d->engine;
    to->final = true;
    *count = 1;
    return 0;
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t desc,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t *count, void *values)
{
    const descriptor *d = desc;
    if (fails())
        return INTERNAL;
    if (!d->final)
        return NOT_FINALIZED;
    if (d->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR && name == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
        type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return results_get(d, wanted, count, values);
    if (wanted < 1)
        return BAD_PARAM;
    if (d->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && name == CUDNN_ATTR_ENGINECFG_ENGINE &&
        type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return engine_get(d, count, *(descriptor **)values);
    if (d->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX &&
        type == CUDNN_TYPE_INT64) {
        memcpy(values, &d->engine->index, sizeof d->engine->index);
        *count = 1;
        return 0;
    }
    if (d->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE &&
        type == CUDNN_TYPE_NUMERICAL_NOTE && wanted >= d->engine->n_notes) {
        memcpy(values, d->engine->notes, (size_t)d->engine->n_notes * sizeof(int));
        *count = d->engine->n_notes;
        return 0;
    }
    if (d->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE &&
        type == CUDNN_TYPE_BEHAVIOR_NOTE) {
        const int note = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
        *count = d->engine->compiles;
        memcpy(values, &note, (size_t)*count * sizeof note);
        return 0;
    }
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
        name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        memcpy(values, &d->engine->workspace, sizeof d->engine->workspace);
        *count = 1;
        return 0;
    }
    return BAD_PARAM;
}

/* ---- computing ---- */

typedef struct work {
    problem problem;
    float *at[3], *bias, *z;
    int which;
    void *workspace;
    size_t workspace_bytes;
} work;

static int64_t place_of(const int64_t step[4], int64_t a, int64_t b, int64_t c, int64_t d)
{
    return a * step[0] + b * step[1] + c * step[2] + d * step[3];
}

/* All products of a convolution: at[which] receives, for each of its elements, the sum over the others. */
static void convolve(const void *data)
{
    const work *job = data;
    const problem *c = &job->problem;
    float *const *at = job->at;
    const int which = job->which;
    const int64_t *xs = c->dims[0], *ws = c->dims[1], *ys = c->dims[2], *s = c->dims[which];
    const int64_t groups = xs[1] / ws[1], each = ws[0] / groups;
    const int64_t all = ys[0] * ys[1] * ys[2] * ys[3] * ws[1] * ws[2] * ws[3];
    if (job->workspace_bytes)
        memset(job->workspace, 0xff, job->workspace_bytes);
    memset(at[which], 0, sizeof(float) * (size_t)(s[0] * s[1] * s[2] * s[3]));
    for (int64_t i = 0; i < all; i++) {
        const int64_t col = i % ws[3], row = i / ws[3] % ws[2], m = i / ws[3] / ws[2] % ws[1];
        const int64_t at_y = i / ws[3] / ws[2] / ws[1], q = at_y % ys[3];
        const int64_t p = at_y / ys[3] % ys[2], k = at_y / ys[3] / ys[2] % ys[1];
        const int64_t n = at_y / ys[3] / ys[2] / ys[1];
        const int64_t h = p * c->stride[0] + row * c->dilation[0] - c->padding[0];
        const int64_t v = q * c->stride[1] + col * c->dilation[1] - c->padding[1];
        if (h < 0 || h >= xs[2] || v < 0 || v >= xs[3])
            continue;
        const int64_t from = place_of(c->steps[0], n, k / each * ws[1] + m, h, v);
        const int64_t by = place_of(c->steps[1], k, m, row, col);
        const int64_t to = place_of(c->steps[2], n, k, p, q);
        if (which == 0)
            at[0][from] += at[1][by] * at[2][to];
        else if (which == 1)
            at[1][by] += at[0][from] * at[2][to];
        else
            at[2][to] += at[0][from] * at[1][by];
    }
    for (int64_t i = 0; i < ys[0] * ys[1] * ys[2] * ys[3] && which == 2; i++) {
        const int64_t q = i % ys[3], p = i / ys[3] % ys[2], k = i / ys[3] / ys[2] % ys[1];
        const int64_t to = place_of(c->steps[2], i / ys[3] / ys[2] / ys[1], k, p, q);
        const float y = at[2][to] + (job->z ? job->z[to] : 0) + (job->bias ? job->bias[k] : 0);
        at[2][to] = c->relu && y < 0 ? 0 : y;
    }
}

/* The pointer with an id; NULL: none, or not aligned. */
static float *pointer_of(const descriptor *pack, int64_t id, int64_t alignment)
{
    float *at = NULL;
    for (int k = 0; k < VALUES_MOST; k++)
        if (pack->values[0][k].i == id)
            at = pack->values[1][k].p;
    return (uintptr_t)at % (uintptr_t)alignment == 0 ? at : NULL;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variants)
{
    const descriptor *d = plan, *pack = variants;
    const problem *p = &d->problem;
    if (fails())
        return INTERNAL;
    if (!handle || !d->final || d->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        !pack->final || pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || !d->engine->right)
        return BAD_PARAM;
    void *workspace = pack->values[2][0].p;
    float *at[3], *bias = p->bias ? pointer_of(pack, p->bias, ALIGNMENT_LEAST) : NULL;
    float *z = p->z ? pointer_of(pack, p->z, ALIGNMENT_LEAST) : NULL;
    bool fine = (!p->bias || bias) && (!p->z || z) && (d->engine->workspace == 0 || workspace);
    for (int i = 0; i < 3; i++)
        fine = (at[i] = pointer_of(pack, p->ids[i], p->alignment[i])) && fine;
    if (!fine)
        return BAD_PARAM;
    if (is_set("FAKE_LIBRARY_FAIL"))
        return BROKEN;
    const work job = {*p,
                      {at[0], at[1], at[2]},
                      bias,
                      z,
                      p->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR         ? 2
                      : p->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ? 0
                                                                                                : 1,
                      workspace,
                      (size_t)d->engine->workspace};
    return queue_call(((context *)handle)->stream, convolve, &job, sizeof job) ? 0 : INTERNAL;
}
