/* Finds a library of CUDA where it is usually installed: the folders of a toolkit, and the packages that Python
 * frameworks install. */
#ifndef CUDA_FIND_H
#define CUDA_FIND_H

/* Opens the library at a path. *found receives the path, which stays valid. NULL if it does not load. */
void *find_open(const char *path, const char **found);

/* Opens a library by one of the names, which the system's loader searches for, or else a file that matches the
 * pattern in the usual folders; NULL if there is none. The list of names ends with NULL. */
void *find_library(const char *pattern, const char *const *names, const char **found);

#endif
