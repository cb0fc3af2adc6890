/* The team: finds the module, and gives its functions the form of this library. See team.h. */
#define _GNU_SOURCE /* dladdr */
#include "base/team.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#define ENDING ".dylib"
#else
#define ENDING ".so"
#endif

/* The module, and one for MPICH where the first is for another MPI. */
static const char usual[] = "libingot-mpi" ENDING, for_mpich[] = "libingot-mpich" ENDING;

static struct {
    const team_module *module; /* NULL: no team */
    int rank, size, local;
    bool alone;  /* evaluations are not shared */
    bool failed; /* a rank has failed, and all know it */
} team;

/* ---- begin ---- */

/* The number of processes that mpirun has started, as it says; 0: no mpirun; -1: only MPI knows it. */
static int started(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
    const char *wish = getenv("IG_MPI");
    if (wish && strcmp(wish, "off") == 0)
        return 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *n = getenv(sizes[i]);
        if (n && *n)
            return atoi(n);
    }
    return getenv("PMIX_RANK") ? -1 : 0;
}

bool team_is_started(void) { return started() != 0; }

static void *open_beside(const char *file, const char *folder, const char *name)
{
    char whole[PATH_MAX], path[PATH_MAX + 64];
    if (!realpath(file, whole) || !strrchr(whole, '/'))
        return NULL;
    *strrchr(whole, '/') = 0;
    snprintf(path, sizeof path, "%s/%s%s", whole, folder, name);
    return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

/* The module: next to this library or the program, in the program's ../lib, or where the system keeps libraries. The plugins
 * of some versions of MPI need its names to be global. */
static void *open_named(const char *name)
{
    Dl_info about;
    void *at = NULL;
    if (dladdr((const void *)(uintptr_t)open_named, &about) && about.dli_fname)
        at = open_beside(about.dli_fname, "", name);
    if (!at)
        at = open_beside("/proc/self/exe", "", name);
    if (!at)
        at = open_beside("/proc/self/exe", "../lib/", name);
    return at ? at : dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

/* The module that IG_MPI names, or the module for the mpirun that has started this process. */
static void *open_module(const char *wish)
{
    if (wish && *wish)
        return dlopen(wish, RTLD_NOW | RTLD_GLOBAL);
    void *at = getenv("PMI_SIZE") && !getenv("OMPI_COMM_WORLD_SIZE") ? open_named(for_mpich) : NULL;
    return at ? at : open_named(usual);
}

static ig_status load_module(const char *wish, const team_module **out)
{
    void *at = open_module(wish), *symbol = at ? dlsym(at, TEAM_MODULE_SYMBOL) : NULL;
    team_module_get get;
    if (!symbol) {
        const char *why = dlerror();
        FAIL(IG_ERR_UNSUPPORTED,
             "this process is one of several that mpirun started, but %s cannot be loaded (%s); "
             "build Ingot where mpicc is installed, set IG_MPI to the path of the module, or set "
             "IG_MPI=off for processes that work by themselves",
             usual, why ? why : "it was not found");
    }
    memcpy(&get, &symbol, sizeof get);
    *out = get();
    if (!*out || (*out)->version != TEAM_MODULE_VERSION)
        FAIL(IG_ERR_UNSUPPORTED, "%s is not of this version of Ingot; build both together", usual);
    return IG_OK;
}

/* Divides the processors and the memory of this machine by the ranks that use them, unless the user has chosen. */
static void share_machine(int sharing)
{
    const int threads = pool_threads();
    if (sharing > 1 && !getenv("IG_NUM_THREADS") && threads == machine_threads())
        pool_set_threads(threads > sharing ? threads / sharing : 1);
    const uint64_t all = (uint64_t)machine_get()->memory_limit_bytes;
    if (team.local > 1 && ig_memory_limit() == all)
        ig_set_memory_limit(all / (uint64_t)team.local);
}

ig_status ig_team_begin(void)
{
    const char *wish = getenv("IG_MPI");
    const team_module *m = NULL;
    int rank = 0, size = 1, local = 1, sharing = 1;
    const int n = started();
    if (team.module || n == 0 || n == 1)
        return IG_OK;
    TRY(load_module(wish, &m));
    if (!m->begin(&rank, &size, &local, &sharing))
        FAIL(IG_ERR_UNSUPPORTED, "MPI cannot begin: %s", m->why(&rank));
    if (size == 1 && n > 1) {
        m->end(true);
        FAIL(IG_ERR_UNSUPPORTED,
             "mpirun has started %d processes, but the module is for another MPI, which sees one; "
             "build Ingot with the mpicc of this mpirun (make MPICC=...), or use the other mpirun",
             n);
    }
    if (size < 2) {
        m->end(true);
        return IG_OK;
    }
    team.module = m;
    team.rank = rank;
    team.size = size;
    team.local = local > 0 ? local : 1;
    team.alone = team.failed = false;
    share_machine(sharing);
    return IG_OK;
}

int ig_team_rank(void) { return team.module ? team.rank : 0; }

int ig_team_size(void) { return team.module ? team.size : 1; }

void ig_team_share(bool share) { team.alone = !share; }

bool team_is_on(void) { return team.module != NULL; }

bool team_shares(void) { return team.module && !team.alone; }

/* ---- exchange ---- */

/* The status of a call of the module. */
static ig_status result(bool well)
{
    int rank = -1;
    if (well)
        return IG_OK;
    const char *why = team.module->why(&rank);
    team.failed = team.failed || rank >= 0;
    return rank >= 0 ? ig_fail(IG_ERR_INTERNAL, "rank %d failed: %s", rank, why)
                     : ig_fail(IG_ERR_INTERNAL, "MPI failed: %s", why);
}

ig_status team_broadcast(team_channel channel, int from, void *data, size_t bytes)
{
    return team.module && bytes ? result(team.module->broadcast(channel, from, data, bytes))
                                : IG_OK;
}

ig_status team_gather(team_channel channel, void *data, const uint64_t *at)
{
    return team.module && at[team.size] > at[0] ? result(team.module->gather(channel, data, at))
                                                : IG_OK;
}

ig_status team_exchange(team_channel channel, const team_move *moves, int n)
{
    return team.module && n > 0 ? result(team.module->exchange(channel, moves, n)) : IG_OK;
}

ig_status team_serve(team_find find)
{
    return team.module ? result(team.module->serve(find)) : IG_OK;
}

ig_status team_fetch(const team_ask *asks, int n)
{
    if (n > 0 && !team.module)
        FAIL(IG_ERR_ARGUMENT, "the team has ended, and other ranks had parts of this array");
    return n > 0 ? result(team.module->fetch(asks, n)) : IG_OK;
}

/* Gathers `bytes` bytes of each rank. The caller frees *all, size times `bytes`. */
static ig_status gather_each(team_channel channel, const void *own, size_t bytes, char **all)
{
    const size_t n = (size_t)team.size;
    uint64_t *at = memory_get((n + 1) * sizeof *at);
    *all = memory_get(n * bytes);
    ig_status status = at && *all ? IG_OK : IG_ERR_MEMORY;
    for (size_t i = 0; status == IG_OK && i <= n; i++)
        at[i] = i * bytes;
    if (status == IG_OK) {
        memcpy(*all + (size_t)team.rank * bytes, own, bytes);
        status = team_gather(channel, *all, at);
    }
    memory_free(at);
    return status;
}

ig_status team_least(team_channel channel, uint64_t *value)
{
    char *all = NULL;
    if (!team.module)
        return IG_OK;
    const ig_status status = gather_each(channel, value, sizeof *value, &all);
    for (int i = 0; status == IG_OK && i < team.size; i++) {
        uint64_t one;
        memcpy(&one, all + (size_t)i * sizeof one, sizeof one);
        *value = one < *value ? one : *value;
    }
    memory_free(all);
    return status;
}

ig_status team_barrier(team_channel channel)
{
    uint64_t nothing = 0;
    return team_least(channel, &nothing);
}

ig_status team_agree(team_channel channel, const void *data, size_t bytes, const char *what)
{
    uint8_t digest[HASH_BYTES];
    char *all = NULL;
    hash h;
    if (!team.module)
        return IG_OK;
    hash_begin(&h);
    hash_add(&h, data, bytes);
    hash_end(&h, digest);
    ig_status status = gather_each(channel, digest, sizeof digest, &all);
    for (int i = 1; status == IG_OK && i < team.size; i++)
        if (memcmp(all, all + (size_t)i * sizeof digest, sizeof digest))
            status = ig_fail(IG_ERR_ARGUMENT,
                             "rank %d and rank 0 have different %s; start all ranks with the same "
                             "program, files and settings",
                             i, what);
    memory_free(all);
    return status;
}

/* ---- failure and end ---- */

void team_fail(const char *message)
{
    char text[TEAM_TEXT_BYTES];
    ig_status code;
    if (!team.module || team.failed)
        return;
    team.failed = true;
    const char *waiting = ig_failed() ? ig_error(&code) : NULL;
    snprintf(text, sizeof text, "%s", message ? message : waiting ? waiting : "unknown error");
    if (waiting) {
        char own[TEAM_TEXT_BYTES];
        snprintf(own, sizeof own, "%s", waiting);
        ig_fail(code, "%s", own);
    }
    team.module->fail(text);
}

ig_status ig_team_end(void)
{
    if (!team.module)
        return IG_OK;
    if (ig_failed())
        team_fail(NULL);
    const ig_status status = team.failed ? IG_OK : team_barrier(TEAM_MAIN);
    team.module->end(!team.failed && status == IG_OK);
    team.module = NULL;
    return status;
}
