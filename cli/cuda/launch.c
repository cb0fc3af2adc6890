/* Launches and lambdas in host code. */
#include "cuda/closure.h"
#include "cuda/rewriter.h"

bool launch_three(const scan *s, int i, char mark)
{
    return i + 2 < s->n && s->at[i].mark == mark && s->at[i + 1].mark == mark &&
           s->at[i + 2].mark == mark;
}

/* The first token of the launched kernel's name, before the "<<<" at i. */
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

int launch_rewrite(rewriter *r, int i)
{
    const scan *s = &r->s;
    int end = i + 3;
    while (end < s->n && s->at[end].directive == s->at[i].directive &&
           !(launch_three(s, end, '>') && s->at[end + 3].mark == '(') && s->at[end].mark != ';')
        end = s->at[end].pair > end ? s->at[end].pair + 1 : end + 1;
    const int from = callee(s, i);
    if (!i || !launch_three(s, end, '>') || s->at[from].at < r->copied)
        return i + 2;
    str text = {0};
    r->uses_cuda = true;
    const char *shape = token_end(&s->at[i + 2]), *shape_end = s->at[end].at;
    str_puts(&text, "::ig_cuda::ig_push(");
    str_add(&text, shape, (size_t)(shape_end - shape));
    str_puts(&text, ") ? (void)0 : ");
    str_add(&text, s->at[from].at, (size_t)(token_end(&s->at[i - 1]) - s->at[from].at));
    /* Line breaks in the shape are kept. Between the callee and "<<<" there are usually none. */
    str_add(&r->out, r->copied, (size_t)(s->at[from].at - r->copied));
    str_puts(&r->out, text.s);
    r->copied = token_end(&s->at[end + 2]);
    str_free(&text);
    return end + 2;
}

int launch_lambda(rewriter *r, int i)
{
    const scan *s = &r->s;
    unsigned flags = 0;
    for (int k = s->at[i].pair + 1; s->at[k].kind == SCAN_NAME; k++)
        flags |= declare_flags(r->job, &s->at[k]);
    declaration d;
    if (!(flags & IS_DEVICE) || !r->is_unit || r->function < 0 ||
        !declare_read(r->job, &r->s, r->function, &d) || d.body != r->body)
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
    rewriter_edit(r, s->at[i].at, token_end(&s->at[c.end]), c.value.s, false);
    /* The struct is inserted before the function, on the function's first line. */
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
