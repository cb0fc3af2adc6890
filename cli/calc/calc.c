/* The calculator's third step: walks the tree and builds arrays. */
#include "calc/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- mistakes ------------------------------------------------------------------------------- */

bool calc_fail(calc *c, span where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mistake_vset(&c->wrong, where, format, args);
    va_end(args);
    return false;
}

bool calc_fail_library(calc *c, span where)
{
    ig_status code = IG_OK;
    const char *message = ig_error(&code);
    message = message ? message : "the library failed without a message";
    size_t n = strlen(message); /* a compiler's message ends with a newline */
    while (n && message[n - 1] == '\n')
        n--;
    calc_fail(c, where, "%.*s", (int)n, message);
    c->wrong.code = code;
    return false;
}

static void forget_mistake(calc *c)
{
    str_free(&c->wrong.message);
    c->wrong = (mistake){0};
    ig_error(NULL);
}

const mistake *calc_mistake(const calc *c) { return &c->wrong; }

enum { SHOWN_BEFORE = 60, SHOWN_AFTER = 40 }; /* characters of a long line around the mistake */

static bool begins_character(char c) { return ((unsigned char)c & 0xC0) != 0x80; }

/* Moves at by n characters, at most to limit. */
static int step_characters(const char *s, int at, int n, int limit)
{
    const int step = limit < at ? -1 : 1;
    while (n > 0 && at != limit) {
        at += step;
        n -= at == limit || begins_character(s[at]);
    }
    return at;
}

void calc_describe(const calc *c, str *t, const char *source_name, bool color)
{
    const char *source = c->source;
    int at = c->wrong.where.at, line = 1, start = 0, column = 1;
    for (int i = 0; i < at; i++)
        if (source[i] == '\n') {
            line++;
            start = i + 1;
        }
    const int end = start + (int)strcspn(source + start, "\n");
    for (int i = start; i < at; i++)
        column += begins_character(source[i]);
    const int from = step_characters(source, at, SHOWN_BEFORE, start);
    const int to = step_characters(source, at, SHOWN_AFTER, end);
    if (source_name)
        str_printf(t, "%s:", source_name);
    str_printf(t, "%d:%d: %s\n  %s%.*s%s\n  %s", line, column, c->wrong.message.s,
               from > start ? "..." : "", to - from, source + from, to < end ? "..." : "",
               from > start ? "   " : "");
    for (int i = from; i < at; i++)
        if (begins_character(source[i]))
            str_fill(t, source[i] == '\t' ? '\t' : ' ', 1);
    str_puts(t, color ? "\033[1;31m^" : "^");
    for (int i = at + 1; i < at + c->wrong.where.n && i < to; i++)
        if (begins_character(source[i]))
            str_puts(t, "~");
    str_puts(t, color ? "\033[0m\n" : "\n");
}

/* ---- the tree ------------------------------------------------------------------------------- */

bool calc_to_array(calc *c, span where, const value *v, ig_array **out)
{
    *out = value_to_array(v, IG_DTYPE_NONE);
    return *out ? true : calc_fail_library(c, where);
}

bool calc_give(calc *c, span where, ig_array *x, value *out)
{
    if (!x)
        return calc_fail_library(c, where);
    int64_t most = c->options.size_most;
    if (most && ig_size(x) > most)
        return calc_fail(c, where, "arrays of more than %lld elements are refused here",
                         (long long)most);
    *out = value_array(x);
    return true;
}

static bool eval_literal(calc *c, const expr *n, value *out)
{
    (void)c;
    *out = n->literal;
    return true;
}

static bool eval_imaginary(calc *c, const expr *n, value *out)
{
    *out = value_array(ig_imaginary(n->literal.u.f));
    return out->u.array ? true : calc_fail_library(c, n->where);
}

static bool eval_name(calc *c, const expr *n, value *out)
{
    const value *v = calc_find_name(c, n->name);
    if (v) {
        *out = *v;
        return true;
    }
    if (calc_find_constant(n->name, out))
        return true;
    const meaning m = calc_meaning(c, n);
    if (!m.op && !m.own && !m.define)
        return calc_fail_unknown(c, n);
    str t = {0};
    if (m.define)
        str_puts(&t, m.define->params);
    else
        str_signature(&t, m.op ? m.op->signature : m.own->signature);
    calc_fail(c, n->where, "'%s' is an op; call it: %s(%s)", n->name, n->name, t.s ? t.s : "");
    str_free(&t);
    return false;
}

static bool eval_items(calc *c, const expr *n, value *out)
{
    given *args;
    int count;
    if (!arguments_eval(c, n->child, false, &args, &count))
        return false;
    value *items = arena_get(&c->scratch, sizeof(value) * (size_t)(count + 1));
    for (int i = 0; i < count; i++)
        items[i] = args[i].v;
    *out = (value){.kind = n->kind == N_LIST ? V_LIST : V_TUPLE, .u = {.items = {items, count}}};
    return true;
}

static bool eval_unary(calc *c, const expr *n, value *out)
{
    value x;
    ig_array *array;
    if (!calc_eval(c, n->child, &x))
        return false;
    if (value_is_number(&x)) {
        const char *why = n->op->number(&x, NULL, out);
        return why ? calc_fail(c, n->where, "%s", why) : trace_operation(c, n, &x, NULL, out);
    }
    return calc_to_array(c, n->where, &x, &array) &&
           call_arrays(c, n->where, n->op->op, &array, 1, out);
}

/* Operators on dtypes, strings, None and tuples: == and !=, and + of tuples and of strings. Returns true if this is such an
 * operation. */
static bool plain_operation(calc *c, const operation *op, const value *x, const value *y,
                            value *out)
{
    bool tuples = x->kind == V_TUPLE && y->kind == V_TUPLE;
    if (tuples && op->number == number_add) {
        *out = value_concat(&c->scratch, x, y, V_TUPLE);
        return true;
    }
    if (x->kind == V_STRING && y->kind == V_STRING && op->number == number_add) {
        const size_t nx = strlen(x->u.s), ny = strlen(y->u.s);
        char *both = arena_get(&c->scratch, nx + ny + 1);
        memcpy(both, x->u.s, nx);
        memcpy(both + nx, y->u.s, ny);
        *out = (value){.kind = V_STRING, .u.s = both};
        return true;
    }
    bool plain = tuples || x->kind == V_DTYPE || y->kind == V_DTYPE || x->kind == V_STRING ||
                 y->kind == V_STRING || x->kind == V_NONE || y->kind == V_NONE;
    bool equal = op->number == number_equal, unequal = op->number == number_not_equal;
    if (!plain || (!equal && !unequal))
        return false;
    *out = value_bool(value_equal(x, y) == equal);
    return true;
}

static bool eval_binary(calc *c, const expr *n, value *out)
{
    value x, y;
    const expr *left = n->child, *right = left->next;
    if (!calc_eval(c, left, &x) || !calc_eval(c, right, &y))
        return false;
    if (!n->op->op)
        return flow_membership(c, n, &x, &y, out);
    if (value_is_number(&x) && value_is_number(&y)) {
        const char *why =
            n->op->number ? n->op->number(&x, &y, out) : "@ multiplies matrices; use * for numbers";
        return why ? calc_fail(c, n->where, "%s", why) : trace_operation(c, n, &x, &y, out);
    }
    if (plain_operation(c, n->op, &x, &y, out))
        return true;
    ig_array *operands[2];
    return calc_to_array(c, left->where, &x, &operands[0]) &&
           calc_to_array(c, right->where, &y, &operands[1]) &&
           call_arrays(c, n->where, n->op->op, operands, 2, out);
}

/* float32(x), int(x): an array of that dtype; of a number, int and float are Python's. */
static bool call_dtype(calc *c, const expr *n, ig_dtype dtype, const given *args, int count,
                       value *out)
{
    const value *v = &args[0].v;
    if (count != 1 || args[0].keyword)
        return calc_fail(c, n->where, "'%s' is a dtype; write %s(x)", n->name, n->name);
    const bool whole = strcmp(n->name, "int") == 0, real = strcmp(n->name, "float") == 0;
    if (value_is_number(v) && (whole || real)) {
        const double f = value_float_of(v);
        if (whole && v->kind == V_FLOAT && !(f > -9.2e18 && f < 9.2e18))
            return calc_fail(c, n->where, "this number does not fit in an int");
        *out = real                 ? value_float(f)
               : v->kind == V_FLOAT ? value_int((int64_t)f)
                                    : value_int(value_int_of(v));
        return true;
    }
    return calc_give(c, n->where, value_to_array(v, dtype), out);
}

/* Calls what the name means: an op, unless the arguments fit only the function of that name. If they fit neither, the message
 * is the op's. */
static bool call_meaning(calc *c, const expr *n, const meaning *m, value *out)
{
    given *args;
    int count;
    user_function f;
    if (!arguments_eval(c, n->child, !m->op, &args, &count))
        return false;
    if (m->op)
        count = call_gather(c, m->op, args, count);
    if (m->op && (!m->define || call_fits(m->op, args, count)))
        return call_op(c, n, m->op, args, count, out);
    if (!function_of_alias(c, m->define, &f))
        return false;
    return m->op && !function_takes(&f, args, count)
               ? call_op(c, n, m->op, args, count, out)
               : function_call(c, n->where, &f, args, count, out);
}

static bool call_value(calc *c, const expr *n, const value *callee, const expr *first, value *out)
{
    given *args;
    int count;
    if (callee->kind != V_FUNCTION)
        return calc_fail(c, n->where, "%s cannot be called", value_kind_name(callee->kind));
    return arguments_eval(c, first, true, &args, &count) &&
           function_call(c, n->where, callee->u.function, args, count, out);
}

/* grad(f)(x) */
static bool eval_apply(calc *c, const expr *n, value *out)
{
    value callee;
    return calc_eval(c, n->child, &callee) && call_value(c, n, &callee, n->child->next, out);
}

/* rng.normal(size=3): a function of np.random that draws from this generator. *is_random: n is such a call. */
static bool call_random(calc *c, const expr *n, bool *is_random, value *out)
{
    const expr *from = n->kind == N_METHOD ? n->child : NULL;
    const value *v = from && from->kind == N_NAME ? calc_find_name(c, from->name) : NULL;
    const bool made = from && (from->kind == N_CALL || from->kind == N_METHOD) &&
                      strcmp(from->name, "default_rng") == 0;
    value generator;
    given *args;
    int count;
    user_function f;
    *is_random = made || (v && v->kind == V_RANDOM);
    if (!*is_random)
        return true;
    if (!calc_eval(c, from, &generator))
        return false;
    const ig_alias *a = calc_random_method(n->name);
    if (generator.kind != V_RANDOM || !a || !a->expression)
        return calc_fail(c, n->where, "a generator has no method '%s'", n->name);
    const int before = c->stream;
    c->stream = (int)generator.u.i;
    const bool fine = arguments_eval(c, from->next, false, &args, &count) &&
                      function_of_alias(c, a, &f) &&
                      function_call(c, n->where, &f, args, count, out);
    c->stream = before;
    return fine;
}

static bool eval_call(calc *c, const expr *n, value *out)
{
    const value *variable = n->kind == N_CALL ? calc_find_name(c, n->name) : NULL;
    if (variable && variable->kind == V_FUNCTION)
        return call_value(c, n, variable, n->child, out);
    bool is_update = false, is_random = false, is_dict = false;
    const bool updated = index_update(c, n, &is_update, out);
    if (is_update)
        return updated;
    const bool drawn = call_random(c, n, &is_random, out);
    if (is_random)
        return drawn;
    const bool looked_up = dict_method(c, n, &is_dict, out);
    if (is_dict)
        return looked_up;
    const meaning m = calc_meaning(c, n);
    expr plain = *n;
    if (n->kind == N_METHOD && is_module(c, n->child)) { /* np.sum(x) */
        plain.kind = N_CALL;
        plain.child = n->child->next;
    }
    if (m.op || m.define)
        return call_meaning(c, &plain, &m, out);
    if (m.own && plain.kind == N_CALL)
        return calc_call_builtin(c, &plain, m.own, out);
    value constant;
    if (plain.kind == N_CALL && calc_find_constant(n->name, &constant) &&
        constant.kind == V_DTYPE) {
        given *args;
        int count;
        return arguments_eval(c, plain.child, false, &args, &count) &&
               call_dtype(c, n, constant.u.dtype, args, count, out);
    }
    if (variable)
        return calc_fail(c, n->where, "'%s' is a value and cannot be called", n->name);
    return calc_fail_unknown(c, n);
}

static bool eval_nothing(calc *c, const expr *n, value *out)
{
    (void)n;
    c->quiet = true;
    *out = (value){0};
    return true;
}

static bool eval_misplaced(calc *c, const expr *n, value *out)
{
    (void)out;
    return calc_fail(c, n->where, "this is not allowed here");
}

/* Evaluates the arrays of v together. */
bool calc_evaluate(calc *c, const value *v)
{
    int n = value_collect(v, NULL, 0);
    ig_array **arrays = arena_get(&c->scratch, sizeof *arrays * (size_t)n);
    value_collect(v, arrays, n);
    if (!n || ig_eval(arrays, n) == IG_OK)
        return true;
    calc_fail_library(c, c->current->where);
    if (c->wrong.code == IG_ERR_DEVICE) /* its exit code means a missing device */
        c->wrong.code = IG_ERR_INTERNAL;
    return false;
}

/* ---- assignment ----------------------------------------------------------------------------- */

static void bindings_free(binding **list)
{
    while (*list) {
        binding *b = *list;
        *list = b->next;
        value_release(&b->bound);
        arena_free(&b->memory);
        free(b->name);
        free(b);
    }
}

/* The name's old value lives until the statement ends, because the statement may still use it. */
static void bind_name(calc *c, const char *name, const value *v)
{
    binding *b = heap_get(sizeof *b);
    b->name = heap_string(name);
    b->bound = value_keep(&b->memory, v);
    binding **at = &c->names;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    binding *old = *at;
    b->next = old ? old->next : NULL;
    *at = b;
    if (old) {
        old->next = c->retired;
        c->retired = old;
    }
}

void calc_bind(calc *c, const char *name, const value *v) { bind_name(c, name, v); }

void calc_forget_retired(calc *c) { bindings_free(&c->retired); }

static bool bind(calc *c, const expr *target, const value *v)
{
    value named = *v;
    const char *name = target->kind == N_INDEX ? target->child->name : target->name;
    if (target->kind == N_INDEX && !index_assign(c, target, v, &named))
        return false;
    if (c->differentiates && !trace_begin(c, target->where, &named))
        return false;
    if (c->calls)
        calc_push(c, name, &named);
    else
        bind_name(c, name, &named);
    return true;
}

void calc_remember(calc *c, const value *v)
{
    if (v->kind != V_NONE)
        bind_name(c, "_", v);
}

/* Finds the values to assign: one for one name, or the items of a tuple or array for several names. */
static bool target_values(calc *c, const expr *n, const value *v, const value **items)
{
    int targets = 0;
    for (const expr *t = n->child->next; t; t = t->next)
        targets++;
    *items = v;
    if (!n->literal.u.b)
        return true;
    value rows = *v;
    if (!value_has_items(v)) {
        ig_array *x;
        const ig_op *unstack = ig_op_find("unstack");
        if (!unstack || !calc_to_array(c, n->where, v, &x) ||
            !call_arrays(c, n->where, "unstack", &x, 1, &rows))
            return false;
    }
    if (rows.u.items.n != targets)
        return calc_fail(c, n->where, "%d names for %d values", targets, rows.u.items.n);
    *items = rows.u.items.v;
    return true;
}

/* True if the value is an array that is read from a file when it is needed. */
static bool is_on_disk(const value *v)
{
    ig_array *x[1];
    return value_collect(v, x, 1) == 1 && ig_reads_blocks(x[0]);
}

static bool eval_assign(calc *c, const expr *n, value *out)
{
    const value *items;
    for (const expr *t = n->child->next; t; t = t->next) {
        const char *name = t->kind == N_INDEX ? t->child->name : t->name,
                   *why = calc_reserved(name);
        if (why)
            return calc_fail(c, t->where, "'%s' %s; choose another name", name, why);
    }
    if (!calc_eval(c, n->child, out))
        return false;
    c->quiet = true;
    /* A loop evaluates at every step, so that its graph does not grow. */
    const bool last = !c->next && c->current == n;
    const bool eager = (c->options.eager && !(last && c->options.last_lazy)) || c->loops;
    if (eager && !c->calls && !is_on_disk(out) && !calc_evaluate(c, out))
        return false;
    if (!target_values(c, n, out, &items))
        return false;
    for (const expr *t = n->child->next; t; t = t->next)
        if (!bind(c, t, items++))
            return false;
    return true;
}

bool calc_eval(calc *c, const expr *n, value *out)
{
    static bool (*const evaluators[])(calc *, const expr *, value *) = {
        [N_LITERAL] = eval_literal,
        [N_IMAGINARY] = eval_imaginary,
        [N_NAME] = eval_name,
        [N_LIST] = eval_items,
        [N_TUPLE] = eval_items,
        [N_DICT] = dict_eval,
        [N_FORMAT] = words_format,
        [N_UNARY] = eval_unary,
        [N_BINARY] = eval_binary,
        [N_CALL] = eval_call,
        [N_METHOD] = eval_call,
        [N_KEYWORD] = eval_misplaced,
        [N_INDEX] = index_eval,
        [N_ATTRIBUTE] = attribute_eval,
        [N_SLICE] = eval_misplaced,
        [N_STAR] = eval_misplaced,
        [N_APPLY] = eval_apply,
        [N_CHAIN] = flow_chain,
        [N_LINK] = eval_misplaced,
        [N_AND] = flow_logic,
        [N_OR] = flow_logic,
        [N_IF] = flow_if,
        [N_NOT] = flow_not,
        [N_LAMBDA] = function_eval,
        [N_EACH] = flow_each,
        [N_ASSIGN] = eval_assign,
        [N_FUNCTION] = function_define,
        [N_FOR] = flow_for,
        [N_WHILE] = flow_while,
        [N_BLOCK] = flow_block,
        [N_RETURN] = flow_return,
        [N_ASSERT] = words_assert,
        [N_NOTHING] = eval_nothing,
    };
    return evaluators[n->kind](c, n, out);
}

/* ---- running -------------------------------------------------------------------------------- */

calc *calc_new(const calc_options *options)
{
    calc *c = heap_get(sizeof *c);
    c->options = *options;
    c->source = heap_string("");
    hash_begin(&c->opened);
    c->results = heap_get(sizeof *c->results * RESULTS_MOST);
    return c;
}

static void close_statement(calc *c)
{
    for (; c->scopes; c->scopes--)
        ig_scope_end();
    c->locals = NULL;
    c->calls = c->loops = 0;
    c->in_library = c->maps = c->returned = false;
    bindings_free(&c->retired);
    files_close(c);
    arena_free(&c->scratch);
    trace_limit(c);
}

void calc_free(calc *c)
{
    if (!c)
        return;
    close_statement(c);
    forget_mistake(c);
    bindings_free(&c->names);
    ig_keep_history(false);
    arena_free(&c->program);
    arena_free(&c->definitions);
    free(c->results);
    free(c->source);
    free(c);
}

bool calc_parse(calc *c, const char *source)
{
    close_statement(c);
    forget_mistake(c);
    arena_free(&c->program);
    free(c->source);
    c->source = heap_string(source);
    c->current = NULL;
    c->next = parse(&c->program, c->source, &c->wrong);
    c->has_grad |= mentions_grad(c->next);
    c->differentiates = c->has_grad || c->options.history;
    return c->wrong.message.n == 0;
}

bool calc_more(const calc *c) { return c->next != NULL; }

bool calc_assigned(const calc *c) { return c->quiet; }

void calc_mute(calc *c, bool mute) { c->muted = mute; }

bool calc_again(calc *c, value *out)
{
    close_statement(c);
    if (ig_scope_begin() != IG_OK)
        return calc_fail_library(c, c->current->where);
    c->scopes = 1;
    c->quiet = false;
    ig_keep_history(c->differentiates);
    return calc_eval(c, c->current, out);
}

bool calc_step(calc *c, value *out)
{
    c->current = c->next;
    c->next = c->next->next;
    return calc_again(c, out);
}

bool calc_settle(calc *c, value *v, bool compute)
{
    if (v->kind == V_LIST) {
        ig_array *x;
        if (!calc_to_array(c, c->current->where, v, &x))
            return false;
        *v = value_array(x);
    }
    return !compute || calc_evaluate(c, v);
}

bool calc_run(calc *c, const char *source)
{
    value v = {0};
    bool fine = calc_parse(c, source);
    while (fine && calc_more(c))
        fine = calc_step(c, &v);
    if (fine && c->current) {
        str ignored = {0};
        fine = calc_settle(c, &v, true) &&
               (print_value(&ignored, &v, false) || calc_fail_library(c, c->current->where));
        str_free(&ignored);
    }
    return fine;
}
