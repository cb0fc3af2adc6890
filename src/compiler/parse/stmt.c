/* Statements of a function's body. After an error, parsing continues after the statement. */
#include <string.h>

#include "compiler/parse/parser.h"

static void parse_statement(parser *p, stmt_list *out);

kernel_stmt *stmt_add(parser *p, stmt_list *out, stmt_kind kind, kernel_place place)
{
    kernel_stmt *s = kernel_arena_new(p->arena, sizeof *s);
    s->kind = kind;
    s->place = place;
    LIST_ADD(out->end, s, next);
    return s;
}

static stmt_list list_new(stmt_list *l)
{
    l->first = NULL;
    l->end = &l->first;
    return *l;
}

/* ---- blocks and errors ------------------------------------------------------------------------- */

static void guarded_statement(parser *p, void *out)
{
    p->chain = 0;
    p->conditional = 0;
    p->temporaries = NULL;
    p->declaring = NULL;
    parse_statement(p, out);
}

/* The token after the statement that begins at t. A statement with an unclosed bracket ends at its ';'. */
static const kernel_token *statement_end(const kernel_token *t)
{
    for (;;) {
        switch (t->kind) {
        case TOKEN_END:
        case TOKEN_RBRACE: return t;
        case TOKEN_SEMICOLON: return t + 1;
        case TOKEN_LPAREN:
        case TOKEN_LBRACKET: {
            const kernel_token *end = skip_group(t);
            const bool closed = end[-1].kind == TOKEN_RPAREN || end[-1].kind == TOKEN_RBRACKET;
            t = closed ? end : t + 1;
            break;
        }
        case TOKEN_LBRACE:
            t = skip_group(t);
            if (t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_COMMA && t->kind != TOKEN_RPAREN &&
                t->kind != TOKEN_LPAREN && t->keyword != KEYWORD_else &&
                t->keyword != KEYWORD_while)
                return t;
            break;
        default: t++;
        }
    }
}

static void parse_guarded(parser *p, stmt_list *out)
{
    const kernel_token *from = p->t;
    if (parser_guard(p, guarded_statement, out))
        return;
    if (p->diags->n_kept >= DIAG_MAX)
        parser_jump(p); /* too many errors: the rest of the function is skipped */
    if (p->declaring)
        symbol_add(p, p->scope, SYMBOL_BROKEN, p->declaring, from->place);
    p->declaring = NULL;
    const kernel_token *end = statement_end(from);
    p->t = end > from || end->kind == TOKEN_RBRACE || end->kind == TOKEN_END ? end : from + 1;
}

/* After "{", to after "}". */
static void parse_statements(parser *p, stmt_list *out)
{
    while (!at(p, TOKEN_RBRACE) && !at(p, TOKEN_END))
        parse_guarded(p, out);
    expect(p, TOKEN_RBRACE, "at the end of a block");
}

kernel_stmt *parse_body(parser *p)
{
    stmt_list out;
    list_new(&out);
    if (p->current->decl->role)
        object_statements(p, &out);
    else if (p->current->decl->is_method && p->current->decl->name == name_of(p, "constructor"))
        parse_member_values(p, &out);
    expect(p, TOKEN_LBRACE, "before a function's body");
    parse_statements(p, &out);
    lifetime_end(p, p->scope, &out);
    return p->current->jumps && !p->failed ? flow_structured(p, out.first) : out.first;
}

static void parse_block(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    kernel_stmt *s = stmt_add(p, out, STMT_BLOCK, place);
    stmt_list inner;
    list_new(&inner);
    p->scope = scope_open(p, p->scope, true);
    scope *mine = p->scope;
    parse_statements(p, &inner);
    lifetime_end(p, mine, &inner);
    scope_close(p, mine);
    s->body = inner.first;
}

/* The body of an if or a loop: a statement as a list with its own scope. */
static kernel_stmt *parse_controlled(parser *p)
{
    stmt_list inner;
    list_new(&inner);
    p->scope = scope_open(p, p->scope, true);
    scope *mine = p->scope;
    if (accept(p, TOKEN_LBRACE))
        parse_statements(p, &inner);
    else
        parse_statement(p, &inner);
    lifetime_end(p, mine, &inner);
    scope_close(p, mine);
    return inner.first;
}

/* ---- control ---------------------------------------------------------------------------------- */

/* The condition after "(", which may declare a variable into out. */
static kernel_expr *parse_condition(parser *p, stmt_list *out)
{
    if (!at_declaration(p))
        return temporary_finish(p, expr_bool(p, parse_expression(p)));
    specifiers s;
    parse_specifiers(p, &s);
    declarator d = parse_declarator(p, s.type);
    if (!d.name || !at(p, TOKEN_ASSIGN))
        parser_fail(p, d.place, "a condition that declares a variable gives it a value");
    declare_local(p, &s, &d, out);
    symbol *y = symbol_here(p->scope, d.name);
    kernel_expr *e = expr_var(p, d.place, y->as.var);
    return expr_bool(p, y->is_reference ? expr_deref(p, d.place, e) : e);
}

/* Opens a block for declarations in the head of a statement; *out is then the list of that block. */
static scope *open_head(parser *p, stmt_list *out, kernel_place place, stmt_list *inner,
                        kernel_stmt **block)
{
    *block = stmt_add(p, out, STMT_BLOCK, place);
    list_new(inner);
    p->scope = scope_open(p, p->scope, true);
    return p->scope;
}

static void close_head(parser *p, stmt_list *out, scope *mine, stmt_list *inner, kernel_stmt *block)
{
    lifetime_end(p, mine, inner);
    scope_close(p, mine);
    block->body = inner->first;
    /* If nothing was declared, the block is not needed. */
    if (inner->first && !inner->first->next && inner->first->kind != STMT_DECLARE) {
        const kernel_stmt only = *inner->first;
        *block = only;
        block->next = NULL;
        out->end = &block->next;
    }
}

/* Skips a branch; an "else" after it is left to the caller. */
static const kernel_token *skip_branch(const kernel_token *t)
{
    for (int ifs = 0;; t++, ifs--) {
        for (; t->keyword == KEYWORD_if; ifs++)
            t = skip_group(t + 1 + (t[1].keyword == KEYWORD_constexpr));
        t = t->kind == TOKEN_LBRACE ? skip_group(t) : statement_end(t);
        if (!ifs || t->keyword != KEYWORD_else)
            return t;
    }
}

static void parse_if(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    const bool is_constexpr = accept_word(p, KEYWORD_constexpr);
    stmt_list inner;
    kernel_stmt *block;
    scope *mine = open_head(p, out, place, &inner, &block);
    expect(p, TOKEN_LPAREN, "after 'if'");
    kernel_expr *value = parse_condition(p, &inner);
    if (accept(p, TOKEN_SEMICOLON))
        value = parse_condition(p, &inner);
    expect(p, TOKEN_RPAREN, "after a condition");
    if (is_constexpr) {
        value = fold_all(p, value);
        if (value->kind != EXPR_CONST)
            parser_fail(p, place, "the condition of 'if constexpr' is not a constant");
    }
    parser_down(p);
    kernel_stmt *s = stmt_add(p, &inner, is_constexpr ? STMT_BLOCK : STMT_IF, place);
    s->value = is_constexpr ? NULL : value;
    /* The branch that `if constexpr` does not take is not parsed. */
    const bool skips = is_constexpr && !value->value.integer;
    if (skips)
        p->t = skip_branch(p->t);
    else
        s->body = parse_controlled(p);
    if (accept_word(p, KEYWORD_else)) {
        if (skips)
            s->body = parse_controlled(p);
        else if (is_constexpr)
            p->t = skip_branch(p->t);
        else
            s->otherwise = parse_controlled(p);
    }
    parser_up(p);
    close_head(p, out, mine, &inner, block);
}

static void parse_loop_body(parser *p, kernel_stmt *s)
{
    const uint32_t switches = p->switches;
    scope *const break_to = p->break_to, *const continue_to = p->continue_to;
    p->break_to = p->continue_to = p->scope;
    p->loops++;
    p->switches = 0;
    parser_down(p);
    s->unroll = p->unroll;
    p->unroll = UNROLL_NONE;
    s->body = parse_controlled(p);
    parser_up(p);
    p->loops--;
    p->switches = switches;
    p->break_to = break_to;
    p->continue_to = continue_to;
}

static void parse_while(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    expect(p, TOKEN_LPAREN, "after 'while'");
    if (at_declaration(p))
        parser_fail_do(p, p->t->place, "declare it before the loop",
                       "a variable declared in the condition of 'while' is not supported");
    kernel_stmt *s = stmt_add(p, out, STMT_LOOP, place);
    s->value = temporary_finish(p, expr_bool(p, parse_expression(p)));
    expect(p, TOKEN_RPAREN, "after a condition");
    parse_loop_body(p, s);
}

static void parse_do(parser *p, stmt_list *out)
{
    kernel_stmt *s = stmt_add(p, out, STMT_LOOP, (p->t++)->place);
    s->post = true;
    parse_loop_body(p, s);
    if (!accept_word(p, KEYWORD_while))
        parser_fail(p, p->t->place, "expected 'while' after 'do', found %s", token_text(p, p->t));
    expect(p, TOKEN_LPAREN, "after 'while'");
    s->value = temporary_finish(p, expr_bool(p, parse_expression(p)));
    expect(p, TOKEN_RPAREN, "after a condition");
    expect(p, TOKEN_SEMICOLON, "after 'do ... while'");
}

static void add_expression(parser *p, stmt_list *out, kernel_expr *e)
{
    kernel_stmt *s = stmt_add(p, out, STMT_EXPR, e->place);
    if (e->kind == EXPR_DEREF && e->a->kind == EXPR_CALL)
        e = e->a; /* a returned reference is not read */
    e = object_discard(p, e);
    e = temporary_finish(p, e->type->kind == TYPE_VOID ? e : expr_value(p, e));
    while (e->kind == EXPR_COMMA && e->b->kind == EXPR_LOAD && e->b->a->kind == EXPR_VAR &&
           e->b->a->as.var->is_temporary)
        e = e->a; /* the value of a temporary is not used */
    s->value = e;
}

/* True at "T x :", the head of a loop over an array. */
static bool at_range(parser *p)
{
    const kernel_token *back = p->t;
    specifiers s;
    parse_specifiers(p, &s);
    while (accept(p, TOKEN_STAR) || accept(p, TOKEN_AMP) || accept(p, TOKEN_AND_AND) ||
           accept_word(p, KEYWORD_const))
        ;
    const bool is = at(p, TOKEN_NAME) && p->t[1].kind == TOKEN_COLON;
    p->t = back;
    return is;
}

/* A variable without a name that has a value. */
static kernel_var *hidden_variable(parser *p, const char *name, kernel_expr *value,
                                   kernel_place place, stmt_list *out)
{
    kernel_var *v = local_new(p, name_of(p, name), value->type->plain, place);
    kernel_stmt *made = stmt_add(p, out, STMT_DECLARE, place);
    made->var = v;
    made->value = temporary_finish(p, value);
    lifetime_add(p, p->scope, v);
    return v;
}

/* for (T x : object): from begin() to end(), which return pointers or objects with operators. Returns the element. */
static kernel_expr *range_of_object(parser *p, kernel_expr *over, kernel_place place,
                                    stmt_list *out, kernel_stmt **loop)
{
    static const char *const names[2] = {"begin", "end"};
    kernel_var *at_[2];
    for (int i = 0; i < 2; i++) {
        function_decl *f = methods_of(p, over->type, names[i]);
        if (!f)
            parser_fail_do(p, over->place, "write a loop with an index",
                           "'for' takes arrays, and objects with begin() and end(), not '%s'",
                           type_name(p, over->type));
        kernel_expr *e = call_method(p, over, f, place, NULL, 0);
        at_[i] =
            hidden_variable(p, names[i], expr_convert(p, e, e->type->plain, names[i]), place, out);
    }
    at_[0]->assigned = true;
    *loop = stmt_add(p, out, STMT_LOOP, place);
    (*loop)->value =
        temporary_finish(p, expr_bool(p, expr_binary(p, place, TOKEN_NE, expr_var(p, place, at_[0]),
                                                     expr_var(p, place, at_[1]))));
    kernel_expr *step =
        object_discard(p, expr_step(p, place, true, false, expr_var(p, place, at_[0])));
    if (step->kind == EXPR_DEREF)
        step = step->a; /* a returned reference is not read */
    (*loop)->step = temporary_finish(p, step);
    kernel_expr *now = expr_var(p, place, at_[0]);
    function_decl *own = methods_of(p, now->type, "operator*");
    return own ? call_method(p, now, own, place, NULL, 0) : expr_deref(p, place, now);
}

/* The loop over an array with a hidden index. Returns the element. */
static kernel_expr *range_of_array(parser *p, kernel_expr *over, kernel_place place, stmt_list *out,
                                   kernel_stmt **loop)
{
    kernel_var *i = local_new(p, name_of(p, "index"), type_word_of(p, WORD_INT), place);
    kernel_stmt *start = stmt_add(p, out, STMT_DECLARE, place);
    start->var = i;
    start->value = expr_integer(p, place, i->type, 0);
    i->assigned = true;
    *loop = stmt_add(p, out, STMT_LOOP, place);
    (*loop)->value = expr_binary(p, place, TOKEN_LT, expr_var(p, place, i),
                                 expr_integer(p, place, i->type, over->type->count));
    (*loop)->step = expr_step(p, place, true, false, expr_var(p, place, i));
    return expr_index(p, place, over, expr_var(p, place, i));
}

static void parse_range(parser *p, stmt_list *out, kernel_place place)
{
    specifiers s;
    parse_specifiers(p, &s);
    declarator d = parse_declarator(p, s.type);
    expect(p, TOKEN_COLON, "in 'for'");
    kernel_expr *over = parse_expression(p), *before = NULL;
    expect(p, TOKEN_RPAREN, "after 'for'");
    if (!expr_is_place(over))
        over = expr_var(p, place, hidden_variable(p, "range", over, place, out));
    over = expr_place_once(p, over, &before);
    if (before)
        stmt_add(p, out, STMT_EXPR, place)->value = before;
    kernel_stmt *loop;
    kernel_expr *element = (over->type->kind == TYPE_ARRAY ? range_of_array : range_of_object)(
        p, over, place, out, &loop);
    stmt_list inner;
    list_new(&inner);
    const kernel_type *type = auto_deduce(p, d.type, element);
    if (type->kind == TYPE_REFERENCE) {
        declare_reference(p, &d, type, element, &inner);
    } else {
        kernel_var *v = local_new(p, d.name, type, d.place);
        local_declare(p, &d, v);
        kernel_stmt *made = stmt_add(p, &inner, STMT_DECLARE, d.place);
        made->var = v;
        made->value = expr_convert(p, element, type->plain, d.name->text);
    }
    parse_loop_body(p, loop);
    *inner.end = loop->body;
    loop->body = inner.first;
}

static void parse_for(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    stmt_list inner;
    kernel_stmt *block;
    const int32_t unroll = p->unroll;
    scope *mine = open_head(p, out, place, &inner, &block);
    expect(p, TOKEN_LPAREN, "after 'for'");
    if (at_declaration(p) && at_range(p)) {
        parse_range(p, &inner, place);
        close_head(p, out, mine, &inner, block);
        return;
    }
    if (at_declaration(p)) {
        specifiers s;
        parse_specifiers(p, &s);
        parse_declarators(p, &s, &inner);
        expect(p, TOKEN_SEMICOLON, "in 'for'");
    } else if (!accept(p, TOKEN_SEMICOLON)) {
        add_expression(p, &inner, parse_expression(p));
        expect(p, TOKEN_SEMICOLON, "in 'for'");
    }
    kernel_stmt *s = kernel_arena_new(p->arena, sizeof *s);
    s->kind = STMT_LOOP;
    s->place = place;
    if (!at(p, TOKEN_SEMICOLON))
        s->value = temporary_finish(p, expr_bool(p, parse_expression(p)));
    expect(p, TOKEN_SEMICOLON, "in 'for'");
    if (!at(p, TOKEN_RPAREN)) {
        kernel_expr *e = object_discard(p, parse_expression(p));
        s->step = temporary_finish(p, e->type->kind == TYPE_VOID ? e : expr_value(p, e));
    }
    expect(p, TOKEN_RPAREN, "after 'for'");
    LIST_ADD(inner.end, s, next);
    p->unroll = unroll;
    parse_loop_body(p, s);
    close_head(p, out, mine, &inner, block);
}

/* ---- switch ----------------------------------------------------------------------------------- */

typedef struct switch_state {
    kernel_stmt *s;
    uint32_t room, waiting; /* cases from `waiting` on have no statement yet */
    stmt_list body;
} switch_state;

static void parse_label(parser *p, void *context)
{
    switch_state *w = context;
    kernel_stmt *s = w->s;
    const kernel_place place = p->t->place;
    kernel_case made = {.is_default = p->t->keyword == KEYWORD_default};
    p->t++;
    if (!made.is_default) {
        kernel_expr *e = parse_constant(p);
        if (!type_is_integer(e->type) || e->kind != EXPR_CONST)
            parser_fail(p, place, "the value of a case is not an integer constant");
        made.value = fold_wrap(s->value->type->kind, e->value.integer);
    }
    expect(p, TOKEN_COLON, "after a case");
    for (uint32_t i = 0; i < s->n_cases; i++)
        if (s->cases[i].is_default == made.is_default && s->cases[i].value == made.value)
            parser_fail(p, place, "this case is there twice");
    ARENA_ADD(p->arena, s->cases, s->n_cases, w->room, made);
}

static void parse_switch(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    stmt_list inner;
    kernel_stmt *block;
    scope *mine = open_head(p, out, place, &inner, &block);
    expect(p, TOKEN_LPAREN, "after 'switch'");
    kernel_expr *e = parse_expression(p);
    e = temporary_finish(p, expr_value(p, convert_operand(p, e)));
    expect(p, TOKEN_RPAREN, "after 'switch'");
    if (!type_is_integer(e->type))
        parser_fail(p, place, "'switch' takes an integer, not '%s'", type_name(p, e->type));
    switch_state w = {.s = stmt_add(p, &inner, STMT_SWITCH, place)};
    w.s->value = expr_cast(p, e, type_promote(p, e->type), place);
    list_new(&w.body);
    expect(p, TOKEN_LBRACE, "after 'switch (...)'");
    parser_down(p);
    p->switches++;
    scope *const break_to = p->break_to;
    p->break_to = p->scope;
    p->scope = scope_open(p, p->scope, true);
    scope *const body = p->scope;
    while (!at(p, TOKEN_RBRACE) && !at(p, TOKEN_END)) {
        if (at_word(p, KEYWORD_case) || at_word(p, KEYWORD_default)) {
            const kernel_token *from = p->t;
            if (!parser_guard(p, parse_label, &w))
                p->t = from->keyword && p->t == from ? from + 1 : p->t;
            continue;
        }
        kernel_stmt **before = w.body.end;
        parse_guarded(p, &w.body);
        if (*before)
            for (; w.waiting < w.s->n_cases; w.waiting++)
                w.s->cases[w.waiting].from = *before;
    }
    lifetime_end(p, body, &w.body);
    scope_close(p, body);
    p->break_to = break_to;
    p->switches--;
    parser_up(p);
    expect(p, TOKEN_RBRACE, "at the end of 'switch'");
    w.s->body = w.body.first;
    close_head(p, out, mine, &inner, block);
}

/* ---- the rest --------------------------------------------------------------------------------- */

static void parse_return(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    kernel_function *f = p->current->function;
    const kernel_type *result = p->current->result;
    kernel_expr *value = NULL;
    const kernel_var *returned = NULL; /* a variable that becomes the result, instead of a copy */
    if (!at(p, TOKEN_SEMICOLON)) {
        const kernel_type *braced = result;
        kernel_expr *e = at(p, TOKEN_LBRACE) ? parse_braces(p, &braced) : parse_expression(p);
        if (result->kind == TYPE_AUTO)
            p->current->result = f->result = result = expr_value(p, e)->type;
        if (result->kind == TYPE_VOID && e->type->kind == TYPE_VOID) {
            stmt_add(p, out, STMT_EXPR, place)->value = temporary_finish(p, e);
        } else if (result->kind == TYPE_VOID) {
            parser_fail(p, place, "'%s' returns nothing, but a value is returned", f->source_name);
        } else {
            if (e->kind == EXPR_VAR && e->as.var->storage == STORE_LOCAL &&
                e->type->plain == result->plain && object_copies(p, e->type))
                returned = e->as.var;
            value = returned ? expr_value(p, e)
                             : expr_convert(p, e, result, "the value that is returned");
            value = temporary_finish(p, value);
        }
    } else if (result->kind == TYPE_AUTO) {
        p->current->result = f->result = type_word_of(p, WORD_VOID);
    } else if (result->kind != TYPE_VOID) {
        parser_fail(p, place, "'%s' returns '%s', but no value is returned", f->source_name,
                    type_name(p, result));
    }
    if (lifetime_any(p->scope, p->body->parent)) {
        kernel_expr *before = NULL;
        value = value ? expr_once(p, value, &before) : NULL;
        if (before)
            stmt_add(p, out, STMT_EXPR, place)->value = before;
        lifetime_leave(p, p->body->parent, returned, out);
    }
    stmt_add(p, out, STMT_RETURN, place)->value = value;
    expect(p, TOKEN_SEMICOLON, "after 'return'");
}

static void parse_jump(parser *p, stmt_list *out)
{
    const bool is_break = p->t->keyword == KEYWORD_break;
    if (!p->loops && !(is_break && p->switches))
        parser_fail(p, p->t->place, "%s outside of a loop", token_text(p, p->t));
    lifetime_leave(p, is_break ? p->break_to : p->continue_to, NULL, out);
    stmt_add(p, out, is_break ? STMT_BREAK : STMT_CONTINUE, (p->t++)->place);
    expect(p, TOKEN_SEMICOLON, is_break ? "after 'break'" : "after 'continue'");
}

void parse_text(parser *p, const char *c, kernel_place place, stmt_list *out)
{
    kernel_tokens tokens;
    const kernel_options plain = {.skip_unknown = true};
    kernel_file *file =
        kernel_source_add(&p->tree->unit.source, "<PTX>", NULL, c, strlen(c), place);
    if (!file || kernel_preprocess(&p->tree->unit, file, &plain, &tokens) != IG_OK)
        kernel_arena_fail(p->arena, "inline PTX");
    for (uint32_t i = 0; i < tokens.count; i++)
        tokens.at[i].place = place;
    const kernel_token *const back = p->t;
    p->t = tokens.at;
    while (!at(p, TOKEN_END))
        parse_statement(p, out);
    p->t = back;
}

static void parse_asm_block(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    kernel_stmt *s = stmt_add(p, out, STMT_BLOCK, place);
    stmt_list inner;
    list_new(&inner);
    p->scope = scope_open(p, p->scope, true);
    scope *mine = p->scope;
    parse_asm(p, place, &inner);
    scope_close(p, mine);
    s->body = inner.first;
}

static void parse_goto(parser *p, stmt_list *out)
{
    const kernel_place place = (p->t++)->place;
    if (lifetime_any(p->scope, p->body->parent))
        parser_fail_do(p, place, "use loops, break and return",
                       "'goto' where an object has a destructor is not supported");
    kernel_stmt *s = stmt_add(p, out, STMT_GOTO, place);
    s->label = expect_name(p, "a label");
    p->current->jumps = true;
    expect(p, TOKEN_SEMICOLON, "after 'goto'");
}

static void parse_pragma(parser *p)
{
    const bool unroll = p->t->as.name == name_of(p, "unroll");
    p->t++;
    p->unroll = unroll ? UNROLL_ALL : UNROLL_NEVER;
    if (unroll && !at(p, TOKEN_PRAGMA_END)) {
        const int64_t n = fold_integer(p, parse_constant(p), "'#pragma unroll'");
        p->unroll = n < 1 || n > 65536 ? UNROLL_ALL : (int32_t)n;
    }
    while (!at(p, TOKEN_PRAGMA_END) && !at(p, TOKEN_END))
        p->t++;
    accept(p, TOKEN_PRAGMA_END);
}

static bool parse_keyword_statement(parser *p, stmt_list *out)
{
    switch (p->t->keyword) {
    case KEYWORD_if: parse_if(p, out); break;
    case KEYWORD_for: parse_for(p, out); break;
    case KEYWORD_while: parse_while(p, out); break;
    case KEYWORD_do: parse_do(p, out); break;
    case KEYWORD_switch: parse_switch(p, out); break;
    case KEYWORD_return: parse_return(p, out); break;
    case KEYWORD_break:
    case KEYWORD_continue: parse_jump(p, out); break;
    case KEYWORD_asm:
    case KEYWORD___asm:
    case KEYWORD___asm__: parse_asm_block(p, out); break;
    case KEYWORD_using:
        p->t++;
        parse_using(p);
        break;
    case KEYWORD_namespace:
        if (p->t[1].kind != TOKEN_NAME || p->t[2].kind != TOKEN_ASSIGN)
            parser_fail(p, p->t->place, "a namespace inside a function");
        p->t++;
        parse_namespace(p, false);
        break;
    case KEYWORD_static_assert:
        p->t++;
        parse_static_assert(p);
        break;
    case KEYWORD_goto: parse_goto(p, out); break;
    case KEYWORD_else: parser_fail(p, p->t->place, "'else' without 'if'");
    case KEYWORD_case:
    case KEYWORD_default:
        parser_fail_do(p, p->t->place, "move it out of the inner block",
                       "%s is not directly in the braces of a 'switch'", token_text(p, p->t));
    default: return false;
    }
    return true;
}

static void parse_statement(parser *p, stmt_list *out)
{
    while (at(p, TOKEN_PRAGMA))
        parse_pragma(p);
    while (at(p, TOKEN_LBRACKET) && p->t[1].kind == TOKEN_LBRACKET)
        p->t = skip_group(p->t); /* [[fallthrough]], [[likely]] */
    if (accept(p, TOKEN_SEMICOLON))
        return;
    parser_down(p);
    if (at(p, TOKEN_LBRACE)) {
        parse_block(p, out);
    } else if (at(p, TOKEN_NAME) && p->t->keyword && parse_keyword_statement(p, out)) {
        /* done */
    } else if (at(p, TOKEN_NAME) && !p->t->keyword && p->t[1].kind == TOKEN_COLON) {
        kernel_stmt *s = stmt_add(p, out, STMT_LABEL, p->t->place);
        s->label = p->t->as.name;
        p->current->jumps = true;
        p->t += 2;
        if (!at(p, TOKEN_RBRACE))
            parse_statement(p, out);
    } else if (at_declaration(p)) {
        parse_declaration(p, out);
    } else {
        add_expression(p, out, parse_expression(p));
        expect(p, TOKEN_SEMICOLON, "after an expression");
    }
    parser_up(p);
}
