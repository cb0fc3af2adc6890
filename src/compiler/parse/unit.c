/* From a source to its tree: parses the file, then the bodies that kernels reach, infers address spaces, and
 * collects what each kernel uses. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "compiler/parse/parser.h"

enum { CAP_BYTES = 512 << 20 };

/* ---- kernels ---------------------------------------------------------------------------------- */

typedef struct reach {
    parser *p;
    kernel_entry *entry;
    uint32_t shared_room;
    uint32_t stamp;
    kernel_function **recursive; /* those that it reaches */
    uint32_t n_recursive, recursive_room;
} reach;

/* Adds all diagnostics after `before`, up to `after`. */
static void render(const kernel_source *source, const kernel_diags *diags,
                   const kernel_diag *before, const kernel_diag *after, text *out)
{
    if (before == after)
        return;
    for (const kernel_diag *d = before ? before->next : diags->first; d; d = d->next) {
        kernel_diag_render(source, d, false, out);
        if (d == after)
            break;
    }
}

static void add_shared(reach *r, kernel_var *v)
{
    kernel_entry *e = r->entry;
    for (uint32_t i = 0; i < e->n_shared; i++)
        if (e->shared[i].var == v)
            return;
    const uint64_t align = v->align ? v->align : 1;
    if (v->storage == STORE_DYNAMIC) {
        if (align > e->dynamic_align)
            e->dynamic_align = (uint32_t)align;
        return;
    }
    e->shared = kernel_arena_grow(r->p->arena, e->shared, &r->shared_room, e->n_shared + 1,
                                  sizeof *e->shared);
    const uint64_t offset = (e->shared_bytes + align - 1) / align * align;
    e->shared[e->n_shared++] = (kernel_shared){v, offset};
    e->shared_bytes = offset + v->type->size;
}

/* An error and its notes. */
static void render_error(const kernel_source *source, const kernel_diag *d, text *out)
{
    do {
        kernel_diag_render(source, d, false, out);
        d = d->next;
    } while (d && d->severity == DIAG_NOTE);
}

/* Adds the errors of a function. A diagnostic is kept once, so an error that two functions share (two
 * instances of a template, a broken declaration) may be recorded for only one of them. */
static void render_errors(parser *p, const kernel_instance *i, text *out)
{
    const kernel_source *source = &p->tree->unit.source;
    if (i->diag_before != i->diag_after) {
        render(source, p->diags, i->diag_before, i->diag_after, out);
        return;
    }
    const kernel_diag *d = i->diag_repeated ? i->diag_repeated : p->diags->first;
    if (!i->diag_repeated)
        text_add(out, "error: '%s' depends on a declaration with errors; the first error is\n",
                 i->function->source_name);
    while (d && d->severity != DIAG_ERROR)
        d = d->next;
    if (d)
        render_error(source, d, out);
}

/* Collects errors, features and variables of f and all its callees for the kernel. */
static void gather(reach *r, kernel_function *f, text *errors)
{
    if (f->visited == r->stamp)
        return;
    f->visited = r->stamp;
    if (f->failed) {
        r->entry->failed = true;
        render_errors(r->p, f->instance, errors);
        return;
    }
    if (!f->collected) {
        f->collected = true;
        feature_collect(r->p, f);
    }
    for (uint32_t i = 0; i < f->n_callees; i++)
        gather(r, f->callees[i], errors);
    if (f->is_recursive)
        ARENA_ADD(r->p->arena, r->recursive, r->n_recursive, r->recursive_room, f);
    for (int i = 0; i < FEATURES; i++)
        if (f->uses[i].place && (!r->entry->uses[i].place || f == r->entry->function))
            r->entry->uses[i] = f->uses[i];
    for (uint32_t i = 0; i < f->n_shared; i++)
        add_shared(r, f->shared[i]);
    if (f != r->entry->function && !f->listed) {
        f->listed = true;
        LIST_ADD(r->p->functions_end, f, next);
    }
}

static void parse_bounds(parser *p, void *context)
{
    kernel_entry *e = context;
    const kernel_instance *i = e->function->instance;
    const parser_place back = parser_enter(p, i->bounds, i->scope);
    e->max_threads = (uint32_t)fold_integer(p, parse_constant(p), "a launch bound");
    if (accept(p, TOKEN_COMMA))
        e->min_blocks = (uint32_t)fold_integer(p, parse_constant(p), "a launch bound");
    parser_leave(p, back);
}

uint64_t kernel_global_at(const kernel_tree *tree, const kernel_var *global)
{
    uint64_t at = 0;
    for (const kernel_var *v = tree->globals; v; v = v->next) {
        at = (at + 15) / 16 * 16;
        if (v == global)
            return at;
        at += v->type->size;
    }
    return at;
}

uint64_t kernel_argument_at(const kernel_function *f, uint32_t i)
{
    uint64_t at = 0;
    for (uint32_t k = 0; k < f->n_params; k++) {
        const kernel_type *t = f->params[k]->type;
        at = (at + t->align - 1) / t->align * t->align;
        if (k == i)
            return at;
        at += t->size;
    }
    return at;
}

static void measure(kernel_entry *e)
{
    const uint64_t align = e->dynamic_align > 16 ? e->dynamic_align : 16;
    e->dynamic_offset = (e->shared_bytes + align - 1) / align * align;
    e->argument_bytes = kernel_argument_at(e->function, e->function->n_params);
}

static kernel_entry *entry_add(parser *p, const char *name, kernel_function *f)
{
    kernel_entry *e = kernel_arena_new(p->arena, sizeof *e);
    e->name = name;
    e->function = f;
    LIST_ADD(p->entries_end, e, next);
    return e;
}

static void finish_kernel(parser *p, kernel_instance *i)
{
    kernel_function *f = i->function;
    kernel_entry *e = entry_add(p, f->source_name, f);
    if (i->bounds && !f->failed && !parser_guard(p, parse_bounds, e))
        f->failed = true;
    if (!f->failed)
        space_infer(p, f);
    reach r = {.p = p, .entry = e, .stamp = ++p->n_entries};
    text errors = {0};
    if (p->broken_file) {
        e->failed = true;
        render_error(&p->tree->unit.source, p->broken_file, &errors);
    }
    gather(&r, f, &errors);
    for (uint32_t k = 0; k < r.n_recursive && !e->failed; k++)
        if (!r.recursive[k]->machine)
            r.recursive[k]->machine = flow_machine(p, r.recursive[k]);
    measure(e);
    e->errors = text_take(&errors);
}

static void finish_broken(parser *p, const broken_kernel *b)
{
    kernel_function *f = kernel_arena_new(p->arena, sizeof *f);
    f->name = f->source_name = b->name->text;
    f->is_kernel = f->failed = true;
    f->result = type_word_of(p, WORD_VOID);
    kernel_entry *e = entry_add(p, f->name, f);
    e->failed = true;
    text errors = {0};
    render(&p->tree->unit.source, p->diags, b->diag_before, b->diag_after, &errors);
    e->errors = text_take(&errors);
}

/* ---- the run ---------------------------------------------------------------------------------- */

typedef struct job {
    parser p;
    const char *name, *source;
    const kernel_parse_options *options;
    const kernel_token **linked; /* the tokens of the linked files */
    ig_status status;
} job;

static void use_kernel(parser *p, void *context)
{
    function_decl *f = context;
    instance_use(p, instance_get(p, f, (template_list){0}, f->place), f->place);
}

static void request(parser *p, const char *wanted)
{
    kernel_tokens tokens;
    kernel_options plain = p->options->preprocess;
    plain.n_defines = 0;
    const char *name = wanted;
    p->file = 0;
    if (p->options->n_linked && isdigit((unsigned char)*name)) { /* "2#tile<float>": of that file */
        char *end;
        p->file = (int)strtol(name, &end, 10);
        name = end + (*end == '#');
        assert(p->file <= p->options->n_linked);
    }
    kernel_file *file = kernel_unit_text(&p->tree->unit, "<kernel>", name, strlen(name));
    if (!file || kernel_preprocess(&p->tree->unit, file, &plain, &tokens) != IG_OK)
        kernel_arena_fail(p->arena, "the name of a kernel");
    p->t = tokens.at;
    p->scope = p->globals[p->file];
    parser_guard(p, parse_request, (void *)wanted);
}

/* The functions of CUDA and the part of <type_traits> that are written in CUDA C; special.c has the rest. */
static const char library[] =
    "__device__ unsigned ig_find_nth(unsigned mask, unsigned base, int offset) {\n"
    "    int left = offset < 0 ? -offset : offset;\n"
    "    for (int at = base; at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {\n"
    "        if ((mask >> at & 1) && --left <= 0) return at;\n"
    "        if (!offset) break;\n"
    "    }\n"
    "    return 0xffffffff;\n"
    "}\n"
    "template <typename ig_t> __device__ void ig_construct(ig_t *at, unsigned long n) {\n"
    "    for (unsigned long i = 0; at && i < n; i++) ig_default(at[i]);\n"
    "}\n"
    "template <typename ig_t> __device__ void ig_clear(ig_t *at, unsigned long n) {\n"
    "    for (unsigned long i = 0; at && i < n; i++) at[i] = ig_t();\n"
    "}\n"
    "template <typename ig_t>\n"
    "__device__ void ig_copy_all(ig_t *to, const ig_t *from, unsigned long n) {\n"
    "    for (unsigned long i = 0; i < n; i++) ig_copy(to[i], from[i]);\n"
    "}\n"
    "template <typename ig_t>\n"
    "__device__ void ig_assign_all(ig_t *to, const ig_t *from, unsigned long n) {\n"
    "    for (unsigned long i = 0; i < n; i++) to[i] = from[i];\n"
    "}\n"
    "template <typename ig_t> __device__ void ig_end_all(ig_t *at, unsigned long n) {\n"
    "    while (n-- > 0) ig_end(at[n]);\n"
    "}\n"
    "template <bool ig_b, typename ig_t = void> struct enable_if {};\n"
    "template <typename ig_t> struct enable_if<true, ig_t> { using type = ig_t; };\n"
    "template <bool ig_b, typename ig_t = void>\n"
    "using enable_if_t = typename enable_if<ig_b, ig_t>::type;\n"
    "template <bool ig_b, typename ig_t, typename ig_u> struct conditional { using type = ig_t; "
    "};\n"
    "template <typename ig_t, typename ig_u>\n"
    "struct conditional<false, ig_t, ig_u> { using type = ig_u; };\n"
    "template <bool ig_b, typename ig_t, typename ig_u>\n"
    "using conditional_t = typename conditional<ig_b, ig_t, ig_u>::type;\n"
    "template <typename ig_t> struct remove_const { using type = ig_t; };\n"
    "template <typename ig_t> struct remove_const<const ig_t> { using type = ig_t; };\n"
    "template <typename ig_t> using remove_const_t = typename remove_const<ig_t>::type;\n"
    "template <typename ig_t> struct remove_pointer { using type = ig_t; };\n"
    "template <typename ig_t> struct remove_pointer<ig_t *> { using type = ig_t; };\n"
    "template <typename ig_t> using remove_pointer_t = typename remove_pointer<ig_t>::type;\n";

static void parse_library(parser *p, void *ignored)
{
    (void)ignored;
    kernel_tokens tokens;
    kernel_options plain = p->options->preprocess;
    plain.n_defines = 0;
    kernel_file *file = kernel_source_add(&p->tree->unit.source, "<library>", NULL, library,
                                          sizeof library - 1, 0); /* not from disk */
    if (!file || kernel_preprocess(&p->tree->unit, file, &plain, &tokens) != IG_OK)
        kernel_arena_fail(p->arena, "the library");
    p->t = tokens.at;
    parse_file(p);
}

/* The names of the kernel templates, for messages. */
static void list_templates(parser *p)
{
    text out = {0};
    for (const function_decl *f = p->kernels; f; f = f->next_kernel) {
        if (!f->n_params)
            continue;
        text_add(&out, "%s%s<", out.used ? ", " : "", scope_qualified(p, f->scope, f->name->text));
        for (uint32_t i = 0; i < f->n_params; i++)
            text_add(&out, "%s%s%s", i ? ", " : "", f->params[i].is_pack ? "..." : "",
                     f->params[i].name ? f->params[i].name->text : "");
        text_add(&out, ">");
    }
    if (out.used)
        p->tree->templates = kernel_arena_text(p->arena, out.at, out.used);
    text_drop(&out);
}

/* Parses all bodies. Dispatchers come last, and again if others have more functions for them. */
static void parse_bodies(parser *p)
{
    kernel_instance **next = &p->queue;
    do {
        for (; *next; next = &(*next)->queue)
            if (!is_dispatcher((*next)->decl))
                instance_parse(p, *next);
    } while (dispatch_parse(p) || *next);
}

static void work(parser *p, void *context)
{
    job *j = context;
    const kernel_token *from = p->t;
    p->scope = p->root;
    parser_try(p, parse_library, NULL);
    for (int i = 0; i <= j->options->n_linked; i++) {
        p->file = i;
        p->scope = p->globals[i];
        p->t = i ? j->linked[i - 1] : from;
        parse_file(p);
    }
    p->scope = p->globals[0];
    link_files(p);
    list_templates(p);
    if (j->options->use_launches) {
        parse_named_instances(p);
        parse_launches(p, from);
    }
    for (function_decl *f = p->kernels; f; f = f->next_kernel)
        if (!f->n_params && f->body)
            parser_guard(p, use_kernel, f);
    for (int i = 0; i < j->options->n_instances; i++)
        request(p, j->options->instances[i]);
    parse_bodies(p);
    function_pointers_finish(p);
    for (function_decl *f = p->kernels; f; f = f->next_kernel)
        for (kernel_instance *i = f->instances; i; i = i->next)
            if (i->function)
                finish_kernel(p, i);
    for (const broken_kernel *b = p->broken; b; b = b->next)
        finish_broken(p, b);
}

static void parser_begin(parser *p, kernel_tree *tree, const kernel_parse_options *options)
{
    p->tree = tree;
    p->arena = &tree->unit.arena;
    p->types = &tree->types;
    p->names = &tree->unit.names;
    p->diags = &tree->unit.diags;
    p->options = options;
    p->queue_end = &p->queue;
    p->pack_at = -1;
    p->broken_end = &p->broken;
    p->kernels_end = &p->kernels;
    p->globals_end = &tree->globals;
    p->functions_end = &tree->functions;
    p->entries_end = &tree->kernels;
    kernel_types_begin(p->types, p->arena, p->names);
    p->root = scope_open(p, NULL, false);
    special_names(p);
    group_names(p);
    wmma_names(p);
    p->globals = kernel_arena_get(p->arena, (size_t)(options->n_linked + 1) * sizeof *p->globals);
    for (int i = 0; i <= options->n_linked; i++) {
        p->globals[i] = scope_open(p, p->root, false);
        p->globals[i]->is_global = true;
    }
    p->scope = p->globals[0];
}

/* ---- other languages -------------------------------------------------------------------------- */

/* Words that CUDA C does not have, and the language that has them. */
static const struct {
    const char *word, *language, *remedy;
} foreign[] = {
    {"metal_stdlib", "Metal",
     "write it in CUDA C; 'ingot translate --to metal' makes Metal of that"},
    {"thread_position_in_grid", "Metal",
     "write it in CUDA C; 'ingot translate --to metal' makes Metal of that"},
    {"__kernel", "OpenCL C",
     "write it in CUDA C; 'ingot translate --to opencl' makes OpenCL C of that"},
    {"get_global_id", "OpenCL C",
     "write it in CUDA C; 'ingot translate --to opencl' makes OpenCL C of that"},
    {"@cuda.jit", "Python for Numba", "write it in CUDA C: a __global__ function"},
    {"@triton.jit", "Python for Triton", "write it in CUDA C: a __global__ function"},
    {"import cupy", "Python for CuPy", "put the text of its RawKernel into a file"},
};

/* A source without a kernel may be written in another language; true if that is reported. */
static bool report_foreign(kernel_unit *u, const char *source, kernel_place first)
{
    if (strstr(source, "__global__"))
        return false;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const char *found = strstr(source, foreign[i].word);
        const bool inside =
            found && found > source && (isalnum((unsigned char)found[-1]) || found[-1] == '_');
        if (!found || inside)
            continue;
        diag_error(&u->diags, first + (kernel_place)(found - source), "IG-LANGUAGE",
                   "this is %s, not CUDA C", foreign[i].language);
        diag_do(&u->diags, "%s", foreign[i].remedy);
        return true;
    }
    return false;
}

/* The tokens of the files that are linked with the first one. Each has macros of its own. */
static ig_status preprocess_linked(kernel_tree *tree, job *j)
{
    const int n = j->options->n_linked;
    j->linked = kernel_arena_get(&tree->unit.arena, (size_t)(n + 1) * sizeof *j->linked);
    for (int i = 0; i < n; i++) {
        const kernel_linked *l = &j->options->linked[i];
        kernel_options plain = l->preprocess;
        kernel_tokens tokens;
        plain.skip_unknown |= j->options->skip_host;
        kernel_file *file = kernel_unit_text(&tree->unit, l->name, l->text, strlen(l->text));
        if (!file)
            return IG_ERR_MEMORY;
        kernel_names_forget_macros(&tree->unit.names);
        TRY(kernel_preprocess(&tree->unit, file, &plain, &tokens));
        j->linked[i] = tokens.at;
    }
    return IG_OK;
}

/* All work that allocates, under the arena's escape. */
static ig_status run(kernel_tree *tree, job *j)
{
    kernel_options plain = j->options->preprocess;
    kernel_tokens tokens;
    plain.skip_unknown |= j->options->skip_host;
    kernel_file *file = kernel_unit_text(&tree->unit, j->name, j->source, strlen(j->source));
    if (!file)
        return IG_ERR_MEMORY;
    if (report_foreign(&tree->unit, file->text, file->first))
        return IG_ERR_FORMAT;
    TRY(kernel_preprocess(&tree->unit, file, &plain, &tokens));
    TRY(preprocess_linked(tree, j));
    if (tree->unit.diags.n_errors)
        return IG_ERR_FORMAT;
    parser_begin(&j->p, tree, j->options);
    j->p.t = tokens.at;
    parser_guard(&j->p, work, j);
    return IG_OK;
}

static ig_status run_guarded(kernel_tree *tree, job *j)
{
    jmp_buf escape;
    tree->unit.arena.escape = &escape;
    j->status = IG_ERR_MEMORY;
    if (!setjmp(escape))
        j->status = run(tree, j);
    tree->unit.arena.escape = NULL;
    return j->status;
}

/* One line for ig_error: the first error. */
static ig_status fail_first(const kernel_unit *u)
{
    const kernel_diag *d = u->diags.first;
    while (d && d->severity != DIAG_ERROR)
        d = d->next;
    kernel_where at_;
    if (d && kernel_source_where(&u->source, d->place, &at_))
        FAIL(IG_ERR_FORMAT, "%s:%lld:%u: %s", at_.name, (long long)at_.line, at_.column,
             d->message);
    FAIL(IG_ERR_FORMAT, "%s", d ? d->message : "the source has no kernel");
}

static bool any_runs(const kernel_tree *tree)
{
    for (const kernel_entry *e = tree->kernels; e; e = e->next)
        if (!e->failed)
            return true;
    return false;
}

ig_status kernel_parse(const char *name, const char *source, const kernel_parse_options *options,
                       kernel_tree **out, char **diagnostics)
{
    static const kernel_parse_options none;
    if (diagnostics)
        *diagnostics = NULL;
    *out = NULL;
    kernel_tree *tree = memory_new(sizeof *tree);
    if (!tree)
        return IG_ERR_MEMORY;
    job *j = memory_new(sizeof *j);
    options = options ? options : &none;
    ig_status status =
        j ? kernel_unit_begin(&tree->unit, options->cap_bytes ? options->cap_bytes : CAP_BYTES)
          : IG_ERR_MEMORY;
    if (status == IG_OK) {
        *j = (job){.name = name, .source = source, .options = options};
        status = run_guarded(tree, j);
    }
    memory_free(j);
    text rendered = {0};
    if (diagnostics && status != IG_ERR_MEMORY && tree->unit.diags.first) {
        kernel_diags_render(&tree->unit.diags, options->colour, &rendered);
        *diagnostics = text_take(&rendered);
    }
    if (status == IG_OK && tree->unit.diags.n_errors && !any_runs(tree))
        status = IG_ERR_FORMAT;
    if (status == IG_OK) {
        *out = tree;
        return IG_OK;
    }
    if (status == IG_ERR_FORMAT)
        status = fail_first(&tree->unit);
    kernel_tree_free(tree);
    return status;
}

void kernel_tree_free(kernel_tree *tree)
{
    if (!tree)
        return;
    for (kernel_entry *e = tree->kernels; e; e = e->next)
        memory_free((char *)e->errors);
    kernel_unit_end(&tree->unit);
    memory_free(tree);
}

/* ---- finding ---------------------------------------------------------------------------------- */

/* The next significant character: a space counts only between words. */
static char significant(const char **s, char before)
{
    const char *c = *s;
    while (*c == ' ')
        c++;
    const bool word = isalnum((unsigned char)before) && isalnum((unsigned char)*c);
    if (c != *s && word) {
        *s = c;
        return ' ';
    }
    *s = *c ? c + 1 : c;
    return *c;
}

static bool same_name(const char *a, const char *b)
{
    for (char x = 0, y = 0;;) {
        x = significant(&a, x);
        y = significant(&b, y);
        if (x != y)
            return false;
        if (!x)
            return true;
    }
}

/* "tile" of "tile<float, 16>". */
static bool is_base(const char *full, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(full, name, n) == 0 && full[n] == '<';
}

/* The name without its namespaces, or NULL if it has none. */
static const char *tail_of(const char *name)
{
    const char *tail = NULL;
    for (const char *last = strstr(name, "::"); last && !memchr(name, '<', (size_t)(last - name));
         last = strstr(last + 2, "::"))
        tail = last + 2;
    return tail;
}

bool kernel_entry_is(const kernel_entry *e, const char *name)
{
    const char *tail = tail_of(e->name);
    return same_name(e->name, name) || is_base(e->name, name) ||
           (tail && (same_name(tail, name) || is_base(tail, name)));
}

const kernel_entry *kernel_tree_find(const kernel_tree *tree, const char *name)
{
    const kernel_entry *found = NULL;
    bool ambiguous = false;
    for (const kernel_entry *e = tree->kernels; e; e = e->next) {
        if (same_name(e->name, name))
            return e;
        for (const kernel_alias *a = tree->aliases; a; a = a->next)
            if (a->function == e->function && same_name(a->name, name))
                return e;
        if (kernel_entry_is(e, name)) {
            if (found)
                ambiguous = true;
            found = e;
        }
    }
    return ambiguous ? NULL : found;
}
