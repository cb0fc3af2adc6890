/* Finding a library of CUDA wherever it is installed: the places of a toolkit, and the packages that Python
 * frameworks bring. */
#ifndef CUDA_FIND_H
#define CUDA_FIND_H

/* The library at a path. *found receives the path; it stays valid. NULL if it does not load. */
void *find_open(const char *path, const char **found);

/* The library with one of the names, which the loader searches for first, or whose file name matches the
 * pattern in one of the places; NULL if there is none. The list of names ends with NULL. */
void *find_library(const char *pattern, const char *const *names, const char **found);

#endif
