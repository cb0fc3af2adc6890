/* Tables of the languages: names of types, indices, barriers, reserved words. */
#include <string.h>

#include "compiler/print/parts.h"

/* Keywords, types and functions that a name of the source must not hide. Sorted. */
/* clang-format off */
static const char *const opencl_words[] = {
    "abs", "abs_diff", "acos", "acosh", "add_sat", "all", "any", "asin", "asinh", "atan", "atan2",
    "atanh", "atom_add", "atomic_add", "atomic_and", "atomic_cmpxchg", "atomic_dec", "atomic_inc",
    "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xchg", "atomic_xor", "barrier",
    "bitselect", "bool2", "bool3", "bool4", "cbrt", "ceil", "char16", "char2", "char3", "char4",
    "char8", "clamp", "clz", "complex", "constant", "copysign", "cos", "cosh", "cospi", "cross",
    "ctz", "degrees", "distance", "dot", "double16", "double2", "double3", "double4", "double8",
    "erf", "erfc", "event_t", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "float16", "float2",
    "float3", "float4", "float8", "floor", "fma", "fmax", "fmin", "fmod", "fract", "frexp",
    "generic", "global", "hadd", "half", "half16", "half2", "half3", "half4", "half8", "hypot",
    "ilogb", "imaginary", "int16", "int2", "int3", "int4", "int8", "isequal", "isfinite", "isinf",
    "isnan", "isnormal", "kernel", "ldexp", "length", "lgamma", "local", "log", "log10", "log1p",
    "log2", "logb", "long16", "long2", "long3", "long4", "long8", "mad", "mad24", "mad_hi", "max",
    "maxmag", "mem_fence", "min", "minmag", "mix", "modf", "mul24", "mul_hi", "nan", "nextafter",
    "normalize", "pipe", "popcount", "pow", "pown", "powr", "prefetch", "printf", "private", "quad",
    "radians", "read_only", "read_write", "remainder", "remquo", "rhadd", "rint", "rootn", "rotate",
    "round", "rsqrt", "sampler_t", "select", "short16", "short2", "short3", "short4", "short8",
    "shuffle", "shuffle2", "sign", "signbit", "sin", "sincos", "sinh", "sinpi", "smoothstep",
    "sqrt", "step", "sub_sat", "tan", "tanh", "tanpi", "tgamma", "trunc", "uchar", "uchar16",
    "uchar2", "uchar3", "uchar4", "uchar8", "uint", "uint16", "uint2", "uint3", "uint4", "uint8",
    "ulong", "ulong16", "ulong2", "ulong3", "ulong4", "ulong8", "uniform", "unsigned", "upsample",
    "ushort", "ushort16", "ushort2", "ushort3", "ushort4", "ushort8", "vec_step", "vload2",
    "vload4", "vload_half", "vstore2", "vstore4", "wait_group_events", "write_only",
};

static const char *const metal_words[] = {
    "abs", "absdiff", "access", "acos", "acosh", "addsat", "all", "alignas", "alignof", "and",
    "any", "array", "as_type", "asin", "asinh", "atan", "atan2", "atanh", "atomic_float",
    "atomic_int", "atomic_uint", "bool2", "bool3", "bool4", "buffer", "ceil", "char2", "char3",
    "char4", "clamp", "class", "clz", "constant", "constexpr", "copysign", "cos", "cosh", "cospi",
    "cross", "ctz", "delete", "depth2d", "determinant", "device", "discard_fragment", "distance",
    "dot", "exp", "exp10", "exp2", "explicit", "extract_bits", "fabs", "faceforward", "fast",
    "fdim", "float2", "float2x2", "float3", "float3x3", "float4", "float4x4", "floor", "fma",
    "fmax", "fmax3", "fmin", "fmin3", "fmod", "fract", "fragment", "frexp", "friend", "hadd",
    "half", "half2", "half3", "half4", "ilogb", "insert_bits", "int2", "int3", "int4", "intersect",
    "isfinite", "isinf", "isnan", "isnormal", "isordered", "kernel", "ldexp", "length",
    "length_squared", "level", "log", "log10", "log2", "long2", "long3", "long4", "mad24", "madhi",
    "madsat", "max", "max3", "median3", "metal", "min", "min3", "mix", "modf", "mul24", "mulhi",
    "namespace", "new", "normalize", "not", "operator", "or", "packed_float2", "packed_float3",
    "popcount", "pow", "powr", "precise", "private", "protected", "ptrdiff_t", "public", "quad",
    "raytracing", "read", "reflect", "refract", "reverse_bits", "rhadd", "rint", "rotate", "round",
    "rsqrt", "sample", "sampler", "saturate", "select", "short2", "short3", "short4", "sign",
    "signbit", "sin", "sincos", "sinh", "sinpi", "size_t", "smoothstep", "sqrt", "step", "subsat",
    "tan", "tanh", "tanpi", "template", "texture2d", "this", "thread", "threadgroup",
    "threadgroup_barrier", "throw", "transpose", "trunc", "try", "typename", "uchar", "uchar2",
    "uchar3", "uchar4", "uint", "uint2", "uint3", "uint4", "ulong", "ulong2", "ulong3", "ulong4",
    "uniform", "ushort", "ushort2", "ushort3", "ushort4", "using", "vec", "vertex", "virtual",
    "write", "xor",
};
#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

#define SHORT_NAMES \
    [TYPE_VOID] = "void",  [TYPE_BOOL] = "bool", \
    [TYPE_I8]   = "char",  [TYPE_U8]   = "uchar", \
    [TYPE_I16]  = "short", [TYPE_U16]  = "ushort", \
    [TYPE_I32]  = "int",   [TYPE_U32]  = "uint", \
    [TYPE_I64]  = "long",  [TYPE_U64]  = "ulong", \
    [TYPE_F16]  = "half",  [TYPE_F32]  = "float",  [TYPE_F64] = "double"

#define CUDA_INDICES \
    {"threadIdx.x", "threadIdx.y", "threadIdx.z"}, \
    {"blockIdx.x",  "blockIdx.y",  "blockIdx.z"}, \
    {"blockDim.x",  "blockDim.y",  "blockDim.z"}, \
    {"gridDim.x",   "gridDim.y",   "gridDim.z"}

const print_language print_languages[LANGUAGES] = {
    [LANGUAGE_OPENCL] = {
        .name     = "OpenCL C",
        .values   = {SHORT_NAMES},
        .spaces   = {"", "__global ", "__global ", "__local ", "", ""},
        .index    = {
            {"(uint)get_local_id(0)",   "(uint)get_local_id(1)",   "(uint)get_local_id(2)"},
            {"(uint)get_group_id(0)",   "(uint)get_group_id(1)",   "(uint)get_group_id(2)"},
            {"(uint)get_local_size(0)", "(uint)get_local_size(1)", "(uint)get_local_size(2)"},
            {"(uint)get_num_groups(0)", "(uint)get_num_groups(1)", "(uint)get_num_groups(2)"}},
        .barrier  = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
        .fences   = {"mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
                     "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", NULL},
        .function = "static ",
        .kernel   = "__kernel ",
        .shared   = "__local ",
        .reserved = opencl_words,
        .n_reserved = COUNT(opencl_words)},
    [LANGUAGE_METAL] = {
        .name     = "Metal",
        .values   = {SHORT_NAMES},
        .spaces   = {"thread ", "device ", "device ", "threadgroup ", "thread ", "thread "},
        .index    = {CUDA_INDICES},
        .barrier  = "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)",
        .fences   = {"simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)", NULL, NULL},
        .function = "static ",
        .kernel   = "kernel ",
        .shared   = "threadgroup ",
        .reserved = metal_words,
        .n_reserved = COUNT(metal_words)},
    [LANGUAGE_CUDA] = {
        .name     = "CUDA C",
        .values   = {
            [TYPE_VOID] = "void",        [TYPE_BOOL] = "bool",
            [TYPE_I8]   = "signed char", [TYPE_U8]   = "unsigned char",
            [TYPE_I16]  = "short",       [TYPE_U16]  = "unsigned short",
            [TYPE_I32]  = "int",         [TYPE_U32]  = "unsigned int",
            [TYPE_I64]  = "long long",   [TYPE_U64]  = "unsigned long long",
            [TYPE_F16]  = "__half",      [TYPE_BF16] = "__nv_bfloat16",
            [TYPE_F32]  = "float",       [TYPE_F64]  = "double"},
        .spaces   = {"", "", "", "", "", ""},
        .index    = {CUDA_INDICES},
        .barrier  = "__syncthreads()",
        .fences   = {"__threadfence_block()", "__threadfence()", "__threadfence_system()"},
        .function = "__device__ ",
        .kernel   = "extern \"C\" __global__ ",
        .shared   = "__shared__ "},
};

static const struct {
    const char *name;
    kernel_target target;
} targets[] = {
    {"opencl", {.language = LANGUAGE_OPENCL, .device = "plain OpenCL", .version = 102, .inlines = true}},
    {"metal",  {.language = LANGUAGE_METAL, .device = "an Apple GPU", .version = 204,
                .subgroup = 32, .threads = 1024, .shared_bytes = 32768, .buffers = 31,
                .f16 = true, .shuffles = true}},
    {"cuda",   {.language = LANGUAGE_CUDA, .device = "an NVIDIA GPU", .subgroup = 32,
                .f16 = true, .f64 = true, .atomics_i64 = true, .shuffles = true}},
};
/* clang-format on */

const kernel_target *kernel_target_find(const char *name)
{
    for (int i = 0; i < COUNT(targets); i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i].target;
    return NULL;
}
