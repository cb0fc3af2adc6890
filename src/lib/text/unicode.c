/* Unicode: see unicode.h. Properties are cached in pages of 256 code points. A page is filled on its first use. */
#include "lib/text/unicode.h"

#include "base/error.h"
#include "base/library.h"
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

/* ---- utf8proc ------------------------------------------------------------------------------ */

/* The beginning of utf8proc_property_t, which has not changed since version 2.0. */
struct property {
    int16_t category;
    int16_t combining_class;
};

enum { STABLE = 1 << 1, COMPAT = 1 << 2, COMPOSE = 1 << 3, DECOMPOSE = 1 << 4 };

/* Categories, with utf8proc's numbers. */
enum { CN, LU, LL, LT, LM, LO, MN, MC, ME, ND, NL, NO, PC, PD, PS, PE, PI, PF, PO, SM, SC, SK, SO };
enum { ZS = 23, ZL, ZP, CC, CF, CS, CO };

static struct {
    const struct property *(*property)(int32_t c);
    int32_t (*tolower)(int32_t c);
    int32_t (*toupper)(int32_t c);
    ptrdiff_t (*decompose)(int32_t c, int32_t *out, ptrdiff_t room, int options, int *last_class);
    ptrdiff_t (*normalize)(int32_t *buffer, ptrdiff_t length, int options);
    bool (*grapheme_break)(int32_t a, int32_t b, int32_t *state);
} lib;

ig_status unicode_load(void)
{
    static const char *const files[] = {"libutf8proc.so.3", "libutf8proc.so.2", "libutf8proc.so",
                                        "libutf8proc.dylib", NULL};
    static const library_function functions[] = {
        {"utf8proc_get_property", &lib.property},
        {"utf8proc_tolower", &lib.tolower},
        {"utf8proc_toupper", &lib.toupper},
        {"utf8proc_decompose_char", &lib.decompose},
        {"utf8proc_normalize_utf32", &lib.normalize},
        {"utf8proc_grapheme_break_stateful", &lib.grapheme_break},
        {NULL, NULL}};
    static library_file wanted = {.files = files, .functions = functions};
    if (!library_there(&wanted))
        FAIL(IG_ERR_UNSUPPORTED,
             "tokenizers need the library utf8proc 2, which was not found; install it "
             "(Debian: apt-get install libutf8proc2, Fedora: utf8proc, macOS: brew install "
             "utf8proc)");
    return IG_OK;
}

/* ---- properties ----------------------------------------------------------------------------- */

static bool is_ideograph(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b81f) ||
           (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x2f800 && c <= 0x2fa1f);
}

static bool is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

/* Applies the corrections of unicode_other.def. */
static unsigned flags_correct(uint32_t c, unsigned flags)
{
    static const struct {
        uint32_t first, last;
        unsigned flag;
        bool value;
    } rows[] = {
#define ROW(first, last, property, value) {first, last, UNICODE_##property, value},
#include "lib/text/unicode_other.def"
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (c >= rows[i].first && c <= rows[i].last)
            flags = rows[i].value ? flags | rows[i].flag : flags & ~rows[i].flag;
    return flags;
}

static int decompose(uint32_t c, bool compatible, uint32_t *out);

/* True if c equals its lower case and its decomposition and has class 0. */
static bool is_stable(uint32_t c, unsigned flags)
{
    uint32_t lower[2], parts[UNICODE_EXPANDED];
    if (flags & UNICODE_NONSPACING ||
        (flags & UNICODE_MARK && lib.property((int32_t)c)->combining_class))
        return false;
    if (unicode_lower(c, lower) != 1 || lower[0] != c)
        return false;
    return flags & UNICODE_UNDIVIDED || (decompose(c, false, parts) == 1 && parts[0] == c);
}

static unsigned flags_compute(uint32_t c)
{
    const int category = lib.property((int32_t)c)->category;
    unsigned flags = 0;
    if (is_space(c))
        flags |= UNICODE_SPACE;
    if ((category >= PC && category <= PO) || (c < 128 && category >= SM && category <= SO))
        flags |= UNICODE_PUNCTUATION;
    if (category == CC || category == CF || category == CO)
        flags |= UNICODE_CONTROL;
    if (category == MN)
        flags |= UNICODE_NONSPACING;
    if (category >= MN && category <= ME)
        flags |= UNICODE_MARK | UNICODE_WORD;
    if (category >= LU && category <= LO)
        flags |= UNICODE_LETTER | UNICODE_WORD;
    if (category >= ND && category <= NO)
        flags |= UNICODE_NUMBER;
    if (category == ND || category == NL || category == PC || c == 0x200c || c == 0x200d)
        flags |= UNICODE_WORD;
    if (is_ideograph(c))
        flags |= UNICODE_IDEOGRAPH;
    flags = c < 128 ? flags : flags_correct(c, flags);
    if (is_stable(c, flags))
        flags |= UNICODE_STABLE;
    return flags;
}

/* The category in the reference's regular expressions, which use Unicode 16. */
static int category_compute(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        int category;
    } rows[] = {
#define ROW(first, last, category) {first, last, category},
#include "lib/text/unicode_category.def"
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (c >= rows[i].first && c <= rows[i].last)
            return rows[i].category;
    return lib.property((int32_t)c)->category;
}

/* \w of regular expressions. Includes the superscripts and fractions of Latin-1, but not joiners. */
static bool is_regex_word(uint32_t c, unsigned flags, int category)
{
    return c < 256 ? flags & UNICODE_WORD || category == NO
                   : flags & UNICODE_WORD && c != 0x200c && c != 0x200d;
}

enum { PAGE = 256, CATEGORY_SHIFT = 16, UNICODE_FLAGS = (1 << CATEGORY_SHIFT) - 1 };

/* The flags of a code point, with its category in the bits above them. */
static uint32_t properties(uint32_t c)
{
    const int category = category_compute(c);
    const unsigned flags = flags_compute(c);
    return flags | (is_regex_word(c, flags, category) ? UNICODE_REGEX_WORD : 0) |
           (uint32_t)category << CATEGORY_SHIFT;
}

static _Atomic(uint32_t *) pages[(UNICODE_LAST + 1) / PAGE];

/* Makes a page; NULL if out of memory. It is kept until the process ends. */
static uint32_t *page_make(uint32_t number)
{
    uint32_t *page = malloc(PAGE * sizeof *page), *expected = NULL;
    if (!page)
        return NULL;
    for (uint32_t i = 0; i < PAGE; i++)
        page[i] = properties(number * PAGE + i);
    if (atomic_compare_exchange_strong(&pages[number], &expected, page))
        return page;
    free(page);
    return expected;
}

static uint32_t properties_of(uint32_t c)
{
    if (c > UNICODE_LAST)
        return 0;
    const uint32_t *page = atomic_load_explicit(&pages[c / PAGE], memory_order_acquire);
    if (!page)
        page = page_make(c / PAGE);
    return page ? page[c % PAGE] : properties(c);
}

unsigned unicode_flags(uint32_t c) { return properties_of(c) & UNICODE_FLAGS; }
int unicode_category(uint32_t c) { return (int)(properties_of(c) >> CATEGORY_SHIFT); }

/* ---- case and decomposition ----------------------------------------------------------------- */

/* The lower case of letters that Unicode 16 and 17 added. */
static uint32_t lower_newer(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        int32_t distance;
    } rows[] = {{0x1c89, 0x1c89, 1},    {0xa7cb, 0xa7cb, 0x264 - 0xa7cb},
                {0xa7cc, 0xa7cc, 1},    {0xa7ce, 0xa7ce, 1},
                {0xa7d2, 0xa7d2, 1},    {0xa7d4, 0xa7d4, 1},
                {0xa7da, 0xa7da, 1},    {0xa7dc, 0xa7dc, 0x19b - 0xa7dc},
                {0x10d50, 0x10d65, 32}, {0x16ea0, 0x16eb8, 0x1b}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (c >= rows[i].first && c <= rows[i].last)
            return (uint32_t)((int32_t)c + rows[i].distance);
    return c;
}

int unicode_lower(uint32_t c, uint32_t out[2])
{
    out[0] = c < 128 ? (c >= 'A' && c <= 'Z' ? c + 32 : c) : (uint32_t)lib.tolower((int32_t)c);
    if (c >= 0x1c89 && out[0] == c)
        out[0] = lower_newer(c);
    if (c != 0x130)
        return 1;
    out[0] = 'i'; /* the only letter whose lower case has two code points */
    out[1] = 0x307;
    return 2;
}

uint32_t unicode_upper(uint32_t c) { return (uint32_t)lib.toupper((int32_t)c); }

static int decompose(uint32_t c, bool compatible, uint32_t *out)
{
    int last = 0;
    const int options = DECOMPOSE | (compatible ? COMPAT : 0);
    int32_t parts[UNICODE_EXPANDED];
    const ptrdiff_t n = lib.decompose((int32_t)c, parts, UNICODE_EXPANDED, options, &last);
    out[0] = c;
    if (n < 1 || n > UNICODE_EXPANDED)
        return 1;
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = (uint32_t)parts[i];
    return (int)n;
}

int unicode_decompose(uint32_t c, bool compatible, uint32_t out[UNICODE_EXPANDED])
{
    out[0] = c;
    return c < 0xa0 || unicode_flags(c) & UNICODE_UNDIVIDED ? 1 : decompose(c, compatible, out);
}

int unicode_class(uint32_t c)
{
    if (c < 0x300)
        return 0;
    const int class = lib.property((int32_t)c)->combining_class;
    return class && unicode_flags(c) & UNICODE_MARK ? class
                                                    : 0; /* a mark that the older tables lack */
}

uint32_t unicode_compose(uint32_t a, uint32_t b)
{
    int32_t pair[3] = {(int32_t)a, (int32_t)b, 0}; /* utf8proc may write a terminator */
    if (b < 0x300)
        return 0;
    return lib.normalize(pair, 2, COMPOSE | STABLE) == 1 ? (uint32_t)pair[0] : 0;
}

bool unicode_boundary(uint32_t a, uint32_t b, int32_t *state)
{
    return lib.grapheme_break((int32_t)a, (int32_t)b, state);
}

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

size_t unicode_read(const unsigned char *at, size_t bytes, uint32_t *c)
{
    const unsigned char first = at[0];
    *c = first;
    if (first < 0x80)
        return 1;
    *c = 0xfffd;
    if (first < 0xc2 || first > 0xf4)
        return 1;
    const size_t more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    /* The second byte's range excludes overlong forms, surrogates, and code points above U+10FFFF. */
    const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    uint32_t value = first & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if (i >= bytes || at[i] < (i == 1 ? least : 0x80) || at[i] > (i == 1 ? most : 0xbf))
            return i;
        value = value << 6 | (at[i] & 0x3f);
    }
    *c = value;
    return more + 1;
}

size_t unicode_write(uint32_t c, unsigned char out[4])
{
    if (c < 0x80) {
        out[0] = (unsigned char)c;
        return 1;
    }
    const size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
    out[0] = (unsigned char)(leads[more] | c);
    return more + 1;
}
