/* Which library or kernel runs a program; see native.h. The choice depends on the program and on what is
 * installed, so it is the same in each run. In math mode `same` the emitted kernels run, in the CPU's order. */
#include "backend/cuda/native.h"

#include "base/error.h"

/* A product with an epilogue of its own takes two launches. Below this number of multiplications the emitted
 * kernel, which takes one, is as fast. */
enum { FEW_PRODUCTS = 1 << 21 };

CUdeviceptr cuda_address(const cuda_device *d, binding at, int64_t offset, ig_dtype dtype)
{
    const cuda_memory *m = at.buf && at.buf->device == &d->base ? at.buf->handle : NULL;
    return m ? m->at + at.offset + (uint64_t)offset * ig_dtype_bytes(dtype) : 0;
}

static bool is_small(const product *c)
{
    return (double)c->outer * (double)c->batch * (double)c->m * (double)c->n * (double)c->k <
           FEW_PRODUCTS;
}

static ig_status prepare(const backend *dev, const program *p, native_code **out)
{
    cuda_device *d = cuda_device_of(dev);
    cuda_native *code = NULL;
    product c;
    *out = NULL;
    if (p->math == IG_MATH_SAME || !product_of(p, &c) || is_small(&c))
        return IG_OK;
    TRY(lt_prepare(d, &c, p->math == IG_MATH_TF32, &code));
    if (code)
        *out = &code->base;
    return IG_OK;
}

static ig_status launch(native_code *code, const binding *bindings, binding scratch)
{
    cuda_native *c = (cuda_native *)code;
    return c->launch(c, bindings, scratch);
}

static void discard(native_code *code)
{
    cuda_native *c = (cuda_native *)code;
    if (c)
        c->discard(c);
}

const backend_native cuda_native_programs = {prepare, launch, discard};
