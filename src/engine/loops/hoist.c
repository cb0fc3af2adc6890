/* Products of a scan's body that read rows of xs and constants, but no carry, as in tanh(x @ w + h @ u): the product of all
 * rows is computed before the loop, at once, and its rows are further xs. The gradient of w is then a product of all rows,
 * too. A backward scan, whose xs are the carries that a forward one saved, computes h @ u again in this way. */
#include "engine/loops/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/walk.h"
#include <string.h>

/* What a place depends on. */
enum { ON_ROW = 1, ON_CARRY = 2 };

static int64_t bytes_of(const ig_array *x)
{
    return view_size(&x->view) * (int64_t)ig_dtype_bytes((ig_dtype)x->dtype);
}

static int index_of(const walk *w, const ig_array *x)
{
    const place *p = x ? walk_find(w, x) : NULL;
    return p ? (int)(p - w->place) : -1;
}

/* Fills on, in the order of places, from the arrays that the step gets. */
static void find_dependence(const loop_spec *s, const walk *w, uint8_t *on)
{
    for (int i = 0; i < s->n_carry + s->n_x; i++)
        on[index_of(w, s->in[i])] = i < s->n_carry ? ON_CARRY : ON_ROW;
    for (int k = 0; k < w->n_order; k++) {
        const int at = w->order[k];
        ig_array *x = w->place[at].at;
        if (w->place[at].given)
            continue;
        for (int i = edge_first(w, x); i < edge_end(w, x); i++) {
            const int from = index_of(w, edge_to(w, x, i));
            on[at] |= from < 0 ? 0 : on[from];
        }
    }
}

/* Lists the products to move. They may take twice the memory of xs and LEAST bytes more. */
static int find_products(const loop_spec *s, const walk *w, const uint8_t *on, ig_array **found)
{
    const int64_t least = (int64_t)64 << 20;
    int64_t room = least;
    int n = 0;
    for (int i = s->n_carry; i < s->n_carry + s->n_x; i++)
        room += 2 * bytes_of(s->operand[i]);
    for (int k = 0; k < w->n_order; k++) {
        ig_array *x = w->place[w->order[k]].at;
        if (on[w->order[k]] != ON_ROW || w->place[w->order[k]].given || x != x->root ||
            x->op != OP_contract || view_size(&x->view) == 0)
            continue;
        room -= s->length * bytes_of(x);
        if (room < 0)
            return 0;
        found[n++] = x;
    }
    return n;
}

static ig_status walk_body(const loop_spec *s, walk *w)
{
    for (int i = 0; i < s->n_carry + s->n_x + s->n_given; i++) {
        place *p = walk_put(w, s->in[i]);
        if (!p)
            return IG_ERR_MEMORY;
        p->given = true;
    }
    for (int i = 0; i < s->n_out; i++)
        TRY(walk_from(w, s->out[i]));
    return IG_OK;
}

/* The products of all rows. A product that vmap cannot map stays in the loop. */
static bool map_rows(const loop_spec *s, ig_array *const *product, int n, ig_array **whole)
{
    const int first = s->n_carry, n_in = s->n_x + s->n_given;
    int *axes = memory_new((size_t)n_in * sizeof *axes);
    for (int i = s->n_x; axes && i < n_in; i++)
        axes[i] = -1;
    const bool ok =
        axes && ig_vmap(product, n, s->in + first, s->operand + first, axes, n_in, whole) == IG_OK;
    if (!ok)
        ig_error(NULL);
    memory_free(axes);
    return ok;
}

/* s with n more xs. */
static ig_status extend(loop_spec *s, ig_array *const *product, ig_array *const *whole, int n,
                        ig_array ***lists)
{
    const size_t before = (size_t)(s->n_carry + s->n_x), more = (size_t)n,
                 after = (size_t)s->n_given, all = before + more + after;
    ig_array **in = memory_new(2 * all * sizeof *in), **given = in ? in + all : NULL;
    if (!in)
        return IG_ERR_MEMORY;
    memcpy(in, s->in, before * sizeof *in);
    memcpy(given, s->operand, before * sizeof *in);
    memcpy(in + before, product, more * sizeof *in);
    memcpy(given + before, whole, more * sizeof *in);
    if (after) {
        memcpy(in + before + more, s->in + before, after * sizeof *in);
        memcpy(given + before + more, s->operand + before, after * sizeof *in);
    }
    s->in = in;
    s->operand = given;
    s->n_x += n;
    *lists = in;
    return IG_OK;
}

ig_status loop_hoist(loop_spec *s, ig_array ***lists)
{
    enum { FEWEST = 4 };
    walk w = {.ends = true};
    *lists = NULL;
    if (s->kind != LOOP_SCAN || s->n_x == 0 || s->length < FEWEST)
        return IG_OK;
    ig_status status = walk_body(s, &w);
    uint8_t *on = memory_new((size_t)w.n + 1);
    ig_array **product = memory_new(2 * (size_t)(w.n + 1) * sizeof *product);
    if (status == IG_OK && !(on && product))
        status = IG_ERR_MEMORY;
    if (status == IG_OK) {
        ig_array **whole = product + w.n + 1;
        find_dependence(s, &w, on);
        const int n = find_products(s, &w, on, product);
        if (n && map_rows(s, product, n, whole))
            status = extend(s, product, whole, n, lists);
    }
    memory_free(product);
    memory_free(on);
    walk_free(&w);
    return status;
}
