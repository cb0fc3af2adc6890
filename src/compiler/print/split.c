/* Branches and loops with barriers that only some threads run.
 *
 * A CUDA barrier waits for the threads that reach any __syncthreads; on other GPUs all threads must reach the
 * same one. So all threads walk through such code, and only the threads that took the branch are active. If
 * both branches of an `if` have barriers, the n-th barrier of one is merged with the n-th of the other. */
#include "compiler/print/parts.h"

/* ---- unsupported cases --------------------------------------------------------------------------- */

static bool declares(const kernel_stmt *s, const kernel_var *v)
{
    for (; s; s = s->next)
        if ((s->kind == STMT_DECLARE && s->var == v) || declares(s->body, v) ||
            declares(s->otherwise, v))
            return true;
    return false;
}

static void check_split_assign(printer *p, const kernel_expr *e)
{
    if (!e)
        return;
    if ((e->kind == EXPR_ASSIGN || e->kind == EXPR_UPDATE) && e->a->kind == EXPR_VAR &&
        !declares(p->split->body, e->a->as.var) && !declares(p->split->otherwise, e->a->as.var)) {
        print_refuse(p, e->place, "IG-BARRIER",
                     "threads outside the branch take part in the loop for its barrier",
                     "declare the variable inside the branch",
                     "'%s' counts a loop with a barrier in a branch that not all threads take",
                     e->a->as.var->name);
        print_stop(p);
    }
    check_split_assign(p, e->a);
    check_split_assign(p, e->b);
    if (e->kind != EXPR_VAR)
        check_split_assign(p, e->c);
}

/* Every thread runs the head of a loop that has a barrier, so it may assign only to variables of the
 * branch. */
void print_check_split_loop(printer *p, const kernel_stmt *s)
{
    check_split_assign(p, s->value);
    check_split_assign(p, s->step);
}

static const kernel_type truth = {.kind = TYPE_BOOL, .size = 1, .align = 1, .plain = &truth};

static bool has_jump(const kernel_stmt *s, bool breaks, bool continues)
{
    for (; s; s = s->next) {
        if ((s->kind == STMT_BREAK && breaks) || (s->kind == STMT_CONTINUE && continues))
            return true;
        const bool loop = s->kind == STMT_LOOP;
        if (has_jump(s->body, breaks && !loop && s->kind != STMT_SWITCH, continues && !loop) ||
            has_jump(s->otherwise, breaks, continues))
            return true;
    }
    return false;
}

static bool is_barrier_statement(const kernel_stmt *s)
{
    return s->kind == STMT_EXPR && expr_is_builtin(s->value, BUILTIN_BARRIER);
}

/* The number of barriers in a list; -1 if some are not statements of the list itself. */
static int count_barriers(printer *p, const kernel_stmt *s)
{
    int n = 0;
    for (; s; s = s->next)
        if (is_barrier_statement(s))
            n++;
        else if (print_loop_holds(p, s))
            return -1;
    return n;
}

static bool list_has_barrier(printer *p, const kernel_stmt *s) { return count_barriers(p, s) != 0; }

static void refuse_split(printer *p, const kernel_stmt *s, const char *why)
{
    print_refuse(p, s->place, "IG-BARRIER", why,
                 "let all threads of the block reach the same __syncthreads, or run it with "
                 "'--device cpu'",
                 s->kind == STMT_LOOP
                     ? "a loop with a barrier that some threads leave before others"
                     : "a branch with a barrier that only some threads take");
    print_stop(p);
}

/* True if the kernel ends after it. */
static bool is_end(const printer *p, const kernel_stmt *s)
{
    return s->kind == STMT_IF && !s->next && !p->split && p->indent == 1 && p->at->f->is_kernel;
}

static void check_split(printer *p, const kernel_stmt *s)
{
    const bool loop = s->kind == STMT_LOOP;
    if (has_jump(s->body, !loop, true) || has_jump(s->otherwise, true, true))
        refuse_split(p, s,
                     loop ? "the loop has a 'continue'"
                          : "it has a 'break' or 'continue' of a loop around it");
    if (!is_end(p, s) && print_returns(p, s))
        refuse_split(p, s, "it has a 'return', and other threads continue after it");
    if (!loop && list_has_barrier(p, s->body) && list_has_barrier(p, s->otherwise) &&
        (count_barriers(p, s->body) < 0 ||
         count_barriers(p, s->body) != count_barriers(p, s->otherwise)))
        refuse_split(p, s,
                     "both branches have barriers, and it is not known which of them belong "
                     "together");
}

/* Prints the statements before the next barrier of a branch; returns the rest. */
static const kernel_stmt *segment(printer *p, const kernel_stmt *s)
{
    const kernel_stmt *end = s;
    while (end && !is_barrier_statement(end))
        end = end->next;
    if (s != end)
        print_guarded(p, s, end);
    return end;
}

void print_split(printer *p, const kernel_stmt *s)
{
    const kernel_stmt *outer = p->split;
    const bool before = p->maybe, outer_splits = p->loop_splits;
    check_split(p, s);
    if (!before)
        print_hoist(p, s->value);
    const char *was = print_temp(p, &truth, SPACE_UNSET),
               *taken = print_temp(p, &truth, SPACE_UNSET);
    print_row(p, "%s = active;", was);
    print_line(p);
    print_out(p, "%s = active && ", taken);
    print_expr(p, s->value, LEVEL_AND + 1);
    print_out(p, ";\n");
    p->split = s;
    p->maybe = true;
    p->loop_splits = false;
    const kernel_stmt *a = s->body, *b = s->otherwise;
    const bool both = list_has_barrier(p, a) && list_has_barrier(p, b);
    for (bool more = true; more;) {
        print_row(p, "active = %s;", taken);
        if (both)
            a = segment(p, a);
        else
            print_list(p, a);
        if (b) {
            print_row(p, "active = %s && !%s;", was, taken);
            if (both)
                b = segment(p, b);
            else
                print_list(p, b);
        }
        more = both && a;
        if (more) {
            print_statement(p, a);
            a = a->next;
            b = b->next;
        }
        more = more && (a || b);
    }
    p->split = outer;
    p->maybe = before;
    p->loop_splits = outer_splits;
    if (!is_end(p, s))
        print_row(p, "active = %s;", was);
}

/* A thread that leaves the loop is inactive until all threads have left it. */
void print_split_loop(printer *p, const kernel_stmt *s, const kernel_stmt *init)
{
    const kernel_stmt *outer = p->split;
    const bool before = p->maybe, outer_holds = p->loop_holds, outer_splits = p->loop_splits;
    check_split(p, s);
    if (init) {
        print_line(p);
        if (init->kind == STMT_DECLARE)
            print_declaration(p, init->var, init->value);
        else
            print_expr(p, init->value, LEVEL_EFFECT);
        print_out(p, ";\n");
    }
    const char *was = print_temp(p, &truth, SPACE_UNSET);
    print_row(p, "%s = active;", was);
    print_use(p, PRELUDE_VOTE);
    print_line(p);
    p->split = s;
    p->maybe = true;
    p->loop_holds = false;
    p->loop_splits = true;
    text condition = {0}, *into = p->into;
    p->into = &condition;
    print_out(p, "ig_count(active");
    if (s->value && s->value->kind != EXPR_CONST) {
        print_out(p, " = active && ");
        print_expr(p, s->value, LEVEL_AND + 1);
    }
    print_out(p, ", %s) != 0", print_vote(p));
    p->into = into;
    const char *asked = print_format(p, "%s", condition.at ? condition.at : "");
    text_drop(&condition);
    if (s->post)
        print_out(p, "do {\n");
    else
        print_out(p, "while (%s) {\n", asked);
    p->indent++;
    print_list(p, s->body);
    if (s->step) {
        print_row(p, "if (active)");
        p->indent++;
        print_effect(p, s->step);
        p->indent--;
    }
    p->indent--;
    print_line(p);
    if (s->post)
        print_out(p, "} while (%s);\n", asked);
    else
        print_out(p, "}\n");
    p->split = outer;
    p->maybe = before;
    p->loop_holds = outer_holds;
    p->loop_splits = outer_splits;
    print_row(p, "active = %s;", was);
}
