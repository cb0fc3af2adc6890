/* The formulas, and how their nodes are built. */
#include "engine/ops/formula.h"

#include "base/error.h"
#include "engine/ops/ops.h"

#include <string.h>

const formula_row formula_rows[FORMULAS] = {
    [FORMULA_DECAYED_SUM] = {3, 2, {{OP_multiply, 0, 1}, {OP_add, 3, 2}}},
    [FORMULA_DECAYED_SQUARES] = {3, 3, {{OP_multiply, 0, 1}, {OP_square, 2, -1}, {OP_add, 3, 4}}},
    [FORMULA_ADAM] = {5,
                      5,
                      {{OP_multiply, 1, 3},
                       {OP_sqrt, 2, -1},
                       {OP_add, 6, 4},
                       {OP_divide, 5, 7},
                       {OP_subtract, 0, 8}}},
    /* u = x * (c + k * x**2), t = tanh(u); g * (1 + t + x * (1 - t**2) * (c + 3 * k * x**2)) / 2. The constants are c, k,
     * 3 * k, 1 and 1/2. */
    [FORMULA_GELU_TANH_GRADIENT] = {7,
                                    15,
                                    {{OP_square, 1, -1},
                                     {OP_multiply, 7, 3},
                                     {OP_add, 8, 2},
                                     {OP_multiply, 9, 1},
                                     {OP_tanh, 10, -1},
                                     {OP_square, 11, -1},
                                     {OP_subtract, 5, 12},
                                     {OP_multiply, 7, 4},
                                     {OP_add, 14, 2},
                                     {OP_multiply, 15, 1},
                                     {OP_multiply, 13, 16},
                                     {OP_add, 17, 11},
                                     {OP_add, 18, 5},
                                     {OP_multiply, 19, 6},
                                     {OP_multiply, 0, 20}}},
    /* g * ((1 + erf(x * c)) / 2 + x * exp(-x**2 / 2) * k). The constants are c, 1, 1/2, -1/2 and k. */
    [FORMULA_GELU_GRADIENT] = {7,
                               11,
                               {{OP_multiply, 1, 2},
                                {OP_erf, 7, -1},
                                {OP_add, 8, 3},
                                {OP_multiply, 9, 4},
                                {OP_square, 1, -1},
                                {OP_multiply, 11, 5},
                                {OP_exp, 12, -1},
                                {OP_multiply, 13, 6},
                                {OP_multiply, 14, 1},
                                {OP_add, 10, 15},
                                {OP_multiply, 0, 16}}},
    /* s = sigmoid(x); g * s * (1 + x * (1 - s)). The constant is 1. */
    [FORMULA_SILU_GRADIENT] = {3,
                               6,
                               {{OP_sigmoid, 1, -1},
                                {OP_subtract, 2, 3},
                                {OP_multiply, 4, 1},
                                {OP_add, 5, 2},
                                {OP_multiply, 6, 3},
                                {OP_multiply, 0, 7}}},
    [FORMULA_NORM_ALONG] =
        {5,
         4,
         {{OP_subtract, 1, 2}, {OP_multiply, 5, 3}, {OP_multiply, 0, 4}, {OP_multiply, 7, 6}}},
    [FORMULA_NORM_LEVEL] = {2, 1, {{OP_multiply, 0, 1}}},
    /* (g * weight - level - (x - mean) * root * along) * root */
    [FORMULA_NORM_GRADIENT] = {7,
                               7,
                               {{OP_multiply, 0, 4},
                                {OP_subtract, 1, 2},
                                {OP_multiply, 8, 3},
                                {OP_multiply, 9, 6},
                                {OP_subtract, 7, 5},
                                {OP_subtract, 11, 10},
                                {OP_multiply, 12, 3}}},
};

/* True if x is an array like the first input, or a number of the result's dtype. */
static bool fits(const ig_array *x, const ig_array *first, ig_dtype dtype)
{
    if (x->is_number || !dtype_is_half((ig_dtype)x->dtype))
        return x->dtype == dtype && !x->weak &&
               (x->is_number || view_same_shape(&x->view, &first->view));
    return dtype == IG_F32 && view_same_shape(&x->view, &first->view);
}

ig_array *build_formula(formula f, ig_array *const *in)
{
    const int n = formula_rows[f].n_in;
    for (int i = 0; i < n; i++)
        if (!in[i])
            return NULL;
    const ig_dtype dtype = in[0]->dtype == IG_F64 ? IG_F64 : IG_F32;
    bool fine = dtype_is_float((ig_dtype)in[0]->dtype);
    for (int i = 0; i < n; i++)
        fine = fine && fits(in[i], in[0], dtype);
    if (!fine)
        FAIL_NULL(IG_ERR_ARGUMENT, "a formula: inputs differ in dtype or shape");
    const node_attr attr = {.fold = (uint16_t)f};
    return array_node(OP_formula, dtype, in[0]->view.ndim, in[0]->view.shape, in, n, &attr);
}

ig_array *formula_steps(formula f, ig_array *const *in, ig_dtype dtype, ig_array **steps)
{
    const formula_row *row = &formula_rows[f];
    ig_array *v[FORMULA_INPUTS + FORMULA_OPS];
    for (int i = 0; i < row->n_in; i++)
        v[i] = build_cast(in[i], dtype);
    for (int k = 0; k < row->n_ops; k++) {
        const formula_op *o = &row->ops[k];
        ig_array *const operands[2] = {v[o->a], o->b < 0 ? NULL : v[o->b]};
        v[row->n_in + k] = build_map((op_id)o->op, dtype, operands, 1 + (o->b >= 0));
    }
    memcpy(steps, v + row->n_in, (size_t)row->n_ops * sizeof *steps);
    return steps[row->n_ops - 1];
}

ig_array *formula_by_ops(const ig_array *node)
{
    ig_array *steps[FORMULA_OPS];
    return formula_steps((formula)node->attr.fold, node->in, (ig_dtype)node->dtype, steps);
}
