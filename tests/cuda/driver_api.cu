// The driver API and NVRTC: a program that compiles its kernels at run time, and loads, finds and launches them.
/* libraries: cuda nvrtc
stderr: a module has PTX, which only an NVIDIA GPU runs
expect:
compiled, log of 1 byte
scale 3 6 9 12
packed 4 7 10 13
template 40 10
global 5 32 bytes, table 7
memset 00050005 01010101
2D 5 6 9 10
streams 1 1
attributes 32 1024 0
error log names the place: yes
unknown option: NVRTC_ERROR_INVALID_OPTION
no expression: NVRTC_ERROR_COMPILATION
PTX: CUDA_ERROR_INVALID_PTX
missing: CUDA_ERROR_NOT_FOUND named symbol not found
runtime: no error, contexts 1 0
*/
#include <cstdio>
#include <cstring>
#include <string>
#include <cuda.h>
#include <nvrtc.h>

#define DO(call) \
    do { \
        const CUresult done = call; \
        const char *what = 0; \
        cuGetErrorName(done, &what); \
        if (done != CUDA_SUCCESS) \
            printf("%s: %s\n", #call, what); \
    } while (0)
#define RTC(call) \
    do { \
        const nvrtcResult done = call; \
        if (done != NVRTC_SUCCESS) \
            printf("%s: %s\n", #call, nvrtcGetErrorString(done)); \
    } while (0)

static const char source[] = R"(
#include "factor.h"
#include <cuda_fp16.h>
__constant__ int table[8];
__device__ int counter = 5;
extern "C" __global__ void scale(float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = factor(a) * (i + 1) + OFFSET;
}
namespace ns {
template <typename T, int N> __global__ void fill(T *y, const T x) { y[threadIdx.x] = x * N + table[0]; }
}
)";

static nvrtcProgram program(const char *text, int n, const char *const *options, nvrtcResult *r)
{
    static const char *const headers[] = {"__device__ float factor(float a) { return 3 * a; }\n"};
    static const char *const names[] = {"factor.h"};
    nvrtcProgram p;
    RTC(nvrtcCreateProgram(&p, text, "scale.cu", 1, headers, names));
    if (text == source)
        RTC(nvrtcAddNameExpression(p, "ns::fill<double, 4>"));
    *r = nvrtcCompileProgram(p, n, options);
    return p;
}

static void mistakes()
{
    nvrtcResult r;
    const char *unknown[] = {"--unheard-of"};
    nvrtcProgram p = program("extern \"C\" __global__ void k(int *x)\n{\n    x[0] = y;\n}\n", 0, 0, &r);
    size_t bytes;
    RTC(nvrtcGetProgramLogSize(p, &bytes));
    std::string log(bytes, 0);
    RTC(nvrtcGetProgramLog(p, &log[0]));
    printf("error log names the place: %s\n",
           r == NVRTC_ERROR_COMPILATION && strstr(log.c_str(), "scale.cu:3") ? "yes" : log.c_str());
    RTC(nvrtcDestroyProgram(&p));
    p = program("", 1, unknown, &r);
    printf("unknown option: %s\n", nvrtcGetErrorString(r));
    RTC(nvrtcDestroyProgram(&p));
    RTC(nvrtcCreateProgram(&p, "__global__ void k() {}", 0, 0, 0, 0));
    RTC(nvrtcAddNameExpression(p, "missing"));
    printf("no expression: %s\n", nvrtcGetErrorString(nvrtcCompileProgram(p, 0, 0)));
    RTC(nvrtcDestroyProgram(&p));
    CUmodule m;
    const char *name;
    cuGetErrorName(cuModuleLoadData(&m, ".version 8.0\n.target sm_80\n.address_size 64\n"), &name);
    printf("PTX: %s\n", name);
}

int main()
{
    CUdevice device;
    CUcontext context, none;
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
#if CUDA_VERSION < 13000
    DO(cuCtxCreate(&context, 0, device));
    DO(cuCtxDestroy(context));
#endif
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));

    nvrtcResult r;
    size_t bytes;
    const char *options[] = {"--gpu-architecture=compute_70", "-DOFFSET=0", "--std=c++17", "-I", "."};
    nvrtcProgram p = program(source, 5, options, &r);
    RTC(r);
    RTC(nvrtcGetProgramLogSize(p, &bytes));
    printf("compiled, log of %zu byte\n", bytes);
    RTC(nvrtcGetPTXSize(p, &bytes));
    std::string ptx(bytes, 0);
    RTC(nvrtcGetPTX(p, &ptx[0]));
    const char *lowered;
    RTC(nvrtcGetLoweredName(p, "ns::fill<double, 4>", &lowered));
    const std::string fill_name = lowered;
    RTC(nvrtcDestroyProgram(&p));

    CUmodule module;
    CUfunction scale, fill, missing;
    DO(cuModuleLoadDataEx(&module, ptx.c_str(), 0, 0, 0));
    DO(cuModuleGetFunction(&scale, module, "scale"));
    DO(cuModuleGetFunction(&fill, module, fill_name.c_str()));

    CUdeviceptr y;
    float host[8];
    DO(cuMemAlloc(&y, sizeof host));
    float a = 1;
    int n = 4;
    void *args[] = {&y, &a, &n};
    DO(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, 0, args, 0));
    DO(cuMemcpyDtoH(host, y, 16));
    printf("scale %g %g %g %g\n", host[0], host[1], host[2], host[3]);
    char packed[16];
    a = 1;
    memcpy(packed, &y, 8);
    memcpy(packed + 8, &a, 4);
    memcpy(packed + 12, &n, 4);
    size_t packed_bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes, CU_LAUNCH_PARAM_END};
    DO(cuMemsetD8(y, 0, sizeof host));
    DO(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, 0, 0, extra));
    DO(cuMemcpyDtoH(host, y, 16));
    printf("packed %g %g %g %g\n", host[0] + 1, host[1] + 1, host[2] + 1, host[3] + 1);

    CUdeviceptr table, counter;
    DO(cuModuleGetGlobal(&table, &bytes, module, "table"));
    int seven = 7, value = 0;
    double x = 10, wide[2];
    void *fill_args[] = {&y, &x};
    DO(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, 0, fill_args, 0));
    DO(cuMemcpyDtoH(wide, y, 8));
    printf("template %g %g\n", wide[0], x);
    size_t four;
    DO(cuModuleGetGlobal(&counter, &four, module, "counter"));
    DO(cuMemcpyDtoH(&value, counter, 4));
    DO(cuMemcpyHtoD(table, &seven, 4));
    DO(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, 0, fill_args, 0));
    DO(cuMemcpyDtoH(wide, y, 8));
    printf("global %d %zu bytes, table %g\n", value, bytes, wide[0] - 40);

    unsigned words[2];
    DO(cuMemsetD16(y, 5, 2));
    DO(cuMemsetD32(y + 4, 0x01010101, 1));
    DO(cuMemcpyDtoH(words, y, 8));
    printf("memset %08x %08x\n", words[0], words[1]);
    int grid[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, part[4] = {};
    CUdeviceptr whole;
    DO(cuMemAlloc(&whole, sizeof grid));
    DO(cuMemcpyHtoD(whole, grid, sizeof grid));
    CUDA_MEMCPY2D c = {};
    c.srcXInBytes = 4;
    c.srcY = 1;
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = whole;
    c.srcPitch = 16;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = part;
    c.dstPitch = 8;
    c.WidthInBytes = 8;
    c.Height = 2;
    DO(cuMemcpy2D(&c));
    printf("2D %d %d %d %d\n", part[0], part[1], part[2], part[3]);

    CUstream stream;
    CUevent begin, end;
    float ms;
    DO(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DO(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    DO(cuEventCreate(&end, CU_EVENT_DEFAULT));
    DO(cuEventRecord(begin, stream));
    DO(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, stream, args, 0));
    DO(cuEventRecord(end, stream));
    DO(cuStreamSynchronize(stream));
    DO(cuEventElapsedTime(&ms, begin, end));
    printf("streams %d %d\n", cuStreamQuery(stream) == CUDA_SUCCESS, ms >= 0);
    DO(cuEventDestroy(begin));
    DO(cuEventDestroy(end));
    DO(cuStreamDestroy(stream));
    int warp, threads, shared;
    DO(cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    DO(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
    DO(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, scale));
    printf("attributes %d %d %d\n", warp, threads, shared);

    mistakes();
    const char *name, *what;
    const CUresult e = cuModuleGetFunction(&missing, module, "missing");
    cuGetErrorName(e, &name);
    cuGetErrorString(e, &what);
    printf("missing: %s %s\n", name, what);
    CUcontext now;
    DO(cuCtxGetCurrent(&now));
    DO(cuMemFree(y));
    DO(cuMemFree(whole));
    DO(cuModuleUnload(module));
    DO(cuCtxSetCurrent(0));
    DO(cuCtxGetCurrent(&none));
    DO(cuDevicePrimaryCtxRelease(device));
    printf("runtime: %s, contexts %d %d\n", cudaGetErrorString(cudaGetLastError()), now == context, none != 0);
}
