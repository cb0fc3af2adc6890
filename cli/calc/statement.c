/* The calculator's second step, part three: expressions -> statements.
 *
 *   statement   expressions [ '=' expressions ]  |  target operator '=' expressions  |  name '(' params ')' '=' expression
 *               'def' name '(' params ')' ':' block  |  'return' expressions
 *               'for' names 'in' expressions ':' block  |  'while' expression ':' block
 *               'if' expression ':' block { 'elif' expression ':' block } [ 'else' ':' block ]
 *               'assert' expression [ ',' message ]
 *   expressions expression { ',' expression } [ ',' ]           a tuple if there is a comma
 *   block       the rest of the line, or the lines below that are indented further
 *
 * A newline after an operator does not end the statement. Every function returns NULL after a mistake,
 * and the mistake stays. */
#include "calc/parser.h"

#include <string.h>

static bool at_end(const parser *p) { return p->now->kind == T_END || p->now->kind == T_STOP; }

static const expr *parse_expressions(parser *p)
{
    const expr *first = parse_whole(p);
    if (!first || !at_symbol(p, ","))
        return first;
    expr *n = node_new(p, N_TUPLE, first->where);
    child_list items = {n, NULL};
    bool more = child_add(p, &items, first);
    while (more && take_symbol(p, ",") && !at_end(p) && !at_symbol(p, "="))
        more = child_add(p, &items, parse_whole(p));
    return more ? n : NULL;
}

/* ---- assignment ------------------------------------------------------------------------------ */

static bool check_target(parser *p, const expr *target)
{
    if (target->kind == N_NAME || (target->kind == N_INDEX && target->child->kind == N_NAME))
        return true;
    return mistake_set(p->wrong, target->where,
                       "only a name, or x[...], can be on the left of '='");
}

static const expr *parse_assignment(parser *p, const expr *left)
{
    expr *n = node_new(p, N_ASSIGN, left->where);
    child_list parts = {n, NULL};
    bool several = left->kind == N_TUPLE || left->kind == N_LIST;
    take_operator(p);
    const expr *right = parse_expressions(p);
    if (right && at_symbol(p, "=")) { /* a = b = 1 */
        mistake_set(p->wrong, p->now->where, "one '=' is enough; write two statements");
        return NULL;
    }
    if (!child_add(p, &parts, right))
        return NULL;
    for (const expr *t = several ? left->child : left; t; t = several ? t->next : NULL)
        if (!check_target(p, t) || !child_add(p, &parts, t))
            return NULL;
    if (!n->child->next) {
        mistake_set(p->wrong, left->where, "only a name can be on the left of '='");
        return NULL;
    }
    /* "a, = x" takes one item apart; "a = x" does not. */
    n->literal = value_bool(several);
    return n;
}

/* x += y is x = x + (y). */
static const expr *parse_augmented(parser *p, const expr *target, const operation *op)
{
    span where = take_operator(p);
    const expr *right = check_target(p, target) ? parse_expressions(p) : NULL;
    if (!right)
        return NULL;
    expr *n = node_new(p, N_ASSIGN, target->where);
    child_list parts = {n, NULL};
    n->literal = value_bool(false);
    const expr *sum = expr_operation(p, N_BINARY, op, where, target, right);
    return child_add(p, &parts, sum) && child_add(p, &parts, target) ? n : NULL;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Makes a definition of a body and a list of parameters. */
static const expr *function_new(parser *p, const expr *name, const expr *body, const expr *params)
{
    expr *lambda = node_new(p, N_LAMBDA, name->where), *n = node_new(p, N_FUNCTION, name->where);
    child_list parts = {lambda, NULL}, one = {n, NULL};
    n->name = lambda->name = name->name;
    if (!child_add(p, &parts, body))
        return NULL;
    for (const expr *a = params; a; a = a->next) {
        expr *param = node_new(p, a->kind, a->where);
        *param = *a;
        if (a->kind == N_STAR && !a->name && a->child->kind == N_NAME)
            param->name = a->child->name;
        if (!param->name || (a->kind != N_NAME && a->kind != N_KEYWORD && a->kind != N_STAR)) {
            mistake_set(p->wrong, a->where, "a parameter is a name: f(x, y=1) = ...");
            return NULL;
        }
        if (!child_add(p, &parts, param))
            return NULL;
    }
    return child_add(p, &one, lambda) ? n : NULL;
}

/* f(x) = expression */
static const expr *parse_short_function(parser *p, const expr *call)
{
    take_operator(p);
    const expr *body = parse_expressions(p);
    return body ? function_new(p, call, body, call->child) : NULL;
}

static const expr *parse_block(parser *p, span header);

static const expr *parse_def(parser *p)
{
    const span where = p->now++->where;
    if (p->now->kind != T_NAME)
        return expected(p, "the name of the function");
    expr *name = node_new(p, N_NAME, p->now->where), *list = node_new(p, N_TUPLE, where);
    name->name = p->now++->u.s;
    child_list params = {list, NULL};
    if (!take_symbol(p, "("))
        return expected(p, "'('");
    if (!parse_params(p, &params, ")"))
        return NULL;
    const expr *body = parse_block(p, where);
    return body ? function_new(p, name, body, list->child) : NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* How far the line of this place is indented. */
static int indentation(const parser *p, span where)
{
    int start = where.at, n = 0;
    while (start > 0 && p->source[start - 1] != '\n')
        start--;
    while (p->source[start + n] == ' ' || p->source[start + n] == '\t')
        n++;
    return n;
}

static bool at_newline(const parser *p)
{
    return p->now->kind == T_STOP && p->source[p->now->where.at] == '\n';
}

static const expr *parse_statement(parser *p);

/* The statements after ':' up to the end of the line. */
static const expr *parse_line(parser *p, expr *block)
{
    child_list statements = {block, NULL};
    while (p->now->kind != T_END && !at_newline(p)) {
        if (p->now->kind == T_STOP)
            p->now++;
        else if (!child_add(p, &statements, parse_statement(p)))
            return NULL;
    }
    return block;
}

/* ':' and the statements that belong to the header. */
static const expr *parse_block(parser *p, span header)
{
    if (!take_symbol(p, ":"))
        return expected(p, "':'");
    expr *block = node_new(p, N_BLOCK, header);
    if (!nesting_begin(p))
        return NULL;
    if (!at_newline(p) && p->now->kind != T_END) {
        const expr *n = parse_line(p, block);
        p->nesting--;
        return n;
    }
    const int outside = indentation(p, header);
    child_list statements = {block, NULL};
    const token *end = p->now;
    for (;;) {
        while (p->now->kind == T_STOP)
            p->now++;
        if (p->now->kind == T_END || indentation(p, p->now->where) <= outside)
            break;
        if (!child_add(p, &statements, parse_statement(p)))
            return NULL;
        end = p->now;
    }
    if (!block->child)
        return expected(p, "an indented line");
    p->now = end; /* the end of the line, as after any statement */
    p->nesting--;
    return block;
}

/* True if the next line has the indentation of the header and begins with this word. Then the tokens before the word
 * are consumed. */
static bool next_line_begins(parser *p, span header, const char *word)
{
    const token *before = p->now;
    while (p->now->kind == T_STOP)
        p->now++;
    if (at_word(p, word) && indentation(p, p->now->where) == indentation(p, header))
        return true;
    p->now = before;
    return false;
}

static const expr *parse_if(parser *p, span header)
{
    expr *n = node_new(p, N_IF, p->now++->where);
    child_list parts = {n, NULL};
    if (!child_add(p, &parts, parse_whole(p)) || !child_add(p, &parts, parse_block(p, header)))
        return NULL;
    if (next_line_begins(p, header, "elif"))
        return child_add(p, &parts, parse_if(p, header)) ? n : NULL;
    if (!next_line_begins(p, header, "else"))
        return n;
    p->now++;
    return child_add(p, &parts, parse_block(p, header)) ? n : NULL;
}

static const expr *parse_for(parser *p)
{
    expr *n = node_new(p, N_FOR, p->now++->where), *names = node_new(p, N_TUPLE, n->where);
    child_list parts = {n, NULL}, targets = {names, NULL};
    if (!parse_targets(p, &targets))
        return NULL;
    if (!take_word(p, "in"))
        return expected(p, "'in'");
    if (!child_add(p, &parts, parse_expressions(p)) ||
        !child_add(p, &parts, parse_block(p, n->where)))
        return NULL;
    for (const expr *t = names->child; t; t = t->next)
        if (!child_add(p, &parts, t))
            return NULL;
    return n;
}

static const expr *parse_while(parser *p)
{
    expr *n = node_new(p, N_WHILE, p->now++->where);
    child_list parts = {n, NULL};
    return child_add(p, &parts, parse_whole(p)) && child_add(p, &parts, parse_block(p, n->where))
               ? n
               : NULL;
}

static const expr *parse_return(parser *p)
{
    expr *n = node_new(p, N_RETURN, p->now++->where);
    child_list one = {n, NULL};
    return child_add(p, &one, at_end(p) ? node_new(p, N_LITERAL, n->where) : parse_expressions(p))
               ? n
               : NULL;
}

static const expr *parse_assert(parser *p)
{
    expr *n = node_new(p, N_ASSERT, p->now++->where);
    child_list parts = {n, NULL};
    if (!child_add(p, &parts, parse_whole(p)))
        return NULL;
    return !take_symbol(p, ",") || child_add(p, &parts, parse_whole(p)) ? n : NULL;
}

/* import numpy as np: every op is already there. */
static const expr *parse_import(parser *p)
{
    const expr *n = node_new(p, N_NOTHING, p->now->where);
    while (!at_end(p))
        p->now++;
    return n;
}

static const expr *parse_simple(parser *p)
{
    const expr *n = parse_expressions(p);
    const operation *augmented = n ? find_augmented(p) : NULL;
    if (augmented)
        n = parse_augmented(p, n, augmented);
    else if (n && at_symbol(p, "="))
        n = n->kind == N_CALL ? parse_short_function(p, n) : parse_assignment(p, n);
    return n;
}

static const expr *parse_statement(parser *p)
{
    const expr *n = at_word(p, "for")      ? parse_for(p)
                    : at_word(p, "while")  ? parse_while(p)
                    : at_word(p, "if")     ? parse_if(p, p->now->where)
                    : at_word(p, "def")    ? parse_def(p)
                    : at_word(p, "return") ? parse_return(p)
                    : at_word(p, "assert") ? parse_assert(p)
                    : at_word(p, "import") || at_word(p, "from") || at_word(p, "pass")
                        ? parse_import(p)
                        : parse_simple(p);
    if (n && !at_end(p))
        return expected(p, "an operator or the end of the statement");
    return n;
}

const expr *parse(arena *a, const char *source, mistake *m)
{
    parser p = {.memory = a, .source = source, .wrong = m};
    p.first = p.now = lex(a, source, m);
    if (!p.now)
        return NULL;
    expr *program = node_new(&p, N_TUPLE, (span){0, 0});
    child_list statements = {program, NULL};
    while (p.now->kind != T_END) {
        if (p.now->kind == T_STOP) {
            p.now++;
            continue;
        }
        if (!child_add(&p, &statements, parse_statement(&p)))
            return NULL;
    }
    return program->child;
}
