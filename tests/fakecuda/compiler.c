/* The fake driver: NVRTC, modules and launches. "Compiled" code is a mark followed by the text. Loading it parses the
 * text with Ingot's front end; its kernels run as lane code on the CPU. */
#include "fakecuda/parts.h"

#include "engine/module/module.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char mark[] = "fake image\n";
/* The first line of a whole program's unit: a header that only NVRTC needs. */
static const char program_header[] = "#include \"ingot_nvrtc.h\"\n";

enum { COMPILER_LOG_BYTES = 3000 };

struct _nvrtcProgram {
    char *text;
    char lowered[256];
    char log[COMPILER_LOG_BYTES];
};

struct CUfunc_st {
    CUmodule owner;
    module_kernel kernel;
    struct CUfunc_st *next;
};

struct CUmod_st {
    object base;
    ig_module *module;
    CUfunction functions;
};

/* ---- NVRTC ---- */

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *made, const char *source, const char *name,
                               int n_headers, const char *const *headers, const char *const *names)
{
    (void)name, (void)n_headers, (void)headers, (void)names;
    const CUresult entered = fake_enter(__func__);
    nvrtcProgram p = entered == CUDA_SUCCESS ? calloc(1, sizeof *p) : NULL;
    if (p && !(p->text = strdup(source))) {
        free(p);
        p = NULL;
    }
    fake_counts[FAKE_OBJECTS] += p != NULL;
    fake_leave();
    *made = p;
    return p ? 0 : 1;
}

/* If FAKE_CUDA_CLANG names a clang, it checks the text as CUDA C++, with the declarations of
 * FAKE_CUDA_HEADER (nvrtc.cuh): our own front end accepts more. Returns false if clang refuses the text; log says
 * why. */
static bool clang_accepts(const char *source, char log[COMPILER_LOG_BYTES])
{
    const char *clang = getenv("FAKE_CUDA_CLANG"), *header = getenv("FAKE_CUDA_HEADER");
    char path[] = P_tmpdir "/fakecuda-XXXXXX", line[4096];
    if (!clang || !*clang || !header ||
        strncmp(source, program_header, sizeof program_header - 1) == 0)
        return true;
    const int file = mkstemp(path);
    if (file < 0)
        abort();
    FILE *f = fdopen(file, "w");
    if (!f || fputs(source, f) < 0 || fclose(f) != 0)
        abort();
    snprintf(line, sizeof line,
             "%s -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_90 -std=c++17 "
             "-fms-extensions -fsyntax-only -Wall -Werror -Wno-unknown-cuda-version -Wno-unused "
             "-Wno-tautological-compare -include '%s' %s 2>&1",
             clang, header, path);
    FILE *said = popen(line, "r");
    if (!said)
        abort();
    const size_t used = fread(log, 1, COMPILER_LOG_BYTES - 1, said);
    log[used] = '\0';
    while (fgetc(said) != EOF)
        ;
    const int status = pclose(said);
    remove(path);
    return status == 0;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram made, int n_options, const char *const *options)
{
    (void)n_options, (void)options;
    static atomic_long together;
    const long now = atomic_fetch_add(&together, 1) + 1;
    const char *ms = getenv("FAKE_COMPILE_MS");
    const CUresult entered = fake_enter(__func__);
    fake_counts[FAKE_COMPILED]++;
    if (now > fake_counts[FAKE_TOGETHER])
        fake_counts[FAKE_TOGETHER] = now;
    fake_leave();
    if (ms)
        nanosleep(&(struct timespec){.tv_nsec = 1000000 * strtol(ms, NULL, 10)}, NULL);
    atomic_fetch_sub(&together, 1);
    if (!clang_accepts(made->text, made->log))
        return 6;
    return entered != CUDA_SUCCESS || strstr(made->text, "#error") ? 6 : 0;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *made)
{
    fake_enter(__func__);
    free((*made)->text);
    free(*made);
    *made = NULL;
    fake_counts[FAKE_OBJECTS]--;
    fake_leave();
    return 0;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram made, size_t *bytes)
{
    *bytes = made->log[0] ? sizeof made->log : sizeof "the log of a test";
    return 0;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram made, char *log)
{
    strcpy(log, made->log[0] ? made->log : "the log of a test");
    return 0;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram made, size_t *bytes)
{
    const CUresult entered = fake_enter(__func__);
    fake_leave();
    *bytes = sizeof mark + strlen(made->text);
    return entered == CUDA_SUCCESS ? 0 : 1;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram made, char *image)
{
    const CUresult entered = fake_enter(__func__);
    fake_leave();
    memcpy(image, mark, sizeof mark - 1);
    strcpy(image + sizeof mark - 1, made->text);
    return entered == CUDA_SUCCESS ? 0 : 1;
}

/* The front end finds kernels and variables by their names in the source. */
nvrtcResult nvrtcAddNameExpression(nvrtcProgram made, const char *name)
{
    (void)made, (void)name;
    return 0;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram made, const char *name, const char **lowered)
{
    snprintf(made->lowered, sizeof made->lowered, "%s", name + (*name == '&'));
    *lowered = made->lowered;
    return 0;
}

/* ---- modules ---- */

static void module_destroy(void *o)
{
    CUmodule m = o;
    while (m->functions) {
        CUfunction f = m->functions;
        m->functions = f->next;
        free(f);
    }
    ig_module_free(m->module);
}

/* attend.c overrides it. */
__attribute__((weak)) bool fake_stands_in(const char *source, char *to, size_t room)
{
    (void)source, (void)to, (void)room;
    return false;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    static char stand_in[1 << 15];
    CUresult status = fake_enter(__func__);
    if (status != CUDA_SUCCESS)
        return fake_done(status);
    const char *all = image;
    if (strncmp(all, mark, sizeof mark - 1) != 0)
        return fake_done(CUDA_ERROR_NO_BINARY_FOR_GPU);
    CUmodule m = object_new(sizeof *m, module_destroy);
    if (!m)
        return fake_done(CUDA_ERROR_INVALID_CONTEXT);
    const char *source = all + sizeof mark - 1;
    if (strncmp(source, program_header, sizeof program_header - 1) == 0)
        source += sizeof program_header - 1;
    m->module = ig_module_new(
        "image.cu", fake_stands_in(source, stand_in, sizeof stand_in) ? stand_in : source, NULL);
    if (!m->module) {
        fprintf(stderr, "fake driver: %s\n", ig_error(NULL));
        object_free(m);
        return fake_done(CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    *module = m;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module)
{
    const CUresult entered = fake_enter(__func__);
    object_free(module);
    return fake_done(entered);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    const CUresult entered = fake_enter(__func__);
    if (entered != CUDA_SUCCESS)
        return fake_done(entered);
    CUfunction f = calloc(1, sizeof *f);
    if (!f || module_prepare(module->module, &backend_cpu, name, &f->kernel) != IG_OK) {
        fprintf(stderr, "fake driver: %s\n", ig_error(NULL));
        free(f);
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    }
    f->owner = module;
    f->next = module->functions;
    module->functions = f;
    *function = f;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name)
{
    const CUresult entered = fake_enter(__func__);
    binding where;
    if (entered != CUDA_SUCCESS)
        return fake_done(entered);
    if (module_variable(module->module, &backend_cpu, name, &where, bytes) != IG_OK) {
        fprintf(stderr, "fake driver: %s\n", ig_error(NULL));
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    }
    *at = block_adopt((char *)where.buf->data, where.buf->bytes) + where.offset;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction function)
{
    const CUresult entered = fake_enter(__func__);
    *value = what == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
             : what == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES   ? (int)function->kernel.shared_bytes
                                                             : 0;
    return fake_done(entered);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value)
{
    (void)function, (void)what, (void)value;
    return fake_done(fake_enter(__func__));
}

/* ---- launches ---- */

CUresult launch_pack(CUfunction function, void **args, unsigned char packed[FAKE_ARGS_BYTES])
{
    const module_kernel *k = &function->kernel;
    if (k->argument_bytes > FAKE_ARGS_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < k->info->n_params; i++)
        memcpy(packed + k->offsets[i], args[i], k->info->params[i].bytes);
    return CUDA_SUCCESS;
}

CUresult launch_run(const fake_launch *l)
{
    static long idle = -1, launches;
    const CUfunction f = l->function;
    if (idle < 0)
        idle = getenv("FAKE_CUDA_IDLE") ? strtol(getenv("FAKE_CUDA_IDLE"), NULL, 10) : 0;
    if (idle && ++launches >= idle)
        return CUDA_SUCCESS;
    lane_launch launch = {.base = {.shared_bytes = l->shared_bytes}, .packed = l->args};
    memcpy(launch.base.grid, l->grid, sizeof launch.base.grid);
    memcpy(launch.base.block, l->block, sizeof launch.base.block);
    if (module_launch(f->owner->module, &backend_cpu, f->kernel.info->name, &launch) == IG_OK)
        return CUDA_SUCCESS;
    fprintf(stderr, "fake driver: kernel '%s': %s\n", f->kernel.info->name, ig_error(NULL));
    return CUDA_ERROR_LAUNCH_FAILED;
}
