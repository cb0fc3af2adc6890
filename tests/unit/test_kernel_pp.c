/* The lexer and the preprocessor of CUDA C: a source gives these tokens. */
#include "support/preprocessed.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- tokens ---- */

typedef struct row {
    const char *source, *tokens;
} row;

static void check_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pp_check(rows[i].source, rows[i].tokens, "");
}

static void test_tokens(void **state)
{
    static const row rows[] = {
        {"", ""},
        {"a", "a"},
        {"\xef\xbb\xbf"
         "a",
         "a"},
        {"a\r\nb\r\n", "a b"},
        {"a/**/b", "a b"},
        {"a//b\nc", "a c"},
        {"a//b\\\nc\nd", "a d"},
        {"a/* // */b", "a b"},
        {"a/\\\n* x *\\\n/b", "a b"},
        {"a+++++b", "a ++ ++ + b"},
        {"a<<=b>>=c<<d>>e", "a <<= b >>= c << d >> e"},
        {"k<<<1,2>>>(x)", "k <<< 1 , 2 >>> ( x )"},
        {"k << <1,2>> >(x)", "k << < 1 , 2 >> > ( x )"},
        {"a.*b->*c->d::e...", "a .* b ->* c -> d :: e ..."},
        {"a..b", "a . . b"},
        {"x=-1&&y||!z^~w%v", "x = - 1 && y || ! z ^ ~ w % v"},
        {"a and b or not c xor d", "a and b or not c xor d"},
        {"1.e+5+.5e-3f", "1.e+5 + .5e-3f"},
        {"1'000'000", "1'000'000"},
        {"a\\\nb", "ab"},
        {"a\\ \t\nb", "ab"},
        {"a\\\r\nb", "ab"},
        {"1\\\n2\\\n3+\\\n=4", "123 += 4"},
        {"\"a\\\nb\"", "\"ab\""},
        {"\"a\\\\\nn\"", "\"a\n\""},
        {"\"a\" \"b\"\n\"c\"", "\"abc\""},
        {"\"\\x41\\102\\u00e9\\n\"", "\"AB\xc3\xa9\n\""},
        {"u8\"a\" L\"b\"", "\"ab\""},
        {"R\"(a\\n\")\"", "\"a\\n\"\""},
        {"R\"x(a)\")x\" u8R\"(b)\"", "\"a)\"b\""},
        {"Rx u8 \"s\"", "Rx u8 \"s\""},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         "gr\xc3\xb6\xc3\x9f"
         "e"},
        {"'a' '\\n' L'b' '\\''", "'a' '\\n' L'b' '\\''"},
        {"#", ""},
        {"# // nothing\na", "a"},
        {"#pragma unroll\nfor", "{unroll } for"},
        {"#define N 4\n#pragma unroll N/2 // x\nfor", "{unroll 4 / 2 } for"},
        {"#pragma nounroll\n", "{nounroll }"},
        {"#pragma omp parallel\na", "a"},
        {"_Pragma(\"unroll 3\") for", "{unroll 3 } for"},
        {"#define UNROLL(n) _Pragma(#n)\nUNROLL(unroll 8) for", "{unroll 8 } for"}};
    (void)state;
    check_rows(rows, COUNT(rows));
}

/* The only token of a source. */
static kernel_token only(kernel_unit *u, const char *source)
{
    kernel_tokens tokens;
    assert_int_equal(kernel_unit_begin(u, 64 << 20), IG_OK);
    kernel_file *file = kernel_unit_text(u, "a.cu", source, strlen(source));
    assert_int_equal(kernel_preprocess(u, file, &pp_usual, &tokens), IG_OK);
    if (tokens.count != 2)
        print_message("%s: %u tokens\n", source, tokens.count);
    assert_int_equal(tokens.count, 2);
    return tokens.at[0];
}

static void test_integers(void **state)
{
    static const struct {
        const char *source;
        uint64_t value;
        kernel_literal_type type;
    } rows[] = {{"0", 0, LITERAL_INT},
                {"7", 7, LITERAL_INT},
                {"2147483647", 2147483647, LITERAL_INT},
                {"2147483648", 2147483648, LITERAL_LONG},
                {"0x7fffffff", 0x7fffffff, LITERAL_INT},
                {"0x80000000", 0x80000000, LITERAL_UINT},
                {"0xFFFFFFFFF", 0xFFFFFFFFF, LITERAL_LONG},
                {"0xffffffffffffffff", UINT64_MAX, LITERAL_ULONG},
                {"017", 15, LITERAL_INT},
                {"0b1010", 10, LITERAL_INT},
                {"1u", 1, LITERAL_UINT},
                {"4294967296U", 4294967296, LITERAL_ULONG},
                {"1l", 1, LITERAL_LONG},
                {"1LL", 1, LITERAL_LONGLONG},
                {"1uLL", 1, LITERAL_ULONGLONG},
                {"1llu", 1, LITERAL_ULONGLONG},
                {"18446744073709551615ull", UINT64_MAX, LITERAL_ULONGLONG},
                {"1'0'0", 100, LITERAL_INT},
                {"'a'", 'a', LITERAL_CHAR},
                {"'\\xff'", UINT64_MAX, LITERAL_CHAR},
                {"'\\0'", 0, LITERAL_CHAR},
                {"u'\\u20ac'", 0x20ac, LITERAL_CHAR16},
                {"U'\xf0\x9f\x98\x80'", 0x1f600, LITERAL_CHAR32},
                {"L'x'", 'x', LITERAL_WCHAR}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        kernel_unit u;
        const kernel_token t = only(&u, rows[i].source);
        assert_true(t.as.integer == rows[i].value);
        assert_int_equal(t.type, rows[i].type);
        assert_int_equal(u.diags.n_errors, 0);
        kernel_unit_end(&u);
    }
}

static void check_float(const char *source, double value, kernel_literal_type type)
{
    kernel_unit u;
    const kernel_token t = only(&u, source);
    assert_int_equal(t.kind, TOKEN_FLOAT);
    assert_int_equal(t.type, type);
    if (t.as.number != value)
        print_message("%s: %a\n", source, t.as.number);
    assert_true(t.as.number == value);
    assert_int_equal(u.diags.n_errors, 0);
    kernel_unit_end(&u);
}

static void test_floats(void **state)
{
    (void)state;
    check_float("1.0", 1, LITERAL_DOUBLE);
    check_float("1.", 1, LITERAL_DOUBLE);
    check_float(".5f", .5, LITERAL_FLOAT);
    check_float("0.1", 0.1, LITERAL_DOUBLE);
    check_float("0.1f", (double)0.1f, LITERAL_FLOAT);
    check_float("16777217.0f", 16777216, LITERAL_FLOAT);
    /* Rounded to double first, this would be the float below. */
    check_float("1.00000017881393432617187499f", (double)1.00000017881393432617187499f,
                LITERAL_FLOAT);
    check_float("3.14159265358979323846", 3.14159265358979323846, LITERAL_DOUBLE);
    check_float("1e-45f", (double)1e-45f, LITERAL_FLOAT);
    check_float("4.9e-324", 4.9e-324, LITERAL_DOUBLE);
    check_float("1e22", 1e22, LITERAL_DOUBLE);
    check_float("1e23", 1e23, LITERAL_DOUBLE);
    check_float("9007199254740993.0", 9007199254740992., LITERAL_DOUBLE);
    check_float("2.5L", 2.5, LITERAL_DOUBLE);
    check_float("0x1.8p3", 12, LITERAL_DOUBLE);
    check_float("0x1p-149f", 0x1p-149, LITERAL_FLOAT);
    check_float("1'0.2'5e0", 10.25, LITERAL_DOUBLE);
    for (int i = 0; i < 2000; i++) {
        char source[64];
        snprintf(source, sizeof source, "%d.%03de%df", i * 7919 % 9973, i * 31 % 1000, i % 30 - 15);
        check_float(source, (double)strtof(source, NULL), LITERAL_FLOAT);
        source[strlen(source) - 1] = '\0';
        check_float(source, strtod(source, NULL), LITERAL_DOUBLE);
    }
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        check_float("1.23456789012345678901234567890", 1.23456789012345678901234567890,
                    LITERAL_DOUBLE);
    setlocale(LC_NUMERIC, "C");
}

static void test_angles(void **state)
{
    kernel_unit u;
    kernel_tokens t;
    const char *source = "<<< << < < << < < < >>> > > > << >= >>= >>";
    (void)state;
    assert_int_equal(kernel_unit_begin(&u, 64 << 20), IG_OK);
    kernel_file *file = kernel_unit_text(&u, "a.cu", source, strlen(source));
    assert_int_equal(kernel_preprocess(&u, file, NULL, &t), IG_OK);
    static const int launches[] = {1, 2, 0, 2, 2, 3, 0, 0, 0};
    for (size_t i = 0; i < COUNT(launches); i++)
        assert_int_equal(kernel_token_launch(&t.at[i]), launches[i]);
    assert_int_equal(kernel_token_launch_end(&t.at[8]), 1);
    assert_int_equal(kernel_token_launch_end(&t.at[9]), 3);
    kernel_unit_end(&u);
}

static void test_names(void **state)
{
    kernel_unit u;
    kernel_tokens t;
    const char *source = "for x while x __global__ and";
    (void)state;
    assert_int_equal(kernel_unit_begin(&u, 64 << 20), IG_OK);
    kernel_file *file = kernel_unit_text(&u, "a.cu", source, strlen(source));
    assert_int_equal(kernel_preprocess(&u, file, NULL, &t), IG_OK);
    assert_int_equal(t.at[0].keyword, KEYWORD_for);
    assert_int_equal(t.at[2].keyword, KEYWORD_while);
    assert_int_equal(t.at[4].keyword, KEYWORD___global__);
    assert_int_equal(t.at[5].kind, TOKEN_AND_AND);
    assert_int_equal(t.at[1].keyword, KEYWORD_NONE);
    assert_ptr_equal(t.at[1].as.name, t.at[3].as.name);
    assert_ptr_equal(t.at[1].as.name, kernel_name_get(&u.names, "x", 1));
    kernel_unit_end(&u);
}

/* ---- macros ---- */

static void test_macros(void **state)
{
    static const row rows[] = {
        {"#define A 1\nA", "1"},
        {"#define A\nx A y", "x y"},
        {"#define A B\n#define B A\nA B", "A B"},
        {"#define A A + 1\nA", "A + 1"},
        {"#define A 1\n#undef A\nA", "A"},
        {"#undef NEVER\na", "a"},
        {"#define F(x) x + x\nF(1)", "1 + 1"},
        {"#define F(x) x\nF F (1) F\n(2)", "F 1 2"},
        {"#define F() 1\nF() F( )", "1 1"},
        {"#define F(x) [x]\nF()", "[ ]"},
        {"#define F(x, y) x-y\nF((1,2),{3)", "( 1 , 2 ) - { 3"},
        {"#define A (1)\nA", "( 1 )"},
        {"#define F(x) x\n#define G F(\nG 1)", "1"},
        {"#define F(x) <x>\n#define G F\nG(1) F(F(F(2)))", "< 1 > < < < 2 > > >"},
        /* A name that was found while its macro was being expanded is never expanded later. */
        {"#define F(x) x\n#define G(x) F(x(1)) x\nF(G)(G)", "G ( 1 ) G"},
        {"#define NIL(x) x\n#define G0(x) NIL(G1)(x)\n#define G1(x) NIL(G0)(x)\nG0(42)",
         "G0 ( 42 )"},
        {"#define F(a) a*G\n#define G(a) F(a)\nF(2)(9)", "2 * 9 * G"},
        {"#define F(x) #x\nF(a  +\n b)", "\"a + b\""},
        {"#define F(x) #x\nF(\"a\\n\" '\"')", "\"\"a\\n\" '\"'\""},
        {"#define F(x) # x\n#define A 1\nF(A) F()", "\"A\""},
        {"#define F(x) #x\n#define G(x) F(x)\n#define A 1\nG(A)", "\"1\""},
        {"#define F(x, y) x##y\nF(a, b) F(1, 2) F(, b) F(a, ) F(,)", "ab 12 b a"},
        {"#define F(x, y) x##y\n#define ab 3\n#define a 4\nF(a, b) F(+, +) F(<<, <)", "3 ++ <<<"},
        {"#define F(x, y) a x##y b\nF(,) F(1, 2 3) F(1 2, 3)", "a b a 12 3 b a 1 23 b"},
        {"#define A x ## y\nA", "xy"},
        {"#define T(x, y, z) x##y##z\nT(1,2,3) T(,4,5) T(6,,7) T(8,9,) T(10,,) T(,,12) T(,,)",
         "123 45 67 89 10 12"},
        {"#define F(...) [__VA_ARGS__]\nF() F(1) F(1, 2)", "[ ] [ 1 ] [ 1 , 2 ]"},
        {"#define F(a, ...) [a|__VA_ARGS__]\nF(1) F(1, 2, 3)", "[ 1 | ] [ 1 | 2 , 3 ]"},
        {"#define F(a, r...) a(r)\nF(f, 1, 2)", "f ( 1 , 2 )"},
        {"#define F(a, ...) f(a, ##__VA_ARGS__)\nF(1) F(1,) F(1, 2, 3)",
         "f ( 1 ) f ( 1 ) f ( 1 , 2 , 3 )"},
        {"#define F(a, ...) f(a __VA_OPT__(, (x)) __VA_ARGS__)\nF(1) F(1, 2)",
         "f ( 1 ) f ( 1 , ( x ) 2 )"},
        {"#define F(...) #__VA_ARGS__\nF(a, b,c)", "\"a, b,c\""},
        {"#define F(x, x2) x2 x\n#define x2 no\nF(1, 2)", "2 1"},
        {"#define F(x) x\nF(\n#ifdef F\n1\n#else\n2\n#endif\n)", "1"},
        {"#define F(x) {x}\nF(\n#pragma unroll\nfor)", "{ {unroll } for }"},
        {"__LINE__\n__LINE__ __FILE__", "1 2 \"a.cu\""},
        {"#define L __LINE__\nL\nL", "2 3"},
        {"__COUNTER__ __COUNTER__", "0 1"},
        {"#define CAT(a, b) a##b\n#define XCAT(a, b) CAT(a, b)\nXCAT(v, __COUNTER__)", "v0"},
        {"#line 70\n__LINE__\n__LINE__", "70 71"},
        {"#line 7 \"b.cu\"\n__LINE__ __FILE__", "7 \"b.cu\""},
        {"# 7 \"b.cu\" 2\n__LINE__ __FILE__", "7 \"b.cu\""},
        {"#define CHECK(x) do { \\\n  if (x) /* why */ \\\n    go(#x); \\\n} while (0)\nCHECK(a < "
         "b);",
         "do { if ( a < b ) go ( \"a < b\" ) ; } while ( 0 ) ;"},
        {"#define assert(x) my(x)\n#include <assert.h>\nassert(1)", "assert ( 1 )"},
        {"#define NDEBUG\n#include <cassert>\nassert(1)", "( ( void ) 0 )"}};
    (void)state;
    check_rows(rows, COUNT(rows));
}

/* Like the standard's examples: nested uses, recursive names, operators in arguments. */
static void test_rescanning(void **state)
{
    (void)state;
    pp_check(
        "#define n 3\n#define f(a) f(n * (a))\n#undef n\n#define n 2\n#define g f\n"
        "#define z z[0]\n#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n"
        "f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);\n"
        "g(n+(3,4)-w) | h 5) & m\n(f)^m(m);",
        "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( z [ 0 ] ) ) ) ) % f ( 2 * ( 0 ) ) + t ( 1 ) ; "
        "f ( 2 * ( 2 + ( 3 , 4 ) - 0 , 1 ) ) | f ( 2 * ( ~ 5 ) ) & f ( 2 * ( 0 , 1 ) ) ^ m ( 0 , "
        "1 ) ;",
        "");
    pp_check("#define hash_hash # ## #\n#define mkstr(a) # a\n#define between(a) mkstr(a)\n"
             "#define join(c, d) between(c hash_hash d)\njoin(p, q)",
             "\"p ## q\"", "");
    pp_check(
        "#define str(s) # s\n#define xstr(s) str(s)\n#define glue(a, b) a ## b\n"
        "#define xglue(a, b) glue(a, b)\n#define HIGHLOW \"hello\"\n#define LOW LOW \", world\"\n"
        "xstr(glue(v, 2).h); glue(HIGH, LOW); xglue(HIGH, LOW)",
        "\"v2.h\" ; \"hello\" ; \"hello, world\"", "");
}

/* ---- conditionals ---- */

static void test_conditions(void **state)
{
    static const struct {
        const char *expression;
        bool value;
    } rows[] = {{"1", true},
                {"0", false},
                {"1 + 1 == 2", true},
                {"2 + 3 * 4 == 14", true},
                {"(2 + 3) * 4 == 20", true},
                {"10 - 3 - 2 == 5", true},
                {"100 / 10 / 5 == 2", true},
                {"7 % 4 == 3", true},
                {"-7 / 2 == -3", true},
                {"-1 < 0", true},
                {"-1 < 0u", false},
                {"-1 >> 1 == -1", true},
                {"1 << 4 == 16", true},
                {"~0 == -1", true},
                {"!0 && !!1", true},
                {"1 ? 2 : 0", true},
                {"0 ? 1 : 0 ? 1 : 0", false},
                {"0 ? 1 / 0 : 1", true},
                {"1 || 1 / 0", true},
                {"0 && 1 / 0", false},
                {"(1 | 2) == 3 && (3 & 6) == 2 && (3 ^ 1) == 2", true},
                {"'a' == 97", true},
                {"'\\xff' < 0", true},
                {"0x10 == 16 && 010 == 8 && 0b11 == 3", true},
                {"18446744073709551615u > 0", true},
                {"0x7fffffffffffffff + 1 < 0", true},
                {"(-9223372036854775807 - 1) / -1 < 0", true},
                {"unknown", false},
                {"true", true},
                {"false", false},
                {"defined A", true},
                {"defined(A) && !defined(B)", true},
                {"A == 5", true},
                {"F(2) == 4", true},
                {"not 0 and 1", true},
                {"__CUDACC__ && __INGOT__ && __cplusplus >= 201103L", true},
                {"CUDART_VERSION >= 9000", true},
                {"INT_MAX == 2147483647", true},
                {"__has_include(<math.h>)", true},
                {"__has_include(\"once.h\") && !__has_include(\"none.h\")", true},
                {"defined __has_include", true},
                {"__LINE__ == 3", true}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char source[256];
        snprintf(source, sizeof source,
                 "#define A 5\n#define F(x) (x + x)\n#if %s // why\nyes\n#else\nno\n#endif",
                 rows[i].expression);
        pp_check(source, rows[i].value ? "yes" : "no", "");
    }
}

static void test_groups(void **state)
{
    static const row rows[] = {
        {"#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif", "b"},
        {"#if 1\na\n#elif garbage (\nb\n#endif", "a"},
        {"#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"},
        {"#if 0\n#if (\n#elif )\n#bogus\n#include \"none\"\ndon't /* #endif */ "
         "\"#endif\n#endif\n#endif\na",
         "a"},
        {"#if 0\n// \\\n#endif\n#else\na\n#endif", "a"},
        {"#if 0\n/*\n#endif\n*/\n# /**/ endif\na", "a"},
        {"#ifdef A\na\n#else\nb\n#endif", "b"},
        {"#ifndef A\na\n#else\nb\n#endif", "a"},
        {"#if 1 /* several\nlines */\na\n#endif /* and\nmore */ b", "a"},
        {"#if 0\n#error no\n#warning no\n#endif", ""},
        {"#include \"guarded.h\"\n#include \"guarded.h\"\na", "guarded a"},
        {"#include \"once.h\"\n#include \"once.h\"\n#include \"./once.h\"\na", "once a"},
        {"#define X(n) +n\n#include \"x.def\"\n#undef X\n#define X(n) -n\n#include \"x.def\"",
         "+ a + b - a - b"},
        {"#include \"outer.h\"\nlast __FILE__", "begin inner \"inner.h\" end last \"a.cu\""},
        {"#define H \"once.h\"\n#include H", "once"},
        {"#define A x\n#define H <A.def>\n#define X(n) n\n#include H", "a b"},
        {"#include <cuda_runtime.h>\n#include <stdio.h>\n#include <cstdint>\nUINT8_MAX", "255"},
        {"#include <float.h>\nFLT_MAX", "3.40282346638528859812e+38f"}};
    (void)state;
    check_rows(rows, COUNT(rows));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tokens),     TEST(test_integers),   TEST(test_floats),
        TEST(test_angles),     TEST(test_names),      TEST(test_macros),
        TEST(test_rescanning), TEST(test_conditions), TEST(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
