/* Small system files, read as untrusted text: sysfile.h. */
#include "base/sysfile.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sysfile_number(const char *text, const char **end, int64_t *value)
{
    while (*text == ' ' || *text == '\t')
        text++;
    if (!isdigit((unsigned char)*text))
        return false;
    char *stop;
    errno = 0;
    const long long parsed = strtoll(text, &stop, 10);
    if (errno != 0)
        return false;
    *value = parsed;
    if (end) {
        *end = stop;
        return true;
    }
    while (isspace((unsigned char)*stop))
        stop++;
    return *stop == '\0';
}

void sysfile_trim(char *out, size_t size, const char *text)
{
    size_t used = 0;
    bool gap = false;
    for (; *text != '\0'; text++) {
        if (isspace((unsigned char)*text)) {
            gap = used > 0;
            continue;
        }
        if (used + 2 >= size)
            break;
        if (gap)
            out[used++] = ' ';
        gap = false;
        out[used++] = *text;
    }
    out[used] = '\0';
}

bool sysfile_path(char *out, size_t size, const char *root, const char *path)
{
    const int length = snprintf(out, size, "%s%s", root, path);
    return length >= 0 && (size_t)length < size;
}

FILE *sysfile_open(const char *root, const char *path)
{
    char full[SYSFILE_PATH_SIZE];
    return sysfile_path(full, sizeof full, root, path) ? fopen(full, "re") : NULL;
}

bool sysfile_exists(const char *root, const char *path)
{
    char full[SYSFILE_PATH_SIZE];
    return sysfile_path(full, sizeof full, root, path) && access(full, F_OK) == 0;
}

DIR *sysfile_folder(const char *root, const char *path)
{
    char full[SYSFILE_PATH_SIZE];
    return sysfile_path(full, sizeof full, root, path) ? opendir(full) : NULL;
}

const char *sysfile_entry(DIR *folder)
{
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            return entry->d_name;
    if (folder)
        closedir(folder);
    return NULL;
}

bool sysfile_next(FILE *file, char *line, size_t size)
{
    size_t used = 0;
    int c = getc_unlocked(file);
    if (c == EOF)
        return false;
    for (; c != EOF && c != '\n'; c = getc_unlocked(file))
        if (used + 1 < size)
            line[used++] = (char)c;
    line[used] = '\0';
    return true;
}

bool sysfile_line(const char *dir, const char *path, char *line, size_t size)
{
    FILE *file = sysfile_open(dir, path);
    if (!file)
        return false;
    const bool found = sysfile_next(file, line, size);
    fclose(file);
    return found;
}

bool sysfile_int(const char *dir, const char *path, int64_t *value)
{
    char line[64];
    return sysfile_line(dir, path, line, sizeof line) && sysfile_number(line, NULL, value);
}

bool sysfile_keyed(const char *dir, const char *path, const char *key, int64_t *value)
{
    FILE *file = sysfile_open(dir, path);
    if (!file)
        return false;
    char line[256];
    const char *end;
    const size_t key_length = strlen(key);
    bool found = false;
    while (!found && sysfile_next(file, line, sizeof line)) {
        if (strncmp(line, key, key_length) != 0)
            continue;
        const char *rest = line + key_length;
        if (*rest == ':')
            rest++;
        found = (*rest == ' ' || *rest == '\t') && sysfile_number(rest, &end, value);
    }
    fclose(file);
    return found;
}
