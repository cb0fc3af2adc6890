/* The rewriter: one pass over the tokens. Its state is the scope (namespace, class or function body), the
 * begin of the current declaration, and the file's macros that stand for qualifiers. */
#include "cuda/rewrite.h"

#include "cuda/closure.h"
#include "cuda/scan.h"
#include "cuda/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST_BYTES = 64 << 20, DEPTH_MOST = 256 };

enum { IS_GLOBAL = 1, IS_DEVICE = 2, IS_HOST = 4, IS_CONSTANT = 8, IS_MANAGED = 16 };

static const struct {
    const char *word;
    unsigned flags;
} qualifiers[] = {{"__global__", IS_GLOBAL},
                  {"__device__", IS_DEVICE},
                  {"__host__", IS_HOST},
                  {"__constant__", IS_CONSTANT},
                  {"__managed__", IS_MANAGED}};

/* Words with brackets that may stand before the name of a function. */
static const char *const attributes[] = {"__launch_bounds__", "__attribute__", "__align__",
                                         "alignas",           "decltype",      "__cluster_dims__"};

typedef enum scope_kind { SCOPE_NAMESPACE, SCOPE_CLASS, SCOPE_BODY } scope_kind;

typedef struct scope {
    scope_kind kind;
    const scan_token *name; /* the first word of a namespace's name, or NULL */
    const scan_token *last; /* its last word: `namespace a::b {` opens two */
} scope;

/* A macro of the file that stands for qualifiers. */
typedef struct alias {
    const scan_token *name;
    unsigned flags;
} alias;

typedef struct rewriter {
    rewrite_job *job;
    const char *path;
    scan s;
    const char *copied; /* the text before it is already in out */
    str out;
    scope scopes[DEPTH_MOST];
    int depth;
    int begin;                     /* the first token of the current declaration */
    bool is_unit, is_c, uses_cuda; /* as in struct rewritten */
    int number;                    /* of the file */
    const char *text;              /* all of it */
    int function, body; /* the first token of the current function, and its '{'; -1: none */
    size_t before;      /* where the function begins in out */
    str closures;       /* structs of lambdas for the device, appended to the unit's text */
    int n_closures;
    alias *aliases;
    int n_aliases;
} rewriter;

/* ---- edits ---- */

/* Replaces [from, to) by text, and keeps its line breaks. */
static void edit(rewriter *r, const char *from, const char *to, const char *text, bool directive)
{
    str_add(&r->out, r->copied, (size_t)(from - r->copied));
    str_puts(&r->out, text);
    for (const char *c = from; c < to; c++)
        if (*c == '\n')
            str_puts(&r->out, directive ? "\\\n" : "\n");
    r->copied = to;
}

static const char *end_of(const scan_token *t) { return t->at + t->bytes; }

/* ---- qualifiers ---- */

static bool same_word(const scan_token *a, const scan_token *b)
{
    return a->bytes == b->bytes && memcmp(a->at, b->at, a->bytes) == 0;
}

static unsigned flags_of(const rewriter *r, const scan_token *t)
{
    if (t->kind != SCAN_NAME)
        return 0;
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
        if (scan_is(t, qualifiers[i].word))
            return qualifiers[i].flags;
    for (int i = 0; i < r->n_aliases; i++)
        if (same_word(r->aliases[i].name, t))
            return r->aliases[i].flags;
    return 0;
}

/* Finds macros that contain qualifiers but no body: #define NAME __host__ __device__. */
static void find_aliases(rewriter *r)
{
    const scan *s = &r->s;
    for (int i = 0; i + 2 < s->n; i++) {
        const scan_token *t = &s->at[i];
        if (t->mark != '#' || !t->directive || !scan_is(&t[1], "define") ||
            t[2].kind != SCAN_NAME || t[2].directive != t->directive)
            continue;
        unsigned flags = 0;
        bool body = false;
        for (int k = i + 3; k < s->n && s->at[k].directive == t->directive; k++) {
            flags |= flags_of(r, &s->at[k]);
            body |= s->at[k].mark == '{';
        }
        if (!flags || body)
            continue;
        r->aliases = heap_resize(r->aliases, (size_t)(r->n_aliases + 1) * sizeof *r->aliases);
        r->aliases[r->n_aliases++] = (alias){&t[2], flags};
    }
}

static bool is_attribute(const scan_token *t)
{
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (scan_is(t, attributes[i]))
            return true;
    return false;
}

/* ---- declarations ---- */

/* A declaration with qualifiers: token numbers. */
typedef struct declaration {
    unsigned flags;
    int begin, end; /* its first and last token */
    int name;       /* the last word of the declared name, or -1 */
    int params;     /* the '(' of a function's parameters, or -1 */
    int body;       /* the '{' of its body, or -1 */
    int special;    /* the '<' of a specialisation's arguments, or -1 */
    int template;   /* the '<' of its template parameters, or -1 */
} declaration;

/* From the ':' of a constructor's initializers to its body. */
static int behind_initializers(const scan *s, int i)
{
    for (i++; i < s->n && s->at[i].kind == SCAN_NAME;) {
        while (i < s->n && !(s->at[i].pair > i))
            i++;
        if (i == s->n)
            return i;
        i = s->at[i].pair + 1;
        if (s->at[i].mark != ',')
            break;
        i++;
    }
    return i;
}

/* Finds the body, or the end of the declaration, after the parameters. */
static void find_body(const scan *s, declaration *d)
{
    const int directive = s->at[d->begin].directive;
    d->body = -1;
    for (int i = s->at[d->params].pair + 1; i < s->n && s->at[i].directive == directive; i++) {
        const scan_token *t = &s->at[i];
        if (t->mark == ':' && s->at[i + 1].mark != ':' && s->at[i - 1].mark != ':')
            i = behind_initializers(s, i);
        if (s->at[i].mark == ';') {
            d->end = i;
            return;
        }
        if (s->at[i].mark == '{' && s->at[i].pair > i) {
            d->body = i;
            d->end = s->at[i].pair;
            return;
        }
        if (s->at[i].pair > i)
            i = s->at[i].pair;
    }
    d->params = -1;
}

/* Reads a declaration from its first token on; returns false if it is not understood. */
static bool declare(const rewriter *r, int begin, declaration *d)
{
    const scan *s = &r->s;
    const int directive = s->at[begin].directive;
    *d = (declaration){
        .begin = begin, .name = -1, .params = -1, .body = -1, .special = -1, .template = -1};
    for (int i = begin; i < s->n && s->at[i].directive == directive; i++) {
        const scan_token *t = &s->at[i];
        d->flags |= flags_of(r, t);
        if (scan_is(t, "template") && s->at[i + 1].mark == '<') {
            d->template = i + 1;
            i = scan_behind_angles(s, i + 1) - 1;
        } else if (scan_is(t, "operator")) {
            d->name = i;
            while (i + 1 < s->n && s->at[i + 1].mark != '(')
                i++;
            if (s->at[i + 1].pair == i + 2 && s->at[i + 3].mark == '(')
                i += 2;
        } else if (is_attribute(t)) {
            i = s->at[i + 1].mark == '(' && s->at[i + 1].pair > i ? s->at[i + 1].pair : i;
        } else if (t->kind == SCAN_NAME) {
            d->name = i;
            d->special = -1;
        } else if (t->mark == '<') {
            d->special = i;
            i = scan_behind_angles(s, i) - 1;
        } else if (t->mark == '(' && t->pair > i && d->name >= 0) {
            d->params = i;
            find_body(s, d);
            return d->params >= 0;
        } else if (strchr("=;[{,", t->mark ? t->mark : 'x')) {
            for (d->end = i; d->end < s->n && s->at[d->end].mark != ';'; d->end++)
                if (s->at[d->end].pair > d->end)
                    d->end = s->at[d->end].pair;
            return d->name >= 0 && d->end < s->n;
        }
    }
    return false;
}

/* ---- kernels ---- */

static void add_token(str *out, const scan_token *t) { str_add(out, t->at, t->bytes); }

/* The next template parameter that has a name, from token *i on; false behind the last one. Those without
 * a name, such as `typename = std::enable_if_t<...>`, have default values, which both sides compute. */
static bool next_parameter(const scan *s, int *i, int end, scan_piece *p)
{
    while (*i < end) {
        *i = scan_next_piece(s, *i, end, p);
        const int last = p->value - 1;
        const bool type_only = scan_is(&s->at[last], "typename") || scan_is(&s->at[last], "class");
        if (p->name == last && last > p->from && s->at[last - 1].mark != ':' && !type_only)
            return true;
    }
    return false;
}

/* The kernel's name as written; a macro may paste it: k_##T. */
static void add_function(const scan *s, const declaration *d, str *out)
{
    const scan_token *t = &s->at[d->name];
    while (t - s->at >= 3 && t[-1].mark == '#' && t[-2].mark == '#')
        t -= 3;
    str_add(out, t->at, (size_t)(end_of(&s->at[d->name]) - t->at));
}

/* `ns::` for each enclosing namespace. */
static void add_namespaces(const rewriter *r, str *out)
{
    for (int i = 0; i < r->depth; i++) {
        const scan_token *t = r->scopes[i].name;
        for (; t && t <= r->scopes[i].last; t++)
            if (t->kind == SCAN_NAME && !scan_is(t, "inline")) {
                add_token(out, t);
                str_puts(out, "::");
            }
    }
}

/* The stub's own address. A cast selects the overload. The name is qualified if a parameter hides it. */
static void add_address(const rewriter *r, const declaration *d, str *out)
{
    const scan *s = &r->s;
    const int end = s->at[d->params].pair;
    bool hidden = false;
    scan_piece p;
    str_puts(out, "(static_cast<void (*)(");
    for (int i = d->params + 1; i < end;) {
        const bool first = i == d->params + 1;
        i = scan_next_piece(s, i, end, &p);
        str_puts(out, first ? "" : ", ");
        hidden |= p.name >= 0 && same_word(&s->at[p.name], &s->at[d->name]);
        for (int k = p.from; k < p.value; k++) {
            const bool dots = s->at[k].mark == '.' && s->at[k - 1].mark == '.';
            str_puts(out, k > p.from && !dots ? " " : "");
            add_token(out, &s->at[k]);
        }
    }
    str_puts(out, ")>(&");
    if (hidden) {
        str_puts(out, "::");
        add_namespaces(r, out);
    }
    add_function(s, d, out);
    if (d->special >= 0) {
        const int behind = scan_behind_angles(s, d->special);
        str_add(out, s->at[d->special].at,
                (size_t)(end_of(&s->at[behind - 1]) - s->at[d->special].at));
    } else if (d->template >= 0) {
        const char *between = "<";
        const int last = scan_behind_angles(s, d->template) - 1;
        for (int i = d->template + 1; next_parameter(s, &i, last, &p); between = ", ") {
            str_puts(out, between);
            add_token(out, &s->at[p.name]);
            str_puts(out, p.variadic ? "..." : "");
        }
        str_puts(out, *between == ',' ? ">" : "");
    }
    str_puts(out, "))");
}

/* The kernel's name as an expression: `ig_name("ns::tile")`, for templates with `.ig_text("<").ig_types<T>("")...`
 * behind it. In a macro, and for specializations without arguments, the compiler is asked for the name. All
 * names that are inserted begin with ig_, since the program may have a macro called `name`. */
static void add_name(rewriter *r, const declaration *d, str *out)
{
    const scan *s = &r->s;
    str_puts(out, "::ig_cuda::ig_name(\"");
    const bool deduced = d->template >= 0 && d->special < 0 && s->at[d->template + 1].mark == '>';
    if (s->at[d->begin].directive || deduced) {
        str_puts(out, "\").ig_function<");
        if (deduced) {
            add_address(r, d, out);
        } else {
            str_puts(out, "&");
            add_function(s, d, out);
        }
        str_puts(out, ">()");
        return;
    }
    add_namespaces(r, out);
    add_token(out, &s->at[d->name]);
    str_puts(out, "\")");
    if (d->special >= 0) {
        const int end = scan_behind_angles(s, d->special);
        const char *from = s->at[d->special].at;
        str_puts(out, ".ig_text(\"");
        for (const char *c = from; c < end_of(&s->at[end - 1]); c++)
            str_add(out, *c == '\n' ? " " : c, 1);
        str_puts(out, "\")");
    } else if (d->template >= 0) {
        const char *between = "";
        const int end = scan_behind_angles(s, d->template) - 1;
        scan_piece p;
        str_puts(out, ".ig_text(\"<\")");
        for (int i = d->template + 1; next_parameter(s, &i, end, &p); between = ", ") {
            const bool type =
                scan_is(&s->at[p.from], "typename") || scan_is(&s->at[p.from], "class");
            str_puts(out, type ? ".template ig_types<" : ".ig_values(");
            if (!type)
                str_printf(out, "\"%s\", ", between);
            add_token(out, &s->at[p.name]);
            str_puts(out, p.variadic ? "..." : "");
            str_printf(out, type ? ">(\"%s\")" : ")", between);
        }
        str_puts(out, ".ig_text(\">\")");
    }
}

/* Whether a function's parameter has a name: what is last is a name if a type is before it. */
static bool has_name(const scan *s, const scan_piece *p)
{
    static const char *const types[] = {"void",  "bool",   "char",     "short",  "int",  "long",
                                        "float", "double", "unsigned", "signed", "auto", "half"};
    static const char *const not_types[] = {"const", "volatile", "struct",           "class",
                                            "enum",  "typename", "__grid_constant__"};
    if (p->name < 0 || (s->at[p->name].at > s->at[p->from].at && s->at[p->name - 1].mark == ':'))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (scan_is(&s->at[p->name], types[i]))
            return false;
    for (int k = p->from; k < p->name; k++) {
        bool is_type = true;
        for (size_t i = 0; i < sizeof not_types / sizeof *not_types; i++)
            is_type &= !scan_is(&s->at[k], not_types[i]);
        if (is_type)
            return true;
    }
    return false;
}

/* The stub's body: { addresses and sizes of the parameters; launch }. A parameter without a name is given
 * one. */
static void kernel(rewriter *r, const declaration *d)
{
    const scan *s = &r->s;
    const int end = s->at[d->params].pair;
    const bool directive = s->at[d->begin].directive != 0;
    str stub = {0}, args = {0}, sizes = {0}, count = {0};
    int n = 0;
    scan_piece p;
    for (int i = d->params + 1; i < end;) {
        str name = {0};
        i = scan_next_piece(s, i, end, &p);
        if (p.from + 1 == p.value && scan_is(&s->at[p.from], "void"))
            continue;
        if (has_name(s, &p)) {
            add_token(&name, &s->at[p.name]);
        } else if (p.value > p.from) {
            const char *behind = end_of(&s->at[p.value - 1]);
            str_printf(&name, "ig_unnamed_%d", n);
            str_puts(&stub, " ");
            str_puts(&stub, name.s);
            edit(r, behind, behind, stub.s, directive);
            str_free(&stub);
        }
        if (!name.s)
            continue;
        const char *dots = p.variadic ? "..." : "";
        str_printf(&args, "(void *)&%s%s, ", name.s, dots);
        str_printf(&sizes, "::ig_cuda::ig_size<decltype(%s)>()%s, ", name.s, dots);
        if (p.variadic)
            str_printf(&count, " + (int)sizeof...(%s)", name.s);
        n += !p.variadic;
        str_free(&name);
    }
    str_puts(&stub,
             "{ struct ig_id { static ig_cuda_unit *ig_unit() { return &ig_cuda_here; } static "
             "::ig_cuda::ig_name ig_own() { return ");
    add_name(r, d, &stub);
    str_printf(&stub,
               "; } }; void *ig_args[] = {%s0}; size_t ig_sizes[] = {%s0}; "
               "::ig_cuda::ig_launch<ig_id, ",
               args.s ? args.s : "", sizes.s ? sizes.s : "");
    add_address(r, d, &stub);
    str_printf(&stub, ">(ig_args, ig_sizes, %d%s); }", n, count.s ? count.s : "");
    edit(r, s->at[d->body].at, end_of(&s->at[d->end]), stub.s, directive);
    str_free(&stub);
    str_free(&args);
    str_free(&sizes);
    str_free(&count);
}

/* ---- variables ---- */

/* Registers each declared variable with the library, after the declaration. */
static void variables(rewriter *r, const declaration *d)
{
    const scan *s = &r->s;
    static const char *const text = "ig_cuda_variable_add(&ig_cuda_here, (void *)&";
    str made = {0};
    scan_piece p;
    if (scan_is(&s->at[d->begin], "extern") && s->at[d->begin + 1].kind == SCAN_NAME)
        return;
    for (int i = d->begin; i < d->end;) {
        i = scan_next_piece(s, i, d->end, &p);
        if (p.name < 0)
            continue;
        const int name = p.name;
        str_puts(&made, " static const int ig_known_");
        add_token(&made, &s->at[name]);
        str_printf(&made, " = %s", text);
        add_token(&made, &s->at[name]);
        str_puts(&made, ", \"");
        add_namespaces(r, &made);
        add_token(&made, &s->at[name]);
        str_puts(&made, "\", sizeof(");
        add_token(&made, &s->at[name]);
        str_printf(&made, "), %d);", (d->flags & IS_MANAGED) != 0);
    }
    const char *behind = end_of(&s->at[d->end]);
    edit(r, behind, behind, made.s ? made.s : "", false);
    str_free(&made);
}

/* Where the declaration of the qualifier at i begins: after a macro call that is not ended by a semicolon. */
static int begin_of(const rewriter *r, int i)
{
    const scan *s = &r->s;
    int begin = r->begin;
    for (int k = begin; k < i; k++) {
        if (s->at[k].mark == '<')
            k = scan_behind_angles(s, k) - 1;
        else if (s->at[k].pair > k) {
            if (s->at[k].mark == '(' && k && !is_attribute(&s->at[k - 1]))
                begin = s->at[k].pair + 1;
            k = s->at[k].pair;
        }
    }
    return begin;
}

/* Rewrites the current declaration; returns its last token, or i if there is nothing to rewrite. */
static int declaration_at(rewriter *r, int i)
{
    const scan *s = &r->s;
    const bool directive = s->at[i].directive != 0;
    const scope_kind kind = r->scopes[r->depth - 1].kind;
    declaration d;
    if (!declare(r, directive ? i : begin_of(r, i), &d))
        return i;
    const bool device_only =
        d.flags & IS_DEVICE && !(d.flags & (IS_HOST | IS_GLOBAL)) && d.params >= 0;
    if (d.flags & IS_GLOBAL && d.body >= 0) {
        r->uses_cuda = true;
        kernel(r, &d);
    } else if (device_only && kind == SCOPE_NAMESPACE && !directive) {
        edit(r, s->at[d.begin].at, end_of(&s->at[d.end]), "", false);
    } else if (device_only && d.body >= 0) {
        edit(r, s->at[d.body].at, end_of(&s->at[d.end]), "{ __builtin_trap(); }", directive);
    } else if (d.params < 0 && kind == SCOPE_NAMESPACE && !directive &&
               d.flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED)) {
        r->uses_cuda = true;
        variables(r, &d);
    } else {
        return i;
    }
    r->begin = d.end + 1;
    return d.end;
}

/* ---- launches ---- */

static bool three(const scan *s, int i, char mark)
{
    return i + 2 < s->n && s->at[i].mark == mark && s->at[i + 1].mark == mark &&
           s->at[i + 2].mark == mark;
}

/* The first token of what is launched, before the "<<<" at i. */
static int callee(const scan *s, int i)
{
    int k = i - 1;
    if (s->at[k].mark == '>') {
        int depth = 0;
        for (; k > 0; k--) {
            if (s->at[k].pair >= 0 && s->at[k].pair < k)
                k = s->at[k].pair;
            depth += (s->at[k].mark == '>') - (s->at[k].mark == '<');
            if (!depth)
                break;
        }
        k--;
    }
    for (;;) {
        while (k > 0 && s->at[k].pair >= 0 && s->at[k].pair < k) /* f(x)[i]<<<...>>> */
            k = s->at[k].pair - (s->at[s->at[k].pair - 1].kind == SCAN_NAME ||
                                 s->at[s->at[k].pair - 1].mark == ']');
        if (k >= 2 && s->at[k - 1].mark == ':' && s->at[k - 2].mark == ':')
            k -= k >= 3 && s->at[k - 3].kind == SCAN_NAME ? 3 : 2;
        else if (k >= 2 && s->at[k - 1].mark == '.')
            k -= 2;
        else if (k >= 3 && s->at[k - 1].mark == '>' && s->at[k - 2].mark == '-')
            k -= 3;
        else if (k >= 3 && s->at[k - 1].mark == '#' && s->at[k - 2].mark == '#')
            k -= 3;
        else
            return k;
    }
}

/* Rewrites the launch whose "<<<" is at i; returns the last token of it. */
static int launch(rewriter *r, int i)
{
    const scan *s = &r->s;
    int end = i + 3;
    while (end < s->n && s->at[end].directive == s->at[i].directive &&
           !(three(s, end, '>') && s->at[end + 3].mark == '(') && s->at[end].mark != ';')
        end = s->at[end].pair > end ? s->at[end].pair + 1 : end + 1;
    const int from = callee(s, i);
    if (!i || !three(s, end, '>') || s->at[from].at < r->copied)
        return i + 2;
    str text = {0};
    r->uses_cuda = true;
    const char *shape = end_of(&s->at[i + 2]), *shape_end = s->at[end].at;
    str_puts(&text, "::ig_cuda::ig_push(");
    str_add(&text, shape, (size_t)(shape_end - shape));
    str_puts(&text, ") ? (void)0 : ");
    str_add(&text, s->at[from].at, (size_t)(end_of(&s->at[i - 1]) - s->at[from].at));
    /* Line breaks are kept in the shape; between the callee and "<<<" there are usually none. */
    str_add(&r->out, r->copied, (size_t)(s->at[from].at - r->copied));
    str_puts(&r->out, text.s);
    r->copied = end_of(&s->at[end + 2]);
    str_free(&text);
    return end + 2;
}

/* ---- lambdas ---- */

/* Rewrites the lambda whose '[' is at i if it is for a kernel; returns its last token, or i. */
static int lambda_at(rewriter *r, int i)
{
    const scan *s = &r->s;
    unsigned flags = 0;
    for (int k = s->at[i].pair + 1; s->at[k].kind == SCAN_NAME; k++)
        flags |= flags_of(r, &s->at[k]);
    declaration d;
    if (!(flags & IS_DEVICE) || !r->is_unit || r->function < 0 || !declare(r, r->function, &d) ||
        d.body != r->body)
        return i;
    const closure_place at = {i, d.params, d.body, d.template, (flags & IS_HOST) != 0};
    closure c;
    str name = {0}, tail = {0};
    str_printf(&name, "ig_lambda_%d_%d", r->number, ++r->n_closures);
    if (!closure_make(s, r->text, &at, name.s, &c)) {
        str_free(&name);
        return i;
    }
    r->uses_cuda = true;
    edit(r, s->at[i].at, end_of(&s->at[c.end]), c.value.s, false);
    /* The struct stands before the function, on the function's own line. */
    str_puts(&tail, r->out.s + r->before);
    r->out.n = r->before;
    str_puts(&r->out, c.host.s);
    r->before = r->out.n;
    str_puts(&r->out, tail.s ? tail.s : "");
    int open = 0;
    for (int k = 0; k < r->depth; k++)
        for (const scan_token *t = r->scopes[k].name; t && t <= r->scopes[k].last; t++)
            if (t->kind == SCAN_NAME && !scan_is(t, "inline")) {
                str_printf(&r->closures, "namespace %.*s { ", (int)t->bytes, t->at);
                open++;
            }
    str_puts(&r->closures, c.device.s);
    str_fill(&r->closures, '}', (size_t)open);
    str_puts(&r->closures, "\n");
    const int end = c.end;
    closure_free(&c);
    str_free(&name);
    str_free(&tail);
    return end;
}

/* ---- scopes ---- */

/* Begins a function: copies the text before it, so that structs can be inserted there. */
static void enter_function(rewriter *r, int brace)
{
    const char *at = r->s.at[r->begin].at;
    r->function = -1;
    if (at < r->copied)
        return;
    edit(r, at, at, "", false);
    r->function = r->begin;
    r->body = brace;
    r->before = r->out.n;
}

static scope scope_of(const rewriter *r, int brace)
{
    const scan *s = &r->s;
    scope opened = {SCOPE_BODY, NULL, NULL};
    bool class = false;
    if (r->scopes[r->depth - 1].kind == SCOPE_BODY)
        return opened;
    for (int i = r->begin; i < brace; i++) {
        const scan_token *t = &s->at[i];
        if (scan_is(t, "namespace"))
            return (scope){SCOPE_NAMESPACE, s->at[i + 1].kind == SCAN_NAME ? &s->at[i + 1] : NULL,
                           &s->at[brace - 1]};
        if (scan_is(t, "extern") && t[1].kind == SCAN_STRING && i + 2 == brace)
            return (scope){SCOPE_NAMESPACE, NULL, NULL};
        class |= scan_is(t, "struct") || scan_is(t, "class") || scan_is(t, "union");
        if (scan_is(t, "template") && t[1].mark == '<')
            i = scan_behind_angles(s, i + 1) - 1;
    }
    const scan_token *before = &s->at[brace - (brace > 0)];
    if (class && before->mark != ')' && !scan_is(before, "const"))
        opened.kind = SCOPE_CLASS;
    return opened;
}

static void follow(rewriter *r, int i)
{
    const scan_token *t = &r->s.at[i];
    if (t->mark == '{') {
        const scope opened = scope_of(r, i);
        if (opened.kind == SCOPE_BODY && r->scopes[r->depth - 1].kind != SCOPE_BODY) {
            r->function = -1;
            if (r->scopes[r->depth - 1].kind == SCOPE_NAMESPACE)
                enter_function(r, i);
        }
        if (r->depth < DEPTH_MOST)
            r->scopes[r->depth++] = opened;
        r->begin = i + 1;
    } else if (t->mark == '}') {
        r->depth -= r->depth > 1;
        r->begin = i + 1;
    } else if (t->mark == ';' ||
               (t->mark == ':' && i && r->s.at[i - 1].kind == SCAN_NAME &&
                (scan_is(&r->s.at[i - 1], "public") || scan_is(&r->s.at[i - 1], "private") ||
                 scan_is(&r->s.at[i - 1], "protected")))) {
        r->begin = i + 1;
    }
}

/* ---- files ---- */

static int add_file(rewrite_job *job, const char *path, bool is_unit);

static bool exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* The number of the file that an #include names, or -1: it is a header of the system or one of ours. */
static int included(rewriter *r, const char *name, size_t bytes, bool quoted)
{
    str path = {0}, plain = {0};
    const char *slash = strrchr(r->path, '/');
    int found = -1;
    str_add(&plain, name, bytes);
    if (quoted) {
        str_printf(&path, "%.*s%s", slash ? (int)(slash + 1 - r->path) : 0, r->path, plain.s);
        if (plain.s[0] == '/' || exists(path.s))
            found = add_file(r->job, plain.s[0] == '/' ? plain.s : path.s, false);
    }
    for (int i = 0; found < 0 && r->job->folders[i]; i++) {
        str_free(&path);
        str_printf(&path, "%s/%s", r->job->folders[i], plain.s);
        if (exists(path.s))
            found = add_file(r->job, path.s, false);
    }
    str_free(&path);
    str_free(&plain);
    return found;
}

/* Renames the file of the #include at token i, if it is one of the program's. */
static void include(rewriter *r, int i)
{
    const scan_token *t = &r->s.at[i + 2], *last = t;
    if (!scan_is(&t[-1], "include") || t->directive != t[-1].directive)
        return;
    while (last[1].directive == t->directive && last->mark != '>' && t->mark == '<')
        last++;
    const bool quoted = t->kind == SCAN_STRING && t->bytes > 2;
    if (!quoted && !(t->mark == '<' && last->mark == '>'))
        return;
    const int found = included(
        r, t->at + 1, (size_t)(last->at - t->at) - 1 + (quoted ? t->bytes - 1 : 0), quoted);
    if (found < 0)
        return;
    str text = {0};
    r->uses_cuda |= r->job->files[found].uses_cuda;
    str_printf(&text, "\"%s\"", r->job->files[found].name);
    edit(r, t->at, end_of(last), text.s, false);
    str_free(&text);
}

static void walk(rewriter *r)
{
    const scan *s = &r->s;
    scan_conditions conditions = {0};
    for (int i = 0; i < s->n; i++) {
        const scan_token *t = &s->at[i];
        r->depth = scan_depth(&conditions, t, r->depth);
        if (t->mark == '#' && t->directive && (!i || t[-1].directive != t->directive))
            include(r, i);
        if (r->is_c)
            continue;
        if (i && t[-1].directive && !t->directive && r->begin < i)
            r->begin = i;
        if (three(s, i, '<') && i && !scan_is(&t[-1], "operator")) {
            i = launch(r, i);
            continue;
        }
        const bool inside = r->scopes[r->depth - 1].kind == SCOPE_BODY && !t->directive;
        if (!inside && flags_of(r, t) && !(i && t[-1].directive && scan_is(&t[-1], "define"))) {
            const int last = declaration_at(r, i);
            if (last > i) {
                i = last;
                continue;
            }
        }
        const int lambda = inside && t->mark == '[' && t->pair > i ? lambda_at(r, i) : i;
        if (lambda > i) {
            i = lambda;
            continue;
        }
        if (!t->directive)
            follow(r, i);
    }
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

/* The text of one file, rewritten, into job->files[number]. A C++ file without device code of its own is not
 * given CUDA's names: it may define them itself. */
static void rewrite_file(rewrite_job *job, int number, const char *path, const char *text,
                         size_t bytes)
{
    rewritten *file = &job->files[number];
    const bool is_unit = file->is_unit, is_c = file->is_c;
    rewriter r = {.job = job,
                  .path = path,
                  .depth = 1,
                  .is_unit = is_unit,
                  .is_c = is_c,
                  .uses_cuda = is_unit && ends_with(path, ".cu"),
                  .number = number,
                  .text = text,
                  .copied = text,
                  .function = -1};
    r.s = scan_text(text, bytes);
    if (!is_c)
        find_aliases(&r);
    walk(&r);
    str_puts(&r.out, r.copied);
    str all = {0};
    if (is_unit && !is_c && r.uses_cuda)
        unit_add(job, path, r.text, r.closures.s ? r.closures.s : "", &all);
    str_puts(&all, "#line 1 ");
    unit_quote(&all, path, strlen(path));
    str_puts(&all, "\n");
    str_puts(&all, r.out.s ? r.out.s : "");
    str_free(&r.out);
    str_free(&r.closures);
    file = &job->files[number]; /* files were added meanwhile */
    file->text = all;
    file->uses_cuda = r.uses_cuda;
    scan_free(&r.s);
    free(r.aliases);
}

static int add_file(rewrite_job *job, const char *path, bool is_unit)
{
    size_t bytes;
    char *real = realpath(path, NULL);
    for (int i = 0; real && i < job->n_files; i++)
        if (strcmp(job->files[i].real, real) == 0 && job->files[i].is_unit == is_unit) {
            free(real);
            return i;
        }
    char *text = str_read_file(path, FILE_MOST_BYTES, &bytes);
    if (!text) {
        free(real);
        return -1;
    }
    const int number = job->n_files++;
    const char *slash = strrchr(path, '/');
    str name = {0};
    job->files = heap_resize(job->files, (size_t)job->n_files * sizeof *job->files);
    str_printf(&name, "%d_%s", number, slash ? slash + 1 : path);
    job->files[number] = (rewritten){.path = heap_string(path),
                                     .real = real ? real : heap_string(path),
                                     .name = name.s,
                                     .is_unit = is_unit,
                                     .is_c = is_unit && ends_with(path, ".c")};
    const size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    rewrite_file(job, number, path, text + mark, bytes - mark);
    free(text);
    return number;
}

int rewrite_add(rewrite_job *job, const char *path) { return add_file(job, path, true); }

void rewrite_free(rewrite_job *job)
{
    for (int i = 0; i < job->n_files; i++) {
        free(job->files[i].path);
        free(job->files[i].real);
        free(job->files[i].name);
        str_free(&job->files[i].text);
    }
    free(job->files);
    job->files = NULL;
    job->n_files = 0;
}
