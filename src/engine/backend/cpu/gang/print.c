/* printf of kernels: one complete text for each lane, in lane order. A "%s" argument is read up to
 * its terminating zero, and never beyond its array. */
#include "engine/backend/cpu/gang/gang.h"

#include "base/memory.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPEC_MAX = 64,
    TEXT_UNKNOWN = 1024 /* limit for a string in memory of unknown size */
};

typedef struct argument {
    ig_dtype dtype;
    union {
        int64_t i;
        uint64_t u;
        double f;
    } as;
} argument;

static argument argument_of(const gang *g, int32_t r, int lane)
{
    const code_reg *reg = &g->code->code->reg[r];
    const ig_dtype d = (ig_dtype)reg->dtype;
    const size_t width = ig_dtype_bytes(d);
    const char *from = g->memory + gang_home(g->code, r) + (reg->one ? 0 : (size_t)lane * width);
    argument a = {d, {0}};
    if (dtype_is_float(d))
        a.as.f = dtype_fetch(d, from);
    else
        a.as.i = dtype_fetch_int(d, from);
    return a;
}

/* Copies one conversion, from '%' on, into spec and replaces each "*" by its argument. Returns the
 * number of characters of the conversion. */
static size_t spell(const gang *g, const code_print *p, int lane, int *next, const char *format,
                    char spec[SPEC_MAX])
{
    size_t used = 1, n = 1;
    spec[0] = '%';
    for (; strchr("-+ #0123456789.*", format[n]) && format[n] && used < SPEC_MAX - 16; n++)
        if (format[n] == '*' && *next < p->n)
            used += (size_t)snprintf(spec + used, 12, "%d",
                                     (int)argument_of(g, p->args[(*next)++], lane).as.i);
        else
            spec[used++] = format[n];
    const size_t rest = strspn(format + n, "hlLqjzt") + 1;
    snprintf(spec + used, SPEC_MAX - used, "%.*s", (int)rest, format + n);
    return n + (format[n] ? rest : 0);
}

/* ---- strings in memory ---- */

/* The bytes from an address to the end of its array, or TEXT_UNKNOWN. */
static size_t room_at(const gang *g, int lane, uint64_t at)
{
    const gang_launch *l = g->launch;
    const lane_code *c = g->code->code;
    const uint64_t local = (uintptr_t)g->local + (uint64_t)lane * c->local_bytes;
    for (int i = 0; i < c->n_object; i++) {
        const code_object *o = &c->object[i];
        const uint64_t base = o->origin == ORIGIN_SHARED   ? (uintptr_t)g->shared
                              : o->origin == ORIGIN_LOCAL  ? local
                              : o->origin == ORIGIN_GLOBAL ? (uintptr_t)l->globals
                                                           : 0;
        const uint64_t bytes = o->bytes ? o->bytes : l->dynamic_bytes;
        if (base && at >= base + o->offset && at - base - o->offset < bytes)
            return (size_t)(bytes - (at - base - o->offset));
    }
    const size_t room = l->print && l->print->room ? l->print->room(l->context, at) : 0;
    return room ? room : TEXT_UNKNOWN;
}

/* True if all observers allow the lane to read a byte of the string. */
static bool may_read(gang *g, const gang_step *s, int lane, uint64_t begin, size_t n)
{
    uint64_t place[GANG_LANES];
    gang_mask mask = {0};
    if (!g->launch->watch)
        return true;
    place[lane] = begin + n;
    mask[lane / WARP_LANES] = 1u << lane % WARP_LANES;
    const gang_touch touch = {TOUCH_LOAD, 1, place, NULL, begin};
    for (gang_watch *w = g->launch->watch; w; w = w->next)
        w->touch(w, g, s, &touch, mask);
    return mask[lane / WARP_LANES] != 0;
}

/* The length of the string, at most `most`. */
static int text_bytes(gang *g, const gang_step *s, int lane, uint64_t begin, int most)
{
    const size_t room = room_at(g, lane, begin);
    size_t n = 0;
    while (n < (size_t)most && may_read(g, s, lane, begin, n) && n < room &&
           *(const char *)(uintptr_t)(begin + n))
        n++;
    return (int)n;
}

/* "%-8.3s": flags and width stay; the precision becomes the number of readable bytes. */
static void add_text(gang *g, const gang_step *s, int lane, text *t, const char *format,
                     uint64_t begin, bool literal)
{
    char spec[SPEC_MAX + 4];
    const int flags = (int)strcspn(format, ".hlLqjzts");
    const int precision = format[flags] == '.' ? (int)strtol(format + flags + 1, NULL, 10) : -1;
    const int most = precision < 0 ? INT_MAX : precision;
    const bool whole = literal || !begin;
    snprintf(spec, sizeof spec, "%.*s.*s", flags, format);
    text_add(t, spec, whole ? most : text_bytes(g, s, lane, begin, most),
             begin ? (const char *)(uintptr_t)begin : "(null)");
}

/* ---- conversions ---- */

/* Adds one conversion, from '%' on. */
static void add_one(text *t, const char *format, const argument *a)
{
    const size_t flags = 1 + strspn(format + 1, "-+ #0123456789.");
    const size_t size = strspn(format + flags, "hlLqjzt"), all = flags + size + 1;
    const char kind = format[flags + size];
    char spec[SPEC_MAX + 4];
    if (!kind || flags > SPEC_MAX) {
        text_add(t, "%s", format);
        return;
    }
    memcpy(spec, format, flags);
    const bool is_float = strchr("fFeEgGaA", kind), is_integer = strchr("diouxXc", kind);
    const double f = a && dtype_is_float(a->dtype) ? a->as.f : a ? (double)a->as.i : 0;
    const uint64_t mask = size >= 1 && strchr("lqjzt", format[flags]) ? UINT64_MAX : UINT32_MAX;
    if (!a) {
        text_add(t, "%.*s", (int)all, format);
    } else if (is_float) {
        memcpy(spec + flags, (char[]){kind, 0}, 2);
        text_add(t, spec, f);
    } else if (kind == 'c') {
        memcpy(spec + flags, "c", 2);
        text_add(t, spec, (int)a->as.i);
    } else if (is_integer) {
        memcpy(spec + flags, (char[]){'l', 'l', kind, 0}, 4);
        const uint64_t bits = dtype_is_float(a->dtype) ? (uint64_t)(int64_t)f : a->as.u;
        text_add(t, spec,
                 strchr("di", kind)
                     ? (mask == UINT32_MAX ? (long long)(int32_t)bits : (long long)bits)
                     : (long long)(bits & mask));
    } else {
        text_add(t, "0x%llx", (unsigned long long)a->as.u);
    }
}

static void add_lane(gang *g, const gang_step *s, int lane, text *t)
{
    const code_print *p = &g->code->code->print[s->row];
    int next = 0;
    for (const char *f = p->format; *f;) {
        const size_t plain = strcspn(f, "%");
        text_add(t, "%.*s", (int)plain, f);
        f += plain;
        if (f[0] == '%' && f[1] == '%') {
            text_add(t, "%%");
            f += 2;
        } else if (*f) {
            char spec[SPEC_MAX];
            f += spell(g, p, lane, &next, f, spec);
            const bool there = next < p->n;
            const argument a = there ? argument_of(g, p->args[next], lane) : (argument){0};
            if (there && spec[strlen(spec) - 1] == 's')
                add_text(g, s, lane, t, spec, a.as.u, p->literal[next]);
            else
                add_one(t, spec, there ? &a : NULL);
            next++;
        }
    }
}

void gang_print(gang *g, const gang_step *s)
{
    const kernel_output *to = g->launch->print;
    text t = {0};
    for (int lane = 0; lane < g->lanes; lane++)
        if (g->mask[lane / WARP_LANES] >> lane % WARP_LANES & 1)
            add_lane(g, s, lane, &t);
    const size_t bytes = t.used;
    char *said = text_take(&t);
    if (said && to && to->write)
        to->write(g->launch->context, said, bytes);
    else if (said)
        fwrite(said, 1, bytes, stdout);
    memory_free(said);
}
