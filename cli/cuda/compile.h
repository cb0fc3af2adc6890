/* The host's C++ compiler: finding it, and the commands that build a program from the rewritten files. */
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
/* Adds words; the list ends with NULL. */
void words_add(word_list *w, char *const *words);
void word_list_free(word_list *w);

typedef struct compiler {
    word_list words; /* CXX may have several: "ccache g++ -march=native"; the first is a path */
    str library;     /* the path of libingot */
} compiler;

/* The value of CC or CXX; NULL if it is not set or names nvcc, as under `make CC=nvcc`: `ingot nvcc` would call itself. */
const char *compiler_setting(const char *name);
/* Finds the compiler and the library. Returns -1, or the exit code after reporting what is missing. */
int compiler_find(const command *c, compiler *out);
/* The same for the C++ compiler that `chosen` names: "ccache g++"; `setting` is where the name is from. NULL: any. */
int compiler_find_chosen(const command *c, const char *chosen, const char *setting, compiler *out);
/* Splits the command of a compiler at blanks; its first word becomes a path. False if there is no such program. */
bool compiler_words(const char *chosen, word_list *words);
void compiler_free(compiler *tools);

/* Builds folder/program from the rewritten files and our headers, which are in the folder. Returns -1, or the
 * exit code after reporting a failure, or COMPILE_AGAIN. */
enum {
    COMPILE_AGAIN = -2
}; /* the host compiler rejects the struct layout checks: leave them out */
int compile_program(const command *c, const program_options *o, const compiler *tools,
                    const rewrite_job *text, const char *folder);
/* Compiles one of the rewritten files in the folder to an object file, in the same way, or with `action` -E to
 * preprocessed C++. */
int compile_object(const command *c, const program_options *o, const compiler *tools,
                   const rewrite_job *text, const char *folder, const rewritten *file,
                   const char *action, const char *object);

/* Adds the libraries of a program to a command that links it. */
void compile_add_libraries(const compiler *tools, word_list *w);
/* False for a folder of -I with CUDA's own headers, which Ingot's replace. */
bool compile_takes_folder(const char *folder);

#endif
