/* Literals: from spelling to value. Errors are reported, and some value is returned. */
#include "compiler/pp/pp.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* ---- numbers ---- */

/* A number's text without digit separators, with a zero byte after it. */
static const char *plain_number(kernel_unit *u, const kernel_token *t, char *few, size_t room,
                                uint32_t *bytes)
{
    char *plain = t->bytes < room ? few : kernel_arena_get(&u->arena, (size_t)t->bytes + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->bytes; i++)
        if (t->text[i] != '\'')
            plain[n++] = t->text[i];
    plain[n] = '\0';
    *bytes = n;
    return plain;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
}

static void bad_suffix(kernel_unit *u, const kernel_token *t, const char *suffix)
{
    diag_error(&u->diags, t->place, NULL, "a number does not end with '%.20s'", suffix);
}

/* u, l, ll in any order and case, z. Returns false for other suffixes. */
static bool integer_suffix(const char *s, bool *is_unsigned, int *longs)
{
    static const struct {
        const char *suffix;
        bool is_unsigned;
        int longs;
    } suffixes[] = {{"", false, 0},  {"u", true, 0},   {"l", false, 1},  {"ul", true, 1},
                    {"lu", true, 1}, {"ll", false, 2}, {"ull", true, 2}, {"llu", true, 2},
                    {"z", false, 1}, {"uz", true, 1},  {"zu", true, 1}};
    char lower[4] = {0};
    if (strlen(s) > 3)
        return false;
    for (int i = 0; s[i]; i++)
        lower[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + 32) : s[i];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(suffixes[i].suffix, lower) == 0) {
            *is_unsigned = suffixes[i].is_unsigned;
            *longs = suffixes[i].longs;
            return true;
        }
    return false;
}

/* The first type of the standard's list that can hold the value. */
static kernel_literal_type integer_type(uint64_t v, bool decimal, bool is_unsigned, int longs)
{
    if (longs == 0) {
        if (!is_unsigned && v <= INT32_MAX)
            return LITERAL_INT;
        if ((is_unsigned || !decimal) && v <= UINT32_MAX)
            return LITERAL_UINT;
    }
    if (!is_unsigned && v <= INT64_MAX)
        return longs == 2 ? LITERAL_LONGLONG : LITERAL_LONG;
    return longs == 2 ? LITERAL_ULONGLONG : LITERAL_ULONG;
}

static void decode_integer(kernel_unit *u, kernel_token *t, const char *s, int base)
{
    const char *p = s + (base == 16 || base == 2 ? 2 : base == 8);
    const char *const first = p;
    uint64_t v = 0;
    bool over = false;
    for (int d; (d = digit_of(*p)) < (base == 8 ? 10 : base); p++) {
        if (d >= base) {
            diag_error(&u->diags, t->place, NULL,
                       "an octal number (it begins with 0) has no digit %d", d);
            break;
        }
        over |= v > (UINT64_MAX - (uint64_t)d) / (uint64_t)base;
        v = v * (uint64_t)base + (uint64_t)d;
    }
    bool is_unsigned = false;
    int longs = 0;
    if (p == first && base != 8)
        diag_error(&u->diags, t->place, NULL, "'%s' has no digits", s);
    else if (digit_of(*p) >= 10 && !integer_suffix(p, &is_unsigned, &longs))
        bad_suffix(u, t, p);
    else if (over)
        diag_error(&u->diags, t->place, NULL, "this integer is larger than 64 bits");
    t->kind = TOKEN_INTEGER;
    t->type = (uint8_t)integer_type(v, base == 10, is_unsigned, longs);
    t->as.integer = v;
}

/* The double or float nearest to a number's text, in every locale. */
static double nearest(const char *s, bool is_float, char **end)
{
    double v;
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t ours = plain ? uselocale(plain) : (locale_t)0;
    v = is_float ? (double)strtof(s, end) : strtod(s, end);
    if (plain) {
        uselocale(ours);
        freelocale(plain);
    }
    return v;
}

/* Few digits and a small power of ten are both exact, so their product or quotient is rounded only once.
 * Float allows 24 bits and powers up to 10, double 53 bits and 22. */
static bool nearest_fast(const char *s, bool is_float, double *value, char **end)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t digits = 0;
    int scale = 0, exponent = 0, n = 0;
    bool point = false;
    for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        if (++n > 18)
            return false;
        digits = digits * 10 + (uint64_t)(*s - '0');
        scale -= point;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        const bool negative = *s == '-';
        s += *s == '-' || *s == '+';
        if (*s < '0' || *s > '9')
            return false;
        for (; *s >= '0' && *s <= '9'; s++)
            if ((exponent = exponent * 10 + (*s - '0')) > 1000)
                return false;
        scale += negative ? -exponent : exponent;
    }
    const int most = is_float ? 10 : 22;
    if (digits > (is_float ? UINT64_C(1) << 24 : UINT64_C(1) << 53) || scale > most ||
        scale < -most)
        return false;
    const double d = (double)digits, power = powers[scale < 0 ? -scale : scale];
    if (is_float)
        *value = scale < 0 ? (double)((float)d / (float)power) : (double)((float)d * (float)power);
    else
        *value = scale < 0 ? d / power : d * power;
    *end = (char *)s;
    return true;
}

static void decode_float(kernel_unit *u, kernel_token *t, const char *s, uint32_t bytes, bool hex)
{
    const char last = s[bytes - 1];
    const bool is_float = last == 'f' || last == 'F';
    char *end;
    double v;
    if (hex || !nearest_fast(s, is_float, &v, &end))
        v = nearest(s, is_float, &end);
    if (hex && !memchr(s, 'p', bytes) && !memchr(s, 'P', bytes))
        diag_error(&u->diags, t->place, NULL, "a hexadecimal fraction needs an exponent: 0x1.8p0");
    else if (*end && !((is_float || last == 'l' || last == 'L') && end + 1 == s + bytes))
        bad_suffix(u, t, end);
    else if (isinf(v))
        diag_warning(&u->diags, t->place, NULL, "this number is too large for %s and is infinity",
                     is_float ? "float" : "double");
    t->kind = TOKEN_FLOAT;
    t->type = is_float ? LITERAL_FLOAT : LITERAL_DOUBLE;
    t->as.number = v;
}

static void decode_number(kernel_unit *u, kernel_token *t)
{
    char few[64];
    uint32_t bytes;
    if (t->bytes == 1) { /* most are */
        t->type = LITERAL_INT;
        t->as.integer = (uint64_t)(t->text[0] - '0');
        return;
    }
    const char *s = plain_number(u, t, few, sizeof few, &bytes);
    const bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    const bool binary = s[0] == '0' && (s[1] == 'b' || s[1] == 'B');
    const char *mark = hex ? ".pP" : ".eE";
    if (!binary && strpbrk(s, mark))
        decode_float(u, t, s, bytes, hex);
    else
        decode_integer(u, t, s, hex ? 16 : binary ? 2 : s[0] == '0' ? 8 : 10);
}

/* ---- characters and strings ---- */

/* The text between the quotes of a literal, and its prefix. */
typedef struct quoted {
    kernel_unit *u;
    const kernel_token *t;
    const char *at, *end;
    kernel_literal_type type;
    bool raw;
} quoted;

static quoted open_quotes(kernel_unit *u, const kernel_token *t)
{
    quoted q = {.u = u, .t = t, .at = t->text, .end = t->text + t->bytes, .type = LITERAL_CHAR};
    for (; *q.at != '"' && *q.at != '\''; q.at++) {
        if (*q.at == 'R')
            q.raw = true;
        else
            q.type = *q.at == 'L'   ? LITERAL_WCHAR
                     : *q.at == 'U' ? LITERAL_CHAR32
                     : *q.at == 'u' ? LITERAL_CHAR16
                                    : LITERAL_CHAR; /* the 8 of u8 */
    }
    const char quote = *q.at++;
    if (q.end > q.at && q.end[-1] == quote)
        q.end--;
    if (q.raw) {
        const char *paren = memchr(q.at, '(', (size_t)(q.end - q.at));
        const size_t mark = (size_t)(paren - q.at);
        q.at = paren + 1;
        q.end -= mark + 1;
    }
    return q;
}

static uint32_t read_digits(quoted *q, int base, int most, int *n)
{
    uint32_t v = 0;
    int d;
    for (*n = 0; *n < most && q->at < q->end && (d = digit_of(*q->at)) < base; (*n)++, q->at++)
        v = v > UINT32_MAX >> 4 ? UINT32_MAX : v * (uint32_t)base + (uint32_t)d;
    return v;
}

/* Reads the escape after a backslash. *code: it is a Unicode character, else one unit of the literal. */
static uint32_t read_escape(quoted *q, bool *code)
{
    static const char names[] = "abfnrtv\\'\"?e", values[] = "\a\b\f\n\r\t\v\\'\"?\033";
    const char c = q->at < q->end ? *q->at++ : '\\';
    const char *name = c ? strchr(names, c) : NULL;
    uint32_t v;
    int n = 1;
    *code = c == 'u' || c == 'U';
    if (name)
        return (uint8_t)values[name - names];
    if (c >= '0' && c <= '7') {
        q->at--;
        v = read_digits(q, 8, 3, &n);
    } else if (c == 'x') {
        v = read_digits(q, 16, 1 << 20, &n);
    } else if (*code) {
        const int want = c == 'u' ? 4 : 8;
        v = read_digits(q, 16, want, &n);
        if (n != want || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) {
            diag_error(&q->u->diags, q->t->place, NULL, "this \\%c is not a character", c);
            return '?';
        }
    } else {
        diag_error(&q->u->diags, q->t->place, NULL, "unknown escape '\\%c'",
                   (uint8_t)c > ' ' ? c : '?');
        return (uint8_t)c;
    }
    if (n == 0)
        diag_error(&q->u->diags, q->t->place, NULL, "\\x without digits");
    if (!*code && q->type == LITERAL_CHAR && v > 0xff)
        diag_error(&q->u->diags, q->t->place, NULL, "this escape does not fit a char");
    return v;
}

static char *put_utf8(char *p, uint32_t c)
{
    if (c < 0x80) {
        *p++ = (char)c;
    } else if (c < 0x800) {
        *p++ = (char)(0xc0 | c >> 6);
        *p++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *p++ = (char)(0xe0 | c >> 12);
        *p++ = (char)(0x80 | (c >> 6 & 0x3f));
        *p++ = (char)(0x80 | (c & 0x3f));
    } else {
        *p++ = (char)(0xf0 | (c >> 18 & 0x07));
        *p++ = (char)(0x80 | (c >> 12 & 0x3f));
        *p++ = (char)(0x80 | (c >> 6 & 0x3f));
        *p++ = (char)(0x80 | (c & 0x3f));
    }
    return p;
}

/* Writes the value of a literal as UTF-8; it never takes more bytes than the spelling. */
static char *put_quoted(quoted *q, char *p)
{
    while (q->at < q->end) {
        bool code;
        if (*q->at != '\\' || q->raw) {
            *p++ = *q->at++;
            continue;
        }
        q->at++;
        const uint32_t v = read_escape(q, &code);
        if (code || q->type != LITERAL_CHAR)
            p = put_utf8(p, v);
        else
            *p++ = (char)v;
    }
    return p;
}

/* The first character of n bytes of UTF-8, and how many bytes it has. */
static uint32_t first_character(const char *s, size_t n, size_t *used)
{
    const uint8_t c = (uint8_t)s[0];
    *used = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (*used > n)
        *used = 1;
    uint32_t v = *used == 1 ? c : c & (0x7fu >> *used);
    for (size_t i = 1; i < *used; i++)
        v = v << 6 | ((uint8_t)s[i] & 0x3f);
    return v;
}

static void decode_char(kernel_unit *u, kernel_token *t)
{
    quoted q = open_quotes(u, t);
    char *text = kernel_arena_get(&u->arena, (size_t)t->bytes + 1);
    const size_t n = (size_t)(put_quoted(&q, text) - text);
    size_t used = 1;
    t->kind = TOKEN_CHAR;
    t->type = (uint8_t)q.type;
    t->as.integer = 0;
    if (n == 0) {
        diag_error(&u->diags, t->place, NULL, "empty character literal");
    } else if (q.type != LITERAL_CHAR) {
        t->as.integer = first_character(text, n, &used);
        if (used != n)
            diag_error(&u->diags, t->place, NULL,
                       "there is more than one character in these quotes");
    } else if (n == 1) {
        t->as.integer = (uint64_t)(int64_t)(int8_t)text[0];
    } else {
        uint32_t v = 0;
        for (size_t i = 0; i < n; i++)
            v = v << 8 | (uint8_t)text[i];
        diag_warning(&u->diags, t->place, NULL, "a character of more than one byte is an int");
        t->type = LITERAL_INT;
        t->as.integer = (uint64_t)(int64_t)(int32_t)v;
    }
}

void pp_decode_strings(kernel_unit *u, kernel_token *t, const kernel_token *list, uint32_t n)
{
    size_t room = 1;
    uint8_t type = LITERAL_CHAR;
    for (uint32_t i = 0; i < n; i++)
        room += list[i].bytes;
    if (room > UINT32_MAX)
        kernel_arena_fail(&u->arena, "a string is larger than 4 GiB");
    kernel_string *s = kernel_arena_get(&u->arena, sizeof *s + room);
    char *p = s->text;
    for (uint32_t i = 0; i < n; i++) {
        quoted q = open_quotes(u, &list[i]);
        if (q.type != LITERAL_CHAR && type != LITERAL_CHAR && q.type != type)
            diag_error(&u->diags, list[i].place, NULL,
                       "adjacent strings have different kinds of characters");
        if (q.type != LITERAL_CHAR)
            type = (uint8_t)q.type;
        p = put_quoted(&q, p);
    }
    *p = '\0';
    s->bytes = (uint32_t)(p - s->text);
    t->kind = TOKEN_STRING;
    t->type = type;
    t->as.string = s;
}

void pp_decode(kernel_unit *u, kernel_token *t)
{
    if (t->kind == TOKEN_INTEGER) {
        decode_number(u, t);
    } else if (t->kind == TOKEN_CHAR) {
        decode_char(u, t);
    } else if (t->kind == TOKEN_STRING) {
        pp_decode_strings(u, t, t, 1);
    } else {
        /* An unterminated quote becomes an empty literal, so that parsing can continue. */
        const char *quote = t->text;
        while (*quote != '"' && *quote != '\'')
            quote++;
        diag_error(&u->diags, t->place, NULL, "the closing %c is missing on this line", *quote);
        t->kind = *quote == '"' ? TOKEN_STRING : TOKEN_CHAR;
        t->type = LITERAL_CHAR;
        t->as.integer = 0;
        if (t->kind == TOKEN_STRING)
            t->as.string = kernel_arena_new(&u->arena, sizeof(kernel_string) + 1);
    }
}
