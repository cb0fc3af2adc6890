/* Runs a CUDA program as `ingot run` does: program_tool FOLDER-OF-LIBINGOT [-Idir] [-Dname] SOURCE... [--
 * ARGUMENT...] */
#include "cli/program.h"

#include <string.h>

enum { MOST = 64 };

int main(int argc, char **argv)
{
    static const option none[] = {{0}};
    const command c = {"run", "", "", none};
    const char *sources[MOST] = {0}, *folders[MOST] = {0}, *defines[MOST] = {0},
               *libraries[MOST] = {0};
    int n[3] = {0}, i = 2;
    if (argc < 3 || argc > MOST)
        return EXIT_USAGE;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "-I", 2) == 0)
            folders[n[0]++] = argv[i] + 2;
        else if (strncmp(argv[i], "-D", 2) == 0)
            defines[n[1]++] = argv[i] + 2;
        else
            sources[n[2]++] = argv[i];
    }
    return run_program(&c, &(program_options){.sources = sources,
                                              .folders = folders,
                                              .defines = defines,
                                              .libraries = libraries,
                                              .args = argv + i + (i < argc),
                                              .library = argv[1]});
}
