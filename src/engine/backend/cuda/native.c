/* Chooses the library or kernel that runs a program; see native.h. The choice depends on the program and on the
 * installed libraries, so it is the same in each run. In math mode `same` emitted kernels run, in the CPU's order. */
#include "engine/backend/cuda/native.h"

#include "base/embed.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/ops/native.h"

INCLUDE_FILE("kernels_arguments", "src/engine/backend/cuda/arguments.h");
INCLUDE_FILE("kernels_hopper", "kernels/hopper.cuh");

/* With fewer multiplications, the emitted kernel is as fast as a library: on an H200, products of 128 x 128. With an
 * epilogue, a library needs two launches and the emitted kernel one: there, products of 256 x 256. */
enum { FEW_PRODUCTS = 1 << 21, FEW_WITH_EPILOGUE = 1 << 25 };

/* The emitted kernel does not split k. From this length on, that takes longer than two launches. */
enum { LONG_K = 512 };

CUdeviceptr cuda_address(const cuda_device *d, binding at, int64_t offset, ig_dtype dtype)
{
    const cuda_memory *m = at.buf && at.buf->device == &d->base.dev ? at.buf->handle : NULL;
    return m ? m->at + at.offset + (uint64_t)offset * ig_dtype_bytes(dtype) : 0;
}

ig_status cuda_map(cuda_device *d, CUtensorMap *map, CUdeviceptr at, int bytes,
                   const cuuint64_t dims[4], const int64_t strides[3], const cuuint32_t box[2])
{
    enum { ANY = 16 };
    const cuuint32_t boxes[4] = {box[0], box[1], 1, 1}, steps[4] = {1, 1, 1, 1};
    cuuint64_t apart[3];
    for (int i = 0; i < 3; i++)
        apart[i] = dims[i + 1] > 1 ? (uint64_t)strides[i] * (uint64_t)bytes : ANY;
    TRY(cuda_enter(d)); /* the driver needs a current context */
    const CUresult status = cu.tensor_map(
        map, bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4,
        (void *)(uintptr_t)at, dims, apart, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return driver_left(&d->base.dev, cuda_check(d, status, "describing a matrix"));
}

static bool offers(const backend *dev, const node_native *n)
{
    cuda_device *d = cuda_device_of(dev);
    return attention_offers(d, n) || dnn_offers(d, n) || solver_offers(d, n) || fft_offers(d, n);
}

bool cuda_refuse(cuda_device *d, const node_native *n, const char *library, int status)
{
    const uint32_t bit = 1u << n->kind;
    if (!(d->refused & bit))
        log_line(IG_NOTE, "%s: %s failed with status %d for %s; own kernels compute it",
                 d->base.name, library, status, native_name(n->kind));
    d->refused |= bit;
    return false;
}

static bool is_small(const product *c)
{
    return c->k < LONG_K &&
           (double)c->outer * (double)c->batch * (double)c->m * (double)c->n * (double)c->k <
               (c->out_slot < 0 ? FEW_WITH_EPILOGUE : FEW_PRODUCTS);
}

void cuda_native_release(cuda_device *d)
{
    if (d->n_native)
        return;
    cuda_text_release(d);
    lt_release(d);
    dnn_release(d);
    solver_release(d);
    fft_release(d);
}

/* Clears the error of a compiler that is too old for the instructions; other code runs instead. */
static void forgive(ig_status status, bool failed)
{
    if (status != IG_OK && !failed)
        ig_error(NULL);
}

/* A product with an epilogue runs in a handwritten kernel, which saves a pass over the result. Other products run in
 * cuBLASLt, or without it in a handwritten kernel for tensor cores. */
static ig_status prepare_product(cuda_device *d, const program *p, const bool *by_value,
                                 cuda_native **out)
{
    const bool tf32 = p->math == IG_MATH_TF32, failed = ig_failed();
    product c;
    if (p->math == IG_MATH_SAME || !product_of(p, &c) || is_small(&c))
        return IG_OK;
    if (c.out_slot < 0)
        forgive(tensor_prepare_epilogue(d, p, by_value, out), failed);
    if (!*out)
        TRY(lt_prepare(d, &c, tf32, out));
    if (!*out)
        forgive(tensor_prepare(d, &c, tf32, out), failed);
    return IG_OK;
}

static void expect(const backend *dev, const program *p)
{
    product c;
    (void)dev;
    if (p->kind == PROGRAM_CONTRACT && p->math != IG_MATH_SAME && product_of(p, &c) &&
        !is_small(&c))
        lt_expect();
}

static ig_status prepare(const backend *dev, const program *p, const bool *by_value,
                         native_code **out)
{
    cuda_device *d = cuda_device_of(dev);
    cuda_native *code = NULL;
    *out = NULL;
    if (p->kind != PROGRAM_KERNEL)
        TRY(prepare_product(d, p, by_value, &code));
    else if (attention_offers(d, p->kernel->native))
        TRY(attention_prepare(d, p, &code));
    else if (p->kernel->native->kind >= NATIVE_FFT)
        TRY(fft_prepare(d, p, &code));
    else if (p->kernel->native->kind >= NATIVE_CHOLESKY)
        TRY(solver_prepare(d, p, &code));
    else
        TRY(dnn_prepare(d, p, &code));
    if (code) {
        d->n_native++;
        *out = &code->base;
    }
    return IG_OK;
}

static ig_status launch(native_code *code, const binding *bindings, binding scratch)
{
    cuda_native *c = (cuda_native *)code;
    const ig_status status = c->launch(c, bindings, scratch);
    pthread_mutex_lock(&c->dev->base.lock);
    flight_add(&c->dev->flight, code->label ? code->label : code->name);
    pthread_mutex_unlock(&c->dev->base.lock);
    return status;
}

static void discard(native_code *code)
{
    cuda_native *c = (cuda_native *)code;
    if (c) {
        c->dev->n_native--;
        c->discard(c);
    }
}

#define PROGRAMS \
    .offers = offers, .expect = expect, .prepare = prepare, .launch = launch, .discard = discard, \
    .plain_product = FEW_WITH_EPILOGUE

const backend_native cuda_native_programs = {PROGRAMS};
const backend_native cuda_native_hopper = {PROGRAMS, .half_epilogues = true};
