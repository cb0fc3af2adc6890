/* A kernel as text: its functions, their hidden parameters, the kernel's parameters, and the preludes. */
#include "compiler/print/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "compiler/print/parts.h"

enum { PRINT_CAP_BYTES = 256 << 20, ESCAPE_STOPPED = 2 };

static const char *const preludes[2][PRELUDES] = {{
#define PRELUDE(id, needs, opencl, metal) opencl,
#define BOTH(id, needs, text) text,
#define AS(type) "as_" #type
#include "compiler/print/prelude.def"
                                                  },
                                                  {
#define PRELUDE(id, needs, opencl, metal) metal,
#define BOTH(id, needs, text) text,
#define AS(type) "as_type<" #type ">"
#include "compiler/print/prelude.def"
                                                  }};
static const uint8_t prelude_needs[PRELUDES] = {
#define PRELUDE(id, needs, opencl, metal) PRELUDE_##needs,
#include "compiler/print/prelude.def"
};

_Noreturn void print_stop(printer *p) { longjmp(*p->arena->escape, ESCAPE_STOPPED); }

void print_out(printer *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_add_list(p->into, format, args);
    va_end(args);
}

void print_line(printer *p) { text_add(p->into, "%*s", 4 * p->indent, ""); }

void print_row(printer *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(p);
    text_add_list(p->into, format, args);
    text_add(p->into, "\n");
    va_end(args);
}

void print_close(printer *p)
{
    p->indent--;
    print_row(p, "}");
}

void print_use(printer *p, prelude which)
{
    while (which != PRELUDE_NONE && !p->preludes[which]) {
        p->preludes[which] = true;
        which = prelude_needs[which];
    }
}

void print_part_begin(printer *p, const text *in, const char *name)
{
    /* Copied: the tree may be freed before the text. */
    const char *own = name ? print_format(p, "%s", name) : NULL;
    ARENA_ADD(p->arena, p->parts, p->n_parts, p->parts_room, (print_part){in, in->used, own});
}

void print_make(printer *p, const char *name, const char *definition)
{
    for (const print_name *n = p->makes; n; n = n->next)
        if (strcmp(n->name, name) == 0)
            return;
    p->makes = kernel_arena_copy(p->arena, &(print_name){NULL, name, p->makes}, sizeof *p->makes);
    print_part_begin(p, &p->made, name);
    text_add(&p->made, "%s", definition);
}

/* ---- the functions, and what they use ----------------------------------------------------------- */

static print_function *find_function(const printer *p, const kernel_function *f)
{
    for (print_function *q = p->functions; q; q = q->next)
        if (q->f == f)
            return q;
    return NULL;
}

print_function *print_function_of(printer *p, const kernel_function *f)
{
    print_function *found = find_function(p, f);
    if (!found) {
        ig_fail(IG_ERR_INTERNAL, "kernel_print: '%s' calls '%s', which was not collected",
                p->entry->name, f->name);
        print_stop(p);
    }
    return found;
}

static void add_var(printer *p, print_function *f, const kernel_var *v)
{
    for (uint32_t i = 0; i < f->n_vars; i++)
        if (f->vars[i] == v)
            return;
    ARENA_ADD(p->arena, f->vars, f->n_vars, f->vars_room, v);
}

static bool hands_indices(const printer *p) { return is_metal(p); }

static void use_hand(print_function *f, int hand) { f->hands[hand] = true; }

/* The hidden parameters that a builtin needs. */
static void use_builtin(printer *p, print_function *f, const kernel_expr *e)
{
    const int class = kernel_builtin_rows[e->builtin].class;
    const bool metal = hands_indices(p);
    if (class == CLASS_WARP && metal)
        use_hand(f, HAND_LANE);
    if (print_is_logged(p, e)) {
        use_hand(f, HAND_LOG);
        f->hands[INDEX_THREAD] = f->hands[INDEX_THREAD] || metal;
        f->hands[INDEX_BLOCK] = f->hands[INDEX_BLOCK] || metal;
    }
    if (class == CLASS_BARRIER && e->builtin != BUILTIN_BARRIER) {
        use_hand(f, HAND_VOTE);
        f->hands[INDEX_THREAD] = f->hands[INDEX_THREAD] || metal;
    }
}

static void use_expr(printer *p, const kernel_expr *e, void *context)
{
    print_function *f = context;
    if (e->kind == EXPR_VAR) {
        const kernel_var *v = e->as.var;
        if (v->storage > STORE_LOCAL)
            add_var(p, f, v);
    } else if (e->kind == EXPR_INDEX && hands_indices(p)) {
        use_hand(f, e->base);
    } else if (e->kind == EXPR_BUILTIN) {
        use_builtin(p, f, e);
    } else if (e->kind == EXPR_CALL) {
        const print_function *g = print_function_of(p, e->as.function);
        for (int i = 0; i < HANDS; i++)
            f->hands[i] = f->hands[i] || g->hands[i];
        for (uint32_t i = 0; i < g->n_vars; i++)
            add_var(p, f, g->vars[i]);
    }
}

/* Collects callees first, unless they are recursive. */
static void collect(printer *p, const kernel_function *f)
{
    if (find_function(p, f) || print_name_of(p, &f->callees))
        return;
    print_name_set(p, &f->callees, ""); /* marks it as being visited */
    for (uint32_t i = 0; i < f->n_callees; i++)
        collect(p, f->callees[i]);
    print_function *made = kernel_arena_new(p->arena, sizeof *made);
    made->f = f;
    LIST_ADD(p->last, made, next);
}

/* ---- names ------------------------------------------------------------------------------------ */

static void take_names(printer *p)
{
    static const char *const own[] = {"active",    "vote",     "records",  "record",
                                      "result",    "lane",     "globals",  "dynamic_shared",
                                      "threadIdx", "blockIdx", "blockDim", "gridDim"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        print_name_take(p, own[i]);
}

/* Names of locals are unique in their function; names of hidden parameters must differ from all of them. */
static void name_locals(printer *p, const kernel_function *f)
{
    for (uint32_t i = 0; i < f->n_params; i++)
        print_name_set(p, f->params[i], print_name_local(p, f->params[i]->name));
    for (const kernel_var *v = f->locals; v; v = v->next)
        print_name_set(p, v, print_name_local(p, v->name));
}

static void name_all(printer *p)
{
    const bool cuda = is_cuda(p);
    if (!cuda)
        take_names(p);
    for (print_function *f = p->functions; f; f = f->next) {
        f->name = cuda ? print_cuda_name(p, f) : print_name_new(p, f->f->name);
        name_locals(p, f->f);
    }
    for (print_function *f = p->functions; f; f = f->next)
        for (uint32_t i = 0; i < f->f->n_params; i++)
            print_name_take(p, print_name_of(p, f->f->params[i]));
    for (print_function *f = p->functions; f; f = f->next)
        for (const kernel_var *v = f->f->locals; v; v = v->next)
            print_name_take(p, print_name_of(p, v));
    for (print_function *f = p->functions; f; f = f->next)
        for (uint32_t i = 0; i < f->n_vars; i++)
            if (!print_name_of(p, f->vars[i]))
                print_name_set(p, f->vars[i],
                               cuda ? f->vars[i]->name : print_name_new(p, f->vars[i]->name));
}

/* ---- hidden parameters ------------------------------------------------------------------------ */

/* A variable of the kernel as a parameter: a pointer to it, or to the first element of an array. */
const char *print_var_pointer(printer *p, const kernel_var *v, const char *name)
{
    const uint8_t space =
        v->storage == STORE_SHARED || v->storage == STORE_DYNAMIC ? SPACE_SHARED : SPACE_GLOBAL;
    const bool array = v->type->kind == TYPE_ARRAY;
    const kernel_type *to = array ? v->type->of : v->type;
    kernel_type pointer = {.kind = TYPE_POINTER, .size = 8, .align = 8, .of = to};
    pointer.plain = &pointer;
    return print_declare(p, &pointer, space, name, true);
}

void print_item(print_items *s, const char *words)
{
    text_add(s->out, "%s%s", s->first ? "" : ", ", words);
    s->first = false;
}

const char *const print_index_names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};

static void hands(printer *p, const print_function *f, bool first, bool declare)
{
    print_items s = {first, p->into};
    const bool metal = hands_indices(p);
    for (uint32_t i = 0; i < f->n_vars; i++) {
        const char *name = print_name_of(p, f->vars[i]);
        const kernel_var *v = f->vars[i];
        const bool own =
            p->at->f->is_kernel && v->storage == STORE_SHARED && v->type->kind != TYPE_ARRAY;
        print_item(&s, declare ? print_var_pointer(p, v, name)
                       : own   ? print_format(p, "&%s", name)
                               : name);
    }
    for (int i = 0; i < 4; i++)
        if (f->hands[i])
            print_item(&s, print_format(p, "%s%s", declare ? "uint3 " : "", print_index_names[i]));
    if (f->hands[HAND_LANE])
        print_item(&s, declare ? "uint lane" : "lane");
    if (f->hands[HAND_LOG])
        print_item(&s, print_format(p, "%s%srecords", declare ? p->lang->spaces[SPACE_GLOBAL] : "",
                                    declare ? "uint *" : ""));
    if (f->hands[HAND_VOTE])
        print_item(&s, !declare ? (p->at->f->is_kernel ? "&vote" : "vote")
                       : metal  ? "threadgroup atomic_uint *vote"
                                : "__local uint *vote");
    if (f->follows)
        print_item(&s, declare ? "bool active" : print_flagged(p->at) ? "active" : "true");
}

/* In CUDA C only the memory of globals and the log are passed as hidden parameters. */
static void cuda_hands(printer *p, const print_function *f, bool first, bool declare)
{
    print_items s = {first, p->into};
    if (p->target->hides_globals && print_uses_globals(f))
        print_item(&s, declare ? "char *ig_globals" : "ig_globals");
    if (f->hands[HAND_LOG])
        print_item(&s, declare ? "unsigned int *ig_records" : "ig_records");
}

/* The hidden parameters of f; first: no other parameters precede them. */
static void print_hand_params(printer *p, const print_function *f, bool first)
{
    (is_cuda(p) ? cuda_hands : hands)(p, f, first, true);
}

void print_hand_args(printer *p, const print_function *f, bool first)
{
    (is_cuda(p) ? cuda_hands : hands)(p, f, first, false);
}

/* ---- functions -------------------------------------------------------------------------------- */

static void function_params(printer *p, const print_function *f)
{
    for (uint32_t i = 0; i < f->f->n_params; i++) {
        const kernel_var *v = f->f->params[i];
        const bool restricts = v->is_restrict && is_cuda(p);
        const char *name =
            print_format(p, "%s%s", restricts ? "__restrict__ " : "", print_name_of(p, v));
        print_out(p, "%s%s", i ? ", " : "",
                  print_declare(p, v->type, v->space, name, print_var_stored(v)));
    }
    print_hand_params(p, f, f->f->n_params == 0);
}

static bool takes_shared(const print_function *f)
{
    bool takes = f->hands[HAND_VOTE];
    for (uint32_t i = 0; i < f->f->n_params && !takes; i++)
        takes = f->f->params[i]->space == SPACE_SHARED;
    for (uint32_t i = 0; i < f->n_vars && !takes; i++)
        takes = f->vars[i]->storage == STORE_SHARED;
    return takes;
}

/* If all calls pass the same array of shared memory, LLVM replaces the parameter by the array. PoCL 3 gives
 * each of its threads a copy of the arrays that the kernel itself names. All threads then share one copy of
 * this array, and results are wrong if two blocks run at the same time. An inlined function has no parameters
 * to replace. */
static bool is_inlined(const printer *p, const print_function *f)
{
    return is_opencl(p) && p->target->inlines && !f->f->is_kernel && takes_shared(f);
}

static void print_head(printer *p, const print_function *f)
{
    const char *result = print_type(p, f->f->result, f->f->result_space, false);
    const bool star = result[strlen(result) - 1] == '*';
    print_out(p, "%s%s%s%s", f->f->is_kernel ? p->lang->kernel : p->lang->function,
              is_inlined(p, f) ? "__attribute__((always_inline)) " : "", result, star ? "" : " ");
    if (f->f->is_kernel && is_cuda(p) && p->entry->max_threads)
        print_out(p, p->entry->min_blocks ? "__launch_bounds__(%u, %u) " : "__launch_bounds__(%u) ",
                  p->entry->max_threads, p->entry->min_blocks);
    print_out(p, "%s(", f->name);
    function_params(p, f);
    print_out(p, ")");
}

/* Only CUDA C has recursive functions. */
static void print_prototype(printer *p, const print_function *f)
{
    print_part_begin(p, &p->text, NULL);
    print_head(p, f);
    print_out(p, ";\n\n");
}

static void join(text *to, text *from)
{
    text_add(to, "%s", from->at ? from->at : "");
    to->failed = to->failed || from->failed;
    text_drop(from);
}

static void print_function_text(printer *p, print_function *f)
{
    const bool cuda = is_cuda(p);
    p->at = f;
    p->indent = 1;
    p->n_temps = 0;
    p->into = &p->head;
    if (f->f->is_kernel && !cuda)
        print_kernel_head(p, f);
    else {
        print_head(p, f);
        print_out(p, "\n{\n");
    }
    if (cuda) {
        print_cuda_shared(p, f->f);
        print_cuda_references(p, f);
    }
    p->into = &p->inner;
    print_body(p);
    print_part_begin(p, &p->text, f->name);
    const uint32_t *block = p->target->block;
    const char *hardware = cuda ? print_cuda_hardware(f->f) : NULL;
    if (hardware)
        text_add(&p->text, "#ifdef __INGOT__\n");
    if (f->f->is_kernel && is_opencl(p) && block[0])
        text_add(&p->text, "__attribute__((reqd_work_group_size(%u, %u, %u)))\n", block[0],
                 block[1], block[2]);
    join(&p->text, &p->head);
    join(&p->text, &p->temps);
    join(&p->text, &p->inner);
    text_add(&p->text, "}\n");
    if (hardware)
        text_add(&p->text, "#else\n%s#endif\n", hardware);
    text_add(&p->text, f->next ? "\n" : "");
    p->into = &p->text;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void print_top(printer *p)
{
    const kernel_language language = p->target->language;
    print_part_begin(p, &p->top, NULL);
    if (language == LANGUAGE_METAL) {
        /* Metal's compiler contracts across statements even without fast math. Compilers of older systems
         * ignore Apple's pragma and honour clang's. */
        text_add(&p->top,
                 "#include <metal_stdlib>\n%s#pragma METAL fp contract(off)\n"
                 "#pragma clang fp contract(off)\nusing namespace metal;\n\n",
                 p->entry->uses[FEATURE_WMMA].place ? "#include <metal_simdgroup_matrix>\n" : "");
    } else if (language == LANGUAGE_OPENCL) {
        text_add(&p->top, "#pragma OPENCL FP_CONTRACT OFF\n");
        const struct {
            bool used;
            const char *name;
        } extensions[] = {
            {p->target->f64 &&
                 (p->entry->uses[FEATURE_F64].place || p->entry->uses[FEATURE_F64_LITERAL].place),
             "cl_khr_fp64"},
            {p->target->f16 && p->entry->uses[FEATURE_F16].place, "cl_khr_fp16"},
            {p->entry->uses[FEATURE_A64].place || p->entry->uses[FEATURE_AF64].place,
             "cl_khr_int64_base_atomics"},
            {p->entry->uses[FEATURE_A64].place, "cl_khr_int64_extended_atomics"},
            {p->entry->uses[FEATURE_WARP].place && !p->target->masked, "cl_khr_subgroups"}};
        for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
            if (extensions[i].used) {
                print_part_begin(p, &p->top, NULL);
                text_add(&p->top, "#pragma OPENCL EXTENSION %s : enable\n", extensions[i].name);
            }
        print_part_begin(p, &p->top, NULL);
        text_add(&p->top, "\n");
    }
    if (language == LANGUAGE_CUDA)
        print_cuda_headers(p);
    print_structs(p);
    if (language == LANGUAGE_CUDA)
        print_cuda_prelude(p);
    for (int i = 0; i < PRELUDES && language != LANGUAGE_CUDA; i++)
        if (p->preludes[i]) {
            print_part_begin(p, &p->top, NULL);
            text_add(&p->top, "%s", preludes[language][i]);
        }
}

/* Threads that have returned wait at the next barrier here. An instruction whose mask has their lanes would wait for
 * them forever. */
static void refuse_masks(printer *p)
{
    const kernel_use *use = &p->entry->uses[FEATURE_WARP];
    for (const print_function *f = p->functions; f && use->place; f = f->next)
        if (print_flagged(f)) {
            print_refuse(p, use->place, "IG-WARP",
                         "threads that have returned would still be in the masks",
                         "let all threads reach the end, or run it with '--device cpu'",
                         "'%s' returns before a barrier and uses warp functions", p->entry->name);
            return;
        }
}

static void print_all(printer *p)
{
    kernel_printed *out = p->printed;
    p->last = &p->functions;
    collect(p, p->entry->function);
    print_function *entry = find_function(p, p->entry->function);
    for (print_function *f = p->functions; f; f = f->next)
        print_walk(p, f->f->body, use_expr, f);
    print_find_params(p, entry);
    print_check(p);
    if (!is_cuda(p)) {
        print_active_find(p);
        if (p->target->subgroup != 32)
            print_lockstep_check(p);
        if (p->target->masked && !p->target->whole_warps)
            refuse_masks(p);
        if (p->diags.n_errors)
            print_stop(p);
    }
    name_all(p);
    out->entry = print_format(p, "%s", entry->name);
    for (print_function *f = p->functions; f; f = f->next)
        if (f->f->is_recursive && !f->is_twin)
            print_prototype(p, f);
    for (print_function *f = p->functions; f; f = f->next)
        if (!f->is_twin)
            print_function_text(p, f);
    const bool declares = is_cuda(p) && !p->target->hides_globals;
    if (declares)
        print_cuda_find_structs(p);
    print_top(p);
    if (declares)
        print_cuda_globals(p);
    if (p->diags.n_errors)
        print_stop(p);
}

static ig_status failed(printer *p, ig_status status)
{
    text rendered = {0};
    kernel_diags_render(&p->diags, false, &rendered);
    char *all = text_take(&rendered);
    ig_fail(status, "%s", all && *all ? all : "the kernel cannot be printed");
    memory_free(all);
    return status;
}

/* The parts of the whole text, in its order. */
static void finish_parts(printer *p)
{
    kernel_printed *out = p->printed;
    const text *const texts[] = {&p->top, &p->made, &p->text};
    size_t before = 0;
    out->parts = kernel_arena_get(p->arena, (p->n_parts + 1) * sizeof *out->parts);
    for (int i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < p->n_parts; k++)
            if (p->parts[k].in == texts[i])
                out->parts[out->n_parts++] =
                    (kernel_printed_part){before + p->parts[k].begin, p->parts[k].name};
        before += texts[i]->used;
    }
}

static ig_status finish(printer *p)
{
    kernel_printed *out = p->printed;
    finish_parts(p);
    text all = {0}, warnings = {0};
    text_add(&all, "%s%s%s", p->top.at ? p->top.at : "", p->made.at ? p->made.at : "",
             p->text.at ? p->text.at : "");
    const bool lost = p->top.failed || p->made.failed || p->text.failed;
    out->text = text_take(&all);
    if (p->diags.n_warnings) {
        kernel_diags_render(&p->diags, false, &warnings);
        out->warnings = text_take(&warnings);
    }
    return lost || !out->text || (p->diags.n_warnings && !out->warnings) ? IG_ERR_MEMORY : IG_OK;
}

static ig_status attempt(printer *p)
{
    jmp_buf escape;
    ig_status status;
    p->arena->escape = &escape;
    switch (setjmp(escape)) {
    case 0:
        print_all(p);
        status = finish(p);
        break;
    case ESCAPE_STOPPED:
        status = p->diags.n_errors ? failed(p, IG_ERR_UNSUPPORTED) : IG_ERR_INTERNAL;
        break;
    default: status = IG_ERR_MEMORY; break;
    }
    p->arena->escape = NULL;
    return status;
}

ig_status kernel_print(const kernel_tree *tree, const kernel_entry *entry,
                       const kernel_target *target, kernel_printed **out)
{
    *out = NULL;
    if (entry->failed)
        FAIL(IG_ERR_FORMAT, "%s", entry->errors ? entry->errors : "the kernel has errors");
    kernel_printed *made = memory_new(sizeof *made);
    printer *p = made ? memory_new(sizeof *p) : NULL;
    if (!p) {
        memory_free(made);
        return IG_ERR_MEMORY;
    }
    kernel_arena_begin(&made->arena, PRINT_CAP_BYTES);
    *p = (printer){.tree = tree,
                   .entry = entry,
                   .target = target,
                   .lang = &print_languages[target->language],
                   .printed = made,
                   .arena = &made->arena};
    p->into = &p->text;
    kernel_diags_begin(&p->diags, &tree->unit.source, &made->arena);
    const ig_status status = attempt(p);
    text *const texts[] = {&p->top, &p->made, &p->text, &p->head, &p->temps, &p->inner};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        text_drop(texts[i]);
    memory_free(p);
    if (status != IG_OK)
        kernel_printed_free(made);
    else
        *out = made;
    return status;
}

void kernel_printed_free(kernel_printed *printed)
{
    if (!printed)
        return;
    memory_free(printed->text);
    memory_free(printed->warnings);
    kernel_arena_end(&printed->arena);
    memory_free(printed);
}
