/* Matrix products. */
#include "lib/onnx/ops/common.h"

#include <string.h>

/* A factor in the dtype of x: attributes are floats, and integers are scaled by whole numbers. */
static ig_array *scaled(ig_array *x, double factor)
{
    if (factor == 1)
        return x;
    return ig_astype(ig_multiply(x, ig_float(factor)), ig_dtype_of(x));
}

void build_gemm(onnx_call *c)
{
    ig_array *a = call_array(c, 0), *b = call_array(c, 1), *added = call_array_or_null(c, 2);
    double alpha = call_attribute_float(c, "alpha", 1), beta = call_attribute_float(c, "beta", 1);
    call_ignore(c, "broadcast");
    if (call_attribute_bool(c, "transA", false))
        a = ig_matrix_transpose(a);
    if (call_attribute_bool(c, "transB", false))
        b = ig_matrix_transpose(b);
    ig_array *y = scaled(ig_matmul(a, b), alpha);
    call_return(c, 0, added && beta != 0 ? ig_add(y, scaled(added, beta)) : y);
}

void build_einsum(onnx_call *c)
{
    int n;
    ig_array **x = op_arrays(c, &n);
    const char *equation = call_attribute_text(c, "equation", "");
    size_t length = 0;
    char *text = (char *)call_room(c, (int)(strlen(equation) / 8 + 1));
    for (size_t i = 0; text && equation[i]; i++)
        if (equation[i] != ' ')
            text[length++] = equation[i];
    if (!text || ig_failed())
        return;
    text[length] = 0;
    call_return(c, 0, ig_einsum(text, x, n));
}
