/* Growing text. */
#include "base/text.h"
#include "base/memory.h"
#include <stdio.h>

/* Makes room for n more bytes and the terminator. */
static bool text_grow(text *t, size_t n)
{
    if (t->failed || t->used + n < t->room)
        return !t->failed;
    size_t room = 2 * t->room + n + 64;
    char *at = memory_resize(t->at, room);
    if (!at) {
        t->failed = true;
        return false;
    }
    t->at = at;
    t->room = room;
    return true;
}

void text_add_list(text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && text_grow(t, (size_t)n))
        t->used += (size_t)vsnprintf(t->at + t->used, t->room - t->used, format, again);
    va_end(again);
}

void text_add(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_add_list(t, format, args);
    va_end(args);
}

char *text_take(text *t)
{
    char *at = text_grow(t, 0) ? t->at : NULL;
    if (at)
        at[t->used] = '\0';
    else
        memory_free(t->at);
    *t = (text){0};
    return at;
}

void text_drop(text *t)
{
    memory_free(t->at);
    *t = (text){0};
}
