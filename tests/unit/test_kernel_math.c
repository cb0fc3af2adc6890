/* kernels/math.cuh as CUDA C: a kernel for each elementwise row of the op table and each type, made of the row's
 * expression, gives the same bits as the op on the CPU. IG_DEVICE names the device that runs the kernels. */
#include "support/unit.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 12, BLOCK = 256 };

typedef struct row {
    const char *name, *accepts, *expr;
    int inputs;
    bool truth;
} row;

#define SAME false
#define TRUTH true
static const row rows[] = {
#define UNARY(name, accepts, result, expr, ...) {#name, #accepts, #expr, 1, result},
#define BINARY(name, accepts, result, expr, ...) {#name, #accepts, #expr, 2, result},
#include "engine/ops/ops.def"
};
#undef SAME
#undef TRUTH

typedef struct type {
    ig_dtype dtype;
    const char *name, *c;
} type;

static const type types[] = {
    {IG_F32, "f32", "float"},     {IG_F64, "f64", "double"},
    {IG_I8, "i8", "signed char"}, {IG_U8, "u8", "unsigned char"},
    {IG_I16, "i16", "short"},     {IG_U16, "u16", "unsigned short"},
    {IG_I32, "i32", "int"},       {IG_U32, "u32", "unsigned int"},
    {IG_I64, "i64", "long long"}, {IG_U64, "u64", "unsigned long long"},
};
enum { ROWS = sizeof rows / sizeof *rows, TYPES = sizeof types / sizeof *types };

static bool is_float(const type *t) { return t->dtype == IG_F32 || t->dtype == IG_F64; }

/* Rows without promotion: true if the row computes in lanes of this type. */
static bool takes(const row *r, const type *t)
{
    const char *const floats[] = {"FLOAT", "ROUND", "NUM", "ANY"}, *const ints[] = {"NUM", "INT",
                                                                                    "BITS", "ANY"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(r->accepts, (is_float(t) ? floats : ints)[i]))
            return true;
    return false;
}

static void add_kernel(text *source, const row *r, const type *t)
{
    text_add(source,
             "__global__ void k_%s_%s(%s *out, const %s *a, const %s *b) {\n"
             "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
             "    const %s x = a[i], y = b[i];\n"
             "    %sout[i] = %s;\n"
             "}\n",
             r->name, t->name, r->truth ? "bool" : t->c, t->c, t->c, t->c,
             r->inputs == 1 ? "(void)y; " : "", r->expr);
}

/* Special values against each other, then random bits, then numbers of moderate size. */
static ig_array *values(const type *t, int which)
{
    static const double special[] = {
        0,        -0.0,      1,   -1,  0.5,  -0.5, 2,   3,     1e-300, 1e300, 1e-40,    -1e-40,
        INFINITY, -INFINITY, NAN, 100, -100, 1e7,  3e7, -1e10, 1e20,   1e38,  0x1p-149, 7};
    enum { SPECIAL = sizeof special / sizeof *special };
    static double moderate[N];
    for (int i = 0; i < N; i++) {
        const double unit =
            (double)((uint32_t)i * 2654435761u + (uint32_t)which * 40503u) * 0x1p-32;
        moderate[i] = i < SPECIAL * SPECIAL ? special[(which ? i / SPECIAL : i) % SPECIAL]
                                            : (unit - 0.5) * (i % 3 ? 20 : 2);
    }
    if (!is_float(t))
        for (int i = 0; i < N; i++)
            moderate[i] = i % 2 ? trunc(moderate[i] * 1000) : (double)(i % 17 - 8);
    for (int i = 0; i < N; i++)
        if (!is_float(t) && !(fabs(moderate[i]) < 0x1p62))
            moderate[i] = 77;
    ig_array *near = ig_astype(ig_from_data(moderate, IG_SHAPE(N), IG_F64), t->dtype);
    static uint64_t random[N];
    uint64_t state = 7 + (uint64_t)which;
    for (int i = 0; i < N; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        random[i] = state ^ state >> 29;
    }
    ig_array *both[] = {near, ig_from_data(random, IG_SHAPE(N), t->dtype)};
    return ig_concat(both, 2, IG_AXES(0));
}

/* Equal bits, or two NaNs. */
static bool same(const type *t, bool truth, const void *got, const void *want, int i)
{
    const size_t bytes = truth ? 1 : ig_dtype_bytes(t->dtype);
    if (!memcmp((const char *)got + bytes * (size_t)i, (const char *)want + bytes * (size_t)i,
                bytes))
        return true;
    if (truth || !is_float(t))
        return false;
    return t->dtype == IG_F32 ? isnan(((const float *)got)[i]) && isnan(((const float *)want)[i])
                              : isnan(((const double *)got)[i]) && isnan(((const double *)want)[i]);
}

/* The second operand of a row: divisors of integers are not 0, and their exponents are small. */
static ig_array *second(const row *r, const type *t)
{
    static const char *const divide[] = {"floor_divide", "remainder", "fmod", "trunc_divide"};
    ig_array *y = values(t, 1);
    for (size_t i = 0; i < sizeof divide / sizeof *divide && !is_float(t); i++)
        if (strcmp(r->name, divide[i]) == 0)
            y = ig_where(ig_equal(y, ig_int(0)), ig_ones_like(y, IG_DTYPE_NONE), y);
    return !is_float(t) && strcmp(r->name, "pow") == 0 ? ig_bitwise_and(y, ig_int(7)) : y;
}

static int row_fails(ig_module *m, const row *r, const type *t)
{
    ig_array *x = values(t, 0), *y = second(r, t), *want = NULL, *got[3] = {0};
    const ig_arg of_op[] = {{.kind = IG_ARG_ARRAY, .u.array = x},
                            {.kind = IG_ARG_ARRAY, .u.array = y}};
    const ig_arg args[] = {
        {.kind = IG_ARG_ARRAY, .u.array = ig_zeros(IG_SHAPE(2 * N), r->truth ? IG_BOOL : t->dtype)},
        of_op[0],
        of_op[1]};
    const ig_launch l = {.device = getenv("IG_DEVICE"),
                         .grid = {2 * N / BLOCK},
                         .block = {BLOCK},
                         .args = args,
                         .n_args = 3};
    char name[64];
    snprintf(name, sizeof name, "k_%s_%s", r->name, t->name);
    assert_int_equal(ig_call(r->name, of_op, r->inputs, &want, 1), 1);
    if (ig_module_launch(m, name, &l, got) != IG_OK) {
        print_error("%s: %s\n", name, ig_error(NULL));
        return 1;
    }
    const void *a = ig_data(got[0]), *b = ig_data(want);
    if (!a || !b) {
        print_error("%s: %s\n", name, ig_error(NULL));
        return 1;
    }
    for (int i = 0; i < 2 * N; i++)
        if (!same(t, r->truth, a, b, i)) {
            print_error("%s: element %d differs\n", name, i);
            return 1;
        }
    return 0;
}

static void test_rows(void **state)
{
    static const char *const folders[] = {"kernels"};
    const ig_module_options options = {.folders = folders, .n_folders = 1};
    text source = {0};
    int wrong = 0;
    (void)state;
    text_add(&source, "#include \"math.cuh\"\n");
    for (int r = 0; r < ROWS; r++)
        for (int t = 0; t < TYPES; t++)
            if (takes(&rows[r], &types[t]))
                add_kernel(&source, &rows[r], &types[t]);
    char *all = text_take(&source);
    ig_module *m = ig_module_new("rows.cu", all, &options);
    if (!m)
        print_error("%s\n", ig_error(NULL));
    assert_non_null(m);
    for (int r = 0; r < ROWS; r++)
        for (int t = 0; t < TYPES; t++)
            if (takes(&rows[r], &types[t])) {
                ig_scope_begin();
                wrong += row_fails(m, &rows[r], &types[t]);
                ig_scope_end();
            }
    ig_module_free(m);
    memory_free(all);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
