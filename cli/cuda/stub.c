/* Turns kernels into stubs that launch them, and registers device variables. */
#include "cuda/rewrite.h"

/* The next named template parameter, from token *i on; false after the last one. Unnamed parameters, such as
 * `typename = std::enable_if_t<...>`, have default values, which both sides compute. */
static bool next_parameter(const cuda_list *s, int *i, int end, token_piece *p)
{
    while (*i < end) {
        *i = token_next_piece(s, *i, end, p);
        const int last = p->value - 1;
        if (p->name == last && last > p->from && s->at[last - 1].kind != TOKEN_SCOPE &&
            !token_in(&s->at[last], "typename class"))
            return true;
    }
    return false;
}

/* The kernel's name as written; a macro may paste it: k_##T. */
static void add_function(const cuda_list *s, const declaration *d, str *out)
{
    int first = d->name;
    while (first >= 2 && s->at[first - 1].kind == TOKEN_HASH_HASH)
        first -= 2;
    token_add(out, s, first, d->name + 1);
}

/* The stub's own address. A cast selects the overload. The name is qualified if a parameter hides it. */
static void add_address(const rewriter *r, const declaration *d, str *out)
{
    const cuda_list *s = r->s;
    const int end = s->at[d->params].pair;
    bool hidden = false;
    token_piece p;
    str_puts(out, "(static_cast<void (*)(");
    for (int i = d->params + 1; i < end;) {
        str_puts(out, i == d->params + 1 ? "" : ", ");
        i = token_next_piece(s, i, end, &p);
        hidden |= p.name >= 0 && s->at[p.name].name == s->at[d->name].name;
        token_add(out, s, p.from, p.value);
    }
    str_puts(out, ")>(&");
    if (hidden) {
        str_puts(out, "::");
        rewrite_add_spaces(r, out);
    }
    add_function(s, d, out);
    if (d->special >= 0) {
        token_add(out, s, d->special, token_behind_angles(s, d->special));
    } else if (d->template >= 0) {
        const char *between = "<";
        const int last = token_behind_angles(s, d->template) - 1;
        for (int i = d->template + 1; next_parameter(s, &i, last, &p); between = ", ") {
            str_puts(out, between);
            token_add(out, s, p.name, p.name + 1);
            str_puts(out, p.variadic ? "..." : "");
        }
        str_puts(out, *between == ',' ? ">" : "");
    }
    str_puts(out, "))");
}

/* Adds the arguments of a template: `.ig_text("<").ig_types<T>("")...`. */
static void add_arguments(const cuda_list *s, const declaration *d, str *out)
{
    const char *between = "";
    const int end = token_behind_angles(s, d->template) - 1;
    token_piece p;
    str_puts(out, ".ig_text(\"<\")");
    for (int i = d->template + 1; next_parameter(s, &i, end, &p); between = ", ") {
        const bool type = token_in(&s->at[p.from], "typename class");
        str_puts(out, type ? ".template ig_types<" : ".ig_values(");
        if (!type)
            str_printf(out, "\"%s\", ", between);
        token_add(out, s, p.name, p.name + 1);
        str_puts(out, p.variadic ? "..." : "");
        str_printf(out, type ? ">(\"%s\")" : ")", between);
    }
    str_puts(out, ".ig_text(\">\")");
}

/* Adds the kernel's name as an expression: `ig_name("ns::tile")`, for templates followed by their arguments. In
 * a macro, and for specializations without arguments, the compiler provides the name. All inserted names begin
 * with ig_, since the program may have a macro called `name`. */
static void add_name(const rewriter *r, const declaration *d, str *out)
{
    const cuda_list *s = r->s;
    str_puts(out, "::ig_cuda::ig_name(\"");
    const bool deduced =
        d->template >= 0 && d->special < 0 && s->at[d->template + 1].kind == TOKEN_GT;
    if (r->directive || deduced) {
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
    rewrite_add_spaces(r, out);
    token_add(out, s, d->name, d->name + 1);
    str_puts(out, "\")");
    if (d->special >= 0) {
        str_puts(out, ".ig_text(\"");
        token_add(out, s, d->special, token_behind_angles(s, d->special));
        str_puts(out, "\")");
    } else if (d->template >= 0) {
        add_arguments(s, d, out);
    }
}

/* True if a function's parameter has a name: its last word, if a type precedes it. */
static bool has_name(const cuda_list *s, const token_piece *p)
{
    if (p->name < 0 || s->at[p->name].keyword || s->at[p->name - 1].kind == TOKEN_SCOPE ||
        token_is(&s->at[p->name], "half"))
        return false;
    for (int k = p->from; k < p->name; k++)
        if (!token_in(&s->at[k], "const volatile struct class enum typename __grid_constant__"))
            return true;
    return false;
}

/* The stub's body: launch with all parameters. Unnamed parameters get names. */
void stub_kernel(rewriter *r, const declaration *d)
{
    const cuda_list *s = r->s;
    const int end = s->at[d->params].pair;
    str args = {0};
    int n = 0;
    token_piece p;
    for (int i = d->params + 1; i < end;) {
        i = token_next_piece(s, i, end, &p);
        if (p.value == p.from || (p.from + 1 == p.value && s->at[p.from].keyword == KEYWORD_void))
            continue;
        str_puts(&args, args.n ? ", " : "");
        if (has_name(s, &p)) {
            token_add(&args, s, p.name, p.name + 1);
        } else {
            const char *after = s->at[p.value - 1].end;
            str_printf(rewrite_edit_add(r, after, after), " ig_unnamed_%d", n);
            str_printf(&args, "ig_unnamed_%d", n);
        }
        str_puts(&args, p.variadic ? "..." : "");
        n += !p.variadic;
    }
    str *stub = rewrite_edit_add(r, s->at[d->body].at, s->at[d->end].end);
    str_puts(stub, "{ struct ig_id { static ig_cuda_unit *ig_unit() { return &ig_cuda_here; } "
                   "static ::ig_cuda::ig_name ig_own() { return ");
    add_name(r, d, stub);
    str_puts(stub, "; } }; ::ig_cuda::ig_launch<ig_id, ");
    add_address(r, d, stub);
    str_printf(stub, ">(%s); }", args.s ? args.s : "");
    str_free(&args);
}

/* ---- variables ---- */

/* The host has no functions of the device: in the initial value of its copy, their addresses are null. */
static void remove_addresses(rewriter *r, int from, int to)
{
    const cuda_list *s = r->s;
    for (int i = from; i < to; i++) {
        if (!(name_flags(&s->at[i]) & NAMES_DEVICE_ONLY) || s->at[i + 1].kind == TOKEN_LPAREN)
            continue;
        int first = i;
        while (s->at[first - 1].kind == TOKEN_SCOPE || s->at[first - 1].kind == TOKEN_AMP ||
               (s->at[first].kind == TOKEN_SCOPE && s->at[first - 1].kind == TOKEN_NAME))
            first--;
        if (s->at[i + 1].kind == TOKEN_LT)
            i = token_behind_angles(s, i + 1) - 1;
        str_puts(rewrite_edit_add(r, s->at[first].at, s->at[i].end), "nullptr");
    }
}

/* Registers each declared variable with the library, after the declaration. */
void stub_variables(rewriter *r, const declaration *d)
{
    const cuda_list *s = r->s;
    token_piece p;
    if (s->at[d->begin].keyword == KEYWORD_extern && s->at[d->begin + 1].kind == TOKEN_NAME)
        return;
    for (int i = d->begin; i < d->end;) {
        i = token_next_piece(s, i, d->end, &p);
        if (p.name >= 0)
            remove_addresses(r, p.name + 1, p.to);
    }
    str *out = rewrite_edit_add(r, s->at[d->end].end, s->at[d->end].end);
    for (int i = d->begin; i < d->end;) {
        i = token_next_piece(s, i, d->end, &p);
        if (p.name < 0)
            continue;
        const char *name = s->at[p.name].name->text;
        str_printf(
            out,
            " static const int ig_known_%s = ig_cuda_variable_add(&ig_cuda_here, (void *)&%s, "
            "\"",
            name, name);
        rewrite_add_spaces(r, out);
        str_printf(out, "%s\", sizeof(%s), %d);", name, name, (d->flags & IS_MANAGED) != 0);
    }
}
