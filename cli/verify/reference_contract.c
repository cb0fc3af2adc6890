/* Contractions: every case is an Einstein sum over axes named by letters. The reference is a loop over all
 * letters. A 1 among the letters is an axis of length 1 that broadcasts. */
#include "verify/plan.h"
#include <math.h>
#include <string.h>

void dot_add(dot *s, real x, real y)
{
    s->sum += x * y;
    s->size += fabsl(x * y);
    s->bits += real_bits(x) * real_bits(y);
    s->n++;
}

real dot_result(const dot *s, ig_dtype d, real *tol)
{
    *tol = 0;
    if (!dtype_in(d, FLOATS))
        return real_wrap(d, s->bits);
    *tol = (real)(s->n + 2) * real_eps(real_compute(d)) * s->size + real_ulp(d, s->sum) / 2;
    return s->sum;
}

enum { LETTERS = 5, MAX_OPERANDS = 3 };

typedef struct product {
    const char *spec;
    int64_t size[LETTERS]; /* of the letters a, b, ... */
    int n_axes;            /* tensordot; 0: the argument is omitted */
    int64_t axes[4];
} product;

static const product matmuls[] = {{"ab,bc->ac", {9, 9, 9}, 0, {0}},
                                  {"ab,bc->ac", {7, 33, 10}, 0, {0}},
                                  {"a1cd,bde->abce", {2, 3, 5, 17, 4}, 0, {0}},
                                  {"ab,bc->ac", {5, 0, 3}, 0, {0}},
                                  {"b,bc->c", {0, 65, 7}, 0, {0}},
                                  {"ab,b->a", {5, 64}, 0, {0}},
                                  {"b,b->", {0, 1025}, 0, {0}},
                                  {"ab,bc->ac", {1, 1, 1}, 0, {0}},
                                  {"ab,bc->ac", {35, 130, 66}, 0, {0}},
                                  {"eab,ebc->eac", {3, 17, 5, 0, 2}, 0, {0}},
                                  {NULL, {0}, 0, {0}}};
static const product tensordots[] = {{"ab,ab->", {9, 17}, 0, {0}},
                                     {"ab,bc->ac", {9, 9, 9}, 1, {1}},
                                     {"abc,dcb->ad", {3, 4, 17, 5}, 4, {1, 2, 2, 1}},
                                     {"a,b->ab", {17, 3}, 1, {0}},
                                     {"ab,cb->ac", {3, 0, 2}, 2, {1, 1}},
                                     {NULL, {0}, 0, {0}}};
static const product vecdots[] = {{"ab,ab->a", {9, 17}, 0, {0}},
                                  {"abc,bc->ab", {2, 3, 65}, 0, {0}},
                                  {"a,a->", {1025}, 0, {0}},
                                  {"ab,ab->a", {3, 0}, 0, {0}},
                                  {NULL, {0}, 0, {0}}};
static const product outers[] = {{"a,b->ab", {17, 17}, 0, {0}},
                                 {"a,b->ab", {65, 3}, 0, {0}},
                                 {"a,b->ab", {0, 3}, 0, {0}},
                                 {NULL, {0}, 0, {0}}};
static const product einsums[] = {{"ab,bc->ac", {9, 9, 9}, 0, {0}},
                                  {"aa->a", {17}, 0, {0}},
                                  {"ab->ba", {5, 17}, 0, {0}},
                                  {"ab,ab->", {5, 17}, 0, {0}},
                                  {"abc->b", {3, 5, 17}, 0, {0}},
                                  {"ab,bc,dc->ad", {3, 5, 7, 4}, 0, {0}},
                                  {"abc,cd,b->da", {3, 5, 7, 4}, 0, {0}},
                                  {"aa", {9}, 0, {0}},
                                  {NULL, {0}, 0, {0}}};

/* The letters of the operands and, after "->", of the result, with their lengths. */
typedef struct parsed {
    int n;
    char letters[MAX_OPERANDS + 1][8];
    int64_t shape[MAX_OPERANDS + 1][8];
} parsed;

static void parse(const product *c, parsed *s)
{
    int k = 0, n = 0;
    memset(s, 0, sizeof *s);
    for (const char *at = c->spec; *at; at++) {
        if (*at == ',' || *at == '-') {
            k++;
            n = 0;
            at += *at == '-';
            continue;
        }
        s->letters[k][n] = *at;
        s->shape[k][n++] = *at == '1' ? 1 : c->size[*at - 'a'];
    }
    s->n = strstr(c->spec, "->") ? k : k + 1; /* "aa" without "->": the result has no letters */
}

static int64_t place(const parsed *s, int k, const int64_t *letter)
{
    int64_t n = 0;
    for (int a = 0; s->letters[k][a]; a++)
        n = n * s->shape[k][a] + (s->letters[k][a] == '1' ? 0 : letter[s->letters[k][a] - 'a']);
    return n;
}

/* Loops over all letters. Those that the result does not have are innermost. */
static void contract(const problem *p, const product *c, const parsed *s, tensor *out)
{
    int64_t total[LETTERS], kept[LETTERS], summed[LETTERS], outer[LETTERS] = {0};
    for (int l = 0; l < LETTERS; l++) {
        const char name = (char)('a' + l);
        const bool used = strchr(c->spec, name) != NULL, stays = strchr(s->letters[s->n], name);
        total[l] = used ? c->size[l] : 1;
        kept[l] = stays ? total[l] : 1;
        summed[l] = stays ? 1 : total[l];
    }
    const ig_ints outside = {kept, LETTERS}, inside = {summed, LETTERS};
    for (int64_t n = shape_size(outside); n > 0; n--, shape_next(outside, outer)) {
        int64_t inner[LETTERS] = {0}, at[LETTERS];
        dot sum = {0};
        for (int64_t k = shape_size(inside); k > 0; k--, shape_next(inside, inner)) {
            for (int l = 0; l < LETTERS; l++)
                at[l] = outer[l] + inner[l];
            const real x = p->in[0].v[place(s, 0, at)];
            const real y = s->n > 1 ? p->in[1].v[place(s, 1, at)] : 1;
            const real z = s->n > 2 ? p->in[2].v[place(s, 2, at)] : 1;
            dot_add(&sum,
                    dtype_in(p->dtype, FLOATS) ? x * y
                                               : real_wrap(IG_I64, real_bits(x) * real_bits(y)),
                    z);
        }
        const int64_t to = place(s, s->n, outer);
        out->v[to] = dot_result(&sum, p->dtype, &out->tol[to]);
        if (s->n > 2 && out->tol[to] != 0) /* intermediate products are rounded, too */
            out->tol[to] += 4 * real_eps(p->dtype) * sum.size;
    }
}

static bool make(problem *p, int variant)
{
    const product *c = (const product *)p->row + variant;
    parsed s;
    if (!c->spec || (p->quick && variant > 2) || (p->mode != MODE_PLAIN && variant > 1))
        return false;
    const bool einsum = p->op[0] == 'e';
    parse(c, &s);
    if (einsum)
        problem_str(p, NULL, c->spec);
    for (int k = 0; k < s.n; k++) {
        const ig_ints shape = {s.shape[k], (int)strlen(s.letters[k])};
        const domain from = {-9, 9, dtype_in(p->dtype, INTS)};
        if (einsum)
            problem_part(p, p->dtype, shape, from);
        else
            problem_in(p, NULL, p->dtype, shape, from);
    }
    if (einsum)
        problem_list(p, NULL, s.n);
    if (c->n_axes == 1)
        problem_int(p, "axes", c->axes[0]);
    else if (c->n_axes > 1)
        problem_ints(p, "axes", (ig_ints){c->axes, c->n_axes});
    tensor *out = problem_out(p, p->dtype, (ig_ints){s.shape[s.n], (int)strlen(s.letters[s.n])});
    if (dtype_in(p->dtype, NUMBERS))
        contract(p, c, &s, out);
    return true;
}

const plan plans_contract[] = {
    {"matmul", make, matmuls}, {"tensordot", make, tensordots}, {"vecdot", make, vecdots},
    {"outer", make, outers},   {"einsum", make, einsums},       {NULL, NULL, NULL},
};
