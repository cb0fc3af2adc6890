/* GBNF: a grammar as rules.
 *
 *     root  ::= "{" item ("," item)* "}"     # literals, groups, * + ? {2} {2,} {2,5}
 *     item  ::= [a-z_]+ | [^"\n] | .         # classes of characters; a point is any character
 *
 * A rule ends with its line, except in parentheses and around "|". */
#include "lib/grammar/rules.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 200, REPEAT_MOST = 100000, CHARACTER_MOST = 0x10ffff };

typedef struct parser {
    rules *r;
    const char *begin, *at, *end;
    int depth;
} parser;

/* ---- messages -------------------------------------------------------------------------------- */

static void place_of(const parser *p, const char *at, int *line, int *column)
{
    *line = *column = 1;
    for (const char *c = p->begin; c < at; c++) {
        *line += *c == '\n';
        *column = *c == '\n' ? 1 : *column + ((*c & 0xc0) != 0x80);
    }
}

static ig_status fail_at(const parser *p, const char *at, const char *problem)
{
    int line, column;
    place_of(p, at, &line, &column);
    FAIL(IG_ERR_FORMAT, "the grammar, line %d, column %d: %s", line, column, problem);
}

/* ---- building -------------------------------------------------------------------------------- */

/* A sequence of elements that is being read. */
typedef struct sequence {
    element *at;
    int n, room;
} sequence;

static ig_status sequence_add(sequence *s, element e)
{
    if (s->n == ELEMENTS_MOST)
        FAIL(IG_ERR_MEMORY, "the grammar has more than %d elements", ELEMENTS_MOST);
    if (!memory_room(&s->at, s->n, &s->room, sizeof *s->at))
        return IG_ERR_MEMORY;
    s->at[s->n++] = e;
    return IG_OK;
}

static int32_t rule_new(rules *r)
{
    if (r->n == ELEMENTS_MOST) {
        ig_fail(IG_ERR_MEMORY, "the grammar has more than %d rules", ELEMENTS_MOST);
        return -1;
    }
    if (!memory_room(&r->list, r->n, &r->room, sizeof *r->list))
        return -1;
    r->list[r->n] = (rule){.defined = true};
    return r->n++;
}

static ig_status alternative_add(rules *r, int32_t index, const element *e, int n)
{
    rule *l = &r->list[index];
    if (r->n_elements + n >= ELEMENTS_MOST)
        FAIL(IG_ERR_MEMORY, "the grammar has more than %d elements", ELEMENTS_MOST);
    if (!memory_room(&l->alternatives, l->n, &l->room, sizeof *l->alternatives))
        return IG_ERR_MEMORY;
    l->alternatives[l->n++] = r->n_elements;
    for (int i = 0; i <= n; i++) {
        if (!memory_room(&r->elements, r->n_elements, &r->elements_room, sizeof *r->elements))
            return IG_ERR_MEMORY;
        r->elements[r->n_elements++] = i < n ? e[i] : (element){.kind = ELEMENT_END};
    }
    return IG_OK;
}

static element rule_element(int32_t index)
{
    return (element){.kind = ELEMENT_RULE, .rule = index};
}

/* Replaces the elements from `first` on by a rule repeated from `least` to `most` times; most -1: any number of times. */
static ig_status repeat(parser *p, sequence *s, int first, int64_t least, int64_t most)
{
    rules *r = p->r;
    const bool single = s->n - first == 1; /* an empty text has no elements */
    const element item = single ? s->at[first] : rule_element(rule_new(r));
    if (item.kind == ELEMENT_RULE && item.rule < 0)
        return error_waiting(IG_ERR_MEMORY);
    if (!single) {
        TRY(alternative_add(r, item.rule, s->n ? s->at + first : NULL, s->n - first));
    }
    s->n = first;
    for (int64_t i = 0; i < least; i++)
        TRY(sequence_add(s, item));
    /* The rest is a rule: nothing, or one more and the rest with one less. */
    int32_t rest = -1;
    for (int64_t i = most < 0 ? least - 1 : least; i < (most < 0 ? least : most); i++) {
        const int32_t next = rule_new(r);
        if (next < 0)
            return error_waiting(IG_ERR_MEMORY);
        const element more[] = {item, rule_element(most < 0 ? next : rest)};
        TRY(alternative_add(r, next, more, more[1].rule < 0 ? 1 : 2));
        TRY(alternative_add(r, next, NULL, 0));
        rest = next;
    }
    return rest < 0 ? IG_OK : sequence_add(s, rule_element(rest));
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* Skips blanks and comments; line ends too if `lines`. */
static void space_skip(parser *p, bool lines)
{
    while (p->at < p->end) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        else if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || (lines && *p->at == '\n'))
            p->at++;
        else
            break;
    }
}

static bool next_is(const parser *p, char c) { return p->at < p->end && *p->at == c; }

static ig_status hex_read(parser *p, int digits, uint32_t *out)
{
    const char *from = p->at;
    *out = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        const char c = p->at < p->end ? *p->at : 0;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return fail_at(p, from, "hexadecimal digits are missing: \\xHH, \\uHHHH, \\UHHHHHHHH");
        *out = *out << 4 | (uint32_t)digit;
    }
    if (*out > CHARACTER_MOST || (*out >= 0xd800 && *out <= 0xdfff))
        return fail_at(p, from, "this is not the number of a character");
    return IG_OK;
}

/* One character of a literal or class. */
static ig_status character_read(parser *p, uint32_t *out)
{
    static const char escapes[] = "nrt\\\"[]-^", values[] = "\n\r\t\\\"[]-^";
    const unsigned char c = (unsigned char)*p->at;
    if (c == '\\') {
        const char e = p->at + 1 < p->end ? p->at[1] : 0;
        const char *found = e ? strchr(escapes, e) : NULL;
        p->at += 2;
        if (found)
            *out = (unsigned char)values[found - escapes];
        else if (e == 'x' || e == 'u' || e == 'U')
            return hex_read(p, e == 'x' ? 2 : e == 'u' ? 4 : 8, out);
        else
            return fail_at(p, p->at - 2,
                           "this escape is not known; known are \\n \\r \\t \\\\ \\\" \\[ "
                           "\\] \\- \\^ \\xHH \\uHHHH \\UHHHHHHHH");
        return IG_OK;
    }
    const int n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (n == 1 && c < ' ' && c != '\t')
        return fail_at(p, p->at, "a line end or control character; write \\n or \\xHH");
    *out = n == 1 ? c : c & (0x7fu >> n);
    for (int i = 1; i < n; i++)
        *out = *out << 6 | (p->at[i] & 0x3fu);
    p->at += n;
    return IG_OK;
}

static ig_status literal_read(parser *p, sequence *s)
{
    const char *from = p->at++;
    while (!next_is(p, '"')) {
        uint32_t c;
        unsigned char bytes[4];
        if (p->at >= p->end || *p->at == '\n')
            return fail_at(p, from, "this text has no closing \"");
        TRY(character_read(p, &c));
        const int n = utf8_write(c, bytes);
        for (int i = 0; i < n; i++)
            TRY(sequence_add(s,
                             (element){.kind = ELEMENT_BYTE, .low = bytes[i], .high = bytes[i]}));
    }
    p->at++;
    return IG_OK;
}

typedef struct class_rule {
    rules *r;
    int32_t index;
} class_rule;

static ig_status class_add(void *context, const element *bytes, int n)
{
    const class_rule *c = context;
    return alternative_add(c->r, c->index, bytes, n);
}

typedef struct interval {
    uint32_t low, high;
} interval;

static int by_low(const void *left, const void *right)
{
    const interval *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* Adds a rule of the characters in the intervals, or of all others. */
static ig_status class_make(parser *p, sequence *s, interval *list, int n, bool negated)
{
    class_rule c = {p->r, rule_new(p->r)};
    uint32_t next = 0; /* the first character after the intervals so far */
    if (c.index < 0)
        return error_waiting(IG_ERR_MEMORY);
    if (n)
        qsort(list, (size_t)n, sizeof *list, by_low);
    for (int i = 0; i < n; i++) {
        const uint32_t low = list[i].low > next ? list[i].low : next;
        if (negated && list[i].low > next)
            TRY(utf8_sequences(next, list[i].low - 1, class_add, &c));
        if (!negated && low <= list[i].high)
            TRY(utf8_sequences(low, list[i].high, class_add, &c));
        next = list[i].high >= next ? list[i].high + 1 : next;
    }
    if (negated && next <= CHARACTER_MOST)
        TRY(utf8_sequences(next, CHARACTER_MOST, class_add, &c));
    return sequence_add(s, rule_element(c.index));
}

static ig_status class_read(parser *p, sequence *s)
{
    const char *from = p->at++;
    interval *list = NULL;
    int n = 0, room = 0;
    const bool negated = next_is(p, '^');
    ig_status status = IG_OK;
    p->at += negated;
    while (status == IG_OK && !next_is(p, ']')) {
        interval i;
        const char *first = p->at;
        if (p->at >= p->end || *p->at == '\n') {
            status = fail_at(p, from, "this class has no closing ]");
            break;
        }
        status = character_read(p, &i.low);
        i.high = i.low;
        if (status == IG_OK && next_is(p, '-') && p->at + 1 < p->end && p->at[1] != ']') {
            p->at++;
            status = character_read(p, &i.high);
        }
        if (status == IG_OK && i.high < i.low)
            status =
                fail_at(p, first, "the last character of this range comes before the first one");
        if (status == IG_OK && !memory_room(&list, n, &room, sizeof *list))
            status = IG_ERR_MEMORY;
        if (status == IG_OK)
            list[n++] = i;
    }
    if (status == IG_OK) {
        p->at++;
        status = n || negated ? class_make(p, s, list, n, negated)
                              : fail_at(p, from, "this class has no characters");
    }
    memory_free(list);
    return status;
}

static ig_status rule_named(parser *p, const char *name, size_t n, int32_t *index)
{
    rules *r = p->r;
    for (*index = 0; *index < r->n; ++*index) {
        const char *known = r->list[*index].name;
        if (known && strlen(known) == n && memcmp(known, name, n) == 0)
            return IG_OK;
    }
    char *copy = memory_get(n + 1);
    *index = copy ? rule_new(r) : -1;
    if (*index < 0) {
        memory_free(copy);
        return error_waiting(IG_ERR_MEMORY);
    }
    memcpy(copy, name, n);
    copy[n] = '\0';
    rule *l = &r->list[*index];
    l->name = copy;
    l->defined = false;
    place_of(p, name, &l->line, &l->column);
    return IG_OK;
}

static ig_status alternatives_read(parser *p, int32_t index);

static ig_status group_read(parser *p, sequence *s)
{
    const char *from = p->at++;
    const int32_t index = rule_new(p->r);
    if (index < 0)
        return error_waiting(IG_ERR_MEMORY);
    if (++p->depth > DEPTH_MOST)
        return fail_at(p, from, "too many open parentheses");
    TRY(alternatives_read(p, index));
    p->depth--;
    if (!next_is(p, ')'))
        return fail_at(p, from, "this parenthesis is not closed");
    p->at++;
    return sequence_add(s, rule_element(index));
}

static bool count_read(parser *p, int64_t *n)
{
    const char *from = p->at;
    for (*n = 0; p->at < p->end && *p->at >= '0' && *p->at <= '9' && *n <= REPEAT_MOST; p->at++)
        *n = *n * 10 + (*p->at - '0');
    return p->at > from;
}

/* Reads * + ? {m} {m,} {m,n} after an item. */
static ig_status postfix_read(parser *p, sequence *s, int first)
{
    const char c = p->at < p->end ? *p->at : 0, *from = p->at;
    int64_t least = c == '+', most = c == '?' ? 1 : -1;
    if (c != '*' && c != '+' && c != '?' && c != '{')
        return IG_OK;
    p->at++;
    if (c == '{') {
        if (!count_read(p, &least))
            return fail_at(p, from, "a number is missing: {2}, {2,} or {2,5}");
        most = least;
        if (next_is(p, ',')) {
            p->at++;
            if (!count_read(p, &most))
                most = -1;
        }
        if (!next_is(p, '}'))
            return fail_at(p, from, "this brace is not closed: {2}, {2,} or {2,5}");
        p->at++;
        if (least > REPEAT_MOST || most > REPEAT_MOST || (most >= 0 && most < least))
            return fail_at(p, from, "the numbers of a repetition must rise and be at most 100000");
    }
    return repeat(p, s, first, least, most);
}

/* One item with what follows it. *none: no item begins here. */
static ig_status item_read(parser *p, sequence *s, bool *none)
{
    const int first = s->n;
    const char c = p->at < p->end ? *p->at : 0, *from = p->at;
    if (c == '"') {
        TRY(literal_read(p, s));
    } else if (c == '[') {
        TRY(class_read(p, s));
    } else if (c == '(') {
        TRY(group_read(p, s));
    } else if (c == '.') {
        p->at++;
        TRY(class_make(p, s, NULL, 0, true));
    } else if (is_name(c)) {
        int32_t index;
        while (p->at < p->end && is_name(*p->at))
            p->at++;
        const size_t n = (size_t)(p->at - from);
        space_skip(p, p->depth > 0);
        if (p->end - p->at >= 3 && memcmp(p->at, "::=", 3) == 0) { /* the next rule */
            p->at = from;
            *none = true;
            return p->depth ? fail_at(p, from, "a rule begins inside of parentheses") : IG_OK;
        }
        TRY(rule_named(p, from, n, &index));
        TRY(sequence_add(s, rule_element(index)));
    } else {
        *none = true;
        return IG_OK;
    }
    const char *after = p->at;
    space_skip(p, p->depth > 0);
    const bool repeated = p->at < p->end && strchr("*+?{", *p->at);
    if (!repeated) {
        p->at = after;
        return IG_OK;
    }
    TRY(postfix_read(p, s, first));
    space_skip(p, p->depth > 0);
    if (p->at < p->end && strchr("*+?{", *p->at))
        return fail_at(p, p->at, "put a repetition of a repetition in parentheses");
    return IG_OK;
}

/* True if the text goes on after line ends with "|". */
static bool bar_follows(parser *p)
{
    const char *from = p->at;
    space_skip(p, true);
    if (next_is(p, '|'))
        return true;
    p->at = from;
    return false;
}

static ig_status alternatives_read(parser *p, int32_t index)
{
    bool more = true;
    while (more) {
        sequence s = {0};
        bool none = false;
        ig_status status = IG_OK;
        p->at += next_is(p, '|');
        space_skip(p, true);
        while (status == IG_OK && !none) {
            status = item_read(p, &s, &none);
            space_skip(p, p->depth > 0);
        }
        if (status == IG_OK)
            status = alternative_add(p->r, index, s.at, s.n);
        memory_free(s.at);
        TRY(status);
        more = bar_follows(p);
    }
    return IG_OK;
}

static ig_status rule_read(parser *p)
{
    const char *from = p->at;
    int32_t index;
    while (p->at < p->end && is_name(*p->at))
        p->at++;
    if (p->at == from)
        return fail_at(p, from, "a rule must begin here: name ::= ...");
    TRY(rule_named(p, from, (size_t)(p->at - from), &index));
    if (p->r->list[index].defined)
        return fail_at(p, from, "this rule is defined twice");
    p->r->list[index].defined = true;
    place_of(p, from, &p->r->list[index].line, &p->r->list[index].column);
    space_skip(p, false);
    if (p->end - p->at < 3 || memcmp(p->at, "::=", 3) != 0)
        return fail_at(p, p->at, "::= is missing after the name of the rule");
    p->at += 3;
    TRY(alternatives_read(p, index));
    if (p->at < p->end && *p->at != '\n')
        return fail_at(p, p->at, "neither a text, a class, a name nor a parenthesis begins here");
    return IG_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool alternative_empty(const rules *r, int32_t at)
{
    while (r->elements[at].kind == ELEMENT_RULE && r->list[r->elements[at].rule].empty)
        at++;
    return r->elements[at].kind == ELEMENT_END;
}

static void empty_find(rules *r)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < r->n; i++)
            for (int a = 0; !r->list[i].empty && a < r->list[i].n; a++)
                if (alternative_empty(r, r->list[i].alternatives[a]))
                    changed = r->list[i].empty = true;
    }
}

/* The search for cycles of rules that begin with each other, by Tarjan's algorithm. */
typedef struct search {
    rules *r;
    int32_t *number, *low, *group, *stack, *calls, *edge, *place;
    int n_stack, n_calls, next;
} search;

/* The next rule that rule `index` may begin with; -1: no more. *grows: something follows it. */
static int32_t begin_next(search *s, int32_t index, bool *grows)
{
    const rule *l = &s->r->list[index];
    for (; s->edge[index] < l->n; s->edge[index]++, s->place[index] = 0) {
        const element *e = s->r->elements + l->alternatives[s->edge[index]] + s->place[index];
        if (e->kind != ELEMENT_RULE || (s->place[index] > 0 && !s->r->list[e[-1].rule].empty))
            continue;
        s->place[index]++;
        *grows = e[1].kind != ELEMENT_END;
        return e->rule;
    }
    return -1;
}

static void search_from(search *s, int32_t root)
{
    bool grows;
    s->calls[s->n_calls++] = root;
    while (s->n_calls) {
        const int32_t at = s->calls[s->n_calls - 1];
        if (s->number[at] == 0) {
            s->number[at] = s->low[at] = ++s->next;
            s->stack[s->n_stack++] = at;
        }
        const int32_t to = begin_next(s, at, &grows);
        if (to >= 0 && s->number[to] == 0) {
            s->calls[s->n_calls++] = to;
        } else if (to >= 0) {
            if (s->group[to] == 0 && s->number[to] < s->low[at])
                s->low[at] = s->number[to];
        } else {
            s->n_calls--;
            const int32_t up = s->n_calls ? s->calls[s->n_calls - 1] : at;
            s->low[up] = s->low[at] < s->low[up] ? s->low[at] : s->low[up];
            for (int32_t done = -1; s->low[at] == s->number[at] && done != at;) {
                done = s->stack[--s->n_stack];
                s->group[done] = s->number[at];
            }
        }
    }
}

/* Refuses rules that begin with themselves: their states would have no end. */
static ig_status recursion_check(rules *r)
{
    search s = {.r = r};
    const size_t n = (size_t)r->n;
    int32_t *block = memory_new(7 * n * sizeof *block);
    if (!block)
        return IG_ERR_MEMORY;
    int32_t **lists[] = {&s.number, &s.low, &s.group, &s.stack, &s.calls, &s.edge, &s.place};
    for (size_t i = 0; i < 7; i++)
        *lists[i] = block + i * n;
    for (int i = 0; i < r->n; i++)
        if (s.number[i] == 0)
            search_from(&s, i);
    memset(s.edge, 0, 2 * n * sizeof *s.edge); /* and place */
    ig_status status = IG_OK;
    for (int i = 0; i < r->n && status == IG_OK; i++) {
        bool grows = false;
        for (int32_t to; status == IG_OK && (to = begin_next(&s, i, &grows)) >= 0;) {
            if (!grows || s.group[i] != s.group[to])
                continue;
            int named = i; /* a part of a rule: a rule of the same cycle */
            for (int j = 0; j < r->n && !r->list[named].name; j++)
                named = s.group[j] == s.group[i] && r->list[j].name ? j : named;
            const rule *l = &r->list[named];
            status =
                ig_fail(IG_ERR_FORMAT,
                        "the grammar, line %d, column %d: the rule '%.80s' begins with itself; "
                        "put it at the end, or use *",
                        l->line, l->column, l->name ? l->name : "( )");
        }
    }
    memory_free(block);
    return status;
}

ig_status rules_read(rules *r, ig_text source, int32_t *root)
{
    parser p = {.r = r, .begin = source.at, .at = source.at, .end = source.at + source.bytes};
    char *copy = memory_get(source.bytes + 1);
    if (!copy)
        return IG_ERR_MEMORY;
    memcpy(copy, source.at, source.bytes);
    copy[source.bytes] = '\0';
    const bool valid = strlen(copy) == source.bytes && json_is_utf8(copy);
    memory_free(copy);
    if (!valid)
        FAIL(IG_ERR_FORMAT, "the grammar is not text in UTF-8");
    for (space_skip(&p, true); p.at < p.end; space_skip(&p, true))
        TRY(rule_read(&p));
    *root = -1;
    for (int i = 0; i < r->n; i++) {
        const rule *l = &r->list[i];
        if (!l->defined)
            FAIL(IG_ERR_FORMAT, "the grammar, line %d, column %d: the rule '%.80s' is not defined",
                 l->line, l->column, l->name);
        if (l->name && strcmp(l->name, "root") == 0)
            *root = i;
    }
    if (*root < 0)
        return fail_at(&p, p.begin, "there is no rule 'root', which is the text");
    empty_find(r);
    return recursion_check(r);
}

void rules_free(rules *r)
{
    for (int i = 0; i < r->n; i++) {
        memory_free(r->list[i].name);
        memory_free(r->list[i].alternatives);
    }
    memory_free(r->list);
    memory_free(r->elements);
    *r = (rules){0};
}
