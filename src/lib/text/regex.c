/* Regular expressions: the matcher. It backtracks, with a limit on its steps. See regex.h. */
#include "lib/text/regex_code.h"

#include "lib/text/unicode.h"

#include <stdlib.h>

enum { STEPS_MOST = 1 << 26 }; /* per search, in addition to a number per code point */

/* ---- classes -------------------------------------------------------------------------------- */

uint32_t regex_fold(uint32_t c)
{
    uint32_t lower[2];
    unicode_lower(c, lower);
    return c == 0x17f ? 's' : lower[0];
}

static bool item_has(const regex *r, const item *i, uint32_t c)
{
    bool has = false;
    switch (i->kind) {
    case ITEM_RANGE: has = c >= i->low && c <= i->high; break;
    case ITEM_CATEGORIES: has = i->low >> unicode_category(c) & 1; break;
    case ITEM_SPACE: has = unicode_flags(c) & UNICODE_SPACE; break;
    case ITEM_WORD: has = unicode_flags(c) & UNICODE_REGEX_WORD; break;
    case ITEM_CLASS_WORD:
        has = unicode_flags(c) & UNICODE_WORD && unicode_flags(c) & UNICODE_REGEX_WORD;
        break;
    case ITEM_CLASS: has = regex_class_has(r, i->low, c); break;
    }
    return has != i->negated;
}

static bool class_lists(const regex *r, const rune_class *s, uint32_t c)
{
    for (int i = 0; i < s->n; i++)
        if (item_has(r, &s->items[i], c))
            return true;
    return false;
}

bool regex_class_test(const regex *r, uint32_t i, uint32_t c)
{
    const rune_class *s = &r->classes[i];
    bool has = class_lists(r, s, c);
    if (s->folded && !has) {
        const uint32_t lower = regex_fold(c);
        has = class_lists(r, s, lower) || class_lists(r, s, unicode_upper(lower)) ||
              (lower == 's' && class_lists(r, s, 0x17f)) ||
              (lower == 'k' && class_lists(r, s, 0x212a));
    }
    if (s->also >= 0)
        has = has && regex_class_has(r, (uint32_t)s->also, c);
    return has != s->negated;
}

bool regex_class_has(const regex *r, uint32_t i, uint32_t c)
{
    return c < 128 ? r->classes[i].ascii[c / 32] >> c % 32 & 1 : regex_class_test(r, i, c);
}

/* ---- matching ------------------------------------------------------------------------------- */

typedef struct choice {
    uint32_t at, pc;
} choice;

typedef struct matcher {
    const regex *r;
    const rune *text;
    size_t n;
    regex_scratch *s;
    int64_t steps; /* steps left */
    size_t behind; /* where the lookbehind must end */
} matcher;

void regex_scratch_free(regex_scratch *s)
{
    free(s->stack);
    *s = (regex_scratch){0};
}

static bool choice_push(regex_scratch *s, size_t at, uint32_t pc)
{
    if (s->used == s->room) {
        const size_t room = 2 * s->room + 256;
        choice *stack = realloc(s->stack, room * sizeof *stack);
        if (!stack) {
            s->failed = true;
            return false;
        }
        s->stack = stack;
        s->room = room;
    }
    s->stack[s->used++] = (choice){(uint32_t)at, pc};
    return true;
}

static bool is_word(const matcher *m, size_t at)
{
    return at < m->n && unicode_flags(m->text[at].c) & UNICODE_REGEX_WORD;
}

static bool holds(const matcher *m, opcode op, size_t at)
{
    switch (op) {
    case OP_BEGIN: return at == 0 || (at < m->n && m->text[at - 1].c == '\n');
    case OP_END: return at == m->n || m->text[at].c == '\n';
    case OP_TEXT_BEGIN: return at == 0;
    case OP_HERE: return at == m->behind;
    case OP_BOUNDARY:
    case OP_NOT_BOUNDARY:
        return (is_word(m, at) != (at > 0 && is_word(m, at - 1))) == (op == OP_BOUNDARY);
    default: return at == m->n;
    }
}

static size_t match(matcher *m, uint32_t pc, size_t at);

/* True if a match of the program at pc ends at `at` and has at most `most` code points. */
static bool is_behind(matcher *m, uint32_t pc, size_t at, uint32_t most)
{
    const size_t outer = m->behind;
    bool found = false;
    m->behind = at;
    for (uint32_t n = 0; n <= most && n <= at && !found; n++)
        found = match(m, pc, at - n) != SIZE_MAX;
    m->behind = outer;
    return found;
}

/* True if the code point at `at` exists and the instruction accepts it. */
static bool accepts(const matcher *m, instruction c, size_t at)
{
    if (at >= m->n)
        return false;
    const uint32_t x = m->text[at].c;
    return c.op == OP_RUNE    ? x == c.x
           : c.op == OP_FOLD  ? regex_fold(x) == c.x
           : c.op == OP_CLASS ? regex_class_has(m->r, c.x, x)
                              : x != '\n';
}

/* Runs one instruction other than OP_MATCH, and moves pc and at. Returns false if it does not match. */
static bool step(matcher *m, instruction c, uint32_t *pc, size_t *at)
{
    const uint32_t here = *pc;
    switch (c.op) {
    case OP_RUNE:
    case OP_FOLD:
    case OP_CLASS:
    case OP_ANY: ++*pc; return accepts(m, c, (*at)++);
    case OP_SPLIT: *pc = c.x; return choice_push(m->s, *at, c.y);
    case OP_JUMP: *pc = c.x; return true;
    case OP_ATOMIC:
    case OP_AHEAD:
    case OP_NOT_AHEAD: {
        const size_t end = match(m, here + 1, *at);
        *at = c.op == OP_ATOMIC ? end : *at;
        *pc = c.x;
        return (end != SIZE_MAX) == (c.op != OP_NOT_AHEAD);
    }
    case OP_BEHIND:
    case OP_NOT_BEHIND: *pc = c.x; return is_behind(m, here + 1, *at, c.y) == (c.op == OP_BEHIND);
    default: ++*pc; return holds(m, c.op, *at);
    }
}

/* Runs the program from pc. Returns the end of the match; SIZE_MAX if there is none. */
static size_t match(matcher *m, uint32_t pc, size_t at)
{
    const size_t bottom = m->s->used;
    const instruction *code = m->r->code;
    for (;;) {
        if (--m->steps < 0) {
            m->s->exceeded = true;
            m->s->used = bottom;
            return SIZE_MAX;
        }
        if (code[pc].op == OP_MATCH) {
            m->s->used = bottom;
            return at;
        }
        if (step(m, code[pc], &pc, &at))
            continue;
        if (m->s->used == bottom)
            return SIZE_MAX;
        m->s->used--;
        at = m->s->stack[m->s->used].at;
        pc = m->s->stack[m->s->used].pc;
    }
}

bool regex_find(const regex *r, const rune *chars, size_t n, size_t from, regex_scratch *s,
                size_t *start, size_t *end)
{
    matcher m = {.r = r, .text = chars, .n = n, .s = s, .steps = STEPS_MOST + 64 * (int64_t)n};
    for (size_t i = from; i <= n && !s->exceeded && !s->failed; i++) {
        const size_t stop = match(&m, 0, i);
        if (stop != SIZE_MAX && !s->exceeded && !s->failed) {
            *start = i;
            *end = stop;
            return true;
        }
    }
    return false;
}
