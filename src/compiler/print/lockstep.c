/* Code that relies on warps in lock step: threads that exchange values through memory without a barrier.
 *
 *     s[t] += s[t + 8];  s[t] += s[t + 4];
 *
 * gives the sum only if all lanes do the first statement before any of them does the second. A device that
 * does not run 32 threads in lock step computes something else, silently, so this is refused. What is found:
 * a store to p[i] and a later load from p[j] with no barrier on the way, where i and j are sums with
 * threadIdx.x in them and either
 * - j - i is a number below 32, and the conditions around them let a thread load what another one stored;
 * - j - i is a variable that is halved or doubled in a loop around them: a tree of steps; or
 * - both are volatile, and i and j are not the same.
 * Indices and conditions that are not sums are skipped: nothing is refused on suspicion. Calls are
 * followed, loops are walked through twice. */
#include <string.h>

#include "compiler/print/parts.h"

enum {
    TERMS = 8,
    STORES_MOST = 256,
    VARS_MOST = 256,
    CALLS_MOST = 16,
    GUARDS_MOST = 32,
    STEPS_MOST = 200000,
    WARP = 32
};

/* The call that a function is walked through by: its parameters are the caller's arguments. */
typedef struct frame {
    print_function *f;
    const kernel_expr *call;
    const struct frame *caller;
} frame;

/* Something with one value at one point of the walk: a variable, where each assignment begins a new
 * version; an expression that is not a sum, of one call; threadIdx.x. */
typedef struct term {
    const void *of;
    int64_t version, factor;
} term;

/* A sum of terms, in bytes if it is an address. */
typedef struct linear {
    bool known;
    int n;
    term terms[TERMS];
    int64_t constant;
} linear;

/* Threads lo <= i < hi come here, if it is known. */
typedef struct range {
    bool known;
    int64_t lo, hi;
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
    bool scaled; /* it was halved or doubled */
} version;

typedef struct walk {
    printer *p;
    const frame *at;
    access stores[STORES_MOST];
    int n_stores;
    version versions[VARS_MOST];
    int n_versions;
    range guards[GUARDS_MOST];
    int n_guards;
    int depth;
    uint32_t steps;
    bool found;
} walk;

static const char thread_x[] = "threadIdx.x"; /* the term of threadIdx.x */

/* ---- sums ------------------------------------------------------------------------------------- */

static linear of_constant(int64_t x) { return (linear){.known = true, .constant = x}; }

static linear of_term(const void *of, int64_t v)
{
    return (linear){.known = true, .n = 1, .terms = {{of, v, 1}}};
}

static linear add(linear a, const linear *b, int64_t factor)
{
    a.known = a.known && b->known;
    a.constant += factor * b->constant;
    for (int i = 0; i < b->n && a.known; i++) {
        const term *t = &b->terms[i];
        int k = 0;
        while (k < a.n && (a.terms[k].of != t->of || a.terms[k].version != t->version))
            k++;
        if (k == TERMS)
            return (linear){0};
        if (k == a.n)
            a.terms[a.n++] = (term){t->of, t->version, 0};
        a.terms[k].factor += factor * t->factor;
        if (!a.terms[k].factor)
            a.terms[k] = a.terms[--a.n];
    }
    return a;
}

static linear scaled(const linear *a, int64_t factor)
{
    if (factor > INT32_MAX || factor < INT32_MIN)
        return (linear){0};
    return add(of_constant(0), a, factor);
}

static int64_t factor_of(const linear *a, const void *of)
{
    for (int i = 0; i < a->n; i++)
        if (a->terms[i].of == of)
            return a->terms[i].factor;
    return 0;
}

/* ---- expressions ------------------------------------------------------------------------------ */

static version *version_of(walk *w, const kernel_var *v)
{
    for (int i = 0; i < w->n_versions; i++)
        if (w->versions[i].var == v)
            return &w->versions[i];
    if (w->n_versions == VARS_MOST)
        return NULL;
    w->versions[w->n_versions] = (version){v, 0, false};
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

/* "x & 31", "x % 32" of something with threadIdx.x: the lane, which goes up as threadIdx.x does. */
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
    if (type_is_pointer(v->type)) {
        if (v->assigned)
            return (linear){0};
        if (v->storage == STORE_PARAMETER) {
            *root = v;
            return of_constant(0);
        }
    }
    const kernel_stmt *d =
        v->storage == STORE_LOCAL && !v->assigned ? declaration_of(at->f->f->body, v) : NULL;
    if (d && d->value) {
        w->p->at = at->f;
        if (is_lane(w->p, d->value))
            return of_term(thread_x, 0);
        const linear known = sum_of(w, at, d->value, root);
        if (known.known || type_is_pointer(v->type))
            return known;
    }
    const version *known = version_of(w, v);
    return known && !v->addressed ? of_term(v, known->version) : (linear){0};
}

static linear product_of(walk *w, const frame *at, const kernel_expr *e)
{
    const kernel_var *none = NULL;
    const linear a = sum_of(w, at, e->a, &none), b = sum_of(w, at, e->b, &none);
    if (a.known && b.known && !b.n)
        return e->op == OP_SHL
                   ? (b.constant >= 0 && b.constant < 31 ? scaled(&a, (int64_t)1 << b.constant)
                                                         : (linear){0})
                   : scaled(&a, b.constant);
    if (a.known && b.known && !a.n && e->op == OP_MUL)
        return scaled(&b, a.constant);
    return (linear){0};
}

/* It has the same value throughout the kernel, and threadIdx.x is not in it. */
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
        return d && d->value && is_fixed(w, at, d->value);
    }
    default: return false;
    }
}

static linear sum_inside(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root);

/* An integer, or a pointer and *root, the array that it points into. */
static linear sum_of(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root)
{
    const linear sum = sum_inside(w, at, e, root);
    if (!sum.known && type_is_integer(e->type) && is_fixed(w, at, e))
        return of_term(e, (int64_t)(intptr_t)at->call);
    return sum;
}

static linear sum_inside(walk *w, const frame *at, const kernel_expr *e, const kernel_var **root)
{
    if (++w->steps > STEPS_MOST)
        return (linear){0};
    switch (e->kind) {
    case EXPR_CONST:
        return type_is_integer(e->type) ? of_constant((int64_t)e->value.integer) : (linear){0};
    case EXPR_INDEX:
        return e->base == INDEX_THREAD && e->axis == 0
                   ? of_term(thread_x, 0)
                   : of_term(&print_index_names[e->base], e->axis);
    case EXPR_CAST:
        if ((type_is_integer(e->type) && type_is_integer(e->a->type) && e->type->size >= 4) ||
            (type_is_pointer(e->type) && type_is_pointer(e->a->type)))
            return sum_of(w, at, e->a, root);
        return (linear){0};
    case EXPR_LOAD:
        return e->a->kind == EXPR_VAR ? value_of(w, at, e->a->as.var, root) : (linear){0};
    case EXPR_DECAY:
    case EXPR_ADDRESS:
        if (e->a->kind == EXPR_VAR && e->a->as.var->storage > STORE_LOCAL) {
            *root = e->a->as.var;
            return of_constant(0);
        }
        return e->a->kind == EXPR_DEREF ? sum_of(w, at, e->a->a, root) : (linear){0};
    case EXPR_BINARY: {
        if (e->op == OP_MUL || e->op == OP_SHL)
            return product_of(w, at, e);
        if (e->op != OP_ADD && e->op != OP_SUB && e->op != OP_OFFSET)
            return (linear){0};
        const kernel_var *none = NULL;
        const linear a = sum_of(w, at, e->a, root), b = sum_of(w, at, e->b, &none);
        const int64_t size = e->op == OP_OFFSET ? (int64_t)e->type->of->size : 1;
        return add(a, &b, e->op == OP_SUB ? -1 : size);
    }
    default: return (linear){0};
    }
}

/* ---- conditions ------------------------------------------------------------------------------- */

static range all_threads(void) { return (range){true, 0, INT32_MAX}; }

static range both(range a, range b)
{
    return (range){a.known && b.known, a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

static bool varies(walk *w, const kernel_expr *e)
{
    w->p->at = w->at->f;
    return print_varies(w->p, e);
}

/* The threads for which a condition holds, if it is a bound of threadIdx.x; all of them if it is the
 * same for all. */
static range threads_of(walk *w, const kernel_expr *e)
{
    if (!varies(w, e))
        return all_threads();
    if (e->kind == EXPR_AND)
        return both(threads_of(w, e->a), threads_of(w, e->b));
    if (e->kind != EXPR_BINARY || e->op < OP_LT || e->op > OP_GE)
        return (range){0};
    const kernel_var *none = NULL;
    const linear a = sum_of(w, w->at, e->a, &none), b = sum_of(w, w->at, e->b, &none);
    linear d = add(b, &a, -1); /* b - a */
    const int64_t x = factor_of(&d, thread_x);
    if (!d.known || (x != 1 && x != -1))
        return (range){0};
    if (d.n > 1) /* a bound that is not a number */
        return all_threads();
    /* thread OP limit */
    const int64_t limit = x < 0 ? d.constant : -d.constant;
    const bool less = (e->op == OP_LT || e->op == OP_LE) == (x < 0);
    const bool equal = e->op == OP_LE || e->op == OP_GE;
    return less ? (range){true, 0, limit + equal} : (range){true, limit + !equal, INT32_MAX};
}

static range who(const walk *w)
{
    range r = all_threads();
    for (int i = 0; i < w->n_guards; i++)
        r = both(r, w->guards[i]);
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

/* A variable of the difference that is halved or doubled on the way. */
static bool is_tree(walk *w, const linear *d)
{
    if (d->n != 1 || d->constant)
        return false;
    for (int i = 0; i < w->n_versions; i++)
        if (w->versions[i].var == d->terms[0].of)
            return w->versions[i].scaled && w->versions[i].version > 0;
    return false;
}

static void compare(walk *w, const access *load)
{
    for (int i = 0; i < w->n_stores && !w->found; i++) {
        const access *store = &w->stores[i];
        const int64_t size = load->bytes;
        if (store->root != load->root || store->bytes != load->bytes || !size)
            continue;
        const linear d = add(load->at, &store->at, -1);
        if (!d.known || (!d.n && !d.constant))
            continue;
        const int64_t own = factor_of(&load->at, thread_x);
        if (!own)
            continue;
        if (store->is_volatile && load->is_volatile && factor_of(&store->at, thread_x)) {
            refuse(w, load, store);
            continue;
        }
        if (own != size || factor_of(&store->at, thread_x) != size || !store->who.known ||
            !load->who.known)
            continue;
        const linear steps = d.n == 1 && d.terms[0].factor % size == 0
                                 ? (linear){true, 1, {d.terms[0]}, d.constant}
                                 : d;
        const int64_t far = d.constant / size;
        const bool near = !d.n && d.constant % size == 0 && far > -WARP && far < WARP;
        const int64_t lo = load->who.lo + far, hi = load->who.hi + far;
        const bool meet = lo < store->who.hi && hi > store->who.lo;
        if ((near && meet) || is_tree(w, &steps))
            refuse(w, load, store);
    }
}

static bool access_of(walk *w, const kernel_expr *place, access *out)
{
    const uint8_t space = place->space;
    if (place->kind != EXPR_DEREF || (space != SPACE_SHARED && space != SPACE_GLOBAL))
        return false;
    *out = (access){.bytes = (uint32_t)place->type->size,
                    .is_volatile = place->type->quals & TYPE_VOLATILE,
                    .place = place->place,
                    .who = who(w)};
    out->at = sum_of(w, w->at, place->a, &out->root);
    return out->root && out->at.known;
}

static void load_at(walk *w, const kernel_expr *place)
{
    access a;
    if (access_of(w, place, &a))
        compare(w, &a);
}

static void store_at(walk *w, const kernel_expr *place)
{
    if (w->n_stores < STORES_MOST && access_of(w, place, &w->stores[w->n_stores]))
        w->n_stores++;
}

static void assign_to(walk *w, const kernel_var *v, bool scales)
{
    version *known = version_of(w, v);
    if (known) {
        known->version++;
        known->scaled = known->scaled || scales;
    }
}

/* ---- the walk --------------------------------------------------------------------------------- */

static void walk_list(walk *w, const kernel_stmt *s);
static void walk_expr(walk *w, const kernel_expr *e);

static void walk_call(walk *w, const kernel_expr *e)
{
    const frame *back = w->at;
    frame inner = {print_function_of(w->p, e->as.function), e, back};
    if (w->depth >= CALLS_MOST)
        return;
    w->depth++;
    w->at = &inner;
    walk_list(w, inner.f->f->body);
    w->at = back;
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
    if (!writes && (e->kind == EXPR_AND || e->kind == EXPR_CHOOSE || e->kind == EXPR_OR)) {
        if (w->n_guards < GUARDS_MOST)
            w->guards[w->n_guards++] =
                e->kind == EXPR_OR ? (range){!varies(w, e->a), 0, INT32_MAX} : threads_of(w, e->a);
        walk_expr(w, e->b);
        if (e->c)
            w->guards[w->n_guards - 1] = (range){!varies(w, e->a), 0, INT32_MAX};
    } else if (!writes) {
        walk_expr(w, e->b);
    }
    walk_expr(w, e->c);
    w->n_guards = guards;
    for (uint32_t i = 0; i < e->n_args; i++)
        walk_expr(w, e->args[i]);
    if (e->kind == EXPR_LOAD || e->kind == EXPR_UPDATE)
        load_at(w, e->a);
    if (writes && e->a->kind == EXPR_VAR)
        assign_to(w, e->a->as.var, is_scaling(e));
    else if (writes)
        store_at(w, e->a);
    if (e->kind == EXPR_CALL)
        walk_call(w, e);
    if (e->kind == EXPR_BUILTIN) {
        const int class = kernel_builtin_rows[e->builtin].class;
        if (class == CLASS_BARRIER || class == CLASS_WARP)
            w->n_stores = 0;
    }
}

/* With one more condition around it. */
static void walk_under(walk *w, const kernel_stmt *s, range guard)
{
    if (w->n_guards == GUARDS_MOST)
        return;
    w->guards[w->n_guards++] = guard;
    walk_list(w, s);
    w->n_guards--;
}

static void walk_loop(walk *w, const kernel_stmt *s)
{
    for (int round = 0; round < 2 && !w->found; round++) {
        if (!s->post || round)
            walk_expr(w, s->value);
        walk_under(w, s->body, s->value && !s->post ? threads_of(w, s->value) : all_threads());
        walk_expr(w, s->step);
    }
}

static void walk_list(walk *w, const kernel_stmt *s)
{
    for (; s && !w->found; s = s->next) {
        if (s->kind == STMT_LOOP) {
            walk_loop(w, s);
            continue;
        }
        walk_expr(w, s->value);
        if (s->kind == STMT_DECLARE && s->value)
            assign_to(w, s->var, false);
        const bool choice = s->kind == STMT_IF || s->kind == STMT_SWITCH;
        const range other = {!choice || !varies(w, s->value), 0, INT32_MAX};
        walk_under(w, s->body, s->kind == STMT_IF ? threads_of(w, s->value) : other);
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
