/* Back to CUDA C: operations get their names from the front end's own table, and globals are variables
 * again. */
#include <math.h>
#include <string.h>

#include "compiler/print/parts.h"

typedef struct name_row {
    const char *name;
    uint16_t builtin;
    const char *signatures; /* as in builtin_names.def */
} name_row;

#define ROW(name, id, signature) {name, BUILTIN_##id, signature},
static const name_row name_rows[] = {
#define NAME(name, id, signatures) ROW(#name, id, signatures)
#define MATH(name, id, single, both) ROW(#name "f", id, single) ROW(#name, id, both)
#define ROUNDED(name, id, signature) \
    ROW(#name "_rz", id##_RZ, signature) \
    ROW(#name "_ru", id##_RU, signature) ROW(#name "_rd", id##_RD, signature)
#define CONVERTS(name, signature) \
    ROW(#name "_rn", CONVERT_RN, signature) \
    ROW(#name "_rz", CONVERT_RZ, signature) \
    ROW(#name "_ru", CONVERT_RU, signature) ROW(#name "_rd", CONVERT_RD, signature)
#define ATOMIC(name, id, signature) ROW(#name, id, signature)
#define OPERATE(name, op, signatures)
#define CAST(name, signatures)
#define LANES(name, signature, lanes)
#define LOADS(name)
#define STORES(name)
#include "compiler/builtin_names.def"
};

/* True if a letter stands for the type; *shared is the type of T. */
static bool letter_is(char letter, const kernel_type *t, const kernel_type **shared)
{
    static const struct {
        char letter;
        uint8_t kind;
    } letters[] = {{'v', TYPE_VOID}, {'b', TYPE_BOOL}, {'c', TYPE_I8},  {'C', TYPE_U8},
                   {'s', TYPE_I16},  {'S', TYPE_U16},  {'i', TYPE_I32}, {'u', TYPE_U32},
                   {'j', TYPE_I64},  {'J', TYPE_U64},  {'l', TYPE_I64}, {'L', TYPE_U64},
                   {'h', TYPE_F16},  {'n', TYPE_BF16}, {'f', TYPE_F32}, {'d', TYPE_F64},
                   {'w', TYPE_I32},  {'m', TYPE_U32}};
    if (letter == 'T' || letter == 'A') {
        const kernel_type *before = *shared;
        *shared = t->plain;
        return !before || before == t->plain;
    }
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (letters[i].letter == letter)
            return letters[i].kind == t->kind;
    return false;
}

static bool type_matches(const char **s, const kernel_type *t, const kernel_type **shared)
{
    const char letter = *(*s)++;
    if (letter != 'P' && letter != 'K')
        return letter_is(letter, t, shared);
    return type_is_pointer(t) ? type_matches(s, t->of->plain, shared) : (++*s, false);
}

static bool signature_matches(const char *s, const kernel_expr *e)
{
    const kernel_type *shared = NULL;
    if (!type_matches(&s, e->type, &shared))
        return false;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!*s || *s == ' ' || *s == '/' || !type_matches(&s, e->args[i]->type->plain, &shared))
            return false;
    if (*s != '/' || !shared)
        return !*s || *s == ' ';
    const kernel_type *again = NULL; /* T must be one of these */
    for (s++; *s && *s != ' '; s++)
        if (letter_is(*s, shared, &again))
            return true;
    return false;
}

static const char *cuda_name(const kernel_expr *e)
{
    for (size_t i = 0; i < sizeof name_rows / sizeof name_rows[0]; i++) {
        if (name_rows[i].builtin != e->builtin)
            continue;
        for (const char *s = name_rows[i].signatures; s; s = strchr(s, ' ')) {
            s += *s == ' ';
            if (signature_matches(s, e))
                return name_rows[i].name;
        }
    }
    return NULL;
}

static void quoted(printer *p, const kernel_string *s)
{
    print_out(p, "\"");
    for (uint32_t i = 0; i < s->bytes; i++) {
        const unsigned char c = (unsigned char)s->text[i];
        if (c == '\n')
            print_out(p, "\\n");
        else if (c == '"' || c == '\\')
            print_out(p, "\\%c", c);
        else if (c < 32 || c == 127)
            print_out(p, "\\%03o", c);
        else
            print_out(p, "%c", c);
    }
    print_out(p, "\"");
}

static void print_call(printer *p, const char *name, const kernel_expr *e, uint32_t n)
{
    print_out(p, "%s(", name);
    for (uint32_t i = 0; i < n; i++) {
        print_out(p, "%s", i ? ", " : "");
        if (e->args[i]->kind == EXPR_STRING)
            quoted(p, e->args[i]->as.text);
        else
            print_expr(p, e->args[i], LEVEL_ASSIGN);
    }
    print_out(p, ")");
}

/* Atomics that our front end takes, and CUDA has not: minimum, maximum and comparison of floats. NULL if e is another
 * one. */
static const char *own_atomic(const kernel_expr *e)
{
    if (e->kind != EXPR_BUILTIN || e->type->kind != TYPE_F32)
        return NULL;
    return e->builtin == BUILTIN_ATOMIC_MIN   ? "ig_atomic_min"
           : e->builtin == BUILTIN_ATOMIC_MAX ? "ig_atomic_max"
           : e->builtin == BUILTIN_ATOMIC_CAS ? "ig_atomic_cas"
                                              : NULL;
}

void print_builtin_cuda(printer *p, const kernel_expr *e, int level)
{
    const char *name = own_atomic(e);
    p->float_atomics = p->float_atomics || name;
    name = name ? name : cuda_name(e);
    if (e->builtin == BUILTIN_PRINTF || e->builtin == BUILTIN_ASSERT) {
        print_call(p, e->builtin == BUILTIN_PRINTF ? "printf" : "assert", e,
                   e->builtin == BUILTIN_ASSERT ? 1 : e->n_args);
    } else if (e->builtin == BUILTIN_LANE) {
        const bool wrap = level > LEVEL_BIT_AND;
        print_out(p,
                  "%s((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) & 31u%s",
                  wrap ? "(" : "", wrap ? ")" : "");
    } else if (name) {
        p->extremes = p->extremes || strncmp(name, "__ig_", 5) == 0;
        p->timer = p->timer || e->builtin == BUILTIN_GLOBALTIMER;
        print_call(p, name, e, e->n_args);
    } else {
        print_refuse(p, e->place, "IG-CUDA", NULL, "use the source as it is",
                     "'%s' of these types has no name in CUDA C",
                     kernel_builtin_rows[e->builtin].name);
        print_stop(p);
    }
}

/* Types of halves without the toolkit's headers, which NVRTC lacks if it was installed alone: conversions from and to
 * float, and arithmetic. Other functions are not declared, so NVRTC refuses a text that uses them. */
static void declare_half(printer *p, const char *type, const char *header, const char *to_float,
                         const char *of_float)
{
    print_part_begin(p, &p->top, NULL);
    text_add(&p->top,
             "#if defined __INGOT__ || __has_include(<%s>)\n#include <%s>\n#else\n"
             "struct %s {\n    unsigned short bits;\n    %s() = default;\n"
             "    template <typename T> __device__ %s(T) = delete; /* it needs %s of the CUDA "
             "toolkit */\n"
             "    __device__ %s(float x) { %s }\n"
             "    __device__ operator float() const { float x; %s return x; }\n",
             header, header, type, type, type, header, type, of_float, to_float);
    for (const char *op = "+-*/"; *op; op++)
        text_add(&p->top, "    __device__ %s &operator%c=(%s y) { return *this = *this %c y; }\n",
                 type, *op, type, *op);
    text_add(&p->top, "};\n");
    for (const char *op = "+-*/"; *op; op++)
        text_add(
            &p->top,
            "static __device__ %s operator%c(%s x, %s y) { return %s((float)x %c (float)y); }\n",
            type, *op, type, type, type, *op);
    text_add(&p->top, "static __device__ %s operator-(%s x) { x.bits ^= 0x8000u; return x; }\n",
             type, type);
    static const char *const compare[] = {"==", "!=", "<", ">", "<=", ">="};
    for (int i = 0; i < 6; i++)
        text_add(&p->top,
                 "static __device__ bool operator%s(%s x, %s y) { return (float)x %s (float)y; }\n",
                 compare[i], type, type, compare[i]);
    text_add(&p->top, "#endif\n\n");
}

void print_cuda_headers(printer *p)
{
    const kernel_use *uses = p->entry->uses;
    if (uses[FEATURE_F16].place)
        declare_half(p, "__half", "cuda_fp16.h",
                     "asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(bits));",
                     "asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(x));");
    if (uses[FEATURE_BF16].place)
        declare_half(p, "__nv_bfloat16", "cuda_bf16.h",
                     "x = __uint_as_float((unsigned int)bits << 16);",
                     "const unsigned int u = __float_as_uint(x);\n"
                     "        bits = (unsigned short)(x != x ? 0x7fff : (u + 0x7fffu + (u >> 16 & "
                     "1u)) >> 16);");
    if (uses[FEATURE_WMMA].place) {
        print_part_begin(p, &p->top, NULL);
        text_add(&p->top, "#include <mma.h>\n");
    }
}

/* A record of a failed assert: its number, the block and the thread, as in prelude.def. `exit` ends the thread inside
 * of functions, too, and barriers do not wait for it. Our own front end has no such statement. */
static void declare_log(printer *p)
{
    bool logs = false;
    for (const print_function *f = p->functions; f; f = f->next)
        logs = logs || f->hands[HAND_LOG];
    if (!logs)
        return;
    print_part_begin(p, &p->top, NULL);
    text_add(&p->top,
             "#ifdef __INGOT__\n#define IG_EXIT return\n#else\n"
             "#define IG_EXIT asm volatile(\"exit;\"); return\n#endif\n"
             "static __device__ void ig_record(unsigned int *log, unsigned int format)\n{\n"
             "    const unsigned int room = log[1];\n"
             "    const unsigned int at = *(volatile unsigned int *)log > room ? room : "
             "atomicAdd(log, 5u);\n"
             "    if (at > room || room - at < 5u) {\n"
             "        atomicAdd(log + 2, 1u);\n        return;\n    }\n"
             "    log += 4 + at;\n"
             "    log[0] = format;\n"
             "    log[1] = blockIdx.x;\n    log[2] = blockIdx.y;\n    log[3] = blockIdx.z;\n"
             "    log[4] = threadIdx.x | threadIdx.y << 11 | threadIdx.z << 22;\n}\n\n");
}

static void declare_atomics(printer *p)
{
    static const char each[] =
        "static __device__ float ig_atomic_%s(float *p, float x)\n{\n"
        "    unsigned int *bits = (unsigned int *)p, old = *(volatile unsigned int *)bits, seen;\n"
        "    do {\n        seen = old;\n"
        "        const float was = __uint_as_float(seen);\n"
        "        if (!(x %s was || was != was))\n            return was;\n"
        "        old = atomicCAS(bits, seen, __float_as_uint(x));\n"
        "    } while (old != seen);\n"
        "    return __uint_as_float(old);\n}\n";
    if (!p->float_atomics)
        return;
    print_part_begin(p, &p->top, NULL);
    text_add(&p->top, each, "min", "<");
    text_add(&p->top, each, "max", ">");
    text_add(&p->top,
             "static __device__ float ig_atomic_cas(float *p, float seen, float x)\n{\n"
             "    return __uint_as_float(atomicCAS((unsigned int *)p, __float_as_uint(seen), "
             "__float_as_uint(x)));\n}\n\n");
}

/* Definitions that CUDA C lacks, unless our own front end reads the text. */
void print_cuda_prelude(printer *p)
{
    declare_log(p);
    declare_atomics(p);
    static const char each[] =
        "static __device__ float __ig_f%s_nan(float x, float y)\n{\n"
        "#if __CUDA_ARCH__ >= 800\n"
        "    float r;\n"
        "    asm(\"%s.NaN.f32 %%0, %%1, %%2;\" : \"=f\"(r) : \"f\"(x), \"f\"(y));\n"
        "    return r;\n#else\n"
        "    return x != x || y != y ? x + y : f%sf(x, y);\n#endif\n}\n";
    if (p->timer) {
        print_part_begin(p, &p->top, NULL);
        text_add(&p->top, "#ifndef __INGOT__\n"
                          "static __device__ unsigned long long __globaltimer()\n{\n"
                          "    unsigned long long t;\n"
                          "    asm volatile(\"mov.u64 %%0, %%%%globaltimer;\" : \"=l\"(t));\n"
                          "    return t;\n}\n#endif\n\n");
    }
    if (!p->extremes)
        return;
    print_part_begin(p, &p->top, NULL);
    text_add(&p->top, "#ifndef __INGOT__\n");
    text_add(&p->top, each, "min", "min", "min");
    text_add(&p->top, each, "max", "max", "max");
    text_add(&p->top, "#endif\n\n");
}

/* ---- functions and variables ------------------------------------------------------------------ */

const char *print_cuda_hardware(const kernel_function *f)
{
    /* A NaN keeps as much of its payload as fits. The instructions do not do this; "quick" functions need
     * not. */
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"ingot_f16_to_f32",
         "__device__ float ingot_f16_to_f32(unsigned short h)\n{\n"
         "    float x;\n"
         "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(h));\n"
         "    const unsigned int nan = (h & 0x8000u) << 16 | 0x7fc00000u | (h & 0x3ffu) << 13;\n"
         "    return x != x ? __uint_as_float(nan) : x;\n}\n"},
        {"ingot_f16_of_f32",
         "__device__ unsigned short ingot_f16_of_f32(float x)\n{\n"
         "    unsigned short h;\n"
         "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
         "    const unsigned int u = __float_as_uint(x);\n"
         "    const unsigned int nan = (u >> 16 & 0x8000u) | 0x7e00u | (u >> 13 & 0x3ffu);\n"
         "    return x != x ? (unsigned short)nan : h;\n}\n"},
        {"ingot_bf16_of_f32",
         "__device__ unsigned short ingot_bf16_of_f32(float x)\n{\n"
         "    const unsigned int u = __float_as_uint(x);\n"
         "#if __CUDA_ARCH__ >= 800\n"
         "    unsigned short h;\n"
         "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
         "#else\n"
         "    const unsigned short h = (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);\n"
         "#endif\n"
         "    return x != x ? (unsigned short)((u | 1u << 22) >> 16) : h;\n}\n"},
        {"ingot_f16_to_f32_quick", "__device__ float ingot_f16_to_f32_quick(unsigned short h)\n{\n"
                                   "    float x;\n"
                                   "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(h));\n"
                                   "    return x;\n}\n"},
        {"ingot_f16_of_f32_quick", "__device__ unsigned short ingot_f16_of_f32_quick(float x)\n{\n"
                                   "    unsigned short h;\n"
                                   "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
                                   "    return h;\n}\n"},
        {"ingot_exp2_quick", "static __device__ float ingot_exp2_quick(float x)\n{\n"
                             "    float y;\n"
                             "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n"
                             "    return y;\n}\n"},
        {"ingot_bf16_of_f32_quick",
         "__device__ unsigned short ingot_bf16_of_f32_quick(float x)\n{\n"
         "#if __CUDA_ARCH__ >= 800\n"
         "    unsigned short h;\n"
         "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
         "    return h;\n"
         "#else\n"
         "    const unsigned int u = __float_as_uint(x);\n"
         "    return (unsigned short)((x != x ? u | 1u << 22 : u + 0x7fffu + (u >> 16 & 1u)) >> "
         "16);\n"
         "#endif\n}\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(f->source_name, rows[i].name) == 0)
            return rows[i].text;
    return NULL;
}

static bool are_twins(const kernel_function *f, const kernel_function *g)
{
    if (f->place != g->place || f->n_params != g->n_params || f->result != g->result ||
        strcmp(f->source_name, g->source_name) != 0)
        return false;
    for (uint32_t i = 0; i < f->n_params; i++)
        if (f->params[i]->type != g->params[i]->type)
            return false;
    return true;
}

const char *print_cuda_name(printer *p, print_function *f)
{
    for (const print_function *g = p->functions; g != f; g = g->next)
        if (are_twins(g->f, f->f)) {
            f->is_twin = true;
            return g->name;
        }
    size_t pointers = 0;
    for (uint32_t i = 0; i < f->f->n_params; i++)
        pointers += type_is_pointer(f->f->params[i]->type);
    const size_t n = strlen(f->f->name);
    const char *end = f->f->name + n - pointers;
    const bool marked = pointers && n > pointers + 2 && strspn(end, "gcslx") == pointers &&
                        end[-1] == '_' && end[-2] == '_';
    return marked && !f->f->is_kernel ? print_format(p, "%.*s", (int)(n - pointers - 2), f->f->name)
                                      : f->f->name;
}

void print_cuda_shared(printer *p, const kernel_function *f)
{
    for (uint32_t i = 0; i < f->n_shared; i++) {
        const kernel_var *v = f->shared[i];
        print_line(p);
        print_out(p, "%s%s", v->storage == STORE_DYNAMIC ? "extern " : "", p->lang->shared);
        if (v->align > v->type->align)
            print_out(p, "%s ", print_align(p, v->align));
        print_out(p, "%s;\n", print_declare(p, v->type, v->space, v->name, true));
    }
}

/* ---- initial values of globals ---------------------------------------------------------------- */

static double half_number(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

/* The path from a variable of type t to the object of type `want` at an offset: ".next[2]". */
static const char *path_to(printer *p, const kernel_type *t, uint64_t offset,
                           const kernel_type *want)
{
    if (!offset && t->plain == want->plain)
        return "";
    if (t->kind == TYPE_ARRAY)
        return print_format(p, "[%llu]%s", (unsigned long long)(offset / t->of->size),
                            path_to(p, t->of, offset % t->of->size, want));
    if (t->kind == TYPE_STRUCT)
        for (uint32_t i = t->record->n_members; i-- > 0;) {
            const kernel_member *m = &t->record->members[i];
            if (m->name && m->offset <= offset)
                return print_format(p, ".%s%s", m->name->text,
                                    path_to(p, m->type, offset - m->offset, want));
        }
    return "";
}

/* A pointer in the initial value of v; false if the bytes are not one. */
static bool address_in(printer *p, const kernel_var *v, const kernel_type *t, const uint8_t *bytes,
                       text *out)
{
    const kernel_address *a = v->addresses;
    while (a && v->init + a->at != bytes)
        a = a->next;
    if (a)
        text_add(out, "(%s)&%s%s", print_type(p, t->plain, SPACE_GLOBAL, true), a->of->name,
                 path_to(p, a->of->type, (uint64_t)a->offset, t->of));
    return a != NULL;
}

static void value_of(printer *p, const kernel_var *v, const kernel_type *t, const uint8_t *bytes,
                     text *out)
{
    if (t->kind == TYPE_ARRAY || t->kind == TYPE_STRUCT) {
        const uint64_t n = t->kind == TYPE_ARRAY ? t->count
                           : t->record->is_union ? 1
                                                 : t->record->n_members;
        text_add(out, "{");
        for (uint64_t i = 0; i < n; i++) {
            text_add(out, "%s", i ? ", " : "");
            const kernel_type *of = t->kind == TYPE_ARRAY ? t->of : t->record->members[i].type;
            value_of(p, v, of,
                     bytes +
                         (t->kind == TYPE_ARRAY ? i * t->of->size : t->record->members[i].offset),
                     out);
        }
        text_add(out, "}");
        return;
    }
    if (address_in(p, v, t, bytes, out))
        return;
    kernel_expr e = {.kind = EXPR_CONST, .type = t->plain};
    float single;
    uint64_t bits = 0;
    memcpy(&bits, bytes, t->size < 8 ? t->size : 8);
    if (t->kind == TYPE_F32 || t->kind == TYPE_BF16) { /* the upper half of a float */
        const uint32_t word = (uint32_t)(t->kind == TYPE_F32 ? bits : bits << 16);
        memcpy(&single, &word, sizeof single);
        e.value.number = single;
    } else if (t->kind == TYPE_F16) {
        e.value.number = half_number((uint16_t)bits);
    } else if (t->kind == TYPE_F64) {
        memcpy(&e.value.number, bytes, sizeof(double));
    } else {
        const int shift = t->size < 8 ? (int)(64 - 8 * t->size) : 0;
        e.value.integer = type_is_signed(t) ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits;
    }
    p->into = out;
    print_expr(p, &e, LEVEL_ASSIGN);
    p->into = &p->text;
}

void print_cuda_references(printer *p, const print_function *f)
{
    for (uint32_t i = 0; i < f->n_vars && p->target->hides_globals; i++) {
        const kernel_var *v = f->vars[i];
        if (v->storage < STORE_GLOBAL)
            continue;
        const char *name = print_format(p, "(&%s)", v->name);
        print_row(p, "%s = *(%s)(ig_globals + %llu);",
                  print_declare(p, v->type, v->space, name, true),
                  print_declare(p, v->type, v->space, "(*)", true),
                  (unsigned long long)kernel_global_at(p->tree, v));
    }
}

/* True if the kernel, which is the last function, uses v, or v is in the initial value of a variable that it
 * uses. */
static bool is_needed(const printer *p, const kernel_var *v, int depth)
{
    const print_function *kernel = p->functions;
    while (kernel->next)
        kernel = kernel->next;
    for (uint32_t i = 0; i < kernel->n_vars; i++)
        if (kernel->vars[i] == v)
            return true;
    for (const kernel_var *g = p->tree->globals; g && depth < 8; g = g->next)
        for (const kernel_address *a = g->addresses; a; a = a->next)
            if (a->of == v && g != v && is_needed(p, g, depth + 1))
                return true;
    return false;
}

static const char *declare_global(printer *p, const kernel_var *v)
{
    return print_declare(p, v->storage == STORE_CONSTANT ? v->type->plain : v->type, v->space,
                         v->name, true);
}

void print_cuda_find_structs(printer *p)
{
    for (const kernel_var *v = p->tree->globals; v; v = v->next)
        if (is_needed(p, v, 0))
            declare_global(p, v);
}

typedef struct globals_done {
    const kernel_var **at;
    uint32_t n;
} globals_done;

static bool is_done(const globals_done *done, const kernel_var *v)
{
    for (uint32_t i = 0; i < done->n; i++)
        if (done->at[i] == v)
            return true;
    return false;
}

/* Declares a variable, after those that its initial value points to. */
static void print_global(printer *p, const kernel_var *v, globals_done *done, int depth)
{
    if (depth > 64) {
        print_refuse(p, v->place, "IG-CUDA", "C declares a variable before its address is used",
                     "use the source as it is",
                     "the initial values of '%s' and others form a circle", v->name);
        print_stop(p);
    }
    for (const kernel_address *a = v->addresses; a; a = a->next)
        if (a->of != v && !is_done(done, a->of))
            print_global(p, a->of, done, depth + 1);
    if (is_done(done, v))
        return;
    done->at[done->n++] = v;
    print_part_begin(p, &p->top, v->name);
    text_add(&p->top, "%s %s",
             v->is_managed                  ? "__managed__"
             : v->storage == STORE_CONSTANT ? "__constant__"
                                            : "__device__",
             declare_global(p, v));
    if (v->init) {
        text_add(&p->top, " = ");
        value_of(p, v, v->type, v->init, &p->top);
    }
    text_add(&p->top, ";\n");
}

void print_cuda_globals(printer *p)
{
    uint32_t n = 0;
    for (const kernel_var *v = p->tree->globals; v; v = v->next)
        n++;
    globals_done done = {kernel_arena_get(p->arena, (n + 1) * sizeof *done.at), 0};
    for (const kernel_var *v = p->tree->globals; v; v = v->next)
        if (is_needed(p, v, 0))
            print_global(p, v, &done, 0);
    if (p->top.used) {
        print_part_begin(p, &p->top, NULL);
        text_add(&p->top, "\n");
    }
}
