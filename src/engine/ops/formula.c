/* The formulas, and how their nodes are built. */
#include "engine/ops/formula.h"

#include "base/error.h"
#include "engine/ops/ops.h"

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
};

/* True if x is an array like the first input, or a number of its dtype. */
static bool fits(const ig_array *x, const ig_array *first)
{
    return x->dtype == first->dtype && !x->weak &&
           (x->is_number || view_same_shape(&x->view, &first->view));
}

ig_array *build_formula(formula f, ig_array *const *in)
{
    const int n = formula_rows[f].n_in;
    for (int i = 0; i < n; i++)
        if (!in[i])
            return NULL;
    bool fine = in[0]->dtype == IG_F32 || in[0]->dtype == IG_F64;
    for (int i = 0; i < n; i++)
        fine = fine && fits(in[i], in[0]);
    if (!fine)
        FAIL_NULL(IG_ERR_ARGUMENT, "a formula: inputs differ in dtype or shape");
    const node_attr attr = {.fold = (uint16_t)f};
    return array_node(OP_formula, (ig_dtype)in[0]->dtype, in[0]->view.ndim, in[0]->view.shape, in,
                      n, &attr);
}
