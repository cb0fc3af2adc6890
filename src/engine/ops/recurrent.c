/* Builders of layers with a state, unrolled over time, and of the loss of alignments in time. Each is an expression of other
 * ops, computed in f32 (f64 for f64) and rounded to the dtype of its input once. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <math.h>
#include <string.h>

/* ---- layers ---- */

enum { X, WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH, H0, C0, OPERANDS };
enum { GATES_MOST = 4 };

typedef struct layer {
    op_id op;
    ig_array *at[OPERANDS]; /* x as (T, ..., I); those that are not given are NULL */
    ig_dtype dtype;         /* of the results */
    int gates;
    int64_t steps, width; /* T and H */
    bool batch_first, reverse;
} layer;

/* The shape of the steps, (T, ..., H); after its first axis, the shape of a state. */
static int64_t *steps_shape(const layer *l, int64_t shape[3])
{
    const view *x = &l->at[X]->view;
    memcpy(shape, x->shape, 3 * sizeof *shape);
    shape[x->ndim - 1] = l->width;
    return shape;
}

static ig_status check_operand(const layer *l, int which, const char *name, int ndim,
                               const int64_t *want)
{
    const ig_array *x = l->at[which];
    char have[400], text[400];
    if (!x ||
        (x->view.ndim == ndim && memcmp(x->view.shape, want, (size_t)ndim * sizeof *want) == 0))
        return IG_OK;
    FAIL(IG_ERR_SHAPE, "%s: %s has shape %s, but must have %s", op_rows[l->op].name, name,
         view_shape_text(x->view.ndim, x->view.shape, have), view_shape_text(ndim, want, text));
}

/* Reads x, the weights, the biases and `states` states, and the flags after `after` arguments. */
static ig_status read_layer(layer *l, op_id op, const ig_arg *args, int gates, int states,
                            int after)
{
    ig_array *given[OPERANDS];
    int which[OPERANDS], n = 0;
    *l = (layer){
        .op = op, .gates = gates, .batch_first = args[after].u.b, .reverse = args[after + 1].u.b};
    for (int i = 0; i < H0 + states; i++)
        if (args[i].kind == IG_ARG_ARRAY) {
            which[n] = i;
            given[n++] = args[i].u.array;
        }
    TRY(composite_floats(op, given, n, &l->dtype));
    for (int i = 0; i < n; i++)
        l->at[which[i]] = given[i];
    ig_array *x = l->at[X];
    const view *w = &l->at[WEIGHT_HH]->view;
    if (x->view.ndim < 2 || x->view.ndim > 3 || (l->batch_first && x->view.ndim < 3))
        FAIL(IG_ERR_SHAPE, "%s: x has %d dimensions, but must be %s", op_rows[op].name,
             x->view.ndim, l->batch_first ? "(N, T, I)" : "(T, N, I) or (T, I)");
    if (w->ndim != 2 || w->shape[0] != gates * w->shape[1])
        FAIL(IG_ERR_SHAPE, "%s: weight_hh must be (%d * H, H)", op_rows[op].name, gates);
    if (l->batch_first)
        l->at[X] = x = ig_swapaxes(x, 0, 1);
    if (!x)
        return IG_ERR_MEMORY;
    l->steps = x->view.shape[0];
    l->width = w->shape[1];
    const int64_t from[2] = {w->shape[0], x->view.shape[x->view.ndim - 1]};
    int64_t shape[3];
    const int64_t *state = steps_shape(l, shape) + 1;
    TRY(check_operand(l, WEIGHT_IH, "weight_ih", 2, from));
    TRY(check_operand(l, BIAS_IH, "bias_ih", 1, from));
    TRY(check_operand(l, BIAS_HH, "bias_hh", 1, from));
    TRY(check_operand(l, H0, "h0", x->view.ndim - 1, state));
    return check_operand(l, C0, "c0", x->view.ndim - 1, state);
}

/* x @ weight.T + bias; bias may be NULL. */
static ig_array *linear(ig_array *x, ig_array *weight, ig_array *bias)
{
    ig_array *y = ig_matmul(x, ig_matrix_transpose(weight));
    return bias ? ig_add(y, bias) : y;
}

/* The parts of x for each gate. */
static void split_gates(const layer *l, ig_array *x, ig_array *gate[GATES_MOST])
{
    for (int k = 0; k < l->gates; k++)
        gate[k] = x ? shape_part(x, x->view.ndim - 1, k * l->width, (k + 1) * l->width) : NULL;
}

static ig_array *zeros(const layer *l, int ndim, const int64_t *shape)
{
    return build_fill(0, (ig_dtype)l->at[X]->dtype, ndim, shape);
}

static ig_array *first_state(const layer *l, int which)
{
    int64_t shape[3];
    return l->at[which] ? l->at[which]
                        : zeros(l, l->at[X]->view.ndim - 1, steps_shape(l, shape) + 1);
}

/* One step: replaces the state, of which state[0] is the row of the result. from_x has x's part of the gates. */
typedef void step(const layer *l, ig_array *from_x, ig_array *state[2]);

static void step_rnn(const layer *l, ig_array *from_x, ig_array *state[2])
{
    state[0] = ig_tanh(ig_add(from_x, linear(state[0], l->at[WEIGHT_HH], l->at[BIAS_HH])));
}

static void step_rnn_relu(const layer *l, ig_array *from_x, ig_array *state[2])
{
    state[0] =
        ig_maximum(ig_add(from_x, linear(state[0], l->at[WEIGHT_HH], l->at[BIAS_HH])), ig_float(0));
}

static void step_gru(const layer *l, ig_array *from_x, ig_array *state[2])
{
    ig_array *x[GATES_MOST], *h[GATES_MOST];
    split_gates(l, from_x, x);
    split_gates(l, linear(state[0], l->at[WEIGHT_HH], l->at[BIAS_HH]), h);
    ig_array *r = ig_sigmoid(ig_add(x[0], h[0])), *z = ig_sigmoid(ig_add(x[1], h[1]));
    ig_array *n = ig_tanh(ig_add(x[2], ig_multiply(r, h[2])));
    state[0] = ig_add(ig_multiply(ig_subtract(ig_float(1), z), n), ig_multiply(z, state[0]));
}

static void step_lstm(const layer *l, ig_array *from_x, ig_array *state[2])
{
    ig_array *gate[GATES_MOST];
    split_gates(l, ig_add(from_x, linear(state[0], l->at[WEIGHT_HH], l->at[BIAS_HH])), gate);
    ig_array *kept = ig_multiply(ig_sigmoid(gate[1]), state[1]);
    state[1] = ig_add(kept, ig_multiply(ig_sigmoid(gate[0]), ig_tanh(gate[2])));
    state[0] = ig_multiply(ig_sigmoid(gate[3]), ig_tanh(state[1]));
}

/* The rows of all steps, (T, ..., H); replaces the state. */
static ig_array *take_steps(const layer *l, step *take, ig_array *state[2])
{
    const int64_t T = l->steps;
    int64_t shape[3];
    if (T == 0)
        return zeros(l, l->at[X]->view.ndim, steps_shape(l, shape));
    if (T > INT32_MAX)
        FAIL_NULL(IG_ERR_SHAPE, "%s: %lld steps are too many", op_rows[l->op].name, (long long)T);
    ig_array **row = memory_get((size_t)T * sizeof *row), *y = NULL;
    /* x's part of all steps is one product. */
    ig_array *x = row ? linear(l->at[X], l->at[WEIGHT_IH], l->at[BIAS_IH]) : NULL;
    if (x && ig_unstack(x, 0, row, (int)T) == T) {
        for (int64_t i = 0; i < T; i++) {
            const int64_t t = l->reverse ? T - 1 - i : i;
            take(l, row[t], state);
            row[t] = state[0];
        }
        y = state[0] ? ig_stack(row, (int)T, 0) : NULL;
    }
    memory_free(row);
    return y;
}

/* The steps and the last state: a builder's results. */
static int unroll(const layer *l, step *take, int states, ig_array **out)
{
    ig_array *state[2] = {first_state(l, H0), states > 1 ? first_state(l, C0) : NULL};
    ig_array *y = take_steps(l, take, state);
    out[0] = build_cast(l->batch_first ? ig_swapaxes(y, 0, 1) : y, l->dtype);
    for (int i = 0; i < states; i++)
        out[1 + i] = build_cast(state[i], l->dtype);
    for (int i = 0; i <= states; i++)
        if (!out[i])
            return 0;
    return 1 + states;
}

BUILDER(rnn)
{
    layer l;
    const char *f = args[6].u.str;
    const bool relu = strcmp(f, "relu") == 0;
    if (!relu && strcmp(f, "tanh") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "rnn: nonlinearity is 'tanh' or 'relu', not '%s'", f);
    if (read_layer(&l, op, args, 1, 1, 7) != IG_OK)
        return 0;
    return unroll(&l, relu ? step_rnn_relu : step_rnn, 1, out);
}

BUILDER(gru)
{
    layer l;
    return read_layer(&l, op, args, 3, 1, 6) == IG_OK ? unroll(&l, step_gru, 1, out) : 0;
}

BUILDER(lstm)
{
    layer l;
    return read_layer(&l, op, args, 4, 2, 7) == IG_OK ? unroll(&l, step_lstm, 2, out) : 0;
}

/* ---- alignments ---- */

/* The log of a probability of 0. It is finite, so that differences of two of them are numbers. */
#define LOG_ZERO (-1e30)

/* The number of elements of each sequence as i64 (N): given, or all of them. */
static ig_array *lengths(op_id op, const ig_arg *given, const char *name, int64_t n, int64_t all)
{
    if (given->kind != IG_ARG_ARRAY)
        return build_fill((double)all, IG_I64, 1, &n);
    ig_array *x = index_cast(op_rows[op].name, given->u.array);
    if (x && (x->view.ndim != 1 || x->view.shape[0] != n))
        FAIL_NULL(IG_ERR_SHAPE, "%s: %s must have %lld elements", op_rows[op].name, name,
                  (long long)n);
    return x ? shape_checked(op_rows[op].name, x, all + 1) : NULL;
}

/* x moved by `by` places along its last axis; log(0) comes in. */
static ig_array *later(ig_array *x, int64_t by)
{
    if (!x)
        return NULL;
    int64_t width[4] = {0, 0, by, 0};
    const int64_t n = x->view.shape[1];
    return shape_part(ig_pad(x, (ig_ints){width, 4}, "constant", ig_float(LOG_ZERO)), 1, 0, n);
}

typedef struct ctc {
    ig_array *emit; /* (T, N, 2 S + 1): the log probability of each state's label at each step */
    ig_array *skip; /* (N, 2 S + 1) bool: the state may follow the one two before it */
    ig_array *steps, *ends; /* (N) i64: lengths of the input and the target */
} ctc;

/* The states of an alignment: a blank before, between and after the labels. Sets emit and skip. */
static void ctc_states(ctc *c, ig_array *log_probs, ig_array *targets, int64_t blank)
{
    const int64_t n = targets->view.shape[0], s = targets->view.shape[1], states = 2 * s + 1;
    const int64_t T = log_probs->view.shape[0];
    ig_array *blanks = build_fill((double)blank, IG_I64, 2, (int64_t[]){n, s + 1});
    ig_array *pair[2] = {shape_part(blanks, 1, 0, s), targets};
    pair[0] = ig_reshape(ig_stack(pair, 2, -1), IG_SHAPE(n, 2 * s));
    pair[1] = shape_part(blanks, 1, s, s + 1);
    ig_array *label = ig_concat(pair, 2, IG_AXES(1)); /* (N, states) */
    c->emit = ig_take_along_axis(log_probs, ig_broadcast_to(label, IG_SHAPE(T, n, states)), 2);
    ig_array *before = ig_pad(label, IG_SHAPE(0, 0, 2, 0), "constant", ig_int(blank));
    before = shape_part(before, 1, 0, states);
    c->skip = ig_logical_and(ig_not_equal(label, ig_int(blank)), ig_not_equal(label, before));
}

/* The log probability of all alignments that end in each state, (N, 2 S + 1). */
static ig_array *ctc_forward(const ctc *c)
{
    const int64_t T = c->emit->view.shape[0], n = c->emit->view.shape[1],
                  states = c->emit->view.shape[2];
    ig_array *none = build_scalar(LOG_ZERO, (ig_dtype)c->emit->dtype);
    /* Before the first step the alignment is at the first blank. */
    ig_array *alpha = ig_where(ig_equal(build_iota(1, &states), ig_int(0)), ig_float(0), none);
    alpha = ig_broadcast_to(alpha, IG_SHAPE(n, states));
    for (int64_t t = 0; t < T && alpha; t++) {
        ig_array *now = ig_squeeze(shape_part(c->emit, 0, t, t + 1), IG_AXES(0));
        ig_array *from = ig_logaddexp(ig_logaddexp(alpha, later(alpha, 1)),
                                      ig_where(c->skip, later(alpha, 2), none));
        ig_array *inside = ig_expand_dims(ig_greater(c->steps, ig_int(t)), IG_AXES(1));
        alpha = ig_where(inside, ig_maximum(ig_add(from, now), none), alpha);
    }
    return alpha;
}

/* alpha (N, states) at the states of the last label and of the blank after it, added. */
static ig_array *ctc_last(const ctc *c, ig_array *alpha)
{
    ig_array *end = ig_expand_dims(ig_multiply(c->ends, ig_int(2)), IG_AXES(1)), *part[2];
    ig_array *label = ig_maximum(ig_subtract(end, ig_int(1)), ig_int(0));
    part[0] = ig_take_along_axis(alpha, end, 1);
    part[1] = ig_where(ig_greater(end, ig_int(0)), ig_take_along_axis(alpha, label, 1),
                       ig_float(LOG_ZERO));
    return ig_squeeze(ig_logaddexp(part[0], part[1]), IG_AXES(1));
}

BUILDER(ctc_loss)
{
    ig_array *x = args[0].u.array, *targets = index_cast("ctc_loss", args[1].u.array);
    const int64_t blank = args[4].u.i;
    const char *how = args[5].u.str;
    ig_dtype dtype;
    if (!targets || composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    if (x->view.ndim == 2 && targets->view.ndim == 1) { /* one sequence */
        x = ig_expand_dims(x, IG_AXES(1));
        targets = ig_expand_dims(targets, IG_AXES(0));
        if (!x || !targets)
            return 0;
    }
    const int64_t *shape = x->view.shape, n = shape[1];
    if (x->view.ndim != 3 || targets->view.ndim != 2 || targets->view.shape[0] != n)
        FAIL_NONE(IG_ERR_SHAPE, "ctc_loss: log_probs must be (T, N, C) and targets (N, S)");
    if (blank < 0 || blank >= shape[2])
        FAIL_NONE(IG_ERR_ARGUMENT, "ctc_loss: blank is %lld, but there are %lld classes",
                  (long long)blank, (long long)shape[2]);
    ctc c = {.steps = lengths(op, &args[2], "input_lengths", n, shape[0]),
             .ends = lengths(op, &args[3], "target_lengths", n, targets->view.shape[1])};
    ctc_states(&c, x, targets, blank);
    if (!c.emit || !c.skip || !c.steps || !c.ends)
        return 0;
    ig_array *last = ctc_last(&c, ctc_forward(&c));
    ig_array *loss = ig_where(ig_greater(last, ig_float(0.1 * LOG_ZERO)), ig_negative(last),
                              ig_float(args[6].u.b ? 0 : INFINITY));
    if (strcmp(how, "mean") == 0)
        loss = ig_divide(loss, build_cast(ig_maximum(c.ends, ig_int(1)), (ig_dtype)x->dtype));
    return composite_reduced(op, loss, how, dtype, out);
}
