/* The lexer: text to tokens, each with its place and its spelling.
 *
 * Text is not copied, except for a token with a line splice in it, which is read from a spliced copy. So the
 * scanners need not handle splices. The byte after the text is zero, so they may look ahead without a check. */
#include "compiler/pp/pp.h"
#include <string.h>

enum { SPACE = 1, NAME = 2, DIGIT = 4 };

static const uint8_t classes[256] = {
    [' '] = SPACE,  ['\t'] = SPACE,        ['\r'] = SPACE,        ['\f'] = SPACE,
    ['\v'] = SPACE, ['a' ... 'z'] = NAME,  ['A' ... 'Z'] = NAME,  ['_'] = NAME,
    ['$'] = NAME,   ['0' ... '9'] = DIGIT, [0x80 ... 0xff] = NAME};

static bool is(char c, int which) { return classes[(uint8_t)c] & which; }

/* ---- punctuators: a kind, and its extension by one more character ---- */

enum { NO, IS, LESS, MORE, AND, OR, ADD, SUB, MUL, COLON, HASH, FOLLOWERS };

static const uint8_t first_kind[256] = {
    ['('] = TOKEN_LPAREN, [')'] = TOKEN_RPAREN,   ['['] = TOKEN_LBRACKET, [']'] = TOKEN_RBRACKET,
    ['{'] = TOKEN_LBRACE, ['}'] = TOKEN_RBRACE,   [','] = TOKEN_COMMA,    [';'] = TOKEN_SEMICOLON,
    [':'] = TOKEN_COLON,  ['?'] = TOKEN_QUESTION, ['.'] = TOKEN_DOT,      ['~'] = TOKEN_TILDE,
    ['!'] = TOKEN_NOT,    ['+'] = TOKEN_PLUS,     ['-'] = TOKEN_MINUS,    ['*'] = TOKEN_STAR,
    ['/'] = TOKEN_SLASH,  ['%'] = TOKEN_PERCENT,  ['^'] = TOKEN_CARET,    ['&'] = TOKEN_AMP,
    ['|'] = TOKEN_PIPE,   ['<'] = TOKEN_LT,       ['>'] = TOKEN_GT,       ['='] = TOKEN_ASSIGN,
    ['#'] = TOKEN_HASH};

static const uint8_t followers[256] = {
    ['='] = IS,  ['<'] = LESS, ['>'] = MORE, ['&'] = AND,   ['|'] = OR,
    ['+'] = ADD, ['-'] = SUB,  ['*'] = MUL,  [':'] = COLON, ['#'] = HASH};

static const uint8_t longer[TOKEN_KINDS][FOLLOWERS] = {
    [TOKEN_COLON] = {[COLON] = TOKEN_SCOPE},
    [TOKEN_DOT] = {[MUL] = TOKEN_DOT_STAR},
    [TOKEN_NOT] = {[IS] = TOKEN_NE},
    [TOKEN_PLUS] = {[ADD] = TOKEN_INCREMENT, [IS] = TOKEN_PLUS_ASSIGN},
    [TOKEN_MINUS] = {[SUB] = TOKEN_DECREMENT, [IS] = TOKEN_MINUS_ASSIGN, [MORE] = TOKEN_ARROW},
    [TOKEN_ARROW] = {[MUL] = TOKEN_ARROW_STAR},
    [TOKEN_STAR] = {[IS] = TOKEN_STAR_ASSIGN},
    [TOKEN_SLASH] = {[IS] = TOKEN_SLASH_ASSIGN},
    [TOKEN_PERCENT] = {[IS] = TOKEN_PERCENT_ASSIGN},
    [TOKEN_CARET] = {[IS] = TOKEN_CARET_ASSIGN},
    [TOKEN_AMP] = {[AND] = TOKEN_AND_AND, [IS] = TOKEN_AMP_ASSIGN},
    [TOKEN_PIPE] = {[OR] = TOKEN_OR_OR, [IS] = TOKEN_PIPE_ASSIGN},
    [TOKEN_LT] = {[LESS] = TOKEN_SHL, [IS] = TOKEN_LE},
    [TOKEN_SHL] = {[LESS] = TOKEN_LAUNCH, [IS] = TOKEN_SHL_ASSIGN},
    [TOKEN_GT] = {[MORE] = TOKEN_SHR, [IS] = TOKEN_GE},
    [TOKEN_SHR] = {[MORE] = TOKEN_LAUNCH_END, [IS] = TOKEN_SHR_ASSIGN},
    [TOKEN_ASSIGN] = {[IS] = TOKEN_EQ},
    [TOKEN_HASH] = {[HASH] = TOKEN_HASH_HASH}};

/* ---- space ---- */

/* The position after the line splices at p, if any. */
static const char *past_splices(const char *p)
{
    while (*p == '\\') {
        const char *q = p + 1;
        while (*q == ' ' || *q == '\t' || *q == '\r')
            q++;
        if (*q != '\n')
            break;
        p = q + 1;
    }
    return p;
}

static bool is_splice(const char *p) { return *p == '\\' && past_splices(p) != p; }

/* The end of the line that p is on: its newline, or the end of the text. */
static const char *line_end(const char *p, const char *end)
{
    for (;;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline)
            return end;
        const char *q = newline;
        while (q > p && is(q[-1], SPACE))
            q--;
        if (q == p || q[-1] != '\\')
            return newline;
        p = newline + 1;
    }
}

static kernel_place place_of(const pp_lexer *l, const char *p)
{
    return l->first ? l->first + (kernel_place)(p - l->begin) : 0;
}

/* The position after the block comment whose content begins at p. */
static const char *comment_end(const pp_lexer *l, const char *p, const char *from, bool tell)
{
    while ((p = memchr(p, '*', (size_t)(l->end - p)))) {
        p = past_splices(p + 1);
        if (*p == '/')
            return p + 1;
    }
    if (tell)
        diag_error(&l->unit->diags, place_of(l, from), NULL, "this comment has no end");
    return l->end;
}

/* The position after the comment at p, or p itself. */
static const char *past_comment(const pp_lexer *l, const char *p, bool tell)
{
    const char *q = past_splices(p + 1);
    if (*q == '/')
        return line_end(q, l->end);
    return *q == '*' ? comment_end(l, q + 1, p, tell) : p;
}

/* Skips space and comments; returns the flags of the token after them. In a directive the line's end is not
 * skipped. */
static uint8_t pass_space(pp_lexer *l)
{
    uint8_t flags = l->begins ? TOKEN_BEGINS : 0;
    const char *p = l->at;
    for (;;) {
        if (is(*p, SPACE)) {
            p++;
        } else if (*p == '\n' && !l->directive) {
            flags |= TOKEN_BEGINS;
            p++;
        } else if (*p == '/') {
            const char *q = past_comment(l, p, true);
            if (q == p)
                break;
            p = q;
        } else if (is_splice(p)) {
            p = past_splices(p);
        } else {
            break;
        }
        flags |= TOKEN_SPACE;
    }
    l->at = p;
    return flags;
}

/* ---- scanners: each returns the end of the token that begins at p ---- */

static const char *scan_name(const char *p, uint32_t *hash)
{
    uint32_t h = 0;
    while (is(*p, NAME | DIGIT))
        h = (h ^ (uint8_t)*p++) * UINT32_C(0x9e3779b1);
    *hash = h;
    return p;
}

/* 1e+5, 0x1p-3, 1'000: a sign belongs to a number after its exponent's letter. */
static const char *scan_number(const char *p)
{
    for (;; p++) {
        if ((*p == '+' || *p == '-') &&
            (p[-1] == 'e' || p[-1] == 'E' || p[-1] == 'p' || p[-1] == 'P'))
            continue;
        if (*p == '\'' && is(p[1], NAME | DIGIT))
            continue;
        if (*p != '.' && !is(*p, NAME | DIGIT))
            return p;
    }
}

/* The position after the closing quote; at the line's end if there is none, or at a splice. */
static const char *scan_quoted(const char *p, const char *end, char quote, bool *closed)
{
    *closed = false;
    while (p < end && *p != '\n' && !is_splice(p)) {
        if (*p == quote) {
            *closed = true;
            return p + 1;
        }
        const bool escape = *p++ == '\\';
        if (escape && p < end && !is_splice(p))
            p++;
    }
    return p;
}

/* p is after R. Raw strings have neither escapes nor splices. */
static const char *scan_raw(const char *p, const char *end, bool *closed)
{
    const char *mark = p + 1;
    size_t bytes = 0;
    *closed = false;
    while (bytes < 17 && mark[bytes] != '(' && mark[bytes] > ' ' && mark[bytes] != '\\' &&
           mark[bytes] != ')' && mark[bytes] != '"')
        bytes++;
    if (mark[bytes] != '(' || bytes > 16)
        return p + 1;
    for (p = mark + bytes + 1; (p = memchr(p, ')', (size_t)(end - p))); p++)
        if ((size_t)(end - p) >= bytes + 2 && memcmp(p + 1, mark, bytes) == 0 &&
            p[bytes + 1] == '"') {
            *closed = true;
            return p + bytes + 2;
        }
    return line_end(mark, end);
}

/* u8, u, U, L before a quote; R, also after these, before a raw string's quote. */
static bool is_prefix(const char *p, size_t bytes, char quote, bool *raw)
{
    *raw = bytes && quote == '"' && p[bytes - 1] == 'R';
    bytes -= *raw;
    return bytes == 0 || (bytes == 1 && (*p == 'u' || *p == 'U' || *p == 'L')) ||
           (bytes == 2 && p[0] == 'u' && p[1] == '8');
}

static kernel_name *name_of(kernel_names *names, const char *text, size_t bytes, uint32_t hash);

/* Scans the token at p, which is not space, into t; returns its end. */
static const char *scan(pp_lexer *l, const char *p, kernel_token *t)
{
    const char *const from = p;
    const char c = *p;
    bool closed = true, raw = false;
    if (is(c, NAME)) {
        uint32_t hash;
        p = scan_name(p, &hash);
        if ((*p != '"' && *p != '\'') || p - from > 3 ||
            !is_prefix(from, (size_t)(p - from), *p, &raw)) {
            t->kind = TOKEN_NAME;
            t->as.name = name_of(&l->unit->names, from, (size_t)(p - from), hash);
            t->keyword = t->as.name->keyword;
            return p;
        }
    } else if (is(c, DIGIT) || (c == '.' && is(p[1], DIGIT))) {
        t->kind = TOKEN_INTEGER;
        return scan_number(p + 1);
    }
    if (*p == '"' || *p == '\'') {
        t->kind = *p == '"' ? TOKEN_STRING : TOKEN_CHAR;
        p = raw ? scan_raw(p, l->end, &closed) : scan_quoted(p + 1, l->end, *p, &closed);
        if (!closed)
            t->kind = TOKEN_OTHER;
        return p;
    }
    uint8_t kind = first_kind[(uint8_t)c], next;
    if (kind == TOKEN_END) {
        t->kind = TOKEN_OTHER;
        return p + 1;
    }
    if (kind == TOKEN_DOT && p[1] == '.' && p[2] == '.') {
        t->kind = TOKEN_ELLIPSIS;
        return p + 3;
    }
    while ((next = longer[kind][followers[(uint8_t) * ++p]]))
        kind = next;
    t->kind = kind;
    return p;
}

/* ---- tokens with a line splice in them ---- */

/* Copies up to `most` bytes from p on without splices; *whole if that was all of the text. */
static char *copy_spliced(const pp_lexer *l, const char *p, size_t most, size_t *bytes, bool *whole)
{
    char *copy = kernel_arena_get(&l->unit->arena, most + 4);
    size_t n = 0;
    p = past_splices(p);
    for (; n < most && p < l->end; p = past_splices(p + 1))
        copy[n++] = *p;
    memset(copy + n, 0, 4);
    *bytes = n;
    *whole = p >= l->end;
    return copy;
}

static void lex_spliced(pp_lexer *l, kernel_token *t)
{
    pp_lexer copy = {.unit = l->unit};
    for (size_t most = 128;; most *= 2) {
        size_t bytes;
        bool whole;
        copy.begin = copy_spliced(l, l->at, most, &bytes, &whole);
        copy.end = copy.begin + bytes;
        copy.at = scan(&copy, copy.begin, t);
        /* Near the copy's end, the token may be cut off. */
        if (whole || copy.end - copy.at > 3)
            break;
    }
    t->text = copy.begin;
    t->bytes = (uint32_t)(copy.at - copy.begin);
    t->flags |= TOKEN_BROKEN;
    const char *p = past_splices(l->at);
    for (uint32_t i = 1; i < t->bytes; i++)
        p = past_splices(p + 1);
    l->at = p + 1;
}

void pp_lex(pp_lexer *l, kernel_token *t)
{
    t->flags = pass_space(l);
    t->type = LITERAL_NONE;
    t->keyword = 0;
    t->private = 0;
    t->place = place_of(l, l->at);
    t->text = l->at;
    t->as.name = NULL;
    if (l->at >= l->end || *l->at == '\n') {
        t->kind = TOKEN_END;
        t->bytes = 0;
        return;
    }
    l->begins = false;
    const char *end = scan(l, l->at, t);
    if (is_splice(end) && !(t->kind == TOKEN_STRING || t->kind == TOKEN_CHAR)) {
        lex_spliced(l, t);
        return;
    }
    t->bytes = (uint32_t)(end - l->at);
    l->at = end;
}

/* ---- whole lines ---- */

bool pp_lex_sees_paren(const pp_lexer *l)
{
    const char *p = l->at;
    for (;;) {
        if (is(*p, SPACE) || (*p == '\n' && !l->directive)) {
            p++;
        } else if (*p == '/') {
            const char *q = past_comment(l, p, false);
            if (q == p)
                return false;
            p = q;
        } else if (is_splice(p)) {
            p = past_splices(p);
        } else {
            return *p == '(';
        }
    }
}

bool pp_lex_skip_lines(pp_lexer *l)
{
    const char *p = l->at;
    bool closed, begins = false;
    while (p < l->end) {
        if (*p == '\n') {
            begins = true;
            p++;
        } else if (is(*p, SPACE)) {
            p++;
        } else if (*p == '/' && past_comment(l, p, false) != p) {
            p = past_comment(l, p, false);
        } else if (is_splice(p)) {
            p = past_splices(p);
        } else if (*p == '#' && begins) {
            l->at = p + 1;
            l->begins = false;
            return true;
        } else {
            begins = false;
            p = *p == '"' || *p == '\'' ? scan_quoted(p + 1, l->end, *p, &closed) : p + 1;
        }
    }
    l->at = l->end;
    return false;
}

const char *pp_lex_rest(pp_lexer *l, size_t *bytes)
{
    pass_space(l);
    const char *from = l->at, *end = line_end(from, l->end);
    l->at = end;
    while (end > from && is(end[-1], SPACE))
        end--;
    *bytes = (size_t)(end - from);
    return from;
}

bool pp_lex_header(pp_lexer *l, const char **name, size_t *bytes, bool *quoted)
{
    pass_space(l);
    *quoted = *l->at == '"';
    if (*l->at != '<' && !*quoted)
        return false;
    const char *from = l->at + 1, *end = line_end(from, l->end);
    const char *close = memchr(from, *quoted ? '"' : '>', (size_t)(end - from));
    if (!close)
        return false;
    *name = from;
    *bytes = (size_t)(close - from);
    l->at = close + 1;
    return true;
}

/* ---- names ---- */

static uint32_t hash_of(const char *text, size_t bytes)
{
    uint32_t h = 0;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (uint8_t)text[i]) * UINT32_C(0x9e3779b1);
    return h;
}

static uint32_t slot_of(const kernel_names *names, uint32_t hash)
{
    return (hash ^ hash >> 15) & (names->n_slots - 1);
}

static void names_grow(kernel_names *names)
{
    kernel_name **old = names->slots;
    const uint32_t n_old = names->n_slots;
    names->n_slots = n_old ? 4 * n_old : 512;
    names->slots = kernel_arena_new(names->arena, names->n_slots * sizeof *names->slots);
    for (uint32_t i = 0; i < n_old; i++)
        for (kernel_name *name = old[i], *next; name; name = next) {
            kernel_name **slot = &names->slots[slot_of(names, name->hash)];
            next = name->next;
            name->next = *slot;
            *slot = name;
        }
}

static kernel_name *name_of(kernel_names *names, const char *text, size_t bytes, uint32_t hash)
{
    kernel_name *name = names->slots[slot_of(names, hash)];
    for (; name; name = name->next)
        if (name->hash == hash && name->bytes == bytes && memcmp(name->text, text, bytes) == 0)
            return name;
    if (names->count >= names->n_slots)
        names_grow(names);
    kernel_name **slot = &names->slots[slot_of(names, hash)];
    name = kernel_arena_new(names->arena, sizeof *name);
    name->text = kernel_arena_text(names->arena, text, bytes);
    name->bytes = (uint32_t)bytes;
    name->hash = hash;
    for (size_t i = 0; i < bytes; i++)
        name->foreign |= (uint8_t)text[i] >> 7;
    name->next = *slot;
    names->count++;
    return *slot = name;
}

kernel_name *kernel_name_get(kernel_names *names, const char *text, size_t bytes)
{
    return name_of(names, text, bytes, hash_of(text, bytes));
}

void kernel_names_begin(kernel_names *names, kernel_arena *arena)
{
    *names = (kernel_names){.arena = arena};
    names_grow(names);
#define KEYWORD(word) kernel_name_get(names, #word, sizeof #word - 1)->keyword = KEYWORD_##word;
#define ALTERNATIVE(word, punctuator) \
    kernel_name_get(names, #word, sizeof #word - 1)->alternative = TOKEN_##punctuator;
#include "compiler/pp/token.def"
}

void kernel_names_forget_macros(kernel_names *names)
{
    for (uint32_t i = 0; i < names->n_slots; i++)
        for (kernel_name *n = names->slots[i]; n; n = n->next)
            n->macro = NULL;
}
