/* A checked tree as text that reads like C. Loads are implicit, casts are written out, and pointers show their
 * address space: "float shared *". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/kernel_dump.h"

typedef struct dumper {
    const kernel_types *types;
    text *out;
    int indent;
    char spelled[256];
} dumper;

static const char *const spaces[] = {"", " global", " constant", " shared", " local", " generic"};
static const char *const grid_names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
static const char *const operators[] = {
    [OP_NEGATE] = "-",  [OP_INVERT] = "~", [OP_NOT] = "!",  [OP_ADD] = "+", [OP_SUB] = "-",
    [OP_MUL] = "*",     [OP_DIV] = "/",    [OP_REM] = "%",  [OP_AND] = "&", [OP_OR] = "|",
    [OP_XOR] = "^",     [OP_SHL] = "<<",   [OP_SHR] = ">>", [OP_EQ] = "==", [OP_NE] = "!=",
    [OP_LT] = "<",      [OP_LE] = "<=",    [OP_GT] = ">",   [OP_GE] = ">=", [OP_OFFSET] = "+",
    [OP_DISTANCE] = "-"};

static void expr(dumper *d, const kernel_expr *e);
static void operand(dumper *d, const kernel_expr *e);

static const char *spell(dumper *d, const kernel_type *t)
{
    type_spell(t, d->spelled, sizeof d->spelled);
    return d->spelled;
}

/* A type with the space of its outermost pointer before the last star. */
static void type(dumper *d, const kernel_type *t, uint8_t space)
{
    const char *name = spell(d, t);
    const char *star = strrchr(name, '*');
    if (!star || space == SPACE_UNSET) {
        text_add(d->out, "%s", name);
        return;
    }
    const char *from = star;
    while (from > name && from[-1] == ' ')
        from--;
    text_add(d->out, "%.*s%s %s", (int)(from - name), name, spaces[space], star);
}

static void declare(dumper *d, const kernel_var *v)
{
    const kernel_type *t = v->type;
    while (t->kind == TYPE_ARRAY)
        t = t->of;
    if (t->kind == TYPE_POINTER && t->of->kind == TYPE_ARRAY) { /* a pointer to rows */
        type(d, v->type, v->space);
        text_add(d->out, " %s", v->name);
        return;
    }
    type(d, t, v->space);
    text_add(d->out, "%s%s", t->kind == TYPE_POINTER && !t->quals ? "" : " ", v->name);
    for (t = v->type; t->kind == TYPE_ARRAY; t = t->of)
        if (t->count)
            text_add(d->out, "[%llu]", (unsigned long long)t->count);
        else
            text_add(d->out, "[]");
}

/* ---- expressions ------------------------------------------------------------------------------ */

static void quoted(dumper *d, const kernel_string *s)
{
    text_add(d->out, "\"");
    for (uint32_t i = 0; i < s->bytes; i++) {
        const unsigned char c = (unsigned char)s->text[i];
        if (c == '\n')
            text_add(d->out, "\\n");
        else if (c < 32 || c == '"' || c == '\\')
            text_add(d->out, "\\x%02x", c);
        else
            text_add(d->out, "%c", c);
    }
    text_add(d->out, "\"");
}

static void constant(dumper *d, const kernel_expr *e)
{
    const kernel_type *t = e->type;
    const unsigned long long u = e->value.integer;
    const double x = e->value.number;
    switch (t->kind) {
    case TYPE_BOOL: text_add(d->out, "%s", u ? "true" : "false"); break;
    case TYPE_POINTER: text_add(d->out, u ? "%#llx" : "null", u); break;
    case TYPE_F64:
    case TYPE_F32:
    case TYPE_F16:
    case TYPE_BF16: {
        char digits[40];
        snprintf(digits, sizeof digits, "%.*g", t->kind == TYPE_F64 ? 17 : 9, x);
        if (t->kind == TYPE_F64 && strtod(digits, NULL) == x) /* the shortest text of the same
                                                               * value */
            for (int n = 1; n < 17; n++) {
                char shorter[40];
                snprintf(shorter, sizeof shorter, "%.*g", n, x);
                if (strtod(shorter, NULL) == x) {
                    strcpy(digits, shorter);
                    break;
                }
            }
        const char *suffix = t->kind == TYPE_F32   ? "f"
                             : t->kind == TYPE_F16 ? "h"
                             : t->kind == TYPE_F64 ? ""
                                                   : "bf";
        text_add(d->out, "%s%s%s", digits, strpbrk(digits, ".en") ? "" : ".0", suffix);
        break;
    }
    default: {
        const char *suffix = t->kind == TYPE_U32   ? "u"
                             : t->kind == TYPE_I64 ? "l"
                             : t->kind == TYPE_U64 ? "ul"
                                                   : "";
        if (t->size < 4) {
            text_add(d->out, "(%s)", spell(d, t));
        }
        if (type_is_signed(t))
            text_add(d->out, "%lld%s", (long long)u, suffix);
        else
            text_add(d->out, "%llu%s", u, suffix);
    }
    }
}

static void args(dumper *d, const kernel_expr *e)
{
    for (uint32_t i = 0; i < e->n_args; i++) {
        text_add(d->out, "%s", i ? ", " : "");
        if (e->args[i]->kind == EXPR_COMMA)
            operand(d, e->args[i]);
        else
            expr(d, e->args[i]);
    }
}

static bool is_simple(const kernel_expr *e)
{
    switch (e->kind) {
    case EXPR_LOAD:
    case EXPR_DECAY: return is_simple(e->a);
    case EXPR_DEREF: return e->a->kind == EXPR_BINARY;
    case EXPR_VAR:
    case EXPR_CONST:
    case EXPR_STRING:
    case EXPR_INDEX:
    case EXPR_MEMBER:
    case EXPR_CALL:
    case EXPR_BUILTIN:
    case EXPR_LIST: return true;
    default: return false;
    }
}

/* An operand: in parentheses unless it needs none. */
static void operand(dumper *d, const kernel_expr *e)
{
    const bool simple = is_simple(e);
    text_add(d->out, "%s", simple ? "" : "(");
    expr(d, e);
    text_add(d->out, "%s", simple ? "" : ")");
}

static void binary(dumper *d, const kernel_expr *a, const char *op, const kernel_expr *b)
{
    operand(d, a);
    text_add(d->out, " %s ", op);
    operand(d, b);
}

static void deref(dumper *d, const kernel_expr *pointer)
{
    if (pointer->kind == EXPR_BINARY && pointer->op == OP_OFFSET) {
        const kernel_expr *index = pointer->b;
        /* Every index is widened, so this cast is not shown. */
        if (index->kind == EXPR_CAST && type_is_integer(index->a->type))
            index = index->a;
        operand(d, pointer->a);
        text_add(d->out, "[");
        if (index->kind == EXPR_CONST)
            text_add(d->out, "%lld", (long long)index->value.integer);
        else
            expr(d, index);
        text_add(d->out, "]");
        return;
    }
    text_add(d->out, "*");
    operand(d, pointer);
}

static void update(dumper *d, const kernel_expr *e)
{
    const bool computes = e->as.compute != e->a->type->plain;
    expr(d, e->a);
    text_add(d->out, " %s= ", operators[e->op]);
    if (computes) {
        text_add(d->out, "(%s) ", spell(d, e->as.compute));
    }
    expr(d, e->b);
    text_add(d->out, "%s", e->post ? " (old)" : "");
}

static void call(dumper *d, const char *name, const kernel_expr *e, bool typed)
{
    text_add(d->out, "%s", name);
    if (typed)
        text_add(d->out, "<%s>", spell(d, e->type));
    text_add(d->out, "(");
    args(d, e);
    text_add(d->out, ")");
}

static void expr(dumper *d, const kernel_expr *e)
{
    switch (e->kind) {
    case EXPR_VAR: text_add(d->out, "%s", e->as.var->name); break;
    case EXPR_DEREF: deref(d, e->a); break;
    case EXPR_MEMBER:
        operand(d, e->a);
        text_add(d->out, ".%s", e->as.member->name ? e->as.member->name->text : "<>");
        break;
    case EXPR_CONST: constant(d, e); break;
    case EXPR_STRING: quoted(d, e->as.text); break;
    case EXPR_LOAD:
    case EXPR_DECAY: expr(d, e->a); break;
    case EXPR_ADDRESS:
        text_add(d->out, "&");
        operand(d, e->a);
        break;
    case EXPR_CAST:
        text_add(d->out, "(");
        type(d, e->type, type_is_pointer(e->type) ? e->space : SPACE_UNSET);
        text_add(d->out, ")");
        operand(d, e->a);
        break;
    case EXPR_UNARY:
        text_add(d->out, "%s", operators[e->op]);
        operand(d, e->a);
        break;
    case EXPR_BINARY: binary(d, e->a, operators[e->op], e->b); break;
    case EXPR_AND: binary(d, e->a, "&&", e->b); break;
    case EXPR_OR: binary(d, e->a, "||", e->b); break;
    case EXPR_CHOOSE:
        operand(d, e->a);
        text_add(d->out, " ? ");
        binary(d, e->b, ":", e->c);
        break;
    case EXPR_COMMA:
        expr(d, e->a);
        text_add(d->out, ", ");
        expr(d, e->b);
        break;
    case EXPR_ASSIGN:
        expr(d, e->a);
        text_add(d->out, " = ");
        expr(d, e->b);
        break;
    case EXPR_UPDATE: update(d, e); break;
    case EXPR_CALL: call(d, e->as.function->name, e, false); break;
    case EXPR_BUILTIN: {
        const int class = kernel_builtin_rows[e->builtin].class;
        call(d, kernel_builtin_rows[e->builtin].name, e,
             class == CLASS_CONVERT || class == CLASS_MATH);
        break;
    }
    case EXPR_INDEX: text_add(d->out, "%s.%c", grid_names[e->base], "xyz"[e->axis]); break;
    case EXPR_LIST:
        text_add(d->out, "%s{", spell(d, e->type));
        args(d, e);
        text_add(d->out, "}");
        break;
    default: text_add(d->out, "?"); break;
    }
}

/* ---- statements ------------------------------------------------------------------------------- */

static void list(dumper *d, const kernel_stmt *s);

static void line(dumper *d, const char *words)
{
    text_add(d->out, "%*s%s", 4 * d->indent, "", words);
}

static void body(dumper *d, const kernel_stmt *s)
{
    d->indent++;
    list(d, s);
    d->indent--;
}

static void braces(dumper *d, const char *head, const kernel_stmt *s)
{
    text_add(d->out, "%s{\n", head);
    body(d, s);
    line(d, "}");
}

static void loop(dumper *d, const kernel_stmt *s)
{
    if (s->unroll == UNROLL_ALL)
        line(d, "#pragma unroll\n");
    else if (s->unroll != UNROLL_NONE)
        text_add(d->out, "%*s#pragma unroll %d\n", 4 * d->indent, "", s->unroll);
    line(d, s->post ? "do" : "loop (");
    if (!s->post) {
        if (s->value)
            expr(d, s->value);
        if (s->step) {
            text_add(d->out, "; ");
            expr(d, s->step);
        }
        text_add(d->out, ")");
    }
    braces(d, " ", s->body);
    if (s->post) {
        text_add(d->out, " while (");
        expr(d, s->value);
        text_add(d->out, ");");
    }
    text_add(d->out, "\n");
}

static void choice(dumper *d, const kernel_stmt *s)
{
    line(d, "switch (");
    expr(d, s->value);
    text_add(d->out, ") {\n");
    for (const kernel_stmt *t = s->body;; t = t->next) {
        for (uint32_t i = 0; i < s->n_cases; i++)
            if (s->cases[i].from == t) {
                if (s->cases[i].is_default)
                    line(d, "default:\n");
                else
                    text_add(d->out, "%*scase %lld:\n", 4 * d->indent, "",
                             (long long)s->cases[i].value);
            }
        if (!t)
            break;
        kernel_stmt one = *t;
        one.next = NULL;
        body(d, &one);
    }
    line(d, "}\n");
}

static void statement(dumper *d, const kernel_stmt *s)
{
    switch (s->kind) {
    case STMT_EXPR:
        line(d, "");
        expr(d, s->value);
        text_add(d->out, ";\n");
        break;
    case STMT_DECLARE:
        line(d, "");
        declare(d, s->var);
        if (s->value) {
            text_add(d->out, " = ");
            expr(d, s->value);
        }
        text_add(d->out, ";\n");
        break;
    case STMT_BLOCK:
        line(d, "");
        braces(d, "", s->body);
        text_add(d->out, "\n");
        break;
    case STMT_IF:
        line(d, "if (");
        expr(d, s->value);
        braces(d, ") ", s->body);
        if (s->otherwise)
            braces(d, " else ", s->otherwise);
        text_add(d->out, "\n");
        break;
    case STMT_LOOP: loop(d, s); break;
    case STMT_SWITCH: choice(d, s); break;
    case STMT_BREAK: line(d, "break;\n"); break;
    case STMT_CONTINUE: line(d, "continue;\n"); break;
    case STMT_RETURN:
        line(d, s->value ? "return " : "return");
        if (s->value)
            expr(d, s->value);
        text_add(d->out, ";\n");
        break;
    default: break;
    }
}

static void list(dumper *d, const kernel_stmt *s)
{
    for (; s; s = s->next)
        statement(d, s);
}

/* ---- the tree --------------------------------------------------------------------------------- */

static void function(dumper *d, const kernel_function *f)
{
    text_add(d->out, "%s", f->is_kernel ? "kernel " : "");
    if (!f->is_kernel) {
        type(d, f->result, f->result_space);
        text_add(d->out, " ");
    }
    text_add(d->out, "%s(", f->name);
    for (uint32_t i = 0; i < f->n_params; i++) {
        text_add(d->out, "%s", i ? ", " : "");
        declare(d, f->params[i]);
    }
    text_add(d->out, ")%s\n", f->failed ? " failed" : "");
    if (f->failed)
        return;
    text_add(d->out, "{\n");
    d->indent = 1;
    for (uint32_t i = 0; i < f->n_shared; i++) {
        line(d, f->shared[i]->storage == STORE_DYNAMIC ? "dynamic " : "shared ");
        declare(d, f->shared[i]);
        text_add(d->out, ";\n");
    }
    for (const kernel_var *v = f->locals; v; v = v->next)
        if (v->is_temporary) {
            line(d, "");
            declare(d, v);
            text_add(d->out, ";\n");
        }
    list(d, f->body);
    text_add(d->out, "}\n");
}

static void records(dumper *d)
{
    for (const kernel_struct *s = d->types->first; s; s = s->next) {
        if (s->n_vector || s->fragment || !s->place)
            continue;
        text_add(d->out, "%s %s { ", s->is_union ? "union" : "struct", s->name);
        for (uint32_t i = 0; i < s->n_members; i++) {
            const kernel_member *m = &s->members[i];
            text_add(d->out, "%s %s @%llu; ", spell(d, m->type), m->name ? m->name->text : "<>",
                     (unsigned long long)m->offset);
        }
        text_add(d->out, "} size %llu align %u\n", (unsigned long long)s->type->size,
                 s->type->align);
    }
}

static void global(dumper *d, const kernel_var *v)
{
    text_add(d->out, "%s ",
             v->is_managed                  ? "managed"
             : v->storage == STORE_CONSTANT ? "constant"
                                            : "global");
    declare(d, v);
    if (v->init) {
        text_add(d->out, " = ");
        const uint64_t most = v->type->size < 32 ? v->type->size : 32;
        for (uint64_t i = 0; i < most; i++)
            text_add(d->out, "%02x%s", v->init[i], i % 4 == 3 && i + 1 < most ? " " : "");
        if (most < v->type->size)
            text_add(d->out, " ...");
    }
    text_add(d->out, ";\n");
}

static void uses(dumper *d, const kernel_tree *tree, const kernel_entry *e)
{
    for (int i = 0; i < FEATURES; i++) {
        kernel_where at;
        if (!e->uses[i].place || !kernel_source_where(&tree->unit.source, e->uses[i].place, &at))
            continue;
        const kernel_feature_row *row = &kernel_feature_rows[i];
        text_add(d->out, "    uses %s%s%s%s at %lld:%u\n", row->text, *row->code ? " [" : "",
                 row->code, *row->code ? "]" : "", (long long)at.line, at.column);
    }
}

void kernel_dump(const kernel_tree *tree, text *out)
{
    dumper d = {.types = &tree->types, .out = out};
    records(&d);
    for (const kernel_var *v = tree->globals; v; v = v->next)
        global(&d, v);
    for (const kernel_function *f = tree->functions; f; f = f->next)
        function(&d, f);
    for (const kernel_entry *e = tree->kernels; e; e = e->next) {
        function(&d, e->function);
        text_add(out, "entry \"%s\"%s: %llu bytes of arguments", e->name,
                 e->failed ? " failed" : "", (unsigned long long)e->argument_bytes);
        if (e->max_threads)
            text_add(out, ", at most %u threads", e->max_threads);
        if (e->shared_bytes)
            text_add(out, ", %llu bytes shared", (unsigned long long)e->shared_bytes);
        text_add(out, "\n");
        uses(&d, tree, e);
    }
}
