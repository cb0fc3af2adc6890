/* Instructions of inline PTX with too many forms for the table: comparisons, conversions, moves, memory. */
#include <stdio.h>
#include <string.h>

#include "compiler/parse/ptx.h"

static const ptx_type *named(const char *name) { return ptx_type_of(name); }

static bool is_integer(const ptx_type *t) { return t->letter && strchr("usb", t->letter) != NULL; }

/* ---- comparisons --------------------------------------------------------------------------------- */

/* The comparison in the words of the instruction, of operands a and b, as C. */
static const char *comparison(ptx *x, const ptx_type *t, int a, int b)
{
    static const struct {
        const char *name, *sign;
        bool is_unordered;
    } signs[] = {{"eq", "==", false}, {"ne", "!=", false}, {"lt", "<", false},  {"le", "<=", false},
                 {"gt", ">", false},  {"ge", ">=", false}, {"lo", "<", false},  {"ls", "<=", false},
                 {"hi", ">", false},  {"hs", ">=", false}, {"equ", "==", true}, {"neu", "!=", true},
                 {"ltu", "<", true},  {"leu", "<=", true}, {"gtu", ">", true},  {"geu", ">=", true},
                 {"num", "", false},  {"nan", "", true}};
    if (t->letter == 'H' || t->letter == 'N' || t->letter == 'p')
        ptx_fail(x, "comparisons of pairs are not supported");
    const bool is_float = !is_integer(t), half = t->letter == 'h' || t->letter == 'n';
    const char *cast = half ? "(float)" : "";
    const char *c = parser_format(x->p, "%s%s", cast, ptx_read(x, a, t));
    const char *d = parser_format(x->p, "%s%s", cast, ptx_read(x, b, t));
    const char *unordered = parser_format(x->p, "(%s != %s || %s != %s)", c, c, d, d);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strcmp(signs[i].name, x->word[1]))
            continue;
        const char *sign = signs[i].sign;
        if (!*sign)
            return parser_format(x->p, "%s%s", signs[i].is_unordered ? "" : "!", unordered);
        const char *plain = parser_format(x->p, "(%s %s %s)", c, sign, d);
        if (is_float && signs[i].is_unordered)
            return parser_format(x->p, "(%s || %s)", unordered, plain);
        /* A NaN is not unequal in "ne". */
        if (is_float && !strcmp(sign, "!="))
            return parser_format(x->p, "(!%s && %s)", unordered, plain);
        return plain;
    }
    ptx_fail(x, "this comparison is not supported");
}

/* Joins the result of a comparison with the predicate in operand i, if the instruction says so. */
static const char *joined(ptx *x, const char *c, int i)
{
    const char *op = ptx_has(x, "and")   ? "&&"
                     : ptx_has(x, "or")  ? "||"
                     : ptx_has(x, "xor") ? "!="
                                         : NULL;
    return op ? parser_format(x->p, "(%s %s (%s))", c, op, ptx_read(x, i, named("pred"))) : c;
}

static void setp(ptx *x)
{
    const ptx_type *t = ptx_need_type(x, -1), *pred = named("pred");
    const ptx_operand to = x->o[0];
    const char *made = parser_format(x->p, "ig_t%d", x->n_made++);
    ptx_add(x, "const bool %s = %s;\n", made, comparison(x, t, 1, 2));
    const char *first = joined(x, made, 3),
               *second = joined(x, parser_format(x->p, "!%s", made), 3);
    if (to.n == 2)
        ptx_add(x, "const bool %sq = %s;\n", made, second);
    ptx_write(x, &to.v[0], pred, first);
    if (to.n == 2)
        ptx_write(x, &to.v[1], pred, parser_format(x->p, "%sq", made));
}

static void set(ptx *x)
{
    const ptx_type *t = ptx_need_type(x, -1), *result = ptx_need_type(x, -2);
    const char *c = joined(x, comparison(x, t, 1, 2), 3);
    const char *yes = result->letter == 'f' ? "1.0f" : "0xffffffffu",
               *no = result->letter == 'f' ? "0.0f" : "0u";
    if (result->bytes != 4 || result->letter == 'H' || result->letter == 'N')
        ptx_fail(x, "this result is not supported");
    ptx_write(x, &x->o[0].v[0], result,
              parser_format(x->p, "(%s)(%s ? %s : %s)", result->c, c, yes, no));
}

/* ---- conversions --------------------------------------------------------------------------------- */

/* An integer, limited to the range of an integer type. */
static const char *limited(ptx *x, const ptx_type *to, const ptx_type *from, const char *c)
{
    const int bits = 8 * to->bytes;
    const bool is_signed = to->letter == 's', from_signed = from->letter == 's';
    if (to->bytes > from->bytes && (is_signed || !from_signed))
        return c;
    const char *wide = from_signed ? "long long" : "unsigned long long";
    const char *v = parser_format(x->p, "((%s)%s)", wide, c);
    if (from_signed && !is_signed)
        v = parser_format(x->p, "max(%s, 0ll)", v);
    else if (from_signed)
        v = parser_format(x->p, "max(%s, -%lldll - 1ll)", v,
                          (long long)(UINT64_MAX >> (65 - bits)));
    const unsigned long long most = UINT64_MAX >> (64 - bits + is_signed);
    if (bits == 64 && !is_signed)
        return v;
    return parser_format(x->p, from_signed ? "min(%s, %llull)" : "min(%s, %lluull)", v, most);
}

/* The name that CUDA C's conversions have for a type. */
static const char *word_of(const ptx_type *t)
{
    const bool u = t->letter != 's';
    return t->letter == 'f'   ? "float"
           : t->letter == 'd' ? "double"
           : t->letter == 'h' ? "half"
           : t->letter == 'n' ? "bfloat16"
           : t->bytes == 8    ? u ? "ull" : "ll"
           : u                ? "uint"
                              : "int";
}

static const char *convert(ptx *x, const ptx_type *to, const ptx_type *from, const char *c)
{
    static const char *const modes[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"};
    static const char *const names[] = {"rn", "rz", "rd", "ru"};
    static const char *const rounds[] = {"rint", "trunc", "floor", "ceil"};
    parser *p = x->p;
    int mode = -1;
    for (int i = 0; i < 8; i++)
        if (ptx_has(x, modes[i]))
            mode = i;
    const bool sat = ptx_has(x, "sat"), whole = mode >= 4;
    const char *name = mode < 0 ? "rn" : names[mode % 4];
    if (is_integer(to) && is_integer(from))
        return parser_format(p, "(%s)%s", to->c, sat ? limited(x, to, from, c) : c);
    if (is_integer(to)) {
        if (from->letter == 'h' || from->letter == 'n') {
            c = parser_format(p, "(float)%s", c);
            from = named("f32");
        }
        if (mode < 0)
            ptx_fail(x, "a rounding mode is missing");
        const char *made = parser_format(p, "__%s2%s_%s(%s)", word_of(from),
                                         to->bytes < 4 ? "int" : word_of(to), name, c);
        return to->bytes < 4 ? parser_format(p, "(%s)%s", to->c, limited(x, to, named("s32"), made))
                             : made;
    }
    const bool narrows = to->bytes < from->bytes || (to->bytes == 2 && from->bytes == 2);
    const char *made = c;
    if (is_integer(from)) {
        if (from->bytes < 4)
            c = parser_format(p, "(%s)%s", from->letter == 's' ? "int" : "unsigned", c);
        made = to->letter == 'd' && from->bytes < 8
                   ? parser_format(p, "(double)%s", c)
                   : parser_format(p, "__%s2%s_%s(%s)", word_of(from), word_of(to), name, c);
    } else if (to == from) {
        if (whole && to->bytes >= 4)
            made = parser_format(p, "%s(%s)", rounds[mode % 4], c);
        else if (whole)
            made = parser_format(p, "(%s)%s((float)%s)", to->c, rounds[mode % 4], c);
    } else if (whole) {
        ptx_fail(x, "this conversion is not supported");
    } else if (!narrows) {
        made = parser_format(p, "(%s)%s", to->c, c);
    } else if (from->letter == 'f' || (from->letter == 'd' && to->letter == 'f')) {
        made = parser_format(p, "__%s2%s_%s(%s)", word_of(from), word_of(to), name, c);
    } else if (from->letter == 'd' && mode <= 0) {
        made = parser_format(p, "__double2%s(%s)", word_of(to), c);
    } else {
        ptx_fail(x, "this conversion is not supported");
    }
    return sat && to->letter == 'f' ? parser_format(p, "__saturatef(%s)", made) : made;
}

static void cvt(ptx *x)
{
    parser *p = x->p;
    const ptx_operand to = x->o[0];
    const ptx_type *from = ptx_need_type(x, -1), *f32 = named("f32");
    const char *result = x->n_words > 2 ? x->word[x->n_words - 2] : "";
    if (ptx_has(x, "relu") || ptx_has(x, "satfinite"))
        ptx_fail(x, "this conversion is not supported");
    if (!strcmp(result, "tf32") && from == f32 && ptx_has(x, "rna")) {
        ptx_need(x, 2);
        ptx_write(x, &to.v[0], named("b32"), parser_format(p, "ig_tf32(%s)", ptx_read(x, 1, f32)));
        return;
    }
    const ptx_type *t = ptx_need_type(x, -2);
    if (t->letter == 'H' || t->letter == 'N') { /* two floats, the upper one first */
        ptx_need(x, 3);
        const char *h = t->letter == 'H' ? "half" : "bfloat16",
                   *mode = ptx_has(x, "rz") ? "rz" : "rn";
        if (from != f32)
            ptx_fail(x, "this conversion is not supported");
        ptx_write(x, &to.v[0], t,
                  parser_format(p, "__halves2%s2(__float2%s_%s(%s), __float2%s_%s(%s))", h, h, mode,
                                ptx_read(x, 2, f32), h, mode, ptx_read(x, 1, f32)));
        return;
    }
    ptx_need(x, 2);
    if (strchr("HNp", from->letter) || t->letter == 'p')
        ptx_fail(x, "this conversion is not supported");
    ptx_write(x, &to.v[0], t, convert(x, t, from, ptx_read(x, 1, from)));
}

/* ---- moves --------------------------------------------------------------------------------------- */

static const ptx_type *part_type(ptx *x, const ptx_type *t, int n)
{
    static const char *const names[] = {"b8", "b16", "b32"};
    const int bytes = t->bytes / n;
    if (bytes * n != t->bytes || bytes > 4 || bytes == 3 || bytes < 1)
        ptx_fail(x, "a list does not have the size of its register");
    return named(names[bytes / 2]);
}

/* mov.b64 d, {a, b} joins, mov.b64 {a, b}, d splits. */
static void mov(ptx *x)
{
    const ptx_type *t = ptx_need_type(x, -1);
    ptx_need(x, 2);
    const ptx_operand to = x->o[0], from = x->o[1];
    if (from.n > 1) {
        const ptx_type *part = part_type(x, t, from.n);
        const char *c = "";
        for (int i = 0; i < from.n; i++)
            c = parser_format(x->p, "%s%s(%s)%s << %d", c, i ? " | " : "", t->c,
                              ptx_read_value(x, &from.v[i], part), 8 * part->bytes * i);
        ptx_write(x, &to.v[0], t, c);
    } else if (to.n > 1) {
        const ptx_type *part = part_type(x, t, to.n);
        const char *made = parser_format(x->p, "ig_t%d", x->n_made++);
        ptx_add(x, "const %s %s = %s;\n", t->c, made, ptx_read(x, 1, t));
        for (int i = 0; i < to.n; i++)
            ptx_write(x, &to.v[i], part,
                      parser_format(x->p, "(%s)(%s >> %d)", part->c, made, 8 * part->bytes * i));
    } else {
        ptx_write(x, &to.v[0], t, ptx_read(x, 1, t));
    }
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* Refuses words that change the meaning of an access. */
static void check_access(ptx *x)
{
    static const char *const known[] = {"global",
                                        "shared",
                                        "shared::cta",
                                        "local",
                                        "const",
                                        "volatile",
                                        "relaxed",
                                        "acquire",
                                        "release",
                                        "acq_rel",
                                        "weak",
                                        "cta",
                                        "gpu",
                                        "sys",
                                        "ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "cv",
                                        "nc",
                                        "wb",
                                        "wt",
                                        "v2",
                                        "v4",
                                        "noftz",
                                        "L1::no_allocate",
                                        "L1::evict_last",
                                        "L1::evict_first",
                                        "L1::evict_normal",
                                        "L1::evict_unchanged",
                                        "L2::64B",
                                        "L2::128B",
                                        "L2::256B"};
    for (int i = 1; i + 1 < x->n_words; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(known[k], x->word[i]))
            k++;
        if (k == sizeof known / sizeof *known)
            ptx_fail(x, "'.%s' is not supported", x->word[i]);
    }
}

static bool is_shared(const ptx *x) { return ptx_has(x, "shared") || ptx_has(x, "shared::cta"); }

static const char *qualifier(const ptx *x)
{
    return ptx_has(x, "volatile") || ptx_has(x, "relaxed") || ptx_has(x, "acquire") ||
                   ptx_has(x, "release")
               ? "volatile "
               : "";
}

/* The vector type of n elements: "uint4". NULL if there is none. */
static const char *vector_of(ptx *x, const ptx_type *t, int n)
{
    const char *name = t->letter == 'f'   ? "float"
                       : t->letter == 'd' ? "double"
                       : !is_integer(t)   ? NULL
                       : t->bytes == 8    ? t->letter == 's' ? "longlong" : "ulonglong"
                       : t->bytes == 4    ? t->letter == 's' ? "int" : "uint"
                       : t->bytes == 2    ? t->letter == 's' ? "short" : "ushort"
                       : t->letter == 's' ? "char"
                                          : "uchar";
    return name && t->bytes * n <= 16 ? parser_format(x->p, "%s%d", name, n) : NULL;
}

static const char *const members[] = {"x", "y", "z", "w"};

static void fence(ptx *x, const char *when)
{
    if (ptx_has(x, when) || ptx_has(x, "acq_rel"))
        ptx_add(x, "__threadfence%s();\n",
                ptx_has(x, "cta")   ? "_block"
                : ptx_has(x, "sys") ? "_system"
                                    : "");
}

static int elements(ptx *x, const ptx_operand *o)
{
    const int n = ptx_has(x, "v4") ? 4 : ptx_has(x, "v2") ? 2 : 1;
    if (o->n != n)
        ptx_fail(x, "a list of %d elements is expected", n);
    return n;
}

static void load(ptx *x)
{
    const ptx_type *t = ptx_need_type(x, -1);
    ptx_need(x, 2);
    check_access(x);
    const ptx_operand to = x->o[0];
    const int n = elements(x, &to);
    const char *vector = n > 1 ? vector_of(x, t, n) : t->c, *volatile_ = qualifier(x);
    if (!vector || t->letter == 'p')
        ptx_fail(x, "this type is not supported");
    const char *made = parser_format(x->p, "ig_t%d", x->n_made++);
    if (n > 1 && *volatile_) {
        const char *c = parser_format(x->p, "volatile %s", t->c);
        ptx_add(x, "const %s *const %s = %s;\n", c, made,
                ptx_address(x, 1, parser_format(x->p, "const %s", c), is_shared(x)));
        for (int i = 0; i < n; i++)
            ptx_add(x, "const %s %s%s = %s[%d];\n", t->c, made, members[i], made, i);
    } else {
        ptx_add(
            x, "const %s %s = *%s;\n", vector, made,
            ptx_address(x, 1, parser_format(x->p, "const %s%s", volatile_, vector), is_shared(x)));
    }
    fence(x, "acquire");
    for (int i = 0; i < n; i++)
        ptx_write(x, &to.v[i], t,
                  n == 1 ? made
                         : parser_format(x->p, *volatile_ ? "%s%s" : "%s.%s", made, members[i]));
}

static void store(ptx *x)
{
    const ptx_type *t = ptx_need_type(x, -1);
    ptx_need(x, 2);
    check_access(x);
    const ptx_operand from = x->o[1];
    const int n = elements(x, &from);
    const char *vector = n > 1 ? vector_of(x, t, n) : t->c, *volatile_ = qualifier(x);
    if (!vector || t->letter == 'p')
        ptx_fail(x, "this type is not supported");
    fence(x, "release");
    if (n > 1 && !*volatile_) {
        const char *c = "";
        for (int i = 0; i < n; i++)
            c = parser_format(x->p, "%s%s%s", c, i ? ", " : "", ptx_read_value(x, &from.v[i], t));
        ptx_add(x, "*%s = make_%s(%s);\n", ptx_address(x, 0, vector, is_shared(x)), vector, c);
        return;
    }
    const char *at = ptx_address(x, 0, parser_format(x->p, "%s%s", volatile_, t->c), is_shared(x));
    for (int i = 0; i < n; i++)
        ptx_add(x, "%s[%d] = %s;\n", at, i, ptx_read_value(x, &from.v[i], t));
}

/* atom gives the old value, red does not. */
static void atomic(ptx *x, bool gives)
{
    static const struct {
        const char *word, *name;
    } names[] = {{"add", "Add"}, {"exch", "Exch"}, {"cas", "CAS"}, {"min", "Min"}, {"max", "Max"},
                 {"inc", "Inc"}, {"dec", "Dec"},   {"and", "And"}, {"or", "Or"},   {"xor", "Xor"}};
    const ptx_type *t = ptx_need_type(x, -1);
    const ptx_operand to = x->o[0];
    const char *name = NULL;
    for (int i = 1; i < x->n_words && !name; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (!strcmp(names[k].word, x->word[i])) {
                name = names[k].name;
                for (int m = i; m + 1 < x->n_words;
                     m++) /* the other words are those of an access */
                    x->word[m] = x->word[m + 1];
                x->n_words--;
                break;
            }
    check_access(x);
    const bool cas = name && !strcmp(name, "CAS");
    if (!name || (t->bytes < 4 && !is_integer(t) && strcmp(name, "Add")) || t->letter == 'p' ||
        t->bytes == 1)
        ptx_fail(x, "this atomic operation is not supported");
    ptx_need(x, 1 + gives + 1 + cas);
    if (is_integer(t) && !strcmp(name, "Add"))
        t = named(t->bytes == 8 ? "u64" : "u32");
    fence(x, "release");
    const char *at = ptx_address(x, gives, t->c, is_shared(x));
    const char *a = ptx_read(x, gives + 1, t);
    const char *c =
        cas ? parser_format(x->p, "atomicCAS(%s, %s, %s)", at, a, ptx_read(x, gives + 2, t))
            : parser_format(x->p, "atomic%s(%s, %s)", name, at, a);
    if (gives)
        ptx_write(x, &to.v[0], t, c);
    else
        ptx_add(x, "%s;\n", c);
    fence(x, "acquire");
}

/* cp.async.ca.shared.global [to], [from], size, bytes: the copy is complete at once. */
static bool copy_async(ptx *x)
{
    if (x->n_words < 5 || strcmp(x->word[1], "async") ||
        (strcmp(x->word[2], "ca") && strcmp(x->word[2], "cg")) || !is_shared(x) ||
        !ptx_has(x, "global"))
        return false;
    for (int i = 5; i < x->n_words; i++)
        if (strncmp(x->word[i], "L2::", 4) || !strcmp(x->word[i], "L2::cache_hint"))
            ptx_fail(x, "'.%s' is not supported", x->word[i]);
    if (x->n < 3 || x->n > 4)
        ptx_need(x, 3);
    const ptx_type *s32 = named("s32");
    const bool ignores = x->n == 4 && x->o[3].v[0].store == PTX_PRED;
    const char *bytes =
        x->n == 3 ? ptx_read(x, 2, s32)
        : ignores
            ? parser_format(x->p, "%s ? 0 : %s", ptx_read(x, 3, named("pred")), ptx_read(x, 2, s32))
            : ptx_read(x, 3, s32);
    ptx_add(x, "ig_copy_async(%s, %s, %s, %s);\n", ptx_address(x, 0, "unsigned", true),
            ptx_address(x, 1, "const unsigned", false), ptx_read(x, 2, s32), bytes);
    return true;
}

bool ptx_special(ptx *x)
{
    static const struct {
        const char *name;
        void (*write)(ptx *x);
    } all[] = {{"setp", setp}, {"set", set},  {"cvt", cvt}, {"mov", mov},
               {"ld", load},   {"ldu", load}, {"st", store}};
    const char *name = x->word[0];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) {
            all[i].write(x);
            return true;
        }
    if (!strcmp(name, "atom") || !strcmp(name, "red")) {
        atomic(x, *name == 'a');
        return true;
    }
    return !strcmp(name, "cp") && copy_async(x);
}
