/* Qualifiers and declarations: see declare.h. */
#include "cuda/declare.h"

#include "cuda/name_set.h"

#include <string.h>

static const struct {
    const char *word;
    unsigned flags;
} qualifiers[] = {{"__global__", IS_GLOBAL},
                  {"__device__", IS_DEVICE},
                  {"__host__", IS_HOST},
                  {"__constant__", IS_CONSTANT},
                  {"__managed__", IS_MANAGED}};

/* Words with parentheses that may precede the name of a function. */
static const char *const attributes[] = {"__launch_bounds__", "__attribute__", "__align__",
                                         "alignas",           "decltype",      "__cluster_dims__"};

const char *token_end(const scan_token *t) { return t->at + t->bytes; }

bool token_same(const scan_token *a, const scan_token *b)
{
    return a->bytes == b->bytes && memcmp(a->at, b->at, a->bytes) == 0;
}

void token_add(str *out, const scan_token *t) { str_add(out, t->at, t->bytes); }

unsigned declare_flags(const rewrite_job *job, const scan_token *t)
{
    if (t->kind != SCAN_NAME)
        return 0;
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
        if (scan_is(t, qualifiers[i].word))
            return qualifiers[i].flags;
    for (int i = 0; i < job->n_aliases; i++)
        if (!job->aliases[i].has_body && scan_is(t, job->aliases[i].name))
            return job->aliases[i].flags;
    return 0;
}

unsigned declare_flags_within(const rewrite_job *job, const scan_token *t)
{
    for (int i = 0; i < job->n_aliases; i++)
        if (scan_is(t, job->aliases[i].name))
            return job->aliases[i].flags;
    return declare_flags(job, t);
}

static bool has_body(const rewrite_job *job, const scan_token *t)
{
    for (int i = 0; i < job->n_aliases; i++)
        if (job->aliases[i].has_body && scan_is(t, job->aliases[i].name))
            return true;
    return false;
}

void declare_aliases(rewrite_job *job, const scan *s)
{
    for (int i = 0; i + 2 < s->n; i++) {
        const scan_token *t = &s->at[i];
        if (t->mark != '#' || !t->directive || !scan_is(&t[1], "define") ||
            t[2].kind != SCAN_NAME || t[2].directive != t->directive)
            continue;
        unsigned flags = 0;
        bool body = false;
        if (t[3].mark == '(' && t[3].at == token_end(&t[2]))
            name_set_add(&job->macros, &t[2]);
        for (int k = i + 3; k < s->n && s->at[k].directive == t->directive; k++) {
            flags |= declare_flags_within(job, &s->at[k]);
            body |= s->at[k].mark == '{' || has_body(job, &s->at[k]);
        }
        if (!flags)
            continue;
        str name = {0};
        token_add(&name, &t[2]);
        job->aliases =
            heap_resize(job->aliases, (size_t)(job->n_aliases + 1) * sizeof *job->aliases);
        job->aliases[job->n_aliases++] = (rewrite_alias){name.s, flags, body};
    }
}

bool declare_is_attribute(const scan_token *t)
{
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (scan_is(t, attributes[i]))
            return true;
    return false;
}

/* The body of a constructor, from the ':' of its initializers. */
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

bool declare_read(const rewrite_job *job, const scan *s, int begin, declaration *d)
{
    const int directive = s->at[begin].directive;
    *d = (declaration){
        .begin = begin, .name = -1, .params = -1, .body = -1, .special = -1, .template = -1};
    for (int i = begin; i < s->n && s->at[i].directive == directive; i++) {
        const scan_token *t = &s->at[i];
        d->flags |= declare_flags(job, t);
        if (scan_is(t, "template") && s->at[i + 1].mark == '<') {
            d->template = i + 1;
            i = scan_behind_angles(s, i + 1) - 1;
        } else if (scan_is(t, "operator")) {
            d->name = i;
            while (i + 1 < s->n && s->at[i + 1].mark != '(')
                i++;
            if (s->at[i + 1].pair == i + 2 && s->at[i + 3].mark == '(')
                i += 2;
        } else if (declare_is_attribute(t)) {
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
