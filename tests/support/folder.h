/* For tests of files: a folder for each test, and a scope. folder_entries shows files that remain by mistake. */
#ifndef SUPPORT_FOLDER_H
#define SUPPORT_FOLDER_H

#include "support/unit.h"

enum { FOLDER_FILE_MAX = 1 << 20 };

/* What folder_get read last. */
extern unsigned char folder_content[FOLDER_FILE_MAX];

/* Setup and teardown of a test. */
int folder_begin(void **state);
int folder_end(void **state);

/* The folder's own path. */
const char *folder_itself(void);
/* A path in the folder; the last four stay valid. */
const char *folder_path(const char *name);
int folder_entries(void);

/* Writes and reads a whole file; by its path. */
void folder_put(const char *path, const void *data, size_t bytes);
size_t folder_get(const char *path);

/* Feeds a pipe in odd pieces, so that reads come short; the pipe's end comes after bytes. The path of its
 * other end, which folder_feed_end closes. One at a time; data stays the caller's. */
const char *folder_feed(const unsigned char *data, size_t bytes);
void folder_feed_end(void);

/* x is exactly this. */
void assert_array(ig_array *x, ig_dtype dtype, ig_ints shape, const void *data);

#endif
