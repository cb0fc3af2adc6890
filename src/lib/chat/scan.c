/* Cuts a template into tokens, with the white space rules of Jinja: see run.h. */
#include "lib/chat/run.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    const char *at, *end, *begin;
    int line;
    bool line_starts; /* the last tag ended with a newline */
    arena *memory;
    token_list *out;
    char open[256]; /* brackets that are open in a tag */
    int n_open;
} scanner;

static ig_status token_add(scanner *s, token t)
{
    if (!memory_room(&s->out->at, s->out->n, &s->out->room, sizeof t))
        return IG_ERR_MEMORY;
    t.line = t.line ? t.line : s->line;
    s->out->at[s->out->n++] = t;
    return IG_OK;
}

static bool begins(const char *at, const char *end, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

/* Moves on, and counts lines. */
static void advance(scanner *s, const char *to)
{
    for (; s->at < to; s->at++)
        s->line += *s->at == '\n';
}

static uint32_t rune_at(const char *at, const char *end, size_t *n)
{
    uint32_t c;
    *n = unicode_read((const unsigned char *)at, (size_t)(end - at), &c);
    return c;
}

static const char *spaces_skip(const char *at, const char *end)
{
    size_t n;
    while (at < end && rune_is_space(rune_at(at, end, &n)))
        at += n;
    return at;
}

/* The end of [begin, end) without its trailing white space. */
static const char *spaces_trim(const char *begin, const char *end)
{
    while (end > begin) {
        const char *last = end - 1;
        size_t n;
        while (last > begin && ((unsigned char)*last & 0xc0) == 0x80)
            last--;
        if (!rune_is_space(rune_at(last, end, &n)))
            break;
        end = last;
    }
    return end;
}

/* ---- text between tags ---------------------------------------------------------------------- */

/* Adds the text before a tag. sign: the '-' or '+' of the tag, or 0. */
static ig_status data_add(scanner *s, const char *begin, const char *end, char sign, bool print)
{
    const char *keep = end;
    if (sign == '-') {
        keep = spaces_trim(begin, end);
    } else if (sign != '+' && !print) {
        const char *line = end;
        while (line > begin && line[-1] != '\n')
            line--;
        if ((line > begin || s->line_starts) && spaces_trim(line, end) == line)
            keep = line;
    }
    if (keep > begin)
        TRY(token_add(s, (token){.kind = TOKEN_DATA, .s = {begin, NULL, (size_t)(keep - begin)}}));
    return IG_OK;
}

/* Where a tag ends that begins at `at`: after "-%}" and spaces, "+%}", or "%}" and a newline. NULL: it does not end here. */
static const char *tag_end(const char *at, const char *end, const char *close, bool block)
{
    if (at < end && *at == '-' && begins(at + 1, end, close))
        return spaces_skip(at + 3, end);
    if (block && at < end && *at == '+' && begins(at + 1, end, close))
        return at + 3;
    if (!begins(at, end, close))
        return NULL;
    at += 2;
    return block && at < end && *at == '\n' ? at + 1 : at;
}

static void tag_leave(scanner *s, const char *to)
{
    s->line_starts = to > s->at && to[-1] == '\n';
    advance(s, to);
}

static ig_status comment_scan(scanner *s)
{
    for (const char *at = s->at; at + 1 < s->end; at++) {
        const char *to = tag_end(at, s->end, "#}", true);
        if (to) {
            tag_leave(s, to);
            return IG_OK;
        }
    }
    FAIL(IG_ERR_FORMAT, "chat template, line %d: the comment does not end; add '#}'", s->line);
}

/* After "{%" and its sign: where the text of a raw block begins; NULL: it is another block. */
static const char *raw_begin(const char *at, const char *end)
{
    at = spaces_skip(at, end);
    if (!begins(at, end, "raw"))
        return NULL;
    at = spaces_skip(at + 3, end);
    return begins(at, end, "-%}")  ? spaces_skip(at + 3, end)
           : begins(at, end, "%}") ? at + 2
                                   : NULL;
}

static ig_status raw_scan(scanner *s)
{
    const char *const begin = s->at;
    for (const char *at = begin; at + 1 < s->end; at++) {
        if (at[0] != '{' || at[1] != '%')
            continue;
        const char sign = at + 2 < s->end && (at[2] == '-' || at[2] == '+') ? at[2] : 0;
        const char *word = spaces_skip(at + 2 + (sign != 0), s->end);
        const char *to = begins(word, s->end, "endraw")
                             ? tag_end(spaces_skip(word + 6, s->end), s->end, "%}", true)
                             : NULL;
        if (to) {
            s->line_starts = begin[-1] == '\n';
            TRY(data_add(s, begin, at, sign, false));
            tag_leave(s, to);
            return IG_OK;
        }
    }
    FAIL(IG_ERR_FORMAT,
         "chat template, line %d: the block 'raw' does not end; add '{%% endraw %%}'", s->line);
}

/* ---- tokens in tags ------------------------------------------------------------------------- */

static size_t digits_count(const char *at, const char *end)
{
    const char *i = at;
    while (i < end && ((*i >= '0' && *i <= '9') ||
                       (*i == '_' && i > at && i + 1 < end && i[1] >= '0' && i[1] <= '9')))
        i++;
    return (size_t)(i - at);
}

/* The length of a float; 0: it is not one. */
static size_t float_count(const char *at, const char *end)
{
    const char *i = at + digits_count(at, end);
    bool is_float = false;
    if (i < end && *i == '.' && digits_count(i + 1, end)) {
        i += 1 + digits_count(i + 1, end);
        is_float = true;
    }
    if (i < end && (*i | 0x20) == 'e') {
        const char *e = i + 1 + (i + 1 < end && (i[1] == '+' || i[1] == '-'));
        if (digits_count(e, end))
            return (size_t)(e + digits_count(e, end) - at);
    }
    return is_float ? (size_t)(i - at) : 0;
}

static ig_status number_scan(scanner *s)
{
    char plain[64];
    const bool after_dot = s->at > s->begin && s->at[-1] == '.';
    size_t n = after_dot ? 0 : float_count(s->at, s->end);
    const bool is_float = n > 0;
    size_t used = 0;
    int base = 10;
    if (!is_float && s->end - s->at > 2 && s->at[0] == '0' && strchr("xXoObB", s->at[1])) {
        base = (s->at[1] | 0x20) == 'x' ? 16 : (s->at[1] | 0x20) == 'o' ? 8 : 2;
        for (n = 2; s->at + n < s->end && (strchr("0123456789abcdefABCDEF_", s->at[n])); n++)
            ;
    } else if (!is_float) {
        n = digits_count(s->at, s->end);
    }
    for (size_t i = base == 10 ? 0 : 2; i < n && used < sizeof plain - 1; i++)
        if (s->at[i] != '_')
            plain[used++] = s->at[i];
    plain[used] = 0;
    value v = value_float(is_float ? strtod(plain, NULL) : 0);
    int64_t number = 0;
    if (!is_float) {
        if (used == sizeof plain - 1 || !string_int(string_of(plain), base, &number))
            FAIL(IG_ERR_FORMAT,
                 "chat template, line %d: the number %.20s is not supported; integers have 64 bits",
                 s->line, plain);
        v = value_int(number);
    }
    TRY(token_add(s, (token){.kind = TOKEN_NUMBER, .number = v}));
    s->at += n;
    return IG_OK;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* Reads an escape after its backslash into out; returns the number of bytes read, or 0 if it is not supported. */
static size_t escape_read(const char *at, const char *end, unsigned char out[4], size_t *n)
{
    static const char names[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    const char *found = *at ? strchr(names, *at) : NULL;
    uint32_t c = 0;
    size_t used = 1;
    *n = 0;
    if (found) {
        out[(*n)++] = (unsigned char)values[found - names];
    } else if (*at >= '0' && *at <= '7') {
        for (used = 0; used < 3 && at + used < end && at[used] >= '0' && at[used] <= '7'; used++)
            c = 8 * c + (uint32_t)(at[used] - '0');
        *n = unicode_write(c, out);
    } else if (*at == 'x' || *at == 'u' || *at == 'U') {
        const size_t digits = *at == 'x' ? 2 : *at == 'u' ? 4 : 8;
        for (; used <= digits; used++) {
            if (at + used >= end || hex_value(at[used]) < 0)
                return 0;
            c = 16 * c + (uint32_t)hex_value(at[used]);
        }
        if (c > UNICODE_LAST || (c >= 0xd800 && c < 0xe000))
            return 0;
        *n = unicode_write(c, out);
    } else if (*at == 'N') {
        return 0;
    } else if (*at != '\n') { /* other characters keep their backslash */
        out[(*n)++] = '\\';
        used = 0;
    }
    return used ? used : SIZE_MAX;
}

static ig_status string_scan(scanner *s)
{
    const char quote = *s->at, *const begin = s->at + 1, *end = begin;
    while (end < s->end && *end != quote)
        end += 1 + (*end == '\\');
    if (end >= s->end)
        FAIL(IG_ERR_FORMAT, "chat template, line %d: the string does not end; add %c", s->line,
             quote);
    char *out = chat_arena_get(s->memory, (size_t)(end - begin) + 4);
    size_t n = 0;
    if (!out)
        return IG_ERR_MEMORY;
    for (const char *at = begin; at < end;) {
        if (*at != '\\') {
            out[n++] = *at++;
            continue;
        }
        unsigned char bytes[4];
        size_t written;
        const size_t used = escape_read(at + 1, end, bytes, &written);
        if (used == 0)
            FAIL(IG_ERR_FORMAT,
                 "chat template, line %d: the escape '\\%c' of a string is not valid or not "
                 "supported",
                 s->line, at[1]);
        memcpy(out + n, bytes, written);
        n += written;
        at += used == SIZE_MAX ? 1 : 1 + used;
    }
    TRY(token_add(s, (token){.kind = TOKEN_STRING, .s = {out, NULL, n}}));
    advance(s, end + 1);
    return IG_OK;
}

static bool is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 128 || (!first && c >= '0' && c <= '9');
}

static ig_status operator_scan(scanner *s)
{
    static const char twice[][3] = {"==", "!=", ">=", "<=", "//", "**"};
    const char c = *s->at;
    int op = c;
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
        if (begins(s->at, s->end, twice[i]))
            op = OPERATOR(twice[i][0], twice[i][1]);
    if (op == c && (!c || !strchr("+-/*%~[](){}><=.:|,;", c)))
        FAIL(IG_ERR_FORMAT, "chat template, line %d: unexpected character '%c' in a tag", s->line,
             c);
    if (c == '(' || c == '[' || c == '{') {
        if (s->n_open == (int)sizeof s->open)
            FAIL(IG_ERR_FORMAT, "chat template, line %d: brackets are nested more than %d deep",
                 s->line, (int)sizeof s->open);
        s->open[s->n_open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (s->n_open == 0 || s->open[s->n_open - 1] != c)
            FAIL(IG_ERR_FORMAT, "chat template, line %d: unexpected '%c'", s->line, c);
        s->n_open--;
    }
    TRY(token_add(s, (token){.kind = TOKEN_OPERATOR, .op = op}));
    s->at += op > 255 ? 2 : 1;
    return IG_OK;
}

/* The tokens of a tag, up to its end. */
static ig_status tag_scan(scanner *s, bool block)
{
    const int line = s->line;
    TRY(token_add(s, (token){.kind = block ? TOKEN_BLOCK_BEGIN : TOKEN_PRINT_BEGIN}));
    s->n_open = 0;
    while (s->at < s->end) {
        const char *to = s->n_open ? NULL : tag_end(s->at, s->end, block ? "%}" : "}}", block);
        if (to) {
            TRY(token_add(s, (token){.kind = block ? TOKEN_BLOCK_END : TOKEN_PRINT_END}));
            tag_leave(s, to);
            return IG_OK;
        }
        const char *after = spaces_skip(s->at, s->end);
        const char c = *s->at;
        if (after > s->at) {
            advance(s, after);
        } else if (c >= '0' && c <= '9') {
            TRY(number_scan(s));
        } else if (is_name(c, true)) {
            const char *begin = s->at;
            while (s->at < s->end && is_name(*s->at, false))
                s->at++;
            TRY(token_add(
                s, (token){.kind = TOKEN_NAME, .s = {begin, NULL, (size_t)(s->at - begin)}}));
        } else if (c == '\'' || c == '"') {
            TRY(string_scan(s));
        } else {
            TRY(operator_scan(s));
        }
    }
    FAIL(IG_ERR_FORMAT, "chat template, line %d: the tag does not end; add '%s'", line,
         block ? "%}" : "}}");
}

ig_status chat_scan(string source, arena *memory, token_list *tokens)
{
    scanner s = {.at = source.at,
                 .begin = source.at,
                 .end = source.at + source.n,
                 .line = 1,
                 .line_starts = true,
                 .memory = memory,
                 .out = tokens};
    while (s.at < s.end) {
        const char *tag = s.at;
        while (tag < s.end &&
               !(tag[0] == '{' && tag + 1 < s.end && strchr("%{#", tag[1]) && tag[1]))
            tag++;
        if (tag == s.end) {
            TRY(token_add(&s,
                          (token){.kind = TOKEN_DATA, .s = {s.at, NULL, (size_t)(tag - s.at)}}));
            advance(&s, tag);
            break;
        }
        const char kind = tag[1],
                   sign = tag + 2 < s.end && (tag[2] == '-' || tag[2] == '+') ? tag[2] : 0;
        const char *raw = kind == '%' ? raw_begin(tag + 2 + (sign != 0), s.end) : NULL;
        TRY(data_add(&s, s.at, tag, sign, kind == '{'));
        advance(&s, raw ? raw : tag + 2 + (sign != 0));
        TRY(raw ? raw_scan(&s) : kind == '#' ? comment_scan(&s) : tag_scan(&s, kind == '%'));
    }
    return token_add(&s, (token){.kind = TOKEN_END});
}
