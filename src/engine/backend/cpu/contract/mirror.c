/* Symmetric results: x.T @ x and the like. If both sides are the same view of the same buffer, element (i, j) is the sum
 * of the same products in the same order as element (j, i), so it has the same bits. The tiles leave out the panels of
 * rows above the diagonal, and the elements below it are copied there. */
#include "engine/backend/cpu/contract/tile.h"
#include "base/threads.h"

#include <string.h>

enum {
    LEAST = 128, /* rows of a result for which the copy pays */
    SIDE = 32    /* of the squares that are transposed together */
};

/* The operand in which an epilogue stores its only, contiguous result; -1 if there is none. */
static int stored_by(const tape *post)
{
    int at = -1;
    for (int i = 0; i < post->n_inst; i++)
        if (post->inst[i].code == TAPE_STORE) {
            if (at >= 0)
                return -1;
            at = post->inst[i].operand;
        }
    return at >= 0 && view_is_contiguous(&post->operand[at].v) ? at : -1;
}

void mirror_choose(contraction *c)
{
    const program *p = c->p;
    const bool plain = p->post.n_inst == 2; /* stores the sums, with nothing added to them */
    if (c->thin >= 0 || c->direct.on || c->blas || p->extent[1] < LEAST ||
        p->in[0].slot != p->in[1].slot || p->in[0].dtype != p->in[1].dtype ||
        !view_equal(&p->in[0].v, &p->in[1].v) || p->extent[1] != p->extent[2] ||
        c->m.extent != c->n.extent || !(plain || p->symmetric))
        return;
    c->mirror = stored_by(&p->post);
    if (c->mirror >= 0)
        c->straight = false; /* straight rows write whole panels of columns */
}

/* Copies a square: to[i][j] = from[j][i]. */
static void square_copy(char *to, const char *from, int64_t rows, int64_t columns, int64_t stride,
                        size_t bytes)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            char *a = to + (i * stride + j) * (int64_t)bytes;
            const char *b = from + (j * stride + i) * (int64_t)bytes;
            switch (bytes) { /* a constant size is one load and one store */
            case 2: memcpy(a, b, 2); break;
            case 4: memcpy(a, b, 4); break;
            case 8: memcpy(a, b, 8); break;
            default: *a = *b; break;
            }
        }
}

/* Completes SIDE rows of a matrix. */
static void rows_run(void *context, int64_t task, int worker)
{
    (void)worker;
    const contraction *c = context;
    const operand *o = &c->p->post.operand[c->mirror];
    const int64_t n = c->n.extent, bands = (n + SIDE - 1) / SIDE, first = task % bands * SIDE;
    const size_t bytes = ig_dtype_bytes(o->dtype);
    char *matrix = operand_host(o, c->bindings) + task / bands * n * n * (int64_t)bytes;
    const int64_t rows = n - first < SIDE ? n - first : SIDE;
    for (int64_t i = 0; i < rows; i++) /* in the square of the diagonal */
        square_copy(matrix + ((first + i) * n + first + i + 1) * (int64_t)bytes,
                    matrix + ((first + i + 1) * n + first + i) * (int64_t)bytes, 1, rows - i - 1, n,
                    bytes);
    for (int64_t at = first + SIDE; at < n; at += SIDE)
        square_copy(matrix + (first * n + at) * (int64_t)bytes,
                    matrix + (at * n + first) * (int64_t)bytes, rows, n - at < SIDE ? n - at : SIDE,
                    n, bytes);
}

void mirror_run(contraction *c)
{
    pool_run(c->batches * ((c->n.extent + SIDE - 1) / SIDE), rows_run, c);
}
