/* See capture.h. */
#include "support/capture.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MOST = 32 };

/* The whole content of the file, terminated. */
static char *read_all(FILE *file)
{
    const long size = (fseek(file, 0, SEEK_END), ftell(file));
    char *all = calloc((size_t)size + 1, 1);
    assert(all);
    rewind(file);
    const size_t n = fread(all, 1, (size_t)size, file);
    assert(n == (size_t)size);
    (void)n;
    return all;
}

int capture_verb(int (*verb)(int argc, char **argv), const char *line, char **said)
{
    char *words = strdup(line), *argv[WORDS_MOST], *next = words;
    int argc = 0, kept[2];
    FILE *file = tmpfile();
    assert(words && file);
    for (char *word; (word = strsep(&next, " "));) {
        assert(argc < WORDS_MOST);
        argv[argc++] = word;
    }
    fflush(NULL);
    for (int fd = 1; fd <= 2; fd++) {
        kept[fd - 1] = dup(fd);
        dup2(fileno(file), fd);
    }
    const int code = verb(argc, argv);
    fflush(NULL);
    for (int fd = 1; fd <= 2; fd++) {
        dup2(kept[fd - 1], fd);
        close(kept[fd - 1]);
    }
    *said = read_all(file);
    fclose(file);
    free(words);
    return code;
}
