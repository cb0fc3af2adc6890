/* The calculator's second step, part two: operators, with Python's precedence.
 *
 *   expression  'lambda' params ':' expression  |  either [ 'if' either 'else' expression ]
 *   either      both { 'or' both }
 *   both        negated { 'and' negated }
 *   negated     'not' negated  |  binary { comparison binary }
 *   binary      unary { operator unary }                        by precedence, to the left
 *   unary       ('+' | '-' | '~') unary  |  postfix [ '**' unary ]
 *
 * A newline after an operator does not end the statement. */
#include "calc/parser.h"

#include <string.h>

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

/* Comparisons that are words. The calculator computes them itself. */
static const operation word_operations[] = {{"in", COMPARE, NULL, NULL},
                                            {"not in", COMPARE, NULL, NULL},
                                            {"is", COMPARE, NULL, NULL},
                                            {"is not", COMPARE, NULL, NULL}};

static const operation *find_operation(const parser *p, const operation *table)
{
    while (table->text && !at_symbol(p, table->text))
        table++;
    return table->text ? table : NULL;
}

/* ---- operators ------------------------------------------------------------------------------ */

const expr *expr_operation(parser *p, expr_kind kind, const operation *op, span where,
                           const expr *left, const expr *right)
{
    expr *n = node_new(p, kind, where);
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

bool nesting_begin(parser *p)
{
    p->nesting++;
    return p->nesting <= NESTING_MOST ||
           mistake_set(p->wrong, p->now->where, "the expression is nested deeper than %d levels",
                       NESTING_MOST);
}

/* All recursion goes through here, or through parse_whole, which both count the depth. */
static const expr *parse_unary(parser *p)
{
    if (!nesting_begin(p))
        return NULL;
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
        left = expr_operation(p, N_BINARY, op, where, left, right);
    }
    return left;
}

/* The comparison at this place, with its words taken; NULL if there is none. */
static const operation *take_comparison(parser *p, span *where)
{
    *where = p->now->where;
    const operation *op = find_operation(p, binary_operations);
    if (op) {
        if (op->precedence == COMPARE)
            take_operator(p);
        return op->precedence == COMPARE ? op : NULL;
    }
    if (take_word(p, "in"))
        return &word_operations[0];
    if (at_word(p, "not") && p->now[1].kind == T_NAME && strcmp(p->now[1].u.s, "in") == 0) {
        p->now += 2;
        return &word_operations[1];
    }
    if (take_word(p, "is"))
        return &word_operations[2 + take_word(p, "not")];
    return NULL;
}

/* a < b < c. The tree of a single comparison is an N_BINARY. */
static const expr *parse_comparison(parser *p)
{
    const expr *left = parse_binary(p, COMPARE + 1);
    span where;
    const operation *op = left ? take_comparison(p, &where) : NULL;
    if (!op)
        return left;
    const expr *right = parse_binary(p, COMPARE + 1);
    span next;
    const operation *more = right ? take_comparison(p, &next) : NULL;
    if (!more)
        return right ? expr_operation(p, N_BINARY, op, where, left, right) : NULL;
    expr *n = node_new(p, N_CHAIN, where);
    child_list parts = {n, NULL};
    if (!child_add(p, &parts, left) ||
        !child_add(p, &parts, expr_operation(p, N_LINK, op, where, right, NULL)))
        return NULL;
    for (; more; more = take_comparison(p, &next)) {
        where = next;
        const expr *operand = parse_binary(p, COMPARE + 1);
        if (!operand ||
            !child_add(p, &parts, expr_operation(p, N_LINK, more, where, operand, NULL)))
            return NULL;
    }
    return n;
}

static const expr *parse_negated(parser *p)
{
    if (!at_word(p, "not"))
        return parse_comparison(p);
    if (!nesting_begin(p))
        return NULL;
    span where = take_operator(p);
    const expr *operand = parse_negated(p);
    p->nesting--;
    return operand ? expr_operation(p, N_NOT, NULL, where, operand, NULL) : NULL;
}

typedef const expr *operand_parser(parser *p);

/* Operands with a word between them, from left to right. */
static const expr *parse_joined(parser *p, const char *word, expr_kind kind, operand_parser *next)
{
    const expr *left = next(p);
    while (left && at_word(p, word)) {
        span where = take_operator(p);
        const expr *right = next(p);
        left = right ? expr_operation(p, kind, NULL, where, left, right) : NULL;
    }
    return left;
}

static const expr *parse_both(parser *p) { return parse_joined(p, "and", N_AND, parse_negated); }
const expr *parse_either(parser *p) { return parse_joined(p, "or", N_OR, parse_both); }

bool parse_params(parser *p, child_list *params, const char *close)
{
    while (!at_symbol(p, close)) {
        const bool star = take_symbol(p, "*");
        if (p->now->kind != T_NAME || is_keyword(p->now))
            return expected(p, "the name of a parameter") != NULL;
        expr *n = node_new(p, star ? N_STAR : N_NAME, p->now->where);
        n->name = p->now++->u.s;
        if (!star && take_symbol(p, "=")) {
            child_list one = {n, NULL};
            n->kind = N_KEYWORD;
            if (!child_add(p, &one, parse_whole(p)))
                return false;
        }
        if (!child_add(p, params, n))
            return false;
        if (!take_symbol(p, ",") && !at_symbol(p, close))
            return expected(p, close[0] == ')' ? "',' or ')'" : "',' or ':'") != NULL;
    }
    p->now++;
    return true;
}

static const expr *parse_lambda_word(parser *p)
{
    expr *list = node_new(p, N_TUPLE, p->now->where), *n = node_new(p, N_LAMBDA, p->now++->where);
    child_list params = {list, NULL}, parts = {n, NULL};
    if (!parse_params(p, &params, ":") || !child_add(p, &parts, parse_whole(p)))
        return NULL;
    for (const expr *a = list->child; a; a = a->next)
        if (!child_add(p, &parts, a))
            return NULL;
    return n;
}

static const expr *parse_choice(parser *p)
{
    const expr *yes = parse_either(p);
    if (!yes || !at_word(p, "if"))
        return yes;
    expr *n = node_new(p, N_IF, p->now++->where);
    child_list parts = {n, NULL};
    if (!child_add(p, &parts, parse_either(p)) || !child_add(p, &parts, yes))
        return NULL;
    if (!take_word(p, "else"))
        return expected(p, "'else'");
    return child_add(p, &parts, parse_whole(p)) ? n : NULL;
}

const expr *parse_whole(parser *p)
{
    if (!nesting_begin(p))
        return NULL;
    const expr *n = at_word(p, "lambda") ? parse_lambda_word(p) : parse_choice(p);
    p->nesting--;
    return n;
}

const operation *find_augmented(const parser *p)
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

const expr *parse_one(arena *a, const char *source, mistake *m)
{
    parser p = {.memory = a, .source = source, .wrong = m};
    p.first = p.now = lex(a, source, m);
    const expr *n = p.now ? parse_whole(&p) : NULL;
    return n && p.now->kind != T_END ? expected(&p, "an operator or the end of the expression") : n;
}

const expr *parse_function_text(arena *a, const char *params, const char *body, mistake *m)
{
    str source = {0};
    str_printf(&source, "lambda %s: %s", params, body);
    const expr *n = parse_one(a, arena_string(a, source.s, source.n), m);
    str_free(&source);
    return n;
}
