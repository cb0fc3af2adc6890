/* The device side of a file: a walk over declarations that blanks those of the host. */
#include "cuda/device.h"

#include "cuda/name_set.h"

#include <stdlib.h>
#include <string.h>

typedef struct splitter {
    rewrite_job *job;
    const scan *s;
    const char *text;
    char *copy; /* of the text, in which tokens are blanked */
} splitter;

/* A declaration: token numbers, or -1. */
typedef struct piece {
    unsigned flags;
    int begin, end; /* its first and last token */
    int first;      /* the first token after `template <...>` */
    int name;       /* of the declared entity */
    int params;     /* the '(' of a function */
    int colon;      /* the ':' of initializers or of a base class */
    int brace;      /* the '{' of a body */
    int value;      /* the '=' */
    bool is_class, is_enum, is_const, is_constexpr, is_shared, is_virtual, is_friend, is_macro;
} piece;

static bool split_members(splitter *p, int brace);

/* ---- edits ---- */

static void blank(splitter *p, int from, int to)
{
    for (int i = from; i <= to; i++) {
        const scan_token *t = &p->s->at[i];
        char *at = p->copy + (t->at - p->text);
        for (uint32_t k = 0; k < t->bytes && !t->directive; k++)
            at[k] = at[k] == '\n' ? '\n' : ' ';
    }
}

/* Turns the body of a function into a semicolon. */
static void blank_body(splitter *p, const piece *d)
{
    const int from = d->colon >= 0 ? d->colon : d->brace;
    blank(p, from, d->end);
    p->copy[p->s->at[from].at - p->text] = ';';
}

/* ---- reading ---- */

static bool word(const splitter *p, int i, const char *text) { return scan_is(&p->s->at[i], text); }
static char mark(const splitter *p, int i) { return p->s->at[i].mark; }

/* The body of a constructor, from the ':' of its initializers. */
static int behind_initializers(const splitter *p, int i, int end)
{
    for (i++; i < end; i++) {
        if (mark(p, i) == '{' && mark(p, i - 1) != ',' && p->s->at[i - 1].kind != SCAN_NAME &&
            mark(p, i - 1) != '>')
            return i;
        if (p->s->at[i].pair > i)
            i = p->s->at[i].pair;
    }
    return i;
}

static void note_word(const splitter *p, int i, piece *d)
{
    const scan_token *t = &p->s->at[i];
    d->flags |= declare_flags(p->job, t);
    d->is_class |=
        d->params < 0 && (scan_is(t, "struct") || scan_is(t, "class") || scan_is(t, "union"));
    d->is_enum |= scan_is(t, "enum");
    d->is_const |= d->params < 0 && scan_is(t, "const");
    d->is_constexpr |= scan_is(t, "constexpr") || scan_is(t, "consteval");
    d->is_shared |= scan_is(t, "__shared__");
    d->is_virtual |= scan_is(t, "virtual") || scan_is(t, "override");
    d->is_friend |= scan_is(t, "friend");
    if (d->params < 0 && d->value < 0 && d->colon < 0 && !scan_is(t, "final"))
        d->name = i;
}

/* A macro call that stands alone: NAME(...), with or without a semicolon. */
static bool is_macro_call(const splitter *p, int i)
{
    const scan_token *t = p->s->at;
    if (t[i].kind != SCAN_NAME || t[i + 1].mark != '(' || t[i + 1].pair < 0)
        return false;
    const scan_token *next = &t[t[i + 1].pair + 1];
    return name_set_has(&p->job->macros, &t[i]) && !(next->mark && strchr(":=", next->mark)) &&
           !scan_is(next, "const");
}

/* Reads the declaration at i; it ends before `end`. */
static piece read(const splitter *p, int i, int end)
{
    const scan *s = p->s;
    piece d = {.begin = i,
               .first = i,
               .end = end - 1,
               .name = -1,
               .params = -1,
               .colon = -1,
               .brace = -1,
               .value = -1};
    if (is_macro_call(p, i)) {
        d.is_macro = true;
        d.flags = declare_flags_within(p->job, &s->at[i]);
        d.end = s->at[i + 1].pair;
        if (mark(p, d.end + 1) == ';')
            d.end++;
        else if (mark(p, d.end + 1) == '{' && s->at[d.end + 1].pair > 0)
            d.end = s->at[d.end + 1].pair;
        return d;
    }
    for (; i < end; i++) {
        const scan_token *t = &s->at[i];
        if (t->directive)
            continue;
        if (word(p, i, "template") && mark(p, i + 1) == '<') {
            i = scan_behind_angles(s, i + 1) - 1;
            d.first = i + 1;
        } else if (word(p, i, "operator")) {
            d.name = i;
            while (i + 1 < end && mark(p, i + 1) != '(')
                i++;
            if (s->at[i + 1].pair == i + 2 && mark(p, i + 3) == '(')
                i += 2;
        } else if (declare_is_attribute(t) && mark(p, i + 1) == '(' && s->at[i + 1].pair > i) {
            i = s->at[i + 1].pair;
        } else if (t->kind == SCAN_NAME) {
            note_word(p, i, &d);
        } else if (t->mark == '<' && d.value < 0 && d.params < 0) {
            i = scan_behind_angles(s, i) - 1;
        } else if (t->mark == '(' && t->pair > i) {
            const bool pointer = mark(p, i + 1) == '*' || mark(p, i + 1) == '&';
            if (d.params < 0 && d.value < 0 && d.name >= 0 && !pointer)
                d.params = i;
            i = t->pair;
        } else if (t->mark == ':' && mark(p, i + 1) != ':' && mark(p, i - 1) != ':' &&
                   d.colon < 0 && (d.params >= 0 || d.is_class)) {
            d.colon = i;
            if (d.params >= 0)
                i = behind_initializers(p, i, end) - 1;
        } else if (t->mark == '=' && d.value < 0) {
            d.value = i;
        } else if (t->mark == '{' && t->pair > i) {
            const bool body = d.value < 0 && (d.params >= 0 || d.is_class || d.is_enum);
            if (body && d.brace < 0)
                d.brace = i;
            i = t->pair;
            if (body && d.params >= 0) { /* a function ends here */
                d.end = i;
                return d;
            }
        } else if (t->mark == ';') {
            d.end = i;
            return d;
        }
    }
    return d;
}

/* ---- declarations ---- */

/* Blanks a type or an alias that the device does not have, and records its name. */
static void drop_type(splitter *p, const piece *d)
{
    if (d->name >= 0)
        name_set_add(&p->job->host_types, &p->s->at[d->name]);
    if (d->end > d->begin && p->s->at[d->end - 1].kind == SCAN_NAME)
        name_set_add(&p->job->host_types, &p->s->at[d->end - 1]); /* typedef ... name; */
    blank(p, d->begin, d->end);
}

static void split_class(splitter *p, const piece *d)
{
    const scan *s = p->s;
    const int close = s->at[d->brace].pair;
    if (d->name >= 0)
        name_set_add(&p->job->device_types, &s->at[d->name]);
    const bool bases = d->colon >= 0 && device_needs_host(p->job, s, d->colon, d->brace);
    if (bases || !split_members(p, d->brace)) {
        drop_type(p, d);
        return;
    }
    const bool keeps = d->flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED) ||
                       word(p, d->first, "typedef") || d->is_shared;
    if (!keeps && close + 1 < d->end) /* variables of the host */
        blank(p, close + 1, d->end - 1);
}

static void split_function(splitter *p, const piece *d)
{
    const bool is_device = d->flags & (IS_GLOBAL | IS_DEVICE);
    const bool is_constant = d->is_constexpr && !device_needs_host(p->job, p->s, d->begin, d->end);
    if (d->name >= 0)
        name_set_add(is_device || is_constant ? &p->job->device_types : &p->job->host_values,
                     &p->s->at[d->name]);
    if (!is_device && !is_constant)
        blank(p, d->begin, d->end);
}

static void split_variable(splitter *p, const piece *d)
{
    const bool is_device = d->flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED) || d->is_shared;
    const bool is_constant = (d->is_const || d->is_constexpr) && !word(p, d->first, "extern") &&
                             !device_needs_host(p->job, p->s, d->begin, d->end) &&
                             !device_calls_host(p->job, p->s, d->begin, d->end);
    if (is_device || is_constant)
        return;
    scan_piece one;
    for (int i = d->first; i < d->end;) {
        i = scan_next_piece(p->s, i, d->end, &one);
        if (one.name >= 0)
            name_set_add(&p->job->host_values, &p->s->at[one.name]);
    }
    blank(p, d->begin, d->end);
}

/* using, typedef, enum, declarations of types, assertions. */
static bool is_type_only(const splitter *p, const piece *d)
{
    return word(p, d->first, "using") || word(p, d->first, "typedef") || d->is_enum ||
           word(p, d->first, "static_assert") || word(p, d->first, "namespace") ||
           (d->is_class && d->name == d->end - 1 && d->name <= d->first + 1);
}

static void split_type(splitter *p, const piece *d)
{
    const bool space = word(p, d->first, "using") && word(p, d->first + 1, "namespace");
    if (space ? !device_has_namespace(p->job, p->s, d->first + 2, d->end - 1)
              : device_needs_host(p->job, p->s, d->begin, d->end))
        drop_type(p, d);
}

/* ---- scopes ---- */

/* Records a namespace's names, for `using namespace`. Returns its '{', or -1 if no namespace begins at i. */
static int namespace_at(splitter *p, int i)
{
    if (word(p, i, "extern") && p->s->at[i + 1].kind == SCAN_STRING && mark(p, i + 2) == '{')
        return i + 2;
    i += word(p, i, "inline");
    if (!word(p, i, "namespace"))
        return -1;
    for (i++; p->s->at[i].kind == SCAN_NAME || mark(p, i) == ':'; i++)
        if (p->s->at[i].kind == SCAN_NAME)
            name_set_add(&p->job->namespaces, &p->s->at[i]);
    return mark(p, i) == '{' ? i : -1;
}

static void split_scope(splitter *p, int i, int end)
{
    while (i < end) {
        if (p->s->at[i].directive || mark(p, i) == ';' || mark(p, i) == '}') {
            i++;
            continue;
        }
        const int inside = namespace_at(p, i);
        if (inside >= 0) {
            i = inside + 1; /* the loop skips its '}' above */
            continue;
        }
        const piece d = read(p, i, end);
        if (d.is_macro) {
            if (!(d.flags & (IS_GLOBAL | IS_DEVICE | IS_CONSTANT)))
                blank(p, d.begin, d.end);
        } else if (d.params >= 0 && !is_type_only(p, &d)) {
            split_function(p, &d);
        } else if (d.is_class && d.brace >= 0) {
            split_class(p, &d);
        } else if (is_type_only(p, &d)) {
            split_type(p, &d);
        } else {
            split_variable(p, &d);
        }
        i = d.end + 1;
    }
}

static void split_method(splitter *p, const piece *d)
{
    const bool is_device = d->flags & (IS_GLOBAL | IS_DEVICE);
    const bool is_destructor = d->name > 0 && mark(p, d->name - 1) == '~';
    if (is_device || (d->value > d->params && d->brace < 0)) /* = default */
        return;
    const int last = d->colon >= 0 ? d->colon : d->brace >= 0 ? d->brace : d->end;
    if (device_needs_host(p->job, p->s, d->begin, last) || d->flags & IS_HOST ||
        (is_destructor && !d->is_virtual) || (d->is_friend && d->brace >= 0))
        blank(p, d->begin, d->end);
    else if (d->brace >= 0 && !d->is_constexpr && !d->is_virtual)
        blank_body(p, d);
}

/* Blanks the host's members of a class. Returns false if the class needs the host's library. */
static bool split_members(splitter *p, int brace)
{
    const int end = p->s->at[brace].pair;
    for (int i = brace + 1; i < end;) {
        const bool access =
            p->s->at[i].kind == SCAN_NAME && mark(p, i + 1) == ':' && mark(p, i + 2) != ':';
        if (p->s->at[i].directive || mark(p, i) == ';' || access) {
            i += 1 + access;
            continue;
        }
        const piece d = read(p, i, end);
        if (d.is_class && d.brace >= 0 && d.params < 0) {
            if (!split_members(p, d.brace))
                return false;
        } else if (d.params >= 0) {
            split_method(p, &d);
        } else if (is_type_only(p, &d)) {
            split_type(p, &d);
        } else if (device_needs_host(p->job, p->s, d.begin, d.end)) {
            return false;
        }
        i = d.end + 1;
    }
    return true;
}

/* ---- files ---- */

/* Blanks an #include that the device does not have; '#' remains. */
static void blank_include(splitter *p, const device_include *n)
{
    for (int i = n->token - 1; i <= n->last; i++) {
        const scan_token *t = &p->s->at[i];
        memset(p->copy + (t->at - p->text), ' ', t->bytes);
    }
}

static bool is_of_cuda(const scan *s, const device_include *n)
{
    const char *from = s->at[n->token].at + 1;
    return device_has_header(from, (size_t)(token_end(&s->at[n->last]) - 1 - from));
}

void device_text(rewrite_job *job, const scan *s, const char *text, size_t bytes,
                 const device_include *includes, int n_includes, str *out)
{
    splitter p = {.job = job, .s = s, .text = text, .copy = heap_get(bytes + 1)};
    memcpy(p.copy, text, bytes);
    p.copy[bytes] = 0;
    split_scope(&p, 0, s->n);
    const char *copied = p.copy;
    for (int i = 0; i < n_includes; i++) {
        const device_include *n = &includes[i];
        const char *from = p.copy + (s->at[n->token].at - text);
        if (n->file < 0 && !is_of_cuda(s, n))
            blank_include(&p, n);
        if (n->file < 0)
            continue;
        str_add(out, copied, (size_t)(from - copied));
        str_printf(out, "\"%s\"", job->files[n->file].name);
        copied = p.copy + (token_end(&s->at[n->last]) - text);
    }
    str_puts(out, copied);
    free(p.copy);
}
