/* Matrix products. */
#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/parts.h"

#include <string.h>

/* A factor in the dtype of x: attributes are floats, and integers are scaled by whole numbers. */
static ig_array *scaled(ig_array *x, double factor)
{
    if (factor == 1)
        return x;
    return ig_astype(ig_multiply(x, ig_float(factor)), ig_dtype_of(x));
}

void build_matmul(onnx_call *c)
{
    ig_array *x[2], *a = call_array(c, 0), *b = call_array(c, 1), *scale;
    if (part_whole(c, ig_ndim(b) - 1, x, &scale))
        call_return(c, 0, ig_multiply(ig_astype(ig_matmul(x[0], x[1]), IG_F32), scale));
    else
        call_return(c, 0, ig_matmul(a, b));
}

void build_gemm(onnx_call *c)
{
    ig_array *x[2] = {call_array(c, 0), call_array(c, 1)}, *added = call_array_or_null(c, 2),
             *scale;
    double alpha = call_attribute_float(c, "alpha", 1), beta = call_attribute_float(c, "beta", 1);
    const bool turned[2] = {call_attribute_bool(c, "transA", false),
                            call_attribute_bool(c, "transB", false)};
    const bool whole = part_whole(c, turned[1] ? 0 : 1, x, &scale);
    call_ignore(c, "broadcast");
    for (int i = 0; i < 2; i++)
        if (turned[i])
            x[i] = ig_matrix_transpose(x[i]);
    ig_array *y = ig_matmul(x[0], x[1]);
    y = scaled(whole ? ig_multiply(ig_astype(y, IG_F32), scale) : y, alpha);
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
