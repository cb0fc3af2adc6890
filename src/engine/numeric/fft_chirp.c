/* Nodes of fft_chirp of kernels/fft_half.cu: rows of pairs times the factors of a table, made longer or shorter. */
#include "engine/custom/library.h"
#include "engine/numeric/fft_tables.h"
#include "engine/ops/composite.h"
#include <assert.h>
#include <string.h>

enum { KEPT_TO, KEPT_IN, KEPT_OUT, KEPT_SCALE, KEPT };
static_assert((int)KEPT <= (int)LIBRARY_NUMBERS, "the numbers of a call");

static int build_again(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel kernel = {
    .file = "fft_half.cu", .build = build_again, .writes_all = true};

static ig_arg array_arg(ig_array *x) { return (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x}; }
static ig_arg int_arg(int64_t i) { return (ig_arg){.kind = IG_ARG_INT, .u.i = i}; }
static ig_arg float_arg(double f) { return (ig_arg){.kind = IG_ARG_FLOAT, .u.f = f}; }

ig_array *fft_times(ig_array *x, ig_array *w, int64_t to, fft_signs signs, double scale)
{
    if (!x || !w)
        return NULL;
    const int ndim = x->view.ndim;
    const bool f64 = x->dtype == IG_F64;
    int64_t shape[IG_MAX_NDIM], rows = 1;
    memcpy(shape, x->view.shape, sizeof shape);
    const int64_t from = shape[ndim - 2];
    shape[ndim - 2] = to;
    for (int a = 0; a < ndim - 2; a++)
        rows *= shape[a];
    const ig_arg args[] = {
        array_arg(x),        array_arg(w),         {.kind = IG_ARG_INTS, .u.ints = {shape, ndim}},
        int_arg(rows),       int_arg(from),        int_arg(to),
        float_arg(signs.in), float_arg(signs.out), float_arg(scale),
    };
    const char *const define[] = {f64 ? "REAL=double" : "REAL=float"};
    const ig_module_options options = {.size = sizeof options, .defines = define, .n_defines = 1};
    const ig_kernel_call call = {.kernel = "fft_chirp",
                                 .options = &options,
                                 .args = args,
                                 .n_args = sizeof args / sizeof *args,
                                 .grid = {(uint32_t)((rows * to + 255) / 256), 1, 1},
                                 .block = {256, 1, 1}};
    int64_t number[LIBRARY_NUMBERS] = {
        [KEPT_TO] = to, [KEPT_IN] = signs.in, [KEPT_OUT] = signs.out};
    memcpy(&number[KEPT_SCALE], &scale, sizeof scale);
    ig_array *y;
    return library_call(&kernel, &call, number, &y, 1) ? y : NULL;
}

/* For vmap: one more axis before the rows; the table, which all share, has one, too. */
static int build_again(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const fft_signs signs = {(int)number[KEPT_IN], (int)number[KEPT_OUT]};
    double scale;
    memcpy(&scale, &number[KEPT_SCALE], sizeof scale);
    ig_array *w = in[1];
    if (w->view.ndim == 3)
        w = ig_squeeze(ig_slice(w, IG_AXES(0), IG_AXES(1), IG_NONE), IG_AXES(0));
    return op_one(out, fft_times(in[0], w, number[KEPT_TO], signs, scale));
}
