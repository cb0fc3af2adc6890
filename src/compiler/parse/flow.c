/* Functions whose control flow is not structured, as machines: those with goto, and those that call themselves.
 *
 * The body is cut into blocks at the places where control flow enters or leaves. A loop runs them: each block ends by
 * setting the number of the next one, and "if (state == n)" stands before each. They are in the order of the source, so
 * going forward needs no further iteration. A statement that nothing enters or leaves stays as it is.
 *
 * In the machine of a recursive function, which has the blocks of all functions that call each other, a call is a step to
 * the first block of the function, and its return is one to the block after the call. Variables that live in several
 * blocks are members of a frame; a thread has an array of frames. */
#include <stdlib.h>
#include <string.h>

#include "compiler/parse/parser.h"

enum {
    FRAMES = 256,           /* without IG_STACK */
    FRAMES_BYTES = 64 << 10 /* the largest array of frames without IG_STACK */
};

typedef struct block {
    int number;
    stmt_list list;
    const kernel_name *label; /* or NULL */
    kernel_place place;       /* of the label, or of its first goto */
    bool is_placed;
    struct block *next, *next_label; /* next: in the order of the machine */
} block;

/* Where break and continue lead. */
typedef struct targets {
    block *to_break, *to_continue;
} targets;

/* A function of a recursive machine, and what its variables became. */
typedef struct member_function {
    const kernel_function *f;
    block *entry;
    kernel_var **locals;                    /* those that stay variables; by index */
    const kernel_member **params, **framed; /* members of the frame, or NULL; by index */
    kernel_var **arguments;                 /* temporaries of the arguments of a call */
    kernel_var *result;                     /* NULL: void */
    struct member_function *next;
} member_function;

typedef struct machine {
    parser *p;
    kernel_function *f; /* the function that is made */
    kernel_var **locals_end;
    block *first, **end, *now; /* now: NULL after a jump */
    block *labels;             /* by next_label */
    stmt_list declared;        /* variables that live in several blocks */
    int n_blocks;
    kernel_var *state;
    /* Of a recursive machine: */
    member_function *functions, *in; /* in: the function whose body is being cut */
    kernel_struct *frame;
    const kernel_member *back;
    kernel_var *frames, *at;      /* at: the index of the current frame */
    kernel_expr *limit, *message; /* the last frame's index, and the error when it is reached */
    kernel_stmt nowhere;          /* the statement after a jump */
} machine;

/* ---- blocks ------------------------------------------------------------------------------------- */

static kernel_var *variable_new(machine *m, const char *name, const kernel_type *type)
{
    parser *p = m->p;
    kernel_var *v = kernel_arena_new(p->arena, sizeof *v);
    v->source_name = name_of(p, name);
    v->name =
        m->in ? parser_format(p, "ig_%s_%u", name, m->f->n_locals) : name_unique(p, name, false);
    v->type = type->plain;
    v->storage = STORE_LOCAL;
    v->place = m->f->place;
    v->assigned = v->is_temporary = true;
    v->space = type->kind == TYPE_POINTER ? SPACE_GLOBAL : SPACE_UNSET;
    v->index = m->f->n_locals++;
    LIST_ADD(m->locals_end, v, next);
    return v;
}

static block *block_new(machine *m)
{
    block *b = kernel_arena_new(m->p->arena, sizeof *b);
    b->number = m->n_blocks++;
    b->list.end = &b->list.first;
    return b;
}

/* Continues in b. */
static void block_begin(machine *m, block *b)
{
    b->is_placed = true;
    LIST_ADD(m->end, b, next);
    m->now = b;
}

static kernel_stmt *emit(machine *m, stmt_kind kind, kernel_place place)
{
    if (!m->now) {
        m->nowhere = (kernel_stmt){.kind = kind};
        return &m->nowhere;
    }
    return stmt_add(m->p, &m->now->list, kind, place);
}

static kernel_expr *local_place(machine *m, kernel_var *v)
{
    kernel_expr *e = expr_var(m->p, v->place, v);
    e->space = SPACE_LOCAL;
    return e;
}

static kernel_expr *load_of(machine *m, kernel_expr *place, uint8_t space)
{
    kernel_expr *e = expr_node(m->p, EXPR_LOAD, place->place, place->type->plain, place, NULL);
    e->space = space;
    return e;
}

static kernel_expr *integer(machine *m, int64_t x)
{
    return expr_integer(m->p, m->f->place, type_word_of(m->p, WORD_INT), (uint64_t)x);
}

static void emit_assign(machine *m, kernel_expr *to, kernel_expr *value)
{
    kernel_expr *e = expr_node(m->p, EXPR_ASSIGN, value->place, to->type->plain, to, value);
    e->space = value->space;
    emit(m, STMT_EXPR, value->place)->value = e;
}

static void set_state(machine *m, const block *to)
{
    emit_assign(m, local_place(m, m->state), integer(m, to->number));
}

static void go(machine *m, const block *to)
{
    set_state(m, to);
    m->now = NULL;
}

static void branch(machine *m, kernel_expr *condition, const block *yes, const block *no)
{
    block *const from = m->now;
    kernel_stmt *s = emit(m, STMT_IF, condition->place);
    block lists[2] = {{.list.first = NULL}, {.list.first = NULL}};
    const block *const to[2] = {yes, no};
    s->value = condition;
    for (int i = 0; i < 2 && from; i++) {
        lists[i].list.end = &lists[i].list.first;
        m->now = &lists[i];
        set_state(m, to[i]);
    }
    s->body = lists[0].list.first;
    s->otherwise = lists[1].list.first;
    m->now = NULL;
}

static block *label_block(machine *m, const kernel_name *label, kernel_place place)
{
    for (block *b = m->labels; b; b = b->next_label)
        if (b->label == label)
            return b;
    block *b = block_new(m);
    b->label = label;
    b->place = place;
    b->next_label = m->labels;
    m->labels = b;
    return b;
}

/* ---- what has to be cut --------------------------------------------------------------------------- */

static member_function *function_of(const machine *m, const kernel_function *f)
{
    member_function *one = m->functions;
    while (one && one->f != f)
        one = one->next;
    return one;
}

/* True if the expression calls a function of the machine. */
static bool calls(const machine *m, const kernel_expr *e)
{
    if (!e || !m->functions || e->kind == EXPR_VAR)
        return false;
    if (e->kind == EXPR_CALL && function_of(m, e->as.function))
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (calls(m, e->args[i]))
            return true;
    return calls(m, e->a) || calls(m, e->b) || calls(m, e->c);
}

/* True if control flow enters or leaves the list: by a label, goto or recursive call, by the return of a recursive
 * function, or by a break or continue of a loop (or switch) around it. */
static bool is_cut(const machine *m, const kernel_stmt *s, bool breaks, bool continues)
{
    for (; s; s = s->next) {
        const bool loop = s->kind == STMT_LOOP;
        if (s->kind == STMT_GOTO || s->kind == STMT_LABEL || calls(m, s->value) ||
            calls(m, s->step) || (s->kind == STMT_RETURN && m->functions) ||
            (s->kind == STMT_BREAK && breaks) || (s->kind == STMT_CONTINUE && continues) ||
            is_cut(m, s->body, breaks && !loop && s->kind != STMT_SWITCH, continues && !loop) ||
            is_cut(m, s->otherwise, breaks, continues))
            return true;
    }
    return false;
}

static bool one_is_cut(const machine *m, const kernel_stmt *s)
{
    kernel_stmt alone = *s;
    alone.next = NULL;
    return is_cut(m, &alone, true, true);
}

/* ---- variables of a recursive machine --------------------------------------------------------------- */

static kernel_expr *frame_place(machine *m, const kernel_member *member)
{
    parser *p = m->p;
    const kernel_place place = m->f->place;
    const kernel_type *type = m->frame->type;
    kernel_expr *all = expr_node(p, EXPR_DECAY, place, type_pointer(p->types, type),
                                 local_place(m, m->frames), NULL);
    all->space = SPACE_LOCAL;
    kernel_expr *index = expr_node(p, EXPR_CAST, place, type_word_of(p, WORD_LONG),
                                   load_of(m, local_place(m, m->at), SPACE_UNSET), NULL);
    kernel_expr *pointer = expr_node(p, EXPR_BINARY, place, all->type, all, index);
    pointer->op = OP_OFFSET;
    pointer->space = SPACE_LOCAL;
    kernel_expr *object = expr_node(p, EXPR_DEREF, place, type, pointer, NULL);
    object->space = SPACE_LOCAL;
    kernel_expr *e = expr_node(p, EXPR_MEMBER, place, member->type, object, NULL);
    e->as.member = member;
    e->space = SPACE_LOCAL;
    return e;
}

static kernel_expr *copy_expr(machine *m, const kernel_expr *e);

static kernel_expr *copy_place(machine *m, const kernel_expr *e)
{
    kernel_var *v = e->as.var;
    if (v->storage > STORE_LOCAL || !m->in)
        return kernel_arena_copy(m->p->arena, e, sizeof *e);
    const kernel_member *member =
        v->storage == STORE_PARAMETER ? m->in->params[v->index] : m->in->framed[v->index];
    kernel_expr *made = member ? frame_place(m, member) : local_place(m, m->in->locals[v->index]);
    made->type = e->type;
    made->place = e->place;
    return made;
}

static kernel_expr *copy_expr(machine *m, const kernel_expr *e)
{
    if (!e)
        return NULL;
    if (!m->in)
        return (kernel_expr *)e;
    if (e->kind == EXPR_VAR)
        return copy_place(m, e);
    kernel_expr *made = kernel_arena_copy(m->p->arena, e, sizeof *made);
    made->a = copy_expr(m, e->a);
    made->b = copy_expr(m, e->b);
    made->c = copy_expr(m, e->c);
    if (e->n_args) {
        made->args = kernel_arena_get(m->p->arena, e->n_args * sizeof *made->args);
        for (uint32_t i = 0; i < e->n_args; i++)
            made->args[i] = copy_expr(m, e->args[i]);
    }
    return made;
}

static kernel_stmt *copy_list(machine *m, const kernel_stmt *s)
{
    kernel_stmt *first = NULL, **end = &first;
    for (; s; s = s->next) {
        kernel_stmt *made = kernel_arena_copy(m->p->arena, s, sizeof *made);
        made->value = copy_expr(m, s->value);
        made->step = copy_expr(m, s->step);
        if (s->var && m->in && s->var->storage == STORE_LOCAL)
            made->var = m->in->locals[s->var->index];
        made->body = copy_list(m, s->body);
        made->otherwise = copy_list(m, s->otherwise);
        if (s->n_cases) {
            made->cases = kernel_arena_copy(m->p->arena, s->cases, s->n_cases * sizeof *s->cases);
            for (uint32_t i = 0; i < s->n_cases; i++) {
                const kernel_stmt *old = s->body;
                kernel_stmt *now = made->body;
                for (; old && old != s->cases[i].from; old = old->next)
                    now = now->next;
                made->cases[i].from = old ? now : NULL;
            }
        }
        made->next = NULL;
        LIST_ADD(end, made, next);
    }
    return first;
}

/* ---- expressions with recursive calls ----------------------------------------------------------------- */

static kernel_expr *flat(machine *m, const kernel_expr *e);

/* A member of the frame for a value that a later block reads. */
static const kernel_member *spill_new(machine *m, const kernel_type *type)
{
    kernel_struct *s = m->frame;
    type_member_add(m->p->types, s, name_of(m->p, parser_format(m->p, "ig_%u", s->n_members)),
                    type->plain, m->f->place);
    return &s->members[s->n_members - 1];
}

static kernel_expr *spilled(machine *m, kernel_expr *value)
{
    if (value->kind == EXPR_CONST || value->kind == EXPR_STRING)
        return value;
    const kernel_member *kept = spill_new(m, value->type);
    emit_assign(m, frame_place(m, kept), value);
    return load_of(m, frame_place(m, kept), value->space);
}

static void emit_effect(machine *m, kernel_expr *e)
{
    if (e->kind != EXPR_CONST)
        emit(m, STMT_EXPR, e->place)->value = e;
}

/* The operands, which are evaluated in order: a value is kept in the frame while a later operand calls. */
static void flat_operands(machine *m, kernel_expr *const *from, kernel_expr **to, uint32_t n)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < n; i++)
        if (calls(m, from[i]))
            last = i;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = flat(m, from[i]);
        if (i < last && to[i])
            to[i] = spilled(m, to[i]);
    }
}

static void emit_overflow(machine *m, kernel_place place)
{
    parser *p = m->p;
    kernel_stmt *check = emit(m, STMT_IF, place);
    check->value =
        expr_op(p, place, OP_EQ, load_of(m, local_place(m, m->at), SPACE_UNSET), m->limit);
    check->body = kernel_arena_new(p->arena, sizeof *check);
    *check->body = (kernel_stmt){
        .kind = STMT_EXPR,
        .place = place,
        .value = expr_builtin(p, place, BUILTIN_TRAP, type_word_of(p, WORD_VOID), 1, &m->message)};
}

static void emit_move(machine *m, int by)
{
    kernel_expr *now = load_of(m, local_place(m, m->at), SPACE_UNSET);
    emit_assign(m, local_place(m, m->at), expr_op(m->p, now->place, OP_ADD, now, integer(m, by)));
}

/* A call of a function of the machine. */
static kernel_expr *flat_call(machine *m, const kernel_expr *e)
{
    parser *p = m->p;
    member_function *g = function_of(m, e->as.function);
    kernel_expr **args = kernel_arena_get(p->arena, (e->n_args + 1) * sizeof *args);
    flat_operands(m, e->args, args, e->n_args);
    for (uint32_t i = 0; i < e->n_args; i++)
        emit_assign(m, local_place(m, g->arguments[i]), args[i]);
    emit_overflow(m, e->place);
    emit_move(m, 1);
    for (uint32_t i = 0; i < e->n_args; i++)
        emit_assign(m, frame_place(m, g->params[i]),
                    load_of(m, local_place(m, g->arguments[i]), args[i]->space));
    block *after = block_new(m);
    emit_assign(m, frame_place(m, m->back), integer(m, after->number));
    go(m, g->entry);
    block_begin(m, after);
    if (g->result)
        return load_of(m, local_place(m, g->result), e->space);
    return expr_node(p, EXPR_CAST, e->place, e->type, integer(m, 0), NULL);
}

/* a && b, a || b and a ? b : c, where an operand that may not be evaluated calls. */
static kernel_expr *flat_choice(machine *m, const kernel_expr *e)
{
    const bool chooses = e->kind == EXPR_CHOOSE, nothing = e->type->kind == TYPE_VOID;
    const kernel_member *kept = nothing ? NULL : spill_new(m, e->type);
    block *yes = block_new(m), *no = block_new(m), *end = block_new(m);
    kernel_expr *condition = flat(m, e->a);
    if (!chooses) {
        emit_assign(m, frame_place(m, kept), condition);
        condition = load_of(m, frame_place(m, kept), SPACE_UNSET);
    }
    branch(m, condition, e->kind == EXPR_OR ? end : yes,
           chooses              ? no
           : e->kind == EXPR_OR ? yes
                                : end);
    for (int i = 0; i < 1 + chooses; i++) {
        block_begin(m, i ? no : yes);
        kernel_expr *value = flat(m, i ? e->c : e->b);
        if (nothing)
            emit_effect(m, value);
        else
            emit_assign(m, frame_place(m, kept), value);
        go(m, end);
    }
    block_begin(m, end);
    return nothing ? expr_node(m->p, EXPR_CAST, e->place, e->type, integer(m, 0), NULL)
                   : load_of(m, frame_place(m, kept), e->space);
}

/* The expression without recursive calls; statements before it have their effects. */
static kernel_expr *flat(machine *m, const kernel_expr *e)
{
    if (!calls(m, e))
        return copy_expr(m, e);
    switch (e->kind) {
    case EXPR_CALL:
        if (function_of(m, e->as.function))
            return flat_call(m, e);
        break;
    case EXPR_AND:
    case EXPR_OR:
        if (calls(m, e->b))
            return flat_choice(m, e);
        break;
    case EXPR_CHOOSE:
        if (calls(m, e->b) || calls(m, e->c))
            return flat_choice(m, e);
        break;
    case EXPR_COMMA: emit_effect(m, flat(m, e->a)); return flat(m, e->b);
    default: break;
    }
    kernel_expr *made = kernel_arena_copy(m->p->arena, e, sizeof *made);
    if (e->kind == EXPR_ASSIGN || e->kind == EXPR_UPDATE) { /* the value before the place */
        made->b = flat(m, e->b);
        if (calls(m, e->a))
            made->b = spilled(m, made->b);
        made->a = flat(m, e->a);
        return made;
    }
    kernel_expr *const from[3] = {e->a, e->b, e->c};
    kernel_expr *to[3];
    flat_operands(m, from, to, 3);
    made->a = to[0];
    made->b = to[1];
    made->c = to[2];
    made->args = kernel_arena_get(m->p->arena, (e->n_args + 1) * sizeof *made->args);
    flat_operands(m, e->args, made->args, e->n_args);
    return made;
}

/* ---- statements --------------------------------------------------------------------------------- */

static void cut_list(machine *m, const kernel_stmt *s, targets t);

/* Assigns an initial value, which for an array is a list. */
static void emit_initial(machine *m, kernel_expr *to, kernel_expr *value)
{
    parser *p = m->p;
    if (to->type->kind != TYPE_ARRAY) {
        emit_assign(m, to, value);
        return;
    }
    const kernel_type *element = to->type->of->plain;
    for (uint64_t i = 0; i < to->type->count; i++) {
        kernel_expr *all =
            expr_node(p, EXPR_DECAY, to->place, type_pointer(p->types, element), to, NULL);
        all->space = SPACE_LOCAL;
        kernel_expr *at_i = expr_node(p, EXPR_BINARY, to->place, all->type, all,
                                      expr_integer(p, to->place, type_word_of(p, WORD_LONG), i));
        at_i->op = OP_OFFSET;
        at_i->space = SPACE_LOCAL;
        kernel_expr *part = expr_node(p, EXPR_DEREF, to->place, element, at_i, NULL);
        part->space = SPACE_LOCAL;
        kernel_expr *given = i < value->n_args         ? value->args[i]
                             : type_is_scalar(element) ? expr_zero(p, to->place, element)
                                                       : expr_list(p, to->place, element, 0);
        emit_initial(m, part, given);
    }
}

static void cut_declaration(machine *m, const kernel_stmt *s)
{
    kernel_expr *value = s->value ? flat(m, s->value) : NULL;
    kernel_expr *to = expr_var(m->p, s->place, s->var);
    to->space = SPACE_LOCAL;
    if (m->in) {
        to = copy_place(m, to);
        to->type = to->type->plain;
    } else {
        stmt_add(m->p, &m->declared, STMT_DECLARE, s->place)->var = s->var;
        to->type = s->var->type = s->var->type->plain;
        s->var->assigned = true;
    }
    if (to->type->kind == TYPE_ARRAY && to->kind == EXPR_VAR)
        to->as.var->addressed = true;
    if (value)
        emit_initial(m, to, value);
}

static void cut_if(machine *m, const kernel_stmt *s, targets t)
{
    block *yes = block_new(m), *no = s->otherwise ? block_new(m) : NULL, *end = block_new(m);
    branch(m, flat(m, s->value), yes, no ? no : end);
    block_begin(m, yes);
    cut_list(m, s->body, t);
    go(m, end);
    if (no) {
        block_begin(m, no);
        cut_list(m, s->otherwise, t);
        go(m, end);
    }
    block_begin(m, end);
}

static void cut_loop(machine *m, const kernel_stmt *s)
{
    block *test = block_new(m), *body = block_new(m), *step = block_new(m), *end = block_new(m);
    go(m, s->post ? body : test);
    if (!s->post) {
        block_begin(m, test);
        if (s->value)
            branch(m, flat(m, s->value), body, end);
        else
            go(m, body);
    }
    block_begin(m, body);
    cut_list(m, s->body, (targets){end, step});
    go(m, step);
    block_begin(m, step);
    if (s->step)
        emit_effect(m, flat(m, s->step));
    if (s->post && s->value)
        branch(m, flat(m, s->value), body, end);
    else
        go(m, s->post ? body : test);
    block_begin(m, end);
}

static void cut_switch(machine *m, const kernel_stmt *s, targets t)
{
    parser *p = m->p;
    block *end = block_new(m), **of = kernel_arena_new(p->arena, (s->n_cases + 1) * sizeof *of);
    kernel_var *choice = variable_new(m, "choice", s->value->type);
    emit_assign(m, local_place(m, choice), flat(m, s->value));
    const block *other = end;
    for (uint32_t i = 0; i < s->n_cases; i++) {
        of[i] = s->cases[i].from ? block_new(m) : end;
        other = s->cases[i].is_default ? of[i] : other;
    }
    set_state(m, other);
    for (uint32_t i = 0; i < s->n_cases; i++) {
        if (s->cases[i].is_default)
            continue;
        block *const from = m->now;
        kernel_stmt *test = emit(m, STMT_IF, s->place);
        test->value = expr_op(p, s->place, OP_EQ, load_of(m, local_place(m, choice), SPACE_UNSET),
                              expr_integer(p, s->place, choice->type, s->cases[i].value));
        if (!from)
            continue;
        block inner = {.list.first = NULL};
        inner.list.end = &inner.list.first;
        m->now = &inner;
        set_state(m, of[i]);
        test->body = inner.list.first;
        m->now = from;
    }
    m->now = NULL;
    t.to_break = end;
    for (const kernel_stmt *body = s->body; body; body = body->next) {
        for (uint32_t i = 0; i < s->n_cases; i++)
            if (s->cases[i].from == body) {
                go(m, of[i]);
                block_begin(m, of[i]);
            }
        kernel_stmt alone = *body;
        alone.next = NULL;
        cut_list(m, &alone, t);
    }
    go(m, end);
    block_begin(m, end);
}

/* The return of a recursive function. */
static void cut_return(machine *m, const kernel_expr *e)
{
    kernel_expr *value = e ? flat(m, e) : NULL;
    if (value && m->in->result)
        emit_assign(m, local_place(m, m->in->result), value);
    else if (value)
        emit_effect(m, value);
    emit_assign(m, local_place(m, m->state), load_of(m, frame_place(m, m->back), SPACE_UNSET));
    emit_move(m, -1);
    m->now = NULL;
}

static void cut_one(machine *m, const kernel_stmt *s, targets t)
{
    if (s->kind == STMT_DECLARE && s->var->storage == STORE_LOCAL &&
        !(m->in && m->in->locals[s->var->index])) {
        cut_declaration(m, s);
        return;
    }
    if (!one_is_cut(m, s)) {
        kernel_stmt alone = *s;
        alone.next = NULL;
        kernel_stmt *copy = copy_list(m, &alone);
        if (m->now)
            LIST_ADD(m->now->list.end, copy, next);
        return;
    }
    block *label;
    switch (s->kind) {
    case STMT_EXPR: emit_effect(m, flat(m, s->value)); break;
    case STMT_BLOCK: cut_list(m, s->body, t); break;
    case STMT_IF: cut_if(m, s, t); break;
    case STMT_LOOP: cut_loop(m, s); break;
    case STMT_SWITCH: cut_switch(m, s, t); break;
    case STMT_BREAK: go(m, t.to_break); break;
    case STMT_CONTINUE: go(m, t.to_continue); break;
    case STMT_RETURN: cut_return(m, s->value); break;
    case STMT_GOTO: go(m, label_block(m, s->label, s->place)); break;
    case STMT_LABEL:
        label = label_block(m, s->label, s->place);
        if (label->is_placed)
            parser_fail(m->p, s->place, "label '%s' is there twice", s->label->text);
        go(m, label);
        block_begin(m, label);
        break;
    default: break;
    }
}

static void cut_list(machine *m, const kernel_stmt *s, targets t)
{
    for (; s; s = s->next)
        cut_one(m, s, t);
}

/* The loop over the blocks, after which state is `end`. */
static void add_loop(machine *m, stmt_list *out, int end)
{
    parser *p = m->p;
    const kernel_place place = m->f->place;
    kernel_stmt *loop = stmt_add(p, out, STMT_LOOP, place), **to = &loop->body;
    loop->value = expr_op(p, place, OP_NE, load_of(m, local_place(m, m->state), SPACE_UNSET),
                          integer(m, end));
    for (const block *b = m->first; b; b = b->next) {
        kernel_stmt *s = kernel_arena_new(p->arena, sizeof *s);
        s->kind = STMT_IF;
        s->place = place;
        s->value = expr_op(p, place, OP_EQ, load_of(m, local_place(m, m->state), SPACE_UNSET),
                           integer(m, b->number));
        s->body = b->list.first;
        if (s->body) {
            LIST_ADD(to, s, next);
        }
    }
}

enum { STATE_END = -1 };

static void machine_begin(machine *m, parser *p, kernel_function *f)
{
    *m = (machine){.p = p, .f = f};
    m->end = &m->first;
    m->declared.end = &m->declared.first;
}

kernel_stmt *flow_structured(parser *p, kernel_stmt *body)
{
    machine m;
    machine_begin(&m, p, p->current->function);
    m.locals_end = p->locals_end;
    m.state = variable_new(&m, "state", type_word_of(p, WORD_INT));
    block *entry = block_new(&m);
    block_begin(&m, entry);
    cut_list(&m, body, (targets){NULL, NULL});
    const block last = {.number = STATE_END};
    go(&m, &last);
    for (const block *b = m.labels; b; b = b->next_label)
        if (!b->is_placed)
            parser_fail(p, b->place, "label '%s' of a goto is not in the function", b->label->text);
    p->locals_end = m.locals_end;
    kernel_expr *start = expr_node(p, EXPR_ASSIGN, m.f->place, m.state->type,
                                   local_place(&m, m.state), integer(&m, entry->number));
    stmt_add(p, &m.declared, STMT_EXPR, m.f->place)->value = start;
    add_loop(&m, &m.declared, STATE_END);
    return m.declared.first;
}

/* ---- recursion ---------------------------------------------------------------------------------- */

static bool reaches(kernel_function *from, const kernel_function *to, uint32_t stamp)
{
    if (from->visited == stamp)
        return false;
    from->visited = stamp;
    for (uint32_t i = 0; i < from->n_callees; i++)
        if (from->callees[i] == to || reaches(from->callees[i], to, stamp))
            return true;
    return false;
}

/* Adds f and the functions that it calls, directly or not, and that call it. */
static void add_functions(machine *m, kernel_function *f, kernel_function *root)
{
    if (function_of(m, f) || (f != root && !reaches(f, root, ++m->p->n_entries)))
        return;
    member_function *made = kernel_arena_new(m->p->arena, sizeof *made);
    made->f = f;
    made->next = m->functions;
    m->functions = made;
    for (uint32_t i = 0; i < f->n_callees; i++)
        add_functions(m, f->callees[i], root);
}

static uint32_t count_expr(const kernel_expr *e, uint32_t *uses)
{
    if (!e)
        return 0;
    if (e->kind == EXPR_VAR) {
        if (uses && e->as.var->storage == STORE_LOCAL)
            uses[e->as.var->index]++;
        return 1;
    }
    uint32_t n = 1 + count_expr(e->a, uses) + count_expr(e->b, uses) + count_expr(e->c, uses);
    for (uint32_t i = 0; i < e->n_args; i++)
        n += count_expr(e->args[i], uses);
    return n;
}

/* Counts the nodes of the expressions, and the uses of each local variable. */
static uint32_t count_list(const kernel_stmt *s, uint32_t *uses)
{
    uint32_t n = 0;
    for (; s; s = s->next) {
        n += count_expr(s->value, uses) + count_expr(s->step, uses) + count_list(s->body, uses) +
             count_list(s->otherwise, uses);
        if (s->kind == STMT_DECLARE && s->var->storage == STORE_LOCAL)
            uses[s->var->index]++;
    }
    return n;
}

/* Finds the variables that live in one statement that is not cut: they need no place in the frame. */
static void find_inner(machine *m, member_function *g, const kernel_stmt *s, const uint32_t *uses)
{
    for (; s; s = s->next) {
        if (one_is_cut(m, s)) {
            find_inner(m, g, s->body, uses);
            find_inner(m, g, s->otherwise, uses);
            continue;
        }
        uint32_t *mine = kernel_arena_new(m->p->arena, (g->f->n_locals + 1) * sizeof *mine);
        kernel_stmt alone = *s;
        alone.next = NULL;
        count_list(&alone, mine);
        for (const kernel_var *v = g->f->locals; v; v = v->next)
            if (mine[v->index] && mine[v->index] == uses[v->index])
                g->locals[v->index] = variable_new(m, "v", v->type);
    }
}

static void place_variables(machine *m, member_function *g)
{
    parser *p = m->p;
    const kernel_function *f = g->f;
    uint32_t *uses = kernel_arena_new(p->arena, (f->n_locals + 1) * sizeof *uses);
    g->locals = kernel_arena_new(p->arena, (f->n_locals + 1) * sizeof *g->locals);
    g->framed = kernel_arena_new(p->arena, (f->n_locals + 1) * sizeof *g->framed);
    g->params = kernel_arena_new(p->arena, (f->n_params + 1) * sizeof *g->params);
    g->arguments = kernel_arena_new(p->arena, (f->n_params + 1) * sizeof *g->arguments);
    count_list(f->body, uses);
    find_inner(m, g, f->body, uses);
    for (const kernel_var *v = f->locals; v; v = v->next) {
        kernel_var *own = g->locals[v->index];
        if (!own) {
            g->framed[v->index] = spill_new(m, v->type);
            continue;
        }
        own->type = v->type;
        own->addressed = v->addressed;
        own->space = v->space;
        own->is_temporary = v->is_temporary;
    }
    for (uint32_t i = 0; i < f->n_params; i++) {
        g->params[i] = spill_new(m, f->params[i]->type);
        g->arguments[i] = variable_new(m, "argument", f->params[i]->type);
    }
    if (f->result->kind != TYPE_VOID)
        g->result = variable_new(m, "result", f->result);
}

/* The array of frames, whose type was incomplete so far. */
static void finish_frames(machine *m, kernel_type *array)
{
    kernel_type *frame = (kernel_type *)m->frame->type;
    frame->size = (frame->size + frame->align - 1) / frame->align * frame->align;
    m->frame->complete = true;
    const char *wish = getenv("IG_STACK");
    uint64_t depth = wish ? strtoull(wish, NULL, 10) : 0;
    if (!depth)
        depth = FRAMES < FRAMES_BYTES / frame->size ? FRAMES : FRAMES_BYTES / frame->size;
    depth = depth < 4 ? 4 : depth > 1 << 20 ? 1 << 20 : depth;
    array->count = depth;
    array->size = depth * frame->size;
    array->align = frame->align;
    m->limit->value.integer = depth - 1;
    const char *what = parser_format(
        m->p, "more than %llu nested calls of '%s'; set IG_STACK to a larger number of calls",
        (unsigned long long)depth, m->f->source_name);
    kernel_string *text_of = kernel_arena_get(m->p->arena, sizeof *text_of + strlen(what) + 1);
    text_of->bytes = (uint32_t)strlen(what);
    memcpy(text_of->text, what, text_of->bytes + 1);
    m->message->as.text = text_of;
}

static void make_parameters(machine *m, const kernel_function *f)
{
    parser *p = m->p;
    m->f->params = kernel_arena_get(p->arena, (f->n_params + 1) * sizeof *m->f->params);
    for (uint32_t i = 0; i < f->n_params; i++) {
        m->f->params[i] = kernel_arena_copy(p->arena, f->params[i], sizeof *m->f->params[i]);
        m->f->params[i]->addressed = m->f->params[i]->assigned = false;
    }
}

/* Declares a variable that lives across the iterations of the loop. */
static void declare(machine *m, kernel_var *v)
{
    v->is_temporary = false;
    emit(m, STMT_DECLARE, v->place)->var = v;
}

static void add_body(machine *m, const kernel_function *f)
{
    for (member_function *g = m->functions; g; g = g->next) {
        m->in = g;
        block_begin(m, g->entry);
        cut_list(m, g->f->body, (targets){NULL, NULL});
        cut_return(m, NULL);
    }
    const member_function *entry = function_of(m, f);
    block start = {.list.first = NULL};
    start.list.end = &start.list.first;
    m->now = &start;
    declare(m, m->at);
    declare(m, m->state);
    for (const member_function *g = m->functions; g; g = g->next)
        if (g->result)
            declare(m, g->result);
    emit_assign(m, local_place(m, m->at), integer(m, 0));
    for (uint32_t i = 0; i < f->n_params; i++) {
        kernel_var *v = m->f->params[i];
        emit_assign(m, frame_place(m, entry->params[i]), load_of(m, local_place(m, v), v->space));
    }
    emit_assign(m, frame_place(m, m->back), integer(m, STATE_END));
    set_state(m, entry->entry);
    add_loop(m, &start.list, STATE_END);
    kernel_stmt *end = stmt_add(m->p, &start.list, STMT_RETURN, f->place);
    if (entry->result)
        end->value = load_of(m, local_place(m, entry->result), f->result_space);
    m->f->body = start.list.first;
}

kernel_function *flow_machine(parser *p, kernel_function *f)
{
    machine m;
    kernel_function *made = kernel_arena_copy(p->arena, f, sizeof *made);
    made->locals = NULL;
    made->n_locals = 0;
    made->is_recursive = false;
    machine_begin(&m, p, made);
    m.locals_end = &made->locals;
    add_functions(&m, f, f);
    uint32_t room = 16;
    for (const member_function *g = m.functions; g; g = g->next) {
        if (g->f->failed)
            return NULL;
        uint32_t *unused = kernel_arena_new(p->arena, (g->f->n_locals + 1) * sizeof *unused);
        room += g->f->n_params + g->f->n_locals + count_list(g->f->body, unused);
    }
    m.in = m.functions; /* names of variables need not be unique */
    m.frame = type_struct(p->types, NULL, f->place);
    m.frame->name = "frame";
    m.frame->members = kernel_arena_new(p->arena, room * sizeof *m.frame->members);
    m.frame->room = room; /* members do not move */
    m.back = spill_new(&m, type_word_of(p, WORD_INT));
    kernel_type *array = kernel_arena_new(p->arena, sizeof *array);
    *array = (kernel_type){.kind = TYPE_ARRAY, .align = 1, .of = m.frame->type, .plain = array};
    array->qualified[0] = array;
    m.frames = variable_new(&m, "frames", array);
    m.frames->addressed = true;
    m.at = variable_new(&m, "at", type_word_of(p, WORD_INT));
    m.state = variable_new(&m, "state", type_word_of(p, WORD_INT));
    for (member_function *g = m.functions; g; g = g->next) {
        g->entry = block_new(&m);
        place_variables(&m, g);
    }
    m.limit = integer(&m, 0);
    m.message =
        expr_new(p, EXPR_STRING, f->place, type_pointer(p->types, type_word_of(p, WORD_CHAR)));
    make_parameters(&m, f);
    add_body(&m, f);
    finish_frames(&m, array);
    return made;
}
