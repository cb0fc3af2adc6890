/* Inline PTX. An asm statement becomes CUDA C, which is parsed in its place: operands become variables, instructions
 * become assignments, by the table ptx.def. So every device runs PTX for which it can run the C. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/parse/ptx.h"

static const struct {
    const char *name, *types, *result, *c;
} rows[] = {
#define PTX(name, types, result, c) {name, types, result, c},
#include "compiler/parse/ptx.def"
};

static const ptx_type types[] = {
    {"u8", "unsigned char", 'u', 1},   {"s8", "signed char", 's', 1},
    {"b8", "unsigned char", 'b', 1},   {"u16", "unsigned short", 'u', 2},
    {"s16", "short", 's', 2},          {"b16", "unsigned short", 'b', 2},
    {"u32", "unsigned", 'u', 4},       {"s32", "int", 's', 4},
    {"b32", "unsigned", 'b', 4},       {"u64", "unsigned long long", 'u', 8},
    {"s64", "long long", 's', 8},      {"b64", "unsigned long long", 'b', 8},
    {"f32", "float", 'f', 4},          {"f64", "double", 'd', 8},
    {"f16", "__half", 'h', 2},         {"f16x2", "__half2", 'H', 4},
    {"bf16", "__nv_bfloat16", 'n', 2}, {"bf16x2", "__nv_bfloat162", 'N', 4},
    {"pred", "bool", 'p', 1},
};

/* Registers of PTX that the machine fills. */
static const struct {
    const char *name, *c;
    uint8_t store;
} specials[] = {
    {"%tid.x", "threadIdx.x", PTX_B32},
    {"%tid.y", "threadIdx.y", PTX_B32},
    {"%tid.z", "threadIdx.z", PTX_B32},
    {"%ntid.x", "blockDim.x", PTX_B32},
    {"%ntid.y", "blockDim.y", PTX_B32},
    {"%ntid.z", "blockDim.z", PTX_B32},
    {"%ctaid.x", "blockIdx.x", PTX_B32},
    {"%ctaid.y", "blockIdx.y", PTX_B32},
    {"%ctaid.z", "blockIdx.z", PTX_B32},
    {"%nctaid.x", "gridDim.x", PTX_B32},
    {"%nctaid.y", "gridDim.y", PTX_B32},
    {"%nctaid.z", "gridDim.z", PTX_B32},
    {"%laneid", "ig_lane_id()", PTX_B32},
    {"%warpid", "(((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) / 32u)",
     PTX_B32},
    {"%nwarpid", "((blockDim.x * blockDim.y * blockDim.z + 31u) / 32u)", PTX_B32},
    {"%smid", "0u", PTX_B32}, /* one multiprocessor */
    {"%nsmid", "1u", PTX_B32},
    {"%gridid", "1ull", PTX_B64},
    {"%clock", "((unsigned)clock64())", PTX_B32},
    {"%clock_hi", "((unsigned)((unsigned long long)clock64() >> 32))", PTX_B32},
    {"%clock64", "((unsigned long long)clock64())", PTX_B64},
    {"%globaltimer", "__globaltimer()", PTX_B64},
    {"%globaltimer_lo", "((unsigned)__globaltimer())", PTX_B32},
    {"%globaltimer_hi", "((unsigned)(__globaltimer() >> 32))", PTX_B32},
    {"%lanemask_eq", "(1u << ig_lane_id())", PTX_B32},
    {"%lanemask_lt", "((1u << ig_lane_id()) - 1u)", PTX_B32},
    {"%lanemask_le", "((2u << ig_lane_id()) - 1u)", PTX_B32},
    {"%lanemask_ge", "(~0u << ig_lane_id())", PTX_B32},
    {"%lanemask_gt", "(~1u << ig_lane_id())", PTX_B32},
    {"WARP_SZ", "32", PTX_NUMBER},
};

static const char *const store_types[] = {"unsigned short", "unsigned", "unsigned long long",
                                          "float",          "double",   "bool"};

void ptx_fail(ptx *x, const char *format, ...)
{
    char made[160];
    va_list args;
    va_start(args, format);
    vsnprintf(made, sizeof made, format, args);
    va_end(args);
    const int bytes = (int)strcspn(x->begin, ";\n");
    parser_fail_do(x->p, x->place, "write it in CUDA C, or run the program with '--device cuda'",
                   "inline PTX '%.*s': %s", bytes < 60 ? bytes : 60, x->begin, made);
}

void ptx_add(ptx *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    x->out = kernel_arena_grow(x->p->arena, x->out, &x->room, x->used + (uint32_t)n + 1, 1);
    va_start(args, format);
    vsnprintf(x->out + x->used, (size_t)n + 1, format, args);
    va_end(args);
    x->used += (uint32_t)n;
}

/* ---- types and values --------------------------------------------------------------------------- */

const ptx_type *ptx_type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

const ptx_type *ptx_need_type(ptx *x, int word)
{
    const int i = word < 0 ? x->n_words + word : word;
    const ptx_type *t = i > 0 && i < x->n_words ? ptx_type_of(x->word[i]) : NULL;
    if (!t)
        ptx_fail(x, "this type is not supported");
    return t;
}

bool ptx_has(const ptx *x, const char *word)
{
    for (int i = 1; i < x->n_words; i++)
        if (!strcmp(x->word[i], word))
            return true;
    return false;
}

void ptx_need(ptx *x, int n)
{
    if (x->n != n)
        ptx_fail(x, "it has %d operands instead of %d", x->n, n);
}

/* The bits of a value as an unsigned integer. */
static const char *bits_of(ptx *x, const ptx_value *v)
{
    switch (v->store) {
    case PTX_F32: return parser_format(x->p, "__float_as_uint(%s)", v->text);
    case PTX_F64:
        return parser_format(x->p, "(unsigned long long)__double_as_longlong(%s)", v->text);
    case PTX_POINTER: return parser_format(x->p, "(unsigned long long)%s", v->text);
    case PTX_PRED: ptx_fail(x, "a predicate is used as a number");
    default: return v->text;
    }
}

/* A constant in an instruction of floats: 0f3F800000, 0d3FF0000000000000, or a decimal number. */
static const char *float_constant(ptx *x, const char *s, char letter)
{
    if (s[0] == '0' && (s[1] == 'f' || s[1] == 'F'))
        return parser_format(x->p, "__uint_as_float(0x%su)", s + 2);
    if (s[0] == '0' && (s[1] == 'd' || s[1] == 'D'))
        return parser_format(x->p, "%s__longlong_as_double(0x%sll)", letter == 'f' ? "(float)" : "",
                             s + 2);
    return parser_format(x->p, "(%s)(%s)", letter == 'f' ? "float" : "double", s);
}

const char *ptx_read_value(ptx *x, const ptx_value *v, const ptx_type *t)
{
    parser *p = x->p;
    if (!v->text)
        ptx_fail(x, "'_' is read");
    if (t->letter == 'p') {
        if (v->store != PTX_PRED && v->store != PTX_NUMBER)
            ptx_fail(x, "a number is used as a predicate");
        return parser_format(p,
                             v->store == PTX_NUMBER ? "((%s) != 0)"
                             : v->negated           ? "!%s"
                                                    : "%s",
                             v->text);
    }
    if (v->store == PTX_NUMBER && (t->letter == 'f' || t->letter == 'd'))
        return float_constant(x, v->text, t->letter);
    if (t->letter == 'f' && v->store == PTX_F32)
        return v->text;
    if (t->letter == 'd' && v->store == PTX_F64)
        return v->text;
    const char *bits = bits_of(x, v);
    switch (t->letter) {
    case 'f': return parser_format(p, "__uint_as_float((unsigned)%s)", bits);
    case 'd': return parser_format(p, "__longlong_as_double((long long)%s)", bits);
    case 'h': return parser_format(p, "__ushort_as_half((unsigned short)%s)", bits);
    case 'n': return parser_format(p, "__ushort_as_bfloat16((unsigned short)%s)", bits);
    case 'H': return parser_format(p, "ig_half2((unsigned)%s)", bits);
    case 'N': return parser_format(p, "ig_bfloat162((unsigned)%s)", bits);
    default: return parser_format(p, "((%s)%s)", t->c, bits);
    }
}

const char *ptx_read(ptx *x, int i, const ptx_type *t)
{
    if (i >= x->n)
        ptx_fail(x, "operand %d is missing", i + 1);
    const ptx_operand *o = &x->o[i];
    if (o->n != 1)
        ptx_fail(x, "operand %d is a list", i + 1);
    const char *c = ptx_read_value(x, &o->v[0], t);
    return o->is_address && o->offset ? parser_format(x->p, "(%s)(%s + %lldll)", t->c, c, o->offset)
                                      : c;
}

void ptx_write(ptx *x, const ptx_value *to, const ptx_type *t, const char *c)
{
    if (!to->text) {
        ptx_add(x, "(void)(%s);\n", c);
        return;
    }
    const char l = t->letter;
    if ((l == 'p') != (to->store == PTX_PRED) || to->store == PTX_POINTER ||
        to->store == PTX_NUMBER)
        ptx_fail(x, "the result does not fit its operand");
    if ((l == 'f' && to->store == PTX_F32) || (l == 'd' && to->store == PTX_F64) || l == 'p') {
        ptx_add(x, "%s = %s;\n", to->text, c);
        return;
    }
    const char *bits = l == 'f'               ? "__float_as_uint"
                       : l == 'd'             ? "__double_as_longlong"
                       : l == 'h'             ? "__half_as_ushort"
                       : l == 'n'             ? "__bfloat16_as_ushort"
                       : l == 'H' || l == 'N' ? "ig_bits"
                                              : "";
    const char *of = to->store == PTX_F32   ? "__uint_as_float((unsigned)"
                     : to->store == PTX_F64 ? "__longlong_as_double((long long)"
                                            : "(";
    ptx_add(x, "%s = (%s)%s%s(%s));\n", to->text, store_types[to->store], of, bits, c);
}

const char *ptx_address(ptx *x, int i, const char *c, bool shared)
{
    if (i >= x->n || !x->o[i].is_address)
        ptx_fail(x, "operand %d is not an address", i + 1);
    const ptx_value *v = &x->o[i].v[0];
    const long long offset = x->o[i].offset;
    if (v->store == PTX_POINTER)
        return offset
                   ? parser_format(x->p, "((%s *)((const char *)%s + %lldll))", c, v->text, offset)
                   : parser_format(x->p, "((%s *)%s)", c, v->text);
    if (v->store != PTX_B64 && !(shared && v->store == PTX_B32))
        ptx_fail(x, "the address is not a register of %s", shared ? "32 or 64 bits" : "64 bits");
    return parser_format(
        x->p, shared ? "((%s *)__cvta_shared_to_generic(%s + %lldll))" : "((%s *)(%s + %lldll))", c,
        v->text, offset);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void skip_space(ptx *x)
{
    for (;;) {
        while (isspace((unsigned char)*x->at))
            x->at++;
        const char *end = !strncmp(x->at, "//", 2) ? "\n" : !strncmp(x->at, "/*", 2) ? "*/" : NULL;
        if (!end)
            return;
        const char *found = strstr(x->at + 2, end);
        x->at = found ? found + strlen(end) : x->at + strlen(x->at);
    }
}

static bool take(ptx *x, char c)
{
    skip_space(x);
    const bool is = *x->at == c;
    x->at += is;
    return is;
}

static void need(ptx *x, char c)
{
    if (!take(x, c))
        ptx_fail(x, "'%c' is missing", c);
}

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* A word with the characters of names and `more`. */
static const char *take_word(ptx *x, const char *more)
{
    skip_space(x);
    const char *from = x->at;
    while (in_name(*x->at) || (*x->at && strchr(more, *x->at)))
        x->at++;
    return kernel_arena_text(x->p->arena, from, (size_t)(x->at - from));
}

static const char *take_number(ptx *x)
{
    skip_space(x);
    const bool minus = take(x, '-');
    const char *s = take_word(x, ".");
    const size_t n = strlen(s);
    if (!n)
        ptx_fail(x, "a number is missing");
    if ((s[n - 1] == 'e' || s[n - 1] == 'E') && s[1] != 'x' && (*x->at == '-' || *x->at == '+')) {
        x->at++;
        s = parser_format(x->p, "%s%c%s", s, x->at[-1], take_word(x, ""));
    }
    return minus ? parser_format(x->p, "-%s", s) : s;
}

static bool at_number(ptx *x)
{
    skip_space(x);
    return isdigit((unsigned char)*x->at) || (*x->at == '-' && isdigit((unsigned char)x->at[1]));
}

static ptx_value value_of(ptx *x)
{
    parser *p = x->p;
    if (at_number(x))
        return (ptx_value){PTX_NUMBER, take_number(x), false};
    const bool negated = take(x, '!');
    skip_space(x);
    if (*x->at == '%' && isdigit((unsigned char)x->at[1])) {
        x->at++;
        const char *s = take_word(x, "");
        const unsigned long i = strtoul(s, NULL, 10);
        if (i >= x->n_given)
            ptx_fail(x, "the statement has no operand %%%s", s);
        return x->given[i];
    }
    const bool percent = *x->at == '%';
    x->at += percent && x->at[1] == '%'; /* "%%" is a percent sign */
    x->at += percent;
    const char *s = take_word(x, percent ? "." : "");
    if (!*s)
        ptx_fail(x, "an operand is missing");
    if (!strcmp(s, "_") && !percent)
        return (ptx_value){PTX_NUMBER, NULL, false};
    const char *full = percent ? parser_format(p, "%%%s", s) : s;
    for (uint32_t i = x->n_registers; i > 0; i--)
        if (!strcmp(x->names[i - 1], full)) {
            ptx_value v = x->registers[i - 1];
            v.negated = negated;
            return v;
        }
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (!strcmp(specials[i].name, full))
            return (ptx_value){(ptx_store)specials[i].store, specials[i].c, false};
    ptx_fail(x, "'%s' is not a register that is supported", full);
}

static void take_operand(ptx *x)
{
    if (x->n == PTX_OPERANDS)
        ptx_fail(x, "it has too many operands");
    ptx_operand *o = &x->o[x->n++];
    *o = (ptx_operand){0};
    if (take(x, '{')) {
        do {
            if (o->n == PTX_LIST)
                ptx_fail(x, "a list is too long");
            o->v[o->n++] = value_of(x);
        } while (take(x, ','));
        need(x, '}');
        return;
    }
    o->is_address = take(x, '[');
    o->v[o->n++] = value_of(x);
    if (o->is_address) {
        while (take(x, '+') || (skip_space(x), *x->at == '-')) {
            if (!at_number(x)) {
                const ptx_value v = value_of(x);
                if (v.store != PTX_NUMBER || !v.text)
                    ptx_fail(x, "an offset is not a constant");
                o->offset += strtoll(v.text + strspn(v.text, "("), NULL, 0);
            } else {
                o->offset += strtoll(take_number(x), NULL, 0);
            }
        }
        need(x, ']');
    } else if (take(x, '|')) {
        o->v[o->n++] = value_of(x);
    }
}

/* .reg .b32 a, b<4>; */
static void take_registers(ptx *x)
{
    need(x, '.');
    const char *s = take_word(x, "");
    const ptx_type *t = ptx_type_of(s);
    if (!t)
        ptx_fail(x, "registers of type .%s are not supported", s);
    const ptx_store store = t->letter == 'p'   ? PTX_PRED
                            : t->letter == 'f' ? PTX_F32
                            : t->letter == 'd' ? PTX_F64
                            : t->bytes == 8    ? PTX_B64
                            : t->bytes == 4    ? PTX_B32
                                               : PTX_B16;
    do {
        skip_space(x);
        const bool percent = *x->at == '%';
        x->at += percent && x->at[1] == '%';
        x->at += percent;
        const char *name = take_word(x, "");
        if (!*name)
            ptx_fail(x, "a name is missing");
        long long count = -1;
        if (take(x, '<')) {
            count = strtoll(take_number(x), NULL, 0);
            need(x, '>');
            if (count < 0 || count > 4096)
                ptx_fail(x, "there are too many registers");
        }
        for (long long i = 0; i < (count < 0 ? 1 : count); i++) {
            const char *c = parser_format(x->p, "ig_r%d", x->n_made++);
            uint32_t n = x->n_registers;
            const char *number = count < 0 ? "" : parser_format(x->p, "%lld", i);
            ARENA_ADD(x->p->arena, x->names, n, x->names_room,
                      parser_format(x->p, "%s%s%s", percent ? "%" : "", name, number));
            ARENA_ADD(x->p->arena, x->registers, x->n_registers, x->registers_room,
                      (ptx_value){store, c, false});
            ptx_add(x, "%s %s;\n", store_types[store], c);
        }
    } while (take(x, ','));
    need(x, ';');
}

/* ---- rows of the table --------------------------------------------------------------------------- */

/* True if s is one of the words of a list that `between` separates. */
static bool one_of(const char *s, const char *list, const char *end, char between)
{
    const size_t n = strlen(s);
    while (list < end) {
        const char *stop = list;
        while (stop < end && *stop != between)
            stop++;
        if ((size_t)(stop - list) == n && !strncmp(list, s, n))
            return true;
        list = stop + 1;
    }
    return false;
}

/* Compares the words of the instruction with a row's name; *t becomes the type for T. */
static bool matches(const ptx *x, const char *name, const char *of_types, const ptx_type **t)
{
    int i = 0;
    *t = NULL;
    while (*name) {
        const char *end = name + strcspn(name, ".");
        const bool optional = end[-1] == '?';
        const char *words_end = end - optional;
        const char *s = i < x->n_words ? x->word[i] : "";
        const bool is_type = words_end - name == 1 && *name == 'T';
        if (is_type ? *s && one_of(s, of_types, of_types + strlen(of_types), ' ')
                    : *s && one_of(s, name, words_end, '|')) {
            if (is_type)
                *t = ptx_type_of(s);
            i++;
        } else if (!optional) {
            return false;
        }
        name = *end ? end + 1 : end;
    }
    if (!*t)
        *t = ptx_type_of(of_types);
    return i == x->n_words;
}

static const ptx_type *sized(char letter, int bytes)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].letter == letter && types[i].bytes == bytes)
            return &types[i];
    return NULL;
}

static const ptx_type *type_by_letter(char c)
{
    static const char letters[] = "usUfdph";
    static const char *const names[] = {"u32", "s32", "u64", "f32", "f64", "pred", "u16"};
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? ptx_type_of(names[found - letters]) : NULL;
}

/* Adds the values of an operand, separated by commas. */
static void add_operand(ptx *x, int i, const ptx_type *t)
{
    if (i >= x->n)
        ptx_fail(x, "operand %d is missing", i + 1);
    if (x->o[i].n == 1) {
        ptx_add(x, "%s", ptx_read(x, i, t));
        return;
    }
    for (int k = 0; k < x->o[i].n; k++)
        ptx_add(x, "%s%s", k ? ", " : "", ptx_read_value(x, &x->o[i].v[k], t));
}

/* Adds a row's C. */
static void expand(ptx *x, const char *c, const ptx_type *t)
{
    for (; *c; c++) {
        if (*c != '$') {
            ptx_add(x, "%c", *c);
            continue;
        }
        c++;
        if (*c == 'T' || *c == 'W' || *c == 'B') {
            const ptx_type *named = *c == 'W'   ? sized(t->letter, 2 * t->bytes)
                                    : *c == 'B' ? sized('u', t->bytes)
                                                : t;
            ptx_add(x, "%s", named->c);
        } else if (*c == 'n') {
            if (x->n > 1)
                ptx_fail(x, "a barrier of some of the threads is not supported");
        } else if (*c == 'a') {
            const int i = *++c - '0';
            if (i < x->n && x->o[i].v[0].store == PTX_POINTER)
                ptx_add(x, "%s", x->o[i].v[0].text);
            else
                add_operand(x, i, ptx_type_of("u64"));
        } else {
            const ptx_type *given = type_by_letter(*c);
            c += given != NULL;
            add_operand(x, *c - '0', given ? given : t);
        }
    }
}

static void write_row(ptx *x, const char *result, const char *c, const ptx_type *t)
{
    static const char *const members[] = {"x", "y", "z", "w"};
    if (!*result) {
        expand(x, c, t);
        ptx_add(x, "\n");
        return;
    }
    const bool pair = !strcmp(result, "pair"), carry = !strcmp(result, "carry");
    const ptx_operand to = x->o[0];
    if (!x->n || to.n > 4)
        ptx_fail(x, "its result has no operand");
    const char *made = parser_format(x->p, "ig_t%d", x->n_made++);
    const ptx_type *type = pair                      ? ptx_type_of("u32")
                           : *result == 'W'          ? sized(t->letter, 2 * t->bytes)
                           : carry || *result == 'T' ? t
                                                     : ptx_type_of(result);
    ptx_add(x, "const auto %s = ", made);
    expand(x, c, t);
    ptx_add(x, ";\n");
    for (int i = 0; i < to.n; i++) {
        const bool member = pair || carry || to.n > 1;
        const char *from = member ? parser_format(x->p, "%s.%s", made, members[i]) : made;
        if (pair && i == 1)
            ptx_write(x, &to.v[i], ptx_type_of("pred"), parser_format(x->p, "%s != 0u", from));
        else
            ptx_write(x, &to.v[i], type, from);
    }
    if (carry)
        ptx_add(x, "ig_cc = (unsigned)%s.y;\n", made);
}

static void take_instruction(ptx *x)
{
    x->begin = x->at;
    const bool guarded = take(x, '@');
    if (guarded) {
        const bool negated = take(x, '!');
        ptx_value v = value_of(x);
        v.negated = negated;
        ptx_add(x, "if (%s) ", ptx_read_value(x, &v, ptx_type_of("pred")));
    }
    char *s = kernel_arena_text(x->p->arena, x->at, strlen(x->at));
    const char *name = take_word(x, ".:");
    if (!*name)
        ptx_fail(x, "an instruction is missing");
    if (name[strlen(name) - 1] == ':')
        ptx_fail(x, "labels are not supported");
    snprintf(s, strlen(name) + 1, "%s", name);
    x->n_words = 0;
    while (s) {
        if (x->n_words == PTX_WORDS)
            ptx_fail(x, "it is not supported");
        x->word[x->n_words++] = s;
        s = strchr(s, '.');
        if (s)
            *s++ = 0;
    }
    x->n = 0;
    skip_space(x);
    if (*x->at != ';')
        do
            take_operand(x);
        while (take(x, ','));
    skip_space(x);
    if (*x->at)
        need(x, ';');
    ptx_add(x, "{\n");
    if (!ptx_special(x)) {
        const ptx_type *t;
        size_t i = 0;
        while (i < sizeof rows / sizeof *rows && !matches(x, rows[i].name, rows[i].types, &t))
            i++;
        if (i == sizeof rows / sizeof *rows)
            ptx_fail(x, "this instruction is not supported");
        write_row(x, rows[i].result, rows[i].c, t);
    }
    ptx_add(x, "}\n");
}

static void take_statements(ptx *x, bool inside)
{
    const uint32_t before = x->n_registers;
    for (;;) {
        skip_space(x);
        x->begin = x->at;
        if (!*x->at && !inside)
            break;
        if (!*x->at)
            ptx_fail(x, "'}' is missing");
        if (take(x, ';'))
            continue;
        if (take(x, '}')) {
            if (!inside)
                ptx_fail(x, "'{' is missing");
            break;
        }
        if (take(x, '{')) {
            ptx_add(x, "{\n");
            parser_down(x->p);
            take_statements(x, true);
            parser_up(x->p);
            ptx_add(x, "}\n");
        } else if (take(x, '.')) {
            const char *s = take_word(x, "");
            if (strcmp(s, "reg"))
                ptx_fail(x, "'.%s' is not supported", s);
            take_registers(x);
        } else {
            take_instruction(x);
        }
    }
    x->n_registers = before;
}

/* ---- the statement ------------------------------------------------------------------------------- */

/* An operand of the statement: a variable of the block that the statement becomes. */
typedef struct asm_operand {
    kernel_expr *place; /* of a result, else NULL */
    kernel_var *var;
} asm_operand;

typedef struct asm_state {
    parser *p;
    kernel_place place;
    stmt_list *out;
    ptx_value *values;
    asm_operand *operands;
    uint32_t n, n_results, values_room, operands_room;
} asm_state;

static ptx_store constraint(asm_state *a, const char *s, kernel_place place)
{
    static const char letters[] = "hrlfd";
    const char *found = *s && !s[1] ? strchr(letters, *s) : NULL;
    if (!found)
        parser_fail(a->p, place, "inline PTX: the constraint \"%s\" is not supported", s);
    return (ptx_store)(found - letters);
}

static const kernel_type *store_type(parser *p, ptx_store store)
{
    static const uint8_t words[] = {WORD_USHORT, WORD_UINT, WORD_ULLONG, WORD_FLOAT, WORD_DOUBLE};
    return type_word_of(p, (type_word)words[store]);
}

static void add_value(asm_state *a, ptx_store store, kernel_expr *place, const kernel_type *type,
                      kernel_expr *value)
{
    parser *p = a->p;
    const char *name = parser_format(p, "ig_asm%u", a->n);
    kernel_var *v = local_new(p, name_of(p, name), type, a->place);
    symbol_add(p, p->scope, SYMBOL_VAR, name_of(p, name), a->place)->as.var = v;
    v->assigned = place != NULL;
    kernel_stmt *s = stmt_add(p, a->out, STMT_DECLARE, a->place);
    s->var = v;
    s->value = value;
    uint32_t n = a->n;
    ARENA_ADD(p->arena, a->values, n, a->values_room, (ptx_value){store, name, false});
    ARENA_ADD(p->arena, a->operands, a->n, a->operands_room, (asm_operand){place, v});
}

static void take_result(asm_state *a, const char *s, kernel_expr *e)
{
    parser *p = a->p;
    const ptx_store store = constraint(a, s + strspn(s, "=+&"), e->place);
    const kernel_type *type = store_type(p, store), *given = e->type->plain;
    if (!expr_is_place(e) || !type_is_scalar(given) || given->size != type->size)
        parser_fail(p, e->place,
                    "inline PTX: a result with the constraint \"%s\" is not a %s variable", s,
                    type_name(p, type));
    kernel_expr *before = NULL;
    e = expr_place_once(p, e, &before);
    if (before)
        stmt_add(p, a->out, STMT_EXPR, a->place)->value = before;
    kernel_expr *value = *s == '+' ? expr_cast(p, expr_value(p, e), type, e->place) : NULL;
    add_value(a, store, e, type, value);
}

static void take_argument(asm_state *a, const char *s, kernel_expr *e)
{
    parser *p = a->p;
    if (!strcmp(s, "n")) {
        const long long value = (long long)fold_integer(p, e, "an operand \"n\"");
        uint32_t n = a->n;
        ARENA_ADD(p->arena, a->values, n, a->values_room,
                  (ptx_value){PTX_NUMBER, parser_format(p, "(%lldll)", value), false});
        ARENA_ADD(p->arena, a->operands, a->n, a->operands_room, (asm_operand){NULL, NULL});
        return;
    }
    e = temporary_finish(p, expr_value(p, e));
    if (*s >= '0' && *s <= '9') { /* the register of a result */
        const unsigned long i = strtoul(s, NULL, 10);
        if (i >= a->n_results)
            parser_fail(p, e->place, "inline PTX: there is no result %s", s);
        kernel_var *v = a->operands[i].var;
        stmt_add(p, a->out, STMT_EXPR, a->place)->value =
            expr_assign(p, a->place, expr_var(p, a->place, v), expr_cast(p, e, v->type, e->place));
        uint32_t n = a->n;
        ARENA_ADD(p->arena, a->values, n, a->values_room, a->values[i]);
        ARENA_ADD(p->arena, a->operands, a->n, a->operands_room, (asm_operand){NULL, v});
        return;
    }
    const ptx_store store = constraint(a, s, e->place);
    if (store == PTX_B64 && type_is_pointer(e->type)) {
        add_value(a, PTX_POINTER, NULL, e->type, e);
        return;
    }
    const kernel_type *type = store_type(p, store);
    if (!type_is_scalar(e->type) || e->type->size != type->size)
        parser_fail(p, e->place, "inline PTX: an operand with the constraint \"%s\" has type '%s'",
                    s, type_name(p, e->type));
    add_value(a, store, NULL, type, expr_cast(p, e, type, e->place));
}

static const char *string_here(parser *p)
{
    if (!at(p, TOKEN_STRING))
        parser_fail(p, p->t->place, "expected a string, found %s", token_text(p, p->t));
    return parse_string(p)->text;
}

/* "constraint"(expression), ... up to ":" or ")". */
static void take_list(asm_state *a, bool results)
{
    parser *p = a->p;
    while (at(p, TOKEN_STRING)) {
        const char *s = string_here(p);
        expect(p, TOKEN_LPAREN, "after a constraint");
        kernel_expr *e = parse_inside(p, TOKEN_RPAREN, "after an operand");
        if (results && *s != '=' && *s != '+')
            parser_fail(p, e->place,
                        "inline PTX: the constraint of a result begins with '=' or '+'");
        if (results)
            take_result(a, s, e);
        else
            take_argument(a, s, e);
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    if (results)
        a->n_results = a->n;
}

void parse_asm(parser *p, kernel_place place, stmt_list *out)
{
    while (accept_word(p, KEYWORD_volatile) || accept_word(p, KEYWORD___volatile__) ||
           accept_word(p, KEYWORD_goto))
        ;
    expect(p, TOKEN_LPAREN, "after 'asm'");
    const char *s = string_here(p);
    asm_state a = {.p = p, .place = place, .out = out};
    int section = 0; /* results, operands, what changes */
    while (at(p, TOKEN_COLON) || at(p, TOKEN_SCOPE)) {
        section += at(p, TOKEN_SCOPE) ? 2 : 1;
        p->t++;
        if (section < 3)
            take_list(&a, section == 1);
        else
            while (at(p, TOKEN_STRING) || at(p, TOKEN_COMMA))
                p->t++;
    }
    expect(p, TOKEN_RPAREN, "after 'asm'");
    expect(p, TOKEN_SEMICOLON, "after 'asm'");
    ptx x = {.p = p, .place = place, .at = s, .begin = s, .given = a.values, .n_given = a.n};
    ptx_add(&x, "unsigned ig_cc = 0u;\n");
    take_statements(&x, false);
    const char *body = strchr(x.out, '\n');
    parse_text(p, strstr(body, "ig_cc") ? x.out : body, place, out);
    for (uint32_t i = 0; i < a.n_results; i++) {
        const asm_operand *o = &a.operands[i];
        kernel_expr *value =
            expr_cast(p, expr_value(p, expr_var(p, place, o->var)), o->place->type->plain, place);
        stmt_add(p, out, STMT_EXPR, place)->value = expr_assign(p, place, o->place, value);
    }
}
