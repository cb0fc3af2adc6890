/* Stand-ins for cuBLASLt and cuDNN, as one library: plain loops over f32 in the fake driver's "device memory",
 * which is host memory. Each call waits for the stream first. What is not f32 is refused.
 *
 * FAKE_LIBRARY_REFUSE=1: no algorithm is found. FAKE_LIBRARY_FAIL=1: the calls that compute fail. */
#include "backend/cuda/api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { REFUSED = 15, BROKEN = 13 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

static void wait_for(CUstream stream)
{
    CUresult (*wait)(CUstream) = NULL;
    void *driver = dlopen(getenv("IG_CUDA"), RTLD_NOW | RTLD_LOCAL);
    void *at = driver ? dlsym(driver, "cuStreamSynchronize") : NULL;
    memcpy(&wait, &at, sizeof at);
    if (wait)
        wait(stream);
}

/* ---- cuBLASLt ---- */

typedef struct layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t batch;
} layout;

typedef struct desc {
    int32_t transposed[2], epilogue;
    const float *bias;
} desc;

#define LT_FUNCTION(name, parameters) EXPORT cublasStatus_t name parameters;
#include "backend/cuda/lt.def"
#define DNN_FUNCTION(name, parameters) EXPORT cudnnStatus_t name parameters;
#include "backend/cuda/dnn.def"

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = malloc(1);
    return *handle ? 0 : BROKEN;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return 0;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    (void)scale;
    *d = calloc(1, sizeof(desc));
    return *d && compute == CUBLAS_COMPUTE_32F ? 0 : REFUSED;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    free(d);
    return 0;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t bytes)
{
    desc *x = (desc *)d;
    if (what == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
        memcpy(&x->bias, value, bytes);
    else if (what == CUBLASLT_MATMUL_DESC_EPILOGUE)
        memcpy(&x->epilogue, value, bytes);
    else
        memcpy(&x->transposed[what - CUBLASLT_MATMUL_DESC_TRANSA], value, bytes);
    return 0;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    layout *x = malloc(sizeof *x);
    if (!x)
        return BROKEN;
    *x = (layout){type, rows, columns, ld, 0, 1};
    *l = (cublasLtMatrixLayout_t)x;
    return 0;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    free(l);
    return 0;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t what,
                                                const void *value, size_t bytes)
{
    layout *x = (layout *)l;
    memcpy(what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? (void *)&x->batch : &x->stride, value,
           bytes);
    return 0;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
    *p = malloc(1);
    return *p ? 0 : BROKEN;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    free(p);
    return 0;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *value, size_t bytes)
{
    (void)p;
    (void)what;
    (void)value;
    (void)bytes;
    return 0;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t e,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *count)
{
    (void)handle;
    (void)d;
    (void)b;
    (void)c;
    (void)e;
    (void)preference;
    (void)wanted;
    *results = (cublasLtMatmulHeuristicResult_t){.workspaceSize = 1024};
    *count = 1;
    return is_set("FAKE_LIBRARY_REFUSE") || ((layout *)a)->type != CUDA_R_32F ? REFUSED : 0;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t of, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    const desc *x = (const desc *)of;
    const layout *la = (const layout *)a_layout, *lb = (const layout *)b_layout,
                 *ld = (const layout *)d_layout;
    (void)handle;
    (void)alpha;
    (void)beta;
    (void)c;
    (void)c_layout;
    (void)algo;
    if (is_set("FAKE_LIBRARY_FAIL"))
        return BROKEN;
    wait_for(stream);
    memset(workspace, 0xff, workspace_bytes);
    const int64_t k = (int64_t)(x->transposed[0] ? la->rows : la->columns);
    for (int32_t job = 0; job < ld->batch; job++)
        for (int64_t j = 0; j < (int64_t)ld->columns; j++)
            for (int64_t i = 0; i < (int64_t)ld->rows; i++) {
                const float *p = (const float *)a + job * la->stride;
                const float *q = (const float *)b + job * lb->stride;
                double sum = x->epilogue == CUBLASLT_EPILOGUE_BIAS ? x->bias[i] : 0;
                for (int64_t m = 0; m < k; m++)
                    sum += (double)p[x->transposed[0] ? m + i * la->ld : i + m * la->ld] *
                           q[x->transposed[1] ? j + m * lb->ld : m + j * lb->ld];
                ((float *)d)[job * ld->stride + i + j * ld->ld] = (float)sum;
            }
    return 0;
}

/* ---- cuDNN ---- */

typedef struct tensor {
    cudnnDataType_t type;
    int dims[4];
} tensor;

typedef struct conv {
    int padding[2], stride[2], dilation[2], groups;
} conv;

typedef struct context {
    CUstream stream;
} context;

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = calloc(1, sizeof(context));
    return *handle ? 0 : BROKEN;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return 0;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    ((context *)handle)->stream = stream;
    return 0;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *d)
{
    *d = calloc(1, sizeof(tensor));
    return *d ? 0 : BROKEN;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n,
                                         const int *dims, const int *strides)
{
    (void)strides;
    ((tensor *)d)->type = type;
    memcpy(((tensor *)d)->dims, dims, (size_t)n * sizeof *dims);
    return 0;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d)
{
    free(d);
    return 0;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *d)
{
    *d = calloc(1, sizeof(tensor));
    return *d ? 0 : BROKEN;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int n, const int *dims)
{
    (void)format;
    ((tensor *)d)->type = type;
    memcpy(((tensor *)d)->dims, dims, (size_t)n * sizeof *dims);
    return 0;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d)
{
    free(d);
    return 0;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *d)
{
    *d = calloc(1, sizeof(conv));
    return *d ? 0 : BROKEN;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t d, int n,
                                              const int *padding, const int *stride,
                                              const int *dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute)
{
    conv *c = (conv *)d;
    const size_t bytes = (size_t)n * sizeof *padding;
    memcpy(c->padding, padding, bytes);
    memcpy(c->stride, stride, bytes);
    memcpy(c->dilation, dilation, bytes);
    return mode == CUDNN_CROSS_CORRELATION && compute == CUDNN_DATA_FLOAT ? 0 : REFUSED;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t math)
{
    (void)d;
    return math == CUDNN_FMA_MATH ? 0 : REFUSED;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups)
{
    ((conv *)d)->groups = groups;
    return 0;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d)
{
    free(d);
    return 0;
}

/* The first is not deterministic, the second uses a Fourier transform: both must be passed over. */
static cudnnStatus_t choices(const tensor *t, int fourier, int wanted, int *count, dnn_choice *out)
{
    const dnn_choice all[3] = {
        {.algo = 0, .mathType = CUDNN_FMA_MATH},
        {.algo = fourier, .determinism = 1, .mathType = CUDNN_FMA_MATH},
        {.algo = 1, .determinism = CUDNN_DETERMINISTIC, .mathType = CUDNN_FMA_MATH, .memory = 256}};
    if (is_set("FAKE_LIBRARY_REFUSE") || t->type != CUDNN_DATA_FLOAT || wanted < 3)
        return REFUSED;
    memcpy(out, all, sizeof all);
    *count = 3;
    return 0;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t y, const int wanted,
    int *count, cudnnConvolutionFwdAlgoPerf_t *results)
{
    (void)handle;
    (void)w;
    (void)d;
    (void)y;
    return choices((const tensor *)x, CUDNN_CONVOLUTION_FWD_ALGO_FFT, wanted, count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t x, const int wanted,
    int *count, cudnnConvolutionBwdDataAlgoPerf_t *results)
{
    (void)handle;
    (void)w;
    (void)d;
    (void)y;
    return choices((const tensor *)x, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, wanted, count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t w, const int wanted,
    int *count, cudnnConvolutionBwdFilterAlgoPerf_t *results)
{
    (void)handle;
    (void)w;
    (void)d;
    (void)y;
    return choices((const tensor *)x, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, wanted, count,
                   results);
}

/* All products of a convolution: of each, `into` receives the sum over the others. */
static cudnnStatus_t convolve(cudnnHandle_t handle, const void *x_desc, const float *x,
                              const void *w_desc, const float *w, const void *desc_of,
                              const void *y_desc, const float *y, int algo, float *into, int which)
{
    const int *xs = ((const tensor *)x_desc)->dims, *ws = ((const tensor *)w_desc)->dims,
              *ys = ((const tensor *)y_desc)->dims;
    const int *const sizes[3] = {xs, ws, ys};
    const conv *c = desc_of;
    if (is_set("FAKE_LIBRARY_FAIL") || algo != 1)
        return BROKEN;
    wait_for(((context *)handle)->stream);
    const int *s = sizes[which];
    memset(into, 0, sizeof *into * (size_t)s[0] * (size_t)s[1] * (size_t)s[2] * (size_t)s[3]);
    const int each = ws[0] / c->groups;
    const long all = (long)ys[0] * ys[1] * ys[2] * ys[3] * ws[1] * ws[2] * ws[3];
    for (long i = 0; i < all; i++) {
        const int col = (int)(i % ws[3]), row = (int)(i / ws[3] % ws[2]);
        const int m = (int)(i / ws[3] / ws[2] % ws[1]);
        const long to = i / ws[3] / ws[2] / ws[1];
        const int q = (int)(to % ys[3]), p = (int)(to / ys[3] % ys[2]);
        const int k = (int)(to / ys[3] / ys[2] % ys[1]), n = (int)(to / ys[3] / ys[2] / ys[1]);
        const int h = p * c->stride[0] + row * c->dilation[0] - c->padding[0];
        const int v = q * c->stride[1] + col * c->dilation[1] - c->padding[1];
        if (h < 0 || h >= xs[2] || v < 0 || v >= xs[3])
            continue;
        const long from = (((long)n * xs[1] + k / each * ws[1] + m) * xs[2] + h) * xs[3] + v;
        const long by = (((long)k * ws[1] + m) * ws[2] + row) * ws[3] + col;
        if (which == 0)
            into[from] += w[by] * y[to];
        else if (which == 1)
            into[by] += x[from] * y[to];
        else
            into[to] += x[from] * w[by];
    }
    return 0;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x_desc, const void *x,
                                      const cudnnFilterDescriptor_t w_desc, const void *w,
                                      const cudnnConvolutionDescriptor_t d,
                                      cudnnConvolutionFwdAlgo_t algo, void *workspace,
                                      size_t workspace_bytes, const void *beta,
                                      const cudnnTensorDescriptor_t y_desc, void *y)
{
    (void)alpha;
    (void)workspace;
    (void)workspace_bytes;
    (void)beta;
    return convolve(handle, x_desc, x, w_desc, w, d, y_desc, NULL, algo, y, 2);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w_desc, const void *w,
                                           const cudnnTensorDescriptor_t y_desc, const void *y,
                                           const cudnnConvolutionDescriptor_t d,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workspace,
                                           size_t workspace_bytes, const void *beta,
                                           const cudnnTensorDescriptor_t x_desc, void *x)
{
    (void)alpha;
    (void)workspace;
    (void)workspace_bytes;
    (void)beta;
    return convolve(handle, x_desc, NULL, w_desc, w, d, y_desc, y, algo, x, 0);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x_desc, const void *x,
                                             const cudnnTensorDescriptor_t y_desc, const void *y,
                                             const cudnnConvolutionDescriptor_t d,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void *workspace,
                                             size_t workspace_bytes, const void *beta,
                                             const cudnnFilterDescriptor_t w_desc, void *w)
{
    (void)alpha;
    (void)workspace;
    (void)workspace_bytes;
    (void)beta;
    return convolve(handle, x_desc, x, w_desc, NULL, d, y_desc, y, algo, w, 1);
}
