/* Parameter packs: the pattern before "..." is parsed again for each element. p->pack_at is the element that
 * a pack's name means. */
#include "compiler/parse/parser.h"

static bool is_close(const kernel_token *t)
{
    return t->kind == TOKEN_RPAREN || t->kind == TOKEN_RBRACE || t->kind == TOKEN_RBRACKET ||
           t->kind == TOKEN_SEMICOLON || t->kind == TOKEN_END;
}

/* The end of a list element: the comma or bracket after it. *dots is its final "...", or NULL. */
static const kernel_token *element_end(const kernel_token *t, bool angles,
                                       const kernel_token **dots)
{
    const kernel_token *from = t;
    int open = 0, close = 0;
    *dots = NULL;
    for (; !is_close(t) && !(t->kind == TOKEN_COMMA && !open); t = skip_item(t)) {
        open += angles && t->kind == TOKEN_LT;
        close = !angles ? 0 : t->kind == TOKEN_GT ? 1 : t->kind == TOKEN_SHR ? 2 : 0;
        if (close > open)
            break;
        open -= close;
    }
    /* "a<Ts...>>": the dots belong to the inner list */
    if (t != from && t[-1].kind == TOKEN_ELLIPSIS && !open)
        *dots = t - 1;
    return t;
}

/* The pack that the tokens name, outside of nested "..." patterns. All packs must have the same length. */
static const symbol_pack *find_pack(parser *p, const kernel_token *from, const kernel_token *to,
                                    const symbol_pack *found)
{
    for (const kernel_token *t = from; t < to; t++) {
        if (opens_group(t)) {
            const kernel_token *end = skip_group(t) - 1;
            for (t++; t < end;) {
                const kernel_token *dots, *next = element_end(t, false, &dots);
                if (!dots)
                    found = find_pack(p, t, next < end ? next : end, found);
                t = next < end ? next + 1 : end;
            }
            continue;
        }
        const bool is_auto = t->keyword == KEYWORD_auto && p->auto_at;
        if (t->kind != TOKEN_NAME || (t->keyword && !is_auto))
            continue;
        const symbol *y = symbol_find(p, is_auto ? lambda_auto(p, p->auto_at) : t->as.name);
        if (!y || y->kind != SYMBOL_PACK)
            continue;
        if (found && found->n != y->as.pack->n)
            parser_fail(p, t->place, "'...' repeats packs of %u and of %u elements", found->n,
                        y->as.pack->n);
        found = y->as.pack;
    }
    return found;
}

static bool has_auto(const kernel_token *t, const kernel_token *end)
{
    for (; t < end; t++)
        if (t->keyword == KEYWORD_auto)
            return true;
    return false;
}

/* Calls each for every element of the packs named between p->t and `dots`; each call ends with p->t at
 * dots. A pack of "auto" whose types are not known yet counts as one element. */
static uint32_t repeat(parser *p, const kernel_token *dots, void (*each)(parser *, void *),
                       void *context)
{
    const kernel_token *from = p->t;
    const int outer = p->pack_at, auto_at = p->auto_at;
    p->pack_at = -1;
    const symbol_pack *pack = find_pack(p, from, dots, NULL);
    if (!pack && !auto_at && has_auto(from, dots)) {
        each(p, context);
        p->pack_at = outer;
        return 1;
    }
    if (!pack)
        parser_fail(p, dots->place, "there is no parameter pack before '...'");
    for (uint32_t i = 0; i < pack->n; i++) {
        p->t = from;
        p->pack_at = (int)i;
        p->auto_at = auto_at;
        each(p, context);
    }
    if (auto_at)
        p->auto_at = auto_at + has_auto(from, dots);
    p->pack_at = outer;
    return pack->n;
}

bool pack_expand(parser *p, bool angles, void (*each)(parser *, void *), void *context)
{
    const kernel_token *dots, *end = element_end(p->t, angles, &dots);
    if (!dots)
        return false;
    const uint32_t n = repeat(p, dots, each, context);
    if (n && p->t != dots)
        parser_fail(p, p->t->place, "expected '...', found %s", token_text(p, p->t));
    p->t = end;
    return true;
}

bool accept_parameter_pack(parser *p, void (*each)(parser *, void *), void *context,
                           parameter_pack *pack)
{
    const kernel_token *dots, *end = element_end(p->t, true, &dots);
    int open = 0; /* the dots of "seq<Is...>" do not repeat a parameter */
    for (dots = p->t; dots < end && (open || dots->kind != TOKEN_ELLIPSIS); dots = skip_item(dots))
        open += (dots->kind == TOKEN_LT) - (dots->kind == TOKEN_GT) - 2 * (dots->kind == TOKEN_SHR);
    if (dots >= end || dots == p->t)
        return false;
    if (pack->is_there)
        parser_fail(p, dots->place, "two parameter packs of one function are not supported");
    *pack = (parameter_pack){.is_there = true, .first = pack->first, .place = dots->place};
    if (dots[1].kind == TOKEN_NAME && !dots[1].keyword) {
        pack->name = dots[1].as.name;
        pack->place = dots[1].place;
    }
    const kernel_token *outer = p->pack_dots;
    p->pack_dots = dots;
    pack->n = repeat(p, dots, each, context);
    p->pack_dots = outer;
    p->t = end;
    return true;
}

kernel_expr *parse_pack_size(parser *p)
{
    const kernel_place place = (p->t++)->place;
    expect(p, TOKEN_LPAREN, "after 'sizeof...'");
    const int outer = p->pack_at;
    p->pack_at = -1;
    const symbol *y = at(p, TOKEN_NAME) && !p->t->keyword ? symbol_find(p, p->t->as.name) : NULL;
    p->pack_at = outer;
    if (!y || y->kind != SYMBOL_PACK)
        parser_fail(p, p->t->place, "%s is not a parameter pack", token_text(p, p->t));
    p->t++;
    expect(p, TOKEN_RPAREN, "after a parameter pack");
    return expr_integer(p, place, type_word_of(p, WORD_ULONG), y->as.pack->n);
}

/* ---- fold expressions ------------------------------------------------------------------------- */

/* The "..." directly inside the brackets at t; NULL if there is none. */
static const kernel_token *fold_dots(const kernel_token *t)
{
    for (t++; !is_close(t); t = skip_item(t))
        if (t->kind == TOKEN_ELLIPSIS && t[-1].keyword != KEYWORD_sizeof)
            return t;
    return NULL;
}

bool at_fold(const parser *p) { return at(p, TOKEN_LPAREN) && fold_dots(p->t); }

typedef struct folding {
    kernel_expr **at;
    uint32_t n, room;
    const kernel_token *end;
} folding;

static void add_operand(parser *p, void *context)
{
    folding *f = context;
    ARENA_ADD(p->arena, f->at, f->n, f->room, parse_unary(p));
    if (p->t != f->end)
        parser_fail_do(p, p->t->place, "put brackets around it",
                       "expected the operator of a fold expression, found %s", token_text(p, p->t));
}

/* The elements of the pack between p->t and end, or the single value. */
static bool parse_operands(parser *p, const kernel_token *from, const kernel_token *end, folding *f)
{
    const int outer = p->pack_at;
    p->t = from;
    p->pack_at = -1;
    const bool repeats = find_pack(p, from, end, NULL);
    p->pack_at = outer;
    f->end = end;
    if (repeats)
        repeat(p, end, add_operand, f);
    else
        add_operand(p, f);
    return repeats;
}

/* The value of a fold over no elements. */
static kernel_expr *fold_nothing(parser *p, const kernel_token *op)
{
    kernel_expr *e =
        expr_integer(p, op->place, type_word_of(p, WORD_BOOL), op->kind == TOKEN_AND_AND);
    if (op->kind == TOKEN_AND_AND || op->kind == TOKEN_OR_OR)
        return e;
    if (op->kind == TOKEN_COMMA)
        return expr_cast(p, e, type_word_of(p, WORD_VOID), op->place);
    parser_fail_do(p, op->place, "give it a value to begin with: (args + ... + 0)",
                   "a fold of an empty pack by %s has no value", token_text(p, op));
}

kernel_expr *parse_fold(parser *p)
{
    const kernel_token *open = p->t, *end = skip_group(open), *dots = fold_dots(open);
    const bool left = dots == open + 1, right = dots == end - 2, both = !left && !right;
    const kernel_token *op = left ? dots + 1 : dots - 1;
    if (both && dots[1].kind != op->kind)
        parser_fail(p, dots[1].place, "the operators of a fold expression differ");
    if (open + (left ? 3 : 2) > end - 2)
        parser_fail(p, dots->place, "a fold expression without a parameter pack");
    folding a = {0}, b = {0};
    const bool no_gt = p->no_gt;
    p->no_gt = false;
    const bool first = !left && parse_operands(p, open + 1, dots - 1, &a);
    const bool second = !right && parse_operands(p, dots + 2, end - 1, &b);
    p->no_gt = no_gt;
    if (first == second)
        parser_fail(p, dots->place, "there is no parameter pack before '...'");
    /* ((1 + a) + b) from the left, (a + (b + 1)) from the right. */
    kernel_expr *e = NULL;
    for (uint32_t i = 0; second && i < a.n + b.n; i++) {
        kernel_expr *next = i < a.n ? a.at[i] : b.at[i - a.n];
        e = e ? expr_infix(p, op->place, op->kind, e, next) : next;
    }
    for (uint32_t i = a.n + b.n; first && i > 0; i--) {
        kernel_expr *next = i <= a.n ? a.at[i - 1] : b.at[i - 1 - a.n];
        e = e ? expr_infix(p, op->place, op->kind, next, e) : next;
    }
    p->t = end;
    return e ? e : fold_nothing(p, op);
}
