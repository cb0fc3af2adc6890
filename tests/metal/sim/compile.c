/* Shading language to machine code. msl.py translates a source and compiles it with clang; what it makes is kept in
 * the folder METALSIM_CACHE under a hash of the source:
 *
 *   HASH.metal     the source
 *   HASH.kernels   a line for each kernel: name, library, symbol, and "kind index bytes" of each parameter
 *
 * METALSIM_COMPILER=foreign.py is for kernels that others wrote. With METALSIM_RECORD the sources are only written, and kernels compute nothing. `msl.py --all` then compiles them
 * together, which is many times faster than one by one. */
#define _GNU_SOURCE
#include "sim.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNELS_MOST = 64, PARAMETERS_MOST = 64, PATH_BYTES = 700, LINE_BYTES = 4096 };

static uint64_t hash(const char *s, uint64_t seed)
{
    uint64_t h = 14695981039346656037u ^ seed;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

static const char *folder(void)
{
    const char *given = getenv("METALSIM_CACHE");
    const char *f = given && *given ? given : "/tmp/metalsim";
    mkdir(f, 0777);
    return f;
}

/* msl.py is beside this library, or where METALSIM_HOME says. */
static void tool_path(char *out, size_t room)
{
    const char *home = getenv("METALSIM_HOME");
    Dl_info me;
    if (home && *home)
        snprintf(out, room, "%s", home);
    else if (dladdr((void *)(uintptr_t)sim_compile, &me) && me.dli_fname) {
        snprintf(out, room, "%s", me.dli_fname);
        char *slash = strrchr(out, '/');
        if (slash)
            *slash = '\0';
    }
}

/* Written under another name first, since several processes share the folder. */
static void write_source(const char *path, const char *source)
{
    char part[PATH_BYTES + 32];
    if (access(path, F_OK) == 0)
        return;
    snprintf(part, sizeof part, "%s.%d", path, (int)getpid());
    FILE *f = fopen(part, "w");
    REQUIRE(f && fputs(source, f) >= 0 && fclose(f) == 0 && rename(part, path) == 0, "cannot write %s", path);
}

/* "name library symbol kind index bytes ..." */
static bool read_kernel(const char *where, char *line, sim_kernel *k)
{
    char path[PATH_BYTES], *at = NULL;
    const char *name = strtok_r(line, " \n", &at), *library = strtok_r(NULL, " \n", &at),
               *symbol = strtok_r(NULL, " \n", &at), *kind;
    if (!name || !library || !symbol)
        return false;
    sim_parameter *p = calloc(PARAMETERS_MOST, sizeof *p);
    snprintf(path, sizeof path, "%s/%s", where, library);
    void *code = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(p && code, "cannot load %s: %s", path, dlerror());
    *k = (sim_kernel){.name = strdup(name), .parameter = p};
    void *enter = dlsym(code, symbol);
    memcpy(&k->enter, &enter, sizeof enter);
    REQUIRE(enter, "%s has no %s", path, symbol);
    snprintf(path, sizeof path, "%s_bytes", symbol);
    const uint64_t *bytes = dlsym(code, path);
    snprintf(path, sizeof path, "%s_memory", symbol);
    const uint64_t *memory = dlsym(code, path);
    REQUIRE(bytes && memory, "the library of %s lacks the sizes of its memory", symbol);
    k->shared_bytes = memory[0];
    k->private_bytes = memory[1];
    while ((kind = strtok_r(NULL, " \n", &at))) {
        const char *index = strtok_r(NULL, " \n", &at);
        REQUIRE(index && k->n_parameter < PARAMETERS_MOST, "a damaged file of kernels");
        p[k->n_parameter] = (sim_parameter){*kind, atoi(index), bytes[k->n_parameter]};
        k->n_parameter++;
    }
    return true;
}

static sim_kernel *read_kernels(const char *where, const char *path)
{
    char line[LINE_BYTES];
    int n = 0;
    FILE *f = fopen(path, "r");
    sim_kernel *all = f ? calloc(KERNELS_MOST + 1, sizeof *all) : NULL;
    while (all && n < KERNELS_MOST && fgets(line, sizeof line, f))
        n += read_kernel(where, line, &all[n]);
    if (f)
        fclose(f);
    return all;
}

/* Libraries that this process has, so that a second build of one source costs nothing. */
static struct kept {
    struct kept *next;
    uint64_t hash[2];
    const sim_kernel *kernels;
} *kept;

static const sim_kernel *keep(uint64_t a, uint64_t b, const sim_kernel *kernels)
{
    struct kept *k = malloc(sizeof *k);
    REQUIRE(k, "the simulator has no memory");
    *k = (struct kept){kept, {a, b}, kernels};
    kept = k;
    return kernels;
}

/* Kernels call functions of this library, which the program may have loaded without making its names known. */
__attribute__((constructor(105))) static void begin(void)
{
    Dl_info me;
    if (dladdr((void *)(uintptr_t)sim_compile, &me) && me.dli_fname)
        dlopen(me.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

const sim_kernel *sim_compile(const char *source, char *log, size_t room)
{
    static const sim_kernel anything[] = {{.name = "*"}, {0}};
    const uint64_t a = hash(source, 0), b = hash(source, 0x9e3779b97f4a7c15u);
    const char *where = folder();
    char name[64], path[PATH_BYTES], tool[400] = ".", command[2 * PATH_BYTES];
    snprintf(name, sizeof name, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
    for (const struct kept *k = kept; k; k = k->next)
        if (k->hash[0] == a && k->hash[1] == b)
            return k->kernels;
    snprintf(path, sizeof path, "%s/%s.metal", where, name);
    write_source(path, source);
    if (sim_setting(SIM_RECORD))
        return anything;
    snprintf(path, sizeof path, "%s/%s.kernels", where, name);
    sim_kernel *found = read_kernels(where, path);
    if (found)
        return keep(a, b, found);
    tool_path(tool, sizeof tool);
    const char *compiler = getenv("METALSIM_COMPILER");
    snprintf(command, sizeof command, "python3 -S '%s/%s' --cache '%s' %s 2>&1", tool, compiler && *compiler ? compiler : "msl.py", where,
             name);
    FILE *p = popen(command, "r");
    REQUIRE(p, "cannot start %s", command);
    const size_t n = fread(log, 1, room - 1, p);
    log[n] = '\0';
    if (pclose(p) != 0)
        return NULL;
    found = read_kernels(where, path);
    REQUIRE(found, "%s was not made: %s", path, log);
    return keep(a, b, found);
}
