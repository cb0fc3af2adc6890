/* The fake driver: tensor maps, and plain kernels in place of kernels/attention.cu and kernels/tensor_product.cu, whose
 * instructions lane code does not support. A map holds the address, the sizes and the strides that it was created
 * with. */
#include "fakecuda/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *at, const cuuint64_t *dims, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    uint64_t words[16] = {(uint64_t)(uintptr_t)at};
    (void)type, (void)box, (void)steps, (void)interleave, (void)swizzle, (void)promotion,
        (void)fill;
    for (cuuint32_t i = 0; i < rank; i++)
        words[1 + i] = dims[i];
    for (cuuint32_t i = 0; i + 1 < rank; i++) {
        if (strides[i] % 16 != 0)
            return CUDA_ERROR_INVALID_VALUE;
        words[8 + i] = strides[i];
    }
    memcpy(map, words, sizeof *map < sizeof words ? sizeof *map : sizeof words);
    return (uintptr_t)at % 16 == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const char halves[] =
    "struct alignas(64) tensor_map { unsigned long long words[16]; };\n"
    "__device__ float wide(unsigned short h)\n"
    "{\n"
    "    const int e = h >> 10 & 31;\n"
    "    const float m = (h & 1023) / 1024.0f;\n"
    "    const float x = e ? (1 + m) * exp2f(e - 15) : m * exp2f(-14);\n"
    "    return h >> 15 ? -x : x;\n"
    "}\n"
    "__device__ unsigned short narrow(float x)\n"
    "{\n"
    "    const float a = fabsf(x);\n"
    "    const unsigned sign = x < 0 ? 32768 : 0;\n"
    "    if (!(a > 6.2e-5f))\n"
    "        return sign;\n"
    "    int e = (int)floorf(log2f(a));\n"
    "    int m = (int)rintf((a * exp2f(-e) - 1) * 1024);\n"
    "    if (m < 0) { e--; m += 1024; }\n"
    "    if (m > 1023) { e++; m = 0; }\n"
    "    return sign | (unsigned)(e + 15) << 10 | (unsigned)m;\n"
    "}\n"
    "__device__ const unsigned short *row(const tensor_map &m, int y, int z, int w)\n"
    "{\n"
    "    return (const unsigned short *)(m.words[0] + y * m.words[8] + z * m.words[9] + w * "
    "m.words[10]);\n"
    "}\n";

/* Supports only f16. */
static const char product[] =
    "#ifdef EPILOGUE\n"
    "#define MORE , unsigned short *kept, const sizes numbers\n"
    "#else\n"
    "#define MORE\n"
    "#endif\n"
    "#if BOXES\n"
    "#define TO const tensor_map to\n"
    "#else\n"
    "#define TO unsigned short *to\n"
    "#endif\n"
    "extern \"C\" __global__ void product(const tensor_map a, const tensor_map b, TO,\n"
    "                                   const unsigned short *bias, const product_sizes g MORE)\n"
    "{\n"
    "#if BOXES\n"
    "    unsigned short *out = (unsigned short *)row(to, 0, 0, 0);\n"
    "#else\n"
    "    unsigned short *out = to;\n"
    "#endif\n"
    "    const int jobs = g.tiles / (g.tiles_m * g.tiles_n);\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < jobs * g.m * g.n;\n"
    "         i += gridDim.x * blockDim.x) {\n"
    "        const int n = i % g.n, m = i / g.n % g.m, job = i / g.n / g.m;\n"
    "        const int z = job % g.batch, w = job / g.batch;\n"
    "        float sum = 0;\n"
    "        for (int k = 0; k < g.k; k++) {\n"
    "            const unsigned short *x = row(a, A_K ? m : k, z * g.a_batch, w * g.a_outer);\n"
    "            const unsigned short *y = row(b, B_K ? n : k, z * g.b_batch, w * g.b_outer);\n"
    "            sum += wide(x[A_K ? k : m]) * wide(y[B_K ? k : n]);\n"
    "        }\n"
    "        unsigned short y = narrow(g.has_bias ? sum + wide(bias[n]) : sum);\n"
    "#ifdef EPILOGUE\n"
    "        if (g.keeps)\n"
    "            kept[i] = y;\n"
    "        y = narrow(epilogue(wide(y), numbers));\n"
    "#endif\n"
    "        out[i] = y;\n"
    "    }\n"
    "}\n";

/* One thread computes a row. Only f16 and rows of up to 128 elements. */
static const char attend[] =
    "extern \"C\" __global__ void attend(const tensor_map q, const tensor_map k, const tensor_map "
    "v,\n"
    "                                  unsigned short *out, float *lse, const unsigned char "
    "*mask,\n"
    "                                  const attention_sizes g)\n"
    "{\n"
    "    const int rows = (g.n_q + g.tiles - 1) / g.tiles;\n"
    "    for (int work = blockIdx.x; work < g.total; work += gridDim.x) {\n"
    "    const int tile = work % g.tiles, job = work / g.tiles;\n"
    "    const int batch = job % g.batch, outer = job / g.batch;\n"
    "    for (int i = tile * rows + threadIdx.x; i < g.n_q && i < (tile + 1) * rows;\n"
    "         i += blockDim.x) {\n"
    "        float sum = 0, to[128];\n"
    "        const unsigned short *a = row(q, i, batch, outer);\n"
    "        for (int d = 0; d < g.dim; d++)\n"
    "            to[d] = 0;\n"
    "        for (int j = 0; j < g.n_k && !(CAUSAL && j > i); j++) {\n"
    "            if (mask && !mask[outer * g.n_k + j])\n"
    "                continue;\n"
    "            const unsigned short *b = row(k, j, batch, outer), *c = row(v, j, batch, outer);\n"
    "            float s = 0;\n"
    "            for (int d = 0; d < g.dim; d++)\n"
    "                s += wide(a[d]) * wide(b[d]);\n"
    "            const float p = exp2f(s * g.scale);\n"
    "            sum += p * SUM;\n"
    "            for (int d = 0; d < g.dim; d++)\n"
    "                to[d] += p * wide(c[d]);\n"
    "        }\n"
    "        for (int d = 0; d < g.dim; d++)\n"
    "            out[outer * g.out_outer + batch * g.out_batch + i * g.out_row + d] = narrow(to[d] "
    "/ sum);\n"
    "        lse[job * g.n_pad + i] = log2f(sum);\n"
    "    }\n"
    "    }\n"
    "}\n";

bool fake_stands_in(const char *source, char *to, size_t room)
{
    const char *arguments = strstr(source, "#define CUDA_ARGUMENTS_H"),
               *end = arguments ? strstr(arguments, "#endif") : NULL,
               *causal = strstr(source, "#define CAUSAL 1");
    const bool is_product = strstr(source, "product(const __grid_constant__");
    if ((!is_product && !strstr(source, "attend(const __grid_constant__")) || !end)
        return false;
    /* The source begins with the definitions of a product and its epilogue. */
    const size_t before = is_product ? (size_t)(strstr(source, "#ifndef CUDA_ARG") - source) : 0;
    const size_t bytes = (size_t)(end - arguments);
    if (before + bytes + sizeof halves + sizeof attend + sizeof product + 64 > room)
        return false;
    const char *wrong = getenv("FAKE_CUDA_ATTEND");
    snprintf(to, room, "#define CAUSAL %d\n#define SUM %.16s\n", causal != NULL,
             wrong ? wrong : "1.0f");
    strncat(to, source, before);
    strncat(to, arguments, bytes);
    strcat(to, halves);
    strcat(to, is_product ? product : attend);
    return true;
}
