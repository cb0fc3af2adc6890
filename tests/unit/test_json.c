/* The JSON reader: it accepts exactly the grammar of RFC 8259, and returns the right values. Texts
 * are read from memory of exactly their size, so that a sanitizer detects reads past the end.
 * */
#include "support/unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static char problem[160];

/* Reads one value of any kind and the end, from a copy without a terminator. */
static ig_status skip_bytes(const char *source, size_t bytes)
{
    json_reader r;
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, source, bytes);
    json_begin(&r, copy, bytes);
    json_skip(&r);
    const ig_status status = json_end(&r);
    snprintf(problem, sizeof problem, "%s", r.problem);
    free(copy);
    return status;
}

/* ---- what is JSON and what is not ---------------------------------------------------------- */

static const char *const valid[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "0.5",
    "1e5",
    "1E+5",
    "1e-5",
    "-1.5e3",
    "123456789012345678901234567890",
    "0.000000000000000000000000000000000001",
    "1e-400",
    "\"\"",
    "\"a\"",
    "\" \"",
    "\"/\"",
    "\"\\/\\\\\\\"\\b\\f\\n\\r\\t\"",
    "\"\\u0041\"",
    "\"\\u0000\"",
    "\"\\uD834\\uDd1e\"",
    "\"\x7f\"",
    "\"\xc2\x80\"",
    "\"\xdf\xbf\"",
    "\"\xe0\xa0\x80\"",
    "\"\xed\x9f\xbf\"",
    "\"\xee\x80\x80\"",
    "\"\xef\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\"",
    "\"\xf4\x8f\xbf\xbf\"",
    "[]",
    "[ ]",
    "[1]",
    "[1,2]",
    "[[],[[]]]",
    "{}",
    "{ }",
    "{\"a\":1}",
    "{\"a\":{\"a\":{\"a\":1}}}",
    "[{\"a\":1},{\"a\":2}]",
    "{\"\":0}",
    "{\"a\":1,\"A\":2}",
    " \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : null }\n ",
};

static const struct damage {
    const char *text;
    const char *problem;
} damages[] = {
    {"", "at byte 0: expected a value, found the end"},
    {"  ", "at byte 2: expected a value, found the end"},
    {"nul", "at byte 0: expected null, found 'nul'"},
    {"nulll", "at byte 4: expected the end, found 'l'"},
    {"True", "expected a value"},
    {"tru", "expected true or false"},
    {"truefalse", "expected the end"},
    {"NaN", "expected a value"},
    {"Infinity", "expected a value"},
    {"'a'", "expected a value"},
    {"1 2", "at byte 2: expected the end, found '2'"},
    {"\xef\xbb\xbf{}", "at byte 0: expected a value"},
    {"// comment\n1", "expected a value"},
    {"[1/**/]", "at byte 2: expected ',' or ']'"},
    /* numbers */
    {"-", "at byte 1: expected a digit, found the end"},
    {"+1", "expected a value"},
    {".5", "expected a value"},
    {"1.", "at byte 2: expected a digit"},
    {"1.e5", "at byte 2: expected a digit"},
    {"1e", "at byte 2: expected a digit"},
    {"1e+", "at byte 3: expected a digit"},
    {"-a", "expected a digit"},
    {"01", "at byte 0: expected a number without leading zeros"},
    {"-00", "expected a number without leading zeros"},
    {"00.5", "expected a number without leading zeros"},
    {"0x10", "at byte 1: expected the end"},
    {"1_000", "expected the end"},
    {"1e400", "expected a number that a double can hold, found '1e400'"},
    {"-1e309", "expected a number that a double can hold"},
    /* strings */
    {"\"", "at byte 1: expected the end of a string, found the end"},
    {"\"a", "expected the end of a string"},
    {"\"\\\"", "expected the end of a string"},
    {"\"a\nb\"", "at byte 2: expected an escape instead of a control character, found '?b\"'"},
    {"\"\x1f\"", "expected an escape instead of a control character"},
    {"\"\\", "expected a valid escape"},
    {"\"\\a\"", "at byte 1: expected a valid escape, found '\\a\"'"},
    {"\"\\x41\"", "expected a valid escape"},
    {"\"\\u", "expected a valid escape"},
    {"\"\\u12\"", "expected a valid escape"},
    {"\"\\u12g4\"", "expected a valid escape"},
    {"\"\\u 123\"", "expected a valid escape"},
    {"\"\\U0041\"", "expected a valid escape"},
    {"\"\\ud800\"", "expected a valid escape"},
    {"\"\\ud800\\ud800\"", "expected a valid escape"},
    {"\"\\ud800\\n\"", "expected a valid escape"},
    {"\"\\ud800xxdc00\"", "expected a valid escape"},
    {"\"\\udc00\"", "expected a valid escape"},
    {"\"\\udc00\\ud800\"", "expected a valid escape"},
    {"\"\x80\"", "at byte 1: expected valid UTF-8"},
    {"\"\xbf\"", "expected valid UTF-8"},
    {"\"\xc0\x80\"", "expected valid UTF-8"},
    {"\"\xc1\xbf\"", "expected valid UTF-8"},
    {"\"\xc2\"", "expected valid UTF-8"},
    {"\"\xc2", "expected valid UTF-8"},
    {"\"\xe0\x9f\xbf\"", "expected valid UTF-8"},
    {"\"\xe2\x82\"", "expected valid UTF-8"},
    {"\"\xed\xa0\x80\"", "expected valid UTF-8"},
    {"\"\xed\xbf\xbf\"", "expected valid UTF-8"},
    {"\"\xf0\x8f\xbf\xbf\"", "expected valid UTF-8"},
    {"\"\xf4\x90\x80\x80\"", "expected valid UTF-8"},
    {"\"\xf8\x88\x80\x80\x80\"", "expected valid UTF-8"},
    {"\"\xff\"", "expected valid UTF-8"},
    /* arrays */
    {"[", "at byte 1: expected a value, found the end"},
    {"]", "expected a value"},
    {"[1", "at byte 2: expected ',' or ']', found the end"},
    {"[1,", "at byte 3: expected a value"},
    {"[1,]", "at byte 3: expected a value, found ']'"},
    {"[,1]", "expected a value"},
    {"[1,,2]", "expected a value"},
    {"[1 2]", "at byte 3: expected ',' or ']'"},
    {"[1}", "expected ',' or ']'"},
    {"[]]", "at byte 2: expected the end"},
    {"[1:2]", "expected ',' or ']'"},
    /* objects */
    {"{", "at byte 1: expected a key in quotes, found the end"},
    {"{]", "expected a key in quotes"},
    {"{1:2}", "expected a key in quotes"},
    {"{a:1}", "expected a key in quotes"},
    {"{\"a\"}", "at byte 4: expected ':', found '}'"},
    {"{\"a\" 1}", "expected ':'"},
    {"{\"a\":}", "at byte 5: expected a value"},
    {"{\"a\":1", "expected ',' or '}'"},
    {"{\"a\":1]", "expected ',' or '}'"},
    {"{\"a\":1,}", "at byte 7: expected a key in quotes"},
    {"{,\"a\":1}", "expected a key in quotes"},
    {"{\"a\":1 \"b\":2}", "expected ',' or '}'"},
    {"{\"a\":1;\"b\":2}", "expected ',' or '}'"},
    {"{\"\xff\":1}", "expected valid UTF-8"},
    /* duplicate keys */
    {"{\"a\":1,\"a\":2}", "at byte 7: expected each key once, found '\"a\":2}'"},
    {"{\"a\":1,\"b\":3,\"a\":2}", "at byte 13: expected each key once"},
    {"{\"a\":1,\"\\u0061\":2}", "at byte 7: expected each key once"},
    {"{\"\\u00e9\":1,\"\xc3\xa9\":2}", "expected each key once"},
    {"{\"\\ud834\\udd1e\":1,\"\xf0\x9d\x84\x9e\":2}", "expected each key once"},
    {"{\"\":1,\"\":2}", "expected each key once"},
    {"[{\"x\":{\"a\":1,\"b\":1,\"a\":2}}]", "at byte 19: expected each key once"},
};

static void test_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(valid); i++)
        if (skip_bytes(valid[i], strlen(valid[i])) != IG_OK)
            fail_msg("%s: %s", valid[i], problem);
}

static void test_damages(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(damages); i++) {
        assert_int_equal(skip_bytes(damages[i].text, strlen(damages[i].text)), IG_ERR_FORMAT);
        if (!strstr(problem, damages[i].problem))
            fail_msg("%s: %s; expected %s", damages[i].text, problem, damages[i].problem);
    }
    assert_int_equal(skip_bytes("1\0", 2), IG_ERR_FORMAT);
    assert_int_equal(skip_bytes("\"\0\"", 3), IG_ERR_FORMAT);
    assert_int_equal(skip_bytes("\"\\\0\"", 4), IG_ERR_FORMAT);
    assert_int_equal(skip_bytes("\0", 1), IG_ERR_FORMAT);
    assert_false(ig_failed());
}

/* A text that is cut anywhere, or has any byte changed, is read or rejected. */
static void test_every_byte_damaged(void **state)
{
    (void)state;
    static const char good[] =
        "{\"a\\u00e9\xc3\xa9\":[1,-2.5e3,true,null,\"x\\n\"],\"b\":{\"c\":{}}}";
    char bad[sizeof good];
    for (size_t cut = 0; cut < sizeof good - 1; cut++)
        assert_int_equal(skip_bytes(good, cut), IG_ERR_FORMAT);
    for (size_t i = 0; i < sizeof good - 1; i++)
        for (int c = 0; c < 256; c++) {
            memcpy(bad, good, sizeof good);
            bad[i] = (char)c;
            skip_bytes(bad, sizeof good - 1);
        }
    assert_int_equal(skip_bytes(good, sizeof good - 1), IG_OK);
}

static void test_depth(void **state)
{
    (void)state;
    char source[4 * JSON_DEPTH_MAX + 8];
    for (int depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(source, '[', (size_t)depth);
        memset(source + depth, ']', (size_t)depth);
        assert_int_equal(skip_bytes(source, 2 * (size_t)depth),
                         depth <= JSON_DEPTH_MAX ? IG_OK : IG_ERR_FORMAT);
    }
    assert_non_null(
        strstr(problem, "at byte 64: expected fewer objects and arrays within each other"));

    /* No nesting overflows the stack. */
    const size_t bytes = 10 << 20;
    char *deep = malloc(bytes);
    assert_non_null(deep);
    memset(deep, '[', bytes);
    assert_int_equal(skip_bytes(deep, bytes), IG_ERR_FORMAT);
    free(deep);
}

/* Many keys with a common prefix, in the worst orders: fast. */
static void test_many_keys(void **state)
{
    (void)state;
    enum { KEYS = 100000, ROOM = 32 };
    char *source = malloc(KEYS * ROOM);
    assert_non_null(source);
    for (int turn = 0; turn < 3; turn++) {
        size_t n = 0;
        source[n++] = '{';
        for (int i = 0; i < KEYS; i++) {
            const int key = turn == 0 ? i : turn == 1 ? KEYS - i : i % (KEYS - 1);
            n += (size_t)snprintf(source + n, ROOM, "%s\"model.layers.%d\":0", i ? "," : "", key);
        }
        source[n++] = '}';
        assert_int_equal(skip_bytes(source, n), turn < 2 ? IG_OK : IG_ERR_FORMAT);
    }
    assert_non_null(strstr(problem, "expected each key once, found '\"model.layers.0\":0}'"));
    free(source);
}

/* ---- what values mean ---------------------------------------------------------------------- */

static json_number number_of(const char *source)
{
    json_reader r;
    json_number number;
    json_begin(&r, source, strlen(source));
    json_read_number(&r, &number);
    if (json_end(&r) != IG_OK)
        fail_msg("%s: %s", source, r.problem);
    return number;
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } signeds[] = {{"0", 0},
                   {"7", 7},
                   {"-7", -7},
                   {"9007199254740993", 9007199254740993},
                   {"9223372036854775807", INT64_MAX},
                   {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < COUNT(signeds); i++) {
        const json_number n = number_of(signeds[i].text);
        assert_int_equal(n.kind, JSON_I64);
        assert_int_equal(n.as.i, signeds[i].value);
    }
    json_number n = number_of("9223372036854775808");
    assert_int_equal(n.kind, JSON_U64);
    assert_true(n.as.u == (uint64_t)1 << 63);
    n = number_of("18446744073709551615");
    assert_int_equal(n.kind, JSON_U64);
    assert_true(n.as.u == UINT64_MAX);
}

static void test_doubles(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"0.1", 0.1},
                {"1.0", 1},
                {"1e3", 1000},
                {"-2.5E-3", -2.5e-3},
                {"18446744073709551616", 18446744073709551616.0},
                {"-9223372036854775809", -9223372036854775808.0},
                {"1.7976931348623157e308", 1.7976931348623157e308},
                {"4.9406564584124654e-324", 4.9406564584124654e-324},
                {"1e-400", 0},
                {"123456789012345678901234567890", 123456789012345678901234567890.0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const json_number n = number_of(rows[i].text);
        assert_int_equal(n.kind, JSON_F64);
        assert_true(n.as.f == rows[i].value);
    }
    const json_number zero = number_of("-0");
    assert_int_equal(zero.kind, JSON_F64);
    assert_true(zero.as.f == 0 && signbit(zero.as.f));
}

static void test_long_numbers(void **state)
{
    (void)state;
    char source[JSON_NUMBER_MAX + 2] = "0.";
    memset(source + 2, '3', sizeof source - 2);
    assert_int_equal(skip_bytes(source, JSON_NUMBER_MAX), IG_OK);
    assert_int_equal(skip_bytes(source, JSON_NUMBER_MAX + 1), IG_ERR_FORMAT);
    assert_non_null(strstr(problem, "at byte 0: expected a number of fewer digits"));
}

/* The decimal comma of a locale does not change JSON. */
static void test_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8",
                                        "de_DE"};
    const char *set = NULL;
    for (size_t i = 0; i < COUNT(names) && !set; i++)
        set = setlocale(LC_NUMERIC, names[i]);
    const json_number n = number_of("2.5");
    text t = {0};
    json_add(&t, "%g, %.1f, %g", -2.5, 1234.5, 1e30);
    setlocale(LC_NUMERIC, "C");
    char *written = text_take(&t);
    assert_true(n.kind == JSON_F64 && n.as.f == 2.5);
    assert_string_equal(written, "-2.5, 1234.5, 1e+30");
    memory_free(written);
    if (!set)
        skip();
}

static void test_uint(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } rows[] = {{" 5", true, 5},     {"18446744073709551615", true, UINT64_MAX},
                {"0", true, 0},      {"18446744073709551616", false, 0},
                {"-1", false, 0},    {"-0", false, 0},
                {"1.0", false, 0},   {"1e2", false, 0},
                {"\"1\"", false, 0}, {"true", false, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_reader r;
        uint64_t value = 1;
        json_begin(&r, rows[i].text, strlen(rows[i].text));
        assert_int_equal(json_read_uint(&r, &value), rows[i].good);
        assert_int_equal(json_end(&r), rows[i].good ? IG_OK : IG_ERR_FORMAT);
        assert_true(value == rows[i].value);
    }
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
        size_t bytes;
    } rows[] = {
        {"\"\"", "", 0},
        {"\"plain\"", "plain", 5},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac", 6},
        {"\"\\ud834\\udd1e\"", "\xf0\x9d\x84\x9e", 4},
        {"\"\xf0\x9d\x84\x9e\"", "\xf0\x9d\x84\x9e", 4},
        {"\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf", 4},
        {"\"a\\u0000b\"", "a\0b", 3},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_reader r;
        json_text string;
        size_t bytes = 0;
        json_begin(&r, rows[i].text, strlen(rows[i].text));
        assert_true(json_read_text(&r, &string));
        assert_int_equal(json_end(&r), IG_OK);
        char *copy = json_text_copy(string, &bytes);
        assert_non_null(copy);
        assert_int_equal(bytes, rows[i].bytes);
        assert_memory_equal(copy, rows[i].value, bytes + 1);
        memory_free(copy);
        if (!strchr(rows[i].value, '\\'))
            assert_int_equal(json_text_is(string, rows[i].value), strlen(rows[i].value) == bytes);
        assert_false(json_text_is(string, "plai"));
        assert_false(json_text_is(string, "plainer"));
    }
}

/* Quoted text is read back unchanged. */
static void test_quote(void **state)
{
    (void)state;
    char every[256];
    for (int i = 1; i < 128; i++)
        every[i - 1] = (char)i;
    memcpy(every + 127, "\xc3\xa9\xf0\x9d\x84\x9e", 7);
    const char *const plains[] = {"", "w", "a/b.c", "\"\\", "\n\r\t\b\f\v\x1b", every};
    for (size_t i = 0; i < COUNT(plains); i++) {
        json_reader r;
        json_text string;
        text t = {0};
        json_quote(&t, plains[i]);
        char *quoted = text_take(&t);
        assert_non_null(quoted);
        json_begin(&r, quoted, strlen(quoted));
        assert_true(json_read_text(&r, &string));
        assert_int_equal(json_end(&r), IG_OK);
        char *copy = json_text_copy(string, NULL);
        assert_string_equal(copy, plains[i]);
        memory_free(copy);
        memory_free(quoted);
    }
    assert_true(json_is_utf8(every) && json_is_utf8(""));
    assert_false(json_is_utf8("a\xff") || json_is_utf8("\xed\xa0\x80") || json_is_utf8("\xc3"));
}

/* What the formats write, by one call or by several. */
static void test_add(void **state)
{
    (void)state;
    const char *volatile none = NULL; /* compilers warn of a constant */
    text t = {0};
    json_add(&t, "{schema: 1, verb: bench, name: %s, none: %s, yes: %hhd, no: %hhd", "a\"b\n", none,
             true, false);
    json_add(&t, "counts: [%d, %u, %lld, %llu, %zu, -7, null, true]", -1, 2u, -3LL, ~0ULL,
             (size_t)5);
    json_add(&t, "%s:", "bytes read");
    json_add(&t, "[");
    for (int i = 0; i < 2; i++)
        json_add(&t, "\n  {at: %d}", i);
    json_add(&t, "], empty: [], deep: {list: [");
    for (int i = 0; i < 2; i++)
        json_add(&t, "[%.2f]", i + 0.5);
    json_add(&t, "]},\n last: %s\n}\n", "x\xff\xc3");
    json_add(&t, "{next: %g}", HUGE_VAL);
    char *all = text_take(&t);
    assert_string_equal(
        all,
        "{\"schema\": 1, \"verb\": \"bench\", \"name\": \"a\\\"b\\n\", \"none\": null, "
        "\"yes\": true, \"no\": false, \"counts\": [-1, 2, -3, 18446744073709551615, 5, -7, null, "
        "true], \"bytes read\": [\n  {\"at\": 0},\n  {\"at\": 1}], \"empty\": [], \"deep\": "
        "{\"list\": [[0.50], [1.50]]},\n \"last\": \"x??\"\n}\n{\"next\": null}");
    memory_free(all);
}

/* ---- walking ------------------------------------------------------------------------------- */

static void test_walk(void **state)
{
    (void)state;
    static const char source[] = "{\"sizes\": [3, 4], \"other\": {\"deep\": [[{}]]}, \"on\": true, "
                                 "\"none\": null, \"name\": \"n\"}";
    json_reader r;
    json_text key, name = {"", 0, false};
    uint64_t sum = 0, size = 0;
    bool on = false;
    int keys = 0;
    json_begin(&r, source, strlen(source));
    assert_true(json_open_object(&r));
    for (; json_next_key(&r, &key); keys++)
        if (json_text_is(key, "sizes")) {
            json_open_array(&r);
            while (json_next_item(&r) && json_read_uint(&r, &size))
                sum += size;
        } else if (json_text_is(key, "on")) {
            json_read_bool(&r, &on);
        } else if (json_text_is(key, "none")) {
            assert_int_equal(json_peek(&r), JSON_NULL);
            json_read_null(&r);
        } else if (json_text_is(key, "name")) {
            json_read_text(&r, &name);
        } else {
            assert_true(json_skip(&r));
        }
    assert_int_equal(json_end(&r), IG_OK);
    assert_int_equal(keys, 5);
    assert_int_equal(sum, 7);
    assert_true(on && json_text_is(name, "n"));
}

/* The first failure remains, and ends every loop. */
static void test_failure_stays(void **state)
{
    (void)state;
    static const char source[] = "{\"a\": [1, 2}";
    json_reader r;
    json_text key;
    uint64_t value = 0;
    bool truth = true;
    json_begin(&r, source, strlen(source));
    assert_true(json_open_object(&r));
    assert_true(json_next_key(&r, &key));
    assert_true(json_open_array(&r));
    while (json_next_item(&r))
        json_read_uint(&r, &value);
    assert_false(json_next_key(&r, &key) || json_next_item(&r) || json_open_object(&r) ||
                 json_open_array(&r) || json_read_uint(&r, &value) || json_read_bool(&r, &truth) ||
                 json_read_null(&r) || json_read_text(&r, &key) || json_skip(&r));
    assert_int_equal(json_peek(&r), JSON_NOTHING);
    assert_int_equal(json_end(&r), IG_ERR_FORMAT);
    assert_string_equal(r.problem, "at byte 11: expected ',' or ']', found '}'");

    /* Each begun array or object must be ended. */
    json_begin(&r, "[1]", 3);
    json_open_array(&r);
    assert_int_equal(json_end(&r), IG_ERR_FORMAT);
    assert_string_equal(r.problem, "at byte 1: expected the end of what was opened, found '1]'");
    json_begin(&r, "[1]", 3);
    assert_false(json_next_key(&r, &key));
    assert_int_equal(json_end(&r), IG_ERR_FORMAT);
}

static void test_no_memory(void **state)
{
    (void)state;
    const int64_t live = memory_live();
    memory_fail_at(1);
    assert_int_equal(skip_bytes("{\"a\":1}", 7), IG_ERR_MEMORY);
    memory_fail_at(0);
    ig_status code = IG_OK;
    assert_non_null(ig_error(&code));
    assert_int_equal(code, IG_ERR_MEMORY);
    assert_int_equal(memory_live(), live);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_valid),     TEST(test_damages),      TEST(test_every_byte_damaged),
        TEST(test_depth),     TEST(test_many_keys),    TEST(test_integers),
        TEST(test_doubles),   TEST(test_long_numbers), TEST(test_locale),
        TEST(test_uint),      TEST(test_strings),      TEST(test_quote),
        TEST(test_add),       TEST(test_walk),         TEST(test_failure_stays),
        TEST(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
