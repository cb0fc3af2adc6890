/* Libraries that are found at run time. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>

typedef struct library_function {
    const char *name;
    void *place; /* a pointer to the function pointer */
} library_function;

/* A library that is looked for when it is first needed, and stays open. */
typedef struct library_file {
    const char *const *files;          /* the first of these that the system has; up to NULL */
    const library_function *functions; /* all must be in it; up to a name that is NULL */
    bool (*begin)(void);               /* called once it is found; false: it is of no use */
    bool looked, found;
} library_file;

/* True if it is there. Any thread may call it. On macOS it is also looked for where Homebrew installs. */
bool library_there(library_file *l);

#endif
