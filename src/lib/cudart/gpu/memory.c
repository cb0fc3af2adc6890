/* Device memory, pinned memory and managed memory; copies and fills. */
#include "lib/cudart/gpu/gpu.h"

#include <string.h>

static CUdeviceptr address(const void *at) { return (CUdeviceptr)(uintptr_t)at; }

int gpu_alloc(void **at, size_t bytes, int kind)
{
    CUdeviceptr made = 0;
    if (!bytes)
        return cudaSuccess;
    if (kind == IG_CUDA_PINNED)
        return cu.host_alloc(at, bytes, 0);
    const int error = kind == IG_CUDA_MANAGED
                          ? gpu.managed_alloc(&made, bytes, CU_MEM_ATTACH_GLOBAL)
                          : cu.memory_alloc(&made, bytes);
    *at = error ? NULL : (void *)(uintptr_t)made;
    return error;
}

int gpu_free(void *at, int pinned)
{
    return !at ? cudaSuccess : pinned ? cu.host_free(at) : cu.memory_free(address(at));
}

int gpu_alloc_async(void **at, size_t bytes, void *stream)
{
    CUdeviceptr made = 0;
    const int error = bytes ? gpu.alloc_async(&made, bytes, stream) : cudaSuccess;
    *at = error ? NULL : (void *)(uintptr_t)made;
    return error;
}

int gpu_free_async(void *at, void *stream)
{
    return at ? gpu.free_async(address(at), stream) : cudaSuccess;
}

int gpu_adopt(void *at, size_t bytes)
{
    enum { MAPPED = 2 };
    return gpu.host_register(at, bytes, MAPPED);
}

int gpu_forget(void *at) { return gpu.host_unregister(at); }

int gpu_mapped(void *host, void **device)
{
    CUdeviceptr found = 0;
    const int error = gpu.host_pointer(&found, host, 0);
    *device = (void *)(uintptr_t)found;
    return error;
}

int gpu_kind(const void *at)
{
    unsigned type = 0, managed = 0;
    if (gpu.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(at)))
        return IG_CUDA_HOST;
    gpu.pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address(at));
    if (managed)
        return IG_CUDA_MANAGED;
    return type == CU_MEMORYTYPE_DEVICE ? IG_CUDA_DEVICE : IG_CUDA_PINNED;
}

/* ---- copies and fills ----
 *
 * A call without a stream is enqueued on the legacy default stream, which orders it after the earlier work of all
 * blocking streams. Then the host waits for it. The driver's own synchronous calls are not used: whether they
 * return early depends on the kinds of memory. */

int gpu_finish(int error, bool is_async)
{
    return error || is_async ? error : gpu_managed_to_host(cu.stream_wait(NULL));
}

/* Copies one row. With a direction, the driver checks that the addresses fit it. */
static int copy_bytes(const cudart_copy *c, CUstream s)
{
    const CUdeviceptr to = address(c->to), from = address(c->from);
    switch (c->kind) {
    case COPY_TO_DEVICE: return cu.copy_to_device(to, c->from, c->width, s);
    case COPY_TO_HOST: return cu.copy_to_host(c->to, from, c->width, s);
    case COPY_ON_DEVICE: return cu.copy_on_device(to, from, c->width, s);
    default: return gpu.copy_async(to, from, c->width, s);
    }
}

static int copy_rows(const cudart_copy *c, CUstream s)
{
    const bool to_device = c->kind == COPY_TO_DEVICE || c->kind == COPY_ON_DEVICE;
    const bool from_device = c->kind == COPY_TO_HOST || c->kind == COPY_ON_DEVICE;
    const bool either = c->kind == COPY_DEFAULT;
    const CUDA_MEMCPY2D how = {
        .srcMemoryType = either        ? CU_MEMORYTYPE_UNIFIED
                         : from_device ? CU_MEMORYTYPE_DEVICE
                                       : CU_MEMORYTYPE_HOST,
        .srcHost = c->from,
        .srcDevice = address(c->from),
        .srcPitch = c->from_pitch,
        .dstMemoryType = either      ? CU_MEMORYTYPE_UNIFIED
                         : to_device ? CU_MEMORYTYPE_DEVICE
                                     : CU_MEMORYTYPE_HOST,
        .dstHost = c->to,
        .dstDevice = address(c->to),
        .dstPitch = c->to_pitch,
        .WidthInBytes = c->width,
        .Height = c->height,
    };
    return gpu.copy_2d_async(&how, s);
}

int gpu_copy(const cudart_copy *given)
{
    cudart_copy c = *given;
    char *from = (char *)(uintptr_t)c.from;
    const CUstream s = c.is_async ? c.stream : NULL;
    int error = gpu_managed_address(&c.to);
    if (!error)
        error = gpu_managed_address(&from);
    if (error)
        return error;
    c.from = from;
    return gpu_finish(c.height == 1 ? copy_bytes(&c, s) : copy_rows(&c, s), c.is_async);
}

/* As in CUDA, a fill of device memory does not wait, since the host cannot read it. */
int gpu_fill(const cudart_fill *f)
{
    char *at = f->at;
    const unsigned char value = (unsigned char)f->value;
    const CUstream s = f->is_async ? f->stream : NULL;
    const int error = gpu_managed_address(&at);
    if (error)
        return error;
    return gpu_finish(f->height == 1
                          ? cu.fill(address(at), value, f->width, s)
                          : gpu.fill_2d_async(address(at), f->pitch, value, f->width, f->height, s),
                      f->is_async || (at == f->at && gpu_kind(at) == IG_CUDA_DEVICE));
}
