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

ig_array *fft_times(ig_array *x, ig_array *w, int64_t to, fft_signs signs, double scale)
{
    if (!x || !w)
        return NULL;
    library_args c = args_like(x, x->view.ndim - 2);
    ARGS_ARRAYS(&c, x, w);
    ARGS_RESULT(&c, to, 2);
    ARGS_INTS(&c, c.count, x->view.shape[c.lead], to);
    args_float(&c, signs.in);
    args_float(&c, signs.out);
    args_float(&c, scale);
    const char *const defines[] = {x->dtype == IG_F64 ? "REAL=double" : "REAL=float", NULL};
    int64_t number[LIBRARY_NUMBERS] = {
        [KEPT_TO] = to, [KEPT_IN] = signs.in, [KEPT_OUT] = signs.out};
    memcpy(&number[KEPT_SCALE], &scale, sizeof scale);
    return args_call_one(&c, &kernel, "fft_chirp", defines, (c.count * to + 255) / 256, number);
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
