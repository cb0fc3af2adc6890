/* Products by cuBLASLt, which is loaded for the first product.
 *
 * cuBLASLt's matrices are column-major, so it computes the transposed product: its A is side 1, its B is
 * side 0, and its result (n x m, column-major) is ours (m x n, row-major). Its heuristics choose the
 * algorithm once for each program, without measuring, so every run uses the same one. Sums that are split
 * over k are added in f32 or f64, in a fixed order. */
#include "engine/backend/cuda/native.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"

#include <stdatomic.h>
#include <stdio.h>

enum { WORKSPACE_BYTES = 32 << 20, OUTER_MOST = 64 };

typedef struct lt_product {
    cuda_native base;
    product c;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulHeuristicResult_t chosen;
    uint64_t
        product_bytes; /* bytes of the result if it goes to scratch; the workspace follows it */
} lt_product;

static struct {
    pthread_once_t once;
    bool loaded;
    lt_api api;
} lt = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    const int64_t began = trace_begin();
    lt.loaded = lt_api_load(&lt.api);
    trace_end(began, "load cuBLASLt");
}

static void *load_early(void *unused)
{
    pthread_once(&lt.once, load);
    return unused;
}

void lt_expect(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    pthread_t thread;
    if (atomic_flag_test_and_set(&begun))
        return;
    const int64_t began = trace_begin();
    if (pthread_create(&thread, NULL, load_early, NULL) == 0)
        pthread_detach(thread);
    trace_end(began, "begin to load cuBLASLt");
}

static bool failed(cublasStatus_t status) { return status != CUBLAS_STATUS_SUCCESS; }

static cudaDataType type_of(ig_dtype dtype)
{
    static const cudaDataType types[] = {[IG_F16] = CUDA_R_16F,
                                         [IG_BF16] = CUDA_R_16BF,
                                         [IG_F32] = CUDA_R_32F,
                                         [IG_F64] = CUDA_R_64F};
    return types[dtype];
}

static void discard(cuda_native *code)
{
    lt_product *p = (lt_product *)code;
    if (p->desc)
        lt.api.cublasLtMatmulDescDestroy(p->desc);
    cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->d};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            lt.api.cublasLtMatrixLayoutDestroy(layouts[i]);
    memory_free(p);
}

/* ---- preparing ---- */

/* A batch of column-major matrices. */
static bool layout_set(cublasLtMatrixLayout_t *out, const product *c, ig_dtype dtype, int64_t rows,
                       int64_t columns, int64_t ld, int64_t stride)
{
    const int32_t count = (int32_t)c->batch;
    if (failed(lt.api.cublasLtMatrixLayoutCreate(out, type_of(dtype), (uint64_t)rows,
                                                 (uint64_t)columns, ld)))
        return false;
    return count == 1 ||
           (!failed(lt.api.cublasLtMatrixLayoutSetAttribute(
                *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count)) &&
            !failed(lt.api.cublasLtMatrixLayoutSetAttribute(
                *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride)));
}

static bool side_set(cublasLtMatrixLayout_t *out, const product *c, int side)
{
    const product_side *s = &c->side[side];
    const int64_t rows = side ? c->n : c->m;
    return layout_set(out, c, c->in, s->k_inner ? c->k : rows, s->k_inner ? rows : c->k, s->ld,
                      s->batch);
}

static bool desc_set(lt_product *p, bool tf32)
{
    const product *c = &p->c;
    const cublasComputeType_t compute = c->in == IG_F64           ? CUBLAS_COMPUTE_64F
                                        : c->in == IG_F32 && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                  : CUBLAS_COMPUTE_32F;
    const int32_t a = c->side[1].k_inner ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t b = c->side[0].k_inner ? CUBLAS_OP_N : CUBLAS_OP_T;
    const int32_t bias = CUBLASLT_EPILOGUE_BIAS;
    if (failed(lt.api.cublasLtMatmulDescCreate(&p->desc, compute,
                                               c->in == IG_F64 ? CUDA_R_64F : CUDA_R_32F)) ||
        failed(lt.api.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &a,
                                                     sizeof a)) ||
        failed(lt.api.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &b,
                                                     sizeof b)))
        return false;
    return c->bias_slot < 0 || !failed(lt.api.cublasLtMatmulDescSetAttribute(
                                   p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias, sizeof bias));
}

/* The alignment of A, B, C and D, which determines the width of their loads. */
static void alignments_of(const product *c, uint32_t at[4])
{
    for (int i = 0; i < 2; i++) {
        const product_side *s = &c->side[1 - i];
        const int64_t outer = product_alignment(s->offset, s->outer, c->in);
        const int64_t batch = product_alignment(s->offset, s->batch, c->in);
        at[i] = (uint32_t)(outer < batch ? outer : batch);
    }
    at[2] = at[3] = (uint32_t)product_alignment(c->out_offset, c->batch * c->m * c->n, c->out);
}

static bool choose(lt_product *p, cublasLtMatmulPreference_t preference)
{
    const uint64_t workspace = WORKSPACE_BYTES;
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    uint32_t alignment[4];
    int count = 0;
    alignments_of(&p->c, alignment);
    bool ok =
        !failed(lt.api.cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace)) &&
        !failed(lt.api.cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes));
    for (int i = 0; i < 4 && ok; i++)
        ok = !failed(lt.api.cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i, &alignment[i],
            sizeof alignment[i]));
    return ok &&
           !failed(lt.api.cublasLtMatmulAlgoGetHeuristic(p->base.dev->lt, p->desc, p->a, p->b, p->d,
                                                         p->d, preference, 1, &p->chosen,
                                                         &count)) &&
           count == 1 && !failed(p->chosen.state);
}

static bool set_up(lt_product *p, bool tf32)
{
    cublasLtMatmulPreference_t preference = NULL;
    cuda_device *d = p->base.dev;
    const product *c = &p->c;
    const int64_t began = trace_begin();
    if (!d->lt && failed(lt.api.cublasLtCreate(&d->lt))) {
        d->lt = NULL;
        return false;
    }
    trace_end(began, "start cuBLASLt");
    if (!desc_set(p, tf32) || !side_set(&p->a, c, 1) || !side_set(&p->b, c, 0) ||
        !layout_set(&p->d, c, c->out, c->n, c->m, c->n, c->m * c->n) ||
        failed(lt.api.cublasLtMatmulPreferenceCreate(&preference)))
        return false;
    const int64_t choosing = trace_begin();
    const bool chosen = choose(p, preference);
    trace_end(choosing, "choose an algorithm");
    lt.api.cublasLtMatmulPreferenceDestroy(preference);
    return chosen;
}

void lt_release(cuda_device *d)
{
    if (d->lt && !d->base.is_lost)
        lt.api.cublasLtDestroy(d->lt);
    d->lt = NULL;
}

/* ---- launching ---- */

static cublasStatus_t launch_one(lt_product *p, const CUdeviceptr at[3], CUdeviceptr workspace)
{
    const double one64 = 1, none64 = 0;
    const float one32 = 1, none32 = 0;
    const bool wide = p->c.in == IG_F64;
    return lt.api.cublasLtMatmul(
        p->base.dev->lt, p->desc, wide ? (const void *)&one64 : &one32,
        (const void *)(uintptr_t)at[1], p->a, (const void *)(uintptr_t)at[0], p->b,
        wide ? (const void *)&none64 : &none32, (const void *)(uintptr_t)at[2], p->d,
        (void *)(uintptr_t)at[2], p->d, &p->chosen.algo, (void *)(uintptr_t)workspace,
        p->chosen.workspaceSize, p->base.dev->stream);
}

static ig_status launch(cuda_native *code, const binding *bindings, binding scratch)
{
    lt_product *p = (lt_product *)code;
    cuda_device *d = p->base.dev;
    const product *c = &p->c;
    CUdeviceptr at[3];
    for (int i = 0; i < 2; i++)
        at[i] = cuda_address(d, bindings[c->side[i].slot], c->side[i].offset, c->in);
    const CUdeviceptr spare = cuda_address(d, scratch, 0, IG_U8);
    at[2] = c->out_slot < 0 ? spare : cuda_address(d, bindings[c->out_slot], c->out_offset, c->out);
    const CUdeviceptr bias =
        c->bias_slot < 0 ? 0 : cuda_address(d, bindings[c->bias_slot], c->bias_offset, c->out);
    if (!at[0] || !at[1] || !at[2] || (c->bias_slot >= 0 && !bias))
        FAIL(IG_ERR_ARGUMENT, "%s: a matrix product reads a buffer of another device",
             d->base.name);
    TRY(cuda_enter(d));
    const struct {
        const void *code;
        CUdeviceptr at[5];
    } key = {p, {at[0], at[1], at[2], spare, bias}};
    if (cuda_replay_call(d, &key, sizeof key)) {
        cuda_leave(d);
        return IG_OK;
    }
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (bias)
        status = lt.api.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                       &bias, sizeof bias);
    for (int64_t i = 0; i < c->outer && !failed(status); i++) {
        status = launch_one(p, at, spare + p->product_bytes);
        for (int k = 0; k < 2; k++)
            at[k] += (uint64_t)(c->side[k].outer) * ig_dtype_bytes(c->in);
        at[2] += (uint64_t)(c->batch * c->m * c->n) * ig_dtype_bytes(c->out);
    }
    cuda_leave(d);
    if (failed(status))
        FAIL(IG_ERR_DEVICE, "%s: cuBLASLt failed with status %d; IG_CUBLASLT=off avoids it",
             d->base.name, status);
    return IG_OK;
}

ig_status lt_prepare(cuda_device *d, const product *c, bool tf32, cuda_native **out)
{
    enum { ALIGN = 256 };
    *out = NULL;
    pthread_once(&lt.once, load);
    if (!lt.loaded || c->outer > OUTER_MOST || c->batch > INT32_MAX || c->m > INT32_MAX ||
        c->n > INT32_MAX || c->k > INT32_MAX)
        return IG_OK;
    lt_product *p = memory_new(sizeof *p);
    if (!p)
        return IG_ERR_MEMORY;
    p->base = (cuda_native){{.name = "cuBLASLt", .core_only = c->out_slot < 0}, d, launch, discard};
    p->c = *c;
    const ig_status status = cuda_enter(d);
    const bool ready = status == IG_OK && set_up(p, tf32);
    if (status == IG_OK)
        cuda_leave(d);
    if (!ready) {
        discard(&p->base);
        return status;
    }
    if (c->out_slot < 0)
        p->product_bytes = (uint64_t)(c->outer * c->batch * c->m * c->n) * ig_dtype_bytes(c->out);
    p->product_bytes = (p->product_bytes + ALIGN - 1) / ALIGN * ALIGN;
    p->base.base.scratch_bytes = p->product_bytes + p->chosen.workspaceSize;
    *out = &p->base;
    return IG_OK;
}
