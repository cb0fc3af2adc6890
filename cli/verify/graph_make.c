/* Makes random graphs. Ops come from the op table: first a class by its weight, then any op of the class. Arguments
 * come from the op's signature (graph_fill.c). If ig_call refuses them, others are tried. So a new row of the op table
 * is used automatically.
 *
 * Each step is evaluated on the CPU immediately. Steps whose results are mostly NaN or infinite are usually discarded,
 * because errors are hard to see in later results. */
#include "verify/graph_maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPS_LEAST = 5,
    OPS_MOST = 40,
    STEPS_LEFT = 8, /* steps reserved for one op: itself and its leaves */
    TRIES = 12,     /* per op */
    SIZE_SMALL = 400,
    SIZE_LARGE = 2500 /* several blocks of lanes; ops of all pairs, such as isin, take its square */
};

/* Weights of classes. Classes that are not listed have the weight 10. */
static const struct {
    const char *cls;
    int weight;
} weights[] = {{"elementwise", 30}, {"reduce", 16}, {"move", 20},     {"index", 10},
               {"contract", 8},     {"source", 6},  {"composite", 14}};

uint64_t maker_random(maker *m)
{
    uint64_t z = m->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t maker_int(maker *m, int64_t low, int64_t high)
{
    return low + (int64_t)(maker_random(m) >> 8) % (high - low + 1);
}

bool maker_once(maker *m, int n) { return maker_int(m, 1, n) == 1; }

ig_dtype maker_dtype(maker *m) { return m->dtype[maker_int(m, 0, MAKER_DTYPES - 1)]; }

ig_array *maker_at(const maker *m, graph_ref r) { return m->a.at[r.step][r.result]; }

/* ---- leaves ---- */

/* A number with few digits, for printing; sometimes a special value. */
static double draw(maker *m, ig_dtype d, double low, double high)
{
    static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 1e-6, 1000};
    if (d == IG_BOOL)
        return (double)maker_int(m, 0, 1);
    if (!dtype_in(d, FLOATS) && !ig_isdtype(d, "complex floating")) {
        const double least = fmax(low, (double)real_min(d));
        return (double)maker_int(m, (int64_t)least, (int64_t)fmax(high, least));
    }
    if (maker_once(m, 60))
        return special[maker_int(m, 0, (int64_t)(sizeof special / sizeof *special) - 1)];
    return (double)maker_int(m, (int64_t)(low * 1000), (int64_t)(high * 1000)) / 1000;
}

bool maker_leaf(maker *m, ig_dtype d, ig_ints shape, double low, double high, graph_ref *out)
{
    graph *g = m->g;
    if (g->n_step == GRAPH_STEPS || shape.n > MAX_AXES || shape_size(shape) > SIZE_LARGE)
        return false;
    graph_step *s = &g->step[g->n_step];
    *s = (graph_step){.kind = STEP_LEAF, .leaf = {.dtype = d, .ndim = shape.n}};
    graph_leaf *l = &s->leaf;
    for (int i = 0; i < shape.n; i++)
        l->shape[i] = shape.v[i];
    l->n_table = maker_once(m, 2) ? 13 : (int)maker_int(m, 3, 12);
    l->factor = (int)maker_int(m, 1, 7);
    l->is_donated = !maker_once(m, 4);
    for (int i = 0; i < l->n_table; i++)
        l->table[i] = draw(m, d, low, high);
    *out = (graph_ref){g->n_step, 0};
    return graph_build_step(g, g->n_step++, &m->a);
}

static int draw_shape(maker *m, int64_t *shape)
{
    int n = 0;
    for (int tries = 0; tries < 3 && (tries == 0 || shape_size((ig_ints){shape, n}) <= SIZE_TINY);
         tries++) {
        n = maker_once(m, 8) ? (int)maker_int(m, 0, 1) : (int)maker_int(m, 1, 4);
        for (int i = 0; i < n; i++)
            shape[i] = maker_once(m, 5) ? 1 : m->dim[maker_int(m, 0, MAKER_DIMS - 1)];
    }
    while (shape_size((ig_ints){shape, n}) > m->size_most)
        for (int i = 0, done = 0; i < n && !done; i++)
            if (shape[i] > 2) {
                shape[i] = 1 + maker_int(m, 0, 1);
                done = 1;
            }
    return n;
}

static void add_leaf(maker *m)
{
    int64_t shape[MAX_AXES];
    graph_ref r;
    const int n = draw_shape(m, shape);
    const ig_dtype d = maker_dtype(m);
    maker_leaf(m, d, (ig_ints){shape, n}, dtype_in(d, FLOATS) ? -3 : -9,
               dtype_in(d, FLOATS) ? 3 : 9, &r);
}

/* How useful a result is for a deep graph: unused results, several elements and floats count more. */
static int worth(const maker *m, graph_ref r)
{
    const graph *g = m->g;
    ig_array *x = maker_at(m, r);
    bool used = false;
    for (int k = r.step + 1; k < g->n_step && !used; k++)
        for (int i = 0; i < g->step[k].n_arg && !used; i++)
            for (int n = 0; n < g->step[k].arg[i].n_ref; n++)
                used = used || g->step[k].arg[i].ref[n].step == r.step;
    return 2 * !used + 2 * (ig_size(x) > SIZE_TINY) + dtype_in(ig_dtype_of(x), FLOATS);
}

bool maker_pick(maker *m, graph_ref *out)
{
    const graph *g = m->g;
    int most = -1;
    for (int64_t tries = maker_int(m, 1, 4); tries > 0; tries--) {
        const int n = g->n_step, from = maker_once(m, 3)            ? n - 1
                                        : maker_once(m, 3) || n < 8 ? 0
                                                                    : n - 8;
        if (g->n_step == 0)
            continue;
        graph_ref r = {(int)maker_int(m, from, g->n_step - 1), 0};
        const graph_step *s = &g->step[r.step];
        if (s->kind == STEP_LEAF && s->leaf.is_number)
            continue;
        r.result = (int)maker_int(m, 0, s->n_result - 1);
        if (worth(m, r) > most) {
            most = worth(m, r);
            *out = r;
        }
    }
    return most >= 0;
}

/* ---- steps ---- */

/* True if the step's results are usable: not too large, and mostly finite. */
static bool is_useful(maker *m, int k)
{
    const graph_step *s = &m->g->step[k];
    int64_t elements = 0, odd = 0;
    for (int i = 0; i < s->n_result; i++) {
        ig_array *y = m->a.at[k][i];
        const ig_dtype d = ig_dtype_of(y);
        const int64_t n = ig_size(y);
        if (n > m->size_most || ig_ndim(y) > 5)
            return false;
        if (!dtype_in(d, FLOATS))
            continue;
        const char *data = ig_data(y);
        for (int64_t e = 0; e < n && data; e++)
            odd += !isfinite((double)real_load(d, data + (size_t)e * ig_dtype_bytes(d)));
        elements += n;
    }
    return odd * 4 <= elements || maker_once(m, 10);
}

/* Builds and evaluates step k, which is the last one. */
static bool try_step(maker *m, int k)
{
    m->g->n_step = k + 1;
    bool fine = graph_build_step(m->g, k, &m->a);
    for (int i = 0; i < m->g->step[k].n_result && fine; i++)
        fine = ig_size(m->a.at[k][i]) <= m->size_most;
    fine = fine && ig_eval(m->a.at[k], m->g->step[k].n_result) == IG_OK && is_useful(m, k);
    const char *text = ig_error(NULL);
    if (!fine)
        snprintf(m->why, sizeof m->why, "%s", text ? text : "its results are large or not finite");
    return fine;
}

/* Adds an auxiliary step: op(x, param=...). */
static bool own_call(maker *m, const char *name, graph_ref x, graph_arg second, graph_ref *out)
{
    const ig_op *op = ig_op_find(name);
    const int k = m->g->n_step;
    if (!op || k == GRAPH_STEPS)
        return false;
    graph_step *s = &m->g->step[k];
    *s = (graph_step){.kind = STEP_CALL, .op = op, .n_arg = 2};
    s->arg[0] = (graph_arg){.param = &op->params[0], .kind = IG_ARG_ARRAY, .n_ref = 1, .ref = {x}};
    s->arg[1] = second;
    s->arg[1].param = &op->params[1];
    *out = (graph_ref){k, 0};
    return try_step(m, k);
}

bool maker_call(maker *m, const char *op, graph_ref x, int64_t i, graph_ref *out)
{
    graph_ref number;
    if (!maker_leaf(m, ig_dtype_of(maker_at(m, x)), (ig_ints){NULL, 0}, (double)i, (double)i,
                    &number))
        return false;
    graph_leaf *l = &m->g->step[number.step].leaf;
    l->is_number = true;
    l->n_table = 1;
    l->table[0] = (double)i;
    if (!graph_build_step(m->g, number.step, &m->a))
        return false;
    return own_call(m, op, x, (graph_arg){.kind = IG_ARG_ARRAY, .n_ref = 1, .ref = {number}}, out);
}

bool maker_reshape(maker *m, graph_ref x, ig_ints shape, graph_ref *out)
{
    graph_arg a = {.kind = IG_ARG_INTS, .n_ints = shape.n};
    for (int i = 0; i < shape.n; i++)
        a.ints[i] = shape.v[i];
    return own_call(m, "reshape", x, a, out);
}

bool maker_sort(maker *m, graph_ref x, graph_ref *out)
{
    const int64_t all = ig_size(maker_at(m, x));
    return maker_reshape(m, x, (ig_ints){&all, 1}, out) &&
           own_call(m, "sort", *out, (graph_arg){.kind = IG_ARG_INT, .i = -1}, out);
}

static bool has_nan(const maker *m, const graph_arg *a)
{
    bool found = false;
    for (int i = 0; i < a->n_ref && !found; i++) {
        ig_array *x = maker_at(m, a->ref[i]);
        const ig_dtype d = ig_dtype_of(x);
        const char *data = dtype_in(d, FLOATS) ? ig_data(x) : NULL;
        for (int64_t e = 0; data && e < ig_size(x) && !found; e++)
            found = isnan((double)real_load(d, data + (size_t)e * ig_dtype_bytes(d)));
    }
    return found;
}

/* Processors choose the sign of a NaN differently, so ops that read it get none. */
static bool reads_nan(const maker *m, const graph_step *call)
{
    static const char *const names[] = {"signbit", "copysign", "view"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; strcmp(call->op->name, names[i]) == 0 && k < call->n_arg; k++)
            if (has_nan(m, &call->arg[k]))
                return true;
    return false;
}

/* Integers are not divided by 0, and 0 has no negative powers: sets the lowest bit of such an operand. A number 0 is
 * refused, also if this evaluation has no negative exponent: values that are within their bounds may differ between devices, and
 * so may their signs. */
static bool avoid_zero(maker *m, graph_step *call)
{
    static const struct {
        const char *op;
        int operand;
    } rows[] = {{"floor_divide", 1}, {"remainder", 1}, {"fmod", 1},
                {"trunc_divide", 1}, {"divmod", 1},    {"pow", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        graph_arg *a = &call->arg[rows[i].operand];
        if (strcmp(call->op->name, rows[i].op) != 0 || call->n_arg <= rows[i].operand)
            continue;
        if (a->n_ref == 0 && a->kind == IG_ARG_INT && a->i == 0)
            return false;
        if (a->n_ref != 1 || !dtype_in(ig_dtype_of(maker_at(m, a->ref[0])), INTS | BOOLS))
            continue;
        return maker_call(m, "bitwise_or", a->ref[0], 1, &a->ref[0]);
    }
    return true;
}

/* Tries a call once, with arguments made from the signature. */
static bool try_call(maker *m, const ig_op *op)
{
    attempt t = {.m = m, .op = op, .call = {.kind = STEP_CALL, .op = op}};
    for (int i = 0; i < op->n_params; i++) {
        const ig_param *p = &op->params[i];
        const bool asked = m->first.step >= 0 && strcmp(p->name, "axis") == 0;
        if (!p->required && !p->variadic && !asked && !maker_once(m, 3))
            continue;
        if (t.call.n_arg == GRAPH_ARGS || (!fill_param(&t, p) && (p->required || p->variadic))) {
            snprintf(m->why, sizeof m->why, "no value was found for %s", p->name);
            return false;
        }
    }
    if (!avoid_zero(m, &t.call) || reads_nan(m, &t.call) || m->g->n_step == GRAPH_STEPS)
        return false;
    m->g->step[m->g->n_step] = t.call;
    return try_step(m, m->g->n_step);
}

/* The probability of an op, chosen so that the probability of its class follows the class's weight. */
static double chance_of(const ig_op *op)
{
    int weight = 10, in_class = 0;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (strcmp(weights[i].cls, op->cls) == 0)
            weight = weights[i].weight;
    for (int i = 0; i < ig_op_count(); i++)
        in_class += strcmp(ig_op_at(i)->cls, op->cls) == 0;
    return (double)weight / in_class;
}

static const ig_op *choose_op(maker *m)
{
    static double *until; /* for each op: the sum of the probabilities up to it */
    const int n = ig_op_count();
    if (!until) {
        until = heap_get((size_t)n * sizeof *until);
        for (int i = 0; i < n; i++)
            until[i] = (i ? until[i - 1] : 0) + chance_of(ig_op_at(i));
    }
    const double at = ldexp((double)(maker_random(m) >> 11), -53) * until[n - 1];
    int i = 0;
    while (i < n - 1 && until[i] <= at)
        i++;
    return ig_op_at(i);
}

static bool add_call_of(maker *m, const ig_op *op)
{
    const int before = m->g->n_step;
    for (int i = 0; i < TRIES; i++) {
        if (try_call(m, op))
            return true;
        ig_error(NULL);
        m->g->n_step = before;
    }
    return false;
}

static bool add_call(maker *m) { return add_call_of(m, choose_op(m)); }

/* Adds gradients of the sum of a result with respect to leaves or other results. */
static bool add_grad(maker *m)
{
    graph *g = m->g;
    const int k = g->n_step;
    graph_step s = {.kind = STEP_GRAD, .n_arg = 2};
    graph_ref loss;
    if (k == GRAPH_STEPS || !maker_pick(m, &loss) || g->step[loss.step].kind == STEP_LEAF ||
        !dtype_in(ig_dtype_of(maker_at(m, loss)), FLOATS))
        return false;
    static const ig_param none = {.name = "x"};
    s.arg[0] = (graph_arg){.param = &none, .kind = IG_ARG_ARRAY, .n_ref = 1, .ref = {loss}};
    s.arg[1] = (graph_arg){.param = &none, .kind = IG_ARG_ARRAYS};
    for (int by = 0; by < k && s.arg[1].n_ref < 3; by++) {
        const graph_ref r = {by, 0};
        if (!dtype_in(ig_dtype_of(maker_at(m, r)), FLOATS) ||
            (g->step[by].kind != STEP_LEAF && !maker_once(m, 4)) ||
            (g->step[by].kind == STEP_LEAF && g->step[by].leaf.is_number))
            continue;
        s.arg[1].ref[s.arg[1].n_ref++] = r;
        g->step[k] = s;
        g->n_step = k + 1;
        if (!graph_build_step(g, k, &m->a)) /* the sum does not depend on it */
            s.arg[1].n_ref--;
        ig_error(NULL);
        g->n_step = k;
    }
    g->step[k] = s;
    if (s.arg[1].n_ref && try_step(m, k))
        return true;
    g->n_step = k;
    return false;
}

/* Adds a call of one of the ops to x. */
static bool add_one_of(maker *m, const char *const *names, int n, graph_ref *x)
{
    m->first = *x;
    const ig_op *op = ig_op_find(names[maker_int(m, 0, n - 1)]);
    const bool fine = op && add_call_of(m, op);
    m->first.step = -1;
    if (fine)
        *x = (graph_ref){m->g->n_step - 1, 0};
    return fine;
}

/* Adds an assembly, which several programs write, and reductions that read it along any axis, sometimes backwards. The
 * lengths are such that the last part may be written by the rows of a reduction along the first axis. */
static bool add_assembly(maker *m)
{
    static const char *const writers[] = {"pad", "pad", "slice_update", "concat"},
                             *const views[] = {"flip", "slice", "permute_dims", "multiply"},
                             *const readers[] = {"sum", "max",    "mean",   "prod",
                                                 "var", "argmax", "softmax"};
    static const int64_t lengths[] = {1, 1, 2, 2, 3, 4, 4, 6};
    int64_t shape[3] = {lengths[maker_int(m, 2, 7)], maker_int(m, 4, 24),
                        lengths[maker_int(m, 0, 4)]};
    graph_ref x, all;
    if (maker_once(m, 3) || shape_size((ig_ints){shape, 3}) > m->size_most
            ? !maker_pick(m, &x)
            : !maker_leaf(m, maker_dtype(m), (ig_ints){shape, 3}, -3, 3, &x))
        return false;
    if (!add_one_of(m, writers, 4, &x))
        return false;
    all = x;
    for (int64_t reads = maker_int(m, 1, 2); reads > 0; reads--, x = all)
        if (!maker_once(m, 4) || add_one_of(m, views, 4, &x))
            add_one_of(m, readers, 7, &x);
    return true;
}

/* ---- graphs ---- */

/* The outputs are the results that no step uses, and some others. */
static void choose_outputs(maker *m)
{
    graph *g = m->g;
    bool used[GRAPH_STEPS] = {false};
    for (int k = 0; k < g->n_step; k++)
        for (int i = 0; i < g->step[k].n_arg; i++)
            for (int r = 0; r < g->step[k].arg[i].n_ref; r++)
                used[g->step[k].arg[i].ref[r].step] = true;
    for (int k = g->n_step - 1; k >= 0; k--)
        for (int r = 0; r < g->step[k].n_result && g->n_output < GRAPH_OUTPUTS; r++)
            if (g->step[k].kind != STEP_LEAF && (!used[k] || maker_once(m, 6)))
                g->output[g->n_output++] = (graph_ref){k, r};
}

static void choose_sizes(maker *m)
{
    static const int64_t small[] = {0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 16},
                         large[] = {9, 17, 31, 33, 64, 65, 100, 130, 257};
    static const ig_dtype rest[] = {IG_BOOL, IG_I8,  IG_U8,  IG_I16, IG_U16, IG_I32,
                                    IG_U32,  IG_I64, IG_U64, IG_F64, IG_F64};
    const bool is_large = maker_once(m, 6);
    m->size_most = is_large ? SIZE_LARGE : SIZE_SMALL;
    for (int i = 0; i < MAKER_DIMS; i++) {
        m->dim[i] = small[maker_int(m, 0, sizeof small / sizeof *small - 1)];
        if (m->dim[i] == 0 && !maker_once(m, 3))
            m->dim[i] = 2;
        if (i && maker_once(m, 3)) /* equal or doubled lengths fit together in more ops */
            m->dim[i] = m->dim[i - 1] * (maker_once(m, 2) ? 1 : 2);
        if (maker_once(m, is_large ? 2 : 8))
            m->dim[i] = large[maker_int(m, 0, sizeof large / sizeof *large - 1)];
    }
    if (maker_once(m, 2)) /* short axes, so that slices often have the size of other arrays */
        m->dim[0] = maker_int(m, 1, 2);
    m->dtype[0] = m->dtype[1] = maker_once(m, 12) ? IG_F64 : IG_F32;
    m->dtype[2] = maker_once(m, 2) ? IG_F32 : maker_once(m, 2) ? IG_F16 : IG_BF16;
    m->dtype[3] = maker_once(m, 2) ? IG_I32 : rest[maker_int(m, 0, 10)];
    if (maker_once(m, 8)) /* with its parts' dtype: a product of two complex dtypes is f64 work */
        m->dtype[maker_int(m, 0, 3)] = m->dtype[0] == IG_F64 ? IG_C128 : IG_C64;
}

static maker *maker_new(graph *g, uint64_t seed, int64_t number)
{
    maker *m = heap_get(sizeof *m);
    m->g = g;
    m->first.step = -1;
    m->random = seed * 0x2545f4914f6cdd1du + (uint64_t)number * 0x9e6c63d0876a9a47u;
    maker_random(m);
    ig_set_device("cpu");
    return m;
}

bool graph_draws(const ig_op *op, uint64_t seed, char why[GRAPH_WHY])
{
    enum { GRAPHS = 40 };
    graph *g = heap_get(sizeof *g);
    maker *m = maker_new(g, seed, 0);
    bool fine = false;
    for (int i = 0; i < GRAPHS && !fine; i++) {
        ig_scope_begin();
        g->n_step = g->n_output = 0;
        choose_sizes(m);
        for (int k = 0; k < 3; k++)
            add_leaf(m);
        fine = add_call_of(m, op);
        ig_scope_end();
    }
    memcpy(why, m->why, GRAPH_WHY);
    free(m);
    free(g);
    return fine;
}

void graph_make(graph *g, uint64_t seed, int64_t number)
{
    maker *m = maker_new(g, seed, number);
    ig_scope_begin();
    const bool history = ig_keep_history(true);
    g->number = number;
    do {
        g->n_step = g->n_output = 0;
        choose_sizes(m);
        for (int64_t n = maker_int(m, 1, 3); n > 0; n--)
            add_leaf(m);
        const int ops = (int)maker_int(m, OPS_LEAST, maker_once(m, 3) ? OPS_MOST : OPS_MOST / 2);
        bool asked = false; /* graphs take turns with the ops */
        for (int i = 0; i < 4 * ops && graph_ops(g) < ops && g->n_step < GRAPH_STEPS - STEPS_LEFT;
             i++)
            if (!asked && graph_ops(g) >= ops / 3)
                asked = add_call_of(m, ig_op_at((int)(number % ig_op_count()))) || maker_once(m, 5);
            else if (maker_once(m, 20))
                add_grad(m);
            else if (maker_once(m, 10))
                add_assembly(m);
            else
                add_call(m);
        choose_outputs(m);
        graph_prune(g);
    } while (graph_ops(g) < OPS_LEAST);
    ig_keep_history(history);
    ig_scope_end();
    free(m);
}
