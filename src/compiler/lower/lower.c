/* Lowering: variables, statements, calls, and a kernel as a whole. */
#include "compiler/lower/lower.h"

#include "base/memory.h"
#include "engine/ops/op_id.h"

#include <string.h>

enum {
    CODE_CAP_BYTES = 256 << 20,
    UNFOLD_DEEPEST = 200,
    LOCAL_MOST = 512 << 10 /* bytes per lane, as in CUDA */
};

/* ---- variables ---- */

int32_t lower_local(lower *l, uint64_t bytes, uint32_t align)
{
    const uint64_t at = (l->c->local_bytes + align - 1) / align * align;
    if (at + bytes > LOCAL_MOST)
        lower_fail(l, IG_ERR_UNSUPPORTED,
                   "a thread's own arrays need more than %d KiB; keep them in global memory",
                   LOCAL_MOST >> 10);
    l->c->local_bytes = (size_t)(at + bytes);
    return (int32_t)at;
}

int32_t lower_object(lower *l, code_origin origin, const kernel_var *var, uint64_t offset)
{
    lane_code *c = l->c;
    const kernel_type *t = origin == ORIGIN_PARAMETER ? var->type->of : var->type;
    const char *name = var->source_name ? var->source_name->text : var->name;
    const uint64_t bytes = origin == ORIGIN_PARAMETER ? 0 : t->size;
    for (int i = c->n_object; i > 0; i--) {
        const code_object *o = &c->object[i - 1];
        if (o->origin == origin && o->offset == offset && o->name == name)
            return i;
    }
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    const uint32_t element = t->size ? (uint32_t)t->size : 1;
    ARENA_ADD(l->arena, c->object, c->n_object, c->object_room,
              (code_object){name, (uint8_t)origin, offset, bytes, element});
    return c->n_object;
}

static void make_home(lower *l, const kernel_var *var, lower_home *home)
{
    const lower_value v =
        var->addressed ? lower_value_local(l, var->type) : lower_value_variable(l, var->type);
    *home = (lower_home){v.reg, v.n, v.offset, true};
}

lower_home *lower_home_of(lower *l, const kernel_var *var)
{
    lower_home *homes = var->storage == STORE_PARAMETER ? l->frame->params : l->frame->locals;
    lower_home *home = &homes[var->index];
    if (!home->made)
        make_home(l, var, home);
    return home;
}

static void put_into_home(lower *l, const kernel_var *var, const lower_value *v)
{
    const lower_home *home = lower_home_of(l, var);
    const lower_value all = {.type = var->type,
                             .reg = home->reg,
                             .n = home->n,
                             .address = home->reg ? CODE_NONE : lower_special(l, ORIGIN_LOCAL),
                             .offset = home->offset};
    const lower_place place = lower_place_of(&all);
    lower_store(l, &place, v);
}

/* A parameter that the function does not write needs no copy. */
static void bind_parameter(lower *l, const kernel_var *var, const lower_value *v)
{
    if (var->addressed || var->assigned || !v->reg)
        put_into_home(l, var, v);
    else {
        l->frame->params[var->index] = (lower_home){v->reg, v->n, 0, true};
        l->bound = l->c->n_inst;
    }
}

/* ---- statements ---- */

static void lower_list(lower *l, const kernel_stmt *s);

/* A variable declared inside a loop starts over in each iteration. */
static void lower_declare(lower *l, const kernel_stmt *s)
{
    if (s->var->storage != STORE_LOCAL)
        return;
    lower_home *home = &l->frame->locals[s->var->index];
    if (!home->made)
        make_home(l, s->var, home);
    if (!s->value) {
        for (int i = 0; i < home->n && home->reg; i++) {
            code_reg *r = &l->c->reg[home->reg[i]];
            r->unset = s->var->source_name ? s->var->source_name->text : s->var->name;
            r->is_scalar = type_is_scalar(s->var->type);
        }
        return;
    }
    const lower_value v = lower_expr(l, s->value);
    put_into_home(l, s->var, &v);
}

static void lower_if(lower *l, const kernel_stmt *s)
{
    const int begin = lower_open(l, CODE_IF, lower_scalar(l, s->value));
    lower_list(l, s->body);
    if (s->otherwise) {
        lower_else(l, begin);
        lower_list(l, s->otherwise);
    }
    lower_close(l, begin);
}

static void lower_while(lower *l, const kernel_expr *condition)
{
    if (!condition)
        return;
    const int32_t a = lower_scalar(l, condition);
    lower_emit(l, CODE_WHILE, IG_BOOL, CODE_NONE, a, CODE_NONE, CODE_NONE)->level =
        (uint16_t)(l->depth - 1);
}

static void lower_loop_stmt(lower *l, const kernel_stmt *s)
{
    const int begin = lower_open(l, CODE_LOOP, CODE_NONE);
    lower_loop loop = {l->loop, l->depth - 1, false};
    l->loop = &loop;
    if (!s->post)
        lower_while(l, s->value);
    lower_list(l, s->body);
    l->loop = loop.outer;
    lower_forget(l, begin);
    lower_mark(l, CODE_NEXT)->level = (uint16_t)(l->depth - 1);
    if (s->step)
        lower_effect(l, s->step);
    if (s->post)
        lower_while(l, s->value);
    lower_mark(l, CODE_AGAIN)->jump = begin + 1;
    lower_close(l, begin);
}

/* Whether the lane's value matches the case; the default matches if no other case does. */
static int32_t case_holds(lower *l, const kernel_stmt *s, const kernel_case *k, int32_t value,
                          ig_dtype d)
{
    if (!k->is_default)
        return lower_truth(l, OP_equal, d, value, lower_constant(l, d, k->value));
    int32_t none = lower_constant(l, IG_BOOL, 1);
    for (uint32_t i = 0; i < s->n_cases; i++)
        if (!s->cases[i].is_default) {
            const int32_t other =
                lower_truth(l, OP_not_equal, d, value, lower_constant(l, d, s->cases[i].value));
            none = lower_truth(l, OP_logical_and, IG_BOOL, none, other);
        }
    return none;
}

/* A switch is a loop that runs once, so break leaves it. At each label, the lanes that match it become
 * active, and all lanes active so far run the statements after it. */
static void lower_switch(lower *l, const kernel_stmt *s)
{
    const ig_dtype d = lower_lane(s->value->type);
    const int32_t value = lower_variable(l, d), entered = lower_variable(l, IG_BOOL);
    lower_assign(l, value, lower_scalar(l, s->value));
    lower_assign(l, entered, lower_constant(l, IG_BOOL, 0));
    const int begin = lower_open(l, CODE_LOOP, CODE_NONE);
    lower_loop loop = {l->loop, l->depth - 1, true};
    l->loop = &loop;
    int open = -1;
    for (kernel_stmt *body = s->body; body; body = body->next) {
        for (uint32_t i = 0; i < s->n_cases; i++) {
            if (s->cases[i].from != body)
                continue;
            if (open >= 0)
                lower_close(l, open);
            open = -1;
            const int32_t holds = case_holds(l, s, &s->cases[i], value, d);
            lower_assign(l, entered, lower_truth(l, OP_logical_or, IG_BOOL, entered, holds));
        }
        if (open < 0)
            open = lower_open(l, CODE_IF, entered);
        kernel_stmt alone = *body;
        alone.next = NULL;
        lower_list(l, &alone);
    }
    if (open >= 0)
        lower_close(l, open);
    l->loop = loop.outer;
    lower_close(l, begin);
}

static void lower_return(lower *l, const kernel_stmt *s)
{
    lower_frame *f = l->frame;
    if (s->value && f->function->result->kind != TYPE_VOID) {
        const lower_value v = lower_expr(l, s->value);
        if (f->level < 0) {
            f->result = v;
            return;
        }
        const lower_place to = lower_place_of(&f->result);
        lower_store(l, &to, &v);
    } else if (s->value) {
        lower_effect(l, s->value);
    }
    if (f->level >= 0)
        lower_leave(l, CODE_RETURN, f->level);
}

static void lower_stmt(lower *l, const kernel_stmt *s)
{
    const lower_loop *loop = l->loop;
    l->place = s->place;
    switch (s->kind) {
    case STMT_EXPR: lower_effect(l, s->value); break;
    case STMT_DECLARE: lower_declare(l, s); break;
    case STMT_BLOCK: lower_list(l, s->body); break;
    case STMT_IF: lower_if(l, s); break;
    case STMT_LOOP: lower_loop_stmt(l, s); break;
    case STMT_SWITCH: lower_switch(l, s); break;
    case STMT_BREAK: lower_leave(l, CODE_BREAK, loop->level); break;
    case STMT_CONTINUE:
        while (loop->is_switch)
            loop = loop->outer;
        lower_leave(l, CODE_CONTINUE, loop->level);
        break;
    case STMT_RETURN: lower_return(l, s); break;
    }
}

static void lower_list(lower *l, const kernel_stmt *s)
{
    for (; s; s = s->next)
        lower_stmt(l, s);
}

/* ---- calls ---- */

/* True if the list contains a return at any depth. */
static bool returns_inside(const kernel_stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == STMT_RETURN || returns_inside(s->body) || returns_inside(s->otherwise))
            return true;
    return false;
}

static bool returns_only_at_end(const kernel_stmt *s)
{
    for (; s; s = s->next) {
        if (!s->next && s->kind == STMT_RETURN)
            return true;
        if (!s->next && s->kind == STMT_BLOCK)
            return returns_only_at_end(s->body);
        if (s->kind == STMT_RETURN || returns_inside(s->body) || returns_inside(s->otherwise))
            return false;
    }
    return true;
}

static void frame_begin(lower *l, lower_frame *f, const kernel_function *function)
{
    *f = (lower_frame){.function = function, .caller = l->frame, .level = -1};
    f->params = kernel_arena_new(l->arena, (function->n_params + 1) * sizeof *f->params);
    f->locals = kernel_arena_new(l->arena, (function->n_locals + 1) * sizeof *f->locals);
}

static int frames(const lower_frame *f)
{
    int n = 0;
    for (; f; f = f->caller)
        n++;
    return n;
}

static bool same_value(const lane_code *c, const lower_value *a, const lower_value *b)
{
    for (int i = 0; i < a->n; i++) {
        const code_reg *x = &c->reg[a->reg[i]], *y = &c->reg[b->reg[i]];
        const bool constants = x->origin == ORIGIN_CONSTANT && y->origin == ORIGIN_CONSTANT;
        if (x != y && !(constants && x->dtype == y->dtype && x->bits == y->bits))
            return false;
    }
    return true;
}

/* The earlier call of the function with the same arguments; NULL: none is known. */
static const lower_known *known_call(const lower *l, const kernel_function *function,
                                     const lower_value *args)
{
    for (int k = l->n_known - 1; k >= 0; k--) {
        const lower_known *known = &l->known[k];
        bool same = known->function == function;
        for (uint32_t i = 0; i < function->n_params && same; i++)
            same = same_value(l->c, &args[i], &known->args[i]);
        if (same)
            return known;
    }
    return NULL;
}

/* Lets a later call with the same arguments use the result, if the code from `begin` on is arithmetic. */
static void remember_call(lower *l, const lower_frame *f, const lower_value *args, int begin)
{
    if (l->effect >= begin || !f->result.reg)
        return;
    for (uint32_t i = 0; i < f->function->n_params; i++)
        if (!args[i].reg)
            return;
    if (l->n_known == KNOWN_MOST)
        l->n_known = 0;
    lower_value result = lower_value_new(l, f->result.type, f->result.n);
    memcpy(result.reg, f->result.reg, (size_t)result.n * sizeof *result.reg);
    l->known[l->n_known++] = (lower_known){f->function, args, result, l->c->n_inst - 1};
}

lower_value lower_call(lower *l, const kernel_function *function, kernel_expr *const *args)
{
    lower_frame f;
    const kernel_place place = l->place;
    if (function->machine)
        function = function->machine;
    if (function->is_recursive || frames(l->frame) > UNFOLD_DEEPEST)
        lower_fail(l, IG_ERR_UNSUPPORTED, "calls are nested more deeply than %d: '%s'",
                   UNFOLD_DEEPEST, function->source_name);
    frame_begin(l, &f, function);
    const lower_value *given = lower_args(l, args, function->n_params);
    const lower_known *known = known_call(l, function, given);
    if (known) {
        l->bound = l->c->n_inst;
        return known->result;
    }
    const int first = l->c->n_inst;
    lower_loop *loop = l->loop;
    l->loop = NULL;
    l->frame = &f;
    for (uint32_t i = 0; i < function->n_params; i++)
        bind_parameter(l, function->params[i], &given[i]);
    const bool plain = returns_only_at_end(function->body);
    int begin = 0;
    if (!plain) {
        if (function->result->kind != TYPE_VOID) /* where several returns leave it */
            f.result = lower_value_variable(l, function->result);
        begin = lower_open(l, CODE_CALL, CODE_NONE);
        f.level = l->depth - 1;
    }
    lower_list(l, function->body);
    if (!plain)
        lower_close(l, begin);
    l->frame = f.caller;
    l->loop = loop;
    l->place = place;
    remember_call(l, &f, given, first);
    return f.result;
}

/* ---- a kernel ---- */

/* A parameter that is too large for registers, contains a union or is empty: its bytes, in the lane's
 * memory. */
static lower_value parameter_in_memory(lower *l, const kernel_type *t, uint64_t at)
{
    const kernel_type *piece = lower_piece(t);
    const lower_value v = lower_value_local(l, t);
    const lower_place to = lower_place_of(&v);
    for (uint64_t i = 0; i < t->size; i += piece->size) {
        const code_reg from = {
            .dtype = (uint8_t)lower_stored(piece), .origin = ORIGIN_PARAMETER, .bits = at + i};
        lower_store_scalar(l, &to, piece, (int64_t)i, lower_register(l, from));
    }
    return v;
}

static void lower_parameters(lower *l, const kernel_function *f)
{
    for (uint32_t i = 0; i < f->n_params; i++) {
        const kernel_var *var = f->params[i];
        const uint64_t at = kernel_argument_at(f, i);
        const int n = lower_leaves(var->type);
        if (!n) {
            const lower_value whole = parameter_in_memory(l, var->type, at);
            bind_parameter(l, var, &whole);
            continue;
        }
        const lower_scalars all = lower_leaves_of(var->type);
        const lower_value v = lower_value_new(l, var->type, n);
        for (int r = 0; r < n; r++) {
            const ig_dtype stored = lower_stored(all.type[r]);
            const int32_t reg = lower_register(l, (code_reg){.dtype = (uint8_t)stored,
                                                             .origin = ORIGIN_PARAMETER,
                                                             .bits = at + all.offset[r]});
            v.reg[r] = lower_convert(l, reg, stored, lower_lane(all.type[r]));
        }
        if (var->type->kind == TYPE_POINTER)
            lower_object(l, ORIGIN_PARAMETER, var, at);
        bind_parameter(l, var, &v);
    }
    l->c->argument_bytes = (size_t)l->entry->argument_bytes;
}

static void lower_kernel(lower *l)
{
    lower_frame f;
    frame_begin(l, &f, l->entry->function);
    l->frame = &f;
    l->c->shared_bytes = (size_t)l->entry->dynamic_offset;
    lower_parameters(l, l->entry->function);
    const int begin = lower_open(l, CODE_CALL, CODE_NONE);
    f.level = l->depth - 1;
    lower_list(l, l->entry->function->body);
    lower_close(l, begin);
    l->c->local_bytes = (l->c->local_bytes + 15) / 16 * 16;
}

ig_status kernel_lower(const kernel_tree *tree, const kernel_entry *entry, lane_code **out)
{
    jmp_buf escape;
    lane_code *c = memory_new(sizeof *c);
    *out = NULL;
    if (!c)
        return IG_ERR_MEMORY;
    c->name = entry->name;
    kernel_arena_begin(&c->arena, CODE_CAP_BYTES);
    c->arena.escape = &escape;
    lower l = {.c = c, .arena = &c->arena, .tree = tree, .entry = entry, .effect = -1};
    for (size_t i = 0; i < sizeof l.special / sizeof l.special[0]; i++)
        l.special[i] = CODE_NONE;
    ig_status status = IG_OK;
    if (entry->failed)
        status = ig_fail(IG_ERR_FORMAT, "%s", entry->errors);
    else if (setjmp(escape))
        status = IG_ERR_UNSUPPORTED; /* the error is already set */
    else
        lower_kernel(&l);
    c->arena.escape = NULL;
    if (status == IG_OK)
        status = code_settle(c);
    if (status == IG_OK)
        *out = c;
    else
        code_free(c);
    return status;
}

void code_free(lane_code *c)
{
    if (!c)
        return;
    kernel_arena_end(&c->arena);
    memory_free(c);
}
