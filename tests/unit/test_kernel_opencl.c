/* Kernels in CUDA C, printed as OpenCL C and run on PoCL: each result is compared with plain C. Skipped, with the
 * reason, if there is no driver. */
#include "support/opencl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "engine/module/device.h"

enum { ARGS_MOST = 8 };

/* ---- running a kernel ---- */

/* An argument: memory that is copied there and back, or a value. */
typedef struct argument {
    void *data;
    size_t bytes;
    bool is_buffer;
} argument;

#define ARRAY(x) \
    { \
        (x), sizeof(x), true \
    }
#define VALUE(x) \
    { \
        &(x), sizeof(x), false \
    }

typedef struct run {
    const char *source, *kernel;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    argument args[ARGS_MOST];
    void *globals; /* the kernel's globals after the run, or NULL */
    size_t globals_bytes;
    char *said; /* its output, or NULL; memory_free */
    ig_status launched;
} run;

static void checked(ig_status status)
{
    if (status != IG_OK)
        fail_msg("%s", ig_error(NULL));
}

static void collect(void *said, const char *words, size_t bytes)
{
    text_add(said, "%.*s", (int)bytes, words);
}

static void launch(const backend *dev, run *r, ig_module *m)
{
    kernel_arg args[ARGS_MOST] = {{{0}, NULL}};
    binding globals;
    module_built *built;
    text said = {0};
    const ig_kernel_info *k = ig_module_find(m, r->kernel);
    const kernel_entry *entry = kernel_tree_find(m->tree, r->kernel);
    assert_true(k && entry && k->n_params <= ARGS_MOST);
    if (module_built_for(m, dev, entry, NULL, &built) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < k->n_params; i++) {
        const argument *a = &r->args[i];
        assert_true(a->is_buffer == k->params[i].is_pointer);
        args[i].bytes = a->data;
        if (!a->is_buffer) {
            assert_int_equal(k->params[i].bytes, a->bytes);
            continue;
        }
        args[i].at = (binding){dev->alloc(dev, a->bytes + 16), 16};
        checked(dev->write(args[i].at.buf, 16, a->data, a->bytes));
    }
    checked(module_globals(m, dev, &globals));
    const kernel_output output = {.write = collect};
    lane_launch l = {.base = {.shared_bytes = r->shared_bytes, .args = args},
                     .globals = &globals,
                     .print = &output,
                     .context = &said};
    memcpy(l.base.grid, r->grid, sizeof l.base.grid);
    memcpy(l.base.block, r->block, sizeof l.base.block);
    r->launched = module_built_launch(built, &l);
    r->said = said.used ? text_take(&said) : NULL;
    for (int i = 0; i < k->n_params; i++)
        if (r->args[i].is_buffer) {
            checked(dev->read(args[i].at.buf, 16, r->args[i].data, r->args[i].bytes));
            buffer_release(args[i].at.buf);
        }
    if (r->globals)
        checked(dev->read(globals.buf, 0, r->globals, r->globals_bytes));
}

/* False if there is no device. Only a failed assertion may make it fail. */
static bool run_it(run *r)
{
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return false;
    const ig_module_options options = {.instances = &r->kernel, .n_instances = 1};
    ig_module *m = ig_module_new("k.cu", r->source, &options);
    if (!m)
        fail_msg("%s", ig_error(NULL));
    launch(dev, r, m);
    if (r->launched != IG_OK && r->launched != IG_ERR_DEVICE)
        fail_msg("%s", ig_error(NULL));
    ig_module_free(m);
    return true;
}

/* ---- kernels ---- */

static void saxpy(void **unused)
{
    (void)unused;
    float x[100], y[100], a = 2.5f;
    int n = 97;
    for (int i = 0; i < 100; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    run r = {.source = "__global__ void saxpy(int n, float a, const float *x, float *y) {\n"
                       "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "    if (i < n) y[i] = a * x[i] + y[i];\n}\n",
             .kernel = "saxpy",
             .grid = {13, 1, 1},
             .block = {8, 1, 1},
             .args = {VALUE(n), VALUE(a), ARRAY(x), ARRAY(y)}};
    if (!run_it(&r))
        return;
    for (int i = 0; i < 100; i++)
        assert_true(y[i] == (i < n ? 2.5f * (float)i + 1 : 1));
}

static void tiled_matmul(void **unused)
{
    (void)unused;
    enum { N = 32 };
    static float a[N * N], b[N * N], c[N * N];
    int n = N;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5) - 2;
    }
    run r = {.source = "template <typename T, int TILE>\n"
                       "__global__ void matmul(const T *a, const T *b, T *c, int n) {\n"
                       "    __shared__ T as[TILE][TILE], bs[TILE][TILE];\n"
                       "    const int row = blockIdx.y * TILE + threadIdx.y;\n"
                       "    const int col = blockIdx.x * TILE + threadIdx.x;\n"
                       "    T sum = 0;\n"
                       "    for (int t = 0; t < n; t += TILE) {\n"
                       "        as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];\n"
                       "        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];\n"
                       "        __syncthreads();\n"
                       "        for (int k = 0; k < TILE; ++k)\n"
                       "            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];\n"
                       "        __syncthreads();\n"
                       "    }\n"
                       "    c[row * n + col] = sum;\n}\n",
             .kernel = "matmul<float, 8>",
             .grid = {N / 8, N / 8, 1},
             .block = {8, 8, 1},
             .args = {ARRAY(a), ARRAY(b), ARRAY(c), VALUE(n)}};
    if (!run_it(&r))
        return;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j];
            assert_true(c[i * N + j] == sum);
        }
}

/* Threads return before barriers: at the top, inside of a loop, and out of a function that has them. */
static void early_returns(void **unused)
{
    (void)unused;
    static const char source[] =
        "__device__ float block_sum(float x, float *s, int t) {\n"
        "    s[t] = x;\n"
        "    __syncthreads();\n"
        "    for (int w = blockDim.x / 2; w > 0; w >>= 1) {\n"
        "        if (t < w) s[t] += s[t + w];\n"
        "        __syncthreads();\n"
        "    }\n"
        "    if (t & 1) return -s[0];\n"
        "    return s[0];\n"
        "}\n"
        "__global__ void sums(const float *x, float *out, float *all, int n, const int *rounds) {\n"
        "    __shared__ float s[16];\n"
        "    s[threadIdx.x] = 0;\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i >= n) return;\n"
        "    out[i] = block_sum(x[i], s, threadIdx.x);\n"
        "    for (int k = 0; k < rounds[blockIdx.x]; k++) {\n"
        "        if (i % 3 == k) return;\n"
        "        __syncthreads();\n"
        "        s[threadIdx.x] = out[i] + k;\n"
        "        __syncthreads();\n"
        "    }\n"
        "    all[i] = s[threadIdx.x];\n"
        "}\n";
    float x[64], out[64] = {0}, all[64] = {0};
    int n = 53, rounds[4] = {2, 0, 1, 2};
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i + 1);
    run r = {.source = source,
             .kernel = "sums",
             .grid = {4, 1, 1},
             .block = {16, 1, 1},
             .args = {ARRAY(x), ARRAY(out), ARRAY(all), VALUE(n), ARRAY(rounds)}};
    if (!run_it(&r))
        return;
    for (int i = 0; i < 64; i++) {
        float sum = 0, last = 0;
        for (int k = i / 16 * 16; k < i / 16 * 16 + 16 && k < n; k++)
            sum += x[k];
        const float mine = i < n ? (i % 2 ? -sum : sum) : 0;
        assert_true(out[i] == mine);
        bool left = i >= n;
        for (int k = 0; k < rounds[i / 16] && !left; k++) {
            left = i % 3 == k;
            last = mine + (float)k;
        }
        if (!left && rounds[i / 16])
            assert_true(all[i] == last);
        else if (left)
            assert_true(all[i] == 0);
    }
}

/* Branches with barriers that only some threads take: in one branch, in both, nested, in a function. */
static void split_branches(void **unused)
{
    (void)unused;
    static const char source[] =
        "__device__ int last(int *s, int t, int n) {\n"
        "    int r = 100;\n"
        "    if (t < n) { s[t] = t; __syncthreads(); r = s[n - 1 - t]; }\n"
        "    return r;\n"
        "}\n"
        "__global__ void k(int *one, int *both, int *nested, int *called, int n) {\n"
        "    __shared__ int s[64];\n"
        "    int t = threadIdx.x, x = 7;\n"
        "    if (t < n) {\n"
        "        x = 8;\n"
        "        s[t] = t;\n"
        "        __syncthreads();\n"
        "        for (int i = 0; i < 3; i++) { x += s[(t + i) % n]; __syncthreads(); }\n"
        "    }\n"
        "    one[t] = x;\n"
        "    __syncthreads();\n"
        "    if (t < 32) { s[t] = t; __syncthreads(); both[t] = s[t + 32]; }\n"
        "    else { int y = 2 * t; s[t] = y; __syncthreads(); both[t] = s[t - 32] + y; }\n"
        "    __syncthreads();\n"
        "    nested[t] = 5;\n"
        "    if (t & 1) {\n"
        "        s[t] = t;\n"
        "        if (t > 31) { __syncthreads(); nested[t] = s[t - 2 & 63 | 33]; }\n"
        "        else nested[t] = 6;\n"
        "    }\n"
        "    called[t] = last(s, t, n);\n"
        "}\n";
    int one[64], both[64], nested[64], called[64], n = 40;
    run r = {.source = source,
             .kernel = "k",
             .grid = {1, 1, 1},
             .block = {64, 1, 1},
             .args = {ARRAY(one), ARRAY(both), ARRAY(nested), ARRAY(called), VALUE(n)}};
    if (!run_it(&r))
        return;
    for (int t = 0; t < 64; t++) {
        int x = t < n ? 8 : 7;
        for (int i = 0; i < 3 && t < n; i++)
            x += (t + i) % n;
        assert_int_equal(one[t], x);
        assert_int_equal(both[t], t < 32 ? 2 * (t + 32) : t - 32 + 2 * t);
        assert_int_equal(nested[t], !(t & 1) ? 5 : t > 31 ? ((t - 2) & 63) | 33 : 6);
        assert_int_equal(called[t], t < n ? n - 1 - t : 100);
    }
}

/* A variable without an initializer that leaves a loop with a barrier and a break. */
static void values_out_of_loops(void **unused)
{
    (void)unused;
    static const char source[] = "__global__ void k(const int *x, int *y, int n) {\n"
                                 "    __shared__ int s[16];\n"
                                 "    int t = threadIdx.x, found;\n"
                                 "    float weight;\n"
                                 "    struct { int a, b; } pair;\n"
                                 "    for (int i = 0; i < n; i++) {\n"
                                 "        s[t] = x[i * 16 + t];\n"
                                 "        __syncthreads();\n"
                                 "        found = s[15 - t] + i;\n"
                                 "        weight = 0.5f * found;\n"
                                 "        pair.a = found; pair.b = i;\n"
                                 "        if (s[0] < 0) break;\n"
                                 "        __syncthreads();\n"
                                 "    }\n"
                                 "    y[t] = found + (int)(2 * weight) + pair.a + pair.b;\n"
                                 "}\n";
    int x[16 * 4], y[16], n = 4;
    for (int i = 0; i < 64; i++)
        x[i] = i == 32 ? -1 : i;
    run r = {.source = source,
             .kernel = "k",
             .grid = {1, 1, 1},
             .block = {16, 1, 1},
             .args = {ARRAY(x), ARRAY(y), VALUE(n)}};
    if (!run_it(&r))
        return;
    for (int t = 0; t < 16; t++)
        assert_int_equal(y[t], 3 * (x[32 + 15 - t] + 2) + 2);
}

/* Loops with barriers that threads leave one after the other: by the condition, by a break. */
static void split_loops(void **unused)
{
    (void)unused;
    static const char source[] = "__global__ void k(int *count, int *sums, int *turns, int n) {\n"
                                 "    __shared__ int s[16];\n"
                                 "    int t = threadIdx.x, i, c = 0;\n"
                                 "    for (i = t; i < n; i += 16) {\n"
                                 "        s[t] = i;\n"
                                 "        __syncthreads();\n"
                                 "        c += s[t ^ 1];\n"
                                 "        __syncthreads();\n"
                                 "    }\n"
                                 "    count[t] = c + 1000 * i;\n"
                                 "    int x = 0;\n"
                                 "    while (true) {\n"
                                 "        if (x == t % 5) break;\n"
                                 "        s[t] = x;\n"
                                 "        __syncthreads();\n"
                                 "        x += 1 + 0 * s[t];\n"
                                 "    }\n"
                                 "    sums[t] = x;\n"
                                 "    int y = 0;\n"
                                 "    do { y += 2; __syncthreads(); } while (y < t);\n"
                                 "    turns[t] = y;\n"
                                 "}\n";
    int count[16], sums[16], turns[16], n = 58;
    run r = {.source = source,
             .kernel = "k",
             .grid = {1, 1, 1},
             .block = {16, 1, 1},
             .args = {ARRAY(count), ARRAY(sums), ARRAY(turns), VALUE(n)}};
    if (!run_it(&r))
        return;
    for (int t = 0; t < 16; t++) {
        int i = t, c = 0, y = 0;
        for (; i < n; i += 16)
            c += i ^ 1;
        do
            y += 2;
        while (y < t);
        assert_int_equal(count[t], c + 1000 * i);
        assert_int_equal(sums[t], t % 5);
        assert_int_equal(turns[t], y);
    }
}

/* Blocks of more than 256 threads are built for their shape; one module has several. */
static void large_blocks(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev)
        return;
    ig_module *m = ig_module_new("k.cu",
                                 "__global__ void k(int *x) { int t = threadIdx.y * blockDim.x + "
                                 "threadIdx.x; x[t] += blockDim.x; }",
                                 NULL);
    assert_non_null(m);
    int x[512] = {0};
    static const uint32_t blocks[][2] = {{512, 1}, {32, 16}, {64, 1}, {512, 1}};
    for (int i = 0; i < 4; i++) {
        run r = {.kernel = "k",
                 .grid = {1, 1, 1},
                 .block = {blocks[i][0], blocks[i][1], 1},
                 .args = {ARRAY(x)}};
        launch(dev, &r, m);
        assert_int_equal(r.launched, IG_OK);
    }
    int shapes = 0;
    for (const module_built *s = m->built->shapes; s; s = s->next)
        shapes++;
    assert_int_equal(shapes, 2);
    for (int i = 0; i < 512; i++)
        assert_int_equal(x[i], 512 + 32 + (i < 64 ? 64 : 0) + 512);
    ig_module_free(m);
}

static void shared_histogram(void **unused)
{
    (void)unused;
    int data[200], bins[8] = {0}, want[8] = {0}, n = 200;
    float total = 0;
    for (int i = 0; i < 200; i++) {
        data[i] = i * i % 8;
        want[data[i]]++;
    }
    run r = {.source =
                 "__global__ void histogram(const int *x, int *bins, int n, float *total) {\n"
                 "    extern __shared__ int mine[];\n"
                 "    if (threadIdx.x < 8) mine[threadIdx.x] = 0;\n"
                 "    __syncthreads();\n"
                 "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * "
                 "blockDim.x)\n"
                 "        atomicAdd(&mine[x[i]], 1);\n"
                 "    __syncthreads();\n"
                 "    if (threadIdx.x < 8) atomicAdd(bins + threadIdx.x, mine[threadIdx.x]);\n"
                 "    if (threadIdx.x < 8) atomicAdd(total, 0.5f * mine[threadIdx.x]);\n}\n",
             .kernel = "histogram",
             .grid = {3, 1, 1},
             .block = {16, 1, 1},
             .shared_bytes = 8 * sizeof(int),
             .args = {ARRAY(data), ARRAY(bins), VALUE(n), {&total, sizeof total, true}}};
    if (!run_it(&r))
        return;
    assert_memory_equal(bins, want, sizeof want);
    assert_true(total == 100);
}

/* The same function with pointers into two spaces, structs, float3, a reference, bools, globals. */
static void structs_and_globals(void **unused)
{
    (void)unused;
    typedef struct particle {
        float pos[3];
        int alive;
        uint8_t flag;
        _Alignas(8) float weight[2]; /* a float2 */
    } particle;
    static const char source[] =
        "struct particle { float3 pos; int alive; bool flag; float2 weight; };\n"
        "__constant__ float table[3] = {0.5f, 1.5f, 2.5f};\n"
        "__device__ int counter = 7;\n"
        "__device__ void scale(float3 &v, float k) { v.x *= k; v.y *= k; v.z *= k; }\n"
        "__device__ float third(const float *x, int n) { float s = 0; for (int i = 0; i < n; i += "
        "3) s += x[i]; return s; }\n"
        "__global__ void move(particle *p, float3 by, float4 *q, bool on) {\n"
        "    __shared__ float near[6];\n"
        "    int i = threadIdx.x;\n"
        "    particle me = p[i];\n"
        "    me.pos.x += by.x; me.pos.y += by.y; me.pos.z += by.z;\n"
        "    scale(me.pos, table[i % 3]);\n"
        "    me.flag = on && !me.flag;\n"
        "    me.alive |= 1 << i;\n"
        "    p[i] = me;\n"
        "    near[i] = me.pos.x;\n"
        "    __syncthreads();\n"
        "    float4 w = q[i];\n"
        "    float *lanes = &w.y;\n"
        "    lanes[1] = third(near, 6);\n"
        "    w.x = third(&q[i].x, 4);\n"
        "    q[i] = make_float4(w.x, w.y, w.z, (float)atomicAdd(&counter, 2));\n"
        "}\n";
    particle p[6];
    float by[3] = {1, 2, 3}, q[6][4], near[6];
    bool on = true;
    int globals[8] = {0}, seen = 0;
    for (int i = 0; i < 6; i++) {
        p[i] = (particle){{(float)i, 0, 1}, 0, (uint8_t)(i & 1), {0, (float)i}};
        for (int k = 0; k < 4; k++)
            q[i][k] = (float)(10 * i + k);
    }
    run r = {.source = source,
             .kernel = "move",
             .grid = {1, 1, 1},
             .block = {6, 1, 1},
             .args = {ARRAY(p), VALUE(by), ARRAY(q), VALUE(on)},
             .globals = globals,
             .globals_bytes = 20};
    if (!run_it(&r))
        return;
    for (int i = 0; i < 6; i++) {
        const float k = 0.5f + (float)(i % 3);
        near[i] = ((float)i + 1) * k;
        assert_true(p[i].pos[0] == near[i] && p[i].pos[1] == 2 * k && p[i].pos[2] == 4 * k);
        assert_int_equal(p[i].alive, 1 << i);
        assert_int_equal(p[i].flag, !(i & 1));
        assert_true(p[i].weight[1] == (float)i);
    }
    for (int i = 0; i < 6; i++) {
        assert_true(q[i][0] == (float)(10 * i) + (float)(10 * i + 3));
        assert_true(q[i][1] == (float)(10 * i + 1) && q[i][2] == near[0] + near[3]);
        seen |= 1 << (int)q[i][3];
    }
    assert_int_equal(seen, 1 << 7 | 1 << 9 | 1 << 11 | 1 << 13 | 1 << 15 | 1 << 17);
    assert_int_equal(globals[4], 19);
}

static void control_flow(void **unused)
{
    (void)unused;
    int out[12];
    run r = {.source = "enum mode { FIRST, SECOND = 3, THIRD };\n"
                       "__global__ void flow(int *out) {\n"
                       "    int i = threadIdx.x, n = 0, k = i;\n"
                       "    switch (i % 5) {\n"
                       "    case FIRST: n = 10; break;\n"
                       "    case 1: n += 3;\n"
                       "    case 2: { int twice = n * 2; n = twice + 1; break; }\n"
                       "    case SECOND: n = -1; break;\n"
                       "    default: n = i > 6 ? 5 : 6;\n"
                       "    }\n"
                       "    do { n += k & 1; k >>= 1; } while (k);\n"
                       "    for (;;) { if (n > 20) break; n += 7; if (n % 2) continue; n++; }\n"
                       "    while (n > 22) n--;\n"
                       "    out[i] = n++ + 100 * (n - 1);\n}\n",
             .kernel = "flow",
             .grid = {1, 1, 1},
             .block = {12, 1, 1},
             .args = {ARRAY(out)}};
    if (!run_it(&r))
        return;
    for (int i = 0; i < 12; i++) {
        static const int start[] = {10, 7, 1, -1, 0};
        int n = i % 5 == 4 ? (i > 6 ? 5 : 6) : start[i % 5], k = i;
        do {
            n += k & 1;
            k >>= 1;
        } while (k);
        while (n <= 20) {
            n += 7;
            if (n % 2 == 0)
                n++;
        }
        while (n > 22)
            n--;
        assert_int_equal(out[i], n + 100 * n);
    }
}

static uint16_t bits_of(float x) /* only for exact values */
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return x == 0
               ? 0
               : (uint16_t)((u >> 16 & 0x8000) | ((u >> 23 & 255) - 112) << 10 | (u >> 13 & 1023));
}

/* Halves are rounded after each operation: 2048 + 1 is 2048, but an fma keeps the exact product. */
static void halves(void **unused)
{
    (void)unused;
    uint16_t x[4] = {bits_of(2048), bits_of(1), bits_of(0.5f), bits_of(3)}, y[6] = {0},
             k = bits_of(2), pairs[4] = {bits_of(1), bits_of(2), bits_of(3), bits_of(4)};
    uint16_t brain[3] = {0x4380, 0x3f80, 0}; /* 256, 1 */
    run r = {.source = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                       "__global__ void halves(const __half *x, __half *y, __half k, __half2 *p, "
                       "__nv_bfloat16 *b) {\n"
                       "    __half one = x[1], big = x[0];\n"
                       "    y[0] = big + one;\n"
                       "    y[1] = (big + one) + one;\n"
                       "    y[2] = __hfma(one, k, big);\n"
                       "    one += __float2half(0.5f);\n"
                       "    y[3] = one * k;\n"
                       "    y[4] = hsqrt(x[2] * k * __float2half(4.0f));\n"
                       "    y[5] = x[3] > k ? __hneg(x[3]) : k;\n"
                       "    p[0] = __hadd2(p[0], p[1]);\n"
                       "    b[2] = b[0] + b[1];\n}\n",
             .kernel = "halves",
             .grid = {1, 1, 1},
             .block = {1, 1, 1},
             .args = {ARRAY(x), ARRAY(y), VALUE(k), ARRAY(pairs), ARRAY(brain)}};
    if (!run_it(&r))
        return;
    assert_int_equal(y[0], bits_of(2048));
    assert_int_equal(y[1], bits_of(2048));
    assert_int_equal(y[2], bits_of(2050));
    assert_int_equal(y[3], bits_of(3));
    assert_int_equal(y[4], bits_of(2));
    assert_int_equal(y[5], bits_of(-3));
    assert_true(pairs[0] == bits_of(4) && pairs[1] == bits_of(6) && pairs[2] == bits_of(3));
    assert_int_equal(brain[2], 0x4380); /* 257 has nine bits */
}

/* c = 2 a b + c / 2 in place, by two warps; numbers are small, so that all sums are exact. */
static void fragments(void **unused)
{
    (void)unused;
    static const uint16_t numbers[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}; /* -2 to 2 */
    static uint16_t a[2 * 256], b[256];
    static float c[2 * 256], before[2 * 256];
    for (int i = 0; i < 512; i++) {
        a[i] = numbers[i * 7 % 5];
        b[i % 256] = numbers[i * i % 5];
        c[i] = before[i] = (float)(i % 11);
    }
    run r = {.source = "#include <mma.h>\n"
                       "#include <cuda_fp16.h>\n"
                       "using namespace nvcuda::wmma;\n"
                       "__global__ void product(const half *a, const half *b, float *c) {\n"
                       "    __shared__ half tile[256];\n"
                       "    for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = b[i];\n"
                       "    __syncthreads();\n"
                       "    fragment<matrix_a, 16, 16, 16, half, row_major> left;\n"
                       "    fragment<matrix_b, 16, 16, 16, half, col_major> right;\n"
                       "    fragment<accumulator, 16, 16, 16, float> sum, old;\n"
                       "    int at = threadIdx.x / 32 * 256;\n"
                       "    fill_fragment(sum, 0);\n"
                       "    load_matrix_sync(left, a + at, 16);\n"
                       "    load_matrix_sync(right, tile, 16);\n"
                       "    load_matrix_sync(old, c + at, 16, mem_col_major);\n"
                       "    mma_sync(sum, left, right, sum);\n"
                       "    for (int i = 0; i < sum.num_elements; i++)\n"
                       "        old.x[i] = 2 * sum.x[i] + 0.5f * old.x[i];\n"
                       "    store_matrix_sync(c + at, old, 16, mem_col_major);\n}\n",
             .kernel = "product",
             .grid = {1, 1, 1},
             .block = {64, 1, 1},
             .args = {ARRAY(a), ARRAY(b), ARRAY(c)}};
    if (!run_it(&r))
        return;
    for (int i = 0; i < 512; i++) {
        const int row = i % 16, column = i / 16 % 16;
        float sum = 0;
        for (int k = 0; k < 16; k++)
            sum += (float)((i / 256 * 256 + 16 * row + k) * 7 % 5 - 2) *
                   (float)((16 * column + k + 256) * (16 * column + k + 256) % 5 - 2);
        assert_true(c[i] == 2 * sum + 0.5f * before[i]);
    }
}

static void operations(void **unused)
{
    (void)unused;
    unsigned u[12] = {0};
    float f[10] = {0};
    long long l[3] = {0};
    unsigned v = 0x00f0a001u;
    float x = -2.5f;
    run r = {.source =
                 "__global__ void ops(unsigned *u, float *f, long long *l, unsigned v, float x) {\n"
                 "    u[0] = __popc(v); u[1] = __clz(v); u[2] = __ffs(v << 3); u[3] = __brev(v);\n"
                 "    u[4] = __byte_perm(v, 0x11223344u, 0x5410); u[5] = __umulhi(v, 1u << 20);\n"
                 "    u[6] = __funnelshift_l(v, 7u, 8); u[7] = __float2int_rn(x); u[8] = "
                 "__float_as_uint(x);\n"
                 "    u[9] = __float2uint_rz(x); u[10] = min(3, -2) + max(v, 5u); u[11] = abs(-4) "
                 "+ (v >> 3 ^ 5u & 7u);\n"
                 "    f[0] = fabsf(x); f[1] = rintf(x); f[2] = roundf(x); f[3] = fmaf(x, x, 1.f);\n"
                 "    f[4] = fminf(x, 0.f); f[5] = ldexpf(x, 3); f[6] = __saturatef(x);\n"
                 "    sincosf(0.f, &f[7], &f[8]); f[9] = __int_as_float(0x40490fdb);\n"
                 "    l[0] = (long long)v * v; l[1] = __mul64hi(1LL << 40, 1LL << 40); l[2] = -7 / "
                 "2 * 3 % 5;\n}\n",
             .kernel = "ops",
             .grid = {1, 1, 1},
             .block = {1, 1, 1},
             .args = {ARRAY(u), ARRAY(f), ARRAY(l), VALUE(v), VALUE(x)}};
    if (!run_it(&r))
        return;
    const unsigned want[12] = {7,           8,       4,       0x80050f00u,
                               0x3344a001u, v >> 12, 7u << 8, (unsigned)-2,
                               0xc0200000u, 0,       v - 2,   4 + (v >> 3 ^ (5u & 7u))};
    const float floats[10] = {2.5f, -2, -3, 7.25f, -2.5f, -20, 0, 0, 1, 0};
    for (int i = 0; i < 12; i++)
        if (u[i] != want[i])
            fail_msg("u[%d] is %08x, not %08x", i, u[i], want[i]);
    for (int i = 0; i < 9; i++)
        if (f[i] != floats[i])
            fail_msg("f[%d] is %g, not %g", i, (double)f[i], (double)floats[i]);
    assert_true(f[9] > 3.14159f && f[9] < 3.1416f);
    assert_true(l[0] == (long long)v * v && l[1] == 1LL << 16 && l[2] == -9 % 5);
}

static void doubles(void **unused)
{
    (void)unused;
    const backend *dev = opencl_device_or_skip(0);
    if (!dev || !dev->limits.f64)
        return;
    double x[2] = {1.0 / 3, 2};
    float y[1] = {3};
    run r = {.source = "__global__ void f(double *x, float *y) { x[1] = sqrt(x[1]) + x[0]; y[0] = "
                       "y[0] * 0.1; }\n",
             .kernel = "f",
             .grid = {1, 1, 1},
             .block = {1, 1, 1},
             .args = {ARRAY(x), ARRAY(y)}};
    if (!run_it(&r))
        return;
    assert_true(x[1] == sqrt(2) + 1.0 / 3 && y[0] == (float)(3 * 0.1));
}

static void counted_barriers(void **unused)
{
    (void)unused;
    int out[24] = {0}, n = 20;
    run r = {.source = "__global__ void votes(int *out, int n) {\n"
                       "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "    if (i >= n) return;\n"
                       "    int odd = __syncthreads_count(i & 1);\n"
                       "    out[i] = odd + 100 * __syncthreads_and(i < 8) + 1000 * "
                       "__syncthreads_or(i == 17);\n}\n",
             .kernel = "votes",
             .grid = {3, 1, 1},
             .block = {8, 1, 1},
             .args = {ARRAY(out), VALUE(n)}};
    if (!run_it(&r))
        return;
    for (int i = 0; i < 24; i++)
        assert_int_equal(out[i], i < 8 ? 104 : i < 16 ? 4 : i < 20 ? 1002 : 0);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void printing(void **unused)
{
    (void)unused;
    int n = 4;
    run r = {
        .source =
            "__device__ void tell(int i) { if (i == 2) printf(\"%s %%%c\\n\", \"two\", 'x'); }\n"
            "__global__ void f(int n) {\n"
            "    int i = threadIdx.x;\n"
            "    printf(\"%d: %5.2f|%-4u|%llx\\n\", i, i * 0.5f, 7u, 1ull << 40);\n"
            "    tell(i);\n}\n",
        .kernel = "f",
        .grid = {1, 1, 1},
        .block = {4, 1, 1},
        .args = {VALUE(n)}};
    if (!run_it(&r))
        return;
    assert_int_equal(r.launched, IG_OK);
    char *lines[8] = {0};
    int count = 0;
    for (char *s = strtok(r.said, "\n"); s && count < 8; s = strtok(NULL, "\n"))
        lines[count++] = s;
    qsort(lines, (size_t)count, sizeof lines[0], by_text);
    assert_int_equal(count, 5);
    assert_string_equal(lines[0], "0:  0.00|7   |10000000000");
    assert_string_equal(lines[3], "3:  1.50|7   |10000000000");
    assert_string_equal(lines[4], "two %x");
    memory_free(r.said);
}

/* A thread that fails stops; threads at the barrier do not wait for it. */
static void asserting(void **unused)
{
    (void)unused;
    int out[8] = {0};
    run r = {.source = "__global__ void f(int *out) {\n"
                       "    int i = threadIdx.x;\n"
                       "    assert(i < 5 && \"small\");\n"
                       "    __syncthreads();\n"
                       "    out[i] = 1;\n}\n",
             .kernel = "f",
             .grid = {1, 1, 1},
             .block = {6, 1, 1},
             .args = {ARRAY(out)}};
    if (!run_it(&r))
        return;
    assert_int_equal(r.launched, IG_ERR_DEVICE);
    assert_string_equal(
        ig_error(NULL),
        "k.cu:3: block (0, 0, 0), thread (5, 0, 0): assertion 'i < 5 && \"small\"' failed");
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], i < 5);
    memory_free(r.said);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, opencl_test_begin, opencl_test_end)

int main(int argc, char **argv)
{
    (void)argc;
    const struct CMUnitTest tests[] = {
        TEST(saxpy),          TEST(tiled_matmul),     TEST(early_returns),
        TEST(split_branches), TEST(split_loops),      TEST(values_out_of_loops),
        TEST(large_blocks),   TEST(shared_histogram), TEST(structs_and_globals),
        TEST(control_flow),   TEST(halves),           TEST(fragments),
        TEST(operations),     TEST(doubles),          TEST(counted_barriers),
        TEST(printing),       TEST(asserting),
    };
    opencl_prepare(argv[0]);
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
