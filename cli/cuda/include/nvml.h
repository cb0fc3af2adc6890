/* NVML, the library of nvidia-smi: what the runtime knows about the device. Power, temperature and the like are not
 * supported. */
#ifndef INGOT_NVML_H
#define INGOT_NVML_H

#include "ingot_cpp.h"

#include <stdio.h>

typedef enum nvmlReturn_enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_UNKNOWN = 999
} nvmlReturn_t;
typedef enum nvmlClockType_enum {
    NVML_CLOCK_GRAPHICS,
    NVML_CLOCK_SM,
    NVML_CLOCK_MEM,
    NVML_CLOCK_VIDEO
} nvmlClockType_t;
typedef enum nvmlTemperatureSensors_enum { NVML_TEMPERATURE_GPU } nvmlTemperatureSensors_t;
typedef struct nvmlDevice_st *nvmlDevice_t; /* the index plus 1 */
typedef struct nvmlMemory_st {
    unsigned long long total, free, used;
} nvmlMemory_t;

static inline nvmlReturn_t nvmlInit() { return NVML_SUCCESS; }
static inline nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
static inline const char *nvmlErrorString(nvmlReturn_t e)
{
    return e == NVML_SUCCESS                  ? "Success"
           : e == NVML_ERROR_INVALID_ARGUMENT ? "Invalid Argument"
           : e == NVML_ERROR_NOT_SUPPORTED    ? "Not Supported"
           : e == NVML_ERROR_NOT_FOUND        ? "Not Found"
                                              : "Unknown Error";
}
static inline nvmlReturn_t nvmlDeviceGetCount(unsigned *count)
{
    int n = 0;
    const cudaError_t e = cudaGetDeviceCount(&n);
    *count = (unsigned)n;
    return e ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}
static inline nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *device)
{
    unsigned n = 0;
    *device = (nvmlDevice_t)(uintptr_t)(index + 1);
    return nvmlDeviceGetCount(&n) || index >= n ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}
namespace ig_cuda
{
static inline nvmlReturn_t properties(nvmlDevice_t device, cudaDeviceProp *p)
{
    return device && !cudaGetDeviceProperties(p, (int)(uintptr_t)device - 1)
               ? NVML_SUCCESS
               : NVML_ERROR_INVALID_ARGUMENT;
}
} // namespace ig_cuda
static inline nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *device)
{
    unsigned n = 0, domain, bus, place;
    cudaDeviceProp p;
    if (sscanf(id, "%x:%x:%x", &domain, &bus, &place) != 3 || nvmlDeviceGetCount(&n))
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < n; i++)
        if (!nvmlDeviceGetHandleByIndex(i, device) && !ig_cuda::properties(*device, &p) &&
            p.pciDomainID == (int)domain && p.pciBusID == (int)bus && p.pciDeviceID == (int)place)
            return NVML_SUCCESS;
    return NVML_ERROR_NOT_FOUND;
}
static inline nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned bytes)
{
    cudaDeviceProp p;
    const nvmlReturn_t e = ig_cuda::properties(device, &p);
    if (!e)
        snprintf(name, bytes, "%s", p.name);
    return e;
}
static inline nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *m)
{
    size_t unused = 0, total = 0;
    if (!device || cudaMemGetInfo(&unused, &total))
        return NVML_ERROR_INVALID_ARGUMENT;
    *m = {total, unused, total - unused};
    return NVML_SUCCESS;
}
/* In MHz. */
static inline nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                                  unsigned *clock)
{
    cudaDeviceProp p;
    const nvmlReturn_t e = ig_cuda::properties(device, &p);
    if (!e)
        *clock = (unsigned)(type == NVML_CLOCK_MEM ? p.memoryClockRate : p.clockRate) / 1000;
    return e;
}
static inline nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                                     unsigned *clock)
{
    return nvmlDeviceGetClockInfo(device, type, clock);
}
static inline nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned *)
{
    return NVML_ERROR_NOT_SUPPORTED;
}
static inline nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t,
                                                    unsigned *)
{
    return NVML_ERROR_NOT_SUPPORTED;
}

#endif
