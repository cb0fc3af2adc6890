#include "lib/onnx/files.h"

#include "base/error.h"
#include "base/mapping.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t page_round(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* Maps an open file; false without an error if it cannot be mapped. The rest of the last page may be read. */
static bool file_fill(onnx_file *f, int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    f->bytes = (size_t)info.st_size;
    if (f->bytes == 0)
        return true;
    void *at = mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return false;
    f->at = at;
    f->room = page_round(f->bytes);
    f->mapped = true;
    mapping_note(at, f->bytes, fd);
    return true;
}

onnx_file *onnx_file_map(const char *path)
{
    char shown[IO_SHOWN_BYTES];
    io_show(path, shown);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        FAIL_NULL(IG_ERR_FILE, "load '%s': it cannot be opened: %s", shown, strerror(errno));
    onnx_file *f = memory_new(sizeof *f);
    if (f && !file_fill(f, fd)) {
        ig_fail(IG_ERR_FILE, "load '%s': it cannot be mapped; it must be a plain file", shown);
        memory_free(f);
        f = NULL;
    }
    close(fd);
    if (f)
        atomic_init(&f->references, 1);
    return f;
}

onnx_file *onnx_file_copy(const void *bytes, size_t n)
{
    enum { TAIL = 64 }; /* ig_from_memory reads it */
    onnx_file *f = memory_new(sizeof *f);
    if (!f)
        return NULL;
    atomic_init(&f->references, 1);
    f->at = memory_counted_resize(NULL, 0, n + TAIL, "the model");
    if (!f->at) {
        memory_free(f);
        return NULL;
    }
    if (n)
        memcpy(f->at, bytes, n);
    memset(f->at + n, 0, TAIL);
    f->bytes = n;
    f->room = n + TAIL;
    return f;
}

void onnx_file_release(void *file)
{
    onnx_file *f = file;
    if (!f || atomic_fetch_sub(&f->references, 1) != 1)
        return;
    if (f->mapped) {
        mapping_forget(f->at);
        munmap(f->at, f->bytes);
    } else if (f->at) {
        memory_counted_free(f->at, f->room);
    }
    memory_free(f->path);
    memory_free(f);
}

onnx_file *onnx_files_holding(const onnx_files *f, const void *at, size_t bytes)
{
    const uintptr_t from = (uintptr_t)at;
    for (onnx_file *file = f ? f->first : NULL; file; file = file->next) {
        const uintptr_t begin = (uintptr_t)file->at;
        if (from >= begin && from - begin <= file->bytes && bytes <= file->bytes - (from - begin))
            return file;
    }
    return NULL;
}

/* Whether the resolved path `real` is below the resolved folder. */
static bool is_below(const char *real, const char *folder)
{
    const size_t n = strlen(folder);
    return strncmp(real, folder, n) == 0 && (real[n] == '/' || (n == 1 && folder[0] == '/'));
}

/* Whether a location has only names of files and folders: not "/x", "..", "a/../b" or "". */
static bool is_plain(const char *location)
{
    if (location[0] == '/' || location[0] == '\0')
        return false;
    for (const char *part = location; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}

/* The resolved path of external data, or NULL after an error. Links may point to other files of the folder, or to the folder
 * where the model's own link points, as in caches of downloaded models. */
static char *location_resolve(const onnx_files *f, const char *location, const char *tensor)
{
    char shown[IO_SHOWN_BYTES], name[IO_SHOWN_BYTES], path[PATH_MAX];
    io_show(location, shown);
    io_show(tensor, name);
    if (!f->folder)
        FAIL_NULL(IG_ERR_FILE, "tensor '%s': external data '%s': the model has no folder", name,
                  shown);
    if (!is_plain(location))
        FAIL_NULL(IG_ERR_FORMAT,
                  "tensor '%s': external data '%s': the path must be relative and inside the "
                  "model's folder",
                  name, shown);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", f->folder, location) >= sizeof path)
        FAIL_NULL(IG_ERR_FILE, "tensor '%s': external data '%s': the path is too long", name,
                  shown);
    char *real = realpath(path, NULL), *folder = realpath(f->folder, NULL);
    const int why = errno;
    const bool inside =
        real && ((folder && is_below(real, folder)) || (f->linked && is_below(real, f->linked)));
    free(folder);
    if (inside)
        return real;
    if (real)
        ig_fail(IG_ERR_FILE,
                "tensor '%s': external data '%s': a link leads out of the model's folder", name,
                shown);
    else
        ig_fail(IG_ERR_FILE, "tensor '%s': external data '%s': it cannot be opened: %s", name,
                shown, strerror(why));
    free(real);
    return NULL;
}

onnx_file *onnx_files_external(onnx_files *f, const char *location, const char *tensor)
{
    for (onnx_file *file = f->first; file; file = file->next)
        if (file->path && strcmp(file->path, location) == 0)
            return file;
    char *real = location_resolve(f, location, tensor);
    if (!real)
        return NULL;
    onnx_file *file = onnx_file_map(real);
    free(real);
    if (file && !(file->path = memory_text(location))) {
        onnx_file_release(file);
        return NULL;
    }
    if (file) {
        file->next = f->first;
        f->first = file;
    }
    return file;
}

ig_status onnx_files_folder(onnx_files *f, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *real = realpath(path, NULL);
    if (real && strrchr(real, '/') != real)
        *strrchr(real, '/') = '\0';
    f->linked = real ? memory_text(real) : NULL;
    free(real);
    f->folder = memory_text(slash ? path : ".");
    if (slash && f->folder)
        f->folder[slash == path ? 1 : slash - path] = '\0';
    return f->folder ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

void onnx_files_close(onnx_files *f)
{
    while (f->first) {
        onnx_file *file = f->first;
        f->first = file->next;
        onnx_file_release(file);
    }
    memory_free(f->folder);
    memory_free(f->linked);
    *f = (onnx_files){0};
}
