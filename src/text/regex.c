/* Regular expressions: the matcher. It backtracks, with a limit on its steps. See regex.h. */
#include "text/regex_code.h"

#include "text/unicode.h"

#include <stdlib.h>

enum { STEPS_MOST = 1 << 23 };

/* ---- classes -------------------------------------------------------------------------------- */

uint32_t regex_fold(uint32_t c)
{
    uint32_t lower[2];
    unicode_lower(c, lower);
    return c == 0x17f ? 's' : lower[0];
}

static bool item_has(const item *i, uint32_t c)
{
    bool has = false;
    switch (i->kind) {
    case ITEM_RANGE: has = c >= i->low && c <= i->high; break;
    case ITEM_CATEGORIES: has = i->low >> unicode_category(c) & 1; break;
    case ITEM_SPACE: has = unicode_flags(c) & UNICODE_SPACE; break;
    case ITEM_WORD: has = unicode_flags(c) & UNICODE_WORD; break;
    }
    return has != i->negated;
}

bool regex_class_test(const rune_class *s, uint32_t c)
{
    bool has = false;
    for (int i = 0; i < s->n && !has; i++)
        has = item_has(&s->items[i], c) || (s->folded && item_has(&s->items[i], regex_fold(c)));
    return has != s->negated;
}

bool regex_class_has(const rune_class *s, uint32_t c)
{
    return c < 128 ? s->ascii[c / 32] >> c % 32 & 1 : regex_class_test(s, c);
}

/* ---- matching ------------------------------------------------------------------------------- */

typedef struct choice {
    uint32_t at, pc;
} choice;

typedef struct matcher {
    const regex *r;
    const rune *text;
    size_t n;
    choice *stack;
    size_t used, room;
    int64_t steps;
} matcher;

static bool choice_push(matcher *m, size_t at, uint32_t pc)
{
    if (m->used == m->room) {
        const size_t room = 2 * m->room + 256;
        choice *stack = realloc(m->stack, room * sizeof *stack);
        if (!stack)
            return false;
        m->stack = stack;
        m->room = room;
    }
    m->stack[m->used++] = (choice){(uint32_t)at, pc};
    return true;
}

static bool holds(const matcher *m, opcode op, size_t at)
{
    switch (op) {
    case OP_BEGIN: return at == 0 || m->text[at - 1].c == '\n';
    case OP_END: return at == m->n || m->text[at].c == '\n';
    case OP_TEXT_BEGIN: return at == 0;
    default: return at == m->n;
    }
}

/* Runs the program from pc on. Returns where the match ends; SIZE_MAX if there is none. */
static size_t match(matcher *m, uint32_t pc, size_t at)
{
    const size_t bottom = m->used;
    const instruction *code = m->r->code;
    for (;;) {
        const instruction c = code[pc];
        bool fine = true;
        if (++m->steps > STEPS_MOST) {
            m->used = bottom;
            return SIZE_MAX;
        }
        switch (c.op) {
        case OP_RUNE:
            fine = at < m->n && m->text[at].c == c.x;
            at++;
            pc++;
            break;
        case OP_FOLD:
            fine = at < m->n && regex_fold(m->text[at].c) == c.x;
            at++;
            pc++;
            break;
        case OP_CLASS:
            fine = at < m->n && regex_class_has(&m->r->classes[c.x], m->text[at].c);
            at++;
            pc++;
            break;
        case OP_ANY:
            fine = at < m->n && m->text[at].c != '\n';
            at++;
            pc++;
            break;
        case OP_SPLIT:
            fine = choice_push(m, at, c.y);
            pc = c.x;
            break;
        case OP_JUMP: pc = c.x; break;
        case OP_ATOMIC:
        case OP_AHEAD:
        case OP_NOT_AHEAD: {
            const size_t end = match(m, pc + 1, at);
            fine = (end != SIZE_MAX) == (c.op != OP_NOT_AHEAD);
            at = c.op == OP_ATOMIC ? end : at;
            pc = c.x;
            break;
        }
        case OP_BEGIN:
        case OP_END:
        case OP_TEXT_BEGIN:
        case OP_TEXT_END:
            fine = holds(m, c.op, at);
            pc++;
            break;
        case OP_MATCH: m->used = bottom; return at;
        }
        if (fine)
            continue;
        if (m->used == bottom)
            return SIZE_MAX;
        m->used--;
        at = m->stack[m->used].at;
        pc = m->stack[m->used].pc;
    }
}

bool regex_find(const regex *r, const rune *chars, size_t n, size_t from, size_t *start,
                size_t *end)
{
    matcher m = {.r = r, .text = chars, .n = n};
    bool found = false;
    for (size_t i = from; i <= n && !found && m.steps < STEPS_MOST; i++) {
        const size_t stop = match(&m, 0, i);
        found = stop != SIZE_MAX;
        *start = i;
        *end = stop;
    }
    free(m.stack);
    return found;
}
