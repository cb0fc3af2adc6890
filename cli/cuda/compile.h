/* The host's C++ compiler: where it is, and the commands that make a program of the rewritten files. */
#ifndef CLI_CUDA_COMPILE_H
#define CLI_CUDA_COMPILE_H

#include "cuda/program.h"
#include "cuda/rewrite.h"

/* A growing list of words for a child process; ends with NULL. */
typedef struct word_list {
    char **at;
    int n;
} word_list;

void word_add(word_list *w, const char *format, const char *text);
void word_list_free(word_list *w);

typedef struct compiler {
    word_list words; /* CXX may have several: "ccache g++ -march=native"; the first is a path */
    str library;     /* the path of libingot */
} compiler;

/* Finds the compiler and the library; says what is missing and returns the exit code, or -1. */
int compiler_find(const command *c, compiler *out);
void compiler_free(compiler *tools);

/* Makes folder/program of the rewritten files, which are in the folder, as our headers are. Returns -1, or
 * the exit code after saying what failed, or COMPILE_AGAIN. */
enum {
    COMPILE_AGAIN = -2
}; /* the host does not understand the checks of struct layouts: leave them out */
int compile_program(const command *c, const program_options *o, const compiler *tools,
                    const rewrite_job *text, const char *folder);

#endif
