/* Programs that a device runs by itself, instead of emitted kernels: a device of emitted kernels with plain
 * loops for products of matrices. Its results are compared with the CPU's, and the schedule says which code
 * runs. The loops see a program as cuBLASLt does (backend/cuda/product.h). */
#include "support/unit.h"

#include "backend/backend.h"
#include "backend/cuda/product.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct loops {
    native_code base;
    product c;
} loops;

static int launches, with_bias, core_only;

static ig_status prepare(const backend *dev, const program *p, native_code **out)
{
    product c;
    (void)dev;
    *out = NULL;
    if (!product_of(p, &c))
        return IG_OK;
    loops *l = memory_new(sizeof *l);
    assert_non_null(l);
    l->base = (native_code){.name = "loops", .core_only = c.out_slot < 0};
    l->base.scratch_bytes =
        (uint64_t)(c.outer * c.batch * c.m * c.n) * ig_dtype_bytes(c.out) * (c.out_slot < 0);
    l->c = c;
    *out = &l->base;
    return IG_OK;
}

static double element(const binding *b, ig_dtype dtype, int64_t at)
{
    return dtype_fetch(dtype,
                       (const char *)b->buf->data + b->offset + (size_t)at * ig_dtype_bytes(dtype));
}

static ig_status launch(native_code *code, const binding *bindings, binding scratch)
{
    const product *c = &((loops *)code)->c;
    const binding to = c->out_slot < 0 ? scratch : bindings[c->out_slot];
    launches++;
    with_bias += c->bias_slot >= 0;
    core_only += code->core_only;
    int64_t at = c->out_offset;
    for (int64_t job = 0; job < c->outer * c->batch; job++)
        for (int64_t i = 0; i < c->m * c->n; i++, at++) {
            const int64_t row[2] = {i / c->n, i % c->n};
            double sum = 0;
            for (int64_t k = 0; k < c->k; k++) {
                double x[2];
                for (int s = 0; s < 2; s++) {
                    const product_side *a = &c->side[s];
                    const int64_t place = a->offset + job / c->batch * a->outer +
                                          job % c->batch * a->batch +
                                          (a->k_inner ? row[s] * a->ld + k : k * a->ld + row[s]);
                    x[s] = element(&bindings[a->slot], c->in, place);
                }
                sum += x[0] * x[1];
            }
            if (c->bias_slot >= 0)
                sum += element(&bindings[c->bias_slot], c->out, c->bias_offset + row[1]);
            dtype_store(c->out,
                        (char *)to.buf->data + to.offset + (size_t)at * ig_dtype_bytes(c->out),
                        sum);
        }
    return IG_OK;
}

static void discard(native_code *code) { memory_free(code); }

static const backend_native by_loops = {prepare, launch, discard};

static int set_up(void **unused)
{
    static backend dev;
    (void)unused;
    dev = backend_gang;
    dev.name = "loops";
    dev.native = &by_loops;
    return backend_register(&dev) == IG_OK ? 0 : -1;
}

/* ---- expressions ---- */

static ig_array *noise(int seed, ig_ints shape, ig_dtype dtype)
{
    return ig_astype(ig_normal(ig_key((uint64_t)seed, "philox"), shape, IG_F32), dtype);
}

static ig_array *plain(ig_dtype d)
{
    return ig_matmul(noise(0, IG_SHAPE(7, 9), d), noise(1, IG_SHAPE(9, 5), d));
}

static ig_array *transposed(ig_dtype d)
{
    return ig_matmul(ig_matrix_transpose(noise(0, IG_SHAPE(9, 7), d)),
                     ig_matrix_transpose(noise(1, IG_SHAPE(5, 9), d)));
}

/* Heads next to each other: two axes of batches that are not one. */
static ig_array *heads(ig_dtype d)
{
    ig_array *q = ig_permute_dims(noise(0, IG_SHAPE(2, 6, 3, 4), d), IG_AXES(0, 2, 1, 3));
    ig_array *k = ig_permute_dims(noise(1, IG_SHAPE(2, 5, 3, 4), d), IG_AXES(0, 2, 3, 1));
    return ig_matmul(q, k);
}

static ig_array *broadcast(ig_dtype d)
{
    return ig_matmul(noise(0, IG_SHAPE(3, 4, 6), d), noise(1, IG_SHAPE(6, 5), d));
}

static ig_array *biased(ig_dtype d) { return ig_add(plain(d), noise(2, IG_SHAPE(5), d)); }

static ig_array *biased_first(ig_dtype d) { return ig_add(noise(2, IG_SHAPE(5), d), broadcast(d)); }

static ig_array *activated(ig_dtype d) { return ig_relu(biased(d)); }

/* A bias of the rows is not one of the columns. */
static ig_array *by_rows(ig_dtype d) { return ig_add(plain(d), noise(2, IG_SHAPE(7, 1), d)); }

static ig_array *with_itself(ig_dtype d)
{
    ig_array *y = plain(d);
    return ig_add(y, y);
}

static ig_array *one_row(ig_dtype d)
{
    return ig_matmul(noise(0, IG_SHAPE(1, 9), d), noise(1, IG_SHAPE(9, 5), d));
}

static ig_array *vectors(ig_dtype d)
{
    return ig_vecdot(noise(0, IG_SHAPE(4, 9), d), noise(1, IG_SHAPE(4, 9), d), -1);
}

static const struct expression {
    const char *name;
    ig_array *(*build)(ig_dtype d);
    int bias, core_only;
} expressions[] = {
    {"plain", plain, 0, 0},
    {"transposed", transposed, 0, 0},
    {"heads", heads, 0, 0},
    {"broadcast", broadcast, 0, 0},
    {"biased", biased, 1, 0},
    {"biased first", biased_first, 1, 0},
    {"activated", activated, 0, 1},
    {"by rows", by_rows, 0, 1},
    {"with itself", with_itself, 0, 1},
    {"one row", one_row, 0, 0},
    {"vectors", vectors, 0, 0},
};

static int read_all(ig_array *x, double *to, int room)
{
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    ig_array *wide = ig_astype(x, IG_F64);
    const int n = (int)ig_size(wide);
    assert_in_range(n, 1, room);
    assert_int_equal(ig_read(wide, to, (size_t)n * sizeof *to), IG_OK);
    return n;
}

static void products_run_by_the_device(void **unused)
{
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_BF16};
    enum { MOST = 512 };
    double want[MOST], got[MOST];
    (void)unused;
    for (size_t e = 0; e < sizeof expressions / sizeof expressions[0]; e++)
        for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
            const struct expression *x = &expressions[e];
            const double error = dtypes[t] == IG_BF16 ? 0.02 : dtypes[t] == IG_F16 ? 3e-3 : 1e-5;
            assert_int_equal(ig_set_device("cpu"), IG_OK);
            const int n = read_all(x->build(dtypes[t]), want, MOST);
            assert_int_equal(ig_set_device("loops"), IG_OK);
            launches = with_bias = core_only = 0;
            assert_int_equal(read_all(x->build(dtypes[t]), got, MOST), n);
            if (launches != 1 || with_bias != x->bias || core_only != x->core_only)
                fail_msg("%s, %s: %d launches, %d with a bias, %d of the core only", x->name,
                         ig_dtype_name(dtypes[t]), launches, with_bias, core_only);
            for (int i = 0; i < n; i++)
                if (!(fabs(got[i] - want[i]) <= error * (1 + fabs(want[i]))))
                    fail_msg("%s, %s: element %d is %g, not %g", x->name, ig_dtype_name(dtypes[t]),
                             i, got[i], want[i]);
        }
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

static void the_schedule_names_the_code(void **unused)
{
    (void)unused;
    assert_int_equal(ig_set_device("loops"), IG_OK);
    ig_array *x = plain(IG_F32),
             *integers = ig_matmul(ig_astype(x, IG_I32), ig_ones(IG_SHAPE(5, 2), IG_I32));
    char *text = ig_explain(&x, 1);
    assert_non_null(strstr(text, "contract  f32 b=1 m=7 n=5 k=9 by loops"));
    ig_free(text);
    text = ig_explain(&integers, 1);
    assert_null(strstr(text, "contract  i32 b=1 m=7 n=2 k=5 by loops"));
    ig_free(text);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

/* Matrices that a library cannot walk: both strides above 1, windows that overlap, backwards. */
static void other_layouts_are_emitted(void **unused)
{
    (void)unused;
    assert_int_equal(ig_set_device("loops"), IG_OK);
    ig_array *x = noise(0, IG_SHAPE(8, 8), IG_F32), *y = noise(1, IG_SHAPE(4, 3), IG_F32);
    ig_array *every = ig_slice(x, IG_AXES(0, 0), IG_AXES(8, 8), IG_AXES(2, 2));
    ig_array *back = ig_matmul(ig_flip(noise(2, IG_SHAPE(4, 4), IG_F32), IG_AXES(1)), y);
    ig_array *both[] = {ig_matmul(every, y), back};
    double got[64];
    launches = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(read_all(both[i], got, 64), 12);
    assert_int_equal(launches, 0);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products_run_by_the_device, begin, end),
        cmocka_unit_test_setup_teardown(the_schedule_names_the_code, begin, end),
        cmocka_unit_test_setup_teardown(other_layouts_are_emitted, begin, end),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
