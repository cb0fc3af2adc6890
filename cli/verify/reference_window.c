/* Convolutions and pooling of (N, C, spatial...): plain loops over three spatial axes. Axes that the op does
 * not have get length 1. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

typedef struct window {
    int n;                   /* number of spatial axes of the op */
    int64_t x[3], kernel[3]; /* lengths; the op's axes are the last n */
    int64_t stride, padding, dilation, groups, extra;
    bool bias, ceil_mode, count_pad;
    int64_t out[3];
} window;

static const struct window_case {
    int64_t stride, padding, dilation, groups, extra;
    bool bias, ceil_mode, count_pad;
} cases[] = {{1, 1, 1, 1, 0, true, false, true},
             {2, 1, 1, 2, 1, false, true, false},
             {3, 0, 2, 1, 0, true, false, true},
             {1, 0, 1, 4, 0, false, true, true}};
enum { CASES = sizeof cases / sizeof *cases, CHANNELS = 4, BATCH = 2, EACH = 3 };

static bool window_of(const problem *p, int variant, window *w)
{
    static const int64_t lengths[] = {4, 5, 7}, kernels[] = {2, 2, 3};
    if (variant >= (p->quick ? 2 : CASES) || (p->mode != MODE_PLAIN && variant > 0))
        return false;
    const struct window_case *c = &cases[variant];
    *w = (window){.stride = c->stride,
                  .padding = c->padding,
                  .dilation = c->dilation,
                  .groups = c->groups,
                  .extra = c->extra,
                  .bias = c->bias,
                  .ceil_mode = c->ceil_mode,
                  .count_pad = c->count_pad};
    w->n = p->op[strlen(p->op) - 2] - '0';
    for (int a = 0; a < 3; a++) {
        const bool own = a >= 3 - w->n;
        w->x[a] = own ? lengths[a] : 1;
        w->kernel[a] = own ? kernels[a] : 1;
    }
    if (w->n == 1)
        w->x[2] = 33;
    return true;
}

static bool is_own(const window *w, int a) { return a >= 3 - w->n; }

/* (first, second, spatial...) with the op's spatial axes only. */
static ig_ints shape_of(const window *w, int64_t first, int64_t second, const int64_t *spatial,
                        int64_t *room)
{
    room[0] = first;
    room[1] = second;
    memcpy(room + 2, spatial + 3 - w->n, (size_t)w->n * sizeof *room);
    return (ig_ints){room, 2 + w->n};
}

static real at5(const tensor *t, int64_t a, int64_t b, const int64_t *i, const int64_t *length,
                int64_t second)
{
    return t->v[(((a * second + b) * length[0] + i[0]) * length[1] + i[1]) * length[2] + i[2]];
}

static int64_t stride_of(const window *w, int a) { return is_own(w, a) ? w->stride : 1; }
static int64_t padding_of(const window *w, int a) { return is_own(w, a) ? w->padding : 0; }

/* The position in x of kernel element k of the window at o; false if it is outside x. */
static bool seen(const window *w, const int64_t *o, const int64_t *k, int64_t *at)
{
    bool inside = true;
    for (int a = 0; a < 3; a++) {
        at[a] = o[a] * stride_of(w, a) - padding_of(w, a) + k[a] * w->dilation;
        inside = inside && at[a] >= 0 && at[a] < w->x[a];
    }
    return inside;
}

/* Finds the element of x that reaches output o through kernel element k (transposed); false if there is none. */
static bool spread(const window *w, const int64_t *o, const int64_t *k, int64_t *i)
{
    bool hits = true;
    for (int a = 0; a < 3; a++) {
        const int64_t from = o[a] + padding_of(w, a) - k[a] * w->dilation;
        i[a] = from / stride_of(w, a);
        hits = hits && from >= 0 && from % stride_of(w, a) == 0 && i[a] < w->x[a];
    }
    return hits;
}

/* ---- convolutions ---- */

static void convolve(const problem *p, const window *w, bool transposed, tensor *out)
{
    const tensor *x = &p->in[0], *weight = &p->in[1], *bias = w->bias ? &p->in[2] : NULL;
    const int64_t in_each = CHANNELS / w->groups, rows = EACH * w->groups;
    const int64_t all[] = {BATCH, rows, w->out[0], w->out[1], w->out[2]};
    const ig_ints places = {all, 5}, kernel = {w->kernel, 3};
    int64_t o[5] = {0};
    for (int64_t n = 0; n < out->size; n++, shape_next(places, o)) {
        const int64_t group = o[1] / EACH, row = o[1] % EACH;
        dot sum = {0};
        for (int64_t c = 0; c < in_each; c++) {
            int64_t k[3] = {0}, at[3];
            for (int64_t left = shape_size(kernel); left > 0; left--, shape_next(kernel, k)) {
                if (!(transposed ? spread : seen)(w, o + 2, k, at))
                    continue;
                const int64_t channel = group * in_each + c;
                dot_add(&sum, at5(x, o[0], channel, at, w->x, CHANNELS),
                        transposed ? at5(weight, channel, row, k, w->kernel, EACH)
                                   : at5(weight, o[1], c, k, w->kernel, in_each));
            }
        }
        if (bias)
            dot_add(&sum, bias->v[o[1]], 1);
        out->v[n] = dot_result(&sum, p->dtype, &out->tol[n]);
    }
}

static bool make_conv(problem *p, int variant)
{
    const bool transposed = p->row != NULL;
    int64_t room[5];
    window w;
    if (!window_of(p, variant, &w))
        return false;
    const domain from = {-9, 9, dtype_in(p->dtype, INTS)};
    const int64_t in_each = CHANNELS / w.groups, rows = EACH * w.groups;
    for (int a = 0; a < 3; a++) {
        const int64_t reach = w.dilation * (w.kernel[a] - 1) + 1;
        w.out[a] = transposed ? (w.x[a] - 1) * stride_of(&w, a) + reach - 2 * padding_of(&w, a) +
                                    (is_own(&w, a) ? w.extra : 0)
                              : (w.x[a] + 2 * padding_of(&w, a) - reach) / stride_of(&w, a) + 1;
    }
    problem_in(p, NULL, p->dtype, shape_of(&w, BATCH, CHANNELS, w.x, room), from);
    problem_in(p, NULL, p->dtype,
               transposed ? shape_of(&w, CHANNELS, EACH, w.kernel, room)
                          : shape_of(&w, rows, in_each, w.kernel, room),
               from);
    if (w.bias)
        problem_in(p, NULL, p->dtype, IG_SHAPE(rows), from);
    problem_int(p, "stride", w.stride);
    problem_int(p, "padding", w.padding);
    problem_int(p, "dilation", w.dilation);
    problem_int(p, "groups", w.groups);
    if (transposed)
        problem_int(p, "output_padding", w.extra);
    tensor *out = problem_out(p, p->dtype, shape_of(&w, BATCH, rows, w.out, room));
    if (dtype_in(p->dtype, NUMBERS))
        convolve(p, &w, transposed, out);
    return true;
}

/* ---- pools ---- */

static const bool pool_max = true;

/* The number of windows. With ceil_mode the last one may extend past the end, if it starts inside x. */
static int64_t pool_count(const window *w, int a)
{
    const int64_t pad = padding_of(w, a), step = stride_of(w, a);
    const int64_t room = w->x[a] + 2 * pad - (w->dilation * (w->kernel[a] - 1) + 1);
    if (!w->ceil_mode || !is_own(w, a))
        return room / step + 1;
    const int64_t n = (room + step - 1) / step + 1;
    return (n - 1) * step >= w->x[a] + pad ? n - 1 : n;
}

/* The divisor of one window: its elements in x, or with count_pad also in the padding. */
static int64_t pool_size(const window *w, const int64_t *o)
{
    int64_t size = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t pad = padding_of(w, a), more = w->count_pad ? pad : 0;
        int64_t from = o[a] * stride_of(w, a) - pad, to = from + w->kernel[a];
        from = from < -more ? -more : from;
        to = to > w->x[a] + more ? w->x[a] + more : to;
        size *= to - from;
    }
    return size;
}

static void pool(const problem *p, const window *w, tensor *out)
{
    const tensor *x = &p->in[0];
    const int64_t all[] = {BATCH, CHANNELS, w->out[0], w->out[1], w->out[2]};
    const ig_ints places = {all, 5}, kernel = {w->kernel, 3};
    int64_t o[5] = {0};
    for (int64_t n = 0; n < out->size; n++, shape_next(places, o)) {
        real most = dtype_in(p->dtype, FLOATS) ? -(real)INFINITY : real_min(p->dtype);
        int64_t k[3] = {0}, at[3];
        dot sum = {0};
        for (int64_t left = shape_size(kernel); left > 0; left--, shape_next(kernel, k)) {
            if (!seen(w, o + 2, k, at))
                continue;
            const real v = at5(x, o[0], o[1], at, w->x, CHANNELS);
            most = isnan(v) || v > most ? v : most;
            dot_add(&sum, real_round(real_compute(p->dtype), v), 1);
        }
        if (p->row == &pool_max) {
            out->v[n] = most;
            continue;
        }
        const real size = (real)pool_size(w, o + 2);
        out->v[n] = sum.sum / size;
        out->tol[n] = 8 * real_eps(real_compute(p->dtype)) * sum.size / size +
                      real_ulp(out->dtype, out->v[n]);
    }
}

static bool make_pool(problem *p, int variant)
{
    const bool is_max = p->row == &pool_max;
    int64_t room[5];
    window w;
    if (!window_of(p, variant, &w))
        return false;
    if (!is_max)
        w.dilation = 1;
    for (int a = 0; a < 3; a++)
        w.out[a] = pool_count(&w, a);
    problem_in(p, NULL, p->dtype, shape_of(&w, BATCH, CHANNELS, w.x, room),
               (domain){-9, 9, is_max && dtype_in(p->dtype, INTS)});
    problem_ints(p, NULL, (ig_ints){w.kernel + 3 - w.n, w.n});
    problem_int(p, "stride", w.stride);
    problem_int(p, "padding", w.padding);
    problem_bool(p, "ceil_mode", w.ceil_mode);
    if (is_max)
        problem_int(p, "dilation", w.dilation);
    else
        problem_bool(p, "count_include_pad", w.count_pad);
    const ig_dtype d = is_max ? p->dtype : real_float(p->dtype);
    pool(p, &w, problem_out(p, d, shape_of(&w, BATCH, CHANNELS, w.out, room)));
    return true;
}

static bool make_adaptive(problem *p, int variant)
{
    int64_t room[5], o[5] = {0};
    window w;
    if (!window_of(p, variant, &w))
        return false;
    for (int a = 0; a < 3; a++)
        w.out[a] = is_own(&w, a) ? 2 + variant : 1;
    const tensor *x = problem_in(p, NULL, p->dtype, shape_of(&w, BATCH, CHANNELS, w.x, room),
                                 (domain){-9, 9, false});
    problem_int(p, NULL, 2 + variant);
    const ig_dtype compute = real_compute(p->dtype), d = real_float(p->dtype);
    tensor *out = problem_out(p, d, shape_of(&w, BATCH, CHANNELS, w.out, room));
    const int64_t all[] = {BATCH, CHANNELS, w.out[0], w.out[1], w.out[2]};
    for (int64_t n = 0; n < out->size; n++, shape_next((ig_ints){all, 5}, o)) {
        int64_t length[3], i[3] = {0}, first[3];
        for (int a = 0; a < 3; a++) {
            first[a] = o[2 + a] * w.x[a] / w.out[a];
            length[a] = ((o[2 + a] + 1) * w.x[a] + w.out[a] - 1) / w.out[a] - first[a];
        }
        const ig_ints inside = {length, 3};
        dot sum = {0};
        for (int64_t left = shape_size(inside); left > 0; left--, shape_next(inside, i))
            dot_add(&sum,
                    real_round(compute,
                               at5(x, o[0], o[1],
                                   (int64_t[]){first[0] + i[0], first[1] + i[1], first[2] + i[2]},
                                   w.x, CHANNELS)),
                    1);
        out->v[n] = sum.sum / (real)sum.n;
        out->tol[n] = 8 * real_eps(compute) * sum.size / (real)sum.n + real_ulp(d, out->v[n]);
    }
    return true;
}

const plan plans_window[] = {
    {"conv1d", NUMBERS, make_conv, NULL},
    {"conv2d", NUMBERS, make_conv, NULL},
    {"conv3d", NUMBERS, make_conv, NULL},
    {"conv_transpose1d", NUMBERS, make_conv, ""},
    {"conv_transpose2d", NUMBERS, make_conv, ""},
    {"conv_transpose3d", NUMBERS, make_conv, ""},
    {"max_pool1d", NUMBERS, make_pool, &pool_max},
    {"max_pool2d", NUMBERS, make_pool, &pool_max},
    {"max_pool3d", NUMBERS, make_pool, &pool_max},
    {"avg_pool1d", ANY, make_pool, NULL},
    {"avg_pool2d", ANY, make_pool, NULL},
    {"avg_pool3d", ANY, make_pool, NULL},
    {"adaptive_avg_pool1d", ANY, make_adaptive, NULL},
    {"adaptive_avg_pool2d", ANY, make_adaptive, NULL},
    {"adaptive_avg_pool3d", ANY, make_adaptive, NULL},
    {NULL, 0, NULL, NULL},
};
