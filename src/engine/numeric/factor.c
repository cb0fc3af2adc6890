/* Nodes of kernels/factor.cu and factor_blocks.cu: see factor.h. */
#include "engine/numeric/factor.h"

#include "base/error.h"
#include "engine/custom/library.h"
#include "engine/numeric/linalg.h"

#include <string.h>

enum { PARTS_MOST = 2, ARGS = 16, COLUMNS = 64 }; /* COLUMNS: of a task of substitute */

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

/* A call under construction: numbers, input arrays and shapes of results, in the order of the kernel's parameters. */
typedef struct call {
    ig_arg arg[ARGS];
    int64_t shape[ARGS][IG_MAX_NDIM];
    int n;
} call;

static void add_number(call *c, int64_t value)
{
    c->arg[c->n++] = (ig_arg){.kind = IG_ARG_INT, .u.i = value};
}

static void add_arrays(call *c, ig_array *const *x, int n)
{
    for (int i = 0; i < n; i++)
        c->arg[c->n++] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x[i]};
}

/* n results with the leading axes of x, then rows, then columns unless they are 0. */
static void add_results(call *c, const ig_array *x, int lead, int64_t rows, int64_t columns, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t *shape = c->shape[c->n];
        memcpy(shape, x->view.shape, (size_t)lead * sizeof *shape);
        shape[lead] = rows;
        shape[lead + 1] = columns;
        c->arg[c->n++] = (ig_arg){.kind = IG_ARG_INTS, .u.ints = {shape, lead + 1 + (columns > 0)}};
    }
}

static int64_t stack_size(const ig_array *x, int lead)
{
    int64_t n = 1;
    for (int i = 0; i < lead; i++)
        n *= x->view.shape[i];
    return n;
}

/* A power of 2 that suits matrices of `wide` columns. */
static uint32_t threads_for(int64_t wide) { return wide <= 8 ? 32 : wide <= 16 ? 64 : 256; }

/* A kernel with so many blocks of threads. */
static int launch(factor_kind kind, const ig_array *x, bool z, call *c, int64_t blocks,
                  uint32_t threads, const int64_t *number, ig_array **out)
{
    const bool wide = x->dtype == IG_F64;
    const char *const defines[] = {wide ? "T=double" : "T=float", z ? "Z=1" : "Z=0"};
    const ig_module_options options = {.size = sizeof options, .defines = defines, .n_defines = 2};
    const ig_kernel_call one = {.options = &options,
                                .kernel = kernels[kind].name,
                                .args = c->arg,
                                .n_args = c->n,
                                .grid = {(uint32_t)blocks, 1, 1},
                                .block = {threads, 1, 1}};
    return library_call(&kernels[kind].kernel, &one, number, out, LIBRARY_RESULTS);
}

/* The builders. If elements are complex, each matrix is two arrays. The first argument is the number of blocks of threads,
 * or the number of rounds and then the number of matrices. */

static int build_cholesky(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t n = in[0]->view.shape[lead], count = stack_size(in[0], lead);
    const int64_t band = parts == 1 && in[0]->dtype == IG_F32 ? BAND : WIDE;
    const int64_t side = pieces(n - band, SIDE), tiles = side > 0 ? side * (side + 1) / 2 : 1;
    call c = {0};
    if (number[BY_BLOCKS])
        add_number(&c, 2 * pieces(n, band));
    add_number(&c, count);
    add_number(&c, n);
    add_arrays(&c, in, parts);
    add_results(&c, in[0], lead, n, n, parts);
    if (!number[BY_BLOCKS])
        return launch(CHOLESKY, in[0], parts == 2, &c, count, threads_for(n), number, out);
    add_results(&c, in[0], lead, band, band, parts);
    return launch(CHOLESKY_BLOCKS, in[0], parts == 2, &c, count * tiles, THREADS, number, out);
}

static int build_lu(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t m = in[0]->view.shape[lead], n = in[0]->view.shape[lead + 1];
    const int64_t k = m < n ? m : n, count = stack_size(in[0], lead);
    /* Columns left and right of a panel, and a block that copies the panel. */
    const int64_t rest = pieces(m, SIDE) * pieces(n, SIDE), across = pieces(n, SIDE) + 2;
    call c = {0};
    if (number[BY_BLOCKS])
        add_number(&c, 1 + 3 * pieces(k, WIDE));
    add_number(&c, count);
    add_number(&c, m);
    add_number(&c, n);
    add_arrays(&c, in, parts);
    add_results(&c, in[0], lead, m, n, parts);
    add_results(&c, in[0], lead, k, 0, 1);
    add_results(&c, in[0], lead, m, 0, 1);
    if (!number[BY_BLOCKS])
        return launch(LU, in[0], parts == 2, &c, count, threads_for(k), number, out);
    add_results(&c, in[0], lead, m, 2 * WIDE, parts);
    return launch(LU_BLOCKS, in[0], parts == 2, &c, count * (rest > across ? rest : across),
                  THREADS, number, out);
}

/* number: the rows. */
static int build_order(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int lead = in[0]->view.ndim - 1;
    call c = {0};
    add_number(&c, stack_size(in[0], lead));
    add_number(&c, number[0]);
    add_number(&c, in[0]->view.shape[lead]);
    add_arrays(&c, in, 1);
    add_results(&c, in[0], lead, number[0], 0, 1);
    return launch(ORDER, in[0], false, &c, c.arg[0].u.i, 32, number, out);
}

static int build_qr(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t m = in[0]->view.shape[lead], n = in[0]->view.shape[lead + 1];
    call c = {0};
    add_number(&c, stack_size(in[0], lead));
    add_number(&c, m);
    add_number(&c, n);
    add_arrays(&c, in, parts);
    add_results(&c, in[0], lead, m, n, parts);
    add_results(&c, in[0], lead, n, n, 2 * parts);
    return launch(QR, in[0], parts == 2, &c, c.arg[0].u.i, threads_for(m), number, out);
}

/* number: upper, unit. */
static int build_substitute(const int64_t *number, ig_array *const *in, ig_array **out)
{
    const int parts = number[LIBRARY_COMPLEX] ? 2 : 1, lead = in[0]->view.ndim - 2;
    const int64_t n = in[0]->view.shape[lead], columns = in[parts]->view.shape[lead + 1];
    const int64_t count = stack_size(in[0], lead), below = pieces(n - WIDE, SIDE);
    const int64_t plain = count * pieces(columns, COLUMNS);
    call c = {0};
    if (number[BY_BLOCKS])
        add_number(&c, 2 * pieces(n, WIDE) - 1);
    add_number(&c, number[BY_BLOCKS] ? count : plain);
    add_number(&c, n);
    add_number(&c, columns);
    add_number(&c, number[0]);
    add_number(&c, number[1]);
    add_arrays(&c, in, 2 * parts);
    add_results(&c, in[0], lead, n, columns, parts);
    if (!number[BY_BLOCKS])
        return launch(SUBSTITUTE, in[0], parts == 2, &c, plain, COLUMNS, number, out);
    return launch(SUBSTITUTE_BLOCKS, in[0], parts == 2, &c,
                  count * pieces(columns, SIDE) * (below > 0 ? below : 1), THREADS, number, out);
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
