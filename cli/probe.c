/* How a device rounds: `ingot selftest --arithmetic`. One kernel computes values that tell two roundings from an fma,
 * and the CPU compares every result with IEEE arithmetic. The promise of equal bits depends on these rows. */
#include "cli.h"
#include "probe.h"

#include <math.h>
#include <string.h>

enum { N = 4096, BLOCK = 128 };

/* y has N results for each row of the table, in order. x has N numbers for each of a, b, c, least and tiny. */
static const char source[] = "static __device__ float product(float a, float b) { return a * b; }\n"
                             "extern \"C\" __global__ void probe(int n, const float *x, float *y)\n"
                             "{\n"
                             "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i >= n)\n"
                             "        return;\n"
                             "    const float a = x[i], b = x[n + i], c = x[2 * n + i];\n"
                             "    y[i] = a * b + c;\n"
                             "    const float p = a * b;\n"
                             "    y[n + i] = p + c;\n"
                             "    y[2 * n + i] = product(a, b) + c;\n"
                             "    y[3 * n + i] = a / b;\n"
                             "    y[4 * n + i] = sqrtf(a);\n"
                             "    y[5 * n + i] = fmaf(a, b, c);\n"
                             "    y[6 * n + i] = x[3 * n + i] * 0.5f;\n"
                             "    y[7 * n + i] = x[4 * n + i] + 0.0f;\n"
                             "}\n";

enum { A, B, C, LEAST, TINY, INPUTS };

/* Rounds after each operation: a variable in memory keeps the compiler from contracting. */
static float rounded(float a, float b, float c)
{
    volatile float p = a * b;
    return p + c;
}
static float sum(const float *v) { return rounded(v[A], v[B], v[C]); }
static float quotient(const float *v) { return v[A] / v[B]; }
static float root(const float *v) { return sqrtf(v[A]); }
static float fused(const float *v) { return fmaf(v[A], v[B], v[C]); }
static float half_of(const float *v) { return v[LEAST] * 0.5f; }
static float same(const float *v) { return v[TINY]; }

typedef enum promise { ALWAYS, EXACT_DIVISION, SUBNORMALS } promise;

static const struct {
    const char *name, *wrong;
    float (*right)(const float *v);
    promise promise; /* the device's description may exclude the last two */
} rows[] = {
    {"a * b + c in one expression", "contracted", sum, ALWAYS},
    {"a * b + c in two statements", "contracted", sum, ALWAYS},
    {"a * b + c through a function", "contracted", sum, ALWAYS},
    {"a / b", "not correctly rounded", quotient, EXACT_DIVISION},
    {"sqrt(a)", "not correctly rounded", root, EXACT_DIVISION},
    {"fma(a, b, c)", "not correctly rounded", fused, ALWAYS},
    {"subnormal results", "flushed to 0", half_of, SUBNORMALS},
    {"subnormal operands", "flushed to 0", same, SUBNORMALS},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static float x[INPUTS][N], y[ROWS][N];

/* c is -a * b, rounded. So a * b + c is 0, and an fma gives the rounding error. */
static void make_inputs(void)
{
    uint64_t state = 1;
    for (int i = 0; i < N; i++) {
        float in[2];
        for (int j = 0; j < 2; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            in[j] = ldexpf(1 + (float)(state >> 41) * 0x1p-23f, (int)(state >> 36 & 31) - 16);
        }
        x[A][i] = in[0];
        x[B][i] = in[1];
        x[C][i] = -rounded(in[0], in[1], 0);
        x[LEAST][i] = 0x1p-126f * (1 + (float)i / N);
        x[TINY][i] = 0x1p-149f * (float)(i + 1);
    }
}

static bool compute(const char *device)
{
    ig_array *out = NULL;
    ig_module *m = ig_module_new("probe.cu", source, NULL);
    const ig_arg args[] = {
        {.kind = IG_ARG_INT, .u.i = N},
        {.kind = IG_ARG_ARRAY, .u.array = ig_from_data(x, IG_SHAPE(INPUTS * N), IG_F32)},
        {.kind = IG_ARG_ARRAY, .u.array = ig_zeros(IG_SHAPE(ROWS * N), IG_F32)}};
    const ig_launch l = {
        .device = device, .grid = {N / BLOCK}, .block = {BLOCK}, .args = args, .n_args = 3};
    const bool fine =
        m && ig_module_launch(m, "probe", &l, &out) == IG_OK && ig_read(out, y, sizeof y) == IG_OK;
    ig_module_free(m);
    return fine;
}

static bool is_promised(promise p, const ig_device_info *d)
{
    if (p == EXACT_DIVISION)
        return strcmp(d->kind, "gpu") != 0 || strstr(d->isa, "exact-division");
    return p == ALWAYS || !d->flushes_subnormals;
}

static bool report(int row, const ig_device_info *d)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        const float v[INPUTS] = {x[A][i], x[B][i], x[C][i], x[LEAST][i], x[TINY][i]};
        const float right = rows[row].right(v);
        wrong += memcmp(&right, &y[row][i], sizeof right) != 0;
    }
    const bool promised = is_promised(rows[row].promise, d);
    printf("%-30s %4d of %d %s%s\n", rows[row].name, wrong, N, rows[row].wrong,
           !wrong     ? ""
           : promised ? "; BROKEN: results do not have the CPU's bits"
                      : "; this device does not promise it");
    return !wrong || !promised;
}

int probe_arithmetic(const command *c, const char *device)
{
    ig_device_info d = {0};
    bool found = false, fine = true;
    if (ig_set_device(device) != IG_OK || ig_scope_begin() != IG_OK)
        return fail_library(c);
    for (int i = 0; i < ig_device_count() && !found; i++)
        found = ig_device_get(i, &d) == IG_OK && strcmp(d.name, ig_device()) == 0;
    make_inputs();
    const bool computed = found && compute(d.name);
    ig_scope_end();
    if (!computed)
        return fail_library(c);
    for (int i = 0; i < ROWS; i++)
        fine = report(i, &d) && fine;
    return fine ? EXIT_FINE : EXIT_FAILED;
}
