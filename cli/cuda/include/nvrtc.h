/* NVRTC for programs that Ingot compiles: programs that compile kernels at run time. On an NVIDIA GPU the real NVRTC
 * compiles them. On other devices PTX and cubins are text that cuModuleLoadData takes. */
#ifndef __NVRTC_H__
#define __NVRTC_H__ 1

#include "ingot_cuda.h"

/* R(name, number) for each result. */
#define IG_RESULTS(R) \
    R(NVRTC_SUCCESS, 0) \
    R(NVRTC_ERROR_OUT_OF_MEMORY, 1) \
    R(NVRTC_ERROR_PROGRAM_CREATION_FAILURE, 2) \
    R(NVRTC_ERROR_INVALID_INPUT, 3) \
    R(NVRTC_ERROR_INVALID_PROGRAM, 4) \
    R(NVRTC_ERROR_INVALID_OPTION, 5) \
    R(NVRTC_ERROR_COMPILATION, 6) \
    R(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7) \
    R(NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION, 8) \
    R(NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, 9) \
    R(NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID, 10) \
    R(NVRTC_ERROR_INTERNAL_ERROR, 11)
typedef enum {
#define IG_ROW(name, number) name = number,
    IG_RESULTS(IG_ROW)
#undef IG_ROW
} nvrtcResult;
typedef struct ig_cuda_program *nvrtcProgram;

static inline const char *nvrtcGetErrorString(nvrtcResult r)
{
    switch (r) {
#define IG_ROW(name, number) \
    case name: return #name;
        IG_RESULTS(IG_ROW)
#undef IG_ROW
    }
    return "NVRTC_ERROR unknown";
}
#undef IG_RESULTS

#define IG_DO static inline nvrtcResult
IG_DO nvrtcVersion(int *major, int *minor) { return *major = 12, *minor = 0, NVRTC_SUCCESS; }
IG_DO nvrtcGetNumSupportedArchs(int *n) { return *n = 1, NVRTC_SUCCESS; }
IG_DO nvrtcGetSupportedArchs(int *archs) { return *archs = 70, NVRTC_SUCCESS; }
IG_DO nvrtcCreateProgram(nvrtcProgram *p, const char *text, const char *name, int n,
                         const char *const *headers, const char *const *include_names)
{
    return (nvrtcResult)ig_cuda_program_new(p, text, name, n, headers, include_names);
}
IG_DO nvrtcDestroyProgram(nvrtcProgram *p)
{
    ig_cuda_program_free(*p);
    *p = NULL;
    return NVRTC_SUCCESS;
}
IG_DO nvrtcAddNameExpression(nvrtcProgram p, const char *expression)
{
    return (nvrtcResult)ig_cuda_program_expression(p, expression);
}
IG_DO nvrtcCompileProgram(nvrtcProgram p, int n, const char *const *options)
{
    return (nvrtcResult)ig_cuda_program_compile(p, n, options);
}
IG_DO nvrtcGetLoweredName(nvrtcProgram p, const char *expression, const char **name)
{
    return (nvrtcResult)ig_cuda_program_symbol(p, expression, name);
}
IG_DO nvrtcGetProgramLogSize(nvrtcProgram p, size_t *bytes)
{
    return (nvrtcResult)ig_cuda_program_log(p, bytes, NULL);
}
IG_DO nvrtcGetProgramLog(nvrtcProgram p, char *log)
{
    return (nvrtcResult)ig_cuda_program_log(p, NULL, log);
}
#define IG_IMAGE(name) \
    IG_DO nvrtcGet##name##Size(nvrtcProgram p, size_t *bytes) \
    { \
        return (nvrtcResult)ig_cuda_program_image(p, bytes, NULL); \
    } \
    IG_DO nvrtcGet##name(nvrtcProgram p, char *image) \
    { \
        return (nvrtcResult)ig_cuda_program_image(p, NULL, image); \
    }
IG_IMAGE(PTX)
IG_IMAGE(CUBIN)
IG_IMAGE(LTOIR)
#undef IG_IMAGE
#undef IG_DO

#endif
