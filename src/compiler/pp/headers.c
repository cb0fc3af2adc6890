/* The built-in headers. The parser knows their types and functions, so only their macros are defined here.
 * Most headers have none. */
#include "compiler/pp/pp.h"

#include "base/embed.h"

#include <string.h>

static const char limits_h[] = "#define CHAR_BIT 8\n"
                               "#define SCHAR_MIN (-128)\n"
                               "#define SCHAR_MAX 127\n"
                               "#define UCHAR_MAX 255\n"
                               "#define CHAR_MIN (-128)\n"
                               "#define CHAR_MAX 127\n"
                               "#define SHRT_MIN (-32768)\n"
                               "#define SHRT_MAX 32767\n"
                               "#define USHRT_MAX 65535\n"
                               "#define INT_MIN (-2147483647 - 1)\n"
                               "#define INT_MAX 2147483647\n"
                               "#define UINT_MAX 4294967295U\n"
                               "#define LONG_MIN (-9223372036854775807L - 1)\n"
                               "#define LONG_MAX 9223372036854775807L\n"
                               "#define ULONG_MAX 18446744073709551615UL\n"
                               "#define LLONG_MIN (-9223372036854775807LL - 1)\n"
                               "#define LLONG_MAX 9223372036854775807LL\n"
                               "#define ULLONG_MAX 18446744073709551615ULL\n";

static const char float_h[] = "#define FLT_RADIX 2\n"
                              "#define FLT_MANT_DIG 24\n"
                              "#define FLT_DIG 6\n"
                              "#define FLT_MIN_EXP (-125)\n"
                              "#define FLT_MAX_EXP 128\n"
                              "#define FLT_EPSILON 1.1920928955078125e-7f\n"
                              "#define FLT_MIN 1.17549435082228750797e-38f\n"
                              "#define FLT_TRUE_MIN 1.40129846432481707092e-45f\n"
                              "#define FLT_MAX 3.40282346638528859812e+38f\n"
                              "#define DBL_MANT_DIG 53\n"
                              "#define DBL_DIG 15\n"
                              "#define DBL_MIN_EXP (-1021)\n"
                              "#define DBL_MAX_EXP 1024\n"
                              "#define DBL_EPSILON 2.2204460492503130808e-16\n"
                              "#define DBL_MIN 2.22507385850720138309e-308\n"
                              "#define DBL_MAX 1.79769313486231570815e+308\n";

static const char math_h[] = "#define INFINITY (__int_as_float(0x7f800000))\n"
                             "#define NAN (__int_as_float(0x7fc00000))\n"
                             "#define HUGE_VALF INFINITY\n"
                             "#define HUGE_VAL (__longlong_as_double(0x7ff0000000000000LL))\n"
                             "#define M_E 2.7182818284590452354\n"
                             "#define M_LOG2E 1.4426950408889634074\n"
                             "#define M_LOG10E 0.43429448190325182765\n"
                             "#define M_LN2 0.69314718055994530942\n"
                             "#define M_LN10 2.30258509299404568402\n"
                             "#define M_PI 3.14159265358979323846\n"
                             "#define M_PI_2 1.57079632679489661923\n"
                             "#define M_PI_4 0.78539816339744830962\n"
                             "#define M_1_PI 0.31830988618379067154\n"
                             "#define M_2_PI 0.63661977236758134308\n"
                             "#define M_2_SQRTPI 1.12837916709551257390\n"
                             "#define M_SQRT2 1.41421356237309504880\n"
                             "#define M_SQRT1_2 0.70710678118654752440\n";

INCLUDE_FILE("compiler_cucomplex_h", "src/compiler/library/cuComplex.h");
extern const char compiler_cucomplex_h[];
INCLUDE_FILE("compiler_cuda_sync_h", "src/compiler/library/cuda_sync.h");
extern const char compiler_cuda_sync_h[];

static const char stdint_h[] = "#define INT8_MIN (-128)\n"
                               "#define INT8_MAX 127\n"
                               "#define UINT8_MAX 255\n"
                               "#define INT16_MIN (-32768)\n"
                               "#define INT16_MAX 32767\n"
                               "#define UINT16_MAX 65535\n"
                               "#define INT32_MIN (-2147483647 - 1)\n"
                               "#define INT32_MAX 2147483647\n"
                               "#define UINT32_MAX 4294967295U\n"
                               "#define INT64_MIN (-9223372036854775807L - 1)\n"
                               "#define INT64_MAX 9223372036854775807L\n"
                               "#define UINT64_MAX 18446744073709551615UL\n"
                               "#define INTPTR_MAX INT64_MAX\n"
                               "#define UINTPTR_MAX UINT64_MAX\n"
                               "#define SIZE_MAX UINT64_MAX\n"
                               "#define INT64_C(x) x##L\n"
                               "#define UINT64_C(x) x##UL\n"
                               "#define UINT32_C(x) x##U\n";

static const char inttypes_h[] = "#include <stdint.h>\n"
                                 "#define PRId32 \"d\"\n"
                                 "#define PRIu32 \"u\"\n"
                                 "#define PRIx32 \"x\"\n"
                                 "#define PRId64 \"ld\"\n"
                                 "#define PRIu64 \"lu\"\n"
                                 "#define PRIx64 \"lx\"\n";

static const char assert_h[] = "#undef assert\n"
                               "#ifdef NDEBUG\n"
                               "#define assert(condition) ((void)0)\n"
                               "#endif\n";

static const char math_constants_h[] =
    "#define CUDART_INF_F (__int_as_float(0x7f800000))\n"
    "#define CUDART_NAN_F (__int_as_float(0x7fffffff))\n"
    "#define CUDART_MIN_DENORM_F (__int_as_float(0x00000001))\n"
    "#define CUDART_MAX_NORMAL_F (__int_as_float(0x7f7fffff))\n"
    "#define CUDART_NEG_ZERO_F (__int_as_float(0x80000000))\n"
    "#define CUDART_ZERO_F 0.0f\n"
    "#define CUDART_ONE_F 1.0f\n"
    "#define CUDART_SQRT_HALF_F 0.707106781f\n"
    "#define CUDART_SQRT_TWO_F 1.414213562f\n"
    "#define CUDART_PI_F 3.141592654f\n"
    "#define CUDART_PIO2_F 1.570796327f\n"
    "#define CUDART_PIO4_F 0.785398163f\n"
    "#define CUDART_2_OVER_PI_F 0.636619772f\n"
    "#define CUDART_LN2_F 0.693147181f\n"
    "#define CUDART_L2E_F 1.442695041f\n"
    "#define CUDART_INF (__longlong_as_double(0x7ff0000000000000LL))\n"
    "#define CUDART_NAN (__longlong_as_double(0xfff8000000000000LL))\n"
    "#define CUDART_PI 3.1415926535897931e+0\n";

/* nvcc includes <math.h> and <limits.h> implicitly, so sources use them without an #include. */
const char pp_prelude[] = "#define __INGOT__ 1\n"
                          "#define __CUDACC__ 1\n"
                          "#define __NVCC__ 1\n"
                          "#define __CUDACC_VER_MAJOR__ 12\n"
                          "#define __CUDACC_VER_MINOR__ 0\n"
                          "#define __CUDACC_VER_BUILD__ 0\n"
                          "#define CUDART_VERSION 12000\n"
                          "#define CUDA_VERSION 12000\n"
                          "#define __CUDA_ARCH__ 700\n"
                          "#define __cplusplus 201703L\n"
                          "#define __fns ig_find_nth\n"
                          "#include <math.h>\n"
                          "#include <stdint.h>\n"
                          "#define __const__ const\n"
                          "#include <limits.h>\n";

static const struct {
    const char *name, *text;
} headers[] = {{"math.h", math_h},
               {"cmath", math_h},
               {"limits.h", limits_h},
               {"climits", limits_h},
               {"float.h", float_h},
               {"cfloat", float_h},
               {"stdint.h", stdint_h},
               {"cstdint", stdint_h},
               {"inttypes.h", inttypes_h},
               {"cinttypes", inttypes_h},
               {"assert.h", assert_h},
               {"cassert", assert_h},
               {"math_constants.h", math_constants_h},
               {"cuda/atomic", compiler_cuda_sync_h},
               {"cuda/barrier", compiler_cuda_sync_h},
               {"cuda/pipeline", compiler_cuda_sync_h},
               {"cuComplex.h", compiler_cucomplex_h}};

/* Known headers without macros. */
static const char *const empty[] = {
    "algorithm",
    "array",
    "atomic",
    "bitset",
    "cctype",
    "cerrno",
    "chrono",
    "climits",
    "clocale",
    "complex",
    "condition_variable",
    "cstdarg",
    "cstddef",
    "cstdio",
    "cstdlib",
    "cstring",
    "ctime",
    "ctype.h",
    "cwchar",
    "deque",
    "errno.h",
    "exception",
    "fcntl.h",
    "filesystem",
    "fstream",
    "functional",
    "future",
    "getopt.h",
    "initializer_list",
    "iomanip",
    "ios",
    "iostream",
    "istream",
    "iterator",
    "limits",
    "list",
    "locale",
    "locale.h",
    "malloc.h",
    "map",
    "memory",
    "memory.h",
    "mutex",
    "new",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ratio",
    "regex",
    "set",
    "signal.h",
    "sstream",
    "stack",
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdexcept",
    "stdio.h",
    "stdlib.h",
    "streambuf",
    "string",
    "string.h",
    "string_view",
    "strings.h",
    "sys/stat.h",
    "sys/time.h",
    "sys/types.h",
    "system_error",
    "thread",
    "time.h",
    "tuple",
    "type_traits",
    "typeinfo",
    "unistd.h",
    "unordered_map",
    "unordered_set",
    "utility",
    "valarray",
    "variant",
    "vector",
    "wchar.h",
    /* CUDA's own */
    "builtin_types.h",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cuda.h",
    "cuda_bf16.h",
    "cuda_bf16.hpp",
    "cuda_device_runtime_api.h",
    "cuda_fp16.h",
    "cuda_fp16.hpp",
    "cuda_profiler_api.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_atomic_functions.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "device_types.h",
    "driver_types.h",
    "host_defines.h",
    "math_functions.h",
    "mma.h",
    "nvToolsExt.h",
    "nvml.h",
    "nvrtc.h",
    "nvtx3/nvToolsExt.h",
    "sm_20_atomic_functions.h",
    "sm_30_intrinsics.h",
    "vector_functions.h",
    "vector_types.h",
    /* host headers of the CUDA samples */
    "exception.h",
    "helper_cuda.h",
    "helper_cuda_drvapi.h",
    "helper_functions.h",
    "helper_image.h",
    "helper_string.h",
    "helper_timer.h",
/* for host code */
#define HEADER(name) name,
#include "compiler/pp/thrust.def"
#undef HEADER
};

/* The libraries of CUDA's toolkit work on NVIDIA GPUs. */
#define TOOLKIT(option) \
    "on an NVIDIA GPU with CUDA's toolkit, run it with '--device cuda " option \
    "'; elsewhere write the " \
    "step as a kernel, or do it with 'ingot eval' or the functions of ingot.h"
#define INSTALL(package) \
    "install it (Debian: " package ") or give its folder with -I; a kernel needs only its own " \
    "file"
#define KERNELS \
    "write the step as a kernel (examples/cuda has reductions, scans and histograms), do it with " \
    "'ingot eval' (sum, cumsum, sort), or compile the program with nvcc"

/* Libraries, by the prefix of their headers' names. */
static const struct {
    const char *begin, *library, *remedy;
} foreign[] = {
    {"thrust/", "Thrust", KERNELS}, /* the headers that thrust.def lacks */
    {"cub/", "CUB", KERNELS},
    {"cuda/std/", "libcu++", "use the built-in types and the std:: names that kernels have"},
    {"cuda/", "libcu++",
     "use <cuda/barrier>, <cuda/pipeline> and <cuda/atomic>, or cooperative groups"},
    {"cublas", "cuBLAS", TOOLKIT("-lcublas")},
    {"cudnn", "cuDNN", TOOLKIT("-lcudnn")},
    {"cufft", "cuFFT", TOOLKIT("-lcufft")},
    {"cusparse", "cuSPARSE", TOOLKIT("-lcusparse")},
    {"cusolver", "cuSOLVER", TOOLKIT("-lcusolver")},
    {"curand", "cuRAND", "pass random numbers in as an array, or compute them by a hash"},
    {"cutlass/", "CUTLASS",
     "on an NVIDIA GPU, run it with '--device cuda -I FOLDER'; elsewhere write the product as a "
     "kernel"},
    {"cute/", "CUTLASS",
     "on an NVIDIA GPU, run it with '--device cuda -I FOLDER'; elsewhere write the product as a "
     "kernel"},
    {"torch/", "PyTorch", "keep the kernel in a file of its own, without the binding"},
    {"ATen/", "PyTorch", "keep the kernel in a file of its own, without the binding"},
    {"c10/", "PyTorch", "keep the kernel in a file of its own, without the binding"},
    {"pybind11/", "pybind11", "keep the kernel in a file of its own, without the binding"},
    {"cuda_fp8", "CUDA's library of 8-bit floats", "keep the values as half or bfloat16"},
    {"cuda_fp6", "CUDA's library of 6-bit floats", "keep the values as half or bfloat16"},
    {"cuda_fp4", "CUDA's library of 4-bit floats", "keep the values as half or bfloat16"},
    {"nccl", "NCCL", "run on one device"},
    {"mpi.h", "MPI", "install it and set CXX=mpicxx; a kernel needs only its own file"},
    {"nvtx3/", "NVTX", "leave it out: kernels do not need it"},
    {"opencv", "OpenCV", INSTALL("libopencv-dev")},
    {"boost/", "Boost", INSTALL("libboost-dev")},
    {"GL/", "OpenGL", INSTALL("libgl-dev")}};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

const char *pp_header_text(const char *name)
{
    for (size_t i = 0; i < COUNT(headers); i++)
        if (strcmp(headers[i].name, name) == 0)
            return headers[i].text;
    for (size_t i = 0; i < COUNT(empty); i++)
        if (strcmp(empty[i], name) == 0)
            return "";
    return NULL;
}

const char *pp_header_foreign(const char *name, const char **remedy)
{
    for (size_t i = 0; i < COUNT(foreign); i++)
        if (strncmp(foreign[i].begin, name, strlen(foreign[i].begin)) == 0) {
            *remedy = foreign[i].remedy;
            return foreign[i].library;
        }
    return NULL;
}
