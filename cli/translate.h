/* ingot translate --host. */
#ifndef CLI_TRANSLATE_H
#define CLI_TRANSLATE_H

#include <stdbool.h>

#include <ingot.h>

/* Prints a program that runs the kernel. made: its translation to CUDA C; path: the source's, for messages. False if
 * the library rejects it. */
bool translate_host(const char *path, const ig_translation *made, const char *device);

#endif
