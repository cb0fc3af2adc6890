/* Several kernels as one file: parts with the same text appear once. A function may have two texts under one
 * name, since its hidden parameters depend on the kernel; then the later one is renamed. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "compiler/print/join.h"

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Replaces a name wherever it is a whole word. */
static char *renamed(const char *s, const char *name, const char *with)
{
    text out = {0};
    const size_t n = strlen(name);
    const char *from = s;
    for (const char *at = strstr(s, name); at; at = strstr(at, name)) {
        const bool whole = (at == s || !is_word(at[-1])) && !is_word(at[n]);
        if (whole) {
            text_add(&out, "%.*s%s", (int)(at - from), from, with);
            from = at + n;
        }
        at += n;
    }
    text_add(&out, "%s", from);
    return text_take(&out);
}

static const print_joined_part *find(const print_joined *j, const char *s, const char *name)
{
    for (int i = 0; i < j->n; i++)
        if (s ? strcmp(j->at[i].text, s) == 0 : j->at[i].name && strcmp(j->at[i].name, name) == 0)
            return &j->at[i];
    return NULL;
}

/* Parts are separated by one blank line, unless both are single lines. */
static void add_text(print_joined *j, const char *s, const char *comment)
{
    size_t n = strlen(s);
    while (n && s[n - 1] == '\n')
        n--;
    const bool line = !memchr(s, '\n', n);
    if (j->all.used && !(line && j->line))
        text_add(&j->all, "\n");
    if (comment)
        text_add(&j->all, "/* %s */\n", comment);
    text_add(&j->all, "%.*s\n", (int)n, s);
    j->line = line;
}

/* Adds a part and takes ownership of it. */
static ig_status keep(print_joined *j, char *s, const char *name, const char *comment)
{
    if (!memory_room(&j->at, j->n, &j->room, sizeof *j->at)) {
        memory_free(s);
        return IG_ERR_MEMORY;
    }
    char *copy = name ? memory_text(name) : NULL;
    j->at[j->n++] = (print_joined_part){s, copy};
    add_text(j, s, comment);
    return name && !copy ? IG_ERR_MEMORY : IG_OK;
}

/* Cuts the text of a kernel into its parts, and renames those whose names clash. names[i] is the new name, or NULL. */
static ig_status split(const print_joined *j, const kernel_printed *p, char **parts, char **names)
{
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const size_t begin = p->parts[i].begin,
                     end = i + 1 < p->n_parts ? p->parts[i + 1].begin : strlen(p->text);
        parts[i] = memory_new(end - begin + 1);
        if (!parts[i])
            return IG_ERR_MEMORY;
        memcpy(parts[i], p->text + begin, end - begin);
    }
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const char *name = p->parts[i].name;
        if (!name || find(j, parts[i], NULL) || !find(j, NULL, name))
            continue;
        char with[256];
        int number = 2;
        do
            snprintf(with, sizeof with, "%s_v%d", name, number++);
        while (find(j, NULL, with));
        names[i] = memory_text(with);
        if (!names[i])
            return IG_ERR_MEMORY;
        for (uint32_t k = i; k < p->n_parts; k++) {
            char *made = renamed(parts[k], name, with);
            if (!made)
                return IG_ERR_MEMORY;
            memory_free(parts[k]);
            parts[k] = made;
        }
    }
    return IG_OK;
}

ig_status print_join(print_joined *j, const kernel_printed *p, const char *comment, char **entry)
{
    char **parts = memory_new(2 * (p->n_parts + 1) * sizeof *parts);
    char **names = parts ? parts + p->n_parts + 1 : NULL;
    ig_status status = parts ? split(j, p, parts, names) : IG_ERR_MEMORY;
    for (uint32_t i = 0; status == IG_OK && i < p->n_parts; i++) {
        const bool last = i + 1 == p->n_parts;
        const bool blank = parts[i][strspn(parts[i], "\n")] == 0;
        if (blank || (!last && find(j, parts[i], NULL)))
            continue;
        char *s = parts[i];
        parts[i] = NULL;
        status = keep(j, s, names[i] ? names[i] : p->parts[i].name, last ? comment : NULL);
    }
    if (status == IG_OK && entry) {
        const char *renamed_to = p->n_parts ? names[p->n_parts - 1] : NULL;
        *entry = memory_text(renamed_to ? renamed_to : p->entry);
        status = *entry ? IG_OK : IG_ERR_MEMORY;
    }
    for (uint32_t i = 0; parts && i < p->n_parts; i++) {
        memory_free(parts[i]);
        memory_free(names[i]);
    }
    memory_free(parts);
    return status == IG_OK && j->all.failed ? IG_ERR_MEMORY : status;
}

char *print_joined_take(print_joined *j)
{
    char *all = text_take(&j->all);
    for (int i = 0; i < j->n; i++) {
        memory_free(j->at[i].text);
        memory_free(j->at[i].name);
    }
    memory_free(j->at);
    *j = (print_joined){0};
    return all;
}
