/* For tests of code that reads system files: a simulated tree, whose root is prepended to every path. */
#ifndef SUPPORT_TREE_H
#define SUPPORT_TREE_H

#include <stddef.h>

/* Setup and teardown of a test. */
int tree_begin(void **state);
int tree_end(void **state);

const char *tree_root(void);

/* Writes a file under the root, with the folders that it needs. */
void tree_put(const char *path, const char *text);
void tree_put_bytes(const char *path, const char *bytes, size_t size);

#endif
