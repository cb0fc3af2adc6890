/* The runtime for C. C files get declarations. Each C++ and CUDA file defines the functions under CUDA's names, weakly and
 * for its program or library only, so C files need no library and another runtime in the process is not disturbed. */
#ifndef INGOT_C_H
#define INGOT_C_H

#include "ingot_types.h"

/* F(type, name, parameters, arguments) for each function; `at` stands for the unknown place of a call. */
/* clang-format off */
#define IG_C_FUNCTIONS(F) \
    F(const char *, cudaGetErrorString, (cudaError_t e), (e)) \
    F(const char *, cudaGetErrorName, (cudaError_t e), (e)) \
    F(cudaError_t, cudaGetLastError, (void), ()) \
    F(cudaError_t, cudaPeekAtLastError, (void), ()) \
    F(cudaError_t, cudaGetDeviceCount, (int *n), (n)) \
    F(cudaError_t, cudaSetDevice, (int device), (device)) \
    F(cudaError_t, cudaGetDevice, (int *device), (device)) \
    F(cudaError_t, cudaSetDeviceFlags, (unsigned flags), (flags)) \
    F(cudaError_t, cudaGetDeviceProperties, (struct cudaDeviceProp *p, int device), (p, device)) \
    F(cudaError_t, cudaDeviceSynchronize, (void), ()) \
    F(cudaError_t, cudaThreadSynchronize, (void), ()) \
    F(cudaError_t, cudaDeviceReset, (void), ()) \
    F(cudaError_t, cudaThreadExit, (void), ()) \
    F(cudaError_t, cudaDriverGetVersion, (int *version), (version)) \
    F(cudaError_t, cudaRuntimeGetVersion, (int *version), (version)) \
    F(cudaError_t, cudaMemGetInfo, (size_t *available, size_t *total), (available, total)) \
    F(cudaError_t, cudaProfilerStart, (void), ()) \
    F(cudaError_t, cudaProfilerStop, (void), ()) \
    F(cudaError_t, cudaMalloc, (void **p, size_t bytes), (p, bytes, at)) \
    F(cudaError_t, cudaMallocManaged, (void **p, size_t bytes, unsigned flags), (p, bytes, flags, at)) \
    F(cudaError_t, cudaMallocHost, (void **p, size_t bytes), (p, bytes, 0, at)) \
    F(cudaError_t, cudaHostAlloc, (void **p, size_t bytes, unsigned flags), (p, bytes, flags, at)) \
    F(cudaError_t, cudaMallocPitch, (void **p, size_t *pitch, size_t width, size_t height), \
      (p, pitch, width, height, at)) \
    F(cudaError_t, cudaFree, (void *p), (p)) \
    F(cudaError_t, cudaFreeHost, (void *p), (p)) \
    F(cudaError_t, cudaHostRegister, (void *p, size_t bytes, unsigned flags), (p, bytes, flags)) \
    F(cudaError_t, cudaHostUnregister, (void *p), (p)) \
    F(cudaError_t, cudaHostGetDevicePointer, (void **to, void *host, unsigned flags), (to, host, flags)) \
    F(cudaError_t, cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind), \
      (to, from, bytes, kind, at)) \
    F(cudaError_t, cudaMemcpyAsync, \
      (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream), \
      (to, from, bytes, kind, stream, at)) \
    F(cudaError_t, cudaMemcpy2D, \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, \
       enum cudaMemcpyKind kind), \
      (to, to_pitch, from, from_pitch, width, height, kind, at)) \
    F(cudaError_t, cudaMemset, (void *p, int value, size_t bytes), (p, value, bytes, at)) \
    F(cudaError_t, cudaMemsetAsync, (void *p, int value, size_t bytes, cudaStream_t stream), \
      (p, value, bytes, stream, at)) \
    F(cudaError_t, cudaStreamCreate, (cudaStream_t *s), (s)) \
    F(cudaError_t, cudaStreamCreateWithFlags, (cudaStream_t *s, unsigned flags), (s, flags)) \
    F(cudaError_t, cudaStreamDestroy, (cudaStream_t s), (s)) \
    F(cudaError_t, cudaStreamSynchronize, (cudaStream_t s), (s)) \
    F(cudaError_t, cudaStreamQuery, (cudaStream_t s), (s)) \
    F(cudaError_t, cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned flags), (s, e, flags)) \
    F(cudaError_t, cudaEventCreate, (cudaEvent_t *e), (e)) \
    F(cudaError_t, cudaEventCreateWithFlags, (cudaEvent_t *e, unsigned flags), (e, flags)) \
    F(cudaError_t, cudaEventDestroy, (cudaEvent_t e), (e)) \
    F(cudaError_t, cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, s)) \
    F(cudaError_t, cudaEventSynchronize, (cudaEvent_t e), (e)) \
    F(cudaError_t, cudaEventQuery, (cudaEvent_t e), (e)) \
    F(cudaError_t, cudaEventElapsedTime, (float *ms, cudaEvent_t from, cudaEvent_t to), (ms, from, to))
/* clang-format on */

#ifdef __cplusplus
/* Labels give the definitions their names, since the C++ functions have them in the source. */
#define IG_TEXT_OF(x) #x
#define IG_TEXT(x) IG_TEXT_OF(x)
#define IG_DEFINE(type, name, parameters, arguments) \
    type ig_c_##name parameters __asm__(IG_TEXT(__USER_LABEL_PREFIX__) #name); \
    __attribute__((weak, visibility("hidden"))) type ig_c_##name parameters \
    { \
        const ig_cuda::place at = {0, 0}; \
        (void)at; \
        return name arguments; \
    }
extern "C" {
IG_C_FUNCTIONS(IG_DEFINE)
}
#undef IG_DEFINE
#undef IG_TEXT
#undef IG_TEXT_OF
#else
#define IG_DECLARE(type, name, parameters, arguments) type name parameters;
IG_C_FUNCTIONS(IG_DECLARE)
#undef IG_DECLARE
#endif
#undef IG_C_FUNCTIONS

#endif
