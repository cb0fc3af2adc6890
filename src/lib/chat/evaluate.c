/* Evaluates the expressions of chat templates: see run.h. */
#include "lib/chat/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static value undefined(void) { return (value){.kind = VALUE_UNDEFINED}; }

/* Fails because an undefined value was used. */
static value undefined_fail(render *r, value v)
{
    return render_fail(r, "%.*s", (int)v.as.s.n, v.as.s.at);
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static value overflow_fail(render *r)
{
    return render_fail(r, "an integer does not fit in 64 bits");
}

static value power(render *r, int64_t a, int64_t b)
{
    int64_t result = 1;
    if (b < 0)
        return a ? value_float(pow((double)a, (double)b)) : render_fail(r, "0 to a negative power");
    for (; b > 0; b >>= 1) {
        if (b & 1 && __builtin_mul_overflow(result, a, &result))
            return overflow_fail(r);
        if (b > 1 && __builtin_mul_overflow(a, a, &a))
            return overflow_fail(r);
    }
    return value_int(result);
}

static value integers(render *r, int op, int64_t a, int64_t b)
{
    int64_t out = 0;
    const bool divides = op == '%' || op == OPERATOR('/', '/');
    if ((divides || op == '/') && b == 0)
        return render_fail(r, "division by zero");
    if (op == '/')
        return value_float((double)a / (double)b);
    if (op == OPERATOR('*', '*'))
        return power(r, a, b);
    if (divides && b == -1)
        return op == '%' ? value_int(0) : a == INT64_MIN ? overflow_fail(r) : value_int(-a);
    if (divides) {
        const int64_t rest = a % b, floor = a / b - (rest != 0 && (rest < 0) != (b < 0));
        return value_int(op == '%' ? a - floor * b : floor);
    }
    const bool fails = op == '+'   ? __builtin_add_overflow(a, b, &out)
                       : op == '-' ? __builtin_sub_overflow(a, b, &out)
                                   : __builtin_mul_overflow(a, b, &out);
    return fails ? overflow_fail(r) : value_int(out);
}

static value floats(render *r, int op, double a, double b)
{
    if ((op == '/' || op == '%' || op == OPERATOR('/', '/')) && b == 0)
        return render_fail(r, "division by zero");
    switch (op) {
    case '+': return value_float(a + b);
    case '-': return value_float(a - b);
    case '*': return value_float(a * b);
    case '/': return value_float(a / b);
    case OPERATOR('*', '*'):
        if ((a == 0 && b < 0) || (a < 0 && b != floor(b)) ||
            (isinf(pow(a, b)) && !isinf(a) && !isinf(b)))
            return render_fail(r, "the power %g ** %g is not a number", a, b);
        return value_float(pow(a, b));
    default: break;
    }
    double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        quotient -= 1;
    }
    if (op == '%')
        return value_float(rest != 0 ? rest : copysign(0, b));
    double whole = floor(quotient);
    whole += quotient - whole > 0.5;
    return value_float(quotient != 0 ? whole : copysign(0, a / b));
}

/* A string or list n times. */
static value repeated(render *r, value v, int64_t n)
{
    if (v.kind == VALUE_STRING) {
        builder b = {0};
        for (int64_t i = 0; i < n && v.as.s.n && render_step(r, 1); i++)
            builder_add(r, &b, v.as.s);
        value out = value_string(builder_string(&b));
        out.safe = v.safe;
        return out;
    }
    const list *from = v.as.list;
    if (n > 0 && from->n && (uint64_t)n > (1u << 24) / from->n)
        return render_fail(r, "a list would have more than %d items", 1 << 24);
    list *l = list_new(r, n > 0 ? from->n * (size_t)n : 0, from->kind);
    for (int64_t i = 0; l && i < n && render_step(r, (int64_t)from->n); i++)
        for (size_t j = 0; j < from->n; j++)
            l->at[l->n++] = from->at[j];
    return value_of_list(l);
}

static bool is_sequence(value v)
{
    return v.kind == VALUE_STRING || (v.kind == VALUE_LIST && v.as.list->kind <= LIST_TUPLE);
}

static value lists_join(render *r, const list *a, const list *b)
{
    list *l = list_new(r, a->n + b->n, a->kind);
    render_step(r, (int64_t)(a->n + b->n) / 8);
    for (size_t i = 0; l && i < a->n + b->n; i++)
        l->at[l->n++] = i < a->n ? a->at[i] : b->at[i - a->n];
    return value_of_list(l);
}

/* The sum of two strings. A safe string escapes the other one. */
static value strings_add(render *r, value a, value b)
{
    const bool safe = a.safe || b.safe;
    const string x = safe && !a.safe ? string_escape(r, a.as.s) : a.as.s;
    const string y = safe && !b.safe ? string_escape(r, b.as.s) : b.as.s;
    value v = value_string(string_join(r, x, y));
    v.safe = safe;
    return v;
}

value value_binary(render *r, int op, value a, value b)
{
    int64_t i, j;
    if (r->failed)
        return undefined();
    if (a.kind == VALUE_STRING && op == '%') {
        const bool tuple = b.kind == VALUE_LIST && b.as.list->kind == LIST_TUPLE;
        const arguments all = {tuple ? b.as.list->at : &b, tuple ? (int)b.as.list->n : 1, NULL, 0};
        return value_format(r, a.as.s, &all);
    }
    if (value_as_int(a, &i) && value_as_int(b, &j))
        return integers(r, op, i, j);
    if (value_is_number(a) && value_is_number(b))
        return floats(r, op, value_as_float(a), value_as_float(b));
    if (op == '*' && is_sequence(a) && value_as_int(b, &j))
        return repeated(r, a, j);
    if (op == '*' && is_sequence(b) && value_as_int(a, &i))
        return repeated(r, b, i);
    if (op == '+' && a.kind == VALUE_STRING && b.kind == VALUE_STRING)
        return strings_add(r, a, b);
    if (op == '+' && is_sequence(a) && a.kind == VALUE_LIST && b.kind == VALUE_LIST &&
        a.as.list->kind == b.as.list->kind)
        return lists_join(r, a.as.list, b.as.list);
    if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED)
        return undefined_fail(r, a.kind == VALUE_UNDEFINED ? a : b);
    const char shown[3] = {(char)(op & 255), (char)(op >> 8), 0};
    return render_fail(r, "'%s' does not work with values of types '%s' and '%s'", shown,
                       value_type(a), value_type(b));
}

/* ---- comparisons ---------------------------------------------------------------------------- */

bool value_in(render *r, value item, value of)
{
    if (of.kind == VALUE_STRING) {
        if (item.kind != VALUE_STRING) {
            if (item.kind == VALUE_UNDEFINED)
                undefined_fail(r, item);
            else
                render_fail(r, "'in' needs a string to search a string");
            return false;
        }
        render_step(r, (int64_t)of.as.s.n / 64);
        return string_find(of.as.s, item.as.s, 0) != SIZE_MAX;
    }
    if (of.kind == VALUE_DICT) {
        if (!value_hashable(item))
            render_fail(r, "a value of type '%s' cannot be a key of a dict", value_type(item));
        return !r->failed && dict_find(r, of.as.dict, item);
    }
    const list *l = value_items(r, of);
    bool found = false;
    for (size_t i = 0; l && i < l->n && !found && render_step(r, 1); i++)
        found = chat_equal(r, item, l->at[i]);
    return found;
}

static bool compare(render *r, int op, value a, value b)
{
    switch (op) {
    case OPERATOR('=', '='): return chat_equal(r, a, b);
    case OPERATOR('!', '='): return !chat_equal(r, a, b);
    case OPERATOR('i', 'n'): return value_in(r, a, b);
    case OPERATOR('n', 'i'): return !value_in(r, a, b);
    default: break;
    }
    const char shown[3] = {(char)(op & 255), (char)(op >> 8), 0};
    const int order = value_compare(r, a, b, shown);
    if (order == 2 && value_is_number(a))
        return false; /* not a number */
    return op == '<'                  ? order < 0
           : op == '>'                ? order > 0
           : op == OPERATOR('<', '=') ? order <= 0
                                      : order >= 0;
}

static value comparisons(render *r, frame *f, const node *n)
{
    value a = evaluate(r, f, n->a);
    for (; n && !r->failed; n = n->more) {
        const value b = evaluate(r, f, n->b);
        if (r->failed || !compare(r, n->op, a, b))
            return value_bool(false);
        a = b;
    }
    return value_bool(true);
}

/* ---- attributes ----------------------------------------------------------------------------- */

static value loop_attribute(render *r, const struct loop *l, string name)
{
    const int64_t n = (int64_t)l->items->n, i = l->index;
    const struct {
        const char *name;
        value v;
    } rows[] = {{"index", value_int(i + 1)},     {"index0", value_int(i)},
                {"revindex", value_int(n - i)},  {"revindex0", value_int(n - i - 1)},
                {"first", value_bool(i == 0)},   {"last", value_bool(i == n - 1)},
                {"length", value_int(n)},        {"depth", value_int(l->depth0 + 1)},
                {"depth0", value_int(l->depth0)}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (string_is(name, rows[k].name))
            return rows[k].v;
    if (string_is(name, "previtem"))
        return i > 0 ? l->items->at[i - 1] : value_undefined(r, "there is no previous item");
    if (string_is(name, "nextitem"))
        return i + 1 < n ? l->items->at[i + 1] : value_undefined(r, "there is no next item");
    return undefined();
}

/* What getattr finds: attributes of loops and namespaces, and methods. */
static bool attribute_find(render *r, value of, string name, value *out)
{
    if (of.kind == VALUE_NAMESPACE) {
        const value *found = dict_find(r, of.as.dict, value_string(name));
        if (found)
            *out = *found;
        return found != NULL;
    }
    const method_row *row = method_find(r, of, name);
    if (row && !row->run) {
        *out = value_undefined(r, "'%.*s' of type '%s' changes values, which templates may not do",
                               (int)name.n, name.at, value_type(of));
        out->forbidden = true;
        return true;
    }
    if (row) {
        struct method *m = render_get(r, 1, sizeof *m);
        if (m)
            *m = (struct method){row, of};
        *out = m ? (value){.kind = VALUE_METHOD, .as.method = m} : undefined();
        return true;
    }
    if (of.kind == VALUE_LOOP)
        *out = loop_attribute(r, of.as.loop, name);
    if (of.kind == VALUE_MACRO && string_is(name, "name"))
        *out = value_string(of.as.macro->name);
    return out->kind != VALUE_UNDEFINED || out->as.s.n > 0;
}

/* What x[key] finds. */
static bool item_find(render *r, value of, value key, value *out)
{
    int64_t i, n;
    if (of.kind == VALUE_DICT && value_hashable(key)) {
        const value *found = dict_find(r, of.as.dict, key);
        if (found)
            *out = *found;
        return found != NULL;
    }
    const bool indexed = of.kind == VALUE_STRING ||
                         (of.kind == VALUE_LIST &&
                          (of.as.list->kind <= LIST_TUPLE || of.as.list->kind == LIST_RANGE));
    if (!indexed || !value_as_int(key, &i) || !value_length(of, &n))
        return false;
    i += i < 0 ? n : 0;
    if (i < 0 || i >= n)
        return false;
    if (of.kind == VALUE_STRING) {
        const size_t at = string_byte(of.as.s, (size_t)i);
        size_t length;
        string_rune(of.as.s, at, &length);
        render_step(r, (int64_t)of.as.s.n / 64);
        *out = value_string(string_cut(of.as.s, at, at + length));
    } else {
        *out = of.as.list->at[i];
    }
    return true;
}

static value attribute_missing(render *r, value of, value key)
{
    builder b = {0};
    builder_repr(r, &b, key);
    return value_undefined(r, "a value of type '%s' has no attribute or item %.*s", value_type(of),
                           (int)(b.n < 100 ? b.n : 100), b.at ? b.at : "");
}

value value_attribute(render *r, value of, string name)
{
    value v = undefined();
    if (of.kind == VALUE_UNDEFINED)
        return undefined_fail(r, of);
    if (attribute_find(r, of, name, &v) || item_find(r, of, value_string(name), &v) || r->failed)
        return v;
    return attribute_missing(r, of, value_string(name));
}

value value_item(render *r, value of, value key)
{
    value v = undefined();
    if (of.kind == VALUE_UNDEFINED)
        return undefined_fail(r, of);
    if (item_find(r, of, key, &v) || r->failed)
        return v;
    if (key.kind == VALUE_STRING && attribute_find(r, of, key.as.s, &v))
        return v;
    return attribute_missing(r, of, key);
}

value value_path(render *r, value of, value path)
{
    if (path.kind != VALUE_STRING)
        return value_item(r, of, path);
    const string s = path.as.s;
    for (size_t i = 0; i <= s.n && !r->failed;) {
        const size_t dot = string_find(s, string_of("."), i), end = dot == SIZE_MAX ? s.n : dot;
        const string part = string_cut(s, i, end);
        int64_t index;
        bool digits = part.n > 0;
        for (size_t j = 0; j < part.n; j++)
            digits &= part.at[j] >= '0' && part.at[j] <= '9';
        of = value_item(
            r, of, digits && string_int(part, 10, &index) ? value_int(index) : value_string(part));
        i = end + 1;
    }
    return of;
}

/* ---- slices --------------------------------------------------------------------------------- */

static int64_t bound(value v, int64_t n, int64_t low, int64_t high, int64_t otherwise)
{
    int64_t i;
    if (!value_as_int(v, &i))
        return otherwise;
    i = i < 0 ? i + n : i;
    return i < low ? low : i > high ? high : i;
}

value chat_slice(render *r, value of, const value bounds[3])
{
    int64_t n = 0, step = 1, number;
    for (int i = 0; i < 3; i++)
        if (bounds[i].kind == VALUE_UNDEFINED)
            return undefined_fail(r, bounds[i]);
        else if (bounds[i].kind != VALUE_NONE && !value_as_int(bounds[i], &number))
            return render_fail(r, "the bounds of a slice are not integers");
    if (of.kind == VALUE_UNDEFINED)
        return undefined_fail(r, of);
    if (!is_sequence(of) || !value_length(of, &n))
        return render_fail(r, "a value of type '%s' has no slices", value_type(of));
    if (value_as_int(bounds[2], &step) == false)
        step = 1;
    if (step == 0)
        return render_fail(r, "the step of a slice is 0");
    const bool up = step > 0;
    const int64_t low = up ? 0 : -1, high = up ? n : n - 1;
    const int64_t start = bound(bounds[0], n, low, high, up ? low : high);
    const int64_t stop = bound(bounds[1], n, low, high, up ? high : low);
    render_step(r, n / 64);
    if (of.kind == VALUE_STRING && step == 1) {
        const size_t first = string_byte(of.as.s, (size_t)start);
        const string rest = string_cut(of.as.s, first, of.as.s.n);
        const size_t length = stop > start ? string_byte(rest, (size_t)(stop - start)) : 0;
        value v = value_string(string_cut(rest, 0, length));
        v.safe = of.safe;
        return v;
    }
    const list *from = value_items(r, of);
    list *l = from ? list_new(r, (size_t)n, from->kind) : NULL;
    builder b = {0};
    for (int64_t i = start; l && (up ? i < stop : i > stop);) {
        if (of.kind == VALUE_STRING)
            builder_add(r, &b, from->at[i].as.s);
        else
            l->at[l->n++] = from->at[i];
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    return of.kind == VALUE_STRING ? value_string(builder_string(&b)) : value_of_list(l);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Evaluates the arguments of a call. */
static bool arguments_make(render *r, frame *f, const node *n, arguments *all)
{
    const value rest = n->c ? evaluate(r, f, n->c) : undefined();
    const value names = n->d ? evaluate(r, f, n->d) : undefined();
    const list *more = n->c ? value_items(r, rest) : NULL;
    if (n->d && names.kind != VALUE_DICT)
        render_fail(r, "the value after '**' is not a dict");
    if (r->failed)
        return false;
    const size_t n_more = more ? more->n : 0, n_names = n->d ? names.as.dict->n : 0;
    value *at = render_get(r, (size_t)n->args.n + n_more, sizeof *at);
    struct named_value *named = render_get(r, (size_t)n->named.n + n_names, sizeof *named);
    *all = (arguments){at, 0, named, 0};
    if (!at || !named || n_more > 1 << 20)
        return false;
    for (int i = 0; i < n->args.n; i++)
        at[all->n++] = evaluate(r, f, n->args.at[i]);
    for (size_t i = 0; i < n_more; i++)
        at[all->n++] = more->at[i];
    for (int i = 0; i < n->named.n; i++)
        named[all->n_named++] =
            (struct named_value){n->named.at[i].name, evaluate(r, f, n->named.at[i].value)};
    for (size_t i = 0; i < n_names; i++) {
        if (names.as.dict->at[i].key.kind != VALUE_STRING)
            return render_fail(r, "a name of an argument is not a string").kind == VALUE_MISSING;
        named[all->n_named++] =
            (struct named_value){names.as.dict->at[i].key.as.s, names.as.dict->at[i].item};
    }
    return !r->failed;
}

bool arguments_bind(render *r, const char *what, const char *name, const char *parameters,
                    const arguments *all, value out[PARAMETERS_MOST])
{
    int n = 0, used = 0;
    for (int i = 0; i < PARAMETERS_MOST; i++)
        out[i] = (value){.kind = VALUE_MISSING};
    if (!parameters)
        return true;
    for (const char *at = parameters; *at && n < PARAMETERS_MOST; n++) {
        const size_t length = strcspn(at, " ?");
        const string parameter = {at, NULL, length};
        for (int i = 0; i < all->n_named; i++)
            if (string_equal(all->named[i].name, parameter)) {
                out[n] = all->named[i].v;
                used++;
            }
        if (n < all->n)
            out[n] = all->at[n];
        const bool optional = at[length] == '?';
        if (out[n].kind == VALUE_MISSING && !optional) {
            render_fail(r, "%s '%s' needs the argument '%.*s'", what, name, (int)length, at);
            return false;
        }
        at += length + optional;
        at += *at == ' ';
    }
    if (all->n > n || used < all->n_named)
        render_fail(r, "%s '%s' has arguments that it does not take; it takes (%s)", what, name,
                    parameters);
    return !r->failed;
}

value filter_call(render *r, const chat_filter *f, value in, const arguments *all)
{
    value p[PARAMETERS_MOST], v = undefined();
    if (render_enter(r) && arguments_bind(r, "the filter", f->name, f->parameters, all, p)) {
        if (in.kind == VALUE_UNDEFINED && in.forbidden)
            undefined_fail(r, in);
        else
            v = f->run(r, in, p, all);
    }
    render_leave(r);
    return v;
}

bool test_call(render *r, const chat_test *t, value in, const arguments *all)
{
    value p[PARAMETERS_MOST];
    return arguments_bind(r, "the test", t->name, t->parameters, all, p) && t->run(r, in, p);
}

value value_call(render *r, value callee, const arguments *all)
{
    value p[PARAMETERS_MOST];
    if (r->failed)
        return undefined();
    switch (callee.kind) {
    case VALUE_MACRO: return macro_call(r, callee.as.macro, all);
    case VALUE_LOOP:
        return all->n == 1 && !all->n_named ? loop_call(r, callee.as.loop, all->at[0])
                                            : render_fail(r, "a loop is called with one list");
    case VALUE_FUNCTION: {
        const function *f = callee.as.function;
        return arguments_bind(r, "the function", f->name, f->parameters, all, p) ? f->run(r, p, all)
                                                                                 : undefined();
    }
    case VALUE_METHOD: {
        const method_row *m = callee.as.method->row;
        return arguments_bind(r, "the method", m->name, m->parameters, all, p)
                   ? m->run(r, callee.as.method->self, p, all)
                   : undefined();
    }
    case VALUE_UNDEFINED: return undefined_fail(r, callee);
    default: return render_fail(r, "a value of type '%s' cannot be called", value_type(callee));
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static value name_evaluate(render *r, frame *f, const node *n)
{
    const value *found = frame_find(f, n->symbol);
    if (!found && n->name.n)
        found = dict_find(r, r->variables, value_string(n->name));
    if (found)
        return *found;
    const function *global = function_find(n->name);
    if (global)
        return (value){.kind = VALUE_FUNCTION, .as.function = global};
    return value_undefined(r, "'%.*s' is undefined", (int)(n->name.n < 100 ? n->name.n : 100),
                           n->name.at);
}

static value items_evaluate(render *r, frame *f, const node *n)
{
    list *l = list_new(r, (size_t)n->args.n, n->kind == NODE_TUPLE ? LIST_TUPLE : LIST_PLAIN);
    for (int i = 0; l && i < n->args.n; i++)
        l->at[l->n++] = evaluate(r, f, n->args.at[i]);
    return value_of_list(l);
}

static value pairs_evaluate(render *r, frame *f, const node *n)
{
    dict *d = dict_new(r, (size_t)n->args.n / 2);
    for (int i = 0; d && i + 1 < n->args.n && !r->failed; i += 2) {
        const value key = evaluate(r, f, n->args.at[i]);
        dict_set(r, d, key, evaluate(r, f, n->args.at[i + 1]));
    }
    return value_dict(d);
}

static value index_evaluate(render *r, frame *f, const node *n)
{
    const value of = evaluate(r, f, n->a);
    if (!n->b || r->failed)
        return undefined();
    if (n->b->kind != NODE_SLICE)
        return value_item(r, of, evaluate(r, f, n->b));
    const node *const parts[3] = {n->b->a, n->b->b, n->b->c};
    value bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] = parts[i] ? evaluate(r, f, parts[i]) : value_none();
    return r->failed ? undefined() : chat_slice(r, of, bounds);
}

static value concat_evaluate(render *r, frame *f, const node *n)
{
    builder b = {0};
    for (int i = 0; i < n->args.n && !r->failed; i++)
        builder_value(r, &b, evaluate(r, f, n->args.at[i]));
    return value_string(builder_string(&b));
}

static value sign_evaluate(render *r, frame *f, const node *n)
{
    const value v = evaluate(r, f, n->a);
    int64_t i;
    if (v.kind == VALUE_UNDEFINED)
        return undefined_fail(r, v);
    if (!value_is_number(v))
        return render_fail(r, "a value of type '%s' has no sign", value_type(v));
    if (value_as_int(v, &i))
        return n->kind == NODE_PLUS ? value_int(i)
               : i == INT64_MIN     ? overflow_fail(r)
                                    : value_int(-i);
    return value_float(n->kind == NODE_PLUS ? v.as.f : -v.as.f);
}

/* The first operand that decides; the last one otherwise. */
static value logic_evaluate(render *r, frame *f, const node *n)
{
    value v = undefined();
    for (int i = 0; i < n->args.n && !r->failed; i++) {
        v = evaluate(r, f, n->args.at[i]);
        if (value_truth(v) == (n->kind == NODE_OR))
            break;
    }
    return v;
}

static value call_evaluate(render *r, frame *f, const node *n)
{
    arguments all;
    const value of = evaluate(r, f, n->a);
    if (r->failed || !arguments_make(r, f, n, &all))
        return undefined();
    r->line = n->line;
    if (n->kind == NODE_CALL)
        return value_call(r, of, &all);
    if (!n->filter && !n->test)
        return render_fail(r, "the %s '%.*s' is not supported",
                           n->kind == NODE_FILTER ? "filter" : "test",
                           (int)(n->name.n < 60 ? n->name.n : 60), n->name.at);
    return n->kind == NODE_FILTER ? filter_call(r, n->filter, of, &all)
                                  : value_bool(test_call(r, n->test, of, &all));
}

static value node_evaluate(render *r, frame *f, const node *n)
{
    value a;
    switch (n->kind) {
    case NODE_CONSTANT: return n->constant;
    case NODE_CAPTURED: return r->captured;
    case NODE_NAME: return name_evaluate(r, f, n);
    case NODE_LIST:
    case NODE_TUPLE: return items_evaluate(r, f, n);
    case NODE_DICT: return pairs_evaluate(r, f, n);
    case NODE_ATTRIBUTE:
        a = evaluate(r, f, n->a);
        r->line = n->line;
        return r->failed ? a : value_attribute(r, a, n->name);
    case NODE_ITEM: return index_evaluate(r, f, n);
    case NODE_CALL:
    case NODE_FILTER:
    case NODE_TEST: return call_evaluate(r, f, n);
    case NODE_NOT: return value_bool(!value_truth(evaluate(r, f, n->a)));
    case NODE_NEGATE:
    case NODE_PLUS: return sign_evaluate(r, f, n);
    case NODE_AND:
    case NODE_OR: return logic_evaluate(r, f, n);
    case NODE_IF_ELSE:
        if (value_truth(evaluate(r, f, n->b)))
            return evaluate(r, f, n->a);
        return n->c ? evaluate(r, f, n->c)
                    : value_undefined(r, "the condition is false, and there is no 'else'");
    case NODE_COMPARE: return comparisons(r, f, n);
    case NODE_BINARY:
        a = evaluate(r, f, n->a);
        return value_binary(r, n->op, a, evaluate(r, f, n->b));
    case NODE_CONCAT: return concat_evaluate(r, f, n);
    default: return render_fail(r, "a slice stands alone");
    }
}

value evaluate(render *r, frame *f, const node *n)
{
    value v = undefined();
    if (n && render_enter(r))
        v = node_evaluate(r, f, n);
    if (n)
        render_leave(r);
    return v;
}
