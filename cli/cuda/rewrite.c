/* The rewriter: one pass over the tokens. Its state is the scope (namespace, class or function body), the
 * start of the current declaration, and the macros that stand for qualifiers. */
#include "cuda/rewrite.h"

#include "cuda/headers.h"
#include "cuda/name_set.h"
#include "cuda/rewriter.h"
#include "cuda/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST_BYTES = 64 << 20 };

/* ---- edits ---- */

/* Replaces [from, to) by text, and keeps its line breaks. */
void rewriter_edit(rewriter *r, const char *from, const char *to, const char *text, bool directive)
{
    str_add(&r->out, r->copied, (size_t)(from - r->copied));
    str_puts(&r->out, text);
    for (const char *c = from; c < to; c++)
        if (*c == '\n')
            str_puts(&r->out, directive ? "\\\n" : "\n");
    r->copied = to;
}

/* `ns::` for each enclosing namespace. */
void rewriter_add_namespaces(const rewriter *r, str *out)
{
    for (int i = 0; i < r->depth; i++) {
        const scan_token *t = r->scopes[i].name;
        for (; t && t <= r->scopes[i].last; t++)
            if (t->kind == SCAN_NAME && !scan_is(t, "inline")) {
                token_add(out, t);
                str_puts(out, "::");
            }
    }
}

/* ---- declarations ---- */

/* The start of the declaration with the qualifier at i: after any macro call without a semicolon. */
static int begin_of(const rewriter *r, int i)
{
    const scan *s = &r->s;
    int begin = r->begin;
    for (int k = begin; k < i; k++) {
        if (s->at[k].mark == '<')
            k = scan_behind_angles(s, k) - 1;
        else if (s->at[k].pair > k) {
            if (s->at[k].mark == '(' && k && !declare_is_attribute(&s->at[k - 1]))
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
    if (!declare_read(r->job, &r->s, directive ? i : begin_of(r, i), &d))
        return i;
    const bool device_only =
        d.flags & IS_DEVICE && !(d.flags & (IS_HOST | IS_GLOBAL)) && d.params >= 0;
    if (d.flags & IS_GLOBAL && d.body >= 0) {
        r->uses_cuda = true;
        stub_kernel(r, &d);
    } else if (device_only && kind == SCOPE_NAMESPACE && !directive) {
        rewriter_edit(r, s->at[d.begin].at, token_end(&s->at[d.end]), "", false);
    } else if (device_only && d.body >= 0) {
        rewriter_edit(r, s->at[d.body].at, token_end(&s->at[d.end]), "{ __builtin_trap(); }",
                      directive);
    } else if (d.params < 0 && kind == SCOPE_NAMESPACE && !directive &&
               d.flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED)) {
        r->uses_cuda = true;
        stub_variables(r, &d);
    } else {
        return i;
    }
    r->begin = d.end + 1;
    return d.end;
}

/* ---- scopes ---- */

/* Begins a function: copies the text before it, so that structs can be inserted there. */
static void enter_function(rewriter *r, int brace)
{
    const char *at = r->s.at[r->begin].at;
    r->function = -1;
    if (at < r->copied)
        return;
    rewriter_edit(r, at, at, "", false);
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

/* The number of the file that an #include names; -1 for a system header or one of ours. */
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

/* Removes the #include of a header that only kernels use: NVRTC finds it in CUDA's toolkit. */
static void leave_to_device(rewriter *r, int i, int last)
{
    const scan_token *name = &r->s.at[i + 2];
    const char *end = token_end(&r->s.at[last]) - 1;
    const size_t bytes = (size_t)(end - name->at) - 1;
    if (r->job->for_nvrtc && device_has_header(name->at + 1, bytes) &&
        !cuda_header_exists(name->at + 1, bytes))
        rewriter_edit(r, r->s.at[i + 1].at, end + 1, "", false);
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
    r->includes = heap_resize(r->includes, (size_t)(r->n_includes + 1) * sizeof *r->includes);
    r->includes[r->n_includes++] = (device_include){i + 2, (int)(last - r->s.at), found};
    if (found < 0) {
        leave_to_device(r, i, (int)(last - r->s.at));
        return;
    }
    str text = {0};
    r->uses_cuda |= r->job->files[found].uses_cuda;
    str_printf(&text, "\"%s\"", r->job->files[found].name);
    rewriter_edit(r, t->at, token_end(last), text.s, false);
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
        if (launch_three(s, i, '<') && i && !scan_is(&t[-1], "operator")) {
            i = launch_rewrite(r, i);
            continue;
        }
        const bool inside = r->scopes[r->depth - 1].kind == SCOPE_BODY && !t->directive;
        if (!inside && declare_flags(r->job, t) &&
            !(i && t[-1].directive && scan_is(&t[-1], "define"))) {
            const int last = declaration_at(r, i);
            if (last > i) {
                i = last;
                continue;
            }
        }
        const int lambda = inside && t->mark == '[' && t->pair > i ? launch_lambda(r, i) : i;
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

/* Writes the rewritten text of one file into job->files[number]. A C++ file without device code does not get
 * CUDA's names: it may define them itself. */
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
        declare_aliases(job, &r.s);
    walk(&r);
    str_puts(&r.out, r.copied);
    str all = {0}, device = {0};
    if (job->for_nvrtc && !is_c)
        device_text(job, &r.s, r.text, bytes, r.includes, r.n_includes, &device);
    if (is_unit && !is_c && r.uses_cuda)
        unit_add(job, path, device.s ? device.s : r.text, r.closures.s ? r.closures.s : "", &all);
    str_puts(&all, "#line 1 ");
    unit_quote(&all, path, strlen(path));
    str_puts(&all, "\n");
    str_puts(&all, r.out.s ? r.out.s : "");
    str_free(&r.out);
    str_free(&r.closures);
    file = &job->files[number]; /* the array may have moved */
    file->text = all;
    file->device = device;
    file->uses_cuda = r.uses_cuda;
    scan_free(&r.s);
    free(r.includes);
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
        str_free(&job->files[i].device);
    }
    free(job->files);
    for (int i = 0; i < job->n_aliases; i++)
        free(job->aliases[i].name);
    free(job->aliases);
    name_set_free(&job->macros);
    name_set_free(&job->namespaces);
    name_set_free(&job->device_types);
    name_set_free(&job->host_types);
    name_set_free(&job->host_values);
    *job = (rewrite_job){0};
}
