/* kernel_tool FILE.cu [--host] [-D NAME] [-I DIR] [KERNEL...]: prints the checked tree of a source as text, and
 * diagnostics on stderr. --time N: parses N times and prints the time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "compiler/tree.h"
#include "support/kernel_dump.h"

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *data = NULL;
    size_t used = 0, room = 0;
    do {
        room = room ? 2 * room : 1 << 16;
        data = realloc(data, room + 1);
        used += fread(data + used, 1, room - used, f);
    } while (used == room);
    data[used] = 0;
    fclose(f);
    return data;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void time_it(const char *path, const char *source, const kernel_parse_options *options,
                    int n)
{
    const double from = now();
    for (int i = 0; i < n; i++) {
        kernel_tree *tree;
        kernel_parse(path, source, options, &tree, NULL);
        kernel_tree_free(tree);
    }
    const double each = (now() - from) / n;
    printf("%.3f ms, %.1f MB/s\n", 1e3 * each, 1e-6 * (double)strlen(source) / each);
}

int main(int argc, char **argv)
{
    const char *path = NULL, *instances[64], *defines[64], *folders[64];
    kernel_parse_options options = {.instances = instances};
    int repeat = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--host"))
            options.skip_host = true;
        else if (!strcmp(argv[i], "--time") && i + 1 < argc)
            repeat = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-D") && i + 1 < argc && options.preprocess.n_defines < 64)
            defines[options.preprocess.n_defines++] = argv[++i];
        else if (!strcmp(argv[i], "-I") && i + 1 < argc && options.preprocess.n_folders < 64)
            folders[options.preprocess.n_folders++] = argv[++i];
        else if (!path)
            path = argv[i];
        else if (options.n_instances < 64)
            instances[options.n_instances++] = argv[i];
    }
    char folder[4096] = ".";
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (slash && options.preprocess.n_folders < 64) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        folders[options.preprocess.n_folders++] = folder;
    }
    options.preprocess.defines = defines;
    options.preprocess.folders = folders;
    char *source = path ? read_all(path) : NULL;
    if (!source) {
        fprintf(stderr, "usage: kernel_tool FILE.cu [--host] [--time N] [KERNEL...]\n");
        return 2;
    }
    if (repeat) {
        time_it(path, source, &options, repeat);
        free(source);
        return 0;
    }
    kernel_tree *tree;
    char *said;
    const ig_status status = kernel_parse(path, source, &options, &tree, &said);
    if (said)
        fputs(said, stderr);
    memory_free(said);
    if (tree) {
        text out = {0};
        kernel_dump(tree, &out);
        char *dump = text_take(&out);
        fputs(dump ? dump : "", stdout);
        memory_free(dump);
    }
    kernel_tree_free(tree);
    free(source);
    return status == IG_OK ? 0 : 5;
}
