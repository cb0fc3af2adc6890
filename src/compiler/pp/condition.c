/* The expression of #if and #elif: integers of 64 bits, signed and unsigned, by precedence climbing. An
 * operand that is not evaluated (the other side of &&, || and ?:) may divide by zero. */
#include "compiler/pp/pp.h"
#include <string.h>

typedef struct value {
    uint64_t bits;
    bool is_unsigned;
} value;

typedef struct reader {
    kernel_pp *pp;
    const kernel_token *at;
    kernel_place line; /* of an error about a missing operand */
    int depth;
    int idle; /* above 0: the expression is parsed but not evaluated */
    bool failed;
} reader;

static const uint8_t precedence[TOKEN_KINDS] = {
    [TOKEN_STAR] = 11,   [TOKEN_SLASH] = 11, [TOKEN_PERCENT] = 11, [TOKEN_PLUS] = 10,
    [TOKEN_MINUS] = 10,  [TOKEN_SHL] = 9,    [TOKEN_SHR] = 9,      [TOKEN_LT] = 8,
    [TOKEN_GT] = 8,      [TOKEN_LE] = 8,     [TOKEN_GE] = 8,       [TOKEN_EQ] = 7,
    [TOKEN_NE] = 7,      [TOKEN_AMP] = 6,    [TOKEN_CARET] = 5,    [TOKEN_PIPE] = 4,
    [TOKEN_AND_AND] = 3, [TOKEN_OR_OR] = 2,  [TOKEN_QUESTION] = 1};

static value read_binary(reader *r, int least);

static value fail(reader *r, const char *what)
{
    if (!r->failed) {
        const bool end = r->at->kind == TOKEN_END;
        diag_error(r->pp->diags, end ? r->line : r->at->place, NULL, "%s%s%s%s", what,
                   end ? "" : ", and here is '", end ? "" : kernel_token_text(r->pp->arena, r->at),
                   end ? "" : "'");
    }
    r->failed = true;
    return (value){0};
}

static value read_literal(reader *r)
{
    kernel_token t = *r->at;
    pp_decode(r->pp->unit, &t);
    if (t.kind == TOKEN_FLOAT)
        return fail(r, "an #if takes integers only");
    r->at++;
    return (value){t.as.integer, t.type == LITERAL_UINT || t.type == LITERAL_ULONG ||
                                     t.type == LITERAL_ULONGLONG};
}

static value read_primary(reader *r)
{
    const kernel_token *t = r->at;
    if (t->kind == TOKEN_INTEGER || t->kind == TOKEN_CHAR)
        return read_literal(r);
    if (t->kind == TOKEN_NAME) {
        r->at++;
        return (value){t->keyword == KEYWORD_true, false};
    }
    if (t->kind != TOKEN_LPAREN)
        return fail(r, "#if expects a value");
    r->at++;
    const value v = read_binary(r, 1);
    if (!r->failed && r->at->kind != TOKEN_RPAREN)
        return fail(r, "a ')' is missing in this #if");
    r->at++;
    return v;
}

static value read_unary(reader *r)
{
    const kernel_token *first = r->at;
    while (r->at->kind == TOKEN_PLUS || r->at->kind == TOKEN_MINUS || r->at->kind == TOKEN_TILDE ||
           r->at->kind == TOKEN_NOT)
        r->at++;
    const kernel_token *operator= r->at;
    value v = read_primary(r);
    while (!r->failed && operator> first) {
        switch ((--operator)->kind) {
        case TOKEN_MINUS: v.bits = -v.bits; break;
        case TOKEN_TILDE: v.bits = ~v.bits; break;
        case TOKEN_NOT: v = (value){!v.bits, false}; break;
        default: break;
        }
    }
    return v;
}

/* a / b or a % b; a divisor of 0 is an error unless the result is not used. */
static uint64_t divide(reader *r, const kernel_token *operator, value a, value b)
{
    if (b.bits == 0) {
        if (!r->idle && !r->failed) {
            diag_error(r->pp->diags, operator->place, NULL, "this #if divides by zero");
            r->failed = true;
        }
        return 0;
    }
    const bool quotient = operator->kind == TOKEN_SLASH;
    if (a.is_unsigned || b.is_unsigned)
        return quotient ? a.bits / b.bits : a.bits % b.bits;
    if (b.bits == UINT64_MAX)
        return quotient ? -a.bits : 0;
    const int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
    return (uint64_t)(quotient ? x / y : x % y);
}

static uint64_t shift(value a, value b, bool left)
{
    int64_t by = (int64_t)b.bits;
    if (b.is_unsigned && by < 0)
        by = 64;
    if (by < 0) {
        left = !left;
        by = by < -64 ? 64 : -by;
    }
    const bool negative = !a.is_unsigned && (int64_t)a.bits < 0;
    if (by >= 64)
        return !left && negative ? UINT64_MAX : 0;
    if (left)
        return a.bits << by;
    return negative ? ~(~a.bits >> by) : a.bits >> by;
}

static bool less(value a, value b)
{
    return a.is_unsigned || b.is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

static value apply(reader *r, const kernel_token *operator, value a, value b)
{
    const bool u = a.is_unsigned || b.is_unsigned;
    switch (operator->kind) {
    case TOKEN_STAR: return (value){a.bits * b.bits, u};
    case TOKEN_SLASH:
    case TOKEN_PERCENT: return (value){divide(r, operator, a, b), u};
    case TOKEN_PLUS: return (value){a.bits + b.bits, u};
    case TOKEN_MINUS: return (value){a.bits - b.bits, u};
    case TOKEN_SHL: return (value){shift(a, b, true), a.is_unsigned};
    case TOKEN_SHR: return (value){shift(a, b, false), a.is_unsigned};
    case TOKEN_LT: return (value){less(a, b), false};
    case TOKEN_GT: return (value){less(b, a), false};
    case TOKEN_LE: return (value){!less(b, a), false};
    case TOKEN_GE: return (value){!less(a, b), false};
    case TOKEN_EQ: return (value){a.bits == b.bits, false};
    case TOKEN_NE: return (value){a.bits != b.bits, false};
    case TOKEN_AMP: return (value){a.bits & b.bits, u};
    case TOKEN_CARET: return (value){a.bits ^ b.bits, u};
    case TOKEN_PIPE: return (value){a.bits | b.bits, u};
    case TOKEN_AND_AND: return (value){a.bits && b.bits, false};
    default: return (value){a.bits || b.bits, false};
    }
}

/* The part after the '?' of a condition: both sides are parsed, one is used. */
static value read_choice(reader *r, value condition)
{
    r->idle += !condition.bits;
    const value yes = read_binary(r, 1);
    r->idle -= !condition.bits;
    if (!r->failed && r->at->kind != TOKEN_COLON)
        return fail(r, "a ':' is missing in this #if");
    r->at++;
    r->idle += condition.bits != 0;
    const value no = read_binary(r, 1);
    r->idle -= condition.bits != 0;
    return (value){condition.bits ? yes.bits : no.bits, yes.is_unsigned || no.is_unsigned};
}

/* Operators of at least this precedence. */
static value read_binary(reader *r, int least)
{
    if (++r->depth > PP_NESTING)
        fail(r, "this #if is nested too deep");
    value a = r->failed ? (value){0} : read_unary(r);
    while (!r->failed && precedence[r->at->kind] >= least) {
        const kernel_token *operator= r->at++;
        const int level = precedence[operator->kind];
        if (operator->kind == TOKEN_QUESTION) {
            a = read_choice(r, a);
            continue;
        }
        const bool known = (operator->kind == TOKEN_AND_AND && !a.bits) ||
                           (operator->kind == TOKEN_OR_OR && a.bits);
        r->idle += known;
        const value b = read_binary(r, level + 1);
        r->idle -= known;
        if (!r->failed)
            a = apply(r, operator, a, b);
    }
    r->depth--;
    return a;
}

/* ---- steps before macros are expanded ---- */

/* "and" and the like mean their operators here too. */
static void replace_alternative(kernel_token *t)
{
    if (t->kind == TOKEN_NAME && t->as.name->alternative)
        t->kind = t->as.name->alternative;
}

static kernel_token truth(const kernel_token *t, bool is)
{
    return (kernel_token){.kind = TOKEN_INTEGER,
                          .flags = TOKEN_SPACE,
                          .place = t->place,
                          .text = is ? "1" : "0",
                          .bytes = 1};
}

/* Reads NAME or (NAME) after "defined". */
static bool read_defined(kernel_pp *pp, pp_lexer *l, const kernel_token *word)
{
    kernel_token t;
    pp_lex(l, &t);
    const bool paren = t.kind == TOKEN_LPAREN;
    if (paren)
        pp_lex(l, &t);
    if (t.kind != TOKEN_NAME) {
        diag_error(pp->diags, word->place, NULL, "'defined' expects the name of a macro");
        return false;
    }
    const kernel_name *name = t.as.name;
    if (paren)
        pp_lex(l, &t);
    if (paren && t.kind != TOKEN_RPAREN) {
        diag_error(pp->diags, word->place, NULL, "'defined(' expects one name and ')'");
        return false;
    }
    pp_scratch_add(pp, &(kernel_token){0});
    pp->scratch[pp->n_scratch - 1] = truth(word, name->macro || name == pp->has_include);
    return true;
}

static bool read_has_include(kernel_pp *pp, pp_lexer *l, const kernel_token *word)
{
    kernel_token t;
    const char *name;
    size_t bytes;
    bool quoted;
    pp_lex(l, &t);
    if (t.kind == TOKEN_LPAREN && pp_lex_header(l, &name, &bytes, &quoted)) {
        pp_lex(l, &t);
        if (t.kind == TOKEN_RPAREN) {
            t = truth(word, pp_has_include(pp, name, bytes, quoted));
            pp_scratch_add(pp, &t);
            return true;
        }
    }
    diag_error(pp->diags, word->place, NULL, "__has_include expects (<name>) or (\"name\")");
    return false;
}

bool pp_condition(kernel_pp *pp, kernel_place hash, bool *result)
{
    pp_lexer *l = &pp->files[pp->n_files - 1].lexer;
    const uint32_t from = pp->n_scratch;
    kernel_token t;
    bool fine = true;
    for (pp_lex(l, &t); t.kind != TOKEN_END && fine; pp_lex(l, &t)) {
        replace_alternative(&t);
        if (t.kind == TOKEN_NAME && t.as.name == pp->defined)
            fine = read_defined(pp, l, &t);
        else if (t.kind == TOKEN_NAME && t.as.name == pp->has_include)
            fine = read_has_include(pp, l, &t);
        else
            pp_scratch_add(pp, &t);
    }
    uint32_t n;
    const kernel_token *line = pp_scratch_take(pp, from, &n);
    *result = false;
    if (!fine)
        return false;
    if (n == 0) {
        diag_error(pp->diags, hash, NULL, "this condition is empty");
        return false;
    }
    reader r = {.pp = pp, .line = hash};
    kernel_token *list = pp_expand_list(pp, line, n, &n);
    for (uint32_t i = 0; i < n; i++)
        replace_alternative(&list[i]);
    r.at = list;
    const value v = read_binary(&r, 1);
    if (!r.failed && r.at->kind != TOKEN_END)
        fail(&r, "an #if has an operator between values");
    *result = !r.failed && v.bits != 0;
    return !r.failed;
}
