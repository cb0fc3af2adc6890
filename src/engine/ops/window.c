/* Windows over spatial axes: checks and counts them, and makes their views. See window.h. */
#include "base/error.h"
#include "engine/ops/layout.h"
#include "engine/ops/window.h"
#include <math.h>
#include <string.h>

/* The largest stride, padding or kernel. So sums and products of a few of them do not overflow. */
#define NUMBER_MOST ((int64_t)INT32_MAX)

int window_axes(op_id op)
{
    const char *name = op_rows[op].name; /* the only digit is in "2d" */
    return *strpbrk(name, "123") - '0';
}

ig_status window_numbers(op_id op, const char *what, ig_ints given, int n, int64_t least,
                         int64_t *numbers)
{
    if (given.n != 1 && given.n != n)
        FAIL(IG_ERR_ARGUMENT, "%s: %s has %d numbers; give 1%s", op_rows[op].name, what, given.n,
             n == 1   ? ""
             : n == 2 ? " or 2, one for each axis"
                      : " or 3, one for each axis");
    for (int a = 0; a < n; a++) {
        numbers[a] = given.v[given.n == 1 ? 0 : a];
        if (numbers[a] < least || numbers[a] > NUMBER_MOST)
            FAIL(IG_ERR_ARGUMENT, "%s: %s is %lld; give %lld or more%s", op_rows[op].name, what,
                 (long long)numbers[a], (long long)least,
                 numbers[a] > NUMBER_MOST ? ", below 2^31" : "");
    }
    return IG_OK;
}

ig_status window_check(op_id op, const char *what, const ig_array *x)
{
    static const char *const wants[] = {"(N, C, L)", "(N, C, H, W)", "(N, C, D, H, W)"};
    const int n = window_axes(op);
    char text[400];
    if (x->view.ndim != n + 2)
        FAIL(IG_ERR_SHAPE, "%s: %s has shape %s, but needs %d axes%s%s", op_rows[op].name, what,
             view_shape_text(x->view.ndim, x->view.shape, text), n + 2, what[0] == 'x' ? ": " : "",
             what[0] == 'x' ? wants[n - 1] : "");
    return IG_OK;
}

int64_t window_reach(const windows *w, int axis)
{
    int64_t reach;
    return __builtin_mul_overflow(w->kernel[axis] - 1, w->dilation[axis], &reach) ||
                   __builtin_add_overflow(reach, 1, &reach)
               ? -1
               : reach;
}

/* a / b rounded down, for b > 0. */
static int64_t floor_divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

ig_status window_count(op_id op, windows *w, const int64_t *length, bool ceil_mode)
{
    for (int a = 0; a < w->n; a++) {
        const int64_t pad = w->padding[a], stride = w->stride[a], reach = window_reach(w, a);
        int64_t padded, last;
        if (reach < 0 || __builtin_add_overflow(length[a], 2 * pad, &padded))
            FAIL(IG_ERR_SHAPE, "%s: spatial axis %d is longer than can be addressed",
                 op_rows[op].name, a);
        last = floor_divide(padded - reach + (ceil_mode ? stride - 1 : 0), stride);
        if (ceil_mode && last > 0 && last * stride >= length[a] + pad)
            last--;
        if (last < 0 || (ceil_mode && last == 0 && length[a] + pad == 0))
            FAIL(
                IG_ERR_SHAPE,
                "%s: spatial axis %d has length %lld, with padding %lld, but a window reaches over "
                "%lld (kernel %lld, dilation %lld); pad more or take a smaller kernel",
                op_rows[op].name, a, (long long)length[a], (long long)padded, (long long)reach,
                (long long)w->kernel[a], (long long)w->dilation[a]);
        const int64_t over = last * stride + reach - padded;
        w->out[a] = last + 1;
        w->extra[a] = over > 0 ? over : 0;
    }
    return IG_OK;
}

ig_array *window_border_value(ig_dtype dtype, window_border border)
{
    ig_iinfo info;
    if (border == BORDER_ZERO)
        return build_scalar(0, dtype);
    if (dtype_is_float(dtype))
        return build_scalar(-INFINITY, dtype);
    return ig_iinfo_of(dtype, &info) == IG_OK ? build_scalar_int(info.min, dtype) : NULL;
}

ig_array *window_pad_with(ig_array *x, const windows *w, ig_array *border)
{
    int64_t width[2 * (2 + WINDOW_AXES_MOST)] = {0};
    bool any = false;
    for (int a = 0; a < w->n; a++) {
        width[4 + 2 * a] = w->padding[a];
        width[5 + 2 * a] = w->padding[a] + w->extra[a];
        any = any || width[5 + 2 * a] > 0;
    }
    if (!any)
        return x;
    int axes[IG_MAX_NDIM];
    if (!layout_kept(x, axes))
        return ig_pad(x, (ig_ints){width, 4 + 2 * w->n}, "constant", border);
    int64_t ordered[2 * (2 + WINDOW_AXES_MOST)];
    for (int i = 0; i < 2 + w->n; i++)
        memcpy(&ordered[2 * i], &width[2 * axes[i]], 2 * sizeof *ordered);
    x = build_permute(OP_permute_dims, x, axes);
    return layout_back(ig_pad(x, (ig_ints){ordered, 4 + 2 * w->n}, "constant", border), axes);
}

ig_array *window_pad(ig_array *x, const windows *w, window_border border)
{
    return window_pad_with(x, w, window_border_value((ig_dtype)x->dtype, border));
}

void window_view(const view *x, const windows *w, view *v)
{
    *v = *x;
    v->ndim = 2 + 2 * w->n;
    for (int a = 0; a < w->n; a++) {
        const int from = 2 + a, out = 2 + a, in = 2 + w->n + a;
        const int64_t step = x->stride[from];
        v->shape[out] = w->out[a];
        v->shape[in] = w->kernel[a];
        /* A step that is never made may be too long for its axis. */
        v->stride[in] = w->kernel[a] > 1 ? step * w->dilation[a] : step;
        v->stride[out] = w->out[a] > 1 ? step * w->stride[a] : step;
    }
}
