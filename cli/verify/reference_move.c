/* Move ops: plain index arithmetic maps each element of each result to an element of an input. Results are exact.
 * Every op has a case, found by name, that sets shapes and arguments. `source` gives the origin of each
 * element. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

/* Writes the origin of result k's element i: element *at of input *from. False: the element is the constant `fill`. */
typedef bool (*source)(const problem *p, int k, const int64_t *i, int *from, int64_t *at);

static const domain any = {-99, 99, true};
static const real fill = 3;

static void fill_out(problem *p, tensor *out, int k, source f)
{
    int64_t i[MAX_AXES] = {0}, at[MAX_AXES] = {0};
    for (int64_t n = 0; n < out->size; n++, shape_next(tensor_shape(out), i)) {
        int from = 0;
        const bool inside = f(p, k, i, &from, at);
        out->v[n] = inside ? tensor_at(&p->in[from], at)
                           : real_cast(IG_I64, p->dtype, p->dtype == IG_BOOL ? 1 : fill);
    }
}

static bool result(problem *p, ig_ints shape, source f)
{
    p->signed_zeros = true;
    tensor *out = problem_out(p, p->dtype, shape);
    fill_out(p, out, p->n_out - 1, f);
    return true;
}

static const tensor *input(problem *p, ig_ints shape)
{
    return problem_in(p, NULL, p->dtype, shape, any);
}

/* Lengths used by all ops below: plain, long and odd, empty. */
static const int64_t lengths[][3] = {{3, 4, 5}, {2, 17, 65}, {2, 0, 3}, {1, 64, 2}};
enum { LENGTHS = 4 };
static ig_ints length_of(int variant) { return (ig_ints){lengths[variant], 3}; }
static bool beyond(const problem *p, int variant)
{
    return variant >= LENGTHS || (p->mode != MODE_PLAIN && variant > 1);
}

/* ---- views ---- */

static bool from_broadcast(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    *from = k;
    for (int a = 0; a < p->in[k].ndim; a++)
        at[a] = p->in[k].shape[a] == 1 ? 0 : i[p->out[k].ndim - p->in[k].ndim + a];
    return true;
}

static bool make_broadcast_to(problem *p, int variant)
{
    const int64_t shape[] = {2, 3, lengths[variant % LENGTHS][1], lengths[variant % LENGTHS][2]};
    if (beyond(p, variant))
        return false;
    input(p, (ig_ints){(int64_t[]){3, 1, shape[3]}, 3});
    problem_ints(p, NULL, (ig_ints){shape, 4});
    return result(p, (ig_ints){shape, 4}, from_broadcast);
}

static bool make_broadcast_arrays(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant], shape[] = {l[0], l[1], l[2]};
    problem_part(p, p->dtype, (ig_ints){shape, 3}, any);
    problem_part(p, p->dtype, (ig_ints){(int64_t[]){l[1], 1}, 2}, any);
    problem_part(p, p->dtype, IG_SCALAR, any);
    problem_list(p, NULL, 3);
    return result(p, (ig_ints){shape, 3}, from_broadcast) &&
           result(p, (ig_ints){shape, 3}, from_broadcast) &&
           result(p, (ig_ints){shape, 3}, from_broadcast);
}

static bool from_diagonal(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    const int64_t offset = p->args[1].u.i;
    (void)k, *from = 0;
    at[0] = i[0];
    at[1] = i[1] + (offset < 0 ? -offset : 0);
    at[2] = i[1] + (offset > 0 ? offset : 0);
    return true;
}

static bool make_diagonal(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant], offset = variant - 1;
    const int64_t rows = l[1] - (offset < 0 ? -offset : 0), cols = l[2] - (offset > 0 ? offset : 0);
    const int64_t n = rows < cols ? rows : cols;
    input(p, length_of(variant));
    problem_int(p, "offset", offset);
    return result(p, IG_SHAPE(l[0], n > 0 ? n : 0), from_diagonal);
}

static bool from_same_order(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)k, *from = 0;
    int64_t n = shape_number(tensor_shape(&p->out[0]), i);
    for (int a = p->in[0].ndim - 1; a >= 0; n /= p->in[0].shape[a--])
        at[a] = n % p->in[0].shape[a];
    return true;
}

static bool make_expand_dims(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, length_of(variant));
    problem_ints(p, "axis", IG_AXES(1, -1));
    return result(p, IG_SHAPE(l[0], 1, l[1], l[2], 1), from_same_order);
}

static bool make_squeeze(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, IG_SHAPE(l[0], 1, l[1], 1));
    problem_ints(p, "axis", IG_AXES(-1, 1));
    return result(p, IG_SHAPE(l[0], l[1]), from_same_order);
}

static bool make_stop_gradient(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    input(p, length_of(variant));
    return result(p, length_of(variant), from_same_order);
}

static bool make_rechunk(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    input(p, length_of(variant));
    problem_ints(p, "chunk", IG_AXES(2));
    return result(p, length_of(variant), from_same_order);
}

/* Copies from the device under test to the CPU. */
static bool make_to_device(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    input(p, length_of(variant));
    problem_str(p, "device", "cpu");
    return result(p, length_of(variant), from_same_order);
}

static bool make_reshape(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, length_of(variant));
    problem_ints(p, NULL, l[1] ? IG_SHAPE(l[2], -1) : IG_SHAPE(l[2], 0));
    return result(p, IG_SHAPE(l[2], l[0] * l[1]), from_same_order);
}

static bool from_flipped(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)k, *from = 0;
    for (int a = 0; a < 3; a++)
        at[a] = p->n_args > 1 && a == 1 ? i[a] : p->in[0].shape[a] - 1 - i[a];
    return true;
}

static bool make_flip(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    input(p, length_of(variant));
    if (variant % 2)
        problem_ints(p, "axis", IG_AXES(0, -1));
    return result(p, length_of(variant), from_flipped);
}

/* ---- axes reordered: result axis a is the input's order[a] ---- */

static const struct reorder {
    int order[3], n;
    int64_t args[2][3];
} permute_row = {{2, 0, 1}, 3, {{2, 0, 1}}}, transpose_row = {{0, 2, 1}, 0, {{0}}},
  move_row = {{1, 2, 0}, 1, {{0}, {-1}}};

static bool from_reordered(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    const struct reorder *r = p->row;
    (void)k, *from = 0;
    for (int a = 0; a < 3; a++)
        at[r->order[a]] = i[a];
    return true;
}

static bool make_reorder(problem *p, int variant)
{
    const struct reorder *r = p->row;
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, length_of(variant));
    if (r->n)
        problem_ints(p, NULL, (ig_ints){r->args[0], r->n});
    if (r == &move_row)
        problem_ints(p, NULL, (ig_ints){r->args[1], r->n});
    return result(p, IG_SHAPE(l[r->order[0]], l[r->order[1]], l[r->order[2]]), from_reordered);
}

static bool from_mesh(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    const bool swapped = p->n_args == 1;
    *from = k;
    at[0] = i[swapped && k < 2 ? 1 - k : k];
    return true;
}

static bool make_meshgrid(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    const bool ij = variant % 2;
    for (int k = 0; k < 3; k++)
        problem_part(p, p->dtype, (ig_ints){&l[k], 1}, any);
    problem_list(p, NULL, 3);
    if (ij)
        problem_str(p, "indexing", "ij");
    for (int k = 0; k < 3; k++)
        result(p, IG_SHAPE(l[ij ? 0 : 1], l[ij ? 1 : 0], l[2]), from_mesh);
    return true;
}

/* ---- parts ---- */

static bool from_slice(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)k, *from = 0;
    at[0] = i[0] + 1;
    at[1] = p->in[0].shape[1] - 1 - 2 * i[1];
    at[2] = i[2];
    return true;
}

static bool make_slice(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, length_of(variant));
    problem_ints(p, NULL, IG_AXES(1, -1));
    problem_ints(p, NULL, IG_AXES(INT64_MAX, INT64_MIN));
    problem_ints(p, NULL, IG_AXES(1, -2));
    return result(p, IG_SHAPE(l[0] - 1, (l[1] + 1) / 2, l[2]), from_slice);
}

/* Every second element of axis 1, from the second one on. */
static bool from_update(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)k;
    *from = i[1] % 2 == 1 && i[1] / 2 < p->in[1].shape[1];
    memcpy(at, i, 3 * sizeof *at);
    if (*from)
        at[1] = i[1] / 2;
    return true;
}

static bool make_slice_update(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, length_of(variant));
    input(p, IG_SHAPE(l[0], l[1] / 2, l[2]));
    problem_ints(p, NULL, IG_AXES(0, 1));
    problem_ints(p, NULL, IG_AXES(1, 2));
    return result(p, length_of(variant), from_update);
}

static const int64_t cuts[] = {0, 1, 3};

static bool from_split(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    const bool equal = p->args[1].kind == IG_ARG_INT;
    (void)p, *from = 0;
    memcpy(at, i, 3 * sizeof *at);
    at[2] += equal ? k * p->out[0].shape[2] : cuts[k];
    return true;
}

static bool make_split(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant], last = l[2] > 4 ? l[2] : 6;
    const bool equal = variant % 2;
    input(p, IG_SHAPE(l[0], l[1], equal ? last * 3 : last));
    if (equal)
        problem_int(p, NULL, 3);
    else
        problem_ints(p, NULL, IG_AXES(1, 3));
    problem_int(p, "axis", -1);
    for (int k = 0; k < 3; k++)
        result(p, IG_SHAPE(l[0], l[1], equal ? last : k < 2 ? k + 1 : last - 3), from_split);
    return true;
}

static bool from_unstack(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)p, *from = 0;
    at[0] = i[0];
    at[1] = i[1];
    at[2] = k;
    return true;
}

static bool make_unstack(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, IG_SHAPE(l[0], l[1], 3));
    problem_int(p, "axis", 2);
    for (int k = 0; k < 3; k++)
        result(p, IG_SHAPE(l[0], l[1]), from_unstack);
    return true;
}

/* ---- arrays joined and repeated ---- */

static bool from_concat(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)k;
    memcpy(at, i, 3 * sizeof *at);
    for (*from = 0; at[1] >= p->in[*from].shape[1]; ++*from)
        at[1] -= p->in[*from].shape[1];
    return true;
}

static bool make_concat(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    problem_part(p, p->dtype, length_of(variant), any);
    problem_part(p, p->dtype, length_of(variant), any);
    problem_part(p, p->dtype, IG_SHAPE(l[0], 2, l[2]), any);
    problem_list(p, NULL, 3);
    problem_int(p, "axis", 1);
    return result(p, IG_SHAPE(l[0], 2 * l[1] + 2, l[2]), from_concat);
}

static bool from_stack(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)p, (void)k;
    *from = (int)i[3];
    memcpy(at, i, 3 * sizeof *at);
    return true;
}

static bool make_stack(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    for (int k = 0; k < 3; k++)
        problem_part(p, p->dtype, length_of(variant), any);
    problem_list(p, NULL, 3);
    problem_int(p, "axis", -1);
    return result(p, IG_SHAPE(l[0], l[1], l[2], 3), from_stack);
}

static bool from_tile(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    (void)k, *from = 0;
    for (int a = 0; a < 3; a++)
        at[a] = i[a + 1] % p->in[0].shape[a];
    return true;
}

static bool make_tile(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    input(p, length_of(variant));
    problem_ints(p, NULL, IG_SHAPE(2, 1, 3, 2));
    return result(p, IG_SHAPE(2, l[0], 3 * l[1], 2 * l[2]), from_tile);
}

static bool from_repeat(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    const bool counted = p->args[1].kind == IG_ARG_INTS;
    (void)k, *from = 0;
    memcpy(at, i, 3 * sizeof *at);
    at[0] = counted ? (i[0] > 0) + (i[0] > 2) : i[0] / 3; /* the counts are 1, 2, 1 */
    return true;
}

static bool make_repeat(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    const int64_t *l = lengths[variant];
    const bool counted = l[0] == 3;
    input(p, length_of(variant));
    if (counted)
        problem_ints(p, NULL, IG_AXES(1, 2, 1));
    else
        problem_int(p, NULL, 3);
    problem_int(p, "axis", 0);
    return result(p, IG_SHAPE(counted ? 4 : 3 * l[0], l[1], l[2]), from_repeat);
}

static bool from_roll(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    static const int64_t shift[] = {1, 0, -2};
    (void)k, *from = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t n = p->in[0].shape[a];
        at[a] = ((i[a] - shift[a]) % n + n) % n;
    }
    return true;
}

static bool make_roll(problem *p, int variant)
{
    if (beyond(p, variant))
        return false;
    input(p, length_of(variant));
    problem_ints(p, NULL, IG_AXES(1, -2));
    problem_ints(p, "axis", IG_AXES(0, 2));
    return result(p, length_of(variant), from_roll);
}

/* Pads axis 0 by (1, 2) and axis 1 by (2, 3). */
static bool from_pad(const problem *p, int k, const int64_t *i, int *from, int64_t *at)
{
    const char *mode = p->args[2].u.str;
    (void)k, *from = 0;
    for (int a = 0; a < 2; a++) {
        const int64_t n = p->in[0].shape[a], x = i[a] - a - 1;
        const bool inside = x >= 0 && x < n;
        if (!inside && mode[0] == 'c')
            return false;
        const int64_t repeats = mode[0] == 's'; /* the edge, in a mirror image */
        const int64_t period = mode[0] == 'w' ? n : n > 1 || repeats ? 2 * (n - 1 + repeats) : 1;
        const int64_t phase = (x % period + period) % period;
        at[a] = inside           ? x
                : mode[0] == 'e' ? (x < 0 ? 0 : n - 1)
                : phase < n      ? phase
                                 : period - repeats - phase;
    }
    return true;
}

static bool make_pad(problem *p, int variant)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
    enum { PAD_MODES = sizeof modes / sizeof *modes };
    static const int64_t sizes[][2] = {{5, 43}, {3, 65}, {1, 4}};
    if (variant >= 3 * PAD_MODES || (p->mode != MODE_PLAIN && variant >= PAD_MODES))
        return false;
    const int64_t *s = sizes[variant / PAD_MODES];
    input(p, (ig_ints){s, 2});
    problem_ints(p, NULL, IG_AXES(1, 2, 2, 3));
    problem_str(p, NULL, modes[variant % PAD_MODES]);
    if (variant % PAD_MODES == 0) {
        if (p->dtype == IG_BOOL)
            problem_bool(p, NULL, true);
        else
            problem_int(p, NULL, (int64_t)fill);
    }
    return result(p, IG_SHAPE(s[0] + 3, s[1] + 5), from_pad);
}

const plan plans_move[] = {
    {"broadcast_to", ANY, make_broadcast_to, NULL},
    {"broadcast_arrays", ANY, make_broadcast_arrays, NULL},
    {"concat", ANY, make_concat, NULL},
    {"diagonal", ANY, make_diagonal, NULL},
    {"expand_dims", ANY, make_expand_dims, NULL},
    {"flip", ANY, make_flip, NULL},
    {"matrix_transpose", ANY, make_reorder, &transpose_row},
    {"meshgrid", ANY, make_meshgrid, NULL},
    {"moveaxis", ANY, make_reorder, &move_row},
    {"pad", ANY, make_pad, NULL},
    {"permute_dims", ANY, make_reorder, &permute_row},
    {"rechunk", ANY, make_rechunk, NULL},
    {"repeat", ANY, make_repeat, NULL},
    {"reshape", ANY, make_reshape, NULL},
    {"roll", ANY, make_roll, NULL},
    {"slice", ANY, make_slice, NULL},
    {"slice_update", ANY, make_slice_update, NULL},
    {"split", ANY, make_split, NULL},
    {"squeeze", ANY, make_squeeze, NULL},
    {"stack", ANY, make_stack, NULL},
    {"stop_gradient", ANY, make_stop_gradient, NULL},
    {"to_device", ANY, make_to_device, NULL},
    {"tile", ANY, make_tile, NULL},
    {"unstack", ANY, make_unstack, NULL},
    {NULL, 0, NULL, NULL},
};
