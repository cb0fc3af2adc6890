/* The calculator's second step, part one: tokens -> values that operators combine: literals, names, lists, calls, items,
 * attributes.
 *
 *   postfix     primary { '(' arguments ')' | '[' items ']' | '.' name }
 *   primary     number | string | f-string | name | '...' | '(' ... ')' | '[' ... ']' | '[' item 'for' names 'in' values ']'
 *               '{' key ':' value, ... '}'
 *
 * Every function returns NULL after a mistake, and the mistake stays. */
#include "calc/parser.h"

#include <string.h>

/* Python's keywords that have no meaning here, and what to write instead. */
static const struct {
    const char *word, *advice;
} refused_words[] = {
    {"async", "there is nothing to wait for"},
    {"break", "a loop runs to its end; use a condition in its body"},
    {"class", "there are only arrays and functions"},
    {"continue", "a loop runs to its end; use a condition in its body"},
    {"del", "names stay; assign another value"},
    {"global", "a function reads names from outside, and returns its results"},
    {"try", "a mistake ends the program"},
    {"with", "there are no blocks of this kind"},
    {"yield", "return a list"},
};

/* Words that cannot be values. */
static const char *const keywords[] = {"and",    "or",     "not",  "in",    "is",     "if",
                                       "elif",   "else",   "for",  "while", "lambda", "def",
                                       "return", "import", "from", "pass",  "assert"};

/* ---- tokens and nodes ----------------------------------------------------------------------- */

static bool token_is(const token *t, const char *symbol)
{
    return t->kind == T_SYMBOL && strcmp(t->u.s, symbol) == 0;
}

bool at_symbol(const parser *p, const char *symbol) { return token_is(p->now, symbol); }

bool take_symbol(parser *p, const char *symbol)
{
    bool there = at_symbol(p, symbol);
    p->now += there;
    return there;
}

span take_operator(parser *p)
{
    span where = p->now++->where;
    while (p->now->kind == T_STOP && p->source[p->now->where.at] == '\n')
        p->now++;
    return where;
}

bool at_word(const parser *p, const char *word)
{
    return p->now->kind == T_NAME && strcmp(p->now->u.s, word) == 0;
}

bool take_word(parser *p, const char *word)
{
    bool there = at_word(p, word);
    p->now += there;
    return there;
}

/* The position where the text before this token ends. */
static span end_span(const parser *p)
{
    const token *t = p->now;
    while (t > p->first && t[-1].kind == T_STOP)
        t--;
    return t->where;
}

/* True if only ends of statements are left. */
static bool at_last(const parser *p)
{
    const token *t = p->now;
    while (t->kind == T_STOP)
        t++;
    return t->kind == T_END;
}

static const char *advice_for(const token *t)
{
    for (size_t i = 0; t->kind == T_NAME && i < sizeof refused_words / sizeof *refused_words; i++)
        if (strcmp(refused_words[i].word, t->u.s) == 0)
            return refused_words[i].advice;
    return NULL;
}

bool is_keyword(const token *t)
{
    for (size_t i = 0; t->kind == T_NAME && i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(keywords[i], t->u.s) == 0)
            return true;
    return false;
}

const expr *expected(parser *p, const char *what)
{
    const token *t = p->now;
    const char *advice = advice_for(t);
    if (advice)
        mistake_set(p->wrong, t->where, "'%s' is not supported: %s", t->u.s, advice);
    else if (t->kind == T_END || t->kind == T_STOP) {
        p->wrong->unfinished = at_last(p);
        mistake_set(p->wrong, end_span(p), "%s is expected here, but the statement ends", what);
    } else
        mistake_set(p->wrong, t->where, "%s is expected, not '%.*s'", what,
                    t->where.n < 40 ? t->where.n : 40, p->source + t->where.at);
    return NULL;
}

expr *node_new(parser *p, expr_kind kind, span where)
{
    expr *n = arena_get(p->memory, sizeof *n);
    n->kind = kind;
    n->where = where;
    n->depth = 1;
    return n;
}

bool child_add(parser *p, child_list *c, const expr *child)
{
    if (!child)
        return false;
    expr *copy = arena_get(p->memory, sizeof *copy);
    *copy = *child;
    copy->next = NULL;
    if (c->last)
        c->last->next = copy;
    else
        c->parent->child = copy;
    c->last = copy;
    if (child->depth >= c->parent->depth)
        c->parent->depth = child->depth + 1;
    if (c->parent->depth > CHAIN_MOST)
        return mistake_set(p->wrong, c->parent->where,
                           "the expression is deeper than %d operators; give its parts names",
                           CHAIN_MOST);
    return true;
}

/* ---- primary -------------------------------------------------------------------------------- */

const expr *parse_literal(parser *p, value literal)
{
    expr *n = node_new(p, N_LITERAL, p->now->where);
    n->literal = literal;
    p->now++;
    return n;
}

static const expr *parse_imaginary(parser *p)
{
    expr *n = node_new(p, N_IMAGINARY, p->now->where);
    n->literal = value_float(p->now->u.f);
    p->now++;
    return n;
}

static const expr *parse_int(parser *p)
{
    uint64_t i = p->now->u.i;
    if (i > INT64_MAX) {
        mistake_set(p->wrong, p->now->where, "the integer does not fit in 64 bits");
        return NULL;
    }
    return parse_literal(p, value_int((int64_t)i));
}

/* Parses items up to the closing bracket; a comma may follow the last. Sets *comma if there was one. */
static bool parse_items(parser *p, child_list *items, const char *close,
                        const expr *(*parse_item)(parser *), bool *comma)
{
    while (!at_symbol(p, close)) {
        if (!child_add(p, items, parse_item(p)))
            return false;
        if (!take_symbol(p, ",")) {
            if (!at_symbol(p, close))
                return expected(p, close[0] == ')' ? "',' or ')'" : "',' or ']'") != NULL;
            break;
        }
        *comma = true;
    }
    p->now++;
    return true;
}

bool parse_targets(parser *p, child_list *targets)
{
    do {
        if (p->now->kind != T_NAME || is_keyword(p->now))
            return expected(p, "a name") != NULL;
        expr *n = node_new(p, N_NAME, p->now->where);
        n->name = p->now++->u.s;
        if (!child_add(p, targets, n))
            return false;
    } while (take_symbol(p, ","));
    return true;
}

/* item for targets in values [if condition]: the part after the item. */
static const expr *parse_each(parser *p, const expr *item)
{
    expr *n = node_new(p, N_EACH, p->now++->where), *names = node_new(p, N_TUPLE, n->where);
    child_list parts = {n, NULL}, targets = {names, NULL};
    if (!parse_targets(p, &targets))
        return NULL;
    if (!take_word(p, "in"))
        return expected(p, "'in'");
    if (!child_add(p, &parts, item) || !child_add(p, &parts, parse_either(p)))
        return NULL;
    if (!child_add(p, &parts,
                   take_word(p, "if") ? parse_either(p) : node_new(p, N_LITERAL, n->where)))
        return NULL;
    for (const expr *t = names->child; t; t = t->next)
        if (!child_add(p, &parts, t))
            return NULL;
    return n;
}

/* An item of a list, or an argument: an expression, *values, or item for x in values. */
static const expr *parse_element(parser *p)
{
    if (at_symbol(p, "*")) {
        expr *n = node_new(p, N_STAR, p->now++->where);
        child_list one = {n, NULL};
        return child_add(p, &one, parse_whole(p)) ? n : NULL;
    }
    const expr *n = parse_whole(p);
    return n && at_word(p, "for") ? parse_each(p, n) : n;
}

static const expr *parse_parentheses(parser *p)
{
    expr *n = node_new(p, N_TUPLE, p->now++->where);
    child_list items = {n, NULL};
    bool comma = false;
    if (!parse_items(p, &items, ")", parse_element, &comma))
        return NULL;
    return n->child && !comma ? n->child : n;
}

static const expr *parse_list(parser *p)
{
    expr *n = node_new(p, N_LIST, p->now++->where);
    child_list items = {n, NULL};
    bool comma;
    if (!parse_items(p, &items, "]", parse_element, &comma))
        return NULL;
    return n->child && n->child->kind == N_EACH && !n->child->next ? n->child : n;
}

static const expr *parse_dict(parser *p)
{
    expr *n = node_new(p, N_DICT, p->now++->where);
    child_list items = {n, NULL};
    while (!at_symbol(p, "}")) {
        if (!child_add(p, &items, parse_whole(p)))
            return NULL;
        if (!take_symbol(p, ":"))
            return expected(p, "':' and the value of the key");
        if (!child_add(p, &items, parse_whole(p)))
            return NULL;
        if (!take_symbol(p, ",") && !at_symbol(p, "}"))
            return expected(p, "',' or '}'");
    }
    p->now++;
    return n;
}

static const expr *parse_format(parser *p)
{
    expr *n = node_new(p, N_FORMAT, p->now++->where);
    child_list parts = {n, NULL};
    while (p->now->kind != T_FORMAT) {
        if (p->now->kind == T_STRING && p->now->where.n == 0) { /* text between fields */
            const value text = {.kind = V_STRING, .u.s = p->now->u.s};
            if (!child_add(p, &parts, parse_literal(p, text)))
                return NULL;
            continue;
        }
        const expr *inner = parse_whole(p);
        if (inner && p->now->kind != T_FIELD)
            return expected(p, "'}'");
        expr *field = inner ? node_new(p, N_KEYWORD, inner->where) : NULL;
        child_list one = {field, NULL};
        if (!field || !child_add(p, &one, inner))
            return NULL;
        field->name = p->now++->u.s;
        if (!child_add(p, &parts, field))
            return NULL;
    }
    p->now++;
    return n;
}

static const expr *parse_name(parser *p)
{
    if (advice_for(p->now) || is_keyword(p->now))
        return expected(p, "a value");
    expr *n = node_new(p, N_NAME, p->now->where);
    n->name = p->now++->u.s;
    return n;
}

static const expr *parse_primary(parser *p)
{
    switch (p->now->kind) {
    case T_INT: return parse_int(p);
    case T_FLOAT: return parse_literal(p, value_float(p->now->u.f));
    case T_IMAGINARY: return parse_imaginary(p);
    case T_STRING: return parse_literal(p, (value){.kind = V_STRING, .u.s = p->now->u.s});
    case T_FORMAT: return parse_format(p);
    case T_NAME: return parse_name(p);
    default: break;
    }
    if (at_symbol(p, "..."))
        return parse_literal(p, (value){.kind = V_REST});
    if (at_symbol(p, "("))
        return parse_parentheses(p);
    if (at_symbol(p, "["))
        return parse_list(p);
    if (at_symbol(p, "{"))
        return parse_dict(p);
    return expected(p, "a value");
}

/* ---- postfix: calls, items, attributes ------------------------------------------------------ */

static const expr *parse_argument(parser *p)
{
    if (p->now->kind != T_NAME || !token_is(p->now + 1, "="))
        return parse_element(p);
    expr *n = node_new(p, N_KEYWORD, p->now->where);
    n->name = p->now->u.s;
    p->now += 2;
    child_list one = {n, NULL};
    return child_add(p, &one, parse_whole(p)) ? n : NULL;
}

/* callee( ...: the callee is a name, the attribute of a receiver, or another expression. */
static const expr *parse_call(parser *p, const expr *callee)
{
    bool method = callee->kind == N_ATTRIBUTE, named = callee->kind == N_NAME;
    if (callee->kind == N_LITERAL || callee->kind == N_LIST || callee->kind == N_TUPLE) {
        mistake_set(p->wrong, p->now->where, "only a function can be called");
        return NULL;
    }
    expr *n = node_new(p,
                       method  ? N_METHOD
                       : named ? N_CALL
                               : N_APPLY,
                       named || method ? callee->where : p->now->where);
    n->name = callee->name;
    child_list items = {n, NULL};
    bool comma;
    p->now++;
    if (!named && !child_add(p, &items, method ? callee->child : callee))
        return NULL;
    if (!parse_items(p, &items, ")", parse_argument, &comma))
        return NULL;
    bool by_keyword = false;
    for (const expr *a = n->child; a; a = a->next) {
        if (by_keyword && a->kind != N_KEYWORD && a->kind != N_STAR) {
            mistake_set(p->wrong, a->where, "an argument by position follows one by keyword");
            return NULL;
        }
        by_keyword |= a->kind == N_KEYWORD;
    }
    return n;
}

/* Parses one of the three parts of a slice; None if it is missing. */
static const expr *parse_bound(parser *p)
{
    if (at_symbol(p, ":") || at_symbol(p, ",") || at_symbol(p, "]"))
        return node_new(p, N_LITERAL, p->now->where);
    return parse_whole(p);
}

static const expr *parse_item(parser *p)
{
    const expr *start = parse_bound(p);
    if (!start || !at_symbol(p, ":"))
        return start && start->where.at == p->now->where.at ? expected(p, "an index") : start;
    expr *n = node_new(p, N_SLICE, p->now->where);
    child_list bounds = {n, NULL};
    if (!child_add(p, &bounds, start))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (take_symbol(p, ":")) {
            if (!child_add(p, &bounds, parse_bound(p)))
                return NULL;
        } else if (!child_add(p, &bounds, node_new(p, N_LITERAL, n->where))) {
            return NULL;
        }
    return n;
}

static const expr *parse_index(parser *p, const expr *receiver)
{
    expr *n = node_new(p, N_INDEX, p->now->where);
    child_list items = {n, NULL};
    bool comma;
    p->now++;
    if (!child_add(p, &items, receiver))
        return NULL;
    if (at_symbol(p, "]"))
        return expected(p, "an index");
    return parse_items(p, &items, "]", parse_item, &comma) ? n : NULL;
}

static const expr *parse_attribute(parser *p, const expr *receiver)
{
    p->now++;
    if (p->now->kind != T_NAME)
        return expected(p, "a name");
    expr *n = node_new(p, N_ATTRIBUTE, p->now->where);
    n->name = p->now++->u.s;
    child_list one = {n, NULL};
    return child_add(p, &one, receiver) ? n : NULL;
}

const expr *parse_postfix(parser *p)
{
    const expr *n = parse_primary(p);
    while (n) {
        if (at_symbol(p, "("))
            n = parse_call(p, n);
        else if (at_symbol(p, "["))
            n = parse_index(p, n);
        else if (at_symbol(p, "."))
            n = parse_attribute(p, n);
        else
            break;
    }
    return n;
}
