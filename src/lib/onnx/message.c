/* Each message is scanned twice: the first pass counts the items of lists, the second one fills them. So memory is a small
 * multiple of the bytes that are really there, whatever lengths the file states. */
#include "lib/onnx/message.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "lib/io/file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct message_place {
    const message_place *outer;
    const message_rule *rule;
    onnx_bytes in;
    int number; /* of an item of a list; -1: not in a list */
};

/* ---- errors --------------------------------------------------------------------------------- */

/* The content of a text field of a message, for errors; "" if there is none. */
static void field_show(onnx_bytes in, int number, char out[IO_SHOWN_BYTES])
{
    char name[256];
    wire w = wire_open(in);
    wire_field f;
    out[0] = '\0';
    while (number && wire_next(&w, &f))
        if (f.number == (uint32_t)number && f.type == WIRE_BYTES) {
            snprintf(name, sizeof name, "%.*s", (int)(f.bytes.n < 255 ? f.bytes.n : 255),
                     f.bytes.at);
            io_show(name, out);
        }
}

void onnx_one_line(char *message)
{
    for (; *message; message++)
        if ((unsigned char)*message < ' ' || *message == 0x7f)
            *message = '?';
}

static void place_show(const message_place *p, text *t)
{
    char name[IO_SHOWN_BYTES], detail[IO_SHOWN_BYTES];
    if (!p)
        return;
    place_show(p->outer, t);
    if (!p->rule->shown)
        return;
    field_show(p->in, p->rule->name, name);
    field_show(p->in, p->rule->detail, detail);
    text_add(t, "%s", p->rule->shown);
    if (p->number >= 0 && (p->rule->detail || !name[0]))
        text_add(t, " %d", p->number);
    if (name[0])
        text_add(t, " '%s'", name);
    if (detail[0])
        text_add(t, " (%s)", detail);
    text_add(t, ": ");
}

bool reader_fail(const reader *r, ig_status code, const char *format, ...)
{
    text where = {0};
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    onnx_one_line(why);
    place_show(r->place, &where);
    char *shown = text_take(&where);
    const bool at_root = !shown || !*shown;
    ig_fail(code, "load '%s': %s%s%s", r->shown,
            !at_root                ? shown
            : code == IG_ERR_FORMAT ? "it is not an ONNX file, or it is damaged: "
                                    : "",
            why, code == IG_ERR_FORMAT ? "; export it again" : "");
    memory_free(shown);
    return false;
}

static bool field_fail(const reader *r, const field_rule *f, const char *why)
{
    return reader_fail(r, IG_ERR_FORMAT, "field %s %s", f->name, why);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static size_t item_bytes(const field_rule *f)
{
    switch (f->kind) {
    case FIELD_TEXT: return sizeof(const char *);
    case FIELD_INT: return sizeof(int64_t);
    case FIELD_FLOAT: return sizeof(float);
    case FIELD_MESSAGE: return f->message->bytes;
    case FIELD_POINTER: return sizeof(void *);
    default: return sizeof(onnx_bytes);
    }
}

/* The wire type of one item. */
static wire_type item_type(const field_rule *f)
{
    switch (f->kind) {
    case FIELD_INT:
    case FIELD_VARINTS: return WIRE_VARINT;
    case FIELD_FLOAT:
    case FIELD_FIXED32: return WIRE_FIXED32;
    case FIELD_FIXED64: return WIRE_FIXED64;
    default: return WIRE_BYTES;
    }
}

static bool is_joined(const field_rule *f) { return f->kind >= FIELD_VARINTS; }
static bool is_packed(const field_rule *f, const wire_field *in)
{
    return item_type(f) != WIRE_BYTES && in->type == WIRE_BYTES;
}

/* The number of varints of a packed list; -1 if they are malformed. */
static int64_t varints_count(onnx_bytes in)
{
    wire w = wire_open(in);
    uint64_t value;
    int64_t n = 0;
    while (wire_varint(&w, &value))
        n++;
    return w.wrong ? -1 : n;
}

/* The items (of a joined field: the bytes) that a field of the file adds to its list. -1 after an error. */
static int64_t items_count(const reader *r, const field_rule *f, const wire_field *in)
{
    const wire_type type = item_type(f);
    if (in->type != type && !(f->list && is_packed(f, in)))
        return field_fail(r, f, "has the wrong wire type") - 1;
    if (f->message && in->bytes.n < f->message->least)
        return field_fail(r, f, "has an item that is too short") - 1;
    if (!is_packed(f, in))
        return is_joined(f) ? (int64_t)in->bytes.n : 1;
    const size_t size = type == WIRE_FIXED32 ? 4 : type == WIRE_FIXED64 ? 8 : 1;
    if (in->bytes.n % size)
        return field_fail(r, f, "has a part of a number at its end") - 1;
    int64_t n = (int64_t)(in->bytes.n / size);
    if (type == WIRE_VARINT && (n = varints_count(in->bytes)) < 0)
        return field_fail(r, f, "has a malformed number") - 1;
    return is_joined(f) ? (int64_t)in->bytes.n : n;
}

/* ---- the first pass ------------------------------------------------------------------------- */

static int rule_find(const message_rule *rule, uint32_t number)
{
    for (int i = 0; i < rule->n_fields; i++)
        if (rule->fields[i].number == number)
            return i;
    return -1;
}

enum { FIELDS_MOST = 24 };

/* counts: items of each list. times: how often each field is there. */
static bool message_count(reader *r, const message_rule *rule, onnx_bytes in, int64_t *counts,
                          int64_t *times)
{
    wire w = wire_open(in);
    wire_field f;
    while (wire_next(&w, &f)) {
        const int i = rule_find(rule, f.number);
        if (i < 0)
            continue;
        const int64_t n = items_count(r, &rule->fields[i], &f);
        if (n < 0)
            return false;
        counts[i] += n;
        times[i]++;
        if (!rule->fields[i].list && times[i] > 1 && rule->fields[i].message)
            return field_fail(r, &rule->fields[i], "occurs twice");
    }
    return !w.wrong || reader_fail(r, IG_ERR_FORMAT, "%s", w.wrong);
}

static bool lists_make(reader *r, const message_rule *rule, const int64_t *counts,
                       const int64_t *times, char *out)
{
    for (int i = 0; i < rule->n_fields; i++) {
        const field_rule *f = &rule->fields[i];
        if (!f->list || counts[i] == 0)
            continue;
        if (counts[i] > INT32_MAX && !is_joined(f))
            return field_fail(r, f, "has too many items");
        /* One packed list stays in the file. */
        if (is_joined(f) && times[i] == 1)
            continue;
        void *items = onnx_arena_new(r->arena, (size_t)counts[i], is_joined(f) ? 1 : item_bytes(f));
        if (!items)
            return false;
        if (is_joined(f))
            *(onnx_bytes *)(out + f->at) = (onnx_bytes){items, 0};
        else
            *(void **)(out + f->at) = items;
    }
    return true;
}

/* ---- the second pass ------------------------------------------------------------------------ */

static bool text_read(reader *r, const field_rule *f, onnx_bytes in, const char **out)
{
    if (in.n && memchr(in.at, 0, in.n))
        return field_fail(r, f, "has a text with a zero byte");
    return (*out = onnx_arena_text(r->arena, in.at, in.n)) != NULL;
}

static bool submessage_read(reader *r, const field_rule *f, onnx_bytes in, int number, void *out)
{
    const message_place place = {r->place, f->message, in, number};
    if (r->depth >= MESSAGE_DEPTH)
        return reader_fail(r, IG_ERR_FORMAT, "more than %d messages are nested", MESSAGE_DEPTH);
    if (f->kind == FIELD_POINTER) {
        void *item = onnx_arena_new(r->arena, 1, f->message->bytes);
        *(void **)out = item;
        out = item;
    }
    if (!out)
        return false;
    r->place = &place;
    r->depth++;
    const bool ok = message_read(r, f->message, in, out);
    r->depth--;
    r->place = place.outer;
    return ok;
}

static bool item_read(reader *r, const field_rule *f, const wire_field *in, int number, char *out)
{
    switch (f->kind) {
    case FIELD_TEXT: return text_read(r, f, in->bytes, (const char **)out);
    case FIELD_BYTES: *(onnx_bytes *)out = in->bytes; return true;
    case FIELD_INT: *(int64_t *)out = (int64_t)in->value; return true;
    case FIELD_FLOAT: memcpy(out, &(uint32_t){(uint32_t)in->value}, sizeof(uint32_t)); return true;
    default: return submessage_read(r, f, in->bytes, number, out);
    }
}

/* Adds a packed list, or one item, to a list of numbers. */
static void numbers_add(const field_rule *f, const wire_field *in, char *list, int *n)
{
    wire w = wire_open(in->bytes);
    uint64_t value;
    if (f->kind == FIELD_INT)
        while (wire_varint(&w, &value))
            ((int64_t *)list)[(*n)++] = (int64_t)value;
    else
        for (size_t i = 0; i + 4 <= in->bytes.n; i += 4) {
            const uint32_t bits = wire_fixed32(in->bytes.at + i);
            memcpy((float *)list + (*n)++, &bits, sizeof bits);
        }
}

/* lists_make left room for all parts if there are several. */
static void bytes_join(onnx_bytes *all, onnx_bytes part)
{
    if (!all->at) {
        *all = part;
        return;
    }
    if (part.n)
        memcpy((char *)all->at + all->n, part.at, part.n);
    all->n += part.n;
}

static bool field_read(reader *r, const field_rule *f, const wire_field *in, char *out)
{
    if (is_joined(f)) {
        bytes_join((onnx_bytes *)(out + f->at), in->bytes);
        return true;
    }
    if (!f->list)
        return item_read(r, f, in, -1, out + f->at);
    int *n = (int *)(out + f->n_at);
    char *list = *(char **)(out + f->at);
    if (f->kind == FIELD_INT || f->kind == FIELD_FLOAT) {
        numbers_add(f, in, list, n);
        return true;
    }
    const int i = (*n)++;
    return item_read(r, f, in, i, list + (size_t)i * item_bytes(f));
}

/* Texts that are not there are "", so that no reader of the structures has to ask. */
static void texts_default(const message_rule *rule, char *out)
{
    for (int i = 0; i < rule->n_fields; i++) {
        const field_rule *f = &rule->fields[i];
        if (f->kind == FIELD_TEXT && !f->list && !*(const char **)(out + f->at))
            *(const char **)(out + f->at) = "";
    }
}

bool message_read(reader *r, const message_rule *rule, onnx_bytes in, void *result)
{
    int64_t counts[FIELDS_MOST] = {0}, times[FIELDS_MOST] = {0};
    _Alignas(16) char scratch[MESSAGE_SCRATCH];
    char *out = rule->scratch ? memset(scratch, 0, rule->scratch) : result;
    if (!message_count(r, rule, in, counts, times) || !lists_make(r, rule, counts, times, out))
        return false;
    wire w = wire_open(in);
    wire_field f;
    uint64_t seen = 0;
    while (wire_next(&w, &f)) {
        const int i = rule_find(rule, f.number);
        if (i < 0)
            continue;
        seen |= (uint64_t)1 << f.number;
        if (!field_read(r, &rule->fields[i], &f, out))
            return false;
    }
    texts_default(rule, out);
    return !rule->finish || rule->finish(r, seen, out, result);
}
