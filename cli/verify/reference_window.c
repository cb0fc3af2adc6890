/* Convolutions of (N, C, spatial...): plain loops over three spatial axes. Axes that the op does
 * not have get length 1. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

typedef struct window {
    int n;                   /* number of spatial axes of the op */
    int64_t x[3], kernel[3]; /* lengths; the op's axes are the last n */
    int64_t stride, padding, dilation, groups, extra;
    bool bias;
    int64_t out[3];
} window;

static const struct window_case {
    int64_t stride, padding, dilation, groups, extra;
    bool bias;
} cases[] = {
    {1, 1, 1, 1, 0, true}, {2, 1, 1, 2, 1, false}, {3, 0, 2, 1, 0, true}, {1, 0, 1, 4, 0, false}};
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
                  .bias = c->bias};
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

const plan plans_window[] = {
    {"conv1d", make_conv, NULL},
    {"conv2d", make_conv, NULL},
    {"conv3d", make_conv, NULL},
    {"conv_transpose1d", make_conv, ""},
    {"conv_transpose2d", make_conv, ""},
    {"conv_transpose3d", make_conv, ""},
    {NULL, NULL, NULL},
};
