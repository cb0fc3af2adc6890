/* Programs that libraries and kernels written by hand run on an NVIDIA GPU. Each of the files behind this
 * header offers what it can run; native.c asks them in order. */
#ifndef CUDA_NATIVE_H
#define CUDA_NATIVE_H

#include "backend/cuda/cuda.h"
#include "backend/cuda/product.h"

/* First member of the struct of each of them. */
typedef struct cuda_native {
    native_code base;
    cuda_device *dev;
    ig_status (*launch)(struct cuda_native *code, const binding *bindings, binding scratch);
    void (*discard)(struct cuda_native *code);
} cuda_native;

extern const backend_native cuda_native_programs;

/* The address of a bound buffer, moved by elements; 0 if the buffer is not the device's. */
CUdeviceptr cuda_address(const cuda_device *d, binding at, int64_t offset, ig_dtype dtype);

/* Each returns IG_OK with *out NULL if it does not run the product. */
ig_status lt_prepare(cuda_device *d, const product *c, bool tf32, cuda_native **out);

#endif
