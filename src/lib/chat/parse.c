/* Statements of chat templates: see run.h. parse_expression.c has the expressions. */
#include "lib/chat/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- tools ---------------------------------------------------------------------------------- */

node *parse_fail(parser *p, const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!p->failed)
        ig_fail(IG_ERR_FORMAT, "chat template, line %d: %s", p->at->line, message);
    p->failed = true;
    p->end.line = p->at->line;
    p->at = &p->end;
    return NULL;
}

static void memory_missing(parser *p)
{
    parse_fail(p, "out of memory"); /* keeps the pending error */
}

node *chat_node_new(parser *p, node_kind kind)
{
    node *n = p->failed ? NULL : chat_arena_get(&p->t->memory, sizeof *n);
    if (!n) {
        memory_missing(p);
        return NULL;
    }
    n->kind = kind;
    n->line = p->at->line;
    return n;
}

/* Makes room for one more element in a list in the arena. */
static bool list_room(parser *p, void *of, int n, int *room, size_t size)
{
    if (p->failed)
        return false;
    if (n < *room)
        return true;
    const int more = 2 * *room + 4;
    void *at = chat_arena_get(&p->t->memory, (size_t)more * size), *before = NULL;
    if (!at) {
        memory_missing(p);
        return false;
    }
    memcpy(&before, of, sizeof before);
    if (n)
        memcpy(at, before, (size_t)n * size);
    memcpy(of, &at, sizeof at);
    *room = more;
    return true;
}

void node_add(parser *p, node_list *l, node *n)
{
    if (n && list_room(p, &l->at, l->n, &l->room, sizeof *l->at))
        l->at[l->n++] = n;
}

void named_add(parser *p, named_list *l, named_node n)
{
    if (list_room(p, &l->at, l->n, &l->room, sizeof *l->at))
        l->at[l->n++] = n;
}

int parse_symbol(parser *p, string name)
{
    vocabulary *v = &p->t->symbols;
    int32_t id = vocabulary_find(v, name.at, name.n);
    if (id < 0) {
        id = v->n;
        if (vocabulary_add(v, name.at, name.n, id) != IG_OK)
            memory_missing(p);
    }
    return id;
}

bool next_is(const parser *p, int op) { return p->at->kind == TOKEN_OPERATOR && p->at->op == op; }

bool next_name_is(const parser *p, const char *name)
{
    return p->at->kind == TOKEN_NAME && string_is(p->at->s, name);
}

bool take(parser *p, int op)
{
    const bool is = next_is(p, op);
    p->at += is;
    return is;
}

bool take_name(parser *p, const char *name)
{
    const bool is = next_name_is(p, name);
    p->at += is;
    return is;
}

/* The next token, for messages. */
static const char *token_show(const parser *p, char shown[64])
{
    const token *t = p->at;
    if (t->kind == TOKEN_NAME)
        snprintf(shown, 64, "'%.*s'", (int)(t->s.n < 40 ? t->s.n : 40), t->s.at);
    else if (t->kind == TOKEN_OPERATOR)
        snprintf(shown, 64, t->op > 255 ? "'%c%c'" : "'%c'", t->op & 255, t->op >> 8);
    else
        snprintf(shown, 64, "%s",
                 t->kind == TOKEN_STRING   ? "a string"
                 : t->kind == TOKEN_NUMBER ? "a number"
                 : t->kind == TOKEN_BLOCK_END || t->kind == TOKEN_PRINT_END
                     ? "the end of the tag"
                     : "the end of the template");
    return shown;
}

void chat_expect(parser *p, int op)
{
    char shown[64];
    if (!take(p, op) && !p->failed)
        parse_fail(p, "expected '%c', found %s", op, token_show(p, shown));
}

string chat_expect_name(parser *p)
{
    char shown[64];
    if (p->at->kind == TOKEN_NAME)
        return (p->at++)->s;
    if (!p->failed)
        parse_fail(p, "expected a name, found %s", token_show(p, shown));
    return (string){"", NULL, 0};
}

static void expect_kind(parser *p, token_kind kind)
{
    char shown[64];
    if (p->at->kind == kind)
        p->at++;
    else if (!p->failed)
        parse_fail(p, "expected the end of the tag, found %s", token_show(p, shown));
}

/* ---- bodies --------------------------------------------------------------------------------- */

static node *statement_parse(parser *p);

/* Is the next tag one of the names in a list that ends with NULL? */
static bool tag_is(const parser *p, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (p->at[1].kind == TOKEN_NAME && string_is(p->at[1].s, names[i]))
            return true;
    return false;
}

/* Parses up to a tag with one of the names, whose name is next then; NULL: up to the end of the template. */
static void body_parse(parser *p, node_list *body, const char *const *until)
{
    const int line = p->at->line;
    while (!p->failed) {
        if (p->at->kind == TOKEN_END) {
            if (until)
                parse_fail(p, "the block that begins in line %d does not end; add '{%% %s %%}'",
                           line, until[0]);
            return;
        }
        if (p->at->kind == TOKEN_DATA) {
            node *n = chat_node_new(p, STATEMENT_DATA);
            if (n)
                n->constant = value_string((p->at++)->s);
            node_add(p, body, n);
        } else if (p->at->kind == TOKEN_PRINT_BEGIN) {
            node *n = chat_node_new(p, STATEMENT_PRINT);
            p->at++;
            if (n)
                n->a = parse_tuple(p, true);
            expect_kind(p, TOKEN_PRINT_END);
            node_add(p, body, n);
        } else if (until && tag_is(p, until)) {
            p->at++;
            return;
        } else {
            p->at++;
            node_add(p, body, statement_parse(p));
            expect_kind(p, TOKEN_BLOCK_END);
        }
    }
}

/* The body of a block, after the end of its tag. Takes the name of the tag that ends it; a colon may precede the body. */
static void block_parse(parser *p, node_list *body, const char *const *until)
{
    take(p, ':');
    expect_kind(p, TOKEN_BLOCK_END);
    body_parse(p, body, until);
}

static void whole_block_parse(parser *p, node_list *body, const char *until)
{
    block_parse(p, body, (const char *const[]){until, NULL});
    take_name(p, until);
}

/* ---- targets -------------------------------------------------------------------------------- */

static node *target_single(parser *p, bool namespaces)
{
    if (take(p, '(')) {
        node *n = chat_node_new(p, NODE_TUPLE);
        while (n && !p->failed && !next_is(p, ')')) {
            node_add(p, &n->args, target_single(p, false));
            if (!take(p, ','))
                break;
        }
        chat_expect(p, ')');
        return n;
    }
    node *n = chat_node_new(p, NODE_NAME);
    const string name = chat_expect_name(p);
    if (!n || p->failed)
        return NULL;
    n->symbol = parse_symbol(p, name);
    n->name = name;
    if (namespaces && take(p, '.')) {
        n->kind = NODE_NAMESPACE_ITEM;
        n->constant = value_string(chat_expect_name(p));
    }
    return n;
}

/* The target of an assignment or a loop: names with commas between. */
static node *target_parse(parser *p, bool namespaces)
{
    node *first = target_single(p, namespaces);
    if (!next_is(p, ','))
        return first;
    node *n = chat_node_new(p, NODE_TUPLE);
    if (n)
        node_add(p, &n->args, first);
    while (n && take(p, ',') && p->at->kind == TOKEN_NAME && !next_name_is(p, "in"))
        node_add(p, &n->args, target_single(p, namespaces));
    return n;
}

/* ---- statements ----------------------------------------------------------------------------- */

static node *set_parse(parser *p)
{
    node *n = chat_node_new(p, STATEMENT_SET);
    if (!n)
        return NULL;
    n->a = target_parse(p, true);
    if (take(p, '=')) {
        n->b = parse_tuple(p, true);
        return n;
    }
    n->kind = STATEMENT_SET_BLOCK;
    n->b = next_is(p, '|') ? parse_filters(p, chat_node_new(p, NODE_CAPTURED), false) : NULL;
    whole_block_parse(p, &n->body, "endset");
    return n;
}

static node *if_parse(parser *p)
{
    static const char *const ends[] = {"endif", "elif", "else", NULL};
    node *first = chat_node_new(p, STATEMENT_IF);
    for (node *n = first; n && !p->failed;) {
        n->a = parse_tuple(p, false);
        block_parse(p, &n->body, ends);
        if (take_name(p, "elif")) {
            n = n->more = chat_node_new(p, STATEMENT_IF);
            continue;
        }
        if (take_name(p, "else"))
            whole_block_parse(p, &n->other, "endif");
        else
            take_name(p, "endif");
        break;
    }
    return first;
}

static node *for_parse(parser *p)
{
    static const char *const ends[] = {"endfor", "else", NULL};
    node *n = chat_node_new(p, STATEMENT_FOR);
    if (!n)
        return NULL;
    n->a = target_parse(p, false);
    if (!take_name(p, "in"))
        return parse_fail(p, "expected 'in' after the variables of 'for'");
    n->b = parse_tuple(p, false);
    if (take_name(p, "if"))
        n->c = chat_expression(p, true);
    n->recursive = take_name(p, "recursive");
    p->loops++;
    block_parse(p, &n->body, ends);
    p->loops--;
    if (take_name(p, "else"))
        whole_block_parse(p, &n->other, "endfor");
    else
        take_name(p, "endfor");
    return n;
}

/* Parameters of a macro: (a, b=1). */
static void signature_parse(parser *p, node *n)
{
    chat_expect(p, '(');
    while (!p->failed && !next_is(p, ')')) {
        named_node one = {.name = chat_expect_name(p)};
        one.symbol = parse_symbol(p, one.name);
        if (take(p, '='))
            one.value = chat_expression(p, true);
        else if (n->named.n && n->named.at[n->named.n - 1].value)
            parse_fail(p, "a parameter without a default follows one with a default");
        named_add(p, &n->named, one);
        if (!take(p, ','))
            break;
    }
    chat_expect(p, ')');
}

/* The body of a macro, and which of the special names it uses. */
static void macro_body_parse(parser *p, node *n, const char *until)
{
    const bool varargs = p->uses_varargs, kwargs = p->uses_kwargs;
    const int loops = p->loops;
    p->uses_varargs = p->uses_kwargs = false;
    p->loops = 0;
    whole_block_parse(p, &n->body, until);
    n->uses_varargs = p->uses_varargs;
    n->uses_kwargs = p->uses_kwargs;
    p->uses_varargs = varargs;
    p->uses_kwargs = kwargs;
    p->loops = loops;
}

static node *macro_parse(parser *p)
{
    node *n = chat_node_new(p, STATEMENT_MACRO);
    if (!n)
        return NULL;
    n->name = chat_expect_name(p);
    n->symbol = parse_symbol(p, n->name);
    signature_parse(p, n);
    macro_body_parse(p, n, "endmacro");
    return n;
}

static node *call_parse(parser *p)
{
    node *n = chat_node_new(p, STATEMENT_CALL);
    if (!n)
        return NULL;
    if (next_is(p, '('))
        signature_parse(p, n);
    n->a = chat_expression(p, true);
    if (n->a && n->a->kind != NODE_CALL)
        return parse_fail(p, "expected a call after 'call'");
    macro_body_parse(p, n, "endcall");
    return n;
}

static node *filter_parse(parser *p)
{
    node *n = chat_node_new(p, STATEMENT_FILTER);
    if (!n)
        return NULL;
    n->a = parse_filters(p, chat_node_new(p, NODE_CAPTURED), true);
    whole_block_parse(p, &n->body, "endfilter");
    return n;
}

static node *with_parse(parser *p)
{
    node *n = chat_node_new(p, STATEMENT_WITH);
    while (n && !p->failed && p->at->kind != TOKEN_BLOCK_END) {
        if (n->args.n)
            chat_expect(p, ',');
        node_add(p, &n->args, target_parse(p, false));
        chat_expect(p, '=');
        node_add(p, &n->args, chat_expression(p, true));
    }
    if (n)
        whole_block_parse(p, &n->body, "endwith");
    return n;
}

static node *generation_parse(parser *p)
{
    node *n = chat_node_new(p, STATEMENT_GENERATION);
    if (n)
        whole_block_parse(p, &n->body, "endgeneration");
    return n;
}

static node *print_parse(parser *p)
{
    node *n = chat_node_new(p, STATEMENT_PRINT);
    if (n)
        n->a = chat_expression(p, true);
    return n;
}

static node *flow_parse(parser *p)
{
    const bool breaks = string_is(p->at[-1].s, "break");
    if (p->loops == 0)
        return parse_fail(p, "'%s' is not in a loop", breaks ? "break" : "continue");
    return chat_node_new(p, breaks ? STATEMENT_BREAK : STATEMENT_CONTINUE);
}

static node *statement_parse(parser *p)
{
    static const struct {
        const char *name;
        node *(*parse)(parser *p);
    } rows[] = {{"set", set_parse},      {"if", if_parse},
                {"for", for_parse},      {"macro", macro_parse},
                {"call", call_parse},    {"filter", filter_parse},
                {"with", with_parse},    {"generation", generation_parse},
                {"print", print_parse},  {"break", flow_parse},
                {"continue", flow_parse}};
    node *n = NULL;
    if (++p->depth > TEMPLATE_DEPTH_MOST)
        return parse_fail(p, "blocks are nested more than %d deep", TEMPLATE_DEPTH_MOST);
    const string name = chat_expect_name(p);
    size_t i = 0;
    while (i < sizeof rows / sizeof *rows && !string_is(name, rows[i].name))
        i++;
    if (i < sizeof rows / sizeof *rows)
        n = rows[i].parse(p);
    else if (!p->failed)
        parse_fail(p, "the tag '%.*s' is not supported", (int)(name.n < 60 ? name.n : 60), name.at);
    p->depth--;
    return n;
}

ig_status chat_parse(struct chat_template *t, const token *tokens)
{
    parser p = {.t = t, .at = tokens, .end = {.kind = TOKEN_END}};
    t->symbol_loop = parse_symbol(&p, string_of("loop"));
    t->symbol_caller = parse_symbol(&p, string_of("caller"));
    t->symbol_varargs = parse_symbol(&p, string_of("varargs"));
    t->symbol_kwargs = parse_symbol(&p, string_of("kwargs"));
    body_parse(&p, &t->body, NULL);
    return p.failed ? error_waiting(IG_ERR_MEMORY) : IG_OK;
}
