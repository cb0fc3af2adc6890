/* The tests of chat templates, such as `is defined`: see run.h. */
#include "lib/chat/run.h"

#include <math.h>
#include <string.h>

static bool is_iterable(value v)
{
    return v.kind == VALUE_UNDEFINED || v.kind == VALUE_STRING || v.kind == VALUE_LIST ||
           v.kind == VALUE_DICT || v.kind == VALUE_LOOP;
}

static bool test_boolean(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_BOOL;
}

static bool test_callable(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind >= VALUE_MACRO || v.kind == VALUE_UNDEFINED;
}

static bool test_defined(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind != VALUE_UNDEFINED;
}

static bool test_undefined(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_UNDEFINED;
}

static bool test_none(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_NONE;
}

static bool test_true(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_BOOL && v.as.truth;
}

static bool test_false(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_BOOL && !v.as.truth;
}

static bool test_float(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_FLOAT;
}

static bool test_integer(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_INT;
}

static bool test_number(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return value_is_number(v);
}

static bool test_string(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_STRING;
}

static bool test_mapping(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_DICT;
}

static bool test_iterable(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return is_iterable(v);
}

static bool test_escaped(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_STRING && v.safe;
}

/* A value with a length and items by index. */
static bool test_sequence(render *r, value v, const value *p)
{
    (void)r, (void)p;
    if (v.kind == VALUE_LIST)
        return v.as.list->kind <= LIST_TUPLE || v.as.list->kind == LIST_RANGE;
    return v.kind == VALUE_STRING || v.kind == VALUE_DICT || v.kind == VALUE_UNDEFINED;
}

static bool test_lower(render *r, value v, const value *p)
{
    const string s = value_show(r, v), lower = string_lower(r, s);
    (void)p;
    return string_equal(s, lower) && !string_equal(s, string_upper(r, s));
}

static bool test_upper(render *r, value v, const value *p)
{
    const string s = value_show(r, v), upper = string_upper(r, s);
    (void)p;
    return string_equal(s, upper) && !string_equal(s, string_lower(r, s));
}

static bool test_divisibleby(render *r, value v, const value *p)
{
    const value rest = value_binary(r, '%', v, p[0]);
    return !r->failed && value_is_number(rest) && value_as_float(rest) == 0;
}

static bool test_even(render *r, value v, const value *p)
{
    const value two = value_int(2);
    (void)p;
    return test_divisibleby(r, v, &two);
}

static bool test_odd(render *r, value v, const value *p)
{
    const value rest = value_binary(r, '%', v, value_int(2));
    (void)p;
    return !r->failed && value_is_number(rest) && value_as_float(rest) == 1;
}

static bool test_eq(render *r, value v, const value *p) { return chat_equal(r, v, p[0]); }
static bool test_ne(render *r, value v, const value *p) { return !chat_equal(r, v, p[0]); }
static bool test_lt(render *r, value v, const value *p)
{
    return value_compare(r, v, p[0], "<") < 0;
}

static bool test_gt(render *r, value v, const value *p)
{
    const int order = value_compare(r, v, p[0], ">");
    return order > 0 && !(order == 2 && value_is_number(v));
}

static bool test_le(render *r, value v, const value *p)
{
    return value_compare(r, v, p[0], "<=") <= 0 && !r->failed;
}

static bool test_ge(render *r, value v, const value *p)
{
    const int order = value_compare(r, v, p[0], ">=");
    return order >= 0 && !(order == 2 && value_is_number(v));
}

static bool test_in(render *r, value v, const value *p) { return value_in(r, v, p[0]); }

/* The same object: for numbers and strings, equal values of one type. */
static bool test_sameas(render *r, value v, const value *p)
{
    if (v.kind != p[0].kind)
        return false;
    return v.kind == VALUE_LIST   ? v.as.list == p[0].as.list
           : v.kind == VALUE_DICT ? v.as.dict == p[0].as.dict
                                  : chat_equal(r, v, p[0]);
}

static bool test_filter(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_STRING && filter_find(v.as.s);
}

static bool test_test(render *r, value v, const value *p)
{
    (void)r, (void)p;
    return v.kind == VALUE_STRING && test_find(v.as.s);
}

const chat_test *test_find(string name)
{
    static const chat_test rows[] = {
        {"boolean", "", test_boolean},   {"callable", "", test_callable},
        {"defined", "", test_defined},   {"undefined", "", test_undefined},
        {"none", "", test_none},         {"true", "", test_true},
        {"false", "", test_false},       {"float", "", test_float},
        {"integer", "", test_integer},   {"number", "", test_number},
        {"string", "", test_string},     {"mapping", "", test_mapping},
        {"iterable", "", test_iterable}, {"escaped", "", test_escaped},
        {"sequence", "", test_sequence}, {"lower", "", test_lower},
        {"upper", "", test_upper},       {"even", "", test_even},
        {"odd", "", test_odd},           {"filter", "", test_filter},
        {"test", "", test_test},         {"divisibleby", "num", test_divisibleby},
        {"in", "seq", test_in},          {"sameas", "other", test_sameas},
        {"eq", "other", test_eq},        {"equalto", "other", test_eq},
        {"==", "other", test_eq},        {"ne", "other", test_ne},
        {"!=", "other", test_ne},        {"lt", "other", test_lt},
        {"lessthan", "other", test_lt},  {"<", "other", test_lt},
        {"le", "other", test_le},        {"<=", "other", test_le},
        {"gt", "other", test_gt},        {"greaterthan", "other", test_gt},
        {">", "other", test_gt},         {"ge", "other", test_ge},
        {">=", "other", test_ge},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (string_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}
