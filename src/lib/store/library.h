/* Libraries that are found at run time. */
#ifndef STORE_LIBRARY_H
#define STORE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct library_function {
    const char *name;
    void *place; /* a pointer to the function pointer */
} library_function;

/* Opens the first of the files (up to NULL) that the system has, and finds all functions in it. False if there is no
 * file or if it lacks a function. It stays open. */
bool store_library_find(const char *const *files, const library_function *functions, size_t n);

/* A library that is looked for when it is first needed. */
typedef struct store_library {
    const char *const *files;
    const library_function *functions;
    size_t n; /* of functions */
    bool looked, found;
} store_library;
/* store_library_find, once for each library. Any thread may call it. */
bool store_library_has(store_library *l);

#endif
