/* The calculator's second step: tokens -> statements, with Python's precedence.
 *
 *   statement   expressions [ '=' expressions ]  |  name operator '=' expressions
 *   expressions expression { ',' expression } [ ',' ]           a tuple if there is a comma
 *   expression  unary { operator unary }                        by precedence, to the left
 *   unary       ('+' | '-' | '~') unary  |  postfix [ '**' unary ]
 *   postfix     primary { '(' arguments ')' | '[' items ']' | '.' name }
 *   primary     number | string | name | '...' | '(' ... ')' | '[' ... ']'
 *
 * A newline after an operator does not end the statement. Every function returns NULL after a mistake,
 * and the mistake stays. */
#include "calc/syntax.h"

#include <string.h>

typedef struct parser {
    arena *memory;
    const char *source;
    const token *first, *now;
    int nesting;
    mistake *wrong;
} parser;

enum { COMPARE = 1 };

static const operation binary_operations[] = {
    {"==", COMPARE, "equal", number_equal},
    {"!=", COMPARE, "not_equal", number_not_equal},
    {"<", COMPARE, "less", number_less},
    {"<=", COMPARE, "less_equal", number_less_equal},
    {">", COMPARE, "greater", number_greater},
    {">=", COMPARE, "greater_equal", number_greater_equal},
    {"|", 2, "bitwise_or", number_or},
    {"^", 3, "bitwise_xor", number_xor},
    {"&", 4, "bitwise_and", number_and},
    {"<<", 5, "bitwise_left_shift", number_left_shift},
    {">>", 5, "bitwise_right_shift", number_right_shift},
    {"+", 6, "add", number_add},
    {"-", 6, "subtract", number_subtract},
    {"*", 7, "multiply", number_multiply},
    {"/", 7, "divide", number_divide},
    {"//", 7, "floor_divide", number_floor_divide},
    {"%", 7, "remainder", number_remainder},
    {"@", 7, "matmul", NULL},
    {NULL, 0, NULL, NULL}};

static const operation power = {"**", 8, "pow", number_power};

static const operation unary_operations[] = {{"-", 0, "negative", number_negative},
                                             {"+", 0, "positive", number_positive},
                                             {"~", 0, "bitwise_invert", number_invert},
                                             {NULL, 0, NULL, NULL}};

/* Python's keywords that have no meaning here, and what to write instead. */
static const struct {
    const char *word, *advice;
} refused_words[] = {
    {"and", "use & (and put comparisons in parentheses)"},
    {"or", "use | (and put comparisons in parentheses)"},
    {"not", "use ~ (or logical_not)"},
    {"in", "use isin(x1, x2)"},
    {"is", "use =="},
    {"if", "use where(condition, x1, x2)"},
    {"else", "use where(condition, x1, x2)"},
    {"for", "there are no loops; use ops of whole arrays"},
    {"while", "there are no loops; use ops of whole arrays"},
    {"lambda", "there are no functions"},
    {"def", "there are no functions"},
    {"import", "every op is already there"},
};

static const expr *parse_expression(parser *p);

/* ---- tokens and nodes ----------------------------------------------------------------------- */

static bool token_is(const token *t, const char *symbol)
{
    return t->kind == T_SYMBOL && strcmp(t->u.s, symbol) == 0;
}

static bool at_symbol(const parser *p, const char *symbol) { return token_is(p->now, symbol); }

static bool take_symbol(parser *p, const char *symbol)
{
    bool there = at_symbol(p, symbol);
    p->now += there;
    return there;
}

/* Takes an operator and the newlines after it; returns where the operator is. */
static span take_operator(parser *p)
{
    span where = p->now++->where;
    while (p->now->kind == T_STOP && p->source[p->now->where.at] == '\n')
        p->now++;
    return where;
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

/* Reports that `what` was expected here. */
static const expr *expected(parser *p, const char *what)
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

static expr *expr_new(parser *p, expr_kind kind, span where)
{
    expr *n = arena_get(p->memory, sizeof *n);
    n->kind = kind;
    n->where = where;
    n->depth = 1;
    return n;
}

/* The children of an expression, in the order in which they are added. */
typedef struct child_list {
    expr *parent;
    expr *last;
} child_list;

/* Adds a copy of child to the parent's children, because an expression can be linked into only one list. False if
 * child is NULL or the tree becomes too deep. */
static bool child_add(parser *p, child_list *c, const expr *child)
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

static const operation *find_operation(const parser *p, const operation *table)
{
    while (table->text && !at_symbol(p, table->text))
        table++;
    return table->text ? table : NULL;
}

/* ---- primary -------------------------------------------------------------------------------- */

static const expr *parse_literal(parser *p, value literal)
{
    expr *n = expr_new(p, N_LITERAL, p->now->where);
    n->literal = literal;
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

static const expr *parse_parentheses(parser *p)
{
    expr *n = expr_new(p, N_TUPLE, p->now++->where);
    child_list items = {n, NULL};
    bool comma = false;
    if (!parse_items(p, &items, ")", parse_expression, &comma))
        return NULL;
    return n->child && !comma ? n->child : n;
}

static const expr *parse_list(parser *p)
{
    expr *n = expr_new(p, N_LIST, p->now++->where);
    child_list items = {n, NULL};
    bool comma;
    return parse_items(p, &items, "]", parse_expression, &comma) ? n : NULL;
}

static const expr *parse_name(parser *p)
{
    if (advice_for(p->now))
        return expected(p, "a value");
    expr *n = expr_new(p, N_NAME, p->now->where);
    n->name = p->now++->u.s;
    return n;
}

static const expr *parse_primary(parser *p)
{
    switch (p->now->kind) {
    case T_INT: return parse_int(p);
    case T_FLOAT: return parse_literal(p, value_float(p->now->u.f));
    case T_STRING: return parse_literal(p, (value){.kind = V_STRING, .u.s = p->now->u.s});
    case T_NAME: return parse_name(p);
    default: break;
    }
    if (at_symbol(p, "..."))
        return parse_literal(p, (value){.kind = V_REST});
    if (at_symbol(p, "("))
        return parse_parentheses(p);
    if (at_symbol(p, "["))
        return parse_list(p);
    return expected(p, "a value");
}

/* ---- postfix: calls, items, attributes ------------------------------------------------------ */

static const expr *parse_argument(parser *p)
{
    if (p->now->kind != T_NAME || !token_is(p->now + 1, "="))
        return parse_expression(p);
    expr *n = expr_new(p, N_KEYWORD, p->now->where);
    n->name = p->now->u.s;
    p->now += 2;
    child_list one = {n, NULL};
    return child_add(p, &one, parse_expression(p)) ? n : NULL;
}

/* callee( ...: the callee is a name, or the attribute of a receiver. */
static const expr *parse_call(parser *p, const expr *callee)
{
    bool method = callee->kind == N_ATTRIBUTE;
    if (!method && callee->kind != N_NAME) {
        mistake_set(p->wrong, p->now->where, "only the name of an op can be called");
        return NULL;
    }
    expr *n = expr_new(p, method ? N_METHOD : N_CALL, callee->where);
    n->name = callee->name;
    child_list items = {n, NULL};
    bool comma;
    p->now++;
    if (method && !child_add(p, &items, callee->child))
        return NULL;
    if (!parse_items(p, &items, ")", parse_argument, &comma))
        return NULL;
    bool keywords = false;
    for (const expr *a = n->child; a; a = a->next) {
        if (keywords && a->kind != N_KEYWORD) {
            mistake_set(p->wrong, a->where, "an argument by position follows one by keyword");
            return NULL;
        }
        keywords |= a->kind == N_KEYWORD;
    }
    return n;
}

/* Parses one of the three parts of a slice; None if it is missing. */
static const expr *parse_bound(parser *p)
{
    if (at_symbol(p, ":") || at_symbol(p, ",") || at_symbol(p, "]"))
        return expr_new(p, N_LITERAL, p->now->where);
    return parse_expression(p);
}

static const expr *parse_item(parser *p)
{
    const expr *start = parse_bound(p);
    if (!start || !at_symbol(p, ":"))
        return start && start->where.at == p->now->where.at ? expected(p, "an index") : start;
    expr *n = expr_new(p, N_SLICE, p->now->where);
    child_list bounds = {n, NULL};
    if (!child_add(p, &bounds, start))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (take_symbol(p, ":")) {
            if (!child_add(p, &bounds, parse_bound(p)))
                return NULL;
        } else if (!child_add(p, &bounds, expr_new(p, N_LITERAL, n->where))) {
            return NULL;
        }
    return n;
}

static const expr *parse_index(parser *p, const expr *receiver)
{
    expr *n = expr_new(p, N_INDEX, p->now->where);
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
    expr *n = expr_new(p, N_ATTRIBUTE, p->now->where);
    n->name = p->now++->u.s;
    child_list one = {n, NULL};
    return child_add(p, &one, receiver) ? n : NULL;
}

static const expr *parse_postfix(parser *p)
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

/* ---- operators ------------------------------------------------------------------------------ */

static const expr *expr_operation(parser *p, expr_kind kind, const operation *op, span where,
                                  const expr *left, const expr *right)
{
    expr *n = expr_new(p, kind, where);
    n->op = op;
    child_list operands = {n, NULL};
    if (!child_add(p, &operands, left) || (right && !child_add(p, &operands, right)))
        return NULL;
    return n;
}

static const expr *parse_unary(parser *p);

static const expr *parse_power(parser *p)
{
    const expr *base = parse_postfix(p);
    if (!base || !at_symbol(p, "**"))
        return base;
    span where = take_operator(p);
    const expr *exponent = parse_unary(p);
    return exponent ? expr_operation(p, N_BINARY, &power, where, base, exponent) : NULL;
}

static const expr *parse_sign(parser *p, const operation *op)
{
    span sign = take_operator(p);
    /* The only negative integer whose magnitude does not fit. */
    if (op->text[0] == '-' && p->now->kind == T_INT && p->now->u.i == (uint64_t)1 << 63)
        return parse_literal(p, value_int(INT64_MIN));
    const expr *operand = parse_unary(p);
    return operand ? expr_operation(p, N_UNARY, op, sign, operand, NULL) : NULL;
}

/* All recursion goes through here, so the depth is counted here. */
static const expr *parse_unary(parser *p)
{
    if (p->nesting >= NESTING_MOST) {
        mistake_set(p->wrong, p->now->where, "the expression is nested deeper than %d levels",
                    NESTING_MOST);
        return NULL;
    }
    p->nesting++;
    const operation *op = find_operation(p, unary_operations);
    const expr *n = op ? parse_sign(p, op) : parse_power(p);
    p->nesting--;
    return n;
}

static const expr *parse_binary(parser *p, int least)
{
    const expr *left = parse_unary(p);
    const operation *op;
    while (left && (op = find_operation(p, binary_operations)) && op->precedence >= least) {
        span where = take_operator(p);
        const expr *right = parse_binary(p, op->precedence + 1);
        if (!right)
            return NULL;
        const operation *next = find_operation(p, binary_operations);
        if (op->precedence == COMPARE && next && next->precedence == COMPARE) {
            mistake_set(p->wrong, p->now->where,
                        "comparisons do not chain; write (a %s b) & (b %s c)", op->text,
                        next->text);
            return NULL;
        }
        left = expr_operation(p, N_BINARY, op, where, left, right);
    }
    return left;
}

static const expr *parse_expression(parser *p) { return parse_binary(p, COMPARE); }

/* ---- statements ----------------------------------------------------------------------------- */

static bool at_end(const parser *p) { return p->now->kind == T_END || p->now->kind == T_STOP; }

static const expr *parse_expressions(parser *p)
{
    const expr *first = parse_expression(p);
    if (!first || !at_symbol(p, ","))
        return first;
    expr *n = expr_new(p, N_TUPLE, first->where);
    child_list items = {n, NULL};
    bool more = child_add(p, &items, first);
    while (more && take_symbol(p, ",") && !at_end(p) && !at_symbol(p, "="))
        more = child_add(p, &items, parse_expression(p));
    return more ? n : NULL;
}

static bool check_target(parser *p, const expr *target)
{
    if (target->kind == N_NAME)
        return true;
    const char *advice = target->kind == N_INDEX
                             ? "arrays do not change; use slice_update(x, update, start) or "
                               "where(condition, x1, x2)"
                             : "only a name can be on the left of '='";
    return mistake_set(p->wrong, target->where, "%s", advice);
}

static const expr *parse_assignment(parser *p, const expr *left)
{
    expr *n = expr_new(p, N_ASSIGN, left->where);
    child_list parts = {n, NULL};
    bool several = left->kind == N_TUPLE;
    take_operator(p);
    if (!child_add(p, &parts, parse_expressions(p)))
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

/* The operation of +=, **= and so on, or NULL. */
static const operation *find_augmented(const parser *p)
{
    const char *s = p->now->kind == T_SYMBOL ? p->now->u.s : "";
    size_t n = strlen(s);
    if (n < 2 || s[n - 1] != '=')
        return NULL;
    if (strncmp(s, power.text, n - 1) == 0 && strlen(power.text) == n - 1)
        return &power;
    for (const operation *op = binary_operations; op->text; op++)
        if (op->precedence != COMPARE && strlen(op->text) == n - 1 &&
            strncmp(s, op->text, n - 1) == 0)
            return op;
    return NULL;
}

/* x += y is x = x + (y). */
static const expr *parse_augmented(parser *p, const expr *target, const operation *op)
{
    span where = take_operator(p);
    const expr *right = check_target(p, target) ? parse_expressions(p) : NULL;
    if (!right)
        return NULL;
    expr *n = expr_new(p, N_ASSIGN, target->where);
    child_list parts = {n, NULL};
    n->literal = value_bool(false);
    const expr *sum = expr_operation(p, N_BINARY, op, where, target, right);
    return child_add(p, &parts, sum) && child_add(p, &parts, target) ? n : NULL;
}

static const expr *parse_statement(parser *p)
{
    const expr *n = parse_expressions(p);
    const operation *augmented = n ? find_augmented(p) : NULL;
    if (augmented)
        n = parse_augmented(p, n, augmented);
    else if (n && at_symbol(p, "="))
        n = parse_assignment(p, n);
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
    expr *program = expr_new(&p, N_TUPLE, (span){0, 0});
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
