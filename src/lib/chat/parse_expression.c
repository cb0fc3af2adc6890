/* Expressions of chat templates, with the precedences of Jinja: see run.h. */
#include "lib/chat/run.h"

#include <stdlib.h>
#include <string.h>

static node *or_parse(parser *p);
static node *unary_parse(parser *p, bool filters);

static bool depth_enter(parser *p)
{
    if (++p->depth <= TEMPLATE_DEPTH_MOST)
        return true;
    parse_fail(p, "expressions are nested more than %d deep", TEMPLATE_DEPTH_MOST);
    return false;
}

/* A node with two operands. */
static node *pair_new(parser *p, node_kind kind, int op, node *a, node *b)
{
    node *n = chat_node_new(p, kind);
    if (!n)
        return NULL;
    n->op = op;
    n->a = a;
    n->b = b;
    return n;
}

static node *constant_new(parser *p, value v)
{
    node *n = chat_node_new(p, NODE_CONSTANT);
    if (n)
        n->constant = v;
    return n;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* The arguments of a call, a filter or a test: (a, b=1, *c, **d). */
static void arguments_parse(parser *p, node *n)
{
    chat_expect(p, '(');
    while (n && !p->failed && !next_is(p, ')')) {
        if (take(p, '*')) {
            if (n->c || n->d)
                parse_fail(p, "two lists of arguments in one call");
            n->c = chat_expression(p, true);
        } else if (take(p, OPERATOR('*', '*'))) {
            if (n->d)
                parse_fail(p, "two dicts of arguments in one call");
            n->d = chat_expression(p, true);
        } else if (p->at->kind == TOKEN_NAME && p->at[1].kind == TOKEN_OPERATOR &&
                   p->at[1].op == '=') {
            named_node one = {.name = p->at->s};
            p->at += 2;
            one.value = chat_expression(p, true);
            named_add(p, &n->named, one);
        } else {
            if (n->c || n->d || n->named.n)
                parse_fail(p, "an argument without a name follows one with a name");
            node_add(p, &n->args, chat_expression(p, true));
        }
        if (!take(p, ','))
            break;
    }
    chat_expect(p, ')');
}

static node *call_parse(parser *p, node *of)
{
    node *n = chat_node_new(p, NODE_CALL);
    if (n)
        n->a = of;
    arguments_parse(p, n);
    return n;
}

/* The name of a filter or a test, which may have dots. */
static node *filter_one(parser *p, node *of)
{
    node *n = chat_node_new(p, NODE_FILTER);
    const string name = chat_expect_name(p);
    if (!n || p->failed)
        return NULL;
    n->a = of;
    n->name = name;
    n->filter = filter_find(name);
    if (next_is(p, '('))
        arguments_parse(p, n);
    return n;
}

node *parse_filters(parser *p, node *of, bool inline_)
{
    for (; !p->failed && (inline_ || take(p, '|')); inline_ = false)
        of = filter_one(p, of);
    return of;
}

static node *postfix_parse(parser *p, node *n);

static node *test_parse(parser *p, node *of)
{
    const bool negated = take_name(p, "not");
    node *n = chat_node_new(p, NODE_TEST);
    const string name = chat_expect_name(p);
    if (!n || p->failed)
        return NULL;
    n->a = of;
    n->name = name;
    n->test = test_find(name);
    const bool starts = p->at->kind == TOKEN_NAME || p->at->kind == TOKEN_STRING ||
                        p->at->kind == TOKEN_NUMBER || next_is(p, '[') || next_is(p, '{');
    if (next_is(p, '('))
        arguments_parse(p, n);
    else if (next_name_is(p, "is"))
        return parse_fail(p, "tests cannot be chained with 'is'");
    else if (starts && !next_name_is(p, "else") && !next_name_is(p, "or") &&
             !next_name_is(p, "and"))
        node_add(p, &n->args, postfix_parse(p, parse_primary(p)));
    return negated ? pair_new(p, NODE_NOT, 0, n, NULL) : n;
}

/* ---- subscripts ----------------------------------------------------------------------------- */

/* One index, or start:stop:step. */
static node *index_parse(parser *p)
{
    node *first = next_is(p, ':') ? NULL : chat_expression(p, true);
    if (!take(p, ':'))
        return first;
    node *n = pair_new(p, NODE_SLICE, 0, first, NULL);
    if (!n)
        return NULL;
    if (!next_is(p, ':') && !next_is(p, ']') && !next_is(p, ','))
        n->b = chat_expression(p, true);
    if (take(p, ':') && !next_is(p, ']') && !next_is(p, ','))
        n->c = chat_expression(p, true);
    return n;
}

static node *subscript_parse(parser *p, node *of)
{
    if (take(p, '.')) {
        if (p->at->kind == TOKEN_NUMBER && p->at->number.kind == VALUE_INT) {
            const value v = (p->at++)->number;
            return pair_new(p, NODE_ITEM, 0, of, constant_new(p, v));
        }
        node *n = pair_new(p, NODE_ATTRIBUTE, 0, of, NULL);
        const string name = chat_expect_name(p);
        if (n)
            n->name = name;
        return n;
    }
    chat_expect(p, '[');
    node *index = index_parse(p);
    if (next_is(p, ',')) {
        node *all = chat_node_new(p, NODE_TUPLE);
        if (all)
            node_add(p, &all->args, index);
        while (all && take(p, ',') && !next_is(p, ']'))
            node_add(p, &all->args, index_parse(p));
        index = all;
    }
    chat_expect(p, ']');
    return pair_new(p, NODE_ITEM, 0, of, index);
}

/* Counts the links of a chain such as a.b.c as depth, because evaluation nests them. */
static node *postfix_parse(parser *p, node *n)
{
    int links = 0;
    while (!p->failed && (next_is(p, '.') || next_is(p, '[') || next_is(p, '('))) {
        if (++links > TEMPLATE_DEPTH_MOST)
            return parse_fail(p, "expressions are nested more than %d deep", TEMPLATE_DEPTH_MOST);
        n = next_is(p, '(') ? call_parse(p, n) : subscript_parse(p, n);
    }
    return n;
}

static node *filter_expression_parse(parser *p, node *n)
{
    int links = 0;
    while (!p->failed) {
        if (++links > TEMPLATE_DEPTH_MOST)
            return parse_fail(p, "expressions are nested more than %d deep", TEMPLATE_DEPTH_MOST);
        if (take(p, '|'))
            n = filter_one(p, n);
        else if (take_name(p, "is"))
            n = test_parse(p, n);
        else if (next_is(p, '('))
            n = call_parse(p, n);
        else
            break;
    }
    return n;
}

/* ---- primaries ------------------------------------------------------------------------------ */

static node *items_parse(parser *p)
{
    node *n = chat_node_new(p, NODE_LIST);
    chat_expect(p, '[');
    while (n && !p->failed && !next_is(p, ']')) {
        node_add(p, &n->args, chat_expression(p, true));
        if (!take(p, ','))
            break;
    }
    chat_expect(p, ']');
    return n;
}

static node *pairs_parse(parser *p)
{
    node *n = chat_node_new(p, NODE_DICT);
    chat_expect(p, '{');
    while (n && !p->failed && !next_is(p, '}')) {
        node_add(p, &n->args, chat_expression(p, true));
        chat_expect(p, ':');
        node_add(p, &n->args, chat_expression(p, true));
        if (!take(p, ','))
            break;
    }
    chat_expect(p, '}');
    return n;
}

static node *name_parse(parser *p)
{
    const string name = (p->at++)->s;
    if (string_is(name, "true") || string_is(name, "True"))
        return constant_new(p, value_bool(true));
    if (string_is(name, "false") || string_is(name, "False"))
        return constant_new(p, value_bool(false));
    if (string_is(name, "none") || string_is(name, "None"))
        return constant_new(p, value_none());
    node *n = chat_node_new(p, NODE_NAME);
    if (!n)
        return NULL;
    n->name = name;
    n->symbol = parse_symbol(p, name);
    p->uses_varargs |= n->symbol == p->t->symbol_varargs;
    p->uses_kwargs |= n->symbol == p->t->symbol_kwargs;
    return n;
}

/* Strings next to each other are one string. */
static node *string_parse(parser *p)
{
    string all = (p->at++)->s;
    while (p->at->kind == TOKEN_STRING) {
        const string next = (p->at++)->s;
        char *at = chat_arena_get(&p->t->memory, all.n + next.n + 1);
        if (!at)
            return parse_fail(p, "out of memory");
        memcpy(at, all.at, all.n);
        memcpy(at + all.n, next.at, next.n);
        all = (string){at, NULL, all.n + next.n};
    }
    return constant_new(p, value_string(all));
}

node *parse_primary(parser *p)
{
    node *n = NULL;
    if (!depth_enter(p))
        return NULL;
    if (p->at->kind == TOKEN_NAME) {
        n = name_parse(p);
    } else if (p->at->kind == TOKEN_STRING) {
        n = string_parse(p);
    } else if (p->at->kind == TOKEN_NUMBER) {
        const value v = (p->at++)->number;
        n = constant_new(p, v);
    } else if (take(p, '(')) {
        n = next_is(p, ')') ? chat_node_new(p, NODE_TUPLE) : parse_tuple(p, true);
        chat_expect(p, ')');
    } else if (next_is(p, '[')) {
        n = items_parse(p);
    } else if (next_is(p, '{')) {
        n = pairs_parse(p);
    } else if (!p->failed) {
        if (p->at->kind == TOKEN_OPERATOR)
            parse_fail(p,
                       p->at->op > 255 ? "expected a value, found '%c%c'"
                                       : "expected a value, found '%c'",
                       p->at->op & 255, p->at->op >> 8);
        else
            parse_fail(p, "expected a value, found the end of the tag");
    }
    p->depth--;
    return n;
}

/* ---- operators ------------------------------------------------------------------------------ */

static node *unary_parse(parser *p, bool filters)
{
    node *n = NULL;
    if (!depth_enter(p))
        return NULL;
    if (take(p, '-'))
        n = pair_new(p, NODE_NEGATE, 0, unary_parse(p, false), NULL);
    else if (take(p, '+'))
        n = pair_new(p, NODE_PLUS, 0, unary_parse(p, false), NULL);
    else
        n = parse_primary(p);
    n = postfix_parse(p, n);
    if (filters)
        n = filter_expression_parse(p, n);
    p->depth--;
    return n;
}

/* Operators with two operands, those that bind strongest first; '~' is between '*' and '+'. */
static const int levels[][5] = {
    {OPERATOR('*', '*')}, {'*', '/', OPERATOR('/', '/'), '%'}, {'~'}, {'+', '-'}};

static int operator_take(parser *p, int level)
{
    for (int i = 0; i < 5 && levels[level][i]; i++)
        if (take(p, levels[level][i]))
            return levels[level][i];
    return 0;
}

/* A chain of operators of one level. Long chains are deep trees, which is limited. */
static node *binary_parse(parser *p, int level)
{
    if (level < 0)
        return unary_parse(p, true);
    node *left = binary_parse(p, level - 1);
    node *all = NULL;
    int op, links = 0;
    while (!p->failed && (op = operator_take(p, level))) {
        node *right = binary_parse(p, level - 1);
        if (op == '~') {
            if (!all && (all = chat_node_new(p, NODE_CONCAT)))
                node_add(p, &all->args, left);
            if (all)
                node_add(p, &all->args, right);
            left = all;
        } else {
            left = pair_new(p, NODE_BINARY, op, left, right);
        }
        if (++links > 4 * TEMPLATE_DEPTH_MOST)
            return parse_fail(p, "an expression has more than %d operators in a row",
                              4 * TEMPLATE_DEPTH_MOST);
    }
    return left;
}

static int comparison_take(parser *p)
{
    static const int ops[] = {
        OPERATOR('=', '='), OPERATOR('!', '='), OPERATOR('>', '='), OPERATOR('<', '='), '<', '>'};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (take(p, ops[i]))
            return ops[i];
    if (take_name(p, "in"))
        return OPERATOR('i', 'n');
    if (next_name_is(p, "not") && p->at[1].kind == TOKEN_NAME && string_is(p->at[1].s, "in")) {
        p->at += 2;
        return OPERATOR('n', 'i');
    }
    return 0;
}

static node *compare_parse(parser *p)
{
    node *left = binary_parse(p, 3), *first = NULL, *last = NULL;
    int op;
    while (!p->failed && (op = comparison_take(p))) {
        node *n = pair_new(p, NODE_COMPARE, op, left, binary_parse(p, 3));
        if (last)
            last->more = n;
        else
            first = n;
        last = n;
    }
    return first ? first : left;
}

static node *not_parse(parser *p)
{
    if (!take_name(p, "not"))
        return compare_parse(p);
    node *n = NULL;
    if (depth_enter(p))
        n = pair_new(p, NODE_NOT, 0, not_parse(p), NULL);
    p->depth--;
    return n;
}

/* Operands of `and` and `or` are lists, so that long chains are not deep. */
static node *and_parse(parser *p)
{
    node *first = not_parse(p), *n = NULL;
    while (!p->failed && take_name(p, "and")) {
        if (!n && (n = chat_node_new(p, NODE_AND)))
            node_add(p, &n->args, first);
        if (n)
            node_add(p, &n->args, not_parse(p));
    }
    return n ? n : first;
}

static node *or_parse(parser *p)
{
    node *first = and_parse(p), *n = NULL;
    while (!p->failed && take_name(p, "or")) {
        if (!n && (n = chat_node_new(p, NODE_OR)))
            node_add(p, &n->args, first);
        if (n)
            node_add(p, &n->args, and_parse(p));
    }
    return n ? n : first;
}

node *chat_expression(parser *p, bool conditional)
{
    node *n = NULL;
    if (!depth_enter(p))
        return NULL;
    n = or_parse(p);
    for (int links = 0; conditional && !p->failed && take_name(p, "if");) {
        node *test = or_parse(p);
        n = pair_new(p, NODE_IF_ELSE, 0, n, test);
        if (n && take_name(p, "else"))
            n->c = chat_expression(p, true);
        if (++links > TEMPLATE_DEPTH_MOST)
            return parse_fail(p, "expressions are nested more than %d deep", TEMPLATE_DEPTH_MOST);
    }
    p->depth--;
    return n;
}

node *parse_tuple(parser *p, bool conditional)
{
    node *first = chat_expression(p, conditional);
    if (!next_is(p, ','))
        return first;
    node *n = chat_node_new(p, NODE_TUPLE);
    if (n)
        node_add(p, &n->args, first);
    while (n && take(p, ',')) {
        const bool ends = p->at->kind != TOKEN_NAME && p->at->kind != TOKEN_STRING &&
                          p->at->kind != TOKEN_NUMBER && !next_is(p, '(') && !next_is(p, '[') &&
                          !next_is(p, '{') && !next_is(p, '-') && !next_is(p, '+');
        if (ends || next_name_is(p, "recursive"))
            break;
        node_add(p, &n->args, chat_expression(p, conditional));
    }
    return n;
}
