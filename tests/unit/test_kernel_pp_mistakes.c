/* Errors of the preprocessor of CUDA C: diagnostics, missing files, hostile sources, exhausted memory. */
#include "support/folder.h"
#include "support/preprocessed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

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
         "  do:  retype the quote, dash or space: copying changed it\n"},
        {"#error this is not for you\na", "a",
         "a.cu:1:1: error: #error this is not for you\n"
         "    #error this is not for you\n"
         "    ^\n"},
        {"#warning old", "",
         "a.cu:1:1: warning: #warning old\n"
         "    #warning old\n"
         "    ^\n"},
        {"#bogus 1\na", "a",
         "a.cu:1:2: error: unknown directive #bogus\n"
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
         "a.cu:2:1: error: macro 'TWICE' takes 1 argument, but 2 are given\n"
         "    TWICE(1, 2)\n"
         "    ^~~~~\n"
         "a.cu:1:9: note: 'TWICE' is defined here\n"
         "    #define TWICE(x) x x\n"
         "            ^~~~~\n"
         "a.cu:3:1: error: this use of macro 'TWICE' has no closing ')'\n"
         "    TWICE(1\n"
         "    ^~~~~\n"},
        {"#define A 1\n#define A 2\n#define A 2\nA", "2",
         "a.cu:2:9: warning: macro 'A' is redefined with a different body\n"
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
         "a.cu:2:3: error: '+' and 'x' pasted by ## do not make a token\n"
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
         "a.cu:5:9: error: #define expects the name of a macro, found something else\n"
         "    #define 1\n"
         "            ^\n"},
        {"#include <thrust/next.h>\n", "",
         "a.cu:1:10: error: 'thrust/next.h' belongs to Thrust, which is not part of Ingot "
         "[IG-LIB]\n"
         "    #include <thrust/next.h>\n"
         "             ^~~~~~~~~~~~~~~\n"
         "  do:  write the step as a kernel (examples/cuda has reductions, scans and histograms), "
         "do it "
         "with 'ingot eval' (sum, cumsum, sort), or compile the program with nvcc\n"},
        {"#include <cuda_fp8.h>\n", "",
         "a.cu:1:10: error: 'cuda_fp8.h' belongs to CUDA's library of 8-bit floats, which is not "
         "part of Ingot [IG-LIB]\n"
         "    #include <cuda_fp8.h>\n"
         "             ^~~~~~~~~~~~\n"
         "  do:  keep the values as half or bfloat16\n"},
        {"#include <cublas_v2.h>\n", "",
         "a.cu:1:10: error: 'cublas_v2.h' belongs to cuBLAS, which is not part of Ingot [IG-LIB]\n"
         "    #include <cublas_v2.h>\n"
         "             ^~~~~~~~~~~~~\n"
         "  do:  on an NVIDIA GPU with CUDA's toolkit, run it with '--device cuda -lcublas'; "
         "elsewhere "
         "write the step as a kernel, or do it with 'ingot eval' or the functions of ingot.h\n"},
        {"#include \"none.h\"\na", "a",
         "a.cu:1:10: error: cannot find the file 'none.h'\n"
         "    #include \"none.h\"\n"
         "             ^~~~~~~~\n"
         "  do:  give its folder with -I; the folder of the including file was searched\n"},
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
         "a.cu:1:1: error: #line expects a number and optionally a \"name\"\n"
         "    # 08 x\n"
         "    ^\n"
         "a.cu:2:1: error: an octal number (it begins with 0) has no digit 8\n"
         "    08\n"
         "    ^~\n"},
        {"'' '\\q' \"\\x\" 1e400", "'' '\\q' \"\" 1e400",
         "a.cu:1:1: error: empty character literal\n"
         "    '' '\\q' \"\\x\" 1e400\n"
         "    ^~\n"
         "a.cu:1:4: error: unknown escape '\\q'\n"
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
        pp_check(rows[i].source, rows[i].tokens, rows[i].diags);
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
    const pp_result r = pp_run(source);
    assert_non_null(strstr(r.diags, "    ...\xc3\xa9"));
    assert_non_null(strstr(r.diags, "xxx...\n"));
    const char *line = strchr(r.diags, '\n') + 1, *marks = strchr(line, '\n') + 1;
    snprintf(expected, sizeof expected, "%*s^~\n", 4 + 3 + 26, "");
    assert_string_equal(marks, expected);
    pp_drop(r);
}

/* The cause, the remedy, and the underlined part; a repeated diagnostic appears once, and their number is limited. */
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
                                "             ^\n"
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
    kernel_options o = pp_usual;
    (void)state;
    o.defines = defines;
    o.n_defines = COUNT(defines);
    const char *source = "A B F(3) __CUDA_ARCH__ C";
    pp_result r = pp_run_bytes(source, strlen(source), &o);
    assert_string_equal(r.tokens, "1 2 < 3 > 800 1 = 1");
    assert_string_equal(r.diags, "");
    pp_drop(r);

    o.skip_unknown = true;
    source = "#include <thrust/x.h>\n#include \"cublas_v2.h\"\n#include <no/such>\na";
    r = pp_run_bytes(source, strlen(source), &o);
    assert_string_equal(r.tokens, "a");
    assert_string_equal(r.diags, "");
    pp_drop(r);
}

static void test_files(void **state)
{
    static const char source[] = "#include \"near.h\"\n#include <far.h>\n#include \"absent.h\"\n";
    (void)state;
    const char *folders[] = {folder_itself()};
    const kernel_options o = {.folders = folders, .n_folders = 1};
    kernel_unit u;
    kernel_tokens t;
    folder_put(folder_path("near.h"), "#pragma once\nnear", 17);
    folder_put(folder_path("far.h"), "#include \"near.h\"\nfar", 21);
    assert_int_equal(kernel_unit_begin(&u, 64 << 20), IG_OK);
    kernel_file *file = kernel_unit_text(&u, folder_path("main.cu"), source, sizeof source - 1);
    assert_non_null(file);
    assert_int_equal(kernel_preprocess(&u, file, &o, &t), IG_OK);
    text out = {0};
    pp_show(&out, &t);
    char *tokens = text_take(&out);
    assert_string_equal(tokens, "near far");
    memory_free(tokens);
    assert_int_equal(u.diags.n_errors, 1);
    kernel_unit_end(&u);
    remove(folder_path("near.h"));
    remove(folder_path("far.h"));
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
    const pp_result r = pp_run(source);
    assert_int_equal(r.status, IG_OK);
    if (!strstr(r.diags, part))
        print_message("not '%s' but\n%s\n", part, r.diags);
    assert_non_null(strstr(r.diags, part));
    pp_drop(r);
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
    check_hostile(repeated("#if ", "-", 100000, "\n#endif"), "#if expects a value");
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

/* If any allocation fails, there is an error, and nothing leaks. */
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
        status = file ? kernel_preprocess(&u, file, &pp_usual, &t) : IG_ERR_MEMORY;
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

/* Any prefix of a real source and any damage to it is handled. */
static void test_damages(void **state)
{
    static const char source[] =
        "#define CHECK(x, ...) do { if (!(x)) printf(\"%s\" #x, ##__VA_ARGS__); } while (0)\n"
        "#if defined(A) && (B > 1 ? 2 : 3)\n#include \"x.def\"\n#elif 1\n/* c */ R\"d(e)d\" 'f'\n"
        "#endif // g \\\n h\n#pragma unroll 4\nCHECK(a##b << <1, 2>> >(3.5e+2f, 0x1p3, "
        "u8\"i\\n\"))\n";
    (void)state;
    for (size_t n = 0; n < sizeof source; n++)
        pp_drop(pp_run_bytes(source, n, &pp_usual));
    static const char bytes[] = "\0\n\\\"'(#)/*,\xff";
    for (size_t n = 0; n < sizeof source - 1; n++)
        for (size_t i = 0; i < sizeof bytes - 1; i++) {
            char damaged[sizeof source];
            memcpy(damaged, source, sizeof source);
            damaged[n] = bytes[i];
            const pp_result r = pp_run_bytes(damaged, sizeof source - 1, &pp_usual);
            assert_int_equal(r.status, IG_OK);
            pp_drop(r);
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
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
