/* Lambdas that the host passes to a kernel: [=] __device__ (int i) {...} becomes a struct that holds the
 * captured values and has an operator(). Host and device see the same struct, so its name and bytes identify
 * the lambda to the kernel.
 *
 * The local variables that [=] may capture are found in the declarations before it: statements that begin like
 * "type name", in blocks that are still open. */
#include "cuda/rewrite.h"

#include <string.h>

enum { NAMES_MOST = 256 };

typedef struct names {
    int at[NAMES_MOST]; /* tokens */
    int n;
} names;

/* A lambda: token numbers, or -1 for parts that it lacks. */
typedef struct lambda {
    const cuda_list *s;
    const char *text;            /* of the whole source */
    const declaration *function; /* the enclosing one */
    int bracket;                 /* its '[' */
    char name[64];               /* of its struct */
    int params, body, arrow;
    bool is_mutable, all, on_host; /* on_host: the host may call it */
    int n_autos;
    names captured;
    int values[NAMES_MOST], ends[NAMES_MOST]; /* of "[a = b + 1]": tokens; else -1 */
} lambda;

static bool has(const cuda_list *s, const names *list, int token)
{
    for (int i = 0; i < list->n; i++)
        if (s->at[list->at[i]].name == s->at[token].name)
            return true;
    return false;
}

static void keep(const cuda_list *s, names *list, int token)
{
    if (list->n < NAMES_MOST && !has(s, list, token))
        list->at[list->n++] = token;
}

/* Adds the names of the parameters in the parentheses at i. */
static void keep_parameters(const cuda_list *s, int i, names *out)
{
    token_piece p;
    for (const int end = i < 0 ? -1 : s->at[i++].pair; i < end;) {
        i = token_next_piece(s, i, end, &p);
        if (p.name >= 0)
            keep(s, out, p.name);
    }
}

/* ---- local variables ---- */

static const char starters[] = "return else delete new throw goto case break using typedef static "
                               "do default try struct continue";
static const char qualifiers[] = "const volatile constexpr __restrict__";
static const char loops[] = "for if while switch";

static int behind_qualifiers(const cuda_token *t, int i)
{
    while (token_in(&t[i], "* & &&") || token_in(&t[i], qualifiers))
        i++;
    return i;
}

/* Adds the names that the statement at i declares, if it is a declaration. */
static void declared(const cuda_list *s, int i, int end, names *out)
{
    const cuda_token *t = s->at;
    i = behind_qualifiers(t, i);
    if (t[i].kind != TOKEN_NAME || token_in(&t[i], starters))
        return;
    while (i < end && t[i].kind == TOKEN_NAME && t[i + 1].kind == TOKEN_NAME)
        i++; /* unsigned long long x: all but the last word */
    if (t[i - 1].kind != TOKEN_NAME || token_in(&t[i - 1], qualifiers)) {
        for (i++; i + 1 < end && t[i].kind == TOKEN_SCOPE;)
            i += 2;
        if (t[i].kind == TOKEN_LT)
            i = token_behind_angles(s, i);
    }
    for (i = behind_qualifiers(t, i); i < end; i = behind_qualifiers(t, i + 1)) {
        if (t[i].kind != TOKEN_NAME || !token_in(&t[i + 1], "= ; , ( [ { : )"))
            return;
        keep(s, out, i);
        for (i++; i < end && t[i].kind != TOKEN_COMMA; i++) {
            if (t[i].kind == TOKEN_SEMICOLON || t[i].kind == TOKEN_RPAREN)
                return;
            if (t[i].pair > i)
                i = t[i].pair;
        }
    }
}

/* The token after a loop or an if statement at i that ends before `end`; i if it does not end there. */
static int behind_closed(const cuda_token *t, int i, int end)
{
    int k = t[i + 1].pair + 1;
    if (t[i + 1].kind != TOKEN_LPAREN || k <= 0)
        return i;
    while (k < end && t[k].kind != TOKEN_LBRACE && t[k].kind != TOKEN_SEMICOLON)
        k = t[k].pair > k ? t[k].pair + 1 : k + 1;
    if (t[k].kind == TOKEN_LBRACE)
        k = t[k].pair;
    return k > i && k < end ? k + 1 : i;
}

/* The local variables of the enclosing function that are visible in the lambda. */
static void find_locals(const lambda *l, names *out)
{
    keep_parameters(l->s, l->function->params, out);
    bool begins = true;
    for (int i = l->function->body + 1; i < l->bracket; i++) {
        const cuda_token *t = &l->s->at[i];
        const int closed = token_in(t, loops) ? behind_closed(l->s->at, i, l->bracket) : i;
        if (closed > i) {
            i = closed - 1;
            begins = true;
            continue;
        }
        if (begins)
            declared(l->s, i, l->bracket, out);
        begins = token_in(t, "; { }") || (t->kind == TOKEN_LPAREN && token_in(&t[-1], loops));
        if (t->kind == TOKEN_LBRACE && t->pair > i && t->pair < l->bracket)
            i = t->pair;
    }
}

/* ---- reading ---- */

/* Reads "[=, a, b = 2]"; false if it captures by reference, or "this". */
static bool read_captures(lambda *l)
{
    const cuda_list *s = l->s;
    const int end = s->at[l->bracket].pair;
    token_piece p;
    for (int i = l->bracket + 1; i < end;) {
        i = token_next_piece(s, i, end, &p);
        const cuda_token *t = &s->at[p.from];
        if (t->kind == TOKEN_ASSIGN && p.from + 1 == p.to) {
            l->all = true;
            continue;
        }
        if (t->kind != TOKEN_NAME || t->keyword || p.variadic || l->captured.n == NAMES_MOST)
            return false;
        l->values[l->captured.n] = p.value < p.to ? p.value + 1 : -1;
        l->ends[l->captured.n] = p.to;
        keep(s, &l->captured, p.from);
    }
    return true;
}

/* Reads from "]" to the body; false if it has none. */
static bool read_head(lambda *l)
{
    const cuda_token *t = l->s->at;
    int i = t[l->bracket].pair + 1;
    l->params = l->arrow = -1;
    for (; i < l->function->end && t[i].kind != TOKEN_LBRACE; i++) {
        l->is_mutable |= t[i].keyword == KEYWORD_mutable;
        if (t[i].kind == TOKEN_ARROW && l->arrow < 0)
            l->arrow = i;
        else if (t[i].kind == TOKEN_LPAREN && l->params < 0 && l->arrow < 0)
            l->params = i;
        if (t[i].pair > i)
            i = t[i].pair;
    }
    l->body = i;
    for (i = l->params; l->params >= 0 && i < t[l->params].pair; i++)
        l->n_autos += t[i].keyword == KEYWORD_auto;
    return t[l->body].pair > l->body;
}

/* Adds the captures of [=]: local variables that the body names. */
static void read_body(lambda *l)
{
    const cuda_list *s = l->s;
    names locals = {.n = 0}, own = {.n = 0};
    keep_parameters(s, l->params, &own);
    find_locals(l, &locals);
    for (int i = l->body; l->all && i < s->at[l->body].pair; i++) {
        const cuda_token *t = &s->at[i];
        const int before = t[-1].kind;
        if (t->kind != TOKEN_NAME || before == TOKEN_DOT || before == TOKEN_ARROW ||
            before == TOKEN_SCOPE || !has(s, &locals, i) || has(s, &own, i))
            continue;
        if (!has(s, &l->captured, i) && l->captured.n < NAMES_MOST)
            l->values[l->captured.n] = l->ends[l->captured.n] = -1;
        keep(s, &l->captured, i);
    }
}

/* ---- writing ---- */

/* The parameters of operator(): "auto" becomes a parameter of its template. */
static void add_params(const lambda *l, str *out)
{
    const cuda_list *s = l->s;
    int autos = 0, from = l->params;
    if (from < 0) {
        str_puts(out, "()");
        return;
    }
    for (int i = from; i <= s->at[l->params].pair; i++)
        if (s->at[i].keyword == KEYWORD_auto) {
            token_add(out, s, from, i);
            str_printf(out, " ig_auto_%d ", autos++);
            from = i + 1;
        }
    token_add(out, s, from, s->at[l->params].pair + 1);
}

/* The parameters of the enclosing template: their declarations, or only their names. */
static void add_outer(const lambda *l, bool declare, const char **between, str *out)
{
    const cuda_list *s = l->s;
    const int outer = l->function->template;
    token_piece p;
    const int end = outer < 0 ? -1 : token_behind_angles(s, outer) - 1;
    for (int i = outer + 1; i < end; *between = ", ") {
        i = token_next_piece(s, i, end, &p);
        str_puts(out, *between);
        if (declare)
            token_add(out, s, p.from, p.value);
        else if (p.name >= 0)
            token_add(out, s, p.name, p.name + 1);
    }
}

/* "template <typename T, typename ig_0> struct name { ig_0 a; template <...> __device__ auto operator()". */
static void add_begin(const lambda *l, bool device, str *out)
{
    const char *between = "template <";
    add_outer(l, true, &between, out);
    for (int i = 0; i < l->captured.n; i++, between = ", ")
        str_printf(out, "%stypename ig_%d", between, i);
    str_printf(out, "%sstruct %s {", *between == ',' ? "> " : "", l->name);
    for (int i = 0; i < l->captured.n; i++)
        str_printf(out, " ig_%d %s;", i, l->s->at[l->captured.at[i]].name->text);
    if (!device && !l->on_host) {
        str_puts(out, " template <typename... ig_a>");
    } else if (l->n_autos) {
        for (int i = 0; i < l->n_autos; i++)
            str_printf(out, "%stypename ig_auto_%d", i ? ", " : " template <", i);
        str_puts(out, ">");
    }
    str_puts(out, device ? " __device__ " : " ");
    if (l->arrow >= 0 && l->s->at[l->arrow + 1].keyword != KEYWORD_decltype)
        token_add(out, l->s, l->arrow + 1, l->body);
    else
        str_puts(out, "auto");
    str_puts(out, " operator()");
}

/* Adds the struct on one line. */
static void add_host(const lambda *l, str *out)
{
    add_begin(l, false, out);
    if (!l->on_host) {
        str_puts(out, "(ig_a...) const; }; ");
        return;
    }
    add_params(l, out);
    str_puts(out, l->is_mutable ? " " : " const ");
    token_add(out, l->s, l->body, l->s->at[l->body].pair + 1);
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

/* Adds the struct for the device, with the line numbers of the source. */
static void add_device(const lambda *l, str *out)
{
    const cuda_token *body = &l->s->at[l->body];
    add_begin(l, true, out);
    if (l->params >= 0)
        add_place(l, l->params, out);
    add_params(l, out);
    str_puts(out, l->is_mutable ? "" : " const");
    add_place(l, l->body, out);
    str_add(out, body->at, (size_t)(l->s->at[body->pair].end - body->at));
    str_puts(out, "\n};\n");
}

/* Adds the expression that replaces the lambda: name<T, held<decltype(a)>>{a}. */
static void add_value(const lambda *l, str *out)
{
    const char *between = "<";
    str_puts(out, l->name);
    add_outer(l, false, &between, out);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < l->captured.n; i++) {
            const bool given = l->values[i] >= 0;
            str_puts(out, pass ? (i ? ", " : "{") : between);
            str_puts(out, pass ? "(" : "::ig_cuda::ig_held<decltype(");
            token_add(out, l->s, given ? l->values[i] : l->captured.at[i],
                      given ? l->ends[i] : l->captured.at[i] + 1);
            str_puts(out, pass ? ")" : ")>");
            between = ", ";
        }
        if (!pass && *between == ',')
            str_puts(out, ">");
    }
    str_puts(out, l->captured.n ? "}" : "{}");
}

/* True if the template of the enclosing function has a pack. */
static bool has_pack(const lambda *l)
{
    const int outer = l->function->template;
    for (int i = outer; outer >= 0 && i < token_behind_angles(l->s, outer); i++)
        if (l->s->at[i].kind == TOKEN_ELLIPSIS)
            return true;
    return false;
}

/* True if a directive is inside the lambda: its text cannot be put on one line. */
static bool has_directive(const lambda *l)
{
    const char *c = l->s->at[l->bracket].at, *end = l->s->at[l->s->at[l->body].pair].at;
    while ((c = memchr(c, '\n', (size_t)(end - c))))
        if (*(c += strspn(c, " \t\r\n")) == '#')
            return true;
    return false;
}

int closure_rewrite(rewriter *r, const declaration *function, int i)
{
    const cuda_list *s = r->s;
    unsigned flags = 0;
    lambda l = {.s = s, .text = r->text, .function = function, .bracket = i};
    for (int k = s->at[i].pair + 1; s->at[k].kind == TOKEN_NAME; k++)
        flags |= name_flags(&s->at[k]);
    l.on_host = flags & IS_HOST || strstr(r->text, "<thrust/"); /* its algorithms run on the host */
    if (s->at[i].pair < i || !(flags & IS_DEVICE) || !r->is_unit || r->directive ||
        !read_captures(&l) || !read_head(&l) || has_pack(&l) || (l.on_host && has_directive(&l)))
        return i;
    read_body(&l);
    snprintf(l.name, sizeof l.name, "ig_lambda_%d_%d", r->number, ++r->n_closures);
    r->uses_cuda = true;
    const char *before = s->at[function->begin].at;
    add_host(&l, rewrite_edit_add(r, before, before));
    add_value(&l, rewrite_edit_add(r, s->at[i].at, s->at[s->at[l.body].pair].end));
    for (int k = 0; k < r->n_spaces; k++)
        str_printf(&r->closures, "namespace %s { ", r->spaces[k]->name->text);
    add_device(&l, &r->closures);
    str_fill(&r->closures, '}', (size_t)r->n_spaces);
    str_puts(&r->closures, "\n");
    return s->at[l.body].pair;
}
