/* Values of a row that a chain holds in registers: see held.h. */
#include "engine/emit/held.h"

#include "engine/ops/ops.h"

enum { EXPONENTIALS = 2 }; /* the most in a chain */

static int64_t row_points(const program *p, int64_t rows) { return p->pre.size / rows; }

static bool same_space(const tape *a, const tape *b)
{
    bool same = a->ndim == b->ndim;
    for (int i = 0; i < a->ndim && same; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static bool stores(const tape *t, int slot)
{
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == TAPE_STORE && t->operand[t->inst[k].operand].slot == slot)
            return true;
    return false;
}

static bool chain_stores(const program *p, int n, int slot)
{
    for (int k = 0; k < n; k++)
        if (stores(&p[k].pre, slot) || stores(&p[k].post, slot))
            return true;
    return false;
}

/* True if all programs access the slot point by point: then each thread reads only values that it wrote. */
static bool is_pointwise(const program *p, int n, int64_t rows, int64_t inner, int slot)
{
    for (int k = 0; k < n; k++) {
        const tape *t = &p[k].pre;
        if (tape_touches(&p[k].post, slot))
            return false;
        for (int i = 0; i < t->n_inst; i++) {
            const tape_inst *inst = &t->inst[i];
            const operand *o = inst->operand >= 0 ? &t->operand[inst->operand] : NULL;
            if (o && o->slot == slot &&
                ((inst->code != TAPE_LOAD && inst->code != TAPE_STORE) ||
                 row_points(&p[k], rows) != inner || !view_is_contiguous(&o->v)))
                return false;
        }
    }
    return true;
}

static void add(held_values *h, const operand *o, const tape *t, int first, held_kind kind)
{
    if (h->n < HELD_MOST)
        h->at[h->n++] = (held_value){o->slot, &o->v, t, o->dtype, first, kind};
}

/* True if both views read the same element at each point. Points are counted in the order of their space, so two
 * contiguous views may have different shapes: a reduction merges axes that a program with a broadcast operand keeps
 * apart. */
static bool same_elements(const tape *a, const view *v, const tape *b, const view *w)
{
    if (same_space(a, b) && view_equal(v, w))
        return true;
    return a->size == b->size && v->offset == w->offset && view_is_contiguous(v) &&
           view_is_contiguous(w);
}

static const held_value *find(const held_values *h, const tape *t, const operand *o)
{
    for (int i = 0; i < h->n; i++)
        if (h->at[i].slot == o->slot && h->at[i].dtype == o->dtype &&
            (h->at[i].kind == HELD_LOCAL || same_elements(h->at[i].t, h->at[i].v, t, &o->v)))
            return &h->at[i];
    return NULL;
}

/* True if a program after the k-th loads the operand as the k-th does. */
static bool loaded_again(const program *p, int n, int k, const operand *o)
{
    for (int j = k + 1; j < n; j++) {
        const tape *t = &p[j].pre;
        for (int i = 0; i < t->n_inst; i++) {
            const operand *other =
                t->inst[i].code == TAPE_LOAD ? &t->operand[t->inst[i].operand] : NULL;
            if (other && other->slot == o->slot && other->dtype == o->dtype &&
                same_elements(&p[k].pre, &o->v, t, &other->v))
                return true;
        }
    }
    return false;
}

static void find_loads(held_values *h, const program *p, int n, int k)
{
    const tape *t = &p[k].pre;
    for (int i = 0; i < t->n_inst; i++) {
        const operand *o = t->inst[i].code == TAPE_LOAD ? &t->operand[t->inst[i].operand] : NULL;
        if (o && view_is_contiguous(&o->v) && view_size(&o->v) > 1 && !find(h, t, o) &&
            !chain_stores(p, n, o->slot) && loaded_again(p, n, k, o))
            add(h, o, t, k, HELD_INPUT);
    }
}

/* Results of the k-th program that later programs load and nothing else accesses: they are stored and also kept in
 * registers. */
static void find_results(held_values *h, const program *p, int n, int64_t rows, int k)
{
    const tape *t = &p[k].pre;
    for (int i = 0; i < t->n_inst; i++) {
        const operand *o = t->inst[i].code == TAPE_STORE ? &t->operand[t->inst[i].operand] : NULL;
        if (!o || view_size(&o->v) <= 1 || find(h, t, o) ||
            !is_pointwise(p, n, rows, h->points, o->slot) || !loaded_again(p, n, k, o))
            continue;
        bool first = true;
        for (int j = 0; j < n && first; j++)
            for (int l = 0; l < p[j].pre.n_inst && first; l++) {
                const tape_inst *inst = &p[j].pre.inst[l];
                if (inst->operand >= 0 && p[j].pre.operand[inst->operand].slot == o->slot)
                    first = inst->code == TAPE_STORE ? j == k && l == i : j > k;
            }
        if (first)
            add(h, o, t, k, HELD_RESULT);
    }
}

/* True if the values cannot be held because programs call math functions. Loops over held values are unrolled, and most
 * functions are too long for that. An exponential of f32 is an exception: about 20 instructions without a branch. */
static bool calls_math(const program *p, int n)
{
    int exponentials = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < p[k].pre.n_inst; i++) {
            const tape_inst *inst = &p[k].pre.inst[i];
            if (inst->code != TAPE_MAP || op_ulps[inst->op] == 0)
                continue;
            if (inst->op != OP_exp || inst->dtype == IG_F64 || ++exponentials > EXPONENTIALS)
                return true;
        }
    return false;
}

void held_find(held_values *h, const program *p, int n, int64_t rows)
{
    int64_t inner = 0;
    *h = (held_values){0};
    if (calls_math(p, n))
        return;
    for (int k = 0; k < n; k++)
        inner = row_points(&p[k], rows) > inner ? row_points(&p[k], rows) : inner;
    h->points = inner;
    h->each = (int)ceil_div(inner, 32 * HELD_STEP) * HELD_STEP;
    for (int i = 0; p->by_rows && i < p->n_local; i++)
        if (is_pointwise(p, n, rows, inner, p->local[i].slot))
            for (int k = 0; k < n; k++)
                for (int j = 0; j < p[k].pre.n_operand; j++) {
                    const operand *o = &p[k].pre.operand[j];
                    if (o->slot == p->local[i].slot && !find(h, &p[k].pre, o))
                        add(h, o, &p[k].pre, k, HELD_LOCAL);
                }
    for (int k = 0; k < n; k++)
        if (row_points(&p[k], rows) == inner) {
            find_loads(h, p, n, k);
            find_results(h, p, n, rows, k);
        }
}

/* The last program that accesses it. */
static int last_use(const held_values *h, const held_value *v, const program *p, int n)
{
    int last = v->first;
    for (int k = v->first + 1; k < n; k++)
        for (int i = 0; i < p[k].pre.n_operand; i++)
            if (find(h, &p[k].pre, &p[k].pre.operand[i]) == v)
                last = k;
    return last;
}

int held_registers(const held_values *h, const program *p, int n)
{
    int most = 0;
    for (int k = 0; k < n; k++) {
        int through = 0, ends = 0,
            begins = 0; /* a value that begins may reuse the registers of one that ends */
        for (int i = 0; i < h->n; i++) {
            const held_value *v = &h->at[i];
            const int words = ig_dtype_bytes(dtype_lane(v->dtype)) > 4 ? 2 : 1;
            const int last = last_use(h, v, p, n);
            through += v->first < k && last > k ? words : 0;
            ends += v->first < k && last == k ? words : 0;
            begins += v->first == k ? words : 0;
        }
        through += ends > begins ? ends : begins;
        most = through > most ? through : most;
    }
    return most * h->each;
}

bool held_has(const held_values *h, int slot)
{
    for (int i = 0; i < h->n; i++)
        if (h->at[i].slot == slot && h->at[i].kind == HELD_LOCAL)
            return true;
    return false;
}

void held_declare(emit_writer *w, const held_values *h)
{
    for (int i = 0; i < h->n; i++)
        text_add(&w->body, "%s held%d[%d]; ", emit_lane_type(h->at[i].dtype), i, h->each);
}

void held_params(emit_writer *w, const held_values *h)
{
    for (int i = 0; i < h->n; i++)
        text_add(&w->body, ", %s &held%d", emit_lane_type(h->at[i].dtype), i);
}

void held_args(emit_writer *w, const held_values *h)
{
    for (int i = 0; i < h->n; i++)
        text_add(&w->body, ", held%d[u]", i);
}

held_use held_load(emit_writer *w, const emit_space *s, int k)
{
    const operand *o = &s->t->operand[s->t->inst[k].operand];
    const held_value *v = find(s->held, s->t, o);
    if (!v)
        return HELD_NOT;
    if (v->kind == HELD_INPUT && v->first == s->program)
        return HELD_FIRST;
    text_add(&w->body, "    const %s v%d_0 = held%d;\n", emit_lane_type(o->dtype), k,
             (int)(v - s->held->at));
    return HELD_DONE;
}

void held_keep(emit_writer *w, const emit_space *s, int k)
{
    const operand *o = &s->t->operand[s->t->inst[k].operand];
    text_add(&w->body, "    held%d = v%d_0;\n", (int)(find(s->held, s->t, o) - s->held->at), k);
}

bool held_store(emit_writer *w, const emit_space *s, int k, const int *def)
{
    const tape_inst *inst = &s->t->inst[k];
    const held_value *v = find(s->held, s->t, &s->t->operand[inst->operand]);
    if (!v || v->kind == HELD_INPUT)
        return false;
    text_add(&w->body, "    held%d = v%d_0;\n", (int)(v - s->held->at), def[inst->a]);
    return v->kind == HELD_LOCAL;
}
