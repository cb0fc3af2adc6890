/* Source text: loads files and locates places. Both search sorted lists. */
#include "compiler/pp/source.h"
#include "compiler/pp/token.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void kernel_source_begin(kernel_source *s, kernel_arena *arena)
{
    *s = (kernel_source){.arena = arena, .next = 1, .next_expanded = PLACE_EXPANDED};
}

static void find_lines(kernel_source *s, kernel_file *file)
{
    const char *end = file->text + file->bytes;
    uint32_t n = 1;
    for (const char *p = file->text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        n++;
    uint32_t *lines = kernel_arena_get(s->arena, n * sizeof *lines);
    n = 0;
    lines[n++] = 0;
    for (const char *p = file->text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines[n++] = (uint32_t)(p + 1 - file->text);
    file->lines = lines;
    file->n_lines = n;
}

/* Assigns places to a file. */
static kernel_file *place(kernel_source *s, kernel_file *file)
{
    if (file->bytes >= PLACE_EXPANDED - s->next)
        kernel_arena_fail(s->arena, "its files are larger than 2 GiB together");
    file->first = s->next;
    s->next += file->bytes + 1;
    return ARENA_ADD(s->arena, s->files, s->n_files, s->files_room, file);
}

/* Adds a file whose text is in the arena already. */
static kernel_file *adopt(kernel_source *s, const char *name, const char *folder, const char *text,
                          size_t bytes, kernel_place included)
{
    kernel_file *file = kernel_arena_new(s->arena, sizeof *file);
    if (bytes > SOURCE_MAX_BYTES)
        kernel_arena_fail(s->arena, "a file is larger than 64 MiB");
    const size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    file->name = kernel_arena_text(s->arena, name, strlen(name));
    file->folder = folder ? kernel_arena_text(s->arena, folder, strlen(folder)) : NULL;
    file->text = text + mark;
    file->bytes = (uint32_t)(bytes - mark);
    file->included = included;
    find_lines(s, file);
    return place(s, file);
}

kernel_file *kernel_source_add(kernel_source *s, const char *name, const char *folder,
                               const char *text, size_t bytes, kernel_place included)
{
    if (bytes > SOURCE_MAX_BYTES)
        kernel_arena_fail(s->arena, "a file is larger than 64 MiB");
    return adopt(s, name, folder, kernel_arena_text(s->arena, text, bytes), bytes, included);
}

kernel_file *kernel_source_again(kernel_source *s, const kernel_file *file, kernel_place included)
{
    kernel_file *again = kernel_arena_copy(s->arena, file, sizeof *again);
    again->included = included;
    again->marks = NULL;
    again->n_marks = again->marks_room = 0;
    return place(s, again);
}

kernel_file *kernel_source_read(kernel_source *s, const char *path, kernel_place included,
                                const char **problem)
{
    struct stat info;
    *problem = NULL;
    if (stat(path, &info) != 0)
        *problem = strerror(errno);
    else if (!S_ISREG(info.st_mode))
        *problem = "it is not a file";
    else if (info.st_size > SOURCE_MAX_BYTES)
        *problem = "it is larger than 64 MiB";
    if (*problem)
        return NULL;
    /* Allocate first: an allocation may jump to the escape, so no file may be open yet. */
    const char *slash = strrchr(path, '/');
    const char *folder = kernel_arena_text(s->arena, path, slash ? (size_t)(slash + 1 - path) : 0);
    char *text = kernel_arena_get(s->arena, (size_t)info.st_size + 1);
    FILE *stream = fopen(path, "rbe");
    if (!stream) {
        *problem = strerror(errno);
        return NULL;
    }
    const size_t bytes = fread(text, 1, (size_t)info.st_size, stream);
    const bool broken = ferror(stream);
    fclose(stream);
    if (broken) {
        *problem = "it cannot be read";
        return NULL;
    }
    text[bytes] = '\0';
    return adopt(s, path, folder, text, bytes, included);
}

/* The index of the last item of a sorted list of n whose 32-bit key, its first member, is not above value.
 * The first item's key must not be above value. */
static uint32_t last_not_above(const void *list, uint32_t n, size_t size, uint32_t value)
{
    uint32_t low = 0, high = n;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        uint32_t key;
        memcpy(&key, (const char *)list + middle * size, sizeof key);
        if (key <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const kernel_file *kernel_source_file(const kernel_source *s, kernel_place at)
{
    if (at == 0 || at >= s->next)
        return NULL;
    uint32_t low = 0, high = s->n_files;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->files[middle]->first <= at)
            low = middle;
        else
            high = middle;
    }
    return s->files[low];
}

const kernel_expansion *kernel_source_expansion(const kernel_source *s, kernel_place at)
{
    if (at < PLACE_EXPANDED || at >= s->next_expanded)
        return NULL;
    return &s->expansions[last_not_above(s->expansions, s->n_expansions, sizeof *s->expansions,
                                         at)];
}

kernel_place kernel_source_expand(kernel_source *s, const struct kernel_name *macro,
                                  const struct kernel_token *body, uint32_t n, kernel_place used)
{
    if (n >= UINT32_MAX - s->next_expanded)
        kernel_arena_fail(s->arena, "its macros expand to more than 2**31 tokens");
    const kernel_place first = s->next_expanded;
    ARENA_ADD(s->arena, s->expansions, s->n_expansions, s->expansions_room,
              (kernel_expansion){.first = first, .used = used, .body = body, .macro = macro});
    s->next_expanded += n;
    return first;
}

kernel_place kernel_source_used(const kernel_source *s, kernel_place at)
{
    while (at >= PLACE_EXPANDED) {
        const kernel_expansion *expansion = kernel_source_expansion(s, at);
        at = expansion ? expansion->used : 0;
    }
    return at;
}

kernel_place kernel_source_spelled(const kernel_source *s, kernel_place at)
{
    const kernel_expansion *expansion = kernel_source_expansion(s, at);
    return expansion ? expansion->body[at - expansion->first].place : at;
}

bool kernel_source_where(const kernel_source *s, kernel_place at, kernel_where *where)
{
    at = kernel_source_used(s, at);
    const kernel_file *file = kernel_source_file(s, at);
    if (!file)
        return false;
    const uint32_t offset = at - file->first;
    const uint32_t line = last_not_above(file->lines, file->n_lines, sizeof *file->lines, offset);
    *where = (kernel_where){.file = file,
                            .name = file->name,
                            .line = (int64_t)line + 1,
                            .column = offset - file->lines[line] + 1,
                            .physical_line = line + 1};
    if (file->n_marks && file->marks[0].offset <= offset) {
        const kernel_line_mark *mark =
            &file->marks[last_not_above(file->marks, file->n_marks, sizeof *file->marks, offset)];
        where->line += mark->shift;
        where->name = mark->name;
    }
    return true;
}
