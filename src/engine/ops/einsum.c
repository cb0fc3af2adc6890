/* The builder of einsum. Each axis of an operand has a label: a letter, or a position in "...". First,
 * repeated labels of one operand become a diagonal (a view), and labels that occur in only one operand are
 * summed. Then operands are contracted in pairs until one is left.
 *
 * Axes of length 1 are dropped, because they broadcast. All other axes with a label have the same length. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/contract.h"
#include <ctype.h>
#include <float.h>
#include <string.h>

/* Letters in ASCII order, then the axes of "...", which are aligned at their ends. */
enum { LETTERS = 52, LABELS = LETTERS + IG_MAX_NDIM };

/* The labels of an array's axes. */
typedef struct term {
    int n;
    uint8_t label[IG_MAX_NDIM];
} term;

typedef struct operand_term {
    ig_array *x;
    term t;
} operand_term;

typedef struct einsum {
    const char *text;
    int n;
    operand_term *operand; /* n of them */
    term out;
    int64_t length[LABELS];
    int seen_in[LABELS]; /* the operand that set the length */
    int uses[LABELS];    /* number of operands that have it, plus 1 if the result has it */
} einsum;

/* ---- reading the subscripts ---- */

/* One term as it is written: its letters, and the letter before which "..." stands (-1: absent). */
typedef struct written {
    int n, rest;
    uint8_t label[IG_MAX_NDIM];
} written;

static ig_status fail_at(const char *text, const char *at, const char *why)
{
    FAIL(IG_ERR_ARGUMENT, "einsum: '%s', position %d: %s", text, (int)(at - text), why);
}

static int label_of(char letter) { return letter <= 'Z' ? letter - 'A' : letter - 'a' + 26; }

static char letter_of(int label) { return (char)(label < 26 ? 'A' + label : 'a' + label - 26); }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads from *at to the next comma, arrow or end. */
static ig_status read_term(const char *text, const char **at, written *w)
{
    const char *c = *at;
    *w = (written){.rest = -1};
    for (; *c && *c != ',' && strncmp(c, "->", 2) != 0; c++) {
        if (isspace((unsigned char)*c))
            continue;
        if (*c == '.') {
            if (strncmp(c, "...", 3) != 0)
                return fail_at(text, c, "axes that are not named are written '...'");
            if (w->rest >= 0)
                return fail_at(text, c, "'...' may appear once in a term");
            w->rest = w->n;
            c += 2;
        } else if (!is_letter(*c)) {
            return fail_at(text, c, "expected a letter, '...', ',' or '->'");
        } else if (w->n == IG_MAX_NDIM) {
            return fail_at(text, c, "more letters than an array can have axes");
        } else {
            w->label[w->n++] = (uint8_t)label_of(*c);
        }
    }
    *at = c;
    return IG_OK;
}

/* The term with `rest` axes in place of "...". */
static void spell_out(const written *w, int rest, term *t)
{
    t->n = 0;
    for (int i = 0; i <= w->n; i++) {
        for (int k = 0; i == w->rest && k < rest; k++)
            t->label[t->n++] = (uint8_t)(LABELS - rest + k);
        if (i < w->n)
            t->label[t->n++] = w->label[i];
    }
}

/* Reads the terms of all operands, up to *at. widest: the largest number of axes that "..." stands for. */
static ig_status read_operands(einsum *e, ig_array *const *x, const char **at, int *widest)
{
    const char *c = *at;
    *widest = 0;
    for (int i = 0; i < e->n; i++) {
        written w;
        const char *start = c;
        TRY(read_term(e->text, &c, &w));
        const int ndim = x[i]->view.ndim, rest = ndim - w.n;
        if (rest < 0 || (rest > 0 && w.rest < 0))
            FAIL(IG_ERR_SHAPE,
                 "einsum: '%s', position %d: %d letter%s for operand %d, which has %d "
                 "ax%ss",
                 e->text, (int)(start - e->text), w.n, w.n == 1 ? "" : "s", i, ndim,
                 ndim == 1 ? "i" : "e");
        spell_out(&w, rest, &e->operand[i].t);
        e->operand[i].x = x[i];
        *widest = w.rest >= 0 && rest > *widest ? rest : *widest;
        if (i + 1 < e->n && *c != ',')
            FAIL(IG_ERR_ARGUMENT, "einsum: '%s' has %d term%s for %d operands", e->text, i + 1,
                 i ? "s" : "", e->n);
        c += i + 1 < e->n;
    }
    if (*c == ',')
        FAIL(IG_ERR_ARGUMENT, "einsum: '%s', position %d: more terms than the %d operand%s",
             e->text, (int)(c - e->text), e->n, e->n == 1 ? "" : "s");
    *at = c;
    return IG_OK;
}

/* The labels after the arrow. */
static ig_status read_result(einsum *e, const char *at, int widest, const int *times)
{
    written w;
    bool seen[LABELS] = {false};
    const char *start = at;
    TRY(read_term(e->text, &at, &w));
    if (*at)
        return fail_at(e->text, at, "nothing may follow the result");
    if (w.rest < 0 && widest > 0)
        return fail_at(e->text, start, "the operands have '...', so the result needs it, too");
    if (w.n + (w.rest < 0 ? 0 : widest) > IG_MAX_NDIM)
        return fail_at(e->text, start, "the result has more axes than an array can have");
    spell_out(&w, w.rest < 0 ? 0 : widest, &e->out);
    for (int i = 0; i < e->out.n; i++) {
        const int label = e->out.label[i];
        if (times[label] && !seen[label]) {
            seen[label] = true;
            continue;
        }
        FAIL(IG_ERR_ARGUMENT, "einsum: '%s', position %d: the result has '%c', which %s", e->text,
             (int)(start - e->text), letter_of(label),
             seen[label] ? "appears there twice" : "no operand has");
    }
    return IG_OK;
}

/* Without an arrow: "...", then the letters that occur once, in alphabetical order. */
static ig_status imply_result(einsum *e, int widest, const int *times)
{
    spell_out(&(written){.rest = 0}, widest, &e->out);
    for (int label = 0; label < LETTERS; label++) {
        if (times[label] != 1)
            continue;
        if (e->out.n == IG_MAX_NDIM)
            return fail_at(e->text, e->text, "the result has more axes than an array can have");
        e->out.label[e->out.n++] = (uint8_t)label;
    }
    return IG_OK;
}

static ig_status einsum_read(einsum *e, ig_array *const *x)
{
    const char *at = e->text;
    int widest, times[LABELS] = {0};
    TRY(read_operands(e, x, &at, &widest));
    for (int i = 0; i < e->n; i++)
        for (int a = 0; a < e->operand[i].t.n; a++)
            times[e->operand[i].t.label[a]]++;
    return *at ? read_result(e, at + 2, widest, times) : imply_result(e, widest, times);
}

/* ---- lengths, diagonals, sums ---- */

static ig_status learn_length(einsum *e, int i, int label, int64_t length)
{
    int64_t *known = &e->length[label];
    if (*known == length || length == 1)
        return IG_OK;
    if (*known != 1) {
        const char letter[2] = {label < LETTERS ? letter_of(label) : '.', 0};
        FAIL(IG_ERR_SHAPE,
             "einsum: '%s': '%s' has length %lld in operand %d and %lld in operand %d", e->text,
             label < LETTERS ? letter : "...", (long long)*known, e->seen_in[label],
             (long long)length, i);
    }
    *known = length;
    e->seen_in[label] = i;
    return IG_OK;
}

/* Operand i with each label once (repeated labels become a diagonal), without axes of length 1. */
static ig_status take_diagonals(einsum *e, int i)
{
    operand_term *o = &e->operand[i];
    const view *from = &o->x->view;
    term t = {0};
    view v = {.offset = from->offset};
    for (int a = 0; a < from->ndim; a++) {
        const int label = o->t.label[a];
        int at = 0;
        while (at < t.n && t.label[at] != label)
            at++;
        if (at < t.n && v.shape[at] != from->shape[a])
            FAIL(IG_ERR_SHAPE, "einsum: '%s': '%c' has lengths %lld and %lld in operand %d",
                 e->text, letter_of(label), (long long)v.shape[at], (long long)from->shape[a], i);
        v.shape[at] = from->shape[a];
        v.stride[at] += from->stride[a];
        if (at < t.n)
            continue;
        t.label[t.n++] = (uint8_t)label;
        TRY(learn_length(e, i, label, from->shape[a]));
    }
    o->t.n = 0;
    for (int a = 0; a < t.n; a++) {
        if (v.shape[a] == 1)
            continue;
        v.shape[v.ndim] = v.shape[a];
        v.stride[v.ndim++] = v.stride[a];
        o->t.label[o->t.n++] = t.label[a];
        e->uses[t.label[a]]++;
    }
    o->x = v.ndim == from->ndim ? o->x : array_view(OP_einsum, o->x, &v);
    return o->x ? IG_OK : IG_ERR_MEMORY;
}

/* Counts the labels that only this operand has; with `now`, also sums over them. */
static int sum_alone(einsum *e, operand_term *o, bool now)
{
    int64_t axes[IG_MAX_NDIM];
    term kept = {0};
    int n = 0;
    for (int a = 0; a < o->t.n; a++) {
        if (e->uses[o->t.label[a]] == 1)
            axes[n++] = a;
        else
            kept.label[kept.n++] = o->t.label[a];
    }
    if (now && n) {
        o->x = ig_sum(o->x, (ig_ints){axes, n}, (ig_dtype)o->x->dtype, false);
        o->t = kept;
    }
    return n;
}

/* Converts all operands to one dtype and sums labels that occur in only one. If there is more than one
 * step, f16 and bf16 continue in f32, so that they are rounded once. */
static ig_status einsum_prepare(einsum *e, ig_array *const *x, ig_dtype *dtype)
{
    int steps = e->n - 1;
    TRY(infer_dtype(OP_einsum, x, e->n, dtype));
    if (*dtype == IG_BOOL)
        FAIL(IG_ERR_DTYPE, "einsum takes numbers, not bool; convert with astype");
    for (int label = 0; label < LABELS; label++)
        e->length[label] = 1;
    for (int i = 0; i < e->n; i++)
        TRY(take_diagonals(e, i));
    for (int a = 0; a < e->out.n; a++)
        e->uses[e->out.label[a]]++;
    for (int i = 0; i < e->n; i++)
        steps += sum_alone(e, &e->operand[i], false) > 0;
    const ig_dtype wide = dtype_is_half(*dtype) && steps > 1 ? IG_F32 : *dtype;
    for (int i = 0; i < e->n; i++) {
        operand_term *o = &e->operand[i];
        if (!(o->x = build_cast(o->x, wide)))
            return IG_ERR_MEMORY;
        sum_alone(e, o, true);
        if (!o->x)
            return IG_ERR_MEMORY;
    }
    return IG_OK;
}

/* ---- two at a time ---- */

/* The axes of two operands by group: b and k are in both; b is also in the result or in a third operand. */
typedef struct pairing {
    contract_axes axes;
    int order[2][IG_MAX_NDIM]; /* (b, m, k) of the first, (b, n, k) of the second */
    double growth;             /* elements of the result minus elements of both operands */
} pairing;

static int axis_of(const term *t, int label)
{
    for (int a = 0; a < t->n; a++)
        if (t->label[a] == label)
            return a;
    return -1;
}

static double elements(const einsum *e, const term *t)
{
    double n = 1;
    for (int a = 0; a < t->n; a++)
        n *= (double)e->length[t->label[a]];
    return n;
}

static pairing pair_up(const einsum *e, const term *t0, const term *t1)
{
    pairing p = {0};
    int k[2][IG_MAX_NDIM], rest[2][IG_MAX_NDIM], n_rest[2] = {0};
    double size = 1;
    for (int a = 0; a < t0->n; a++) {
        const int label = t0->label[a], other = axis_of(t1, label);
        const bool gone = other >= 0 && e->uses[label] == 2;
        if (gone) {
            k[0][p.axes.k] = a;
            k[1][p.axes.k++] = other;
        } else if (other >= 0) {
            p.order[0][p.axes.b] = a;
            p.order[1][p.axes.b++] = other;
        } else {
            rest[0][n_rest[0]++] = a;
        }
        size *= gone ? 1 : (double)e->length[label];
    }
    for (int a = 0; a < t1->n; a++) {
        if (axis_of(t0, t1->label[a]) >= 0)
            continue;
        rest[1][n_rest[1]++] = a;
        size *= (double)e->length[t1->label[a]];
    }
    for (int i = 0; i < 2; i++) {
        memcpy(p.order[i] + p.axes.b, rest[i], (size_t)n_rest[i] * sizeof(int));
        memcpy(p.order[i] + p.axes.b + n_rest[i], k[i], (size_t)p.axes.k * sizeof(int));
    }
    p.axes.m = n_rest[0];
    p.axes.n = n_rest[1];
    p.growth = p.axes.b + p.axes.m + p.axes.n > IG_MAX_NDIM
                   ? DBL_MAX
                   : size - elements(e, t0) - elements(e, t1);
    return p;
}

/* Operand i becomes the contraction of operands i and j; j is removed. */
static ig_status contract_pair(einsum *e, int i, int j, const pairing *p)
{
    operand_term *o = &e->operand[i], *other = &e->operand[j];
    const contract_axes *axes = &p->axes;
    term t = {0};
    for (int a = 0; a < axes->b + axes->m; a++)
        t.label[t.n++] = o->t.label[p->order[0][a]];
    for (int a = axes->b; a < axes->b + axes->n && t.n < IG_MAX_NDIM; a++)
        t.label[t.n++] = other->t.label[p->order[1][a]];
    for (int a = 0; a < axes->b; a++)
        e->uses[t.label[a]]--;
    ig_array *in[2] = {build_permute(OP_einsum, o->x, p->order[0]),
                       build_permute(OP_einsum, other->x, p->order[1])};
    *o = (operand_term){contract_node(OP_einsum, in, *axes, (ig_dtype)o->x->dtype), t};
    memmove(other, other + 1, (size_t)(e->n - j - 1) * sizeof *other);
    e->n--;
    return o->x ? IG_OK : IG_ERR_MEMORY;
}

/* Contracts the pair with the smallest result first; of equal pairs, the first. Only a limited number of
 * operands is considered, so that long lists do not take quadratic time. */
static ig_status contract_all(einsum *e)
{
    enum { LOOKED_AT = 12 };
    while (e->n > 1) {
        const int n = e->n < LOOKED_AT ? e->n : LOOKED_AT;
        int best_i = 0, best_j = 1;
        pairing best = pair_up(e, &e->operand[0].t, &e->operand[1].t);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                const pairing p = pair_up(e, &e->operand[i].t, &e->operand[j].t);
                if (p.growth < best.growth) {
                    best = p;
                    best_i = i;
                    best_j = j;
                }
            }
        TRY(contract_pair(e, best_i, best_j, &best));
    }
    return IG_OK;
}

/* The last operand with its axes in the order of the result. */
static ig_array *einsum_result(const einsum *e)
{
    const operand_term *o = &e->operand[0];
    view v = {.ndim = e->out.n, .offset = o->x->view.offset};
    for (int a = 0; a < e->out.n; a++) {
        const int from = axis_of(&o->t, e->out.label[a]);
        v.shape[a] = from < 0 ? 1 : o->x->view.shape[from];
        v.stride[a] = from < 0 ? 0 : o->x->view.stride[from];
    }
    return array_view(OP_einsum, o->x, &v);
}

int op_einsum(op_id op, const ig_arg *args, ig_array **out)
{
    (void)op;
    ig_array *const *x = args[1].u.arrays.v, *y = NULL;
    einsum e = {.text = args[0].u.str, .n = args[1].u.arrays.n};
    ig_dtype dtype;
    if (e.n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "einsum: give at least one array");
    operand_term *all = e.operand = memory_new((size_t)e.n * sizeof *e.operand);
    if (all && einsum_read(&e, x) == IG_OK && einsum_prepare(&e, x, &dtype) == IG_OK &&
        contract_all(&e) == IG_OK)
        y = build_cast(einsum_result(&e), dtype);
    memory_free(all);
    return op_one(out, y);
}
