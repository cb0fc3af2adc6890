/* Text and memory for the command. */
#include "str.h"

#include <errno.h>
#include <stdalign.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <ingot.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/size.h"

/* ---- memory --------------------------------------------------------------------------------- */

static void *heap_or_exit(void *block)
{
    if (!block) {
        fputs("ingot: the system has no memory left\n", stderr);
        exit(1);
    }
    return block;
}

void *heap_get(size_t bytes) { return heap_or_exit(calloc(1, bytes ? bytes : 1)); }

void *heap_resize(void *old, size_t bytes) { return heap_or_exit(realloc(old, bytes)); }

char *heap_string(const char *s) { return heap_or_exit(strdup(s)); }

/* ---- growing text --------------------------------------------------------------------------- */

static void str_reserve(str *t, size_t more)
{
    size_t need = t->n + more + 1;
    if (need > t->room) {
        t->room = need * 2;
        t->s = heap_resize(t->s, t->room);
    }
}

void str_add(str *t, const char *s, size_t n)
{
    str_reserve(t, n);
    if (n)
        memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

void str_puts(str *t, const char *s) { str_add(t, s, strlen(s)); }

void str_vprintf(str *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0) {
        str_reserve(t, (size_t)n);
        vsnprintf(t->s + t->n, (size_t)n + 1, format, again);
        t->n += (size_t)n;
    }
    va_end(again);
}

void str_printf(str *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_vprintf(t, format, args);
    va_end(args);
}

void str_fill(str *t, char c, size_t n)
{
    str_reserve(t, n);
    memset(t->s + t->n, c, n);
    t->n += n;
    t->s[t->n] = 0;
}

void str_trim(str *t)
{
    while (t->n && t->s[t->n - 1] == ' ')
        t->s[--t->n] = 0;
}

void str_free(str *t)
{
    free(t->s);
    *t = (str){0};
}

void str_json(str *t, const char *format, ...)
{
    text part = {0};
    va_list args;
    va_start(args, format);
    json_add_list(&part, t->n ? t->s[t->n - 1] : '\0', format, args);
    va_end(args);
    char *s = heap_or_exit(text_take(&part));
    str_puts(t, s);
    memory_free(s);
}

void str_json_raw(str *t, const char *json)
{
    if (t->n && json_comma_after(t->s[t->n - 1]))
        str_puts(t, ", ");
    str_puts(t, json);
}

void str_json_float(str *t, double value)
{
    char digits[IG_FLOAT_TEXT] = "null";
    if (isfinite(value))
        ig_float_text((double)(float)value, IG_F32, digits);
    str_json_raw(t, digits);
}

bool str_ends(const char *s, const char *suffix)
{
    const size_t n = strlen(s), m = strlen(suffix);
    return n > m && strcasecmp(s + n - m, suffix) == 0;
}

/* ---- control characters ------------------------------------------------------------------------- */

static bool control_is_bidirectional(unsigned code)
{
    return code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t control_at(const char *s, unsigned *code)
{
    const unsigned char a = (unsigned char)s[0];
    *code = a;
    if (a < 0x80)
        return a && (a < 0x20 || a == 0x7f);
    const unsigned char b = (unsigned char)s[1], c = b ? (unsigned char)s[2] : 0;
    const bool two = (a & 0xe0) == 0xc0 && (b & 0xc0) == 0x80;
    const bool three = (a & 0xf0) == 0xe0 && (b & 0xc0) == 0x80 && (c & 0xc0) == 0x80;
    *code = two     ? (a & 0x1fu) << 6 | (b & 0x3fu)
            : three ? (a & 0x0fu) << 12 | (b & 0x3fu) << 6 | (c & 0x3fu)
                    : 0;
    if (control_is_bidirectional(*code))
        return two ? 2 : 3;
    return two && *code >= 0x80 && *code < 0xa0 ? 2 : 0;
}

void str_visible(str *t, const char *s)
{
    while (*s) {
        unsigned code;
        const size_t n = control_at(s, &code);
        if (n)
            str_printf(t, "\\u%04x", code);
        else
            str_add(t, s, 1);
        s += n ? n : 1;
    }
    str_add(t, "", 0);
}

static str *errors_kept;

void text_keep_errors(str *t) { errors_kept = t; }

void text_print(FILE *file, const char *s)
{
    const char *begin = s;
    if (errors_kept && file == stderr) {
        str_puts(errors_kept, s);
        return;
    }
    while (*s) {
        unsigned code;
        const size_t n = control_at(s, &code);
        if (n && control_is_bidirectional(code)) {
            fwrite(begin, 1, (size_t)(s - begin), file);
            fprintf(file, "\\u%04x", code);
            begin = s + n;
        }
        s += n ? n : 1;
    }
    fwrite(begin, 1, (size_t)(s - begin), file);
}

void text_printf(FILE *file, const char *format, ...)
{
    str t = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&t, format, args);
    va_end(args);
    text_print(file, t.s ? t.s : "");
    str_free(&t);
}

/* ---- arenas --------------------------------------------------------------------------------- */

typedef struct arena_block {
    struct arena_block *next;
    size_t used, room;
    alignas(max_align_t) unsigned char bytes[];
} arena_block;

enum { ARENA_BLOCK_BYTES = 4096 };

void *arena_get(arena *a, size_t bytes)
{
    const size_t unit = alignof(max_align_t);
    bytes = (bytes + unit - 1) / unit * unit;
    arena_block *block = a->blocks;
    if (!block || block->room - block->used < bytes) {
        size_t room = bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES;
        block = heap_get(sizeof *block + room);
        block->room = room;
        block->next = a->blocks;
        a->blocks = block;
    }
    void *at = block->bytes + block->used;
    block->used += bytes;
    return at;
}

char *arena_string(arena *a, const char *s, size_t n)
{
    char *copy = arena_get(a, n + 1);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

void arena_free(arena *a)
{
    while (a->blocks) {
        arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
}

/* ---- the nearest name ----------------------------------------------------------------------- */

enum { NAME_MOST = 64, SHORT_WORD = 4 };

static int least(int a, int b) { return a < b ? a : b; }

/* The number of edits (insert, drop, change, swap neighbours) from a to b. In a short word a change counts two: svd is not
 * a misspelt std. */
static int edit_distance(const char *a, const char *b)
{
    int na = (int)strlen(a), nb = (int)strlen(b);
    int rows[3][NAME_MOST + 1];
    if (na > NAME_MOST || nb > NAME_MOST)
        return NAME_MOST;
    for (int j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            const int change = a[i - 1] == b[j - 1] ? 0 : na <= SHORT_WORD ? 2 : 1;
            row[j] = least(least(up[j], row[j - 1]) + 1, up[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], up2[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

/* Allows one edit per six letters, and at least one. A single letter has no suggestions. */
nearest nearest_to(const char *word)
{
    int n = (int)strlen(word);
    return (nearest){word, NULL, n < 2 ? 0 : (n + 5) / 6 + 1};
}

enum { PREFIX_LEAST = 4 }; /* letters that a word needs to match as the prefix of another */

void nearest_offer(nearest *search, const char *candidate)
{
    int n = (int)strlen(search->word), longer = (int)strlen(candidate);
    int distance = edit_distance(search->word, candidate);
    if (n >= PREFIX_LEAST && longer <= 2 * n && strncmp(search->word, candidate, (size_t)n) == 0)
        distance = 1; /* softm matches softmax */
    if (distance < search->distance && distance < longer) {
        search->best = candidate;
        search->distance = distance;
    }
}

void str_did_you_mean(str *t, const nearest *search)
{
    if (search->best)
        str_printf(t, "; did you mean '%s'?", search->best);
}

void str_signature(str *t, const char *signature)
{
    for (const char *s = signature; *s;) {
        str_add(t, s, strcspn(s, " :=,"));
        s += strcspn(s, "=,");
        if (*s == '=') {
            s += 1 + strspn(s + 1, " ");
            size_t value = strcspn(s, ",");
            str_printf(t, "=%.*s", (int)value, s);
            s += value;
        }
        if (*s == ',') {
            str_puts(t, ", ");
            s += 1 + strspn(s + 1, " ");
        }
    }
}

/* ---- sizes and files ------------------------------------------------------------------------ */

void str_size(str *t, uint64_t bytes)
{
    char size[SIZE_ROOM];
    str_puts(t, size_text(bytes, size));
}

char *str_read_file(const char *path, size_t most_bytes, size_t *n)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file)
        return NULL;
    str all = {0};
    char block[16384];
    size_t got;
    errno = 0;
    while (all.n <= most_bytes && (got = fread(block, 1, sizeof block, file)) > 0)
        str_add(&all, block, got);
    int problem = all.n > most_bytes ? EFBIG : ferror(file) ? errno : 0;
    if (!standard)
        fclose(file);
    if (problem) {
        str_free(&all);
        errno = problem;
        return NULL;
    }
    str_add(&all, "", 0);
    *n = all.n;
    return all.s;
}

void str_lengths(str *t, const int64_t *dims, int n)
{
    for (int i = 0; i < n; i++) {
        str_puts(t, i ? " x " : "");
        if (dims[i] < 0)
            str_puts(t, "any");
        else
            str_printf(t, "%lld", (long long)dims[i]);
    }
}
