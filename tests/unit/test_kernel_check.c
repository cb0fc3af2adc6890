/* The checker of kernels: planted mistakes are reported at the right line, and correct programs are not reported. */
#include "base/memory.h"
#include "support/unit.h"
#include "kernel_launch.h"

#include <stdio.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* HERE marks the line of the first finding. */
typedef struct planted {
    const char *what;
    uint32_t grid, block;
    size_t shared;
    int64_t n;
    const char *kind;
    const char *says; /* a part of the message */
    const char *who;  /* "thread (3, 0, 0) of block (1, 0, 0)", or NULL */
    const char *source;
} planted;

static const planted mistakes[] = {
    {"a read behind the end", 2, 32, 0, 63, "out of bounds",
     "reads element 63 of 'x', which has 63 elements of 4 bytes",
     "thread (31, 0, 0) of block (1, 0, 0)",
     "__global__ void k(float *y, const float *x, int n) {\n"
     "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "    float v = x[i]; // HERE\n"
     "    if (i < n) y[i] = v;\n"
     "}\n"},
    {"a write behind the end: <= for <", 1, 64, 0, 50, "out of bounds",
     "writes element 50 of 'y', which has 50 elements", "thread (50, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y, int n) {\n"
     "    int i = threadIdx.x;\n"
     "    if (i <= n)\n"
     "        y[i] = 1; // HERE\n"
     "}\n"},
    {"a negative index", 1, 32, 0, 32, "out of bounds", "reads element -1 of 'x'",
     "thread (0, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y, const float *x) {\n"
     "    int i = threadIdx.x;\n"
     "    y[i] = x[i - 1] + x[i]; // HERE\n"
     "}\n"},
    {"a wrong stride", 2, 16, 0, 64, "out of bounds", "writes element 64 of 'y'",
     "thread (0, 0, 0) of block (1, 0, 0)",
     "__global__ void k(float *y, int n) {\n"
     "    y[blockIdx.x * n + threadIdx.x] = 1; // HERE\n"
     "}\n"},
    {"rows and columns exchanged", 1, 32, 0, 64, "out of bounds", "of 'x', which has 64 elements",
     NULL,
     "__global__ void k(float *y, const float *x) {\n"
     "    int row = threadIdx.x / 2, col = threadIdx.x % 2;\n"
     "    y[row * 2 + col] = x[col * 48 + row * 2]; // HERE\n"
     "}\n"},
    {"a pointer that was moved", 1, 32, 0, 32, "out of bounds", "reads element 32 of 'x'",
     "thread (28, 0, 0) of block (0, 0, 0)",
     "__device__ float at(const float *p, int i) { return p[i]; } // HERE\n"
     "__global__ void k(float *y, const float *x) {\n"
     "    const float *p = x;\n"
     "    p += 4;\n"
     "    y[threadIdx.x] = at(p, threadIdx.x);\n"
     "}\n"},
    {"an atomic behind the end", 1, 32, 0, 16, "out of bounds", "changes element 16 of 'bins'",
     "thread (16, 0, 0) of block (0, 0, 0)",
     "__global__ void k(int *bins) {\n"
     "    atomicAdd(&bins[threadIdx.x], 1); // HERE\n"
     "}\n"},
    {"static shared memory", 1, 64, 0, 64, "out of bounds",
     "writes element 32 of shared 's', which has 32 elements of 4 bytes",
     "thread (32, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y) {\n"
     "    __shared__ float s[32];\n"
     "    __shared__ float t[64];\n"
     "    t[threadIdx.x] = 0;\n"
     "    s[threadIdx.x] = 1; // HERE\n"
     "    __syncthreads();\n"
     "    y[threadIdx.x] = t[threadIdx.x];\n"
     "}\n"},
    {"dynamic shared memory", 1, 64, 128, 64, "out of bounds",
     "writes element 32 of shared 's', which has 32 elements", "thread (32, 0, 0) of block",
     "extern __shared__ float s[];\n"
     "__global__ void k(float *y) {\n"
     "    s[threadIdx.x] = 1; // HERE\n"
     "    __syncthreads();\n"
     "    y[threadIdx.x] = 0;\n"
     "}\n"},
    {"a local array", 1, 32, 0, 32, "out of bounds",
     "writes element 4 of 'a', which has 4 elements", "thread (4, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y) {\n"
     "    float a[4] = {0, 0, 0, 0}, b[4] = {0, 0, 0, 0};\n"
     "    a[threadIdx.x % 8] = 1; // HERE\n"
     "    y[threadIdx.x] = a[0] + b[threadIdx.x % 4];\n"
     "}\n"},
    {"a __device__ array", 1, 32, 0, 32, "out of bounds", "reads element 8 of 'table'",
     "thread (8, 0, 0) of block (0, 0, 0)",
     "__device__ float table[8];\n"
     "__global__ void k(float *y) {\n"
     "    y[threadIdx.x] = table[threadIdx.x]; // HERE\n"
     "}\n"},
    {"a __constant__ array", 1, 32, 0, 32, "out of bounds", "reads element 8 of 'table'",
     "thread (8, 0, 0) of block (0, 0, 0)",
     "__constant__ float table[8];\n"
     "__global__ void k(float *y) {\n"
     "    y[threadIdx.x] = table[threadIdx.x]; // HERE\n"
     "}\n"},
    {"a float4 that is not aligned", 1, 4, 0, 64, "misaligned",
     "reads 16 bytes in element 1 of 'x' at an address that is not a multiple of 16",
     "thread (0, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y, const float *x) {\n"
     "    float4 v = *(const float4 *)(x + 1 + 4 * threadIdx.x); // HERE\n"
     "    y[threadIdx.x] = v.x + v.w;\n"
     "}\n"},
    {"a null pointer", 1, 32, 0, 32, "null pointer", "writes 4 bytes at a null pointer",
     "thread (0, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y, int n) {\n"
     "    float *p = n > 100 ? y : nullptr;\n"
     "    p[threadIdx.x] = 1; // HERE\n"
     "}\n"},
    {"a reduction without its first barrier", 1, 64, 0, 64, "race",
     "which thread (32, 0, 0) wrote with no barrier between", NULL,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[64];\n"
     "    int t = threadIdx.x;\n"
     "    s[t] = x[t];\n"
     "    for (int d = 32; d > 0; d /= 2) {\n"
     "        if (t < d)\n"
     "            s[t] += s[t + d]; // HERE\n"
     "        __syncthreads();\n"
     "    }\n"
     "    if (t == 0) y[0] = s[0];\n"
     "}\n"},
    {"a reduction without its second barrier", 1, 128, 0, 128, "race", "with no barrier between",
     NULL,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[128];\n"
     "    int t = threadIdx.x;\n"
     "    s[t] = x[t];\n"
     "    __syncthreads();\n"
     "    for (int d = 64; d > 0; d /= 2) {\n"
     "        if (t < d)\n"
     "            s[t] += s[t + d]; // HERE\n"
     "    }\n"
     "    if (t == 0) y[0] = s[0];\n"
     "}\n"},
    {"a tiled product without its first barrier", 1, 256, 0, 256, "race", "with no barrier between",
     NULL,
     "__global__ void k(float *c, const float *a, const float *b) {\n"
     "    __shared__ float s[16][16], t[16][16];\n"
     "    int x = threadIdx.x % 16, y = threadIdx.x / 16;\n"
     "    float sum = 0;\n"
     "    for (int p = 0; p < 1; p++) {\n"
     "        s[y][x] = a[y * 16 + x];\n"
     "        t[y][x] = b[y * 16 + x];\n"
     "        for (int i = 0; i < 16; i++)\n"
     "            sum += s[y][i] * t[i][x]; // HERE\n"
     "        __syncthreads();\n"
     "    }\n"
     "    c[y * 16 + x] = sum;\n"
     "}\n"},
    {"a tiled product without its second barrier", 1, 256, 0, 1024, "race", "which thread", NULL,
     "__global__ void k(float *c, const float *a, const float *b) {\n"
     "    __shared__ float s[16][16], t[16][16];\n"
     "    int x = threadIdx.x % 16, y = threadIdx.x / 16;\n"
     "    float sum = 0;\n"
     "    for (int p = 0; p < 4; p++) {\n"
     "        s[y][x] = a[y * 64 + p * 16 + x];\n"
     "        t[y][x] = b[(p * 16 + y) * 16 + x]; // HERE\n"
     "        __syncthreads();\n"
     "        for (int i = 0; i < 16; i++)\n"
     "            sum += s[y][i] * t[i][x];\n"
     "    }\n"
     "    c[y * 16 + x] = sum;\n"
     "}\n"},
    {"a race between blocks", 4, 32, 0, 32, "race", "which block (0, 0, 0)",
     "thread (0, 0, 0) of block (1, 0, 0)",
     "__global__ void k(float *y) {\n"
     "    y[threadIdx.x] += 1; // HERE\n"
     "}\n"},
    {"a counter without an atomic", 1, 64, 0, 64, "race", "element 0 of 'n'", NULL,
     "__global__ void k(int *n, const float *x) {\n"
     "    if (x[threadIdx.x] > 3)\n"
     "        n[0] = n[0] + (int)threadIdx.x; // HERE\n"
     "}\n"},
    {"lanes that store to one place", 1, 32, 0, 32, "race",
     "writes element 0 of 'y', to which another lane", NULL,
     "__global__ void k(float *y) {\n"
     "    y[threadIdx.x / 2] = threadIdx.x; // HERE\n"
     "}\n"},
    {"a plain read of what is changed atomically", 1, 64, 0, 64, "race", "shared 'n'", NULL,
     "__global__ void k(int *y) {\n"
     "    __shared__ int n;\n"
     "    if (threadIdx.x == 0) n = 0;\n"
     "    __syncthreads();\n"
     "    atomicAdd(&n, 1);\n"
     "    y[threadIdx.x] = n; // HERE\n"
     "}\n"},
    {"shared memory that nobody wrote", 1, 32, 0, 32, "uninitialised",
     "reads element 31 of shared 's', which no thread of the block has written",
     "thread (31, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[32];\n"
     "    if (threadIdx.x < 31) s[threadIdx.x] = x[threadIdx.x];\n"
     "    __syncthreads();\n"
     "    y[threadIdx.x] = s[threadIdx.x]; // HERE\n"
     "}\n"},
    {"a histogram that does not begin at 0", 1, 64, 0, 64, "uninitialised", "of shared 'h'", NULL,
     "__global__ void k(int *y, const int *x) {\n"
     "    __shared__ int h[64];\n"
     "    atomicAdd(&h[x[threadIdx.x]], 1); // HERE\n"
     "    __syncthreads();\n"
     "    y[threadIdx.x] = h[threadIdx.x];\n"
     "}\n"},
    {"a barrier in half of a warp", 1, 64, 0, 64, "divergent barrier",
     "does not come to this barrier", "thread (16, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y) {\n"
     "    if (threadIdx.x < 16) {\n"
     "        y[threadIdx.x] = 1;\n"
     "        __syncthreads(); // HERE\n"
     "    }\n"
     "    y[threadIdx.x] = 2;\n"
     "}\n"},
    {"a barrier in one of two warps", 1, 64, 0, 64, "divergent barrier",
     "does not come to this barrier", "thread (32, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y) {\n"
     "    if (threadIdx.x < 32)\n"
     "        __syncthreads(); // HERE\n"
     "    y[threadIdx.x] = 2;\n"
     "}\n"},
    {"two barriers for one", 1, 64, 0, 64, "divergent barrier", "waits at another barrier",
     "thread (32, 0, 0) of block (0, 0, 0)",
     "__global__ void k(float *y) {\n"
     "    if (threadIdx.x < 32) {\n"
     "        y[threadIdx.x] = 1;\n"
     "        __syncthreads(); // HERE\n"
     "    } else {\n"
     "        __syncthreads();\n"
     "        y[threadIdx.x] = 2;\n"
     "    }\n"
     "}\n"},
    {"an endless loop", 1, 32, 0, 32, "endless loop", "is still in this loop",
     "thread (7, 0, 0) of block (0, 0, 0)",
     "__global__ void k(int *y) {\n"
     "    int i = threadIdx.x;\n"
     "    while (i == 7) // HERE\n"
     "        y[i] = i;\n"
     "}\n"},
    {"a lock that lanes of a warp fight for", 1, 32, 0, 32, "endless loop", "is still in this loop",
     NULL,
     "__global__ void k(int *lock, int *y) {\n"
     "    while (atomicCAS(&lock[0], 0, 1) != 0) ; // HERE\n"
     "    y[0] += 1;\n"
     "    atomicExch(&lock[0], 0);\n"
     "}\n"},
};

static const ig_kernel_finding *first_mistake(const ig_kernel_findings *all)
{
    for (int i = 0; all && i < all->n_findings; i++)
        if (!all->findings[i].is_note)
            return &all->findings[i];
    return NULL;
}

static void test_mistakes(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < COUNT(mistakes); i++) {
        const planted *p = &mistakes[i];
        ig_kernel_findings *found = NULL;
        ig_status code = IG_OK;
        const ig_launch l = {.grid = {p->grid},
                             .block = {p->block},
                             .shared_bytes = p->shared,
                             .check = true,
                             .check_loops = 1000,
                             .findings = &found};
        const ig_status status = launch_first(p->source, p->n, &l);
        const char *said = ig_error(&code);
        const ig_kernel_finding *f = first_mistake(found);
        if (status == IG_ERR_DEVICE && f && f->line == marked_line(p->source, "HERE") &&
            !strcmp(f->kind, p->kind) && strstr(f->message, p->says) &&
            (!p->who || strstr(f->message, p->who)) && strstr(said, f->message)) {
            ig_free(found);
            continue;
        }
        wrong++;
        print_error("%s (line %d): %s\n%s\n", p->what, (int)marked_line(p->source, "HERE"),
                    ig_status_name(status), said ? said : "nothing was said");
        ig_free(found);
    }
    assert_int_equal(wrong, 0);
}

/* ---- correct programs ---- */

typedef struct right {
    const char *what;
    uint32_t grid, block;
    size_t shared;
    int64_t n;
    int notes;
    const char *source;
} right;

static const right rights[] = {
    {"saxpy with a guard", 3, 32, 0, 70, 0,
     "__global__ void k(float *y, const float *x, float a, int n) {\n"
     "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "    if (i < n) y[i] = a * x[i] + y[i];\n"
     "}\n"},
    {"a loop of the whole grid", 2, 32, 0, 1000, 0,
     "__global__ void k(float *y, int n) {\n"
     "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
     "        y[i] += 1;\n"
     "}\n"},
    {"a loop around atomicCAS, and its first guess", 3, 96, 0, 1, 0,
     "__global__ void k(int *best) {\n"
     "    int mine = blockIdx.x * 96 + threadIdx.x, seen = *best, was;\n"
     "    do {\n"
     "        was = seen;\n"
     "        if (was >= mine) break;\n"
     "        seen = atomicCAS(best, was, mine);\n"
     "    } while (seen != was);\n"
     "}\n"},
    {"an early return before barriers", 2, 64, 0, 100, 0,
     "__global__ void k(float *y, const float *x, int n) {\n"
     "    __shared__ float s[64];\n"
     "    int i = blockIdx.x * 64 + threadIdx.x;\n"
     "    if (i >= n) return;\n"
     "    s[threadIdx.x] = x[i];\n"
     "    __syncthreads();\n"
     "    y[i] = s[threadIdx.x ^ 1];\n"
     "}\n"},
    {"whole warps that return", 1, 128, 0, 128, 0,
     "__global__ void k(float *y) {\n"
     "    __shared__ float s[64];\n"
     "    if (threadIdx.x >= 64) return;\n"
     "    s[threadIdx.x] = threadIdx.x;\n"
     "    __syncthreads();\n"
     "    y[threadIdx.x] = s[63 - threadIdx.x];\n"
     "}\n"},
    {"a reduction", 2, 128, 0, 256, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[128];\n"
     "    int t = threadIdx.x;\n"
     "    s[t] = x[blockIdx.x * 128 + t];\n"
     "    __syncthreads();\n"
     "    for (int d = 64; d > 0; d /= 2) {\n"
     "        if (t < d) s[t] += s[t + d];\n"
     "        __syncthreads();\n"
     "    }\n"
     "    if (t == 0) y[blockIdx.x] = s[0];\n"
     "}\n"},
    {"the last warp by volatile", 1, 64, 0, 64, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[64];\n"
     "    int t = threadIdx.x;\n"
     "    s[t] = x[t];\n"
     "    __syncthreads();\n"
     "    if (t < 32) {\n"
     "        volatile float *v = s;\n"
     "        v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8];\n"
     "        v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1];\n"
     "    }\n"
     "    if (t == 0) y[0] = s[0];\n"
     "}\n"},
    {"the last warp by __syncwarp", 1, 32, 0, 32, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[32];\n"
     "    int t = threadIdx.x;\n"
     "    s[t] = x[t];\n"
     "    __syncwarp();\n"
     "    for (int d = 16; d > 0; d /= 2) {\n"
     "        float v = t < d ? s[t + d] : 0;\n"
     "        __syncwarp();\n"
     "        s[t] += v;\n"
     "        __syncwarp();\n"
     "    }\n"
     "    if (t == 0) y[0] = s[0];\n"
     "}\n"},
    {"lock step with no mark: a note", 1, 32, 0, 32, 1,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[32];\n"
     "    int t = threadIdx.x;\n"
     "    s[t] = x[t];\n"
     "    y[t] = s[31 - t];\n"
     "}\n"},
    {"a sum by shuffles", 1, 64, 0, 64, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float part[2];\n"
     "    float v = x[threadIdx.x];\n"
     "    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);\n"
     "    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;\n"
     "    __syncthreads();\n"
     "    if (threadIdx.x == 0) y[0] = part[0] + part[1];\n"
     "}\n"},
    {"shuffles from lanes that are not active: a note", 1, 64, 0, 64, 1,
     "__global__ void k(int *y) {\n"
     "    int t = threadIdx.x, v = t + 1;\n"
     "    unsigned m = __ballot_sync(~0u, t < 8);\n"
     "    if (t < 8) {\n"
     "        for (int d = 16; d; d /= 2) v += __shfl_down_sync(m, v, d);\n"
     "        y[t] = v;\n"
     "    }\n"
     "}\n"},
    {"shuffles inside of groups of 8 lanes", 1, 64, 0, 64, 0,
     "__global__ void k(int *y) {\n"
     "    int t = threadIdx.x, v = t;\n"
     "    if (t < 8) {\n"
     "        for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xff, v, d, 8);\n"
     "        y[t] = v;\n"
     "    }\n"
     "}\n"},
    {"a tiled product", 4, 64, 0, 256, 0,
     "__global__ void k(float *c, const float *a, const float *b) {\n"
     "    __shared__ float s[8][8], t[8][9];\n"
     "    int x = threadIdx.x % 8, y = threadIdx.x / 8;\n"
     "    int row = blockIdx.x / 2 * 8 + y, col = blockIdx.x % 2 * 8 + x;\n"
     "    float sum = 0;\n"
     "    for (int p = 0; p < 2; p++) {\n"
     "        s[y][x] = a[row * 16 + p * 8 + x];\n"
     "        t[y][x] = b[(p * 8 + y) * 16 + col];\n"
     "        __syncthreads();\n"
     "        for (int i = 0; i < 8; i++) sum += s[y][i] * t[i][x];\n"
     "        __syncthreads();\n"
     "    }\n"
     "    c[row * 16 + col] = sum;\n"
     "}\n"},
    {"two buffers in turn", 1, 64, 0, 256, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[2][64];\n"
     "    int t = threadIdx.x;\n"
     "    s[0][t] = x[t];\n"
     "    __syncthreads();\n"
     "    for (int p = 0; p < 3; p++) {\n"
     "        s[(p + 1) % 2][t] = x[(p + 1) * 64 + t];\n"
     "        y[p * 64 + t] = s[p % 2][63 - t];\n"
     "        __syncthreads();\n"
     "    }\n"
     "}\n"},
    {"a scan with two barriers", 1, 64, 0, 64, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[64];\n"
     "    int t = threadIdx.x;\n"
     "    s[t] = x[t];\n"
     "    for (int d = 1; d < 64; d *= 2) {\n"
     "        __syncthreads();\n"
     "        float v = t >= d ? s[t - d] : 0;\n"
     "        __syncthreads();\n"
     "        s[t] += v;\n"
     "    }\n"
     "    y[t] = s[t];\n"
     "}\n"},
    {"a histogram in shared memory", 4, 64, 0, 256, 0,
     "__global__ void k(int *y, const int *x) {\n"
     "    __shared__ int h[16];\n"
     "    if (threadIdx.x < 16) h[threadIdx.x] = 0;\n"
     "    __syncthreads();\n"
     "    atomicAdd(&h[x[blockIdx.x * 64 + threadIdx.x] % 16], 1);\n"
     "    __syncthreads();\n"
     "    if (threadIdx.x < 16) atomicAdd(&y[threadIdx.x], h[threadIdx.x]);\n"
     "}\n"},
    {"a count of all blocks", 8, 64, 0, 512, 0,
     "__global__ void k(int *n, const float *x) {\n"
     "    if (x[blockIdx.x * 64 + threadIdx.x] > 7) atomicAdd(n, 1);\n"
     "}\n"},
    {"the last block adds up", 4, 32, 0, 128, 0,
     "__device__ unsigned int done;\n"
     "__global__ void k(float *part, float *y, const float *x) {\n"
     "    __shared__ bool last;\n"
     "    atomicAdd(&part[blockIdx.x], 0.0f);\n"
     "    if (threadIdx.x == 0) {\n"
     "        y[1 + blockIdx.x] = x[blockIdx.x];\n"
     "        __threadfence();\n"
     "        last = atomicInc(&done, gridDim.x) == gridDim.x - 1;\n"
     "    }\n"
     "    __syncthreads();\n"
     "    if (last && threadIdx.x == 0) {\n"
     "        float sum = 0;\n"
     "        for (int i = 0; i < gridDim.x; i++) sum += y[1 + i];\n"
     "        y[0] = sum;\n"
     "    }\n"
     "}\n"},
    {"a lock for one thread of each block", 4, 32, 0, 32, 0,
     "__device__ int lock;\n"
     "__global__ void k(float *y) {\n"
     "    if (threadIdx.x == 0) {\n"
     "        while (atomicCAS(&lock, 0, 1) != 0) ;\n"
     "        __threadfence();\n"
     "        y[0] += 1;\n"
     "        __threadfence();\n"
     "        atomicExch(&lock, 0);\n"
     "    }\n"
     "}\n"},
    {"a flag that all set alike", 4, 64, 0, 256, 0,
     "__global__ void k(int *found, const float *x) {\n"
     "    if (x[blockIdx.x * 64 + threadIdx.x] >= 0) found[0] = 0;\n"
     "}\n"},
    {"a flag of the block", 1, 64, 0, 64, 0,
     "__global__ void k(int *y, const float *x) {\n"
     "    __shared__ int any;\n"
     "    any = 0;\n"
     "    __syncthreads();\n"
     "    if (x[threadIdx.x] > 30) any = 1;\n"
     "    __syncthreads();\n"
     "    y[threadIdx.x] = any;\n"
     "}\n"},
    {"neighbouring bytes", 2, 64, 0, 128, 0,
     "__global__ void k(unsigned char *y, const unsigned char *x) {\n"
     "    __shared__ unsigned char s[64];\n"
     "    int i = blockIdx.x * 64 + threadIdx.x;\n"
     "    s[threadIdx.x] = x[i];\n"
     "    __syncthreads();\n"
     "    y[i] = s[63 - threadIdx.x];\n"
     "}\n"},
    {"bytes of integers", 2, 64, 0, 128, 0,
     "__global__ void k(int *y) {\n"
     "    char *p = (char *)y;\n"
     "    p[blockIdx.x * 64 + threadIdx.x] = 1;\n"
     "}\n"},
    {"vectors", 1, 16, 0, 64, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    float4 v = ((const float4 *)x)[threadIdx.x];\n"
     "    v.x += v.w;\n"
     "    ((float4 *)y)[threadIdx.x] = v;\n"
     "}\n"},
    {"local arrays and pointers to them", 1, 32, 0, 32, 0,
     "__device__ void sort(float *a) { if (a[1] < a[0]) { float t = a[0]; a[0] = a[1]; a[1] = t; } "
     "}\n"
     "__global__ void k(float *y, const float *x) {\n"
     "    float a[2] = {x[threadIdx.x], 7};\n"
     "    sort(a);\n"
     "    y[threadIdx.x] = a[threadIdx.x % 2];\n"
     "}\n"},
    {"dynamic shared memory in two parts", 1, 32, 256, 32, 0,
     "extern __shared__ float s[];\n"
     "__global__ void k(float *y, const float *x) {\n"
     "    float *a = s;\n"
     "    int *b = (int *)(s + 32);\n"
     "    a[threadIdx.x] = x[threadIdx.x];\n"
     "    b[threadIdx.x] = threadIdx.x;\n"
     "    __syncthreads();\n"
     "    y[threadIdx.x] = a[b[31 - threadIdx.x]];\n"
     "}\n"},
    {"barriers in a loop that all leave together", 1, 64, 0, 64, 0,
     "__global__ void k(float *y) {\n"
     "    __shared__ float s[64];\n"
     "    for (int i = 0; i < 4; i++) {\n"
     "        if (i == 2) continue;\n"
     "        s[threadIdx.x] = i;\n"
     "        __syncthreads();\n"
     "        y[threadIdx.x] = s[63 - threadIdx.x];\n"
     "        __syncthreads();\n"
     "    }\n"
     "}\n"},
    {"a barrier in a branch that all take", 2, 64, 0, 64, 0,
     "__global__ void k(float *y, int n) {\n"
     "    __shared__ float s[64];\n"
     "    if (n > 3) {\n"
     "        s[threadIdx.x] = 1;\n"
     "        __syncthreads();\n"
     "        if (blockIdx.x == 0) y[threadIdx.x] = s[63 - threadIdx.x];\n"
     "    }\n"
     "}\n"},
    {"a bitonic sort", 2, 64, 0, 128, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[64];\n"
     "    unsigned t = threadIdx.x;\n"
     "    s[t] = x[blockIdx.x * 64 + t];\n"
     "    __syncthreads();\n"
     "    for (unsigned size = 2; size <= 64; size *= 2)\n"
     "        for (unsigned d = size / 2; d > 0; d /= 2) {\n"
     "            unsigned other = t ^ d;\n"
     "            if (other > t && (s[t] < s[other]) == ((t & size) == 0)) {\n"
     "                float v = s[t]; s[t] = s[other]; s[other] = v;\n"
     "            }\n"
     "            __syncthreads();\n"
     "        }\n"
     "    y[blockIdx.x * 64 + t] = s[t];\n"
     "}\n"},
    {"a scan up and down a tree", 2, 64, 0, 256, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    __shared__ float s[128];\n"
     "    int t = threadIdx.x, base = blockIdx.x * 128, step = 1;\n"
     "    s[2 * t] = x[base + 2 * t];\n"
     "    s[2 * t + 1] = x[base + 2 * t + 1];\n"
     "    for (int d = 64; d > 0; d /= 2, step *= 2) {\n"
     "        __syncthreads();\n"
     "        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];\n"
     "    }\n"
     "    if (t == 0) s[127] = 0;\n"
     "    for (int d = 1; d < 128; d *= 2) {\n"
     "        step /= 2;\n"
     "        __syncthreads();\n"
     "        if (t < d) {\n"
     "            int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;\n"
     "            float v = s[a]; s[a] = s[b]; s[b] += v;\n"
     "        }\n"
     "    }\n"
     "    __syncthreads();\n"
     "    y[base + 2 * t] = s[2 * t];\n"
     "    y[base + 2 * t + 1] = s[2 * t + 1];\n"
     "}\n"},
    {"a stencil with a halo", 2, 64, 0, 128, 0,
     "__global__ void k(float *y, const float *x, int n) {\n"
     "    __shared__ float s[66];\n"
     "    int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 1;\n"
     "    s[t] = x[i];\n"
     "    if (t == 1) s[0] = i > 0 ? x[i - 1] : 0;\n"
     "    if (t == 64) s[65] = i + 1 < n ? x[i + 1] : 0;\n"
     "    __syncthreads();\n"
     "    y[i] = s[t - 1] + s[t] + s[t + 1];\n"
     "}\n"},
    {"a maximum of floats by compare and swap", 4, 64, 0, 256, 0,
     "__global__ void k(float *y, const float *x) {\n"
     "    int *at = (int *)y, old = *(volatile int *)at, was;\n"
     "    float v = x[blockIdx.x * 64 + threadIdx.x];\n"
     "    do {\n"
     "        was = old;\n"
     "        old = atomicCAS(at, was, __float_as_int(fmaxf(v, __int_as_float(was))));\n"
     "    } while (was != old);\n"
     "}\n"},
    {"one warp waits for another", 1, 64, 0, 64, 0,
     "__global__ void k(float *y) {\n"
     "    __shared__ volatile int ready;\n"
     "    __shared__ volatile float value;\n"
     "    if (threadIdx.x == 0) ready = 0;\n"
     "    __syncthreads();\n"
     "    if (threadIdx.x == 32) { value = 3; __threadfence_block(); ready = 1; }\n"
     "    if (threadIdx.x < 32) { while (ready == 0) ; y[threadIdx.x] = value; }\n"
     "}\n"},
    {"votes of the block", 1, 96, 0, 96, 0,
     "__global__ void k(int *y, const float *x) {\n"
     "    int any = __syncthreads_or(x[threadIdx.x] > 50);\n"
     "    y[threadIdx.x] = any + __syncthreads_count(threadIdx.x % 2);\n"
     "}\n"},
    {"a product by registers", 1, 64, 0, 1024, 0,
     "__global__ void k(float *c, const float *a, const float *b) {\n"
     "    __shared__ float s[32][8], t[8][32];\n"
     "    float sum[4][4] = {}, u[4], v[4];\n"
     "    int x = threadIdx.x % 8, y = threadIdx.x / 8;\n"
     "    for (int p = 0; p < 32; p += 8) {\n"
     "        for (int i = threadIdx.x; i < 256; i += 64) {\n"
     "            s[i / 8][i % 8] = a[i / 8 * 32 + p + i % 8];\n"
     "            t[i / 32][i % 32] = b[(p + i / 32) * 32 + i % 32];\n"
     "        }\n"
     "        __syncthreads();\n"
     "        for (int q = 0; q < 8; q++) {\n"
     "            for (int i = 0; i < 4; i++) { u[i] = s[y * 4 + i][q]; v[i] = t[q][x * 4 + i]; }\n"
     "            for (int i = 0; i < 4; i++)\n"
     "                for (int j = 0; j < 4; j++) sum[i][j] += u[i] * v[j];\n"
     "        }\n"
     "        __syncthreads();\n"
     "    }\n"
     "    for (int i = 0; i < 4; i++)\n"
     "        for (int j = 0; j < 4; j++) c[(y * 4 + i) * 32 + x * 4 + j] = sum[i][j];\n"
     "}\n"},
    {"values that are not used", 1, 32, 0, 32, 0,
     "struct pair { float a, b; };\n"
     "__global__ void k(float *y, const float *x) {\n"
     "    pair p = {x[threadIdx.x], 2};\n"
     "    (void)x[0]; (void)p;\n"
     "    std::swap(p.a, p.b);\n"
     "    y[threadIdx.x] = p.b;\n"
     "}\n"},
    {"in place, by its owner", 2, 32, 0, 64, 0,
     "__global__ void k(float *y) {\n"
     "    int i = blockIdx.x * 32 + threadIdx.x;\n"
     "    y[i] = 1; y[i] += 2; y[i] = y[i] * y[i];\n"
     "}\n"},
};

static void test_rights(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < COUNT(rights); i++) {
        const right *p = &rights[i];
        ig_kernel_findings *found = NULL;
        const ig_launch l = {.grid = {p->grid},
                             .block = {p->block},
                             .shared_bytes = p->shared,
                             .check = true,
                             .findings = &found};
        const ig_status status = launch_first(p->source, p->n, &l);
        const char *said = ig_error(NULL);
        if (status != IG_OK || !found || found->n_findings != p->notes) {
            wrong++;
            print_error("%s: %s\n", p->what,
                        said                         ? said
                        : found && found->n_findings ? found->findings[0].text
                                                     : "it should have been noted");
        }
        ig_free(found);
    }
    assert_int_equal(wrong, 0);
}

/* ---- the report ---- */

static void test_many(void **state)
{
    (void)state;
    char source[4096] = "__global__ void k(float *y) {\n    int i = threadIdx.x;\n";
    for (int i = 0; i < 25; i++)
        snprintf(source + strlen(source), sizeof source - strlen(source), "    y[i + %d] = 1;\n",
                 100 + i);
    strcat(source, "}\n");
    ig_kernel_findings *found = NULL;
    const ig_launch l = {.grid = {1}, .block = {32}, .check = true, .findings = &found};
    assert_int_equal(launch_first(source, 100, &l), IG_ERR_DEVICE);
    const char *said = ig_error(NULL);
    assert_non_null(found);
    assert_int_equal(found->n_findings, 20);
    assert_int_equal(found->n_more, 5);
    assert_int_equal(found->findings[0].count, 32);
    assert_int_equal(found->findings[0].column, 6);
    assert_true(!strncmp(said, "kernel 'k': the check found 25 mistakes\n", 40));
    assert_non_null(strstr(found->findings[3].text, "    y[i + 103] = 1;\n    "));
    assert_non_null(strchr(found->findings[3].text, '^'));
    ig_free(found);
}

/* Reads out of bounds return 0, and no other memory is written. */
static void test_not_done(void **state)
{
    (void)state;
    const char *source = "__global__ void k(float *y, const float *x) {\n"
                         "    __shared__ float s[4];\n"
                         "    int i = threadIdx.x;\n"
                         "    float v = x[i * 1000000] + x[-100000000 + i];\n"
                         "    s[i * 1000] = v;\n"
                         "    y[(long long)i << 40] = v;\n"
                         "    ((int **)y)[0][i] = 3;\n"
                         "}\n";
    const ig_launch l = {.grid = {2}, .block = {64}, .check = true};
    assert_int_equal(launch_first(source, 8, &l), IG_ERR_DEVICE);
    assert_non_null(strstr(ig_error(NULL), "the check found"));
}

/* If any allocation fails, the launch fails too, and nothing leaks. */
static void test_memory(void **state)
{
    (void)state;
    const char *source = "__device__ float t[4];\n"
                         "__global__ void k(float *y) {\n"
                         "    __shared__ float s[8];\n"
                         "    s[threadIdx.x] = t[threadIdx.x];\n"
                         "    y[threadIdx.x] = s[threadIdx.x];\n"
                         "}\n";
    const ig_launch plain = {.grid = {1}, .block = {8}};
    assert_int_equal(launch_first(source, 8, &plain), IG_OK);
    ig_status status = IG_OK;
    for (int64_t n = 1; n < 2000 && status != IG_ERR_DEVICE; n++) {
        ig_kernel_findings *found = NULL;
        ig_profile *profile = NULL;
        const ig_launch l = {
            .grid = {1}, .block = {8}, .check = true, .findings = &found, .profile = &profile};
        memory_fail_at(n);
        status = launch_first(source, 8, &l);
        memory_fail_at(0);
        assert_int_not_equal(status, IG_OK);
        assert_non_null(ig_error(NULL));
        ig_free(found);
        ig_free(profile);
    }
    assert_int_equal(status, IG_ERR_DEVICE);
}

static void test_refused(void **state)
{
    (void)state;
    const ig_launch l = {.device = "null", .check = true};
    assert_int_equal(launch_first("__global__ void k(float *y) {}", 1, &l), IG_ERR_UNSUPPORTED);
    assert_non_null(ig_error(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mistakes, begin, end),
        cmocka_unit_test_setup_teardown(test_rights, begin, end),
        cmocka_unit_test_setup_teardown(test_many, begin, end),
        cmocka_unit_test_setup_teardown(test_not_done, begin, end),
        cmocka_unit_test_setup_teardown(test_memory, begin, end),
        cmocka_unit_test_setup_teardown(test_refused, begin, end),
    };
    return cmocka_run_group_tests_name("kernel_check", tests, NULL, NULL);
}
