/* Markup: escaping, and a printf that escapes its arguments. */
#include "report/html.h"

#include <string.h>

#include "base/json.h"

void html_text(str *t, const char *s)
{
    static const char *const escaped[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    const bool utf8 = json_is_utf8(s);
    size_t n = strlen(s);
    bool cut = n > HTML_TEXT_MOST;
    if (cut)
        for (n = HTML_TEXT_MOST; n && ((unsigned char)s[n] & 0xc0) == 0x80;)
            n--;
    for (size_t i = 0, bytes; i < n; i += bytes) {
        const unsigned char c = (unsigned char)s[i];
        unsigned code;
        const size_t control = control_at(s + i, &code);
        bytes = utf8 && control ? control : 1;
        if (c >= 0x80 && !utf8)
            str_puts(t, "?");
        else if (control)
            str_printf(t, "\\u%04x", code);
        else if (c < 0x80 && escaped[c])
            str_puts(t, escaped[c]);
        else
            str_add(t, s + i, 1);
    }
    str_puts(t, cut ? "…" : "");
}

/* Adds a number by its format specification, which begins with '%'. */
static void put_number(str *t, const char *spec, size_t n, double value)
{
    char form[16] = "";
    if (n < sizeof form)
        memcpy(form, spec, n);
    if (value == 0)
        value = 0; /* not -0 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    str_printf(t, form, value);
#pragma GCC diagnostic pop
}

void html_put(str *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        size_t plain = strcspn(at, "%");
        str_add(t, at, plain);
        at += plain;
        if (!*at)
            break;
        const size_t n = 1 + strcspn(at + 1, "sdfg%") + 1;
        switch (at[n - 1]) {
        case 's': html_text(t, va_arg(args, const char *)); break;
        case 'd': str_printf(t, "%d", va_arg(args, int)); break;
        case '%': str_puts(t, "%"); break;
        default: put_number(t, at, n, va_arg(args, double)); break;
        }
        at += n;
    }
    va_end(args);
}

void html_base64(str *t, const char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned word = 0;
        for (size_t j = 0; j < 3; j++)
            word = word << 8 | (i + j < n ? (unsigned char)bytes[i + j] : 0);
        char four[4];
        for (size_t j = 0; j < 4; j++)
            four[j] = i + j > n ? '=' : digits[word >> (18 - 6 * j) & 63];
        str_add(t, four, 4);
    }
}
