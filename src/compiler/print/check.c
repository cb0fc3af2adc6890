/* Finds everything that the target cannot do, before printing, and reports each with its place. */
#include <stdarg.h>
#include <stdio.h>

#include "compiler/print/parts.h"

void print_refuse(printer *p, kernel_place place, const char *code, const char *why,
                  const char *remedy, const char *format, ...)
{
    va_list args;
    char message[512];
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    diag_error(&p->diags, place, code, "%s", message);
    if (why)
        diag_why(&p->diags, "%s", why);
    if (remedy)
        diag_do(&p->diags, "%s", remedy);
}

/* ---- the walk --------------------------------------------------------------------------------- */

void print_walk_expr(printer *p, const kernel_expr *e, print_visit *visit, void *context)
{
    if (!e)
        return;
    visit(p, e, context);
    if (e->kind == EXPR_VAR)
        return;
    print_walk_expr(p, e->a, visit, context);
    print_walk_expr(p, e->b, visit, context);
    print_walk_expr(p, e->c, visit, context);
    for (uint32_t i = 0; i < e->n_args; i++)
        print_walk_expr(p, e->args[i], visit, context);
}

void print_walk(printer *p, const kernel_stmt *s, print_visit *visit, void *context)
{
    for (; s; s = s->next) {
        print_walk_expr(p, s->value, visit, context);
        print_walk_expr(p, s->step, visit, context);
        print_walk(p, s->body, visit, context);
        print_walk(p, s->otherwise, visit, context);
    }
}

/* ---- features --------------------------------------------------------------------------------- */

/* Features that no target language supports. */
static const struct {
    uint8_t feature;
    const char *remedy;
} never[] = {
    {FEATURE_CDP, "launch the other kernel from the host"},
    {FEATURE_GRIDSYNC, "split the kernel into two launches there"},
    {FEATURE_SHARED_ADDRESS, "use pointers to shared memory"},
    {FEATURE_RECURSION, "write it as a loop"},
    {FEATURE_NEW, "pass memory in from the host"},
    {FEATURE_CONDITION, "decide on the host, or run it with '--device cpu'"},
    {FEATURE_GENERIC, "use two variables, one for each kind of memory"},
    {FEATURE_A16, "use 32-bit values"},
};

static void refuse_use(printer *p, kernel_feature feature, const char *remedy)
{
    const kernel_use *use = &p->entry->uses[feature];
    const kernel_feature_row *row = &kernel_feature_rows[feature];
    if (use->place)
        print_refuse(p, use->place, row->code, NULL, remedy, "'%s' uses %s, which %s does not have",
                     p->entry->name, row->text, p->target->device);
}

static void check_features(printer *p)
{
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        refuse_use(p, never[i].feature, never[i].remedy);
    if (!p->target->texels)
        refuse_use(p, FEATURE_TEXTURE, "read the data through a pointer, or run it as a program");
    if (!p->target->atomics_i64)
        refuse_use(p, FEATURE_A64, "use 32-bit counters, or run it with '--device cpu'");
    if (!p->target->f64 || !p->target->atomics_i64)
        refuse_use(p, FEATURE_AF64, "use float, or run it with '--device cpu'");
    if (p->target->subgroup != 32 || !p->target->shuffles) {
        const kernel_use *use = &p->entry->uses[FEATURE_WARP];
        if (use->place)
            print_refuse(p, use->place, "IG-WARP",
                         p->target->subgroup && p->target->subgroup != 32
                             ? print_format(p, "the device runs %d threads in lock step, not 32",
                                            p->target->subgroup)
                             : "the device does not report that 32 threads run in lock step",
                         "use shared memory and __syncthreads, or run it with '--device cpu'",
                         "'%s' uses warp functions, which %s does not have", p->entry->name,
                         p->target->device);
    }
}

/* ---- types ------------------------------------------------------------------------------------ */

static bool has_kind(const kernel_type *t, type_kind kind, bool through)
{
    while (t->kind == TYPE_ARRAY || (through && t->kind == TYPE_POINTER && kind != TYPE_POINTER))
        t = t->of;
    if (t->kind == TYPE_STRUCT)
        for (uint32_t i = 0; i < t->record->n_members; i++)
            if (has_kind(t->record->members[i].type, kind, false))
                return true;
    return (type_kind)t->kind == kind;
}

static void refuse_double(printer *p, kernel_place place, const char *what)
{
    if (p->refused_double)
        return;
    p->refused_double = true;
    print_refuse(p, place, "IG-F64", NULL, "use float there, or run it with '--device cpu'",
                 "'%s' uses double%s, which %s does not have", p->entry->name, what,
                 p->target->device);
}

static void refuse_pointer(printer *p, kernel_place place, const char *what)
{
    print_refuse(p, place, "IG-PTRMEM", "a pointer in memory is an address of the host",
                 "pass each pointer as a parameter of the kernel, or run it with '--device cpu'",
                 "'%s' keeps pointers in memory%s, which %s cannot follow", p->entry->name, what,
                 p->target->device);
}

static void check_params(printer *p)
{
    const kernel_function *f = p->entry->function;
    for (uint32_t i = 0; i < f->n_params; i++) {
        const kernel_type *t = f->params[i]->type;
        const kernel_type *inner = t->kind == TYPE_POINTER ? t->of : t;
        if (has_kind(inner, TYPE_POINTER, false))
            refuse_pointer(p, f->params[i]->place,
                           print_format(p, " (in '%s')", f->params[i]->name));
        if (!p->target->f64 && has_kind(t, TYPE_F64, true))
            refuse_double(p, f->params[i]->place, print_format(p, " for '%s'", f->params[i]->name));
    }
}

/* ---- expressions ------------------------------------------------------------------------------ */

static void check_expr(printer *p, const kernel_expr *e, void *context)
{
    (void)context;
    const bool in_memory =
        e->space == SPACE_GLOBAL || e->space == SPACE_CONSTANT || e->space == SPACE_SHARED;
    const bool place = e->kind <= EXPR_MEMBER;
    if (e->kind == EXPR_LOAD && has_kind(e->type, TYPE_POINTER, false) &&
        e->a->space != SPACE_LOCAL && e->a->space != SPACE_UNSET)
        refuse_pointer(p, e->place, "");
    if (place && in_memory && e->space == SPACE_SHARED && (e->type->quals & TYPE_VOLATILE) &&
        p->target->subgroup != 32 && !p->refused_volatile) {
        p->refused_volatile = true;
        print_refuse(p, e->place, "IG-WARP",
                     "volatile shared memory is a way to rely on warps of 32 threads",
                     "use __syncthreads, or run it with '--device cpu'",
                     "'%s' relies on warps in lock step, which %s does not have", p->entry->name,
                     p->target->device);
    }
    if (expr_has_class(e, CLASS_ATOMIC) && e->args[0]->space == SPACE_LOCAL)
        print_refuse(p, e->place, "IG-AS", NULL,
                     "a variable of one thread needs no atomic operation",
                     "an atomic operation on a variable of one thread");
    if (p->target->f64 || e->type->kind != TYPE_F64)
        return;
    if (!e->soft && !(e->kind == EXPR_CONST))
        refuse_double(p, e->place, "");
    else if (e->kind == EXPR_BINARY || e->kind == EXPR_UPDATE || e->kind == EXPR_BUILTIN) {
        if (!p->warned_soft)
            diag_warning(
                &p->diags, e->place, "IG-F64",
                "double literals in float arithmetic: computed in float, since %s has no double",
                p->target->device);
        p->warned_soft = true;
    }
}

/* ---- loops that wait for another block ---------------------------------------------------------- */

typedef struct waiting {
    const kernel_stmt *loop;
    const kernel_var *var;    /* is it assigned in the loop? */
    bool assigned, writes;    /* memory of other threads */
    const kernel_expr *reads; /* a value of memory that other blocks or threads may change */
} waiting;

/* True for an atomic operation that leaves the value as it is: atomicAdd(p, 0), atomicCAS(p, x, x). */
static bool only_reads(const kernel_expr *e)
{
    const kernel_expr *last = e->args[e->n_args - 1];
    if (last->kind != EXPR_CONST || !type_is_integer(last->type))
        return false;
    if (e->builtin == BUILTIN_ATOMIC_CAS)
        return e->args[1]->kind == EXPR_CONST && e->args[1]->value.integer == last->value.integer;
    return !last->value.integer &&
           (e->builtin == BUILTIN_ATOMIC_ADD || e->builtin == BUILTIN_ATOMIC_SUB ||
            e->builtin == BUILTIN_ATOMIC_OR);
}

static void note_effect(printer *p, const kernel_expr *e, void *context)
{
    (void)p;
    waiting *w = context;
    const bool sets = e->kind == EXPR_ASSIGN || e->kind == EXPR_UPDATE;
    if (sets && e->a->kind == EXPR_VAR)
        w->assigned |= e->a->as.var == w->var;
    if ((sets && e->a->space != SPACE_LOCAL) || e->kind == EXPR_CALL ||
        expr_has_class(e, CLASS_BARRIER) || (expr_has_class(e, CLASS_ATOMIC) && !only_reads(e)))
        w->writes = true;
}

static void note_moves(printer *p, const kernel_expr *e, void *context)
{
    waiting *w = context, inner = {.var = e->kind == EXPR_VAR ? e->as.var : NULL};
    if (inner.var)
        print_walk(p, w->loop, note_effect, &inner);
    w->assigned |= inner.assigned;
}

static void note_read(printer *p, const kernel_expr *e, void *context)
{
    waiting *w = context;
    const bool atomic = expr_has_class(e, CLASS_ATOMIC) && only_reads(e);
    const kernel_expr *from = atomic ? e->args[0] : e->kind == EXPR_LOAD ? e->a : NULL;
    if (!from || w->reads ||
        (from->space != SPACE_GLOBAL &&
         (from->space != SPACE_SHARED || p->target->subgroup == 32)) ||
        !(atomic || (from->type->quals & TYPE_VOLATILE)))
        return;
    waiting moves = {.loop = w->loop};
    print_walk_expr(p, from, note_moves, &moves);
    if (!moves.assigned)
        w->reads = e;
}

/* A read whose value the loop assigns to the variable that its condition uses. */
static void note_assigned(printer *p, const kernel_expr *e, void *context)
{
    waiting *w = context;
    if (e->kind == EXPR_ASSIGN && e->a->kind == EXPR_VAR && e->a->as.var == w->var)
        print_walk_expr(p, e->b, note_read, w);
}

static void note_declared(printer *p, const kernel_stmt *s, waiting *w)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_DECLARE && s->var == w->var && s->value)
            print_walk_expr(p, s->value, note_read, w);
        note_declared(p, s->body, w);
        note_declared(p, s->otherwise, w);
    }
}

static void note_variable(printer *p, const kernel_expr *e, void *context)
{
    waiting *w = context;
    w->var = e->kind == EXPR_VAR && e->as.var->storage == STORE_LOCAL ? e->as.var : NULL;
    if (!w->var)
        return;
    print_walk(p, w->loop, note_assigned, w);
    note_declared(p, w->loop->body, w);
}

static void note_condition(printer *p, const kernel_expr *e, waiting *w)
{
    print_walk_expr(p, e, note_read, w);
    print_walk_expr(p, e, note_variable, w);
}

/* Conditions that leave the loop. */
static void find_exits(printer *p, const kernel_stmt *s, waiting *w)
{
    for (; s; s = s->next)
        if (s->kind == STMT_IF && s->body && s->body->kind == STMT_BREAK)
            note_condition(p, s->value, w);
}

/* The memory that a read or an atomic operation reads. */
static int place_space(const kernel_expr *read)
{
    return read->kind == EXPR_LOAD ? read->a->space : read->args[0]->space;
}

static void check_waits(printer *p, const kernel_stmt *s)
{
    for (; s; s = s->next) {
        check_waits(p, s->body);
        check_waits(p, s->otherwise);
        if (s->kind != STMT_LOOP)
            continue;
        kernel_stmt alone = *s;
        alone.next = NULL;
        waiting w = {.loop = &alone};
        print_walk(p, &alone, note_effect, &w);
        if (w.writes)
            continue;
        note_condition(p, s->value, &w);
        find_exits(p, s->body, &w);
        if (w.reads && place_space(w.reads) == SPACE_SHARED)
            print_refuse(p, w.reads->place, "IG-WAIT",
                         "the other threads may run only after this one, so the loop may not end",
                         "use __syncthreads there, or run it with '--device cpu'",
                         "'%s' waits in a loop for another thread of its block, which %s may not "
                         "run at the same time",
                         p->entry->name, p->target->device);
        else if (w.reads)
            print_refuse(
                p, w.reads->place, "IG-WAIT",
                "a block may start only after another one has ended, so the loop may not end",
                "split the kernel into two launches there, or run it with '--device cpu'",
                "'%s' waits in a loop for another block, which %s may not run at the same "
                "time",
                p->entry->name, p->target->device);
    }
}

static void check_locals(printer *p, const kernel_function *f)
{
    for (const kernel_var *v = f->locals; v && !p->target->f64; v = v->next)
        if (has_kind(v->type, TYPE_F64, true))
            refuse_double(p, v->place, print_format(p, " for '%s'", v->name));
}

static void check_limits(printer *p)
{
    const kernel_entry *e = p->entry;
    const kernel_target *t = p->target;
    if (t->shared_bytes && e->shared_bytes > t->shared_bytes)
        print_refuse(p, e->function->place, "IG-SMEM", NULL, "use smaller tiles",
                     "'%s' needs %llu bytes of shared memory, but %s has %llu", e->name,
                     (unsigned long long)e->shared_bytes, t->device,
                     (unsigned long long)t->shared_bytes);
    if (t->buffers && p->printed->n_params > t->buffers)
        print_refuse(p, e->function->place, "IG-ARGS", NULL,
                     "put values together in a struct, or several arrays into one",
                     "'%s' has %d parameters with the hidden ones, but %s has room for %d", e->name,
                     p->printed->n_params, t->device, t->buffers);
}

void print_check(printer *p)
{
    if (is_cuda(p)) {
        const kernel_use *use = &p->entry->uses[FEATURE_WMMA];
        if (use->place)
            print_refuse(p, use->place, "IG-CUDA", "a fragment is more than its elements",
                         "use the source as it is", "'%s' has wmma fragments", p->entry->name);
    } else {
        check_features(p);
        check_params(p);
        for (const print_function *f = p->functions; f; f = f->next) {
            check_locals(p, f->f);
            print_walk(p, f->f->body, check_expr, NULL);
            check_waits(p, f->f->body);
        }
        print_wmma_check(p);
        check_limits(p);
    }
    if (p->diags.n_errors)
        print_stop(p);
}
