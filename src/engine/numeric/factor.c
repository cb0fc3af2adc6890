/* Nodes of kernels/factor.cu and factor_blocks.cu: see factor.h. */
#include "engine/numeric/factor.h"

#include "base/error.h"
#include "engine/custom/library.h"
#include "engine/numeric/linalg.h"

#include <string.h>

enum { PARTS_MOST = 2, COLUMNS = 64 }; /* COLUMNS: of a task of substitute */

/* Of factor_blocks.cu. */
enum { THREADS = 256, SIDE = 64, WIDE = 32, BAND = 64 };

/* A number of a call: the matrix is computed by factor_blocks.cu. */
enum { BY_BLOCKS = LIBRARY_COMPLEX - 1 };

typedef enum factor_kind {
    CHOLESKY,
    LU,
    ORDER,
    QR,
    SUBSTITUTE,
    CHOLESKY_BLOCKS,
    LU_BLOCKS,
    SUBSTITUTE_BLOCKS,
    KINDS
} factor_kind;

/* The pieces of n of at most `size`. */
static int64_t pieces(int64_t n, int64_t size) { return n > 0 ? (n + size - 1) / size : 0; }

/* ---- calls ---- */

static library_build build_cholesky, build_lu, build_order, build_qr, build_substitute;

#define BLOCKS_KERNEL(of) \
    { \
        .file = "factor_blocks.cu", .build = of, .own_axes = 2, .writes_all = true, .rounds = true \
    }

/* The kernels by their names. */
static const struct {
    const char *name;
    library_kernel kernel;
} kernels[KINDS] = {
    [CHOLESKY] =
        {"cholesky",
         {.file = "factor.cu", .build = build_cholesky, .own_axes = 2, .writes_all = true}},
    [LU] = {"lu", {.file = "factor.cu", .build = build_lu, .own_axes = 2, .writes_all = true}},
    [ORDER] = {"order",
               {.file = "factor.cu", .build = build_order, .own_axes = 1, .writes_all = true}},
    [QR] = {"qr", {.file = "factor.cu", .build = build_qr, .own_axes = 2}},
    [SUBSTITUTE] =
        {"substitute",
         {.file = "factor.cu", .build = build_substitute, .own_axes = 2, .writes_all = true}},
    [CHOLESKY_BLOCKS] = {"cholesky_blocks", BLOCKS_KERNEL(build_cholesky)},
    [LU_BLOCKS] = {"lu_blocks", BLOCKS_KERNEL(build_lu)},
    [SUBSTITUTE_BLOCKS] = {"substitute_blocks", BLOCKS_KERNEL(build_substitute)},
};

/* A power of 2 that suits matrices of `wide` columns. */
static uint32_t threads_for(int64_t wide) { return wide <= 8 ? 32 : wide <= 16 ? 64 : 256; }

static int launch(factor_kind kind, bool z, const library_args *c, int64_t blocks, uint32_t threads,
                  const int64_t *number, ig_array **out)
{
    const char *const defines[] = {c->like->dtype == IG_F64 ? "T=double" : "T=float",
                                   z ? "Z=1" : "Z=0", NULL};
    return args_call(c, &kernels[kind].kernel, kernels[kind].name, defines, blocks, threads, number,
                     out);
}

/* n results of one shape. */
static void add_results(library_args *c, int64_t rows, int64_t columns, int n)
{
    for (int i = 0; i < n; i++)
        ARGS_RESULT(c, rows, columns);
}

/* The builders. If elements are complex, each matrix is two arrays. The first argument is the number of blocks of threads,
 * or the number of rounds and then the number of matrices. */

static int build_cholesky(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1;
    const int64_t n = matrix_rows(in[0]);
    const int64_t band = parts == 1 && in[0]->dtype == IG_F32 ? BAND : WIDE;
    const int64_t side = pieces(n - band, SIDE), tiles = side > 0 ? side * (side + 1) / 2 : 1;
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    if (number[BY_BLOCKS])
        ARGS_INTS(&c, 2 * pieces(n, band));
    ARGS_INTS(&c, c.count, n);
    args_arrays(&c, in, (size_t)parts);
    add_results(&c, n, n, parts);
    if (!number[BY_BLOCKS])
        return launch(CHOLESKY, parts == 2, &c, c.count, threads_for(n), number, out);
    add_results(&c, band, band, parts);
    return launch(CHOLESKY_BLOCKS, parts == 2, &c, c.count * tiles, THREADS, number, out);
}

static int build_lu(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1;
    const int64_t m = matrix_rows(in[0]), n = matrix_columns(in[0]), k = m < n ? m : n;
    /* Columns left and right of a panel, and a block that copies the panel. */
    const int64_t rest = pieces(m, SIDE) * pieces(n, SIDE), across = pieces(n, SIDE) + 2;
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    if (number[BY_BLOCKS])
        ARGS_INTS(&c, 1 + 3 * pieces(k, WIDE));
    ARGS_INTS(&c, c.count, m, n);
    args_arrays(&c, in, (size_t)parts);
    add_results(&c, m, n, parts);
    ARGS_RESULT(&c, k);
    ARGS_RESULT(&c, m);
    if (!number[BY_BLOCKS])
        return launch(LU, parts == 2, &c, c.count, threads_for(k), number, out);
    add_results(&c, m, 2 * WIDE, parts);
    return launch(LU_BLOCKS, parts == 2, &c, c.count * (rest > across ? rest : across), THREADS,
                  number, out);
}

/* number: the rows. */
static int build_order(const int64_t *number, ig_array *const *in, ig_array **out)
{
    library_args c = args_like(in[0], in[0]->view.ndim - 1);
    ARGS_INTS(&c, c.count, number[0], in[0]->view.shape[c.lead]);
    args_arrays(&c, in, 1);
    ARGS_RESULT(&c, number[0]);
    return launch(ORDER, false, &c, c.count, 32, number, out);
}

static int build_qr(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1;
    const int64_t m = matrix_rows(in[0]), n = matrix_columns(in[0]);
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    ARGS_INTS(&c, c.count, m, n);
    args_arrays(&c, in, (size_t)parts);
    add_results(&c, m, n, parts);
    add_results(&c, n, n, 2 * parts);
    return launch(QR, parts == 2, &c, c.count, threads_for(m), number, out);
}

/* number: upper, unit. */
static int build_substitute(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1;
    const int64_t n = matrix_rows(in[0]), columns = matrix_columns(in[parts]);
    library_args c = args_like(in[0], in[0]->view.ndim - 2);
    const int64_t below = pieces(n - WIDE, SIDE), plain = c.count * pieces(columns, COLUMNS);
    if (number[BY_BLOCKS])
        ARGS_INTS(&c, 2 * pieces(n, WIDE) - 1);
    ARGS_INTS(&c, number[BY_BLOCKS] ? c.count : plain, n, columns, number[0], number[1]);
    args_arrays(&c, in, 2 * (size_t)parts);
    add_results(&c, n, columns, parts);
    if (!number[BY_BLOCKS])
        return launch(SUBSTITUTE, parts == 2, &c, plain, COLUMNS, number, out);
    return launch(SUBSTITUTE_BLOCKS, parts == 2, &c,
                  c.count * pieces(columns, SIDE) * (below > 0 ? below : 1), THREADS, number, out);
}

/* ---- matrices ---- */

/* The parts of x, complex or not; their number, 0 if x is NULL. */
static int parts_of(ig_array *x, ig_array **parts)
{
    return x ? complex_flatten(&x, 1, false, parts) : 0;
}

/* The array of parts, as many as there are. */
static ig_array *whole(ig_array *const *part, bool z)
{
    return z ? complex_make((pair){part[0], part[1]}) : part[0];
}

/* Code of the CPU divides large matrices itself. */
static bool by_blocks(const ig_array *a, int64_t rows, int64_t columns)
{
    enum { PLAIN = 64 }; /* rows that one block of threads takes */
    const char *device = a->root->device;
    return device && strcmp(device, "cpu") != 0 && (rows > PLAIN || columns > PLAIN);
}

ig_array *factor_cholesky(ig_array *a)
{
    ig_array *in[PARTS_MOST], *out[LIBRARY_RESULTS];
    if (!a)
        return NULL;
    const int64_t n = matrix_rows(a);
    const int64_t number[LIBRARY_NUMBERS] = {
        [BY_BLOCKS] = by_blocks(a, n, n), [LIBRARY_COMPLEX] = array_is_complex(a)};
    return parts_of(a, in) && build_cholesky(number, in, out) ? whole(out, number[LIBRARY_COMPLEX])
                                                              : NULL;
}

int factor_lu(ig_array *a, ig_array *out[3])
{
    ig_array *in[PARTS_MOST], *made[LIBRARY_RESULTS];
    if (!a)
        return 0;
    const int64_t number[LIBRARY_NUMBERS] = {[BY_BLOCKS] =
                                                 by_blocks(a, matrix_rows(a), matrix_columns(a)),
                                             [LIBRARY_COMPLEX] = array_is_complex(a)};
    const int parts = parts_of(a, in);
    if (!parts || !build_lu(number, in, made))
        return 0;
    out[0] = whole(made, number[LIBRARY_COMPLEX]);
    out[1] = made[parts];
    out[2] = made[parts + 1];
    return out[0] ? 3 : 0;
}

ig_array *factor_order(ig_array *pivots, int64_t m)
{
    ig_array *out[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {m};
    return pivots && build_order(number, &pivots, out) ? out[0] : NULL;
}

int factor_qr(ig_array *a, ig_array *out[3])
{
    ig_array *in[PARTS_MOST], *made[LIBRARY_RESULTS];
    const int64_t number[LIBRARY_NUMBERS] = {[LIBRARY_COMPLEX] = array_is_complex(a)};
    const int parts = parts_of(a, in);
    if (!parts || !build_qr(number, in, made))
        return 0;
    for (int i = 0; i < 3; i++)
        if (!(out[i] = whole(made + i * parts, number[LIBRARY_COMPLEX])))
            return 0;
    return 3;
}

ig_array *factor_substitute(ig_array *a, ig_array *b, bool upper, bool unit)
{
    ig_array *in[2 * PARTS_MOST], *out[LIBRARY_RESULTS];
    if (!a || !b)
        return NULL;
    const int64_t n = matrix_rows(a);
    const int64_t number[LIBRARY_NUMBERS] = {
        upper, unit, [BY_BLOCKS] = by_blocks(a, n, n), [LIBRARY_COMPLEX] = array_is_complex(a)};
    const int parts = parts_of(a, in);
    return parts && parts_of(b, in + parts) && build_substitute(number, in, out)
               ? whole(out, number[LIBRARY_COMPLEX])
               : NULL;
}
