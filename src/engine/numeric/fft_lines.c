/* Complex Fourier transforms along an axis: nodes of kernels/fft.cu, two of them for long lines, or a convolution with a
 * chirp. See program/fft_plan.h. */
#include "engine/numeric/fft_lines.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/custom/library.h"
#include "engine/eval/engine.h"
#include "engine/numeric/fft_tables.h"
#include "engine/numeric/override_nodes.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"
#include <stdio.h>
#include <assert.h>
#include <string.h>

/* ---- nodes ---- */

/* A node: the transform of lines of n points of x, (parts, n, lines, 2). With `turned`, the results get the factors of two
 * steps. With `across`, x is (parts, lines, n, 2), and the result is (parts, n, lines, 2). */
typedef struct lines_call {
    int64_t n, lines;
    bool across, turned, backward;
    double scale;
} lines_call;

enum { N_N, N_LINES, N_ACROSS, N_TURNED, N_BACKWARD, N_SCALE, N_PART };
static_assert((int)N_PART < (int)LIBRARY_NUMBERS, "the numbers of a call");

static int build_again(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel kernel = {.file = "fft.cu", .build = build_again, .writes_all = true};

/* The shape of the kernel for a length, as definitions. */
typedef struct shape_of_block {
    int threads, lines;
    size_t shared_bytes; /* dynamic: more than a kernel's variables may have */
    char text[FFT_PASSES + 8][40];
    const char *define[FFT_PASSES + 9]; /* up to NULL */
    int n;
} shape_of_block;

static void define(shape_of_block *s, const char *name, int64_t value)
{
    snprintf(s->text[s->n], sizeof s->text[0], "%s=%lld", name, (long long)value);
    s->define[s->n] = s->text[s->n];
    s->n++;
}

static int64_t least(int64_t a, uint64_t limit)
{
    return limit && (uint64_t)a > limit ? (int64_t)limit : a;
}

static void shape_block(shape_of_block *s, int64_t n, bool across, ig_dtype part,
                        const backend_limits *limits)
{
    /* Lines next to each other are read together: four f32 pairs are a sector of memory, eight a whole piece. */
    enum { THREADS = 256, ACROSS = 8, STATIC_BYTES = 49152, DYNAMIC_BYTES = 98304 };
    const bool large = across && limits->shared_bytes >= DYNAMIC_BYTES;
    const int64_t shared = least(large ? DYNAMIC_BYTES : STATIC_BYTES, limits->shared_bytes);
    int radix[FFT_PASSES], each = 0;
    const int passes = fft_radices(n, radix);
    const int64_t per_line = n / radix[0], bytes = (n + n / 16 + 1) * (int64_t)ig_dtype_bytes(part);
    memset(s, 0, sizeof *s);
    for (int i = 0; i < passes; i++) {
        const int points = (int)((n / radix[i] + per_line - 1) / per_line) * radix[i];
        each = points > each ? points : each;
        char name[16];
        snprintf(name, sizeof name, "R%d", i);
        define(s, name, radix[i]);
    }
    /* A thread with more points needs more than the 64 registers that 1024 threads have. */
    const int64_t most = least(large && each <= 16 ? 1024 : 512, limits->threads);
    s->lines = (int)(THREADS / per_line);
    if (across && s->lines < ACROSS)
        s->lines = (int)least(most / per_line, ACROSS);
    if (s->lines > shared / bytes)
        s->lines = (int)(shared / bytes);
    s->lines = s->lines > 32 ? 32 : s->lines < 1 ? 1 : s->lines;
    while (s->lines & (s->lines - 1))
        s->lines &= s->lines - 1;
    s->threads = (int)per_line * s->lines;
    define(s, "POINTS", n);
    define(s, "PASSES", passes);
    define(s, "PER_LINE", per_line);
    define(s, "EACH", each);
    define(s, "LINES", s->lines);
    s->shared_bytes = bytes * s->lines > STATIC_BYTES ? (size_t)(bytes * s->lines) : 0;
    define(s, "IS_DYNAMIC", s->shared_bytes != 0);
    s->define[s->n++] = part == IG_F64 ? "REAL=double" : "REAL=float";
    s->define[s->n++] = part == IG_F64 ? "PAIR=double2" : "PAIR=float2";
}

/* The factors belong to the device of x. */
static ig_array *call_lines(ig_array *x, const lines_call *c, ig_array *w, ig_array *turn)
{
    const ig_dtype part = (ig_dtype)x->dtype;
    const int64_t n = c->n, lines = c->lines, parts = x->view.shape[0], size = n * lines;
    shape_of_block block;
    shape_block(&block, n, lines > 1, part,
                &(x->root->device ? engine_device_of(x) : engine_device())->limits);
    library_args args = args_like(NULL, 0);
    ARGS_ARRAYS(&args, x, w, turn ? turn : w);
    ARGS_RESULT(&args, parts, n, lines, 2);
    ARGS_INTS(&args, parts * lines, lines, size, c->across ? n : 1, c->across ? 1 : lines, size, 1,
              lines, turn ? fft_turns(n) : 0, c->backward);
    args_float(&args, c->scale);
    ARGS_INTS(&args, n);
    args.shared_bytes = block.shared_bytes;
    const int64_t blocks = (parts * lines + block.lines - 1) / block.lines;
    int64_t number[LIBRARY_NUMBERS] = {[N_N] = n,
                                       [N_LINES] = lines,
                                       [N_ACROSS] = c->across,
                                       [N_TURNED] = c->turned,
                                       [N_BACKWARD] = c->backward,
                                       [N_PART] = part};
    memcpy(&number[N_SCALE], &c->scale, sizeof c->scale);
    ig_array *out[LIBRARY_RESULTS];
    return args_call(&args, &kernel, "fft_lines", block.define, blocks, block.threads, number, out)
               ? out[0]
               : NULL;
}

static ig_array *lines_node(ig_array *x, const lines_call *c)
{
    if (!x)
        return NULL;
    const ig_dtype part = (ig_dtype)x->dtype;
    const char *before = array_device_follow(x);
    const int64_t enough = fft_enough(c->turned || c->across ? c->n * c->lines : c->n, part);
    ig_array *w = fft_table_get(FFT_FACTORS, c->n, 0, part, enough);
    ig_array *turn = w && c->turned ? fft_table_get(FFT_TURN, c->n, c->lines, part, enough) : NULL;
    ig_array *y = w && (turn || !c->turned) ? call_lines(x, c, w, turn) : NULL;
    array_device_set(before);
    ig_release(w);
    ig_release(turn);
    return y;
}

/* For vmap: one more axis before the parts. */
static int build_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    lines_call c = {.n = number[N_N],
                    .lines = number[N_LINES],
                    .across = number[N_ACROSS] != 0,
                    .turned = number[N_TURNED] != 0,
                    .backward = number[N_BACKWARD] != 0};
    memcpy(&c.scale, &number[N_SCALE], sizeof c.scale);
    const int64_t *shape = in[0]->view.shape;
    const int64_t flat[4] = {shape[0] * shape[1], shape[2], shape[3], 2};
    const int64_t result[5] = {shape[0], shape[1], c.n, c.lines, 2};
    ig_array *y = lines_node(ig_reshape(in[0], (ig_ints){flat, 4}), &c);
    return op_one(out, ig_reshape(y, (ig_ints){result, 5}));
}

/* ---- long lines ---- */

ig_array *fft_smooth(ig_array *x, bool backward, double scale)
{
    if (!x)
        return NULL;
    const int64_t parts = x->view.shape[0], n = x->view.shape[1], lines = x->view.shape[2];
    const ig_dtype part = (ig_dtype)x->dtype;
    if (n <= fft_line_most(part))
        return lines_node(x, &(lines_call){n, lines, false, false, backward, scale});
    if (lines > 1) {
        x = ig_permute_dims(x, IG_AXES(0, 2, 1, 3));
        x = fft_smooth(ig_reshape(x, IG_SHAPE(parts * lines, n, 1, 2)), backward, scale);
        return ig_permute_dims(ig_reshape(x, IG_SHAPE(parts, lines, n, 2)), IG_AXES(0, 2, 1, 3));
    }
    const int64_t first = fft_first(n, part), second = n / first;
    x = lines_node(ig_reshape(x, IG_SHAPE(parts, first, second, 2)),
                   &(lines_call){first, second, false, true, backward, 1});
    if (second <= fft_line_most(part)) {
        x = lines_node(x, &(lines_call){second, first, true, false, backward, scale});
    } else {
        x = fft_smooth(ig_reshape(x, IG_SHAPE(parts * first, second, 1, 2)), backward, scale);
        x = ig_permute_dims(ig_reshape(x, IG_SHAPE(parts, first, second, 2)), IG_AXES(0, 2, 1, 3));
    }
    return ig_reshape(x, IG_SHAPE(parts, n, 1, 2));
}

/* ---- large primes ---- */

/* The same for any n: chirp_k times the sum over j of (x_j chirp_j) conj(chirp_(k - j)). */
static ig_array *chirped(ig_array *x, bool backward, double scale)
{
    const int64_t parts = x->view.shape[0], n = x->view.shape[1], lines = x->view.shape[2];
    const int64_t rows = parts * lines, m = fft_good_length(2 * n - 1);
    const ig_dtype part = (ig_dtype)x->dtype;
    const int sign = backward ? -1 : 1;
    const char *before = array_device_follow(x);
    ig_array *chirp = fft_table_get(FFT_CHIRP, n, 0, part, fft_enough(n, part));
    ig_array *chirps = chirp ? fft_table_get(FFT_CHIRPS, n, m, part, fft_enough(n, part)) : NULL;
    array_device_set(before);
    if (lines > 1)
        x = ig_permute_dims(x, IG_AXES(0, 2, 1, 3));
    x = fft_times(ig_reshape(x, IG_SHAPE(rows, n, 2)), chirp, m, (fft_signs){sign, 1}, 1);
    x = fft_smooth(ig_reshape(x, IG_SHAPE(rows, m, 1, 2)), false, 1);
    x = fft_times(ig_reshape(x, IG_SHAPE(rows, m, 2)), chirps, m, (fft_signs){1, 1}, 1);
    x = fft_smooth(ig_reshape(x, IG_SHAPE(rows, m, 1, 2)), true, 1);
    x = fft_times(ig_reshape(x, IG_SHAPE(rows, m, 2)), chirp, n, (fft_signs){1, sign}, scale);
    ig_release(chirp);
    ig_release(chirps);
    x = ig_reshape(x, IG_SHAPE(parts, lines, n, 2));
    return ig_permute_dims(x, IG_AXES(0, 2, 1, 3));
}

/* ---- any axis, with a gradient ---- */

typedef struct transform {
    int axis;
    bool backward;
    double scale;
} transform;

ig_array *fft_values(ig_array *pairs, int axis, bool backward, double scale, bool own)
{
    if (!pairs)
        return NULL;
    const view *v = &pairs->view;
    int64_t parts = 1, lines = 1, n = v->shape[axis], shape[IG_MAX_NDIM];
    for (int a = 0; a < v->ndim - 1; a++)
        *(a < axis ? &parts : &lines) *= a == axis ? 1 : v->shape[a];
    memcpy(shape, v->shape, sizeof shape);
    const int ndim = v->ndim;
    ig_array *x = ig_reshape(pairs, IG_SHAPE(parts, n, lines, 2));
    if (!x || parts * lines == 0)
        return x ? pairs : NULL;
    if (n == 1)
        return scale == 1 ? pairs : ig_multiply(pairs, ig_float(scale));
    ig_array *y;
    if (!own && override_fft(x, backward, &y))
        x = scale == 1 ? y : ig_multiply(y, ig_float(scale));
    else
        x = fft_is_smooth(n) ? fft_smooth(x, backward, scale) : chirped(x, backward, scale);
    return ig_reshape(x, (ig_ints){shape, ndim});
}

static ig_status pull(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                      ig_array **grads)
{
    (void)inputs, (void)n, (void)out;
    const transform *t = context;
    grads[0] = fft_pairs(g, t->axis, !t->backward, t->scale);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

ig_array *fft_pairs(ig_array *pairs, int axis, bool backward, double scale)
{
    transform *kept = memory_get(sizeof *kept);
    ig_array *y = kept ? fft_values(pairs, axis, backward, scale, false) : NULL;
    if (!y) {
        memory_free(kept);
        return NULL;
    }
    *kept = (transform){axis, backward, scale};
    return ig_custom_grad(y, &pairs, 1, pull, kept, memory_free);
}
