/* The calculator's first step: text -> tokens.
 *
 * Brackets are matched here. A newline inside brackets does not end a statement. The mistake of a bracket
 * that is never closed points at the bracket. */
#include "calc/syntax.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct lexer {
    arena *memory;
    const char *source;
    int at;
    token *tokens;
    int n, room;
    int open[NESTING_MOST]; /* where the open brackets are */
    int depth;
    mistake *wrong;
} lexer;

bool mistake_vset(mistake *m, span where, const char *format, va_list args)
{
    if (m->message.n)
        return false;
    str_vprintf(&m->message, format, args);
    m->where = where;
    m->code = IG_ERR_ARGUMENT;
    return false;
}

bool mistake_set(mistake *m, span where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mistake_vset(m, where, format, args);
    va_end(args);
    return false;
}

static bool is_name_start(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool is_name_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

static token *token_add(lexer *l, token_kind kind, int n)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->tokens = heap_resize(l->tokens, sizeof *l->tokens * (size_t)l->room);
    }
    token *t = &l->tokens[l->n++];
    *t = (token){.kind = kind, .where = {l->at, n}};
    l->at += n;
    return t;
}

/* ---- characters that editors and web pages put in place of ASCII ----------------------------- */

static const struct substitute {
    const char *pasted, *ascii;
} substitutes[] = {
    {"\u2010", "-"},  {"\u2011", "-"},  {"\u2012", "-"},  {"\u2013", "-"},  {"\u2014", "-"},
    {"\u2212", "-"},  {"\u00d7", "*"},  {"\u00b7", "*"},  {"\u22c5", "*"},  {"\u2217", "*"},
    {"\u00f7", "/"},  {"\u2215", "/"},  {"\u2264", "<="}, {"\u2265", ">="}, {"\u2260", "!="},
    {"\u201c", "\""}, {"\u201d", "\""}, {"\u201e", "\""}, {"\u2018", "'"},  {"\u2019", "'"},
    {"\u201a", "'"},  {"\u00a0", " "},  {"\u2009", " "},  {"\u202f", " "},  {"\u200b", " "},
    {"\ufeff", " "},
};

/* The substitute at s: the ASCII character that is meant. NULL if s is not one of these characters. */
static const struct substitute *substitute_at(const char *s)
{
    for (size_t i = 0; (unsigned char)*s >= 0x80 && i < sizeof substitutes / sizeof *substitutes;
         i++)
        if (strncmp(s, substitutes[i].pasted, strlen(substitutes[i].pasted)) == 0)
            return &substitutes[i];
    return NULL;
}

/* The length in bytes of the pasted character at s if it stands for the character ascii; else 0. */
static int substitutes_for(const char *s, char ascii)
{
    const struct substitute *found = substitute_at(s);
    return found && found->ascii[0] == ascii ? (int)strlen(found->pasted) : 0;
}

/* The length in bytes of the character at s, which is not 0. */
static int character_bytes(const char *s)
{
    int n = 1;
    while (((unsigned char)s[n] & 0xC0) == 0x80)
        n++;
    return n;
}

static void skip_blanks(lexer *l)
{
    for (;;) {
        const char *s = l->source + l->at;
        const int pasted = substitutes_for(s, ' ');
        if (pasted)
            l->at += pasted;
        else if (*s == '#')
            l->at += (int)strcspn(s, "\n");
        else if (*s == ' ' || *s == '\t' || *s == '\r' || (*s == '\n' && l->depth))
            l->at++;
        else if (s[0] == '\\' && s[1] == '\n')
            l->at += 2;
        else
            return;
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Copies digits without the '_' between them; returns how many bytes were read. */
static int copy_digits(str *out, const char *s, int (*is_digit)(int))
{
    int n = 0;
    while (is_digit((unsigned char)s[n]) ||
           (s[n] == '_' && n > 0 && s[n - 1] != '_' && is_digit((unsigned char)s[n + 1]))) {
        if (s[n] != '_')
            str_add(out, s + n, 1);
        n++;
    }
    return n;
}

static bool lex_int(lexer *l, const char *digits, int base, int n)
{
    errno = 0;
    uint64_t i = strtoull(digits, NULL, base);
    if (errno == ERANGE || i > (uint64_t)1 << 63)
        return mistake_set(l->wrong, (span){l->at, n},
                           "the integer does not fit in 64 bits; write it as a float (%.3e)",
                           strtod(digits, NULL));
    token_add(l, T_INT, n)->u.i = i;
    return true;
}

/* Copies an exponent; returns its length in bytes, or 0 if there is none: "e" may also begin a name. */
static int copy_exponent(str *out, const char *s)
{
    int sign = s[0] && (s[1] == '+' || s[1] == '-');
    if ((s[0] != 'e' && s[0] != 'E') || !isdigit((unsigned char)s[1 + sign]))
        return 0;
    str_add(out, s, (size_t)sign + 1);
    return sign + 1 + copy_digits(out, s + sign + 1, isdigit);
}

static bool lex_number(lexer *l)
{
    const char *s = l->source + l->at;
    str digits = {0};
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    bool whole = true, fine;
    int n;
    if (hex) {
        str_add(&digits, s, 2);
        n = 2 + copy_digits(&digits, s + 2, isxdigit);
    } else {
        n = copy_digits(&digits, s, isdigit);
        if (s[n] == '.') {
            whole = false;
            str_puts(&digits, ".");
            n++;
            n += copy_digits(&digits, s + n, isdigit);
        }
        int exponent = copy_exponent(&digits, s + n);
        whole &= exponent == 0;
        n += exponent;
    }
    double f = strtod(digits.s, NULL);
    const bool imaginary = !hex && s[n] == 'j' && !is_name_part(s[n + 1]);
    if (imaginary) {
        token_add(l, T_IMAGINARY, n + 1)->u.f = f;
        fine = true;
    } else if (is_name_part(s[n]) || (hex && n == 2))
        fine = mistake_set(l->wrong, (span){l->at, n + 1}, "invalid number '%.*s'",
                           n + 1 < 40 ? n + 1 : 40, s);
    else if (whole)
        fine = lex_int(l, digits.s, hex ? 16 : 10, n);
    else if (f > 1.7976931348623157e308)
        fine = mistake_set(l->wrong, (span){l->at, n},
                           "the number is too large for a float; "
                           "write inf if you mean infinity");
    else
        fine = (token_add(l, T_FLOAT, n)->u.f = f, true);
    str_free(&digits);
    return fine;
}

/* ---- strings -------------------------------------------------------------------------------- */

/* The length in bytes of the character at s if it ends a string that began with quote; else 0. A string in
 * typographic quotes ends with any quote of the same kind, because languages differ. */
static int closing_quote(const char *s, char quote, bool pasted)
{
    return pasted ? substitutes_for(s, quote) : *s == quote;
}

/* Adds the character at s, which may be escaped; returns its length, or 0 after a mistake. at: its place. */
static int lex_character(lexer *l, const char *s, int at, str *out)
{
    static const char escapes[][2] = {{'n', '\n'},  {'t', '\t'},  {'r', '\r'},
                                      {'\\', '\\'}, {'\'', '\''}, {'"', '"'}};
    const size_t count = sizeof escapes / sizeof *escapes;
    size_t i = 0;
    if (*s != '\\') {
        str_add(out, s, 1);
        return 1;
    }
    while (i < count && escapes[i][0] != s[1])
        i++;
    if (i == count) {
        mistake_set(l->wrong, (span){at, 2}, "unknown escape; write \\\\ for a backslash");
        return 0;
    }
    str_add(out, &escapes[i][1], 1);
    return 2;
}

static bool lex_string(lexer *l)
{
    const char *s = l->source + l->at;
    const struct substitute *typographic = substitute_at(s);
    const char quote = typographic ? typographic->ascii[0] : s[0];
    str out = {0};
    bool fine = true;
    int n = character_bytes(s), closes = 0;
    while (fine && !(closes = closing_quote(s + n, quote, typographic != NULL))) {
        if (s[n] == 0 || s[n] == '\n') {
            fine = mistake_set(l->wrong, (span){l->at, 1}, "the string is never closed");
        } else {
            const int bytes = lex_character(l, s + n, l->at + n, &out);
            fine = bytes > 0;
            n += bytes;
        }
    }
    if (fine)
        token_add(l, T_STRING, n + closes)->u.s = arena_string(l->memory, out.s, out.n);
    str_free(&out);
    return fine;
}

static bool lex_token(lexer *l);

/* The tokens of {expression:format}, {expression!r} or {expression!r:format} in an f-string. Starts after '{' and ends after '}'. */
static bool lex_field(lexer *l)
{
    const int opened = l->at - 1, depth = l->depth;
    for (skip_blanks(l);; skip_blanks(l)) {
        const char *s = l->source + l->at;
        const bool outside = l->depth == depth;
        if (*s == 0 || *s == '\n')
            return mistake_set(l->wrong, (span){opened, 1}, "'{' is not closed in the f-string");
        if (outside && (*s == '}' || *s == ':' || (*s == '!' && s[1] != '='))) {
            const int n = (int)strcspn(s, "}\n");
            const bool converts = *s == '!' && (s[1] == 'r' || s[1] == 's') && strchr(":}", s[2]);
            if (s[n] != '}' || (*s == '!' && !converts))
                return mistake_set(l->wrong, (span){l->at, 1},
                                   "a format ends with '}': {x:.2f}, {x!r}");
            const char *spec = arena_string(l->memory, s + (*s == ':'), (size_t)(n - (*s == ':')));
            token_add(l, T_FIELD, n + 1)->u.s = spec;
            return true;
        }
        if (!lex_token(l))
            return false;
    }
}

/* f"text {expression:format}": T_FORMAT, texts and fields, T_FORMAT. */
static bool lex_format(lexer *l)
{
    const char quote = l->source[l->at + 1];
    const int began = l->at;
    token_add(l, T_FORMAT, 2);
    for (str text = {0};;) {
        const char *s = l->source + l->at;
        const bool twice = (*s == '{' || *s == '}') && s[1] == *s;
        if (*s == 0 || *s == '\n' || *s == quote || (*s == '{' && !twice)) {
            if (text.n)
                token_add(l, T_STRING, 0)->u.s = arena_string(l->memory, text.s, text.n);
            text.n = 0;
        }
        bool fine = true;
        if (*s == 0 || *s == '\n') {
            fine = mistake_set(l->wrong, (span){began, 2}, "the string is never closed");
        } else if (*s == quote) {
            token_add(l, T_FORMAT, 1);
            str_free(&text);
            return true;
        } else if (twice) {
            str_add(&text, s, 1);
            l->at += 2;
        } else if (*s == '{') {
            l->at++;
            fine = lex_field(l);
        } else if (*s == '}') {
            fine = mistake_set(l->wrong, (span){l->at, 1}, "write }} for a '}' in an f-string");
        } else {
            const int bytes = lex_character(l, s, l->at, &text);
            l->at += bytes;
            fine = bytes > 0;
        }
        if (!fine) {
            str_free(&text);
            return false;
        }
    }
}

/* ---- symbols -------------------------------------------------------------------------------- */

static const char opening[] = "([{", closing[] = ")]}";

static bool open_bracket(lexer *l)
{
    if (l->depth == NESTING_MOST)
        return mistake_set(l->wrong, (span){l->at, 1}, "brackets are nested deeper than %d levels",
                           NESTING_MOST);
    l->open[l->depth++] = l->at;
    return true;
}

static bool close_bracket(lexer *l, char c)
{
    if (l->depth == 0)
        return mistake_set(l->wrong, (span){l->at, 1}, "'%c' closes nothing", c);
    char opened = l->source[l->open[--l->depth]];
    if (strchr(opening, opened) - opening != strchr(closing, c) - closing)
        return mistake_set(l->wrong, (span){l->at, 1}, "'%c' does not close '%c'", c, opened);
    return true;
}

static bool lex_symbol(lexer *l)
{
    /* Longer symbols first. */
    static const char *const symbols[] = {"...", "**=", "//=", "<<=", ">>=", "**", "//", "<<", ">>",
                                          "<=",  ">=",  "==",  "!=",  "+=",  "-=", "*=", "/=", "%=",
                                          "@=",  "&=",  "|=",  "^=",  "+",   "-",  "*",  "/",  "%",
                                          "@",   "&",   "|",   "^",   "~",   "<",  ">",  "=",  "(",
                                          ")",   "[",   "]",   ",",   ":",   ".",  "{",  "}"};
    const char *s = l->source + l->at;
    const struct substitute *meant = substitute_at(s);
    if (meant) {
        token_add(l, T_SYMBOL, (int)strlen(meant->pasted))->u.s = meant->ascii;
        return true;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        size_t n = strlen(symbols[i]);
        if (strncmp(s, symbols[i], n) != 0)
            continue;
        bool fine = true;
        if (strchr(opening, s[0]))
            fine = open_bracket(l);
        else if (strchr(closing, s[0]))
            fine = close_bracket(l, s[0]);
        if (fine)
            token_add(l, T_SYMBOL, (int)n)->u.s = symbols[i];
        return fine;
    }
    const int n = character_bytes(s);
    if ((unsigned char)*s < ' ' || *s == 0x7f)
        return mistake_set(l->wrong, (span){l->at, 1}, "unexpected byte 0x%02x", (unsigned)*s);
    return mistake_set(l->wrong, (span){l->at, n}, "unexpected '%.*s'", n < 4 ? n : 4, s);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool lex_token(lexer *l)
{
    const char *s = l->source + l->at;
    if (*s == '\n' || *s == ';') {
        if (l->depth)
            return mistake_set(l->wrong, (span){l->open[l->depth - 1], 1},
                               "'%c' is not closed before the statement ends",
                               l->source[l->open[l->depth - 1]]);
        token_add(l, T_STOP, 1);
        return true;
    }
    if ((*s == 'f' || *s == 'F') && (s[1] == '"' || s[1] == '\''))
        return lex_format(l);
    if (is_name_start(*s)) {
        int n = 1;
        while (is_name_part(s[n]))
            n++;
        if (n > NAME_MOST_BYTES)
            return mistake_set(l->wrong, (span){l->at, n},
                               "this name has %d characters; a name has at most %d", n,
                               NAME_MOST_BYTES);
        token_add(l, T_NAME, n)->u.s = arena_string(l->memory, s, (size_t)n);
        return true;
    }
    if (isdigit((unsigned char)s[0]) || (s[0] == '.' && isdigit((unsigned char)s[1])))
        return lex_number(l);
    if (*s == '"' || *s == '\'' || substitutes_for(s, '"') || substitutes_for(s, '\''))
        return lex_string(l);
    return lex_symbol(l);
}

const token *lex(arena *a, const char *source, mistake *m)
{
    lexer l = {.memory = a, .source = source, .wrong = m};
    bool fine = true;
    for (skip_blanks(&l); fine && source[l.at]; skip_blanks(&l))
        fine = lex_token(&l);
    if (fine && l.depth) {
        int opened = l.open[l.depth - 1];
        fine = mistake_set(m, (span){opened, 1}, "'%c' is never closed", source[opened]);
        m->unfinished = true;
    }
    token *tokens = NULL;
    if (fine) {
        token_add(&l, T_END, 0);
        tokens = arena_get(a, sizeof *tokens * (size_t)l.n);
        memcpy(tokens, l.tokens, sizeof *tokens * (size_t)l.n);
    }
    free(l.tokens);
    return tokens;
}
