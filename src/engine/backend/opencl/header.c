/* Declarations of the functions of OpenCL C that a text calls.
 *
 * For each program, PoCL's compiler reads Clang's header with all functions, which takes longer than everything else
 * for a small kernel. The option OPENCL_NO_HEADER skips that header. Types, constants and as_type() are in another
 * header, which is still read. */
#include "engine/backend/opencl/header.h"

#include <ctype.h>
#include <string.h>

/* The overloads of a function: T stands for each float type, or each integer type. All are declared, so that the
 * overload that a call selects is the same as with the header. */
typedef enum shape {
    PLACE,    /* size_t f(uint) */
    FLOATS_1, /* T f(T) */
    FLOATS_2, /* T f(T, T) */
    INTS_1,
    INTS_2,
    ATOMIC_2, /* T f(memory T *, T, T) */
    FENCE     /* void f(flags), called by all threads of a block */
} shape;

static const struct function {
    const char *name;
    shape shape;
} functions[] = {
    {"get_group_id", PLACE},   {"get_local_id", PLACE},      {"get_num_groups", PLACE},
    {"get_local_size", PLACE}, {"sqrt", FLOATS_1},           {"fabs", FLOATS_1},
    {"floor", FLOATS_1},       {"ceil", FLOATS_1},           {"trunc", FLOATS_1},
    {"rint", FLOATS_1},        {"copysign", FLOATS_2},       {"fmin", FLOATS_2},
    {"fmax", FLOATS_2},        {"popcount", INTS_1},         {"clz", INTS_1},
    {"mul_hi", INTS_2},        {"atomic_cmpxchg", ATOMIC_2}, {"barrier", FENCE},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0], DEFINITIONS_MOST = 256 };

/* ---- the calls of a text ---- */

typedef struct word {
    const char *at;
    size_t length;
} word;

static bool word_is(word w, const char *name)
{
    return strlen(name) == w.length && memcmp(w.at, name, w.length) == 0;
}

static bool is_word(int c) { return isalnum(c) || c == '_'; }

/* The next word that is followed by a parenthesis. *definition: it is on a line that begins in the first column, as
 * function definitions do in printed text. */
static bool next_call(const char **from, const char **line, word *out, bool *definition)
{
    const char *s = *from;
    for (; *s; s++) {
        if (*s == '\n')
            *line = s + 1;
        if (!isalpha((unsigned char)*s) && *s != '_')
            continue;
        const char *begin = s;
        while (is_word((unsigned char)*s))
            s++;
        if (*s == '(' && (begin == *line || !is_word((unsigned char)begin[-1]))) {
            *out = (word){begin, (size_t)(s - begin)};
            *definition = !isspace((unsigned char)**line);
            *from = s;
            return true;
        }
        s--;
    }
    return false;
}

/* The functions that a text defines. */
typedef struct definitions {
    word at[DEFINITIONS_MOST];
    int n;
} definitions;

/* Returns false if there are too many. */
static bool find_definitions(definitions *d, const char *source)
{
    const char *line = source;
    word w;
    bool definition;
    d->n = 0;
    while (next_call(&source, &line, &w, &definition))
        if (definition && d->n == DEFINITIONS_MOST)
            return false;
        else if (definition)
            d->at[d->n++] = w;
    return true;
}

static bool is_defined(const definitions *d, word w)
{
    for (int i = 0; i < d->n; i++)
        if (d->at[i].length == w.length && memcmp(d->at[i].at, w.at, w.length) == 0)
            return true;
    return false;
}

static int find(word w)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (word_is(w, functions[i].name))
            return i;
    return -1;
}

/* True for words before a parenthesis that are not functions of a header. */
static bool is_language(word w)
{
    static const char *const words[] = {"if", "for", "while", "switch", "return", "sizeof", "fma"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (word_is(w, words[i]))
            return true;
    return w.length > 3 && memcmp(w.at, "as_", 3) == 0;
}

/* ---- declarations ---- */

static void declare(text *t, const struct function *f, const char *type)
{
    static const char pure[] = "__attribute__((overloadable, const))";
    switch (f->shape) {
    case PLACE: text_add(t, "size_t %s %s(uint);\n", pure, f->name); break;
    case FLOATS_1:
    case INTS_1: text_add(t, "%s %s %s(%s);\n", type, pure, f->name, type); break;
    case FLOATS_2:
    case INTS_2: text_add(t, "%s %s %s(%s, %s);\n", type, pure, f->name, type, type); break;
    case ATOMIC_2:
        for (int local = 0; local < 2; local++)
            text_add(t, "%s __attribute__((overloadable)) %s(volatile %s %s *, %s, %s);\n", type,
                     f->name, local ? "__local" : "__global", type, type, type);
        break;
    case FENCE:
        text_add(t, "void __attribute__((overloadable, convergent)) %s(cl_mem_fence_flags);\n",
                 f->name);
        break;
    }
}

static void declare_all(text *t, const struct function *f, bool f64)
{
    static const char *const ints[] = {"char", "uchar", "short", "ushort",
                                       "int",  "uint",  "long",  "ulong"};
    switch (f->shape) {
    case PLACE:
    case FENCE: declare(t, f, ""); break;
    case FLOATS_1:
    case FLOATS_2:
        declare(t, f, "float");
        if (f64)
            declare(t, f, "double");
        break;
    case ATOMIC_2:
        declare(t, f, "int");
        declare(t, f, "uint");
        break;
    default:
        for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++)
            declare(t, f, ints[i]);
        break;
    }
}

bool opencl_declare(text *t, const char *source, bool f64)
{
    const char *at = source, *line = source;
    bool used[FUNCTIONS] = {false}, definition;
    definitions own;
    word w;
    if (!find_definitions(&own, source))
        return false;
    while (next_call(&at, &line, &w, &definition)) {
        const int i = find(w);
        if (i >= 0)
            used[i] = true;
        else if (!definition && !is_language(w) && !is_defined(&own, w))
            return false;
    }
    for (int i = 0; i < FUNCTIONS; i++)
        if (used[i])
            declare_all(t, &functions[i], f64);
    return true;
}
