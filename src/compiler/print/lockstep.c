/* Code that relies on warps in lock step: threads that exchange values through memory without a barrier.
 *
 *     s[t] += s[t + 8];  s[t] += s[t + 4];          o[t] = s[31 - t];
 *
 * gives the sum only if all lanes execute the first statement before any lane executes the second. A device
 * that does not run 32 threads in lock step silently computes something else, so this is refused. The check
 * looks for a store to p[i] and a load from p[j] without a barrier in between, where
 * - i and j are evaluated for the threads of two warps, one thread loads what another thread of its warp
 *   stores, and the enclosing conditions let both threads get there;
 * - j - i is a variable that is halved or doubled in an enclosing loop: a tree of steps; or
 * - both are volatile, and i and j differ.
 * i and j must be values for each thread plus sums of terms that are equal in all threads. Other accesses are
 * skipped: nothing is refused on suspicion. Calls are followed. A loop is walked until its condition is false,
 * if that can be computed; other loops are walked twice. Integers and pointers that are assigned to keep their
 * value up to the end of the branch or loop that assigns it. */
#include <string.h>

#include "compiler/print/linear.h"
#include "compiler/print/parts.h"

enum {
    ACCESSES_MOST = 256,
    VARS_MOST = 256,
    CALLS_MOST = 16,
    GUARDS_MOST = 32,
    STEPS_MOST = 200000,
    SUM_DEPTH_MOST =
        64, /* definitions of variables by each other: each takes some KB of the stack */
    ROUNDS_MOST = 40,
    HALF_BLOCK = 512
};

/* The call through which a function is walked: its parameters are the caller's arguments. */
typedef struct frame {
    print_function *f;
    const kernel_expr *call;
    const struct frame *caller;
} frame;

/* The threads that reach a point, if known. A superset: some may not, depending on values. */
typedef struct range {
    bool known, exact;
    uint64_t who; /* a bit for each thread */
} range;

typedef struct access {
    const kernel_var *root;
    linear at;
    uint32_t bytes;
    bool is_volatile;
    kernel_place place;
    range who;
} access;

typedef struct version {
    const kernel_var *var;
    int64_t version;
    bool scaled;            /* it was halved or doubled */
    uint32_t serial;        /* of the assignment, counted from 1 */
    linear value;           /* if it is known */
    const kernel_var *root; /* of a pointer */
} version;

typedef struct walk {
    printer *p;
    const frame *at;
    access accesses[2][ACCESSES_MOST]; /* loads, stores since the last barrier */
    int n_accesses[2];
    version versions[VARS_MOST];
    int n_versions;
    uint32_t serial;
    range guards[GUARDS_MOST];
    int n_guards;
    uint64_t gone; /* threads that have returned */
    int depth;
    int sum_depth;
    uint32_t steps;
    bool found;
} walk;

/* ---- expressions ------------------------------------------------------------------------------ */

static version *version_of(walk *w, const kernel_var *v)
{
    for (int i = 0; i < w->n_versions; i++)
        if (w->versions[i].var == v)
            return &w->versions[i];
    if (w->n_versions == VARS_MOST)
        return NULL;
    w->versions[w->n_versions] = (version){.var = v};
    return &w->versions[w->n_versions++];
}

static linear sum_of(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root);

/* The declaration of a variable in a list, or NULL. */
static const kernel_stmt *declaration_of(const kernel_stmt *s, const kernel_var *v)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_DECLARE && s->var == v)
            return s;
        const kernel_stmt *found = declaration_of(s->body, v);
        found = found ? found : declaration_of(s->otherwise, v);
        if (found)
            return found;
    }
    return NULL;
}

/* "x & 31" or "x % 32", where x contains threadIdx.x: the lane, which increases with threadIdx.x. */
static bool is_lane(printer *p, const kernel_expr *e)
{
    while (e->kind == EXPR_CAST)
        e = e->a;
    if (e->kind != EXPR_BINARY || e->b->kind != EXPR_CONST || !print_varies(p, e->a))
        return false;
    const uint64_t c = e->b->value.integer;
    return (e->op == OP_AND && c == WARP - 1) || (e->op == OP_REM && c == WARP);
}

static linear value_of(walk *w, const frame *at, const kernel_var *v, const kernel_var **root)
{
    if (v->storage == STORE_PARAMETER && at->call && !v->assigned)
        return sum_of(w, at->caller, at->call->args[v->index], root);
    if (v->storage > STORE_LOCAL)
        return (linear){0};
    const version *tracked = v->addressed ? NULL : version_of(w, v);
    if (tracked && tracked->value.known) {
        *root = tracked->root;
        return tracked->value;
    }
    if (type_is_pointer(v->type)) {
        if (v->assigned)
            return (linear){0};
        if (v->storage == STORE_PARAMETER) {
            *root = v;
            return linear_constant(0);
        }
    }
    const kernel_stmt *d =
        v->storage == STORE_LOCAL && !v->assigned ? declaration_of(at->f->f->body, v) : NULL;
    if (d && d->value && w->sum_depth < SUM_DEPTH_MOST) {
        w->p->at = at->f;
        w->sum_depth++;
        const linear known = sum_of(w, at, d->value, root);
        w->sum_depth--;
        if (known.known || type_is_pointer(v->type))
            return known;
    }
    const version *known = version_of(w, v);
    return known && !v->addressed ? linear_term(v, known->version) : (linear){0};
}

static linear binary_of(walk *w, const frame *at, const kernel_expr *e)
{
    const kernel_var *none = NULL;
    const linear a = sum_of(w, at, e->a, &none), b = sum_of(w, at, e->b, &none);
    w->p->at = at->f;
    const linear r = linear_by_threads(e->op, &a, &b);
    if (r.known || !a.known || !b.known)
        return r.known || !is_lane(w->p, e) ? r : linear_thread(WARP);
    if (e->op == OP_MUL && !b.n && linear_is_one(&b))
        return linear_scaled(&a, b.at[0]);
    if (e->op == OP_MUL && !a.n && linear_is_one(&a))
        return linear_scaled(&b, a.at[0]);
    if (e->op == OP_SHL && !b.n && linear_is_one(&b) && b.at[0] >= 0 && b.at[0] < 31)
        return linear_scaled(&a, (int64_t)1 << b.at[0]);
    return is_lane(w->p, e) ? linear_thread(WARP) : (linear){0};
}

/* True if its value is constant throughout the kernel and does not contain threadIdx.x. */
static bool is_fixed(walk *w, const frame *at, const kernel_expr *e)
{
    if (++w->steps > STEPS_MOST)
        return false;
    switch (e->kind) {
    case EXPR_CONST: return true;
    case EXPR_INDEX: return e->base != INDEX_THREAD || e->axis != 0;
    case EXPR_CAST:
    case EXPR_UNARY: return is_fixed(w, at, e->a);
    case EXPR_BINARY: return is_fixed(w, at, e->a) && is_fixed(w, at, e->b);
    case EXPR_LOAD: {
        const kernel_var *v = e->a->kind == EXPR_VAR ? e->a->as.var : NULL;
        if (!v || v->assigned || v->addressed || v->storage > STORE_LOCAL)
            return false;
        if (v->storage == STORE_PARAMETER)
            return !at->call || is_fixed(w, at->caller, at->call->args[v->index]);
        const kernel_stmt *d = declaration_of(at->f->f->body, v);
        if (!d || !d->value || w->sum_depth == SUM_DEPTH_MOST)
            return false;
        w->sum_depth++;
        const bool fixed = is_fixed(w, at, d->value);
        w->sum_depth--;
        return fixed;
    }
    default: return false;
    }
}

static linear sum_inside(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root);

/* The sum of an integer, or of a pointer; then *root is the array that it points into. */
static linear sum_of(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root)
{
    if (type_is_float(e->type))
        return (linear){0};
    const linear sum = sum_inside(w, at, e, root);
    if (!sum.known && type_is_integer(e->type) && is_fixed(w, at, e))
        return linear_term(e, (int64_t)(intptr_t)at->call);
    return sum;
}

/* The value of a variable. A pointer that is the same in all threads may point anywhere: it is an array of its
 * own. */
static linear variable_of(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root)
{
    const kernel_var *v = e->a->as.var;
    const linear known = value_of(w, at, v, root);
    if (known.known || !type_is_pointer(v->type) || v->addressed || v->storage > STORE_LOCAL)
        return known;
    w->p->at = at->f;
    const kernel_stmt *d = v->assigned ? NULL : declaration_of(at->f->f->body, v);
    const version *one = print_varies(w->p, d && d->value ? d->value : e) ? NULL : version_of(w, v);
    *root = one ? v : NULL;
    return one ? linear_term(v, one->version) : known;
}

/* The address of a place in shared or global memory. */
static linear place_of(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root)
{
    if (e->kind == EXPR_MEMBER) {
        const linear a = place_of(w, at, e->a, root),
                     offset = linear_constant((int64_t)e->as.member->offset);
        return linear_add(a, &offset, 1);
    }
    if (e->kind == EXPR_VAR && e->as.var->storage > STORE_LOCAL) {
        *root = e->as.var;
        return linear_constant(0);
    }
    return e->kind == EXPR_DEREF ? sum_of(w, at, e->a, root) : (linear){0};
}

static linear choice_of(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root)
{
    const kernel_var *none = NULL, *other = NULL;
    const linear c = sum_of(w, at, e->a, &none), a = sum_of(w, at, e->b, root),
                 b = sum_of(w, at, e->c, &other);
    return *root == other ? linear_choose(&c, &a, &b) : (linear){0};
}

/* min and max of integers */
static linear extreme_of(walk *w, const frame *at, const kernel_expr *e)
{
    const kernel_var *none = NULL;
    const linear a = sum_of(w, at, e->args[0], &none), b = sum_of(w, at, e->args[1], &none);
    const linear less = linear_by_threads(OP_LT, &a, &b);
    return e->builtin == BUILTIN_MIN ? linear_choose(&less, &a, &b) : linear_choose(&less, &b, &a);
}

static linear sum_inside(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root)
{
    if (++w->steps > STEPS_MOST)
        return (linear){0};
    switch (e->kind) {
    case EXPR_CONST:
        return type_is_integer(e->type) ? linear_constant((int64_t)e->value.integer) : (linear){0};
    case EXPR_INDEX:
        return e->base == INDEX_THREAD && e->axis == 0
                   ? linear_thread(THREADS)
                   : linear_term(&print_index_names[e->base], e->axis);
    case EXPR_CAST:
        if (e->type->kind == TYPE_BOOL && type_is_integer(e->a->type)) {
            const linear a = sum_of(w, at, e->a, root), zero = linear_constant(0);
            return linear_by_threads(OP_NE, &a, &zero);
        }
        if ((type_is_integer(e->type) && type_is_integer(e->a->type) && e->type->size >= 4) ||
            (type_is_pointer(e->type) && type_is_pointer(e->a->type)))
            return sum_of(w, at, e->a, root);
        return (linear){0};
    case EXPR_LOAD: return e->a->kind == EXPR_VAR ? variable_of(w, at, e, root) : (linear){0};
    case EXPR_DECAY:
    case EXPR_ADDRESS: return place_of(w, at, e->a, root);
    case EXPR_UNARY: {
        const linear a = e->op == OP_NEGATE ? sum_of(w, at, e->a, root) : (linear){0};
        return linear_scaled(&a, -1);
    }
    case EXPR_BINARY: {
        if (e->op != OP_ADD && e->op != OP_SUB && e->op != OP_OFFSET)
            return type_is_integer(e->a->type) ? binary_of(w, at, e) : (linear){0};
        const kernel_var *none = NULL;
        const linear a = sum_of(w, at, e->a, root), b = sum_of(w, at, e->b, &none);
        const int64_t size = e->op == OP_OFFSET ? (int64_t)e->type->of->size : 1;
        return linear_add(a, &b, e->op == OP_SUB ? -1 : size);
    }
    case EXPR_CHOOSE: return choice_of(w, at, e, root);
    case EXPR_BUILTIN: {
        const bool extreme = e->builtin == BUILTIN_MIN || e->builtin == BUILTIN_MAX;
        return extreme && type_is_integer(e->type) ? extreme_of(w, at, e) : (linear){0};
    }
    default: return (linear){0};
    }
}

/* ---- conditions ------------------------------------------------------------------------------- */

static range all_threads(bool exact) { return (range){true, exact, UINT64_MAX}; }

static range both(range a, range b)
{
    return (range){a.known && b.known, a.exact && b.exact, a.who & b.who};
}

static range all_others(range a) { return (range){a.known && a.exact, a.exact, ~a.who}; }

static bool varies(walk *w, const kernel_expr *e)
{
    w->p->at = w->at->f;
    return print_varies(w->p, e);
}

/* The threads for which a condition is true, if it can be computed. All threads if the condition is equal in
 * all threads, or is a bound of threadIdx.x that is not a small constant. */
static range threads_of(walk *w, const kernel_expr *e)
{
    if (!varies(w, e))
        return all_threads(false);
    if (e->kind == EXPR_AND)
        return both(threads_of(w, e->a), threads_of(w, e->b));
    if (e->kind == EXPR_UNARY && e->op == OP_NOT)
        return all_others(threads_of(w, e->a));
    if (e->kind == EXPR_OR) {
        const range a = threads_of(w, e->a), b = threads_of(w, e->b);
        return (range){a.known && b.known, a.exact && b.exact, a.who | b.who};
    }
    const kernel_var *none = NULL;
    const linear value = sum_of(w, w->at, e, &none);
    if (value.known && !value.n) {
        range r = {true, true, 0};
        for (int t = 0; t < THREADS; t++)
            r.who |= (uint64_t)(value.at[t] != 0) << t;
        return r;
    }
    if (e->kind != EXPR_BINARY || e->op < OP_LT || e->op > OP_GE)
        return (range){0};
    const linear a = sum_of(w, w->at, e->a, &none), b = sum_of(w, w->at, e->b, &none);
    const linear d = linear_add(b, &a, -1);
    const int64_t slope = linear_slope(&d);
    /* A small constant may leave out threads: t < 16, where t counts the threads of a block. */
    const linear *bound = !b.n ? &b : &a;
    if (!bound->n && linear_is_one(bound) && bound->at[0] <= HALF_BLOCK)
        return (range){0};
    return d.known && (slope == 1 || slope == -1) ? all_threads(false) : (range){0};
}

/* The threads for which it is false. */
static range otherwise(walk *w, const kernel_expr *e)
{
    return varies(w, e) ? all_others(threads_of(w, e)) : all_threads(false);
}

static range who(const walk *w)
{
    range r = all_threads(true);
    for (int i = 0; i < w->n_guards; i++)
        r = both(r, w->guards[i]);
    r.who &= ~w->gone;
    return r;
}

/* ---- accesses --------------------------------------------------------------------------------- */

static void refuse(walk *w, const access *load, const access *store)
{
    printer *p = w->p;
    w->found = true;
    print_refuse(p, load->place, "IG-WARP", "another thread stores it, and no barrier is between",
                 "put __syncthreads between the two accesses, or run it with '--device cpu'",
                 "'%s' relies on warps in lock step, which %s does not have", p->entry->name,
                 p->target->device);
    diag_note(&p->diags, store->place, "it is stored here");
}

/* True if the difference is a variable that is halved or doubled during the walk. */
static bool is_tree(walk *w, const linear *d)
{
    if (d->n != 1 || !linear_is_one(d) || d->at[0])
        return false;
    for (int i = 0; i < w->n_versions; i++)
        if (w->versions[i].var == d->terms[0].of)
            return w->versions[i].scaled && w->versions[i].version > 0;
    return false;
}

/* True if a thread loads a value that only another thread of its warp stores. Both addresses have the same
 * terms. */
static bool exchanges(const access *load, const access *store, int threads)
{
    for (int t = 0; t < threads; t++) {
        const int first = t / WARP * WARP;
        const bool own = store->who.who >> t & 1 && store->at.at[t] == load->at.at[t];
        for (int u = first; u < first + WARP && !own && load->who.who >> t & 1; u++)
            if (u != t && store->who.who >> u & 1 && store->at.at[u] == load->at.at[t])
                return true;
    }
    return false;
}

/* The same if the addresses differ by a multiple of blockDim.x: for blocks of one warp. */
static bool exchanges_reversed(const access *load, const access *store, const linear *d)
{
    if (d->n != 1 || d->terms[0].of != &print_index_names[INDEX_BLOCK_DIM] || d->terms[0].version)
        return false;
    access moved = *load;
    const linear by = linear_constant(WARP * d->terms[0].factor);
    moved.at = linear_add(moved.at, &by, 1);
    return exchanges(&moved, store, WARP);
}

/* Compares a load and a store. A load before the store matters only if the addresses are known exactly. */
static void compare(walk *w, const access *load, const access *store, bool stored_first)
{
    const int64_t size = load->bytes;
    if (store->root != load->root || store->bytes != load->bytes || !size)
        return;
    const linear d = linear_add(load->at, &store->at, -1);
    const bool same = !d.n && linear_is_one(&d) && !d.at[0];
    if (!d.known)
        return;
    if (store->is_volatile && load->is_volatile && stored_first && !same &&
        !linear_is_one(&load->at) && !linear_is_one(&store->at)) {
        refuse(w, load, store);
        return;
    }
    if (!store->who.known || !load->who.known)
        return;
    const bool tree = stored_first && linear_slope(&load->at) == size &&
                      linear_slope(&store->at) == size && is_tree(w, &d);
    if (tree || (d.n ? exchanges_reversed(load, store, &d) : exchanges(load, store, THREADS)))
        refuse(w, load, store);
}

static bool access_of(walk *w, const kernel_expr *place, access *out)
{
    const uint8_t space = place->space;
    if (space != SPACE_SHARED && space != SPACE_GLOBAL)
        return false;
    *out = (access){.bytes = (uint32_t)place->type->size,
                    .is_volatile = place->type->quals & TYPE_VOLATILE,
                    .place = place->place,
                    .who = who(w)};
    out->at = place_of(w, w->at, place, &out->root);
    return out->root && out->at.known;
}

enum { LOADS, STORES };

/* Compares the access with all accesses of the other kind since the last barrier, and records it. */
static void access_at(walk *w, const kernel_expr *place, int kind)
{
    access mine;
    if (w->n_accesses[kind] == ACCESSES_MOST || !access_of(w, place, &mine))
        return;
    for (int i = 0; i < w->n_accesses[!kind] && !w->found; i++) {
        const access *other = &w->accesses[!kind][i];
        if (kind == LOADS)
            compare(w, &mine, other, true);
        else
            compare(w, other, &mine, false);
    }
    w->accesses[kind][w->n_accesses[kind]++] = mine;
}

static void assign_to(walk *w, const kernel_var *v, bool scales, const linear *value,
                      const kernel_var *root)
{
    version *known = version_of(w, v);
    if (!known)
        return;
    known->version++;
    known->scaled = known->scaled || scales;
    known->serial = ++w->serial;
    known->value = *value;
    known->root = root;
    if (v->addressed || (type_is_pointer(v->type) ? !root : !type_is_integer(v->type)))
        known->value.known = false;
}

/* Forgets the values that were assigned since then: some threads may have others. */
static void forget(walk *w, uint32_t since)
{
    for (int i = 0; i < w->n_versions; i++)
        if (w->versions[i].serial > since) {
            w->versions[i].value.known = false;
            w->versions[i].version++;
        }
}

/* The value that an assignment or update of a variable gives it. */
static linear value_after(walk *w, const kernel_expr *e, const kernel_var **root)
{
    if (e->kind == EXPR_ASSIGN)
        return sum_of(w, w->at, e->b, root);
    const kernel_var *none = NULL;
    const linear a = value_of(w, w->at, e->a->as.var, root), b = sum_of(w, w->at, e->b, &none);
    switch (e->op) {
    case OP_ADD: return linear_add(a, &b, 1);
    case OP_SUB: return linear_add(a, &b, -1);
    case OP_OFFSET: return linear_add(a, &b, (int64_t)e->a->type->of->size);
    default: return linear_by_threads(e->op, &a, &b);
    }
}

/* ---- the walk --------------------------------------------------------------------------------- */

static void walk_list(walk *w, const kernel_stmt *s);
static void walk_expr(walk *w, const kernel_expr *e);

static void walk_call(walk *w, const kernel_expr *e)
{
    const frame *back = w->at;
    const uint64_t gone = w->gone;
    frame inner = {print_function_of(w->p, e->as.function), e, back};
    if (w->depth >= CALLS_MOST)
        return;
    for (uint32_t i = 0; i < e->n_args; i++) {
        const kernel_var *v = inner.f->f->params[i], *root = NULL;
        const linear value = sum_of(w, back, e->args[i], &root);
        if (v->assigned)
            assign_to(w, v, false, &value, root);
    }
    w->depth++;
    w->at = &inner;
    walk_list(w, inner.f->f->body);
    w->at = back;
    w->gone = gone;
    w->depth--;
}

static bool is_scaling(const kernel_expr *e)
{
    const kernel_expr *by = e;
    if (e->kind == EXPR_ASSIGN) {
        by = e->b;
        while (by->kind == EXPR_CAST)
            by = by->a;
        if (by->kind != EXPR_BINARY)
            return false;
    }
    return by->op == OP_SHR || by->op == OP_SHL || by->op == OP_DIV || by->op == OP_MUL;
}

static void walk_expr(walk *w, const kernel_expr *e)
{
    if (!e || w->found || ++w->steps > STEPS_MOST)
        return;
    const bool writes = e->kind == EXPR_ASSIGN || e->kind == EXPR_UPDATE;
    if (e->kind == EXPR_VAR)
        return;
    if (writes)
        walk_expr(w, e->b);
    walk_expr(w, e->a);
    const int guards = w->n_guards;
    const uint32_t since = w->serial;
    if (!writes && (e->kind == EXPR_AND || e->kind == EXPR_CHOOSE || e->kind == EXPR_OR)) {
        if (w->n_guards < GUARDS_MOST)
            w->guards[w->n_guards++] =
                e->kind == EXPR_OR ? otherwise(w, e->a) : threads_of(w, e->a);
        walk_expr(w, e->b);
        if (e->c)
            w->guards[w->n_guards - 1] = otherwise(w, e->a);
    } else if (!writes) {
        walk_expr(w, e->b);
    }
    walk_expr(w, e->c);
    if (w->n_guards > guards)
        forget(w, since);
    w->n_guards = guards;
    for (uint32_t i = 0; i < e->n_args; i++)
        walk_expr(w, e->args[i]);
    if (e->kind == EXPR_LOAD || e->kind == EXPR_UPDATE)
        access_at(w, e->a, LOADS);
    if (writes && e->a->kind == EXPR_VAR && e->a->as.var->storage <= STORE_LOCAL) {
        const kernel_var *root = NULL;
        const linear value = value_after(w, e, &root);
        assign_to(w, e->a->as.var, is_scaling(e), &value, root);
    } else if (writes)
        access_at(w, e->a, STORES);
    if (e->kind == EXPR_CALL)
        walk_call(w, e);
    if (e->kind == EXPR_BUILTIN) {
        const int class = kernel_builtin_rows[e->builtin].class;
        if (class == CLASS_BARRIER || class == CLASS_WARP)
            w->n_accesses[LOADS] = w->n_accesses[STORES] = 0;
    }
}

/* Walks statements under one more condition. */
static void walk_under(walk *w, const kernel_stmt *s, range guard)
{
    const uint32_t since = w->serial;
    if (w->n_guards == GUARDS_MOST)
        return;
    w->guards[w->n_guards++] = guard;
    walk_list(w, s);
    w->n_guards--;
    forget(w, since);
}

/* True if threads may leave a loop, or an iteration, in its middle. */
static bool has_jump(const kernel_stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE || s->kind == STMT_RETURN ||
            has_jump(s->body) || has_jump(s->otherwise))
            return true;
    return false;
}

/* A loop whose condition is not known for each thread. */
static void walk_twice(walk *w, const kernel_stmt *s)
{
    const bool certain = !has_jump(s->body) && (!s->value || !varies(w, s->value));
    const range all = all_threads(false);
    for (int round = 0; round < 2 && !w->found; round++) {
        const uint32_t since = w->serial;
        if (!s->post || round)
            walk_expr(w, s->value);
        if (w->n_guards == GUARDS_MOST)
            return;
        w->guards[w->n_guards] = s->value && !s->post ? threads_of(w, s->value) : all;
        w->n_guards++;
        walk_list(w, s->body);
        w->n_guards--;
        walk_expr(w, s->step);
        if (!certain)
            forget(w, since);
    }
}

static void walk_loop(walk *w, const kernel_stmt *s)
{
    const uint32_t since = w->serial;
    bool known = s->value && !has_jump(s->body), done = false;
    for (int round = 0; known && !done && round < ROUNDS_MOST && !w->found; round++) {
        const kernel_var *none = NULL;
        range in = all_threads(true);
        if (!s->post || round) {
            const linear c = sum_of(w, w->at, s->value, &none);
            known = c.known && !c.n;
            for (int t = 0; t < THREADS && known; t++)
                in.who = c.at[t] ? in.who | (uint64_t)1 << t : in.who & ~((uint64_t)1 << t);
            done = known && !in.who;
            if (!known || done)
                break;
            in.known = in.exact = true;
            walk_expr(w, s->value);
        }
        if (w->n_guards == GUARDS_MOST)
            return;
        w->guards[w->n_guards++] = in;
        walk_list(w, s->body);
        w->n_guards--;
        walk_expr(w, s->step);
    }
    if (!known)
        walk_twice(w, s);
    forget(w, since);
}

static void walk_list(walk *w, const kernel_stmt *s)
{
    for (; s && !w->found; s = s->next) {
        if (s->kind == STMT_LOOP) {
            walk_loop(w, s);
            continue;
        }
        walk_expr(w, s->value);
        const range here = who(w);
        if (s->kind == STMT_RETURN && here.known && here.exact)
            w->gone |= here.who;
        if (s->kind == STMT_DECLARE) {
            const kernel_var *root = NULL;
            const bool scalar = s->value && s->value->kind != EXPR_LIST;
            const linear value = scalar ? sum_of(w, w->at, s->value, &root) : (linear){0};
            assign_to(w, s->var, false, &value, root);
        }
        const bool choice = s->kind == STMT_IF || s->kind == STMT_SWITCH;
        const range other = choice ? otherwise(w, s->value) : all_threads(true);
        const range some = {!choice || !varies(w, s->value), false, UINT64_MAX};
        walk_under(w, s->body, s->kind == STMT_IF ? threads_of(w, s->value) : some);
        walk_under(w, s->otherwise, other);
    }
}

void print_lockstep_check(printer *p)
{
    print_function *kernel = p->functions;
    while (kernel->next)
        kernel = kernel->next;
    walk *w = kernel_arena_new(p->arena, sizeof *w);
    const frame at = {kernel, NULL, NULL};
    w->p = p;
    w->at = &at;
    walk_list(w, kernel->f->body);
}
