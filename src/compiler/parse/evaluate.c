/* Evaluation at compile time: where a constant is required (the size of an array, the initial value of a
 * __device__ variable), calls of functions and constructors are evaluated by walking their trees for a bounded
 * number of steps. Variables are objects with the bytes that the device would hold; a pointer is an object and
 * an offset in it. */
#include <string.h>

#include "compiler/parse/parser.h"

enum { STEPS_MOST = 1000000, CALLS_MOST = 64 };

typedef enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_UNKNOWN } flow;

typedef struct object {
    uint64_t size;
    uint8_t *bytes;          /* NULL: only its address is known */
    struct object **targets; /* of the pointers in it, by offset / 8; NULL: there are none */
    const kernel_var *var;   /* of a global */
} object;

/* A scalar is n. A pointer is the offset n.integer in `at`, or the address n.integer if `at` is NULL. A struct
 * lies at the offset n.integer of `at`. */
typedef struct value {
    fold_number n;
    object *at;
} value;

/* The variables of a call, and the remaining budget of steps. */
typedef struct frame {
    parser *p;
    object **params, **locals;
    bool outermost; /* the function of the expression: only its temporaries are known */
    uint32_t *steps;
    int depth;
    const kernel_type *type; /* of the result */
    value result;
} frame;

static bool evaluate(frame *f, const kernel_expr *e, value *out);
static bool evaluate_into(frame *f, const kernel_expr *e, const kernel_type *type, value to);
static flow run(frame *f, const kernel_stmt *s);

/* ---- objects ---------------------------------------------------------------------------------- */

static object *object_new(parser *p, const kernel_type *type)
{
    object *o = kernel_arena_new(p->arena, sizeof *o);
    *o = (object){.size = type->size, .bytes = kernel_arena_new(p->arena, type->size + 1)};
    return o;
}

static bool in_bounds(const value *at, uint64_t bytes)
{
    return at->at && at->at->bytes && at->n.integer <= at->at->size &&
           bytes <= at->at->size - at->n.integer;
}

static bool is_constant_type(const kernel_type *t)
{
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    return t->quals & TYPE_CONST;
}

/* A global's bytes are known if nothing can change them. */
static object *global_object(parser *p, const kernel_var *v)
{
    object *o = kernel_arena_new(p->arena, sizeof *o);
    *o = (object){.size = v->type->size, .var = v};
    if (!is_constant_type(v->type))
        return o;
    o->bytes = v->init ? (uint8_t *)v->init : kernel_arena_new(p->arena, o->size + 1);
    for (const kernel_address *a = v->addresses; a; a = a->next) {
        if (!o->targets)
            o->targets = kernel_arena_new(p->arena, (o->size / 8 + 1) * sizeof *o->targets);
        o->targets[a->at / 8] = global_object(p, a->of);
    }
    return o;
}

static object *object_of(frame *f, const kernel_var *v, bool make)
{
    if (v->storage == STORE_GLOBAL || v->storage == STORE_CONSTANT)
        return global_object(f->p, v);
    if (v->storage > STORE_LOCAL || (f->outermost && !v->is_temporary))
        return NULL;
    object **list = v->storage == STORE_PARAMETER ? f->params : f->locals;
    if (!list)
        return NULL;
    if (!list[v->index] && make)
        list[v->index] = object_new(f->p, v->type);
    return list[v->index];
}

static bool load(frame *f, const kernel_type *type, value from, value *out)
{
    if (!in_bounds(&from, type->size))
        return false;
    if (type->kind == TYPE_STRUCT) { /* a copy: the object may change before the value is used */
        *out = (value){.at = object_new(f->p, type)};
        memcpy(out->at->bytes, from.at->bytes + from.n.integer, type->size);
        if (from.at->targets && from.n.integer % 8 == 0) {
            out->at->targets =
                kernel_arena_new(f->p->arena, (type->size / 8 + 1) * sizeof(object *));
            memcpy(out->at->targets, from.at->targets + from.n.integer / 8,
                   type->size / 8 * sizeof(object *));
        }
        return true;
    }
    *out = (value){.n = bytes_number(type, from.at->bytes + from.n.integer)};
    if (type_is_pointer(type) && from.at->targets)
        out->at = from.at->targets[from.n.integer / 8];
    return type_is_scalar(type);
}

static bool store(frame *f, const kernel_type *type, value to, value from)
{
    if (!in_bounds(&to, type->size) || to.at->var)
        return false;
    uint8_t *bytes = to.at->bytes + to.n.integer;
    object **targets = NULL;
    if (type->kind == TYPE_STRUCT) {
        if (!in_bounds(&from, type->size))
            return false;
        memcpy(bytes, from.at->bytes + from.n.integer, type->size);
        targets = from.at->targets;
    } else if (type_is_scalar(type)) {
        number_bytes(type, from.n, bytes);
        targets = from.at ? &from.at : NULL;
    } else {
        return false;
    }
    const bool points = type->size >= 8 && to.n.integer % 8 == 0;
    if (!to.at->targets && targets && points)
        to.at->targets = kernel_arena_new(f->p->arena, (to.at->size / 8 + 1) * sizeof *targets);
    for (uint64_t i = 0; to.at->targets && points && i < type->size / 8; i++)
        to.at->targets[to.n.integer / 8 + i] = targets ? targets[i] : NULL;
    return true;
}

/* ---- places ----------------------------------------------------------------------------------- */

/* The object and offset of a place. make: a variable may be seen for the first time. */
static bool place_of(frame *f, const kernel_expr *e, bool make, value *out)
{
    *out = (value){0};
    switch (e->kind) {
    case EXPR_VAR: return (out->at = object_of(f, e->as.var, make)) != NULL;
    case EXPR_DEREF: return evaluate(f, e->a, out) && out->at;
    case EXPR_MEMBER:
        if (!(expr_is_place(e->a) ? place_of(f, e->a, make, out) : evaluate(f, e->a, out)))
            return false;
        out->n.integer += e->as.member->offset;
        return !e->as.member->bits;
    default: return false;
    }
}

static bool part_into(frame *f, const kernel_expr *e, const kernel_type *type, value to,
                      uint64_t offset)
{
    to.n.integer += offset;
    return evaluate_into(f, e, type, to);
}

/* The initial value of a bit-field. */
static bool bits_into(frame *f, const kernel_expr *e, const kernel_member *m, value to)
{
    value v;
    if (!evaluate(f, e, &v) || v.at)
        return false;
    for (uint32_t i = 0; i < m->bits; i++) {
        const uint64_t bit = 8 * (to.n.integer + m->offset) + m->bit + i;
        if (v.n.integer >> i & 1)
            to.at->bytes[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
    return true;
}

/* Evaluates an initializer into an object whose bytes are zero. */
static bool evaluate_into(frame *f, const kernel_expr *e, const kernel_type *type, value to)
{
    value v;
    if (e->kind == EXPR_LIST) {
        for (uint32_t i = 0; i < e->n_args; i++) {
            const bool array = type->kind == TYPE_ARRAY;
            if (!array && type->record->members[i].bits) {
                if (!bits_into(f, e->args[i], &type->record->members[i], to))
                    return false;
                continue;
            }
            const kernel_type *part = array ? type->of : type->record->members[i].type;
            if (!part_into(f, e->args[i], part, to,
                           array ? i * part->size : type->record->members[i].offset))
                return false;
        }
        return true;
    }
    return evaluate(f, e, &v) && store(f, type->plain, to, v);
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* The slot for the result of a call, which depends on the arguments only. */
static fold_memo *memo_of(parser *p, const kernel_function *g, const fold_number *args, uint32_t n)
{
    uint64_t hash = (uintptr_t)g;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &args[i].number, sizeof bits);
        hash = (hash ^ args[i].integer ^ bits * 3) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return &p->folded[(hash ^ hash >> 32) % FOLD_MEMOS];
}

static bool call(frame *f, const kernel_expr *e, value *out)
{
    kernel_function *g = e->as.function;
    if (f->depth >= CALLS_MOST)
        return false;
    instance_parse(f->p, g->instance);
    if (!g->instance->parsed || g->failed || e->n_args != g->n_params)
        return false;
    kernel_arena *arena = f->p->arena;
    frame inner = {.p = f->p, .steps = f->steps, .depth = f->depth + 1, .type = e->type};
    inner.params = kernel_arena_new(arena, (e->n_args + 1) * sizeof *inner.params);
    const size_t bytes = (e->n_args + 1) * sizeof(fold_number);
    fold_number *args = kernel_arena_new(arena, bytes);
    bool numbers = type_is_arithmetic(e->type);
    for (uint32_t i = 0; i < e->n_args; i++) {
        value v;
        const kernel_type *type = g->params[i]->type->plain;
        if (!evaluate(f, e->args[i], &v))
            return false;
        args[i] = v.n;
        numbers = numbers && type_is_arithmetic(type);
        inner.params[i] = object_new(f->p, type);
        if (!store(f, type, (value){.at = inner.params[i]}, v))
            return false;
    }
    fold_memo *memo = numbers ? memo_of(f->p, g, args, e->n_args) : NULL;
    if (memo && memo->function == g && memcmp(memo->args, args, bytes) == 0) {
        *out = (value){.n = memo->result};
        return true;
    }
    inner.locals = kernel_arena_new(arena, (g->n_locals + 1) * sizeof *inner.locals);
    const flow end = run(&inner, g->body);
    if (end != FLOW_RETURN && !(end == FLOW_ON && e->type->kind == TYPE_VOID))
        return false;
    *out = inner.result;
    if (memo)
        *memo = (fold_memo){g, args, inner.result.n};
    return true;
}

/* ---- expressions ------------------------------------------------------------------------------ */

static bool update_value(frame *f, const kernel_expr *e, value *out)
{
    const kernel_type *type = e->a->type->plain, *compute = e->as.compute;
    value to, b, old, made = {0};
    if (!evaluate(f, e->b, &b) || !place_of(f, e->a, false, &to) || !load(f, type, to, &old))
        return false;
    if (e->op == OP_OFFSET) {
        made = old;
        made.n.integer += b.n.integer * type->of->size;
    } else if (!fold_cast(type, compute, old.n, &made.n) ||
               !fold_binary(compute, e->op, made.n, b.n, &made.n) ||
               !fold_cast(compute, type, made.n, &made.n)) {
        return false;
    }
    *out = e->post ? old : made;
    return store(f, type, to, made);
}

static bool pointer_value(const kernel_expr *e, value a, value b, value *out)
{
    const uint64_t size = type_is_pointer(e->a->type) ? e->a->type->of->size : 0;
    switch (e->op) {
    case OP_OFFSET:
        *out = a;
        out->n.integer += b.n.integer * size;
        return size != 0;
    case OP_EQ:
    case OP_NE:
        if ((a.at && a.at->var) || (b.at && b.at->var)) /* objects of a global are made anew */
            if (a.at && b.at && a.at->var == b.at->var)
                b.at = a.at;
        out->n.integer = (a.at == b.at && a.n.integer == b.n.integer) == (e->op == OP_EQ);
        return true;
    case OP_DISTANCE:
        out->n.integer =
            size ? (uint64_t)((int64_t)(a.n.integer - b.n.integer) / (int64_t)size) : 0;
        return size && a.at && a.at == b.at;
    default: return a.at && a.at == b.at && fold_binary(e->type, e->op, a.n, b.n, &out->n);
    }
}

static bool binary_value(frame *f, const kernel_expr *e, value *out)
{
    value a, b;
    if (!evaluate(f, e->a, &a) || !evaluate(f, e->b, &b))
        return false;
    if (type_is_pointer(e->a->type))
        return pointer_value(e, a, b, out);
    return fold_binary(e->a->type, e->op, a.n, b.n, &out->n);
}

static bool cast_value(frame *f, const kernel_expr *e, value *out)
{
    value a;
    if (e->type->kind == TYPE_VOID)
        return evaluate(f, e->a, &a);
    if (!evaluate(f, e->a, &a))
        return false;
    if (a.at) {
        *out = a;
        if (e->type->kind == TYPE_BOOL)
            *out = (value){.n.integer = 1};
        return e->type->kind == TYPE_BOOL || type_is_pointer(e->type);
    }
    return fold_cast(e->a->type, e->type, a.n, &out->n);
}

static bool list_value(frame *f, const kernel_expr *e, value *out)
{
    *out = (value){.at = object_new(f->p, e->type)};
    return evaluate_into(f, e, e->type, *out);
}

static bool set_memory(frame *f, const kernel_expr *e, value *out)
{
    value byte, bytes;
    if (!evaluate(f, e->args[0], out) || !evaluate(f, e->args[1], &byte) ||
        !evaluate(f, e->args[2], &bytes) || !in_bounds(out, bytes.n.integer) || out->at->var)
        return false;
    const uint64_t from = out->n.integer, n = bytes.n.integer;
    memset(out->at->bytes + from, (int)byte.n.integer, n);
    for (uint64_t i = from / 8; out->at->targets && n && i <= (from + n - 1) / 8; i++)
        out->at->targets[i] = NULL;
    return true;
}

static bool builtin_of(frame *f, const kernel_expr *e, value *out)
{
    if (e->builtin == BUILTIN_MEMSET)
        return set_memory(f, e, out);
    fold_number args[2] = {{0}};
    for (uint32_t i = 0; i < e->n_args; i++) {
        value v;
        if (i >= 2 || !evaluate(f, e->args[i], &v) || v.at)
            return false;
        args[i] = v.n;
    }
    return fold_builtin(e, args, &out->n);
}

static bool evaluate(frame *f, const kernel_expr *e, value *out)
{
    value a;
    *out = (value){0};
    if (e->kind == EXPR_CONST) {
        out->n = fold_get(e);
        return type_is_scalar(e->type);
    }
    if (++*f->steps > STEPS_MOST)
        return false;
    switch (e->kind) {
    case EXPR_LOAD: return place_of(f, e->a, false, &a) && load(f, e->type, a, out);
    case EXPR_ADDRESS:
    case EXPR_DECAY: return place_of(f, e->a, true, out);
    case EXPR_MEMBER: return place_of(f, e, false, &a) && load(f, e->type->plain, a, out);
    case EXPR_CAST: return cast_value(f, e, out);
    case EXPR_UNARY: return evaluate(f, e->a, &a) && fold_unary(e->type, e->op, a.n, &out->n);
    case EXPR_BINARY: return binary_value(f, e, out);
    case EXPR_AND:
    case EXPR_OR:
        if (!evaluate(f, e->a, &a))
            return false;
        if ((e->kind == EXPR_OR) == (a.n.integer != 0)) {
            *out = a;
            return true;
        }
        return evaluate(f, e->b, out);
    case EXPR_CHOOSE: return evaluate(f, e->a, &a) && evaluate(f, a.n.integer ? e->b : e->c, out);
    case EXPR_COMMA: return evaluate(f, e->a, &a) && evaluate(f, e->b, out);
    case EXPR_ASSIGN:
        return evaluate(f, e->b, out) && place_of(f, e->a, true, &a) &&
               store(f, e->a->type->plain, a, *out);
    case EXPR_UPDATE: return update_value(f, e, out);
    case EXPR_CALL: return call(f, e, out);
    case EXPR_LIST: return list_value(f, e, out);
    case EXPR_BUILTIN: return builtin_of(f, e, out);
    default: return false;
    }
}

/* ---- statements ------------------------------------------------------------------------------- */

static flow loop(frame *f, const kernel_stmt *s)
{
    for (bool first = true;; first = false) {
        value v;
        if (++*f->steps > STEPS_MOST)
            return FLOW_UNKNOWN;
        if (s->value && !(first && s->post)) {
            if (!evaluate(f, s->value, &v))
                return FLOW_UNKNOWN;
            if (!v.n.integer)
                return FLOW_ON;
        }
        const flow then = run(f, s->body);
        if (then == FLOW_BREAK)
            return FLOW_ON;
        if (then >= FLOW_RETURN)
            return then;
        if (s->step && !evaluate(f, s->step, &v))
            return FLOW_UNKNOWN;
    }
}

static flow choose(frame *f, const kernel_stmt *s)
{
    value v;
    const kernel_case *found = NULL;
    if (!evaluate(f, s->value, &v))
        return FLOW_UNKNOWN;
    for (uint32_t i = 0; i < s->n_cases; i++) {
        const kernel_case *c = &s->cases[i];
        if (c->is_default ? !found : c->value == v.n.integer)
            found = c;
    }
    const flow then = found ? run(f, found->from) : FLOW_ON;
    return then == FLOW_BREAK ? FLOW_ON : then;
}

static flow declare(frame *f, const kernel_stmt *s)
{
    object *o = f->locals[s->var->index] = object_new(f->p, s->var->type);
    return !s->value || evaluate_into(f, s->value, s->var->type, (value){.at = o}) ? FLOW_ON
                                                                                   : FLOW_UNKNOWN;
}

static flow run_one(frame *f, const kernel_stmt *s)
{
    value v;
    switch (s->kind) {
    case STMT_EXPR: return evaluate(f, s->value, &v) ? FLOW_ON : FLOW_UNKNOWN;
    case STMT_DECLARE: return declare(f, s);
    case STMT_BLOCK: return run(f, s->body);
    case STMT_IF:
        if (!evaluate(f, s->value, &v))
            return FLOW_UNKNOWN;
        return run(f, v.n.integer ? s->body : s->otherwise);
    case STMT_LOOP: return loop(f, s);
    case STMT_SWITCH: return choose(f, s);
    case STMT_BREAK: return FLOW_BREAK;
    case STMT_CONTINUE: return FLOW_CONTINUE;
    case STMT_RETURN:
        return !s->value || evaluate(f, s->value, &f->result) ? FLOW_RETURN : FLOW_UNKNOWN;
    default: return FLOW_UNKNOWN;
    }
}

static flow run(frame *f, const kernel_stmt *s)
{
    for (; s; s = s->next) {
        const flow then = run_one(f, s);
        if (then != FLOW_ON)
            return then;
    }
    return FLOW_ON;
}

/* ---- results ---------------------------------------------------------------------------------- */

static frame outermost(parser *p, uint32_t *steps)
{
    frame f = {.p = p, .steps = steps, .outermost = true};
    if (p->current)
        f.locals =
            kernel_arena_new(p->arena, (p->current->function->n_locals + 1) * sizeof *f.locals);
    return f;
}

kernel_expr *fold_all(parser *p, kernel_expr *e)
{
    if (e->kind == EXPR_CONST || !type_is_arithmetic(e->type))
        return e;
    uint32_t steps = 0;
    frame f = outermost(p, &steps);
    value v;
    return evaluate(&f, e, &v) ? fold_put(p, e, v.n) : e;
}

/* The pointers of an object as addresses of globals; false if one points to a variable of the evaluation. */
static bool take_addresses(parser *p, const object *o, kernel_var *v)
{
    kernel_address **end = &v->addresses;
    for (uint64_t i = 0; o->targets && i < o->size / 8; i++) {
        const object *to = o->targets[i];
        if (!to)
            continue;
        if (!to->var)
            return false;
        kernel_address *a = kernel_arena_new(p->arena, sizeof *a);
        *a = (kernel_address){.at = i * 8, .of = (kernel_var *)to->var};
        memcpy(&a->offset, o->bytes + i * 8, 8);
        memset(o->bytes + i * 8, 0, 8);
        LIST_ADD(end, a, next);
    }
    return true;
}

bool evaluate_initial(parser *p, kernel_expr *e, kernel_var *v)
{
    const kernel_type *type = v->type, *part = e->type->kind == TYPE_ARRAY ? type : type->plain;
    uint64_t n = 1;
    if (e->type->kind != TYPE_ARRAY) /* a default value: of each element */
        for (; part->kind == TYPE_ARRAY; part = part->of)
            n *= part->count;
    object *o = object_new(p, type);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t steps = 0;
        frame f = outermost(p, &steps);
        const value to = {.n.integer = i * part->size, .at = o};
        if (!evaluate_into(&f, e, part, to))
            return false;
    }
    if (!take_addresses(p, o, v))
        return false;
    v->init = o->bytes;
    return true;
}
