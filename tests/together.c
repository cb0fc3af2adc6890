/* One program of many tests: it runs the test whose name it is called by. `make TOGETHER=1` lists the tests, and renames their mains. */
#include <stdio.h>
#include <string.h>

#define JOINED(test) int main_of_##test(int argc, char **argv);
#include "together.inc"
#undef JOINED

static const struct joined {
    const char *name;
    int (*run)(int argc, char **argv);
} tests[] = {
#define JOINED(test) {#test, main_of_##test},
#include "together.inc"
#undef JOINED
};

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strcmp(name, tests[i].name) == 0)
            return tests[i].run(argc, argv);
    fprintf(stderr, "%s: no test has the name '%s'\n", argv[0], name);
    return 127;
}
