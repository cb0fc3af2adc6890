/* The writer of JSON: see json.h. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_quote(text *t, const char *plain)
{
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    const bool utf8 = json_is_utf8(plain); /* a path may be in another encoding */
    text_add(t, "\"");
    for (;; plain++) {
        size_t run = 0;
        while ((unsigned char)plain[run] >= ' ' && plain[run] != '"' && plain[run] != '\\' &&
               (utf8 || (unsigned char)plain[run] < 0x80))
            run++;
        text_add(t, "%.*s", (int)run, plain);
        plain += run;
        if (!*plain)
            break;
        const char *value = strchr(values, *plain);
        if (value)
            text_add(t, "\\%c", names[value - values]);
        else if ((unsigned char)*plain >= 0x80)
            text_add(t, "?");
        else
            text_add(t, "\\u%04x", (unsigned)*plain);
    }
    text_add(t, "\"");
}

/* A format that is being read. */
typedef struct json_format {
    text *out;
    char before; /* the character in front of the text; 0 if there is none */
    const char *at;
    va_list args;
} json_format;

bool json_comma_after(char last) { return last && !strchr(" \n{[", last); }

/* Adds a comma and a blank or, if the format has a line break there, its space, unless a value may follow directly. */
static void separate(json_format *f, const char *space, size_t n)
{
    const char last = f->out->used ? f->out->at[f->out->used - 1] : f->before;
    const bool follows = json_comma_after(last);
    if (n || follows)
        text_add(f->out, "%s%.*s", follows ? "," : "", n ? (int)n : 1, space);
}

static void add_integer(json_format *f, const char *length, size_t n, bool is_signed)
{
    if (n == 2 && *length == 'h')
        text_add(f->out, "%s", va_arg(f->args, int) ? "true" : "false");
    else if (is_signed)
        text_add(f->out, "%lld",
                 n == 2   ? va_arg(f->args, long long)
                 : n == 1 ? va_arg(f->args, long)
                          : va_arg(f->args, int));
    else
        text_add(f->out, "%llu",
                 n == 2                     ? va_arg(f->args, unsigned long long)
                 : n == 1 && *length == 'z' ? va_arg(f->args, size_t)
                 : n == 1                   ? va_arg(f->args, unsigned long)
                                            : va_arg(f->args, unsigned));
}

/* Adds a number with '.' in front of its fraction, whatever the locale has there. */
static void add_real(text *t, double value, char kind, int precision)
{
    char digits[400];
    if (!isfinite(value)) {
        text_add(t, "null");
        return;
    }
    snprintf(digits, sizeof digits, kind == 'g' ? "%.*g" : "%.*f", precision, value);
    const size_t whole = strspn(digits, "-0123456789e+");
    const char *rest = digits + whole + strcspn(digits + whole, "0123456789");
    text_add(t, "%.*s%s%s", (int)whole, digits, digits[whole] ? "." : "", rest);
}

/* Adds the argument of a conversion, which ends before the returned position. */
static const char *add_argument(json_format *f)
{
    const char *spec = f->at + 1;
    char *end = (char *)spec;
    const int precision = *spec == '.' ? (int)strtol(spec + 1, &end, 10) : 6;
    const size_t length = strspn(end, "hlz");
    const char kind = end[length];
    if (kind == 's') {
        const char *s = va_arg(f->args, const char *);
        if (s)
            json_quote(f->out, s);
        else
            text_add(f->out, "null");
    } else if (kind == 'g' || kind == 'f') {
        add_real(f->out, va_arg(f->args, double), kind, precision);
    } else {
        add_integer(f, end, length, kind == 'd');
    }
    return end + length + 1;
}

/* Adds a word of the format: a number or name of a value as it is, all others in quotes. */
static const char *add_word(json_format *f)
{
    const char *end = f->at + strcspn(f->at, ",:{}[]\n");
    char word[64];
    size_t n = (size_t)(end - f->at);
    n = n < sizeof word ? n : sizeof word - 1;
    memcpy(word, f->at, n);
    word[n] = '\0';
    const bool plain = *end != ':' && (strchr("-0123456789", *word) || !strcmp(word, "null") ||
                                       !strcmp(word, "true") || !strcmp(word, "false"));
    if (plain)
        text_add(f->out, "%s", word);
    else
        json_quote(f->out, word);
    return end;
}

/* Adds the white space with a line break, and a comma before it if a value follows. */
static const char *add_space(json_format *f)
{
    const size_t n = strspn(f->at, " \n");
    if (f->at[n] && !strchr("}]", f->at[n]))
        separate(f, f->at, n);
    else
        text_add(f->out, "%.*s", (int)n, f->at);
    return f->at + n;
}

void json_add_list(text *t, char before, const char *format, va_list args)
{
    json_format f = {.out = t, .before = before, .at = format};
    va_copy(f.args, args);
    while (*f.at) {
        const char c = *f.at;
        if (c == ' ' || c == ',') {
            f.at++;
        } else if (c == '\n') {
            f.at = add_space(&f);
        } else if (c == '}' || c == ']') {
            text_add(t, "%c", *f.at++);
        } else {
            separate(&f, " ", 0);
            if (c == '{' || c == '[')
                text_add(t, "%c", *f.at++);
            else
                f.at = c == '%' ? add_argument(&f) : add_word(&f);
            if (*f.at == ':') {
                text_add(t, ": ");
                f.at++;
            }
        }
    }
    va_end(f.args);
}

void json_add(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    json_add_list(t, '\0', format, args);
    va_end(args);
}
