/* Results that are too large for memory: a file in row-major order, which has no name and vanishes with the process. */
#include "engine/blocks/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/team.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

typedef struct spill {
    int file;
    char *path; /* while all ranks of a team write to it */
    int ndim;
    size_t bytes; /* of an element */
    int64_t stride[IG_MAX_NDIM];
} spill;

static void spill_close(void *context)
{
    spill *s = context;
    close(s->file);
    if (s->path && ig_team_rank() == 0)
        unlink(s->path);
    memory_free(s->path);
    memory_free(s);
}

/* Reads or writes n bytes at a place of the file. */
static ig_status transfer(const spill *s, char *data, size_t n, int64_t at, bool writes)
{
    while (n > 0) {
        const ssize_t done =
            writes ? pwrite(s->file, data, n, (off_t)at) : pread(s->file, data, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            FAIL(IG_ERR_FILE,
                 "blocks: the temporary file cannot be %s: %s; TMPDIR names its folder",
                 writes ? "written" : "read", done < 0 ? strerror(errno) : "it is too short");
        data += done;
        n -= (size_t)done;
        at += done;
    }
    return IG_OK;
}

/* The same for a box, whose elements are in order in data: run by run of elements that are contiguous in the file. */
static ig_status transfer_box(const spill *s, const int64_t *start, const int64_t *size, char *data,
                              bool writes)
{
    int inner = s->ndim; /* axes from here on are one run */
    int64_t length = 1, count = 1, index[IG_MAX_NDIM] = {0};
    while (inner > 0 && s->stride[inner - 1] == length)
        length *= size[--inner];
    for (int i = 0; i < inner; i++)
        count *= size[i];
    for (int64_t k = 0; k < count; k++) {
        int64_t at = 0;
        for (int i = 0; i < s->ndim; i++)
            at += (start[i] + index[i]) * s->stride[i];
        TRY(transfer(s, data + (size_t)(k * length) * s->bytes, (size_t)length * s->bytes,
                     at * (int64_t)s->bytes, writes));
        for (int i = inner - 1; i >= 0 && ++index[i] == size[i]; i--)
            index[i] = 0;
    }
    return IG_OK;
}

static ig_status spill_read(void *context, const int64_t *start, const int64_t *size, void *data)
{
    return transfer_box(context, start, size, data, false);
}

ig_status spill_write(const block_source *s, const box *b, const void *data)
{
    int64_t size[IG_MAX_NDIM];
    for (int i = 0; i < s->ndim; i++)
        size[i] = b->hi[i] - b->lo[i];
    return transfer_box(s->context, b->lo, size, (char *)(uintptr_t)data, true);
}

/* Makes a file; path gets its name. */
static ig_status make_file(int *file, char path[static PATH_BYTES])
{
    const char *folder = getenv("TMPDIR");
    const int n =
        snprintf(path, PATH_BYTES, "%s/ingot-XXXXXX", folder && *folder ? folder : "/var/tmp");
    if (n < 0 || n >= PATH_BYTES)
        FAIL(IG_ERR_FILE, "blocks: the path in TMPDIR is too long");
    *file = mkstemp(path);
    if (*file < 0)
        FAIL(IG_ERR_FILE,
             "blocks: a temporary file cannot be made in %s: %s; TMPDIR names another folder",
             folder && *folder ? folder : "/var/tmp", strerror(errno));
    fcntl(*file, F_SETFD, FD_CLOEXEC);
    return IG_OK;
}

static ig_status open_file(int *file)
{
    char path[PATH_BYTES];
    TRY(make_file(file, path));
    unlink(path);
    return IG_OK;
}

/* ---- a file of all ranks ---- */

/* Opens the file that rank 0 has made, in place of this rank's own. */
static ig_status open_again(spill *s)
{
    const int file = open(s->path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        FAIL(IG_ERR_FILE,
             "blocks: the temporary file %s of rank 0 cannot be opened: %s; set TMPDIR to a folder "
             "that all machines share",
             s->path, strerror(errno));
    close(s->file);
    s->file = file;
    return IG_OK;
}

/* Its first bytes are its name, until a tile is written: so a file of the same name on another machine is detected. */
ig_status ranks_file_begin(const block_source *source)
{
    spill *s = source->context;
    char path[PATH_BYTES] = {0}, found[PATH_BYTES] = {0};
    int file = -1;
    if (ig_team_rank() == 0) {
        TRY(make_file(&file, path));
        close(s->file);
        s->file = file;
    }
    memory_free(s->path);
    if (!(s->path = memory_new(PATH_BYTES)))
        return IG_ERR_MEMORY;
    memcpy(s->path, path, PATH_BYTES);
    if (ig_team_rank() == 0)
        TRY(transfer(s, path, PATH_BYTES, 0, true));
    if (ig_team_rank() == 0 && fsync(s->file) != 0)
        FAIL(IG_ERR_FILE, "blocks: the temporary file cannot be written: %s", strerror(errno));
    TRY(team_broadcast(TEAM_MAIN, 0, s->path, PATH_BYTES));
    TRY(open_again(s));
    TRY(transfer(s, found, PATH_BYTES, 0, false));
    if (memcmp(found, s->path, PATH_BYTES))
        FAIL(IG_ERR_FILE,
             "blocks: %s is not the file that rank 0 has made; set TMPDIR to a folder that all "
             "machines share",
             s->path);
    return team_barrier(TEAM_MAIN);
}

/* On a network file system, a file that is opened after another machine has closed it has that machine's writes. */
ig_status ranks_file_end(const block_source *source)
{
    spill *s = source->context;
    if (fsync(s->file) != 0)
        FAIL(IG_ERR_FILE, "blocks: the temporary file cannot be written: %s", strerror(errno));
    TRY(team_barrier(TEAM_MAIN));
    TRY(open_again(s));
    TRY(team_barrier(TEAM_MAIN));
    if (ig_team_rank() == 0)
        unlink(s->path);
    memory_free(s->path);
    s->path = NULL;
    return IG_OK;
}

block_source *spill_make(const ig_array *root)
{
    block_source *s = memory_new(sizeof *s);
    spill *own = memory_new(sizeof *own);
    if (!s || !own || open_file(&own->file) != IG_OK) {
        memory_free(s);
        memory_free(own);
        return NULL;
    }
    const view *v = &root->view;
    *s = (block_source){.refs = 1,
                        .dtype = (ig_dtype)root->dtype,
                        .ndim = v->ndim,
                        .read = spill_read,
                        .release = spill_close,
                        .context = own};
    own->ndim = v->ndim;
    own->bytes = ig_dtype_bytes(s->dtype);
    for (int i = 0; i < v->ndim; i++) {
        s->shape[i] = v->shape[i];
        s->chunk[i] = 1;
        own->stride[i] = v->stride[i];
    }
    return s;
}
