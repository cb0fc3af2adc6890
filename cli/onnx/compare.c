/* Compares values of ONNX graphs. See onnx.h. */
#include "onnx/onnx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ingot.h>

static const char *const kinds[] = {"nothing", "a tensor", "strings", "a sequence", "a map"};

static bool shapes_match(const ig_onnx_value *got, const ig_onnx_value *expected, str *why)
{
    const ig_ints a = ig_onnx_value_shape(got), b = ig_onnx_value_shape(expected);
    bool same = a.n == b.n;
    for (int i = 0; i < a.n && same; i++)
        same = a.v[i] == b.v[i];
    if (same)
        return true;
    str_puts(why, "it is ");
    value_text(why, got);
    str_puts(why, ", expected ");
    value_text(why, expected);
    return false;
}

static bool close_to(double got, double expected, double rtol, double atol)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    if (isinf(expected) || isinf(got))
        return expected == got;
    return fabs(got - expected) <= atol + rtol * fabs(expected);
}

/* A few roundings of the largest element: where terms cancel, an exact result is 0 and another one is such a rounding. Halves
 * have none, because theirs would hide errors. */
static double noise_of(const double *x, int64_t n, ig_dtype dtype)
{
    const bool wide = ig_dtype_bytes(dtype) >= 4;
    double most = 0;
    ig_finfo info = {0};
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            most = fmax(most, fabs(x[i]));
    return wide && ig_finfo_of(dtype, &info) == IG_OK ? 4 * info.eps * most : 0;
}

/* Floats and complex numbers; parts: 2 for complex. */
static bool floats_match(ig_array *got, ig_array *expected, int parts, double rtol, double atol,
                         str *why)
{
    const ig_dtype wide = parts == 2 ? IG_C128 : IG_F64;
    const double *a = ig_data(ig_astype(ig_to_device(got, "cpu"), wide));
    const double *b = ig_data(ig_astype(ig_to_device(expected, "cpu"), wide));
    int64_t wrong = 0, first = -1;
    if (!a || !b)
        return false;
    atol = fmax(atol, noise_of(b, ig_size(got) * parts, ig_dtype_of(expected)));
    for (int64_t i = 0; i < ig_size(got) * parts; i++)
        if (!close_to(a[i], b[i], rtol, atol)) {
            first = wrong++ ? first : i;
        }
    if (wrong)
        str_printf(why, "%lld of %lld elements differ; element %lld is %.9g, expected %.9g",
                   (long long)wrong, (long long)ig_size(got), (long long)(first / parts), a[first],
                   b[first]);
    return !wrong;
}

static bool exact_match(ig_array *got, ig_array *expected, str *why)
{
    const ig_dtype dtype = ig_dtype_of(got);
    const size_t bytes = ig_dtype_bytes(dtype);
    const char *a = ig_data(got), *b = ig_data(expected);
    if (!a || !b)
        return false;
    for (int64_t i = 0; i < ig_size(got); i++)
        if (memcmp(a + (size_t)i * bytes, b + (size_t)i * bytes, bytes) != 0) {
            const bool wide = dtype == IG_U64;
            ig_array *x = ig_from_data(a + (size_t)i * bytes, IG_SCALAR, dtype);
            ig_array *y = ig_from_data(b + (size_t)i * bytes, IG_SCALAR, dtype);
            str_printf(why, "element %lld is %lld, expected %lld", (long long)i,
                       (long long)(wide ? (int64_t)ig_item(x) : ig_item_int(x)),
                       (long long)(wide ? (int64_t)ig_item(y) : ig_item_int(y)));
            return false;
        }
    return true;
}

static bool tensors_match(const ig_onnx_value *got, const ig_onnx_value *expected, double rtol,
                          double atol, str *why)
{
    ig_array *a = ig_onnx_value_get(got), *b = ig_onnx_value_get(expected);
    if (ig_onnx_value_type(got) != ig_onnx_value_type(expected)) {
        str_printf(why, "it is %s, expected %s", ig_onnx_type_name(ig_onnx_value_type(got)),
                   ig_onnx_type_name(ig_onnx_value_type(expected)));
        return false;
    }
    if (!shapes_match(got, expected, why))
        return false;
    if (ig_dtype_of(a) != ig_dtype_of(b)) {
        str_printf(why, "it is held as %s, expected %s", ig_dtype_name(ig_dtype_of(a)),
                   ig_dtype_name(ig_dtype_of(b)));
        return false;
    }
    const bool pairs = ig_isdtype(ig_dtype_of(a), "complex floating");
    return pairs || ig_isdtype(ig_dtype_of(a), "real floating")
               ? floats_match(a, b, 1 + pairs, rtol, atol, why)
               : exact_match(a, b, why);
}

static bool texts_match(const ig_onnx_value *got, const ig_onnx_value *expected, str *why)
{
    int64_t n = 1;
    const ig_ints shape = ig_onnx_value_shape(got);
    if (!shapes_match(got, expected, why))
        return false;
    for (int i = 0; i < shape.n; i++)
        n *= shape.v[i];
    for (int64_t i = 0; i < n; i++) {
        size_t bytes_a = 0, bytes_b = 0;
        const char *a = ig_onnx_value_text(got, i, &bytes_a);
        const char *b = ig_onnx_value_text(expected, i, &bytes_b);
        if (bytes_a == bytes_b && memcmp(a, b, bytes_a) == 0)
            continue;
        str_printf(why, "string %lld is '%.60s', expected '%.60s'", (long long)i, a, b);
        return false;
    }
    return true;
}

static bool any_match(const ig_onnx_value *got, const ig_onnx_value *expected, double rtol,
                      double atol, str *why)
{
    const ig_onnx_kind kind = ig_onnx_value_kind(got), want = ig_onnx_value_kind(expected);
    if (kind != want) {
        str_printf(why, "it is %s, expected %s", kinds[kind], kinds[want]);
        return false;
    }
    if (kind == IG_ONNX_TENSOR)
        return tensors_match(got, expected, rtol, atol, why);
    if (kind == IG_ONNX_TEXTS)
        return texts_match(got, expected, why);
    if (ig_onnx_value_count(got) != ig_onnx_value_count(expected)) {
        str_printf(why, "it has %d items, expected %d", ig_onnx_value_count(got),
                   ig_onnx_value_count(expected));
        return false;
    }
    for (int i = 0; i < ig_onnx_value_count(got); i++)
        if (!any_match(ig_onnx_value_item(got, i), ig_onnx_value_item(expected, i), rtol, atol,
                       why)) {
            str_printf(why, " (item %d)", i);
            return false;
        }
    return true;
}

/* The CPU compares: other devices may lack f64. */
bool values_match(const ig_onnx_value *got, const ig_onnx_value *expected, double rtol, double atol,
                  str *why)
{
    char *device = heap_string(ig_device());
    const bool fine = ig_set_device("cpu") == IG_OK && any_match(got, expected, rtol, atol, why);
    ig_set_device(device);
    free(device);
    return fine;
}
