/* The CPU's loops of attention, in every way that attention.c has: f32 in place, halves widened to f32, and bf16 by
 * AMX, whose steps are plain C here. Results are compared with sums in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if !defined(__AMX_TILE__)
#define AMX_EMULATED 1
#endif
#undef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
#define LEVEL emulated
#include "engine/backend/cpu/lanes/gemm.c"

#include "engine/backend/cpu/cpu.h"
#include <math.h>
#include <stdlib.h>
#if defined(__aarch64__)
#include "engine/backend/cpu/lanes/exp_neon.h"
#endif

/* The level of these tests: the machine's level, with other kernels for bf16. */
static cpu_level tested;
static gemm_level kernels;
static const cpu_level *level_here(void) { return &tested; }

#define cpu_level_now level_here
#define cpu_attention here_run
#define cpu_attention_how here_how
#define cpu_attention_offers here_offers
#define cpu_attention_plan here_plan
#define cpu_attention_scratch here_scratch
const char *here_how(const program *p);
bool here_offers(const node_native *n);
void *here_plan(const program *p);
size_t here_scratch(const program *p);
ig_status here_run(const program *p, const binding *b);
#include "engine/backend/cpu/attention.c"
#include "ingot.h"
#undef cpu_level_now

enum { N = 2, HEADS = 3, SLOTS = 5 };

typedef struct problem {
    ig_dtype dtype;
    int64_t rows, keys, width;
    bool causal, masked;
    bool turned;   /* query, key, value and result are (N, rows, heads, width) in memory */
    double scores; /* the approximate size of the scores */
} problem;

static double fetch(const operand *o, const void *data, int64_t n, int64_t head, int64_t row,
                    int64_t e)
{
    const int64_t *by = o->v.stride;
    return dtype_fetch(o->dtype, (const char *)data + (n * by[0] + head * by[1] + row * by[2] + e) *
                                                          (int64_t)ig_dtype_bytes(o->dtype));
}

static operand operand_make(const problem *p, int slot, int64_t rows)
{
    const int64_t w = p->width;
    const operand o = {
        .slot = slot, .dtype = p->dtype, .v = {.ndim = 4, .shape = {N, HEADS, rows, w}}};
    operand made = o;
    made.v.stride[0] = HEADS * rows * w;
    made.v.stride[1] = p->turned ? w : rows * w;
    made.v.stride[2] = p->turned ? HEADS * w : w;
    made.v.stride[3] = 1;
    return made;
}

/* A row of the result in double; returns the largest magnitude of a value. */
static double row_of_reference(const problem *p, const operand *in, void *const *data, int64_t n,
                               int64_t head, int64_t row, double scale, double *out)
{
    double *score = calloc((size_t)p->keys, sizeof *score), most = -INFINITY, sum = 0, size = 0;
    for (int64_t j = 0; j < p->keys; j++) {
        for (int64_t e = 0; e < p->width; e++)
            score[j] += scale * fetch(&in[0], data[0], n, head, row, e) *
                        fetch(&in[1], data[1], n, head, j, e);
        if ((p->causal && j > row) || (p->masked && !((uint8_t *)data[3])[n * p->keys + j]))
            score[j] = -INFINITY;
        most = fmax(most, score[j]);
    }
    memset(out, 0, (size_t)p->width * sizeof *out);
    for (int64_t j = 0; j < p->keys && most > -INFINITY; j++) {
        const double weight = exp(score[j] - most);
        sum += weight;
        for (int64_t e = 0; e < p->width; e++) {
            const double value = fetch(&in[2], data[2], n, head, j, e);
            out[e] += weight * value;
            size = fmax(size, fabs(value));
        }
    }
    for (int64_t e = 0; e < p->width && sum > 0; e++)
        out[e] /= sum;
    free(score);
    return size;
}

/* The tolerance of a result: the rounding of the dtype, and of f32 before it. */
static double tolerance(ig_dtype dtype, double value, double size)
{
    const double step = dtype == IG_BF16 ? 0x1p-8 : dtype == IG_F16 ? 0x1p-11 : 0x1p-23;
    return 0.51 * 2 * step * fabs(value) + 0x1p-17 * size;
}

static void check(const problem *p)
{
    const double scale = p->scores / sqrt((double)p->width);
    const node_native n = {
        .kind = NATIVE_ATTENTION,
        .dtype = p->dtype,
        .number = {N * HEADS, p->rows, p->keys, p->width, p->causal, p->turned, p->masked},
        .scale = scale};
    node_kernel kernel = {.native = &n};
    operand in[4], out;
    void *data[SLOTS];
    buffer buffers[SLOTS] = {{.data = NULL}};
    binding bindings[SLOTS];
    const size_t size =
        (size_t)(N * HEADS * (p->rows > p->keys ? p->rows : p->keys) * p->width) * 4;
    for (int i = 0; i < SLOTS; i++) {
        data[i] = calloc(size + (size_t)(N * p->keys), 1);
        buffers[i].data = data[i];
        bindings[i] = (binding){&buffers[i], 0};
    }
    for (int i = 0; i < 3; i++) {
        in[i] = operand_make(p, i, i ? p->keys : p->rows);
        for (int64_t e = 0; e < N * HEADS * (i ? p->keys : p->rows) * p->width; e++)
            dtype_store(p->dtype, (char *)data[i] + e * (int64_t)ig_dtype_bytes(p->dtype),
                        sin((double)(e * (7 + i) + i)) * 2);
    }
    in[3] = (operand){.slot = 3,
                      .dtype = IG_BOOL,
                      .v = {.ndim = 2, .shape = {N, p->keys}, .stride = {p->keys, 1}}};
    for (int64_t j = 0; j < N * p->keys; j++)
        ((uint8_t *)data[3])[j] =
            j >= p->keys && j % 3 != 1; /* row 0 of the mask attends to nothing */
    out = operand_make(p, 4, p->rows);
    operand by_rows = out;
    if (p->turned) {
        by_rows.v.shape[1] = p->rows;
        by_rows.v.shape[2] = HEADS;
    }
    program made = {.kind = PROGRAM_KERNEL, .kernel = &kernel};
    made.pre.operand = in;
    made.post.operand = &by_rows;
    made.compiled = here_plan(&made);
    assert_non_null(made.compiled);
    assert_int_equal(scratch_reserve(here_scratch(&made)), IG_OK);
    assert_int_equal(here_run(&made, bindings), IG_OK);
    double *row = calloc((size_t)p->width, sizeof *row);
    for (int64_t i = 0; i < N * HEADS * p->rows; i++) {
        const int64_t t = i / p->rows / HEADS, head = i / p->rows % HEADS, r = i % p->rows;
        const double largest = row_of_reference(p, in, data, t, head, r, (float)scale, row);
        for (int64_t e = 0; e < p->width; e++) {
            const double got = fetch(&out, data[4], t, head, r, e);
            if (!(fabs(got - row[e]) <= tolerance(p->dtype, row[e], largest)))
                fail_msg("%s %d x %d x %d: row %d, element %d is %.9g, not %.9g",
                         ig_dtype_name(p->dtype), (int)p->rows, (int)p->keys, (int)p->width, (int)i,
                         (int)e, got, row[e]);
        }
    }
    free(row);
    memory_free(made.compiled);
    for (int i = 0; i < SLOTS; i++)
        free(data[i]);
}

static void check_all(ig_dtype dtype)
{
    static const int64_t shapes[][3] = {{9, 9, 9}, {32, 64, 32}, {40, 33, 6},
                                        {8, 1, 1}, {9, 260, 2},  {13, 1030, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int bits = 0; bits < 8;
             bits += i == 0 ? 1 : 7) /* all combinations of flags for the first shape, else none and
                                      * all */
            check(&(problem){.dtype = dtype,
                             .rows = shapes[i][0],
                             .keys = shapes[i][1],
                             .width = shapes[i][2],
                             .causal = bits & 1,
                             .masked = bits & 2,
                             .turned = bits & 4,
                             .scores = i == 1 ? 60 : 1}); /* beyond the near path of exp */
}

static void use(bool matrices)
{
    tested = *cpu_level_now();
    kernels = *tested.gemm;
    kernels.of[IG_BF16] = gemm_emulated.of[IG_BF16];
    if (!matrices)
        kernels.of[IG_BF16].panels = NULL;
    tested.gemm = &kernels;
}

static void lanes_are_right(void **unused)
{
    (void)unused;
    use(false);
    check_all(IG_F32);
    check_all(IG_F16);
    check_all(IG_BF16);
}

static void matrices_are_right(void **unused)
{
    (void)unused;
    if (gemm_emulated.ready && !gemm_emulated.ready())
        return;
    use(true);
    check_all(IG_BF16);
}

/* Problems that the loops do not support are left to the definition. */
static void limits_are_offered(void **unused)
{
    (void)unused;
    use(true);
    node_native n = {
        .kind = NATIVE_ATTENTION, .dtype = IG_BF16, .number = {12, 128, 4096, 64}, .scale = 0.125};
    const bool faster = tested.attend->is_faster;
    assert_int_equal(here_offers(&n), faster);
    n.number[3] = 96; /* too many elements to hold */
    assert_false(here_offers(&n));
    n.number[3] = 64;
    n.dtype = IG_F32;
    n.number[2] = tested.attend->keys_most + 1;
    assert_false(here_offers(&n));
    n.number[2] = tested.attend->keys_most;
    assert_int_equal(here_offers(&n), faster);
    n.number[1] = 1;
    assert_false(here_offers(&n));
    n.number[1] = 128;
    n.kind = NATIVE_ATTENTION_GRADIENT;
    assert_false(here_offers(&n));
    n.kind = NATIVE_ATTENTION;
    n.dtype = IG_F64;
    assert_false(here_offers(&n));
}

/* The op in mode strict and in mode same, which computes the definition. On machines without these loops both compute
 * the definition. */
static void f32_has_the_bits_of_the_definition(void **unused)
{
    (void)unused;
    static const int64_t shapes[][3] = {{6, 40, 20}, {2, 33, 64}, {1, 300, 8}, {1, 3075, 2}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
        ig_array *x[3], *y[2];
        for (int k = 0; k < 3; k++) {
            const int64_t *n = shapes[i / 2], size = n[0] * n[1] * n[2];
            float *data = calloc((size_t)size, sizeof *data);
            for (int64_t e = 0; e < size; e++)
                data[e] = (float)sin((double)(e * (7 + k) + k)) * 2;
            x[k] = ig_from_data(data, IG_SHAPE(n[0], n[1], n[2]), IG_F32);
            free(data);
        }
        for (int same = 0; same < 2; same++) {
            assert_int_equal(ig_set_math(same ? IG_MATH_SAME : IG_MATH_STRICT), IG_OK);
            y[same] = ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, i % 2, 0);
            assert_int_equal(ig_eval(&y[same], 1), IG_OK);
        }
        assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
        assert_memory_equal(ig_data(y[0]), ig_data(y[1]), (size_t)ig_size(y[0]) * sizeof(float));
    }
}

/* The loops in assembly have the bits of the function, and find the range of the differences. */
static void exponentials_are_exact(void **unused)
{
    (void)unused;
#if defined(__aarch64__)
    enum { GROUPS = 5, POINTS = EXP_GROUP * GROUPS };
    static float x[POINTS + EXP_MORE], got[2][POINTS], y[EXP_MORE];
    for (int round = 0; round < 200; round++) {
        float range[8] = {0}, least = 0, most = 0;
        for (int i = 0; i < EXP_MORE; i++)
            y[i] = (float)(i * round) / 7;
        for (int i = 0; i < POINTS + EXP_MORE; i++)
            x[i] = y[i % EXP_MORE] + vm_exp_reach_f32 * sinf((float)(i * POINTS + round));
        exp_neon(GROUPS, got[0], x, y);
        exp_neon_range(GROUPS, got[1], x, y, range);
        for (int i = 0; i < POINTS; i++) {
            assert_true(got[0][i] == vm_exp_f32(x[i] - y[i % EXP_MORE]));
            assert_true(got[1][i] == got[0][i]);
        }
        for (int i = 0; i < POINTS + EXP_MORE; i++) {
            least = fminf(least, x[i] - y[i % EXP_MORE]);
            most = fmaxf(most, x[i] - y[i % EXP_MORE]);
        }
        for (int i = 0; i < 3; i++) {
            range[0] = fminf(range[0], range[1 + i]);
            range[4] = fmaxf(range[4], range[5 + i]);
        }
        assert_true(range[0] == least && range[4] == most);
    }
#endif
}

/* Gradients of query, key and value, one after another, of a causal or whole product of strided operands. */
static void gradients_of(ig_math math, bool causal, int64_t rows, int64_t keys, int64_t width,
                         float *out)
{
    const char *const seed = "qkvg";
    ig_array *x[4], *grads[3];
    assert_int_equal(ig_set_math(math), IG_OK);
    for (int i = 0; i < 4; i++) {
        const int64_t n = i == 1 || i == 2 ? keys : rows;
        x[i] = ig_permute_dims(ig_normal(ig_key((uint64_t)seed[i], NULL),
                                         IG_SHAPE(N, n, HEADS, width), IG_F32, NULL, NULL),
                               IG_AXES(0, 2, 1, 3));
    }
    ig_array *y = ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, causal, 0);
    assert_int_equal(ig_vjp(&y, &x[3], 1, x, 3, grads), IG_OK);
    char *told = ig_explain(grads, 3);
    const attend_level *level = cpu_level_now()->attend;
    const bool offered = math == IG_MATH_STRICT && level->is_faster && level->grad_f32;
    assert_int_equal(strstr(told, "attention gradient") != NULL, offered);
    ig_free(told);
    for (int i = 0; i < 3; i++) {
        const size_t bytes = (size_t)ig_size(grads[i]) * sizeof *out;
        if (ig_read(grads[i], out, bytes) != IG_OK)
            fail_msg("%s", ig_error(NULL));
        out += ig_size(grads[i]);
    }
    assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
}

/* The gradient agrees with that of the definition, which mode `same` computes. */
static void gradients_are_right(void **unused)
{
    (void)unused;
    enum { MOST = 3 * N * HEADS * 100 * 70 };
    static float got[MOST], want[MOST];
    static const int64_t sizes[][3] = {
        {8, 8, 4}, {33, 33, 40}, {100, 70, 16}, {40, 100, 33}, {70, 70, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int causal = 0; causal < 2; causal++) {
            const int64_t rows = sizes[i][0], keys = sizes[i][1], width = sizes[i][2];
            ig_scope_begin();
            gradients_of(IG_MATH_STRICT, causal, rows, keys, width, got);
            gradients_of(IG_MATH_SAME, causal, rows, keys, width, want);
            ig_scope_end();
            for (int64_t k = 0; k < N * HEADS * (rows + 2 * keys) * width; k++)
                if (fabsf(got[k] - want[k]) > 4e-6f * (1 + fabsf(want[k])))
                    fail_msg("%d rows, %d keys, width %d, causal %d, element %d: %.9g, not %.9g",
                             (int)rows, (int)keys, (int)width, causal, (int)k, got[k], want[k]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_are_right),     cmocka_unit_test(matrices_are_right),
        cmocka_unit_test(limits_are_offered),  cmocka_unit_test(f32_has_the_bits_of_the_definition),
        cmocka_unit_test(gradients_are_right), cmocka_unit_test(exponentials_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
