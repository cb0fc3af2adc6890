/* The parts of macho_run: load.c maps the program, libsystem.c is its C library, sha3.c has instructions that not all
 * processors have. */
#ifndef MACHO_H
#define MACHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void sha3_begin(void);
void libsystem_begin(const char *simulator, const char *program);
/* What a symbol of libSystem is here; NULL: nothing. */
void *libsystem_find(const char *symbol);

/* Descriptors of thread-local variables, and the bytes that they begin with: sections in order. */
void tlv_variables(void *descriptors, uint64_t bytes);
void tlv_template(const void *data, uint64_t bytes, bool has_content);

#endif
