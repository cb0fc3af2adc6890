/* Places: see place.h. This file has places that are folders; remote.h has servers.
 *
 * Every path is resolved from the open folder without following links: by openat2 where the system has it, else part by
 * part. An object is written to a file without a name, or with a temporary name, which then gets the object's name. So a
 * name always belongs to a complete object. Files are not flushed one by one: after a power failure, an object that was
 * written shortly before may be missing or damaged, which its size or its checksum shows.
 */
#include "lib/store/place.h"
#include "lib/store/remote.h"

#include "base/error.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

enum {
    TEXT_MAX_BYTES = 64 << 20, /* of metadata; consolidated ones describe many arrays */
    TRANSFER_BYTES = 1 << 30,
    TEMP_TRIES = 1000,
    TEMP_BYTES = 64
};

struct place {
    int folder;     /* its descriptor; -1: not open */
    remote *remote; /* the server, if it is not a folder */
    char *path;
};

bool place_is_folder(const place *p) { return p->folder >= 0; }
const char *place_path(const place *p) { return p->path; }

bool place_key_valid(const char *key)
{
    if (strlen(key) >= PLACE_KEY_BYTES)
        return false;
    for (const char *part = key;; part++) {
        const size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.') ||
            n > NAME_MAX)
            return false;
        part += n;
        if (!*part)
            return true;
    }
}

void place_name(const place *p, const char *verb, const char *key, struct io_file *file)
{
    char name[IO_SHOWN_BYTES * 2];
    const size_t n = strlen(p->path);
    const size_t skip = n > IO_SHOWN_BYTES ? n - IO_SHOWN_BYTES : 0;
    snprintf(name, sizeof name, "%.164s%s%.160s", p->path + skip, *key ? "/" : "", key);
    *file = (struct io_file){.verb = verb, .fd = -1, .left = -1};
    io_show(name, file->shown);
}

/* ---- opening without following links ----------------------------------------------------------- */

/* Opens a path part by part; each folder must not be a link. */
static int walk_open(int folder, const char *key, int flags)
{
    int at = folder;
    for (;;) {
        char part[NAME_MAX + 1];
        const size_t n = strcspn(key, "/");
        if (n > NAME_MAX) {
            if (at != folder)
                close(at);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, key, n);
        part[n] = 0;
        const bool last = key[n] == 0;
        const int next =
            openat(at, part, (last ? flags : O_RDONLY | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
        const int error = errno;
        if (at != folder)
            close(at);
        errno = error;
        if (last || next < 0)
            return next;
        at = next;
        key += n + 1;
    }
}

static int beneath_open(int folder, const char *key, int flags)
{
#ifdef SYS_openat2
    static atomic_bool absent;
    enum { NO_LINKS = 0x04, BENEATH = 0x08 };
    const struct {
        uint64_t flags, mode, resolve;
    } how = {(uint64_t)(flags | O_CLOEXEC), 0, NO_LINKS | BENEATH};
    if (!atomic_load_explicit(&absent, memory_order_relaxed)) {
        const long fd = syscall(SYS_openat2, folder, key, &how, sizeof how);
        if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL))
            return (int)fd;
        if (errno == ENOSYS)
            atomic_store(&absent, true);
    }
#endif
    return walk_open(folder, key, flags);
}

/* Opens the folder that a key lies in, and points *name at the last part of the key. Makes folders if `make`. Returns
 * the place's own descriptor if the key has one part. */
static int parent_open(const place *p, const char *key, bool make, const char **name)
{
    char path[PLACE_KEY_BYTES];
    const char *slash = strrchr(key, '/');
    *name = slash ? slash + 1 : key;
    if (!slash)
        return p->folder;
    const size_t n = (size_t)(slash - key);
    memcpy(path, key, n);
    path[n] = 0;
    int fd = beneath_open(p->folder, path, O_RDONLY | O_DIRECTORY);
    if (fd >= 0 || errno != ENOENT || !make)
        return fd;
    int at = p->folder;
    for (char *part = path; part;) {
        char *end = strchr(part, '/');
        if (end)
            *end = 0;
        if (mkdirat(at, part, 0777) == 0 || errno == EEXIST)
            fd = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        else
            fd = -1;
        const int error = errno;
        if (at != p->folder)
            close(at);
        errno = error;
        if (fd < 0)
            return -1;
        at = fd;
        part = end ? end + 1 : NULL;
    }
    return at;
}

static void parent_close(const place *p, int fd)
{
    const int error = errno;
    if (fd >= 0 && fd != p->folder)
        close(fd);
    errno = error;
}

/* Makes the folders of a path, as mkdir -p does. */
static bool folders_make(const char *path)
{
    char *copy = memory_text(path);
    if (!copy)
        return false;
    bool made = true;
    for (char *at = copy + 1; made; at++) {
        at += strcspn(at, "/");
        const char end = *at;
        *at = 0;
        made = mkdir(copy, 0777) == 0 || errno == EEXIST;
        *at = end;
        if (!end)
            break;
    }
    const int error = errno;
    memory_free(copy);
    errno = error;
    return made;
}

place *place_open(const char *path, bool create)
{
    place *p = memory_new(sizeof *p);
    if (!p)
        return NULL;
    p->folder = -1;
    p->path = memory_text(path);
    if (!p->path) {
        place_close(p);
        return NULL;
    }
    size_t n = strlen(p->path);
    while (n > 1 && p->path[n - 1] == '/')
        p->path[--n] = 0;
    struct io_file file;
    place_name(p, create ? "save" : "open", "", &file);
    if (remote_is_address(p->path)) {
        if (create)
            io_fail(&file, IG_ERR_UNSUPPORTED, "addresses can only be read; choose a folder");
        else if ((p->remote = remote_open(p->path)))
            return p;
        place_close(p);
        return NULL;
    }
    if (create && !folders_make(p->path)) {
        io_fail_system(&file, errno, "its folder cannot be made");
        place_close(p);
        return NULL;
    }
    p->folder = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->folder < 0) {
        io_fail_system(&file, errno, "it cannot be opened");
        place_close(p);
        return NULL;
    }
    return p;
}

place *place_open_inside(const place *p, const char *key)
{
    struct io_file file;
    place_name(p, "open", key, &file);
    if (!place_key_valid(key)) {
        io_fail(&file, IG_ERR_ARGUMENT,
                "the path leaves the store or is not valid; name an array in it");
        return NULL;
    }
    const size_t bytes = strlen(p->path) + strlen(key) + 2;
    place *inside = memory_new(sizeof *inside);
    if (!inside)
        return NULL;
    inside->folder = -1;
    inside->path = memory_get(bytes);
    if (!inside->path) {
        place_close(inside);
        return NULL;
    }
    snprintf(inside->path, bytes, "%s/%s", p->path, key);
    if (p->remote) {
        place *at = place_open(inside->path, false);
        place_close(inside);
        return at;
    }
    inside->folder = beneath_open(p->folder, key, O_RDONLY | O_DIRECTORY);
    if (inside->folder >= 0)
        return inside;
    if (errno == ELOOP || errno == EXDEV || errno == ENOTDIR)
        io_fail(&file, IG_ERR_FILE, "it is not a folder inside the store; links are not followed");
    else
        io_fail_system(&file, errno, "it cannot be opened");
    place_close(inside);
    return NULL;
}

void place_close(place *p)
{
    if (!p)
        return;
    if (p->folder >= 0)
        close(p->folder);
    remote_close(p->remote);
    memory_free(p->path);
    memory_free(p);
}

/* ---- reading ----------------------------------------------------------------------------------- */

ig_status object_open(place *p, const char *key, object *o, bool *found)
{
    struct stat info;
    place_name(p, "read", key, &o->file);
    o->place = p;
    o->bytes = -1;
    snprintf(o->key, sizeof o->key, "%s", key);
    *found = p->remote != NULL; /* as long as no read finds otherwise */
    if (*found)
        return IG_OK;
    /* O_NONBLOCK: a pipe in place of a file must not block. */
    o->file.fd = beneath_open(p->folder, key, O_RDONLY | O_NONBLOCK);
    if (o->file.fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return IG_OK;
    if (o->file.fd < 0 && errno == ELOOP)
        return io_fail(&o->file, IG_ERR_FILE,
                       "a part of it is a link, and links inside a store are not followed; copy "
                       "the file to its place");
    if (o->file.fd < 0 || fstat(o->file.fd, &info) != 0) {
        const ig_status status = io_fail_system(&o->file, errno, "it cannot be opened");
        object_close(o);
        return status;
    }
    if (!S_ISREG(info.st_mode)) {
        object_close(o);
        return io_fail(&o->file, IG_ERR_FILE, "it is not a file; remove it");
    }
    o->bytes = info.st_size;
    *found = true;
    return IG_OK;
}

void object_close(object *o) { io_close(&o->file); }

ig_status object_read(object *o, int64_t offset, size_t bytes, void *to, bool *found)
{
    *found = true;
    if (o->place->remote)
        return remote_read(o->place->remote, &o->file, o->key, offset, bytes, to, found);
    const int64_t begin = offset < 0 ? o->bytes + offset : offset;
    if (begin < 0 || bytes > (uint64_t)o->bytes || begin > o->bytes - (int64_t)bytes)
        return io_fail(&o->file, IG_ERR_FORMAT,
                       "it is damaged: it has %" PRId64 " bytes, and %zu at %" PRId64
                       " are needed; write it again",
                       o->bytes, bytes, begin);
    for (size_t done = 0; done < bytes;) {
        const size_t rest = bytes - done < TRANSFER_BYTES ? bytes - done : TRANSFER_BYTES;
        const ssize_t n = pread(o->file.fd, (char *)to + done, rest, begin + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_fail_system(&o->file, errno, "it cannot be read");
        if (n == 0)
            return io_fail(&o->file, IG_ERR_FILE,
                           "it became shorter while it was read; read it again");
        done += (size_t)n;
    }
    return IG_OK;
}

ig_status object_read_all(object *o, size_t most, spare *to, size_t *got, bool *found)
{
    if (o->place->remote)
        return remote_read_all(o->place->remote, &o->file, o->key, most, to, got, found);
    if ((uint64_t)o->bytes > most)
        return io_fail(&o->file, IG_ERR_FORMAT,
                       "it is damaged: it has %" PRId64
                       " bytes, and at most %zu are possible; write it again",
                       o->bytes, most);
    *got = (size_t)o->bytes;
    TRY(store_reserve(to, *got ? *got : 1));
    return object_read(o, 0, *got, to->at, found);
}

ig_status place_text(place *p, const char *key, char **text, size_t *bytes)
{
    object o;
    bool found = false;
    *text = NULL;
    *bytes = 0;
    TRY(object_open(p, key, &o, &found));
    if (!found)
        return IG_OK;
    spare s = {0};
    ig_status status = object_read_all(&o, TEXT_MAX_BYTES, &s, bytes, &found);
    object_close(&o);
    if (status == IG_OK && found) {
        *text = memory_get(*bytes + 1);
        if (!*text)
            status = IG_ERR_MEMORY;
        else
            memcpy(*text, s.at, *bytes), (*text)[*bytes] = 0;
    }
    store_release(&s);
    return status;
}

ig_status place_has(place *p, const char *key, bool *has)
{
    object o;
    TRY(object_open(p, key, &o, has));
    if (p->remote)
        return remote_has(p->remote, &o.file, key, has);
    if (*has)
        object_close(&o);
    return IG_OK;
}

/* ---- writing ----------------------------------------------------------------------------------- */

#define TEMP_PREFIX ".tmp-"

static void temp_name(char out[TEMP_BYTES])
{
    static atomic_uint counter;
    snprintf(out, TEMP_BYTES, TEMP_PREFIX "%ld-%u", (long)getpid(), atomic_fetch_add(&counter, 1));
}

/* Locks a new temporary file, which shows temps_remove that its writer lives. False if that removed the file before. On
 * a file system without locks, temporary files of killed writers stay. */
static bool temp_lock(int fd)
{
    struct stat info;
    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
           (fstat(fd, &info) != 0 || info.st_nlink > 0);
}

/* Opens a new file in a folder: without a name, if the system has such files; else with the name in temp. */
static int temp_open(int folder, char temp[TEMP_BYTES])
{
    temp[0] = 0;
#ifdef O_TMPFILE
    static atomic_bool absent;
    if (!atomic_load_explicit(&absent, memory_order_relaxed)) {
        const int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        if (fd >= 0 && access("/proc/self/fd", F_OK) == 0) {
            (void)flock(fd, LOCK_EX | LOCK_NB); /* before it may get a temporary name */
            return fd;
        }
        if (fd >= 0)
            close(fd);
        if (fd >= 0 || errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)
            atomic_store(&absent, true);
    }
#endif
    for (int tries = 0; tries < TEMP_TRIES; tries++) {
        temp_name(temp);
        const int fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0 || temp_lock(fd))
            return fd;
        close(fd);
        errno = EEXIST;
    }
    return -1;
}

/* Gives the complete file its name, in place of the old object. */
static bool temp_rename(int folder, int fd, char temp[TEMP_BYTES], const char *name)
{
    if (temp[0])
        return renameat(folder, temp, folder, name) == 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, link, folder, name, AT_SYMLINK_FOLLOW) == 0)
        return true;
    for (int tries = 0; errno == EEXIST && tries < TEMP_TRIES; tries++) {
        temp_name(temp);
        if (linkat(AT_FDCWD, link, folder, temp, AT_SYMLINK_FOLLOW) == 0)
            return renameat(folder, temp, folder, name) == 0;
    }
    temp[0] = 0;
    return false;
}

static ig_status temp_write(struct io_file *file, int folder, const char *name, const piece *pieces,
                            int n)
{
    char temp[TEMP_BYTES];
    file->fd = temp_open(folder, temp);
    if (file->fd < 0)
        return io_fail_system(file, errno, "the file cannot be created");
    ig_status status = IG_OK;
    for (int i = 0; i < n && status == IG_OK; i++)
        status = io_write(file, pieces[i].at, pieces[i].bytes);
    if (status == IG_OK && !temp_rename(folder, file->fd, temp, name))
        status = io_fail_system(file, errno, "it cannot be put in its place");
    if (close(file->fd) != 0 && errno != EINTR && status == IG_OK)
        status = io_fail_system(file, errno, "it cannot be written");
    if (status != IG_OK && temp[0])
        unlinkat(folder, temp, 0);
    return status;
}

ig_status place_put(place *p, const char *key, const piece *pieces, int n)
{
    struct io_file file;
    const char *name;
    place_name(p, "save", key, &file);
    const int folder = parent_open(p, key, true, &name);
    if (folder < 0)
        return io_fail_system(&file, errno, "its folder cannot be opened");
    const ig_status status = temp_write(&file, folder, name, pieces, n);
    parent_close(p, folder);
    return status;
}

/* Deletes an entry of a folder with all that it contains; links are deleted, not followed. */
static bool entry_remove(int folder, const char *name)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return true;
    if (errno != EISDIR && errno != EPERM)
        return false;
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool removed = true;
    for (const struct dirent *e; removed && (e = readdir(entries));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            removed = entry_remove(fd, e->d_name);
    closedir(entries);
    return removed && unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

ig_status place_remove(place *p, const char *key)
{
    struct io_file file;
    const char *name;
    place_name(p, "save", key, &file);
    const int folder = parent_open(p, key, false, &name);
    if (folder < 0)
        return errno == ENOENT ? IG_OK : io_fail_system(&file, errno, "it cannot be deleted");
    const bool removed = entry_remove(folder, name);
    const int error = errno;
    parent_close(p, folder);
    return removed ? IG_OK : io_fail_system(&file, error, "it cannot be deleted");
}

static bool is_number(const char *text) { return *text && !text[strspn(text, "0123456789")]; }

/* ".tmp-", a number, "-", a number. */
static bool is_temp(const char *name)
{
    if (strncmp(name, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0)
        return false;
    name += strlen(TEMP_PREFIX);
    const size_t n = strspn(name, "0123456789");
    return n > 0 && name[n] == '-' && is_number(name + n + 1);
}

/* Removes a temporary file unless its writer holds its lock. */
static void temp_remove(int folder, const char *name)
{
    const int fd = openat(folder, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    if (fd >= 0)
        close(fd);
}

/* Takes over the descriptor of a folder, and goes on to the folders of chunks in it. Entries that cannot be opened stay. */
static void temps_remove(int folder)
{
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    if (!entries && folder >= 0)
        close(folder);
    for (const struct dirent *e; entries && (e = readdir(entries));) {
        struct stat info;
        if (is_temp(e->d_name))
            temp_remove(folder, e->d_name);
        else if ((strcmp(e->d_name, "c") == 0 || is_number(e->d_name)) &&
                 fstatat(folder, e->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISDIR(info.st_mode))
            temps_remove(
                openat(folder, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (entries)
        closedir(entries);
}

void place_clean(const place *p)
{
    if (p->folder >= 0)
        temps_remove(openat(p->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

ig_status place_list(place *p, const char *key, place_visit fn, void *ctx)
{
    struct io_file file;
    place_name(p, "open", key, &file);
    if (p->remote)
        return io_fail(
            &file, IG_ERR_UNSUPPORTED,
            "a server does not list its objects; consolidate the group, or name an array in it");
    const int fd = *key ? beneath_open(p->folder, key, O_RDONLY | O_DIRECTORY)
                        : openat(p->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        const ig_status status = io_fail_system(&file, errno, "its folder cannot be listed");
        if (fd >= 0)
            close(fd);
        return status;
    }
    ig_status status = IG_OK;
    for (const struct dirent *e; status == IG_OK && (e = readdir(entries));) {
        struct stat info;
        if (e->d_name[0] == '.' || fstatat(fd, e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        status = fn(ctx, e->d_name, S_ISDIR(info.st_mode));
    }
    closedir(entries);
    return status;
}
