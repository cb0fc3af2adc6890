/* The stand-in for cuBLASLt; see libraries.h. */
#include "libraries.h"

#include "fakecuda/fake.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

bool queue_call(CUstream stream, void (*run)(const void *data), const void *data, size_t bytes)
{
    fake_call_fn *call = NULL;
    void *driver = dlopen(getenv("IG_CUDA"), RTLD_NOW | RTLD_LOCAL);
    void *at = driver ? dlsym(driver, "fake_call") : NULL;
    memcpy(&call, &at, sizeof at);
    return call && call(stream, run, data, bytes);
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
#include "engine/backend/cuda/lt.def"

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

typedef struct matmul {
    desc of;
    layout a, b, d;
    const float *at[2];
    float *to;
    void *workspace;
    size_t workspace_bytes;
} matmul;

static void multiply(const void *data)
{
    const matmul *m = data;
    const desc *x = &m->of;
    memset(m->workspace, 0xff, m->workspace_bytes);
    const int64_t k = (int64_t)(x->transposed[0] ? m->a.rows : m->a.columns);
    for (int32_t job = 0; job < m->d.batch; job++)
        for (int64_t j = 0; j < (int64_t)m->d.columns; j++)
            for (int64_t i = 0; i < (int64_t)m->d.rows; i++) {
                const float *p = m->at[0] + job * m->a.stride, *q = m->at[1] + job * m->b.stride;
                double sum = x->epilogue == CUBLASLT_EPILOGUE_BIAS ? x->bias[i] : 0;
                for (int64_t n = 0; n < k; n++)
                    sum += (double)p[x->transposed[0] ? n + i * m->a.ld : i + n * m->a.ld] *
                           q[x->transposed[1] ? j + n * m->b.ld : n + j * m->b.ld];
                m->to[job * m->d.stride + i + j * m->d.ld] = (float)sum;
            }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t of, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    const matmul m = {*(const desc *)of,
                      *(const layout *)a_layout,
                      *(const layout *)b_layout,
                      *(const layout *)d_layout,
                      {a, b},
                      d,
                      workspace,
                      workspace_bytes};
    (void)handle;
    (void)alpha;
    (void)beta;
    (void)c;
    (void)c_layout;
    (void)algo;
    return is_set("FAKE_LIBRARY_FAIL") || !queue_call(stream, multiply, &m, sizeof m) ? BROKEN : 0;
}
