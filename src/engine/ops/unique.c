/* Builders of the ops whose shapes depend on data. They evaluate their inputs at once, and return data or
 * lazy reads at the indices that they found. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/evaluate.h"
#include "engine/ops/index.h"

static ig_array *from_i64(const int64_t *v, int64_t n)
{
    return ig_from_data(v, (ig_ints){&n, 1}, IG_I64);
}

/* Allocates n integers within the memory budget of array data; NULL on failure. */
static int64_t *get_i64(int64_t n, const char *who)
{
    size_t bytes = (size_t)n * sizeof(int64_t);
    return memory_admit(bytes, who) == IG_OK ? memory_get(bytes) : NULL;
}

/* ---- masks ---- */

int64_t *mask_positions(ig_array *mask, int64_t *count)
{
    /* evaluate_data stores a copy of a strided view in its array. mask may be the caller's x, so use a new view. */
    ig_array *own = mask ? array_view(OP_nonzero, mask, &mask->view) : NULL;
    const uint8_t *holds = own ? evaluate_data(own) : NULL;
    int64_t size = ig_size(mask), n = 0;
    if (!holds)
        return NULL;
    for (int64_t i = 0; i < size; i++)
        n += holds[i] != 0;
    int64_t *at = get_i64(n, "mask");
    if (!at)
        return NULL;
    *count = n;
    n = 0;
    for (int64_t i = 0; i < size; i++)
        if (holds[i])
            at[n++] = i;
    return at;
}

int op_mask_select(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *mask = args[1].u.array;
    const char *who = op_rows[op].name;
    if (mask->dtype != IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s: mask must be bool, not %s; compare, or convert with astype",
                  who, ig_dtype_name(mask->dtype));
    ig_index item = {.kind = IG_INDEX_ARRAY, .array = mask};
    return op_one(out, subscript_get(who, args[0].u.array, &item, 1));
}

int op_nonzero(op_id op, const ig_arg *args, ig_array **out)
{
    const view *v = &args[0].u.array->view;
    int64_t n, inner = 1;
    if (v->ndim == 0)
        FAIL_NONE(IG_ERR_SHAPE, "nonzero: x has no axes; use x != 0");
    int64_t *at = mask_positions(build_cast(args[0].u.array, IG_BOOL), &n);
    int64_t *index = at ? get_i64(n, op_rows[op].name) : NULL;
    bool ok = index != NULL;
    for (int a = v->ndim - 1; a >= 0 && ok; inner *= v->shape[a--]) {
        for (int64_t i = 0; i < n; i++)
            index[i] = at[i] / inner % v->shape[a];
        ok = (out[a] = from_i64(index, n)) != NULL;
    }
    memory_free(index);
    memory_free(at);
    return ok ? v->ndim : 0;
}

/* ---- unique ---- */

/* The results of the unique ops. */
enum unique_part { VALUES, INDICES, INVERSE, COUNTS, UNIQUE_PARTS };

/* x sorted. order[i] is the position of sorted element i in x; starts[k] is where group k begins; the last entry of
 * starts is the end. */
typedef struct groups {
    const int64_t *order;
    int64_t *starts, n, size;
} groups;

/* Cuts sorted at each element that differs from the previous one; NaN differs from itself. */
static bool groups_find(groups *g, ig_array *order, ig_array *sorted)
{
    int64_t size = ig_size(sorted), most = size + 1;
    ig_ints front = {(const int64_t[]){0}, 1}, second = {(const int64_t[]){1}, 1};
    ig_ints last = {(const int64_t[]){-1}, 1}, end = {(const int64_t[]){INT64_MAX}, 1};
    ig_array *differs = ig_not_equal(ig_slice(sorted, second, end, IG_NONE),
                                     ig_slice(sorted, front, last, IG_NONE));
    if (evaluate_arrays((ig_array *[]){order, sorted, differs}, 3) != IG_OK)
        return false;
    const uint8_t *cut = evaluate_data(differs);
    g->order = evaluate_data(order);
    g->starts = get_i64(most, "unique");
    if (!cut || !g->order || !g->starts)
        return false;
    g->size = size;
    for (int64_t i = 0; i < size; i++)
        if (i == 0 || cut[i - 1])
            g->starts[g->n++] = i;
    g->starts[g->n] = size;
    return true;
}

static ig_array *unique_indices(const groups *g, int64_t *room)
{
    for (int64_t k = 0; k < g->n; k++)
        room[k] = g->order[g->starts[k]]; /* the first of its group in x: the sort is stable */
    return from_i64(room, g->n);
}

static ig_array *unique_inverse(const groups *g, int64_t *room)
{
    for (int64_t k = 0; k < g->n; k++)
        for (int64_t i = g->starts[k]; i < g->starts[k + 1]; i++)
            room[g->order[i]] = k;
    return from_i64(room, g->size);
}

static ig_array *unique_counts(const groups *g, int64_t *room)
{
    for (int64_t k = 0; k < g->n; k++)
        room[k] = g->starts[k + 1] - g->starts[k];
    return from_i64(room, g->n);
}

int op_unique(op_id op, const ig_arg *args, ig_array **out)
{
    static const enum unique_part all[] = {VALUES, INDICES, INVERSE, COUNTS},
                                  pair[] = {VALUES, INVERSE}, counts[] = {VALUES, COUNTS};
    const enum unique_part *parts = op == OP_unique_all       ? all
                                    : op == OP_unique_inverse ? pair
                                                              : counts;
    const int n = op == OP_unique_all ? UNIQUE_PARTS : op == OP_unique_values ? 1 : 2;
    static ig_array *(*const find[UNIQUE_PARTS])(const groups *, int64_t *) = {
        [INDICES] = unique_indices, [INVERSE] = unique_inverse, [COUNTS] = unique_counts};
    ig_array *x = args[0].u.array;
    int64_t size = view_size(&x->view);
    ig_array *flat = build_reshape(op, x, 1, &size), *order = ig_argsort(flat, 0, false, true);
    ig_array *sorted = flat && order ? index_take(op_rows[op].name, flat, order, 0) : NULL;
    groups g = {0};
    bool ok = sorted && groups_find(&g, order, sorted);
    int64_t *room = ok ? get_i64(size, op_rows[op].name) : NULL;
    ok = room != NULL;
    for (int i = 0; i < n && ok; i++) {
        out[i] = parts[i] == VALUES
                     ? index_take(op_rows[op].name, sorted, from_i64(g.starts, g.n), 0)
                     : find[parts[i]](&g, room);
        if (parts[i] == INVERSE)
            out[i] = build_reshape(op, out[i], x->view.ndim, x->view.shape);
        ok = out[i] != NULL;
    }
    memory_free(room);
    memory_free(g.starts);
    return ok ? n : 0;
}
