/* printf of kernels: lane after lane, each a whole text of its own. */
#include "backend/cpu/gang/gang.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { SPEC_MAX = 64 };

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

/* One conversion, from '%' on, into spec, with the arguments of "*" in their places; returns how many
 * characters it has. */
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
    } else if (kind == 's') {
        memcpy(spec + flags, "s", 2);
        text_add(t, spec, a->as.u ? (const char *)(uintptr_t)a->as.u : "(null)");
    } else {
        text_add(t, "0x%llx", (unsigned long long)a->as.u);
    }
}

static void add_lane(const gang *g, const code_print *p, int lane, text *t)
{
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
            next++;
            add_one(t, spec, there ? &a : NULL);
        }
    }
}

void gang_print(gang *g, const gang_step *s)
{
    const code_print *p = &g->code->code->print[s->row];
    text t = {0};
    for (int lane = 0; lane < g->lanes; lane++)
        if (g->mask[lane / WARP_LANES] >> lane % WARP_LANES & 1)
            add_lane(g, p, lane, &t);
    const size_t bytes = t.used;
    char *said = text_take(&t);
    if (said && g->launch->print)
        g->launch->print(g->launch->context, said, bytes);
    else if (said)
        fwrite(said, 1, bytes, stdout);
    memory_free(said);
}
