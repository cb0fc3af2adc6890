/* Regular expressions: compiles a pattern to a program; see regex.h. Groups that must not be backtracked into
 * (lookahead, possessive quantifiers) are separate programs inside it. */
#include "lib/text/regex_code.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <string.h>

enum { CODE_MOST = 20000, REPEAT_MOST = 1000 };

/* ---- compiling ------------------------------------------------------------------------------ */

static int emit(compiler *k, opcode op, uint32_t x, uint32_t y)
{
    regex *r = k->r;
    if (k->failed)
        return 0;
    if (r->n == CODE_MOST) {
        compiler_refuse(k, "it is too long");
        return 0;
    }
    if (r->n == r->room) {
        const int room = 2 * r->room + 32;
        instruction *code = memory_resize(r->code, (size_t)room * sizeof *code);
        if (!code) {
            k->failed = true;
            return 0;
        }
        r->code = code;
        r->room = room;
    }
    r->code[r->n] = (instruction){op, x, y};
    return r->n++;
}

static bool has_target(opcode op) { return op >= OP_SPLIT && op <= OP_NOT_BEHIND; }

/* Inserts an instruction at a position. Targets in the code after it point into that code, so they move with it. */
static void insert(compiler *k, int at)
{
    regex *r = k->r;
    emit(k, OP_JUMP, 0, 0);
    if (k->failed)
        return;
    memmove(r->code + at + 1, r->code + at, (size_t)(r->n - 1 - at) * sizeof *r->code);
    for (int i = at + 1; i < r->n; i++) {
        instruction *c = &r->code[i];
        c->x += has_target(c->op);
        c->y += c->op == OP_SPLIT;
    }
}

static void set(compiler *k, int at, opcode op, int x, int y)
{
    if (!k->failed)
        k->r->code[at] = (instruction){op, (uint32_t)x, (uint32_t)y};
}

/* Appends a copy of the code from first to last, with its targets adjusted. */
static void copy_code(compiler *k, int first, int last)
{
    const int moved = k->r->n - first;
    for (int i = first; i < last && !k->failed; i++) {
        instruction c = k->r->code[i];
        if (has_target(c.op))
            c.x += (uint32_t)moved;
        if (c.op == OP_SPLIT)
            c.y += (uint32_t)moved;
        emit(k, c.op, c.x, c.y);
    }
}

/* ---- parsing -------------------------------------------------------------------------------- */

static void alternatives_parse(compiler *k);

/* The maximum number of code points that the code from first on can match. */
static int longest(compiler *k, int first)
{
    int n = 0;
    for (int i = first; i < k->r->n && !k->failed; i++) {
        const instruction c = k->r->code[i];
        n += c.op <= OP_ANY;
        if ((c.op == OP_JUMP && (int)c.x <= i) ||
            (c.op == OP_SPLIT && ((int)c.x <= i || (int)c.y <= i)))
            compiler_refuse(k, "it has a lookbehind of unlimited length");
    }
    return n;
}

static void group_parse(compiler *k)
{
    static const struct {
        const char *begin;
        opcode kind; /* OP_JUMP: a plain group */
    } kinds[] = {{"?:", OP_JUMP},   {"?i:", OP_JUMP},   {"?=", OP_AHEAD},      {"?!", OP_NOT_AHEAD},
                 {"?>", OP_ATOMIC}, {"?<=", OP_BEHIND}, {"?<!", OP_NOT_BEHIND}};
    enum { FOLDED = 1, KINDS = sizeof kinds / sizeof *kinds };
    const bool folded = k->folded;
    int i = 0;
    while (i < KINDS && !compiler_take(k, kinds[i].begin))
        i++;
    k->folded |= i == FOLDED;
    if (i == KINDS && compiler_next_is(k, '?'))
        compiler_refuse(k, "it has a kind of group that is not supported");
    const opcode kind = i < KINDS ? kinds[i].kind : OP_JUMP;
    const int at = k->r->n;
    if (kind != OP_JUMP)
        emit(k, kind, 0, 0);
    if (++k->depth > REGEX_DEPTH_MOST)
        compiler_refuse(k, "its groups are nested too deeply");
    alternatives_parse(k);
    k->depth--;
    const bool behind = kind == OP_BEHIND || kind == OP_NOT_BEHIND;
    if (behind)
        emit(k, OP_HERE, 0, 0);
    if (kind != OP_JUMP) {
        emit(k, OP_MATCH, 0, 0);
        set(k, at, kind, k->r->n, behind ? longest(k, at + 1) : 0);
    }
    if (!compiler_take(k, ")"))
        compiler_refuse(k, "a group is not closed");
    k->folded = folded;
}

static void literal_emit(compiler *k, uint32_t c)
{
    emit(k, k->folded ? OP_FOLD : OP_RUNE, k->folded ? regex_fold(c) : c, 0);
}

static void atom_parse(compiler *k)
{
    const uint32_t c = *k->at++;
    item i;
    if (c == '(') {
        group_parse(k);
    } else if (c == '[') {
        const int class = compiler_class(k);
        emit(k, OP_CLASS, (uint32_t) class, 0);
    } else if (c == '.') {
        emit(k, OP_ANY, 0, 0);
    } else if (c == '^' || c == '$') {
        emit(k, c == '^' ? OP_BEGIN : OP_END, 0, 0);
    } else if (c == '\\' && (compiler_next_is(k, 'A') || compiler_next_is(k, 'z'))) {
        emit(k, *k->at++ == 'A' ? OP_TEXT_BEGIN : OP_TEXT_END, 0, 0);
    } else if (c == '\\' && (compiler_next_is(k, 'b') || compiler_next_is(k, 'B'))) {
        emit(k, *k->at++ == 'b' ? OP_BOUNDARY : OP_NOT_BOUNDARY, 0, 0);
    } else if (c == '\\') {
        if (!compiler_escape(k, &i)) {
            literal_emit(k, i.low);
            return;
        }
        const int class = compiler_class_new(k);
        compiler_class_add(k, class, i);
        compiler_class_finish(k, class);
        emit(k, OP_CLASS, (uint32_t) class, 0);
    } else if (c == '*' || c == '+' || c == '?') {
        compiler_refuse(k, "a quantifier has nothing to repeat");
    } else {
        literal_emit(k, c);
    }
}

/* Parses bounds such as "{2,3}" at k->at. Returns false if there are none; the text is then literal. */
static bool bounds_parse(compiler *k, int *least, int *most)
{
    const uint32_t *at = k->at + 1;
    int value[2] = {-1, -1}, n = 0;
    for (; at < k->end && n < 2; at++) {
        if (*at >= '0' && *at <= '9') {
            value[n] = (value[n] < 0 ? 0 : value[n]) * 10 + (int)(*at - '0');
            if (value[n] > REPEAT_MOST) {
                compiler_refuse(k, "it repeats something too often");
                return false;
            }
        } else if (*at == ',' && n == 0) {
            n = 1;
        } else {
            break;
        }
    }
    if (at == k->end || *at != '}' || (value[0] < 0 && value[1] < 0))
        return false;
    *least = value[0] < 0 ? 0 : value[0];
    *most = n == 0 ? *least : value[1]; /* -1: no limit */
    k->at = at + 1;
    if (*most >= 0 && *most < *least)
        compiler_refuse(k, "the minimum of a repetition is larger than its maximum");
    return true;
}

/* True if the code from first on can reach its end without consuming a code point. Targets are forward, except in
 * loops, and the body of a loop always consumes a code point. */
static bool may_be_empty(compiler *k, int first)
{
    const int n = k->failed ? 0 : k->r->n - first;
    bool *reached = memory_new((size_t)n + 1);
    if (!reached) {
        k->failed = true;
        return false;
    }
    reached[0] = true;
    for (int i = 0; i < n; i++) {
        const instruction c = k->r->code[first + i];
        if (!reached[i] || c.op <= OP_ANY)
            continue;
        if (c.op == OP_SPLIT)
            reached[(int)c.y - first] = true;
        reached[has_target(c.op) && c.op != OP_ATOMIC ? (int)c.x - first : i + 1] = true;
    }
    const bool empty = reached[n];
    memory_free(reached);
    return empty;
}

/* Writes a split at a position: to the code first, or if lazy, out of it first. */
static void split_at(compiler *k, int at, int in, int out, bool lazy)
{
    set(k, at, OP_SPLIT, lazy ? out : in, lazy ? in : out);
}

/* Repeats the code from first on. */
static void repeat(compiler *k, int first, int least, int most, bool lazy)
{
    const int last = k->r->n, length = last - first;
    if (most < 0 && !k->failed && may_be_empty(k, first))
        compiler_refuse(k, "it repeats something that may be empty");
    if (least == 0 && most == 0) {
        if (!k->failed)
            k->r->n = first;
        return;
    }
    if (least == 0 && most <= 1) { /* split, code; without a limit, a jump back */
        insert(k, first);
        if (most < 0)
            emit(k, OP_JUMP, (uint32_t)first, 0);
        split_at(k, first, first + 1, k->r->n, lazy);
        return;
    }
    for (int i = 1; i < least && !k->failed; i++)
        copy_code(k, first, last);
    if (most < 0) { /* the last copy repeats */
        const int again = least > 0 ? k->r->n - length : first;
        const int at = emit(k, OP_SPLIT, 0, 0);
        split_at(k, at, again, at + 1, lazy);
        return;
    }
    const int start = least == 0 ? 1 : least;
    if (least == 0) { /* (code (code ...)?)? : the first copy becomes optional too */
        insert(k, first);
        const int out = first + 1 + length + (most - 1) * (length + 1);
        split_at(k, first, first + 1, out, lazy);
    }
    const int source = least == 0 ? first + 1 : first;
    const int end = k->r->n + (most - start) * (length + 1);
    for (int i = start; i < most && !k->failed; i++) {
        const int at = emit(k, OP_SPLIT, 0, 0);
        split_at(k, at, at + 1, end, lazy);
        copy_code(k, source, source + length);
    }
}

static void atomic_from(compiler *k, int first)
{
    insert(k, first);
    emit(k, OP_MATCH, 0, 0);
    set(k, first, OP_ATOMIC, k->r->n, 0);
}

static void piece_parse(compiler *k)
{
    const int first = k->r->n;
    atom_parse(k);
    while (compiler_more(k)) {
        int least = 0, most = -1;
        bool bounds = false;
        const uint32_t c = *k->at;
        if (c == '{') {
            if (!bounds_parse(k, &least, &most))
                return;
            bounds = true;
        } else if (c == '?' || c == '*' || c == '+') {
            k->at++;
            least = c == '+';
            most = c == '?' ? 1 : -1;
        } else {
            return;
        }
        const bool lazy = compiler_next_is(k, '?');
        /* As in Ruby's syntax, which tokenizer files use, "{1,3}+" repeats the repetition. */
        const bool possessive = !bounds && compiler_next_is(k, '+');
        k->at += lazy || possessive;
        repeat(k, first, least, most, lazy);
        if (possessive)
            atomic_from(k, first);
    }
}

static void alternatives_parse(compiler *k)
{
    const int first = k->r->n;
    while (compiler_more(k) && *k->at != '|' && *k->at != ')')
        piece_parse(k);
    if (!compiler_next_is(k, '|'))
        return;
    k->at++;
    insert(k, first);
    const int jump = emit(k, OP_JUMP, 0, 0);
    set(k, first, OP_SPLIT, first + 1, k->r->n);
    if (++k->depth > CODE_MOST)
        compiler_refuse(k, "it has too many alternatives");
    alternatives_parse(k);
    k->depth--;
    set(k, jump, OP_JUMP, k->r->n, 0);
}

static regex *compile(const uint32_t *runes, size_t n, const char *pattern, size_t bytes,
                      bool literal)
{
    regex *r = memory_new(sizeof *r);
    compiler k = {.r = r, .at = runes, .end = runes + n, .pattern = pattern, .bytes = bytes};
    if (!r)
        return NULL;
    while (literal && compiler_more(&k))
        literal_emit(&k, *k.at++);
    if (!literal)
        alternatives_parse(&k);
    if (compiler_more(&k))
        compiler_refuse(&k, "it has a ')' without a '('");
    emit(&k, OP_MATCH, 0, 0);
    if (!k.failed)
        return r;
    regex_free(r);
    return NULL;
}

static regex *regex_make(const char *pattern, size_t bytes, bool literal)
{
    uint32_t *runes = memory_get((bytes + 1) * sizeof *runes);
    size_t n = 0;
    if (!runes)
        return NULL;
    for (size_t i = 0; i < bytes;)
        i += unicode_read((const unsigned char *)pattern + i, bytes - i, &runes[n++]);
    regex *r = compile(runes, n, pattern, bytes, literal);
    memory_free(runes);
    return r;
}

regex *regex_new(const char *pattern, size_t bytes) { return regex_make(pattern, bytes, false); }
regex *regex_literal(const char *chars, size_t bytes) { return regex_make(chars, bytes, true); }

void regex_free(regex *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_classes; i++)
        memory_free(r->classes[i].items);
    memory_free(r->classes);
    memory_free(r->code);
    memory_free(r);
}
