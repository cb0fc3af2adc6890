/* Kernels as operations of graphs: values, several results, results initialized from an array, identity, gradients of
 * any order, compiled, explained and verified like any op; mistakes are reported by the call that makes them; nothing
 * leaks. */
#include "base/memory.h"
#include "support/faulty.h"
#include "support/folder.h"
#include <stdio.h>
#include <string.h>

static const char source[] =
    "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n"
    "__global__ void saxpy_grad(int n, float a, const float *x, float *grad_y, float *grad_x,\n"
    "                           float *grad_a)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) { grad_x[i] = a * grad_y[i]; atomicAdd(grad_a, x[i] * grad_y[i]); }\n"
    "}\n"
    "__global__ void cube(int n, const float *x, float *y)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = x[i] * x[i] * x[i];\n"
    "}\n"
    "__global__ void cube_grad(int n, const float *x, const float *grad_y, float *grad_x)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) grad_x[i] = 3 * x[i] * x[i] * grad_y[i];\n"
    "}\n"
    "__global__ void cube_grad_grad(int n, const float *x, const float *grad_y,\n"
    "                               const float *grad_grad_x, float *grad_x, float *grad_grad_y)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i >= n) return;\n"
    "    grad_x[i] = 6 * x[i] * grad_y[i] * grad_grad_x[i];\n"
    "    grad_grad_y[i] = 3 * x[i] * x[i] * grad_grad_x[i];\n"
    "}\n"
    "__global__ void split(int n, const float *x, float *whole, int *sign, float *part)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i >= n) return;\n"
    "    whole[i] = truncf(x[i]);\n"
    "    sign[i] = x[i] < 0 ? -1 : 1;\n"
    "    part[i] = x[i] - truncf(x[i]);\n"
    "}\n"
    "__global__ void pair(int n, const float *x, float *square, float *twice)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) { square[i] = x[i] * x[i]; twice[i] = 2 * square[i]; }\n"
    "}\n"
    "__global__ void pair_grad(int n, const float *x, const float *twice, const float "
    "*grad_square,\n"
    "                          const float *grad_twice, float *grad_x)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) grad_x[i] = twice[i] / x[i] * (grad_square[i] + 2 * grad_twice[i]);\n"
    "}\n"
    "__global__ void place(int rows, int columns, float *y)\n"
    "{\n"
    "    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + "
    "threadIdx.y;\n"
    "    if (r < rows && c < columns) y[r * columns + c] = 10 * r + c;\n"
    "}\n"
    "__device__ int calls = 5;\n"
    "__global__ void count(int *y) { y[0] = atomicAdd(&calls, 1); }\n"
    "__global__ void fails(const float *x, float *y) { assert(x[0] < 2); y[0] = x[0]; }\n"
    "template <typename T, int N> __global__ void repeat(T *y) { y[threadIdx.x] = N; }\n";

#define ARRAY(name_, x) \
    { \
        .name = name_, .kind = IG_ARG_ARRAY, .u.array = (x) \
    }
#define SHAPE(name_, ...) \
    { \
        .name = name_, .kind = IG_ARG_INTS, .u.ints = IG_SHAPE(__VA_ARGS__) \
    }
#define INT(name_, x) \
    { \
        .name = name_, .kind = IG_ARG_INT, .u.i = (x) \
    }
#define FLOAT(name_, x) \
    { \
        .name = name_, .kind = IG_ARG_FLOAT, .u.f = (x) \
    }
#define ARGS(...) \
    .args = (const ig_arg[]){__VA_ARGS__}, \
    .n_args = sizeof((const ig_arg[]){__VA_ARGS__}) / sizeof(ig_arg)
#define CALL(...) (&(const ig_kernel_call){.name = "test.cu", .source = source, __VA_ARGS__})

static ig_array *floats(const float *v, int64_t n)
{
    ig_array *x = ig_from_data(v, IG_SHAPE(n), IG_F32);
    assert_non_null(x);
    return x;
}

static ig_array *one(const ig_kernel_call *call)
{
    ig_array *y = NULL;
    if (ig_kernel(call, &y, 1) != 1)
        fail_msg("%s", ig_error(NULL));
    return y;
}

static void expect(ig_array *x, const float *want, int n)
{
    const float *have = ig_data(x);
    if (!have)
        fail_msg("%s", ig_error(NULL));
    assert_int_equal(ig_size(x), n);
    for (int i = 0; i < n; i++)
        if (have[i] != want[i])
            fail_msg("element %d is %g, not %g", i, (double)have[i], (double)want[i]);
}

static ig_array *sum(ig_array *x) { return ig_sum(x, IG_NONE, IG_DTYPE_NONE, false); }

static int programs_of(ig_array *const *arrays, int n, const char *what)
{
    char *t = ig_explain(arrays, n);
    int found = 0;
    if (!t)
        fail_msg("%s", ig_error(NULL));
    for (const char *at = t; (at = strstr(at, what)); at++)
        found++;
    ig_free(t);
    return found;
}

static ig_array *cube_of(ig_array *x, const ig_kernel_call *gradient)
{
    return one(CALL(.kernel = "cube", .gradient = gradient,
                    ARGS(INT("n", ig_size(x)), ARRAY("x", x),
                         {.name = "y", .kind = IG_ARG_INTS, .u.ints = ig_shape(x)})));
}

static const ig_kernel_call cube_grad_grad = {.kernel = "cube_grad_grad"};
static const ig_kernel_call cube_grad = {.kernel = "cube_grad", .gradient = &cube_grad_grad};

/* ---- values ---- */

static void a_result_is_an_array(void **state)
{
    (void)state;
    ig_array *x = ig_add(floats((const float[]){0, 1, 2}, 3), ig_float(1));
    ig_array *y = ig_multiply(cube_of(x, NULL), ig_float(2));
    assert_false(ig_is_evaluated(y));
    assert_int_equal(programs_of(&y, 1, " kernel "), 1);
    assert_int_equal(programs_of(&y, 1, "| cube<<<1, 256>>> | t0 -> t1 | read 12 B, write 12 B"),
                     1);
    expect(y, (const float[]){2, 16, 54}, 3);
}

static void arguments_come_in_order_too(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2), *y = floats((const float[]){10, 20}, 2);
    ig_array *z = one(CALL(.kernel = "saxpy",
                           ARGS(INT(NULL, 2), FLOAT(NULL, 3), ARRAY(NULL, x), ARRAY(NULL, y))));
    expect(z, (const float[]){13, 26}, 2);
    expect(y, (const float[]){10, 20}, 2);
}

static void a_number_may_be_an_array(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2), *a = ig_scalar(2, IG_F64);
    for (int i = 0; i < 2; i++) {
        ig_array *y =
            one(CALL(.kernel = "saxpy", ARGS(INT("n", 2), ARRAY("a", ig_add(a, ig_float(i))),
                                             ARRAY("x", x), SHAPE("y", 2))));
        expect(y, (const float[]){(float)(2 + i), (float)(4 + 2 * i)}, 2);
    }
}

static void views_are_put_in_order(void **state)
{
    (void)state;
    const float v[] = {1, 2, 3, 4, 5, 6};
    ig_array *x = ig_matrix_transpose(ig_reshape(floats(v, 6), IG_SHAPE(2, 3)));
    expect(cube_of(x, NULL), (const float[]){1, 64, 8, 125, 27, 216}, 6);
    expect(cube_of(ig_broadcast_to(ig_scalar(2, IG_F32), IG_SHAPE(3)), NULL),
           (const float[]){8, 8, 8}, 3);
    ig_array *end = ig_get(
        floats(v, 6), &(ig_index){.kind = IG_INDEX_SLICE, .start = 4, .stop = 6, .step = 1}, 1);
    expect(cube_of(end, NULL), (const float[]){125, 216}, 2);
}

static void several_results_are_one_launch(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1.5f, -2.25f}, 2), *r[3] = {0};
    assert_int_equal(
        ig_kernel(CALL(.kernel = "split", ARGS(INT("n", 2), ARRAY("x", x), SHAPE("whole", 2),
                                               SHAPE("sign", 2), SHAPE("part", 2))),
                  r, 3),
        3);
    assert_int_equal(ig_dtype_of(r[1]), IG_I32);
    ig_array *both[] = {ig_multiply(r[0], ig_float(2)), r[2], ig_astype(r[1], IG_F32)};
    assert_int_equal(programs_of(both, 3, " kernel "), 1);
    assert_int_equal(ig_eval(both, 3), IG_OK);
    expect(both[0], (const float[]){2, -4}, 2);
    expect(both[1], (const float[]){0.5f, -0.25f}, 2);
    expect(both[2], (const float[]){1, -1}, 2);
    /* Only one of them: the others need memory nevertheless. */
    expect(r[0], (const float[]){1, -2}, 2);
}

static void the_grid_follows_the_result(void **state)
{
    (void)state;
    const ig_arg args[] = {INT(NULL, 2), INT(NULL, 5), SHAPE(NULL, 2, 5)};
    const float want[] = {0, 1, 2, 3, 4, 10, 11, 12, 13, 14};
    ig_array *y = one(CALL(.kernel = "place", .args = args, .n_args = 3, .block = {2, 2}));
    assert_int_equal(programs_of(&y, 1, "place<<<3, 2x2>>>"), 1);
    expect(y, want, 10);
    y = one(CALL(.kernel = "place", .args = args, .n_args = 3, .grid = {5, 2}, .block = {1}));
    assert_int_equal(programs_of(&y, 1, "place<<<5x2, 1>>>"), 1);
    expect(y, want, 10);
    y = one(CALL(.kernel = "place", ARGS(INT(NULL, 0), INT(NULL, 5), SHAPE(NULL, 0, 5))));
    assert_non_null(ig_data(y));
    assert_int_equal(ig_size(y), 0);
}

static void templates_are_named_with_their_arguments(void **state)
{
    (void)state;
    expect(one(CALL(.kernel = "repeat<float, 7>", ARGS(SHAPE("y", 3)), .block = {3})),
           (const float[]){7, 7, 7}, 3);
}

/* ---- identity ---- */

static ig_array *fill_of(const char *text, const char *define)
{
    const ig_module_options o = {.defines = &define, .n_defines = define != NULL};
    return one(&(ig_kernel_call){
        .source = text, .kernel = "fill", .options = &o, ARGS(SHAPE("y", 2)), .block = {2}});
}

static void kernels_of_one_name_never_mix(void **state)
{
    (void)state;
    static const char first[] = "__global__ void fill(float *y) { y[threadIdx.x] = 1; }";
    static const char second[] = "__global__ void fill(float *y) { y[threadIdx.x] = 2; }";
    static const char third[] = "__global__ void fill(float *y) { y[threadIdx.x] = V; }";
    ig_array *all[] = {fill_of(first, NULL), fill_of(second, NULL), fill_of(third, "V=3"),
                       fill_of(third, "V=4")};
    assert_int_equal(programs_of(all, 4, " kernel "), 4);
    for (int i = 0; i < 4; i++)
        expect(all[i], (const float[]){(float)(i + 1), (float)(i + 1)}, 2);
}

static void an_include_counts_as_content(void **state)
{
    (void)state;
    static const char text[] =
        "#include \"value.h\"\n__global__ void fill(float *y) { y[threadIdx.x] = V; }";
    const char *folder = folder_itself();
    const ig_kernel_call call = {.source = text,
                                 .kernel = "fill",
                                 ARGS(SHAPE("y", 1)),
                                 .block = {1},
                                 .options =
                                     &(ig_module_options){.folders = &folder, .n_folders = 1}};
    folder_put(folder_path("value.h"), "#define V 1\n", 12);
    ig_array *before = one(&call);
    folder_put(folder_path("value.h"), "#define V 2\n", 12);
    ig_array *after = one(&call);
    expect(before, (const float[]){1}, 1);
    expect(after, (const float[]){2}, 1);
    remove(folder_path("value.h"));
}

static void equal_kernels_are_computed_once(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2);
    ig_array *y = ig_add(cube_of(x, NULL), cube_of(x, NULL));
    assert_int_equal(programs_of(&y, 1, " kernel "), 1);
    expect(y, (const float[]){2, 16}, 2);
    const ig_arg args[] = {INT("n", 2), FLOAT("a", 1), ARRAY("x", x), SHAPE("y", 2)};
    ig_arg others[4];
    memcpy(others, args, sizeof args);
    others[1].u.f = 2;
    ig_array *z[] = {one(CALL(.kernel = "saxpy", .args = args, .n_args = 4)),
                     one(CALL(.kernel = "saxpy", .args = others, .n_args = 4)),
                     one(CALL(.kernel = "saxpy", .args = args, .n_args = 4, .block = {32}))};
    assert_int_equal(programs_of(z, 3, " kernel "), 3);
}

/* The schedule keeps the module, so nothing is parsed twice. */
static void a_loop_parses_once(void **state)
{
    (void)state;
    static const char text[] = "__global__ void twice(const float *x, float *y)\n"
                               "{ y[threadIdx.x] = 2 * x[threadIdx.x]; }";
    ig_array *x = floats((const float[]){1, 2}, 2);
    int64_t counts[3];
    for (int i = 0; i < 3; i++) {
        const int64_t before = memory_count();
        ig_scope_begin();
        expect(one(&(ig_kernel_call){.source = text,
                                     .kernel = "twice",
                                     .block = {2},
                                     ARGS(ARRAY("x", x), SHAPE("y", 2))}),
               (const float[]){2, 4}, 2);
        ig_scope_end();
        counts[i] = memory_count() - before;
    }
    assert_true(counts[1] * 3 < counts[0]);
    assert_int_equal(counts[1], counts[2]);
}

static void variables_begin_anew(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        ig_array *y = one(CALL(.kernel = "count", ARGS(SHAPE("y", 1)), .block = {2}));
        const int32_t *v = ig_data(y);
        assert_non_null(v);
        assert_in_range(v[0], 5, 6);
    }
}

/* ---- gradients ---- */

static void gradients_of_any_order(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2, 3}, 3), *g, *h;
    ig_array *y = cube_of(x, &cube_grad);
    assert_int_equal(ig_grad(sum(ig_square(y)), &x, 1, &g), IG_OK); /* 6 x^5 */
    assert_int_equal(ig_grad(sum(g), &x, 1, &h), IG_OK);            /* 30 x^4 */
    expect(g, (const float[]){6, 192, 1458}, 3);
    expect(h, (const float[]){30, 480, 2430}, 3);
    assert_int_equal(ig_grad(sum(h), &x, 1, &g), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "kernel 'cube_grad_grad' was made without a gradient kernel");
}

static void what_begins_as_an_array_has_a_gradient(void **state)
{
    (void)state;
    ig_array *p[] = {ig_scalar(3, IG_F32), floats((const float[]){1, 2}, 2),
                     floats((const float[]){5, 6}, 2)};
    ig_array *y =
        one(CALL(.kernel = "saxpy", .gradient = &(ig_kernel_call){.kernel = "saxpy_grad"},
                 ARGS(INT("n", 2), ARRAY("a", p[0]), ARRAY("x", p[1]), ARRAY("y", p[2]))));
    ig_array *w = floats((const float[]){1, 10}, 2), *g[3];
    assert_int_equal(ig_grad(ig_vecdot(y, w, -1), p, 3, g), IG_OK);
    expect(g[0], (const float[]){21}, 1);
    expect(g[1], (const float[]){3, 30}, 2);
    expect(g[2], (const float[]){1, 10}, 2);
}

static void gradients_of_several_results_add_up(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2), *r[2], *g;
    assert_int_equal(
        ig_kernel(CALL(.kernel = "pair", .gradient = &(ig_kernel_call){.kernel = "pair_grad"},
                       ARGS(INT("n", 2), ARRAY("x", x), SHAPE("square", 2), SHAPE("twice", 2))),
                  r, 2),
        2);
    assert_int_equal(ig_grad(sum(ig_add(r[0], ig_multiply(r[1], ig_float(10)))), &x, 1, &g), IG_OK);
    expect(g, (const float[]){42, 84}, 2);
}

static void a_missing_gradient_is_named(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2), *y = cube_of(x, NULL), *g;
    assert_int_equal(ig_grad(sum(y), &x, 1, &g), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "kernel 'cube' was made without a gradient kernel; name one");
    const ig_kernel_call gradient = {.kernel = "cube_grad"};
    const ig_kernel_call *call =
        CALL(.kernel = "saxpy", .gradient = &gradient,
             ARGS(INT("n", 2), FLOAT("a", 1), ARRAY("x", x), ARRAY("y", x)));
    assert_int_equal(ig_kernel(call, &y, 1), 0);
    assert_error(IG_ERR_ARGUMENT, "nothing is known for 'grad_y' (const float *)");
    const ig_kernel_call empty = {.kernel = "fails"};
    assert_int_equal(ig_kernel(CALL(.kernel = "cube", .gradient = &empty,
                                    ARGS(INT("n", 2), ARRAY("x", x), SHAPE("y", 2))),
                               &y, 1),
                     0);
    assert_error(IG_ERR_ARGUMENT, "nothing is known for 'y' (float *); it may write 'grad_'");
    const char two[] =
        "__global__ void f(const float *x, const float *w, float *y) { y[0] = x[0]; }\n"
        "__global__ void f_grad(const float *grad_y, float *grad_x) {}\n";
    ig_kernel_call f = {.source = two,
                        .kernel = "f",
                        .gradient = &(ig_kernel_call){.kernel = "f_grad"},
                        ARGS(ARRAY("x", x), ARRAY("w", x), SHAPE("y", 2))};
    assert_int_equal(ig_kernel(&f, &y, 1), 0);
    assert_error(IG_ERR_ARGUMENT, "gives none for 'w': add a parameter that it writes, 'grad_w'");
    const ig_arg args[] = {ARRAY("x", x), ARRAY("w", ig_stop_gradient(x)), SHAPE("y", 2)};
    f.args = args;
    assert_int_equal(ig_kernel(&f, &y, 1), 1);
}

static void slices_are_launched_one_by_one(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2, 3}, 3), *y = cube_of(x, &cube_grad), *g, *r, *all;
    assert_int_equal(ig_grad(sum(y), &x, 1, &g), IG_OK);
    const float v[] = {1, 2, 3, 4, 5, 6};
    all = ig_from_data(v, IG_SHAPE(2, 3), IG_F32);
    assert_int_equal(ig_vmap(&y, 1, &x, &all, (const int[]){0}, 1, &r), IG_OK);
    assert_int_equal(programs_of(&r, 1, " kernel "), 2);
    expect(r, (const float[]){1, 8, 27, 64, 125, 216}, 6);
    assert_int_equal(ig_vmap(&g, 1, &x, &all, (const int[]){0}, 1, &r), IG_OK);
    expect(r, (const float[]){3, 12, 27, 48, 75, 108}, 6);
}

static void a_checkpoint_computes_it_again(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2), *g;
    ig_array *y = ig_checkpoint(ig_exp(ig_multiply(cube_of(x, &cube_grad), ig_float(0))), &x, 1);
    assert_int_equal(ig_grad(sum(ig_multiply(y, cube_of(x, &cube_grad))), &x, 1, &g), IG_OK);
    expect(g, (const float[]){3, 12}, 2);
}

/* ---- compiled, verified ---- */

static void a_compiled_kernel_outlives_its_nodes(void **state)
{
    (void)state;
    ig_scope_begin();
    ig_array *x = floats((const float[]){0, 0}, 2), *y = ig_add(cube_of(x, NULL), ig_float(1));
    ig_compiled *c = ig_compile(&x, 1, 0, &y, 1);
    ig_scope_end();
    assert_non_null(c);
    for (int i = 1; i < 4; i++) {
        ig_array *in = floats((const float[]){(float)i, 2}, 2), *out;
        assert_int_equal(ig_run(c, &in, &out), IG_OK);
        expect(out, (const float[]){(float)(i * i * i + 1), 9}, 2);
    }
    ig_compiled_free(c);
}

static void right_kernels_pass(void **state)
{
    (void)state;
    ig_verify_report r = {0};
    ig_array *x = ig_normal(ig_key(1, NULL), IG_SHAPE(1000), IG_F32, NULL, NULL), *all[3],
             *split[3];
    assert_int_equal(
        ig_kernel(CALL(.kernel = "split", ARGS(INT("n", 1000), ARRAY("x", x), SHAPE("whole", 1000),
                                               SHAPE("sign", 1000), SHAPE("part", 1000))),
                  split, 3),
        3);
    all[0] = ig_exp(cube_of(x, NULL));
    all[1] = split[0];
    all[2] = split[1];
    assert_int_equal(ig_verify(all, 3, &r), IG_OK);
    if (r.failed)
        fail_msg("%s", r.text);
    assert_true(r.nodes > 4);
}

static void a_wrong_device_is_named(void **state)
{
    (void)state;
    static const fault faults[] = {{.op = "kernel", .kind = FAULT_ELEMENT},
                                   {.op = "kernel", .kind = FAULT_STALE},
                                   {.op = "kernel", .kind = FAULT_STEPS, .steps = 1 << 16}};
    for (int i = 0; i < 3; i++) {
        ig_verify_report r = {0};
        faulty_plant(faults[i]);
        assert_int_equal(ig_set_device("faulty"), IG_OK);
        ig_array *x = ig_arange(1, 100, 1, IG_F32), *y = ig_exp(ig_negative(cube_of(x, NULL)));
        const ig_status status = ig_verify(&y, 1, &r);
        assert_int_equal(ig_set_device("cpu"), IG_OK);
        faulty_plant((fault){0});
        assert_int_equal(status, IG_OK);
        assert_true(r.failed > 0);
        assert_string_equal(r.op, "cube");
        assert_non_null(strstr(r.text, "kernel cube: f32(99,) of f32(99,): element ("));
        assert_non_null(strstr(r.text, " on faulty"));
    }
}

static void schedules_need_no_device(void **state)
{
    (void)state;
    ig_array *y = cube_of(floats((const float[]){1, 2}, 2), NULL);
    assert_int_equal(ig_set_device("null"), IG_OK);
    assert_int_equal(programs_of(&y, 1, " kernel "), 1);
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

/* ---- mistakes ---- */

/* The compiler's message has several lines: the first is a place. */
static void not_compiled(const ig_kernel_call *call, const char *place)
{
    ig_array *y = NULL;
    ig_status code;
    assert_int_equal(ig_kernel(call, &y, 1), 0);
    const char *said = ig_error(&code);
    assert_int_equal(code, IG_ERR_FORMAT);
    if (!said || strncmp(said, place, strlen(place)) != 0 || !strstr(said, "^\n"))
        fail_msg("%s", said);
}

static void refused(const ig_kernel_call *call, ig_status code, const char *part)
{
    ig_array *y = NULL;
    assert_int_equal(ig_kernel(call, &y, 1), 0);
    assert_error(code, part);
}

static void mistakes_are_told_when_it_is_made(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2);
    const ig_arg shape = SHAPE("y", 2);
    not_compiled(&(ig_kernel_call){.name = "bad.cu",
                                   .source = "__global__ void k(float *y)\n{ y[0] = z; }",
                                   .kernel = "k",
                                   .args = &shape,
                                   .n_args = 1},
                 "bad.cu:2:10: error: unknown name 'z'");
    /* One kernel of the source is correct. */
    not_compiled(&(ig_kernel_call){.source = "__global__ void k(float *y) { y[0] = z; }\n"
                                             "__global__ void r(float *y) { y[0] = 1; }",
                                   .kernel = "k",
                                   .args = &shape,
                                   .n_args = 1},
                 "kernel.cu:1:38: error: unknown name 'z'");
    refused(CALL(.kernel = "cubic"), IG_ERR_ARGUMENT, "there is no kernel 'cubic' in test.cu");
    refused(CALL(.kernel = NULL), IG_ERR_ARGUMENT, "its name is missing");
    refused(&(ig_kernel_call){.kernel = "k"}, IG_ERR_ARGUMENT, "the source is missing");
    refused(&(ig_kernel_call){.source = "__global__ void k(const float *x) {}", .kernel = "k"},
            IG_ERR_ARGUMENT, "kernel 'k' has no result");
    refused(CALL(.kernel = "cube", ARGS(INT("n", 2), ARRAY("x", x))), IG_ERR_ARGUMENT,
            "'y' (float *) is not given");
    refused(CALL(.kernel = "cube", ARGS(INT("n", 2), ARRAY("x", x), FLOAT("y", 2))),
            IG_ERR_ARGUMENT, "'y' is a float *: give its shape, or an array that it begins as");
    refused(CALL(.kernel = "cube", ARGS(INT("n", 2), INT("x", 2), SHAPE("y", 2))), IG_ERR_ARGUMENT,
            "'x' is a const float *: give an array");
    refused(
        CALL(.kernel = "cube", ARGS(INT("n", 2), ARRAY("x", ig_astype(x, IG_F64)), SHAPE("y", 2))),
        IG_ERR_DTYPE, "'x' is a const float *, but the array is f64; convert with astype");
    refused(CALL(.kernel = "cube", ARGS(FLOAT("n", 2.5), ARRAY("x", x), SHAPE("y", 2))),
            IG_ERR_DTYPE, "'n' is a int, which 2.5 is not");
    refused(CALL(.kernel = "cube", ARGS(ARRAY("n", x), ARRAY("x", x), SHAPE("y", 2))),
            IG_ERR_ARGUMENT, "the array has 2 elements");
    refused(CALL(.kernel = "cube", ARGS(ARRAY("n", ig_float(2.5)), ARRAY("x", x), SHAPE("y", 2))),
            IG_ERR_DTYPE, "'n' is a int, but the array is f64; convert with astype");
    refused(&(ig_kernel_call){.source = "__global__ void k(float4 a, float *y) { y[0] = a.x; }",
                              .kernel = "k",
                              ARGS(ARRAY("a", ig_scalar(1, IG_F32)), SHAPE("y", 1))},
            IG_ERR_UNSUPPORTED, "'a' is a float4; in graphs kernels take arrays and numbers");
    refused(CALL(.kernel = "cube", ARGS(INT("n", 2), ARRAY("x", x), SHAPE("y", -2))), IG_ERR_SHAPE,
            "kernel: ");
    refused(CALL(.kernel = "cube", ARGS(INT("n", 2), ARRAY("x", NULL), SHAPE("y", 2))),
            IG_ERR_ARGUMENT, "the array for 'x' is NULL");
}

static void mistakes_of_a_run_are_told_there(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2);
    ig_array *y =
        one(CALL(.kernel = "fails", ARGS(ARRAY("x", ig_add(x, ig_float(3))), SHAPE("y", 1))));
    assert_int_equal(ig_eval(&y, 1), IG_ERR_DEVICE);
    assert_error(IG_ERR_DEVICE, "kernel 'fails': assertion failed: x[0] < 2, by thread (0, 0, 0)");
    assert_false(ig_is_evaluated(y));
    y = one(
        CALL(.kernel = "cube", ARGS(INT("n", 2), ARRAY("x", x), SHAPE("y", 2)), .block = {4096}));
    assert_int_not_equal(ig_eval(&y, 1), IG_OK);
    assert_error(IG_ERR_ARGUMENT, "[IG-THREADS]");
    expect(cube_of(x, NULL), (const float[]){1, 8}, 2);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    static const char text[] =
        "__global__ void f(int n, const float *x, float *y, float *z)"
        "{ int i = threadIdx.x; if (i < n) { y[i] = 2 * x[i]; z[i] += x[i]; } }\n"
        "__global__ void g(int n, const float *grad_y, float *grad_z, float *grad_x)"
        "{ int i = threadIdx.x; if (i < n) grad_x[i] = 2 * grad_y[i] + grad_z[i]; }\n";
    ig_array *x = floats((const float[]){1, 2}, 2);
    bool done = false;
    for (int n = 1; !done; n++) {
        ig_array *r[2], *g = NULL;
        ig_scope_begin();
        memory_fail_at(n);
        ig_kernel_call call = {.source = text,
                               .kernel = "f",
                               .gradient = &(ig_kernel_call){.kernel = "g"},
                               ARGS(INT("n", 2), ARRAY("x", x), SHAPE("y", 2), ARRAY("z", x))};
        done = ig_kernel(&call, r, 2) == 2 &&
               ig_grad(sum(ig_add(r[0], r[1])), &x, 1, &g) == IG_OK && ig_eval(&g, 1) == IG_OK;
        memory_fail_at(0);
        if (done)
            expect(g, (const float[]){4, 4}, 2);
        else
            assert_error(IG_ERR_MEMORY, "memory");
        ig_scope_end();
        assert_true(n < 100000);
    }
}

static void nothing_stays_behind(void **state)
{
    (void)state;
    ig_shutdown();
    const int64_t before = memory_live();
    ig_scope_begin();
    ig_array *x = floats((const float[]){1, 2}, 2), *g;
    assert_int_equal(ig_grad(sum(cube_of(x, &cube_grad)), &x, 1, &g), IG_OK);
    expect(g, (const float[]){3, 12}, 2);
    ig_scope_end();
    ig_shutdown();
    assert_int_equal(memory_live(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_result_is_an_array),
        TEST(arguments_come_in_order_too),
        TEST(a_number_may_be_an_array),
        TEST(views_are_put_in_order),
        TEST(several_results_are_one_launch),
        TEST(the_grid_follows_the_result),
        TEST(templates_are_named_with_their_arguments),
        TEST(kernels_of_one_name_never_mix),
        cmocka_unit_test_setup_teardown(an_include_counts_as_content, folder_begin, folder_end),
        TEST(equal_kernels_are_computed_once),
        TEST(a_loop_parses_once),
        TEST(variables_begin_anew),
        TEST(gradients_of_any_order),
        TEST(what_begins_as_an_array_has_a_gradient),
        TEST(gradients_of_several_results_add_up),
        TEST(a_missing_gradient_is_named),
        TEST(slices_are_launched_one_by_one),
        TEST(a_checkpoint_computes_it_again),
        TEST(a_compiled_kernel_outlives_its_nodes),
        TEST(right_kernels_pass),
        TEST(a_wrong_device_is_named),
        TEST(schedules_need_no_device),
        TEST(mistakes_are_told_when_it_is_made),
        TEST(mistakes_of_a_run_are_told_there),
        TEST(any_allocation_may_fail),
        TEST(nothing_stays_behind),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
