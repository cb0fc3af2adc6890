/* The nodes of the graph as nodes of ONNX. */
#include "engine/ops/conv.h"
#include "engine/ops/formula.h"
#include "lib/onnx/export/export.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const value none;

value refuse(const spot *s, const char *why)
{
    ig_fail(IG_ERR_UNSUPPORTED, "onnx export: %s %s", spot_text(s), why);
    return none;
}

value named(value v, const char *name)
{
    v.name = name;
    return v;
}

/* The shape of s, which has no value yet. */
value shape_of(const exporter *e, const spot *s)
{
    const ig_array *x = s->at[0];
    value y = {.dtype = (ig_dtype)x->dtype, .n = x->view.ndim};
    for (int a = 0; a < y.n; a++)
        for (int t = 0; t < EXPORT_TRACES; t++)
            y.shape[a].in[t] = s->at[t < e->traces ? t : 0]->view.shape[a];
    return y;
}

void inputs_of(const exporter *e, const spot *s, int i, ig_array **x)
{
    for (int t = 0; t < e->traces; t++)
        x[t] = s->at[t]->in[i];
}

value input(exporter *e, const spot *s, int i, bool expand)
{
    ig_array *x[EXPORT_TRACES];
    inputs_of(e, s, i, x);
    return see(e, x, expand);
}

static const char *axes_name(exporter *e, int first, int n)
{
    extent axes[IG_MAX_NDIM];
    for (int i = 0; i < n; i++)
        axes[i] = fixed(first + i);
    return integers(e, n, axes);
}

/* ---- elementwise ---- */

static const struct map_row {
    const char *floats, *integers;
} map_rows[OP_CORE_COUNT] = {
#define MAP(op, floats, integers) [OP_##op] = {floats, integers},
#include "lib/onnx/export/maps.def"
#undef MAP
};

typedef struct expression {
    const char *at;
    const value *in;
    ig_dtype dtype; /* of numbers */
} expression;

static void skip_blanks(expression *x) { x->at += strspn(x->at, ", "); }

/* BitShift takes unsigned integers only. */
static const char *shift(exporter *e, ig_dtype dtype, const char *direction, const char *const *in)
{
    static const ig_dtype whole[] = {[1] = IG_U8, [2] = IG_U16, [4] = IG_U32, [8] = IG_U64};
    const ig_dtype as = whole[ig_dtype_bytes(dtype)];
    value x[2];
    for (int i = 0; i < 2; i++)
        x[i] = value_cast(e, (value){.name = in[i], .dtype = dtype}, as);
    const char *y =
        NODE_OF(e, "BitShift", &IG_ONNX_A_TEXT("direction", direction), 1, x[0].name, x[1].name);
    return value_cast(e, (value){.name = y, .dtype = as}, dtype).name;
}

/* Reads an expression and writes its nodes. */
static const char *evaluate(exporter *e, expression *x)
{
    char op[40];
    const char *in[3];
    int n = 0;
    skip_blanks(x);
    if (strchr("-.0123456789", *x->at)) {
        char *end;
        const double number = strtod(x->at, &end);
        x->at = end;
        return constant_number(e, x->dtype, number);
    }
    size_t letters = strcspn(x->at, "(), ");
    if (letters == 1 && *x->at == 'w') {
        x->at++;
        return constant_number(e, x->dtype, 8 * (double)ig_dtype_bytes(x->dtype));
    }
    if (letters == 1)
        return x->in[*x->at++ - 'x'].name;
    memcpy(op, x->at, letters);
    op[letters] = 0;
    for (x->at += letters + 1; *x->at != ')'; skip_blanks(x))
        if (!(in[n++] = evaluate(e, x)))
            return NULL;
    x->at++;
    if (strncmp(op, "Shift", 5) == 0)
        return shift(e, x->dtype, op[5] == 'L' ? "LEFT" : "RIGHT", in);
    return node(e, op, NULL, 0, n, in);
}

/* The op of bool that computes what op does. */
static op_id of_bool(op_id op)
{
    static const op_id same[][2] = {
        {OP_bitwise_invert, OP_logical_not}, {OP_bitwise_and, OP_logical_and},
        {OP_bitwise_or, OP_logical_or},      {OP_bitwise_xor, OP_logical_xor},
        {OP_minimum, OP_logical_and},        {OP_maximum, OP_logical_or}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i][0] == op)
            return same[i][1];
    return op;
}

static bool orders(op_id op)
{
    return op == OP_less || op == OP_less_equal || op == OP_greater || op == OP_greater_equal;
}

value write_map(exporter *e, op_id op, ig_dtype dtype, const value *in, int n)
{
    value as_numbers[2];
    if (in[0].dtype == IG_BOOL && orders(op)) {
        for (int i = 0; i < 2; i++)
            as_numbers[i] = value_cast(e, in[i], IG_I32);
        in = as_numbers;
    }
    op = in[0].dtype == IG_BOOL ? of_bool(op) : op;
    const struct map_row *row = &map_rows[op];
    value y = in[0];
    const ig_dtype of = in[n - 1].dtype;
    const char *text = dtype_is_float(of)                   ? row->floats
                       : row->integers && !row->integers[0] ? row->floats
                                                            : row->integers;
    for (int i = 1; i < n; i++)
        y = value_beside(y, in[i]);
    if (!text || !y.name) {
        if (y.name)
            ig_fail(IG_ERR_UNSUPPORTED,
                    "onnx export: ONNX has no op for %s of %s, and no combination of ops for it; "
                    "compute it outside of the function",
                    op_rows[op].name, ig_dtype_name(of));
        return none;
    }
    y.name = evaluate(e, &(expression){text, in, of});
    y.dtype = dtype;
    return y;
}

/* Input i of an elementwise node. ONNX broadcasts, so axes of length 1 at the beginning are left out. */
static value map_input(exporter *e, const spot *s, int i)
{
    ig_array *x[EXPORT_TRACES];
    view v[EXPORT_TRACES];
    int lead = 0;
    inputs_of(e, s, i, x);
    views_of(e, x, v);
    for (bool plain = true; plain && lead < v->ndim; lead += plain)
        for (int t = 0; t < EXPORT_TRACES; t++)
            plain = plain && (v[t].shape[lead] == 1 || v[t].stride[lead] == 0);
    for (int t = 0; t < EXPORT_TRACES && view_size(v) > 0; t++) {
        v[t].ndim -= lead;
        memmove(v[t].shape, v[t].shape + lead, (size_t)v[t].ndim * sizeof *v->shape);
        memmove(v[t].stride, v[t].stride + lead, (size_t)v[t].ndim * sizeof *v->stride);
    }
    spot *from = spot_of(e, x[0]);
    return from ? see_view(e, from, v, false) : none;
}

static value map_write(exporter *e, const spot *s)
{
    const ig_array *x = s->at[0];
    const value shape = shape_of(e, s);
    value in[3];
    if (x->n_in > 3)
        return refuse(s, "has too many inputs");
    for (int i = 0; i < x->n_in; i++)
        in[i] = map_input(e, s, i);
    /* Numbers may have another dtype. */
    for (int i = x->op == OP_where; i < x->n_in; i++)
        if (x->in[i]->is_number && x->n_in > 1)
            in[i] = value_cast(e, in[i], in[x->n_in - 1 - (i == x->n_in - 1)].dtype);
    /* Our conversions saturate. */
    if (x->op == OP_astype && dtype_is_float(in[0].dtype) &&
        dtype_kind_of(shape.dtype) == DTYPE_KIND_UNSIGNED)
        in[0].name = NODE_OF(e, "Max", NULL, 0, in[0].name, constant_number(e, in[0].dtype, 0));
    value y = x->op == OP_astype ? value_cast(e, in[0], shape.dtype)
                                 : write_map(e, x->op, shape.dtype, in, x->n_in);
    return value_expand(e, y, shape.n, shape.shape);
}

static value formula_write(exporter *e, const spot *s)
{
    const formula_row *f = &formula_rows[s->at[0]->attr.fold];
    value all[FORMULA_INPUTS + FORMULA_OPS], in[2];
    for (int i = 0; i < f->n_in; i++)
        all[i] = input(e, s, i, false);
    for (int i = 0; i < f->n_ops; i++) {
        const formula_op *o = &f->ops[i];
        in[0] = all[o->a];
        in[1] = o->b < 0 ? none : all[o->b];
        all[f->n_in + i] = write_map(e, o->op, in[0].dtype, in, 1 + (o->b >= 0));
    }
    const value shape = shape_of(e, s);
    return value_expand(e, all[f->n_in + f->n_ops - 1], shape.n, shape.shape);
}

/* ---- folds ---- */

static bool narrow(ig_dtype d) { return !dtype_is_float(d) && ig_dtype_bytes(d) < 4; }

/* v with the lengths of s, where the op gives one name. Bool and integers below 32 bits are folded as i32. */
static value folded(exporter *e, const spot *s, value x, const char *op,
                    const ig_onnx_attribute *attributes, int n, const char *axes)
{
    value y = shape_of(e, s);
    const ig_dtype dtype = y.dtype;
    const value in = narrow(x.dtype) ? value_cast(e, x, IG_I32) : x;
    const char *const names[] = {in.name, axes};
    y.dtype = in.dtype;
    y.name = node(e, op, attributes, n, axes ? 2 : 1, names);
    return in.name ? value_cast(e, y, dtype) : none;
}

static value pool_write(exporter *e, const spot *s, op_id fold, const sliding *w)
{
    const value shape = shape_of(e, s);
    value x = w->over;
    int64_t count = 1;
    for (int i = 0; i < w->axes; i++)
        count *= w->kernel[i];
    const ig_onnx_attribute a[] = {{"kernel_shape", 7, 0, 0, NULL, {w->kernel, w->axes}},
                                   {"strides", 7, 0, 0, NULL, {w->stride, w->axes}},
                                   {"dilations", 7, 0, 0, NULL, {w->dilation, w->axes}}};
    if (fold == OP_min)
        x.name = NODE_OF(e, "Neg", NULL, 0, x.name);
    x.name =
        NODE_OF(e, fold == OP_sum ? "AveragePool" : "MaxPool", a, fold == OP_sum ? 2 : 3, x.name);
    if (fold == OP_min)
        x.name = NODE_OF(e, "Neg", NULL, 0, x.name);
    if (fold == OP_sum)
        x.name = NODE_OF(e, "Mul", NULL, 0, x.name, constant_number(e, x.dtype, (double)count));
    x.n = 0; /* its shape is not kept */
    return x.name ? value_reshape(e, x, shape.n, shape.shape) : none;
}

/* Windows that overlap, or the view of a pool. */
static bool is_pool(const ig_array *x, const view *v)
{
    return !view_is_injective(v) ||
           (x != x->root && x->op < OP_CORE_COUNT && strstr(op_rows[x->op].name, "pool"));
}

static value reduce_write(exporter *e, const spot *s)
{
    static const char *const names[] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"};
    static const op_id folds[] = {OP_sum, OP_prod, OP_max, OP_min};
    const ig_array *x = s->at[0];
    const int axes = x->attr.ndim[0], fold = x->attr.fold;
    ig_array *in[EXPORT_TRACES];
    view v[EXPORT_TRACES];
    sliding w;
    int i = 0;
    while (i < 4 && folds[i] != fold)
        i++;
    if (i == 4)
        return refuse(s, "folds by an op that ONNX does not have");
    inputs_of(e, s, 0, in);
    views_of(e, in, v);
    spot *from = spot_of(e, in[0]);
    if (from && dtype_is_float((ig_dtype)x->dtype) && i != 1 && is_pool(x->in[0], v) &&
        see_windows(e, from, v, axes, &w) &&
        (fold != OP_sum || (w.dilation[0] == 1 && (axes < 2 || w.dilation[1] == 1) &&
                            (axes < 3 || w.dilation[2] == 1))))
        return pool_write(e, s, fold, &w);
    const value y = see(e, in, true);
    if (axes == 0 || !y.name)
        return y;
    if (x->dtype == IG_BOOL && view_size(v) == 0 && view_size(&x->view) > 0) {
        const value shape = shape_of(e, s),
                    all = {.name = constant_number(e, IG_BOOL, fold == OP_min), .dtype = IG_BOOL};
        return value_expand(e, all, shape.n, shape.shape);
    }
    return folded(e, s, y, names[i], &IG_ONNX_A_INT("keepdims", 0), 1,
                  axes_name(e, y.n - axes, axes));
}

static value argreduce_write(exporter *e, const spot *s)
{
    const ig_array *x = s->at[0];
    value y = input(e, s, 0, true);
    const int axes = x->attr.ndim[0], kept = y.n - axes;
    extent all = fixed(1);
    if (!y.name)
        return none;
    for (int a = kept; a < y.n; a++)
        all = extent_product(all, y.shape[a]);
    y.shape[kept] = all;
    value flat = input(e, s, 0, true);
    flat = value_reshape(e, flat, kept + 1, y.shape);
    const ig_onnx_attribute a[] = {IG_ONNX_A_INT("axis", -1), IG_ONNX_A_INT("keepdims", 0)};
    return folded(e, s, flat, x->attr.fold == OP_max ? "ArgMax" : "ArgMin", a, 2, NULL);
}

/* Running folds: sums by CumSum, others by log2(n) steps, each of which folds elements twice as far apart. */
static value scan_write(exporter *e, const spot *s)
{
    const op_id fold = s->at[0]->attr.fold;
    value x = input(e, s, 0, true);
    const extent n = x.n ? x.shape[x.n - 1] : fixed(0);
    if (!x.name)
        return none;
    if (fold == OP_sum) {
        const int64_t axis = x.n - 1;
        return named(x, NODE_OF(e, "CumSum", NULL, 0, x.name, constant(e, IG_I64, 0, 1, &axis)));
    }
    if (!extent_fixed(e, n))
        return refuse(s, "runs along the symbolic axis; export with a fixed shape");
    for (int64_t far = 1; far < n.in[0] && x.name; far *= 2) {
        stretch head[EXPORT_AXES], tail[EXPORT_AXES];
        for (int a = 0; a < x.n; a++)
            head[a] = tail[a] = (stretch){fixed(0), x.shape[a], 1};
        head[x.n - 1].length = fixed(n.in[0] - far);
        tail[x.n - 1] = (stretch){fixed(far), fixed(n.in[0] - far), 1};
        const value pair[2] = {value_slice(e, x, head), value_slice(e, x, tail)};
        const value later = write_map(e,
                                      fold == OP_prod  ? OP_multiply
                                      : fold == OP_max ? OP_maximum
                                                       : OP_minimum,
                                      x.dtype, pair, 2);
        head[x.n - 1].length = fixed(far);
        x.name = NODE_OF(e, "Concat", &IG_ONNX_A_INT("axis", x.n - 1), 1,
                         value_slice(e, x, head).name, later.name);
    }
    return x;
}

/* ---- order ---- */

static value sort_write(exporter *e, const spot *s)
{
    const ig_array *x = s->at[0];
    const value shape = shape_of(e, s);
    value in = input(e, s, 0, true);
    const ig_onnx_attribute a[] = {IG_ONNX_A_INT("axis", -1),
                                   IG_ONNX_A_INT("largest", x->attr.descending)};
    if (narrow(in.dtype))
        in = value_cast(e, in, IG_I32);
    const char *kept = integers(e, 1, &shape.shape[shape.n - 1]);
    const char *sorted = new_name(e, "Sorted"), *places = new_name(e, "Places");
    if (!in.name || !kept || !sorted || !places)
        return none;
    char inputs[300], outputs[300];
    snprintf(inputs, sizeof inputs, "%.140s %.140s", in.name, kept);
    snprintf(outputs, sizeof outputs, "%.140s %.140s", sorted, places);
    ig_onnx_builder_node(e->b, "TopK", inputs, outputs, a, 2);
    if (x->op == OP_argsort)
        return named(shape, places);
    value y = named(shape, sorted);
    y.dtype = in.dtype;
    return value_cast(e, y, shape.dtype);
}

/* The number of elements of the sorted row before each of the others. */
static value search_write(exporter *e, const spot *s)
{
    const value shape = shape_of(e, s);
    value row = input(e, s, 0, true), x = input(e, s, 1, true);
    extent column[EXPORT_AXES];
    memcpy(column, x.shape, sizeof column);
    column[x.n] = fixed(1);
    const value at = value_reshape(e, x, x.n + 1, column);
    const value pair[2] = {row, at};
    value before = write_map(e, s->at[0]->attr.right ? OP_less_equal : OP_less, IG_BOOL, pair, 2);
    before = value_cast(e, before, IG_I64);
    const int64_t last = -1;
    return before.name ? named(shape, NODE_OF(e, "ReduceSum", &IG_ONNX_A_INT("keepdims", 0), 1,
                                              before.name, constant(e, IG_I64, 1, 1, &last)))
                       : none;
}

/* ---- softmax ---- */

/* True if y, a view of reduced elements, repeats them along axis for each element of x. */
static bool repeats(const ig_array *y, const view *x, int axis)
{
    view v = *x;
    v.shape[axis] = 1;
    view_contiguous(&v, v.ndim, v.shape);
    bool same = y->view.ndim == x->ndim && y->view.offset == 0;
    for (int a = 0; same && a < x->ndim; a++)
        same = y->view.shape[a] == x->shape[a] &&
               (x->shape[a] == 1 || y->view.stride[a] == (a == axis ? 0 : v.stride[a]));
    return same;
}

/* True if y is a root that folds x along axis by an op. */
static bool folds(const ig_array *y, op_id op, const ig_array *x, int axis)
{
    int axes[IG_MAX_NDIM];
    view v;
    if (y->op != op || y->n_in != 1 || y->attr.ndim[0] != 1 || y->in[0]->root != x->root)
        return false;
    for (int a = 0; a < x->view.ndim; a++)
        axes[a] = a < axis ? a : a == x->view.ndim - 1 ? axis : a + 1;
    view_permute(&x->view, axes, &v);
    return view_equal(&v, &y->in[0]->view);
}

/* True if the root x has an op of n inputs. An evaluated root has none. */
static bool is_op(const ig_array *x, op_id op, int n) { return x->op == op && x->n_in == n; }

ig_array *softmax_of(const ig_array *x, int *axis)
{
    if (!is_op(x, OP_multiply, 2) || !is_op(x->in[0]->root, OP_exp, 1) ||
        !is_op(x->in[1]->root, OP_reciprocal, 1))
        return NULL;
    const ig_array *e = x->in[0]->root, *below = e->in[0]->root, *r = x->in[1];
    if (!is_op(below, OP_subtract, 2) || !view_equal(&x->in[0]->view, &x->view) ||
        !view_equal(&e->in[0]->view, &x->view) || !view_same_shape(&below->in[0]->view, &x->view))
        return NULL;
    for (int a = 0; a < x->view.ndim; a++)
        if (x->view.shape[a] > 1 && folds(r->root->in[0]->root, OP_sum, e, a) &&
            view_is_contiguous(&r->root->in[0]->view) && repeats(r, &x->view, a) &&
            folds(below->in[1]->root, OP_max, below->in[0], a) &&
            repeats(below->in[1], &x->view, a)) {
            *axis = a;
            return below->in[0];
        }
    return NULL;
}

/* ---- products ---- */

/* Operand i of a contraction as (b..., first group, second group): its own axes and k, or k and its own axes. */
static value operand(exporter *e, const spot *s, int i)
{
    const uint8_t *g = s->at[0]->attr.ndim;
    const int b = g[0], own = g[1 + i], k = g[3];
    ig_array *x[EXPORT_TRACES];
    view v[EXPORT_TRACES], p[EXPORT_TRACES], merged[EXPORT_TRACES];
    int axes[IG_MAX_NDIM];
    inputs_of(e, s, i, x);
    views_of(e, x, v);
    bool lead = false, merges = true; /* lead: b is kept */
    for (int a = 0; a < b; a++)
        lead = lead || (v[0].shape[a] > 1 && v[0].stride[a] != 0);
    const int kept = lead ? b : 0, first = i ? k : own, second = i ? own : k;
    extent target[EXPORT_AXES], whole[EXPORT_AXES];
    for (int a = 0; a < b + own + k; a++)
        axes[a] = a < b || !i ? a : a < b + k ? a + own : a - k;
    for (int t = 0; t < EXPORT_TRACES; t++) {
        int64_t shape[IG_MAX_NDIM + 2];
        view_permute(&v[t], axes, &p[t]);
        memmove(p[t].shape, p[t].shape + b - kept, (size_t)(kept + own + k) * sizeof *p->shape);
        memmove(p[t].stride, p[t].stride + b - kept, (size_t)(kept + own + k) * sizeof *p->stride);
        p[t].ndim = kept + own + k;
        memcpy(shape, p[t].shape, (size_t)kept * sizeof *shape);
        shape[kept] = shape[kept + 1] = 1;
        for (int a = 0; a < first + second; a++) {
            whole[kept + a].in[t] = p[t].shape[kept + a];
            shape[kept + (a >= first)] *= p[t].shape[kept + a];
        }
        merges =
            merges && kept + 2 <= IG_MAX_NDIM && view_reshape(&p[t], kept + 2, shape, &merged[t]);
        for (int a = 0; a < kept + 2; a++)
            target[a].in[t] = shape[a];
    }
    spot *from = spot_of(e, x[0]);
    if (!from)
        return none;
    value y = see_view(e, from, merges ? merged : p, false);
    if (!y.name)
        return none;
    for (int a = 0; a < kept; a++) { /* MatMul broadcasts these */
        whole[a] = y.shape[a];
        target[a] = y.shape[a];
    }
    y = merges ? value_expand(e, y, kept + 2, target)
               : value_reshape(e, value_expand(e, y, p->ndim, whole), kept + 2, target);
    return value_cast(e, y, (ig_dtype)s->at[0]->dtype);
}

static value contract_write(exporter *e, const spot *s)
{
    const value shape = shape_of(e, s), x = operand(e, s, 0), w = operand(e, s, 1);
    const int b = s->at[0]->attr.ndim[0];
    if (!x.name || !w.name)
        return none;
    value y = value_beside(x, w), to = shape;
    y.shape[y.n - 1] = w.shape[w.n - 1];
    y.shape[y.n - 2] = x.shape[x.n - 2];
    for (int a = 0; a < b; a++)
        to.shape[a] = y.n == 2 ? fixed(1) : y.shape[a];
    y.name = NODE_OF(e, "MatMul", NULL, 0, x.name, w.name);
    y = value_reshape(e, y, to.n, to.shape);
    return value_expand(e, y, shape.n, shape.shape);
}

static value conv_write(exporter *e, const spot *s, const conv_numbers *c)
{
    const ig_array *x = s->at[0];
    const value shape = shape_of(e, s);
    const char *in[3];
    int64_t pads[2 * WINDOW_AXES_MOST], more[WINDOW_AXES_MOST];
    for (int i = 0; i < x->n_in - 1; i++)
        in[i] = input(e, s, 1 + i, true).name;
    for (int a = 0; a < c->n; a++) {
        pads[a] = pads[c->n + a] = c->padding[a];
        more[a] = x->view.shape[2 + a] - (x->in[1]->view.shape[2 + a] - 1) * c->stride[a] +
                  2 * c->padding[a] - (x->in[2]->view.shape[2 + a] - 1) * c->dilation[a] - 1;
    }
    const ig_onnx_attribute a[] = {IG_ONNX_A_INT("group", c->groups),
                                   {"strides", 7, 0, 0, NULL, {c->stride, c->n}},
                                   {"pads", 7, 0, 0, NULL, {pads, 2 * c->n}},
                                   {"dilations", 7, 0, 0, NULL, {c->dilation, c->n}},
                                   {"output_padding", 7, 0, 0, NULL, {more, c->n}}};
    return named(shape, node(e, c->transposed ? "ConvTranspose" : "Conv", a, c->transposed ? 5 : 4,
                             x->n_in - 1, in));
}

/* ---- all ---- */

static value range_write(exporter *e, const spot *s)
{
    const value shape = shape_of(e, s);
    extent n = fixed(1);
    const int64_t zero = 0, one = 1;
    for (int a = 0; a < shape.n; a++)
        n = extent_product(n, shape.shape[a]);
    const value size = {integers(e, 1, &n), IG_I64, 1, {fixed(1)}};
    const value flat = {.name = NODE_OF(e, "Range", NULL, 0, constant(e, IG_I64, 0, 1, &zero),
                                        value_reshape(e, size, 0, NULL).name,
                                        constant(e, IG_I64, 0, 1, &one)),
                        .dtype = IG_I64,
                        .n = 1,
                        .shape = {n}};
    return value_reshape(e, flat, shape.n, shape.shape);
}

value write_node(exporter *e, const spot *s)
{
    ig_array *const x = s->at[0];
    const conv_numbers *c = conv_of(x);
    if (c)
        return conv_write(e, s, c);
    if (s->softmax)
        return named(shape_of(e, s), NODE_OF(e, "Softmax", &IG_ONNX_A_INT("axis", s->softmax - 1),
                                             1, see(e, s->stands, true).name));
    if (s->stands[0])
        return see(e, s->stands, true);
    switch (x->op) {
    case OP_to_device:
    case OP_rechunk: return input(e, s, 0, true);
    case OP_sum:
    case OP_prod:
    case OP_max:
    case OP_min:
    case OP_any:
    case OP_all: return reduce_write(e, s);
    case OP_argmax:
    case OP_argmin: return argreduce_write(e, s);
    case OP_cumulative_sum:
    case OP_cumulative_prod:
    case OP_cumulative_max:
    case OP_cumulative_min: return scan_write(e, s);
    case OP_sort:
    case OP_argsort: return sort_write(e, s);
    case OP_searchsorted: return search_write(e, s);
    case OP_contract: return contract_write(e, s);
    case OP_formula: return formula_write(e, s);
    case OP_iota: return range_write(e, s);
    case OP_assemble: return assemble_write(e, s);
    case OP_read: return read_write(e, s);
    case OP_write: return update_write(e, s);
    default: break;
    }
    if (x->op < OP_CORE_COUNT && op_rows[x->op].cls == CLASS_ELEMENTWISE)
        return map_write(e, s);
    return refuse(s, x->attr.kernel
                         ? "is a kernel or a loop, which ONNX cannot contain; unroll the loop, or "
                           "compute it outside of the function"
                         : "has no counterpart in ONNX; compute it outside of the function");
}
