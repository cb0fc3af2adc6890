/* Writes files atomically, with the library's writers. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM_BYTES = 1 << 20 };

bool write_file(const char *path, const str *t, str *why)
{
    const ig_status status = ig_write_file(path, t->s, t->n);
    if (status != IG_OK)
        str_puts(why, ig_error(NULL));
    return status == IG_OK;
}

/* Creates and removes a file of some size next to path; returns 0 or errno. */
static int try_beside(const char *path)
{
    str temporary = {0};
    str_printf(&temporary, "%s.XXXXXX", path);
    int file = mkstemp(temporary.s), problem = file < 0 ? errno : 0;
    if (file >= 0) {
        unlink(temporary.s); /* at once, so that a signal leaves no file */
#if !defined(__APPLE__)
        problem = posix_fallocate(file, 0, ROOM_BYTES);
        problem = problem == ENOSPC || problem == EDQUOT ? problem : 0; /* others: not supported */
#endif
        close(file);
    }
    str_free(&temporary);
    return problem;
}

int write_check(const command *c, const char *name, const char *path)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;
    int problem = 0;
    if (exists && S_ISDIR(old.st_mode))
        problem = EISDIR;
    else if (exists && access(path, W_OK) != 0)
        problem = errno;
    else if (!exists || S_ISREG(old.st_mode))
        problem = try_beside(path);
    if (problem)
        say(c, "%s %s: it cannot be written: %s", name, path, strerror(problem));
    return problem ? EXIT_INPUT : -1;
}

int arrays_save(const command *c, const char *path, const char *const *names,
                ig_array *const *arrays, int n)
{
    ig_status status = IG_OK;
    const bool npz = str_ends(path, ".npz");
    for (int i = 0; i < n; i++)
        if (!arrays[i])
            return fail_library(c);
    if (npz || str_ends(path, ".safetensors")) {
        ig_tensors *set = ig_tensors_new();
        status = set ? IG_OK : IG_ERR_MEMORY;
        for (int i = 0; i < n && status == IG_OK; i++)
            status = ig_tensors_put(set, names[i], arrays[i]);
        if (status == IG_OK)
            status = npz ? ig_tensors_save_npz(set, path) : ig_tensors_save(set, path);
        ig_tensors_free(set);
    } else {
        status = ig_save(path, arrays[0]);
    }
    return status == IG_OK ? EXIT_FINE : fail_library(c);
}
