/* A CUDA driver without a GPU, for tests of `ingot run --device cuda`: IG_CUDA is its path. Memory is the host's,
 * copies are made, and kernels do nothing. But images are real ones, of NVRTC: a kernel or a variable must be in
 * the image under the name that is asked for, and the parameters of kernels are read from it. With
 * IG_IDLE_DRIVER=FILE, each launch adds a line to that file: the kernel and the sizes of its parameters. Functions
 * that are not here only succeed (rest.c). */
#include "engine/backend/cuda/api.h"

#include <elf.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define FUNCTION(symbol, ...) \
    EXPORT CUresult symbol(__VA_ARGS__); \
    EXPORT CUresult symbol(__VA_ARGS__)

enum {
    NOT_FOUND = 500,
    INVALID_VALUE = 1,
    KPARAM_INFO = 0x17,
    PARAMS_MOST = 256,
    LAUNCHES_MOST = 10000
};

struct CUmod_st {
    const char *image;
    const Elf64_Shdr *sections;
    int n_sections;
    const char *names; /* of sections */
};

struct CUfunc_st {
    char name[1000];
    size_t sizes[PARAMS_MOST], offsets[PARAMS_MOST];
    int n_params;
};

/* ---- the device ---- */

FUNCTION(cuDriverGetVersion, int *v) { return *v = 13000, CUDA_SUCCESS; }
FUNCTION(cuGetErrorName, CUresult s, const char **t) { return *t = "an error", (void)s, 0; }
FUNCTION(cuGetErrorString, CUresult s, const char **t) { return *t = "an error", (void)s, 0; }
FUNCTION(cuDeviceGetCount, int *n) { return *n = 1, CUDA_SUCCESS; }
FUNCTION(cuDeviceGet, CUdevice *d, int i) { return *d = i, CUDA_SUCCESS; }
FUNCTION(cuDeviceTotalMem_v2, size_t *n, CUdevice d) { return *n = (size_t)1 << 34, (void)d, 0; }
FUNCTION(cuMemGetInfo_v2, size_t *a, size_t *b) { return *a = *b = (size_t)1 << 34, 0; }
FUNCTION(cuCtxGetLimit, size_t *v, CUlimit l) { return *v = 1024, (void)l, CUDA_SUCCESS; }
FUNCTION(cuCtxGetStreamPriorityRange, int *a, int *b) { return *a = 0, *b = -5, CUDA_SUCCESS; }
FUNCTION(cuDeviceGetName, char *name, int bytes, CUdevice d)
{
    (void)d;
    snprintf(name, (size_t)bytes, "idle driver");
    return CUDA_SUCCESS;
}
FUNCTION(cuDeviceGetPCIBusId, char *id, int bytes, CUdevice d)
{
    (void)d;
    snprintf(id, (size_t)bytes, "0000:00:00.0");
    return CUDA_SUCCESS;
}
FUNCTION(cuDevicePrimaryCtxRetain, CUcontext *c, CUdevice d)
{
    static int context;
    (void)d;
    *c = (CUcontext)(void *)&context;
    return CUDA_SUCCESS;
}
FUNCTION(cuDeviceGetAttribute, int *value, CUdevice_attribute what, CUdevice d)
{
    static const struct {
        int what, value;
    } rows[] = {{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
                {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
                {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
                {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
                {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448}};
    (void)d;
    *value = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].what == what)
            *value = rows[i].value;
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

static CUresult take(CUdeviceptr *at, size_t bytes)
{
    *at = bytes >> 40 ? 0 : (CUdeviceptr)(uintptr_t)calloc(1, bytes + 4096);
    return *at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void *host(CUdeviceptr at) { return (void *)(uintptr_t)at; }

static CUresult copy(void *to, const void *from, size_t bytes)
{
    memmove(to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult rows(const CUDA_MEMCPY2D *h)
{
    for (size_t y = 0; y < h->Height; y++)
        memcpy((char *)host(h->dstDevice) + y * h->dstPitch,
               (const char *)host(h->srcDevice) + y * h->srcPitch, h->WidthInBytes);
    return CUDA_SUCCESS;
}

static CUresult fill(CUdeviceptr to, size_t pitch, unsigned char v, size_t width, size_t height)
{
    for (size_t y = 0; y < height; y++)
        memset((char *)host(to) + y * pitch, v, width);
    return CUDA_SUCCESS;
}

FUNCTION(cuMemAlloc_v2, CUdeviceptr *at, size_t n) { return take(at, n); }
FUNCTION(cuMemAllocAsync, CUdeviceptr *at, size_t n, CUstream s) { return (void)s, take(at, n); }
FUNCTION(cuMemAllocManaged, CUdeviceptr *at, size_t n, unsigned f) { return (void)f, take(at, n); }
FUNCTION(cuMemHostAlloc, void **at, size_t n, unsigned f)
{
    (void)f;
    *at = calloc(1, n);
    return *at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
FUNCTION(cuMemHostGetDevicePointer_v2, CUdeviceptr *d, void *h, unsigned f)
{
    (void)f;
    *d = (CUdeviceptr)(uintptr_t)h;
    return CUDA_SUCCESS;
}
FUNCTION(cuPointerGetAttribute, void *v, CUpointer_attribute what, CUdeviceptr at)
{
    (void)at;
    *(unsigned *)v = what == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? CU_MEMORYTYPE_DEVICE : 0;
    return CUDA_SUCCESS;
}
FUNCTION(cuMemcpyAsync, CUdeviceptr a, CUdeviceptr b, size_t n, CUstream s)
{
    return (void)s, copy(host(a), host(b), n);
}
FUNCTION(cuMemcpyHtoDAsync_v2, CUdeviceptr a, const void *b, size_t n, CUstream s)
{
    return (void)s, copy(host(a), b, n);
}
FUNCTION(cuMemcpyDtoHAsync_v2, void *a, CUdeviceptr b, size_t n, CUstream s)
{
    return (void)s, copy(a, host(b), n);
}
FUNCTION(cuMemcpyDtoDAsync_v2, CUdeviceptr a, CUdeviceptr b, size_t n, CUstream s)
{
    return (void)s, copy(host(a), host(b), n);
}
FUNCTION(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D *h, CUstream s) { return (void)s, rows(h); }
FUNCTION(cuMemsetD8Async, CUdeviceptr a, unsigned char v, size_t n, CUstream s)
{
    return (void)s, fill(a, 0, v, n, 1);
}
FUNCTION(cuMemsetD2D8Async, CUdeviceptr a, size_t p, unsigned char v, size_t w, size_t h,
         CUstream s)
{
    return (void)s, fill(a, p, v, w, h);
}

/* ---- streams and events ---- */

FUNCTION(cuStreamCreate, CUstream *s, unsigned f)
{
    (void)f;
    *s = malloc(8);
    return CUDA_SUCCESS;
}
FUNCTION(cuStreamCreateWithPriority, CUstream *s, unsigned f, int p)
{
    (void)p;
    return cuStreamCreate(s, f);
}
FUNCTION(cuEventCreate, CUevent *e, unsigned f)
{
    (void)f;
    *e = malloc(8);
    return CUDA_SUCCESS;
}
FUNCTION(cuStreamDestroy_v2, CUstream s) { return free(s), CUDA_SUCCESS; }
FUNCTION(cuEventDestroy_v2, CUevent e) { return free(e), CUDA_SUCCESS; }
FUNCTION(cuEventElapsedTime, float *ms, CUevent a, CUevent b)
{
    (void)a, (void)b;
    return *ms = 1, CUDA_SUCCESS;
}
FUNCTION(cuLaunchHostFunc, CUstream s, CUhostFn f, void *c) { return (void)s, f(c), CUDA_SUCCESS; }
FUNCTION(cuStreamGetFlags, CUstream s, unsigned *f) { return (void)s, *f = 0, CUDA_SUCCESS; }
FUNCTION(cuStreamGetPriority, CUstream s, int *p) { return (void)s, *p = 0, CUDA_SUCCESS; }

/* ---- images: ELF files of NVIDIA's ---- */

FUNCTION(cuModuleLoadData, CUmodule *module, const void *image)
{
    const Elf64_Ehdr *head = image;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    CUmodule m = calloc(1, sizeof *m);
    m->image = image;
    m->sections = (const Elf64_Shdr *)(const void *)(m->image + head->e_shoff);
    m->n_sections = head->e_shnum;
    m->names = m->image + m->sections[head->e_shstrndx].sh_offset;
    *module = m;
    return CUDA_SUCCESS;
}
FUNCTION(cuModuleUnload, CUmodule m) { return free(m), CUDA_SUCCESS; }

static const Elf64_Shdr *section(CUmodule m, const char *name)
{
    for (int i = 0; i < m->n_sections; i++)
        if (strcmp(m->names + m->sections[i].sh_name, name) == 0)
            return &m->sections[i];
    return NULL;
}

static const Elf64_Sym *symbol(CUmodule m, const char *name)
{
    const Elf64_Shdr *table = section(m, ".symtab");
    const size_t n = table ? table->sh_size / sizeof(Elf64_Sym) : 0;
    const Elf64_Sym *at = table ? (const void *)(m->image + table->sh_offset) : NULL;
    const char *names = table ? m->image + m->sections[table->sh_link].sh_offset : NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(names + at[i].st_name, name) == 0)
            return &at[i];
    return NULL;
}

/* Entries of .nv.info.KERNEL: a format, an attribute, 16 bits of size or value, and the value of a format 4. A
 * parameter's has its index, ordinal and offset, and its size in the upper 14 bits of the third word. */
static void read_params(CUmodule m, CUfunction f)
{
    char name[1100];
    snprintf(name, sizeof name, ".nv.info.%s", f->name);
    const Elf64_Shdr *s = section(m, name);
    const unsigned char *at = s ? (const void *)(m->image + s->sh_offset) : NULL;
    const unsigned char *end = s ? at + s->sh_size : NULL;
    while (at && at + 4 <= end) {
        const unsigned bytes = at[0] == 4 ? at[2] | (unsigned)at[3] << 8 : 0;
        if (at[0] == 4 && at[1] == KPARAM_INFO) {
            uint16_t ordinal, offset;
            uint32_t flags;
            memcpy(&ordinal, at + 8, 2);
            memcpy(&offset, at + 10, 2);
            memcpy(&flags, at + 12, 4);
            if (ordinal < PARAMS_MOST) {
                f->sizes[ordinal] = flags >> 18;
                f->offsets[ordinal] = offset;
                f->n_params = ordinal >= f->n_params ? ordinal + 1 : f->n_params;
            }
        }
        at += 4 + bytes;
    }
}

FUNCTION(cuModuleGetFunction, CUfunction *function, CUmodule m, const char *name)
{
    const Elf64_Sym *s = symbol(m, name);
    if (!s || ELF64_ST_TYPE(s->st_info) != STT_FUNC)
        return NOT_FOUND;
    CUfunction f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    read_params(m, f);
    *function = f;
    return CUDA_SUCCESS;
}
FUNCTION(cuModuleGetGlobal_v2, CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name)
{
    static char room[1 << 20];
    const Elf64_Sym *s = symbol(m, name);
    if (!s)
        return NOT_FOUND;
    *at = (CUdeviceptr)(uintptr_t)room;
    *bytes = s->st_size;
    return CUDA_SUCCESS;
}
FUNCTION(cuFuncGetParamInfo, CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
    if (i >= (size_t)f->n_params)
        return INVALID_VALUE;
    *offset = f->offsets[i];
    *bytes = f->sizes[i];
    return CUDA_SUCCESS;
}
FUNCTION(cuFuncGetAttribute, int *value, CUfunction_attribute what, CUfunction f)
{
    (void)f;
    *value = what == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}
FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, CUfunction f, int threads,
         size_t shared)
{
    (void)f, (void)threads, (void)shared;
    return *blocks = 1, CUDA_SUCCESS;
}

/* A loop that waits for the result of a kernel does not end, so the program ends here, after many launches. */
static CUresult note(CUfunction f, void **args)
{
    static atomic_int launches;
    if (++launches == LAUNCHES_MOST)
        _exit(0);
    const char *path = getenv("IG_IDLE_DRIVER");
    FILE *file = path ? fopen(path, "a") : NULL;
    volatile unsigned char sum = 0; /* all bytes of the arguments can be read */
    for (int i = 0; i < f->n_params; i++)
        for (size_t k = 0; k < f->sizes[i]; k++)
            sum = (unsigned char)(sum + ((const unsigned char *)args[i])[k]);
    if (!file)
        return CUDA_SUCCESS;
    fprintf(file, "%s:", f->name);
    for (int i = 0; i < f->n_params; i++)
        fprintf(file, " %zu", f->sizes[i]);
    fputs("\n", file);
    fclose(file);
    return CUDA_SUCCESS;
}

FUNCTION(cuLaunchKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
         unsigned by, unsigned bz, unsigned shared, CUstream s, void **args, void **extra)
{
    return note(f, args);
}
FUNCTION(cuLaunchCooperativeKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz,
         unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **args)
{
    return note(f, args);
}
FUNCTION(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction f, void **args, void **extra)
{
    return note(f, args);
}
