/* Growing text. After a failed allocation, additions do nothing and text_take returns NULL. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "ingot/base.h"

#include <stdarg.h>

typedef struct text {
    char *at;
    size_t used, room;
    bool failed;
} text;

void text_add(text *t, const char *format, ...) IG_PRINTF(2, 3);
void text_add_list(text *t, const char *format, va_list args) IG_PRINTF(2, 0);
/* The text (release with memory_free), or NULL if something failed. t is empty again. */
char *text_take(text *t);
/* Empties the text. */
void text_drop(text *t);

#endif
