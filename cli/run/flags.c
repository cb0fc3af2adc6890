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
               {"--extended-lambda", false},
               {"--expt-extended-lambda", false},
               {"--expt-relaxed-constexpr", false},
               {"-extended-lambda", false},
               {"-expt-extended-lambda", false},
               {"-expt-relaxed-constexpr", false}};

/* Options of nvcc for device code, which NVRTC has too. On other devices they are ignored. */
static const char *const for_device[] = {"-G",
                                         "-device-debug",
                                         "--device-debug",
                                         "-fmad",
                                         "--fmad",
                                         "-ftz",
                                         "--ftz",
                                         "-lineinfo",
                                         "--generate-line-info",
                                         "-maxrregcount",
                                         "--maxrregcount",
                                         "-prec-div",
                                         "--prec-div",
                                         "-prec-sqrt",
                                         "--prec-sqrt",
                                         "-use_fast_math",
                                         "--use_fast_math"};

static bool is_for_device(const char *word)
{
    const size_t n = strcspn(word, "=");
    for (size_t i = 0; i < sizeof for_device / sizeof *for_device; i++)
        if (strlen(for_device[i]) == n && strncmp(for_device[i], word, n) == 0)
            return true;
    return false;
}

/* The number of words of an ignored option at argv[0]; 0 if it is not ignored. */
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

/* Our headers need C++17, which an older standard therefore means, as with ingot nvcc. */
static const char *standard(const char *word)
{
    static const char *const old[] = {"c++98", "c++03", "c++11", "c++14"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(word + strlen(word) - strlen(old[i]), old[i]) == 0)
            return "-std=gnu++17";
    return word;
}

static void add(words *flags, const char *word)
{
    const char *plain = strncmp(word, "--std=", 6) == 0 ? word + 1 : word;
    flags->v = heap_resize(flags->v, sizeof *flags->v * (size_t)(flags->n + 1));
    flags->v[flags->n++] = strncmp(plain, "-std=", 5) == 0 ? standard(plain) : plain;
}

/* Adds "-fopenmp,-O2", the value of -Xcompiler. */
static void add_list(words *flags, char *list)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        add(flags, word);
}

/* "-std=c++20" for NVRTC, which has no GNU dialects and needs at least C++17. */
static void add_standard(words *device, const char *word)
{
    static const char *const known[] = {"-std=c++17", "-std=c++20", "-std=c++23"};
    const size_t n = strlen(word);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n > 2 && strcmp(word + n - 2, known[i] + strlen(known[i]) - 2) == 0)
            add(device, known[i]);
}

void run_take_flags(const command *c, int *argc, char **argv, words *flags, words *device)
{
    int kept = 0, i = 0;
    while (i < *argc && strcmp(argv[i], "--") != 0) {
        const size_t n = strcspn(argv[i], "=");
        const bool list = strncmp(argv[i], "-Xcompiler", n) == 0 && n == strlen("-Xcompiler");
        const int nothing = ignored_words(*argc - i, argv + i);
        if (list && (argv[i][n] || i + 1 < *argc)) {
            add_list(flags, argv[i][n] ? argv[i] + n + 1 : argv[i + 1]);
            i += argv[i][n] ? 1 : 2;
        } else if (option_takes_next(c, argv[i]) && i + 1 < *argc) {
            argv[kept++] = argv[i++]; /* its value may look like an option of nvcc: -X -fopenmp */
            argv[kept++] = argv[i++];
        } else if (nothing) {
            i += nothing;
        } else if (is_for_device(argv[i])) {
            add(device, argv[i++]);
        } else {
            if (strstr(argv[i], "-std="))
                add_standard(device, argv[i]);
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
