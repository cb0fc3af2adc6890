/* The commonest helpers of NVIDIA's samples, for programs that do not bring their own: error checks and the
 * choice of a device. */
#ifndef INGOT_HELPER_CUDA_H
#define INGOT_HELPER_CUDA_H

#include "ingot_cpp.h"

namespace ig_cuda
{
static inline void check(cudaError_t e, const char *call, const char *file, int line)
{
    if (!e)
        return;
    fflush(stdout);
    fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\"\n", file, line, (int)e,
            cudaGetErrorName(e), call);
    exit(EXIT_FAILURE);
}
static inline void check_last(const char *message, const char *file, int line)
{
    const cudaError_t e = cudaGetLastError();
    if (!e)
        return;
    fflush(stdout);
    fprintf(stderr, "%s(%d): %s: (%d) %s\n", file, line, message, (int)e, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
}
} // namespace ig_cuda

#define checkCudaErrors(call) ig_cuda::check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(message) ig_cuda::check_last(message, __FILE__, __LINE__)
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
static inline int findCudaDevice(int, const char **) { return 0; }
static inline int gpuGetMaxGflopsDeviceId() { return 0; }
static inline int gpuDeviceInit(int) { return 0; }
static inline int _ConvertSMVer2Cores(int, int) { return 64; }
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

#endif
