/* The unit of one compilation, and the loop that turns the preprocessor's tokens into the parser's. */
#include "compiler/pp/pp.h"
#include <string.h>

/* ---- the unit ---- */

ig_status kernel_unit_begin(kernel_unit *u, size_t cap_bytes)
{
    jmp_buf escape;
    *u = (kernel_unit){0};
    kernel_arena_begin(&u->arena, cap_bytes);
    kernel_source_begin(&u->source, &u->arena);
    kernel_diags_begin(&u->diags, &u->source, &u->arena);
    u->arena.escape = &escape;
    if (setjmp(escape)) {
        u->arena.escape = NULL;
        return IG_ERR_MEMORY;
    }
    kernel_names_begin(&u->names, &u->arena);
    u->arena.escape = NULL;
    return IG_OK;
}

void kernel_unit_end(kernel_unit *u) { kernel_arena_end(&u->arena); }

kernel_file *kernel_unit_text(kernel_unit *u, const char *name, const char *text, size_t bytes)
{
    jmp_buf escape, *outer = u->arena.escape;
    u->arena.escape = &escape;
    if (setjmp(escape)) {
        u->arena.escape = outer;
        return NULL;
    }
    const char *slash = strrchr(name, '/');
    const char *folder = kernel_arena_text(&u->arena, name, slash ? (size_t)(slash + 1 - name) : 0);
    kernel_file *file = kernel_source_add(&u->source, name, folder, text, bytes, 0);
    u->arena.escape = outer;
    return file;
}

/* ---- the parser's tokens ---- */

typedef struct output {
    kernel_pp *pp;
    kernel_token *at;
    uint32_t n, room;
    uint32_t n_strings; /* adjacent strings at the end, not joined yet */
} output;

static void join_strings(output *o)
{
    const uint32_t first = o->n - o->n_strings;
    pp_decode_strings(o->pp->unit, &o->at[first], &o->at[first], o->n_strings);
    o->n = first + 1;
    o->n_strings = 0;
}

/* _Pragma("unroll 4"): the string is handled as a #pragma. */
static bool pragma_operator(kernel_pp *pp, const kernel_token *word)
{
    static const kernel_token_kind wanted[3] = {TOKEN_LPAREN, TOKEN_STRING, TOKEN_RPAREN};
    kernel_token t[3];
    uint32_t n;
    for (int i = 0; i < 3; i++) {
        pp_next(pp, &t[i]);
        if (t[i].kind == wanted[i])
            continue;
        diag_error(pp->diags, word->place, NULL, "_Pragma expects a string in parentheses");
        if (t[i].kind == TOKEN_PRAGMA) { /* its end is not read yet */
            kernel_token *back = kernel_arena_get(pp->arena, sizeof *back);
            *back = t[i];
            pp_push(pp, back, 1);
        }
        return false;
    }
    pp_decode_strings(pp->unit, &t[1], &t[1], 1);
    const kernel_string *text = t[1].as.string;
    pp_lexer l = {.unit = pp->unit,
                  .begin = text->text,
                  .at = text->text,
                  .end = text->text + text->bytes,
                  .directive = true};
    const uint32_t from = pp->n_scratch;
    for (pp_lex(&l, &t[0]); t[0].kind != TOKEN_END; pp_lex(&l, &t[0])) {
        t[0].place = word->place;
        pp_scratch_add(pp, &t[0]);
    }
    kernel_token *line = pp_scratch_take(pp, from, &n);
    pp_pragma(pp, line, n, word->place);
    return true;
}

/* A character that looks like a character of C but is not: a typographic quote, a wide space. */
static bool foreign_name(kernel_pp *pp, const kernel_token *t)
{
    const char *text = t->as.name->text;
    for (uint32_t i = 0; i < t->as.name->bytes; i++) {
        const uint8_t c = (uint8_t)text[i], d = c ? (uint8_t)text[i + 1] : 0;
        uint32_t code = 0;
        if (c == 0xc2)
            code = d;
        else if (c == 0xe2 && (d == 0x80 || d == 0x81))
            code = 0x2000 + ((uint32_t)(d & 0x3f) << 6) + ((uint8_t)text[i + 2] & 0x3f);
        else if (c == 0xef && d == 0xbb)
            code = 0xfeff;
        else if (c == 0xe3 && d == 0x80)
            code = 0x3000 + ((uint8_t)text[i + 2] & 0x3f);
        if (code && code != 0xaa && code != 0xb5 && code != 0xba) {
            diag_error(pp->diags, t->place, NULL, "the character U+%04X is not C", code);
            diag_do(pp->diags, "retype the quote, dash or space: copying changed it");
            return true;
        }
    }
    return false;
}

static bool stray(kernel_pp *pp, const kernel_token *t)
{
    if (t->kind == TOKEN_OTHER)
        diag_error(pp->diags, t->place, NULL, "the character '%s' (0x%02x) is not C here",
                   kernel_token_text(pp->arena, t), (uint8_t)t->text[0]);
    else
        diag_error(pp->diags, t->place, NULL, "'%s' may appear only in macros and directives",
                   kernel_token_kind_text(t->kind));
    return true;
}

/* Turns *t into a token for the parser; false if it is left out. */
static bool convert(kernel_pp *pp, kernel_token *t)
{
    switch (t->kind) {
    case TOKEN_NAME:
        if (t->as.name->alternative)
            t->kind = t->as.name->alternative;
        if (t->as.name == pp->pragma)
            return pragma_operator(pp, t), false;
        return !t->as.name->foreign || !foreign_name(pp, t);
    case TOKEN_INTEGER:
    case TOKEN_CHAR: pp_decode(pp->unit, t); return true;
    case TOKEN_OTHER:
        if (memchr(t->text, '"', t->bytes) || memchr(t->text, '\'', t->bytes)) {
            pp_decode(pp->unit, t);
            return true;
        }
        return !stray(pp, t);
    case TOKEN_HASH:
    case TOKEN_HASH_HASH: return !stray(pp, t);
    default: return true;
    }
}

static void produce(kernel_pp *pp, kernel_tokens *tokens)
{
    output o = {.pp = pp, .room = pp->files[0].file->bytes / 4 + 64};
    o.at = kernel_arena_get(pp->arena, o.room * sizeof *o.at);
    for (;;) {
        o.at = kernel_arena_grow(pp->arena, o.at, &o.room, o.n + 1, sizeof *o.at);
        kernel_token *t = &o.at[o.n];
        pp_next(pp, t);
        if (t->kind == TOKEN_STRING) {
            o.n++;
            o.n_strings++;
            continue;
        }
        if (o.n_strings) {
            const kernel_token behind = *t;
            join_strings(&o);
            t = &o.at[o.n];
            *t = behind;
        }
        if (t->kind == TOKEN_END)
            break;
        o.n += convert(pp, t);
    }
    const kernel_file *file = pp->files[0].file;
    o.at[o.n] = (kernel_token){.kind = TOKEN_END, .flags = TOKEN_BEGINS, .text = ""};
    o.at[o.n].place = file->first + file->bytes;
    *tokens = (kernel_tokens){.at = o.at, .count = o.n + 1};
}

/* ---- the start ---- */

kernel_name *pp_name(kernel_pp *pp, const char *text)
{
    return kernel_name_get(&pp->unit->names, text, strlen(text));
}

/* The options' definitions as text: "A=1" is "#define A 1". */
static const char *definitions(kernel_pp *pp, const kernel_options *options, size_t *bytes)
{
    static const char define[] = "#define ";
    size_t room = 1;
    for (int i = 0; i < options->n_defines; i++)
        room += sizeof define + strlen(options->defines[i]) + 3;
    char *text = kernel_arena_get(pp->arena, room), *p = text;
    for (int i = 0; i < options->n_defines; i++) {
        const char *d = options->defines[i];
        bool valued = false;
        memcpy(p, define, sizeof define - 1);
        p += sizeof define - 1;
        for (; *d; d++) {
            const bool first = *d == '=' && !valued;
            valued |= first;
            *p++ = first || *d == '\n' ? ' ' : *d;
        }
        if (!valued) {
            *p++ = ' ';
            *p++ = '1';
        }
        *p++ = '\n';
    }
    *p = '\0';
    *bytes = (size_t)(p - text);
    return text;
}

static void begin(kernel_pp *pp, kernel_file *file)
{
    pp->defined = pp_name(pp, "defined");
    pp->has_include = pp_name(pp, "__has_include");
    pp->va_args = pp_name(pp, "__VA_ARGS__");
    pp->va_opt = pp_name(pp, "__VA_OPT__");
    pp->pragma = pp_name(pp, "_Pragma");
    pp->once = pp_name(pp, "once");
    pp->unroll = pp_name(pp, "unroll");
    pp->nounroll = pp_name(pp, "nounroll");
    pp_directives_begin(pp);
    pp_builtin_macro(pp, "__LINE__", BUILTIN_LINE);
    pp_builtin_macro(pp, "__FILE__", BUILTIN_FILE);
    pp_builtin_macro(pp, "__COUNTER__", BUILTIN_COUNTER);
    /* The last one pushed is read first. */
    size_t bytes;
    kernel_source *s = &pp->unit->source;
    const char *text = definitions(pp, pp->options, &bytes);
    kernel_file *given = kernel_source_add(s, "<options>", NULL, text, bytes, 0);
    kernel_file *prelude = kernel_source_add(s, "<ingot>", NULL, pp_prelude, strlen(pp_prelude), 0);
    pp_file_enter(pp, file, file, false);
    pp_file_enter(pp, given, given, false);
    pp_file_enter(pp, prelude, prelude, true);
}

ig_status kernel_preprocess(kernel_unit *u, kernel_file *file, const kernel_options *options,
                            kernel_tokens *tokens)
{
    static const kernel_options none = {0};
    jmp_buf escape, *outer = u->arena.escape;
    *tokens = (kernel_tokens){0};
    u->arena.escape = &escape;
    if (setjmp(escape)) {
        u->arena.escape = outer;
        return IG_ERR_MEMORY;
    }
    kernel_pp *pp = kernel_arena_new(&u->arena, sizeof *pp);
    pp->unit = u;
    pp->arena = &u->arena;
    pp->diags = &u->diags;
    pp->options = options ? options : &none;
    begin(pp, file);
    produce(pp, tokens);
    u->arena.escape = outer;
    return IG_OK;
}
