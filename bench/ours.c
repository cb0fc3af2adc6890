/* The benchmark process of Ingot: reads commands and answers each with one line.
 *
 *   machine                              JSON: the device, as the library sees it
 *   peak DTYPE                           GFLOP/s of fused multiply-adds in registers, all threads
 *   copy                                 GB/s read and written by a copy in memory, all threads
 *   prepare WORK DTYPE DIMS [FILE...]    loads the inputs; DIMS is "-" or "a,b,c"
 *   run N                                milliseconds of one run, the mean of N
 *   save FILE                            one more run, its answer as .npy (f16 and bf16 as f32)
 *   memory                               bytes of arrays now held, and the most ever held
 *
 * Answers are "ok ..." or "error ...". A run builds the expression from evaluated inputs, as a loop of a
 * program does, and ends when the answer is in memory. Only the public header is used. */
#include "ingot.h"
#include "bench/limits.h"
#include "train.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_INPUTS = 16, MAX_DIMS = 8, MAX_WORDS = 24, LINE_BYTES = 8192 };

/* The inputs of a work, which have one dtype except for indices, and its other numbers. */
struct prepared {
    ig_array *in[MAX_INPUTS];
    int n_in;
    int64_t dims[MAX_DIMS];
    int n_dims;
    ig_dtype dtype;
    struct training *training; /* for works that are a training step */
};

typedef ig_array *build_fn(const struct prepared *p);

/* ---- the works ---------------------------------------------------------------------------------- */

static ig_array *build_matmul(const struct prepared *p) { return ig_matmul(p->in[0], p->in[1]); }

static ig_array *build_gram(const struct prepared *p)
{
    return ig_matmul(ig_matrix_transpose(p->in[0]), p->in[0]);
}

/* x (M, K), weight (N, K): the layout in which models store a linear layer. */
static ig_array *build_linear(const struct prepared *p)
{
    return ig_matmul(p->in[0], ig_matrix_transpose(p->in[1]));
}

/* Bytes: x minus a zero point, scaled. */
static ig_array *build_linear_bytes(const struct prepared *p)
{
    ig_array *x = ig_subtract(ig_astype(p->in[0], IG_I32), ig_int(7));
    ig_array *weight = ig_matrix_transpose(ig_astype(p->in[1], IG_I32));
    return ig_multiply(ig_astype(ig_matmul(x, weight), IG_F32), ig_float(0.01));
}

static ig_array *build_relu_fma(const struct prepared *p)
{
    return ig_relu(ig_add(ig_multiply(p->in[0], p->in[1]), p->in[2]));
}

static ig_array *build_chain(const struct prepared *p)
{
    ig_array *x = p->in[0], *y = p->in[1];
    ig_array *root = ig_sqrt(ig_abs(ig_add(ig_multiply(x, y), p->in[2])));
    return ig_maximum(ig_subtract(root, x), y);
}

/* Shapes broadcast: a row, a column, a scalar. */
static ig_array *build_add(const struct prepared *p) { return ig_add(p->in[0], p->in[1]); }

static ig_array *every_second(ig_array *x)
{
    return ig_slice(x, IG_SHAPE(0, 0), IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1)), IG_SHAPE(1, 2));
}

static ig_array *build_add_strided(const struct prepared *p)
{
    return ig_add(every_second(p->in[0]), every_second(p->in[1]));
}

static ig_array *build_add_transposed(const struct prepared *p)
{
    return ig_add(p->in[0], ig_matrix_transpose(p->in[1]));
}

static ig_array *build_gelu(const struct prepared *p) { return ig_gelu(p->in[0], NULL); }

static ig_array *build_sum(const struct prepared *p)
{
    return ig_sum(p->in[0], IG_NONE, IG_DTYPE_NONE, false);
}

static ig_array *build_sum_outer(const struct prepared *p)
{
    return ig_sum(p->in[0], IG_AXES(0), IG_DTYPE_NONE, false);
}

/* Of all rows but the first: a range of the differences. */
static ig_array *build_deviation(const struct prepared *p)
{
    ig_array *x = ig_abs(ig_subtract(p->in[0], p->in[1]));
    return ig_mean(ig_slice(x, IG_SHAPE(1), IG_SHAPE(INT64_MAX), IG_NONE), IG_NONE, false);
}

static ig_array *build_softmax(const struct prepared *p)
{
    return ig_softmax(p->in[0], IG_AXES(-1));
}

static ig_array *build_layer_norm(const struct prepared *p)
{
    return ig_layer_norm(p->in[0], p->in[1], p->in[2], IG_AXES(-1), 1e-5);
}

static ig_array *build_attention(const struct prepared *p)
{
    return ig_scaled_dot_product_attention(p->in[0], p->in[1], p->in[2], NULL, false, 0);
}

static ig_array *build_conv(const struct prepared *p)
{
    return ig_conv2d(p->in[0], p->in[1], NULL, IG_NONE, IG_SHAPE(1, 1), IG_NONE, 1);
}

static ig_array *build_depthwise(const struct prepared *p)
{
    return ig_conv2d(p->in[0], p->in[1], NULL, IG_NONE, IG_SHAPE(1, 1), IG_NONE,
                     (int)ig_dim(p->in[0], 1));
}

/* Every second window. */
static ig_array *build_depthwise_2(const struct prepared *p)
{
    return ig_conv2d(p->in[0], p->in[1], NULL, IG_SHAPE(2, 2), IG_SHAPE(1, 1), IG_NONE,
                     (int)ig_dim(p->in[0], 1));
}

static ig_array *build_max_pool(const struct prepared *p)
{
    return ig_max_pool2d(p->in[0], IG_SHAPE(2, 2), IG_NONE, IG_NONE, IG_NONE, false);
}

/* Windows of 3 x 3 that overlap, as at the beginning of ResNet. */
static ig_array *build_max_pool_3(const struct prepared *p)
{
    return ig_max_pool2d(p->in[0], IG_SHAPE(3, 3), IG_SHAPE(2, 2), IG_SHAPE(1, 1), IG_NONE, false);
}

/* Boxes are given by a corner and their size. */
static ig_array *build_roi_align(const struct prepared *p)
{
    const ig_index first[] = {{.kind = IG_INDEX_REST},
                              {.kind = IG_INDEX_SLICE, .start = 0, .stop = 2, .step = 1}};
    const ig_index second[] = {{.kind = IG_INDEX_REST},
                               {.kind = IG_INDEX_SLICE, .start = 2, .stop = 4, .step = 1}};
    ig_array *corner = ig_get(p->in[1], first, 2);
    ig_array *ends[] = {corner, ig_add(corner, ig_get(p->in[1], second, 2))};
    ig_array *image = ig_zeros(IG_SHAPE(ig_dim(p->in[1], 0)), IG_I64);
    return ig_roi_align(p->in[0], ig_astype(ig_concat(ends, 2, IG_AXES(1)), IG_F32), image,
                        IG_SHAPE(7), 1, 2, false, "mean");
}

static ig_array *build_cumulative_sum(const struct prepared *p)
{
    return ig_cumulative_sum(p->in[0], IG_NONE, IG_DTYPE_NONE, false);
}

static ig_array *build_sort(const struct prepared *p) { return ig_sort(p->in[0], -1, false, true); }

/* ---- linear algebra, transforms, statistics. Both results of eigh and svd are computed; the first is the answer. */

/* answer, so that other is computed as well. */
static ig_array *beside(ig_array *answer, ig_array *other)
{
    ig_array *sum = ig_sum(other, IG_NONE, IG_DTYPE_NONE, false);
    return ig_add(answer, ig_multiply(sum, ig_float(0)));
}

static ig_array *build_cholesky(const struct prepared *p) { return ig_cholesky(p->in[0], false); }
static ig_array *build_solve(const struct prepared *p) { return ig_solve(p->in[0], p->in[1]); }
static ig_array *build_inv(const struct prepared *p) { return ig_inv(p->in[0]); }

static ig_array *build_qr(const struct prepared *p)
{
    ig_array *out[2];
    const ig_arg arg = {.kind = IG_ARG_ARRAY, .u.array = p->in[0]};
    return ig_call("qr", &arg, 1, out, 2) == 2 ? beside(ig_abs(out[1]), out[0]) : NULL;
}

static ig_array *build_eigh(const struct prepared *p)
{
    ig_array *out[2];
    return ig_eigh(p->in[0], NULL, out) == 2 ? beside(out[0], out[1]) : NULL;
}

static ig_array *build_svd(const struct prepared *p)
{
    ig_array *out[3];
    return ig_svd(p->in[0], false, true, out, 3) == 3 ? beside(beside(out[1], out[0]), out[2])
                                                      : NULL;
}

static ig_array *build_fft(const struct prepared *p)
{
    return ig_fft(p->in[0], -1, -1, "backward");
}
static ig_array *build_fft2(const struct prepared *p)
{
    return ig_fft2(p->in[0], IG_NONE, IG_AXES(-2, -1), "backward");
}
static ig_array *build_rfft2(const struct prepared *p)
{
    return ig_rfft2(p->in[0], IG_NONE, IG_AXES(-2, -1), "backward");
}

static ig_array *build_median(const struct prepared *p)
{
    return ig_median(p->in[0], IG_NONE, false);
}
static ig_array *build_quantile(const struct prepared *p)
{
    return ig_quantile(p->in[0], ig_float(0.3), IG_NONE, "linear", false, NULL);
}
static ig_array *build_histogram(const struct prepared *p)
{
    ig_array *out[2];
    return ig_histogram(p->in[0], ig_int(100), NULL, false, NULL, out) == 2 ? out[0] : NULL;
}
static ig_array *build_bincount(const struct prepared *p)
{
    return ig_bincount(p->in[0], NULL, 0, -1);
}
static ig_array *build_isin(const struct prepared *p)
{
    return ig_sum(ig_isin(p->in[0], p->in[1], false), IG_NONE, IG_DTYPE_NONE, false);
}
static ig_array *build_unique(const struct prepared *p) { return ig_unique_values(p->in[0]); }

static ig_array *build_argsort(const struct prepared *p)
{
    return ig_argsort(p->in[0], -1, false, true);
}

static ig_array *build_topk(const struct prepared *p)
{
    ig_array *out[2];
    return ig_topk(p->in[0], p->dims[0], -1, out) == 2 ? out[0] : NULL;
}

static ig_array *build_uniform_mean(const struct prepared *p)
{
    const ig_ints shape = {p->dims, p->n_dims};
    return ig_mean(ig_uniform(ig_key(1, NULL), shape, p->dtype, NULL, NULL), IG_NONE, false);
}

/* A flattened transpose cannot be a view, so this copies. */
static ig_array *build_transpose(const struct prepared *p)
{
    return ig_reshape(ig_matrix_transpose(p->in[0]), IG_SHAPE(-1));
}

static ig_array *build_embedding(const struct prepared *p)
{
    return ig_embedding(p->in[0], p->in[1]);
}

static ig_array *build_embedding_add(const struct prepared *p)
{
    return ig_add(ig_embedding(p->in[0], p->in[1]), p->in[2]);
}

static ig_array *build_vecdot(const struct prepared *p)
{
    return ig_vecdot(p->in[0], p->in[1], -1);
}

/* x, then weight (in, out) and bias of each layer; relu between the layers. */
static ig_array *build_mlp(const struct prepared *p)
{
    ig_array *y = p->in[0];
    for (int i = 1; i + 1 < p->n_in; i += 2) {
        y = ig_add(ig_matmul(y, p->in[i]), p->in[i + 1]);
        if (i + 2 < p->n_in)
            y = ig_relu(y);
    }
    return y;
}

static ig_array *build_graph10(const struct prepared *p)
{
    ig_array *a = p->in[0], *b = p->in[1];
    ig_array *y = ig_multiply(ig_add(a, b), a);
    y = ig_negative(ig_maximum(ig_subtract(y, b), a));
    y = ig_multiply(ig_add(ig_abs(y), b), a);
    return ig_square(ig_minimum(y, b));
}

static ig_array *build_step(const struct prepared *p) { return training_step(p->training); }

static ig_array *build_graph20(const struct prepared *p)
{
    ig_array *y = build_graph10(p);
    const struct prepared next = {.in = {y, p->in[1]}, .n_in = 2};
    return build_graph10(&next);
}

/* Twenty ops that do not fuse: running sums, each a program of its own. */
static ig_array *build_graph20_launches(const struct prepared *p)
{
    ig_array *y = p->in[0];
    for (int i = 0; i < 20 && y; i++)
        y = ig_cumulative_sum(y, IG_SHAPE(0), IG_DTYPE_NONE, false);
    return y;
}

/* ---- DistilBERT: embeddings and six blocks; works.py has the inputs ---- */

enum { IDS, WORDS, PLACES, SQUARES, SQUARE_BIAS, UP, UP_BIAS, DOWN, DOWN_BIAS, NORM, NORM_BIAS };

/* Element i of a stack of parameters, or element (i, j). */
static ig_array *of_stack(ig_array *stack, int64_t i, int64_t j)
{
    const ig_index index[2] = {{.kind = IG_INDEX_INT, .start = i},
                               {.kind = IG_INDEX_INT, .start = j}};
    return ig_get(stack, index, j < 0 ? 1 : 2);
}

static ig_array *linear_of(ig_array *x, ig_array *weight, ig_array *bias)
{
    return ig_add(ig_tensordot(x, weight, IG_AXES(-1, 1)), bias);
}

static ig_array *norm_of(const struct prepared *p, ig_array *x, int64_t i)
{
    return ig_layer_norm(x, of_stack(p->in[NORM], i, -1), of_stack(p->in[NORM_BIAS], i, -1),
                         IG_AXES(-1), 1e-12);
}

static ig_array *square_of(const struct prepared *p, ig_array *x, int64_t layer, int64_t which)
{
    return linear_of(x, of_stack(p->in[SQUARES], layer, which),
                     of_stack(p->in[SQUARE_BIAS], layer, which));
}

/* x (N, T, 768): query, key and value have 12 heads of 64. */
static ig_array *self_attention(const struct prepared *p, ig_array *x, int64_t layer)
{
    const int64_t n = ig_dim(x, 0), t = ig_dim(x, 1), width = ig_dim(x, 2), heads = width / 64;
    ig_array *part[3];
    for (int i = 0; i < 3; i++)
        part[i] = ig_permute_dims(
            ig_reshape(square_of(p, x, layer, i), IG_SHAPE(n, t, heads, width / heads)),
            IG_AXES(0, 2, 1, 3));
    ig_array *y = ig_scaled_dot_product_attention(part[0], part[1], part[2], NULL, false, 0);
    y = ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), IG_SHAPE(n, t, width));
    return square_of(p, y, layer, 3);
}

static ig_array *build_distilbert(const struct prepared *p)
{
    const ig_index places = {
        .kind = IG_INDEX_SLICE, .start = 0, .stop = ig_dim(p->in[IDS], 1), .step = 1};
    ig_array *x = ig_add(ig_embedding(p->in[IDS], p->in[WORDS]), ig_get(p->in[PLACES], &places, 1));
    x = norm_of(p, x, 0);
    for (int64_t i = 0; i < ig_dim(p->in[UP], 0); i++) {
        x = norm_of(p, ig_add(x, self_attention(p, x, i)), 1 + 2 * i);
        ig_array *y = linear_of(x, of_stack(p->in[UP], i, -1), of_stack(p->in[UP_BIAS], i, -1));
        y = linear_of(ig_gelu(y, "none"), of_stack(p->in[DOWN], i, -1),
                      of_stack(p->in[DOWN_BIAS], i, -1));
        x = norm_of(p, ig_add(x, y), 2 + 2 * i);
    }
    return x;
}

static const struct work {
    const char *name;
    build_fn *build;
    bool eval_only; /* only ig_eval is timed, not the building before it */
} works[] = {
    {"matmul", build_matmul, false},
    {"gram", build_gram, false},
    {"linear", build_linear, false},
    {"linear_bytes", build_linear_bytes, false},
    {"relu_fma", build_relu_fma, false},
    {"chain", build_chain, false},
    {"add", build_add, false},
    {"add_strided", build_add_strided, false},
    {"add_transposed", build_add_transposed, false},
    {"gelu", build_gelu, false},
    {"sum", build_sum, false},
    {"sum_outer", build_sum_outer, false},
    {"deviation", build_deviation, false},
    {"softmax", build_softmax, false},
    {"layer_norm", build_layer_norm, false},
    {"attention", build_attention, false},
    {"conv", build_conv, false},
    {"depthwise", build_depthwise, false},
    {"depthwise_2", build_depthwise_2, false},
    {"max_pool", build_max_pool, false},
    {"max_pool_3", build_max_pool_3, false},
    {"roi_align", build_roi_align, false},
    {"cumulative_sum", build_cumulative_sum, false},
    {"sort", build_sort, false},
    {"cholesky", build_cholesky, false},
    {"solve", build_solve, false},
    {"inv", build_inv, false},
    {"qr", build_qr, false},
    {"eigh", build_eigh, false},
    {"svd", build_svd, false},
    {"fft", build_fft, false},
    {"fft2", build_fft2, false},
    {"rfft2", build_rfft2, false},
    {"median", build_median, false},
    {"quantile", build_quantile, false},
    {"histogram", build_histogram, false},
    {"bincount", build_bincount, false},
    {"isin", build_isin, false},
    {"unique", build_unique, false},
    {"argsort", build_argsort, false},
    {"topk", build_topk, false},
    {"uniform_mean", build_uniform_mean, false},
    {"transpose", build_transpose, false},
    {"embedding", build_embedding, false},
    {"embedding_add", build_embedding_add, false},
    {"vecdot", build_vecdot, false},
    {"mlp", build_mlp, false},
    {"distilbert", build_distilbert, false},
    {"graph10", build_graph10, false},
    {"graph10_eval", build_graph10, true},
    {"graph20", build_graph20, false},
    {"graph20_eval", build_graph20, true},
    {"graph20_launches_eval", build_graph20_launches, true},
    {"train_mlp", build_step, false},
    {"train_mlp_compiled", build_step, false},
    {"train_cnn", build_step, false},
};

/* A name that ends in "_own" is the same work without libraries of the system for linear algebra and transforms. */
static const struct work *work_find(const char *name)
{
    static const char own[] = "_own";
    static char before[16];
    const char *now = getenv("IG_OVERRIDES");
    size_t n = strlen(name);
    const bool is_own = n > sizeof own - 1 && strcmp(name + n - (sizeof own - 1), own) == 0;
    if (!before[0])
        snprintf(before, sizeof before, "%s", now && *now ? now : "auto");
    setenv("IG_OVERRIDES", is_own ? "off" : before, 1);
    n -= is_own ? sizeof own - 1 : 0;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strlen(works[i].name) == n && memcmp(works[i].name, name, n) == 0)
            return &works[i];
    return NULL;
}

/* ---- commands ----------------------------------------------------------------------------------- */

static struct prepared prepared;
static const struct work *current;
static bool on_device; /* BENCH_DEVICE is its name */

static void answer_error(const char *format, ...) IG_PRINTF(1, 2);
static void answer_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("error ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

static void answer_failure(void)
{
    const char *message = ig_error(NULL);
    answer_error("%s", message ? message : "failed without a message");
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void inputs_release(void)
{
    training_free(prepared.training);
    for (int i = 0; i < prepared.n_in; i++)
        ig_release(prepared.in[i]);
    memset(&prepared, 0, sizeof prepared);
    current = NULL;
}

/* Loads one input; floats take the work's dtype, indices stay as they are. */
static ig_array *input_load(const char *path, ig_dtype dtype)
{
    ig_scope_begin();
    ig_array *x = ig_load(path);
    if (x && ig_isdtype(ig_dtype_of(x), "real floating"))
        x = ig_astype(x, dtype);
    if (x && ig_eval(&x, 1) == IG_OK)
        ig_retain(x);
    else
        x = NULL;
    ig_scope_end();
    return x;
}

static void command_prepare(char **word, int n)
{
    inputs_release();
    if (n < 4 || n - 4 > MAX_INPUTS) {
        answer_error("prepare WORK DTYPE DIMS [FILE...]");
        return;
    }
    const struct work *work = work_find(word[1]);
    prepared.dtype = ig_dtype_parse(word[2]);
    if (!work || prepared.dtype == IG_DTYPE_NONE) {
        answer_error("unknown work %s or dtype %s", word[1], word[2]);
        return;
    }
    for (char *text = word[3]; *text && *text != '-' && prepared.n_dims < MAX_DIMS;) {
        prepared.dims[prepared.n_dims++] = strtoll(text, &text, 10);
        if (*text == ',')
            text++;
    }
    for (int i = 4; i < n; i++) {
        ig_array *x = input_load(word[i], prepared.dtype);
        if (!x) {
            answer_failure();
            inputs_release();
            return;
        }
        prepared.in[prepared.n_in++] = x;
    }
    if (work->build == build_step) {
        prepared.training = training_new(work->name, prepared.in, prepared.n_in);
        if (!prepared.training) {
            answer_failure();
            inputs_release();
            return;
        }
    }
    current = work;
    printf("ok\n");
}

/* One run. Returns the milliseconds that count; negative on failure. On a device a run ends when the device is
 * done, unless only the evaluation is timed: that is over when its launches are queued. */
static double run_once(void)
{
    ig_scope_begin();
    double start = now_ms();
    ig_array *y = current->build(&prepared);
    if (current->eval_only)
        start = now_ms();
    bool done = y && ig_eval(&y, 1) == IG_OK;
    double stop = now_ms();
    if (on_device) {
        done = done && ig_synchronize(NULL) == IG_OK;
        stop = current->eval_only ? stop : now_ms();
    }
    ig_scope_end();
    return done ? stop - start : -1;
}

static void command_run(char **word, int n)
{
    const long count = n > 1 ? strtol(word[1], NULL, 10) : 1;
    if (!current || count < 1) {
        answer_error("run N, after prepare");
        return;
    }
    double inner = 0;
    const double start = now_ms();
    for (long i = 0; i < count; i++) {
        const double ms = run_once();
        if (ms < 0) {
            answer_failure();
            return;
        }
        inner += ms;
    }
    /* The scopes count too, unless only the evaluation is timed. */
    const double total = current->eval_only ? inner : now_ms() - start;
    printf("ok %.9g\n", total / (double)count);
}

/* The answer of a training is that of a new training, so that the number of timed steps does not matter. */
static ig_array *answer_training(void)
{
    struct training *t = training_new(current->name, prepared.in, prepared.n_in);
    ig_array *y = t ? training_answer(t) : NULL;
    training_free(t);
    return y;
}

static void command_save(char **word, int n)
{
    if (!current || n < 2) {
        answer_error("save FILE, after prepare");
        return;
    }
    ig_scope_begin();
    ig_array *y = prepared.training ? answer_training() : current->build(&prepared);
    if (y && (ig_dtype_of(y) == IG_F16 || ig_dtype_of(y) == IG_BF16))
        y = ig_astype(y, IG_F32);
    if (y && ig_save(word[1], y) == IG_OK)
        printf("ok\n");
    else
        answer_failure();
    ig_scope_end();
}

static void command_machine(void)
{
    ig_device_info d = {0};
    if (ig_device_get(0, &d) != IG_OK) {
        answer_failure();
        return;
    }
    printf("ok {\"model\": \"%s\", \"level\": \"%s\", \"levels\": \"%s\", \"cores\": %d, "
           "\"threads\": %d, \"quota\": %g, \"memory_bytes\": %llu, "
           "\"cache_bytes\": [%llu, %llu, %llu], \"ingot\": \"%s\"}\n",
           d.model, d.level, d.levels, d.cores, d.threads, d.quota, (unsigned long long)d.memory,
           (unsigned long long)d.cache[0], (unsigned long long)d.cache[1],
           (unsigned long long)d.cache[2], ig_version());
}

static void command_limit(char **word, int n)
{
    const bool copy = strcmp(word[0], "copy") == 0;
    const ig_dtype dtype = n > 1 ? ig_dtype_parse(word[1]) : IG_F32;
    const double limit = copy ? limit_copy(ig_threads()) : limit_fma(dtype, ig_threads());
    if (limit > 0)
        printf("ok %.6g\n", limit);
    else
        answer_error("no such limit here");
}

static void command_run_one(char **word, int n)
{
    if (strcmp(word[0], "prepare") == 0)
        command_prepare(word, n);
    else if (strcmp(word[0], "run") == 0)
        command_run(word, n);
    else if (strcmp(word[0], "save") == 0)
        command_save(word, n);
    else if (strcmp(word[0], "peak") == 0 || strcmp(word[0], "copy") == 0)
        command_limit(word, n);
    else if (strcmp(word[0], "machine") == 0)
        command_machine();
    else if (strcmp(word[0], "memory") == 0)
        printf("ok %llu %llu\n", (unsigned long long)ig_memory_used(),
               (unsigned long long)ig_memory_peak());
    else
        answer_error("unknown command %s", word[0]);
}

int main(void)
{
    static char line[LINE_BYTES];
    const char *device = getenv("BENCH_DEVICE");
    on_device = device && *device;
    if (on_device && ig_set_device(device) != IG_OK) {
        fprintf(stderr, "%s\n", ig_error(NULL));
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        char *word[MAX_WORDS], *rest = line;
        int n = 0;
        for (char *w; n < MAX_WORDS && (w = strtok_r(rest, " \t\n", &rest)); n++)
            word[n] = w;
        if (n > 0)
            command_run_one(word, n);
        fflush(stdout);
    }
    inputs_release();
    ig_shutdown();
    return 0;
}
