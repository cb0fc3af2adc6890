/* Compiler options among the words of `ingot run`, so that a command line for nvcc or g++ works unchanged. */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* Options of nvcc that concern NVIDIA's hardware, or that are always on here. */
static const struct {
    const char *word;
    bool takes_next; /* its value may be the next word */
} ignored[] = {{"-arch", true},
               {"--gpu-architecture", true},
               {"-gencode", true},
               {"--generate-code", true},
               {"-code", true},
               {"-rdc", false},
               {"--relocatable-device-code", false},
               {"-dc", false},
               {"-lineinfo", false},
               {"--generate-line-info", false},
               {"-G", false},
               {"--extended-lambda", false},
               {"--expt-extended-lambda", false},
               {"--expt-relaxed-constexpr", false},
               {"-extended-lambda", false},
               {"-expt-extended-lambda", false},
               {"-expt-relaxed-constexpr", false},
               {"-use_fast_math", false},
               {"--use_fast_math", false}};

/* The number of words of an ignored option at argv[0]; 0: it is not ignored. */
static int ignored_words(int argc, char **argv)
{
    const size_t n = strcspn(argv[0], "=");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strlen(ignored[i].word) == n && strncmp(ignored[i].word, argv[0], n) == 0)
            return 1 + (ignored[i].takes_next && !argv[0][n] && argc > 1);
    return 0;
}

/* True if the word is an option for the C++ compiler: -fopenmp, -O3, -std=c++20. */
static bool is_for_compiler(const char *word)
{
    static const char *const whole[] = {"-O",  "-O0", "-O1",    "-O2",     "-O3",
                                        "-Os", "-Og", "-Ofast", "-pthread"};
    static const char *const begins[] = {"-f", "-m", "-W", "-std=", "--std=", "-L"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(word, whole[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(word, begins[i], strlen(begins[i])) == 0 && word[strlen(begins[i])])
            return true;
    return false;
}

static void add(words *flags, char *word)
{
    flags->v = heap_resize(flags->v, sizeof *flags->v * (size_t)(flags->n + 1));
    flags->v[flags->n++] = strncmp(word, "--std=", 6) == 0 ? word + 1 : word;
}

/* Adds "-fopenmp,-O2", the value of -Xcompiler. */
static void add_list(words *flags, char *list)
{
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ","))
        add(flags, word);
}

void run_take_flags(int *argc, char **argv, words *flags)
{
    int kept = 0, i = 0;
    while (i < *argc && strcmp(argv[i], "--") != 0) {
        const size_t n = strcspn(argv[i], "=");
        const bool list = strncmp(argv[i], "-Xcompiler", n) == 0 && n == strlen("-Xcompiler");
        const int nothing = ignored_words(*argc - i, argv + i);
        if (list && (argv[i][n] || i + 1 < *argc)) {
            add_list(flags, argv[i][n] ? argv[i] + n + 1 : argv[i + 1]);
            i += argv[i][n] ? 1 : 2;
        } else if (nothing) {
            i += nothing;
        } else {
            if (is_for_compiler(argv[i]))
                add(flags, argv[i]);
            else
                argv[kept++] = argv[i];
            i++;
        }
    }
    while (i < *argc)
        argv[kept++] = argv[i++];
    *argc = kept;
}
