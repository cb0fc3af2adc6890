/* The rewriter: a walk over the declarations of a file, which collects edits of its text. */
#include "cuda/rewrite.h"

#include "cuda/device.h"
#include "cuda/headers.h"
#include "cuda/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST_BYTES = 64 << 20, NAMES_MOST_BYTES = 1 << 30 };

/* ---- edits ---- */

str *rewrite_edit_add(rewriter *r, const char *from, const char *to)
{
    r->edits = heap_resize(r->edits, (size_t)(r->n_edits + 1) * sizeof *r->edits);
    int i = r->n_edits++; /* in the order of the text */
    for (; i && r->edits[i - 1].from > from; i--)
        r->edits[i] = r->edits[i - 1];
    r->edits[i] = (rewrite_edit){.from = from, .to = to, .directive = r->directive};
    return &r->edits[i].text;
}

static int count_lines(const char *from, size_t bytes)
{
    int n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += from[i] == '\n';
    return n;
}

/* Adds the text with all edits, and frees them. */
static void apply(rewriter *r, const char *end, str *out)
{
    const char *copied = r->text;
    for (int i = 0; i < r->n_edits; i++) {
        rewrite_edit *e = &r->edits[i];
        if (e->from >= copied) {
            int lines = count_lines(e->from, (size_t)(e->to - e->from));
            str_add(out, copied, (size_t)(e->from - copied));
            if (e->text.n)
                str_add(out, e->text.s, e->text.n);
            for (lines -= count_lines(e->text.s, e->text.n); lines > 0; lines--)
                str_puts(out, e->directive ? "\\\n" : "\n");
            copied = e->to;
        }
        str_free(&e->text);
    }
    str_add(out, copied, (size_t)(end - copied));
    free(r->edits);
}

void rewrite_add_spaces(const rewriter *r, str *out)
{
    for (int i = 0; i < r->n_spaces; i++)
        str_printf(out, "%s::", r->spaces[i]->name->text);
}

/* ---- launches ---- */

/* The first token of the launched kernel's name, before the "<<<" at i. */
static int callee(const cuda_token *t, int i)
{
    int k = i - 1;
    if (token_angles(&t[k]) < 0) {
        int depth = 0;
        for (; k > 0; k--) {
            if (t[k].pair >= 0 && t[k].pair < k)
                k = t[k].pair;
            depth += token_angles(&t[k]);
            if (depth >= 0)
                break;
        }
        k--;
    }
    for (;;) {
        while (k > 0 && t[k].pair >= 0 && t[k].pair < k) { /* f(x)[i]<<<...>>> */
            const cuda_token *before = &t[t[k].pair - 1];
            k = t[k].pair - (before->kind == TOKEN_NAME || before->kind == TOKEN_RBRACKET);
        }
        const int link = k > 0 ? t[k - 1].kind : TOKEN_END;
        if (link == TOKEN_SCOPE && (k < 2 || t[k - 2].kind != TOKEN_NAME))
            k--;
        else if (k > 1 && token_in(&t[k - 1], ":: . -> ##"))
            k -= 2;
        else
            return k;
    }
}

/* The number of tokens that are "<<<" in any spelling, such as "<< <"; 0 if they are not. */
static int launch_at(const cuda_token *t)
{
    int angles = token_angles(t), n = 1;
    while (angles > 0 && angles < 3 && token_angles(&t[n]) > 0)
        angles += token_angles(&t[n++]);
    return angles == 3 && t[-1].keyword != KEYWORD_operator ? n : 0;
}

/* Rewrites the launch whose "<<<" is at i; returns the last token before its arguments. */
static int launch(rewriter *r, int i, int end)
{
    const cuda_token *t = r->s->at;
    const int n = launch_at(&t[i]), from = callee(t, i);
    for (int k = i + n; k < end && t[k].kind != TOKEN_SEMICOLON; k++) {
        int angles = 0, first = k;
        while (t[k].kind == TOKEN_LPAREN && angles > -3 && token_angles(&t[first - 1]) < 0)
            angles += token_angles(&t[--first]);
        if (angles <= -3) {
            const char *shape = t[i + n - 1].end, *shape_end = t[first].at + (-3 - angles);
            str *out = rewrite_edit_add(r, t[from].at, t[k - 1].end);
            r->uses_cuda = true;
            str_puts(out, "::ig_cuda::ig_push(");
            str_add(out, shape, (size_t)(shape_end - shape));
            str_puts(out, ") ? (void)0 : ");
            str_add(out, t[from].at, (size_t)(t[i - 1].end - t[from].at));
            return k - 1;
        }
        if (t[k].pair > k)
            k = t[k].pair;
    }
    return i + n - 1;
}

/* Rewrites the launches in tokens, and the lambdas of a function. */
static void rewrite_code(rewriter *r, int from, int end, const declaration *function)
{
    for (int i = from; i < end; i++) {
        if (launch_at(&r->s->at[i]) && i)
            i = launch(r, i, end);
        else if (function && i > function->body && r->s->at[i].kind == TOKEN_LBRACKET)
            i = closure_rewrite(r, function, i);
    }
}

/* ---- declarations ---- */

static void rewrite_members(rewriter *r, int brace);

static bool is_device_only(const declaration *d)
{
    return d->flags & IS_DEVICE && !(d->flags & (IS_HOST | IS_GLOBAL)) && d->params >= 0;
}

static bool is_constructor(const cuda_list *s, const declaration *d)
{
    for (int k = d->first; k < d->name; k++)
        if (!(name_flags(&s->at[k]) & QUALIFIERS) &&
            !token_in(&s->at[k], "constexpr explicit inline __forceinline__ __noinline__"))
            return false;
    return d->name >= d->first && d->params == d->name + 1;
}

/* True for a constexpr constructor that calls no function, which may be one of the device. */
static bool is_host_code(const cuda_list *s, const declaration *d)
{
    const cuda_token *t = s->at;
    int depth = 0; /* 0: the names of members in the initializer list */
    for (int k = t[d->params].pair + 1; k < d->end; k++) {
        if (t[k].kind == TOKEN_LPAREN || t[k].kind == TOKEN_LBRACE)
            depth++;
        else if (t[k].kind == TOKEN_RPAREN || t[k].kind == TOKEN_RBRACE)
            depth--;
        else if (depth && t[k].kind == TOKEN_NAME && !t[k].keyword && t[k + 1].kind == TOKEN_LPAREN)
            return false;
    }
    return d->flags & IS_CONSTEXPR;
}

/* True for the operator() of a program with Thrust, whose algorithms call it on the host, if its body names nothing that only
 * devices have. */
static bool is_for_thrust(const rewriter *r, const declaration *d)
{
    const cuda_token *t = r->s->at;
    int i = d->first;
    while (i < d->params && t[i].keyword != KEYWORD_operator)
        i++;
    if (i + 3 != d->params || t[i + 1].kind != TOKEN_LPAREN || !strstr(r->text, "<thrust/"))
        return false;
    for (i = d->body; i < d->end; i++)
        if (t[i].kind == TOKEN_NAME && t[i].name &&
            (name_flags(&t[i]) & NAMES_DEVICE_ONLY || strncmp(t[i].name->text, "__", 2) == 0 ||
             strncmp(t[i].name->text, "atomic", 6) == 0 ||
             token_in(&t[i], "threadIdx blockIdx blockDim gridDim asm")))
            return false;
    return true;
}

/* Removes the body of a function that the host cannot call. It constructs its copies of device variables, so a
 * constructor does nothing instead, or is only declared if it has initializers. */
static void remove_body(rewriter *r, const declaration *d)
{
    const cuda_list *s = r->s;
    if (is_for_thrust(r, d))
        return;
    if (!is_constructor(s, d))
        str_puts(rewrite_edit_add(r, s->at[d->body].at, s->at[d->end].end),
                 strstr(r->text, "<thrust/") ? "{ ::thrust::ig_device_only(); }"
                                             : "{ __builtin_trap(); }");
    else if (!is_host_code(s, d))
        str_puts(
            rewrite_edit_add(r, s->at[d->colon >= 0 ? d->colon : d->body].at, s->at[d->end].end),
            d->colon >= 0 ? ";" : "{}");
}

static void rewrite_declaration(rewriter *r, const declaration *d)
{
    const cuda_token *t = r->s->at;
    const bool is_class = d->flags & IS_CLASS && d->params < 0 && d->body >= 0;
    if (is_class)
        rewrite_members(r, d->body);
    if (d->flags & IS_MACRO) {
        rewrite_code(r, d->begin, d->end + 1, NULL);
    } else if (d->flags & IS_GLOBAL && d->params >= 0 && d->body >= 0) {
        r->uses_cuda = true;
        stub_kernel(r, d);
    } else if (is_device_only(d) && r->directive) {
        if (d->body >= 0)
            remove_body(r, d);
    } else if (is_device_only(d)) {
        if (d->name >= 0 && t[d->name].kind == TOKEN_NAME)
            name_mark(t[d->name].name, NAMES_DEVICE_ONLY);
        rewrite_edit_add(r, t[d->begin].at, t[d->end].end);
    } else if (d->params < 0 && d->flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED) &&
               !r->directive) {
        r->uses_cuda = true;
        stub_variables(r, d);
    } else if (!is_class) {
        rewrite_code(r, d->begin, d->end + 1, d->params >= 0 && d->body >= 0 ? d : NULL);
    }
}

static void rewrite_members(rewriter *r, int brace)
{
    const int end = r->s->at[brace].pair;
    for (int i = brace + 1; i < end;) {
        const int next = declare_between(r->s, i);
        if (next > i) {
            i = next;
            continue;
        }
        const declaration d = declare_read(r->s, i, end);
        if (d.flags & IS_CLASS && d.params < 0 && d.body >= 0)
            rewrite_members(r, d.body);
        else if (is_device_only(&d) && d.body >= 0)
            remove_body(r, &d);
        else
            rewrite_code(r, d.begin, d.end + 1, NULL);
        i = d.end + 1;
    }
}

static void rewrite_scope(rewriter *r, int i, int end)
{
    const cuda_token *t = r->s->at;
    while (i < end) {
        const int inside = declare_namespace(r->s, i);
        if (inside >= 0 && t[inside].pair > 0) {
            const int outer = r->n_spaces;
            for (; i < inside; i++)
                if (t[i].kind == TOKEN_NAME && !t[i].keyword && r->n_spaces < SPACES_MOST) {
                    name_mark(t[i].name, NAMES_SPACE);
                    r->spaces[r->n_spaces++] = &t[i];
                }
            rewrite_scope(r, inside + 1, t[inside].pair);
            r->n_spaces = outer;
            i = t[inside].pair + 1;
        } else if (inside >= 0 || t[i].kind == TOKEN_SEMICOLON || t[i].kind == TOKEN_RBRACE) {
            i = (inside >= 0 ? inside : i) + 1;
        } else {
            const declaration d = declare_read(r->s, i, end);
            rewrite_declaration(r, &d);
            if (r->device && !r->directive)
                device_declaration(r, &d);
            i = d.end + 1;
        }
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
static int included(rewriter *r, const char *name, int bytes, bool quoted)
{
    str path = {0};
    const char *slash = strrchr(r->path, '/');
    int found = -1;
    if (quoted) {
        str_printf(&path, "%.*s%.*s", slash && *name != '/' ? (int)(slash + 1 - r->path) : 0,
                   r->path, bytes, name);
        if (*name == '/' || exists(path.s))
            found = add_file(r->job, path.s, false);
    }
    for (int i = 0; found < 0 && r->job->folders[i]; i++) {
        str_free(&path);
        str_printf(&path, "%s/%.*s", r->job->folders[i], bytes, name);
        if (exists(path.s))
            found = add_file(r->job, path.s, false);
    }
    str_free(&path);
    return found;
}

/* Renames the file of an #include, if it is one of the program's. A header that only kernels use is removed: NVRTC
 * finds it in CUDA's toolkit. */
static int include(rewriter *r, const cuda_list *d)
{
    const cuda_token *t = &d->at[1];
    const size_t bytes = (size_t)(t->end - t->at) - 2;
    const int found = included(r, t->at + 1, (int)bytes, *t->at == '"');
    if (found >= 0) {
        r->uses_cuda |= r->job->files[found].uses_cuda;
        str_printf(rewrite_edit_add(r, t->at, t->end), "\"%s\"", r->job->files[found].name);
    } else if (r->job->for_nvrtc && device_has_header(t->at + 1, bytes) &&
               !cuda_header_exists(t->at + 1, bytes)) {
        rewrite_edit_add(r, d->at[0].at, t->end);
    }
    return found;
}

static void rewrite_includes(rewriter *r, const cuda_tokens *tokens, int *files)
{
    for (int i = 0; i < tokens->n_directives; i++) {
        const cuda_list *d = &tokens->directives[i];
        files[i] = -1;
        if (token_is(&d->at[0], "include") && d->at[1].kind == TOKEN_STRING)
            files[i] = include(r, d);
    }
}

static void rewrite_macros(rewriter *r, const cuda_tokens *tokens)
{
    r->directive = true;
    for (int i = 0; i < tokens->n_directives; i++) {
        const cuda_list *d = &tokens->directives[i];
        if (!token_is(&d->at[0], "define"))
            continue;
        const bool params = d->at[2].kind == TOKEN_LPAREN && d->at[2].at == d->at[1].end;
        r->s = d;
        rewrite_scope(r, params && d->at[2].pair > 0 ? d->at[2].pair + 1 : 2, d->n);
    }
    r->directive = false;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

/* Reads the tokens of a file. Names are kept for the job. */
static cuda_tokens read_tokens(rewrite_job *job, const char *text, size_t bytes)
{
    cuda_tokens tokens;
    if (!job->names) {
        job->names = heap_get(sizeof *job->names);
        if (kernel_unit_begin(job->names, NAMES_MOST_BYTES) == IG_OK &&
            (job->for_nvrtc || job->is_portable))
            device_names(job);
    }
    if (!cuda_tokens_read(job->names, text, bytes, &tokens)) {
        text_printf(stderr, "ingot: %s\n", ig_error(NULL));
        exit(EXIT_FAILURE);
    }
    return tokens;
}

bool rewrite_has_main(const char *text, size_t bytes)
{
    rewrite_job job = {0};
    const cuda_tokens s = read_tokens(&job, text, bytes);
    bool found = false;
    for (int i = 0; i < s.code.n && !found; i++)
        found = token_is(&s.code.at[i], "main") && s.code.at[i + 1].kind == TOKEN_LPAREN;
    rewrite_free(&job);
    return found;
}

/* The text as it is written, except that it includes the job's files by their names in the job. */
static void source_text(const rewriter *r, const cuda_tokens *s, const int *files, str *out)
{
    const char *copied = r->text;
    for (int i = 0; i < s->n_directives; i++) {
        const cuda_token *name = &s->directives[i].at[1];
        if (files[i] < 0)
            continue;
        str_add(out, copied, (size_t)(name->at - copied));
        str_printf(out, "\"%s\"", r->job->files[files[i]].name);
        copied = name->end;
    }
    str_puts(out, copied);
}

/* Writes the rewritten text of one file into job->files[number]. A C++ file without device code does not get
 * CUDA's names: it may define them itself. */
static void rewrite_file(rewrite_job *job, int number, const char *path, const char *text,
                         size_t bytes)
{
    const bool is_unit = job->files[number].is_unit, is_c = job->files[number].is_c;
    rewriter r = {.job = job,
                  .path = path,
                  .is_unit = is_unit,
                  .is_c = is_c,
                  .uses_cuda = is_unit && (job->all_cuda || ends_with(path, ".cu")),
                  .number = number,
                  .text = text};
    const cuda_tokens tokens = read_tokens(job, text, bytes);
    int *files = heap_get((size_t)(tokens.n_directives + 1) * sizeof *files);
    str all = {0}, source = {0}, device = {0}, rest = {0};
    rewrite_includes(&r, &tokens, files);
    if (job->is_portable && !is_c)
        source_text(&r, &tokens, files, &source);
    if ((job->for_nvrtc || job->is_portable) && !is_c)
        r.device = memcpy(heap_get(bytes + 1), text, bytes);
    if (!is_c) {
        declare_macros(&tokens);
        rewrite_macros(&r, &tokens);
        r.s = &tokens.code;
        rewrite_scope(&r, 0, tokens.code.n);
    }
    if (r.device)
        device_text(&r, &tokens, files, &device);
    if (is_unit && !is_c && r.uses_cuda) {
        const unit_texts texts = {.written = source.s         ? source.s
                                             : job->for_nvrtc ? NULL
                                                              : text,
                                  .device = device.s,
                                  .lambdas = r.closures.s ? r.closures.s : ""};
        (job->is_image ? unit_image : unit_add)(job, path, &texts, &all);
    }
    if (!job->is_image) {
        str_puts(&all, "#line 1 ");
        unit_quote(&all, path, strlen(path));
        str_puts(&all, "\n");
    }
    apply(&r, text + bytes, job->is_image ? &rest : &all);
    str_free(&rest);
    str_free(&r.closures);
    job->files[number].text = all;
    job->files[number].source = source;
    job->files[number].device = device;
    job->files[number].uses_cuda = r.uses_cuda;
    free(r.device);
    free(files);
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
                                     .is_c = is_unit && !job->all_cuda && ends_with(path, ".c")};
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
        str_free(&job->files[i].source);
        str_free(&job->files[i].device);
    }
    free(job->files);
    if (job->names)
        kernel_unit_end(job->names);
    free(job->names);
    *job = (rewrite_job){0};
}
