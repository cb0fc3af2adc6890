/* The lexer and the preprocessor of CUDA C: a source gives these tokens, and these words about its
 * mistakes. Expected texts are tokens with one space between them; strings are shown as they mean. */
#include "support/folder.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "kernel/preprocess.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- running it ---- */

typedef struct result {
    ig_status status;
    char *tokens, *diags;
    uint32_t n_errors;
} result;

static const struct {
    const char *name, *text;
} included[] = {{"guarded.h", "#ifndef GUARD\n#define GUARD\nguarded\n#endif\n"},
                {"once.h", "#pragma once\nonce\n"},
                {"x.def", "X(a)\nX(b)\n"},
                {"outer.h", "begin\n#include \"inner.h\"\nend\n"},
                {"inner.h", "inner __FILE__\n"},
                {"itself.h", "#include \"itself.h\"\n"},
                {"open.h", "#if 1\n"},
                {"mistake.h", "int x = 08;\n"},
                {"half.h", "TWICE(1\n"}};

static const char *find(void *context, const char *name, bool quoted, size_t *bytes)
{
    (void)context;
    (void)quoted;
    for (size_t i = 0; i < COUNT(included); i++)
        if (strcmp(included[i].name, name) == 0) {
            *bytes = strlen(included[i].text);
            return included[i].text;
        }
    return NULL;
}

static void show(text *out, const kernel_tokens *tokens)
{
    for (uint32_t i = 0; i + 1 < tokens->count; i++) {
        const kernel_token *t = &tokens->at[i];
        text_add(out, "%s", i ? " " : "");
        if (t->kind == TOKEN_STRING)
            text_add(out, "\"%s\"", t->as.string->text);
        else if (t->kind == TOKEN_PRAGMA)
            text_add(out, "{%s", t->as.name->text);
        else if (t->kind == TOKEN_PRAGMA_END)
            text_add(out, "}");
        else
            text_add(out, "%.*s", (int)t->bytes, t->text);
    }
}

/* From a copy of exactly its size, so that a sanitizer sees a byte too many. */
static result run_bytes(const char *source, size_t bytes, const kernel_options *options)
{
    kernel_unit u;
    kernel_tokens tokens = {0};
    result r = {.status = kernel_unit_begin(&u, (size_t)512 << 20)};
    char *copy = malloc(bytes ? bytes : 1);
    memcpy(copy, source, bytes);
    kernel_file *file = r.status == IG_OK ? kernel_unit_text(&u, "a.cu", copy, bytes) : NULL;
    free(copy);
    r.status = file ? kernel_preprocess(&u, file, options, &tokens) : IG_ERR_MEMORY;
    if (r.status == IG_OK) {
        text shown = {0}, said = {0};
        show(&shown, &tokens);
        kernel_diags_render(&u.diags, false, &said);
        assert_int_equal(tokens.at[tokens.count - 1].kind, TOKEN_END);
        r.tokens = text_take(&shown);
        r.diags = text_take(&said);
        r.n_errors = u.diags.n_errors;
    }
    kernel_unit_end(&u);
    return r;
}

static const kernel_options usual = {.no_disk = true, .find = find};

static result run(const char *source) { return run_bytes(source, strlen(source), &usual); }

static void drop(result r)
{
    memory_free(r.tokens);
    memory_free(r.diags);
}

static void check(const char *source, const char *tokens, const char *diags)
{
    const result r = run(source);
    assert_int_equal(r.status, IG_OK);
    if (strcmp(r.tokens, tokens) != 0 || strcmp(r.diags, diags) != 0)
        print_message("of this source:\n%s\n", source);
    assert_string_equal(r.diags, diags);
    assert_string_equal(r.tokens, tokens);
    drop(r);
}

/* ---- tokens ---- */

typedef struct row {
    const char *source, *tokens;
} row;

static void check_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(rows[i].source, rows[i].tokens, "");
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

/* The one token of a source. */
static kernel_token only(kernel_unit *u, const char *source)
{
    kernel_tokens tokens;
    assert_int_equal(kernel_unit_begin(u, 64 << 20), IG_OK);
    kernel_file *file = kernel_unit_text(u, "a.cu", source, strlen(source));
    assert_int_equal(kernel_preprocess(u, file, &usual, &tokens), IG_OK);
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
    kernel_token end = t.at[8];
    assert_true(kernel_token_split(&end) && end.kind == TOKEN_SHR &&
                end.place == t.at[8].place + 1);
    assert_true(kernel_token_split(&end) && end.kind == TOKEN_GT && end.bytes == 1);
    assert_false(kernel_token_split(&end));
    end = t.at[13];
    assert_true(kernel_token_split(&end) && end.kind == TOKEN_ASSIGN);
    end = t.at[14];
    assert_true(kernel_token_split(&end) && end.kind == TOKEN_GE);
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
        /* A name that was met while busy stays as it is, wherever it goes then. */
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

/* The examples of the standard's kind: nested uses, names that come back, operators in arguments. */
static void test_rescanning(void **state)
{
    (void)state;
    check("#define n 3\n#define f(a) f(n * (a))\n#undef n\n#define n 2\n#define g f\n"
          "#define z z[0]\n#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n"
          "f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);\n"
          "g(n+(3,4)-w) | h 5) & m\n(f)^m(m);",
          "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( z [ 0 ] ) ) ) ) % f ( 2 * ( 0 ) ) + t ( 1 ) ; "
          "f ( 2 * ( 2 + ( 3 , 4 ) - 0 , 1 ) ) | f ( 2 * ( ~ 5 ) ) & f ( 2 * ( 0 , 1 ) ) ^ m ( 0 , "
          "1 ) ;",
          "");
    check("#define hash_hash # ## #\n#define mkstr(a) # a\n#define between(a) mkstr(a)\n"
          "#define join(c, d) between(c hash_hash d)\njoin(p, q)",
          "\"p ## q\"", "");
    check("#define str(s) # s\n#define xstr(s) str(s)\n#define glue(a, b) a ## b\n"
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
        check(source, rows[i].value ? "yes" : "no", "");
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

/* ---- mistakes, word by word ---- */

static void test_mistakes(void **state)
{
    static const struct {
        const char *source, *tokens, *diags;
    } rows[] = {
        {"int x = 08;\n", "int x = 08 ;",
         "a.cu:1:9: error: an octal number (it begins with 0) has no digit 8\n"
         "    int x = 08;\n"
         "            ^~\n"},
        {"\tint x = 12abc;", "int x = 12abc ;",
         "a.cu:1:10: error: a number does not end with 'abc'\n"
         "        int x = 12abc;\n"
         "                ^~~~~\n"},
        {"99999999999999999999", "99999999999999999999",
         "a.cu:1:1: error: this integer is larger than 64 bits\n"
         "    99999999999999999999\n"
         "    ^~~~~~~~~~~~~~~~~~~~\n"},
        {"f(\"abc);\ng", "f ( \"\" g",
         "a.cu:1:3: error: the closing \" is missing on this line\n"
         "    f(\"abc);\n"
         "      ^\n"},
        {"a @ b", "a b",
         "a.cu:1:3: error: the character '@' (0x40) is not C here\n"
         "    a @ b\n"
         "      ^\n"},
        {"a /* b", "a",
         "a.cu:1:3: error: this comment has no end\n"
         "    a /* b\n"
         "      ^\n"},
        {"printf(\xe2\x80\x9chi\xe2\x80\x9d)", "printf ( )",
         "a.cu:1:8: error: the character U+201C is not C\n"
         "    printf(\xe2\x80\x9chi\xe2\x80\x9d)\n"
         "           ^~~~\n"
         "  do:  type the quote, dash or space anew: it was changed when it was copied\n"},
        {"#error this is not for you\na", "a",
         "a.cu:1:1: error: #error this is not for you\n"
         "    #error this is not for you\n"
         "    ^\n"},
        {"#warning old", "",
         "a.cu:1:1: warning: #warning old\n"
         "    #warning old\n"
         "    ^\n"},
        {"#bogus 1\na", "a",
         "a.cu:1:2: error: there is no directive #bogus\n"
         "    #bogus 1\n"
         "     ^~~~~\n"},
        {"#if 1\na", "a",
         "a.cu:1:1: error: this conditional has no #endif\n"
         "    #if 1\n"
         "    ^\n"},
        {"#endif\n#else\na", "a",
         "a.cu:1:1: error: #endif without #if\n"
         "    #endif\n"
         "    ^\n"
         "a.cu:2:1: error: #else without #if\n"
         "    #else\n"
         "    ^\n"},
        {"#if 1 / 0\na\n#endif\nb", "b",
         "a.cu:1:7: error: this #if divides by zero\n"
         "    #if 1 / 0\n"
         "          ^\n"},
        {"#if (1\n#endif\n#if 1 2\n#endif\n#if 1.5\n#endif\n#if\n#endif", "",
         "a.cu:1:1: error: a ')' is missing in this #if\n"
         "    #if (1\n"
         "    ^\n"
         "a.cu:3:7: error: an #if has an operator between values, and here is '2'\n"
         "    #if 1 2\n"
         "          ^\n"
         "a.cu:5:5: error: an #if takes integers only, and here is '1.5'\n"
         "    #if 1.5\n"
         "        ^~~\n"
         "a.cu:7:1: error: this condition is empty\n"
         "    #if\n"
         "    ^\n"},
        {"#define TWICE(x) x x\nTWICE(1, 2)\nTWICE(1", "1 1 TWICE",
         "a.cu:2:1: error: macro 'TWICE' takes 1 argument, and 2 are given\n"
         "    TWICE(1, 2)\n"
         "    ^~~~~\n"
         "a.cu:1:9: note: 'TWICE' is defined here\n"
         "    #define TWICE(x) x x\n"
         "            ^~~~~\n"
         "a.cu:3:1: error: this use of macro 'TWICE' has no closing ')'\n"
         "    TWICE(1\n"
         "    ^~~~~\n"},
        {"#define A 1\n#define A 2\n#define A 2\nA", "2",
         "a.cu:2:9: warning: macro 'A' is defined anew, with another meaning\n"
         "    #define A 2\n"
         "            ^\n"
         "a.cu:1:9: note: it was defined here\n"
         "    #define A 1\n"
         "            ^\n"},
        {"#define OLD 0778\n#define NEW OLD + 1\nint i = NEW;", "int i = 0778 + 1 ;",
         "a.cu:3:9: error: an octal number (it begins with 0) has no digit 8\n"
         "    int i = NEW;\n"
         "            ^~~\n"
         "a.cu:1:13: note: in the macro 'OLD'\n"
         "    #define OLD 0778\n"
         "                ^~~~\n"
         "a.cu:2:13: note: in the macro 'NEW'\n"
         "    #define NEW OLD + 1\n"
         "                ^~~\n"},
        {"#define F(x) x\nF(\n  1zz)", "1zz",
         "a.cu:3:3: error: a number does not end with 'zz'\n"
         "      1zz)\n"
         "      ^~~\n"},
        {"#define P(a, b) a##b\nP(+, x)", "+ x",
         "a.cu:2:3: error: '+' and 'x' pasted by ## are no token\n"
         "    P(+, x)\n"
         "      ^\n"},
        {"#define F(x) #y\n#define G x ##\n#define H(a, a) a\n#define defined\n#define 1\nF(1)",
         "F ( 1 )",
         "a.cu:1:14: error: # in macro 'F' is not before one of its parameters\n"
         "    #define F(x) #y\n"
         "                 ^\n"
         "a.cu:2:13: error: ## at an end of a macro has nothing to paste\n"
         "    #define G x ##\n"
         "                ^\n"
         "a.cu:3:14: error: two parameters of macro 'H' are called 'a'\n"
         "    #define H(a, a) a\n"
         "                 ^\n"
         "a.cu:4:9: error: 'defined' cannot be a macro\n"
         "    #define defined\n"
         "            ^~~~~~~\n"
         "a.cu:5:9: error: #define wants the name of a macro, and here is something else\n"
         "    #define 1\n"
         "            ^\n"},
        {"#include <thrust/sort.h>\n", "",
         "a.cu:1:10: error: 'thrust/sort.h' belongs to Thrust, which is not part of Ingot "
         "[IG-LIB]\n"
         "    #include <thrust/sort.h>\n"
         "             ^~~~~~~~~~~~~~~\n"
         "  do:  write the step as a kernel: block-wide sums and scans take some lines of "
         "shuffles\n"},
        {"#include \"none.h\"\na", "a",
         "a.cu:1:10: error: cannot find the file 'none.h'\n"
         "    #include \"none.h\"\n"
         "             ^~~~~~~~\n"
         "  do:  name the folder that it is in with -I; the folder of the file that includes it "
         "was "
         "looked at\n"},
        {"#include \"mistake.h\"", "int x = 08 ;",
         "mistake.h:1:9: error: an octal number (it begins with 0) has no digit 8\n"
         "    int x = 08;\n"
         "            ^~\n"
         "a.cu:1:10: note: 'mistake.h' is included here\n"},
        {"#include \"open.h\"\na", "a",
         "open.h:1:1: error: this conditional has no #endif\n"
         "    #if 1\n"
         "    ^\n"
         "a.cu:1:10: note: 'open.h' is included here\n"},
        {"#define TWICE(x) x x\n#include \"half.h\"\na)", "TWICE a )",
         "half.h:1:1: error: this use of macro 'TWICE' has no closing ')'\n"
         "    TWICE(1\n"
         "    ^~~~~\n"
         "a.cu:2:10: note: 'half.h' is included here\n"},
        {"#line 90 \"b.cu\"\n08", "08",
         "b.cu:90:1: error: an octal number (it begins with 0) has no digit 8\n"
         "    08\n"
         "    ^~\n"},
        {"# 08 x\n08", "08",
         "a.cu:1:3: error: an octal number (it begins with 0) has no digit 8\n"
         "    # 08 x\n"
         "      ^~\n"
         "a.cu:1:1: error: #line wants a number and, if you like, a \"name\"\n"
         "    # 08 x\n"
         "    ^\n"
         "a.cu:2:1: error: an octal number (it begins with 0) has no digit 8\n"
         "    08\n"
         "    ^~\n"},
        {"'' '\\q' \"\\x\" 1e400", "'' '\\q' \"\" 1e400",
         "a.cu:1:1: error: there is no character between these quotes\n"
         "    '' '\\q' \"\\x\" 1e400\n"
         "    ^~\n"
         "a.cu:1:4: error: there is no escape '\\q'\n"
         "    '' '\\q' \"\\x\" 1e400\n"
         "       ^~~~\n"
         "a.cu:1:9: error: \\x without digits\n"
         "    '' '\\q' \"\\x\" 1e400\n"
         "            ^~~~\n"
         "a.cu:1:14: warning: this number is too large for double and is infinity\n"
         "    '' '\\q' \"\\x\" 1e400\n"
         "                 ^~~~~\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check(rows[i].source, rows[i].tokens, rows[i].diags);
}

/* A long line is cut around the caret, at whole characters. */
static void test_long_line(void **state)
{
    char source[1000] = "", expected[600];
    (void)state;
    for (int i = 0; i < 200; i++)
        strcat(source, "\xc3\xa9");
    strcat(source, " 08 ");
    for (int i = 0; i < 200; i++)
        strcat(source, "x");
    const result r = run(source);
    assert_non_null(strstr(r.diags, "    ...\xc3\xa9"));
    assert_non_null(strstr(r.diags, "xxx...\n"));
    const char *line = strchr(r.diags, '\n') + 1, *marks = strchr(line, '\n') + 1;
    snprintf(expected, sizeof expected, "%*s^~\n", 4 + 3 + 26, "");
    assert_string_equal(marks, expected);
    drop(r);
}

/* Why, what to do, and what is underlined; said twice it stands once, and there is an end to it. */
static void test_diags(void **state)
{
    kernel_unit u;
    text out = {0};
    const char *source = "y[i] = a * x[i];\n";
    (void)state;
    assert_int_equal(kernel_unit_begin(&u, 64 << 20), IG_OK);
    const kernel_place at = kernel_unit_text(&u, "s.cu", source, strlen(source))->first;
    jmp_buf escape;
    u.arena.escape = &escape;
    assert_int_equal(setjmp(escape), 0);
    for (int i = 0; i < 2; i++) {
        diag_error(&u.diags, at + 9, "IG-F64", "'%s' is not there", "double");
        diag_why(&u.diags, "Apple GPUs have none");
        diag_do(&u.diags, "run on the CPU");
        diag_underline(&u.diags, at + 7, at + 11);
        diag_note(&u.diags, at, "stored here");
    }
    for (int i = 0; i < 100; i++) {
        diag_warning(&u.diags, 0, NULL, "number %d", i);
        diag_note(&u.diags, 0, "of %d", i);
    }
    assert_int_equal(u.diags.n_errors, 1);
    assert_int_equal(u.diags.n_warnings, 100);
    kernel_diags_render(&u.diags, false, &out);
    char *said = text_take(&out);
    static const char first[] = "s.cu:1:10: error: 'double' is not there [IG-F64]\n"
                                "    y[i] = a * x[i];\n"
                                "           ~~^~~\n"
                                "  why: Apple GPUs have none\n"
                                "  do:  run on the CPU\n"
                                "s.cu:1:1: note: stored here\n"
                                "    y[i] = a * x[i];\n"
                                "    ^\n"
                                "warning: number 0\n"
                                "note: of 0\n"
                                "warning: number 1\n";
    assert_memory_equal(said, first, sizeof first - 1);
    assert_non_null(strstr(said, "number 48\nnote: of 48\nand 51 more errors and warnings\n"));
    memory_free(said);
    kernel_diag_render(&u.source, u.diags.first, true, &out);
    said = text_take(&out);
    assert_non_null(strstr(said, "\033[1;31merror: \033[0m"));
    memory_free(said);
    kernel_unit_end(&u);
}

/* ---- options and files ---- */

static void test_options(void **state)
{
    static const char *const defines[] = {"A", "B=2", "F(x)=<x>", "__CUDA_ARCH__=800", "C=1=1"};
    kernel_options o = usual;
    (void)state;
    o.defines = defines;
    o.n_defines = COUNT(defines);
    const char *source = "A B F(3) __CUDA_ARCH__ C";
    result r = run_bytes(source, strlen(source), &o);
    assert_string_equal(r.tokens, "1 2 < 3 > 800 1 = 1");
    assert_string_equal(r.diags, "");
    drop(r);

    o.skip_unknown = true;
    source = "#include <thrust/x.h>\n#include \"cublas_v2.h\"\n#include <no/such>\na";
    r = run_bytes(source, strlen(source), &o);
    assert_string_equal(r.tokens, "a");
    assert_string_equal(r.diags, "");
    drop(r);
}

static void test_files(void **state)
{
    static const char source[] = "#include \"near.h\"\n#include <far.h>\n#include \"absent.h\"\n";
    (void)state;
    const char *folders[] = {folder_itself()};
    const kernel_options o = {.folders = folders, .n_folders = 1};
    kernel_unit u;
    kernel_tokens t;
    folder_put(folder_path("main.cu"), source, sizeof source - 1);
    folder_put(folder_path("near.h"), "#pragma once\nnear", 17);
    folder_put(folder_path("far.h"), "#include \"near.h\"\nfar", 21);
    assert_int_equal(kernel_unit_begin(&u, 64 << 20), IG_OK);
    kernel_file *file = kernel_unit_read(&u, folder_path("main.cu"));
    assert_non_null(file);
    assert_int_equal(kernel_preprocess(&u, file, &o, &t), IG_OK);
    text out = {0};
    show(&out, &t);
    char *tokens = text_take(&out);
    assert_string_equal(tokens, "near far");
    memory_free(tokens);
    assert_int_equal(u.diags.n_errors, 1);
    assert_null(kernel_unit_read(&u, folder_path("none.cu")));
    assert_error(IG_ERR_FILE, "none.cu: cannot be read");
    assert_null(kernel_unit_read(&u, folder_itself()));
    assert_error(IG_ERR_FILE, "it is not a file");
    kernel_unit_end(&u);
    for (size_t i = 0; i < 3; i++)
        remove(folder_path(((const char *[]){"main.cu", "near.h", "far.h"})[i]));
}

/* ---- hostile sources ---- */

/* n times a piece, and n times ')'. */
static char *nested(const char *before, const char *piece, size_t n)
{
    const size_t bytes = strlen(before) + n * (strlen(piece) + 1) + 1;
    char *source = malloc(bytes), *p = source;
    p += sprintf(p, "%s", before);
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s", piece);
    memset(p, ')', n);
    p[n] = '\0';
    return source;
}

/* A source of n times a piece between two ends. */
static char *repeated(const char *before, const char *piece, size_t n, const char *behind)
{
    const size_t bytes = strlen(before) + n * strlen(piece) + strlen(behind) + 1;
    char *source = malloc(bytes), *p = source;
    p += sprintf(p, "%s", before);
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s", piece);
    sprintf(p, "%s", behind);
    return source;
}

static void check_hostile(char *source, const char *part)
{
    const result r = run(source);
    assert_int_equal(r.status, IG_OK);
    if (!strstr(r.diags, part))
        print_message("not '%s' but\n%s\n", part, r.diags);
    assert_non_null(strstr(r.diags, part));
    drop(r);
    free(source);
}

static void test_hostile(void **state)
{
    (void)state;
    char bomb[2000] = "#define A0 x x x x\n";
    for (int i = 1; i < 30; i++)
        sprintf(bomb + strlen(bomb), "#define A%d A%d A%d A%d A%d\n", i, i - 1, i - 1, i - 1,
                i - 1);
    check_hostile(repeated(bomb, "", 0, "A29"), "macros expand to more than 4194304 tokens");
    char calls[2000] = "#define F0(x) x x x x\n";
    for (int i = 1; i < 30; i++)
        sprintf(calls + strlen(calls), "#define F%d(x) F%d(x x) F%d(x x)\n", i, i - 1, i - 1);
    check_hostile(repeated(calls, "", 0, "F29(y)"), "macros expand to more than 4194304 tokens");
    check_hostile(repeated("#include \"itself.h\"\n", "", 0, ""),
                  "files include each other more than 64 deep");
    check_hostile(nested("#define F(x) x\n", "F(", 300), "nested more than 200 deep");
    check_hostile(nested("#define F(x) x\n", "F(", 100000),
                  "macros expand to more than 4194304 tokens");
    check_hostile(repeated("#define F(x) x\n", "F(", 100000, ""), "has no closing ')'");
    check_hostile(repeated("#if ", "(", 100000, "\n#endif"), "this #if is nested too deep");
    check_hostile(repeated("#if ", "-", 100000, "\n#endif"), "an #if wants a value");
    check_hostile(repeated("", "#if 1\n", 100000, ""), "this conditional has no #endif");
    check_hostile(repeated("#if 0\n", "#if 1\n", 100000, ""), "this conditional has no #endif");
    check_hostile(repeated("", "08 ", 1000, ""), "and 950 more errors and warnings");
    check_hostile(repeated("a\\\n", "\\\n", 100000, "b /*"), "this comment has no end");
    check_hostile(repeated("\"", "\\\n", 100000, ""), "the closing \" is missing");
    check_hostile(repeated("", "R\"(", 10000, ""), "the closing \" is missing");
}

static void test_cap(void **state)
{
    kernel_unit u;
    kernel_tokens t;
    (void)state;
    char *source = repeated("", "a b c d ", 100000, "");
    assert_int_equal(kernel_unit_begin(&u, 4 << 20), IG_OK);
    kernel_file *file = kernel_unit_text(&u, "a.cu", source, strlen(source));
    assert_non_null(file);
    assert_int_equal(kernel_preprocess(&u, file, NULL, &t), IG_ERR_MEMORY);
    assert_error(IG_ERR_MEMORY, "more than 4 MiB of memory");
    kernel_unit_end(&u);
    free(source);
}

/* Each allocation may fail: an error, and nothing is left. */
static void test_no_memory(void **state)
{
    (void)state;
    char *source = repeated("#define F(x) x #x 1.5f\n", "F(a \"b\") 0x1.8p3\n", 3000, "08");
    const int64_t live = memory_live();
    bool failed = true;
    for (int64_t n = 1; failed; n++) {
        memory_fail_at(n);
        kernel_unit u;
        kernel_tokens t;
        ig_status status = kernel_unit_begin(&u, (size_t)64 << 20);
        kernel_file *file =
            status == IG_OK ? kernel_unit_text(&u, "a.cu", source, strlen(source)) : NULL;
        status = file ? kernel_preprocess(&u, file, &usual, &t) : IG_ERR_MEMORY;
        failed = status != IG_OK;
        memory_fail_at(0);
        kernel_unit_end(&u);
        if (failed)
            assert_error(IG_ERR_MEMORY, "out of memory");
        assert_int_equal(memory_live(), live);
        assert_true(n < 1000);
    }
    free(source);
}

/* Any prefix and any damage of a real source ends well. */
static void test_damages(void **state)
{
    static const char source[] =
        "#define CHECK(x, ...) do { if (!(x)) printf(\"%s\" #x, ##__VA_ARGS__); } while (0)\n"
        "#if defined(A) && (B > 1 ? 2 : 3)\n#include \"x.def\"\n#elif 1\n/* c */ R\"d(e)d\" 'f'\n"
        "#endif // g \\\n h\n#pragma unroll 4\nCHECK(a##b << <1, 2>> >(3.5e+2f, 0x1p3, "
        "u8\"i\\n\"))\n";
    (void)state;
    for (size_t n = 0; n < sizeof source; n++)
        drop(run_bytes(source, n, &usual));
    static const char bytes[] = "\0\n\\\"'(#)/*,\xff";
    for (size_t n = 0; n < sizeof source - 1; n++)
        for (size_t i = 0; i < sizeof bytes - 1; i++) {
            char damaged[sizeof source];
            memcpy(damaged, source, sizeof source);
            damaged[n] = bytes[i];
            const result r = run_bytes(damaged, sizeof source - 1, &usual);
            assert_int_equal(r.status, IG_OK);
            drop(r);
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tokens),
        TEST(test_integers),
        TEST(test_floats),
        TEST(test_angles),
        TEST(test_names),
        TEST(test_macros),
        TEST(test_rescanning),
        TEST(test_conditions),
        TEST(test_groups),
        TEST(test_mistakes),
        TEST(test_long_line),
        TEST(test_diags),
        TEST(test_options),
        cmocka_unit_test_setup_teardown(test_files, folder_begin, folder_end),
        TEST(test_hostile),
        TEST(test_cap),
        TEST(test_no_memory),
        TEST(test_damages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
