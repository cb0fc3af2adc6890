/* Lambdas as structs. The local variables that [=] may capture are found in the declarations before it:
 * statements that begin like "type name", in blocks that are still open. */
#include "cuda/closure.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 256 };

typedef struct names {
    int at[NAMES_MOST]; /* tokens */
    int n;
} names;

/* A lambda: token numbers, or -1 for parts that it lacks. */
typedef struct lambda {
    const scan *s;
    const char *text;
    const closure_place *at;
    const char *name;
    int params, body, arrow;
    bool is_mutable, all;
    int n_autos;
    names held;
    int values[NAMES_MOST], ends[NAMES_MOST]; /* of "[a = b + 1]": tokens; else -1 */
} lambda;

static bool same(const scan_token *a, const scan_token *b)
{
    return a->bytes == b->bytes && memcmp(a->at, b->at, a->bytes) == 0;
}

static bool has(const scan *s, const names *list, int token)
{
    for (int i = 0; i < list->n; i++)
        if (same(&s->at[list->at[i]], &s->at[token]))
            return true;
    return false;
}

static void keep(const scan *s, names *list, int token)
{
    if (list->n < NAMES_MOST && !has(s, list, token))
        list->at[list->n++] = token;
}

static bool is_one_of(const scan_token *t, const char *const *words)
{
    for (; *words; words++)
        if (scan_is(t, *words))
            return true;
    return false;
}

/* ---- local variables ---- */

static const char *const starters[] = {"return",  "else",  "delete", "new",      "throw",  "goto",
                                       "case",    "break", "using",  "typedef",  "static", "do",
                                       "default", "try",   "struct", "continue", NULL};
static const char *const qualifiers[] = {"const", "volatile", "constexpr", "__restrict__", NULL};
static const char *const loops[] = {"for", "if", "while", "switch", NULL};

static int behind_qualifiers(const scan *s, int i)
{
    while (s->at[i].mark == '*' || s->at[i].mark == '&' || is_one_of(&s->at[i], qualifiers))
        i++;
    return i;
}

/* Adds the names that the statement at i declares, if it is a declaration. */
static void declared(const scan *s, int i, int end, names *out)
{
    i = behind_qualifiers(s, i);
    if (s->at[i].kind != SCAN_NAME || is_one_of(&s->at[i], starters))
        return;
    while (i < end && s->at[i].kind == SCAN_NAME && s->at[i + 1].kind == SCAN_NAME)
        i++; /* unsigned long long x: all but the last word */
    if (s->at[i - 1].kind != SCAN_NAME || is_one_of(&s->at[i - 1], qualifiers)) {
        for (i++; i + 1 < end && s->at[i].mark == ':' && s->at[i + 1].mark == ':';)
            i += 3;
        if (s->at[i].mark == '<')
            i = scan_behind_angles(s, i);
    }
    for (i = behind_qualifiers(s, i); i < end; i = behind_qualifiers(s, i + 1)) {
        const char next = s->at[i + 1].mark;
        if (s->at[i].kind != SCAN_NAME || !next || !strchr("=;,([{:)", next))
            return;
        keep(s, out, i);
        for (i++; i < end && s->at[i].mark != ','; i++) {
            if (s->at[i].mark == ';' || s->at[i].mark == ')')
                return;
            if (s->at[i].pair > i)
                i = s->at[i].pair;
        }
    }
}

/* The token after a loop or an if statement at i that ends before `end`; i if it does not end there. */
static int behind_closed(const scan *s, int i, int end)
{
    int k = s->at[i + 1].pair + 1;
    if (s->at[i + 1].mark != '(' || k <= 0)
        return i;
    while (k < end && s->at[k].mark != '{' && s->at[k].mark != ';')
        k = s->at[k].pair > k ? s->at[k].pair + 1 : k + 1;
    if (s->at[k].mark == '{')
        k = s->at[k].pair;
    return k > i && k < end ? k + 1 : i;
}

/* The local variables of the enclosing function that are visible in the lambda. */
static void find_locals(const scan *s, const closure_place *at, names *out)
{
    scan_piece p;
    for (int i = at->params + 1; i < s->at[at->params].pair;) {
        i = scan_next_piece(s, i, s->at[at->params].pair, &p);
        if (p.name >= 0)
            keep(s, out, p.name);
    }
    bool begins = true;
    for (int i = at->body + 1; i < at->bracket; i++) {
        const scan_token *t = &s->at[i];
        const int closed = is_one_of(t, loops) ? behind_closed(s, i, at->bracket) : i;
        if (closed > i) {
            i = closed - 1;
            begins = true;
            continue;
        }
        if (begins)
            declared(s, i, at->bracket, out);
        begins = (t->mark && strchr(";{}", t->mark)) ||
                 (t->mark == '(' && is_one_of(&s->at[i - 1], loops));
        if (t->mark == '{' && t->pair > i && t->pair < at->bracket)
            i = t->pair;
    }
}

/* ---- reading ---- */

/* Reads "[=, a, b = 2]"; false if it captures by reference, or "this". */
static bool read_captures(lambda *l)
{
    const scan *s = l->s;
    const int end = s->at[l->at->bracket].pair;
    scan_piece p;
    for (int i = l->at->bracket + 1; i < end;) {
        i = scan_next_piece(s, i, end, &p);
        const scan_token *t = &s->at[p.from];
        if (t->mark == '=' && p.from + 1 == p.to) {
            l->all = true;
            continue;
        }
        if (t->kind != SCAN_NAME || scan_is(t, "this") || p.variadic || l->held.n == NAMES_MOST)
            return false;
        l->values[l->held.n] = p.value < p.to ? p.value + 1 : -1;
        l->ends[l->held.n] = p.to;
        keep(s, &l->held, p.from);
    }
    return true;
}

/* From "]" to the body. */
static bool read_head(lambda *l)
{
    const scan *s = l->s;
    int i = s->at[l->at->bracket].pair + 1;
    l->params = l->arrow = -1;
    for (; i < s->n && s->at[i].mark != '{'; i++) {
        const scan_token *t = &s->at[i];
        if (t->directive || t->kind == SCAN_END)
            return false;
        l->is_mutable |= scan_is(t, "mutable");
        if (t->mark == '-' && s->at[i + 1].mark == '>' && l->arrow < 0)
            l->arrow = i++;
        else if (t->mark == '(' && l->params < 0 && l->arrow < 0)
            l->params = i;
        if (t->pair > i)
            i = t->pair;
    }
    l->body = i;
    return i < s->n && s->at[i].pair > i;
}

/* Adds the captures of [=]: local variables that the body names. */
static void read_body(lambda *l)
{
    const scan *s = l->s;
    names locals = {.n = 0}, own = {.n = 0};
    scan_piece p;
    const int end = l->params < 0 ? -1 : s->at[l->params].pair;
    for (int i = l->params + 1; l->params >= 0 && i < end;) {
        i = scan_next_piece(s, i, end, &p);
        if (p.name >= 0)
            keep(s, &own, p.name);
    }
    find_locals(s, l->at, &locals);
    for (int i = l->body; l->all && i < s->at[l->body].pair; i++) {
        const scan_token *t = &s->at[i];
        const bool member = t[-1].mark == '.' || (t[-1].mark == '>' && t[-2].mark == '-') ||
                            (t[-1].mark == ':' && t[-2].mark == ':');
        if (t->kind != SCAN_NAME || member || !has(s, &locals, i) || has(s, &own, i))
            continue;
        if (!has(s, &l->held, i) && l->held.n < NAMES_MOST)
            l->values[l->held.n] = l->ends[l->held.n] = -1;
        keep(s, &l->held, i);
    }
}

/* ---- writing ---- */

static void add_token(str *out, const scan_token *t) { str_add(out, t->at, t->bytes); }

/* The text of tokens, in one line. */
static void add_tokens(const scan *s, int from, int to, str *out)
{
    for (int i = from; i < to; i++) {
        if (i > from && s->at[i].at != s->at[i - 1].at + s->at[i - 1].bytes)
            str_puts(out, " ");
        add_token(out, &s->at[i]);
    }
}

/* The parameters of operator(): "auto" becomes a parameter of its template. */
static void add_params(const lambda *l, str *out)
{
    const scan *s = l->s;
    int autos = 0;
    if (l->params < 0) {
        str_puts(out, "()");
        return;
    }
    for (int i = l->params; i <= s->at[l->params].pair; i++) {
        if (i > l->params && s->at[i].at != s->at[i - 1].at + s->at[i - 1].bytes)
            str_puts(out, " ");
        if (scan_is(&s->at[i], "auto"))
            str_printf(out, "ig_auto_%d", autos++);
        else
            add_token(out, &s->at[i]);
    }
}

/* The parameters of the enclosing template: their declarations, or only their names. */
static void add_outer(const lambda *l, bool declare, const char **between, str *out)
{
    const scan *s = l->s;
    scan_piece p;
    const int end = l->at->outer < 0 ? -1 : scan_behind_angles(s, l->at->outer) - 1;
    for (int i = l->at->outer + 1; i < end; *between = ", ") {
        i = scan_next_piece(s, i, end, &p);
        str_puts(out, *between);
        if (declare)
            add_tokens(s, p.from, p.value, out);
        else if (p.name >= 0)
            add_token(out, &s->at[p.name]);
    }
}

/* "template <typename T, typename ig_0> struct name { ig_0 a; template <...> __device__ auto operator()". */
static void add_begin(const lambda *l, bool device, str *out)
{
    const char *between = "template <";
    add_outer(l, true, &between, out);
    for (int i = 0; i < l->held.n; i++, between = ", ")
        str_printf(out, "%stypename ig_%d", between, i);
    str_printf(out, "%sstruct %s {", *between == ',' ? "> " : "", l->name);
    for (int i = 0; i < l->held.n; i++) {
        str_printf(out, " ig_%d ", i);
        add_token(out, &l->s->at[l->held.at[i]]);
        str_puts(out, ";");
    }
    if (!device && !l->at->on_host) {
        str_puts(out, " template <typename... ig_a>");
    } else if (l->n_autos) {
        for (int i = 0; i < l->n_autos; i++)
            str_printf(out, "%stypename ig_auto_%d", i ? ", " : " template <", i);
        str_puts(out, ">");
    }
    str_puts(out, device ? " __device__ " : " ");
    if (l->arrow >= 0 && !scan_is(&l->s->at[l->arrow + 2], "decltype"))
        add_tokens(l->s, l->arrow + 2, l->body, out);
    else
        str_puts(out, "auto");
    str_puts(out, " operator()");
}

static void make_host(const lambda *l, str *out)
{
    add_begin(l, false, out);
    if (!l->at->on_host) {
        str_puts(out, "(ig_a...) const; }; ");
        return;
    }
    add_params(l, out);
    str_puts(out, l->is_mutable ? " " : " const ");
    add_tokens(l->s, l->body, l->s->at[l->body].pair + 1, out);
    str_puts(out, " }; ");
}

/* Adds #line and padding, so that the text after it has the line and column of a token. */
static void add_place(const lambda *l, int token, str *out)
{
    const char *at = l->s->at[token].at, *line = at;
    int number = 1;
    while (line > l->text && line[-1] != '\n')
        line--;
    for (const char *c = l->text; c < line; c++)
        number += *c == '\n';
    str_printf(out, "\n#line %d\n", number);
    for (const char *c = line; c < at; c++)
        str_puts(out, *c == '\t' ? "\t" : " ");
}

static void make_device(const lambda *l, str *out)
{
    const scan_token *body = &l->s->at[l->body], *end = &l->s->at[body->pair];
    add_begin(l, true, out);
    if (l->params >= 0)
        add_place(l, l->params, out);
    add_params(l, out);
    str_puts(out, l->is_mutable ? "" : " const");
    add_place(l, l->body, out);
    str_add(out, body->at, (size_t)(end->at + 1 - body->at));
    str_puts(out, "\n};\n");
}

/* name<T, held<decltype(a)>>{a} */
static void make_value(const lambda *l, str *out)
{
    const scan *s = l->s;
    const char *between = "<";
    str_puts(out, l->name);
    add_outer(l, false, &between, out);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < l->held.n; i++) {
            const bool given = l->values[i] >= 0;
            str_puts(out, pass ? (i ? ", " : "{") : between);
            str_puts(out, pass ? "(" : "::ig_cuda::ig_held<decltype(");
            add_tokens(s, given ? l->values[i] : l->held.at[i],
                       given ? l->ends[i] : l->held.at[i] + 1, out);
            str_puts(out, pass ? ")" : ")>");
            between = ", ";
        }
        if (!pass && *between == ',')
            str_puts(out, ">");
    }
    str_puts(out, l->held.n ? "}" : "{}");
}

bool closure_make(const scan *s, const char *text, const closure_place *at, const char *name,
                  closure *out)
{
    lambda l = {.s = s, .text = text, .at = at, .name = name};
    *out = (closure){0};
    if (!read_captures(&l) || !read_head(&l))
        return false;
    const int end = s->at[l.body].pair,
              last = at->outer < 0 ? -1 : scan_behind_angles(s, at->outer);
    for (int i = at->bracket; i < end; i++) {
        if (s->at[i].directive)
            return false;
        l.n_autos +=
            l.params >= 0 && i > l.params && i < s->at[l.params].pair && scan_is(&s->at[i], "auto");
    }
    for (int i = at->outer + 1; i < last; i++)
        if (s->at[i].mark == '.')
            return false; /* the enclosing template has a pack */
    read_body(&l);
    out->end = end;
    make_host(&l, &out->host);
    make_device(&l, &out->device);
    make_value(&l, &out->value);
    return true;
}

void closure_free(closure *c)
{
    str_free(&c->value);
    str_free(&c->host);
    str_free(&c->device);
}
