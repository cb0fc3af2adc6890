/* The element types of ONNX: names, dtypes, sizes. */
#include "lib/onnx/types.h"

static const struct type {
    const char *name;
    ig_dtype dtype;
    int bits, field;
} types[] = {
#define TYPE(number, text, dtype, bits, field) [IG_ONNX_##number] = {text, dtype, bits, field},
#include "lib/onnx/types.def"
#undef TYPE
};

static const struct type *type_at(ig_onnx_type type)
{
    return &types[(unsigned)type < IG_ONNX_TYPES ? type : IG_ONNX_UNDEFINED];
}

const char *ig_onnx_type_name(ig_onnx_type type) { return type_at(type)->name; }
ig_dtype ig_onnx_type_dtype(ig_onnx_type type) { return type_at(type)->dtype; }
int onnx_type_bits(ig_onnx_type type) { return type_at(type)->bits; }
int onnx_type_field(ig_onnx_type type) { return type_at(type)->field; }

ig_onnx_type onnx_type_of(ig_dtype dtype)
{
    for (int i = IG_ONNX_FLOAT; i < IG_ONNX_FLOAT8E4M3FN; i++)
        if (types[i].dtype == dtype && dtype != IG_DTYPE_NONE)
            return (ig_onnx_type)i;
    return IG_ONNX_UNDEFINED;
}
