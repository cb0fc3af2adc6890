/* For tests of files: a folder for each test, and a scope. folder_entries shows files that remain by mistake. */
#ifndef SUPPORT_FOLDER_H
#define SUPPORT_FOLDER_H

#include "support/unit.h"

enum { FOLDER_FILE_MAX = 1 << 20 };

/* The content that folder_get read last. */
extern unsigned char folder_content[FOLDER_FILE_MAX];

/* Setup and teardown of a test. */
int folder_begin(void **state);
int folder_end(void **state);

/* The path of the folder. */
const char *folder_itself(void);
/* A path in the folder; the last four results stay valid. */
const char *folder_path(const char *name);
int folder_entries(void);

/* Write and read a whole file by its path. */
void folder_put(const char *path, const void *data, size_t bytes);
size_t folder_get(const char *path);

/* Feeds a pipe in odd pieces, so that reads return short; the pipe ends after `bytes` bytes. Returns the path of its
 * other end, which folder_feed_end closes. One pipe at a time; data must stay valid. */
const char *folder_feed(const unsigned char *data, size_t bytes);
void folder_feed_end(void);

/* x has exactly this dtype, shape and data. */
void assert_array(ig_array *x, ig_dtype dtype, ig_ints shape, const void *data);

#endif
