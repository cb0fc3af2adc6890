/* Statements, and the guards around those that only active threads may run. */
#include <string.h>

#include "compiler/print/parts.h"

static void guarded_list(printer *p, const kernel_stmt *s);

static bool flagged(const printer *p) { return p->at && print_flagged(p->at) && !is_cuda(p); }

/* ---- declarations ----------------------------------------------------------------------------- */

static const kernel_type *declared_type(const printer *p, const kernel_var *v)
{
    return flagged(p) && !(v->type->quals & TYPE_VOLATILE) && v->type->kind != TYPE_ARRAY
               ? v->type->plain
               : v->type;
}

static void initializer(printer *p, const kernel_var *v, const kernel_expr *e)
{
    if (e->kind == EXPR_LIST && !print_native(p, e->type->plain)) {
        print_out(p, "{");
        print_list_items(p, e);
        print_out(p, "}");
    } else {
        print_into(p, e, v->type->plain, print_var_stored(v), LEVEL_ASSIGN);
    }
}

/* A compiler for CPUs that splits a kernel at its barriers (PoCL 3) loses values of variables that are
 * undefined on some path. So in OpenCL C functions with barriers, every scalar and struct is initialized. They are also
 * initialized where threads may be inactive, because inactive threads evaluate harmless statements. */
static const char *default_value(const printer *p, const kernel_type *t)
{
    if (t->kind == TYPE_ARRAY || !(flagged(p) || (is_opencl(p) && p->at->holds)))
        return "";
    if (t->kind != TYPE_STRUCT || print_native(p, t->plain))
        return " = 0";
    return t->record->n_members ? " = {0}" : "";
}

void print_declaration(printer *p, const kernel_var *v, const kernel_expr *value)
{
    const kernel_type *type = declared_type(p, v);
    print_out(p, "%s",
              print_declare(p, value ? type : print_assignable(type), v->space, print_name_of(p, v),
                            print_var_stored(v)));
    if (value) {
        print_out(p, " = ");
        initializer(p, v, value);
    } else {
        print_out(p, "%s", default_value(p, v->type));
    }
}

static void declare(printer *p, const kernel_var *v, const kernel_expr *value)
{
    print_line(p);
    print_declaration(p, v, value);
    print_out(p, ";\n");
}

void print_effect(printer *p, const kernel_expr *e)
{
    print_line(p);
    print_around(p, "", e, LEVEL_EFFECT, ";\n");
}

/* Assigns the initial value of a variable that was declared earlier. */
static void late_value(printer *p, const kernel_var *v, const kernel_expr *value)
{
    kernel_expr place = {
        .kind = EXPR_VAR, .type = v->type, .space = SPACE_LOCAL, .as.var = (kernel_var *)v};
    kernel_expr set = {
        .kind = EXPR_ASSIGN, .type = v->type->plain, .a = &place, .b = (kernel_expr *)value};
    if (v->type->kind == TYPE_ARRAY) {
        print_refuse(p, v->place, "IG-BARRIER", "threads that have returned must not read memory",
                     "declare the array before, and set its elements in a loop",
                     "an array that is initialized from memory after a 'return'");
        print_stop(p);
    }
    print_effect(p, &set);
}

/* ---- conditions ------------------------------------------------------------------------------- */

/* The condition of a statement that all threads must run together. */
static void condition(printer *p, const kernel_expr *e, bool together)
{
    if (!together || !p->maybe || print_is_uniform(p, e)) {
        print_expr(p, e, LEVEL_COMMA);
        return;
    }
    print_use(p, PRELUDE_VOTE);
    print_out(p, "ig_count(active && ");
    print_expr(p, e, LEVEL_AND + 1);
    print_out(p, ", %s) != 0", print_vote(p));
}

static void braces(printer *p, const kernel_stmt *body)
{
    print_out(p, "{\n");
    p->indent++;
    print_list(p, body);
    p->indent--;
    print_line(p);
    print_out(p, "}");
}

/* One plain statement needs no braces. */
static bool is_single(const printer *p, const kernel_stmt *s)
{
    if (!s || s->next || (flagged(p) && (p->maybe || s->value)))
        return false;
    if (s->kind == STMT_EXPR)
        return s->value->kind != EXPR_BUILTIN ||
               kernel_builtin_rows[s->value->builtin].class != CLASS_IO;
    return s->kind == STMT_RETURN || s->kind == STMT_BREAK || s->kind == STMT_CONTINUE;
}

/* The body of a control statement: " {...}" or the next line. Returns true if it is in braces. */
static bool body(printer *p, const kernel_stmt *s, bool must)
{
    if (!must && is_single(p, s)) {
        print_out(p, "\n");
        p->indent++;
        print_statement(p, s);
        p->indent--;
        return false;
    }
    print_out(p, " ");
    braces(p, s);
    return true;
}

static void conditional(printer *p, const kernel_stmt *s)
{
    const bool together = flagged(p) && print_holds(p, s);
    const bool must =
        s->otherwise &&
        (!is_single(p, s->body) || !(is_single(p, s->otherwise) || s->otherwise->kind == STMT_IF));
    print_out(p, "if (");
    condition(p, s->value, together);
    print_out(p, ")");
    const bool braced = body(p, s->body, must || (s->body && s->body->kind == STMT_IF));
    if (!s->otherwise) {
        print_out(p, braced ? "\n" : "");
        return;
    }
    if (braced)
        print_out(p, " else");
    else {
        print_line(p);
        print_out(p, "else");
    }
    const kernel_stmt *other = s->otherwise;
    if (other->kind == STMT_IF && !other->next && !flagged(p)) {
        print_out(p, " ");
        conditional(p, other);
    } else if (body(p, other, must)) {
        print_out(p, "\n");
    }
}

/* ---- loops ------------------------------------------------------------------------------------ */

static void unrolling(printer *p, const kernel_stmt *s)
{
    if (s->unroll == UNROLL_NONE)
        return;
    if (s->unroll == UNROLL_ALL)
        print_row(p, "#pragma unroll");
    else
        print_row(p, "#pragma unroll %d", s->unroll);
}

/* A thread that returned inside a loop without a barrier leaves the loop by its condition. */
static void loop_condition(printer *p, const kernel_stmt *s, bool together, bool leaves)
{
    if (leaves)
        print_out(p, s->value ? "active && " : "active");
    if (s->value && leaves)
        print_expr(p, s->value, LEVEL_AND + 1);
    else if (s->value)
        condition(p, s->value, together);
    else if (together && p->maybe && print_returns(p, s)) {
        print_use(p, PRELUDE_VOTE);
        print_out(p, "ig_count(active, %s) != 0", print_vote(p));
    }
}

/* init: the statement before the loop that becomes part of its head, or NULL. */
static void loop(printer *p, const kernel_stmt *s, const kernel_stmt *init)
{
    const bool together = flagged(p) && print_loop_holds(p, s);
    const bool returns = flagged(p) && print_returns(p, s), leaves = returns && !together;
    const bool before = p->maybe, outer = p->loop_holds, outer_splits = p->loop_splits;
    if (together && print_is_split(p, s)) {
        print_split_loop(p, s, init);
        return;
    }
    p->loop_holds = together;
    p->loop_splits = false;
    unrolling(p, s);
    print_line(p);
    p->maybe = before || (together && returns); /* they may have in an earlier iteration */
    if (together && p->split)
        print_check_split_loop(p, s);
    if (s->post) {
        print_out(p, "do ");
        braces(p, s->body);
        print_out(p, " while (");
        loop_condition(p, s, together, leaves);
        print_out(p, ");\n");
    } else {
        const bool is_for = init || s->step || (!s->value && !leaves);
        print_out(p, is_for ? "for (" : "while (");
        if (init && init->kind == STMT_DECLARE)
            print_declaration(p, init->var, init->value);
        else if (init)
            print_expr(p, init->value, LEVEL_EFFECT);
        print_out(p, is_for ? ";" : "");
        if (is_for && (s->value || leaves))
            print_out(p, " ");
        loop_condition(p, s, together, leaves);
        print_out(p, is_for ? ";" : "");
        if (s->step) {
            print_out(p, " ");
            print_expr(p, s->step, LEVEL_EFFECT);
        }
        print_out(p, ")");
        print_out(p, body(p, s->body, s->body && s->body->kind == STMT_IF) ? "\n" : "");
    }
    p->loop_holds = outer;
    p->loop_splits = outer_splits;
    p->maybe = before;
}

/* ---- switch ----------------------------------------------------------------------------------- */

static void labels(printer *p, const kernel_stmt *s, const kernel_stmt *at)
{
    bool any = false;
    for (uint32_t i = 0; i < s->n_cases; i++) {
        if (s->cases[i].from != at)
            continue;
        any = true;
        print_line(p);
        if (s->cases[i].is_default) {
            print_out(p, "default:\n");
        } else {
            kernel_expr value = {
                .kind = EXPR_CONST, .type = s->value->type, .value.integer = s->cases[i].value};
            print_around(p, "case ", &value, LEVEL_COMMA, ":\n");
        }
    }
    if (any && at && at->kind == STMT_DECLARE && !is_cuda(p) && !is_metal(p))
        print_row(p, ";"); /* in C, a label precedes a statement, not a declaration */
}

/* C++ does not allow jumps over initializations, so the body's own variables are declared before the switch. */
static void choice(printer *p, const kernel_stmt *s)
{
    const bool metal = is_metal(p);
    if (!is_cuda(p) && print_loop_holds(p, s) && print_varies(p, s->value)) {
        print_refuse(p, s->place, "IG-BARRIER", "threads of a block choose different cases",
                     "write it with 'if'",
                     "a barrier inside a 'switch' on a value that differs between threads");
        print_stop(p);
    }
    if (flagged(p) && p->maybe && print_holds(p, s) && !print_is_uniform(p, s->value)) {
        print_refuse(p, s->place, "IG-BARRIER", "threads that have returned cannot know the case",
                     "write it with 'if'", "a barrier inside a 'switch' after a 'return'");
        print_stop(p);
    }
    for (const kernel_stmt *t = s->body; t && metal; t = t->next)
        if (t->kind == STMT_DECLARE)
            declare(p, t->var, NULL);
    const bool outer_splits = p->loop_splits;
    p->loop_splits = false;
    print_line(p);
    print_around(p, "switch (", s->value, LEVEL_COMMA, ") {\n");
    for (const kernel_stmt *t = s->body; t; t = t->next) {
        labels(p, s, t);
        p->indent++;
        if (metal && t->kind == STMT_DECLARE) {
            if (t->value)
                late_value(p, t->var, t->value);
        } else {
            print_statement(p, t);
        }
        if (flagged(p) && print_returns(p, t) && t->next) {
            print_row(p, "if (!active)");
            p->indent++;
            print_row(p, "break;");
            p->indent--;
        }
        p->indent--;
    }
    labels(p, s, NULL);
    bool ends = false;
    for (uint32_t i = 0; i < s->n_cases; i++)
        ends = ends || !s->cases[i].from;
    if (ends) {
        p->indent++;
        print_row(p, ";");
        p->indent--;
    }
    print_row(p, "}");
    p->loop_splits = outer_splits;
}

/* ---- the others ------------------------------------------------------------------------------- */

static void leave(printer *p, const kernel_stmt *s)
{
    if (!flagged(p)) {
        print_line(p);
        print_out(p, s->value ? "return " : "return");
        if (s->value)
            print_into(p, s->value, p->at->f->result, false, LEVEL_COMMA);
        print_out(p, ";\n");
        return;
    }
    if (s->value) {
        print_line(p);
        print_out(p, "result = ");
        print_into(p, s->value, p->at->f->result, false, LEVEL_ASSIGN);
        print_out(p, ";\n");
    }
    print_row(p, "active = false;");
}

/* for (int i = 0; ...) is a block of two statements in the tree. */
static bool is_for(const kernel_stmt *s)
{
    const kernel_stmt *first = s->body;
    return first && first->next && first->next->kind == STMT_LOOP && !first->next->next &&
           !first->next->post && (first->kind == STMT_DECLARE || first->kind == STMT_EXPR) &&
           (first->kind != STMT_DECLARE || (first->value && first->value->kind != EXPR_LIST)) &&
           !(first->kind == STMT_EXPR && first->value->kind == EXPR_BUILTIN);
}

static bool ends_in_barrier(const kernel_stmt *s)
{
    while (s && s->next)
        s = s->next;
    return s && s->kind == STMT_EXPR && expr_has_class(s->value, CLASS_BARRIER);
}

/* OpenCL C gets another barrier after a branch or loop with barriers. Compilers for CPUs join the code after
 * it to its last part, and some (PoCL 3) lose threads if that part has several exits. */
static void meet(printer *p, const kernel_stmt *s, bool has_next)
{
    const bool last = !has_next && p->indent == 1 && p->at->f->is_kernel;
    if (!is_opencl(p) || last || !print_loop_holds(p, s) ||
        (ends_in_barrier(s->body) && (!s->otherwise || ends_in_barrier(s->otherwise))))
        return;
    print_row(p, "barrier(CLK_LOCAL_MEM_FENCE);");
}

static void plain_statement(printer *p, const kernel_stmt *s)
{
    switch ((stmt_kind)s->kind) {
    case STMT_EXPR:
        if (!print_io(p, s->value))
            print_effect(p, s->value);
        break;
    case STMT_DECLARE: declare(p, s->var, s->value); break;
    case STMT_BLOCK:
        if (is_for(s) && (!flagged(p) || print_is_harmless(p, s->body))) {
            loop(p, s->body->next, s->body);
        } else {
            print_line(p);
            braces(p, s->body);
            print_out(p, "\n");
        }
        break;
    case STMT_IF:
        if (flagged(p) && print_is_split(p, s)) {
            print_split(p, s);
            break;
        }
        print_line(p);
        conditional(p, s);
        break;
    case STMT_LOOP: loop(p, s, NULL); break;
    case STMT_SWITCH: choice(p, s); break;
    case STMT_BREAK: print_row(p, p->loop_splits ? "active = false;" : "break;"); break;
    case STMT_CONTINUE: print_row(p, "continue;"); break;
    case STMT_RETURN: leave(p, s); break;
    default: break;
    }
}

void print_statement(printer *p, const kernel_stmt *s)
{
    plain_statement(p, s);
    if (flagged(p) && print_is_split(p, s))
        return;
    if (s->kind == STMT_IF || s->kind == STMT_LOOP || s->kind == STMT_SWITCH)
        meet(p, s, s->next != NULL);
    else if (s->kind == STMT_BLOCK && is_for(s))
        meet(p, s->body->next, s->next != NULL);
}

/* ---- lists in functions where threads may have returned --------------------------------------- */

/* Calls with barriers are printed before the statement, since its other parts are for active threads only. */
void print_hoist(printer *p, const kernel_expr *e)
{
    if (!e || !print_expr_holds(p, e))
        return;
    if (e->kind == EXPR_AND || e->kind == EXPR_OR || e->kind == EXPR_CHOOSE) {
        print_refuse(p, e->place, "IG-BARRIER", "not every thread would reach it",
                     "call it in a separate statement", "a barrier that depends on a condition");
        print_stop(p);
    }
    print_hoist(p, e->a);
    print_hoist(p, e->b);
    for (uint32_t i = 0; i < e->n_args; i++)
        print_hoist(p, e->args[i]);
    const bool call = e->kind == EXPR_CALL && print_function_of(p, e->as.function)->holds;
    if (!call && !(expr_has_class(e, CLASS_BARRIER)))
        return;
    print_line(p);
    const char *temp = NULL;
    if (e->type->kind != TYPE_VOID) {
        temp = print_temp(p, e->type, e->space);
        print_out(p, "%s = ", temp);
    }
    print_expr(p, e, LEVEL_ASSIGN);
    print_out(p, ";\n");
    print_name_set(p, e, temp ? temp : "(void)0");
}

/* True if it assigns the result of a call to a local variable, which is harmless in inactive threads. */
static bool is_direct(printer *p, const kernel_stmt *s)
{
    const kernel_expr *e = s->value;
    if (s->kind == STMT_EXPR && e->kind == EXPR_ASSIGN && e->a->kind == EXPR_VAR &&
        e->a->as.var->storage <= STORE_LOCAL)
        e = e->b;
    else if (s->kind != STMT_DECLARE)
        return false;
    while (e->kind == EXPR_CAST)
        e = e->a;
    if (e->kind != EXPR_CALL && e->kind != EXPR_BUILTIN)
        return false;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (print_expr_holds(p, e->args[i]))
            return false;
    return true;
}

/* A statement with a barrier, which all threads run. */
static void held(printer *p, const kernel_stmt *s)
{
    const bool simple = s->kind == STMT_EXPR || s->kind == STMT_DECLARE || s->kind == STMT_RETURN;
    if (!simple) {
        if (s->kind == STMT_IF)
            print_hoist(p, s->value);
        print_statement(p, s);
        return;
    }
    if (is_direct(p, s)) {
        print_statement(p, s);
        return;
    }
    const bool alone = s->kind == STMT_EXPR && s->value->type->kind == TYPE_VOID &&
                       (s->value->kind == EXPR_CALL || s->value->kind == EXPR_BUILTIN);
    if (alone && !(s->value->kind == EXPR_CALL && print_name_of(p, s->value))) {
        print_statement(p, s);
        return;
    }
    if (s->kind == STMT_DECLARE)
        declare(p, s->var, NULL);
    print_hoist(p, s->value);
    print_row(p, "if (active) {");
    p->indent++;
    p->maybe = false;
    if (s->kind == STMT_DECLARE)
        late_value(p, s->var, s->value);
    else
        print_statement(p, s);
    p->maybe = true;
    print_close(p);
}

/* Statements from s to before end, run by active threads only. */
void print_guarded(printer *p, const kernel_stmt *s, const kernel_stmt *end)
{
    for (const kernel_stmt *t = s; t != end; t = t->next)
        if (t->kind == STMT_DECLARE)
            declare(p, t->var, NULL);
    p->maybe = false;
    print_line(p);
    if (s->kind == STMT_IF && s->next == end && !s->otherwise) {
        print_around(p, "if (active && ", s->value, LEVEL_AND + 1, ")");
        print_out(p, body(p, s->body, false) ? "\n" : "");
        p->maybe = true;
        return;
    }
    print_out(p, "if (active) {\n");
    p->indent++;
    for (; s != end; s = s->next)
        if (s->kind != STMT_DECLARE)
            print_statement(p, s);
        else if (s->value)
            late_value(p, s->var, s->value);
    p->maybe = true;
    print_close(p);
}

static void guarded_list(printer *p, const kernel_stmt *s)
{
    const bool before = p->maybe;
    while (s) {
        if (!p->maybe) {
            print_statement(p, s);
            p->maybe = print_deactivates(p, s);
            s = s->next;
        } else if (print_holds(p, s)) {
            held(p, s);
            s = s->next;
        } else if (print_is_harmless(p, s)) {
            print_statement(p, s);
            s = s->next;
        } else {
            const kernel_stmt *end = s;
            bool stop = false;
            while (end && !stop && !print_holds(p, end) && !print_is_harmless(p, end)) {
                stop = print_deactivates(p, end);
                end = end->next;
            }
            print_guarded(p, s, end);
            s = end;
        }
    }
    p->maybe = before;
}

void print_list(printer *p, const kernel_stmt *s)
{
    if (flagged(p)) {
        guarded_list(p, s);
        return;
    }
    for (; s; s = s->next)
        print_statement(p, s);
}

void print_body(printer *p)
{
    const print_function *f = p->at;
    for (const kernel_var *v = f->f->locals; v; v = v->next)
        if (v->is_temporary)
            declare(p, v, NULL);
    const bool value = f->f->result->kind != TYPE_VOID;
    if (flagged(p)) {
        if (!f->follows)
            print_row(p, "bool active = true;");
        if (value) {
            const bool whole = f->f->result->kind == TYPE_STRUCT && !print_native(p, f->f->result);
            print_row(p, "%s = %s;",
                      print_declare(p, f->f->result, f->f->result_space, "result", false),
                      whole ? "{0}" : "0");
        }
    }
    p->maybe = flagged(p) && f->follows;
    p->loop_holds = false;
    print_list(p, f->f->body);
    if (flagged(p) && value)
        print_row(p, "return result;");
}
