/* The fake driver: functions that only whole programs (`ingot run --device cuda`) need, without memory (memory.c). */
#include "fakecuda/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_READY = 600 };

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    (void)limit;
    ENTER;
    *value = 1024;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER;
    *least = 0;
    *greatest = -5;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
    ENTER;
    snprintf(id, (size_t)bytes, "0000:%02x:00.0", device);
    return fake_done(CUDA_SUCCESS);
}

/* Memory is freed when all queued commands have run. */
CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
    const CUresult status = cuStreamSynchronize(stream);
    const CUresult freed = cuMemFree_v2(at);
    return status == CUDA_SUCCESS ? freed : status;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(stream, flags);
}

/* The first query of a busy stream starts its commands, so that a loop of queries ends. */
CUresult cuStreamQuery(CUstream stream)
{
    ENTER;
    if (!stream_of(stream)->first)
        return fake_done(CUDA_SUCCESS);
    const CUresult status = stream_drain(stream);
    return fake_done(status == CUDA_SUCCESS ? NOT_READY : status);
}

CUresult cuEventQuery(CUevent event)
{
    return event->stream ? cuStreamQuery(event->stream) : CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    ENTER;
    *flags = stream_of(stream)->blocking ? 0 : CU_STREAM_NON_BLOCKING;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    (void)stream;
    ENTER;
    *priority = 0;
    return fake_done(CUDA_SUCCESS);
}

typedef struct host_call {
    CUhostFn function;
    void *context;
} host_call;

static void call_host(const void *data)
{
    const host_call *h = data;
    h->function(h->context);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *context)
{
    const host_call h = {function, context};
    return fake_call(stream, call_host, &h, sizeof h) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, CUstream stream,
                                   void **args)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                          stream, args, NULL);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared_bytes)
{
    (void)function, (void)threads, (void)shared_bytes;
    ENTER;
    *blocks = 1;
    return fake_done(CUDA_SUCCESS);
}
