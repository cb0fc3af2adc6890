/* Programs that a device runs by native code instead of emitted kernels. The device has emitted kernels, and plain
 * loops for matrix products. Its results are compared with the CPU's, and the schedule names the code that runs. The
 * loops see a program in the same form as cuBLASLt (backend/product.h). */
#include "support/unit.h"

#include "engine/backend/backend.h"
#include "engine/backend/product.h"
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

/* ---- attention ---- */

typedef struct attention {
    native_code base;
    const program *p;
} attention;

static int forwards, gradients;

static bool offers(const backend *dev, const node_native *n)
{
    (void)dev;
    const bool attends = n->kind == NATIVE_ATTENTION || n->kind == NATIVE_ATTENTION_GRADIENT;
    return !attends || dtype_is_half(n->dtype);
}

static char *element_at(const operand *o, const binding *bindings, int64_t i)
{
    const binding *b = &bindings[o->slot];
    return (char *)b->buf->data + b->offset + (size_t)(o->v.offset + i) * ig_dtype_bytes(o->dtype);
}

static double fetch(const operand *o, const binding *bindings, int64_t i)
{
    return dtype_fetch(o->dtype, element_at(o, bindings, i));
}

static void add(const operand *o, const binding *bindings, int64_t i, double x)
{
    dtype_store(o->dtype, element_at(o, bindings, i), fetch(o, bindings, i) + x);
}

/* The sum over d of a[i, d] * b[j, d]. */
static double dot(const operand *a, int64_t i, const operand *b, int64_t j, int64_t dim,
                  const binding *bindings)
{
    double sum = 0;
    for (int64_t d = 0; d < dim; d++)
        sum += fetch(a, bindings, i * dim + d) * fetch(b, bindings, j * dim + d);
    return sum;
}

/* A result that nothing reads has no dtype in the program. */
static void results_of(const program *p, operand out[3])
{
    for (int i = 0; i < p->post.n_operand; i++) {
        out[i] = p->post.operand[i];
        out[i].dtype = p->post.n_operand == 2 && i == 1 ? IG_F32 : p->kernel->native->dtype;
    }
}

/* One row: its result and lse, or its contribution to the gradients. */
static void attention_row(const program *p, const binding *bindings, int64_t job, int64_t i)
{
    const node_native *n = p->kernel->native;
    const operand *in = p->pre.operand;
    operand out[3];
    results_of(p, out);
    const int64_t rows = n->number[1], keys = n->number[2], dim = n->number[3];
    const int64_t row = job * rows + i, padded = (rows + 63) / 64 * 64;
    const bool forward = p->post.n_operand == 2;
    const int64_t seen = n->number[4] && i + 1 < keys ? i + 1 : keys;
    double p_row[64], sum = 0, delta = 0;
    for (int64_t j = 0; j < seen; j++)
        sum += p_row[j] = exp(n->scale * dot(&in[0], row, &in[1], job * keys + j, dim, bindings));
    if (forward)
        add(&out[1], bindings, job * padded + i, log2(sum));
    else
        delta = dot(&in[5], row, &in[3], row, dim, bindings);
    for (int64_t j = 0; j < seen; j++) {
        const double x = p_row[j] / sum;
        const int64_t key = job * keys + j;
        const double ds =
            forward ? 0 : x * (dot(&in[5], row, &in[2], key, dim, bindings) - delta) * n->scale;
        for (int64_t d = 0; d < dim; d++)
            if (forward)
                add(&out[0], bindings, row * dim + d, x * fetch(&in[2], bindings, key * dim + d));
            else {
                add(&out[0], bindings, row * dim + d, ds * fetch(&in[1], bindings, key * dim + d));
                add(&out[1], bindings, key * dim + d, ds * fetch(&in[0], bindings, row * dim + d));
                add(&out[2], bindings, key * dim + d, x * fetch(&in[5], bindings, row * dim + d));
            }
    }
}

static ig_status attention_launch(const program *p, const binding *bindings)
{
    const node_native *n = p->kernel->native;
    const bool forward = p->post.n_operand == 2;
    operand out[3];
    *(forward ? &forwards : &gradients) += 1;
    results_of(p, out);
    for (int i = 0; i < p->post.n_operand; i++) {
        const operand *o = &out[i];
        for (int64_t k = 0; k < p->kernel->result[i].bytes / (int64_t)ig_dtype_bytes(o->dtype); k++)
            dtype_store(o->dtype, element_at(o, bindings, k),
                        forward && i == 1 && k % ((n->number[1] + 63) / 64 * 64) >= n->number[1]
                            ? INFINITY
                            : 0);
    }
    for (int64_t i = 0; i < n->number[0] * n->number[1]; i++)
        attention_row(p, bindings, i / n->number[1], i % n->number[1]);
    return IG_OK;
}

/* ---- convolution ---- */

static int convolutions;

/* The numbers of a node of ops/conv.c. */
typedef struct conv_numbers {
    int64_t n, c, h, w, k, r, s, p, q, stride[2], padding[2], dilation[2], groups;
} conv_numbers;

/* Adds the contribution of one product x[at] * weight[at] to y or to one of the gradients. */
static void convolve_point(const program *p, const binding *bindings, int64_t x, int64_t w,
                           int64_t y)
{
    const operand *in = p->pre.operand, *out = p->post.operand;
    if (strcmp(p->kernel->name, "convolution") == 0)
        add(&out[0], bindings, y, fetch(&in[0], bindings, x) * fetch(&in[1], bindings, w));
    else if (strstr(p->kernel->name, "of x"))
        add(&out[0], bindings, x, fetch(&in[0], bindings, y) * fetch(&in[1], bindings, w));
    else
        add(&out[0], bindings, w, fetch(&in[0], bindings, x) * fetch(&in[1], bindings, y));
}

static ig_status convolution_launch(const program *p, const binding *bindings)
{
    conv_numbers c;
    memcpy(&c, p->kernel->native->number, sizeof c);
    const int64_t in = c.c / c.groups, each = c.k / c.groups;
    const operand *out = p->post.operand;
    convolutions++;
    for (int64_t i = 0; i < p->kernel->result[0].bytes / (int64_t)ig_dtype_bytes(out->dtype); i++)
        dtype_store(out->dtype, element_at(out, bindings, i), 0);
    for (int64_t i = 0; i < c.n * c.k * c.p * c.q * in * c.r * c.s; i++) {
        const int64_t s = i % c.s, r = i / c.s % c.r, m = i / c.s / c.r % in;
        const int64_t y = i / c.s / c.r / in, q = y % c.q, row = y / c.q % c.p;
        const int64_t k = y / c.q / c.p % c.k, n = y / c.q / c.p / c.k;
        const int64_t at_h = row * c.stride[0] + r * c.dilation[0] - c.padding[0];
        const int64_t at_w = q * c.stride[1] + s * c.dilation[1] - c.padding[1];
        if (at_h >= 0 && at_h < c.h && at_w >= 0 && at_w < c.w)
            convolve_point(p, bindings, ((n * c.c + k / each * in + m) * c.h + at_h) * c.w + at_w,
                           ((k * in + m) * c.r + r) * c.s + s, y);
    }
    return IG_OK;
}

/* ---- the device ---- */

static ig_status prepare(const backend *dev, const program *p, const bool *by_value,
                         native_code **out)
{
    product c;
    (void)dev, (void)by_value;
    *out = NULL;
    if (p->kind == PROGRAM_KERNEL) {
        attention *a = memory_new(sizeof *a);
        assert_non_null(a);
        *a = (attention){{.name = "loops of attention"}, p};
        *out = &a->base;
        return IG_OK;
    }
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
    if (strcmp(code->name, "loops") != 0)
        return (strncmp(((attention *)code)->p->kernel->name, "conv", 4) == 0
                    ? convolution_launch
                    : attention_launch)(((attention *)code)->p, bindings);
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

static const backend_native by_loops = {
    .offers = offers, .prepare = prepare, .launch = launch, .discard = discard};

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
    return ig_astype(ig_normal(ig_key((uint64_t)seed, "philox"), shape, IG_F32, NULL, NULL), dtype);
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

/* Adjacent heads: two batch axes that cannot be merged. */
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

/* A bias per row is not a bias per column. */
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

/* Not a dot product of vectors: that is a sum of products on every device. */
static ig_array *one_column(ig_dtype d)
{
    return ig_matmul(noise(0, IG_SHAPE(4, 9), d), noise(1, IG_SHAPE(9), d));
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
    {"one column", one_column, 0, 0},
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

/* Matrices that a library cannot express: both strides above 1, overlapping windows, negative strides. */
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

/* Results and gradients of attention on the device and on the CPU. */
static void compare_attention(ig_dtype dtype, bool causal)
{
    enum { MOST = 512 };
    const double error = dtype == IG_BF16 ? 0.05 : 0.01;
    double values[2][4][MOST];
    int sizes[4];
    for (int device = 0; device < 2; device++) {
        assert_int_equal(ig_set_device(device ? "loops" : "cpu"), IG_OK);
        ig_array *x[3] = {noise(0, IG_SHAPE(2, 3, 7, 8), dtype),
                          noise(1, IG_SHAPE(2, 3, 9, 8), dtype),
                          noise(2, IG_SHAPE(2, 3, 9, 8), dtype)};
        ig_array *g = noise(3, IG_SHAPE(2, 3, 7, 8), dtype), *all[4];
        assert_int_equal(ig_eval(x, 3), IG_OK);
        all[0] = ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, causal, 0);
        assert_int_equal(ig_vjp(&all[0], &g, 1, x, 3, all + 1), IG_OK);
        forwards = gradients = 0;
        assert_int_equal(ig_eval(all, 4), IG_OK);
        assert_int_equal(forwards, device);
        assert_int_equal(gradients, device);
        for (int i = 0; i < 4; i++)
            sizes[i] = read_all(all[i], values[device][i], MOST);
    }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < sizes[i]; k++)
            if (!(fabs(values[1][i][k] - values[0][i][k]) <= error * (1 + fabs(values[0][i][k]))))
                fail_msg("%s, causal %d, result %d: element %d is %g, not %g", ig_dtype_name(dtype),
                         causal, i, k, values[1][i][k], values[0][i][k]);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

static void attention_runs_as_one_node(void **unused)
{
    (void)unused;
    for (int causal = 0; causal < 2; causal++) {
        compare_attention(IG_F16, causal);
        compare_attention(IG_BF16, causal);
    }
}

static ig_array *attention_of(ig_dtype dtype)
{
    ig_array *q = noise(0, IG_SHAPE(2, 7, 8), dtype);
    return ig_scaled_dot_product_attention(q, q, q, NULL, false, 0);
}

static void other_attention_keeps_its_definition(void **unused)
{
    (void)unused;
    assert_int_equal(ig_set_device("loops"), IG_OK);
    ig_array *wide = attention_of(IG_F32);
    assert_int_equal(ig_set_math(IG_MATH_SAME), IG_OK);
    ig_array *same = attention_of(IG_F16);
    assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
    ig_array *all[2] = {wide, same};
    forwards = 0;
    assert_int_equal(ig_eval(all, 2), IG_OK);
    assert_int_equal(forwards, 0);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

/* Verifying each node compares the device's code with the definition. */
static void attention_can_be_verified(void **unused)
{
    (void)unused;
    assert_int_equal(ig_set_device("loops"), IG_OK);
    ig_array *y = attention_of(IG_F16), *x = y;
    ig_verify_report report = {0};
    assert_int_equal(ig_verify(&x, 1, &report), IG_OK);
    assert_string_equal(report.text, "");
    assert_int_equal(report.failed, 0);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

/* y and the gradients of x, weight and bias. */
static void convolve(const char *device, ig_ints stride, ig_ints padding, ig_ints dilation,
                     int groups, double values[4][1024], int sizes[4])
{
    assert_int_equal(ig_set_device(device), IG_OK);
    ig_array *x[3] = {noise(0, IG_SHAPE(2, 4, 7, 6), IG_F32),
                      noise(1, IG_SHAPE(6, 4 / groups, 3, 2), IG_F32),
                      noise(2, IG_SHAPE(6), IG_F32)};
    assert_int_equal(ig_eval(x, 3), IG_OK);
    ig_array *all[4] = {ig_conv2d(x[0], x[1], x[2], stride, padding, dilation, groups)};
    ig_array *g = ig_multiply(all[0], all[0]);
    assert_int_equal(ig_vjp(&all[0], &g, 1, x, 3, all + 1), IG_OK);
    assert_int_equal(ig_eval(all, 4), IG_OK);
    for (int i = 0; i < 4; i++)
        sizes[i] = read_all(all[i], values[i], 1024);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

static void convolutions_run_as_one_node(void **unused)
{
    static double want[4][1024], got[4][1024];
    int sizes[4];
    (void)unused;
    const struct {
        ig_ints stride, padding, dilation;
        int groups;
    } all[] = {{IG_AXES(1), IG_AXES(1), IG_AXES(1), 1},
               {IG_AXES(2, 1), IG_AXES(0, 2), IG_AXES(1, 2), 1},
               {IG_AXES(1), IG_AXES(1), IG_AXES(2, 1), 2}};
    for (int k = 0; k < 3; k++) {
        convolve("cpu", all[k].stride, all[k].padding, all[k].dilation, all[k].groups, want, sizes);
        convolutions = 0;
        convolve("loops", all[k].stride, all[k].padding, all[k].dilation, all[k].groups, got,
                 sizes);
        assert_int_equal(convolutions, 3);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < sizes[i]; j++)
                if (!(fabs(got[i][j] - want[i][j]) <= 1e-4 * (1 + fabs(want[i][j]))))
                    fail_msg("case %d, result %d: element %d is %g, not %g", k, i, j, got[i][j],
                             want[i][j]);
    }
}

/* The gradient of a gradient is derived from the definition. */
static void second_gradients_follow(void **unused)
{
    double values[2][64];
    (void)unused;
    for (int device = 0; device < 2; device++) {
        assert_int_equal(ig_set_device(device ? "loops" : "cpu"), IG_OK);
        ig_array *x = noise(0, IG_SHAPE(1, 1, 5, 5), IG_F32),
                 *w = noise(1, IG_SHAPE(1, 1, 2, 2), IG_F32);
        ig_array *both[2] = {x, w}, *first, *second;
        assert_int_equal(ig_eval(both, 2), IG_OK);
        ig_array *y = ig_conv2d(x, w, NULL, IG_NONE, IG_NONE, IG_NONE, 1);
        ig_array *loss = ig_sum(ig_multiply(ig_multiply(y, y), y), IG_NONE, IG_DTYPE_NONE, false);
        assert_int_equal(ig_grad(loss, &x, 1, &first), IG_OK);
        loss = ig_sum(ig_multiply(first, first), IG_NONE, IG_DTYPE_NONE, false);
        assert_int_equal(ig_grad(loss, &w, 1, &second), IG_OK);
        assert_int_equal(read_all(second, values[device], 64), 4);
    }
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(values[1][i] - values[0][i]) <= 1e-4 * (1 + fabs(values[0][i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products_run_by_the_device, begin, end),
        cmocka_unit_test_setup_teardown(the_schedule_names_the_code, begin, end),
        cmocka_unit_test_setup_teardown(other_layouts_are_emitted, begin, end),
        cmocka_unit_test_setup_teardown(attention_runs_as_one_node, begin, end),
        cmocka_unit_test_setup_teardown(other_attention_keeps_its_definition, begin, end),
        cmocka_unit_test_setup_teardown(attention_can_be_verified, begin, end),
        cmocka_unit_test_setup_teardown(convolutions_run_as_one_node, begin, end),
        cmocka_unit_test_setup_teardown(second_gradients_follow, begin, end),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
