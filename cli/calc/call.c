/* Calls: arguments are converted to the kinds that the op's parameters take, then ig_call checks and builds. */
#include "calc/parts.h"

#include <string.h>

/* ---- coercion: from a value to one of the kinds that a parameter takes ----------------------- */

/* The conversion of one argument. */
typedef struct argument {
    calc *c;
    const value *v;
    ig_arg *out;
} argument;

static bool to_none(argument *a)
{
    (void)a;
    return true;
}

static bool to_bool(argument *a)
{
    a->out->u.b = value_int_of(a->v) != 0;
    return a->v->kind == V_BOOL || value_int_of(a->v) == a->out->u.b;
}

static bool to_int(argument *a)
{
    a->out->u.i = value_int_of(a->v);
    return true;
}

static bool to_float(argument *a)
{
    a->out->u.f = value_float_of(a->v);
    return true;
}

static bool to_string(argument *a)
{
    a->out->u.str = a->v->u.s;
    return true;
}

static bool to_dtype(argument *a)
{
    a->out->u.dtype = a->v->kind == V_DTYPE ? a->v->u.dtype : ig_dtype_parse(a->v->u.s);
    return a->out->u.dtype != IG_DTYPE_NONE;
}

static bool to_array(argument *a)
{
    a->out->u.array = value_to_array(a->v, IG_DTYPE_NONE);
    return a->out->u.array != NULL;
}

static bool to_arrays(argument *a)
{
    int n = a->v->u.items.n;
    ig_array **arrays = arena_get(&a->c->scratch, sizeof *arrays * (size_t)(n + 1));
    ig_array *whole = a->v->trace ? value_to_array(a->v, IG_DTYPE_NONE) : NULL;
    for (int i = 0; i < n; i++) {
        const ig_index item = {.kind = IG_INDEX_INT, .start = i};
        arrays[i] =
            whole ? ig_get(whole, &item, 1) : value_to_array(&a->v->u.items.v[i], IG_DTYPE_NONE);
        if (!arrays[i])
            return false;
    }
    a->out->u.arrays.v = arrays;
    a->out->u.arrays.n = n;
    return true;
}

/* Counts the integers of a nested list, and writes them unless out is NULL. Returns -1 if it has other values. */
static int flatten_ints(arena *memory, const value *v, int64_t *out)
{
    if (v->kind == V_INT || v->kind == V_BOOL) {
        if (out)
            *out = value_int_of(v);
        return 1;
    }
    if (v->kind == V_ARRAY) {
        value number = value_from_index_array(memory, v->u.array);
        return number.kind == V_INT ? flatten_ints(memory, &number, out) : -1;
    }
    if (!value_has_items(v))
        return -1;
    int n = 0;
    for (int i = 0; i < v->u.items.n; i++) {
        int more = flatten_ints(memory, &v->u.items.v[i], out ? out + n : NULL);
        if (more < 0)
            return -1;
        n += more;
    }
    return n;
}

static bool to_ints(argument *a)
{
    int n = flatten_ints(&a->c->scratch, a->v, NULL);
    if (n < 0)
        return false;
    int64_t *ints = arena_get(&a->c->scratch, sizeof *ints * (size_t)(n + 1));
    flatten_ints(&a->c->scratch, a->v, ints);
    a->out->u.ints = (ig_ints){ints, n};
    return true;
}

/* Evaluates and reads an array of integers for a parameter that takes plain integers. */
static bool from_index_array(argument *a, value_kind kind, bool (*convert)(argument *))
{
    if (a->c->maps)
        return false;
    value number = value_from_index_array(&a->c->scratch, a->v->u.array);
    argument plain = {a->c, &number, a->out};
    return number.kind == kind && convert(&plain);
}

static bool array_to_int(argument *a) { return from_index_array(a, V_INT, to_int); }

static bool array_to_ints(argument *a)
{
    return from_index_array(a, V_INT, to_ints) || from_index_array(a, V_TUPLE, to_ints);
}

static bool array_to_float(argument *a)
{
    if (ig_ndim(a->v->u.array) != 0 || a->c->maps)
        return false;
    a->out->u.f = ig_item(a->v->u.array);
    return !ig_failed();
}

/* In order of preference: the first conversion that the parameter accepts and that succeeds is used. */
static const struct conversion {
    value_kind from;
    ig_kind to;
    bool (*convert)(argument *a);
} conversions[] = {
    {V_NONE, IG_ARG_NONE, to_none},        {V_BOOL, IG_ARG_BOOL, to_bool},
    {V_BOOL, IG_ARG_INT, to_int},          {V_BOOL, IG_ARG_ARRAY, to_array},
    {V_INT, IG_ARG_INT, to_int},           {V_INT, IG_ARG_FLOAT, to_float},
    {V_INT, IG_ARG_INTS, to_ints},         {V_INT, IG_ARG_ARRAY, to_array},
    {V_INT, IG_ARG_BOOL, to_bool},         {V_FLOAT, IG_ARG_FLOAT, to_float},
    {V_FLOAT, IG_ARG_ARRAY, to_array},     {V_STRING, IG_ARG_STRING, to_string},
    {V_STRING, IG_ARG_DTYPE, to_dtype},    {V_DTYPE, IG_ARG_DTYPE, to_dtype},
    {V_ARRAY, IG_ARG_ARRAY, to_array},     {V_ARRAY, IG_ARG_INT, array_to_int},
    {V_ARRAY, IG_ARG_INTS, array_to_ints}, {V_ARRAY, IG_ARG_FLOAT, array_to_float},
    {V_LIST, IG_ARG_ARRAYS, to_arrays},    {V_LIST, IG_ARG_INTS, to_ints},
    {V_LIST, IG_ARG_ARRAY, to_array},      {V_TUPLE, IG_ARG_ARRAYS, to_arrays},
    {V_TUPLE, IG_ARG_INTS, to_ints},       {V_TUPLE, IG_ARG_ARRAY, to_array},
};

static const char *const kind_names[] = {
    [IG_ARG_NONE] = "None",  [IG_ARG_ARRAY] = "an array", [IG_ARG_ARRAYS] = "a list of arrays",
    [IG_ARG_INT] = "an int", [IG_ARG_FLOAT] = "a float",  [IG_ARG_BOOL] = "a bool",
    [IG_ARG_INTS] = "ints",  [IG_ARG_DTYPE] = "a dtype",  [IG_ARG_STRING] = "a string"};
enum { KIND_NAMES = sizeof kind_names / sizeof *kind_names };

static bool fail_kind(argument *a, span where, const char *name, unsigned kinds)
{
    str wanted = {0};
    for (int kind = 1; kind < KIND_NAMES; kind++)
        if (kinds & 1u << kind)
            str_printf(&wanted, "%s%s", wanted.n ? " or " : "", kind_names[kind]);
    if (a->v->kind == V_STRING && (kinds & 1u << IG_ARG_DTYPE))
        calc_fail(a->c, where, "unknown dtype '%s'; write f32, i64, bool and so on", a->v->u.s);
    else
        calc_fail(a->c, where, "%s takes %s, not %s", name, wanted.s ? wanted.s : "nothing",
                  value_kind_name(a->v->kind));
    str_free(&wanted);
    return false;
}

static bool coerce(calc *c, span where, const ig_param *param, const value *v, ig_arg *out)
{
    argument a = {c, v, out};
    /* A variadic parameter takes one array per argument. */
    unsigned kinds = param->variadic ? 1u << IG_ARG_ARRAY : param->kinds;
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
        const struct conversion *way = &conversions[i];
        bool taken = way->to == IG_ARG_NONE || (kinds & 1u << way->to);
        if (way->from != v->kind || !taken)
            continue;
        if (way->convert(&a)) {
            out->kind = way->to;
            return true;
        }
        if (ig_failed()) /* for example, a ragged list or an array that cannot be computed */
            return calc_fail_library(c, where);
    }
    return fail_kind(&a, where, param->name, kinds);
}

/* ---- arguments to parameters ---------------------------------------------------------------- */

static const ig_param *positional_param(const ig_op *op, int i)
{
    for (int k = 0; k < op->n_params && k <= i; k++)
        if (k == i || op->params[k].variadic)
            return &op->params[k];
    return NULL;
}

/* "sum(x, axis=None) has no argument 'axs'; did you mean 'axis'?" */
static bool fail_argument(calc *c, span where, const ig_op *op, const char *why,
                          const nearest *search)
{
    str t = {0};
    str_printf(&t, "%s(", op->name);
    str_signature(&t, op->signature);
    str_printf(&t, ") %s", why);
    if (search) {
        str_printf(&t, " '%s'", search->word);
        str_did_you_mean(&t, search);
    }
    calc_fail(c, where, "%s", t.s);
    str_free(&t);
    return false;
}

/* Adds the items of a *value to the arguments; returns the new list, which has room for `more` further ones. */
static given *spread(calc *c, const given *args, int *count, const expr *n, const value *items,
                     int more)
{
    const int extra = items->u.items.n;
    given *list = arena_get(&c->scratch, sizeof *list * (size_t)(*count + extra + more + 1));
    if (*count)
        memcpy(list, args, sizeof *list * (size_t)*count);
    for (int i = 0; i < extra; i++)
        list[(*count)++] = (given){n, NULL, n->where, items->u.items.v[i]};
    return list;
}

bool arguments_eval(calc *c, const expr *first, bool functions, given **out, int *count)
{
    int left = 0;
    for (const expr *a = first; a; a = a->next)
        left++;
    given *args = arena_get(&c->scratch, sizeof *args * (size_t)(left + 1));
    *count = 0;
    for (const expr *a = first; a; a = a->next) {
        const bool keyword = a->kind == N_KEYWORD, star = a->kind == N_STAR;
        value v, items;
        left--;
        const expr *n = keyword || star ? a->child : a;
        if (!(functions ? function_argument(c, n, &v) : calc_eval(c, n, &v)))
            return false;
        if (!star) {
            args[(*count)++] =
                (given){keyword ? a->child : a, keyword ? a->name : NULL, a->where, v};
            continue;
        }
        if (!calc_items(c, a->where, &v, &items))
            return false;
        args = spread(c, args, count, a, &items, left);
    }
    *out = args;
    return true;
}

bool call_fits(const ig_op *op, const given *args, int count)
{
    unsigned given_params = 0;
    int position = 0;
    for (int i = 0; i < count; i++) {
        const ig_param *p = args[i].keyword           ? ig_op_param(op, args[i].keyword)
                            : position < op->n_params ? &op->params[position]
                                                      : NULL;
        if (!p)
            return false;
        given_params |= 1u << (p - op->params);
        position += !args[i].keyword && !p->variadic;
    }
    for (int i = 0; i < op->n_params; i++)
        if (op->params[i].required && !(given_params >> i & 1))
            return false;
    return true;
}

static unsigned bit(ig_kind kind) { return 1u << kind; }

/* True for parameters that are a list of ints, and not a number or a list. */
static bool is_int_list(const ig_param *param)
{
    static const char *const names[] = {"shape", "axes", "repetitions"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(param->name, names[i]) == 0)
            return true;
    return false;
}

int call_gather(calc *c, const ig_op *op, given *args, int count)
{
    const unsigned numbers =
        bit(IG_ARG_INT) | bit(IG_ARG_INTS) | bit(IG_ARG_FLOAT) | bit(IG_ARG_ARRAY);
    for (int i = 0; i < op->n_params && i + 1 < count && !args[i + 1].keyword; i++) {
        const unsigned next = i + 1 < op->n_params ? op->params[i + 1].kinds : 0;
        if (!is_int_list(&op->params[i]) || next & numbers)
            continue;
        int n = 0;
        while (i + n < count && !args[i + n].keyword && args[i + n].v.kind == V_INT)
            n++;
        if (n < 2)
            return count;
        value *items = arena_get(&c->scratch, sizeof *items * (size_t)n);
        for (int k = 0; k < n; k++)
            items[k] = args[i + k].v;
        args[i].v = (value){.kind = V_TUPLE, .u = {.items = {items, n}}};
        memmove(args + i + 1, args + i + n, sizeof *args * (size_t)(count - i - n));
        return count - n + 1;
    }
    return count;
}

/* max(3, 5) and min(3, 5) of numbers, as in Python: for the op, 5 would be an axis. */
static bool chooses_number(const ig_op *op, const given *args, int count)
{
    const bool extreme = strcmp(op->name, "max") == 0 || strcmp(op->name, "min") == 0;
    return extreme && count > 1 && value_is_number(&args[0].v) && !args[1].keyword;
}

static bool choose_number(calc *c, const ig_op *op, const given *args, int count, value *out)
{
    const bool max = op->name[1] == 'a';
    *out = args[0].v;
    for (int i = 0; i < count; i++) {
        value better;
        if (args[i].keyword || !value_is_number(&args[i].v))
            return calc_fail(
                c, args[i].where, "%s of a number and %s; use %simum(x1, x2) for the %s of two",
                op->name, args[i].keyword ? "an axis" : value_kind_name(args[i].v.kind), op->name,
                max ? "larger" : "smaller");
        (max ? number_greater : number_less)(&args[i].v, out, &better);
        if (better.u.b || value_float_of(&args[i].v) != value_float_of(&args[i].v)) /* NaN */
            *out = args[i].v;
    }
    return true;
}

static const ig_param *keyword_param(calc *c, const ig_op *op, const given *a)
{
    nearest search = nearest_to(a->keyword);
    const ig_param *found = ig_op_param(op, a->keyword);
    if (found)
        return found;
    for (int i = 0; i < op->n_params; i++)
        nearest_offer(&search, op->params[i].name);
    fail_argument(c, a->where, op, "has no argument", &search);
    return NULL;
}

static bool argument_coerce(calc *c, const ig_op *op, const given *a, int position, ig_arg *out)
{
    const ig_param *param = a->keyword ? keyword_param(c, op, a) : positional_param(op, position);
    if (!param)
        return !a->keyword &&
               fail_argument(c, a->where, op, "does not take that many arguments", NULL);
    out->name = a->keyword ? param->name : NULL;
    return coerce(c, a->n->where, param, &a->v, out);
}

/* ---- the call ------------------------------------------------------------------------------- */

/* Splitting a random key gives one array of keys, with one more axis than the key. */
static bool gives_keys(const ig_arg *args, const ig_array *result)
{
    return args[0].kind == IG_ARG_ARRAY && ig_ndim(result) > ig_ndim(args[0].u.array);
}

/* The names of n results, from a text such as "U S Vh"; NULL if it has fewer names. */
static const char *const *result_names(calc *c, const char *text, int n)
{
    const char **names = arena_get(&c->scratch, sizeof *names * (size_t)(n + 1));
    int count = 0;
    for (const char *s = text ? text : ""; *s && count < n; count++) {
        const size_t length = strcspn(s, " ");
        names[count] = arena_string(&c->scratch, s, length);
        s += length + strspn(s + length, " ");
    }
    return n && count == n ? names : NULL;
}

/* True if the caller selects the results (return_index, ...): a single result is then not in a list. */
static bool asks_for_results(const ig_op *op)
{
    for (int i = 0; i < op->n_params; i++)
        if (strncmp(op->params[i].name, "return_", 7) == 0)
            return true;
    return false;
}

static bool call(calc *c, span where, const char *op, const ig_arg *args, int n, value *out)
{
    int results = ig_call(op, args, n, c->results, RESULTS_MOST);
    if (results == 0 && ig_failed())
        return calc_fail_library(c, where);
    const ig_op *info = ig_op_find(op);
    if (results == 1 &&
        (!info->gives_list || asks_for_results(info) || gives_keys(args, c->results[0])))
        return calc_give(c, where, c->results[0], out);
    *out = value_arrays(&c->scratch, c->results, results);
    out->names = result_names(c, info->results, results);
    return true;
}

bool call_arrays(calc *c, span where, const char *op, ig_array *const *arrays, int n, value *out)
{
    ig_arg args[2];
    for (int i = 0; i < n && i < 2; i++)
        args[i] = (ig_arg){.kind = IG_ARG_ARRAY, .u.array = arrays[i]};
    return call(c, where, op, args, n, out);
}

/* Arguments such as out=None and stream=None, which say nothing here. */
static bool says_nothing(const ig_op *op, const given *a)
{
    static const char *const names[] = {
        "out",     "stream", "where",         "precision", "order",  "casting",      "subok",
        "initial", "device", "requires_grad", "name",      "layout", "memory_format"};
    for (size_t i = 0;
         a->keyword && !ig_op_param(op, a->keyword) && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], a->keyword) == 0)
            return a->v.kind == V_NONE || i > 7 || strcmp(a->keyword, "order") == 0;
    return false;
}

bool call_op(calc *c, const expr *n, const ig_op *op, given *args, int count, value *out)
{
    if (n->kind == N_METHOD &&
        (!op->n_params || !(op->params[0].kinds & (1u << IG_ARG_ARRAY | 1u << IG_ARG_ARRAYS))))
        return fail_argument(c, n->where, op, "is not a method of arrays", NULL);
    if (chooses_number(op, args, count))
        return choose_number(c, op, args, count, out);
    if (op->evaluates && !calc_may_read(c, n->where))
        return false;
    ig_arg *coerced = arena_get(&c->scratch, sizeof *coerced * (size_t)(count + 1));
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (says_nothing(op, &args[i]))
            continue;
        if (!argument_coerce(c, op, &args[i], i, &coerced[kept++]))
            return false;
    }
    return call(c, n->where, op->name, coerced, kept, out);
}
