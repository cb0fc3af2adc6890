/* Expansion of macros, by the rules of C11 6.10.3 and C++17's [cpp.replace].
 *
 * A use of a macro pushes a frame: its body, or a copy of it with the arguments inserted. Arguments are
 * expanded separately before they are inserted; this is the only recursion, and PP_NESTING bounds it. All
 * expanded tokens are counted against PP_EXPANDED_MOST. */
#include "compiler/pp/pp.h"
#include <stdio.h>
#include <string.h>

typedef struct argument {
    kernel_token *list, *expanded; /* expanded is NULL until it is needed */
    uint32_t n, n_expanded;
} argument;

/* ---- lists ---- */

void pp_scratch_add(kernel_pp *pp, const kernel_token *t)
{
    ARENA_ADD(pp->arena, pp->scratch, pp->n_scratch, pp->scratch_room, *t);
}

kernel_token *pp_scratch_take(kernel_pp *pp, uint32_t from, uint32_t *count)
{
    *count = pp->n_scratch - from;
    kernel_token *list = kernel_arena_get(pp->arena, (*count + 1) * sizeof *list);
    if (*count)
        memcpy(list, pp->scratch + from, *count * sizeof *list);
    list[*count] = (kernel_token){.kind = TOKEN_END};
    pp->n_scratch = from;
    return list;
}

static pp_frame *frame_push(kernel_pp *pp, const kernel_token *list, uint32_t n)
{
    pp->frames = kernel_arena_grow(pp->arena, pp->frames, &pp->frames_room, pp->n_frames + 1,
                                   sizeof *pp->frames);
    pp_frame *frame = &pp->frames[pp->n_frames++];
    *frame = (pp_frame){.at = list, .end = list + n};
    return frame;
}

void pp_push(kernel_pp *pp, const kernel_token *list, uint32_t n) { frame_push(pp, list, n); }

/* ---- taking tokens ---- */

static void pp_take(kernel_pp *pp, kernel_token *t);

static void take_from_file(kernel_pp *pp, kernel_token *t)
{
    for (;;) {
        pp_file *file = &pp->files[pp->n_files - 1];
        pp_lex(&file->lexer, t);
        if (t->kind == TOKEN_HASH && t->flags & TOKEN_BEGINS) {
            pp_directive(pp, t);
            if (pp->n_frames) /* the directive pushed a pragma */
                return pp_take(pp, t);
        } else if (t->kind != TOKEN_END) {
            if (file->guard != GUARD_INSIDE)
                file->guard = GUARD_NONE;
            return;
        } else if (pp->collecting) {
            return;
        } else {
            pp_file_end(pp);
            if (pp->n_files == 0)
                return;
        }
    }
}

/* The next token, from the frames or the files; macros are not expanded. */
static void pp_take(kernel_pp *pp, kernel_token *t)
{
    while (pp->n_frames) {
        pp_frame *frame = &pp->frames[pp->n_frames - 1];
        if (frame->at < frame->end) {
            *t = *frame->at++;
            if (frame->body) {
                t->place = frame->first + (kernel_place)(frame->at - 1 - frame->body);
                t->flags |= TOKEN_EXPANDED;
            }
            if (frame->fresh)
                t->flags = (uint8_t)((t->flags & ~(TOKEN_SPACE | TOKEN_BEGINS)) | frame->lead);
            frame->fresh = false;
            if (t->kind == TOKEN_NAME && t->as.name->macro && t->as.name->macro->busy)
                t->flags |= TOKEN_PAINTED;
            return;
        }
        if (frame->barrier) {
            *t = (kernel_token){.kind = TOKEN_END};
            return;
        }
        if (frame->macro)
            frame->macro->busy = false;
        pp->n_frames--;
    }
    if (pp->n_files)
        take_from_file(pp, t);
    else
        *t = (kernel_token){.kind = TOKEN_END};
}

/* Returns true if "(" is the next token, without reading it. The name of a function-like macro without "(" is
 * a plain name. */
static bool sees_paren(const kernel_pp *pp)
{
    for (uint32_t i = pp->n_frames; i-- > 0;) {
        const pp_frame *frame = &pp->frames[i];
        if (frame->at < frame->end)
            return frame->at->kind == TOKEN_LPAREN;
        if (frame->barrier)
            return false;
    }
    return pp->n_files && pp_lex_sees_paren(&pp->files[pp->n_files - 1].lexer);
}

/* ---- limits ---- */

/* Counts expanded tokens; expansion stops at the limit. */
static void count_expanded(kernel_pp *pp, uint32_t n, const kernel_token *name)
{
    pp->n_expanded += n + 1;
    if (pp->n_expanded <= PP_EXPANDED_MOST || pp->exhausted)
        return;
    pp->exhausted = true;
    diag_error(pp->diags, name->place, NULL, "macros expand to more than %d tokens",
               PP_EXPANDED_MOST);
    diag_do(pp->diags, "look for macros that use each other more than once; '%s' is being expanded",
            name->as.name->text);
}

/* ---- arguments ---- */

static void check_count(kernel_pp *pp, const kernel_macro *m, const kernel_token *name, uint32_t n)
{
    const uint32_t least = m->n_params - m->variadic;
    if (n >= least && (n <= m->n_params || m->variadic))
        return;
    diag_error(pp->diags, name->place, NULL, "macro '%s' takes %s%u argument%s, but %u %s given",
               m->name->text, m->variadic ? "at least " : "", least, least == 1 ? "" : "s", n,
               n == 1 ? "is" : "are");
    diag_note(pp->diags, m->place, "'%s' is defined here", m->name->text);
}

/* Reads the arguments of a use; "(" is next. Returns false if ")" is missing, which is reported. */
static bool read_arguments(kernel_pp *pp, const kernel_macro *m, const kernel_token *name,
                           argument *arguments)
{
    kernel_token t;
    uint32_t depth = 1, n = 0, from = pp->n_scratch;
    const uint32_t n_most = m->n_params;
    pp->collecting++;
    pp_take(pp, &t);
    for (;;) {
        pp_take(pp, &t);
        if (t.kind == TOKEN_END)
            break;
        depth += (t.kind == TOKEN_LPAREN) - (t.kind == TOKEN_RPAREN);
        const bool last = m->variadic && n + 1 == n_most;
        if (depth == 0 || (depth == 1 && t.kind == TOKEN_COMMA && !last)) {
            uint32_t count;
            argument a = {.list = pp_scratch_take(pp, from, &count)};
            a.n = count;
            if (n < n_most)
                arguments[n] = a;
            /* f() has no argument if the macro has no parameters, else one empty argument. */
            n += depth > 0 || n > 0 || count > 0 || n_most > 0;
            if (depth == 0)
                break;
            continue;
        }
        if (t.flags & TOKEN_BEGINS)
            t.flags = (uint8_t)((t.flags & ~TOKEN_BEGINS) | TOKEN_SPACE);
        pp_scratch_add(pp, &t);
        /* Nested arguments are read once for each level. */
        if (pp->n_frames && ++pp->n_expanded > PP_EXPANDED_MOST)
            break;
    }
    pp->collecting--;
    pp->n_scratch = from;
    count_expanded(pp, 0, name);
    if (pp->exhausted)
        return false;
    if (depth) {
        diag_error(pp->diags, name->place, NULL, "this use of macro '%s' has no closing ')'",
                   m->name->text);
        return false;
    }
    check_count(pp, m, name, n);
    return true;
}

kernel_token *pp_expand_list(kernel_pp *pp, const kernel_token *list, uint32_t n, uint32_t *count)
{
    const uint32_t from = pp->n_scratch, frames = pp->n_frames;
    kernel_token t;
    frame_push(pp, list, n)->barrier = true;
    pp->nesting++;
    for (pp_next(pp, &t); t.kind != TOKEN_END; pp_next(pp, &t))
        pp_scratch_add(pp, &t);
    pp->nesting--;
    pp->n_frames = frames;
    return pp_scratch_take(pp, from, count);
}

static void expand_argument(kernel_pp *pp, argument *a)
{
    bool idle = true;
    for (uint32_t i = 0; i < a->n && idle; i++)
        idle = a->list[i].kind != TOKEN_NAME || !a->list[i].as.name->macro;
    if (idle) {
        a->expanded = a->list;
        a->n_expanded = a->n;
    } else if (pp->nesting >= PP_NESTING) {
        if (!pp->exhausted)
            diag_error(pp->diags, a->list[0].place, NULL,
                       "uses of macros in arguments of macros are nested more than %d deep",
                       PP_NESTING);
        pp->exhausted = true;
        a->expanded = a->list;
        a->n_expanded = a->n;
    } else {
        a->expanded = pp_expand_list(pp, a->list, a->n, &a->n_expanded);
    }
}

/* ---- # and ## ---- */

static kernel_token stringize(kernel_pp *pp, const argument *a, const kernel_token *hash,
                              kernel_place place)
{
    size_t room = 3;
    for (uint32_t i = 0; i < a->n; i++)
        room += 2 * (size_t)a->list[i].bytes + 1;
    char *text = kernel_arena_get(pp->arena, room), *p = text;
    *p++ = '"';
    for (uint32_t i = 0; i < a->n; i++) {
        const kernel_token *t = &a->list[i];
        const bool quoted = t->kind == TOKEN_STRING || t->kind == TOKEN_CHAR;
        if (i && t->flags & TOKEN_SPACE)
            *p++ = ' ';
        for (uint32_t k = 0; k < t->bytes; k++) {
            const char c = t->text[k];
            if (c == '"' || (quoted && c == '\\'))
                *p++ = '\\';
            /* A raw string may contain newlines. */
            *p++ = c == '\n' ? ' ' : c;
        }
    }
    *p++ = '"';
    return (kernel_token){.kind = TOKEN_STRING,
                          .flags = (uint8_t)((hash->flags & TOKEN_SPACE) | TOKEN_EXPANDED),
                          .place = place,
                          .bytes = (uint32_t)(p - text),
                          .text = text};
}

/* Pastes right to *left; false if the result is not a token, which is reported. */
static bool paste(kernel_pp *pp, kernel_token *left, const kernel_token *right)
{
    const uint32_t bytes = left->bytes + right->bytes;
    char *text = kernel_arena_get(pp->arena, (size_t)bytes + 1);
    memcpy(text, left->text, left->bytes);
    memcpy(text + left->bytes, right->text, right->bytes);
    text[bytes] = '\0';
    pp->n_expanded += bytes / 32;
    pp_lexer l = {.unit = pp->unit, .begin = text, .at = text, .end = text + bytes};
    kernel_token t = {0};
    const bool comment = text[0] == '/' && (text[1] == '/' || text[1] == '*');
    if (!comment)
        pp_lex(&l, &t);
    if (comment || l.at != l.end || t.kind == TOKEN_OTHER || t.kind == TOKEN_END) {
        diag_error(pp->diags, left->place, NULL, "'%s' and '%s' pasted by ## do not make a token",
                   kernel_token_text(pp->arena, left), kernel_token_text(pp->arena, right));
        return false;
    }
    t.flags = (uint8_t)((left->flags & TOKEN_SPACE) | TOKEN_EXPANDED);
    t.place = left->place;
    *left = t;
    return true;
}

/* ---- substitution of the arguments ---- */

typedef struct substitution {
    kernel_pp *pp;
    const kernel_macro *macro;
    argument *arguments;
    kernel_place first;
    uint32_t from;    /* of scratch */
    bool pasting;     /* ## is before the next item */
    bool placemarker; /* the last item so far is an empty argument */
} substitution;

/* Adds the tokens of one item of the body; pastes the first if ## precedes it. */
static void add_items(substitution *s, const kernel_token *list, uint32_t n, uint8_t lead)
{
    kernel_pp *pp = s->pp;
    if (n == 0) {
        s->placemarker = !s->pasting || s->placemarker || pp->n_scratch == s->from;
        s->pasting = false;
        return;
    }
    pp->n_expanded += n;
    if (pp->n_expanded > PP_EXPANDED_MOST)
        return;
    uint32_t i = 0;
    if (s->pasting && !s->placemarker && pp->n_scratch > s->from &&
        paste(pp, &pp->scratch[pp->n_scratch - 1], list))
        i++;
    for (; i < n; i++) {
        kernel_token t = list[i];
        if (i == 0)
            t.flags = (uint8_t)((t.flags & ~TOKEN_SPACE) | lead);
        pp_scratch_add(pp, &t);
    }
    s->pasting = s->placemarker = false;
}

/* Inserts an argument: unexpanded next to ##, else expanded. */
static void add_argument(substitution *s, const kernel_token *t, bool pasted)
{
    kernel_pp *pp = s->pp;
    const uint32_t index = t->private - PP_PARAM;
    argument *a = &s->arguments[index];
    const bool rest = s->macro->variadic && index + 1 == s->macro->n_params;
    /* The extension ", ## __VA_ARGS__": no pasting, and no comma if nothing follows it. */
    if (rest && s->pasting && !s->placemarker && pp->n_scratch > s->from &&
        pp->scratch[pp->n_scratch - 1].kind == TOKEN_COMMA && t[-2].kind == TOKEN_COMMA) {
        s->pasting = false;
        if (a->n == 0) {
            pp->n_scratch--;
            s->placemarker = true;
            return;
        }
    }
    if (pasted || s->pasting) {
        add_items(s, a->list, a->n, t->flags & TOKEN_SPACE);
        return;
    }
    if (!a->expanded) {
        expand_argument(pp, a);
        a = &s->arguments[index];
    }
    add_items(s, a->expanded, a->n_expanded, t->flags & TOKEN_SPACE);
}

static kernel_token *substitute(kernel_pp *pp, const kernel_macro *m, argument *arguments,
                                kernel_place first, uint32_t *count)
{
    substitution s = {
        .pp = pp, .macro = m, .arguments = arguments, .first = first, .from = pp->n_scratch};
    for (uint32_t i = 0; i < m->n_body && pp->n_expanded <= PP_EXPANDED_MOST; i++) {
        const kernel_token *t = &m->body[i];
        const bool pasted = i + 1 < m->n_body && t[1].kind == TOKEN_HASH_HASH;
        kernel_token item = *t;
        item.place = first + i;
        item.flags |= TOKEN_EXPANDED;
        if (t->kind == TOKEN_HASH_HASH && i > 0 && i + 1 < m->n_body) {
            s.pasting = true;
        } else if (t->private == PP_VA_OPT) {
            const argument *rest = &arguments[m->n_params - 1];
            if (rest->n == 0) {
                for (i += 2; m->body[i].private != PP_VA_OPT_END; i++)
                    ;
                add_items(&s, NULL, 0, 0);
            }
        } else if (t->private == PP_VA_OPT_END) {
            continue;
        } else if (t->private >= PP_PARAM && t->kind == TOKEN_HASH) {
            item = stringize(pp, &arguments[t->private - PP_PARAM], t, item.place);
            pp->n_expanded += item.bytes / 32;
            add_items(&s, &item, 1, t->flags & TOKEN_SPACE);
        } else if (t->private >= PP_PARAM) {
            add_argument(&s, t, pasted);
        } else {
            add_items(&s, &item, 1, t->flags & TOKEN_SPACE);
        }
    }
    return pp_scratch_take(pp, s.from, count);
}

/* ---- a use ---- */

static void push_builtin(kernel_pp *pp, const kernel_macro *m, const kernel_token *name)
{
    kernel_where where = {.name = ""};
    kernel_source_where(&pp->unit->source, name->place, &where);
    kernel_token *t = kernel_arena_new(pp->arena, sizeof *t);
    char number[24];
    int bytes;
    if (m->builtin == BUILTIN_FILE) {
        const kernel_token file = {
            .kind = TOKEN_STRING, .text = where.name, .bytes = (uint32_t)strlen(where.name)};
        /* The name is escaped as in a string literal. */
        *t = stringize(pp, &(argument){.list = (kernel_token *)&file, .n = 1}, name, name->place);
    } else {
        bytes = m->builtin == BUILTIN_LINE
                    ? snprintf(number, sizeof number, "%lld", (long long)where.line)
                    : snprintf(number, sizeof number, "%u", pp->counter++);
        *t = (kernel_token){.kind = TOKEN_INTEGER,
                            .place = name->place,
                            .bytes = (uint32_t)bytes,
                            .text = kernel_arena_text(pp->arena, number, (size_t)bytes)};
    }
    t->flags = name->flags;
    frame_push(pp, t, 1);
}

/* Expands the macro with this name; true if its tokens are next in the input. */
static bool expand(kernel_pp *pp, kernel_token *name)
{
    kernel_macro *m = name->as.name->macro;
    if (pp->exhausted)
        return false;
    if (m->builtin) {
        push_builtin(pp, m, name);
        return true;
    }
    argument few[8] = {{0}}, *arguments = few;
    if (m->function) {
        if (!sees_paren(pp))
            return false;
        if (m->n_params > sizeof few / sizeof *few)
            arguments = kernel_arena_new(pp->arena, m->n_params * sizeof *arguments);
        if (!read_arguments(pp, m, name, arguments))
            return false;
    }
    const kernel_place first =
        kernel_source_expand(&pp->unit->source, m->name, m->body, m->n_body, name->place);
    const kernel_token *list = m->body;
    uint32_t n = m->n_body;
    if (!m->plain)
        list = substitute(pp, m, arguments, first, &n);
    count_expanded(pp, m->plain ? n : 0, name);
    if (pp->exhausted)
        n = 0;
    pp_frame *frame = frame_push(pp, list, n);
    if (m->plain) {
        frame->body = m->body;
        frame->first = first;
    }
    frame->macro = m;
    frame->fresh = true;
    frame->lead = name->flags & (TOKEN_SPACE | TOKEN_BEGINS);
    m->busy = true;
    return true;
}

void pp_next(kernel_pp *pp, kernel_token *t)
{
    do
        pp_take(pp, t);
    while (t->kind == TOKEN_NAME && t->as.name->macro && !(t->flags & TOKEN_PAINTED) &&
           expand(pp, t));
}

kernel_token *pp_line(kernel_pp *pp, uint32_t *count)
{
    const uint32_t from = pp->n_scratch;
    pp_lexer *l = &pp->files[pp->n_files - 1].lexer;
    kernel_token t;
    for (pp_lex(l, &t); t.kind != TOKEN_END; pp_lex(l, &t))
        pp_scratch_add(pp, &t);
    return pp_scratch_take(pp, from, count);
}
