/* Turns kernels into stubs that launch them, and registers device variables. */
#include "cuda/rewriter.h"

/* The next named template parameter, from token *i on; false after the last one. Unnamed parameters, such as
 * `typename = std::enable_if_t<...>`, have default values, which both sides compute. */
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
    str_add(out, t->at, (size_t)(token_end(&s->at[d->name]) - t->at));
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
        hidden |= p.name >= 0 && token_same(&s->at[p.name], &s->at[d->name]);
        for (int k = p.from; k < p.value; k++) {
            const bool dots = s->at[k].mark == '.' && s->at[k - 1].mark == '.';
            str_puts(out, k > p.from && !dots ? " " : "");
            token_add(out, &s->at[k]);
        }
    }
    str_puts(out, ")>(&");
    if (hidden) {
        str_puts(out, "::");
        rewriter_add_namespaces(r, out);
    }
    add_function(s, d, out);
    if (d->special >= 0) {
        const int behind = scan_behind_angles(s, d->special);
        str_add(out, s->at[d->special].at,
                (size_t)(token_end(&s->at[behind - 1]) - s->at[d->special].at));
    } else if (d->template >= 0) {
        const char *between = "<";
        const int last = scan_behind_angles(s, d->template) - 1;
        for (int i = d->template + 1; next_parameter(s, &i, last, &p); between = ", ") {
            str_puts(out, between);
            token_add(out, &s->at[p.name]);
            str_puts(out, p.variadic ? "..." : "");
        }
        str_puts(out, *between == ',' ? ">" : "");
    }
    str_puts(out, "))");
}

/* Adds the kernel's name as an expression: `ig_name("ns::tile")`, for templates followed by
 * `.ig_text("<").ig_types<T>("")...`. In a macro, and for specializations without arguments, the compiler
 * provides the name. All inserted names begin with ig_, since the program may have a macro called `name`. */
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
    rewriter_add_namespaces(r, out);
    token_add(out, &s->at[d->name]);
    str_puts(out, "\")");
    if (d->special >= 0) {
        const int end = scan_behind_angles(s, d->special);
        const char *from = s->at[d->special].at;
        str_puts(out, ".ig_text(\"");
        for (const char *c = from; c < token_end(&s->at[end - 1]); c++)
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
            token_add(out, &s->at[p.name]);
            str_puts(out, p.variadic ? "..." : "");
            str_printf(out, type ? ">(\"%s\")" : ")", between);
        }
        str_puts(out, ".ig_text(\">\")");
    }
}

/* True if a function's parameter has a name: its last word, if a type precedes it. */
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

/* The stub's body: { addresses and sizes of the parameters; launch }. Unnamed parameters get names. */
void stub_kernel(rewriter *r, const declaration *d)
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
            token_add(&name, &s->at[p.name]);
        } else if (p.value > p.from) {
            const char *behind = token_end(&s->at[p.value - 1]);
            str_printf(&name, "ig_unnamed_%d", n);
            str_puts(&stub, " ");
            str_puts(&stub, name.s);
            rewriter_edit(r, behind, behind, stub.s, directive);
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
    rewriter_edit(r, s->at[d->body].at, token_end(&s->at[d->end]), stub.s, directive);
    str_free(&stub);
    str_free(&args);
    str_free(&sizes);
    str_free(&count);
}

/* ---- variables ---- */

/* Registers each declared variable with the library, after the declaration. */
void stub_variables(rewriter *r, const declaration *d)
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
        token_add(&made, &s->at[name]);
        str_printf(&made, " = %s", text);
        token_add(&made, &s->at[name]);
        str_puts(&made, ", \"");
        rewriter_add_namespaces(r, &made);
        token_add(&made, &s->at[name]);
        str_puts(&made, "\", sizeof(");
        token_add(&made, &s->at[name]);
        str_printf(&made, "), %d);", (d->flags & IS_MANAGED) != 0);
    }
    const char *behind = token_end(&s->at[d->end]);
    rewriter_edit(r, behind, behind, made.s ? made.s : "", false);
    str_free(&made);
}
