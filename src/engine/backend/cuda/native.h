/* Programs that libraries and handwritten kernels run on an NVIDIA GPU. Each file that implements this header accepts
 * the programs that it can run; native.c asks them in order. */
#ifndef CUDA_NATIVE_H
#define CUDA_NATIVE_H

#include "engine/backend/cuda/cuda.h"
#include "engine/backend/product.h"

/* The first member of the struct of each file. */
typedef struct cuda_native {
    native_code base;
    cuda_device *dev;
    ig_status (*launch)(struct cuda_native *code, const binding *bindings, binding scratch);
    void (*discard)(struct cuda_native *code);
} cuda_native;

extern const backend_native cuda_native_programs;
extern const backend_native cuda_native_hopper; /* with fused epilogues of products */

/* arguments.h and kernels/hopper.cuh */
extern const char kernels_arguments[], kernels_hopper[];

/* Releases libraries and kernels, unless a program still needs them. Called with the lock and the context. */
void cuda_native_release(cuda_device *d);
void lt_release(cuda_device *d);

/* The address of a bound buffer plus an offset in elements; 0 if the buffer is not on the device. */
CUdeviceptr cuda_address(const cuda_device *d, binding at, int64_t offset, ig_dtype dtype);

/* A map of boxes of box[0] x box[1] elements of 2 or 4 bytes, for copies by TMA. Strides start at the second axis and
 * count elements; the stride of an axis of length 1 does not matter. */
ig_status cuda_map(cuda_device *d, CUtensorMap *map, CUdeviceptr at, int bytes,
                   const cuuint64_t dims[4], const int64_t strides[3], const cuuint32_t box[2]);

/* Attention, forward and backward: see ops/attention.c. */
bool attention_offers(const cuda_device *d, const node_native *n);
ig_status attention_prepare(cuda_device *d, const program *p, cuda_native **out);

/* Convolutions by cuDNN: see ops/conv.c. */
bool dnn_offers(cuda_device *d, const node_native *n);
ig_status dnn_prepare(cuda_device *d, const program *p, cuda_native **out);
void dnn_release(cuda_device *d);

/* Overrides of linear algebra by cuSOLVER and cuBLAS, and of transforms by cuFFT: see program/override.h. */
bool solver_offers(cuda_device *d, const node_native *n);
ig_status solver_prepare(cuda_device *d, const program *p, cuda_native **out);
void solver_release(cuda_device *d);
bool fft_offers(cuda_device *d, const node_native *n);
ig_status fft_prepare(cuda_device *d, const program *p, cuda_native **out);
void fft_release(cuda_device *d);
/* Own code runs nodes of this kind from now on. Logs the reason. Returns false. */
bool cuda_refuse(cuda_device *d, const node_native *n, const char *library, int status);

/* Announces a product: starts loading cuBLASLt in another thread, which takes as long as opening a context. */
void lt_expect(void);
/* Each returns IG_OK and leaves *out NULL if it does not run the product. */
ig_status lt_prepare(cuda_device *d, const product *c, bool tf32, cuda_native **out);
ig_status tensor_prepare(cuda_device *d, const product *c, bool tf32, cuda_native **out);
/* True for a Hopper GPU whose driver supports tensor maps. */
bool cuda_is_hopper(const cuda_device *d);
/* A product of halves with an epilogue, in one kernel, on such a device. by_value: see prepare of backend_native. */
ig_status tensor_prepare_epilogue(cuda_device *d, const program *p, const bool *by_value,
                                  cuda_native **out);

#endif
