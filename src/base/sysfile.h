/* Small system files (/proc, /sys), read as untrusted text.
 *
 * Lines are cut at a fixed length, numbers must be integers in range, and text that does not parse counts as
 * absent. `root` precedes every path: "" is the real machine, tests have their own tree. */
#ifndef BASE_SYSFILE_H
#define BASE_SYSFILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SYSFILE_LINE_SIZE = 4096, SYSFILE_PATH_SIZE = 4096 };

/* Reads a non-negative whole number; `end` may be NULL, and then nothing but blanks may follow. */
bool sysfile_number(const char *text, const char **end, int64_t *value);

/* Copies text with runs of blanks reduced to one blank, and without blanks at the ends. */
void sysfile_trim(char *out, size_t size, const char *text);

/* Joins root and path; false if they do not fit. */
bool sysfile_path(char *out, size_t size, const char *root, const char *path);

FILE *sysfile_open(const char *root, const char *path);
bool sysfile_exists(const char *root, const char *path);

/* The entries of a folder, one after another, except those that begin with a dot. At the end the result is NULL, and
 * the folder is closed. sysfile_folder may return NULL, which counts as an empty folder. */
DIR *sysfile_folder(const char *root, const char *path);
const char *sysfile_entry(DIR *folder);

/* Reads one line without its newline, and drops the characters that do not fit. False at the end of the file. */
bool sysfile_next(FILE *file, char *line, size_t size);

/* The first line of a file; a file that is one number; the number in its line "key value" or
 * "key: value unit". */
bool sysfile_line(const char *root, const char *path, char *line, size_t size);
bool sysfile_int(const char *root, const char *path, int64_t *value);
bool sysfile_keyed(const char *root, const char *path, const char *key, int64_t *value);

#endif
