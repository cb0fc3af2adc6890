#include "lib/onnx/ops/parts.h"

/* Elements start to stop of an axis, every step-th one. */
static ig_array *part(ig_array *x, int axis, int64_t start, int64_t stop, int64_t step)
{
    int64_t from[IG_MAX_NDIM], to[IG_MAX_NDIM], steps[IG_MAX_NDIM];
    const int n = (axis < 0 ? axis + ig_ndim(x) : axis) + 1;
    if (!x)
        return NULL;
    for (int i = 0; i < n; i++) {
        from[i] = i < n - 1 ? 0 : start;
        to[i] = i < n - 1 ? INT64_MAX : stop;
        steps[i] = i < n - 1 ? 1 : step;
    }
    return ig_slice(x, (ig_ints){from, n}, (ig_ints){to, n}, (ig_ints){steps, n});
}

ig_array *part_slice(ig_array *x, int axis, int64_t start, int64_t stop)
{
    return part(x, axis, start, stop, 1);
}

ig_array *part_every(ig_array *x, int axis, int64_t start, int64_t step)
{
    return part(x, axis, start, INT64_MAX, step);
}

ig_array *part_at(ig_array *x, int axis, int64_t i)
{
    return ig_squeeze(part_slice(x, axis, i, i + 1), IG_AXES(axis));
}

ig_array *part_join(ig_array *first, ig_array *second, int axis)
{
    if (!first)
        return ig_failed() ? NULL : second;
    return ig_concat((ig_array *const[]){first, second}, 2, IG_AXES(axis));
}

ig_array *part_along(ig_array *x, int ndim, int axis)
{
    int64_t shape[IG_MAX_NDIM];
    if (!x)
        return NULL;
    for (int i = 0; i < ndim; i++)
        shape[i] = i == axis ? ig_size(x) : 1;
    return ig_reshape(x, (ig_ints){shape, ndim});
}

int part_axis(onnx_call *c, const char *where, int64_t axis, int ndim)
{
    if (axis < -ndim || axis >= ndim) {
        call_fail(c, IG_ERR_SHAPE, where, "axis %lld is outside of an array of %d axes",
                  (long long)axis, ndim);
        return 0;
    }
    return (int)(axis < 0 ? axis + ndim : axis);
}

ig_array *part_repeat(ig_array *x, int64_t n, int axis)
{
    int64_t wide[IG_MAX_NDIM + 1], shape[IG_MAX_NDIM];
    const int ndim = ig_ndim(x);
    if (!x || n == 1)
        return x;
    const int at = axis < 0 ? axis + ndim : axis;
    for (int i = 0; i < ndim; i++) {
        shape[i] = ig_dim(x, i) * (i == at ? n : 1);
        wide[i + (i > at)] = ig_dim(x, i);
    }
    wide[at + 1] = n;
    return ig_reshape(
        ig_broadcast_to(ig_expand_dims(x, IG_AXES(at + 1)), (ig_ints){wide, ndim + 1}),
        (ig_ints){shape, ndim});
}

ig_array *part_floats(const float *v, int64_t n) { return ig_from_data(v, IG_SHAPE(n), IG_F32); }

ig_array *part_ints(const int64_t *v, int64_t n) { return ig_from_data(v, IG_SHAPE(n), IG_I64); }

ig_array *part_count(int64_t n) { return ig_arange(0, (double)n, 1, IG_I64); }

bool part_is_float(ig_dtype dtype) { return ig_isdtype(dtype, "real floating"); }

ig_dtype part_wide(ig_dtype dtype) { return dtype == IG_F64 ? IG_F64 : IG_F32; }

bool part_ndim(onnx_call *c, const char *name, const ig_array *x, int ndim)
{
    if (x && ig_ndim(x) == ndim)
        return true;
    if (x)
        call_fail(c, IG_ERR_SHAPE, name, "has %d axes; the op needs %d", ig_ndim(x), ndim);
    return false;
}
